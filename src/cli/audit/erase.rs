//! `writgate audit erase`.

use crate::cli::{Exit, Outcome, ledger, output};
use crate::request::Instant;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration file that names the ledger
    #[arg(long, value_name = "FILE", default_value = "writgate.toml")]
    config: PathBuf,
    #[command(flatten)]
    which: Which,
}

/// Whose evidence.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The decisions, by their ids
    #[arg(long, value_name = "ID", num_args = 1..)]
    decision: Vec<String>,
    /// Every decision that was recorded before this instant: RFC 3339, or a date in UTC
    #[arg(long, value_name = "TIME", value_parser = output::day_or_instant)]
    before: Option<Instant>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let now = chrono::Utc::now();
    let (ledger, _) = ledger::open_config(&arguments.config, now)?;
    let erased = match arguments.which.before {
        Some(before) => ledger.erase_evidence_before(before, now)?,
        None => ledger.erase_evidence_of(&arguments.which.decision, now)?,
    };
    ledger.make_checkpoint(now)?;
    let erased = output::count(erased, "piece", "pieces");
    output::say(format_args!("{erased} of evidence erased; what is erased leaves its digest"));
    Ok(Exit::Success)
}
