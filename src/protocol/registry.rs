//! Stage 2: the Protocol Documents that are spoken here, by hash.

use super::{ProtocolDocument, ProtocolHash};
use crate::message::Envelope;
use crate::refusal::{Reason, Refusal, Stage};
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
    pub(crate) fn add(&mut self, document: ProtocolDocument) {
        self.documents.insert(document.hash().clone(), Arc::new(document));
    }

    /// The document with this hash, whoever may speak it.
    pub fn find(&self, hash: &ProtocolHash) -> Option<&Arc<ProtocolDocument>> {
        self.documents.get(hash)
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
        let refuse = |reason| Refusal::new(Stage::Protocol, reason);
        let claim =
            envelope.protocol_hash_claim.as_deref().ok_or_else(|| refuse(Reason::MissingProtocolHash))?;
        let seen = |refusal: Refusal| refusal.with(|evidence| evidence.seen = Some(claim.to_owned()));
        let hash: ProtocolHash = claim.parse().map_err(|_| seen(refuse(Reason::HashPrefixUnknown)))?;
        let document = self.documents.get(&hash).ok_or_else(|| seen(refuse(Reason::UnknownProtocol)))?;
        let known = document.settings.declared || conversation.agreed.contains(hash.as_str());
        // One answer for all: who may not speak a document does not learn that it is here.
        if !known || conversation.of_another_peer {
            return Err(seen(refuse(Reason::UnknownProtocol)));
        }
        Ok(Arc::clone(document))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::message::{Digest, MessageFacts, RdfPart, Rest};
    use crate::protocol::{Binding, ProtocolSettings};
    use crate::rdf::RdfMediaType;
    use std::collections::{BTreeMap, BTreeSet};

    const DOCUMENT: &str =
        "@prefix a2a: <https://w3id.org/jeswr/a2a#>. @prefix sh: <http://www.w3.org/ns/shacl#>.
        <urn:p> a a2a:ProtocolDocument; a2a:requestShape <urn:s>.
        <urn:s> a sh:NodeShape; sh:nodeKind sh:IRI.";

    fn hash() -> ProtocolHash {
        ProtocolDocument::hash_of(DOCUMENT, "text/turtle", &Limits::default()).expect("RDF")
    }

    fn registry(declared: bool) -> ProtocolRegistry {
        let settings = ProtocolSettings {
            hash: hash(),
            actions: BTreeMap::new(),
            parameters: BTreeMap::new(),
            security_bearing: true,
            binding: Binding::Accepted,
            declared,
            name: None,
            source: None,
        };
        let mut registry = ProtocolRegistry::default();
        let loaded = ProtocolDocument::load(DOCUMENT, "text/turtle", settings, &Limits::default());
        registry.add(loaded.expect("the document is well-formed"));
        registry
    }

    fn claiming(claim: Option<String>) -> Envelope {
        let digest = Digest::of("");
        Envelope {
            facts: MessageFacts {
                message_id: String::new(),
                digest,
                context_id: None,
                context: None,
                task_id: None,
                parsed_by_caller: false,
            },
            digest,
            rest: Rest::default(),
            protocol_hash_claim: claim,
            intent: RdfPart { index: 0, media_type: RdfMediaType::Turtle, text: String::new() },
            presentation: None,
            policy_parts: Vec::new(),
            unjudged: Vec::new(),
        }
    }

    fn select(declared: bool, agreed: &[String], claim: Option<String>) -> Option<Reason> {
        let agreed = BTreeSet::from_iter(agreed.iter().cloned());
        let conversation = Conversation { agreed, ..Conversation::default() };
        registry(declared).select(&claiming(claim), &conversation).err().map(|refusal| refusal.reason())
    }

    #[test]
    fn a_declared_document_is_known_to_every_conversation() {
        assert_eq!(select(true, &[], Some(hash().to_string())), None);
    }

    #[test]
    fn an_undeclared_document_is_known_where_it_was_agreed() {
        assert_eq!(select(false, &[hash().to_string()], Some(hash().to_string())), None);
        assert_eq!(select(false, &[], Some(hash().to_string())), Some(Reason::UnknownProtocol));
    }

    #[test]
    fn an_agreement_makes_no_document_known_that_is_not_pinned() {
        let other = format!("sha256:{}", "0".repeat(64));
        assert_eq!(
            select(true, std::slice::from_ref(&other), Some(other.clone())),
            Some(Reason::UnknownProtocol)
        );
    }

    #[test]
    fn a_missing_claim_is_refused() {
        assert_eq!(select(true, &[], None), Some(Reason::MissingProtocolHash));
    }

    #[test]
    fn a_hash_is_never_compared_loosely() {
        let digits = hash().as_str().replace("sha256:", "");
        for claim in [
            digits.clone(),
            format!("sha512:{digits}"),
            format!("SHA256:{digits}"),
            format!("sha256:{}", digits.to_uppercase()),
            format!("sha256:{digits} "),
            format!("sha256:{digits}0"),
            String::new(),
        ] {
            assert_eq!(select(true, &[], Some(claim.clone())), Some(Reason::HashPrefixUnknown), "{claim}");
        }
    }
}
