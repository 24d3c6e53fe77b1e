//! One policy against one request, in three-valued logic (`mandate.md` 7).

use super::action;
use super::facts::{Facts, NONE};
use super::model::{Constraint, Logic, Named, Operator, Policy, Rule, local_name};
use super::value::{Kind, Typed, Value, parse_instant};
use crate::limits::Limits;
use crate::message::target::is_normal;
use crate::request::Instant;
use crate::vocab::{odrl, odrld};
use chrono::TimeDelta;
use oxrdf::Term;
use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Kleene's three values. The order is the order of truth: `and` is the least, `or` the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    False,
    Undetermined,
    True,
}

impl Truth {
    pub(super) fn of(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }

    fn of_known(value: Option<bool>) -> Self {
        value.map_or(Self::Undetermined, Self::of)
    }

    fn all(values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().min().unwrap_or(Self::True)
    }

    fn any(values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().max().unwrap_or(Self::False)
    }

    fn exactly_one(values: impl IntoIterator<Item = Self>) -> Self {
        let (mut holding, mut unknown) = (0usize, false);
        for value in values {
            match value {
                Self::True => holding += 1,
                Self::Undetermined => unknown = true,
                Self::False => {}
            }
        }
        match (holding, unknown) {
            (2.., _) => Self::False,
            (_, true) => Self::Undetermined,
            (1, false) => Self::True,
            (_, false) => Self::False,
        }
    }

    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::Undetermined => Self::Undetermined,
            Self::False => Self::True,
        }
    }
}

/// Where `odrl:count` comes from.
#[derive(Debug, Clone)]
pub(crate) enum CountSource {
    /// The ledger's snapshot: exercises so far, by [`Policy::count_key`], and those that come earlier in this message.
    Ledger { counts: Arc<BTreeMap<String, u64>>, earlier: u64 },
    /// The request's attributes, as in the vector operations.
    Attributes,
}

/// The work that may still be done for one message, shared by all its questions. When it is spent, everything is
/// undetermined.
#[derive(Debug, Clone)]
pub(crate) struct Work(Rc<Cell<usize>>);

impl Work {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Rc::new(Cell::new(limits.policy_steps)))
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }

    /// Whether the work may be done.
    pub(super) fn spend(&self, steps: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(steps));
        !self.is_spent()
    }
}

/// What is asked of a policy or chain: an agent, an action, a target, attributes, and what is known at the instant.
#[derive(Debug, Clone)]
pub(crate) struct OdrlRequest {
    pub(crate) agent: String,
    pub(crate) action: String,
    pub(crate) target: String,
    /// Values by local name of the left operand.
    attributes: BTreeMap<String, Vec<Value>>,
    instant: Instant,
    counts: CountSource,
    facts: Arc<Facts>,
    work: Work,
    target_is_normal: bool,
    /// Where the target's `?` and `#` stand: it is a query or fragment of what is before each.
    resource_ends: Vec<usize>,
    /// The instant, as a value of `odrl:dateTime`.
    now: Value,
    /// A caller said that it is another time than it is.
    time_disputed: Option<String>,
}

impl OdrlRequest {
    /// A request at `instant`. A `dateTime` among the attributes is never used; one that is further than `skew` from
    /// the instant, or is none, denies.
    pub(crate) fn new(
        (agent, action, target): (&str, &str, &str),
        attributes: &BTreeMap<String, Vec<Term>>,
        instant: Instant,
        skew: TimeDelta,
        counts: CountSource,
        facts: Arc<Facts>,
        work: Work,
    ) -> Self {
        let mut attributes: BTreeMap<String, Vec<Value>> = attributes
            .iter()
            .map(|(name, values)| {
                let mut values: Vec<Value> = values.iter().map(Value::of_term).collect();
                values.sort();
                values.dedup();
                (name.clone(), values)
            })
            .collect();
        let claimed = attributes.remove("dateTime").unwrap_or_default();
        let disputes = |value: &&Value| {
            let claimed = match value {
                Value::Literal { text, .. } => parse_instant(text),
                _ => None,
            };
            claimed.is_none_or(|claimed| (claimed - instant).abs() > skew)
        };
        let time_disputed = claimed.iter().find(disputes).map(ToString::to_string);
        Self {
            agent: agent.to_owned(),
            action: action.to_owned(),
            target: target.to_owned(),
            attributes,
            instant,
            counts,
            facts,
            work,
            target_is_normal: is_normal(target),
            resource_ends: target.match_indices(['?', '#']).map(|(end, _)| end).collect(),
            now: Value::instant(instant),
            time_disputed,
        }
    }

