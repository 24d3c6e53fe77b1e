//! `ecdsa-rdfc-2019`: keys of P-256 and P-384 wherever Ed25519 signs, and what of their signatures is refused.

use super::context_free::{signed_by, unsigned};
use super::*;
use crate::credential::context_free;
use crate::credential::controller::KeySource;
use crate::credential::data_integrity::{self, Proof, ProofOf, Secured};
use crate::credential::issue::{Presenting, present};
use crate::credential::key::{PublicKey, decode_base58btc, encode_base58btc};
use crate::rdf::canon::{self, HashAlgorithm};
use crate::rdf::jsonld;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use oxttl::NQuadsParser;

const EC: [KeyType; 2] = [KeyType::P256, KeyType::P384];

/// The order of each curve (SEC 2 2.4.2 and 2.5.1), big-endian.
const P256_ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
const P384_ORDER: &str =
    "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973";

fn octets(hexadecimal: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap();
    (0..hexadecimal.len()).step_by(2).map(digit).collect()
}

fn order(key_type: KeyType) -> Vec<u8> {
    octets(if key_type == KeyType::P384 { P384_ORDER } else { P256_ORDER })
}

fn issued_by(key: &SigningKey) -> Value {
    issue_mandate(key, &terms(DELEGATE), now()).unwrap()
}

fn signature_of(document: &Value) -> Vec<u8> {
    decode_base58btc(document["proof"]["proofValue"].as_str().unwrap(), 200).unwrap()
}

fn with_signature(document: &Value, signature: &[u8]) -> Value {
    let mut document = document.clone();
    document["proof"]["proofValue"] = json!(encode_base58btc(signature));
    document
}

/// The reason and its detail.
fn refusal(document: &Value) -> (Reason, String) {
    let error = read(document).unwrap().verify(&snapshot(), chrono::TimeDelta::days(1)).unwrap_err();
    (error.reason, error.evidence.detail.unwrap())
}

// --- The W3C vectors of vc-di-ecdsa ---------------------------------------------------------------------------------

/// A published vector: the key pair, the hexadecimal of what is signed, and the proof's value.
struct Published {
    key_type: KeyType,
    public: &'static str,
    secret: &'static str,
    combined: &'static str,
    value: &'static str,
}

/// `ecdsa-rdfc-2019-p256` and `-p384`, of the alumni credential.
const ALUMNI: [Published; 2] = [
    Published {
        key_type: KeyType::P256,
        public: "zDnaepBuvsQ8cpsWrVKw8fbpGpvPeNSjVPTWoq6cRqaYzBKVP",
        secret: "z42twTcNeSYcnqg1FLuSFs2bsGH3ZqbRHFmvS9XMsYhjxvHN",
        combined: "3a8a522f689025727fb9d1f0fa99a618da023e8494ac74f51015d009d35abc2e\
                   517744132ae165a5349155bef0bb0cf2258fff99dfe1dbd914b938d775a36017",
        value: "zaHXrr7AQdydBk3ahpCDpWbxfLokDqmCToYm2dyWvpcFVyWooC2he63w1f7UNQoAMKdhaRtcnaE2KTo5o5vTCcfw",
    },
    Published {
        key_type: KeyType::P384,
        public: "z82LkuBieyGShVBhvtE2zoiD6Kma4tJGFtkAhxR5pfkp5QPw4LutoYWhvQCnGjdVn14kujQ",
        secret: "z2fanyY7zgwNpZGxX5fXXibvScNaUWNprHU9dKx7qpVj7mws9J8LLt4mDB5TyH2GLHWkUc",
        combined: "e32805a26492eac777aa7a138f6d8da3c74e0c7be7b296dcaccf97420c3b92ea\
                   ad7be6449ca565e165031567f5c7cbc18bf6e01df72c5b62f91b685231915ac4\
                   b8c58ea95f002c6b8f6bfafa1b251df476b56b8e01518e317dab099d3ecbff96",
        value: "z967Mvv5bxtmLNqTzPZ8KmJjFmFXaAKeQNzq7GWnQkMcLtaGSSmuozE5WtJ8PipMe178B1tE28K1vsJur9bGVJhz6jgSJsRHFSQeqgH8hhjcg8gZDFJC1b9FsR5ggNmDBqHv",
    },
];

