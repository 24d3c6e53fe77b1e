//! Whether a delegated policy asks for no more than its parent gives (`mandate.md` 6), decided without a request.
//!
//! What is shown here holds for every request: whatever the child permits to its delegate, the parent permits to the
//! child's assigner, and lets it pass on. Where that cannot be shown, it is not so: forms that are not compared here are
//! an excess like any other. Facts of a server's policy store are not known here, and neither is how often the parent
//! was exercised by others: both can only make a server refuse more.

use super::action;
use super::hops::{delegates, in_words, is_depth_bound, short};
use super::implication::{Steps, excluded, implied, is_readable};
use super::model::{Constraint, Duty, Named, Operator, Policy, Rule, local_name};
use super::value::{Kind, Value};
use crate::message::target::is_normal;
use crate::vocab::{odrl, odrld};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

/// How many pairs of an action and a target a policy may permit to be compared.
const CASES: usize = 4096;
/// The work on one comparison: rules and names looked at, and values compared. A parent is anybody's to write.
const STEPS: usize = 4_000_000;
/// So many excesses are named; one is enough to refuse.
const NAMED: usize = 256;

/// One thing in which a delegated mandate asks for more than its parent gives, or cannot be shown not to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Excess {
    pub(crate) what: ExcessKind,
    /// What is asked for, in words.
    pub(crate) asked: String,
    /// What the parent gives, in words.
    pub(crate) given: String,
}

/// The kinds of excess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExcessKind {
    /// The parent or the child is no link of a chain.
    Form,
    /// A party is another than the chain needs.
    Party,
    /// No permission of the parent covers the action.
    Action,
    /// The parent permits the action on other targets only.
    Target,
    /// The parent permits it to another party only.
    Assignee,
    /// A constraint of the parent is dropped or widened.
    Constraint,
    /// Something is of a form that cannot be compared.
    Incomparable,
    /// The parent prohibits it, or cannot be shown not to.
    Prohibited,
    /// A duty of the parent is dropped.
    Duty,
    /// The parent does not let its delegate pass it on.
    GrantUse,
    /// It would reach deeper than the parent lets it.
    Depth,
    /// The parent lets another policy follow it only.
    NextPolicy,
    /// It would be good before or after the parent is.
    Life,
}

impl Excess {
    pub(crate) fn new(what: ExcessKind, asked: impl Into<String>, given: impl Into<String>) -> Self {
        Self { what, asked: asked.into(), given: given.into() }
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            ExcessKind::Form => "not a link of a chain",
            ExcessKind::Party => "another party",
            ExcessKind::Action => "action not covered",
            ExcessKind::Target => "target outside",
            ExcessKind::Assignee => "permitted to another party",
            ExcessKind::Constraint => "constraint dropped or widened",
            ExcessKind::Incomparable => "cannot be compared, so it is refused",
            ExcessKind::Prohibited => "prohibited",
            ExcessKind::Duty => "duty dropped",
            ExcessKind::GrantUse => "no permission to pass it on (odrl:grantUse)",
            ExcessKind::Depth => "delegation depth exhausted",
            ExcessKind::NextPolicy => "another policy must follow (odrl:nextPolicy)",
            ExcessKind::Life => "longer life",
        };
        write!(f, "{what}: asked {}; the parent gives {}", self.asked, self.given)
    }
}

/// A parent's policy, what its credential narrows it to, and the policy that is to be delegated under it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delegation<'a> {
    pub(crate) parent: &'a Policy,
    /// `svc:action` of the parent's credential.
    pub(crate) actions: &'a [String],
    /// `svc:target` of the parent's credential.
    pub(crate) targets: &'a [String],
    pub(crate) child: &'a Policy,
    /// The parent's delegate, who signs the child.
    pub(crate) delegator: &'a str,
    /// The child's delegate.
    pub(crate) delegate: &'a str,
}

/// One action on one target (or any) that a permission of the child permits, and what then holds.
struct Case<'c> {
    rule: &'c Rule,
    action: &'c str,
    target: Option<&'c str>,
    /// The target is a collection, so it stands for members too.
    collection: bool,
    /// All of these hold.
    holding: Vec<&'c Constraint>,
    steps: &'c Steps,
}

