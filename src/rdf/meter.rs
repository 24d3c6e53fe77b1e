//! The limits that hold while a parser emits quads.

use super::RdfError;
use crate::limits::Limits;
use oxrdf::vocab::rdf;
use oxrdf::{BlankNodeRef, GraphNameRef, NamedOrBlankNodeRef, QuadRef, TermRef};
use std::collections::HashSet;

/// How many times its own byte limit a document's terms may add up to once prefixes and terms are written out. A few
/// kilobytes of prefix used by every triple would else fill gigabytes.
const EXPANSION: usize = 16;

/// The octets that all terms of one document may have together, each counted where it stands.
pub(super) fn octets_of_all_terms(limits: &Limits) -> usize {
    limits.graph_bytes.saturating_mul(EXPANSION)
}

/// What quads take of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    triples: usize,
    octets: usize,
    blank_nodes: usize,
}

/// Counts what a parser emits, and refuses the first quad over a limit or beyond RDF 1.1, which RDFC-1.0 is for. (The
/// parsers read RDF 1.2, because a dependency switches that on.)
pub(super) struct Meter<'a> {
    limits: &'a Limits,
    triples: usize,
    octets: usize,
    blank_nodes: HashSet<String>,
    /// Blank nodes of parts that were counted before.
    of_parts: usize,
}

impl<'a> Meter<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Self { limits, triples: 0, octets: 0, blank_nodes: HashSet::new(), of_parts: 0 }
    }

    /// Counts one quad.
    ///
    /// # Errors
    /// [`RdfError::TooLarge`] when a limit is passed, [`RdfError::Malformed`] for RDF 1.2.
    pub(super) fn count(&mut self, quad: QuadRef<'_>) -> Result<(), RdfError> {
        self.triples(1)?;
        match quad.subject {
            NamedOrBlankNodeRef::NamedNode(node) => self.text(node.as_str())?,
            NamedOrBlankNodeRef::BlankNode(node) => self.blank_node(node)?,
        }
        self.text(quad.predicate.as_str())?;
        match quad.object {
            TermRef::NamedNode(node) => self.text(node.as_str())?,
            TermRef::BlankNode(node) => self.blank_node(node)?,
            TermRef::Literal(literal) => {
                self.text(literal.value())?;
                self.text(literal.datatype().as_str())?;
                self.text(literal.language().unwrap_or_default())?;
                if literal.language().is_none() && literal.datatype() == rdf::LANG_STRING {
                    return Err(RdfError::Malformed("a language-tagged literal has no language".into()));
                }
                if literal.value().contains(['\u{fffe}', '\u{ffff}']) {
                    // Canonical N-Quads of RDF 1.2 escapes it, and the signers' libraries do not.
                    return Err(RdfError::Malformed("a literal holds a noncharacter".into()));
                }
                if literal.direction().is_some() {
                    return Err(RdfError::Malformed("a literal has a base direction (RDF 1.2)".into()));
                }
            }
            TermRef::Triple(_) => return Err(RdfError::Malformed("a triple is quoted (RDF 1.2)".into())),
        }
        match quad.graph_name {
            GraphNameRef::NamedNode(node) => self.text(node.as_str()),
            GraphNameRef::BlankNode(node) => self.blank_node(node),
            GraphNameRef::DefaultGraph => Ok(()),
        }
    }

    /// What was counted so far.
    pub(super) fn size(&self) -> Size {
        let blank_nodes = self.blank_nodes.len() + self.of_parts;
        Size { triples: self.triples, octets: self.octets, blank_nodes }
    }

    /// Counts a part that was counted before. The node that names its graph is among the others too.
    ///
    /// # Errors
    /// [`RdfError::TooLarge`]
    pub(super) fn count_part(&mut self, part: &Size) -> Result<(), RdfError> {
        self.triples(part.triples)?;
        self.octets(part.octets)?;
        self.of_parts = self.of_parts.saturating_add(part.blank_nodes.saturating_sub(1));
        self.check_blank_nodes()
    }

    fn triples(&mut self, more: usize) -> Result<(), RdfError> {
        self.triples = self.triples.saturating_add(more);
        if self.triples > self.limits.triples { Err(RdfError::TooLarge("triples")) } else { Ok(()) }
    }

    fn octets(&mut self, more: usize) -> Result<(), RdfError> {
        self.octets = self.octets.saturating_add(more);
        if self.octets > octets_of_all_terms(self.limits) {
            return Err(RdfError::TooLarge("octets in all terms"));
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), RdfError> {
        if text.len() > self.limits.term_bytes {
            return Err(RdfError::TooLarge("octets in a term"));
        }
        self.octets(text.len())
    }

    fn blank_node(&mut self, node: BlankNodeRef<'_>) -> Result<(), RdfError> {
        self.text(node.as_str())?;
        if !self.blank_nodes.contains(node.as_str()) {
            self.blank_nodes.insert(node.as_str().to_owned());
        }
        self.check_blank_nodes()
    }

    fn check_blank_nodes(&self) -> Result<(), RdfError> {
        if self.blank_nodes.len().saturating_add(self.of_parts) > self.limits.blank_nodes {
            return Err(RdfError::TooLarge("blank nodes"));
        }
        Ok(())
    }
}
