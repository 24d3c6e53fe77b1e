//! RDFC-1.0 under a work budget (RDF Dataset Canonicalization 1.0).
//!
//! Written here, because a budget must be counted inside the algorithm, and because labels must follow the order in
//! which temporary ones were issued, of however many: the crate `rdf-canon` sorts them as text, `b10` before `b2`.

use super::{Budget, RdfError};
use oxrdf::{BlankNodeRef, Graph, GraphNameRef, NamedOrBlankNodeRef, Quad, QuadRef, TermRef};
use sha2::{Digest, Sha256, Sha384};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// Steps that all calls of Hash N-Degree Quads for one message may take: a quad of a call, or a node of an order that
/// is gone through. A call hashes all quads of its node and goes through the orders of its neighbours, so a count of
/// calls alone would not bound the work. The costliest W3C entry that is to pass takes half.
pub(super) const STEPS: usize = 1 << 14;

/// Calls of Hash N-Degree Quads within each other, each a few stack frames. The nodes of a real paper that are alike are
/// alike a few steps deep.
const DEPTH: usize = 128;

/// The hash that RDFC-1.0 uses internally and the caller uses on the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HashAlgorithm {
    /// The default of RDFC-1.0.
    Sha256,
    /// For P-384 (vc-di-ecdsa 3) and some W3C tests.
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
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
#[cfg(test)]
pub(crate) fn dataset(
    dataset: &oxrdf::Dataset,
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<String, RdfError> {
    canonical(dataset.iter(), hash, budget)
}

/// Canonical N-Quads of a graph.
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
pub(crate) fn graph(graph: &Graph, budget: &mut Budget) -> Result<String, RdfError> {
    let quads = graph.iter().map(|triple| triple.in_graph(GraphNameRef::DefaultGraph));
    canonical(quads, HashAlgorithm::Sha256, budget)
}

/// Canonical N-Quads of the dataset of these quads.
fn canonical<'q>(
    quads: impl Iterator<Item = QuadRef<'q>>,
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<String, RdfError> {
    let state = issued(quads, hash, budget)?;
    let label = |text: &mut String, node: Node| {
        if let Some(place) = state.canonical.place(node) {
            push_label(text, 'c', place);
        }
    };
    let mut lines: Vec<String> = state.lines.iter().map(|line| line.written(label)).collect();
    lines.sort_unstable();
    Ok(lines.concat())
}

/// The state with its canonical issuer complete (4.4).
fn issued<'q>(
    quads: impl Iterator<Item = QuadRef<'q>>,
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<State<'q>, RdfError> {
    budget.canonicalizations = budget.canonicalizations.checked_sub(1).ok_or(RdfError::BudgetExceeded)?;
    let mut state = State::new(quads, hash);
    state.issue_all(budget)?;
    Ok(state)
}

/// A blank node, by its place in [`State::names`].
type Node = usize;

/// The canonicalization state (4.3).
struct State<'q> {
    hash: HashAlgorithm,
    lines: Vec<Line<'q>>,
    names: Vec<&'q str>,
    /// The lines that each node is a component of, by their places.
    quads: Vec<Vec<usize>>,
    /// The first-degree hash of each node (4.6).
    first_degree: Vec<String>,
    canonical: Issuer,
}

/// A quad as its line of canonical N-Quads, written once: only the labels of its blank nodes are left out.
struct Line<'q> {
    text: String,
    predicate: &'q str,
    blank: Vec<Blank<'q>>,
}

/// A blank node of a quad.
struct Blank<'q> {
    /// Where its label belongs in the line's text.
    at: usize,
    /// Its RDFC-1.0 position.
    position: char,
    name: &'q str,
    node: Node,
}

/// An identifier issuer (4.5): labels are the nodes' places in order of issue.
#[derive(Clone, Default)]
struct Issuer {
    nodes: Vec<Node>,
    places: HashMap<Node, usize>,
}

