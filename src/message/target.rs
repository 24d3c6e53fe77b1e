//! Targets in the normal form of RFC 3986 6.2.2, compared and never repaired.

/// Whether an IRI is in normal form: an http(s) IRI with a lower-case A-label host, no default port, userinfo,
/// backslash, dot segment, empty segment other than the last, or needless escape. IRIs of other schemes compare exactly.
pub(crate) fn is_normal(iri: &str) -> bool {
    let _ = iri;
    false
}
