//! The worked example: Alice owns notes, her agent acts for her, and messages arrive.
//!
//! The demo, the bench, the vectors and the tests all build their messages here, so that what a newcomer sees run is
//! what is tested. The keys are TEST-ONLY: their secrets are in `credentials/keys/`, for everybody to read.

mod ask;
mod chain;
mod forge;
mod intent;
mod jws;
mod mandate;

pub use ask::Ask;
pub use forge::sign;
pub use intent::{Intent, IntentAction};
pub use jws::JwsDraft;
pub use mandate::{MandateDraft, PolicyBinding};

use crate::config::{Config, ConfigError, ConfigFile};
use crate::credential::issue::{IssueError, SigningKey};
use crate::request::{Actor, CallerFacts, Instant};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The owner of everything below `https://alice.pod.example/`.
pub const ALICE: &str = "https://alice.pod.example/profile#me";
/// The owner of everything below `https://bob.pod.example/`.
pub const BOB_OWNER: &str = "https://bob.pod.example/profile#me";
/// Whom Alice lets her agent give access to.
pub const BOB: &str = "https://bob.example/profile#me";
/// What this server calls itself: the domain of every presentation to it.
pub const DOMAIN: &str = "https://alice.pod.example/agent";
/// The target of the example.
pub const NOTES: &str = "https://alice.pod.example/notes/";
/// The purpose that Alice permits reading for.
pub const PURPOSE: &str = "https://alice.pod.example/purposes#meeting-preparation";
/// The policy of Alice's mandate for her agent.
pub const MANDATE_POLICY: &str = "https://alice.pod.example/policies/alice-to-agent";
/// A challenge that a server might have given out.
pub const NONCE: &str = "n-9f2c41d07ab35e68";

/// Why the example could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExampleError {
    /// A file of the repository is missing or unreadable.
    #[error("{path}: {cause} (run this in Writgate's own folder, or name it with --dir)")]
    File {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
    /// The example's configuration does not load.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A paper could not be made.
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// A message could not be composed.
    #[error(transparent)]
    Compose(#[from] crate::message::compose::ComposeError),
}

/// The example's people, keys and files.
#[derive(Debug, Clone)]
pub struct World {
    folder: PathBuf,
    /// Alice's key, whose method `https://alice.pod.example/profile#key` her controller document lists.
    pub alice: SigningKey,
    /// The agent's key; the agent is its did:key.
    pub agent: SigningKey,
    /// A stranger's key.
    pub mallory: SigningKey,
    /// Further keys of Alice's, which her controller document lists too: P-256 in both forms, and P-384 as a JWK.
    pub alice_ec: [SigningKey; 2],
    /// Keys of two further agents: P-256 and P-384. Each is its did:key.
    pub agent_ec: [SigningKey; 2],
}

impl World {
    /// Opens the example in the repository's folder.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn open(folder: &Path) -> Result<Self, ExampleError> {
        let key = |name: &str| -> Result<SigningKey, ExampleError> {
            let path = format!("credentials/keys/{name}.json");
            let file =
                serde_json::from_str(&read(folder, &path)?).map_err(|cause| file_error(&path, cause))?;
            Ok(SigningKey::from_json(&file)?)
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            alice: key("alice")?,
            agent: key("agent")?,
            mallory: key("mallory")?,
            alice_ec: [key("alice-p256")?, key("alice-p384")?],
            agent_ec: [key("agent-p256")?, key("agent-p384")?],
        })
    }

    /// The example's configuration, its inputs retrieved at `now`.
    ///
    /// # Errors
    /// [`ExampleError::Config`]
    pub fn config(&self, now: Instant) -> Result<Config, ExampleError> {
        Ok(ConfigFile::read(&self.folder.join("vectors/writgate.toml"))?.load(now)?)
    }

    /// A text of the repository.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn text(&self, path: &str) -> Result<String, ExampleError> {
        read(&self.folder, path)
    }

    /// A JSON document of the repository.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn json(&self, path: &str) -> Result<Value, ExampleError> {
        serde_json::from_str(&self.text(path)?).map_err(|cause| file_error(path, cause))
    }

    /// The agent's IRI.
    pub fn agent_id(&self) -> String {
        self.agent.did_key()
    }

    /// Alice's mandate for her agent, its policy embedded.
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn mandate(&self) -> Result<Value, ExampleError> {
        self.json("credentials/alice-to-agent.vc.json")
    }

    /// What the example's server knows: it authenticated the agent, gave out [`NONCE`], and activated the extension.
    pub fn facts(&self) -> CallerFacts {
        let mut facts = CallerFacts::new("agent-connection", Actor::Authenticated(self.agent_id()), NONCE);
        facts.context = Some(CONTEXT.to_owned());
        facts
    }

    /// A message by the agent: `intent`, under the protocol that fits it, with Alice's mandate, made at `now`.
    ///
    /// # Errors
    /// [`ExampleError`]
    pub fn ask(&self, intent: Intent, now: Instant) -> Result<Ask, ExampleError> {
        let protocol = if intent.is_grant() { "grant-access" } else { "read" };
        Ok(Ask::new(self, intent, self.protocol_hash(protocol)?, vec![self.mandate()?], now))
    }

    /// The hash of one of the example's Protocol Documents (`grant-access`, `read`, ...).
    ///
    /// # Errors
    /// [`ExampleError::File`]
    pub fn protocol_hash(&self, name: &str) -> Result<String, ExampleError> {
        let path = format!("policies/{name}.ttl");
        let hash = crate::protocol::ProtocolDocument::hash_of(
            &self.text(&path)?,
            "text/turtle",
            &crate::limits::Limits::default(),
        );
        Ok(hash.map_err(|cause| file_error(&path, cause))?.to_string())
    }
}

/// Signs a credential of any kind, whatever it says, for assertion.
///
/// # Errors
/// [`ExampleError::Issue`]
pub fn sign_credential(key: &SigningKey, document: Value, created: Instant) -> Result<Value, ExampleError> {
    forge::sign(key, document, "assertionMethod", created, serde_json::Map::new())
}

/// The conversation of the example.
pub const CONTEXT: &str = "ctx-1";

fn read(folder: &Path, path: &str) -> Result<String, ExampleError> {
    std::fs::read_to_string(folder.join(path)).map_err(|cause| file_error(path, cause))
}

fn file_error(path: &str, cause: impl std::fmt::Display) -> ExampleError {
    ExampleError::File { path: path.to_owned(), cause: cause.to_string() }
}
