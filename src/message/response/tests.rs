use super::*;
use crate::rdf::RdfMediaType;
use crate::vocab::META_KIND;
use serde_json::json;

const HASH: &str = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";
const TURTLE: &str = "[] a <https://schema.org/GiveAction> .";

fn part() -> Value {
    json!({
        "text": TURTLE, "mediaType": "text/turtle",
        "metadata": {META_KIND: "intent-response", META_PROTOCOL_HASH: HASH},
    })
}

fn of_kind(kind: &str) -> Value {
    let mut part = part();
    part["metadata"][META_KIND] = json!(kind);
    part
}

fn artifact(parts: &[Value]) -> Value {
    json!({"artifactId": "a1", "parts": parts, "extensions": [EXTENSION]})
}

fn message(parts: &[Value]) -> Value {
    json!({"messageId": "m1", "role": "ROLE_AGENT", "parts": parts, "extensions": [EXTENSION]})
}

fn read_with(response: &ResponseInput, facts: &ResponseFacts) -> Result<ResponsePart, Refusal> {
    ResponsePart::read(response, &HASH.parse().unwrap(), facts, &Limits::default())
}

fn read_message(message: &Value) -> Result<ResponsePart, Refusal> {
    let input = ResponseInput::MessageBytes(serde_json::to_vec(message).unwrap());
    read_with(&input, &ResponseFacts::default())
}

fn read_artifact(artifact: &Value) -> Result<ResponsePart, Refusal> {
    let input = ResponseInput::ArtifactBytes(serde_json::to_vec(artifact).unwrap());
    read_with(&input, &ResponseFacts::default())
}

/// Reads the parts in both carriers, which must agree.
#[track_caller]
fn read(parts: &[Value]) -> Result<ResponsePart, Refusal> {
    let (of_message, of_artifact) = (read_message(&message(parts)), read_artifact(&artifact(parts)));
    match (&of_message, &of_artifact) {
        (Ok(one), Ok(other)) => assert_eq!(one.part.index, other.part.index),
        (Err(one), Err(other)) => assert_eq!(one, other),
        _ => panic!("{of_message:?}\n{of_artifact:?}"),
    }
    of_artifact
}

#[track_caller]
fn assert_refused(parts: &[Value], reason: Reason) {
    assert_eq!(read(parts).expect_err("refused").reason(), reason);
}

#[test]
fn a_tagged_response_is_read_from_a_message_and_from_an_artifact() {
    let response = read(&[part()]).unwrap();
    assert_eq!((response.part.text.as_str(), response.part.media_type), (TURTLE, RdfMediaType::Turtle));
    assert!(response.unjudged.is_empty() && !response.parsed_by_caller);
    let mut json_ld = part();
    json_ld["mediaType"] = json!("application/ld+json;profile=\"http://www.w3.org/ns/json-ld#expanded\"");
    assert_eq!(read(&[json_ld]).unwrap().part.media_type, RdfMediaType::JsonLd);
}

#[test]
fn a_typed_response_is_read_as_its_octets_are() {
    let facts = ResponseFacts::default();
    let typed: a2a::Artifact = serde_json::from_value(artifact(&[part()])).unwrap();
    let response = read_with(&ResponseInput::Artifact(Box::new(typed)), &facts).unwrap();
    assert!(response.parsed_by_caller);
    let typed: a2a::Message = serde_json::from_value(message(&[part()])).unwrap();
    let response = read_with(&ResponseInput::Message(Box::new(typed.clone())), &facts).unwrap();
    assert!(response.parsed_by_caller);
    let mut deep = json!(0);
    for _ in 0..Limits::default().json_depth {
        deep = json!([deep]);
    }
    let artifact = a2a::Artifact {
        artifact_id: "a".into(),
        name: None,
        description: None,
        parts: typed.parts,
        metadata: Some([("deep".to_owned(), deep)].into()),
        extensions: typed.extensions,
    };
    let refusal = read_with(&ResponseInput::Artifact(Box::new(artifact)), &facts).unwrap_err();
    assert_eq!(refusal.reason(), Reason::LimitExceeded);
}

