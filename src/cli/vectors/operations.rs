//! The operations of the suites' case files.

use super::{Folder, agent_authority, delegated_chain, evaluate_message, member, single_papers, text};
use crate::cli::Failure;
use crate::limits::Limits;
use crate::protocol::handshake::{Handshake, may_downgrade};
use crate::protocol::{ProtocolDocument, ProtocolHash};
use crate::rdf::{Budget, RdfMediaType, canon, parse_graph};
use crate::shape::{CompiledShapes, Validation};
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
        "may-downgrade-to-nl" => may_downgrade_to_prose(input),
        "validate-intent" => validate_intent(input, folder),
        unknown => Err(Failure::new(format!("unknown operation `{unknown}`"))),
    }
}

fn rdfc10_hash(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let limits = Limits::default();
    let (document, media_type) = folder.rdf(text(input, "graph")?)?;
    let graph = parse_graph(&document, media_type, &limits)?;
    let canonical = canon::graph(&graph, &mut Budget::new(&limits))?;
    let hash = ProtocolHash::of_canonical(&canonical);
    Ok(json!({ "hash": hash.as_str(), "canonical": canonical }))
}

/// Whether a fetched document hashes to its pin (HASH-1). A pin or document that is no such thing does not.
fn verify_pd_pin(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let (body, by_ending) = folder.rdf(text(input, "body")?)?;
    let media_type = input.get("mediaType").and_then(Value::as_str).unwrap_or(by_ending.as_str());
    let pin: Result<ProtocolHash, _> = text(input, "pinnedHash")?.parse();
    let hash = ProtocolDocument::hash_of(&body, media_type, &Limits::default());
    Ok(json!({ "ok": matches!((pin, hash), (Ok(pin), Ok(hash)) if pin == hash) }))
}

fn decode_handshake(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let decoded = match input.get("graph") {
        Some(Value::String(graph)) => {
            let (document, media_type) = folder.rdf(graph)?;
            Handshake::decode_graph(&document, media_type.as_str(), &Limits::default())
        }
        Some(_) => return Err(Failure::new("`graph` is not a string")),
        None => Handshake::decode_json(member(input, "payload")?),
    };
    Ok(match decoded {
        Ok(Handshake::Offer(_)) => json!({ "ok": true, "kind": "upgrade-offer" }),
        Ok(Handshake::Response(_)) => json!({ "ok": true, "kind": "upgrade-response" }),
        Err(_) => json!({ "ok": false }),
    })
}

/// DG-1. An offer or response that does not decode is none, and none never permits prose.
fn may_downgrade_to_prose(input: &Value) -> Result<Value, Failure> {
    let offer = match Handshake::decode_json(member(input, "offer")?) {
        Ok(Handshake::Offer(offer)) => offer,
        _ => return Ok(json!({ "downgrade": false })),
    };
    let response = match input.get("response").map(Handshake::decode_json) {
        Some(Ok(Handshake::Response(response))) => Some(response),
        _ => None,
    };
    Ok(json!({ "downgrade": may_downgrade(&offer, response.as_ref()) }))
}

/// Plain SHACL validation of a data graph against a shapes graph, by the shapes' own targets.
fn validate_intent(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let limits = Limits::default();
    let graph = |name| {
        let (document, media_type): (String, RdfMediaType) = folder.rdf(text(input, name)?)?;
        Ok::<_, Failure>(parse_graph(&document, media_type, &limits)?)
    };
    let shapes = CompiledShapes::compile(&graph("shapesGraph")?, &[])?;
    let validation = shapes.validate_targets(&graph("dataGraph")?, &limits)?;
    Ok(json!({ "conforms": matches!(validation, Validation::Conforms) }))
}
