//! What a run of compiled shapes can cost at most, from the shapes alone and the size of the data (SEC-14, SEC-15).
//!
//! Shapes are walked from the roots and targets down, each after all that lead to it. What is passed on is how often a
//! shape is asked about a resource and about a literal. The engine remembers what it found of a resource, so that a
//! shape does its work at most once for each; of a literal it remembers nothing, so that a subshape which several
//! shapes share multiplies there. Each term is the one that `engine.rs` charges: the estimate is never below the run,
//! which a property holds it to.

use super::engine::{Extent, component_cost, holding_cost, result_cost};
use super::syntax::TargetSelector;
use oxrdf::Term;
use rudof_rdf::rdf_core::SHACLPath;
use rudof_rdf::rdf_core::term::Object;
use shacl::ir::{IRComponent, IRSchema, IRShape, ShapeLabelIdx};
use std::collections::{BTreeMap, HashMap};

/// The size of a data graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) triples: usize,
    /// IRIs and blank nodes that are a subject or an object.
    pub(crate) resources: usize,
    /// Literals that are an object.
    pub(crate) literals: usize,
    /// The most triples that share a subject, or an object.
    pub(crate) fan: usize,
    /// Octets of the longest term.
    pub(crate) term_octets: usize,
}

/// How often a shape is asked.
#[derive(Debug, Clone, Copy, Default)]
struct Calls {
    resources: usize,
    literals: usize,
    /// Whether one may be asked twice about one resource.
    again: bool,
    sites: usize,
}

/// What a shape is asked, all in all.
#[derive(Debug, Clone, Copy)]
struct Asked {
    calls: Calls,
    /// Focus nodes that it does its work for.
    focus: usize,
    /// Value nodes of all of them.
    values: usize,
}

/// What a shape may find of one node, or of several.
#[derive(Debug, Clone, Copy, Default)]
struct Results {
    /// Results, their details included.
    held: usize,
    violations: usize,
}

struct Estimate<'a> {
    schema: &'a IRSchema,
    size: Size,
    extent: Extent,
    /// Resources that a shape can be asked about: those of the data, and those that only a target names.
    resources: usize,
    results: HashMap<ShapeLabelIdx, Results>,
    /// Children after parents once it is reversed.
    order: Vec<ShapeLabelIdx>,
}

/// Steps at most; `usize::MAX` stands for more than can be counted.
pub(super) fn steps_at_most(
    schema: &IRSchema,
    roots: &[Object],
    targeting: &[(Object, Vec<TargetSelector>)],
    size: Size,
) -> usize {
    let named = targeting.iter().flat_map(|(_, targets)| targets).filter(|target| is_named(target)).count();
    let terms = size.resources.saturating_add(size.literals).saturating_add(1);
    let mut estimate = Estimate {
        schema,
        size,
        extent: Extent::at_most(size.triples, terms, size.fan),
        resources: size.resources.saturating_add(named).saturating_add(1),
        results: HashMap::new(),
        order: Vec::new(),
    };
    let mut calls: BTreeMap<ShapeLabelIdx, Calls> = BTreeMap::new();
    let mut steps = size.triples;
    for root in roots {
        let Some(index) = schema.get_idx(root) else { return usize::MAX };
        let asked = calls.entry(*index).or_default();
        asked.add(1, 0, asked.sites > 0);
        estimate.visit(*index);
    }
    for (shape, targets) in targeting {
        let Some(index) = schema.get_idx(shape) else { return usize::MAX };
        steps = steps.saturating_add(targets.len().saturating_mul(size.triples));
        let literals = targets.iter().map(|target| estimate.literals(target)).sum();
        let resources = targets.iter().map(|target| estimate.selected(target)).sum();
        let asked = calls.entry(*index).or_default();
        asked.add(resources, literals, asked.sites > 0);
        estimate.visit(*index);
    }
    let mut asked: Vec<(ShapeLabelIdx, Asked)> = Vec::new();
    while let Some(index) = estimate.order.pop() {
        let Some(shape) = schema.get_shape_from_idx(&index) else { return usize::MAX };
        asked.push((index, estimate.ask(shape, calls.get(&index).copied().unwrap_or_default(), &mut calls)));
    }
    let mut totals = HashMap::new();
    for (index, asked) in asked.into_iter().rev() {
        let Some(shape) = schema.get_shape_from_idx(&index) else { return usize::MAX };
        let held = estimate.held(shape, asked.focus, asked.values, &totals);
        steps = steps.saturating_add(estimate.work(shape, asked, held, estimate.known(index)));
        // Of a shape that is never asked twice about one resource, all that ask hold no more than this together.
        if !asked.calls.again {
            totals.insert(index, held);
        }
    }
    // Each step stands for copies of two terms at most: a node's when it is looked up and remembered, a result's two.
    let targets = targeting.iter().flat_map(|(_, targets)| targets);
    let term_octets = targets.map(octets_of_named).fold(size.term_octets, usize::max);
    steps.saturating_mul(1 + 2 * holding_cost(term_octets))
}

