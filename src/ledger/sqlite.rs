//! The ledger in SQLite: WAL, `synchronous=FULL`, one writer at a time.
//!
//! Every decision is one `BEGIN IMMEDIATE` transaction, which takes the write lock before it reads. So threads, other
//! connections and other processes on the same file are judged one after the other, each on what the last one wrote.
//! An error rolls back. (If a commit fails half way through an I/O error, the row may reappear after a crash: then a
//! message that was refused counts as allowed, never the reverse.)

mod admission;
mod conversations;
mod remembered;
mod schema;
mod sponsors;
#[cfg(test)]
mod tests;

use super::chain::{ChainVerifier, Row, first_link};
use super::{
    Admission, Candidate, Entry, Ledger, LedgerError, LedgerSnapshot, ListKey, Negotiated, Revoked, Step,
};
use crate::audit::{DecisionOutcome, DecisionReportV1, EvaluationOutcome};
use crate::message::Digest;
use crate::protocol::ProtocolHash;
use crate::protocol::conversation::{ConversationKey, Exchange};
use crate::refusal::Reason;
use crate::request::{Instant, Peer};
use admission::{Finding, Verdict};
use chrono::TimeDelta;
pub use conversations::ListedExchange;
use remembered::Remembered;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// How long a decision waits for another process's transaction. One takes under a millisecond; this leaves room for a
/// checkpoint on a slow disk, and then refuses.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Statements that are kept prepared: more than there are, so that no decision parses SQL.
const PREPARED_STATEMENTS: usize = 64;

/// A ledger in one SQLite file, or in memory.
#[derive(Debug)]
pub struct SqliteLedger {
    connection: Mutex<Connection>,
    /// The memory of status and revocation as it was last read. Locked only while `connection` is.
    remembered: Mutex<Remembered>,
    domain: String,
    skew: TimeDelta,
}

impl SqliteLedger {
    /// Creates a ledger for `domain`. `first` is the operator's statement that no ledger served this domain before;
    /// without it, presentations made up to `now` plus `skew` are refused (`BEFORE_LEDGER_FLOOR`).
    ///
    /// # Errors
    /// [`LedgerError`]; also when the file exists.
    pub fn create(
        path: &Path,
        domain: &str,
        first: bool,
        now: Instant,
        skew: TimeDelta,
    ) -> Result<Self, LedgerError> {
        let floor = if first { None } else { Some(floor(now, skew)?) };
        let path = new_file(path)?;
        let created = open_file(&path).and_then(|mut connection| {
            // The mode is kept in the file: it is set once, here, and checked at every opening.
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
            schema::create(&mut connection, domain, floor, Some(micros(now)))?;
            Self::new(connection, domain, skew, "wal")
        });
        if created.is_err() {
            // It was made above and holds no decision. Should this fail, `open` refuses the remains.
            let _ = fs::remove_file(&path);
        }
        created
    }

    /// Opens an existing ledger, which must be `domain`'s. One of an earlier version of Writgate is brought up to this
    /// one, and an earlier version no longer opens it.
    ///
    /// # Errors
    /// [`LedgerError`]: no such file, not a ledger, another version, altered tables, read-only, or another domain.
    pub fn open(path: &Path, domain: &str, skew: TimeDelta) -> Result<Self, LedgerError> {
        let path = fs::canonicalize(path)
            .map_err(|error| LedgerError::Store(format!("the ledger file cannot be found: {error}")))?;
        let mut connection = open_file(&path)?;
        schema::migrate(&mut connection)?;
        Self::new(connection, domain, skew, "wal")
    }

