//! What a policy says, nothing dropped.
//!
//! The types are ordered by content alone, and the reader sorts by that order, so neither the order of triples nor the
//! labels of blank nodes can show in a decision or in its evidence.

use super::facts::Facts;
use super::value::Value;
use crate::message::target::is_normal;
use crate::vocab::odrl;
use oxrdf::NamedOrBlankNode;
use std::fmt;

/// A policy as it was read. One that this profile cannot use is kept as such, and denies the whole chain in phase D.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(super) id: String,
    pub(super) node: NamedOrBlankNode,
    /// Typed `odrl:Agreement`.
    pub(super) agreement: bool,
    pub(super) assigner: Option<String>,
    pub(super) assignee: Option<String>,
    pub(super) delegated_under: Option<String>,
    pub(super) conflict: Conflict,
    /// Why phase D cannot use it, in our words.
    pub(super) unusable: Option<String>,
    pub(super) permissions: Vec<Rule>,
    pub(super) prohibitions: Vec<Rule>,
    pub(super) obligations: Vec<Duty>,
    /// `odrl:partOf` facts that the document states.
    pub(super) parts: Facts,
    /// Rules, constraints, nodes and list items that were read.
    pub(super) size: usize,
}

/// `odrl:conflict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conflict {
    Perm,
    Prohibit,
    Invalid,
}

/// A permission or a prohibition, with what it inherits from its policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    /// Any of them; none is undetermined.
    pub(super) actions: Vec<Named>,
    /// Any of them; none is every target.
    pub(super) targets: Vec<Named>,
    /// Any of them; none is everybody.
    pub(super) assignees: Vec<Named>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) duties: Vec<Duty>,
    /// The rule holds something that we do not know, named in our words.
    pub(super) undetermined: Option<String>,
}

/// An action, asset or party: an IRI, perhaps refined, or something that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    Iri {
        iri: String,
        /// Said to be a collection, so that members outside our facts may exist.
        collection: bool,
        /// In the normal form of targets.
        normal: bool,
        refinements: Vec<Constraint>,
    },
    Unreadable,
}

impl Named {
    /// An IRI. Whether it is normal is judged once, here.
    pub(super) fn iri(iri: String, collection: bool, refinements: Vec<Constraint>) -> Self {
        let normal = is_normal(&iri);
        Self::Iri { iri, collection, normal, refinements }
    }
}

/// A duty: one action, on one target where it has one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Duty {
    pub(super) action: String,
    pub(super) target: Option<String>,
}

/// A constraint or refinement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Constraint {
    Compare { operand: String, operator: Operator, right: Vec<Value> },
    Logical { logic: Logic, operands: Vec<Constraint> },
    Unreadable(&'static str),
}

/// The logical operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Logic {
    And,
    Or,
    Xone,
    AndSequence,
}

/// The comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operator {
    Eq,
    Neq,
    Lt,
    Lteq,
    Gt,
    Gteq,
    IsA,
    HasPart,
    IsPartOf,
    IsAllOf,
    IsAnyOf,
    IsNoneOf,
}

impl Policy {
    /// The policy's id: `odrl:uid`, else its node's IRI.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether this is the policy that a credential claims: by its id, or by the blank node that embeds it.
    pub(crate) fn is_claimed_by(&self, claim: &NamedOrBlankNode) -> bool {
        match claim {
            NamedOrBlankNode::NamedNode(iri) => self.id == iri.as_str(),
            NamedOrBlankNode::BlankNode(_) => self.node == *claim,
        }
    }

    /// The policy-level `odrl:assigner`.
    pub(crate) fn assigner(&self) -> Option<&str> {
        self.assigner.as_deref()
    }

    /// The policy-level `odrl:assignee`.
    pub(crate) fn assignee(&self) -> Option<&str> {
        self.assignee.as_deref()
    }

    /// The parent's id.
    pub(crate) fn delegated_under(&self) -> Option<&str> {
        self.delegated_under.as_deref()
    }

    /// The key of the policy's exercises in the ledger. An id alone is anybody's to choose, and nobody may use up the
    /// count of another's policy.
    pub(crate) fn count_key(&self) -> String {
        format!("{} {}", self.id, self.assigner.as_deref().unwrap_or_default())
    }

