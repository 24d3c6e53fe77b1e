//! A peer's card, as a consuming client reads it.
//!
//! The entry is read whole or refused: a client that took half of a declaration would send intents that its peer never
//! said it takes, or leave out an activation that its peer requires.

use crate::limits::Limits;
use crate::message::form::twin;
use crate::message::strict_json::{self, JsonError};
use crate::protocol::ProtocolHash;
use crate::protocol::handshake::ProtocolSource;
use crate::vocab::EXTENSION;
use serde_json::{Map, Value};

/// Characters of a name, a URI or a media type: room for the longest source that is read anywhere here.
const MAX_TEXT_CHARS: usize = 2_048;
/// Extensions that a card may declare.
const MAX_EXTENSIONS: usize = 256;
/// Interfaces that a card may have.
const MAX_INTERFACES: usize = 64;
/// Media types that an entry may name.
const MAX_FORMATS: usize = 32;
/// Documents that an entry may declare.
const MAX_DOCUMENTS: usize = 256;

type Members = Map<String, Value>;

/// What a peer's card says of the extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerExtension {
    required: bool,
    formats: Vec<String>,
    documents: Vec<DeclaredDocument>,
}

/// A Protocol Document that a peer's card declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredDocument {
    /// A label.
    pub name: String,
    /// Where it can be fetched. What is fetched counts only if it has the hash.
    pub source: ProtocolSource,
    /// The pin.
    pub hash: ProtocolHash,
}

/// Why a card was not read: where, and what is wrong there. Our words, no text of the card.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct CardError {
    /// The JSON pointer of the place.
    pub path: String,
    /// What is wrong.
    pub problem: String,
}

impl PeerExtension {
    /// Finds the extension in the octets of an A2A v1.0 Agent Card. `None` where the card does not declare it: the peer
    /// speaks baseline A2A. Another version's URI is another extension.
    ///
    /// Of the rest of the card nothing is judged, not even its signatures: they are for whoever fetched it.
    ///
    /// ```
    /// use writgate::card::PeerExtension;
    /// use writgate::limits::Limits;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let hash = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";
    /// let card = serde_json::json!({"capabilities": {"extensions": [{
    ///     "uri": "https://w3id.org/jeswr/a2a-rdf/v1",
    ///     "params": {"formats": ["text/turtle"], "protocolDocuments": [{
    ///         "name": "Grant access", "source": "https://alice.pod.example/protocols/grant-access", "hash": hash,
    ///     }]},
    /// }]}});
    /// let peer = PeerExtension::of_card(&serde_json::to_vec(&card)?, &Limits::default())?.ok_or("not declared")?;
    /// assert!(!peer.must_activate());
    /// assert!(peer.may_skip_handshake(&hash.parse()?));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CardError`]: no strict JSON, over a limit, the extension declared twice, or any member of its entry that is not
    /// as it must be.
    pub fn of_card(octets: &[u8], limits: &Limits) -> Result<Option<Self>, CardError> {
        let card = read_strictly(octets, limits)?;
        let card = object(&card, "")?;
        known(card, "", &["capabilities"])?;
        let Some(capabilities) = card.get("capabilities") else { return Ok(None) };
        let capabilities = object(capabilities, "/capabilities")?;
        known(capabilities, "/capabilities", &["extensions"])?;
        let path = "/capabilities/extensions";
        let mut found = None;
        for (index, entry) in list(capabilities, "extensions", path, MAX_EXTENSIONS)?.iter().enumerate() {
            let path = format!("{path}/{index}");
            let entry = object(entry, &path)?;
            known(entry, &path, &["uri"])?;
            if text(entry, "uri", &path)? != EXTENSION {
                continue;
            }
            if found.replace(Self::read(entry, &path)?).is_some() {
                return Err(wrong(&path, "the extension is declared twice"));
            }
        }
        Ok(found)
    }

