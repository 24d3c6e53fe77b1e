//! The presentation on its own: form, proof, challenge, domain, holder, age, naming.

use super::*;
use crate::credential::controller::KeySource;
use crate::credential::issue::{Presenting, present};
use crate::credential::presentation::{Expected, VerifiedPresentation};
use crate::credential::presentation_graph::Presentation;
use crate::protocol::Binding;
use crate::request::Actor;
use crate::vocab::cred;
use chrono::TimeDelta;

const NONCE: &str = "nonce-of-16-octets";
const BOUND: &str = "wgb1.the-bound-challenge";
const DOMAIN: &str = "https://server.example";

/// A mandate of the issuer to the holder.
fn held() -> Value {
    issue_mandate(&issuer(), &terms(&holder().did_key()), now()).unwrap()
}

fn presenting() -> Presenting<'static> {
    Presenting { challenge: NONCE, domain: DOMAIN, created: now(), expires: None }
}

fn presentation() -> Value {
    present(&holder(), &[held()], &presenting()).unwrap()
}

/// The options of a presentation's proof by `key`.
fn vp_options(key: &SigningKey) -> Map<String, Value> {
    let mut options = options(key, "authentication");
    options.insert("challenge".to_owned(), json!(NONCE));
    options.insert("domain".to_owned(), json!(DOMAIN));
    options
}

/// The presentation signed again by the holder, with changed options.
fn with_options(change: impl FnOnce(&mut Map<String, Value>)) -> Value {
    let mut options = vp_options(&holder());
    change(&mut options);
    signed_with(presentation(), &holder(), options)
}

fn read_presentation(document: &Value) -> Result<Presentation, Reason> {
    Presentation::read(document, &Limits::default(), &mut budget()).map_err(|error| error.reason)
}

