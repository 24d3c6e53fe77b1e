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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::mandate::chain::{BindingForm, Hop};
    use crate::mandate::odrl::Policy;
    use crate::mandate::support::{credential, ex};

    fn hop(id: &str) -> Hop {
        let credential = credential(id, "owner", "agent", "odrl:permission [ odrl:action odrl:read ]");
        Hop {
            policy: Policy::read(&credential.graph, &Limits::default()).unwrap().into(),
            policy_digest: credential.digest,
            binding: BindingForm::Embedded,
            credential: credential.into(),
        }
    }

    fn check(references: &[&str]) -> Result<PolicyReferences, Refusal> {
        let chain = VerifiedChain::for_test(&ex("owner"), vec![hop("p"), hop("q")], vec![hop("s")], None);
        let actions = ActionsUnderTest {
            actions: Vec::new(),
            root_principal: ex("owner"),
            policy_references: references.iter().map(|name| ex(name)).collect(),
            agent: None,
            unjudged_nodes: Vec::new(),
        };
        PolicyReferences::check(&actions, &chain)
    }

    #[test]
    fn every_reference_is_to_a_policy_of_the_primary_chain() {
        for good in [&[][..], &["p"], &["q", "p"]] {
            assert!(check(good).is_ok(), "{good:?}");
        }
        for bad in [&["z"][..], &["p", "z"], &["s"]] {
            let refusal = check(bad).unwrap_err();
            assert_eq!(refusal.reason(), Reason::PolicyReferenceMismatch, "{bad:?}");
        }
        assert_eq!(check(&["z"]).unwrap_err().evidence().policy, Some(ex("z")));
    }
}
