//! The context-free profile: each rule of `mandate.md` 9.

use super::*;
use crate::credential::context_free::{self, proof_options};
use crate::credential::controller::KeySource;
use crate::credential::key::encode_base58btc;
use crate::credential::presentation::{Expected, VerifiedPresentation};
use crate::credential::presentation_graph::Presentation;
use crate::protocol::Binding;
use crate::rdf::canon;
use crate::request::Actor;
use crate::vocab::{cred, sec, svc};
use chrono::TimeDelta;
use oxrdf::{GraphNameRef, Quad};

pub(super) const CHALLENGE: &str = "nonce-of-16-octets";
pub(super) const DOMAIN: &str = "https://server.example";

pub(super) fn read(document: &Value) -> Result<Credential, Reason> {
    context_free::credential(document, &Limits::default(), &mut budget()).map_err(|error| error.reason)
}

fn read_presentation(document: &Value) -> Result<Presentation, Reason> {
    context_free::presentation(document, &Limits::default(), &mut budget(), &Known::nothing())
        .map_err(|error| error.reason)
}

/// The document with a proof by `key` over `digest`.
fn signed_over(
    mut document: Value,
    digest: Digest,
    key: &SigningKey,
    mut options: Map<String, Value>,
) -> Value {
    let triples = proof_options(&options).unwrap();
    let quads: Vec<Quad> = triples
        .iter()
        .map(|triple| triple.as_ref().in_graph(GraphNameRef::DefaultGraph).into_owned())
        .collect();
    let octets = context_free_octets(key, &quads, digest);
    options.insert("proofValue".to_owned(), json!(encode_base58btc(&key.sign(&octets))));
    document["proof"] = options.into();
    document
}

pub(super) fn signed_by(mut document: Value, key: &SigningKey, options: Map<String, Value>) -> Value {
    document.as_object_mut().unwrap().remove("proof");
    let digest = read(&document).unwrap().digest;
    signed_over(document, digest, key, options)
}

fn signed(document: Value) -> Value {
    signed_by(document, &issuer(), options(&issuer(), "assertionMethod"))
}

/// A mandate of the issuer, without its proof.
pub(super) fn unsigned() -> Value {
    json!({
        "id": "urn:uuid:00000000-0000-4000-8000-000000000001",
        "type": ["VerifiableCredential", "AgentAuthorizationCredential"],
        "issuer": issuer().controller(),
        "validFrom": "2026-01-01T00:00:00Z",
        "validUntil": "2027-01-01T00:00:00Z",
        "credentialSubject": {
            "id": issuer().controller(),
            "authorizes": holder().did_key(),
            "action": ["read", "grantUse"],
            (svc::TARGET): "https://data.example/x",
            "policy": POLICY_IRI,
        },
        "relatedResource": { "id": POLICY_IRI, "digestSRI": "sha256-AA==", "mediaType": "text/turtle" },
    })
}

pub(super) fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut document = unsigned();
    change(&mut document);
    document
}

/// The document with this `key: value` in its subject.
fn saying(member: &str, value: Value) -> Value {
    with(|document| document["credentialSubject"][member] = value)
}

/// The canonical quads whose predicate is `svc:` + `name`, as objects.
fn objects(document: &Value, name: &str) -> Vec<String> {
    let credential = read(document).unwrap();
    let predicate = oxrdf::NamedNode::new(format!("{}{name}", svc::NS)).unwrap();
    let mut objects: Vec<_> =
        credential.graph.triples_for_predicate(&predicate).map(|triple| triple.object.to_string()).collect();
    objects.sort();
    objects
}

fn phase_a(document: &Value) -> Option<Reason> {
    let credential = match read(document) {
        Ok(credential) => credential,
        Err(reason) => return Some(reason),
    };
    credential.verify(&snapshot(), TimeDelta::days(1)).err().map(|error| error.reason)
}

#[track_caller]
fn malformed(name: &str, document: Value) {
    assert_eq!(read(&document).err(), Some(Reason::Malformed), "{name}");
}

