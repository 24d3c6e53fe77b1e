//! Papers in a JWS (`vc+jwt`, `vp+jwt`), as whole messages: what is granted, and one refusal for each header member, each
//! claim and each part of the form (threats 24 and 26).

use crate::support::{self, assert_allowed, assert_granted, engine, noon, octets, reason, refused};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use writgate::credential::issue::{
    self, DigestForm, Mandate, MandatePolicy, Presenting, SigningKey, issue_mandate_jose, present_jose,
};
use writgate::credential::{ControllerDocuments, KeyType, StatusLists};
use writgate::limits::Limits;
use writgate::worked_example::{
    ALICE, Ask, DOMAIN, JwsDraft, MANDATE_POLICY, MandateDraft, NONCE, PolicyBinding, World,
};
use writgate::{Actor, Engine, Evaluation, Outcome, Reason, Request, Stage};

const TYPES: [KeyType; 3] = [KeyType::Ed25519, KeyType::P256, KeyType::P384];
const METHOD: &str = "https://alice.pod.example/profile#key";

fn key(key_type: KeyType, seed: u8) -> SigningKey {
    let octets = vec![seed; if key_type == KeyType::P384 { 48 } else { 32 }];
    SigningKey::from_secret(key_type, &octets).unwrap()
}

// The example is the same in every test of this file, and its files are read once.

fn world() -> World {
    static WORLD: LazyLock<World> = LazyLock::new(support::world);
    WORLD.clone()
}

fn grant() -> Ask {
    static GRANT: LazyLock<Ask> = LazyLock::new(support::grant);
    GRANT.clone()
}

fn draft() -> MandateDraft {
    static DRAFT: LazyLock<MandateDraft> = LazyLock::new(|| world().mandate_draft().unwrap());
    DRAFT.clone()
}

/// The allowed grant, its papers in JWSs.
fn jose_grant() -> Ask {
    Ask { credentials: vec![credential().into()], ..grant() }
}

/// Evaluates at noon, with whatever is different about the request.
fn evaluate_as(message: &Value, change: impl FnOnce(&mut Request)) -> Evaluation {
    static ENGINE: LazyLock<Engine> = LazyLock::new(engine);
    let snapshot = ENGINE.snapshot(&world().facts(), noon()).unwrap();
    let mut request = Request { message: octets(message), facts: world().facts(), snapshot };
    change(&mut request);
    ENGINE.evaluate(&request)
}

fn evaluate(message: &Value) -> Evaluation {
    evaluate_as(message, |_| ())
}

/// The grant under a presentation that was changed before it was signed.
fn presented(change: impl FnOnce(&mut JwsDraft)) -> Evaluation {
    let ask = jose_grant();
    let mut draft = ask.presentation_draft().unwrap();
    change(&mut draft);
    evaluate(&ask.with_presentation(Some(draft.compact().unwrap().into())))
}

/// The grant under a credential that was changed before it was signed.
fn issued(change: impl FnOnce(&mut JwsDraft)) -> Evaluation {
    let mut draft = draft().jws().unwrap();
    change(&mut draft);
    with_credential(&draft.compact().unwrap())
}

fn with_credential(jws: &str) -> Evaluation {
    evaluate(&Ask { credentials: vec![json!(jws)], ..grant() }.message().unwrap())
}

fn with_presentation(jws: impl Into<Value>) -> Evaluation {
    evaluate(&jose_grant().with_presentation(Some(jws.into())))
}

fn presentation() -> String {
    static TOKEN: LazyLock<Value> = LazyLock::new(|| jose_grant().presentation().unwrap());
    TOKEN.as_str().unwrap().to_owned()
}

fn credential() -> String {
    static TOKEN: LazyLock<Value> = LazyLock::new(|| draft().issue_jose().unwrap());
    TOKEN.as_str().unwrap().to_owned()
}

fn set(object: &mut Value, name: &str, value: Value) {
    let members = object.as_object_mut().unwrap();
    if value.is_null() {
        members.remove(name);
    } else {
        members.insert(name.to_owned(), value);
    }
}

/// Alice with a key of another type, which her controller document lists.
fn alice(key_type: KeyType) -> SigningKey {
    key(key_type, 11).with_controller(ALICE, METHOD)
}

/// Alice's document as it would list that key.
fn document_of(alice: &SigningKey) -> impl FnOnce(&mut Request) {
    let mut documents = ControllerDocuments::default();
    documents.insert(ALICE, alice.controller_document(), noon());
    move |request| request.snapshot.controllers = Arc::new(documents)
}

#[test]
fn papers_in_a_jws_are_granted() {
    assert_granted(&evaluate(&jose_grant().message().unwrap()));
    let bound = evaluate(&Ask { bound: true, ..jose_grant() }.message().unwrap());
    assert_granted(&bound);
    assert!(!bound.report.marks.contains("unbound"));
    let reading = Ask { credentials: vec![draft().issue_jose().unwrap()], ..support::read() };
    assert_granted(&evaluate(&reading.message().unwrap()));
}

#[test]
fn a_policy_is_bound_in_a_jws_as_it_is_anywhere() {
    let by_digest = MandateDraft { binding: PolicyBinding::Digest, ..draft() };
    let mut ask = Ask { credentials: vec![by_digest.issue_jose().unwrap()], ..grant() };
    let with = |ask: &Ask| evaluate(&ask.message().unwrap());
    assert_eq!(reason(with(&ask)), Reason::PolicyIntegrity);
    ask.policies = vec![(world().policy().unwrap(), "text/turtle".to_owned())];
    let evaluation = with(&ask);
    assert_granted(&evaluation);
    ask.policies[0].0.push('\n');
    assert_eq!(reason(with(&ask)), Reason::PolicyIntegrity);
    let bare = MandateDraft { binding: PolicyBinding::BareIri, ..draft() };
    let ask = Ask { credentials: vec![bare.issue_jose().unwrap()], ..grant() };
    assert_eq!(reason(with(&ask)), Reason::PolicyIntegrity);
    // An embedded policy is the same policy in either form of paper, and its digest says so.
    let policy = |evaluation: Evaluation| evaluation.report.chain[0].policy_digest;
    assert_eq!(
        policy(evaluate(&jose_grant().message().unwrap())),
        policy(evaluate(&grant().message().unwrap()))
    );
}

