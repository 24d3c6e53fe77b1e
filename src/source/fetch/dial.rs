//! The way to a place: one resolution, every answer judged, and a secured connection to an address that was judged.
//!
//! What was checked is what is dialled, because both are one value: a name is resolved once for each connection, and
//! from there on there are addresses only. A name server that answers otherwise the second time is not asked a second
//! time. The connected socket's peer is held against the address once more, for what may stand between.

use super::address_rule::AddressRule;
use super::error::FetchError;
use super::meter::{Allowance, Metered};
use super::place::Place;
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};

/// Addresses of one name that are judged. More are a name server's game.
const MAX_ADDRESSES: usize = 64;
/// Addresses of one name that are tried.
const MAX_TRIED: usize = 4;

pub(super) type Connection = TlsStream<Metered<TcpStream>>;
pub(super) type Answer<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// What the system does for a connection. Tests answer in its place.
pub(super) trait Network: fmt::Debug + Send + Sync {
    /// The addresses of a name.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Vec<IpAddr>>;
    /// A connection to an address.
    fn connect(&self, address: SocketAddr) -> Answer<'_, TcpStream>;
}

/// The system's resolver and its sockets.
#[derive(Debug)]
pub(super) struct System;

impl Network for System {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Vec<IpAddr>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, port)).await?;
            // One more than allowed is enough to refuse.
            Ok(found.map(|address| address.ip()).take(MAX_ADDRESSES + 1).collect())
        })
    }

    fn connect(&self, address: SocketAddr) -> Answer<'_, TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}

/// How connections are secured: TLS 1.2 or 1.3 with the public authorities and the operator's, HTTP/1.1 only, and
/// nothing that outlives a connection (a session that is resumed tells a server who comes back).
pub(super) fn tls_configuration(anchors: &[CertificateDer<'static>]) -> Result<ClientConfig, FetchError> {
    // Named here: a default provider of the process could be any.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut configuration = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| FetchError::TlsConfiguration)?
        .with_root_certificates(authorities(anchors)?)
        .with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    configuration.resumption = rustls::client::Resumption::disabled();
    Ok(configuration)
}

/// The public authorities, and the operator's.
pub(super) fn authorities(anchors: &[CertificateDer<'static>]) -> Result<RootCertStore, FetchError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for anchor in anchors {
        roots.add(anchor.clone()).map_err(|_| FetchError::TrustAnchorsMalformed)?;
    }
    Ok(roots)
}

/// Makes connections.
#[derive(Debug, Clone)]
pub(super) struct Dialler {
    pub network: Arc<dyn Network>,
    pub rule: AddressRule,
    pub tls: Arc<ClientConfig>,
    pub connect_seconds: u64,
}

impl Dialler {
    /// A secured connection to a place, whose peer can make us take no more octets than allowed.
    pub(super) async fn dial(&self, place: &Place, allowance: &Allowance) -> Result<Connection, FetchError> {
        let begun = Instant::now();
        let end = begun + Duration::from_secs(self.connect_seconds);
        let late = |_| FetchError::ConnectTimeout;
        let addresses = timeout_at(end, self.addresses(place)).await.map_err(late)??;
        let stream = self.connect(&addresses, place.port, end).await?;
        let name = ServerName::try_from(place.host.clone()).map_err(|_| FetchError::NotADocumentUrl)?;
        let metered = Metered::new(stream, allowance.clone());
        let secured = TlsConnector::from(Arc::clone(&self.tls)).connect(name, metered);
        timeout_at(end, secured).await.map_err(late)?.map_err(|cause| tls_error(&cause))
    }

    /// The addresses of a place, all of which may be dialled. One that may not spoils the others: a name that is public
    /// and internal at once is an attack or a mistake, and which address would be taken is chance.
    async fn addresses(&self, place: &Place) -> Result<Vec<IpAddr>, FetchError> {
        let found = self.network.resolve(&place.host, place.port).await;
        let found = found.map_err(|cause| FetchError::ResolutionFailed { kind: cause.kind() })?;
        for address in &found {
            self.judge(*address)?;
        }
        if found.is_empty() || found.len() > MAX_ADDRESSES {
            return Err(FetchError::AddressCount);
        }
        Ok(found)
    }

    fn judge(&self, address: IpAddr) -> Result<(), FetchError> {
        match self.rule.forbids(address) {
            None => Ok(()),
            Some(why) => {
                tracing::warn!(%address, why, "an address is not dialled");
                Err(FetchError::AddressForbidden)
            }
        }
    }

    /// The first of the addresses that answers. Each has its share of the time, so that a dead one does not use it up.
    async fn connect(&self, addresses: &[IpAddr], port: u16, end: Instant) -> Result<TcpStream, FetchError> {
        let tried = addresses.len().min(MAX_TRIED);
        let mut last = FetchError::AddressCount;
        for (index, address) in addresses.iter().take(tried).enumerate() {
            let dialled = SocketAddr::new(*address, port);
            let left = end.saturating_duration_since(Instant::now());
            let share = u32::try_from(tried - index).map_or(left, |share| left / share);
            match timeout_at(Instant::now() + share, self.network.connect(dialled)).await {
                Ok(Ok(stream)) => {
                    self.judge_peer(dialled, &stream)?;
                    return Ok(stream);
                }
                Ok(Err(cause)) => last = FetchError::ConnectFailed { kind: cause.kind() },
                Err(_) => last = FetchError::ConnectTimeout,
            }
        }
        Err(last)
    }

    fn judge_peer(&self, dialled: SocketAddr, stream: &TcpStream) -> Result<(), FetchError> {
        let peer = stream.peer_addr().map_err(|cause| FetchError::ConnectFailed { kind: cause.kind() })?;
        if peer.ip().to_canonical() != dialled.ip().to_canonical() || peer.port() != dialled.port() {
            return Err(FetchError::PeerAddressChanged);
        }
        self.judge(peer.ip())
    }
}

/// Which of the ways in which TLS fails.
fn tls_error(cause: &io::Error) -> FetchError {
    let inner = cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(problem)) => match problem {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                FetchError::CertificateOfAnotherName
            }
            // The second is an authority that only has the name of a trusted one.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                FetchError::CertificateUntrusted
            }
            _ => FetchError::CertificateInvalid,
        },
        Some(_) => FetchError::TlsFailed,
        None if cause.kind() == ErrorKind::UnexpectedEof => FetchError::ClosedEarly,
        None => FetchError::TlsFailed,
    }
}
