//! Why the policies deny, and the smallest change that would let them permit: what is said to help was tried, by the
//! evaluator itself.

use super::contain::{depth_holds, names_action};
use super::delegation::{PolicyGrant, PolicyStage};
use super::evaluate::{Judge, Question, RuleKind, Truth, Work};
use super::hops::{Chain, ChainGrant, Denial, in_words, is_depth_bound, names, seen_by, short};
use super::model::{Constraint, Logic, Named, Operator, Policy, Rule, Words, local_name};
use super::value::{Kind, Typed, Value};
use crate::audit::instant_text;
use crate::config::Config;
use crate::explain::{Explanation, Unmet};
use crate::mandate::VerifiedChain;
use crate::message::ActionsUnderTest;
use crate::message::action::ActionUnderTest;
use crate::message::target::is_normal;
use crate::refusal::Reason;
use crate::request::{Instant, Request};
use crate::vocab::{odrl, odrld};
use chrono::TimeDelta;
use oxrdf::{Literal, NamedNode, Term};
use std::cell::Cell;
use std::collections::BTreeSet;

/// How many changes are tried for one explanation, whatever the number of rules.
const TRIES: usize = 64;

/// A change of what is asked, or of one rule.
#[derive(Debug, Clone)]
enum Change {
    Attribute(String, Vec<Value>),
    Time(Instant),
    Action(String),
    Target(String),
    /// Another rule in the place of the n-th permission of a hop's policy, in words.
    Rule(usize, usize, Box<Rule>, String),
}

/// What a policy was asked when it denied.
#[derive(Clone, Copy)]
struct Failing<'a> {
    hop: usize,
    asked: Question<'a>,
}

impl PolicyGrant {
    /// Why [`PolicyGrant::evaluate`] refuses, or `None` where it does not.
    pub(crate) fn explain(
        chain: &VerifiedChain,
        actions: &ActionsUnderTest,
        actor: &str,
        request: &Request,
        config: &Config,
    ) -> Option<Explanation> {
        let refusal = Self::evaluate(chain, actions, actor, request, config).err()?;
        if refusal.reason() != Reason::PolicyDenied {
            return Some(Explanation::of_refusal(&refusal));
        }
        let stage = PolicyStage::new(chain, actor, request, config, true);
        let denied = (0..).zip(&actions.actions).find_map(|(earlier, action)| {
            stage.mandate(action, earlier).err().map(|denial| (earlier, action, denial))
        });
        let detailed = denied.and_then(|(earlier, action, denial)| {
            let (tries, work) = (Cell::new(TRIES), Work::new(&config.limits));
            let trial = Trial { stage: &stage, action, earlier, actions, tries, work };
            trial.explain(&denial)
        });
        Some(detailed.unwrap_or_else(|| Explanation::of_refusal(&refusal)))
    }
}

/// The denied action, and the stage that denied it.
struct Trial<'t> {
    stage: &'t PolicyStage<'t>,
    action: &'t ActionUnderTest,
    earlier: u64,
    actions: &'t ActionsUnderTest,
    /// The tries that are left, and the work that they may do together.
    tries: Cell<usize>,
    work: Work,
}

