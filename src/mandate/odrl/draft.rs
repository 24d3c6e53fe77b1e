//! Writing a delegated policy out of its parent's, narrowed. What is written is read and compared like any other
//! (`contain`): nothing here decides what may be given.

use super::action;
use super::contain::{Excess, ExcessKind};
use super::model::{Constraint, Duty, Named, Operator, Policy, Rule, local_name};
use super::value::Value;
use super::words::{names_in_words, short};
use crate::message::Digest;
use crate::request::Instant;
use crate::vocab::{odrl, odrld, rdf};
use oxrdf::{Literal, NamedNode, Term};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::str::FromStr;

/// What is wanted of a delegated policy. What is not named stays as the parent has it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Narrowing {
    /// Action IRIs.
    pub(crate) actions: Vec<String>,
    /// Target IRIs.
    pub(crate) targets: Vec<String>,
    /// Further constraints on every permission.
    pub(crate) constraints: Vec<Constraint>,
    /// How many hops deeper it may be passed on.
    pub(crate) depth: u64,
}

/// A constraint in one line: operand, operator, right operands. Names without a colon are ODRL's.
///
/// # Errors
/// In our words.
pub(crate) fn constraint_of_text(text: &str) -> Result<Constraint, &'static str> {
    let mut words = text.trim().splitn(3, char::is_whitespace);
    let (Some(operand), Some(operator), Some(right)) = (words.next(), words.next(), words.next()) else {
        return Err(
            "a constraint is an operand, an operator and a value, as `purpose eq https://x.example/p`",
        );
    };
    let whole = |name: &str| match name.contains(':') {
        true => name.to_owned(),
        false => format!("{}{name}", odrl::NS),
    };
    let operand = whole(operand);
    if NamedNode::new(&operand).is_err() || local_name(&operand).is_none() {
        return Err("the operand is neither a name nor an IRI");
    }
    let operator = Operator::of_iri(&whole(operator)).ok_or("the operator is none of ODRL's")?;
    let right = right.trim();
    let terms = match right.starts_with('"') {
        true => vec![Term::from_str(right).map_err(|_| "the value is no term in N-Triples syntax")?],
        false => right.split_whitespace().map(term_of_text).collect::<Result<_, _>>()?,
    };
    let right: BTreeSet<Value> = terms.iter().map(Value::of_term).collect();
    Ok(Constraint::Compare { operand, operator, right: right.into_iter().collect() })
}

/// A value as a person writes it: a term in N-Triples syntax, an integer, a decimal, an instant, an IRI, or else a text.
///
/// # Errors
/// In our words.
pub(crate) fn term_of_text(text: &str) -> Result<Term, &'static str> {
    if text.starts_with(['<', '"']) {
        return Term::from_str(text).map_err(|_| "the value is no term in N-Triples syntax");
    }
    let typed = |name: &str| {
        let datatype = NamedNode::new_unchecked(format!("{}{name}", crate::vocab::rdf::XSD_NS));
        Literal::new_typed_literal(text, datatype)
    };
    let digits = text.strip_prefix('-').unwrap_or(text);
    let literal = if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
        typed("integer")
    } else if digits.starts_with(|first: char| first.is_ascii_digit()) && text.parse::<Instant>().is_ok() {
        typed("dateTime")
    } else if digits.split_once('.').is_some_and(|(whole, part)| {
        [whole, part].iter().all(|side| !side.is_empty() && side.bytes().all(|digit| digit.is_ascii_digit()))
    }) {
        typed("decimal")
    } else if let Some(iri) = ["http:", "https:", "urn:", "did:", "mailto:"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
        .then(|| NamedNode::new(text).ok())
        .flatten()
    {
        return Ok(iri.into());
    } else {
        Literal::new_simple_literal(text)
    };
    Ok(literal.into())
}

