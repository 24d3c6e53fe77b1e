//! Controller documents: whose a key is, and for what.

use super::date_time;
use super::key::{DID_JWK, DID_KEY, KeyError, PublicKey, did_key_method};
use super::known::Known;
use crate::request::Instant;
use crate::source;
use chrono::TimeDelta;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Controlled identifier documents, with the instant at which each was retrieved. Filled off the decision path.
///
/// A document that the operator placed is under its own `id`. One that was retrieved is under its URL, and counts for the
/// controller alone whose document that URL holds (did:web, WebID), however many others it names.
#[derive(Debug, Clone, Default)]
pub struct ControllerDocuments {
    documents: BTreeMap<String, (Value, Instant)>,
    retrieved: BTreeMap<String, (Value, Instant)>,
}

impl ControllerDocuments {
    /// Adds a document, read strictly by the caller, under its `id`.
    pub fn insert(&mut self, id: impl Into<String>, document: Value, retrieved: Instant) {
        self.documents.insert(id.into(), (document, retrieved));
    }

    /// Adds what was retrieved from `url`, read strictly by the caller.
    pub fn insert_retrieved(&mut self, url: impl Into<String>, document: Value, retrieved: Instant) {
        self.retrieved.insert(url.into(), (document, retrieved));
    }

    /// The document that counts for a controller: the one that the operator placed under this id, or else the one that
    /// was retrieved from the controller's URL.
    pub(crate) fn of_controller(&self, controller: &str) -> Option<(&Value, Instant)> {
        self.find(controller).or_else(|| {
            let (document, retrieved) = self.retrieved.get(&source::controller_url(controller)?)?;
            Some((document, *retrieved))
        })
    }

    /// The document that the operator placed under `id` and the instant at which it was retrieved.
    pub fn find(&self, id: &str) -> Option<(&Value, Instant)> {
        self.documents.get(id).map(|(document, retrieved)| (document, *retrieved))
    }

    /// All documents that were retrieved, in order of their URLs.
    pub(crate) fn iter_retrieved(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.retrieved.iter().map(|(url, (document, _))| (url.as_str(), document))
    }

    /// The same, with the instants at which they were retrieved.
    pub(crate) fn iter_retrieved_at(&self) -> impl Iterator<Item = (&str, &Value, Instant)> {
        self.retrieved.iter().map(|(url, (document, retrieved))| (url.as_str(), document, *retrieved))
    }

    /// All documents that the operator placed, in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value, Instant)> {
        self.documents.iter().map(|(id, (document, retrieved))| (id.as_str(), document, *retrieved))
    }
}

/// What a controller's document may say that a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relationship {
    /// Signing credentials.
    AssertionMethod,
    /// Signing presentations.
    Authentication,
}

impl Relationship {
    fn member(self) -> &'static str {
        match self {
            Self::AssertionMethod => "assertionMethod",
            Self::Authentication => "authentication",
        }
    }
}

/// A verification method that its controller lists for the relationship asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerificationMethod {
    pub(crate) key: PublicKey,
    /// The last instant at which it can be known to be its controller's: until its document is too old, or its own
    /// `revoked` or `expires`. `None` for a did:key or did:jwk, which certifies itself.
    pub(crate) good_until: Option<Instant>,
}

/// Why a method is not its supposed controller's, in our words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MethodError {
    /// The controller does not have this method, for this relationship, now.
    #[error("{0}")]
    NotControlled(&'static str),
    /// It does, but the method's key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Which documents count, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeySource<'a> {
    pub(crate) documents: &'a ControllerDocuments,
    pub(crate) now: Instant,
    /// An older document does not count.
    pub(crate) max_age: TimeDelta,
}