impl Issuer {
    fn place(&self, node: Node) -> Option<usize> {
        self.places.get(&node).copied()
    }

    fn issue(&mut self, node: Node) -> usize {
        let next = self.nodes.len();
        let place = *self.places.entry(node).or_insert(next);
        if place == next {
            self.nodes.push(node);
        }
        place
    }
}

impl<'q> State<'q> {
    fn new(quads: impl Iterator<Item = QuadRef<'q>>, hash: HashAlgorithm) -> Self {
        let mut lines: Vec<Line<'q>> = quads.map(Line::of).collect();
        // In one order, however the quads came, so that equal datasets take equal work. A dataset is a set.
        lines.sort_unstable_by(|one, other| one.key().cmp(other.key()));
        lines.dedup_by(|one, other| one.key().eq(other.key()));
        let mut state = Self {
            hash,
            lines,
            names: vec![],
            quads: vec![],
            first_degree: vec![],
            canonical: Issuer::default(),
        };
        state.number();
        for node in 0..state.names.len() {
            let hash = state.first_degree(node);
            state.first_degree.push(hash);
        }
        state
    }

    /// Gives each blank node its place, in order of appearance.
    fn number(&mut self) {
        let mut places: HashMap<&str, Node> = HashMap::new();
        for (place, line) in self.lines.iter_mut().enumerate() {
            for blank in &mut line.blank {
                blank.node = *places.entry(blank.name).or_insert_with(|| {
                    self.names.push(blank.name);
                    self.quads.push(Vec::new());
                    self.names.len() - 1
                });
                if let Some(own) = self.quads.get_mut(blank.node)
                    && own.last() != Some(&place)
                {
                    own.push(place);
                }
            }
        }
    }