impl Trial<'_> {
    fn explain(&self, denial: &Denial) -> Option<Explanation> {
        let request = self.stage.odrl_request(self.stage.chain.leaf_delegate(), self.action, self.earlier);
        let chain = Chain { policies: &self.stage.primary, request: &request, root_is_owner: true };
        let failing = failing(&chain, &self.stage.revoked, self.stage.config.max_chain_length)?;
        let policy = chain.policies.get(failing.hop).copied()?;
        let place = format!("hop {}, policy {}", failing.hop, policy.id());
        // A prohibition comes before what permits, so where one matches it is what denied.
        if let Some(rule) = Judge::prohibition(policy, failing.asked) {
            return Some(self.prohibited(&place, policy, failing, rule));
        }
        self.unpermitted(&place, policy, failing, denial)
    }

    fn prohibited(&self, place: &str, policy: &Policy, failing: Failing<'_>, rule: &Rule) -> Explanation {
        let judge = Judge::new(policy, failing.asked, RuleKind::Prohibition);
        let unmet = rule.constraints.iter().map(|constraint| Unmet {
            asked: format!("not {constraint}"),
            seen: seen_by(&judge, constraint),
        });
        // What a permission asks for may be what the prohibition spares.
        let prohibited: Vec<&str> = rule.all_constraints().flat_map(operands).collect();
        let asking = Judge::new(policy, failing.asked, RuleKind::Permission);
        let permitted = policy.permissions.iter().flat_map(|permission| permission.all_constraints());
        let permitted =
            permitted.filter(|one| operands(one).iter().any(|operand| prohibited.contains(operand)));
        let changes = rule
            .all_constraints()
            .flat_map(escaping)
            .chain(permitted.flat_map(|one| meeting_anew(&asking, one)));
        let change = match self.first_that_permits(changes) {
            Some(change) => format!("{}, the policies would permit it", in_condition(&change)),
            None => "none: as long as this prohibition stands, no change of one attribute helps".to_owned(),
        };
        let asked = format!(
            "{} on {} by {}",
            short(failing.asked.action),
            failing.asked.request.target,
            failing.asked.agent
        );
        let sure = judge.rule(rule).truth() == Truth::True;
        let verb = if sure { "prohibits" } else { "cannot be shown not to prohibit" };
        Explanation {
            sentence: format!("{place}: {} {verb} {asked}", in_words("the prohibition", rule)),
            unmet: unmet.collect(),
            change,
        }
    }

    fn unpermitted(
        &self,
        place: &str,
        policy: &Policy,
        failing: Failing<'_>,
        denial: &Denial,
    ) -> Option<Explanation> {
        let judge = Judge::new(policy, failing.asked, RuleKind::Permission);
        let mut candidates: Vec<Candidate<'_>> = policy
            .permissions
            .iter()
            .enumerate()
            .map(|(place, rule)| {
                Candidate::of(&judge, failing, place, rule, policy, self.stage.primary.len())
            })
            .collect();
        // The order of rules in the policy decides between equals.
        candidates.sort_by_key(|candidate| (candidate.unmet.len(), 4 - candidate.near));
        let nearest = candidates.first()?;
        let single = candidates.iter().filter(|candidate| candidate.unmet.len() == 1);
        let change = single.clone().find_map(|candidate| {
            let changes = candidate.changes.iter().cloned();
            self.first_that_permits(changes).map(|change| (candidate, change))
        });
        let (shown, change) = match change {
            Some((candidate, change)) => {
                (candidate, format!("{}, the policies would permit it", in_condition(&change)))
            }
            None if nearest.unmet.len() > 1 => {
                (nearest, format!("no single change suffices: {} things are unmet", nearest.unmet.len()))
            }
            None => (nearest, "no single change of what is asked is known to suffice".to_owned()),
        };
        Some(Explanation {
            sentence: format!(
                "{place}: {}; the nearest is {}",
                denial.detail,
                in_words("the permission", shown.rule)
            ),
            unmet: shown.unmet.clone(),
            change,
        })
    }

    fn first_that_permits(&self, mut changes: impl Iterator<Item = Change>) -> Option<Change> {
        while let Some(left) = self.tries.get().checked_sub(1) {
            let change = changes.next()?;
            self.tries.set(left);
            if self.permits_with(&change) {
                return Some(change);
            }
        }
        None
    }

    /// Whether the papers, and who owns the target, let the change be at all: the policies say nothing of them.
    fn is_possible(&self, change: &Change) -> bool {
        let stage = self.stage;
        match change {
            Change::Time(instant) => {
                let mut hops = stage.chain.hops().iter().chain(stage.chain.actor_hops());
                hops.all(|hop| {
                    hop.credential.valid_from.is_none_or(|from| from <= *instant)
                        && hop.credential.not_after().is_none_or(|until| *instant <= until)
                })
            }
            Change::Target(iri) => {
                let owner = |target: &str| stage.config.roots.owner(target);
                is_normal(iri) && owner(iri) == owner(&self.action.target)
            }
            _ => true,
        }
    }

    /// Whether every action of the message would be granted, this one with the change.
    fn permits_with(&self, change: &Change) -> bool {
        if !self.is_possible(change) {
            return false;
        }
        let chain = self.stage.chain;
        let mut stage = PolicyStage::new(
            chain,
            self.stage.actor,
            self.stage.request,
            self.stage.config,
            self.stage.of_message,
        );
        stage.work = self.work.clone();
        let mut action = self.action.clone();
        let mut attribute = None;
        let changed_policy;
        match change {
            Change::Attribute(name, values) => {
                let Some(values) = values.iter().map(term).collect::<Option<Vec<_>>>() else { return false };
                attribute = Some((name.clone(), values));
            }
            Change::Time(instant) => stage.what_if.instant = Some(*instant),
            Change::Action(iri) => action.action.clone_from(iri),
            Change::Target(iri) => action.target.clone_from(iri),
            Change::Rule(hop, place, rule, _) => {
                let Some(policy) = stage.primary.get(*hop) else { return false };
                let mut policy = Policy::clone(policy);
                let Some(at) = policy.permissions.get_mut(*place) else { return false };
                at.clone_from(rule);
                changed_policy = policy;
                if let Some(at) = stage.primary.get_mut(*hop) {
                    *at = &changed_policy;
                }
            }
        }
        let mut obligations = BTreeSet::new();
        // The other actions are asked as they were, but at one and the same time.
        for (earlier, other) in (0..).zip(&self.actions.actions) {
            let is_it = earlier == self.earlier;
            stage.what_if.attribute = attribute.clone().filter(|_| is_it);
            let asked = if is_it { &action } else { other };
            for granted in [stage.mandate(asked, earlier), stage.composition(asked, earlier)] {
                match granted {
                    Ok(granted) => obligations.extend(granted.obligations),
                    Err(_) => return false,
                }
            }
        }
        stage.duties_are_done(&obligations).is_ok() && !stage.work.is_spent()
    }
}

