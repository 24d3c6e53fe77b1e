//! JSON-LD safe mode: every member and value of the input is answered by a quad, or the document is refused.
//!
//! The library that turns JSON-LD into quads passes over what it cannot use. So the document is walked first with a
//! reading of our own, which refuses whatever would yield nothing, and notes each quad that must come. The library's
//! quads must then be exactly those, blank node labels aside: neither reading alone decides what a document says.

mod context;
mod expected;

use super::{RdfError, meter};
use crate::limits::Limits;
use context::{Active, Coercion, Container, Contexts, Name, Term};
pub(super) use expected::Expected;
use expected::{BLANK, DEFAULT, place, tagged, typed};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

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

/// Walks a document and notes its quads.
///
/// # Errors
/// [`RdfError::Malformed`] for anything that would yield no quad or that the dialect excludes,
/// [`RdfError::RemoteContext`], and [`RdfError::TooLarge`] for depth, number of contexts and their cost.
pub(super) fn expected(document: &Value, dialect: Dialect, limits: &Limits) -> Result<Expected, RdfError> {
    bound_depth(document, limits)?;
    let mut walk = Walk {
        dialect,
        limits,
        contexts: Contexts::new(dialect, limits),
        expected: Expected::default(),
        depth: 0,
        octets: 0,
        papers: 0,
        paper: 0,
        labels: HashMap::new(),
    };
    let empty = Arc::new(Active::default());
    match (document, dialect) {
        (Value::Object(paper), Dialect::Paper) => {
            require_credentials_context(paper)?;
            walk.root(paper, &empty, DEFAULT)?;
        }
        (Value::Object(object), Dialect::Document) => walk.document(object, &empty)?,
        (Value::Array(nodes), Dialect::Document) => walk.roots(nodes, &empty)?,
        _ => return Err(malformed("the document is not a JSON object")),
    }
    Ok(walk.expected)
}

/// Nothing behind this check meets deeper nesting, so it may recurse.
fn bound_depth(document: &Value, limits: &Limits) -> Result<(), RdfError> {
    let mut pending = vec![(document, 1usize)];
    let mut values = 0usize;
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
            Value::Object(members) => pending.extend(members.values().map(|item| (item, depth + 1))),
            _ => (),
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

struct Walk<'l> {
    dialect: Dialect,
    limits: &'l Limits,
    contexts: Contexts<'l>,
    expected: Expected,
    depth: usize,
    octets: usize,
    /// Embedded papers met so far, and the one that is being walked; 0 is the outermost.
    papers: usize,
    paper: usize,
    /// The paper that each blank node label belongs to: papers do not share blank nodes.
    labels: HashMap<String, usize>,
}

/// Where a value stands.
struct Position<'p> {
    graph: &'p str,
    subject: &'p str,
    predicate: &'p str,
}

