//! Data Integrity proofs (`eddsa-rdfc-2022`).

use crate::request::Instant;

/// One proof and what its signed options say.
#[derive(Debug, Clone)]
pub(crate) struct Proof {
    pub(crate) cryptosuite: String,
    pub(crate) verification_method: String,
    /// The whole IRI of the purpose.
    pub(crate) purpose: String,
    pub(crate) created: Option<Instant>,
    pub(crate) expires: Option<Instant>,
    pub(crate) challenge: Option<String>,
    pub(crate) domain: Option<String>,
    /// hash(options) then hash(document): the signed octets.
    pub(crate) signed: Vec<u8>,
    /// The decoded signature, or why it cannot be one.
    pub(crate) signature: Option<Vec<u8>>,
}
