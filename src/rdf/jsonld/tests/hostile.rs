//! Hostile documents by name: keywords, contexts, depth (threat rows 26, 27 and 43).

use super::super::*;
use oxrdf::Dataset;
use serde_json::json;

const V2: &str = contexts::CREDENTIALS_V2;

fn paper(value: &Value) -> Result<Dataset, RdfError> {
    parse_paper(value, &Limits::default()).map(Dataset::from_iter)
}

fn document(value: &Value) -> Result<Graph, RdfError> {
    parse_document(&value.to_string(), &Limits::default())
}

fn assert_malformed<T: std::fmt::Debug>(result: Result<T, RdfError>, what: &Value) {
    assert!(matches!(result, Err(RdfError::Malformed(_))), "{what} gave {result:?}");
}

/// A credential with an inline context and further members in its subject.
fn credential(inline: Value, subject: Value) -> Value {
    let mut credential = json!({
        "@context": [V2, {"ex": "https://e.example/", "note": "ex:note"}],
        "type": "VerifiableCredential",
        "id": "urn:uuid:1",
        "issuer": "did:example:issuer",
        "credentialSubject": {"id": "did:example:subject", "note": "hello"}
    });
    if !inline.is_null() {
        credential["@context"].as_array_mut().unwrap().push(inline);
    }
    for (key, value) in subject.as_object().unwrap() {
        credential["credentialSubject"][key] = value.clone();
    }
    credential
}

/// The same members in a document with the same terms, and no paper's rules.
fn plain(inline: Value, members: Value) -> Value {
    let mut node = json!({
        "@context": [{"ex": "https://e.example/", "note": "ex:note"}],
        "@id": "urn:uuid:1",
        "note": "hello"
    });
    if !inline.is_null() {
        node["@context"].as_array_mut().unwrap().push(inline);
    }
    for (key, value) in members.as_object().unwrap() {
        node[key] = value.clone();
    }
    node
}

/// Refused in both dialects.
fn assert_both_refuse(inline: Value, members: Value) {
    let (strict, loose) = (credential(inline.clone(), members.clone()), plain(inline, members));
    assert_malformed(paper(&strict), &strict);
    assert_malformed(document(&loose), &loose);
}

/// Refused in a paper, read in a document.
fn assert_only_papers_refuse(inline: Value, members: Value) {
    let (strict, loose) = (credential(inline.clone(), members.clone()), plain(inline, members));
    assert_malformed(paper(&strict), &strict);
    assert!(document(&loose).is_ok(), "{loose} gave {:?}", document(&loose));
}

fn assert_both_read(inline: Value, members: Value) {
    let (strict, loose) = (credential(inline.clone(), members.clone()), plain(inline, members));
    assert!(paper(&strict).is_ok(), "{strict} gave {:?}", paper(&strict));
    assert!(document(&loose).is_ok(), "{loose} gave {:?}", document(&loose));
}

#[test]
fn the_ordinary_is_read() {
    assert_both_read(Value::Null, json!({}));
    assert_both_read(Value::Null, json!({"ex:more": [1, 2.5, true, "x"]}));
    assert_both_read(Value::Null, json!({"ex:more": {"@value": "x", "@language": "en"}}));
    assert_both_read(Value::Null, json!({"ex:more": {"@value": "x", "@type": "ex:T"}}));
    assert_both_read(Value::Null, json!({"ex:more": {"@list": ["a", {"ex:b": 1}, 2]}}));
    assert_both_read(Value::Null, json!({"ex:more": {"@list": []}}));
    assert_both_read(Value::Null, json!({"ex:more": {"@set": ["a"]}}));
    assert_both_read(json!({"more": {"@id": "ex:more", "@container": "@list"}}), json!({"more": ["a"]}));
    assert_both_read(json!({"more": {"@id": "ex:more", "@container": "@set"}}), json!({"more": ["a"]}));
    assert_both_read(json!({"more": {"@id": "ex:more", "@type": "@id"}}), json!({"more": "ex:a"}));
    assert_both_read(
        json!({"more": {"@id": "ex:more", "@type": "@vocab"}, "a": "ex:a"}),
        json!({"more": "a"}),
    );
    assert_both_read(json!({"@version": 1.1, "@protected": true, "more": "ex:more"}), json!({"more": "a"}));
    assert_both_read(
        json!({"policy": {"@id": "ex:policy", "@context": {"rule": {"@id": "ex:rule", "@type": "@id"}}}}),
        json!({"policy": {"@id": "ex:p", "rule": "ex:r"}}),
    );
}

