//! `writgate audit verify`.

use super::Source;
use crate::cli::{Exit, Outcome, output};
use crate::ledger::LedgerError;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    match arguments.source.open()?.verify_chain() {
        Ok((rows, hash)) => {
            output::say(format_args!("{rows} rows hold; the last has the hash {hash}"));
            Ok(Exit::Success)
        }
        Err(broken @ LedgerError::ChainBroken { .. }) => {
            output::say(format_args!("{broken}"));
            Ok(Exit::Refused)
        }
        Err(cause) => Err(cause.into()),
    }
}
