//! The ledger in SQLite: WAL, `synchronous=FULL`, one writer at a time.
//!
//! Every decision is in one `BEGIN IMMEDIATE` transaction, which takes the write lock before it reads; those that come at
//! the same time share one ([`writer`]). So threads, other connections and other processes on the same file are judged one
//! after the other, each on what the last one wrote. Whatever changes a table that decisions rest on is in the same
//! transaction as a row of the chain that names it ([`changes`]). An error rolls back. (If a commit fails half way through
//! an I/O error, the row may reappear after a crash: then a message that was refused counts as allowed, never the reverse.)

mod admission;
pub(super) mod archive;
pub(super) mod changes;
pub(super) mod checkpoints;
mod conversations;
mod evidence;
mod filled;
pub(super) mod growth;
#[cfg(test)]
mod growth_tests;
mod outside;
mod remembered;
mod retention;
#[cfg(test)]
mod retention_tests;
mod rows;
pub(super) mod schema;
mod sponsors;
mod states;
#[cfg(test)]
mod tests;
mod writer;

use super::chain::Identity;
use super::reader;
use super::{
    Admission, Candidate, Entry, Ledger, LedgerError, LedgerSnapshot, ListKey, Negotiated, Revoked, Step,
};
use crate::audit::{Blob, DecisionReportV1, EvaluationOutcome, Event, ExchangeReport, recorded_text};
use crate::message::Digest;
use crate::protocol::ProtocolHash;
use crate::protocol::conversation::{ConversationKey, Exchange};
use crate::request::{Instant, Peer};
pub use archive::{Archive, verify_archive};
use changes::Changes;
pub use checkpoints::Checkpoints;
use chrono::{DateTime, TimeDelta};
pub use conversations::ListedExchange;
use remembered::Remembered;
pub use retention::Pruned;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// How long a decision waits for another process's transaction. One takes under a millisecond; this leaves room for a
/// checkpoint on a slow disk, and then refuses.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Statements that are kept prepared: more than there are, so that no decision parses SQL.
const PREPARED_STATEMENTS: usize = 64;

/// Octets of a step's row without the peer's identity, as its rate counts them.
const STEP_BYTES: usize = 1 << 10;

/// A ledger in one SQLite file, or in memory.
#[derive(Debug)]
pub struct SqliteLedger {
    /// The one that writes.
    connection: Mutex<Connection>,
    /// What its transaction changes. Touched only while `connection` is locked.
    changes: Changes,
    /// How checkpoints are made. `None`: there are none.
    checkpoints: Option<Checkpoints>,
    /// Decisions that wait for `connection`.
    queue: writer::Queue,
    /// One that reads, so that a snapshot does not wait for the disk; a ledger in memory has but the one.
    reading: Option<Mutex<Connection>>,
    /// The memory of status and revocation as it was last read.
    remembered: Mutex<Remembered>,
    domain: String,
    skew: TimeDelta,
    /// What the file may hold.
    max_bytes: Option<u64>,
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
            write_ahead(&connection)?;
            schema::create(&mut connection, domain, floor, Some(micros(now)))?;
            let reading = reading(&path)?;
            Self::new(connection, Some(reading), domain, skew)
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
        let reading = reading(&path)?;
        Self::new(connection, Some(reading), domain, skew)
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

    /// Bounds the file (without its write-ahead log). From three quarters of it on, messages without a verified chain are
    /// only counted; from nine tenths on, every refusal is, and no conversation takes a step. The rest is for allows; when
    /// it is used up, they are refused too (`LEDGER_UNAVAILABLE`). Default: no bound.
    pub fn with_max_bytes(mut self, max_bytes: Option<u64>) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Octets of the file that hold anything: what [`SqliteLedger::with_max_bytes`] bounds.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn used_bytes(&self) -> Result<u64, LedgerError> {
        growth::used_bytes(&*self.lock_reading()?)
    }