    /// A ledger that ends with the process. Its floor is `now` plus `skew`, so that a restart reopens no replay.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn in_memory(domain: &str, now: Instant, skew: TimeDelta) -> Result<Self, LedgerError> {
        Self::memory(domain, Some(floor(now, skew)?), Some(micros(now)), skew)
    }

    /// A ledger that ends with the process, without a floor and without a highest instant, for simulators and tests
    /// that choose their instants freely. Never for a server: its restart would reopen every replay.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn in_memory_first(domain: &str, skew: TimeDelta) -> Result<Self, LedgerError> {
        Self::memory(domain, None, None, skew)
    }

    /// Raises the floor to `now` plus the skew: after a backup was restored, whatever was allowed since it was made is
    /// not known here, and must not be allowed again.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    pub fn raise_floor(&self, now: Instant) -> Result<(), LedgerError> {
        let floor = floor(now, self.skew)?;
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("UPDATE meta SET floor_us = max(coalesce(floor_us, ?1), ?1)", (floor,))?;
        transaction.commit()?;
        Ok(())
    }

    /// Every exchange of every conversation, as it was written: an offer or agreement may have run out since.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn conversations(&self) -> Result<Vec<ListedExchange>, LedgerError> {
        conversations::all(&*self.lock()?)
    }

    /// Forgets every exchange of a peer, and gives their number: the operator's decision that it starts anew, in prose if
    /// it likes. Nothing else lets prose in again where a protocol was required.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    pub fn forget_conversations(&self, peer: &Peer) -> Result<usize, LedgerError> {
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let forgotten = conversations::forget(&transaction, peer)?;
        transaction.commit()?;
        Ok(forgotten)
    }

    /// Verifies every row of the chain, first to last, and gives the last one's number (0: no rows) and hash. It holds
    /// the ledger while it runs; on a live server, open the file a second time.
    ///
    /// Rows cut off at the end leave a shorter chain that holds: compare the last row with one known from elsewhere
    /// (each permit returns its own).
    ///
    /// # Errors
    /// [`LedgerError::ChainBroken`] names the first row that is not what was written; [`LedgerError`]
    pub fn verify_chain(&self) -> Result<(u64, Digest), LedgerError> {
        let mut connection = self.lock()?;
        let transaction = connection.transaction()?;
        let meta = Meta::read(&transaction)?;
        let mut verifier = ChainVerifier::new(first_link(&meta.ledger_id, &meta.domain)?);
        let mut statement = transaction.prepare(
            "SELECT sequence, decision_id, previous_hash, row_hash, report FROM reports ORDER BY sequence",
        )?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            verifier.follow(&Row {
                sequence: read_u64(row.get(0)?)?,
                decision_id: row.get(1)?,
                previous_hash: Digest::from_bytes(row.get(2)?),
                row_hash: Digest::from_bytes(row.get(3)?),
                report: row.get(4)?,
            })?;
        }
        Ok(verifier.head())
    }

    fn memory(
        domain: &str,
        floor_us: Option<i64>,
        high_water_us: Option<i64>,
        skew: TimeDelta,
    ) -> Result<Self, LedgerError> {
        let mut connection = Connection::open_in_memory()?;
        schema::create(&mut connection, domain, floor_us, high_water_us)?;
        Self::new(connection, domain, skew, "memory")
    }

    /// Sets up a connection and checks what it leads to.
    fn new(
        connection: Connection,
        domain: &str,
        skew: TimeDelta,
        journal_mode: &str,
    ) -> Result<Self, LedgerError> {
        if skew < TimeDelta::zero() {
            return Err(LedgerError::Contradictory("the skew is negative"));
        }
        schema::check(&connection)?;
        if connection.is_readonly(rusqlite::MAIN_DB)? {
            return Err(LedgerError::Unusable("the file is read-only".into()));
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
        let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
        let foreign_keys: bool = connection.pragma_query_value(None, "foreign_keys", |row| row.get(0))?;
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        if synchronous != 2 || !foreign_keys || mode != journal_mode {
            return Err(LedgerError::Unusable("the file does not take the settings of a ledger".into()));
        }
        let stored = Meta::read(&connection)?.domain;
        if stored != domain {
            return Err(LedgerError::Unusable(format!(
                "the ledger is for domain {stored:?}, not {domain:?}"
            )));
        }
        let remembered = Mutex::default();
        Ok(Self { connection: Mutex::new(connection), remembered, domain: stored, skew })
    }

    /// The connection. A thread that panicked while it held it left the ledger in doubt: nothing is decided any more.
    fn lock(&self) -> Result<MutexGuard<'_, Connection>, LedgerError> {
        self.connection
            .lock()
            .map_err(|_| LedgerError::Store("an earlier decision failed while it held the ledger".into()))
    }

    /// The report must describe the message that is reserved, and only a grant in this domain is admitted.
    fn check(&self, candidate: &Candidate<'_>) -> Result<(), LedgerError> {
        let body = candidate.body;
        if body.outcome != EvaluationOutcome::Granted {
            return Err(LedgerError::Contradictory("only a grant is admitted"));
        }
        if candidate.domain != self.domain {
            return Err(LedgerError::Contradictory("the presentation is for another domain than the ledger"));
        }
        if body.message_digest != candidate.message_digest
            || body.message_id.as_deref() != Some(candidate.message_id)
            || body.context.as_deref() != candidate.context
            || body.holder.as_deref() != Some(candidate.holder)
            || body.obligations != *candidate.obligations
        {
            return Err(LedgerError::Contradictory(
                "the report describes another message than the one admitted",
            ));
        }
        Ok(())
    }
}

