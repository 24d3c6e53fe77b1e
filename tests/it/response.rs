//! Responses: what a document's response shapes make of them, through the public interface.

use crate::command_line::Scratch;
use crate::support::{engine, engine_with, noon, world};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use writgate::limits::Limits;
use writgate::message::{ResponseFacts, ResponseInput};
use writgate::protocol::{Binding, ProtocolDocument, ProtocolHash, ProtocolSettings};
use writgate::vocab::{EXTENSION, META_KIND, META_PROTOCOL_HASH};
use writgate::{CheckedResponse, ConfigBuilder, Engine, Reason, Refusal, RootPrincipals, Stage};

const PREFIXES: &str =
    "@prefix a2a: <https://w3id.org/jeswr/a2a#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
    @prefix ex: <https://example.org/> . ";
const REQUEST: &str = "ex:p a a2a:ProtocolDocument ; a2a:requestShape ex:Request .
    ex:Request a sh:NodeShape ; sh:targetClass a2a:Intent, ex:Receipt ; sh:property [ sh:path ex:asked ; sh:minCount 1 ] . ";
/// A response shape that its targets lead to its nodes.
const RECEIPT: &str = "ex:p a2a:responseShape ex:Answer .
    ex:Answer a sh:NodeShape ; sh:targetClass ex:Receipt ; sh:property [ sh:path ex:number ; sh:minCount 1 ] . ";
/// A response shape that has no target.
const UNTARGETED: &str = "ex:p a2a:responseShape ex:Answer .
    ex:Answer a sh:NodeShape ; sh:property [ sh:path ex:number ; sh:minCount 1 ] . ";

struct Server {
    engine: Engine,
    hash: ProtocolHash,
}

fn load(body: &str) -> Result<ProtocolDocument, writgate::protocol::LoadError> {
    let text = format!("{PREFIXES}{body}");
    let settings = ProtocolSettings {
        hash: ProtocolDocument::hash_of(&text, "text/turtle", &Limits::default()).unwrap(),
        actions: BTreeMap::from([(
            "https://schema.org/ReadAction".to_owned(),
            "http://www.w3.org/ns/odrl/2/read".to_owned(),
        )]),
        parameters: BTreeMap::new(),
        security_bearing: true,
        binding: Binding::Accepted,
        declared: false,
        name: None,
        source: None,
    };
    ProtocolDocument::load(&text, "text/turtle", settings, &Limits::default())
}

/// A server that speaks the document with these response shapes.
fn server_with(response_shapes: &str, limits: Limits) -> Server {
    let document = load(&format!("{REQUEST}{response_shapes}")).unwrap();
    let hash = document.hash().clone();
    let mut roots = RootPrincipals::default();
    roots.add("https://alice.pod.example/", "https://alice.pod.example/profile#me").unwrap();
    let builder = ConfigBuilder::new("https://alice.pod.example/agent", roots);
    Server { engine: engine_with(builder.with_protocol(document).with_limits(limits).build().unwrap()), hash }
}

fn server(response_shapes: &str) -> Server {
    server_with(response_shapes, Limits::default())
}

fn artifact(hash: &ProtocolHash, turtle: &str) -> Value {
    json!({
        "artifactId": "a1", "extensions": [EXTENSION],
        "parts": [{
            "text": format!("{PREFIXES}{turtle}"), "mediaType": "text/turtle",
            "metadata": {META_KIND: "intent-response", META_PROTOCOL_HASH: hash.as_str()},
        }],
    })
}

impl Server {
    fn check(&self, turtle: &str) -> Result<CheckedResponse, Refusal> {
        let artifact = artifact(&self.hash, turtle);
        let bytes = ResponseInput::ArtifactBytes(serde_json::to_vec(&artifact).unwrap());
        let checked = self.engine.check_response(&bytes, &self.hash, &ResponseFacts::default());
        // In a message it is judged alike.
        let mut message = artifact;
        message.as_object_mut().unwrap().remove("artifactId");
        message["messageId"] = json!("m1");
        message["role"] = json!("ROLE_AGENT");
        let bytes = ResponseInput::MessageBytes(serde_json::to_vec(&message).unwrap());
        assert_eq!(self.engine.check_response(&bytes, &self.hash, &ResponseFacts::default()), checked);
        checked
    }

