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
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use oxrdf::Graph;
use sha2::Digest as _;

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
        limits: Limits::default(),
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
    resolve(&credential, parts, store, trust, &Limits::default(), &mut budget(), &known)
        .map_err(|error| error.reason)
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

/// Each algorithm: its SRI name, its multihash code, its digest.
type Algorithm = (&'static str, u8, fn(&[u8]) -> Vec<u8>);

const ALGORITHMS: [Algorithm; 3] = [
    ("sha256", 0x12, |octets| sha2::Sha256::digest(octets).to_vec()),
    ("sha384", 0x20, |octets| sha2::Sha384::digest(octets).to_vec()),
    ("sha512", 0x13, |octets| sha2::Sha512::digest(octets).to_vec()),
];

fn sri_of((name, _, digest): Algorithm, octets: &[u8]) -> String {
    format!("{name}-{}", STANDARD.encode(digest(octets)))
}

/// The multihash of the octets in each base.
fn multibases_of((_, code, digest): Algorithm, octets: &[u8]) -> Vec<String> {
    let digest = digest(octets);
    let multihash = [&[code, u8::try_from(digest.len()).unwrap()], digest.as_slice()].concat();
    vec![
        crate::credential::key::encode_base58btc(&multihash),
        format!("u{}", URL_SAFE_NO_PAD.encode(&multihash)),
        format!("m{}", STANDARD_NO_PAD.encode(&multihash)),
        format!("f{}", multihash.iter().map(|octet| format!("{octet:02x}")).collect::<String>()),
    ]
}

/// Every form of digest: the member, the digest, and whether it is of the canonical form.
fn every_form() -> Vec<(&'static str, String, bool)> {
    let canonical = canonical(&graph(POLICY));
    let mut forms = Vec::new();
    for algorithm in ALGORITHMS {
        forms.push(("digestSRI", sri_of(algorithm, POLICY.as_bytes()), false));
        for (octets, of_form) in [(POLICY.as_bytes(), false), (canonical.as_bytes(), true)] {
            forms.extend(
                multibases_of(algorithm, octets)
                    .into_iter()
                    .map(|digest| ("digestMultibase", digest, of_form)),
            );
        }
    }
    forms
}

/// Threat 32: in every form, one octet of the document, or one character of the digest, and the policy is not bound.
#[test]
fn one_octet_of_a_document_or_of_its_digest_unbinds_it_in_every_form() {
    assert_eq!(every_form().len(), 3 + 3 * 4 * 2);
    for (member, digest, of_form) in every_form() {
        let document =
            |digest: &str| related(json!({"id": POLICY_IRI, member: digest, "mediaType": "text/turtle"}));
        let signed = document(&digest);
        assert!(bind(&signed, &[part(POLICY)]).is_ok(), "{digest}");
        assert_eq!(bind(&signed, &[part(&respelled())]).is_ok(), of_form, "{digest}");
        let credential = read(&signed).unwrap();
        for place in 0..POLICY.len() {
            let mut octets = POLICY.as_bytes().to_vec();
            octets[place] ^= 1;
            let text = String::from_utf8(octets).unwrap();
            // White space of another kind and names of prefixes are no content of a graph.
            let same = of_form
                && parse_graph(&text, RdfMediaType::Turtle, &Limits::default())
                    .is_ok_and(|changed| canonical(&changed) == canonical(&graph(POLICY)));
            let found = resolve(
                &credential,
                &[part(&text)],
                &PolicyStore::default(),
                false,
                &Limits::default(),
                &mut budget(),
                &Known::nothing(),
            );
            assert_eq!(
                found.err().map(|error| error.reason),
                (!same).then_some(Reason::PolicyIntegrity),
                "{digest} {place}"
            );
        }
        for place in [digest.len() - 3, digest.len() / 2] {
            let other = if digest.as_bytes()[place] == b'7' { "8" } else { "7" };
            let wrong = format!("{}{other}{}", &digest[..place], &digest[place + 1..]);
            refused(&document(&wrong), &[part(POLICY)], &wrong);
        }
    }
}

/// A digest that is not in the one accepted spelling, or by an algorithm that is not known, matches nothing.
#[test]
fn a_digest_in_another_spelling_or_by_another_algorithm_matches_nothing() {
    let octets = POLICY.as_bytes();
    let [sha256, ..] = ALGORITHMS;
    let (name, _, hash) = sha256;
    let good = sri_of(sha256, octets);
    let url_safe = format!("{name}-{}=", URL_SAFE_NO_PAD.encode(hash(octets)));
    let mut wrong = vec![
        format!("{good} {good}"),
        format!("{good} {}", sri_of(ALGORITHMS[2], octets)),
        format!("{good}?ct=text/turtle"),
        format!("{good}?"),
        format!(" {good}"),
        format!("{good}\n"),
        good.trim_end_matches('=').to_owned(),
        good.replace("sha256", "SHA256"),
        good.replace("sha256", "sha384"),
        good.replace("sha256", "md5"),
        good.replace("sha256", "sha3-256"),
        good.replace("sha256-", ""),
        String::new(),
    ];
    if url_safe != good {
        wrong.push(url_safe);
    }
    for digest in wrong {
        refused(
            &related(json!({"id": POLICY_IRI, "digestSRI": digest, "mediaType": "text/turtle"})),
            &[part(POLICY)],
            &digest,
        );
    }
    let hexadecimal = |code: u8, digest: &[u8]| {
        let octets = [&[code, u8::try_from(digest.len()).unwrap()], digest].concat();
        format!("f{}", octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>())
    };
    let digest = hash(octets);
    let mut wrong = vec![
        hexadecimal(0x12, &digest).to_ascii_uppercase(),
        hexadecimal(0x12, &digest).replacen('f', "F", 1),
        // SHA3-256, SHA-1, identity; a digest cut short; one octet too many.
        hexadecimal(0x16, &digest),
        hexadecimal(0x11, &digest[..20]),
        hexadecimal(0x00, octets.get(..32).unwrap()),
        hexadecimal(0x12, &digest[..16]),
        format!("{}00", hexadecimal(0x12, &digest)),
        hexadecimal(0x20, &digest),
        String::new(),
        "z".to_owned(),
    ];
    wrong.extend(multibases_of(sha256, octets).iter().map(|digest| format!("{digest}=")));
    for digest in wrong {
        refused(
            &related(json!({"id": POLICY_IRI, "digestMultibase": digest, "mediaType": "text/turtle"})),
            &[part(POLICY)],
            &digest,
        );
    }
}

/// One wrong digest among any number of right ones, of either member, in any place.
#[test]
fn one_wrong_digest_among_right_ones_unbinds() {
    let octets = POLICY.as_bytes();
    let sris: Vec<String> = ALGORITHMS.into_iter().map(|algorithm| sri_of(algorithm, octets)).collect();
    let multibases: Vec<String> =
        ALGORITHMS.into_iter().flat_map(|algorithm| multibases_of(algorithm, octets)).collect();
    let entry = |sris: &[String], multibases: &[String]| {
        let entry = json!({"id": POLICY_IRI, "digestSRI": sris, "digestMultibase": multibases, "mediaType": "text/turtle"});
        bind(&related(entry), &[part(POLICY)]).map(|_| ())
    };
    assert_eq!(entry(&sris, &multibases), Ok(()));
    for algorithm in ALGORITHMS {
        let mut wrong = sris.clone();
        wrong.push(sri_of(algorithm, b"other"));
        assert_eq!(entry(&wrong, &multibases), Err(Reason::PolicyIntegrity));
        for digest in multibases_of(algorithm, b"other") {
            let mut wrong = multibases.clone();
            wrong.insert(0, digest);
            assert_eq!(entry(&sris, &wrong), Err(Reason::PolicyIntegrity));
        }
    }
}

/// The entry is the one of the policy's own IRI, fragment and all.
#[test]
fn the_entry_has_the_whole_iri_of_the_policy() {
    let whole = POLICY_IRI.split_once('#').unwrap().0;
    for other in [
        whole.to_owned(),
        format!("{whole}#"),
        format!("{whole}#other"),
        format!("{whole}?#it"),
        POLICY_IRI.replace("https:", "HTTPS:"),
        POLICY_IRI.replace("issuer.example", "ISSUER.example"),
        POLICY_IRI.replace("/p1", "/%701"),
    ] {
        let entry = json!({"id": other, "digestSRI": sri(POLICY.as_bytes()), "mediaType": "text/turtle"});
        refused(&related(entry), &[part(POLICY)], &other);
    }
}
