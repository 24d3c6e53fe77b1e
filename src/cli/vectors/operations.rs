//! The operations of the suites' case files.

use super::{Folder, agent_authority, delegated_chain, evaluate_message, member, single_papers, text};
use crate::cli::Failure;
use crate::limits::Limits;
use crate::protocol::handshake::{Handshake, may_downgrade};
use crate::protocol::{ProtocolDocument, ProtocolHash};
use crate::rdf::{Budget, RdfMediaType, canon, parse_graph};
use crate::shape::{CompiledShapes, Validation};
use crate::vocab::rdf;
use oxrdf::NamedNodeRef;
use serde_json::{Value, json};

/// Runs an operation. A `Failure` is an input that cannot be run at all, never an answer.
pub(crate) fn run(operation: &str, input: &Value, folder: &Folder) -> Result<Value, Failure> {
    match operation {
        "evaluate-delegated-chain" => delegated_chain::run(input, folder),
        "evaluate-message" => evaluate_message::run(input, folder),
        "resolve-bound-policy" => single_papers::resolve_bound_policy(input, folder),
        "verify-agent-authority" => agent_authority::run(input, folder),
        "verify-credential-status" => single_papers::verify_credential_status(input, folder),
        "verify-presentation-replay" => single_papers::verify_presentation_replay(input, folder),
        "rdfc10-hash" => rdfc10_hash(input, folder),
        "verify-pd-pin" => verify_pd_pin(input, folder),
        "decode-handshake" => decode_handshake(input, folder),
        "may-downgrade-to-nl" => may_downgrade_to_prose(input, folder),
        "validate-intent" => validate_intent(input, folder),
        unknown => Err(Failure::new(format!("unknown operation `{unknown}`"))),
    }
}

fn rdfc10_hash(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let limits = Limits::default();
    let (document, media_type) = document(input, "graph", folder)?;
    let media_type = RdfMediaType::parse(&media_type).ok_or_else(|| Failure::new("no RDF media type"))?;
    let graph = parse_graph(&document, media_type, &limits)?;
    let canonical = canon::graph(&graph, &mut Budget::new(&limits))?;
    let hash = ProtocolHash::of_canonical(&canonical);
    Ok(json!({ "hash": hash.as_str(), "canonical": canonical }))
}

/// Whether a fetched document hashes to its pin (HASH-1). A pin or document that is no such thing does not.
fn verify_pd_pin(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let pin = member(input, "pinnedHash")?.as_str().and_then(|pin| pin.parse::<ProtocolHash>().ok());
    let hash = document(input, "body", folder).ok().and_then(|(body, media_type)| {
        ProtocolDocument::hash_of(&body, &media_type, &Limits::default()).ok()
    });
    Ok(json!({ "ok": pin.is_some() && pin == hash }))
}

/// The text of a member, and its media type: the one that the input states, or else by the text.
fn document(input: &Value, name: &str, folder: &Folder) -> Result<(String, String), Failure> {
    let (document, by_text) = folder.rdf(text(input, name)?)?;
    let stated = input.get("mediaType").and_then(Value::as_str);
    Ok((document, stated.unwrap_or(by_text.as_str()).to_owned()))
}

/// What cannot be read is no handshake.
fn decode_handshake(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let decoded = match input.get("graph") {
        Some(_) => document(input, "graph", folder).ok().and_then(|(graph, media_type)| {
            Handshake::decode_graph(&graph, &media_type, &Limits::default()).ok()
        }),
        None => decoded(member(input, "payload")?, folder),
    };
    Ok(match decoded {
        Some(handshake) => json!({ "ok": true, "kind": handshake.kind() }),
        None => json!({ "ok": false }),
    })
}

fn decoded(payload: &Value, folder: &Folder) -> Option<Handshake> {
    Handshake::decode_json(&folder.json(payload)?).ok()
}

/// DG-1. An offer or response that does not decode is none, and none never permits prose.
fn may_downgrade_to_prose(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let Some(Handshake::Offer(offer)) = decoded(member(input, "offer")?, folder) else {
        return Ok(json!({ "downgrade": false }));
    };
    let response = match input.get("response").and_then(|response| decoded(response, folder)) {
        Some(Handshake::Response(response)) => Some(response),
        _ => None,
    };
    Ok(json!({ "downgrade": may_downgrade(&offer, response.as_ref()) }))
}

/// Predicates of a shapes graph by which plain SHACL validates nothing; a Protocol Document must not have them.
const BESIDE_SHACL: [&str; 3] = [
    rdf::OWL_IMPORTS,
    "http://www.w3.org/ns/shacl#shapesGraph",
    "http://www.w3.org/ns/shacl#suggestedShapesGraph",
];

/// Plain SHACL validation of a data graph against a shapes graph, by the shapes' own targets.
fn validate_intent(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let limits = Limits::default();
    let graph = |name| {
        let (document, media_type): (String, RdfMediaType) = folder.rdf(text(input, name)?)?;
        Ok::<_, Failure>(parse_graph(&document, media_type, &limits)?)
    };
    let mut shapes = graph("shapesGraph")?;
    for predicate in BESIDE_SHACL.map(NamedNodeRef::new_unchecked) {
        let beside: Vec<_> =
            shapes.triples_for_predicate(predicate).map(|triple| triple.into_owned()).collect();
        for triple in &beside {
            shapes.remove(triple);
        }
    }
    let shapes = CompiledShapes::compile(&shapes, &[])?;
    let validation = shapes.validate_targets(&graph("dataGraph")?, &limits)?;
    Ok(json!({ "conforms": matches!(validation, Validation::Conforms) }))
}
