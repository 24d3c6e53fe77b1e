//! Active contexts, as far as safe mode lets them be used (JSON-LD 1.1 API 4.1 and 5.2).

use super::{Dialect, malformed};
use crate::limits::Limits;
use crate::rdf::{RdfError, contexts};
use oxiri::Iri;
use oxrdf::BlankNode;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// Definitions that one definition may depend on, one after the other. The library recurses along them.
const DEPENDENCIES: usize = 8;

/// JSON values of contexts that may be copied or read for one document, about. Contexts are what makes JSON-LD
/// expensive: each scoped one copies all terms in force. Sixteen credentials with the ODRL context take a third of this.
const WORK: usize = 1 << 18;

/// What a name in a document stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    Keyword(&'static str),
    /// An absolute, valid IRI.
    Iri(String),
    Blank,
    /// Anything that would yield no quad: undefined, null-mapped, keyword-like or relative.
    Nothing,
}

/// How a term's string values are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Coercion {
    Plain,
    Id,
    Vocab,
    Datatype(String),
    Unsupported,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Plain,
    Set,
    List,
    Graph,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition<'a> {
    name: Name,
    /// `None` where JSON-LD 1.1 and the library differ on whether the term is a prefix.
    prefix: Option<bool>,
    pub(super) coercion: Coercion,
    pub(super) container: Container,
    /// `Some(None)` is `@language: null`.
    pub(super) language: Option<Option<&'a str>>,
    pub(super) context: Option<Scoped<'a>>,
}

impl Definition<'_> {
    /// What copying the term costs.
    fn weight(&self) -> usize {
        let octets = match &self.name {
            Name::Iri(iri) => iri.len(),
            _ => 0,
        };
        1 + octets / 64 + self.context.map_or(0, |scoped| weight(scoped.context))
    }
}

/// A property-scoped or type-scoped context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scoped<'a> {
    pub(super) context: &'a Value,
    pinned: bool,
}

impl Scoped<'_> {
    /// Whether a pinned context holds it, not the document.
    pub(super) fn is_pinned(&self) -> bool {
        self.pinned
    }
}

/// The terms in force at one place of a document.
#[derive(Debug, Clone, Default)]
pub(super) struct Active<'a> {
    terms: HashMap<&'a str, (Arc<Definition<'a>>, Protected)>,
    vocabulary: Option<String>,
    pub(super) language: Option<&'a str>,
    /// What to go back to in nodes below, after a type-scoped context.
    pub(super) previous: Option<Arc<Active<'a>>>,
    weight: usize,
}

type Protected = bool;

/// From where and how a context comes into force.
#[derive(Debug, Clone, Copy)]
struct Scope {
    pinned: bool,
    /// Whether protected terms may be redefined: only by property-scoped contexts of pinned contexts.
    overrides: bool,
    propagates: bool,
    /// Whether the context is met where it is written, not where it is used.
    written: bool,
}

impl Scope {
    const OF_PINNED: Self = Self { pinned: true, overrides: false, propagates: true, written: false };
}

/// A pinned context as the first of a document: the terms that it leaves in force, and what processing it cost.
struct Processed {
    active: Arc<Active<'static>>,
    work: usize,
}

/// The terms of a scoped context of a pinned one.
type Layer = Vec<(&'static str, Arc<Definition<'static>>, Protected)>;

/// The terms of a scoped context whose definitions depend on nothing but themselves, each such processed once in a
/// process. They are found by where they stand: pinned contexts are never dropped or moved.
fn layer(context: &Value) -> Option<&'static Layer> {
    static LAYERS: OnceLock<HashMap<usize, Layer>> = OnceLock::new();
    let layers = LAYERS.get_or_init(|| {
        let mut layers = HashMap::new();
        let mut pending: Vec<&'static Value> = contexts::all().iter().map(|pinned| &pinned.context).collect();
        while let Some(context) = pending.pop() {
            let definitions = context.as_object().into_iter().flatten().map(|(_, definition)| definition);
            let scoped = definitions.filter_map(|definition| definition.get("@context"));
            for scoped in scoped.filter(|scoped| scoped.is_object()) {
                pending.push(scoped);
                layers.extend(self_contained(scoped).map(|layer| (address(scoped), layer)));
            }
        }
        layers
    });
    layers.get(&address(context))
}

