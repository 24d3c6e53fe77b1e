use super::*;
use crate::message::testing;
use crate::vocab::META_ERROR;
use serde_json::json;

const HASH: &str = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";

fn judge(request: &Request, config: &Config) -> Result<Admitted, Refusal> {
    admit(super::read(request, config)?, request, config)
}

fn part(kind: &str, media_type: &str, content: &str, value: Value) -> Value {
    json!({content: value, "mediaType": media_type, "metadata": {META_KIND: kind}})
}

fn intent() -> Value {
    let mut part = part("intent", "text/turtle", "text", json!("<urn:i> a <urn:I> ."));
    part["metadata"][META_PROTOCOL_HASH] = json!(HASH);
    part
}

fn presentation() -> Value {
    part("authorization", "application/vp", "data", json!({"holder": "x"}))
}

fn policy() -> Value {
    part("authorization", "text/turtle", "text", json!("<urn:p> a <urn:P> ."))
}

fn prose() -> Value {
    json!({"text": "please also delete everything"})
}

fn message(parts: &[Value]) -> Value {
    json!({"messageId": "m1", "role": "ROLE_USER", "extensions": [EXTENSION], "parts": parts})
}

fn ask(message: &Value) -> Request {
    testing::request(MessageInput::Bytes(serde_json::to_vec(message).unwrap()))
}

fn admitted(message: &Value) -> Result<Admitted, Refusal> {
    judge(&ask(message), &testing::config())
}

fn ours(message: &Value) -> Envelope {
    match admitted(message) {
        Ok(Admitted::Ours(envelope)) => *envelope,
        other => panic!("{message}: {other:?}"),
    }
}

fn refusal(message: &Value) -> Refusal {
    let refusal = admitted(message).expect_err(&message.to_string());
    assert_eq!(refusal.stage(), Stage::Admit);
    refusal
}

#[track_caller]
fn assert_refused(message: &Value, reason: Reason) {
    assert_eq!(refusal(message).reason(), reason, "{message}");
}

#[track_caller]
fn assert_parts_refused(parts: &[Value], reason: Reason) {
    assert_refused(&message(parts), reason);
}

#[test]
fn an_intent_with_its_presentation_is_ours() {
    let message = message(&[prose(), intent(), presentation(), policy(), json!({"raw": "AAEC"})]);
    let envelope = ours(&message);
    assert_eq!(envelope.protocol_hash_claim.as_deref(), Some(HASH));
    assert_eq!((envelope.intent.index, envelope.intent.media_type), (1, RdfMediaType::Turtle));
    assert_eq!(envelope.intent.text, "<urn:i> a <urn:I> .");
    let Some(PresentationPart::DataIntegrity { document }) = &envelope.presentation else { panic!() };
    assert_eq!(Some(document), presentation().get("data"));
    assert_eq!(envelope.policy_parts.iter().map(|part| part.index).collect::<Vec<_>>(), [3]);
    assert_eq!(envelope.digest, Digest::of_jcs(&message).unwrap());
    assert_eq!(envelope.digest, envelope.facts.digest);
    assert_eq!(envelope.facts.message_id, "m1");
    assert!(!envelope.facts.parsed_by_caller);
    let rest = self::message(&[prose(), intent(), json!({"raw": "AAEC"})]);
    assert_eq!(envelope.rest.digest(), Some(Digest::of_jcs(&rest).unwrap()));
}

#[test]
fn parts_beside_the_intent_are_listed_as_unjudged() {
    let parts = [prose(), intent(), json!({"data": {}}), json!({"url": "https://a.example/"})];
    let unjudged = ours(&message(&parts)).unjudged;
    let listed: Vec<_> = unjudged.iter().map(|part| (part.index, part.content.as_str())).collect();
    assert_eq!(listed, [(0, "text"), (2, "data"), (3, "url")]);
}

#[test]
fn an_intent_without_a_presentation_is_admitted_and_denied_later() {
    assert!(ours(&message(&[intent()])).presentation.is_none());
}

