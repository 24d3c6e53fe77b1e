//! Papers of the example in a JWS, with everything about them that can be made wrong on purpose.

use super::{Ask, ExampleError, MandateDraft};
use crate::credential::issue::SigningKey;
use crate::credential::issue_jose::{compact, envelope, header, signed};
use crate::credential::jose::TokenType;
use crate::vocab::cred;
use chrono::TimeDelta;
use serde_json::{Value, json};

/// A JWS to be made: [`JwsDraft::compact`] signs it, whatever it says.
#[derive(Debug, Clone)]
pub struct JwsDraft {
    /// The header.
    pub header: Value,
    /// The payload.
    pub payload: Value,
    /// Who signs.
    pub key: SigningKey,
}

impl JwsDraft {
    /// The JWS in compact serialization.
    ///
    /// # Errors
    /// [`ExampleError::Issue`]
    pub fn compact(&self) -> Result<String, ExampleError> {
        Ok(compact(&self.key, &self.header, &self.payload)?)
    }

    /// A JWS of two parts as they stand, encoded or not.
    pub fn compact_octets(key: &SigningKey, header: &str, payload: &str) -> String {
        signed(key, format!("{header}.{payload}"))
    }

    /// The presentation of an ask, over credentials that are each a JWS.
    pub(super) fn presentation(ask: &Ask, tokens: &[&str], challenge: &str) -> Self {
        let end = ask.expires.unwrap_or(ask.created + TimeDelta::minutes(5));
        let payload = json!({
            "@context": [cred::CONTEXT_V2],
            "type": ["VerifiablePresentation"],
            "holder": ask.key.controller(),
            "verifiableCredential": tokens.iter().map(|jws| envelope(jws)).collect::<Vec<_>>(),
            "nonce": challenge,
            "aud": ask.domain,
            "iat": ask.created.timestamp(),
            "exp": end.timestamp(),
        });
        let key = ask.key.clone();
        Self { header: header(&key, TokenType::Presentation), payload, key }
    }
}

impl Ask {
    /// The presentation before it is signed, where the credentials are each a JWS.
    ///
    /// # Errors
    /// [`ExampleError`]
    pub fn presentation_draft(&self) -> Result<JwsDraft, ExampleError> {
        let tokens: Vec<&str> = self.credentials.iter().filter_map(Value::as_str).collect();
        Ok(JwsDraft::presentation(self, &tokens, &self.challenge()?))
    }
}

impl MandateDraft {
    /// The mandate as a `vc+jwt`, before it is signed.
    ///
    /// # Errors
    /// [`ExampleError`]
    pub fn jws(&self) -> Result<JwsDraft, ExampleError> {
        let mut payload = self.unsecured()?;
        if let Some(members) = payload.as_object_mut() {
            members.insert("iat".to_owned(), self.created.timestamp().into());
        }
        Ok(JwsDraft { header: header(&self.key, TokenType::Credential), payload, key: self.key.clone() })
    }
}
