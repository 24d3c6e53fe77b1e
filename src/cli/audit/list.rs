//! `writgate audit list`.

use super::Source;
use super::filters::Filters;
use crate::audit::{escape, list};
use crate::cli::{Exit, Failure, Outcome, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    filters: Filters,
    /// The newest so many alone
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Each row's JSON on a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let reader = arguments.source.open()?;
    list::rows::<Failure>(&reader, &arguments.filters.filter(), arguments.limit, |row| {
        match arguments.json {
            true => output::say(format_args!("{}", escape::json_for_terminal(&row.text))),
            false => output::say(format_args!("{}", list::line(row))),
        }
        Ok(())
    })?;
    Ok(Exit::Success)
}
