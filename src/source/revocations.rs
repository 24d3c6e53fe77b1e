//! Revocation feeds: what one publisher says of policies (`odrld:Revocation`, `mandate.md` 5).
//!
//! A feed is read whole or not at all. A statement that is passed over is a policy that goes on working, so whatever in
//! it is not a statement of the one form stops the feed, and with it the start.

use super::SourceError;
use crate::credential::controller::KeySource;
use crate::credential::credential::Signed;
use crate::credential::node::as_node;
use crate::credential::{ControllerDocuments, Credential, PaperError};
use crate::ledger::RevokedPolicy;
use crate::ledger::status_memory::MAX_NAME_BYTES;
use crate::limits::Limits;
use crate::message::strict_json;
use crate::rdf::{Budget, RdfMediaType, parse_graph};
use crate::request::Instant;
use crate::vocab::{ANNOTATIONS, cred, odrld, rdf};
use chrono::TimeDelta;
use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNodeRef, TermRef};
use std::collections::{BTreeSet, HashSet};

/// Octets of a feed: some ten thousand statements.
const MAX_FEED_BYTES: usize = 1 << 20;
/// Triples of a feed.
const MAX_FEED_TRIPLES: usize = 40_000;
/// What one publisher says is revoked.
#[derive(Debug, Clone)]
pub struct RevocationFeed {
    publisher: String,
    policies: BTreeSet<String>,
    read: Instant,
}

impl RevocationFeed {
    /// Reads a document of statements, in `text/turtle` or `application/ld+json`. That `publisher` says them is the
    /// operator's word.
    ///
    /// # Errors
    /// [`SourceError`], for anything that is not a statement.
    pub fn of_statements(
        publisher: &str,
        text: &str,
        media_type: &str,
        read: Instant,
    ) -> Result<Self, SourceError> {
        let problem = |problem: &str| SourceError::new(publisher, problem);
        let media_type = RdfMediaType::parse(media_type)
            .ok_or_else(|| problem("a revocation feed is Turtle or JSON-LD"))?;
        let graph =
            parse_graph(text, media_type, &limits()).map_err(|cause| SourceError::new(publisher, cause))?;
        Self::new(publisher, statements(&graph).map_err(problem)?, read)
    }

    /// Reads a credential (JSON-LD) whose issuer is `publisher` and whose subjects are statements. That the publisher
    /// says them is its signature's word, judged at `now` by `controllers` that are no older than `max_controller_age`.
    ///
    /// # Errors
    /// [`SourceError`], for a credential that is not genuine, current and the publisher's, or whose subjects are not
    /// statements.
    pub fn of_credential(
        publisher: &str,
        text: &str,
        controllers: &ControllerDocuments,
        max_controller_age: TimeDelta,
        now: Instant,
    ) -> Result<Self, SourceError> {
        let problem = |problem: &str| SourceError::new(publisher, problem);
        let limits = limits();
        let document = strict_json::read(text.as_bytes(), &limits)
            .map_err(|cause| SourceError::new(publisher, cause))?;
        let credential = Signed::read(&document, &limits, &mut Budget::new(&limits))
            .and_then(Credential::of_any_type)
            .map_err(|error| paper_problem(publisher, &error))?;
        if credential.issuer != publisher {
            return Err(problem("the revocations are issued by somebody else"));
        }
        let keys = KeySource { documents: controllers, now, max_age: max_controller_age };
        credential.verify_with(&keys).map_err(|error| paper_problem(publisher, &error))?;
        Self::new(publisher, signed_statements(&credential).map_err(problem)?, now)
    }

    /// What evidence says that a feed said.
    ///
    /// # Errors
    /// [`SourceError`], for an IRI that no feed could hold.
    pub(crate) fn of_evidence(
        publisher: &str,
        policies: BTreeSet<String>,
        read: Instant,
    ) -> Result<Self, SourceError> {
        Self::new(publisher, policies, read)
    }

    fn new(publisher: &str, policies: BTreeSet<String>, read: Instant) -> Result<Self, SourceError> {
        let is_kept = |name: &str| !name.is_empty() && name.len() <= MAX_NAME_BYTES;
        if !is_kept(publisher) || !policies.iter().all(|policy| is_kept(policy)) {
            return Err(SourceError::new(publisher, "an IRI is empty or longer than is remembered"));
        }
        Ok(Self { publisher: publisher.to_owned(), policies, read })
    }

    /// Who publishes it.
    pub fn publisher(&self) -> &str {
        &self.publisher
    }

    /// The policies that it says are revoked.
    pub fn policies(&self) -> &BTreeSet<String> {
        &self.policies
    }

    /// When it was read.
    pub(crate) fn read(&self) -> Instant {
        self.read
    }

    /// Each statement with its publisher.
    pub(crate) fn revoked(&self) -> impl Iterator<Item = RevokedPolicy> {
        self.policies
            .iter()
            .map(|policy| RevokedPolicy { publisher: self.publisher.clone(), policy: policy.clone() })
    }
}

