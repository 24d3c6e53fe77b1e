//! The form of an A2A v1.0 message, checked on what the strict reader read and not on what a lenient model kept.
//!
//! The official types drop what they do not expect: an ill-typed `metadata`, the second of two contents, a member
//! spelled in snake_case. Whoever reads the message after us may read those. So a message either means the same to
//! every reader, or it is refused.

use super::digest::drop_defaults;
use crate::limits::Limits;
use crate::refusal::{Reason, Refusal, Stage};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize as _;
use serde_json::{Map, Value};
use std::collections::HashMap;

mod artifact;

type Members = Map<String, Value>;

const MESSAGE_MEMBERS: [&str; 8] =
    ["messageId", "contextId", "taskId", "role", "parts", "metadata", "extensions", "referenceTaskIds"];
const PART_MEMBERS: [&str; 7] = ["text", "raw", "url", "data", "metadata", "filename", "mediaType"];
/// The members of a part of which exactly one is its content.
const CONTENTS: [&str; 4] = ["text", "raw", "url", "data"];

/// A message whose form was checked; members that hold their default are dropped. Or an artifact whose form was checked.
/// Only [`Form::check`] and [`Form::check_artifact`] make one.
#[derive(Debug)]
pub(super) struct Form {
    message: Value,
}

/// One part of a checked message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'form> {
    members: &'form Members,
    /// `text`, `raw`, `url` or `data`.
    pub(super) content: &'static str,
    pub(super) index: usize,
}

impl Form {
    /// Checks the form, and that the official A2A types read the same from it.
    ///
    /// # Errors
    /// `MESSAGE_MALFORMED`, `LIMIT_EXCEEDED`.
    pub(super) fn check(mut value: Value, limits: &Limits) -> Result<Self, Refusal> {
        let Value::Object(message) = &value else { return Err(malformed("", "not an object")) };
        check_members(message, "", &MESSAGE_MEMBERS)?;
        if id(message, "messageId", limits)?.is_none_or(str::is_empty) {
            return Err(malformed("/messageId", "no message id"));
        }
        id(message, "contextId", limits)?;
        id(message, "taskId", limits)?;
        if !matches!(message.get("role").and_then(Value::as_str), Some("ROLE_USER" | "ROLE_AGENT")) {
            return Err(malformed("/role", "not a role"));
        }
        check_metadata(message, "")?;
        check_texts(message, "extensions", usize::MAX)?;
        check_texts(message, "referenceTaskIds", limits.id_bytes)?;
        check_parts(message, limits)?;
        drop_defaults(&mut value);
        let form = Self { message: value };
        form.check_typed_model()?;
        Ok(form)
    }

    /// The message without members that hold their default: what its digest is taken over.
    pub(super) fn message(&self) -> &Value {
        &self.message
    }

    pub(super) fn into_message(self) -> Value {
        self.message
    }

    /// The message, and the value of the data part at `index`, which is null in it from then on.
    pub(super) fn take_data(mut self, index: usize) -> (Value, Value) {
        let data = self.message.get_mut("parts").and_then(|parts| parts.get_mut(index)?.get_mut("data"));
        let data = data.map(Value::take).unwrap_or_default();
        (self.message, data)
    }

    /// A member of the message that is a text, where it has one.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.message.get(name).and_then(Value::as_str)
    }

    /// Whether the message lists an extension, compared exactly (URI-1).
    pub(super) fn lists(&self, extension: &str) -> bool {
        let listed = self.message.get("extensions").and_then(Value::as_array);
        listed.is_some_and(|listed| listed.iter().any(|uri| uri == extension))
    }

    /// The parts, in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let parts = self.message.get("parts").and_then(Value::as_array).into_iter().flatten();
        parts.enumerate().filter_map(|(index, part)| {
            let members = part.as_object()?;
            let content = CONTENTS.into_iter().find(|name| members.contains_key(*name))?;
            Some(Part { members, content, index })
        })
    }

    /// The official types must accept the message, and hold every known member as it was read here (threat 44).
    fn check_typed_model(&self) -> Result<(), Refusal> {
        let outline = without_data(&self.message);
        let typed = a2a::Message::deserialize(&outline)
            .map_err(|_| malformed("", "the official A2A types do not accept it"))?;
        if is_as_read(&typed, &outline) {
            Ok(())
        } else {
            Err(malformed("", "the official A2A types read something else"))
        }
    }
}

