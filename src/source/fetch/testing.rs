//! A server that does what it is told, and a network that leads to it. For tests of the fetcher and of what calls it.

use super::address_rule::AddressRule;
use super::dial::{Answer, Network, System};
use super::{DocumentKind, FetchError, FetchLimits, FetchPolicy, Fetched, Fetcher};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{HandshakeKind, ServerConfig};

/// The host of every test server.
pub(crate) const HOST: &str = "documents.example";

/// One thing that a server does.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    /// The octets, so many times.
    Repeat(Vec<u8>, usize),
    Wait(Duration),
    /// Neither sends nor closes any more.
    Hang,
    /// Closes without the end that TLS has.
    Cut,
}

pub(crate) fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

/// An answer with a length, and so many further fields.
pub(crate) fn answer(status: &str, fields: &str, body: impl AsRef<[u8]>) -> Vec<Step> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{fields}\r\n", body.len());
    vec![send(head), send(body)]
}

/// A document in Turtle.
pub(crate) fn document(body: impl AsRef<[u8]>) -> Vec<Step> {
    answer("200 OK", "Content-Type: text/turtle\r\n", body)
}

/// What a server has instead of a good certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Good,
    /// A certificate for another host.
    OtherName,
    /// By an authority that nobody trusts.
    OtherAuthority,
    /// By one that has the name of the trusted one.
    FalseAuthority,
    Expired,
    /// Speaks HTTP/2 only.
    Http2,
    /// Accepts, and says nothing.
    Silent,
}

type Script = Arc<dyn Fn(&str) -> Vec<Step> + Send + Sync>;

/// What a server has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub connections: AtomicUsize,
    /// Whether each handshake was a new one.
    pub handshakes: Mutex<Vec<Option<HandshakeKind>>>,
    /// The heads of the requests.
    pub requests: Mutex<Vec<String>>,
    /// Octets of answers that the system took.
    pub written: AtomicUsize,
    /// Connections that the other side closed while they were watched for it.
    pub closed: AtomicUsize,
}

/// A server on loopback, in the runtime of the test.
pub(crate) struct Server {
    pub port: u16,
    pub seen: Arc<Seen>,
}

impl Server {
    /// A server that answers each request as the script says.
    pub(crate) async fn new(script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::with(Channel::Good, script).await
    }

    pub(crate) async fn with(
        channel: Channel,
        script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let server = Self { port: listener.local_addr().unwrap().port(), seen: Arc::default() };
        let seen = Arc::clone(&server.seen);
        let script: Script = Arc::new(script);
        let acceptor = TlsAcceptor::from(Arc::new(server_configuration(channel)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                seen.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, script, acceptor) = (Arc::clone(&seen), Arc::clone(&script), acceptor.clone());
                tokio::spawn(async move {
                    if channel == Channel::Silent {
                        std::future::pending::<()>().await;
                    }
                    if let Ok(stream) = acceptor.accept(stream).await {
                        seen.handshakes.lock().unwrap().push(stream.get_ref().1.handshake_kind());
                        serve(stream, &script, &seen).await;
                    }
                });
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{HOST}:{}{path}", self.port)
    }

    pub(crate) fn network(&self) -> TestNetwork {
        TestNetwork::answering(vec![vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]])
    }

    /// The strictest policy under which this server can be reached.
    pub(crate) fn policy(&self) -> FetchPolicy {
        let policy = FetchPolicy::new().allow_port(HOST, self.port).with_limits(limits(|_| {}));
        policy.with_trust_anchors_pem(&AUTHORITY.pem).unwrap()
    }

    /// Gets a document from here.
    pub(crate) async fn get(&self, policy: FetchPolicy) -> Result<Fetched, FetchError> {
        let fetcher = self.fetcher(policy);
        fetcher.get(&self.url("/d"), DocumentKind::ProtocolDocument, None).await
    }

    pub(crate) fn fetcher(&self, policy: FetchPolicy) -> Fetcher {
        fetcher(policy, self.network())
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap().clone()
    }
}

/// A fetcher that may dial loopback.
pub(crate) fn fetcher(policy: FetchPolicy, network: TestNetwork) -> Fetcher {
    Fetcher::over(policy, Arc::new(network), AddressRule::LoopbackToo).unwrap()
}