    fn read(entry: &Members, path: &str) -> Result<Self, CardError> {
        known(entry, path, &["uri", "description", "required", "params"])?;
        let required = flag(entry, "required", path)?.unwrap_or(false);
        let path = format!("{path}/params");
        let Some(params) = entry.get("params") else {
            return Ok(Self { required, formats: Vec::new(), documents: Vec::new() });
        };
        let params = object(params, &path)?;
        known(params, &path, &["formats", "nlNegotiation", "protocolDocuments"])?;
        flag(params, "nlNegotiation", &path)?;
        Ok(Self { required, formats: formats(params, &path)?, documents: documents(params, &path)? })
    }

    /// Whether every request to this peer must activate the extension (REQSEM-1).
    pub fn must_activate(&self) -> bool {
        self.required
    }

    /// Whether an intent under `hash` may be sent without an offer before it: only if the card declares this very hash
    /// (SKIP-1). The peer validates the intent all the same.
    pub fn may_skip_handshake(&self, hash: &ProtocolHash) -> bool {
        self.document(hash).is_some()
    }

    /// The RDF media types that the peer reads, as it wrote them. Every offering agent reads Turtle (DECL-1).
    pub fn formats(&self) -> &[String] {
        &self.formats
    }

    /// The documents that the peer declares, in its order.
    pub fn documents(&self) -> &[DeclaredDocument] {
        &self.documents
    }

    /// The declared document with this very hash.
    pub fn document(&self, hash: &ProtocolHash) -> Option<&DeclaredDocument> {
        self.documents.iter().find(|document| document.hash == *hash)
    }
}

/// Whether a presentation for `domain` is for the peer with this A2A v1.0 Agent Card. Neither A2A nor the extension has a
/// member for the domain, so the names that count are those under which the peer is reached: the domain must be the `url`
/// of one of its `supportedInterfaces`, character by character. A client signs for no other
/// (`admission-and-audit.md` 2): a server that asks for one may want to use the presentation there.
///
/// # Errors
/// [`CardError`]: no strict JSON, over a limit, or an interface that is not as it must be.
pub fn names_domain(octets: &[u8], domain: &str, limits: &Limits) -> Result<bool, CardError> {
    let card = read_strictly(octets, limits)?;
    let card = object(&card, "")?;
    known(card, "", &["supportedInterfaces"])?;
    let path = "/supportedInterfaces";
    let mut named = false;
    for (index, interface) in list(card, "supportedInterfaces", path, MAX_INTERFACES)?.iter().enumerate() {
        let path = format!("{path}/{index}");
        let interface = object(interface, &path)?;
        known(interface, &path, &["url"])?;
        named |= text(interface, "url", &path)? == domain;
    }
    Ok(named)
}

fn read_strictly(octets: &[u8], limits: &Limits) -> Result<Value, CardError> {
    strict_json::read(octets, limits).map_err(|error| match error {
        JsonError::TooLarge => wrong("", "the card is too large"),
        other => wrong("", &other.to_string()),
    })
}

fn formats(params: &Members, path: &str) -> Result<Vec<String>, CardError> {
    let path = format!("{path}/formats");
    list(params, "formats", &path, MAX_FORMATS)?
        .iter()
        .map(|format| match format {
            Value::String(text) if is_short(text) => Ok(text.clone()),
            _ => Err(wrong(&path, "not a list of media types")),
        })
        .collect()
}

fn documents(params: &Members, path: &str) -> Result<Vec<DeclaredDocument>, CardError> {
    let path = format!("{path}/protocolDocuments");
    let mut documents: Vec<DeclaredDocument> = Vec::new();
    for (index, entry) in list(params, "protocolDocuments", &path, MAX_DOCUMENTS)?.iter().enumerate() {
        let path = format!("{path}/{index}");
        let entry = object(entry, &path)?;
        known(entry, &path, &["name", "source", "hash"])?;
        let name = text(entry, "name", &path)?.to_owned();
        let source = text(entry, "source", &path)?;
        let source = source.parse().map_err(|_| wrong(&format!("{path}/source"), "no https IRI"))?;
        let hash: ProtocolHash = text(entry, "hash", &path)?.parse().map_err(|_| {
            wrong(&format!("{path}/hash"), "not `sha256:` and 64 lower-case hexadecimal digits")
        })?;
        // Which source would be the document's?
        if documents.iter().any(|other| other.hash == hash) {
            return Err(wrong(&path, "a document is declared twice"));
        }
        documents.push(DeclaredDocument { name, source, hash });
    }
    Ok(documents)
}

