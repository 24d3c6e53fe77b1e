//! Attacks on papers by somebody who holds a good key and a good mandate, as whole messages.

use crate::support::{engine, grant, noon, octets, world};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use writgate::worked_example::{Ask, MANDATE_POLICY, MandateDraft};
use writgate::{Engine, Evaluation, Request};

fn evaluate_on(engine: &Engine, message: &Value) -> Evaluation {
    let snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
    engine.evaluate(&Request { message: octets(message), facts: world().facts(), snapshot })
}

/// The answers of two dozen evaluations, none of which knows of another, as the ledger would record them.
fn answers(message: &Value) -> BTreeSet<String> {
    (0..24).map(|_| serde_json::to_string(&evaluate_on(&engine(), message).report).unwrap()).collect()
}

fn with_changes(changes: Vec<(&'static [&'static str], Value)>) -> Ask {
    let draft = MandateDraft { changes, ..world().mandate_draft().unwrap() };
    Ask { credentials: vec![draft.issue().unwrap()], ..grant() }
}

/// A paper may be wrong in two places, and a graph has no order: its report is the same every time all the same.
#[test]
fn a_paper_that_is_wrong_twice_has_one_report() {
    let entry = |member: &str| {
        let mut entry = json!({
            "type": "BitstringStatusListEntry",
            "statusPurpose": "revocation",
            "statusListIndex": "1",
            "statusListCredential": "https://alice.pod.example/status/1",
        });
        entry[member] = json!({ "type": "https://x.example/Thing" });
        entry
    };
    let entries = with_changes(vec![(
        &["credentialStatus"],
        json!([entry("statusPurpose"), entry("statusListCredential")]),
    )]);
    let resources = with_changes(vec![(
        &["relatedResource"],
        json!([
            { "mediaType": "text/turtle" },
            { "id": "https://x.example/a", "https://www.w3.org/2018/credentials#digestSRI": { "id": "urn:x" } },
            { "id": "https://x.example/b", "https://w3id.org/security#digestMultibase": { "id": "urn:x" } },
        ]),
    )]);
    let mut rules = world().mandate_draft().unwrap();
    rules.policy.push_str(&format!(
        "<{MANDATE_POLICY}> odrl:permission <urn:x:a>, <urn:x:b> .
         <urn:x:a> odrl:action odrl:read ; odrl:remedy <urn:x:c> .
         <urn:x:b> odrl:action odrl:read ; odrl:assigner <urn:x:d> .\n"
    ));
    let rules = Ask { credentials: vec![rules.issue().unwrap()], ..grant() };
    for (name, ask, reason) in [
        ("entries", entries, "MALFORMED"),
        ("resources", resources, "MALFORMED"),
        ("rules", rules, "POLICY_DENIED"),
    ] {
        let answers = answers(&ask.message().unwrap());
        assert_eq!(answers.len(), 1, "{name}: {answers:#?}");
        assert!(answers.iter().all(|report| report.contains(reason)), "{name}: {answers:#?}");
    }
}