fn is_named(target: &TargetSelector) -> bool {
    matches!(target, TargetSelector::Node(term) if !matches!(term, Term::Literal(_)))
}

/// Octets of the node that a target names.
fn octets_of_named(target: &TargetSelector) -> usize {
    match target {
        TargetSelector::Node(Term::NamedNode(iri)) => iri.as_str().len(),
        TargetSelector::Node(Term::Literal(literal)) => literal.value().len(),
        _ => 0,
    }
}

impl Calls {
    fn add(&mut self, resources: usize, literals: usize, again: bool) {
        self.again |= again || self.sites > 0;
        self.sites += 1;
        self.resources = self.resources.saturating_add(resources);
        self.literals = self.literals.saturating_add(literals);
    }
}

impl Estimate<'_> {
    fn selected(&self, target: &TargetSelector) -> usize {
        match target {
            TargetSelector::Node(_) => usize::from(is_named(target)),
            _ => self.resources,
        }
    }

    fn literals(&self, target: &TargetSelector) -> usize {
        match target {
            TargetSelector::Node(Term::Literal(_)) => 1,
            TargetSelector::ObjectsOf(_) => self.size.literals,
            _ => 0,
        }
    }

    /// Visits what a shape leads to, and then the shape: no deeper than shapes are nested, and each once.
    fn visit(&mut self, index: ShapeLabelIdx) {
        if self.results.contains_key(&index) {
            return;
        }
        let Some(shape) = self.schema.get_shape_from_idx(&index) else { return };
        self.results.insert(index, Results::default());
        for child in children(shape) {
            self.visit(child);
        }
        let results = self.results_of(shape);
        self.results.insert(index, results);
        self.order.push(index);
    }

    /// Results of one focus node.
    fn results_of(&self, shape: &IRShape) -> Results {
        let values = shape.path().map_or(1, |path| self.extent.path(path).0);
        self.held(shape, 1, values, &HashMap::new())
    }

    /// Results of so many focus nodes, which have so many value nodes together.
    fn held(
        &self,
        shape: &IRShape,
        focus: usize,
        values: usize,
        totals: &HashMap<ShapeLabelIdx, Results>,
    ) -> Results {
        let mut all = Results::default();
        for component in shape.components() {
            let found = self.violations(component, focus, values);
            let details: usize = match component {
                IRComponent::Or(_) | IRComponent::And(_) | IRComponent::Xone(_) | IRComponent::Node(_) => {
                    let below = shapes_of(component);
                    below.iter().map(|child| self.known(*child).violations).fold(0, usize::saturating_add)
                }
                _ => 0,
            };
            all.violations = all.violations.saturating_add(found);
            all.held = all.held.saturating_add(found.saturating_mul(details.saturating_add(1)));
        }
        for child in shape.property_shapes() {
            let each = self.known(*child);
            let below = totals.get(child).copied().unwrap_or(Results {
                violations: values.saturating_mul(each.violations),
                held: values.saturating_mul(each.held),
            });
            all.violations = all.violations.saturating_add(below.violations);
            all.held = all.held.saturating_add(below.held);
        }
        all
    }

    fn known(&self, index: ShapeLabelIdx) -> Results {
        self.results.get(&index).copied().unwrap_or_default()
    }

    /// Violations of one component for so many focus nodes and value nodes.
    fn violations(&self, component: &IRComponent, focus: usize, values: usize) -> usize {
        let of_others = focus.saturating_mul(self.size.fan);
        match component {
            IRComponent::Closed(_) => of_others,
            IRComponent::Equals(_) => values.saturating_add(of_others),
            IRComponent::LessThan(_) | IRComponent::LessThanOrEquals(_) => {
                values.saturating_mul(self.size.fan)
            }
            IRComponent::QualifiedValueShape(_) => focus.saturating_mul(2),
            IRComponent::MinCount(_) | IRComponent::MaxCount(_) | IRComponent::HasValue(_) => focus,
            _ => values,
        }
    }

    /// What a shape is asked, and what it asks others, which is added to their calls.
    fn ask(&self, shape: &IRShape, asked: Calls, calls: &mut BTreeMap<ShapeLabelIdx, Calls>) -> Asked {
        let resources = asked.resources.min(self.resources);
        let focus = resources.saturating_add(asked.literals);
        let values = self.values(shape, resources, asked.literals);
        // Different focus nodes may have the same values; different resources are different focus nodes.
        let again = shape.path().is_some() && focus > 1;
        let (to_resources, to_literals) = match shape.path() {
            None => (resources, asked.literals),
            Some(_) => (values, values),
        };
        for child in children(shape) {
            calls.entry(child).or_default().add(to_resources, to_literals, again);
        }
        Asked { calls: asked, focus, values }
    }

    /// What a shape costs, without those that it asks.
    fn work(&self, shape: &IRShape, asked: Asked, held: Results, of_one: Results) -> usize {
        let Asked { calls, focus, values } = asked;
        // What is found is charged where it is remembered, and what is remembered for what it holds.
        let mut steps = calls.resources.saturating_add(calls.literals).saturating_add(held.held);
        if calls.again {
            steps = steps.saturating_add(calls.resources.saturating_mul(of_one.held));
        }
        if let Some(path) = shape.path() {
            steps = steps.saturating_add(focus.saturating_mul(self.extent.path(path).1));
        }
        let count = focus.saturating_add(values);
        let octets = values.saturating_mul(self.size.term_octets);
        for component in shape.components() {
            steps = steps.saturating_add(component_cost(component, shape, self.extent, count, octets));
            let found = self.violations(component, focus, values);
            steps = steps.saturating_add(found.saturating_mul(result_cost(shape)));
        }
        steps
    }

    /// Value nodes of so many resources and so many literals.
    fn values(&self, shape: &IRShape, resources: usize, literals: usize) -> usize {
        let Some(path) = shape.path() else { return resources.saturating_add(literals) };
        let each = self.extent.path(path).0;
        let most = if is_one_step(path) { self.size.triples } else { usize::MAX };
        let of_literals = if stays_at_a_literal(path) { 0 } else { literals.saturating_mul(each) };
        resources.saturating_mul(each).min(most).saturating_add(of_literals)
    }
}