/// The question that the chain's evaluator was denied, in its order. `None` where it was no question to a policy.
fn failing<'a>(chain: &Chain<'a>, revoked: &BTreeSet<String>, max_length: usize) -> Option<Failing<'a>> {
    chain.admissible(revoked, max_length).ok()?;
    let mut grant = ChainGrant::none();
    for (parent, child) in (1..chain.policies.len()).enumerate() {
        if chain.edge(parent, child, &mut grant).is_err() {
            let (_, _, assigner) = chain.link(parent, child).ok()?;
            let below = u64::try_from(chain.policies.len() - child).ok();
            return Some(Failing {
                hop: parent,
                asked: chain.question(parent, assigner, odrl::GRANT_USE, below),
            });
        }
    }
    for (hop, policy) in chain.policies.iter().enumerate() {
        let agent = match chain.policies.get(hop + 1) {
            Some(next) => next.assigner()?,
            None => chain.leaf_agent(hop, policy).ok()?,
        };
        let asked = chain.question(hop, agent, &chain.request.action, None);
        if chain.permit(hop, asked).is_err() {
            return Some(Failing { hop, asked });
        }
        let actual = chain.question(hop, &chain.request.agent, &chain.request.action, None);
        if chain.no_prohibition(hop, &chain.request.agent, &chain.request.action).is_err() {
            return Some(Failing { hop, asked: Question { by_root: false, ..actual } });
        }
    }
    None
}

/// The rule edited, as a change in words.
type EditedBy<'e> = dyn Fn(&dyn Fn(&mut Rule), String) -> Change + 'e;

/// A permission, how much of it is unmet, and changes that might meet it.
struct Candidate<'c> {
    rule: &'c Rule,
    near: usize,
    unmet: Vec<Unmet>,
    changes: Vec<Change>,
}

impl<'c> Candidate<'c> {
    fn of(
        judge: &Judge<'_>,
        failing: Failing<'_>,
        place: usize,
        rule: &'c Rule,
        policy: &Policy,
        length: usize,
    ) -> Self {
        let (found, asked) = (judge.rule(rule), failing.asked);
        let edge = asked.action == odrl::GRANT_USE && failing.hop + 1 < length;
        let (mut unmet, mut changes) = (Vec::new(), Vec::new());
        let mut add = |asked: String, seen: &str| unmet.push(Unmet { asked, seen: seen.to_owned() });
        let with = |edit: &dyn Fn(&mut Rule), words: String| {
            let mut rule = rule.clone();
            edit(&mut rule);
            Change::Rule(failing.hop, place, Box::new(rule), words)
        };
        if let Some(why) = &rule.undetermined {
            add("a rule that can be judged".to_owned(), why);
        }
        if found.action != Truth::True {
            add(format!("action {}", names(&rule.actions)), short(asked.action));
            if edge {
                // It asks for grantUse, whatever the message asks for.
                let also = Named::iri(odrl::GRANT_USE.to_owned(), false, Vec::new());
                changes
                    .push(with(&|rule| rule.actions.push(also.clone()), "covered grantUse too".to_owned()));
            } else {
                changes.extend(iris(&rule.actions).map(Change::Action));
            }
        }
        if found.target != Truth::True {
            add(format!("target {}", names(&rule.targets)), &asked.request.target);
            changes.extend(iris(&rule.targets).map(Change::Target));
        }
        if found.assignee != Truth::True {
            add(format!("assignee {}", names(&rule.assignees)), asked.agent);
            let agent = asked.agent.to_owned();
            let named = Named::iri(agent.clone(), false, Vec::new());
            changes.push(with(&|rule| rule.assignees.push(named.clone()), format!("named {agent}")));
        }
        for constraint in rule.constraints.iter().filter(|one| judge.constraint(one) != Truth::True) {
            add(constraint.to_string(), &seen_by(judge, constraint));
            if is_depth_bound(constraint) && edge {
                continue;
            }
            changes.extend(meeting(judge, constraint));
            let words = format!("did not ask for {constraint}");
            if constraint.mentions(odrl::COUNT) {
                changes.push(with(&|rule| rule.constraints.retain(|one| one != constraint), words));
            }
        }
        if edge {
            Self::edge(rule, policy, failing, length, &mut unmet, &mut changes, &with);
        }
        Self { rule, near: found.progress(), unmet, changes }
    }

