//! JSON-LD 1.1 in safe mode, with pinned contexts only.

use super::labels::Labels;
use super::meter::Meter;
use super::safe_mode::{self, Dialect, Expected, Reading, malformed};
use super::{RdfError, contexts};
use crate::limits::Limits;
use crate::message::strict_json::{self, JsonError};
use oxjsonld::{JsonLdParser, JsonLdRemoteDocument};
use oxrdf::{Graph, Quad};
use serde_json::Value;
use std::collections::HashSet;

/// Parses a JSON-LD document that is one default graph.
///
/// # Errors
/// [`RdfError::Malformed`] for anything that would yield no quad and for named graphs, [`RdfError::TooLarge`] for a
/// limit, [`RdfError::RemoteContext`] for a context that is not pinned.
pub(crate) fn parse_document(text: &str, limits: &Limits) -> Result<Graph, RdfError> {
    if text.len() > limits.graph_bytes {
        return Err(RdfError::TooLarge("octets in a graph"));
    }
    let document = read(text, limits)?;
    default_graph(quads(&document, Dialect::Document, limits)?.quads)
}

/// Parses a paper (credential, presentation, proof options) to the quads of its dataset, under the stricter rules of `mandate.md` 1:
/// first context VC v2, protected terms stay, no keyword aliases, no `@vocab`, `@base`, `@reverse`, `@included`,
/// `@nest`, `@graph`. Each value is a quad of its own: repetitions refuse.
///
/// # Errors
/// As [`parse_document`], named graphs of pinned graph containers apart.
pub(crate) fn parse_paper(paper: &Value, limits: &Limits) -> Result<Vec<Quad>, RdfError> {
    read_paper(paper, limits).map(|paper| paper.quads)
}

/// A paper's quads.
pub(crate) struct Paper {
    pub(crate) quads: Vec<Quad>,
    /// It is of a recognised form: embedded in another, it reads as it does alone.
    pub(crate) recognised: bool,
}

/// [`parse_paper`], telling whether the paper is of a recognised form.
///
/// # Errors
/// As [`parse_paper`].
pub(crate) fn read_paper(paper: &Value, limits: &Limits) -> Result<Paper, RdfError> {
    let paper = quads(paper, Dialect::Paper, limits)?;
    let mut seen = HashSet::with_capacity(paper.quads.len());
    if paper.quads.iter().all(|quad| seen.insert(quad)) {
        Ok(paper)
    } else {
        Err(malformed("a paper says the same thing twice"))
    }
}

fn read(text: &str, limits: &Limits) -> Result<Value, RdfError> {
    strict_json::read(text.as_bytes(), limits).map_err(|error| match error {
        JsonError::TooLarge => RdfError::TooLarge("octets in a graph"),
        JsonError::Limit(name) => RdfError::TooLarge(name),
        JsonError::Malformed(reason) => malformed(reason),
    })
}

fn quads(document: &Value, dialect: Dialect, limits: &Limits) -> Result<Paper, RdfError> {
    // First, because the library recurses along nesting and along definitions.
    match safe_mode::read(document, dialect, limits)? {
        Reading::Recognised(quads) => {
            super::check_size(&quads, limits)?;
            Ok(Paper { quads, recognised: true })
        }
        Reading::Expected(expected) => {
            Ok(Paper { quads: by_library(document, &expected, limits)?, recognised: false })
        }
    }
}

fn by_library(document: &Value, expected: &Expected, limits: &Limits) -> Result<Vec<Quad>, RdfError> {
    let text = serde_json::to_vec(document).map_err(|_| malformed("the document is not JSON"))?;
    if text.len() > limits.message_bytes {
        return Err(RdfError::TooLarge("octets in a paper"));
    }
    let mut meter = Meter::new(limits);
    let mut labels = Labels::default();
    let mut quads = Vec::new();
    for quad in JsonLdParser::new().for_slice(&text).with_load_document_callback(|url, _| load(url)) {
        let quad = quad.map_err(|_| malformed("the document is not valid JSON-LD"))?;
        meter.count(quad.as_ref())?;
        quads.push(labels.quad(quad));
    }
    if expected.is_answered_by(quads.iter().map(Quad::as_ref)) {
        Ok(quads)
    } else {
        Err(malformed("some of the document would yield no quad"))
    }
}

/// No quad of a named graph is passed over: it would make another dataset, with another hash.
fn default_graph(quads: Vec<Quad>) -> Result<Graph, RdfError> {
    if quads.iter().any(|quad| !quad.graph_name.is_default_graph()) {
        return Err(malformed("a graph is named"));
    }
    Ok(quads.into_iter().map(oxrdf::Triple::from).collect())
}

fn load(url: &str) -> Result<JsonLdRemoteDocument, Box<dyn std::error::Error + Send + Sync>> {
    let context = contexts::pinned(url).ok_or("not pinned")?;
    // Without a URL: the library would take one term for two if two contexts define it alike, and no pinned context
    // holds anything relative.
    Ok(JsonLdRemoteDocument { document: context.text.into(), document_url: String::new() })
}

#[cfg(test)]
mod tests;