impl<'form> Part<'form> {
    /// The value of the part's one content member.
    pub(super) fn value(&self) -> &'form Value {
        self.members.get(self.content).unwrap_or(&Value::Null)
    }

    /// The text, where the content is `text`.
    pub(super) fn text(&self) -> Option<&'form str> {
        self.members.get("text").and_then(Value::as_str)
    }

    pub(super) fn media_type(&self) -> Option<&'form str> {
        self.members.get("mediaType").and_then(Value::as_str)
    }

    pub(super) fn metadata(&self) -> Option<&'form Members> {
        self.members.get("metadata").and_then(Value::as_object)
    }

    /// The JSON pointer of a member of the part.
    pub(super) fn pointer(&self, member: &str) -> String {
        format!("/parts/{}/{member}", self.index)
    }
}

/// A refusal of the message's form, with the place and our words.
pub(super) fn malformed(path: impl Into<String>, detail: &str) -> Refusal {
    Refusal::new(Stage::Admit, Reason::MessageMalformed).with(|evidence| {
        evidence.path = Some(path.into());
        evidence.detail = Some(detail.to_owned());
    })
}

fn check_parts(members: &Members, limits: &Limits) -> Result<(), Refusal> {
    let parts = members.get("parts").and_then(Value::as_array);
    let parts = parts.filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| malformed("/parts", "not a list of at least one part"))?;
    if parts.len() > limits.parts {
        return Err(Refusal::new(Stage::Admit, Reason::LimitExceeded).with(|evidence| {
            evidence.path = Some("/parts".into());
            evidence.detail = Some("more parts than are read".into());
        }));
    }
    parts.iter().enumerate().try_for_each(|(index, part)| check_part(part, index))
}

fn check_part(part: &Value, index: usize) -> Result<(), Refusal> {
    let path = format!("/parts/{index}");
    let Value::Object(part) = part else { return Err(malformed(path, "not an object")) };
    check_members(part, &path, &PART_MEMBERS)?;
    let mut contents = CONTENTS.iter().filter_map(|name| Some((name, part.get(*name)?)));
    match (contents.next(), contents.next()) {
        (Some((&"data", _)), None) => {}
        (Some((_, Value::String(_))), None) => {}
        (Some(_), None) => return Err(malformed(path, "the content is not a text")),
        _ => return Err(malformed(path, "not exactly one of text, raw, url and data")),
    }
    check_metadata(part, &path)?;
    for name in ["filename", "mediaType"] {
        if part.get(name).is_some_and(|value| !value.is_string()) {
            return Err(malformed(format!("{path}/{name}"), "not a text"));
        }
    }
    Ok(())
}

/// No other spelling of a known member: `message_id`, `MessageID` and the like are that member to some readers.
fn check_members(members: &Members, path: &str, known: &[&str]) -> Result<(), Refusal> {
    match twin(members, known) {
        Some(twin) => Err(malformed(format!("{path}/{twin}"), "another spelling of the member's name")),
        None => Ok(()),
    }
}

/// A known member of which `members` has another spelling. Some readers fold letters by Unicode: to Go's, `partſ` is
/// `parts`, though the long s is a small letter already; so both ways are taken.
pub(crate) fn twin<'known>(members: &Members, known: &[&'known str]) -> Option<&'known str> {
    let folded = |name: &str| name.replace(['_', '-'], "").to_uppercase().to_lowercase();
    let strangers = members.keys().filter(|name| !known.contains(&name.as_str()));
    strangers
        .map(|name| folded(name))
        .find_map(|name| known.iter().find(|known| folded(known) == name).copied())
}

