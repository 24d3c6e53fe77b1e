//! Nothing of a paper vanishes: presentations with embedded credentials, and documents changed at random.

use super::super::*;
use crate::rdf::Budget;
use crate::rdf::canon::{self, HashAlgorithm};
use oxrdf::Dataset;
use proptest::prelude::*;
use serde_json::json;

const V2: &str = contexts::CREDENTIALS_V2;
const SEC: &str = "https://w3id.org/security#";

fn read(paper: &Value) -> Result<Dataset, RdfError> {
    parse_paper(paper, &Limits::default()).map(Dataset::from_iter)
}

fn canonical(paper: &Value) -> String {
    let dataset = read(paper).unwrap_or_else(|error| panic!("{paper}: {error:?}"));
    canon::dataset(&dataset, HashAlgorithm::Sha256, &mut Budget::new(&Limits::default())).unwrap()
}

fn credential(number: usize) -> Value {
    json!({
        "@context": [V2, {
            "svc": "https://w3id.org/jeswr/solid-vc#",
            "odrl": "http://www.w3.org/ns/odrl/2/",
            "AgentAuthorizationCredential": "svc:AgentAuthorizationCredential",
            "authorizes": {"@id": "svc:authorizes", "@type": "@id"},
            "action": {"@id": "svc:action", "@type": "@id"},
            "policy": {"@id": "svc:policy", "@type": "@id", "@context": {
                "uid": {"@id": "odrl:uid", "@type": "@id"},
                "permission": {"@id": "odrl:permission", "@type": "@id"},
                "assigner": {"@id": "odrl:assigner", "@type": "@id"},
                "constraint": {"@id": "odrl:constraint", "@type": "@id"},
                "operand": "odrl:rightOperand"
            }}
        }],
        "id": format!("urn:uuid:{number}"),
        "type": ["VerifiableCredential", "AgentAuthorizationCredential"],
        "issuer": "did:example:issuer",
        "validFrom": "2026-01-01T00:00:00Z",
        "credentialStatus": {
            "id": format!("https://status.example/{number}#7"),
            "type": "BitstringStatusListEntry",
            "statusPurpose": "revocation",
            "statusListIndex": "7",
            "statusListCredential": "https://status.example/1"
        },
        "credentialSubject": {
            "id": "did:example:issuer",
            "authorizes": "did:example:agent",
            "action": ["odrl:read", "odrl:write"],
            "policy": {
                "id": format!("https://policies.example/{number}"),
                "type": "odrl:Agreement",
                "permission": {
                    "assigner": "did:example:issuer",
                    "constraint": [{"operand": format!("sentinel-{number}")}, {"operand": 7}]
                }
            }
        },
        "proof": proof("assertionMethod", number)
    })
}

fn proof(purpose: &str, number: usize) -> Value {
    json!({
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-rdfc-2022",
        "created": "2026-01-01T00:00:00Z",
        "verificationMethod": "did:example:issuer#key-1",
        "proofPurpose": purpose,
        "proofValue": format!("z{number}")
    })
}

pub(super) fn presentation(credentials: usize) -> Value {
    let mut proof = proof("authentication", 0);
    proof["challenge"] = json!("a challenge");
    proof["domain"] = json!("https://agent.example/a2a");
    json!({
        "@context": V2,
        "type": "VerifiablePresentation",
        "holder": "did:example:agent",
        "verifiableCredential": (1..=credentials).map(credential).collect::<Vec<_>>(),
        "proof": proof
    })
}

#[test]
fn a_presentation_holds_each_credential_in_a_graph_of_its_own() {
    let dataset = read(&presentation(3)).unwrap();
    let graphs: std::collections::HashSet<_> =
        dataset.iter().map(|quad| quad.graph_name.to_string()).collect();
    // The default graph, three credentials, their three proofs, and the presentation's proof.
    assert_eq!(graphs.len(), 8);
    let text = canonical(&presentation(3));
    for sentinel in ["sentinel-1", "sentinel-2", "sentinel-3", "a challenge", "\"z0\"", "\"z3\""] {
        assert!(text.contains(sentinel), "{sentinel}");
    }
}