#[test]
fn a_credential_is_lowered_as_the_table_says() {
    let credential = read(&unsigned()).unwrap();
    let (issuer, holder) = (issuer().did_key(), holder().did_key());
    let expected = [
        "<https://w3id.org/jeswr/solid-vc#action> \"grantUse\"".to_owned(),
        "<https://w3id.org/jeswr/solid-vc#action> \"read\"".to_owned(),
        format!("<https://w3id.org/jeswr/solid-vc#authorizes> <{holder}>"),
        format!("<https://w3id.org/jeswr/solid-vc#policy> <{POLICY_IRI}>"),
        "<https://w3id.org/jeswr/solid-vc#target> <https://data.example/x>".to_owned(),
    ]
    .map(|line| format!("<{issuer}> {line} .\n"))
    .concat();
    let of_resource = format!(
        "<{POLICY_IRI}> <https://schema.org/encodingFormat> \"text/turtle\" .\n\
         <{POLICY_IRI}> <https://www.w3.org/2018/credentials#digestSRI> \"sha256-AA==\" .\n"
    );
    let of_credential = [
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://w3id.org/jeswr/solid-vc#AgentAuthorizationCredential>".to_owned(),
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://www.w3.org/2018/credentials#VerifiableCredential>".to_owned(),
        format!("<https://www.w3.org/2018/credentials#credentialSubject> <{issuer}>"),
        format!("<https://www.w3.org/2018/credentials#issuer> <{issuer}>"),
        format!("<https://www.w3.org/2018/credentials#relatedResource> <{POLICY_IRI}>"),
        "<https://www.w3.org/2018/credentials#validFrom> \"2026-01-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>".to_owned(),
        "<https://www.w3.org/2018/credentials#validUntil> \"2027-01-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>".to_owned(),
    ]
    .map(|line| format!("<urn:uuid:00000000-0000-4000-8000-000000000001> {line} .\n"))
    .concat();
    let canonical = canon::graph(&credential.graph, &mut budget()).unwrap();
    assert_eq!(canonical, [expected, of_resource, of_credential].concat());
    assert_eq!(credential.digest, Digest::of(canonical));
    assert_eq!(credential.actions, ["grantUse", "read"]);
}

#[test]
fn values_are_lowered_by_their_kind() {
    let integer = |text: &str| format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#integer>");
    let double = |text: &str| format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#double>");
    for (value, expected) in [
        (json!("plain text"), vec!["\"plain text\"".to_owned()]),
        (json!("\u{1F600} \"q\"\n"), vec!["\"\u{1F600} \\\"q\\\"\\n\"".to_owned()]),
        (json!("urn:x:y"), vec!["<urn:x:y>".to_owned()]),
        (json!("9urn:x"), vec!["\"9urn:x\"".to_owned()]),
        (json!(true), vec!["\"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>".to_owned()]),
        (json!(42), vec![integer("42")]),
        (json!(-7), vec![integer("-7")]),
        (json!(5.0), vec![integer("5")]),
        (json!(-0.0), vec![integer("0")]),
        (json!(1e21), vec![integer("1e+21")]),
        (json!(0.1), vec![double("0.1")]),
        (json!(1e-7), vec![double("1e-7")]),
        (json!(null), vec![]),
        (json!([]), vec![]),
        (json!(["a", ["b", null]]), vec!["\"a\"".to_owned(), "\"b\"".to_owned()]),
    ] {
        assert_eq!(objects(&saying("note", value.clone()), "note"), expected, "{value}");
    }
}

#[test]
fn nested_objects_are_blank_nodes_in_which_id_and_type_are_ordinary() {
    let document = saying("note", json!({ "id": "urn:a", "type": "T", "deeper": [{ "x": 1 }, {}] }));
    assert_eq!(objects(&document, "id"), ["<urn:a>"]);
    assert_eq!(objects(&document, "type"), ["\"T\""]);
    assert_eq!(objects(&document, "deeper").len(), 2);
    assert!(objects(&document, "note")[0].starts_with("_:"));
    assert_eq!(objects(&saying("type", json!("T")), "type"), ["\"T\""]);
}

