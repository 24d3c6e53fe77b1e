//! A user's first hour with the library, and what a refusal tells a stranger.

use crate::support::{
    self, assert_granted, evaluate, evaluate_with, grant, noon, octets, read, refusal, world,
};
use serde_json::Value;
use std::path::Path;
use writgate::worked_example::{Intent, NOTES};
use writgate::{Actor, MessageInput, Outcome, Reason, Request, SecurityBearingEffects};

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

#[test]
fn the_examples_messages_are_granted() {
    assert_granted(&evaluate(bytes(&grant().message().unwrap())));
    assert_granted(&evaluate(bytes(&read().message().unwrap())));
}

#[test]
fn evaluating_twice_gives_equal_report_bodies() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/cases");
    let mut compared = 0;
    for case in std::fs::read_dir(suite).unwrap() {
        let message = std::fs::read(case.unwrap().path().join("message.json")).unwrap();
        // Two engines, so that nothing carried over could make them equal.
        let (first, second) = (evaluate(message.clone()), evaluate(message));
        assert_eq!(first.report.to_jcs().unwrap(), second.report.to_jcs().unwrap());
        compared += 1;
    }
    assert!(compared > 60);
}

#[test]
fn a_message_that_the_caller_parsed_is_judged_alike_and_marked() {
    let message = grant().message().unwrap();
    let typed: a2a::Message = serde_json::from_value(message).unwrap();
    let engine = support::engine();
    let snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
    let evaluation = engine.evaluate(&Request {
        message: MessageInput::Typed(Box::new(typed)),
        facts: world().facts(),
        snapshot,
    });
    assert_granted(&evaluation);
    assert!(evaluation.report.marks.contains("parsed-by-caller"));
}

#[test]
fn an_unbound_presentation_is_marked_and_a_bound_one_is_not() {
    let mut ask = grant();
    let evaluation = evaluate(bytes(&ask.message().unwrap()));
    assert!(evaluation.report.marks.contains("unbound"));
    ask.bound = true;
    let evaluation = evaluate(bytes(&ask.message().unwrap()));
    assert_granted(&evaluation);
    assert!(!evaluation.report.marks.contains("unbound"));
}

#[test]
fn a_bound_presentation_authorizes_this_message_and_no_other() {
    let mut ask = grant();
    ask.bound = true;
    let presentation = ask.presentation().unwrap();
    let whole = ask.with_presentation(Some(presentation.clone()));
    assert_granted(&evaluate(bytes(&whole)));
    // Held back, then sent with one thing changed at a time.
    type Edit<'a> = (&'a str, &'a dyn Fn(&mut Value));
    let edits: [Edit<'_>; 7] = [
        ("id", &|message| message["messageId"] = "msg-2".into()),
        ("task", &|message| message["taskId"] = "task-1".into()),
        ("mode", &|message| replace(message, "acl:Read", "acl:Write")),
        ("target", &|message| replace(message, NOTES, "https://alice.pod.example/notes/secret")),
        ("recipient", &|message| replace(message, "https://bob.example/", "https://eve.example/")),
        ("text part", &|message| {
            message["parts"].as_array_mut().unwrap().push(serde_json::json!({ "text": "and more" }));
        }),
        ("metadata", &|message| message["metadata"] = serde_json::json!({ "https://other.example/": true })),
    ];
    for (what, edit) in edits {
        let mut edited = whole.clone();
        edit(&mut edited);
        assert_eq!(refusal(evaluate(bytes(&edited))).reason(), Reason::ChallengeMismatch, "{what}");
    }
    let mut elsewhere = whole;
    elsewhere["contextId"] = "ctx-2".into();
    let mut facts = world().facts();
    facts.context = Some("ctx-2".to_owned());
    assert_eq!(refusal(evaluate_with(bytes(&elsewhere), facts)).reason(), Reason::ChallengeMismatch);
}

fn replace(message: &mut Value, from: &str, to: &str) {
    let text = message["parts"][0]["text"].as_str().unwrap();
    assert!(text.contains(from));
    message["parts"][0]["text"] = text.replace(from, to).into();
}

