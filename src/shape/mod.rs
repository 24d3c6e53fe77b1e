//! Stage 4: the intent against the request shapes of its Protocol Document; and a response against the response shapes.
//!
//! Shapes are compiled once for each document. The engine is rudof's, below its parallel convenience entry point; the
//! intent itself is the focus node of every request shape, and a shape's own targets are judged too. A result of any
//! severity refuses, and so does a validation that validated nothing.

mod classes;
mod compiled;
mod cost;
mod engine;
mod fault;
mod force;
mod parameters;
mod path;
#[cfg(test)]
mod pathological;
mod report;
mod shape_reader;
mod survey;
mod syntax;
mod terms;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod w3c_tests;

pub(crate) use compiled::{CompiledShapes, ShapeError, Validation};
pub(crate) use cost::Size;
pub(crate) use report::without_data_literals;
pub(crate) use survey::{ShapesSurvey, survey};

use crate::limits::Limits;
use crate::message::IntentGraph;
use crate::message::response::ResponseGraph;
use crate::protocol::ProtocolDocument;
use crate::refusal::{Reason, Refusal, Stage};

/// An intent that conforms to every request shape of its Protocol Document. Only [`ConformingIntent::judge`] makes one.
#[derive(Debug)]
pub(crate) struct ConformingIntent {
    intent: IntentGraph,
}

impl ConformingIntent {
    /// Validates the intent.
    ///
    /// # Errors
    /// `SHAPE_VIOLATION` with the W3C validation report, `VALIDATION_BUDGET_EXCEEDED`.
    pub(crate) fn judge(
        intent: IntentGraph,
        protocol: &ProtocolDocument,
        limits: &Limits,
    ) -> Result<Self, Refusal> {
        conforming(protocol.request_shapes.validate_focus(&intent.graph, &intent.node, limits))?;
        Ok(Self { intent })
    }

    /// The intent.
    pub(crate) fn intent(&self) -> &IntentGraph {
        &self.intent
    }
}

/// Validates a response against every response shape of its Protocol Document, and says whether there is any.
///
/// A shape judges what its targets select, and one without targets the root of the graph. One that judges nothing
/// refuses.
///
/// # Errors
/// `SHAPE_VIOLATION` with the W3C validation report, `VALIDATION_BUDGET_EXCEEDED`.
pub(crate) fn judge_response(
    response: &ResponseGraph,
    protocol: &ProtocolDocument,
    limits: &Limits,
) -> Result<bool, Refusal> {
    let Some(shapes) = &protocol.response_shapes else { return Ok(false) };
    let root = response.root();
    let judged = shapes.validate_each_root(&response.graph, root.as_ref(), limits);
    conforming(judged).map_err(|refusal| match refusal.reason() {
        Reason::ShapeViolation if refusal.evidence().constraint.is_none() => {
            refusal.detail("a response shape found nothing that it can judge")
        }
        _ => refusal,
    })?;
    Ok(true)
}

fn conforming(judged: Result<Validation, ShapeError>) -> Result<(), Refusal> {
    match judged {
        Ok(Validation::Conforms) => Ok(()),
        Ok(Validation::Violates { report, first }) => Err(Refusal::new(Stage::Shape, Reason::ShapeViolation)
            .with(|evidence| {
                evidence.shape = first.shape;
                evidence.path = first.path;
                evidence.constraint = first.constraint;
                evidence.seen = first.value;
            })
            .with_shacl_report(report)),
        Err(ShapeError::Budget) => Err(Refusal::new(Stage::Shape, Reason::ValidationBudgetExceeded)),
        Err(ShapeError::Unusable(_)) => {
            Err(Refusal::internal(Stage::Shape, "the compiled shapes failed to run"))
        }
    }
}
