//! One Agent Authorization Credential, as its own graph says it.

use super::PaperError;
use super::controller::{KeySource, Relationship};
use super::data_integrity::{self, DocumentHash, Proof, ProofOf, Secured, Statement};
use super::known::Known;
use super::node::{NodeView, as_node, iri, owned};
use super::presentation_graph::Embedded;
use super::securing::Securing;
use crate::limits::Limits;
use crate::message::Digest;
use crate::rdf::canon::{self, HashAlgorithm};
use crate::rdf::{Budget, jsonld};
use crate::refusal::Reason;
use crate::request::{Instant, Snapshot};
use crate::vocab::{cred, rdf, schema, sec, svc};
use oxrdf::{Graph, NamedOrBlankNode, TermRef};
use serde_json::Value;

/// A credential's claims, read from the graph that its proofs are made over. Reading proves nothing:
/// [`Credential::verify`] is phase A.
#[derive(Debug, Clone)]
pub(crate) struct Credential {
    /// How the document was lowered to `graph`.
    pub(crate) profile: Profile,
    /// The credential's IRI, where it has one.
    pub(crate) id: Option<String>,
    /// The credential's node in `graph`.
    pub(crate) node: NamedOrBlankNode,
    /// SHA-256 of the credential's canonical N-Quads, without its proofs; of a JWS, of its signing input.
    pub(crate) digest: Digest,
    /// The delegating principal.
    pub(crate) issuer: String,
    /// The subject's IRI, where it has one; it must equal the issuer (phase B).
    pub(crate) subject: Option<String>,
    /// The delegate.
    pub(crate) authorizes: Option<String>,
    /// `svc:policy`, where there is exactly one; the content binding refuses where there is not.
    pub(crate) policy: Option<PolicyClaim>,
    /// `svc:action` values, as IRIs or short names.
    pub(crate) actions: Vec<String>,
    /// `svc:target` values.
    pub(crate) targets: Vec<String>,
    pub(crate) valid_from: Option<Instant>,
    pub(crate) valid_until: Option<Instant>,
    /// Status entries; their fields are judged in phase C.
    pub(crate) status: Vec<StatusEntry>,
    pub(crate) related: Vec<RelatedResource>,
    /// The credential's graph, without its proofs.
    pub(crate) graph: Graph,
    /// The credential's proofs, each with its signed options, or its JWS.
    pub(crate) securing: Securing,
    /// It in a presentation, where it reads as it does alone: it and its proofs are of a recognised form.
    pub(crate) embedded: Option<Embedded>,
    /// What facts that follow from its octets are kept under; `None`: none are.
    pub(crate) known_as: Option<Digest>,
}

/// How papers become graphs. All papers of a presentation are of one profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    JsonLd,
    /// The fixed lowering of papers without `@context` (`mandate.md` 9).
    ContextFree,
    /// JSON-LD in a JWS (`vc+jwt`, `vp+jwt`).
    Jose,
}

/// A paper's graph without its proofs, the SHA-256 of what was signed, and what secures it.
#[derive(Debug)]
pub(crate) struct Signed {
    pub(super) profile: Profile,
    pub(super) graph: Graph,
    pub(super) digest: Digest,
    pub(super) securing: Securing,
    pub(super) recognised: bool,
}

/// What `svc:policy` points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicyClaim {
    /// A node with the policy's triples in the signed graph.
    Embedded(NamedOrBlankNode),
    /// An IRI, to be bound by a digest.
    Reference(String),
}

/// An entry of `relatedResource`: an IRI with digests over what it names.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RelatedResource {
    pub(crate) id: String,
    pub(crate) digest_sri: Vec<String>,
    pub(crate) digest_multibase: Vec<String>,
    pub(crate) media_type: Vec<String>,
}

/// An entry of `credentialStatus`, unjudged.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StatusEntry {
    pub(crate) types: Vec<String>,
    pub(crate) purpose: Vec<String>,
    pub(crate) index: Vec<String>,
    pub(crate) list: Vec<String>,
    pub(crate) size: Vec<String>,
}

impl Credential {
    /// Reads a JSON-LD credential from its graph, with its proofs and their options. A credential without a proof, or
    /// with one of another kind, is read: phase A refuses it.
    ///
    /// # Errors
    /// `MALFORMED`, `REMOTE_CONTEXT`, `LIMIT_EXCEEDED`.
    pub(crate) fn read(document: &Value, limits: &Limits, budget: &mut Budget) -> Result<Self, PaperError> {
        let signed = Signed::read(document, limits, budget)?;
        let recognised = signed.recognised;
        let credential = Self::of_mandate(signed)?;
        let embedded = recognised.then(|| Embedded::new(&credential, limits));
        Ok(Self { embedded, ..credential })
    }

