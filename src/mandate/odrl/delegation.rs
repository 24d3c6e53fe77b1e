//! Phase D for a verified chain, the rules of grants, and identity composition (`mandate.md` 6 and 8,
//! `message-binding.md` 7).

use super::action;
use super::evaluate::{CountSource, OdrlRequest, Work};
use super::facts::Facts;
use super::hops::{Chain, ChainGrant, Denial};
use super::model::{Constraint, Operator, Policy, Rule, local_name};
use super::value::Value;
use crate::audit::Consulted;
use crate::config::Config;
use crate::decision::Obligation;
use crate::mandate::VerifiedChain;
use crate::mandate::chain::Hop;
use crate::message::ActionsUnderTest;
use crate::message::action::ActionUnderTest;
use crate::refusal::{Phase, Reason, Refusal, Stage};
use crate::request::{Instant, Request};
use crate::vocab::{acl, odrl};
use oxrdf::{BlankNode, Term};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

/// What the policies of the chain grant for the actions under test. Only [`PolicyGrant::evaluate`] makes one.
#[derive(Debug)]
pub(crate) struct PolicyGrant {
    obligations: BTreeSet<Obligation>,
    not_after: Instant,
    exercised: BTreeMap<String, u64>,
    counted: BTreeSet<String>,
}

impl PolicyGrant {
    /// Phase D for every action under test, then identity composition with `actor`.
    ///
    /// # Errors
    /// `POLICY_DENIED`, `IDENTITY_COMPOSITION_FAILED`, `LIMIT_EXCEEDED`.
    pub(crate) fn evaluate(
        chain: &VerifiedChain,
        actions: &ActionsUnderTest,
        actor: &str,
        request: &Request,
        config: &Config,
    ) -> Result<Self, Refusal> {
        Self::judge(chain, actions, actor, request, config, true)
    }

    /// The same for a request outside of any message: all attributes are its own, `odrl:count` too, and the rules for
    /// what a message grants (`message-binding.md` 7) do not come in.
    ///
    /// # Errors
    /// As [`PolicyGrant::evaluate`].
    pub(crate) fn evaluate_apart(
        chain: &VerifiedChain,
        actions: &ActionsUnderTest,
        actor: &str,
        request: &Request,
        config: &Config,
    ) -> Result<Self, Refusal> {
        Self::judge(chain, actions, actor, request, config, false)
    }

    fn judge(
        chain: &VerifiedChain,
        actions: &ActionsUnderTest,
        actor: &str,
        request: &Request,
        config: &Config,
        of_message: bool,
    ) -> Result<Self, Refusal> {
        let stage = PolicyStage::new(chain, actor, request, config, of_message);
        if actions.actions.is_empty() {
            return Err(stage.denied(Denial { detail: "nothing is asked for".into(), ..Denial::default() }));
        }
        let mut grant = Self {
            obligations: BTreeSet::new(),
            not_after: Instant::MAX_UTC,
            exercised: BTreeMap::new(),
            counted: BTreeSet::new(),
        };
        // Many actions in one message count like as many messages, one after the other.
        for (earlier, action) in (0..).zip(&actions.actions) {
            grant.add(stage.mandate(action, earlier).map_err(|denial| stage.denied(*denial))?);
        }
        for (earlier, action) in (0..).zip(&actions.actions) {
            grant.add(stage.composition(action, earlier).map_err(|denial| stage.uncomposed(*denial))?);
        }
        // What was undetermined only by the limit refuses as the limit does, a grant too.
        if stage.work.is_spent() {
            return Err(stage.too_much());
        }
        stage.duties_are_done(&grant.obligations).map_err(|denial| stage.denied(*denial))?;
        Ok(grant)
    }

    fn add(&mut self, more: ChainGrant) {
        self.obligations.extend(more.obligations);
        self.not_after = self.not_after.min(more.not_after);
        for (policy, counted) in more.exercised {
            if counted {
                self.counted.insert(policy.clone());
            }
            *self.exercised.entry(policy).or_default() += 1;
        }
    }

