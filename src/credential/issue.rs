//! Making papers: keys, mandates and presentations (`writgate key new`, `mandate issue`, `mandate present`).
//!
//! What is made here is read back and verified by the reader of the decision path before it is given out.

use super::content_digest;
use super::controller::{KeySource, Relationship, VerificationMethod};
use super::data_integrity::{self, DocumentHash, Suite};
pub use super::issue_jose::{issue_mandate_jose, present_jose};
use super::key::{self, KeyType, PublicKey};
use super::node_object::{self, PolicySource};
use super::presentation_graph::Presentation;
pub use super::status::Purpose as StatusPurpose;
use super::{ControllerDocuments, Credential, PaperError, date_time};
use crate::limits::Limits;
use crate::message::Digest;
use crate::message::digest::jcs;
use crate::rdf::canon::{self, HashAlgorithm};
use crate::rdf::{Budget, RdfMediaType, jsonld};
use crate::request::Instant;
use crate::vocab::{cred, svc};
use ed25519_dalek::Signer;
use serde_json::{Map, Value, json};
use std::fmt;

/// The multicodec of an Ed25519 secret key, 0x1300, as its minimal varint.
const ED25519_SECRET: [u8; 2] = [0x80, 0x26];
/// The multicodec of a P-256 secret key, 0x1306, as its minimal varint.
const P256_SECRET: [u8; 2] = [0x86, 0x26];
/// The multicodec of a P-384 secret key, 0x1307, as its minimal varint.
const P384_SECRET: [u8; 2] = [0x87, 0x26];
/// A Multikey of 34 octets is shorter.
const MULTIKEY_CHARS: usize = 80;

