//! What a re-decision needs beside the report, by content.

use crate::message::Digest;
use serde::{Deserialize, Serialize};

/// The evidence of one decision, by digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceDigests {
    /// Whether the ledger kept what the digests name. It may have been erased since.
    pub kept: bool,
    /// The message as it came.
    pub message: Digest,
    /// What the caller said of it, and what was known at the instant.
    pub request: Digest,
    /// The configuration.
    pub configuration: Digest,
}

/// Octets by their SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    digest: Digest,
    octets: std::sync::Arc<[u8]>,
}

impl Blob {
    /// Takes octets under their digest.
    pub fn new(octets: impl Into<std::sync::Arc<[u8]>>) -> Self {
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
