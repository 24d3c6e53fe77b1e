//! Where inputs come from that are not in the message: documents by URL, and revocation feeds.
//!
//! This folder owns the cache on disk of what was retrieved ([`DocumentCache`]: status lists, did:web documents, WebID
//! documents), which URL stands for which controller (`address`), and what a revocation feed says ([`RevocationFeed`]).
//! All of it is read when the configuration is loaded, never while a message is decided. Documents come into the cache by
//! [`DocumentCache::put`]: a person's (`writgate source add`), or what the guarded [`Fetcher`] (`fetch`) had from a URL.

mod address;
mod cache;
pub(crate) mod fetch;
mod revocations;

pub(crate) use address::{controller_url, is_document_url};
pub use cache::{CachedDocument, DocumentCache, SourceError};
pub use fetch::{DocumentKind, FetchError, FetchLimits, FetchPolicy, Fetched, Fetcher, Validators};
pub use revocations::RevocationFeed;
pub(crate) use revocations::statements;