/// The canonical form that the vectors `employ` of P-384 publish, in which RDFC-1.0 numbers three blank nodes by SHA-384.
const EMPLOYMENT: &str = include_str!("ecdsa_employment.nq");
/// The second half of its `combinedHash`.
const EMPLOYMENT_SHA384: &str =
    "ffa6b1172d137cd8aa141154c1ed9c6e092edb18fb524b1626df8c08cbc755b9f617481313061c19f00acce59ab23704";

impl Published {
    fn document(&self) -> Value {
        json!({
            "@context": ["https://www.w3.org/ns/credentials/v2", "https://www.w3.org/ns/credentials/examples/v2"],
            "id": "urn:uuid:58172aac-d8ba-11ed-83dd-0b3aef56cc33",
            "type": ["VerifiableCredential", "AlumniCredential"],
            "name": "Alumni Credential",
            "description": "A minimum viable example of an Alumni Credential.",
            "issuer": "https://vc.example/issuers/5678",
            "validFrom": "2023-01-01T00:00:00Z",
            "credentialSubject": { "id": "did:example:abcdefgh", "alumniOf": "The School of Examples" },
            "proof": {
                "type": "DataIntegrityProof",
                "cryptosuite": "ecdsa-rdfc-2019",
                "created": "2023-02-24T23:36:38Z",
                "verificationMethod": format!("did:key:{0}#{0}", self.public),
                "proofPurpose": "assertionMethod",
                "proofValue": self.value,
            },
        })
    }
}

#[test]
fn the_published_ecdsa_vectors_verify_and_are_reproduced() {
    for vector in ALUMNI {
        let limits = Limits::default();
        let secured = Secured::split(&vector.document()).unwrap();
        let quads = jsonld::parse_paper(&secured.unsecured, &limits).unwrap();
        let sha256 = Digest::of(canon::quads(&quads, HashAlgorithm::Sha256, &mut budget()).unwrap());
        let proof = secured.proofs.first().unwrap();
        let options = data_integrity::options(proof, &secured.context, &limits).unwrap();
        let mut document = DocumentHash::new(sha256, &quads);
        let signed = document.signed_octets(vector.key_type, &options, &mut budget()).unwrap().unwrap();
        assert_eq!(signed, octets(vector.combined));
        let proof =
            Proof::read(proof, &secured.context, &mut document, ProofOf::Credential, &limits, &mut budget());
        let statement = proof.unwrap().statement.unwrap();
        let key = PublicKey::from_multikey(vector.public).unwrap();
        statement.verify(&key).unwrap();
        // Signatures need not be deterministic; by RFC 6979 they are, and then they are the published ones.
        let secret = decode_base58btc(vector.secret, 80).unwrap();
        let secret = SigningKey::from_secret(vector.key_type, &secret[2..]).unwrap();
        assert_eq!(secret.public_key_multibase(), vector.public);
        assert_eq!(encode_base58btc(&secret.sign(&signed)), vector.value);
    }
}

#[test]
fn p384_canonicalizes_with_sha384_throughout() {
    let quads: Vec<_> = NQuadsParser::new().for_slice(EMPLOYMENT).map(Result::unwrap).collect();
    assert_eq!(canon::quads(&quads, HashAlgorithm::Sha384, &mut budget()).unwrap(), EMPLOYMENT);
    let sha256 = canon::quads(&quads, HashAlgorithm::Sha256, &mut budget()).unwrap();
    assert_ne!(sha256, EMPLOYMENT, "the labels of SHA-256 are others");
    let options = data_integrity::options(
        &options(&ec(KeyType::P384, 1), "assertionMethod"),
        &json!(["https://www.w3.org/ns/credentials/v2"]),
        &Limits::default(),
    );
    let signed = DocumentHash::new(Digest::of(sha256), &quads)
        .signed_octets(KeyType::P384, &options.unwrap(), &mut budget())
        .unwrap()
        .unwrap();
    assert_eq!(signed[48..], octets(EMPLOYMENT_SHA384));
}

// --- Keys -----------------------------------------------------------------------------------------------------------

