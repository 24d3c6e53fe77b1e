//! Request shapes, compiled once and run under a budget.

use super::cost::{self, Size};
use super::engine::{CountingEngine, Extent};
use super::fault::{Fault, Kind};
use super::force::{Kinds, RESOURCES};
use super::report::{self, ReportedResult};
use super::syntax::{ShapesGraph, TargetSelector};
use crate::limits::Limits;
use oxrdf::vocab::{rdf, rdfs};
use oxrdf::{Graph, NamedOrBlankNode, Term, TermRef};
use rudof_rdf::rdf_core::term::Object;
use rudof_rdf::rdf_core::term::literal::ConcreteLiteral;
use rudof_rdf::rdf_impl::OxigraphInMemory;
use shacl::error::ValidationError;
use shacl::ir::{IRComponent, IRSchema, RecursionSemantics};
use shacl::rdf::ShaclParser;
use shacl::validator::engine::Validate;
use shacl::validator::nodes::FocusNodes;
use shacl::validator::report::ValidationResult;
use std::collections::{BTreeSet, HashSet};

/// Shapes of one graph, compiled.
#[derive(Debug)]
pub(crate) struct CompiledShapes {
    schema: IRSchema,
    /// Applied to the focus node.
    roots: Vec<Object>,
    /// Shapes with targets, which are applied to what those select.
    targeting: Vec<(Object, Vec<TargetSelector>)>,
    /// Predicates on the paths of the roots and of what they lead to.
    paths: BTreeSet<String>,
}

/// Why shapes could not be compiled or run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShapeError {
    /// Not a shapes graph that this engine runs.
    #[error("{0}")]
    Unusable(String),
    /// The work would exceed `validation_steps`.
    #[error("validating would cost more than is spent")]
    Budget,
}

/// The outcome of a validation.
#[derive(Debug)]
pub(crate) enum Validation {
    /// At least one shape was judged, and nothing was found.
    Conforms,
    /// Something was found, or nothing was judged.
    Violates {
        /// The W3C validation report, in Turtle.
        report: String,
        /// The first finding, for a person.
        first: Finding,
    },
}

/// One validation result, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) shape: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) constraint: Option<String>,
    pub(crate) value: Option<String>,
}

impl CompiledShapes {
    /// Compiles the shapes of a graph; `roots` are those that `validate_focus` applies to its focus node.
    ///
    /// # Errors
    /// [`ShapeError::Unusable`]: not SHACL Core, not self-contained, recursive or without an end; or a root that is no
    /// node shape, is deactivated, or constrains nothing.
    pub(crate) fn compile(graph: &Graph, roots: &[NamedOrBlankNode]) -> Result<Self, ShapeError> {
        Self::compile_without(graph, roots, &[])
    }

    /// Compiles the shapes of a graph without the targets of `others` and of what only they lead to: a response shape
    /// must not make a request fail.
    pub(crate) fn compile_without(
        graph: &Graph,
        roots: &[NamedOrBlankNode],
        others: &[NamedOrBlankNode],
    ) -> Result<Self, ShapeError> {
        let read = ShapesGraph::survey(graph);
        // What is judged by the roots is not known here; whether it is an intent, the review knows.
        let of_roots = roots.iter().flat_map(|root| root_faults(&read, root, RESOURCES));
        match read.faults.iter().cloned().chain(of_roots).next() {
            Some(fault) => Err(fault.into()),
            None => Self::of(&read, roots, others),
        }
    }

    /// Compiles what was read without faults.
    pub(super) fn of(
        read: &ShapesGraph,
        roots: &[NamedOrBlankNode],
        others: &[NamedOrBlankNode],
    ) -> Result<Self, ShapeError> {
        let reached = read.reach(roots);
        let inert: HashSet<_> = read.reach(others).difference(&reached).copied().collect();
        let mut targeting: Vec<_> = read
            .shapes
            .iter()
            .filter(|(node, shape)| !shape.targets.is_empty() && !inert.contains(node))
            .map(|(node, shape)| Ok((object(&node.clone().into())?, shape.targets.clone())))
            .collect::<Result<_, ShapeError>>()?;
        targeting.sort_by_key(|(shape, _)| shape.to_string());
        let paths = reached
            .iter()
            .filter_map(|node| read.shapes.get(*node)?.path.as_ref())
            .flatten()
            .cloned()
            .collect();
        let roots =
            roots.iter().map(|root| object(&root.clone().into())).collect::<Result<_, ShapeError>>()?;
        Ok(Self { schema: compile_read(read)?, roots, targeting, paths })
    }

