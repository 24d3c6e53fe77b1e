//! Decisions of every kind, recorded in a file and made again from a copy of it. `WRITGATE_LONG=1 cargo test --lib
//! audit::replay` records ten thousand.

use super::*;
use crate::audit::evidence::{BlobKind, ConfigurationEvidence, EvidenceMode, ForReader};
use crate::audit::{EvaluationOutcome, EvidenceDigests, Mask, VerifyOptions, verify};
use crate::cli::vectors;
use crate::config::Config;
use crate::credential::{ChallengeIssuer, IssuedChallenges};
use crate::ledger::{Ledger, Revoked, SqliteLedger};
use crate::mandate::odrl::testing::with_turned_eq;
use crate::refusal::{Reason, Stage};
use crate::request::{Actor, CallerFacts, Instant, MessageInput, Request};
use crate::worked_example::{BOB, Intent, MANDATE_POLICY, NOTES, World};
use crate::{Clock, Engine};
use chrono::TimeDelta;
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Decisions of the short form.
const SHORT: usize = 300;
const KINDS: usize = 16;

#[derive(Debug)]
struct Hand(Mutex<Instant>);

impl Clock for Hand {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }
}

fn noon() -> Instant {
    "2026-12-01T12:00:00Z".parse().unwrap()
}

/// A folder of its own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("writgate-replay-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// A recorded decision: its row, and what it was made from.
struct Recorded {
    sequence: u64,
    config: Arc<Config>,
    request: Request,
    report: DecisionReportV1,
}

/// A ledger's file, and everything that was decided over it.
struct Corpus {
    folder: Folder,
    decisions: Vec<Recorded>,
}

struct Recorder {
    world: World,
    ledger: Arc<SqliteLedger>,
    clock: Arc<Hand>,
    engine: Engine,
    config: Arc<Config>,
    decisions: Vec<Recorded>,
    /// Decisions that replay cannot make again.
    not_kept: usize,
}

impl Recorder {
    fn new(file: &Path, change: impl FnOnce(Config) -> Config) -> Self {
        let world = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let config = change(world.config(noon()).unwrap());
        let shared = Arc::new(config.clone());
        let ledger = SqliteLedger::create(file, config.default_domain(), true, noon(), config.skew());
        let ledger = Arc::new(ledger.unwrap());
        let clock = Arc::new(Hand(Mutex::new(noon())));
        let engine = Engine::new(config, Arc::clone(&ledger) as Arc<dyn Ledger>, clock.clone()).unwrap();
        Self { world, ledger, clock, engine, config: shared, decisions: Vec::new(), not_kept: 0 }
    }

    fn decide(&mut self, engine: &Engine, config: Arc<Config>, message: MessageInput, facts: CallerFacts) {
        let snapshot = engine.snapshot(&facts, self.clock.now()).unwrap();
        let request = Request { message: message.clone(), facts: facts.clone(), snapshot };
        let decided = engine.decide(message, facts);
        let sequence = decided.report.envelope.sequence;
        // All vectors are of one minute, in which the ledger only counts what strangers send beyond a rate.
        let keeps = self.config.evidence == EvidenceMode::Full;
        if sequence == 0 || (keeps && !decided.report.envelope.evidence.as_ref().unwrap().kept) {
            self.not_kept += 1;
            return;
        }
        self.decisions.push(Recorded { sequence, config, request, report: decided.report });
    }

