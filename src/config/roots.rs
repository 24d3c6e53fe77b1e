//! Who owns which targets.

use super::ConfigError;
use crate::message::target;
use std::collections::{BTreeMap, BTreeSet};

/// Target prefixes and the principals that own what is below them.
#[derive(Debug, Clone, Default)]
pub struct RootPrincipals {
    pub(super) prefixes: BTreeMap<String, String>,
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
            return Err(problem(match target::is_normal(&format!("{prefix}/")) {
                true => "the prefix needs a path: write it with a slash at its end",
                false => "the prefix is not an IRI in normal form",
            }));
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

    /// Each prefix with its principal.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.prefixes.iter().map(|(prefix, principal)| (prefix.as_str(), principal.as_str()))
    }

    /// Everybody who owns something, once each, in order.
    pub(crate) fn principals(&self) -> BTreeSet<&str> {
        self.prefixes.values().map(String::as_str).collect()
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
mod tests {
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
