//! Tests of phase D on documents: one small policy for each rule of `mandate.md` 6 and 7.

use super::evaluate::{CountSource, OdrlRequest, Work};
use super::facts::Facts;
use super::hops::{ChainGrant, ChainVerdict, Denial, evaluate_chain};
use super::model::Policy;
use super::parse::PolicyError;
use crate::config::{PolicyStore, StoredPolicy};
use crate::limits::Limits;
use crate::rdf::{RdfMediaType, turtle};
use crate::request::Instant;
use chrono::TimeDelta;
use oxrdf::{Graph, Term};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

mod chain;
mod chains;
mod contain;
mod explain;
mod grant;
mod properties;
mod reading;
mod rules;
mod tables;

pub(super) const PREFIXES: &str = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .
@prefix acl: <http://www.w3.org/ns/auth/acl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <https://x.example/> .
";

pub(super) const NOW: &str = "2026-06-16T12:00:00Z";

pub(super) fn graph(text: &str) -> Graph {
    turtle::parse(&format!("{PREFIXES}{text}"), &Limits::default()).unwrap()
}

pub(super) fn policy(text: &str) -> Policy {
    Policy::read(&graph(text), &Limits::default()).unwrap()
}

/// A policy of `ex:owner` with `body` (property list, without the last dot).
pub(super) fn owned(body: &str) -> Policy {
    policy(&format!("ex:p a odrl:Set ; odrl:assigner ex:owner ; {body} ."))
}

pub(super) fn instant(text: &str) -> Instant {
    text.parse().unwrap()
}

/// A request under construction: `ex:agent` reads `ex:thing` now.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) agent: &'static str,
    pub(super) action: String,
    pub(super) target: String,
    attributes: BTreeMap<String, Vec<Term>>,
    counts: CountSource,
    facts: PolicyStore,
}

impl Ask {
    pub(super) fn new() -> Self {
        Self {
            agent: "https://x.example/agent",
            action: "http://www.w3.org/ns/odrl/2/read".into(),
            target: "https://x.example/thing".into(),
            attributes: BTreeMap::new(),
            counts: CountSource::Attributes,
            facts: PolicyStore::default(),
        }
    }

    pub(super) fn agent(mut self, agent: &'static str) -> Self {
        self.agent = agent;
        self
    }

    pub(super) fn action(mut self, action: &str) -> Self {
        self.action = super::action::of_name(action);
        self
    }

    pub(super) fn target(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// Adds an attribute; values in N-Triples syntax.
    pub(super) fn with(mut self, name: &str, values: &[&str]) -> Self {
        let terms = values.iter().map(|value| Term::from_str(value).unwrap()).collect();
        self.attributes.insert(name.into(), terms);
        self
    }

    pub(super) fn counted(mut self, count: u64) -> Self {
        let counts = BTreeMap::from([("https://x.example/p https://x.example/owner".to_owned(), count)]);
        self.counts = CountSource::Ledger { counts: Arc::new(counts), earlier: 0 };
        self
    }

    /// Facts of the operator's store.
    pub(super) fn fact(mut self, text: &str) -> Self {
        let stored = StoredPolicy {
            text: String::new(),
            media_type: RdfMediaType::Turtle,
            graph: graph(text),
            read: instant(NOW),
            limits: Limits::default(),
        };
        self.facts.documents.insert(text.to_owned(), stored);
        self
    }

    pub(super) fn request(&self) -> OdrlRequest {
        OdrlRequest::new(
            (self.agent, &self.action, &self.target),
            &self.attributes,
            instant(NOW),
            TimeDelta::seconds(60),
            self.counts.clone(),
            Arc::new(Facts::of_store(&self.facts, "https://x.example/owner")),
            Work::new(&Limits::default()),
        )
    }

    pub(super) fn of(&self, policies: &[Policy]) -> ChainVerdict {
        evaluate_chain(policies, &self.request(), &BTreeSet::new(), 8)
    }

    pub(super) fn permitted(&self, policies: &[Policy]) -> bool {
        matches!(self.of(policies), ChainVerdict::Permit(_))
    }
}

pub(super) fn granted(verdict: ChainVerdict) -> ChainGrant {
    match verdict {
        ChainVerdict::Permit(grant) => grant,
        ChainVerdict::Deny(denial) => panic!("denied: {denial:?}"),
    }
}

pub(super) fn denied(verdict: ChainVerdict) -> Denial {
    match verdict {
        ChainVerdict::Deny(denial) => *denial,
        ChainVerdict::Permit(grant) => panic!("permitted: {grant:?}"),
    }
}

pub(super) fn read_error(text: &str) -> Option<PolicyError> {
    Policy::read(&graph(text), &Limits::default()).err()
}