fn limits() -> Limits {
    Limits {
        message_bytes: MAX_FEED_BYTES,
        graph_bytes: MAX_FEED_BYTES,
        json_values: MAX_FEED_TRIPLES * 4,
        triples: MAX_FEED_TRIPLES,
        ..Limits::default()
    }
}

fn paper_problem(publisher: &str, error: &PaperError) -> SourceError {
    let detail = error.evidence.detail.clone().unwrap_or_default();
    SourceError::new(publisher, format!("{}: {detail}", error.reason.as_str()))
}

/// The policies that a graph of nothing but statements says are revoked.
///
/// # Errors
/// In our words, what in it is not a statement of the one form.
pub(crate) fn statements(graph: &Graph) -> Result<BTreeSet<String>, &'static str> {
    let nodes: HashSet<NamedOrBlankNodeRef<'_>> = graph.iter().map(|triple| triple.subject).collect();
    let mut policies = BTreeSet::new();
    for node in nodes {
        policies.extend(statement(graph, node)?);
    }
    Ok(policies)
}

/// The statements of a credential: its subjects, and nothing else in its graph.
fn signed_statements(credential: &Credential) -> Result<BTreeSet<String>, &'static str> {
    let graph = &credential.graph;
    let node = credential.node.as_ref();
    let revoked = NamedNodeRef::new_unchecked(odrld::REVOKED_POLICY);
    if graph.object_for_subject_predicate(node, revoked).is_some() {
        return Err("the credential itself is no revocation");
    }
    let mut subjects = HashSet::new();
    for subject in graph.objects_for_subject_predicate(node, NamedNodeRef::new_unchecked(cred::SUBJECT)) {
        subjects.insert(as_node(subject).ok_or("a subject of the credential is a literal")?);
    }
    let mut said_of = graph.iter().map(|triple| triple.subject).filter(|subject| *subject != node);
    if said_of.any(|other| !subjects.contains(&other)) {
        return Err("something beside the credential's subjects is said");
    }
    let mut policies = BTreeSet::new();
    for subject in subjects {
        policies.extend(statement(graph, subject)?);
    }
    Ok(policies)
}

