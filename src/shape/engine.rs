//! The state of one validation run: rudof's constraint validators, driven by an engine that counts their work.
//!
//! The stock engine neither counts nor notices a validator that leaves a value node out. This one does both, keeps no
//! verdict by a literal (its own literal values equate terms that RDF keeps apart), and measures lengths in
//! characters.

use super::terms::pattern_weight;
use oxrdf::{Graph, NamedOrBlankNodeRef, TermRef};
use rudof_rdf::rdf_core::term::{Object, Term as _};
use rudof_rdf::rdf_core::{NeighsRDF, SHACLPath};
use rudof_rdf::rdf_impl::OxigraphInMemory;
use shacl::error::ValidationError;
use shacl::ir::{IRComponent, IRPropertyShape, IRSchema, IRShape, RecursionSemantics, ShapeLabelIdx};
use shacl::validator::constraints::NativeValidator;
use shacl::validator::engine::{Engine, NodeExprState, Retention};
use shacl::validator::nodes::{FocusNodes, ValueNodes};
use shacl::validator::report::{Evidence, ValidationOutcome, ValidationResult};
use std::cell::Cell;
use std::collections::HashMap;

type Store = OxigraphInMemory;

/// Octets of a value that count as one step where a constraint reads it.
const OCTETS_PER_STEP: usize = 16;
/// Octets that count as one step where they are only copied.
const OCTETS_COPIED_PER_STEP: usize = 64;
/// Octets of a term of the data that a step pays for, wherever the run holds a copy of it. The reference intent has no
/// longer one.
const OCTETS_HELD_PER_STEP: usize = 256;

/// What bounds the work on one data graph.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    triples: usize,
    /// At least the number of nodes.
    nodes: usize,
    /// The most triples that share a subject, or an object.
    fan: usize,
}

impl Extent {
    pub(super) fn of(data: &Graph) -> Self {
        let mut subjects: HashMap<NamedOrBlankNodeRef<'_>, usize> = HashMap::new();
        let mut objects: HashMap<TermRef<'_>, usize> = HashMap::new();
        for triple in data {
            *subjects.entry(triple.subject).or_default() += 1;
            *objects.entry(triple.object).or_default() += 1;
        }
        let fan = subjects.values().chain(objects.values()).max().copied().unwrap_or_default();
        Self { triples: data.len(), nodes: subjects.len() + objects.len() + 1, fan }
    }

    /// The extent of any graph that has no more than these.
    pub(super) fn at_most(triples: usize, nodes: usize, fan: usize) -> Self {
        Self { triples, nodes, fan }
    }

    /// The most results, and the most work, of a path from one node.
    pub(super) fn path(&self, path: &SHACLPath) -> (usize, usize) {
        match path {
            SHACLPath::Predicate { .. } => (self.fan, 1 + self.fan),
            SHACLPath::Inverse { path } => self.path(path),
            SHACLPath::ZeroOrOne { path } => {
                let (results, work) = self.path(path);
                (results + 1, work + 1)
            }
            SHACLPath::Alternative { paths } => paths.iter().fold((0, 1), |(results, work), path| {
                let (more, effort) = self.path(path);
                ((results + more).min(self.nodes), work.saturating_add(effort))
            }),
            SHACLPath::Sequence { paths } => paths.iter().fold((1, 1), |(from, work), path| {
                let (each, effort) = self.path(path);
                (from.saturating_mul(each).min(self.nodes), work.saturating_add(from.saturating_mul(effort)))
            }),
            SHACLPath::ZeroOrMore { path } | SHACLPath::OneOrMore { path } => match path.as_ref() {
                SHACLPath::Predicate { .. } => (self.nodes, self.nodes + self.triples),
                repeated => (self.nodes, self.nodes.saturating_mul(self.path(repeated).1)),
            },
        }
    }
}

/// One run over one data graph.
pub(super) struct CountingEngine {
    extent: Extent,
    steps: usize,
    left: Cell<usize>,
    exhausted: Cell<bool>,
    outcomes: HashMap<(Object, ShapeLabelIdx), ValidationOutcome>,
    node_expressions: NodeExprState,
}

impl CountingEngine {
    pub(super) fn new(extent: Extent, steps: usize) -> Self {
        Self {
            extent,
            steps,
            left: Cell::new(steps),
            exhausted: Cell::new(false),
            outcomes: HashMap::new(),
            node_expressions: NodeExprState::default(),
        }
    }

    /// Whether more was asked for than the budget holds. The run's outcome then means nothing.
    pub(super) fn exhausted(&self) -> bool {
        self.exhausted.get()
    }

