//! RDFC-1.0 under a work budget (RDF Dataset Canonicalization 1.0).
//!
//! Written here, because a budget must be counted inside the algorithm, and because labels must follow the order in
//! which temporary ones were issued, of however many: the crate `rdf-canon` sorts them as text, `b10` before `b2`.

use super::{Budget, RdfError};
use oxrdf::{BlankNodeRef, Graph, GraphNameRef, NamedOrBlankNodeRef, Quad, QuadRef, TermRef};
use sha2::{Digest, Sha256, Sha384};
use std::collections::{BTreeMap, HashMap, HashSet};
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
    let distinct: HashSet<_> = quads.iter().map(Quad::as_ref).collect();
    canonical(&distinct.into_iter().collect::<Vec<_>>(), hash, budget)
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
    canonical(&dataset.iter().collect::<Vec<_>>(), hash, budget)
}

/// Canonical N-Quads of a graph.
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
pub(crate) fn graph(graph: &Graph, budget: &mut Budget) -> Result<String, RdfError> {
    let quads: Vec<_> = graph.iter().map(|triple| triple.in_graph(GraphNameRef::DefaultGraph)).collect();
    canonical(&quads, HashAlgorithm::Sha256, budget)
}

/// Canonical N-Quads of distinct quads.
fn canonical(quads: &[QuadRef<'_>], hash: HashAlgorithm, budget: &mut Budget) -> Result<String, RdfError> {
    let labels = labels(quads, hash, budget)?;
    let label = |node: BlankNodeRef<'_>| labels.get(node.as_str()).map_or("", String::as_str);
    let mut lines: Vec<String> = quads.iter().map(|quad| line(*quad, label)).collect();
    lines.sort_unstable();
    Ok(lines.concat())
}

/// The canonical issuer's map (4.4): from labels of the quads to canonical labels.
fn labels(
    quads: &[QuadRef<'_>],
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<HashMap<String, String>, RdfError> {
    budget.canonicalizations = budget.canonicalizations.checked_sub(1).ok_or(RdfError::BudgetExceeded)?;
    let mut state = State::new(quads, hash);
    state.issue_all(budget)?;
    let canonical = state.canonical.nodes.iter().enumerate();
    Ok(canonical
        .filter_map(|(number, node)| Some(((*state.names.get(*node)?).to_owned(), format!("c14n{number}"))))
        .collect())
}

/// A blank node, by its place in [`State::names`].
type Node = usize;

/// The canonicalization state (4.3).
struct State<'q> {
    hash: HashAlgorithm,
    names: Vec<&'q str>,
    /// The quads that each node is a component of.
    quads: Vec<Vec<Related<'q>>>,
    /// The first-degree hash of each node (4.6).
    first_degree: Vec<String>,
    canonical: Issuer,
}

/// A quad of a node, as Hash N-Degree Quads reads it: the predicate, and its blank nodes with their positions.
struct Related<'q> {
    predicate: &'q str,
    nodes: Vec<(char, Node)>,
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
    fn new(quads: &[QuadRef<'q>], hash: HashAlgorithm) -> Self {
        let mut places: HashMap<&str, Node> = HashMap::new();
        let mut state =
            Self { hash, names: vec![], quads: vec![], first_degree: vec![], canonical: Issuer::default() };
        let mut lines: Vec<Vec<String>> = Vec::new();
        for quad in quads.iter().copied() {
            let blank: Vec<_> = blank_nodes(quad)
                .map(|(position, name)| {
                    let node = *places.entry(name).or_insert_with(|| {
                        state.names.push(name);
                        state.quads.push(Vec::new());
                        lines.push(Vec::new());
                        state.names.len() - 1
                    });
                    (position, node)
                })
                .collect();
            let mut nodes: Vec<_> = blank.iter().map(|(_, node)| *node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            for node in nodes {
                let name = state.names.get(node).copied().unwrap_or_default();
                let own = |other: BlankNodeRef<'_>| if other.as_str() == name { "a" } else { "z" };
                if let (Some(quads), Some(lines)) = (state.quads.get_mut(node), lines.get_mut(node)) {
                    quads.push(Related { predicate: quad.predicate.as_str(), nodes: blank.clone() });
                    lines.push(line(quad, own));
                }
            }
        }
        for mut lines in lines {
            lines.sort_unstable();
            state.first_degree.push(state.digest(&lines.concat()));
        }
        state
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
        for quad in self.quads.get(node).into_iter().flatten() {
            spend(budget, 1)?;
            for (position, related) in quad.nodes.iter().filter(|(_, related)| *related != node) {
                let hash = self.related(*related, quad.predicate, issuer, *position);
                neighbours.entry(hash).or_default().push(*related);
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
        if !self.push_label(&mut input, node, issuer) {
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
            if !self.push_label(&mut path, *node, &issuer) {
                pending.push(*node);
                push(&mut path, 'b', issuer.issue(*node));
            }
            if exceeds(&path) {
                return Ok(None);
            }
        }
        for node in pending {
            let (hash, after) = self.n_degree(node, issuer.clone(), depth + 1, budget)?;
            push(&mut path, 'b', issuer.issue(node));
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
    fn push_label(&self, text: &mut String, node: Node, issuer: &Issuer) -> bool {
        match (self.canonical.place(node), issuer.place(node)) {
            (Some(place), _) => push(text, 'c', place),
            (None, Some(place)) => push(text, 'b', place),
            (None, None) => return false,
        }
        true
    }

    fn digest(&self, text: &str) -> String {
        let mut hexadecimal = String::new();
        let octets = match self.hash {
            HashAlgorithm::Sha256 => Sha256::digest(text).to_vec(),
            HashAlgorithm::Sha384 => Sha384::digest(text).to_vec(),
        };
        for octet in octets {
            // Writing to a String cannot fail.
            let _ = write!(hexadecimal, "{octet:02x}");
        }
        hexadecimal
    }
}

/// Writes a label: `_:c14n0` or `_:b0`.
fn push(text: &mut String, prefix: char, place: usize) {
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

/// The blank nodes of a quad with their RDFC-1.0 position.
fn blank_nodes<'q>(quad: QuadRef<'q>) -> impl Iterator<Item = (char, &'q str)> + use<'q> {
    let subject = match quad.subject {
        NamedOrBlankNodeRef::BlankNode(node) => Some(('s', node.as_str())),
        NamedOrBlankNodeRef::NamedNode(_) => None,
    };
    let object = match quad.object {
        TermRef::BlankNode(node) => Some(('o', node.as_str())),
        _ => None,
    };
    let graph = match quad.graph_name {
        GraphNameRef::BlankNode(node) => Some(('g', node.as_str())),
        _ => None,
    };
    subject.into_iter().chain(object).chain(graph)
}

/// A quad's line of canonical N-Quads, its blank nodes labelled by `label`.
fn line<'l>(quad: QuadRef<'_>, label: impl Fn(BlankNodeRef<'_>) -> &'l str) -> String {
    let mut line = String::new();
    // Writing to a String cannot fail.
    let _ = match quad.subject {
        NamedOrBlankNodeRef::BlankNode(node) => write!(line, "_:{}", label(node)),
        NamedOrBlankNodeRef::NamedNode(node) => write!(line, "{node}"),
    };
    let _ = write!(line, " {} ", quad.predicate);
    let _ = match quad.object {
        TermRef::BlankNode(node) => write!(line, "_:{}", label(node)),
        other => write!(line, "{other}"),
    };
    let _ = match quad.graph_name {
        GraphNameRef::BlankNode(node) => write!(line, " _:{}", label(node)),
        GraphNameRef::NamedNode(node) => write!(line, " {node}"),
        GraphNameRef::DefaultGraph => Ok(()),
    };
    line.push_str(" .\n");
    line
}

#[cfg(test)]
mod tests;
