//! The challenge that a presentation answers: plainly, or bound to one message (`admission-and-audit.md` 2).

use crate::message::Digest;
use crate::message::digest::jcs;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

/// What every bound challenge starts with.
const BOUND: &str = "wgb1.";
/// What every challenge starts with that Writgate itself issues ([`super::issued`]).
pub(super) const ISSUED: &str = "wgi1.";
/// A shorter challenge could be guessed.
const NONCE_OCTETS: usize = 16;

/// The message that a bound challenge is for, and the challenge that the server gave out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChallengeBinding<'a> {
    /// The value that the server gave out.
    pub nonce: &'a str,
    /// The presentation's domain.
    pub domain: &'a str,
    /// The message's `messageId`.
    pub message_id: &'a str,
    /// The message's own `contextId`.
    pub context_id: Option<&'a str>,
    /// The message's own `taskId`.
    pub task_id: Option<&'a str>,
    /// The intent part's `protocolHash`.
    pub protocol_hash: &'a str,
    /// `sha256:` and the RDFC-1.0 hash of the intent graph.
    pub intent_hash: &'a str,
    /// SHA-256 over the JCS form of the message without its authorization parts.
    pub rest_digest: Digest,
}

/// The bound challenge: `wgb1.` and the base64url SHA-256 of the binding's JCS form. A presentation that answers it
/// authorizes this message and no other.
///
/// # Errors
/// A binding that JCS cannot write; no text is one.
pub fn bound_challenge(binding: &ChallengeBinding<'_>) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Versioned<'b, 'a> {
        v: u8,
        #[serde(flatten)]
        binding: &'b ChallengeBinding<'a>,
    }
    let digest = Digest::of(jcs(&Versioned { v: 1, binding })?);
    Ok(format!("{BOUND}{}", URL_SAFE_NO_PAD.encode(digest.as_bytes())))
}

/// Whether a server can have given this value out as a challenge of its own making. What Writgate issued is not judged by
/// its form.
pub(super) fn is_usable_nonce(nonce: &str) -> bool {
    is_signable_nonce(nonce) && !nonce.starts_with(ISSUED)
}

/// Whether a client makes a bound challenge from this value: it is long enough, and is no bound challenge itself, which
/// could stand for another message.
pub(crate) fn is_signable_nonce(nonce: &str) -> bool {
    nonce.len() >= NONCE_OCTETS && !nonce.starts_with(BOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding() -> ChallengeBinding<'static> {
        ChallengeBinding {
            nonce: "0123456789abcdef",
            domain: "https://server.example",
            message_id: "m1",
            context_id: Some("c1"),
            task_id: None,
            protocol_hash: "sha256:aa",
            intent_hash: "sha256:bb",
            rest_digest: Digest::of("rest"),
        }
    }

    #[test]
    fn a_bound_challenge_is_the_digest_of_its_jcs_form() {
        let rest = Digest::of("rest");
        let jcs = format!(
            "{{\"contextId\":\"c1\",\"domain\":\"https://server.example\",\"intentHash\":\"sha256:bb\",\
             \"messageId\":\"m1\",\"nonce\":\"0123456789abcdef\",\"protocolHash\":\"sha256:aa\",\
             \"restDigest\":\"{rest}\",\"taskId\":null,\"v\":1}}"
        );
        let expected = format!("wgb1.{}", URL_SAFE_NO_PAD.encode(Digest::of(jcs).as_bytes()));
        assert_eq!(bound_challenge(&binding()).unwrap(), expected);
    }

    #[test]
    fn every_member_of_a_binding_changes_the_challenge() {
        let variants = [
            ChallengeBinding { nonce: "another-nonce-16", ..binding() },
            ChallengeBinding { domain: "https://other.example", ..binding() },
            ChallengeBinding { message_id: "m2", ..binding() },
            ChallengeBinding { context_id: None, ..binding() },
            ChallengeBinding { context_id: Some("c2"), ..binding() },
            ChallengeBinding { task_id: Some("t1"), ..binding() },
            ChallengeBinding { protocol_hash: "sha256:ab", ..binding() },
            ChallengeBinding { intent_hash: "sha256:ba", ..binding() },
            ChallengeBinding { rest_digest: Digest::of("other"), ..binding() },
            binding(),
        ];
        let challenges: std::collections::BTreeSet<_> =
            variants.iter().map(|variant| bound_challenge(variant).unwrap()).collect();
        assert_eq!(challenges.len(), variants.len());
    }

    #[test]
    fn short_and_prefixed_nonces_are_not_usable() {
        for nonce in ["", "0123456789abcde", "wgb1.0123456789abcdef", "wgi1.0123456789abcdef"] {
            assert!(!is_usable_nonce(nonce), "{nonce}");
        }
        assert!(is_usable_nonce("0123456789abcdef"));
        for (nonce, signable) in
            [("0123456789abcde", false), ("wgb1.0123456789abcdef", false), ("wgi1.0123456789abcdef", true)]
        {
            assert_eq!(is_signable_nonce(nonce), signable, "{nonce}");
        }
    }
}
