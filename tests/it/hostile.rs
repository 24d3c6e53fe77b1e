//! Bad input of every kind gets its refusal: nothing panics, fetches or hangs.

use crate::support::{engine, evaluate, grant, noon, read, reason, refusal, world};
use serde_json::{Value, json};
use writgate::worked_example::Intent;
use writgate::{Evaluation, MessageInput, Outcome, Reason, Request};

fn message() -> Value {
    grant().message().unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

/// A message whose intent is `text`.
fn with_intent(text: &str, media_type: &str) -> Vec<u8> {
    let mut ask = grant();
    ask.intent = (text.to_owned(), media_type.to_owned());
    bytes(&ask.message().unwrap())
}

#[test]
fn truncated_json_at_every_octet_is_malformed() {
    let whole = bytes(&message());
    for end in (0..whole.len()).step_by(17) {
        assert_eq!(reason(evaluate(&whole[..end])), Reason::MessageMalformed, "cut at {end}");
    }
}

#[test]
fn a_hundred_megabytes_are_too_large() {
    assert_eq!(reason(evaluate(vec![b' '; 100 << 20])), Reason::MessageTooLarge);
}

#[test]
fn ten_thousand_nested_arrays_hit_the_depth_limit() {
    let nested = "[".repeat(10_000) + &"]".repeat(10_000);
    assert_eq!(reason(evaluate(nested.clone())), Reason::LimitExceeded);
    let inside =
        String::from_utf8(bytes(&message())).unwrap().replacen('{', &format!("{{\"x\":{nested},"), 1);
    assert_eq!(reason(evaluate(inside)), Reason::LimitExceeded);
}

#[test]
fn duplicate_members_are_malformed() {
    let twice = String::from_utf8(bytes(&message())).unwrap().replacen('{', "{\"messageId\":\"msg-1\",", 1);
    assert_eq!(reason(evaluate(twice)), Reason::MessageMalformed);
    let escaped =
        String::from_utf8(bytes(&message())).unwrap().replacen('{', "{\"message\\u0049d\":\"msg-1\",", 1);
    assert_eq!(reason(evaluate(escaped)), Reason::MessageMalformed);
}

#[test]
fn invalid_utf8_is_malformed() {
    let mut octets = bytes(&message());
    let at = octets.windows(5).position(|window| window == b"msg-1").unwrap();
    octets[at] = 0xff;
    assert_eq!(reason(evaluate(octets)), Reason::MessageMalformed);
}

#[test]
fn a_remote_context_is_refused_and_not_fetched() {
    let text =
        json!({ "@context": "https://attacker.example/context", "@id": "urn:x", "@type": "a2a:Intent" });
    assert_eq!(
        reason(evaluate(with_intent(&text.to_string(), "application/ld+json"))),
        Reason::RemoteContext
    );
}

#[test]
fn owl_imports_is_inert_and_closed_intents_refuse_it() {
    let intent =
        Intent::grant_bob().with("<http://www.w3.org/2002/07/owl#imports> <https://attacker.example/>");
    assert_eq!(reason(evaluate(with_intent(&intent.turtle(), "text/turtle"))), Reason::IntentUnmapped);
}

#[test]
fn relative_iris_are_malformed() {
    let text = Intent::grant("notes/", "https://bob.example/profile#me").turtle();
    assert_eq!(reason(evaluate(with_intent(&text, "text/turtle"))), Reason::GraphMalformed);
}

#[test]
fn no_intent_and_two_intents_are_ambiguous() {
    let none = "<urn:x> <urn:y> <urn:z> .";
    assert_eq!(reason(evaluate(with_intent(none, "text/turtle"))), Reason::IntentAmbiguous);
    let two = Intent::grant_bob().followed_by("<urn:a2a:intent:other> a a2a:Intent .");
    assert_eq!(reason(evaluate(with_intent(&two.turtle(), "text/turtle"))), Reason::IntentAmbiguous);
}

/// PP-3: with the W3C report, and with the literals of the data only for the server.
#[test]
fn an_intent_that_violates_a_request_shape_is_refused() {
    let text = Intent::grant_bob()
        .turtle()
        .replace("schema:recipient <https://bob.example/profile#me>", "schema:recipient \"Bob\"");
    let refusal = refusal(evaluate(with_intent(&text, "text/turtle")));
    assert_eq!(refusal.reason(), Reason::ShapeViolation);
    assert_eq!(refusal.evidence().path.as_deref(), Some("https://w3id.org/jeswr/a2a#action"));
    assert!(refusal.shacl_report().unwrap().contains("sh:conforms false"));
    assert!(!refusal.public().shacl_report.unwrap().contains("Bob"));
}

#[test]
fn deeply_nested_turtle_is_refused() {
    for (open, close) in [("[ <urn:p> ", " ]"), ("( ", " )")] {
        let deep = format!("<urn:s> <urn:p> {}<urn:o>{} .", open.repeat(10_000), close.repeat(10_000));
        let refused = reason(evaluate(with_intent(&deep, "text/turtle")));
        assert!(matches!(refused, Reason::GraphTooLarge | Reason::GraphMalformed), "{refused:?}");
    }
}

#[test]
fn a_poison_graph_is_refused_before_it_costs() {
    // A clique of blank nodes, for which RDFC-1.0 is exponential.
    let mut clique = Intent::grant_bob().turtle();
    for from in 0..10 {
        for to in (0..10).filter(|to| *to != from) {
            clique.push_str(&format!("_:n{from} <urn:p> _:n{to} .\n"));
        }
    }
    assert_eq!(reason(evaluate(with_intent(&clique, "text/turtle"))), Reason::GraphTooLarge);
}

#[test]
fn random_octets_and_random_edits_never_pass() {
    use proptest::prelude::*;
    let whole = bytes(&read().message().unwrap());
    let original = evaluate(whole.clone()).report.presentation_digest;
    assert!(original.is_some());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    runner
        .run(&(0..whole.len(), any::<u8>()), |(at, octet)| {
            let mut edited = whole.clone();
            edited[at] = octet;
            // A plain challenge binds the presentation alone, and some edits change no quad of that: white space, a term
            // that nothing uses. What may not pass is a presentation that says anything else than what was signed.
            let evaluation = evaluate(edited);
            if let Outcome::Granted(_) = evaluation.outcome {
                prop_assert_eq!(evaluation.report.presentation_digest, original);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_facts_of_the_caller_are_not_taken_from_the_message() {
    let mut value = message();
    value["metadata"] = json!({ "actor": "did:key:zSomebody", "challenge": "x" });
    let mut facts = world().facts();
    facts.challenge = Some("a-challenge-that-was-not-answered".to_owned());
    assert_eq!(reason(crate::support::evaluate_with(bytes(&value), facts)), Reason::ChallengeMismatch);
}

fn evaluate_typed(message: a2a::Message) -> Evaluation {
    let engine = engine();
    let snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
    let message = MessageInput::Typed(Box::new(message));
    let request = Request { message, facts: world().facts(), snapshot };
    let evaluation = engine.evaluate(&request);
    // Dropping a deep value recurses, which is its maker's affair.
    std::mem::forget(request);
    evaluation
}

#[test]
fn a_typed_message_of_any_depth_is_refused_without_being_written() {
    let mut typed: a2a::Message = serde_json::from_value(message()).unwrap();
    let deep = (0..100_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    typed.metadata = Some([("deep".to_owned(), deep)].into());
    assert_eq!(reason(evaluate_typed(typed)), Reason::LimitExceeded);
}

#[test]
fn equal_typed_messages_have_equal_reports_also_where_they_are_not_read() {
    let digest = || {
        let mut typed: a2a::Message = serde_json::from_value(message()).unwrap();
        typed.message_id = String::new();
        typed.metadata = Some((0..20).map(|key| (format!("key-{key}"), json!(key))).collect());
        let evaluation = evaluate_typed(typed);
        assert_eq!(evaluation.report.reason, Some(Reason::MessageMalformed));
        evaluation.report.message_digest
    };
    assert_eq!(digest(), digest());
}
