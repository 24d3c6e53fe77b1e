//! Names, addresses, certificates and time.

use super::super::address_rule::AddressRule;
use super::super::dial::{Network as _, System, authorities};
use super::super::testing::{
    Channel, HOST, Server, Step, TestNetwork, document, fetcher, limits, run, send, trust_anchor_pem,
};
use super::super::{DocumentKind, FetchError, FetchPolicy, Fetched, Fetcher};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_rustls::rustls::HandshakeKind;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const METADATA: IpAddr = IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254));

fn octets(fetched: Result<Fetched, FetchError>) -> Vec<u8> {
    match fetched.unwrap() {
        Fetched::Document { octets, .. } => octets,
        Fetched::NotModified => panic!("not modified"),
    }
}

/// What a fetch over a network ends with, and how often the server was connected to.
fn over(
    network: &TestNetwork,
    policy: impl Fn(&Server) -> FetchPolicy,
) -> (Result<Fetched, FetchError>, usize) {
    run(async {
        let server = Server::new(|_| document("good")).await;
        let fetcher = fetcher(policy(&server), network.clone());
        let got = fetcher.get(&server.url("/d"), DocumentKind::ProtocolDocument, None).await;
        (got, server.seen.connections.load(Ordering::SeqCst))
    })
}

#[test]
fn a_document_is_fetched_by_one_plain_request() {
    run(async {
        let server = Server::new(|_| document("<urn:a> <urn:b> <urn:c> .")).await;
        let network = server.network();
        let fetcher = fetcher(server.policy(), network.clone());
        let got = fetcher.get(&server.url("/d?x=1"), DocumentKind::ProtocolDocument, None).await.unwrap();
        let Fetched::Document { octets, media_type, validators } = got else { panic!("not modified") };
        assert_eq!(octets, b"<urn:a> <urn:b> <urn:c> .");
        assert_eq!(media_type, "text/turtle");
        assert_eq!(validators, Default::default());
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(
            "GET /d?x=1 HTTP/1.1\r\nhost: {HOST}:{}\r\nuser-agent: writgate/{version}\r\naccept: text/turtle, \
             application/ld+json;q=0.9\r\naccept-encoding: identity\r\nconnection: close\r\n\r\n",
            server.port
        );
        assert_eq!(server.requests(), [expected]);
        assert_eq!(network.resolved.lock().unwrap().as_slice(), [(HOST.to_owned(), server.port)]);
        assert_eq!(network.dialled.lock().unwrap().as_slice(), [SocketAddr::new(LOOPBACK, server.port)]);
    });
}

