//! A delegation chain of policies against one request (`mandate.md` 6), as a pure function.

use super::evaluate::{CountSource, Judge, OdrlRequest, Question, RuleKind, Truth, Work, unchanged_until};
use super::model::{Conflict, Constraint, Duty, Named, Policy, Rule};
use super::value::Value;
use super::words::{expected_by, names_in_words, rule_in_words, seen_by, short};
use crate::decision::Obligation;
use crate::limits::Limits;
use crate::request::Instant;
use crate::vocab::{odrl, odrld};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// What the policies of a chain say to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChainVerdict {
    Permit(ChainGrant),
    Deny(Box<Denial>),
}

/// What a chain grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainGrant {
    pub(crate) obligations: BTreeSet<Obligation>,
    /// No dateTime constraint that the verdict rests on changes its value up to here.
    pub(crate) not_after: Instant,
    /// The policies whose permissions are exercised, by [`Policy::count_key`], and whether they look at `odrl:count`.
    pub(crate) exercised: BTreeMap<String, bool>,
}

impl ChainGrant {
    /// A grant of nothing yet.
    pub(super) fn none() -> Self {
        Self { obligations: BTreeSet::new(), not_after: Instant::MAX_UTC, exercised: BTreeMap::new() }
    }
}

/// Why a chain denies: enough for a person to see the smallest change that would help.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) hop: Option<usize>,
    pub(crate) policy: Option<String>,
    pub(crate) constraint: Option<String>,
    pub(crate) seen: Option<String>,
    pub(crate) expected: Option<String>,
    pub(crate) detail: String,
}

/// Judges `request` by the chain `policies`, root first. `revoked` are ids of policies; a chain longer than
/// `max_length` denies.
pub(crate) fn evaluate_chain<P: Borrow<Policy>>(
    policies: &[P],
    request: &OdrlRequest,
    revoked: &BTreeSet<String>,
    max_length: usize,
) -> ChainVerdict {
    let policies: Vec<&Policy> = policies.iter().map(Borrow::borrow).collect();
    let chain = Chain { policies: &policies, request, root_is_owner: true };
    match chain.evaluate(revoked, max_length) {
        Ok(grant) => ChainVerdict::Permit(grant),
        Err(denial) => ChainVerdict::Deny(denial),
    }
}

/// What can be said of a chain before anything is asked of it: its policies can be used, and each could be passed on to
/// the next. A chain for which this holds may still deny every request.
///
/// # Errors
/// Why it denies every request.
pub(crate) fn before_any_request(
    policies: &[&Policy],
    instant: Instant,
    revoked: &BTreeSet<String>,
    max_length: usize,
) -> Result<(), Box<Denial>> {
    let request = OdrlRequest::new(
        ("", "", ""),
        &BTreeMap::new(),
        instant,
        chrono::TimeDelta::zero(),
        CountSource::Attributes,
        std::sync::Arc::default(),
        Work::new(&Limits::default()),
    );
    let chain = Chain { policies, request: &request, root_is_owner: true };
    chain.admissible(revoked, max_length)?;
    (1..policies.len()).enumerate().try_for_each(|(parent, child)| chain.possible_edge(parent, child))
}

/// A chain and what is asked of it.
pub(super) struct Chain<'a> {
    pub(super) policies: &'a [&'a Policy],
    pub(super) request: &'a OdrlRequest,
    /// The root hop is the owner's of the target. It is not in an actor chain, whose root is a delegate.
    pub(super) root_is_owner: bool,
}

type Matched<'a> = Vec<&'a Rule>;

