//! `evaluate-delegated-chain`: the policies of a chain against one request, the agent taken as given.

use super::{Folder, member, text};
use crate::cli::Failure;
use crate::limits::Limits;
use crate::mandate::odrl::{self, ChainVerdict, CountSource, Facts, OdrlRequest, Policy, Work};
use crate::rdf::parse_graph;
use crate::vocab::odrld;
use chrono::TimeDelta;
use oxrdf::{BlankNode, Graph, Literal, NamedNodeRef, Term, TermRef};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The longest chain where a case does not say.
const MAX_CHAIN_LENGTH: u64 = 8;
/// How far a caller's `dateTime` may be from the instant.
const SKEW: TimeDelta = TimeDelta::seconds(60);

pub(super) fn run(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let chain = strings(member(input, "chain")?)?;
    let mut policies = Vec::new();
    for document in chain {
        // A document that is not RDF, or not one policy, is no link of a chain.
        let (text, media_type) = folder.rdf(document)?;
        let read = parse_graph(&text, media_type, &Limits::default())
            .ok()
            .and_then(|graph| Policy::read(&graph, &Limits::default()).ok());
        match read {
            Some(policy) => policies.push(policy),
            None => return Ok(json!({ "decision": "deny", "detail": "a document is not one policy" })),
        }
    }
    let max_length = input.get("maxChainLength").map_or(Some(MAX_CHAIN_LENGTH), Value::as_u64);
    let max_length =
        usize::try_from(max_length.ok_or_else(|| Failure::new("`maxChainLength` is no count"))?)?;
    let verdict = odrl::evaluate_chain(&policies, &request(input)?, &revoked(input, folder)?, max_length);
    Ok(match verdict {
        ChainVerdict::Permit(grant) => json!({
            "decision": "permit",
            "obligations": grant.obligations.iter().map(|duty| &duty.action).collect::<Vec<_>>(),
        }),
        ChainVerdict::Deny(denial) => json!({ "decision": "deny", "detail": denial.detail }),
    })
}

/// Short action names stand for IRIs, and an attribute's name is the local name of its left operand.
fn request(input: &Value) -> Result<OdrlRequest, Failure> {
    let asked = member(input, "request")?;
    let mut attributes = BTreeMap::new();
    for (name, value) in asked.get("attributes").and_then(Value::as_object).into_iter().flatten() {
        attributes.insert(name.clone(), terms(value)?);
    }
    let action = odrl::action_of_name(text(asked, "action")?);
    Ok(OdrlRequest::new(
        (text(asked, "agent")?, &action, text(asked, "target")?),
        &attributes,
        text(input, "now")?.parse()?,
        SKEW,
        CountSource::Attributes,
        Arc::new(Facts::default()),
        Work::new(&Limits::default()),
    ))
}

/// Policies that are revoked: by id, and by what trusted documents say.
fn revoked(input: &Value, folder: &Folder) -> Result<BTreeSet<String>, Failure> {
    let mut revoked = BTreeSet::new();
    if let Some(ids) = input.get("revoked") {
        revoked.extend(strings(ids)?.into_iter().map(str::to_owned));
    }
    if let Some(documents) = input.get("revocationDocuments") {
        for document in strings(documents)? {
            let graph = graph(document, folder)?;
            let says = NamedNodeRef::new_unchecked(odrld::REVOKED_POLICY);
            revoked.extend(graph.triples_for_predicate(says).filter_map(|triple| match triple.object {
                TermRef::NamedNode(policy) => Some(policy.as_str().to_owned()),
                _ => None,
            }));
        }
    }
    Ok(revoked)
}

fn graph(document: &str, folder: &Folder) -> Result<Graph, Failure> {
    let (document, media_type) = folder.rdf(document)?;
    Ok(parse_graph(&document, media_type, &Limits::default())?)
}

/// JSON has no types to speak of: a string is read as the type of the right operand that it meets. What is no value of
/// RDF is there, and equals nothing.
fn terms(value: &Value) -> Result<Vec<Term>, Failure> {
    Ok(match value {
        Value::Array(items) => items.iter().map(terms).collect::<Result<Vec<_>, _>>()?.concat(),
        Value::String(text) => vec![Literal::new_simple_literal(text).into()],
        Value::Bool(value) => vec![Literal::from(*value).into()],
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => vec![Literal::from(whole).into()],
            (None, Some(double)) => vec![Literal::from(double).into()],
            (None, None) => return Err(Failure::new("a number that is none")),
        },
        Value::Null | Value::Object(_) => vec![BlankNode::default().into()],
    })
}

fn strings(value: &Value) -> Result<Vec<&str>, Failure> {
    let items = value.as_array().ok_or_else(|| Failure::new("not a list"))?;
    items
        .iter()
        .map(|item| item.as_str().ok_or_else(|| Failure::new("a list item is not a string")))
        .collect()
}
