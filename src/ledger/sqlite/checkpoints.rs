//! Writing checkpoints: in the transaction of the rows that they cover, when so many rows or seconds have passed since the
//! last; and the key that signs them.
//!
//! The key in force is that of the last checkpoint: whatever makes or changes a key writes a checkpoint with it. A ledger
//! that has one is written to only by whoever holds its key, so that no row waits for a checkpoint that never comes.

use super::changes::TRACKED;
use super::{Meta, SqliteLedger, read_u64, rows, stored};
use crate::audit::{CheckpointCounts, CheckpointSigner, CheckpointV1, Event, KeyChange, recorded_text};
use crate::ledger::LedgerError;
use crate::ledger::chain::first_link;
use crate::message::Digest;
use crate::request::Instant;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// How checkpoints are made.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    signer: CheckpointSigner,
    rows: u64,
    seconds: u64,
    file: Option<PathBuf>,
}

/// The most that an interval can be: a larger number is not exact in a checkpoint's JSON, and would not read back.
const MOST: u64 = (1 << 53) - 1;

impl Checkpoints {
    /// Rows between two checkpoints, unless set.
    pub const ROWS: u64 = 1_000;
    /// Seconds between two checkpoints, unless set.
    pub const SECONDS: u64 = 60;

    /// Checkpoints signed with a key, after [`Self::ROWS`] rows or [`Self::SECONDS`] seconds.
    pub fn new(signer: CheckpointSigner) -> Self {
        Self { signer, rows: Self::ROWS, seconds: Self::SECONDS, file: None }
    }

    /// The rows and the seconds after which one is made; 0 counts as 1, and what is above 2^53 - 1 as that. Time passes with the ledger's rows: where none
    /// comes, nothing is left to cover.
    #[must_use]
    pub fn with_interval(self, rows: u64, seconds: u64) -> Self {
        Self { rows: rows.clamp(1, MOST), seconds: seconds.clamp(1, MOST), ..self }
    }

    /// A file outside the ledger to which each is appended, a line for each.
    #[must_use]
    pub fn with_file(self, file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()), ..self }
    }
}

impl SqliteLedger {
    /// Has checkpoints made from here on. A ledger without rows takes the key as its first; any other must have begun
    /// with it, or been changed to it.
    ///
    /// # Errors
    /// [`LedgerError::Unusable`]: the ledger has rows and no key, or another key.
    pub fn with_checkpoints(mut self, checkpoints: Checkpoints, now: Instant) -> Result<Self, LedgerError> {
        let ours = checkpoints.signer.public_key();
        self.checkpoints = Some(checkpoints);
        let emitted = {
            let mut connection = self.lock()?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            match (last(&transaction)?, rows::head(&transaction)?) {
                (Some((last, _)), _) if last.public_key == ours => None,
                (Some((last, _)), _) => return Err(another_key(&last.public_key, &ours)),
                (None, Some(_)) => {
                    return Err(LedgerError::Unusable(
                        "the ledger has rows and no audit key; `writgate ledger rotate-key --begin` states that its \
                         checkpoints begin now"
                            .into(),
                    ));
                }
                (None, None) => Some(self.first_key(transaction, now)?),
            }
        };
        self.emit(emitted.as_ref());
        Ok(self)
    }

    /// [`Self::with_checkpoints`] for a ledger that has rows and never had a key: the operator's statement that its
    /// checkpoints begin now. Nothing signs what the rows before say; an auditor is told so.
    ///
    /// # Errors
    /// [`LedgerError::Unusable`]: it has a key.
    pub fn begin_checkpoints(mut self, checkpoints: Checkpoints, now: Instant) -> Result<Self, LedgerError> {
        self.checkpoints = Some(checkpoints);
        let emitted = {
            let mut connection = self.lock()?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if last(&transaction)?.is_some() {
                return Err(LedgerError::Unusable(
                    "the ledger has an audit key already, which `rotate_key` changes".into(),
                ));
            }
            self.first_key(transaction, now)?
        };
        self.emit(Some(&emitted));
        Ok(self)
    }

    /// Changes the key: the one in force signs the new one, which signs the checkpoint that comes with it.
    ///
    /// # Errors
    /// [`LedgerError::Unusable`]: the ledger has no key, or another one; [`LedgerError`]
    pub fn rotate_key(&mut self, new: CheckpointSigner, now: Instant) -> Result<(), LedgerError> {
        let Some(before) = self.checkpoints.clone() else {
            return Err(LedgerError::Contradictory("a key is changed by the one in force"));
        };
        let checkpoints = Checkpoints { signer: new, ..before.clone() };
        let emitted = {
            let mut connection = self.lock()?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (old, public_key) = (before.signer.public_key(), checkpoints.signer.public_key());
            match last(&transaction)? {
                Some((last, _)) if last.public_key == old => {}
                Some((last, _)) => return Err(another_key(&last.public_key, &old)),
                None => return Err(LedgerError::Unusable("the ledger has no audit key".into())),
            }
            let meta = Meta::read(&transaction)?;
            let identity = meta.identity();
            let (sequence, hash) = match rows::head(&transaction)? {
                Some(head) => head,
                None => (0, first_link(&identity)?),
            };
            let place = (sequence.saturating_add(1), hash);
            let of = (identity.ledger_id, identity.domain);
            let change = KeyChange::new(of, place, &old, &public_key).octets().map_err(unwritable)?;
            let signature = before.signer.signature_over(&change);
            let event = Event::Key { public_key, previous: Some(old), signature: Some(signature) };
            self.changes.take();
            rows::append_event(&transaction, event, now, Vec::new())?;
            let checkpoint = write(&transaction, &checkpoints, now)?;
            transaction.commit()?;
            checkpoint
        };
        self.checkpoints = Some(checkpoints);
        self.emit(Some(&emitted));
        Ok(())
    }

