//! The context-free profile: documents of equal canonical octets say the same (threat 25).

use super::context_free::{read, with};
use super::*;
use crate::credential::credential::PolicyClaim;
use crate::rdf::canon;
use crate::vocab::svc;
use proptest::prelude::*;

/// Small values from a small alphabet, so that documents collide often.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!("urn:a")),
        Just(json!("a")),
        Just(json!("1")),
        Just(json!(1)),
        Just(json!(1.0)),
        Just(json!(true)),
        Just(json!("true")),
        Just(json!("urn:a> .\n<urn:b> <urn:c> <urn:d")),
        Just(json!("\"^^<urn:x> .\n")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::btree_map(member(), inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn member() -> impl Strategy<Value = String> {
    let names = ["action", "target", "authorizes", "policy", "id", "type", "x"];
    let long = names.map(|name| format!("{}{name}", svc::NS));
    proptest::sample::select(names.iter().map(|name| (*name).to_owned()).chain(long).collect::<Vec<_>>())
}

fn document() -> impl Strategy<Value = Value> {
    let subject = proptest::collection::btree_map(member(), value(), 0..3);
    let entry = proptest::sample::select(vec![
        json!(null),
        json!({ "type": "BitstringStatusListEntry", "statusPurpose": "revocation", "statusListIndex": "1", "statusListCredential": "urn:l" }),
        json!({ "type": "BitstringStatusListEntry", "statusPurpose": "revocation", "statusListIndex": 1, "statusListCredential": "urn:l" }),
        json!([{ "type": "BitstringStatusListEntry", "id": "urn:e", "statusPurpose": "suspension" }]),
    ]);
    (subject, entry, any::<bool>()).prop_map(|(members, entry, many)| {
        with(|document| {
            let subject = document["credentialSubject"].as_object_mut().unwrap();
            subject.extend(members);
            if !entry.is_null() {
                document["credentialStatus"] = entry;
            }
            if many {
                document["type"] = json!([svc::AGENT_AUTHORIZATION_CREDENTIAL]);
                document["credentialSubject"] = json!([document["credentialSubject"]]);
            }
        })
    })
}

/// Everything that is judged of a credential, blank labels apart.
fn claims(credential: &Credential) -> String {
    let mut status = credential.status.clone();
    status.sort();
    format!(
        "{:?} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        credential.id,
        credential.issuer,
        credential.subject,
        credential.authorizes,
        credential.actions,
        credential.targets,
        credential.valid_from,
        credential.valid_until,
        status,
        credential.related,
        matches!(&credential.policy, Some(PolicyClaim::Reference(_))),
    )
}

/// The same subject in other spellings: whole IRIs for names, arrays for single values, doubles for integers.
fn respelled(value: &Value, nested: bool) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match name.as_str() {
                "id" if !nested => (name.clone(), value.clone()),
                name if name.contains(':') => (name.to_owned(), json!([respelled(value, true), null])),
                name => (format!("{}{name}", svc::NS), json!([[respelled(value, true)]])),
            })
            .collect(),
        Value::Array(items) => items.iter().rev().map(|item| respelled(item, true)).collect(),
        Value::Number(number) => json!(number.as_f64()),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_respelled_document_says_the_same(document in document()) {
        let mut other = document.clone();
        if document["credentialSubject"].is_object() {
            other["credentialSubject"] = respelled(&document["credentialSubject"], false);
        }
        if let Ok(one) = read(&document) {
            let other = read(&other).unwrap();
            prop_assert_eq!(one.digest, other.digest);
            prop_assert_eq!(claims(&one), claims(&other));
        }
    }

    #[test]
    fn documents_of_equal_canonical_octets_say_the_same(one in document(), other in document()) {
        if let (Ok(one), Ok(other)) = (read(&one), read(&other)) {
            if one.digest == other.digest {
                prop_assert_eq!(claims(&one), claims(&other));
            }
            // And what is said can be read from the octets alone.
            let octets = canon::graph(&one.graph, &mut budget()).unwrap();
            let again = crate::rdf::turtle::parse(&octets, &Limits::default()).unwrap();
            prop_assert_eq!(again.len(), one.graph.len());
            prop_assert_eq!(canon::graph(&again, &mut budget()).unwrap(), octets);
        }
    }
}