impl Ledger for SqliteLedger {
    fn domain(&self) -> &str {
        &self.domain
    }

    fn snapshot(&self, of: &ConversationKey, now: Instant) -> Result<LedgerSnapshot, LedgerError> {
        let mut connection = self.lock()?;
        let transaction = connection.transaction()?;
        let memory = self
            .remembered
            .lock()
            .map_err(|_| LedgerError::Store("an earlier snapshot failed while it read the ledger".into()))?
            .current(&transaction)?;
        let counts = transaction
            .prepare_cached("SELECT policy, exercised FROM counts")?
            .query_and_then((), |row| Ok((row.get(0)?, read_u64(row.get(1)?)?)))?
            .collect::<Result<_, LedgerError>>()?;
        let conversation = conversations::conversation(&transaction, of, now)?;
        Ok(LedgerSnapshot { memory, counts, conversation })
    }

    fn admit(&self, candidate: Candidate<'_>) -> Result<Admission, LedgerError> {
        self.check(&candidate)?;
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let meta = Meta::read(&transaction)?;
        let (outcome, reason, earlier) = match admission::judge(&transaction, &meta, &candidate, self.skew)? {
            Finding::Stale => return Ok(Admission::Stale),
            Finding::Refused { reason, earlier } => (DecisionOutcome::Refuse, Some(reason), earlier),
            Finding::Clear if !remembered::keep_lists(&transaction, candidate.learned, candidate.now)? => {
                (DecisionOutcome::Refuse, Some(Reason::StatusRetrievalError), None)
            }
            Finding::Clear => (DecisionOutcome::Allow, None, None),
        };
        let verdict = Verdict {
            decision_id: candidate.decision_id.clone(),
            outcome,
            reason,
            earlier: earlier.clone(),
            stage_micros: candidate.stage_micros.clone(),
        };
        let (recorded, report) = admission::append(&transaction, &meta, candidate.body, verdict)?;
        if reason.is_none() {
            admission::reserve(&transaction, &candidate, recorded.sequence())?;
        }
        remembered::learn(&transaction, candidate.learned, candidate.now)?;
        admission::raise_high_water(&transaction, candidate.now)?;
        transaction.commit()?;
        let report = Box::new(report);
        Ok(match reason {
            None => Admission::Admitted(recorded, report),
            Some(reason) => Admission::Refused { reason, earlier, report },
        })
    }

    fn record(&self, entry: Entry<'_>) -> Result<Option<DecisionReportV1>, LedgerError> {
        let (body, now, learned, rests_on) = (entry.body, entry.now, entry.learned, entry.rests_on);
        let verdict = Verdict::of_entry(entry)?;
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(rests_on) = rests_on
            && admission::has_moved(&transaction, rests_on, now)?
        {
            return Ok(None);
        }
        let meta = Meta::read(&transaction)?;
        let (_, report) = admission::append(&transaction, &meta, body, verdict)?;
        remembered::learn(&transaction, learned, now)?;
        admission::raise_high_water(&transaction, now)?;
        transaction.commit()?;
        Ok(Some(report))
    }