#[test]
fn a_jose_presentation_is_taken_as_it_came() {
    let vp = part("authorization", "application/vp+jwt", "text", json!("a.b.c"));
    let envelope = ours(&message(&[intent(), vp]));
    assert!(matches!(envelope.presentation, Some(PresentationPart::Jose { .. })));
}

#[test]
fn a_data_presentation_may_leave_its_media_type_out() {
    let mut vp = presentation();
    vp.as_object_mut().unwrap().remove("mediaType");
    assert!(ours(&message(&[intent(), vp.clone()])).presentation.is_some());
    vp["mediaType"] = json!("");
    assert!(ours(&message(&[intent(), vp])).presentation.is_some());
}

#[test]
fn media_type_parameters_are_allowed_and_another_charset_is_not() {
    for (media_type, good) in [
        ("text/turtle; charset=utf-8", true),
        ("Text/Turtle;charset=\"UTF-8\"", true),
        ("application/ld+json; profile=\"http://www.w3.org/ns/json-ld#expanded\"", true),
        ("text/turtle; charset=utf-16", false),
        ("text/turtle;charset=iso-8859-1", false),
        ("text/turtle; charset=utf-8; Charset = latin1", false),
        ("text/turtle; charset=", false),
    ] {
        let intent = part("intent", media_type, "text", json!(""));
        let result = admitted(&message(&[intent]));
        assert_eq!(result.is_ok(), good, "{media_type}");
        if let Err(refusal) = result {
            assert_eq!(refusal.reason(), Reason::MediaTypeUnsupported);
        }
    }
}

#[test]
fn an_intent_of_another_media_type_is_unsupported() {
    for media_type in [
        "text/plain",
        "text/turtle2",
        "text/turtle, text/plain",
        "application/json",
        "application/n-triples",
        "",
        "x",
    ] {
        let refusal = refusal(&message(&[part("intent", media_type, "text", json!(""))]));
        assert_eq!(refusal.reason(), Reason::MediaTypeUnsupported, "{media_type}");
        assert_eq!(refusal.evidence().path.as_deref(), Some("/parts/0/mediaType"));
    }
    assert_parts_refused(
        &[json!({"text": "", "metadata": {META_KIND: "intent"}})],
        Reason::MediaTypeUnsupported,
    );
}

#[test]
fn an_intent_that_is_not_text_is_malformed() {
    for (content, value) in
        [("data", json!({})), ("raw", json!("")), ("url", json!("https://a.example/i.ttl"))]
    {
        assert_parts_refused(&[part("intent", "text/turtle", content, value)], Reason::MessageMalformed);
    }
}

#[test]
fn an_authorization_of_another_media_type_is_unsupported() {
    for authorization in [
        part("authorization", "application/json", "data", json!({})),
        part("authorization", "application/ld+json", "data", json!({})),
        part("authorization", "application/vp; charset=utf-16", "data", json!({})),
        part("authorization", "application/vp", "text", json!("{}")),
        part("authorization", "application/vc+jwt", "text", json!("a.b.c")),
        part("authorization", "application/vp+jwt", "data", json!({})),
        part("authorization", "text/turtle; charset=utf-16", "text", json!("")),
        json!({"text": "", "metadata": {META_KIND: "authorization"}}),
    ] {
        assert_parts_refused(&[intent(), authorization], Reason::MediaTypeUnsupported);
    }
}

#[test]
fn an_authorization_of_another_content_is_malformed() {
    for authorization in [
        part("authorization", "application/vp", "raw", json!("")),
        part("authorization", "application/vp", "url", json!("https://a.example/vp")),
        part("authorization", "application/vp", "data", json!([])),
        part("authorization", "application/vp", "data", json!("a.b.c")),
    ] {
        assert_parts_refused(&[intent(), authorization], Reason::MessageMalformed);
    }
}

#[test]
fn two_intents_are_malformed() {
    assert_parts_refused(&[intent(), intent()], Reason::MessageMalformed);
}

#[test]
fn two_presentations_are_malformed() {
    let jose = part("authorization", "application/vp+jwt", "text", json!("a.b.c"));
    assert_parts_refused(&[intent(), presentation(), presentation()], Reason::MessageMalformed);
    assert_parts_refused(&[intent(), presentation(), jose.clone()], Reason::MessageMalformed);
    assert_parts_refused(&[intent(), jose.clone(), jose], Reason::MessageMalformed);
}

