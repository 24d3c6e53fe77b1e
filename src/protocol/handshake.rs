//! The upgrade handshake's payloads (OFFER-*, RESP-*, SEC-4/5) and the rule that no answer but one permits prose (DG-1).
//!
//! A payload is read whole or refused: no flag has a default, and nothing of a second subject is mixed in. What a
//! payload means for a conversation is not decided here.

use super::ProtocolHash;
use crate::limits::Limits;
use crate::rdf::{self, RdfMediaType};
use crate::refusal::Reason;
use crate::vocab::a2a;
use oxrdf::vocab::{rdf::TYPE, xsd};
use oxrdf::{BlankNode, Graph, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Term, Triple};
use oxttl::TurtleSerializer;
use serde_json::{Map, Value, json};
use std::fmt;

/// The `kind` of an offer.
pub const UPGRADE_OFFER: &str = "upgrade-offer";
/// The `kind` of a response.
pub const UPGRADE_RESPONSE: &str = "upgrade-response";

/// Characters of a name or a reason. They are shown to people, and never acted on.
pub(crate) const MAX_TEXT_CHARS: usize = 1_024;
/// Octets of a source URL.
const MAX_SOURCE_BYTES: usize = 2_048;

/// An upgrade offer (extension, "Upgrade offer").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeOffer {
    /// The Protocol Document that is offered.
    pub protocol_hash: ProtocolHash,
    /// Where it can be fetched. What is fetched counts only if it has the hash (OFFER-1).
    pub protocol_source: ProtocolSource,
    /// Whether the exchange must not go on in prose (OFFER-2).
    pub required: bool,
    /// A label.
    pub protocol_name: Option<String>,
}

/// An answer to an offer (extension, "Upgrade response").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeResponse {
    /// The Protocol Document that the answer is about; only an offer of this very hash is answered (RESP-1).
    pub protocol_hash: ProtocolHash,
    /// Whether the protocol is now active.
    pub accept: bool,
    /// Why not, for a person.
    pub reason: Option<String>,
}

/// A handshake payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handshake {
    /// An offer.
    Offer(UpgradeOffer),
    /// A response.
    Response(UpgradeResponse),
}

/// An absolute `https` IRI with a host and without user information.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProtocolSource(String);

/// Why a payload is no handshake. Our words, no sender text. The refusal's reason is `HANDSHAKE_MALFORMED`, whatever
/// is wrong: also a hash of another prefix, which for an intent has a reason of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandshakeError(&'static str);

impl HandshakeError {
    /// The reason of a refusal on this error.
    pub fn reason(&self) -> Reason {
        Reason::HandshakeMalformed
    }
}

/// Whether the sender of `offer` may go on in prose after `response` (DG-1, RESP-1, OFFER-2, SEC-6): only if the
/// response is about the offered document, the offer was not required, and the response declines. No response, or one
/// that could not be read, is `None` and permits nothing.
pub fn may_downgrade(offer: &UpgradeOffer, response: Option<&UpgradeResponse>) -> bool {
    response.is_some_and(|response| {
        response.protocol_hash == offer.protocol_hash && !offer.required && !response.accept
    })
}

impl Handshake {
    /// Reads the JSON form, as the strict reader left it (no member twice). Members that neither payload has are
    /// ignored, as in the message around it; a member of the other payload refuses (SEC-4).
    ///
    /// # Errors
    /// [`HandshakeError`]: no object, another `kind`, a member that is missing or of another type (OFFER-3/4,
    /// RESP-2/3, SEC-5).
    pub fn decode_json(payload: &Value) -> Result<Self, HandshakeError> {
        let members = payload.as_object().ok_or(HandshakeError("the payload is no JSON object"))?;
        match members.get("kind").and_then(Value::as_str) {
            Some(UPGRADE_OFFER) => offer_from_json(members).map(Self::Offer),
            Some(UPGRADE_RESPONSE) => response_from_json(members).map(Self::Response),
            _ => Err(HandshakeError("`kind` is neither `upgrade-offer` nor `upgrade-response`")),
        }
    }

