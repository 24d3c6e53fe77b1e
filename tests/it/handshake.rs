//! The handshake's payloads as a table: every offer and every answer, well-formed or spoilt in one way, in each of the
//! three forms; and what each pair of them permits.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use writgate::Reason;
use writgate::limits::Limits;
use writgate::protocol::handshake::{Handshake, UpgradeOffer, UpgradeResponse, may_downgrade};

const NS: &str = "https://w3id.org/jeswr/a2a#";
const SOURCE: &str = "https://pod.example/protocols/p";

fn hash(digit: char) -> String {
    format!("sha256:{}", String::from(digit).repeat(64))
}

// --- The forms ------------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, Copy)]
enum Form {
    Json,
    Turtle,
    JsonLd,
}

const FORMS: [Form; 3] = [Form::Json, Form::Turtle, Form::JsonLd];

/// The class that a `kind` names in RDF.
fn class(kind: &str) -> String {
    match kind {
        "upgrade-offer" => format!("{NS}UpgradeOffer"),
        "upgrade-response" => format!("{NS}UpgradeResponse"),
        other => format!("{NS}{other}"),
    }
}

impl Form {
    /// Decodes a payload that was written down in JSON, whatever is wrong with it, in this form.
    fn decode(self, payload: &Value) -> Option<Handshake> {
        let limits = Limits::default();
        let decoded = match self {
            Self::Json => Handshake::decode_json(payload),
            Self::Turtle => {
                for subject in ["[]", "_:h", "<urn:h>"] {
                    let (some, this) = (turtle("<urn:h>", payload), turtle(subject, payload));
                    let decode = |text: &str| Handshake::decode_graph(text, "text/turtle", &limits);
                    assert_eq!(decode(&some), decode(&this), "{this}");
                }
                Handshake::decode_graph(&turtle("[]", payload), "text/turtle", &limits)
            }
            Self::JsonLd => {
                Handshake::decode_graph(&json_ld(payload).to_string(), "application/ld+json", &limits)
            }
        };
        assert!(decoded.as_ref().err().is_none_or(|error| error.reason() == Reason::HandshakeMalformed));
        decoded.ok()
    }
}

fn members(payload: &Value) -> &Map<String, Value> {
    payload.as_object().expect("the table's payloads are objects")
}

fn turtle(subject: &str, payload: &Value) -> String {
    let term = |name: &str, value: &Value| match (name, value) {
        ("kind", Value::String(kind)) => format!("<{}>", class(kind)),
        ("protocolSource", Value::String(source)) => format!("<{source}>"),
        (_, Value::Null) => "()".to_owned(),
        // A JSON string without escapes is a Turtle one; so are numbers and booleans.
        (_, value) => value.to_string(),
    };
    let predicate = |name: &str| match name {
        "kind" => "a".to_owned(),
        name => format!("<{NS}{name}>"),
    };
    let pairs: Vec<_> = members(payload)
        .iter()
        .map(|(name, value)| format!("{} {}", predicate(name), term(name, value)))
        .collect();
    format!("{subject} {} .", pairs.join("; "))
}

fn json_ld(payload: &Value) -> Value {
    let member = |(name, value): (&String, &Value)| match (name.as_str(), value) {
        ("kind", Value::String(kind)) => ("@type".to_owned(), json!(class(kind))),
        ("kind", other) => ("@type".to_owned(), other.clone()),
        ("protocolSource", Value::String(source)) => (format!("{NS}{name}"), json!({"@id": source})),
        (_, other) => (format!("{NS}{name}"), other.clone()),
    };
    Value::Object(members(payload).iter().map(member).collect())
}

// --- The table ------------------------------------------------------------------------------------------------------

/// A payload, and whether it decodes.
type Row = (String, Value, bool);

fn offer(digit: char, required: bool) -> Value {
    json!({
        "kind": "upgrade-offer", "protocolHash": hash(digit), "protocolSource": SOURCE, "required": required,
        "protocolName": "P",
    })
}

fn response(digit: char, accept: bool) -> Value {
    json!({"kind": "upgrade-response", "protocolHash": hash(digit), "accept": accept, "reason": "R"})
}

/// The payload with one member set, or for `None` taken away.
fn with(payload: &Value, name: &str, value: Option<Value>) -> Value {
    let mut members = members(payload).clone();
    match value {
        Some(value) => members.insert(name.to_owned(), value),
        None => members.remove(name),
    };
    Value::Object(members)
}

