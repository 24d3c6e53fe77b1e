//! Challenges that the engine issues (threat 37): known again by a secret alone, good for one caller, once.

use crate::support::{
    self, TestClock, assert_allowed, assert_granted, grant, noon, octets, read, refusal, refused, world,
};
use chrono::TimeDelta;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use writgate::audit::Consulted;
use writgate::credential::{
    ChallengeError, ChallengeIssuer, IssuedChallenges, IssuedVerdict, JudgedChallenge,
};
use writgate::ledger::{Ledger, SqliteLedger};
use writgate::worked_example::{Ask, DOMAIN};
use writgate::{
    Actor, CallerFacts, Clock, ConfigBuilder, Decided, Engine, Evaluation, Instant, Peer, Reason, Request,
    RootPrincipals, Stage, WireCode,
};

const SECRET: &[u8; 32] = b"a secret of the tests, 32 octets";
const OTHER_SECRET: &[u8; 32] = b"another secret,      32 octets, ";

fn issuer() -> ChallengeIssuer {
    ChallengeIssuer::new(SECRET)
}

/// The example's engine, which issues challenges.
fn engine() -> Engine {
    support::engine().with_challenges(issuer())
}

fn engine_at(clock: Arc<dyn Clock>, ledger: Arc<dyn Ledger>, issuer: ChallengeIssuer) -> Engine {
    Engine::new(world().config(noon()).unwrap(), ledger, clock).unwrap().with_challenges(issuer)
}

fn memory() -> Arc<dyn Ledger> {
    Arc::new(SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap())
}

/// The example's caller, of whom the server kept no challenge.
fn caller() -> CallerFacts {
    let mut facts = world().facts();
    facts.challenge = None;
    facts
}

fn with(change: impl FnOnce(&mut CallerFacts)) -> CallerFacts {
    let mut facts = caller();
    change(&mut facts);
    facts
}

/// The grant, answering this challenge.
fn answering(token: &str) -> Ask {
    Ask { nonce: token.to_owned(), ..grant() }
}

fn decide(engine: &Engine, ask: &Ask, facts: CallerFacts) -> Decided {
    engine.decide(octets(&ask.message().unwrap()), facts)
}

fn evaluate_at(engine: &Engine, ask: &Ask, facts: CallerFacts, instant: Instant) -> Evaluation {
    let snapshot = engine.snapshot(&facts, instant).unwrap();
    engine.evaluate(&Request { message: octets(&ask.message().unwrap()), facts, snapshot })
}

fn evaluate(engine: &Engine, ask: &Ask, facts: CallerFacts) -> Evaluation {
    evaluate_at(engine, ask, facts, noon())
}

#[track_caller]
fn reason(engine: &Engine, ask: &Ask, facts: CallerFacts) -> Reason {
    support::reason(evaluate(engine, ask, facts))
}

#[test]
fn a_plain_issued_challenge_is_good_for_one_allow() {
    let engine = engine();
    let token = engine.issue_challenge(&caller()).unwrap();
    assert!(token.starts_with("wgi1.") && token.len() == 80, "{token}");
    let decided = decide(&engine, &answering(&token), caller());
    assert_allowed(&decided);
    assert!(decided.report.body.marks.contains("unbound"));
    let again = Ask { id: "msg-2".to_owned(), ..answering(&token) };
    assert_eq!(refused(&decide(&engine, &again, caller())).reason(), Reason::ChallengeUsed);
    let intent = Ask { id: "msg-3".to_owned(), nonce: token, ..read() };
    assert_eq!(refused(&decide(&engine, &intent, caller())).reason(), Reason::ChallengeUsed);
}

/// A server may also keep what it gave out to whom, and say so.
#[test]
fn a_server_may_say_which_issued_challenge_it_expects() {
    let engine = engine();
    let [first, second] = [(); 2].map(|()| engine.issue_challenge(&caller()).unwrap());
    let expecting = |token: &str| with(|facts| facts.challenge = Some(token.to_owned()));
    assert_granted(&evaluate(&engine, &answering(&first), expecting(&first)));
    assert_eq!(reason(&engine, &answering(&first), expecting(&second)), Reason::ChallengeMismatch);
    // A value of its own takes an issued one's place, and an empty one is none.
    let own = "n-9f2c41d07ab35e68";
    assert_eq!(reason(&engine, &answering(&first), expecting(own)), Reason::ChallengeMismatch);
    assert_granted(&evaluate(&engine, &answering(own), expecting(own)));
    // It does not speak for itself: unsaid, it is not expected.
    assert_eq!(reason(&engine, &answering(own), caller()), Reason::ChallengeUnknown);
    assert_eq!(reason(&engine, &answering(&first), expecting("")), Reason::ChallengeUnknown);
}

