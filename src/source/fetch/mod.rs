//! The guarded fetcher: one document from a URL that somebody else chose.
//!
//! This folder owns every connection that the library makes. A URL in a card, an offer or a credential is a peer's
//! choice, so a fetch is held to what no URL can talk it out of: https to a named host (`place`), addresses that are
//! global unicast, judged after resolution and dialled as judged (`address_rule`, `dial`), bounds on octets, fields and
//! seconds (`policy`, `meter`), and an answer that has one reading (`exchange`, `body`). It is built on hyper's plain
//! connection. What a fuller client would have to be told not to do (proxies from the environment, pooled connections,
//! alternative services, cookies, redirects, HTTP/2, resolution inside) does not exist here. Rules: `message-binding.md`
//! 3 and the statements SEC-7 to SEC-10.
//!
//! No decision calls it: `evaluate` reads the snapshot, and a test holds the decision's code to not naming this module.
//! What is fetched is not yet believed; whoever asked verifies a hash or a proof before any other use (SEC-11).

mod address_rule;
mod body;
mod dial;
mod error;
mod exchange;
mod meter;
mod place;
mod policy;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod validators;

use address_rule::AddressRule;
use dial::{Dialler, Network, System};
pub use error::FetchError;
use exchange::{Answered, Question};
use meter::Allowance;
use place::Place;
pub use policy::{DocumentKind, FetchLimits, FetchPolicy};
use std::sync::Arc;
use std::time::Duration;
pub use validators::Validators;

/// Redirects that are followed where they are followed at all.
const MAX_REDIRECTS: usize = 3;
/// Octets that a connection may take beyond head and body: certificates, and what TLS and chunks add.
const OVERHEAD_BYTES: usize = 128 << 10;

/// What came of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The document.
    Document {
        /// Its octets, decoded.
        octets: Vec<u8>,
        /// The media type that it came with, parameters included.
        media_type: String,
        /// By what the server recognises it, to be given with the next fetch.
        validators: Validators,
    },
    /// It is still the one that the validators are of.
    NotModified,
}

/// Gets documents, under one policy. Cheap to clone; holds no connection and remembers nothing.
#[derive(Debug, Clone)]
pub struct Fetcher {
    policy: Arc<FetchPolicy>,
    dialler: Dialler,
}

impl Fetcher {
    /// A fetcher under a policy.
    ///
    /// # Errors
    /// [`FetchError::LimitOutOfRange`], [`FetchError::AllowedPortMalformed`], [`FetchError::TrustAnchorsMalformed`] and
    /// [`FetchError::TlsConfiguration`]: the policy cannot be kept to.
    pub fn new(policy: FetchPolicy) -> Result<Self, FetchError> {
        Self::over(policy, Arc::new(System), AddressRule::GlobalUnicast)
    }

    fn over(policy: FetchPolicy, network: Arc<dyn Network>, rule: AddressRule) -> Result<Self, FetchError> {
        policy.check()?;
        let tls = Arc::new(dial::tls_configuration(&policy.trust_anchors)?);
        let dialler = Dialler { network, rule, tls, connect_seconds: policy.limits.connect_seconds };
        Ok(Self { policy: Arc::new(policy), dialler })
    }

    /// Gets the document at a URL, or learns that it is still the one that `known` came with. To be awaited in a tokio
    /// runtime with time and I/O enabled (tokio panics in one without). Dropping the future closes the connection.
    ///
    /// A resolution that the system has begun cannot be stopped; its thread ends when the system's resolver gives up,
    /// so a program that must end at once shuts its runtime down with `shutdown_background`.
    ///
    /// # Errors
    /// [`FetchError`], which is for the operator: it is not to be told to whoever chose the URL.
    pub async fn get(
        &self,
        url: &str,
        kind: DocumentKind,
        known: Option<&Validators>,
    ) -> Result<Fetched, FetchError> {
        let place = Place::of(url)?;
        self.check_port(&place)?;
        if known.is_some_and(|known| !known.are_valid()) {
            return Err(FetchError::ValidatorMalformed);
        }
        // Without a runtime, tokio would panic.
        tokio::runtime::Handle::try_current().map_err(|_| FetchError::NoRuntime)?;
        let total = Duration::from_secs(self.policy.limits.total_seconds);
        tokio::time::timeout(total, self.follow(place, kind, known))
            .await
            .map_err(|_| FetchError::TotalTimeout)?
    }

    fn check_port(&self, place: &Place) -> Result<(), FetchError> {
        if self.policy.allows_port(&place.host, place.port) {
            Ok(())
        } else {
            Err(FetchError::PortNotAllowed)
        }
    }

    /// One hop after another, each resolved, judged and dialled anew.
    async fn follow(
        &self,
        mut place: Place,
        kind: DocumentKind,
        known: Option<&Validators>,
    ) -> Result<Fetched, FetchError> {
        for _ in 0..=MAX_REDIRECTS {
            match self.hop(&Question { place: &place, kind, known }).await? {
                Answered::Document { octets, media_type, validators } => {
                    return Ok(Fetched::Document { octets, media_type, validators });
                }
                Answered::NotModified => return Ok(Fetched::NotModified),
                Answered::Redirect { status, .. } if !self.policy.same_origin_redirects => {
                    return Err(FetchError::Redirected { status });
                }
                Answered::Redirect { location, .. } => {
                    place = place.redirected(&location.ok_or(FetchError::RedirectMalformed)?)?;
                }
            }
        }
        Err(FetchError::RedirectTooMany)
    }

    async fn hop(&self, question: &Question<'_>) -> Result<Answered, FetchError> {
        let allowance = self.allowance(question.kind);
        let connection = self.dialler.dial(question.place, &allowance).await;
        let answered = match connection {
            Ok(connection) => exchange::ask(connection, question, &self.policy).await,
            Err(cause) => Err(cause),
        };
        // Whatever it looked like from above, this is what ended the connection.
        answered.map_err(|cause| if allowance.is_used_up() { FetchError::TransferTooLarge } else { cause })
    }

    /// Octets that a connection may take in all: a body may come in chunks that are as large as what is in them.
    fn allowance(&self, kind: DocumentKind) -> Allowance {
        let (body, _) = self.policy.body_bounds(kind);
        Allowance::of(2 * body + self.policy.limits.header_bytes + OVERHEAD_BYTES)
    }
}
