//! Appending to the chain of rows.

use super::{Meta, stored};
use crate::audit::{
    DecisionOutcome, DecisionReportV1, Event, EventEnvelope, LedgerEventV1, Masked, ReportBody,
    ReportEnvelope, RowChange, recorded_text,
};
use crate::ledger::chain::{first_link, row_hash};
use crate::ledger::{Evidence, LedgerError, MAX_BODY_BYTES, MAX_ROW_BYTES, Recorded};
use crate::message::Digest;
use crate::message::digest::jcs;
use crate::refusal::{EarlierDecision, Reason, Stage};
use crate::request::Instant;
use rusqlite::{OptionalExtension, Transaction};
use serde::Serialize;
use std::collections::BTreeMap;

/// The one member of a body that may be large and can be left out.
const SHACL_REPORT: &str = "/body/shaclReport";

/// A decision that is ready to become a row: whatever can be computed is, so that the one writer has little to do.
#[derive(Debug)]
pub(super) struct Prepared {
    body: ReportBody,
    text: String,
    body_digest: Digest,
    redacted: Vec<String>,
    decision_id: String,
    stage_micros: BTreeMap<String, u64>,
    now: Instant,
    pub(super) evidence: Option<Evidence>,
}

/// What recording a decision adds to it, but for the row's number.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) outcome: DecisionOutcome,
    /// Stage 10's reason.
    pub(super) reason: Option<Reason>,
    /// For a duplicate or a reused id: the decision that holds it.
    pub(super) earlier: Option<EarlierDecision>,
    /// For an allow: the digest of what it takes.
    pub(super) reservation: Option<Digest>,
}

impl Prepared {
    /// # Errors
    /// A body that is too large to be recorded.
    pub(super) fn new(
        body: ReportBody,
        masked: Option<Masked>,
        evidence: Option<Evidence>,
        (decision_id, stage_micros): (String, BTreeMap<String, u64>),
        now: Instant,
    ) -> Result<Self, LedgerError> {
        let mut text = jcs_text(&body)?;
        let body_digest = Digest::of(&text);
        let (mut body, mut redacted) = match masked {
            Some(masked) => {
                text = jcs_text(&masked.body)?;
                (masked.body, masked.redacted)
            }
            None => (body, Vec::new()),
        };
        if text.len() > MAX_BODY_BYTES && body.shacl_report.take().is_some() {
            redacted.push(SHACL_REPORT.to_owned());
            text = jcs_text(&body)?;
        }
        if text.len() > MAX_BODY_BYTES {
            return Err(LedgerError::ReportTooLarge(text.len()));
        }
        Ok(Self { body, text, body_digest, redacted, decision_id, stage_micros, now, evidence })
    }

    /// Octets of the body as it is recorded.
    pub(super) fn body_octets(&self) -> usize {
        self.text.len()
    }

    /// Leaves out what would make a body that anybody can cause larger than `bytes`, as far as that is enough.
    pub(super) fn shortened_to(mut self, bytes: usize) -> Result<Self, LedgerError> {
        if self.text.len() > bytes && self.body.shacl_report.take().is_some() {
            self.redacted.push(SHACL_REPORT.to_owned());
            self.text = jcs_text(&self.body)?;
        }
        Ok(self)
    }

    /// The report of a decision that is counted, and that no row holds.
    pub(super) fn counted(self, verdict: Verdict, since: String) -> DecisionReportV1 {
        let mut report = self.report(verdict, 0, Vec::new()).0;
        let envelope = &mut report.envelope;
        (envelope.recorded, envelope.evidence, envelope.counted_since) = (None, None, Some(since));
        report
    }

