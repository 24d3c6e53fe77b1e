//! What the operator's policy store states as facts: which things are parts and instances of which.

use crate::config::PolicyStore;
use crate::vocab::{odrl, rdf};
use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNodeRef, TermRef};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::evaluate::{Truth, Work};

/// Facts about IRIs. Those of the operator's store hold for every policy; those of a policy document for that policy
/// alone, and never to its issuer's gain unless its issuer is the root principal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    part_of: BTreeMap<String, BTreeSet<String>>,
    /// Whatever something is part of.
    wholes: BTreeSet<String>,
    types: BTreeMap<String, BTreeSet<String>>,
}

/// No facts at all.
pub(super) static NONE: Facts =
    Facts { part_of: BTreeMap::new(), wholes: BTreeSet::new(), types: BTreeMap::new() };

/// The facts of the operator's store for every root principal, collected once.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredFacts {
    /// For each principal that a stored policy names as assigner.
    of_assigners: BTreeMap<String, Arc<Facts>>,
    /// For any other.
    of_others: Arc<Facts>,
}

impl StoredFacts {
    pub(crate) fn of(store: &PolicyStore) -> Self {
        let assigners = store.documents.values().flat_map(|document| assigners(&document.graph));
        let named: BTreeSet<&str> = assigners.filter_map(iri).collect();
        let of = |principal: &str| Arc::new(Facts::of_store(store, principal));
        let of_assigners = named.into_iter().map(|name| (name.to_owned(), of(name))).collect();
        // No IRI is empty, so this is what the policies without any assigner say.
        Self { of_assigners, of_others: of("") }
    }

    /// The facts for a chain of `root_principal`.
    pub(crate) fn for_root(&self, root_principal: &str) -> Arc<Facts> {
        Arc::clone(self.of_assigners.get(root_principal).unwrap_or(&self.of_others))
    }
}

impl Facts {
    /// The facts of the operator's store, for a chain of `root_principal`. A stored policy of anybody else is no
    /// operator's word: its facts would widen what the owner permits to whoever wrote it.
    pub(crate) fn of_store(store: &PolicyStore, root_principal: &str) -> Self {
        let mut facts = Self::default();
        let graphs = store.documents.values().map(|document| &document.graph);
        for triple in graphs.filter(|graph| is_of(graph, root_principal)).flatten() {
            let (NamedOrBlankNodeRef::NamedNode(subject), TermRef::NamedNode(object)) =
                (triple.subject, triple.object)
            else {
                continue;
            };
            match triple.predicate.as_str() {
                odrl::PART_OF => facts.add_part(subject.as_str(), object.as_str()),
                rdf::TYPE => {
                    facts
                        .types
                        .entry(subject.as_str().to_owned())
                        .or_default()
                        .insert(object.as_str().to_owned());
                }
                _ => {}
            }
        }
        facts
    }

    /// Facts of (part, whole).
    pub(super) fn of_parts<'p>(parts: impl IntoIterator<Item = (&'p str, &'p str)>) -> Self {
        let mut facts = Self::default();
        parts.into_iter().for_each(|(part, whole)| facts.add_part(part, whole));
        facts
    }

    /// Whether every part that is stated here is stated there too.
    pub(super) fn parts_are_within(&self, other: &Self) -> bool {
        self.part_of
            .iter()
            .all(|(part, wholes)| other.part_of.get(part).is_some_and(|others| wholes.is_subset(others)))
    }

    fn add_part(&mut self, part: &str, whole: &str) {
        self.part_of.entry(part.to_owned()).or_default().insert(whole.to_owned());
        self.wholes.insert(whole.to_owned());
    }

    /// Whether `part` is part of `whole`, by all of `sources`: stated, or undetermined where it only follows over other
    /// wholes, where nothing is known of `part`, or where the work is spent: each fact that is followed counts.
    pub(super) fn is_part(sources: &[&Self], part: &str, whole: &str, work: &Work) -> Truth {
        let wholes = |part: &str| -> Vec<&String> {
            sources.iter().filter_map(|facts| facts.part_of.get(part)).flatten().collect()
        };
        let stated = |facts: &&Self| facts.part_of.get(part).is_some_and(|direct| direct.contains(whole));
        if sources.iter().any(stated) {
            return Truth::True;
        }
        let mut open = wholes(part);
        if open.is_empty() || !work.spend(open.len()) {
            return Truth::Undetermined;
        }
        let mut seen = BTreeSet::new();
        while let Some(at) = open.pop() {
            if at == whole {
                return Truth::Undetermined;
            }
            if seen.insert(at) {
                let before = open.len();
                open.extend(wholes(at));
                if !work.spend(1 + open.len() - before) {
                    return Truth::Undetermined;
                }
            }
        }
        Truth::False
    }

    /// Whether anything is stated of what `part` is part of.
    pub(super) fn knows(&self, part: &str) -> bool {
        self.part_of.contains_key(part)
    }

    /// Whether anything is known to be part of `whole`.
    pub(super) fn has_members(&self, whole: &str) -> bool {
        self.wholes.contains(whole)
    }

    /// Whether `thing` is an instance of `class`; undetermined where nothing is known of `thing`.
    pub(super) fn is_a(&self, thing: &str, class: &str) -> Truth {
        match self.types.get(thing) {
            None => Truth::Undetermined,
            Some(classes) => Truth::of(classes.contains(class)),
        }
    }
}

