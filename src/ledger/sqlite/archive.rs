//! Rows that leave the ledger for a file, which verifies by itself; a signed row says which, and the rest follows it.
//!
//! The file has a line for each thing, in JCS form: first what it begins with, then every row with the state that it names,
//! then the evidence that no later row shares, then what it ends with.

use super::retention::{of_configurations, own_evidence, pruned_through, unreadable};
use super::{Meta, SqliteLedger, rows, states, stored};
use crate::audit::{
    CheckpointSigner, DecisionOutcome, Event, Record, RowChange, is_signed_by, recorded_text,
};
use crate::ledger::chain::{ChainVerifier, Identity, Row, first_link};
use crate::ledger::{LedgerError, reader};
use crate::message::Digest;
use crate::request::Instant;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Octets of one line of an archive. The longest is a state of the tables, which SQLite bounds at 10^9 octets. No line is
/// written that would not be read again.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// What an archive file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// The ledger that the rows are from.
    pub ledger_id: String,
    /// Its domain.
    pub domain: String,
    /// The first row.
    pub from: u64,
    /// The last row.
    pub through: u64,
    /// Its hash.
    pub row_hash: Digest,
    /// The state of the tables after it, by its digest.
    pub state: Digest,
    /// Pieces of evidence.
    pub evidence: u64,
    /// SHA-256 of the file.
    pub digest: Digest,
}

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Beginning {
    version: String,
    ledger_id: String,
    domain: String,
    /// Microseconds since 1970, where the ledger was made with a floor.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_floor: Option<String>,
    /// Microseconds since 1970, where the ledger was made with a highest instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_high_water: Option<String>,
    from: u64,
    /// The hash that row `from` follows.
    previous_hash: Digest,
    /// What the rows before row `from` left.
    before: Left,
}

const VERSION: &str = "LedgerArchiveV1";

/// Every further line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Line {
    Row { sequence: u64, row_hash: Digest, report: String },
    State { digest: Digest, rows: Vec<RowChange> },
    Evidence { digest: Digest, octets: String },
    End { through: u64, row_hash: Digest, state: Digest, evidence: u64 },
}

/// What rows leave to those that follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Left {
    /// The rows of the tables.
    tables: Vec<RowChange>,
    /// Message ids that are reserved, and not pruned.
    reserved: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    floor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// The same while rows are followed.
#[derive(Debug)]
struct Following {
    tables: State,
    reserved: u64,
    floor: Option<Instant>,
    key: Option<String>,
}

impl Following {
    fn after(Left { tables, reserved, floor, key }: &Left) -> Result<Self, LedgerError> {
        let floor = floor.as_deref().map(instant).transpose()?;
        Ok(Self { tables: State::of(tables), reserved: *reserved, floor, key: key.clone() })
    }

    fn left(&self) -> Left {
        let floor = self.floor.map(recorded_text);
        Left { tables: self.tables.rows(), reserved: self.reserved, floor, key: self.key.clone() }
    }

    fn follow(&mut self, record: &Record) -> Result<(), LedgerError> {
        match record {
            Record::Decision(report) => {
                self.reserved += u64::from(report.envelope.outcome == DecisionOutcome::Allow);
            }
            Record::Event(event) => match &event.event {
                Event::Pruned { reservations, floor, .. } => {
                    self.reserved = self.reserved.saturating_sub(*reservations);
                    self.floor = self.floor.max(Some(instant(floor)?));
                }
                Event::FloorRaised { floor } | Event::Migrated { floor: Some(floor), .. } => {
                    self.floor = self.floor.max(Some(instant(floor)?));
                }
                Event::Key { public_key, .. } => self.key = Some(public_key.clone()),
                _ => {}
            },
        }
        self.tables.follow(record.changes());
        Ok(())
    }

    /// The tables are what a migration found.
    fn begin_anew(&mut self, rows: &[RowChange]) {
        self.tables = State::of(rows);
        let messages = rows.iter().filter(|row| row.table == "messages").count();
        self.reserved = u64::try_from(messages).unwrap_or(u64::MAX);
    }
}