    /// The report as row `sequence`.
    pub(super) fn report(
        self,
        verdict: Verdict,
        sequence: u64,
        changes: Vec<RowChange>,
    ) -> (DecisionReportV1, String) {
        let envelope = ReportEnvelope {
            decision_id: self.decision_id,
            sequence,
            outcome: verdict.outcome,
            reason: verdict.reason,
            wire_code: verdict.reason.and_then(|reason| reason.wire_code(Stage::Admission)),
            earlier_decision: verdict.earlier.map(|earlier| earlier.id().to_owned()),
            stage_micros: self.stage_micros,
            redacted: self.redacted,
            recorded: Some(recorded_text(self.now)),
            body_digest: Some(self.body_digest),
            reservation: verdict.reservation,
            evidence: self.evidence.map(|evidence| evidence.digests),
            changes,
            counted_since: None,
        };
        let version = DecisionReportV1::VERSION.to_owned();
        (DecisionReportV1 { version, body: self.body, envelope }, self.text)
    }
}

/// Appends a decision as the next row of the chain.
pub(super) fn append_decision(
    transaction: &Transaction<'_>,
    prepared: Prepared,
    verdict: Verdict,
    changes: Vec<RowChange>,
) -> Result<(Recorded, DecisionReportV1), LedgerError> {
    let now = prepared.now;
    let next = next(transaction)?;
    let (report, body) = prepared.report(verdict, next.sequence, changes);
    // The JCS form of an object of these three members: their names are in order.
    let text = format!(
        "{{\"body\":{body},\"envelope\":{},\"version\":{}}}",
        jcs_text(&report.envelope)?,
        jcs_text(&report.version)?
    );
    let recorded = append(transaction, next, &report.envelope.decision_id, &text, now)?;
    Ok((recorded, report))
}

/// Appends an event as the next row of the chain.
pub(super) fn append_event(
    transaction: &Transaction<'_>,
    event: Event,
    now: Instant,
    changes: Vec<RowChange>,
) -> Result<Recorded, LedgerError> {
    let next = next(transaction)?;
    let event_id = crate::engine::decision_id(now);
    let envelope = EventEnvelope { event_id, sequence: next.sequence, recorded: recorded_text(now), changes };
    let event = LedgerEventV1 { version: LedgerEventV1::VERSION.to_owned(), event, envelope };
    append(transaction, next, &event.envelope.event_id, &jcs_text(&event)?, now)
}

/// Where the next row goes.
struct Next {
    sequence: u64,
    previous: Digest,
}

fn next(transaction: &Transaction<'_>) -> Result<Next, LedgerError> {
    let (last, previous) = match head(transaction)? {
        Some(head) => head,
        None => (0, first_link(&Meta::read(transaction)?.identity())?),
    };
    let sequence =
        last.checked_add(1).ok_or_else(|| LedgerError::Unusable("the ledger has no more rows".into()))?;
    Ok(Next { sequence, previous })
}

fn append(
    transaction: &Transaction<'_>,
    Next { sequence, previous }: Next,
    id: &str,
    text: &str,
    now: Instant,
) -> Result<Recorded, LedgerError> {
    if text.len() > MAX_ROW_BYTES {
        return Err(LedgerError::ReportTooLarge(text.len()));
    }
    let row_hash = row_hash(previous, text.as_bytes());
    transaction
        .prepare_cached(
            "INSERT INTO reports (sequence, decision_id, previous_hash, row_hash, report)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((stored(sequence)?, id, previous.as_bytes(), row_hash.as_bytes(), text))?;
    super::admission::raise_high_water(transaction, now)?;
    Ok(Recorded { sequence, row_hash })
}

/// The last row's number and hash.
pub(super) fn head(transaction: &Transaction<'_>) -> Result<Option<(u64, Digest)>, LedgerError> {
    let head: Option<(i64, [u8; 32])> = transaction
        .prepare_cached("SELECT sequence, row_hash FROM reports ORDER BY sequence DESC LIMIT 1")?
        .query_row((), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    head.map(|(sequence, hash)| Ok((super::read_u64(sequence)?, Digest::from_bytes(hash)))).transpose()
}

/// A value's JCS form as text.
pub(super) fn jcs_text<T: Serialize>(value: &T) -> Result<String, LedgerError> {
    let octets = jcs(value).map_err(|_| LedgerError::Contradictory("a row cannot be written as JCS"))?;
    String::from_utf8(octets).map_err(|_| LedgerError::Contradictory("a row's JCS form is not UTF-8"))
}
