//! What a shape can refuse, as far as it shows without data: whether anything fails it, whether any intent does, and
//! whether nothing can pass.
//!
//! A shape that refuses nothing is no protocol. Nodes are told apart by kind, and of each kind it is known whether all
//! of its nodes pass, whether none does, or neither. The reading errs towards "it refuses something", except where that
//! can be ruled out; the runtime judges the rest.

use super::syntax::Shape;
use crate::limits::Limits;
use crate::vocab::{a2a, rdf};
use oxrdf::{NamedOrBlankNode, Term};
use std::collections::HashMap;

/// Kinds of nodes, a bit for each: no node is of two.
pub(super) type Kinds = u8;
const IRI: Kinds = 1;
const BLANK: Kinds = 2;
const LITERAL: Kinds = 4;
const INTENT_IRI: Kinds = 8;
const INTENT_BLANK: Kinds = 16;
/// Nodes typed `a2a:Intent`, which are no literals.
pub(super) const INTENTS: Kinds = INTENT_IRI | INTENT_BLANK;
/// What a response can be about.
pub(super) const RESOURCES: Kinds = IRI | BLANK | INTENTS;
const IRIS: Kinds = IRI | INTENT_IRI;
const BLANKS: Kinds = BLANK | INTENT_BLANK;
const EVERY: Kinds = RESOURCES | LITERAL;

/// What is certain of a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Every node of these kinds passes.
    passes: Kinds,
    /// None of these does.
    fails: Kinds,
}

impl Verdict {
    const PASSES: Self = Self { passes: EVERY, fails: 0 };
    const UNKNOWN: Self = Self { passes: 0, fails: 0 };
    const FAILS: Self = Self { passes: 0, fails: EVERY };

    /// Some literals may pass, and nothing else does.
    pub(super) const LITERALS: Self = Self { passes: 0, fails: RESOURCES };
    /// Some nodes may pass, and no blank one does.
    pub(super) const NO_BLANK: Self = Self { passes: 0, fails: BLANKS };

    /// `sh:nodeKind`, by its local name.
    pub(super) fn of_node_kind(name: Option<&str>) -> Self {
        let passes = match name {
            Some("IRI") => IRIS,
            Some("BlankNode") => BLANKS,
            Some("Literal") => LITERAL,
            Some("BlankNodeOrIRI") => RESOURCES,
            Some("BlankNodeOrLiteral") => BLANKS | LITERAL,
            Some("IRIOrLiteral") => IRIS | LITERAL,
            _ => return Self::UNKNOWN,
        };
        Self { passes, fails: EVERY & !passes }
    }

    /// `sh:class`: a node of another type may be of the class by `rdfs:subClassOf`.
    pub(super) fn of_class(class: &Term) -> Self {
        Self { passes: if is(class, a2a::INTENT) { INTENTS } else { 0 }, fails: LITERAL }
    }

    fn and(self, other: Self) -> Self {
        Self { passes: self.passes & other.passes, fails: self.fails | other.fails }
    }

    fn or(self, other: Self) -> Self {
        Self { passes: self.passes | other.passes, fails: self.fails & other.fails }
    }

    fn not(self) -> Self {
        Self { passes: self.fails, fails: self.passes }
    }
}

/// The constraints of a shape, by what they do.
#[derive(Debug)]
pub(super) struct Force {
    /// Constraints of its own on each value node.
    values: Verdict,
    /// Whether it has a constraint that some focus node fails, whatever its path.
    judges: bool,
    /// `sh:node` and the members of `sh:and`.
    pub(super) conjuncts: Vec<NamedOrBlankNode>,
    pub(super) properties: Vec<NamedOrBlankNode>,
    pub(super) negated: Vec<NamedOrBlankNode>,
    /// Members of each `sh:or`.
    pub(super) disjuncts: Vec<Vec<NamedOrBlankNode>>,
    /// Members of each `sh:xone`.
    pub(super) exclusive: Vec<Vec<NamedOrBlankNode>>,
    pub(super) qualified: Vec<NamedOrBlankNode>,
    /// Counts and lengths.
    pub(super) counts: HashMap<&'static str, usize>,
    /// `sh:hasValue`.
    pub(super) has: Vec<Term>,
    /// `sh:equals`.
    pub(super) equals: Vec<Term>,
    /// An `sh:in` without members.
    pub(super) nothing_in: bool,
    /// `sh:path`.
    pub(super) path: Option<Term>,
    /// Whether the path leads from each node to itself too.
    pub(super) reflexive: bool,
}

impl Default for Force {
    fn default() -> Self {
        Self {
            values: Verdict::PASSES,
            judges: false,
            conjuncts: Vec::new(),
            properties: Vec::new(),
            negated: Vec::new(),
            disjuncts: Vec::new(),
            exclusive: Vec::new(),
            qualified: Vec::new(),
            counts: HashMap::new(),
            has: Vec::new(),
            equals: Vec::new(),
            nothing_in: false,
            path: None,
            reflexive: false,
        }
    }
}

impl Force {
    /// A constraint of which nothing more is known than whether some node fails it.
    pub(super) fn judge(&mut self, judges: bool) {
        self.judges |= judges;
    }

    /// A constraint on each value node.
    pub(super) fn judge_values(&mut self, verdict: Verdict) {
        self.values = self.values.and(verdict);
    }