impl<'a> Chain<'a> {
    pub(super) fn evaluate(
        &self,
        revoked: &BTreeSet<String>,
        max_length: usize,
    ) -> Result<ChainGrant, Box<Denial>> {
        self.admissible(revoked, max_length)?;
        let mut grant = ChainGrant::none();
        for (parent, child) in (1..self.policies.len()).enumerate() {
            self.edge(parent, child, &mut grant)?;
        }
        for (hop, policy) in self.policies.iter().enumerate() {
            let agent = match self.policies.get(hop + 1) {
                Some(next) => {
                    next.assigner().ok_or_else(|| self.deny(hop, "the next hop has no assigner"))?
                }
                None => self.leaf_agent(hop, policy)?,
            };
            let asked = self.question(hop, agent, &self.request.action, None);
            let matched = self.permit(hop, asked)?;
            self.add(hop, asked, &matched, &mut grant);
            if hop + 1 < self.policies.len() {
                let until = self.no_prohibition(hop, &self.request.agent, &self.request.action)?;
                grant.not_after = grant.not_after.min(until);
            }
        }
        Ok(grant)
    }

    /// The chain as a whole: length, usability, ids, revocation, and the time that the caller claims.
    pub(super) fn admissible(
        &self,
        revoked: &BTreeSet<String>,
        max_length: usize,
    ) -> Result<(), Box<Denial>> {
        if self.policies.is_empty() {
            return Err(Box::new(Denial { detail: "the chain holds no policy".into(), ..Denial::default() }));
        }
        if self.policies.len() > max_length {
            return Err(Box::new(Denial {
                constraint: Some("length of the chain".into()),
                seen: Some(self.policies.len().to_string()),
                expected: Some(format!("at most {max_length}")),
                detail: "the chain is longer than is accepted here".into(),
                ..Denial::default()
            }));
        }
        if self.policies.first().is_some_and(|root| root.delegated_under().is_some()) {
            return Err(self.deny(0, "the first policy is delegated under one that is not in the chain"));
        }
        let mut ids = BTreeSet::new();
        for (hop, policy) in self.policies.iter().enumerate() {
            if let Some(why) = &policy.unusable {
                return Err(self.deny(hop, format!("the policy cannot be used: {why}")));
            }
            if !ids.insert(policy.id()) {
                return Err(self.deny(hop, "the policy is in the chain twice"));
            }
            if revoked.contains(policy.id()) {
                return Err(self.deny(hop, "the policy is revoked"));
            }
        }
        if let Some(claimed) = self.request.time_disputed() {
            return Err(Box::new(Denial {
                constraint: Some("dateTime".into()),
                seen: Some(claimed.to_owned()),
                expected: Some(Value::instant(self.request.instant()).to_string()),
                detail: "the caller states another time than the evaluation instant".into(),
                ..Denial::default()
            }));
        }
        Ok(())
    }

    /// One delegation: the parent lets the child's assigner pass its permission on, this deep, and to this child.
    pub(super) fn edge(
        &self,
        parent: usize,
        child: usize,
        grant: &mut ChainGrant,
    ) -> Result<(), Box<Denial>> {
        let (from, to, assigner) = self.link(parent, child)?;
        let below = self.policies.len() - child;
        let asked = self.question(parent, assigner, odrl::GRANT_USE, u64::try_from(below).ok());
        let matched: Matched<'_> = self.permit(parent, asked)?;
        let usable = self
            .usable(parent, matched, |rule| delegates(rule, &from.obligations, assigner, below, to.id()))?;
        self.add(parent, asked, &usable, grant);
        Ok(())
    }

    /// What every edge needs, whatever is asked: an agreement between two parties under the policy before it. Gives
    /// both policies and the child's assigner.
    pub(super) fn link(
        &self,
        parent: usize,
        child: usize,
    ) -> Result<(&'a Policy, &'a Policy, &'a str), Box<Denial>> {
        let (Some(from), Some(to)) = (self.policies.get(parent), self.policies.get(child)) else {
            return Err(self.deny(child, "the chain has a gap"));
        };
        if !to.agreement {
            return Err(self.deny(child, "a delegated policy is not an odrl:Agreement"));
        }
        let Some(assigner) = to.assigner() else {
            return Err(self.deny(child, "a delegated policy has no assigner"));
        };
        if to.assignee().is_none() {
            return Err(self.deny(child, "a delegated policy has no assignee"));
        }
        if to.delegated_under() != Some(from.id()) {
            let mut denial = self.deny(child, "a policy is not delegated under the one before it");
            denial.seen = to.delegated_under().map(str::to_owned);
            denial.expected = Some(from.id().to_owned());
            return Err(denial);
        }
        Ok((from, to, assigner))
    }