fn wrong(path: &str, problem: &str) -> CardError {
    CardError {
        path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
        problem: problem.to_owned(),
    }
}

fn object<'v>(value: &'v Value, path: &str) -> Result<&'v Members, CardError> {
    value.as_object().ok_or_else(|| wrong(path, "not an object"))
}

/// Members that nobody knows are ignored, but no other spelling of a known one: some reader may take it for that.
fn known(members: &Members, path: &str, names: &[&str]) -> Result<(), CardError> {
    match twin(members, names) {
        Some(name) => Err(wrong(&format!("{path}/{name}"), "another spelling of the member's name")),
        None => Ok(()),
    }
}

/// A list that is absent is empty. A null is neither.
fn list<'v>(members: &'v Members, name: &str, path: &str, most: usize) -> Result<&'v [Value], CardError> {
    match members.get(name) {
        None => Ok(&[]),
        Some(Value::Array(items)) if items.len() <= most => Ok(items),
        Some(Value::Array(_)) => Err(wrong(path, "more entries than are read")),
        Some(_) => Err(wrong(path, "not a list")),
    }
}

fn text<'v>(members: &'v Members, name: &str, path: &str) -> Result<&'v str, CardError> {
    let text = members.get(name).and_then(Value::as_str).filter(|text| is_short(text));
    text.ok_or_else(|| wrong(&format!("{path}/{name}"), "missing, no text, or longer than is read"))
}

fn is_short(text: &str) -> bool {
    text.chars().count() <= MAX_TEXT_CHARS
}

