//! One Protocol Document, loaded, hashed and compiled.

use super::ProtocolHash;
use crate::limits::Limits;
use crate::shape::CompiledShapes;
use std::collections::{BTreeMap, BTreeSet};

/// How strictly a presentation must be bound to its message under a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    /// A plain challenge is accepted, and the report says `unbound`.
    #[default]
    Accepted,
    /// Only a `wgb1.` challenge, over this very message, is accepted.
    Required,
}

/// What the operator says about a document that is spoken here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolSettings {
    /// The pin.
    pub hash: ProtocolHash,
    /// Action classes that the document may carry, each mapped to the ODRL or WAC action that is judged.
    pub actions: BTreeMap<String, String>,
    /// `a2a:paramKey` values, each mapped to the local name of a stated left operand.
    pub parameters: BTreeMap<String, String>,
    /// Whether a misreading has authorization, financial or data-integrity consequences.
    pub security_bearing: bool,
    /// How strictly a presentation must be bound.
    pub binding: Binding,
    /// Whether our card declares the document, so that it is known to every conversation (PP-7).
    pub declared: bool,
}

/// A document that hashed to its pin and whose request shapes compiled.
#[derive(Debug)]
pub struct ProtocolDocument {
    pub(crate) settings: ProtocolSettings,
    /// The document's IRI.
    pub(crate) id: String,
    /// The request shapes; a response shape must not make a request fail.
    pub(crate) request_shapes: CompiledShapes,
    /// Predicates on paths of the request shapes: what an intent may say beside the mapping's predicates.
    pub(crate) request_paths: BTreeSet<String>,
}

/// Why a Protocol Document was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The graph does not hash to the pin (`HASH_MISMATCH`).
    #[error("the document's graph hashes to {found}, not to its pin")]
    HashMismatch {
        /// The hash of the graph as it was read.
        found: ProtocolHash,
    },
    /// The document is not a well-formed graph of one Protocol Document, or needs what is outside its graph.
    #[error("{0}")]
    Malformed(String),
    /// A request shape does not compile, or could let every intent pass.
    #[error("{0}")]
    Shape(String),
}

impl ProtocolDocument {
    /// Reads a document (Turtle or JSON-LD), recomputes its hash, compares it with the pin before any other use, and
    /// compiles its request shapes.
    ///
    /// # Errors
    /// [`LoadError`]
    pub fn load(
        text: &str,
        media_type: &str,
        settings: ProtocolSettings,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let _ = (text, media_type, settings, limits);
        Err(LoadError::Malformed("not implemented".into()))
    }

    /// The hash of a document's graph (HASH-1), read as Turtle or JSON-LD. The hash says nothing about whether the
    /// graph is a Protocol Document.
    ///
    /// # Errors
    /// [`LoadError::Malformed`]
    pub fn hash_of(text: &str, media_type: &str, limits: &Limits) -> Result<ProtocolHash, LoadError> {
        let _ = (text, media_type, limits);
        Err(LoadError::Malformed("not implemented".into()))
    }

    /// The pin.
    pub fn hash(&self) -> &ProtocolHash {
        &self.settings.hash
    }

    /// The document's IRI, which is a label and not its identity.
    pub fn id(&self) -> &str {
        &self.id
    }
}