#[test]
fn parts_beside_a_response_are_listed_as_unjudged() {
    let response = read(&[json!({"text": "see below"}), part(), json!({"data": {}})]).unwrap();
    assert_eq!(response.part.index, 1);
    let unjudged: Vec<_> = response.unjudged.iter().map(|part| (part.index, part.content.as_str())).collect();
    assert_eq!(unjudged, [(0, "text"), (2, "data")]);
}

#[test]
fn there_is_exactly_one_response_and_no_other_payload_of_the_extension() {
    assert_refused(&[json!({"text": "prose"})], Reason::WrongKind);
    assert_refused(&[part(), part()], Reason::MessageMalformed);
    for kind in ["intent", "authorization", "upgrade-offer", "upgrade-response"] {
        assert_refused(&[of_kind(kind)], Reason::WrongKind);
        assert_refused(&[part(), of_kind(kind)], Reason::MessageMalformed);
        assert_refused(&[of_kind(kind), part()], Reason::MessageMalformed);
    }
    for kind in ["response", "Intent-Response"] {
        assert_refused(&[of_kind(kind)], Reason::MessageMalformed);
    }
    assert_refused(&[part(), json!({"text": TURTLE, "mediaType": "text/turtle"})], Reason::MessageMalformed);
}

#[test]
fn a_response_is_tagged_and_activated() {
    for extensions in
        [json!([]), json!(["https://w3id.org/jeswr/a2a-rdf/v2"]), json!([format!("{EXTENSION}/")])]
    {
        let (mut of_message, mut of_artifact) = (message(&[part()]), artifact(&[part()]));
        of_message["extensions"] = extensions.clone();
        of_artifact["extensions"] = extensions;
        assert_eq!(read_message(&of_message).unwrap_err().reason(), Reason::ExtensionNotTagged);
        assert_eq!(read_artifact(&of_artifact).unwrap_err().reason(), Reason::ExtensionNotTagged);
    }
    let facts = ResponseFacts { activated: BTreeSet::from(["https://other.example/".into()]), context: None };
    let input = ResponseInput::ArtifactBytes(serde_json::to_vec(&artifact(&[part()])).unwrap());
    assert_eq!(read_with(&input, &facts).unwrap_err().reason(), Reason::ExtensionNotActive);
}

#[test]
fn a_response_is_an_agents_and_in_its_context() {
    let mut own = message(&[part()]);
    own["role"] = json!("ROLE_USER");
    let refusal = read_message(&own).unwrap_err();
    assert_eq!(
        (refusal.reason(), refusal.evidence().path.as_deref()),
        (Reason::MessageMalformed, Some("/role"))
    );
    let mut in_context = message(&[part()]);
    in_context["contextId"] = json!("c1");
    let input = ResponseInput::MessageBytes(serde_json::to_vec(&in_context).unwrap());
    for (context, is_read) in [(None, true), (Some("c1"), true), (Some("c2"), false)] {
        let facts = ResponseFacts { context: context.map(str::to_owned), ..ResponseFacts::default() };
        assert_eq!(read_with(&input, &facts).is_ok(), is_read, "{context:?}");
    }
}

#[test]
fn a_response_is_text_of_an_rdf_media_type() {
    let mut data = part();
    data.as_object_mut().unwrap().remove("text");
    data["data"] = json!({});
    assert_refused(&[data], Reason::MessageMalformed);
    for media_type in
        ["application/json", "text/plain", "application/n-triples", "text/turtle;charset=latin1"]
    {
        let mut part = part();
        part["mediaType"] = json!(media_type);
        assert_refused(&[part], Reason::MediaTypeUnsupported);
    }
    let mut bare = part();
    bare.as_object_mut().unwrap().remove("mediaType");
    assert_refused(&[bare], Reason::MediaTypeUnsupported);
}

#[test]
fn a_response_names_the_expected_protocol_and_no_other() {
    for (claim, reason) in [
        (json!(null), Reason::MissingProtocolHash),
        (json!(1), Reason::MissingProtocolHash),
        (json!(HASH.to_uppercase()), Reason::HashPrefixUnknown),
        (json!(HASH.replace("sha256", "sha512")), Reason::HashPrefixUnknown),
        (json!(format!("sha256:{}", "0".repeat(64))), Reason::UnknownProtocol),
    ] {
        let mut part = part();
        part["metadata"][META_PROTOCOL_HASH] = claim;
        assert_refused(&[part], reason);
    }
    let mut silent = part();
    silent["metadata"].as_object_mut().unwrap().remove(META_PROTOCOL_HASH);
    assert_refused(&[silent], Reason::MissingProtocolHash);
}

