//! A message of the example, with everything about it that can be made wrong on purpose.

use super::{CONTEXT, DOMAIN, ExampleError, Intent, NONCE, World, forge};
use crate::credential::issue::SigningKey;
use crate::message::compose::{self, Draft};
use crate::request::Instant;
use crate::vocab::cred;
use serde_json::{Map, Value, json};

/// A message to be made: [`Ask::message`] signs its presentation and puts it together.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The message's id.
    pub id: String,
    /// The message's context.
    pub context: Option<String>,
    /// The `protocolHash` of the intent part.
    pub protocol_hash: String,
    /// The intent's text and media type.
    pub intent: (String, String),
    /// The credentials of the presentation: JSON objects, or each the compact text of a `vc+jwt`. A presentation of
    /// such texts is a `vp+jwt`.
    pub credentials: Vec<Value>,
    /// Policy documents carried beside it: text and media type.
    pub policies: Vec<(String, String)>,
    /// What the server gave out.
    pub nonce: String,
    /// Whether the presentation's challenge is bound to the message.
    pub bound: bool,
    /// The presentation's domain.
    pub domain: String,
    /// When the presentation is made.
    pub created: Instant,
    /// When the presentation's proof expires.
    pub expires: Option<Instant>,
    /// Who presents, and in whose name.
    pub key: SigningKey,
}

impl Ask {
    pub(super) fn new(
        world: &World,
        intent: Intent,
        protocol_hash: String,
        credentials: Vec<Value>,
        created: Instant,
    ) -> Self {
        Self {
            id: "msg-1".to_owned(),
            context: Some(CONTEXT.to_owned()),
            protocol_hash,
            intent: (intent.turtle(), "text/turtle".to_owned()),
            credentials,
            policies: Vec::new(),
            nonce: NONCE.to_owned(),
            bound: false,
            domain: DOMAIN.to_owned(),
            created,
            expires: None,
            key: world.agent.clone(),
        }
    }

    /// The presentation, its challenge plain or bound to the rest of this message.
    ///
    /// # Errors
    /// [`ExampleError`]
    pub fn presentation(&self) -> Result<Value, ExampleError> {
        if self.credentials.iter().any(Value::is_string) {
            return Ok(self.presentation_draft()?.compact()?.into());
        }
        let challenge = self.challenge()?;
        let document = json!({
            "@context": [cred::CONTEXT_V2],
            "type": ["VerifiablePresentation"],
            "holder": self.key.controller(),
            "verifiableCredential": self.credentials,
        });
        let mut options = Map::new();
        options.insert("challenge".to_owned(), challenge.into());
        options.insert("domain".to_owned(), self.domain.as_str().into());
        if let Some(expires) = self.expires {
            options.insert(
                "expires".to_owned(),
                expires.to_rfc3339_opts(chrono::SecondsFormat::Secs, true).into(),
            );
        }
        forge::sign(&self.key, document, "authentication", self.created, options)
    }

    /// What the presentation answers: the nonce, or the challenge made from it for the rest of this message.
    pub(super) fn challenge(&self) -> Result<String, ExampleError> {
        if self.bound {
            Ok(compose::bound_challenge(&self.without_presentation(), &self.nonce, &self.domain)?)
        } else {
            Ok(self.nonce.clone())
        }
    }

    /// The whole message.
    ///
    /// # Errors
    /// [`ExampleError`]
    pub fn message(&self) -> Result<Value, ExampleError> {
        Ok(self.with_presentation(Some(self.presentation()?)))
    }

    /// The message without its presentation.
    pub fn without_presentation(&self) -> Value {
        self.with_presentation(None)
    }

    /// The message around a given presentation.
    pub fn with_presentation(&self, presentation: Option<Value>) -> Value {
        compose::message(&Draft {
            id: self.id.clone(),
            context: self.context.clone(),
            protocol_hash: self.protocol_hash.clone(),
            intent: self.intent.clone(),
            presentation,
            policies: self.policies.clone(),
        })
    }
}
