//! Policy-content binding (`mandate.md` 3): is this document the policy that the issuer signed for?

use super::{Credential, PaperError};
use crate::config::PolicyStore;
use crate::limits::Limits;
use crate::mandate::chain::BindingForm;
use crate::message::{Digest, RdfPart};
use crate::rdf::Budget;
use crate::refusal::Reason;
use oxrdf::{Graph, NamedOrBlankNode};

/// The policy content that a credential's issuer signed for. Whether it is one well-formed policy, and whether its id is
/// the credential's claim, is for the reader of policies.
#[derive(Debug, Clone)]
pub(crate) struct BoundPolicy {
    /// The policy document's own graph, or the part of the signed graph that is reachable from the embedded node.
    pub(crate) graph: Graph,
    /// `svc:policy`: for a reference, the IRI that the policy's id must be; for an embedded policy, its node in `graph`.
    pub(crate) claim: NamedOrBlankNode,
    /// SHA-256 over the document's octets, or over the canonical form of an embedded policy's graph.
    pub(crate) digest: Digest,
    pub(crate) form: BindingForm,
    /// The place in `parts` of the message part that carries the document; `None` for an embedded or a stored one.
    pub(crate) part: Option<usize>,
}

/// Finds the content of the credential's policy: embedded, in a message part, or in the store.
///
/// # Errors
/// `POLICY_INTEGRITY`; `LIMIT_EXCEEDED` where the budget is spent.
pub(crate) fn resolve(
    credential: &Credential,
    parts: &[RdfPart],
    store: &PolicyStore,
    trust_store_by_location: bool,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<BoundPolicy, PaperError> {
    let _ = (credential, parts, store, trust_store_by_location, limits, budget);
    Err(PaperError::new(Reason::PolicyIntegrity, "not implemented"))
}

/// Each supplied part must be bound by exactly one credential (`mandate.md` 3).
///
/// # Errors
/// `POLICY_INTEGRITY`
pub(crate) fn each_part_bound_once<'a>(
    bound: impl Iterator<Item = &'a BoundPolicy>,
    parts: &[RdfPart],
) -> Result<(), PaperError> {
    let _ = (bound.count(), parts);
    Err(PaperError::new(Reason::PolicyIntegrity, "not implemented"))
}
