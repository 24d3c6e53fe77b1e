//! JSON-LD 1.1 in safe mode, with pinned contexts only.

use super::RdfError;
use crate::limits::Limits;
use oxrdf::{Dataset, Graph};
use serde_json::Value;

/// Parses a JSON-LD document that is one default graph.
pub(crate) fn parse_document(text: &str, limits: &Limits) -> Result<Graph, RdfError> {
    let _ = (text, limits);
    Err(RdfError::Malformed("not implemented".into()))
}

/// Parses a paper (credential, presentation, proof options) to its dataset, under the stricter rules of `mandate.md` 1:
/// first context VC v2, protected terms stay, no keyword aliases, no `@vocab`, `@base`, `@reverse`, `@included`, `@nest`, `@graph`.
pub(crate) fn parse_paper(paper: &Value, limits: &Limits) -> Result<Dataset, RdfError> {
    let _ = (paper, limits);
    Err(RdfError::Malformed("not implemented".into()))
}
