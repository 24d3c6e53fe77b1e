//! Request shapes, compiled once and run under a budget.

use crate::limits::Limits;
use oxrdf::{Graph, NamedOrBlankNode};

/// Shapes of one graph, compiled.
#[derive(Debug)]
pub(crate) struct CompiledShapes {}

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
    pub(crate) fn compile(graph: &Graph, roots: &[NamedOrBlankNode]) -> Result<Self, ShapeError> {
        let _ = (graph, roots);
        Err(ShapeError::Unusable("not implemented".into()))
    }

    /// Judges `focus` by every root shape, and whatever the shapes' own targets select.
    pub(crate) fn validate_focus(
        &self,
        data: &Graph,
        focus: &NamedOrBlankNode,
        limits: &Limits,
    ) -> Result<Validation, ShapeError> {
        let _ = (data, focus, limits);
        Err(ShapeError::Unusable("not implemented".into()))
    }

    /// Plain SHACL: the shapes' own targets only (the vector operation `validate-intent`).
    pub(crate) fn validate_targets(&self, data: &Graph, limits: &Limits) -> Result<Validation, ShapeError> {
        let _ = (data, limits);
        Err(ShapeError::Unusable("not implemented".into()))
    }
}
