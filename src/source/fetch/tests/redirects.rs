//! Redirects: off, and within one origin.

use super::super::testing::{HOST, Server, Step, TestNetwork, answer, document, fetcher, limits, run};
use super::super::{DocumentKind, FetchError, Fetched, Validators};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// What comes of a redirect to a location, followed or not, and how many requests it took.
fn redirected(
    follow: bool,
    location: impl Fn(u16) -> String + Send + Sync + 'static,
) -> (Result<Fetched, FetchError>, usize) {
    run(async {
        let port = std::sync::Arc::new(std::sync::OnceLock::new());
        let known = port.clone();
        let server = Server::new(move |request| {
            if request.starts_with("GET /d ") {
                let location = location(*known.get().unwrap());
                answer("302 Found", &format!("Location: {location}\r\n"), "")
            } else {
                document("good")
            }
        })
        .await;
        port.set(server.port).unwrap();
        let got = server.get(server.policy().follow_same_origin_redirects(follow)).await;
        (got, server.requests().len())
    })
}

#[test]
fn a_redirect_is_not_followed() {
    for location in
        ["/e", "https://169.254.169.254/latest/meta-data/", "http://127.0.0.1/", "https://other.example/"]
    {
        let (got, requests) = redirected(false, |_| location.to_owned());
        assert_eq!((got, requests), (Err(FetchError::Redirected { status: 302 }), 1), "{location}");
    }
    for status in [301, 302, 303, 307, 308] {
        let got = run(async {
            let server =
                Server::new(move |_| answer(&format!("{status} Moved"), "Location: /e\r\n", "")).await;
            server.get(server.policy()).await
        });
        assert_eq!(got, Err(FetchError::Redirected { status }));
    }
}

#[test]
fn a_redirect_within_the_origin_is_followed_where_that_is_configured() {
    for path in ["/e", "/e?x=1", "/a/b.ttl"] {
        for absolute in [false, true] {
            let (got, requests) = redirected(true, move |port| {
                if absolute { format!("https://{HOST}:{port}{path}") } else { path.to_owned() }
            });
            assert!(matches!(got, Ok(Fetched::Document { .. })), "{path}: {got:?}");
            assert_eq!(requests, 2);
        }
    }
}

#[test]
fn a_redirect_to_another_origin_is_not_followed() {
    let elsewhere: [fn(u16) -> String; 10] = [
        |port| format!("https://other.example:{port}/e"),
        |port| format!("https://a.documents.example:{port}/e"),
        |_| format!("https://{HOST}/e"),
        |port| format!("https://{HOST}:{}/e", port.wrapping_add(1).max(1024)),
        // Downgrades.
        |port| format!("http://{HOST}:{port}/e"),
        |_| format!("http://{HOST}/e"),
        |_| "ftp://documents.example/e".to_owned(),
        |port| format!("//other.example:{port}/e"),
        |port| format!("//{HOST}:{port}/e"),
        |_| "https://internal.example/".to_owned(),
    ];
    for location in elsewhere {
        let (got, requests) = redirected(true, location);
        assert_eq!((got, requests), (Err(FetchError::RedirectCrossOrigin), 1), "{}", location(8443));
    }
}

#[test]
fn a_redirect_to_what_is_no_document_url_is_not_followed() {
    for location in [
        "",
        "e",
        "?x=1",
        "#f",
        "/e#f",
        "/a/../e",
        "/a//e",
        "/%2e%2e/e",
        "/\\other.example/e",
        "https://169.254.169.254/latest/meta-data/",
        "https://127.0.0.1/e",
        "https://[::1]/e",
        "https://localhost/e",
        "https://user@documents.example/e",
        "HTTPS://documents.example/e",
        "file:/etc/passwd",
        "data:text/turtle,",
    ] {
        let (got, requests) = redirected(true, |_| location.to_owned());
        assert_eq!((got, requests), (Err(FetchError::RedirectMalformed), 1), "{location}");
    }
    for fields in ["", "Location: /e\r\nLocation: /f\r\n", "Location: /\u{e4}\r\n"] {
        let got = run(async {
            let server = Server::new(move |_| answer("302 Found", fields, "")).await;
            server.get(server.policy().follow_same_origin_redirects(true)).await
        });
        assert_eq!(got, Err(FetchError::RedirectMalformed), "{fields}");
    }
}

#[test]
fn three_redirects_are_followed_and_a_loop_is_left() {
    let chain = |length: usize| {
        run(async {
            let server = Server::new(move |request| {
                let hops = request.split_whitespace().nth(1).unwrap().len() - "/d".len();
                if hops < length {
                    answer("307 Temporary Redirect", &format!("Location: /d{}\r\n", "x".repeat(hops + 1)), "")
                } else {
                    document("good")
                }
            })
            .await;
            let got = server.get(server.policy().follow_same_origin_redirects(true)).await;
            (got, server.requests().len())
        })
    };
    let (got, requests) = chain(3);
    assert!(matches!(got, Ok(Fetched::Document { .. })), "{got:?}");
    assert_eq!(requests, 4);
    assert_eq!(chain(4), (Err(FetchError::RedirectTooMany), 4));
    let (got, requests) = redirected(true, |_| "/d".to_owned());
    assert_eq!((got, requests), (Err(FetchError::RedirectTooMany), 4));
}

/// The second hop of one origin is another connection, whose name leads inside by now.
#[test]
fn each_hop_is_resolved_and_judged_anew() {
    run(async {
        let server = Server::new(|_| answer("302 Found", "Location: /e\r\n", "")).await;
        let inside: IpAddr = Ipv4Addr::new(10, 0, 0, 1).into();
        let network = TestNetwork::answering(vec![vec![Ipv4Addr::LOCALHOST.into()], vec![inside]]);
        let resolved = network.resolved.clone();
        let fetcher = fetcher(server.policy().follow_same_origin_redirects(true), network);
        let got = fetcher.get(&server.url("/d"), DocumentKind::Controller, None).await;
        assert_eq!(got, Err(FetchError::AddressForbidden));
        assert_eq!((resolved.lock().unwrap().len(), server.requests().len()), (2, 1));
    });
}

#[test]
fn all_hops_have_one_time_together() {
    let limits = limits(|limits| limits.total_seconds = 1);
    let got = run(async {
        let server = Server::new(|_| {
            let mut steps = vec![Step::Wait(Duration::from_millis(600))];
            steps.extend(answer("302 Found", "Location: /d\r\n", ""));
            steps
        })
        .await;
        server.get(server.policy().follow_same_origin_redirects(true).with_limits(limits)).await
    });
    assert_eq!(got, Err(FetchError::TotalTimeout));
}

#[test]
fn what_is_known_is_asked_of_the_last_hop_too() {
    run(async {
        let server = Server::new(|request| {
            if request.starts_with("GET /d ") {
                answer("302 Found", "Location: /e\r\n", "")
            } else if request.contains("if-none-match: \"a\"") {
                answer("304 Not Modified", "", "")
            } else {
                document("good")
            }
        })
        .await;
        let fetcher = server.fetcher(server.policy().follow_same_origin_redirects(true));
        let known = Validators { etag: Some("\"a\"".into()), last_modified: None };
        let got = fetcher.get(&server.url("/d"), DocumentKind::Controller, Some(&known)).await;
        assert_eq!(got, Ok(Fetched::NotModified));
    });
}