impl KeySource<'_> {
    /// Finds the method `method` of `controller` for `relationship`: control must hold both ways (`mandate.md` 1).
    ///
    /// # Errors
    /// [`MethodError`]
    pub(crate) fn find(
        &self,
        controller: &str,
        method: &str,
        relationship: Relationship,
    ) -> Result<VerificationMethod, MethodError> {
        self.find_knowing(controller, method, relationship, &Known::nothing())
    }

    /// [`KeySource::find`], where a key may be known already. Whose it is, and for what, is looked up each time.
    ///
    /// # Errors
    /// [`MethodError`]
    pub(crate) fn find_knowing(
        &self,
        controller: &str,
        method: &str,
        relationship: Relationship,
        known: &Known<'_>,
    ) -> Result<VerificationMethod, MethodError> {
        if let Some(multikey) = controller.strip_prefix(DID_KEY) {
            // Self-certifying: a document under this id could only contradict it, so none is looked at.
            return match did_key_method(controller) {
                Some(only) if only == method => {
                    Ok(VerificationMethod { key: known.public_key(multikey)?, good_until: None })
                }
                _ => Err(MethodError::NotControlled("the method is not the one of the did:key")),
            };
        }
        if controller.starts_with(DID_JWK) {
            return match method.strip_prefix(controller) {
                Some("#0") => {
                    Ok(VerificationMethod { key: PublicKey::from_did_jwk(controller)?, good_until: None })
                }
                _ => Err(MethodError::NotControlled("the method is not the one of the did:jwk")),
            };
        }
        let (document, retrieved) = self
            .documents
            .of_controller(controller)
            .ok_or(MethodError::NotControlled("no document of the controller is known here"))?;
        let aged = retrieved
            .checked_add_signed(self.max_age)
            .filter(|end| self.now <= *end)
            .ok_or(MethodError::NotControlled("the controller's document is too old"))?;
        let entry = listed_method(document, controller, method, relationship)?;
        let ended = self.check_dates(entry)?;
        let good_until = ended.map_or(aged, |ended| ended.min(aged));
        Ok(VerificationMethod { key: method_key(entry, known)?, good_until: Some(good_until) })
    }

    /// `revoked` and `expires`, where there, must lie ahead; one that does not parse has been reached. Gives the last
    /// instant before the first of them.
    fn check_dates(&self, entry: &Map<String, Value>) -> Result<Option<Instant>, MethodError> {
        let mut last: Option<Instant> = None;
        for (member, refusal) in [("revoked", "the method is revoked"), ("expires", "the method has expired")]
        {
            let Some(value) = entry.get(member) else { continue };
            let before = value
                .as_str()
                .and_then(date_time::parse)
                .and_then(|end| end.checked_sub_signed(TimeDelta::nanoseconds(1)))
                .filter(|before| self.now <= *before)
                .ok_or(MethodError::NotControlled(refusal))?;
            last = Some(last.map_or(before, |last| last.min(before)));
        }
        Ok(last)
    }
}

/// The one entry of the document that has the method's id, if the document lists it under the relationship and the
/// entry names the document as its controller.
fn listed_method<'a>(
    document: &'a Value,
    controller: &str,
    method: &str,
    relationship: Relationship,
) -> Result<&'a Map<String, Value>, MethodError> {
    if document.get("id").and_then(Value::as_str) != Some(controller) {
        return Err(MethodError::NotControlled("the document is not the controller's"));
    }
    let mut entries = METHOD_MEMBERS
        .iter()
        .flat_map(|member| items(document.get(*member)))
        .filter_map(Value::as_object)
        .filter(|entry| text(entry, "id") == Some(method));
    let entry = entries.next().ok_or(MethodError::NotControlled("the document has no such method"))?;
    if entries.next().is_some() {
        return Err(MethodError::NotControlled("the document has several methods of one id"));
    }
    let listed = items(document.get(relationship.member())).iter().any(|item| match item {
        Value::String(id) => id == method,
        Value::Object(embedded) => text(embedded, "id") == Some(method),
        _ => false,
    });
    if !listed {
        return Err(MethodError::NotControlled("the method is not listed for this relationship"));
    }
    if text(entry, "controller") != Some(controller) {
        return Err(MethodError::NotControlled("the method names another controller"));
    }
    Ok(entry)
}

