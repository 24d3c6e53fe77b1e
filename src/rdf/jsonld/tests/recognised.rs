//! What holds recognised forms to account: for any paper, they and the library give equal canonical N-Quads, or the
//! form does not recognise it.

use super::super::*;
use super::vanishing::{any_change, change, presentation};
use crate::credential::presentation_graph::quads_of_parts;
use crate::rdf::Budget;
use crate::rdf::canon::{self, HashAlgorithm};
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;

const V2: &str = contexts::CREDENTIALS_V2;

/// Whether the paper is recognised. If it is, the library's quads must be the same, repetitions included.
fn is_recognised(paper: &Value) -> bool {
    let limits = Limits::default();
    let Ok(Reading::Recognised(own)) = safe_mode::read(paper, Dialect::Paper, &limits) else { return false };
    let expected = Expected::new(&own, Vec::new());
    let library = by_library(paper, &expected, &limits).unwrap_or_else(|error| panic!("{paper}: {error:?}"));
    assert_eq!(own.len(), library.len(), "{paper}");
    assert_eq!(canonical(own), canonical(library), "{paper}");
    true
}

/// Whether the presentation is of the form that is put together from its parts. If it is, the library must read the
/// same from the whole, and what was prepared of its parts must give the canonical form of the whole.
fn is_put_together(presentation: &Value) -> bool {
    let Some((parts, of_prepared)) = quads_of_parts(presentation) else { return false };
    let mut unsecured = presentation.clone();
    unsecured.as_object_mut().unwrap().remove("proof");
    let expected = Expected::new(&parts, Vec::new());
    let library = by_library(&unsecured, &expected, &Limits::default());
    let library = library.unwrap_or_else(|error| panic!("{presentation}: {error:?}"));
    let whole = canonical(parts);
    assert_eq!(of_prepared, whole, "{presentation}");
    assert_eq!(whole, canonical(library), "{presentation}");
    true
}

/// `None` if the budget does not suffice.
fn canonical(quads: Vec<Quad>) -> Option<String> {
    let mut budget = Budget::new(&Limits::default());
    canon::quads(&quads, HashAlgorithm::Sha256, &mut budget).ok()
}

/// The papers of a JSON value, each whole, without its proofs, and the options of each proof.
fn papers(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| papers(item, found)),
        Value::Object(members) => {
            members.values().for_each(|item| papers(item, found));
            let Some(context) = members.get("@context") else { return };
            found.push(value.clone());
            let mut unsecured = members.clone();
            let proofs = match unsecured.remove("proof") {
                Some(Value::Array(proofs)) => proofs,
                proof => proof.into_iter().collect(),
            };
            found.push(unsecured.into());
            for mut options in proofs {
                if let Some(members) = options.as_object_mut() {
                    members.remove("proofValue");
                    members.insert("@context".into(), context.clone());
                    found.push(options);
                }
            }
        }
        _ => (),
    }
}

/// How many papers of a folder's JSON files there are, how many of them are recognised, and how many presentations are
/// put together from their parts.
fn of_folder(folder: &str) -> (usize, usize, usize) {
    let mut pending = vec![Path::new(folder).to_path_buf()];
    let mut found = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(value) = serde_json::from_slice(&std::fs::read(&path).unwrap()) {
            papers(&value, &mut found);
        }
    }
    let together = found.iter().filter(|paper| is_put_together(paper)).count();
    (found.len(), found.iter().filter(|paper| is_recognised(paper)).count(), together)
}

#[test]
fn recognised_papers_at_hand_are_what_the_library_reads() {
    for (folder, all, recognised, together) in [("vectors/cases", 400, 350, 100), ("credentials", 3, 3, 0)] {
        let counts = of_folder(folder);
        println!("{folder}: {counts:?}");
        assert!(counts.0 >= all && counts.1 >= recognised && counts.2 >= together, "{folder}: {counts:?}");
    }
    for folder in ["../shared/suites/vc-di-eddsa", "../shared/vectors/agent-authz-credential"] {
        if Path::new(folder).exists() {
            println!("{folder}: {:?}", of_folder(folder));
        } else {
            println!("SKIPPED: {folder} is absent");
        }
    }
}

#[test]
fn the_form_of_the_field_is_recognised() {
    assert!(is_recognised(&presentation(2)));
    assert!(is_put_together(&presentation(2)));
}

