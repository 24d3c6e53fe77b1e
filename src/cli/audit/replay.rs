//! `writgate audit replay`: recorded decisions are made again from the ledger alone.

use super::Source;
use crate::audit::{Redecided, Replayed, replay};
use crate::cli::{Exit, Outcome, output};
use crate::ledger::LedgerError;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The decision's id, or its row's number
    #[arg(required_unless_present_any = ["all", "from", "to"], conflicts_with_all = ["all", "from", "to"])]
    id: Option<String>,
    /// Every decision of the ledger
    #[arg(long, conflicts_with_all = ["from", "to"])]
    all: bool,
    /// Decisions from this row on
    #[arg(long, value_name = "ROW")]
    from: Option<u64>,
    /// Decisions up to this row
    #[arg(long, value_name = "ROW")]
    to: Option<u64>,
    /// Make decisions again that another version recorded: all but the version must agree
    #[arg(long)]
    any_version: bool,
    #[command(flatten)]
    source: Source,
}

/// How many decisions came to what.
#[derive(Debug, Default)]
struct Tally {
    equal: u64,
    different: u64,
    not_made: u64,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let reader = arguments.source.open()?;
    let rows = match &arguments.id {
        None => (arguments.from.unwrap_or(1), arguments.to.unwrap_or(u64::MAX)),
        Some(id) => {
            let row = match id.parse() {
                Ok(sequence) => reader.row(sequence)?,
                Err(_) => reader.find(id)?,
            };
            let row = row.ok_or_else(|| super::no_row(id))?;
            (row.sequence, row.sequence)
        }
    };
    let mut tally = Tally::default();
    replay(&reader, rows, arguments.any_version, |replayed| {
        tell(&replayed, &mut tally);
        Ok::<_, LedgerError>(())
    })?;
    let Tally { equal, different, not_made } = tally;
    output::say(format_args!(
        "{equal} of {} came out the same; {different} did not, {not_made} could not be made again",
        output::count(equal + different + not_made, "decision", "decisions")
    ));
    // Of nothing, nothing was shown.
    let shown = equal > 0 && different == 0 && not_made == 0;
    Ok(if shown { Exit::Success } else { Exit::Refused })
}

/// One line for each decision that did not come out the same.
fn tell(replayed: &Replayed, tally: &mut Tally) {
    let Replayed { sequence, decision_id, redecided } = replayed;
    let what = match redecided {
        Redecided::Equal => {
            tally.equal += 1;
            return;
        }
        Redecided::Differs(paths) => {
            tally.different += 1;
            format!("differs at {}", paths.join(", "))
        }
        Redecided::OtherVersion(version) => {
            tally.not_made += 1;
            format!("was recorded by version {version}; --any-version makes it again all the same")
        }
        Redecided::NoEvidence => {
            tally.not_made += 1;
            "names no evidence".to_owned()
        }
        Redecided::Evidence(error) => {
            tally.not_made += 1;
            error.to_string()
        }
    };
    let (id, what) = (output::escaped(decision_id), output::escaped(&what));
    output::say(format_args!("row {sequence}, decision {id}: {what}"));
}