#[test]
fn a_bound_challenge_stands_over_an_issued_one() {
    let engine = engine();
    let token = engine.issue_challenge(&caller()).unwrap();
    let bound = Ask { bound: true, ..answering(&token) };
    let expecting = || with(|facts| facts.challenge = Some(token.clone()));
    // The digest does not say of which challenge it was made.
    assert_eq!(reason(&engine, &bound, caller()), Reason::ChallengeUnknown);
    let decided = decide(&engine, &bound, expecting());
    assert_allowed(&decided);
    assert!(!decided.report.body.marks.contains("unbound"));
    // Bound or not, the one challenge is used.
    let plain = Ask { id: "msg-2".to_owned(), ..answering(&token) };
    assert_eq!(refused(&decide(&engine, &plain, expecting())).reason(), Reason::ChallengeUsed);
    let other = Ask { id: "msg-3".to_owned(), ..bound };
    assert_eq!(refused(&decide(&engine, &other, expecting())).reason(), Reason::ChallengeUsed);
}

#[test]
fn only_the_caller_it_was_issued_to_answers_it() {
    let engine = engine();
    let agent = || Actor::Authenticated(world().agent_id());
    let callers = [
        ("the caller", caller()),
        ("another peer", with(|facts| facts.peer = "another-connection".into())),
        ("nobody known", with(|facts| facts.peer = Peer::Unauthenticated)),
        ("a peer without a name", with(|facts| facts.peer = Peer::Authenticated(String::new()))),
        ("no actor", with(|facts| facts.actor = Actor::Unauthenticated)),
        ("an actor without a name", with(|facts| facts.actor = Actor::Authenticated(String::new()))),
        (
            "another actor",
            with(|facts| facts.actor = Actor::Authenticated("https://eve.example/".to_owned())),
        ),
        ("no context", with(|facts| facts.context = None)),
        ("an empty context", with(|facts| facts.context = Some(String::new()))),
        ("another context", with(|facts| facts.context = Some("ctx-2".to_owned()))),
        (
            "peer and context swapped",
            with(|facts| {
                facts.peer = "ctx-1".into();
                facts.context = Some("agent-connection".to_owned());
            }),
        ),
    ];
    for (name, to) in &callers {
        let token = engine.issue_challenge(to).unwrap();
        for (other, by) in &callers {
            // Message and context must agree (stage 1) for the presentation to be looked at.
            let ask = Ask { context: by.context.clone(), ..answering(&token) };
            let evaluation = evaluate(&engine, &ask, by.clone());
            let judged = evaluation.consulted.challenge.as_ref().map(|judged| judged.verdict);
            let genuine = matches!(judged, Some(IssuedVerdict::Genuine { .. }));
            assert_eq!(genuine, name == other, "issued to {name}, presented by {other}: {judged:?}");
            if name == other && [agent(), Actor::Unauthenticated].contains(&by.actor) {
                assert_granted(&evaluation);
            } else if name == other {
                assert_eq!(support::reason(evaluation), Reason::HolderUnverified, "{name}");
            } else {
                let refusal = refusal(evaluation);
                assert_eq!(refusal.reason(), Reason::ChallengeContextMismatch, "{name}, {other}");
                assert_eq!(refusal.stage(), Stage::Presentation);
            }
        }
    }
}

#[test]
fn a_challenge_for_another_domain_is_refused() {
    let other = "https://other.example/agent";
    let mut roots = RootPrincipals::default();
    roots.add("https://other.example/", "https://other.example/#me").unwrap();
    let ledger = SqliteLedger::in_memory_first(other, TimeDelta::seconds(60)).unwrap();
    let elsewhere = Engine::new(
        ConfigBuilder::new(other, roots).build().unwrap(),
        Arc::new(ledger),
        TestClock::at(noon()),
    );
    let elsewhere = elsewhere.unwrap().with_challenges(issuer());
    let token = elsewhere.issue_challenge(&caller()).unwrap();
    for domain in [None, Some(DOMAIN), Some(other)] {
        let facts = with(|facts| facts.domain = domain.map(str::to_owned));
        assert_eq!(reason(&engine(), &answering(&token), facts), Reason::ChallengeContextMismatch);
    }
    let facts = with(|facts| facts.domain = Some(other.to_owned()));
    assert_eq!(engine().issue_challenge(&facts), Err(ChallengeError::UnknownDomain));
    // Named or not, this server's own is the same.
    let named = with(|facts| facts.domain = Some(DOMAIN.to_owned()));
    let engine = engine();
    let (by_name, by_default) =
        (engine.issue_challenge(&named).unwrap(), engine.issue_challenge(&caller()).unwrap());
    assert_granted(&evaluate(&engine, &answering(&by_name), caller()));
    assert_granted(&evaluate(&engine, &answering(&by_default), named));
}