impl Case<'_> {
    /// Whether a constraint of a permission follows from what holds.
    fn implies(&self, wanted: &Constraint) -> bool {
        implied(&self.holding, wanted, self.steps)
    }

    /// Whether a constraint of a prohibition is false where this holds.
    fn excludes(&self, wanted: &Constraint) -> bool {
        excluded(&self.holding, wanted, self.steps)
    }

    /// Whether a target of the parent could be this one, hold it, or be held by it.
    fn is_reached(&self, concerns: impl Fn(&str) -> bool) -> bool {
        self.collection || self.target.is_none_or(concerns)
    }

    fn words(&self) -> String {
        match self.target {
            Some(target) => format!("{} on {target}", short(self.action)),
            None => format!("{} on every target", short(self.action)),
        }
    }
}

impl Delegation<'_> {
    /// Everything in which the child asks for more than the parent gives; empty where it is shown that it does not.
    pub(crate) fn excesses(&self) -> BTreeSet<Excess> {
        let mut excesses: BTreeSet<Excess> = self.form().into_iter().collect();
        let mut room = CASES;
        let steps = Steps::new(STEPS);
        for rule in &self.child.permissions {
            match self.cases(rule, &mut room, &steps) {
                Err(excess) => {
                    excesses.insert(excess);
                }
                Ok(cases) => {
                    for case in &cases {
                        if excesses.len() < NAMED && !steps.is_spent() {
                            self.case(case, &mut excesses);
                        }
                    }
                }
            }
        }
        // What was not looked at was not shown.
        if steps.is_spent() {
            let given = "less to compare";
            excesses.insert(Excess::new(ExcessKind::Incomparable, "more than can be compared", given));
        }
        excesses
    }

    /// What every link of a chain needs.
    fn form(&self) -> Vec<Excess> {
        let (parent, child) = (self.parent, self.child);
        let mut excesses = Vec::new();
        for (policy, whose) in [(parent, "the parent"), (child, "the child")] {
            if let Some(why) = &policy.unusable {
                excesses.push(Excess::new(
                    ExcessKind::Form,
                    format!("{whose} cannot be used: {why}"),
                    "nothing",
                ));
            }
        }
        if !child.agreement {
            excesses.push(Excess::new(
                ExcessKind::Form,
                "a policy that is no odrl:Agreement",
                "an agreement",
            ));
        }
        if child.id() == parent.id() {
            excesses.push(Excess::new(ExcessKind::Form, "a policy with the parent's id", "an id of its own"));
        }
        if child.permissions.is_empty() {
            excesses.push(Excess::new(ExcessKind::Form, "a policy that permits nothing", "something"));
        }
        let parties = [
            ("delegatedUnder", child.delegated_under(), parent.id()),
            ("assigner", child.assigner(), self.delegator),
            ("assignee", child.assignee(), self.delegate),
        ];
        for (name, seen, expected) in parties {
            if seen != Some(expected) {
                excesses.push(Excess::new(
                    ExcessKind::Party,
                    format!("{name} {}", seen.unwrap_or("nobody")),
                    format!("{name} {expected}"),
                ));
            }
        }
        excesses
    }

    /// Every action on every target of a permission. A rule that cannot be read or compared permits nothing that could be
    /// shown to be given.
    fn cases<'c>(&self, rule: &'c Rule, room: &mut usize, steps: &'c Steps) -> Result<Vec<Case<'c>>, Excess> {
        let refuse =
            |why: &str| Err(Excess::new(ExcessKind::Incomparable, in_words("a permission", rule), why));
        if let Some(why) = &rule.undetermined {
            return refuse(why);
        }
        if let Some(why) = rule.all_constraints().find(|constraint| !is_readable(constraint)) {
            return refuse(&why.to_string());
        }
        let count = rule.actions.len().saturating_mul(rule.targets.len().max(1));
        match room.checked_sub(count) {
            Some(left) => *room = left,
            None => return refuse("fewer actions and targets"),
        }
        let mut cases = Vec::new();
        for named in &rule.actions {
            let Named::Iri { iri: action, refinements: of_action, .. } = named else {
                return refuse("an action that can be read");
            };
            let mut add = |target: Option<&'c str>, collection: bool, of_target: &'c [Constraint]| {
                // The parent is asked about another depth than the child.
                let holding = rule
                    .constraints
                    .iter()
                    .chain(of_action)
                    .chain(of_target)
                    .filter(|constraint| !constraint.mentions(odrld::DELEGATION_DEPTH))
                    .collect();
                cases.push(Case { rule, action, target, collection, holding, steps });
            };
            if rule.targets.is_empty() {
                add(None, false, &[]);
            }
            for target in &rule.targets {
                match target {
                    Named::Iri { iri, collection, refinements, .. } if is_normal(iri) => {
                        add(Some(iri), *collection || self.is_whole(iri), refinements);
                    }
                    Named::Iri { .. } => return refuse("a target in normal form"),
                    Named::Unreadable => return refuse("a target that can be read"),
                }
            }
        }
        Ok(cases)
    }

    /// Whether either document says of something that it is a part of this.
    fn is_whole(&self, iri: &str) -> bool {
        self.parent.parts.has_members(iri) || self.child.parts.has_members(iri)
    }

    fn case(&self, case: &Case<'_>, excesses: &mut BTreeSet<Excess>) {
        let mut depth = 1;
        if case.action == odrl::GRANT_USE {
            // A permission to pass it on is given where the parent's reaches deeper by one hop.
            match own_depth(case.rule) {
                Ok(own) => depth = own.saturating_add(1),
                Err(excess) => {
                    excesses.insert(excess);
                }
            }
        } else {
            excesses.extend(self.permitted(case));
            excesses.extend(self.credential_covers(case));
            self.duties(case, excesses);
        }
        // The child may end a chain of any of these lengths, and other permissions of the parent may reach each.
        excesses.extend((1..=depth).find_map(|depth| self.passed_on(case, depth)));
        for prohibition in &self.parent.prohibitions {
            excesses.extend(self.prohibited(prohibition, case));
        }
    }

    /// A permission of the parent that holds for the delegator whenever the case holds; else why the nearest does not.
    fn permitted(&self, case: &Case<'_>) -> Option<Excess> {
        let fits = self.parent.permissions.iter().map(|rule| self.fit(rule, case, case.action, false));
        nearest(fits)
            .unwrap_or_else(|| Some(Excess::new(ExcessKind::Action, case.words(), "no permission at all")))
    }

    /// A `grantUse` permission of the parent that holds whenever the case holds, names the delegator and reaches this
    /// deep; else why the nearest does not.
    fn passed_on(&self, case: &Case<'_>, depth: usize) -> Option<Excess> {
        let grants = |rule: &&Rule| names_action(rule, odrl::GRANT_USE);
        let fits = self.parent.permissions.iter().filter(grants).map(|rule| {
            self.fit(rule, case, odrl::GRANT_USE, true)?;
            self.reaches(rule, case, depth).map_or(Ok(()), |excess| Err((5, excess)))
        });
        nearest(fits).unwrap_or_else(|| {
            Some(Excess::new(ExcessKind::GrantUse, format!("passing on {}", case.words()), "no grantUse"))
        })
    }

    fn reaches(&self, rule: &Rule, case: &Case<'_>, depth: usize) -> Option<Excess> {
        if let Err(denial) = delegates(rule, &self.parent.obligations, self.delegator, depth, self.child.id())
        {
            let what = match denial.constraint.as_deref() {
                Some("nextPolicy") => ExcessKind::NextPolicy,
                Some(constraint) if constraint.starts_with("assignee") => ExcessKind::Assignee,
                _ => ExcessKind::Depth,
            };
            let asked = match what {
                ExcessKind::NextPolicy => self.child.id().to_owned(),
                ExcessKind::Assignee => format!("passing on by {}", self.delegator),
                _ => format!("passing on {} {depth} deep", case.words()),
            };
            let expected = denial.expected.map(|expected| format!(" ({expected})")).unwrap_or_default();
            return Some(Excess::new(what, asked, format!("{}{expected}", denial.detail)));
        }
        let bound = rule.constraints.iter().find(|bound| is_depth_bound(bound) && !depth_holds(bound, depth));
        bound.map(|bound| {
            Excess::new(
                ExcessKind::Depth,
                format!("passing on {} {depth} deep", case.words()),
                bound.to_string(),
            )
        })
    }

    /// Whether a permission of the parent holds for `action` by the delegator whenever the case holds. An error counts
    /// the aspects that do hold.
    fn fit(
        &self,
        rule: &Rule,
        case: &Case<'_>,
        asked: &str,
        passing_on: bool,
    ) -> Result<(), (usize, Excess)> {
        let names = rule.actions.len() + rule.targets.len() + rule.assignees.len();
        if !case.steps.spend(1 + names) {
            return Err((0, Excess::new(ExcessKind::Incomparable, case.words(), "less to compare")));
        }
        if let Some(why) = &rule.undetermined {
            return Err((0, Excess::new(ExcessKind::Incomparable, case.words(), why.clone())));
        }
        let aspect = |place: usize, kind, names: &[Named], meets: &dyn Fn(&str) -> bool, asked: String| {
            let meeting: Vec<&Named> =
                names.iter().filter(|named| matches!(named, Named::Iri { iri, .. } if meets(iri))).collect();
            if meeting.iter().any(|named| unmet_refinement(named, case).is_none()) {
                return Ok(());
            }
            Err((
                place,
                match meeting.first().and_then(|named| unmet_refinement(named, case)) {
                    Some(refinement) => self.dropped(case, refinement),
                    None => Excess::new(kind, asked, super::hops::names(names)),
                },
            ))
        };
        aspect(0, ExcessKind::Action, &rule.actions, &|iri| action::permits(iri, asked), case.words())?;
        if !rule.targets.is_empty() {
            let meets = |iri: &str| Some(iri) == case.target && is_normal(iri);
            aspect(1, ExcessKind::Target, &rule.targets, &meets, case.words())?;
        }
        if !rule.assignees.is_empty() {
            let asked = format!("{} by {}", case.words(), self.delegator);
            aspect(2, ExcessKind::Assignee, &rule.assignees, &|iri| iri == self.delegator, asked)?;
        }
        let missing = rule
            .constraints
            .iter()
            .filter(|constraint| !(passing_on && is_depth_bound(constraint)))
            .find(|constraint| !case.implies(constraint));
        missing.map_or(Ok(()), |constraint| Err((3, self.dropped(case, constraint))))
    }

    fn dropped(&self, case: &Case<'_>, constraint: &Constraint) -> Excess {
        let own: Vec<String> = case
            .holding
            .iter()
            .filter(|own| same_operand(own, constraint))
            .map(ToString::to_string)
            .collect();
        let own = if own.is_empty() { "no such constraint".to_owned() } else { own.join(" and ") };
        Excess::new(
            if is_readable(constraint) { ExcessKind::Constraint } else { ExcessKind::Incomparable },
            format!("{} with {own}", case.words()),
            constraint.to_string(),
        )
    }

    /// `svc:action` and `svc:target` of the parent's credential.
    fn credential_covers(&self, case: &Case<'_>) -> Option<Excess> {
        let covered = |name: &String| action::permits(&action::of_name(name), case.action);
        if !self.actions.is_empty() && !self.actions.iter().any(covered) {
            let given = format!("{} (svc:action of its credential)", self.actions.join(", "));
            return Some(Excess::new(ExcessKind::Action, case.words(), given));
        }
        let named = |target: &String| Some(target.as_str()) == case.target;
        if !self.targets.is_empty() && !self.targets.iter().any(named) {
            let given = format!("{} (svc:target of its credential)", self.targets.join(", "));
            return Some(Excess::new(ExcessKind::Target, case.words(), given));
        }
        None
    }

    /// Every duty that the parent could bring along for the case is one of the child's too.
    fn duties(&self, case: &Case<'_>, excesses: &mut BTreeSet<Excess>) {
        let parent = self.parent;
        let of_rules = parent.permissions.iter().filter(|rule| self.overlaps(rule, case));
        let duties = of_rules.flat_map(|rule| &rule.duties).chain(&parent.obligations);
        // nextPolicy speaks of the passing on, and is judged there.
        for duty in duties.filter(|duty| duty.action != odrl::NEXT_POLICY) {
            if !case.rule.duties.contains(duty) && !self.child.obligations.contains(duty) {
                excesses.insert(Excess::new(
                    ExcessKind::Duty,
                    format!("{} without it", case.words()),
                    format!("the duty {}", duty_words(duty)),
                ));
            }
        }
    }

    /// Whether a permission of the parent could hold together with the case.
    fn overlaps(&self, rule: &Rule, case: &Case<'_>) -> bool {
        let any = |names: &[Named], meets: &dyn Fn(&str) -> bool| {
            names.is_empty() || names.iter().any(|named| self.could_mean(named, meets))
        };
        let action = |iri: &str| action::permits(iri, case.action) || action::permits(case.action, iri);
        any(&rule.actions, &action)
            && any(&rule.targets, &|iri| case.is_reached(|target| target == iri))
            && any(&rule.assignees, &|iri| iri == self.delegator)
    }

    /// Whether a name of the parent is, or could stand for, something that `meets`.
    fn could_mean(&self, named: &Named, meets: &dyn Fn(&str) -> bool) -> bool {
        match named {
            Named::Unreadable => true,
            Named::Iri { iri, collection, .. } => {
                *collection || meets(iri) || self.parent.parts.has_members(iri)
            }
        }
    }

    /// A prohibition of the parent that is not shown to let the case be, and that the child does not have too.
    fn prohibited(&self, prohibition: &Rule, case: &Case<'_>) -> Option<Excess> {
        // Of the child's own requests by either delegate, and of passing them on.
        let (both, delegator) = ([self.delegator, self.delegate], [self.delegator]);
        let asked = [(case.action, both.as_slice()), (odrl::GRANT_USE, delegator.as_slice())];
        let met = asked.into_iter().any(|(asked, agents)| {
            self.meets(prohibition, case, asked, agents)
                && !self.child.prohibitions.iter().any(|own| self.repeats(own, prohibition, case, asked))
        });
        met.then(|| {
            let what = if prohibition.undetermined.is_some() {
                ExcessKind::Incomparable
            } else {
                ExcessKind::Prohibited
            };
            Excess::new(what, case.words(), in_words("a prohibition", prohibition))
        })
    }

    /// Whether the prohibition could meet `asked` by one of the agents while the case holds.
    fn meets(&self, prohibition: &Rule, case: &Case<'_>, asked: &str, agents: &[&str]) -> bool {
        if prohibition.undetermined.is_some() || !case.steps.spend(1 + prohibition.targets.len()) {
            return true;
        }
        let action = prohibition.actions.iter().any(|named| match named {
            Named::Iri { iri, .. } => action::prohibits(iri, asked),
            Named::Unreadable => true,
        });
        let target = prohibition.targets.is_empty()
            || prohibition
                .targets
                .iter()
                .any(|named| self.could_mean(named, &|iri| case.is_reached(|target| concerns(iri, target))));
        let assignee = prohibition.assignees.is_empty()
            || prohibition.assignees.iter().any(|named| self.could_mean(named, &|iri| agents.contains(&iri)));
        action
            && target
            && assignee
            && !prohibition.constraints.iter().any(|constraint| case.excludes(constraint))
    }

    /// Whether a prohibition of the child meets whatever the parent's meets, for the child's delegate.
    fn repeats(&self, own: &Rule, prohibition: &Rule, case: &Case<'_>, asked: &str) -> bool {
        let same = |own: &Named, other: &Named| match (own, other) {
            (
                Named::Iri { iri, collection, refinements, .. },
                Named::Iri { iri: other, collection: wide, refinements: others, .. },
            ) => iri == other && refinements == others && (*collection || !wide),
            _ => false,
        };
        let includes = |own: &[Named], others: &[Named]| {
            others.iter().all(|other| own.iter().any(|own| same(own, other)))
        };
        let plain = |named: &Named, wanted: &dyn Fn(&str) -> bool| matches!(named, Named::Iri { iri, refinements, .. } if refinements.is_empty() && wanted(iri));
        // Where the parent's meets the passing on, the child's must meet each action that is passed on.
        let actions = if asked == case.action {
            includes(&own.actions, &prohibition.actions)
        } else {
            let every = |iri: &str| {
                iri == odrl::USE || case.action != odrl::USE && action::prohibits(iri, case.action)
            };
            own.actions.iter().any(|named| plain(named, &every))
        };
        let targets = own.targets.is_empty()
            || !prohibition.targets.is_empty() && includes(&own.targets, &prohibition.targets);
        let assignees = own.assignees.is_empty()
            || own.assignees.iter().any(|named| plain(named, &|iri| iri == self.delegate));
        own.undetermined.is_none()
            && prohibition.undetermined.is_none()
            && actions
            && targets
            && assignees
            && own.constraints.iter().all(|constraint| prohibition.constraints.contains(constraint))
            && self.parent.parts.parts_are_within(&self.child.parts)
    }
}