    /// Predicates on any path of the roots and of the shapes that they lead to.
    pub(crate) fn paths(&self) -> &BTreeSet<String> {
        &self.paths
    }

    /// What judging an intent of this size costs at most, in steps; `usize::MAX` is more than can be counted.
    pub(crate) fn steps_at_most(&self, size: Size) -> usize {
        cost::steps_at_most(&self.schema, &self.roots, &self.targeting, size)
    }

    /// [`Self::validate_focus`], with the steps that it took.
    #[cfg(test)]
    pub(crate) fn measure_focus(
        &self,
        data: &Graph,
        focus: &NamedOrBlankNode,
        limits: &Limits,
    ) -> (Result<Validation, ShapeError>, usize) {
        let mut engine = CountingEngine::new(Extent::of(data), limits.validation_steps);
        let judged = self.judge(data, Some(focus), &mut engine);
        (judged, engine.spent())
    }

    pub(super) fn schema(&self) -> &IRSchema {
        &self.schema
    }

    pub(super) fn roots(&self) -> &[Object] {
        &self.roots
    }

    pub(super) fn targeting(&self) -> &[(Object, Vec<TargetSelector>)] {
        &self.targeting
    }

    /// Judges `focus` by every root shape, and whatever the shapes' own targets select.
    ///
    /// # Errors
    /// [`ShapeError::Budget`]
    pub(crate) fn validate_focus(
        &self,
        data: &Graph,
        focus: &NamedOrBlankNode,
        limits: &Limits,
    ) -> Result<Validation, ShapeError> {
        self.validate(data, Some(focus), limits)
    }

    /// Plain SHACL: the shapes' own targets only (the vector operation `validate-intent`). As in SHACL, data that no
    /// target selects conforms.
    ///
    /// # Errors
    /// [`ShapeError::Budget`]
    pub(crate) fn validate_targets(&self, data: &Graph, limits: &Limits) -> Result<Validation, ShapeError> {
        self.validate(data, None, limits)
    }

    /// Judges what the shapes' own targets select, and `otherwise` by each root that has no target. A root that judged
    /// nothing is a violation: that the data conforms to it was not shown.
    ///
    /// # Errors
    /// [`ShapeError::Budget`]
    pub(crate) fn validate_each_root(
        &self,
        data: &Graph,
        otherwise: Option<&NamedOrBlankNode>,
        limits: &Limits,
    ) -> Result<Validation, ShapeError> {
        let mut engine = CountingEngine::new(Extent::of(data), limits.validation_steps);
        let run = self.run_each_root(data, otherwise, &mut engine);
        outcome(run, true, &engine)
    }

    fn validate(
        &self,
        data: &Graph,
        focus: Option<&NamedOrBlankNode>,
        limits: &Limits,
    ) -> Result<Validation, ShapeError> {
        self.judge(data, focus, &mut CountingEngine::new(Extent::of(data), limits.validation_steps))
    }

    fn judge(
        &self,
        data: &Graph,
        focus: Option<&NamedOrBlankNode>,
        engine: &mut CountingEngine,
    ) -> Result<Validation, ShapeError> {
        let run = self.run(data, focus, engine);
        outcome(run, focus.is_some(), engine)
    }

    fn run_each_root(
        &self,
        data: &Graph,
        otherwise: Option<&NamedOrBlankNode>,
        engine: &mut CountingEngine,
    ) -> Result<Run, ValidationError> {
        let mut run = self.run(data, None, engine)?;
        let store = load(data)?;
        let mut each = true;
        for root in &self.roots {
            let own = self.targeting.iter().find(|(shape, _)| shape == root);
            match (own, otherwise) {
                // Judged by the run, if any target selects anything.
                (Some((_, targets)), _) => {
                    engine.spend(targets.len().saturating_mul(data.len()))?;
                    each &= targets.iter().any(|target| selects_from(data, target));
                }
                (None, Some(focus)) => {
                    run.judge(&self.schema, root, HashSet::from([focus.clone().into()]), &store, engine)?;
                }
                (None, None) => each = false,
            }
        }
        run.judged = each;
        Ok(run)
    }