    pub(super) fn spend(&self, steps: usize) -> Result<(), ValidationError> {
        match self.left.get().checked_sub(steps) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.left.set(0);
                self.exhausted.set(true);
                Err(ValidationError::TooManyResults("the shapes graph".into(), self.steps))
            }
        }
    }

    /// Steps that were spent.
    #[cfg(test)]
    pub(super) fn spent(&self) -> usize {
        self.steps.saturating_sub(self.left.get())
    }
}

/// What judging a component costs at most, for so many focus and value nodes with so many octets.
pub(super) fn component_cost(
    component: &IRComponent,
    shape: &IRShape,
    extent: Extent,
    count: usize,
    octets: usize,
) -> usize {
    let each = match component {
        // Each value is compared with copies of the members.
        IRComponent::In(list) => {
            list.values().len() + list.values().iter().map(octets_of).sum::<usize>() / OCTETS_COPIED_PER_STEP
        }
        IRComponent::LanguageIn(list) => list.langs().len(),
        IRComponent::QualifiedValueShape(shape) => shape.siblings().len(),
        IRComponent::Or(list) => list.shapes().len(),
        IRComponent::And(list) => list.shapes().len(),
        IRComponent::Xone(list) => list.shapes().len(),
        // A walk over rdf:type and rdfs:subClassOf.
        IRComponent::Class(_) => extent.triples,
        // The predicates that are allowed are collected anew for each.
        IRComponent::Closed(rule) => {
            extent.fan + rule.ignored_properties().len() + shape.property_shapes().len()
        }
        IRComponent::Equals(_)
        | IRComponent::Disjoint(_)
        | IRComponent::LessThan(_)
        | IRComponent::LessThanOrEquals(_) => extent.fan,
        IRComponent::MinLength(_) | IRComponent::MaxLength(_) => result_cost(shape) - 1,
        _ => 0,
    };
    let factor = match component {
        IRComponent::Pattern(rule) => pattern_weight(rule.pattern()),
        IRComponent::MinLength(_) | IRComponent::MaxLength(_) => 1,
        _ => 0,
    };
    let reading = (octets / OCTETS_PER_STEP).saturating_mul(factor);
    count.saturating_mul(1 + each).saturating_add(reading)
}

/// What one result costs: it holds a copy of its shape's messages.
pub(super) fn result_cost(shape: &IRShape) -> usize {
    let octets: usize =
        shape.message().map_or(0, |messages| messages.iter().map(|(_, text)| text.len()).sum());
    1 + octets / OCTETS_COPIED_PER_STEP
}

/// What holding a copy of a term costs beside the step that its node costs: nothing, unless the term is long. A graph of
/// few long terms would else be copied into each outcome and each result.
pub(super) fn holding_cost(octets: usize) -> usize {
    octets.saturating_sub(1) / OCTETS_HELD_PER_STEP
}

/// What holding a result costs beside its own step, without its details.
fn result_holding_cost(result: &ValidationResult) -> usize {
    holding_cost(octets_of(result.focus_node())) + holding_cost(result.value().map_or(0, octets_of))
}

/// What a copy of results costs: each is copied with its details.
fn copying_cost(results: &[ValidationResult]) -> usize {
    let each = |result: &ValidationResult| 1 + result_holding_cost(result);
    results.iter().map(|result| each(result) + result.details().iter().map(each).sum::<usize>()).sum()
}

fn term_holding_cost(term: &oxrdf::Term) -> usize {
    holding_cost(match term {
        oxrdf::Term::NamedNode(iri) => iri.as_str().len(),
        oxrdf::Term::Literal(literal) => literal.value().len(),
        _ => 0,
    })
}

fn octets_of(term: &Object) -> usize {
    match term {
        Object::Iri(iri) => iri.as_str().len(),
        Object::Literal(literal) => literal.lexical_form().len(),
        _ => 0,
    }
}

impl Engine<Store> for CountingEngine {
    /// Nothing forks this engine; a fork would have nothing to spend.
    fn fork(&self) -> Box<dyn Engine<Store>> {
        Box::new(Self::new(self.extent, 0))
    }

