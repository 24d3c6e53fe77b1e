//! What leaves the ledger: replay ids and challenges by pruning, evidence by erasure. Rows leave by `super::archive` alone,
//! and counts never.

use super::{Meta, SqliteLedger, micros, micros_text, read_u64, stored};
use crate::audit::evidence::ConfigurationEvidence;
use crate::audit::{Event, Record};
use crate::ledger::{LedgerError, reader};
use crate::message::Digest;
use crate::request::Instant;
use chrono::{DateTime, TimeDelta};
use rusqlite::{Connection, OptionalExtension, Transaction};
use std::collections::BTreeSet;

/// Rows of one portion of a pruning. The write lock is held for one portion at a time, some tenths of a second.
const PORTION: usize = 10_000;
/// Digests that one event names, at most.
const ERASED_AT_ONCE: usize = 1_000;

/// What a pruning removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The last row whose reservation is gone, from this or an earlier pruning.
    pub through: u64,
    /// Message ids, and as many challenges, that were removed now.
    pub reservations: u64,
}

/// Rows that are pruned together.
struct Portion {
    through: u64,
    /// The latest instant at which any of them, or an earlier one, was recorded.
    latest_us: i64,
}

impl SqliteLedger {
    /// Removes the message ids and challenges of the rows up to the last one before which, itself included, everything was
    /// recorded before `before`. The floor takes their place: the latest of those instants plus the skew. A presentation was
    /// made no later than the skew after it was allowed, so whatever is forgotten is below the floor, and stays refused
    /// (`BEFORE_LEDGER_FLOOR`) whatever the clock does. `fresh_for` is how long a presentation or a challenge may be used:
    /// nothing that still is fresh falls below the floor.
    ///
    /// It runs in portions, each with its row: whatever stops it, what was pruned by then is recorded.
    ///
    /// # Errors
    /// [`LedgerError::TooRecent`] for a `before` that is less than `fresh_for` and three times the skew ago;
    /// [`LedgerError`]: the portion that failed was not pruned.
    pub fn prune(&self, before: Instant, now: Instant, fresh_for: TimeDelta) -> Result<Pruned, LedgerError> {
        self.prune_in_portions(before, now, fresh_for, PORTION)
    }

    pub(super) fn prune_in_portions(
        &self,
        before: Instant,
        now: Instant,
        fresh_for: TimeDelta,
        rows: usize,
    ) -> Result<Pruned, LedgerError> {
        // One for the presentation's clock, one for the floor, one for a clock of ours that steps back unnoticed.
        let margin = self.skew.checked_mul(3).and_then(|skew| skew.checked_add(&fresh_for));
        let most_recent = margin.and_then(|margin| now.checked_sub_signed(margin));
        if most_recent.is_none_or(|most_recent| before > most_recent) {
            return Err(LedgerError::TooRecent);
        }
        let (portions, mut pruned) = {
            let connection = self.lock_reading()?;
            let through = pruned_through(&connection)?;
            (portions(&connection, through, micros(before), rows)?, Pruned { through, reservations: 0 })
        };
        let last = portions.len();
        for (portion, number) in portions.iter().zip(1..) {
            let done =
                self.change(now, |transaction| self.prune_portion(transaction, portion, number == last))?;
            if let Some(removed) = done {
                pruned = Pruned { through: portion.through, reservations: pruned.reservations + removed };
            }
        }
        Ok(pruned)
    }

