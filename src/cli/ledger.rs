//! `writgate ledger`.

use super::{Exit, Outcome, output};
use crate::config::ConfigFile;
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
    let file = ConfigFile::read(config)?;
    let config = file.load(now)?;
    let path = file.ledger_path();
    SqliteLedger::create(&path, config.default_domain(), *first, now, config.skew())?;
    let floor = if *first { "no floor" } else { "presentations made before now are refused" };
    output::say(format_args!(
        "{}: a ledger for {}; {floor}",
        path.display(),
        output::escaped(config.default_domain())
    ));
    Ok(Exit::Success)
}
