//! The protocol hash (HASH-1..3).

use std::fmt;
use std::str::FromStr;

/// `sha256:` and 64 lower-case hexadecimal digits, over the RDFC-1.0 form of a document's whole graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProtocolHash(String);

/// Not a protocol hash. Never compared loosely: another prefix, case or length is refused (HASH-2, HASH-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a protocol hash is `sha256:` and 64 lower-case hexadecimal digits")]
pub struct ProtocolHashError;

impl ProtocolHash {
    /// The hash of a graph, given its canonical N-Quads.
    pub(crate) fn of_canonical(canonical_nquads: &str) -> Self {
        Self(format!("sha256:{}", crate::message::Digest::of(canonical_nquads)))
    }

    /// The hash in text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProtocolHash {
    type Err = ProtocolHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("sha256:").ok_or(ProtocolHashError)?;
        digits.parse::<crate::message::Digest>().map_err(|()| ProtocolHashError)?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for ProtocolHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
