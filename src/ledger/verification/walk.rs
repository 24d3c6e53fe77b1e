//! The walk along the chain: each row, the reservation that comes with it, and the checkpoint that covers it.

use super::scratch::{Scratch, followed, place_of};
use super::tables::{self, Meta, digest, text};
use super::{MAX_CELL_BYTES, Stop, Verification, VerifyOptions, bounded, shown};
use crate::audit::{
    CheckpointV1, DecisionOutcome, DecisionReportV1, Event, KeyChange, LedgerEventV1, Record, Reservation,
    is_signed_by, reservation_digest,
};
use crate::ledger::chain::{ChainVerifier, Row, first_link};
use crate::ledger::sqlite::archive::is_signed;
use crate::ledger::sqlite::changes::TRACKED;
use crate::ledger::sqlite::checkpoints::is_due;
use crate::ledger::{LedgerError, MAX_ROW_BYTES};
use crate::message::Digest;
use crate::request::Instant;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Rows};
use std::collections::BTreeMap;

/// What the rows say, all together.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    /// Reservations that were made and not pruned.
    pub(super) reserved: i64,
    pub(super) pruned_through: u64,
    pub(super) floor: Option<i64>,
    pub(super) high_water: Option<i64>,
    /// Rows of `messages` and of `challenges`, as they are.
    pub(super) messages: i64,
    pub(super) challenges: i64,
    /// Reservations of earlier rows are those of a kept state.
    pub(super) stated_before: u64,
    /// A row could not be read: what the rows say of the tables is not known whole.
    pub(super) broke_off: bool,
}

pub(super) struct Walk<'a> {
    meta: &'a Meta,
    scratch: &'a Scratch,
    found: &'a mut Verification,
    said: Said,
    chain: ChainVerifier,
    /// The hash of the row before the one at which the walk stands.
    before_last: Digest,
    expected: BTreeMap<u64, Vec<Digest>>,
    known_keys: &'a [String],
    /// The key in force.
    key: Option<String>,
    /// Rows of each followed table.
    counts: Vec<i64>,
    /// The next checkpoint in order of the rows that they cover.
    next_checkpoint: Option<CheckpointV1>,
    /// The last checkpoint that holds.
    last_checkpoint: Option<CheckpointV1>,
    /// The first row after it that promised another.
    uncovered: Option<u64>,
    /// The anchor that the rows begin with must be named by a row.
    anchor: Option<(u64, Digest)>,
    /// The last row that is written as before version 4.
    earlier_form: u64,
    /// Allows whose reservations were pruned, and how many the rows say.
    pruned_allows: u64,
    pruned: u64,
}

/// The rows of `messages` and `challenges` in order of the rows that made them.
struct Reserved<'a> {
    messages: Ahead<'a, Message>,
    challenges: Ahead<'a, Challenge>,
}

/// Rows in order, one of them ahead.
struct Ahead<'a, T> {
    rows: Rows<'a>,
    read: fn(&rusqlite::Row<'_>) -> Result<T, rusqlite::Error>,
    next: Option<T>,
}

struct Message {
    sequence: i64,
    name: String,
    cells: Option<MessageCells>,
}

struct MessageCells {
    context: String,
    holder: String,
    message_id: String,
    digest: Digest,
    decision_id: String,
    peer: String,
}

struct Challenge {
    sequence: i64,
    name: String,
    /// Holder, domain and challenge.
    cells: Option<(String, String, String)>,
}

