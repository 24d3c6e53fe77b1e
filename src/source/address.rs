//! Which URL holds the document of a controller: one for each, or none.

use crate::message::target;

/// Octets of a URL that a document is kept under.
const MAX_URL_BYTES: usize = 2_048;
const DID_WEB: &str = "did:web:";

/// The one URL of a controller's document, for did:web and for an https IRI (a WebID). `None` for every other IRI, and
/// for every spelling but the one.
pub(crate) fn controller_url(controller: &str) -> Option<String> {
    let url = match controller.strip_prefix(DID_WEB) {
        Some(specific) => did_web_url(specific)?,
        // The fragment names the controller within its document.
        None => controller.split('#').next()?.to_owned(),
    };
    let normal = controller.starts_with(DID_WEB) || target::is_normal(controller);
    (normal && is_document_url(&url) && !url.contains('?')).then_some(url)
}

/// Whether a document may be kept under this URL: https, in normal form (`message-binding.md` 7), without a fragment, at
/// a host that has a name with a dot in it.
pub(crate) fn is_document_url(url: &str) -> bool {
    let is_https = url.starts_with("https://") && !url.contains('#');
    is_https && url.len() <= MAX_URL_BYTES && target::is_normal(url) && is_named_host(authority(url))
}

/// The host of a document's URL.
pub(crate) fn host(url: &str) -> &str {
    authority(url).split(':').next().unwrap_or_default()
}

/// The port of a document's URL.
pub(crate) fn port(url: &str) -> u16 {
    authority(url).split_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(443)
}

/// Whether a text is the name of a host that a document may be had from, in its one spelling, without a port.
pub(crate) fn is_host(name: &str) -> bool {
    !name.contains([':', '/', '?']) && is_document_url(&format!("https://{name}/"))
}

fn authority(url: &str) -> &str {
    url.strip_prefix("https://").unwrap_or_default().split(['/', '?']).next().unwrap_or_default()
}

/// Neither an IP literal nor a single label: those name something near whoever resolves them.
fn is_named_host(authority: &str) -> bool {
    let host = authority.split(':').next().unwrap_or_default();
    let last = host.rsplit('.').next().unwrap_or_default();
    host.contains('.') && !host.starts_with('[') && last.bytes().any(|octet| octet.is_ascii_alphabetic())
}

/// The method-specific id of a did:web as a URL (did:web Method Specification, "Read"): a host with an escaped port, then
/// path segments. A segment with an escape is a second spelling, or hides what it is, and has no URL here.
fn did_web_url(specific: &str) -> Option<String> {
    let mut segments = specific.split(':');
    let host = segments.next()?;
    let (name, port) = host.split_once("%3A").map_or((host, None), |(name, port)| (name, Some(port)));
    let path: Vec<&str> = segments.collect();
    // What the name and the port may be beyond this, the URL's normal form says.
    if !is_plain_segment(name) || !path.iter().all(|segment| is_plain_segment(segment)) {
        return None;
    }
    let authority = match port {
        None => name.to_owned(),
        Some(port) if port.bytes().all(|octet| octet.is_ascii_digit()) => format!("{name}:{port}"),
        Some(_) => return None,
    };
    Some(match path.as_slice() {
        [] => format!("https://{authority}/.well-known/did.json"),
        path => format!("https://{authority}/{}/did.json", path.join("/")),
    })
}

