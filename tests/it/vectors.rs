//! The project's own suite: every case gives its answer, the files are what is made, and between them the cases provoke
//! every reason that an evaluation can give.

use crate::command_line::{Run, writgate};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use writgate::Reason;

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

#[test]
fn every_case_of_the_own_suite_passes() {
    let Run { status, stdout, .. } = writgate(&["vectors", "run", "vectors"]);
    assert_eq!(status, 0, "{stdout}");
    let cases = cases().len();
    assert_eq!(stdout.lines().last(), Some(format!("{cases} passed, 0 failed").as_str()));
    assert!(cases > 60);
}

#[test]
fn every_case_of_the_a2a_rdf_suite_passes() {
    shared_suite_passes("a2a-rdf", 11);
}

#[test]
fn every_case_of_the_odrl_delegation_suite_passes() {
    shared_suite_passes("odrl-delegation", 9);
}

#[test]
fn every_case_of_the_agent_authz_credential_suite_passes() {
    shared_suite_passes("agent-authz-credential", 19);
}

fn shared_suite_passes(suite: &str, cases: usize) {
    let folder = format!("../shared/vectors/{suite}");
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder).is_dir() {
        println!("skipped: {suite} is not at ../shared");
        return;
    }
    let Run { status, stdout, .. } = writgate(&["vectors", "run", &folder]);
    assert_eq!((status, stdout.trim()), (0, format!("{cases} passed, 0 failed").as_str()));
}