impl Policy {
    /// A document in Turtle: what this policy permits its delegate `delegator`, narrowed, as an agreement with
    /// `delegate` under it.
    ///
    /// # Errors
    /// What is wanted and no permission of this policy covers; parties that are not IRIs; forms that cannot be written.
    pub(crate) fn narrowed(
        &self,
        delegator: &str,
        delegate: &str,
        wanted: &Narrowing,
    ) -> Result<String, BTreeSet<Excess>> {
        let own: Vec<&Rule> =
            self.permissions.iter().filter(|rule| names_party(&rule.assignees, delegator)).collect();
        let mut body = String::new();
        let mut uncovered = BTreeSet::new();
        for name in [delegator, delegate]
            .into_iter()
            .chain(wanted.actions.iter().chain(&wanted.targets).map(String::as_str))
        {
            if NamedNode::new(name).is_err() {
                uncovered.insert(Excess::new(ExcessKind::Form, name, "IRIs"));
            }
        }
        self.uncovered(&own, wanted, &mut uncovered);
        for rule in &own {
            let Some(actions) = narrowed_actions(rule, &wanted.actions) else { continue };
            let Some(targets) = narrowed_targets(rule, &wanted.targets) else { continue };
            let constraints: Vec<&Constraint> = rule.constraints.iter().chain(&wanted.constraints).collect();
            // A duty of any of them could come with what another permits.
            let acting = own.iter().filter(|rule| narrowed_actions(rule, &[]).is_some());
            let duties: BTreeSet<&Duty> = acting.flat_map(|rule| &rule.duties).collect();
            let duties = duties.into_iter().filter(|duty| duty.action != odrl::NEXT_POLICY);
            write_rule(&mut body, "permission", &actions, &targets, &constraints, duties);
        }
        let grants = own.iter().filter(|rule| rule.names_action(odrl::GRANT_USE));
        for rule in grants.filter(|_| wanted.depth > 0) {
            let Some(targets) = narrowed_targets(rule, &wanted.targets) else { continue };
            let bound = Constraint::Compare {
                operand: odrld::DELEGATION_DEPTH.to_owned(),
                operator: Operator::Lteq,
                right: vec![Value::integer(wanted.depth)],
            };
            let constraints: Vec<&Constraint> = rule
                .constraints
                .iter()
                .filter(|constraint| !constraint.is_depth_bound())
                .chain(&wanted.constraints)
                .chain([&bound])
                .collect();
            let action = Named::iri(odrl::GRANT_USE.to_owned(), false, Vec::new());
            let duties = rule.duties.iter().filter(|duty| duty.action != odrl::NEXT_POLICY);
            write_rule(&mut body, "permission", &[action], &targets, &constraints, duties);
        }
        for rule in &self.prohibitions {
            let constraints: Vec<&Constraint> = rule.constraints.iter().collect();
            write_rule(&mut body, "prohibition", &rule.actions, &rule.targets, &constraints, [].into_iter());
        }
        for duty in &self.obligations {
            let _ = write!(body, " ;\n    odrl:obligation {}", duty_text(duty));
        }
        if !uncovered.is_empty() {
            return Err(uncovered);
        }
        let id = self.next_id(delegator, delegate, &body);
        Ok(format!(
            "@prefix odrl: <{}> .\n@prefix odrld: <{}> .\n\n<{id}> a odrl:Agreement ;\n    odrl:assigner <{delegator}> ;\n    \
             odrl:assignee <{delegate}> ;\n    odrld:delegatedUnder <{}>{body} .\n",
            odrl::NS,
            odrld::NS,
            self.id
        ))
    }

    /// Each wanted action on each wanted target that no permission of this policy covers.
    fn uncovered(&self, own: &[&Rule], wanted: &Narrowing, uncovered: &mut BTreeSet<Excess>) {
        let covers_action = |rule: &Rule, wanted: &str| {
            rule.actions
                .iter()
                .any(|named| matches!(named, Named::Iri { iri, .. } if action::permits(iri, wanted)))
        };
        let covers_target =
            |rule: &Rule, wanted: &str| rule.targets.is_empty() || names_iri(&rule.targets, wanted);
        for action in &wanted.actions {
            let covering: Vec<&&Rule> = own.iter().filter(|rule| covers_action(rule, action)).collect();
            if covering.is_empty() {
                let given = names_in_words(own.iter().flat_map(|rule| &rule.actions));
                uncovered.insert(Excess::new(ExcessKind::Action, short(action), given));
            }
            for target in wanted.targets.iter().filter(|_| !covering.is_empty()) {
                if !covering.iter().any(|rule| covers_target(rule, target)) {
                    let given = names_in_words(covering.iter().flat_map(|rule| &rule.targets));
                    let asked = format!("{} on {target}", short(action));
                    uncovered.insert(Excess::new(ExcessKind::Target, asked, given));
                }
            }
        }
        for target in wanted.targets.iter().filter(|_| wanted.actions.is_empty()) {
            if !own.iter().any(|rule| covers_target(rule, target)) {
                let given = names_in_words(own.iter().flat_map(|rule| &rule.targets));
                uncovered.insert(Excess::new(ExcessKind::Target, target.clone(), given));
            }
        }
    }

    /// The one policy that may follow, where a duty says so; else a name made from what is named.
    fn next_id(&self, delegator: &str, delegate: &str, body: &str) -> String {
        let duties = self.permissions.iter().flat_map(|rule| &rule.duties).chain(&self.obligations);
        let next =
            duties.filter(|duty| duty.action == odrl::NEXT_POLICY).find_map(|duty| duty.target.clone());
        next.unwrap_or_else(|| {
            let digest = Digest::of(format!("{} {delegator} {delegate} {body}", self.id));
            let mut head = [0u8; 16];
            head.iter_mut().zip(digest.as_bytes()).for_each(|(to, from)| *to = *from);
            format!("urn:uuid:{}", uuid::Builder::from_custom_bytes(head).into_uuid())
        })
    }
}

fn names_party(names: &[Named], party: &str) -> bool {
    names.is_empty() || names_iri(names, party)
}

