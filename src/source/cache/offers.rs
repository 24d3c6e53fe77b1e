//! Protocol Documents that peers offered, as files of the cache: a queue that a crash does not empty.
//!
//! One file for each offer, `SHA-256(URL, line feed, hash).offer`, one line of JSON. They are few, and the oldest makes
//! room, first of its own host and then of any: whoever offers much displaces what was offered at the same host before it
//! displaces anything else.

use super::{DocumentCache, FileKind, SourceError, file};
use crate::message::Digest;
use crate::protocol::ProtocolHash;
use crate::request::Instant;
use crate::source::address::{host, is_document_url};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

const FORMAT: &str = "writgate-offer-1";
/// Offers that are kept for one host.
pub(super) const MAX_OFFERS_PER_HOST: usize = 8;
/// Offers that are kept in all.
pub(super) const MAX_OFFERS: usize = 64;
/// Octets of one file: a URL, escaped, and what is fixed.
const MAX_OFFER_BYTES: usize = 8 << 10;

/// A Protocol Document that a peer offered and that is to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedDocument {
    /// Where it is said to be.
    pub url: String,
    /// What it must hash to.
    pub hash: ProtocolHash,
    /// When it was first offered.
    pub offered: Instant,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    format: String,
    url: String,
    hash: String,
    offered: Instant,
}

impl OfferedDocument {
    fn file_name(&self) -> String {
        let key = format!("{}\n{}", self.url, self.hash);
        format!("{}{}", Digest::of(key), FileKind::Offer.ending())
    }
}

impl DocumentCache {
    /// Queues an offer, once. Whether its host may be asked is the caller's to know.
    ///
    /// # Errors
    /// [`SourceError`]
    pub(crate) fn queue_offer(&self, offer: &OfferedDocument) -> Result<(), SourceError> {
        if !is_document_url(&offer.url) {
            return Err(SourceError::new(&offer.url, "is no URL that a document is kept under"));
        }
        let _turn = self.turn()?;
        let place = self.folder.join(offer.file_name());
        if fs::symlink_metadata(&place).is_ok() {
            return Ok(());
        }
        let mut queued = self.offered()?;
        queued.sort_by_key(|offer| offer.offered);
        let mut of_host = queued.iter().filter(|other| host(&other.url) == host(&offer.url));
        let oldest = match of_host.clone().count() {
            count if count >= MAX_OFFERS_PER_HOST => of_host.next(),
            _ if queued.len() >= MAX_OFFERS => queued.first(),
            _ => None,
        };
        if let Some(oldest) = oldest {
            file::remove(&self.folder.join(oldest.file_name()))?;
        }
        let line = Line {
            format: FORMAT.to_owned(),
            url: offer.url.clone(),
            hash: offer.hash.as_str().to_owned(),
            offered: offer.offered,
        };
        let line = serde_json::to_string(&line).map_err(|cause| SourceError::new(&offer.url, cause))?;
        self.write_file(&place, &line, &[])
    }

    /// The offers that are queued, in order of their URLs and hashes.
    ///
    /// # Errors
    /// [`SourceError`] names the first file that is no offer.
    pub fn offered(&self) -> Result<Vec<OfferedDocument>, SourceError> {
        let files = self.files(FileKind::Offer)?;
        let mut offers = Vec::new();
        for path in files {
            offers.extend(read(&path)?);
        }
        offers.sort_by(|one, other| (&one.url, &one.hash).cmp(&(&other.url, &other.hash)));
        Ok(offers)
    }

    /// Takes an offer from the queue.
    ///
    /// # Errors
    /// [`SourceError`]
    pub(crate) fn forget_offer(&self, offer: &OfferedDocument) -> Result<(), SourceError> {
        let _turn = self.turn()?;
        file::remove(&self.folder.join(offer.file_name()))
    }
}

fn read(path: &Path) -> Result<Option<OfferedDocument>, SourceError> {
    let problem = || SourceError::of(path, "is no offer of the cache");
    let Some(octets) = file::read_bounded(path, MAX_OFFER_BYTES)? else { return Ok(None) };
    let line: Line = serde_json::from_slice(&octets).map_err(|_| problem())?;
    let hash = line.hash.parse().map_err(|_| problem())?;
    let offer = OfferedDocument { url: line.url, hash, offered: line.offered };
    let named = path.file_name().is_some_and(|name| name == offer.file_name().as_str());
    if line.format != FORMAT || !named || !is_document_url(&offer.url) {
        return Err(problem());
    }
    Ok(Some(offer))
}
