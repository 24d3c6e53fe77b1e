//! Stage 1: octets to an [`Envelope`].

use super::form::{Form, Part, malformed};
use super::strict_json::{self, JsonError};
use super::{Admitted, Digest, Envelope, MessageFacts, PresentationPart, RdfPart, Rest, UnjudgedPart};
use crate::config::{Config, StickyRequired};
use crate::limits::Limits;
use crate::protocol::conversation::Role;
use crate::rdf::RdfMediaType;
use crate::refusal::{Reason, Refusal, Stage};
use crate::request::{CallerFacts, MessageInput, Request};
use crate::vocab::{EXTENSION, META_KIND, META_PROTOCOL_HASH};
use serde_json::Value;
use std::collections::HashMap;

/// A message that could be read: what every report says of it, whatever becomes of it.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) facts: MessageFacts,
    pub(super) form: Form,
}

/// Reads the message strictly.
///
/// # Errors
/// `MESSAGE_TOO_LARGE`, `MESSAGE_MALFORMED`, `LIMIT_EXCEEDED`.
pub(crate) fn read(request: &Request, config: &Config) -> Result<Message, Refusal> {
    read_message(&request.message, &request.facts, &config.limits)
}

/// [`read`], of a message that no decision is asked about.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_message(
    message: &MessageInput,
    facts: &CallerFacts,
    limits: &Limits,
) -> Result<Message, Refusal> {
    let form = read_form(message, limits)?;
    Ok(Message { facts: message_facts(&form, message, facts)?, form })
}

/// Sorts the message's parts by kind, and checks tagging and activation.
///
/// A message without an extension part is not ours, even where it lists the extension: nothing of it was judged, and
/// [`crate::NotOurs`] permits nothing (`message-binding.md` 1 and 5).
///
/// # Errors
/// `MESSAGE_MALFORMED`, `LIMIT_EXCEEDED`, `MEDIA_TYPE_UNSUPPORTED`, `WRONG_KIND`, `EXTENSION_NOT_ACTIVE`,
/// `EXTENSION_NOT_TAGGED`, `PROTOCOL_REQUIRED`.
pub(crate) fn admit(message: Message, request: &Request, config: &Config) -> Result<Admitted, Refusal> {
    let Message { facts, form } = message;
    let sorted = Sorted::of(&form, &config.limits)?;
    if sorted.is_empty() {
        check_prose(&facts, Role::Agent, request, config)?;
        return Ok(Admitted::NotOurs);
    }
    check_tagged_and_active(&form, &request.facts)?;
    let Some(intent) = sorted.intent else {
        return Err(Refusal::new(Stage::Admit, Reason::WrongKind));
    };
    let envelope = envelope(facts, &sorted, intent)?;
    let without = sorted.authorizations.iter().map(|(part, _)| part.index).collect();
    let data = sorted.authorizations.iter().find(|(_, form)| *form == Authorization::DataIntegrity);
    let data = data.map(|(part, _)| part.index);
    // The largest part is moved, not copied. It is none of the rest.
    Ok(Admitted::Ours(Box::new(match data {
        None => Envelope { rest: Rest { message: form.into_message(), without }, ..envelope },
        Some(index) => {
            let (message, document) = form.take_data(index);
            let presentation = Some(PresentationPart::DataIntegrity { document });
            Envelope { rest: Rest { message, without }, presentation, ..envelope }
        }
    })))
}

/// Whether a message without a part of the extension may be said in its conversation (`message-binding.md` 5), to us as
/// `role`.
///
/// # Errors
/// `EXTENSION_NOT_ACTIVE` where our card requires it, `PROTOCOL_REQUIRED`.
pub(crate) fn check_prose(
    facts: &MessageFacts,
    role: Role,
    request: &Request,
    config: &Config,
) -> Result<(), Refusal> {
    if role == Role::Agent && config.extension_required && !is_active(&request.facts) {
        return Err(not_active());
    }
    let conversation = &request.snapshot.conversation;
    // A task belongs to one context. Where nobody says to which, it may be one that prose is refused in.
    let task_of_any_context = facts.task_id.is_some() && facts.context.is_none();
    let everywhere = config.sticky_required == StickyRequired::Peer || task_of_any_context;
    let why = if conversation.of_another_peer {
        "the context is another peer's"
    } else if conversation.prose_forbidden || request.facts.prose_forbidden {
        "the message carries no part of the extension"
    } else if conversation.prose_forbidden_elsewhere && everywhere {
        "the message carries no part of the extension, which this peer must use"
    } else {
        return Ok(());
    };
    Err(Refusal::new(Stage::Admit, Reason::ProtocolRequired).detail(why))
}