    fn negotiate(
        &self,
        of: &ConversationKey,
        hash: &ProtocolHash,
        now: Instant,
        step: Step<'_>,
    ) -> Result<Negotiated, LedgerError> {
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let negotiated = conversations::negotiate(&transaction, of, hash, now, step)?;
        transaction.commit()?;
        Ok(negotiated)
    }

    fn exchanges(
        &self,
        of: &ConversationKey,
        now: Instant,
    ) -> Result<Vec<(ProtocolHash, Exchange)>, LedgerError> {
        let mut connection = self.lock()?;
        let transaction = connection.transaction()?;
        conversations::exchanges(&transaction, of, now)
    }

    fn mark_revoked(&self, revoked: &Revoked) -> Result<(), LedgerError> {
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        remembered::mark_revoked(&transaction, revoked)?;
        transaction.commit()?;
        Ok(())
    }

    fn wanted_lists(&self) -> Result<Vec<ListKey>, LedgerError> {
        remembered::wanted(&*self.lock()?)
    }
}

/// The ledger's identity and its memory of time.
struct Meta {
    ledger_id: String,
    domain: String,
    /// Presentations made up to here are refused. `None`: no ledger served the domain before.
    floor_us: Option<i64>,
    /// The highest instant of any decision, and of any step of a conversation.
    high_water_us: Option<i64>,
}

impl Meta {
    fn read(connection: &Connection) -> Result<Self, LedgerError> {
        Ok(connection
            .prepare_cached("SELECT ledger_id, domain, floor_us, high_water_us FROM meta")?
            .query_row((), |row| {
                Ok(Self {
                    ledger_id: row.get(0)?,
                    domain: row.get(1)?,
                    floor_us: row.get(2)?,
                    high_water_us: row.get(3)?,
                })
            })?)
    }
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.to_string())
    }
}

/// Makes an empty file that only its owner may read, and that was not there before, with no leavings of an old ledger
/// beside it (SQLite would replay an old journal into the new file).
fn new_file(path: &Path) -> Result<PathBuf, LedgerError> {
    let failed = |what: &str, error| LedgerError::Store(format!("{what}: {error}"));
    for suffix in ["-wal", "-shm", "-journal"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        if fs::symlink_metadata(&beside).is_ok() {
            return Err(LedgerError::Unusable(format!(
                "a file of an earlier ledger ({suffix}) is in the way"
            )));
        }
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| failed("the ledger file cannot be made", error))?;
    let path = fs::canonicalize(path).map_err(|error| failed("the ledger file cannot be found", error))?;
    // A ledger whose name a power cut forgets is a ledger that an operator may make anew.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        fs::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| failed("the ledger's folder cannot be written", error))?;
    }
    Ok(path)
}

/// Opens an existing file. The path is a canonical one: SQLite gives a meaning of its own to names such as `:memory:`,
/// `file:x?mode=memory` and the empty one, none of which is durable.
fn open_file(path: &Path) -> Result<Connection, LedgerError> {
    if !path.is_absolute() {
        return Err(LedgerError::Contradictory("the ledger's path is not absolute"));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// `now` plus the skew, as stored: nothing made up to then is accepted.
fn floor(now: Instant, skew: TimeDelta) -> Result<i64, LedgerError> {
    now.checked_add_signed(skew)
        .map(micros)
        .ok_or(LedgerError::Contradictory("the skew leads out of the calendar"))
}

/// An instant as stored, rounded down: two instants never change their order, and at worst become equal.
fn micros(instant: Instant) -> i64 {
    instant.timestamp_micros()
}

fn read_u64(number: i64) -> Result<u64, LedgerError> {
    u64::try_from(number).map_err(|_| LedgerError::Unusable("a number of the ledger is negative".into()))
}
