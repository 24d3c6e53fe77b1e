//! What every ledger must do. Each property runs on a memory and on a file ledger; what only a file can do is below.

mod model;
pub(super) mod quotas;

use super::sqlite::growth;
use super::{
    Admission, Candidate, Entry, Exercise, Learned, Ledger, LedgerError, ListKey, ListMark, Recorded,
    RestsOn, Revoked, RevokedEntry, RevokedPolicy, Sponsor, SqliteLedger,
};
use crate::audit::{
    DecisionOutcome, DecisionReportV1, EvaluationOutcome, Event, Record, ReportBody, example_body,
};
use crate::decision::Obligation;
use crate::message::Digest;
use crate::protocol::conversation::{ConversationKey, Role};
use crate::refusal::{Reason, Stage, WireCode};
use crate::request::{Conversation, Instant, Peer};
use chrono::TimeDelta;
use quotas::{
    a_list_whose_mark_finds_no_room_cannot_be_relied_on,
    a_mark_that_goes_after_long_reopens_no_list_from_before,
    a_wanted_list_makes_room_for_its_own_sponsors_or_when_nobody_wants_it,
    ten_thousand_fresh_issuers_of_one_delegate_leave_room_for_others,
    the_revocations_of_one_sponsor_are_bounded_and_those_of_others_stay,
    wanted_lists_are_kept_once_and_within_their_quotas,
    what_is_learned_of_others_does_not_depend_on_when_a_flood_comes,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Barrier;

pub(super) const DOMAIN: &str = "https://agent.example/";
pub(super) const SKEW: TimeDelta = TimeDelta::seconds(60);

/// An instant, in seconds after the tests' noon.
pub(super) fn at(seconds: i64) -> Instant {
    let noon = "2026-05-01T12:00:00Z".parse::<Instant>().unwrap();
    noon + TimeDelta::seconds(seconds)
}

/// A candidate that owns what it lends.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) body: ReportBody,
    pub(super) decision_id: String,
    pub(super) now: Instant,
    pub(super) not_after: Instant,
    pub(super) challenge: String,
    pub(super) domain: String,
    pub(super) created: Instant,
    pub(super) exercised: BTreeMap<String, Exercise>,
    pub(super) leans_on: Revoked,
    pub(super) learned: Learned,
    pub(super) conversation: (ConversationKey, Conversation),
    pub(super) obligations: BTreeSet<Obligation>,
}

impl Ask {
    /// A message of its own, with a challenge of its own.
    pub(super) fn new(name: &str) -> Self {
        let body = ReportBody {
            message_id: Some(name.to_owned()),
            message_digest: Digest::of(name),
            ..example_body()
        };
        Self {
            obligations: body.obligations.clone(),
            body,
            decision_id: uuid::Uuid::now_v7().to_string(),
            now: at(100),
            not_after: at(400),
            challenge: format!("challenge of {name}"),
            domain: DOMAIN.to_owned(),
            created: at(90),
            exercised: BTreeMap::new(),
            leans_on: Revoked::default(),
            learned: Learned::default(),
            conversation: (nowhere(), Conversation::default()),
        }
    }

    /// The same, changed, as another decision.
    pub(super) fn but(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut other = Self { decision_id: uuid::Uuid::now_v7().to_string(), ..self.clone() };
        change(&mut other);
        other
    }

    pub(super) fn of(self, ledger: &dyn Ledger) -> Result<Admission, LedgerError> {
        ledger.admit(self.candidate())
    }

    pub(super) fn candidate(self) -> Candidate {
        Candidate {
            masked: None,
            evidence: None,
            decision_id: self.decision_id,
            stage_micros: BTreeMap::from([("admit".to_owned(), 7)]),
            now: self.now,
            not_after: self.not_after,
            context: self.body.context.clone(),
            holder: self.body.holder.clone().unwrap(),
            message_id: self.body.message_id.clone().unwrap(),
            message_digest: self.body.message_digest,
            domain: self.domain,
            challenge: self.challenge,
            presentation_created: self.created,
            exercised: self.exercised,
            leans_on: self.leans_on,
            learned: self.learned,
            rests_on: RestsOn { of: self.conversation.0, conversation: self.conversation.1 },
            obligations: self.obligations,
            body: self.body,
        }
    }
}

/// One exercise, which rests on a count or on none.
pub(super) fn once(rests_on: Option<u64>) -> Exercise {
    Exercise { times: 1, rests_on }
}

pub(super) fn admitted(answer: Result<Admission, LedgerError>) -> (Recorded, DecisionReportV1) {
    match answer {
        Ok(Admission::Admitted(recorded, report)) => (recorded, *report),
        other => panic!("not admitted: {other:?}"),
    }
}