fn check_under(
    document: &Value,
    change: impl FnOnce(&mut Expected<'_>),
) -> Result<VerifiedPresentation, Reason> {
    let documents = ControllerDocuments::default();
    let actor = Actor::Authenticated(holder().did_key());
    let mut expected = Expected {
        nonce: Some(NONCE),
        issued: None,
        bound: Some(BOUND),
        binding: Binding::Accepted,
        domain: Some(DOMAIN),
        actor: &actor,
        keys: KeySource { documents: &documents, now: now(), max_age: TimeDelta::days(1) },
        max_age: TimeDelta::minutes(5),
        skew: TimeDelta::seconds(30),
    };
    change(&mut expected);
    VerifiedPresentation::check(read_presentation(document)?, &expected).map_err(|error| error.reason)
}

fn check(document: &Value) -> Result<VerifiedPresentation, Reason> {
    check_under(document, |_| ())
}

fn reason(document: &Value) -> Option<Reason> {
    check(document).err()
}

/// A change of the good presentation is refused when it is read.
fn malformed(name: &str, change: impl FnOnce(&mut Value)) {
    let mut document = presentation();
    change(&mut document);
    assert_eq!(read_presentation(&document).err(), Some(Reason::Malformed), "{name}");
}

#[test]
fn a_good_presentation_is_verified() {
    let verified = check(&presentation()).unwrap();
    assert_eq!(verified.holder(), holder().did_key());
    assert_eq!((verified.nonce(), verified.domain(), verified.is_bound()), (NONCE, DOMAIN, false));
    assert_eq!(verified.created(), now());
    assert_eq!(verified.not_after(), now() + TimeDelta::minutes(5));
    assert_eq!(verified.credentials().len(), 1);
}

#[test]
fn several_credentials_with_proof_sets_are_read_as_each_reads_alone() {
    let mut document = held();
    let mut second = options(&issuer(), "assertionMethod");
    second.insert("id".to_owned(), json!("urn:uuid:00000000-0000-4000-8000-00000000000b"));
    let second = signed_with(held(), &issuer(), second)["proof"].clone();
    document["proof"] = json!([document["proof"], second]);
    let unnamed = issue_mandate(&issuer(), &Mandate { id: None, ..terms(&holder().did_key()) }, now());
    let document = present(&holder(), &[document, unnamed.unwrap()], &presenting()).unwrap();
    assert_eq!(check(&document).unwrap().credentials().len(), 2);
}

#[test]
fn a_credential_of_an_unknown_suite_is_left_to_phase_a() {
    let mut document = held();
    document["proof"]["cryptosuite"] = json!("ecdsa-sd-2023");
    let document = present(&holder(), &[document], &presenting()).unwrap();
    assert!(check(&document).is_ok());
}

#[test]
fn at_least_one_credential() {
    malformed("none", |document| {
        document.as_object_mut().unwrap().remove("verifiableCredential");
    });
    malformed("an empty array", |document| document["verifiableCredential"] = json!([]));
}

#[test]
fn credentials_are_objects_with_their_own_context() {
    malformed("an IRI", |document| document["verifiableCredential"] = json!(["urn:uuid:1"]));
    malformed("a JWT", |document| document["verifiableCredential"] = json!("eyJhbGciOiJub25lIn0.e30."));
    malformed("no context", |document| {
        document["verifiableCredential"][0].as_object_mut().unwrap().remove("@context");
    });
    malformed("enveloped", |document| {
        document["verifiableCredential"] = json!({
            "@context": cred::CONTEXT_V2,
            "id": "data:application/vc+jwt,eyJhbGciOiJub25lIn0.e30.",
            "type": "EnvelopedVerifiableCredential",
        });
    });
    malformed("another profile beside", |document| {
        let credential = document["verifiableCredential"][0].clone();
        let mut free = credential.clone();
        free.as_object_mut().unwrap().remove("@context");
        document["verifiableCredential"] = json!([credential, free]);
    });
}

#[test]
fn a_presentation_without_a_context_is_malformed() {
    malformed("context-free", |document| {
        document.as_object_mut().unwrap().remove("@context");
    });
}

#[test]
fn nothing_else_is_a_fact_of_a_presentation() {
    malformed("a name", |document| document["holder"] = json!({"id": holder().did_key(), "name": "Agent"}));
    malformed("another type", |document| {
        document["type"] = json!(["VerifiablePresentation", "JsonSchema"]);
    });
    malformed("no type", |document| document["type"] = json!("JsonSchema"));
    malformed("two holders", |document| document["holder"] = json!([holder().did_key(), issuer().did_key()]));
    malformed("a blank holder", |document| document["holder"] = json!({"name": "Agent"}));
    malformed("terms of use", |document| document["termsOfUse"] = json!({"id": "urn:terms"}));
    malformed("a fact about the policy", |document| {
        document["holder"] = json!({
            "id": holder().did_key(),
            "http://www.w3.org/ns/odrl/2/partOf": {"@id": "https://data.example/all"},
        });
    });
}

#[test]
fn an_aliased_member_is_not_a_way_to_add_a_credential() {
    malformed("an alias", |document| {
        let context = json!({"more": {"@id": cred::HAS_CREDENTIAL, "@type": "@id", "@container": "@graph"}});
        document["@context"] = json!([cred::CONTEXT_V2, context]);
        document["more"] = held();
    });
    malformed("only an alias", |document| {
        let context = json!({"more": {"@id": cred::HAS_CREDENTIAL, "@type": "@id"}});
        document["@context"] = json!([cred::CONTEXT_V2, context]);
        let credential = document["verifiableCredential"].take();
        document.as_object_mut().unwrap().remove("verifiableCredential");
        document["more"] = credential;
    });
    malformed("the whole IRI", |document| document[cred::HAS_CREDENTIAL] = json!({"@id": "urn:more"}));
}

#[test]
fn a_blank_label_shared_between_papers_is_malformed() {
    let labelled = |id: &str| {
        let mut document = held();
        document["id"] = json!(id);
        document["credentialSubject"]["policy"] = json!({
            "@id": "_:shared",
            "http://www.w3.org/ns/odrl/2/uid": {"@id": format!("{id}:policy")},
        });
        signed(document)
    };
    let mut document = presentation();
    document["verifiableCredential"] = json!([labelled("urn:a")]);
    assert!(read_presentation(&document).is_ok());
    document["verifiableCredential"] = json!([labelled("urn:a"), labelled("urn:b")]);
    assert_eq!(read_presentation(&document).err(), Some(Reason::Malformed));
}

#[test]
fn limits_are_counted_before_anything_is_parsed() {
    let limits = Limits::default();
    let mut document = presentation();
    document["verifiableCredential"] = json!(vec![json!({}); limits.credentials + 1]);
    assert_eq!(read_presentation(&document).err(), Some(Reason::LimitExceeded));
    let mut document = presentation();
    document["verifiableCredential"][0]["proof"] = json!(vec![json!({}); limits.proofs]);
    assert_eq!(read_presentation(&document).err(), Some(Reason::LimitExceeded));
}

#[test]
fn exactly_one_proof() {
    let mut document = presentation();
    let proof = document["proof"].take();
    document.as_object_mut().unwrap().remove("proof");
    assert_eq!(reason(&document), Some(Reason::NoProof));
    document["proof"] = json!([proof]);
    assert_eq!(reason(&document), None);
    let of_stranger = signed_with(presentation(), &stranger(), vp_options(&stranger()))["proof"].clone();
    for proofs in [json!([proof, of_stranger]), json!([of_stranger, proof])] {
        document["proof"] = proofs;
        assert_eq!(reason(&document), Some(Reason::Malformed));
    }
}

#[test]
fn another_suite_is_unknown() {
    let mut document = presentation();
    document["proof"]["cryptosuite"] = json!("ecdsa-sd-2023");
    assert_eq!(reason(&document), Some(Reason::UnknownCryptosuite));
}

#[test]
fn the_purpose_is_authentication() {
    let document = with_options(|options| options["proofPurpose"] = json!("assertionMethod"));
    assert_eq!(reason(&document), Some(Reason::ProofPurposeMismatch));
}

#[test]
fn respelled_options_are_refused_or_read_alike() {
    let respelled = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut document = presentation();
        change(document["proof"].as_object_mut().unwrap());
        check(&document)
    };
    // The same graph: read alike.
    assert!(respelled(&|proof| proof["challenge"] = json!([NONCE])).is_ok());
    assert!(respelled(&|proof| proof["domain"] = json!({"@value": DOMAIN})).is_ok());
    assert!(respelled(&|proof| proof["type"] = json!(["DataIntegrityProof"])).is_ok());
    // Another graph: refused.
    let malformed = |change: &dyn Fn(&mut Map<String, Value>)| {
        assert_eq!(respelled(change).err(), Some(Reason::Malformed));
    };
    malformed(&|proof| proof["challenge"] = json!([NONCE, "another"]));
    malformed(&|proof| proof["domain"] = json!([DOMAIN, "https://other.example"]));
    malformed(&|proof| proof["domain"] = json!(["https://other.example", DOMAIN]));
    malformed(&|proof| proof["challenge"] = json!({"@value": NONCE, "@language": "en"}));
    malformed(&|proof| proof["challenge"] = json!({"@id": "urn:nonce-of-16-octets"}));
    malformed(&|proof| {
        proof.insert("@context".to_owned(), json!({"answer": "https://w3id.org/security#challenge"}));
    });
}