    /// Raises the floor to `now` plus the skew: after a backup was restored, whatever was allowed since it was made is
    /// not known here, and must not be allowed again.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    pub fn raise_floor(&self, now: Instant) -> Result<(), LedgerError> {
        let floor = floor(now, self.skew)?;
        self.change(now, |transaction| {
            transaction.execute("UPDATE meta SET floor_us = max(coalesce(floor_us, ?1), ?1)", (floor,))?;
            Ok(((), Some(Event::FloorRaised { floor: micros_text(floor)? })))
        })
    }

    /// Changes the tables in one transaction with the row that says so. No event: nothing was changed, and nothing is
    /// written.
    fn change<T>(
        &self,
        now: Instant,
        change: impl FnOnce(&Transaction<'_>) -> Result<(T, Option<Event>), LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // What failed half way may have noted changes.
        self.changes.take();
        growth::turn(&transaction, now, growth::Fill::of(&transaction, self.max_bytes)?, &self.changes)?;
        let (changed, event) = change(&transaction)?;
        if let Some(event) = event {
            rows::append_event(&transaction, event, now, self.changes.take())?;
            let checkpoint = self.checkpoint_if_due(&transaction, now)?;
            transaction.commit()?;
            self.emit(checkpoint.as_ref());
        }
        Ok(changed)
    }

    /// Every exchange of every conversation, as it was written: an offer or agreement may have run out since.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn conversations(&self) -> Result<Vec<ListedExchange>, LedgerError> {
        conversations::all(&*self.lock_reading()?)
    }

    /// Forgets every exchange of a peer, and gives their number: the operator's decision that it starts anew, in prose if
    /// it likes. Nothing else lets prose in again where a protocol was required.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    pub fn forget_conversations(&self, peer: &Peer, now: Instant) -> Result<usize, LedgerError> {
        self.change(now, |transaction| {
            let forgotten = conversations::forget(transaction, peer)?;
            let exchanges = u64::try_from(forgotten).unwrap_or(u64::MAX);
            let event = Event::Forgotten { peer: peer.as_str().to_owned(), exchanges };
            Ok((forgotten, Some(event)))
        })
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
        reader::verify_chain(&*self.lock_reading()?)
    }

    fn memory(
        domain: &str,
        floor_us: Option<i64>,
        high_water_us: Option<i64>,
        skew: TimeDelta,
    ) -> Result<Self, LedgerError> {
        let mut connection = Connection::open_in_memory()?;
        schema::create(&mut connection, domain, floor_us, high_water_us)?;
        Self::new(connection, None, domain, skew)
    }

    /// Sets up a connection and checks what it leads to.
    fn new(
        connection: Connection,
        reading: Option<Connection>,
        domain: &str,
        skew: TimeDelta,
    ) -> Result<Self, LedgerError> {
        let journal_mode = if reading.is_some() { "wal" } else { "memory" };
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
        // The triggers of `changes` are temporary; they need no file.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
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
        let changes = Changes::of(&connection)?;
        Ok(Self {
            connection: Mutex::new(connection),
            changes,
            checkpoints: None,
            queue: writer::Queue::default(),
            reading: reading.map(Mutex::new),
            remembered: Mutex::default(),
            domain: stored,
            skew,
            max_bytes: None,
        })
    }

    /// The connection that reads.
    fn lock_reading(&self) -> Result<MutexGuard<'_, Connection>, LedgerError> {
        match &self.reading {
            Some(reading) => reading
                .lock()
                .map_err(|_| LedgerError::Store("an earlier reader failed while it held the ledger".into())),
            None => self.lock(),
        }
    }

    /// The connection. A thread that panicked while it held it left the ledger in doubt: nothing is decided any more.
    fn lock(&self) -> Result<MutexGuard<'_, Connection>, LedgerError> {
        self.connection
            .lock()
            .map_err(|_| LedgerError::Store("an earlier decision failed while it held the ledger".into()))
    }

    /// The report must describe the message that is reserved, and only a grant in this domain is admitted.
    fn check(&self, candidate: &Candidate) -> Result<(), LedgerError> {
        let body = &candidate.body;
        if body.outcome != EvaluationOutcome::Granted {
            return Err(LedgerError::Contradictory("only a grant is admitted"));
        }
        if candidate.domain != self.domain {
            return Err(LedgerError::Contradictory("the presentation is for another domain than the ledger"));
        }
        if body.message_digest != candidate.message_digest
            || body.message_id.as_deref() != Some(&candidate.message_id)
            || body.context != candidate.context
            || body.holder.as_deref() != Some(&candidate.holder)
            || body.obligations != candidate.obligations
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
        let mut connection = self.lock_reading()?;
        let transaction = connection.transaction()?;
        let memory = self
            .remembered
            .lock()
            .map_err(|_| LedgerError::Store("an earlier snapshot failed while it read the ledger".into()))?
            .current(&transaction)?;
        let conversation = conversations::conversation(&transaction, of, now)?;
        Ok(LedgerSnapshot { memory, conversation })
    }

    fn counts(&self, of: Option<&BTreeSet<String>>) -> Result<BTreeMap<String, u64>, LedgerError> {
        let mut connection = self.lock_reading()?;
        let transaction = connection.transaction()?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, read_u64(row.get(1)?)?));
        let Some(of) = of else {
            let mut all = transaction.prepare_cached("SELECT policy, exercised FROM counts")?;
            return all.query_and_then((), read)?.collect();
        };
        let mut one = transaction.prepare_cached("SELECT policy, exercised FROM counts WHERE policy = ?1")?;
        let mut counts = BTreeMap::new();
        for policy in of {
            counts.extend(one.query_and_then((policy,), read)?.collect::<Result<Vec<_>, LedgerError>>()?);
        }
        Ok(counts)
    }

    fn admit(&self, candidate: Candidate) -> Result<Admission, LedgerError> {
        self.check(&candidate)?;
        match self.write(writer::Work::admit(candidate)?)? {
            writer::Answer::Admission(admission) => Ok(admission),
            writer::Answer::Recorded(_) => Err(LedgerError::Contradictory("an answer to something else")),
        }
    }

    fn record(&self, entry: Entry) -> Result<Option<DecisionReportV1>, LedgerError> {
        match self.write(writer::Work::record(entry)?)? {
            writer::Answer::Recorded(report) => Ok(report.map(|report| *report)),
            writer::Answer::Admission(_) => Err(LedgerError::Contradictory("an answer to something else")),
        }
    }

    fn negotiate(
        &self,
        of: &ConversationKey,
        hash: &ProtocolHash,
        now: Instant,
        step: Step<'_>,
    ) -> Result<Negotiated, LedgerError> {
        self.change(now, |transaction| {
            let state = |exchange: &Exchange| ExchangeReport {
                state: exchange.as_str().to_owned(),
                required: exchange.required(),
            };
            let (mut before, mut after) = (None, None);
            let mut watched = |exchange: Option<Exchange>| {
                before = exchange.as_ref().map(state);
                let next = step(exchange);
                after = next.as_ref().map(state);
                next
            };
            let peer = of.peer.as_str();
            let octets = STEP_BYTES.saturating_add(peer.len());
            let within = growth::Fill::of(transaction, self.max_bytes)? < growth::Fill::Scarce
                && growth::within(transaction, growth::Kind::Steps, peer, octets, now)?;
            let negotiated = conversations::negotiate(transaction, of, hash, now, within, &mut watched)?;
            if self.changes.any() {
                growth::spend(transaction, growth::Kind::Steps, peer, octets, now)?;
            }
            let event = Event::Negotiated {
                role: of.role.as_str().to_owned(),
                peer: of.peer.as_str().to_owned(),
                context: of.context.clone(),
                protocol_hash: hash.to_string(),
                before,
                after,
            };
            Ok((negotiated, self.changes.any().then_some(event)))
        })
    }

    fn exchanges(
        &self,
        of: &ConversationKey,
        now: Instant,
    ) -> Result<Vec<(ProtocolHash, Exchange)>, LedgerError> {
        let mut connection = self.lock_reading()?;
        let transaction = connection.transaction()?;
        conversations::exchanges(&transaction, of, now)
    }

    fn mark_revoked(&self, revoked: &Revoked, now: Instant) -> Result<(), LedgerError> {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        // One row names so many changes, and no more.
        for revoked in remembered::portions(revoked) {
            self.change(now, |transaction| {
                remembered::mark_revoked(transaction, &revoked)?;
                let event = Event::Revoked {
                    ids: count(revoked.ids.len()),
                    policies: count(revoked.policies.len()),
                    entries: count(revoked.entries.len()),
                    names: remembered::names(&revoked),
                };
                Ok(((), self.changes.any().then_some(event)))
            })?;
        }
        Ok(())
    }

    fn keep(&self, evidence: &[Blob]) -> Result<(), LedgerError> {
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for blob in evidence {
            evidence::keep(&transaction, blob)?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn checkpoint(&self, now: Instant) -> Result<(), LedgerError> {
        self.make_checkpoint(now).map(|_| ())
    }

    fn wanted_lists(&self) -> Result<Vec<ListKey>, LedgerError> {
        remembered::wanted(&*self.lock_reading()?)
    }
}

/// The ledger's identity and its memory of time.
pub(super) struct Meta {
    ledger_id: String,
    domain: String,
    first_floor_us: Option<i64>,
    first_high_water_us: Option<i64>,
    /// Presentations made up to here are refused. `None`: no ledger served the domain before.
    floor_us: Option<i64>,
    /// The highest instant of any row.
    high_water_us: Option<i64>,
}

impl Meta {
    pub(super) fn read(connection: &Connection) -> Result<Self, LedgerError> {
        Ok(connection
            .prepare_cached("SELECT ledger_id, domain, first_floor_us, first_high_water_us, floor_us, high_water_us FROM meta")?
            .query_row((), |row| {
                Ok(Self {
                    ledger_id: row.get(0)?,
                    domain: row.get(1)?,
                    first_floor_us: row.get(2)?,
                    first_high_water_us: row.get(3)?,
                    floor_us: row.get(4)?,
                    high_water_us: row.get(5)?,
                })
            })?)
    }

    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            ledger_id: &self.ledger_id,
            domain: &self.domain,
            first_floor_us: self.first_floor_us,
            first_high_water_us: self.first_high_water_us,
        }
    }
}