    /// The value of a claimed `dateTime` that contradicts the evaluation instant.
    pub(super) fn time_disputed(&self) -> Option<&str> {
        self.time_disputed.as_deref()
    }

    pub(super) fn instant(&self) -> Instant {
        self.instant
    }

    /// What the target is a query or fragment of: a prohibition covers them with their resource, whether it names that
    /// or a collection that holds it.
    fn resources(&self) -> impl Iterator<Item = &str> {
        self.resource_ends.iter().filter_map(|end| self.target.get(..*end))
    }

    #[cfg(test)]
    pub(super) fn without(&self, name: &str) -> Self {
        let mut less = self.clone();
        less.attributes.remove(name);
        less
    }
}

/// One question to one policy. The chain's evaluator asks several about one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) request: &'a OdrlRequest,
    pub(super) agent: &'a str,
    pub(super) action: &'a str,
    /// `odrld:delegationDepth`: only the chain's evaluator knows it.
    pub(super) depth: Option<u64>,
    /// The policy's issuer is the root principal, whose word about its own collections counts.
    pub(super) by_root: bool,
}

/// How far a rule matches, in the order in which a person would look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) action: Truth,
    pub(super) target: Truth,
    pub(super) assignee: Truth,
    pub(super) constraints: Truth,
    known: bool,
}

impl Match {
    pub(super) fn truth(&self) -> Truth {
        if !self.known {
            return Truth::Undetermined;
        }
        Truth::all([self.action, self.target, self.assignee, self.constraints])
    }

    /// How many aspects hold before the first that does not: the nearest miss is the smallest change.
    pub(super) fn progress(&self) -> usize {
        [self.action, self.target, self.assignee, self.constraints]
            .iter()
            .take_while(|truth| **truth == Truth::True)
            .count()
    }
}

/// A permission or a prohibition: they read actions, targets and several values differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleKind {
    Permission,
    Prohibition,
}

/// A question to a policy with the facts that its rules of one kind may use.
pub(super) struct Judge<'a> {
    policy: &'a Policy,
    question: Question<'a>,
    kind: RuleKind,
    own_facts: &'a Facts,
}

impl<'a> Judge<'a> {
    pub(super) fn new(policy: &'a Policy, question: Question<'a>, kind: RuleKind) -> Self {
        // A prohibition may be widened by its own document; a permission only where the root principal wrote it.
        let own_facts = if kind == RuleKind::Prohibition || question.by_root { &policy.parts } else { &NONE };
        Self { policy, question, kind, own_facts }
    }

