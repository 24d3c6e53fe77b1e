//! Stage 10: a grant becomes a permit only by the ledger's record of it.

use super::Engine;
use crate::audit::{DecisionOutcome, DecisionReportV1, ReportBody, ReportEnvelope};
use crate::decision::{Decided, Decision, Evaluation, Grant, Outcome, Permit};
use crate::ledger::{Admission, Candidate, Entry, Exercise, Learned, RestsOn};
use crate::protocol::conversation::Role;
use crate::refusal::{Reason, Refusal, Stage};
use crate::request::{CallerFacts, Instant, MessageInput, Request};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time;

/// How often a decision is evaluated anew because its inputs changed under it, before it is given up.
const MAX_EVALUATIONS: usize = 3;

impl Engine {
    /// Decides a message: snapshot, stages 1 to 9, and stage 10 in one ledger transaction. An allow that is not durably
    /// recorded is not an allow, and a decision that cannot be recorded is a refusal.
    pub fn decide(&self, message: MessageInput, facts: CallerFacts) -> Decided {
        let now = self.clock.now();
        let decision_id = decision_id(now);
        let mut request = Request { message, facts, snapshot: self.empty_snapshot(now) };
        for _ in 0..MAX_EVALUATIONS {
            // A panic of the ledger: whether it wrote is not known, so nothing may follow from it.
            let attempt = catch_unwind(AssertUnwindSafe(|| self.attempt(&mut request, &decision_id)));
            let attempt = attempt.unwrap_or_else(|_| {
                self.known.clear();
                Err(Retry::Unavailable)
            });
            match attempt {
                Ok(decided) => {
                    announce(&decided);
                    return decided;
                }
                Err(Retry::Stale) => continue,
                Err(Retry::Unavailable) => break,
            }
        }
        self.unavailable(&request, decision_id)
    }

    /// One snapshot, one evaluation, and its conclusion.
    fn attempt(&self, request: &mut Request, decision_id: &str) -> Result<Decided, Retry> {
        request.snapshot = self.snapshot(&request.facts, self.clock.now()).map_err(Retry::unavailable)?;
        let mut clock = StageClock::start();
        let evaluation = self.evaluate_watched(request, &mut |stage| clock.enter(stage));
        self.conclude(request, evaluation, decision_id, clock)
    }

    /// Records what the evaluation found, and admits a grant.
    fn conclude(
        &self,
        request: &Request,
        evaluation: Evaluation,
        decision_id: &str,
        clock: StageClock,
    ) -> Result<Decided, Retry> {
        let Evaluation { outcome, report: body, learned, consulted: _ } = evaluation;
        let of = request.facts.conversation(Role::Agent);
        let rests_on = RestsOn { of, conversation: request.snapshot.conversation.clone() };
        let entry = |body, learned, admission_refusal, stage_micros| Entry {
            body,
            masked: None,
            evidence: None,
            decision_id: decision_id.to_owned(),
            stage_micros,
            now: request.snapshot.instant,
            admission_refusal,
            learned,
            rests_on: None,
        };
        let record = |entry| match self.ledger.record(entry).map_err(Retry::unavailable)? {
            Some(report) => Ok(report),
            None => Err(Retry::Stale),
        };
        let (decision, report) = match outcome {
            Outcome::Granted(grant) => match self.unsupported_duty(&grant) {
                Some(refusal) => {
                    let entry = entry(body, learned, Some(refusal.reason()), clock.stop());
                    (Decision::Refuse(refusal), record(entry)?)
                }
                None => self.admit(request, grant, (body, learned), rests_on, decision_id, clock)?,
            },
            Outcome::Refused(refusal) => {
                (Decision::Refuse(refusal), record(entry(body, learned, None, clock.stop()))?)
            }
            Outcome::NotOurs(not_ours) => {
                // A required offer that came in between leaves no room for prose.
                let entry = entry(body, learned, None, clock.stop());
                (Decision::NotOurs(not_ours), record(Entry { rests_on: Some(rests_on), ..entry })?)
            }
        };
        Ok(Decided { decision, report })
    }