/// Every way to spoil one member, beside the ways that leave it whole.
fn spoilt(base: &Value, flag: &str, other_kind: &[(&str, Value)], text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: Option<Value>, decodes: bool| {
        let label = value.as_ref().map_or("absent".to_owned(), Value::to_string);
        rows.push((format!("{name}: {label}"), with(base, name, value), decodes));
    };
    let no_flag = [json!(null), json!("true"), json!("false"), json!(""), json!(0), json!(1), json!(0.5)];
    row(flag, None, false);
    no_flag.into_iter().for_each(|value| row(flag, Some(value), false));
    let digits = "a".repeat(64);
    row("protocolHash", None, false);
    for value in [
        json!(null),
        json!(true),
        json!(1),
        json!(""),
        json!(digits),
        json!(format!("sha512:{digits}")),
        json!(format!("SHA256:{digits}")),
        json!(format!("sha256:{}", digits.to_uppercase())),
        json!(format!("sha256:{digits}a")),
        json!(format!("sha256:{}", "a".repeat(63))),
        json!(format!("sha256:{}g", "a".repeat(63))),
        json!(format!(" sha256:{digits}")),
    ] {
        row("protocolHash", Some(value), false);
    }
    row("kind", None, false);
    for value in [json!(null), json!(1), json!("intent"), json!("Upgrade-Offer"), json!("")] {
        row("kind", Some(value), false);
    }
    row(text, None, true);
    row(text, Some(json!("")), true);
    for value in [json!(null), json!(1), json!(true), json!("x".repeat(1_025))] {
        row(text, Some(value), false);
    }
    row("later", Some(json!("a member of a later version")), true);
    for (name, value) in other_kind {
        row(name, Some(value.clone()), false);
    }
    rows
}

fn offers() -> Vec<Row> {
    let mut rows = Vec::new();
    for (digit, required) in [('a', true), ('a', false), ('b', true), ('b', false)] {
        let base = offer(digit, required);
        rows.push((format!("offer {digit} required {required}"), base.clone(), true));
        let foreign = [("accept", json!(true)), ("accept", json!(null)), ("reason", json!("R"))];
        rows.extend(spoilt(&base, "required", &foreign, "protocolName"));
        rows.push((
            "of the other kind".to_owned(),
            with(&base, "kind", Some(json!("upgrade-response"))),
            false,
        ));
        for source in [
            None,
            Some(json!(null)),
            Some(json!(1)),
            Some(json!("http://pod.example/p")),
            Some(json!("https:///p")),
            Some(json!("https://user@pod.example/p")),
            Some(json!("https://user:secret@pod.example/p")),
            Some(json!("did:example:p")),
            Some(json!("https://pod.example/ p")),
            Some(json!(format!("https://pod.example/{}", "p".repeat(2_048)))),
        ] {
            rows.push((format!("source {source:?}"), with(&base, "protocolSource", source), false));
        }
    }
    rows
}

fn answers() -> Vec<Row> {
    let mut rows = Vec::new();
    for (digit, accept) in [('a', true), ('a', false), ('b', true), ('b', false)] {
        let base = response(digit, accept);
        rows.push((format!("response {digit} accept {accept}"), base.clone(), true));
        let foreign = [
            ("required", json!(false)),
            ("required", json!(null)),
            ("protocolSource", json!(SOURCE)),
            ("protocolName", json!("P")),
        ];
        rows.extend(spoilt(&base, "accept", &foreign, "reason"));
        rows.push(("of the other kind".to_owned(), with(&base, "kind", Some(json!("upgrade-offer"))), false));
    }
    rows
}

#[test]
fn every_payload_of_the_table_decodes_alike_in_every_form_or_is_malformed() {
    let rows: Vec<Row> = offers().into_iter().chain(answers()).collect();
    assert!(rows.len() > 250);
    for (name, payload, decodes) in &rows {
        let json = Form::Json.decode(payload);
        assert_eq!(json.is_some(), *decodes, "{name}: {payload}");
        for form in [Form::Turtle, Form::JsonLd] {
            assert_eq!(form.decode(payload), json, "{form:?}, {name}: {payload}");
        }
    }
}

