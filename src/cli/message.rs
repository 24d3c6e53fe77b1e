//! `writgate message`.

use super::decide::read_bounded;
use super::{Exit, Failure, Outcome, output};
use crate::config::media_type_of;
use crate::credential::jose::{self, TokenType};
use crate::engine::response;
use crate::limits::Limits;
use crate::message::compose::{self, Draft};
use crate::message::{ResponseFacts, ResponseInput};
use crate::protocol::ProtocolHash;
use crate::rdf::{RdfMediaType, parse_graph};
use serde_json::Value;
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
        /// The presentation, JSON or a JWS
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
    /// Check a response, outgoing or incoming: exit 0 it conforms, 1 it is refused, 2 could not run
    CheckResponse(CheckArguments),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArguments {
    /// The response: a file with the JSON of an A2A v1.0 `Message`, or `-`
    file: PathBuf,
    /// The file holds an `Artifact`
    #[arg(long)]
    artifact: bool,
    /// The hash of the Protocol Document that the response must be under
    #[arg(long)]
    hash: ProtocolHash,
    /// The configuration file
    #[arg(long, default_value = "writgate.toml")]
    config: PathBuf,
    /// The context that the response must be in, if it names one
    #[arg(long)]
    context: Option<String>,
    /// The extension is not active: the agent did not echo it
    #[arg(long)]
    not_activated: bool,
}

pub(crate) fn run(command: &Command) -> Outcome {
    let (intent, protocol, presentation, policy, id, context, out) = match command {
        Command::New { intent, protocol, presentation, policy, id, context, out } => {
            (intent, protocol, presentation, policy, id, context, out)
        }
        Command::CheckResponse(arguments) => return check_response(arguments),
    };
    let presentation = presentation.as_deref().map(presentation_file).transpose()?;
    let draft = Draft {
        id: id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
        context: context.clone(),
        protocol_hash: protocol.to_string(),
        intent: intent_file(intent)?,
        presentation,
        policies: policy.iter().map(|path| rdf_file(path)).collect::<Result<_, _>>()?,
    };
    output::write(out.as_deref(), &serde_json::to_string_pretty(&compose::message(&draft))?)?;
    Ok(Exit::Success)
}

fn check_response(arguments: &CheckArguments) -> Outcome {
    let config = output::read_config(&arguments.config)?.load(chrono::Utc::now())?;
    let octets = read_bounded(&arguments.file, config.limits().message_bytes)?;
    let response = match arguments.artifact {
        true => ResponseInput::ArtifactBytes(octets),
        false => ResponseInput::MessageBytes(octets),
    };
    let mut facts = ResponseFacts { context: arguments.context.clone(), ..ResponseFacts::default() };
    if arguments.not_activated {
        facts.activated.clear();
    }
    match response::check(&config, &response, &arguments.hash, &facts) {
        Err(refusal) => {
            output::say(format_args!("{}", output::refused(&refusal)));
            Ok(Exit::Refused)
        }
        Ok(checked) => {
            let verdict = match checked.is_shaped() {
                true => "The response conforms to each response shape of its Protocol Document.",
                false => "The response is well-formed. Its Protocol Document has no response shape.",
            };
            output::say(format_args!("{verdict}\n  graph {}", checked.graph_hash()));
            for part in checked.unjudged() {
                output::say(format_args!("  part {} ({}) was not judged", part.index, part.content));
            }
            Ok(Exit::Success)
        }
    }
}

/// An intent. One that no server would take is sent all the same, after a word of warning.
fn intent_file(path: &Path) -> Result<(String, String), Failure> {
    let (text, media_type) = rdf_file(path)?;
    let read = RdfMediaType::parse(&media_type).map(|kind| parse_graph(&text, kind, &Limits::default()));
    let problem = match read {
        Some(Ok(graph)) if graph.is_empty() => Some("it says nothing".to_owned()),
        Some(Err(error)) => Some(error.to_string()),
        _ => None,
    };
    if let Some(problem) = problem {
        warn(path, &format!("is no intent that a server would take: {problem}"));
    }
    Ok((text, media_type))
}

/// A presentation. A credential is easily taken for one.
fn presentation_file(path: &Path) -> Result<Value, Failure> {
    let paper = output::read_paper(path)?;
    let is_presentation = match paper.as_str() {
        Some(jws) => matches!(jose::claimed_type(jws, &Limits::default()), Some(TokenType::Presentation)),
        None => paper.get("verifiableCredential").is_some() || paper.get("holder").is_some(),
    };
    if !is_presentation {
        warn(path, "is no presentation: `writgate mandate present` makes one of credentials");
    }
    Ok(paper)
}

fn warn(path: &Path, problem: &str) {
    eprintln!("writgate: note: {}", output::escaped(&format!("{} {problem}", path.display())));
}

/// A file's text and its media type, by its ending.
fn rdf_file(path: &Path) -> Result<(String, String), Failure> {
    let media_type = media_type_of(path)
        .ok_or_else(|| Failure::new(format!("{} ends in neither .ttl nor .jsonld", path.display())))?;
    Ok((output::read_text(path)?, media_type.to_owned()))
}
