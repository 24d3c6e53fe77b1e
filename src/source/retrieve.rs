//! What the refresh asks for documents: the guarded fetcher, or a table of answers in a test.

use super::SourceError;
use std::future::Future;
use std::pin::Pin;

/// What a server says of a document's state, to be asked about later (RFC 9110 8.8).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
}

/// What is expected at a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentKind {
    /// A Protocol Document.
    ProtocolDocument,
    /// A controller document.
    Controller,
    /// A status list.
    StatusList,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The document.
    Document {
        /// Its octets.
        octets: Vec<u8>,
        /// The media type that it came with.
        media_type: String,
        /// What to ask with next time.
        validators: Validators,
    },
    /// What we have is current.
    NotModified,
}

/// An answer that is on its way.
pub(crate) type Retrieval<'a> = Pin<Box<dyn Future<Output = Result<Fetched, SourceError>> + Send + 'a>>;

/// Whoever gets documents by their URL.
pub(crate) trait Retrieve: Send + Sync {
    /// Asks for a document; where `known` is given, whether there is another one than that.
    fn retrieve<'a>(
        &'a self,
        url: &'a str,
        kind: DocumentKind,
        known: Option<&'a Validators>,
    ) -> Retrieval<'a>;
}