    /// Whether a rule looks at `odrl:count`.
    pub(crate) fn is_counted(&self) -> bool {
        let mut rules = self.permissions.iter().chain(&self.prohibitions);
        rules.any(|rule| rule.all_constraints().any(|constraint| constraint.mentions(odrl::COUNT)))
    }

    /// Rules, constraints, nodes and list items that were read; [`crate::limits::Limits::constraints`] bounds their sum.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl Rule {
    /// The constraints of the rule and every refinement in it.
    pub(super) fn all_constraints(&self) -> impl Iterator<Item = &Constraint> {
        let named = self.actions.iter().chain(&self.targets).chain(&self.assignees);
        let refinements = named.flat_map(|name| match name {
            Named::Iri { refinements, .. } => refinements.as_slice(),
            Named::Unreadable => &[],
        });
        self.constraints.iter().chain(refinements)
    }
}

impl Operator {
    pub(super) const ALL: [(Self, &'static str); 12] = [
        (Self::Eq, odrl::EQ),
        (Self::Neq, odrl::NEQ),
        (Self::Lt, odrl::LT),
        (Self::Lteq, odrl::LTEQ),
        (Self::Gt, odrl::GT),
        (Self::Gteq, odrl::GTEQ),
        (Self::IsA, odrl::IS_A),
        (Self::HasPart, odrl::HAS_PART),
        (Self::IsPartOf, odrl::IS_PART_OF),
        (Self::IsAllOf, odrl::IS_ALL_OF),
        (Self::IsAnyOf, odrl::IS_ANY_OF),
        (Self::IsNoneOf, odrl::IS_NONE_OF),
    ];

    pub(super) fn of_iri(iri: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == iri).map(|(operator, _)| *operator)
    }

    pub(super) fn iri(self) -> &'static str {
        Self::ALL.iter().find(|(operator, _)| *operator == self).map_or(odrl::NS, |(_, iri)| iri)
    }
}

impl Logic {
    pub(super) const ALL: [(Self, &'static str); 4] = [
        (Self::And, odrl::AND),
        (Self::Or, odrl::OR),
        (Self::Xone, odrl::XONE),
        (Self::AndSequence, odrl::AND_SEQUENCE),
    ];

    pub(super) fn is_conjunction(self) -> bool {
        matches!(self, Self::And | Self::AndSequence)
    }

    pub(super) fn iri(self) -> &'static str {
        Self::ALL.iter().find(|(logic, _)| *logic == self).map_or(odrl::NS, |(_, iri)| iri)
    }

    fn word(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Xone => "xone",
            Self::AndSequence => "andSequence",
        }
    }
}

impl Constraint {
    /// Whether the constraint, at any depth, has this left operand.
    pub(super) fn mentions(&self, operand: &str) -> bool {
        match self {
            Self::Compare { operand: own, .. } => own == operand,
            Self::Logical { operands, .. } => operands.iter().any(|inner| inner.mentions(operand)),
            Self::Unreadable(_) => false,
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { operand, operator, right } => {
                let operator = local_name(operator.iri()).unwrap_or_default();
                write!(f, "{} {operator} {}", local_name(operand).unwrap_or(operand), Words(right))
            }
            Self::Logical { logic, operands } => {
                write!(f, "{}(", logic.word())?;
                for (place, operand) in operands.iter().enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    write!(f, "{comma}{operand}")?;
                }
                f.write_str(")")
            }
            Self::Unreadable(why) => write!(f, "a constraint that cannot be judged: {why}"),
        }
    }
}

/// Values in words, separated by commas.
pub(super) struct Words<'a>(pub(super) &'a [Value]);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        self.0.iter().enumerate().try_for_each(|(place, value)| {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{value}")
        })
    }
}

/// The local name of an IRI: what follows its last `#`, else its last `/`, else its last `:`.
pub(super) fn local_name(iri: &str) -> Option<&str> {
    let name = ['#', '/', ':'].into_iter().find_map(|end| iri.rsplit_once(end).map(|(_, name)| name))?;
    (!name.is_empty()).then_some(name)
}
