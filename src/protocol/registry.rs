//! Stage 2: the Protocol Documents that are spoken here, by hash.

use super::{ProtocolDocument, ProtocolHash};
use crate::message::Envelope;
use crate::refusal::{Refusal, Stage};
use crate::request::Conversation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The documents that the operator pinned, and nothing else.
#[derive(Debug, Default, Clone)]
pub struct ProtocolRegistry {
    documents: BTreeMap<ProtocolHash, Arc<ProtocolDocument>>,
}

impl ProtocolRegistry {
    /// Adds a loaded document under its hash.
    pub fn add(&mut self, document: ProtocolDocument) {
        self.documents.insert(document.hash().clone(), Arc::new(document));
    }

    /// The documents, in order of their hashes.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ProtocolDocument>> {
        self.documents.values()
    }

    /// Finds the document that an intent claims, if this conversation knows it (PP-7).
    ///
    /// # Errors
    /// `MISSING_PROTOCOL_HASH`, `HASH_PREFIX_UNKNOWN`, `UNKNOWN_PROTOCOL`.
    pub(crate) fn select(
        &self,
        envelope: &Envelope,
        conversation: &Conversation,
    ) -> Result<Arc<ProtocolDocument>, Refusal> {
        let _ = (envelope, conversation);
        Err(Refusal::internal(Stage::Protocol, "not implemented"))
    }
}