#[test]
fn presentations_of_another_form_are_read_whole() {
    let with = |pointer: &str, value: Value| {
        let mut presentation = presentation(2);
        *presentation.pointer_mut(pointer).unwrap() = value;
        presentation
    };
    let mut more = presentation(2);
    more["name"] = json!("a name");
    let mut unsigned = presentation(2);
    unsigned["verifiableCredential"][1]["proof"].as_object_mut().unwrap().remove("proofValue");
    let others = [
        with("/@context", json!([V2, {"p": "urn:p"}])),
        with("/type", json!(["VerifiablePresentation", "VerifiableCredential"])),
        with("/type", json!("https://www.w3.org/2018/credentials#VerifiablePresentation")),
        with("/holder", json!({"id": "did:example:agent"})),
        with("/verifiableCredential/0/proof/type", json!("https://w3id.org/security#DataIntegrityProof")),
        with("/verifiableCredential/0/proof/type", json!(["DataIntegrityProof"])),
        with("/verifiableCredential/0/proof/type", json!("Ed25519Signature2020")),
        with("/verifiableCredential/0/proof/proofValue", json!(7)),
        with("/verifiableCredential/1/credentialSubject/action", json!({"id": "_:b"})),
        with(
            "/verifiableCredential/1/type",
            json!([
                "https://www.w3.org/2018/credentials#VerifiableCredential",
                "AgentAuthorizationCredential"
            ]),
        ),
        more,
        unsigned,
    ];
    for other in others {
        assert!(quads_of_parts(&other).is_none(), "{other}");
    }
    for same in [with("/@context", json!([V2])), with("/type", json!(["VerifiablePresentation"]))] {
        assert!(is_put_together(&same), "{same}");
    }
}

/// Where its type is written as an IRI, nothing gives `proof` its meaning in a presentation.
#[test]
fn a_credential_of_a_type_in_full_is_not_put_together() {
    let svc = |name: &str| format!("https://w3id.org/jeswr/solid-vc#{name}");
    let vc = |name: &str| format!("https://www.w3.org/2018/credentials#{name}");
    let mut whole = presentation(1);
    let proof = whole["verifiableCredential"][0]["proof"].clone();
    let credential = |class: &str| {
        json!({
            "@context": V2,
            "id": "urn:x:1",
            "type": [class, svc("AgentAuthorizationCredential")],
            (vc("issuer")): {"id": "did:example:owner"},
            (vc("credentialSubject")): {(svc("authorizes")): {"id": "did:example:agent"}},
            "proof": proof,
        })
    };
    for (class, together) in [("VerifiableCredential".to_owned(), true), (vc("VerifiableCredential"), false)]
    {
        let paper = credential(&class);
        let limits = Limits::default();
        let read = crate::credential::Credential::read(&paper, &limits, &mut Budget::new(&limits));
        assert!(read.is_ok(), "{class}: {read:?}");
        whole["verifiableCredential"] = json!([paper]);
        assert_eq!(quads_of_parts(&whole).is_some(), together, "{class}");
    }
}

#[test]
fn other_forms_are_left_to_the_library() {
    let plain = |context: Value, members: Value| {
        let mut paper = json!({"@context": context, "id": "urn:x", "type": "VerifiableCredential"});
        paper.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        paper
    };
    let own = json!([V2, {"p": "urn:p"}]);
    assert!(is_recognised(&plain(own.clone(), json!({"p": ["a", 1, true, {"id": "urn:o"}]}))));
    let library = [
        plain(json!([V2, "https://w3id.org/security/data-integrity/v2"]), json!({"urn:p": "a"})),
        plain(json!([V2, V2]), json!({"urn:p": "a"})),
        plain(json!([V2, {"@protected": true, "p": "urn:p"}]), json!({"p": "a"})),
        plain(json!([V2, {"p": {"@id": "urn:p", "@language": "en"}}]), json!({"p": "a"})),
        plain(json!([V2, {"p": {"@id": "urn:p", "@container": "@list"}}]), json!({"p": ["a"]})),
        plain(
            json!([V2, {"T": {"@id": "urn:T", "@context": {"q": "urn:q"}}}]),
            json!({"p": {"type": "T", "q": "a"}}),
        ),
        plain(own.clone(), json!({"p": {"@context": {"q": "urn:q"}, "q": "a"}})),
        plain(own.clone(), json!({"p": 1.5})),
        plain(own.clone(), json!({"p": {"id": "_:b"}})),
        plain(own.clone(), json!({"p": {"@list": ["a"]}})),
        plain(own.clone(), json!({"p": {"@set": ["a"]}})),
        plain(own.clone(), json!({"p": {"@value": "a", "@language": "en"}})),
        plain(own, json!({"type": ["VerifiableCredential", "BitstringStatusListEntry"], "statusSize": 1})),
    ];
    for paper in library {
        assert!(!is_recognised(&paper), "{paper}");
    }
}

