//! Presentations in a JWS: `vp+jwt` ("Securing Verifiable Credentials using JOSE and COSE" 3.1.2, `mandate.md` 2).
//!
//! The payload has one form, so it is read by its members: under the VC v2 context alone, each means one thing.
//!
//! | member | what it is |
//! |---|---|
//! | `@context` | the VC v2 context, alone |
//! | `type` | `VerifiablePresentation` |
//! | `id`, `jti` | at most one name, an IRI; both say the same |
//! | `holder`, `iss` | the holder; `iss` says the same, where it is there |
//! | `verifiableCredential` | one or more `EnvelopedVerifiableCredential`, each the VC v2 context, its type, and `data:application/vc+jwt,` with a JWS |
//! | `nonce` | the challenge; absent: `CHALLENGE_MISMATCH` |
//! | `aud` | the domain, one string; absent: `DOMAIN_MISMATCH` |
//! | `iat` | when it was made; absent: `PRESENTATION_TOO_OLD` |
//! | `exp` | its end; required |
//!
//! Any other member, or one of another form, is `MALFORMED`: a credential that is no envelope (papers of two profiles), an
//! envelope with something beside its JWS or with `;base64`, an `aud` that is an array, `sub`, `nbf`, `proof`, `vp`.

use super::credential::{Profile, Signed};
use super::data_integrity::Statement;
use super::jose::{Token, TokenType, date, iri, last_before, text};
use super::known::Known;
use super::presentation_graph::Presentation;
use super::{Credential, PaperError};
use crate::limits::Limits;
use crate::rdf::Budget;
use crate::refusal::Reason;
use crate::vocab::cred;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What the id of an enveloped credential starts with; the JWS is the rest.
pub(super) const ENVELOPE: &str = "data:application/vc+jwt,";

/// The members of a presentation and its claims.
const MEMBERS: [&str; 11] =
    ["@context", "id", "type", "holder", "verifiableCredential", "iss", "jti", "nonce", "aud", "iat", "exp"];

/// Reads a presentation with its credentials.
///
/// # Errors
/// `MALFORMED`, `REMOTE_CONTEXT`, `LIMIT_EXCEEDED`.
pub(crate) fn presentation(
    jws: &str,
    limits: &Limits,
    budget: &mut Budget,
    known: &Known<'_>,
) -> Result<Presentation, PaperError> {
    let mut token = Token::read(jws, TokenType::Presentation, limits)?;
    let payload = std::mem::take(&mut token.payload);
    if payload.keys().any(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(PaperError::malformed("the presentation has a member that is not read here"));
    }
    if !is_just(payload.get("@context"), cred::CONTEXT_V2)
        || !is_just(payload.get("type"), "VerifiablePresentation")
    {
        return Err(PaperError::malformed("a presentation in a JWS has the VC v2 context and one type"));
    }
    let id = text(&payload, "id")?.map(|id| iri("id", id, limits)).transpose()?;
    let name = text(&payload, "jti")?;
    if name.is_some() && name != id {
        return Err(PaperError::malformed("`jti` is not the presentation's id"));
    }
    let holder = holder(&payload)?.map(|holder| iri("holder", holder, limits)).transpose()?;
    let holder = holder.map(str::to_owned);
    let issuer = text(&payload, "iss")?;
    if issuer.is_some() && issuer != holder.as_deref() {
        return Err(PaperError::malformed("`iss` is not the holder"));
    }
    let expires = date(&payload, "exp")?
        .ok_or_else(|| PaperError::malformed("a presentation in a JWS has an `exp`"))?;
    let created = date(&payload, "iat")?;
    let (challenge, domain) = (text(&payload, "nonce")?, text(&payload, "aud")?);
    let credentials = credentials(&payload, token.values, limits, budget, known)?;
    let digest = token.digest;
    let securing = token.securing(None, |statement| Statement {
        created,
        expires: Some(last_before(expires)),
        challenge: challenge.map(str::to_owned),
        domain: domain.map(str::to_owned),
        ..statement
    });
    Ok(Presentation { profile: Profile::Jose, holder, digest, securing, credentials })
}

