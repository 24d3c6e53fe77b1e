//! SHA-256 digests, and the JCS form (RFC 8785) that message digests are taken over.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;
use std::fmt;

/// A SHA-256 digest. Displays as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some octets.
    pub fn of(octets: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(octets.as_ref()).into())
    }

    /// The digest of a JSON value's JCS form.
    ///
    /// # Errors
    /// A value that JCS cannot write; values of the strict reader always can.
    pub fn of_jcs(value: &Value) -> Result<Self, serde_json::Error> {
        Ok(Self::of(jcs_of_value(value)?))
    }

    /// The 32 octets.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest from its 32 octets.
    pub fn from_bytes(octets: [u8; 32]) -> Self {
        Self(octets)
    }
}

/// A value's JCS form (RFC 8785).
///
/// # Errors
/// A value that JCS cannot write.
pub(crate) fn jcs<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json_canonicalizer::to_vec(value)
}

/// A JSON value's JCS form: what [`jcs`] writes, but without holding a copy of every object.
///
/// # Errors
/// A value that JCS cannot write; values of the strict reader always can.
pub(crate) fn jcs_of_value(value: &Value) -> Result<Vec<u8>, serde_json::Error> {
    let mut octets = Vec::with_capacity(1 << 10);
    write_jcs(value, &mut octets)?;
    Ok(octets)
}

fn write_jcs(value: &Value, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| by_utf16(one, other));
            out.push(b'{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_text(name, out)?;
                out.push(b':');
                write_jcs(member, out)?;
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_jcs(item, out)?;
            }
            out.push(b']');
        }
        Value::Number(_) => out.extend(jcs(value)?),
        Value::String(text) => write_text(text, out)?,
        Value::Bool(_) | Value::Null => serde_json::to_writer(&mut *out, value)?,
    }
    Ok(())
}

/// Writes a text as JSON (RFC 8785 3.2.2.2). Nearly all hold nothing that is escaped, and are copied whole.
fn write_text(text: &str, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    // Without an early end, so that many octets are looked at at once.
    let is_escaped = |octet: u8| octet < b' ' || octet == b'"' || octet == b'\\';
    if text.bytes().fold(false, |any, octet| any | is_escaped(octet)) {
        return serde_json::to_writer(&mut *out, text);
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
    Ok(())
}

/// RFC 8785 3.2.3: names are ordered by their UTF-16 code units.
fn by_utf16(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() {
        return one.cmp(other);
    }
    one.encode_utf16().cmp(other.encode_utf16())
}

/// The digest of an A2A message without some of its parts, named by their places (`restDigest` of a bound challenge):
/// SHA-256 over the JCS form of what is left, [without defaults](drop_defaults).
///
/// # Errors
/// A value that JCS cannot write; values of the strict reader always can.
pub(crate) fn of_message_without(message: &Value, parts: &[usize]) -> Result<Digest, serde_json::Error> {
    let mut rest: Value = match message {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| match (name.as_str(), member) {
                ("parts", Value::Array(all)) => {
                    let left = all.iter().enumerate().filter(|(index, _)| !parts.contains(index));
                    (name.clone(), left.map(|(_, part)| part.clone()).collect())
                }
                _ => (name.clone(), member.clone()),
            })
            .collect(),
        other => other.clone(),
    };
    drop_defaults(&mut rest);
    Digest::of_jcs(&rest)
}

/// Drops a message's optional members that hold their default, so that one message has one digest in every binding:
/// ProtoJSON may leave such a member out or write it, and gRPC cannot tell the two apart.
///
/// Dropped are `contextId`, `taskId`, `filename` and `mediaType` where they are `""`, `extensions` and
/// `referenceTaskIds` where they are `[]`, and `metadata` where it is `{}`. Required members stay whatever they hold,
/// and so does everything inside `data` and `metadata`, where absence and emptiness are the sender's own words.
pub(super) fn drop_defaults(message: &mut Value) {
    let Some(members) = message.as_object_mut() else { return };
    for name in ["contextId", "taskId", "extensions", "referenceTaskIds", "metadata"] {
        drop_default(members, name);
    }
    for part in members.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(members) = part.as_object_mut() {
            for name in ["filename", "mediaType", "metadata"] {
                drop_default(members, name);
            }
        }
    }
}

fn drop_default(members: &mut Map<String, Value>, name: &str) {
    let is_default = match members.get(name) {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        _ => false,
    };
    if is_default {
        members.remove(name);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::str::FromStr for Digest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(());
        }
        let mut octets = [0u8; 32];
        for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| ())?;
            *octet = u8::from_str_radix(pair, 16).map_err(|_| ())?;
        }
        Ok(Self(octets))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| serde::de::Error::custom("not a SHA-256 digest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_message(message: &Value) -> Result<Digest, serde_json::Error> {
        of_message_without(message, &[])
    }
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        let digest = Digest::of("");
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
        let short = text.trim_start_matches('e');
        for other in ["", &text.to_uppercase(), short, &format!("{text}0"), &format!("+{short}")] {
            assert_eq!(other.parse::<Digest>(), Err(()), "{other}");
        }
    }

    #[test]
    fn bindings_agree_on_the_digest() {
        let short = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": ""}, {"data": {"metadata": {}}}]});
        let long = json!({
            "messageId": "m", "role": "ROLE_USER", "contextId": "", "taskId": "", "extensions": [],
            "referenceTaskIds": [], "metadata": {},
            "parts": [
                {"text": "", "filename": "", "mediaType": "", "metadata": {}},
                {"data": {"metadata": {}}, "metadata": {}}
            ]
        });
        let mut dropped = long.clone();
        drop_defaults(&mut dropped);
        assert_eq!(dropped, short);
        assert_eq!(of_message(&long).unwrap(), of_message(&short).unwrap());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let text = prop_oneof![".{0,4}", "[\u{e000}\u{10000}a\"\\\\\u{0}-\u{1f}\u{7f}é]{0,3}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-9i64..9).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((text.clone(), inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_are_written_as_the_library_writes_them(value in any_json()) {
            let mut own = Vec::new();
            match jcs(&value) {
                Ok(library) => {
                    write_jcs(&value, &mut own).unwrap();
                    prop_assert_eq!(String::from_utf8(own), String::from_utf8(library));
                }
                Err(_) => prop_assert!(write_jcs(&value, &mut own).is_err()),
            }
        }
    }

    #[test]
    fn what_is_not_a_default_stays_in_the_digest() {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a"}]});
        let digest = of_message(&message).unwrap();
        for (pointer, value) in [
            ("messageId", json!("n")),
            ("contextId", json!("c")),
            ("unknown", json!("")),
            ("unknown", json!({})),
            ("metadata", json!({"a": {}})),
            ("extensions", json!([""])),
            ("parts", json!([{"text": ""}])),
        ] {
            let mut other = message.clone();
            other[pointer] = value;
            assert_ne!(of_message(&other).unwrap(), digest, "{pointer}");
        }
        let inside = |value: Value| of_message(&json!({"parts": [{"data": value}]})).unwrap();
        assert_ne!(inside(json!({"mediaType": ""})), inside(json!({})));
    }

    #[test]
    fn the_rest_digest_covers_all_but_the_named_parts() {
        let message = json!({"messageId": "m", "parts": [{"text": "a"}, {"text": "b"}, {"text": "c"}]});
        let rest = json!({"messageId": "m", "parts": [{"text": "b"}]});
        assert_eq!(of_message_without(&message, &[0, 2]).unwrap(), of_message(&rest).unwrap());
        assert_ne!(of_message_without(&message, &[0]).unwrap(), of_message(&rest).unwrap());
    }
}