#[test]
fn nesting_is_walked_without_recursion() {
    let deep = (0..100_000).fold(json!("x"), |value, _| Value::Array(vec![value]));
    let document = saying("note", deep);
    assert_eq!(objects(&document, "note"), ["\"x\""]);
    // Dropping a value recurses in the JSON library; the strict reader bounds what a message can hold.
    std::mem::forget(document);
    let many = (0..3000).map(|_| json!({})).collect::<Vec<_>>();
    assert_eq!(read(&saying("note", json!(many))).err(), Some(Reason::LimitExceeded));
}

#[test]
fn a_subject_without_id_is_a_blank_node() {
    let document = with(|document| {
        document["credentialSubject"].as_object_mut().unwrap().remove("id");
    });
    assert_eq!(read(&document).unwrap().subject, None);
}

#[test]
fn types_are_iris_or_names_of_the_vocabulary() {
    let document = with(|document| document["type"] = json!("AgentAuthorizationCredential"));
    assert_eq!(read(&document).unwrap().digest, read(&unsigned()).unwrap().digest);
    let document = with(|document| document["type"] = json!([svc::AGENT_AUTHORIZATION_CREDENTIAL]));
    assert_eq!(read(&document).unwrap().digest, read(&unsigned()).unwrap().digest);
    malformed("of no type", with(|document| document["type"] = json!([])));
    malformed("of another type", with(|document| document["type"] = json!(["VerifiableCredential"])));
    malformed("a type that is no text", with(|document| document["type"] = json!([1])));
    malformed(
        "a type that makes no IRI",
        with(|document| document["type"] = json!(["AgentAuthorizationCredential", "a b"])),
    );
}

/// Threat 25.
#[test]
fn iri_like_values_need_no_escape() {
    for text in [
        "urn:x> <urn:p> <urn:o",
        "urn:x>\u{20}.\n<urn:forged",
        "note: hello world",
        "https://e.example/{a}",
        "https://e.example/a|b",
        "https://e.example/a\\u003E",
        "https://e.example/`",
        "https://e.example/^",
        "https://e.example/\"",
        "urn:\u{0}",
        "urn:\u{7f}",
        "https://[",
        "https://e.example/%zz",
    ] {
        malformed(text, saying("note", json!(text)));
        malformed(text, saying("note", json!([{ "x": text }])));
        malformed(text, saying(text, json!("x")));
        malformed(text, with(|document| document["issuer"] = json!(text)));
        malformed(text, with(|document| document["id"] = json!(text)));
        malformed(text, with(|document| document["credentialSubject"]["id"] = json!(text)));
        malformed(text, with(|document| document["type"] = json!([text, "AgentAuthorizationCredential"])));
        malformed(text, with(|document| document["relatedResource"]["id"] = json!(text)));
    }
    malformed("a name that makes no IRI", saying("a b", json!("x")));
    malformed("a name that closes its IRI", saying("x> <urn:o", json!("x")));
}

#[test]
fn two_members_of_one_predicate_are_malformed() {
    let long = format!("{}note", svc::NS);
    let mut document = saying("note", json!(null));
    document["credentialSubject"][&long] = json!("x");
    malformed("in the subject", document);
    malformed("in a nested object", saying("other", json!({ "note": 1, (long): 2 })));
}

#[test]
fn credential_subject_and_status_entries_have_ids_of_their_own() {
    let id = unsigned()["id"].clone();
    malformed("subject", with(|document| document["credentialSubject"]["id"] = id.clone()));
    let entry = |id: Value| {
        json!({ "id": id, "type": "BitstringStatusListEntry", "statusPurpose": "revocation",
            "statusListIndex": "1", "statusListCredential": "https://s.example/1" })
    };
    malformed("status", with(|document| document["credentialStatus"] = entry(id)));
    let subject = unsigned()["issuer"].clone();
    malformed("status and subject", with(|document| document["credentialStatus"] = entry(subject)));
    let twice = json!([entry(json!("urn:e")), entry(json!("urn:e"))]);
    malformed("two entries", with(|document| document["credentialStatus"] = twice));
    malformed(
        "two subjects",
        with(|document| {
            let subject = document["credentialSubject"].clone();
            document["credentialSubject"] = json!([subject, subject]);
        }),
    );
}

