//! `writgate ledger`.

use super::{Exit, Failure, Outcome, output};
use crate::ledger::SqliteLedger;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create the ledger that the configuration names
    Init {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
        /// I state that no ledger served this domain before: nothing older can be replayed into it
        #[arg(long)]
        first: bool,
    },
}

pub(crate) fn run(command: &Command) -> Outcome {
    let Command::Init { config, first } = command;
    let now = chrono::Utc::now();
    let file = output::read_config(config)?;
    let config = file.load(now)?;
    let path = file.ledger_path();
    if path.exists() {
        return Err(Failure::new(format!("{} exists, and a ledger is never made anew", path.display())));
    }
    SqliteLedger::create(&path, config.default_domain(), *first, now, config.skew())
        .map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
    let floor = if *first { "no floor" } else { "presentations made before now are refused" };
    output::say(format_args!(
        "{}: a ledger for {}; {floor}",
        path.display(),
        output::escaped(config.default_domain())
    ));
    Ok(Exit::Success)
}
