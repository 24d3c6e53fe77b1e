//! A presentation as its own graph says it, and as the credentials in it say it on their own: the two must agree.

use super::credential::Profile;
use super::data_integrity::{DocumentHash, Proof, ProofOf, Secured};
use super::node::{NodeView, as_iri, iri};
use super::securing::Securing;
use super::{Credential, PaperError};
use crate::limits::Limits;
use crate::message::Digest;
use crate::rdf::canon::{self, HashAlgorithm};
use crate::rdf::{Budget, jsonld};
use crate::refusal::Reason;
use crate::vocab::{cred, rdf, sec};
use oxrdf::{
    BlankNode, BlankNodeRef, Graph, GraphName, Literal, NamedNode, NamedOrBlankNode, NamedOrBlankNodeRef,
    Quad, Term, TermRef, TripleRef,
};
use serde_json::Value;

/// A presentation that was read, proving nothing yet.
#[derive(Debug)]
pub(crate) struct Presentation {
    pub(crate) profile: Profile,
    pub(crate) holder: Option<String>,
    /// SHA-256 of its canonical N-Quads, without its proof; of a JWS, of its signing input.
    pub(crate) digest: Digest,
    pub(crate) securing: Securing,
    pub(crate) credentials: Vec<Credential>,
}

impl Presentation {
    /// Reads a JSON-LD presentation. What its graph holds must be exactly: its type, at most one holder, and the graphs
    /// of its credentials as each reads on its own (`mandate.md` 2).
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED`, `MALFORMED`, `REMOTE_CONTEXT`.
    pub(crate) fn read(document: &Value, limits: &Limits, budget: &mut Budget) -> Result<Self, PaperError> {
        let secured = Secured::split(document)?;
        let papers = embedded(&secured.unsecured)?;
        check_limits(&secured, &papers, limits)?;
        let credentials = papers
            .iter()
            .enumerate()
            .map(|(place, paper)| {
                Credential::read(paper, limits, budget).map_err(|mut error| {
                    error.evidence.path = Some(format!("/verifiableCredential/{place}"));
                    error
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let quads = jsonld::parse_paper(&secured.unsecured, limits)?;
        let canonical = canon::quads(&quads, HashAlgorithm::Sha256, budget)?;
        let own = quads.iter().filter(|quad| quad.graph_name.is_default_graph());
        let own: Graph = own.map(|quad| TripleRef::from(quad.as_ref())).collect();
        let node = NodeView::only_instance(&own, cred::VERIFIABLE_PRESENTATION)?;
        let holder = match node.at_most_one(cred::HOLDER)? {
            None => None,
            Some(holder) => {
                Some(as_iri(holder).ok_or_else(|| PaperError::malformed("the holder is not an IRI"))?)
            }
        };
        let agreed = as_read(node.node(), holder.as_deref(), &credentials);
        if canon::quads(&agreed, HashAlgorithm::Sha256, budget)? != canonical {
            return Err(PaperError::malformed(
                "the presentation's graph is not just its holder and the credentials as each reads alone",
            ));
        }
        let digest = Digest::of(canonical);
        let mut document = DocumentHash::new(digest, &quads);
        let proofs = secured
            .proofs
            .iter()
            .map(|proof| Proof::read(proof, &secured.context, &mut document, ProofOf::Presentation, limits, budget))
            .collect::<Result<Vec<_>, _>>()?;
        let securing = Securing::DataIntegrity(proofs);
        Ok(Self { profile: Profile::JsonLd, holder, digest, securing, credentials })
    }
}

/// The embedded credentials, at least one. That each is an object is for its own reading.
fn embedded(unsecured: &Value) -> Result<Vec<&Value>, PaperError> {
    let papers: Vec<&Value> = match unsecured.get("verifiableCredential") {
        Some(Value::Array(papers)) => papers.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    if papers.is_empty() {
        return Err(PaperError::malformed("a presentation has at least one credential"));
    }
    Ok(papers)
}

/// Counted before anything is parsed.
fn check_limits(secured: &Secured, papers: &[&Value], limits: &Limits) -> Result<(), PaperError> {
    if papers.len() > limits.credentials {
        return Err(PaperError::new(Reason::LimitExceeded, "more credentials than are judged"));
    }
    let of_credentials: usize = papers
        .iter()
        .map(|paper| match paper.get("proof") {
            None => 0,
            Some(Value::Array(proofs)) => proofs.len(),
            Some(_) => 1,
        })
        .sum();
    if secured.proofs.len().saturating_add(of_credentials) > limits.proofs {
        return Err(PaperError::new(Reason::LimitExceeded, "more proofs than are judged"));
    }
    Ok(())
}

/// The quads of a presentation that says nothing but its holder and these credentials.
fn as_read(node: NamedOrBlankNodeRef<'_>, holder: Option<&str>, credentials: &[Credential]) -> Vec<Quad> {
    let mut quads = Vec::new();
    let node = match node {
        NamedOrBlankNodeRef::BlankNode(_) => BlankNode::new_unchecked("presentation").into(),
        named => named.into_owned(),
    };
    let mut own = |predicate: &str, object: Term| {
        quads.push(Quad::new(node.clone(), iri(predicate).into_owned(), object, GraphName::DefaultGraph));
    };
    own(rdf::TYPE, NamedNode::new_unchecked(cred::VERIFIABLE_PRESENTATION).into());
    if let Some(holder) = holder {
        own(cred::HOLDER, NamedNode::new_unchecked(holder).into());
    }
    let graphs: Vec<BlankNode> =
        (0..credentials.len()).map(|place| BlankNode::new_unchecked(format!("c{place}"))).collect();
    for graph in &graphs {
        own(cred::HAS_CREDENTIAL, graph.clone().into());
    }
    for (graph, credential) in graphs.iter().zip(credentials) {
        insert_credential(&mut quads, graph, credential);
    }
    quads
}

/// A credential in its named graph, and each of its proofs in one of its own.
fn insert_credential(quads: &mut Vec<Quad>, graph: &BlankNode, credential: &Credential) {
    let labels = Labels::of(graph);
    labels.insert(quads, &credential.graph, graph);
    let node = labels.subject(credential.node.as_ref());
    for (place, proof) in credential.securing.proofs().iter().enumerate() {
        let of_proof = BlankNode::new_unchecked(format!("{}p{place}", graph.as_str()));
        quads.push(Quad::new(node.clone(), iri(sec::PROOF).into_owned(), of_proof.clone(), graph.clone()));
        // Options are a document of their own: their blank nodes are nobody else's.
        let labels = Labels::of(&of_proof);
        labels.insert(quads, &proof.options, &of_proof);
        let subject = proof.options.iter().next().map(|triple| labels.subject(triple.subject));
        if let (Some(subject), Some(value)) = (subject, &proof.value) {
            let value = Literal::new_typed_literal(value, iri(sec::MULTIBASE));
            quads.push(Quad::new(subject, iri(sec::PROOF_VALUE).into_owned(), value, of_proof));
        }
    }
}

/// Blank nodes of one document, set apart from those of all others by the label of its graph.
struct Labels<'a> {
    prefix: &'a str,
}

impl<'a> Labels<'a> {
    fn of(graph: &'a BlankNode) -> Self {
        Self { prefix: graph.as_str() }
    }

    fn insert(&self, quads: &mut Vec<Quad>, document: &Graph, graph: &BlankNode) {
        for triple in document {
            let object = match triple.object {
                TermRef::BlankNode(node) => self.blank(node).into(),
                other => other.into_owned(),
            };
            let subject = self.subject(triple.subject);
            quads.push(Quad::new(subject, triple.predicate.into_owned(), object, graph.clone()));
        }
    }

    fn subject(&self, node: NamedOrBlankNodeRef<'_>) -> NamedOrBlankNode {
        match node {
            NamedOrBlankNodeRef::BlankNode(node) => self.blank(node).into(),
            named => named.into_owned(),
        }
    }

    fn blank(&self, node: BlankNodeRef<'_>) -> BlankNode {
        BlankNode::new_unchecked(format!("{}x{}", self.prefix, node.as_str()))
    }
}