#[test]
fn nobody_burns_a_challenge_of_another() {
    let engine = engine();
    let token = engine.issue_challenge(&caller()).unwrap();
    // A peer that has read the challenge presents it: with the victim's own message, and with one of its own.
    let thief = || with(|facts| facts.peer = "thief-connection".into());
    assert_eq!(
        refused(&decide(&engine, &answering(&token), thief())).reason(),
        Reason::ChallengeContextMismatch
    );
    let mut own = Ask { id: "thief-1".to_owned(), ..answering(&token) };
    own.key = world().mallory.clone();
    let as_itself = || {
        with(|facts| {
            facts.peer = "thief-connection".into();
            facts.actor = Actor::Authenticated(world().mallory.did_key());
        })
    };
    assert_eq!(refused(&decide(&engine, &own, as_itself())).reason(), Reason::ChallengeContextMismatch);
    // Even in the victim's own connection it burns nothing: a refusal consumes nothing.
    assert_eq!(refused(&decide(&engine, &own, caller())).reason(), Reason::HolderUnverified);
    assert_allowed(&decide(&engine, &answering(&token), caller()));
}

#[test]
fn a_challenge_ends_after_its_last_instant() {
    let clock = TestClock::at(noon());
    let engine = engine_at(clock, memory(), issuer().with_life(TimeDelta::seconds(20)).unwrap());
    let token = engine.issue_challenge(&caller()).unwrap();
    let end = noon() + TimeDelta::seconds(20);
    let at_end = evaluate_at(&engine, &answering(&token), caller(), end);
    assert_granted(&at_end);
    let writgate::Outcome::Granted(granted) = at_end.outcome else { panic!() };
    assert_eq!(granted.not_after(), end, "the challenge is what ends first");
    let late = end + TimeDelta::milliseconds(1);
    for facts in [caller(), with(|facts| facts.challenge = Some(token.clone()))] {
        let refusal = refusal(evaluate_at(&engine, &answering(&token), facts, late));
        assert_eq!((refusal.reason(), refusal.stage()), (Reason::ChallengeExpired, Stage::Presentation));
        assert_eq!(refusal.evidence().expected.as_deref(), Some("until 2026-12-01T12:00:20.000Z"));
    }
    // Whoever it was issued to: that it has ended is said first.
    let other = with(|facts| facts.peer = "another-connection".into());
    let refusal = refusal(evaluate_at(&engine, &answering(&token), other, late));
    assert_eq!(refusal.reason(), Reason::ChallengeExpired);
}

/// A clock that reads `later` from its third reading on: the decision's id, its snapshot, its admission.
#[derive(Debug)]
struct LateClock(AtomicUsize, TimeDelta);

impl Clock for LateClock {
    fn now(&self) -> Instant {
        let late = self.0.fetch_add(1, Ordering::SeqCst) >= 2;
        noon() + if late { self.1 } else { TimeDelta::zero() }
    }
}

#[test]
fn a_challenge_that_ends_between_evaluation_and_commit_is_refused() {
    let short = || issuer().with_life(TimeDelta::seconds(20)).unwrap();
    let token = engine_at(TestClock::at(noon()), memory(), short()).issue_challenge(&caller()).unwrap();
    for bound in [false, true] {
        let ask = Ask { bound, ..answering(&token) };
        let facts = || with(|facts| facts.challenge = Some(token.clone()));
        let decide_at = |seconds| {
            let clock = Arc::new(LateClock(AtomicUsize::new(0), TimeDelta::seconds(seconds)));
            decide(&engine_at(clock, memory(), short()), &ask, facts())
        };
        assert_allowed(&decide_at(20));
        let decided = decide_at(21);
        let refusal = refused(&decided);
        assert_eq!((refusal.reason(), refusal.stage()), (Reason::ChallengeExpired, Stage::Presentation));
    }
}

