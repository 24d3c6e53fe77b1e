//! Verifying a ledger's file, first row to last, as somebody who trusts neither the file nor whoever had it.
//!
//! The chain is walked once. What it says of the tables is kept in a scratch database that SQLite spills to disk, and the
//! reserved ids come along in order of their rows: memory does not grow with the ledger. Nothing that the file holds is
//! taken at its word; what cannot be read is a finding like any other.

mod checkpoints;
mod evidence;
mod scratch;
mod shown;
mod tables;
#[cfg(test)]
mod tests;
mod walk;

use super::LedgerError;
use super::reader;
use super::sqlite::schema;
use crate::message::Digest;
use rusqlite::{Connection, ErrorCode};
use scratch::Scratch;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Findings that are kept; those beyond are counted.
const MAX_FINDINGS: usize = 1_000;
/// Octets of a text or blob of a table. What is longer was not written by a ledger, and is not read.
const MAX_CELL_BYTES: usize = 8 << 20;
/// Messages that SQLite's own check gives at most.
const MAX_INTEGRITY_FINDINGS: usize = 100;

/// What an auditor knows from elsewhere.
#[derive(Debug, Clone, Default)]
pub struct VerifyOptions {
    /// Rows that must be there, by their numbers and hashes: each permit returns its own.
    pub expected: Vec<(u64, Digest)>,
    /// A file of checkpoints from outside the ledger, a line for each.
    pub checkpoints: Option<PathBuf>,
    /// Keys, as did:keys: the first of the ledger must be among them, and each must have been in force.
    pub keys: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// The ledger's id.
    pub ledger_id: String,
    /// The domain that it serves.
    pub domain: String,
    /// The first row in the file: 1, unless rows left for an archive. 0: there is none.
    pub first_row: u64,
    /// The last row in the file. 0: there is none.
    pub last_row: u64,
    /// The last row's hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_hash: Option<Digest>,
    /// Checkpoints in the file.
    pub checkpoints: u64,
    /// The last row that a checkpoint covers that holds. 0: none.
    pub covered: u64,
    /// The keys that signed checkpoints, as did:keys, first to last.
    pub keys: Vec<String>,
    /// What is not what was written.
    pub findings: Vec<Finding>,
    /// Findings beyond those that are listed.
    pub further_findings: u64,
    /// What an auditor should know though nothing is wrong.
    pub notes: Vec<String>,
}

/// Something that is not what was written. Its texts are escaped for a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The table; `file` for what is wrong with the file, `outside` for what comes from elsewhere.
    pub table: String,
    /// The row by its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The row of the chain that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table)?;
        if let Some(row) = &self.row {
            write!(f, " ({row})")?;
        }
        if let Some(sequence) = self.sequence {
            write!(f, ", row {sequence} of the chain")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl Verification {
    /// Nothing was found.
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }

    fn find(
        &mut self,
        table: &str,
        row: impl Into<Option<String>>,
        sequence: impl Into<Option<u64>>,
        problem: impl Into<String>,
    ) {
        if self.findings.len() >= MAX_FINDINGS {
            self.further_findings = self.further_findings.saturating_add(1);
            return;
        }
        let (row, sequence, problem) = (row.into(), sequence.into(), problem.into());
        self.findings.push(Finding { table: table.to_owned(), row, sequence, problem });
    }

    /// Keeps going where the file cannot be read, and stops where we cannot go on.
    fn unless_damaged(&mut self, table: &str, done: Result<(), Stop>) -> Result<(), LedgerError> {
        match done {
            Ok(()) => Ok(()),
            Err(Stop::Damaged(problem)) => {
                self.find(
                    table,
                    None,
                    None,
                    format!("it cannot be read to its end: {}", shown::text(&problem)),
                );
                Ok(())
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}

/// Why a part of the file was not read to its end.
enum Stop {
    /// The file is not one that SQLite writes.
    Damaged(String),
    /// We could not go on.
    Failed(LedgerError),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory
                | ErrorCode::OperationInterrupted
                | ErrorCode::PermissionDenied,
            ) => Self::Failed(error.into()),
            _ => Self::Damaged(error.to_string()),
        }
    }
}