    /// Removes a portion's reservations. One that has none waits for the next, unless it is the last.
    fn prune_portion(
        &self,
        transaction: &Transaction<'_>,
        portion: &Portion,
        last: bool,
    ) -> Result<(Option<u64>, Option<Event>), LedgerError> {
        let through = stored(portion.through)?;
        let has_any = transaction
            .prepare_cached("SELECT 1 FROM messages WHERE sequence <= ?1 LIMIT 1")?
            .exists((through,))?;
        // Another process may have pruned further since the rows were read.
        if pruned_through(transaction)? >= portion.through || !(has_any || last) {
            return Ok((None, None));
        }
        let messages = transaction.execute("DELETE FROM messages WHERE sequence <= ?1", (through,))?;
        let challenges = transaction.execute("DELETE FROM challenges WHERE sequence <= ?1", (through,))?;
        if messages != challenges {
            return Err(LedgerError::Unusable("there are not as many challenges as message ids".into()));
        }
        let floor = floor_above(portion.latest_us, self.skew)?;
        transaction.execute(
            "UPDATE meta SET reserved = reserved - ?1, pruned_through = ?2, floor_us = max(coalesce(floor_us, ?3), ?3)",
            (stored(messages as u64)?, through, floor),
        )?;
        let floor = Meta::read(transaction)?.floor_us.unwrap_or(floor);
        let removed = messages as u64;
        let event =
            Event::Pruned { through: portion.through, reservations: removed, floor: micros_text(floor)? };
        Ok((Some(removed), Some(event)))
    }

    /// Erases the evidence of decisions: what the message was, and what was said of it and known. Its digests stay in the
    /// reports, and the configuration, which other decisions share, stays whole. Gives how many pieces were erased.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchDecision`]; [`LedgerError`]: some may have been erased, and rows say which. While somebody reads
    /// the ledger as it was, the file keeps the octets: then it is an error too, and doing it again takes them.
    pub fn erase_evidence_of(&self, decisions: &[String], now: Instant) -> Result<usize, LedgerError> {
        let mut digests = BTreeSet::new();
        {
            let connection = self.lock_reading()?;
            for decision in decisions {
                let report: Option<String> = connection
                    .prepare_cached("SELECT report FROM reports WHERE decision_id = ?1")?
                    .query_row((decision,), |row| row.get(0))
                    .optional()?;
                let report = report.ok_or_else(|| LedgerError::NoSuchDecision(decision.clone()))?;
                digests.extend(own_evidence(&Record::read(&report).map_err(|_| unreadable())?));
            }
        }
        self.erase(digests, now)
    }

    /// [`SqliteLedger::erase_evidence_of`] every decision that was recorded before `before`.
    ///
    /// # Errors
    /// As there.
    pub fn erase_evidence_before(&self, before: Instant, now: Instant) -> Result<usize, LedgerError> {
        let mut digests = BTreeSet::new();
        {
            let connection = self.lock_reading()?;
            reader::each_row(&connection, 1, |row| {
                let record = Record::read(&row.report).map_err(|_| unreadable())?;
                if recorded_us(&record).is_some_and(|recorded| recorded < micros(before)) {
                    digests.extend(own_evidence(&record));
                }
                Ok::<_, LedgerError>(())
            })?;
        }
        self.erase(digests, now)
    }

    fn erase(&self, mut digests: BTreeSet<Digest>, now: Instant) -> Result<usize, LedgerError> {
        let shared = of_configurations(&*self.lock_reading()?)?;
        digests.retain(|digest| !shared.contains(digest));
        // What is erased is overwritten, in the file and in its log.
        self.lock()?.pragma_update(None, "secure_delete", true)?;
        let digests: Vec<Digest> = digests.into_iter().collect();
        let mut erased = 0;
        for digests in digests.chunks(ERASED_AT_ONCE) {
            erased += self.change(now, |transaction| {
                let mut gone = Vec::new();
                for digest in digests {
                    let octets = transaction
                        .prepare_cached(
                            "UPDATE evidence SET octets = NULL WHERE digest = ?1 AND octets IS NOT NULL",
                        )?
                        .execute((digest.as_bytes(),))?;
                    if octets > 0 {
                        gone.push(*digest);
                    }
                }
                let number = gone.len();
                Ok((number, (number > 0).then_some(Event::Erased { digests: gone })))
            })?;
        }
        let is_held: bool =
            self.lock()?.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))?;
        if is_held {
            return Err(LedgerError::Store(
                "the evidence is erased, but somebody reads the ledger as it was, and the file still has the octets: do \
                 it again when nobody does"
                    .into(),
            ));
        }
        Ok(erased)
    }
}

