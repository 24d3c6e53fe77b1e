//! Chains of papers for tests: credentials that embed their policies, unsigned.

use crate::config::{Config, ConfigBuilder, RootPrincipals};
use crate::credential::Credential;
use crate::credential::credential::{PolicyClaim, Profile};
use crate::credential::securing::Securing;
use crate::limits::Limits;
use crate::message::Digest;
use crate::rdf::turtle;
use crate::request::{Actor, CallerFacts, Conversation, MessageInput, Request, Snapshot};
use oxrdf::{Graph, NamedNode, NamedOrBlankNode};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const NOW: &str = "2026-06-16T12:00:00Z";

const PREFIXES: &str = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .
@prefix acl: <http://www.w3.org/ns/auth/acl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix a2a: <https://w3id.org/jeswr/a2a#> .
@prefix ex: <https://x.example/> .
";

/// `https://x.example/` + name.
pub(super) fn ex(name: &str) -> String {
    format!("https://x.example/{name}")
}

pub(super) fn graph(text: &str) -> Graph {
    turtle::parse(&format!("{PREFIXES}{text}"), &Limits::default()).unwrap()
}

pub(super) fn config() -> Config {
    let mut roots = RootPrincipals::default();
    roots.add("https://x.example/", &ex("owner")).unwrap();
    ConfigBuilder::new("https://server.example/", roots).build().unwrap()
}

/// A credential of `issuer` for `delegate`, good for a month, that embeds the policy `id`: an agreement between the two
/// with `body`.
pub(super) fn credential(id: &str, issuer: &str, delegate: &str, body: &str) -> Credential {
    let text = format!(
        "ex:{id} a odrl:Agreement ; odrl:assigner ex:{issuer} ; odrl:assignee ex:{delegate} ; {body} ."
    );
    Credential {
        profile: Profile::JsonLd,
        id: Some(format!("urn:credential:{id}")),
        node: NamedOrBlankNode::NamedNode(NamedNode::new_unchecked(format!("urn:credential:{id}"))),
        digest: Digest::of(&text),
        issuer: ex(issuer),
        subject: Some(ex(issuer)),
        authorizes: Some(ex(delegate)),
        policy: Some(PolicyClaim::Embedded(NamedNode::new_unchecked(ex(id)).into())),
        actions: Vec::new(),
        targets: Vec::new(),
        valid_from: Some("2026-06-01T00:00:00Z".parse().unwrap()),
        valid_until: Some("2026-07-01T00:00:00Z".parse().unwrap()),
        status: Vec::new(),
        related: Vec::new(),
        graph: graph(&text),
        securing: Securing::DataIntegrity(Vec::new()),
        embedded: None,
        known_as: None,
    }
}

pub(super) fn snapshot() -> Snapshot {
    Snapshot {
        instant: NOW.parse().unwrap(),
        generation: 1,
        conversation: Conversation::default(),
        memory: Arc::default(),
        counts: BTreeMap::new(),
        controllers: Arc::default(),
        status_lists: Arc::default(),
        issued: crate::credential::IssuedChallenges::NoIssuer,
    }
}

pub(super) fn request() -> Request {
    Request {
        message: MessageInput::Bytes(Vec::new()),
        facts: CallerFacts::new("peer", Actor::Unauthenticated, "challenge"),
        snapshot: snapshot(),
    }
}
