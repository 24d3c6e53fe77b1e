//! Targets in the normal form of RFC 3986 6.2.2, compared and never repaired.
//!
//! Two spellings of one resource are the oldest way past a prohibition, so a target has one spelling or is refused.
//! Where servers are known to disagree about a spelling (an encoded slash, `..;`, an empty query), the rule is
//! stricter than the RFC.

use oxiri::Iri;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether an IRI is in normal form: an http(s) IRI with a lower-case A-label host, no default port, userinfo,
/// backslash, dot segment, empty segment other than the last, or needless escape. IRIs of other schemes compare
/// exactly, and have no dot segment either.
pub(crate) fn is_normal(iri: &str) -> bool {
    let Ok(parsed) = Iri::parse(iri) else { return false };
    if parsed.scheme().bytes().any(|octet| octet.is_ascii_uppercase()) {
        return false;
    }
    match parsed.scheme() {
        "http" => is_normal_web(&parsed, "80"),
        "https" => is_normal_web(&parsed, "443"),
        _ => !parsed.path().split('/').any(is_dot_segment),
    }
}

/// Whether a text is an absolute IRI (RFC 3987).
pub(crate) fn is_iri(text: &str) -> bool {
    Iri::parse(text).is_ok()
}

fn is_normal_web(iri: &Iri<&str>, default_port: &str) -> bool {
    // RFC 3986 knows URIs: beyond ASCII, the escaped spelling is the one.
    iri.as_str().is_ascii()
        && iri.authority().is_some_and(|authority| is_normal_authority(authority, default_port))
        && is_normal_path(iri.path())
        && has_normal_escapes(iri.as_str())
        // An empty query or fragment is a second spelling of none.
        && iri.query() != Some("")
        && iri.fragment() != Some("")
}

/// A host and, where it is not the scheme's own, a port; never userinfo, whose `@` is in no host.
fn is_normal_authority(authority: &str, default_port: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => return is_normal_ipv6(address),
        Some((address, port)) => match port.strip_prefix(':') {
            Some(port) => return is_normal_ipv6(address) && is_normal_port(port, default_port),
            None => return false,
        },
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    is_normal_host(host) && port.is_none_or(|port| is_normal_port(port, default_port))
}

fn is_normal_port(port: &str, default_port: &str) -> bool {
    port != default_port && port.parse::<u16>().is_ok_and(|number| number != 0 && number.to_string() == port)
}

/// The text form of RFC 5952, which is also the one that the standard library writes.
fn is_normal_ipv6(address: &str) -> bool {
    address.parse::<Ipv6Addr>().is_ok_and(|parsed| parsed.to_string() == address)
}

/// Lower-case LDH labels, without the root's trailing dot; a host that any reader could take for an IPv4 address is
/// four plain decimal numbers.
fn is_normal_host(host: &str) -> bool {
    if host.len() > 253 || !host.split('.').all(is_normal_label) {
        return false;
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let hexadecimal =
        last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|octet| octet.is_ascii_hexdigit()));
    if hexadecimal || last.bytes().all(|octet| octet.is_ascii_digit()) {
        return host.parse::<Ipv4Addr>().is_ok_and(|parsed| parsed.to_string() == host);
    }
    true
}

fn is_normal_label(label: &str) -> bool {
    let allowed = |octet: u8| matches!(octet, b'a'..=b'z' | b'0'..=b'9' | b'-');
    !label.is_empty()
        && label.len() <= 63
        && label.bytes().all(allowed)
        && !label.starts_with('-')
        // Also the A-label of an ASCII name (`xn--example-`), which some resolvers turn back into the name.
        && !label.ends_with('-')
}

/// Begins with a slash, and has no segment that some server resolves away.
fn is_normal_path(path: &str) -> bool {
    let Some(segments) = path.strip_prefix('/') else { return false };
    let upper = path.to_ascii_uppercase();
    let escaped_twice = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if upper.contains("%2F") || upper.contains("%5C") || upper.split("%25").skip(1).any(escaped_twice) {
        return false;
    }
    let last = segments.matches('/').count();
    segments
        .split('/')
        .enumerate()
        .all(|(index, segment)| !is_dot_segment(segment) && (!segment.is_empty() || index == last))
}

/// `.` or `..`, also in escapes, and before a `;` parameter that servers cut off.
fn is_dot_segment(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default();
    name.contains(['.', '%']) && matches!(name.to_ascii_uppercase().replace("%2E", ".").as_str(), "." | "..")
}

