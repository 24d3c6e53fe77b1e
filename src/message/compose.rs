//! Building a message: the sender's side of stage 1.

use crate::vocab::{EXTENSION, META_KIND, META_PROTOCOL_HASH};
use serde_json::{Map, Value, json};

/// What a message is made of. Texts come with their media types.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The message's id.
    pub id: String,
    /// The message's context.
    pub context: Option<String>,
    /// The hash of the Protocol Document that the intent is written to.
    pub protocol_hash: String,
    /// The intent.
    pub intent: (String, String),
    /// The Verifiable Presentation.
    pub presentation: Option<Value>,
    /// Policy documents that credentials bind by digest.
    pub policies: Vec<(String, String)>,
}

/// The JSON of an A2A v1.0 `Message`, tagged with the extension.
pub fn message(draft: &Draft) -> Value {
    let (text, media_type) = &draft.intent;
    let mut parts = vec![json!({
        "text": text, "mediaType": media_type,
        "metadata": { META_KIND: "intent", META_PROTOCOL_HASH: draft.protocol_hash },
    })];
    parts.extend(draft.presentation.iter().map(|presentation| {
        json!({
            "data": presentation, "mediaType": "application/vp", "metadata": { META_KIND: "authorization" },
        })
    }));
    parts.extend(draft.policies.iter().map(|(text, media_type)| {
        json!({ "text": text, "mediaType": media_type, "metadata": { META_KIND: "authorization" } })
    }));
    let mut message = Map::new();
    message.insert("messageId".to_owned(), json!(draft.id));
    if let Some(context) = &draft.context {
        message.insert("contextId".to_owned(), json!(context));
    }
    message.insert("role".to_owned(), json!("ROLE_USER"));
    message.insert("parts".to_owned(), Value::Array(parts));
    message.insert("extensions".to_owned(), json!([EXTENSION]));
    Value::Object(message)
}
