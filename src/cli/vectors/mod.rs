//! `writgate vectors`: conformance suites are data.
//!
//! A suite is a folder with a `manifest.json` and its cases; a case names an operation, its input and what is expected.
//! An operation calls the same functions that the engine calls.

mod agent_authority;
mod cases;
mod delegated_chain;
mod evaluate_message;
mod make;
mod operations;
mod papers;
mod single_papers;

use super::{Exit, Failure, Outcome, output};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a suite: a line for each failure, then `N passed, N failed`
    Run {
        /// The suite's folder, or a folder of suites
        folder: PathBuf,
    },
    /// Write the project's own suite, signed with its TEST-ONLY keys
    Make {
        /// The repository's folder
        #[arg(long, default_value = ".")]
        dir: PathBuf,
        /// The suite's folder
        #[arg(default_value = "vectors")]
        folder: PathBuf,
    },
}

#[derive(Debug, Deserialize)]
struct Manifest {
    cases: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    id: String,
    path: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    operation: String,
    input: Value,
    expected: Value,
    #[serde(default)]
    alternatives: Vec<Value>,
}

/// Where a case's strings find their files.
pub(crate) struct Folder {
    case: PathBuf,
    suite: PathBuf,
}

/// A case's failure: what was expected and what came.
struct Mismatch {
    expected: String,
    actual: String,
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Run { folder } => run_suites(folder),
        Command::Make { dir, folder } => {
            let cases = make::run(dir, folder)?;
            output::say(format_args!("{cases} cases in {}", folder.display()));
            Ok(Exit::Success)
        }
    }
}

fn run_suites(folder: &Path) -> Outcome {
    let mut passed = 0usize;
    let mut failed = 0usize;
    for suite in suites(folder)? {
        for entry in read_manifest(&suite)?.cases {
            match run_case(&suite, &entry) {
                Ok(()) => passed += 1,
                Err(mismatch) => {
                    failed += 1;
                    output::say(format_args!(
                        "FAIL {}\n  expected {}\n  actual   {}",
                        output::escaped(&entry.id),
                        output::escaped(&mismatch.expected),
                        output::escaped(&mismatch.actual)
                    ));
                }
            }
        }
    }
    output::say(format_args!("{passed} passed, {failed} failed"));
    Ok(if failed == 0 && passed > 0 { Exit::Success } else { Exit::Refused })
}

/// The folder itself, or every folder below it that has a manifest.
fn suites(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    if folder.join("manifest.json").is_file() {
        return Ok(vec![folder.to_path_buf()]);
    }
    let mut suites = Vec::new();
    for entry in
        std::fs::read_dir(folder).map_err(|cause| Failure::new(format!("{}: {cause}", folder.display())))?
    {
        let path = entry?.path();
        if path.join("manifest.json").is_file() {
            suites.push(path);
        }
    }
    suites.sort();
    if suites.is_empty() {
        Err(Failure::new(format!("{} holds no manifest.json", folder.display())))
    } else {
        Ok(suites)
    }
}

fn read_manifest(suite: &Path) -> Result<Manifest, Failure> {
    Ok(serde_json::from_str(&output::read_text(&suite.join("manifest.json"))?)?)
}

/// Runs one case, and says what is wrong with it.
fn run_case(suite: &Path, entry: &Entry) -> Result<(), Mismatch> {
    let unreadable = |cause: String| Mismatch { expected: "a readable case".to_owned(), actual: cause };
    let path = suite.join(&entry.path);
    let text = output::read_text(&path).map_err(|Failure(cause)| unreadable(cause))?;
    let case: Case = serde_json::from_str(&text).map_err(|cause| unreadable(cause.to_string()))?;
    if case.id != entry.id {
        return Err(unreadable(format!("the case calls itself {}", case.id)));
    }
    let folder =
        Folder { case: path.parent().map(Path::to_path_buf).unwrap_or_default(), suite: suite.to_path_buf() };
    let mut accepted = std::iter::once(&case.expected).chain(&case.alternatives);
    match operations::run(&case.operation, &case.input, &folder) {
        Ok(actual) if accepted.any(|expected| agrees(expected, &actual, &folder)) => Ok(()),
        Ok(actual) => Err(Mismatch { expected: case.expected.to_string(), actual: actual.to_string() }),
        Err(Failure(problem)) => Err(Mismatch { expected: case.expected.to_string(), actual: problem }),
    }
}

