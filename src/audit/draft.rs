//! The report body while the pipeline runs: each stage's findings are noted as they become known, so that a refusal's
//! report says as much as a grant's up to the stage that refused.

use super::report::{
    ActionReport, AttributeReport, EvaluationOutcome, HopReport, InputReport, ReportBody, instant_text,
};
use crate::config::Config;
use crate::credential::VerifiedPresentation;
use crate::decision::Grant;
use crate::ledger::Learned;
use crate::limits::Limits;
use crate::mandate::VerifiedChain;
use crate::mandate::chain::{BindingForm, Hop};
use crate::message::admit::check_typed_depth;
use crate::message::digest::jcs;
use crate::message::{ActionsUnderTest, Digest, Envelope, IntentGraph, MessageFacts};
use crate::protocol::ProtocolDocument;
use crate::refusal::{Refusal, Stage};
use crate::request::{Actor, Instant, MessageInput, Request};
use std::collections::{BTreeMap, BTreeSet};

/// A report body under construction.
#[derive(Debug)]
pub(crate) struct Draft<'r> {
    /// Its message digest counts once the message was read.
    body: ReportBody,
    /// The message, until it was read, and the limits that it is written under.
    unread: Option<(&'r MessageInput, &'r Limits)>,
    card_declared: bool,
    evidence_chars: usize,
}

impl<'r> Draft<'r> {
    /// What is known before any stage ran.
    pub(crate) fn new(request: &'r Request, config: &'r Config) -> Self {
        let (actor, actor_unauthenticated) = match &request.facts.actor {
            Actor::Authenticated(actor) => (Some(actor.clone()), false),
            Actor::Unauthenticated => (None, true),
        };
        let body = ReportBody {
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            configuration_generation: request.snapshot.generation,
            configuration_digest: config.digest,
            instant: instant_text(request.snapshot.instant),
            outcome: EvaluationOutcome::Refused,
            stage: Stage::Admit,
            wire_code: None,
            reason: None,
            evidence: None,
            peer: request.facts.peer.as_str().to_owned(),
            actor,
            actor_unauthenticated,
            message_id: None,
            context: request.facts.context.clone(),
            message_digest: Digest::from_bytes([0; 32]),
            protocol_hash: None,
            intent_hash: None,
            shacl_report: None,
            root_principal: None,
            actions: Vec::new(),
            holder: None,
            presentation_digest: None,
            chain: Vec::new(),
            actor_chain: Vec::new(),
            attributes: Vec::new(),
            obligations: BTreeSet::new(),
            discharged: request.facts.discharged.iter().cloned().collect(),
            not_after: None,
            inputs: Vec::new(),
            marks: BTreeSet::new(),
            unjudged_parts: Vec::new(),
            unjudged_nodes: Vec::new(),
        };
        let unread = Some((&request.message, &config.limits));
        Self { body, unread, card_declared: false, evidence_chars: config.limits.evidence_chars }
    }

    /// The stage that is about to run.
    pub(crate) fn enter(&mut self, stage: Stage) {
        self.body.stage = stage;
    }

    pub(crate) fn stage(&self) -> Stage {
        self.body.stage
    }

    pub(crate) fn message(&mut self, facts: &MessageFacts) {
        self.body.message_id = Some(facts.message_id.clone());
        self.body.context = facts.context.clone();
        self.body.message_digest = facts.digest;
        self.unread = None;
        if facts.parsed_by_caller {
            self.mark("parsed-by-caller");
        }
    }

    pub(crate) fn envelope(&mut self, envelope: &Envelope) {
        self.body.unjudged_parts = envelope.unjudged.clone();
    }

    pub(crate) fn protocol(&mut self, protocol: &ProtocolDocument) {
        self.body.protocol_hash = Some(protocol.hash().to_string());
        self.card_declared = protocol.settings.declared;
    }

    pub(crate) fn intent(&mut self, intent: &IntentGraph) {
        self.body.intent_hash = Some(intent.hash.clone());
    }

    pub(crate) fn actions(&mut self, actions: &ActionsUnderTest, request: &Request) {
        self.body.root_principal = Some(actions.root_principal.clone());
        self.body.unjudged_nodes = actions.unjudged_nodes.clone();
        self.body.actions = actions
            .permitted()
            .into_iter()
            .map(|permitted| ActionReport {
                class: permitted.class,
                action: permitted.action,
                target: permitted.target,
            })
            .collect();
        self.body.attributes = attributes(actions, request);
    }

    pub(crate) fn presentation(&mut self, presentation: &VerifiedPresentation) {
        self.body.holder = Some(presentation.holder().to_owned());
        self.body.presentation_digest = Some(presentation.digest());
        if !presentation.is_bound() {
            self.mark("unbound");
        }
    }

    /// The status lists that were relied on, also where the chain is refused by them.
    pub(crate) fn status_lists(&mut self, learned: &Learned, request: &Request) {
        let instant = request.snapshot.instant;
        // The life of a list counts from when it was first accepted.
        let lists = learned.lists.iter();
        self.body.inputs =
            lists.map(|(list, mark)| input("status-list", &list.url, mark.accepted, instant)).collect();
    }

