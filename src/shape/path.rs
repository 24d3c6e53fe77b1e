//! Property paths (SHACL 2.3.1): read with a bound, and their predicates collected.

use super::fault::{Fault, Kind, unusable};
use super::terms::{as_node, read_list, sh_iri};
use crate::vocab::sh;
use oxrdf::{Graph, Term};
use std::collections::BTreeSet;

/// Nesting of one path.
const MAX_PATH_DEPTH: usize = 8;
/// Predicates and operators of one path.
const MAX_PATH_STEPS: usize = 32;

/// Reads one path, copying its triples.
pub(super) struct PathReader<'a> {
    source: &'a Graph,
    copy: &'a mut Graph,
    steps: usize,
    predicates: BTreeSet<String>,
}

impl<'a> PathReader<'a> {
    pub(super) fn new(source: &'a Graph, copy: &'a mut Graph) -> Self {
        Self { source, copy, steps: 0, predicates: BTreeSet::new() }
    }

    /// Reads a path and returns every predicate that occurs in it.
    ///
    /// # Errors
    /// [`Fault`]: no well-formed path, or one that does not end within its bounds.
    pub(super) fn read(mut self, path: &Term) -> Result<BTreeSet<String>, Fault> {
        self.walk(path, 0)?;
        Ok(self.predicates)
    }

    fn walk(&mut self, path: &Term, depth: usize) -> Result<(), Fault> {
        self.steps += 1;
        // A cyclic path is one without an end.
        if depth > MAX_PATH_DEPTH || self.steps > MAX_PATH_STEPS {
            return unusable(Kind::UnusablePath, "a sh:path is cyclic, or larger than is read");
        }
        let node = match path {
            Term::NamedNode(predicate) if predicate.as_ref() != oxrdf::vocab::rdf::NIL => {
                self.predicates.insert(predicate.as_str().to_owned());
                return Ok(());
            }
            Term::BlankNode(node) => node,
            _ => return unusable(Kind::UnusablePath, "a sh:path is not well-formed"),
        };
        if self.source.objects_for_subject_predicate(node, oxrdf::vocab::rdf::FIRST).next().is_some() {
            return self.walk_members(path, depth);
        }
        let mut triples = self.source.triples_for_subject(node);
        let (Some(triple), None) = (triples.next(), triples.next()) else {
            return unusable(Kind::UnusablePath, "a sh:path is not exactly one operator");
        };
        self.copy.insert(triple);
        let operand = triple.object.into_owned();
        match triple.predicate.as_str().strip_prefix(sh::NS) {
            Some("alternativePath") => self.walk_members(&operand, depth),
            Some("inversePath" | "zeroOrMorePath" | "oneOrMorePath" | "zeroOrOnePath")
                if as_node(operand.as_ref()).is_some() =>
            {
                self.walk(&operand, depth + 1)
            }
            _ => unusable(Kind::UnusablePath, "a sh:path has an unknown operator"),
        }
    }

    /// The members of a sequence or of alternatives, of which there are at least two.
    fn walk_members(&mut self, head: &Term, depth: usize) -> Result<(), Fault> {
        let members = read_list(self.source, self.copy, head)?;
        if members.len() < 2 {
            return unusable(Kind::UnusablePath, "a sh:path has a list of fewer than two paths");
        }
        members.iter().try_for_each(|member| self.walk(member, depth + 1))
    }
}

/// Whether a path leads from each node to itself too, as far as its outermost operator says.
pub(super) fn is_reflexive(source: &Graph, path: &Term) -> bool {
    let node = as_node(path.as_ref());
    ["zeroOrMorePath", "zeroOrOnePath"].iter().any(|operator| {
        node.as_ref().is_some_and(|node| {
            source.objects_for_subject_predicate(node, sh_iri(operator).as_ref()).next().is_some()
        })
    })
}