#[test]
fn remapped_option_terms_are_refused() {
    let remap = |context: Value, change: &dyn Fn(&mut Map<String, Value>)| {
        let mut document = presentation();
        document["@context"] = json!([cred::CONTEXT_V2, context]);
        change(document["proof"].as_object_mut().unwrap());
        reason(&document)
    };
    let elsewhere = json!({"challenge": "https://other.example/challenge"});
    assert!(remap(elsewhere, &|_| ()).is_none_or(|reason| reason == Reason::Malformed));
    // A second challenge under an alias, which the proof would have to be made over.
    let alias = json!({"answer": "https://w3id.org/security#challenge"});
    assert_eq!(
        remap(alias, &|proof| {
            proof.insert("answer".to_owned(), json!("another"));
        }),
        Some(Reason::Malformed)
    );
    let alias = json!({"answer": "https://other.example/answer"});
    assert_eq!(
        remap(alias, &|proof| {
            proof.insert("answer".to_owned(), json!("another"));
        }),
        Some(Reason::InvalidSignature)
    );
}

#[test]
fn the_servers_challenge_must_be_usable() {
    for nonce in [None, Some(""), Some("fifteen-octets."), Some("wgi1.0123456789abcdef"), Some(BOUND)] {
        let refused = check_under(&presentation(), |expected| expected.nonce = nonce);
        assert_eq!(refused.err(), Some(Reason::ChallengeUnknown), "{nonce:?}");
    }
}