#[test]
fn an_authorization_without_an_intent_is_malformed() {
    assert_parts_refused(&[presentation()], Reason::MessageMalformed);
    assert_parts_refused(&[policy(), prose()], Reason::MessageMalformed);
}

#[test]
fn mixed_kinds_are_malformed() {
    let offer = part("upgrade-offer", "application/json", "data", json!({}));
    let answer = part("upgrade-response", "application/json", "data", json!({}));
    let response = part("intent-response", "text/turtle", "text", json!(""));
    for parts in [
        [intent(), offer.clone()],
        [offer.clone(), intent()],
        [intent(), response.clone()],
        [response.clone(), presentation()],
        [offer.clone(), answer.clone()],
        [answer, response],
    ] {
        assert_parts_refused(&parts, Reason::MessageMalformed);
    }
}

#[test]
fn a_handshake_or_response_is_of_the_wrong_kind() {
    for kind in ["upgrade-offer", "upgrade-response", "intent-response"] {
        let other = part(kind, "text/turtle", "text", json!(""));
        assert_parts_refused(std::slice::from_ref(&other), Reason::WrongKind);
        assert_parts_refused(&[prose(), other], Reason::WrongKind);
    }
}

#[test]
fn policy_documents_are_bounded_on_both_sides() {
    let parts = |count| {
        let mut parts = vec![intent(), presentation()];
        parts.extend(vec![policy(); count]);
        message(&parts)
    };
    assert_eq!(ours(&parts(16)).policy_parts.len(), 16);
    assert_refused(&parts(17), Reason::LimitExceeded);
}

#[test]
fn a_kind_is_one_of_five_words() {
    for kind in
        [json!("Intent"), json!("intent "), json!(""), json!(null), json!(["intent"]), json!("upgrade")]
    {
        let mut part = intent();
        part["metadata"][META_KIND] = kind;
        let refusal = refusal(&message(&[part]));
        assert_eq!(refusal.reason(), Reason::MessageMalformed);
        assert_eq!(refusal.evidence().path.as_deref(), Some("/parts/0/metadata"));
    }
}

#[test]
fn keys_of_the_extension_without_a_kind_are_refused() {
    for key in [
        META_PROTOCOL_HASH,
        META_ERROR,
        EXTENSION,
        &format!("{EXTENSION}/Kind"),
        &format!("{EXTENSION}#kind"),
    ] {
        assert_parts_refused(&[json!({"text": "", "metadata": {key: "intent"}})], Reason::MessageMalformed);
    }
}

#[test]
fn another_extension_is_not_this_one() {
    for key in ["https://w3id.org/jeswr/a2a-rdf/v2/kind", "https://w3id.org/jeswr/a2a-rdf/v1x/kind", "kind"] {
        let message = message(&[json!({"text": "", "metadata": {key: "intent"}})]);
        assert!(matches!(admitted(&message), Ok(Admitted::NotOurs)), "{key}");
    }
}

#[test]
fn rdf_without_a_kind_is_refused_and_not_sniffed() {
    for media_type in [
        "text/turtle",
        "TEXT/Turtle; charset=utf-16",
        "application/ld+json",
        "application/n-triples",
        "application/n-quads",
        "application/trig",
        "application/rdf+xml",
        "text/n3",
    ] {
        for beside in [None, Some(intent())] {
            let mut parts = vec![json!({"text": "<urn:i> a <urn:I> .", "mediaType": media_type})];
            parts.extend(beside);
            assert_parts_refused(&parts, Reason::MessageMalformed);
        }
    }
}

#[test]
fn an_untagged_message_is_refused() {
    for extensions in
        [json!([]), json!(["https://w3id.org/jeswr/a2a-rdf/v2"]), json!([format!("{EXTENSION}/")])]
    {
        let mut message = message(&[intent(), presentation()]);
        message["extensions"] = extensions;
        assert_refused(&message, Reason::ExtensionNotTagged);
    }
}

