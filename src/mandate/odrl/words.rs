//! A policy in words, for people and for programs that show it to people. It judges nothing.

use super::contain::{duty_words, names_action};
use super::hops::{is_depth_bound, short};
use super::model::{Constraint, Duty, Named, Policy, Rule};
use crate::vocab::odrl;
use serde::Serialize;

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
    let passing_on = permission && names_action(rule, odrl::GRANT_USE);
    let bounds: Vec<String> = rule
        .constraints
        .iter()
        .filter(|constraint| is_depth_bound(constraint))
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
    duties.iter().map(duty_words).collect()
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