    /// The rules that pass; where none does, why the first did not.
    fn usable(
        &self,
        hop: usize,
        rules: Matched<'a>,
        passes: impl Fn(&Rule) -> Result<(), Box<Denial>>,
    ) -> Result<Matched<'a>, Box<Denial>> {
        let (mut usable, mut problem) = (Vec::new(), None);
        for rule in rules {
            match passes(rule) {
                Ok(()) => usable.push(rule),
                Err(denial) => problem = problem.or(Some(denial)),
            }
        }
        if usable.is_empty() {
            let mut denial = problem.unwrap_or_default();
            denial.hop = Some(hop);
            denial.policy = self.policies.get(hop).map(|policy| policy.id().to_owned());
            return Err(denial);
        }
        Ok(usable)
    }

    /// What can be said of an edge before anything is asked: a permission of the parent could let it be passed on.
    fn possible_edge(&self, parent: usize, child: usize) -> Result<(), Box<Denial>> {
        let (from, to, assigner) = self.link(parent, child)?;
        let below = self.policies.len() - child;
        let grants: Matched<'_> =
            from.permissions.iter().filter(|rule| rule.names_action(odrl::GRANT_USE)).collect();
        if grants.is_empty() {
            return Err(self.deny(parent, "no permission of the policy covers grantUse"));
        }
        self.usable(parent, grants, |rule| {
            delegates(rule, &from.obligations, assigner, below, to.id())?;
            match rule.constraints.iter().find(|bound| bound.is_depth_bound() && !bound.admits_depth(below)) {
                None => Ok(()),
                Some(bound) => Err(Box::new(Denial {
                    constraint: Some(bound.to_string()),
                    seen: Some(below.to_string()),
                    expected: expected_by(bound),
                    detail: "the permission to delegate does not reach this deep".into(),
                    ..Denial::default()
                })),
            }
        })
        .map(|_| ())
    }

    /// In a chain of two or more, the agent is the leaf policy's assignee.
    pub(super) fn leaf_agent(&self, hop: usize, leaf: &Policy) -> Result<&'a str, Box<Denial>> {
        let agent = self.request.agent.as_str();
        if self.policies.len() > 1 && leaf.assignee() != Some(agent) {
            let mut denial = self.deny(hop, "the agent is not the assignee of the last policy");
            denial.constraint = Some("assignee".into());
            denial.seen = Some(agent.to_owned());
            denial.expected = leaf.assignee().map(str::to_owned);
            return Err(denial);
        }
        Ok(agent)
    }

    /// The matching permissions of one policy, where no prohibition stands against them.
    pub(super) fn permit(&self, hop: usize, asked: Question<'a>) -> Result<Matched<'a>, Box<Denial>> {
        let Some(policy) = self.policies.get(hop).copied() else {
            return Err(self.deny(hop, "the chain has a gap"));
        };
        let matched = Judge::permissions(policy, asked);
        let prohibition = Judge::prohibition(policy, asked);
        let strict = self.policies.len() > 1;
        match prohibition {
            Some(rule) if strict || matched.is_empty() || policy.conflict != Conflict::Perm => {
                Err(self.prohibited(hop, asked, rule))
            }
            _ if matched.is_empty() => Err(self.nothing_permits(hop, asked)),
            _ => Ok(matched),
        }
    }

    /// No prohibition of this policy meets `action` by `agent`, whatever its conflict strategy. Gives the last instant
    /// up to which that stays so.
    pub(super) fn no_prohibition(
        &self,
        hop: usize,
        agent: &str,
        action: &str,
    ) -> Result<Instant, Box<Denial>> {
        let Some(policy) = self.policies.get(hop).copied() else {
            return Err(self.deny(hop, "the chain has a gap"));
        };
        let asked = Question { request: self.request, agent, action, depth: None, by_root: false };
        match Judge::prohibition(policy, asked) {
            Some(rule) => Err(self.prohibited(hop, asked, rule)),
            None => Ok(self.prohibitions_unchanged_until(policy)),
        }
    }

    /// The last instant before time alone may make a prohibition match. (One of something else may end a grant early,
    /// which does no harm: time can also hide in the refinement that makes it something else.)
    fn prohibitions_unchanged_until(&self, policy: &Policy) -> Instant {
        let constraints = policy.prohibitions.iter().flat_map(|rule| rule.all_constraints());
        unchanged_until(constraints, self.request.instant())
    }

    /// The permissions of each policy that match the actual request for that hop's delegate.
    pub(super) fn exercised_permissions(&self, hop: usize) -> Matched<'a> {
        let next = self.policies.get(hop + 1).map(|next| next.assigner().unwrap_or_default());
        let agent = next.unwrap_or(&self.request.agent);
        let asked = self.question(hop, agent, &self.request.action, None);
        self.policies.get(hop).copied().map(|policy| Judge::permissions(policy, asked)).unwrap_or_default()
    }

    pub(super) fn question(
        &self,
        hop: usize,
        agent: &'a str,
        action: &'a str,
        depth: Option<u64>,
    ) -> Question<'a> {
        Question { request: self.request, agent, action, depth, by_root: self.root_is_owner && hop == 0 }
    }

    /// Adds what a policy's matched permissions bring with them.
    fn add(&self, hop: usize, asked: Question<'a>, matched: &[&Rule], grant: &mut ChainGrant) {
        let Some(policy) = self.policies.get(hop).copied() else { return };
        let duties = matched.iter().flat_map(|rule| &rule.duties);
        let passing_on =
            |duty: &&Duty| !(asked.action == odrl::GRANT_USE && duty.action == odrl::NEXT_POLICY);
        let duties = duties.filter(passing_on).chain(&policy.obligations);
        grant.obligations.extend(duties.map(|duty| Obligation {
            action: duty.action.clone(),
            target: duty.target.clone(),
            policy: policy.id().to_owned(),
        }));
        let constraints = matched.iter().flat_map(|rule| rule.all_constraints());
        let until = unchanged_until(constraints, self.request.instant());
        grant.not_after = grant.not_after.min(until).min(self.prohibitions_unchanged_until(policy));
        grant.exercised.insert(policy.count_key(), policy.is_counted());
    }

    pub(super) fn deny(&self, hop: usize, detail: impl Into<String>) -> Box<Denial> {
        Box::new(Denial {
            hop: Some(hop),
            policy: self.policies.get(hop).map(|policy| policy.id().to_owned()),
            detail: detail.into(),
            ..Denial::default()
        })
    }

    fn prohibited(&self, hop: usize, asked: Question<'_>, rule: &Rule) -> Box<Denial> {
        let mut denial = self.deny(hop, "");
        let policy = self.policies.get(hop).copied();
        let found = policy.map(|policy| Judge::new(policy, asked, RuleKind::Prohibition).rule(rule).truth());
        let sure = found == Some(Truth::True);
        let action = short(asked.action);
        denial.detail = match (&rule.undetermined, sure) {
            (_, true) => format!("the policy prohibits {action} on this target to this agent"),
            (Some(why), false) => format!("a prohibition cannot be ruled out for {action}: {why}"),
            (None, false) => format!("a prohibition cannot be ruled out for {action}"),
        };
        denial.constraint = Some(rule_in_words("prohibition", rule));
        denial.seen = Some(format!("{action} on {} by {}", asked.request.target, asked.agent));
        denial
    }

    /// The nearest of the permissions, and the first thing in it that does not hold.
    fn nothing_permits(&self, hop: usize, asked: Question<'_>) -> Box<Denial> {
        let mut denial = self.deny(hop, "");
        let Some(policy) = self.policies.get(hop).copied() else { return denial };
        let action = short(asked.action);
        let judge = Judge::new(policy, asked, RuleKind::Permission);
        let nearest = policy
            .permissions
            .iter()
            .map(|rule| (judge.rule(rule).progress(), rule))
            .max_by_key(|(near, _)| *near);
        let Some((near, rule)) = nearest else {
            denial.detail = "the policy holds no permission".into();
            return denial;
        };
        let fill = |denial: &mut Denial, what: &str, seen: &str, expected: String| {
            denial.constraint = Some(what.to_owned());
            denial.seen = Some(seen.to_owned());
            denial.expected = Some(expected);
        };
        match near {
            0 => {
                denial.detail = format!("no permission of the policy covers {action}");
                let all = policy.permissions.iter().flat_map(|rule| &rule.actions);
                fill(&mut denial, "action", asked.action, names_in_words(all));
            }
            1 => {
                denial.detail = format!("the policy permits {action} on another target only");
                fill(&mut denial, "target", &asked.request.target, names_in_words(&rule.targets));
            }
            2 => {
                denial.detail = format!("the policy permits {action} on this target to another party only");
                fill(&mut denial, "assignee", asked.agent, names_in_words(&rule.assignees));
            }
            3 => {
                denial.detail = format!("a constraint of the permission of {action} does not hold");
                let failing = rule.constraints.iter().find(|one| judge.constraint(one) != Truth::True);
                if let Some(failing) = failing {
                    denial.constraint = Some(failing.to_string());
                    denial.seen = Some(seen_by(&judge, failing));
                    denial.expected = expected_by(failing);
                }
            }
            _ => {
                let why = rule.undetermined.as_deref().unwrap_or("it cannot be judged");
                denial.detail = format!("the permission of {action} cannot be judged: {why}");
            }
        }
        denial
    }
}

