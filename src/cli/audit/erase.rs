//! `writgate audit erase`.

use crate::cli::{Exit, Outcome, ledger, output};
use crate::request::Instant;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[group(id = "which", required = true, multiple = false, args = ["decision", "before"])]
pub(crate) struct Arguments {
    /// The configuration file that names the ledger
    #[arg(long, default_value = "writgate.toml")]
    config: PathBuf,
    /// The decisions, by their ids
    #[arg(long, value_name = "ID", num_args = 1..)]
    decision: Vec<String>,
    /// Every decision that was recorded before an instant
    #[arg(long, value_name = "T", value_parser = output::instant)]
    before: Option<Instant>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let now = chrono::Utc::now();
    let (ledger, _) = ledger::open_config(&arguments.config, now)?;
    let erased = match arguments.before {
        Some(before) => ledger.erase_evidence_before(before, now)?,
        None => ledger.erase_evidence_of(&arguments.decision, now)?,
    };
    output::say(format_args!("{erased} pieces of evidence erased; their digests stay"));
    Ok(Exit::Success)
}
