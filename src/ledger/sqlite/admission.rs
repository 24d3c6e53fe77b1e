//! The steps of admission, each within the caller's one transaction.

use super::rows::Verdict;
use super::{Meta, conversations, micros, remembered, stored};
use crate::audit::{DecisionOutcome, EvaluationOutcome, ReportBody, Reservation, reservation_digest};
use crate::ledger::{Candidate, LedgerError, RestsOn};
use crate::message::Digest;
use crate::refusal::{EarlierDecision, Reason};
use crate::request::Instant;
use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{OptionalExtension, Transaction};

/// What admission finds before it writes.
pub(super) enum Finding {
    /// Nothing stands against it.
    Clear,
    /// A refusal, with the decision that holds a duplicate's or a reused id.
    Refused { reason: Reason, earlier: Option<EarlierDecision> },
    /// The evaluation no longer holds.
    Stale,
}

/// Judges a candidate against what the ledger holds now, in the order of precedence of [`Reason`].
pub(super) fn judge(
    transaction: &Transaction<'_>,
    meta: &Meta,
    candidate: &Candidate,
    skew: TimeDelta,
) -> Result<Finding, LedgerError> {
    let refused = |reason, earlier| Ok(Finding::Refused { reason, earlier });
    if stepped_back(meta, candidate.now, skew) {
        return refused(Reason::ClockSteppedBack, None);
    }
    if meta.floor_us.is_some_and(|floor| micros(candidate.presentation_created) <= floor) {
        return refused(Reason::BeforeLedgerFloor, None);
    }
    if let Some((digest, decision)) = reservation(transaction, candidate)? {
        let same = digest == candidate.message_digest;
        return refused(
            if same { Reason::DuplicateMessage } else { Reason::MessageIdReused },
            Some(decision),
        );
    }
    if challenge_used(transaction, candidate)? {
        return refused(Reason::ChallengeUsed, None);
    }
    if candidate.now > candidate.not_after
        || remembered::any_revoked(transaction, &candidate.leans_on)?
        || remembered::any_list_moved(transaction, &candidate.learned)?
        || any_count_moved(transaction, candidate)?
        || has_moved(transaction, &candidate.rests_on, candidate.now)?
    {
        return Ok(Finding::Stale);
    }
    Ok(Finding::Clear)
}

/// Whether the conversation is no longer what a decision rests on.
pub(super) fn has_moved(
    transaction: &Transaction<'_>,
    rests_on: &RestsOn,
    now: Instant,
) -> Result<bool, LedgerError> {
    Ok(conversations::conversation(transaction, &rests_on.of, now)? != rests_on.conversation)
}

/// Whether `now` is below the highest instant that the ledger has seen, by more than the skew.
fn stepped_back(meta: &Meta, now: Instant, skew: TimeDelta) -> bool {
    let latest = now.checked_add_signed(skew).unwrap_or(DateTime::<Utc>::MAX_UTC);
    meta.high_water_us.is_some_and(|high_water| micros(latest) < high_water)
}

