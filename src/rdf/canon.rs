//! RDFC-1.0 under a work budget (RDF Dataset Canonicalization 1.0).
//!
//! An implementation of our own, because every call and every order that it goes through must be charged while it goes,
//! and because a decision canonicalizes half a dozen datasets: this one keeps first-degree hashes and writes each term
//! once. The W3C suite and `rdf-canon`, as an oracle on random datasets, hold it to account.

use super::{Budget, RdfError};
use oxrdf::{Graph, GraphNameRef, LiteralRef, NamedOrBlankNodeRef, Quad, QuadRef, TermRef};
use sha2::{Digest, Sha256, Sha384};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// Quads that all calls of Hash N-Degree Quads for one message may serialize: a call hashes the quads of every
/// neighbour of its node, so a count of calls alone would not bound the work. A step of an order of neighbours that
/// hash alike counts like a quad. The costliest W3C entry needs half.
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

/// Canonical N-Quads of the dataset that holds these quads.
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
pub(crate) fn quads(quads: &[Quad], hash: HashAlgorithm, budget: &mut Budget) -> Result<String, RdfError> {
    canonical(quads.iter().map(Quad::as_ref), hash, budget)
}

/// Canonical N-Quads of a dataset.
#[cfg(test)]
pub(crate) fn dataset(
    dataset: &oxrdf::Dataset,
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<String, RdfError> {
    canonical(dataset, hash, budget)
}

/// Canonical N-Quads of a graph.
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
pub(crate) fn graph(graph: &Graph, budget: &mut Budget) -> Result<String, RdfError> {
    let quads = graph.iter().map(|triple| triple.in_graph(GraphNameRef::DefaultGraph));
    canonical(quads, HashAlgorithm::Sha256, budget)
}

fn canonical<'q>(
    quads: impl IntoIterator<Item = QuadRef<'q>>,
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<String, RdfError> {
    let source = Source::read(quads)?;
    let canonical = issue(&source, hash, budget)?;
    let name = |node: usize, out: &mut String| {
        out.push_str("_:c14n");
        push_number(out, canonical.issued(node).unwrap_or_default());
    };
    Ok(in_order(source.lines.iter().map(|line| line.write(name)).collect()))
}

/// Issues the canonical identifiers.
fn issue(source: &Source<'_>, hash: HashAlgorithm, budget: &mut Budget) -> Result<Issuer, RdfError> {
    budget.canonicalizations = budget.canonicalizations.checked_sub(1).ok_or(RdfError::BudgetExceeded)?;
    let hash = match hash {
        HashAlgorithm::Sha256 => hexadecimal::<Sha256>,
        HashAlgorithm::Sha384 => hexadecimal::<Sha384>,
    };
    Canonicalizer::new(source, hash, budget).run()
}

/// One position of a quad where a blank node may stand; other terms are text already.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Blank(usize),
    Text(String),
}

/// One quad.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    subject: Part,
    predicate: String,
    object: Part,
    /// `None` for the default graph.
    graph: Option<Part>,
}

/// A dataset: no quad is in it twice. Blank nodes are numbered.
struct Source<'q> {
    lines: Vec<Line>,
    /// The number of each label.
    nodes: HashMap<&'q str, usize>,
}

impl<'q> Source<'q> {
    fn read(quads: impl IntoIterator<Item = QuadRef<'q>>) -> Result<Self, RdfError> {
        let mut source = Self { lines: Vec::new(), nodes: HashMap::new() };
        for quad in quads {
            let line = Line {
                subject: source.subject(quad.subject),
                predicate: iri(quad.predicate.as_str()),
                object: match quad.object {
                    TermRef::NamedNode(node) => Part::Text(iri(node.as_str())),
                    TermRef::BlankNode(node) => source.blank(node.as_str()),
                    TermRef::Literal(literal) => Part::Text(literal_text(literal)?),
                    TermRef::Triple(_) => return Err(beyond_rdf_1_1()),
                },
                graph: match quad.graph_name {
                    GraphNameRef::DefaultGraph => None,
                    GraphNameRef::NamedNode(node) => Some(source.subject(node.into())),
                    GraphNameRef::BlankNode(node) => Some(source.subject(node.into())),
                },
            };
            source.lines.push(line);
        }
        source.lines.sort_unstable();
        source.lines.dedup();
        Ok(source)
    }

    fn subject(&mut self, node: NamedOrBlankNodeRef<'q>) -> Part {
        match node {
            NamedOrBlankNodeRef::NamedNode(node) => Part::Text(iri(node.as_str())),
            NamedOrBlankNodeRef::BlankNode(node) => self.blank(node.as_str()),
        }
    }

    fn blank(&mut self, label: &'q str) -> Part {
        let next = self.nodes.len();
        Part::Blank(*self.nodes.entry(label).or_insert(next))
    }
}

