//! Credentials in a JWS: `vc+jwt` ("Securing Verifiable Credentials using JOSE and COSE" 3.1.1, `mandate.md` 1).
//!
//! The payload is the credential itself, in JSON-LD. Its claims are read from its graph as those of any JSON-LD paper,
//! but what is signed is octets, so nothing is canonicalized. The registered claims of a JWT may stand beside the
//! credential's members. They repeat a member or narrow it, and never say anything that the members do not.
//!
//! A JWS says nothing about how it is to be verified: the type of the method's key fixes the algorithm, and the header's
//! `alg` must be that one. The header is `alg`, `kid`, `typ` and `cty`, and nothing else.
//!
//! | what is wrong | reason |
//! |---|---|
//! | not three parts; a header or payload that is empty, not canonical unpadded base64url, or not strict JSON (a name twice); a JSON serialization; a detached payload | `MALFORMED` |
//! | `typ` other than `vc+jwt` (`vp+jwt`), or absent; `cty` other than `vc` (`vp`) | `MALFORMED` |
//! | `crit`, `b64`, `jku`, `jwk`, `x5u`, `x5c`, `x5t`, `x5t#S256`, `zip`, or any header member but the four | `MALFORMED` |
//! | `kid` absent or not an absolute IRI; `alg` absent or not a string | `MALFORMED` |
//! | `alg` other than `EdDSA`, `ES256`, `ES384`: `none`, `HS256`, `RS256`, `ES512`, `Ed25519`, another case | `UNKNOWN_CRYPTOSUITE` |
//! | `kid` of somebody else than the issuer (holder) | `ISSUER_MISMATCH` (`HOLDER_UNVERIFIED`) |
//! | `alg` of another key type than the method's; a signature that is empty, not canonical base64url, of another length or of other octets | `INVALID_SIGNATURE` |
//! | a `proof` in the payload; a claim `vc` or `vp`; a claim that restricts who may use the credential and that is not judged here (`aud`, `cnf`, `nonce`, `status`, ...) | `MALFORMED` |
//! | `iss`, `sub` or `jti` unlike issuer, subject or id; `exp` after `validUntil`, `nbf` before `validFrom`; a date that is no whole number of seconds | `MALFORMED` |
//! | `exp` reached | `EXPIRED` |
//! | `nbf` or `iat` ahead | `NOT_YET_VALID` |
//! | a longer JWS, name or JSON than is read | `LIMIT_EXCEEDED` |

use super::PaperError;
use super::credential::{Credential, Profile, Signed};
use super::data_integrity::{self, Signature, Statement};
use super::key::KeyType;
use super::node::{NodeView, as_iri};
use super::securing::{Jws, Securing};
use crate::limits::Limits;
use crate::message::Digest;
use crate::message::strict_json::{self, JsonError};
use crate::rdf::jsonld;
use crate::refusal::Reason;
use crate::request::Instant;
use crate::vocab::{cred, sec};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta};
use oxrdf::{Graph, NamedNode};
use serde_json::{Map, Value};

/// Claims that repeat or narrow a member of the credential: they are judged here and are no part of its graph.
const CLAIMS: [&str; 6] = ["iss", "sub", "jti", "exp", "nbf", "iat"];
/// Members that would restrict the credential, or make it another kind of token, by rules that are not applied here.
const FOREIGN: [&str; 14] = [
    "vc", "vp", "aud", "cnf", "nonce", "status", "vct", "_sd", "_sd_alg", "...", "act", "may_act", "scope",
    "sub_jwk",
];

/// What a JWS secures: `typ` says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenType {
    /// `vc+jwt`
    Credential,
    /// `vp+jwt`
    Presentation,
}

impl TokenType {
    /// `typ`: the media type without `application/`.
    pub(crate) fn typ(self) -> &'static str {
        match self {
            Self::Credential => "vc+jwt",
            Self::Presentation => "vp+jwt",
        }
    }

    /// `cty`: the media type of the payload without `application/`.
    pub(super) fn cty(self) -> &'static str {
        match self {
            Self::Credential => "vc",
            Self::Presentation => "vp",
        }
    }

    /// What its one signature is made for.
    fn purpose(self) -> &'static str {
        match self {
            Self::Credential => sec::ASSERTION_METHOD,
            Self::Presentation => sec::AUTHENTICATION_METHOD,
        }
    }
}

