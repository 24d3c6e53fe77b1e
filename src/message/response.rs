//! Reading a response: a message or an artifact to the graph of its one `intent-response` part.
//!
//! It is read as strictly as an intent, and by the same code where the rules are the same. The reasons of a refusal and
//! their stages are the pipeline's too, though no decision hangs on a response.

use super::admit::{Kind, at, check_depth_of, not_active, readable_rdf, unreadable, unsupported, write};
use super::form::{Form, Part, malformed};
use super::strict_json::{self, JsonError};
use super::{Digest, RdfPart, UnjudgedPart};
use crate::limits::Limits;
use crate::protocol::ProtocolHash;
use crate::rdf::{Budget, canon, parse_graph};
use crate::refusal::{Reason, Refusal, Stage};
use crate::vocab::{EXTENSION, META_PROTOCOL_HASH};
use oxrdf::{Graph, NamedOrBlankNode, NamedOrBlankNodeRef, TermRef};
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};

/// A response as octets (read strictly) or as typed by the caller, in a message or in an artifact.
#[derive(Debug, Clone)]
pub enum ResponseInput {
    /// The JSON octets of an A2A v1.0 `Message`.
    MessageBytes(Vec<u8>),
    /// The JSON octets of an A2A v1.0 `Artifact`.
    ArtifactBytes(Vec<u8>),
    /// A message that the caller parsed or made. What its parser let pass is not known here.
    Message(Box<a2a::Message>),
    /// An artifact that the caller parsed or made. What its parser let pass is not known here.
    Artifact(Box<a2a::Artifact>),
}

/// What the caller knows about a response. Never taken from the response itself.
#[derive(Debug, Clone)]
pub struct ResponseFacts {
    /// Extension URIs that are active: for a response that came in, those that the agent echoed in `A2A-Extensions`
    /// (ACT-1); for one that goes out, those that its request activated.
    pub activated: BTreeSet<String>,
    /// The context that the response must be in, where it names one. `None`: it is not compared; a client may learn the
    /// context's id from the first response.
    pub context: Option<String>,
}

impl Default for ResponseFacts {
    /// The extension is active, and no context is known yet.
    fn default() -> Self {
        Self { activated: BTreeSet::from([EXTENSION.to_owned()]), context: None }
    }
}

/// The response part of a message or an artifact, tagged and activated, under the expected hash.
#[derive(Debug)]
pub(crate) struct ResponsePart {
    pub(crate) part: RdfPart,
    pub(crate) unjudged: Vec<UnjudgedPart>,
    /// The caller parsed the response; the strict reader saw only what its parser kept.
    pub(crate) parsed_by_caller: bool,
}

/// The bounded default graph of a response.
#[derive(Debug)]
pub(crate) struct ResponseGraph {
    pub(crate) graph: Graph,
    /// `sha256:` and the hexadecimal RDFC-1.0 hash of the graph.
    pub(crate) hash: String,
}

impl ResponsePart {
    /// Reads the input strictly and finds its one response.
    ///
    /// # Errors
    /// `MESSAGE_TOO_LARGE`, `MESSAGE_MALFORMED`, `LIMIT_EXCEEDED`, `EXTENSION_NOT_TAGGED`, `EXTENSION_NOT_ACTIVE`,
    /// `WRONG_KIND`, `MEDIA_TYPE_UNSUPPORTED`, `MISSING_PROTOCOL_HASH`, `HASH_PREFIX_UNKNOWN`, `UNKNOWN_PROTOCOL`.
    pub(crate) fn read(
        response: &ResponseInput,
        expected: &ProtocolHash,
        facts: &ResponseFacts,
        limits: &Limits,
    ) -> Result<Self, Refusal> {
        let (form, is_message) = read_form(response, limits)?;
        if is_message {
            check_message(&form, facts)?;
        }
        let (part, unjudged) = only_response(&form)?;
        if !form.lists(EXTENSION) {
            return Err(at(Reason::ExtensionNotTagged, "/extensions", "the extension is not listed"));
        }
        if !facts.activated.contains(EXTENSION) {
            return Err(not_active());
        }
        let media_type = part.media_type().and_then(readable_rdf).ok_or_else(|| unsupported(&part))?;
        check_hash(&part, expected)?;
        let text = part.text().unwrap_or_default().to_owned();
        let parsed_by_caller = matches!(response, ResponseInput::Message(_) | ResponseInput::Artifact(_));
        Ok(Self { part: RdfPart { index: part.index, media_type, text }, unjudged, parsed_by_caller })
    }
}

/// Brings all inputs to one form, and says whether it is a message's. A typed input is written by its own types and read
/// back strictly, so that its bounds and rules are the same.
fn read_form(response: &ResponseInput, limits: &Limits) -> Result<(Form, bool), Refusal> {
    let read = |octets: &[u8]| strict_json::read(octets, limits);
    let (value, is_message) = match response {
        ResponseInput::MessageBytes(octets) => (read(octets), true),
        ResponseInput::ArtifactBytes(octets) => (read(octets), false),
        ResponseInput::Message(message) => (write(message, limits).and_then(|octets| read(&octets)), true),
        ResponseInput::Artifact(artifact) => {
            (write_artifact(artifact, limits).and_then(|octets| read(&octets)), false)
        }
    };
    let value = value.map_err(unreadable)?;
    let form = if is_message { Form::check(value, limits) } else { Form::check_artifact(value, limits) };
    Ok((form?, is_message))
}