fn is_plain_segment(segment: &str) -> bool {
    let allowed = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'-' | b'_');
    !matches!(segment, "" | "." | "..") && segment.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(controllers: &[&str]) {
        for controller in controllers {
            assert_eq!(controller_url(controller), None, "{controller}");
        }
    }

    #[test]
    fn a_did_web_has_one_url() {
        for (did, url) in [
            ("did:web:a.example", "https://a.example/.well-known/did.json"),
            ("did:web:a.example%3A8443", "https://a.example:8443/.well-known/did.json"),
            ("did:web:a.example:user:Alice", "https://a.example/user/Alice/did.json"),
            ("did:web:a.example%3A8443:u.v:w_-", "https://a.example:8443/u.v/w_-/did.json"),
            ("did:web:xn--bcher-kva.example", "https://xn--bcher-kva.example/.well-known/did.json"),
        ] {
            assert_eq!(controller_url(did).as_deref(), Some(url), "{did}");
        }
    }

    #[test]
    fn a_did_web_of_an_ip_literal_or_a_local_name_has_no_url() {
        none(&[
            "did:web:127.0.0.1",
            "did:web:10.1",
            "did:web:0x7f.1",
            "did:web:a.0x7f",
            "did:web:[::1]",
            "did:web:%5B%3A%3A1%5D",
            "did:web:2130706433",
            "did:web:localhost",
            "did:web:localhost%3A8443",
        ]);
    }

    #[test]
    fn a_did_web_with_an_empty_or_dot_segment_has_no_url() {
        none(&[
            "did:web:",
            "did:web::a",
            "did:web:a.example:",
            "did:web:a.example::b",
            "did:web:a.example:.",
            "did:web:a.example:..:b",
            "did:web:a..example",
            "did:web:.a.example",
            "did:web:a.example.",
        ]);
    }

    #[test]
    fn a_did_web_in_another_case_or_with_other_escapes_has_no_url() {
        none(&[
            "did:web:A.example",
            "DID:web:a.example",
            "did:WEB:a.example",
            "did:web:a.example%3a8443",
            "did:web:a.example%3A",
            "did:web:a.example%3A0",
            "did:web:a.example%3A08443",
            "did:web:a.example%3A443",
            "did:web:a.example%3A65536",
            "did:web:a.example%3A1%3A2",
            "did:web:%61.example",
            "did:web:a.example%2Fb",
            "did:web:a.example:%2e%2e",
            "did:web:a.example:%2E%2E:b",
            "did:web:a.example:b%2Fc",
            "did:web:a.example:%62",
        ]);
    }

    #[test]
    fn a_did_web_holds_no_part_of_a_url() {
        none(&[
            "did:web:a.example/b",
            "did:web:a.example%3A8443/b",
            "did:web:a.example%3A+8443",
            "did:web:user@a.example",
            "did:web:a.example?b",
            "did:web:a.example#key",
            "did:web:a.example\\b",
            "did:web:a.example:b?c",
            "did:web:a.example:b#c",
            "did:web:a.example:b;c",
            "did:web:bücher.example",
        ]);
    }

    #[test]
    fn a_webid_has_the_url_before_its_fragment() {
        for (web_id, url) in [
            ("https://alice.example/card#me", "https://alice.example/card"),
            ("https://alice.example/#me", "https://alice.example/"),
            ("https://alice.example/card", "https://alice.example/card"),
            ("https://alice.example:8443/card#me", "https://alice.example:8443/card"),
        ] {
            assert_eq!(controller_url(web_id).as_deref(), Some(url), "{web_id}");
        }
    }

    #[test]
    fn a_webid_in_a_second_spelling_or_of_no_name_has_no_url() {
        none(&[
            "http://alice.example/card#me",
            "HTTPS://alice.example/card#me",
            "https://Alice.example/card#me",
            "https://alice.example:443/card#me",
            "https://alice.example#me",
            "https://alice.example/card#",
            "https://alice.example/card#me#you",
            "https://alice.example/a/../card#me",
            "https://alice.example/c%61rd#me",
            "https://alice.example//card#me",
            "https://alice.example/card?a#me",
            "https://me@alice.example/card#me",
            "https://127.0.0.1/card#me",
            "https://[::1]/card#me",
            "https://localhost/card#me",
            "urn:uuid:5a2c5bb2-58c5-4e4f-a8d8-0d6f0d7a1f10",
            "did:example:1",
            "",
        ]);
        none(&[&format!("https://alice.example/{}#me", "a".repeat(MAX_URL_BYTES))]);
    }

    #[test]
    fn a_document_is_kept_under_one_spelling_of_a_url() {
        assert!(is_document_url("https://issuer.example/status/1"));
        assert!(is_document_url("https://issuer.example/status?list=1"));
        for url in [
            "http://issuer.example/status/1",
            "https://issuer.example/status/1#list",
            "https://issuer.example",
            "https://issuer.example/a/./b",
            "https://10.0.0.1/status",
            "file:///etc/passwd",
            "../../status",
        ] {
            assert!(!is_document_url(url), "{url}");
        }
    }

    #[test]
    fn a_host_and_its_port_are_those_of_the_url() {
        for (url, name, number) in [
            ("https://a.example/x:9", "a.example", 443),
            ("https://a.example?b:9", "a.example", 443),
            ("https://a.example:8443/x", "a.example", 8443),
        ] {
            assert_eq!((host(url), port(url)), (name, number), "{url}");
        }
        assert!(is_host("a.example") && is_host("xn--bcher-kva.example"));
        for name in
            ["", "A.example", "a.example:443", "a.example/", "localhost", "10.0.0.1", "a@b.example", "a.b?c"]
        {
            assert!(!is_host(name), "{name}");
        }
    }
}
