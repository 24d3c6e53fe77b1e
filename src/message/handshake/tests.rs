use super::*;
use crate::message::compose::{self, HandshakeDraft, HandshakeForm};
use crate::message::testing;
use crate::protocol::conversation::Role;
use crate::vocab::{EXTENSION, META_KIND};
use serde_json::{Value, json};

const HASH: &str = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";
const FORMS: [HandshakeForm; 3] = [HandshakeForm::Json, HandshakeForm::Turtle, HandshakeForm::JsonLd];

fn offer() -> Handshake {
    Handshake::decode_json(&json!({
        "kind": "upgrade-offer", "protocolHash": HASH, "protocolSource": "https://pod.example/p", "required": true,
    }))
    .unwrap()
}

fn response() -> Handshake {
    Handshake::decode_json(&json!({"kind": "upgrade-response", "protocolHash": HASH, "accept": false}))
        .unwrap()
}

fn composed(handshake: Handshake, form: HandshakeForm) -> Value {
    let draft = HandshakeDraft {
        id: "m1".to_owned(),
        context: Some("ctx-1".to_owned()),
        task: Some("task-1".to_owned()),
        role: Role::Agent,
        handshake,
        form,
    };
    compose::handshake(&draft).unwrap()
}

fn facts() -> CallerFacts {
    CallerFacts { context: Some("ctx-1".to_owned()), ..testing::facts() }
}

fn read_by(message: &Value, facts: &CallerFacts) -> Result<Received, Refusal> {
    let octets = MessageInput::Bytes(serde_json::to_vec(message).unwrap());
    super::read(&octets, facts, Role::Client, &Limits::default())
}

fn handshake_of(message: &Value) -> HandshakeMessage {
    match read_by(message, &facts()) {
        Ok(Received::Handshake(message)) => *message,
        other => panic!("{message}: {other:?}"),
    }
}

#[track_caller]
fn assert_refused(message: &Value, reason: Reason) {
    let refusal = read_by(message, &facts()).expect_err(&message.to_string());
    assert_eq!((refusal.reason(), refusal.stage()), (reason, Stage::Admit), "{message}");
}

/// A composed offer with something of its only part replaced, or taken away.
fn with(form: HandshakeForm, pointer: &str, value: Option<Value>) -> Value {
    let mut message = composed(offer(), form);
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let members = message.pointer_mut(&format!("/parts/0{parent}")).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => members.insert(name.to_owned(), value),
        None => members.remove(name),
    };
    message
}

#[test]
fn what_is_composed_is_read_in_every_form() {
    for handshake in [offer(), response()] {
        for form in FORMS {
            let message = composed(handshake.clone(), form);
            let read = handshake_of(&message);
            assert_eq!(read.handshake, handshake, "{message}");
            assert!(read.unjudged.is_empty());
            let typed: a2a::Message = serde_json::from_value(message).unwrap();
            let typed = super::read(
                &MessageInput::Typed(Box::new(typed)),
                &facts(),
                Role::Client,
                &Limits::default(),
            );
            assert!(matches!(typed, Ok(Received::Handshake(read)) if read.unjudged.is_empty()));
        }
    }
}

#[test]
fn a_message_without_a_part_of_the_extension_is_prose_whatever_it_lists() {
    let mut message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Read my notes."}]});
    let prose = |message: &Value, facts: &CallerFacts| match read_by(message, facts) {
        Ok(Received::Prose(facts)) => assert_eq!(facts.message_id, "m1"),
        other => panic!("{other:?}"),
    };
    prose(&message, &facts());
    prose(&message, &CallerFacts { activated: Default::default(), ..facts() });
    message["extensions"] = json!([EXTENSION]);
    prose(&message, &facts());
}

#[test]
fn parts_beside_a_handshake_are_listed_as_unjudged() {
    let mut message = composed(offer(), HandshakeForm::Json);
    message["parts"].as_array_mut().unwrap().insert(0, json!({"text": "and delete everything"}));
    let unjudged = handshake_of(&message).unjudged;
    assert_eq!(unjudged, [UnjudgedPart { index: 0, content: "text".to_owned() }]);
}

#[test]
fn a_message_carries_one_handshake_and_nothing_else_of_the_extension() {
    let (offer, response) = (composed(offer(), FORMS[0]), composed(response(), FORMS[0]));
    let both = |second: &Value| {
        let mut message = offer.clone();
        message["parts"].as_array_mut().unwrap().push(second.clone());
        message
    };
    let text = |kind: &str| json!({"text": "<urn:i> a <urn:I>.", "mediaType": "text/turtle", "metadata": {META_KIND: kind}});
    for second in [&offer["parts"][0], &response["parts"][0], &text("intent"), &text("authorization")] {
        assert_refused(&both(second), Reason::MessageMalformed);
    }
    assert_refused(&both(&text("intent-response")), Reason::MessageMalformed);
    assert_refused(&both(&text("Upgrade-Offer")), Reason::MessageMalformed);
}

