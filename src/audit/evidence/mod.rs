//! Evidence: what one decision was made from, so that it can be made again.
//!
//! Three blobs, each under the SHA-256 digest of its octets: the *message* as it came, the *request* (what the server
//! said of it, and what was known at the instant), and the *configuration* (every setting that an answer can turn on,
//! with each document by its digest, as a further blob). Equal blobs are kept once. A blob is hashed before anything in
//! it is believed, and what was erased is named and never made up.

mod configuration;
mod request;

pub use configuration::ConfigurationEvidence;
pub(crate) use request::DecisionEvidence;

use super::DecisionReportV1;
use crate::config::Config;
use crate::ledger::KeptEvidence;
use crate::message::Digest;
use crate::request::{Instant, Request};
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::sync::Arc;

/// Octets of one blob that are read. A configuration of ten thousand documents has a manifest of some three MiB.
const MAX_BLOB_BYTES: usize = 64 << 20;

/// The evidence of one decision, by the SHA-256 digests of its blobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceDigests {
    /// Whether the ledger kept what the digests name. It may have been erased since.
    pub kept: bool,
    /// The message: its octets as they came, or the JSON of a message that the caller had parsed.
    pub message: Digest,
    /// What the server said of it, and what was known at the instant.
    pub request: Digest,
    /// The manifest of the configuration.
    pub configuration: Digest,
}

/// How much evidence is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceMode {
    /// The blobs: every decision can be made again from the ledger alone.
    #[default]
    Full,
    /// Their digests alone: whoever has the blobs from elsewhere can show that they are the ones.
    Digests,
}

/// Octets by their SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    digest: Digest,
    octets: Arc<[u8]>,
}

impl Blob {
    /// Takes octets under their digest.
    pub fn new(octets: impl Into<Arc<[u8]>>) -> Self {
        let octets = octets.into();
        Self { digest: Digest::of(&octets), octets }
    }

    /// SHA-256 of the octets.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The octets.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }
}

/// What a blob holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobKind {
    /// A message.
    Message,
    /// The rest of a request.
    Request,
    /// The manifest of a configuration.
    Configuration,
    /// A document of the configuration, by what it is and its IRI.
    Document(&'static str, String),
}

impl Display for BlobKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Message => f.write_str("message"),
            Self::Request => f.write_str("request"),
            Self::Configuration => f.write_str("configuration"),
            Self::Document(kind, id) => write!(f, "{kind} {id}"),
        }
    }
}

/// Why a decision's inputs were not had from its evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// It was erased.
    #[error("the {kind} of the evidence was erased ({digest})")]
    Erased {
        /// What it was.
        kind: BlobKind,
        /// Under which digest.
        digest: Digest,
    },
    /// It was never kept: digests were to suffice, or it was larger than what is kept.
    #[error("the {kind} of the evidence was never kept ({digest})")]
    NotKept {
        /// What it was.
        kind: BlobKind,
        /// Under which digest.
        digest: Digest,
    },
    /// It should be there and is not.
    #[error("the {kind} of the evidence is missing ({digest})")]
    Missing {
        /// What it was.
        kind: BlobKind,
        /// Under which digest.
        digest: Digest,
    },
    /// Its octets are not those that the digest is of.
    #[error("the evidence holds another {kind} than {digest}")]
    NotItsDigest {
        /// What it should be.
        kind: BlobKind,
        /// Under which digest.
        digest: Digest,
    },
    /// It is of another version or form, or what it describes is no longer accepted.
    #[error("the {kind} of the evidence cannot be read: {problem}")]
    Unreadable {
        /// What it is.
        kind: BlobKind,
        /// Why.
        problem: String,
    },
    /// The store of the blobs failed.
    #[error("the {kind} of the evidence could not be had: {problem}")]
    Store {
        /// What it is.
        kind: BlobKind,
        /// Why.
        problem: String,
    },
}

/// Makes requests and configurations from evidence. Decisions in a row mostly share a configuration, which is made once.
#[derive(Debug)]
pub struct Rebuilder<G> {
    get: G,
    configuration: Option<(Digest, Arc<Config>)>,
}

