//! Reading a ledger's file: for auditors, who have the file alone and must not change it.

use super::LedgerError;
use super::chain::{ChainVerifier, Row, first_link};
use super::sqlite::archive::anchor;
use super::sqlite::{Meta, schema};
use crate::audit::{Record, RecordError};
use crate::message::Digest;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long a reader waits for a server that opens or recovers the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A ledger's file, opened for reading alone. A server may go on writing to it.
#[derive(Debug)]
pub struct LedgerReader {
    connection: Connection,
    ledger_id: String,
    domain: String,
}

/// One row of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// Its number, from 1.
    pub sequence: u64,
    /// SHA-256 of the previous row's hash and of the record's JCS form.
    pub row_hash: Digest,
    /// What it says.
    pub record: Record,
    /// The record's JCS form, as it stands in the file.
    pub text: String,
}

/// What a ledger has of a piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptEvidence {
    /// Its octets, which hash to the digest that was asked for.
    Octets(Vec<u8>),
    /// It was erased.
    Erased,
    /// It was never kept.
    Absent,
}

impl LedgerReader {
    /// Opens a ledger's file, of this version, without writing to it or beside it where the system lets it.
    ///
    /// # Errors
    /// [`LedgerError`]: no such file, not a ledger, another version, or altered tables.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let path = fs::canonicalize(path)
            .map_err(|error| LedgerError::Store(format!("the ledger file cannot be found: {error}")))?;
        let connection = open(&path)?;
        schema::check(&connection)?;
        let (ledger_id, domain) = connection
            .query_row("SELECT ledger_id, domain FROM meta", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self { connection, ledger_id, domain })
    }

    /// The ledger's id.
    pub fn ledger_id(&self) -> &str {
        &self.ledger_id
    }

    /// The domain that it serves.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The last row's number and hash. `None`: there is no row.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn head(&self) -> Result<Option<(u64, Digest)>, LedgerError> {
        let head: Option<(i64, [u8; 32])> = self
            .connection
            .prepare_cached("SELECT sequence, row_hash FROM reports ORDER BY sequence DESC LIMIT 1")?
            .query_row((), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        head.map(|(sequence, hash)| Ok((super::sqlite::read_u64(sequence)?, Digest::from_bytes(hash))))
            .transpose()
    }

    /// Row `sequence`, where there is one. Its place in the chain is not checked.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn row(&self, sequence: u64) -> Result<Option<LedgerRow>, LedgerError> {
        let Ok(sequence) = i64::try_from(sequence) else { return Ok(None) };
        self.one(
            "SELECT sequence, decision_id, previous_hash, row_hash, report FROM reports WHERE sequence = ?1",
            sequence,
        )
    }

    /// The first row from number `sequence` on, where there is one. Its place in the chain is not checked.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub(crate) fn first_from(&self, sequence: u64) -> Result<Option<LedgerRow>, LedgerError> {
        let Ok(sequence) = i64::try_from(sequence) else { return Ok(None) };
        self.one(
            "SELECT sequence, decision_id, previous_hash, row_hash, report FROM reports
             WHERE sequence >= ?1 ORDER BY sequence LIMIT 1",
            sequence,
        )
    }

    /// The row of a decision or event, by its id.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn find(&self, id: &str) -> Result<Option<LedgerRow>, LedgerError> {
        self.one("SELECT sequence, decision_id, previous_hash, row_hash, report FROM reports WHERE decision_id = ?1", id)
    }

    fn one(&self, sql: &str, which: impl rusqlite::ToSql) -> Result<Option<LedgerRow>, LedgerError> {
        let row = self.connection.prepare_cached(sql)?.query_row((which,), read).optional()?;
        row.map(of_row).transpose()
    }

    /// Gives every row from number `from` on, in order, to `visit`, as of one instant. Their chain is not checked.
    ///
    /// # Errors
    /// [`LedgerError`], and whatever `visit` gives.
    pub fn each_row<E: From<LedgerError>>(
        &self,
        from: u64,
        mut visit: impl FnMut(LedgerRow) -> Result<(), E>,
    ) -> Result<(), E> {
        each_row(&self.connection, from, |row| visit(of_row(row)?))
    }

    /// A piece of evidence.
    ///
    /// # Errors
    /// [`LedgerError`]; also where what is kept does not hash to its digest.
    pub fn evidence(&self, digest: Digest) -> Result<KeptEvidence, LedgerError> {
        let octets: Option<Option<Vec<u8>>> = self
            .connection
            .prepare_cached("SELECT octets FROM evidence WHERE digest = ?1")?
            .query_row((digest.as_bytes(),), |row| row.get(0))
            .optional()?;
        match octets {
            None => Ok(KeptEvidence::Absent),
            Some(None) => Ok(KeptEvidence::Erased),
            Some(Some(octets)) if Digest::of(&octets) == digest => Ok(KeptEvidence::Octets(octets)),
            Some(Some(_)) => {
                Err(LedgerError::Unusable(format!("the evidence {digest} is not what was written")))
            }
        }
    }

    /// Verifies every row of the chain, first to last, and gives the last one's number (0: no rows) and hash.
    ///
    /// # Errors
    /// [`LedgerError::ChainBroken`] names the first row that is not what was written; [`LedgerError`]
    pub fn verify_chain(&self) -> Result<(u64, Digest), LedgerError> {
        verify_chain(&self.connection)
    }
}

