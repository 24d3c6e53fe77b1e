//! Data Integrity proofs (`eddsa-rdfc-2022`): what is signed, and what the signed options say (`mandate.md` 1, 2).

use super::PaperError;
use super::key::{KeyType, PublicKey, decode_base58btc};
use super::node::{NodeView, as_iri, as_text};
use crate::limits::Limits;
use crate::message::Digest;
use crate::rdf::canon::{self, HashAlgorithm};
use crate::rdf::{Budget, RdfError, jsonld};
use crate::refusal::Reason;
use crate::request::Instant;
use crate::vocab::{dcterms, rdf, sec};
use oxrdf::{Graph, Quad, TripleRef};
use serde_json::{Map, Value};

/// 64 octets in base58btc are at most this long. Decoding is quadratic, so the bound comes first.
const PROOF_VALUE_CHARS: usize = 90;

/// The suites that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// `eddsa-rdfc-2022`
    EddsaRdfc2022,
    /// No suite: a JWS, by the one algorithm of this key type.
    Jose(KeyType),
}

/// What a proof is made for: it settles which options may be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProofOf {
    Credential,
    Presentation,
}

/// A paper taken apart: the document that is signed, and its proofs.
#[derive(Debug)]
pub(crate) struct Secured {
    pub(crate) context: Value,
    /// The document without `proof`.
    pub(crate) unsecured: Value,
    pub(crate) proofs: Vec<Map<String, Value>>,
}

/// One proof.
#[derive(Debug, Clone)]
pub(crate) struct Proof {
    /// The graph of its options.
    pub(crate) options: Graph,
    /// Its `proofValue`, as text.
    pub(crate) value: Option<String>,
    /// What the options say; `None` for a proof of a kind that is not accepted here.
    pub(crate) statement: Option<Statement>,
}

/// What the signed options of an accepted suite say.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) suite: Suite,
    pub(crate) verification_method: String,
    /// The whole IRI of the purpose.
    pub(crate) purpose: String,
    pub(crate) created: Option<Instant>,
    pub(crate) expires: Option<Instant>,
    pub(crate) challenge: Option<String>,
    pub(crate) domain: Option<String>,
    /// hash(options) then hash(document): the signed octets.
    pub(crate) signed: Vec<u8>,
    /// The decoded signature, or why it cannot be one.
    pub(crate) signature: Result<Vec<u8>, &'static str>,
}

impl Secured {
    /// Takes `proof` off a paper.
    ///
    /// # Errors
    /// `MALFORMED` for what is not an object, has no `@context` (it is not of this profile), or has a `proof` that is
    /// neither an object nor an array of objects.
    pub(crate) fn split(document: &Value) -> Result<Self, PaperError> {
        let mut members = match document {
            Value::Object(members) => members.clone(),
            _ => return Err(PaperError::malformed("a paper is a JSON object")),
        };
        let context = match members.get("@context") {
            Some(context) => context.clone(),
            None => return Err(PaperError::malformed("a paper without @context is not JSON-LD")),
        };
        let proofs = proof_objects(members.remove("proof"))?;
        Ok(Self { context, unsecured: Value::Object(members), proofs })
    }
}

/// The proofs of a paper's member `proof`.
///
/// # Errors
/// `MALFORMED` for what is neither an object nor an array of objects.
pub(super) fn proof_objects(member: Option<Value>) -> Result<Vec<Map<String, Value>>, PaperError> {
    match member {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => items.into_iter().map(proof_object).collect(),
        Some(one) => Ok(vec![proof_object(one)?]),
    }
}

fn proof_object(value: Value) -> Result<Map<String, Value>, PaperError> {
    match value {
        Value::Object(proof) => Ok(proof),
        _ => Err(PaperError::malformed("a proof is an object")),
    }
}

