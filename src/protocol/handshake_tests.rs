use super::*;

const DIGITS: &str = "4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";

fn hash_text() -> String {
    format!("sha256:{DIGITS}")
}

fn offer_json() -> Value {
    json!({
        "kind": "upgrade-offer",
        "protocolHash": hash_text(),
        "protocolSource": "https://pod.example/protocols/p",
        "required": true,
        "protocolName": "P",
    })
}

fn response_json() -> Value {
    json!({ "kind": "upgrade-response", "protocolHash": hash_text(), "accept": false, "reason": "unsupported" })
}

/// A payload with one member replaced (or, for `None`, removed).
fn with(mut payload: Value, name: &str, value: Option<Value>) -> Value {
    let members = payload.as_object_mut().expect("an object");
    match value {
        Some(value) => members.insert(name.to_owned(), value),
        None => members.remove(name),
    };
    payload
}

fn refused(payload: &Value) -> bool {
    Handshake::decode_json(payload).is_err_and(|error| error.reason() == Reason::HandshakeMalformed)
}

fn decode_turtle(body: &str) -> Result<Handshake, HandshakeError> {
    let text = format!(
        "@prefix a2a: <https://w3id.org/jeswr/a2a#>. @prefix xsd: <http://www.w3.org/2001/XMLSchema#>. {body}"
    );
    Handshake::decode_graph(&text, "text/turtle", &Limits::default())
}

fn offer_turtle(subject: &str) -> String {
    format!(
        "{subject} a a2a:UpgradeOffer; a2a:protocolHash \"sha256:{DIGITS}\";
            a2a:protocolSource <https://pod.example/protocols/p>; a2a:required true; a2a:protocolName \"P\". "
    )
}

fn response_turtle(subject: &str) -> String {
    format!("{subject} a a2a:UpgradeResponse; a2a:protocolHash \"sha256:{DIGITS}\"; a2a:accept false. ")
}

mod json_form {
    use super::*;

    #[test]
    fn an_offer_and_a_response_decode_and_encode() {
        for payload in [offer_json(), response_json()] {
            let decoded = Handshake::decode_json(&payload).expect("the payload is well-formed");
            assert_eq!(decoded.to_json(), payload);
            assert_eq!(payload.get("kind").and_then(Value::as_str), Some(decoded.kind()));
        }
    }

    #[test]
    fn a_flag_is_a_json_boolean_and_has_no_default() {
        for flag in
            [None, Some(json!("true")), Some(json!(0)), Some(json!(1)), Some(Value::Null), Some(json!([]))]
        {
            assert!(refused(&with(offer_json(), "required", flag.clone())), "{flag:?}");
            assert!(refused(&with(response_json(), "accept", flag.clone())), "{flag:?}");
        }
    }

    #[test]
    fn a_hash_is_never_read_loosely() {
        let upper = format!("sha256:{}", DIGITS.to_uppercase());
        for hash in [
            None,
            Some(json!(DIGITS)),
            Some(json!(format!("sha512:{DIGITS}"))),
            Some(json!(upper)),
            Some(json!(format!("sha256:{DIGITS}0"))),
            Some(Value::Null),
        ] {
            assert!(refused(&with(offer_json(), "protocolHash", hash.clone())), "{hash:?}");
            assert!(refused(&with(response_json(), "protocolHash", hash.clone())), "{hash:?}");
        }
    }

    #[test]
    fn a_source_is_an_https_iri_with_a_host() {
        for source in [
            None,
            Some(json!("http://pod.example/p")),
            Some(json!("https:///p")),
            Some(json!("https:p")),
            Some(json!("https://:443/p")),
            Some(json!("/p")),
            Some(json!("https://user@pod.example/p")),
            Some(json!("https://pod.example/ p")),
            Some(json!(format!("https://pod.example/{}", "p".repeat(3_000)))),
            Some(json!(7)),
        ] {
            assert!(refused(&with(offer_json(), "protocolSource", source.clone())), "{source:?}");
        }
    }

    #[test]
    fn an_optional_text_may_be_absent_but_not_of_another_type() {
        assert!(!refused(&with(offer_json(), "protocolName", None)));
        assert!(!refused(&with(response_json(), "reason", None)));
        for text in [Value::Null, json!(1), json!({}), json!("x".repeat(2_000))] {
            assert!(refused(&with(offer_json(), "protocolName", Some(text.clone()))), "{text}");
            assert!(refused(&with(response_json(), "reason", Some(text.clone()))), "{text}");
        }
    }

