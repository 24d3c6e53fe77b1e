//! The review of a Protocol Document before it is accepted (SEC-14, SEC-15): a verdict that a person can act on.
//!
//! Accepting a document is accepting a validation workload. Whatever refuses here keeps the document from being loaded,
//! because loading goes the same way; the budget at run time stays the backstop.

use super::document::{read, shapes_of, the_document};
use super::finding::{Finding, FindingKind};
use super::{LoadError, ProtocolDocument, ProtocolHash};
use crate::limits::Limits;
use crate::message::action::default_actions;
use crate::shape::{CompiledShapes, ShapesSurvey, Size, survey};
use crate::vocab::a2a;
use oxrdf::{Graph, NamedNode, NamedOrBlankNode};
use std::collections::BTreeSet;

/// Triples of the reference intent, the modest one of whose size every accepted document can judge any to the end. An intent of one action has 5 to 15; half its terms are literals, and a quarter of its triples share a
/// subject or an object.
const REFERENCE_TRIPLES: usize = 32;
/// Octets of its longest term.
const REFERENCE_TERM_OCTETS: usize = 256;
/// What stands for more steps than are told apart.
const MANY_STEPS: usize = 1_000_000_000_000;
/// Findings that are listed.
const MAX_FINDINGS: usize = 100;

/// The verdict on a Protocol Document, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Review {
    accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    request_shapes: Vec<String>,
    response_shapes: Vec<String>,
    classes: ActionClasses,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    findings: Vec<Finding>,
}

/// Classes that the actions of a conforming intent can have.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionClasses {
    /// These and no others.
    Pinned(BTreeSet<String>),
    /// The request shapes leave it open: an intent of any class may conform.
    Open,
    /// Not known, because the document is refused.
    Unknown,
}

/// What judging a message by the document costs at most, in steps of `validation_steps`; 10^12 stands for that and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Cost {
    /// `validation_steps`.
    pub budget: u64,
    /// Triples of the reference intent.
    pub reference_triples: u64,
    /// The worst intent of that size.
    pub request_steps: u64,
    /// The worst response of that size, where there are response shapes.
    pub response_steps: Option<u64>,
    /// The worst intent that the limits allow at all. More than the budget means that such an intent is refused.
    pub request_steps_at_limits: u64,
    /// The largest intent of the reference's proportions, in triples, that is judged to the end whatever it says.
    pub triples_within_budget: u64,
}

impl ProtocolDocument {
    /// Reviews a document (Turtle or JSON-LD), whether or not it could be loaded. A document that is accepted can be
    /// loaded under [`Review::hash`], and no other can be loaded at all.
    pub fn review(text: &str, media_type: &str, limits: &Limits) -> Review {
        Self::review_pinned(text, media_type, None, limits)
    }

    /// [`Self::review`] of a document that should have this hash. Of one that has another, nothing else is looked at.
    pub fn review_pinned(
        text: &str,
        media_type: &str,
        pin: Option<&ProtocolHash>,
        limits: &Limits,
    ) -> Review {
        let (graph, hash) = match read(text, media_type, limits) {
            Ok(read) => read,
            Err(error) => {
                return Review::refused(None, Finding::new(FindingKind::Unreadable, error.to_string()));
            }
        };
        match pin {
            Some(pin) if *pin != hash => {
                let why = format!("the document's graph hashes to {hash}, not to its pin {pin}");
                Review::refused(Some(hash), Finding::new(FindingKind::HashMismatch, why))
            }
            _ => Reviewed::of(&graph, limits).into_review(hash),
        }
    }
}

impl Review {
    /// Whether the document may be spoken.
    pub fn accepted(&self) -> bool {
        self.accepted
    }

    /// The hash of its graph, where it is one.
    pub fn hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }

    /// The document's IRI, which is a label and not its identity.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Its request shapes, as N-Triples.
    pub fn request_shapes(&self) -> &[String] {
        &self.request_shapes
    }

    /// Its response shapes, as N-Triples.
    pub fn response_shapes(&self) -> &[String] {
        &self.response_shapes
    }

    /// Classes that an action can have.
    pub fn classes(&self) -> &ActionClasses {
        &self.classes
    }

    /// What judging a message costs at most, where the shapes could be compiled.
    pub fn cost(&self) -> Option<&Cost> {
        self.cost.as_ref()
    }

    /// Everything that was found; what refuses comes first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether a document may be spoken under an allowlist of classes (`accept_offers = "reviewed"`): it is accepted,
    /// and every class that its request shapes can ask for is in the list. Shapes that leave the class open can ask for
    /// every class of the default mapping; no other can be carried out. A class without a mapping is in no list of
    /// mapped ones, and shapes that leave no class ask for nothing that could be allowed.
    pub fn is_allowed(&self, classes: &BTreeSet<String>) -> bool {
        self.accepted
            && match &self.classes {
                ActionClasses::Pinned(pinned) => !pinned.is_empty() && pinned.is_subset(classes),
                ActionClasses::Open => default_actions().keys().all(|class| classes.contains(class)),
                ActionClasses::Unknown => false,
            }
    }

    fn refused(hash: Option<ProtocolHash>, finding: Finding) -> Self {
        Self {
            accepted: false,
            hash: hash.map(|hash| hash.to_string()),
            id: None,
            request_shapes: Vec::new(),
            response_shapes: Vec::new(),
            classes: ActionClasses::Unknown,
            cost: None,
            findings: vec![finding],
        }
    }
}

/// A document's graph, reviewed.
pub(super) struct Reviewed {
    id: Option<NamedNode>,
    request: Vec<NamedOrBlankNode>,
    response: Vec<NamedOrBlankNode>,
    survey: ShapesSurvey,
    cost: Option<Cost>,
    findings: Vec<Finding>,
}