#[test]
fn a_message_that_is_not_ours_forbids_effects() {
    let prose = r#"{"messageId":"m","contextId":"ctx-1","role":"ROLE_USER","parts":[{"text":"hello"}]}"#;
    match evaluate(prose).outcome {
        Outcome::NotOurs(not_ours) => {
            assert_eq!(not_ours.security_bearing_effects(), SecurityBearingEffects::Forbidden);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_holder_is_the_actor_where_nobody_authenticated_one() {
    let mut facts = world().facts();
    facts.actor = Actor::Unauthenticated;
    let evaluation = evaluate_with(bytes(&grant().message().unwrap()), facts.clone());
    assert_granted(&evaluation);
    assert!(evaluation.report.actor_unauthenticated);
    // An intent that names another agent is found out once the holder is known.
    let other = Intent::grant_bob().with("schema:agent <https://mallory.example/#me>");
    let ask = world().ask(other, noon()).unwrap();
    assert_eq!(refusal(evaluate_with(bytes(&ask.message().unwrap()), facts)).reason(), Reason::AgentMismatch);
}

/// What every refusal of the suite tells the peer: the wire code and nothing else until the holder is verified, and
/// nothing about targets, documents or our own health afterwards.
#[test]
fn public_refusals_tell_little() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/cases");
    for case in std::fs::read_dir(suite).unwrap() {
        let message = std::fs::read(case.unwrap().path().join("message.json")).unwrap();
        let evaluation = evaluate(message);
        let verified = evaluation.report.holder.is_some();
        let Outcome::Refused(refusal) = evaluation.outcome else { continue };
        let public = refusal.public();
        assert_eq!(public.error, refusal.wire_code());
        match public.reason {
            None => assert!(!verified, "{refusal}"),
            Some(word) => {
                assert!(verified, "{refusal}");
                assert_ne!(word, "NO_ROOT_FOR_TARGET");
                assert!(refusal.wire_code().is_some() || word == "TEMPORARY");
            }
        }
        let text = serde_json::to_string(&public).unwrap();
        for private in ["alice.pod.example/policies", "urn:uuid", "did:key"] {
            assert!(!text.contains(private), "{refusal}: {text}");
        }
        if refusal.reason() == Reason::ShapeViolation {
            let report = public.shacl_report.expect("the document is declared on the card");
            assert!(report.contains("ValidationReport"));
            assert!(
                !report.contains("no mode") && !report.contains("\"notes\""),
                "a literal of the data: {report}"
            );
        }
    }
}

#[test]
fn every_refusal_is_explained_and_nothing_else_is() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/cases");
    let engine = support::engine();
    for case in std::fs::read_dir(suite).unwrap() {
        let message = MessageInput::Bytes(std::fs::read(case.unwrap().path().join("message.json")).unwrap());
        let request = Request {
            message,
            facts: world().facts(),
            snapshot: engine.snapshot(&world().facts(), noon()).unwrap(),
        };
        let explanation = engine.explain(&request);
        match engine.evaluate(&request).outcome {
            Outcome::Refused(refusal) => {
                let explanation = explanation.unwrap_or_else(|| panic!("{refusal}"));
                assert!(!explanation.sentence.is_empty() && !explanation.change.is_empty(), "{refusal}");
            }
            _ => assert_eq!(explanation, None),
        }
    }
    let mut ask = grant();
    ask.intent.0 = Intent::grant(NOTES, "https://carol.example/profile#me").turtle();
    let message = octets(&ask.message().unwrap());
    let request = Request {
        message,
        facts: world().facts(),
        snapshot: engine.snapshot(&world().facts(), noon()).unwrap(),
    };
    let explanation = engine.explain(&request).unwrap();
    assert!(explanation.unmet[0].asked.starts_with("recipient "), "{explanation:?}");
    assert!(explanation.change.contains("the policies would permit it"), "{explanation:?}");
}

#[test]
fn a_decision_names_its_configuration_and_engine() {
    let engine = support::engine();
    let decided = engine.decide(octets(&grant().message().unwrap()), world().facts());
    let body = &decided.report.body;
    assert_eq!(body.configuration_generation, engine.config().generation());
    assert_eq!(body.configuration_digest, engine.config().digest());
    assert_eq!(body.engine_version, env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_refusal_of_a_readable_message_names_it() {
    let mut facts = world().facts();
    facts.activated.clear();
    let evaluation = evaluate_with(bytes(&grant().message().unwrap()), facts);
    assert_eq!(evaluation.report.message_id.as_deref(), Some("msg-1"));
    let granted = evaluate(bytes(&grant().message().unwrap()));
    assert_eq!(evaluation.report.message_digest, granted.report.message_digest);
    assert_eq!(refusal(evaluation).reason(), Reason::ExtensionNotActive);
}