#[test]
fn another_or_no_challenge_is_a_mismatch() {
    let other = with_options(|options| options["challenge"] = json!("nonce-of-16-octetz"));
    assert_eq!(reason(&other), Some(Reason::ChallengeMismatch));
    let case = with_options(|options| options["challenge"] = json!(NONCE.to_uppercase()));
    assert_eq!(reason(&case), Some(Reason::ChallengeMismatch));
    let none = with_options(|options| {
        options.remove("challenge");
    });
    assert_eq!(reason(&none), Some(Reason::ChallengeMismatch));
}

#[test]
fn a_bound_challenge_stands_for_the_nonce_of_its_message_alone() {
    let document = with_options(|options| options["challenge"] = json!(BOUND));
    let verified = check(&document).unwrap();
    assert_eq!((verified.nonce(), verified.is_bound()), (NONCE, true));
    let elsewhere = check_under(&document, |expected| expected.bound = Some("wgb1.another-message"));
    assert_eq!(elsewhere.err(), Some(Reason::ChallengeMismatch));
    assert_eq!(
        check_under(&document, |expected| expected.bound = None).err(),
        Some(Reason::ChallengeMismatch)
    );
}

#[test]
fn a_plain_challenge_is_refused_where_binding_is_required() {
    let refused = check_under(&presentation(), |expected| expected.binding = Binding::Required);
    assert_eq!(refused.err(), Some(Reason::ChallengeMismatch));
    let bound = with_options(|options| options["challenge"] = json!(BOUND));
    assert!(check_under(&bound, |expected| expected.binding = Binding::Required).is_ok());
}

#[test]
fn another_or_no_domain_is_a_mismatch() {
    let other = with_options(|options| options["domain"] = json!("https://server.example/"));
    assert_eq!(reason(&other), Some(Reason::DomainMismatch));
    let none = with_options(|options| {
        options.remove("domain");
    });
    assert_eq!(reason(&none), Some(Reason::DomainMismatch));
    let unconfigured = check_under(&presentation(), |expected| expected.domain = None);
    assert_eq!(unconfigured.err(), Some(Reason::DomainMismatch));
}

#[test]
fn the_holder_is_stated_and_is_the_actor() {
    let mut document = presentation();
    document.as_object_mut().unwrap().remove("holder");
    let document = signed_with(document, &holder(), vp_options(&holder()));
    assert_eq!(reason(&document), Some(Reason::HolderUnverified));
    let actor = Actor::Authenticated(stranger().did_key());
    let documents = ControllerDocuments::default();
    let keys = KeySource { documents: &documents, now: now(), max_age: TimeDelta::days(1) };
    let expected = Expected {
        nonce: Some(NONCE),
        issued: None,
        bound: None,
        binding: Binding::Accepted,
        domain: Some(DOMAIN),
        actor: &actor,
        keys,
        max_age: TimeDelta::minutes(5),
        skew: TimeDelta::zero(),
    };
    let verify = |expected: &Expected<'_>| {
        let presentation = read_presentation(&presentation()).unwrap();
        VerifiedPresentation::check(presentation, expected).map_err(|error| error.reason).err()
    };
    assert_eq!(verify(&expected), Some(Reason::HolderUnverified));
    assert_eq!(verify(&Expected { actor: &Actor::Unauthenticated, ..expected }), None);
}