#[test]
fn a_wrong_expectation_an_unknown_operation_and_an_empty_suite_fail() {
    let folder = std::env::temp_dir().join(format!("writgate-vectors-{}", std::process::id()));
    fs::create_dir_all(folder.join("one")).unwrap();
    let run = || {
        let run = writgate(&["vectors", "run", folder.to_str().unwrap()]);
        (run.status, run.stdout)
    };
    fs::write(folder.join("manifest.json"), r#"{"cases":[]}"#).unwrap();
    assert_eq!(run(), (1, "0 passed, 0 failed\n".to_owned()));
    fs::write(folder.join("manifest.json"), r#"{"cases":[{"id":"one","path":"one/case.json"}]}"#).unwrap();
    for (operation, expected) in [("evaluate-everything", "{}"), ("decode-handshake", r#"{"ok":true}"#)] {
        let case = format!(
            r#"{{"id":"one","operation":"{operation}","input":{{"payload":{{"kind":"upgrade-offer"}}}},"expected":{expected}}}"#
        );
        fs::write(folder.join("one/case.json"), case).unwrap();
        let (status, stdout) = run();
        assert_eq!(status, 1, "{stdout}");
        assert!(stdout.starts_with("FAIL one") && stdout.ends_with("0 passed, 1 failed\n"), "{stdout}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_committed_suite_is_what_is_made() {
    let folder = std::env::temp_dir().join(format!("writgate-made-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let made = writgate(&["vectors", "make", folder.to_str().unwrap()]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert_eq!(
        fs::read(folder.join("manifest.json")).unwrap(),
        fs::read(suite().join("manifest.json")).unwrap()
    );
    for name in cases().into_iter().map(|(name, _)| name) {
        for file in ["case.json", "message.json"] {
            let path = format!("cases/{name}/{file}");
            assert!(
                fs::read(folder.join(&path)).unwrap() == fs::read(suite().join(&path)).unwrap(),
                "{path} is stale"
            );
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Reasons that no evaluation gives: of loading, the handshake, admission, and our own failures. Each has its own test.
const NOT_OF_EVALUATION: [Reason; 11] = [
    Reason::HashMismatch,
    Reason::HandshakeMalformed,
    Reason::ObligationUnsupported,
    Reason::ClockSteppedBack,
    Reason::BeforeLedgerFloor,
    Reason::DuplicateMessage,
    Reason::MessageIdReused,
    Reason::ChallengeUsed,
    Reason::LedgerUnavailable,
    Reason::Internal,
    // Given where a status list is at hand, which no configuration file gives yet.
    Reason::Suspended,
];

#[test]
fn the_cases_provoke_every_reason_that_an_evaluation_can_give() {
    let provoked: BTreeSet<Reason> = cases()
        .into_iter()
        .filter_map(|(_, case)| case["expected"]["reason"].as_str().map(|word| word.parse().unwrap()))
        .collect();
    let elsewhere = BTreeSet::from(NOT_OF_EVALUATION);
    let missing: Vec<_> = Reason::ALL
        .iter()
        .filter(|reason| !provoked.contains(reason) && !elsewhere.contains(reason))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    assert!(provoked.is_disjoint(&elsewhere), "{:?}", provoked.intersection(&elsewhere));
}

fn cases() -> Vec<(String, Value)> {
    let read = |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    read(suite().join("manifest.json"))["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let name = entry["id"].as_str().unwrap().trim_start_matches("writgate/").to_owned();
            (name, read(suite().join(entry["path"].as_str().unwrap())))
        })
        .collect()
}

const HASH: &str = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";

/// Runs cases of (operation, input, expected) with `files` beside each; what fails is printed by the run.
fn assert_answers(name: &str, files: &[(&str, &[u8])], cases: &[(&str, Value, Value)]) {
    let folder = std::env::temp_dir().join(format!("writgate-{name}-{}", std::process::id()));
    let mut listed = Vec::new();
    for (number, (operation, input, expected)) in cases.iter().enumerate() {
        let (id, path) = (format!("case-{number}"), format!("case-{number}/case.json"));
        fs::create_dir_all(folder.join(&id)).unwrap();
        for (file, text) in files {
            fs::write(folder.join(&id).join(file), text).unwrap();
        }
        let case = json!({ "id": id, "operation": operation, "input": input, "expected": expected });
        fs::write(folder.join(&path), case.to_string()).unwrap();
        listed.push(json!({ "id": id, "path": path }));
    }
    fs::write(folder.join("manifest.json"), json!({ "cases": listed }).to_string()).unwrap();
    let run = writgate(&["vectors", "run", folder.to_str().unwrap()]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!((run.status, run.stdout), (0, format!("{} passed, 0 failed\n", cases.len())));
}

#[test]
fn a_pin_is_compared_exactly_with_the_graph_of_any_serialization() {
    let read = |name: &str| fs::read_to_string(suite().join("../policies").join(name)).unwrap();
    let (turtle, json_ld) = (read("grant-access.ttl"), read("grant-access.jsonld"));
    let pin = |body: &str, pin: Value, ok: bool| {
        ("verify-pd-pin", json!({ "body": body, "pinnedHash": pin }), json!({ "ok": ok }))
    };
    let digits = HASH.strip_prefix("sha256:").unwrap();
    let typed = |body: &str, media_type: &str, ok: bool| {
        let input = json!({ "body": body, "pinnedHash": HASH, "mediaType": media_type });
        ("verify-pd-pin", input, json!({ "ok": ok }))
    };
    assert_answers(
        "pins",
        &[
            ("pd.ttl", turtle.as_bytes()),
            ("pd.jsonld", json_ld.as_bytes()),
            ("latin.ttl", b"<urn:a> <urn:b> \"\xe9\" ."),
        ],
        &[
            pin("pd.ttl", json!(HASH), true),
            pin("pd.jsonld", json!(HASH), true),
            pin(&turtle, json!(HASH), true),
            pin(&json_ld, json!(HASH), true),
            typed("pd.jsonld", "application/ld+json; charset=utf-8", true),
            typed("pd.ttl", "application/ld+json", false),
            typed("pd.ttl", "text/plain", false),
            pin(&turtle.replace("Grant access", "Grant  access"), json!(HASH), false),
            pin(&turtle.replace("sh:minCount 1", "sh:minCount 0"), json!(HASH), false),
            pin("this is no RDF", json!(HASH), false),
            pin("latin.ttl", json!(HASH), false),
            pin("absent.ttl", json!(HASH), false),
            pin("", json!(HASH), false),
            pin("pd.ttl", json!(HASH.to_uppercase()), false),
            pin("pd.ttl", json!(format!("sha256:{}", digits.to_uppercase())), false),
            pin("pd.ttl", json!(format!("sha512:{digits}")), false),
            pin("pd.ttl", json!(format!("sha3:{digits}")), false),
            pin("pd.ttl", json!(digits), false),
            pin("pd.ttl", json!(format!("{HASH} ")), false),
            pin("pd.ttl", json!(""), false),
            pin("pd.ttl", json!(null), false),
            ("rdfc10-hash", json!({ "graph": json_ld }), json!({ "hash": HASH })),
            (
                "rdfc10-hash",
                json!({ "graph": "pd.jsonld", "mediaType": "application/ld+json" }),
                json!({ "hash": HASH }),
            ),
        ],
    );
}

#[test]
fn handshakes_are_decoded_from_either_form_or_refused() {
    let offer = json!({
        "kind": "upgrade-offer", "protocolHash": HASH, "required": false, "protocolSource": "https://a.example/p",
    });
    let response = json!({ "kind": "upgrade-response", "protocolHash": HASH, "accept": false });
    let with = |payload: &Value, name: &str, value: Value| {
        let mut payload = payload.clone();
        payload[name] = value;
        payload
    };
    let without = |payload: &Value, name: &str| {
        let mut payload = payload.clone();
        payload.as_object_mut().unwrap().remove(name);
        payload
    };
    let json =
        |payload: Value, ok: bool| ("decode-handshake", json!({ "payload": payload }), json!({ "ok": ok }));
    let graph = |body: &str, ok: bool| {
        let text = format!(
            "@prefix a2a: <https://w3id.org/jeswr/a2a#>. @prefix xsd: <http://www.w3.org/2001/XMLSchema#>. {body}"
        );
        ("decode-handshake", json!({ "graph": text }), json!({ "ok": ok }))
    };
    let offered = format!(
        "[] a a2a:UpgradeOffer; a2a:protocolHash \"{HASH}\"; a2a:protocolSource <https://a.example/p>; a2a:required"
    );
    let answered = format!("a a2a:UpgradeResponse; a2a:protocolHash \"{HASH}\"; a2a:accept");
    let json_ld = json!({
        "@context": { "@vocab": "https://w3id.org/jeswr/a2a#" },
        "@type": "UpgradeResponse", "protocolHash": HASH, "accept": true,
    });
    let file = response.to_string();
    let twice = file.replacen('{', "{\"accept\":true,", 1);
    assert_answers(
        "handshakes",
        &[("answer.json", file.as_bytes()), ("twice.json", twice.as_bytes())],
        &[
            json(offer.clone(), true),
            json(response.clone(), true),
            json(json!("answer.json"), true),
            json(json!("twice.json"), false),
            json(json!(null), false),
            json(json!([offer]), false),
            json(json!("hello"), false),
            json(with(&offer, "required", json!(0)), false),
            json(with(&offer, "required", json!(null)), false),
            json(without(&offer, "required"), false),
            json(with(&offer, "protocolSource", json!("http://a.example/p")), false),
            json(with(&offer, "protocolHash", json!(HASH.to_uppercase())), false),
            json(with(&offer, "kind", json!("intent")), false),
            json(with(&offer, "more", json!({})), true),
            json(with(&response, "accept", json!("true")), false),
            json(with(&response, "accept", json!(1)), false),
            json(with(&response, "accept", json!(null)), false),
            json(without(&response, "protocolHash"), false),
            graph(&format!("{offered} true ."), true),
            graph(&format!("<urn:r> {answered} false ."), true),
            graph(&format!("{offered} \"1\"^^xsd:boolean ."), false),
            graph(&format!("{offered} \"true\" ."), false),
            graph(&format!("{offered} true, false ."), false),
            graph(&format!("{offered} true . <urn:r> {answered} false ."), false),
            graph(&format!("<urn:r> {answered} false . <urn:s> {answered} false ."), false),
            graph(
                &format!(
                    "<urn:r> a a2a:UpgradeResponse; a2a:protocolHash \"{HASH}\" . <urn:s> a2a:accept true ."
                ),
                false,
            ),
            graph(&format!("<urn:r> {answered} false; a2a:protocolHash \"x\" ."), false),
            graph("", false),
            graph("<urn:r> a", false),
            (
                "decode-handshake",
                json!({ "graph": json_ld.to_string() }),
                json!({ "ok": true, "kind": "upgrade-response" }),
            ),
        ],
    );
}

#[test]
fn nothing_but_a_declined_optional_offer_permits_prose() {
    let offer = |required: Value| json!({ "kind": "upgrade-offer", "protocolHash": HASH, "required": required, "protocolSource": "https://a.example/p" });
    let answer = |hash: &str, accept: Value| json!({ "kind": "upgrade-response", "protocolHash": hash, "accept": accept });
    let other = format!("sha256:{}", "0".repeat(64));
    let case = |offer: &Value, response: Option<Value>, downgrade: bool| {
        let mut input = json!({ "offer": offer });
        if let Some(response) = response {
            input["response"] = response;
        }
        ("may-downgrade-to-nl", input, json!({ "downgrade": downgrade }))
    };
    let optional = offer(json!(false));
    assert_answers(
        "downgrades",
        &[],
        &[
            case(&optional, Some(answer(HASH, json!(false))), true),
            case(&optional, Some(answer(HASH, json!(true))), false),
            case(&optional, Some(answer(&other, json!(false))), false),
            case(&optional, Some(answer(HASH, json!("false"))), false),
            case(&optional, Some(optional.clone()), false),
            case(&optional, Some(json!(null)), false),
            case(&optional, Some(json!("I would rather talk")), false),
            case(&optional, None, false),
            case(&offer(json!(true)), Some(answer(HASH, json!(false))), false),
            case(&offer(json!("false")), Some(answer(HASH, json!(false))), false),
            case(&json!(null), Some(answer(HASH, json!(false))), false),
        ],
    );
}

#[test]
fn plain_shacl_takes_no_notice_of_what_stands_beside_it() {
    let shapes = "@prefix sh: <http://www.w3.org/ns/shacl#>. @prefix e: <https://e.example/>.
        e:d <http://www.w3.org/2002/07/owl#imports> e:o; sh:shapesGraph e:o; <http://purl.org/dc/terms/title> \"T\".
        e:S a sh:NodeShape; sh:targetClass e:C; sh:property [ sh:path e:p; sh:or ( [ sh:in ( 1 2 ) ] [ sh:class e:D ] ) ].";
    let case = |data: &str, conforms: bool| {
        let data = format!("@prefix e: <https://e.example/>. {data}");
        let input = json!({ "shapesGraph": shapes, "dataGraph": data });
        ("validate-intent", input, json!({ "conforms": conforms }))
    };
    assert_answers(
        "shacl",
        &[],
        &[
            case("e:x a e:C; e:p 1, e:y . e:y a e:D .", true),
            case("e:x a e:C; e:p 3 .", false),
            case("e:x a e:Other; e:p 3 .", true),
            case("", true),
        ],
    );
}
