//! `writgate audit archive`.

use crate::cli::{Exit, Failure, Outcome, ledger, output};
use crate::ledger::{Archive, LedgerError, verify_archive};
use crate::request::Instant;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration file that names the ledger
    #[arg(long, value_name = "FILE", default_value = "writgate.toml")]
    config: PathBuf,
    /// Rows that were recorded before this instant, up to the first that was not: RFC 3339, or a date in UTC
    #[arg(long, value_name = "TIME", value_parser = output::day_or_instant, conflicts_with = "through")]
    before: Option<Instant>,
    /// Rows up to this one
    #[arg(long, value_name = "ROW", required_unless_present_any = ["before", "verify"])]
    through: Option<u64>,
    /// The archive, a file that does not exist yet
    #[arg(long, value_name = "FILE", required_unless_present = "verify")]
    to: Option<PathBuf>,
    /// Verify an archive file instead: exit 0 it is what was written, 1 it is not
    #[arg(long, value_name = "FILE", conflicts_with_all = ["before", "through", "to"])]
    verify: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    if let Some(file) = &arguments.verify {
        return match verify_archive(file) {
            Ok(archive) => {
                say(&archive);
                Ok(Exit::Success)
            }
            Err(broken @ (LedgerError::ChainBroken { .. } | LedgerError::Unusable(_))) => {
                output::say(format_args!("{}", output::escaped(&broken.to_string())));
                Ok(Exit::Refused)
            }
            Err(cause) => Err(cause.into()),
        };
    }
    let Some(to) = &arguments.to else {
        return Err(Failure::new("an archive needs --to".to_owned()));
    };
    let now = chrono::Utc::now();
    let (ledger, _) = ledger::open_config(&arguments.config, now)?;
    let through = match (arguments.through, arguments.before) {
        (Some(through), _) => through,
        (None, Some(before)) => ledger.archivable_before(before)?,
        (None, None) => 0,
    };
    if through == 0 {
        return Err(Failure::new(
            "no row is old enough to be archived and was pruned: `writgate ledger prune` comes first"
                .to_owned(),
        ));
    }
    say(&ledger.archive(through, to, now)?);
    ledger.make_checkpoint(now)?;
    Ok(Exit::Success)
}

fn say(archive: &Archive) {
    output::say(format_args!(
        "rows {} to {} of ledger {}, {} of evidence; the last row has the hash {}, the file {}",
        archive.from,
        archive.through,
        output::escaped(&archive.ledger_id),
        output::count(archive.evidence, "piece", "pieces"),
        archive.row_hash,
        archive.digest
    ));
}
