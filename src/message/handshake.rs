//! Octets to a handshake: stage 1 for messages that carry an offer or a response, and no intent.
//!
//! The reading is the one that intents get: the same octets are a message for both, or for neither. What the payload
//! means for a conversation is not decided here.

use super::admit::{self, Kind, Message, Sorted};
use super::form::{Part, malformed};
use super::{MessageFacts, UnjudgedPart};
use crate::limits::Limits;
use crate::protocol::conversation::Role;
use crate::protocol::handshake::{Handshake, HandshakeError};
use crate::refusal::{Reason, Refusal, Stage};
use crate::request::{CallerFacts, MessageInput};
use crate::vocab::META_PROTOCOL_HASH;

/// A message that carries exactly one handshake, tagged and activated.
#[derive(Debug)]
pub(crate) struct HandshakeMessage {
    pub(crate) handshake: Handshake,
    /// The parts beside it. Nothing may be done on their word.
    pub(crate) unjudged: Vec<UnjudgedPart>,
}

/// What a message is that carries no intent.
#[derive(Debug)]
pub(crate) enum Received {
    Handshake(Box<HandshakeMessage>),
    /// No part of the extension: prose, whatever the message lists or activates.
    Prose(MessageFacts),
}

/// Reads a message strictly and takes its handshake.
///
/// # Errors
/// As [`admit::read_message`] and [`of`].
pub(crate) fn read(
    message: &MessageInput,
    facts: &CallerFacts,
    role: Role,
    limits: &Limits,
) -> Result<Received, Refusal> {
    of(admit::read_message(message, facts, limits)?, facts, role, limits)
}

/// Takes the handshake of a message that was read. (A caller that reports refusals has the message's facts from the
/// reading before.)
///
/// # Errors
/// `MESSAGE_MALFORMED` for two parts or kinds of the extension and for a message by our own side (we are `role`),
/// `EXTENSION_NOT_TAGGED`, `EXTENSION_NOT_ACTIVE`,
/// `WRONG_KIND` for an intent or its response, `MEDIA_TYPE_UNSUPPORTED`, `HANDSHAKE_MALFORMED`.
pub(crate) fn of(
    message: Message,
    facts: &CallerFacts,
    role: Role,
    limits: &Limits,
) -> Result<Received, Refusal> {
    let Message { facts: message_facts, form } = message;
    let sorted = Sorted::of(&form, limits)?;
    if sorted.is_empty() {
        return Ok(Received::Prose(message_facts));
    }
    admit::check_tagged_and_active(&form, facts)?;
    let (part, kind) = match sorted.others.as_slice() {
        [(part, kind @ (Kind::UpgradeOffer | Kind::UpgradeResponse))] => (part, *kind),
        [(_, Kind::UpgradeOffer | Kind::UpgradeResponse), (second, _), ..] => {
            return Err(malformed(second.pointer("metadata"), "a second handshake"));
        }
        _ => return Err(Refusal::new(Stage::Admit, Reason::WrongKind)),
    };
    // What we said ourselves, sent back to us, is no word of the peer's.
    let sender = if role == Role::Agent { "ROLE_USER" } else { "ROLE_AGENT" };
    if form.text("role") != Some(sender) {
        return Err(malformed("/role", "not the role of the other side"));
    }
    let handshake = payload(part, limits)?;
    check_agrees(part, kind, &handshake)?;
    let unjudged = sorted.unjudged;
    Ok(Received::Handshake(Box::new(HandshakeMessage { handshake, unjudged })))
}

fn payload(part: &Part<'_>, limits: &Limits) -> Result<Handshake, Refusal> {
    let decoded = match (part.content, part.media_type()) {
        ("data", None) => Handshake::decode_json(part.value()),
        ("data", Some(media_type)) if admit::is_utf8_of(media_type, "application/json") => {
            Handshake::decode_json(part.value())
        }
        ("text", Some(media_type)) if admit::readable_rdf(media_type).is_some() => {
            Handshake::decode_graph(part.text().unwrap_or_default(), media_type, limits)
        }
        _ => return Err(admit::unsupported(part)),
    };
    decoded.map_err(|error: HandshakeError| refused(part, part.content, &error.to_string()))
}

/// The payload says no other thing than the part's metadata, which readers dispatch on (PMETA-1).
fn check_agrees(part: &Part<'_>, kind: Kind, handshake: &Handshake) -> Result<(), Refusal> {
    let payload_kind = match handshake {
        Handshake::Offer(_) => Kind::UpgradeOffer,
        Handshake::Response(_) => Kind::UpgradeResponse,
    };
    if payload_kind != kind {
        return Err(refused(part, "metadata", "the part and its payload are of two kinds"));
    }
    let claim = part.metadata().and_then(|metadata| metadata.get(META_PROTOCOL_HASH));
    if claim.is_some_and(|claim| claim.as_str() != Some(handshake.protocol_hash().as_str())) {
        return Err(refused(part, "metadata", "the part and its payload are about two documents"));
    }
    Ok(())
}

fn refused(part: &Part<'_>, member: &str, detail: &str) -> Refusal {
    Refusal::new(Stage::Admit, Reason::HandshakeMalformed).with(|evidence| {
        evidence.path = Some(part.pointer(member));
        evidence.detail = Some(detail.to_owned());
    })
}

#[cfg(test)]
mod tests;