    /// Makes a checkpoint of whatever the last one does not cover, due or not: at a shutdown. `None`: there is nothing, or
    /// no key.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn make_checkpoint(&self, now: Instant) -> Result<Option<CheckpointV1>, LedgerError> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(None) };
        let mut connection = self.lock()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let last = last(&transaction)?.map(|(last, _)| last);
        self.in_force(last.as_ref())?;
        let covered = last.map_or(0, |last| last.sequence);
        if rows::head(&transaction)?.is_none_or(|(head, _)| head <= covered) {
            return Ok(None);
        }
        let checkpoint = write(&transaction, checkpoints, now)?;
        transaction.commit()?;
        self.emit(Some(&checkpoint));
        Ok(Some(checkpoint))
    }

    /// Where checkpoints go outside the ledger.
    pub(super) fn checkpoints_file(&self) -> Option<&Path> {
        self.checkpoints.as_ref()?.file.as_deref()
    }

    /// The key that signs, where there is one.
    pub(super) fn signer(&self) -> Option<&CheckpointSigner> {
        self.checkpoints.as_ref().map(|checkpoints| &checkpoints.signer)
    }

    /// The last checkpoint.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn last_checkpoint(&self) -> Result<Option<CheckpointV1>, LedgerError> {
        let mut connection = self.lock_reading()?;
        Ok(last(&connection.transaction()?)?.map(|(checkpoint, _)| checkpoint))
    }

    /// Before a commit: makes a checkpoint where one is due.
    ///
    /// # Errors
    /// The ledger has a key that is not at hand: nothing may be written.
    pub(super) fn checkpoint_if_due(
        &self,
        transaction: &Transaction<'_>,
        now: Instant,
    ) -> Result<Option<CheckpointV1>, LedgerError> {
        let last = last(transaction)?.map(|(last, _)| last);
        let (Some(checkpoints), Some(last)) = (self.in_force(last.as_ref())?, last) else { return Ok(None) };
        let head = rows::head(transaction)?.map_or(0, |(head, _)| head);
        let due = is_due(&last, head, now)
            || head.saturating_sub(last.sequence) >= checkpoints.rows
            || passed(&last, now).is_none_or(|passed| passed >= checkpoints.seconds);
        if head <= last.sequence || !due {
            return Ok(None);
        }
        write(transaction, checkpoints, now).map(Some)
    }

    /// How checkpoints are made where ours is the key of the last one. Another process may have changed the key since the
    /// file was opened: a checkpoint by the old one would put it in force again.
    ///
    /// # Errors
    /// The ledger has a key that is not at hand, or had one: nothing may be written.
    fn in_force(&self, last: Option<&CheckpointV1>) -> Result<Option<&Checkpoints>, LedgerError> {
        match (last, &self.checkpoints) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(LedgerError::Unusable("the ledger's checkpoints are gone".into())),
            (Some(last), None) => Err(LedgerError::Unusable(format!(
                "the ledger's checkpoints are signed with {}, and that key is not configured",
                last.public_key
            ))),
            (Some(last), Some(checkpoints)) => match checkpoints.signer.public_key() {
                ours if ours == last.public_key => Ok(Some(checkpoints)),
                ours => Err(another_key(&last.public_key, &ours)),
            },
        }
    }

    /// After a commit: gives a checkpoint to the log, and to the file outside. Where the file cannot be written, decisions go
    /// on: the checkpoint is in the ledger and in the log, and a full disk elsewhere must not stop the service.
    pub(super) fn emit(&self, checkpoint: Option<&CheckpointV1>) {
        let (Some(checkpoint), Some(checkpoints)) = (checkpoint, &self.checkpoints) else { return };
        let Ok(text) = checkpoint.text() else { return };
        tracing::info!(
            target: "writgate::audit",
            number = checkpoint.number,
            sequence = checkpoint.sequence,
            row_hash = %checkpoint.row_hash,
            checkpoint = text,
            "checkpoint"
        );
        if let Some(file) = &checkpoints.file
            && let Err(error) = append(file, &text)
        {
            tracing::error!(
                target: "writgate::audit",
                %error,
                number = checkpoint.number,
                "a checkpoint could not be written outside the ledger"
            );
        }
    }

    fn first_key(&self, transaction: Transaction<'_>, now: Instant) -> Result<CheckpointV1, LedgerError> {
        let Some(checkpoints) = &self.checkpoints else {
            return Err(LedgerError::Contradictory("a first key without a key"));
        };
        let public_key = checkpoints.signer.public_key();
        let event = Event::Key { public_key, previous: None, signature: None };
        self.changes.take();
        rows::append_event(&transaction, event, now, Vec::new())?;
        let checkpoint = write(&transaction, checkpoints, now)?;
        transaction.commit()?;
        Ok(checkpoint)
    }
}