    /// The duties of every matched grant.
    pub(crate) fn obligations(&self) -> &BTreeSet<Obligation> {
        &self.obligations
    }

    /// The earliest instant at which a dateTime constraint of a matched grant ends.
    pub(crate) fn not_after(&self) -> Instant {
        self.not_after
    }

    /// The policies whose permissions this grant exercises (`odrl:count`), by [`Policy::count_key`], and how often.
    pub(crate) fn exercised(&self) -> &BTreeMap<String, u64> {
        &self.exercised
    }

    /// Whether the grant rests on how often this policy was exercised before.
    pub(crate) fn is_counted(&self, policy: &str) -> bool {
        self.counted.contains(policy)
    }
}

/// What every question of this stage is asked with.
pub(super) struct PolicyStage<'a> {
    pub(super) chain: &'a VerifiedChain,
    pub(super) actor: &'a str,
    pub(super) request: &'a Request,
    pub(super) config: &'a Config,
    pub(super) of_message: bool,
    facts: Arc<Facts>,
    /// The snapshot's, of these policies alone, in one copy for all questions.
    counts: Arc<BTreeMap<String, u64>>,
    /// The ids of these policies that the operator revoked.
    pub(super) revoked: BTreeSet<String>,
    pub(super) work: Work,
    pub(super) primary: Vec<&'a Policy>,
    secondary: Vec<&'a Policy>,
    pub(super) what_if: WhatIf,
}

/// What an explanation supposes to be otherwise. A decision supposes nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct WhatIf {
    pub(super) attribute: Option<(String, Vec<Term>)>,
    pub(super) instant: Option<Instant>,
}

impl<'a> PolicyStage<'a> {
    pub(super) fn new(
        chain: &'a VerifiedChain,
        actor: &'a str,
        request: &'a Request,
        config: &'a Config,
        of_message: bool,
    ) -> Self {
        let Consulted { memory, counts, counted: _, challenge: _ } =
            Consulted::of_policies(chain, &request.snapshot);
        Self {
            chain,
            actor,
            request,
            config,
            of_message,
            facts: config.facts.for_root(chain.root_principal()),
            counts: Arc::new(counts),
            revoked: memory.revoked.ids,
            work: Work::new(&config.limits),
            primary: chain.hops().iter().map(|hop| hop.policy.as_ref()).collect(),
            secondary: chain.actor_hops().iter().map(|hop| hop.policy.as_ref()).collect(),
            what_if: WhatIf::default(),
        }
    }
}