    /// The stock processor's loop, on this thread and with targets that are selected here.
    fn run(
        &self,
        data: &Graph,
        focus: Option<&NamedOrBlankNode>,
        engine: &mut CountingEngine,
    ) -> Result<Run, ValidationError> {
        engine.spend(data.len())?;
        let store = load(data)?;
        let mut run = Run::default();
        if let Some(focus) = focus {
            for root in &self.roots {
                run.judge(&self.schema, root, HashSet::from([focus.clone().into()]), &store, engine)?;
            }
        }
        for (shape, targets) in &self.targeting {
            // Each target reads the graph at most once.
            engine.spend(targets.len().saturating_mul(data.len()))?;
            let nodes: HashSet<Term> = targets.iter().flat_map(|target| selected(data, target)).collect();
            if !nodes.is_empty() {
                run.judge(&self.schema, shape, nodes, &store, engine)?;
            }
        }
        Ok(run)
    }
}

/// What a run comes to. With `judgement_due`, a run that judged nothing is a violation.
fn outcome(
    run: Result<Run, ValidationError>,
    judgement_due: bool,
    engine: &CountingEngine,
) -> Result<Validation, ShapeError> {
    if engine.exhausted() {
        return Err(ShapeError::Budget);
    }
    match run {
        Ok(Run { judged, results }) if results.is_empty() && (judged || !judgement_due) => {
            Ok(Validation::Conforms)
        }
        Ok(Run { results, .. }) => Ok(violation(&results, judgement_due)),
        // Some term or constraint could not be judged on this data: it does not conform.
        Err(_) => Ok(violation(&[], true)),
    }
}

#[derive(Default)]
struct Run {
    judged: bool,
    results: Vec<ValidationResult>,
}

impl Run {
    fn judge(
        &mut self,
        schema: &IRSchema,
        shape: &Object,
        nodes: HashSet<Term>,
        store: &OxigraphInMemory,
        engine: &mut CountingEngine,
    ) -> Result<(), ValidationError> {
        let shape = schema
            .get_shape(shape)
            .ok_or_else(|| ValidationError::MissingRequiredField(shape.to_string()))?;
        let nodes = FocusNodes::new(nodes);
        let outcome = shape.validate(store, engine, Some(&nodes), Some(shape), schema)?;
        self.judged = true;
        self.results.extend(outcome.into_parts().0);
        Ok(())
    }
}

/// What is wrong with a shape as one that a protocol rests on, which judges nodes of these kinds.
pub(super) fn root_faults(read: &ShapesGraph, root: &NamedOrBlankNode, judged: Kinds) -> Vec<Fault> {
    let fault = |kind, why: &str| Fault::new(kind, why).about(root);
    let Some(shape) = read.shapes.get(root) else {
        return vec![fault(Kind::ShapeMissing, "it is no shape of the graph")];
    };
    let mut faults = Vec::new();
    if shape.path.is_some() {
        faults.push(fault(Kind::WrongKind, "it is no node shape"));
    }
    if shape.deactivated {
        faults.push(fault(Kind::Deactivated, "it is deactivated"));
    } else if !read.constrains(root, judged) {
        faults.push(fault(Kind::ConstrainsNothing, "it constrains nothing"));
    }
    faults
}

/// Whether the engine reads a term into a value that gives the same term back.
pub(super) fn survives(term: &Term) -> bool {
    is_well_typed(term) && Object::try_from(term.clone()).is_ok_and(|object| Term::from(object) == *term)
}

/// Whether a literal is of its datatype, as far as the engine knows the datatype.
pub(super) fn is_well_typed(term: &Term) -> bool {
    !matches!(
        Object::try_from(term.clone()),
        Err(_) | Ok(Object::Literal(ConcreteLiteral::WrongDatatypeLiteral { .. }))
    )
}