#[test]
fn an_extension_that_was_not_activated_is_refused() {
    for activated in
        [None, Some("https://w3id.org/jeswr/a2a-rdf/v2"), Some("https://w3id.org/jeswr/a2a-rdf/v1/")]
    {
        let mut request = ask(&message(&[intent(), presentation()]));
        request.facts.activated = activated.into_iter().map(str::to_owned).collect();
        let refusal = judge(&request, &testing::config()).unwrap_err();
        assert_eq!(refusal.reason(), Reason::ExtensionNotActive);
    }
}

#[test]
fn a_plain_message_is_not_ours() {
    let mut message = message(&[prose()]);
    message.as_object_mut().unwrap().remove("extensions");
    assert!(matches!(admitted(&message), Ok(Admitted::NotOurs)));
    let read = super::read(&ask(&message), &testing::config()).unwrap();
    assert_eq!(read.facts.digest, Digest::of_jcs(&message).unwrap());
}

#[test]
fn a_tagged_message_without_an_extension_part_is_not_ours() {
    assert!(matches!(admitted(&message(&[prose()])), Ok(Admitted::NotOurs)));
}

#[test]
fn a_required_extension_must_be_active_for_a_plain_message_too() {
    let mut config = testing::config();
    config.extension_required = true;
    let mut request = ask(&message(&[prose()]));
    assert!(matches!(judge(&request, &config), Ok(Admitted::NotOurs)));
    request.facts.activated.clear();
    assert_eq!(judge(&request, &config).unwrap_err().reason(), Reason::ExtensionNotActive);
}

#[test]
fn prose_is_refused_where_a_protocol_is_required() {
    let mut request = ask(&message(&[prose()]));
    request.snapshot.conversation.prose_forbidden = true;
    assert_eq!(judge(&request, &testing::config()).unwrap_err().reason(), Reason::ProtocolRequired);
    let mut request = ask(&message(&[intent()]));
    request.snapshot.conversation.prose_forbidden = true;
    assert!(matches!(judge(&request, &testing::config()), Ok(Admitted::Ours(_))));
}

#[test]
fn the_context_is_the_callers() {
    let admitted = |context_id: Option<&str>, context: Option<&str>| {
        let mut message = message(&[intent()]);
        if let Some(id) = context_id {
            message["contextId"] = json!(id);
        }
        let mut request = ask(&message);
        request.facts.context = context.map(str::to_owned);
        judge(&request, &testing::config())
    };
    assert!(admitted(Some("c"), Some("c")).is_ok());
    assert!(admitted(None, Some("c")).is_ok());
    assert!(admitted(Some(""), Some("c")).is_ok());
    for (context_id, context) in [(Some("c"), Some("d")), (Some("c"), None), (Some("C"), Some("c"))] {
        let refusal = admitted(context_id, context).unwrap_err();
        assert_eq!(refusal.reason(), Reason::MessageMalformed);
        assert_eq!(refusal.evidence().path.as_deref(), Some("/contextId"));
    }
}

#[test]
fn the_facts_are_the_messages() {
    let mut message = message(&[intent()]);
    message["taskId"] = json!("t");
    message["contextId"] = json!("c");
    let mut request = ask(&message);
    request.facts.context = Some("c".into());
    let Ok(Admitted::Ours(envelope)) = judge(&request, &testing::config()) else { panic!() };
    let facts = envelope.facts;
    assert_eq!((facts.task_id.as_deref(), facts.context_id.as_deref()), (Some("t"), Some("c")));
    assert_eq!(facts.context.as_deref(), Some("c"));
}

#[test]
fn a_protocol_hash_that_is_not_text_is_no_claim() {
    for claim in [json!(null), json!(1), json!([HASH])] {
        let mut intent = intent();
        intent["metadata"][META_PROTOCOL_HASH] = claim;
        assert_eq!(ours(&message(&[intent])).protocol_hash_claim, None);
    }
}

#[test]
fn octets_are_read_strictly() {
    let text = message(&[intent()]).to_string();
    let twice = text.replacen("{", "{\"messageId\":\"m0\",", 1);
    let inexact = text.replacen("{", "{\"a\":9007199254740993,", 1);
    for octets in [twice.into_bytes(), inexact.into_bytes(), b"{".to_vec(), b"\xff".to_vec(), Vec::new()] {
        let refusal = judge(&testing::request(MessageInput::Bytes(octets)), &testing::config()).unwrap_err();
        assert_eq!(refusal.reason(), Reason::MessageMalformed);
    }
}