fn instant(text: &str) -> Result<Instant, LedgerError> {
    text.parse().map_err(|_| LedgerError::Unusable("a row names no instant where one must be".into()))
}

/// The state of the tables that the chain follows row by row.
#[derive(Debug, Default)]
struct State(BTreeMap<(String, Digest), Digest>);

impl State {
    fn of(rows: &[RowChange]) -> Self {
        let rows = rows.iter().filter(|row| !matches!(row.table.as_str(), "messages" | "challenges"));
        Self(rows.filter_map(|row| Some(((row.table.clone(), row.key), row.row?))).collect())
    }

    fn follow(&mut self, changes: &[RowChange]) {
        for change in changes {
            let key = (change.table.clone(), change.key);
            match change.row {
                Some(row) => self.0.insert(key, row),
                None => self.0.remove(&key),
            };
        }
    }

    fn rows(&self) -> Vec<RowChange> {
        let rows = self.0.iter();
        rows.map(|((table, key), row)| RowChange { table: table.clone(), key: *key, row: Some(*row) })
            .collect()
    }

    fn digest(&self) -> Result<Digest, LedgerError> {
        Ok(Digest::of(rows::jcs_text(&self.rows())?))
    }
}

/// The digest of a state that a row names, whose text is kept beside the chain.
fn named_state(record: &Record) -> Option<Digest> {
    match record {
        Record::Event(event) => match &event.event {
            Event::Migrated { state, .. } | Event::Archived { state, .. } => Some(*state),
            _ => None,
        },
        Record::Decision(_) => None,
    }
}

/// Whether the state that a row names is that of all tables at that row, rather than at an earlier one.
fn begins_anew(record: &Record) -> bool {
    matches!(record, Record::Event(event) if matches!(event.event, Event::Migrated { .. }))
}

impl SqliteLedger {
    /// Moves the rows up to number `through`, which must have been pruned, with the evidence that is theirs alone, into a new
    /// file. The file is durable before anything leaves the ledger; a signed row then says what left. Where the file cannot
    /// be written, nothing leaves.
    ///
    /// # Errors
    /// [`LedgerError::Contradictory`]: not pruned so far, no such row, or a ledger without a key; [`LedgerError`]. After an
    /// error while the rows leave, keep the file until `audit verify` has told whether they did.
    pub fn archive(&self, through: u64, to: &Path, now: Instant) -> Result<Archive, LedgerError> {
        let Some(key) = self.signer() else {
            return Err(LedgerError::Contradictory("an archive is signed: the ledger has no audit key"));
        };
        let (written, own, seen, now) = {
            let mut connection = self.lock_reading()?;
            // One view for all of it: rows may be appended meanwhile.
            let transaction = connection.transaction()?;
            if through > pruned_through(&transaction)? {
                return Err(LedgerError::Contradictory(
                    "rows are archived after they were pruned: `writgate ledger prune` first, or name an earlier row",
                ));
            }
            let high_water = Meta::read(&transaction)?.high_water_us.and_then(Instant::from_timestamp_micros);
            // The ledger's highest instant must stand in a row that stays.
            let now = high_water.map_or(now, |high_water| high_water.max(now));
            let mut own = BTreeSet::new();
            let (mut evidence_of, mut head) = (BTreeSet::new(), 0);
            reader::each_row(&transaction, 1, |row| {
                let record = Record::read(&row.report).map_err(|_| unreadable())?;
                if row.sequence <= through { &mut own } else { &mut evidence_of }
                    .extend(own_evidence(&record));
                head = row.sequence;
                Ok::<_, LedgerError>(())
            })?;
            let shared = of_configurations(&transaction)?;
            own.retain(|digest| !evidence_of.contains(digest) && !shared.contains(digest));
            // Made here, so that what is removed below is never what somebody else had under that name.
            let file = NewFile::create(to)?;
            let written = write_file(&transaction, through, file, &own);
            if written.is_err() {
                // Nothing has left the ledger; what there is of the file is none.
                let _ = fs::remove_file(to);
            }
            (written?, own, head, now)
        };
        self.change(now, |transaction| leave(transaction, &written, own, seen, key))?;
        Ok(written.archive)
    }

