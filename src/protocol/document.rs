//! One Protocol Document, loaded, hashed and compiled.

use super::handshake::{ProtocolSource, UpgradeOffer};
use super::review::Reviewed;
use super::{Finding, FindingKind, ProtocolHash};
use crate::limits::Limits;
use crate::rdf::{self, Budget, RdfMediaType};
use crate::shape::CompiledShapes;
use crate::vocab::{a2a, sh};
use oxrdf::vocab::rdf::TYPE;
use oxrdf::{Graph, NamedNode, NamedNodeRef, NamedOrBlankNode, NamedOrBlankNodeRef, TermRef, TripleRef};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How strictly a presentation must be bound to its message under a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    /// A plain challenge is accepted, and the report says `unbound`.
    #[default]
    Accepted,
    /// Only a `wgb1.` challenge, over this very message, is accepted.
    Required,
}

/// What the operator says about a document that is spoken here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolSettings {
    /// The pin.
    pub hash: ProtocolHash,
    /// Action classes that the document may carry, each mapped to the ODRL or WAC action that is judged.
    pub actions: BTreeMap<String, String>,
    /// `a2a:paramKey` values, each mapped to the local name of a stated left operand.
    pub parameters: BTreeMap<String, String>,
    /// Whether a misreading has authorization, financial or data-integrity consequences.
    pub security_bearing: bool,
    /// How strictly a presentation must be bound.
    pub binding: Binding,
    /// Whether our card declares the document, so that it is known to every conversation (PP-7). It needs a `source`.
    pub declared: bool,
    /// What our card and our offers call the document; its IRI if absent.
    pub name: Option<String>,
    /// Where others can fetch the document: what our card and our offers say.
    pub source: Option<ProtocolSource>,
}

/// A document that hashed to its pin and whose shapes compiled.
#[derive(Debug)]
pub struct ProtocolDocument {
    pub(crate) settings: ProtocolSettings,
    /// The document's IRI.
    pub(crate) id: String,
    /// The request shapes; a response shape must not make a request fail.
    pub(crate) request_shapes: CompiledShapes,
    /// The response shapes, where there are any; a request shape must not make a response fail.
    pub(crate) response_shapes: Option<CompiledShapes>,
    /// Predicates on paths of the request shapes: what an intent may say beside the mapping's predicates.
    pub(crate) request_paths: BTreeSet<String>,
    /// What was read, for evidence.
    pub(crate) read_from: ReadFrom,
}

/// A document as it came, and the limits that it was read under.
#[derive(Debug, Clone)]
pub(crate) struct ReadFrom {
    pub(crate) text: Arc<str>,
    pub(crate) media_type: Arc<str>,
    pub(crate) limits: Limits,
}

/// Why a Protocol Document was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The graph does not hash to the pin (`HASH_MISMATCH`).
    #[error("the document's graph hashes to {found}, not to its pin")]
    HashMismatch {
        /// The hash of the graph as it was read.
        found: ProtocolHash,
    },
    /// The document is not a well-formed graph of one Protocol Document, or needs what is outside its graph.
    #[error("{0}")]
    Malformed(String),
    /// The review refuses its shapes: they are not of SHACL Core, do not end, let everything pass, or cost too much.
    #[error("{0}")]
    Shape(String),
}

impl ProtocolDocument {
    /// Reads a document (Turtle or JSON-LD), recomputes its hash, compares it with the pin before any other use, reviews
    /// it ([`Self::review`]), and compiles its shapes. What the review refuses is not loaded.
    ///
    /// # Errors
    /// [`LoadError`]
    pub fn load(
        text: &str,
        media_type: &str,
        settings: ProtocolSettings,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let (graph, found) = read(text, media_type, limits)?;
        if found != settings.hash {
            return Err(LoadError::HashMismatch { found });
        }
        Reviewed::of(&graph, limits).check()?;
        let id =
            the_document(&graph).map_err(|finding| LoadError::Malformed(finding.sentence().to_owned()))?;
        let request = shapes_of(&graph, &id, a2a::REQUEST_SHAPE, &mut Vec::new());
        let response = shapes_of(&graph, &id, a2a::RESPONSE_SHAPE, &mut Vec::new());
        let compile = |shapes: &[NamedOrBlankNode], others: &[NamedOrBlankNode]| {
            CompiledShapes::compile_without(&graph, shapes, others)
                .map_err(|error| LoadError::Shape(error.to_string()))
        };
        let request_shapes = compile(&request, &response)?;
        let response_shapes = if response.is_empty() { None } else { Some(compile(&response, &request)?) };
        let request_paths = request_shapes.paths().clone();
        let read_from = ReadFrom { text: text.into(), media_type: media_type.into(), limits: limits.clone() };
        let id = id.into_string();
        Ok(Self { settings, id, request_shapes, response_shapes, request_paths, read_from })
    }