#[test]
fn the_key_is_the_holders_own_for_authentication() {
    let document = signed_with(presentation(), &stranger(), vp_options(&stranger()));
    assert_eq!(reason(&document), Some(Reason::HolderUnverified));
    let key = holder().with_controller("https://agent.example/id", "https://agent.example/keys#k1");
    let mandate = issue_mandate(&issuer(), &terms(key.controller()), now()).unwrap();
    let document = present(&key, &[mandate], &presenting()).unwrap();
    let verify = |change: &dyn Fn(&mut Value), retrieved: &str| {
        let mut of_holder = key.controller_document();
        change(&mut of_holder);
        let mut documents = ControllerDocuments::default();
        documents.insert(key.controller(), of_holder, instant(retrieved));
        let actor = Actor::Authenticated(key.controller().to_owned());
        let keys = KeySource { documents: &documents, now: now(), max_age: TimeDelta::days(1) };
        let expected = Expected {
            nonce: Some(NONCE),
            issued: None,
            bound: None,
            binding: Binding::Accepted,
            domain: Some(DOMAIN),
            actor: &actor,
            keys,
            max_age: TimeDelta::minutes(5),
            skew: TimeDelta::zero(),
        };
        VerifiedPresentation::check(read_presentation(&document)?, &expected).map_err(|error| error.reason)
    };
    let verified = verify(&|_| (), NOW).unwrap();
    assert_eq!(verified.not_after(), now() + TimeDelta::minutes(5));
    let aging = verify(&|_| (), "2026-06-30T12:01:00Z").unwrap();
    assert_eq!(aging.not_after(), now() + TimeDelta::minutes(1));
    let expires = |end: &'static str| {
        move |document: &mut Value| document["verificationMethod"][0]["expires"] = json!(end)
    };
    let expiring = verify(&expires("2026-07-01T12:00:01Z"), NOW).unwrap();
    assert_eq!(expiring.not_after(), now() + TimeDelta::nanoseconds(999_999_999));
    let unlisted = |document: &mut Value| document["authentication"] = json!([]);
    assert_eq!(verify(&unlisted, NOW).err(), Some(Reason::HolderUnverified));
    assert_eq!(verify(&|_| (), "2026-06-01T00:00:00Z").err(), Some(Reason::HolderUnverified));
}

#[test]
fn a_key_of_another_type_is_an_invalid_signature() {
    let multikey = crate::credential::key::encode_base58btc(&[&[0x80, 0x24][..], &[2; 33]].concat());
    let did = format!("did:key:{multikey}");
    let mut document = presentation();
    document["holder"] = json!(did);
    let mut options = vp_options(&holder());
    options["verificationMethod"] = json!(format!("{did}#{multikey}"));
    let document = signed_with(document, &holder(), options);
    let refused = check_under(&document, |expected| expected.actor = &Actor::Unauthenticated);
    assert_eq!(refused.err(), Some(Reason::InvalidSignature));
}

#[test]
fn a_changed_presentation_is_an_invalid_signature() {
    let mut document = presentation();
    document["proof"]["created"] = json!("2026-07-01T12:00:01Z");
    assert_eq!(reason(&document), Some(Reason::InvalidSignature));
    let mut document = presentation();
    document["id"] = json!("urn:uuid:added");
    assert_eq!(reason(&document), Some(Reason::InvalidSignature));
    let mut document = presentation();
    let other = issue_mandate(&issuer(), &Mandate { id: None, ..terms(&holder().did_key()) }, now());
    document["verifiableCredential"] = json!([other.unwrap()]);
    assert_eq!(reason(&document), Some(Reason::InvalidSignature));
}

#[test]
fn an_unsigned_extra_option_is_refused() {
    let document = with_options(|options| {
        options.insert("previousProof".to_owned(), json!("urn:uuid:1"));
    });
    assert_eq!(reason(&document), Some(Reason::InvalidSignature));
}

#[test]
fn a_presentation_has_an_age() {
    let created = |text: &str| reason(&with_options(|options| options["created"] = json!(text)));
    assert_eq!(created("2026-07-01T11:55:00Z"), None);
    assert_eq!(created("2026-07-01T11:54:59.999Z"), Some(Reason::PresentationTooOld));
    assert_eq!(created("2026-07-01T12:00:30Z"), None);
    assert_eq!(created("2026-07-01T12:00:30.001Z"), Some(Reason::PresentationNotYetValid));
    let none = with_options(|options| {
        options.remove("created");
    });
    assert_eq!(reason(&none), Some(Reason::PresentationTooOld));
}