    /// The policy's permissions that match.
    pub(super) fn permissions(policy: &'a Policy, question: Question<'a>) -> Vec<&'a Rule> {
        let judge = Self::new(policy, question, RuleKind::Permission);
        policy.permissions.iter().filter(|rule| judge.rule(rule).truth() == Truth::True).collect()
    }

    /// The first of the policy's prohibitions that matches: it holds, or it cannot be told that it does not.
    pub(super) fn prohibition(policy: &'a Policy, question: Question<'a>) -> Option<&'a Rule> {
        let judge = Self::new(policy, question, RuleKind::Prohibition);
        policy.prohibitions.iter().find(|rule| judge.rule(rule).truth() != Truth::False)
    }

    pub(super) fn rule(&self, rule: &Rule) -> Match {
        let names = rule.actions.len() + rule.targets.len() + rule.assignees.len();
        let known = self.question.request.work.spend(1 + names) && rule.undetermined.is_none();
        Match {
            action: Truth::any(rule.actions.iter().map(|action| self.action(action))),
            target: self.any_or_all(&rule.targets, |target| self.target(target)),
            assignee: self.any_or_all(&rule.assignees, |assignee| self.assignee(assignee)),
            constraints: self.constraints(&rule.constraints),
            known,
        }
    }

    fn any_or_all(&self, names: &[Named], judge: impl Fn(&Named) -> Truth) -> Truth {
        if names.is_empty() { Truth::True } else { Truth::any(names.iter().map(judge)) }
    }

    fn action(&self, named: &Named) -> Truth {
        let Named::Iri { iri, refinements, .. } = named else { return Truth::Undetermined };
        let meets = match self.kind {
            RuleKind::Permission => action::permits(iri, self.question.action),
            RuleKind::Prohibition => action::prohibits(iri, self.question.action),
        };
        Truth::all([Truth::of(meets), self.constraints(refinements)])
    }

    fn target(&self, named: &Named) -> Truth {
        let Named::Iri { normal, .. } = named else { return Truth::Undetermined };
        let request = self.question.request;
        if !normal || !request.target_is_normal {
            return Truth::Undetermined;
        }
        let requested = request.target.as_str();
        let whole = self.member(named, requested);
        let truth = match self.kind {
            RuleKind::Permission => whole,
            RuleKind::Prohibition => {
                Truth::any(request.resources().map(|resource| self.member(named, resource)).chain([whole]))
            }
        };
        self.refined(named, truth)
    }

    fn assignee(&self, named: &Named) -> Truth {
        self.refined(named, self.member(named, self.question.agent))
    }

    fn refined(&self, named: &Named, truth: Truth) -> Truth {
        match named {
            Named::Iri { refinements, .. } => Truth::all([truth, self.constraints(refinements)]),
            Named::Unreadable => Truth::Undetermined,
        }
    }

    /// Whether `thing` is what is named, or a member of the collection that is named.
    fn member(&self, named: &Named, thing: &str) -> Truth {
        let Named::Iri { iri, collection, .. } = named else { return Truth::Undetermined };
        if iri == thing {
            return Truth::True;
        }
        let facts = [self.question.request.facts.as_ref(), self.own_facts];
        let known = facts.iter().any(|facts| facts.has_members(iri));
        if !known {
            // Of a collection without a known member we know no stranger either.
            return if *collection { Truth::Undetermined } else { Truth::False };
        }
        // Its members are listed: whoever is in no fact is no member.
        if facts.iter().any(|facts| facts.knows(thing)) {
            Facts::is_part(&facts, thing, iri, &self.question.request.work)
        } else {
            Truth::False
        }
    }

    pub(super) fn constraints(&self, constraints: &[Constraint]) -> Truth {
        Truth::all(constraints.iter().map(|constraint| self.constraint(constraint)))
    }

    pub(super) fn constraint(&self, constraint: &Constraint) -> Truth {
        if !self.question.request.work.spend(1) {
            return Truth::Undetermined;
        }
        match constraint {
            Constraint::Unreadable(_) => Truth::Undetermined,
            Constraint::Compare { operand, operator, right } => self.comparison(operand, *operator, right),
            Constraint::Logical { operands, .. } if operands.is_empty() => Truth::Undetermined,
            Constraint::Logical { logic, operands } => {
                let truths = operands.iter().map(|operand| self.constraint(operand));
                match logic {
                    Logic::And | Logic::AndSequence => Truth::all(truths),
                    Logic::Or => Truth::any(truths),
                    // With several values, one of them alone may tip the balance either way.
                    Logic::Xone if operands.iter().any(|operand| self.has_several_values(operand)) => {
                        Truth::Undetermined
                    }
                    Logic::Xone => Truth::exactly_one(truths),
                }
            }
        }
    }

    fn has_several_values(&self, constraint: &Constraint) -> bool {
        match constraint {
            Constraint::Compare { operand, .. } => {
                self.values(operand).is_some_and(|values| values.len() > 1)
            }
            Constraint::Logical { operands, .. } => {
                operands.iter().any(|inner| self.has_several_values(inner))
            }
            Constraint::Unreadable(_) => false,
        }
    }

    /// Of several values all must satisfy a permission, and any one triggers a prohibition.
    fn comparison(&self, operand: &str, operator: Operator, right: &[Value]) -> Truth {
        let Some(values) = self.values(operand) else { return Truth::Undetermined };
        if values.is_empty() || right.is_empty() {
            return Truth::Undetermined;
        }
        if !self.question.request.work.spend(values.len().saturating_mul(right.len())) {
            return Truth::Undetermined;
        }
        let whole = self.compare(operand, operator, &values, right);
        if self.kind == RuleKind::Permission || values.len() < 2 {
            return whole;
        }
        let single =
            values.iter().map(|value| self.compare(operand, operator, std::slice::from_ref(value), right));
        Truth::any(single.chain([whole]))
    }

    /// The request's values for a left operand; `None` where it has no source.
    pub(super) fn values(&self, operand: &str) -> Option<Cow<'a, [Value]>> {
        let request = self.question.request;
        match operand {
            odrl::DATE_TIME => Some(Cow::Borrowed(std::slice::from_ref(&request.now))),
            odrld::DELEGATION_DEPTH => Some(Cow::Owned(vec![Value::integer(self.question.depth?)])),
            odrl::COUNT => match &request.counts {
                // The exercise that is asked for counts: `lteq 1` is once.
                CountSource::Ledger { counts, earlier } => {
                    let before = counts.get(&self.policy.count_key()).copied().unwrap_or_default();
                    Some(Cow::Owned(vec![Value::integer(before.checked_add(*earlier)?.checked_add(1)?)]))
                }
                CountSource::Attributes => self.attribute("count"),
            },
            operand => match local_name(operand)? {
                "dateTime" | "count" | "delegationDepth" => None,
                name => self.attribute(name),
            },
        }
    }

    fn attribute(&self, name: &str) -> Option<Cow<'a, [Value]>> {
        self.question.request.attributes.get(name).map(|values| Cow::Borrowed(values.as_slice()))
    }

    fn compare(&self, operand: &str, operator: Operator, values: &[Value], right: &[Value]) -> Truth {
        #[cfg(test)]
        if operator == Operator::Eq && super::testing::eq_is_turned() {
            return self.compare_as_it_is(operand, operator, values, right).not();
        }
        self.compare_as_it_is(operand, operator, values, right)
    }

    fn compare_as_it_is(
        &self,
        operand: &str,
        operator: Operator,
        values: &[Value],
        right: &[Value],
    ) -> Truth {
        let equal = |value: &Value, right: &Value| match pair(operand, value, right) {
            Some((value, right)) => Truth::of_known(value.equals(&right)),
            None => Truth::Undetermined,
        };
        let contained = |value: &Value| Truth::any(right.iter().map(|right| equal(value, right)));
        match operator {
            Operator::Eq => match right {
                [right] => Truth::all(values.iter().map(|value| equal(value, right))),
                _ => Truth::Undetermined,
            },
            Operator::Lt => ordered(operand, values, right, Ordering::is_lt),
            Operator::Lteq => ordered(operand, values, right, Ordering::is_le),
            Operator::Gt => ordered(operand, values, right, Ordering::is_gt),
            Operator::Gteq => ordered(operand, values, right, Ordering::is_ge),
            Operator::Neq | Operator::IsNoneOf => Truth::any(values.iter().map(contained)).not(),
            Operator::IsAnyOf => Truth::all(values.iter().map(contained)),
            Operator::IsAllOf => Truth::all(
                right.iter().map(|right| Truth::any(values.iter().map(|value| equal(value, right)))),
            ),
            Operator::IsA => self.related(values, right, |facts, value, right| facts.is_a(value, right)),
            Operator::IsPartOf => {
                let work = &self.question.request.work;
                self.related(values, right, |facts, value, right| {
                    Facts::is_part(&[facts], value, right, work)
                })
            }
            Operator::HasPart => {
                let work = &self.question.request.work;
                self.related(values, right, |facts, value, right| {
                    Facts::is_part(&[facts], right, value, work)
                })
            }
        }
    }

    /// A relation of the operator's store between every value and one right operand.
    fn related(
        &self,
        values: &[Value],
        right: &[Value],
        relation: impl Fn(&Facts, &str, &str) -> Truth,
    ) -> Truth {
        let [Value::Iri(right)] = right else { return Truth::Undetermined };
        Truth::all(values.iter().map(|value| match value.read(Kind::Iri) {
            Some(Typed::Iri(value)) => relation(&self.question.request.facts, &value, right),
            _ => Truth::Undetermined,
        }))
    }
}

