//! The context-free profile through the whole engine.

use super::context_free::{answer, presented_by, signed_by};
use super::status::turtle_list;
use super::*;
use crate::config::Config;
use crate::credential::content_digest::multibase;
use crate::credential::status::StatusLists;
use crate::decision::{Evaluation, Outcome};
use crate::engine::{Engine, SystemClock};
use crate::ledger::SqliteLedger;
use crate::rdf::canon;
use crate::request::{MessageInput, Request};
use crate::vocab::{cred, odrl, rdf, schema, sec, svc};
use crate::worked_example::{ALICE, DOMAIN, Intent, MANDATE_POLICY, NONCE, NOTES, World};
use chrono::TimeDelta;
use std::path::Path;

const AT: &str = "2026-12-01T12:00:00Z";

/// The worked example's reading, with context-free papers by the same keys; the policy is bound by a digest of its
/// document or embedded.
fn evaluate(embedded: bool, change: impl FnOnce(&mut Value, &mut Config)) -> Evaluation {
    let world = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let at = instant(AT);
    let mut config = world.config(at).unwrap();
    config.context_free = true;
    let policy = world.policy().unwrap();
    let mut credential = json!({
        "id": "urn:uuid:00000000-0000-4000-8000-000000000001",
        "type": ["AgentAuthorizationCredential"],
        "issuer": ALICE,
        "validFrom": "2026-11-01T00:00:00Z",
        "validUntil": "2027-11-01T00:00:00Z",
        "credentialSubject": { "id": ALICE, "authorizes": world.agent_id(), "policy": MANDATE_POLICY },
    });
    let mut ask = world.ask(Intent::read(NOTES), at - TimeDelta::seconds(1)).unwrap();
    if embedded {
        credential["credentialSubject"]["policy"] = json!({
            "type": "Agreement",
            (odrl::UID): MANDATE_POLICY,
            (odrl::ASSIGNER): ALICE,
            (odrl::ASSIGNEE): world.agent_id(),
            (odrl::PERMISSION): { (odrl::ACTION): odrl::READ, (odrl::TARGET): NOTES },
        });
    } else {
        let digest = multibase(policy.as_bytes());
        credential["relatedResource"] =
            json!({ "id": MANDATE_POLICY, "digestMultibase": digest, "mediaType": "text/turtle" });
        ask.policies = vec![(policy, "text/turtle".to_owned())];
    }
    change(&mut credential, &mut config);
    let credential = signed_by(credential, &world.alice, options(&world.alice, "assertionMethod"));
    let presentation = json!({ "holder": world.agent_id(), "verifiableCredential": [credential] });
    let mut answer = answer(&world.agent, "authentication", NONCE, DOMAIN);
    answer.insert("created".to_owned(), json!("2026-12-01T11:59:59Z"));
    let presentation = presented_by(presentation, &world.agent, answer);
    let message = serde_json::to_vec(&ask.with_presentation(Some(presentation))).unwrap();
    let ledger = SqliteLedger::in_memory(config.default_domain(), at, config.skew()).unwrap();
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock)).unwrap();
    let snapshot = engine.snapshot(&world.facts(), at).unwrap();
    engine.evaluate(&Request { message: MessageInput::Bytes(message), facts: world.facts(), snapshot })
}

fn refusal(evaluation: &Evaluation) -> Option<Reason> {
    match &evaluation.outcome {
        Outcome::Granted(_) => None,
        Outcome::Refused(refusal) => Some(refusal.reason()),
        Outcome::NotOurs(_) => panic!("the message is ours"),
    }
}

fn life(credential: &mut Value) {
    credential["validUntil"] = json!("2027-01-01T00:00:00Z");
}

#[test]
fn the_engine_reads_the_profile_where_it_is_on() {
    for embedded in [false, true] {
        let evaluation = evaluate(embedded, |credential, _| life(credential));
        assert_eq!(refusal(&evaluation), None, "{:?}", evaluation.report.evidence);
        let off = evaluate(embedded, |credential, config| {
            life(credential);
            config.context_free = false;
        });
        assert_eq!(refusal(&off), Some(Reason::Malformed));
    }
}

/// What a policy is is said by `svc:type`, and only by names of ODRL.
#[test]
fn the_class_of_an_embedded_policy_is_a_name_or_an_iri() {
    for (class, expected) in [
        (json!("Agreement"), None),
        (json!(odrl::AGREEMENT), None),
        (json!("Set"), None),
        (json!("Request"), Some(Reason::PolicyDenied)),
        (json!("Mandate"), Some(Reason::PolicyDenied)),
        (json!(null), Some(Reason::PolicyDenied)),
    ] {
        let evaluation = evaluate(true, |credential, _| {
            life(credential);
            credential["credentialSubject"]["policy"]["type"] = class.clone();
        });
        assert_eq!(refusal(&evaluation), expected, "{class}");
    }
}