/// The enveloped credentials, at least one and no more than are judged.
fn credentials(
    payload: &Map<String, Value>,
    own_values: usize,
    limits: &Limits,
    budget: &mut Budget,
    known: &Known<'_>,
) -> Result<Vec<Arc<Credential>>, PaperError> {
    let envelopes = match payload.get("verifiableCredential") {
        Some(Value::Array(envelopes)) => envelopes.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    if envelopes.is_empty() {
        return Err(PaperError::malformed("a presentation has at least one credential"));
    }
    if envelopes.len() > limits.credentials {
        return Err(PaperError::new(Reason::LimitExceeded, "more credentials than are judged"));
    }
    if envelopes.len().saturating_add(1) > limits.proofs {
        return Err(PaperError::new(Reason::LimitExceeded, "more proofs than are judged"));
    }
    // The bound on JSON values is one for all papers, each of which could else have as many as a whole message. It holds
    // before the first of them is read as RDF.
    let mut left = limits.json_values.saturating_sub(own_values);
    let mut tokens = Vec::with_capacity(envelopes.len());
    for (place, envelope) in envelopes.iter().enumerate() {
        let limits = Limits { json_values: left, ..limits.clone() };
        let jws = enveloped(envelope).map_err(|error| at(place, error))?;
        let token = Token::read(jws, TokenType::Credential, &limits).map_err(|error| at(place, error))?;
        left = left.saturating_sub(token.values);
        tokens.push((jws, token));
    }
    let read = |(place, (jws, token))| {
        let read = |_: &mut Budget| Signed::of_token(token, limits).and_then(Credential::of_mandate);
        let credential = known.credential(Profile::Jose, &Value::from(jws), budget, read);
        credential.map_err(|error| at(place, error))
    };
    tokens.into_iter().enumerate().map(read).collect()
}

/// The error of an embedded credential.
fn at(place: usize, mut error: PaperError) -> PaperError {
    error.evidence.path = Some(format!("/verifiableCredential/{place}"));
    error
}

/// The JWS of an `EnvelopedVerifiableCredential`, which is nothing but its envelope.
fn enveloped(envelope: &Value) -> Result<&str, PaperError> {
    let not_one = || {
        PaperError::malformed(
            "a credential of a JWS presentation is an EnvelopedVerifiableCredential of a vc+jwt and nothing else",
        )
    };
    let members = envelope.as_object().filter(|members| members.len() == 3).ok_or_else(not_one)?;
    if !is_just(members.get("@context"), cred::CONTEXT_V2)
        || !is_just(members.get("type"), "EnvelopedVerifiableCredential")
    {
        return Err(not_one());
    }
    members.get("id").and_then(Value::as_str).and_then(|id| id.strip_prefix(ENVELOPE)).ok_or_else(not_one)
}

/// The holder: an IRI, or an object of nothing but its `id`.
fn holder(payload: &Map<String, Value>) -> Result<Option<&str>, PaperError> {
    match payload.get("holder") {
        Some(Value::Object(holder)) if holder.len() == 1 && holder.contains_key("id") => text(holder, "id"),
        _ => text(payload, "holder"),
    }
}

/// Whether a member is this one text, alone or as an array of one.
fn is_just(member: Option<&Value>, text: &str) -> bool {
    match member {
        Some(Value::Array(items)) => matches!(items.as_slice(), [one] if one == text),
        Some(one) => one == text,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::issue::{Presenting, SigningKey};
    use crate::credential::issue_jose::{compact, envelope, header};
    use serde_json::json;

    #[test]
    fn a_jws_is_a_proof_like_any_other() {
        let key = SigningKey::from_seed([2; 32]);
        let credential = json!({
            "@context": [cred::CONTEXT_V2, {
                "AgentAuthorizationCredential": "https://w3id.org/jeswr/solid-vc#AgentAuthorizationCredential",
                "authorizes": {"@id": "https://w3id.org/jeswr/solid-vc#authorizes", "@type": "@id"},
            }],
            "type": ["VerifiableCredential", "AgentAuthorizationCredential"],
            "issuer": key.controller(),
            "credentialSubject": {"authorizes": key.controller()},
        });
        let jws = compact(&key, &header(&key, TokenType::Credential), &credential).unwrap();
        let presenting =
            Presenting { challenge: "c", domain: "d", created: chrono::Utc::now(), expires: None };
        let two = vec![jws; 2];
        let presented = crate::credential::issue::present_jose(&key, &two, &presenting).unwrap();
        let read = |proofs| {
            let limits = Limits { proofs, ..Limits::default() };
            let mut budget = Budget::new(&limits);
            let read = presentation(&presented, &limits, &mut budget, &Known::nothing());
            read.map(drop).map_err(|error| error.reason)
        };
        assert_eq!(read(3), Ok(()));
        assert_eq!(read(2), Err(Reason::LimitExceeded));
        assert_eq!(enveloped(&envelope("a.b.c")).ok(), Some("a.b.c"));
    }
}
