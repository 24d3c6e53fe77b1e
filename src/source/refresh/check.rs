//! What a document must be before it may take a place in the cache. Whose signature a status list has is checked where the
//! list is used; everything that can be known without a key is checked here.

use super::DocumentKind;
use crate::credential::status::{ListClaims, list_claims};
use crate::limits::Limits;
use crate::message::strict_json;
use crate::request::Instant;
use crate::source::address::controller_url;
use crate::source::{CachedDocument, FetchPlan, Origin};
use chrono::TimeDelta;
use std::collections::BTreeSet;

/// What the cache knows of a document, and until when it may be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentState {
    /// What it is; `None` for something that the refresh does not keep.
    pub kind: Option<DocumentKind>,
    /// The end of its life, by the bound of its kind; `None` where it has none.
    pub good_until: Option<Instant>,
}

/// What a document under its URL is, and how long it lives, under the bounds of a plan.
pub fn state(document: &CachedDocument, plan: &FetchPlan) -> DocumentState {
    let end = |start: Instant, age: TimeDelta| start.checked_add_signed(age).unwrap_or(Instant::MAX_UTC);
    if controller_of(document).is_some() {
        let good_until = Some(end(document.confirmed, plan.max_controller_age));
        return DocumentState { kind: Some(DocumentKind::Controller), good_until };
    }
    match claims(document, plan) {
        Ok(claims) => {
            let age = life(&claims, plan);
            let good_until = Some(end(document.retrieved, age));
            DocumentState { kind: Some(DocumentKind::StatusList), good_until }
        }
        Err(_) => DocumentState { kind: None, good_until: None },
    }
}

/// How long a list lives.
pub(super) fn life(claims: &ListClaims, plan: &FetchPlan) -> TimeDelta {
    claims.ttl.map_or(plan.max_status_age, |ttl| ttl.min(plan.max_status_age))
}

/// The controller whose document this is, at the controller's own URL. A status list has its URL as its `id` too, as the
/// document of a WebID may have, and may come as JSON-LD: it is nobody's document.
pub(super) fn controller_of(document: &CachedDocument) -> Option<String> {
    if !is_json(&document.media_type) {
        return None;
    }
    let json = strict_json::read(&document.octets, &Limits::default()).ok()?;
    let id = json.get("id")?.as_str()?;
    (controller_url(id)? == document.url && !is_status_list(document)).then(|| id.to_owned())
}

/// Why there is no place for a list at a URL.
pub(super) const TAKEN: &str =
    "a controller's document, or another one that a person put here, is at this URL";

/// Whether a document must not make way for a list. A paper names the URL of its list: whoever wants one there must not
/// take away what is there for another purpose.
pub(super) fn is_no_place_of_a_list(held: &CachedDocument, plan: &FetchPlan) -> bool {
    controller_of(held).is_some() || (held.origin == Origin::Added && claims(held, plan).is_err())
}

/// Whether a document is the one of a controller that its URL stands for.
///
/// # Errors
/// In our words, why not.
pub(super) fn controller(document: &CachedDocument, controllers: &BTreeSet<String>) -> Result<(), String> {
    if !is_json(&document.media_type) {
        return Err("a controller document is JSON, and its media type says so".to_owned());
    }
    let json = strict_json::read(&document.octets, &Limits::default()).map_err(|cause| cause.to_string())?;
    let id = json.get("id").and_then(serde_json::Value::as_str);
    match id {
        Some(id) if controllers.contains(id) => Ok(()),
        Some(_) => Err("its `id` is another controller's".to_owned()),
        None => Err("it has no `id`".to_owned()),
    }
}

/// What a status list says of itself, where it is one of this URL.
///
/// # Errors
/// In our words, why it is none.
pub(super) fn claims(document: &CachedDocument, plan: &FetchPlan) -> Result<ListClaims, String> {
    let text = std::str::from_utf8(&document.octets).map_err(|_| "it is not UTF-8".to_owned())?;
    let CachedDocument { url, media_type, retrieved, .. } = document;
    list_claims(url, text, media_type, *retrieved, plan.context_free)
        .map_err(|error| error.evidence.detail.clone().unwrap_or_default())
}

/// Whether a document is a status list of its URL. As JSON it could be taken for a controller's too.
pub(crate) fn is_status_list(document: &CachedDocument) -> bool {
    let CachedDocument { url, media_type, retrieved, octets, .. } = document;
    let text = std::str::from_utf8(octets);
    text.is_ok_and(|text| list_claims(url, text, media_type, *retrieved, false).is_ok())
}

/// `application/json` and every `application/*+json`.
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let subtype = essence.strip_prefix("application/");
    subtype.is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}