/// Why a key or paper was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IssueError {
    /// The system gave no randomness.
    #[error("the system gave no randomness")]
    NoRandomness,
    /// A key file that is not one.
    #[error("key: {0}")]
    Key(&'static str),
    /// A policy that cannot be embedded or referred to.
    #[error("policy: {0}")]
    Policy(&'static str),
    /// What was asked for would not be read by our own verifier.
    #[error("the paper would be refused: {0}")]
    Refused(String),
}

impl From<PaperError> for IssueError {
    fn from(error: PaperError) -> Self {
        let detail = error.evidence.detail.unwrap_or_default();
        Self::Refused(format!("{} ({detail})", error.reason.as_str()))
    }
}

impl From<crate::rdf::RdfError> for IssueError {
    fn from(error: crate::rdf::RdfError) -> Self {
        PaperError::from(error).into()
    }
}

/// A key that signs papers, and whose it is: its did:key's, unless another controller is set.
#[derive(Clone)]
pub struct SigningKey {
    secret: Secret,
    controller: String,
    method: String,
}

impl SigningKey {
    /// A new Ed25519 key from the system's randomness.
    ///
    /// # Errors
    /// [`IssueError::NoRandomness`]
    pub fn generate() -> Result<Self, IssueError> {
        Self::generate_of(KeyType::Ed25519)
    }

    /// A new key of a type from the system's randomness.
    ///
    /// # Errors
    /// [`IssueError::NoRandomness`]
    pub fn generate_of(key_type: KeyType) -> Result<Self, IssueError> {
        let mut octets = [0; 48];
        let octets = octets.get_mut(..key_type.secret_octets()).ok_or(IssueError::NoRandomness)?;
        // A random number is a secret of an EC curve unless it is zero or beyond the order: next to never.
        for _ in 0..8 {
            getrandom::fill(octets).map_err(|_| IssueError::NoRandomness)?;
            if let Ok(secret) = Secret::from_octets(key_type, octets) {
                return Ok(Self::of_secret(secret));
            }
        }
        Err(IssueError::NoRandomness)
    }

    /// The Ed25519 key of a 32-octet seed (RFC 8032 5.1.5).
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self::of_secret(Secret::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// The key of a secret: a 32-octet seed of Ed25519 (RFC 8032 5.1.5), or a scalar of P-256 (32 octets) or P-384 (48),
    /// big-endian.
    ///
    /// # Errors
    /// [`IssueError::Key`] for another length, zero, or a scalar not below the curve's order.
    pub fn from_secret(key_type: KeyType, octets: &[u8]) -> Result<Self, IssueError> {
        Secret::from_octets(key_type, octets).map(Self::of_secret)
    }

    fn of_secret(secret: Secret) -> Self {
        let multikey = secret.public_multikey();
        let controller = format!("{}{multikey}", key::DID_KEY);
        let method = format!("{controller}#{multikey}");
        Self { secret, controller, method }
    }

    /// The same key as a verification method of another controller, whose document must list it.
    #[must_use]
    pub fn with_controller(self, controller: impl Into<String>, method: impl Into<String>) -> Self {
        Self { controller: controller.into(), method: method.into(), ..self }
    }

    /// Reads a key file as [`SigningKey::to_json`] writes it.
    ///
    /// # Errors
    /// [`IssueError::Key`]
    pub fn from_json(file: &Value) -> Result<Self, IssueError> {
        let file = file.as_object().ok_or(IssueError::Key("a key file is a JSON object"))?;
        let text = |name: &str| file.get(name).and_then(Value::as_str);
        if file.keys().any(|name| !KEY_MEMBERS.contains(&name.as_str())) || text("type") != Some("Multikey") {
            return Err(IssueError::Key("a key file is a Multikey with its secret and nothing else"));
        }
        let (Some(method), Some(controller)) = (text("id"), text("controller")) else {
            return Err(IssueError::Key("a key file has an id and a controller"));
        };
        let octets = text("secretKeyMultibase")
            .and_then(|secret| key::decode_base58btc(secret, MULTIKEY_CHARS))
            .ok_or(IssueError::Key("secretKeyMultibase is not `z` and base58btc"))?;
        let (codec, secret) = octets.split_first_chunk::<2>().ok_or(NO_SECRET)?;
        let key_type = match *codec {
            ED25519_SECRET => KeyType::Ed25519,
            P256_SECRET => KeyType::P256,
            P384_SECRET => KeyType::P384,
            _ => return Err(NO_SECRET),
        };
        let key = Self::from_secret(key_type, secret)?.with_controller(controller, method);
        if text("publicKeyMultibase") != Some(key.public_key_multibase().as_str()) {
            return Err(IssueError::Key("publicKeyMultibase is not the secret key's"));
        }
        Ok(key)
    }

    /// The key file: a Multikey with its secret.
    pub fn to_json(&self) -> Value {
        let secret = self.secret.multikey();
        json!({
            "id": self.method,
            "type": "Multikey",
            "controller": self.controller,
            "publicKeyMultibase": self.public_key_multibase(),
            "secretKeyMultibase": secret,
        })
    }

    /// The public key as a Multikey.
    pub fn public_key_multibase(&self) -> String {
        self.secret.public_multikey()
    }

    /// Its type: which suites and algorithms it signs for.
    pub fn key_type(&self) -> KeyType {
        self.public_key().key_type()
    }

    /// The did:key of the public key.
    pub fn did_key(&self) -> String {
        format!("{}{}", key::DID_KEY, self.public_key_multibase())
    }

    /// The IRI of the did:key's one verification method.
    pub fn did_key_method(&self) -> String {
        format!("{}#{}", self.did_key(), self.public_key_multibase())
    }

    /// The public key, for verifying.
    pub(crate) fn public_key(&self) -> PublicKey {
        self.secret.public_key()
    }

    /// Whose key it is: issuer of what it issues, holder of what it presents.
    pub fn controller(&self) -> &str {
        &self.controller
    }

    /// The IRI of its verification method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// A controlled identifier document that lists the key for issuing and presenting.
    pub fn controller_document(&self) -> Value {
        json!({
            "@context": ["https://www.w3.org/ns/cid/v1"],
            "id": self.controller,
            "verificationMethod": [{
                "id": self.method,
                "type": "Multikey",
                "controller": self.controller,
                "publicKeyMultibase": self.public_key_multibase(),
            }],
            "assertionMethod": [self.method],
            "authentication": [self.method],
        })
    }

    /// Signs octets: Ed25519, or ECDSA with the curve's hash as r then s.
    pub(crate) fn sign(&self, octets: &[u8]) -> Vec<u8> {
        self.secret.sign(octets)
    }
}

const KEY_MEMBERS: [&str; 5] = ["id", "type", "controller", "publicKeyMultibase", "secretKeyMultibase"];

impl fmt::Debug for SigningKey {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("method", &self.method).finish_non_exhaustive()
    }
}

const NO_SECRET: IssueError =
    IssueError::Key("secretKeyMultibase is no secret key of a type that is known here");

/// A secret of each type that papers are signed with.
#[derive(Clone)]
enum Secret {
    Ed25519(ed25519_dalek::SigningKey),
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
}

impl Secret {
    fn from_octets(key_type: KeyType, octets: &[u8]) -> Result<Self, IssueError> {
        // The curves' crates pad a shorter secret.
        if octets.len() != key_type.secret_octets() {
            return Err(IssueError::Key("a secret key of another length than its type's"));
        }
        match key_type {
            KeyType::Ed25519 => octets.try_into().ok().map(Self::Ed25519),
            KeyType::P256 => p256::ecdsa::SigningKey::from_slice(octets).ok().map(Self::P256),
            KeyType::P384 => p384::ecdsa::SigningKey::from_slice(octets).ok().map(Self::P384),
        }
        .ok_or(IssueError::Key("not a secret key of its type"))
    }

    fn public_key(&self) -> PublicKey {
        match self {
            Self::Ed25519(secret) => PublicKey::Ed25519(secret.verifying_key()),
            Self::P256(secret) => PublicKey::P256(*secret.verifying_key()),
            Self::P384(secret) => PublicKey::P384(*secret.verifying_key()),
        }
    }

    fn public_multikey(&self) -> String {
        self.public_key().to_multikey()
    }

    fn multikey(&self) -> String {
        let octets = match self {
            Self::Ed25519(secret) => [&ED25519_SECRET[..], secret.as_bytes()].concat(),
            Self::P256(secret) => [&P256_SECRET[..], &secret.to_bytes()].concat(),
            Self::P384(secret) => [&P384_SECRET[..], &secret.to_bytes()].concat(),
        };
        key::encode_base58btc(&octets)
    }

    fn sign(&self, octets: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(secret) => secret.sign(octets).to_vec(),
            Self::P256(secret) => Signer::<p256::ecdsa::Signature>::sign(secret, octets).to_vec(),
            Self::P384(secret) => Signer::<p384::ecdsa::Signature>::sign(secret, octets).to_vec(),
        }
    }
}