    /// The lines of a node.
    fn lines_of(&self, node: Node) -> impl Iterator<Item = &Line<'q>> {
        self.quads.get(node).into_iter().flatten().filter_map(|place| self.lines.get(*place))
    }

    /// Hash First Degree Quads (4.6).
    fn first_degree(&self, node: Node) -> String {
        let own = |text: &mut String, other: Node| text.push_str(if other == node { "_:a" } else { "_:z" });
        let mut lines: Vec<String> = self.lines_of(node).map(|line| line.written(own)).collect();
        lines.sort_unstable();
        self.digest(&lines.concat())
    }

    /// The algorithm's steps 4 and 5: nodes with a first-degree hash of their own, then the others.
    fn issue_all(&mut self, budget: &mut Budget) -> Result<(), RdfError> {
        let mut alike: BTreeMap<&str, Vec<Node>> = BTreeMap::new();
        for (node, hash) in self.first_degree.iter().enumerate() {
            alike.entry(hash).or_default().push(node);
        }
        let (single, shared): (Vec<_>, Vec<_>) = alike.into_values().partition(|nodes| nodes.len() == 1);
        for node in single.into_iter().flatten() {
            self.canonical.issue(node);
        }
        for nodes in shared {
            let mut paths = Vec::new();
            for node in nodes {
                if self.canonical.place(node).is_none() {
                    let mut issuer = Issuer::default();
                    issuer.issue(node);
                    paths.push(self.n_degree(node, issuer, 1, budget)?);
                }
            }
            // Equal hashes are of nodes that an automorphism exchanges: their order changes nothing.
            paths.sort_by(|one, other| one.0.cmp(&other.0));
            for node in paths.into_iter().flat_map(|(_, issuer)| issuer.nodes) {
                self.canonical.issue(node);
            }
        }
        Ok(())
    }

    /// Hash N-Degree Quads (4.8).
    fn n_degree(
        &self,
        node: Node,
        mut issuer: Issuer,
        depth: usize,
        budget: &mut Budget,
    ) -> Result<(String, Issuer), RdfError> {
        if depth > DEPTH {
            return Err(RdfError::BudgetExceeded);
        }
        let calls = budget.canonicalization_calls.checked_sub(1);
        budget.canonicalization_calls = calls.ok_or(RdfError::BudgetExceeded)?;
        let mut data = String::new();
        for (hash, neighbours) in self.neighbours(node, &issuer, budget)? {
            data.push_str(&hash);
            let (path, chosen) = self.shortest(neighbours, issuer, depth, budget)?;
            data.push_str(&path);
            issuer = chosen;
        }
        Ok((self.digest(&data), issuer))
    }

    /// The node's neighbours by related hash (4.8 step 3).
    fn neighbours(
        &self,
        node: Node,
        issuer: &Issuer,
        budget: &mut Budget,
    ) -> Result<BTreeMap<String, Vec<Node>>, RdfError> {
        let mut neighbours: BTreeMap<String, Vec<Node>> = BTreeMap::new();
        for line in self.lines_of(node) {
            spend(budget, 1)?;
            for blank in line.blank.iter().filter(|blank| blank.node != node) {
                let hash = self.related(blank.node, line.predicate, issuer, blank.position);
                neighbours.entry(hash).or_default().push(blank.node);
            }
        }
        Ok(neighbours)
    }

    /// Hash Related Blank Node (4.7).
    fn related(&self, node: Node, predicate: &str, issuer: &Issuer, position: char) -> String {
        let mut input = String::from(position);
        if position != 'g' {
            input.push('<');
            input.push_str(predicate);
            input.push('>');
        }
        if !self.push_known_label(&mut input, node, issuer) {
            input.push_str(self.first_degree.get(node).map_or("", String::as_str));
        }
        self.digest(&input)
    }

    /// The least path over all orders of alike neighbours, with the issuer that wrote it (4.8 step 5.4).
    fn shortest(
        &self,
        mut order: Vec<Node>,
        issuer: Issuer,
        depth: usize,
        budget: &mut Budget,
    ) -> Result<(String, Issuer), RdfError> {
        order.sort_unstable();
        let mut least: Option<(String, Issuer)> = None;
        loop {
            spend(budget, order.len())?;
            let bound = least.as_ref().map(|(path, _)| path.as_str());
            if let Some(found) = self.path(&order, issuer.clone(), bound, depth, budget)? {
                least = Some(found);
            }
            if !next_order(&mut order) {
                return Ok(least.unwrap_or((String::new(), issuer)));
            }
        }
    }

    /// The path of one order; `None` where it is not less than `bound`.
    fn path(
        &self,
        order: &[Node],
        mut issuer: Issuer,
        bound: Option<&str>,
        depth: usize,
        budget: &mut Budget,
    ) -> Result<Option<(String, Issuer)>, RdfError> {
        let exceeds = |path: &str| bound.is_some_and(|bound| path.len() >= bound.len() && path > bound);
        let mut path = String::new();
        let mut pending = Vec::new();
        for node in order {
            if !self.push_known_label(&mut path, *node, &issuer) {
                pending.push(*node);
                push_label(&mut path, 'b', issuer.issue(*node));
            }
            if exceeds(&path) {
                return Ok(None);
            }
        }
        for node in pending {
            let (hash, after) = self.n_degree(node, issuer.clone(), depth + 1, budget)?;
            push_label(&mut path, 'b', issuer.issue(node));
            path.push('<');
            path.push_str(&hash);
            path.push('>');
            issuer = after;
            if exceeds(&path) {
                return Ok(None);
            }
        }
        Ok(bound.is_none_or(|bound| path.as_str() < bound).then_some((path, issuer)))
    }

    /// Writes the node's canonical label or else the one of `issuer`, if it has either.
    fn push_known_label(&self, text: &mut String, node: Node, issuer: &Issuer) -> bool {
        match (self.canonical.place(node), issuer.place(node)) {
            (Some(place), _) => push_label(text, 'c', place),
            (None, Some(place)) => push_label(text, 'b', place),
            (None, None) => return false,
        }
        true
    }

    fn digest(&self, text: &str) -> String {
        match self.hash {
            HashAlgorithm::Sha256 => hexadecimal(&Sha256::digest(text)),
            HashAlgorithm::Sha384 => hexadecimal(&Sha384::digest(text)),
        }
    }
}