    /// What an edge asks beside what its question asks: the delegate by name, the depth, and the next policy.
    fn edge(
        rule: &Rule,
        policy: &Policy,
        failing: Failing<'_>,
        length: usize,
        unmet: &mut Vec<Unmet>,
        changes: &mut Vec<Change>,
        with: &EditedBy<'_>,
    ) {
        if !names_action(rule, odrl::GRANT_USE) {
            return;
        }
        let below = length.saturating_sub(failing.hop + 1);
        let agent = failing.asked.agent;
        if rule.assignees.is_empty() {
            unmet.push(Unmet { asked: "the delegate by name".to_owned(), seen: "everybody".to_owned() });
            let named = Named::iri(agent.to_owned(), false, Vec::new());
            changes.push(with(&|rule| rule.assignees.push(named.clone()), format!("named {agent}")));
        }
        let bounds: Vec<&Constraint> = rule.constraints.iter().filter(|one| is_depth_bound(one)).collect();
        let absent = bounds.is_empty() && below > 1;
        if absent || bounds.iter().any(|bound| !depth_holds(bound, below)) {
            if absent {
                let asked = "delegationDepth (absent, so 1)".to_owned();
                unmet.push(Unmet { asked, seen: format!("delegationDepth {below}") });
            }
            let bound = Constraint::Compare {
                operand: odrld::DELEGATION_DEPTH.to_owned(),
                operator: Operator::Lteq,
                right: vec![Value::integer(u64::try_from(below).unwrap_or(u64::MAX))],
            };
            let deeper = |rule: &mut Rule| {
                rule.constraints.retain(|one| !is_depth_bound(one));
                rule.constraints.push(bound.clone());
            };
            changes.push(with(&deeper, format!("allowed {bound}")));
        }
        let next =
            rule.duties.iter().chain(&policy.obligations).filter(|duty| duty.action == odrl::NEXT_POLICY);
        for duty in next {
            unmet.push(Unmet {
                asked: format!("nextPolicy {}", duty.target.as_deref().unwrap_or("(without a target)")),
                seen: "the next policy of this chain".to_owned(),
            });
        }
    }
}

fn iris(names: &[Named]) -> impl Iterator<Item = String> {
    names.iter().filter_map(|named| match named {
        Named::Iri { iri, .. } => Some(iri.clone()),
        Named::Unreadable => None,
    })
}

/// Changes of what is asked that might meet a constraint of a permission.
fn meeting(judge: &Judge<'_>, constraint: &Constraint) -> Vec<Change> {
    match constraint {
        Constraint::Unreadable(_) => Vec::new(),
        Constraint::Logical { logic: Logic::And | Logic::AndSequence, operands } => {
            let unmet: Vec<&Constraint> =
                operands.iter().filter(|one| judge.constraint(one) != Truth::True).collect();
            // Two unmet ones are two changes.
            match unmet.as_slice() {
                [one] => meeting(judge, one),
                _ => Vec::new(),
            }
        }
        Constraint::Logical { operands, .. } => {
            operands.iter().flat_map(|operand| meeting(judge, operand)).collect()
        }
        Constraint::Compare { operand, operator, right } => {
            let own = judge.values(operand);
            of_comparison(operand, *operator, right, own.as_deref().unwrap_or_default(), true)
        }
    }
}

/// [`meeting`], whether or not the constraint is met now.
fn meeting_anew(judge: &Judge<'_>, constraint: &Constraint) -> Vec<Change> {
    match constraint {
        Constraint::Logical { operands, .. } => {
            operands.iter().flat_map(|operand| meeting_anew(judge, operand)).collect()
        }
        other => meeting(judge, other),
    }
}

