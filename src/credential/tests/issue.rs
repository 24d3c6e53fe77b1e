//! Making papers.

use super::*;
use crate::credential::issue::{IssueError, Presenting, present};
use oxrdf::vocab::xsd;

#[test]
fn a_key_file_reads_back_as_the_same_key() {
    let key = issuer().with_controller("https://a.example/id", "https://a.example/keys#k1");
    let again = SigningKey::from_json(&key.to_json()).unwrap();
    assert_eq!(again.to_json(), key.to_json());
    assert_eq!((again.controller(), again.method()), (key.controller(), key.method()));
    assert_eq!(again.sign(b"x"), key.sign(b"x"));
}

#[test]
fn generated_keys_differ() {
    let (one, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    assert_ne!(one.did_key(), other.did_key());
    assert_eq!(one.controller(), one.did_key());
}

#[test]
fn a_key_file_that_is_not_one_is_refused() {
    let good = issuer().to_json();
    let refused = |member: &str, value: Value| {
        let mut file = good.clone();
        file[member] = value;
        assert!(matches!(SigningKey::from_json(&file), Err(IssueError::Key(_))), "{member}");
    };
    refused("type", json!("JsonWebKey"));
    refused("publicKeyMultibase", json!(stranger().public_key_multibase()));
    refused("secretKeyMultibase", json!(issuer().public_key_multibase()));
    refused("secretKeyMultibase", json!("z"));
    refused("controller", json!(null));
    refused("id", json!(null));
    refused("note", json!("unknown"));
    assert!(SigningKey::from_json(&json!("z")).is_err());
}

#[test]
fn debug_output_of_a_key_holds_no_secret() {
    let secret = issuer().to_json()["secretKeyMultibase"].as_str().unwrap().to_owned();
    let debug = format!("{:?}", issuer());
    assert!(!debug.contains(&secret) && !debug.contains("secret"), "{debug}");
}

#[test]
fn a_mandate_without_an_id_is_named_by_its_content() {
    let unnamed = Mandate { id: None, ..terms(DELEGATE) };
    let id = |mandate: &Mandate<'_>| {
        let document = issue_mandate(&issuer(), mandate, now()).unwrap();
        document["id"].as_str().unwrap().to_owned()
    };
    assert!(id(&unnamed).starts_with("urn:uuid:"));
    assert_eq!(id(&unnamed), id(&unnamed));
    assert_ne!(id(&unnamed), id(&Mandate { id: None, ..terms("https://other.example/") }));
}

#[test]
fn a_mandate_that_would_be_refused_is_not_issued() {
    for mandate in [
        terms("not an iri"),
        Mandate { targets: vec!["relative".to_owned()], ..terms(DELEGATE) },
        Mandate { id: Some("relative".to_owned()), ..terms(DELEGATE) },
    ] {
        assert!(matches!(issue_mandate(&issuer(), &mandate, now()), Err(IssueError::Refused(_))));
    }
    let mismatched = issuer().with_controller(stranger().did_key(), stranger().method());
    assert!(issue_mandate(&mismatched, &terms(DELEGATE), now()).is_err());
}

#[test]
fn every_kind_of_term_survives_embedding() {
    let text = format!(
        "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
        <{POLICY_IRI}> a odrl:Agreement, odrl:Policy ; odrl:permission <urn:rule> , [ odrl:action odrl:read ;
            odrl:constraint [ odrl:and ( [ odrl:leftOperand odrl:count ] [ odrl:leftOperand odrl:purpose ] ) ] ;
            odrl:constraint [ odrl:rightOperand (), 1, 1.50, true, 2e0, \"text\", \"Wort\"@de,
                \"2026-01-01T00:00:00Z\"^^<{}> ] ] .
        <urn:rule> odrl:action odrl:use ; odrl:target <{POLICY_IRI}> .",
        xsd::DATE_TIME.as_str()
    );
    let policy = MandatePolicy::Embedded { text: &text, media_type: "text/turtle" };
    let document = issue_mandate(&issuer(), &Mandate { policy, ..terms(DELEGATE) }, now()).unwrap();
    assert_eq!(phase_a(&document), Ok(()));
}

#[test]
fn a_policy_that_is_no_tree_is_not_embedded() {
    let refused = |text: &str, media_type: &str| {
        let policy = MandatePolicy::Embedded { text, media_type };
        let issued = issue_mandate(&issuer(), &Mandate { policy, ..terms(DELEGATE) }, now());
        assert!(matches!(issued, Err(IssueError::Policy(_))), "{text}");
    };
    let agreement = "a <http://www.w3.org/ns/odrl/2/Agreement>";
    refused(&format!("<urn:p> {agreement} ; <urn:a> _:b ; <urn:c> _:b . _:b <urn:d> 1 ."), "text/turtle");
    refused(&format!("<urn:p> {agreement} . <urn:q> {agreement} ."), "text/turtle");
    refused(&format!("<urn:p> {agreement} . <urn:q> <urn:a> 1 ."), "text/turtle");
    refused(&format!("<urn:p> {agreement} ; <urn:a> [] ."), "text/turtle");
    refused("<urn:p> <urn:a> 1 .", "text/turtle");
    refused("nothing", "text/turtle");
    refused(POLICY, "application/json");
    let deep = format!("<urn:p> {agreement} ; <urn:a> {} 1 {} .", "[ <urn:a> ".repeat(28), "]".repeat(28));
    refused(&deep, "text/turtle");
}

#[test]
fn what_the_verifier_would_not_read_is_not_presented() {
    let presenting = Presenting {
        challenge: "0123456789abcdef",
        domain: "https://s.example",
        created: now(),
        expires: None,
    };
    assert!(present(&holder(), &[mandate()], &presenting).is_ok());
    assert!(present(&holder(), &[], &presenting).is_err());
    assert!(present(&holder(), &[json!("urn:a")], &presenting).is_err());
}
