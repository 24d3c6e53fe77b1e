//! Which URLs are looked at at all: everything here is refused before a name is resolved.

use super::super::testing::{HOST, TestNetwork, fetcher, run};
use super::super::{DocumentKind, FetchError, FetchPolicy, Validators};

/// What a fetch ends with, and how many names were resolved for it.
fn refused(url: &str, policy: FetchPolicy) -> (FetchError, usize) {
    let network = TestNetwork::default();
    let resolved = network.resolved.clone();
    let fetcher = fetcher(policy, network);
    let error = run(fetcher.get(url, DocumentKind::Controller, None)).unwrap_err();
    let count = resolved.lock().unwrap().len();
    (error, count)
}

#[test]
fn only_https_is_fetched() {
    for url in [
        "http://documents.example/d",
        "HTTP://documents.example/d",
        "ftp://documents.example/d",
        "file:///etc/passwd",
        "data:text/turtle,",
        "//documents.example/d",
        "/d",
        "",
        "did:web:documents.example",
        "https:/documents.example/d",
        "xhttps://documents.example/d",
        "é://documents.example/d",
    ] {
        assert_eq!(refused(url, FetchPolicy::new()), (FetchError::NotHttps, 0), "{url}");
    }
}

#[test]
fn a_url_in_another_form_or_without_a_name_is_not_fetched() {
    for url in [
        "HTTPS://documents.example/d",
        "https://DOCUMENTS.example/d",
        "https://documents.example",
        "https://documents.example/d#f",
        "https://documents.example:443/d",
        "https://documents.example:0/d",
        "https://documents.example:65536/d",
        "https://documents.example:/d",
        "https://documents.example./d",
        "https://documents/d",
        "https://localhost/d",
        "https://user@documents.example/d",
        "https://user:secret@documents.example/d",
        "https://@documents.example/d",
        "https://10.0.0.1/d",
        "https://8.8.8.8/d",
        "https://10.1/d",
        "https://2130706433/d",
        "https://0x7f000001/d",
        "https://0x7f.0.0.1/d",
        "https://0177.0.0.1/d",
        "https://127.0.0.0x1/d",
        "https://127.1/d",
        "https://[::1]/d",
        "https://[::ffff:127.0.0.1]/d",
        "https://[fe80::1%25eth0]/d",
        "https://[fe80::1%eth0]/d",
        "https://[2606:4700::1111]/d",
        "https://documents.example\\@internal.example/d",
        "https://documents.example/../d",
        "https://documents.example//d",
        "https://documents.example/%2e%2e/d",
        "https://documents.example/d\r\nHost: internal.example",
        "https://documents.example/d e",
        "https://documents.example\t/d",
        "https://\u{ff11}27.0.0.1/d",
        "https://documents\u{3002}example/d",
        "https://b\u{fc}cher.example/d",
        "https://",
        "https:///d",
        "https://?d",
    ] {
        assert_eq!(refused(url, FetchPolicy::new()), (FetchError::NotADocumentUrl, 0), "{url}");
    }
}

#[test]
fn a_port_is_allowed_for_its_host_and_no_other() {
    for (url, policy) in [
        ("https://documents.example:8443/d", FetchPolicy::new()),
        ("https://documents.example:80/d", FetchPolicy::new()),
        ("https://documents.example:8443/d", FetchPolicy::new().allow_port(HOST, 8444)),
        ("https://documents.example:8443/d", FetchPolicy::new().allow_port("other.example", 8443)),
        ("https://a.documents.example:8443/d", FetchPolicy::new().allow_port(HOST, 8443)),
        ("https://xdocuments.example:8443/d", FetchPolicy::new().allow_port(HOST, 8443)),
    ] {
        assert_eq!(refused(url, policy), (FetchError::PortNotAllowed, 0), "{url}");
    }
    // What is allowed is resolved; here to nothing.
    let (error, count) =
        refused("https://documents.example:8443/d", FetchPolicy::new().allow_port(HOST, 8443));
    assert!(matches!(error, FetchError::ResolutionFailed { .. }), "{error}");
    assert_eq!(count, 1);
    assert_eq!(refused("https://documents.example/d", FetchPolicy::new()).1, 1);
}

#[test]
fn a_validator_that_is_none_is_not_sent() {
    for known in [
        Validators { etag: Some("\"a\"\r\nX-Injected: b".into()), last_modified: None },
        Validators { etag: Some("a".into()), last_modified: None },
        Validators { etag: None, last_modified: Some("yesterday".into()) },
    ] {
        let network = TestNetwork::default();
        let resolved = network.resolved.clone();
        let fetcher = fetcher(FetchPolicy::new(), network);
        let got = run(fetcher.get("https://documents.example/d", DocumentKind::StatusList, Some(&known)));
        assert_eq!(got, Err(FetchError::ValidatorMalformed));
        assert!(resolved.lock().unwrap().is_empty());
    }
}

#[test]
fn outside_of_a_runtime_nothing_is_fetched() {
    let fetcher = fetcher(FetchPolicy::new(), TestNetwork::default());
    let mut fetch =
        std::pin::pin!(fetcher.get("https://documents.example/d", DocumentKind::StatusList, None));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(got) = fetch.as_mut().poll(&mut context) else {
        panic!("waits for a runtime")
    };
    assert_eq!(got, Err(FetchError::NoRuntime));
}
