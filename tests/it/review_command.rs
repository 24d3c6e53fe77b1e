//! `writgate protocol review`.

use crate::command_line::{Scratch, writgate};
use serde_json::Value;

const PREFIXES: &str = "@prefix a2a: <https://w3id.org/jeswr/a2a#>. @prefix ex: <https://example.org/>.
    @prefix sh: <http://www.w3.org/ns/shacl#>. ";
const DOCUMENT: &str = "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:S. ";

#[test]
fn a_review_prints_the_verdict_the_classes_and_the_cost() {
    let run = writgate(&["protocol", "review", "policies/grant-access.ttl"]);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    for part in
        ["ACCEPT  sha256:4af1e70e", "document: https://", "request shape: <", "a2a:GrantAction", "of 50000"]
    {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

#[test]
fn a_refused_document_exits_with_1_and_every_finding() {
    let scratch = Scratch::new("review-refused");
    let text = format!("{PREFIXES}{DOCUMENT} ex:S a sh:NodeShape; sh:deactivated true; sh:sparql [].");
    scratch.write("bad.ttl", &text);
    let run = scratch.try_run(&["protocol", "review", "bad.ttl"]);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("REFUSE  sha256:"), "{}", run.stdout);
    assert!(run.stdout.contains("sh:sparql is not of SHACL Core"), "{}", run.stdout);
    assert!(run.stdout.contains("it is deactivated"), "{}", run.stdout);
    scratch.write("no.ttl", "no Turtle");
    assert_eq!(scratch.status(&["protocol", "review", "no.ttl"]), 1);
}

#[test]
fn a_review_as_json_is_one_object() {
    let run = writgate(&["protocol", "review", "policies/read.ttl", "--json"]);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.status, &json["accepted"]), (0, &Value::Bool(true)));
    assert_eq!(json["classes"]["pinned"][0], "https://schema.org/ReadAction");
    assert!(json["cost"]["request_steps"].as_u64() < json["cost"]["budget"].as_u64());
}

#[test]
fn a_review_holds_the_document_to_a_pin() {
    let hash = writgate(&["protocol", "hash", "policies/read.ttl"]).stdout;
    assert_eq!(writgate(&["protocol", "review", "policies/read.ttl", "--hash", hash.trim()]).status, 0);
    let other = writgate(&["protocol", "review", "policies/grant-access.ttl", "--hash", hash.trim()]);
    assert_eq!(other.status, 1);
    assert!(other.stdout.contains("not to its pin"), "{}", other.stdout);
}

#[test]
fn a_review_that_cannot_run_exits_with_2() {
    assert_eq!(writgate(&["protocol", "review", "policies/missing.ttl"]).status, 2);
    assert_eq!(writgate(&["protocol", "review", "Cargo.toml"]).status, 2);
    assert_eq!(writgate(&["protocol", "review", "policies/read.ttl", "--hash", "sha512:00"]).status, 2);
}

#[test]
fn the_texts_of_a_document_cannot_move_the_cursor() {
    let scratch = Scratch::new("review-hostile");
    let name = "https://example.org/\\u202Eevil";
    let text = format!("{PREFIXES}{DOCUMENT} ex:S a sh:NodeShape; sh:node <{name}>.");
    scratch.write("bad.ttl", &text);
    for arguments in [&["protocol", "review", "bad.ttl"][..], &["protocol", "review", "bad.ttl", "--json"]] {
        let run = scratch.try_run(arguments);
        assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
        assert!(!run.stdout.contains('\u{202e}'), "{}", run.stdout);
        assert!(run.stdout.contains("evil"), "{}", run.stdout);
    }
}