    /// Phase A: each proof by the issuer's own key for `assertionMethod`, over this very graph, and the dates. Gives the
    /// last instants at which the keys that it used can be known to be the issuer's.
    ///
    /// # Errors
    /// `NO_PROOF`, `UNKNOWN_CRYPTOSUITE`, `PROOF_PURPOSE_MISMATCH`, `ISSUER_MISMATCH`, `INVALID_SIGNATURE`, `EXPIRED`,
    /// `NOT_YET_VALID`, in this order.
    #[cfg(test)]
    pub(crate) fn verify(
        &self,
        snapshot: &Snapshot,
        controller_max_age: chrono::TimeDelta,
    ) -> Result<Vec<Instant>, PaperError> {
        self.verify_knowing(snapshot, controller_max_age, &Known::nothing())
    }

    /// [`Credential::verify`], where a signature may be known already to be a key's.
    ///
    /// # Errors
    /// As [`Credential::verify`].
    pub(crate) fn verify_knowing(
        &self,
        snapshot: &Snapshot,
        controller_max_age: chrono::TimeDelta,
        known: &Known<'_>,
    ) -> Result<Vec<Instant>, PaperError> {
        let keys = KeySource {
            documents: &snapshot.controllers,
            now: snapshot.instant,
            max_age: controller_max_age,
        };
        self.verify_by(&keys, known).map_err(|mut error| {
            error.evidence.credential.clone_from(&self.id);
            error
        })
    }

    /// The earliest end of the credential and its proofs: `validUntil` and each proof's `expires`.
    pub(crate) fn not_after(&self) -> Option<Instant> {
        self.securing.ends().chain(self.valid_until).min()
    }

    pub(crate) fn verify_with(&self, keys: &KeySource<'_>) -> Result<Vec<Instant>, PaperError> {
        self.verify_by(keys, &Known::nothing())
    }