    #[track_caller]
    fn assert_violation(&self, turtle: &str) -> Refusal {
        let refusal = self.check(turtle).expect_err(turtle);
        assert_eq!((refusal.stage(), refusal.reason()), (Stage::Shape, Reason::ShapeViolation), "{turtle}");
        assert!(refusal.shacl_report().unwrap().contains("ValidationReport"));
        refusal
    }
}

#[test]
fn a_response_conforms_to_the_response_shape_or_is_refused() {
    let server = server(RECEIPT);
    let checked = server.check("ex:r a ex:Receipt ; ex:number 1 .").unwrap();
    assert!(checked.is_shaped() && checked.unjudged().is_empty() && !checked.is_parsed_by_caller());
    assert_eq!((checked.protocol_hash(), checked.part()), (&server.hash, 0));
    assert!(checked.graph_hash().parse::<ProtocolHash>().is_ok());
    let refusal = server.assert_violation("ex:r a ex:Receipt .");
    assert_eq!(refusal.evidence().path.as_deref(), Some("https://example.org/number"));
}

#[test]
fn a_request_shape_judges_no_response() {
    // The request shape has the receipt's class among its targets, and would refuse it.
    assert!(server(RECEIPT).check("ex:r a ex:Receipt ; ex:number 1 .").is_ok());
}

#[test]
fn a_response_that_no_target_selects_is_refused() {
    let refusal = server(RECEIPT).assert_violation("ex:r a ex:Other ; ex:number 1 .");
    assert!(refusal.evidence().detail.as_deref().unwrap().contains("nothing"));
    server(RECEIPT).assert_violation("");
}

#[test]
fn a_target_node_that_is_not_in_the_response_judges_nothing_of_it() {
    let server = server(
        "ex:p a2a:responseShape ex:Answer .
         ex:Answer a sh:NodeShape ; sh:targetNode ex:status ; sh:property [ sh:path ex:number ; sh:maxCount 1 ] .",
    );
    assert!(server.check("ex:status ex:number 1 .").is_ok());
    server.assert_violation("ex:status ex:number 1, 2 .");
    let refusal = server.assert_violation("ex:other ex:number 1, 2 .");
    assert!(refusal.evidence().detail.as_deref().unwrap().contains("nothing"));
}

#[test]
fn every_response_shape_judges_something() {
    let both = format!(
        "{RECEIPT} ex:p a2a:responseShape ex:Other .
         ex:Other a sh:NodeShape ; sh:targetClass ex:Signature ; sh:property [ sh:path ex:by ; sh:minCount 1 ] ."
    );
    let server = server(&both);
    assert!(server.check("ex:r a ex:Receipt ; ex:number 1 . ex:s a ex:Signature ; ex:by ex:x .").is_ok());
    server.assert_violation("ex:r a ex:Receipt ; ex:number 1 .");
    server.assert_violation("ex:s a ex:Signature ; ex:by ex:x .");
    server.assert_violation("ex:r a ex:Receipt ; ex:number 1 . ex:s a ex:Signature .");
}

#[test]
fn a_shape_without_targets_judges_the_root_of_the_response() {
    let server = server(UNTARGETED);
    assert!(server.check("ex:r ex:number 1 ; ex:about [ ex:title \"x\" ] .").is_ok());
    assert!(server.check("[ ex:number 1 ] .").is_ok());
    server.assert_violation("ex:r ex:about [ ex:number 1 ] .");
    // Which of two would it be?
    let refusal = server.assert_violation("ex:r ex:number 1 . ex:s ex:number 1 .");
    assert!(refusal.evidence().detail.as_deref().unwrap().contains("nothing"));
    server.assert_violation("");
}

#[test]
fn further_targets_of_the_response_shapes_are_judged_too() {
    let nested = format!(
        "{RECEIPT} ex:Answer sh:property ex:Line .
         ex:Line a sh:PropertyShape ; sh:path ex:line ; sh:targetClass ex:Bill ; sh:minCount 1 ."
    );
    let server = server(&nested);
    assert!(server.check("ex:r a ex:Receipt ; ex:number 1 ; ex:line 1 .").is_ok());
    server.assert_violation("ex:r a ex:Receipt ; ex:number 1 ; ex:line 1 . ex:b a ex:Bill .");
}