#[test]
fn each_kind_asks_for_its_media_types() {
    run(async {
        let server = Server::new(|_| document("good")).await;
        let fetcher = server.fetcher(server.policy());
        for kind in [DocumentKind::ProtocolDocument, DocumentKind::Controller, DocumentKind::StatusList] {
            fetcher.get(&server.url("/d"), kind, None).await.unwrap();
        }
        for (request, accepted) in server.requests().iter().zip([
            "accept: text/turtle,",
            "accept: application/did,",
            "accept: application/vc,",
        ]) {
            assert!(request.contains(accepted), "{request}");
        }
        // Three connections: none is kept.
        assert_eq!(server.seen.connections.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn a_name_without_an_address_leads_nowhere() {
    let (got, _) = over(&TestNetwork::default(), Server::policy);
    assert!(matches!(got, Err(FetchError::ResolutionFailed { .. })), "{got:?}");
    let (got, _) = over(&TestNetwork::answering(vec![vec![]]), Server::policy);
    assert_eq!(got, Err(FetchError::AddressCount));
    let (got, connections) = over(&TestNetwork::answering(vec![vec![LOOPBACK; 65]]), Server::policy);
    assert_eq!((got, connections), (Err(FetchError::AddressCount), 0));
    let (got, _) = over(&TestNetwork::answering(vec![vec![LOOPBACK; 64]]), Server::policy);
    assert_eq!(octets(got), b"good");
}

#[test]
fn one_forbidden_address_among_good_ones_refuses_them_all() {
    for answer in [
        vec![METADATA],
        vec![LOOPBACK, METADATA],
        vec![METADATA, LOOPBACK],
        vec![LOOPBACK, "::1".parse().unwrap()],
        vec![LOOPBACK, "::ffff:10.0.0.1".parse().unwrap()],
        vec![LOOPBACK, "64:ff9b::a00:1".parse().unwrap()],
    ] {
        let network = TestNetwork::answering(vec![answer.clone()]);
        let (got, connections) = over(&network, Server::policy);
        assert_eq!((got, connections), (Err(FetchError::AddressForbidden), 0), "{answer:?}");
        assert!(network.dialled.lock().unwrap().is_empty());
    }
}

#[test]
fn a_fetcher_as_it_is_made_does_not_dial_loopback() {
    run(async {
        let server = Server::new(|_| document("good")).await;
        let network = Arc::new(server.network());
        // `over` with the rule that `new` passes; the network stays the test's.
        let fetcher = Fetcher::over(server.policy(), network.clone(), AddressRule::GlobalUnicast).unwrap();
        let got = fetcher.get(&server.url("/d"), DocumentKind::ProtocolDocument, None).await;
        assert_eq!(got, Err(FetchError::AddressForbidden));
        assert!(network.dialled.lock().unwrap().is_empty());
        let made = Fetcher::new(server.policy()).unwrap();
        assert_eq!(made.dialler.rule, AddressRule::GlobalUnicast);
        assert!(format!("{:?}", made.dialler.network).contains("System"));
    });
}

/// DNS rebinding: the first answer is good, the second internal. There is no second question.
#[test]
fn a_name_is_resolved_once_for_a_connection_and_what_was_judged_is_dialled() {
    let network = TestNetwork::answering(vec![vec![LOOPBACK], vec![METADATA]]);
    let (got, _) = over(&network, Server::policy);
    assert_eq!(octets(got), b"good");
    assert_eq!(network.resolved.lock().unwrap().len(), 1);
    let dialled: Vec<_> = network.dialled.lock().unwrap().iter().map(SocketAddr::ip).collect();
    assert_eq!(dialled, [LOOPBACK]);
}

#[test]
fn a_connection_that_leads_elsewhere_is_not_used() {
    run(async {
        let server = Server::new(|_| document("good")).await;
        let elsewhere = Server::new(|_| document("bad")).await;
        let network =
            TestNetwork { detour: Some(SocketAddr::new(LOOPBACK, elsewhere.port)), ..server.network() };
        let got = fetcher(server.policy(), network)
            .get(&server.url("/d"), DocumentKind::ProtocolDocument, None)
            .await;
        assert_eq!(got, Err(FetchError::PeerAddressChanged));
        // Another address at the same port: what is dialled is 127.0.0.2, what answers 127.0.0.1.
        let second: IpAddr = Ipv4Addr::new(127, 0, 0, 2).into();
        let network = TestNetwork {
            detour: Some(SocketAddr::new(LOOPBACK, server.port)),
            ..TestNetwork::answering(vec![vec![second]])
        };
        let got = fetcher(server.policy(), network)
            .get(&server.url("/d"), DocumentKind::ProtocolDocument, None)
            .await;
        assert_eq!(got, Err(FetchError::PeerAddressChanged));
        assert!(server.requests().is_empty() && elsewhere.requests().is_empty());
    });
}

#[test]
fn a_dead_address_does_not_use_up_the_time_of_a_living_one() {
    let dead: IpAddr = Ipv4Addr::new(127, 0, 0, 9).into();
    let network = TestNetwork { dead: vec![dead], ..TestNetwork::answering(vec![vec![dead, LOOPBACK]]) };
    let time = |seconds| limits(|limits| limits.connect_seconds = seconds);
    let (got, _) = over(&network, |server| server.policy().with_limits(time(4)));
    assert_eq!(octets(got), b"good");
    // And no more than four are tried.
    let network = TestNetwork { dead: vec![dead], ..TestNetwork::answering(vec![vec![dead; 10]]) };
    let (got, _) = over(&network, |server| server.policy().with_limits(time(1)));
    assert_eq!(got, Err(FetchError::ConnectTimeout));
    assert_eq!(network.dialled.lock().unwrap().len(), 4);
}

/// The network outside of tests, as far as it goes without one.
#[test]
fn the_system_resolves_and_connects() {
    run(async {
        let found = System.resolve("localhost", 443).await.unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
        let server = Server::new(|_| vec![]).await;
        let address = SocketAddr::new(LOOPBACK, server.port);
        assert_eq!(System.connect(address).await.unwrap().peer_addr().unwrap(), address);
    });
}

#[test]
fn a_closed_port_is_no_connection() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let network = TestNetwork { detour: Some(closed), ..TestNetwork::answering(vec![vec![LOOPBACK]]) };
    let (got, _) = over(&network, Server::policy);
    assert!(matches!(got, Err(FetchError::ConnectFailed { .. })), "{got:?}");
}

#[test]
fn resolution_and_handshake_are_bounded_in_time() {
    let limits = limits(|limits| limits.connect_seconds = 1);
    let network = TestNetwork { resolution_hangs: true, ..TestNetwork::answering(vec![vec![LOOPBACK]]) };
    let (got, _) = over(&network, |server| server.policy().with_limits(limits.clone()));
    assert_eq!(got, Err(FetchError::ConnectTimeout));
    let got = run(async {
        let server = Server::with(Channel::Silent, |_| vec![]).await;
        server.get(server.policy().with_limits(limits.clone())).await
    });
    assert_eq!(got, Err(FetchError::ConnectTimeout));
}

#[test]
fn a_certificate_is_for_the_urls_host_by_an_authority_and_in_date() {
    for (channel, error) in [
        (Channel::OtherName, FetchError::CertificateOfAnotherName),
        (Channel::OtherAuthority, FetchError::CertificateUntrusted),
        (Channel::FalseAuthority, FetchError::CertificateUntrusted),
        (Channel::Expired, FetchError::CertificateInvalid),
        (Channel::Http2, FetchError::TlsFailed),
    ] {
        let (got, requests) = run(async {
            let server = Server::with(channel, |_| document("good")).await;
            (server.get(server.policy()).await, server.requests())
        });
        assert_eq!(got, Err(error), "{channel:?}");
        assert!(requests.is_empty(), "{channel:?}: {requests:?}");
    }
}

#[test]
fn an_authority_of_the_operators_is_trusted_only_where_it_is_given() {
    run(async {
        let server = Server::new(|_| document("good")).await;
        let got = server.get(FetchPolicy::new().allow_port(HOST, server.port)).await;
        assert_eq!(got, Err(FetchError::CertificateUntrusted));
    });
}

#[test]
fn the_public_authorities_are_trusted_and_the_operators_beside_them() {
    let public = authorities(&FetchPolicy::new().trust_anchors).unwrap();
    assert!(public.len() > 50, "{}", public.len());
    let policy = FetchPolicy::new().with_trust_anchors_pem(trust_anchor_pem()).unwrap();
    assert_eq!(authorities(&policy.trust_anchors).unwrap().len(), public.len() + 1);
}

/// A web server that greets in plain HTTP before anything was said.
#[test]
fn plain_http_on_the_tls_port_is_not_read() {
    let got = run(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let greeting = b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\nContent-Length: 4\r\n\r\ngood";
            tokio::io::AsyncWriteExt::write_all(&mut stream, greeting).await.unwrap();
            std::future::pending::<()>().await;
        });
        let server = Server::new(|_| document("good")).await;
        let policy = server.policy().allow_port(HOST, address.port());
        let url = format!("https://{HOST}:{}/d", address.port());
        server.fetcher(policy).get(&url, DocumentKind::ProtocolDocument, None).await
    });
    assert_eq!(got, Err(FetchError::TlsFailed));
}

