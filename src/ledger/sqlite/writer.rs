//! Group commit: decisions that come at the same time share one transaction, and so one wait for the disk.
//!
//! A decision is queued, and then its thread waits for the connection. Whoever gets it first takes all that has queued,
//! commits once, and answers all; the others find their answers. A decision that comes alone waits for nobody.

use super::growth::{self, Fill, Kind};
use super::{SqliteLedger, admission, remembered, rows};
use crate::audit::{DecisionOutcome, DecisionReportV1};
use crate::ledger::{Admission, Candidate, Entry, Learned, LedgerError, RestsOn};
use crate::refusal::Reason;
use crate::request::Instant;
use admission::Finding;
use rows::{Prepared, Verdict};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Decisions of one transaction, at most. Beyond it, waiting for the disk once is no longer what costs, and an error would
/// fail more than it must.
const MAX_GROUP: usize = 64;

/// A decision that is to be recorded.
#[derive(Debug)]
pub(super) enum Work {
    /// An allow, if admission holds.
    Admit(Box<(Candidate, Prepared)>),
    /// A decision that reserves nothing.
    Record(Box<(Recording, Prepared)>),
}

/// What [`Entry`] says beside its report.
#[derive(Debug)]
pub(super) struct Recording {
    verdict: Verdict,
    peer: String,
    has_mandate: bool,
    holder: Option<String>,
    reason: Option<Reason>,
    learned: Learned,
    rests_on: Option<RestsOn>,
    now: Instant,
}

/// Who is refused, and why.
struct Refused<'a> {
    peer: &'a str,
    /// The verified holder. It may be anybody with a key.
    holder: Option<&'a str>,
    /// Its chain was verified too.
    has_mandate: bool,
    /// `None`: the message is not ours.
    reason: Option<Reason>,
}

/// What became of it.
#[derive(Debug)]
pub(super) enum Answer {
    Admission(Admission),
    Recorded(Option<Box<DecisionReportV1>>),
}

impl Work {
    pub(super) fn admit(mut candidate: Candidate) -> Result<Self, LedgerError> {
        let prepared = Prepared::new(
            candidate.body.clone(),
            candidate.masked.take(),
            candidate.evidence.take(),
            (candidate.decision_id.clone(), std::mem::take(&mut candidate.stage_micros)),
            candidate.now,
        )?;
        Ok(Self::Admit(Box::new((candidate, prepared))))
    }

    pub(super) fn record(entry: Entry) -> Result<Self, LedgerError> {
        let verdict = admission::verdict_on(&entry.body, entry.admission_refusal)?;
        let ids = (entry.decision_id, entry.stage_micros);
        let (peer, holder) = (entry.body.peer.clone(), entry.body.holder.clone());
        let has_mandate = !entry.body.chain.is_empty();
        let reason = entry.admission_refusal.or(entry.body.reason);
        let mut prepared = Prepared::new(entry.body, entry.masked, entry.evidence, ids, entry.now)?;
        if holder.is_none() {
            prepared = prepared.shortened_to(growth::JUNK_BODY_BYTES)?;
        }
        let Entry { learned, rests_on, now, .. } = entry;
        let recording = Recording { verdict, peer, has_mandate, holder, reason, learned, rests_on, now };
        Ok(Self::Record(Box::new((recording, prepared))))
    }
}

impl Work {
    fn now(&self) -> Instant {
        match self {
            Self::Admit(work) => work.0.now,
            Self::Record(work) => work.0.now,
        }
    }
}

/// A decision in the queue, and where its answer goes.
type Queued = (Work, Arc<Slot>);
type Slot = Mutex<Option<Result<Answer, LedgerError>>>;

/// Decisions that wait for the connection.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<VecDeque<Queued>>);

impl Queue {
    fn push(&self, queued: Queued) -> Result<(), LedgerError> {
        self.0.lock().map_err(|_| in_doubt())?.push_back(queued);
        Ok(())
    }

    fn take(&self) -> Result<Vec<Queued>, LedgerError> {
        let mut queue = self.0.lock().map_err(|_| in_doubt())?;
        let group = queue.len().min(MAX_GROUP);
        Ok(queue.drain(..group).collect())
    }
}