impl Walk<'_> {
    fn document<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        empty: &Arc<Active<'a>>,
    ) -> Result<(), RdfError> {
        let active = match object.get("@context") {
            Some(context) => Arc::new(self.contexts.local(empty, context)?),
            None => Arc::clone(empty),
        };
        // `@graph` beside nothing but `@context` is a list of nodes of the default graph.
        let mut members = object.iter().filter(|(key, _)| key.as_str() != "@context");
        match (members.next(), members.next()) {
            (Some((key, value)), None) if active.expand(key, true) == Name::Keyword("@graph") => {
                match value {
                    Value::Array(nodes) => self.roots(nodes, &active),
                    Value::Object(node) => self.root(node, &active, DEFAULT),
                    _ => Err(malformed("@graph holds something other than nodes")),
                }
            }
            _ => self.rooted(object, &active, DEFAULT),
        }
    }

    fn roots<'a>(&mut self, nodes: &'a [Value], active: &Arc<Active<'a>>) -> Result<(), RdfError> {
        nodes.iter().try_for_each(|node| match node {
            Value::Object(node) => self.root(node, active, DEFAULT),
            _ => Err(malformed("a value stands where only nodes may")),
        })
    }

    /// A node that no property leads to: it must say something itself.
    fn root<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        graph: &str,
    ) -> Result<(), RdfError> {
        let active = self.own_context(object, active)?;
        self.rooted(object, &active, graph)
    }

    fn rooted<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        graph: &str,
    ) -> Result<(), RdfError> {
        let before = self.expected.len();
        self.node(object, active, graph)?;
        if self.expected.len() == before {
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
            Some(context) => Ok(Arc::new(self.contexts.local(active, context)?)),
            None => Ok(Arc::clone(active)),
        }
    }

    /// A node object, its own context already in force. Returns its name as text.
    fn node<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        graph: &str,
    ) -> Result<String, RdfError> {
        if object.keys().all(|key| key == "@context") {
            return Err(malformed("a node is empty"));
        }
        self.depth += 1;
        if self.depth > self.limits.graph_depth {
            return Err(RdfError::TooLarge("levels of nesting"));
        }
        let (mut id, mut types) = (None, None);
        for (key, value) in object.iter().filter(|(key, _)| key.as_str() != "@context") {
            match active.expand(key, true) {
                Name::Keyword("@id") if id.is_none() => id = Some(value),
                Name::Keyword("@type") if types.is_none() => types = Some(value),
                Name::Keyword(_) => return Err(malformed("a keyword stands where it is not read")),
                // Terms may yet be defined by the context of a type.
                Name::Iri(_) | Name::Blank | Name::Nothing => (),
            }
        }
        let (types, scoped) = self.types(types, active)?;
        let subject = match id {
            Some(id) => self.identifier(id, &scoped)?,
            None => BLANK.to_owned(),
        };
        for iri in types {
            let at = Position { graph, subject: &subject, predicate: &format!("{RDF}type") };
            self.note(&at, &format!("<{iri}>"))?;
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
        graph: &str,
        subject: &str,
    ) -> Result<(), RdfError> {
        for (key, value) in object.iter().filter(|(key, _)| key.as_str() != "@context") {
            match scoped.expand(key, true) {
                Name::Iri(predicate) => {
                    let at = Position { graph, subject, predicate: &predicate };
                    self.property(key, value, scoped, &at)?;
                }
                keyword @ Name::Keyword(_) if keyword == active.expand(key, true) => (),
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
    ) -> Result<(Vec<String>, Arc<Active<'a>>), RdfError> {
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
        for name in names {
            match active.expand(name, true) {
                Name::Iri(iri) => {
                    self.spend(iri.len())?;
                    iris.push(iri);
                }
                _ => return Err(malformed("a type has no meaning in its context")),
            }
            if let Some(scoped) = active.term(name).and_then(|term| term.context) {
                result = Arc::new(self.contexts.of_type(&result, scoped)?);
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
        let (first, rest, nil) = (format!("{RDF}first"), format!("{RDF}rest"), format!("<{RDF}nil>"));
        let cell = |predicate| Position { graph: at.graph, subject: BLANK, predicate };
        self.note(at, if items.is_empty() { &nil } else { BLANK })?;
        for (index, item) in items.iter().enumerate() {
            if matches!(item, Value::Object(object) if has_keyword(object, active, &["@list", "@set"])) {
                return Err(malformed("a list holds a list or set"));
            }
            self.value(key, item, active, &cell(&first))?;
            self.note(&cell(&rest), if index + 1 == items.len() { &nil } else { BLANK })?;
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
        term: Option<&Term<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        if self.dialect == Dialect::Document {
            return Err(malformed("a graph is named"));
        }
        self.note(at, BLANK)?;
        let embeds_paper = term.and_then(|term| term.context).is_some_and(|scoped| scoped.context.is_null());
        let active = self.enter(object, active, term)?;
        if !embeds_paper {
            return self.root(object, &active, BLANK);
        }
        // Nothing of the outer context reaches an embedded credential: it is a paper of its own.
        require_credentials_context(object)?;
        let count = self.contexts.enter_paper();
        let outer = self.paper;
        self.papers += 1;
        self.paper = self.papers;
        self.root(object, &active, BLANK)?;
        self.paper = outer;
        self.contexts.leave_paper(count);
        Ok(())
    }

    /// The context that an object starts with: a type-scoped one ends, a property-scoped one begins.
    fn enter<'a>(
        &mut self,
        object: &Map<String, Value>,
        active: &Arc<Active<'a>>,
        term: Option<&Term<'a>>,
    ) -> Result<Arc<Active<'a>>, RdfError> {
        let reference = object.len() == 1 && has_keyword(object, active, &["@id"]);
        let keeps = reference || has_keyword(object, active, &["@value"]);
        let outer = match &active.previous {
            Some(previous) if !keeps => previous,
            _ => active,
        };
        match term.and_then(|term| term.context) {
            Some(scoped) => Ok(Arc::new(self.contexts.of_property(outer, scoped)?)),
            None => Ok(Arc::clone(outer)),
        }
    }

    fn object<'a>(
        &mut self,
        key: &str,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        term: Option<&Term<'a>>,
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
        self.note(at, &name)
    }

    /// `{"@list": [...]}` or `{"@set": [...]}`.
    fn container_object<'a>(
        &mut self,
        key: &str,
        object: &'a Map<String, Value>,
        active: &Arc<Active<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        let mut members = object.iter();
        match (members.next(), members.next()) {
            (Some((keyword, Value::Array(items))), None) => match active.expand(keyword, true) {
                Name::Keyword("@list") => self.list(key, items, active, at),
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
            match (active.expand(key, true), member) {
                (Name::Keyword("@value"), member) if value.is_none() => value = Some(member),
                (Name::Keyword("@type"), Value::String(name)) if datatype.is_none() => {
                    match active.expand(name, true) {
                        Name::Iri(iri) => datatype = Some(iri),
                        _ => return Err(malformed("a datatype has no meaning in its context")),
                    }
                }
                (Name::Keyword("@language"), Value::String(tag)) if language.is_none() => {
                    language = Some(tag.as_str());
                }
                _ => return Err(malformed("a value object holds something that is not read")),
            }
        }
        match (value, &datatype, language) {
            (Some(Value::String(text)), None, Some(language)) => self.note(at, &tagged(text, language)),
            (Some(value), datatype, None) => self.literal(value, datatype.as_deref(), at),
            _ => Err(malformed("a value object is contradictory")),
        }
    }

    fn scalar<'a>(
        &mut self,
        key: &str,
        value: &'a Value,
        active: &Arc<Active<'a>>,
        term: Option<&Term<'a>>,
        at: &Position<'_>,
    ) -> Result<(), RdfError> {
        let scoped = match term.and_then(|term| term.context) {
            Some(scoped) => Arc::new(self.contexts.of_property(active, scoped)?),
            None => Arc::clone(active),
        };
        let term = scoped.term(key);
        match (term.map(|term| &term.coercion), value) {
            (Some(Coercion::Id | Coercion::Vocab), Value::String(text)) => {
                let vocabulary = term.is_some_and(|term| term.coercion == Coercion::Vocab);
                let name = self.named(scoped.expand(text, vocabulary), text)?;
                self.note(at, &name)
            }
            (Some(Coercion::Datatype(datatype)), value) => self.literal(value, Some(datatype), at),
            (Some(Coercion::Plain) | None, Value::String(text)) => {
                match term.and_then(|term| term.language).unwrap_or(scoped.language) {
                    Some(language) => self.note(at, &tagged(text, language)),
                    None => self.note(at, &typed(text, &format!("{XSD}string"))),
                }
            }
            (Some(Coercion::Plain) | None, value) => self.literal(value, None, at),
            (Some(_), _) => Err(malformed("a value is not of its term's type")),
        }
    }

    fn literal(&mut self, value: &Value, datatype: Option<&str>, at: &Position<'_>) -> Result<(), RdfError> {
        let by_default = |local: &str| datatype.map_or_else(|| format!("{XSD}{local}"), str::to_owned);
        match value {
            Value::String(text) => self.note(at, &typed(text, &by_default("string")))?,
            Value::Bool(value) => self.note(at, &typed(&value.to_string(), &by_default("boolean")))?,
            Value::Number(number) => {
                let double = format!("{XSD}double");
                let whole = number.is_i64() || number.is_u64();
                if whole && datatype != Some(double.as_str()) {
                    self.note(at, &typed(&number.to_string(), &by_default("integer")))?;
                } else {
                    // A whole number written as 1.0 is an integer in RDF.
                    let whole =
                        number.as_f64().is_some_and(|value| value.fract() == 0.0 && value.abs() < 1e21);
                    let datatype = by_default(if whole { "integer" } else { "double" });
                    let place = place(at.graph, at.subject, at.predicate);
                    self.spend(place.len())?;
                    self.expected.numbers.push(format!("{place}^^{datatype}"));
                }
            }
            _ => return Err(malformed("a literal is neither text, number nor boolean")),
        }
        Ok(())
    }

    /// A node's name as text, from the value of its `@id`.
    fn identifier(&mut self, value: &Value, active: &Active<'_>) -> Result<String, RdfError> {
        let text = value.as_str().ok_or_else(|| malformed("an identifier is not a string"))?;
        self.named(active.expand(text, false), text)
    }

    fn named(&mut self, name: Name, text: &str) -> Result<String, RdfError> {
        match name {
            Name::Iri(iri) => Ok(format!("<{iri}>")),
            Name::Blank => {
                let paper = self.paper;
                if *self.labels.entry(text.to_owned()).or_insert(paper) != paper {
                    return Err(malformed("two papers share a blank node"));
                }
                Ok(BLANK.to_owned())
            }
            Name::Keyword(_) | Name::Nothing => Err(malformed("an identifier is not an absolute IRI")),
        }
    }

    fn note(&mut self, at: &Position<'_>, object: &str) -> Result<(), RdfError> {
        let mut quad = place(at.graph, at.subject, at.predicate);
        quad.push_str(object);
        self.spend(quad.len())?;
        self.expected.exact.push(quad);
        Ok(())
    }

    /// Bounds what prefixes and terms multiply to, before the library writes all of it out at once.
    fn spend(&mut self, octets: usize) -> Result<(), RdfError> {
        if self.expected.len() >= self.limits.triples {
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
    object
        .keys()
        .any(|key| matches!(active.expand(key, true), Name::Keyword(keyword) if keywords.contains(&keyword)))
}

#[cfg(test)]
mod tests;