/// The default limits with more time than a busy machine needs, but for what a test changes.
pub(crate) fn limits(change: impl FnOnce(&mut FetchLimits)) -> FetchLimits {
    let mut limits =
        FetchLimits { connect_seconds: 60, header_seconds: 60, total_seconds: 60, ..FetchLimits::default() };
    change(&mut limits);
    limits
}

/// Runs a test that awaits.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(test);
    runtime.shutdown_background();
    result
}

/// A network whose names lead where the test says.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestNetwork {
    /// One answer for each resolution; the last one stays.
    pub answers: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    pub resolved: Arc<Mutex<Vec<(String, u16)>>>,
    pub dialled: Arc<Mutex<Vec<SocketAddr>>>,
    /// Where every connection leads instead.
    pub detour: Option<SocketAddr>,
    /// Addresses that never answer.
    pub dead: Vec<IpAddr>,
    pub resolution_hangs: bool,
}

impl TestNetwork {
    pub(crate) fn answering(answers: Vec<Vec<IpAddr>>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into())), ..Self::default() }
    }
}

impl Network for TestNetwork {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Vec<IpAddr>> {
        self.resolved.lock().unwrap().push((host.to_owned(), port));
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move {
            if self.resolution_hangs {
                std::future::pending::<()>().await;
            }
            answer.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        })
    }

    fn connect(&self, address: SocketAddr) -> Answer<'_, TcpStream> {
        self.dialled.lock().unwrap().push(address);
        if self.dead.contains(&address.ip()) {
            return Box::pin(std::future::pending());
        }
        System.connect(self.detour.unwrap_or(address))
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: &Script, seen: &Seen) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(octet) => head.push(octet),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let steps = script(&head);
    seen.requests.lock().unwrap().push(head);
    for step in steps {
        let (octets, times) = match step {
            Step::Send(octets) => (octets, 1),
            Step::Repeat(octets, times) => (octets, times),
            Step::Wait(time) => {
                tokio::time::sleep(time).await;
                continue;
            }
            Step::Hang => {
                // Ends when the other side does, with or without the end that TLS has.
                let _ = stream.read(&mut [0]).await;
                seen.closed.fetch_add(1, Ordering::SeqCst);
                return;
            }
            Step::Cut => return,
        };
        for _ in 0..times {
            // The fetcher has hung up, as it should.
            if stream.write_all(&octets).await.is_err() || stream.flush().await.is_err() {
                return;
            }
            seen.written.fetch_add(octets.len(), Ordering::SeqCst);
        }
    }
    let _ = stream.shutdown().await;
}

/// An authority of the tests, and what it certified.
struct Authority {
    pem: String,
    good: (CertificateDer<'static>, Vec<u8>),
    other_name: (CertificateDer<'static>, Vec<u8>),
    expired: (CertificateDer<'static>, Vec<u8>),
}

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::new("authority of tests"));
static OTHER_AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::new("other authority of tests"));
static FALSE_AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::new("authority of tests"));

/// The certificate that test servers are trusted by, in PEM.
pub(crate) fn trust_anchor_pem() -> &'static str {
    &AUTHORITY.pem
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
        let certify = |name: &str, year: i32| {
            let key = KeyPair::generate().unwrap();
            let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
            parameters.not_before = date_time_ymd(2000, 1, 1);
            parameters.not_after = date_time_ymd(year, 1, 1);
            let certificate = parameters.signed_by(&key, &issuer).unwrap();
            (certificate.der().clone(), key.serialize_der())
        };
        Self {
            pem: pem("CERTIFICATE", issuer.der()),
            good: certify(HOST, 4096),
            other_name: certify("other.example", 4096),
            expired: certify(HOST, 2001),
        }
    }
}

pub(crate) fn pem(label: &str, octets: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(octets))
}

fn server_configuration(channel: Channel) -> ServerConfig {
    let (certificate, key) = match channel {
        Channel::OtherName => &AUTHORITY.other_name,
        Channel::OtherAuthority => &OTHER_AUTHORITY.good,
        Channel::FalseAuthority => &FALSE_AUTHORITY.good,
        Channel::Expired => &AUTHORITY.expired,
        _ => &AUTHORITY.good,
    };
    let key = PrivateKeyDer::try_from(key.clone()).unwrap();
    let mut configuration = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    if channel == Channel::Http2 {
        configuration.alpn_protocols = vec![b"h2".to_vec()];
    }
    configuration
}
