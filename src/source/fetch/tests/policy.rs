//! What an operator can configure, and what not.

use super::super::testing::{pem, trust_anchor_pem};
use super::super::{DocumentKind, FetchError, FetchLimits, FetchPolicy, Fetcher};

#[test]
fn a_fetcher_can_be_shared_and_its_fetch_sent() {
    fn shared<T: Clone + Send + Sync>(value: T) -> T {
        value
    }
    fn sent<T: Send>(_: T) {}
    let fetcher = shared(Fetcher::new(FetchPolicy::new()).unwrap());
    sent(fetcher.get("https://documents.example/d", DocumentKind::Controller, None));
}

#[test]
fn a_port_for_a_host_that_no_url_has_is_a_mistake() {
    for (host, port) in [
        ("", 8443),
        ("localhost", 8443),
        ("10.0.0.1", 8443),
        ("Documents.example", 8443),
        ("documents.example.", 8443),
        ("documents.example:8443", 8443),
        ("documents.example/", 8443),
        ("documents.example/d", 8443),
        ("documents.example?d", 8443),
        ("*.example", 8443),
        ("https://documents.example", 8443),
        ("documents.example", 0),
    ] {
        let made = Fetcher::new(FetchPolicy::new().allow_port(host, port)).map(drop);
        assert_eq!(made, Err(FetchError::AllowedPortMalformed), "{host}:{port}");
    }
    assert!(Fetcher::new(FetchPolicy::new().allow_port("documents.example", 8443)).is_ok());
}

#[test]
fn trust_anchors_are_certificates_and_nothing_else() {
    let good = trust_anchor_pem();
    for text in [
        String::new(),
        "no PEM".to_owned(),
        pem("CERTIFICATE", b"no certificate"),
        pem("PRIVATE KEY", b"a key"),
        format!("{good}{}", pem("PRIVATE KEY", b"a key")),
        format!("{good}{}", pem("CERTIFICATE", b"no certificate")),
        good.replace("-----END", "-----end"),
    ] {
        let read = FetchPolicy::new().with_trust_anchors_pem(&text).map(drop);
        assert_eq!(read, Err(FetchError::TrustAnchorsMalformed), "{text}");
    }
    assert!(FetchPolicy::new().with_trust_anchors_pem(&format!("{good}{good}")).is_ok());
}

#[test]
fn a_limit_that_bounds_nothing_or_lets_nothing_through_is_a_mistake() {
    let changes: [(&str, fn(&mut FetchLimits, usize)); 7] = [
        ("body_bytes", |limits, value| limits.body_bytes = value),
        ("decoded_bytes", |limits, value| limits.decoded_bytes = value),
        ("header_bytes", |limits, value| limits.header_bytes = value),
        ("headers", |limits, value| limits.headers = value),
        ("connect_seconds", |limits, value| limits.connect_seconds = value as u64),
        ("header_seconds", |limits, value| limits.header_seconds = value as u64),
        ("total_seconds", |limits, value| limits.total_seconds = value as u64),
    ];
    for (limit, change) in changes {
        for value in [0, usize::MAX] {
            let mut limits = FetchLimits::default();
            change(&mut limits, value);
            let made = Fetcher::new(FetchPolicy::new().with_limits(limits)).map(drop);
            assert_eq!(made, Err(FetchError::LimitOutOfRange { limit }));
        }
        let mut limits = FetchLimits::default();
        change(&mut limits, 1);
        assert!(Fetcher::new(FetchPolicy::new().with_limits(limits)).is_ok(), "{limit}");
    }
}

#[test]
fn a_kind_of_document_lowers_the_bounds_and_does_not_raise_them() {
    let wide = FetchPolicy::new().with_limits(FetchLimits {
        body_bytes: 16 << 20,
        decoded_bytes: 16 << 20,
        ..FetchLimits::default()
    });
    assert_eq!(wide.body_bounds(DocumentKind::ProtocolDocument), (256 << 10, 256 << 10));
    assert_eq!(wide.body_bounds(DocumentKind::Controller), (256 << 10, 256 << 10));
    assert_eq!(wide.body_bounds(DocumentKind::StatusList), (1 << 20, 1 << 20));
    let narrow = FetchPolicy::new().with_limits(FetchLimits {
        body_bytes: 10,
        decoded_bytes: 20,
        ..FetchLimits::default()
    });
    assert_eq!(narrow.body_bounds(DocumentKind::StatusList), (10, 20));
}