/// The rows after `from` that were recorded before an instant, up to the first that was not, in portions.
fn portions(
    connection: &Connection,
    from: u64,
    before_us: i64,
    rows: usize,
) -> Result<Vec<Portion>, LedgerError> {
    let mut statement = connection.prepare(
        "SELECT sequence, json_extract(report, '$.envelope.recorded') FROM reports
         WHERE sequence > ?1 ORDER BY sequence LIMIT ?2",
    )?;
    let most = i64::try_from(rows).unwrap_or(i64::MAX);
    let (mut from, mut latest_us) = (from, i64::MIN);
    let mut portions: Vec<Portion> = Vec::new();
    loop {
        let rows = statement
            .query_and_then((stored(from)?, most), |row| Ok((read_u64(row.get(0)?)?, row.get(1)?)))?
            .collect::<Result<Vec<(u64, Option<String>)>, LedgerError>>()?;
        let Some((last, _)) = rows.last() else { return Ok(portions) };
        from = *last;
        let mut portion = None;
        let mut is_over = false;
        for (sequence, recorded) in rows {
            // A report of an earlier version says no instant. It is pruned with the row of its migration, which does.
            let Some(recorded) = recorded else { continue };
            let recorded = instant_us(&recorded).ok_or_else(unreadable)?;
            if recorded >= before_us {
                is_over = true;
                break;
            }
            latest_us = latest_us.max(recorded);
            portion = Some(Portion { through: sequence, latest_us });
        }
        portions.extend(portion);
        if is_over {
            return Ok(portions);
        }
    }
}

/// An instant above which no presentation was made that was allowed up to `latest_us`: the skew is rounded up.
fn floor_above(latest_us: i64, skew: TimeDelta) -> Result<i64, LedgerError> {
    let beyond = |problem| LedgerError::Contradictory(problem);
    let whole = skew.num_microseconds().ok_or(beyond("the skew is too long"))?;
    let skew_us = if TimeDelta::microseconds(whole) < skew { whole.saturating_add(1) } else { whole };
    latest_us.checked_add(skew_us).ok_or(beyond("the skew leads out of the calendar"))
}

pub(super) fn pruned_through(connection: &Connection) -> Result<u64, LedgerError> {
    read_u64(connection.prepare_cached("SELECT pruned_through FROM meta")?.query_row((), |row| row.get(0))?)
}

/// The evidence that is a decision's own, if another decision had not the same message.
pub(super) fn own_evidence(record: &Record) -> Vec<Digest> {
    match record {
        Record::Decision(report) => {
            report.envelope.evidence.iter().flat_map(|digests| [digests.message, digests.request]).collect()
        }
        Record::Event(_) => Vec::new(),
    }
}

/// The manifests and documents that rows were decided by. They are no decision's own, also where a message has the same
/// octets: a peer can send a document that is public.
pub(super) fn of_configurations(connection: &Connection) -> Result<BTreeSet<Digest>, LedgerError> {
    let mut shared = BTreeSet::new();
    reader::each_row(connection, 1, |row| {
        let Record::Decision(report) = Record::read(&row.report).map_err(|_| unreadable())? else {
            return Ok(());
        };
        let Some(evidence) = report.envelope.evidence else { return Ok(()) };
        if shared.insert(evidence.configuration) {
            let manifest: Option<Option<Vec<u8>>> = connection
                .prepare_cached("SELECT octets FROM evidence WHERE digest = ?1")?
                .query_row((evidence.configuration.as_bytes(),), |row| row.get(0))
                .optional()?;
            shared.extend(ConfigurationEvidence::documents(&manifest.flatten().unwrap_or_default()));
        }
        Ok::<_, LedgerError>(())
    })?;
    Ok(shared)
}

fn recorded_us(record: &Record) -> Option<i64> {
    record.recorded().and_then(instant_us)
}

fn instant_us(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|instant| instant.timestamp_micros())
}

pub(super) fn unreadable() -> LedgerError {
    LedgerError::Unusable("a row is not of a form that this version reads".into())
}