/// Upper-case escapes, none of an unreserved character or of a control, that together spell UTF-8.
fn has_normal_escapes(iri: &str) -> bool {
    let mut octets = Vec::with_capacity(iri.len());
    let mut rest = iri.bytes();
    while let Some(octet) = rest.next() {
        if octet != b'%' {
            octets.push(octet);
            continue;
        }
        let (Some(high), Some(low)) = (rest.next().and_then(hex), rest.next().and_then(hex)) else {
            return false;
        };
        let escaped = high << 4 | low;
        let unreserved = escaped.is_ascii_alphanumeric() || matches!(escaped, b'-' | b'.' | b'_' | b'~');
        if unreserved || escaped.is_ascii_control() {
            return false;
        }
        octets.push(escaped);
    }
    // An overlong escape (`%C0%AE` for a dot) is not UTF-8.
    std::str::from_utf8(&octets).is_ok()
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_targets_are_normal() {
        for iri in [
            "https://alice.pod.example/notes/",
            "https://alice.pod.example/",
            "https://alice.pod.example/notes/2026.ttl",
            "https://alice.pod.example/notes/.acl",
            "https://alice.pod.example/notes/..hidden",
            "https://alice.pod.example/a...b/...",
            "https://alice.pod.example/card#me",
            "https://alice.pod.example/search?q=a%2Fb&x=..",
            "https://alice.pod.example/caf%C3%A9%20au%20lait",
            "https://alice.pod.example/a%25b;v=1,2",
            "https://alice.pod.example:8443/x",
            "http://alice.pod.example:443/x",
            "https://xn--bcher-kva.example/",
            "https://192.0.2.1/x",
            "https://[2001:db8::1]/x",
            "https://[2001:db8::1]:8443/x",
            "http://localhost/x",
            "https://a1.0x7g.example/~alice",
        ] {
            assert!(is_normal(iri), "{iri}");
        }
    }

    /// Threat 13: each is another spelling of something, or could be read as one.
    #[test]
    fn aliases_are_not_normal() {
        for iri in [
            // Case.
            "HTTPS://a.example/x",
            "Http://a.example/x",
            "https://A.example/x",
            "https://a.Example/x",
            // Path.
            "https://a.example",
            "https://a.example?q=1",
            "https://a.example#f",
            "https://a.example/./x",
            "https://a.example/../x",
            "https://a.example/x/..",
            "https://a.example/x/.",
            "https://a.example/b/../x",
            "https://a.example//x",
            "https://a.example/b//x",
            "https://a.example/b//",
            "https://a.example//",
            "https://a.example/b/..;/x",
            "https://a.example/b/..;a=1/x",
            "https://a.example/b/.;/x",
            // Escapes.
            "https://a.example/%2e%2e/x",
            "https://a.example/%2E%2E/x",
            "https://a.example/.%2E/x",
            "https://a.example/%78",
            "https://a.example/%7Ealice",
            "https://a.example/a%2Db",
            "https://a.example/caf%c3%a9",
            "https://a.example/a%2fb",
            "https://a.example/a%2Fb",
            "https://a.example/..%2Fx",
            "https://a.example/..%5Cx",
            "https://a.example/..%5cx",
            "https://a.example/x%00",
            "https://a.example/x%0A",
            "https://a.example/x%7F",
            "https://a.example/%C0%AE%C0%AE/x",
            "https://a.example/%FF",
            "https://a.example/x%",
            "https://a.example/x%2",
            "https://a.example/x%GG",
            "https://a.example/x?q=%61",
            "https://a.example/x#%61",
            "https://a.example/%252E%252E/x",
            "https://a.example/..%252fx",
            // Beyond ASCII.
            "https://a.example/café",
            "https://a.example/x?é",
            "https://bücher.example/x",
            "https://a\u{3002}example/x",
            "https://xn--example-.example/x",
            "https://xn--.example/x",
            // Authority.
            "https://a.example:443/x",
            "http://a.example:80/x",
            "https://a.example:/x",
            "https://a.example:0443/x",
            "https://a.example:0/x",
            "https://a.example:65536/x",
            "https://a.example:+8443/x",
            "https://alice@a.example/x",
            "https://alice:secret@a.example/x",
            "https://@a.example/x",
            "https://a.example@evil.example/x",
            "https://a.example./x",
            "https://a..example/x",
            "https://.a.example/x",
            "https://-a.example/x",
            "https://a-.example/x",
            "https://a%2Eexample/x",
            "https://%61.example/x",
            "https:///x",
            "https:/a.example/x",
            "https:a.example/x",
            "https://",
            "https://:8443/x",
            // Backslashes and white space.
            "https://a.example\\x",
            "https:\\\\a.example\\x",
            "https://a.example/b\\..\\x",
            " https://a.example/x",
            "https://a.example/x ",
            "https://a.example/a b",
            "https://a.example/x\n",
            "https://a.exam\tple/x",
            // Addresses.
            "https://127.1/x",
            "https://0x7f.0.0.1/x",
            "https://127.0.0.0x1/x",
            "https://0x7f000001/x",
            "https://0x/x",
            "https://2130706433/x",
            "https://0177.0.0.1/x",
            "https://127.0.0.01/x",
            "https://127.0.0.1./x",
            "https://1.2.3.4.5/x",
            "https://256.0.0.1/x",
            "https://[::FFFF]/x",
            "https://[0:0:0:0:0:0:0:1]/x",
            "https://[::1]:443/x",
            "https://[::1]x/x",
            "https://[::1%25eth0]/x",
            "https://[v1.x]/x",
            // Queries and fragments that say nothing.
            "https://a.example/x?",
            "https://a.example/x#",
            "https://a.example/x?#",
            // Not absolute IRIs.
            "",
            "/x",
            "//a.example/x",
            "x",
            "#me",
            "https",
        ] {
            assert!(!is_normal(iri), "{iri}");
        }
    }

    #[test]
    fn a_host_is_bounded() {
        let label = "a".repeat(63);
        assert!(is_normal(&format!("https://{label}.example/")));
        assert!(!is_normal(&format!("https://a{label}.example/")));
        assert!(!is_normal(&format!("https://{label}.{label}.{label}.{label}.example/")));
    }

    #[test]
    fn other_schemes_compare_exactly() {
        for iri in [
            "urn:example:Data",
            "urn:a2a:intent:kxs8cv",
            "did:web:a.example:x",
            "mailto:A@B.example",
            "ftp://A/%7e",
        ] {
            assert!(is_normal(iri), "{iri}");
        }
        for iri in ["URN:example:data", "did web:x", "ftp://a/b/../c", "file:///%2e%2e/x", "x:.."] {
            assert!(!is_normal(iri), "{iri}");
        }
    }
}