    fn evaluate(
        &mut self,
        store: &Store,
        shape: &IRShape,
        component: &IRComponent,
        values: &ValueNodes<Store>,
        source_shape: Option<&IRShape>,
        path: Option<&SHACLPath>,
        shapes: &IRSchema,
    ) -> Result<ValidationOutcome, ValidationError> {
        let octets = match component {
            IRComponent::Pattern(_) | IRComponent::MinLength(_) | IRComponent::MaxLength(_) => {
                value_nodes(values).map(|value| value.lexical_form().len()).sum()
            }
            _ => 0,
        };
        self.spend(component_cost(component, shape, self.extent, count(values), octets))?;
        self.spend(values.iter().map(|(focus, _)| term_holding_cost(focus)).sum())?;
        self.spend(value_nodes(values).map(term_holding_cost).sum())?;
        let outcome = match component {
            IRComponent::MinLength(bound) => {
                let shortest = usize::try_from(bound.min_length()).unwrap_or(usize::MAX);
                judge_lengths(component, shape, values, path, |length| length >= shortest)?
            }
            IRComponent::MaxLength(bound) => {
                let longest = usize::try_from(bound.max_length()).unwrap_or_default();
                judge_lengths(component, shape, values, path, |length| length <= longest)?
            }
            _ => validator(component)?.validate_native(
                component,
                shape,
                store,
                self,
                values,
                source_shape,
                path,
                shapes,
            )?,
        };
        if outcome.violations().len() + outcome.evidences().len() < verdicts_due(component, values) {
            return Err(unjudged());
        }
        self.spend(outcome.violations().len().saturating_mul(result_cost(shape)))?;
        self.spend(outcome.violations().iter().map(result_holding_cost).sum())?;
        Ok(outcome)
    }

    fn path(
        &self,
        store: &Store,
        shape: &IRPropertyShape,
        focus: &oxrdf::Term,
    ) -> Result<FocusNodes<Store>, ValidationError> {
        self.spend(self.extent.path(shape.path()).1)?;
        let values = store.objects_for_shacl_path(focus, shape.path())?;
        self.spend(values.iter().map(term_holding_cost).sum())?;
        Ok(FocusNodes::new(values))
    }

    // Targets are selected before the run (`compiled.rs`): the stock selection drops those that it cannot read.
    fn target_node(&self, _: &Store, _: &Object) -> Result<FocusNodes<Store>, ValidationError> {
        Err(unjudged())
    }

    fn target_class(&self, _: &Store, _: &Object) -> Result<FocusNodes<Store>, ValidationError> {
        Err(unjudged())
    }

    fn target_subject_of(
        &self,
        _: &Store,
        _: &rudof_iri::IriS,
    ) -> Result<FocusNodes<Store>, ValidationError> {
        Err(unjudged())
    }

    fn target_object_of(&self, _: &Store, _: &rudof_iri::IriS) -> Result<FocusNodes<Store>, ValidationError> {
        Err(unjudged())
    }

    fn implicit_target_class(&self, _: &Store, _: &Object) -> Result<FocusNodes<Store>, ValidationError> {
        Err(unjudged())
    }

    /// A literal is judged each time: `true` and `1` are one literal to the engine.
    fn record_validation(&mut self, node: Object, shape: ShapeLabelIdx, outcome: ValidationOutcome) {
        // Results are copied at each level that they rise to, with their details. As below, an exhausted engine fails
        // the run.
        let _ = self.spend(copying_cost(outcome.violations()) + holding_cost(octets_of(&node)));
        if !matches!(node, Object::Literal(_)) {
            self.outcomes.insert((node, shape), outcome);
        }
    }

    fn has_validated(&self, node: &Object, shape: ShapeLabelIdx) -> bool {
        let _ = self.spend(holding_cost(octets_of(node)));
        self.outcomes.contains_key(&(node.clone(), shape))
    }

    fn get_cached_outcome(&self, node: &Object, shape: ShapeLabelIdx) -> Option<ValidationOutcome> {
        let found = self.outcomes.get(&(node.clone(), shape))?;
        // No error can be returned here: an exhausted engine fails the next component, and the run. Its budget is looked at
        // before the copy is made.
        let copying = copying_cost(found.violations());
        self.spend(1 + copying + holding_cost(octets_of(node))).ok().map(|()| found.clone())
    }

    fn recursion_semantics(&self) -> RecursionSemantics {
        RecursionSemantics::None
    }

    // Recursive shapes do not compile, so there is no chain to remember.
    fn is_in_chain(&self, _: &Object, _: ShapeLabelIdx) -> bool {
        false
    }

    fn chain_enter(&mut self, _: Object, _: ShapeLabelIdx) {}

    fn chain_exit(&mut self, _: &Object, _: ShapeLabelIdx) {}

    fn node_expr_state(&mut self) -> &mut NodeExprState {
        &mut self.node_expressions
    }

    fn retention(&self) -> Retention {
        Retention { max_results: Some(self.steps), store_evidences: false }
    }
}

