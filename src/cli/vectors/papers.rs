//! What the operations on credentials share: papers, keys and documents of a case.

use super::{Folder, member, text};
use crate::cli::{Failure, output};
use crate::config::{Config, ConfigBuilder, RootPrincipals};
use crate::credential::context_free::{self, is_context_free};
use crate::credential::presentation_graph::Presentation;
use crate::credential::{ControllerDocuments, Credential, IssuedChallenges, Known, PaperError, StatusLists};
use crate::limits::Limits;
use crate::message::strict_json;
use crate::rdf::Budget;
use crate::request::{Conversation, Instant, Snapshot};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that a case knows beside its papers, at one instant. Nothing passes from one case to the next.
pub(super) struct World {
    pub(super) config: Config,
    pub(super) snapshot: Snapshot,
    /// The texts of the case's documents by URL. One that cannot be had is not among them.
    pub(super) documents: BTreeMap<String, String>,
}

impl World {
    /// `documents` of the input, and the suite's keyring, as retrieved at `now`: no bound on age applies.
    pub(super) fn of(input: &Value, folder: &Folder, now: Instant) -> Result<Self, Failure> {
        let mut documents = BTreeMap::new();
        let mut lists = StatusLists::default();
        for (url, document) in input.get("documents").and_then(Value::as_object).into_iter().flatten() {
            // Anything but a text is a document that cannot be had.
            if let Some(document) = document.as_str() {
                // A document that is not UTF-8 is none that is read here.
                let Ok((body, media_type)) = folder.rdf(document) else { continue };
                lists.insert(url.clone(), body.clone(), media_type.as_str(), now);
                documents.insert(url.clone(), body);
            }
        }
        let mut roots = RootPrincipals::default();
        roots.add("https://vectors.example/", "https://vectors.example/")?;
        let config = ConfigBuilder::new("https://vectors.example/", roots)
            .with_context_free_credentials(true)
            .build()?;
        let snapshot = Snapshot {
            instant: now,
            generation: config.generation(),
            conversation: Conversation::default(),
            memory: Arc::default(),
            counts: BTreeMap::new(),
            controllers: Arc::new(keyring(folder, now)?),
            status_lists: Arc::new(lists),
            issued: IssuedChallenges::NoIssuer,
        };
        Ok(Self { config, snapshot, documents })
    }
}

/// The instant of a case.
pub(super) fn now(input: &Value) -> Result<Instant, Failure> {
    Ok(text(input, "now")?.parse()?)
}

/// The controller documents of the suite, by their ids.
fn keyring(folder: &Folder, now: Instant) -> Result<ControllerDocuments, Failure> {
    let mut documents = ControllerDocuments::default();
    let home = folder.suite.join("keyring");
    if !home.is_dir() {
        return Ok(documents);
    }
    for entry in std::fs::read_dir(home)? {
        let document: Value = serde_json::from_str(&output::read_text(&entry?.path())?)?;
        let id = text(&document, "id")?.to_owned();
        if documents.find(&id).is_some() {
            return Err(Failure::new(format!("the keyring has two documents of {id}")));
        }
        documents.insert(id, document, now);
    }
    Ok(documents)
}

/// The JSON of a paper: a file, a text, or the object itself.
pub(super) fn paper(value: &Value, folder: &Folder) -> Result<Result<Value, PaperError>, Failure> {
    let octets = match value {
        Value::String(text) => folder.octets(text)?,
        value => serde_json::to_vec(value)?,
    };
    let read = strict_json::read(&octets, &Limits::default());
    Ok(read.map_err(|_| PaperError::malformed("a paper is JSON that is read strictly")))
}

/// A credential of either profile.
pub(super) fn credential(
    value: &Value,
    folder: &Folder,
    budget: &mut Budget,
) -> Result<Result<Credential, PaperError>, Failure> {
    Ok(paper(value, folder)?.and_then(|document| read_credential(&document, budget)))
}

pub(super) fn read_credential(document: &Value, budget: &mut Budget) -> Result<Credential, PaperError> {
    let limits = Limits::default();
    if is_context_free(document) {
        context_free::credential(document, &limits, budget)
    } else {
        Credential::read(document, &limits, budget)
    }
}

/// A presentation of either profile.
pub(super) fn read_presentation(document: &Value, budget: &mut Budget) -> Result<Presentation, PaperError> {
    let limits = Limits::default();
    if is_context_free(document) {
        context_free::presentation(document, &limits, budget, &Known::nothing())
    } else {
        Presentation::read(document, &limits, budget)
    }
}

/// The member `credential` of the input.
pub(super) fn the_credential(
    input: &Value,
    folder: &Folder,
    budget: &mut Budget,
) -> Result<Result<Credential, PaperError>, Failure> {
    credential(member(input, "credential")?, folder, budget)
}