fn names_iri(names: &[Named], wanted: &str) -> bool {
    names.iter().any(|named| matches!(named, Named::Iri { iri, .. } if iri == wanted))
}

/// The rule's actions as far as they are wanted; `None` where none is. A narrower action keeps the refinements of the
/// one that covers it.
fn narrowed_actions(rule: &Rule, wanted: &[String]) -> Option<Vec<Named>> {
    let all = rule
        .actions
        .iter()
        .filter(|named| !matches!(named, Named::Iri { iri, .. } if iri == odrl::GRANT_USE));
    let actions: Vec<Named> = if wanted.is_empty() {
        all.cloned().collect()
    } else {
        all.flat_map(|named| {
            wanted.iter().filter_map(move |wanted| match named {
                Named::Iri { iri, collection, refinements, .. } if action::permits(iri, wanted) => {
                    let refinements = refinements.clone();
                    Some(Named::iri(wanted.clone(), *collection, refinements))
                }
                _ => None,
            })
        })
        .collect()
    };
    (!actions.is_empty()).then_some(actions)
}

fn narrowed_targets(rule: &Rule, wanted: &[String]) -> Option<Vec<Named>> {
    if wanted.is_empty() {
        return Some(rule.targets.clone());
    }
    let plain = |iri: &String| Named::iri(iri.clone(), false, Vec::new());
    let targets: Vec<Named> = if rule.targets.is_empty() {
        wanted.iter().map(plain).collect()
    } else {
        let named = rule.targets.iter();
        named
            .filter(|named| matches!(named, Named::Iri { iri, .. } if wanted.contains(iri)))
            .cloned()
            .collect()
    };
    (!targets.is_empty()).then_some(targets)
}

fn write_rule<'d>(
    body: &mut String,
    kind: &str,
    actions: &[Named],
    targets: &[Named],
    constraints: &[&Constraint],
    duties: impl Iterator<Item = &'d Duty>,
) {
    let list = |items: Vec<String>| items.join(" , ");
    let _ = write!(body, " ;\n    odrl:{kind} [");
    let actions = actions.iter().map(|named| named_text(named, rdf::VALUE)).collect();
    let _ = write!(body, "\n        odrl:action {}", list(actions));
    if !targets.is_empty() {
        let targets = targets.iter().map(|named| named_text(named, odrl::SOURCE)).collect();
        let _ = write!(body, " ;\n        odrl:target {}", list(targets));
    }
    if !constraints.is_empty() {
        let constraints = constraints.iter().map(|constraint| constraint_text(constraint)).collect();
        let _ = write!(body, " ;\n        odrl:constraint {}", list(constraints));
    }
    let duties: Vec<String> = duties.map(duty_text).collect();
    if !duties.is_empty() {
        let _ = write!(body, " ;\n        odrl:duty {}", list(duties));
    }
    body.push_str(" ]");
}

fn named_text(named: &Named, pointer: &str) -> String {
    match named {
        Named::Iri { iri, collection: false, refinements, .. } if refinements.is_empty() => {
            format!("<{iri}>")
        }
        Named::Iri { iri, refinements, .. } if refinements.is_empty() => format!("[ <{pointer}> <{iri}> ]"),
        Named::Iri { iri, refinements, .. } => {
            let refinements: Vec<String> = refinements.iter().map(constraint_text).collect();
            format!("[ <{pointer}> <{iri}> ; odrl:refinement {} ]", refinements.join(" , "))
        }
        // It cannot be read there either.
        Named::Unreadable => "[ ]".to_owned(),
    }
}

fn constraint_text(constraint: &Constraint) -> String {
    match constraint {
        Constraint::Compare { operand, operator, right } => {
            let right: Vec<String> = right.iter().map(value_text).collect();
            format!(
                "[ odrl:leftOperand <{operand}> ; odrl:operator <{}> ; odrl:rightOperand {} ]",
                operator.iri(),
                if right.is_empty() { "[ ]".to_owned() } else { right.join(" , ") }
            )
        }
        Constraint::Logical { logic, operands } => {
            let operands: Vec<String> = operands.iter().map(constraint_text).collect();
            format!("[ <{}> ( {} ) ]", logic.iri(), operands.join(" "))
        }
        Constraint::Unreadable(_) => "[ ]".to_owned(),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Iri(iri) => format!("<{iri}>"),
        Value::Literal { text, language: Some(language), .. } => {
            Literal::new_language_tagged_literal_unchecked(text, language).to_string()
        }
        Value::Literal { text, datatype, .. } => {
            Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype)).to_string()
        }
        Value::Unreadable => "[ ]".to_owned(),
    }
}

fn duty_text(duty: &Duty) -> String {
    match &duty.target {
        Some(target) => format!("[ odrl:action <{}> ; odrl:target <{target}> ]", duty.action),
        None => format!("[ odrl:action <{}> ]", duty.action),
    }
}