/// A message that has a part of the extension lists it, and its request has activated it (ACT-2, DECL-4).
pub(super) fn check_tagged_and_active(form: &Form, facts: &CallerFacts) -> Result<(), Refusal> {
    if !form.lists(EXTENSION) {
        return Err(at(Reason::ExtensionNotTagged, "/extensions", "the extension is not listed"));
    }
    if is_active(facts) { Ok(()) } else { Err(not_active()) }
}

fn is_active(facts: &CallerFacts) -> bool {
    facts.activated.contains(EXTENSION)
}

/// Brings both inputs to one form. A typed message is written by its own types and read back strictly, so that its
/// bounds and rules are the same.
pub(super) fn read_form(message: &MessageInput, limits: &Limits) -> Result<Form, Refusal> {
    let value = match message {
        MessageInput::Bytes(octets) => strict_json::read(octets, limits),
        MessageInput::Typed(message) => {
            write(message, limits).and_then(|octets| strict_json::read(&octets, limits))
        }
    };
    Form::check(value.map_err(unreadable)?, limits)
}

pub(super) fn write(message: &a2a::Message, limits: &Limits) -> Result<Vec<u8>, JsonError> {
    check_typed_depth(message, limits)?;
    serde_json::to_vec(message).map_err(|_| JsonError::Malformed("a message that JSON cannot write"))
}

/// Serialization recurses, so the depth of every embedded value is checked before it.
///
/// # Errors
/// [`JsonError::Limit`]
pub(crate) fn check_typed_depth(message: &a2a::Message, limits: &Limits) -> Result<(), JsonError> {
    check_depth_of(&message.parts, message.metadata.as_ref(), limits)
}

/// The same of what a message or an artifact may nest.
pub(super) fn check_depth_of(
    parts: &[a2a::Part],
    metadata: Option<&HashMap<String, Value>>,
    limits: &Limits,
) -> Result<(), JsonError> {
    let of_parts = parts.iter().flat_map(|part| part.metadata.iter()).flat_map(|members| members.values());
    let of_whole = metadata.into_iter().flat_map(|members| members.values());
    let contents = parts.iter().filter_map(|part| match &part.content {
        a2a::PartContent::Data(value) => Some(value),
        _ => None,
    });
    of_parts.chain(of_whole).chain(contents).try_for_each(|value| strict_json::check_depth(value, limits))
}

pub(super) fn unreadable(error: JsonError) -> Refusal {
    let reason = match error {
        JsonError::TooLarge => Reason::MessageTooLarge,
        JsonError::Limit(_) => Reason::LimitExceeded,
        JsonError::Malformed(_) => Reason::MessageMalformed,
    };
    Refusal::new(Stage::Admit, reason).detail(error.to_string())
}

fn message_facts(form: &Form, message: &MessageInput, facts: &CallerFacts) -> Result<MessageFacts, Refusal> {
    let CallerFacts { context, .. } = facts;
    let context_id = form.text("contextId");
    // The caller's fact is the one that counts; a message that says otherwise is in no context.
    if context_id.is_some() && context_id != context.as_deref() {
        return Err(malformed("/contextId", "not the context that the caller vouches for"));
    }
    Ok(MessageFacts {
        message_id: form.text("messageId").unwrap_or_default().to_owned(),
        digest: Digest::of_jcs(form.message()).map_err(unwritable)?,
        context_id: context_id.map(str::to_owned),
        context: context.clone(),
        task_id: form.text("taskId").map(str::to_owned),
        parsed_by_caller: matches!(message, MessageInput::Typed(_)),
    })
}

/// What the extension's parts may be (PMETA-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    UpgradeOffer,
    UpgradeResponse,
    Intent,
    IntentResponse,
    Authorization,
}