#[test]
fn the_largest_legal_presentation_is_read_within_one_budget() {
    let limits = Limits::default();
    let mut budget = Budget::new(&limits);
    let paper = presentation(limits.credentials);
    let dataset = read(&paper).unwrap();
    assert!(canon::dataset(&dataset, HashAlgorithm::Sha256, &mut budget).is_ok());
    for credential in paper["verifiableCredential"].as_array().unwrap() {
        assert!(canon::dataset(&read(credential).unwrap(), HashAlgorithm::Sha256, &mut budget).is_ok());
    }
}

/// Rules of one policy often hold the same constraint, and equal blank nodes are what canonicalization is slow at.
#[test]
fn equal_constraints_of_several_rules_are_within_the_budget() {
    let limits = Limits::default();
    let mut budget = Budget::new(&limits);
    let constraint = json!({
        "type": "odrl:Constraint", "odrl:leftOperand": {"id": "odrl:dateTime"},
        "odrl:operator": {"id": "odrl:lt"}, "operand": "2026-12-31T00:00:00Z"
    });
    let mut paper = presentation(8);
    for embedded in paper["verifiableCredential"].as_array_mut().unwrap() {
        let rules: Vec<Value> = ["urn:t:1", "urn:t:2", "urn:t:3"]
            .map(|target| json!({"odrl:target": {"id": target}, "constraint": constraint}))
            .into();
        embedded["credentialSubject"]["policy"]["permission"] = json!(rules);
    }
    let dataset = read(&paper).unwrap();
    assert!(canon::dataset(&dataset, HashAlgorithm::Sha256, &mut budget).is_ok());
    for credential in paper["verifiableCredential"].as_array().unwrap() {
        assert!(canon::dataset(&read(credential).unwrap(), HashAlgorithm::Sha256, &mut budget).is_ok());
    }
}

#[test]
fn an_embedded_credential_reads_as_it_does_alone() {
    let whole = presentation(1);
    let embedded = canonical(&whole);
    for line in
        canonical(&whole["verifiableCredential"][0]).lines().filter(|line| line.starts_with("<urn:uuid:1> "))
    {
        let start = line.trim_end_matches(" .").split(" _:").next().unwrap();
        assert!(embedded.contains(start), "{line}");
    }
}

#[test]
fn an_embedded_credential_starts_with_its_own_context() {
    let mut second = credential(2)["@context"].clone();
    second.as_array_mut().unwrap().reverse();
    for context in
        [None, Some(json!({"ex": "https://e.example/"})), Some(json!([])), Some(json!(null)), Some(second)]
    {
        let mut paper = presentation(2);
        let embedded = paper["verifiableCredential"][1].as_object_mut().unwrap();
        match &context {
            Some(context) => embedded.insert("@context".into(), context.clone()),
            None => embedded.remove("@context"),
        };
        assert!(matches!(read(&paper), Err(RdfError::Malformed(_))), "{context:?}");
    }
}

#[test]
fn an_embedded_credential_is_an_object() {
    for value in [
        json!("urn:uuid:1"),
        json!(["urn:uuid:1"]),
        json!([]),
        json!({}),
        json!({"id": "urn:uuid:1"}),
        json!(7),
    ] {
        let mut paper = presentation(1);
        paper["verifiableCredential"] = value.clone();
        assert!(matches!(read(&paper), Err(RdfError::Malformed(_))), "{value}");
    }
}

#[test]
fn papers_do_not_share_blank_nodes() {
    let labelled = |first: &str, second: &str, outer: &str| {
        let mut paper = presentation(2);
        paper["verifiableCredential"][0]["credentialSubject"]["policy"]["permission"]["id"] = json!(first);
        paper["verifiableCredential"][1]["credentialSubject"]["policy"]["permission"]["id"] = json!(second);
        paper["id"] = json!(outer);
        read(&paper)
    };
    assert!(labelled("_:a", "_:b", "_:c").is_ok());
    for (first, second, outer) in [("_:a", "_:a", "_:c"), ("_:a", "_:b", "_:b"), ("_:c", "_:b", "_:c")] {
        assert!(matches!(labelled(first, second, outer), Err(RdfError::Malformed(_))));
    }
    let mut paper = credential(1);
    paper["credentialSubject"]["policy"]["permission"]["id"] = json!("_:not a label");
    assert!(matches!(read(&paper), Err(RdfError::Malformed(_))));
}

