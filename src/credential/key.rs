//! Public keys: Multikey, JWK (Ed25519 only for now) and did:key, in their one accepted spelling each.

/// A public key that a suite can verify with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// Ed25519, a canonical point that is not of small order.
    Ed25519(ed25519_dalek::VerifyingKey),
}