    fn verify_by(&self, keys: &KeySource<'_>, known: &Known<'_>) -> Result<Vec<Instant>, PaperError> {
        let statements = self.securing.statements()?;
        if statements.iter().any(|statement| statement.purpose != sec::ASSERTION_METHOD) {
            return Err(PaperError::new(Reason::ProofPurposeMismatch, "the purpose is not assertionMethod"));
        }
        // A method that is not the issuer's takes precedence over a signature that is not the method's.
        let methods = statements
            .iter()
            .map(|statement| {
                let method = &statement.verification_method;
                keys.find_knowing(&self.issuer, method, Relationship::AssertionMethod, known)
                    .map_err(|error| PaperError::new(Reason::IssuerMismatch, error.to_string()))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut good_until = Vec::new();
        for (statement, method) in statements.iter().zip(methods) {
            known.signature(statement, &method.key)?;
            good_until.extend(method.good_until);
        }
        self.check_dates(&statements, keys.now)?;
        Ok(good_until)
    }

    /// The bounds themselves are inside.
    fn check_dates(&self, statements: &[&Statement], now: Instant) -> Result<(), PaperError> {
        if let Some(end) = self.valid_until.filter(|end| now > *end) {
            return Err(PaperError::new(Reason::Expired, "validUntil has passed").at_time(now, "until", end));
        }
        if let Some(end) = statements.iter().filter_map(|statement| statement.expires).find(|end| now > *end)
        {
            return Err(PaperError::new(Reason::Expired, "a proof has expired").at_time(now, "until", end));
        }
        if let Some(start) = self.valid_from.filter(|start| now < *start) {
            return Err(
                PaperError::new(Reason::NotYetValid, "validFrom is ahead").at_time(now, "from", start)
            );
        }
        if self.securing.not_before().is_some_and(|start| now < start) {
            return Err(PaperError::new(Reason::NotYetValid, "the JWS is of a later instant"));
        }
        Ok(())
    }

    /// Reads the claims from the credential's own node and its subject's, and from nowhere else.
    ///
    /// # Errors
    /// `MALFORMED`
    pub(super) fn of_mandate(signed: Signed) -> Result<Self, PaperError> {
        let mut credential = Self::of_any_type(signed)?;
        let graph = std::mem::take(&mut credential.graph);
        let node = NodeView::new(&graph, credential.node.as_ref());
        if !node.has_type(svc::AGENT_AUTHORIZATION_CREDENTIAL) {
            return Err(PaperError::malformed("not an AgentAuthorizationCredential"));
        }
        let subject = node.one_node(cred::SUBJECT)?;
        credential.subject = subject.iri();
        credential.authorizes = Some(subject.one_iri(svc::AUTHORIZES)?);
        credential.policy = policy_claim(&graph, &subject);
        credential.actions = subject.texts(svc::ACTION)?;
        credential.targets = subject.iris(svc::TARGET)?;
        credential.status = status_entries(&node)?;
        credential.related = related_resources(&node)?;
        Ok(Self { graph, ..credential })
    }

    /// Reads what every credential says: who issued it, and when it is good. It delegates nothing.
    ///
    /// # Errors
    /// `MALFORMED`
    pub(crate) fn of_any_type(signed: Signed) -> Result<Self, PaperError> {
        let Signed { profile, graph, digest, securing, recognised: _ } = signed;
        let node = NodeView::only_instance(&graph, cred::VERIFIABLE_CREDENTIAL)?;
        // A credential that something else in its document points to is that something's content, not what was issued.
        if graph.triples_for_object(node.node()).next().is_some() {
            return Err(PaperError::malformed("the credential is part of something else"));
        }
        if graph.triples_for_predicate(iri(sec::PROOF)).next().is_some() {
            return Err(PaperError::malformed("a proof under another name"));
        }
        let credential = Self {
            profile,
            id: node.iri(),
            node: owned(node.node()),
            digest,
            issuer: node.one_iri(cred::ISSUER)?,
            subject: None,
            authorizes: None,
            policy: None,
            actions: Vec::new(),
            targets: Vec::new(),
            valid_from: node.optional_instant(cred::VALID_FROM)?,
            valid_until: node.optional_instant(cred::VALID_UNTIL)?,
            status: Vec::new(),
            related: Vec::new(),
            securing,
            embedded: None,
            known_as: None,
            graph: Graph::default(),
        };
        Ok(Self { graph, ..credential })
    }
}

impl Signed {
    /// Reads a JSON-LD credential of any type.
    ///
    /// # Errors
    /// `MALFORMED`, `REMOTE_CONTEXT`, `LIMIT_EXCEEDED`.
    pub(crate) fn read(document: &Value, limits: &Limits, budget: &mut Budget) -> Result<Self, PaperError> {
        let secured = Secured::split(document)?;
        if secured.proofs.len() > limits.proofs {
            return Err(PaperError::new(Reason::LimitExceeded, "more proofs than are judged"));
        }
        let jsonld::Paper { quads, recognised } = jsonld::read_paper(&secured.unsecured, limits)?;
        let graph = data_integrity::default_graph(&quads)?;
        let digest = Digest::of(canon::quads(&quads, HashAlgorithm::Sha256, budget)?);
        let mut document = DocumentHash::new(digest, &quads);
        let proofs = secured
            .proofs
            .iter()
            .map(|proof| {
                Proof::read(proof, &secured.context, &mut document, ProofOf::Credential, limits, budget)
            })
            .collect::<Result<Vec<_>, _>>()?;
        // By this name, the type gives `proof` its meaning, and that member was taken off.
        let is_plain = match secured.unsecured.get("type") {
            Some(Value::Array(types)) => types.iter().any(|name| name == "VerifiableCredential"),
            _ => false,
        };
        let recognised = recognised && is_plain && proofs.iter().all(|proof| proof.recognised);
        let securing = Securing::DataIntegrity(proofs);
        Ok(Self { profile: Profile::JsonLd, graph, digest, securing, recognised })
    }
}

fn policy_claim(graph: &Graph, subject: &NodeView<'_>) -> Option<PolicyClaim> {
    let claim = subject.at_most_one(svc::POLICY).ok()??;
    let node = as_node(claim)?;
    // What an entry of relatedResource says of the IRI that it digests is not the policy's content.
    const OF_AN_ENTRY: [&str; 3] = [cred::DIGEST_SRI, sec::DIGEST_MULTIBASE, schema::ENCODING_FORMAT];
    let has_content =
        graph.triples_for_subject(node).any(|triple| !OF_AN_ENTRY.contains(&triple.predicate.as_str()));
    match claim {
        TermRef::NamedNode(reference) if !has_content => {
            Some(PolicyClaim::Reference(reference.as_str().to_owned()))
        }
        _ => Some(PolicyClaim::Embedded(owned(node))),
    }
}

fn status_entries(node: &NodeView<'_>) -> Result<Vec<StatusEntry>, PaperError> {
    let mut entries =
        node.nodes(cred::STATUS)?.iter().map(StatusEntry::read).collect::<Result<Vec<_>, _>>()?;
    entries.sort_unstable();
    Ok(entries)
}

impl StatusEntry {
    /// # Errors
    /// `MALFORMED` where a value is a blank node.
    pub(super) fn read(entry: &NodeView<'_>) -> Result<Self, PaperError> {
        Ok(Self {
            types: entry.texts(rdf::TYPE)?,
            purpose: entry.texts(cred::STATUS_PURPOSE)?,
            index: entry.texts(cred::STATUS_LIST_INDEX)?,
            list: entry.texts(cred::STATUS_LIST_CREDENTIAL)?,
            size: entry.texts(STATUS_SIZE)?,
        })
    }
}

const STATUS_SIZE: &str = "https://www.w3.org/ns/credentials/status#statusSize";

fn related_resources(node: &NodeView<'_>) -> Result<Vec<RelatedResource>, PaperError> {
    let mut resources = Vec::new();
    for entry in node.nodes(cred::RELATED_RESOURCE)? {
        resources.push(RelatedResource {
            id: entry.iri().ok_or_else(|| PaperError::malformed("a related resource without an id"))?,
            digest_sri: entry.literals(cred::DIGEST_SRI)?,
            digest_multibase: entry.literals(sec::DIGEST_MULTIBASE)?,
            media_type: entry.literals(schema::ENCODING_FORMAT)?,
        });
    }
    resources.sort_unstable();
    Ok(resources)
}