#[test]
fn a_presentation_may_end_early() {
    let expires = |text: &str| {
        check(&with_options(|options| {
            options.insert("expires".to_owned(), json!(text));
        }))
    };
    assert_eq!(expires("2026-07-01T11:59:59Z").err(), Some(Reason::Expired));
    assert_eq!(expires(NOW).unwrap().not_after(), now());
    assert_eq!(expires("2026-07-01T12:01:00Z").unwrap().not_after(), now() + TimeDelta::minutes(1));
    assert_eq!(expires("2026-07-01T13:00:00Z").unwrap().not_after(), now() + TimeDelta::minutes(5));
}

#[test]
fn every_credential_names_the_holder_or_leads_to_it() {
    let agent = |seed: u8| SigningKey::from_seed([seed; 32]);
    let mandate = |from: u8, to: &SigningKey| {
        issue_mandate(&agent(from), &Mandate { id: None, ..terms(&to.did_key()) }, now()).unwrap()
    };
    let naming = |credentials: &[Value]| reason(&present(&holder(), credentials, &presenting()).unwrap());
    // A chain, in any order.
    let chain = [mandate(10, &agent(11)), mandate(11, &agent(12)), mandate(12, &holder())];
    assert_eq!(naming(&chain), None);
    assert_eq!(naming(&[chain[2].clone(), chain[0].clone(), chain[1].clone()]), None);
    // The holder's own.
    let own = issue_mandate(&holder(), &terms(&stranger().did_key()), now()).unwrap();
    assert_eq!(naming(std::slice::from_ref(&own)), None);
    // A stolen paper, alone and beside a good one.
    let stolen = mandate(10, &stranger());
    assert_eq!(naming(std::slice::from_ref(&stolen)), Some(Reason::HolderUnverified));
    assert_eq!(naming(&[chain[2].clone(), stolen]), Some(Reason::HolderUnverified));
    // A missing link, and circles that name only each other.
    assert_eq!(naming(&[chain[0].clone(), chain[2].clone()]), Some(Reason::HolderUnverified));
    let circle = [mandate(10, &agent(11)), mandate(11, &agent(10)), chain[2].clone()];
    assert_eq!(naming(&circle), Some(Reason::HolderUnverified));
    assert_eq!(naming(&[mandate(10, &agent(10)), chain[2].clone()]), Some(Reason::HolderUnverified));
}

#[test]
fn checks_come_in_the_order_of_the_pipeline() {
    // Everything is wrong at first; each step mends what was refused.
    let stolen = issue_mandate(&issuer(), &terms(&stranger().did_key()), now()).unwrap();
    let document = present(&holder(), &[stolen], &presenting()).unwrap();
    let mut options = options(&stranger(), "assertionMethod");
    options["created"] = json!("2026-01-01T00:00:00Z");
    let step = |options: &Map<String, Value>, nonce: Option<&'static str>, broken: bool| {
        let mut document = signed_with(document.clone(), &holder(), options.clone());
        if broken {
            document["proof"]["proofValue"] = json!("z1");
        }
        check_under(&document, |expected| expected.nonce = nonce).err()
    };
    assert_eq!(step(&options, None, true), Some(Reason::ProofPurposeMismatch));
    options["proofPurpose"] = json!("authentication");
    assert_eq!(step(&options, None, true), Some(Reason::ChallengeUnknown));
    assert_eq!(step(&options, Some(NONCE), true), Some(Reason::ChallengeMismatch));
    options.insert("challenge".to_owned(), json!(NONCE));
    assert_eq!(step(&options, Some(NONCE), true), Some(Reason::DomainMismatch));
    options.insert("domain".to_owned(), json!(DOMAIN));
    assert_eq!(step(&options, Some(NONCE), true), Some(Reason::HolderUnverified));
    options["verificationMethod"] = json!(holder().method());
    assert_eq!(step(&options, Some(NONCE), true), Some(Reason::InvalidSignature));
    assert_eq!(step(&options, Some(NONCE), false), Some(Reason::PresentationTooOld));
    options["created"] = json!(NOW);
    assert_eq!(step(&options, Some(NONCE), false), Some(Reason::HolderUnverified));
}
