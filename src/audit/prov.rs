//! Rows of a ledger as PROV-O (<https://www.w3.org/TR/prov-o/>); docs/audit.md shows the mapping.
//!
//! Each row has a named graph of its own, whose name is the row's activity. So `prov:actedOnBehalfOf`, which PROV-O says of
//! two agents and not of an occasion, is said of this decision alone: what two decisions say never joins into a chain that
//! nobody presented. There are no blank nodes.

use super::record::{Event, LedgerEventV1, Record, RevokedName};
use super::report::{DecisionReportV1, HopReport, InputReport, ReportBody, ReportEnvelope};
use crate::ledger::LedgerRow;
use crate::message::Digest;
use crate::vocab::{AUDIT_NS, odrld, prov, rdf};
use base64::Engine as _;
use oxrdf::{GraphName, Literal, NamedNode, Quad, Term};

/// What a row says, in its own graph.
pub fn statements(row: &LedgerRow) -> Vec<Quad> {
    let mut graph = Graph::of(row.record.id());
    let activity = graph.activity.clone();
    graph.add(&activity, rdf::TYPE, node(prov::ACTIVITY));
    graph.own(&activity, "sequence", number(row.sequence));
    graph.own(&activity, "rowHash", text(&row.row_hash.to_string()));
    match &row.record {
        Record::Decision(report) => graph.decision(report),
        Record::Event(event) => graph.event(event),
    }
    graph.quads
}

/// A text as an IRI: itself where it is an absolute one, otherwise the name of its SHA-256 (RFC 6920).
pub fn iri(text: &str) -> NamedNode {
    match crate::message::target::is_iri(text) {
        true => NamedNode::new(text).unwrap_or_else(|_| named_by_hash(Digest::of(text))),
        false => named_by_hash(Digest::of(text)),
    }
}

/// The name of something by its SHA-256 (RFC 6920): `ni:///sha-256;...`.
pub fn named_by_hash(digest: Digest) -> NamedNode {
    let value = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest.as_bytes());
    NamedNode::new_unchecked(format!("ni:///sha-256;{value}"))
}

/// The activity of a row: `urn:uuid:` and the row's id.
pub fn activity(id: &str) -> NamedNode {
    match uuid::Uuid::parse_str(id) {
        Ok(id) => NamedNode::new_unchecked(format!("urn:uuid:{id}")),
        // No row that we wrote.
        Err(_) => named_by_hash(Digest::of(id)),
    }
}

/// The statements about one row.
struct Graph {
    activity: NamedNode,
    quads: Vec<Quad>,
}

impl Graph {
    fn of(id: &str) -> Self {
        Self { activity: activity(id), quads: Vec::new() }
    }

    fn add(&mut self, subject: &NamedNode, predicate: &str, object: impl Into<Term>) {
        let graph = GraphName::NamedNode(self.activity.clone());
        self.quads.push(Quad::new(subject.clone(), node(predicate), object, graph));
    }

    /// A statement in our own vocabulary.
    fn own(&mut self, subject: &NamedNode, local: &str, object: impl Into<Term>) {
        self.add(subject, &format!("{AUDIT_NS}{local}"), object);
    }