/// Whether every assigner that the document names is this principal.
fn is_of(document: &Graph, principal: &str) -> bool {
    assigners(document).all(|assigner| iri(assigner) == Some(principal))
}

fn assigners(document: &Graph) -> impl Iterator<Item = TermRef<'_>> {
    document.triples_for_predicate(NamedNodeRef::new_unchecked(odrl::ASSIGNER)).map(|triple| triple.object)
}

fn iri(term: TermRef<'_>) -> Option<&str> {
    match term {
        TermRef::NamedNode(node) => Some(node.as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn facts() -> Facts {
        let pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e")];
        Facts::of_parts(pairs)
    }

    #[test]
    fn a_part_is_stated_or_followed_or_unknown_and_cycles_end() {
        let is_part = |part, whole| Facts::is_part(&[&facts()], part, whole, &Work::new(&Limits::default()));
        assert_eq!(is_part("a", "b"), Truth::True);
        assert_eq!(is_part("a", "c"), Truth::Undetermined);
        assert_eq!(is_part("a", "e"), Truth::False);
        assert_eq!(is_part("stranger", "e"), Truth::Undetermined);
    }

    #[test]
    fn facts_that_are_followed_are_counted() {
        let with = |policy_steps| {
            let work = Work::new(&Limits { policy_steps, ..Limits::default() });
            Facts::is_part(&[&facts()], "a", "e", &work)
        };
        // Three parts, and the whole of each.
        assert_eq!(with(8), Truth::False);
        assert_eq!(with(7), Truth::Undetermined);
        assert_eq!(with(1), Truth::Undetermined);
    }

    /// A stored policy's facts are for chains of its one assigner, or for all where it names none.
    #[test]
    fn facts_are_collected_once_for_every_root_principal() {
        let mut store = PolicyStore::default();
        let documents = [
            ("owner", "odrl:assigner <urn:owner>"),
            ("other", "odrl:assigner <urn:other>"),
            ("both", "odrl:assigner <urn:owner>, <urn:other>"),
            ("nobody", "odrl:action odrl:use"),
            ("unnamed", "odrl:assigner []"),
        ];
        for (name, says) in documents {
            let text = format!(
                "@prefix odrl: <{}> . <urn:policy-{name}> a odrl:Set ; {says} . <urn:{name}> odrl:partOf <urn:whole> .",
                odrl::NS
            );
            store.add(&text, "text/turtle", crate::request::Instant::UNIX_EPOCH, &Limits::default()).unwrap();
        }
        let stored = StoredFacts::of(&store);
        for (root, known) in [
            ("urn:owner", &["urn:owner", "urn:nobody"][..]),
            ("urn:other", &["urn:other", "urn:nobody"]),
            ("urn:stranger", &["urn:nobody"]),
            ("", &["urn:nobody"]),
        ] {
            let facts = stored.for_root(root);
            assert_eq!(*facts, Facts::of_store(&store, root), "{root}");
            for (name, _) in documents {
                let name = format!("urn:{name}");
                assert_eq!(facts.knows(&name), known.contains(&name.as_str()), "{root} {name}");
            }
        }
    }

    #[test]
    fn a_class_is_unknown_for_a_thing_without_facts() {
        assert_eq!(facts().is_a("a", "b"), Truth::Undetermined);
    }
}