/// Every shape that a value node of this one is judged by, as often as it is.
fn children(shape: &IRShape) -> Vec<ShapeLabelIdx> {
    let mut all: Vec<_> = shape.components().iter().flat_map(shapes_of).collect();
    all.extend(shape.property_shapes());
    all
}

pub(super) fn shapes_of(component: &IRComponent) -> Vec<ShapeLabelIdx> {
    match component {
        IRComponent::Or(list) => list.shapes().clone(),
        IRComponent::And(list) => list.shapes().clone(),
        IRComponent::Xone(list) => list.shapes().clone(),
        IRComponent::Not(one) => vec![*one.shape()],
        IRComponent::Node(one) => vec![*one.shape()],
        IRComponent::QualifiedValueShape(one) => {
            let mut all = vec![*one.shape()];
            all.extend(one.siblings());
            all
        }
        _ => Vec::new(),
    }
}

/// Whether different focus nodes together have no more values than the graph has triples.
fn is_one_step(path: &SHACLPath) -> bool {
    match path {
        SHACLPath::Predicate { .. } => true,
        SHACLPath::Inverse { path } => matches!(path.as_ref(), SHACLPath::Predicate { .. }),
        _ => false,
    }
}

/// Whether a path leads nowhere from a literal.
fn stays_at_a_literal(path: &SHACLPath) -> bool {
    match path {
        SHACLPath::Predicate { .. } => true,
        SHACLPath::Sequence { paths } => paths.first().is_some_and(stays_at_a_literal),
        SHACLPath::Alternative { paths } => paths.iter().all(stays_at_a_literal),
        SHACLPath::OneOrMore { path } => stays_at_a_literal(path),
        SHACLPath::Inverse { .. } | SHACLPath::ZeroOrMore { .. } | SHACLPath::ZeroOrOne { .. } => false,
    }
}

#[cfg(test)]
#[path = "cost_tests.rs"]
mod tests;