/// Content digests of the profile are over octets: no other document of the same graph will do.
#[test]
fn a_digest_of_the_canonical_form_binds_nothing() {
    let canonical = |text: &str| {
        let graph = crate::rdf::turtle::parse(text, &Limits::default()).unwrap();
        canon::graph(&graph, &mut budget()).unwrap()
    };
    let policy =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/alice-to-agent.ttl"));
    let digest = multibase(canonical(&policy.unwrap()).as_bytes());
    let evaluation = evaluate(false, |credential, _| {
        life(credential);
        credential["relatedResource"]["digestMultibase"] = json!(digest);
    });
    assert_eq!(refusal(&evaluation), Some(Reason::PolicyIntegrity));
}

#[test]
fn a_status_list_is_an_input_of_the_decision_and_of_its_report() {
    let url = "https://alice.pod.example/status/1";
    let judge = |bits: &[usize], retrieved: &str, alien: bool| {
        evaluate(false, |credential, config| {
            life(credential);
            credential["credentialStatus"] = json!({
                "type": if alien { "Other" } else { "BitstringStatusListEntry" },
                "statusPurpose": "revocation", "statusListIndex": "94567", "statusListCredential": url,
            });
            let alice = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap().alice;
            let mut lists = StatusLists::default();
            let list = turtle_list(&alice, url, "revocation", bits);
            lists.insert(url, list, "text/turtle", instant(retrieved));
            config.status_lists = Arc::new(lists);
        })
    };
    let good = judge(&[94566, 94568], "2026-12-01T11:00:30Z", false);
    assert_eq!(refusal(&good), None, "{:?}", good.report.evidence);
    assert_eq!(good.report.not_after.as_deref(), Some("2026-12-01T12:00:30.000Z"));
    let input = good.report.inputs.iter().find(|input| input.kind == "status-list").unwrap();
    assert_eq!((input.id.as_str(), input.age_seconds), (url, 3570));
    assert_eq!(refusal(&judge(&[94567], "2026-12-01T11:30:00Z", false)), Some(Reason::Revoked));
    assert_eq!(refusal(&judge(&[], "2026-12-01T10:59:59Z", false)), Some(Reason::StatusRetrievalError));
    assert_eq!(refusal(&judge(&[], "2026-12-01T11:30:00Z", true)), Some(Reason::StatusRetrievalError));
}

/// Its quads can be written in JSON-LD, by whoever holds it, and its proof is over its quads. But what is signed says by
/// which profile: the suite's name is plain there.
#[test]
fn a_context_free_paper_written_in_json_ld_is_not_one_of_json_ld() {
    let world = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let at = instant(AT);
    let policy = world.policy().unwrap();
    let digest = multibase(policy.as_bytes());
    let credential = json!({
        "id": "urn:uuid:00000000-0000-4000-8000-000000000001",
        "type": ["AgentAuthorizationCredential"],
        "issuer": ALICE,
        "validFrom": "2026-11-01T00:00:00Z",
        "validUntil": "2027-01-01T00:00:00Z",
        "credentialSubject": { "id": ALICE, "authorizes": world.agent_id(), "policy": MANDATE_POLICY },
        "relatedResource": { "id": MANDATE_POLICY, "digestMultibase": digest, "mediaType": "text/turtle" },
    });
    let signed = signed_by(credential, &world.alice, options(&world.alice, "assertionMethod"));
    let term = |name: &str| format!("{}{name}", svc::NS);
    let mut respelled = signed.clone();
    respelled["@context"] = json!([cred::CONTEXT_V2]);
    respelled["type"] = json!(["VerifiableCredential", term("AgentAuthorizationCredential")]);
    respelled["credentialSubject"] = json!({
        "id": ALICE,
        (term("authorizes")): { "id": world.agent_id() },
        (term("policy")): { "id": MANDATE_POLICY },
    });
    let plain = |text: &Value| json!({ "@value": text, "@type": rdf::XSD_STRING });
    respelled["relatedResource"] = json!({
        "id": MANDATE_POLICY,
        (sec::DIGEST_MULTIBASE): plain(&json!(digest)),
        (schema::ENCODING_FORMAT): plain(&json!("text/turtle")),
    });
    let proof = respelled["proof"].as_object_mut().unwrap();
    let suite = proof.remove("cryptosuite").unwrap();
    proof.insert(sec::CRYPTOSUITE.to_owned(), suite);
    // It is the very paper: its signature is Alice's over these quads.
    let limits = Limits::default();
    let read = Credential::read(&respelled, &limits, &mut budget()).unwrap();
    let context_free = crate::credential::context_free::credential(&signed, &limits, &mut budget()).unwrap();
    assert_eq!(read.digest, context_free.digest);
    for on in [false, true] {
        let mut config = world.config(at).unwrap();
        config.context_free = on;
        let mut ask = world.ask(Intent::read(NOTES), at - TimeDelta::seconds(1)).unwrap();
        ask.credentials = vec![respelled.clone()];
        ask.policies = vec![(policy.clone(), "text/turtle".to_owned())];
        let message = serde_json::to_vec(&ask.message().unwrap()).unwrap();
        let ledger = SqliteLedger::in_memory(config.default_domain(), at, config.skew()).unwrap();
        let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock)).unwrap();
        let snapshot = engine.snapshot(&world.facts(), at).unwrap();
        let request = Request { message: MessageInput::Bytes(message), facts: world.facts(), snapshot };
        assert_eq!(refusal(&engine.evaluate(&request)), Some(Reason::UnknownCryptosuite));
    }
}