impl PolicyStage<'_> {
    /// Phase D: the primary chain, its credentials, and the rules of grants.
    pub(super) fn mandate(&self, action: &ActionUnderTest, earlier: u64) -> Result<ChainGrant, Box<Denial>> {
        let asked = self.odrl_request(self.chain.leaf_delegate(), action, earlier);
        let chain = Chain { policies: &self.primary, request: &asked, root_is_owner: true };
        let mut grant = chain.evaluate(&self.revoked, self.config.max_chain_length)?;
        credentials_cover(self.chain.hops(), action)?;
        if self.of_message && action.action == acl::CONTROL {
            let until = self.passing_on(&chain, action)?;
            grant.not_after = grant.not_after.min(until);
        }
        Ok(grant)
    }

    /// Composition: whose papers they are, down to the actor.
    pub(super) fn composition(
        &self,
        action: &ActionUnderTest,
        earlier: u64,
    ) -> Result<ChainGrant, Box<Denial>> {
        let mut grant = ChainGrant::none();
        if let Some(failure) = self.chain.composition_failure() {
            return Err(Box::new(failure.clone()));
        }
        let leaf = self.chain.leaf_delegate();
        if self.actor == leaf && self.secondary.is_empty() {
            return Ok(grant);
        }
        let asked = self.odrl_request(self.actor, action, earlier);
        let primary = Chain { policies: &self.primary, request: &asked, root_is_owner: true };
        let secondary = Chain { policies: &self.secondary, request: &asked, root_is_owner: false };
        if self.actor != leaf {
            self.is_chain_of_leaf(leaf)?;
            grant = secondary.evaluate(&self.revoked, self.config.max_actor_hops)?;
            credentials_cover(self.chain.actor_hops(), action)?;
            if self.of_message && action.action == acl::CONTROL {
                let until = self.passing_on(&secondary, action)?;
                grant.not_after = grant.not_after.min(until);
            }
            for hop in 0..self.primary.len() {
                let composed = primary.no_prohibition(hop, self.actor, &action.action)?;
                let passed_on = primary.no_prohibition(hop, leaf, odrl::GRANT_USE)?;
                grant.not_after = grant.not_after.min(composed).min(passed_on);
            }
        }
        for hop in 0..self.secondary.len() {
            let until = secondary.no_prohibition(hop, self.actor, &action.action)?;
            grant.not_after = grant.not_after.min(until);
        }
        Ok(grant)
    }

    /// The second chain starts with the leaf delegate and ends with the actor.
    fn is_chain_of_leaf(&self, leaf: &str) -> Result<(), Box<Denial>> {
        let hops = self.chain.actor_hops();
        let (Some(first), Some(last)) = (hops.first(), hops.last()) else {
            return Err(Box::new(Denial {
                constraint: Some("actor".into()),
                seen: Some(self.actor.to_owned()),
                expected: Some(leaf.to_owned()),
                detail:
                    "the actor is not the mandate's delegate, and no chain leads from that delegate to it"
                        .into(),
                ..Denial::default()
            }));
        };
        let ends = [
            ("issuer of the actor chain's root", first.credential.issuer.as_str(), leaf),
            ("delegate of the actor chain", last.credential.authorizes.as_deref().unwrap_or(""), self.actor),
        ];
        match ends.into_iter().find(|(_, seen, expected)| seen != expected) {
            None => Ok(()),
            Some((what, seen, expected)) => Err(Box::new(Denial {
                constraint: Some(what.to_owned()),
                seen: Some(seen.to_owned()),
                expected: Some(expected.to_owned()),
                detail: "the second chain does not lead from the mandate's delegate to the actor".into(),
                ..Denial::default()
            })),
        }
    }

    /// The rules of a grant (`message-binding.md` 7) for one chain. Gives the last instant up to which they hold.
    fn passing_on(&self, chain: &Chain<'_>, action: &ActionUnderTest) -> Result<Instant, Box<Denial>> {
        let recipients = stated_iris(action, "recipient")?;
        let modes = stated_iris(action, "mode")?;
        if let Some(stranger) = modes.iter().find(|mode| !MODES.contains(&mode.as_str())) {
            return Err(Box::new(Denial {
                constraint: Some("mode".into()),
                seen: Some(stranger.clone()),
                expected: Some(MODES.join(", ")),
                detail: "a mode of the grant is none of the four".into(),
                ..Denial::default()
            }));
        }
        let parties = self.parties();
        let sensitive = recipients
            .iter()
            .filter(|recipient| parties.contains(recipient.as_str()))
            .map(|recipient| ("recipient", recipient.as_str()))
            .chain(modes.iter().filter(|mode| *mode == acl::CONTROL).map(|mode| ("mode", mode.as_str())));
        for (operand, value) in sensitive {
            for hop in 0..chain.policies.len() {
                if !chain.exercised_permissions(hop).into_iter().any(|rule| names(rule, operand, value)) {
                    let mut denial = chain.deny(hop, GRANT_NOT_NAMED);
                    denial.constraint = Some(operand.to_owned());
                    denial.seen = Some(value.to_owned());
                    denial.expected = Some(format!("a permission with a constraint `{operand} eq {value}`"));
                    return Err(denial);
                }
            }
        }
        let mut until = Instant::MAX_UTC;
        for mode in &modes {
            for agent in recipients.iter().map(String::as_str).chain([self.actor]) {
                for hop in 0..chain.policies.len() {
                    until = until.min(chain.no_prohibition(hop, agent, mode)?);
                }
            }
        }
        Ok(until)
    }

    /// The actor and everybody that the chains name.
    fn parties(&self) -> BTreeSet<&str> {
        let hops = self.chain.hops().iter().chain(self.chain.actor_hops());
        let named = hops.flat_map(|hop| {
            let credential = &hop.credential;
            [
                Some(credential.issuer.as_str()),
                credential.subject.as_deref(),
                credential.authorizes.as_deref(),
                hop.policy.assigner(),
                hop.policy.assignee(),
            ]
        });
        let own = [Some(self.actor), Some(self.chain.root_principal()), Some(self.chain.leaf_delegate())];
        named.chain(own).flatten().collect()
    }

    /// Established attributes come from the server's word and the snapshot, stated ones from the intent. A name that
    /// both have is nobody's: it has no value.
    pub(super) fn odrl_request(&self, agent: &str, action: &ActionUnderTest, earlier: u64) -> OdrlRequest {
        let vouched = &self.request.facts.vouched;
        let mut attributes: BTreeMap<String, Vec<Term>> = action.stated.clone();
        for (name, values) in vouched {
            let values = values.iter().map(|text| {
                // A value that is no term is kept as one that nothing equals.
                Term::from_str(text).unwrap_or_else(|_| Term::BlankNode(BlankNode::default()))
            });
            let values: Vec<Term> = values.collect();
            if name == "dateTime" {
                attributes.entry(name.clone()).or_default().extend(values);
            } else if attributes.remove(name).is_none() {
                attributes.insert(name.clone(), values);
            }
        }
        if let Some((name, values)) = &self.what_if.attribute {
            attributes.insert(name.clone(), values.clone());
        }
        OdrlRequest::new(
            (agent, &action.action, &action.target),
            &attributes,
            self.what_if.instant.unwrap_or(self.request.snapshot.instant),
            self.config.skew,
            match self.of_message {
                true => CountSource::Ledger { counts: Arc::clone(&self.counts), earlier },
                false => CountSource::Attributes,
            },
            Arc::clone(&self.facts),
            self.work.clone(),
        )
    }

    pub(super) fn duties_are_done(&self, obligations: &BTreeSet<Obligation>) -> Result<(), Box<Denial>> {
        if !self.config.require_duties {
            return Ok(());
        }
        let done = |duty: &&Obligation| {
            !self.request.facts.discharged.contains(&(duty.action.clone(), duty.target.clone()))
        };
        match obligations.iter().find(done) {
            None => Ok(()),
            Some(duty) => Err(Box::new(Denial {
                policy: Some(duty.policy.clone()),
                constraint: Some("duty".into()),
                expected: Some(match &duty.target {
                    Some(target) => format!("{} on {target}", duty.action),
                    None => duty.action.clone(),
                }),
                detail: "a duty of the permission is not done".into(),
                ..Denial::default()
            })),
        }
    }

    fn too_much(&self) -> Refusal {
        let detail = "the policies and what is asked of them exceed the limit `policy_steps`";
        let denial = Denial { detail: detail.into(), ..Denial::default() };
        refusal(Reason::LimitExceeded, Phase::D, denial, &[])
    }

    fn denied(&self, denial: Denial) -> Refusal {
        if self.work.is_spent() {
            return self.too_much();
        }
        refusal(Reason::PolicyDenied, Phase::D, denial, self.chain.hops())
    }

    fn uncomposed(&self, denial: Denial) -> Refusal {
        if self.work.is_spent() {
            return self.too_much();
        }
        let hops: Vec<&Hop> = self.chain.hops().iter().chain(self.chain.actor_hops()).collect();
        let of_policy = |hop: &&&Hop| Some(hop.policy.id()) == denial.policy.as_deref();
        let credential = hops.iter().find(of_policy).and_then(|hop| hop.credential.id.clone());
        refusal(Reason::IdentityCompositionFailed, Phase::Composition, denial, &[])
            .with(|evidence| evidence.credential = credential)
    }
}

