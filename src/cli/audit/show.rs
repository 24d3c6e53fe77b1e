//! `writgate audit show`.

use super::{Source, no_row};
use crate::audit::{Record, show};
use crate::cli::{Exit, Outcome, output};
use std::io::{IsTerminal as _, Write as _};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The decision's or event's id, or the row's number
    row: String,
    /// The row's JSON, octet for octet as it is chained
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let reader = arguments.source.open()?;
    let row = show::find(&reader, &arguments.row)?.ok_or_else(|| no_row(&arguments.row))?;
    if arguments.json {
        let mut out = std::io::stdout().lock();
        match out.is_terminal() {
            true => output::tell(format_args!("{}\n", crate::audit::escape::json_for_terminal(&row.text))),
            false => out.write_all(row.text.as_bytes())?,
        }
        return Ok(Exit::Success);
    }
    output::tell(format_args!("{}", show::text(&reader, &row)?));
    if let Record::Decision(report) = &row.record {
        output::tell(format_args!("\n{}", output::explained(report)));
        if let Some(turtle) = &report.body.shacl_report {
            output::say(format_args!("\n{}", output::escaped_block(turtle)));
        }
    }
    Ok(Exit::Success)
}
