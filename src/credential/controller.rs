//! Controller documents: whose a key is, and for what.

use crate::request::Instant;
use serde_json::Value;
use std::collections::BTreeMap;

/// Controlled identifier documents, by id, with the instant at which each was retrieved. Filled off the decision path.
#[derive(Debug, Clone, Default)]
pub struct ControllerDocuments {
    documents: BTreeMap<String, (Value, Instant)>,
}

impl ControllerDocuments {
    /// Adds a document, read strictly by the caller, under its `id`.
    pub fn insert(&mut self, id: impl Into<String>, document: Value, retrieved: Instant) {
        self.documents.insert(id.into(), (document, retrieved));
    }

    /// The document of `id` and the instant at which it was retrieved.
    pub fn find(&self, id: &str) -> Option<(&Value, Instant)> {
        self.documents.get(id).map(|(document, retrieved)| (document, *retrieved))
    }

    /// All documents, in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value, Instant)> {
        self.documents.iter().map(|(id, (document, retrieved))| (id.as_str(), document, *retrieved))
    }
}