impl Reviewed {
    pub(super) fn of(graph: &Graph, limits: &Limits) -> Self {
        let mut findings = Vec::new();
        let id = the_document(graph).map_err(|finding| findings.push(finding)).ok();
        let mut shapes = |predicate| match &id {
            Some(id) => shapes_of(graph, id, predicate, &mut findings),
            None => Vec::new(),
        };
        let (request, response) = (shapes(a2a::REQUEST_SHAPE), shapes(a2a::RESPONSE_SHAPE));
        if id.is_some() && request.is_empty() && findings.is_empty() {
            findings.push(Finding::new(FindingKind::NoRequestShape, "the document has no a2a:requestShape"));
        }
        let mut survey = survey(graph, &request, &response);
        findings.append(&mut survey.findings);
        let cost = survey.request.as_ref().map(|shapes| cost(shapes, survey.response.as_ref(), limits));
        if let Some(cost) = &cost {
            findings.extend(too_much(cost));
            findings.extend(about_classes(survey.classes.as_ref()));
        }
        findings.sort_by_key(Finding::severity);
        if findings.len() > MAX_FINDINGS {
            findings.truncate(MAX_FINDINGS);
            let why = format!("more was found than the {MAX_FINDINGS} that are listed");
            // Whether what is left out refuses is answered by what is listed: it comes first.
            if findings.iter().all(Finding::refuses) {
                findings.push(Finding::new(FindingKind::More, why));
            }
        }
        Self { id, request, response, survey, cost, findings }
    }

    /// # Errors
    /// The first finding that refuses.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        let Some(finding) = self.findings.iter().find(|finding| finding.refuses()) else { return Ok(()) };
        let about = finding.shape().map(|shape| format!("{shape}: ")).unwrap_or_default();
        let others = self.findings.iter().filter(|finding| finding.refuses()).count() - 1;
        let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
        let why = format!("{about}{}{more}", finding.sentence());
        Err(match finding.kind().is_of_the_document() {
            true => LoadError::Malformed(why),
            false => LoadError::Shape(why),
        })
    }

    fn into_review(self, hash: ProtocolHash) -> Review {
        let accepted = self.check().is_ok();
        let names = |shapes: Vec<NamedOrBlankNode>| {
            let mut names: Vec<_> = shapes.iter().map(ToString::to_string).collect();
            names.sort();
            names
        };
        let classes = match (self.survey.request, self.survey.classes) {
            (None, _) => ActionClasses::Unknown,
            (Some(_), None) => ActionClasses::Open,
            (Some(_), Some(classes)) => ActionClasses::Pinned(classes),
        };
        Review {
            accepted,
            hash: Some(hash.to_string()),
            id: self.id.map(NamedNode::into_string),
            request_shapes: names(self.request),
            response_shapes: names(self.response),
            classes,
            cost: self.cost,
            findings: self.findings,
        }
    }
}

/// An intent of so many triples.
fn size(triples: usize) -> Size {
    Size {
        triples,
        resources: triples / 2,
        literals: triples / 2,
        fan: triples.div_ceil(4),
        term_octets: REFERENCE_TERM_OCTETS,
    }
}

fn cost(request: &CompiledShapes, response: Option<&CompiledShapes>, limits: &Limits) -> Cost {
    let number = |steps: usize| u64::try_from(steps.min(MANY_STEPS)).unwrap_or(u64::MAX);
    let most = limits.triples;
    let at_limits = Size {
        triples: most,
        resources: most.saturating_mul(2),
        literals: most,
        fan: most,
        term_octets: limits.term_bytes,
    };
    // The estimate grows with each number of the size.
    let (mut within, mut beyond) = (0, most.saturating_add(1));
    while within + 1 < beyond {
        let middle = within + (beyond - within) / 2;
        if request.steps_at_most(size(middle)) <= limits.validation_steps {
            within = middle;
        } else {
            beyond = middle;
        }
    }
    Cost {
        budget: number(limits.validation_steps),
        reference_triples: number(REFERENCE_TRIPLES),
        request_steps: number(request.steps_at_most(size(REFERENCE_TRIPLES))),
        response_steps: response.map(|shapes| number(shapes.steps_at_most(size(REFERENCE_TRIPLES)))),
        request_steps_at_limits: number(request.steps_at_most(at_limits)),
        triples_within_budget: number(within),
    }
}

fn too_much(cost: &Cost) -> Vec<Finding> {
    let of = [("an intent", Some(cost.request_steps)), ("a response", cost.response_steps)];
    of.into_iter()
        .filter_map(|(what, steps)| Some((what, steps.filter(|steps| *steps > cost.budget)?)))
        .map(|(what, steps)| {
            let why = format!(
                "judging {what} of {} triples can cost {steps} steps, and {} are spent",
                cost.reference_triples, cost.budget
            );
            Finding::new(FindingKind::CostsTooMuch, why)
        })
        .collect()
}

fn about_classes(classes: Option<&BTreeSet<String>>) -> Vec<Finding> {
    let Some(classes) = classes else {
        let why = "an action of any class may conform; only the mapping decides what can be carried out";
        return vec![Finding::new(FindingKind::OpenClasses, why)];
    };
    if classes.is_empty() {
        return vec![Finding::new(FindingKind::NoClass, "no action of any class can conform")];
    }
    let known = default_actions();
    let unmapped = classes.iter().filter(|class| !known.contains_key(*class));
    unmapped
        .map(|class| {
            Finding::new(FindingKind::UnmappedClass, format!("class {class} is not in the default mapping"))
        })
        .collect()
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