/// One node: an `odrld:Revocation`, at least one policy, and annotations.
fn statement(graph: &Graph, node: NamedOrBlankNodeRef<'_>) -> Result<Vec<String>, &'static str> {
    let mut policies = Vec::new();
    let mut is_revocation = false;
    for triple in graph.triples_for_subject(node) {
        match (triple.predicate.as_str(), triple.object) {
            (rdf::TYPE, TermRef::NamedNode(class)) if class.as_str() == odrld::REVOCATION => {
                is_revocation = true;
            }
            (odrld::REVOKED_POLICY, TermRef::NamedNode(policy)) => policies.push(policy.as_str().to_owned()),
            (odrld::REVOKED_POLICY, _) => return Err("a revoked policy is not named by an IRI"),
            (predicate, _) if ANNOTATIONS.iter().any(|namespace| predicate.starts_with(namespace)) => {}
            _ => return Err("a statement says something that is not known here"),
        }
    }
    if !is_revocation {
        return Err("something is said that is no odrld:Revocation");
    }
    if policies.is_empty() {
        return Err("a revocation names no policy");
    }
    Ok(policies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::issue::{self, SigningKey};
    use serde_json::{Value, json};

    const PUBLISHER: &str = "https://alice.example/card#me";
    const PREFIXES: &str = "@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <https://x.example/> .
";

    fn now() -> Instant {
        "2026-12-01T12:00:00Z".parse().unwrap()
    }

    fn turtle(text: &str) -> Result<RevocationFeed, SourceError> {
        let text = format!("{PREFIXES}{text}");
        RevocationFeed::of_statements(PUBLISHER, &text, "text/turtle", now())
    }

    fn says(feed: &RevocationFeed) -> Vec<&str> {
        feed.policies().iter().map(String::as_str).collect()
    }

    #[test]
    fn statements_are_read_in_turtle_and_json_ld() {
        let feed = turtle(
            "ex:r1 a odrld:Revocation ; odrld:revokedPolicy ex:p, ex:q ; dcterms:issued \"2026-11-01\" .
             [] a odrld:Revocation ; odrld:revokedPolicy ex:s .",
        )
        .unwrap();
        assert_eq!(says(&feed), ["https://x.example/p", "https://x.example/q", "https://x.example/s"]);
        let text = json!({
            "@context": { "odrld": "https://w3id.org/jeswr/odrl-delegation#" },
            "@type": "odrld:Revocation",
            "odrld:revokedPolicy": { "@id": "https://x.example/p" },
        });
        let feed = RevocationFeed::of_statements(PUBLISHER, &text.to_string(), "application/ld+json", now());
        assert_eq!(says(&feed.unwrap()), ["https://x.example/p"]);
        assert_eq!(turtle("").unwrap().policies().len(), 0, "nothing is revoked");
    }

    #[test]
    fn a_statement_that_cannot_be_read_is_not_dropped() {
        for text in [
            "ex:r a odrld:Revocation .",
            "ex:r odrld:revokedPolicy ex:p .",
            "ex:r a odrld:Revoked ; odrld:revokedPolicy ex:p .",
            "ex:r a odrld:Revocation ; odrld:revokedPolicy \"https://x.example/p\" .",
            "ex:r a odrld:Revocation ; odrld:revokedPolicy [] .",
            "ex:r a odrld:Revocation ; odrld:revokedPolicy ex:p ; odrld:revokedPolicies ex:q .",
            "ex:r a odrld:Revocation ; odrld:revokedPolicy ex:p ; dcterms:creator [ ex:name \"a\" ] .",
            "ex:r a odrld:Revocation ; odrld:revokedPolicy ex:p . ex:other a ex:Policy .",
            "not Turtle",
        ] {
            let error = turtle(text).unwrap_err();
            assert_eq!(error.what, PUBLISHER, "{text}");
        }
        assert!(RevocationFeed::of_statements(PUBLISHER, "", "text/plain", now()).is_err());
        let long = "p".repeat(MAX_NAME_BYTES);
        assert!(turtle(&format!("ex:r a odrld:Revocation ; odrld:revokedPolicy ex:{long} .")).is_err());
    }

    fn key() -> SigningKey {
        SigningKey::from_seed([7; 32])
    }

    fn unsigned() -> Value {
        json!({
            "@context": [cred::CONTEXT_V2, { "odrld": "https://w3id.org/jeswr/odrl-delegation#" }],
            "id": "https://alice.example/revocations/1",
            "type": "VerifiableCredential",
            "issuer": key().controller(),
            "validFrom": "2026-11-01T00:00:00Z",
            "credentialSubject": [
                { "type": "odrld:Revocation", "odrld:revokedPolicy": { "id": "https://x.example/p" } },
                { "id": "https://x.example/r", "type": "odrld:Revocation",
                  "odrld:revokedPolicy": { "id": "https://x.example/q" } },
            ],
        })
    }

    fn signed_by(key: &SigningKey, document: Value) -> Value {
        let limits = Limits::default();
        let options = issue::proof_options(key, "assertionMethod", now());
        let document = document.as_object().unwrap().clone();
        issue::secure(key, document, options, &limits, &mut Budget::new(&limits)).unwrap()
    }

    fn credential(publisher: &str, document: &Value) -> Result<RevocationFeed, SourceError> {
        let controllers = ControllerDocuments::default();
        let text = document.to_string();
        RevocationFeed::of_credential(publisher, &text, &controllers, TimeDelta::days(1), now())
    }

    #[test]
    fn a_signed_feed_is_its_issuers() {
        let feed = credential(key().controller(), &signed_by(&key(), unsigned())).unwrap();
        assert_eq!(says(&feed), ["https://x.example/p", "https://x.example/q"]);
        assert_eq!(feed.publisher(), key().controller());
        let error = credential(PUBLISHER, &signed_by(&key(), unsigned())).unwrap_err();
        assert!(error.problem.contains("somebody else"), "{error}");
    }

    #[test]
    fn a_signed_feed_that_is_not_genuine_and_current_is_not_read() {
        let refused = |document: &Value| credential(key().controller(), document).unwrap_err().problem;
        assert!(refused(&unsigned()).contains("NO_PROOF"));
        let mut tampered = signed_by(&key(), unsigned());
        tampered["credentialSubject"][0]["odrld:revokedPolicy"]["id"] = json!("https://x.example/other");
        assert!(refused(&tampered).contains("INVALID_SIGNATURE"));
        assert!(refused(&signed_by(&SigningKey::from_seed([8; 32]), unsigned())).contains("ISSUER_MISMATCH"));
        let mut expired = unsigned();
        expired["validUntil"] = json!("2026-11-30T00:00:00Z");
        assert!(refused(&signed_by(&key(), expired)).contains("EXPIRED"));
        assert!(!refused(&json!("{")).is_empty());
    }

    #[test]
    fn a_signed_feed_says_nothing_but_its_subjects() {
        let changes: [(&str, &dyn Fn(&mut Value)); 5] = [
            ("not known here", &|document| {
                document["credentialSubject"][0]["type"] = json!("odrld:Revoked");
            }),
            ("no odrld:Revocation", &|document| {
                document["credentialSubject"][0].as_object_mut().unwrap().remove("type");
            }),
            ("the credential itself", &|document| {
                document["odrld:revokedPolicy"] = json!({ "id": "https://x.example/s" });
            }),
            ("beside the credential's subjects", &|document| {
                document["credentialSubject"][0]["http://purl.org/dc/terms/relation"] = json!({
                    "id": "https://x.example/n",
                    "type": "odrld:Revocation",
                    "odrld:revokedPolicy": { "id": "https://x.example/s" },
                });
            }),
            ("names no policy", &|document| {
                document["credentialSubject"][1].as_object_mut().unwrap().remove("odrld:revokedPolicy");
            }),
        ];
        for (words, change) in changes {
            let mut document = unsigned();
            change(&mut document);
            let error = credential(key().controller(), &signed_by(&key(), document)).unwrap_err();
            assert!(error.problem.contains(words), "{words}: {error}");
        }
    }
}