/// A JWS taken apart, proving nothing yet.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) payload: Map<String, Value>,
    /// SHA-256 of the signing input. The signature is no part of it: an ECDSA signature has a twin.
    pub(super) digest: Digest,
    /// Members and items of header and payload.
    pub(super) values: usize,
    /// What is signed and by whom, without the claims; `None` for an algorithm that is not accepted.
    statement: Option<Statement>,
}

impl Token {
    /// Reads a JWS in compact serialization (RFC 7515 3.1).
    ///
    /// # Errors
    /// `MALFORMED`, `LIMIT_EXCEEDED`. An algorithm or a signature that will not do is no error yet.
    pub(super) fn read(jws: &str, token_type: TokenType, limits: &Limits) -> Result<Self, PaperError> {
        if jws.len() > limits.message_bytes {
            return Err(PaperError::new(Reason::LimitExceeded, "a longer JWS than is read"));
        }
        let not_compact = || PaperError::malformed("a JWS is three parts in compact serialization");
        let (signing_input, signature) = jws.rsplit_once('.').ok_or_else(not_compact)?;
        // A further point would be in the payload, and is no character of base64url.
        let (header, payload) = signing_input.split_once('.').ok_or_else(not_compact)?;
        let header = json_object(header, limits)?;
        let payload = json_object(payload, limits)?;
        let values = strict_json::count(header.values()).saturating_add(strict_json::count(payload.values()));
        let header = Header::read(&header, token_type, limits)?;
        let statement = header.algorithm.map(|key_type| Statement {
            verification_method: header.kid,
            purpose: token_type.purpose().to_owned(),
            created: None,
            expires: None,
            challenge: None,
            domain: None,
            signature: URL_SAFE_NO_PAD
                .decode(signature)
                .map(|octets| Signature::new(key_type, octets, signing_input.as_bytes().to_vec()))
                .map_err(|_| "the signature of the JWS is not canonical base64url"),
        });
        Ok(Self { payload, digest: Digest::of(signing_input), values, statement })
    }

    /// What secures the paper, with what its claims say.
    pub(super) fn securing(
        self,
        not_before: Option<Instant>,
        claims: impl FnOnce(Statement) -> Statement,
    ) -> Securing {
        Securing::Jose(Jws { statement: self.statement.map(claims), not_before })
    }
}

/// The members of a header that matter.
struct Header {
    algorithm: Option<KeyType>,
    kid: String,
}

impl Header {
    fn read(header: &Map<String, Value>, token_type: TokenType, limits: &Limits) -> Result<Self, PaperError> {
        if header.keys().any(|name| !["alg", "kid", "typ", "cty"].contains(&name.as_str())) {
            return Err(PaperError::malformed("the JWS header has a member that is not read here"));
        }
        if header.get("typ").and_then(Value::as_str) != Some(token_type.typ()) {
            return Err(PaperError::malformed(format!("the JWS is not of type {}", token_type.typ())));
        }
        if header.get("cty").is_some_and(|cty| cty != token_type.cty()) {
            return Err(PaperError::malformed("the JWS says that its content is something else"));
        }
        let algorithm = text(header, "alg")?.ok_or_else(|| PaperError::malformed("the JWS has no alg"))?;
        let kid = text(header, "kid")?.ok_or_else(|| PaperError::malformed("the JWS has no kid"))?;
        Ok(Self { algorithm: key_type_of(algorithm), kid: iri("kid", kid, limits)?.to_owned() })
    }
}

/// The key type that an algorithm is for; `None` for one that is not accepted.
fn key_type_of(algorithm: &str) -> Option<KeyType> {
    KEY_TYPES.into_iter().find(|key_type| algorithm_of(*key_type) == algorithm)
}

const KEY_TYPES: [KeyType; 3] = [KeyType::Ed25519, KeyType::P256, KeyType::P384];

/// The one algorithm of a key type.
pub(super) fn algorithm_of(key_type: KeyType) -> &'static str {
    match key_type {
        KeyType::Ed25519 => "EdDSA",
        KeyType::P256 => "ES256",
        KeyType::P384 => "ES384",
    }
}