#[test]
fn a_peer_learns_the_wire_code_alone() {
    let (engine, clock) = (engine(), noon() + TimeDelta::minutes(6));
    let token = engine.issue_challenge(&caller()).unwrap();
    let late = Ask { created: clock, ..answering(&token) };
    let other = with(|facts| facts.peer = "another-connection".into());
    for (expected, evaluation) in [
        (Reason::ChallengeExpired, evaluate_at(&engine, &late, caller(), clock)),
        (Reason::ChallengeContextMismatch, evaluate(&engine, &answering(&token), other)),
        (
            Reason::ChallengeUnknown,
            evaluate(&engine, &answering(&token.replace("wgi1.", "wgi1.A")), caller()),
        ),
    ] {
        let report = evaluation.report.clone();
        let refusal = refusal(evaluation);
        assert_eq!(refusal.reason(), expected);
        assert_eq!(refusal.wire_code(), Some(WireCode::AuthorizationFailed));
        let public = serde_json::to_value(refusal.public()).unwrap();
        assert_eq!(public, serde_json::json!({ "error": "authorization-failed" }));
        assert_eq!((report.reason, report.stage), (Some(expected), Stage::Presentation));
        assert!(!serde_json::to_string(&report).unwrap().contains(&token));
    }
}

#[test]
fn a_challenge_by_another_secret_is_unknown() {
    let ours = engine();
    let stranger = support::engine().with_challenges(ChallengeIssuer::new(OTHER_SECRET));
    let token = stranger.issue_challenge(&caller()).unwrap();
    assert_eq!(reason(&ours, &answering(&token), caller()), Reason::ChallengeUnknown);
    assert_granted(&evaluate(&stranger, &answering(&token), caller()));
}

#[test]
fn an_engine_without_an_issuer_takes_no_issued_challenge() {
    let token = engine().issue_challenge(&caller()).unwrap();
    let none = support::engine();
    assert_eq!(none.issue_challenge(&caller()), Err(ChallengeError::NoIssuer));
    assert_eq!(reason(&none, &answering(&token), caller()), Reason::ChallengeUnknown);
    let provided = |token: &str| with(|facts| facts.challenge = Some(token.to_owned()));
    assert_eq!(reason(&none, &answering(&token), provided(&token)), Reason::ChallengeUnknown);
    // Also one that only begins like it, bound or not; and a bound one is never given out.
    for prefix in ["wgi1.", "wgb1."] {
        for engine in [&none, &engine()] {
            let own = format!("{prefix}0123456789abcdef");
            assert_eq!(reason(engine, &answering(&own), provided(&own)), Reason::ChallengeUnknown, "{own}");
        }
    }
    let bound = Ask { bound: true, ..answering(&token) };
    assert_eq!(reason(&none, &bound, provided(&token)), Reason::ChallengeUnknown);
}

#[test]
fn every_bit_of_a_challenge_counts() {
    let engine = engine();
    let token = engine.issue_challenge(&caller()).unwrap();
    // The message is as it was; the server is told of another challenge, which is judged before the two are compared.
    let message = octets(&answering(&token).message().unwrap());
    let snapshot = engine.snapshot(&caller(), noon()).unwrap();
    let facts = caller();
    let expecting = |challenge: String| {
        let facts = CallerFacts { challenge: Some(challenge), ..facts.clone() };
        engine.evaluate(&Request { message: message.clone(), facts, snapshot: snapshot.clone() })
    };
    assert_granted(&expecting(token.clone()));
    for (place, bit) in (0..token.len()).flat_map(|place| (0..7).map(move |bit| (place, bit))) {
        let mut octets = token.clone().into_bytes();
        octets[place] ^= 1 << bit;
        let flipped = String::from_utf8(octets).unwrap();
        let found = support::reason(expecting(flipped.clone()));
        // 40 octets before the second tag take 53 characters and two bits of the next; where a character is none of the
        // alphabet, nothing was issued.
        let expected: &[Reason] = match place {
            // Without its prefix it is a value of the server's own, which the presentation does not answer.
            ..5 => &[Reason::ChallengeMismatch, Reason::ChallengeUnknown],
            5..58 => &[Reason::ChallengeUnknown],
            _ => &[Reason::ChallengeUnknown, Reason::ChallengeContextMismatch],
        };
        assert!(expected.contains(&found), "bit {bit} of {place}, {flipped:?}: {found:?}");
    }
}

