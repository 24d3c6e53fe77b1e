//! The checked configuration. The raw file and the checked [`Config`] are two types: the engine runs on what is meant,
//! never on what was typed. A missing safety setting stops start-up.

use crate::credential::ControllerDocuments;
use crate::limits::Limits;
use crate::message::{Digest, target};
use crate::protocol::ProtocolRegistry;
use crate::request::Instant;
use chrono::TimeDelta;
use oxrdf::Graph;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything that the engine is told, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The domains that presentations may name (audience); never empty. The first is the default.
    pub(crate) domains: Vec<String>,
    /// Target IRI prefix in normal form -> the principal that owns everything below it.
    pub(crate) roots: RootPrincipals,
    pub(crate) protocols: ProtocolRegistry,
    pub(crate) controllers: Arc<ControllerDocuments>,
    pub(crate) policies: PolicyStore,
    pub(crate) limits: Limits,
    /// Duty action IRIs that this server can keep.
    pub(crate) obligations: BTreeSet<String>,
    /// Duties must be in `CallerFacts::discharged`.
    pub(crate) require_duties: bool,
    /// The longest life of a credential without a status entry.
    pub(crate) max_life_without_status: TimeDelta,
    /// How old a presentation may be.
    pub(crate) max_presentation_age: TimeDelta,
    /// How far clocks may differ.
    pub(crate) skew: TimeDelta,
    /// How old a controller document may be.
    pub(crate) max_controller_age: TimeDelta,
    pub(crate) max_chain_length: usize,
    pub(crate) max_actor_hops: usize,
    /// On the intent and its actions, a predicate that nothing maps refuses.
    pub(crate) closed_intents: bool,
    /// Our card marks the extension required: every message must activate it.
    pub(crate) extension_required: bool,
    /// Policies of the store count as bound by location (`provisional`).
    pub(crate) trust_store_by_location: bool,
    pub(crate) generation: u64,
    pub(crate) digest: Digest,
}

/// Target prefixes and the principals that own what is below them.
#[derive(Debug, Clone, Default)]
pub struct RootPrincipals {
    prefixes: BTreeMap<String, String>,
}

/// Policy documents that the operator placed here.
#[derive(Debug, Clone, Default)]
pub struct PolicyStore {
    pub(crate) documents: BTreeMap<String, StoredPolicy>,
}

/// One policy document of the store.
#[derive(Debug, Clone)]
pub(crate) struct StoredPolicy {
    pub(crate) text: String,
    pub(crate) media_type: crate::rdf::RdfMediaType,
    pub(crate) graph: Graph,
    pub(crate) read: Instant,
}

/// A setting that is missing, contradictory or unreadable. Start-up stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct ConfigError {
    /// The setting's path.
    pub setting: String,
    /// What is wrong with it.
    pub problem: String,
}

impl RootPrincipals {
    /// Adds a root: everything at or below `prefix`, at a path boundary, is owned by `principal`.
    ///
    /// # Errors
    /// A prefix that is not an IRI in normal form or that has an owner already, or a principal that is not an IRI.
    pub fn add(&mut self, prefix: &str, principal: &str) -> Result<(), ConfigError> {
        let problem =
            |problem: &str| ConfigError { setting: format!("roots.{prefix}"), problem: problem.to_owned() };
        if !target::is_normal(prefix) {
            return Err(problem("the prefix is not an IRI in normal form"));
        }
        if !target::is_iri(principal) {
            return Err(problem("the principal is not an IRI"));
        }
        if self.prefixes.get(prefix).is_some_and(|other| other != principal) {
            return Err(problem("the prefix has two principals"));
        }
        self.prefixes.insert(prefix.to_owned(), principal.to_owned());
        Ok(())
    }

    /// The owner of a target: the longest prefix that ends at a path boundary of it.
    pub(crate) fn owner(&self, target: &str) -> Option<&str> {
        self.prefixes
            .iter()
            .filter(|(prefix, _)| covers(prefix, target))
            .max_by_key(|(prefix, _)| prefix.len())
            .map(|(_, principal)| principal.as_str())
    }
}