impl Line {
    /// The quad as a line of N-Quads, its blank nodes written by `name`.
    fn write(&self, name: impl Fn(usize, &mut String)) -> String {
        let mut out = String::with_capacity(192);
        let part = |part: &Part, out: &mut String| match part {
            Part::Blank(node) => name(*node, out),
            Part::Text(text) => out.push_str(text),
        };
        part(&self.subject, &mut out);
        out.push(' ');
        out.push_str(&self.predicate);
        out.push(' ');
        part(&self.object, &mut out);
        if let Some(graph) = &self.graph {
            out.push(' ');
            part(graph, &mut out);
        }
        out.push_str(" .\n");
        out
    }

    /// The blank nodes of the quad with their positions.
    fn blank_nodes(&self) -> impl Iterator<Item = (char, usize)> {
        let parts = [('s', Some(&self.subject)), ('o', Some(&self.object)), ('g', self.graph.as_ref())];
        parts.into_iter().filter_map(|(position, part)| match part {
            Some(Part::Blank(node)) => Some((position, *node)),
            _ => None,
        })
    }
}

/// Issues identifiers in order (RDFC-1.0 4.5).
#[derive(Clone, Default)]
struct Issuer {
    order: Vec<usize>,
    issued: BTreeMap<usize, usize>,
}

impl Issuer {
    fn issued(&self, node: usize) -> Option<usize> {
        self.issued.get(&node).copied()
    }

    fn issue(&mut self, node: usize) -> usize {
        let next = self.order.len();
        let number = *self.issued.entry(node).or_insert(next);
        if number == next {
            self.order.push(node);
        }
        number
    }
}

struct Canonicalizer<'c> {
    /// The quads of each blank node.
    of_node: Vec<Vec<&'c Line>>,
    /// The first-degree hash of each blank node.
    first_degree: Vec<String>,
    canonical: Issuer,
    hash: fn(&str) -> String,
    budget: &'c mut Budget,
}

impl<'c> Canonicalizer<'c> {
    fn new(source: &'c Source<'_>, hash: fn(&str) -> String, budget: &'c mut Budget) -> Self {
        let mut of_node: Vec<Vec<&Line>> = Vec::new();
        of_node.resize_with(source.nodes.len(), Vec::new);
        for line in &source.lines {
            for (_, node) in line.blank_nodes() {
                if let Some(lines) = of_node.get_mut(node)
                    && lines.last().is_none_or(|last| !std::ptr::eq(*last, line))
                {
                    lines.push(line);
                }
            }
        }
        let first_degree =
            of_node.iter().enumerate().map(|(node, lines)| hash(&first_degree(node, lines))).collect();
        Self { of_node, first_degree, canonical: Issuer::default(), hash, budget }
    }

    /// The canonicalization algorithm (4.4.3).
    fn run(mut self) -> Result<Issuer, RdfError> {
        let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (node, hash) in self.first_degree.iter().enumerate() {
            alike.entry(hash).or_default().push(node);
        }
        let mut left = Vec::new();
        for nodes in alike.into_values() {
            match nodes.as_slice() {
                [only] => _ = self.canonical.issue(*only),
                _ => left.push(nodes),
            }
        }
        for nodes in left {
            let mut found = Vec::new();
            for node in nodes {
                if self.canonical.issued(node).is_none() {
                    let mut issuer = Issuer::default();
                    issuer.issue(node);
                    found.push(self.n_degree(node, issuer)?);
                }
            }
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            for node in found.into_iter().flat_map(|(_, issuer)| issuer.order) {
                self.canonical.issue(node);
            }
        }
        Ok(self.canonical)
    }

    /// Hash N-Degree Quads (4.8.3). It recurses as deep as there are calls in the budget.
    fn n_degree(&mut self, node: usize, mut issuer: Issuer) -> Result<(String, Issuer), RdfError> {
        let calls = &mut self.budget.canonicalization_calls;
        *calls = calls.checked_sub(1).ok_or(RdfError::BudgetExceeded)?;
        let mut data = String::new();
        for (hash, related) in self.related(node, &issuer)? {
            data.push_str(&hash);
            let (path, chosen) = self.best_order(&related, issuer)?;
            data.push_str(&path);
            issuer = chosen;
        }
        Ok(((self.hash)(&data), issuer))
    }

    /// The neighbours of a node by their Hash Related Blank Node (4.7.3), each as often as it is one.
    fn related(&mut self, node: usize, issuer: &Issuer) -> Result<BTreeMap<String, Vec<usize>>, RdfError> {
        let mut related: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for line in self.of_node.get(node).cloned().unwrap_or_default() {
            for (position, other) in line.blank_nodes().filter(|(_, other)| *other != node) {
                self.spend(self.of_node.get(other).map_or(0, Vec::len))?;
                let mut input = String::from(position);
                if position != 'g' {
                    input.push_str(&line.predicate);
                }
                if !self.push_issued(&mut input, other, issuer) {
                    input.push_str(self.first_degree.get(other).map_or("", String::as_str));
                }
                related.entry((self.hash)(&input)).or_default().push(other);
            }
        }
        Ok(related)
    }