/// The library takes the property's context to hold in the named node only, and then refuses. JSON-LD 1.1 has it hold
/// below, as the walk does; the form is not recognised, so that the library still judges.
#[test]
fn a_propertys_context_that_follows_a_types_is_not_recognised() {
    let mut paper = presentation(1)["verifiableCredential"][0].clone();
    assert!(is_recognised(&paper));
    let subject = paper.as_object_mut().unwrap().remove("credentialSubject").unwrap();
    paper["policy"] = subject;
    assert!(!is_recognised(&paper));
    assert!(parse_paper(&paper, &Limits::default()).is_err());
    // A type's context that has ended is no longer in the way.
    paper["credentialSubject"] = json!({"policy": paper["policy"].take()});
    paper.as_object_mut().unwrap().remove("policy");
    assert!(is_recognised(&paper));
}

/// Inline contexts, mostly of simple definitions.
fn any_context() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "a",
        "b",
        "p",
        "urn",
        "https",
        "svc",
        "type",
        "issuer",
        "policy",
        "b:c",
        "proof",
        "proofValue",
    ]);
    let definitions = prop::sample::select(vec![
        json!("urn:t#"),
        json!("p:x"),
        json!("https://e.example/"),
        json!("svc:q"),
        json!("b"),
        json!("@type"),
        json!({"@id": "urn:t:1", "@type": "@id"}),
        json!({"@id": "p:2", "@type": "p:type"}),
        json!({"@id": "urn:t:3", "@context": {"a": "urn:inner", "p": {"@id": "urn:p:", "@type": "@id"}}}),
        json!({"@type": "@id"}),
        json!({"@id": "urn:v", "@type": "@vocab"}),
        json!({"@id": "urn:z", "@type": "type"}),
        json!({"@id": "https://e.example/", "@context": {"https": "urn:no:"}}),
    ]);
    prop::collection::vec((names, definitions), 0..5).prop_map(|members| {
        Value::Object(members.into_iter().map(|(name, definition)| (name.to_owned(), definition)).collect())
    })
}

/// Members with values that inline contexts may read in different ways.
fn any_members() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let names =
        prop::sample::select(vec!["a", "b", "p", "p:m", "urn:m", "https://e.example/m", "svc:m", "b:c"]);
    let values = prop::sample::select(vec![
        json!("text"),
        json!("urn:iri"),
        json!("p:iri"),
        json!(["x", "y"]),
        json!(7),
        json!(-0.0),
        json!(1e3),
        json!(false),
        json!({"a": "inner", "p": "p:q"}),
        json!({"type": "a", "a": "typed"}),
        json!({"id": "p:i"}),
        json!({"@value": "p:v", "@type": "p:t"}),
        json!({"@value": 3, "@type": "urn:t"}),
        json!({"id": "urn:n", "a": []}),
        json!({"type": ["a", "b"], "b": "twice"}),
        json!([{"a": "1"}, {"a": "1"}]),
        json!({"@type": "b", "p:m": "x"}),
        json!({"@value": "x", "@type": "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"}),
        json!("a"),
        json!({"@value": "x", "@type": "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"}),
        json!(""),
        json!("b:c"),
    ]);
    prop::collection::vec((names, values), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_paper_is_not_recognised_or_what_the_library_reads(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_change()), 0..4),
        context in any_context(),
        members in any_members(),
        deeper in any_members(),
    ) {
        let mut paper = presentation(2);
        for (at, what) in &changes {
            change(&mut paper, *at, what);
        }
        if let Some(Value::Object(credential)) = paper.pointer_mut("/verifiableCredential/1") {
            if let Some(Value::Array(entries)) = credential.get_mut("@context") {
                entries.push(context);
            }
            credential.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
            if let Some(Value::Object(policy)) = credential.get_mut("credentialSubject").and_then(|it| it.get_mut("policy")) {
                policy.extend(deeper.into_iter().map(|(name, value)| (name.to_owned(), value)));
            }
        }
        let mut all = Vec::new();
        papers(&paper, &mut all);
        for paper in all {
            is_recognised(&paper);
            is_put_together(&paper);
        }
    }
}
