//! What a configuration file says of the documents that peers offer: which of them are spoken without being named.

use super::ConfigError;
use super::file::{ConfigFile, of_source};
use crate::limits::Limits;
use crate::message::action::{default_actions, default_parameters};
use crate::protocol::{
    ActionClasses, Binding, ProtocolDocument, ProtocolHash, ProtocolRegistry, ProtocolSettings,
};
use crate::source::DocumentCache;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Which offers of peers are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AcceptOffers {
    /// Those of the documents that `[[protocols]]` names.
    #[default]
    Pinned,
    /// Those too of documents that were fetched, passed their review, and ask for listed classes alone.
    Reviewed,
}

impl ConfigFile {
    /// The documents of the cache that no `[[protocols]]` names, and whose review and classes the file accepts
    /// (`accept_offers`). None is on the card: each is known to the conversations that agree on it.
    pub(super) fn reviewed_documents(
        &self,
        named: &ProtocolRegistry,
    ) -> Result<Vec<ProtocolDocument>, ConfigError> {
        if self.accept_offers == AcceptOffers::Pinned {
            return match self.reviewed_classes.first() {
                None => Ok(Vec::new()),
                Some(_) => Err(ConfigError::new("reviewed_classes", "needs `accept_offers = \"reviewed\"`")),
            };
        }
        if self.reviewed_classes.is_empty() {
            return Err(ConfigError::new(
                "accept_offers",
                "`reviewed` accepts nothing without `reviewed_classes`, the action classes that it may accept",
            ));
        }
        let known = default_actions();
        if let Some(class) = self.reviewed_classes.iter().find(|class| !known.contains_key(*class)) {
            return Err(ConfigError::new(
                "reviewed_classes",
                format!("{class} is not in the default mapping"),
            ));
        }
        let folder = self.document_cache_path().ok_or_else(|| {
            ConfigError::new(
                "accept_offers",
                "there is no `document_cache` that reviewed documents could be in",
            )
        })?;
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let cache = DocumentCache::open(&folder).map_err(of_source)?;
        let mut documents = Vec::new();
        for hash in cache.pins().map_err(of_source)? {
            if named.find(&hash).is_some() {
                continue;
            }
            match self.reviewed_document(&cache, &hash, &known) {
                Ok(document) => documents.push(document),
                // A peer chose it: it is left out, and stops no start.
                Err(problem) => {
                    tracing::info!(protocol = %hash, problem, "an offered document is not accepted")
                }
            }
        }
        Ok(documents)
    }

    fn reviewed_document(
        &self,
        cache: &DocumentCache,
        hash: &ProtocolHash,
        known: &BTreeMap<String, String>,
    ) -> Result<ProtocolDocument, String> {
        let limits = Limits::default();
        let held = cache.pinned(hash).map_err(|cause| cause.to_string())?.ok_or("is gone")?;
        let text = String::from_utf8(held.octets).map_err(|_| "is not UTF-8")?;
        let review = ProtocolDocument::review_pinned(&text, &held.media_type, Some(hash), &limits);
        let ActionClasses::Pinned(classes) = review.classes() else {
            return Err("does not say which action classes it may ask for".to_owned());
        };
        if !review.is_allowed(&self.reviewed_classes) {
            return Err("its review refuses it, or it may ask for classes that are not listed".to_owned());
        }
        let action = |class: &String| Some((class.clone(), known.get(class)?.clone()));
        let settings = ProtocolSettings {
            hash: hash.clone(),
            actions: classes.iter().filter_map(action).collect(),
            parameters: default_parameters(),
            security_bearing: true,
            binding: Binding::default(),
            declared: false,
            name: None,
            source: held.url.parse().ok(),
        };
        ProtocolDocument::load(&text, &held.media_type, settings, &limits).map_err(|cause| cause.to_string())
    }
}
