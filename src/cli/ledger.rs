//! `writgate ledger`.

use super::{Exit, Failure, Outcome, key, output};
use crate::audit::{CheckpointSigner, instant_text};
use crate::config::{Config, ConfigFile};
use crate::credential::issue::SigningKey;
use crate::ledger::{LedgerError, SqliteLedger};
use crate::request::Instant;
use chrono::TimeDelta;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create the ledger that the configuration names, and its audit key where there is none
    Init {
        /// The configuration file
        #[arg(long, value_name = "FILE", default_value = "writgate.toml")]
        config: PathBuf,
        /// I state that no ledger served this domain before: nothing older can be replayed into it
        #[arg(long)]
        first: bool,
    },
    /// Change the key that signs the ledger's checkpoints: the one in force signs the new one. Stop the server first
    RotateKey {
        /// The configuration file
        #[arg(long, value_name = "FILE", default_value = "writgate.toml")]
        config: PathBuf,
        /// The ledger has rows and never had a key: I state that its checkpoints begin now
        #[arg(long)]
        begin: bool,
    },
    /// Remove message ids and challenges of decisions that are long past; their presentations stay refused
    Prune {
        /// The configuration file
        #[arg(long, value_name = "FILE", default_value = "writgate.toml")]
        config: PathBuf,
        #[command(flatten)]
        before: Before,
    },
    /// State that the ledger is a backup that was restored: presentations made before now are refused
    Restored {
        /// The configuration file
        #[arg(long, value_name = "FILE", default_value = "writgate.toml")]
        config: PathBuf,
    },
}

/// Up to when.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Before {
    /// Of decisions that were recorded more than so many days ago
    #[arg(long, value_name = "N")]
    keep_days: Option<u32>,
    /// Of decisions that were recorded before this instant: RFC 3339, or a date in UTC
    #[arg(long, value_name = "TIME", value_parser = output::day_or_instant)]
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
        Command::RotateKey { config, begin } => rotate_key(config, *begin),
        Command::Prune { config, before } => prune(config, before),
        Command::Restored { config } => restored(config),
    }
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
    let before = before.instant(now)?;
    let pruned = ledger.prune(before, now, config.fresh_for()).map_err(|cause| match cause {
        LedgerError::TooRecent => too_recent(&config, now),
        cause => cause.into(),
    })?;
    ledger.make_checkpoint(now)?;
    match pruned.reservations {
        0 => output::say(format_args!(
            "nothing to remove: no message id or challenge is left from before {}",
            instant_text(before)
        )),
        removed => output::say(format_args!(
            "{}, and as many challenges, removed, up to row {}; presentations of that time stay refused",
            output::count(removed, "message id", "message ids"),
            pruned.through
        )),
    }
    Ok(Exit::Success)
}

/// Clocks may differ by the skew.
fn floor_text(now: Instant, config: &Config) -> String {
    now.checked_add_signed(config.skew()).map(instant_text).unwrap_or_default()
}

/// The latest instant that may be named, for the next attempt.
fn too_recent(config: &Config, now: Instant) -> Failure {
    let kept = config.fresh_for() + config.skew() * 3;
    let latest = now.checked_sub_signed(kept).map(instant_text).unwrap_or_default();
    Failure::new(format!(
        "{}; at present, `--before {latest}` or earlier, or `--keep-days {}` or more",
        LedgerError::TooRecent,
        kept.num_days() + 1
    ))
}

