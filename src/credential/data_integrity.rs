//! Data Integrity proofs (`eddsa-rdfc-2022`, `ecdsa-rdfc-2019`): what is signed, and what the signed options say
//! (`mandate.md` 1, 2).

use super::PaperError;
use super::jose;
use super::key::{KeyType, PublicKey, decode_base58btc};
use super::node::{NodeView, as_iri, as_text};
use crate::limits::Limits;
use crate::message::Digest;
use crate::rdf::canon::{self, Composite, HashAlgorithm};
use crate::rdf::{Budget, RdfError, jsonld};
use crate::refusal::Reason;
use crate::request::Instant;
use crate::vocab::{dcterms, rdf, sec};
use oxrdf::{Graph, Quad, TripleRef};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha384};

/// 96 octets in base58btc are at most this long. Decoding is quadratic, so the bound comes first.
const PROOF_VALUE_CHARS: usize = 132;

/// The suites that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// `eddsa-rdfc-2022`: Ed25519.
    EddsaRdfc2022,
    /// `ecdsa-rdfc-2019`: P-256 or P-384.
    EcdsaRdfc2019,
}

impl Suite {
    /// The suite that keys of a type sign under.
    pub(crate) fn of(key_type: KeyType) -> Self {
        match key_type {
            KeyType::Ed25519 => Self::EddsaRdfc2022,
            KeyType::P256 | KeyType::P384 => Self::EcdsaRdfc2019,
        }
    }

    /// What a proof's `cryptosuite` says.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::EddsaRdfc2022 => "eddsa-rdfc-2022",
            Self::EcdsaRdfc2019 => "ecdsa-rdfc-2019",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::EddsaRdfc2022, Self::EcdsaRdfc2019].into_iter().find(|suite| suite.name() == name)
    }

    /// The one type of key that makes signatures of so many octets. It settles the hash too, before any key is at hand.
    fn key_type(self, octets: usize) -> Option<KeyType> {
        match (self, octets) {
            (Self::EddsaRdfc2022, 64) => Some(KeyType::Ed25519),
            (Self::EcdsaRdfc2019, 64) => Some(KeyType::P256),
            (Self::EcdsaRdfc2019, 96) => Some(KeyType::P384),
            _ => None,
        }
    }
}

/// The hash of a document, as its proofs ask for it: SHA-256, or SHA-384 for P-384, which is computed when the first proof
/// wants it. With the hash of the signature, RDFC-1.0's own changes too (vc-di-ecdsa 3), so that is a second run.
#[derive(Debug)]
pub(crate) struct DocumentHash<'q> {
    sha256: Digest,
    /// `None`: the context-free profile, which has no P-384.
    dataset: Option<Composite<'q>>,
    sha384: Option<[u8; 48]>,
}

impl<'q> DocumentHash<'q> {
    /// Of a document whose SHA-256 is known.
    pub(crate) fn new(sha256: Digest, quads: &'q [Quad]) -> Self {
        Self::of_composite(sha256, Composite { own: quads, parts: &[] })
    }

    /// Of a document that is partly prepared.
    pub(crate) fn of_composite(sha256: Digest, dataset: Composite<'q>) -> Self {
        Self { sha256, dataset: Some(dataset), sha384: None }
    }

    /// Of a document of the context-free profile, which does not know P-384.
    pub(crate) fn sha256_only(sha256: Digest) -> Self {
        Self { sha256, dataset: None, sha384: None }
    }

    /// The datatype of a suite's name in the options (vc-data-integrity 2.1, `mandate.md` 9). It is the one signed mark
    /// of a paper's profile: a context-free paper's quads can be written in JSON-LD by whoever holds it, and must not be a
    /// JSON-LD paper then.
    fn suite_datatype(&self) -> &'static str {
        match self.dataset {
            Some(_) => sec::CRYPTOSUITE_STRING,
            None => rdf::XSD_STRING,
        }
    }

    /// hash(canonical options) then hash(canonical document): what a key of the type signs. `None` where the profile does
    /// not know the type.
    ///
    /// # Errors
    /// [`RdfError::BudgetExceeded`]
    pub(crate) fn signed_octets(
        &mut self,
        key_type: KeyType,
        options: &[Quad],
        budget: &mut Budget,
    ) -> Result<Option<Vec<u8>>, RdfError> {
        match (key_type, self.dataset) {
            (KeyType::Ed25519 | KeyType::P256, _) => {
                let options = Digest::of(canon::quads(options, HashAlgorithm::Sha256, budget)?);
                Ok(Some([options.as_bytes().as_slice(), self.sha256.as_bytes().as_slice()].concat()))
            }
            (KeyType::P384, None) => Ok(None),
            (KeyType::P384, Some(dataset)) => {
                let document = match self.sha384 {
                    Some(known) => known,
                    None => *self.sha384.insert(sha384(dataset, budget)?),
                };
                let options = Composite { own: options, parts: &[] };
                Ok(Some([sha384(options, budget)?, document].concat()))
            }
        }
    }
}