/// Whether a matched `grantUse` permission lets `assigner` delegate this deep, and to this child. `obligations` are the
/// policy's, which are those of each of its grants.
pub(super) fn delegates(
    rule: &Rule,
    obligations: &[Duty],
    assigner: &str,
    below: usize,
    child: &str,
) -> Result<(), Box<Denial>> {
    // A refined name is one of some occasions, of which this need not be one.
    let named = rule.assignees.iter().any(
        |name| matches!(name, Named::Iri { iri, refinements, .. } if iri == assigner && refinements.is_empty()),
    );
    if !named {
        return Err(Box::new(Denial {
            constraint: Some("assignee of the grantUse permission".into()),
            seen: Some(names_in_words(&rule.assignees)),
            expected: Some(assigner.to_owned()),
            detail: "the permission to delegate does not name this delegate".into(),
            ..Denial::default()
        }));
    }
    let depth: Vec<&Constraint> =
        rule.all_constraints().filter(|constraint| constraint.mentions(odrld::DELEGATION_DEPTH)).collect();
    let top_level = rule.constraints.iter().filter(|constraint| constraint.is_depth_bound()).count();
    if depth.len() != top_level {
        return Err(Box::new(Denial {
            constraint: depth.first().map(ToString::to_string),
            detail: "delegationDepth must be a constraint of its own: lt, lteq or eq, and one whole number"
                .into(),
            ..Denial::default()
        }));
    }
    if top_level == 0 && below > 1 {
        return Err(Box::new(Denial {
            constraint: Some("delegationDepth (absent, so 1)".into()),
            seen: Some(below.to_string()),
            expected: Some("1".into()),
            detail: "the permission to delegate does not reach this deep".into(),
            ..Denial::default()
        }));
    }
    let next = rule.duties.iter().chain(obligations).filter(|duty| duty.action == odrl::NEXT_POLICY);
    match next.into_iter().find(|duty| duty.target.as_deref() != Some(child)) {
        None => Ok(()),
        Some(duty) => Err(Box::new(Denial {
            constraint: Some("nextPolicy".into()),
            seen: Some(child.to_owned()),
            expected: Some(duty.target.clone().unwrap_or_else(|| "a target, which the duty lacks".into())),
            detail: "the permission to delegate is for another policy".into(),
            ..Denial::default()
        })),
    }
}
