//! Which rows of a ledger a reader asks for. `list`, `export`, `query` and the page share it.

use super::record::{Event, LedgerEventV1, Record, RefusalTally};
use super::report::{DecisionOutcome, DecisionReportV1};
use crate::refusal::Reason;
use crate::request::Instant;

/// Which rows are asked for: those that meet everything which is set. Texts are compared exactly.
///
/// An event has no outcome, holder or target, so a filter on one leaves events out; it has a peer or a context where its
/// kind has one. Decisions that were only counted have an outcome, a reason and a peer. What was masked meets no filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Recorded at this instant or later.
    pub since: Option<Instant>,
    /// Recorded before this instant.
    pub until: Option<Instant>,
    /// The decision's outcome.
    pub outcome: Option<DecisionOutcome>,
    /// The reason, of whatever stage.
    pub reason: Option<Reason>,
    /// The transport identity.
    pub peer: Option<String>,
    /// The verified holder.
    pub holder: Option<String>,
    /// The root principal.
    pub root: Option<String>,
    /// One of the targets.
    pub target: Option<String>,
    /// The effective context.
    pub context: Option<String>,
    /// Events of the ledger too, and not decisions alone.
    pub events: bool,
}

impl Filter {
    /// Whether a row is asked for. A row whose time cannot be read meets any range: who looks for what happened must not
    /// miss it for that.
    pub fn matches(&self, record: &Record) -> bool {
        self.in_range(record)
            && match record {
                Record::Decision(report) => self.matches_decision(report),
                Record::Event(event) => self.events && self.matches_event(event),
            }
    }

