//! Papers: Verifiable Credentials, the Verifiable Presentation that carries them, their proofs and keys.
//!
//! This folder owns stage 6 (`presentation`) and what stage 7 asks of each single credential (phase A and the content
//! binding of its policy). A paper is read from the graph whose hash was signed, never from its JSON member names.

#![allow(clippy::module_inception, reason = "one file for each kind of paper; this one is the credential")]

pub(crate) mod binding;
mod challenge;
mod content_digest;
pub(crate) mod context_free;
pub(crate) mod controller;
pub(crate) mod credential;
pub(crate) mod data_integrity;
pub(crate) mod date_time;
pub mod issue;
pub(crate) mod issue_jose;
mod issued;
pub(crate) mod jose;
pub(crate) mod jose_presentation;
pub(crate) mod key;
pub(crate) mod known;
pub(crate) mod node;
mod node_object;
pub(crate) mod presentation;
pub(crate) mod presentation_graph;
pub(crate) mod securing;
pub(crate) mod status;

pub(crate) use challenge::is_signable_nonce;
pub use challenge::{ChallengeBinding, bound_challenge};
pub use controller::ControllerDocuments;
pub(crate) use credential::Credential;
pub(crate) use issued::Recipient;
pub use issued::{ChallengeError, ChallengeIssuer, IssuedChallenges, IssuedVerdict, JudgedChallenge};
pub use key::KeyType;
pub(crate) use known::{Known, KnownFacts, digest_of_limits};
pub(crate) use presentation::VerifiedPresentation;
pub use status::StatusLists;

use crate::audit::instant_text;
use crate::rdf::RdfError;
use crate::refusal::{Evidence, Reason, Refusal, Stage};
use crate::request::Instant;

/// Why a paper is refused: a reason of `mandate.md`, and what a person needs to know in our words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaperError {
    pub(crate) reason: Reason,
    pub(crate) evidence: Box<Evidence>,
}

impl PaperError {
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, evidence: Box::new(Evidence { detail: Some(detail.into()), ..Evidence::default() }) }
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(Reason::Malformed, detail)
    }

    /// With the instant that was found, and the bound that it must keep.
    pub(crate) fn at_time(mut self, seen: Instant, side: &str, bound: Instant) -> Self {
        self.evidence.seen = Some(instant_text(seen));
        self.evidence.expected = Some(format!("{side} {}", instant_text(bound)));
        self
    }

    /// With what was found, and what would have been right, where there is one right thing.
    pub(crate) fn compared(mut self, seen: Option<&str>, expected: Option<&str>) -> Self {
        self.evidence.seen = seen.map(str::to_owned);
        self.evidence.expected = expected.map(str::to_owned);
        self
    }

    /// The refusal of `stage` for this error.
    pub(crate) fn at(self, stage: Stage) -> Refusal {
        Refusal::new(stage, self.reason).with(|evidence| *evidence = *self.evidence)
    }
}

impl From<RdfError> for PaperError {
    fn from(error: RdfError) -> Self {
        let reason = match &error {
            RdfError::Malformed(_) => Reason::Malformed,
            RdfError::RemoteContext(_) => Reason::RemoteContext,
            RdfError::TooLarge(_) | RdfError::BudgetExceeded => Reason::LimitExceeded,
        };
        let mut paper = Self::new(reason, error.to_string());
        if let RdfError::RemoteContext(url) = error {
            paper.evidence.seen = Some(url);
        }
        paper
    }
}

#[cfg(test)]
mod tests;