    /// The hash of a document's graph (HASH-1), read as Turtle or JSON-LD. The hash says nothing about whether the
    /// graph is a Protocol Document.
    ///
    /// # Errors
    /// [`LoadError::Malformed`]
    pub fn hash_of(text: &str, media_type: &str, limits: &Limits) -> Result<ProtocolHash, LoadError> {
        Ok(read(text, media_type, limits)?.1)
    }

    /// The pin.
    pub fn hash(&self) -> &ProtocolHash {
        &self.settings.hash
    }

    /// An offer of the document, as its settings name it. `None` without a source that peers can fetch it from.
    pub fn offer(&self, required: bool) -> Option<UpgradeOffer> {
        Some(UpgradeOffer {
            protocol_hash: self.settings.hash.clone(),
            protocol_source: self.settings.source.clone()?,
            required,
            protocol_name: self.settings.name.clone(),
        })
    }

    /// The document's IRI, which is a label and not its identity.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether the document says what a response must be (`a2a:responseShape`).
    pub fn has_response_shapes(&self) -> bool {
        self.response_shapes.is_some()
    }

    /// What our card and our offers call the document: its configured name, else its IRI.
    pub fn name(&self) -> &str {
        self.settings.name.as_deref().unwrap_or(&self.id)
    }

    /// Where others can fetch the document.
    pub fn source(&self) -> Option<&ProtocolSource> {
        self.settings.source.as_ref()
    }
}

/// Parses a document and hashes its whole graph. The operator's documents are not a message's work: each has a budget
/// of its own.
pub(super) fn read(
    text: &str,
    media_type: &str,
    limits: &Limits,
) -> Result<(Graph, ProtocolHash), LoadError> {
    let malformed = |error: rdf::RdfError| LoadError::Malformed(error.to_string());
    let media_type = RdfMediaType::parse(media_type)
        .ok_or_else(|| LoadError::Malformed("a document is Turtle or JSON-LD".into()))?;
    let graph = rdf::parse_graph(text, media_type, limits).map_err(malformed)?;
    let canonical = rdf::canon::graph(&graph, &mut Budget::new(limits)).map_err(malformed)?;
    Ok((graph, ProtocolHash::of_canonical(&canonical)))
}

/// The one subject typed `a2a:ProtocolDocument`, which is an IRI.
pub(super) fn the_document(graph: &Graph) -> Result<NamedNode, Finding> {
    let class = NamedNodeRef::new_unchecked(a2a::PROTOCOL_DOCUMENT);
    let mut documents = graph.subjects_for_predicate_object(TYPE, class);
    match (documents.next(), documents.next()) {
        (Some(NamedOrBlankNodeRef::NamedNode(id)), None) => Ok(id.into_owned()),
        _ => Err(Finding::new(
            FindingKind::NotOneDocument,
            "the graph does not hold exactly one a2a:ProtocolDocument with an IRI",
        )),
    }
}