/// What a mandate says. Its issuer, and so its subject, is the controller of the key that signs it.
#[derive(Debug, Clone)]
pub struct Mandate<'a> {
    /// The credential's IRI; `None`: a `urn:uuid` made from the content.
    pub id: Option<String>,
    /// `svc:authorizes`: the agent that may act.
    pub delegate: String,
    /// `svc:policy`
    pub policy: MandatePolicy<'a>,
    /// `svc:action`: IRIs or short names.
    pub actions: Vec<String>,
    /// `svc:target`: IRIs.
    pub targets: Vec<String>,
    /// The first instant at which it is good.
    pub valid_from: Option<Instant>,
    /// The last instant at which it is good.
    pub valid_until: Option<Instant>,
    /// Where it can be taken back.
    pub status: Option<MandateStatus>,
}

/// A mandate's place in a Bitstring Status List of its issuer's (`mandate.md` 5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MandateStatus {
    /// The URL of the status list credential.
    pub list: String,
    /// The index in it, which no other mandate has.
    pub index: usize,
    /// What a set bit means.
    pub purpose: StatusPurpose,
}

/// How a mandate carries its policy.
#[derive(Debug, Clone, Copy)]
pub enum MandatePolicy<'a> {
    /// The policy becomes part of the signed graph. Its document must be a tree: one policy node from which everything
    /// else is reached, and no blank node reached twice.
    Embedded {
        /// The policy document.
        text: &'a str,
        /// `text/turtle` or `application/ld+json`.
        media_type: &'a str,
    },
    /// The signed credential has the policy's IRI and a digest over its document's octets.
    Reference {
        /// The policy's IRI.
        iri: &'a str,
        /// The policy document.
        text: &'a str,
        /// `text/turtle` or `application/ld+json`.
        media_type: &'a str,
        /// How the digest is written.
        digest: DigestForm,
    },
}

/// How the digest of a policy document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestForm {
    /// `digestMultibase`: a SHA-256 multihash in base58btc.
    Multibase,
    /// `digestSRI`: `sha256-` and base64.
    Sri,
}

