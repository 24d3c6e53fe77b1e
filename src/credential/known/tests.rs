//! What is kept never shows in an answer, and nothing is kept that was not verified (threats 35 and 43).

use super::*;
use crate::config::Config;
use crate::credential::ControllerDocuments;
use crate::credential::presentation_graph::{Presentation, quads_of_parts};
use crate::decision::{Evaluation, Outcome};
use crate::engine::{Engine, SystemClock};
use crate::ledger::SqliteLedger;
use crate::refusal::{Reason, Stage};
use crate::request::{Instant, MessageInput, Request};
use crate::worked_example::{ALICE, Ask, Intent, JwsDraft, PolicyBinding, World};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// The worked example, and engines for it.
struct Example {
    world: World,
    now: Instant,
}

impl Example {
    fn new() -> Self {
        let world = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        Self { world, now: "2026-12-01T00:00:00Z".parse().unwrap() }
    }

    fn engine(&self, change: impl FnOnce(&mut Config)) -> Engine {
        let mut config = self.world.config(self.now).unwrap();
        change(&mut config);
        let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew()).unwrap();
        Engine::new(config, Arc::new(ledger), Arc::new(SystemClock)).unwrap()
    }

    fn ask(&self) -> Ask {
        self.world.ask(Intent::grant_bob(), self.now).unwrap()
    }

    /// A mandate of Alice's other than the one that the repository holds.
    fn mandate(&self, id: &str, binding: PolicyBinding) -> Value {
        let mut draft = self.world.mandate_draft().unwrap();
        draft.id = id.to_owned();
        draft.binding = binding;
        draft.issue().unwrap()
    }

    fn request(&self, engine: &Engine, ask: &Ask) -> Request {
        self.request_of(engine, &ask.message().unwrap())
    }

    fn request_of(&self, engine: &Engine, message: &Value) -> Request {
        let message = MessageInput::Bytes(serde_json::to_vec(message).unwrap());
        let facts = self.world.facts();
        let snapshot = engine.snapshot(&facts, self.now).unwrap();
        Request { message, facts, snapshot }
    }

    /// An engine that knows the papers of the usual message.
    fn warm(&self) -> Engine {
        let engine = self.engine(|_| ());
        let evaluation = engine.evaluate(&self.request(&engine, &self.ask()));
        assert!(matches!(evaluation.outcome, Outcome::Granted(_)), "{:?}", evaluation.outcome);
        // The credential, its policy and its signature, and the keys of its issuer and of the agent.
        assert_eq!(engine.known().len(), 5);
        engine
    }
}

fn reason(evaluation: &Evaluation) -> Option<Reason> {
    match &evaluation.outcome {
        Outcome::Refused(refusal) => Some(refusal.reason()),
        _ => None,
    }
}

/// The outcome in words, the report body, octet by octet, and what the ledger would be told.
fn answer(evaluation: &Evaluation) -> (String, String, String) {
    let report = serde_json::to_string(&evaluation.report).unwrap();
    (format!("{:?}", reason(evaluation)), report, format!("{:?}", evaluation.learned))
}