/// A flag that is there is a JSON boolean; nothing else is read as one.
fn flag(members: &Members, name: &str, path: &str) -> Result<Option<bool>, CardError> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(wrong(&format!("{path}/{name}"), "not a JSON boolean")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HASH: &str = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";
    const SOURCE: &str = "https://alice.pod.example/protocols/grant-access";

    fn entry() -> Value {
        json!({
            "uri": EXTENSION, "description": "d", "required": false,
            "params": {
                "formats": ["text/turtle", "application/ld+json"], "nlNegotiation": true,
                "protocolDocuments": [{"name": "Grant access", "source": SOURCE, "hash": HASH}],
            },
        })
    }

    fn card(extensions: &[Value]) -> Value {
        json!({"name": "a", "capabilities": {"extensions": extensions}})
    }

    fn read(card: &Value) -> Result<Option<PeerExtension>, CardError> {
        PeerExtension::of_card(&serde_json::to_vec(card).unwrap(), &Limits::default())
    }

    /// The entry with one member set (or removed, by null) at a pointer.
    fn with(pointer: &str, value: Value) -> Value {
        let mut entry = entry();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = entry.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.insert(name.to_owned(), value);
        entry
    }

    #[track_caller]
    fn assert_wrong(card: &Value, path: &str) {
        let error = read(card).expect_err(&card.to_string());
        assert_eq!(error.path, path, "{error}");
    }

    #[test]
    fn the_extension_of_a_card_is_read_whole() {
        let peer = read(&card(&[json!({"uri": "https://other.example/"}), entry()])).unwrap().unwrap();
        assert!(!peer.must_activate());
        assert_eq!(peer.formats(), ["text/turtle", "application/ld+json"]);
        let document = &peer.documents()[0];
        assert_eq!((document.name.as_str(), document.source.as_str()), ("Grant access", SOURCE));
        assert_eq!(peer.document(&HASH.parse().unwrap()), Some(document));
    }

    #[test]
    fn the_handshake_is_skipped_for_an_equal_hash_alone() {
        let peer = read(&card(&[entry()])).unwrap().unwrap();
        assert!(peer.may_skip_handshake(&HASH.parse().unwrap()));
        let other = HASH.replace("4af1", "5af1").parse().unwrap();
        assert!(!peer.may_skip_handshake(&other));
        let silent = read(&card(&[json!({"uri": EXTENSION})])).unwrap().unwrap();
        assert!(!silent.may_skip_handshake(&HASH.parse().unwrap()));
        assert!(silent.formats().is_empty() && silent.documents().is_empty() && !silent.must_activate());
    }

    #[test]
    fn a_required_extension_must_be_activated() {
        assert!(read(&card(&[with("/required", json!(true))])).unwrap().unwrap().must_activate());
        for flag in [json!("true"), json!(1), json!(null), json!([])] {
            assert_wrong(&card(&[with("/required", flag)]), "/capabilities/extensions/0/required");
        }
    }

    #[test]
    fn a_card_without_the_extension_has_none() {
        for card in [
            json!({}),
            json!({"capabilities": {}}),
            card(&[]),
            card(&[json!({"uri": "https://w3id.org/jeswr/a2a-rdf/v2", "params": 1})]),
            card(&[json!({"uri": format!("{EXTENSION}/")})]),
            card(&[json!({"uri": EXTENSION.to_uppercase()})]),
        ] {
            assert_eq!(read(&card), Ok(None), "{card}");
        }
    }

    #[test]
    fn a_card_that_declares_the_extension_twice_is_refused() {
        assert_wrong(&card(&[entry(), entry()]), "/capabilities/extensions/1");
        let mut required = entry();
        required["required"] = json!(true);
        assert_wrong(&card(&[entry(), json!({"uri": "urn:x"}), required]), "/capabilities/extensions/2");
    }

    #[test]
    fn malformed_params_refuse_the_whole_entry() {
        let params = "/capabilities/extensions/0/params";
        for (pointer, value, path) in [
            ("/params", json!([]), String::new()),
            ("/params", json!(null), String::new()),
            ("/params/formats", json!("text/turtle"), "/formats".into()),
            ("/params/formats", json!([1]), "/formats".into()),
            ("/params/formats", json!(vec!["text/turtle"; MAX_FORMATS + 1]), "/formats".into()),
            ("/params/nlNegotiation", json!("yes"), "/nlNegotiation".into()),
            ("/params/nl_negotiation", json!(true), "/nlNegotiation".into()),
            ("/params/ProtocolDocuments", json!([]), "/protocolDocuments".into()),
            ("/params/protocolDocuments", json!({}), "/protocolDocuments".into()),
            ("/params/protocolDocuments", json!([1]), "/protocolDocuments/0".into()),
            ("/params/protocolDocuments/0/name", json!(1), "/protocolDocuments/0/name".into()),
            ("/params/protocolDocuments/0/Name", json!("n"), "/protocolDocuments/0/name".into()),
            (
                "/params/protocolDocuments/0/source",
                json!("http://a.example/"),
                "/protocolDocuments/0/source".into(),
            ),
            (
                "/params/protocolDocuments/0/source",
                json!("https://u@a.example/"),
                "/protocolDocuments/0/source".into(),
            ),
            (
                "/params/protocolDocuments/0/hash",
                json!(HASH.to_uppercase()),
                "/protocolDocuments/0/hash".into(),
            ),
            ("/params/protocolDocuments/0/hash", json!("sha512:00"), "/protocolDocuments/0/hash".into()),
        ] {
            assert_wrong(&card(&[with(pointer, value)]), &format!("{params}{path}"));
        }
        for name in ["name", "source", "hash"] {
            let mut entry = entry();
            entry["params"]["protocolDocuments"][0].as_object_mut().unwrap().remove(name);
            assert_wrong(&card(&[entry]), &format!("{params}/protocolDocuments/0/{name}"));
        }
        let document = entry()["params"]["protocolDocuments"][0].clone();
        let twice = with("/params/protocolDocuments", json!([document, document]));
        assert_wrong(&card(&[twice]), &format!("{params}/protocolDocuments/1"));
        let many: Vec<_> = (0..=MAX_DOCUMENTS)
            .map(|index| json!({"name": "n", "source": SOURCE, "hash": format!("sha256:{index:064x}")}))
            .collect();
        assert_wrong(
            &card(&[with("/params/protocolDocuments", json!(many))]),
            &format!("{params}/protocolDocuments"),
        );
    }

    #[test]
    fn a_card_names_the_urls_of_its_interfaces_alone() {
        let names = |card: &Value, domain: &str| {
            names_domain(&serde_json::to_vec(card).unwrap(), domain, &Limits::default())
        };
        let url = "https://a.example/agent";
        let card = json!({
            "url": "https://old.example/", "provider": {"url": "https://maker.example/"},
            "supportedInterfaces": [{"url": "https://a.example/grpc"}, {"url": url, "protocolBinding": "JSONRPC"}],
        });
        assert_eq!(names(&card, url), Ok(true));
        assert_eq!(names(&card, "https://a.example/grpc"), Ok(true));
        for other in [
            "https://a.example/agent/",
            "https://A.example/agent",
            "https://a.example",
            "https://a.example/agen",
            "",
            "https://old.example/",
            "https://maker.example/",
            "https://b.example/agent",
        ] {
            assert_eq!(names(&card, other), Ok(false), "{other}");
        }
        assert_eq!(names(&json!({}), ""), Ok(false));
        for (card, path) in [
            (json!([]), "/"),
            (json!({"SupportedInterfaces": [{"url": url}]}), "/supportedInterfaces"),
            (json!({"supportedInterfaces": {"url": url}}), "/supportedInterfaces"),
            (json!({"supportedInterfaces": [url]}), "/supportedInterfaces/0"),
            (json!({"supportedInterfaces": [{"url": url}, {"url": 1}]}), "/supportedInterfaces/1/url"),
            (json!({"supportedInterfaces": [{"url": url, "URL": "x"}]}), "/supportedInterfaces/0/url"),
            (
                json!({"supportedInterfaces": vec![json!({"url": url}); MAX_INTERFACES + 1]}),
                "/supportedInterfaces",
            ),
        ] {
            assert_eq!(names(&card, url).expect_err(&card.to_string()).path, path);
        }
        let twice = format!(r#"{{"supportedInterfaces": [], "supportedInterfaces": [{{"url": "{url}"}}]}}"#);
        assert!(names_domain(twice.as_bytes(), url, &Limits::default()).is_err());
    }

    #[test]
    fn what_could_hide_the_extension_refuses_the_card() {
        let path = "/capabilities/extensions";
        assert_wrong(&json!([]), "/");
        assert_wrong(&json!({"capabilities": []}), "/capabilities");
        assert_wrong(&json!({"Capabilities": {}}), "/capabilities");
        assert_wrong(&json!({"capabilities": {"Extensions": []}}), path);
        assert_wrong(&json!({"capabilities": {"extension\u{17f}": []}}), path);
        assert_wrong(&json!({"capabilities": {"extensions": {}}}), path);
        assert_wrong(&json!({"capabilities": {"extensions": null}}), path);
        assert_wrong(&card(&[json!("x")]), &format!("{path}/0"));
        assert_wrong(&card(&[json!({})]), &format!("{path}/0/uri"));
        assert_wrong(&card(&[json!({"uri": 1})]), &format!("{path}/0/uri"));
        assert_wrong(&card(&[json!({"uri": "urn:x", "URI": EXTENSION})]), &format!("{path}/0/uri"));
        assert_wrong(&card(&vec![json!({"uri": "urn:x"}); MAX_EXTENSIONS + 1]), path);
        let twice = br#"{"capabilities": {}, "capabilities": {}}"#;
        assert!(PeerExtension::of_card(twice, &Limits::default()).is_err());
        let large = vec![b' '; Limits::default().message_bytes + 1];
        assert!(PeerExtension::of_card(&large, &Limits::default()).is_err());
        let deep = format!("{{\"x\": {}1{}}}", "[".repeat(100), "]".repeat(100));
        assert!(PeerExtension::of_card(deep.as_bytes(), &Limits::default()).is_err());
    }
}