#[test]
fn a_compact_iri_may_be_defined_further_but_keeps_its_meaning() {
    assert_both_read(json!({"ex:more": {"@type": "@id"}}), json!({"ex:more": "ex:a"}));
    assert_both_read(json!({"ex:more": {"@id": "ex:more", "@type": "@id"}}), json!({"ex:more": "ex:a"}));
    assert_both_refuse(json!({"ex:more": {"@type": "@id"}}), json!({"ex:more": "a"}));
    assert_both_refuse(json!({"ex:more": "ex:other"}), json!({"ex:more": "a"}));
    assert_both_refuse(json!({"no:more": {"@type": "@id"}}), json!({"no:more": "ex:a"}));
    assert_both_refuse(json!({"https://e.example/more": {"@type": "@id"}}), json!({}));
    assert_both_refuse(json!({"_:more": {"@type": "@id"}}), json!({}));
    assert_both_refuse(json!({":more": "ex:more"}), json!({}));
    assert_both_refuse(json!({"": "ex:more"}), json!({}));
}

#[test]
fn inline_terms_may_be_redefined() {
    let inline = json!({"note": "ex:other"});
    let dataset = paper(&credential(inline, json!({}))).unwrap();
    assert!(dataset.iter().any(|quad| quad.predicate.as_str() == "https://e.example/other"));
}

