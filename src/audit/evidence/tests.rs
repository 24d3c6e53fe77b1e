use super::*;
use crate::cli::vectors;
use crate::config::{ConfigBuilder, PolicyStore, RootPrincipals, StickyRequired};
use crate::credential::{ControllerDocuments, StatusLists};
use crate::engine::evaluate_anew;
use crate::limits::Limits;
use crate::protocol::{Binding, ProtocolDocument, ProtocolSettings};
use crate::request::MessageInput;
use crate::source::RevocationFeed;
use crate::worked_example::{Intent, World};
use crate::{Engine, Evaluation};
use serde_json::json;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

type Store = BTreeMap<Digest, Vec<u8>>;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Keeps the evidence of an evaluation.
fn keep(engine: &Engine, request: &Request, evaluation: &Evaluation) -> (EvidenceDigests, Store) {
    let configuration = ConfigurationEvidence::of(engine.config()).unwrap();
    let (consulted, manifest) = (&evaluation.consulted, configuration.manifest);
    let decision =
        DecisionEvidence::of(request, consulted, engine.config(), manifest, EvidenceMode::Full).unwrap();
    let blobs = configuration.blobs.iter().chain(&decision.blobs);
    (decision.digests, blobs.map(|blob| (blob.digest(), blob.octets().to_vec())).collect())
}

fn rebuild(digests: &EvidenceDigests, store: &Store) -> Result<(Arc<Config>, Request), EvidenceError> {
    Rebuilder::new(|digest: &Digest| got(store, digest)).rebuild(digests)
}

fn got(store: &Store, digest: &Digest) -> Result<KeptEvidence, Infallible> {
    Ok(store.get(digest).cloned().map_or(KeptEvidence::Absent, KeptEvidence::Octets))
}

#[track_caller]
fn assert_answered_alike(name: &str, engine: &Engine, request: &Request) {
    let evaluation = engine.evaluate(request);
    let (digests, store) = keep(engine, request, &evaluation);
    let (config, again) = rebuild(&digests, &store).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(config.digest(), engine.config().digest(), "{name}");
    assert_eq!(ConfigurationEvidence::of(&config).unwrap().manifest, digests.configuration, "{name}");
    let answered = evaluate_anew(&again, &config);
    assert_eq!(
        String::from_utf8(answered.report.to_jcs().unwrap()).unwrap(),
        String::from_utf8(evaluation.report.to_jcs().unwrap()).unwrap(),
        "{name}"
    );
    assert_eq!(answered.consulted, evaluation.consulted, "{name}");
}

#[test]
fn every_vector_is_answered_alike_from_its_evidence() {
    let requests = vectors::requests(&repository().join("vectors"));
    assert!(requests.len() > 100, "{}", requests.len());
    for (name, engine, request) in requests {
        assert_answered_alike(&name, &engine, &request);
    }
}

