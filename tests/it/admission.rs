//! Stage 10 through `Engine::decide`: at most once, durable before the answer, and an error always refuses.

use crate::support::{self, TestClock, assert_allowed, engine_on, grant, noon, octets, refused, world};
use chrono::TimeDelta;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use writgate::ledger::{Ledger, Revoked, RevokedPolicy, SqliteLedger};
use writgate::protocol::ProtocolHash;
use writgate::protocol::conversation::{ConversationKey, Exchange};
use writgate::worked_example::{ALICE, Ask, DOMAIN, MANDATE_POLICY};
use writgate::{CallerFacts, Decision, Engine, Instant, Obligation, Reason};

/// A ledger file of its own for each test, removed at its end.
struct LedgerFile(PathBuf);

impl LedgerFile {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("writgate-test-{}-{name}.db", std::process::id()));
        let file = Self(path);
        file.remove();
        file
    }

    fn create_first(&self) -> Arc<dyn Ledger> {
        Arc::new(SqliteLedger::create(&self.0, DOMAIN, true, noon(), TimeDelta::seconds(60)).unwrap())
    }

    fn open(&self) -> Arc<dyn Ledger> {
        Arc::new(SqliteLedger::open(&self.0, DOMAIN, TimeDelta::seconds(60)).unwrap())
    }

    fn remove(&self) {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{ending}", self.0.display()));
        }
    }
}

impl Drop for LedgerFile {
    fn drop(&mut self) {
        self.remove();
    }
}

fn decide(engine: &Engine, ask: &writgate::worked_example::Ask) -> writgate::Decided {
    let mut facts = world().facts();
    facts.challenge = Some(ask.nonce.clone());
    engine.decide(octets(&ask.message().unwrap()), facts)
}

#[test]
fn a_replayed_message_is_refused_with_the_first_decisions_id() {
    let engine = support::engine();
    let first = decide(&engine, &grant());
    assert_allowed(&first);
    let second = decide(&engine, &grant());
    let refusal = refused(&second);
    assert_eq!(refusal.reason(), Reason::DuplicateMessage);
    assert_eq!(refusal.earlier_decision().unwrap().id(), first.report.envelope.decision_id);
    let public = serde_json::to_string(&refusal.public()).unwrap();
    assert!(
        !public.contains(&first.report.envelope.decision_id),
        "the peer learns nothing of the first: {public}"
    );
}

