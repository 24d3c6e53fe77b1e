//! Making papers in a JWS: `vc+jwt` and `vp+jwt`, for every key type.

use super::controller::Relationship;
use super::issue::{IssueError, Mandate, Presenting, SigningKey, content_id, mandate_document, own_method};
use super::jose::{TokenType, algorithm_of};
use super::jose_presentation::{self, ENVELOPE};
use super::{Credential, Known, jose};
use crate::limits::Limits;
use crate::rdf::Budget;
use crate::request::Instant;
use crate::vocab::cred;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use serde_json::{Value, json};

/// How long a presentation in a JWS is good where its maker does not say: `exp` is required.
const LIFE: TimeDelta = TimeDelta::minutes(5);

/// Issues an `AgentAuthorizationCredential` as a `vc+jwt`, signed at `created`: the compact text of a JWS.
///
/// # Errors
/// [`IssueError`]; what our own verifier would not take is not given out.
pub fn issue_mandate_jose(
    key: &SigningKey,
    mandate: &Mandate<'_>,
    created: Instant,
) -> Result<String, IssueError> {
    let limits = Limits::default();
    let mut document = mandate_document(key, mandate, &limits)?;
    let id = match &mandate.id {
        Some(id) => id.clone(),
        None => content_id(&document)?,
    };
    document.insert("id".to_owned(), id.into());
    document.insert("iat".to_owned(), created.timestamp().into());
    let jws = compact(key, &header(key, TokenType::Credential), &document.into())?;
    let credential = Credential::of_mandate(jose::read_credential(&jws, &limits)?)?;
    let method = own_method(key, created, Relationship::AssertionMethod)?;
    credential.securing.only_statement()?.verify(&method.key)?;
    Ok(jws)
}

/// Presents credentials, each a `vc+jwt`, under the controller of the key as holder: the compact text of a `vp+jwt`. It
/// ends five minutes after it was made, unless `presenting` says otherwise.
///
/// # Errors
/// [`IssueError`]; what our own verifier would not read is not given out.
pub fn present_jose(
    key: &SigningKey,
    credentials: &[String],
    presenting: &Presenting<'_>,
) -> Result<String, IssueError> {
    let end = || presenting.created.checked_add_signed(LIFE).unwrap_or(Instant::MAX_UTC);
    let expires = presenting.expires.unwrap_or_else(end);
    let payload = json!({
        "@context": [cred::CONTEXT_V2],
        "type": ["VerifiablePresentation"],
        "holder": key.controller(),
        "verifiableCredential": credentials.iter().map(|jws| envelope(jws)).collect::<Vec<_>>(),
        "nonce": presenting.challenge,
        "aud": presenting.domain,
        "iat": presenting.created.timestamp(),
        "exp": expires.timestamp(),
    });
    let jws = compact(key, &header(key, TokenType::Presentation), &payload)?;
    let limits = Limits::default();
    let mut budget = Budget::new(&limits);
    let presentation = jose_presentation::presentation(&jws, &limits, &mut budget, &Known::nothing())?;
    let method = own_method(key, presenting.created, Relationship::Authentication)?;
    presentation.securing.only_statement()?.verify(&method.key)?;
    Ok(jws)
}

/// A credential as a member of a presentation.
pub(crate) fn envelope(jws: &str) -> Value {
    json!({
        "@context": cred::CONTEXT_V2,
        "type": "EnvelopedVerifiableCredential",
        "id": format!("{ENVELOPE}{jws}"),
    })
}

/// The header that the key's own signature goes with.
pub(crate) fn header(key: &SigningKey, token_type: TokenType) -> Value {
    json!({
        "alg": algorithm_of(key.key_type()),
        "kid": key.method(),
        "typ": token_type.typ(),
        "cty": token_type.cty(),
    })
}

/// Signs a payload under a header, whatever they say.
pub(crate) fn compact(key: &SigningKey, header: &Value, payload: &Value) -> Result<String, IssueError> {
    let encode = |value: &Value| match serde_json::to_vec(value) {
        Ok(octets) => Ok(URL_SAFE_NO_PAD.encode(octets)),
        Err(_) => Err(IssueError::Refused("not JSON".to_owned())),
    };
    Ok(signed(key, format!("{}.{}", encode(header)?, encode(payload)?)))
}

/// Adds the signature over a signing input.
pub(crate) fn signed(key: &SigningKey, mut signing_input: String) -> String {
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signing_input.as_bytes()));
    signing_input.push('.');
    signing_input.push_str(&signature);
    signing_input
}