/// Has a new file keep a write-ahead log. To the last step: SQLite says which mode it is before it has made sure of it.
fn write_ahead(connection: &Connection) -> Result<(), LedgerError> {
    let mut statement = connection.prepare("PRAGMA journal_mode = WAL")?;
    let mut steps = statement.query(())?;
    while steps.next()?.is_some() {}
    Ok(())
}

/// Opens the connection that reads. It writes nothing, by mistake neither.
fn reading(path: &Path) -> Result<Connection, LedgerError> {
    let connection = open_file(path)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(connection)
}

/// A number as SQLite stores it.
fn stored(number: u64) -> Result<i64, LedgerError> {
    i64::try_from(number)
        .map_err(|_| LedgerError::Contradictory("a number is larger than the ledger can store"))
}

/// A stored instant as rows write it.
fn micros_text(micros: i64) -> Result<String, LedgerError> {
    DateTime::from_timestamp_micros(micros)
        .map(recorded_text)
        .ok_or(LedgerError::Contradictory("an instant leads out of the calendar"))
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match error.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(error.to_string()),
            _ => Self::Store(error.to_string()),
        }
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

pub(super) fn read_u64(number: i64) -> Result<u64, LedgerError> {
    u64::try_from(number).map_err(|_| LedgerError::Unusable("a number of the ledger is negative".into()))
}