    /// The last row up to which, itself included, everything was recorded before `before` and was pruned.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn archivable_before(&self, before: Instant) -> Result<u64, LedgerError> {
        let connection = self.lock_reading()?;
        let pruned = pruned_through(&connection)?;
        let (mut through, mut is_over) = (0, false);
        reader::each_row(&connection, 1, |row| {
            let record = Record::read(&row.report).map_err(|_| unreadable())?;
            let recorded = record.recorded().and_then(|text| text.parse::<Instant>().ok());
            is_over = is_over || recorded.is_some_and(|recorded| recorded >= before);
            if !is_over && recorded.is_some() && row.sequence <= pruned {
                through = row.sequence;
            }
            Ok::<_, LedgerError>(())
        })?;
        Ok(through)
    }
}

/// Removes what was archived, in the transaction of the row that says so.
fn leave(
    transaction: &Transaction<'_>,
    Written { archive, left, replaced }: &Written,
    mut own: BTreeSet<Digest>,
    seen: u64,
    key: &CheckpointSigner,
) -> Result<((), Option<Event>), LedgerError> {
    let (from, through) = (stored(archive.from)?, stored(archive.through)?);
    let first: Option<i64> =
        transaction.query_row("SELECT min(sequence) FROM reports", (), |row| row.get(0))?;
    if first != Some(from) {
        return Err(LedgerError::Contradictory("another process archived the same rows"));
    }
    // What was recorded since may share evidence.
    reader::each_row(transaction, seen.saturating_add(1), |row| {
        for digest in own_evidence(&Record::read(&row.report).map_err(|_| unreadable())?) {
            own.remove(&digest);
        }
        Ok::<_, LedgerError>(())
    })?;
    transaction.execute("DELETE FROM reports WHERE sequence <= ?1", (through,))?;
    for digest in &own {
        transaction.execute("DELETE FROM evidence WHERE digest = ?1", (digest.as_bytes(),))?;
    }
    for digest in replaced {
        transaction.execute("DELETE FROM states WHERE digest = ?1", (digest.as_bytes(),))?;
    }
    states::write(transaction, &left.tables)?;
    let public_key = key.public_key();
    let mut event = Event::Archived {
        through: archive.through,
        row_hash: archive.row_hash,
        archive: archive.digest,
        state: archive.state,
        reserved: left.reserved,
        floor: left.floor.clone(),
        key: left.key.clone(),
        public_key,
        signature: String::new(),
    };
    let statement = statement(&Meta::read(transaction)?.identity(), &event)?;
    if let Event::Archived { signature, .. } = &mut event {
        *signature = key.signature_over(statement.as_bytes());
    }
    Ok(((), Some(event)))
}

/// Whether what a row says of an archive of this ledger is signed by the key that it names.
pub(in crate::ledger) fn is_signed(identity: &Identity<'_>, event: &Event) -> bool {
    let Event::Archived { public_key, signature, .. } = event else { return false };
    statement(identity, event)
        .is_ok_and(|statement| is_signed_by(public_key, statement.as_bytes(), signature))
}

/// What the key signs of an archive: what the row says of it, and of which ledger, in JCS form.
fn statement(identity: &Identity<'_>, event: &Event) -> Result<String, LedgerError> {
    let mut said = json!({ "archived": event, "domain": identity.domain, "ledgerId": identity.ledger_id });
    if let Some(archived) = said.get_mut("archived").and_then(|archived| archived.as_object_mut()) {
        archived.remove("signature");
    }
    rows::jcs_text(&said)
}

