//! Stage 7: assembly, then phases A, B and C.

use super::odrl::Policy;
use crate::config::Config;
use crate::credential::{Credential, VerifiedPresentation};
use crate::message::{ActionsUnderTest, Digest, RdfPart};
use crate::rdf::Budget;
use crate::refusal::{Refusal, Stage};
use crate::request::{Instant, Request};

/// How a credential binds its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BindingForm {
    /// The policy is part of the signed graph.
    Embedded,
    /// The signed credential has a digest of the policy document.
    Digest,
    /// The operator's store vouches for the document by its location.
    Provisional,
}

/// One hop: a credential and its policy.
#[derive(Debug)]
pub(crate) struct Hop {
    pub(crate) credential: Credential,
    pub(crate) policy: Policy,
    /// SHA-256 over the policy document's octets, or over the canonical form of an embedded policy.
    pub(crate) policy_digest: Digest,
    pub(crate) binding: BindingForm,
}

/// A chain whose every paper is genuine, current and not revoked. Only [`VerifiedChain::verify`] makes one.
#[derive(Debug)]
pub(crate) struct VerifiedChain {
    root_principal: String,
    hops: Vec<Hop>,
    /// The actor chain of identity composition, where there is one.
    actor_hops: Vec<Hop>,
    leaf_delegate: String,
    not_after: Instant,
}

impl VerifiedChain {
    /// Assembles the presentation's credentials and their policies into a chain, and verifies it root first.
    ///
    /// # Errors
    /// `CHAIN_MALFORMED` (assembly), then the reasons of phases A, B and C, in the order of `mandate.md` 4.
    pub(crate) fn verify(
        presentation: &VerifiedPresentation,
        policy_parts: &[RdfPart],
        actions: &ActionsUnderTest,
        request: &Request,
        config: &Config,
        budget: &mut Budget,
    ) -> Result<Self, Refusal> {
        let _ = (presentation, policy_parts, actions, request, config, budget);
        Err(Refusal::internal(Stage::Chain, "not implemented"))
    }

    pub(crate) fn root_principal(&self) -> &str {
        &self.root_principal
    }

    /// The hops of the primary chain, root first.
    pub(crate) fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The hops of the actor chain, root first; empty where the presentation holds one chain.
    pub(crate) fn actor_hops(&self) -> &[Hop] {
        &self.actor_hops
    }

    /// `svc:authorizes` of the last hop.
    pub(crate) fn leaf_delegate(&self) -> &str {
        &self.leaf_delegate
    }

    /// The earliest end among the credentials and the freshness of the inputs.
    pub(crate) fn not_after(&self) -> Instant {
        self.not_after
    }
}