/// The digest of the message that holds the candidate's key, and its decision, if the key is taken.
fn reservation(
    transaction: &Transaction<'_>,
    candidate: &Candidate,
) -> Result<Option<(Digest, EarlierDecision)>, LedgerError> {
    let found = transaction
        .prepare_cached(
            "SELECT digest, decision_id, peer FROM messages WHERE context = ?1 AND holder = ?2 AND message_id = ?3",
        )?
        .query_row(
            (context_key(candidate.context.as_deref()), &candidate.holder, &candidate.message_id),
            |row| {
                let (digest, id, peer): (_, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let earlier = EarlierDecision::new(id, &peer, &candidate.body.peer);
                Ok((Digest::from_bytes(digest), earlier))
            },
        )
        .optional()?;
    Ok(found)
}

fn challenge_used(transaction: &Transaction<'_>, candidate: &Candidate) -> Result<bool, LedgerError> {
    Ok(transaction
        .prepare_cached("SELECT 1 FROM challenges WHERE holder = ?1 AND domain = ?2 AND challenge = ?3")?
        .exists((&candidate.holder, &candidate.domain, &candidate.challenge))?)
}

fn any_count_moved(transaction: &Transaction<'_>, candidate: &Candidate) -> Result<bool, LedgerError> {
    let mut statement = transaction.prepare_cached("SELECT exercised FROM counts WHERE policy = ?1")?;
    for (policy, exercise) in &candidate.exercised {
        let Some(seen) = exercise.rests_on else { continue };
        let now: i64 = statement.query_row((policy,), |row| row.get(0)).optional()?.unwrap_or(0);
        if u64::try_from(now).ok() != Some(seen) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reserves the id, consumes the challenge and counts the permissions of a candidate whose report is row `sequence`.
pub(super) fn reserve(
    transaction: &Transaction<'_>,
    candidate: &Candidate,
    sequence: u64,
) -> Result<(), LedgerError> {
    let sequence = stored(sequence)?;
    transaction
        .prepare_cached(
            "INSERT INTO messages (context, holder, message_id, digest, decision_id, peer, sequence)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            context_key(candidate.context.as_deref()),
            &candidate.holder,
            &candidate.message_id,
            candidate.message_digest.as_bytes(),
            &candidate.decision_id,
            &candidate.body.peer,
            sequence,
        ))?;
    transaction
        .prepare_cached(
            "INSERT INTO challenges (holder, domain, challenge, sequence) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((&candidate.holder, &candidate.domain, &candidate.challenge, sequence))?;
    let mut count = transaction.prepare_cached(
        "INSERT INTO counts (policy, exercised) VALUES (?1, ?2)
         ON CONFLICT (policy) DO UPDATE SET exercised = exercised + excluded.exercised",
    )?;
    for (policy, exercise) in &candidate.exercised {
        count.execute((policy, stored(exercise.times)?))?;
    }
    transaction.prepare_cached("UPDATE meta SET reserved = reserved + 1")?.execute(())?;
    Ok(())
}

/// The digest of what a candidate reserves and consumes, for its report.
pub(super) fn reservation_of(candidate: &Candidate) -> Result<Digest, LedgerError> {
    reservation_digest(&Reservation {
        context: candidate.context.as_deref(),
        holder: &candidate.holder,
        message_id: &candidate.message_id,
        message_digest: candidate.message_digest,
        peer: &candidate.body.peer,
        decision_id: &candidate.decision_id,
        domain: &candidate.domain,
        challenge: &candidate.challenge,
    })
    .map_err(|_| LedgerError::Contradictory("a reservation cannot be hashed"))
}

/// The verdict on a decision that reserves nothing.
///
/// # Errors
/// An entry that would read as an allow, or whose stage 10 refuses what an earlier stage has settled.
pub(super) fn verdict_on(
    body: &ReportBody,
    admission_refusal: Option<Reason>,
) -> Result<Verdict, LedgerError> {
    let outcome = match (body.outcome, admission_refusal) {
        (EvaluationOutcome::Granted, Some(_)) | (EvaluationOutcome::Refused, None) => DecisionOutcome::Refuse,
        (EvaluationOutcome::NotOurs, None) => DecisionOutcome::NotOurs,
        (EvaluationOutcome::Granted, None) => {
            return Err(LedgerError::Contradictory("a grant is recorded by admission only"));
        }
        (EvaluationOutcome::Refused | EvaluationOutcome::NotOurs, Some(_)) => {
            return Err(LedgerError::Contradictory("stage 10 refuses only what was granted"));
        }
    };
    Ok(Verdict { outcome, reason: admission_refusal, earlier: None, reservation: None })
}

/// The highest instant seen never goes down, whatever the clock does.
pub(super) fn raise_high_water(transaction: &Transaction<'_>, now: Instant) -> Result<(), LedgerError> {
    transaction
        .prepare_cached("UPDATE meta SET high_water_us = max(coalesce(high_water_us, ?1), ?1)")?
        .execute((micros(now),))?;
    Ok(())
}

/// A context as a key: no context is not the empty context, and neither is NULL.
pub(super) fn context_key(context: Option<&str>) -> String {
    match context {
        None => "-".to_owned(),
        Some(context) => format!("={context}"),
    }
}
