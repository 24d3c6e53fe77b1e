//! RDFC-1.0 under a work budget (RDF Dataset Canonicalization 1.0).

use super::{Budget, RdfError};
use oxrdf::{Dataset, Graph, GraphName, GraphNameRef, NamedOrBlankNodeRef, QuadRef, TermRef};
use rdf_canon::{CanonicalizationError, CanonicalizationOptions};
use sha2::{Digest, Sha256, Sha384};
use std::collections::HashMap;

/// Quads that all calls of Hash N-Degree Quads for one message may serialize, about: a call hashes the quads of every
/// neighbour of its node, so a count of calls alone would not bound the work. The costliest W3C entry needs half.
pub(super) const SERIALIZED_QUADS: usize = 1 << 16;

/// The hash that RDFC-1.0 uses internally and the caller uses on the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HashAlgorithm {
    /// The default of RDFC-1.0.
    Sha256,
    /// For P-384 and some W3C tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "for P-384 proofs, which are not read yet"))]
    Sha384,
}

/// Canonical N-Quads of a dataset.
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
pub(crate) fn dataset(
    dataset: &Dataset,
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<String, RdfError> {
    let dataset = older(dataset)?;
    let labels = labels(&dataset, hash, budget)?;
    let relabelled = rdf_canon::relabel(&dataset, &labels).map_err(|_| RdfError::BudgetExceeded)?;
    Ok(rdf_canon::serialize(&relabelled))
}

/// Canonical N-Quads of a graph.
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
pub(crate) fn graph(graph: &Graph, budget: &mut Budget) -> Result<String, RdfError> {
    let quads = graph.iter().map(|triple| triple.in_graph(GraphNameRef::DefaultGraph).into_owned());
    dataset(&quads.collect(), HashAlgorithm::Sha256, budget)
}

/// The canonical issuer's map: from labels of the dataset to canonical labels.
fn labels(
    dataset: &oxrdf02::Dataset,
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<HashMap<String, String>, RdfError> {
    budget.canonicalizations = budget.canonicalizations.checked_sub(1).ok_or(RdfError::BudgetExceeded)?;
    // rdf-canon takes a limit of calls but does not tell how many it made. Most datasets make none; for the others
    // the limit is doubled until it suffices, and the limit that sufficed is what is charged.
    if let Some(labels) = issue(dataset, hash, 0)? {
        return Ok(labels);
    }
    let cost = cost_of_a_call(dataset);
    let most = budget.canonicalization_calls.min(budget.serialized_quads / cost);
    let mut limit = 1;
    loop {
        let charge = limit.min(most);
        if let Some(labels) = issue(dataset, hash, charge)? {
            budget.canonicalization_calls = budget.canonicalization_calls.saturating_sub(charge);
            budget.serialized_quads = budget.serialized_quads.saturating_sub(charge.saturating_mul(cost));
            return Ok(labels);
        }
        if charge == most {
            budget.canonicalization_calls = 0;
            return Err(RdfError::BudgetExceeded);
        }
        limit *= 2;
    }
}

/// One run with a limit of calls; `None` if it does not suffice.
fn issue(
    dataset: &oxrdf02::Dataset,
    hash: HashAlgorithm,
    calls: usize,
) -> Result<Option<HashMap<String, String>>, RdfError> {
    let options = CanonicalizationOptions { hndq_call_limit: Some(calls) };
    let issued = match hash {
        HashAlgorithm::Sha256 => rdf_canon::issue_with::<Sha256>(dataset, &options),
        HashAlgorithm::Sha384 => rdf_canon::issue_with::<Sha384>(dataset, &options),
    };
    match issued {
        Ok(labels) => Ok(Some(labels)),
        Err(CanonicalizationError::HndqCallLimitExceeded(_)) => Ok(None),
        Err(_) => Err(RdfError::BudgetExceeded),
    }
}

/// The most quads that one call of Hash N-Degree Quads serializes, at least one. Where one node is the same neighbour
/// several times (in different graphs, or as the name of a graph), RDFC-1.0 also goes through all orders of these
/// repetitions without making a call; a step of an order counts like a quad.
fn cost_of_a_call(dataset: &oxrdf02::Dataset) -> usize {
    let mut quads_of: HashMap<&str, Vec<oxrdf02::QuadRef<'_>>> = HashMap::new();
    for quad in dataset {
        for (_, label) in blank_nodes(quad) {
            quads_of.entry(label).or_default().push(quad);
        }
    }
    let mut same_hash: HashMap<[u8; 32], Vec<&str>> = HashMap::new();
    for (label, quads) in &quads_of {
        same_hash.entry(first_degree(label, quads)).or_default().push(label);
    }
    let mut most = 1;
    for label in same_hash.values().filter(|labels| labels.len() > 1).flatten() {
        let mut cost = 0usize;
        let mut repetitions: HashMap<(char, &str, &str), usize> = HashMap::new();
        for quad in quads_of.get(label).into_iter().flatten() {
            for (position, related) in blank_nodes(*quad).filter(|(_, related)| related != label) {
                cost = cost.saturating_add(quads_of.get(related).map_or(0, Vec::len));
                let predicate = if position == 'g' { "" } else { quad.predicate.as_str() };
                *repetitions.entry((position, predicate, related)).or_default() += 1;
            }
        }
        let orders = repetitions.values().map(|count| steps_of_all_orders(*count));
        most = most.max(orders.fold(cost, usize::saturating_add));
    }
    most
}

fn steps_of_all_orders(items: usize) -> usize {
    (1..=items).fold(items, usize::saturating_mul)
}

/// A digest that two blank nodes share exactly if RDFC-1.0 gives them the same first-degree hash.
fn first_degree(label: &str, quads: &[oxrdf02::QuadRef<'_>]) -> [u8; 32] {
    let mut lines: Vec<String> = quads
        .iter()
        .map(|quad| {
            let blank = |other: &str| if other == label { "_:a".to_owned() } else { "_:z".to_owned() };
            let subject = match quad.subject {
                oxrdf02::SubjectRef::BlankNode(node) => blank(node.as_str()),
                other => other.to_string(),
            };
            let object = match quad.object {
                oxrdf02::TermRef::BlankNode(node) => blank(node.as_str()),
                other => other.to_string(),
            };
            let graph = match quad.graph_name {
                oxrdf02::GraphNameRef::BlankNode(node) => blank(node.as_str()),
                other => other.to_string(),
            };
            format!("{subject} {} {object} {graph}\n", quad.predicate)
        })
        .collect();
    lines.sort_unstable();
    Sha256::digest(lines.concat()).into()
}

/// The blank nodes of a quad with their RDFC-1.0 position.
fn blank_nodes(quad: oxrdf02::QuadRef<'_>) -> impl Iterator<Item = (char, &str)> {
    let subject = match quad.subject {
        oxrdf02::SubjectRef::BlankNode(node) => Some(('s', node.as_str())),
        _ => None,
    };
    let object = match quad.object {
        oxrdf02::TermRef::BlankNode(node) => Some(('o', node.as_str())),
        _ => None,
    };
    let graph = match quad.graph_name {
        oxrdf02::GraphNameRef::BlankNode(node) => Some(('g', node.as_str())),
        _ => None,
    };
    subject.into_iter().chain(object).chain(graph)
}

/// rdf-canon still speaks oxrdf 0.2. The terms were checked when they were parsed.
fn older(dataset: &Dataset) -> Result<oxrdf02::Dataset, RdfError> {
    let quads: Option<_> = dataset.iter().map(older_quad).collect();
    quads.ok_or_else(|| RdfError::Malformed("RDF 1.2 terms have no canonical form".into()))
}

fn older_quad(quad: QuadRef<'_>) -> Option<oxrdf02::Quad> {
    let named = |node: oxrdf::NamedNodeRef<'_>| oxrdf02::NamedNode::new_unchecked(node.as_str());
    let blank = |node: oxrdf::BlankNodeRef<'_>| oxrdf02::BlankNode::new_unchecked(node.as_str());
    let subject: oxrdf02::Subject = match quad.subject {
        NamedOrBlankNodeRef::NamedNode(node) => named(node).into(),
        NamedOrBlankNodeRef::BlankNode(node) => blank(node).into(),
    };
    let object: oxrdf02::Term = match quad.object {
        TermRef::NamedNode(node) => named(node).into(),
        TermRef::BlankNode(node) => blank(node).into(),
        TermRef::Literal(literal) => older_literal(literal)?.into(),
        TermRef::Triple(_) => return None,
    };
    let graph: oxrdf02::GraphName = match quad.graph_name.into_owned() {
        GraphName::NamedNode(node) => named(node.as_ref()).into(),
        GraphName::BlankNode(node) => blank(node.as_ref()).into(),
        GraphName::DefaultGraph => oxrdf02::GraphName::DefaultGraph,
    };
    Some(oxrdf02::Quad::new(subject, named(quad.predicate), object, graph))
}

fn older_literal(literal: oxrdf::LiteralRef<'_>) -> Option<oxrdf02::Literal> {
    let value = literal.value();
    match (literal.language(), literal.direction()) {
        (Some(language), None) => {
            Some(oxrdf02::Literal::new_language_tagged_literal_unchecked(value, language))
        }
        (None, None) => {
            let datatype = oxrdf02::NamedNode::new_unchecked(literal.datatype().as_str());
            Some(oxrdf02::Literal::new_typed_literal(value, datatype))
        }
        (_, Some(_)) => None,
    }
}

#[cfg(test)]
mod tests;
