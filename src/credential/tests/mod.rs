//! Papers that the tests of this folder are made of: issued well, then changed one thing at a time.

mod binding;
mod context_free;
mod context_free_claims;
mod context_free_message;
mod credential;
mod ecdsa;
mod issue;
mod presentation;
mod presentation_message;
mod status;
mod suite;

use super::data_integrity::{DocumentHash, Suite};
use super::issue::{Mandate, MandatePolicy, SigningKey, issue_mandate, secure};
use super::key::KeyType;
use super::{ControllerDocuments, Credential, Known, PaperError, date_time};
use crate::limits::Limits;
use crate::message::Digest;
use crate::rdf::Budget;
use crate::refusal::Reason;
use crate::request::{Conversation, Instant, Snapshot};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const NOW: &str = "2026-07-01T12:00:00Z";
const DELEGATE: &str = "https://agent.example/id#it";
const POLICY_IRI: &str = "https://issuer.example/policies/p1#it";
const POLICY: &str = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
<https://issuer.example/policies/p1#it> a odrl:Agreement ;
    odrl:permission [ odrl:action odrl:read ; odrl:target <https://data.example/x> ;
        odrl:constraint [ odrl:leftOperand odrl:count ; odrl:operator odrl:lteq ; odrl:rightOperand 5 ] ] .
";

fn instant(text: &str) -> Instant {
    date_time::parse(text).unwrap()
}

fn now() -> Instant {
    instant(NOW)
}

/// The issuer's key, a did:key.
fn issuer() -> SigningKey {
    SigningKey::from_seed([1; 32])
}

fn holder() -> SigningKey {
    SigningKey::from_seed([2; 32])
}

fn stranger() -> SigningKey {
    SigningKey::from_seed([3; 32])
}

/// An EC key whose secret is this octet throughout.
fn ec(key_type: KeyType, octet: u8) -> SigningKey {
    let octets = [octet; 48];
    let length = if key_type == KeyType::P384 { 48 } else { 32 };
    SigningKey::from_secret(key_type, &octets[..length]).unwrap()
}

/// What a key signs under the context-free profile: SHA-256 hashes.
fn context_free_octets(key: &SigningKey, options: &[oxrdf::Quad], document: Digest) -> Vec<u8> {
    // A key that the profile does not know signs what a P-256 key would.
    let key_type = if key.key_type() == KeyType::P384 { KeyType::P256 } else { key.key_type() };
    DocumentHash::sha256_only(document).signed_octets(key_type, options, &mut budget()).unwrap().unwrap()
}

fn budget() -> Budget {
    Budget::new(&Limits::default())
}

fn snapshot_with(controllers: ControllerDocuments) -> Snapshot {
    Snapshot {
        instant: now(),
        generation: 1,
        conversation: Conversation::default(),
        memory: std::sync::Arc::default(),
        counts: BTreeMap::new(),
        controllers: Arc::new(controllers),
        status_lists: Arc::default(),
        issued: crate::credential::IssuedChallenges::NoIssuer,
    }
}

fn snapshot() -> Snapshot {
    snapshot_with(ControllerDocuments::default())
}

fn terms<'a>(delegate: &str) -> Mandate<'a> {
    Mandate {
        id: Some("urn:uuid:00000000-0000-4000-8000-000000000001".to_owned()),
        delegate: delegate.to_owned(),
        policy: MandatePolicy::Embedded { text: POLICY, media_type: "text/turtle" },
        actions: vec!["read".to_owned(), "http://www.w3.org/ns/odrl/2/read".to_owned()],
        targets: vec!["https://data.example/x".to_owned()],
        valid_from: Some(instant("2026-01-01T00:00:00Z")),
        valid_until: Some(instant("2027-01-01T00:00:00Z")),
        status: None,
    }
}

/// A good mandate of the issuer, with its policy embedded.
fn mandate() -> Value {
    issue_mandate(&issuer(), &terms(DELEGATE), now()).unwrap()
}

/// The options of a proof by `key`.
fn options(key: &SigningKey, purpose: &str) -> Map<String, Value> {
    let options = json!({
        "type": "DataIntegrityProof",
        "cryptosuite": Suite::of(key.key_type()).name(),
        "created": NOW,
        "verificationMethod": key.method(),
        "proofPurpose": purpose,
    });
    options.as_object().unwrap().clone()
}

/// The document signed with these options in place of whatever proof it has.
fn signed_with(mut document: Value, key: &SigningKey, options: Map<String, Value>) -> Value {
    let document = document.as_object_mut().unwrap();
    document.remove("proof");
    secure(key, document.clone(), options, &Limits::default(), &mut budget()).unwrap()
}

/// The document signed again by the issuer.
fn signed(document: Value) -> Value {
    signed_with(document, &issuer(), options(&issuer(), "assertionMethod"))
}

fn read(document: &Value) -> Result<Credential, PaperError> {
    Credential::read(document, &Limits::default(), &mut budget())
}

/// Phase A on a document.
fn phase_a(document: &Value) -> Result<(), Reason> {
    let credential = read(document).map_err(|error| error.reason)?;
    let max_age = chrono::TimeDelta::days(1);
    credential.verify(&snapshot(), max_age).map(|_| ()).map_err(|error| error.reason)
}
