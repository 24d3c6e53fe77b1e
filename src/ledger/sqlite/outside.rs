//! What a ledger is compared with that is not in its file: the last row that somebody noted elsewhere.
//!
//! The file's lines are JSON objects with `ledgerId`, `sequence` and `rowHash`: those of checkpoints are. A row's hash
//! covers every row before it, so the last line of a ledger's says all that the earlier ones do.

use super::archive::anchor;
use super::{Meta, SqliteLedger, stored};
use crate::ledger::LedgerError;
use crate::message::Digest;
use crate::request::Instant;
use rusqlite::OptionalExtension;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A row that was noted outside the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Noted {
    ledger_id: String,
    sequence: u64,
    row_hash: Digest,
}

impl SqliteLedger {
    /// Compares the ledger with the last row that `file` notes of it. A file that is not there notes none; that it should be
    /// there is for whoever configured it to know.
    ///
    /// # Errors
    /// [`LedgerError::RolledBack`]: the ledger does not have that row. It is an older copy, or was altered: no decision may
    /// follow from it until the operator has said so ([`SqliteLedger::restored`]). [`LedgerError`] for a file that cannot be
    /// read or has other lines.
    pub fn compare_with(&self, file: &Path) -> Result<(), LedgerError> {
        let connection = self.lock_reading()?;
        let meta = Meta::read(&connection)?;
        let Some(noted) = last_of(file, meta.identity().ledger_id)? else { return Ok(()) };
        let found: Option<[u8; 32]> = connection
            .query_row(
                "SELECT row_hash FROM reports WHERE sequence = ?1",
                (stored(noted.sequence)?,),
                |row| row.get(0),
            )
            .optional()?;
        if found.map(Digest::from_bytes) == Some(noted.row_hash) {
            return Ok(());
        }
        // What was archived is covered by the row that says so. An older copy has earlier rows, not fewer of them.
        if found.is_none() && anchor(&connection)?.is_some_and(|anchor| noted.sequence <= anchor.through) {
            return Ok(());
        }
        Err(LedgerError::RolledBack { sequence: noted.sequence, row_hash: noted.row_hash })
    }

    /// [`SqliteLedger::compare_with`] the file to which this ledger's checkpoints go, where there is one.
    ///
    /// # Errors
    /// As [`SqliteLedger::compare_with`].
    pub fn compare_with_checkpoints(&self) -> Result<(), LedgerError> {
        self.checkpoints_file().map_or(Ok(()), |file| self.compare_with(file))
    }

    /// The operator's statement that the file is a backup that was restored: the floor is raised, as in
    /// [`SqliteLedger::raise_floor`], and a checkpoint is made, so that the file outside the ledger knows it from then on.
    /// What was noted there before stays, for whoever audits it.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written, or the checkpoint did not get into its file; then do it again.
    pub fn restored(&self, now: Instant) -> Result<(), LedgerError> {
        self.raise_floor(now)?;
        self.make_checkpoint(now)?;
        // It may have come with the row already, where one was due.
        let (Some(file), Some(made)) = (self.checkpoints_file(), self.last_checkpoint()?) else {
            return Ok(());
        };
        match last_of(file, &made.ledger_id)? {
            Some(noted) if (noted.sequence, noted.row_hash) == (made.sequence, made.row_hash) => Ok(()),
            _ => Err(LedgerError::Store(format!(
                "{}: the checkpoint of the restored ledger did not get into it",
                file.display()
            ))),
        }
    }
}

/// The last line of `file` about a ledger. A last line without an end was being written when the power went. A broken one
/// may have been about the ledger: then a later one must be, which says all that it could have said.
fn last_of(file: &Path, ledger_id: &str) -> Result<Option<Noted>, LedgerError> {
    let failed = |error: std::io::Error| {
        LedgerError::Store(format!(
            "{}: the checkpoints outside the ledger cannot be read: {error}",
            file.display()
        ))
    };
    let mut lines = match File::open(file) {
        Ok(open) => BufReader::new(open),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let (mut last, mut broken, mut line, mut number) = (None, None, Vec::new(), 0_u64);
    loop {
        line.clear();
        number = number.saturating_add(1);
        if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 || line.last() != Some(&b'\n') {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Noted>(&line) {
            Ok(noted) if noted.ledger_id == ledger_id => (last, broken) = (Some(noted), None),
            Ok(_) => {}
            Err(_) => broken = Some(number),
        }
    }
    match broken {
        Some(number) => Err(LedgerError::Unusable(format!(
            "{}: line {number} is no checkpoint; mend the file, or move it away and keep it for an auditor",
            file.display()
        ))),
        None => Ok(last),
    }
}
