//! `writgate audit show`.

use super::{Source, no_row};
use crate::audit::evidence::{ForReader, Rebuilder};
use crate::audit::{Record, instant_text, show};
use crate::cli::{Exit, Failure, Outcome, output};
use crate::ledger::LedgerReader;
use crate::message::Digest;
use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The decision's or event's id, or the row's number
    row: String,
    /// The row's JSON, octet for octet as it is chained
    #[arg(long)]
    json: bool,
    /// Write the message that was decided to this new file, once a presentation in it is good for nothing any more
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    evidence: Option<PathBuf>,
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
            false => out.write_all(row.text.as_bytes()).and_then(|()| out.flush())?,
        }
        return Ok(Exit::Success);
    }
    if let Some(path) = &arguments.evidence {
        write_message(&reader, &row.record, path)?;
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

/// The message of the evidence, by the rule that withholds it.
fn write_message(reader: &LedgerReader, record: &Record, path: &Path) -> Result<(), Failure> {
    let Record::Decision(report) = record else {
        return Err(Failure::new("an event has no evidence"));
    };
    let given = Rebuilder::new(|digest: &Digest| reader.evidence(*digest))
        .message_for_reader(report, chrono::Utc::now())?
        .ok_or_else(|| Failure::new("the report names no evidence"))?;
    match given {
        ForReader::Octets(message) => {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path)
                .map_err(|cause| output::not_made(path, &cause))?;
            Ok(file.write_all(message.octets())?)
        }
        ForReader::Withheld { digest, until } => Err(Failure::new(format!(
            "the message {digest} is withheld until {}: a presentation in it may still be good",
            instant_text(until)
        ))),
    }
}