/// The document's shapes for one direction. Each must be typed `sh:NodeShape` in this graph (PDM-3).
pub(super) fn shapes_of(
    graph: &Graph,
    id: &NamedNode,
    predicate: &str,
    findings: &mut Vec<Finding>,
) -> Vec<NamedOrBlankNode> {
    let class = NamedNodeRef::new_unchecked(sh::NODE_SHAPE);
    let mut shapes = Vec::new();
    for object in graph.objects_for_subject_predicate(id, NamedNodeRef::new_unchecked(predicate)) {
        let shape: NamedOrBlankNode = match object {
            TermRef::NamedNode(iri) => iri.into_owned().into(),
            TermRef::BlankNode(node) => node.into_owned().into(),
            _ => {
                let why = "a shape of the document is a literal";
                findings.push(Finding::new(FindingKind::ShapeMissing, why));
                continue;
            }
        };
        if !graph.contains(TripleRef::new(&shape, TYPE, class)) {
            let why = "a shape of the document is no sh:NodeShape of its graph";
            findings.push(Finding::new(FindingKind::ShapeMissing, why).about(&shape));
        }
        shapes.push(shape);
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIXES: &str =
        "@prefix a2a: <https://w3id.org/jeswr/a2a#>. @prefix sh: <http://www.w3.org/ns/shacl#>.
        @prefix owl: <http://www.w3.org/2002/07/owl#>. @prefix ex: <https://example.org/>. ";
    const SHAPE: &str = "ex:Request a sh:NodeShape; sh:property [ sh:path ex:name; sh:minCount 1 ]. ";

    /// The hash that the extension prints for its worked document.
    const PUBLISHED: &str = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";

    fn hash(body: &str) -> ProtocolHash {
        let text = format!("{PREFIXES}{body}");
        ProtocolDocument::hash_of(&text, "text/turtle", &Limits::default()).expect("the document is RDF")
    }

    fn settings(hash: ProtocolHash) -> ProtocolSettings {
        ProtocolSettings {
            hash,
            actions: BTreeMap::new(),
            parameters: BTreeMap::new(),
            security_bearing: true,
            binding: Binding::Accepted,
            declared: true,
            name: None,
            source: None,
        }
    }

    /// Loads a document under its own hash.
    fn load(body: &str) -> Result<ProtocolDocument, LoadError> {
        let text = format!("{PREFIXES}{body}");
        ProtocolDocument::load(&text, "text/turtle", settings(hash(body)), &Limits::default())
    }

    fn malformed(body: &str) -> bool {
        matches!(load(body), Err(LoadError::Malformed(_)))
    }

    fn shape_refused(body: &str) -> bool {
        matches!(load(body), Err(LoadError::Shape(_)))
    }

    #[test]
    fn a_document_loads_under_its_hash() {
        let document = load(&format!("ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Request. {SHAPE}"))
            .expect("the document is well-formed");
        assert_eq!(document.id(), "https://example.org/p");
        assert_eq!(document.request_paths, BTreeSet::from(["https://example.org/name".to_owned()]));
    }

    #[test]
    fn another_hash_is_refused_before_the_document_is_looked_at() {
        let other = hash("ex:a ex:b ex:c.");
        let text = format!("{PREFIXES} ex:no ex:document ex:here.");
        let refused = ProtocolDocument::load(&text, "text/turtle", settings(other), &Limits::default());
        assert!(matches!(refused, Err(LoadError::HashMismatch { .. })), "{refused:?}");
    }

    #[test]
    fn a_document_is_exactly_one_subject_with_an_iri() {
        assert!(malformed(SHAPE));
        assert!(malformed(&format!("[] a a2a:ProtocolDocument; a2a:requestShape ex:Request. {SHAPE}")));
        assert!(malformed(&format!(
            "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Request. ex:q a a2a:ProtocolDocument. {SHAPE}"
        )));
    }

    #[test]
    fn a_document_has_a_request_shape_in_its_graph() {
        assert!(malformed(&format!("ex:p a a2a:ProtocolDocument. {SHAPE}")));
        assert!(malformed(&format!("ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Elsewhere. {SHAPE}")));
        assert!(malformed(&format!(
            "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Request, \"x\". {SHAPE}"
        )));
        assert!(malformed(
            "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:S. ex:S sh:property [ sh:path ex:a; sh:minCount 1 ]."
        ));
    }

    #[test]
    fn a_response_shape_must_be_in_the_graph_too() {
        assert!(malformed(&format!(
            "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Request; a2a:responseShape ex:Elsewhere. {SHAPE}"
        )));
    }

    #[test]
    fn a_document_that_imports_is_refused() {
        assert!(shape_refused(&format!(
            "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Request; owl:imports ex:other. {SHAPE}"
        )));
        assert!(shape_refused(&format!(
            "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Request; sh:shapesGraph ex:other. {SHAPE}"
        )));
    }

    #[test]
    fn a_response_shape_judges_no_request() {
        let document = load(&format!(
            "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Request; a2a:responseShape ex:Response. {SHAPE}
             ex:Response a sh:NodeShape; sh:targetClass a2a:Intent; sh:property ex:answer.
             ex:answer a sh:PropertyShape; sh:targetClass a2a:Intent; sh:path ex:answer; sh:minCount 1."
        ))
        .expect("the document is well-formed");
        let data = "<urn:i> a <https://w3id.org/jeswr/a2a#Intent>; <https://example.org/name> \"n\".";
        let data = rdf::parse_graph(data, RdfMediaType::Turtle, &Limits::default()).expect("RDF");
        let focus = NamedNode::new_unchecked("urn:i").into();
        let judged = document.request_shapes.validate_focus(&data, &focus, &Limits::default());
        assert!(matches!(judged, Ok(crate::shape::Validation::Conforms)), "{judged:?}");
    }

    #[test]
    fn only_turtle_and_json_ld_are_read() {
        let refused = ProtocolDocument::hash_of("", "application/n-triples", &Limits::default());
        assert!(matches!(refused, Err(LoadError::Malformed(_))));
    }

    #[test]
    fn turtle_and_json_ld_of_one_graph_have_one_hash() {
        let folder = "vectors/a2a-rdf/cases/pd-hash-stable-across-representations";
        let Some(text) = crate::shape::tests::shared(&format!("{folder}/protocol-document.jsonld")) else {
            return;
        };
        let found =
            ProtocolDocument::hash_of(&text, "application/ld+json", &Limits::default()).expect("JSON-LD");
        assert_eq!(found.as_str(), PUBLISHED);
    }

    #[test]
    fn the_worked_document_has_its_published_hash() {
        let Some(text) =
            crate::shape::tests::shared("vectors/a2a-rdf/cases/intent-valid/protocol-document.ttl")
        else {
            return;
        };
        let pin: ProtocolHash = PUBLISHED.parse().expect("a hash");
        let document = ProtocolDocument::load(&text, "text/turtle", settings(pin), &Limits::default());
        assert!(document.is_ok(), "{document:?}");
    }
}
