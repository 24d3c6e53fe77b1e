//! JSON-LD safe mode: every member and value of the input is answered by a quad, or the document is refused.
//!
//! The library that turns JSON-LD into quads passes over what it cannot use, and processes every context anew. So the
//! document is walked first with a reading of our own, which refuses whatever would yield nothing, and makes the quads
//! that must come. The library's quads must then be exactly those, blank node labels aside.
//!
//! # Recognised forms
//!
//! A paper of the form that this field writes is read by the walk alone: its `@context` is the VC v2 URL, or that and
//! objects that define terms by an IRI, a type and a property's own such context; its members are text, whole numbers,
//! booleans, references, and nodes. Everything else (language tags, lists, sets, blank node labels, nested contexts,
//! fractions, other pinned contexts, types with a context of the document's own) takes the library too.
//!
//! That is sound because claims are read only from the quads that are hashed. Were the walk to read a paper otherwise
//! than its signer's JSON-LD processor did, the hash would be another one and the signature would not verify: a wrong
//! reading can refuse, never permit. That the walk reads rightly is held to by a property: for any paper, the
//! recognised form and the library give equal canonical N-Quads, or the form does not recognise it
//! (`jsonld/tests/recognised.rs`). A credential in a JWS has that property alone: its signature is over octets, which
//! hold the same JSON however it is read.

mod context;
mod expected;

use super::{RdfError, meter};
use crate::limits::Limits;
use context::{Active, Coercion, Container, Contexts, Definition, Name};
pub(super) use expected::Expected;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Quad, Term};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

/// Which rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Credentials, presentations and proof options: `mandate.md` 1.
    Paper,
    /// Intents, handshakes, policies and Protocol Documents: one default graph.
    Document,
}

pub(super) fn malformed(reason: &'static str) -> RdfError {
    RdfError::Malformed(reason.into())
}

/// What a document says by our own reading.
#[derive(Debug)]
pub(super) enum Reading {
    /// A paper of a recognised form: these are its quads, each as often as it is said.
    Recognised(Vec<Quad>),
    /// Any other document: the library must give these quads.
    Expected(Expected),
}

/// Walks a document and notes its quads.
///
/// # Errors
/// [`RdfError::Malformed`] for anything that would yield no quad or that the dialect excludes,
/// [`RdfError::RemoteContext`], and [`RdfError::TooLarge`] for depth, number of contexts and their cost.
pub(super) fn read(document: &Value, dialect: Dialect, limits: &Limits) -> Result<Reading, RdfError> {
    let walk = walk(document, dialect, limits)?;
    if walk.recognised {
        return Ok(Reading::Recognised(walk.quads));
    }
    Ok(Reading::Expected(Expected::new(&walk.quads, walk.numbers)))
}

fn walk<'l>(document: &Value, dialect: Dialect, limits: &'l Limits) -> Result<Walk<'l>, RdfError> {
    bound(document, limits)?;
    let mut walk = Walk {
        dialect,
        limits,
        contexts: Contexts::new(dialect, limits),
        recognised: dialect == Dialect::Paper,
        quads: Vec::new(),
        numbers: Vec::new(),
        depth: 0,
        octets: 0,
        blank_nodes: 0,
        papers: 0,
        paper: 0,
        labels: HashMap::new(),
    };
    let empty = Arc::new(Active::default());
    match (document, dialect) {
        (Value::Object(paper), Dialect::Paper) => walk.paper(paper, &empty, &GraphName::DefaultGraph)?,
        (Value::Object(object), Dialect::Document) => walk.document(object, &empty)?,
        (Value::Array(nodes), Dialect::Document) => walk.roots(nodes, &empty)?,
        _ => return Err(malformed("the document is not a JSON object")),
    }
    Ok(walk)
}

