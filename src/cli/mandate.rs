//! `writgate mandate`.

use super::{Exit, Failure, Outcome, key::read_key, output};
use crate::config::media_type_of;
use crate::credential::issue::{self, DigestForm, Mandate, MandatePolicy, Presenting, SigningKey};
use crate::limits::Limits;
use crate::mandate::odrl::{Policy, PolicyError};
use crate::rdf::{RdfMediaType, parse_graph};
use crate::request::Instant;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Sign a credential that lets an agent act under a policy
    Issue {
        /// The issuer's key
        #[arg(long)]
        key: PathBuf,
        /// The agent that may act
        #[arg(long)]
        delegate: String,
        /// The policy: a `.ttl` or `.jsonld` document of one policy
        #[arg(long)]
        policy: PathBuf,
        /// Bind the policy by digest, to be carried beside the presentation, instead of embedding it
        #[arg(long)]
        by_digest: bool,
        /// Sign it as a JWS (`vc+jwt`) instead of with a Data Integrity proof
        #[arg(long)]
        jose: bool,
        /// The first instant at which it is good (RFC 3339); now if absent
        #[arg(long, value_parser = output::instant)]
        from: Option<Instant>,
        /// The last instant at which it is good; without a status list, every mandate needs an end (RFC 3339)
        #[arg(long, value_parser = output::instant)]
        until: Instant,
        /// Where to write it; standard output if absent
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Sign a presentation of credentials, for one challenge and domain
    Present {
        /// The holder's key
        #[arg(long)]
        key: PathBuf,
        /// A credential: a JSON file, or the JWS of a `.jwt` file; may be repeated, all of one kind
        #[arg(long, required = true)]
        credential: Vec<PathBuf>,
        /// The challenge: the server's own, or the bound one that `writgate challenge` computes
        #[arg(long)]
        challenge: String,
        /// The server's domain, as its card names it
        #[arg(long)]
        domain: String,
        /// Where to write it; standard output if absent
        #[arg(long)]
        out: Option<PathBuf>,
    },
}

pub(crate) fn run(command: &Command) -> Outcome {
    let now = chrono::Utc::now();
    let (paper, out) = match command {
        Command::Issue { key, delegate, policy, by_digest, jose, from, until, out } => {
            let media_type = media_type_of(policy).ok_or_else(|| {
                Failure::new(format!("{} ends in neither .ttl nor .jsonld", policy.display()))
            })?;
            let text = output::read_text(policy)?;
            let read = read_policy(&text, media_type)
                .map_err(|problem| Failure::new(format!("{}: {problem}", policy.display())))?;
            let key = read_key(key)?;
            let from = from.unwrap_or(now);
            check(&key, delegate, &read, from, *until)?;
            let policy = if *by_digest {
                MandatePolicy::Reference {
                    iri: read.id(),
                    text: &text,
                    media_type,
                    digest: DigestForm::Multibase,
                }
            } else {
                MandatePolicy::Embedded { text: &text, media_type }
            };
            let mandate = Mandate {
                id: None,
                delegate: delegate.clone(),
                policy,
                actions: Vec::new(),
                targets: Vec::new(),
                valid_from: Some(from),
                valid_until: Some(*until),
            };
            let paper = if *jose {
                issue::issue_mandate_jose(&key, &mandate, now)?
            } else {
                serde_json::to_string_pretty(&issue::issue_mandate(&key, &mandate, now)?)?
            };
            (paper, out)
        }
        Command::Present { key, credential, challenge, domain, out } => {
            let presenting = Presenting { challenge, domain, created: now, expires: None };
            (present(&read_key(key)?, credential, &presenting)?, out)
        }
    };
    output::write(out.as_deref(), &paper)?;
    Ok(Exit::Success)
}

/// A presentation of the kind that its credentials are of: papers of two kinds do not go together.
fn present(key: &SigningKey, paths: &[PathBuf], presenting: &Presenting<'_>) -> Result<String, Failure> {
    let papers = paths.iter().map(|path| output::read_paper(path)).collect::<Result<Vec<_>, _>>()?;
    let tokens: Vec<String> = papers.iter().filter_map(|paper| paper.as_str().map(str::to_owned)).collect();
    if tokens.is_empty() {
        return Ok(serde_json::to_string_pretty(&issue::present(key, &papers, presenting)?)?);
    }
    if tokens.len() < papers.len() {
        return Err(Failure::new("one presentation holds JSON credentials or JWS credentials, not both"));
    }
    Ok(issue::present_jose(key, &tokens, presenting)?)
}

/// A document's one policy.
fn read_policy(text: &str, media_type: &str) -> Result<Policy, String> {
    let media_type = RdfMediaType::parse(media_type).ok_or("neither Turtle nor JSON-LD")?;
    let limits = Limits::default();
    let graph = parse_graph(text, media_type, &limits).map_err(|error| error.to_string())?;
    Policy::read(&graph, &limits).map_err(|error| match error {
        PolicyError::Malformed(problem) => problem.to_owned(),
        PolicyError::TooLarge(limit) => format!("the policy exceeds the limit {limit}"),
    })
}

/// Refuses to sign what no chain can hold, and warns of what only a longer chain can.
fn check(
    key: &SigningKey,
    delegate: &str,
    policy: &Policy,
    from: Instant,
    until: Instant,
) -> Result<(), Failure> {
    if until < from {
        return Err(Failure::new("the mandate would end before it begins"));
    }
    if policy.assigner() != Some(key.controller()) {
        let assigner = policy.assigner().unwrap_or("nobody");
        return Err(Failure::new(format!(
            "the policy's assigner is {assigner}, and the key is {}'s: no server would accept this mandate",
            key.controller()
        )));
    }
    if let Some(assignee) = policy.assignee().filter(|assignee| *assignee != delegate) {
        let note = format!(
            "note: the policy's assignee is {assignee}: alone, this mandate permits {delegate} nothing"
        );
        eprintln!("writgate: {}", output::escaped(&note));
    }
    Ok(())
}
