//! The suite `odrl-delegation`, from `../shared` at run time.

use super::super::evaluate::{CountSource, OdrlRequest};
use super::super::facts::Facts;
use super::super::hops::{ChainVerdict, evaluate_chain};
use super::super::{Policy, action};
use crate::limits::Limits;
use crate::rdf::turtle;
use crate::vocab::odrld;
use chrono::TimeDelta;
use oxrdf::{Literal, NamedNode, Term, TermRef};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

#[test]
fn the_delegation_vectors_pass() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors/odrl-delegation/cases");
    let Ok(folders) = std::fs::read_dir(&cases) else {
        println!("skipped: {} is not here", cases.display());
        return;
    };
    let mut run = 0;
    for folder in folders {
        let folder = folder.unwrap().path();
        let case: Value = serde_json::from_slice(&std::fs::read(folder.join("case.json")).unwrap()).unwrap();
        let expected = case["expected"]["decision"].as_str().unwrap();
        let verdict = verdict(&case["input"], &folder);
        let decision = if matches!(verdict, ChainVerdict::Permit(_)) { "permit" } else { "deny" };
        assert_eq!(decision, expected, "{}: {verdict:?}", case["id"]);
        run += 1;
    }
    println!("{run} cases of odrl-delegation");
    assert!(run >= 9);
}

fn verdict(input: &Value, folder: &Path) -> ChainVerdict {
    let limits = Limits::default();
    let read = |name: &Value| {
        let text = std::fs::read_to_string(folder.join(name.as_str().unwrap())).unwrap();
        turtle::parse(&text, &limits).unwrap()
    };
    let policies: Vec<Policy> = input["chain"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| Policy::read(&read(name), &limits).unwrap())
        .collect();
    let mut revoked: BTreeSet<String> =
        input["revoked"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    for name in input["revocationDocuments"].as_array().into_iter().flatten() {
        for triple in &read(name) {
            if let (odrld::REVOKED_POLICY, TermRef::NamedNode(id)) =
                (triple.predicate.as_str(), triple.object)
            {
                revoked.insert(id.as_str().to_owned());
            }
        }
    }
    let asked = &input["request"];
    let mut attributes = BTreeMap::new();
    for (name, value) in asked["attributes"].as_object().into_iter().flatten() {
        attributes.insert(name.clone(), terms(value));
    }
    let text = |name: &str| asked[name].as_str().unwrap();
    let request = OdrlRequest::new(
        (text("agent"), &action::of_name(text("action")), text("target")),
        &attributes,
        input["now"].as_str().unwrap().parse().unwrap(),
        TimeDelta::seconds(60),
        CountSource::Attributes,
        Arc::new(Facts::default()),
    );
    let length = input["maxChainLength"].as_u64().unwrap_or(8) as usize;
    evaluate_chain(&policies, &request, &revoked, length)
}

fn terms(value: &Value) -> Vec<Term> {
    match value {
        Value::Array(items) => items.iter().flat_map(terms).collect(),
        Value::String(text) => match NamedNode::new(text) {
            Ok(iri) => vec![iri.into()],
            Err(_) => vec![Literal::new_simple_literal(text).into()],
        },
        Value::Bool(value) => vec![Literal::from(*value).into()],
        Value::Number(number) if number.is_i64() => vec![Literal::from(number.as_i64().unwrap()).into()],
        Value::Number(number) => vec![Literal::from(number.as_f64().unwrap()).into()],
        _ => vec![],
    }
}