/// The last anchor of a ledger: the row that its first row follows. `None`: nothing was archived.
pub(in crate::ledger) struct Anchor {
    pub(in crate::ledger) through: u64,
    pub(in crate::ledger) row_hash: Digest,
    pub(in crate::ledger) state: Digest,
    pub(in crate::ledger) reserved: u64,
    pub(in crate::ledger) floor: Option<String>,
    pub(in crate::ledger) key: Option<String>,
}

/// What the first row of a ledger follows, where rows were archived.
///
/// # Errors
/// [`LedgerError::ChainBroken`]: rows are missing, and no row says that they were archived.
pub(in crate::ledger) fn anchor(connection: &Connection) -> Result<Option<Anchor>, LedgerError> {
    let first: Option<i64> =
        connection.query_row("SELECT min(sequence) FROM reports", (), |row| row.get(0))?;
    let Some(first) = first.filter(|first| *first > 1) else { return Ok(None) };
    let text: Option<String> = connection
        .prepare(
            "SELECT report FROM reports
             WHERE CASE WHEN json_valid(report) THEN json_extract(report, '$.event.kind') END = 'archived'
             ORDER BY sequence DESC LIMIT 1",
        )?
        .query_row((), |row| row.get(0))
        .optional()?;
    let missing = LedgerError::ChainBroken { sequence: 1, problem: "it is missing" };
    let Some(text) = text else { return Err(missing) };
    let Ok(Record::Event(event)) = Record::read(&text) else { return Err(missing) };
    if !is_signed(&Meta::read(connection)?.identity(), &event.event) {
        return Err(LedgerError::ChainBroken {
            sequence: event.envelope.sequence,
            problem: "the archive that it names is not signed by its key",
        });
    }
    let Event::Archived { through, row_hash, state, reserved, floor, key, .. } = event.event else {
        return Err(missing);
    };
    if stored(through)?.checked_add(1) != Some(first) {
        return Err(LedgerError::ChainBroken {
            sequence: through.saturating_add(1),
            problem: "it is missing",
        });
    }
    Ok(Some(Anchor { through, row_hash, state, reserved, floor, key }))
}

/// The state that the ledger's first row begins with.
fn kept_state(connection: &Connection, digest: Digest) -> Result<Vec<RowChange>, LedgerError> {
    let text: Option<String> = connection
        .query_row("SELECT state FROM states WHERE digest = ?1", (digest.as_bytes(),), |row| row.get(0))
        .optional()?;
    match text {
        Some(text) if Digest::of(&text) == digest => serde_json::from_str(&text).map_err(|_| unreadable()),
        _ => Err(LedgerError::Unusable(format!("the tables' state {digest} is not what was written"))),
    }
}

/// What there is before the first row.
fn first_left(identity: &Identity<'_>) -> Result<Left, LedgerError> {
    let floor = identity.first_floor_us.map(super::micros_text).transpose()?;
    Ok(Left { tables: states::first()?, reserved: 0, floor, key: None })
}