/// SHA-384 of the canonical form that RDFC-1.0 makes with SHA-384.
fn sha384(dataset: Composite<'_>, budget: &mut Budget) -> Result<[u8; 48], RdfError> {
    Ok(Sha384::digest(canon::composite(dataset, HashAlgorithm::Sha384, budget)?).into())
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
    /// Embedded with its document, it reads as it does here.
    pub(crate) recognised: bool,
}

/// What the signed options of an accepted suite say.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) verification_method: String,
    /// The whole IRI of the purpose.
    pub(crate) purpose: String,
    pub(crate) created: Option<Instant>,
    pub(crate) expires: Option<Instant>,
    pub(crate) challenge: Option<String>,
    pub(crate) domain: Option<String>,
    /// The decoded signature, or why it cannot be one.
    pub(crate) signature: Result<Signature, &'static str>,
}

/// A signature of the length that keys of one type make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    key_type: KeyType,
    /// As the type writes it: R and S, or r and s.
    octets: Vec<u8>,
    /// What it must be over: hash(options) then hash(document), or the signing input of a JWS.
    signed: Vec<u8>,
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
        document: &mut DocumentHash<'_>,
        proof_of: ProofOf,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<Self, PaperError> {
        if proof.contains_key("@context") {
            return Err(PaperError::malformed("a proof has no @context of its own"));
        }
        let value = proof.get("proofValue").and_then(Value::as_str).map(str::to_owned);
        let options = match read_options(proof, context, limits) {
            Ok(options) => options,
            Err(RdfError::Malformed(_)) if is_of_another_kind(proof) => {
                return Ok(Self::of_another_kind(Graph::new(), value));
            }
            Err(error) => return Err(error.into()),
        };
        let read = Self::of_options(&options.quads, value, document, proof_of, budget)?;
        // Only the type, by this very name, gives `proofValue` its meaning, and it is left out of the options.
        let is_plain = proof.get("type").and_then(Value::as_str) == Some("DataIntegrityProof");
        let recognised = options.recognised && is_plain && read.value.is_some() && read.statement.is_some();
        Ok(Self { recognised, ..read })
    }

    /// A proof of a kind that is not accepted here.
    pub(super) fn of_another_kind(options: Graph, value: Option<String>) -> Self {
        Self { options, value, statement: None, recognised: false }
    }

    /// Reads a proof from the quads of its options.
    ///
    /// # Errors
    /// `MALFORMED`, `LIMIT_EXCEEDED`.
    pub(super) fn of_options(
        quads: &[Quad],
        value: Option<String>,
        document: &mut DocumentHash<'_>,
        proof_of: ProofOf,
        budget: &mut Budget,
    ) -> Result<Self, PaperError> {
        let options = default_graph(quads)?;
        let node = only_subject(&options)?;
        let statement = match suite(&node, document.suite_datatype())? {
            None => None,
            Some(suite) => {
                let signature = if says_more(&node, proof_of) {
                    Err("the proof says more than this profile signs")
                } else {
                    Signature::read(suite, value.as_deref(), quads, document, budget)?
                };
                Some(Statement::read(&node, signature)?)
            }
        };
        Ok(Self { options, value, statement, recognised: false })
    }

    /// An option that is one plain text, of an accepted suite or not.
    pub(crate) fn text(&self, predicate: &'static str) -> Option<String> {
        only_subject(&self.options).ok()?.optional_text(predicate).ok()?
    }

    fn accepted(&self) -> Result<&Statement, PaperError> {
        self.statement.as_ref().ok_or_else(|| {
            PaperError::new(Reason::UnknownCryptosuite, "a proof is of a suite that is not accepted")
        })
    }
}