#[test]
fn an_enveloped_credential_is_read() {
    let mut paper = presentation(1);
    paper["verifiableCredential"] = json!([{
        "@context": V2, "type": "EnvelopedVerifiableCredential", "id": "data:application/vc+jwt,eyJh.eyJi.c2ln"
    }]);
    assert!(canonical(&paper).contains("<data:application/vc+jwt,eyJh.eyJi.c2ln>"));
}

#[test]
fn contexts_of_embedded_credentials_are_counted_by_themselves() {
    let mut paper = presentation(2);
    let mut contexts = vec![json!(V2)];
    contexts.extend((0..7).map(|n| json!({format!("t{n}"): format!("https://e.example/{n}")})));
    contexts[1] = credential(1)["@context"][1].clone();
    // The policy's scoped context is one more.
    contexts.pop();
    for embedded in paper["verifiableCredential"].as_array_mut().unwrap() {
        embedded["@context"] = json!(contexts);
    }
    assert!(read(&paper).is_ok(), "{:?}", read(&paper));
    paper["verifiableCredential"][1]["@context"].as_array_mut().unwrap().push(json!({"x": "urn:x:"}));
    assert_eq!(read(&paper), Err(RdfError::TooLarge("contexts")));
}

#[test]
fn safe_mode_holds_inside_embedded_credentials_and_proofs() {
    let changes: [(&str, Value); 6] = [
        ("/verifiableCredential/0/undefined", json!("x")),
        ("/verifiableCredential/0/credentialSubject/undefined", json!("x")),
        ("/verifiableCredential/0/proof/undefined", json!("x")),
        ("/proof/undefined", json!("x")),
        ("/proof/nonce", json!(null)),
        ("/undefined", json!("x")),
    ];
    for (pointer, value) in changes {
        let mut paper = presentation(1);
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        paper.pointer_mut(parent).unwrap()[key] = value;
        assert!(matches!(read(&paper), Err(RdfError::Malformed(_))), "{pointer}");
    }
}

#[test]
fn terms_of_a_type_do_not_reach_into_other_nodes() {
    // `statusListIndex` is a term of status entries only, `challenge` one of proofs only.
    for (term, value) in [("statusListIndex", "1"), ("challenge", "x"), ("holder", "did:example:x")] {
        let mut paper = credential(1);
        paper["credentialSubject"][term] = json!(value);
        assert!(matches!(read(&paper), Err(RdfError::Malformed(_))), "{term}");
    }
}

#[test]
fn proof_options_are_a_paper() {
    let mut options = proof("authentication", 0);
    options.as_object_mut().unwrap().remove("proofValue");
    options["@context"] = json!(V2);
    options["challenge"] = json!("a challenge");
    let text = canonical(&options);
    assert!(text.contains(&format!("<{SEC}challenge> \"a challenge\" .")), "{text}");
    assert!(text.contains(&format!("<{SEC}proofPurpose> <{SEC}authenticationMethod> .")), "{text}");
}

#[test]
fn data_integrity_and_odrl_contexts_go_with_the_credentials_context() {
    let mut paper = credential(1);
    let contexts = paper["@context"].as_array_mut().unwrap();
    contexts.insert(1, json!("https://w3id.org/security/data-integrity/v2"));
    assert!(read(&paper).is_ok(), "{:?}", read(&paper));
    let mut odrl = json!({
        "@context": [V2, "http://www.w3.org/ns/odrl.jsonld"],
        "id": "urn:uuid:1", "type": "VerifiableCredential", "issuer": "did:example:issuer",
        "credentialSubject": {"odrl:relation": {
            "uid": "urn:policy", "type": "Agreement",
            "permission": {"action": "read", "target": "urn:t", "assigner": "urn:a"}
        }}
    });
    assert!(read(&odrl).is_ok(), "{:?}", read(&odrl));
    odrl["credentialSubject"]["odrl:relation"]["permission"]["action"] = json!("undefined");
    assert!(matches!(read(&odrl), Err(RdfError::Malformed(_))));
}