fn address(context: &Value) -> usize {
    std::ptr::from_ref(context).addr()
}

/// The terms of a context, if each is defined by keywords and whole IRIs: no term in force then has a part in them.
fn self_contained(context: &'static Value) -> Option<Layer> {
    let is_whole = |text: &str| text.starts_with('@') || text.contains("://");
    let members = context.as_object()?;
    let is_self_contained = members.iter().all(|(name, definition)| match definition {
        _ if name == "@protected" => true,
        _ if name.starts_with('@') => false,
        Value::String(iri) => is_whole(iri),
        Value::Object(definition) => {
            definition.contains_key("@id")
                && ["@id", "@type"].iter().all(|key| match definition.get(*key) {
                    None => true,
                    Some(text) => text.as_str().is_some_and(is_whole),
                })
        }
        _ => false,
    });
    if !is_self_contained {
        return None;
    }
    let limits = Limits::default();
    let mut active = Active::default();
    // Not by `process`, which asks for layers itself.
    Contexts::new(Dialect::Paper, &limits).object(&mut active, members, Scope::OF_PINNED).ok()?;
    Some(active.terms.into_iter().map(|(name, (term, protected))| (name, term, protected)).collect())
}

/// Each pinned context is processed once in a process. (What it leaves depends on nothing but itself.)
fn processed(url: &str) -> Option<&'static Processed> {
    static PROCESSED: OnceLock<HashMap<&'static str, Processed>> = OnceLock::new();
    let process = |pinned: &'static contexts::PinnedContext| {
        let limits = Limits::default();
        let mut contexts = Contexts::new(Dialect::Paper, &limits);
        let active = contexts.process(&Arc::default(), &pinned.context, Scope::OF_PINNED).ok()?;
        Some((pinned.url, Processed { active, work: contexts.work }))
    };
    PROCESSED.get_or_init(|| contexts::all().iter().filter_map(process).collect()).get(url)
}

/// Processes contexts, counting them and their cost.
pub(super) struct Contexts<'l> {
    dialect: Dialect,
    limits: &'l Limits,
    count: usize,
    work: usize,
}

impl<'a> Active<'a> {
    pub(super) fn term(&self, name: &str) -> Option<&Arc<Definition<'a>>> {
        self.terms.get(name).map(|(term, _)| term)
    }

    fn insert(
        &mut self,
        name: &'a str,
        term: Arc<Definition<'a>>,
        protected: Protected,
        overrides: bool,
    ) -> Result<(), RdfError> {
        if let Some((earlier, true)) = self.terms.get(name)
            && !overrides
        {
            let same = Arc::ptr_eq(earlier, &term) || *earlier == term;
            return if same { Ok(()) } else { Err(malformed("a context redefines a protected term")) };
        }
        self.weight += term.weight();
        self.terms.insert(name, (term, protected));
        Ok(())
    }

    fn is_empty(&self) -> bool {
        let Self { terms, vocabulary, language, previous, weight: _ } = self;
        terms.is_empty() && vocabulary.is_none() && language.is_none() && previous.is_none()
    }

    /// IRI expansion without a base. `vocabulary` is true for properties, types and `@vocab` values.
    pub(super) fn expand(&self, text: &str, vocabulary: bool) -> Name {
        if text.starts_with('@') {
            return keyword(text).map_or(Name::Nothing, Name::Keyword);
        }
        if let Some(term) = self.term(text)
            && (vocabulary || !matches!(term.name, Name::Iri(_)))
        {
            return term.name.clone();
        }
        if let Some((prefix, suffix)) = text.split_once(':') {
            if prefix == "_" {
                return if BlankNode::new(suffix).is_ok() { Name::Blank } else { Name::Nothing };
            }
            if !suffix.starts_with("//")
                && let Some(term) = self.term(prefix)
                && let Name::Iri(iri) = &term.name
            {
                match term.prefix {
                    Some(true) => return absolute(format!("{iri}{suffix}")),
                    None => return Name::Nothing,
                    Some(false) => (),
                }
            }
            return absolute(text.to_owned());
        }
        self.relative(text, vocabulary)
    }

    /// The keyword that a member's name stands for.
    pub(super) fn keyword(&self, name: &str) -> Option<&'static str> {
        if name.starts_with('@') {
            return keyword(name);
        }
        match self.term(name)?.name {
            Name::Keyword(keyword) => Some(keyword),
            _ => None,
        }
    }

    fn compact(&self, prefix: &str, suffix: &str) -> Name {
        match self.term(prefix).map(|term| (&term.name, term.prefix)) {
            Some((Name::Iri(iri), Some(true))) => absolute(format!("{iri}{suffix}")),
            _ => Name::Nothing,
        }
    }

    fn relative(&self, text: &str, vocabulary: bool) -> Name {
        match &self.vocabulary {
            Some(vocabulary_iri) if vocabulary => absolute(format!("{vocabulary_iri}{text}")),
            _ => Name::Nothing,
        }
    }
}