/// A configuration with something other than the default in every setting and every kind of document.
fn unlike_the_default(world: &World, now: Instant) -> Config {
    let mut roots = RootPrincipals::default();
    roots.add("https://alice.pod.example/", crate::worked_example::ALICE).unwrap();
    roots.add("https://bob.pod.example/", crate::worked_example::BOB_OWNER).unwrap();
    let at = |minutes| now - TimeDelta::minutes(minutes);
    let mut controllers = ControllerDocuments::default();
    for (id, document, _) in world.config(now).unwrap().controllers.iter() {
        controllers.insert(id, document.clone(), at(1));
    }
    controllers.insert_retrieved(
        "https://a.example/card",
        json!({ "x": [1.0e-7, 9_007_199_254_740_993u64] }),
        at(2),
    );
    let mut lists = StatusLists::default();
    lists.insert("https://a.example/status/1", "a list", "application/vc", at(3));
    lists.insert("https://a.example/status/2", "a list", "text/turtle", at(4));
    let mut policies = PolicyStore::default();
    policies.add(&world.policy().unwrap(), "text/turtle", at(5), &Limits::default()).unwrap();
    let revocations = "[] a <https://w3id.org/jeswr/odrl-delegation#Revocation> ;
        <https://w3id.org/jeswr/odrl-delegation#revokedPolicy> <https://a.example/policy> .";
    let feed =
        RevocationFeed::of_statements("https://a.example/#me", revocations, "text/turtle", at(6)).unwrap();
    let protocol = world.text("policies/grant-access.ttl").unwrap();
    let settings = ProtocolSettings {
        hash: ProtocolDocument::hash_of(&protocol, "text/turtle", &Limits::default()).unwrap(),
        actions: BTreeMap::from([(
            "https://w3id.org/jeswr/a2a#GrantAction".into(),
            "http://www.w3.org/ns/auth/acl#Control".into(),
        )]),
        parameters: BTreeMap::from([("why".into(), "purpose".into())]),
        security_bearing: false,
        binding: Binding::Required,
        declared: true,
        name: Some("Grant".into()),
        source: Some("https://alice.pod.example/protocols/grant-access".parse().unwrap()),
    };
    let generous = Limits { triples: 1 << 60, ..Limits::default() };
    let protocol = ProtocolDocument::load(&protocol, "text/turtle", settings, &generous).unwrap();
    ConfigBuilder::new(crate::worked_example::DOMAIN, roots)
        .with_protocol(protocol)
        .with_controllers(controllers)
        .with_status_lists(lists)
        .with_policies(policies)
        .with_revocations(feed)
        .with_store_trusted_by_location(true)
        .with_limits(Limits { parts: 7, ..Limits::default() })
        .with_obligation("https://a.example/duty")
        .with_duties_required(true)
        .with_max_life_without_status(TimeDelta::days(3_700) + TimeDelta::nanoseconds(1))
        .with_max_presentation_age(TimeDelta::minutes(4))
        .with_skew(TimeDelta::milliseconds(1_500))
        .with_max_controller_age(TimeDelta::hours(3))
        .with_max_status_age(TimeDelta::minutes(10))
        .with_context_free_credentials(true)
        .with_max_chain_length(3)
        .with_max_actor_hops(0)
        .with_open_intents()
        .with_extension_required(true)
        .with_sticky_required(StickyRequired::Peer)
        .build()
        .unwrap()
}

#[test]
fn a_configuration_comes_back_from_its_manifest_whole() {
    let world = World::open(repository()).unwrap();
    let now = "2026-12-01T12:00:00.123456789Z".parse().unwrap();
    for config in [world.config(now).unwrap(), unlike_the_default(&world, now)] {
        let evidence = ConfigurationEvidence::of(&config).unwrap();
        let store: Store =
            evidence.blobs.iter().map(|blob| (blob.digest(), blob.octets().to_vec())).collect();
        assert_eq!(store.len(), evidence.blobs.len(), "equal documents are one blob");
        let mut rebuilder = Rebuilder::new(|digest: &Digest| got(&store, digest));
        let again = rebuilder.config(evidence.manifest).unwrap();
        assert_eq!(again.digest(), config.digest());
        let evidence_again = ConfigurationEvidence::of(&again).unwrap();
        assert_eq!(evidence_again.manifest, evidence.manifest);
        assert_eq!(evidence_again.blobs, evidence.blobs);
        assert_eq!(again.max_life_without_status, config.max_life_without_status);
        // A second time it is at hand.
        assert!(Arc::ptr_eq(&again, &rebuilder.config(evidence.manifest).unwrap()));
    }
}

fn granted() -> (Engine, Request) {
    let world = World::open(repository()).unwrap();
    let now = "2026-12-01T12:00:00Z".parse().unwrap();
    let config = world.config(now).unwrap();
    let ledger =
        crate::ledger::SqliteLedger::in_memory_first(config.default_domain(), config.skew()).unwrap();
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(crate::SystemClock)).unwrap();
    let message = world.ask(Intent::grant_bob(), now).unwrap().message().unwrap();
    let message = MessageInput::Bytes(serde_json::to_vec(&message).unwrap());
    let snapshot = engine.snapshot(&world.facts(), now).unwrap();
    (engine, Request { message, facts: world.facts(), snapshot })
}

