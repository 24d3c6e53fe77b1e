//! Terms of a shapes graph: lists, and the values that parameters may have.

use super::compiled::{is_well_typed, survives};
use super::fault::{Fault, Kind, unusable};
use crate::vocab::sh;
use oxrdf::vocab::{rdf as rdf_terms, xsd};
use oxrdf::{Graph, NamedNode, NamedOrBlankNode, Term, TermRef, TripleRef};

/// Members of one list.
const MAX_LIST: usize = 1_000;
/// Octets of one `sh:pattern`. The engine is linear in the value, but its factor is the pattern.
const MAX_PATTERN: usize = 256;
/// Product of the counted repetitions of a pattern, which multiply its compiled size.
const MAX_PATTERN_REPETITION: usize = 100;
/// Places of an unfolded pattern that are looked at in the time of a step's octets.
const PLACES_PER_LOOK: usize = 64;
/// The largest count or length.
const MAX_COUNT: usize = 1_000_000;

/// Walks an RDF list, copying its cells. Cyclic, forked, endless and unfinished lists are refused.
pub(super) fn read_list(source: &Graph, copy: &mut Graph, head: &Term) -> Result<Vec<Term>, Fault> {
    let mut members = Vec::new();
    let mut cell = head.clone();
    while cell.as_ref() != TermRef::NamedNode(rdf_terms::NIL) {
        let Some(node) = as_node(cell.as_ref()) else {
            return unusable(Kind::UnusableList, "a list ends in a literal");
        };
        let mut first = source.objects_for_subject_predicate(&node, rdf_terms::FIRST);
        let mut rest = source.objects_for_subject_predicate(&node, rdf_terms::REST);
        let (Some(member), None, Some(next), None) = (first.next(), first.next(), rest.next(), rest.next())
        else {
            return unusable(
                Kind::UnusableList,
                "a list has a cell without exactly one rdf:first and one rdf:rest",
            );
        };
        if members.len() >= MAX_LIST {
            return unusable(
                Kind::UnusableList,
                format!("a list has more than {MAX_LIST} members, or no end"),
            );
        }
        members.push(member.into_owned());
        copy.insert(TripleRef::new(&node, rdf_terms::FIRST, member));
        copy.insert(TripleRef::new(&node, rdf_terms::REST, next));
        cell = next.into_owned();
    }
    Ok(members)
}

pub(super) fn sh_iri(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{}{name}", sh::NS))
}

/// The local name of a term of the SHACL vocabulary.
pub(super) fn sh_name(term: &Term) -> Option<&str> {
    match term {
        Term::NamedNode(iri) => iri.as_str().strip_prefix(sh::NS),
        _ => None,
    }
}

pub(super) fn as_node(term: TermRef<'_>) -> Option<NamedOrBlankNode> {
    match term {
        TermRef::NamedNode(iri) => Some(iri.into_owned().into()),
        TermRef::BlankNode(node) => Some(node.into_owned().into()),
        _ => None,
    }
}

pub(super) fn text(term: &Term) -> Option<&str> {
    match term {
        Term::Literal(literal) if literal.datatype() == xsd::STRING => Some(literal.value()),
        _ => None,
    }
}

pub(super) fn flag(term: &Term) -> Option<bool> {
    match term {
        Term::Literal(literal) if literal.datatype() == xsd::BOOLEAN => literal.value().parse().ok(),
        _ => None,
    }
}

pub(super) fn count(term: &Term) -> Option<usize> {
    match term {
        Term::Literal(literal) if literal.datatype() == xsd::INTEGER => {
            literal.value().parse().ok().filter(|count| *count <= MAX_COUNT)
        }
        _ => None,
    }
}

/// The engine compares constants as terms after reading them into values of its own: only a term that comes back as
/// it was is compared as SHACL says. A blank node of the shapes would meet one of the data that has its label.
pub(super) fn is_constant(term: &Term) -> bool {
    match term {
        Term::NamedNode(_) => true,
        Term::Literal(_) => survives(term),
        _ => false,
    }
}

pub(super) fn is_well_typed_literal(term: &Term) -> bool {
    matches!(term, Term::Literal(_)) && is_well_typed(term)
}

/// Bounds the factor with which a pattern multiplies the length of a value.
pub(super) fn is_small_pattern(pattern: &str) -> bool {
    pattern.len() <= MAX_PATTERN && repetition(pattern) <= MAX_PATTERN_REPETITION
}

/// How many times the work of a look at each octet a pattern may take. The engine is linear in the value, but where it
/// cannot keep its states, each octet costs a look at every place of the unfolded pattern.
pub(super) fn pattern_weight(pattern: &str) -> usize {
    1 + repetition(pattern).saturating_mul(pattern.len()) / PLACES_PER_LOOK
}

/// The product of the counted repetitions of a pattern.
fn repetition(pattern: &str) -> usize {
    let mut repetition: usize = 1;
    for braced in pattern.split('{').skip(1) {
        let counts = braced.split('}').next().unwrap_or_default().split(',');
        let largest = counts.filter_map(|count| count.trim().parse::<usize>().ok()).max();
        repetition = repetition.saturating_mul(largest.unwrap_or(1).max(1));
    }
    repetition
}