#[test]
fn what_is_not_signed_is_malformed() {
    for (member, value) in [
        ("@context", json!([cred::CONTEXT_V2])),
        ("name", json!("x")),
        ("evidence", json!({})),
        ("termsOfUse", json!(null)),
        ("https://example.org/x", json!(1)),
    ] {
        malformed(member, with(|document| document[member] = value));
    }
    malformed("resource", with(|document| document["relatedResource"]["name"] = json!("x")));
    malformed("entry", with(|document| document["credentialStatus"] = json!({ "statusMessage": "x" })));
}

#[test]
fn members_are_of_their_kinds() {
    for (member, value) in [
        ("id", json!(null)),
        ("id", json!("not an IRI")),
        ("issuer", json!({ "id": "urn:x" })),
        ("issuer", json!(["urn:x"])),
        ("issuer", json!("me")),
        ("validFrom", json!(2026)),
        ("validFrom", json!("2026")),
        ("validUntil", json!("tomorrow")),
        ("credentialSubject", json!("urn:x")),
        ("credentialSubject", json!([])),
        ("credentialStatus", json!("urn:x")),
        ("credentialStatus", json!({ "statusPurpose": 1 })),
        ("credentialStatus", json!({ "statusListIndex": true })),
        ("credentialStatus", json!({ "statusListCredential": "list" })),
        ("relatedResource", json!({ "digestSRI": "x" })),
        ("relatedResource", json!({ "id": "urn:x", "digestSRI": 1 })),
        ("proof", json!("x")),
        ("proof", json!([1])),
    ] {
        malformed(&format!("{member}: {value}"), with(|document| document[member] = value));
    }
    for member in ["id", "type", "issuer", "credentialSubject"] {
        malformed(
            member,
            with(|document| {
                document.as_object_mut().unwrap().remove(member);
            }),
        );
    }
    malformed("a paper that is no object", json!([unsigned()]));
}

#[test]
fn a_status_entry_is_lowered_to_its_class_whatever_its_type_and_the_type_can_only_deny() {
    let entry = |class: Option<Value>| {
        let mut entry = json!({ "statusPurpose": "revocation", "statusListIndex": 7,
            "statusListCredential": "https://s.example/1" });
        if let Some(class) = class {
            entry["type"] = class;
        }
        read(&with(|document| document["credentialStatus"] = entry)).unwrap()
    };
    let good = entry(Some(json!("BitstringStatusListEntry")));
    assert_eq!(good.status[0].types, [cred::STATUS_LIST_ENTRY]);
    assert_eq!(
        (good.status[0].index.as_slice(), good.status[0].purpose.as_slice()),
        (&["7".to_owned()][..], &["revocation".to_owned()][..])
    );
    for class in
        [None, Some(json!("Other")), Some(json!(["BitstringStatusListEntry", "Other"])), Some(json!(null))]
    {
        let other = entry(class.clone());
        assert_eq!(other.digest, good.digest);
        assert_eq!(other.status[0].types.len(), 2, "{class:?}");
    }
    let sized = with(|document| {
        document["credentialStatus"] = json!({ "type": "BitstringStatusListEntry", "statusSize": 2 });
    });
    assert_eq!(read(&sized).unwrap().status[0].size, ["2"]);
}

#[test]
fn status_entries_keep_the_documents_order() {
    let entry = |index: &str| {
        json!({ "type": "BitstringStatusListEntry", "statusPurpose": "revocation",
            "statusListIndex": index, "statusListCredential": "https://s.example/1" })
    };
    let document =
        with(|document| document["credentialStatus"] = json!([entry("9"), entry("1"), entry("5")]));
    let order: Vec<_> = read(&document).unwrap().status.into_iter().flat_map(|entry| entry.index).collect();
    assert_eq!(order, ["9", "1", "5"]);
}

