//! Chains of the example: Alice, those who pass her mandate on, and her agent.

use super::{ALICE, BOB, ExampleError, MANDATE_POLICY, MandateDraft, NOTES, World};
use crate::credential::issue::SigningKey;

impl World {
    /// A chain of so many hops from Alice to her agent, root first. Each lets Bob be given access to the notes, and each
    /// but the last lets it be passed on.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn chain(&self, hops: u8) -> Result<Vec<MandateDraft>, ExampleError> {
        (0..hops)
            .map(|hop| {
                let key = if hop == 0 { self.alice.clone() } else { delegate(hop) };
                let to = if hop + 1 == hops { self.agent_id() } else { delegate(hop + 1).did_key() };
                let mut draft = self.hop(hop, key, to)?;
                if hop > 0 {
                    let parent = policy_of(hop - 1);
                    draft.policy.push_str(&format!(" ; odrld:delegatedUnder <{parent}>"));
                }
                if hop + 1 < hops {
                    draft.policy.push_str(&format!(
                        " ; odrl:permission [ odrl:action odrl:grantUse ; odrl:target <{NOTES}> ; odrl:constraint [ \
                         odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand 8 ] ]"
                    ));
                }
                draft.policy.push_str(" .\n");
                Ok(draft)
            })
            .collect()
    }

    /// A chain of two hops to an assistant, and the assistant's own mandate for the agent: identity composition.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn composed_chain(&self) -> Result<Vec<MandateDraft>, ExampleError> {
        let mut chain = self.chain(3)?;
        if let Some(last) = chain.pop() {
            let free = last.policy.replace(&format!(" ; odrld:delegatedUnder <{}>", policy_of(1)), "");
            chain.push(MandateDraft { policy: free, ..last });
        }
        Ok(chain)
    }

    /// One hop; its policy lacks the end.
    fn hop(&self, hop: u8, key: SigningKey, to: String) -> Result<MandateDraft, ExampleError> {
        let policy = format!(
            "PREFIX acl: <http://www.w3.org/ns/auth/acl#>\nPREFIX odrl: <http://www.w3.org/ns/odrl/2/>\n\
             PREFIX odrld: <https://w3id.org/jeswr/odrl-delegation#>\n\
             <{}> a odrl:Agreement ; odrl:assigner <{}> ; odrl:assignee <{to}> ;\n\
             odrl:permission [ odrl:action acl:Control ; odrl:target <{NOTES}> ; odrl:constraint [ \
             odrl:leftOperand odrl:recipient ; odrl:operator odrl:eq ; odrl:rightOperand <{BOB}> ] ] ;\n\
             odrl:prohibition [ odrl:action odrl:delete ; odrl:target <{NOTES}> ]",
            policy_of(hop),
            if hop == 0 { ALICE } else { key.controller() },
        );
        Ok(MandateDraft {
            id: format!("urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-0000000001{hop:02}"),
            authorizes: to,
            policy,
            key,
            ..self.mandate_draft()?
        })
    }
}

/// Who is mandated by hop `hop - 1` of a chain and issues hop `hop`.
fn delegate(hop: u8) -> SigningKey {
    SigningKey::from_seed([100 + hop; 32])
}

fn policy_of(hop: u8) -> String {
    match hop {
        0 => MANDATE_POLICY.to_owned(),
        hop => format!("https://delegate-{hop}.example/policies/next"),
    }
}
