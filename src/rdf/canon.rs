//! RDFC-1.0 under a work budget (RDF Dataset Canonicalization 1.0).
//!
//! Written here, because a budget must be counted inside the algorithm, and because labels must follow the order in
//! which temporary ones were issued, of however many: the crate `rdf-canon` sorts them as text, `b10` before `b2`.

use super::{Budget, RdfError};
use oxrdf::{BlankNode, BlankNodeRef, Graph, GraphNameRef, NamedOrBlankNodeRef, Quad, QuadRef, TermRef};
use sha2::{Digest, Sha256, Sha384};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::ops::Range;

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
    canonical(quads.iter().map(Quad::as_ref), &[], hash, budget)
}

/// A dataset that is partly prepared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Composite<'q> {
    /// The quads that are not.
    pub(crate) own: &'q [Quad],
    /// Each part, with the label that its graph has in `own`. They share no other blank node.
    pub(crate) parts: &'q [(BlankNode, &'q Part)],
}

/// Canonical N-Quads of a dataset that is partly prepared: what [`quads`] makes of all its quads.
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
pub(crate) fn composite(
    dataset: Composite<'_>,
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<String, RdfError> {
    canonical(dataset.own.iter().map(Quad::as_ref), dataset.parts, hash, budget)
}

/// Quads whose blank nodes nothing else speaks of, but for the one that names their graph. So what RDFC-1.0 first hashes
/// of the others is theirs alone, whatever the part becomes a part of.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    lines: Vec<Line<Node>>,
    /// The first-degree hashes of its nodes, with SHA-256. That of its graph's name, the first, is of the part alone.
    first_degree: Vec<String>,
}

impl Part {
    /// Prepares quads; `graph` is the label that may be spoken of elsewhere.
    pub(crate) fn new(quads: &[Quad], graph: &BlankNode) -> Self {
        let mut places = Places::default();
        places.place(graph.as_str());
        let lines = lines(quads.iter().map(Quad::as_ref), &mut places);
        let state = State::new(&lines, &[], places.next, HashAlgorithm::Sha256);
        let first_degree = state.first_degree.into_iter().map(Cow::into_owned).collect();
        Self { lines, first_degree }
    }

    /// The octets that it takes in memory, about.
    pub(crate) fn octets(&self) -> usize {
        let of_line = |line: &Line<Node>| {
            line.text.len() + size_of::<Line<Node>>() + line.blank.len() * size_of::<Blank<Node>>()
        };
        let of_hash = |hash: &String| hash.len() + size_of::<String>();
        self.lines.iter().map(of_line).sum::<usize>() + self.first_degree.iter().map(of_hash).sum::<usize>()
    }
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
    canonical(dataset.iter(), &[], hash, budget)
}

/// Canonical N-Quads of a graph.
///
/// # Errors
/// [`RdfError::BudgetExceeded`]; what was spent stays spent.
pub(crate) fn graph(graph: &Graph, budget: &mut Budget) -> Result<String, RdfError> {
    let quads = graph.iter().map(|triple| triple.in_graph(GraphNameRef::DefaultGraph));
    canonical(quads, &[], HashAlgorithm::Sha256, budget)
}

/// Canonical N-Quads of the dataset of these quads and parts.
fn canonical<'q>(
    own: impl Iterator<Item = QuadRef<'q>>,
    parts: &'q [(BlankNode, &'q Part)],
    hash: HashAlgorithm,
    budget: &mut Budget,
) -> Result<String, RdfError> {
    let mut places = Places::of_parts(parts);
    let own = lines(own, &mut places);
    let state = issued(State::new(&own, parts, places.next, hash), budget)?;
    let label = |text: &mut String, node: Node| {
        if let Some(place) = state.canonical.place(node) {
            push_label(text, 'c', place);
        }
    };
    Ok(sorted(state.lines.iter().copied(), label))
}

/// The state with its canonical issuer complete (4.4).
fn issued<'l>(mut state: State<'l>, budget: &mut Budget) -> Result<State<'l>, RdfError> {
    budget.canonicalizations = budget.canonicalizations.checked_sub(1).ok_or(RdfError::BudgetExceeded)?;
    state.issue_all(budget)?;
    Ok(state)
}

/// A blank node: its place among all of the dataset, or of its part.
type Node = usize;

/// The places of blank nodes by label.
#[derive(Debug, Default)]
struct Places<'q> {
    of: HashMap<&'q str, Node>,
    next: Node,
}