    #[test]
    fn the_kind_is_one_of_two() {
        for kind in [None, Some(json!("intent")), Some(json!("Upgrade-Offer")), Some(Value::Null)] {
            assert!(refused(&with(offer_json(), "kind", kind.clone())), "{kind:?}");
        }
        assert!(refused(&with(offer_json(), "kind", Some(json!("upgrade-response")))));
        assert!(refused(&json!([offer_json()])));
    }

    #[test]
    fn a_payload_of_both_kinds_is_refused() {
        assert!(refused(&with(offer_json(), "accept", Some(json!(true)))));
        assert!(refused(&with(response_json(), "required", Some(json!(false)))));
        assert!(refused(&with(response_json(), "protocolSource", Some(json!("https://pod.example/p")))));
    }

    #[test]
    fn an_unknown_member_is_ignored() {
        assert!(!refused(&with(offer_json(), "later", Some(json!("x")))));
    }
}

mod rdf_form {
    use super::*;

    #[test]
    fn both_payloads_decode_from_an_iri_or_a_blank_node() {
        for subject in ["<urn:h>", "_:h", "[]"] {
            assert!(matches!(decode_turtle(&offer_turtle(subject)), Ok(Handshake::Offer(_))), "{subject}");
            assert!(
                matches!(decode_turtle(&response_turtle(subject)), Ok(Handshake::Response(_))),
                "{subject}"
            );
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for payload in [offer_json(), response_json(), with(response_json(), "reason", None)] {
            let handshake = Handshake::decode_json(&payload).expect("the payload is well-formed");
            let turtle = handshake.to_turtle().expect("it is written");
            let read = Handshake::decode_graph(&turtle, "text/turtle", &Limits::default());
            assert_eq!(read, Ok(handshake), "{turtle}");
        }
    }

    #[test]
    fn zero_two_and_mixed_subjects_are_refused() {
        assert!(decode_turtle("<urn:h> a2a:required true.").is_err());
        assert!(decode_turtle(&(offer_turtle("<urn:a>") + &offer_turtle("<urn:b>"))).is_err());
        assert!(decode_turtle(&(offer_turtle("<urn:a>") + &response_turtle("<urn:b>"))).is_err());
        assert!(decode_turtle(&(offer_turtle("<urn:a>") + &response_turtle("<urn:a>"))).is_err());
        assert!(decode_turtle(&(offer_turtle("<urn:a>") + "<urn:b> a a2a:UpgradeResponse.")).is_err());
    }

    #[test]
    fn nothing_of_another_subject_is_read() {
        let spliced = format!(
            "<urn:h> a a2a:UpgradeOffer; a2a:protocolHash \"sha256:{DIGITS}\";
                a2a:protocolSource <https://pod.example/p>. <urn:other> a2a:required false."
        );
        assert!(decode_turtle(&spliced).is_err());
        let beside = offer_turtle("<urn:h>") + "<urn:other> a2a:required false; a2a:protocolName 7.";
        assert!(decode_turtle(&beside).is_ok());
    }

    #[test]
    fn a_repeated_predicate_is_refused() {
        for second in [
            "a2a:required false",
            "a2a:required \"true\"",
            "a2a:protocolName \"Q\"",
            "a2a:protocolName <urn:q>",
            "a2a:protocolSource <https://other.example/>",
            "a2a:protocolHash \"x\"",
        ] {
            let body = format!("{} <urn:h> {second}.", offer_turtle("<urn:h>"));
            assert!(decode_turtle(&body).is_err(), "{second}");
        }
        assert!(decode_turtle(&(response_turtle("<urn:h>") + "<urn:h> a2a:accept true.")).is_err());
    }

    #[test]
    fn predicates_of_the_other_payload_are_refused() {
        assert!(decode_turtle(&(offer_turtle("<urn:h>") + "<urn:h> a2a:accept true.")).is_err());
        assert!(decode_turtle(&(response_turtle("<urn:h>") + "<urn:h> a2a:required true.")).is_err());
    }

    #[test]
    fn a_type_that_is_no_iri_is_refused() {
        for body in
            ["<urn:h> a \"https://w3id.org/jeswr/a2a#UpgradeResponse\".", "<urn:x> a \"x\".", "<urn:x> a []."]
        {
            assert!(decode_turtle(&(offer_turtle("<urn:h>") + body)).is_err(), "{body}");
        }
    }

    #[test]
    fn every_object_is_of_its_kind() {
        for (right, wrong) in [
            ("a2a:required true", "a2a:required \"true\""),
            ("a2a:required true", "a2a:required \"1\"^^xsd:boolean"),
            ("a2a:required true", "a2a:required 1"),
            ("a2a:required true; ", ""),
            ("<https://pod.example/protocols/p>", "\"https://pod.example/protocols/p\""),
            ("<https://pod.example/protocols/p>", "<http://pod.example/protocols/p>"),
            ("\"P\"", "7"),
        ] {
            let body = offer_turtle("<urn:h>").replace(right, wrong);
            assert!(decode_turtle(&body).is_err(), "{wrong}");
        }
        let typed = format!("\"sha256:{DIGITS}\"^^xsd:anyURI");
        let tagged = format!("\"sha256:{DIGITS}\"@en");
        let plain = format!("\"sha256:{DIGITS}\"");
        for hash in [typed, tagged, format!("<sha256:{DIGITS}>")] {
            assert!(decode_turtle(&offer_turtle("<urn:h>").replace(&plain, &hash)).is_err(), "{hash}");
        }
    }

    #[test]
    fn only_turtle_and_json_ld_are_read() {
        for media_type in ["text/plain", "application/json", "application/trig", ""] {
            let text = format!("@prefix a2a: <https://w3id.org/jeswr/a2a#>. {}", offer_turtle("<urn:h>"));
            assert!(Handshake::decode_graph(&text, media_type, &Limits::default()).is_err(), "{media_type}");
        }
    }

    #[test]
    fn the_json_ld_form_decodes() {
        let text = json!({
            "@context": { "a2a": "https://w3id.org/jeswr/a2a#" },
            "@type": "a2a:UpgradeResponse",
            "a2a:protocolHash": hash_text(),
            "a2a:accept": false,
        })
        .to_string();
        let decoded = Handshake::decode_graph(&text, "application/ld+json", &Limits::default());
        assert!(
            matches!(decoded, Ok(Handshake::Response(UpgradeResponse { accept: false, .. }))),
            "{decoded:?}"
        );
    }
}

mod downgrade {
    use super::*;