    /// The n-th message of the worked example, of one kind after the other.
    fn example(&mut self, number: usize) {
        let now = self.clock.now();
        let kind = number % KINDS;
        let world = self.world.clone();
        let read = matches!(kind, 2 | 3 | 11);
        let intent = if read { Intent::read(NOTES) } else { Intent::grant_bob() };
        let mut ask = world.ask(intent, now - TimeDelta::seconds(1)).unwrap();
        ask.id = format!("m-{}", if kind == 1 { number - 1 } else { number });
        ask.nonce = format!("a-nonce-of-its-own-{}", if kind == 1 { number - 1 } else { number });
        let mut facts = world.facts();
        let with = |from: &str, more: &str| {
            let mut draft = world.mandate_draft().unwrap();
            draft.policy = draft.policy.replacen(from, &format!("{from} {more}"), 1);
            vec![draft.issue().unwrap()]
        };
        match kind {
            3 => ask.intent.0 = Intent::read(NOTES).turtle().replace("meeting-preparation", "curiosity"),
            4 => ask.intent.0 = Intent::grant(NOTES, &format!("{BOB}2")).turtle(),
            5 => ask.protocol_hash = format!("sha256:{}", "0".repeat(64)),
            8 => ask.bound = true,
            9 => ask.created = now - TimeDelta::minutes(10),
            10 => ask.credentials = vec![world.mandate_with_duty("urn:an-unknown-duty").unwrap()],
            11 => ask.key = world.mallory.clone(),
            13 => {
                facts.actor = Actor::Unauthenticated;
                facts.peer = format!("peer-{number}").as_str().into();
                facts.vouched.insert("spatial".into(), vec!["\"here\"".into()]);
                facts.discharged.insert(("urn:duty".into(), None));
            }
            14 => {
                let chain = world.composed_chain().unwrap();
                ask.credentials = chain.iter().map(|draft| draft.issue().unwrap()).collect();
            }
            15 => {
                let count = "odrl:constraint [ odrl:leftOperand odrl:count ; odrl:operator odrl:lteq ; \
                             odrl:rightOperand 3 ] ;";
                ask.credentials = with("odrl:action     acl:Control ;", count);
            }
            _ => {}
        }
        facts.challenge = Some(ask.nonce.clone());
        let message = ask.message().unwrap();
        let message = match kind {
            6 => MessageInput::Bytes(
                json!({ "messageId": format!("m-{number}"), "role": "ROLE_USER", "contextId": "ctx-1",
                        "parts": [{ "text": "Good morning" }] })
                .to_string()
                .into_bytes(),
            ),
            7 => MessageInput::Bytes(format!("{{\"messageId\": {number}").into_bytes()),
            12 => MessageInput::Typed(serde_json::from_value(message).unwrap()),
            _ => MessageInput::Bytes(serde_json::to_vec(&message).unwrap()),
        };
        let (engine, config) = (self.engine.clone(), Arc::clone(&self.config));
        self.decide(&engine, config, message, facts);
    }

    /// Every vector, each under its own configuration and at its own instant.
    fn vectors(&mut self) {
        for (_, engine, request) in vectors::requests(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors"))
        {
            *self.clock.0.lock().unwrap() = request.snapshot.instant;
            let ledger = Arc::clone(&self.ledger) as Arc<dyn Ledger>;
            let engine = Engine::new(engine.config().clone(), ledger, self.clock.clone()).unwrap();
            let config = Arc::new(engine.config().clone());
            self.decide(&engine, config, request.message, request.facts);
        }
    }

    fn revoke(&self, policy: &str) {
        let revoked = Revoked { ids: BTreeSet::from([policy.to_owned()]), ..Revoked::default() };
        self.ledger.mark_revoked(&revoked, self.clock.now()).unwrap();
    }
}

/// Records so many decisions, and gives them with a copy of the ledger's file alone.
fn record(decisions: usize, change: impl FnOnce(Config) -> Config) -> Corpus {
    let (origin, folder) = (Folder::new(), Folder::new());
    let mut recorder = Recorder::new(&origin.file("ledger.db"), change);
    if decisions >= SHORT {
        recorder.vectors();
    }
    let (examples, not_kept) = (decisions - recorder.decisions.len(), recorder.not_kept);
    for number in 0..examples {
        *recorder.clock.0.lock().unwrap() += TimeDelta::milliseconds(1_100);
        if number == examples * 4 / 5 {
            recorder.revoke(MANDATE_POLICY);
        }
        recorder.example(number);
    }
    assert_eq!(recorder.not_kept, not_kept, "an example is within the rate");
    // The last user of the file brings what is beside it into it.
    let Recorder { ledger, engine, decisions, .. } = recorder;
    drop((ledger, engine));
    std::fs::copy(origin.file("ledger.db"), folder.file("ledger.db")).unwrap();
    Corpus { folder, decisions }
}

impl Corpus {
    fn file(&self) -> PathBuf {
        self.folder.file("ledger.db")
    }

    fn replay(&self) -> Vec<Replayed> {
        let reader = LedgerReader::open(&self.file()).unwrap();
        reader.verify_chain().unwrap();
        let mut found = Vec::new();
        replay(&reader, (1, u64::MAX), false, |replayed| {
            found.push(replayed);
            Ok::<_, LedgerError>(())
        })
        .unwrap();
        found
    }

    /// The rows of decisions that do not come out the same.
    fn differing(&self) -> BTreeSet<u64> {
        let unequal = self.replay().into_iter().filter(|replayed| !replayed.redecided.is_equal());
        unequal
            .map(|replayed| {
                assert!(matches!(replayed.redecided, Redecided::Differs(_)), "{replayed:?}");
                replayed.sequence
            })
            .collect()
    }