#[test]
fn every_algorithm_is_granted_for_issuer_and_holder() {
    for issuer in TYPES.map(alice) {
        for holder in TYPES.map(|key_type| key(key_type, 12)) {
            let draft = draft();
            let draft = MandateDraft {
                policy: draft.policy.replace(&world().agent_id(), &holder.did_key()),
                authorizes: holder.did_key(),
                key: issuer.clone(),
                ..draft
            };
            let ask = Ask { credentials: vec![draft.issue_jose().unwrap()], key: holder.clone(), ..grant() };
            let evaluation = evaluate_as(&ask.message().unwrap(), |request| {
                request.facts.actor = Actor::Authenticated(holder.did_key());
                document_of(&issuer)(request);
            });
            assert_granted(&evaluation);
        }
    }
}

#[test]
fn a_did_jwk_issues_and_presents() {
    // A key that is its own document, as JOSE's users write it.
    let secret = p256::ecdsa::SigningKey::from_slice(&[12; 32]).unwrap();
    let point = secret.verifying_key().to_encoded_point(false);
    let encode = |octets: &[u8]| URL_SAFE_NO_PAD.encode(octets);
    let jwk = json!({
        "kty": "EC", "crv": "P-256", "x": encode(point.x().unwrap()), "y": encode(point.y().unwrap()),
    });
    let did = format!("did:jwk:{}", encode(jwk.to_string().as_bytes()));
    let holder = key(KeyType::P256, 12).with_controller(did.clone(), format!("{did}#0"));
    let policy = draft().policy.replace(&world().agent_id(), &did);
    let draft = MandateDraft { policy, authorizes: did.clone(), ..draft() };
    let mut ask = Ask { credentials: vec![draft.issue_jose().unwrap()], key: holder.clone(), ..grant() };
    let judged = |ask: &Ask| {
        evaluate_as(&ask.message().unwrap(), |request| {
            request.facts.actor = Actor::Authenticated(did.clone());
        })
    };
    assert_granted(&judged(&ask));
    ask.key = holder.with_controller(did.clone(), format!("{did}#1"));
    assert_eq!(reason(judged(&ask)), Reason::HolderUnverified);
}