impl<'l> Contexts<'l> {
    pub(super) fn new(dialect: Dialect, limits: &'l Limits) -> Self {
        Self { dialect, limits, count: 0, work: 0 }
    }

    /// Starts the count of a paper inside this one; returns the count to give back to [`Self::leave_paper`].
    pub(super) fn enter_paper(&mut self) -> usize {
        std::mem::take(&mut self.count)
    }

    pub(super) fn leave_paper(&mut self, count: usize) {
        self.count = count;
    }

    /// The context of a node's own `@context` member.
    pub(super) fn local<'a>(
        &mut self,
        active: &Arc<Active<'a>>,
        context: &'a Value,
    ) -> Result<Arc<Active<'a>>, RdfError> {
        self.process(
            active,
            context,
            Scope { pinned: false, overrides: false, propagates: true, written: true },
        )
    }

    /// A property's scoped context.
    pub(super) fn of_property<'a>(
        &mut self,
        active: &Arc<Active<'a>>,
        scoped: Scoped<'a>,
    ) -> Result<Arc<Active<'a>>, RdfError> {
        let scope =
            Scope { pinned: scoped.pinned, overrides: scoped.pinned, propagates: true, written: false };
        self.process(active, scoped.context, scope)
    }

    /// A type's scoped context.
    pub(super) fn of_type<'a>(
        &mut self,
        active: &Arc<Active<'a>>,
        scoped: Scoped<'a>,
    ) -> Result<Arc<Active<'a>>, RdfError> {
        self.process(
            active,
            scoped.context,
            Scope { pinned: scoped.pinned, overrides: false, propagates: false, written: false },
        )
    }

    fn process<'a>(
        &mut self,
        active: &Arc<Active<'a>>,
        context: &'a Value,
        scope: Scope,
    ) -> Result<Arc<Active<'a>>, RdfError> {
        let mut result = Arc::clone(active);
        if !scope.propagates && result.previous.is_none() {
            Arc::make_mut(&mut result).previous = Some(Arc::clone(active));
        }
        let entries = match context {
            Value::Array(entries) if entries.is_empty() => return Err(malformed("a context is empty")),
            Value::Array(entries) => entries.as_slice(),
            single => std::slice::from_ref(single),
        };
        for entry in entries {
            self.charge(result.weight + weight(entry))?;
            if scope.written {
                self.count_one()?;
            }
            match entry {
                Value::Null if scope.pinned && scope.overrides => result = Arc::default(),
                Value::String(url) if !scope.pinned => result = self.pinned(&result, url)?,
                Value::Object(local) => match layer(entry).filter(|_| scope.pinned) {
                    Some(layer) => self.layer(Arc::make_mut(&mut result), layer, scope)?,
                    None => self.object(Arc::make_mut(&mut result), local, scope)?,
                },
                _ => return Err(malformed("a context is not a pinned URL or an object")),
            }
        }
        Ok(result)
    }

    fn pinned<'a>(&mut self, active: &Arc<Active<'a>>, url: &str) -> Result<Arc<Active<'a>>, RdfError> {
        let pinned = contexts::pinned(url).ok_or_else(|| RdfError::RemoteContext(url.to_owned()))?;
        match processed(url).filter(|_| active.is_empty()) {
            Some(Processed { active, work }) => {
                self.charge(*work)?;
                Ok(Arc::clone(active))
            }
            None => self.process(active, &pinned.context, Scope::OF_PINNED),
        }
    }

    fn count_one(&mut self) -> Result<(), RdfError> {
        self.count += 1;
        if self.count > self.limits.contexts_per_paper {
            return Err(RdfError::TooLarge("contexts"));
        }
        Ok(())
    }

    fn charge(&mut self, weight: usize) -> Result<(), RdfError> {
        self.work = self.work.saturating_add(weight);
        if self.work > WORK {
            return Err(RdfError::TooLarge("contexts in use"));
        }
        Ok(())
    }

    /// Puts terms in force that were processed before.
    fn layer(
        &mut self,
        active: &mut Active<'_>,
        layer: &'static Layer,
        scope: Scope,
    ) -> Result<(), RdfError> {
        self.charge(layer.len())?;
        layer.iter().try_for_each(|(name, term, protected)| {
            active.insert(name, Arc::clone(term), *protected, scope.overrides)
        })
    }

    fn object<'a>(
        &mut self,
        active: &mut Active<'a>,
        local: &'a Map<String, Value>,
        scope: Scope,
    ) -> Result<(), RdfError> {
        let free = scope.pinned || self.dialect == Dialect::Document;
        let mut protected = false;
        for (key, value) in local.iter().filter(|(key, _)| key.starts_with('@')) {
            match (key.as_str(), value) {
                ("@version", Value::Number(version)) if version.as_f64() == Some(1.1) => (),
                ("@protected", Value::Bool(value)) => protected = *value,
                ("@vocab", Value::String(iri)) if free => match absolute(iri.clone()) {
                    Name::Iri(iri) => active.vocabulary = Some(iri),
                    _ => return Err(malformed("@vocab is not an absolute IRI")),
                },
                ("@language", Value::String(language)) if free => active.language = Some(language),
                ("@language", Value::Null) if free => active.language = None,
                _ => return Err(malformed("a context holds a keyword that is not read")),
            }
        }
        let mut definitions = Definitions {
            contexts: self,
            local,
            scope,
            protected,
            defined: HashSet::new(),
            open: HashSet::new(),
        };
        for term in local.keys().filter(|key| !key.starts_with('@')) {
            definitions.define(active, term, 0)?;
        }
        Ok(())
    }
}