impl SqliteLedger {
    /// Has a decision recorded, with whatever else has queued. Durable when it returns.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing of it was written.
    pub(super) fn write(&self, work: Work) -> Result<Answer, LedgerError> {
        let slot = Arc::new(Slot::default());
        self.queue.push((work, Arc::clone(&slot)))?;
        loop {
            let mut connection = self.lock()?;
            if let Some(answer) = slot.lock().map_err(|_| in_doubt())?.take() {
                return answer;
            }
            // Not answered: it is in the queue, within so many groups.
            self.write_group(&mut connection, self.queue.take()?)?;
        }
    }

    /// Runs a group in one transaction and answers all of it.
    fn write_group(&self, connection: &mut Connection, group: Vec<Queued>) -> Result<(), LedgerError> {
        let (work, slots): (Vec<Work>, Vec<Arc<Slot>>) = group.into_iter().unzip();
        let answers = self
            .run_group(connection, work)
            .unwrap_or_else(|error| slots.iter().map(|_| Err(error.clone())).collect());
        for (slot, answer) in slots.into_iter().zip(answers) {
            *slot.lock().map_err(|_| in_doubt())? = Some(answer);
        }
        Ok(())
    }

    /// The answers, in order, once they are durable.
    ///
    /// # Errors
    /// The whole transaction failed, and nothing was written.
    fn run_group(
        &self,
        connection: &mut Connection,
        group: Vec<Work>,
    ) -> Result<Vec<Result<Answer, LedgerError>>, LedgerError> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let alone = group.len() == 1;
        let latest = group.iter().map(Work::now).max();
        let mut answers = Vec::with_capacity(group.len());
        for work in group {
            // What failed half way may have noted changes.
            self.changes.take();
            if alone {
                answers.push(Ok(self.run(&transaction, work)?));
                continue;
            }
            transaction.prepare_cached("SAVEPOINT decision")?.execute(())?;
            let answer = self.run(&transaction, work);
            if let Err(error) = &answer {
                // After some errors SQLite has rolled the whole transaction back.
                if transaction.is_autocommit() {
                    return Err(error.clone());
                }
                transaction.prepare_cached("ROLLBACK TO decision")?.execute(())?;
            }
            transaction.prepare_cached("RELEASE decision")?.execute(())?;
            answers.push(answer);
        }
        let checkpoint = match latest {
            Some(latest) => self.checkpoint_if_due(&transaction, latest)?,
            None => None,
        };
        transaction.commit()?;
        self.emit(checkpoint.as_ref());
        Ok(answers)
    }

    fn run(&self, transaction: &Transaction<'_>, work: Work) -> Result<Answer, LedgerError> {
        let now = match &work {
            Work::Admit(work) => work.0.now,
            Work::Record(work) => work.0.now,
        };
        growth::turn(transaction, now, Fill::of(transaction, self.max_bytes)?, &self.changes)?;
        match work {
            Work::Admit(work) => self.admit_within(transaction, work.0, work.1).map(Answer::Admission),
            Work::Record(work) => {
                let recorded = self.record_within(transaction, work.0, work.1)?;
                Ok(Answer::Recorded(recorded.map(Box::new)))
            }
        }
    }

    /// Four things or none: reserves the id, consumes the challenge, counts the permissions, appends the report.
    fn admit_within(
        &self,
        transaction: &Transaction<'_>,
        candidate: Candidate,
        prepared: Prepared,
    ) -> Result<Admission, LedgerError> {
        let meta = super::Meta::read(transaction)?;
        let fill = Fill::of(transaction, self.max_bytes)?;
        let (outcome, reason, earlier) = match admission::judge(transaction, &meta, &candidate, self.skew)? {
            Finding::Stale => return Ok(Admission::Stale),
            Finding::Refused { reason, earlier } => (DecisionOutcome::Refuse, Some(reason), earlier),
            Finding::Clear if !remembered::keep_lists(transaction, &candidate.learned, candidate.now)? => {
                (DecisionOutcome::Refuse, Some(Reason::StatusRetrievalError), None)
            }
            Finding::Clear => (DecisionOutcome::Allow, None, None),
        };
        let reservation = match reason {
            Some(_) => None,
            None => {
                fill.has_room()?;
                let sequence = rows::head(transaction)?.map_or(0, |(sequence, _)| sequence).saturating_add(1);
                admission::reserve(transaction, &candidate, sequence)?;
                Some(admission::reservation_of(&candidate)?)
            }
        };
        learn(transaction, &candidate.learned, outcome, fill, candidate.now)?;
        let verdict = Verdict { outcome, reason, earlier: earlier.clone(), reservation };
        if let Some(reason) = reason {
            let refused = Refused {
                peer: &candidate.body.peer,
                has_mandate: true,
                holder: Some(&candidate.holder),
                reason: Some(reason),
            };
            let report = self.refuse(transaction, prepared, verdict, &refused, fill, candidate.now)?;
            return Ok(Admission::Refused { reason, earlier, report: Box::new(report) });
        }
        let (recorded, report) = self.append(transaction, prepared, verdict)?;
        Ok(Admission::Admitted(recorded, Box::new(report)))
    }

    fn record_within(
        &self,
        transaction: &Transaction<'_>,
        Recording { verdict, peer, has_mandate, holder, reason, learned, rests_on, now }: Recording,
        prepared: Prepared,
    ) -> Result<Option<DecisionReportV1>, LedgerError> {
        if let Some(rests_on) = rests_on
            && admission::has_moved(transaction, &rests_on, now)?
        {
            return Ok(None);
        }
        let fill = Fill::of(transaction, self.max_bytes)?;
        learn(transaction, &learned, verdict.outcome, fill, now)?;
        let refused = Refused { peer: &peer, has_mandate, holder: holder.as_deref(), reason };
        Ok(Some(self.refuse(transaction, prepared, verdict, &refused, fill, now)?))
    }

    /// Records a decision that is no allow: by a row of its own, or by counting it.
    fn refuse(
        &self,
        transaction: &Transaction<'_>,
        mut prepared: Prepared,
        verdict: Verdict,
        refused: &Refused<'_>,
        fill: Fill,
        now: Instant,
    ) -> Result<DecisionReportV1, LedgerError> {
        // Nobody verified stands in for junk, and anybody can send it. What changed the tables is a row in any case.
        let junk = refused.holder.is_none();
        let changed = self.changes.any();
        let has_row = match fill {
            _ if changed => true,
            Fill::Free if junk => match growth::junk_octets(prepared.body_octets()) {
                Some(octets) => growth::take(transaction, Kind::Junk, refused.peer, octets, now)?,
                None => false,
            },
            Fill::Free => true,
            Fill::Tight => !junk && refused.has_mandate,
            Fill::Scarce | Fill::Full => false,
        };
        if !has_row {
            let since = growth::tally(transaction, refused.peer, refused.reason, now)?;
            return Ok(prepared.counted(verdict, since));
        }
        fill.has_room()?;
        if let Some(evidence) = &mut prepared.evidence {
            let kind = if junk { Kind::JunkEvidence } else { Kind::RefusedEvidence };
            growth::keep_evidence(transaction, evidence, kind, refused.holder.unwrap_or(refused.peer), now)?;
        }
        Ok(self.append(transaction, prepared, verdict)?.1)
    }

    /// Appends a report with all that its transaction changed so far, which must be all that it changes.
    fn append(
        &self,
        transaction: &Transaction<'_>,
        prepared: Prepared,
        verdict: Verdict,
    ) -> Result<(crate::ledger::Recorded, DecisionReportV1), LedgerError> {
        for blob in prepared.evidence.iter().flat_map(|evidence| &evidence.blobs) {
            super::evidence::keep(transaction, blob)?;
        }
        rows::append_decision(transaction, prepared, verdict, self.changes.take())
    }
}

/// Keeps what was learned. Where room is scarce, a refusal notes no list as wanted: a delegate can name ever new ones, and
/// what a refusal teaches takes a row. Revocations and marks are kept in any case; what they take is bounded.
fn learn(
    transaction: &Transaction<'_>,
    learned: &Learned,
    outcome: DecisionOutcome,
    fill: Fill,
    now: Instant,
) -> Result<(), LedgerError> {
    remembered::learn(transaction, learned, now)?;
    if outcome == DecisionOutcome::Allow || fill < Fill::Scarce {
        remembered::want(transaction, learned, now)?;
    }
    Ok(())
}

fn in_doubt() -> LedgerError {
    LedgerError::Store("an earlier decision failed while it held the ledger".into())
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