impl Proof {
    /// Reads a proof from the graph of its options: its object without `proofValue`, under the document's `@context`.
    ///
    /// # Errors
    /// `MALFORMED`, `REMOTE_CONTEXT`, `LIMIT_EXCEEDED`. A suite or a signature that will not do is no error yet.
    pub(crate) fn read(
        proof: &Map<String, Value>,
        context: &Value,
        document: Digest,
        proof_of: ProofOf,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<Self, PaperError> {
        if proof.contains_key("@context") {
            return Err(PaperError::malformed("a proof has no @context of its own"));
        }
        let value = proof.get("proofValue").and_then(Value::as_str).map(str::to_owned);
        let quads = match options(proof, context, limits) {
            Ok(quads) => quads,
            Err(RdfError::Malformed(_)) if is_of_another_kind(proof) => {
                return Ok(Self { options: Graph::new(), value, statement: None });
            }
            Err(error) => return Err(error.into()),
        };
        Self::of_options(&quads, value, document, proof_of, budget)
    }

    /// Reads a proof from the quads of its options.
    ///
    /// # Errors
    /// `MALFORMED`, `LIMIT_EXCEEDED`.
    pub(super) fn of_options(
        quads: &[Quad],
        value: Option<String>,
        document: Digest,
        proof_of: ProofOf,
        budget: &mut Budget,
    ) -> Result<Self, PaperError> {
        let options = default_graph(quads)?;
        let node = only_subject(&options)?;
        let statement = match suite(&node)? {
            None => None,
            Some(suite) => {
                let signed = signed_octets(quads, document, budget)?;
                Some(Statement::read(&node, suite, proof_of, signed, value.as_deref())?)
            }
        };
        Ok(Self { options, value, statement })
    }

    /// An option that is one plain text, of an accepted suite or not.
    pub(crate) fn text(&self, predicate: &'static str) -> Option<String> {
        only_subject(&self.options).ok()?.optional_text(predicate).ok()?
    }

    fn accepted(&self) -> Result<&Statement, PaperError> {
        self.statement
            .as_ref()
            .ok_or_else(|| PaperError::new(Reason::UnknownCryptosuite, "a proof is not eddsa-rdfc-2022"))
    }
}

impl Statement {
    fn read(
        node: &NodeView<'_>,
        suite: Suite,
        proof_of: ProofOf,
        signed: Vec<u8>,
        value: Option<&str>,
    ) -> Result<Self, PaperError> {
        node.optional_text(sec::NONCE)?;
        let signature = if says_more(node, proof_of) {
            Err("the proof says more than this profile signs")
        } else {
            signature(value)
        };
        Ok(Self {
            suite,
            verification_method: node.one_iri(sec::VERIFICATION_METHOD)?,
            purpose: node.one_iri(sec::PROOF_PURPOSE)?,
            created: node.optional_instant(dcterms::CREATED)?,
            expires: node.optional_instant(sec::EXPIRATION)?,
            challenge: node.optional_text(sec::CHALLENGE)?,
            domain: node.optional_text(sec::DOMAIN)?,
            signed,
            signature,
        })
    }

