//! What the operator lets the fetcher do.

use super::error::FetchError;
use crate::source::address::is_document_url;
use std::collections::BTreeSet;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::{PemObject as _, SectionKind};

/// The port of https.
pub(super) const HTTPS_PORT: u16 = 443;
/// The most that a limit may be raised to. A fetch holds one body in memory, coded and decoded.
const MAX_BYTES: usize = 16 << 20;
const MAX_SECONDS: u64 = 600;
const MAX_HEADERS: usize = 1_024;

/// What a document is expected to be. It says what is asked for, and how large the answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    /// A Protocol Document (PDM-1): RDF.
    ProtocolDocument,
    /// The document of a controller: did:web, or a WebID.
    Controller,
    /// A status list credential.
    StatusList,
}

impl DocumentKind {
    /// The `Accept` field. What comes is judged by whoever reads it, so a server's other idea does no harm here.
    pub(super) fn accept(self) -> &'static str {
        match self {
            Self::ProtocolDocument => "text/turtle, application/ld+json;q=0.9",
            Self::Controller => {
                "application/did, application/did+ld+json;q=0.9, application/did+json;q=0.9, \
                 application/ld+json;q=0.8, application/json;q=0.7"
            }
            Self::StatusList => {
                "application/vc, application/vc+jwt;q=0.9, application/ld+json;q=0.8, application/json;q=0.7, \
                 text/turtle;q=0.5"
            }
        }
    }

    /// Octets that a document of this kind may have, whatever the limits say: what its reader takes
    /// (`Limits::graph_bytes`, `Limits::status_list_bytes`), and no more.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::ProtocolDocument | Self::Controller => 256 << 10,
            Self::StatusList => 1 << 20,
        }
    }
}

/// The bounds of one fetch (SEC-9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchLimits {
    /// Octets of a body as it is transferred; a kind of document may have fewer. 1 MiB, which a status list may have.
    pub body_bytes: usize,
    /// Octets of a body once its GZIP is decompressed; a kind may have fewer. 1 MiB.
    pub decoded_bytes: usize,
    /// Octets of an answer's head. 16 KiB.
    pub header_bytes: usize,
    /// Fields of an answer's head. 64.
    pub headers: usize,
    /// Seconds for resolution, connection and TLS handshake together, in each hop. 5.
    pub connect_seconds: u64,
    /// Seconds from the request to the end of the answer's head, in each hop. 10.
    pub header_seconds: u64,
    /// Seconds for everything, redirects included, however slowly it trickles. 20.
    pub total_seconds: u64,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            decoded_bytes: 1 << 20,
            header_bytes: 16 << 10,
            headers: 64,
            connect_seconds: 5,
            header_seconds: 10,
            total_seconds: 20,
        }
    }
}

impl FetchLimits {
    /// A limit that bounds nothing, or nothing can come through, is a mistake that is found before the first fetch.
    pub(super) fn check(&self) -> Result<(), FetchError> {
        let octets = |value| u64::try_from(value).unwrap_or(u64::MAX);
        let most = octets(MAX_BYTES);
        for (limit, value, least, most) in [
            ("body_bytes", octets(self.body_bytes), 1, most),
            ("decoded_bytes", octets(self.decoded_bytes), 1, most),
            ("header_bytes", octets(self.header_bytes), 1, most),
            ("headers", octets(self.headers), 1, octets(MAX_HEADERS)),
            ("connect_seconds", self.connect_seconds, 1, MAX_SECONDS),
            ("header_seconds", self.header_seconds, 1, MAX_SECONDS),
            ("total_seconds", self.total_seconds, 1, MAX_SECONDS),
        ] {
            if value < least || value > most {
                return Err(FetchError::LimitOutOfRange { limit });
            }
        }
        Ok(())
    }
}

/// What the operator lets the fetcher do. By default: https on port 443, certificates by the public authorities, no
/// redirects. Which addresses are dialled is not configurable.
#[derive(Debug, Clone, Default)]
pub struct FetchPolicy {
    pub(super) ports: BTreeSet<(String, u16)>,
    pub(super) trust_anchors: Vec<CertificateDer<'static>>,
    pub(super) same_origin_redirects: bool,
    pub(super) limits: FetchLimits,
}

impl FetchPolicy {
    /// The strictest policy.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows one port beyond 443 at one host, which is compared exactly. Its address is judged all the same.
    #[must_use]
    pub fn allow_port(mut self, host: impl Into<String>, port: u16) -> Self {
        self.ports.insert((host.into(), port));
        self
    }

    /// Trusts further certificate authorities, beside the public ones: for every host, so they must be the operator's.
    ///
    /// # Errors
    /// [`FetchError::TrustAnchorsMalformed`]: not one or more certificates in PEM, and nothing else.
    pub fn with_trust_anchors_pem(mut self, pem: &str) -> Result<Self, FetchError> {
        let mut found = Vec::new();
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes()) {
            match section {
                Ok((SectionKind::Certificate, octets)) => found.push(CertificateDer::from(octets)),
                // A private key in this place is a mistake that should be seen.
                Ok(_) | Err(_) => return Err(FetchError::TrustAnchorsMalformed),
            }
        }
        let mut store = RootCertStore::empty();
        let readable = found.iter().all(|certificate| store.add(certificate.clone()).is_ok());
        if found.is_empty() || !readable {
            return Err(FetchError::TrustAnchorsMalformed);
        }
        self.trust_anchors.extend(found);
        Ok(self)
    }

    /// Whether redirects are followed, at most three of them, within the same scheme, host and port (SEC-10). Off by
    /// default.
    #[must_use]
    pub fn follow_same_origin_redirects(mut self, follow: bool) -> Self {
        self.same_origin_redirects = follow;
        self
    }

    /// Other bounds than the default ones.
    #[must_use]
    pub fn with_limits(mut self, limits: FetchLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(super) fn check(&self) -> Result<(), FetchError> {
        self.limits.check()?;
        // An entry that can match no URL is a spelling mistake.
        let usable = |(host, port): &(String, u16)| {
            let plain = !host.contains(['/', '?', ':', '#']);
            *port != 0 && plain && is_document_url(&format!("https://{host}/"))
        };
        if self.ports.iter().all(usable) { Ok(()) } else { Err(FetchError::AllowedPortMalformed) }
    }

    pub(super) fn allows_port(&self, host: &str, port: u16) -> bool {
        port == HTTPS_PORT || self.ports.iter().any(|(name, number)| name == host && *number == port)
    }

    /// Octets of a document of one kind as they are transferred, and once they are decoded.
    pub(super) fn body_bounds(&self, kind: DocumentKind) -> (usize, usize) {
        (self.limits.body_bytes.min(kind.bytes()), self.limits.decoded_bytes.min(kind.bytes()))
    }
}