    fn own_text(&mut self, subject: &NamedNode, local: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.own(subject, local, text(value));
        }
    }

    /// A name of somebody's choice as a node. One that is no IRI is also told as it stands.
    fn named(&mut self, value: &str) -> NamedNode {
        let named = iri(value);
        if named.as_str() != value {
            self.own(&named, "name", text(value));
        }
        named
    }

    fn agent(&mut self, value: &str) -> NamedNode {
        let agent = self.named(value);
        self.add(&agent, rdf::TYPE, node(prov::AGENT_CLASS));
        agent
    }

    /// Something that belongs to this row alone.
    fn part(&self, name: &str, index: usize) -> NamedNode {
        NamedNode::new_unchecked(format!("{}#{name}-{index}", self.activity.as_str()))
    }

    fn decision(&mut self, DecisionReportV1 { body, envelope, .. }: &DecisionReportV1) {
        let activity = self.activity.clone();
        self.own_type(&activity, "Decision");
        self.add(&activity, prov::STARTED_AT_TIME, date_time(&body.instant));
        let ended = envelope.recorded.as_deref().unwrap_or(&body.instant);
        self.add(&activity, prov::ENDED_AT_TIME, date_time(ended));
        self.outcome(body, envelope);
        self.asked(body);
        for (name, hops) in [("hop", &body.chain), ("actor-hop", &body.actor_chain)] {
            for (index, hop) in hops.iter().enumerate() {
                let through = hops.get(..=index).unwrap_or_default();
                // The primary chain ends at whom the actor's own chain, where there is one, comes from.
                let end = (name == "hop").then(|| body.actor_chain.first()).flatten();
                let end = end.map(|hop| hop.issuer.as_str()).or(body.holder.as_deref());
                let delegate = delegate(hops, index, end);
                self.hop(self.part(name, index), hop, through, delegate);
            }
        }
        self.associations(body);
        for (index, input) in body.inputs.iter().enumerate() {
            self.input(self.part("input", index), input);
        }
    }

    fn own_type(&mut self, subject: &NamedNode, class: &str) {
        self.add(subject, rdf::TYPE, node(&format!("{AUDIT_NS}{class}")));
    }

    fn outcome(&mut self, body: &ReportBody, envelope: &ReportEnvelope) {
        let activity = self.activity.clone();
        let at_admission = envelope.reason.is_some();
        let reason = envelope.reason.or(body.reason);
        let stage = if at_admission { crate::refusal::Stage::Admission } else { body.stage };
        self.own(&activity, "outcome", text(super::list::word(envelope.outcome)));
        self.own(&activity, "stage", text(stage.as_str()));
        self.own_text(&activity, "reason", reason.map(|reason| reason.as_str()));
        let wire = if at_admission { envelope.wire_code } else { body.wire_code };
        self.own_text(&activity, "wireCode", wire.map(|wire| wire.as_str()));
        for mark in &body.marks {
            self.own(&activity, "mark", text(mark));
        }
        self.own(&activity, "engineVersion", text(&body.engine_version));
        self.own(&activity, "configurationGeneration", number(body.configuration_generation));
    }

    fn asked(&mut self, body: &ReportBody) {
        let activity = self.activity.clone();
        self.own(&activity, "peer", text(&body.peer));
        self.own_text(&activity, "context", body.context.as_deref());
        self.own_text(&activity, "messageId", body.message_id.as_deref());
        self.own(&activity, "messageDigest", text(&body.message_digest.to_string()));
        self.own_text(&activity, "protocolHash", body.protocol_hash.as_deref());
        self.own_text(&activity, "intentHash", body.intent_hash.as_deref());
        if let Some(root) = &body.root_principal {
            let root = self.agent(root);
            self.own(&activity, "rootPrincipal", root);
        }
        for (index, action) in body.actions.iter().enumerate() {
            let part = self.part("action", index);
            let (class, of, target) =
                (self.named(&action.class), self.named(&action.action), self.named(&action.target));
            self.own(&activity, "action", part.clone());
            self.own(&part, "intentClass", class);
            self.own(&part, "policyAction", of);
            self.own(&part, "target", target.clone());
            self.own(&activity, "target", target);
        }
    }

    /// A hop: who let whom act, by which paper and policy, and who may revoke that policy.
    fn hop(&mut self, part: NamedNode, hop: &HopReport, through: &[HopReport], delegate: Option<&str>) {
        let activity = self.activity.clone();
        let policy = self.named(&hop.policy);
        let by_digest = named_by_hash(hop.credential_digest);
        let delegator = self.agent(&hop.issuer);
        self.own(&activity, "hop", part.clone());
        self.add(&part, rdf::TYPE, node(prov::DELEGATION));
        self.add(&part, prov::AGENT, delegator.clone());
        self.add(&part, prov::HAD_ACTIVITY, activity.clone());
        if let Some(delegate) = delegate {
            let delegate = self.agent(delegate);
            self.add(&delegate, prov::ACTED_ON_BEHALF_OF, delegator);
            self.add(&delegate, prov::QUALIFIED_DELEGATION, part.clone());
        }
        self.add(&activity, odrld::DELEGATED_UNDER, policy.clone());
        self.own(&part, "policy", policy.clone());
        self.own(&part, "policyDigest", text(&hop.policy_digest.to_string()));
        self.own(&part, "binding", text(&hop.binding));
        self.used(&policy);
        // By its digest always; by its id, where it has one, which another paper may have too.
        self.own(&part, "credential", by_digest.clone());
        self.used(&by_digest);
        if let Some(id) = &hop.credential {
            let id = self.named(id);
            self.own(&part, "credential", id.clone());
            self.used(&id);
        }
        for above in through {
            let revoker = self.agent(&above.issuer);
            self.own(&part, "revocableBy", revoker);
        }
    }

    fn used(&mut self, entity: &NamedNode) {
        let activity = self.activity.clone();
        self.add(&activity, prov::USED, entity.clone());
        self.add(entity, rdf::TYPE, node(prov::ENTITY_CLASS));
    }

    /// Who acted, and by which plan: the leaf's policy.
    fn associations(&mut self, body: &ReportBody) {
        let activity = self.activity.clone();
        let actor = body.actor.as_ref().filter(|actor| Some(*actor) != body.holder.as_ref());
        for (index, (role, agent)) in
            [("holder", body.holder.as_ref()), ("actor", actor)].into_iter().enumerate()
        {
            let Some(agent) = agent else { continue };
            let agent = self.agent(agent);
            self.own(&activity, role, agent.clone());
            self.add(&activity, prov::WAS_ASSOCIATED_WITH, agent.clone());
            let part = self.part("association", index);
            self.add(&activity, prov::QUALIFIED_ASSOCIATION, part.clone());
            self.add(&part, rdf::TYPE, node(prov::ASSOCIATION));
            self.add(&part, prov::AGENT, agent);
            if let Some(leaf) = body.chain.last() {
                let plan = self.named(&leaf.policy);
                self.add(&part, prov::HAD_PLAN, plan.clone());
                self.add(&plan, rdf::TYPE, node(prov::PLAN));
            }
        }
    }

    fn input(&mut self, part: NamedNode, input: &InputReport) {
        let activity = self.activity.clone();
        let entity = self.named(&input.id);
        self.used(&entity);
        self.add(&activity, prov::QUALIFIED_USAGE, part.clone());
        self.add(&part, rdf::TYPE, node(prov::USAGE));
        self.add(&part, prov::ENTITY, entity);
        self.own(&part, "inputKind", text(&input.kind));
        self.own(&part, "ageSeconds", Literal::from(input.age_seconds));
    }

    fn event(&mut self, LedgerEventV1 { event, envelope, .. }: &LedgerEventV1) {
        let activity = self.activity.clone();
        self.own_type(&activity, "Event");
        self.own(&activity, "kind", text(&super::list::kind(event)));
        self.add(&activity, prov::STARTED_AT_TIME, date_time(&envelope.recorded));
        self.add(&activity, prov::ENDED_AT_TIME, date_time(&envelope.recorded));
        match event {
            Event::Revoked { names, .. } => {
                for (index, name) in names.iter().enumerate() {
                    self.revocation(self.part("revocation", index), name);
                }
            }
            Event::Refusals { refusals, .. } => {
                for (index, tally) in refusals.iter().enumerate() {
                    let part = self.part("tally", index);
                    self.own(&activity, "tally", part.clone());
                    self.own(&part, "peer", text(&tally.peer));
                    if let Some(reason) = tally.reason {
                        self.own(&part, "reason", text(reason.as_str()));
                    }
                    self.own(&part, "refusals", number(tally.refusals));
                }
            }
            Event::Negotiated { peer, context, protocol_hash, .. } => {
                self.own(&activity, "peer", text(peer));
                self.own_text(&activity, "context", context.as_deref());
                self.own(&activity, "protocolHash", text(protocol_hash));
            }
            _ => {}
        }
    }

    fn revocation(&mut self, part: NamedNode, RevokedName { id, publisher }: &RevokedName) {
        let activity = self.activity.clone();
        let id = self.named(id);
        self.own(&activity, "revocation", part.clone());
        self.own_type(&part, "Revocation");
        self.own(&part, "revoked", id);
        if let Some(publisher) = publisher {
            let publisher = self.agent(publisher);
            self.own(&part, "publisher", publisher);
        }
    }
}

/// Whom a hop lets act: who is named, else who made the next hop, else who stands at the end of the chain.
fn delegate<'r>(hops: &'r [HopReport], index: usize, end: Option<&'r str>) -> Option<&'r str> {
    let named = hops.get(index).and_then(|hop| hop.authorizes.as_deref());
    let next = hops.get(index.saturating_add(1)).map(|hop| hop.issuer.as_str());
    named.or(next).or(end)
}

/// One of the IRIs that we wrote ourselves.
fn node(iri: &str) -> NamedNode {
    NamedNode::new_unchecked(iri)
}

fn text(value: &str) -> Literal {
    Literal::new_simple_literal(value)
}

fn number(value: u64) -> Literal {
    Literal::new_typed_literal(value.to_string(), node(&format!("{}integer", rdf::XSD_NS)))
}

/// An instant; whatever is none stays a text.
fn date_time(value: &str) -> Literal {
    match value.parse::<crate::request::Instant>() {
        Ok(_) => Literal::new_typed_literal(value, node(rdf::XSD_DATE_TIME)),
        Err(_) => text(value),
    }
}
