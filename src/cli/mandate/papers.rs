//! Reading papers from files: credentials, presentations and the policy documents beside them. Reading proves nothing.

use super::issue::policy_document;
use crate::cli::{Failure, decide::read_bounded, output};
use crate::credential::context_free::{self, is_context_free};
use crate::credential::jose::{self, TokenType};
use crate::credential::jose_presentation;
use crate::credential::presentation_graph::Presentation;
use crate::credential::{Credential, Known, PaperError};
use crate::limits::Limits;
use crate::message::{RdfPart, strict_json};
use crate::rdf::Budget;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A paper of a file.
pub(super) enum Paper {
    Credential(Arc<Credential>),
    Presentation(Box<Presentation>),
}

/// A file, and what it holds. A presentation that cannot be read as a whole gives its credentials one by one as well.
pub(super) struct PaperFile {
    pub(super) name: String,
    pub(super) paper: Result<Paper, PaperError>,
    pub(super) loose: Vec<Result<Arc<Credential>, PaperError>>,
}

impl PaperFile {
    /// The credentials of the file that can be read.
    pub(super) fn credentials(&self) -> Vec<&Arc<Credential>> {
        match &self.paper {
            Ok(Paper::Credential(credential)) => vec![credential],
            Ok(Paper::Presentation(presentation)) => presentation.credentials.iter().collect(),
            Err(_) => self.loose.iter().flatten().collect(),
        }
    }
}

/// Reads the files, each a credential or a presentation. With `context_free`, papers without `@context` are read by
/// the fixed lowering.
///
/// # Errors
/// A file that cannot be had. One that holds no paper says so itself.
pub(super) fn read(paths: &[PathBuf], context_free: bool) -> Result<Vec<PaperFile>, Failure> {
    let limits = Limits::default();
    paths.iter().map(|path| read_one(path, context_free, &limits)).collect()
}

fn read_one(path: &Path, context_free: bool, limits: &Limits) -> Result<PaperFile, Failure> {
    let octets = read_bounded(path, limits.message_bytes)?;
    let name = path.display().to_string();
    if output::is_jws(&octets) {
        return Ok(PaperFile { name, paper: read_jws(&octets, limits), loose: Vec::new() });
    }
    let document = match strict_json::read(&octets, limits) {
        Ok(document) => document,
        Err(error) => {
            let problem = match octets.trim_ascii().is_empty() {
                true => "it is empty".to_owned(),
                false => format!("it is neither a JWS nor JSON that can be relied on: {error}"),
            };
            let paper = Err(PaperError::malformed(problem));
            return Ok(PaperFile { name, paper, loose: Vec::new() });
        }
    };
    if let Some(other) = no_paper(&document) {
        return Ok(PaperFile { name, paper: Err(PaperError::malformed(other)), loose: Vec::new() });
    }
    // Each paper has what a whole message has: a person who looks at one is not under attack by it.
    let budget = || Budget::new(limits);
    let by_lowering = |document: &Value| context_free && is_context_free(document);
    let credential = |document: &Value| match by_lowering(document) {
        true => context_free::credential(document, limits, &mut budget()).map(Arc::new),
        false => Credential::read(document, limits, &mut budget()).map(Arc::new),
    };
    if !is_presentation(&document) {
        let paper = credential(&document).map(Paper::Credential);
        return Ok(PaperFile { name, paper, loose: Vec::new() });
    }
    let read = match by_lowering(&document) {
        true => context_free::presentation(&document, limits, &mut budget(), &Known::nothing()),
        false => Presentation::read(&document, limits, &mut budget()),
    };
    let loose = match (&read, document.get("verifiableCredential")) {
        (Ok(_), _) | (_, None) => Vec::new(),
        (Err(_), Some(Value::Array(papers))) => {
            papers.iter().take(limits.credentials).map(credential).collect()
        }
        (Err(_), Some(one)) => vec![credential(one)],
    };
    Ok(PaperFile { name, paper: read.map(|read| Paper::Presentation(Box::new(read))), loose })
}

/// What is easily taken for a paper.
fn no_paper(document: &Value) -> Option<&'static str> {
    if document.get("messageId").is_some() {
        return Some("it is a message, not one of its papers; `writgate decide` judges messages");
    }
    document.get("secretKeyMultibase").map(|_| "it is a secret key, not a paper")
}

/// A paper in a JWS. The file may end with a line break, as text files do.
fn read_jws(octets: &[u8], limits: &Limits) -> Result<Paper, PaperError> {
    let text = std::str::from_utf8(octets).map_err(|_| PaperError::malformed("it is not UTF-8"))?;
    let text = text.trim();
    match jose::claimed_type(text, limits) {
        Some(TokenType::Presentation) => {
            jose_presentation::presentation(text, limits, &mut Budget::new(limits), &Known::nothing())
                .map(|read| Paper::Presentation(Box::new(read)))
        }
        Some(TokenType::Credential) | None => {
            jose::credential(text, limits).map(|read| Paper::Credential(Arc::new(read)))
        }
    }
}

/// Which reader is tried. The reader itself looks at the graph.
fn is_presentation(document: &Value) -> bool {
    document.get("verifiableCredential").is_some() || document.get("holder").is_some()
}

/// Policy documents that credentials refer to.
///
/// # Errors
/// A file that cannot be had, or whose ending is none of RDF's.
pub(super) fn policies(paths: &[PathBuf]) -> Result<Vec<RdfPart>, Failure> {
    let read = |(index, path): (usize, &PathBuf)| {
        let (text, media_type) = policy_document(path)?;
        Ok(RdfPart { index, media_type, text })
    };
    paths.iter().enumerate().map(read).collect()
}
