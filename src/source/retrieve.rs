//! Whom the refresh asks for documents: the guarded fetcher, or a table of answers in a test.

use super::{DocumentKind, FetchError, Fetched, Fetcher, Validators};
use std::future::Future;
use std::pin::Pin;

/// An answer that is on its way.
pub(crate) type Retrieval<'a> = Pin<Box<dyn Future<Output = Result<Fetched, FetchError>> + Send + 'a>>;

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

impl Retrieve for Fetcher {
    fn retrieve<'a>(
        &'a self,
        url: &'a str,
        kind: DocumentKind,
        known: Option<&'a Validators>,
    ) -> Retrieval<'a> {
        Box::pin(self.get(url, kind, known))
    }
}