/// Nothing behind this check meets deeper nesting, so it may recurse.
fn bound(document: &Value, limits: &Limits) -> Result<(), RdfError> {
    let mut pending = vec![(document, 1usize)];
    let (mut values, mut octets) = (0usize, 0usize);
    while let Some((value, depth)) = pending.pop() {
        values += 1;
        if depth > limits.json_depth {
            return Err(RdfError::TooLarge("levels of nesting"));
        }
        if values > limits.json_values {
            return Err(RdfError::TooLarge("JSON values"));
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                octets = members.keys().fold(octets, |octets, key| octets.saturating_add(key.len()));
                pending.extend(members.values().map(|item| (item, depth + 1)));
            }
            Value::String(text) => octets = octets.saturating_add(text.len()),
            _ => (),
        }
        if octets > limits.message_bytes {
            return Err(RdfError::TooLarge("octets in a paper"));
        }
    }
    Ok(())
}

fn require_credentials_context(paper: &Map<String, Value>) -> Result<(), RdfError> {
    let first = match paper.get("@context") {
        Some(Value::Array(entries)) => entries.first(),
        other => other,
    };
    if first.and_then(Value::as_str) == Some(super::contexts::CREDENTIALS_V2) {
        Ok(())
    } else {
        Err(malformed("the first context of a paper is not the VC v2 context"))
    }
}

/// Whether a paper's context is of the recognised form: behind the VC v2 context, only objects of simple definitions.
fn is_recognised(context: Option<&Value>) -> bool {
    match context {
        Some(Value::Array(entries)) => entries.iter().skip(1).all(defines_simply),
        _ => true,
    }
}

fn defines_simply(context: &Value) -> bool {
    let Value::Object(definitions) = context else { return false };
    definitions.iter().all(|(name, definition)| match definition {
        _ if name.starts_with('@') => false,
        Value::String(_) => true,
        Value::Object(members) => members.iter().all(|(key, value)| match key.as_str() {
            "@id" => true,
            "@type" => value.as_str().is_some_and(|name| name == "@id" || !name.starts_with('@')),
            "@context" => defines_simply(value),
            _ => false,
        }),
        _ => false,
    })
}

struct Walk<'l> {
    dialect: Dialect,
    limits: &'l Limits,
    contexts: Contexts<'l>,
    /// Whether all so far is of the recognised form.
    recognised: bool,
    quads: Vec<Quad>,
    /// Quads of numbers with a fraction or exponent, whose lexical form is left to the library.
    numbers: Vec<String>,
    depth: usize,
    octets: usize,
    blank_nodes: usize,
    /// Embedded papers met so far, and the one that is being walked; 0 is the outermost.
    papers: usize,
    paper: usize,
    /// The paper that each blank node label belongs to: papers do not share blank nodes.
    labels: HashMap<String, (usize, BlankNode)>,
}

/// Where a value stands.
struct Position<'p> {
    graph: &'p GraphName,
    subject: &'p NamedOrBlankNode,
    predicate: NamedNodeRef<'p>,
}

