//! Stage 3: the intent part to a graph with exactly one `a2a:Intent`.

use super::RdfPart;
use crate::limits::Limits;
use crate::rdf::Budget;
use crate::refusal::{Refusal, Stage};
use oxrdf::{Graph, NamedOrBlankNode};

/// A bounded default graph with exactly one subject typed `a2a:Intent`.
#[derive(Debug)]
pub(crate) struct IntentGraph {
    pub(crate) graph: Graph,
    /// The one intent.
    pub(crate) node: NamedOrBlankNode,
    /// `sha256:` and the hexadecimal RDFC-1.0 hash of the graph.
    pub(crate) hash: String,
}

impl IntentGraph {
    /// Parses the part and finds its intent.
    ///
    /// # Errors
    /// `GRAPH_MALFORMED`, `GRAPH_TOO_LARGE`, `REMOTE_CONTEXT`, `INTENT_AMBIGUOUS`.
    pub(crate) fn read(part: &RdfPart, limits: &Limits, budget: &mut Budget) -> Result<Self, Refusal> {
        let _ = (part, limits, budget);
        Err(Refusal::internal(Stage::Intent, "not implemented"))
    }
}
