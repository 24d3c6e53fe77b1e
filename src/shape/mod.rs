//! Stage 4: the intent against the request shapes of its Protocol Document.
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
        let judged = protocol.request_shapes.validate_focus(&intent.graph, &intent.node, limits);
        match judged {
            Ok(Validation::Conforms) => Ok(Self { intent }),
            Ok(Validation::Violates { report, first }) => {
                Err(Refusal::new(Stage::Shape, Reason::ShapeViolation)
                    .with(|evidence| {
                        evidence.shape = first.shape;
                        evidence.path = first.path;
                        evidence.constraint = first.constraint;
                        evidence.seen = first.value;
                    })
                    .with_shacl_report(report))
            }
            Err(ShapeError::Budget) => Err(Refusal::new(Stage::Shape, Reason::ValidationBudgetExceeded)),
            Err(ShapeError::Unusable(_)) => {
                Err(Refusal::internal(Stage::Shape, "the compiled shapes failed to run"))
            }
        }
    }

    /// The intent.
    pub(crate) fn intent(&self) -> &IntentGraph {
        &self.intent
    }
}
