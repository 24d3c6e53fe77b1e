//! A policy in words, for people and for programs that show it to people. It judges nothing.

use super::evaluate::Judge;
use super::model::{Constraint, Duty, Named, Policy, Rule, Words, local_name};
use crate::vocab::odrl;
use serde::Serialize;
use std::collections::BTreeSet;

/// What a policy says.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyOutline {
    pub(crate) id: String,
    pub(crate) assigner: Option<String>,
    pub(crate) assignee: Option<String>,
    pub(crate) delegated_under: Option<String>,
    pub(crate) agreement: bool,
    /// Why it denies everything, where it does.
    pub(crate) unusable: Option<String>,
    pub(crate) permissions: Vec<RuleOutline>,
    pub(crate) prohibitions: Vec<RuleOutline>,
    pub(crate) obligations: Vec<String>,
}

/// What a rule says.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuleOutline {
    pub(crate) actions: Vec<String>,
    /// None is every target.
    pub(crate) targets: Vec<String>,
    /// None is everybody.
    pub(crate) assignees: Vec<String>,
    pub(crate) constraints: Vec<String>,
    pub(crate) duties: Vec<String>,
    /// Of a permission to pass it on: how deep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passes_on: Option<String>,
    /// Why it cannot be judged, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) undetermined: Option<String>,
}

impl Policy {
    pub(crate) fn outline(&self) -> PolicyOutline {
        PolicyOutline {
            id: self.id.clone(),
            assigner: self.assigner.clone(),
            assignee: self.assignee.clone(),
            delegated_under: self.delegated_under.clone(),
            agreement: self.agreement,
            unusable: self.unusable.clone(),
            permissions: self.permissions.iter().map(|rule| outline(rule, true)).collect(),
            prohibitions: self.prohibitions.iter().map(|rule| outline(rule, false)).collect(),
            obligations: duties(&self.obligations),
        }
    }
}

fn outline(rule: &Rule, permission: bool) -> RuleOutline {
    let passing_on = permission && rule.names_action(odrl::GRANT_USE);
    let bounds: Vec<String> = rule
        .constraints
        .iter()
        .filter(|constraint| constraint.is_depth_bound())
        .map(ToString::to_string)
        .collect();
    RuleOutline {
        actions: rule.actions.iter().map(named).collect(),
        targets: rule.targets.iter().map(named).collect(),
        assignees: rule.assignees.iter().map(named).collect(),
        constraints: rule.constraints.iter().map(ToString::to_string).collect(),
        duties: duties(&rule.duties),
        passes_on: passing_on.then(|| match bounds.is_empty() {
            true => "one hop deep (no delegationDepth)".to_owned(),
            false => bounds.join(" and "),
        }),
        undetermined: rule.undetermined.clone(),
    }
}

fn duties(duties: &[Duty]) -> Vec<String> {
    duties.iter().map(duty_in_words).collect()
}

fn named(named: &Named) -> String {
    match named {
        Named::Unreadable => "something unreadable".to_owned(),
        Named::Iri { iri, collection, refinements, .. } => {
            let members = if *collection { " and its members" } else { "" };
            let refinements: Vec<String> = refinements.iter().map(Constraint::to_string).collect();
            match refinements.is_empty() {
                true => format!("{}{members}", short(iri)),
                false => format!("{}{members} where {}", short(iri), refinements.join(" and ")),
            }
        }
    }
}

/// A duty: its action, and its target where it has one.
pub(super) fn duty_in_words(duty: &Duty) -> String {
    match &duty.target {
        Some(target) => format!("{} on {target}", short(&duty.action)),
        None => short(&duty.action).to_owned(),
    }
}

/// What the request has for the operands of a constraint.
pub(super) fn seen_by(judge: &Judge<'_>, constraint: &Constraint) -> String {
    let mut seen = Vec::new();
    let mut open = vec![constraint];
    while let Some(at) = open.pop() {
        match at {
            Constraint::Logical { operands, .. } => open.extend(operands),
            Constraint::Compare { operand, .. } => {
                let name = local_name(operand).unwrap_or(operand);
                let values = judge.values(operand);
                let words = Words(values.as_deref().unwrap_or_default()).to_string();
                let entry = format!("{name} {words}");
                if !seen.contains(&entry) {
                    seen.push(entry);
                }
            }
            Constraint::Unreadable(_) => {}
        }
    }
    seen.sort();
    seen.join("; ")
}

/// What a comparison wants; `None` where several together want it.
pub(super) fn expected_by(constraint: &Constraint) -> Option<String> {
    match constraint {
        Constraint::Compare { operator, right, .. } => {
            Some(format!("{} {}", local_name(operator.iri()).unwrap_or_default(), Words(right)))
        }
        _ => None,
    }
}

/// `kind` and what the rule is of, on and for.
pub(super) fn rule_in_words(kind: &str, rule: &Rule) -> String {
    let mut words = format!("{kind} of {}", names_in_words(&rule.actions));
    if !rule.targets.is_empty() {
        words.push_str(&format!(" on {}", names_in_words(&rule.targets)));
    }
    if !rule.assignees.is_empty() {
        words.push_str(&format!(" to {}", names_in_words(&rule.assignees)));
    }
    for (place, constraint) in rule.constraints.iter().enumerate() {
        words.push_str(&format!("{}{constraint}", if place == 0 { " where " } else { " and " }));
    }
    words
}

/// Names, each once and in order.
pub(super) fn names_in_words<'n>(names: impl IntoIterator<Item = &'n Named>) -> String {
    let words: BTreeSet<&str> = names
        .into_iter()
        .map(|name| match name {
            Named::Iri { iri, .. } => short(iri),
            Named::Unreadable => "something unreadable",
        })
        .collect();
    words.into_iter().collect::<Vec<_>>().join(", ")
}

/// An ODRL term by its local name; every other IRI whole.
pub(super) fn short(iri: &str) -> &str {
    iri.strip_prefix(odrl::NS).unwrap_or(iri)
}