/// Where a controlled identifier document may define a method: in the list, or embedded in a relationship.
const METHOD_MEMBERS: [&str; 6] = [
    "verificationMethod",
    "assertionMethod",
    "authentication",
    "keyAgreement",
    "capabilityInvocation",
    "capabilityDelegation",
];

/// Members that hold a secret: a method that publishes one is anybody's.
const SECRET_MEMBERS: [&str; 5] =
    ["secretKeyMultibase", "secretKeyJwk", "privateKeyMultibase", "privateKeyJwk", "privateKeyBase58"];

/// The key of a method, in either or both of its forms.
fn method_key(entry: &Map<String, Value>, known: &Known<'_>) -> Result<PublicKey, MethodError> {
    if !matches!(text(entry, "type"), Some("Multikey" | "JsonWebKey")) {
        return Err(MethodError::NotControlled("the method is neither a Multikey nor a JsonWebKey"));
    }
    if SECRET_MEMBERS.iter().any(|member| entry.contains_key(*member)) {
        return Err(MethodError::NotControlled("the method publishes its secret"));
    }
    let multikey = match entry.get("publicKeyMultibase") {
        None => None,
        Some(Value::String(multikey)) => Some(known.public_key(multikey)?),
        Some(_) => return Err(MethodError::NotControlled("publicKeyMultibase is not a string")),
    };
    let jwk = entry.get("publicKeyJwk").map(PublicKey::from_jwk).transpose()?;
    match (multikey, jwk) {
        (Some(multikey), Some(jwk)) if multikey != jwk => {
            Err(MethodError::NotControlled("the method's two forms are two keys"))
        }
        (Some(key), _) | (None, Some(key)) => Ok(key),
        (None, None) => Err(MethodError::NotControlled("the method has no public key")),
    }
}

/// The items of a JSON-LD set: of an array, or the one value.
fn items(value: Option<&Value>) -> &[Value] {
    match value {
        None => &[],
        Some(Value::Array(items)) => items,
        Some(one) => std::slice::from_ref(one),
    }
}