/// Verifies every row of the chain, and gives the last one's number and hash.
pub(super) fn verify_chain(connection: &Connection) -> Result<(u64, Digest), LedgerError> {
    let mut verifier = match anchor(connection)? {
        Some(anchor) => ChainVerifier::after(anchor.through, anchor.row_hash),
        None => ChainVerifier::new(first_link(&Meta::read(connection)?.identity())?),
    };
    each_row(connection, 1, |row| verifier.follow(&row).map(|_| ()))?;
    Ok(verifier.head())
}

/// Every row of the chain from number `from` on, in order.
pub(super) fn each_row<E: From<LedgerError>>(
    connection: &Connection,
    from: u64,
    mut visit: impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |error: rusqlite::Error| E::from(LedgerError::from(error));
    let mut statement = connection
        .prepare(
            "SELECT sequence, decision_id, previous_hash, row_hash, report FROM reports
             WHERE sequence >= ?1 ORDER BY sequence",
        )
        .map_err(failed)?;
    let mut rows = statement.query((i64::try_from(from).unwrap_or(i64::MAX),)).map_err(failed)?;
    let mut last = None;
    while let Some(row) = rows.next().map_err(failed)? {
        let row = read(row).map_err(failed)?;
        // A file whose pages lead back to themselves would give rows for ever.
        if last.is_some_and(|last| row.sequence <= last) {
            return Err(E::from(LedgerError::Damaged("the rows are not in order".into())));
        }
        last = Some(row.sequence);
        visit(row)?;
    }
    Ok(())
}

fn read(row: &rusqlite::Row<'_>) -> Result<Row, rusqlite::Error> {
    let sequence: i64 = row.get(0)?;
    Ok(Row {
        sequence: u64::try_from(sequence)
            .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, sequence))?,
        decision_id: row.get(1)?,
        previous_hash: Digest::from_bytes(row.get(2)?),
        row_hash: Digest::from_bytes(row.get(3)?),
        report: row.get(4)?,
    })
}

fn of_row(row: Row) -> Result<LedgerRow, LedgerError> {
    let broken = |problem| LedgerError::ChainBroken { sequence: row.sequence, problem };
    let record = Record::read(&row.report).map_err(|error| match error {
        RecordError::Malformed => broken("its report is not of this version's form"),
        RecordError::Version => broken("its report is of another version"),
    })?;
    Ok(LedgerRow { sequence: row.sequence, row_hash: row.row_hash, record, text: row.report })
}

/// A connection that cannot write. Where nothing may be made beside the file, and nothing waits there, the file is read as
/// one that nobody changes.
pub(super) fn open(path: &Path) -> Result<Connection, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    match connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get::<_, i64>(0)) {
        Ok(_) => Ok(connection),
        Err(error) if has_write_ahead_log(path) => Err(error.into()),
        Err(_) => {
            let uri = format!("file:{}?immutable=1", percent_encoded(path)?);
            Ok(Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?)
        }
    }
}

fn has_write_ahead_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

fn percent_encoded(path: &Path) -> Result<String, LedgerError> {
    let path = path.to_str().ok_or_else(|| LedgerError::Store("the ledger's path is not UTF-8".into()))?;
    Ok(path
        .bytes()
        .map(|octet| match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                char::from(octet).to_string()
            }
            _ => format!("%{octet:02X}"),
        })
        .collect())
}