/// A refinement of a name that does not follow from the case.
fn unmet_refinement<'n>(named: &'n Named, case: &Case<'_>) -> Option<&'n Constraint> {
    match named {
        Named::Iri { refinements, .. } => refinements.iter().find(|refinement| !case.implies(refinement)),
        Named::Unreadable => None,
    }
}

/// The first fit, as `Some(None)`; else the excess of the nearest miss; `None` where there is nothing to fit.
fn nearest(fits: impl Iterator<Item = Result<(), (usize, Excess)>>) -> Option<Option<Excess>> {
    let mut best: Option<(usize, Excess)> = None;
    for fit in fits {
        match fit {
            Ok(()) => return Some(None),
            Err(miss) if best.as_ref().is_none_or(|(near, _)| miss.0 > *near) => best = Some(miss),
            Err(_) => {}
        }
    }
    best.map(|(_, excess)| Some(excess))
}

/// How many hops deep a `grantUse` permission lets its delegate pass on.
fn own_depth(rule: &Rule) -> Result<usize, Excess> {
    let bounds: Vec<&Constraint> = rule.constraints.iter().filter(|bound| is_depth_bound(bound)).collect();
    let mentions = rule.all_constraints().filter(|one| one.mentions(odrld::DELEGATION_DEPTH)).count();
    if mentions != bounds.len() {
        return Err(Excess::new(
            ExcessKind::Incomparable,
            in_words("a permission", rule),
            "a delegationDepth of its own: lt, lteq or eq, and one whole number",
        ));
    }
    if bounds.is_empty() {
        return Ok(1);
    }
    if bounds.iter().all(|bound| depth_holds(bound, DEEPEST + 1)) {
        return Err(Excess::new(
            ExcessKind::Depth,
            in_words("a permission", rule),
            format!("a delegationDepth of at most {DEEPEST}"),
        ));
    }
    let deepest = (1..=DEEPEST).rev().find(|depth| bounds.iter().all(|bound| depth_holds(bound, *depth)));
    Ok(deepest.unwrap_or(0))
}

