//! `writgate audit explain`.

use super::{Source, no_row};
use crate::audit::escape::escaped;
use crate::audit::{explain, show};
use crate::cli::{Exit, Outcome, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The decision's or event's id, or the row's number
    row: String,
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let reader = arguments.source.open()?;
    let row = show::find(&reader, &arguments.row)?.ok_or_else(|| no_row(&arguments.row))?;
    let explained = explain::explanation(&reader, &row)?;
    output::say(format_args!("{}", escaped(&explained.story)));
    if let Some(why) = &explained.why {
        output::say(format_args!("Why: {}.", escaped(why.trim_end_matches('.'))));
    }
    for unmet in &explained.unmet {
        output::say(format_args!("  unmet: {}; seen: {}", escaped(&unmet.asked), escaped(&unmet.seen)));
    }
    if let Some(change) = &explained.change {
        output::say(format_args!("Smallest change: {}.", escaped(change.trim_end_matches('.'))));
        match &explained.basis {
            explain::Basis::Reevaluation => {
                output::say(format_args!(
                    "(The decision was made again from its evidence, for the same reason.)"
                ));
            }
            explain::Basis::Report(cause) => {
                output::say(format_args!("(From the report alone: {}.)", escaped(cause)));
            }
        }
    }
    Ok(Exit::Success)
}