impl Kind {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "upgrade-offer" => Some(Self::UpgradeOffer),
            "upgrade-response" => Some(Self::UpgradeResponse),
            "intent" => Some(Self::Intent),
            "intent-response" => Some(Self::IntentResponse),
            "authorization" => Some(Self::Authorization),
            _ => None,
        }
    }

    /// The kind of a part; `None` is a part that is not the extension's.
    ///
    /// "Receivers dispatch on it without sniffing payloads": a part that looks like the extension's without saying
    /// what it is refuses the message.
    pub(super) fn of(part: &Part<'_>) -> Result<Option<Self>, Refusal> {
        let metadata = part.metadata();
        if let Some(kind) = metadata.and_then(|metadata| metadata.get(META_KIND)) {
            let known = kind.as_str().and_then(Self::parse);
            return known.map(Some).ok_or_else(|| malformed(part.pointer("metadata"), "not a known kind"));
        }
        if metadata.is_some_and(|metadata| metadata.keys().any(|key| is_ours(key))) {
            return Err(malformed(part.pointer("metadata"), "a key of the extension without a kind"));
        }
        if part.media_type().is_some_and(is_rdf) {
            return Err(malformed(part.pointer("mediaType"), "RDF without a kind"));
        }
        Ok(None)
    }
}

/// Whether a metadata key is the extension's URI or below it.
fn is_ours(key: &str) -> bool {
    key.strip_prefix(EXTENSION).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '#', '?']))
}

/// The form of an authorization part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Authorization {
    DataIntegrity,
    Jose,
    Policy(RdfMediaType),
    /// A media type that is not read here.
    Unsupported,
}

impl Authorization {
    fn of(part: &Part<'_>) -> Result<Self, Refusal> {
        let media_type = part.media_type();
        match part.content {
            "data" if !part.value().is_object() => {
                Err(malformed(part.pointer("data"), "an authorization that is not an object"))
            }
            "data" if media_type.is_none_or(|text| is_utf8_of(text, "application/vp")) => {
                Ok(Self::DataIntegrity)
            }
            "data" => Ok(Self::Unsupported),
            "text" => Ok(match media_type {
                Some(text) if is_utf8_of(text, "application/vp+jwt") => Self::Jose,
                Some(text) => readable_rdf(text).map_or(Self::Unsupported, Self::Policy),
                None => Self::Unsupported,
            }),
            content => {
                Err(malformed(part.pointer(content), "an authorization that is neither data nor text"))
            }
        }
    }
}