    /// The least path through nodes of one hash, over all orders of them, and the identifiers that it issued.
    fn best_order(&mut self, nodes: &[usize], issuer: Issuer) -> Result<(String, Issuer), RdfError> {
        let mut order: Vec<(usize, usize)> = nodes.iter().copied().enumerate().collect();
        let mut best: Option<(String, Issuer)> = None;
        loop {
            self.spend(order.len())?;
            let least = best.as_ref().map(|(path, _)| path.as_str());
            if let Some(better) = self.path(&order, issuer.clone(), least)? {
                best = Some(better);
            }
            if !advance(&mut order) {
                return Ok(best.unwrap_or((String::new(), issuer)));
            }
        }
    }

    /// The path of one order, if it is less than the least so far.
    fn path(
        &mut self,
        order: &[(usize, usize)],
        mut issuer: Issuer,
        least: Option<&str>,
    ) -> Result<Option<(String, Issuer)>, RdfError> {
        let is_greater =
            |path: &String| least.is_some_and(|least| path.len() >= least.len() && path.as_str() > least);
        let mut path = String::new();
        let mut recursion = Vec::new();
        for (_, node) in order {
            if !self.push_issued(&mut path, *node, &issuer) {
                recursion.push(*node);
                push_temporary(&mut path, issuer.issue(*node));
            }
            if is_greater(&path) {
                return Ok(None);
            }
        }
        for node in recursion {
            let number = issuer.issue(node);
            let (hash, below) = self.n_degree(node, issuer)?;
            push_temporary(&mut path, number);
            path.push('<');
            path.push_str(&hash);
            path.push('>');
            issuer = below;
            if is_greater(&path) {
                return Ok(None);
            }
        }
        Ok(least.is_none_or(|least| path.as_str() < least).then_some((path, issuer)))
    }

    /// Writes the identifier of a node that has one.
    fn push_issued(&self, out: &mut String, node: usize, issuer: &Issuer) -> bool {
        match (self.canonical.issued(node), issuer.issued(node)) {
            (Some(number), _) => {
                out.push_str("_:c14n");
                push_number(out, number);
                true
            }
            (None, Some(number)) => {
                push_temporary(out, number);
                true
            }
            (None, None) => false,
        }
    }

    fn spend(&mut self, quads: usize) -> Result<(), RdfError> {
        let left = &mut self.budget.serialized_quads;
        *left = left.checked_sub(quads).ok_or(RdfError::BudgetExceeded)?;
        Ok(())
    }
}

/// What Hash First Degree Quads hashes (4.6.3).
fn first_degree(node: usize, lines: &[&Line]) -> String {
    let name = |other, out: &mut String| out.push_str(if other == node { "_:a" } else { "_:z" });
    in_order(lines.iter().map(|line| line.write(name)).collect())
}

/// The next order of distinct items, if there is one.
fn advance<T: Ord>(order: &mut [T]) -> bool {
    let Some(pivot) = order.windows(2).rposition(|pair| pair.first() < pair.last()) else { return false };
    let Some(next) = order.iter().rposition(|item| Some(item) > order.get(pivot)) else { return false };
    order.swap(pivot, next);
    if let Some(tail) = order.get_mut(pivot + 1..) {
        tail.reverse();
    }
    true
}

fn in_order(mut lines: Vec<String>) -> String {
    lines.sort_unstable();
    lines.concat()
}

fn push_temporary(out: &mut String, number: usize) {
    out.push_str("_:b");
    push_number(out, number);
}

fn push_number(out: &mut String, number: usize) {
    // Writing to a string does not fail.
    let _ = write!(out, "{number}");
}

fn hexadecimal<D: Digest>(text: &str) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or_default();
    D::digest(text).iter().flat_map(|octet| [digit(octet >> 4), digit(octet & 15)]).collect()
}

fn iri(iri: &str) -> String {
    ["<", iri, ">"].concat()
}

fn literal_text(literal: LiteralRef<'_>) -> Result<String, RdfError> {
    if literal.direction().is_some() {
        return Err(beyond_rdf_1_1());
    }
    let mut out = String::with_capacity(literal.value().len() + 64);
    out.push('"');
    for character in literal.value().chars() {
        match character {
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\0'..='\u{1f}' | '\u{7f}' => _ = write!(out, "\\u{:04X}", u32::from(character)),
            other => out.push(other),
        }
    }
    out.push('"');
    match literal.language() {
        Some(language) => {
            out.push('@');
            out.push_str(language);
        }
        None if literal.datatype() == oxrdf::vocab::xsd::STRING => (),
        None => {
            out.push_str("^^<");
            out.push_str(literal.datatype().as_str());
            out.push('>');
        }
    }
    Ok(out)
}

fn beyond_rdf_1_1() -> RdfError {
    RdfError::Malformed("RDF 1.2 terms have no canonical form".into())
}

#[cfg(test)]
mod tests;