/// Threat 15: whose the earlier answer is.
#[test]
fn an_earlier_answer_is_for_the_transport_identity_that_got_it() {
    let engine = support::engine();
    let from = |peer: &str| {
        let ask = grant();
        let facts = CallerFacts { peer: peer.into(), challenge: Some(ask.nonce.clone()), ..world().facts() };
        engine.decide(octets(&ask.message().unwrap()), facts)
    };
    assert_allowed(&from("spiffe://alice.example/first"));
    for (peer, may_be_repeated) in
        [("spiffe://alice.example/first", true), ("spiffe://mallory.example/thief", false), ("", false)]
    {
        let decided = from(peer);
        let refusal = refused(&decided);
        assert_eq!(refusal.reason(), Reason::DuplicateMessage, "a duplicate is never a permit, whoever asks");
        let earlier = refusal.earlier_decision().unwrap();
        assert_eq!(earlier.was_to_this_peer(), may_be_repeated, "{peer}");
        let leaves = serde_json::to_string(&refusal.public()).unwrap();
        assert_eq!(leaves, r#"{"error":"authorization-failed","reason":"DUPLICATE_MESSAGE"}"#, "{peer}");
    }
}

/// Threat 15: nobody was authenticated then, and nobody is now. That is not the same somebody.
#[test]
fn nobodys_earlier_answer_is_nobodys() {
    let engine = support::engine();
    let decide = || {
        let ask = grant();
        let facts = CallerFacts { peer: "".into(), challenge: Some(ask.nonce.clone()), ..world().facts() };
        engine.decide(octets(&ask.message().unwrap()), facts)
    };
    assert_allowed(&decide());
    assert!(!refused(&decide()).earlier_decision().unwrap().was_to_this_peer());
}

#[test]
fn the_same_id_with_other_content_is_refused() {
    let engine = support::engine();
    assert_allowed(&decide(&engine, &grant()));
    let mut other = support::read();
    other.nonce = "another-nonce-0123456789".to_owned();
    let decided = decide(&engine, &other);
    assert_eq!(refused(&decided).reason(), Reason::MessageIdReused);
}

#[test]
fn the_same_presentation_with_another_id_is_refused() {
    let engine = support::engine();
    let first = grant();
    assert_allowed(&decide(&engine, &first));
    let presentation = first.presentation().unwrap();
    let mut second = first.clone();
    second.id = "msg-2".to_owned();
    let message = second.with_presentation(Some(presentation.clone()));
    let decided = engine.decide(octets(&message), world().facts());
    assert_eq!(refused(&decided).reason(), Reason::ChallengeUsed);
    // Nor under another context.
    second.id = first.id;
    second.context = Some("ctx-2".to_owned());
    let mut facts = world().facts();
    facts.context = Some("ctx-2".to_owned());
    let decided = engine.decide(octets(&second.with_presentation(Some(presentation))), facts);
    assert_eq!(refused(&decided).reason(), Reason::ChallengeUsed);
}

/// r and n - s: the other signature over the same octets, for which no secret is needed.
fn twin(presentation: &Value) -> Value {
    let mut twin = presentation.clone();
    let value = presentation["proof"]["proofValue"].as_str().unwrap();
    let octets = bs58::decode(value.strip_prefix('z').unwrap()).into_vec().unwrap();
    let other = if octets.len() == 96 {
        let signature = p384::ecdsa::Signature::from_slice(&octets).unwrap();
        p384::ecdsa::Signature::from_scalars(*signature.r(), -*signature.s()).unwrap().to_vec()
    } else {
        let signature = p256::ecdsa::Signature::from_slice(&octets).unwrap();
        p256::ecdsa::Signature::from_scalars(*signature.r(), -*signature.s()).unwrap().to_vec()
    };
    assert_ne!(octets, other);
    twin["proof"]["proofValue"] = format!("z{}", bs58::encode(other).into_string()).into();
    twin
}

#[test]
fn a_presentation_and_its_ecdsa_twin_get_one_allow() {
    let world = world();
    for (issuer, agent) in world.alice_ec.iter().zip(&world.agent_ec) {
        let mut ask = grant();
        ask.credentials = vec![world.mandate_draft_for(issuer, agent).unwrap().issue().unwrap()];
        ask.key = agent.clone();
        let presentation = ask.presentation().unwrap();
        let mut facts = world.facts();
        facts.actor = writgate::Actor::Authenticated(agent.controller().to_owned());
        let decide = |engine: &Engine, id: &str, presentation: &Value| {
            let ask = Ask { id: id.to_owned(), ..ask.clone() };
            engine.decide(octets(&ask.with_presentation(Some(presentation.clone()))), facts.clone())
        };
        for (first, second) in
            [(&presentation, twin(&presentation)), (&twin(&presentation), presentation.clone())]
        {
            let engine = support::engine();
            assert_allowed(&decide(&engine, "msg-1", first));
            assert_eq!(refused(&decide(&engine, "msg-2", &second)).reason(), Reason::ChallengeUsed);
            let same = decide(&engine, "msg-1", &second);
            assert_eq!(refused(&same).reason(), Reason::MessageIdReused, "other octets under its id");
        }
    }
}

#[test]
fn a_replay_is_refused_after_a_restart() {
    let file = LedgerFile::new("restart");
    let clock = TestClock::at(noon());
    let first = decide(&engine_on(file.create_first(), Arc::clone(&clock)), &grant());
    assert_allowed(&first);
    let second = decide(&engine_on(file.open(), clock), &grant());
    assert_eq!(refused(&second).reason(), Reason::DuplicateMessage);
    assert_eq!(refused(&second).earlier_decision().unwrap().id(), first.report.envelope.decision_id);
}

#[test]
fn a_new_ledger_refuses_presentations_made_before_it() {
    let file = LedgerFile::new("floor");
    let ledger = SqliteLedger::create(&file.0, DOMAIN, false, noon(), TimeDelta::seconds(60)).unwrap();
    let clock = TestClock::at(noon());
    let engine = engine_on(Arc::new(ledger), Arc::clone(&clock));
    assert_eq!(refused(&decide(&engine, &grant())).reason(), Reason::BeforeLedgerFloor);
    let mut later = grant();
    later.created = noon() + TimeDelta::seconds(61);
    clock.set(noon() + TimeDelta::seconds(62));
    assert_allowed(&decide(&engine, &later));
}

#[test]
fn a_clock_that_steps_back_refuses() {
    let file = LedgerFile::new("clock");
    let clock = TestClock::at(noon() + TimeDelta::minutes(2));
    let engine = engine_on(file.create_first(), Arc::clone(&clock));
    assert_allowed(&decide(&engine, &grant()));
    clock.set(noon());
    let mut other = grant();
    other.id = "msg-2".to_owned();
    other.nonce = "another-nonce-0123456789".to_owned();
    let decided = decide(&engine, &other);
    assert_eq!(refused(&decided).reason(), Reason::ClockSteppedBack);
    assert_eq!(refused(&decided).wire_code(), None);
}

#[test]
fn a_ledger_that_cannot_write_refuses() {
    let file = LedgerFile::new("unwritable");
    let ledger = file.create_first();
    // Another process takes the reports away under the engine.
    let connection = rusqlite::Connection::open(&file.0).unwrap();
    connection.execute_batch("DROP TABLE reports").unwrap();
    let decided = decide(&engine_on(ledger, TestClock::at(noon())), &grant());
    assert_eq!(refused(&decided).reason(), Reason::LedgerUnavailable);
    assert_eq!(decided.report.envelope.sequence, 0);
}

#[test]
fn a_duty_that_the_server_does_not_know_refuses() {
    let engine = support::engine();
    let mut ask = grant();
    ask.credentials = vec![world().mandate_with_duty("http://www.w3.org/ns/odrl/2/inform").unwrap()];
    assert_eq!(refused(&decide(&engine, &ask)).reason(), Reason::ObligationUnsupported);
    // Nothing was consumed: the same id and challenge are still good.
    assert_allowed(&decide(&engine, &grant()));
}

#[test]
fn a_known_duty_must_be_accepted_before_the_actions_come_out() {
    let duty = "https://alice.pod.example/duties#log";
    let mut ask = grant();
    ask.credentials = vec![world().mandate_with_duty(duty).unwrap()];
    let decided = decide(&support::engine(), &ask);
    let Decision::Allow(permit) = decided.decision else { panic!("{:#?}", decided.report) };
    let duties = permit.obligations().clone();
    assert_eq!(
        duties.iter().map(|obligation: &Obligation| obligation.action.as_str()).collect::<Vec<_>>(),
        [duty]
    );
    let permit = permit.accept(&Default::default(), noon()).expect_err("no duty was accepted");
    let actions = permit.accept(&duties, noon()).expect("all duties were accepted");
    assert_eq!(actions.len(), 1);
    assert_eq!(actions[0].action, "http://www.w3.org/ns/auth/acl#Control");
}

/// What a server needs to carry a grant out comes with the permit: it reads nothing else of the message.
#[test]
fn a_permitted_grant_says_to_whom_and_which_modes() {
    let decided = decide(&support::engine(), &grant());
    let Decision::Allow(permit) = decided.decision else { panic!("{:#?}", decided.report) };
    assert_eq!(permit.protocol_hash().as_str(), world().protocol_hash("grant-access").unwrap());
    let actions = permit.accept(&Default::default(), noon()).unwrap();
    let stated = |operand: &str| actions[0].stated[operand].clone();
    assert_eq!(stated("recipient"), [format!("<{}>", writgate::worked_example::BOB)]);
    assert_eq!(stated("mode"), ["<http://www.w3.org/ns/auth/acl#Read>"]);
}

#[test]
fn a_permit_is_void_after_its_end() {
    let decided = decide(&support::engine(), &grant());
    let Decision::Allow(permit) = decided.decision else { panic!("{:#?}", decided.report) };
    let late = permit.not_after() + TimeDelta::milliseconds(1);
    assert!(permit.accept(&Default::default(), late).is_err());
}

#[test]
fn refusals_are_recorded_too_and_rows_have_no_gaps() {
    let engine = support::engine();
    let refused_first = engine.decide(writgate::MessageInput::Bytes(b"{".to_vec()), world().facts());
    let allowed = decide(&engine, &grant());
    assert_eq!(refused_first.report.envelope.sequence, 1);
    assert_eq!(allowed.report.envelope.sequence, 2);
}

#[test]
fn racing_threads_get_one_allow() {
    let file = LedgerFile::new("race");
    let engine = engine_on(file.create_first(), TestClock::at(noon()));
    let message = octets(&grant().message().unwrap());
    let facts = world().facts();
    let allowed: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..16)
            .map(|_| {
                let (engine, message, facts) = (engine.clone(), message.clone(), facts.clone());
                scope.spawn(move || {
                    usize::from(matches!(engine.decide(message, facts).decision, Decision::Allow(_)))
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(allowed, 1);
}

/// Decisions under one mandate do not make each other's evaluation stale.
#[test]
fn different_messages_of_one_mandate_are_all_allowed_at_once() {
    let file = LedgerFile::new("crowd");
    let engine = engine_on(file.create_first(), TestClock::at(noon()));
    let asks: Vec<_> = (0..16)
        .map(|n| {
            let mut ask = grant();
            (ask.id, ask.nonce) = (format!("msg-{n}"), format!("a-challenge-of-its-own-{n}"));
            ask
        })
        .collect();
    let start = std::sync::Barrier::new(asks.len());
    std::thread::scope(|scope| {
        for ask in &asks {
            scope.spawn(|| {
                start.wait();
                assert_allowed(&decide(&engine, ask));
            });
        }
    });
}

/// A clock that is ahead for one reading, and right for all others.
#[derive(Debug)]
struct LeapingClock(std::sync::atomic::AtomicUsize);

impl writgate::Clock for LeapingClock {
    fn now(&self) -> writgate::Instant {
        // The first reading is the decision's id, the second its snapshot, the third its admission.
        let ahead = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1;
        noon() + if ahead { TimeDelta::seconds(30) } else { TimeDelta::zero() }
    }
}

#[test]
fn what_begins_only_by_a_clock_that_was_ahead_has_not_begun() {
    let mut draft = world().mandate_draft().unwrap();
    draft.valid_from = Some(noon() + TimeDelta::seconds(20));
    let mut ask = grant();
    ask.credentials = vec![draft.issue().unwrap()];
    let ledger = SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap();
    let clock = Arc::new(LeapingClock(Default::default()));
    let engine = Engine::new(world().config(noon()).unwrap(), Arc::new(ledger), clock).unwrap();
    assert_eq!(refused(&decide(&engine, &ask)).reason(), Reason::NotYetValid);
}

/// A clock at whose third reading, the one of admission, something else has happened and it is later.
struct LateClock {
    readings: std::sync::atomic::AtomicUsize,
    later: TimeDelta,
    meanwhile: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for LateClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LateClock")
    }
}

impl writgate::Clock for LateClock {
    fn now(&self) -> writgate::Instant {
        let reading = self.readings.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if reading == 2 {
            (self.meanwhile)();
        }
        noon() + if reading < 2 { TimeDelta::zero() } else { self.later }
    }
}

/// Why a message is refused that is granted at noon, where it is `later` at admission and `meanwhile` has happened.
#[track_caller]
fn refused_late(
    ask: &writgate::worked_example::Ask,
    ledger: Arc<dyn Ledger>,
    later: TimeDelta,
    meanwhile: impl Fn() + Send + Sync + 'static,
) -> Reason {
    let on_time = engine_on(Arc::new(memory()), TestClock::at(noon()));
    assert_allowed(&decide(&on_time, ask));
    let clock = LateClock { readings: Default::default(), later, meanwhile: Box::new(meanwhile) };
    let engine = Engine::new(world().config(noon()).unwrap(), ledger, Arc::new(clock)).unwrap();
    refused(&decide(&engine, ask)).reason()
}

fn memory() -> SqliteLedger {
    SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap()
}

/// The grant under a mandate whose permission of `acl:Control` says `more`.
fn grant_under(more: &str) -> writgate::worked_example::Ask {
    let mut draft = world().mandate_draft().unwrap();
    let control = "odrl:action     acl:Control ;";
    let policy = draft.policy.replacen(control, &format!("{control} {more}"), 1);
    assert_ne!(policy, draft.policy);
    draft.policy = policy;
    writgate::worked_example::Ask { credentials: vec![draft.issue().unwrap()], ..grant() }
}

#[test]
fn what_ends_between_evaluation_and_admission_is_refused() {
    let late = |ask, later| refused_late(&ask, Arc::new(memory()), TimeDelta::seconds(later), || ());
    let soon = noon() + TimeDelta::seconds(20);

    let mut draft = world().mandate_draft().unwrap();
    draft.valid_until = Some(soon);
    let credential = writgate::worked_example::Ask { credentials: vec![draft.issue().unwrap()], ..grant() };
    assert_eq!(late(credential, 30), Reason::Expired);

    let proof = writgate::worked_example::Ask { expires: Some(soon), ..grant() };
    assert_eq!(late(proof, 30), Reason::Expired);

    assert_eq!(late(grant(), 300), Reason::PresentationTooOld);

    let constraint = "odrl:constraint [ odrl:leftOperand odrl:dateTime ; odrl:operator odrl:lt ;
        odrl:rightOperand \"2026-12-01T12:00:20Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> ] ;";
    assert_eq!(late(grant_under(constraint), 30), Reason::PolicyDenied);
}

#[test]
fn what_is_revoked_between_evaluation_and_admission_is_refused() {
    let mandate = world().mandate().unwrap();
    let statement = RevokedPolicy { publisher: ALICE.to_owned(), policy: MANDATE_POLICY.to_owned() };
    let by_its_assigner = Revoked { policies: [statement].into(), ..Revoked::default() };
    for revoked in
        [revoked_ids(MANDATE_POLICY), revoked_ids(mandate["id"].as_str().unwrap()), by_its_assigner]
    {
        let ledger = Arc::new(memory());
        let (revoking, meanwhile) = (Arc::clone(&ledger), revoked.clone());
        let revoke = move || revoking.mark_revoked(&meanwhile, chrono::Utc::now()).unwrap();
        assert_eq!(refused_late(&grant(), ledger, TimeDelta::zero(), revoke), Reason::Revoked, "{revoked:?}");
    }
}

fn revoked_ids(id: &str) -> Revoked {
    Revoked { ids: [id.to_owned()].into(), ..Revoked::default() }
}

#[test]
fn a_permission_used_up_between_evaluation_and_admission_is_refused() {
    let once = "odrl:constraint [ odrl:leftOperand odrl:count ; odrl:operator odrl:lteq ;
        odrl:rightOperand 1 ] ;";
    let ledger = Arc::new(memory());
    let other = engine_on(Arc::clone(&ledger) as Arc<dyn Ledger>, TestClock::at(noon()));
    let mut first = grant_under(once);
    (first.id, first.nonce) = ("msg-first".to_owned(), "a-challenge-of-its-own-first".to_owned());
    let use_up = move || assert_allowed(&decide(&other, &first));
    let reason = refused_late(&grant_under(once), ledger, TimeDelta::zero(), use_up);
    assert_eq!(reason, Reason::PolicyDenied);
}

/// One nonce is good for one allow, whether it is answered plainly or bound to a message.
#[test]
fn a_nonce_is_consumed_in_either_mode() {
    for (first, second) in [(false, true), (true, false), (true, true)] {
        let engine = support::engine();
        let ask = |bound, id: &str| writgate::worked_example::Ask { bound, id: id.to_owned(), ..grant() };
        assert_allowed(&decide(&engine, &ask(first, "msg-1")));
        let decided = decide(&engine, &ask(second, "msg-2"));
        assert_eq!(refused(&decided).reason(), Reason::ChallengeUsed, "{first} {second}");
    }
}

#[test]
fn engines_on_one_file_share_its_memory() {
    let file = LedgerFile::new("shared");
    let first = engine_on(file.create_first(), TestClock::at(noon()));
    let second = engine_on(file.open(), TestClock::at(noon()));
    assert_allowed(&decide(&first, &grant()));
    assert_eq!(refused(&decide(&second, &grant())).reason(), Reason::DuplicateMessage);
    let mut other = grant();
    other.id = "msg-2".to_owned();
    assert_eq!(refused(&decide(&second, &other)).reason(), Reason::ChallengeUsed);
    other.nonce = "another-nonce-0123456789".to_owned();
    assert_allowed(&decide(&second, &other));
    assert_eq!(refused(&decide(&first, &other)).reason(), Reason::DuplicateMessage);
}

/// What is refused or not ours must be recorded, too.
#[test]
fn a_refusal_that_cannot_be_recorded_says_so() {
    let file = LedgerFile::new("unrecorded");
    let engine = engine_on(file.create_first(), TestClock::at(noon()));
    rusqlite::Connection::open(&file.0).unwrap().execute_batch("DROP TABLE reports").unwrap();
    let prose = serde_json::json!({ "messageId": "m", "contextId": "ctx-1", "role": "ROLE_USER", "parts": [{ "text": "x" }] });
    for message in [writgate::MessageInput::Bytes(b"{".to_vec()), octets(&prose)] {
        let decided = engine.decide(message, world().facts());
        assert_eq!(refused(&decided).reason(), Reason::LedgerUnavailable);
        assert_eq!(decided.report.envelope.sequence, 0);
    }
}

/// What is returned is what was recorded, to the octet.
#[test]
fn the_report_that_is_returned_is_the_row_that_was_written() {
    let file = LedgerFile::new("rows");
    let engine = engine_on(file.create_first(), TestClock::at(noon()));
    let decided = [
        decide(&engine, &grant()),
        decide(&engine, &grant()),
        engine.decide(writgate::MessageInput::Bytes(b"{".to_vec()), world().facts()),
    ];
    let connection = rusqlite::Connection::open(&file.0).unwrap();
    for (row, decided) in (1i64..).zip(&decided) {
        let (text, hash): (String, Vec<u8>) = connection
            .query_row("SELECT report, row_hash FROM reports WHERE sequence = ?1", (row,), |columns| {
                Ok((columns.get(0)?, columns.get(1)?))
            })
            .unwrap();
        let stored: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(stored, serde_json::to_value(&decided.report).unwrap());
        if let Decision::Allow(permit) = &decided.decision {
            let hexadecimal: String = hash.iter().map(|octet| format!("{octet:02x}")).collect();
            assert_eq!(permit.record(), (1, hexadecimal));
        }
    }
}

/// A ledger that panics where it is told to.
#[derive(Debug)]
struct Panicking(SqliteLedger, &'static str);

impl Ledger for Panicking {
    fn domain(&self) -> &str {
        self.0.domain()
    }

    fn snapshot(
        &self,
        of: &ConversationKey,
        now: Instant,
    ) -> Result<writgate::ledger::LedgerSnapshot, writgate::ledger::LedgerError> {
        assert_ne!(self.1, "snapshot");
        self.0.snapshot(of, now)
    }

    fn admit(
        &self,
        candidate: writgate::ledger::Candidate,
    ) -> Result<writgate::ledger::Admission, writgate::ledger::LedgerError> {
        assert_ne!(self.1, "admit");
        self.0.admit(candidate)
    }

    fn record(
        &self,
        entry: writgate::ledger::Entry,
    ) -> Result<Option<writgate::audit::DecisionReportV1>, writgate::ledger::LedgerError> {
        assert_ne!(self.1, "record");
        self.0.record(entry)
    }

    fn negotiate(
        &self,
        of: &ConversationKey,
        hash: &ProtocolHash,
        now: Instant,
        step: writgate::ledger::Step<'_>,
    ) -> Result<writgate::ledger::Negotiated, writgate::ledger::LedgerError> {
        self.0.negotiate(of, hash, now, step)
    }

    fn exchanges(
        &self,
        of: &ConversationKey,
        now: Instant,
    ) -> Result<Vec<(ProtocolHash, Exchange)>, writgate::ledger::LedgerError> {
        self.0.exchanges(of, now)
    }

    fn keep(&self, evidence: &[writgate::audit::Blob]) -> Result<(), writgate::ledger::LedgerError> {
        self.0.keep(evidence)
    }

    fn mark_revoked(
        &self,
        revoked: &writgate::ledger::Revoked,
        now: Instant,
    ) -> Result<(), writgate::ledger::LedgerError> {
        self.0.mark_revoked(revoked, now)
    }

    fn wanted_lists(&self) -> Result<Vec<writgate::ledger::ListKey>, writgate::ledger::LedgerError> {
        self.0.wanted_lists()
    }
}

#[test]
fn a_ledger_that_panics_refuses() {
    for (at, message) in [
        ("snapshot", grant().message().unwrap()),
        ("admit", grant().message().unwrap()),
        ("record", grant().without_presentation()),
    ] {
        let ledger = SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap();
        let engine = engine_on(Arc::new(Panicking(ledger, at)), TestClock::at(noon()));
        let decided = engine.decide(octets(&message), world().facts());
        assert_eq!(refused(&decided).reason(), Reason::LedgerUnavailable, "{at}");
    }
}

#[test]
fn a_ledger_of_another_domain_makes_no_engine() {
    let ledger =
        SqliteLedger::in_memory_first("https://bob.pod.example/agent", TimeDelta::seconds(60)).unwrap();
    let engine = Engine::new(world().config(noon()).unwrap(), Arc::new(ledger), TestClock::at(noon()));
    assert_eq!(engine.unwrap_err().setting, "domains");
}
