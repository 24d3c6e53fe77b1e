//! The form of an A2A v1.0 artifact, checked by the rules that hold for a message.

use super::{Form, Members, check_members, check_metadata, check_parts, check_texts, id, malformed};
use super::{is_list, is_metadata, is_part, is_text, without_data};
use crate::limits::Limits;
use crate::refusal::Refusal;
use serde::Deserialize as _;
use serde_json::Value;

const ARTIFACT_MEMBERS: [&str; 6] = ["artifactId", "name", "description", "parts", "metadata", "extensions"];

impl Form {
    /// Checks the form, and that the official A2A types read the same from it.
    ///
    /// # Errors
    /// `MESSAGE_MALFORMED`, `LIMIT_EXCEEDED`.
    pub(in crate::message) fn check_artifact(value: Value, limits: &Limits) -> Result<Self, Refusal> {
        let Value::Object(artifact) = &value else { return Err(malformed("", "not an object")) };
        check_members(artifact, "", &ARTIFACT_MEMBERS)?;
        if id(artifact, "artifactId", limits)?.is_none_or(str::is_empty) {
            return Err(malformed("/artifactId", "no artifact id"));
        }
        for name in ["name", "description"] {
            check_text(artifact, name)?;
        }
        check_metadata(artifact, "")?;
        check_texts(artifact, "extensions", usize::MAX)?;
        check_parts(artifact, limits)?;
        check_typed_model(&value)?;
        Ok(Self { message: value })
    }
}

fn check_text(members: &Members, name: &str) -> Result<(), Refusal> {
    match members.get(name) {
        None | Some(Value::String(_)) => Ok(()),
        Some(_) => Err(malformed(format!("/{name}"), "not a text")),
    }
}

/// As for a message: the official types must accept the artifact, and hold every known member as it was read.
fn check_typed_model(artifact: &Value) -> Result<(), Refusal> {
    let outline = without_data(artifact);
    let typed = a2a::Artifact::deserialize(&outline)
        .map_err(|_| malformed("", "the official A2A types do not accept it"))?;
    if is_as_read(&typed, &outline) {
        Ok(())
    } else {
        Err(malformed("", "the official A2A types read something else"))
    }
}

/// What the types may hold is listed exhaustively: a member that they gain does not compile.
fn is_as_read(typed: &a2a::Artifact, read: &Value) -> bool {
    let a2a::Artifact { artifact_id, name, description, parts, metadata, extensions } = typed;
    let read_parts = read.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    is_text(Some(artifact_id), read.get("artifactId"))
        && is_text(name.as_ref(), read.get("name"))
        && is_text(description.as_ref(), read.get("description"))
        && is_metadata(metadata.as_ref(), read.get("metadata"))
        && is_list(extensions.as_ref(), read.get("extensions"))
        && parts.len() == read_parts.len()
        && parts.iter().zip(read_parts).all(|(typed, read)| is_part(typed, read))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Reason;
    use serde_json::json;

    fn artifact(name: &str, value: Value) -> Value {
        let mut artifact = json!({"artifactId": "a1", "parts": [{"text": "hello"}]});
        artifact[name] = value;
        artifact
    }

    #[test]
    fn well_formed_artifacts_are_accepted() {
        for artifact in [
            artifact("name", json!("")),
            artifact("description", json!("d")),
            artifact("extensions", json!([])),
            artifact("metadata", json!({"a": [1.5, null]})),
            artifact("unknown", json!(1)),
            artifact("messageId", json!(1)),
            artifact("parts", json!([{"raw": "AAEC"}, {"data": {"a": 0.1}, "mediaType": ""}])),
        ] {
            assert!(Form::check_artifact(artifact.clone(), &Limits::default()).is_ok(), "{artifact}");
        }
    }

    #[test]
    fn an_artifact_that_readers_could_read_differently_is_refused() {
        let long = "x".repeat(Limits::default().id_bytes + 1);
        for (name, value, path) in [
            ("artifactId", json!(""), "/artifactId"),
            ("artifactId", json!(1), "/artifactId"),
            ("artifactId", json!(long), "/artifactId"),
            ("artifact_id", json!("a"), "/artifactId"),
            ("Parts", json!([]), "/parts"),
            ("name", json!(null), "/name"),
            ("description", json!(1), "/description"),
            ("metadata", json!([]), "/metadata"),
            ("extensions", json!("x"), "/extensions"),
            ("parts", json!([]), "/parts"),
            ("parts", json!([{"text": "a", "data": {}}]), "/parts/0"),
            ("parts", json!([{"raw": "_-8="}]), ""),
        ] {
            let artifact = artifact(name, value);
            let refusal = Form::check_artifact(artifact.clone(), &Limits::default()).unwrap_err();
            assert_eq!(refusal.reason(), Reason::MessageMalformed, "{artifact}");
            assert_eq!(refusal.evidence().path.as_deref(), Some(path), "{artifact}");
        }
        assert!(Form::check_artifact(json!([]), &Limits::default()).is_err());
        let parts = json!(vec![json!({"text": "a"}); Limits::default().parts + 1]);
        let refusal = Form::check_artifact(artifact("parts", parts), &Limits::default()).unwrap_err();
        assert_eq!(refusal.reason(), Reason::LimitExceeded);
    }

    #[test]
    fn the_official_types_must_read_what_was_read_of_an_artifact() {
        assert!(check_typed_model(&artifact("name", json!("n"))).is_ok());
        // Forms that the checks above refuse, because the types read something else.
        for other in [artifact("name", json!(null)), artifact("parts", json!([{"text": "a", "data": {}}]))] {
            assert!(check_typed_model(&other).is_err(), "{other}");
        }
    }
}