impl Walk<'_> {
    fn document<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        empty: &Arc<Active<'a>>,
    ) -> Result<(), RdfError> {
        let active = match object.get("@context") {
            Some(context) => self.contexts.local(empty, context)?,
            None => Arc::clone(empty),
        };
        // `@graph` beside nothing but `@context` is a list of nodes of the default graph.
        let mut members = object.iter().filter(|(key, _)| key.as_str() != "@context");
        match (members.next(), members.next()) {
            (Some((key, value)), None) if active.keyword(key) == Some("@graph") => match value {
                Value::Array(nodes) => self.roots(nodes, &active),
                Value::Object(node) => self.root(node, &active, &GraphName::DefaultGraph),
                _ => Err(malformed("@graph holds something other than nodes")),
            },
            _ => self.rooted(object, &active, &GraphName::DefaultGraph),
        }
    }

    fn roots<'a>(&mut self, nodes: &'a [Value], active: &Arc<Active<'a>>) -> Result<(), RdfError> {
        nodes.iter().try_for_each(|node| match node {
            Value::Object(node) => self.root(node, active, &GraphName::DefaultGraph),
            _ => Err(malformed("a value stands where only nodes may")),
        })
    }

    /// A paper: the outermost, or one that another embeds and of whose context nothing reaches it.
    fn paper<'a>(
        &mut self,
        paper: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        graph: &GraphName,
    ) -> Result<(), RdfError> {
        require_credentials_context(paper)?;
        let context = paper.get("@context");
        self.recognised &= is_recognised(context);
        let active = match context {
            Some(context) => self.contexts.local(active, context)?,
            None => Arc::clone(active),
        };
        self.rooted(paper, &active, graph)
    }

    /// A node that no property leads to: it must say something itself.
    fn root<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        graph: &GraphName,
    ) -> Result<(), RdfError> {
        let active = self.own_context(object, active)?;
        self.rooted(object, &active, graph)
    }

    fn rooted<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        graph: &GraphName,
    ) -> Result<(), RdfError> {
        let before = self.noted();
        self.node(object, active, graph)?;
        if self.noted() == before {
            return Err(malformed("a node stands alone and says nothing"));
        }
        Ok(())
    }

    fn own_context<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
    ) -> Result<Arc<Active<'a>>, RdfError> {
        match object.get("@context") {
            Some(context) => {
                self.recognised = false;
                self.contexts.local(active, context)
            }
            None => Ok(Arc::clone(active)),
        }
    }

    /// A node object, its own context already in force. Returns its name.
    fn node<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        graph: &GraphName,
    ) -> Result<NamedOrBlankNode, RdfError> {
        if object.keys().all(|key| key == "@context") {
            return Err(malformed("a node is empty"));
        }
        self.depth += 1;
        if self.depth > self.limits.graph_depth {
            return Err(RdfError::TooLarge("levels of nesting"));
        }
        let (mut id, mut types) = (None, None);
        for (key, value) in object.iter().filter(|(key, _)| key.as_str() != "@context") {
            match active.keyword(key) {
                Some("@id") if id.is_none() => id = Some(value),
                Some("@type") if types.is_none() => types = Some(value),
                Some(_) => return Err(malformed("a keyword stands where it is not read")),
                // Terms may yet be defined by the context of a type.
                None => (),
            }
        }
        let (types, scoped) = self.types(types, active)?;
        let subject = match id {
            Some(id) => self.identifier(id, &scoped)?,
            None => self.blank_node().into(),
        };
        for iri in types {
            self.note(&Position { graph, subject: &subject, predicate: rdf::TYPE }, iri)?;
        }
        self.properties(object, active, &scoped, graph, &subject)?;
        self.depth -= 1;
        Ok(subject)
    }

    fn properties<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        scoped: &Arc<Active<'a>>,
        graph: &GraphName,
        subject: &NamedOrBlankNode,
    ) -> Result<(), RdfError> {
        for (key, value) in object.iter().filter(|(key, _)| key.as_str() != "@context") {
            match scoped.expand(key, true) {
                Name::Iri(predicate) => {
                    let predicate = NamedNodeRef::new_unchecked(&predicate);
                    self.property(key, value, scoped, &Position { graph, subject, predicate })?;
                }
                Name::Keyword(keyword) if Some(keyword) == active.keyword(key) => (),
                _ => return Err(malformed("a member has no meaning in its context")),
            }
        }
        Ok(())
    }

    /// The types of a node, and the context that they leave in force for its members.
    fn types<'a>(
        &mut self,
        types: Option<&'a Value>,
        active: &Arc<Active<'a>>,
    ) -> Result<(Vec<NamedNode>, Arc<Active<'a>>), RdfError> {
        let types = match types {
            None => return Ok((Vec::new(), Arc::clone(active))),
            Some(Value::Array(types)) if types.is_empty() => {
                return Err(malformed("a list of types is empty"));
            }
            Some(Value::Array(types)) => types.as_slice(),
            Some(single) => std::slice::from_ref(single),
        };
        let names: Option<Vec<&str>> = types.iter().map(Value::as_str).collect();
        let mut names = names.ok_or_else(|| malformed("a type is not a string"))?;
        names.sort_unstable();
        let mut iris = Vec::new();
        let mut result = Arc::clone(active);
        let mut scopes = 0;
        for name in names {
            match active.expand(name, true) {
                Name::Iri(iri) => {
                    self.spend(iri.len())?;
                    iris.push(NamedNode::new_unchecked(iri));
                }
                _ => return Err(malformed("a type has no meaning in its context")),
            }
            if let Some(scoped) = active.term(name).and_then(|term| term.context) {
                result = self.contexts.of_type(&result, scoped)?;
                // The library applies the context of only one of several types.
                scopes += 1;
                self.recognised &= scoped.is_pinned() && scopes == 1;
            }
        }
        Ok((iris, result))
    }

    fn property<'a>(
        &mut self,
        key: &str,
        value: &'a Value,
        active: &Arc<Active<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        let term = active.term(key).cloned();
        let container = term.as_ref().map_or(Container::Plain, |term| term.container);
        match (container, value) {
            (Container::List, Value::Array(items)) => self.list(key, items, active, at),
            (Container::List, _) => Err(malformed("the value of a list term is not an array")),
            (_, Value::Array(items)) => self.items(key, items, active, at),
            _ => self.value(key, value, active, at),
        }
    }

    fn items<'a>(
        &mut self,
        key: &str,
        items: &'a [Value],
        active: &Arc<Active<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        if items.is_empty() {
            return Err(malformed("an array is empty"));
        }
        items.iter().try_for_each(|item| self.value(key, item, active, at))
    }

    fn list<'a>(
        &mut self,
        key: &str,
        items: &'a [Value],
        active: &Arc<Active<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        self.recognised = false;
        if items.is_empty() {
            return self.note(at, rdf::NIL);
        }
        let mut cell = self.blank_node();
        self.note(at, cell.clone())?;
        for (index, item) in items.iter().enumerate() {
            if matches!(item, Value::Object(object) if has_keyword(object, active, &["@list", "@set"])) {
                return Err(malformed("a list holds a list or set"));
            }
            let subject = cell.into();
            let of_cell = |predicate| Position { graph: at.graph, subject: &subject, predicate };
            self.value(key, item, active, &of_cell(rdf::FIRST))?;
            cell = self.blank_node();
            let last = index + 1 == items.len();
            let rest: Term = if last { rdf::NIL.into() } else { cell.clone().into() };
            self.note(&of_cell(rdf::REST), rest)?;
        }
        Ok(())
    }

    fn value<'a>(
        &mut self,
        key: &str,
        value: &'a Value,
        active: &Arc<Active<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        let term = active.term(key).cloned();
        if term.as_ref().is_some_and(|term| term.coercion == Coercion::Unsupported) {
            return Err(malformed("a term's type is not read"));
        }
        let graph = term.as_ref().is_some_and(|term| term.container == Container::Graph);
        match value {
            Value::Null => Err(malformed("a value is null")),
            Value::Array(_) => Err(malformed("an array holds an array")),
            Value::Object(object) if graph => self.graph(object, active, term.as_deref(), at),
            _ if graph => Err(malformed("a graph is not an object")),
            Value::Object(object) => self.object(key, object, active, term.as_deref(), at),
            scalar => self.scalar(key, scalar, active, term.as_deref(), at),
        }
    }

    /// An object in a graph container: a graph with a blank name.
    fn graph<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        term: Option<&Definition<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        if self.dialect == Dialect::Document {
            return Err(malformed("a graph is named"));
        }
        let name = self.blank_node();
        self.note(at, name.clone())?;
        let name = name.into();
        let embeds_paper = term.and_then(|term| term.context).is_some_and(|scoped| scoped.context.is_null());
        let active = self.enter(object, active, term)?;
        if !embeds_paper {
            return self.root(object, &active, &name);
        }
        let count = self.contexts.enter_paper();
        let outer = self.paper;
        self.papers += 1;
        self.paper = self.papers;
        self.paper(object, &active, &name)?;
        self.paper = outer;
        self.contexts.leave_paper(count);
        Ok(())
    }

    /// The context that an object starts with: a type-scoped one ends, a property-scoped one begins.
    fn enter<'a>(
        &mut self,
        object: &Map<String, Value>,
        active: &Arc<Active<'a>>,
        term: Option<&Definition<'a>>,
    ) -> Result<Arc<Active<'a>>, RdfError> {
        let reference = object.len() == 1 && has_keyword(object, active, &["@id"]);
        let keeps = reference || has_keyword(object, active, &["@value"]);
        let outer = match &active.previous {
            Some(previous) if !keeps => previous,
            _ => active,
        };
        let Some(scoped) = term.and_then(|term| term.context) else { return Ok(Arc::clone(outer)) };
        // Where a type's context ends and a property's begins, the library keeps the first and drops the second in nodes
        // below: not what JSON-LD 1.1 says (Expansion, steps 7 and 8). Nothing of either is left behind `null`.
        self.recognised &= Arc::ptr_eq(outer, active) || scoped.context.is_null();
        self.contexts.of_property(outer, scoped)
    }

    fn object<'a>(
        &mut self,
        key: &str,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        term: Option<&Definition<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        if has_keyword(object, active, &["@list", "@set"]) {
            return self.container_object(key, object, active, at);
        }
        let active = self.enter(object, active, term)?;
        let active = self.own_context(object, &active)?;
        if has_keyword(object, &active, &["@value"]) {
            return self.value_object(object, &active, at);
        }
        let name = self.node(object, &active, at.graph)?;
        self.note(at, name)
    }

    /// `{"@list": [...]}` or `{"@set": [...]}`.
    fn container_object<'a>(
        &mut self,
        key: &str,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        self.recognised = false;
        let mut members = object.iter();
        match (members.next(), members.next()) {
            (Some((keyword, Value::Array(items))), None) => match active.keyword(keyword) {
                Some("@list") => self.list(key, items, active, at),
                _ => self.items(key, items, active, at),
            },
            _ => Err(malformed("a list or set is not one array alone")),
        }
    }

    fn value_object(
        &mut self,
        object: &Map<String, Value>,
        active: &Active<'_>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        let (mut value, mut datatype, mut language) = (None, None, None);
        for (key, member) in object {
            match (active.keyword(key), member) {
                (Some("@value"), member) if value.is_none() => value = Some(member),
                (Some("@type"), Value::String(name)) if datatype.is_none() => {
                    match active.expand(name, true) {
                        Name::Iri(iri) => datatype = Some(iri),
                        _ => return Err(malformed("a datatype has no meaning in its context")),
                    }
                }
                (Some("@language"), Value::String(tag)) if language.is_none() => {
                    language = Some(tag.as_str());
                }
                _ => return Err(malformed("a value object holds something that is not read")),
            }
        }
        match (value, &datatype, language) {
            (Some(Value::String(text)), None, Some(language)) => self.tagged(text, language, at),
            (Some(value), datatype, None) => self.literal(value, datatype.as_deref(), at),
            _ => Err(malformed("a value object is contradictory")),
        }
    }

    fn scalar<'a>(
        &mut self,
        key: &str,
        value: &'a Value,
        active: &Arc<Active<'a>>,
        term: Option<&Definition<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        let scoped = match term.and_then(|term| term.context) {
            Some(scoped) => self.contexts.of_property(active, scoped)?,
            None => Arc::clone(active),
        };
        let term = scoped.term(key);
        match (term.map(|term| &term.coercion), value) {
            (Some(Coercion::Id | Coercion::Vocab), Value::String(text)) => {
                let vocabulary = term.is_some_and(|term| term.coercion == Coercion::Vocab);
                let name = self.named(scoped.expand(text, vocabulary), text)?;
                self.note(at, name)
            }
            (Some(Coercion::Datatype(datatype)), value) => self.literal(value, Some(datatype), at),
            (Some(Coercion::Plain) | None, Value::String(text)) => {
                match term.and_then(|term| term.language).unwrap_or(scoped.language) {
                    Some(language) => self.tagged(text, language, at),
                    None => self.note(at, Literal::new_simple_literal(text)),
                }
            }
            (Some(Coercion::Plain) | None, value) => self.literal(value, None, at),
            (Some(_), _) => Err(malformed("a value is not of its term's type")),
        }
    }

    fn literal(&mut self, value: &Value, datatype: Option<&str>, at: &Position<'_>) -> Result<(), RdfError> {
        // Types of RDF itself say more than a lexical form and a type do.
        self.recognised &= datatype.is_none_or(|datatype| !datatype.starts_with(RDF));
        let by_default = |default| datatype.map_or(default, NamedNodeRef::new_unchecked);
        let literal = match value {
            Value::String(text) => Literal::new_typed_literal(text, by_default(xsd::STRING)),
            Value::Bool(value) => Literal::new_typed_literal(value.to_string(), by_default(xsd::BOOLEAN)),
            Value::Number(number)
                if (number.is_i64() || number.is_u64()) && datatype != Some(xsd::DOUBLE.as_str()) =>
            {
                Literal::new_typed_literal(number.to_string(), by_default(xsd::INTEGER))
            }
            Value::Number(number) => {
                // A whole number written as 1.0 is an integer in RDF.
                let whole = number.as_f64().is_some_and(|value| value.fract() == 0.0 && value.abs() < 1e21);
                let datatype = by_default(if whole { xsd::INTEGER } else { xsd::DOUBLE });
                let number = expected::number(at.graph, at.subject, at.predicate, datatype);
                self.spend(number.len())?;
                self.recognised = false;
                self.numbers.push(number);
                return Ok(());
            }
            _ => return Err(malformed("a literal is neither text, number nor boolean")),
        };
        self.note(at, literal)
    }

    fn tagged(&mut self, text: &str, language: &str, at: &Position<'_>) -> Result<(), RdfError> {
        self.recognised = false;
        self.note(at, Literal::new_language_tagged_literal_unchecked(text, language))
    }

    /// A node's name, from the value of its `@id`.
    fn identifier(&mut self, value: &Value, active: &Active<'_>) -> Result<NamedOrBlankNode, RdfError> {
        let text = value.as_str().ok_or_else(|| malformed("an identifier is not a string"))?;
        self.named(active.expand(text, false), text)
    }

    fn named(&mut self, name: Name, text: &str) -> Result<NamedOrBlankNode, RdfError> {
        match name {
            Name::Iri(iri) => Ok(NamedNode::new_unchecked(iri).into()),
            Name::Blank => {
                self.recognised = false;
                let fresh = self.blank_node();
                let (paper, node) = self.labels.entry(text.to_owned()).or_insert((self.paper, fresh));
                if *paper != self.paper {
                    return Err(malformed("two papers share a blank node"));
                }
                Ok(node.clone().into())
            }
            Name::Keyword(_) | Name::Nothing => Err(malformed("an identifier is not an absolute IRI")),
        }
    }

    fn blank_node(&mut self) -> BlankNode {
        self.blank_nodes += 1;
        // INVARIANT: `b` and digits is a valid label.
        BlankNode::new_unchecked(format!("b{}", self.blank_nodes))
    }

    fn note(&mut self, at: &Position<'_>, object: impl Into<Term>) -> Result<(), RdfError> {
        let object = object.into();
        self.spend(expected::octets(at.graph, at.subject, at.predicate, &object))?;
        self.quads.push(Quad {
            subject: at.subject.clone(),
            predicate: at.predicate.into_owned(),
            object,
            graph_name: at.graph.clone(),
        });
        Ok(())
    }

    fn noted(&self) -> usize {
        self.quads.len() + self.numbers.len()
    }

    /// Bounds what prefixes and terms multiply to, before the library writes all of it out at once.
    fn spend(&mut self, octets: usize) -> Result<(), RdfError> {
        if self.noted() >= self.limits.triples {
            return Err(RdfError::TooLarge("triples"));
        }
        self.octets = self.octets.saturating_add(octets);
        if self.octets > meter::octets_of_all_terms(self.limits) {
            return Err(RdfError::TooLarge("octets in all terms"));
        }
        Ok(())
    }
}

fn has_keyword(object: &Map<String, Value>, active: &Active<'_>, keywords: &[&str]) -> bool {
    object.keys().any(|key| active.keyword(key).is_some_and(|keyword| keywords.contains(&keyword)))
}

#[cfg(test)]
mod tests;
