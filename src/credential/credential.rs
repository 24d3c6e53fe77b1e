//! One Agent Authorization Credential, as its own graph says it.

use super::PaperError;
use crate::limits::Limits;
use crate::message::Digest;
use crate::rdf::Budget;
use crate::request::{Instant, Snapshot};
use oxrdf::Graph;
use serde_json::Value;

/// A credential's claims, read from the graph that its proofs are made over. Reading proves nothing:
/// [`Credential::verify`] is phase A.
#[derive(Debug, Clone)]
pub(crate) struct Credential {
    /// The credential's IRI, where it has one.
    pub(crate) id: Option<String>,
    /// SHA-256 of the credential's canonical N-Quads, without its proofs.
    pub(crate) digest: Digest,
    /// The delegating principal.
    pub(crate) issuer: String,
    /// The subject's IRI, where it has one; it must equal the issuer (phase B).
    pub(crate) subject: Option<String>,
    /// The delegate.
    pub(crate) authorizes: Option<String>,
    /// `svc:policy`, where there is exactly one.
    pub(crate) policy: Option<PolicyClaim>,
    /// `svc:action` values, as IRIs or short names.
    pub(crate) actions: Vec<String>,
    /// `svc:target` values.
    pub(crate) targets: Vec<String>,
    pub(crate) valid_from: Option<Instant>,
    pub(crate) valid_until: Option<Instant>,
    /// Status entries; their fields are judged in phase C.
    pub(crate) status: Vec<StatusEntry>,
    pub(crate) related: Vec<RelatedResource>,
    /// The credential's graph, without its proofs.
    pub(crate) graph: Graph,
    /// The credential's proofs, each with its signed options.
    pub(crate) proofs: Vec<super::data_integrity::Proof>,
}

/// What `svc:policy` points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicyClaim {
    /// A node with the policy's triples in the signed graph.
    Embedded(oxrdf::NamedOrBlankNode),
    /// An IRI, to be bound by a digest.
    Reference(String),
}

/// An entry of `relatedResource`: an IRI with digests over what it names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RelatedResource {
    pub(crate) id: String,
    pub(crate) digest_sri: Vec<String>,
    pub(crate) digest_multibase: Vec<String>,
    pub(crate) media_type: Vec<String>,
}

/// An entry of `credentialStatus`, unjudged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StatusEntry {
    pub(crate) types: Vec<String>,
    pub(crate) purpose: Vec<String>,
    pub(crate) index: Vec<String>,
    pub(crate) list: Vec<String>,
}

impl Credential {
    /// Reads a JSON-LD credential from its graph, with its proofs and their options.
    ///
    /// # Errors
    /// `MALFORMED`, `REMOTE_CONTEXT`, `NO_PROOF`, `UNKNOWN_CRYPTOSUITE`, `LIMIT_EXCEEDED`.
    pub(crate) fn read(document: &Value, limits: &Limits, budget: &mut Budget) -> Result<Self, PaperError> {
        let _ = (document, limits, budget);
        Err(PaperError::malformed("not implemented"))
    }

    /// Phase A: each proof by the issuer's own key for `assertionMethod`, over this very graph, and the dates.
    ///
    /// # Errors
    /// `NO_PROOF`, `UNKNOWN_CRYPTOSUITE`, `PROOF_PURPOSE_MISMATCH`, `ISSUER_MISMATCH`, `INVALID_SIGNATURE`, `EXPIRED`,
    /// `NOT_YET_VALID`, in this order.
    pub(crate) fn verify(
        &self,
        snapshot: &Snapshot,
        controller_max_age: chrono::TimeDelta,
    ) -> Result<(), PaperError> {
        let _ = (snapshot, controller_max_age);
        Err(PaperError::malformed("not implemented"))
    }

    /// The earliest end of the credential and its proofs: `validUntil` and each proof's `expires`.
    pub(crate) fn not_after(&self) -> Option<Instant> {
        self.proofs.iter().filter_map(|proof| proof.expires).chain(self.valid_until).min()
    }
}