    fn in_range(&self, record: &Record) -> bool {
        let Some(at) = at(record) else { return true };
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    fn matches_decision(&self, DecisionReportV1 { body, envelope, .. }: &DecisionReportV1) -> bool {
        let is = |asked: &Option<String>, value: Option<&str>| {
            asked.as_deref().is_none_or(|asked| value == Some(asked))
        };
        self.outcome.is_none_or(|outcome| envelope.outcome == outcome)
            && self.reason.is_none_or(|reason| envelope.reason.or(body.reason) == Some(reason))
            && is(&self.peer, Some(&body.peer))
            && is(&self.holder, body.holder.as_deref())
            && is(&self.root, body.root_principal.as_deref())
            && is(&self.context, body.context.as_deref())
            && self
                .target
                .as_ref()
                .is_none_or(|target| body.actions.iter().any(|action| action.target == *target))
    }

    fn matches_event(&self, event: &LedgerEventV1) -> bool {
        if self.holder.is_some() || self.root.is_some() || self.target.is_some() {
            return false;
        }
        let is = |asked: &Option<String>, value: Option<&str>| {
            asked.as_deref().is_none_or(|asked| value == Some(asked))
        };
        let of_no_decision = self.outcome.is_none() && self.reason.is_none();
        match &event.event {
            Event::Refusals { refusals, .. } if self.context.is_none() => {
                refusals.iter().any(|tally| self.matches_tally(tally))
            }
            Event::Negotiated { peer, context, .. } => {
                of_no_decision && is(&self.peer, Some(peer)) && is(&self.context, context.as_deref())
            }
            Event::Forgotten { peer, .. } => {
                of_no_decision && is(&self.peer, Some(peer)) && self.context.is_none()
            }
            _ => of_no_decision && self.peer.is_none() && self.context.is_none(),
        }
    }

    /// Decisions that were counted: of a peer, with an outcome and for a reason, at once.
    fn matches_tally(&self, RefusalTally { peer, reason, .. }: &RefusalTally) -> bool {
        let outcome = if reason.is_some() { DecisionOutcome::Refuse } else { DecisionOutcome::NotOurs };
        // Among those that were not told apart may be anybody: who makes many must not hide one.
        let may_be = |asked: &String| asked == peer || peer == RefusalTally::OTHERS;
        self.peer.as_ref().is_none_or(may_be)
            && self.outcome.is_none_or(|asked| asked == outcome)
            && self.reason.is_none_or(|asked| *reason == Some(asked))
    }
}

/// When a row was recorded; of a report from before ledgers kept that, when it was decided.
pub fn at(record: &Record) -> Option<Instant> {
    let text = match record {
        Record::Decision(report) => {
            report.envelope.recorded.as_deref().unwrap_or(report.body.instant.as_str())
        }
        Record::Event(event) => event.envelope.recorded.as_str(),
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{EventEnvelope, RefusalTally, ReportBody, ReportEnvelope, example_body};

    fn decision(change: impl FnOnce(&mut ReportBody, &mut ReportEnvelope)) -> Record {
        let mut body = example_body();
        let mut envelope = ReportEnvelope::unrecorded("id".to_owned(), DecisionOutcome::Allow);
        change(&mut body, &mut envelope);
        Record::Decision(Box::new(DecisionReportV1 {
            version: DecisionReportV1::VERSION.to_owned(),
            body,
            envelope,
        }))
    }

    fn event(event: Event) -> Record {
        Record::Event(Box::new(LedgerEventV1 {
            version: LedgerEventV1::VERSION.to_owned(),
            event,
            envelope: EventEnvelope {
                event_id: "id".to_owned(),
                sequence: 1,
                recorded: "2026-05-01T12:00:00.000000Z".to_owned(),
                changes: Vec::new(),
            },
        }))
    }

    /// Each row: one criterion, whether the example's decision meets it, and one that it does not meet.
    #[test]
    fn each_criterion_takes_what_meets_it_and_leaves_the_rest() {
        let text = |value: &str| Some(value.to_owned());
        let time = |value: &str| Some(value.parse().unwrap());
        let all = Filter::default;
        let rows = [
            (
                Filter { since: time("2026-05-01T12:00:00Z"), ..all() },
                Filter { since: time("2026-05-01T12:00:01Z"), ..all() },
            ),
            (
                Filter { until: time("2026-05-01T12:00:01Z"), ..all() },
                Filter { until: time("2026-05-01T12:00:00Z"), ..all() },
            ),
            (
                Filter { outcome: Some(DecisionOutcome::Allow), ..all() },
                Filter { outcome: Some(DecisionOutcome::Refuse), ..all() },
            ),
            (
                Filter { peer: text("spiffe://example/agent-server"), ..all() },
                Filter { peer: text("spiffe://example/agent"), ..all() },
            ),
            (
                Filter { holder: text("https://agent.example/#a"), ..all() },
                Filter { holder: text("https://alice.example/#me"), ..all() },
            ),
            (
                Filter { root: text("https://alice.example/#me"), ..all() },
                Filter { root: text("https://agent.example/#a"), ..all() },
            ),
            (
                Filter { target: text("https://alice.example/notes/1"), ..all() },
                Filter { target: text("https://alice.example/notes/"), ..all() },
            ),
            (Filter { context: text("c-1"), ..all() }, Filter { context: text("c-2"), ..all() }),
        ];
        let row = decision(|_, _| {});
        for (met, unmet) in rows {
            assert!(met.matches(&row), "{met:?}");
            assert!(!unmet.matches(&row), "{unmet:?}");
        }
        let expired = Filter { reason: Some(Reason::Expired), ..all() };
        assert!(!expired.matches(&row));
        assert!(expired.matches(&decision(|body, _| body.reason = Some(Reason::Expired))));
        assert!(expired.matches(&decision(|_, envelope| envelope.reason = Some(Reason::Expired))));
    }

    #[test]
    fn the_time_of_recording_counts_and_an_unreadable_one_is_not_left_out() {
        let may = Filter { until: Some("2026-06-01T00:00:00Z".parse().unwrap()), ..Filter::default() };
        let recorded = |text: &str| decision(|_, envelope| envelope.recorded = Some(text.to_owned()));
        assert!(!may.matches(&recorded("2026-06-01T00:00:00.000000Z")));
        assert!(may.matches(&recorded("2026-05-31T23:59:59.999999Z")));
        assert!(may.matches(&recorded("yesterday")));
    }

    /// What was not ours is no refusal, although it is counted beside them; and a peer is not hidden by its number.
    #[test]
    fn counted_decisions_are_found_by_their_outcome_and_where_nobody_was_told_apart() {
        let counted = |peer: &str, reason| {
            event(Event::Refusals {
                minute: "2026-05-01T12:00:00Z".to_owned(),
                refusals: vec![RefusalTally { peer: peer.to_owned(), reason, refusals: 3 }],
            })
        };
        let rows = [counted("p", None), counted(RefusalTally::OTHERS, Some(Reason::Expired))];
        let all = || Filter { events: true, ..Filter::default() };
        let found = |filter: Filter| rows.each_ref().map(|row| u8::from(filter.matches(row)));
        assert_eq!(found(all()), [1, 1]);
        assert_eq!(found(Filter { outcome: Some(DecisionOutcome::NotOurs), ..all() }), [1, 0]);
        assert_eq!(found(Filter { outcome: Some(DecisionOutcome::Refuse), ..all() }), [0, 1]);
        assert_eq!(found(Filter { peer: Some("p".to_owned()), ..all() }), [1, 1]);
        assert_eq!(found(Filter { peer: Some("q".to_owned()), ..all() }), [0, 1]);
    }

    #[test]
    fn events_are_read_when_they_are_asked_for() {
        let revoked = event(Event::Revoked { ids: 1, policies: 0, entries: 0, names: Vec::new() });
        let forgotten = event(Event::Forgotten { peer: "p".to_owned(), exchanges: 1 });
        let refusals = event(Event::Refusals {
            minute: "2026-05-01T12:00:00Z".to_owned(),
            refusals: vec![RefusalTally { peer: "p".to_owned(), reason: Some(Reason::Expired), refusals: 3 }],
        });
        let negotiated = event(Event::Negotiated {
            role: "agent".to_owned(),
            peer: "p".to_owned(),
            context: Some("c-1".to_owned()),
            protocol_hash: "sha256:0".to_owned(),
            before: None,
            after: None,
        });
        let text = |value: &str| Some(value.to_owned());
        let all = || Filter { events: true, ..Filter::default() };
        let found = |filter: Filter| {
            [&revoked, &forgotten, &refusals, &negotiated].map(|row| u8::from(filter.matches(row)))
        };
        assert_eq!(found(Filter::default()), [0, 0, 0, 0]);
        assert_eq!(found(all()), [1, 1, 1, 1]);
        assert_eq!(found(Filter { peer: text("p"), ..all() }), [0, 1, 1, 1]);
        assert_eq!(found(Filter { peer: text("q"), ..all() }), [0, 0, 0, 0]);
        assert_eq!(found(Filter { context: text("c-1"), ..all() }), [0, 0, 0, 1]);
        assert_eq!(found(Filter { reason: Some(Reason::Expired), ..all() }), [0, 0, 1, 0]);
        assert_eq!(found(Filter { reason: Some(Reason::Revoked), ..all() }), [0, 0, 0, 0]);
        assert_eq!(found(Filter { outcome: Some(DecisionOutcome::Refuse), ..all() }), [0, 0, 1, 0]);
        for outcome in [DecisionOutcome::Allow, DecisionOutcome::NotOurs] {
            assert_eq!(found(Filter { outcome: Some(outcome), ..all() }), [0, 0, 0, 0]);
        }
        assert_eq!(found(Filter { holder: text("p"), ..all() }), [0, 0, 0, 0]);
        assert_eq!(
            found(Filter { since: Some("2026-05-02T00:00:00Z".parse().unwrap()), ..all() }),
            [0, 0, 0, 0]
        );
    }
}