    fn evidence(&self, decision: usize) -> EvidenceDigests {
        self.decisions[decision].report.envelope.evidence.clone().unwrap()
    }

    /// What replay says of a decision after the file was changed.
    fn after(&self, sql: &str, digest: Digest, decision: usize) -> Redecided {
        let changed = self.folder.file("changed.db");
        std::fs::copy(self.file(), &changed).unwrap();
        let connection = Connection::open(&changed).unwrap();
        assert_eq!(connection.execute(sql, (digest.as_bytes(),)).unwrap(), 1);
        connection.close().unwrap();
        let reader = LedgerReader::open(&changed).unwrap();
        let sequence = self.decisions[decision].sequence;
        let mut found = None;
        replay(&reader, (sequence, sequence), false, |replayed| {
            found = Some(replayed.redecided);
            Ok::<_, LedgerError>(())
        })
        .unwrap();
        found.unwrap()
    }
}

fn decisions() -> usize {
    if std::env::var_os("WRITGATE_LONG").is_some() { 10_000 } else { SHORT }
}

#[test]
fn recorded_decisions_come_out_the_same_and_after_a_change_of_one_rule_exactly_those_that_turn_on_it_differ()
{
    let corpus = record(decisions(), |config| config);
    let reasons: BTreeSet<Option<Reason>> = corpus
        .decisions
        .iter()
        .map(|recorded| recorded.report.envelope.reason.or(recorded.report.body.reason))
        .collect();
    for reason in [
        None,
        Some(Reason::DuplicateMessage),
        Some(Reason::ObligationUnsupported),
        Some(Reason::PolicyDenied),
        Some(Reason::Revoked),
        Some(Reason::UnknownProtocol),
        Some(Reason::MessageMalformed),
        Some(Reason::PresentationTooOld),
        Some(Reason::ShapeViolation),
    ] {
        assert!(reasons.contains(&reason), "{reason:?} in {reasons:?}");
    }
    assert!(reasons.len() > 30, "{reasons:?}");

    let replayed = corpus.replay();
    let rows = |rows: &mut dyn Iterator<Item = u64>| rows.collect::<Vec<_>>();
    assert_eq!(
        rows(&mut replayed.iter().map(|replayed| replayed.sequence)),
        rows(&mut corpus.decisions.iter().map(|recorded| recorded.sequence))
    );
    for replayed in &replayed {
        assert!(replayed.redecided.is_equal(), "{replayed:?}");
    }

    // What the changed rule makes of the very requests that were decided, without their evidence.
    let turned: BTreeSet<u64> = with_turned_eq(|| {
        let changed = corpus.decisions.iter().filter(|Recorded { config, request, report, .. }| {
            evaluate_anew(request, config).report != report.body
        });
        changed.map(|recorded| recorded.sequence).collect()
    });
    assert!(turned.len() > 20 && turned.len() < corpus.decisions.len() / 2, "{}", turned.len());
    for recorded in &corpus.decisions {
        let body = &recorded.report.body;
        if body.outcome == EvaluationOutcome::Granted {
            assert!(
                turned.contains(&recorded.sequence),
                "each grant of the example rests on an `eq`: {body:?}"
            );
        } else if body.stage != Stage::Policy {
            assert!(!turned.contains(&recorded.sequence), "no policy was asked: {body:?}");
        }
    }
    assert_eq!(with_turned_eq(|| corpus.differing()), turned);
}

#[test]
fn evidence_that_is_altered_swapped_or_erased_is_named() {
    let corpus = record(3, |config| config);
    // The row of a grant; the duplicate of it, and a read.
    let (grant, read) = (corpus.evidence(0), corpus.evidence(2));
    let altered = |digest| {
        corpus.after(
            "UPDATE evidence SET octets = CAST(octets || x'20' AS BLOB) WHERE digest = ?1",
            digest,
            0,
        )
    };
    let erased = |digest| corpus.after("UPDATE evidence SET octets = NULL WHERE digest = ?1", digest, 0);
    let removed = |digest| corpus.after("DELETE FROM evidence WHERE digest = ?1", digest, 0);
    let document = {
        let reader = LedgerReader::open(&corpus.file()).unwrap();
        let KeptEvidence::Octets(manifest) = reader.evidence(grant.configuration).unwrap() else { panic!() };
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let document = &manifest["protocols"][0]["document"];
        let kind = BlobKind::Document("Protocol Document", document["id"].as_str().unwrap().to_owned());
        (kind, serde_json::from_value(document["digest"].clone()).unwrap())
    };
    for (kind, digest) in [
        (BlobKind::Message, grant.message),
        (BlobKind::Request, grant.request),
        (BlobKind::Configuration, grant.configuration),
        document,
    ] {
        match altered(digest) {
            Redecided::Evidence(EvidenceError::Store { kind: named, .. }) => assert_eq!(named, kind),
            other => panic!("{kind}: {other:?}"),
        }
        let named = |kind| EvidenceError::Erased { kind, digest };
        assert_eq!(erased(digest), Redecided::Evidence(named(kind.clone())));
        assert_eq!(removed(digest), Redecided::Evidence(EvidenceError::Missing { kind, digest }));
    }
    // Another decision's evidence under this one's digest.
    let message = read.message;
    let swap = format!(
        "UPDATE evidence SET octets = (SELECT octets FROM evidence WHERE digest = x'{message}') WHERE digest = ?1"
    );
    assert!(matches!(
        corpus.after(&swap, grant.message, 0),
        Redecided::Evidence(EvidenceError::Store { .. })
    ));
    // The other decisions are made again all the same.
    assert!(corpus.after("UPDATE evidence SET octets = NULL WHERE digest = ?1", grant.message, 2).is_equal());
    assert!(corpus.replay().iter().all(|replayed| replayed.redecided.is_equal()));
}

/// The digests of a manifest, and of the documents that it names.
fn configuration(corpus: &Corpus) -> Vec<Digest> {
    let reader = LedgerReader::open(&corpus.file()).unwrap();
    let manifest = corpus.evidence(0).configuration;
    let KeptEvidence::Octets(octets) = reader.evidence(manifest).unwrap() else { panic!() };
    let documents = ConfigurationEvidence::documents(&octets);
    assert!(documents.len() > 2, "{documents:?}");
    std::iter::once(manifest).chain(documents).collect()
}

#[test]
fn verify_names_a_document_of_a_configuration_that_was_removed() {
    let corpus = record(3, |config| config);
    let verified = |file: &Path| verify(file, &VerifyOptions::default()).unwrap();
    assert!(verified(&corpus.file()).holds(), "{:#?}", verified(&corpus.file()).findings);
    for digest in configuration(&corpus) {
        let changed = corpus.folder.file("changed.db");
        std::fs::copy(corpus.file(), &changed).unwrap();
        let connection = Connection::open(&changed).unwrap();
        let gone = connection.execute("DELETE FROM evidence WHERE digest = ?1", (digest.as_bytes(),));
        assert_eq!(gone.unwrap(), 1);
        connection.close().unwrap();
        let found = verified(&changed).findings;
        assert!(found.iter().any(|finding| finding.table == "evidence"), "{digest}: {found:#?}");
    }
}

#[test]
fn a_message_that_equals_a_document_takes_it_along_into_no_erasure() {
    let folder = Folder::new();
    let mut recorder = Recorder::new(&folder.file("ledger.db"), |config| config);
    recorder.example(0);
    let document = recorder.config.protocols.iter().next().unwrap().read_from.text.to_string();
    let (engine, facts) = (&recorder.engine, recorder.world.facts());
    let sent = engine.decide(MessageInput::Bytes(document.clone().into_bytes()), facts);
    let evidence = sent.report.envelope.evidence.unwrap();
    assert!(evidence.kept && evidence.message == Digest::of(&document));
    let later = noon() + TimeDelta::hours(1);
    // The first decision's message and request, and the second's request.
    assert_eq!(recorder.ledger.erase_evidence_before(later, later).unwrap(), 3);
    let reader = LedgerReader::open(&folder.file("ledger.db")).unwrap();
    assert_eq!(reader.evidence(evidence.message).unwrap(), KeptEvidence::Octets(document.into_bytes()));
}

#[test]
fn an_outcome_that_does_not_follow_from_the_evaluation_differs() {
    let corpus = record(KINDS, |config| config);
    let reports = || corpus.decisions.iter().map(|decision| decision.report.clone());
    for mut report in reports() {
        let body = report.body.clone();
        assert_eq!(compare(&report, body.clone()), Redecided::Equal);
        let was = report.envelope.outcome;
        report.envelope.outcome = match was {
            DecisionOutcome::Allow => DecisionOutcome::Refuse,
            _ => DecisionOutcome::Allow,
        };
        assert_eq!(compare(&report, body), Redecided::Differs(vec!["/envelope/outcome".into()]), "{was:?}");
    }
}

#[test]
fn rows_with_any_number_are_gone_through_from_one_to_the_next() {
    let corpus = record(3, |config| config);
    Connection::open(corpus.file())
        .unwrap()
        .execute_batch(
            "INSERT INTO reports SELECT 9223372036854775807, 'far', previous_hash, row_hash, report FROM reports
             ORDER BY sequence DESC LIMIT 1",
        )
        .unwrap();
    let reader = LedgerReader::open(&corpus.file()).unwrap();
    let mut last = 0;
    replay(&reader, (1, u64::MAX), false, |replayed| {
        last = replayed.sequence;
        Ok::<_, LedgerError>(())
    })
    .unwrap();
    assert_eq!(last, 9_223_372_036_854_775_807);
}

#[test]
fn with_digests_alone_nothing_is_made_again_and_each_decision_says_so() {
    let corpus = record(3, |config| Config { evidence: EvidenceMode::Digests, ..config });
    let connection = Connection::open(corpus.file()).unwrap();
    let kept: i64 = connection.query_row("SELECT count(*) FROM evidence", (), |row| row.get(0)).unwrap();
    assert_eq!(kept, 0);
    for (replayed, recorded) in corpus.replay().iter().zip(&corpus.decisions) {
        let evidence = recorded.report.envelope.evidence.clone().unwrap();
        let expected = EvidenceError::NotKept { kind: BlobKind::Message, digest: evidence.message };
        assert!(!evidence.kept);
        assert_eq!(replayed.redecided, Redecided::Evidence(expected));
    }
}

#[test]
fn masked_reports_are_compared_with_what_was_masked() {
    let mask = Mask::new(["/body/attributes/*/values", "/body/holder", "/body/evidence/detail"]).unwrap();
    let corpus = record(KINDS, |config| Config { mask, ..config });
    let masked = corpus.decisions.iter().filter(|recorded| !recorded.report.envelope.redacted.is_empty());
    assert!(masked.count() > 8);
    let read = &corpus.decisions[2].report;
    assert_eq!(read.envelope.redacted, ["/body/attributes/0/values", "/body/holder"]);
    assert!(read.body.holder.is_none() && read.body.attributes[0].values.is_empty());
    for replayed in corpus.replay() {
        assert!(replayed.redecided.is_equal(), "{replayed:?}");
    }
    // What is behind the mask cannot be changed.
    let reader = LedgerReader::open(&corpus.file()).unwrap();
    let redecided = |report: &DecisionReportV1| {
        let mut rebuilder = Rebuilder::new(|digest: &Digest| reader.evidence(*digest));
        redecide(report, &mut rebuilder, false)
    };
    assert!(redecided(read).is_equal());
    let mut other = read.clone();
    other.envelope.body_digest = Some(Digest::of("another body"));
    assert_eq!(redecided(&other), Redecided::Differs(vec!["/envelope/bodyDigest".into()]));
    other.envelope.body_digest = None;
    assert_eq!(redecided(&other), Redecided::Differs(vec!["/envelope/bodyDigest".into()]));
    let mut other = read.clone();
    other.envelope.redacted.push("/body/peer".into());
    assert_eq!(redecided(&other), Redecided::Differs(vec!["/envelope/redacted".into()]));
    let mut other = read.clone();
    other.body.peer = "somebody else".into();
    other.body.actions.clear();
    assert_eq!(redecided(&other), Redecided::Differs(vec!["/body/actions".into(), "/body/peer".into()]));
}

/// What the issuer said of a challenge is in the evidence: its secret is not needed again.
#[test]
fn a_decision_on_an_issued_challenge_is_made_again_without_the_issuers_secret() {
    let (origin, folder) = (Folder::new(), Folder::new());
    let mut recorder = Recorder::new(&origin.file("ledger.db"), |config| config);
    let issuer = ChallengeIssuer::new(&[7; ChallengeIssuer::SECRET_OCTETS]);
    let engine = recorder.engine.clone().with_challenges(issuer);
    let world = recorder.world.clone();
    for (actor, outcome) in [
        (Actor::Authenticated(world.agent_id()), EvaluationOutcome::Granted),
        (Actor::Unauthenticated, EvaluationOutcome::Refused),
    ] {
        let mut facts = CallerFacts { challenge: None, ..world.facts() };
        let mut ask = world.ask(Intent::grant_bob(), noon() - TimeDelta::seconds(1)).unwrap();
        ask.nonce = engine.issue_challenge(&facts).unwrap();
        facts.actor = actor;
        let message = MessageInput::Bytes(serde_json::to_vec(&ask.message().unwrap()).unwrap());
        let config = Arc::clone(&recorder.config);
        recorder.decide(&engine, config, message, facts);
        assert_eq!(recorder.decisions.last().unwrap().report.body.outcome, outcome);
    }
    let Recorder { ledger, engine: of_recorder, decisions, .. } = recorder;
    let decisions: Vec<_> = decisions
        .into_iter()
        .map(|mut recorded| {
            recorded.request.snapshot.issued = IssuedChallenges::NoIssuer;
            recorded
        })
        .collect();
    drop((ledger, of_recorder, engine));
    std::fs::copy(origin.file("ledger.db"), folder.file("ledger.db")).unwrap();
    let corpus = Corpus { folder, decisions };
    for replayed in corpus.replay() {
        assert!(replayed.redecided.is_equal(), "{replayed:?}");
    }
}

/// Threat 39.
#[test]
fn a_message_in_the_evidence_of_a_refusal_cannot_be_read_while_its_presentation_is_good() {
    let corpus = record(10, |config| config);
    let refusal = &corpus.decisions[4].report;
    assert_eq!(refusal.body.reason, Some(Reason::PolicyDenied));
    let reader = LedgerReader::open(&corpus.file()).unwrap();
    let read = |report: &DecisionReportV1, seconds| {
        let mut rebuilder = Rebuilder::new(|digest: &Digest| reader.evidence(*digest));
        let recorded: Instant = report.envelope.recorded.as_deref().unwrap().parse().unwrap();
        rebuilder.message_for_reader(report, recorded + TimeDelta::seconds(seconds))
    };
    // Five minutes and a skew of one: until then the presentation would be accepted, with another message as well.
    for seconds in [-600, 0, 1, 300, 360] {
        let given = read(refusal, seconds).unwrap().unwrap();
        assert!(matches!(given, ForReader::Withheld { .. }), "{seconds}");
        let MessageInput::Bytes(message) = &corpus.decisions[4].request.message else { panic!() };
        let ForReader::Withheld { digest, .. } = given else { panic!() };
        assert_eq!(digest, Digest::of(message));
    }
    let ForReader::Octets(message) = read(refusal, 361).unwrap().unwrap() else { panic!() };
    assert!(String::from_utf8_lossy(message.octets()).contains("proofValue"));
    // Without the bounds that it was judged by, it is not given out at all.
    let changed = corpus.folder.file("changed.db");
    std::fs::copy(corpus.file(), &changed).unwrap();
    let connection = Connection::open(&changed).unwrap();
    let manifest = corpus.evidence(4).configuration;
    connection
        .execute("UPDATE evidence SET octets = NULL WHERE digest = ?1", (manifest.as_bytes(),))
        .unwrap();
    connection.close().unwrap();
    let reader = LedgerReader::open(&changed).unwrap();
    let mut rebuilder = Rebuilder::new(|digest: &Digest| reader.evidence(*digest));
    let error = rebuilder.message_for_reader(refusal, noon() + TimeDelta::days(1)).unwrap_err();
    assert!(matches!(error, EvidenceError::Erased { kind: BlobKind::Configuration, .. }), "{error}");
}

#[test]
fn a_decision_of_another_version_is_made_again_only_where_that_is_asked_for() {
    let corpus = record(1, |config| config);
    let reader = LedgerReader::open(&corpus.file()).unwrap();
    let mut rebuilder = Rebuilder::new(|digest: &Digest| reader.evidence(*digest));
    let mut report = corpus.decisions[0].report.clone();
    report.body.engine_version = "0.0.9".into();
    report.envelope.body_digest = Some(Digest::of(report.body.to_jcs().unwrap()));
    assert_eq!(redecide(&report, &mut rebuilder, false), Redecided::OtherVersion("0.0.9".into()));
    assert!(redecide(&report, &mut rebuilder, true).is_equal());
    report.body.peer = "somebody else".into();
    assert_eq!(redecide(&report, &mut rebuilder, true), Redecided::Differs(vec!["/body/peer".into()]));
    report.envelope.evidence = None;
    assert_eq!(redecide(&report, &mut rebuilder, true), Redecided::NoEvidence);
}