/// The left operands of a constraint, at any depth.
fn operands(constraint: &Constraint) -> Vec<&str> {
    match constraint {
        Constraint::Compare { operand, .. } => vec![operand],
        Constraint::Logical { operands: inner, .. } => inner.iter().flat_map(operands).collect(),
        Constraint::Unreadable(_) => Vec::new(),
    }
}

/// Changes of what is asked that might make a constraint of a prohibition false.
fn escaping(constraint: &Constraint) -> Vec<Change> {
    match constraint {
        Constraint::Unreadable(_) => Vec::new(),
        Constraint::Logical { operands, .. } => operands.iter().flat_map(escaping).collect(),
        Constraint::Compare { operand, operator, right } => {
            of_comparison(operand, *operator, right, &[], false)
        }
    }
}

/// Values for which a comparison might hold, or not hold.
fn of_comparison(
    operand: &str,
    operator: Operator,
    right: &[Value],
    own: &[Value],
    holds: bool,
) -> Vec<Change> {
    let single = |values: &[Value]| values.iter().map(|value| vec![value.clone()]).collect::<Vec<_>>();
    let beside = |up: bool| right.iter().filter_map(move |value| next_to(value, up)).map(|value| vec![value]);
    let values: Vec<Vec<Value>> = match (operator, holds) {
        (Operator::Eq | Operator::IsAnyOf, true) => {
            // A value that is right already is the smallest change.
            let kept: Vec<Value> = own.iter().filter(|value| right.contains(value)).cloned().collect();
            single(&kept).into_iter().chain(single(right)).collect()
        }
        (Operator::IsAllOf, true) => vec![right.to_vec()],
        (Operator::Lteq | Operator::Gteq, true) | (Operator::Lt | Operator::Gt, false) => single(right),
        (Operator::Lt, true) | (Operator::Gteq, false) => beside(false).collect(),
        (Operator::Gt, true) | (Operator::Lteq, false) => beside(true).collect(),
        (Operator::Neq | Operator::IsNoneOf, true) => {
            vec![own.iter().filter(|value| !right.contains(value)).cloned().collect()]
        }
        (Operator::Neq | Operator::IsNoneOf, false) => single(right),
        _ => Vec::new(),
    };
    let values = values.into_iter().filter(|values| !values.is_empty());
    match operand {
        odrl::DATE_TIME => values
            .filter_map(|values| match values.first()?.read(Kind::Instant)? {
                Typed::Instant(instant) => Some(Change::Time(instant)),
                _ => None,
            })
            .collect(),
        odrl::COUNT | odrld::DELEGATION_DEPTH => Vec::new(),
        operand => match local_name(operand) {
            None | Some("dateTime" | "count" | "delegationDepth") => Vec::new(),
            Some(name) => values.map(|values| Change::Attribute(name.to_owned(), values)).collect(),
        },
    }
}

/// The next integer or second.
fn next_to(value: &Value, up: bool) -> Option<Value> {
    let Value::Literal { text, datatype, language } = value else { return None };
    let step = if up { 1 } else { -1 };
    let text = match value.kind()? {
        Kind::Integer => text.parse::<i64>().ok()?.checked_add(step)?.to_string(),
        Kind::Instant => match value.read(Kind::Instant)? {
            Typed::Instant(instant) => instant_text(instant.checked_add_signed(TimeDelta::seconds(step))?),
            _ => return None,
        },
        _ => return None,
    };
    Some(Value::Literal { text, datatype: datatype.clone(), language: language.clone() })
}

fn term(value: &Value) -> Option<Term> {
    Some(match value {
        Value::Iri(iri) => NamedNode::new(iri).ok()?.into(),
        Value::Literal { text, language: Some(language), .. } => {
            Literal::new_language_tagged_literal(text, language).ok()?.into()
        }
        Value::Literal { text, datatype, .. } => {
            Literal::new_typed_literal(text, NamedNode::new(datatype).ok()?).into()
        }
        Value::Unreadable => return None,
    })
}

fn in_condition(change: &Change) -> String {
    match change {
        Change::Attribute(name, values) => format!("if {name} were {}", Words(values)),
        Change::Time(instant) => format!("if it were {}", instant_text(*instant)),
        Change::Action(iri) => format!("if the action were {}", short(iri)),
        Change::Target(iri) => format!("if the target were {iri}"),
        Change::Rule(hop, _, _, words) => format!("if this permission of hop {hop} {words}"),
    }
}