#[test]
fn a_challenge_has_one_spelling() {
    let engine = engine();
    // With `-` or `_` somewhere, so that the other alphabet differs.
    let token = std::iter::repeat_with(|| engine.issue_challenge(&caller()).unwrap())
        .find(|token| token.contains(['-', '_']))
        .unwrap();
    let body = token.strip_prefix("wgi1.").unwrap();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (head, last) = token.split_at(token.len() - 1);
    // The last character has two bits that encode nothing.
    let value = alphabet.iter().position(|octet| last.as_bytes() == [*octet]).unwrap();
    let same_octets = (1..4).map(|unused| format!("{head}{}", char::from(alphabet[value + unused])));
    let others = [
        format!("{token}="),
        format!("{token}A"),
        format!("{token} "),
        format!("{token}\n"),
        format!(" {token}"),
        format!("{token}\0"),
        format!("{head}="),
        head.to_owned(),
        token.split_at(token.len() - 4).0.to_owned(),
        token.replace('-', "+").replace('_', "/"),
        token.replace("wgi1.", "WGI1."),
        token.replace("wgi1.", "wgi1.wgi1."),
        token.replace("wgi1.", "wgi1.."),
        token.replace("wgi1.", "wgi2."),
        body.to_owned(),
        "wgi1.".to_owned(),
        format!("wgi1.{}", "A".repeat(75)),
        format!("wgi1.{}", "A".repeat(1_000)),
    ];
    for spelling in same_octets.chain(others) {
        assert_ne!(spelling, token);
        let found = reason(&engine, &answering(&spelling), caller());
        assert_eq!(found, Reason::ChallengeUnknown, "{spelling:?}");
    }
    assert_granted(&evaluate(&engine, &answering(&token), caller()));
}

/// A ledger file of its own, removed at its end.
struct LedgerFile(PathBuf);