const MODES: [&str; 4] = [acl::READ, acl::WRITE, acl::APPEND, acl::CONTROL];

const GRANT_NOT_NAMED: &str =
    "a grant to a party of the chain, or of acl:Control, needs a permission that names it";

impl Denial {
    /// The refusal of a phase for this denial by one of its hops.
    pub(crate) fn into_refusal(self, reason: Reason, phase: Phase, hops: &[Hop]) -> Refusal {
        refusal(reason, phase, self, hops)
    }
}

fn refusal(reason: Reason, phase: Phase, denial: Denial, hops: &[Hop]) -> Refusal {
    Refusal::new(Stage::Policy, reason).with(|evidence| {
        evidence.credential =
            denial.hop.and_then(|hop| hops.get(hop)).and_then(|hop| hop.credential.id.clone());
        evidence.hop = denial.hop;
        evidence.phase = Some(phase);
        evidence.policy = denial.policy;
        evidence.constraint = denial.constraint;
        evidence.seen = denial.seen;
        evidence.expected = denial.expected;
        evidence.detail = Some(denial.detail);
    })
}

/// Each credential's `svc:action` and `svc:target`, where present, cover the request (`mandate.md` 6).
fn credentials_cover(hops: &[Hop], action: &ActionUnderTest) -> Result<(), Box<Denial>> {
    for (hop, at) in hops.iter().enumerate() {
        let credential = &at.credential;
        let covered = |name: &String| action::permits(&action::of_name(name), &action.action);
        let problem = if !credential.actions.is_empty() && !credential.actions.iter().any(covered) {
            Some(("svc:action", &action.action, credential.actions.join(", ")))
        } else if !credential.targets.is_empty() && !credential.targets.contains(&action.target) {
            Some(("svc:target", &action.target, credential.targets.join(", ")))
        } else {
            None
        };
        if let Some((what, seen, expected)) = problem {
            return Err(Box::new(Denial {
                hop: Some(hop),
                policy: Some(at.policy.id().to_owned()),
                constraint: Some(what.into()),
                seen: Some(seen.clone()),
                expected: Some(expected),
                detail: "a credential does not cover what is asked".into(),
            }));
        }
    }
    Ok(())
}