impl<'a, T> Ahead<'a, T> {
    fn new(rows: Rows<'a>, read: fn(&rusqlite::Row<'_>) -> Result<T, rusqlite::Error>) -> Result<Self, Stop> {
        let mut ahead = Self { rows, read, next: None };
        ahead.step()?;
        Ok(ahead)
    }

    fn step(&mut self) -> Result<Option<T>, Stop> {
        let next = self.rows.next()?.map(self.read).transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

fn message(row: &rusqlite::Row<'_>) -> Result<Message, rusqlite::Error> {
    let cells = (|| {
        let cell = |column: &str| row.get_ref(column).ok().and_then(text);
        Some(MessageCells {
            context: cell("context")?,
            holder: cell("holder")?,
            message_id: cell("message_id")?,
            digest: row.get_ref("digest").ok().and_then(digest)?,
            decision_id: cell("decision_id")?,
            peer: cell("peer")?,
        })
    })();
    let name = shown::row(row, &["context", "holder", "message_id"]);
    Ok(Message { sequence: row.get_ref("sequence")?.as_i64().unwrap_or(-1), name, cells })
}

fn challenge(row: &rusqlite::Row<'_>) -> Result<Challenge, rusqlite::Error> {
    let cells = (|| {
        let cell = |column: &str| row.get_ref(column).ok().and_then(text);
        Some((cell("holder")?, cell("domain")?, cell("challenge")?))
    })();
    let name = shown::row(row, &["holder", "domain", "challenge"]);
    Ok(Challenge { sequence: row.get_ref("sequence")?.as_i64().unwrap_or(-1), name, cells })
}

const REPORTS: &str = "reports";

impl<'a> Walk<'a> {
    pub(super) fn new(
        meta: &'a Meta,
        options: &'a VerifyOptions,
        scratch: &'a Scratch,
        found: &'a mut Verification,
    ) -> Result<Self, Stop> {
        let mut expected: BTreeMap<u64, Vec<Digest>> = BTreeMap::new();
        for (sequence, hash) in &options.expected {
            expected.entry(*sequence).or_default().push(*hash);
        }
        let first_link = first_link(&meta.identity())?;
        let mut walk = Self {
            chain: ChainVerifier::new(first_link),
            before_last: first_link,
            meta,
            scratch,
            found,
            said: Said::default(),
            expected,
            known_keys: &options.keys,
            key: None,
            counts: vec![0; followed().count()],
            next_checkpoint: None,
            last_checkpoint: None,
            uncovered: None,
            anchor: None,
            earlier_form: 0,
            pruned_allows: 0,
            pruned: 0,
        };
        for (place, grown) in tables::first_state(scratch)? {
            walk.grow(place, grown);
        }
        walk.next_checkpoint = walk.checkpoint_after((0, 0))?;
        Ok(walk)
    }

    pub(super) fn said(&self) -> Said {
        self.said.clone()
    }

    /// Walks, and says what was found on the way.
    pub(super) fn run(&mut self, connection: &Connection) -> Result<(), Stop> {
        // Until it came to its end.
        self.said.broke_off = true;
        if self.meta.is_archived {
            self.begin_at_anchor(connection)?;
        }
        let of =
            |columns: &[&str]| columns.iter().map(|column| bounded(column)).collect::<Vec<_>>().join(", ");
        let mut messages = connection.prepare(&format!(
            "SELECT {}, messages.sequence FROM messages ORDER BY messages.sequence",
            of(&["context", "holder", "message_id", "digest", "decision_id", "peer"])
        ))?;
        let mut challenges = connection.prepare(&format!(
            "SELECT {}, challenges.sequence FROM challenges ORDER BY challenges.sequence",
            of(&["holder", "domain", "challenge"])
        ))?;
        let mut reserved = Reserved {
            messages: Ahead::new(messages.query(())?, message)?,
            challenges: Ahead::new(challenges.query(())?, challenge)?,
        };
        let mut reports = connection.prepare(&format!(
            "SELECT reports.sequence, {}, previous_hash, row_hash,
                 CASE WHEN octet_length(report) <= {MAX_ROW_BYTES} THEN report END
             FROM reports ORDER BY reports.sequence",
            bounded("decision_id")
        ))?;
        let mut rows = reports.query(())?;
        let mut unreadable = false;
        while let Some(row) = rows.next()? {
            let sequence = row.get_ref(0)?.as_i64().unwrap_or(-1);
            let Some(number) = u64::try_from(sequence).ok().filter(|number| *number >= 1) else {
                self.found.find(REPORTS, format!("sequence {sequence}"), None, "no row has such a number");
                continue;
            };
            if number <= self.found.last_row {
                // Pages that lead back to themselves would give rows for ever.
                self.found.find(
                    REPORTS,
                    None,
                    number,
                    "it comes after rows that follow it; no further row was read",
                );
                return Ok(());
            }
            self.gap_before(number, row.get_ref(2)?);
            let record = self.row(number, row)?;
            self.at_checkpoint_before(number)?;
            self.reserved_before(number, &mut reserved)?;
            unreadable |= record.is_none();
            self.reservation(number, record.as_ref(), &mut reserved)?;
            if let Some(record) = record {
                self.record(number, &record, connection)?;
            }
            self.at_row(number)?;
        }
        self.reserved_before(u64::MAX, &mut reserved)?;
        self.at_checkpoint_before(u64::MAX)?;
        self.said.broke_off = unreadable;
        self.at_end();
        Ok(())
    }

    /// One row: its place in the chain and its form. `None`: it does not say what it says.
    fn row(&mut self, number: u64, row: &rusqlite::Row<'_>) -> Result<Option<Record>, Stop> {
        if self.found.first_row == 0 {
            self.found.first_row = number;
        }
        self.found.last_row = number;
        let cells =
            (text(row.get_ref(1)?), digest(row.get_ref(2)?), digest(row.get_ref(3)?), text(row.get_ref(4)?));
        let (Some(decision_id), Some(previous_hash), Some(row_hash), Some(report)) = cells else {
            let problem = match row.get_ref(4)? {
                ValueRef::Null => "it is longer than a row can be, or empty",
                _ => "its columns are not of their forms",
            };
            self.found.find(REPORTS, None, number, problem);
            self.found.row_hash = None;
            // The next row can be compared with its own words alone.
            let hash = digest(row.get_ref(3)?).unwrap_or_else(|| Digest::of(""));
            self.chain = ChainVerifier::after(number, hash);
            return Ok(None);
        };
        self.found.row_hash = Some(row_hash);
        self.before_last = previous_hash;
        let row = Row { sequence: number, decision_id, previous_hash, row_hash, report };
        match self.chain.follow(&row) {
            Ok(record) => Ok(Some(record)),
            Err(LedgerError::ChainBroken { problem, .. }) => {
                self.found.find(REPORTS, shown_id(&row), number, problem);
                self.chain = ChainVerifier::after(number, row_hash);
                // What follows is judged by what the row says now: fewer words about one edit.
                Ok(Record::read(&row.report).ok())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Rows that are missing before one.
    fn gap_before(&mut self, number: u64, previous: ValueRef<'_>) {
        let (last, _) = self.chain.head();
        let first = last.saturating_add(1);
        if number <= first {
            return;
        }
        let problem = match number - first {
            1 => "it is missing".to_owned(),
            _ => format!("the rows {first} to {} are missing", number - 1),
        };
        self.found.find(REPORTS, None, first, problem);
        self.said.broke_off = true;
        let hash = digest(previous).unwrap_or_else(|| Digest::of(""));
        self.chain = ChainVerifier::after(number - 1, hash);
    }

    /// Where rows left for an archive, the first one follows what its anchor says, which a row must confirm.
    fn begin_at_anchor(&mut self, connection: &Connection) -> Result<(), Stop> {
        let (first, previous) = connection.query_row(
            "SELECT sequence, previous_hash FROM reports WHERE sequence >= 1 ORDER BY sequence LIMIT 1",
            (),
            |row| Ok((row.get_ref(0)?.as_i64().unwrap_or(0), digest(row.get_ref(1)?))),
        )?;
        let through = u64::try_from(first).unwrap_or(0).saturating_sub(1);
        let mut statement = connection.prepare(
            "SELECT report FROM reports
             WHERE octet_length(report) <= ?1 AND instr(report, '\"kind\":\"archived\"') > 0 ORDER BY sequence",
        )?;
        let mut rows = statement.query((i64::try_from(MAX_CELL_BYTES).unwrap_or(i64::MAX),))?;
        let mut anchor = None;
        while let Some(row) = rows.next()? {
            let Some(Ok(Record::Event(event))) = row.get_ref(0)?.as_str().ok().map(Record::read) else {
                continue;
            };
            if let Event::Archived { through: of, row_hash, state, reserved, floor, key, .. } = event.event
                && of == through
            {
                anchor = Some((row_hash, state, reserved, floor, key));
            }
        }
        let (Some((row_hash, state, reserved, floor, key)), Some(_)) = (anchor, previous) else {
            // The walk names the rows that are missing.
            return Ok(());
        };
        self.chain = ChainVerifier::after(through, row_hash);
        self.anchor = Some((through, row_hash));
        self.take_state(state, connection)?;
        self.said.reserved = i64::try_from(reserved).unwrap_or(i64::MAX);
        self.raise_floor(through, floor.as_ref());
        if let Some(key) = key {
            if !self.known_keys.is_empty() && !self.known_keys.contains(&key) {
                let problem = "the key in force after the archived rows is none of those that are known";
                self.found.find(REPORTS, None, through, problem);
            }
            self.found.keys.push(shown::text(&key));
            self.key = Some(key);
        }
        self.said.stated_before = through.saturating_add(1);
        self.said.pruned_through = u64::try_from(self.meta.pruned_through).unwrap_or(0).min(through);
        self.found.notes.push(format!("rows 1 to {through} left for an archive, and are not verified here"));
        Ok(())
    }

    /// The tables are what a kept state says.
    fn take_state(&mut self, state: Digest, connection: &Connection) -> Result<(), Stop> {
        self.scratch.forget_rows()?;
        self.counts.iter_mut().for_each(|count| *count = 0);
        // Whether it is there is found where the states are compared.
        for change in tables::state(connection, state)?.unwrap_or_default() {
            if let (Some(place), Some(_)) = (place_of(&change.table), change.row) {
                let grown = self.scratch.put(place, change.key, change.row, 0)?;
                self.grow(place, grown);
            }
        }
        self.said.reserved = self.counts.get(TRACKED.len()).copied().unwrap_or(0);
        Ok(())
    }

    fn grow(&mut self, place: usize, grown: i64) {
        if let Some(count) = self.counts.get_mut(place) {
            *count = count.saturating_add(grown);
        }
    }

    /// Reserved ids of rows that are not there, or of numbers that no row has.
    fn reserved_before(&mut self, number: u64, reserved: &mut Reserved<'_>) -> Result<(), Stop> {
        let is_before = |sequence: i64| u64::try_from(sequence).map_or(true, |sequence| sequence < number);
        while reserved.messages.next.as_ref().is_some_and(|next| is_before(next.sequence)) {
            if let Some(next) = reserved.messages.step()? {
                self.said.messages += 1;
                self.extra("messages", next.name, next.sequence);
            }
        }
        while reserved.challenges.next.as_ref().is_some_and(|next| is_before(next.sequence)) {
            if let Some(next) = reserved.challenges.step()? {
                self.said.challenges += 1;
                self.extra("challenges", next.name, next.sequence);
            }
        }
        Ok(())
    }

    fn extra(&mut self, table: &str, name: String, sequence: i64) {
        let sequence = u64::try_from(sequence).ok();
        if !sequence.is_some_and(|sequence| sequence >= 1 && sequence < self.said.stated_before) {
            self.found.find(table, name, sequence, "no allow reserved it");
        }
    }

    /// The reservation of one row: there exactly where the row is an allow, and what the allow reserved.
    fn reservation(
        &mut self,
        number: u64,
        record: Option<&Record>,
        reserved: &mut Reserved<'_>,
    ) -> Result<(), Stop> {
        let is_of = |sequence: i64| u64::try_from(sequence) == Ok(number);
        let mut message = None;
        while reserved.messages.next.as_ref().is_some_and(|next| is_of(next.sequence)) {
            self.said.messages += 1;
            if let Some(second) = std::mem::replace(&mut message, reserved.messages.step()?) {
                self.found.find("messages", second.name, number, "the row reserved one id");
            }
        }
        let mut challenge = None;
        while reserved.challenges.next.as_ref().is_some_and(|next| is_of(next.sequence)) {
            self.said.challenges += 1;
            if let Some(second) = std::mem::replace(&mut challenge, reserved.challenges.step()?) {
                self.found.find("challenges", second.name, number, "the row consumed one challenge");
            }
        }
        let Some(record) = record else { return Ok(()) };
        let allow = match record {
            Record::Decision(report) if report.envelope.outcome == DecisionOutcome::Allow => Some(report),
            _ => None,
        };
        let Some(report) = allow else {
            if let Some(message) = message {
                self.found.find(
                    "messages",
                    message.name,
                    number,
                    "the row is no allow, and reserves nothing",
                );
            }
            if let Some(challenge) = challenge {
                self.found.find(
                    "challenges",
                    challenge.name,
                    number,
                    "the row is no allow, and consumes nothing",
                );
            }
            return Ok(());
        };
        if u64::try_from(self.meta.pruned_through).is_ok_and(|through| number <= through) {
            self.pruned_allows = self.pruned_allows.saturating_add(1);
            if let Some(message) = message {
                self.found.find("messages", message.name, number, "it was pruned, and is there again");
            }
            if let Some(challenge) = challenge {
                self.found.find("challenges", challenge.name, number, "it was pruned, and is there again");
            }
            return Ok(());
        }
        if message.is_none() {
            self.found.find("messages", None, number, "the row reserved an id, and it is missing");
        }
        if challenge.is_none() {
            self.found.find("challenges", None, number, "the row consumed a challenge, and it is missing");
        }
        if let (Some(message), Some(challenge)) = (message, challenge) {
            self.compare_reservation(number, report, &message, &challenge);
        }
        Ok(())
    }

    fn compare_reservation(
        &mut self,
        number: u64,
        report: &DecisionReportV1,
        message: &Message,
        challenge: &Challenge,
    ) {
        // Those of earlier versions are compared with the state that was kept of them.
        let Some(reservation) = report.envelope.reservation else { return };
        let holds = match (&message.cells, &challenge.cells) {
            (Some(cells), Some((holder, domain, challenge))) => {
                let context = match (cells.context.as_str(), cells.context.strip_prefix('=')) {
                    ("-", _) => Some(None),
                    (_, Some(context)) => Some(Some(context)),
                    _ => None,
                };
                context.is_some_and(|context| {
                    cells.holder == *holder
                        && cells.decision_id == report.envelope.decision_id
                        && reservation_digest(&Reservation {
                            context,
                            holder,
                            message_id: &cells.message_id,
                            message_digest: cells.digest,
                            peer: &cells.peer,
                            decision_id: &cells.decision_id,
                            domain,
                            challenge,
                        })
                        .is_ok_and(|digest| digest == reservation)
                })
            }
            _ => false,
        };
        if !holds {
            let problem = "it, or the challenge that was consumed with it, is not what the row reserved";
            self.found.find("messages", message.name.clone(), number, problem);
            let problem = "it, or the id that was reserved with it, is not what the row reserved";
            self.found.find("challenges", challenge.name.clone(), number, problem);
        }
    }

    /// What a row says of everything else.
    fn record(&mut self, number: u64, record: &Record, connection: &Connection) -> Result<(), Stop> {
        match record.recorded().map(str::parse::<Instant>) {
            Some(Ok(recorded)) => {
                self.said.high_water = self.said.high_water.max(Some(recorded.timestamp_micros()));
                let due = self.last_checkpoint.as_ref().is_some_and(|last| is_due(last, number, recorded));
                if due && self.uncovered.is_none() {
                    self.uncovered = Some(number);
                }
            }
            Some(Err(_)) => self.found.find(REPORTS, None, number, "its instant is none"),
            None => self.earlier_form = number,
        }
        match record {
            Record::Decision(report) => self.decision(number, report)?,
            Record::Event(event) => self.event(number, event, connection)?,
        }
        for change in record.changes() {
            match place_of(&change.table).filter(|place| *place < TRACKED.len()) {
                Some(place) => {
                    let grown = self.scratch.put(place, change.key, change.row, number)?;
                    self.grow(place, grown);
                }
                None => self.found.find(REPORTS, None, number, "it changes a table that is not followed"),
            }
        }
        Ok(())
    }

    fn decision(&mut self, number: u64, report: &DecisionReportV1) -> Result<(), Stop> {
        let envelope = &report.envelope;
        if envelope.outcome == DecisionOutcome::Allow {
            self.said.reserved = self.said.reserved.saturating_add(1);
            if envelope.reservation.is_none() {
                self.earlier_form = number;
            }
        } else if envelope.reservation.is_some() {
            self.found.find(REPORTS, None, number, "it reserves, and is no allow");
        }
        if let Some(evidence) = envelope.evidence.as_ref().filter(|evidence| evidence.kept) {
            for digest in [evidence.message, evidence.request] {
                self.scratch.evidence_kept(digest, number)?;
            }
            self.scratch.configuration_kept(evidence.configuration, number)?;
        }
        Ok(())
    }

    fn event(&mut self, number: u64, event: &LedgerEventV1, connection: &Connection) -> Result<(), Stop> {
        match &event.event {
            Event::FloorRaised { floor } => self.raise_floor(number, Some(floor)),
            Event::Pruned { through, reservations, floor } => {
                if *through < self.said.pruned_through || *through >= number {
                    self.found.find(REPORTS, None, number, "it prunes rows that were pruned, or are to come");
                }
                self.said.pruned_through = self.said.pruned_through.max(*through);
                self.pruned = self.pruned.saturating_add(*reservations);
                let pruned = i64::try_from(*reservations).unwrap_or(i64::MAX);
                self.said.reserved = self.said.reserved.saturating_sub(pruned);
                self.raise_floor(number, Some(floor));
            }
            Event::Migrated { state, floor, .. } => {
                if self.earlier_form + 1 != number {
                    self.found.find(
                        REPORTS,
                        None,
                        number,
                        "a file that is of this version was migrated to it",
                    );
                }
                self.take_state(*state, connection)?;
                self.scratch.state_named(*state, number)?;
                self.said.stated_before = number;
                self.raise_floor(number, floor.as_ref());
            }
            Event::Key { public_key, previous, signature } => {
                let change = (public_key.as_str(), previous.as_deref(), signature.as_deref());
                self.change_key(number, change);
            }
            Event::Archived { through, row_hash, state, public_key, .. } => {
                // What earlier anchors named left with the rows.
                if self.anchor.is_none_or(|(of, _)| of <= *through) {
                    self.scratch.state_named(*state, number)?;
                }
                if !is_signed(&self.meta.identity(), &event.event) {
                    self.found.find(
                        REPORTS,
                        None,
                        number,
                        "its key did not sign what it says of the archive",
                    );
                }
                if self.key.as_ref() != Some(public_key) {
                    self.found.find(
                        REPORTS,
                        None,
                        number,
                        "another key than the one in force signs the archive",
                    );
                }
                if self.anchor == Some((*through, *row_hash)) {
                    self.anchor = None;
                }
            }
            Event::Erased { digests } => {
                for digest in digests {
                    self.scratch.evidence_erased(*digest, number)?;
                }
            }
            Event::Negotiated { .. }
            | Event::Revoked { .. }
            | Event::Forgotten { .. }
            | Event::Refusals { .. } => {}
        }
        Ok(())
    }

    fn raise_floor(&mut self, number: u64, floor: Option<&String>) {
        match floor.map(|floor| floor.parse::<Instant>()) {
            None => {}
            Some(Ok(floor)) => self.said.floor = self.said.floor.max(Some(floor.timestamp_micros())),
            Some(Err(_)) => self.found.find(REPORTS, None, number, "its floor is no instant"),
        }
    }

    fn change_key(&mut self, number: u64, (key, previous, signature): (&str, Option<&str>, Option<&str>)) {
        let shown = shown::text(key);
        match (self.key.as_deref(), previous) {
            (None, None) => {
                if number != 1 {
                    let note =
                        format!("checkpoints begin at row {number}: no key signs what the rows before say");
                    self.found.notes.push(note);
                }
                if !self.known_keys.is_empty() && !self.known_keys.iter().any(|known| known == key) {
                    self.found.find(
                        REPORTS,
                        shown.clone(),
                        number,
                        "the first key is none of those that are known",
                    );
                }
            }
            (in_force, Some(previous))
                if in_force == Some(previous) || (in_force.is_none() && self.meta.is_archived) =>
            {
                let of = (self.meta.ledger_id.as_str(), self.meta.domain.as_str());
                let place = (number, self.before_last);
                let change = KeyChange::new(of, place, previous, key).octets();
                let signed =
                    change.is_ok_and(|change| is_signed_by(previous, &change, signature.unwrap_or_default()));
                if !signed {
                    self.found.find(
                        REPORTS,
                        shown.clone(),
                        number,
                        "the key before did not sign the change of key",
                    );
                }
            }
            _ => self.found.find(
                REPORTS,
                shown.clone(),
                number,
                "a key that the one in force did not give way to",
            ),
        }
        self.key = Some(key.to_owned());
        self.found.keys.push(shown);
    }

    fn checkpoint_after(&self, place: (u64, u64)) -> Result<Option<CheckpointV1>, Stop> {
        Ok(self.scratch.checkpoint_after(place)?.as_deref().and_then(CheckpointV1::read))
    }

    fn take_checkpoint(&mut self) -> Result<Option<CheckpointV1>, Stop> {
        let Some(checkpoint) = self.next_checkpoint.take() else { return Ok(None) };
        self.next_checkpoint = self.checkpoint_after((checkpoint.sequence, checkpoint.number))?;
        Ok(Some(checkpoint))
    }

    /// Checkpoints of rows that are not there.
    fn at_checkpoint_before(&mut self, number: u64) -> Result<(), Stop> {
        while self.next_checkpoint.as_ref().is_some_and(|next| next.sequence < number) {
            let Some(checkpoint) = self.take_checkpoint()? else { break };
            if checkpoint.sequence >= self.found.first_row {
                self.found.find(
                    REPORTS,
                    None,
                    checkpoint.sequence,
                    format!("checkpoint {} covers it, and it is not there", checkpoint.number),
                );
            }
        }
        Ok(())
    }

    /// What is known of a row from elsewhere, and its checkpoints.
    fn at_row(&mut self, number: u64) -> Result<(), Stop> {
        for expected in self.expected.remove(&number).unwrap_or_default() {
            if self.found.row_hash != Some(expected) {
                self.found.find(
                    "outside",
                    None,
                    number,
                    "the row does not have the hash that is expected of it",
                );
            }
        }
        while self.next_checkpoint.as_ref().is_some_and(|next| next.sequence == number) {
            let Some(checkpoint) = self.take_checkpoint()? else { break };
            if let Some(problem) = self.contradicts(&checkpoint) {
                self.found.find("checkpoints", format!("number {}", checkpoint.number), number, problem);
                continue;
            }
            self.found.covered = number;
            self.last_checkpoint = Some(checkpoint);
            self.uncovered = None;
        }
        Ok(())
    }

    /// Why a checkpoint of the row at which the walk stands does not hold.
    fn contradicts(&mut self, checkpoint: &CheckpointV1) -> Option<String> {
        if self.found.row_hash != Some(checkpoint.row_hash) {
            return Some("the row has another hash than the checkpoint signed".to_owned());
        }
        if self.key.as_ref() != Some(&checkpoint.public_key) {
            return Some(format!("{} was not the key in force", shown::text(&checkpoint.public_key)));
        }
        if i64::try_from(checkpoint.counts.reservations) != Ok(self.said.reserved) {
            return Some(format!(
                "it counts {} reservations, and the rows made {}",
                checkpoint.counts.reservations, self.said.reserved
            ));
        }
        let counted =
            |table: &str| checkpoint.counts.tables.get(table).and_then(|count| i64::try_from(*count).ok());
        let differs =
            TRACKED.iter().zip(&self.counts).find(|(tracked, count)| counted(tracked.table) != Some(**count));
        if let Some((tracked, _)) = differs {
            return Some(format!("it counts other rows of {} than the chain made", tracked.table));
        }
        (checkpoint.counts.tables.len() != TRACKED.len())
            .then(|| "it counts a table that is not followed".to_owned())
    }

    /// What must be said once the last row was read.
    fn at_end(&mut self) {
        let last = self.found.last_row;
        for (sequence, _) in std::mem::take(&mut self.expected) {
            match sequence < self.found.first_row {
                true => self
                    .found
                    .notes
                    .push(format!("row {sequence} left for an archive, and is not compared here")),
                false => self.found.find(
                    "outside",
                    None,
                    sequence,
                    format!("the row is expected, and the ledger ends at row {last}: rows were cut off"),
                ),
            }
        }
        for known in self.known_keys {
            if !self.found.keys.contains(&shown::text(known)) {
                self.found.find(
                    "outside",
                    shown::text(known),
                    None,
                    "the key that is known was never in force",
                );
            }
        }
        if let Some((through, _)) = self.anchor {
            self.found.find(
                REPORTS,
                None,
                through,
                "no row that follows says that the rows up to it were archived",
            );
        }
        if self.earlier_form >= self.said.stated_before.max(1) {
            self.found.find(
                REPORTS,
                None,
                self.earlier_form,
                "it has not all that a row of this version has",
            );
        }
        if self.said.pruned_through > 0 && !self.meta.is_archived && self.pruned != self.pruned_allows {
            let problem = format!(
                "{} reservations were pruned by the rows, and {} rows were allows",
                self.pruned, self.pruned_allows
            );
            self.found.find(REPORTS, None, self.said.pruned_through, problem);
        }
        if self.key.is_some() && self.last_checkpoint.is_none() {
            self.found.find("checkpoints", None, None, "there is a key, and no checkpoint that holds");
        }
        if let Some(row) = self.uncovered {
            let problem = "a checkpoint was promised with this row or one soon after it, and there is none: it was cut off";
            self.found.find("checkpoints", None, row, problem);
        }
    }
}

fn shown_id(row: &Row) -> String {
    shown::text(&row.decision_id)
}
