//! `writgate protocol`.

use super::{Exit, Failure, Outcome, output};
use crate::config::media_type_of;
use crate::limits::Limits;
use crate::protocol::ProtocolDocument;
use crate::rdf::{RdfMediaType, parse_graph};
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print the hash that pins a document's graph (Turtle or JSON-LD)
    Hash {
        /// The document: a `.ttl` or `.jsonld` file
        file: PathBuf,
    },
}

pub(crate) fn run(command: &Command) -> Outcome {
    let Command::Hash { file } = command;
    let media_type = media_type_of(file)
        .ok_or_else(|| Failure::new(format!("{} ends in neither .ttl nor .jsonld", file.display())))?;
    let text = output::read_text(file)?;
    let problem = |cause: &dyn std::fmt::Display| Failure::new(format!("{}: {cause}", file.display()));
    let hash =
        ProtocolDocument::hash_of(&text, media_type, &Limits::default()).map_err(|cause| problem(&cause))?;
    let graph = RdfMediaType::parse(media_type).map(|kind| parse_graph(&text, kind, &Limits::default()));
    if matches!(graph, Some(Ok(graph)) if graph.is_empty()) {
        return Err(problem(&"it says nothing, so there is nothing to pin"));
    }
    output::say(format_args!("{hash}"));
    Ok(Exit::Success)
}