    pub(crate) fn chain(&mut self, chain: &VerifiedChain, request: &Request, config: &Config) {
        self.body.chain = chain.hops().iter().map(hop_report).collect();
        self.body.actor_chain = chain.actor_hops().iter().map(hop_report).collect();
        let inputs = self.inputs(request, config);
        self.body.inputs.extend(inputs);
        if self.hops().any(|hop| hop.binding == BindingForm::Provisional.as_str()) {
            self.mark("provisional");
        }
    }

    fn hops(&self) -> impl Iterator<Item = &HopReport> {
        self.body.chain.iter().chain(&self.body.actor_chain)
    }

    /// Further inputs from outside the message that the chain leaned on, with their ages.
    fn inputs(&self, request: &Request, config: &Config) -> Vec<InputReport> {
        let instant = request.snapshot.instant;
        let signers: BTreeSet<&str> =
            self.hops().map(|hop| hop.issuer.as_str()).chain(self.body.holder.as_deref()).collect();
        let documents = signers.iter().filter_map(|signer| {
            let (_, retrieved) = request.snapshot.controllers.of_controller(signer)?;
            Some(input("controller-document", signer, retrieved, instant))
        });
        let policies: BTreeSet<&str> = self.hops().map(|hop| hop.policy.as_str()).collect();
        let stored = policies.into_iter().filter_map(|id| {
            let stored = config.policies.documents.get(id)?;
            Some(input("policy", id, stored.read, instant))
        });
        let assigners: BTreeSet<&str> = self.hops().map(|hop| hop.issuer.as_str()).collect();
        let feeds = config.revocations.iter().filter(|feed| assigners.contains(feed.publisher()));
        let feeds = feeds.map(|feed| input("revocation", feed.publisher(), feed.read(), instant));
        documents.chain(stored).chain(feeds).collect()
    }

    /// The body of a grant.
    pub(crate) fn granted(mut self, grant: &Grant) -> ReportBody {
        self.body.outcome = EvaluationOutcome::Granted;
        self.body.obligations = grant.obligations().clone();
        self.body.not_after = Some(instant_text(grant.not_after()));
        self.finished()
    }

    /// The body of a refusal, and the refusal with what its public form turns on.
    pub(crate) fn refused(mut self, refusal: Refusal) -> (ReportBody, Refusal) {
        let refusal =
            refusal.seen_by(self.body.holder.is_some(), self.card_declared).cut_to(self.evidence_chars);
        self.body.outcome = EvaluationOutcome::Refused;
        self.body.stage = refusal.stage();
        self.body.wire_code = refusal.wire_code();
        self.body.reason = Some(refusal.reason());
        self.body.evidence = Some(refusal.evidence().clone());
        self.body.shacl_report = refusal.shacl_report().map(str::to_owned);
        (self.finished(), refusal)
    }

    /// The body of a message that is not ours.
    pub(crate) fn not_ours(mut self) -> ReportBody {
        self.body.outcome = EvaluationOutcome::NotOurs;
        self.finished()
    }

    fn finished(self) -> ReportBody {
        match self.unread {
            None => self.body,
            Some((message, limits)) => {
                ReportBody { message_digest: unread_digest(message, limits), ..self.body }
            }
        }
    }

    fn mark(&mut self, mark: &str) {
        self.body.marks.insert(mark.to_owned());
    }
}

fn input(kind: &str, id: &str, retrieved: Instant, instant: Instant) -> InputReport {
    InputReport { kind: kind.to_owned(), id: id.to_owned(), age_seconds: (instant - retrieved).num_seconds() }
}

/// Until the message is read, its digest is over what came: octets, or the typed message's JCS form (its own maps have no
/// order), which is empty for one that is too deep to be written.
fn unread_digest(message: &MessageInput, limits: &Limits) -> Digest {
    match message {
        MessageInput::Bytes(octets) => Digest::of(octets),
        MessageInput::Typed(message) => {
            let written = check_typed_depth(message, limits).ok().and_then(|()| jcs(message).ok());
            Digest::of(written.unwrap_or_default())
        }
    }
}

/// Stated attributes of all actions, then what the server vouches for.
fn attributes(actions: &ActionsUnderTest, request: &Request) -> Vec<AttributeReport> {
    let mut stated: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (operand, values) in actions.actions.iter().flat_map(|action| &action.stated) {
        stated.entry(operand).or_default().extend(values.iter().map(ToString::to_string));
    }
    let stated = stated.into_iter().map(|(operand, values)| AttributeReport {
        operand: operand.to_owned(),
        values: values.into_iter().collect(),
        stated: true,
    });
    let vouched = request.facts.vouched.iter().map(|(operand, values)| AttributeReport {
        operand: operand.clone(),
        values: values.clone(),
        stated: false,
    });
    stated.chain(vouched).collect()
}

pub(crate) fn hop_report(hop: &Hop) -> HopReport {
    HopReport {
        credential: hop.credential.id.clone(),
        credential_digest: hop.credential.digest,
        issuer: hop.credential.issuer.clone(),
        authorizes: hop.credential.authorizes.clone(),
        policy: hop.policy.id().to_owned(),
        policy_digest: hop.policy_digest,
        binding: hop.binding.as_str().to_owned(),
        valid_until: hop.credential.valid_until.map(instant_text),
    }
}