#[test]
fn the_strict_reader_reads_a_response_first() {
    let facts = ResponseFacts::default();
    for octets in [&br#"{"artifactId":"a","artifactId":"b"}"#[..], b"{", b"\xff"] {
        let refusal = read_with(&ResponseInput::ArtifactBytes(octets.to_vec()), &facts).unwrap_err();
        assert_eq!(refusal.reason(), Reason::MessageMalformed);
        let refusal = read_with(&ResponseInput::MessageBytes(octets.to_vec()), &facts).unwrap_err();
        assert_eq!(refusal.reason(), Reason::MessageMalformed);
    }
    let large = vec![b' '; Limits::default().message_bytes + 1];
    let refusal = read_with(&ResponseInput::ArtifactBytes(large), &facts).unwrap_err();
    assert_eq!(refusal.reason(), Reason::MessageTooLarge);
    // An artifact is no message, and a message no artifact.
    assert!(read_message(&artifact(&[part()])).is_err());
    assert!(read_artifact(&message(&[part()])).is_err());
}

fn root(turtle: &str) -> Option<String> {
    let part = RdfPart { index: 0, media_type: RdfMediaType::Turtle, text: turtle.to_owned() };
    let graph = ResponseGraph::read(&part, &Limits::default()).unwrap();
    graph.root().map(|root| root.to_string())
}

#[test]
fn the_root_is_the_one_subject_from_which_all_others_are_reached() {
    assert_eq!(
        root("<urn:a> <urn:p> <urn:b>, \"x\" . <urn:b> <urn:q> [ <urn:p> <urn:c> ] .").as_deref(),
        Some("<urn:a>")
    );
    assert_eq!(root("<urn:a> <urn:p> <urn:elsewhere> .").as_deref(), Some("<urn:a>"));
    // Within, there may be cycles.
    assert!(root("<urn:a> <urn:p> <urn:b> . <urn:b> <urn:p> <urn:c> . <urn:c> <urn:p> <urn:b> .").is_some());
    for none in [
        "",
        "<urn:a> <urn:p> 1 . <urn:b> <urn:p> 1 .",
        "<urn:a> <urn:p> <urn:b> . <urn:b> <urn:p> <urn:a> .",
        "<urn:a> <urn:p> <urn:a> .",
        // A cycle beside the root would be judged by nobody.
        "<urn:a> <urn:p> 1 . <urn:b> <urn:p> <urn:c> . <urn:c> <urn:p> <urn:b> .",
    ] {
        assert_eq!(root(none), None, "{none}");
    }
}

#[test]
fn a_response_graph_is_read_within_its_limits() {
    let read = |media_type, text: &str| {
        let part = RdfPart { index: 0, media_type, text: text.to_owned() };
        ResponseGraph::read(&part, &Limits { triples: 2, ..Limits::default() })
            .map_err(|refusal| refusal.reason())
    };
    assert!(read(RdfMediaType::Turtle, "<urn:a> <urn:p> 1, 2 .").is_ok());
    assert_eq!(read(RdfMediaType::Turtle, "<urn:a> <urn:p> 1, 2, 3 .").err(), Some(Reason::GraphTooLarge));
    assert_eq!(read(RdfMediaType::Turtle, "<a> <urn:p> 1 .").err(), Some(Reason::GraphMalformed));
    let remote = r#"{"@context": "https://evil.example/c", "@id": "urn:a"}"#;
    assert_eq!(read(RdfMediaType::JsonLd, remote).err(), Some(Reason::RemoteContext));
    let vanishing = r#"{"@id": "urn:a", "urn:p": 1, "undefined": 2}"#;
    assert_eq!(read(RdfMediaType::JsonLd, vanishing).err(), Some(Reason::GraphMalformed));
}