/// The deepest delegation that is compared, length by length.
const DEEPEST: usize = 64;

/// Whether `delegationDepth` may be this.
pub(super) fn depth_holds(bound: &Constraint, depth: usize) -> bool {
    let Constraint::Compare { operator, right, .. } = bound else { return false };
    let depth = Value::integer(u64::try_from(depth).unwrap_or(u64::MAX)).read(Kind::Integer);
    let bound = right.first().and_then(|right| right.read(Kind::Integer));
    let order = depth.zip(bound).and_then(|(depth, bound)| depth.order(&bound));
    match operator {
        Operator::Lt => order == Some(Ordering::Less),
        Operator::Lteq => order.is_some_and(Ordering::is_le),
        Operator::Eq => order == Some(Ordering::Equal),
        _ => false,
    }
}

pub(super) fn names_action(rule: &Rule, action: &str) -> bool {
    rule.actions.iter().any(|named| matches!(named, Named::Iri { iri, .. } if iri == action))
}

/// Whether a prohibition on `iri` could concern a target: it covers the queries and fragments of what it names.
fn concerns(iri: &str, target: &str) -> bool {
    // Neither is compared where it is not in normal form.
    target == iri
        || !is_normal(iri)
        || target.strip_prefix(iri).is_some_and(|rest| rest.starts_with(['?', '#']))
}

