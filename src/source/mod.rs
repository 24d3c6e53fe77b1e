//! Where inputs come from that are not in the message: documents by URL, and revocation feeds.
//!
//! This folder owns the cache on disk of what was retrieved ([`DocumentCache`]: status lists, did:web documents, WebID
//! documents, Protocol Documents), which URL stands for which controller (`address`), what a revocation feed says
//! ([`RevocationFeed`]), and how the cache is kept up to date: [`refresh()`] asks for what a [`FetchPlan`] names, and
//! [`OfferedDocuments`] queues what peers offer. All of it is read when the configuration is loaded, never while a message
//! is decided. Only the guarded [`Fetcher`] (`fetch`) reaches for the network, only the refresh calls it, and nothing that
//! came from there replaces what is held before it was checked.

mod address;
mod cache;
pub(crate) mod fetch;
mod offers;
mod plan;
mod refresh;
mod retrieve;
mod revocations;

pub(crate) use address::{controller_url, host, is_document_url, is_host, port};
pub use cache::{CachedDocument, DocumentCache, OfferedDocument, Origin, PinError, SourceError};
pub use fetch::{DocumentKind, FetchError, FetchLimits, FetchPolicy, Fetched, Fetcher, Validators};
pub use offers::OfferedDocuments;
pub use plan::{FetchHosts, FetchPlan};
pub use refresh::{DocumentState, RefreshReport, Refreshed, Verdict, dry_run, refresh, state};
pub(crate) use refresh::{is_json, is_status_list};
pub use revocations::RevocationFeed;
pub(crate) use revocations::statements;

use crate::protocol::ProtocolHash;
use crate::protocol::handshake::ProtocolSource;

/// Where an offer of a peer leaves a document to be fetched. [`OfferedDocuments`] is one.
pub trait DocumentQueue: Send + Sync + std::fmt::Debug {
    /// Queues a document, or does not. Whoever calls learns nothing, neither by an answer nor by the time it takes, and
    /// waits for no disk and no network.
    fn want(&self, source: &ProtocolSource, hash: &ProtocolHash);
}