/// The stated values of a grant's attribute: at least one, and IRIs.
fn stated_iris(action: &ActionUnderTest, name: &str) -> Result<Vec<String>, Box<Denial>> {
    let deny = |detail: &str| {
        Err(Box::new(Denial {
            constraint: Some(name.to_owned()),
            detail: detail.to_owned(),
            ..Denial::default()
        }))
    };
    let values = action.stated.get(name).map(Vec::as_slice).unwrap_or_default();
    if values.is_empty() {
        return deny("a grant needs a recipient and at least one mode");
    }
    let iris: Option<Vec<String>> = values
        .iter()
        .map(|value| match value {
            Term::NamedNode(iri) => Some(iri.as_str().to_owned()),
            _ => None,
        })
        .collect();
    match iris {
        Some(iris) => Ok(iris),
        None => deny("a recipient or mode of the grant is not an IRI"),
    }
}

/// Whether a matched permission has a constraint that names `value` for `operand`, at its top level or in an `and`.
fn names(rule: &Rule, operand: &str, value: &str) -> bool {
    let mut open: Vec<&Constraint> = rule.constraints.iter().collect();
    while let Some(constraint) = open.pop() {
        match constraint {
            Constraint::Logical { logic, operands } if logic.is_conjunction() => open.extend(operands),
            Constraint::Compare { operand: own, operator: Operator::Eq | Operator::IsAnyOf, right }
                if local_name(own) == Some(operand)
                    && right.iter().any(|right| matches!(right, Value::Iri(iri) if iri == value)) =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}