    /// Reads the RDF form: one graph with exactly one handshake subject, of which nothing but its own triples is read
    /// (RESP-4/5, SEC-4).
    ///
    /// # Errors
    /// [`HandshakeError`]
    pub fn decode_graph(text: &str, media_type: &str, limits: &Limits) -> Result<Self, HandshakeError> {
        let media_type = RdfMediaType::parse(media_type)
            .ok_or(HandshakeError("the payload is neither Turtle nor JSON-LD"))?;
        let graph = rdf::parse_graph(text, media_type, limits)
            .map_err(|_| HandshakeError("the payload is not well-formed RDF of one default graph"))?;
        let subject = Subject::only(&graph)?;
        if subject.is_offer {
            subject.offer().map(Self::Offer)
        } else {
            subject.response().map(Self::Response)
        }
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        let mut payload = match self {
            Self::Offer(offer) => json!({
                "kind": UPGRADE_OFFER,
                "protocolHash": offer.protocol_hash.as_str(),
                "protocolSource": offer.protocol_source.as_str(),
                "required": offer.required,
            }),
            Self::Response(response) => json!({
                "kind": UPGRADE_RESPONSE,
                "protocolHash": response.protocol_hash.as_str(),
                "accept": response.accept,
            }),
        };
        let (name, text) = self.text();
        if let (Some(text), Some(members)) = (text, payload.as_object_mut()) {
            members.insert(name.to_owned(), Value::String(text.clone()));
        }
        payload
    }

    /// The RDF form, in Turtle: one blank node.
    ///
    /// # Errors
    /// [`HandshakeError`]: the text could not be written.
    pub fn to_turtle(&self) -> Result<String, HandshakeError> {
        let unwritten = |_: std::io::Error| HandshakeError("the payload could not be written");
        let mut writer = TurtleSerializer::new()
            .with_prefix("a2a", a2a::NS)
            .map_err(|_| HandshakeError("the payload could not be written"))?
            .for_writer(Vec::new());
        for triple in self.triples() {
            writer.serialize_triple(&triple).map_err(unwritten)?;
        }
        let octets = writer.finish().map_err(unwritten)?;
        String::from_utf8(octets).map_err(|_| HandshakeError("the payload could not be written"))
    }

    /// The RDF form, in JSON-LD: one blank node, under a context object of its own, so that nobody has to load one.
    pub fn to_json_ld(&self) -> Value {
        let mut document = match self {
            Self::Offer(offer) => json!({
                "@context": { "a2a": a2a::NS },
                "@type": "a2a:UpgradeOffer",
                "a2a:protocolHash": offer.protocol_hash.as_str(),
                "a2a:protocolSource": { "@id": offer.protocol_source.as_str() },
                "a2a:required": offer.required,
            }),
            Self::Response(response) => json!({
                "@context": { "a2a": a2a::NS },
                "@type": "a2a:UpgradeResponse",
                "a2a:protocolHash": response.protocol_hash.as_str(),
                "a2a:accept": response.accept,
            }),
        };
        let (name, text) = self.text();
        if let (Some(text), Some(members)) = (text, document.as_object_mut()) {
            members.insert(format!("a2a:{name}"), Value::String(text.clone()));
        }
        document
    }

    /// The hash that the payload is about.
    pub fn protocol_hash(&self) -> &ProtocolHash {
        match self {
            Self::Offer(offer) => &offer.protocol_hash,
            Self::Response(response) => &response.protocol_hash,
        }
    }

