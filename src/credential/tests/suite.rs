//! The W3C vectors of vc-di-eddsa, byte for byte.

use super::*;
use crate::credential::controller::{KeySource, Relationship};
use crate::credential::data_integrity::{self, Proof, ProofOf, Secured};
use crate::credential::key::{decode_base58btc, encode_base58btc};
use crate::rdf::canon::{self, HashAlgorithm};
use crate::rdf::jsonld;
use std::path::PathBuf;

/// The suite's folder, or a plain word that it is not here.
fn suite() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/suites/vc-di-eddsa");
    if path.is_dir() {
        return Some(path);
    }
    println!("SKIPPED: ../shared/suites/vc-di-eddsa is not there");
    None
}

fn text(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn json(path: &PathBuf) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn secret(pair: &Value) -> SigningKey {
    let octets = decode_base58btc(pair["privateKeyMultibase"].as_str().unwrap(), 80).unwrap();
    let key = SigningKey::from_seed(octets[2..].try_into().unwrap());
    assert_eq!(key.public_key_multibase(), pair["publicKeyMultibase"].as_str().unwrap());
    key
}

/// Signed octets and proof value, from canonical forms to the signed document.
fn reproduce(folder: &str, canonical_document: &str) {
    let Some(suite) = suite() else { return };
    let key = secret(&json(&suite.join("keyPair.json")));
    let folder = suite.join(folder);
    let signed = json(&folder.join("signedDataInt.json"));
    let document = Digest::of(canonical_document);
    assert_eq!(document.to_string(), text(&folder.join("docHashDataInt.txt")).trim());
    // The options use terms of the VC v2 context alone, so they read alike under it.
    let context = json!(["https://www.w3.org/ns/credentials/v2"]);
    let proof = signed["proof"].as_object().unwrap();
    let options = data_integrity::options(proof, &context, &Limits::default()).unwrap();
    let canonical = canon::quads(&options, HashAlgorithm::Sha256, &mut budget()).unwrap();
    assert_eq!(canonical, text(&folder.join("proofCanonDataInt.txt")));
    let octets = ed25519_octets(&options, document);
    assert_eq!(hexadecimal(&octets), text(&folder.join("combinedHashDataInt.txt")).trim());
    let signature = key.sign(&octets);
    assert_eq!(hexadecimal(&signature), text(&folder.join("sigHexDataInt.txt")).trim());
    assert_eq!(encode_base58btc(&signature), text(&folder.join("sigBTC58DataInt.txt")).trim());
    assert_eq!(proof["proofValue"], json!(encode_base58btc(&signature)));
    verify(proof, &context, document);
}

fn ed25519_octets(options: &[oxrdf::Quad], document: Digest) -> Vec<u8> {
    let mut document = DocumentHash::new(document, &[]);
    document.signed_octets(KeyType::Ed25519, options, &mut budget()).unwrap().unwrap()
}

/// The proof verifies with the did:key that it names.
fn verify(proof: &Map<String, Value>, context: &Value, document: Digest) {
    let limits = Limits::default();
    let proof = Proof::read(
        proof,
        context,
        &mut DocumentHash::new(document, &[]),
        ProofOf::Credential,
        &limits,
        &mut budget(),
    )
    .unwrap();
    let statement = proof.statement.unwrap();
    let documents = ControllerDocuments::default();
    let keys = KeySource { documents: &documents, now: now(), max_age: chrono::TimeDelta::zero() };
    let method = &statement.verification_method;
    let controller = method.split('#').next().unwrap();
    let key = keys.find(controller, method, Relationship::AssertionMethod).unwrap().key;
    statement.verify(&key).unwrap();
}

#[test]
fn the_alumni_vector_is_reproduced_from_its_document() {
    let Some(suite) = suite() else { return };
    let folder = suite.join("eddsa-rdfc-2022");
    let secured = Secured::split(&json(&folder.join("signedDataInt.json"))).unwrap();
    let dataset = jsonld::parse_paper(&secured.unsecured, &Limits::default()).unwrap();
    let canonical = canon::quads(&dataset, HashAlgorithm::Sha256, &mut budget()).unwrap();
    assert_eq!(canonical, text(&folder.join("canonDocDataInt.txt")));
    reproduce("eddsa-rdfc-2022", &canonical);
}

#[test]
fn the_employment_vector_is_reproduced_from_its_canonical_document() {
    let Some(suite) = suite() else { return };
    let folder = "eddsa-rdfc-2022/employ";
    reproduce(folder, &text(&suite.join(folder).join("canonDocDataInt.txt")));
}

#[test]
fn the_proof_sets_verify_and_are_reproduced() {
    let Some(suite) = suite() else { return };
    let folder = suite.join("proof-set-chain");
    let pairs = json(&folder.join("multiKeyPairs.json"));
    for name in ["signedProofSet1.json", "signedProofSet2.json"] {
        let secured = Secured::split(&json(&folder.join(name))).unwrap();
        let dataset = jsonld::parse_paper(&secured.unsecured, &Limits::default()).unwrap();
        let canonical = canon::quads(&dataset, HashAlgorithm::Sha256, &mut budget()).unwrap();
        let document = Digest::of(canonical);
        assert!(!secured.proofs.is_empty());
        for (proof, pair) in secured.proofs.iter().zip(["keyPair1", "keyPair2"]) {
            verify(proof, &secured.context, document);
            let options = data_integrity::options(proof, &secured.context, &Limits::default()).unwrap();
            let octets = ed25519_octets(&options, document);
            let value = encode_base58btc(&secret(&pairs[pair]).sign(&octets));
            assert_eq!(proof["proofValue"], json!(value), "{name}");
        }
    }
}

#[test]
fn the_proof_chain_is_refused_for_its_previous_proof() {
    let Some(suite) = suite() else { return };
    let secured =
        Secured::split(&json(&suite.join("proof-set-chain").join("signedProofChain1.json"))).unwrap();
    let limits = Limits::default();
    let chained = secured.proofs.iter().filter(|proof| proof.contains_key("previousProof"));
    let mut count = 0;
    for proof in chained {
        let document = Digest::of("any");
        let proof = Proof::read(
            proof,
            &secured.context,
            &mut DocumentHash::new(document, &[]),
            ProofOf::Credential,
            &limits,
            &mut budget(),
        )
        .unwrap();
        assert!(proof.statement.unwrap().signature.is_err());
        count += 1;
    }
    assert!(count > 0);
}
