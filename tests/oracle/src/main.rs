//! Signs and verifies papers with ssi, for tests/it/interop.rs.
//!
//! One JSON array of requests on standard input, one array of answers on standard output, in the same order. Contexts
//! come from the library itself and verification methods from the request: nothing is fetched.

use serde_json::{Value, json};
use ssi::JWK;
use ssi::claims::VerificationParameters;
use ssi::claims::data_integrity::{
    AnyDataIntegrity, AnySuite, CryptographicSuite, DataIntegrityDocument, ProofOptions,
};
use ssi::claims::jws::{JwsBuf, JwsPayload};
use ssi::json_ld::iref::IriBuf;
use ssi::verification_methods::{AnyMethod, ProofPurpose, ReferenceOrOwned, SingleSecretSigner};
use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;

type Methods = HashMap<IriBuf, AnyMethod>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let requests: Vec<Value> = serde_json::from_reader(std::io::stdin())?;
    let mut answers = Vec::new();
    for request in requests {
        answers.push(match answer(&request).await {
            Ok(answer) => json!({ "answer": answer }),
            Err(failure) => json!({ "failure": failure.to_string() }),
        });
    }
    serde_json::to_writer(std::io::stdout(), &answers)?;
    Ok(())
}

async fn answer(request: &Value) -> Result<Value, Box<dyn Error>> {
    let methods = methods(request)?;
    match request["operation"].as_str() {
        Some("issue") => {
            let mut proofs = Vec::new();
            let mut document = request["credential"].clone();
            for key in request["keys"].as_array().ok_or("keys")? {
                let signed = sign(&document, key, ProofPurpose::Assertion, request, &methods).await?;
                proofs.push(signed["proof"].clone());
            }
            document["proof"] = match proofs.as_slice() {
                [one] => one.clone(),
                _ => Value::Array(proofs),
            };
            Ok(document)
        }
        Some("present") => {
            let purpose = ProofPurpose::Authentication;
            sign(&request["presentation"], &request["key"], purpose, request, &methods).await
        }
        Some("verifyCredential") => verify(&request["credential"], request, methods).await,
        Some("verifyPresentation") => {
            // ssi compares neither challenge nor domain, and looks at the credentials as content alone.
            let presentation = &request["presentation"];
            let proof = &presentation["proof"];
            if proof["challenge"] != request["challenge"] || proof["domain"] != request["domain"] {
                return Ok(json!({ "verified": false, "why": "challenge or domain" }));
            }
            for credential in presentation["verifiableCredential"].as_array().ok_or("credentials")? {
                let answer = verify(credential, request, methods.clone()).await?;
                if answer["verified"] != true {
                    return Ok(answer);
                }
            }
            verify(presentation, request, methods).await
        }
        Some("signJws") => {
            let mut secret = request["key"]["jwk"].clone();
            secret["kid"] = request["key"]["id"].clone();
            let secret: JWK = serde_json::from_value(secret)?;
            Ok(Payload(request).sign(&secret).await?.to_string().into())
        }
        Some("verifyJws") => verify_jws(request).await,
        other => Err(format!("unknown operation {other:?}").into()),
    }
}

/// What a request wants in a JWS. ssi's own types of papers in a JWS have the media types of an early draft.
struct Payload<'r>(&'r Value);

impl JwsPayload for Payload<'_> {
    fn typ(&self) -> Option<&str> {
        self.0["typ"].as_str()
    }

    fn cty(&self) -> Option<&str> {
        self.0["cty"].as_str()
    }

    fn payload_bytes(&self) -> Cow<'_, [u8]> {
        self.0["payload"].to_string().into_bytes().into()
    }
}

async fn verify_jws(request: &Value) -> Result<Value, Box<dyn Error>> {
    let jws = JwsBuf::new(request["jws"].as_str().ok_or("jws")?.to_owned().into_bytes())
        .map_err(|_| "no compact JWS")?;
    let decoded = jws.decode()?;
    let header = decoded.header();
    let kid = header.key_id.as_deref().ok_or("kid")?;
    if header.type_.as_deref() != request["typ"].as_str() {
        return Ok(json!({ "verified": false, "why": "typ" }));
    }
    let payload: Value = serde_json::from_slice(&decoded.signing_bytes.payload)?;
    if payload.get("nonce") != request.get("nonce") || payload.get("aud") != request.get("audience") {
        return Ok(json!({ "verified": false, "why": "nonce or aud" }));
    }
    let keys = request["keys"].as_array().ok_or("keys")?;
    let mut public = keys.iter().find(|key| key["id"] == kid).ok_or("no such key")?["jwk"].clone();
    public.as_object_mut().ok_or("jwk")?.remove("d");
    let public: JWK = serde_json::from_value(public)?;
    let mut parameters = VerificationParameters::from_resolver(public);
    parameters.date_time = Some(request["now"].as_str().ok_or("now")?.parse()?);
    Ok(match jws.verify(parameters).await? {
        Ok(()) => json!({ "verified": true }),
        Err(why) => json!({ "verified": false, "why": why.to_string() }),
    })
}

/// Every verification method of the request: those of its controllers, and those of its keys.
fn methods(request: &Value) -> Result<Methods, Box<dyn Error>> {
    let of_controllers = request["controllers"].as_array().into_iter().flatten();
    let of_controllers =
        of_controllers.filter_map(|controller| controller["verificationMethod"].as_array()).flatten();
    let keys = request["keys"].as_array().into_iter().flatten().chain(request.get("key"));
    let mut methods = HashMap::new();
    for method in of_controllers.chain(keys) {
        let public = json!({
            "id": method["id"], "type": "Multikey", "controller": method["controller"],
            "publicKeyMultibase": method["publicKeyMultibase"],
        });
        let public: AnyMethod = serde_json::from_value(public)?;
        methods.insert(method["id"].as_str().ok_or("id")?.parse()?, public);
    }
    Ok(methods)
}

async fn sign(
    document: &Value,
    key: &Value,
    purpose: ProofPurpose,
    request: &Value,
    methods: &Methods,
) -> Result<Value, Box<dyn Error>> {
    let secret: JWK = serde_json::from_value(key["jwk"].clone())?;
    let suite = if key["jwk"]["kty"] == "OKP" { AnySuite::EdDsaRdfc2022 } else { AnySuite::EcdsaRdfc2019 };
    let method: IriBuf = key["id"].as_str().ok_or("id")?.parse()?;
    let mut options = ProofOptions::from_method(ReferenceOrOwned::Reference(method));
    options.proof_purpose = purpose;
    options.created = Some(request["created"].as_str().ok_or("created")?.parse()?);
    options.challenge = request["challenge"].as_str().map(str::to_owned);
    options.domains = request["domain"].as_str().map(str::to_owned).into_iter().collect();
    let document: DataIntegrityDocument = serde_json::from_value(document.clone())?;
    let signer = SingleSecretSigner::new(secret).into_local();
    Ok(serde_json::to_value(suite.sign(document, methods, signer, options).await?)?)
}

async fn verify(document: &Value, request: &Value, methods: Methods) -> Result<Value, Box<dyn Error>> {
    let document: AnyDataIntegrity = serde_json::from_value(document.clone())?;
    let mut parameters = VerificationParameters::from_resolver(methods);
    parameters.date_time = Some(request["now"].as_str().ok_or("now")?.parse()?);
    Ok(match document.verify(parameters).await? {
        Ok(()) => json!({ "verified": true }),
        Err(why) => json!({ "verified": false, "why": why.to_string() }),
    })
}