fn restored(config: &Path) -> Outcome {
    let now = chrono::Utc::now();
    let file = output::read_config(config)?;
    let config = file.load(now)?;
    open_unchecked(&file, config.default_domain(), config.skew())?.restored(now)?;
    output::say(format_args!(
        "presentations made before {} are refused: a peer that is refused makes a new one after that",
        floor_text(now, &config)
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
    let checkpoints = match file.audit_key_path() {
        Some(key_path) => Some(file.checkpoints(key_for_new_ledger(&key_path)?)?),
        None => None,
    };
    let failed = |cause| Failure::new(format!("{}: {cause}", path.display()));
    let mut ledger =
        SqliteLedger::create(&path, config.default_domain(), first, now, config.skew()).map_err(failed)?;
    if let Some(checkpoints) = checkpoints {
        ledger = ledger.with_checkpoints(checkpoints, now).map_err(failed)?;
    }
    let floor = match first {
        true => "the first of its domain".to_owned(),
        false => format!("presentations made before {} are refused", floor_text(now, &config)),
    };
    output::say(format_args!(
        "{}: a ledger for {}; {floor}",
        path.display(),
        output::escaped(config.default_domain())
    ));
    say_key(&ledger)?;
    Ok(Exit::Success)
}

/// The ledger that a configuration names, which must have every row that its checkpoints outside the file name.
pub(super) fn open(file: &ConfigFile, domain: &str, skew: TimeDelta) -> Result<SqliteLedger, Failure> {
    let ledger = open_unchecked(file, domain, skew)?;
    if let (Some(path), Some(_)) =
        (file.checkpoints_path().filter(|path| !path.exists()), ledger.last_checkpoint()?)
    {
        eprintln!(
            "writgate: {}: there is no such file, so nothing outside the ledger shows whether this is its newest state; the \
             file begins anew with the next checkpoint",
            output::escaped(&path.display().to_string())
        );
    }
    ledger
        .compare_with_checkpoints()
        .map_err(|cause| Failure::new(format!("{}: {cause}", file.ledger_path().display())))?;
    Ok(ledger)
}

/// The same of which nothing is known yet.
fn open_unchecked(file: &ConfigFile, domain: &str, skew: TimeDelta) -> Result<SqliteLedger, Failure> {
    file.open_ledger_unchecked(domain, skew, chrono::Utc::now())
        .map_err(|cause| output::no_ledger(&file.ledger_path(), &cause))
}

fn key_for_new_ledger(path: &Path) -> Result<SigningKey, Failure> {
    if path.exists() {
        return key::read_key(path);
    }
    let key = SigningKey::generate()?;
    key::write_key(path, &key)?;
    Ok(key)
}

fn rotate_key(config: &Path, begin: bool) -> Outcome {
    let now = chrono::Utc::now();
    let file = output::read_config(config)?;
    let config = file.load(now)?;
    let Some(key_path) = file.audit_key_path() else {
        return Err(Failure::new(
            "the configuration names no audit key: set `key` under `[audit]`".to_owned(),
        ));
    };
    let path = file.ledger_path();
    let failed = |cause| Failure::new(format!("{}: {cause}", path.display()));
    let ledger = SqliteLedger::open(&path, config.default_domain(), config.skew())
        .map_err(|cause| output::no_ledger(&path, &cause))?;
    // Nothing is made before it is known to be of use: a key that is in nobody's ledger would be taken for the lost one.
    let ledger = if begin {
        if let Some(last) = ledger.last_checkpoint().map_err(failed)? {
            return Err(Failure::new(format!(
                "{}: the ledger's checkpoints have begun, and are signed with {}; `writgate ledger rotate-key` without \
                 --begin changes the key",
                path.display(),
                last.public_key
            )));
        }
        let checkpoints = file.checkpoints(key_for_new_ledger(&key_path)?)?;
        ledger.begin_checkpoints(checkpoints, now).map_err(failed)?
    } else {
        rotate(&file, ledger, &key_path, now)?
    };
    say_key(&ledger)?;
    Ok(Exit::Success)
}

/// The new key waits beside the old one until the ledger names it, so that a power cut loses neither.
fn rotate(
    file: &ConfigFile,
    ledger: SqliteLedger,
    key_path: &Path,
    now: Instant,
) -> Result<SqliteLedger, Failure> {
    let failed = |cause| Failure::new(format!("{}: {cause}", file.ledger_path().display()));
    let mut next_path = key_path.as_os_str().to_owned();
    next_path.push(".next");
    let next_path = PathBuf::from(next_path);
    if !key_path.exists() && !next_path.exists() {
        return Err(Failure::new(format!(
            "{}: the audit key is not there, and a key is changed by the one in force: restore it; docs/audit.md says what \
             to do where it is lost",
            key_path.display()
        )));
    }
    let next = key_for_new_ledger(&next_path)?;
    let in_force = ledger.last_checkpoint().map_err(failed)?.map(|checkpoint| checkpoint.public_key);
    let ledger = if in_force.as_deref() == Some(&next.did_key()) {
        // An earlier run was cut off after the ledger had changed.
        ledger.with_checkpoints(file.checkpoints(next)?, now).map_err(failed)?
    } else {
        let checkpoints = file.checkpoints(key::read_key(key_path)?)?;
        let mut ledger = ledger.with_checkpoints(checkpoints, now).map_err(failed)?;
        ledger.rotate_key(CheckpointSigner::new(next)?, now).map_err(failed)?;
        ledger
    };
    fs::rename(&next_path, key_path)
        .map_err(|cause| Failure::new(format!("{}: {cause}", key_path.display())))?;
    Ok(ledger)
}

fn say_key(ledger: &SqliteLedger) -> Result<(), Failure> {
    if let Some(checkpoint) = ledger.last_checkpoint()? {
        output::say(format_args!(
            "checkpoints are signed with {} from row {} on; keep a copy of it elsewhere",
            checkpoint.public_key, checkpoint.sequence
        ));
    }
    Ok(())
}
