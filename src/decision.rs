//! The answers: [`Evaluation`] of a request, and [`Decision`] once the ledger has it.
//!
//! There is no `Default` and no bool. A [`Permit`] can only be made from the value of every stage, so a skipped check
//! does not compile; it yields its actions only to a server that accepts its duties.

use crate::audit::{Consulted, DecisionReportV1, ReportBody};
use crate::credential::VerifiedPresentation;
use crate::ledger::{Learned, Recorded, Revoked, RevokedEntry, RevokedPolicy};
use crate::mandate::chain::Hop;
use crate::mandate::odrl::PolicyGrant;
use crate::mandate::{PolicyReferences, VerifiedChain};
use crate::message::{ActionsUnderTest, Envelope};
use crate::protocol::{ProtocolDocument, ProtocolHash};
use crate::refusal::Refusal;
use crate::request::Instant;
use crate::shape::ConformingIntent;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What `evaluate` found, with the report body that any later evaluation of the same request reproduces.
#[derive(Debug)]
pub struct Evaluation {
    /// The outcome.
    pub outcome: Outcome,
    /// The report body.
    pub report: ReportBody,
    /// What it learned of status inputs, from chains that verified (phases A and B). `decide` has the ledger keep it.
    pub learned: Learned,
    /// What it asked of something outside its request, and was told. With it, the evaluation can be run again elsewhere.
    pub consulted: Consulted,
}

/// The outcome of an evaluation. A grant permits nothing; only a [`Permit`] does.
#[derive(Debug)]
pub enum Outcome {
    /// Every stage before admission holds.
    Granted(Box<Grant>),
    /// A stage said no.
    Refused(Refusal),
    /// The message carries nothing of the extension.
    NotOurs(NotOurs),
}

/// The answer of `decide`, with its report.
#[derive(Debug)]
pub struct Decided {
    /// The answer.
    pub decision: Decision,
    /// The report as it was recorded.
    pub report: DecisionReportV1,
}

/// The answer of `decide`.
#[derive(Debug)]
pub enum Decision {
    /// Allowed, and durably recorded.
    Allow(Box<Permit>),
    /// Refused.
    Refuse(Refusal),
    /// Not a message of the extension. This permits nothing that bears on security.
    NotOurs(NotOurs),
}

/// A message without any part of the extension. Nothing that bears on security may follow from it (DG-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotOurs {
    _private: (),
}

impl NotOurs {
    pub(crate) fn new() -> Self {
        Self { _private: () }
    }

    /// Whether effects that bear on security may follow. They never may.
    pub fn security_bearing_effects(&self) -> SecurityBearingEffects {
        SecurityBearingEffects::Forbidden
    }
}

/// What a message outside the extension may bring about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecurityBearingEffects {
    /// Nothing that has authorization, financial or data-integrity consequences.
    Forbidden,
}

/// A duty that comes with a permission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Obligation {
    /// The duty's action IRI.
    pub action: String,
    /// The duty's target IRI, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The policy that demands it.
    pub policy: String,
}

/// One action that the intent asks for, with the ODRL action that was judged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermittedAction {
    /// The class of the intent's action.
    pub class: String,
    /// The ODRL or WAC action that the policies permit.
    pub action: String,
    /// The target IRI.
    pub target: String,
    /// What the intent states of the action and the policies were asked about, by local name of the left operand: the
    /// `recipient` and the `mode`s of a grant, the `purpose`. Values are RDF terms in N-Triples syntax, in order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stated: BTreeMap<String, Vec<String>>,
}

/// Everything that stages 1 to 9 proved about one message. Private, and only `evaluate` makes one.
///
/// Nobody else can write one down, and it yields no actions:
///
/// ```compile_fail,E0451
/// fn forge(other: writgate::Grant, not_after: writgate::Instant) -> writgate::Grant {
///     writgate::Grant { not_after, ..other }
/// }
/// ```
/// ```compile_fail,E0624
/// let make = writgate::Grant::new;
/// ```
/// ```compile_fail,E0616
/// fn act(grant: &writgate::Grant) {
///     let _ = &grant.actions;
/// }
/// ```
#[derive(Debug)]
pub struct Grant {
    pub(crate) envelope: Envelope,
    pub(crate) protocol: Arc<ProtocolDocument>,
    #[expect(dead_code, reason = "it is here as proof that the stage ran")]
    intent: ConformingIntent,
    pub(crate) actions: ActionsUnderTest,
    pub(crate) presentation: VerifiedPresentation,
    pub(crate) chain: VerifiedChain,
    #[expect(dead_code, reason = "it is here as proof that the stage ran")]
    references: PolicyReferences,
    pub(crate) policy: PolicyGrant,
    not_after: Instant,
}

