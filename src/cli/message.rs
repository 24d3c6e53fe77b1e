//! `writgate message`.

use super::{Exit, Failure, Outcome, output};
use crate::config::media_type_of;
use crate::message::compose::{self, Draft};
use crate::protocol::ProtocolHash;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Build a message from an intent, and from a presentation where one is at hand
    New {
        /// The intent: a `.ttl` or `.jsonld` file
        #[arg(long)]
        intent: PathBuf,
        /// The hash of the Protocol Document
        #[arg(long)]
        protocol: ProtocolHash,
        /// The presentation: a JSON file, or the JWS of a `.jwt` file
        #[arg(long)]
        presentation: Option<PathBuf>,
        /// A policy document that a credential binds by digest; may be repeated
        #[arg(long)]
        policy: Vec<PathBuf>,
        /// The message's id; a new one if absent
        #[arg(long)]
        id: Option<String>,
        /// The message's context
        #[arg(long)]
        context: Option<String>,
        /// Where to write it; standard output if absent
        #[arg(long)]
        out: Option<PathBuf>,
    },
}

pub(crate) fn run(command: &Command) -> Outcome {
    let Command::New { intent, protocol, presentation, policy, id, context, out } = command;
    let presentation = presentation.as_deref().map(output::read_paper).transpose()?;
    let draft = Draft {
        id: id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
        context: context.clone(),
        protocol_hash: protocol.to_string(),
        intent: rdf_file(intent)?,
        presentation,
        policies: policy.iter().map(|path| rdf_file(path)).collect::<Result<_, _>>()?,
    };
    output::write(out.as_deref(), &serde_json::to_string_pretty(&compose::message(&draft))?)?;
    Ok(Exit::Success)
}

/// A file's text and its media type, by its ending.
fn rdf_file(path: &Path) -> Result<(String, String), Failure> {
    let media_type = media_type_of(path)
        .ok_or_else(|| Failure::new(format!("{} ends in neither .ttl nor .jsonld", path.display())))?;
    Ok((output::read_text(path)?, media_type.to_owned()))
}