impl<'q> Places<'q> {
    /// Those of the parts' nodes, part by part. Only the names of their graphs are labels for others.
    fn of_parts(parts: &'q [(BlankNode, &'q Part)]) -> Self {
        let mut places = Self::default();
        for (graph, part) in parts {
            places.of.insert(graph.as_str(), places.next);
            places.next += part.first_degree.len();
        }
        places
    }

    fn place(&mut self, label: &'q str) -> Node {
        let place = *self.of.entry(label).or_insert(self.next);
        if place == self.next {
            self.next += 1;
        }
        place
    }
}

/// The lines of quads in one order, however the quads came, so that equal datasets take equal work. A dataset is a set.
fn lines<'q>(quads: impl Iterator<Item = QuadRef<'q>>, places: &mut Places<'q>) -> Vec<Line<Node>> {
    let mut lines: Vec<Line<&'q str>> = quads.map(Line::of).collect();
    lines.sort_unstable_by(|one, other| one.key().cmp(other.key()));
    lines.dedup_by(|one, other| one.key().eq(other.key()));
    lines.into_iter().map(|line| line.numbered(|label| places.place(label))).collect()
}

/// These lines with these labels, sorted, as one text.
fn sorted<'l>(lines: impl Iterator<Item = Placed<'l>>, label: impl Fn(&mut String, Node)) -> String {
    let mut text = String::new();
    let mut ranges = Vec::new();
    for line in lines {
        let from = text.len();
        line.write(&mut text, &label);
        ranges.push(from..text.len());
    }
    let line = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
    // Mostly in order already, which this sort makes use of.
    ranges.sort_by(|one, other| line(one).cmp(line(other)));
    let mut sorted = String::with_capacity(text.len());
    ranges.iter().for_each(|range| sorted.push_str(line(range)));
    sorted
}

/// The canonicalization state (4.3).
struct State<'l> {
    hash: HashAlgorithm,
    lines: Vec<Placed<'l>>,
    /// The lines that each node is a component of, by their places.
    quads: Vec<Vec<usize>>,
    /// The first-degree hash of each node (4.6).
    first_degree: Vec<Cow<'l, str>>,
    canonical: Issuer,
}

/// A quad as its line of canonical N-Quads, written once: only the labels of its blank nodes are left out.
#[derive(Debug, Clone)]
struct Line<N> {
    text: String,
    /// Where its predicate stands in the text, brackets and all.
    predicate: Range<usize>,
    blank: Vec<Blank<N>>,
}

/// A blank node of a quad.
#[derive(Debug, Clone)]
struct Blank<N> {
    /// Where its label belongs in the line's text.
    at: usize,
    /// Its RDFC-1.0 position.
    position: char,
    /// Its label as it came, or its place.
    node: N,
}

/// A line in its dataset.
#[derive(Debug, Clone, Copy)]
struct Placed<'l> {
    line: &'l Line<Node>,
    /// The place of the first node of its part.
    first: Node,
}

impl<'l> Placed<'l> {
    /// The line's blank nodes, each with its position.
    fn blank(self) -> impl Iterator<Item = (Node, char)> + 'l {
        self.line.blank.iter().map(move |blank| (self.first + blank.node, blank.position))
    }

    fn predicate(self) -> &'l str {
        self.line.text.get(self.line.predicate.clone()).unwrap_or_default()
    }

    /// Writes the line, its blank nodes labelled by `label`.
    fn write(self, text: &mut String, label: impl Fn(&mut String, Node)) {
        let mut from = 0;
        for blank in &self.line.blank {
            text.push_str(self.line.text.get(from..blank.at).unwrap_or_default());
            label(text, self.first + blank.node);
            from = blank.at;
        }
        text.push_str(self.line.text.get(from..).unwrap_or_default());
    }
}