fn write_artifact(artifact: &a2a::Artifact, limits: &Limits) -> Result<Vec<u8>, JsonError> {
    check_depth_of(&artifact.parts, artifact.metadata.as_ref(), limits)?;
    serde_json::to_vec(artifact).map_err(|_| JsonError::Malformed("an artifact that JSON cannot write"))
}

/// A response is an agent's, so that nobody's own words come back to it as one; and it is in its context.
fn check_message(form: &Form, facts: &ResponseFacts) -> Result<(), Refusal> {
    if form.text("role") != Some("ROLE_AGENT") {
        return Err(malformed("/role", "a response that is not an agent's"));
    }
    match (form.text("contextId"), facts.context.as_deref()) {
        (Some(own), Some(known)) if own != known => {
            Err(malformed("/contextId", "not the context that the caller vouches for"))
        }
        _ => Ok(()),
    }
}

/// The one part of kind `intent-response`, and the parts that are not the extension's. Any other part of the extension
/// beside it would go unjudged under the response's name.
fn only_response(form: &Form) -> Result<(Part<'_>, Vec<UnjudgedPart>), Refusal> {
    let (mut response, mut other, mut unjudged) = (None, false, Vec::new());
    for part in form.parts() {
        match Kind::of(&part)? {
            None => unjudged.push(UnjudgedPart { index: part.index, content: part.content.to_owned() }),
            Some(Kind::IntentResponse) if response.is_some() => {
                return Err(malformed(part.pointer("metadata"), "a second response"));
            }
            Some(Kind::IntentResponse) if part.text().is_none() => {
                return Err(malformed(part.pointer(part.content), "a response that is not text"));
            }
            Some(Kind::IntentResponse) => response = Some(part),
            Some(Kind::Intent | Kind::Authorization | Kind::UpgradeOffer | Kind::UpgradeResponse) => {
                other = true;
            }
        }
    }
    match (response, other) {
        (Some(response), false) => Ok((response, unjudged)),
        (Some(_), true) => Err(malformed("/parts", "parts of kinds that do not go together")),
        (None, _) => Err(at(Reason::WrongKind, "/parts", "no part is a response")),
    }
}

/// The part's claim is the expected hash, exactly (PMETA-2, HASH-4).
fn check_hash(part: &Part<'_>, expected: &ProtocolHash) -> Result<(), Refusal> {
    let refuse = |reason, seen: Option<&str>| {
        Refusal::new(Stage::Protocol, reason).with(|evidence| {
            evidence.path = Some(part.pointer("metadata"));
            evidence.seen = seen.map(str::to_owned);
            evidence.expected = Some(expected.to_string());
        })
    };
    let claim = part.metadata().and_then(|metadata| metadata.get(META_PROTOCOL_HASH)).and_then(Value::as_str);
    let claim = claim.ok_or_else(|| refuse(Reason::MissingProtocolHash, None))?;
    match claim.parse::<ProtocolHash>() {
        Err(_) => Err(refuse(Reason::HashPrefixUnknown, Some(claim))),
        Ok(hash) if hash != *expected => Err(refuse(Reason::UnknownProtocol, Some(claim))),
        Ok(_) => Ok(()),
    }
}

impl ResponseGraph {
    /// Parses the part.
    ///
    /// # Errors
    /// `GRAPH_MALFORMED`, `GRAPH_TOO_LARGE`, `REMOTE_CONTEXT`.
    pub(crate) fn read(part: &RdfPart, limits: &Limits) -> Result<Self, Refusal> {
        let unreadable = |error| super::intent::refuse(part, error);
        let graph = parse_graph(&part.text, part.media_type, limits).map_err(unreadable)?;
        let canonical = canon::graph(&graph, &mut Budget::new(limits)).map_err(unreadable)?;
        let hash = format!("sha256:{}", Digest::of(canonical));
        Ok(Self { graph, hash })
    }

    /// The node that the graph is about: the one subject that no triple has as its object, if every other subject is
    /// reached from it. A response has no class of its own by which it could be found.
    pub(crate) fn root(&self) -> Option<NamedOrBlankNode> {
        let subjects: HashSet<NamedOrBlankNodeRef<'_>> =
            self.graph.iter().map(|triple| triple.subject).collect();
        let objects: HashSet<NamedOrBlankNodeRef<'_>> =
            self.graph.iter().filter_map(|triple| node(triple.object)).collect();
        let mut roots = subjects.difference(&objects);
        let (Some(root), None) = (roots.next().copied(), roots.next()) else { return None };
        let (mut reached, mut pending) = (HashSet::from([root]), vec![root]);
        while let Some(subject) = pending.pop() {
            let objects = self.graph.triples_for_subject(subject).filter_map(|triple| node(triple.object));
            pending.extend(objects.filter(|object| subjects.contains(object) && reached.insert(*object)));
        }
        (reached.len() == subjects.len()).then(|| root.into_owned())
    }
}

fn node(term: TermRef<'_>) -> Option<NamedOrBlankNodeRef<'_>> {
    match term {
        TermRef::NamedNode(iri) => Some(iri.into()),
        TermRef::BlankNode(node) => Some(node.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