#[test]
fn undefined_terms_are_refused() {
    assert_both_refuse(Value::Null, json!({"undefined": "x"}));
    assert_both_refuse(Value::Null, json!({"@type": "Undefined"}));
    assert_both_refuse(Value::Null, json!({"": "x"}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"undefined": {"ex:b": "x"}}}));
    assert_both_refuse(json!({"more": {"@id": "ex:more", "@type": "@vocab"}}), json!({"more": "undefined"}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@value": "x", "@type": "undefined"}}));
}

#[test]
fn null_mapped_terms_are_refused() {
    assert_both_refuse(json!({"gone": null}), json!({"gone": "x"}));
    assert_both_refuse(json!({"gone": {"@id": null}}), json!({"gone": "x"}));
    assert_both_refuse(
        json!({"gone": {"@id": null, "@context": {"a": "ex:a"}}}),
        json!({"gone": {"a": "x"}}),
    );
    assert_both_refuse(json!({"note": null}), json!({}));
    assert_both_refuse(json!({"Gone": null}), json!({"@type": ["ex:A", "Gone"]}));
}

#[test]
fn keyword_like_members_and_terms_are_refused() {
    assert_both_refuse(Value::Null, json!({"@foo": "x"}));
    assert_both_refuse(Value::Null, json!({"@": "x"}));
    assert_both_refuse(Value::Null, json!({"@foo1": "x"}));
    assert_both_refuse(json!({"@foo": "ex:foo"}), json!({}));
    assert_both_refuse(json!({"foo": "@foo"}), json!({"foo": "x"}));
    assert_both_refuse(Value::Null, json!({"@type": "@foo"}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@id": "@foo"}}));
}

#[test]
fn relative_iris_are_refused() {
    for iri in ["", "x", "#x", "/x", "//e.example/x", "../x", "?x", "x/y:z", "1:2", "https://e x", "ex:a b"] {
        assert_both_refuse(Value::Null, json!({"ex:a": {"@id": iri}}));
        assert_both_refuse(Value::Null, json!({"@type": ["ex:T", iri]}));
        assert_both_refuse(json!({"more": {"@id": "ex:more", "@type": "@id"}}), json!({"more": iri}));
        assert_both_refuse(
            json!({"more": {"@id": "ex:more", "@type": "@id"}}),
            json!({"more": ["ex:a", iri]}),
        );
        assert_both_refuse(json!({"more": iri}), json!({}));
    }
    assert_both_refuse(Value::Null, json!({"ex:a": {"@id": "ex"}}));
    assert_both_refuse(Value::Null, json!({"@id": "x"}));
    assert_both_refuse(Value::Null, json!({"id": "x"}));
}

#[test]
fn nulls_are_refused() {
    assert_both_refuse(Value::Null, json!({"note": null}));
    assert_both_refuse(Value::Null, json!({"note": ["x", null]}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@value": null}}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@list": [null]}}));
    assert_both_refuse(Value::Null, json!({"@type": null}));
    assert_both_refuse(Value::Null, json!({"@id": null}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@value": "x", "@language": null}}));
}

#[test]
fn empty_arrays_and_objects_are_refused() {
    assert_both_refuse(Value::Null, json!({"ex:a": []}));
    assert_both_refuse(Value::Null, json!({"ex:a": {}}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@set": []}}));
    assert_both_refuse(Value::Null, json!({"ex:a": [[]]}));
    assert_both_refuse(Value::Null, json!({"@type": []}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@context": {"b": "ex:b"}}}));
    assert_both_refuse(json!([]), json!({}));
}

#[test]
fn free_floating_values_are_refused() {
    for value in [json!(["x"]), json!("x"), json!(1), json!({}), json!([{}]), json!({"@value": "x"})] {
        assert_malformed(document(&value), &value);
        assert_malformed(paper(&value), &value);
    }
    let alone = json!({"@id": "urn:x"});
    assert_malformed(document(&alone), &alone);
    let mixed = json!([{"@id": "urn:x", "urn:p": 1}, "x"]);
    assert_malformed(document(&mixed), &mixed);
    for graph in [json!(["x"]), json!("x"), json!([{"@value": "x"}]), json!([{"@id": "urn:x"}]), json!([[]])]
    {
        let value = json!({"@context": {"a": "urn:a"}, "@graph": graph});
        assert_malformed(document(&value), &value);
    }
    for list in ["@list", "@set"] {
        let value = json!({list: ["x"]});
        assert_malformed(document(&value), &value);
    }
}

#[test]
fn included_is_refused() {
    assert_both_refuse(Value::Null, json!({"@included": [{"@id": "urn:x", "ex:a": "x"}]}));
    assert_both_refuse(json!({"inc": "@included"}), json!({"inc": [{"@id": "urn:x", "ex:a": "x"}]}));
}

#[test]
fn nest_is_refused() {
    assert_both_refuse(Value::Null, json!({"@nest": {"ex:a": "x"}}));
    assert_both_refuse(json!({"nest": "@nest"}), json!({"nest": {"ex:a": "x"}}));
    assert_both_refuse(json!({"a": {"@id": "ex:a", "@nest": "@nest"}}), json!({"a": "x"}));
}

#[test]
fn reverse_is_refused() {
    assert_both_refuse(Value::Null, json!({"@reverse": {"ex:a": {"@id": "urn:x"}}}));
    assert_both_refuse(json!({"rev": "@reverse"}), json!({"rev": {"ex:a": {"@id": "urn:x"}}}));
    assert_both_refuse(json!({"of": {"@reverse": "ex:a"}}), json!({"of": {"@id": "urn:x"}}));
    assert_both_refuse(json!({"of": {"@reverse": "ex:a"}}), json!({"of": "x"}));
}

#[test]
fn index_is_refused() {
    assert_both_refuse(Value::Null, json!({"@index": "x"}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@value": "x", "@index": "y"}}));
    assert_both_refuse(
        json!({"map": {"@id": "ex:map", "@container": "@index"}}),
        json!({"map": {"key": "x"}}),
    );
}

#[test]
fn id_type_and_language_maps_are_refused() {
    for container in ["@id", "@type", "@language"] {
        assert_both_refuse(
            json!({"map": {"@id": "ex:map", "@container": container}}),
            json!({"map": {"en": "x"}}),
        );
    }
}

#[test]
fn graphs_are_refused() {
    assert_both_refuse(Value::Null, json!({"@graph": [{"@id": "urn:x", "ex:a": "x"}]}));
    assert_both_refuse(json!({"g": "@graph"}), json!({"g": [{"@id": "urn:x", "ex:a": "x"}]}));
    assert_both_refuse(
        json!({"g": {"@id": "ex:g", "@container": "@graph"}}),
        json!({"g": {"@id": "urn:x", "ex:a": "x"}}),
    );
    assert_both_refuse(Value::Null, json!({"ex:a": {"@graph": [{"@id": "urn:x", "ex:a": "x"}]}}));
}

#[test]
fn a_graph_of_a_pinned_context_is_refused_in_documents() {
    let value = json!({
        "@context": V2, "type": "VerifiableCredential", "id": "urn:x",
        "proof": {"type": "DataIntegrityProof", "cryptosuite": "x"}
    });
    assert!(paper(&value).is_ok());
    assert_malformed(document(&value), &value);
}

#[test]
fn json_literals_directions_and_none_are_refused() {
    assert_both_refuse(json!({"j": {"@id": "ex:j", "@type": "@json"}}), json!({"j": {"a": [1]}}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@value": {"a": 1}, "@type": "@json"}}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@value": "x", "@direction": "rtl"}}));
    assert_both_refuse(json!({"@direction": "rtl"}), json!({}));
    assert_both_refuse(json!({"d": {"@id": "ex:d", "@direction": "rtl"}}), json!({"d": "x"}));
    assert_both_refuse(json!({"n": {"@id": "ex:n", "@type": "@none"}}), json!({"n": "x"}));
}

#[test]
fn json_typed_terms_of_pinned_contexts_are_refused() {
    let value = json!({"@context": V2, "type": "VerifiableCredential", "id": "urn:x", "_sd": ["a"]});
    assert_malformed(paper(&value), &value);
}

#[test]
fn value_objects_that_say_two_things_are_refused() {
    for value in [
        json!({"@value": "x", "@id": "urn:x"}),
        json!({"@value": "x", "ex:a": "y"}),
        json!({"@value": "x", "@type": "ex:T", "@language": "en"}),
        json!({"@value": 1, "@language": "en"}),
        json!({"@value": ["x"]}),
        json!({"@value": {"a": 1}}),
        json!({"@value": "x", "@language": "not a tag"}),
        json!({"@value": "x", "@type": ["ex:T", "ex:U"]}),
        json!({"@value": "x", "@type": "@id"}),
        json!({"@language": "en"}),
        json!({"@list": ["x"], "ex:a": "y"}),
        json!({"@list": [["x"]]}),
        json!({"@list": [{"@list": ["x"]}]}),
        json!({"@list": "x"}),
        json!({"@set": ["x"], "@id": "urn:x"}),
    ] {
        assert_both_refuse(Value::Null, json!({"ex:a": value}));
    }
}

#[test]
fn values_that_are_not_of_their_terms_type_are_refused() {
    let inline = json!({"more": {"@id": "ex:more", "@type": "@id"}});
    assert_both_refuse(inline.clone(), json!({"more": 1}));
    assert_both_refuse(inline, json!({"more": true}));
    let list = json!({"more": {"@id": "ex:more", "@container": "@list"}});
    assert_both_refuse(list.clone(), json!({"more": "x"}));
    assert_both_refuse(list, json!({"more": {"@list": ["x"]}}));
}

#[test]
fn keyword_aliases_are_refused_in_papers() {
    for (alias, keyword, members) in [
        ("name2", "@id", json!({})),
        ("kind", "@type", json!({"kind": "ex:T"})),
        ("val", "@value", json!({"ex:a": {"val": "x"}})),
        ("items", "@list", json!({"ex:a": {"items": ["x"]}})),
    ] {
        assert_only_papers_refuse(json!({alias: keyword}), members);
    }
}

#[test]
fn vocab_is_refused_in_papers() {
    assert_only_papers_refuse(json!({"@vocab": "https://e.example/v#"}), json!({"anything": "x"}));
    assert_both_refuse(json!({"@vocab": ""}), json!({}));
    assert_both_refuse(json!({"@vocab": null}), json!({}));
    assert_both_refuse(json!({"@vocab": "x"}), json!({"y": "z"}));
}

#[test]
fn default_language_is_refused_in_papers() {
    assert_only_papers_refuse(json!({"@language": "en"}), json!({"ex:a": "x"}));
    assert_both_refuse(json!({"@language": "not a tag"}), json!({"ex:a": "x"}));
}

#[test]
fn base_import_and_propagate_are_refused() {
    assert_both_refuse(json!({"@base": "https://e.example/"}), json!({"ex:a": {"@id": "x"}}));
    assert_both_refuse(json!({"@base": null}), json!({}));
    assert_both_refuse(json!({"@import": "https://attacker.example/c"}), json!({}));
    assert_both_refuse(json!({"@import": V2}), json!({}));
    assert_both_refuse(json!({"@propagate": false}), json!({}));
    assert_both_refuse(json!({"@version": 1.0}), json!({}));
    assert_both_refuse(json!({"@version": "1.1"}), json!({}));
    let scoped = json!({"more": {"@id": "ex:more", "@context": {"@propagate": true, "a": "ex:a"}}});
    assert_both_refuse(scoped, json!({}));
}

#[test]
fn contexts_are_never_nullified_by_a_document() {
    assert_both_refuse(json!({"more": {"@id": "ex:more", "@context": null}}), json!({}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@context": null, "https://e.example/b": "x"}}));
    assert_both_refuse(Value::Null, json!({"ex:a": {"@context": [null], "https://e.example/b": "x"}}));
    for context in [json!([V2, null]), json!([null, V2])] {
        let value = json!({"@context": context, "urn:a": 1});
        assert_malformed(paper(&value), &value);
        assert_malformed(document(&value), &value);
    }
}

#[test]
fn protected_terms_are_not_redefined() {
    // A term that only the context of the type defines may be named before; the type's definition then holds.
    let dataset = paper(&credential(json!({"issuer": "ex:issuer"}), json!({}))).unwrap();
    assert!(dataset.iter().all(|quad| quad.predicate.as_str() != "https://e.example/issuer"));
    for inline in [
        json!({"name": "ex:name"}),
        json!({"VerifiableCredential": "ex:VC"}),
        json!({"type": "ex:type"}),
        json!({"id": {"@id": "ex:id"}}),
        json!({"DataIntegrityProof": {"@id": "https://w3id.org/security#DataIntegrityProof"}}),
        json!({"more": {"@id": "ex:more", "@context": {"name": "ex:name"}}}),
    ] {
        let value = credential(inline, json!({}));
        assert_malformed(paper(&value), &value);
    }
    let mut own = credential(json!({"@protected": true, "mine": "ex:mine"}), json!({}));
    own["@context"].as_array_mut().unwrap().push(json!({"mine": "ex:other"}));
    assert_malformed(paper(&own), &own);
}

#[test]
fn a_property_scoped_context_does_not_override_protected_terms() {
    let inline = json!({"more": {"@id": "ex:more", "@context": {"description": "ex:d"}}});
    let value = credential(inline, json!({"more": {"@id": "ex:m", "description": "x"}}));
    assert_malformed(paper(&value), &value);
}

#[test]
fn a_paper_starts_with_the_credentials_context() {
    for context in [
        json!("https://w3id.org/security/data-integrity/v2"),
        json!([{"ex": "https://e.example/"}, V2]),
        json!(["https://w3id.org/security/data-integrity/v2", V2]),
        json!({"ex": "https://e.example/"}),
        json!([]),
        json!(null),
    ] {
        let value = json!({"@context": context, "@id": "urn:x", "urn:p": "x"});
        assert_malformed(paper(&value), &value);
    }
    let none = json!({"@id": "urn:x", "urn:p": "x"});
    assert_malformed(paper(&none), &none);
}

#[test]
fn contexts_that_are_not_pinned_are_refused_by_name() {
    for url in [
        "https://attacker.example/c",
        "https://www.w3.org/2018/credentials/v1",
        "https://www.w3.org/ns/credentials/v2#",
        "HTTPS://www.w3.org/ns/credentials/v2",
        "v2",
        "",
        "file:///etc/passwd",
    ] {
        let remote = Err(RdfError::RemoteContext(url.to_owned()));
        assert_eq!(paper(&credential(json!(url), json!({}))).map(drop), remote.clone(), "{url}");
        assert_eq!(document(&plain(json!(url), json!({}))).map(drop), remote.clone(), "{url}");
        let scoped = json!({"more": {"@id": "ex:more", "@context": url}});
        assert_eq!(paper(&credential(scoped.clone(), json!({}))).map(drop), remote, "{url}");
        assert_eq!(
            document(&plain(scoped, json!({}))).map(drop),
            Err(RdfError::RemoteContext(url.to_owned()))
        );
    }
}

#[test]
fn contexts_are_counted_scoped_and_nested_ones_too() {
    let many = |count: usize| {
        let contexts = (0..count).map(|n| json!({format!("t{n}"): format!("https://e.example/{n}")}));
        json!(contexts.collect::<Vec<_>>())
    };
    let mut value = credential(Value::Null, json!({}));
    let add = |value: &mut Value, contexts: Value| {
        value["@context"].as_array_mut().unwrap().extend(contexts.as_array().unwrap().clone());
    };
    add(&mut value, many(6));
    assert!(paper(&value).is_ok());
    let mut nested = value.clone();
    nested["credentialSubject"]["@context"] = json!({"z": "https://e.example/z"});
    assert_eq!(paper(&nested), Err(RdfError::TooLarge("contexts")));
    let mut scoped = value.clone();
    scoped["@context"][1]["more"] = json!({"@id": "ex:more", "@context": {"z": "https://e.example/z"}});
    assert_eq!(paper(&scoped), Err(RdfError::TooLarge("contexts")));
    add(&mut value, many(1));
    assert_eq!(paper(&value), Err(RdfError::TooLarge("contexts")));
}

#[test]
fn definitions_that_depend_on_each_other_are_bounded() {
    let chain = |length: usize| {
        let mut terms: serde_json::Map<String, Value> =
            (0..length).map(|n| (format!("t{n}"), json!(format!("t{}:x/", n + 1)))).collect();
        terms.insert(format!("t{length}"), json!("https://e.example/"));
        Value::Object(terms)
    };
    assert_both_read(chain(8), json!({}));
    assert_both_refuse(chain(20), json!({}));
    assert_both_refuse(chain(5_000), json!({}));
    assert_both_refuse(json!({"a": "b:x", "b": "a:x"}), json!({}));
    assert_both_refuse(json!({"a": "a:x"}), json!({}));
}

#[test]
fn contexts_in_use_are_bounded() {
    let terms: serde_json::Map<String, Value> =
        (0..500).map(|n| (format!("t{n}"), json!(format!("https://e.example/{n}")))).collect();
    let items: Vec<Value> = (0..3_000).map(|n| json!({"ex:v": n})).collect();
    let inline = json!([terms, {"more": {"@id": "ex:more", "@context": {"z": "ex:z"}}}]);
    let mut value = credential(Value::Null, json!({}));
    value["@context"].as_array_mut().unwrap().extend(inline.as_array().unwrap().clone());
    value["credentialSubject"]["more"] = json!(items);
    // Scoped contexts that come into force by use cost work, and count too.
    assert!(matches!(paper(&value), Err(RdfError::TooLarge(_))), "{:?}", paper(&value).map(|d| d.len()));
}

#[test]
fn deep_nesting_is_refused_without_exhausting_the_stack() {
    let text = format!("{}1{}", r#"{"urn:a":"#.repeat(10_000), "}".repeat(10_000));
    let result = parse_document(&text, &Limits::default());
    assert!(matches!(result, Err(RdfError::Malformed(_) | RdfError::TooLarge(_))), "{result:?}");
    let arrays = format!(r#"{{"urn:a":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let result = parse_document(&arrays, &Limits::default());
    assert!(matches!(result, Err(RdfError::Malformed(_) | RdfError::TooLarge(_))), "{result:?}");
    let mut deep = json!({"urn:a": 1});
    for _ in 0..100 {
        deep = json!({"urn:a": deep});
    }
    deep["@context"] = json!(V2);
    assert_eq!(paper(&deep), Err(RdfError::TooLarge("levels of nesting")));
}

#[test]
fn nodes_nest_no_deeper_than_a_graph_may() {
    let nested = |levels: usize| {
        let inner = (1..levels).fold(json!({"urn:a": 1}), |inner, _| json!({"urn:a": inner}));
        document(&inner).map(|graph| graph.len())
    };
    assert_eq!(nested(32), Ok(32));
    assert_eq!(nested(33), Err(RdfError::TooLarge("levels of nesting")));
}

#[test]
fn scoped_contexts_nest_no_deeper_than_json_may() {
    let inner = (0..100).fold(json!({}), |inner, _| json!({"t": {"@id": "urn:t", "@context": inner}}));
    assert_eq!(paper(&credential(inner, json!({}))), Err(RdfError::TooLarge("levels of nesting")));
}

#[test]
fn a_quad_of_a_named_graph_is_never_passed_over() {
    let quads = |text: &str| oxttl::NQuadsParser::new().for_slice(text).map(Result::unwrap).collect();
    assert!(default_graph(quads("<urn:s> <urn:p> <urn:o> .")).is_ok());
    let named = "<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> <urn:o> <urn:g> .";
    assert_eq!(default_graph(quads(named)), Err(malformed("a graph is named")));
}

#[test]
fn the_deepest_nesting_that_is_read_is_read_on_a_small_stack() {
    let read = || {
        let mut deep = json!({"urn:a": 1});
        for _ in 0..30 {
            deep = json!({"urn:a": [deep]});
        }
        deep["@context"] = json!(V2);
        paper(&deep).map(|dataset| dataset.len())
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(read).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(31));
}

#[test]
fn duplicate_members_are_refused() {
    let text = r#"{"@id": "urn:x", "urn:p": "a", "urn:p": "b"}"#;
    assert!(matches!(parse_document(text, &Limits::default()), Err(RdfError::Malformed(_))));
}

#[test]
fn one_keyword_spelled_twice_is_refused() {
    let value = json!({"@context": {"id": "@id", "t": "@type"}, "@id": "urn:x", "id": "urn:y", "urn:p": 1});
    assert_malformed(document(&value), &value);
    let value = json!({"@context": {"t": "@type"}, "@id": "urn:x", "@type": "urn:y", "t": "urn:z"});
    assert_malformed(document(&value), &value);
    let value = credential(Value::Null, json!({"@id": "urn:y"}));
    assert_malformed(paper(&value), &value);
    let mut value = credential(Value::Null, json!({}));
    value["@type"] = json!("ex:T");
    assert_malformed(paper(&value), &value);
}

#[test]
fn a_paper_says_nothing_twice() {
    let value = credential(Value::Null, json!({"ex:a": ["x", "x"]}));
    assert_malformed(paper(&value), &value);
    let value = credential(Value::Null, json!({"ex:a": [1, 1.0]}));
    assert_malformed(paper(&value), &value);
}

#[test]
fn octets_terms_and_quads_are_bounded() {
    let value = plain(Value::Null, json!({"ex:a": "x".repeat(100)}));
    let limits = Limits { graph_bytes: 100, ..Limits::default() };
    assert_eq!(parse_document(&value.to_string(), &limits), Err(RdfError::TooLarge("octets in a graph")));
    let value = credential(Value::Null, json!({"ex:a": "x".repeat(100)}));
    let limits = Limits { message_bytes: 100, ..Limits::default() };
    assert_eq!(parse_paper(&value, &limits), Err(RdfError::TooLarge("octets in a paper")));
    let limits = Limits { term_bytes: 99, ..Limits::default() };
    assert_eq!(parse_paper(&value, &limits), Err(RdfError::TooLarge("octets in a term")));
    let limits = Limits { triples: 3, ..Limits::default() };
    assert_eq!(parse_paper(&value, &limits), Err(RdfError::TooLarge("triples")));
    let limits = Limits { json_values: 5, ..Limits::default() };
    assert_eq!(parse_paper(&value, &limits), Err(RdfError::TooLarge("JSON values")));
}

#[test]
fn owl_imports_is_a_triple_and_nothing_else() {
    let imports = json!({"@id": "urn:d", "http://www.w3.org/2002/07/owl#imports": {"@id": "https://attacker.example/o"}});
    assert_eq!(document(&imports).map(|graph| graph.len()), Ok(1));
}

#[test]
fn terms_and_prefixes_do_not_multiply_the_document() {
    let long = format!("https://e.example/{}/", "x".repeat(16_000));
    let values: Vec<String> = (0..9_000).map(|n| format!("p:{n}")).collect();
    for members in
        [json!({"t": (0..9_000).collect::<Vec<_>>()}), json!({"@type": values}), json!({"i": values})]
    {
        let inline = json!({"p": long, "t": "p:t", "i": {"@id": "https://e.example/i", "@type": "@id"}});
        let (strict, loose) = (credential(inline.clone(), members.clone()), plain(inline, members));
        assert_eq!(paper(&strict), Err(RdfError::TooLarge("octets in all terms")));
        assert_eq!(document(&loose), Err(RdfError::TooLarge("octets in all terms")));
    }
    let terms: serde_json::Map<String, Value> =
        (0..40_000).map(|n| (format!("t{n}"), json!("p:t"))).collect();
    let inline = json!([{"p": long}, terms]);
    let mut value = credential(Value::Null, json!({}));
    value["@context"].as_array_mut().unwrap().extend(inline.as_array().unwrap().clone());
    assert_eq!(paper(&value), Err(RdfError::TooLarge("contexts in use")));
}