/// The definitions of one context object.
struct Definitions<'c, 'l, 'a> {
    contexts: &'c mut Contexts<'l>,
    local: &'a Map<String, Value>,
    scope: Scope,
    protected: Protected,
    defined: HashSet<&'a str>,
    open: HashSet<&'a str>,
}

impl<'a> Definitions<'_, '_, 'a> {
    fn define(&mut self, active: &mut Active<'a>, name: &str, depth: usize) -> Result<(), RdfError> {
        let Some((name, definition)) = self.local.get_key_value(name) else { return Ok(()) };
        if self.defined.contains(name.as_str()) {
            return Ok(());
        }
        if depth > DEPENDENCIES || !self.open.insert(name) {
            return Err(malformed("a context's terms depend on each other too deeply"));
        }
        if name.is_empty() || name.contains(['/', '#', '?']) {
            return Err(malformed("a context defines something that is not a term"));
        }
        let (term, protected) = match definition {
            Value::String(iri) => (self.simple(active, name, iri, depth)?, self.protected),
            Value::Object(members) => self.expanded(active, name, members, depth)?,
            _ => return Err(malformed("a context defines a term as neither an IRI nor an object")),
        };
        if matches!(term.name, Name::Keyword(_)) && !self.may_alias() {
            return Err(malformed("a context of a paper aliases a keyword"));
        }
        self.contexts.charge(term.weight())?;
        active.insert(name, Arc::new(term), protected, self.scope.overrides)?;
        self.defined.insert(name);
        Ok(())
    }

    fn may_alias(&self) -> bool {
        self.scope.pinned || self.contexts.dialect == Dialect::Document
    }

