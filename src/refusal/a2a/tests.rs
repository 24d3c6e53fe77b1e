use super::*;
use crate::refusal::EarlierDecision;
use WireCode::{AuthorizationFailed, HashMismatch, ProtocolRequired, UnknownProtocol, ValidationFailed};
use std::collections::BTreeSet;

type Row = (&'static str, Stage, Option<WireCode>, (i32, i32, &'static str, u16));

/// Every reason with the stage that owns it, its wire code, and its codes in JSON-RPC, gRPC and HTTP.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("MESSAGE_TOO_LARGE", Stage::Admit, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("MESSAGE_MALFORMED", Stage::Admit, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("LIMIT_EXCEEDED", Stage::Admit, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("EXTENSION_NOT_TAGGED", Stage::Admit, Some(ProtocolRequired), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("EXTENSION_NOT_ACTIVE", Stage::Admit, Some(ProtocolRequired), (-32008, 9, "FAILED_PRECONDITION", 400)),
    ("PROTOCOL_REQUIRED", Stage::Admit, Some(ProtocolRequired), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("WRONG_KIND", Stage::Admit, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("MEDIA_TYPE_UNSUPPORTED", Stage::Admit, Some(ValidationFailed), (-32005, 3, "INVALID_ARGUMENT", 400)),
    ("MISSING_PROTOCOL_HASH", Stage::Protocol, Some(UnknownProtocol), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("HASH_PREFIX_UNKNOWN", Stage::Protocol, Some(UnknownProtocol), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("UNKNOWN_PROTOCOL", Stage::Protocol, Some(UnknownProtocol), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("HASH_MISMATCH", Stage::Loading, Some(HashMismatch), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("HANDSHAKE_MALFORMED", Stage::Handshake, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("GRAPH_MALFORMED", Stage::Intent, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("GRAPH_TOO_LARGE", Stage::Intent, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("REMOTE_CONTEXT", Stage::Intent, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("INTENT_AMBIGUOUS", Stage::Intent, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("SHAPE_VIOLATION", Stage::Shape, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("VALIDATION_BUDGET_EXCEEDED", Stage::Shape, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("INTENT_UNMAPPED", Stage::Action, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("ACTION_UNKNOWN", Stage::Action, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("TARGET_MISSING", Stage::Action, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("TARGET_NOT_NORMAL", Stage::Action, Some(ValidationFailed), (-32602, 3, "INVALID_ARGUMENT", 400)),
    ("AGENT_MISMATCH", Stage::Action, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("NO_ROOT_FOR_TARGET", Stage::Action, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("MIXED_ROOTS", Stage::Action, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("AUTHORIZATION_MISSING", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("MALFORMED", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("NO_PROOF", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("UNKNOWN_CRYPTOSUITE", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("PROOF_PURPOSE_MISMATCH", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("CHALLENGE_UNKNOWN", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("CHALLENGE_EXPIRED", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("CHALLENGE_CONTEXT_MISMATCH", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("CHALLENGE_MISMATCH", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("DOMAIN_MISMATCH", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("HOLDER_UNVERIFIED", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("ISSUER_MISMATCH", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("INVALID_SIGNATURE", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("PRESENTATION_TOO_OLD", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("PRESENTATION_NOT_YET_VALID", Stage::Presentation, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("CHAIN_MALFORMED", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("BINDING_MISMATCH", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("EXPIRED", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("NOT_YET_VALID", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("SUBJECT_ISSUER_MISMATCH", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("POLICY_INTEGRITY", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("STATUS_RETRIEVAL_ERROR", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("REVOKED", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("SUSPENDED", Stage::Chain, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("POLICY_REFERENCE_MISMATCH", Stage::Reference, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("POLICY_DENIED", Stage::Policy, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("IDENTITY_COMPOSITION_FAILED", Stage::Policy, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("OBLIGATION_UNSUPPORTED", Stage::Admission, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("CLOCK_STEPPED_BACK", Stage::Admission, None, (-32603, 13, "INTERNAL", 500)),
    ("BEFORE_LEDGER_FLOOR", Stage::Admission, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("DUPLICATE_MESSAGE", Stage::Admission, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("MESSAGE_ID_REUSED", Stage::Admission, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("CHALLENGE_USED", Stage::Admission, Some(AuthorizationFailed), (-31_403, 7, "PERMISSION_DENIED", 403)),
    ("LEDGER_UNAVAILABLE", Stage::Admission, None, (-32603, 13, "INTERNAL", 500)),
    ("INTERNAL", Stage::Admission, None, (-32603, 13, "INTERNAL", 500)),
];

/// Everything that leaves before the holder is verified, in JSON-RPC: no more texts than these.
const BEFORE_VERIFICATION: [&str; 8] = [
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-31403,"message":"The message does not carry the authority for what it asks.","data":[{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"https://w3id.org/jeswr/a2a-rdf/v1/error":"authorization-failed"}},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"w3id.org/jeswr/a2a-rdf/v1","reason":"AUTHORIZATION_FAILED"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32005,"message":"A part has a media type that is not read here.","data":[{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"https://w3id.org/jeswr/a2a-rdf/v1/error":"validation-failed"}},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"CONTENT_TYPE_NOT_SUPPORTED"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32008,"message":"The request did not activate the extension.","data":[{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"https://w3id.org/jeswr/a2a-rdf/v1/error":"protocol-required"}},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"extension":"https://w3id.org/jeswr/a2a-rdf/v1"},"reason":"EXTENSION_SUPPORT_REQUIRED"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"The Protocol Document is not known to this conversation.","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"unknown-protocol","field":"message"}]},{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"https://w3id.org/jeswr/a2a-rdf/v1/error":"unknown-protocol"}},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"w3id.org/jeswr/a2a-rdf/v1","reason":"UNKNOWN_PROTOCOL"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"The Protocol Document's graph does not hash to its pin.","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"hash-mismatch","field":"message"}]},{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"https://w3id.org/jeswr/a2a-rdf/v1/error":"hash-mismatch"}},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"w3id.org/jeswr/a2a-rdf/v1","reason":"HASH_MISMATCH"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"The exchange must go on under the extension.","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"protocol-required","field":"message"}]},{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"https://w3id.org/jeswr/a2a-rdf/v1/error":"protocol-required"}},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"w3id.org/jeswr/a2a-rdf/v1","reason":"PROTOCOL_REQUIRED"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"The message is not acceptable here.","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"validation-failed","field":"message"}]},{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"https://w3id.org/jeswr/a2a-rdf/v1/error":"validation-failed"}},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"w3id.org/jeswr/a2a-rdf/v1","reason":"VALIDATION_FAILED"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"The agent failed."}}"#,
];

const STAGES: [Stage; 12] = [
    Stage::Admit,
    Stage::Protocol,
    Stage::Intent,
    Stage::Shape,
    Stage::Action,
    Stage::Presentation,
    Stage::Chain,
    Stage::Reference,
    Stage::Policy,
    Stage::Admission,
    Stage::Handshake,
    Stage::Loading,
];

/// A SHACL report with a value of the data, which must not leave.
const REPORT: &str = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n[] a sh:ValidationReport ; sh:conforms false ;\n\
    sh:result [ a sh:ValidationResult ; sh:value \"SECRET\" ; sh:resultMessage \"SECRET\" ] .\n";

/// A refusal whose every private text says so.
fn refusal(reason: Reason, stage: Stage, holder_verified: bool) -> Refusal {
    let secret = || Some("SECRET".to_owned());
    Refusal::new(stage, reason)
        .with(|evidence| {
            evidence.policy = secret();
            evidence.credential = secret();
            evidence.shape = secret();
            evidence.path = secret();
            evidence.constraint = secret();
            evidence.seen = secret();
            evidence.expected = secret();
            evidence.detail = secret();
        })
        .with_earlier_decision(secret().map(|id| EarlierDecision::new(id, "peer", "peer")))
        .seen_by(holder_verified, false)
}

fn every_refusal(holder_verified: bool) -> impl Iterator<Item = Refusal> {
    Reason::ALL.iter().flat_map(move |reason| STAGES.map(|stage| refusal(*reason, stage, holder_verified)))
}

/// All forms of an error, as text.
fn forms(error: &A2aError) -> [String; 4] {
    let grpc = error.to_grpc();
    let http = error.to_http();
    [
        serde_json::to_string(&error.to_json_rpc(JsonRpcId::Number(7))).unwrap(),
        format!("{} {} {}", http.status, http.content_type, http.body),
        format!("{} {} {} {}", grpc.code, grpc.name, grpc.message, Value::Array(grpc.details)),
        // By way of a value: the metadata of a typed message has no order.
        serde_json::to_value(error.to_failed_task("t", "c", "m")).unwrap().to_string(),
    ]
}

#[test]
fn every_reason_has_its_codes_in_every_binding() {
    let words: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(words, TABLE.iter().map(|row| row.0).collect::<Vec<_>>());
    for (word, stage, wire, (json_rpc, grpc, grpc_name, http)) in TABLE.iter().copied() {
        let reason: Reason = word.parse().unwrap();
        let codes = A2aCodes { json_rpc, grpc, grpc_name, http };
        assert_eq!(reason.a2a_codes(stage), codes, "{word}");
        let error = refusal(reason, stage, false).to_a2a();
        assert_eq!((error.codes(), error.error()), (codes, wire), "{word}");
        let in_json_rpc = error.to_json_rpc(JsonRpcId::Null).error.unwrap();
        assert_eq!(in_json_rpc.code, json_rpc, "{word}");
        let in_http = error.to_http();
        assert_eq!((in_http.status, &in_http.body["error"]["code"]), (http, &json!(http)), "{word}");
        assert_eq!(in_http.body["error"]["status"], grpc_name, "{word}");
        let in_grpc = error.to_grpc();
        assert_eq!((in_grpc.code, in_grpc.name), (grpc, grpc_name), "{word}");
        for details in
            [in_json_rpc.data, Some(in_http.body["error"]["details"].clone()), Some(json!(in_grpc.details))]
        {
            let details = details.unwrap_or_else(|| json!([]));
            let key = details
                .as_array()
                .unwrap()
                .iter()
                .find(|detail| detail["@type"] == errordetails::STRUCT_TYPE);
            assert_eq!(
                key.map(|key| &key["value"][META_ERROR]),
                wire.map(|wire| json!(wire.as_str())).as_ref(),
                "{word}"
            );
        }
    }
}

#[test]
fn before_the_holder_is_verified_few_texts_leave_whatever_the_reason() {
    let mut sets: [BTreeSet<String>; 4] = Default::default();
    for refusal in every_refusal(false) {
        for (set, form) in sets.iter_mut().zip(forms(&refusal.to_a2a())) {
            assert!(!form.contains("SECRET"), "{refusal}: {form}");
            set.insert(form);
        }
    }
    assert_eq!(sets[0].iter().map(String::as_str).collect::<Vec<_>>(), BEFORE_VERIFICATION);
    for set in &sets {
        assert_eq!(set.len(), BEFORE_VERIFICATION.len(), "{set:#?}");
    }
}

#[test]
fn afterwards_the_public_reason_leaves_and_nothing_else() {
    for refusal in every_refusal(true) {
        let public = refusal.public();
        for form in forms(&refusal.to_a2a()) {
            assert!(!form.contains("SECRET"), "{refusal}: {form}");
            for reason in Reason::ALL.iter().filter(|reason| Some(reason.as_str()) != public.reason) {
                let word = format!("\"{}\"", reason.as_str());
                let is_wire = public
                    .error
                    .is_some_and(|wire| word.contains(&wire.as_str().replace('-', "_").to_uppercase()));
                assert!(!form.contains(&word) || is_wire, "{refusal}: {form}");
            }
        }
    }
    let of = |reason, stage| forms(&refusal(reason, stage, true).to_a2a());
    // An unknown target reads as a denial, and our own failures are one.
    let denial = of(Reason::PolicyDenied, Stage::Policy);
    assert_eq!(of(Reason::NoRootForTarget, Stage::Policy), denial);
    assert!(denial[0].contains("POLICY_DENIED") && denial[0].contains(Reason::PolicyDenied.sentence()));
    let internal = of(Reason::Internal, Stage::Policy);
    assert_eq!(of(Reason::LedgerUnavailable, Stage::Admission), internal);
    assert_eq!(of(Reason::ClockSteppedBack, Stage::Admission), internal);
    assert!(internal[1].starts_with("503 ") && internal[2].starts_with("14 UNAVAILABLE"), "{internal:?}");
    assert!(internal[0].contains("-32603"), "{internal:?}");
}

#[test]
fn each_form_is_read_by_the_official_types() {
    for refusal in every_refusal(false).chain(every_refusal(true)) {
        let error = refusal.to_a2a();
        let response = error.to_json_rpc("id".into());
        let again: JsonRpcResponse =
            serde_json::from_str(&serde_json::to_string(&response).unwrap()).unwrap();
        assert_eq!(again, response);
        for detail in error.to_grpc().details {
            let typed: TypedDetail = serde_json::from_value(detail.clone()).unwrap();
            assert!(typed.type_url.starts_with("type.googleapis.com/google."), "{detail}");
            assert_eq!(serde_json::to_value(&typed).unwrap(), detail);
            let text = |name: &str| typed.value.get(name).and_then(Value::as_str);
            if typed.type_url == errordetails::ERROR_INFO_TYPE && text("domain") == Some("a2a-protocol.org") {
                // An error that A2A defines is found by its reason, and has A2A's own HTTP status.
                let code = ::a2a::reason_to_error_code(text("reason").unwrap()).unwrap();
                assert_eq!(code, error.codes().json_rpc);
                assert_eq!(A2AError::new(code, "").http_status_code(), error.codes().http);
            }
        }
        let task = error.to_failed_task("t", "c", "m");
        let again: ::a2a::Task = serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
        assert_eq!(again, task);
        let official = A2AError::from(&error);
        assert_eq!((official.code, official.message.as_str()), (error.codes().json_rpc, error.message()));
        assert_eq!(official.details.map_or(0, |details| details.len()), error.to_grpc().details.len());
    }
}

#[test]
fn a_failed_task_is_tagged_and_carries_the_report_where_it_may_leave() {
    let refused = |declared| {
        Refusal::new(Stage::Shape, Reason::ShapeViolation)
            .with_shacl_report(REPORT.to_owned())
            .seen_by(false, declared)
            .to_a2a()
    };
    let task = serde_json::to_value(refused(true).to_failed_task("t1", "c1", "m1")).unwrap();
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    let message = &task["status"]["message"];
    assert_eq!((&message["role"], &message["extensions"]), (&json!("ROLE_AGENT"), &json!([EXTENSION])));
    assert_eq!(
        (&message["taskId"], &message["contextId"], &message["messageId"]),
        (&json!("t1"), &json!("c1"), &json!("m1"))
    );
    assert_eq!(message["metadata"], json!({META_ERROR: "validation-failed"}));
    assert_eq!(message["parts"][1]["mediaType"], "text/turtle");
    let report = message["parts"][1]["text"].as_str().unwrap();
    assert!(report.contains("ValidationReport") && !report.contains("SECRET"), "{report}");
    // Of a document that is not on the card, the report stays here.
    let task = serde_json::to_value(refused(false).to_failed_task("t1", "c1", "m1")).unwrap();
    assert_eq!(task["status"]["message"]["parts"].as_array().unwrap().len(), 1);
    // No error of a binding has room for it.
    assert!(forms(&refused(true))[..3].iter().all(|form| !form.contains("ValidationReport")));
    // The agent's own failure says nothing of the extension.
    let task = serde_json::to_value(A2aError::internal().to_failed_task("t1", "c1", "m1")).unwrap();
    assert_eq!(task["status"]["message"].get("extensions"), None);
    assert_eq!(task["status"]["message"].get("metadata"), None);
}