// --- Proofs ---------------------------------------------------------------------------------------------------------

#[test]
fn a_signed_credential_verifies_and_any_change_of_what_is_signed_does_not() {
    assert_eq!(phase_a(&signed(unsigned())), None);
    let mut changed = signed(unsigned());
    changed["credentialSubject"]["action"] = json!("read");
    assert_eq!(phase_a(&changed), Some(Reason::InvalidSignature));
    for (member, value) in [
        ("created", json!("2026-07-01T12:00:01Z")),
        ("proofValue", json!("z1")),
        ("proofValue", json!(null)),
        ("domain", json!("x")),
    ] {
        let mut changed = signed(unsigned());
        changed["proof"][member] = value;
        assert_eq!(phase_a(&changed), Some(Reason::InvalidSignature), "{member}");
    }
}

#[test]
fn a_proof_member_that_the_profile_does_not_sign_is_an_invalid_signature() {
    for (member, value) in [
        ("expires", json!("2030-01-01T00:00:00Z")),
        ("nonce", json!("x")),
        ("id", json!("urn:p")),
        ("previousProof", json!("urn:p")),
        ("@context", json!([])),
    ] {
        let mut document = signed(unsigned());
        document["proof"][member] = value;
        assert_eq!(phase_a(&document), Some(Reason::InvalidSignature), "{member}");
    }
    let mut more = options(&issuer(), "assertionMethod");
    more.insert("challenge".to_owned(), json!("x"));
    assert_eq!(phase_a(&signed_by(unsigned(), &issuer(), more)), Some(Reason::InvalidSignature));
}

#[test]
fn proofs_of_other_kinds_purposes_and_keys_have_their_codes() {
    assert_eq!(phase_a(&unsigned()), Some(Reason::NoProof));
    let changed = |member: &str, value: Value| {
        let mut document = signed(unsigned());
        document["proof"][member] = value;
        phase_a(&document)
    };
    assert_eq!(changed("type", json!("Ed25519Signature2020")), Some(Reason::UnknownCryptosuite));
    assert_eq!(changed("type", json!(["DataIntegrityProof", "x"])), Some(Reason::UnknownCryptosuite));
    assert_eq!(changed("cryptosuite", json!("ecdsa-sd-2023")), Some(Reason::UnknownCryptosuite));
    assert_eq!(changed("proofPurpose", json!("authentication")), Some(Reason::ProofPurposeMismatch));
    assert_eq!(changed("proofPurpose", json!(sec::ASSERTION_METHOD)), Some(Reason::ProofPurposeMismatch));
    assert_eq!(changed("proofPurpose", json!("assertionMethod> <urn:x")), Some(Reason::ProofPurposeMismatch));
    assert_eq!(changed("verificationMethod", json!(stranger().method())), Some(Reason::IssuerMismatch));
    assert_eq!(changed("verificationMethod", json!("key-1")), Some(Reason::Malformed));
    assert_eq!(changed("created", json!("yesterday")), Some(Reason::Malformed));
    let mut other = signed(unsigned());
    other["proof"] = json!({ "type": "Ed25519Signature2020" });
    assert_eq!(phase_a(&other), Some(Reason::UnknownCryptosuite));
    other["proof"] = json!({ "type": "Ed25519Signature2020", "verificationMethod": "key-1", "created": 1 });
    assert_eq!(phase_a(&other), Some(Reason::UnknownCryptosuite));
}

