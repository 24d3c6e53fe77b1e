//! Everything that a review asks of the shapes of a document: what is wrong, what is worth knowing, what a run costs,
//! and which action classes an intent can ask for.

use super::classes;
use super::compiled::{CompiledShapes, ShapeError, root_faults};
use super::fault::{Fault, Kind};
use super::force::{INTENTS, RESOURCES};
use super::syntax::{ShapesGraph, TargetSelector};
use crate::vocab::a2a;
use oxrdf::{Graph, NamedOrBlankNode};
use std::collections::BTreeSet;

/// The shapes of a document, as they were found.
#[derive(Debug, Default)]
pub(crate) struct ShapesSurvey {
    /// Everything that is wrong, and some that is only worth knowing.
    pub(crate) findings: Vec<Fault>,
    /// Only where nothing is wrong.
    pub(crate) request: Option<CompiledShapes>,
    /// Only where nothing is wrong, and where there are any.
    pub(crate) response: Option<CompiledShapes>,
    /// Classes that an action of a conforming intent can have; `None` where the request shapes leave that open.
    pub(crate) classes: Option<BTreeSet<String>>,
}

/// Surveys the shapes of a graph. Request and response shapes stand under the same rules.
pub(crate) fn survey(
    graph: &Graph,
    request: &[NamedOrBlankNode],
    response: &[NamedOrBlankNode],
) -> ShapesSurvey {
    let read = ShapesGraph::survey(graph);
    let mut found = ShapesSurvey { findings: read.faults.clone(), ..ShapesSurvey::default() };
    // A response is of no class of its own.
    let request_roots = request.iter().map(|root| (root, INTENTS));
    for (root, judged) in request_roots.chain(response.iter().map(|root| (root, RESOURCES))) {
        // One that is not in the graph is a finding about the document.
        if read.shapes.contains_key(root) {
            found.findings.extend(root_faults(&read, root, judged));
        }
    }
    if !found.findings.is_empty() {
        return found;
    }
    found.findings = notes(&read, request, response);
    match CompiledShapes::of(&read, request, response) {
        Ok(shapes) => {
            found.classes = classes::of(&shapes);
            found.request = Some(shapes);
        }
        Err(error) => found.findings.push(not_compiled(&error)),
    }
    if !response.is_empty() {
        match CompiledShapes::of(&read, response, request) {
            Ok(shapes) => found.response = Some(shapes),
            Err(error) => found.findings.push(not_compiled(&error)),
        }
    }
    found
}

fn not_compiled(error: &ShapeError) -> Fault {
    Fault::new(Kind::NotCompiled, error.to_string())
}

/// What is allowed, and may yet be meant otherwise.
fn notes(read: &ShapesGraph, request: &[NamedOrBlankNode], response: &[NamedOrBlankNode]) -> Vec<Fault> {
    let targeting = read.shapes.iter().filter(|(_, shape)| !shape.targets.is_empty()).map(|(node, _)| node);
    let reached = read.reach(request.iter().chain(response).chain(targeting));
    let mut notes = Vec::new();
    for (node, shape) in &read.shapes {
        let mut note = |kind, why: &str| notes.push(Fault::new(kind, why).about(node));
        if shape.deactivated {
            note(Kind::InertShape, "it is deactivated");
        }
        if !reached.contains(node) {
            note(Kind::UnreachedShape, "nothing leads to it, so that it judges nothing");
        }
        let is_intent = |target: &TargetSelector| matches!(target, TargetSelector::Class(class) if class.as_str() == a2a::INTENT);
        if shape.targets.iter().any(|target| !is_intent(target)) {
            note(Kind::OwnTargets, "it has targets other than the intent");
        }
    }
    notes.sort_by(|a, b| (a.shape(), a.kind()).cmp(&(b.shape(), b.kind())));
    notes
}