/// Both values as the type of the right operand, which is fixed for `dateTime`, `count` and `delegationDepth`.
fn pair(operand: &str, value: &Value, right: &Value) -> Option<(Typed, Typed)> {
    let kind = right.kind()?;
    let fixed = match operand {
        odrl::DATE_TIME => kind == Kind::Instant,
        odrl::COUNT | odrld::DELEGATION_DEPTH => kind == Kind::Integer,
        _ => true,
    };
    if !fixed {
        return None;
    }
    Some((value.read(kind)?, right.read(kind)?))
}

/// Every value in the order `holds` to the one right operand.
fn ordered(operand: &str, values: &[Value], right: &[Value], holds: fn(Ordering) -> bool) -> Truth {
    let [right] = right else { return Truth::Undetermined };
    Truth::all(values.iter().map(|value| {
        let order = pair(operand, value, right).and_then(|(value, right)| value.order(&right));
        Truth::of_known(order.map(holds))
    }))
}

/// The last instant at which no `odrl:dateTime` comparison among `constraints` has changed its value since `now`.
pub(super) fn unchanged_until<'c>(
    constraints: impl IntoIterator<Item = &'c Constraint>,
    now: Instant,
) -> Instant {
    let mut open: Vec<&Constraint> = constraints.into_iter().collect();
    let mut last = Instant::MAX_UTC;
    while let Some(constraint) = open.pop() {
        match constraint {
            Constraint::Logical { operands, .. } => open.extend(operands),
            Constraint::Compare { operand, operator, right } if operand == odrl::DATE_TIME => {
                for bound in right {
                    if let (Some(Kind::Instant), Some(Typed::Instant(bound))) =
                        (bound.kind(), bound.read(Kind::Instant))
                    {
                        last = last.min(last_before_change(*operator, bound, now));
                    }
                }
            }
            Constraint::Compare { .. } | Constraint::Unreadable(_) => {}
        }
    }
    last
}

/// For one comparison with `bound`: the last instant from `now` on with the value that it has now.
fn last_before_change(operator: Operator, bound: Instant, now: Instant) -> Instant {
    let before = bound.checked_sub_signed(TimeDelta::nanoseconds(1)).unwrap_or(bound);
    match operator {
        _ if bound < now => Instant::MAX_UTC,
        Operator::Lteq | Operator::Gt => bound,
        Operator::Lt | Operator::Gteq if bound == now => Instant::MAX_UTC,
        Operator::Lt | Operator::Gteq => before,
        _ if bound == now => bound,
        _ => before,
    }
}
