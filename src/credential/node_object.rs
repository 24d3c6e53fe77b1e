//! A policy's graph as one JSON-LD node object, so that a credential can embed it.

use super::issue::IssueError;
use super::node::{as_node, iri};
use crate::limits::Limits;
use crate::rdf::{Budget, RdfMediaType, canon, jsonld, parse_graph};
use crate::vocab::{odrl, rdf};
use oxrdf::{Graph, LiteralRef, NamedOrBlankNodeRef, TermRef};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Nesting of a policy. A deeper one would not be read again.
const DEPTH: usize = 24;

/// A policy document.
pub(super) struct PolicySource<'a> {
    pub(super) text: &'a str,
    pub(super) media_type: RdfMediaType,
}

/// The node object of the document's one policy. Everything of the document is in it, or it is an error.
///
/// # Errors
/// [`IssueError::Policy`]
pub(super) fn of_policy(source: &PolicySource<'_>, limits: &Limits) -> Result<Value, IssueError> {
    let graph = parse_graph(source.text, source.media_type, limits)
        .map_err(|_| IssueError::Policy("the document is not RDF of its media type"))?;
    let policy = policy_node(&graph)?;
    let mut tree = Tree { graph: &graph, written: HashSet::from([policy]), triples: 0 };
    let object = tree.node(policy, DEPTH)?;
    if tree.triples != graph.len() {
        return Err(IssueError::Policy("the document says things that its policy does not lead to"));
    }
    let again = jsonld::parse_document(&object.to_string(), limits)?;
    let mut budget = Budget::new(limits);
    if canon::graph(&again, &mut budget)? != canon::graph(&graph, &mut budget)? {
        return Err(IssueError::Policy("the policy cannot be written as one JSON-LD node"));
    }
    Ok(object)
}

fn policy_node(graph: &Graph) -> Result<NamedOrBlankNodeRef<'_>, IssueError> {
    const CLASSES: [&str; 6] =
        [odrl::POLICY, odrl::SET, odrl::OFFER, odrl::AGREEMENT, odrl::ASSERTION, odrl::PRIVACY];
    let nodes: HashSet<_> = CLASSES
        .iter()
        .flat_map(|class| graph.subjects_for_predicate_object(iri(rdf::TYPE), iri(class)))
        .collect();
    let mut nodes = nodes.into_iter();
    match (nodes.next(), nodes.next()) {
        (Some(node), None) => Ok(node),
        _ => Err(IssueError::Policy("the document does not hold exactly one policy")),
    }
}

/// A walk in which each node is written out once: an IRI again by its name, a blank node never again.
struct Tree<'g> {
    graph: &'g Graph,
    written: HashSet<NamedOrBlankNodeRef<'g>>,
    triples: usize,
}

impl<'g> Tree<'g> {
    fn node(&mut self, node: NamedOrBlankNodeRef<'g>, depth: usize) -> Result<Value, IssueError> {
        let depth = depth.checked_sub(1).ok_or(IssueError::Policy("the policy is nested too deeply"))?;
        let mut object = Map::new();
        if let NamedOrBlankNodeRef::NamedNode(named) = node {
            object.insert("@id".to_owned(), named.as_str().into());
        }
        let mut properties: BTreeMap<&str, Vec<TermRef<'g>>> = BTreeMap::new();
        for triple in self.graph.triples_for_subject(node) {
            self.triples += 1;
            properties.entry(triple.predicate.as_str()).or_default().push(triple.object);
        }
        if properties.is_empty() {
            return match node {
                NamedOrBlankNodeRef::NamedNode(_) => Ok(object.into()),
                NamedOrBlankNodeRef::BlankNode(_) => Err(IssueError::Policy("a blank node says nothing")),
            };
        }
        for (predicate, mut objects) in properties {
            objects.sort_by_cached_key(ToString::to_string);
            if predicate == rdf::TYPE && objects.iter().all(|object| matches!(object, TermRef::NamedNode(_)))
            {
                let types: BTreeSet<&str> = objects.iter().filter_map(|object| as_iri(*object)).collect();
                object.insert("@type".to_owned(), json!(types));
            } else {
                let values = objects.into_iter().map(|object| self.value(object, depth));
                object.insert(predicate.to_owned(), Value::Array(values.collect::<Result<_, _>>()?));
            }
        }
        Ok(object.into())
    }

    fn value(&mut self, term: TermRef<'g>, depth: usize) -> Result<Value, IssueError> {
        if let TermRef::Literal(value) = term {
            return Ok(literal(value));
        }
        let node = as_node(term).ok_or(IssueError::Policy("a triple stands as a value"))?;
        if let Some(items) = self.list(node) {
            let items = items.into_iter().map(|item| self.value(item, depth));
            return Ok(json!({ "@list": items.collect::<Result<Vec<_>, _>>()? }));
        }
        match node {
            _ if self.written.insert(node) => self.node(node, depth),
            NamedOrBlankNodeRef::NamedNode(named) => Ok(json!({ "@id": named.as_str() })),
            NamedOrBlankNodeRef::BlankNode(_) => Err(IssueError::Policy("a blank node is reached twice")),
        }
    }

    /// The items of a list whose cells are blank and say nothing else. A list holding lists stays as it is.
    fn list(&mut self, head: NamedOrBlankNodeRef<'g>) -> Option<Vec<TermRef<'g>>> {
        let (mut items, mut cells) = (Vec::new(), HashSet::new());
        let mut cell = head;
        while cell != NamedOrBlankNodeRef::from(iri(rdf::NIL)) {
            if !cell.is_blank_node() || self.written.contains(&cell) || !cells.insert(cell) {
                return None;
            }
            let first = self.graph.object_for_subject_predicate(cell, iri(rdf::FIRST))?;
            let rest = self.graph.object_for_subject_predicate(cell, iri(rdf::REST))?;
            let leads_to_list = as_node(first)
                .is_some_and(|node| self.graph.object_for_subject_predicate(node, iri(rdf::FIRST)).is_some());
            if self.graph.triples_for_subject(cell).count() != 2 || leads_to_list {
                return None;
            }
            items.push(first);
            cell = as_node(rest)?;
        }
        self.triples += 2 * items.len();
        self.written.extend(cells);
        Some(items)
    }
}

fn as_iri(term: TermRef<'_>) -> Option<&str> {
    match term {
        TermRef::NamedNode(node) => Some(node.as_str()),
        _ => None,
    }
}

fn literal(literal: LiteralRef<'_>) -> Value {
    match literal.language() {
        Some(language) => json!({ "@value": literal.value(), "@language": language }),
        None if literal.datatype() == iri(rdf::XSD_STRING) => json!({ "@value": literal.value() }),
        None => json!({ "@value": literal.value(), "@type": literal.datatype().as_str() }),
    }
}