#[test]
fn without_response_shapes_a_well_formed_response_passes_and_says_so() {
    let server = server("");
    let checked = server.check("ex:r a ex:Receipt .").unwrap();
    assert!(!checked.is_shaped());
    let refusal = server.check("ex:r a").unwrap_err();
    assert_eq!((refusal.stage(), refusal.reason()), (Stage::Intent, Reason::GraphMalformed));
}

#[test]
fn work_on_a_response_is_bounded() {
    let limits = Limits { validation_steps: 2, ..Limits::default() };
    let refusal = server_with(RECEIPT, limits).check("ex:r a ex:Receipt ; ex:number 1 .").unwrap_err();
    assert_eq!(refusal.reason(), Reason::ValidationBudgetExceeded);
    let limits = Limits { evidence_chars: 5, ..Limits::default() };
    let refusal = server_with(RECEIPT, limits).check("ex:r a ex:Receipt .").unwrap_err();
    assert_eq!(refusal.evidence().path.as_ref().unwrap().chars().count(), 6);
}

#[test]
fn a_response_under_a_document_that_is_not_pinned_here_is_refused() {
    let (engine, hash) = (engine(), server(RECEIPT).hash);
    let bytes = serde_json::to_vec(&artifact(&hash, "ex:r a ex:Receipt .")).unwrap();
    let checked =
        engine.check_response(&ResponseInput::ArtifactBytes(bytes), &hash, &ResponseFacts::default());
    let refusal = checked.unwrap_err();
    assert_eq!((refusal.stage(), refusal.reason()), (Stage::Protocol, Reason::UnknownProtocol));
}

#[test]
fn a_response_shape_that_lets_everything_pass_does_not_load() {
    for shape in [
        "ex:p a2a:responseShape ex:Answer . ex:Answer a sh:NodeShape ; sh:targetClass ex:Receipt .",
        "ex:p a2a:responseShape ex:Answer . ex:Answer a sh:NodeShape ; sh:deactivated true ; sh:nodeKind sh:IRI .",
    ] {
        let loaded = load(&format!("{REQUEST}{shape}"));
        assert!(matches!(loaded, Err(writgate::protocol::LoadError::Shape(_))), "{shape}");
    }
    assert!(load(&format!("{REQUEST}{RECEIPT}")).unwrap().has_response_shapes());
    assert!(!load(REQUEST).unwrap().has_response_shapes());
}

#[test]
fn the_worked_documents_have_no_response_shapes() {
    let config = world().config(noon()).unwrap();
    assert!(config.protocols().iter().all(|document| !document.has_response_shapes()));
}

#[test]
fn the_command_checks_a_response_in_a_message_or_an_artifact() {
    let scratch = Scratch::new("response");
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/writgate.toml");
    let hash = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";
    let artifact = artifact(&hash.parse().unwrap(), "ex:r a ex:Receipt .");
    scratch.write("artifact.json", &artifact.to_string());
    let mut message = artifact;
    message.as_object_mut().unwrap().remove("artifactId");
    message["messageId"] = json!("m1");
    message["role"] = json!("ROLE_AGENT");
    message["parts"].as_array_mut().unwrap().push(json!({"text": "and so on"}));
    scratch.write("message.json", &message.to_string());
    let check = |hash: &str, further: &[&str]| {
        let config = config.to_str().unwrap();
        let arguments = ["message", "check-response", "--config", config, "--hash", hash];
        scratch.try_run(&[&arguments[..], further].concat())
    };
    let run = check(hash, &["message.json"]);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("no response shape") && run.stdout.contains("part 1 (text)"),
        "{}",
        run.stdout
    );
    assert_eq!(check(hash, &["artifact.json", "--artifact"]).status, 0);
    for (hash, further, reason) in [
        (hash, &["artifact.json"][..], "MESSAGE_MALFORMED"),
        (hash, &["message.json", "--not-activated"], "EXTENSION_NOT_ACTIVE"),
        (
            "sha256:0000000000000000000000000000000000000000000000000000000000000000",
            &["message.json"],
            "UNKNOWN_PROTOCOL",
        ),
    ] {
        let run = check(hash, further);
        assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains(reason), "{}", run.stdout);
    }
    assert_eq!(check(hash, &["absent.json"]).status, 2);
    assert_eq!(check("sha256:00", &["message.json"]).status, 2);
}
