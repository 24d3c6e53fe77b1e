//! `writgate protocol`.

use super::{Exit, Failure, Outcome, output};
use crate::config::media_type_of;
use crate::limits::Limits;
use crate::protocol::{ActionClasses, Finding, ProtocolDocument, ProtocolHash, Severity};
use crate::rdf::{RdfMediaType, parse_graph};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print the hash that pins a document's graph (Turtle or JSON-LD)
    Hash {
        /// The document: a `.ttl` or `.jsonld` file
        file: PathBuf,
    },
    /// Review a document before it is accepted: exit 0 accepted, 1 refused, 2 could not run
    Review(Review),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Review {
    /// The document: a `.ttl` or `.jsonld` file
    file: PathBuf,
    /// The hash that the document must have
    #[arg(long, value_name = "PIN")]
    hash: Option<String>,
    /// Print the review as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Hash { file } => hash(file),
        Command::Review(arguments) => review(arguments),
    }
}

fn review(arguments: &Review) -> Outcome {
    let media_type = media_type(&arguments.file)?;
    let text = output::read_text(&arguments.file)?;
    let pin: Option<ProtocolHash> = arguments.hash.as_deref().map(str::parse).transpose()?;
    let review = ProtocolDocument::review_pinned(&text, media_type, pin.as_ref(), &Limits::default());
    if arguments.json {
        output::say(format_args!("{}", output::json(&review)?));
    } else {
        output::say(format_args!("{}", reviewed(&review)));
    }
    Ok(if review.accepted() { Exit::Success } else { Exit::Refused })
}

/// A review, for a person.
fn reviewed(review: &crate::protocol::Review) -> String {
    let verdict =
        if review.accepted() { output::coloured("ACCEPT", 32) } else { output::coloured("REFUSE", 31) };
    let mut text = format!("{verdict}  {}", review.hash().unwrap_or("no graph that could be hashed"));
    let mut line = |label: &str, said: &str| {
        let _ = write!(text, "\n  {label}: {}", output::escaped(said));
    };
    if let Some(id) = review.id() {
        line("document", id);
    }
    review.request_shapes().iter().for_each(|shape| line("request shape", shape));
    review.response_shapes().iter().for_each(|shape| line("response shape", shape));
    match review.classes() {
        ActionClasses::Pinned(classes) if classes.is_empty() => line("action classes", "none"),
        ActionClasses::Pinned(classes) => {
            classes.iter().for_each(|class| line("action class", &output::short(class)));
        }
        ActionClasses::Open => line("action classes", "any; the request shapes leave it open"),
        ActionClasses::Unknown => {}
    }
    if let Some(cost) = review.cost() {
        line(
            "cost",
            &format!(
                "an intent of {} triples takes {} steps at most, of {}",
                cost.reference_triples, cost.request_steps, cost.budget
            ),
        );
        if let Some(steps) = cost.response_steps {
            line("cost", &format!("a response of that size takes {steps} steps at most"));
        }
        line(
            "cost",
            &format!(
                "one of the same proportions is judged to the end up to {} triples; the largest legal one could take {} steps",
                cost.triples_within_budget, cost.request_steps_at_limits
            ),
        );
    }
    for finding in review.findings() {
        let severity = match finding.severity() {
            Severity::Refuses => output::coloured("refuses", 31),
            Severity::Note => output::coloured("note", 33),
        };
        let about = finding.shape().map(|shape| format!("{}: ", output::escaped(shape))).unwrap_or_default();
        let _ = write!(
            text,
            "\n{severity} ({}): {about}{}\n  {}",
            kind(finding),
            output::escaped(finding.sentence()),
            finding.advice()
        );
    }
    text
}

/// The kind as `--json` and `docs/review.md` have it.
fn kind(finding: &Finding) -> String {
    match serde_json::to_value(finding.kind()) {
        Ok(serde_json::Value::String(kind)) => kind,
        Ok(other) => other.to_string(),
        Err(cause) => cause.to_string(),
    }
}

fn media_type(file: &Path) -> Result<&'static str, Failure> {
    media_type_of(file)
        .ok_or_else(|| Failure::new(format!("{} ends in neither .ttl nor .jsonld", file.display())))
}

fn hash(file: &Path) -> Outcome {
    let media_type = media_type(file)?;
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