pub(super) fn duty_words(duty: &Duty) -> String {
    match &duty.target {
        Some(target) => format!("{} on {target}", short(&duty.action)),
        None => short(&duty.action).to_owned(),
    }
}

/// Whether both are about one operand at their top.
fn same_operand(one: &Constraint, other: &Constraint) -> bool {
    match (one, other) {
        (Constraint::Compare { operand, .. }, Constraint::Compare { operand: other, .. }) => {
            local_name(operand) == local_name(other)
        }
        (Constraint::Logical { logic, .. }, Constraint::Logical { logic: other, .. }) => logic == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::action::tests::ALL;
    use super::*;

    /// What is judged here of a child's action holds for every action that it covers.
    #[test]
    fn what_holds_of_an_action_holds_of_all_that_it_covers() {
        for asked in ALL {
            for covered in ALL.into_iter().filter(|covered| action::permits(asked, covered)) {
                for other in ALL {
                    assert!(!action::permits(other, asked) || action::permits(other, covered));
                    assert!(action::prohibits(other, asked) || !action::prohibits(other, covered));
                    if asked != odrl::USE && action::prohibits(other, asked) {
                        assert!(action::prohibits(other, covered), "{other} {asked} {covered}");
                    }
                    let overlap = action::permits(other, asked) || action::permits(asked, other);
                    assert!(overlap || !action::permits(other, covered), "{other} {asked} {covered}");
                }
            }
        }
    }
}