#[test]
fn a_known_credential_is_answered_alike() {
    let example = Example::new();
    let (warm, cold) = (example.warm(), example.engine(|_| ()));
    let mut bound = example.ask();
    bound.bound = true;
    bound.id = "msg-2".to_owned();
    let mut digested = example.ask();
    digested.credentials = vec![example.mandate("urn:uuid:2", PolicyBinding::Digest)];
    digested.policies = vec![(example.world.policy().unwrap(), "text/turtle".to_owned())];
    let mut other_label = digested.clone();
    other_label.policies[0].1 = "application/ld+json".to_owned();
    let mut read = example.world.ask(Intent::read("https://alice.pod.example/other"), example.now).unwrap();
    read.id = "msg-3".to_owned();
    let mut twice = example.ask();
    twice.credentials.extend(twice.credentials.clone());
    for ask in [example.ask(), bound, digested, other_label, read, twice] {
        let request = example.request(&cold, &ask);
        let first = answer(&warm.evaluate(&request));
        assert_eq!(answer(&warm.evaluate(&request)), first);
        let fresh = example.engine(|_| ());
        assert_eq!(answer(&fresh.evaluate(&request)), first);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Also where the budget runs out: what reading cost is charged for what is known.
    #[test]
    fn warm_and_cold_answers_are_equal(
        canonicalizations in 0usize..14,
        calls in prop::sample::select(vec![0usize, 1, 2, 3, 4, 5, 6, 8, 10, 500]),
        alike in 0usize..3,
        mandates in prop::collection::vec(0usize..3, 1..4),
        member in any::<prop::sample::Index>(),
        changed in any::<bool>(),
    ) {
        let example = Example::new();
        let lower = |config: &mut Config| {
            config.limits.canonicalizations = canonicalizations;
            config.limits.canonicalization_calls = calls;
        };
        // Equal rules are what canonicalization takes calls for.
        let mut policy = example.world.policy().unwrap();
        let again = "odrl:prohibition [ odrl:action odrl:delete ; odrl:target <https://alice.pod.example/kept> ]";
        policy.push_str(&format!("<{}> ", crate::worked_example::MANDATE_POLICY));
        policy.push_str(&vec![again; alike + 1].join(" ; "));
        policy.push_str(" .\n");
        let papers: Vec<Value> = (0..3)
            .map(|number| {
                let mut draft = example.world.mandate_draft().unwrap();
                draft.id = format!("urn:uuid:{number}");
                draft.policy.clone_from(&policy);
                draft.binding = if number == 2 { PolicyBinding::Digest } else { PolicyBinding::Embedded };
                draft.issue().unwrap()
            })
            .collect();
        let warm = example.engine(lower);
        for paper in &papers {
            let mut ask = example.ask();
            ask.credentials = vec![paper.clone()];
            if paper.get("relatedResource").is_some() {
                ask.policies = vec![(policy.clone(), "text/turtle".to_owned())];
            }
            warm.evaluate(&example.request(&warm, &ask));
        }
        let mut ask = example.ask();
        ask.credentials = mandates.iter().filter_map(|number| papers.get(*number)).cloned().collect();
        if mandates.contains(&2) {
            ask.policies = vec![(policy, "text/turtle".to_owned())];
        }
        if changed && let Some(members) = ask.credentials[0].as_object_mut() {
            let name = member.get(&members.keys().cloned().collect::<Vec<_>>()).clone();
            members.insert(name, json!("changed"));
        }
        let cold = example.engine(lower);
        let request = example.request_of(&cold, &ask.with_presentation(Some(ask.presentation().unwrap_or_else(|_| json!({"@context": []})))));
        prop_assert_eq!(answer(&warm.evaluate(&request)), answer(&cold.evaluate(&request)));
    }
}

/// Whatever budget is left when the papers are read.
#[test]
fn reading_what_is_known_costs_what_reading_does() {
    let example = Example::new();
    let mut policy = example.world.policy().unwrap();
    let again = "odrl:prohibition [ odrl:action odrl:delete ; odrl:target <https://alice.pod.example/kept> ]";
    policy.push_str(&format!("<{}> {again} ; {again} ; {again} .", crate::worked_example::MANDATE_POLICY));
    let mut draft = example.world.mandate_draft().unwrap();
    draft.policy = policy;
    let mut ask = example.ask();
    ask.credentials = vec![draft.issue().unwrap()];
    let presentation = ask.presentation().unwrap();
    let limits = Limits::default();
    let facts = KnownFacts::new(usize::MAX);
    let learning = Known::new(&facts, digest_of_limits(&limits));
    Presentation::read_knowing(&presentation, &limits, &mut Budget::new(&limits), &learning).unwrap();
    learning.keep();
    let mut outcomes = Vec::new();
    for calls in 0..40 {
        for canonicalizations in 0..6 {
            let lowered = Limits { canonicalization_calls: calls, canonicalizations, ..limits.clone() };
            let (mut cold, mut warm) = (Budget::new(&lowered), Budget::new(&lowered));
            let without = Presentation::read(&presentation, &limits, &mut cold);
            let with = Presentation::read_knowing(
                &presentation,
                &limits,
                &mut warm,
                &Known::new(&facts, digest_of_limits(&limits)),
            );
            assert_eq!(with.as_ref().err(), without.as_ref().err(), "{calls} {canonicalizations}");
            assert_eq!(warm, cold, "{calls} {canonicalizations}");
            outcomes.push(with.is_ok());
        }
    }
    assert!(outcomes.contains(&true) && outcomes.contains(&false));
}

#[test]
fn a_key_that_was_rotated_refuses_what_the_old_one_signed() {
    let example = Example::new();
    let warm = example.warm();
    let mut request = example.request(&warm, &example.ask());
    let document = example.world.text("credentials/controllers/alice.json").unwrap();
    let old = example.world.alice.public_key().to_multikey();
    let new = example.world.mallory.public_key().to_multikey();
    assert!(document.contains(&old));
    let mut controllers = ControllerDocuments::default();
    controllers.insert(ALICE, serde_json::from_str(&document.replace(&old, &new)).unwrap(), example.now);
    request.snapshot.controllers = Arc::new(controllers);
    assert_eq!(reason(&warm.evaluate(&request)), Some(Reason::InvalidSignature));
    // And a key that is no longer listed.
    request.snapshot.controllers = Arc::default();
    assert_eq!(reason(&warm.evaluate(&request)), Some(Reason::IssuerMismatch));
}

/// The proof of a known credential stands for nothing else, and no other proof stands for the known one.
#[test]
fn a_known_signature_is_over_its_own_octets_alone() {
    let example = Example::new();
    let warm = example.warm();
    let mut other_paper = example.ask();
    other_paper.credentials[0]["validUntil"] = json!("2035-12-31T00:00:00Z");
    let mut other_signature = example.ask();
    let value = &mut other_signature.credentials[0]["proof"]["proofValue"];
    let last = if value.as_str().unwrap().ends_with('2') { "3" } else { "2" };
    *value = format!("{}{last}", &value.as_str().unwrap()[..value.as_str().unwrap().len() - 1]).into();
    let mut draft = example.world.mandate_draft().unwrap();
    let mut jose = example.ask();
    jose.credentials = vec![draft.issue_jose().unwrap()];
    assert!(matches!(warm.evaluate(&example.request(&warm, &jose)).outcome, Outcome::Granted(_)));
    draft.valid_until = draft.valid_until.map(|end| end - chrono::TimeDelta::days(1));
    let parts = [draft.issue_jose().unwrap(), jose.credentials[0].clone()];
    let [other, known] = parts.each_ref().map(|jws| jws.as_str().unwrap().rsplit_once('.').unwrap());
    jose.credentials = vec![format!("{}.{}", other.0, known.1).into()];
    for (name, ask) in [("paper", other_paper), ("signature", other_signature), ("JWS", jose)] {
        let evaluation = warm.evaluate(&example.request(&warm, &ask));
        assert_eq!(reason(&evaluation), Some(Reason::InvalidSignature), "{name}");
    }
}

#[test]
fn time_and_revocation_are_asked_behind_what_is_known() {
    let example = Example::new();
    let warm = example.warm();
    let credential = example.world.mandate().unwrap();
    let mut revoked = example.request(&warm, &example.ask());
    Arc::make_mut(&mut revoked.snapshot.memory)
        .revoked
        .ids
        .insert(credential["id"].as_str().unwrap().to_owned());
    assert_eq!(reason(&warm.evaluate(&revoked)), Some(Reason::Revoked));
    let later = Example { now: "2040-01-01T00:00:00Z".parse().unwrap(), ..Example::new() };
    let engine = later.engine(|_| ()).with_known(warm.known());
    assert_eq!(reason(&engine.evaluate(&later.request(&engine, &later.ask()))), Some(Reason::Expired));
    assert!(matches!(warm.evaluate(&example.request(&warm, &example.ask())).outcome, Outcome::Granted(_)));
}

#[test]
fn another_profile_or_other_limits_do_not_know_the_same_octets() {
    let example = Example::new();
    let paper = example.world.mandate().unwrap();
    let limits = Limits::default();
    let facts = KnownFacts::new(usize::MAX);
    let reads = |profile: Profile, limits: &Limits| {
        let (known, mut read) = (Known::new(&facts, digest_of_limits(limits)), false);
        let mut budget = Budget::new(limits);
        let credential = known.credential(profile, &paper, &mut budget, |budget| {
            read = true;
            Credential::read(&paper, limits, budget)
        });
        assert!(credential.is_ok());
        known.keep();
        read
    };
    assert!(reads(Profile::JsonLd, &limits));
    assert!(!reads(Profile::JsonLd, &limits));
    assert!(reads(Profile::ContextFree, &limits));
    assert!(reads(Profile::JsonLd, &Limits { triples: 500, ..limits }));
}

#[test]
fn another_media_type_does_not_know_the_same_octets() {
    let example = Example::new();
    let text = example.world.policy().unwrap();
    let limits = Limits::default();
    let facts = KnownFacts::new(usize::MAX);
    let reads = |media_type: RdfMediaType| {
        let (known, mut read) = (Known::new(&facts, digest_of_limits(&limits)), false);
        let policy = known.policy(&text, media_type, || {
            read = true;
            Ok(Policy::read(&crate::rdf::parse_graph(&text, RdfMediaType::Turtle, &limits).unwrap(), &limits))
        });
        assert!(policy.unwrap().is_ok());
        known.keep();
        read
    };
    assert!(reads(RdfMediaType::Turtle));
    assert!(!reads(RdfMediaType::Turtle));
    assert!(reads(RdfMediaType::JsonLd));
}

#[test]
fn what_was_not_verified_leaves_nothing() {
    let example = Example::new();
    let engine = example.engine(|_| ());
    let mut forged = example.ask();
    forged.credentials[0]["validUntil"] = json!("2035-12-31T00:00:00Z");
    let mut unanswered = example.ask();
    unanswered.nonce = "another-challenge".to_owned();
    let mut draft = example.world.mandate_draft().unwrap();
    draft.key = example.world.mallory.clone();
    let mut own_root = example.ask();
    own_root.credentials = vec![draft.issue().unwrap()];
    // A forged paper in the second of two chains: composition refuses it, after the first was verified.
    let mut composed = example.ask();
    let chain = example.world.composed_chain().unwrap();
    composed.credentials = chain.iter().map(|draft| draft.issue().unwrap()).collect();
    composed.credentials[2]["validUntil"] = json!("2035-12-31T00:00:00Z");
    for (ask, expected) in [
        (forged, Reason::InvalidSignature),
        (composed, Reason::IdentityCompositionFailed),
        (unanswered, Reason::ChallengeMismatch),
        // Its signature is good, and its chain starts with somebody whom nobody trusts.
        (own_root, Reason::BindingMismatch),
    ] {
        assert_eq!(reason(&engine.evaluate(&example.request(&engine, &ask))), Some(expected));
        assert_eq!(engine.known().len(), 0, "{expected:?}");
    }
    // A verified chain leaves its facts, whatever its policies say of the request.
    let ask = example.world.ask(Intent::read("https://alice.pod.example/other"), example.now).unwrap();
    assert_eq!(reason(&engine.evaluate(&example.request(&engine, &ask))), Some(Reason::PolicyDenied));
    assert_eq!(engine.known().len(), 5);
}

#[test]
fn a_panic_at_any_stage_empties_what_is_known() {
    let example = Example::new();
    for stage in Stage::PIPELINE.into_iter().filter(|stage| *stage != Stage::Admission) {
        let engine = example.warm();
        let request = example.request(&engine, &example.ask());
        let evaluation = engine.evaluate_watched(&request, &mut |entered| assert_ne!(entered, stage));
        assert_eq!(reason(&evaluation), Some(Reason::Internal));
        assert_eq!((engine.known().len(), engine.known().octets()), (0, 0), "{stage:?}");
        assert!(matches!(engine.evaluate(&request).outcome, Outcome::Granted(_)));
    }
}

#[test]
fn a_poisoned_lock_neither_stops_nor_allows_anything() {
    let example = Example::new();
    let engine = example.warm();
    engine.known().poison();
    let mut forged = example.ask();
    forged.credentials[0]["validUntil"] = json!("2035-12-31T00:00:00Z");
    assert_eq!(reason(&engine.evaluate(&example.request(&engine, &forged))), Some(Reason::InvalidSignature));
    assert_eq!(engine.known().len(), 0);
    let request = example.request(&engine, &example.ask());
    assert!(matches!(engine.evaluate(&request).outcome, Outcome::Granted(_)));
    assert_eq!(engine.known().len(), 5);
}

#[test]
fn what_is_known_stays_within_its_octets() {
    let example = Example::new();
    let paper = example.world.mandate().unwrap();
    let one = {
        let engine = example.warm();
        engine.known().octets()
    };
    // More than the paper's own octets, which its graph holds several times.
    assert!(one > paper.to_string().len() * 4, "{one}");
    let engine = example.engine(|config| config.cache_bytes = one * 3);
    let mut asks = (0..6).map(|number| {
        let mut ask = example.ask();
        ask.credentials = vec![example.mandate(&format!("urn:uuid:{number}"), PolicyBinding::Embedded)];
        ask
    });
    for ask in asks.by_ref() {
        let request = example.request(&engine, &ask);
        assert!(matches!(engine.evaluate(&request).outcome, Outcome::Granted(_)));
        assert!(engine.known().octets() <= one * 3);
        assert!(engine.known().len() > 0);
    }
    // Those used last are left.
    assert!((8..=14).contains(&engine.known().len()), "{}", engine.known().len());
    let none = example.engine(|config| config.cache_bytes = 0);
    let request = example.request(&none, &example.ask());
    assert!(matches!(none.evaluate(&request).outcome, Outcome::Granted(_)));
    assert_eq!(none.known().len(), 0);
}

/// What a JWS is signed over is kept with it, and its author can make that as long as a message.
#[test]
fn the_octets_of_a_jws_are_counted() {
    let example = Example::new();
    let octets_with = |padding: usize| {
        let draft = example.world.mandate_draft().unwrap().jws().unwrap();
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let payload = draft.payload.to_string() + &" ".repeat(padding);
        let (header, payload) = (encode(&draft.header.to_string()), encode(&payload));
        let mut ask = example.ask();
        ask.credentials = vec![JwsDraft::compact_octets(&draft.key, &header, &payload).into()];
        let engine = example.engine(|_| ());
        let evaluation = engine.evaluate(&example.request(&engine, &ask));
        assert!(matches!(evaluation.outcome, Outcome::Granted(_)), "{:?}", evaluation.outcome);
        engine.known().octets()
    };
    assert!(octets_with(300_000) >= octets_with(0) + 400_000);
}

/// A language tag may be as long as a term.
#[test]
fn the_octets_of_language_tags_are_counted() {
    let tagged = |tag: &str| {
        let mut graph = Graph::new();
        let label = oxrdf::Literal::new_language_tagged_literal("a", tag).unwrap();
        let label_of = oxrdf::NamedNode::new("urn:label").unwrap();
        graph.insert(&oxrdf::Triple::new(label_of.clone(), label_of, label));
        octets_of_graph(&graph)
    };
    let long = format!("en{}", "-abcdefgh".repeat(1_000));
    assert!(tagged(&long) >= tagged("en") + 9_000);
}

#[test]
fn a_presentation_is_as_large_as_its_parts_together() {
    let example = Example::new();
    let mut ask = example.ask();
    ask.credentials.push(example.mandate("urn:uuid:2", PolicyBinding::Embedded));
    let presentation = ask.presentation().unwrap();
    let (quads, _) = quads_of_parts(&presentation).unwrap();
    let blank_nodes: BTreeSet<String> = quads
        .iter()
        .flat_map(|quad| [quad.subject.to_string(), quad.object.to_string(), quad.graph_name.to_string()])
        .filter(|term| term.starts_with("_:"))
        .collect();
    let read = |limits: &Limits| {
        let facts = KnownFacts::new(usize::MAX);
        let known = || Known::new(&facts, digest_of_limits(limits));
        let learning = known();
        let cold =
            Presentation::read_knowing(&presentation, limits, &mut Budget::new(limits), &learning).err();
        learning.keep();
        let warm = Presentation::read_knowing(&presentation, limits, &mut Budget::new(limits), &known());
        assert_eq!(warm.err(), cold);
        cold.map(|error| error.reason)
    };
    for (most, of) in [
        (quads.len(), (|triples| Limits { triples, ..Limits::default() }) as fn(usize) -> Limits),
        (blank_nodes.len(), |blank_nodes| Limits { blank_nodes, ..Limits::default() }),
    ] {
        assert_eq!(read(&of(most)), None);
        // Each paper alone is far below it, and then one is not.
        for less in [1, 2, most / 4, most / 2] {
            assert_eq!(read(&of(most - less)), Some(Reason::LimitExceeded), "{less} below {most}");
        }
    }
}
