//! The ledger that a configuration file names, opened as the file says.

use super::{Config, ConfigFile};
use crate::credential::issue::SigningKey;
use crate::ledger::{Checkpoints, LedgerError, SqliteLedger};
use crate::request::Instant;
use chrono::TimeDelta;
use std::fs;
use std::path::Path;

impl ConfigFile {
    /// Opens the ledger for an engine: with `max_bytes`, with the key that signs its checkpoints and the file that they go
    /// to, and compared with the last checkpoint in that file. `config` is what [`ConfigFile::load`] made of this file.
    ///
    /// Nothing is made here: `writgate ledger init` makes a ledger and its key.
    ///
    /// # Errors
    /// [`LedgerError`]: there is no ledger, it is another domain's, or it cannot be opened; its key is missing, is another,
    /// or is not configured; it is older than its checkpoints outside ([`LedgerError::RolledBack`]).
    pub fn open_ledger(&self, config: &Config, now: Instant) -> Result<SqliteLedger, LedgerError> {
        let ledger = self.open_ledger_unchecked(config.default_domain(), config.skew(), now)?;
        ledger.compare_with_checkpoints()?;
        Ok(ledger)
    }

    /// The same, which may be an older copy.
    pub(crate) fn open_ledger_unchecked(
        &self,
        domain: &str,
        skew: TimeDelta,
        now: Instant,
    ) -> Result<SqliteLedger, LedgerError> {
        let ledger =
            SqliteLedger::open(&self.ledger_path(), domain, skew)?.with_max_bytes(self.ledger_max_bytes());
        match (self.audit_key_path(), ledger.last_checkpoint()?) {
            (Some(path), _) => ledger.with_checkpoints(self.checkpoints_by(&path)?, now),
            (None, None) => Ok(ledger),
            // Otherwise every decision would be refused as one that cannot be recorded.
            (None, Some(last)) => Err(LedgerError::Unusable(format!(
                "its checkpoints are signed with {}, and the configuration names no audit key: set `key` under `[audit]` to \
                 that key's file",
                last.public_key
            ))),
        }
    }

    /// No key is made here: a ledger that began with another would go on as if nothing had happened.
    fn checkpoints_by(&self, path: &Path) -> Result<Checkpoints, LedgerError> {
        let unusable =
            |problem: String| LedgerError::Unusable(format!("its audit key, {}: {problem}", path.display()));
        if !path.exists() {
            return Err(unusable(
                "it is not there; restore it. A key is made only with a new ledger (`writgate ledger init`), or where \
                 `writgate ledger rotate-key --begin` states that a ledger's checkpoints begin now; docs/audit.md says what \
                 to do where it is lost"
                    .to_owned(),
            ));
        }
        let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
        let key = serde_json::from_str(&text)
            .ok()
            .and_then(|value| SigningKey::from_json(&value).ok())
            .ok_or_else(|| unusable("it is no key file; restore it".to_owned()))?;
        self.checkpoints(key).map_err(|error| unusable(error.to_string()))
    }
}