#[test]
fn an_issuer_may_be_an_object() {
    let mut paper = credential(1);
    paper["issuer"] = json!({"id": "did:example:issuer", "name": "Alice"});
    assert!(canonical(&paper).contains("<did:example:issuer> <https://schema.org/name> \"Alice\""));
}

/// Where the library departs from JSON-LD 1.1, its quads are not the expected ones, and the document is refused.
#[test]
fn where_the_two_readings_differ_the_document_is_refused() {
    // The library applies the contexts of only one of several types.
    let two_types = json!({
        "@context": [V2, {
            "A": {"@id": "urn:A", "@context": {"a": "urn:a"}},
            "B": {"@id": "urn:B", "@context": {"b": "urn:b"}}
        }],
        "id": "urn:x", "type": ["A", "B"], "a": "sentinel-a", "b": "sentinel-b"
    });
    if let Ok(dataset) = read(&two_types) {
        let text = dataset.to_string();
        assert!(text.contains("sentinel-a") && text.contains("sentinel-b"));
    }
    // The library takes any IRI that ends like a prefix for one.
    let half_prefix = json!({
        "@context": [V2, {"p": {"@id": "https://e.example/"}}], "id": "urn:x", "p:a": "x"
    });
    assert!(matches!(read(&half_prefix), Err(RdfError::Malformed(_))));
    // The library expands a value of `@type: @vocab` twice.
    let twice = json!({
        "@context": [V2, {"urn": "https://e.example/", "v": {"@id": "https://e.example/v", "@type": "@vocab"}, "a": "urn:b"}],
        "id": "https://e.example/x", "v": "a"
    });
    if let Ok(dataset) = read(&twice) {
        assert!(dataset.to_string().contains("https://e.example/b"));
    }
}

/// What may happen to one value of a paper.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Drop,
    Set(Value),
    Add(&'static str, Value),
    Rename(&'static str),
    Wrap,
}

fn any_value() -> impl Strategy<Value = Value> {
    let sentinels = "[a-z]{12}".prop_map(|text| json!(format!("sentinel-{text}")));
    prop_oneof![
        3 => sentinels.clone(),
        1 => prop::sample::select(vec![
            json!(null), json!([]), json!({}), json!(7), json!(1.5), json!(true), json!("urn:sentinel-iri"),
            json!("relative"), json!("_:b"), json!([null]), json!({"@value": null}), json!({"@list": []}),
            json!({"id": "urn:sentinel-id"}), json!({"@id": "relative"}), json!({"@value": "sentinel-value"}),
            json!({"@value": "sentinel-tagged", "@language": "en"}), json!({"@set": ["sentinel-set"]}),
            json!({"@list": ["sentinel-list", "sentinel-last"]}), json!({"type": "VerifiableCredential"}),
            json!({"@context": {"q": "urn:q"}, "q": "sentinel-q"}), json!({"@graph": [{"urn:p": "sentinel-g"}]}),
        ]),
        1 => sentinels.prop_map(|value| json!({"urn:p": value})),
    ]
}

pub(super) fn any_change() -> impl Strategy<Value = Change> {
    const NAMES: [&str; 24] = [
        "undefined",
        "note",
        "name",
        "description",
        "holder",
        "issuer",
        "type",
        "@type",
        "id",
        "@id",
        "@graph",
        "@included",
        "@nest",
        "@index",
        "@reverse",
        "@value",
        "@list",
        "@foo",
        "proof",
        "authorizes",
        "policy",
        "urn:p",
        "svc:x",
        "verifiableCredential",
    ];
    prop_oneof![
        Just(Change::Drop),
        any_value().prop_map(Change::Set),
        (prop::sample::select(NAMES.to_vec()), any_value())
            .prop_map(|(name, value)| Change::Add(name, value)),
        prop::sample::select(NAMES.to_vec()).prop_map(Change::Rename),
        Just(Change::Wrap),
    ]
}

/// Applies a change at one of the places of a value, contexts apart.
pub(super) fn change(value: &mut Value, at: prop::sample::Index, change: &Change) {
    let mut places = Vec::new();
    list_places(value, String::new(), &mut places);
    let pointer = &places[at.index(places.len())];
    match change {
        Change::Set(new) => *value.pointer_mut(pointer).unwrap() = new.clone(),
        Change::Wrap => {
            let place = value.pointer_mut(pointer).unwrap();
            *place = json!([place.take()]);
        }
        Change::Add(name, new) => {
            if let Some(Value::Object(object)) = value.pointer_mut(pointer) {
                object.insert((*name).to_owned(), new.clone());
            }
        }
        Change::Drop | Change::Rename(_) => {
            let Some((parent, key)) = pointer.rsplit_once('/') else { return };
            if let Some(Value::Object(object)) = value.pointer_mut(parent)
                && let Some(old) = object.remove(key)
                && let Change::Rename(name) = change
            {
                object.insert((*name).to_owned(), old);
            }
        }
    }
}

fn list_places(value: &Value, pointer: String, places: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                list_places(item, format!("{pointer}/{index}"), places);
            }
        }
        Value::Object(members) => {
            for (key, item) in members.iter().filter(|(key, _)| !key.contains(['@', '/', '~'])) {
                list_places(item, format!("{pointer}/{key}"), places);
            }
        }
        _ => (),
    }
    places.push(pointer);
}