/// Compiles what was read, and checks that the engine saw all of it.
fn compile_read(read: &ShapesGraph) -> Result<IRSchema, ShapeError> {
    let store = load(&read.graph).map_err(|error| ShapeError::Unusable(error.to_string()))?;
    let syntax = ShaclParser::new(store).parse().map_err(|error| ShapeError::Unusable(error.to_string()))?;
    let schema = IRSchema::compile_with_recursion(&syntax, RecursionSemantics::None)
        .map_err(|error| ShapeError::Unusable(error.to_string()))?;
    for (node, shape) in &read.shapes {
        let Some(compiled) = schema.get_shape(&object(&node.clone().into())?) else {
            return Err(ShapeError::Unusable(format!("{node} was not compiled")));
        };
        let constraints = compiled
            .components()
            .iter()
            .filter(|component| !matches!(component, IRComponent::Deactivated(_)))
            .count();
        let members: usize = compiled.components().iter().map(listed).sum();
        let same = constraints == shape.constraints
            && members == shape.members
            && compiled.property_shapes().len() == shape.properties
            && compiled.path().is_some() == shape.path.is_some()
            && compiled.deactivated().is_some() == shape.deactivated
            && compiled.reifier_info().is_none();
        if !same {
            return Err(ShapeError::Unusable(format!("{node} was not compiled whole")));
        }
    }
    Ok(schema)
}

fn listed(component: &IRComponent) -> usize {
    match component {
        IRComponent::In(list) => list.values().len(),
        IRComponent::LanguageIn(list) => list.langs().len(),
        _ => 0,
    }
}

/// The engine's graph. Blank nodes keep their labels, so that a report speaks of the nodes of the data.
fn load(data: &Graph) -> Result<OxigraphInMemory, ValidationError> {
    let mut store = OxigraphInMemory::new();
    for triple in data {
        // Validators pass over a term that they cannot convert; here it ends the run.
        Object::try_from(triple.object.into_owned())?;
        store.add_triple_ref(triple.subject, triple.predicate, triple.object)?;
    }
    Ok(store)
}

/// The nodes that a target selects (SHACL 2.1.3).
fn selected(data: &Graph, target: &TargetSelector) -> Vec<Term> {
    match target {
        TargetSelector::Node(term) => vec![term.clone()],
        TargetSelector::SubjectsOf(predicate) => {
            data.triples_for_predicate(predicate).map(|triple| triple.subject.into_owned().into()).collect()
        }
        TargetSelector::ObjectsOf(predicate) => {
            data.triples_for_predicate(predicate).map(|triple| triple.object.into_owned()).collect()
        }
        TargetSelector::Class(class) => {
            let mut classes = HashSet::from([Term::from(class.clone())]);
            let mut pending = vec![Term::from(class.clone())];
            let mut instances = Vec::new();
            while let Some(class) = pending.pop() {
                instances.extend(
                    data.subjects_for_predicate_object(rdf::TYPE, &class)
                        .map(|instance| Term::from(instance.into_owned())),
                );
                for narrower in data.subjects_for_predicate_object(rdfs::SUB_CLASS_OF, &class) {
                    let narrower = Term::from(narrower.into_owned());
                    if classes.insert(narrower.clone()) {
                        pending.push(narrower);
                    }
                }
            }
            instances
        }
    }
}

/// Whether a target selects a node of the data. A term that a target names is judged whether the data has it or not; but
/// where it has not, nothing was said of the data.
fn selects_from(data: &Graph, target: &TargetSelector) -> bool {
    match target {
        TargetSelector::Node(term) => data
            .iter()
            .any(|triple| TermRef::from(triple.subject) == term.as_ref() || triple.object == term.as_ref()),
        _ => !selected(data, target).is_empty(),
    }
}

/// A report. Where a focus node is judged beside targets, one that targets select too is judged twice: of equal results
/// one is kept there. Plain SHACL has as many as there are ways to them.
fn violation(results: &[ValidationResult], merge: bool) -> Validation {
    let mut results: Vec<_> = results.iter().map(ReportedResult::from).collect();
    report::order(&mut results, merge);
    Validation::Violates {
        first: results.first().map(ReportedResult::finding).unwrap_or_default(),
        report: report::to_turtle(&results),
    }
}

fn object(term: &Term) -> Result<Object, ShapeError> {
    Object::try_from(term.clone()).map_err(|error| ShapeError::Unusable(error.to_string()))
}