impl LedgerFile {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("writgate-challenges-{}-{name}.db", std::process::id()));
        let file = Self(path);
        file.remove();
        SqliteLedger::create(&file.0, DOMAIN, true, noon(), TimeDelta::seconds(60)).unwrap();
        file
    }

    fn open(&self) -> Arc<dyn Ledger> {
        Arc::new(SqliteLedger::open(&self.0, DOMAIN, TimeDelta::seconds(60)).unwrap())
    }

    /// The rows of each table.
    fn rows(&self) -> Vec<(String, i64)> {
        let connection = rusqlite::Connection::open(&self.0).unwrap();
        let mut tables = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
        let tables: Vec<String> =
            tables.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(tables.contains(&"challenges".to_owned()), "{tables:?}");
        let count = |table: &String| {
            connection.query_row(&format!("SELECT count(*) FROM \"{table}\""), (), |row| row.get(0)).unwrap()
        };
        tables.iter().map(|table| (table.clone(), count(table))).collect()
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

#[test]
fn a_flood_of_challenges_keeps_nothing() {
    let file = LedgerFile::new("flood");
    let engine = engine_at(TestClock::at(noon()), file.open(), issuer());
    let caller = caller();
    let before = (file.rows(), format!("{engine:?}").len());
    let flood: BTreeSet<String> = (0..100_000).map(|_| engine.issue_challenge(&caller).unwrap()).collect();
    assert_eq!(flood.len(), 100_000, "no two are alike");
    assert_eq!((file.rows(), format!("{engine:?}").len()), before, "neither in the ledger nor in the engine");
    // The first and the last are as good as any.
    for (n, token) in [flood.first(), flood.last()].into_iter().flatten().enumerate() {
        assert_allowed(&decide(&engine, &Ask { id: format!("msg-{n}"), ..answering(token) }, caller.clone()));
    }
}

#[test]
fn engines_with_one_secret_know_each_others_challenges_and_use_each_once() {
    let file = LedgerFile::new("shared");
    let [first, second] = [(); 2].map(|()| engine_at(TestClock::at(noon()), file.open(), issuer()));
    for (n, (issues, takes)) in [(&first, &second), (&second, &first)].into_iter().enumerate() {
        let token = issues.issue_challenge(&caller()).unwrap();
        let ask = |id: String| Ask { id, ..answering(&token) };
        assert_allowed(&decide(takes, &ask(format!("msg-{n}")), caller()));
        for engine in [&first, &second] {
            let again = decide(engine, &ask(format!("msg-{n}-again")), caller());
            assert_eq!(refused(&again).reason(), Reason::ChallengeUsed);
        }
    }
}

#[test]
fn racing_messages_with_one_issued_challenge_get_one_allow() {
    let file = LedgerFile::new("race");
    let engines = [(); 2].map(|()| engine_at(TestClock::at(noon()), file.open(), issuer()));
    let token = engines[0].issue_challenge(&caller()).unwrap();
    let reasons: Vec<Option<Reason>> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|n| {
                let (engine, ask) = (&engines[n % 2], Ask { id: format!("msg-{n}"), ..answering(&token) });
                scope.spawn(move || decide(engine, &ask, caller()).report.envelope.reason)
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(reasons.iter().filter(|reason| reason.is_none()).count(), 1, "{reasons:?}");
    assert!(reasons.iter().flatten().all(|reason| *reason == Reason::ChallengeUsed), "{reasons:?}");
}

/// What an auditor has: the message, the facts, the instant and the recorded verdict; not the secret.
#[test]
fn a_recorded_verdict_gives_the_same_report_without_the_secret() {
    let (engine, without) = (engine(), support::engine());
    let token = engine.issue_challenge(&caller()).unwrap();
    let forged = format!("wgi1.{}", "A".repeat(75));
    let other = || with(|facts| facts.peer = "another-connection".into());
    let provided = |token: &str| with(|facts| facts.challenge = Some(token.to_owned()));
    let bound = Ask { bound: true, ..answering(&token) };
    let later = noon() + TimeDelta::minutes(4);
    let late = noon() + TimeDelta::minutes(6);
    let until = noon() + TimeDelta::minutes(5);
    for (ask, facts, instant, expected) in [
        (answering(&token), caller(), noon(), Some(IssuedVerdict::Genuine { until })),
        (answering(&token), caller(), later, Some(IssuedVerdict::Genuine { until })),
        (answering(&token), caller(), late, Some(IssuedVerdict::Genuine { until })),
        (bound.clone(), provided(&token), noon(), Some(IssuedVerdict::Genuine { until })),
        (answering(&token), other(), noon(), Some(IssuedVerdict::OfAnother { until })),
        (answering(&forged), caller(), noon(), Some(IssuedVerdict::Unknown)),
        (answering("wgi1.short-but-16"), caller(), noon(), None),
        (bound, caller(), noon(), None),
        (grant(), world().facts(), noon(), None),
        (grant(), caller(), noon(), None),
    ] {
        let first = evaluate_at(&engine, &ask, facts.clone(), instant);
        assert_eq!(first.consulted.challenge.as_ref().map(|judged| judged.verdict), expected);
        // Through the form in which evidence is kept.
        let kept = serde_json::to_string(&first.consulted).unwrap();
        let kept: Consulted = serde_json::from_str(&kept).unwrap();
        assert_eq!(kept, first.consulted);
        let mut snapshot = without.snapshot(&facts, instant).unwrap();
        snapshot.issued = kept.challenge.map_or(IssuedChallenges::NoIssuer, IssuedChallenges::Recorded);
        let message = octets(&ask.message().unwrap());
        let again = without.evaluate(&Request { message, facts, snapshot });
        assert_eq!(again.report.to_jcs().unwrap(), first.report.to_jcs().unwrap());
        assert_eq!(again.consulted, first.consulted);
    }
}

#[test]
fn a_recorded_verdict_is_of_one_challenge_alone() {
    let engine = engine();
    let [token, other] = [(); 2].map(|()| engine.issue_challenge(&caller()).unwrap());
    let verdict = IssuedVerdict::Genuine { until: noon() };
    let mut snapshot = engine.snapshot(&caller(), noon()).unwrap();
    snapshot.issued = IssuedChallenges::Recorded(JudgedChallenge { token: token.clone(), verdict });
    let evaluate = |ask: &Ask, instant| {
        let mut snapshot = snapshot.clone();
        snapshot.instant = instant;
        engine.evaluate(&Request { message: octets(&ask.message().unwrap()), facts: caller(), snapshot })
    };
    assert_granted(&evaluate(&answering(&token), noon()));
    assert_eq!(support::reason(evaluate(&answering(&other), noon())), Reason::ChallengeUnknown);
    // At another instant than the recorded one, the end counts all the same.
    let late = noon() + TimeDelta::milliseconds(1);
    assert_eq!(support::reason(evaluate(&answering(&token), late)), Reason::ChallengeExpired);
}
