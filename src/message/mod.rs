//! An A2A message becomes an `Envelope`, and a conforming intent becomes the actions under test.
//!
//! This folder owns stage 1 (`strict_json`, `admit`), stage 3 (`intent`) and stage 5 (`action`, `target`). A strict
//! reader runs on the octets before the official A2A types see them, because those are lenient. It reads handshakes
//! (`handshake`) and responses (`response`) too, which are judged outside the pipeline.

pub(crate) mod action;
pub(crate) mod admit;
pub mod compose;
pub(crate) mod digest;
pub(crate) mod form;
pub(crate) mod handshake;
pub(crate) mod intent;
mod kind;
pub(crate) mod response;
pub(crate) mod strict_json;
pub(crate) mod target;
#[cfg(test)]
mod testing;

pub(crate) use action::ActionsUnderTest;
pub use digest::Digest;
pub(crate) use intent::IntentGraph;
pub use kind::MessageKind;
pub use response::{ResponseFacts, ResponseInput};

use crate::rdf::RdfMediaType;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Stage 1's answer.
#[derive(Debug)]
pub(crate) enum Admitted {
    /// The message carries one intent of the extension.
    Ours(Box<Envelope>),
    /// The message carries nothing of the extension.
    NotOurs,
}

/// What every report says of a message that could be read.
#[derive(Debug, Clone)]
pub(crate) struct MessageFacts {
    pub(crate) message_id: String,
    /// SHA-256 of the message's JCS form.
    pub(crate) digest: Digest,
    /// The message's own `contextId`.
    pub(crate) context_id: Option<String>,
    /// The effective context: the caller's fact, and equal to `context_id` where there is one.
    pub(crate) context: Option<String>,
    pub(crate) task_id: Option<String>,
    /// The caller parsed the message; the strict reader saw only what its parser kept.
    pub(crate) parsed_by_caller: bool,
}

/// A message that carries exactly one intent part and at most one presentation, tagged and activated.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) facts: MessageFacts,
    /// SHA-256 of the message's JCS form.
    pub(crate) digest: Digest,
    pub(crate) rest: Rest,
    /// The intent part's `protocolHash`, as the sender wrote it; `None` where it is absent or not a string.
    pub(crate) protocol_hash_claim: Option<String>,
    pub(crate) intent: RdfPart,
    pub(crate) presentation: Option<PresentationPart>,
    /// Further authorization parts: policy documents that credentials bind by digest.
    pub(crate) policy_parts: Vec<RdfPart>,
    pub(crate) unjudged: Vec<UnjudgedPart>,
}

/// The message without its authorization parts.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    pub(crate) message: Value,
    /// The places of the authorization parts.
    pub(crate) without: Vec<usize>,
}

impl Rest {
    /// SHA-256 of its JCS form: `restDigest` of a bound challenge. `None` for what JCS cannot write, which the strict
    /// reader never gives.
    pub(crate) fn digest(&self) -> Option<Digest> {
        digest::of_message_without(&self.message, &self.without).ok()
    }
}

/// A part whose text is RDF.
#[derive(Debug, Clone)]
pub(crate) struct RdfPart {
    /// The part's place in the message, from 0.
    pub(crate) index: usize,
    pub(crate) media_type: RdfMediaType,
    pub(crate) text: String,
}

/// The presentation, in the form in which it came.
#[derive(Debug, Clone)]
pub(crate) enum PresentationPart {
    /// `data`, media type `application/vp` (or none).
    DataIntegrity { document: Value },
    /// `text`, media type `application/vp+jwt`: a JWS in compact serialization.
    Jose { jws: String },
}

/// A part beside the intent. It was not judged, and nothing may be done on its word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnjudgedPart {
    /// The part's place in the message, from 0.
    pub index: usize,
    /// `text`, `raw`, `url` or `data`.
    pub content: String,
}
