//! What a verification remembers while it walks: in a database of its own, which SQLite spills to disk and drops.

use crate::ledger::LedgerError;
use crate::ledger::sqlite::changes::{RESERVED, TRACKED, Tracked};
use crate::message::Digest;
use rusqlite::{Connection, OptionalExtension};

const TABLES: &str = "\
CREATE TABLE state (place INTEGER, key BLOB, row BLOB, sequence INTEGER, PRIMARY KEY (place, key)) WITHOUT ROWID;
CREATE TABLE evidence (digest BLOB PRIMARY KEY, kept INTEGER, kept_last INTEGER, erased INTEGER, seen INTEGER)
    WITHOUT ROWID;
CREATE TABLE configurations (digest BLOB PRIMARY KEY, sequence INTEGER) WITHOUT ROWID;
CREATE TABLE mentioned (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE states (digest BLOB PRIMARY KEY, sequence INTEGER) WITHOUT ROWID;
CREATE TABLE checkpoints (number INTEGER PRIMARY KEY, sequence INTEGER, checkpoint TEXT);
CREATE INDEX checkpoints_of_row ON checkpoints (sequence, number);
CREATE TABLE outside (line INTEGER PRIMARY KEY, number INTEGER, checkpoint TEXT);
BEGIN;
";

/// The tables that the chain speaks of, by their places in the scratch database.
pub(super) fn followed() -> impl Iterator<Item = (usize, &'static Tracked)> {
    TRACKED.iter().chain(&RESERVED).enumerate()
}

pub(super) fn place_of(table: &str) -> Option<usize> {
    followed().find(|(_, tracked)| tracked.table == table).map(|(place, _)| place)
}

pub(super) struct Scratch(Connection);

/// What the chain says of a piece of evidence.
pub(super) struct Spoken {
    /// The first row that says that it is kept.
    pub(super) kept: Option<u64>,
    /// A row says that it was erased, and none after it that it is kept again.
    pub(super) is_erased: bool,
}

impl Scratch {
    pub(super) fn new() -> Result<Self, LedgerError> {
        // The empty name: a private file that SQLite deletes when it is closed.
        let connection = Connection::open("")?;
        connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
        connection.execute_batch(TABLES)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Self(connection))
    }

    /// Notes that row `sequence` wrote a row of a table, or removed it; gives by how many the table grew.
    pub(super) fn put(
        &self,
        place: usize,
        key: Digest,
        row: Option<Digest>,
        sequence: u64,
    ) -> Result<i64, LedgerError> {
        let gone = self
            .0
            .prepare_cached("DELETE FROM state WHERE place = ?1 AND key = ?2")?
            .execute((number(place), key.as_bytes()))?;
        let before = i64::from(gone > 0);
        let Some(row) = row else { return Ok(-before) };
        self.0
            .prepare_cached("INSERT INTO state (place, key, row, sequence) VALUES (?1, ?2, ?3, ?4)")?
            .execute((number(place), key.as_bytes(), row.as_bytes(), signed(sequence)))?;
        Ok(1 - before)
    }

    pub(super) fn forget_rows(&self) -> Result<(), LedgerError> {
        self.0.execute("DELETE FROM state", ())?;
        Ok(())
    }

    /// What a row must be, and the row of the chain that says so; it is asked for once.
    pub(super) fn take(&self, place: usize, key: Digest) -> Result<Option<(Digest, u64)>, LedgerError> {
        Ok(self
            .0
            .prepare_cached("DELETE FROM state WHERE place = ?1 AND key = ?2 RETURNING row, sequence")?
            .query_row((number(place), key.as_bytes()), |row| {
                Ok((Digest::from_bytes(row.get(0)?), row.get(1)?))
            })
            .optional()?
            .map(|(row, sequence): (Digest, i64)| (row, unsigned(sequence))))
    }

    /// The rows of a table that were not asked for: each key's digest, and the row of the chain that wrote it.
    pub(super) fn each_left(
        &self,
        place: usize,
        mut visit: impl FnMut(Digest, u64),
    ) -> Result<(), LedgerError> {
        let mut statement =
            self.0.prepare_cached("SELECT key, sequence FROM state WHERE place = ?1 ORDER BY sequence")?;
        let mut rows = statement.query((number(place),))?;
        while let Some(row) = rows.next()? {
            visit(Digest::from_bytes(row.get(0)?), unsigned(row.get(1)?));
        }
        Ok(())
    }

    pub(super) fn evidence_kept(&self, digest: Digest, sequence: u64) -> Result<(), LedgerError> {
        self.0
            .prepare_cached(
                "INSERT INTO evidence (digest, kept, kept_last) VALUES (?1, ?2, ?2)
                 ON CONFLICT (digest) DO UPDATE SET kept = coalesce(kept, excluded.kept),
                     kept_last = excluded.kept_last",
            )?
            .execute((digest.as_bytes(), signed(sequence)))?;
        Ok(())
    }

    pub(super) fn evidence_erased(&self, digest: Digest, sequence: u64) -> Result<(), LedgerError> {
        self.0
            .prepare_cached(
                "INSERT INTO evidence (digest, erased) VALUES (?1, ?2)
                 ON CONFLICT (digest) DO UPDATE SET erased = excluded.erased",
            )?
            .execute((digest.as_bytes(), signed(sequence)))?;
        Ok(())
    }

    /// What the chain says of evidence that the file has a row of.
    pub(super) fn evidence_seen(&self, digest: Digest) -> Result<Option<Spoken>, LedgerError> {
        let spoken: Option<(Option<i64>, bool)> = self
            .0
            .prepare_cached(
                "UPDATE evidence SET seen = 1 WHERE digest = ?1
                 RETURNING kept, erased IS NOT NULL AND erased > coalesce(kept_last, 0)",
            )?
            .query_row((digest.as_bytes(),), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(spoken.map(|(kept, is_erased)| Spoken { kept: kept.map(unsigned), is_erased }))
    }

    /// Notes the manifest of a configuration, by which row `sequence` was decided.
    pub(super) fn configuration_kept(&self, digest: Digest, sequence: u64) -> Result<(), LedgerError> {
        self.0
            .prepare_cached(
                "INSERT INTO configurations (digest, sequence) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            )?
            .execute((digest.as_bytes(), signed(sequence)))?;
        self.evidence_kept(digest, sequence)
    }

    /// Each manifest, with the first row that was decided by it.
    pub(super) fn each_configuration<E: From<LedgerError>>(
        &self,
        mut visit: impl FnMut(Digest, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |error: rusqlite::Error| E::from(LedgerError::from(error));
        let mut statement = self.0.prepare("SELECT digest, sequence FROM configurations").map_err(failed)?;
        let mut rows = statement.query(()).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let digest = Digest::from_bytes(row.get(0).map_err(failed)?);
            visit(digest, unsigned(row.get(1).map_err(failed)?))?;
        }
        Ok(())
    }

    /// Evidence that a row says is kept, and that the file has no row of: what was erased leaves one.
    pub(super) fn each_missing_evidence(
        &self,
        mut visit: impl FnMut(Digest, u64),
    ) -> Result<(), LedgerError> {
        let mut statement = self.0.prepare(
            "SELECT digest, kept FROM evidence WHERE kept IS NOT NULL AND seen IS NULL ORDER BY kept",
        )?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            visit(Digest::from_bytes(row.get(0)?), unsigned(row.get(1)?));
        }
        Ok(())
    }

    pub(super) fn mention(&self, digest: Digest) -> Result<(), LedgerError> {
        self.0
            .prepare_cached("INSERT INTO mentioned (digest) VALUES (?1) ON CONFLICT DO NOTHING")?
            .execute((digest.as_bytes(),))?;
        Ok(())
    }

    pub(super) fn is_mentioned(&self, digest: Digest) -> Result<bool, LedgerError> {
        Ok(self
            .0
            .prepare_cached("SELECT 1 FROM mentioned WHERE digest = ?1")?
            .exists((digest.as_bytes(),))?)
    }

    pub(super) fn state_named(&self, digest: Digest, sequence: u64) -> Result<(), LedgerError> {
        self.0
            .prepare_cached("INSERT INTO states (digest, sequence) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
            .execute((digest.as_bytes(), signed(sequence)))?;
        Ok(())
    }

    /// Whether a row names a state; it is asked for once.
    pub(super) fn take_state(&self, digest: Digest) -> Result<bool, LedgerError> {
        Ok(self.0.prepare_cached("DELETE FROM states WHERE digest = ?1")?.execute((digest.as_bytes(),))? > 0)
    }

    pub(super) fn each_missing_state(&self, mut visit: impl FnMut(Digest, u64)) -> Result<(), LedgerError> {
        let mut statement = self.0.prepare("SELECT digest, sequence FROM states ORDER BY sequence")?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            visit(Digest::from_bytes(row.get(0)?), unsigned(row.get(1)?));
        }
        Ok(())
    }

    pub(super) fn put_checkpoint(&self, number: u64, sequence: u64, text: &str) -> Result<(), LedgerError> {
        self.0
            .prepare_cached(
                "INSERT INTO checkpoints (number, sequence, checkpoint) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            )?
            .execute((signed(number), signed(sequence), text))?;
        Ok(())
    }

    /// The first checkpoint after one, in order of the rows that they cover.
    pub(super) fn checkpoint_after(
        &self,
        (sequence, number): (u64, u64),
    ) -> Result<Option<String>, LedgerError> {
        Ok(self
            .0
            .prepare_cached(
                "SELECT checkpoint FROM checkpoints WHERE (sequence, number) > (?1, ?2)
                 ORDER BY sequence, number LIMIT 1",
            )?
            .query_row((signed(sequence), signed(number)), |row| row.get(0))
            .optional()?)
    }

    pub(super) fn put_outside(&self, line: u64, number: u64, text: &str) -> Result<(), LedgerError> {
        self.0
            .prepare_cached("INSERT INTO outside (line, number, checkpoint) VALUES (?1, ?2, ?3)")?
            .execute((signed(line), signed(number), text))?;
        Ok(())
    }

    /// The checkpoints from outside that the file does not have as they are: their lines and texts, and whether the file has
    /// another of the number.
    pub(super) fn each_outside_that_differs(
        &self,
        mut visit: impl FnMut(u64, &str, bool),
    ) -> Result<(), LedgerError> {
        let mut statement = self.0.prepare(
            "SELECT line, outside.checkpoint, checkpoints.number IS NOT NULL
             FROM outside LEFT JOIN checkpoints USING (number)
             WHERE checkpoints.checkpoint IS NOT outside.checkpoint ORDER BY line",
        )?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(1)?;
            visit(unsigned(row.get(0)?), &text, row.get(2)?);
        }
        Ok(())
    }
}

fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

/// Numbers beyond what a ledger can store come from no ledger; they stay the largest there is.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