#[test]
fn mandates_and_presentations_of_ec_keys_verify() {
    for key_type in EC {
        let key = ec(key_type, 1);
        let document = issued_by(&key);
        assert_eq!(document["proof"]["cryptosuite"], json!("ecdsa-rdfc-2019"));
        assert_eq!(signature_of(&document).len(), if key_type == KeyType::P384 { 96 } else { 64 });
        assert_eq!(phase_a(&document), Ok(()));
        let mut tampered = document.clone();
        tampered["validUntil"] = json!("2026-12-31T00:00:00Z");
        assert_eq!(phase_a(&tampered), Err(Reason::InvalidSignature));
        let holder = ec(key_type, 2);
        let held = issue_mandate(&key, &terms(holder.controller()), now()).unwrap();
        let presenting = Presenting {
            challenge: "nonce-of-16-octets",
            domain: "https://a.example",
            created: now(),
            expires: None,
        };
        // `present` verifies what it made; the message's way is taken in tests/it.
        assert!(present(&holder, &[held], &presenting).is_ok());
    }
}

#[test]
fn an_ec_key_file_reads_back_as_the_same_key() {
    for key_type in EC {
        let key = SigningKey::generate_of(key_type).unwrap();
        let again = SigningKey::from_json(&key.to_json()).unwrap();
        assert_eq!((again.key_type(), again.to_json()), (key_type, key.to_json()));
        let mut other = key.to_json();
        other["publicKeyMultibase"] = json!(ec(key_type, 9).public_key_multibase());
        assert!(SigningKey::from_json(&other).is_err());
        let length = order(key_type).len();
        for no_secret in [vec![0; length], order(key_type), vec![1; length - 1], vec![1; length + 1]] {
            assert!(SigningKey::from_secret(key_type, &no_secret).is_err());
        }
    }
}

#[test]
fn a_controller_document_has_an_ec_key_in_either_form_or_both() {
    for key_type in EC {
        let key =
            ec(key_type, 1).with_controller("https://issuer.example/id", "https://issuer.example/keys#k1");
        let credential = read(&issued_by(&key)).unwrap();
        let verify = |method: Value| {
            let mut document = key.controller_document();
            for member in ["publicKeyMultibase", "publicKeyJwk"] {
                document["verificationMethod"][0].as_object_mut().unwrap().remove(member);
                if let Some(form) = method.get(member) {
                    document["verificationMethod"][0][member] = form.clone();
                }
            }
            let mut controllers = ControllerDocuments::default();
            controllers.insert(key.controller(), document, now());
            let verified = credential.verify(&snapshot_with(controllers), chrono::TimeDelta::days(1));
            verified.map(|_| ()).map_err(|error| error.reason)
        };
        let (multikey, own, other) = (key.public_key_multibase(), jwk(&key), jwk(&ec(key_type, 2)));
        assert_eq!(verify(json!({ "publicKeyMultibase": multikey })), Ok(()));
        assert_eq!(verify(json!({ "publicKeyJwk": own })), Ok(()));
        assert_eq!(verify(json!({ "publicKeyMultibase": multikey, "publicKeyJwk": own })), Ok(()));
        let two = json!({ "publicKeyMultibase": multikey, "publicKeyJwk": other });
        assert_eq!(verify(two), Err(Reason::IssuerMismatch));
        assert_eq!(verify(json!({ "publicKeyJwk": other })), Err(Reason::InvalidSignature));
        let ed25519 = issuer().public_key_multibase();
        assert_eq!(verify(json!({ "publicKeyMultibase": ed25519 })), Err(Reason::InvalidSignature));
    }
}

#[test]
fn a_did_jwk_signs_with_an_ec_key() {
    for key_type in EC {
        let key = ec(key_type, 1);
        let did = format!("did:jwk:{}", URL_SAFE_NO_PAD.encode(jwk(&key).to_string()));
        let by = |method: String| {
            let key = key.clone().with_controller(&did, method);
            let mut document = issued_by(&ec(key_type, 1));
            document["issuer"] = json!(did);
            document["credentialSubject"]["id"] = json!(did);
            phase_a(&signed_with(document, &key, options(&key, "assertionMethod")))
        };
        assert_eq!(by(format!("{did}#0")), Ok(()));
        assert_eq!(by(format!("{did}#1")), Err(Reason::IssuerMismatch));
    }
}

