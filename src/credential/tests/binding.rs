//! Policy-content binding (threat 32).

use super::*;
use crate::config::{PolicyStore, StoredPolicy};
use crate::credential::binding::{BoundPolicy, each_part_bound_once, resolve};
use crate::credential::content_digest::{multibase, sri};
use crate::credential::issue::DigestForm;
use crate::mandate::chain::BindingForm;
use crate::mandate::odrl::Policy;
use crate::message::{Digest, RdfPart};
use crate::rdf::{RdfMediaType, canon, parse_graph};
use oxrdf::Graph;

/// The same graph in other octets.
fn respelled() -> String {
    format!("# a comment\n{POLICY}")
}

fn graph(text: &str) -> Graph {
    parse_graph(text, RdfMediaType::Turtle, &Limits::default()).unwrap()
}

fn policy() -> Policy {
    Policy::read(&graph(POLICY), &Limits::default()).unwrap()
}

fn canonical(graph: &Graph) -> String {
    canon::graph(graph, &mut budget()).unwrap()
}

fn part(text: &str) -> RdfPart {
    RdfPart { index: 2, media_type: RdfMediaType::Turtle, text: text.to_owned() }
}

fn store(text: &str) -> PolicyStore {
    let stored = StoredPolicy {
        text: text.to_owned(),
        media_type: RdfMediaType::Turtle,
        graph: graph(text),
        read: now(),
    };
    PolicyStore { documents: BTreeMap::from([(POLICY_IRI.to_owned(), stored)]) }
}

fn reference(digest: DigestForm) -> Value {
    let policy =
        MandatePolicy::Reference { iri: POLICY_IRI, text: POLICY, media_type: "text/turtle", digest };
    issue_mandate(&issuer(), &Mandate { policy, ..terms(DELEGATE) }, now()).unwrap()
}

/// A mandate whose `relatedResource` is this.
fn related(entry: Value) -> Value {
    let mut document = reference(DigestForm::Sri);
    document["relatedResource"] = entry;
    signed(document)
}

fn bind_with(
    document: &Value,
    parts: &[RdfPart],
    store: &PolicyStore,
    trust: bool,
) -> Result<BoundPolicy, Reason> {
    let credential = read(document).unwrap();
    let known = Known::nothing();
    resolve(&credential, parts, store, trust, &Limits::default(), &mut budget(), &known).map_err(|error| error.reason)
}

fn bind(document: &Value, parts: &[RdfPart]) -> Result<BoundPolicy, Reason> {
    bind_with(document, parts, &PolicyStore::default(), false)
}

fn refused(document: &Value, parts: &[RdfPart], name: &str) {
    assert_eq!(bind(document, parts).err(), Some(Reason::PolicyIntegrity), "{name}");
}

#[test]
fn an_embedded_policy_is_the_graph_that_its_node_leads_to() {
    let bound = bind(&mandate(), &[]).unwrap();
    assert_eq!(bound.policy.unwrap().as_ref(), &policy());
    assert_eq!(bound.digest, Digest::of(canonical(&graph(POLICY))));
    assert_eq!((bound.form, bound.part), (BindingForm::Embedded, None));
    assert_eq!(bound.claim.to_string(), format!("<{POLICY_IRI}>"));
}

#[test]
fn an_embedded_policy_by_the_subject_does_not_take_the_claims_along() {
    let text = format!(
        "<{POLICY_IRI}> a <http://www.w3.org/ns/odrl/2/Agreement> ;
            <http://www.w3.org/ns/odrl/2/assigner> <{}> .",
        issuer().did_key()
    );
    let policy = MandatePolicy::Embedded { text: &text, media_type: "text/turtle" };
    let document = issue_mandate(&issuer(), &Mandate { policy, ..terms(DELEGATE) }, now()).unwrap();
    assert_eq!(bind(&document, &[]).unwrap().digest, Digest::of(canonical(&graph(&text))));
}

#[test]
fn an_embedded_policy_that_is_also_digested_is_refused() {
    let mut document = mandate();
    document["relatedResource"] = json!({"id": POLICY_IRI, "digestSRI": sri(POLICY.as_bytes())});
    refused(&signed(document), &[part(POLICY)], "two forms");
}

#[test]
fn an_embedded_blank_node_that_says_nothing_is_refused() {
    let mut credential = read(&mandate()).unwrap();
    let node = oxrdf::BlankNode::new("nothing").unwrap();
    credential.policy = Some(crate::credential::credential::PolicyClaim::Embedded(node.into()));
    let (store, limits) = (PolicyStore::default(), Limits::default());
    let result = resolve(&credential, &[], &store, false, &limits, &mut budget(), &Known::nothing());
    assert_eq!(result.unwrap_err().reason, Reason::PolicyIntegrity);
}

