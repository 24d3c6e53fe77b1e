//! Building a message: the sender's side of stage 1.

use super::digest::of_message_without;
use super::{IntentGraph, RdfPart};
use crate::credential::{ChallengeBinding, is_signable_nonce};
use crate::limits::Limits;
use crate::protocol::conversation::{NaturalLanguage, Role};
use crate::protocol::handshake::{Handshake, HandshakeError};
use crate::rdf::{Budget, RdfMediaType};
use crate::refusal::Reason;
use crate::vocab::{EXTENSION, META_KIND, META_PROTOCOL_HASH};
use serde_json::{Map, Value, json};

/// What a message is made of. Texts come with their media types.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The message's id.
    pub id: String,
    /// The message's context.
    pub context: Option<String>,
    /// The hash of the Protocol Document that the intent is written to.
    pub protocol_hash: String,
    /// The intent.
    pub intent: (String, String),
    /// The Verifiable Presentation: a JSON object, or the compact text of a `vp+jwt`.
    pub presentation: Option<Value>,
    /// Policy documents that credentials bind by digest.
    pub policies: Vec<(String, String)>,
}

/// The JSON of an A2A v1.0 `Message`, tagged with the extension.
pub fn message(draft: &Draft) -> Value {
    let (text, media_type) = &draft.intent;
    let mut parts = vec![json!({
        "text": text, "mediaType": media_type,
        "metadata": { META_KIND: "intent", META_PROTOCOL_HASH: draft.protocol_hash },
    })];
    parts.extend(draft.presentation.iter().map(|presentation| {
        let (content, media_type) = match presentation {
            Value::String(_) => ("text", "application/vp+jwt"),
            _ => ("data", "application/vp"),
        };
        json!({
            content: presentation, "mediaType": media_type, "metadata": { META_KIND: "authorization" },
        })
    }));
    parts.extend(draft.policies.iter().map(|(text, media_type)| {
        json!({ "text": text, "mediaType": media_type, "metadata": { META_KIND: "authorization" } })
    }));
    tagged(&draft.id, (draft.context.as_deref(), None), Role::Client, parts)
}

/// What a handshake message is made of.
#[derive(Debug, Clone)]
pub struct HandshakeDraft {
    /// The message's id.
    pub id: String,
    /// The message's context.
    pub context: Option<String>,
    /// The message's task.
    pub task: Option<String>,
    /// What its sender is.
    pub role: Role,
    /// The offer or the response.
    pub handshake: Handshake,
    /// How it is written.
    pub form: HandshakeForm,
}

/// The forms that a handshake payload may have (message and parts, PP-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeForm {
    /// A `data` part.
    Json,
    /// A `text` part, `text/turtle`.
    Turtle,
    /// A `text` part, `application/ld+json`.
    JsonLd,
}

/// The JSON of an A2A v1.0 `Message` that carries a handshake and nothing else, tagged with the extension.
///
/// # Errors
/// [`HandshakeError`]: the payload could not be written.
pub fn handshake(draft: &HandshakeDraft) -> Result<Value, HandshakeError> {
    let HandshakeDraft { id, context, task, role, handshake, form } = draft;
    let (content, value, media_type) = match form {
        HandshakeForm::Json => ("data", handshake.to_json(), "application/json"),
        HandshakeForm::Turtle => ("text", json!(handshake.to_turtle()?), "text/turtle"),
        HandshakeForm::JsonLd => ("text", json!(handshake.to_json_ld().to_string()), "application/ld+json"),
    };
    let part =
        json!({ content: value, "mediaType": media_type, "metadata": { META_KIND: handshake.kind() } });
    Ok(tagged(id, (context.as_deref(), task.as_deref()), *role, vec![part]))
}

/// The JSON of an A2A v1.0 `Message` in natural language. It takes the leave of the conversation that it is said in, and is
/// said in no other: where prose is forbidden there is nothing to send.
pub fn prose(id: &str, text: &str, leave: NaturalLanguage) -> Value {
    let of = leave.conversation();
    Value::Object(message_of(id, (of.context.as_deref(), None), of.role, vec![json!({ "text": text })]))
}