/// Issues an `AgentAuthorizationCredential`, signed at `created`.
///
/// # Errors
/// [`IssueError`]; what our own verifier would not take is not given out.
pub fn issue_mandate(key: &SigningKey, mandate: &Mandate<'_>, created: Instant) -> Result<Value, IssueError> {
    let limits = Limits::default();
    let mut budget = Budget::new(&limits);
    let mut document = mandate_document(key, mandate, &limits)?;
    let id = match &mandate.id {
        Some(id) => id.clone(),
        None => content_id(&document)?,
    };
    document.insert("id".to_owned(), id.into());
    let options = proof_options(key, "assertionMethod", created);
    let signed = secure(key, document, options, &limits, &mut budget)?;
    let credential = Credential::read(&signed, &limits, &mut budget)?;
    let method = own_method(key, created, Relationship::AssertionMethod)?;
    for statement in credential.securing.statements()? {
        statement.verify(&method.key)?;
    }
    Ok(signed)
}

/// What a presentation answers.
#[derive(Debug, Clone, Copy)]
pub struct Presenting<'a> {
    /// The server's challenge, or the bound challenge made from it (see [`super::bound_challenge`]).
    pub challenge: &'a str,
    /// The server's domain.
    pub domain: &'a str,
    /// Now, by the holder's clock.
    pub created: Instant,
    /// When the proof ends, if earlier than the server's own bound.
    pub expires: Option<Instant>,
}

/// Presents credentials under the controller of the key as holder.
///
/// # Errors
/// [`IssueError`]; what our own verifier would not read is not given out.
pub fn present(
    key: &SigningKey,
    credentials: &[Value],
    presenting: &Presenting<'_>,
) -> Result<Value, IssueError> {
    let limits = Limits::default();
    let mut budget = Budget::new(&limits);
    let document = json!({
        "@context": [cred::CONTEXT_V2],
        "type": ["VerifiablePresentation"],
        "holder": key.controller,
        "verifiableCredential": credentials,
    });
    let mut options = proof_options(key, "authentication", presenting.created);
    options.insert("challenge".to_owned(), presenting.challenge.into());
    options.insert("domain".to_owned(), presenting.domain.into());
    if let Some(expires) = presenting.expires {
        options.insert("expires".to_owned(), date_time::write(expires).into());
    }
    let Value::Object(document) = document else {
        return Err(IssueError::Refused("a presentation is an object".to_owned()));
    };
    let signed = secure(key, document, options, &limits, &mut budget)?;
    let presentation = Presentation::read(&signed, &limits, &mut budget)?;
    let method = own_method(key, presenting.created, Relationship::Authentication)?;
    presentation.securing.only_statement()?.verify(&method.key)?;
    Ok(signed)
}

/// The key as a verifier would find it.
pub(super) fn own_method(
    key: &SigningKey,
    now: Instant,
    relationship: Relationship,
) -> Result<VerificationMethod, IssueError> {
    let mut documents = ControllerDocuments::default();
    documents.insert(key.controller.clone(), key.controller_document(), now);
    KeySource { documents: &documents, now, max_age: chrono::TimeDelta::zero() }
        .find(&key.controller, &key.method, relationship)
        .map_err(|_| IssueError::Key("the key's method is not its controller's"))
}

/// The credential without id and proof.
pub(crate) fn mandate_document(
    key: &SigningKey,
    mandate: &Mandate<'_>,
    limits: &Limits,
) -> Result<Map<String, Value>, IssueError> {
    let mut subject = Map::new();
    subject.insert("id".to_owned(), key.controller.clone().into());
    subject.insert("authorizes".to_owned(), mandate.delegate.clone().into());
    insert_all(&mut subject, "action", mandate.actions.iter().map(|action| name_or_iri(action)));
    insert_all(&mut subject, "target", mandate.targets.iter().map(|target| target.clone().into()));
    let mut document = Map::new();
    document.insert("@context".to_owned(), json!([cred::CONTEXT_V2, mandate_context()]));
    document.insert("type".to_owned(), json!(["VerifiableCredential", "AgentAuthorizationCredential"]));
    document.insert("issuer".to_owned(), key.controller.clone().into());
    for (member, instant) in [("validFrom", mandate.valid_from), ("validUntil", mandate.valid_until)] {
        if let Some(instant) = instant {
            document.insert(member.to_owned(), date_time::write(instant).into());
        }
    }
    if let Some(MandateStatus { list, index, purpose }) = &mandate.status {
        let entry = json!({
            "type": "BitstringStatusListEntry",
            "statusPurpose": purpose.name(),
            "statusListIndex": index.to_string(),
            "statusListCredential": list,
        });
        document.insert("credentialStatus".to_owned(), entry);
    }
    let policy = match mandate.policy {
        MandatePolicy::Embedded { text, media_type } => {
            node_object::of_policy(&PolicySource { text, media_type: media_type_of(media_type)? }, limits)?
        }
        MandatePolicy::Reference { iri, text, media_type, digest } => {
            let (member, digest) = match digest {
                DigestForm::Multibase => ("digestMultibase", content_digest::multibase(text.as_bytes())),
                DigestForm::Sri => ("digestSRI", content_digest::sri(text.as_bytes())),
            };
            let media_type = media_type_of(media_type)?.as_str();
            let entry = json!({ "id": iri, member: digest, "mediaType": media_type });
            document.insert("relatedResource".to_owned(), entry);
            iri.into()
        }
    };
    subject.insert("policy".to_owned(), policy);
    document.insert("credentialSubject".to_owned(), subject.into());
    Ok(document)
}