#[test]
fn limits_of_the_reader_have_their_reasons() {
    let message = message(&[intent()]);
    let size = serde_json::to_vec(&message).unwrap().len();
    for (limits, reason) in [
        (Limits { message_bytes: size - 1, ..Limits::default() }, Reason::MessageTooLarge),
        (Limits { json_depth: 3, ..Limits::default() }, Reason::LimitExceeded),
        (Limits { json_values: 9, ..Limits::default() }, Reason::LimitExceeded),
    ] {
        let mut config = testing::config();
        config.limits = limits;
        assert_eq!(judge(&ask(&message), &config).unwrap_err().reason(), reason);
        let typed = testing::request(MessageInput::Typed(serde_json::from_value(message.clone()).unwrap()));
        assert_eq!(judge(&typed, &config).unwrap_err().reason(), reason);
    }
}

#[test]
fn a_typed_message_reads_as_its_octets_do() {
    let mut message = message(&[prose(), intent(), presentation(), policy(), json!({"raw": "AAEC"})]);
    message["metadata"] = json!({"a": 1.0});
    let octets = ours(&message);
    let typed: a2a::Message = serde_json::from_value(message).unwrap();
    let request = testing::request(MessageInput::Typed(Box::new(typed)));
    let Ok(Admitted::Ours(envelope)) = judge(&request, &testing::config()) else { panic!() };
    assert!(envelope.facts.parsed_by_caller);
    assert_eq!(envelope.digest, octets.digest);
    assert_eq!(envelope.rest.digest(), octets.rest.digest());
    assert_eq!(envelope.intent.text, octets.intent.text);
}

#[test]
fn a_typed_message_obeys_the_rules_of_form() {
    let mut typed = a2a::Message::new(a2a::Role::Unspecified, vec![a2a::Part::text("x")]);
    let refused = |typed: &a2a::Message| {
        judge(&testing::request(MessageInput::Typed(Box::new(typed.clone()))), &testing::config())
            .unwrap_err()
    };
    assert_eq!(refused(&typed).evidence().path.as_deref(), Some("/role"));
    typed.role = a2a::Role::User;
    typed.message_id = String::new();
    assert_eq!(refused(&typed).evidence().path.as_deref(), Some("/messageId"));
    typed.message_id = "m".into();
    typed.parts = vec![a2a::Part::data(json!(9_007_199_254_740_993_u64))];
    assert_eq!(refused(&typed).reason(), Reason::MessageMalformed);
}

#[test]
fn a_deep_typed_message_is_refused_before_anything_recurses() {
    let mut deep = json!(0);
    for _ in 0..20_000 {
        deep = Value::Array(vec![deep]);
    }
    let typed = a2a::Message::new(a2a::Role::User, vec![a2a::Part::data(deep)]);
    let request = testing::request(MessageInput::Typed(Box::new(typed)));
    assert_eq!(judge(&request, &testing::config()).unwrap_err().reason(), Reason::LimitExceeded);
    // The value's own destructor recurses, which is its maker's affair.
    std::mem::forget(request);
}

#[test]
fn the_first_reason_in_order_of_precedence_is_given() {
    let mut config = testing::config();
    config.extension_required = true;
    let mut message = message(&[part("intent", "text/plain", "text", json!(""))]);
    message["extensions"] = json!([]);
    let mut request = ask(&message);
    request.facts.activated.clear();
    assert_eq!(judge(&request, &config).unwrap_err().reason(), Reason::ExtensionNotTagged);
    message["extensions"] = json!([EXTENSION]);
    request.message = MessageInput::Bytes(message.to_string().into_bytes());
    assert_eq!(judge(&request, &config).unwrap_err().reason(), Reason::ExtensionNotActive);
    request.facts.activated.insert(EXTENSION.into());
    assert_eq!(judge(&request, &config).unwrap_err().reason(), Reason::MediaTypeUnsupported);
}