impl Grant {
    /// Takes the proof value of each stage, in order.
    #[expect(clippy::too_many_arguments, reason = "one argument for each stage is the point")]
    pub(crate) fn new(
        envelope: Envelope,
        protocol: Arc<ProtocolDocument>,
        intent: ConformingIntent,
        actions: ActionsUnderTest,
        presentation: VerifiedPresentation,
        chain: VerifiedChain,
        references: PolicyReferences,
        policy: PolicyGrant,
    ) -> Self {
        let not_after = presentation.not_after().min(chain.not_after()).min(policy.not_after());
        Self { envelope, protocol, intent, actions, presentation, chain, references, policy, not_after }
    }

    /// The earliest end among credentials, constraints, input freshness, presentation and issued challenge: after it,
    /// admission refuses.
    pub fn not_after(&self) -> Instant {
        self.not_after
    }

    /// What must not have been revoked since the snapshot: every policy, credential and status entry of the chains, by
    /// whoever may revoke it.
    pub(crate) fn leans_on(&self) -> Revoked {
        let mut leans_on = Revoked::default();
        for chain in [self.chain.hops(), self.chain.actor_hops()] {
            let mut publishers: Vec<&str> = Vec::new();
            for hop in chain {
                publishers.extend(hop.policy.assigner());
                leans_on.ids.extend(
                    [Some(hop.policy.id().to_owned()), hop.credential.id.clone()].into_iter().flatten(),
                );
                leans_on.policies.extend(publishers.iter().map(|publisher| RevokedPolicy {
                    publisher: (*publisher).to_owned(),
                    policy: hop.policy.id().to_owned(),
                }));
                leans_on.entries.extend(status_entries(hop));
            }
        }
        leans_on
    }

    /// The duties that come with this grant.
    pub fn obligations(&self) -> &BTreeSet<Obligation> {
        self.policy.obligations()
    }
}

/// The places in status lists that a hop's credential points to.
fn status_entries(hop: &Hop) -> impl Iterator<Item = RevokedEntry> {
    let issuer = &hop.credential.issuer;
    hop.credential.status.iter().filter_map(|entry| {
        let (list, index) = entry.place()?;
        Some(RevokedEntry { issuer: issuer.clone(), list: list.to_owned(), index })
    })
}

/// The right to act on one message, once, recorded before it was given out.
///
/// Only a ledger's record of a grant makes one, it is neither copied nor taken apart, and [`Permit::accept`] is the only
/// way to its actions:
///
/// ```compile_fail,E0451
/// fn forge(grant: Box<writgate::Grant>, other: writgate::Permit) -> writgate::Permit {
///     writgate::Permit { grant, ..other }
/// }
/// ```
/// ```compile_fail,E0624
/// let make = writgate::Permit::new;
/// ```
/// ```compile_fail,E0616
/// fn act(permit: &writgate::Permit) {
///     let _ = &permit.grant;
/// }
/// ```
/// ```compile_fail,E0382
/// fn twice(permit: writgate::Permit, now: writgate::Instant) {
///     let _ = permit.accept(&Default::default(), now);
///     let _ = permit.accept(&Default::default(), now);
/// }
/// ```
/// ```compile_fail,E0277
/// fn copies<T: Clone>() {}
/// copies::<writgate::Permit>();
/// ```
#[derive(Debug)]
pub struct Permit {
    grant: Box<Grant>,
    recorded: Recorded,
}

impl Permit {
    /// Takes what every stage proved (the grant) and the ledger's record of it.
    pub(crate) fn new(grant: Box<Grant>, recorded: Recorded) -> Self {
        Self { grant, recorded }
    }

    /// SHA-256 of the message's JCS form, in lower-case hexadecimal: the permit is for this message and no other.
    pub fn message_digest(&self) -> String {
        self.grant.envelope.digest.to_string()
    }

    /// The permit is void after this instant.
    pub fn not_after(&self) -> Instant {
        self.grant.not_after
    }

    /// The Protocol Document that the intent is under, and that a response is checked by.
    pub fn protocol_hash(&self) -> &ProtocolHash {
        self.grant.protocol.hash()
    }

    /// The ledger row that records the decision: its sequence number and hash.
    pub fn record(&self) -> (u64, String) {
        (self.recorded.sequence(), self.recorded.row_hash().to_string())
    }

    /// Parts of the message beside the intent. They were not judged, and nothing may be done on their word.
    pub fn unjudged_parts(&self) -> &[crate::message::UnjudgedPart] {
        &self.grant.envelope.unjudged
    }

    /// The duties that [`Permit::accept`] asks for.
    pub fn obligations(&self) -> &BTreeSet<Obligation> {
        self.grant.obligations()
    }

    /// Yields the permitted actions to a server that takes on every duty of the permit. A server acts on these and on
    /// nothing else of the message.
    ///
    /// # Errors
    /// Gives the permit back when `accepted` lacks one of its duties, or `now` is after [`Permit::not_after`].
    pub fn accept(
        self,
        accepted: &BTreeSet<Obligation>,
        now: Instant,
    ) -> Result<Vec<PermittedAction>, Box<Self>> {
        if now > self.not_after() || !self.obligations().is_subset(accepted) {
            return Err(Box::new(self));
        }
        Ok(self.grant.actions.permitted())
    }
}