    /// The `kind` of the payload and of its part.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Offer(_) => UPGRADE_OFFER,
            Self::Response(_) => UPGRADE_RESPONSE,
        }
    }

    /// The optional text, with the name of its member.
    fn text(&self) -> (&'static str, Option<&String>) {
        match self {
            Self::Offer(offer) => ("protocolName", offer.protocol_name.as_ref()),
            Self::Response(response) => ("reason", response.reason.as_ref()),
        }
    }

    fn triples(&self) -> Vec<Triple> {
        let subject = BlankNode::new_unchecked("handshake");
        let triple = |predicate: &str, object: Term| {
            Triple::new(subject.clone(), NamedNode::new_unchecked(predicate), object)
        };
        let iri = |iri: &str| Term::from(NamedNode::new_unchecked(iri));
        let hash = Literal::new_simple_literal(self.protocol_hash().as_str());
        let mut triples = match self {
            Self::Offer(offer) => vec![
                triple(TYPE.as_str(), iri(a2a::UPGRADE_OFFER)),
                triple(a2a::PROTOCOL_HASH, hash.into()),
                triple(a2a::PROTOCOL_SOURCE, iri(offer.protocol_source.as_str())),
                triple(a2a::REQUIRED, Literal::from(offer.required).into()),
            ],
            Self::Response(response) => vec![
                triple(TYPE.as_str(), iri(a2a::UPGRADE_RESPONSE)),
                triple(a2a::PROTOCOL_HASH, hash.into()),
                triple(a2a::ACCEPT, Literal::from(response.accept).into()),
            ],
        };
        if let (name, Some(text)) = self.text() {
            let predicate = format!("{}{name}", a2a::NS);
            triples.push(triple(&predicate, Literal::new_simple_literal(text).into()));
        }
        triples
    }
}

impl ProtocolSource {
    /// The IRI.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for ProtocolSource {
    type Err = HandshakeError;

    fn from_str(text: &str) -> Result<Self, HandshakeError> {
        let wrong = HandshakeError("`protocolSource` is no https IRI");
        let iri = oxiri::Iri::parse(text).map_err(|_| wrong)?;
        let host = iri.authority().unwrap_or_default();
        let usable = iri.scheme().eq_ignore_ascii_case("https")
            && !host.is_empty()
            && !host.starts_with(':')
            && !host.contains('@');
        if usable && text.len() <= MAX_SOURCE_BYTES { Ok(Self(text.to_owned())) } else { Err(wrong) }
    }
}

impl fmt::Display for ProtocolSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn offer_from_json(members: &Map<String, Value>) -> Result<UpgradeOffer, HandshakeError> {
    refuse_members(members, &["accept", "reason"])?;
    Ok(UpgradeOffer {
        protocol_hash: hash(string(members, "protocolHash"))?,
        protocol_source: string(members, "protocolSource")
            .ok_or(HandshakeError("`protocolSource` is missing or no string"))?
            .parse()?,
        required: boolean(members, "required")?,
        protocol_name: optional_text(members, "protocolName")?,
    })
}

fn response_from_json(members: &Map<String, Value>) -> Result<UpgradeResponse, HandshakeError> {
    refuse_members(members, &["protocolSource", "required", "protocolName"])?;
    Ok(UpgradeResponse {
        protocol_hash: hash(string(members, "protocolHash"))?,
        accept: boolean(members, "accept")?,
        reason: optional_text(members, "reason")?,
    })
}

fn refuse_members(members: &Map<String, Value>, foreign: &[&str]) -> Result<(), HandshakeError> {
    if foreign.iter().any(|name| members.contains_key(*name)) {
        return Err(HandshakeError("the payload has members of both an offer and a response"));
    }
    Ok(())
}

fn string<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    members.get(name).and_then(Value::as_str)
}

fn hash(text: Option<&str>) -> Result<ProtocolHash, HandshakeError> {
    text.and_then(|text| text.parse().ok())
        .ok_or(HandshakeError("`protocolHash` is not `sha256:` and 64 lower-case hexadecimal digits"))
}

/// A flag has no default: reading `"true"`, `0`, `null` or absence as false would open the way to prose (SEC-5).
fn boolean(members: &Map<String, Value>, name: &str) -> Result<bool, HandshakeError> {
    members.get(name).and_then(Value::as_bool).ok_or(HandshakeError("a flag is missing or no JSON boolean"))
}

fn optional_text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, HandshakeError> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => bounded(text).map(Some),
        Some(_) => Err(HandshakeError("a text member is no string")),
    }
}

fn bounded(text: &str) -> Result<String, HandshakeError> {
    if text.chars().count() > MAX_TEXT_CHARS {
        return Err(HandshakeError("a name or reason is longer than is read"));
    }
    Ok(text.to_owned())
}

