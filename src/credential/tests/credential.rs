//! Reading credentials, and phase A.

use super::*;
use crate::credential::credential::{PolicyClaim, StatusEntry};
use crate::vocab::{cred, svc};

/// A change of the good mandate, signed again by the issuer, is refused when it is read.
fn malformed(name: &str, change: impl FnOnce(&mut Value)) {
    let mut document = mandate();
    change(&mut document);
    let document = signed(document);
    assert_eq!(read(&document).err().map(|error| error.reason), Some(Reason::Malformed), "{name}");
}

/// As [`malformed`], for a change that does not read as JSON-LD and so cannot be signed.
fn malformed_unsigned(name: &str, change: impl FnOnce(&mut Value)) {
    let mut document = mandate();
    change(&mut document);
    assert_eq!(read(&document).err().map(|error| error.reason), Some(Reason::Malformed), "{name}");
}

fn inline_term(document: &mut Value, term: &str, definition: Value) {
    document["@context"][1][term] = definition;
}

#[test]
fn an_issued_mandate_is_read_and_passes_phase_a() {
    let credential = read(&mandate()).unwrap();
    assert_eq!(credential.issuer, issuer().did_key());
    assert_eq!(credential.subject.as_deref(), Some(issuer().did_key().as_str()));
    assert_eq!(credential.authorizes.as_deref(), Some(DELEGATE));
    assert_eq!(credential.actions, ["http://www.w3.org/ns/odrl/2/read", "read"]);
    assert_eq!(credential.targets, ["https://data.example/x"]);
    assert_eq!(credential.valid_until, Some(instant("2027-01-01T00:00:00Z")));
    assert_eq!(credential.not_after(), Some(instant("2027-01-01T00:00:00Z")));
    assert!(matches!(credential.policy, Some(PolicyClaim::Embedded(_))));
    assert_eq!(phase_a(&mandate()), Ok(()));
}

#[test]
fn a_document_without_a_context_is_malformed() {
    malformed_unsigned("no context", |document| {
        document.as_object_mut().unwrap().remove("@context");
    });
    assert_eq!(read(&json!([])).unwrap_err().reason, Reason::Malformed);
}

#[test]
fn an_unpinned_context_is_remote() {
    let mut document = mandate();
    document["@context"][1] = json!("https://mallory.example/context");
    let error = read(&document).unwrap_err();
    assert_eq!(error.reason, Reason::RemoteContext);
    assert_eq!(error.evidence.seen.as_deref(), Some("https://mallory.example/context"));
}

#[test]
fn exactly_one_issuer_that_is_an_iri() {
    malformed("none", |document| {
        document.as_object_mut().unwrap().remove("issuer");
    });
    malformed("two", |document| document["issuer"] = json!([issuer().did_key(), stranger().did_key()]));
    malformed("two, the other order", |document| {
        document["issuer"] = json!([stranger().did_key(), issuer().did_key()]);
    });
    malformed("blank", |document| document["issuer"] = json!({"name": "somebody"}));
    malformed("a second under another term", |document| {
        inline_term(document, "sender", json!({"@id": cred::ISSUER, "@type": "@id"}));
        document["sender"] = json!(stranger().did_key());
    });
    let mut document = mandate();
    document["issuer"] = json!({"id": issuer().did_key(), "name": "Issuer"});
    assert_eq!(phase_a(&signed(document)), Ok(()));
}

#[test]
fn exactly_one_subject() {
    malformed("none", |document| {
        document.as_object_mut().unwrap().remove("credentialSubject");
    });
    malformed("two", |document| {
        let subject = document["credentialSubject"].take();
        document["credentialSubject"] = json!([subject, {"id": "https://other.example/"}]);
    });
    malformed("two, the other order", |document| {
        let subject = document["credentialSubject"].take();
        document["credentialSubject"] = json!([{"id": "https://other.example/"}, subject]);
    });
}