/// Alice mandates an organisation, which mandates the agent; both in a JWS, of two algorithms.
fn two_hops() -> (MandateDraft, MandateDraft) {
    let organisation = key(KeyType::P384, 13);
    let (name, agent) = (organisation.did_key(), world().agent_id());
    let policy = draft().policy;
    let to_bob =
        "odrl:permission [ odrl:action acl:Control ; odrl:target <https://alice.pod.example/notes/> ;
        odrl:constraint [ odrl:leftOperand odrl:recipient ; odrl:operator odrl:eq ;
            odrl:rightOperand <https://bob.example/profile#me> ] ]";
    let on = "odrl:permission [ odrl:action odrl:grantUse ; odrl:target <https://alice.pod.example/notes/> ]";
    let prefixes: String =
        policy.lines().filter(|line| line.starts_with("PREFIX")).collect::<Vec<_>>().join("\n");
    let root = MandateDraft {
        authorizes: name.clone(),
        policy: format!(
            "{prefixes}\n<{MANDATE_POLICY}> a odrl:Agreement ; odrl:assigner <{ALICE}> ; odrl:assignee <{name}> ; {to_bob} ; {on} ."
        ),
        ..draft()
    };
    let leaf = MandateDraft {
        id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000002".to_owned(),
        key: organisation,
        policy: format!(
            "{prefixes}\n<urn:leaf> a odrl:Agreement ; odrl:assigner <{name}> ; odrl:assignee <{agent}> ;
                <https://w3id.org/jeswr/odrl-delegation#delegatedUnder> <{MANDATE_POLICY}> ; {to_bob} ."
        ),
        ..draft()
    };
    (root, leaf)
}

#[test]
fn a_chain_of_two_in_jws_grants_in_either_order() {
    let (root, leaf) = two_hops();
    let mut papers = vec![root.issue_jose().unwrap(), leaf.issue_jose().unwrap()];
    for _ in 0..2 {
        let ask = Ask { credentials: papers.clone(), ..grant() };
        let evaluation = evaluate(&ask.message().unwrap());
        assert_granted(&evaluation);
        assert_eq!(evaluation.report.chain.len(), 2);
        papers.reverse();
    }
    let ask = Ask { credentials: papers[..1].to_vec(), ..grant() };
    assert_eq!(reason(evaluate(&ask.message().unwrap())), Reason::HolderUnverified);
    // The same paper twice is one policy under two credentials.
    papers.push(papers[1].clone());
    let ask = Ask { credentials: papers, ..grant() };
    assert_eq!(reason(evaluate(&ask.message().unwrap())), Reason::BindingMismatch);
}

/// What may be wrong with a header, whichever the paper: the member, its value, the reason.
fn wrong_headers() -> Vec<(&'static str, Value, Reason)> {
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    let mut wrong = vec![
        ("alg", Value::Null, Reason::Malformed),
        ("alg", json!(["EdDSA"]), Reason::Malformed),
        ("kid", Value::Null, Reason::Malformed),
        ("kid", json!(7), Reason::Malformed),
        ("kid", json!("key-1"), Reason::Malformed),
        ("kid", json!("#key"), Reason::Malformed),
        ("typ", Value::Null, Reason::Malformed),
        ("cty", json!("JWT"), Reason::Malformed),
        ("cty", json!("vc+jwt"), Reason::Malformed),
        ("cty", json!(["vc"]), Reason::Malformed),
        ("crit", json!(["exp"]), Reason::Malformed),
        ("crit", json!([]), Reason::Malformed),
        ("b64", json!(true), Reason::Malformed),
        ("b64", json!(false), Reason::Malformed),
        ("jku", json!("https://mallory.example/keys"), Reason::Malformed),
        ("jwk", jwk, Reason::Malformed),
        ("x5u", json!("https://mallory.example/cert"), Reason::Malformed),
        ("x5c", json!(["MIIB"]), Reason::Malformed),
        ("x5t", json!("AAAA"), Reason::Malformed),
        ("x5t#S256", json!("AAAA"), Reason::Malformed),
        ("zip", json!("DEF"), Reason::Malformed),
        ("iss", json!(ALICE), Reason::Malformed),
        ("epk", json!({}), Reason::Malformed),
        ("unknown", json!(1), Reason::Malformed),
        // Another curve's algorithm is known, and not the key's.
        ("alg", json!("ES256"), Reason::InvalidSignature),
        ("alg", json!("ES384"), Reason::InvalidSignature),
    ];
    for algorithm in [
        "none", "None", "NONE", "", "HS256", "HS384", "HS512", "RS256", "PS256", "ES512", "ES256K",
        "Ed25519", "eddsa", "EDDSA", "es256", "EdDSA ",
    ] {
        wrong.push(("alg", json!(algorithm), Reason::UnknownCryptosuite));
    }
    for typ in [
        "vc",
        "vp",
        "JWT",
        "jwt",
        "VC+JWT",
        "VP+JWT",
        "application/vc+jwt",
        "application/vp+jwt",
        "vc+sd-jwt",
        "vc+ld+jwt",
    ] {
        wrong.push(("typ", json!(typ), Reason::Malformed));
    }
    wrong
}

#[test]
fn a_header_says_nothing_but_what_it_must() {
    for (name, value, expected) in wrong_headers() {
        let of_presentation = presented(|draft| set(&mut draft.header, name, value.clone()));
        assert_eq!(reason(of_presentation), expected, "presentation: {name} {value}");
        let of_credential = issued(|draft| set(&mut draft.header, name, value.clone()));
        assert_eq!(reason(of_credential), expected, "credential: {name} {value}");
    }
    // Each type is the other paper's.
    assert_eq!(reason(presented(|draft| draft.header["typ"] = json!("vc+jwt"))), Reason::Malformed);
    assert_eq!(reason(issued(|draft| draft.header["typ"] = json!("vp+jwt"))), Reason::Malformed);
    assert_eq!(reason(presented(|draft| draft.header["cty"] = json!("vc"))), Reason::Malformed);
    assert_eq!(reason(issued(|draft| draft.header["cty"] = json!("vp"))), Reason::Malformed);
    // `cty` may be left out.
    assert_granted(&presented(|draft| set(&mut draft.header, "cty", Value::Null)));
    assert_granted(&issued(|draft| set(&mut draft.header, "cty", Value::Null)));
}

#[test]
fn the_kid_is_the_issuers_and_the_holders_own_method() {
    let stranger = world().mallory;
    for kid in [
        stranger.did_key_method(),
        stranger.did_key(),
        "https://mallory.example/profile#key".to_owned(),
        "urn:x".to_owned(),
    ] {
        let holder = presented(|draft| draft.header["kid"] = json!(kid));
        assert_eq!(reason(holder), Reason::HolderUnverified, "{kid}");
        let issuer = issued(|draft| draft.header["kid"] = json!(kid));
        assert_eq!(reason(issuer), Reason::IssuerMismatch, "{kid}");
    }
    // The right name over the wrong key.
    assert_eq!(reason(presented(|draft| draft.key = stranger.clone())), Reason::InvalidSignature);
    assert_eq!(reason(issued(|draft| draft.key = stranger.clone())), Reason::InvalidSignature);
    // A fragment that is not the did:key's own.
    let other = format!("{}#key-1", world().agent_id());
    assert_eq!(reason(presented(|draft| draft.header["kid"] = json!(other))), Reason::HolderUnverified);
}

#[test]
fn each_key_lends_itself_to_what_its_document_lists() {
    let message = jose_grant().message().unwrap();
    for listed in ["authentication", "keyAgreement"] {
        let mut document = world().alice.controller_document();
        document[listed] = json!([METHOD]);
        set(&mut document, "assertionMethod", Value::Null);
        let mut documents = ControllerDocuments::default();
        documents.insert(ALICE, document, noon());
        let evaluation = evaluate_as(&message, |request| request.snapshot.controllers = Arc::new(documents));
        assert_eq!(reason(evaluation), Reason::IssuerMismatch, "{listed}");
    }
    // A holder whose document lists its key for assertions only.
    let holder = world().agent.with_controller("https://agent.example/id", "https://agent.example/id#key");
    let draft = draft();
    let policy = draft.policy.replace(&world().agent_id(), holder.controller());
    let draft = MandateDraft { policy, authorizes: holder.controller().to_owned(), ..draft };
    let ask = Ask { credentials: vec![draft.issue_jose().unwrap()], key: holder.clone(), ..grant() };
    for (listed, granted) in [("authentication", true), ("assertionMethod", false)] {
        let mut document = holder.controller_document();
        for member in ["authentication", "assertionMethod"] {
            set(&mut document, member, if member == listed { json!([holder.method()]) } else { Value::Null });
        }
        let evaluation = evaluate_as(&ask.message().unwrap(), |request| {
            let mut documents = (*request.snapshot.controllers).clone();
            documents.insert(holder.controller(), document, noon());
            request.snapshot.controllers = Arc::new(documents);
            request.facts.actor = Actor::Authenticated(holder.controller().to_owned());
        });
        match granted {
            true => assert_granted(&evaluation),
            false => assert_eq!(reason(evaluation), Reason::HolderUnverified),
        }
    }
}

#[test]
fn an_hmac_with_the_public_key_is_no_signature() {
    let public = world().agent.public_key_multibase();
    for algorithm in ["HS256", "EdDSA", "ES256", "none"] {
        let mut draft = jose_grant().presentation_draft().unwrap();
        draft.header["alg"] = json!(algorithm);
        let token = draft.compact().unwrap();
        let signing_input = token.rsplit_once('.').unwrap().0;
        let octets = hmac_sha256(public.as_bytes(), signing_input.as_bytes());
        for signature in [URL_SAFE_NO_PAD.encode(octets), String::new()] {
            let evaluation = with_presentation(format!("{signing_input}.{signature}"));
            let expected = match algorithm {
                "EdDSA" | "ES256" => Reason::InvalidSignature,
                _ => Reason::UnknownCryptosuite,
            };
            assert_eq!(reason(evaluation), expected, "{algorithm}");
        }
    }
}

/// RFC 2104 over SHA-256.
fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    use sha2::{Digest as _, Sha256};
    let pad = |mask: u8| {
        let mut block = [mask; 64];
        block.iter_mut().zip(key).for_each(|(octet, key)| *octet ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}

type OtherForm = (&'static str, fn(&str, &str, &str) -> String, Reason);

/// Ways to write a JWS that are not its one compact form: each name, and what it makes of the three parts.
fn other_forms() -> Vec<OtherForm> {
    use Reason::{InvalidSignature, Malformed};
    vec![
        ("two parts", |h, p, _| format!("{h}.{p}"), Malformed),
        ("one part", |h, _, _| h.to_owned(), Malformed),
        ("nothing", |_, _, _| String::new(), Malformed),
        ("four parts", |h, p, s| format!("{h}.{p}.{s}.AA"), Malformed),
        ("five parts, as an encrypted token", |h, p, s| format!("{h}.{p}.{s}.AA.AA"), Malformed),
        ("a detached payload", |h, _, s| format!("{h}..{s}"), Malformed),
        ("no header", |_, p, s| format!(".{p}.{s}"), Malformed),
        ("no signature", |h, p, _| format!("{h}.{p}."), InvalidSignature),
        (
            "a short signature",
            |h, p, s| format!("{h}.{p}.{}", s.chars().take(84).collect::<String>()),
            InvalidSignature,
        ),
        ("a long signature", |h, p, s| format!("{h}.{p}.{s}AAAA"), InvalidSignature),
        ("a very long signature", |h, p, s| format!("{h}.{p}.{}", s.repeat(100)), InvalidSignature),
        ("a disclosure behind", |h, p, s| format!("{h}.{p}.{s}~"), InvalidSignature),
        ("a padded header", |h, p, s| format!("{h}=.{p}.{s}"), Malformed),
        ("a padded payload", |h, p, s| format!("{h}.{p}=.{s}"), Malformed),
        ("a padded signature", |h, p, s| format!("{h}.{p}.{s}=="), InvalidSignature),
        ("a blank before", |h, p, s| format!(" {h}.{p}.{s}"), Malformed),
        ("a line end behind", |h, p, s| format!("{h}.{p}.{s}\n"), InvalidSignature),
        ("a line end within", |h, p, s| format!("{h}.{p}\n.{s}"), Malformed),
        ("a blank within", |h, p, s| format!("{h} .{p}.{s}"), Malformed),
        ("an unused bit of the signature", |h, p, s| format!("{h}.{p}.{}", twin(s)), InvalidSignature),
        (
            "the standard alphabet",
            |h, p, s| {
                let octets = URL_SAFE_NO_PAD.decode(s).unwrap();
                let standard = STANDARD_NO_PAD.encode(octets);
                assert_ne!(standard, s, "the example's signature has a character of its own alphabet");
                format!("{h}.{p}.{standard}")
            },
            InvalidSignature,
        ),
        (
            "the JSON serialization",
            |h, p, s| json!({"protected": h, "payload": p, "signature": s}).to_string(),
            Malformed,
        ),
        (
            "the general JSON serialization",
            |h, p, s| json!({"payload": p, "signatures": [{"protected": h, "signature": s}]}).to_string(),
            Malformed,
        ),
        (
            "the payload in the clear",
            |h, p, s| {
                let octets = URL_SAFE_NO_PAD.decode(p).unwrap();
                format!("{h}.{}.{s}", String::from_utf8(octets).unwrap())
            },
            Malformed,
        ),
    ]
}

/// The last character with one of its unused bits set.
fn twin(part: &str) -> String {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let last = part.chars().last().unwrap();
    let next = ALPHABET.chars().nth(ALPHABET.find(last).unwrap() + 1).unwrap();
    let kept: String = part.chars().take(part.chars().count() - 1).collect();
    format!("{kept}{next}")
}

fn parts(jws: &str) -> [&str; 3] {
    let parts: Vec<&str> = jws.split('.').collect();
    parts.try_into().unwrap()
}

#[test]
fn a_jws_has_one_form() {
    let (presentation, credential) = (presentation(), credential());
    for (name, write, expected) in other_forms() {
        let [header, payload, signature] = parts(&presentation);
        let token = write(header, payload, signature);
        assert_eq!(reason(with_presentation(token)), expected, "presentation: {name}");
        let [header, payload, signature] = parts(&credential);
        let token = write(header, payload, signature);
        assert_eq!(reason(with_credential(&token)), expected, "credential: {name}");
    }
}

/// Signs parts that are octets of any kind.
fn signed(key: &SigningKey, header: &[u8], payload: &[u8]) -> String {
    // A JWS of the same key whose parts are these, made by replacing both before the signature is computed.
    JwsDraft::compact_octets(key, &URL_SAFE_NO_PAD.encode(header), &URL_SAFE_NO_PAD.encode(payload))
}

#[test]
fn header_and_payload_are_strict_json_in_canonical_base64url() {
    let draft = jose_grant().presentation_draft().unwrap();
    let (header, payload) = (draft.header.to_string(), draft.payload.to_string());
    assert_granted(&with_presentation(signed(&draft.key, header.as_bytes(), payload.as_bytes())));
    let twice = |text: &str, member: &str| text.replacen('{', &format!("{{{member},"), 1).into_bytes();
    let wrong: Vec<(&str, Vec<u8>, Vec<u8>)> = vec![
        ("alg twice", twice(&header, r#""alg":"none""#), payload.clone().into()),
        ("alg twice, escaped", twice(&header, r#""\u0061lg":"none""#), payload.clone().into()),
        ("kid twice", twice(&header, r#""kid":"did:key:x""#), payload.clone().into()),
        ("nonce twice", header.clone().into(), twice(&payload, r#""nonce":"another""#)),
        ("holder twice", header.clone().into(), twice(&payload, r#""holder":"did:key:x""#)),
        ("an array for a header", b"[]".to_vec(), payload.clone().into()),
        ("a text for a payload", header.clone().into(), b"\"x\"".to_vec()),
        ("no octets", header.clone().into(), Vec::new()),
        ("two values", header.clone().into(), format!("{payload}{payload}").into()),
        ("a byte order mark", header.clone().into(), format!("\u{feff}{payload}").into()),
        ("no UTF-8", header.clone().into(), [payload.as_bytes(), &[0xff]].concat()),
        ("a comment", header.clone().into(), format!("{payload}//").into()),
    ];
    for (name, header, payload) in wrong {
        let token = signed(&draft.key, &header, &payload);
        assert_eq!(reason(with_presentation(token)), Reason::Malformed, "{name}");
    }
    // Encodings that another decoder would take, over a signature of their own octets.
    let header_text = (0..3)
        .map(|blanks| format!("{header}{}", " ".repeat(blanks)))
        .find(|text| text.len() % 3 != 0)
        .unwrap();
    let encoded = URL_SAFE_NO_PAD.encode(&header_text);
    let payload = URL_SAFE_NO_PAD.encode(&payload);
    let token = JwsDraft::compact_octets(&draft.key, &encoded, &payload);
    assert_granted(&with_presentation(token));
    for other in [URL_SAFE.encode(&header_text), twin(&encoded), format!("{encoded}\n")] {
        let token = JwsDraft::compact_octets(&draft.key, &other, &payload);
        assert_eq!(reason(with_presentation(token)), Reason::Malformed, "{other}");
    }
}

#[test]
fn a_presentations_claims_are_what_was_asked() {
    use Reason::{
        ChallengeMismatch, DomainMismatch, Expired, HolderUnverified, Malformed, PresentationNotYetValid,
        PresentationTooOld,
    };
    let at = |seconds: i64| json!((noon() + TimeDelta::seconds(seconds)).timestamp());
    let stranger = world().mallory.did_key();
    let wrong: Vec<(&str, Value, Reason)> = vec![
        ("nonce", Value::Null, ChallengeMismatch),
        ("nonce", json!("n-0000000000000000"), ChallengeMismatch),
        ("nonce", json!(format!("{NONCE} ")), ChallengeMismatch),
        ("nonce", json!([NONCE]), Malformed),
        ("aud", Value::Null, DomainMismatch),
        ("aud", json!("https://bob.pod.example/agent"), DomainMismatch),
        ("aud", json!([DOMAIN]), Malformed),
        ("aud", json!([DOMAIN, "https://bob.pod.example/agent"]), Malformed),
        ("iat", Value::Null, PresentationTooOld),
        ("iat", at(-3600), PresentationTooOld),
        ("iat", at(3600), PresentationNotYetValid),
        ("iat", json!(noon().to_rfc3339()), Malformed),
        ("iat", json!(-1), Malformed),
        ("iat", json!(1.5), Malformed),
        ("iat", json!(9_007_199_254_740_992u64), Malformed),
        ("exp", Value::Null, Malformed),
        ("exp", at(-1), Expired),
        ("exp", at(0), Expired),
        ("exp", json!("2036-01-01T00:00:00Z"), Malformed),
        ("exp", json!(4e9 + 0.5), Malformed),
        ("iss", json!(stranger), Malformed),
        ("iss", json!([world().agent_id()]), Malformed),
        ("jti", json!("urn:uuid:1"), Malformed),
        ("holder", Value::Null, HolderUnverified),
        ("holder", json!(stranger), HolderUnverified),
        ("holder", json!("agent"), Malformed),
        ("holder", json!([world().agent_id()]), Malformed),
        ("holder", json!({"id": world().agent_id(), "name": "Agent"}), Malformed),
        ("holder", json!({"name": "Agent"}), Malformed),
        ("id", json!("presentation"), Malformed),
        ("id", json!(7), Malformed),
        ("sub", json!(world().agent_id()), Malformed),
        ("nbf", at(-10), Malformed),
        ("cnf", json!({"kid": world().agent.did_key_method()}), Malformed),
        ("vp", json!({}), Malformed),
        ("proof", json!({}), Malformed),
        ("termsOfUse", json!({}), Malformed),
        ("unknown", json!(1), Malformed),
        ("type", json!(["VerifiablePresentation", "Other"]), Malformed),
        ("type", json!("VerifiableCredential"), Malformed),
        ("type", Value::Null, Malformed),
        ("@context", Value::Null, Malformed),
        ("@context", json!(["https://www.w3.org/2018/credentials/v1"]), Malformed),
        ("@context", json!(["https://www.w3.org/ns/credentials/v2", {"holder": "urn:x"}]), Malformed),
    ];
    for (name, value, expected) in wrong {
        let evaluation = presented(|draft| set(&mut draft.payload, name, value.clone()));
        let refusal = support::refusal(evaluation);
        assert_eq!((refusal.reason(), refusal.stage()), (expected, Stage::Presentation), "{name} {value}");
    }
    // What says the same in another way is allowed.
    for (name, value) in [
        ("iss", json!(world().agent_id())),
        ("holder", json!({"id": world().agent_id()})),
        ("type", json!("VerifiablePresentation")),
        ("@context", json!("https://www.w3.org/ns/credentials/v2")),
        ("id", json!("urn:uuid:00000000-0000-4000-8000-000000000009")),
        ("iat", json!((noon() - TimeDelta::seconds(1)).timestamp() as f64)),
        ("exp", at(1)),
    ] {
        assert_granted(&presented(|draft| set(&mut draft.payload, name, value.clone())));
    }
    assert_granted(&presented(|draft| {
        draft.payload["id"] = json!("urn:uuid:00000000-0000-4000-8000-000000000009");
        draft.payload["jti"] = draft.payload["id"].clone();
    }));
    assert_eq!(
        reason(presented(|draft| {
            draft.payload["iss"] = json!(world().agent_id());
            set(&mut draft.payload, "holder", Value::Null);
        })),
        Malformed
    );
}

#[test]
fn a_credentials_claims_repeat_its_members_or_narrow_them() {
    use Reason::{Expired, Malformed, NotYetValid};
    let at = |seconds: i64| json!((noon() + TimeDelta::seconds(seconds)).timestamp());
    let (from, until) = (draft().valid_from.unwrap(), draft().valid_until.unwrap());
    let stranger = world().mallory.did_key();
    let mut wrong: Vec<(&str, Value, Reason)> = vec![
        ("iss", json!(stranger), Malformed),
        ("iss", json!([ALICE]), Malformed),
        ("sub", json!(stranger), Malformed),
        ("sub", json!(world().agent_id()), Malformed),
        ("jti", json!("urn:uuid:other"), Malformed),
        ("jti", json!(7), Malformed),
        ("exp", json!(until.timestamp() + 1), Malformed),
        ("exp", json!("never"), Malformed),
        ("exp", json!(1.5), Malformed),
        ("exp", at(0), Expired),
        ("exp", at(-1), Expired),
        ("nbf", json!(from.timestamp() - 1), Malformed),
        ("nbf", json!(-1), Malformed),
        ("nbf", at(1), NotYetValid),
        ("iat", at(1), NotYetValid),
        ("iat", json!("2026-11-01T00:00:00Z"), Malformed),
        ("proof", json!([]), Malformed),
        ("unknown", json!("x"), Malformed),
    ];
    for name in [
        "vc", "vp", "aud", "cnf", "nonce", "status", "vct", "_sd", "_sd_alg", "...", "act", "may_act",
        "scope", "sub_jwk",
    ] {
        wrong.push((name, json!("https://x.example/"), Malformed));
    }
    for (name, value, expected) in wrong {
        let evaluation = issued(|draft| set(&mut draft.payload, name, value.clone()));
        assert_eq!(reason(evaluation), expected, "{name} {value}");
    }
    let both = issued(|draft| draft.payload["proof"] = world().mandate().unwrap()["proof"].take());
    let both = support::refusal(both);
    assert_eq!(both.reason(), Malformed);
    assert!(both.evidence().detail.as_ref().unwrap().contains("not by both"));
    // No term that a context defines makes a claim of another kind of token a fact.
    for name in ["vc", "vp", "nonce", "status", "vct", "act", "may_act", "scope", "sub_jwk"] {
        let evaluation = issued(|draft| {
            draft.payload["@context"][1][name] = json!("https://x.example/term");
            draft.payload[name] = json!("x");
        });
        assert_eq!(reason(evaluation), Malformed, "{name}");
    }
    let own_jti = issued(|draft| {
        draft.payload["@context"][1]["jti"] = json!("https://x.example/term");
        draft.payload["jti"] = draft.payload["id"].clone();
    });
    assert_eq!(reason(own_jti), Malformed);
    let scoped_jti = issued(|draft| {
        let scoped = json!({"@id": "https://x.example/T", "@context": {"jti": "https://x.example/term"}});
        draft.payload["@context"][1]["extra"] = scoped;
    });
    assert_eq!(reason(scoped_jti), Malformed);
    for (name, value) in [
        ("iss", json!(ALICE)),
        ("sub", json!(ALICE)),
        ("jti", json!(draft().id)),
        ("exp", json!(until.timestamp())),
        ("exp", at(1)),
        ("nbf", json!(from.timestamp())),
        ("nbf", at(0)),
        ("iat", at(0)),
        ("iat", Value::Null),
    ] {
        assert_granted(&issued(|draft| set(&mut draft.payload, name, value.clone())));
    }
}

#[test]
fn a_credentials_end_in_its_claims_ends_the_grant() {
    let soon = noon() + TimeDelta::seconds(20);
    let mut draft = draft().jws().unwrap();
    draft.payload["exp"] = json!(soon.timestamp());
    let ask = Ask { credentials: vec![json!(draft.compact().unwrap())], ..grant() };
    let Outcome::Granted(granted) = evaluate(&ask.message().unwrap()).outcome else { panic!("not granted") };
    assert!(granted.not_after() < soon);
    let ask = Ask { expires: Some(soon), ..jose_grant() };
    let Outcome::Granted(granted) = evaluate(&ask.message().unwrap()).outcome else { panic!("not granted") };
    assert!(granted.not_after() < soon);
}

#[test]
fn a_credential_in_a_jws_is_read_from_its_graph() {
    // The context makes `authorizes` something else: there is no delegate, whatever the member says.
    let evaluation = issued(|draft| {
        draft.payload["@context"][1]["authorizes"] =
            json!({"@id": "https://x.example/notes", "@type": "@id"});
    });
    assert_eq!(reason(evaluation), Reason::Malformed);
    // Another name for the same is the same.
    let evaluation = issued(|draft| {
        draft.payload["@context"][1]["lets"] = draft.payload["@context"][1]["authorizes"].clone();
        let delegate = draft.payload["credentialSubject"]["authorizes"].take();
        draft.payload["credentialSubject"].as_object_mut().unwrap().remove("authorizes");
        draft.payload["credentialSubject"]["lets"] = delegate;
    });
    assert_granted(&evaluation);
    for (name, change) in [
        ("no context", json!({"@context": null})),
        (
            "a context that is not pinned",
            json!({"@context": ["https://www.w3.org/ns/credentials/v2", "https://x.example/c"]}),
        ),
        ("an undefined member", json!({"urgent": true})),
        ("two subjects", json!({"credentialSubject": [{"id": ALICE}, {"id": "urn:x"}]})),
        ("a date that does not parse", json!({"validUntil": "tomorrow"})),
    ] {
        let evaluation = issued(|draft| {
            for (member, value) in change.as_object().unwrap() {
                set(&mut draft.payload, member, value.clone());
            }
        });
        let expected = if name.contains("pinned") { Reason::RemoteContext } else { Reason::Malformed };
        assert_eq!(reason(evaluation), expected, "{name}");
    }
}

#[test]
fn papers_of_two_profiles_do_not_go_together() {
    let (jws, plain) = (credential(), world().mandate().unwrap());
    let envelope = |id: &str| {
        json!({
            "@context": "https://www.w3.org/ns/credentials/v2",
            "type": "EnvelopedVerifiableCredential",
            "id": id,
        })
    };
    let good = envelope(&format!("data:application/vc+jwt,{jws}"));
    let mut free = plain.clone();
    set(&mut free, "@context", Value::Null);
    // In a vp+jwt: anything but an envelope of a vc+jwt.
    let mut wrong = vec![
        ("a Data Integrity credential", json!([plain])),
        ("one beside", json!([good, plain])),
        ("one before", json!([plain, good])),
        ("a context-free credential", json!([good, free])),
        ("the JWS itself", json!([jws])),
        ("none", json!([])),
        ("no member", Value::Null),
        ("in base64", json!([envelope(&format!("data:application/vc+jwt;base64,{jws}"))])),
        ("with a charset", json!([envelope(&format!("data:application/vc+jwt;charset=utf-8,{jws}"))])),
        ("in capitals", json!([envelope(&format!("data:application/VC+JWT,{jws}"))])),
        ("of another type", json!([envelope(&format!("data:application/jwt,{jws}"))])),
        ("of a presentation", json!([envelope(&format!("data:application/vp+jwt,{}", presentation()))])),
        (
            "a presentation as a credential",
            json!([envelope(&format!("data:application/vc+jwt,{}", presentation()))]),
        ),
        ("with a fragment", json!([envelope(&format!("data:application/vc+jwt,{jws}#x"))])),
        ("a URL", json!([envelope("https://x.example/vc")])),
        ("no id", json!([{"@context": good["@context"], "type": good["type"]}])),
    ];
    for (name, member, value) in [
        ("more in the envelope", "name", json!("x")),
        ("a proof in the envelope", "proof", plain["proof"].clone()),
        ("another envelope type", "type", json!("EnvelopedVerifiablePresentation")),
        ("two envelope types", "type", json!(["EnvelopedVerifiableCredential", "VerifiableCredential"])),
        (
            "another envelope context",
            "@context",
            json!(["https://www.w3.org/ns/credentials/v2", {"id": "urn:x"}]),
        ),
        ("no envelope context", "@context", Value::Null),
        ("no envelope type", "type", Value::Null),
    ] {
        let mut envelope = good.clone();
        set(&mut envelope, member, value);
        wrong.push((name, json!([envelope])));
    }
    for (name, papers) in wrong {
        let evaluation = presented(|draft| set(&mut draft.payload, "verifiableCredential", papers.clone()));
        let expected = if name == "with a fragment" { Reason::InvalidSignature } else { Reason::Malformed };
        assert_eq!(reason(evaluation), expected, "{name}");
    }
    for same in [json!(good), json!([envelope(good["id"].as_str().unwrap())])] {
        assert_granted(&presented(|draft| draft.payload["verifiableCredential"] = same.clone()));
    }
    // In a Data Integrity presentation: an envelope, alone, beside and as a bare text.
    for papers in [vec![good.clone()], vec![plain.clone(), good.clone()], vec![good, plain]] {
        let ask = Ask { credentials: papers, ..grant() };
        assert_eq!(reason(evaluate(&ask.message().unwrap())), Reason::Malformed);
    }
    let mut document = grant().presentation().unwrap();
    document["verifiableCredential"] = json!([jws]);
    assert_eq!(reason(evaluate(&grant().with_presentation(Some(document)))), Reason::Malformed);
}

#[test]
fn a_vp_jwt_travels_as_text_of_its_media_type() {
    let message = jose_grant().message().unwrap();
    let part = |change: &dyn Fn(&mut Value)| {
        let mut message = message.clone();
        change(&mut message["parts"][1]);
        evaluate(&message)
    };
    assert_eq!(message["parts"][1]["mediaType"], "application/vp+jwt");
    assert_granted(&part(&|part| part["mediaType"] = json!("application/vp+jwt; charset=utf-8")));
    let media_types = [
        "application/vc+jwt",
        "application/jwt",
        "application/vp",
        "text/plain",
        "application/vp+jwt;charset=utf-16",
    ];
    for media_type in media_types {
        let evaluation = part(&|part| part["mediaType"] = json!(media_type));
        assert_eq!(reason(evaluation), Reason::MediaTypeUnsupported, "{media_type}");
    }
    let as_data = |part: &mut Value| {
        part["data"] = json!({"jws": part["text"].take()});
        part.as_object_mut().unwrap().remove("text");
    };
    assert_eq!(reason(part(&as_data)), Reason::MediaTypeUnsupported);
    let as_raw = |part: &mut Value| {
        part["raw"] = json!(URL_SAFE.encode(part["text"].take().to_string()));
        part.as_object_mut().unwrap().remove("text");
    };
    assert_eq!(reason(part(&as_raw)), Reason::MessageMalformed);
}

#[test]
fn an_ecdsa_twin_is_no_second_presentation() {
    let holder = key(KeyType::P256, 12);
    let draft = draft();
    let draft = MandateDraft {
        policy: draft.policy.replace(&world().agent_id(), &holder.did_key()),
        authorizes: holder.did_key(),
        ..draft
    };
    let ask = Ask { credentials: vec![draft.issue_jose().unwrap()], key: holder.clone(), ..grant() };
    let token = ask.presentation().unwrap();
    let (signing_input, signature) = token.as_str().unwrap().rsplit_once('.').unwrap();
    let octets = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let signature = p256::ecdsa::Signature::from_slice(&octets).unwrap();
    let twin = p256::ecdsa::Signature::from_scalars(*signature.r(), -*signature.s()).unwrap();
    let twin = format!("{signing_input}.{}", URL_SAFE_NO_PAD.encode(twin.to_bytes()));
    let engine = engine();
    let mut facts = world().facts();
    facts.actor = Actor::Authenticated(holder.did_key());
    let decide = |token: Value, id: &str| {
        let ask = Ask { id: id.to_owned(), ..ask.clone() };
        engine.decide(octets_of(&ask, token), facts.clone())
    };
    let first = decide(token.clone(), "msg-1");
    assert_allowed(&first);
    for (id, expected) in [("msg-1", Reason::MessageIdReused), ("msg-2", Reason::ChallengeUsed)] {
        let second = decide(json!(twin), id);
        assert_eq!(refused(&second).reason(), expected);
        // It is one presentation, and every report says so.
        assert_eq!(second.report.body.presentation_digest, first.report.body.presentation_digest);
    }
}

fn octets_of(ask: &Ask, token: Value) -> writgate::MessageInput {
    octets(&ask.with_presentation(Some(token)))
}

#[test]
fn a_jws_is_read_within_bounds() {
    let limits = Limits::default();
    let envelope = jose_grant().presentation_draft().unwrap().payload["verifiableCredential"][0].clone();
    let long_text = "x".repeat(limits.message_bytes);
    assert_eq!(reason(with_credential(&long_text)), Reason::MessageTooLarge);
    let many = |count: usize| {
        presented(|draft| draft.payload["verifiableCredential"] = json!(vec![envelope.clone(); count]))
    };
    assert_eq!(reason(many(limits.credentials + 1)), Reason::LimitExceeded);
    assert_eq!(reason(many(limits.credentials)), Reason::BindingMismatch);
    // A long name is still read; a longer one is not.
    let long = |length: usize| {
        let kid = format!("{}#{}", world().agent_id(), "x".repeat(length));
        presented(|draft| draft.header["kid"] = json!(kid))
    };
    assert_eq!(reason(long(limits.term_bytes - 100)), Reason::HolderUnverified);
    assert_eq!(reason(long(limits.term_bytes)), Reason::LimitExceeded);
    let holder = format!("urn:{}", "x".repeat(limits.term_bytes));
    assert_eq!(reason(presented(|draft| draft.payload["holder"] = json!(holder))), Reason::LimitExceeded);
    // JSON values are counted over all papers together, and nesting in each.
    let filled = issued_value(&json!(vec![0; limits.json_values / 2]));
    for (count, expected, place) in [(1, Reason::Malformed, 0), (2, Reason::LimitExceeded, 1)] {
        let ask = Ask { credentials: vec![filled.clone(); count], ..grant() };
        let refusal = support::refusal(evaluate(&ask.message().unwrap()));
        assert_eq!(refusal.reason(), expected);
        assert_eq!(refusal.evidence().path, Some(format!("/verifiableCredential/{place}")));
    }
    let deep = (0..limits.json_depth).fold(json!(1), |inner, _| json!([inner]));
    let ask = Ask { credentials: vec![issued_value(&deep)], ..grant() };
    assert_eq!(reason(evaluate(&ask.message().unwrap())), Reason::LimitExceeded);
}

/// A credential with something large in it.
fn issued_value(value: &Value) -> Value {
    let mut draft = draft().jws().unwrap();
    draft.payload["large"] = value.clone();
    json!(draft.compact().unwrap())
}

#[test]
fn papers_in_a_jws_are_issued_and_presented_with_every_key_type() {
    for issuer in TYPES.map(alice) {
        for holder in TYPES.map(|key_type| key(key_type, 12)) {
            let policy = draft().policy.replace(&world().agent_id(), &holder.did_key());
            for by_digest in [false, true] {
                let mandate = Mandate {
                    id: None,
                    delegate: holder.did_key(),
                    policy: if by_digest {
                        MandatePolicy::Reference {
                            iri: MANDATE_POLICY,
                            text: &policy,
                            media_type: "text/turtle",
                            digest: DigestForm::Sri,
                        }
                    } else {
                        MandatePolicy::Embedded { text: &policy, media_type: "text/turtle" }
                    },
                    actions: Vec::new(),
                    targets: Vec::new(),
                    valid_from: draft().valid_from,
                    valid_until: draft().valid_until,
                    status: None,
                };
                let credential = issue_mandate_jose(&issuer, &mandate, noon()).unwrap();
                let again = issue_mandate_jose(&issuer, &mandate, noon()).unwrap();
                assert_eq!(credential, again, "the same mandate issued twice is one credential");
                let presenting =
                    Presenting { challenge: NONCE, domain: DOMAIN, created: noon(), expires: None };
                let presentation = present_jose(&holder, &[credential], &presenting).unwrap();
                let mut ask = grant();
                if by_digest {
                    ask.policies = vec![(policy.clone(), "text/turtle".to_owned())];
                }
                let message = ask.with_presentation(Some(presentation.into()));
                assert_granted(&evaluate_as(&message, |request| {
                    request.facts.actor = Actor::Authenticated(holder.did_key());
                    document_of(&issuer)(request);
                }));
            }
        }
    }
}

#[test]
fn what_would_be_refused_is_not_presented() {
    let presenting = Presenting { challenge: NONCE, domain: DOMAIN, created: noon(), expires: None };
    let agent = world().agent;
    for credentials in [vec![], vec!["a.b.c".to_owned()], vec![credential(), presentation()]] {
        assert!(present_jose(&agent, &credentials, &presenting).is_err(), "{credentials:?}");
    }
    assert!(issue::present(&agent, &[json!(credential())], &presenting).is_err());
}

/// A mandate with a status entry, and its list in a form.
fn with_status(jose: bool) -> Ask {
    let mut draft = draft();
    draft.changes = vec![(
        &["credentialStatus"],
        json!({
            "type": "BitstringStatusListEntry",
            "statusPurpose": "revocation",
            "statusListIndex": "7",
            "statusListCredential": LIST,
        }),
    )];
    let paper = if jose { draft.issue_jose() } else { draft.issue() };
    Ask { credentials: vec![paper.unwrap()], ..grant() }
}

const LIST: &str = "https://alice.pod.example/status/1";

/// A status list as a JWS by Alice.
fn list(bit: bool) -> JwsDraft {
    use std::io::Write as _;
    let mut octets = vec![0u8; 131_072 / 8];
    octets[0] = u8::from(bit);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&octets).unwrap();
    let encoded = format!("u{}", URL_SAFE_NO_PAD.encode(encoder.finish().unwrap()));
    let mut draft = draft().jws().unwrap();
    draft.payload = json!({
        "@context": ["https://www.w3.org/ns/credentials/v2"],
        "id": LIST,
        "type": ["VerifiableCredential", "BitstringStatusListCredential"],
        "issuer": ALICE,
        "credentialSubject": {
            "id": format!("{LIST}#list"),
            "type": "BitstringStatusList",
            "statusPurpose": "revocation",
            "encodedList": encoded,
        },
    });
    draft
}

#[test]
fn a_status_list_in_a_jws_is_read_for_credentials_of_either_form() {
    let judged = |jose: bool, list: &JwsDraft, media_type: &str| {
        let mut lists = StatusLists::default();
        lists.insert(LIST, list.compact().unwrap(), media_type, noon());
        let message = with_status(jose).message().unwrap();
        evaluate_as(&message, |request| request.snapshot.status_lists = Arc::new(lists))
    };
    let vc_jwt = "application/vc+jwt";
    for jose in [false, true] {
        assert_granted(&judged(jose, &list(false), vc_jwt));
        assert_eq!(reason(judged(jose, &list(true), vc_jwt)), Reason::Revoked);
        assert_eq!(reason(judged(jose, &list(false), "application/vc")), Reason::StatusRetrievalError);
        assert_eq!(reason(judged(jose, &list(false), "application/jwt")), Reason::StatusRetrievalError);
        type Change<'c> = (&'static str, &'c dyn Fn(&mut JwsDraft));
        let wrong: [Change<'_>; 7] = [
            ("another key", &|list| list.key = world().mallory),
            ("another type", &|list| list.header["typ"] = json!("statuslist+jwt")),
            ("no algorithm", &|list| list.header["alg"] = json!("none")),
            ("expired", &|list| list.payload["exp"] = json!(noon().timestamp())),
            ("to come", &|list| list.payload["nbf"] = json!(noon().timestamp() + 1)),
            ("another subject", &|list| list.payload["sub"] = json!(ALICE)),
            ("another list", &|list| list.payload["id"] = json!(format!("{LIST}2"))),
        ];
        for (name, change) in wrong {
            let mut list = list(false);
            change(&mut list);
            assert_eq!(reason(judged(jose, &list, vc_jwt)), Reason::StatusRetrievalError, "{name}");
        }
        let mut named = list(false);
        named.payload["sub"] = json!(format!("{LIST}#list"));
        assert_granted(&judged(jose, &named, vc_jwt));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// No octet of a presentation, nor of a credential in it that is presented anew, can be another one.
    #[test]
    fn no_octet_of_a_jws_can_be_changed(place in any::<prop::sample::Index>(), octet in 0x20u8..0x7f, inner in any::<bool>()) {
        let whole = if inner { credential() } else { presentation() };
        let mut octets = whole.clone().into_bytes();
        let place = place.index(octets.len());
        prop_assume!(octets[place] != octet);
        octets[place] = octet;
        let token = String::from_utf8(octets).unwrap();
        let evaluation = if inner { with_credential(&token) } else { with_presentation(token.clone()) };
        prop_assert!(matches!(evaluation.outcome, Outcome::Refused(_)), "{}", token);
    }
}

#[test]
fn no_octet_of_a_jws_signature_or_header_can_be_changed() {
    for (inner, whole) in [(false, presentation()), (true, credential())] {
        let [header, payload, _] = parts(&whole);
        let payload = header.len() + 1..header.len() + 1 + payload.len();
        for place in (0..whole.len()).filter(|place| !payload.contains(place)) {
            let mut octets = whole.clone().into_bytes();
            octets[place] = if octets[place] == b'A' { b'B' } else { b'A' };
            let token = String::from_utf8(octets).unwrap();
            let evaluation = if inner { with_credential(&token) } else { with_presentation(token) };
            assert!(matches!(evaluation.outcome, Outcome::Refused(_)), "{inner} {place}");
        }
    }
}
