//! RDF from strangers: bounded Turtle and JSON-LD, pinned contexts, and RDFC-1.0 under a work budget.
//!
//! This folder owns every step from octets to a graph and from a graph to its canonical form. It dereferences
//! nothing (SEC-2), repairs nothing (SEC-3), and keeps each document its own graph: there is no function here that
//! merges two. Everything downstream reads only graphs made here, and hashes only graphs made here.

pub(crate) mod canon;
pub(crate) mod contexts;
pub(crate) mod jsonld;
mod labels;
mod meter;
mod safe_mode;
pub(crate) mod turtle;

use crate::limits::Limits;
pub(crate) use meter::Size;
use oxrdf::{Graph, GraphName, Quad, Triple, TripleRef};

/// The RDF serializations that a payload may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RdfMediaType {
    /// `text/turtle`
    Turtle,
    /// `application/ld+json`
    JsonLd,
}

impl RdfMediaType {
    /// Reads a media type, its parameters allowed and ignored; type and subtype compare without case (RFC 9110 8.3.1).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let essence = text.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case("text/turtle") {
            Some(Self::Turtle)
        } else if essence.eq_ignore_ascii_case("application/ld+json") {
            Some(Self::JsonLd)
        } else {
            None
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Turtle => "text/turtle",
            Self::JsonLd => "application/ld+json",
        }
    }
}

/// Why a document did not become a graph, or a graph not its canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RdfError {
    /// Not well-formed, or holds something that would vanish unsigned. Our words, no sender text.
    #[error("{0}")]
    Malformed(String),
    /// A limit of [`Limits`], named, was hit while reading.
    #[error("more {0} than are read")]
    TooLarge(&'static str),
    /// A context URL that is not pinned.
    #[error("a JSON-LD context is not pinned")]
    RemoteContext(String),
    /// The message's canonicalization budget is spent.
    #[error("the canonicalization budget is spent")]
    BudgetExceeded,
}

/// Work that one message may still cause, whatever number of papers it is spread over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Budget {
    canonicalization_calls: usize,
    canonicalizations: usize,
    canonicalization_steps: usize,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            canonicalization_calls: limits.canonicalization_calls,
            canonicalizations: limits.canonicalizations,
            canonicalization_steps: canon::STEPS,
        }
    }

    /// What was spent since `before`.
    pub(crate) fn spent_since(&self, before: &Self) -> Spent {
        Spent(Self {
            canonicalization_calls: before.canonicalization_calls.saturating_sub(self.canonicalization_calls),
            canonicalizations: before.canonicalizations.saturating_sub(self.canonicalizations),
            canonicalization_steps: before.canonicalization_steps.saturating_sub(self.canonicalization_steps),
        })
    }

    /// Spends what the same work cost before; `false`, and nothing is spent, where it does not suffice.
    pub(crate) fn spend(&mut self, Spent(cost): &Spent) -> bool {
        let left = || {
            Some(Self {
                canonicalization_calls: self
                    .canonicalization_calls
                    .checked_sub(cost.canonicalization_calls)?,
                canonicalizations: self.canonicalizations.checked_sub(cost.canonicalizations)?,
                canonicalization_steps: self
                    .canonicalization_steps
                    .checked_sub(cost.canonicalization_steps)?,
            })
        };
        match left() {
            Some(left) => {
                *self = left;
                true
            }
            None => false,
        }
    }
}

/// Work that was done, each kind of a [`Budget`] counted.
#[derive(Debug, Clone)]
pub(crate) struct Spent(Budget);

/// Quads that no parser emitted, under the limits of those that one does. Gives what they take.
///
/// # Errors
/// [`RdfError::TooLarge`]
pub(crate) fn check_size(quads: &[Quad], limits: &Limits) -> Result<Size, RdfError> {
    check_size_with(quads, [], limits)
}

/// [`check_size`] of a dataset some of whose parts were counted before. The node that names a part's graph is one of
/// `quads` too.
///
/// # Errors
/// [`RdfError::TooLarge`]
pub(crate) fn check_size_with<'s>(
    quads: &[Quad],
    parts: impl IntoIterator<Item = &'s Size>,
    limits: &Limits,
) -> Result<Size, RdfError> {
    let mut meter = meter::Meter::new(limits);
    let mut counted = quads.iter().try_for_each(|quad| meter.count(quad.as_ref()));
    if counted.is_err() {
        // They may come from a graph, which has an order of its own each time that it is made: of two limits, the one
        // that is named must be the same.
        let mut ordered: Vec<&Quad> = quads.iter().collect();
        ordered.sort_by_cached_key(ToString::to_string);
        meter = meter::Meter::new(limits);
        counted = ordered.into_iter().try_for_each(|quad| meter.count(quad.as_ref()));
    }
    counted?;
    parts.into_iter().try_for_each(|part| meter.count_part(part))?;
    Ok(meter.size())
}

/// A graph of triples that no parser emitted, under the limits of those that one does.
///
/// # Errors
/// [`RdfError::TooLarge`]
pub(crate) fn graph_of(triples: Vec<Triple>, limits: &Limits) -> Result<Graph, RdfError> {
    let quads: Vec<Quad> =
        triples.into_iter().map(|triple| triple.in_graph(GraphName::DefaultGraph)).collect();
    check_size(&quads, limits)?;
    Ok(quads.iter().map(|quad| TripleRef::from(quad.as_ref())).collect())
}

/// Parses a document that is one default graph: an intent, a handshake, a policy, a Protocol Document. UTF-8, no base,
/// no named graph; JSON-LD in safe mode.
pub(crate) fn parse_graph(text: &str, media_type: RdfMediaType, limits: &Limits) -> Result<Graph, RdfError> {
    match media_type {
        RdfMediaType::Turtle => turtle::parse(text, limits),
        RdfMediaType::JsonLd => jsonld::parse_document(text, limits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::{BlankNode, NamedNode};
    use std::collections::BTreeSet;

    /// A graph has another order each time that it is made.
    #[test]
    fn of_two_limits_that_are_passed_the_same_is_named() {
        let name = |number: usize| NamedNode::new(format!("urn:x:{number}")).unwrap();
        let with_blank = |number: usize| {
            Triple::new(name(number), name(number), BlankNode::new(format!("n{number}")).unwrap())
        };
        let without = |number: usize| Triple::new(name(number), name(number), name(number));
        let triples: Vec<Triple> = (0..20).map(with_blank).chain((20..40).map(without)).collect();
        let limits = Limits { triples: 20, blank_nodes: 10, ..Limits::default() };
        let (mut of_quads, mut of_triples) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..100 {
            let graph: Graph = triples.iter().map(Triple::as_ref).collect();
            let quads: Vec<Quad> =
                graph.iter().map(|triple| triple.into_owned().in_graph(GraphName::DefaultGraph)).collect();
            of_quads.insert(check_size(&quads, &limits).unwrap_err().to_string());
            let triples = graph.iter().map(TripleRef::into_owned).collect();
            of_triples.insert(graph_of(triples, &limits).unwrap_err().to_string());
        }
        assert_eq!((of_quads.len(), of_triples.len()), (1, 1), "{of_quads:?} {of_triples:?}");
    }
}