/// Writes an archive file, durably, and gives the states that it took along.
fn write_file(
    transaction: &Transaction<'_>,
    through: u64,
    mut file: NewFile,
    own: &BTreeSet<Digest>,
) -> Result<Written, LedgerError> {
    let meta = Meta::read(transaction)?;
    let identity = meta.identity();
    let (from, previous, before, mut replaced) = match anchor(transaction)? {
        Some(anchor) => {
            let tables = kept_state(transaction, anchor.state)?;
            let before = Left { tables, reserved: anchor.reserved, floor: anchor.floor, key: anchor.key };
            (anchor.through.saturating_add(1), anchor.row_hash, before, BTreeSet::from([anchor.state]))
        }
        None => (1, first_link(&identity)?, first_left(&identity)?, BTreeSet::new()),
    };
    let mut following = Following::after(&before)?;
    file.line(&Beginning {
        version: VERSION.to_owned(),
        ledger_id: identity.ledger_id.to_owned(),
        domain: identity.domain.to_owned(),
        first_floor: identity.first_floor_us.map(|micros| micros.to_string()),
        first_high_water: identity.first_high_water_us.map(|micros| micros.to_string()),
        from,
        previous_hash: previous,
        before,
    })?;
    let mut verifier = ChainVerifier::after(from.saturating_sub(1), previous);
    reader::each_row(transaction, from, |row: Row| {
        if row.sequence > through {
            return Ok(());
        }
        let record = verifier.follow(&row)?;
        let named = named_state(&record);
        let (sequence, row_hash) = (row.sequence, row.row_hash);
        file.line(&Line::Row { sequence, row_hash, report: row.report })?;
        if let (Some(digest), true) = (named, begins_anew(&record)) {
            let rows = kept_state(transaction, digest)?;
            following.begin_anew(&rows);
            file.line(&Line::State { digest, rows })?;
        }
        replaced.extend(named);
        following.follow(&record)
    })?;
    let (last, row_hash) = verifier.head();
    if last != through || through < from {
        return Err(LedgerError::Contradictory("there is no such row to archive"));
    }
    let mut evidence = 0;
    for digest in own {
        let octets: Option<Option<Vec<u8>>> = transaction
            .prepare_cached("SELECT octets FROM evidence WHERE digest = ?1")?
            .query_row((digest.as_bytes(),), |row| row.get(0))
            .optional()?;
        if let Some(octets) = octets.flatten() {
            if Digest::of(&octets) != *digest {
                return Err(LedgerError::Unusable(format!("the evidence {digest} is not what was written")));
            }
            file.line(&Line::Evidence { digest: *digest, octets: STANDARD.encode(octets) })?;
            evidence += 1;
        }
    }
    let (left, state) = (following.left(), following.tables.digest()?);
    file.line(&Line::End { through, row_hash, state, evidence })?;
    let digest = file.finish()?;
    let archive = Archive {
        ledger_id: identity.ledger_id.to_owned(),
        domain: identity.domain.to_owned(),
        from,
        through,
        row_hash,
        state,
        evidence,
        digest,
    };
    Ok(Written { archive, left, replaced })
}

/// What was written to a file and is to leave the ledger.
struct Written {
    archive: Archive,
    /// What the last row left.
    left: Left,
    /// The states that the rows name.
    replaced: BTreeSet<Digest>,
}

/// A file that is made for an archive, and hashed as it is written.
struct NewFile {
    file: BufWriter<File>,
    hasher: Sha256,
    path: PathBuf,
}

impl NewFile {
    fn create(path: &Path) -> Result<Self, LedgerError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| failed(path, &error))?;
        Ok(Self { file: BufWriter::new(file), hasher: Sha256::new(), path: path.to_owned() })
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), LedgerError> {
        let mut text = rows::jcs_text(line)?;
        text.push('\n');
        if text.len() as u64 > MAX_LINE_BYTES {
            return Err(LedgerError::ReportTooLarge(text.len()));
        }
        self.hasher.update(&text);
        self.file.write_all(text.as_bytes()).map_err(|error| failed(&self.path, &error))
    }

    /// The file's digest, once it is durable under its name.
    fn finish(mut self) -> Result<Digest, LedgerError> {
        let path = self.path;
        self.file.flush().map_err(|error| failed(&path, &error))?;
        self.file.get_ref().sync_all().map_err(|error| failed(&path, &error))?;
        #[cfg(unix)]
        if let Some(folder) = fs::canonicalize(&path).map_err(|error| failed(&path, &error))?.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| failed(&path, &error))?;
        }
        Ok(Digest::from_bytes(self.hasher.finalize().into()))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> LedgerError {
    LedgerError::Store(format!("{}: the archive: {error}", path.display()))
}