    /// Checks the signature with the method's key.
    ///
    /// # Errors
    /// `INVALID_SIGNATURE`
    pub(crate) fn verify(&self, key: &PublicKey) -> Result<(), PaperError> {
        let invalid = |detail| Err(PaperError::new(Reason::InvalidSignature, detail));
        let of_suite = match self.suite {
            Suite::EddsaRdfc2022 => KeyType::Ed25519,
            Suite::Jose(key_type) => key_type,
        };
        match &self.signature {
            Err(why) => invalid(*why),
            Ok(_) if key.key_type() != of_suite => invalid("the key is of another type than the suite's"),
            Ok(signature) if key.verifies(&self.signed, signature) => Ok(()),
            Ok(_) => invalid("the signature is not the method's over this document"),
        }
    }
}

/// Every proof's statement, if there is at least one proof and all are of an accepted kind.
///
/// # Errors
/// `NO_PROOF`, then `UNKNOWN_CRYPTOSUITE`.
pub(crate) fn statements(proofs: &[Proof]) -> Result<Vec<&Statement>, PaperError> {
    if proofs.is_empty() {
        return Err(no_proof());
    }
    proofs.iter().map(Proof::accepted).collect()
}

/// The statement of the one proof that a presentation has.
///
/// # Errors
/// `MALFORMED` where there are several, `NO_PROOF`, then `UNKNOWN_CRYPTOSUITE`.
pub(crate) fn only_statement(proofs: &[Proof]) -> Result<&Statement, PaperError> {
    match proofs {
        [] => Err(no_proof()),
        [one] => one.accepted(),
        _ => Err(PaperError::malformed("a presentation has exactly one proof")),
    }
}

fn no_proof() -> PaperError {
    PaperError::new(Reason::NoProof, "the paper has no proof")
}

/// The quads of a proof's options: the proof without `proofValue`, under the document's own `@context`.
pub(crate) fn options(
    proof: &Map<String, Value>,
    context: &Value,
    limits: &Limits,
) -> Result<Vec<Quad>, RdfError> {
    let mut options = proof.clone();
    options.remove("proofValue");
    options.insert("@context".to_owned(), context.clone());
    jsonld::parse_paper(&Value::Object(options), limits)
}

/// SHA-256(canonical options) then SHA-256(canonical document).
pub(crate) fn signed_octets(
    options: &[Quad],
    document: Digest,
    budget: &mut Budget,
) -> Result<Vec<u8>, RdfError> {
    let options = Digest::of(canon::quads(options, HashAlgorithm::Sha256, budget)?);
    Ok([options.as_bytes().as_slice(), document.as_bytes().as_slice()].concat())
}

/// The graph of a dataset that is one default graph.
///
/// # Errors
/// `MALFORMED` where there is a named graph.
pub(crate) fn default_graph(quads: &[Quad]) -> Result<Graph, PaperError> {
    if quads.iter().any(|quad| !quad.graph_name.is_default_graph()) {
        return Err(PaperError::malformed("a named graph where none can be"));
    }
    Ok(quads.iter().map(|quad| TripleRef::from(quad.as_ref())).collect())
}

/// The one node that the options speak of.
fn only_subject(options: &Graph) -> Result<NodeView<'_>, PaperError> {
    let mut subjects = options.iter().map(|triple| triple.subject);
    match subjects.next() {
        Some(first) if subjects.all(|subject| subject == first) => Ok(NodeView::new(options, first)),
        _ => Err(PaperError::malformed("the options of a proof speak of one node")),
    }
}

/// The suite that the options name, if they are those of a Data Integrity proof of an accepted suite.
fn suite(node: &NodeView<'_>) -> Result<Option<Suite>, PaperError> {
    if as_iri(node.one(rdf::TYPE)?).as_deref() != Some(sec::DATA_INTEGRITY_PROOF) {
        return Ok(None);
    }
    let cryptosuite = node.one(sec::CRYPTOSUITE)?;
    let name =
        as_text(cryptosuite, sec::CRYPTOSUITE_STRING).or_else(|| as_text(cryptosuite, rdf::XSD_STRING));
    Ok((name.as_deref() == Some("eddsa-rdfc-2022")).then_some(Suite::EddsaRdfc2022))
}

/// Whether the proof has a property beside those of the profile; `previousProof` is one.
fn says_more(node: &NodeView<'_>, proof_of: ProofOf) -> bool {
    const ALWAYS: [&str; 7] = [
        rdf::TYPE,
        sec::CRYPTOSUITE,
        sec::VERIFICATION_METHOD,
        sec::PROOF_PURPOSE,
        dcterms::CREATED,
        sec::EXPIRATION,
        sec::NONCE,
    ];
    node.predicates().any(|predicate| {
        let answers = proof_of == ProofOf::Presentation && [sec::CHALLENGE, sec::DOMAIN].contains(&predicate);
        !(answers || ALWAYS.contains(&predicate))
    })
}

/// Another kind of proof often uses terms that our contexts do not define. Saying so is of more use than `MALFORMED`.
fn is_of_another_kind(proof: &Map<String, Value>) -> bool {
    proof.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "DataIntegrityProof")
}

fn signature(value: Option<&str>) -> Result<Vec<u8>, &'static str> {
    value
        .and_then(|value| decode_base58btc(value, PROOF_VALUE_CHARS))
        .filter(|octets| octets.len() == 64)
        .ok_or("proofValue is not `z` and 64 octets in base58btc")
}