#[test]
fn a_referenced_policy_is_found_by_either_digest() {
    for digest in [DigestForm::Multibase, DigestForm::Sri] {
        let bound = bind(&reference(digest), &[part("# another"), part(POLICY)]).unwrap();
        assert_eq!(bound.policy.unwrap().as_ref(), &policy());
        assert_eq!(bound.digest, Digest::of(POLICY));
        assert_eq!((bound.form, bound.part), (BindingForm::Digest, Some(1)));
        assert_eq!(bound.claim.to_string(), format!("<{POLICY_IRI}>"));
    }
}

#[test]
fn a_bare_iri_is_refused() {
    let mut document = reference(DigestForm::Sri);
    document.as_object_mut().unwrap().remove("relatedResource");
    refused(&signed(document), &[part(POLICY)], "no entry");
    refused(&related(json!({"id": POLICY_IRI, "mediaType": "text/turtle"})), &[part(POLICY)], "no digest");
    let document = related(json!({
        "id": "https://issuer.example/policies/p1",
        "digestSRI": sri(POLICY.as_bytes()),
    }));
    refused(&document, &[part(POLICY)], "an entry without the fragment");
}

#[test]
fn none_or_several_policies_are_refused() {
    let mut document = mandate();
    document["credentialSubject"].as_object_mut().unwrap().remove("policy");
    refused(&signed(document), &[], "none");
    let mut document = reference(DigestForm::Sri);
    document["credentialSubject"]["policy"] = json!([POLICY_IRI, "https://issuer.example/policies/p2"]);
    refused(&signed(document), &[part(POLICY)], "several");
}

#[test]
fn a_document_that_is_not_at_hand_is_refused() {
    refused(&reference(DigestForm::Sri), &[], "no part");
    refused(&reference(DigestForm::Sri), &[part(&respelled())], "other octets");
    refused(&reference(DigestForm::Sri), &[part(&POLICY.replace("odrl:read", "odrl:use"))], "other content");
}

#[test]
fn every_digest_must_match() {
    let (good_sri, good) = (sri(POLICY.as_bytes()), multibase(POLICY.as_bytes()));
    let (bad_sri, bad) = (sri(b"other"), multibase(b"other"));
    let entry = |sri: Value, multibase: Value| {
        let entry = json!({"id": POLICY_IRI, "digestSRI": sri, "digestMultibase": multibase});
        bind(&related(entry), &[part(POLICY)]).map(|_| ())
    };
    assert_eq!(entry(json!(good_sri), json!(good)), Ok(()));
    let refused = Err(Reason::PolicyIntegrity);
    assert_eq!(entry(json!(bad_sri), json!(good)), refused);
    assert_eq!(entry(json!(good_sri), json!(bad)), refused);
    assert_eq!(entry(json!([good_sri, bad_sri]), json!(good)), refused);
    assert_eq!(entry(json!(good_sri), json!([good, bad])), refused);
    assert_eq!(entry(json!("md5-1B2M2Y8AsgTpgAmY7PhCfg=="), json!(good)), refused);
    assert_eq!(entry(json!(format!("{good_sri} {good_sri}")), json!(good)), refused);
    assert_eq!(entry(json!(good_sri), json!("zQm")), refused);
}

#[test]
fn two_entries_of_one_id_are_not_read() {
    let entry = |digest: &str| json!({"id": POLICY_IRI, "digestSRI": digest});
    let mut document = reference(DigestForm::Sri);
    document["relatedResource"] = json!([entry(&sri(POLICY.as_bytes())), entry(&sri(b"other"))]);
    assert_eq!(read(&document).unwrap_err().reason, Reason::Malformed);
}

#[test]
fn a_multibase_digest_of_rdf_may_be_of_the_canonical_form() {
    let digest = multibase(canonical(&graph(POLICY)).as_bytes());
    let entry =
        |media_type: &str| json!({"id": POLICY_IRI, "digestMultibase": digest, "mediaType": media_type});
    let bound = bind(&related(entry("text/turtle")), &[part(&respelled())]).unwrap();
    assert_eq!(bound.digest, Digest::of(respelled()));
    refused(&related(entry("text/turtle")), &[part("@prefix : <")], "not RDF");
    let unstated = json!({"id": POLICY_IRI, "digestMultibase": digest});
    refused(&related(unstated), &[part(&respelled())], "no media type");
    let sri_of_form = json!({
        "id": POLICY_IRI,
        "digestSRI": sri(canonical(&graph(POLICY)).as_bytes()),
        "mediaType": "text/turtle",
    });
    refused(&related(sri_of_form), &[part(POLICY)], "SRI is over octets only");
}