#[test]
fn a_head_that_trickles_is_cut_off() {
    let limits = limits(|limits| limits.header_seconds = 1);
    for first in ["", "HTTP/1.1 200 OK\r\nX: "] {
        let got = run(async {
            let server = Server::new(move |_| {
                let mut steps = vec![send(first)];
                for _ in 0..100 {
                    steps.extend([Step::Wait(Duration::from_millis(200)), send("H")]);
                }
                // `HHH` is no HTTP from the start, so the first case only waits.
                if first.is_empty() { vec![Step::Hang] } else { steps }
            })
            .await;
            server.get(server.policy().with_limits(limits.clone())).await
        });
        assert_eq!(got, Err(FetchError::HeaderTimeout), "{first:?}");
    }
}

#[test]
fn interim_answers_do_not_prolong_the_time_for_the_head() {
    let limits = limits(|limits| limits.header_seconds = 1);
    let got = run(async {
        let server = Server::new(|_| {
            let interim = [send("HTTP/1.1 103 Early Hints\r\n\r\n"), Step::Wait(Duration::from_millis(100))];
            interim.into_iter().cycle().take(200).collect()
        })
        .await;
        server.get(server.policy().with_limits(limits.clone())).await
    });
    assert_eq!(got, Err(FetchError::HeaderTimeout));
}

