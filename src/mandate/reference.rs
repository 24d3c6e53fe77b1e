//! Stage 8: the intent's `odrl:hasPolicy` against the chain (AUTHZ-2).

use super::VerifiedChain;
use crate::message::ActionsUnderTest;
use crate::refusal::{Reason, Refusal, Stage};

/// Every policy that the intent refers to is of the primary chain. Only [`PolicyReferences::check`] makes one.
#[derive(Debug)]
pub(crate) struct PolicyReferences {
    _checked: (),
}

impl PolicyReferences {
    /// Every value must be the id of a policy of the primary chain; an intent without one refers to none.
    ///
    /// # Errors
    /// `POLICY_REFERENCE_MISMATCH`.
    pub(crate) fn check(actions: &ActionsUnderTest, chain: &VerifiedChain) -> Result<Self, Refusal> {
        let of_chain = |reference: &str| chain.hops().iter().any(|hop| hop.policy.id() == reference);
        match actions.policy_references.iter().find(|reference| !of_chain(reference)) {
            None => Ok(Self { _checked: () }),
            Some(stranger) => Err(Refusal::new(Stage::Reference, Reason::PolicyReferenceMismatch)
                .with(|evidence| evidence.policy = Some(stranger.clone()))),
        }
    }
}