/// A part that is a JSON object. The decoder takes neither padding, nor another alphabet, nor unused bits that are set.
fn json_object(part: &str, limits: &Limits) -> Result<Map<String, Value>, PaperError> {
    let octets = URL_SAFE_NO_PAD
        .decode(part)
        .map_err(|_| PaperError::malformed("a part of the JWS is not canonical base64url"))?;
    match strict_json::read(&octets, limits) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(PaperError::malformed("a part of the JWS is not a JSON object")),
        Err(JsonError::Malformed(why)) => {
            Err(PaperError::malformed(format!("a part of the JWS is not JSON: {why}")))
        }
        Err(error) => Err(PaperError::new(Reason::LimitExceeded, error.to_string())),
    }
}

/// A member that is a string, where there is one.
///
/// # Errors
/// `MALFORMED`
pub(super) fn text<'m>(members: &'m Map<String, Value>, name: &str) -> Result<Option<&'m str>, PaperError> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(PaperError::malformed(format!("`{name}` is not a string"))),
    }
}

/// A text that is an absolute IRI.
///
/// # Errors
/// `MALFORMED`, `LIMIT_EXCEEDED`.
pub(super) fn iri<'t>(name: &str, text: &'t str, limits: &Limits) -> Result<&'t str, PaperError> {
    if text.len() > limits.term_bytes {
        return Err(PaperError::new(Reason::LimitExceeded, format!("a longer `{name}` than is read")));
    }
    match NamedNode::new(text) {
        Ok(_) => Ok(text),
        Err(_) => Err(PaperError::malformed(format!("`{name}` is not an absolute IRI"))),
    }
}

/// A date in whole seconds since the epoch (NumericDate, RFC 7519 2).
///
/// # Errors
/// `MALFORMED`
pub(super) fn date(members: &Map<String, Value>, name: &str) -> Result<Option<Instant>, PaperError> {
    let Some(value) = members.get(name) else { return Ok(None) };
    let seconds = value.as_u64().and_then(|seconds| i64::try_from(seconds).ok());
    let instant = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    instant.map(Some).ok_or_else(|| {
        PaperError::malformed(format!("`{name}` is no whole number of seconds since the epoch"))
    })
}

/// The last instant before `exp`: "on or after" it, a JWT is not accepted (RFC 7519 4.1.4).
pub(super) fn last_before(exp: Instant) -> Instant {
    exp.checked_sub_signed(TimeDelta::nanoseconds(1)).unwrap_or(exp)
}

/// The registered claims of a credential.
#[derive(Debug)]
struct Claims {
    issuer: Option<String>,
    subject: Option<String>,
    id: Option<String>,
    expires: Option<Instant>,
    not_before: Option<Instant>,
    issued: Option<Instant>,
}

impl Claims {
    /// Takes the claims off the payload.
    ///
    /// # Errors
    /// `MALFORMED`
    fn take(payload: &mut Map<String, Value>) -> Result<Self, PaperError> {
        if let Some(name) = FOREIGN.iter().find(|name| payload.contains_key(**name)) {
            return Err(PaperError::malformed(format!("a credential in a JWS has no `{name}`")));
        }
        if payload.contains_key("proof") {
            return Err(PaperError::malformed("a credential is secured by a proof or by a JWS, not by both"));
        }
        // Whoever reads the payload as JSON-LD would find a fact under a term of that name.
        if payload.get("@context").is_some_and(defines_a_claim) {
            return Err(PaperError::malformed("a context of the credential defines a claim of JWT"));
        }
        let own = |name| Ok::<_, PaperError>(text(payload, name)?.map(str::to_owned));
        let claims = Self {
            issuer: own("iss")?,
            subject: own("sub")?,
            id: own("jti")?,
            expires: date(payload, "exp")?,
            not_before: date(payload, "nbf")?,
            issued: date(payload, "iat")?,
        };
        for claim in CLAIMS {
            payload.remove(claim);
        }
        Ok(claims)
    }

    /// Each claim says what the credential's own graph says, or less: two readers of one token must not differ.
    ///
    /// # Errors
    /// `MALFORMED`
    fn agree_with(&self, graph: &Graph) -> Result<(), PaperError> {
        let unlike =
            |claim: &str| PaperError::malformed(format!("`{claim}` is not what the credential says"));
        let node = NodeView::only_instance(graph, cred::VERIFIABLE_CREDENTIAL)?;
        if self.issuer.is_some() && self.issuer != Some(node.one_iri(cred::ISSUER)?) {
            return Err(unlike("iss"));
        }
        if self.subject.is_some() && self.subject != as_iri(node.one(cred::SUBJECT)?) {
            return Err(unlike("sub"));
        }
        if self.id.is_some() && self.id != node.iri() {
            return Err(unlike("jti"));
        }
        let ends = self.expires.zip(node.optional_instant(cred::VALID_UNTIL)?);
        if ends.is_some_and(|(claimed, stated)| claimed > stated) {
            return Err(unlike("exp"));
        }
        let starts = self.not_before.zip(node.optional_instant(cred::VALID_FROM)?);
        if starts.is_some_and(|(claimed, stated)| claimed < stated) {
            return Err(unlike("nbf"));
        }
        Ok(())
    }
}