    /// Asks the ledger to reserve, consume, count and record in one transaction.
    fn admit(
        &self,
        request: &Request,
        grant: Box<Grant>,
        (body, learned): (ReportBody, Learned),
        rests_on: RestsOn,
        decision_id: &str,
        clock: StageClock,
    ) -> Result<(Decision, DecisionReportV1), Retry> {
        let counts = &request.snapshot.counts;
        let exercise = |(policy, times): (&String, &u64)| {
            let counted = grant.policy.is_counted(policy);
            let rests_on = counted.then(|| counts.get(policy).copied().unwrap_or(0));
            (policy.clone(), Exercise { times: *times, rests_on })
        };
        let now = self.clock.now();
        // By a clock that was ahead when it was read, something may have begun that has not.
        if now < request.snapshot.instant {
            return Err(Retry::Stale);
        }
        let candidate = Candidate {
            body,
            masked: None,
            evidence: None,
            decision_id: decision_id.to_owned(),
            stage_micros: clock.stop(),
            now,
            not_after: grant.not_after(),
            context: grant.envelope.facts.context.clone(),
            holder: grant.presentation.holder().to_owned(),
            message_id: grant.envelope.facts.message_id.clone(),
            message_digest: grant.envelope.digest,
            domain: grant.presentation.domain().to_owned(),
            challenge: grant.presentation.nonce().to_owned(),
            presentation_created: grant.presentation.created(),
            exercised: grant.policy.exercised().iter().map(exercise).collect(),
            leans_on: grant.leans_on(),
            learned,
            rests_on,
            obligations: grant.obligations().clone(),
        };
        match self.ledger.admit(candidate).map_err(Retry::unavailable)? {
            Admission::Admitted(recorded, report) => {
                Ok((Decision::Allow(Box::new(Permit::new(grant, recorded))), *report))
            }
            Admission::Refused { reason, earlier, report } => {
                let refusal = Refusal::new(Stage::Admission, reason)
                    .with_earlier_decision(earlier)
                    .seen_by(true, grant.protocol.settings.declared);
                Ok((Decision::Refuse(refusal), *report))
            }
            Admission::Stale => Err(Retry::Stale),
        }
    }

    /// A duty is a condition, not a remark: one that the configuration does not list as understood refuses.
    fn unsupported_duty(&self, grant: &Grant) -> Option<Refusal> {
        let duty = grant.obligations().iter().find(|duty| !self.config.obligations.contains(&duty.action))?;
        let refusal = Refusal::new(Stage::Admission, Reason::ObligationUnsupported).with(|evidence| {
            evidence.policy = Some(duty.policy.clone());
            evidence.seen = Some(duty.action.clone());
        });
        let chars = self.config.limits.evidence_chars;
        Some(refusal.seen_by(true, grant.protocol.settings.declared).cut_to(chars))
    }

    /// The refusal of a decision that could not be recorded. Its report has sequence 0: no row holds it.
    fn unavailable(&self, request: &Request, decision_id: String) -> Decided {
        let refusal = Refusal::new(Stage::Admission, Reason::LedgerUnavailable);
        let (body, refusal) = crate::audit::Draft::new(request, &self.config).refused(refusal);
        let envelope = ReportEnvelope {
            reason: Some(refusal.reason()),
            wire_code: refusal.wire_code(),
            ..ReportEnvelope::unrecorded(decision_id, DecisionOutcome::Refuse)
        };
        let report = DecisionReportV1 { version: DecisionReportV1::VERSION.to_owned(), body, envelope };
        let decided = Decided { decision: Decision::Refuse(refusal), report };
        announce(&decided);
        decided
    }
}

/// Why a conclusion was not reached.
enum Retry {
    /// Something that the evaluation saw has changed.
    Stale,
    /// The ledger failed.
    Unavailable,
}

impl Retry {
    fn unavailable(cause: crate::ledger::LedgerError) -> Self {
        // The cause is for the operator's log; no peer and no report ever sees it.
        tracing::error!(%cause, "the ledger failed");
        Self::Unavailable
    }
}

/// UUIDv7 of the decision's instant.
pub(crate) fn decision_id(now: Instant) -> String {
    let seconds = u64::try_from(now.timestamp()).unwrap_or(0);
    let timestamp = uuid::Timestamp::from_unix(uuid::NoContext, seconds, now.timestamp_subsec_nanos());
    uuid::Uuid::new_v7(timestamp).to_string()
}

/// Each report is also one event.
fn announce(decided: &Decided) {
    let DecisionReportV1 { body, envelope, .. } = &decided.report;
    tracing::info!(
        decision_id = %envelope.decision_id,
        sequence = envelope.sequence,
        outcome = ?envelope.outcome,
        stage = body.stage.as_str(),
        reason = envelope.reason.or(body.reason).map(Reason::as_str),
        "decision"
    );
}

/// Time spent in stages 1 to 9, for the report's envelope. (Admission writes that report, so its own time is a metric.)
struct StageClock {
    micros: BTreeMap<String, u64>,
    running: Option<(Stage, time::Instant)>,
}

impl StageClock {
    fn start() -> Self {
        Self { micros: BTreeMap::new(), running: None }
    }

    fn enter(&mut self, stage: Stage) {
        self.close();
        self.running = Some((stage, time::Instant::now()));
    }

    fn stop(mut self) -> BTreeMap<String, u64> {
        self.close();
        self.micros
    }

    fn close(&mut self) {
        if let Some((stage, since)) = self.running.take() {
            let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.micros.insert(stage.as_str().to_owned(), micros);
        }
    }
}
