//! The W3C vectors of vc-di-eddsa, and the extension's own JSON-LD vector.

use super::super::*;
use crate::message::Digest;
use crate::protocol::ProtocolHash;
use crate::rdf::Budget;
use crate::rdf::canon::{self, HashAlgorithm};
use serde_json::json;
use std::path::Path;

fn shared(path: &str) -> Option<std::path::PathBuf> {
    let path = Path::new("../shared").join(path);
    if !path.exists() {
        println!("SKIPPED: {} is absent", path.display());
        return None;
    }
    Some(path)
}

fn canonical(paper: &Value) -> String {
    let limits = Limits::default();
    let dataset = parse_paper(paper, &limits).unwrap();
    canon::quads(&dataset, HashAlgorithm::Sha256, &mut Budget::new(&limits)).unwrap()
}

struct Vector {
    signed: Value,
    canonical_document: String,
    document_hash: String,
    canonical_proof: String,
    proof_hash: String,
}

fn vector(folder: &Path) -> Vector {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    Vector {
        signed: serde_json::from_str(&text("signedDataInt.json")).unwrap(),
        canonical_document: text("canonDocDataInt.txt"),
        document_hash: text("docHashDataInt.txt").trim().to_owned(),
        canonical_proof: text("proofCanonDataInt.txt"),
        proof_hash: text("proofHashDataInt.txt").trim().to_owned(),
    }
}

/// The document without its proof, and the proof options under the document's context.
fn parts(signed: &Value) -> (Value, Value) {
    let mut document = signed.clone();
    let mut proof = document.as_object_mut().unwrap().remove("proof").unwrap();
    let options = proof.as_object_mut().unwrap();
    options.remove("proofValue").unwrap();
    options.insert("@context".into(), signed["@context"].clone());
    (document, proof)
}

fn assert_vector(vector: &Vector, document: &Value, options: &Value) {
    assert_eq!(canonical(document), vector.canonical_document);
    assert_eq!(Digest::of(&vector.canonical_document).to_string(), vector.document_hash);
    assert_eq!(canonical(options), vector.canonical_proof);
    assert_eq!(Digest::of(&vector.canonical_proof).to_string(), vector.proof_hash);
}

#[test]
fn w3c_eddsa_rdfc_2022_alumni_credential() {
    let Some(folder) = shared("suites/vc-di-eddsa/eddsa-rdfc-2022") else { return };
    let vector = vector(&folder);
    let (document, options) = parts(&vector.signed);
    assert_vector(&vector, &document, &options);
}

/// This vector's second context is not pinned, so its terms are defined inline, each by its IRI in the canonical form.
#[test]
fn w3c_eddsa_rdfc_2022_employment_credential() {
    let Some(folder) = shared("suites/vc-di-eddsa/eddsa-rdfc-2022/employ") else { return };
    let vector = vector(&folder);
    assert!(matches!(parse_paper(&vector.signed, &Limits::default()), Err(RdfError::RemoteContext(_))));
    let (mut document, mut options) = parts(&vector.signed);
    let inline = inline_context(&vector.canonical_document);
    document["@context"][1] = inline.clone();
    options["@context"][1] = inline;
    assert_vector(&vector, &document, &options);
}

fn inline_context(canonical: &str) -> Value {
    let mut context = json!({});
    let citizenship = canonical
        .split(['<', '>'])
        .filter(|iri| iri.contains("citizenship") || iri.starts_with("https://schema.org/"));
    for iri in citizenship {
        let name = iri.rsplit(['#', '/']).next().unwrap();
        if matches!(name, "name" | "description") {
            continue;
        }
        context[name] = match name {
            "image" => json!({"@id": iri, "@type": "@id"}),
            "residentSince" | "birthDate" => {
                json!({"@id": iri, "@type": "http://www.w3.org/2001/XMLSchema#dateTime"})
            }
            _ => json!(iri),
        };
    }
    context
}

#[test]
fn expanded_json_ld_hashes_like_the_turtle_of_the_same_graph() {
    let cases = "vectors/a2a-rdf/cases/pd-hash-stable-across-representations/protocol-document.jsonld";
    let Some(path) = shared(cases) else { return };
    let limits = Limits::default();
    let graph = parse_document(&std::fs::read_to_string(path).unwrap(), &limits).unwrap();
    let hash = ProtocolHash::of_canonical(&canon::graph(&graph, &mut Budget::new(&limits)).unwrap());
    assert_eq!(hash.as_str(), "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509");
}