/// The validator of a SHACL Core component.
fn validator(component: &IRComponent) -> Result<&dyn NativeValidator<Store>, ValidationError> {
    Ok(match component {
        IRComponent::Class(it) => it,
        IRComponent::Datatype(it) => it,
        IRComponent::NodeKind(it) => it,
        IRComponent::MinCount(it) => it,
        IRComponent::MaxCount(it) => it,
        IRComponent::MinExclusive(it) => it,
        IRComponent::MaxExclusive(it) => it,
        IRComponent::MinInclusive(it) => it,
        IRComponent::MaxInclusive(it) => it,
        IRComponent::MinLength(it) => it,
        IRComponent::MaxLength(it) => it,
        IRComponent::Pattern(it) => it,
        IRComponent::UniqueLang(it) => it,
        IRComponent::LanguageIn(it) => it,
        IRComponent::Equals(it) => it,
        IRComponent::Disjoint(it) => it,
        IRComponent::LessThan(it) => it,
        IRComponent::LessThanOrEquals(it) => it,
        IRComponent::Or(it) => it,
        IRComponent::And(it) => it,
        IRComponent::Not(it) => it,
        IRComponent::Xone(it) => it,
        IRComponent::Node(it) => it,
        IRComponent::HasValue(it) => it,
        IRComponent::In(it) => it,
        IRComponent::QualifiedValueShape(it) => it,
        IRComponent::Closed(it) => it,
        IRComponent::Deactivated(it) => it,
        IRComponent::SubsetOf(_) | IRComponent::BasicSparql(_) => return Err(unjudged()),
    })
}

/// How many verdicts, for or against, a component must give at least.
fn verdicts_due(component: &IRComponent, values: &ValueNodes<Store>) -> usize {
    let focus_nodes = || values.iter();
    match component {
        IRComponent::MaxCount(_) | IRComponent::HasValue(_) => focus_nodes().count(),
        IRComponent::MinCount(bound) if bound.min_count() > 0 => focus_nodes().count(),
        IRComponent::UniqueLang(rule) if rule.unique_lang() => focus_nodes().count(),
        // A literal has no triples that a closed shape could forbid.
        IRComponent::Closed(rule) if rule.is_closed() => {
            focus_nodes().filter(|(focus, _)| !focus.is_literal()).count()
        }
        // Nor has it values to be equal to, so each of its value nodes differs; the validator skips it.
        IRComponent::Equals(_) => {
            focus_nodes().filter(|(focus, nodes)| !focus.is_literal() || !nodes.is_empty()).count()
        }
        IRComponent::MinCount(_)
        | IRComponent::UniqueLang(_)
        | IRComponent::Closed(_)
        // Pairs of values, none where the other property has none.
        | IRComponent::LessThan(_)
        | IRComponent::LessThanOrEquals(_)
        // One verdict for each count, equal ones merged.
        | IRComponent::QualifiedValueShape(_)
        | IRComponent::Deactivated(_) => 0,
        _ => value_nodes(values).count(),
    }
}

/// `sh:minLength` and `sh:maxLength` (SHACL 4.4): characters of the string form; a blank node has none.
fn judge_lengths(
    component: &IRComponent,
    shape: &IRShape,
    values: &ValueNodes<Store>,
    path: Option<&SHACLPath>,
    fits: impl Fn(usize) -> bool,
) -> Result<ValidationOutcome, ValidationError> {
    let mut outcome = ValidationOutcome::new();
    let name = Object::iri(component.into());
    for (focus, nodes) in values.iter() {
        let focus = Object::try_from(focus.clone())?;
        for value in nodes.iter() {
            if !value.is_blank_node() && fits(value.lexical_form().chars().count()) {
                outcome.push_evidence(Evidence::new(focus.clone(), name.clone()));
                continue;
            }
            outcome.push_violation(
                ValidationResult::new(focus.clone(), name.clone(), shape.severity().clone())
                    .with_source(Some(shape.id().clone()))
                    .with_path(path.cloned())
                    .with_value(Some(Object::try_from(value.clone())?))
                    .with_message(shape.message().cloned().unwrap_or_default()),
            );
        }
    }
    Ok(outcome)
}

fn value_nodes(values: &ValueNodes<Store>) -> impl Iterator<Item = &oxrdf::Term> {
    values.iter().flat_map(|(_, nodes)| nodes.iter())
}

fn count(values: &ValueNodes<Store>) -> usize {
    values.iter().map(|(_, nodes)| 1 + nodes.len()).sum()
}

/// A value node, or a target, that got no verdict.
fn unjudged() -> ValidationError {
    ValidationError::UnsupportedMode("a node was not judged".into())
}
