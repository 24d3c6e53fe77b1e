//! Checkpoints: signed statements of how far the chain had come, which are copied out of the ledger's file; and the keys
//! that sign them.

use crate::credential::KeyType;
use crate::credential::issue::{IssueError, SigningKey};
use crate::credential::key::PublicKey;
use crate::message::Digest;
use crate::message::digest::jcs;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far the chain had come at an instant, signed. Its text is the JCS form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckpointV1 {
    /// `CheckpointV1`.
    pub version: String,
    /// Its number, from 1, without gaps.
    pub number: u64,
    /// The last row that it covers.
    pub sequence: u64,
    /// That row's hash.
    pub row_hash: Digest,
    /// The ledger.
    pub ledger_id: String,
    /// The domain that the ledger serves.
    pub domain: String,
    /// SHA-256 of the text of the checkpoint before. Absent: this is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Digest>,
    /// When it was made: RFC 3339 in UTC with microseconds.
    pub instant: String,
    /// How many rows the tables had.
    pub counts: CheckpointCounts,
    /// After how many further rows the next one is made at the latest.
    pub next_after_rows: u64,
    /// After how many seconds the next row brings the next one at the latest.
    pub next_after_seconds: u64,
    /// The key that signed, as a did:key.
    pub public_key: String,
    /// Its Ed25519 signature over the JCS form of the other members, in base64url.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
}

/// How many rows the tables had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckpointCounts {
    /// Reserved message ids, and so many consumed challenges.
    pub reservations: u64,
    /// The rows of each table that the chain follows row by row.
    pub tables: BTreeMap<String, u64>,
}

impl CheckpointV1 {
    /// The version word of this form.
    pub const VERSION: &'static str = "CheckpointV1";

    /// Reads a checkpoint's text. `None`: it is none of this version, or is not in JCS form.
    pub fn read(text: &str) -> Option<Self> {
        let checkpoint: Self = serde_json::from_str(text).ok()?;
        let is_one = checkpoint.version == Self::VERSION && checkpoint.text().ok()?.as_str() == text;
        is_one.then_some(checkpoint)
    }

    /// Its text, the JCS form.
    ///
    /// # Errors
    /// What JCS cannot write; a checkpoint holds none.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        jcs(self).map(|octets| String::from_utf8_lossy(&octets).into_owned())
    }

    /// Whether the signature is the key's that the checkpoint names.
    pub fn is_signed(&self) -> bool {
        let unsigned = Self { signature: String::new(), ..self.clone() };
        jcs(&unsigned).is_ok_and(|octets| is_signed_by(&self.public_key, &octets, &self.signature))
    }
}

/// A key that signs checkpoints.
#[derive(Debug, Clone)]
pub struct CheckpointSigner(SigningKey);

impl CheckpointSigner {
    /// Takes an Ed25519 key.
    ///
    /// # Errors
    /// [`IssueError::Key`] for a key of another type.
    pub fn new(key: SigningKey) -> Result<Self, IssueError> {
        match key.key_type() {
            KeyType::Ed25519 => Ok(Self(key)),
            _ => Err(IssueError::Key("checkpoints are signed with Ed25519")),
        }
    }

    /// The public key as a did:key.
    pub fn public_key(&self) -> String {
        self.0.did_key()
    }

    /// Signs a checkpoint that names this key.
    pub(crate) fn sign(&self, checkpoint: CheckpointV1) -> Result<CheckpointV1, serde_json::Error> {
        let unsigned = CheckpointV1 { public_key: self.public_key(), signature: String::new(), ..checkpoint };
        let signature = self.signature_over(&jcs(&unsigned)?);
        Ok(CheckpointV1 { signature, ..unsigned })
    }

    /// An Ed25519 signature in base64url.
    pub(crate) fn signature_over(&self, octets: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.0.sign(octets))
    }
}

/// Whether a signature in base64url is that of an Ed25519 key, as a did:key, over some octets.
pub(crate) fn is_signed_by(public_key: &str, octets: &[u8], signature: &str) -> bool {
    let Ok(key @ PublicKey::Ed25519(_)) = PublicKey::from_did_key(public_key) else { return false };
    URL_SAFE_NO_PAD.decode(signature).is_ok_and(|signature| key.verifies(octets, &signature))
}

/// A change of the key that signs checkpoints, at its place in a ledger: what the key before signs.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyChange<'a> {
    pub(crate) ledger_id: &'a str,
    pub(crate) domain: &'a str,
    /// The row that says so.
    pub(crate) sequence: u64,
    /// The hash of the row before it.
    pub(crate) previous_row_hash: Digest,
    pub(crate) previous: &'a str,
    pub(crate) public_key: &'a str,
    /// `KeyChangeV1`: no other thing that the key signs reads as this.
    version: &'static str,
}

impl<'a> KeyChange<'a> {
    pub(crate) fn new(
        (ledger_id, domain): (&'a str, &'a str),
        (sequence, previous_row_hash): (u64, Digest),
        previous: &'a str,
        public_key: &'a str,
    ) -> Self {
        Self { ledger_id, domain, sequence, previous_row_hash, previous, public_key, version: "KeyChangeV1" }
    }

    /// What is signed.
    pub(crate) fn octets(&self) -> Result<Vec<u8>, serde_json::Error> {
        jcs(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> CheckpointV1 {
        let signer = CheckpointSigner::new(SigningKey::from_seed([7; 32])).unwrap();
        signer
            .sign(CheckpointV1 {
                version: CheckpointV1::VERSION.into(),
                number: 1,
                sequence: 3,
                row_hash: Digest::of("row"),
                ledger_id: "ledger".into(),
                domain: "https://a.example".into(),
                previous: None,
                instant: "2026-12-01T12:00:00.000000Z".into(),
                counts: CheckpointCounts::default(),
                next_after_rows: 1_000,
                next_after_seconds: 60,
                public_key: String::new(),
                signature: String::new(),
            })
            .unwrap()
    }

    #[test]
    fn a_checkpoint_reads_back_and_is_signed() {
        let signed = checkpoint();
        assert!(signed.is_signed());
        assert_eq!(CheckpointV1::read(&signed.text().unwrap()), Some(signed));
    }

    #[test]
    fn a_checkpoint_that_says_anything_else_is_not_signed() {
        let signed = checkpoint();
        let key = SigningKey::from_seed([8; 32]).did_key();
        for forged in [
            CheckpointV1 { number: 2, ..signed.clone() },
            CheckpointV1 { sequence: 4, ..signed.clone() },
            CheckpointV1 { row_hash: Digest::of("other"), ..signed.clone() },
            CheckpointV1 { domain: "https://b.example".into(), ..signed.clone() },
            CheckpointV1 { next_after_rows: 0, ..signed.clone() },
            CheckpointV1 { public_key: key, ..signed.clone() },
            CheckpointV1 { signature: String::new(), ..signed.clone() },
        ] {
            assert!(!forged.is_signed(), "{forged:?}");
        }
    }

    #[test]
    fn a_text_that_is_not_in_jcs_form_is_no_checkpoint() {
        let text = checkpoint().text().unwrap();
        assert_eq!(CheckpointV1::read(&text.replace(':', ": ")), None);
        assert_eq!(CheckpointV1::read(&text.replace("CheckpointV1", "CheckpointV2")), None);
    }

    #[test]
    fn only_an_ed25519_key_signs_checkpoints() {
        let key = SigningKey::generate_of(KeyType::P256).unwrap();
        assert!(CheckpointSigner::new(key).is_err());
    }
}