/// DG-1's whole table. An answer that is absent, no text, of the other kind (two offers that crossed) or malformed is
/// none.
#[test]
fn one_kind_of_pair_of_the_table_permits_prose() {
    let decoded = |rows: Vec<Row>, form: Form| -> Vec<Option<Handshake>> {
        rows.iter().map(|(_, payload, _)| form.decode(payload)).collect()
    };
    for offer_form in FORMS {
        let offers = decoded(offers(), offer_form);
        for answer_form in FORMS {
            let mut answers = decoded(answers(), answer_form);
            answers.extend(offers.iter().cloned());
            answers.push(None);
            let mut permitted = 0;
            for offer in offers.iter().flatten() {
                let Handshake::Offer(offer) = offer else { panic!("an offer decoded as {offer:?}") };
                for answer in &answers {
                    let response = match answer {
                        Some(Handshake::Response(response)) => Some(response),
                        Some(Handshake::Offer(_)) | None => None,
                    };
                    let expected = is_a_decline_of(offer, response);
                    assert_eq!(may_downgrade(offer, response), expected, "{offer:?} {response:?}");
                    permitted += usize::from(expected);
                }
            }
            // Two hashes, and of each four well-formed optional offers and four well-formed declines.
            assert_eq!(permitted, 2 * 4 * 4);
        }
    }
}

/// Written down apart from the library: the one row of DG-1's table.
fn is_a_decline_of(offer: &UpgradeOffer, response: Option<&UpgradeResponse>) -> bool {
    match response {
        Some(UpgradeResponse { protocol_hash, accept: false, .. }) => {
            protocol_hash.as_str() == offer.protocol_hash.as_str() && !offer.required
        }
        _ => false,
    }
}

#[test]
fn what_is_no_graph_or_no_object_is_malformed() {
    let limits = Limits::default();
    for text in ["", "garbage", "{", "[]", "null", "\u{0}", "@prefix a: <", "<urn:a> <urn:b> <urn:c> ."] {
        for media_type in ["text/turtle", "application/ld+json", "text/plain", ""] {
            let error = Handshake::decode_graph(text, media_type, &limits).expect_err(text);
            assert_eq!(error.reason(), Reason::HandshakeMalformed);
        }
    }
    for payload in [json!(null), json!([]), json!("upgrade-offer"), json!(true), json!([offer('a', true)])] {
        assert!(Handshake::decode_json(&payload).is_err(), "{payload}");
    }
    let remote = json!({"@context": "https://pod.example/context", "@type": format!("{NS}UpgradeOffer")});
    assert!(Handshake::decode_graph(&remote.to_string(), "application/ld+json", &limits).is_err());
}

// --- Round trips ----------------------------------------------------------------------------------------------------

fn any_handshake() -> impl Strategy<Value = Handshake> {
    let text = proptest::option::of(proptest::string::string_regex("(?s).{0,40}").expect("a pattern"));
    let host = "[a-z]{1,8}(\\.[a-z]{1,8}){0,2}(:[1-9][0-9]{0,3})?";
    let source =
        format!("https://{host}(/[a-zA-Z0-9._~éß'-]{{0,8}}){{0,3}}(\\?[a-z=&]{{0,8}})?(#[a-z]{{0,4}})?");
    (
        proptest::string::string_regex(&source).expect("a pattern"),
        "[0-9a-f]{64}",
        any::<bool>(),
        any::<bool>(),
        text,
    )
        .prop_map(|(source, digits, is_offer, flag, text)| {
            let payload = if is_offer {
                json!({
                    "kind": "upgrade-offer", "protocolHash": format!("sha256:{digits}"),
                    "protocolSource": source, "required": flag, "protocolName": text,
                })
            } else {
                json!({
                    "kind": "upgrade-response", "protocolHash": format!("sha256:{digits}"), "accept": flag,
                    "reason": text,
                })
            };
            let whole = members(&payload).iter().filter(|(_, value)| !value.is_null());
            let payload = whole.map(|(name, value)| (name.clone(), value.clone())).collect();
            Handshake::decode_json(&Value::Object(payload)).expect("it is well-formed")
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_handshake_that_is_written_is_read_again(handshake in any_handshake()) {
        let limits = Limits::default();
        let read = Ok(handshake.clone());
        prop_assert_eq!(&Handshake::decode_json(&handshake.to_json()), &read);
        let turtle = handshake.to_turtle().expect("it is written");
        let named = turtle.replacen("_:handshake", "<urn:handshake>", 1);
        prop_assert_ne!(&named, &turtle);
        for text in [turtle, named] {
            prop_assert_eq!(&Handshake::decode_graph(&text, "text/turtle", &limits), &read, "{}", text);
        }
        let mut named = handshake.to_json_ld();
        named["@id"] = json!("urn:handshake");
        for text in [handshake.to_json_ld().to_string(), named.to_string()] {
            prop_assert_eq!(&Handshake::decode_graph(&text, "application/ld+json", &limits), &read, "{}", text);
        }
    }
}
