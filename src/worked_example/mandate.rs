//! Mandates of the example, right and wrong.

use super::{ALICE, ExampleError, MANDATE_POLICY, World, forge};
use crate::credential::issue::{self, DigestForm, Mandate, MandatePolicy, SigningKey};
use crate::limits::Limits;
use crate::request::Instant;
use serde_json::{Map, Value};

/// A mandate to be made: [`MandateDraft::issue`] signs it.
#[derive(Debug, Clone)]
pub struct MandateDraft {
    /// The credential's IRI.
    pub id: String,
    /// The delegate.
    pub authorizes: String,
    /// The policy document, in Turtle.
    pub policy: String,
    /// How the policy is bound.
    pub binding: PolicyBinding,
    /// The first instant at which it is good.
    pub valid_from: Option<Instant>,
    /// The last instant at which it is good.
    pub valid_until: Option<Instant>,
    /// When it is signed.
    pub created: Instant,
    /// Who signs, and in whose name.
    pub key: SigningKey,
    /// Members to be changed before it is signed, by path; null removes one.
    pub changes: Vec<(&'static [&'static str], Value)>,
}

/// How a mandate of the example binds its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyBinding {
    /// The policy is part of the signed graph.
    Embedded,
    /// The signed credential has a digest of the policy document.
    Digest,
    /// The credential names the policy and binds nothing.
    BareIri,
}

impl World {
    /// Alice's mandate for her agent, to be changed and issued.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn mandate_draft(&self) -> Result<MandateDraft, ExampleError> {
        Ok(MandateDraft {
            id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000001".to_owned(),
            authorizes: self.agent_id(),
            policy: self.policy()?,
            binding: PolicyBinding::Embedded,
            valid_from: Some(instant(2026, 11, 1)),
            valid_until: Some(instant(2036, 1, 1)),
            created: instant(2026, 11, 1),
            key: self.alice.clone(),
            changes: Vec::new(),
        })
    }

    /// Her mandate for another agent of hers, the controller of `agent`, by any of her keys.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn mandate_draft_for(
        &self,
        key: &SigningKey,
        agent: &SigningKey,
    ) -> Result<MandateDraft, ExampleError> {
        let draft = self.mandate_draft()?;
        let policy = draft.policy.replace(&self.agent_id(), agent.controller());
        Ok(MandateDraft { authorizes: agent.controller().to_owned(), policy, key: key.clone(), ..draft })
    }

    /// Alice's policy for her agent, in Turtle.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn policy(&self) -> Result<String, ExampleError> {
        self.text("policies/alice-to-agent.ttl")
    }

    /// Alice's mandate with a duty on the grant of access.
    ///
    /// # Errors
    /// [`ExampleError`]
    pub fn mandate_with_duty(&self, action: &str) -> Result<Value, ExampleError> {
        let mut draft = self.mandate_draft()?;
        let control = "odrl:action     acl:Control ;";
        draft.policy =
            draft.policy.replacen(control, &format!("{control} odrl:duty [ odrl:action <{action}> ] ;"), 1);
        draft.issue()
    }
}

impl MandateDraft {
    /// Signs the mandate, whatever was made of it.
    ///
    /// # Errors
    /// [`ExampleError::Issue`]
    pub fn issue(&self) -> Result<Value, ExampleError> {
        let is_own = self.key.controller() == ALICE || self.key.method().starts_with(self.key.controller());
        if is_own && self.changes.is_empty() && self.binding != PolicyBinding::BareIri {
            return Ok(issue::issue_mandate(&self.key, &self.mandate(), self.created)?);
        }
        forge::sign(&self.key, self.unsecured()?, "assertionMethod", self.created, Map::new())
    }

    /// The mandate as a `vc+jwt`, whatever was made of it: the compact text of a JWS.
    ///
    /// # Errors
    /// [`ExampleError::Issue`]
    pub fn issue_jose(&self) -> Result<Value, ExampleError> {
        Ok(self.jws()?.compact()?.into())
    }

    /// The credential without what secures it, with its changes.
    pub(super) fn unsecured(&self) -> Result<Value, ExampleError> {
        let mut document =
            Value::Object(issue::mandate_document(&self.key, &self.mandate(), &Limits::default())?);
        forge::set(&mut document, &["id"], self.id.as_str().into());
        if self.binding == PolicyBinding::BareIri {
            forge::set(&mut document, &["relatedResource"], Value::Null);
        }
        for (path, value) in &self.changes {
            forge::set(&mut document, path, value.clone());
        }
        Ok(document)
    }

    fn mandate(&self) -> Mandate<'_> {
        let policy = match self.binding {
            PolicyBinding::Embedded => {
                MandatePolicy::Embedded { text: &self.policy, media_type: "text/turtle" }
            }
            PolicyBinding::Digest | PolicyBinding::BareIri => MandatePolicy::Reference {
                iri: MANDATE_POLICY,
                text: &self.policy,
                media_type: "text/turtle",
                digest: DigestForm::Multibase,
            },
        };
        Mandate {
            id: Some(self.id.clone()),
            delegate: self.authorizes.clone(),
            policy,
            actions: Vec::new(),
            targets: Vec::new(),
            valid_from: self.valid_from,
            valid_until: self.valid_until,
            status: None,
        }
    }
}

impl World {
    /// A proof by `key` over a credential that is there, for a proof set.
    ///
    /// # Errors
    /// [`ExampleError::Issue`]
    pub fn further_proof(
        &self,
        credential: &Value,
        key: &SigningKey,
        created: Instant,
    ) -> Result<Value, ExampleError> {
        let mut unsecured = credential.clone();
        forge::set(&mut unsecured, &["proof"], Value::Null);
        let signed = forge::sign(key, unsecured, "assertionMethod", created, Map::new())?;
        Ok(signed.get("proof").cloned().unwrap_or_default())
    }
}

/// Midnight of a day.
fn instant(year: i32, month: u32, day: u32) -> Instant {
    use chrono::TimeZone as _;
    // The three dates above exist; the epoch would only make the example refuse.
    chrono::Utc.with_ymd_and_hms(year, month, day, 0, 0, 0).single().unwrap_or_default()
}
