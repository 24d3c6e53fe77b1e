//! Our card's entry.

use super::FORMATS;
use crate::config::Config;
use crate::protocol::ProtocolDocument;
use crate::vocab::EXTENSION;
use a2a::AgentExtension;
use serde_json::{Value, json};
use std::collections::HashMap;

const DESCRIPTION: &str = "Decides RDF intents, validated by SHACL under Protocol Documents that are pinned by hash, on \
                           verifiable mandates.";

impl Config {
    /// The extension's entry for our Agent Card (`capabilities.extensions`): required only if the configuration says so
    /// (DECL-3), with the documents that it declares. `writgate card` prints it.
    pub fn agent_extension(&self) -> AgentExtension {
        let declared = self.protocols.iter().filter_map(|document| declaration(document));
        AgentExtension {
            uri: EXTENSION.to_owned(),
            description: Some(DESCRIPTION.to_owned()),
            required: Some(self.extension_required),
            params: Some(HashMap::from([
                ("formats".to_owned(), json!(FORMATS)),
                ("nlNegotiation".to_owned(), json!(true)),
                ("protocolDocuments".to_owned(), declared.collect()),
            ])),
        }
    }
}

/// A declared document has a source: without one no configuration is built.
fn declaration(document: &ProtocolDocument) -> Option<Value> {
    let source = document.source().filter(|_| document.settings.declared)?;
    Some(json!({
        "name": document.name(), "source": source.as_str(), "hash": document.hash().as_str(),
    }))
}
