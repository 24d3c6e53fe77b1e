//! `writgate audit`: what the ledger recorded, for those who trust nobody. Nothing here writes to a ledger, but for
//! `archive` and `erase`.

mod archive;
mod erase;
mod explain;
mod export;
mod filters;
mod list;
mod query;
mod replay;
mod report;
mod show;
mod verify;

use super::{Failure, Outcome, output};
use crate::ledger::LedgerReader;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List rows, one on a line, newest last; times in UTC
    List(list::Arguments),
    /// Show all that one row says
    Show(show::Arguments),
    /// Explain a decision: who asked for what under which mandate, what failed, and the smallest change that would have permitted it
    Explain(explain::Arguments),
    /// Export rows for other programs: JSONL, N-Quads (PROV-O), CSV
    Export(export::Arguments),
    /// Ask the rows, as PROV-O, in SPARQL; read-only, and without any network
    Query(query::Arguments),
    /// Make recorded decisions again, from the ledger alone: exit 0 all came out the same, 1 not all
    Replay(replay::Arguments),
    /// Verify that the ledger is what was written: exit 0 it is, 1 it is not
    Verify(verify::Arguments),
    /// Write the decisions as a page for people: one HTML file
    Report(report::Arguments),
    /// Move rows that are long past, and were pruned, into a file; or verify such a file
    Archive(archive::Arguments),
    /// Erase the evidence of decisions; its digests stay
    Erase(erase::Arguments),
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::List(arguments) => list::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Query(arguments) => query::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Archive(arguments) => archive::run(arguments),
        Command::Erase(arguments) => erase::run(arguments),
    }
}

/// Which ledger is read: its file, or the one that a configuration names.
#[derive(Debug, clap::Args)]
struct Source {
    /// The ledger's file
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    ledger: Option<PathBuf>,
    /// The configuration file that names the ledger
    #[arg(long, value_name = "FILE", default_value = "writgate.toml")]
    config: PathBuf,
}

impl Source {
    fn path(&self) -> Result<PathBuf, Failure> {
        match &self.ledger {
            Some(path) => Ok(path.clone()),
            None => Ok(output::read_config(&self.config)?.ledger_path()),
        }
    }

    fn open(&self) -> Result<LedgerReader, Failure> {
        let path = self.path()?;
        LedgerReader::open(&path).map_err(|cause| output::no_ledger(&path, &cause))
    }
}

/// There is no such row.
fn no_row(named: &str) -> Failure {
    Failure::new(format!("{named}: there is no row of that id or number"))
}
