//! `writgate audit`: what the ledger recorded, for those who trust nobody. Nothing here writes to a ledger.

mod verify;

use super::{Failure, Outcome, output};
use crate::ledger::LedgerReader;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Verify that the ledger is what was written: exit 0 it is, 1 it is not
    Verify(verify::Arguments),
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Verify(arguments) => verify::run(arguments),
    }
}

/// Which ledger is read: its file, or the one that a configuration names.
#[derive(Debug, clap::Args)]
struct Source {
    /// The ledger's file
    #[arg(long, conflicts_with = "config")]
    ledger: Option<PathBuf>,
    /// The configuration file that names the ledger
    #[arg(long, default_value = "writgate.toml")]
    config: PathBuf,
}

impl Source {
    fn path(&self) -> Result<PathBuf, Failure> {
        match &self.ledger {
            Some(path) => Ok(path.clone()),
            None => Ok(output::read_config(&self.config)?.ledger_path()),
        }
    }

    #[allow(dead_code, reason = "the subcommands that read rows come with their own change")]
    fn open(&self) -> Result<LedgerReader, Failure> {
        let path = self.path()?;
        LedgerReader::open(&path).map_err(|cause| output::no_ledger(&path, &cause))
    }
}