/// Verifies an archive file by itself: its rows are a chain from what it begins with to what it ends with, its evidence
/// hashes to its digests, and the state of the tables follows from the rows. Whose it is says the row in the ledger (or in
/// the next archive) that names its digest.
///
/// # Errors
/// [`LedgerError::ChainBroken`] names the first row that is not what was written; [`LedgerError::Unusable`] for another file.
pub fn verify_archive(path: &Path) -> Result<Archive, LedgerError> {
    let mut lines = Lines::open(path)?;
    let begin: Beginning = lines.next()?.ok_or_else(|| lines.other())?;
    if begin.version != VERSION {
        return Err(lines.other());
    }
    let micros =
        |text: &Option<String>| text.as_deref().map(str::parse).transpose().map_err(|_| lines.other());
    let identity = Identity {
        ledger_id: &begin.ledger_id,
        domain: &begin.domain,
        first_floor_us: micros(&begin.first_floor)?,
        first_high_water_us: micros(&begin.first_high_water)?,
    };
    if begin.from == 1
        && (begin.previous_hash != first_link(&identity)? || begin.before != first_left(&identity)?)
    {
        return Err(LedgerError::ChainBroken {
            sequence: 1,
            problem: "it does not follow the row before it",
        });
    }
    let mut verifier = ChainVerifier::after(begin.from.saturating_sub(1), begin.previous_hash);
    let mut following = Following::after(&begin.before)?;
    let (mut found, mut awaited) = (0_u64, None);
    while let Some(line) = lines.next::<Line>()? {
        match line {
            Line::Row { sequence, row_hash, report } if awaited.is_none() && found == 0 => {
                let (_, previous_hash) = verifier.head();
                let broken = LedgerError::ChainBroken { sequence, problem: "its report is of no form" };
                let decision_id = Record::read(&report).map_err(|_| broken)?.id().to_owned();
                let row = Row { sequence, decision_id, previous_hash, row_hash, report };
                let record = verifier.follow(&row)?;
                following.follow(&record)?;
                awaited = named_state(&record).filter(|_| begins_anew(&record));
            }
            Line::State { digest, rows }
                if awaited.take() == Some(digest) && Digest::of(rows::jcs_text(&rows)?) == digest =>
            {
                following.begin_anew(&rows);
            }
            Line::Evidence { digest, octets } if awaited.is_none() => {
                if STANDARD.decode(octets).ok().map(Digest::of) != Some(digest) {
                    return Err(LedgerError::Unusable(format!(
                        "the evidence {digest} is not what was written"
                    )));
                }
                found += 1;
            }
            Line::End { through, row_hash, state: said, evidence } if awaited.is_none() => {
                let ends_so = verifier.head() == (through, row_hash) && following.tables.digest()? == said;
                if !ends_so || evidence != found || lines.next::<Line>()?.is_some() {
                    return Err(lines.other());
                }
                return Ok(Archive {
                    ledger_id: begin.ledger_id,
                    domain: begin.domain,
                    from: begin.from,
                    through,
                    row_hash,
                    state: said,
                    evidence,
                    digest: lines.digest(),
                });
            }
            _ => return Err(lines.other()),
        }
    }
    Err(LedgerError::Unusable("the archive has no end".into()))
}

/// The lines of an archive file, hashed as they are read.
struct Lines {
    file: BufReader<File>,
    hasher: Sha256,
    path: PathBuf,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, LedgerError> {
        let file = File::open(path).map_err(|error| failed(path, &error))?;
        Ok(Self { file: BufReader::new(file), hasher: Sha256::new(), path: path.to_owned() })
    }

    fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, LedgerError> {
        let mut line = Vec::new();
        let read = (&mut self.file).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        read.map_err(|error| failed(&self.path, &error))?;
        self.hasher.update(&line);
        match line.last() {
            None => Ok(None),
            Some(b'\n') => serde_json::from_slice(&line).map(Some).map_err(|_| self.other()),
            Some(_) => Err(self.other()),
        }
    }

    fn other(&self) -> LedgerError {
        LedgerError::Unusable(format!("{}: it is no archive of this version", self.path.display()))
    }

    fn digest(self) -> Digest {
        Digest::from_bytes(self.hasher.finalize().into())
    }
}
