//! What a policy says, nothing dropped.

/// A policy as it was read. One that this profile cannot use is kept as such, and denies the whole chain in phase D.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    id: String,
}

impl Policy {
    /// The policy's id: `odrl:uid`, else its node's IRI.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}