/// Whether a checkpoint's own promise says that another comes with a row numbered `head` and recorded at `now`.
pub(in crate::ledger) fn is_due(last: &CheckpointV1, head: u64, now: Instant) -> bool {
    head > last.sequence
        && (head.saturating_sub(last.sequence) >= last.next_after_rows
            || passed(last, now).is_none_or(|passed| passed >= last.next_after_seconds))
}

/// Whole seconds since a checkpoint; none where the clock was set back. `None`: its instant is none.
fn passed(last: &CheckpointV1, now: Instant) -> Option<u64> {
    let made: Instant = last.instant.parse().ok()?;
    Some(u64::try_from(now.signed_duration_since(made).num_seconds()).unwrap_or(0))
}

fn another_key(in_force: &str, ours: &str) -> LedgerError {
    LedgerError::Unusable(format!(
        "the ledger's checkpoints are signed with {in_force}, and the audit key is {ours}; restore that key's file, or \
         change the key with `writgate ledger rotate-key`, which needs it"
    ))
}

/// The last checkpoint, and its text.
fn last(transaction: &Transaction<'_>) -> Result<Option<(CheckpointV1, String)>, LedgerError> {
    let text: Option<String> = transaction
        .prepare_cached("SELECT checkpoint FROM checkpoints ORDER BY number DESC LIMIT 1")?
        .query_row((), |row| row.get(0))
        .optional()?;
    let Some(text) = text else { return Ok(None) };
    match CheckpointV1::read(&text) {
        Some(checkpoint) => Ok(Some((checkpoint, text))),
        None => Err(LedgerError::Unusable("the last checkpoint is not what was written".into())),
    }
}

fn write(
    transaction: &Transaction<'_>,
    checkpoints: &Checkpoints,
    now: Instant,
) -> Result<CheckpointV1, LedgerError> {
    let (before, previous) = match last(transaction)? {
        Some((last, text)) => (last.number, Some(Digest::of(text))),
        None => (0, None),
    };
    let (sequence, row_hash) =
        rows::head(transaction)?.ok_or(LedgerError::Contradictory("a checkpoint of no row"))?;
    let meta = Meta::read(transaction)?;
    let identity = meta.identity();
    let checkpoint = checkpoints.signer.sign(CheckpointV1 {
        version: CheckpointV1::VERSION.to_owned(),
        number: before.saturating_add(1),
        sequence,
        row_hash,
        ledger_id: identity.ledger_id.to_owned(),
        domain: identity.domain.to_owned(),
        previous,
        instant: recorded_text(now),
        counts: counts(transaction)?,
        next_after_rows: checkpoints.rows,
        next_after_seconds: checkpoints.seconds,
        public_key: String::new(),
        signature: String::new(),
    });
    let checkpoint = checkpoint.map_err(unwritable)?;
    transaction
        .prepare_cached("INSERT INTO checkpoints (number, sequence, checkpoint) VALUES (?1, ?2, ?3)")?
        .execute((stored(checkpoint.number)?, stored(sequence)?, checkpoint.text().map_err(unwritable)?))?;
    Ok(checkpoint)
}

/// `meta` knows how many reservations there are, which are the many; the other tables are small.
fn counts(transaction: &Transaction<'_>) -> Result<CheckpointCounts, LedgerError> {
    let reservations: i64 =
        transaction.prepare_cached("SELECT reserved FROM meta")?.query_row((), |row| row.get(0))?;
    let mut counts = CheckpointCounts { reservations: read_u64(reservations)?, ..Default::default() };
    for tracked in TRACKED {
        let rows: i64 = transaction
            .prepare_cached(&format!("SELECT count(*) FROM {}", tracked.table))?
            .query_row((), |row| row.get(0))?;
        counts.tables.insert(tracked.table.to_owned(), read_u64(rows)?);
    }
    Ok(counts)
}

fn unwritable(_: serde_json::Error) -> LedgerError {
    LedgerError::Contradictory("a checkpoint cannot be written as JCS")
}

/// Appends one line, in one write, durably. Where a power cut or a full disk left half of a line, it stays by itself.
fn append(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(file)?;
    let mut end = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut end)?;
    }
    let separator = if end == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{separator}{text}\n").as_bytes())?;
    file.sync_all()
}