#[test]
fn each_fact_of_a_caller_and_of_a_snapshot_comes_back() {
    let (engine, mut request) = granted();
    let facts = &mut request.facts;
    facts.vouched.insert("spatial".into(), vec!["\"x\"".into(), "<urn:y>".into()]);
    facts.discharged.insert(("urn:a".into(), None));
    facts.discharged.insert(("urn:a".into(), Some("urn:b".into())));
    facts.activated.insert("urn:other".into());
    facts.domain = Some("https://other.example/".into());
    facts.prose_forbidden = true;
    request.snapshot.generation = u64::MAX;
    request.snapshot.instant += TimeDelta::nanoseconds(1);
    request.snapshot.conversation = crate::Conversation {
        agreed: ["sha256:0".to_owned()].into(),
        prose_forbidden: true,
        prose_forbidden_elsewhere: true,
        of_another_peer: true,
    };
    let again = |request: &Request| {
        let (digests, store) = keep(&engine, request, &engine.evaluate(request));
        rebuild(&digests, &store).unwrap().1
    };
    let back = again(&request);
    assert_eq!(format!("{:?}", back.facts), format!("{:?}", request.facts));
    assert_eq!(back.snapshot.generation, u64::MAX);
    assert_eq!(back.snapshot.instant, request.snapshot.instant);
    assert_eq!(back.snapshot.conversation, request.snapshot.conversation);
    request.facts.peer = crate::Peer::Unauthenticated;
    request.facts.actor = crate::Actor::Unauthenticated;
    request.facts.context = None;
    request.facts.challenge = None;
    assert_eq!(format!("{:?}", again(&request).facts), format!("{:?}", request.facts));
}

#[test]
fn a_message_that_came_parsed_is_answered_alike() {
    let (engine, mut request) = granted();
    let MessageInput::Bytes(octets) = &request.message else { panic!() };
    let mut message: a2a::Message = serde_json::from_slice(octets).unwrap();
    let mut judge = |name: &str, message: &a2a::Message| {
        request.message = MessageInput::Typed(Box::new(message.clone()));
        assert_answered_alike(name, &engine, &request);
    };
    judge("granted", &message);
    let numbers =
        json!({ "a": 0.1, "b": 1e300, "c": -1.5e-7, "d": 9_007_199_254_740_991i64, "e": [null, "\u{7}"] });
    message.metadata = Some(numbers.as_object().unwrap().clone().into_iter().collect());
    judge("metadata", &message);
    message.metadata.as_mut().unwrap().insert("f".into(), json!(u64::MAX));
    judge("a number that is not exact", &message);
    message.message_id.clear();
    judge("no id", &message);
    message.parts.clear();
    judge("no parts", &message);
    let deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
    message.metadata = Some([("deep".to_owned(), deep)].into());
    judge("too deep to be written", &message);
}

#[test]
fn every_blob_is_hashed_and_a_missing_one_is_named() {
    let (engine, request) = granted();
    let (digests, store) = keep(&engine, &request, &engine.evaluate(&request));
    assert!(rebuild(&digests, &store).is_ok());
    for digest in store.keys() {
        let mut without = store.clone();
        without.remove(digest);
        let error = rebuild(&digests, &without).unwrap_err();
        assert!(matches!(&error, EvidenceError::Missing { digest: named, .. } if named == digest), "{error}");
        let mut tampered = store.clone();
        tampered.get_mut(digest).unwrap().push(b' ');
        let error = rebuild(&digests, &tampered).unwrap_err();
        assert!(
            matches!(&error, EvidenceError::NotItsDigest { digest: named, .. } if named == digest),
            "{error}"
        );
    }
    let named = |digests: &EvidenceDigests| match rebuild(digests, &store).unwrap_err() {
        EvidenceError::Unreadable { kind, .. } => kind,
        error => panic!("{error}"),
    };
    // Each in the place of another.
    let (message, other) = (digests.message, digests.request);
    assert_eq!(named(&EvidenceDigests { request: message, ..digests.clone() }), BlobKind::Request);
    assert_eq!(named(&EvidenceDigests { configuration: other, ..digests }), BlobKind::Configuration);
}