impl Statement {
    fn read(node: &NodeView<'_>, signature: Result<Signature, &'static str>) -> Result<Self, PaperError> {
        node.optional_text(sec::NONCE)?;
        Ok(Self {
            verification_method: node.one_iri(sec::VERIFICATION_METHOD)?,
            purpose: node.one_iri(sec::PROOF_PURPOSE)?,
            created: node.optional_instant(dcterms::CREATED)?,
            expires: node.optional_instant(sec::EXPIRATION)?,
            challenge: node.optional_text(sec::CHALLENGE)?,
            domain: node.optional_text(sec::DOMAIN)?,
            signature,
        })
    }

    /// The octets of what it says and is over.
    pub(super) fn octets(&self) -> usize {
        let texts = [Some(&self.verification_method), self.challenge.as_ref(), self.domain.as_ref()];
        let signature =
            self.signature.as_ref().map_or(0, |signature| signature.octets.len() + signature.signed.len());
        texts.into_iter().flatten().map(String::len).sum::<usize>() + signature
    }

    /// The JOSE name of the algorithm that the signature is of; `None` for what cannot be a signature.
    pub(crate) fn algorithm(&self) -> Option<&'static str> {
        self.signature.as_ref().ok().map(|signature| jose::algorithm_of(signature.key_type))
    }

    /// Checks the signature with the method's key.
    ///
    /// # Errors
    /// `INVALID_SIGNATURE`
    pub(crate) fn verify(&self, key: &PublicKey) -> Result<(), PaperError> {
        let invalid = |detail| Err(PaperError::new(Reason::InvalidSignature, detail));
        match &self.signature {
            Err(why) => invalid(*why),
            Ok(signature) if signature.key_type != key.key_type() => {
                invalid("the key is of another type than the suite and the signature's length")
            }
            Ok(signature) if key.verifies(&signature.signed, &signature.octets) => Ok(()),
            Ok(_) => invalid("the signature is not the method's over this document"),
        }
    }
}

impl Signature {
    /// All that decides whether it is the key's, and the key.
    pub(super) fn facts<'f>(&'f self, key: &'f str) -> [&'f [u8]; 3] {
        [key.as_bytes(), &self.octets, &self.signed]
    }

    /// A signature that is to be by a key of the type over `signed`.
    pub(super) fn new(key_type: KeyType, octets: Vec<u8>, signed: Vec<u8>) -> Self {
        Self { key_type, octets, signed }
    }

    /// Reads `proofValue`, and hashes what it must be over.
    ///
    /// # Errors
    /// [`RdfError::BudgetExceeded`]; what cannot be a signature is no error yet.
    fn read(
        suite: Suite,
        value: Option<&str>,
        options: &[Quad],
        document: &mut DocumentHash<'_>,
        budget: &mut Budget,
    ) -> Result<Result<Self, &'static str>, RdfError> {
        let Some(octets) = value.and_then(|value| decode_base58btc(value, PROOF_VALUE_CHARS)) else {
            return Ok(Err("proofValue is not `z` and a signature in base58btc"));
        };
        let Some(key_type) = suite.key_type(octets.len()) else {
            return Ok(Err("the signature is of no length that the suite's keys make"));
        };
        let signed = document.signed_octets(key_type, options, budget)?;
        Ok(signed
            .map(|signed| Self { key_type, octets, signed })
            .ok_or("the signature has the length of a P-384 key's, which this profile does not know"))
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
    read_options(proof, context, limits).map(|options| options.quads)
}

fn read_options(
    proof: &Map<String, Value>,
    context: &Value,
    limits: &Limits,
) -> Result<jsonld::Paper, RdfError> {
    let mut options = proof.clone();
    options.remove("proofValue");
    options.insert("@context".to_owned(), context.clone());
    jsonld::read_paper(&Value::Object(options), limits)
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

/// The suite that the options name, if they are those of a Data Integrity proof of an accepted suite. `datatype` is that
/// of its name.
fn suite(node: &NodeView<'_>, datatype: &str) -> Result<Option<Suite>, PaperError> {
    if as_iri(node.one(rdf::TYPE)?).as_deref() != Some(sec::DATA_INTEGRITY_PROOF) {
        return Ok(None);
    }
    let name = as_text(node.one(sec::CRYPTOSUITE)?, datatype);
    Ok(name.as_deref().and_then(Suite::parse))
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
