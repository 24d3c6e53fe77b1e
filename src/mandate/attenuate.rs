//! Making a delegated hop from a parent mandate, and refusing one that asks for more than the parent gives.

use super::odrl::contain::{Delegation, Excess, ExcessKind};
use super::odrl::{Policy, PolicyError};
use crate::audit::instant_text;
use crate::credential::Credential;
use crate::credential::credential::Profile;
use crate::credential::issue::{
    self, DigestForm, IssueError, Mandate, MandatePolicy, MandateStatus, SigningKey,
};
use crate::limits::Limits;
use crate::rdf::{RdfMediaType, parse_graph};
use crate::request::Instant;
use serde_json::Value;
use std::collections::BTreeSet;

/// A mandate and its policy, as they were read. Neither need be verified: what is made under a parent that is not
/// genuine is worth as little as the parent.
#[derive(Debug)]
pub(crate) struct ParentMandate<'a> {
    pub(crate) credential: &'a Credential,
    pub(crate) policy: &'a Policy,
}

/// A hop that is to be made under a parent.
#[derive(Debug, Clone)]
pub(crate) struct Delegated<'a> {
    pub(crate) delegate: &'a str,
    /// The policy document.
    pub(crate) text: &'a str,
    pub(crate) media_type: RdfMediaType,
    /// The policy stays beside the credential, bound by digest.
    pub(crate) by_digest: bool,
    pub(crate) valid_from: Instant,
    pub(crate) valid_until: Instant,
    /// Where it can be taken back.
    pub(crate) status: Option<MandateStatus>,
}

/// Why no hop was made.
#[derive(Debug)]
pub(crate) enum AttenuateError {
    /// The policy document is not one.
    Policy(String),
    /// It asks for more than the parent gives.
    Excess(BTreeSet<Excess>),
    Issue(IssueError),
}

impl ParentMandate<'_> {
    /// Signs a credential for `wanted` with the key of the parent's delegate, unless it asks for more than the parent
    /// gives. The credential is of the parent's kind, a JWS or JSON with a proof: papers of two kinds are never presented
    /// together.
    ///
    /// # Errors
    /// [`AttenuateError`]
    pub(crate) fn attenuate(
        &self,
        key: &SigningKey,
        wanted: &Delegated<'_>,
        now: Instant,
    ) -> Result<Value, AttenuateError> {
        let jose = matches!(self.credential.profile, Profile::Jose);
        let child = read_policy(wanted.text, wanted.media_type).map_err(AttenuateError::Policy)?;
        let excesses = self.excesses(key.controller(), &child, wanted);
        if !excesses.is_empty() {
            return Err(AttenuateError::Excess(excesses));
        }
        let media_type = wanted.media_type.as_str();
        let policy = match wanted.by_digest {
            true => MandatePolicy::Reference {
                iri: child.id(),
                text: wanted.text,
                media_type,
                digest: DigestForm::Multibase,
            },
            false => MandatePolicy::Embedded { text: wanted.text, media_type },
        };
        let mandate = Mandate {
            id: None,
            delegate: wanted.delegate.to_owned(),
            policy,
            actions: Vec::new(),
            targets: Vec::new(),
            valid_from: Some(wanted.valid_from),
            valid_until: Some(wanted.valid_until),
            status: wanted.status.clone(),
        };
        let paper = match jose {
            true => issue::issue_mandate_jose(key, &mandate, now).map(Value::String),
            false => issue::issue_mandate(key, &mandate, now),
        };
        paper.map_err(AttenuateError::Issue)
    }

    /// Everything in which the hop asks for more than this mandate gives.
    fn excesses(&self, delegator: &str, child: &Policy, wanted: &Delegated<'_>) -> BTreeSet<Excess> {
        let credential = self.credential;
        let delegation = Delegation {
            parent: self.policy,
            actions: &credential.actions,
            targets: &credential.targets,
            child,
            delegator,
            delegate: wanted.delegate,
        };
        let mut excesses = delegation.excesses();
        let parties = [
            ("signed by", Some(delegator), credential.authorizes.as_deref()),
            ("issued by the policy's assigner", self.policy.assigner(), Some(credential.issuer.as_str())),
        ];
        for (what, seen, expected) in parties {
            if seen != expected {
                excesses.insert(Excess::new(
                    ExcessKind::Party,
                    format!("{what} {}", seen.unwrap_or("nobody")),
                    expected.unwrap_or("nobody"),
                ));
            }
        }
        let asked =
            format!("from {} until {}", instant_text(wanted.valid_from), instant_text(wanted.valid_until));
        if wanted.valid_until < wanted.valid_from {
            excesses.insert(Excess::new(ExcessKind::Life, asked.clone(), "an end after the beginning"));
        }
        if let Some(end) = credential.not_after().filter(|end| wanted.valid_until > *end) {
            excesses.insert(Excess::new(
                ExcessKind::Life,
                asked.clone(),
                format!("until {}", instant_text(end)),
            ));
        }
        if let Some(start) = credential.valid_from.filter(|start| wanted.valid_from < *start) {
            excesses.insert(Excess::new(ExcessKind::Life, asked, format!("from {}", instant_text(start))));
        }
        excesses
    }
}

/// A document's one policy.
///
/// # Errors
/// In our words.
pub(crate) fn read_policy(text: &str, media_type: RdfMediaType) -> Result<Policy, String> {
    let limits = Limits::default();
    let graph = parse_graph(text, media_type, &limits).map_err(|error| error.to_string())?;
    Policy::read(&graph, &limits).map_err(|error| match error {
        PolicyError::Malformed(problem) => problem.to_owned(),
        PolicyError::TooLarge(limit) => format!("the policy exceeds the limit {limit}"),
    })
}
