//! The delegation chain and identity composition.

use crate::config::Config;
use crate::decision::Obligation;
use crate::mandate::VerifiedChain;
use crate::message::ActionsUnderTest;
use crate::refusal::{Refusal, Stage};
use crate::request::{Instant, Request};
use std::collections::BTreeSet;

/// What the policies of the chain grant for the actions under test. Only [`PolicyGrant::evaluate`] makes one.
#[derive(Debug)]
pub(crate) struct PolicyGrant {
    obligations: BTreeSet<Obligation>,
    not_after: Instant,
    exercised: BTreeSet<String>,
}

impl PolicyGrant {
    /// Phase D for every action under test, then identity composition with `actor`.
    ///
    /// # Errors
    /// `POLICY_DENIED`, `IDENTITY_COMPOSITION_FAILED`.
    pub(crate) fn evaluate(
        chain: &VerifiedChain,
        actions: &ActionsUnderTest,
        actor: &str,
        request: &Request,
        config: &Config,
    ) -> Result<Self, Refusal> {
        let _ = (chain, actions, actor, request, config);
        Err(Refusal::internal(Stage::Policy, "not implemented"))
    }

    /// The duties of every matched grant.
    pub(crate) fn obligations(&self) -> &BTreeSet<Obligation> {
        &self.obligations
    }

    /// The earliest instant at which a dateTime constraint of a matched grant ends.
    pub(crate) fn not_after(&self) -> Instant {
        self.not_after
    }

    /// Ids of the policies whose permissions this grant exercises (`odrl:count`).
    pub(crate) fn exercised(&self) -> &BTreeSet<String> {
        &self.exercised
    }
}
