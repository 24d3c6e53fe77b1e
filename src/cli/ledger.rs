//! `writgate ledger`.

use super::{Exit, Failure, Outcome, output};
use crate::config::{Config, ConfigFile};
use crate::ledger::SqliteLedger;
use crate::request::Instant;
use chrono::TimeDelta;
use std::path::{Path, PathBuf};

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
    /// Remove message ids and challenges of decisions that are long past; their presentations stay refused
    Prune {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
        #[command(flatten)]
        before: Before,
    },
    /// State that the ledger is a backup that was restored: presentations made before now are refused
    Restored {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
        /// The file outside the ledger in which its last rows are noted
        #[arg(long)]
        checkpoints: Option<PathBuf>,
    },
}

/// Up to when.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Before {
    /// Of decisions that were recorded more than so many days ago
    #[arg(long, value_name = "N")]
    keep_days: Option<u32>,
    /// Of decisions that were recorded before an instant
    #[arg(long, value_name = "T", value_parser = output::instant)]
    before: Option<Instant>,
}

impl Before {
    pub(super) fn instant(&self, now: Instant) -> Result<Instant, Failure> {
        let days = TimeDelta::days(self.keep_days.unwrap_or_default().into());
        match self.before {
            Some(before) => Ok(before),
            None => now
                .checked_sub_signed(days)
                .ok_or_else(|| Failure::new("so many days lead out of the calendar".to_owned())),
        }
    }
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Init { config, first } => init(config, *first),
        Command::Prune { config, before } => prune(config, before),
        Command::Restored { config, checkpoints } => restored(config, checkpoints.as_deref()),
    }
}

/// The ledger that a configuration names, with the room that it has there.
pub(super) fn open(file: &ConfigFile, domain: &str, skew: TimeDelta) -> Result<SqliteLedger, Failure> {
    let path = file.ledger_path();
    let ledger = SqliteLedger::open(&path, domain, skew).map_err(|cause| output::no_ledger(&path, &cause))?;
    Ok(ledger.with_max_bytes(file.ledger_max_bytes()))
}

/// The ledger of a configuration file, and its configuration.
pub(super) fn open_config(config: &Path, now: Instant) -> Result<(SqliteLedger, Config), Failure> {
    let file = output::read_config(config)?;
    let config = file.load(now)?;
    Ok((open(&file, config.default_domain(), config.skew())?, config))
}

fn prune(config: &Path, before: &Before) -> Outcome {
    let now = chrono::Utc::now();
    let (ledger, config) = open_config(config, now)?;
    let pruned = ledger.prune(before.instant(now)?, now, config.fresh_for())?;
    output::say(format_args!(
        "{} message ids and as many challenges removed; up to row {} they are gone, and what they kept out is below the \
         floor",
        pruned.reservations, pruned.through
    ));
    Ok(Exit::Success)
}

fn restored(config: &Path, checkpoints: Option<&Path>) -> Outcome {
    let now = chrono::Utc::now();
    let (ledger, _) = open_config(config, now)?;
    ledger.restored(checkpoints, now)?;
    output::say(format_args!(
        "presentations made before now are refused: a peer that is refused makes a new one"
    ));
    Ok(Exit::Success)
}

fn init(config: &Path, first: bool) -> Outcome {
    let now = chrono::Utc::now();
    let file = output::read_config(config)?;
    let config = file.load(now)?;
    let path = file.ledger_path();
    if path.exists() {
        return Err(Failure::new(format!("{} exists, and a ledger is never made anew", path.display())));
    }
    SqliteLedger::create(&path, config.default_domain(), first, now, config.skew())
        .map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
    let floor = if first { "no floor" } else { "presentations made before now are refused" };
    output::say(format_args!(
        "{}: a ledger for {}; {floor}",
        path.display(),
        output::escaped(config.default_domain())
    ));
    Ok(Exit::Success)
}
