//! `writgate vectors make`: writes the project's own suite. Same keys and same instant give the same files, so a test
//! compares what is committed with what is made.

use super::{Failure, cases};
use crate::worked_example::{CONTEXT, NONCE, World};
use serde_json::{Value, json};
use std::path::Path;

/// The instant of every case.
pub(super) const INSTANT: &str = "2026-12-01T12:00:00Z";

/// One case: a message, what the server knows, and the answer.
pub(super) struct Made {
    pub(super) name: String,
    title: String,
    message: Vec<u8>,
    facts: Value,
    snapshot: Value,
    config: Option<String>,
    expected: Value,
}

impl Made {
    pub(super) fn new(world: &World, name: &str, title: &str, message: Vec<u8>, expected: Value) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            message,
            facts: json!({ "context": CONTEXT, "actor": world.agent_id(), "challenge": NONCE }),
            snapshot: json!({ "instant": INSTANT }),
            config: None,
            expected,
        }
    }

    /// Sets (or with null removes) a fact.
    pub(super) fn fact(mut self, name: &str, value: Value) -> Self {
        set(&mut self.facts, name, value);
        self
    }

    /// Sets a member of the snapshot.
    pub(super) fn moment(mut self, name: &str, value: Value) -> Self {
        set(&mut self.snapshot, name, value);
        self
    }

    /// Judges under another configuration file of the suite.
    pub(super) fn under(mut self, config: &str) -> Self {
        self.config = Some(config.to_owned());
        self
    }

    fn case(&self) -> Value {
        let mut input = json!({ "message": "message.json", "facts": self.facts, "snapshot": self.snapshot });
        if let Some(config) = &self.config {
            set(&mut input, "config", json!(config));
        }
        json!({
            "id": format!("writgate/{}", self.name),
            "title": self.title,
            "operation": "evaluate-message",
            "input": input,
            "expected": self.expected,
        })
    }
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.to_owned(), value);
        }
    }
}

/// Writes the suite into `folder`: `manifest.json` and a folder for each case.
pub(super) fn run(repository: &Path, folder: &Path) -> Result<usize, Failure> {
    let made = cases::all(&World::open(repository)?)?;
    let entries: Vec<_> = made
        .iter()
        .map(|case| json!({ "id": format!("writgate/{}", case.name), "path": format!("cases/{}/case.json", case.name) }))
        .collect();
    let manifest = json!({
        "schemaVersion": 1,
        "suite": "writgate",
        "description": "Messages that are allowed, and messages that must be refused, each for its own reason. Made by `writgate vectors make` with the TEST-ONLY keys.",
        "caseCount": entries.len(),
        "cases": entries,
    });
    write(&folder.join("manifest.json"), &pretty(&manifest)?)?;
    for case in &made {
        let home = folder.join("cases").join(&case.name);
        std::fs::create_dir_all(&home)?;
        write(&home.join("case.json"), &pretty(&case.case())?)?;
        write(&home.join("message.json"), &case.message)?;
    }
    Ok(made.len())
}

fn pretty(value: &Value) -> Result<Vec<u8>, Failure> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}

fn write(path: &Path, octets: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, octets).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))
}