#[test]
fn every_proof_of_a_set_must_hold() {
    let good = signed(unsigned())["proof"].clone();
    let by_stranger =
        signed_by(unsigned(), &stranger(), options(&stranger(), "assertionMethod"))["proof"].clone();
    let mut document = unsigned();
    document["proof"] = json!([good, by_stranger]);
    assert_eq!(phase_a(&document), Some(Reason::IssuerMismatch));
    let many: Vec<_> = (0..33).map(|_| good.clone()).collect();
    document["proof"] = json!(many);
    assert_eq!(phase_a(&document), Some(Reason::LimitExceeded));
}

// --- Presentations --------------------------------------------------------------------------------------------------

fn unsigned_presentation(credentials: Vec<Value>) -> Value {
    json!({
        "id": "urn:uuid:00000000-0000-4000-8000-0000000000ff",
        "holder": holder().controller(),
        "verifiableCredential": credentials,
    })
}

pub(super) fn answer(key: &SigningKey, purpose: &str, challenge: &str, domain: &str) -> Map<String, Value> {
    let mut answer = options(key, purpose);
    answer.insert("challenge".to_owned(), json!(challenge));
    answer.insert("domain".to_owned(), json!(domain));
    answer
}

pub(super) fn presented_by(document: Value, key: &SigningKey, options: Map<String, Value>) -> Value {
    let digest = read_presentation(&document).unwrap().digest;
    signed_over(document, digest, key, options)
}

fn presentation() -> Value {
    let options = answer(&holder(), "authentication", CHALLENGE, DOMAIN);
    presented_by(unsigned_presentation(vec![signed(unsigned())]), &holder(), options)
}

pub(super) fn check_with(document: &Value, documents: &ControllerDocuments, actor: &str) -> Option<Reason> {
    let actor = Actor::Authenticated(actor.to_owned());
    let expected = Expected {
        nonce: Some(CHALLENGE),
        issued: None,
        bound: None,
        binding: Binding::Accepted,
        domain: Some(DOMAIN),
        actor: &actor,
        keys: KeySource { documents, now: now(), max_age: TimeDelta::days(1) },
        max_age: TimeDelta::minutes(5),
        skew: TimeDelta::seconds(30),
    };
    let presentation = match read_presentation(document) {
        Ok(presentation) => presentation,
        Err(reason) => return Some(reason),
    };
    VerifiedPresentation::check(presentation, &expected).err().map(|error| error.reason)
}

fn check(document: &Value) -> Option<Reason> {
    check_with(document, &ControllerDocuments::default(), holder().controller())
}

#[test]
fn a_good_presentation_is_verified_and_covers_its_credentials_with_their_proofs() {
    assert_eq!(check(&presentation()), None);
    let mut changed = presentation();
    changed["verifiableCredential"][0]["proof"]["proofValue"] = json!("z1");
    assert_eq!(check(&changed), Some(Reason::InvalidSignature));
    let mut changed = presentation();
    changed["verifiableCredential"][0]["credentialSubject"]["note"] = json!("x");
    assert_eq!(check(&changed), Some(Reason::InvalidSignature));
    let mut one = presentation();
    one["verifiableCredential"] = one["verifiableCredential"][0].clone();
    assert_eq!(check(&one), None);
}

#[test]
fn a_presentation_does_not_repeat_what_its_credentials_proofs_answer() {
    let digest = |change: &dyn Fn(&mut Value)| {
        let mut paper = signed(unsigned());
        change(&mut paper["proof"]);
        read_presentation(&unsigned_presentation(vec![paper])).unwrap().digest
    };
    let plain = digest(&|_| ());
    assert_eq!(digest(&|proof| proof["challenge"] = json!("x")), plain);
    assert_eq!(digest(&|proof| proof["domain"] = json!("x")), plain);
    assert_ne!(digest(&|proof| proof["created"] = json!("2026-07-01T12:00:01Z")), plain);
}

#[test]
fn the_purpose_of_a_presentation_is_authentication() {
    let options = answer(&holder(), "assertionMethod", CHALLENGE, DOMAIN);
    let document = presented_by(unsigned_presentation(vec![signed(unsigned())]), &holder(), options);
    assert_eq!(check(&document), Some(Reason::ProofPurposeMismatch));
}

