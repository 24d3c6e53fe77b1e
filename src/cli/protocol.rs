//! `writgate protocol`.

use super::{Exit, Failure, Outcome, output};
use crate::config::media_type_of;
use crate::limits::Limits;
use crate::protocol::ProtocolDocument;
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
    let hash = ProtocolDocument::hash_of(&output::read_text(file)?, media_type, &Limits::default())?;
    output::say(format_args!("{hash}"));
    Ok(Exit::Success)
}