#[test]
fn exactly_one_delegate_that_is_an_iri() {
    malformed("none", |document| {
        document["credentialSubject"].as_object_mut().unwrap().remove("authorizes");
    });
    for (name, first, second) in
        [("two", DELEGATE, "https://b.example/"), ("two, the other order", "https://b.example/", DELEGATE)]
    {
        malformed(name, |document| document["credentialSubject"]["authorizes"] = json!([first, second]));
    }
    malformed("a literal", |document| {
        inline_term(document, "authorizes", json!({"@id": svc::AUTHORIZES}));
    });
    malformed("remapped", |document| {
        inline_term(document, "authorizes", json!({"@id": "https://other.example/p", "@type": "@id"}));
    });
}

#[test]
fn claims_of_other_nodes_do_not_count() {
    let mut document = mandate();
    let claims = json!({
        "id": "https://other.example/node",
        "authorizes": "https://mallory.example/",
        "target": "https://data.example/y",
        "action": "write",
    });
    inline_term(&mut document, "annex", json!({"@id": "https://other.example/annex", "@type": "@id"}));
    document["annex"] = claims;
    document["authorizes"] = json!("https://mallory.example/");
    let credential = read(&signed(document)).unwrap();
    assert_eq!(credential.authorizes.as_deref(), Some(DELEGATE));
    assert_eq!(credential.targets, ["https://data.example/x"]);
    assert_eq!(credential.actions.len(), 2);
}

#[test]
fn both_types_are_required() {
    malformed("not an AAC", |document| document["type"] = json!(["VerifiableCredential"]));
    malformed_unsigned("not a VC", |document| document["type"] = json!(["AgentAuthorizationCredential"]));
}

#[test]
fn a_second_credential_in_the_document_is_malformed() {
    malformed("two credentials", |document| {
        inline_term(document, "annex", json!({"@id": "https://other.example/annex", "@type": "@id"}));
        document["annex"] = json!({"id": "urn:other", "type": "VerifiableCredential", "issuer": "urn:a"});
    });
}

#[test]
fn a_credential_inside_something_else_is_malformed() {
    let mut inner = mandate();
    let inner = inner.as_object_mut().unwrap();
    inner.remove("proof");
    let mut context = inner.remove("@context").unwrap();
    context[1]["annex"] = json!({"@id": "https://other.example/annex", "@type": "@id"});
    let document = json!({"@context": context, "id": "urn:outer", "name": "A review", "annex": inner});
    let mut options = options(&issuer(), "assertionMethod");
    options.remove("proofValue");
    // `proof` has no meaning on the outer node, so nothing but the document itself is signed here.
    let document = signed_with(document, &issuer(), options);
    assert_eq!(read(&document).unwrap_err().reason, Reason::Malformed);
}

#[test]
fn a_proof_under_another_name_is_malformed() {
    malformed("an alias of sec:proof", |document| {
        inline_term(document, "seal", json!({"@id": "https://w3id.org/security#proof", "@type": "@id"}));
        document["seal"] = json!({"id": "urn:proof", "name": "proof"});
    });
}