/// Writes a label: `_:c14n0` or `_:b0`.
fn push_label(text: &mut String, prefix: char, place: usize) {
    let prefix = if prefix == 'c' { "c14n" } else { "b" };
    // Writing to a String cannot fail.
    let _ = write!(text, "_:{prefix}{place}");
}

fn spend(budget: &mut Budget, steps: usize) -> Result<(), RdfError> {
    let left = budget.canonicalization_steps.checked_sub(steps);
    budget.canonicalization_steps = left.ok_or(RdfError::BudgetExceeded)?;
    Ok(())
}

/// The next order of the items, each order of equal ones counting once; false after the last.
fn next_order(items: &mut [Node]) -> bool {
    let rises = |items: &[Node], at: usize| items.get(at).zip(items.get(at + 1)).is_some_and(|(a, b)| a < b);
    let Some(pivot) = (0..items.len()).rev().find(|at| rises(items, *at)) else { return false };
    let greater = |at: &usize| items.get(*at) > items.get(pivot);
    let Some(swap) = (pivot..items.len()).rev().find(greater) else { return false };
    items.swap(pivot, swap);
    if let Some(tail) = items.get_mut(pivot + 1..) {
        tail.reverse();
    }
    true
}

impl<'q> Line<'q> {
    fn of(quad: QuadRef<'q>) -> Self {
        let mut line = Self { text: String::new(), predicate: quad.predicate.as_str(), blank: Vec::new() };
        match quad.subject {
            NamedOrBlankNodeRef::BlankNode(node) => line.leave_out('s', node),
            NamedOrBlankNodeRef::NamedNode(node) => line.push_iri(node.as_str()),
        }
        line.text.push(' ');
        line.push_iri(quad.predicate.as_str());
        line.text.push(' ');
        match quad.object {
            TermRef::BlankNode(node) => line.leave_out('o', node),
            TermRef::NamedNode(node) => line.push_iri(node.as_str()),
            other => {
                // Writing to a String cannot fail.
                let _ = write!(line.text, "{other}");
            }
        }
        match quad.graph_name {
            GraphNameRef::BlankNode(node) => {
                line.text.push(' ');
                line.leave_out('g', node);
            }
            GraphNameRef::NamedNode(node) => {
                line.text.push(' ');
                line.push_iri(node.as_str());
            }
            GraphNameRef::DefaultGraph => (),
        }
        line.text.push_str(" .\n");
        line
    }

    fn push_iri(&mut self, iri: &str) {
        self.text.push('<');
        self.text.push_str(iri);
        self.text.push('>');
    }

    fn leave_out(&mut self, position: char, node: BlankNodeRef<'q>) {
        self.blank.push(Blank { at: self.text.len(), position, name: node.as_str(), node: 0 });
    }

    /// What tells the line from those of other quads.
    fn key(&self) -> impl Iterator<Item = (usize, &str)> {
        let blank = self.blank.iter().map(|blank| (blank.at, blank.name));
        std::iter::once((0, self.text.as_str())).chain(blank)
    }

    /// The line, its blank nodes labelled by `label`.
    fn written(&self, label: impl Fn(&mut String, Node)) -> String {
        let mut line = String::with_capacity(self.text.len() + 8 * self.blank.len());
        let mut from = 0;
        for blank in &self.blank {
            line.push_str(self.text.get(from..blank.at).unwrap_or_default());
            label(&mut line, blank.node);
            from = blank.at;
        }
        line.push_str(self.text.get(from..).unwrap_or_default());
        line
    }
}

fn hexadecimal(octets: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    octets.iter().flat_map(|octet| [digit(octet >> 4), digit(octet & 15)]).collect()
}

#[cfg(test)]
mod tests;