fn leaves<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(members) => {
            members.iter().filter(|(key, _)| *key != "@context").for_each(|(_, item)| leaves(item, found));
        }
        _ => (),
    }
}

fn count_keys(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_keys).sum(),
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| {
                !matches!(key.as_str(), "@context" | "id" | "@id" | "@value" | "@set" | "@language")
            })
            .map(|(_, item)| 1 + count_keys(item))
            .sum(),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is done to a presentation, it is refused or every leaf is in its canonical form, and there are at
    /// least as many quads as members.
    #[test]
    fn a_changed_paper_is_refused_or_wholly_in_its_quads(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_change()), 1..4)
    ) {
        let mut paper = presentation(1);
        for (at, what) in &changes {
            change(&mut paper, *at, what);
        }
        if let Ok(dataset) = read(&paper) {
            let text = dataset.to_string();
            let mut found = Vec::new();
            leaves(&paper, &mut found);
            for leaf in found.into_iter().filter(|leaf| leaf.contains("sentinel") || leaf.contains("did:")) {
                prop_assert!(text.contains(leaf), "{leaf} vanished from {paper}");
            }
            prop_assert!(dataset.len() >= count_keys(&paper), "{} quads for {paper}", dataset.len());
        }
    }

    /// The same for documents.
    #[test]
    fn a_changed_document_is_refused_or_wholly_in_its_triples(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_change()), 1..4)
    ) {
        let mut document = json!({
            "@context": {
                "@vocab": "https://e.example/v#", "id": "@id", "type": "@type", "svc": "https://svc.example/",
                "issuer": {"@id": "svc:issuer", "@type": "@id"}, "kind": {"@type": "@vocab"},
                "items": {"@container": "@list"}, "proof": {"@type": "@id", "@context": {"x": "svc:x"}}
            },
            "id": "urn:intent", "type": "Intent", "issuer": "did:example:a", "note": "sentinel-note",
            "kind": "Kind", "items": ["sentinel-1", {"note": "sentinel-2"}],
            "action": [{"type": "ReadAction", "object": {"id": "https://e.example/o"}}, {"proof": {"x": "sentinel-3"}}]
        });
        for (at, what) in &changes {
            change(&mut document, *at, what);
        }
        if let Ok(graph) = parse_document(&document.to_string(), &Limits::default()) {
            let text = graph.to_string();
            let mut found = Vec::new();
            leaves(&document, &mut found);
            for leaf in found.into_iter().filter(|leaf| leaf.contains("sentinel") || leaf.contains("did:")) {
                prop_assert!(text.contains(leaf), "{leaf} vanished from {document}");
            }
        }
    }
}