fn tagged(id: &str, (context, task): (Option<&str>, Option<&str>), role: Role, parts: Vec<Value>) -> Value {
    let mut message = message_of(id, (context, task), role, parts);
    message.insert("extensions".to_owned(), json!([EXTENSION]));
    Value::Object(message)
}

fn message_of(
    id: &str,
    (context, task): (Option<&str>, Option<&str>),
    role: Role,
    parts: Vec<Value>,
) -> Map<String, Value> {
    let role = match role {
        Role::Client => "ROLE_USER",
        Role::Agent => "ROLE_AGENT",
    };
    let mut message = Map::new();
    message.insert("messageId".to_owned(), json!(id));
    for (name, text) in [("contextId", context), ("taskId", task)] {
        if let Some(text) = text {
            message.insert(name.to_owned(), json!(text));
        }
    }
    message.insert("role".to_owned(), json!(role));
    message.insert("parts".to_owned(), Value::Array(parts));
    message
}

/// Why a bound challenge cannot be computed for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// No server gives out such a value: it is shorter than 16 octets, or itself a bound challenge, which could stand for
    /// another message.
    #[error("no server gives out such a nonce: it has 16 octets at least, and is not itself bound")]
    Nonce,
    /// The message has no id, or not exactly one intent part with a protocol hash and a text.
    #[error("the message has not exactly one intent with a protocol hash, or no id")]
    NoIntent,
    /// The intent is not one that a server would read.
    #[error("the intent would be refused: {} ({})", .0.as_str(), .0.sentence())]
    Intent(Reason),
    /// The message cannot be written in JCS form.
    #[error("the message has no JCS form")]
    Form,
}

/// The bound challenge (`wgb1.`) that a client signs for this message: over what the server gave out, the domain that the
/// server's card names, and the whole message but its authorization parts. A client signs no bound challenge that it did
/// not compute itself, here.
///
/// # Errors
/// [`ComposeError`]
pub fn bound_challenge(message: &Value, nonce: &str, domain: &str) -> Result<String, ComposeError> {
    if !is_signable_nonce(nonce) {
        return Err(ComposeError::Nonce);
    }
    let parts = message.get("parts").and_then(Value::as_array).ok_or(ComposeError::NoIntent)?;
    let of_kind = |wanted: &'static str| {
        parts.iter().enumerate().filter(move |(_, part)| metadata(part, META_KIND) == Some(wanted))
    };
    let mut intents = of_kind("intent");
    let (Some((index, part)), None) = (intents.next(), intents.next()) else {
        return Err(ComposeError::NoIntent);
    };
    let text = part.get("text").and_then(Value::as_str).ok_or(ComposeError::NoIntent)?;
    let media_type = part.get("mediaType").and_then(Value::as_str).and_then(RdfMediaType::parse);
    let part_read = RdfPart {
        index,
        media_type: media_type.ok_or(ComposeError::Intent(Reason::MediaTypeUnsupported))?,
        text: text.to_owned(),
    };
    let limits = Limits::default();
    let intent = IntentGraph::read(&part_read, &limits, &mut Budget::new(&limits))
        .map_err(|refusal| ComposeError::Intent(refusal.reason()))?;
    let authorizations: Vec<usize> = of_kind("authorization").map(|(index, _)| index).collect();
    let rest_digest = of_message_without(message, &authorizations).map_err(|_| ComposeError::Form)?;
    let own = |name: &str| message.get(name).and_then(Value::as_str);
    crate::credential::bound_challenge(&ChallengeBinding {
        nonce,
        domain,
        message_id: own("messageId").ok_or(ComposeError::NoIntent)?,
        context_id: own("contextId"),
        task_id: own("taskId"),
        protocol_hash: metadata(part, META_PROTOCOL_HASH).ok_or(ComposeError::NoIntent)?,
        intent_hash: &intent.hash,
        rest_digest,
    })
    .map_err(|_| ComposeError::Form)
}

fn metadata<'a>(part: &'a Value, key: &str) -> Option<&'a str> {
    part.get("metadata")?.get(key)?.as_str()
}