/// The public key as a JWK.
fn jwk(key: &SigningKey) -> Value {
    let (curve, point) = match key.public_key() {
        PublicKey::P256(key) => ("P-256", key.to_encoded_point(false).as_bytes().to_vec()),
        PublicKey::P384(key) => ("P-384", key.to_encoded_point(false).as_bytes().to_vec()),
        PublicKey::Ed25519(_) => panic!("an EC key"),
    };
    let (x, y) = point[1..].split_at((point.len() - 1) / 2);
    json!({ "kty": "EC", "crv": curve, "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y) })
}

// --- Signatures -----------------------------------------------------------------------------------------------------

#[test]
fn a_key_of_another_type_than_the_suites_is_an_invalid_signature() {
    let keys = [issuer(), ec(KeyType::P256, 1), ec(KeyType::P384, 1)];
    for key in &keys {
        for other in &keys {
            // The method is the issuer's; suite and signature are another key's, over the same document.
            let document = issued_by(key);
            let mut options = options(key, "assertionMethod");
            options["cryptosuite"] = json!(Suite::of(other.key_type()).name());
            let document = signed_with(document, other, options);
            let expected =
                if key.key_type() == other.key_type() { Ok(()) } else { Err(Reason::InvalidSignature) };
            assert_eq!(phase_a(&document), expected, "{:?} {:?}", key.key_type(), other.key_type());
        }
    }
    // The same key, the same octets: only the name of the suite differs.
    for (key, suite) in [(&keys[0], "ecdsa-rdfc-2019"), (&keys[1], "eddsa-rdfc-2022")] {
        let mut options = options(key, "assertionMethod");
        options["cryptosuite"] = json!(suite);
        let (reason, detail) = refusal(&signed_with(issued_by(key), key, options));
        assert_eq!(reason, Reason::InvalidSignature);
        assert!(detail.contains("another type"), "{detail}");
    }
}

#[test]
fn an_ecdsa_signature_has_its_curves_length_and_range() {
    for key_type in EC {
        let document = issued_by(&ec(key_type, 1));
        let signature = signature_of(&document);
        let (r, s) = signature.split_at(signature.len() / 2);
        let (zero, order) = (vec![0; r.len()], order(key_type));
        let above = vec![0xff; r.len()];
        let der = [&[0x30, 2 * (2 + 32), 2, 32][..], &r[..32], &[2, 32], &s[..32]].concat();
        let bad: [(&str, Vec<u8>); 10] = [
            ("r zero", [&zero, s].concat()),
            ("s zero", [r, &zero].concat()),
            ("both zero", [&zero[..], &zero].concat()),
            ("r the order", [&order, s].concat()),
            ("s the order", [r, &order].concat()),
            ("r above", [&above, s].concat()),
            ("s above", [r, &above].concat()),
            ("DER", der),
            ("cut", signature[1..].to_vec()),
            ("padded", [&[0], &signature[..]].concat()),
        ];
        for (name, octets) in bad {
            assert_eq!(refusal(&with_signature(&document, &octets)).0, Reason::InvalidSignature, "{name}");
        }
        // A signature of the other curve's length, by whichever key.
        let other = if key_type == KeyType::P256 { vec![7; 96] } else { vec![7; 64] };
        let (reason, detail) = refusal(&with_signature(&document, &other));
        assert_eq!(reason, Reason::InvalidSignature);
        assert!(detail.contains("another type"), "{detail}");
        for value in [json!("z"), json!("u1234"), json!(7), json!(format!("z{}", "1".repeat(100_000)))] {
            let mut document = document.clone();
            document["proof"]["proofValue"] = value;
            assert_eq!(refusal(&document).0, Reason::InvalidSignature);
        }
        // n - s is as good as s by every standard of these curves, so no check relies on a signature's octets.
        assert_eq!(phase_a(&with_signature(&document, &twin(&signature, key_type))), Ok(()));
    }
}

/// r and n - s.
fn twin(signature: &[u8], key_type: KeyType) -> Vec<u8> {
    let (r, s) = signature.split_at(signature.len() / 2);
    let mut borrow = 0i16;
    let mut difference: Vec<u8> = order(key_type)
        .iter()
        .zip(s)
        .rev()
        .map(|(of_order, of_s)| {
            let octet = i16::from(*of_order) - i16::from(*of_s) - borrow;
            borrow = i16::from(octet < 0);
            u8::try_from(octet.rem_euclid(256)).unwrap()
        })
        .collect();
    difference.reverse();
    [r, &difference].concat()
}

#[test]
fn proof_sets_mix_suites_and_every_proof_must_hold() {
    let key = issuer().with_controller("https://issuer.example/id", "https://issuer.example/keys#ed");
    let others = [ec(KeyType::P256, 1), ec(KeyType::P384, 1)].map(|key| {
        key.clone().with_controller(
            "https://issuer.example/id",
            format!("https://issuer.example/keys#{:?}", key.key_type()),
        )
    });
    let mut document = issued_by(&key);
    let mut of_controller = key.controller_document();
    let mut proofs = vec![document["proof"].clone()];
    for other in &others {
        let listed = other.controller_document();
        for member in ["verificationMethod", "assertionMethod"] {
            of_controller[member].as_array_mut().unwrap().push(listed[member][0].clone());
        }
        let options = options(other, "assertionMethod");
        proofs.push(signed_with(document.clone(), other, options)["proof"].clone());
    }
    let verify = |document: &Value| {
        let mut controllers = ControllerDocuments::default();
        controllers.insert(key.controller(), of_controller.clone(), now());
        let verified =
            read(document).unwrap().verify(&snapshot_with(controllers), chrono::TimeDelta::days(1));
        verified.map(|_| ()).map_err(|error| error.reason)
    };
    document["proof"] = json!(proofs);
    assert_eq!(verify(&document), Ok(()));
    for place in 0..3 {
        let mut document = document.clone();
        let length = if place == 2 { 96 } else { 64 };
        document["proof"][place]["proofValue"] = json!(encode_base58btc(&vec![1; length]));
        assert_eq!(verify(&document), Err(Reason::InvalidSignature), "{place}");
    }
}

#[test]
fn a_p384_proof_pays_for_its_own_canonical_form_once() {
    let key = ec(KeyType::P384, 1);
    let document = issued_by(&key);
    let runs = |document: &Value| {
        (1..20)
            .find(|runs| {
                let limits = Limits { canonicalizations: *runs, ..Limits::default() };
                Credential::read(document, &limits, &mut Budget::new(&limits)).is_ok()
            })
            .unwrap()
    };
    assert_eq!(runs(&mandate()), 2, "document and options");
    assert_eq!(runs(&issued_by(&ec(KeyType::P256, 1))), 2);
    assert_eq!(runs(&document), 3, "and the document by SHA-384");
    let mut twice = document.clone();
    twice["proof"] = json!([document["proof"], document["proof"]]);
    assert_eq!(runs(&twice), 4, "one more for the second proof's options");
}

// --- The context-free profile ---------------------------------------------------------------------------------------

#[test]
fn the_context_free_profile_takes_p256_and_not_p384() {
    let by = |key: &SigningKey| {
        let mut document = unsigned();
        document["issuer"] = json!(key.controller());
        document["credentialSubject"]["id"] = json!(key.controller());
        signed_by(document, key, options(key, "assertionMethod"))
    };
    let judge = |document: &Value| {
        let credential = context_free::credential(document, &Limits::default(), &mut budget()).unwrap();
        let documents = ControllerDocuments::default();
        let keys = KeySource { documents: &documents, now: now(), max_age: chrono::TimeDelta::days(1) };
        credential.verify_with(&keys).map(|_| ()).map_err(|error| error.reason)
    };
    let document = by(&ec(KeyType::P256, 1));
    assert_eq!(judge(&document), Ok(()));
    let signature = signature_of(&document);
    assert_eq!(judge(&with_signature(&document, &twin(&signature, KeyType::P256))), Ok(()));
    assert_eq!(judge(&with_signature(&document, &[1; 64])), Err(Reason::InvalidSignature));
    assert_eq!(judge(&by(&ec(KeyType::P384, 1))), Err(Reason::InvalidSignature));
}