fn check_metadata(members: &Members, path: &str) -> Result<(), Refusal> {
    match members.get("metadata") {
        None | Some(Value::Object(_)) => Ok(()),
        Some(_) => Err(malformed(format!("{path}/metadata"), "not an object")),
    }
}

fn id<'members>(
    members: &'members Members,
    name: &str,
    limits: &Limits,
) -> Result<Option<&'members str>, Refusal> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(id)) if id.len() <= limits.id_bytes => Ok(Some(id)),
        Some(Value::String(_)) => Err(malformed(format!("/{name}"), "a longer id than is read")),
        Some(_) => Err(malformed(format!("/{name}"), "not a text")),
    }
}

fn check_texts(members: &Members, name: &str, octets: usize) -> Result<(), Refusal> {
    let all_texts = match members.get(name) {
        None => true,
        Some(Value::Array(items)) => {
            items.iter().all(|item| item.as_str().is_some_and(|text| text.len() <= octets))
        }
        Some(_) => false,
    };
    if all_texts { Ok(()) } else { Err(malformed(format!("/{name}"), "not a list of texts that are read")) }
}

/// A message with nothing inside the objects and arrays of its `data`. The official types hold that member as it comes,
/// so what is inside is no reason to read it otherwise, and most of a message is there.
fn without_data(message: &Value) -> Value {
    let of_part = |(name, value): (&String, &Value)| {
        let value = match (name.as_str(), value) {
            ("data", Value::Object(_)) => Value::Object(Map::new()),
            ("data", Value::Array(_)) => Value::Array(Vec::new()),
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    let part = |part: &Value| match part {
        Value::Object(members) => members.iter().map(of_part).collect(),
        other => other.clone(),
    };
    let of_message = |(name, value): (&String, &Value)| {
        let value = match (name.as_str(), value) {
            ("parts", Value::Array(parts)) => parts.iter().map(part).collect(),
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    match message {
        Value::Object(members) => members.iter().map(of_message).collect(),
        other => other.clone(),
    }
}

/// Whether a typed message holds every member that A2A v1.0 knows as it was read, and no other. What the types may hold
/// is listed exhaustively: a member that they gain does not compile.
fn is_as_read(typed: &a2a::Message, read: &Value) -> bool {
    let a2a::Message {
        message_id,
        context_id,
        task_id,
        role,
        parts,
        metadata,
        extensions,
        reference_task_ids,
    } = typed;
    let role = serde_json::to_value(role).ok();
    let read_parts = read.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    is_text(Some(message_id), read.get("messageId"))
        && is_text(context_id.as_ref(), read.get("contextId"))
        && is_text(task_id.as_ref(), read.get("taskId"))
        && role.as_ref() == read.get("role")
        && is_metadata(metadata.as_ref(), read.get("metadata"))
        && is_list(extensions.as_ref(), read.get("extensions"))
        && is_list(reference_task_ids.as_ref(), read.get("referenceTaskIds"))
        && parts.len() == read_parts.len()
        && parts.iter().zip(read_parts).all(|(typed, read)| is_part(typed, read))
}

fn is_part(typed: &a2a::Part, read: &Value) -> bool {
    let a2a::Part { content, filename, media_type, metadata } = typed;
    let (name, is_content) = match content {
        a2a::PartContent::Text(text) => ("text", is_text(Some(text), read.get("text"))),
        a2a::PartContent::Raw(octets) => ("raw", is_text(Some(&BASE64.encode(octets)), read.get("raw"))),
        a2a::PartContent::Url(url) => ("url", is_text(Some(url), read.get("url"))),
        a2a::PartContent::Data(value) => ("data", read.get("data") == Some(value)),
    };
    is_content
        && CONTENTS.iter().all(|other| *other == name || read.get(other).is_none())
        && is_text(filename.as_ref(), read.get("filename"))
        && is_text(media_type.as_ref(), read.get("mediaType"))
        && is_metadata(metadata.as_ref(), read.get("metadata"))
}

fn is_text(typed: Option<&String>, read: Option<&Value>) -> bool {
    match (typed, read) {
        (None, None) => true,
        (Some(typed), Some(Value::String(read))) => typed == read,
        _ => false,
    }
}

fn is_list(typed: Option<&Vec<String>>, read: Option<&Value>) -> bool {
    match (typed, read) {
        (None, None) => true,
        (Some(typed), Some(Value::Array(read))) => {
            typed.len() == read.len() && typed.iter().zip(read).all(|(typed, read)| read == typed)
        }
        _ => false,
    }
}

fn is_metadata(typed: Option<&HashMap<String, Value>>, read: Option<&Value>) -> bool {
    match (typed, read) {
        (None, None) => true,
        (Some(typed), Some(Value::Object(read))) => {
            typed.len() == read.len() && read.iter().all(|(name, value)| typed.get(name) == Some(value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message() -> Value {
        json!({
            "messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}],
        })
    }

    fn with(pointer: &str, value: Value) -> Value {
        let mut message = message();
        match pointer.strip_prefix("part/") {
            Some(name) => message["parts"][0][name] = value,
            None => message[pointer] = value,
        }
        message
    }

    fn check(message: &Value) -> Result<Form, Refusal> {
        Form::check(message.clone(), &Limits::default())
    }

    fn assert_malformed(message: &Value, path: &str) {
        let refusal = check(message).expect_err(&format!("{message}"));
        assert_eq!(refusal.reason(), Reason::MessageMalformed, "{message}");
        assert_eq!(refusal.evidence().path.as_deref(), Some(path), "{message}");
        assert!(refusal.evidence().detail.is_some());
    }

    #[test]
    fn well_formed_messages_are_accepted() {
        for message in [
            message(),
            with("contextId", json!("")),
            with("extensions", json!([])),
            with("referenceTaskIds", json!(["t"])),
            with("metadata", json!({"a": [1.5, null]})),
            with("role", json!("ROLE_AGENT")),
            with("unknown", json!({"text": 1})),
            with("part/kind", json!("text")),
            with("part/mediaType", json!("text/plain")),
            with("part/metadata", json!({})),
            with(
                "parts",
                json!([{"raw": "AAEC"}, {"url": "https://a.example/"}, {"data": null}, {"data": {"a": 0.1}}]),
            ),
        ] {
            assert!(check(&message).is_ok(), "{message}");
        }
    }

    #[test]
    fn a_part_has_exactly_one_content() {
        for part in [
            json!({}),
            json!({"metadata": {}}),
            json!({"text": "a", "data": {}}),
            json!({"text": "a", "raw": ""}),
            json!({"data": null, "url": ""}),
            json!({"text": null, "data": {}}),
        ] {
            assert_malformed(&with("parts", json!([part])), "/parts/0");
        }
    }

    #[test]
    fn a_content_is_of_its_type() {
        for part in
            [json!({"text": 1}), json!({"text": null}), json!({"raw": {}}), json!({"url": []}), json!("a")]
        {
            assert_malformed(&with("parts", json!([{"text": "a"}, part])), "/parts/1");
        }
    }

    #[test]
    fn metadata_is_an_object() {
        for value in [json!(null), json!("a"), json!([]), json!(1)] {
            assert_malformed(&with("metadata", value.clone()), "/metadata");
            assert_malformed(&with("part/metadata", value), "/parts/0/metadata");
        }
    }

    #[test]
    fn media_type_and_filename_are_texts() {
        for value in [json!(null), json!(1), json!(["text/turtle"])] {
            assert_malformed(&with("part/mediaType", value.clone()), "/parts/0/mediaType");
            assert_malformed(&with("part/filename", value), "/parts/0/filename");
        }
    }

    #[test]
    fn no_member_has_a_second_spelling() {
        for (name, member) in [
            ("message_id", "messageId"),
            ("context_id", "contextId"),
            ("task_id", "taskId"),
            ("reference_task_ids", "referenceTaskIds"),
            ("MessageID", "messageId"),
            ("Role", "role"),
            ("PARTS", "parts"),
            ("Extensions", "extensions"),
            ("Metadata", "metadata"),
            ("part\u{17f}", "parts"),
            ("ME\u{17f}\u{17f}AGEID", "messageId"),
            ("tas\u{212a}Id", "taskId"),
            ("contextıd", "contextId"),
        ] {
            assert_malformed(&with(name, json!("x")), &format!("/{member}"));
        }
        for (name, member) in [
            ("media_type", "mediaType"),
            ("MediaType", "mediaType"),
            ("Text", "text"),
            ("DATA", "data"),
            ("file_name", "filename"),
            ("meta_data", "metadata"),
        ] {
            assert_malformed(&with(&format!("part/{name}"), json!("x")), &format!("/parts/0/{member}"));
        }
    }

    #[test]
    fn the_role_is_known() {
        for value in
            [json!("ROLE_UNSPECIFIED"), json!(""), json!("user"), json!("role_user"), json!(1), json!(null)]
        {
            assert_malformed(&with("role", value), "/role");
        }
        let mut message = message();
        message.as_object_mut().unwrap().remove("role");
        assert_malformed(&message, "/role");
    }

    #[test]
    fn ids_are_texts_within_their_bound() {
        let longest = "é".repeat(Limits::default().id_bytes / 2);
        for name in ["messageId", "contextId", "taskId"] {
            assert!(check(&with(name, json!(longest))).is_ok());
            assert_malformed(&with(name, json!(format!("{longest}x"))), &format!("/{name}"));
            assert_malformed(&with(name, json!(1)), &format!("/{name}"));
            assert_malformed(&with(name, json!(null)), &format!("/{name}"));
        }
        assert_malformed(&with("referenceTaskIds", json!([format!("{longest}x")])), "/referenceTaskIds");
    }

    #[test]
    fn the_message_id_is_required() {
        assert_malformed(&with("messageId", json!("")), "/messageId");
        let mut message = message();
        message.as_object_mut().unwrap().remove("messageId");
        assert_malformed(&message, "/messageId");
    }

    #[test]
    fn parts_are_a_list_within_its_bound() {
        for value in [json!([]), json!({}), json!(null), json!("a")] {
            assert_malformed(&with("parts", value), "/parts");
        }
        let parts = |count| with("parts", json!(vec![json!({"text": "a"}); count]));
        let most = Limits::default().parts;
        assert!(check(&parts(most)).is_ok());
        assert_eq!(check(&parts(most + 1)).unwrap_err().reason(), Reason::LimitExceeded);
    }

    #[test]
    fn extensions_are_a_list_of_texts() {
        for value in [json!("x"), json!([1]), json!(["x", null]), json!(null), json!({})] {
            assert_malformed(&with("extensions", value.clone()), "/extensions");
            assert_malformed(&with("referenceTaskIds", value), "/referenceTaskIds");
        }
    }

    #[test]
    fn what_is_not_an_object_is_no_message() {
        for value in [json!([]), json!("a"), json!(null)] {
            assert_malformed(&value, "");
        }
    }

    #[test]
    fn the_official_types_must_accept_the_message() {
        // Base64 without padding, and in the URL alphabet, is not what they read.
        for raw in ["AA", "_-8=", "A", "AAE=\n"] {
            assert_malformed(&with("parts", json!([{"raw": raw}])), "");
        }
    }

    #[test]
    fn the_official_types_must_read_what_was_read_here() {
        let form = |message| Form { message };
        assert!(form(message()).check_typed_model().is_ok());
        // Forms that the checks above refuse, because the types read something else.
        for other in
            [with("part/data", json!({})), with("part/metadata", json!([])), with("part/mediaType", json!(1))]
        {
            assert!(form(other.clone()).check_typed_model().is_err(), "{other}");
        }
    }
}