    fn count(&self, name: &str) -> Option<usize> {
        self.counts.get(name).copied()
    }
}

/// What a shape can refuse.
#[derive(Debug, Clone)]
pub(super) struct Known {
    verdict: Verdict,
    /// The shape that it is the negation of, where it is nothing else.
    negates: Option<NamedOrBlankNode>,
}

impl Known {
    /// Whether some node of these kinds may fail it.
    pub(super) fn refuses_some(&self, of: Kinds) -> bool {
        self.verdict.passes & of != of
    }
}

pub(super) type Forces = HashMap<NamedOrBlankNode, Known>;

/// What a shape can refuse, where that of the shapes it refers to is known.
pub(super) fn of(shape: &Shape, known: &Forces) -> Known {
    if shape.deactivated {
        return Known { verdict: Verdict::PASSES, negates: None };
    }
    let force = &shape.force;
    let values = on_values(force, known);
    let negates = match (force.negated.as_slice(), shape.constraints + shape.properties) {
        ([one], 1) if shape.path.is_none() => Some(one.clone()),
        _ => None,
    };
    let verdict = match &force.path {
        Some(path) => on_focus(force, path, values, known),
        None if shape.path.is_some() => Verdict::UNKNOWN,
        None if force.judges || !force.equals.is_empty() => values.and(Verdict::UNKNOWN),
        None if !force.has.is_empty() => values.and(Verdict::NO_BLANK),
        None => values,
    };
    Known { verdict, negates }
}

/// What is certain of a value node.
fn on_values(force: &Force, known: &Forces) -> Verdict {
    let of = |node: &NamedOrBlankNode| known.get(node).map_or(Verdict::UNKNOWN, |known| known.verdict);
    let mut verdict = force.values;
    if force.nothing_in || exceeds(force, "minLength", "maxLength") {
        verdict = verdict.and(Verdict::FAILS);
    }
    for child in force.conjuncts.iter().chain(&force.properties) {
        verdict = verdict.and(of(child));
    }
    for child in &force.negated {
        verdict = verdict.and(of(child).not());
    }
    // One of a shape and its negation passes, and the other does not.
    let negates = |node: &NamedOrBlankNode| known.get(node).and_then(|known| known.negates.as_ref());
    let has_both = |members: &[NamedOrBlankNode]| {
        members.iter().filter_map(negates).any(|negated| members.contains(negated))
    };
    for members in &force.disjuncts {
        let any = members.iter().map(of).fold(Verdict::FAILS, Verdict::or);
        verdict = verdict.and(if has_both(members) { Verdict::PASSES } else { any });
    }
    for members in &force.exclusive {
        let one = exactly_one(&members.iter().map(of).collect::<Vec<_>>());
        verdict = verdict.and(if members.len() == 2 && has_both(members) { Verdict::PASSES } else { one });
    }
    verdict
}

fn exactly_one(members: &[Verdict]) -> Verdict {
    let (mut none, mut one) = (Verdict::PASSES, Verdict::FAILS);
    for member in members {
        one = one.and(member.not()).or(none.and(*member));
        none = none.and(member.not());
    }
    one
}

/// What is certain of a focus node whose value nodes are judged so.
fn on_focus(force: &Force, path: &Term, values: Verdict, known: &Forces) -> Verdict {
    let least = force.count("minCount").unwrap_or_default();
    let nothing_passes = (values.fails == EVERY && least > 0)
        || exceeds(force, "minCount", "maxCount")
        || exceeds(force, "qualifiedMinCount", "qualifiedMaxCount")
        || exceeds(force, "qualifiedMinCount", "maxCount");
    if nothing_passes {
        return Verdict::FAILS;
    }
    if force.judges || values.passes != EVERY {
        return Verdict::UNKNOWN;
    }
    let is_type = is(path, rdf::TYPE);
    let at_least = |least: usize| match least {
        0 => EVERY,
        1 if force.reflexive => EVERY,
        // An intent has its type.
        1 if is_type => INTENTS,
        _ => 0,
    };
    let at_most = |most: Option<usize>| match most {
        Some(most) if most < most_values() => 0,
        _ => EVERY,
    };
    let mut passes = at_least(least) & at_most(force.count("maxCount"));
    if force.has.iter().any(|value| !(is_type && is(value, a2a::INTENT))) {
        passes = 0;
    } else if !force.has.is_empty() {
        passes &= INTENTS;
    }
    if force.equals.iter().any(|other| other != path) {
        passes = 0;
    }
    for shape in &force.qualified {
        let one = known.get(shape).map_or(Verdict::UNKNOWN, |known| known.verdict);
        let least = force.count("qualifiedMinCount").unwrap_or_default();
        passes &= if least == 0 || one.passes == EVERY { at_least(least) } else { 0 };
        passes &= if one.fails == EVERY { EVERY } else { at_most(force.count("qualifiedMaxCount")) };
    }
    Verdict { passes, fails: 0 }
}

/// No node has more values than a graph has nodes, under any limits.
fn most_values() -> usize {
    Limits::default().triples.saturating_mul(2).saturating_add(1)
}

/// Whether the least is more than the most.
fn exceeds(force: &Force, least: &str, most: &str) -> bool {
    matches!((force.count(least), force.count(most)), (Some(least), Some(most)) if least > most)
}

fn is(term: &Term, iri: &str) -> bool {
    matches!(term, Term::NamedNode(node) if node.as_str() == iri)
}