impl From<LedgerError> for Stop {
    fn from(error: LedgerError) -> Self {
        Self::Failed(error)
    }
}

/// Verifies a ledger's file as it is at one instant; a server may go on writing to it. Everything that is found is
/// reported, not the first thing alone.
///
/// # Errors
/// [`LedgerError`]: there is no such file, it is no ledger or one of another version, or it or what is known from
/// elsewhere cannot be read.
pub fn verify(path: &Path, options: &VerifyOptions) -> Result<Verification, LedgerError> {
    let path = fs::canonicalize(path)
        .map_err(|error| LedgerError::Store(format!("the ledger file cannot be found: {error}")))?;
    let mut found = Verification::default();
    let connection =
        match reader::open(&path).and_then(|file| schema::is_of_this_version(&file).map(|()| file)) {
            Ok(connection) => connection,
            Err(LedgerError::Damaged(problem)) => {
                found.find("file", None, None, shown::text(&problem));
                return Ok(found);
            }
            Err(error) => return Err(error),
        };
    let done = verify_snapshot(&connection, options, &mut found);
    found.unless_damaged("file", done)?;
    Ok(found)
}

fn verify_snapshot(
    connection: &Connection,
    options: &VerifyOptions,
    found: &mut Verification,
) -> Result<(), Stop> {
    // What the first read finds is what all of them find.
    let snapshot = connection.unchecked_transaction()?;
    // A view or trigger in the place of a table could say anything, for ever.
    if schema::check(&snapshot).is_err() {
        found.find("file", None, None, "its tables were altered; no row was read");
        return Ok(());
    }
    let checked = integrity(&snapshot, found);
    found.unless_damaged("file", checked)?;
    let Some(meta) = tables::meta(&snapshot, found)? else { return Ok(()) };
    found.ledger_id = shown::text(&meta.ledger_id);
    found.domain = shown::text(&meta.domain);
    let scratch = Scratch::new()?;
    if let Some(file) = &options.checkpoints {
        checkpoints::read_outside(file, &meta, &scratch, found)?;
    }
    let read = checkpoints::read(&snapshot, &meta, &scratch, found);
    found.unless_damaged("checkpoints", read)?;
    let mut walk = walk::Walk::new(&meta, options, &scratch, found)?;
    let walked = walk.run(&snapshot);
    let said = walk.said();
    found.unless_damaged("reports", walked)?;
    checkpoints::compare_outside(&scratch, found)?;
    tables::compare(&snapshot, &said, &scratch, found)?;
    tables::compare_meta(&meta, &said, found);
    let compared = tables::states(&snapshot, &scratch, found);
    found.unless_damaged("states", compared)?;
    let compared = evidence::compare(&snapshot, &scratch, found);
    found.unless_damaged("evidence", compared)?;
    if found.covered < found.last_row {
        found.notes.push(match found.covered {
            0 => {
                "no checkpoint signs any row: whoever can write the file can write all of it anew".to_owned()
            }
            covered => format!("the rows after {covered} wait for the next checkpoint"),
        });
    }
    Ok(())
}

/// SQLite's own view of the file: pages, indexes, types and constraints.
fn integrity(connection: &Connection, found: &mut Verification) -> Result<(), Stop> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MAX_INTEGRITY_FINDINGS})"))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        match row.get_ref(0)?.as_str() {
            Ok("ok") => {}
            Ok(problem) => found.find("file", None, None, shown::text(problem)),
            Err(_) => found.find("file", None, None, "SQLite finds something that is no text"),
        }
    }
    Ok(())
}

/// A column, or an empty blob in its place where it is longer than any that is written: no column holds one.
fn bounded(column: &str) -> String {
    format!(
        "CASE WHEN octet_length({column}) > {MAX_CELL_BYTES} THEN x'' ELSE {column} END \
         AS {column}"
    )
}