    fn simple(
        &mut self,
        active: &mut Active<'a>,
        name: &str,
        iri: &str,
        depth: usize,
    ) -> Result<Definition<'a>, RdfError> {
        let expanded = self.identifier(active, name, Some(iri), depth)?;
        let prefix = Some(ends_as_prefix(&expanded));
        Ok(Definition {
            name: expanded,
            prefix,
            coercion: Coercion::Plain,
            container: Container::Plain,
            language: None,
            context: None,
        })
    }

    fn expanded(
        &mut self,
        active: &mut Active<'a>,
        name: &str,
        members: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<(Definition<'a>, Protected), RdfError> {
        let mut protected = self.protected;
        let mut id = None;
        let mut prefix = None;
        let mut coercion = Coercion::Plain;
        let mut container = Container::Plain;
        let mut language = None;
        let mut context = None;
        for (key, value) in members {
            match (key.as_str(), value) {
                ("@id", Value::String(iri)) => id = Some(iri.as_str()),
                ("@protected", Value::Bool(value)) => protected = *value,
                ("@prefix", Value::Bool(value)) => prefix = Some(*value),
                ("@type", Value::String(datatype)) => {
                    coercion = self.coercion(active, datatype, depth)?;
                }
                ("@container", value) => container = self.container(value)?,
                ("@language", Value::String(tag)) => language = Some(Some(tag.as_str())),
                ("@language", Value::Null) => language = Some(None),
                ("@context", value) => context = Some(Scoped { context: value, pinned: self.scope.pinned }),
                _ => return Err(malformed("a term's definition holds a keyword that is not read")),
            }
        }
        if coercion != Coercion::Plain && language.is_some() {
            return Err(malformed("a term's definition has both a type and a language"));
        }
        let expanded = self.identifier(active, name, id, depth)?;
        if prefix.is_none() && !ends_as_prefix(&expanded) {
            prefix = Some(false);
        }
        if let Some(scoped) = context {
            self.check_scoped(active, scoped)?;
        }
        Ok((Definition { name: expanded, prefix, coercion, container, language, context }, protected))
    }

    /// A scoped context is judged where it is written, used or not.
    fn check_scoped(&mut self, active: &Active<'a>, scoped: Scoped<'a>) -> Result<(), RdfError> {
        if !self.scope.written {
            return self.contexts.charge(active.weight + weight(scoped.context));
        }
        let active = Arc::new(active.clone());
        self.contexts.process(&active, scoped.context, self.scope).map(drop)
    }

    fn identifier(
        &mut self,
        active: &mut Active<'a>,
        name: &str,
        id: Option<&str>,
        depth: usize,
    ) -> Result<Name, RdfError> {
        let expanded = match (id.filter(|id| *id != name), name.split_once(':')) {
            (Some(id), None) => self.expand(active, id, depth)?,
            // A compact IRI that is defined further, say by a type, keeps its own meaning.
            (None, Some((prefix, suffix))) => {
                self.define(active, prefix, depth + 1)?;
                active.compact(prefix, suffix)
            }
            (None, None) => match &active.vocabulary {
                Some(vocabulary) => absolute(format!("{vocabulary}{name}")),
                None => Name::Nothing,
            },
            (Some(_), Some(_)) => Name::Nothing,
        };
        match expanded {
            Name::Iri(_)
            | Name::Keyword("@id" | "@type" | "@value" | "@language" | "@set" | "@list" | "@graph") => {
                Ok(expanded)
            }
            _ => Err(malformed("a context maps a term to something that is not an absolute IRI")),
        }
    }

    fn coercion(
        &mut self,
        active: &mut Active<'a>,
        datatype: &str,
        depth: usize,
    ) -> Result<Coercion, RdfError> {
        match self.expand(active, datatype, depth)? {
            Name::Keyword("@id") => Ok(Coercion::Id),
            Name::Keyword("@vocab") => Ok(Coercion::Vocab),
            Name::Keyword("@json" | "@none") if self.scope.pinned => Ok(Coercion::Unsupported),
            Name::Iri(iri) => Ok(Coercion::Datatype(iri)),
            _ => Err(malformed("a term's type is not read")),
        }
    }

    fn container(&self, value: &Value) -> Result<Container, RdfError> {
        let container = match value {
            Value::Array(items) => match items.as_slice() {
                [single] => single,
                _ => return Err(malformed("a term's container is not read")),
            },
            single => single,
        };
        match container.as_str() {
            Some("@set") => Ok(Container::Set),
            Some("@list") => Ok(Container::List),
            Some("@graph") if self.scope.pinned => Ok(Container::Graph),
            _ => Err(malformed("a term's container is not read")),
        }
    }

    /// IRI expansion inside a context: what it depends on is defined first.
    fn expand(&mut self, active: &mut Active<'a>, text: &str, depth: usize) -> Result<Name, RdfError> {
        if !text.starts_with('@') {
            self.define(active, text, depth + 1)?;
            if let Some((prefix, suffix)) = text.split_once(':')
                && !suffix.starts_with("//")
            {
                self.define(active, prefix, depth + 1)?;
            }
        }
        Ok(active.expand(text, true))
    }
}