#[test]
fn the_issuers_media_type_counts_and_not_the_senders() {
    let mut labelled = part(POLICY);
    labelled.media_type = RdfMediaType::JsonLd;
    let bound = bind(&reference(DigestForm::Sri), std::slice::from_ref(&labelled)).unwrap();
    assert_eq!(bound.policy.unwrap().as_ref(), &policy());
    let digest = sri(POLICY.as_bytes());
    let entry = |media_type: Value| json!({"id": POLICY_IRI, "digestSRI": digest, "mediaType": media_type});
    refused(&related(entry(json!("application/ld+json"))), &[part(POLICY)], "Turtle signed as JSON-LD");
    refused(&related(entry(json!("application/json"))), &[part(POLICY)], "not a media type of RDF");
    refused(&related(entry(json!(["text/turtle", "application/ld+json"]))), &[part(POLICY)], "two");
    let unstated = json!({"id": POLICY_IRI, "digestSRI": digest});
    assert!(bind(&related(unstated), &[part(POLICY)]).is_ok());
}

#[test]
fn a_document_with_relative_iris_is_refused() {
    let text = "<#it> a <http://www.w3.org/ns/odrl/2/Agreement> .";
    let entry = json!({"id": POLICY_IRI, "digestSRI": sri(text.as_bytes())});
    refused(&related(entry), &[part(text)], "a base would be needed");
}

#[test]
fn a_stored_policy_is_bound_by_digest_and_no_part_stands_in_for_it() {
    let document = reference(DigestForm::Sri);
    let bound = bind_with(&document, &[part(POLICY)], &store(POLICY), false).unwrap();
    assert_eq!((bound.form, bound.part), (BindingForm::Digest, None));
    let shadowed = bind_with(&document, &[part(POLICY)], &store(&respelled()), false);
    assert_eq!(shadowed.err(), Some(Reason::PolicyIntegrity));
    // The shadowing part is bound by nobody.
    let parts = [part(POLICY)];
    assert_eq!(
        each_part_bound_once([&bound].into_iter(), &parts).unwrap_err().reason,
        Reason::PolicyIntegrity
    );
}

#[test]
fn location_counts_only_where_configured_and_without_a_digest() {
    let mut document = reference(DigestForm::Sri);
    document.as_object_mut().unwrap().remove("relatedResource");
    let bare = signed(document);
    let bound = bind_with(&bare, &[], &store(POLICY), true).unwrap();
    assert_eq!((bound.form, bound.part), (BindingForm::Provisional, None));
    assert_eq!(bind_with(&bare, &[], &store(POLICY), false).err(), Some(Reason::PolicyIntegrity));
    assert_eq!(
        bind_with(&bare, &[part(POLICY)], &PolicyStore::default(), true).err(),
        Some(Reason::PolicyIntegrity)
    );
    let digested = reference(DigestForm::Sri);
    assert_eq!(bind_with(&digested, &[], &store(&respelled()), true).err(), Some(Reason::PolicyIntegrity));
}

#[test]
fn each_part_is_bound_by_exactly_one_credential() {
    let bound = bind(&reference(DigestForm::Sri), &[part(POLICY)]).unwrap();
    let embedded = bind(&mandate(), &[]).unwrap();
    let check = |bound: &[&BoundPolicy], parts: usize| {
        let parts = vec![part(POLICY); parts];
        each_part_bound_once(bound.iter().copied(), &parts).map_err(|error| error.reason)
    };
    assert_eq!(check(&[&embedded], 0), Ok(()));
    assert_eq!(check(&[&bound, &embedded], 1), Ok(()));
    assert_eq!(check(&[&embedded], 1), Err(Reason::PolicyIntegrity));
    assert_eq!(check(&[&bound], 2), Err(Reason::PolicyIntegrity));
    assert_eq!(check(&[&bound, &bound], 1), Err(Reason::PolicyIntegrity));
}

#[test]
fn a_spent_budget_is_a_limit_and_not_a_mismatch() {
    let limits = Limits { canonicalizations: 0, ..Limits::default() };
    let credential = read(&mandate()).unwrap();
    let (store, mut budget) = (PolicyStore::default(), Budget::new(&limits));
    let result = resolve(&credential, &[], &store, false, &limits, &mut budget, &Known::nothing());
    assert_eq!(result.unwrap_err().reason, Reason::LimitExceeded);
}