/// One octet at a time, each in time for every other bound.
#[test]
fn a_body_that_trickles_is_cut_off() {
    let limits = limits(|limits| limits.total_seconds = 1);
    let got = run(async {
        let server = Server::new(|_| {
            let mut steps =
                vec![send("HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\nContent-Length: 1000\r\n\r\n")];
            for _ in 0..1000 {
                steps.extend([send("#"), Step::Wait(Duration::from_millis(100))]);
            }
            steps
        })
        .await;
        server.get(server.policy().with_limits(limits.clone())).await
    });
    assert_eq!(got, Err(FetchError::TotalTimeout));
}

#[test]
fn a_fetch_that_is_dropped_closes_its_connection() {
    run(async {
        let server = Server::new(|_| vec![send("HTTP/1.1 200 OK\r\n"), Step::Hang]).await;
        let policy = server.policy();
        let mut fetch = Box::pin(server.get(policy));
        while server.requests().is_empty() {
            assert!(tokio::time::timeout(Duration::from_millis(10), &mut fetch).await.is_err());
        }
        assert_eq!(server.seen.closed.load(Ordering::SeqCst), 0);
        drop(fetch);
        // Ends; a test that waits for ever is a failure too.
        while server.seen.closed.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

/// The variables that other clients obey, set for a process of its own (this test binary), with a trap as the proxy.
#[test]
fn proxy_variables_have_no_effect() {
    let trap = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    trap.set_nonblocking(true).unwrap();
    let proxy = format!("http://{}", trap.local_addr().unwrap());
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "source::fetch::tests::transport::a_document_is_fetched_by_one_plain_request"]);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env(name, &proxy);
    }
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(trap.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn an_alternative_service_is_not_remembered() {
    run(async {
        let trap = Server::new(|_| document("bad")).await;
        let fields = format!(
            "Content-Type: text/turtle\r\nConnection: keep-alive\r\nAlt-Svc: h2=\":{0}\", \
             http/1.1=\":{0}\"; ma=86400\r\n",
            trap.port
        );
        let server = Server::new(move |_| super::super::testing::answer("200 OK", &fields, "good")).await;
        let fetcher = server.fetcher(server.policy().allow_port(HOST, trap.port));
        for _ in 0..2 {
            let got = fetcher.get(&server.url("/d"), DocumentKind::ProtocolDocument, None).await;
            assert_eq!(octets(got), b"good");
        }
        assert_eq!(server.seen.connections.load(Ordering::SeqCst), 2);
        assert_eq!(trap.seen.connections.load(Ordering::SeqCst), 0);
    });
}

/// A server that recognises a session recognises who comes back.
#[test]
fn a_session_is_not_resumed() {
    run(async {
        let server = Server::new(|_| document("good")).await;
        let fetcher = server.fetcher(server.policy());
        for _ in 0..3 {
            fetcher.get(&server.url("/d"), DocumentKind::ProtocolDocument, None).await.unwrap();
        }
        let handshakes = server.seen.handshakes.lock().unwrap();
        assert_eq!(handshakes.as_slice(), [Some(HandshakeKind::Full); 3]);
    });
}

#[test]
fn cookies_are_not_kept() {
    run(async {
        let server = Server::new(|_| {
            super::super::testing::answer(
                "200 OK",
                "Content-Type: text/turtle\r\nSet-Cookie: a=b\r\n",
                "good",
            )
        })
        .await;
        let fetcher = server.fetcher(server.policy());
        for _ in 0..2 {
            fetcher.get(&server.url("/d"), DocumentKind::ProtocolDocument, None).await.unwrap();
        }
        assert!(server.requests().iter().all(|request| !request.to_ascii_lowercase().contains("cookie")));
    });
}
