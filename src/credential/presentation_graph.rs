//! A presentation as its own graph says it, and as the credentials in it say it on their own: the two must agree.

use super::credential::Profile;
use super::data_integrity::{DocumentHash, Proof, ProofOf, proof_objects};
use super::known::Known;
use super::node::{NodeView, as_iri, iri, owned};
use super::securing::Securing;
use super::{Credential, PaperError};
use crate::limits::Limits;
use crate::message::Digest;
use crate::rdf::canon::{self, Composite, HashAlgorithm, Part};
use crate::rdf::{Budget, RdfError, Size, check_size, check_size_with, jsonld};
use crate::refusal::Reason;
use crate::vocab::{cred, rdf, sec};
use oxrdf::{
    BlankNode, BlankNodeRef, Graph, GraphName, Literal, NamedNode, NamedOrBlankNode, NamedOrBlankNodeRef,
    Quad, Term, TermRef, TripleRef,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A presentation that was read, proving nothing yet.
#[derive(Debug)]
pub(crate) struct Presentation {
    pub(crate) profile: Profile,
    pub(crate) holder: Option<String>,
    /// SHA-256 of its canonical N-Quads, without its proof; of a JWS, of its signing input.
    pub(crate) digest: Digest,
    pub(crate) securing: Securing,
    pub(crate) credentials: Vec<Arc<Credential>>,
}

impl Presentation {
    /// Reads a JSON-LD presentation. What its graph holds must be exactly: its type, at most one holder, and the graphs
    /// of its credentials as each reads on its own (`mandate.md` 2).
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED`, `MALFORMED`, `REMOTE_CONTEXT`.
    pub(crate) fn read(document: &Value, limits: &Limits, budget: &mut Budget) -> Result<Self, PaperError> {
        Self::read_knowing(document, limits, budget, &Known::nothing())
    }

    /// [`Presentation::read`], where credentials may be known already.
    ///
    /// # Errors
    /// As [`Presentation::read`].
    pub(crate) fn read_knowing(
        document: &Value,
        limits: &Limits,
        budget: &mut Budget,
        known: &Known<'_>,
    ) -> Result<Self, PaperError> {
        let members =
            document.as_object().ok_or_else(|| PaperError::malformed("a paper is a JSON object"))?;
        let context = members
            .get("@context")
            .ok_or_else(|| PaperError::malformed("a paper without @context is not JSON-LD"))?;
        let proofs = proof_objects(members.get("proof").cloned())?;
        let papers = embedded(document)?;
        check_limits(proofs.len(), &papers, limits)?;
        let read = |(place, paper): (usize, &&Value)| {
            let read = |budget: &mut Budget| Credential::read(paper, limits, budget);
            known.credential(Profile::JsonLd, paper, budget, read).map_err(|mut error| {
                error.evidence.path = Some(format!("/verifiableCredential/{place}"));
                error
            })
        };
        let credentials = papers.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        let whole = match plain_shell(members, &credentials) {
            Some((shell, embedded)) => Whole::of_parts(&shell, &embedded, limits, budget)?,
            None => Whole::compared(members, &credentials, limits, budget)?,
        };
        let digest = Digest::of(&whole.canonical);
        let mut document = DocumentHash::of_composite(digest, whole.dataset());
        let proofs = proofs
            .iter()
            .map(|proof| Proof::read(proof, context, &mut document, ProofOf::Presentation, limits, budget))
            .collect::<Result<Vec<_>, _>>()?;
        let (holder, securing) = (whole.holder, Securing::DataIntegrity(proofs));
        Ok(Self { profile: Profile::JsonLd, holder, digest, securing, credentials })
    }
}

/// What a presentation says, without its proofs.
struct Whole<'c> {
    holder: Option<String>,
    quads: Vec<Quad>,
    /// Credentials that are not among `quads`, each with the label of its graph.
    parts: Vec<(BlankNode, &'c Part)>,
    /// The canonical N-Quads of all.
    canonical: String,
}

impl<'c> Whole<'c> {
    /// A presentation of the recognised form: its graph is put together from what its parts read as, and that is what is
    /// hashed. A wrong reading of a part would make another hash, and its signature would not verify.
    fn of_parts(
        shell: &Value,
        embedded: &[&'c Embedded],
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<Self, PaperError> {
        let Shell { node, holder } = Shell::read(&jsonld::parse_paper(shell, limits)?)?;
        let graphs = labels(embedded.len());
        let quads = own_quads(node.as_ref(), holder.as_deref(), &graphs);
        let sizes: Vec<&Size> =
            embedded.iter().map(|one| one.size.as_ref()).collect::<Result<_, _>>().map_err(Clone::clone)?;
        check_size_with(&quads, sizes, limits)?;
        let parts: Vec<_> = graphs.into_iter().zip(embedded.iter().map(|one| &one.part)).collect();
        let dataset = Composite { own: &quads, parts: &parts };
        let canonical = canon::composite(dataset, HashAlgorithm::Sha256, budget)?;
        Ok(Self { holder, quads, parts, canonical })
    }

    fn dataset(&self) -> Composite<'_> {
        Composite { own: &self.quads, parts: &self.parts }
    }

    /// Any other: its graph is read whole, and must be what its parts say.
    fn compared(
        members: &Map<String, Value>,
        credentials: &[Arc<Credential>],
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<Self, PaperError> {
        let quads = jsonld::parse_paper(&without_proof(members), limits)?;
        let canonical = canon::quads(&quads, HashAlgorithm::Sha256, budget)?;
        let Shell { node, holder } = Shell::read(&quads)?;
        let agreed = as_read(node.as_ref(), holder.as_deref(), credentials);
        if canon::quads(&agreed, HashAlgorithm::Sha256, budget)? != canonical {
            return Err(PaperError::malformed(
                "the presentation's graph is not just its holder and the credentials as each reads alone",
            ));
        }
        Ok(Self { holder, quads, parts: Vec::new(), canonical })
    }
}

/// A credential of a recognised form as it stands in a presentation: a fact about its octets.
#[derive(Debug, Clone)]
pub(crate) struct Embedded {
    part: Part,
    /// What its quads take of the limits, or that they take too much.
    size: Result<Size, RdfError>,
}

impl Embedded {
    pub(super) fn new(credential: &Credential, limits: &Limits) -> Self {
        let graph = BlankNode::new_unchecked("c");
        let mut quads = Vec::new();
        insert_credential(&mut quads, &graph, credential);
        Self { part: Part::new(&quads, &graph), size: check_size(&quads, limits) }
    }

    /// The octets that it takes in memory, about.
    pub(super) fn octets(&self) -> usize {
        self.part.octets()
    }
}

/// Where a presentation is of the recognised form: the quads that its parts make, and the canonical form that is made
/// without them, unless the budget is spent.
#[cfg(test)]
pub(crate) fn quads_of_parts(document: &Value) -> Option<(Vec<Quad>, Option<String>)> {
    let limits = Limits::default();
    let mut budget = Budget::new(&limits);
    let papers = embedded(document).ok()?;
    let read = |paper: &&Value| Credential::read(paper, &limits, &mut budget).ok().map(Arc::new);
    let credentials: Vec<_> = papers.iter().map(read).collect::<Option<_>>()?;
    let (shell, embedded) = plain_shell(document.as_object()?, &credentials)?;
    let Shell { node, holder } = Shell::read(&jsonld::parse_paper(&shell, &limits).ok()?).ok()?;
    let quads = as_read(node.as_ref(), holder.as_deref(), &credentials);
    let whole = Whole::of_parts(&shell, &embedded, &limits, &mut Budget::new(&limits));
    Some((quads, whole.ok().map(|whole| whole.canonical)))
}

fn without_proof(members: &Map<String, Value>) -> Value {
    members
        .iter()
        .filter(|(name, _)| *name != "proof")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A presentation's own node, and its holder.
struct Shell {
    node: NamedOrBlankNode,
    holder: Option<String>,
}

impl Shell {
    /// Reads both from the default graph.
    ///
    /// # Errors
    /// `MALFORMED`
    fn read(quads: &[Quad]) -> Result<Self, PaperError> {
        let own = quads.iter().filter(|quad| quad.graph_name.is_default_graph());
        let own: Graph = own.map(|quad| TripleRef::from(quad.as_ref())).collect();
        let node = NodeView::only_instance(&own, cred::VERIFIABLE_PRESENTATION)?;
        let holder = match node.at_most_one(cred::HOLDER)? {
            None => None,
            Some(holder) => {
                Some(as_iri(holder).ok_or_else(|| PaperError::malformed("the holder is not an IRI"))?)
            }
        };
        Ok(Self { node: owned(node.node()), holder })
    }
}

/// The presentation without credentials and proofs, and those credentials, where it is of the recognised form: nothing
/// but the VC v2 context, its id, its type, its holder, and credentials of such a form. Nothing in it then changes what
/// a credential says.
fn plain_shell<'c>(
    members: &Map<String, Value>,
    credentials: &'c [Arc<Credential>],
) -> Option<(Value, Vec<&'c Embedded>)> {
    let embedded = credentials.iter().map(|credential| credential.embedded.as_ref());
    let embedded: Vec<&Embedded> = embedded.collect::<Option<_>>()?;
    let is_just = |value: &Value, text: &str| match value {
        Value::Array(items) => matches!(items.as_slice(), [only] if only == text),
        single => single == text,
    };
    let mut shell = Map::new();
    for (name, value) in members {
        let is_plain = match name.as_str() {
            "@context" => is_just(value, cred::CONTEXT_V2),
            "type" => is_just(value, "VerifiablePresentation"),
            "id" | "holder" => value.is_string(),
            "verifiableCredential" | "proof" => continue,
            _ => false,
        };
        if !is_plain {
            return None;
        }
        shell.insert(name.clone(), value.clone());
    }
    shell.contains_key("type").then_some((Value::Object(shell), embedded))
}

/// The embedded credentials, at least one. That each is an object is for its own reading.
fn embedded(document: &Value) -> Result<Vec<&Value>, PaperError> {
    let papers: Vec<&Value> = match document.get("verifiableCredential") {
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
fn check_limits(own_proofs: usize, papers: &[&Value], limits: &Limits) -> Result<(), PaperError> {
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
    if own_proofs.saturating_add(of_credentials) > limits.proofs {
        return Err(PaperError::new(Reason::LimitExceeded, "more proofs than are judged"));
    }
    Ok(())
}

/// The quads of a presentation that says nothing but its holder and these credentials.
fn as_read(
    node: NamedOrBlankNodeRef<'_>,
    holder: Option<&str>,
    credentials: &[Arc<Credential>],
) -> Vec<Quad> {
    let graphs = labels(credentials.len());
    let mut quads = own_quads(node, holder, &graphs);
    for (graph, credential) in graphs.iter().zip(credentials) {
        insert_credential(&mut quads, graph, credential);
    }
    quads
}

/// The labels of the credentials' graphs.
fn labels(credentials: usize) -> Vec<BlankNode> {
    (0..credentials).map(|place| BlankNode::new_unchecked(format!("c{place}"))).collect()
}

/// The quads of a presentation's own node.
fn own_quads(node: NamedOrBlankNodeRef<'_>, holder: Option<&str>, graphs: &[BlankNode]) -> Vec<Quad> {
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
    for graph in graphs {
        own(cred::HAS_CREDENTIAL, graph.clone().into());
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
