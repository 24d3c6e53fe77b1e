//! `writgate audit`: what the ledger recorded, for those who trust nobody. Nothing here writes to a ledger, but for
//! `archive` and `erase`.

mod archive;
mod erase;
mod verify;

use super::{Failure, Outcome, output};
use crate::ledger::LedgerReader;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Verify that the ledger is what was written: exit 0 it is, 1 it is not
    Verify(verify::Arguments),
    /// Move rows that are long past, and were pruned, into a file; or verify such a file
    Archive(archive::Arguments),
    /// Erase the evidence of decisions; its digests stay
    Erase(erase::Arguments),
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Verify(arguments) => verify::run(arguments),
        Command::Archive(arguments) => archive::run(arguments),
        Command::Erase(arguments) => erase::run(arguments),
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
    fn open(&self) -> Result<LedgerReader, Failure> {
        let path = match &self.ledger {
            Some(path) => path.clone(),
            None => output::read_config(&self.config)?.ledger_path(),
        };
        LedgerReader::open(&path).map_err(|cause| output::no_ledger(&path, &cause))
    }
}
