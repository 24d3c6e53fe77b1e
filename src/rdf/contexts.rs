//! The JSON-LD contexts that are known, each pinned by URL and SHA-256. Nothing else is ever loaded (SEC-2).

use crate::message::Digest;
use serde_json::Value;
use std::sync::OnceLock;

/// The context that every paper names first.
pub(crate) const CREDENTIALS_V2: &str = "https://www.w3.org/ns/credentials/v2";

/// A context whose text has the digest that it is pinned to.
pub(crate) struct PinnedContext {
    pub(crate) url: &'static str,
    /// The document, as published.
    pub(crate) text: &'static str,
    /// The value of its `@context` member.
    pub(crate) context: Value,
}

/// The pinned context of exactly this URL.
pub(crate) fn pinned(url: &str) -> Option<&'static PinnedContext> {
    all().iter().find(|context| context.url == url)
}

/// All pinned contexts, verified once in a process.
pub(crate) fn all() -> &'static [PinnedContext] {
    static CONTEXTS: OnceLock<Vec<PinnedContext>> = OnceLock::new();
    CONTEXTS.get_or_init(|| PINS.iter().filter_map(|(url, digest, text)| verify(url, digest, text)).collect())
}

/// A context whose text is not the pinned one is not available.
fn verify(url: &'static str, digest: &str, text: &'static str) -> Option<PinnedContext> {
    if Digest::of(text).to_string() != digest {
        return None;
    }
    let mut document: Value = serde_json::from_str(text).ok()?;
    let context = document.get_mut("@context")?.take();
    Some(PinnedContext { url, text, context })
}

const PINS: &[(&str, &str, &str)] = &[
    (
        CREDENTIALS_V2,
        "8a9f494a89ecc51db093e90e84713e07e84d6d9204364a9b3c7868b21751236f",
        ssi_contexts::CREDENTIALS_V2,
    ),
    (
        "https://w3id.org/security/data-integrity/v2",
        "0f77743daf5b4e8fc067fc5ba5b21044283053aa717fc6b0219843bed3b00363",
        ssi_contexts::W3ID_DATA_INTEGRITY_V2,
    ),
    (
        "https://www.w3.org/ns/did/v1",
        "4f3eae5568c9c5f036a082088f9e192019ee06faa78973c87ff91d5421b88dad",
        ssi_contexts::DID_V1,
    ),
    (
        "http://www.w3.org/ns/odrl.jsonld",
        "88e7f9f9048f7c4997ecdd09dd82f864f92eb267ef3d4297dd7db971132583c1",
        ssi_contexts::ODRL,
    ),
    (
        "https://www.w3.org/ns/odrl.jsonld",
        "88e7f9f9048f7c4997ecdd09dd82f864f92eb267ef3d4297dd7db971132583c1",
        ssi_contexts::ODRL,
    ),
    // The W3C cryptosuite vectors use this context, whose @vocab would define every term: never outside of tests.
    #[cfg(test)]
    (
        "https://www.w3.org/ns/credentials/examples/v2",
        "e6600df812cdc1872f20b42ab0c1cecac39755b7ed381e7f6a88dac7baab54d6",
        ssi_contexts::CREDENTIALS_EXAMPLES_V2,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pinned_context_has_its_digest() {
        for (url, digest, text) in PINS {
            assert_eq!(Digest::of(text).to_string(), *digest, "{url}");
            assert_eq!(pinned(url).map(|context| context.text), Some(*text), "{url}");
        }
    }

    #[test]
    fn a_context_with_another_digest_is_not_available() {
        let (url, digest, text) = PINS[0];
        assert!(verify(url, digest, text).is_some());
        assert!(verify(url, PINS[1].1, text).is_none());
    }

    #[test]
    fn urls_are_compared_exactly() {
        for url in ["https://www.w3.org/ns/credentials/v2/", "https://www.w3.org/ns/credentials/v1", "", "x"]
        {
            assert!(pinned(url).is_none(), "{url}");
        }
    }
}