impl<G, E> Rebuilder<G>
where
    G: FnMut(&Digest) -> Result<KeptEvidence, E>,
    E: Display,
{
    /// A rebuilder that takes its blobs from `get`, which need not be trusted: what it gives is hashed.
    pub fn new(get: G) -> Self {
        Self { get, configuration: None }
    }

    /// The configuration and the request that [`crate::Engine::evaluate`] answered.
    ///
    /// # Errors
    /// [`EvidenceError`], which names the blob.
    pub fn rebuild(&mut self, of: &EvidenceDigests) -> Result<(Arc<Config>, Request), EvidenceError> {
        let message = match self.blob(BlobKind::Message, of.message) {
            Err(EvidenceError::Missing { kind, digest }) if !of.kept => {
                return Err(EvidenceError::NotKept { kind, digest });
            }
            message => message?,
        };
        let config = self.config(of.configuration)?;
        let request = self.blob(BlobKind::Request, of.request)?;
        let request = request::rebuilt(&request, message, &config)?;
        Ok((config, request))
    }

    /// The message of a recorded decision, for a person or program that reads: [`for_reader`] at `now`, by the bounds that
    /// the decision's own configuration had. `None`: its report names no evidence.
    ///
    /// # Errors
    /// [`EvidenceError`]. Where the configuration is not to be had, the message is not given out either.
    pub fn message_for_reader(
        &mut self,
        report: &DecisionReportV1,
        now: Instant,
    ) -> Result<Option<ForReader>, EvidenceError> {
        let Some(evidence) = &report.envelope.evidence else { return Ok(None) };
        let message = Blob::new(self.blob(BlobKind::Message, evidence.message)?);
        let config = self.config(evidence.configuration)?;
        let usable_for = config.max_presentation_age.checked_add(&config.skew).unwrap_or(TimeDelta::MAX);
        let recorded = report.envelope.recorded.as_deref().unwrap_or(&report.body.instant);
        let recorded = recorded.parse().map_err(|cause| unreadable(BlobKind::Message, cause))?;
        Ok(Some(for_reader(message, recorded, usable_for, now)))
    }

    fn config(&mut self, manifest: Digest) -> Result<Arc<Config>, EvidenceError> {
        if let Some((of, config)) = &self.configuration
            && *of == manifest
        {
            return Ok(Arc::clone(config));
        }
        let octets = self.blob(BlobKind::Configuration, manifest)?;
        let config = configuration::rebuilt(&octets, &mut |kind, digest| self.blob(kind, digest))?;
        let config = Arc::new(config);
        self.configuration = Some((manifest, Arc::clone(&config)));
        Ok(config)
    }

    fn blob(&mut self, kind: BlobKind, digest: Digest) -> Result<Vec<u8>, EvidenceError> {
        let found = (self.get)(&digest);
        let found =
            found.map_err(|cause| EvidenceError::Store { kind: kind.clone(), problem: cause.to_string() });
        match found? {
            KeptEvidence::Absent => Err(EvidenceError::Missing { kind, digest }),
            KeptEvidence::Erased => Err(EvidenceError::Erased { kind, digest }),
            KeptEvidence::Octets(octets) if Digest::of(&octets) != digest => {
                Err(EvidenceError::NotItsDigest { kind, digest })
            }
            KeptEvidence::Octets(octets) if octets.len() > MAX_BLOB_BYTES => Err(EvidenceError::Unreadable {
                kind,
                problem: "it is larger than any that is written".into(),
            }),
            KeptEvidence::Octets(octets) => Ok(octets),
        }
    }
}

/// What a person or program that reads evidence is given of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForReader {
    /// Its octets.
    Octets(Blob),
    /// It may hold a presentation that is still good for something: only its digest is given, until this instant.
    Withheld {
        /// The message's digest.
        digest: Digest,
        /// From then on it can be read.
        until: Instant,
    },
}

/// A message of the evidence, for a reader: withheld as a whole until `usable_for` has passed since the decision was
/// `recorded`, that is the age that a presentation may have, plus the skew of clocks. A refused message can hold a
/// presentation that nobody has consumed, and to whoever reads it in time it would be as good as to its owner. (One that
/// its maker dated further ahead than clocks may differ is refused until then, and is its maker's doing.)
pub fn for_reader(message: Blob, recorded: Instant, usable_for: TimeDelta, now: Instant) -> ForReader {
    // A proof may be dated ahead of the decision by the skew, and is good for its age from there.
    let until = recorded.checked_add_signed(usable_for).unwrap_or(Instant::MAX_UTC);
    if now > until {
        ForReader::Octets(message)
    } else {
        ForReader::Withheld { digest: message.digest(), until }
    }
}

fn unreadable(kind: BlobKind, problem: impl Display) -> EvidenceError {
    EvidenceError::Unreadable { kind, problem: problem.to_string() }
}

#[cfg(test)]
mod tests;
