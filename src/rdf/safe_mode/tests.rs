//! What the walk refuses by itself, where the library would refuse or differ too.

use super::*;
use crate::rdf::contexts::CREDENTIALS_V2;
use serde_json::json;

fn walk(document: &Value, dialect: Dialect) -> Result<usize, RdfError> {
    super::walk(document, dialect, &Limits::default()).map(|walk| walk.noted())
}

fn assert_malformed(document: &Value, dialect: Dialect) {
    let result = walk(document, dialect);
    assert!(matches!(result, Err(RdfError::Malformed(_))), "{document} gave {result:?}");
}

#[test]
fn each_quad_is_noted() {
    let document = json!({
        "@id": "urn:s", "@type": ["urn:T", "urn:U"], "urn:p": [1, "a", {"@value": 1.5}, {"@id": "urn:o"}],
        "urn:l": {"@list": [1, {"urn:q": true}]}, "urn:e": {"@list": []}
    });
    // 2 types, 4 values, 5 of the list with 1 of its node, and the empty list.
    assert_eq!(walk(&document, Dialect::Document), Ok(13));
}

#[test]
fn a_type_does_not_make_a_member_an_identifier() {
    let document = json!({
        "@context": {"T": {"@id": "urn:T", "@context": {"id": "@id"}}}, "@type": "T", "id": "urn:x", "urn:p": 1
    });
    assert_malformed(&document, Dialect::Document);
}

#[test]
fn types_and_identifiers_are_given_once() {
    let aliases = json!({"t": "@type", "i": "@id"});
    let types = json!({"@context": aliases, "@type": "urn:T", "t": "urn:U"});
    assert_malformed(&types, Dialect::Document);
    let identifiers = json!({"@context": aliases, "@id": "urn:x", "i": "urn:y", "urn:p": 1});
    assert_malformed(&identifiers, Dialect::Document);
}

#[test]
fn a_graph_container_is_refused_in_a_document() {
    let document = json!({
        "@context": CREDENTIALS_V2, "type": "VerifiableCredential", "id": "urn:x",
        "proof": {"type": "DataIntegrityProof", "cryptosuite": "x"}
    });
    assert_eq!(walk(&document, Dialect::Paper), Ok(4));
    assert_malformed(&document, Dialect::Document);
}

#[test]
fn a_scoped_context_overrides_no_protected_term_where_it_is_used() {
    // `issuer` is protected by the context of the type, which is in force for values of the node itself.
    let paper = json!({
        "@context": [CREDENTIALS_V2, {"more": {"@id": "urn:more", "@context": {"issuer": "urn:issuer"}}}],
        "type": "VerifiableCredential", "id": "urn:x", "more": "y"
    });
    assert_malformed(&paper, Dialect::Paper);
}

#[test]
fn repeated_values_are_noted_once_each() {
    assert_eq!(walk(&json!({"@id": "urn:s", "urn:p": ["a", "a"]}), Dialect::Document), Ok(2));
}

#[test]
fn the_walk_alone_refuses_what_the_two_readings_differ_on() {
    for document in [
        json!({"@context": {"p": {"@id": "https://e.example/"}}, "@id": "urn:s", "p:a": 1}),
        json!({"@context": {"a": {"@id": "urn:a", "@type": "urn:T", "@language": "en"}}, "@id": "urn:s", "a": "x"}),
        json!({"@id": "urn:s", "urn:p": null}),
    ] {
        assert_malformed(&document, Dialect::Document);
    }
    let text_for_a_graph = json!({
        "@context": CREDENTIALS_V2, "type": "VerifiableCredential", "id": "urn:x", "proof": "urn:proof"
    });
    assert_malformed(&text_for_a_graph, Dialect::Paper);
}