/// The parts of a message by kind, in numbers that one decision can take.
#[derive(Debug)]
pub(super) struct Sorted<'form> {
    intent: Option<Part<'form>>,
    authorizations: Vec<(Part<'form>, Authorization)>,
    /// Handshakes or responses, all of one kind. Where there is one, there is no part of another kind.
    pub(super) others: Vec<(Part<'form>, Kind)>,
    pub(super) unjudged: Vec<UnjudgedPart>,
}

impl<'form> Sorted<'form> {
    pub(super) fn of(form: &'form Form, limits: &Limits) -> Result<Self, Refusal> {
        let mut sorted =
            Self { intent: None, authorizations: Vec::new(), others: Vec::new(), unjudged: Vec::new() };
        let mut kinds = Vec::new();
        for part in form.parts() {
            let Some(kind) = Kind::of(&part)? else {
                sorted.unjudged.push(UnjudgedPart { index: part.index, content: part.content.to_owned() });
                continue;
            };
            kinds.push(kind);
            match kind {
                Kind::Intent if sorted.intent.is_some() => {
                    return Err(malformed(part.pointer("metadata"), "a second intent"));
                }
                Kind::Intent if part.text().is_none() => {
                    return Err(malformed(part.pointer(part.content), "an intent that is not text"));
                }
                Kind::Intent => sorted.intent = Some(part),
                Kind::Authorization => sorted.authorizations.push((part, Authorization::of(&part)?)),
                Kind::UpgradeOffer | Kind::UpgradeResponse | Kind::IntentResponse => {
                    sorted.others.push((part, kind));
                }
            }
        }
        sorted.check_numbers(&kinds, limits)?;
        Ok(sorted)
    }

    /// Whether no part is the extension's.
    pub(super) fn is_empty(&self) -> bool {
        self.intent.is_none() && self.authorizations.is_empty() && self.others.is_empty()
    }

    fn check_numbers(&self, kinds: &[Kind], limits: &Limits) -> Result<(), Refusal> {
        if !self.others.is_empty() && kinds.windows(2).any(|pair| pair.first() != pair.last()) {
            return Err(malformed("/parts", "parts of kinds that do not go together"));
        }
        if self.intent.is_none() && !self.authorizations.is_empty() {
            return Err(malformed("/parts", "an authorization without an intent"));
        }
        let count = |wanted: fn(&Authorization) -> bool| {
            self.authorizations.iter().filter(|(_, authorization)| wanted(authorization)).count()
        };
        if count(|form| matches!(form, Authorization::DataIntegrity | Authorization::Jose)) > 1 {
            return Err(malformed("/parts", "a second presentation"));
        }
        if count(|form| matches!(form, Authorization::Policy(_))) > limits.policy_parts {
            return Err(at(Reason::LimitExceeded, "/parts", "more policy documents than are read"));
        }
        Ok(())
    }
}

/// The envelope, but for a presentation of data and the rest.
fn envelope(facts: MessageFacts, sorted: &Sorted<'_>, intent: Part<'_>) -> Result<Envelope, Refusal> {
    let media_type = intent.media_type().and_then(readable_rdf).ok_or_else(|| unsupported(&intent))?;
    let mut presentation = None;
    let mut policy_parts = Vec::new();
    for (part, authorization) in &sorted.authorizations {
        let index = part.index;
        let text = || part.text().unwrap_or_default().to_owned();
        match authorization {
            Authorization::DataIntegrity => {}
            Authorization::Jose => presentation = Some(PresentationPart::Jose { jws: text() }),
            Authorization::Policy(media_type) => {
                policy_parts.push(RdfPart { index, media_type: *media_type, text: text() });
            }
            Authorization::Unsupported => return Err(unsupported(part)),
        }
    }
    let claim = intent.metadata().and_then(|metadata| metadata.get(META_PROTOCOL_HASH));
    Ok(Envelope {
        digest: facts.digest,
        rest: Rest::default(),
        facts,
        protocol_hash_claim: claim.and_then(Value::as_str).map(str::to_owned),
        intent: RdfPart {
            index: intent.index,
            media_type,
            text: intent.text().unwrap_or_default().to_owned(),
        },
        presentation,
        policy_parts,
        unjudged: sorted.unjudged.clone(),
    })
}

/// An RDF media type that is read here, in UTF-8.
pub(crate) fn readable_rdf(media_type: &str) -> Option<RdfMediaType> {
    RdfMediaType::parse(media_type).filter(|_| is_utf8(media_type))
}

/// Whether a media type has this type and subtype, and no charset but UTF-8.
pub(super) fn is_utf8_of(media_type: &str, essence: &str) -> bool {
    essence_of(media_type).eq_ignore_ascii_case(essence) && is_utf8(media_type)
}

/// Whether a media type names no charset but UTF-8. Quoting is not read: a `;` within quotes only refuses more.
fn is_utf8(media_type: &str) -> bool {
    media_type.split(';').skip(1).all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    })
}

/// Whether a media type is one of RDF's, read here or not.
fn is_rdf(media_type: &str) -> bool {
    let essence = essence_of(media_type).to_ascii_lowercase();
    matches!(
        essence.as_str(),
        "text/turtle"
            | "application/ld+json"
            | "application/n-triples"
            | "application/n-quads"
            | "application/trig"
            | "application/rdf+xml"
            | "text/n3"
            | "text/rdf+n3"
            | "application/x-turtle"
    )
}

fn essence_of(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

pub(super) fn at(reason: Reason, path: impl Into<String>, detail: &str) -> Refusal {
    Refusal::new(Stage::Admit, reason).with(|evidence| {
        evidence.path = Some(path.into());
        evidence.detail = Some(detail.to_owned());
    })
}

pub(super) fn not_active() -> Refusal {
    Refusal::new(Stage::Admit, Reason::ExtensionNotActive)
        .with(|evidence| evidence.expected = Some(EXTENSION.into()))
}

pub(super) fn unsupported(part: &Part<'_>) -> Refusal {
    Refusal::new(Stage::Admit, Reason::MediaTypeUnsupported).with(|evidence| {
        evidence.path = Some(part.pointer("mediaType"));
        evidence.seen = part.media_type().map(str::to_owned);
    })
}

fn unwritable(_: serde_json::Error) -> Refusal {
    Refusal::internal(Stage::Admit, "a message that was read has no JCS form")
}

#[cfg(test)]
mod tests;