/// The only handshake subject of a graph.
struct Subject<'a> {
    graph: &'a Graph,
    node: NamedOrBlankNode,
    is_offer: bool,
}

impl<'a> Subject<'a> {
    fn only(graph: &'a Graph) -> Result<Self, HandshakeError> {
        let mut found = None;
        for triple in graph.triples_for_predicate(TYPE) {
            // A typo's literal class would otherwise leave a subject untyped here and typed for another reader.
            let oxrdf::TermRef::NamedNode(class) = triple.object else {
                return Err(HandshakeError("a subject's rdf:type is no IRI"));
            };
            let is_offer = class.as_str() == a2a::UPGRADE_OFFER;
            if !is_offer && class.as_str() != a2a::UPGRADE_RESPONSE {
                continue;
            }
            let node = triple.subject.into_owned();
            if found.replace(Self { graph, node, is_offer }).is_some() {
                return Err(HandshakeError("the graph holds more than one handshake subject"));
            }
        }
        found.ok_or(HandshakeError("the graph holds no handshake subject"))
    }

    fn offer(&self) -> Result<UpgradeOffer, HandshakeError> {
        self.refuse_predicates(&[a2a::ACCEPT, a2a::REASON])?;
        let source = match self.one(a2a::PROTOCOL_SOURCE)? {
            Some(Term::NamedNode(iri)) => iri.as_str().parse()?,
            _ => return Err(HandshakeError("`protocolSource` is missing or no IRI")),
        };
        Ok(UpgradeOffer {
            protocol_hash: self.hash()?,
            protocol_source: source,
            required: self.flag(a2a::REQUIRED)?,
            protocol_name: self.text(a2a::PROTOCOL_NAME)?,
        })
    }

    fn response(&self) -> Result<UpgradeResponse, HandshakeError> {
        self.refuse_predicates(&[a2a::PROTOCOL_SOURCE, a2a::REQUIRED, a2a::PROTOCOL_NAME])?;
        Ok(UpgradeResponse {
            protocol_hash: self.hash()?,
            accept: self.flag(a2a::ACCEPT)?,
            reason: self.text(a2a::REASON)?,
        })
    }

    fn refuse_predicates(&self, foreign: &[&str]) -> Result<(), HandshakeError> {
        for predicate in foreign {
            if self.one(predicate)?.is_some() {
                return Err(HandshakeError("the subject has predicates of both an offer and a response"));
            }
        }
        Ok(())
    }

    /// The predicate's only object; a second one refuses, whatever it is.
    fn one(&self, predicate: &str) -> Result<Option<Term>, HandshakeError> {
        let predicate = NamedNodeRef::new_unchecked(predicate);
        let mut objects = self.graph.objects_for_subject_predicate(&self.node, predicate);
        match (objects.next(), objects.next()) {
            (object, None) => Ok(object.map(|object| object.into_owned())),
            _ => Err(HandshakeError("a predicate is repeated")),
        }
    }

    fn hash(&self) -> Result<ProtocolHash, HandshakeError> {
        match self.one(a2a::PROTOCOL_HASH)? {
            Some(Term::Literal(literal)) if literal.datatype() == xsd::STRING => hash(Some(literal.value())),
            _ => hash(None),
        }
    }

    /// `xsd:boolean` has the lexical forms `1` and `0` too; here only the JSON ones are read.
    fn flag(&self, predicate: &str) -> Result<bool, HandshakeError> {
        let flag = match self.one(predicate)? {
            Some(Term::Literal(literal)) if literal.datatype() == xsd::BOOLEAN => {
                literal.value().parse().ok()
            }
            _ => None,
        };
        flag.ok_or(HandshakeError("a flag is missing or not the xsd:boolean `true` or `false`"))
    }

    fn text(&self, predicate: &str) -> Result<Option<String>, HandshakeError> {
        match self.one(predicate)? {
            None => Ok(None),
            Some(Term::Literal(literal))
                if literal.datatype() == xsd::STRING || literal.language().is_some() =>
            {
                bounded(literal.value()).map(Some)
            }
            Some(_) => Err(HandshakeError("a name or reason is no text")),
        }
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