pub(super) fn refused(answer: Result<Admission, LedgerError>) -> (Reason, Option<String>, DecisionReportV1) {
    match answer {
        Ok(Admission::Refused { reason, earlier, report }) => {
            (reason, earlier.map(|earlier| earlier.id().to_owned()), *report)
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn reason(answer: Result<Admission, LedgerError>) -> Reason {
    refused(answer).0
}

pub(super) fn refusal_entry(body: &ReportBody) -> Entry {
    Entry {
        body: body.clone(),
        masked: None,
        evidence: None,
        decision_id: uuid::Uuid::now_v7().to_string(),
        stage_micros: BTreeMap::new(),
        now: at(100),
        admission_refusal: None,
        learned: Learned::default(),
        rests_on: None,
    }
}

/// Where nothing was ever negotiated.
pub(super) fn nowhere() -> ConversationKey {
    ConversationKey { role: Role::Agent, peer: Peer::Unauthenticated, context: None }
}

/// What the operator revoked by id.
pub(super) fn ids(ids: &[&str]) -> Revoked {
    Revoked { ids: ids.iter().map(|id| (*id).to_owned()).collect(), ..Revoked::default() }
}

pub(super) fn policy(publisher: &str, policy: &str) -> RevokedPolicy {
    RevokedPolicy { publisher: publisher.to_owned(), policy: policy.to_owned() }
}

pub(super) fn entry(issuer: &str, list: &str, index: u64) -> RevokedEntry {
    RevokedEntry { issuer: issuer.to_owned(), list: list.to_owned(), index }
}

pub(super) fn list(issuer: &str, url: &str) -> ListKey {
    ListKey { issuer: issuer.to_owned(), url: url.to_owned() }
}

/// One revocation of each kind.
pub(super) fn one_of_each() -> Revoked {
    Revoked {
        policies: [policy("alice", "p")].into(),
        entries: [entry("alice", "l", 7)].into(),
        ..ids(&["q"])
    }
}

/// What relies on list `l` of `alice`, of this validity and content, retrieved then.
pub(super) fn relies_on(valid_from: Option<i64>, content: &str, accepted: i64) -> Learned {
    let mark = ListMark::new(valid_from.map(at), Digest::of(content), at(accepted));
    Learned { lists: [(list("alice", "l"), mark)].into(), ..Learned::default() }
}

fn saw_revoked(entries: impl IntoIterator<Item = RevokedEntry>) -> Learned {
    Learned { revoked: entries.into_iter().collect(), ..Learned::default() }
}

fn wants(lists: impl IntoIterator<Item = ListKey>) -> Learned {
    Learned { wanted: lists.into_iter().collect(), ..Learned::default() }
}

/// Records a refusal that learned this.
pub(super) fn refuse_with(ledger: &SqliteLedger, learned: &Learned) {
    let body = refused_body();
    ledger.record(Entry { learned: learned.clone(), ..refusal_entry(&body) }).unwrap();
}

fn memory(ledger: &SqliteLedger) -> std::sync::Arc<super::StatusMemory> {
    ledger.snapshot(&nowhere(), at(100)).unwrap().memory
}

fn accepted_list(ledger: &SqliteLedger) -> Option<ListMark> {
    memory(ledger).lists.get(&list("alice", "l")).copied()
}

pub(super) fn refused_body() -> ReportBody {
    ReportBody {
        outcome: EvaluationOutcome::Refused,
        stage: Stage::Shape,
        reason: Some(Reason::ShapeViolation),
        wire_code: Some(WireCode::ValidationFailed),
        holder: None,
        ..example_body()
    }
}

/// A folder that goes when the test ends.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("writgate-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.join("ledger.sqlite")
    }

    /// A first ledger in it.
    pub(super) fn ledger(&self) -> SqliteLedger {
        SqliteLedger::create(&self.file(), DOMAIN, true, at(0), SKEW).unwrap()
    }

    pub(super) fn reopened(&self) -> SqliteLedger {
        SqliteLedger::open(&self.file(), DOMAIN, SKEW).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

macro_rules! every_ledger {
    ($( $property:ident; )*) => {
        mod memory {
            use super::*;
            $( #[test] fn $property() { super::$property(&SqliteLedger::in_memory_first(DOMAIN, SKEW).unwrap()); } )*
        }
        mod file {
            use super::*;
            $( #[test] fn $property() { let folder = Folder::new(); super::$property(&folder.ledger()); } )*
        }
    };
}

mod conversations;

every_ledger! {
    one_message_in_64_threads_is_allowed_once;
    one_challenge_in_64_threads_is_allowed_once;
    a_duplicate_names_the_first_decision;
    a_reused_id_is_not_a_duplicate;
    no_context_is_a_key_like_any_other;
    another_context_or_holder_is_another_key;
    octets_after_a_nul_count;
    a_used_challenge_refuses_another_message;
    a_refusal_reserves_nothing;
    a_clock_that_stepped_back_refuses;
    a_refused_decision_raises_the_high_water;
    the_floor_refuses_what_is_not_above_it;
    the_order_of_precedence_holds;
    an_expired_grant_is_stale;
    a_revocation_since_the_snapshot_makes_stale;
    what_is_revoked_is_remembered_by_kind_and_once;
    an_entry_that_was_seen_revoked_stays_so_whatever_the_decision;
    what_a_stale_candidate_learned_is_not_kept;
    a_list_that_was_relied_on_is_kept_with_its_first_retrieval;
    a_newer_list_accepted_meanwhile_makes_stale;
    a_refusal_never_takes_a_list_back;
    wanted_lists_are_kept_once_and_within_their_quotas;
    ten_thousand_fresh_issuers_of_one_delegate_leave_room_for_others;
    a_wanted_list_makes_room_for_its_own_sponsors_or_when_nobody_wants_it;
    the_revocations_of_one_sponsor_are_bounded_and_those_of_others_stay;
    what_is_learned_of_others_does_not_depend_on_when_a_flood_comes;
    a_list_whose_mark_finds_no_room_cannot_be_relied_on;
    a_mark_that_goes_after_long_reopens_no_list_from_before;
    a_moved_count_makes_stale;
    a_moved_count_that_nothing_rests_on_is_counted_and_harmless;
    counts_add_up;
    another_domain_is_not_admitted;
    only_a_grant_is_admitted;
    a_report_of_another_message_is_not_admitted;
    a_grant_is_not_recorded_without_a_refusal;
    a_refusal_by_stage_10_before_the_ledger_is_recorded;
    what_is_not_ours_is_recorded_as_such;
    a_decision_id_is_recorded_once;
    rows_are_chained_without_gaps;
    a_large_shacl_report_is_left_out;
    junk_beyond_the_rate_is_counted_and_none_of_it_is_lost;
    one_peers_junk_leaves_the_reports_of_others;
    every_refusal_of_a_verified_holder_has_a_report;
    a_junk_report_is_small_or_counted;
    a_report_over_the_bound_refuses;
}

fn race(ledger: &SqliteLedger, asks: Vec<Ask>) -> (usize, Vec<Reason>) {
    let start = Barrier::new(asks.len());
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = asks
            .into_iter()
            .map(|ask| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    ask.of(ledger).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let reasons: Vec<_> = answers
        .iter()
        .filter_map(|answer| match answer {
            Admission::Refused { reason, .. } => Some(*reason),
            _ => None,
        })
        .collect();
    (answers.iter().filter(|answer| matches!(answer, Admission::Admitted(..))).count(), reasons)
}

fn one_message_in_64_threads_is_allowed_once(ledger: &SqliteLedger) {
    let ask = Ask::new("m");
    let asks = (0..64).map(|n| ask.but(|ask| ask.challenge = format!("challenge {n}"))).collect();
    assert_eq!(race(ledger, asks), (1, vec![Reason::DuplicateMessage; 63]));
    assert_eq!(ledger.verify_chain().unwrap().0, 64);
}

fn one_challenge_in_64_threads_is_allowed_once(ledger: &SqliteLedger) {
    let asks = (0..64)
        .map(|n| Ask::new(&format!("m{n}")).but(|ask| ask.challenge = "one and the same".into()))
        .collect();
    assert_eq!(race(ledger, asks), (1, vec![Reason::ChallengeUsed; 63]));
    assert_eq!(ledger.verify_chain().unwrap().0, 64);
}

fn a_duplicate_names_the_first_decision(ledger: &SqliteLedger) {
    let ask = Ask::new("m");
    let (_, first) = admitted(ask.clone().of(ledger));
    let (reason, earlier, report) = refused(ask.but(|_| ()).of(ledger));
    assert_eq!(reason, Reason::DuplicateMessage);
    assert_eq!(earlier.as_ref(), Some(&first.envelope.decision_id));
    assert_eq!(report.envelope.earlier_decision, earlier);
    assert_eq!(report.envelope.outcome, DecisionOutcome::Refuse);
    assert_eq!(report.envelope.reason, Some(Reason::DuplicateMessage));
    assert_eq!(report.envelope.wire_code, Some(WireCode::AuthorizationFailed));
}

fn a_reused_id_is_not_a_duplicate(ledger: &SqliteLedger) {
    let ask = Ask::new("m");
    let (_, first) = admitted(ask.clone().of(ledger));
    let other = ask.but(|ask| {
        ask.body.message_digest = Digest::of("other");
        ask.challenge = "fresh".into();
    });
    let (reason, earlier, _) = refused(other.of(ledger));
    assert_eq!((reason, earlier), (Reason::MessageIdReused, Some(first.envelope.decision_id)));
}

fn no_context_is_a_key_like_any_other(ledger: &SqliteLedger) {
    for (n, context) in [None, Some(""), Some("-"), Some("=")].into_iter().enumerate() {
        let ask = Ask::new("m").but(|ask| {
            ask.body.context = context.map(str::to_owned);
            ask.challenge = format!("challenge {n}");
        });
        admitted(ask.clone().of(ledger));
        assert_eq!(
            reason(ask.but(|ask| ask.challenge = "fresh".into()).of(ledger)),
            Reason::DuplicateMessage
        );
    }
}

fn another_context_or_holder_is_another_key(ledger: &SqliteLedger) {
    let ask = Ask::new("m");
    admitted(ask.clone().of(ledger));
    admitted(
        ask.but(|ask| {
            ask.body.context = Some("c-2".into());
            ask.challenge = "second".into();
        })
        .of(ledger),
    );
    // Nobody can burn another agent's ids or challenges.
    admitted(ask.but(|ask| ask.body.holder = Some("https://other.example/#b".into())).of(ledger));
}

fn octets_after_a_nul_count(ledger: &SqliteLedger) {
    for name in ["m", "m\0", "m\0a", "m\0b"] {
        admitted(Ask::new(name).of(ledger));
        assert_eq!(reason(Ask::new(name).of(ledger)), Reason::DuplicateMessage);
    }
}

fn a_used_challenge_refuses_another_message(ledger: &SqliteLedger) {
    let ask = Ask::new("m");
    admitted(ask.clone().of(ledger));
    let other = Ask::new("n").but(|other| {
        other.challenge = ask.challenge.clone();
        other.body.context = None;
    });
    let (reason, earlier, _) = refused(other.of(ledger));
    assert_eq!((reason, earlier), (Reason::ChallengeUsed, None));
}

fn a_refusal_reserves_nothing(ledger: &SqliteLedger) {
    let first = Ask::new("m");
    admitted(first.clone().of(ledger));
    let second = Ask::new("n");
    refused(second.but(|ask| ask.challenge = first.challenge.clone()).of(ledger));
    assert!(ledger.counts(None).unwrap().is_empty());
    refused(
        first
            .but(|ask| {
                ask.challenge = second.challenge.clone();
                ask.exercised.insert("p".into(), once(Some(0)));
            })
            .of(ledger),
    );
    assert!(ledger.counts(None).unwrap().is_empty());
    ledger.record(refusal_entry(&ReportBody { message_id: Some("n".into()), ..refused_body() })).unwrap();
    admitted(second.of(ledger));
}

fn a_clock_that_stepped_back_refuses(ledger: &SqliteLedger) {
    admitted(Ask::new("m").but(|ask| ask.now = at(200)).of(ledger));
    admitted(Ask::new("within the skew").but(|ask| ask.now = at(140)).of(ledger));
    let before = Ask::new("n").but(|ask| ask.now = at(140) - TimeDelta::microseconds(1));
    let (reason, _, report) = refused(before.of(ledger));
    assert_eq!((reason, report.envelope.wire_code), (Reason::ClockSteppedBack, None));
}

fn a_refused_decision_raises_the_high_water(ledger: &SqliteLedger) {
    let body = refused_body();
    ledger.record(Entry { now: at(300), ..refusal_entry(&body) }).unwrap();
    // An instant before it does not lower it again.
    ledger.record(Entry { now: at(10), ..refusal_entry(&body) }).unwrap();
    assert_eq!(reason(Ask::new("m").of(ledger)), Reason::ClockSteppedBack);
    admitted(Ask::new("m").but(|ask| ask.now = at(350)).of(ledger));
    refused(Ask::new("m").but(|ask| ask.now = at(420)).of(ledger));
    assert_eq!(reason(Ask::new("n").but(|ask| ask.now = at(350)).of(ledger)), Reason::ClockSteppedBack);
}

fn the_floor_refuses_what_is_not_above_it(ledger: &SqliteLedger) {
    ledger.raise_floor(at(40)).unwrap();
    let ask = Ask::new("m").but(|ask| ask.created = at(100));
    assert_eq!(reason(ask.clone().of(ledger)), Reason::BeforeLedgerFloor);
    // A lower floor does not lower it.
    ledger.raise_floor(at(0)).unwrap();
    assert_eq!(reason(ask.but(|_| ()).of(ledger)), Reason::BeforeLedgerFloor);
    admitted(ask.but(|ask| ask.created += TimeDelta::microseconds(1)).of(ledger));
}

fn the_order_of_precedence_holds(ledger: &SqliteLedger) {
    let ask = Ask::new("m").but(|ask| ask.now = at(200));
    admitted(ask.clone().of(ledger));
    ledger.mark_revoked(&ids(&["r"]), at(100)).unwrap();
    // Everything is wrong with it at once; one thing after the other is put right.
    let ask = ask.but(|ask| {
        ask.now = at(0);
        ask.created = at(60);
        ask.not_after = at(0);
        ask.leans_on = ids(&["r"]);
    });
    ledger.raise_floor(at(0)).unwrap();
    assert_eq!(reason(ask.but(|_| ()).of(ledger)), Reason::ClockSteppedBack);
    let ask = ask.but(|ask| ask.now = at(200));
    assert_eq!(reason(ask.but(|_| ()).of(ledger)), Reason::BeforeLedgerFloor);
    let ask = ask.but(|ask| ask.created = at(61));
    assert_eq!(reason(ask.but(|_| ()).of(ledger)), Reason::DuplicateMessage);
    let ask = ask.but(|ask| ask.body.message_id = Some("n".into()));
    assert_eq!(reason(ask.but(|_| ()).of(ledger)), Reason::ChallengeUsed);
    let ask = ask.but(|ask| ask.challenge = "fresh".into());
    assert!(matches!(ask.of(ledger), Ok(Admission::Stale)));
}

/// The candidate is stale, that leaves nothing, and `mended` is admitted as row 1.
fn stale_then(ledger: &SqliteLedger, ask: Ask, mended: Ask) {
    assert!(matches!(ask.of(ledger), Ok(Admission::Stale)));
    assert_eq!(admitted(mended.of(ledger)).0.sequence(), 1);
}

fn an_expired_grant_is_stale(ledger: &SqliteLedger) {
    let ask = Ask::new("m");
    stale_then(
        ledger,
        ask.but(|ask| ask.now = ask.not_after + TimeDelta::nanoseconds(1)),
        ask.but(|ask| ask.now = ask.not_after),
    );
}

fn a_revocation_since_the_snapshot_makes_stale(ledger: &SqliteLedger) {
    ledger.mark_revoked(&one_of_each(), at(100)).unwrap();
    let mut leaning = vec![ids(&["p", "q"])];
    leaning.push(Revoked { policies: one_of_each().policies, ..ids(&["p"]) });
    leaning.push(Revoked { entries: one_of_each().entries, ..ids(&["p"]) });
    for leans_on in leaning {
        let answer = Ask::new("m").but(|ask| ask.leans_on = leans_on.clone()).of(ledger);
        assert!(matches!(answer, Ok(Admission::Stale)), "{leans_on:?}");
    }
    // The same policy by another publisher, the same place in another list or of another issuer, another place.
    let beside = Revoked {
        policies: [policy("bob", "p"), policy("alice", "q")].into(),
        entries: [entry("bob", "l", 7), entry("alice", "k", 7), entry("alice", "l", 8)].into(),
        ..ids(&["p", "alice"])
    };
    assert_eq!(admitted(Ask::new("m").but(|ask| ask.leans_on = beside).of(ledger)).0.sequence(), 2);
}

fn what_is_revoked_is_remembered_by_kind_and_once(ledger: &SqliteLedger) {
    assert_eq!(memory(ledger).revoked, Revoked::default());
    ledger.mark_revoked(&one_of_each(), at(100)).unwrap();
    ledger.mark_revoked(&one_of_each(), at(100)).unwrap();
    ledger.mark_revoked(&ids(&["z"]), at(100)).unwrap();
    assert_eq!(memory(ledger).revoked, Revoked { ids: ids(&["q", "z"]).ids, ..one_of_each() });
}

fn an_entry_that_was_seen_revoked_stays_so_whatever_the_decision(ledger: &SqliteLedger) {
    refuse_with(ledger, &saw_revoked([entry("alice", "l", 1)]));
    let seen = |index| saw_revoked([entry("alice", "l", index)]);
    admitted(Ask::new("m").but(|ask| ask.learned = seen(2)).of(ledger));
    refused(Ask::new("m").but(|ask| ask.learned = seen(3)).of(ledger));
    // A later decision that learned nothing takes nothing away.
    refuse_with(ledger, &Learned::default());
    let all: BTreeSet<_> = (1..=3).map(|index| entry("alice", "l", index)).collect();
    assert_eq!(memory(ledger).revoked.entries, all);
}

fn what_a_stale_candidate_learned_is_not_kept(ledger: &SqliteLedger) {
    let ask = Ask::new("m").but(|ask| {
        ask.not_after = at(0);
        ask.learned = saw_revoked([entry("alice", "l", 1)]);
        ask.learned.wanted = [list("alice", "l")].into();
    });
    assert!(matches!(ask.of(ledger), Ok(Admission::Stale)));
    assert_eq!(*memory(ledger), super::StatusMemory::default());
    assert_eq!(ledger.wanted_lists().unwrap(), []);
}

fn a_list_that_was_relied_on_is_kept_with_its_first_retrieval(ledger: &SqliteLedger) {
    let rely = |name: &str, learned: Learned| {
        admitted(Ask::new(name).but(|ask| ask.learned = learned).of(ledger));
        accepted_list(ledger).unwrap()
    };
    let mark =
        |valid_from, content: &str, accepted| ListMark::new(valid_from, Digest::of(content), at(accepted));
    assert_eq!(rely("undated", relies_on(None, "0", 5)), mark(None, "0", 5));
    assert_eq!(rely("first", relies_on(Some(0), "a", 10)), mark(Some(at(0)), "a", 10));
    // An evaluation that knew nothing of the mark, and has the same list from earlier.
    assert_eq!(rely("earlier", relies_on(Some(0), "a", 8)), mark(Some(at(0)), "a", 8));
    assert_eq!(rely("next", relies_on(Some(1), "b", 20)), mark(Some(at(1)), "b", 20));
    // Marks are each list's own.
    let mut others = relies_on(None, "c", 1);
    others.lists = [list("bob", "l"), list("alice", "k")].map(|key| (key, mark(None, "c", 1))).into();
    assert_eq!(rely("others", others), mark(Some(at(1)), "b", 20));
    assert_eq!(memory(ledger).lists.len(), 3);
}

fn a_newer_list_accepted_meanwhile_makes_stale(ledger: &SqliteLedger) {
    refuse_with(ledger, &relies_on(Some(5), "newest", 30));
    let stale =
        [relies_on(Some(4), "older", 40), relies_on(None, "undated", 40), relies_on(Some(5), "newest", 40)];
    for learned in stale {
        let answer = Ask::new("m").but(|ask| ask.learned = learned.clone()).of(ledger);
        assert!(matches!(answer, Ok(Admission::Stale)), "{learned:?}");
    }
    assert_eq!(ledger.verify_chain().unwrap().0, 1);
    admitted(Ask::new("m").but(|ask| ask.learned = relies_on(Some(5), "newest", 30)).of(ledger));
}

fn a_refusal_never_takes_a_list_back(ledger: &SqliteLedger) {
    refuse_with(ledger, &relies_on(Some(5), "newest", 30));
    let newest = accepted_list(ledger);
    for learned in
        [relies_on(Some(4), "older", 40), relies_on(None, "undated", 1), relies_on(Some(5), "newest", 40)]
    {
        refuse_with(ledger, &learned);
        assert_eq!(accepted_list(ledger), newest);
    }
}

fn a_moved_count_makes_stale(ledger: &SqliteLedger) {
    let ask = Ask::new("m").but(|ask| ask.exercised = BTreeMap::from([("p".to_owned(), once(Some(1)))]));
    stale_then(
        ledger,
        ask.clone(),
        ask.but(|ask| ask.exercised = BTreeMap::from([("p".to_owned(), once(Some(0)))])),
    );
    let behind = Ask::new("n").but(|ask| ask.exercised = BTreeMap::from([("p".to_owned(), once(Some(0)))]));
    assert!(matches!(behind.clone().of(ledger), Ok(Admission::Stale)));
    admitted(behind.but(|ask| ask.exercised = BTreeMap::from([("p".to_owned(), once(Some(1)))])).of(ledger));
}

fn a_moved_count_that_nothing_rests_on_is_counted_and_harmless(ledger: &SqliteLedger) {
    let asks = (0..64)
        .map(|n| Ask::new(&format!("m{n}")).but(|ask| ask.exercised = [("p".to_owned(), once(None))].into()))
        .collect();
    assert_eq!(race(ledger, asks), (64, Vec::new()));
    assert_eq!(ledger.counts(None).unwrap(), [("p".to_owned(), 64)].into());
}

fn counts_add_up(ledger: &SqliteLedger) {
    for n in 0..3 {
        let ask = Ask::new(&format!("m{n}")).but(|ask| {
            ask.exercised = BTreeMap::from([("p".to_owned(), once(Some(n))), (format!("q{n}"), once(None))])
        });
        admitted(ask.of(ledger));
    }
    let several = Exercise { times: 5, rests_on: Some(3) };
    admitted(Ask::new("m").but(|ask| ask.exercised = [("p".to_owned(), several)].into()).of(ledger));
    let counts = ledger.counts(None).unwrap();
    let expected = [("p", 8), ("q0", 1), ("q1", 1), ("q2", 1)];
    assert_eq!(counts, expected.map(|(policy, count)| (policy.to_owned(), count)).into());
}

fn nothing_was_written(ledger: &SqliteLedger, answer: Result<Admission, LedgerError>) {
    assert!(matches!(answer, Err(LedgerError::Contradictory(_))), "{answer:?}");
    assert_eq!(ledger.verify_chain().unwrap().0, 0);
}

fn another_domain_is_not_admitted(ledger: &SqliteLedger) {
    assert_eq!(ledger.domain(), DOMAIN);
    let ask = Ask::new("m").but(|ask| ask.domain = "https://other.example/".into());
    nothing_was_written(ledger, ask.of(ledger));
}

fn only_a_grant_is_admitted(ledger: &SqliteLedger) {
    for outcome in [EvaluationOutcome::Refused, EvaluationOutcome::NotOurs] {
        let ask = Ask::new("m").but(|ask| ask.body.outcome = outcome);
        nothing_was_written(ledger, ask.of(ledger));
    }
}

fn a_report_of_another_message_is_not_admitted(ledger: &SqliteLedger) {
    let ask = Ask::new("m");
    let changes: [fn(&mut ReportBody); 5] = [
        |body| body.message_digest = Digest::of("other"),
        |body| body.message_id = Some("other".into()),
        |body| body.context = None,
        |body| body.holder = Some("other".into()),
        |body| body.obligations.clear(),
    ];
    for change in changes {
        let mut candidate = ask.clone().candidate();
        change(&mut candidate.body);
        nothing_was_written(ledger, ledger.admit(candidate));
    }
}

fn a_grant_is_not_recorded_without_a_refusal(ledger: &SqliteLedger) {
    let granted = example_body();
    let refused = refused_body();
    let contradictions = [
        refusal_entry(&granted),
        Entry { admission_refusal: Some(Reason::ObligationUnsupported), ..refusal_entry(&refused) },
    ];
    for entry in contradictions {
        assert!(matches!(ledger.record(entry), Err(LedgerError::Contradictory(_))));
    }
    assert_eq!(ledger.verify_chain().unwrap().0, 0);
}

fn a_refusal_by_stage_10_before_the_ledger_is_recorded(ledger: &SqliteLedger) {
    let granted = example_body();
    let entry = Entry { admission_refusal: Some(Reason::ObligationUnsupported), ..refusal_entry(&granted) };
    let report = ledger.record(entry).unwrap().unwrap();
    assert_eq!(report.envelope.outcome, DecisionOutcome::Refuse);
    assert_eq!(report.envelope.reason, Some(Reason::ObligationUnsupported));
    assert_eq!(report.envelope.wire_code, Some(WireCode::AuthorizationFailed));
    assert_eq!(report.body, granted);
}

fn what_is_not_ours_is_recorded_as_such(ledger: &SqliteLedger) {
    let body = ReportBody { outcome: EvaluationOutcome::NotOurs, stage: Stage::Admit, ..example_body() };
    let report = ledger.record(refusal_entry(&body)).unwrap().unwrap();
    assert_eq!((report.envelope.outcome, report.envelope.reason), (DecisionOutcome::NotOurs, None));
}

fn a_decision_id_is_recorded_once(ledger: &SqliteLedger) {
    let first = Ask::new("m");
    admitted(first.clone().of(ledger));
    let second = Ask { decision_id: first.decision_id, ..Ask::new("n") };
    assert!(matches!(second.clone().of(ledger), Err(LedgerError::Store(_))));
    assert_eq!(admitted(second.but(|_| ()).of(ledger)).0.sequence(), 2);
}

fn rows_are_chained_without_gaps(ledger: &SqliteLedger) {
    let body = refused_body();
    let (first, report) = admitted(Ask::new("m").of(ledger));
    assert_eq!((first.sequence(), report.envelope.sequence), (1, 1));
    assert_eq!(report.envelope.outcome, DecisionOutcome::Allow);
    assert_eq!(ledger.verify_chain().unwrap(), (1, first.row_hash()));
    assert_eq!(ledger.record(refusal_entry(&body)).unwrap().unwrap().envelope.sequence, 2);
    assert_eq!(refused(Ask::new("m").of(ledger)).2.envelope.sequence, 3);
    let (last, _) = admitted(Ask::new("n").of(ledger));
    assert_eq!(ledger.verify_chain().unwrap(), (4, last.row_hash()));
}

fn a_large_shacl_report_is_left_out(ledger: &SqliteLedger) {
    let large = "x".repeat(super::MAX_BODY_BYTES);
    let body = ReportBody { shacl_report: Some(large), ..refused_body() };
    let report = ledger.record(refusal_entry(&body)).unwrap().unwrap();
    assert_eq!(report.body, refused_body());
    assert_eq!(report.envelope.redacted, ["/body/shaclReport"]);
    ledger.verify_chain().unwrap();
}

fn a_report_over_the_bound_refuses(ledger: &SqliteLedger) {
    let ask = Ask::new("m").but(|ask| ask.body.peer = "x".repeat(super::MAX_BODY_BYTES));
    assert!(matches!(ask.of(ledger), Err(LedgerError::ReportTooLarge(_))));
    assert_eq!(ledger.verify_chain().unwrap().0, 0);
}

pub(super) fn junk(peer: &str, reason: Option<Reason>) -> ReportBody {
    let outcome = if reason.is_some() { EvaluationOutcome::Refused } else { EvaluationOutcome::NotOurs };
    ReportBody { peer: peer.to_owned(), reason, outcome, ..refused_body() }
}

/// Records a refusal at so many seconds, and says whether it has a row.
fn has_row(ledger: &SqliteLedger, body: &ReportBody, seconds: i64) -> bool {
    let report = ledger.record(Entry { now: at(seconds), ..refusal_entry(body) }).unwrap().unwrap();
    let envelope = &report.envelope;
    assert_eq!(envelope.sequence == 0, envelope.counted_since.is_some());
    assert_eq!(envelope.sequence == 0, envelope.recorded.is_none());
    envelope.sequence > 0
}

fn junk_beyond_the_rate_is_counted_and_none_of_it_is_lost(ledger: &SqliteLedger) {
    let most = growth::Kind::Junk.of_one().times;
    let recorded = (0..most + 30).filter(|_| has_row(ledger, &junk("p", Some(Reason::UnknownProtocol)), 120));
    let recorded = u64::try_from(recorded.count()).unwrap();
    assert!((1..=most).contains(&recorded));
    // Prose from a peer that said too much is counted as well, and so is whoever is not authenticated.
    assert!(!has_row(ledger, &junk("p", None), 121));
    let rows = ledger.verify_chain().unwrap().0;
    assert_eq!(rows, recorded);
    // A clock that steps back opens no minute anew; the first row of the next minute comes after that of the counts.
    assert!(!has_row(ledger, &junk("p", None), 60));
    let (allowed, _) = admitted(Ask::new("m").but(|ask| ask.now = at(180)).of(ledger));
    assert_eq!(allowed.sequence(), rows + 2);
    assert!(has_row(ledger, &junk("p", None), 181));
    assert_eq!(
        tallies(ledger),
        [("p", None, 2), ("p", Some(Reason::UnknownProtocol), most + 30 - recorded)]
            .map(|(peer, reason, refusals)| (at(120), peer.to_owned(), reason, refusals))
    );
    ledger.verify_chain().unwrap();
}

/// What the chain says was counted: the minute, the peer, the reason, the number.
pub(super) fn tallies(ledger: &SqliteLedger) -> Vec<(Instant, String, Option<Reason>, u64)> {
    let mut found = Vec::new();
    for record in ledger.records() {
        let Record::Event(event) = record else { continue };
        let Event::Refusals { minute, refusals } = event.event else { continue };
        let minute: Instant = minute.parse().unwrap();
        found.extend(refusals.into_iter().map(|tally| (minute, tally.peer, tally.reason, tally.refusals)));
    }
    found
}

fn one_peers_junk_leaves_the_reports_of_others(ledger: &SqliteLedger) {
    for _ in 0..300 {
        has_row(ledger, &junk("flood", Some(Reason::UnknownProtocol)), 120);
    }
    assert!(!has_row(ledger, &junk("flood", Some(Reason::UnknownProtocol)), 120));
    assert!(has_row(ledger, &junk("p", Some(Reason::UnknownProtocol)), 120));
    assert!(has_row(ledger, &junk("", Some(Reason::UnknownProtocol)), 120));
}

fn every_refusal_of_a_verified_holder_has_a_report(ledger: &SqliteLedger) {
    let body = ReportBody { holder: Some("https://agent.example/#a".into()), ..refused_body() };
    assert!((0..300).all(|_| has_row(ledger, &body, 120)));
    admitted(Ask::new("m").of(ledger));
    for _ in 0..300 {
        assert!(refused(Ask::new("m").of(ledger)).2.envelope.sequence > 0);
    }
}

fn a_junk_report_is_small_or_counted(ledger: &SqliteLedger) {
    let large = "x".repeat(growth::JUNK_BODY_BYTES);
    let body = ReportBody { shacl_report: Some(large.clone()), ..refused_body() };
    let report = ledger.record(refusal_entry(&body)).unwrap().unwrap();
    assert_eq!((&report.body, report.envelope.sequence), (&refused_body(), 1));
    assert_eq!(report.envelope.redacted, ["/body/shaclReport"]);
    let body = ReportBody { unjudged_nodes: vec![large.clone()], ..refused_body() };
    assert!(!has_row(ledger, &body, 100));
    // Of somebody who is known it may be large.
    let body = ReportBody { holder: Some("h".into()), shacl_report: Some(large), ..body };
    assert!(has_row(ledger, &body, 100));
}