#[test]
fn a_listing_under_assertion_method_lets_a_key_present() {
    let (controller, method) = ("https://holder.example/id#it", "https://holder.example/keys#k1");
    let key = holder().with_controller(controller, method);
    let credential = with(|document| document["credentialSubject"]["authorizes"] = json!(controller));
    let mut document = unsigned_presentation(vec![signed(credential)]);
    document["holder"] = json!(controller);
    let document = presented_by(document, &key, answer(&key, "authentication", CHALLENGE, DOMAIN));
    for (kept, expected) in [
        (vec!["assertionMethod"], None),
        (vec!["authentication"], None),
        (vec!["assertionMethod", "authentication"], None),
        (vec![], Some(Reason::HolderUnverified)),
    ] {
        let mut controllers = key.controller_document();
        for member in ["assertionMethod", "authentication"] {
            if !kept.contains(&member) {
                controllers.as_object_mut().unwrap().remove(member);
            }
        }
        let mut documents = ControllerDocuments::default();
        documents.insert(controller, controllers, now());
        assert_eq!(check_with(&document, &documents, controller), expected, "{kept:?}");
    }
}

#[test]
fn presentation_members_are_those_that_are_signed() {
    for (member, value) in [
        ("@context", json!([cred::CONTEXT_V2])),
        ("name", json!("x")),
        ("type", json!("Other")),
        ("type", json!(["VerifiablePresentation", "Other"])),
        ("id", json!("x")),
        ("holder", json!({ "id": "urn:x" })),
        ("verifiableCredential", json!([])),
        ("verifiableCredential", json!(null)),
        ("verifiableCredential", json!("data:application/vc,x")),
        ("verifiableCredential", json!(["urn:x"])),
    ] {
        let mut document = presentation();
        document[member] = value.clone();
        assert_eq!(check(&document), Some(Reason::Malformed), "{member}: {value}");
    }
    for class in [json!("VerifiablePresentation"), json!(["VerifiablePresentation"])] {
        let mut document = presentation();
        document["type"] = class;
        assert_eq!(check(&document), None);
    }
    let mut document = presentation();
    document.as_object_mut().unwrap().remove("holder");
    assert_eq!(check(&document), Some(Reason::HolderUnverified));
    let mut document = presentation();
    document["proof"] = json!([document["proof"], document["proof"]]);
    assert_eq!(check(&document), Some(Reason::Malformed));
}

#[test]
fn two_papers_of_one_id_are_malformed() {
    let paper = signed(unsigned());
    let document = unsigned_presentation(vec![paper.clone(), paper.clone()]);
    assert_eq!(read_presentation(&document).err(), Some(Reason::Malformed));
    let mut document = unsigned_presentation(vec![paper]);
    document["id"] = unsigned()["id"].clone();
    assert_eq!(read_presentation(&document).err(), Some(Reason::Malformed));
}

/// Threat 26.
#[test]
fn profiles_do_not_mix_either_way() {
    let json_ld = mandate();
    let document = unsigned_presentation(vec![json_ld]);
    assert_eq!(read_presentation(&document).err(), Some(Reason::Malformed));
    let document = json!({
        "@context": [cred::CONTEXT_V2],
        "type": ["VerifiablePresentation"],
        "holder": holder().controller(),
        "verifiableCredential": [signed(unsigned())],
    });
    let read = Presentation::read(&document, &Limits::default(), &mut budget());
    assert_eq!(read.err().map(|error| error.reason), Some(Reason::Malformed));
}

#[test]
fn cost_is_bounded_before_anything_is_read() {
    let paper = signed(unsigned());
    let document = unsigned_presentation(vec![paper.clone(); 17]);
    assert_eq!(read_presentation(&document).err(), Some(Reason::LimitExceeded));
    let mut proofs = paper.clone();
    proofs["proof"] = json!(vec![paper["proof"].clone(); 33]);
    assert_eq!(read_presentation(&unsigned_presentation(vec![proofs])).err(), Some(Reason::LimitExceeded));
}