/// Whether a context has a term of a claim's name, at any depth.
fn defines_a_claim(context: &Value) -> bool {
    let mut pending = vec![context];
    while let Some(context) = pending.pop() {
        match context {
            Value::Array(contexts) => pending.extend(contexts),
            Value::Object(terms) if CLAIMS.iter().any(|claim| terms.contains_key(*claim)) => return true,
            Value::Object(terms) => pending.extend(terms.values()),
            _ => (),
        }
    }
    false
}

/// What a text says to be, if it has the form of a JWS. It proves nothing: the reader of that type checks it.
pub(crate) fn claimed_type(jws: &str, limits: &Limits) -> Option<TokenType> {
    let (header, _) = jws.split_once('.')?;
    let header = json_object(header, limits).ok()?;
    let typ = header.get("typ")?.as_str()?;
    [TokenType::Credential, TokenType::Presentation].into_iter().find(|kind| kind.typ() == typ)
}

/// Reads an Agent Authorization Credential from a `vc+jwt`.
///
/// # Errors
/// `MALFORMED`, `REMOTE_CONTEXT`, `LIMIT_EXCEEDED`.
pub(crate) fn credential(jws: &str, limits: &Limits) -> Result<Credential, PaperError> {
    Credential::of_mandate(read_credential(jws, limits)?)
}

/// Reads a credential of any type from a `vc+jwt`.
///
/// # Errors
/// `MALFORMED`, `REMOTE_CONTEXT`, `LIMIT_EXCEEDED`.
pub(super) fn read_credential(jws: &str, limits: &Limits) -> Result<Signed, PaperError> {
    Signed::of_token(Token::read(jws, TokenType::Credential, limits)?, limits)
}

impl Signed {
    /// Reads the credential that a `vc+jwt` holds.
    ///
    /// # Errors
    /// `MALFORMED`, `REMOTE_CONTEXT`, `LIMIT_EXCEEDED`.
    pub(super) fn of_token(mut token: Token, limits: &Limits) -> Result<Self, PaperError> {
        let mut payload = std::mem::take(&mut token.payload);
        let claims = Claims::take(&mut payload)?;
        let quads = jsonld::parse_paper(&Value::Object(payload), limits)?;
        let graph = data_integrity::default_graph(&quads)?;
        claims.agree_with(&graph)?;
        let digest = token.digest;
        let securing = token.securing(claims.not_before.max(claims.issued), |statement| Statement {
            created: claims.issued,
            expires: claims.expires.map(last_before),
            ..statement
        });
        Ok(Self { profile: Profile::Jose, graph, digest, securing, recognised: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jws_longer_than_a_message_is_not_decoded() {
        let limits = Limits { message_bytes: 1_000, ..Limits::default() };
        let read = |jws: &str| Token::read(jws, TokenType::Credential, &limits).map(drop).unwrap_err().reason;
        assert_eq!(read(&"A".repeat(1_001)), Reason::LimitExceeded);
        assert_eq!(read(&"A".repeat(1_000)), Reason::Malformed);
    }

    #[test]
    fn an_algorithm_is_of_one_key_type() {
        for (algorithm, key_type) in
            [("EdDSA", KeyType::Ed25519), ("ES256", KeyType::P256), ("ES384", KeyType::P384)]
        {
            assert_eq!(key_type_of(algorithm), Some(key_type));
        }
        assert_eq!(key_type_of("none"), None);
    }

    #[test]
    fn a_claim_is_found_at_any_depth_of_a_context() {
        use serde_json::json;
        for context in [
            json!({"iss": "urn:x"}),
            json!(["urn:c", {"jti": "urn:x"}]),
            json!([{"T": {"@id": "urn:t", "@context": [{"sub": {"@id": "urn:x"}}]}}]),
        ] {
            assert!(defines_a_claim(&context), "{context}");
        }
        assert!(!defines_a_claim(&json!(["jti", {"T": {"@id": "sub"}}])));
    }
}