fn text<'a>(object: &'a Map<String, Value>, member: &str) -> Option<&'a str> {
    object.get(member).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::key::{ED25519_PUBLIC, encode_base58btc};
    use base64::Engine as _;
    use serde_json::json;

    const CONTROLLER: &str = "https://alice.example/card#me";
    const METHOD: &str = "https://alice.example/keys#k1";

    fn instant(text: &str) -> Instant {
        date_time::parse(text).unwrap()
    }

    fn verifying(seed: u8) -> ed25519_dalek::VerifyingKey {
        ed25519_dalek::SigningKey::from_bytes(&[seed; 32]).verifying_key()
    }

    fn multikey(seed: u8) -> String {
        encode_base58btc(&[&ED25519_PUBLIC[..], verifying(seed).as_bytes()].concat())
    }

    fn jwk(seed: u8) -> Value {
        let x = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(verifying(seed).as_bytes());
        json!({"kty": "OKP", "crv": "Ed25519", "x": x})
    }

    fn document() -> Value {
        json!({
            "@context": ["https://www.w3.org/ns/cid/v1"],
            "id": CONTROLLER,
            "verificationMethod": [{
                "id": METHOD, "type": "Multikey", "controller": CONTROLLER, "publicKeyMultibase": multikey(1),
            }],
            "assertionMethod": [METHOD],
        })
    }

    fn find(document: Value, relationship: Relationship) -> Result<VerificationMethod, MethodError> {
        let mut documents = ControllerDocuments::default();
        documents.insert(CONTROLLER, document, instant("2026-07-01T00:00:00Z"));
        source(&documents).find(CONTROLLER, METHOD, relationship)
    }

    fn source(documents: &ControllerDocuments) -> KeySource<'_> {
        KeySource { documents, now: instant("2026-07-02T00:00:00Z"), max_age: TimeDelta::days(1) }
    }

    /// The document with one change is refused.
    fn refused(change: impl FnOnce(&mut Value)) -> MethodError {
        let mut document = document();
        change(&mut document);
        find(document, Relationship::AssertionMethod).unwrap_err()
    }

    #[test]
    fn a_listed_method_is_found_with_the_end_of_its_document() {
        let method = find(document(), Relationship::AssertionMethod).unwrap();
        assert_eq!(method.key, PublicKey::Ed25519(verifying(1)));
        assert_eq!(method.good_until, Some(instant("2026-07-02T00:00:00Z")));
    }

    #[test]
    fn an_embedded_method_is_found() {
        let mut document = document();
        document["assertionMethod"] = document["verificationMethod"].take();
        assert!(find(document, Relationship::AssertionMethod).is_ok());
    }

    #[test]
    fn a_method_under_another_relationship_is_refused() {
        let error = find(document(), Relationship::Authentication).unwrap_err();
        assert_eq!(error, MethodError::NotControlled("the method is not listed for this relationship"));
        refused(|document| document["assertionMethod"] = json!([]));
        refused(|document| document["assertionMethod"] = json!(["https://alice.example/keys#k2"]));
    }

    #[test]
    fn a_method_that_names_another_controller_is_refused() {
        refused(|document| {
            document["verificationMethod"][0]["controller"] = json!("https://mallory.example/")
        });
        refused(|document| {
            document["verificationMethod"][0].as_object_mut().unwrap().remove("controller");
        });
        refused(|document| document["verificationMethod"][0]["controller"] = json!([CONTROLLER]));
    }

    #[test]
    fn a_document_of_another_id_is_refused() {
        refused(|document| document["id"] = json!("https://mallory.example/"));
    }

    #[test]
    fn an_unknown_controller_or_method_is_refused() {
        let documents = ControllerDocuments::default();
        assert!(source(&documents).find(CONTROLLER, METHOD, Relationship::AssertionMethod).is_err());
        refused(|document| document["verificationMethod"] = json!([]));
        // A relative id is not resolved.
        refused(|document| document["verificationMethod"][0]["id"] = json!("#k1"));
    }

    #[test]
    fn two_methods_of_one_id_are_refused() {
        refused(|document| {
            let twin = document["verificationMethod"][0].clone();
            document["verificationMethod"].as_array_mut().unwrap().push(twin);
        });
        refused(|document| document["keyAgreement"] = document["verificationMethod"].clone());
    }

    #[test]
    fn a_revoked_or_expired_method_is_refused() {
        for member in ["revoked", "expires"] {
            for reached in
                [json!("2026-07-02T00:00:00Z"), json!("2020-01-01T00:00:00Z"), json!("2030"), json!(1)]
            {
                refused(|document| document["verificationMethod"][0][member] = reached);
            }
            let mut document = document();
            document["verificationMethod"][0][member] = json!("2026-07-02T00:00:01Z");
            assert!(find(document, Relationship::AssertionMethod).is_ok());
        }
    }

    #[test]
    fn a_stale_document_is_refused() {
        let mut documents = ControllerDocuments::default();
        documents.insert(CONTROLLER, document(), instant("2026-06-30T23:59:59Z"));
        assert_eq!(
            source(&documents).find(CONTROLLER, METHOD, Relationship::AssertionMethod),
            Err(MethodError::NotControlled("the controller's document is too old"))
        );
    }

    /// What was retrieved from `url`, for a controller of that name with one method.
    fn find_retrieved(url: &str, id: &str, controller: &str) -> Result<VerificationMethod, MethodError> {
        let mut document = document();
        document["id"] = json!(id);
        document["verificationMethod"][0]["controller"] = json!(id);
        let mut documents = ControllerDocuments::default();
        documents.insert_retrieved(url, document, instant("2026-07-01T12:00:00Z"));
        source(&documents).find(controller, METHOD, Relationship::AssertionMethod)
    }

    const DID_WEB: &str = "did:web:alice.example:keys";
    const DID_WEB_URL: &str = "https://alice.example/keys/did.json";
    const WEB_ID_URL: &str = "https://alice.example/card";

    #[test]
    fn a_retrieved_document_counts_for_the_controller_of_its_url_alone() {
        let good_until = Some(instant("2026-07-02T12:00:00Z"));
        for (url, controller) in [(DID_WEB_URL, DID_WEB), (WEB_ID_URL, CONTROLLER)] {
            assert_eq!(find_retrieved(url, controller, controller).unwrap().good_until, good_until);
        }
        let unknown = Err(MethodError::NotControlled("no document of the controller is known here"));
        for (url, controller) in [
            (WEB_ID_URL, DID_WEB),
            (DID_WEB_URL, CONTROLLER),
            ("https://alice.example/.well-known/did.json", DID_WEB),
            ("https://mallory.example/keys/did.json", DID_WEB),
            ("https://mallory.example/card", CONTROLLER),
            // Under the controller's own IRI as if that were its URL.
            (DID_WEB, DID_WEB),
            (CONTROLLER, CONTROLLER),
            // Spellings that have no URL have no document.
            (DID_WEB_URL, "did:web:ALICE.example:keys"),
            (DID_WEB_URL, "did:web:alice.example:%6Beys"),
            (WEB_ID_URL, "https://ALICE.example/card#me"),
        ] {
            assert_eq!(find_retrieved(url, controller, controller), unknown, "{url} {controller}");
        }
    }

    #[test]
    fn a_retrieved_document_has_the_controllers_id() {
        let another = Err(MethodError::NotControlled("the document is not the controller's"));
        assert_eq!(find_retrieved(DID_WEB_URL, "did:web:mallory.example", DID_WEB), another);
        assert_eq!(find_retrieved(WEB_ID_URL, "https://alice.example/card#you", CONTROLLER), another);
        assert_eq!(find_retrieved(WEB_ID_URL, WEB_ID_URL, CONTROLLER), another);
        assert!(find_retrieved(WEB_ID_URL, WEB_ID_URL, WEB_ID_URL).is_ok(), "a document may be its own");
    }

    #[test]
    fn a_retrieved_document_is_as_old_as_its_retrieval() {
        let mut documents = ControllerDocuments::default();
        documents.insert_retrieved(WEB_ID_URL, document(), instant("2026-06-30T23:59:59Z"));
        assert_eq!(
            source(&documents).find(CONTROLLER, METHOD, Relationship::AssertionMethod),
            Err(MethodError::NotControlled("the controller's document is too old"))
        );
    }

    #[test]
    fn what_the_operator_placed_counts_before_what_was_retrieved() {
        let mut other = document();
        other["verificationMethod"][0]["publicKeyMultibase"] = json!(multikey(2));
        let mut documents = ControllerDocuments::default();
        documents.insert_retrieved(WEB_ID_URL, other, instant("2026-07-02T00:00:00Z"));
        documents.insert(CONTROLLER, document(), instant("2026-07-01T12:00:00Z"));
        let found = source(&documents).find(CONTROLLER, METHOD, Relationship::AssertionMethod).unwrap();
        assert_eq!(found.key, PublicKey::Ed25519(verifying(1)));
    }

    #[test]
    fn a_method_with_two_keys_is_refused() {
        let mut document = document();
        document["verificationMethod"][0]["publicKeyJwk"] = jwk(1);
        assert!(find(document, Relationship::AssertionMethod).is_ok());
        refused(|document| document["verificationMethod"][0]["publicKeyJwk"] = jwk(2));
    }

    #[test]
    fn a_method_may_have_its_key_as_a_jwk_alone() {
        let mut document = document();
        let method =
            json!({"id": METHOD, "type": "JsonWebKey", "controller": CONTROLLER, "publicKeyJwk": jwk(1)});
        document["verificationMethod"] = json!([method]);
        assert!(find(document, Relationship::AssertionMethod).is_ok());
    }

    #[test]
    fn a_method_without_a_readable_key_is_refused() {
        refused(|document| {
            document["verificationMethod"][0].as_object_mut().unwrap().remove("publicKeyMultibase");
        });
        refused(|document| document["verificationMethod"][0]["publicKeyMultibase"] = json!(["z6Mk"]));
        refused(|document| document["verificationMethod"][0]["publicKeyMultibase"] = json!("z6Mk"));
        refused(|document| document["verificationMethod"][0]["publicKeyJwk"] = json!(null));
        refused(|document| document["verificationMethod"][0]["type"] = json!("RsaVerificationKey2018"));
    }

    #[test]
    fn a_method_that_publishes_its_secret_is_refused() {
        for member in SECRET_MEMBERS {
            refused(|document| document["verificationMethod"][0][member] = json!("z"));
        }
        refused(|document| {
            let mut jwk = jwk(1);
            jwk["d"] = json!("AA");
            document["verificationMethod"][0]["publicKeyJwk"] = jwk;
        });
    }

    #[test]
    fn a_did_key_certifies_itself_whatever_a_document_says() {
        let did = format!("did:key:{}", multikey(1));
        let method = did_key_method(&did).unwrap();
        let mut documents = ControllerDocuments::default();
        documents.insert(did.clone(), json!({"id": did}), instant("2026-07-01T00:00:00Z"));
        for relationship in [Relationship::AssertionMethod, Relationship::Authentication] {
            let found = source(&documents).find(&did, &method, relationship).unwrap();
            assert_eq!((found.key, found.good_until), (PublicKey::Ed25519(verifying(1)), None));
        }
    }

    #[test]
    fn a_did_jwk_certifies_itself_with_one_method_for_signing() {
        let of = |jwk: &Value| {
            let encoded = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(jwk.to_string());
            format!("did:jwk:{encoded}")
        };
        let documents = ControllerDocuments::default();
        let find = |did: &str, method: &str| {
            source(&documents).find(did, method, Relationship::AssertionMethod).map(|found| found.key)
        };
        let did = of(&jwk(1));
        assert_eq!(find(&did, &format!("{did}#0")), Ok(PublicKey::Ed25519(verifying(1))));
        for method in [
            did.clone(),
            format!("{did}#"),
            format!("{did}#1"),
            format!("{did}#00"),
            format!("{}#0", of(&jwk(2))),
        ] {
            assert!(find(&did, &method).is_err(), "{method}");
        }
        let mut changed = jwk(1);
        changed["use"] = json!("sig");
        let did = of(&changed);
        assert!(find(&did, &format!("{did}#0")).is_ok());
        for (member, value) in [("use", json!("enc")), ("d", json!("AA")), ("crv", json!("X25519"))] {
            let mut changed = jwk(1);
            changed[member] = value;
            let did = of(&changed);
            assert!(find(&did, &format!("{did}#0")).is_err(), "{member}");
        }
        let good = of(&jwk(1));
        let twice = jwk(1).to_string().replacen('{', "{\"kty\":\"OKP\",", 1);
        let twice = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(twice);
        for did in [format!("{good}="), format!("{good}A"), "did:jwk:".to_owned(), format!("did:jwk:{twice}")]
        {
            assert!(find(&did, &format!("{did}#0")).is_err(), "{did}");
        }
    }

    #[test]
    fn a_did_key_method_with_another_fragment_is_refused() {
        let (did, other) = (format!("did:key:{}", multikey(1)), multikey(2));
        let documents = ControllerDocuments::default();
        for method in [did.clone(), format!("{did}#"), format!("{did}#{other}"), format!("{did}#key-1")] {
            assert!(
                source(&documents).find(&did, &method, Relationship::AssertionMethod).is_err(),
                "{method}"
            );
        }
        let foreign = format!("did:key:{other}#{other}");
        assert!(source(&documents).find(&did, &foreign, Relationship::AssertionMethod).is_err());
    }
}