#[test]
fn dates_are_instants_with_a_zone_and_at_most_one_each() {
    for member in ["validFrom", "validUntil"] {
        for text in ["2026-01-01T00:00:00", "2026-01-01", "soon", "2026-01-01T24:00:00Z"] {
            malformed(text, |document| document[member] = json!(text));
        }
        malformed("two", |document| {
            document[member] = json!(["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]);
        });
    }
    malformed("of another type", |document| {
        inline_term(document, "until", json!({"@id": cred::VALID_UNTIL}));
        document.as_object_mut().unwrap().remove("validUntil");
        document["until"] = json!("2027-01-01T00:00:00Z");
    });
}

#[test]
fn targets_are_iris_and_actions_are_no_blank_nodes() {
    malformed("a literal target", |document| inline_term(document, "target", json!({"@id": svc::TARGET})));
    malformed("a blank action", |document| {
        document["credentialSubject"]["action"] = json!({"name": "read"});
    });
}

#[test]
fn no_or_several_policies_are_left_to_the_content_binding() {
    let mut document = mandate();
    document["credentialSubject"].as_object_mut().unwrap().remove("policy");
    assert_eq!(read(&signed(document)).unwrap().policy, None);
    let mut document = mandate();
    document["credentialSubject"]["policy"] = json!(["https://a.example/p", "https://b.example/p"]);
    assert_eq!(read(&signed(document)).unwrap().policy, None);
    let mut document = mandate();
    inline_term(&mut document, "policy", json!({"@id": svc::POLICY}));
    document["credentialSubject"]["policy"] = json!("https://a.example/p");
    assert_eq!(read(&signed(document)).unwrap().policy, None);
}

#[test]
fn a_status_entry_is_read_whole() {
    let mut document = mandate();
    document["credentialStatus"] = json!({
        "type": "BitstringStatusListEntry",
        "statusPurpose": "revocation",
        "statusListIndex": "7",
        "statusListCredential": "https://issuer.example/status/1",
    });
    let credential = read(&signed(document)).unwrap();
    let expected = StatusEntry {
        types: vec![cred::STATUS_LIST_ENTRY.to_owned()],
        purpose: vec!["revocation".to_owned()],
        index: vec!["7".to_owned()],
        list: vec!["https://issuer.example/status/1".to_owned()],
        size: vec![],
    };
    assert_eq!(credential.status, [expected]);
}

#[test]
fn a_status_or_related_resource_that_is_no_node_is_malformed() {
    malformed("a related resource without an id", |document| {
        document["relatedResource"] = json!({"digestSRI": "sha256-AA=="});
    });
    malformed("a digest that is a node", |document| {
        inline_term(document, "hash", json!({"@id": cred::DIGEST_SRI, "@type": "@id"}));
        document["relatedResource"] = json!({"id": "urn:a", "hash": "urn:b"});
    });
    malformed("a status that is a literal", |document| {
        inline_term(document, "state", json!({"@id": cred::STATUS}));
        document["state"] = json!("good");
    });
}

#[test]
fn too_many_proofs_exceed_the_limit() {
    let mut document = mandate();
    let proof = document["proof"].take();
    document["proof"] = Value::Array(vec![proof; Limits::default().proofs + 1]);
    assert_eq!(read(&document).unwrap_err().reason, Reason::LimitExceeded);
}

#[test]
fn a_proof_is_an_object() {
    for proof in [json!(null), json!("proof"), json!([[]])] {
        malformed_unsigned("not an object", |document| document["proof"] = proof);
    }
}

#[test]
fn a_credential_without_a_proof_has_no_proof() {
    let mut document = mandate();
    document.as_object_mut().unwrap().remove("proof");
    assert_eq!(phase_a(&document), Err(Reason::NoProof));
    document["proof"] = json!([]);
    assert_eq!(phase_a(&document), Err(Reason::NoProof));
}

#[test]
fn another_suite_or_kind_of_proof_is_unknown() {
    for (member, value) in [
        ("cryptosuite", "ecdsa-sd-2023"),
        ("cryptosuite", "eddsa-jcs-2022"),
        ("cryptosuite", "EdDSA-rdfc-2022"),
        ("type", "Ed25519Signature2020"),
    ] {
        let mut document = mandate();
        document["proof"][member] = json!(value);
        assert_eq!(phase_a(&document), Err(Reason::UnknownCryptosuite), "{value}");
    }
}

#[test]
fn each_option_is_there_exactly_once() {
    let refused = |name: &str, change: &dyn Fn(&mut Map<String, Value>)| {
        let mut options = options(&issuer(), "assertionMethod");
        change(&mut options);
        let mut document = mandate();
        document["proof"] = options.into();
        assert_eq!(phase_a(&document), Err(Reason::Malformed), "{name}");
    };
    for member in ["cryptosuite", "verificationMethod", "proofPurpose"] {
        refused(member, &|options| {
            options.remove(member);
        });
    }
    refused("two suites", &|options| options["cryptosuite"] = json!(["eddsa-rdfc-2022", "ecdsa-rdfc-2019"]));
    refused("two methods", &|options| {
        options["verificationMethod"] = json!([issuer().method(), stranger().method()]);
    });
    refused("two purposes", &|options| {
        options["proofPurpose"] = json!(["assertionMethod", "authentication"])
    });
    refused("two dates", &|options| {
        options["created"] = json!(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]);
    });
    refused("a date that is none", &|options| options["created"] = json!("yesterday"));
    refused("two ends", &|options| {
        options.insert("expires".into(), json!(["2027-01-01T00:00:00Z", "2028-01-02T00:00:00Z"]));
    });
    refused("two nonces", &|options| {
        options.insert("nonce".into(), json!(["a", "b"]));
    });
    refused("two types", &|options| options["type"] = json!(["DataIntegrityProof", "VerifiableCredential"]));
    // Whichever node is met first.
    for seed in 1..9 {
        refused("facts about another node", &|options| {
            let method = SigningKey::from_seed([seed; 32]).method().to_owned();
            options["verificationMethod"] = json!({"id": method, "name": "a key"});
        });
    }
}

#[test]
fn an_option_that_the_profile_does_not_have_is_an_invalid_signature() {
    for (member, value) in [
        ("previousProof", json!("urn:uuid:1")),
        ("challenge", json!("0123456789abcdef")),
        ("domain", json!("https://a.example")),
        ("name", json!("a proof")),
    ] {
        let mut options = options(&issuer(), "assertionMethod");
        options.insert(member.to_owned(), value);
        let document = signed_with(mandate(), &issuer(), options);
        assert_eq!(phase_a(&document), Err(Reason::InvalidSignature), "{member}");
    }
}

#[test]
fn a_proof_with_a_context_of_its_own_is_malformed() {
    let mut document = mandate();
    document["proof"]["@context"] = document["@context"].clone();
    assert_eq!(phase_a(&document), Err(Reason::Malformed));
}

#[test]
fn a_nonce_and_an_id_are_allowed_in_a_proof() {
    let mut options = options(&issuer(), "assertionMethod");
    options.insert("nonce".to_owned(), json!("n"));
    options.insert("id".to_owned(), json!("urn:uuid:00000000-0000-4000-8000-00000000000a"));
    assert_eq!(phase_a(&signed_with(mandate(), &issuer(), options)), Ok(()));
}

#[test]
fn another_purpose_is_a_mismatch() {
    for purpose in ["authentication", "capabilityInvocation", "https://w3id.org/security#assertionMethod/"] {
        let document = signed_with(mandate(), &issuer(), options(&issuer(), purpose));
        assert_eq!(phase_a(&document), Err(Reason::ProofPurposeMismatch), "{purpose}");
    }
}

#[test]
fn a_key_of_somebody_else_is_an_issuer_mismatch() {
    let document = signed_with(mandate(), &stranger(), options(&stranger(), "assertionMethod"));
    assert_eq!(phase_a(&document), Err(Reason::IssuerMismatch));
}

#[test]
fn a_key_of_another_type_is_an_invalid_signature() {
    let multikey = crate::credential::key::encode_base58btc(&[&[0x80, 0x24][..], &[2; 33]].concat());
    let did = format!("did:key:{multikey}");
    let mut document = mandate();
    document["issuer"] = json!(did);
    let mut options = options(&issuer(), "assertionMethod");
    options["verificationMethod"] = json!(format!("{did}#{multikey}"));
    assert_eq!(phase_a(&signed_with(document, &issuer(), options)), Err(Reason::InvalidSignature));
}

#[test]
fn a_changed_document_or_proof_is_an_invalid_signature() {
    let mut document = mandate();
    document["credentialSubject"]["authorizes"] = json!("https://mallory.example/");
    assert_eq!(phase_a(&document), Err(Reason::InvalidSignature));
    let mut document = mandate();
    document["proof"]["created"] = json!("2026-07-01T12:00:01Z");
    assert_eq!(phase_a(&document), Err(Reason::InvalidSignature));
    let mut document = mandate();
    document["proof"]["nonce"] = json!("added");
    assert_eq!(phase_a(&document), Err(Reason::InvalidSignature));
}

#[test]
fn a_proof_value_of_another_form_is_an_invalid_signature() {
    let good = mandate()["proof"]["proofValue"].as_str().unwrap().to_owned();
    for value in [
        json!(null),
        json!(7),
        json!([good]),
        json!(good[1..]),
        json!(good.replacen('z', "u", 1)),
        json!(format!("{good}1")),
        json!(format!("z1{}", &good[1..])),
        json!("z"),
        json!(format!("z{}", "1".repeat(100_000))),
    ] {
        let mut document = mandate();
        document["proof"]["proofValue"] = value.clone();
        assert_eq!(phase_a(&document), Err(Reason::InvalidSignature), "{value}");
    }
    let mut document = mandate();
    document["proof"].as_object_mut().unwrap().remove("proofValue");
    assert_eq!(phase_a(&document), Err(Reason::InvalidSignature));
}

#[test]
fn every_proof_of_a_set_must_hold() {
    let document = mandate();
    let good = document["proof"].clone();
    let mut second = options(&issuer(), "assertionMethod");
    second.insert("nonce".to_owned(), json!("second"));
    let also_good = signed_with(mandate(), &issuer(), second)["proof"].clone();
    let of_stranger =
        signed_with(mandate(), &stranger(), options(&stranger(), "assertionMethod"))["proof"].clone();
    let of_other_purpose = signed_with(mandate(), &issuer(), options(&issuer(), "authentication"));
    let with = |proofs: Value| {
        let mut document = document.clone();
        document["proof"] = proofs;
        phase_a(&document)
    };
    assert_eq!(with(json!([good, also_good])), Ok(()));
    for (bad, reason) in [
        (of_stranger, Reason::IssuerMismatch),
        (of_other_purpose["proof"].clone(), Reason::ProofPurposeMismatch),
        (json!({"type": "Ed25519Signature2020"}), Reason::UnknownCryptosuite),
    ] {
        assert_eq!(with(json!([good, bad])), Err(reason));
        assert_eq!(with(json!([bad, good])), Err(reason));
    }
}

#[test]
fn an_expired_credential_or_proof_is_refused_and_the_bound_is_inside() {
    let until = |end: &str| {
        let mut document = mandate();
        document["validUntil"] = json!(end);
        phase_a(&signed(document))
    };
    assert_eq!(until(NOW), Ok(()));
    assert_eq!(until("2026-07-01T11:59:59.999Z"), Err(Reason::Expired));
    let expires = |end: &str| {
        let mut options = options(&issuer(), "assertionMethod");
        options.insert("expires".to_owned(), json!(end));
        signed_with(mandate(), &issuer(), options)
    };
    assert_eq!(phase_a(&expires(NOW)), Ok(()));
    assert_eq!(phase_a(&expires("2026-07-01T11:59:59.999Z")), Err(Reason::Expired));
    assert_eq!(read(&expires(NOW)).unwrap().not_after(), Some(now()));
}

#[test]
fn a_credential_of_the_future_is_refused_and_the_bound_is_inside() {
    let from = |start: &str| {
        let mut document = mandate();
        document["validFrom"] = json!(start);
        phase_a(&signed(document))
    };
    assert_eq!(from(NOW), Ok(()));
    assert_eq!(from("2026-07-01T12:00:00.001Z"), Err(Reason::NotYetValid));
}

#[test]
fn phase_a_fails_in_the_order_of_the_page() {
    // Everything is wrong at first; each step mends what was refused.
    let mut document = mandate();
    document["validUntil"] = json!("2026-06-01T00:00:00Z");
    document["validFrom"] = json!("2026-08-01T00:00:00Z");
    let with = |key: &SigningKey, purpose: &str, document: &Value| {
        signed_with(document.clone(), key, options(key, purpose))
    };
    let wrong = with(&stranger(), "authentication", &document);
    let mut unknown = wrong.clone();
    unknown["proof"]["cryptosuite"] = json!("ecdsa-sd-2023");
    assert_eq!(phase_a(&unknown), Err(Reason::UnknownCryptosuite));
    assert_eq!(phase_a(&wrong), Err(Reason::ProofPurposeMismatch));
    let mut wrong = with(&stranger(), "assertionMethod", &document);
    wrong["proof"]["proofValue"] = json!("z1");
    assert_eq!(phase_a(&wrong), Err(Reason::IssuerMismatch));
    let mut wrong = with(&issuer(), "assertionMethod", &document);
    wrong["proof"]["proofValue"] = json!("z1");
    assert_eq!(phase_a(&wrong), Err(Reason::InvalidSignature));
    assert_eq!(phase_a(&with(&issuer(), "assertionMethod", &document)), Err(Reason::Expired));
    document["validUntil"] = json!("2027-06-01T00:00:00Z");
    assert_eq!(phase_a(&with(&issuer(), "assertionMethod", &document)), Err(Reason::NotYetValid));
}

#[test]
fn the_issuers_document_must_list_the_key_for_assertions_and_be_fresh() {
    let key = issuer().with_controller("https://issuer.example/id", "https://issuer.example/keys#k1");
    let document = issue_mandate(&key, &terms(DELEGATE), now()).unwrap();
    let credential = read(&document).unwrap();
    let verify = |change: &dyn Fn(&mut Value), retrieved: &str| {
        let mut of_controller = key.controller_document();
        change(&mut of_controller);
        let mut controllers = ControllerDocuments::default();
        controllers.insert(key.controller(), of_controller, instant(retrieved));
        let verified = credential.verify(&snapshot_with(controllers), chrono::TimeDelta::days(1));
        verified.map_err(|error| error.reason)
    };
    let fresh = "2026-07-01T11:00:00Z";
    assert_eq!(verify(&|_| (), fresh), Ok(vec![instant("2026-07-02T11:00:00Z")]));
    let expiring =
        |document: &mut Value| document["verificationMethod"][0]["revoked"] = json!("2026-07-01T12:00:01Z");
    let last = instant("2026-07-01T12:00:01Z") - chrono::TimeDelta::nanoseconds(1);
    assert_eq!(verify(&expiring, fresh), Ok(vec![last]));
    assert_eq!(verify(&|_| (), "2026-06-30T11:00:00Z"), Err(Reason::IssuerMismatch));
    let unlisted = |document: &mut Value| document["assertionMethod"] = json!([]);
    assert_eq!(verify(&unlisted, fresh), Err(Reason::IssuerMismatch));
    let rotated = |document: &mut Value| {
        document["verificationMethod"][0]["publicKeyMultibase"] = json!(stranger().public_key_multibase());
    };
    assert_eq!(verify(&rotated, fresh), Err(Reason::InvalidSignature));
    assert_eq!(phase_a(&document), Err(Reason::IssuerMismatch));
}

#[test]
fn a_refusal_of_phase_a_names_the_credential() {
    let mut document = mandate();
    document.as_object_mut().unwrap().remove("proof");
    let error = read(&document).unwrap().verify(&snapshot(), chrono::TimeDelta::days(1)).unwrap_err();
    assert_eq!(error.evidence.credential.as_deref(), mandate()["id"].as_str());
}