fn absolute(iri: String) -> Name {
    // A blank node is no predicate, type or prefix in RDF 1.1, and `_` is no scheme.
    if Iri::parse(iri.as_str()).is_ok() { Name::Iri(iri) } else { Name::Nothing }
}

fn ends_as_prefix(name: &Name) -> bool {
    matches!(name, Name::Iri(iri) if iri.ends_with([':', '/', '?', '#', '[', ']', '@']))
}

/// The number of JSON values in a value. Its depth has been bounded before.
fn weight(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(weight).sum::<usize>(),
        _ => 1,
    }
}

fn keyword(text: &str) -> Option<&'static str> {
    const KEYWORDS: [&str; 23] = [
        "@base",
        "@container",
        "@context",
        "@direction",
        "@graph",
        "@id",
        "@import",
        "@included",
        "@index",
        "@json",
        "@language",
        "@list",
        "@nest",
        "@none",
        "@prefix",
        "@propagate",
        "@protected",
        "@reverse",
        "@set",
        "@type",
        "@value",
        "@version",
        "@vocab",
    ];
    KEYWORDS.into_iter().find(|keyword| *keyword == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms with the names of schemes and of everything that pinned contexts define, all unlike what they mean there.
    fn other_terms() -> Active<'static> {
        let mut active = Active::default();
        let other = || Definition {
            name: Name::Iri("urn:other:".to_owned()),
            prefix: Some(true),
            coercion: Coercion::Id,
            container: Container::Plain,
            language: None,
            context: None,
        };
        let names = ["http", "https", "urn", "id", "type", "proof", "created", "sec", "assertionMethod"];
        names.into_iter().for_each(|name| active.insert(name, Arc::new(other()), false, true).unwrap());
        active
    }

    #[test]
    fn a_layer_is_what_its_context_says_wherever_it_is_used() {
        let limits = Limits::default();
        let mut pending: Vec<&'static Value> = contexts::all().iter().map(|pinned| &pinned.context).collect();
        let mut compared = 0;
        while let Some(context) = pending.pop() {
            let definitions = context.as_object().into_iter().flatten().map(|(_, definition)| definition);
            pending.extend(definitions.filter_map(|definition| definition.get("@context")));
            let Some(layer) = layer(context) else { continue };
            for before in [Active::default(), other_terms()] {
                let (mut by_layer, mut in_place) = (before.clone(), before);
                let mut contexts = Contexts::new(Dialect::Paper, &limits);
                contexts.layer(&mut by_layer, layer, Scope::OF_PINNED).unwrap();
                contexts.object(&mut in_place, context.as_object().unwrap(), Scope::OF_PINNED).unwrap();
                assert_eq!(by_layer.terms, in_place.terms, "{context}");
                assert!(by_layer.vocabulary.is_none() && in_place.vocabulary.is_none());
                assert!(by_layer.language.is_none() && in_place.language.is_none());
                compared += 1;
            }
        }
        assert!(compared >= 10, "{compared}");
    }

    #[test]
    fn only_pinned_contexts_have_layers() {
        let pinned = contexts::all().iter().find(|pinned| pinned.url == contexts::CREDENTIALS_V2).unwrap();
        let scoped = &pinned.context["VerifiableCredential"]["@context"];
        assert!(layer(scoped).is_some());
        assert!(layer(&scoped.clone()).is_none());
    }

    #[test]
    fn a_context_that_leans_on_others_has_no_layer() {
        for context in [
            serde_json::json!({"p": "other:p"}),
            serde_json::json!({"p": {"@id": "https://e.example/p", "@type": "other:p"}}),
            serde_json::json!({"p": {"@type": "@id"}}),
            serde_json::json!({"@vocab": "https://e.example/"}),
        ] {
            assert!(self_contained(Box::leak(Box::new(context))).is_none());
        }
    }
}