/// An identifier issuer (4.5): labels are the nodes' places in order of issue.
#[derive(Clone, Default)]
struct Issuer {
    nodes: Vec<Node>,
    places: BTreeMap<Node, usize>,
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

impl<'l> State<'l> {
    /// Of `own` lines and parts, which have so many nodes together.
    fn new(
        own: &'l [Line<Node>],
        parts: &[(BlankNode, &'l Part)],
        nodes: usize,
        hash: HashAlgorithm,
    ) -> Self {
        let mut state =
            Self { hash, lines: vec![], quads: vec![], first_degree: vec![], canonical: Issuer::default() };
        let mut known: Vec<Option<&'l str>> = Vec::with_capacity(nodes);
        for (_, part) in parts {
            let first = known.len();
            state.lines.extend(part.lines.iter().map(|line| Placed { line, first }));
            // The name of its graph is in other quads too.
            known.push(None);
            known.extend(part.first_degree.iter().skip(1).map(|hash| Some(hash.as_str())));
        }
        state.lines.extend(own.iter().map(|line| Placed { line, first: 0 }));
        known.resize(nodes, None);
        state.note_lines(nodes);
        for (node, known) in known.into_iter().enumerate() {
            let hash = match known.filter(|_| hash == HashAlgorithm::Sha256) {
                Some(known) => Cow::Borrowed(known),
                None => Cow::Owned(state.hash_first_degree(node)),
            };
            state.first_degree.push(hash);
        }
        state
    }

    /// Notes the lines of each node.
    fn note_lines(&mut self, nodes: usize) {
        self.quads.resize(nodes, Vec::new());
        for (place, line) in self.lines.iter().enumerate() {
            for (node, _) in line.blank() {
                if let Some(own) = self.quads.get_mut(node)
                    && own.last() != Some(&place)
                {
                    own.push(place);
                }
            }
        }
    }

    /// The lines of a node.
    fn lines_of(&self, node: Node) -> impl Iterator<Item = Placed<'l>> {
        self.quads.get(node).into_iter().flatten().filter_map(|place| self.lines.get(*place).copied())
    }

    /// Hash First Degree Quads (4.6).
    fn hash_first_degree(&self, node: Node) -> String {
        let own = |text: &mut String, other: Node| text.push_str(if other == node { "_:a" } else { "_:z" });
        self.digest(&sorted(self.lines_of(node), own))
    }

    /// The algorithm's steps 4 and 5: nodes with a first-degree hash of their own, then the others.
    fn issue_all(&mut self, budget: &mut Budget) -> Result<(), RdfError> {
        let mut alike: BTreeMap<&str, Vec<Node>> = BTreeMap::new();
        for (node, hash) in self.first_degree.iter().enumerate() {
            alike.entry(hash.as_ref()).or_default().push(node);
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
            for (other, position) in line.blank().filter(|(other, _)| *other != node) {
                let hash = self.related(other, line.predicate(), issuer, position);
                neighbours.entry(hash).or_default().push(other);
            }
        }
        Ok(neighbours)
    }

    /// Hash Related Blank Node (4.7).
    fn related(&self, node: Node, predicate: &str, issuer: &Issuer, position: char) -> String {
        let mut input = String::from(position);
        if position != 'g' {
            input.push_str(predicate);
        }
        if !self.push_known_label(&mut input, node, issuer) {
            input.push_str(self.first_degree.get(node).map_or("", Cow::as_ref));
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

impl<'q> Line<&'q str> {
    fn of(quad: QuadRef<'q>) -> Self {
        let mut line = Self { text: String::new(), predicate: 0..0, blank: Vec::new() };
        match quad.subject {
            NamedOrBlankNodeRef::BlankNode(node) => line.leave_out('s', node),
            NamedOrBlankNodeRef::NamedNode(node) => line.push_iri(node.as_str()),
        }
        line.text.push(' ');
        let from = line.text.len();
        line.push_iri(quad.predicate.as_str());
        line.predicate = from..line.text.len();
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
        self.blank.push(Blank { at: self.text.len(), position, node: node.as_str() });
    }

    /// What tells the line from those of other quads.
    fn key(&self) -> impl Iterator<Item = (usize, &str)> {
        let blank = self.blank.iter().map(|blank| (blank.at, blank.node));
        std::iter::once((0, self.text.as_str())).chain(blank)
    }

    fn numbered(self, mut place: impl FnMut(&'q str) -> Node) -> Line<Node> {
        let numbered = |blank: Blank<&'q str>| {
            let Blank { at, position, node } = blank;
            Blank { at, position, node: place(node) }
        };
        let Self { text, predicate, blank } = self;
        Line { text, predicate, blank: blank.into_iter().map(numbered).collect() }
    }
}

fn hexadecimal(octets: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    let mut text = String::with_capacity(2 * octets.len());
    for octet in octets {
        text.push(digit(octet >> 4));
        text.push(digit(octet & 15));
    }
    text
}

#[cfg(test)]
mod tests;