    fn hash(digit: &str) -> ProtocolHash {
        format!("sha256:{}", digit.repeat(64)).parse().expect("a hash")
    }

    /// DG-1's whole table: prose is permitted in one row of it.
    #[test]
    fn prose_is_permitted_only_by_an_equal_hash_an_optional_offer_and_a_decline() {
        for required in [false, true] {
            let offer = UpgradeOffer {
                protocol_hash: hash("a"),
                protocol_source: "https://pod.example/p".parse().expect("a source"),
                required,
                protocol_name: None,
            };
            assert!(!may_downgrade(&offer, None), "required: {required}");
            for (digit, accept) in [("a", false), ("a", true), ("b", false), ("b", true)] {
                let response = UpgradeResponse { protocol_hash: hash(digit), accept, reason: None };
                let expected = !required && digit == "a" && !accept;
                assert_eq!(may_downgrade(&offer, Some(&response)), expected, "{required} {digit} {accept}");
            }
        }
    }
}

mod vectors {
    use super::*;

    /// The cases of one operation: name, input, expected.
    fn cases(operation: &str) -> Vec<(String, Value, Value)> {
        let root = crate::shape::tests::shared_path("vectors/a2a-rdf/cases");
        let Ok(folders) = std::fs::read_dir(&root) else {
            println!("skipped: no {}", root.display());
            return Vec::new();
        };
        let read = |folder: std::fs::DirEntry| {
            let text = std::fs::read_to_string(folder.path().join("case.json")).ok()?;
            let case: Value = serde_json::from_str(&text).ok()?;
            let member = |name: &str| case.get(name).cloned().unwrap_or_default();
            (member("operation") == operation).then(|| {
                (folder.file_name().to_string_lossy().into_owned(), member("input"), member("expected"))
            })
        };
        folders.flatten().filter_map(read).collect()
    }

    #[test]
    fn payloads_decode_as_expected() {
        for (name, input, expected) in cases("decode-handshake") {
            let Some(payload) = input.get("payload") else { continue };
            let ok = Handshake::decode_json(payload).is_ok();
            assert_eq!(expected.get("ok"), Some(&Value::Bool(ok)), "{name}");
        }
    }

    #[test]
    fn downgrades_are_permitted_as_expected() {
        for (name, input, expected) in cases("may-downgrade-to-nl") {
            let decode = |member: &str| Handshake::decode_json(input.get(member).unwrap_or(&Value::Null));
            let Ok(Handshake::Offer(offer)) = decode("offer") else { panic!("{name} has no offer") };
            let response = match decode("response") {
                Ok(Handshake::Response(response)) => Some(response),
                _ => None,
            };
            let permitted = may_downgrade(&offer, response.as_ref());
            assert_eq!(expected.get("downgrade"), Some(&Value::Bool(permitted)), "{name}");
        }
    }
}
