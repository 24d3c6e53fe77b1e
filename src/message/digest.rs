//! SHA-256 digests, and the JCS form (RFC 8785) that message digests are taken over.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 digest. Displays as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some octets.
    pub fn of(octets: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(octets.as_ref()).into())
    }

    /// The digest of a JSON value's JCS form.
    ///
    /// # Errors
    /// A value that JCS cannot write; values of the strict reader always can.
    pub fn of_jcs(value: &Value) -> Result<Self, serde_json::Error> {
        Ok(Self::of(jcs(value)?))
    }

    /// The 32 octets.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest from its 32 octets.
    pub fn from_bytes(octets: [u8; 32]) -> Self {
        Self(octets)
    }
}

/// A value's JCS form (RFC 8785).
///
/// # Errors
/// A value that JCS cannot write.
pub(crate) fn jcs<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json_canonicalizer::to_vec(value)
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::str::FromStr for Digest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(());
        }
        let mut octets = [0u8; 32];
        for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| ())?;
            *octet = u8::from_str_radix(pair, 16).map_err(|_| ())?;
        }
        Ok(Self(octets))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| serde::de::Error::custom("not a SHA-256 digest"))
    }
}