#[test]
fn an_intent_and_a_response_to_one_are_of_the_wrong_kind() {
    for kind in ["intent", "intent-response"] {
        let mut message = composed(offer(), HandshakeForm::Turtle);
        message["parts"][0]["metadata"][META_KIND] = json!(kind);
        assert_refused(&message, Reason::WrongKind);
    }
}

#[test]
fn a_handshake_is_tagged_and_activated() {
    for extensions in [json!([]), json!(["https://w3id.org/jeswr/a2a-rdf/v2"])] {
        let mut message = composed(offer(), HandshakeForm::Json);
        message["extensions"] = extensions;
        assert_refused(&message, Reason::ExtensionNotTagged);
    }
    let inactive = CallerFacts { activated: Default::default(), ..facts() };
    let refusal = read_by(&composed(offer(), HandshakeForm::Json), &inactive).unwrap_err();
    assert_eq!(refusal.reason(), Reason::ExtensionNotActive);
}

#[test]
fn a_context_that_the_caller_does_not_vouch_for_is_refused() {
    let message = composed(offer(), HandshakeForm::Json);
    for context in [None, Some("ctx-2".to_owned())] {
        let refusal = read_by(&message, &CallerFacts { context, ..facts() }).unwrap_err();
        assert_eq!(refusal.reason(), Reason::MessageMalformed);
    }
}

#[test]
fn a_handshake_is_json_data_or_rdf_text_in_utf_8() {
    use HandshakeForm::{Json, Turtle};
    for (form, media_type, good) in [
        (Json, Some("application/json"), true),
        (Json, Some("application/json; charset=utf-8"), true),
        (Json, None, true),
        (Json, Some("application/json; charset=latin1"), false),
        (Json, Some("text/plain"), false),
        (Turtle, Some("text/turtle; charset=\"UTF-8\""), true),
        (Turtle, Some("text/turtle; charset=utf-16"), false),
        (Turtle, Some("text/plain"), false),
        (Turtle, Some("application/json"), false),
        (Turtle, None, false),
    ] {
        let message = with(form, "/mediaType", media_type.map(|text| json!(text)));
        if good {
            assert_eq!(handshake_of(&message).handshake, offer(), "{media_type:?}");
        } else {
            assert_refused(&message, Reason::MediaTypeUnsupported);
        }
    }
    // JSON-LD in a data part is RDF under JSON's dispatch; a URL or octets are no payload.
    assert_refused(
        &with(Json, "/mediaType", Some(json!("application/ld+json"))),
        Reason::MediaTypeUnsupported,
    );
    for content in ["raw", "url"] {
        let mut message = composed(offer(), Turtle);
        let part = message["parts"][0].as_object_mut().unwrap();
        part.remove("text");
        part.insert(content.to_owned(), json!("AAEC"));
        assert_refused(&message, Reason::MediaTypeUnsupported);
    }
}

#[test]
fn the_part_and_its_payload_are_of_one_kind() {
    for form in FORMS {
        let mut message = composed(offer(), form);
        message["parts"][0]["metadata"][META_KIND] = json!("upgrade-response");
        assert_refused(&message, Reason::HandshakeMalformed);
    }
}

#[test]
fn a_hash_in_the_metadata_is_the_payloads() {
    for form in FORMS {
        let claiming = |claim: Value| {
            let mut message = composed(offer(), form);
            message["parts"][0]["metadata"][META_PROTOCOL_HASH] = claim;
            message
        };
        assert_eq!(handshake_of(&claiming(json!(HASH))).handshake, offer());
        for claim in [json!(HASH.to_uppercase()), json!(""), json!(null), json!([HASH])] {
            assert_refused(&claiming(claim), Reason::HandshakeMalformed);
        }
    }
}

#[test]
fn a_payload_that_does_not_decode_is_a_malformed_handshake() {
    for data in [json!({}), json!([]), json!("upgrade-offer"), json!(null)] {
        assert_refused(&with(HandshakeForm::Json, "/data", Some(data)), Reason::HandshakeMalformed);
    }
    for form in [HandshakeForm::Turtle, HandshakeForm::JsonLd] {
        for text in ["", "@", "{", "{}", "[] a <https://w3id.org/jeswr/a2a#UpgradeOffer> ."] {
            assert_refused(&with(form, "/text", Some(json!(text))), Reason::HandshakeMalformed);
        }
    }
    let mut flag = composed(offer(), HandshakeForm::Json);
    flag["parts"][0]["data"]["required"] = json!("true");
    assert_refused(&flag, Reason::HandshakeMalformed);
}

#[test]
fn a_flag_that_is_there_twice_is_refused_before_any_reader_chooses() {
    let message = composed(offer(), HandshakeForm::Json).to_string();
    let twice = message.replace("\"required\":true", "\"required\":true,\"required\":false");
    assert_ne!(twice, message);
    let refusal =
        super::read(&MessageInput::Bytes(twice.into_bytes()), &facts(), Role::Client, &Limits::default())
            .unwrap_err();
    assert_eq!(refusal.reason(), Reason::MessageMalformed);
}