/// Every request that the suites of a folder have evaluated, with its case's id and the engine that is asked.
#[cfg(test)]
pub(crate) fn requests(folder: &Path) -> Vec<(String, crate::Engine, crate::Request)> {
    let mut requests = Vec::new();
    for suite in suites(folder).map_err(|Failure(cause)| cause).unwrap() {
        for entry in read_manifest(&suite).map_err(|Failure(cause)| cause).unwrap().cases {
            let path = suite.join(&entry.path);
            let case: Case = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            if case.operation == "evaluate-message" {
                let folder = Folder { case: path.parent().unwrap().to_path_buf(), suite: suite.clone() };
                let (engine, request) =
                    evaluate_message::case(&case.input, &folder).map_err(|Failure(cause)| cause).unwrap();
                requests.push((entry.id, engine, request));
            }
        }
    }
    requests
}

/// Every member that is expected is there and equal; a string that names a file stands for its text.
fn agrees(expected: &Value, actual: &Value, folder: &Folder) -> bool {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) if !expected.is_empty() => expected
            .iter()
            .all(|(name, value)| actual.get(name).is_some_and(|actual| agrees(value, actual, folder))),
        (Value::String(expected), Value::String(actual)) => {
            expected == actual
                || folder
                    .file(expected)
                    .is_some_and(|path| std::fs::read(path).is_ok_and(|octets| octets == actual.as_bytes()))
        }
        (expected, actual) => expected == actual,
    }
}

impl Folder {
    /// The file that a string names: one of the four endings, and in the case's own folder.
    fn file(&self, text: &str) -> Option<PathBuf> {
        let is_reference = [".ttl", ".nq", ".jsonld", ".json"].iter().any(|ending| text.ends_with(ending));
        let path = self.case.join(text);
        (is_reference && !text.contains(['/', '\\']) && path.is_file()).then_some(path)
    }

    /// The octets that a string stands for.
    fn octets(&self, text: &str) -> Result<Vec<u8>, Failure> {
        match self.file(text) {
            Some(path) => output::read(&path),
            None => Ok(text.as_bytes().to_vec()),
        }
    }

    /// The text that a string stands for, and its media type: what its ending stands for, JSON-LD where it is itself
    /// an object (which is no Turtle), and Turtle otherwise.
    fn rdf(&self, text: &str) -> Result<(String, crate::rdf::RdfMediaType), Failure> {
        let is_json =
            text.ends_with(".jsonld") || text.ends_with(".json") || text.trim_start().starts_with('{');
        let media_type =
            if is_json { crate::rdf::RdfMediaType::JsonLd } else { crate::rdf::RdfMediaType::Turtle };
        let octets = self.octets(text)?;
        Ok((String::from_utf8(octets).map_err(|_| Failure::new("not UTF-8"))?, media_type))
    }

    /// The JSON value that a member stands for: itself, or the text of the file that it names, read strictly.
    fn json(&self, value: &Value) -> Option<Value> {
        match value.as_str().and_then(|text| self.file(text)) {
            Some(path) => {
                let octets = output::read(&path).ok()?;
                crate::message::strict_json::read(&octets, &crate::limits::Limits::default()).ok()
            }
            None => Some(value.clone()),
        }
    }
}

/// A member of an operation's input.
fn member<'a>(input: &'a Value, name: &str) -> Result<&'a Value, Failure> {
    input.get(name).ok_or_else(|| Failure::new(format!("the input has no `{name}`")))
}

/// A member that is a string.
fn text<'a>(input: &'a Value, name: &str) -> Result<&'a str, Failure> {
    member(input, name)?.as_str().ok_or_else(|| Failure::new(format!("`{name}` is not a string")))
}

#[cfg(test)]
mod tests;