#[test]
fn evidence_of_another_version_or_with_more_in_it_is_not_read() {
    let (engine, request) = granted();
    let (digests, store) = keep(&engine, &request, &engine.evaluate(&request));
    let with = |of: Digest, change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = serde_json::from_slice(&store[&of]).unwrap();
        change(&mut value);
        let blob = Blob::new(serde_json::to_vec(&value).unwrap());
        let mut store = store.clone();
        store.insert(blob.digest(), blob.octets().to_vec());
        (blob.digest(), store)
    };
    for change in [
        (&|value: &mut serde_json::Value| value["version"] = json!("V9")) as &dyn Fn(&mut serde_json::Value),
        &|value| value["more"] = json!(1),
        &|value| {
            value.as_object_mut().unwrap().remove("version");
        },
    ] {
        let (request, with_request) = with(digests.request, change);
        let error = rebuild(&EvidenceDigests { request, ..digests.clone() }, &with_request).unwrap_err();
        assert!(matches!(error, EvidenceError::Unreadable { kind: BlobKind::Request, .. }), "{error}");
        let (configuration, with_manifest) = with(digests.configuration, change);
        let changed = EvidenceDigests { configuration, ..digests.clone() };
        let error = rebuild(&changed, &with_manifest).unwrap_err();
        assert!(matches!(error, EvidenceError::Unreadable { kind: BlobKind::Configuration, .. }), "{error}");
    }
    // A document under another's entry.
    let (configuration, swapped) = with(digests.configuration, &|value| {
        let other = value["protocols"][1]["document"]["digest"].clone();
        value["protocols"][0]["document"]["digest"] = other;
    });
    let error = rebuild(&EvidenceDigests { configuration, ..digests }, &swapped).unwrap_err();
    assert!(
        matches!(error, EvidenceError::Unreadable { kind: BlobKind::Document("Protocol Document", _), .. }),
        "{error}"
    );
}

#[test]
fn of_messages_that_no_limit_lets_in_and_with_digests_alone_nothing_is_kept() {
    let (engine, mut request) = granted();
    let evaluation = engine.evaluate(&request);
    let of = |request: &Request, mode| {
        DecisionEvidence::of(request, &evaluation.consulted, engine.config(), Digest::of("c"), mode).unwrap()
    };
    let (full, digests) = (of(&request, EvidenceMode::Full), of(&request, EvidenceMode::Digests));
    assert!(full.digests.kept && full.blobs.len() == 2);
    assert!(!digests.digests.kept && digests.blobs.is_empty());
    assert_eq!(full.digests, EvidenceDigests { kept: true, ..digests.digests });
    let large = vec![b'x'; Limits::default().message_bytes + 1];
    let digest = Digest::of(&large);
    request.message = MessageInput::Bytes(large);
    let large = of(&request, EvidenceMode::Full);
    assert!(!large.digests.kept && large.blobs.is_empty());
    assert_eq!(large.digests.message, digest);
}

/// Threat 39.
#[test]
fn a_reader_gets_no_message_whose_presentation_may_still_be_good() {
    let recorded: Instant = "2026-12-01T12:00:00Z".parse().unwrap();
    let usable_for = TimeDelta::minutes(6);
    let message = Blob::new(*b"a message");
    let read =
        |seconds| for_reader(message.clone(), recorded, usable_for, recorded + TimeDelta::seconds(seconds));
    let withheld = ForReader::Withheld { digest: message.digest(), until: recorded + usable_for };
    // By a clock that was set back, too.
    for seconds in [-86_400, 0, 359, 360] {
        assert_eq!(read(seconds), withheld);
    }
    assert_eq!(read(361), ForReader::Octets(message.clone()));
    let never = for_reader(message.clone(), recorded, TimeDelta::MAX, recorded + TimeDelta::days(365));
    assert!(matches!(never, ForReader::Withheld { .. }));
}