fn media_type_of(text: &str) -> Result<RdfMediaType, IssueError> {
    RdfMediaType::parse(text).ok_or(IssueError::Policy("the media type is not one of RDF that is read here"))
}

/// The terms of Agent Authorization Credentials, as an inline context.
fn mandate_context() -> Value {
    json!({
        "AgentAuthorizationCredential": svc::AGENT_AUTHORIZATION_CREDENTIAL,
        "authorizes": { "@id": svc::AUTHORIZES, "@type": "@id" },
        "policy": { "@id": svc::POLICY, "@type": "@id" },
        "action": { "@id": svc::ACTION },
        "target": { "@id": svc::TARGET, "@type": "@id" },
    })
}

fn name_or_iri(action: &str) -> Value {
    if action.contains(':') { json!({ "@id": action }) } else { action.into() }
}

fn insert_all(object: &mut Map<String, Value>, member: &str, values: impl Iterator<Item = Value>) {
    let values: Vec<Value> = values.collect();
    if !values.is_empty() {
        object.insert(member.to_owned(), values.into());
    }
}

/// A name made from what is named: the same mandate issued twice is one credential.
pub(super) fn content_id(document: &Map<String, Value>) -> Result<String, IssueError> {
    let octets = jcs(document).map_err(|_| IssueError::Refused("not JSON".to_owned()))?;
    let digest = Digest::of(octets);
    let (head, _) = digest.as_bytes().split_at(16);
    let head: [u8; 16] =
        head.try_into().map_err(|_| IssueError::Refused("a digest is too short".to_owned()))?;
    Ok(format!("urn:uuid:{}", uuid::Builder::from_custom_bytes(head).into_uuid()))
}

pub(crate) fn proof_options(key: &SigningKey, purpose: &str, created: Instant) -> Map<String, Value> {
    [
        ("type", "DataIntegrityProof".to_owned()),
        ("cryptosuite", Suite::of(key.key_type()).name().to_owned()),
        ("created", date_time::write(created)),
        ("verificationMethod", key.method.clone()),
        ("proofPurpose", purpose.to_owned()),
    ]
    .into_iter()
    .map(|(member, value)| (member.to_owned(), value.into()))
    .collect()
}

/// Signs a document under proof options and adds the proof.
pub(crate) fn secure(
    key: &SigningKey,
    mut document: Map<String, Value>,
    mut options: Map<String, Value>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Value, IssueError> {
    let context = document.get("@context").cloned().unwrap_or_default();
    let unsecured = jsonld::parse_paper(&Value::Object(document.clone()), limits)?;
    let digest = Digest::of(canon::quads(&unsecured, HashAlgorithm::Sha256, budget)?);
    let dataset = data_integrity::options(&options, &context, limits)?;
    let signed = DocumentHash::new(digest, &unsecured)
        .signed_octets(key.key_type(), &dataset, budget)?
        .ok_or_else(|| IssueError::Refused("no hash of the document for the key".to_owned()))?;
    options.insert("proofValue".to_owned(), key::encode_base58btc(&key.sign(&signed)).into());
    document.insert("proof".to_owned(), options.into());
    Ok(Value::Object(document))
}
