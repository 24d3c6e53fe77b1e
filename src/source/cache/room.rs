//! Who makes room where the cache is full.
//!
//! Papers name status lists, and peers offer Protocol Documents. Neither may keep out what the operator needs, nor one
//! what another needs, and what is here must not be here for ever because others came first. What a person put here never
//! makes room, and of what was fetched, nothing that the configuration names does.

use super::file::{self, About, FileKind, Key};
use super::{
    CachedDocument, DocumentCache, MAX_CACHE_BYTES, MAX_DOCUMENTS, MAX_PROTOCOL_BYTES,
    MAX_PROTOCOL_DOCUMENTS, Origin, SourceError,
};
use crate::protocol::ProtocolHash;
use crate::source::address::host;
use std::collections::BTreeMap;
use std::fs;

/// Protocol Documents that are kept for one host because peers offered them.
pub(super) const MAX_OFFERED_PER_HOST: usize = 32;
/// Protocol Documents that are kept in all because peers offered them.
pub(super) const MAX_OFFERED: usize = 192;

/// What the document of a URL is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worth {
    /// For nothing any more.
    Nothing,
    /// As a status list. Papers name it.
    List,
    /// As a controller's document. The configuration names it.
    Controller,
}

/// Whoever is to know what documents are wanted for.
pub(crate) type Worths<'a> = &'a dyn Fn(&str) -> Worth;

/// Who wants a Protocol Document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedBy {
    /// The configuration.
    Operator,
    /// Only a peer, who offered it.
    Peer,
}

/// A document that made room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Displaced {
    pub(crate) url: String,
    pub(crate) worth: Worth,
}

impl DocumentCache {
    /// Makes room for a document under its URL, where there is none. What nothing wants goes first, the longest
    /// unconfirmed before others; then the largest list goes, for a controller's document, or for a list that is smaller
    /// still. So a list within its even share of the cache always has a place, however large others make theirs.
    pub(super) fn make_room(
        &self,
        newcomer: &CachedDocument,
        worth: Worths<'_>,
    ) -> Result<Vec<Displaced>, SourceError> {
        let place = self.place(Key::Url(&newcomer.url));
        let in_its_place = fs::symlink_metadata(&place).ok().map(|found| found.len());
        let (mut count, size) = self.extent(FileKind::Document)?;
        let more = octets_of(newcomer);
        let mut size = size.saturating_sub(in_its_place.unwrap_or(0)).saturating_add(more);
        let is_full = |count: usize, size: u64| {
            (in_its_place.is_none() && count >= MAX_DOCUMENTS) || size > MAX_CACHE_BYTES
        };
        let mut displaced = Vec::new();
        if !is_full(count, size) {
            return Ok(displaced);
        }
        let for_controller = worth(&newcomer.url) == Worth::Controller;
        let mut spare: Vec<(Worth, About)> = self
            .fetched(FileKind::Document)?
            .into_iter()
            .filter(|about| about.url != newcomer.url)
            .map(|about| (worth(&about.url), about))
            .filter(|(worth, about)| match worth {
                Worth::Nothing => true,
                Worth::List => for_controller || about.octets > more,
                Worth::Controller => false,
            })
            .collect();
        // The last of them goes first.
        spare.sort_by_key(|(worth, about)| match worth {
            Worth::Nothing => (true, 0, std::cmp::Reverse(about.confirmed)),
            _ => (false, about.octets, std::cmp::Reverse(about.confirmed)),
        });
        while is_full(count, size)
            && let Some((worth, about)) = spare.pop()
        {
            file::remove(&about.path)?;
            count = count.saturating_sub(1);
            size = size.saturating_sub(about.file_octets);
            displaced.push(Displaced { url: about.url, worth });
        }
        Ok(displaced)
    }

    /// Makes room for a Protocol Document, where there is none: of the documents that only peers wanted, the oldest of the
    /// host that has the most. Whoever offers much displaces what was offered at the same host before it displaces
    /// anything else, and never what `is_ours`.
    pub(super) fn make_room_for_pin(
        &self,
        newcomer: &CachedDocument,
        pin: &ProtocolHash,
        wanted_by: WantedBy,
        is_ours: &dyn Fn(&ProtocolHash) -> bool,
    ) -> Result<(), SourceError> {
        if fs::symlink_metadata(self.place(Key::Pin(pin))).is_ok() {
            return Ok(());
        }
        let is_of_peer = |about: &About| about.pin.as_ref().is_some_and(|pin| !is_ours(pin));
        let mut of_peers: Vec<About> =
            self.fetched(FileKind::Protocol)?.into_iter().filter(is_of_peer).collect();
        // The last of them goes first.
        of_peers.sort_by_key(|about| std::cmp::Reverse(about.retrieved));
        let (mut count, size) = self.extent(FileKind::Protocol)?;
        let mut size = size.saturating_add(octets_of(newcomer));
        loop {
            let mut by_host: BTreeMap<&str, usize> = BTreeMap::new();
            for about in &of_peers {
                *by_host.entry(host(&about.url)).or_default() += 1;
            }
            let own = match wanted_by {
                WantedBy::Operator => 0,
                WantedBy::Peer => by_host.get(host(&newcomer.url)).copied().unwrap_or(0),
            };
            let beyond_share = own >= MAX_OFFERED_PER_HOST;
            let is_full = count >= MAX_PROTOCOL_DOCUMENTS
                || size > MAX_PROTOCOL_BYTES
                || (wanted_by == WantedBy::Peer && of_peers.len() >= MAX_OFFERED);
            if !beyond_share && !is_full {
                return Ok(());
            }
            let heaviest = by_host.iter().max_by_key(|(_, held)| **held).filter(|(_, held)| **held > own);
            let from = match heaviest {
                Some((name, _)) if !beyond_share => (*name).to_owned(),
                _ => host(&newcomer.url).to_owned(),
            };
            // Where nobody has to, what wants to be written finds the cache full.
            let Some(index) = of_peers.iter().rposition(|about| host(&about.url) == from) else {
                return Ok(());
            };
            let oldest = of_peers.remove(index);
            file::remove(&oldest.path)?;
            count = count.saturating_sub(1);
            size = size.saturating_sub(oldest.file_octets);
        }
    }

    /// What was fetched, of a kind, by the files' first lines. A file without one is nobody's to take away.
    fn fetched(&self, kind: FileKind) -> Result<Vec<About>, SourceError> {
        let mut found = Vec::new();
        for path in self.files(kind)? {
            found.extend(file::about(&path)?.filter(|about| about.origin == Origin::Fetched));
        }
        Ok(found)
    }
}

fn octets_of(document: &CachedDocument) -> u64 {
    u64::try_from(document.octets.len()).unwrap_or(u64::MAX)
}