/// Whether `prefix` is `target` or ends at a path boundary within it. After a query or a fragment has begun, a slash is
/// no boundary.
fn covers(prefix: &str, target: &str) -> bool {
    let boundaries: &[char] = if prefix.contains('#') {
        &[]
    } else if prefix.contains('?') {
        &['#']
    } else {
        &['/', '?', '#']
    };
    match target.strip_prefix(prefix) {
        Some("") => true,
        Some(rest) => prefix.ends_with('/') && boundaries.contains(&'/') || rest.starts_with(boundaries),
        None => false,
    }
}

#[cfg(test)]
mod root_tests {
    use super::RootPrincipals;

    fn roots(pairs: &[(&str, &str)]) -> RootPrincipals {
        let mut roots = RootPrincipals::default();
        for (prefix, principal) in pairs {
            roots.add(prefix, principal).unwrap_or_else(|error| panic!("{error}"));
        }
        roots
    }

    #[test]
    fn the_longest_prefix_at_a_path_boundary_owns() {
        let roots = roots(&[
            ("https://pod.example/", "urn:host"),
            ("https://pod.example/alice", "urn:alice"),
            ("https://pod.example/alice/shared/", "urn:team"),
            ("urn:data", "urn:registry"),
        ]);
        for (target, owner) in [
            ("https://pod.example/", Some("urn:host")),
            ("https://pod.example/bob/x", Some("urn:host")),
            ("https://pod.example/alice", Some("urn:alice")),
            ("https://pod.example/alice/x", Some("urn:alice")),
            ("https://pod.example/alice?q=1", Some("urn:alice")),
            ("https://pod.example/alice#me", Some("urn:alice")),
            ("https://pod.example/alice2", Some("urn:host")),
            ("https://pod.example/alice.ttl", Some("urn:host")),
            ("https://pod.example/alice/shared", Some("urn:alice")),
            ("https://pod.example/alice/shared/x", Some("urn:team")),
            ("https://pod.example.evil.example/alice", None),
            ("https://pod.example:8443/alice", None),
            ("http://pod.example/alice", None),
            ("urn:data", Some("urn:registry")),
            ("urn:data:x", None),
            ("urn:database", None),
            ("", None),
        ] {
            assert_eq!(roots.owner(target), owner, "{target}");
        }
    }

    #[test]
    fn a_query_or_fragment_has_no_path_boundary() {
        let roots =
            roots(&[("https://pod.example/x?set=a/", "urn:a"), ("https://pod.example/x#a/", "urn:b")]);
        assert_eq!(roots.owner("https://pod.example/x?set=a/"), Some("urn:a"));
        assert_eq!(roots.owner("https://pod.example/x?set=a/#f"), Some("urn:a"));
        assert_eq!(roots.owner("https://pod.example/x?set=a/b"), None);
        assert_eq!(roots.owner("https://pod.example/x#a/"), Some("urn:b"));
        assert_eq!(roots.owner("https://pod.example/x#a/b"), None);
    }

    #[test]
    fn a_root_is_a_normal_iri_and_its_principal_an_iri() {
        let mut roots = RootPrincipals::default();
        for prefix in
            ["https://pod.example", "https://Pod.example/", "https://pod.example/a/../b/", "alice/", ""]
        {
            assert!(roots.add(prefix, "urn:alice").is_err(), "{prefix}");
        }
        for principal in ["alice", "", "#me", "https://a.example/ b"] {
            assert!(roots.add("https://pod.example/", principal).is_err(), "{principal}");
        }
        assert_eq!(roots.owner("https://pod.example/x"), None);
    }

    #[test]
    fn a_root_has_one_principal() {
        let mut roots = roots(&[("https://pod.example/", "urn:alice")]);
        assert!(roots.add("https://pod.example/", "urn:alice").is_ok());
        assert!(roots.add("https://pod.example/", "urn:bob").is_err());
        assert_eq!(roots.owner("https://pod.example/"), Some("urn:alice"));
    }
}
