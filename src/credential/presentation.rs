//! Stage 6: the Verifiable Presentation.

use super::Credential;
use crate::config::Config;
use crate::message::{Digest, Envelope, IntentGraph};
use crate::protocol::ProtocolDocument;
use crate::rdf::Budget;
use crate::refusal::{Refusal, Stage};
use crate::request::{Instant, Request};

/// A fresh presentation by the acting agent. Its credentials are read but not yet verified: that is stage 7. Only
/// [`VerifiedPresentation::verify`] makes one.
#[derive(Debug)]
pub(crate) struct VerifiedPresentation {
    holder: String,
    digest: Digest,
    nonce: String,
    domain: String,
    created: Instant,
    not_after: Instant,
    bound: bool,
    credentials: Vec<Credential>,
}

impl VerifiedPresentation {
    /// Verifies the message's presentation: form, proof by the holder's authentication key, challenge (plain or
    /// bound), domain, age, and that the holder is the actor and is named by every credential.
    ///
    /// # Errors
    /// `AUTHORIZATION_MISSING`, `MALFORMED`, `LIMIT_EXCEEDED`, `REMOTE_CONTEXT`, `NO_PROOF`, `UNKNOWN_CRYPTOSUITE`,
    /// `PROOF_PURPOSE_MISMATCH`, `CHALLENGE_UNKNOWN`, `CHALLENGE_MISMATCH`, `DOMAIN_MISMATCH`, `HOLDER_UNVERIFIED`,
    /// `INVALID_SIGNATURE`, `EXPIRED`, `PRESENTATION_TOO_OLD`, `PRESENTATION_NOT_YET_VALID`.
    pub(crate) fn verify(
        envelope: &Envelope,
        intent: &IntentGraph,
        protocol: &ProtocolDocument,
        request: &Request,
        config: &Config,
        budget: &mut Budget,
    ) -> Result<Self, Refusal> {
        let _ = (envelope, intent, protocol, request, config, budget);
        Err(Refusal::internal(Stage::Presentation, "not implemented"))
    }

    /// The agent that made it: controller of the proof's method.
    pub(crate) fn holder(&self) -> &str {
        &self.holder
    }

    /// SHA-256 of the presentation's canonical N-Quads, without its proof.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The challenge that the server gave out. Admission consumes it, whether the presentation answers it plainly or
    /// with a bound challenge made from it: one nonce is good for one allow.
    pub(crate) fn nonce(&self) -> &str {
        &self.nonce
    }

    pub(crate) fn domain(&self) -> &str {
        &self.domain
    }

    pub(crate) fn created(&self) -> Instant {
        self.created
    }

    /// The end of its age bound, or of its proof if that is earlier.
    pub(crate) fn not_after(&self) -> Instant {
        self.not_after
    }

    /// Whether the challenge is bound to this very message.
    pub(crate) fn is_bound(&self) -> bool {
        self.bound
    }

    pub(crate) fn credentials(&self) -> &[Credential] {
        &self.credentials
    }
}
