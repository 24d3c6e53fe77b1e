//! `writgate mandate`.

use super::{Exit, Failure, Outcome, key::read_key, output};
use crate::config::media_type_of;
use crate::credential::issue::{self, DigestForm, Mandate, MandatePolicy, Presenting};
use crate::limits::Limits;
use crate::mandate::odrl;
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
        /// The first instant at which it is good (RFC 3339); now if absent
        #[arg(long)]
        from: Option<Instant>,
        /// The last instant at which it is good; without a status list, every mandate needs an end
        #[arg(long)]
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
        /// A credential; may be repeated
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
        Command::Issue { key, delegate, policy, by_digest, from, until, out } => {
            let media_type = media_type_of(policy).ok_or_else(|| {
                Failure::new(format!("{} ends in neither .ttl nor .jsonld", policy.display()))
            })?;
            let text = output::read_text(policy)?;
            let id = policy_id(&text, media_type).ok_or_else(|| {
                Failure::new(format!("{} does not hold exactly one policy", policy.display()))
            })?;
            let policy = if *by_digest {
                MandatePolicy::Reference { iri: &id, text: &text, media_type, digest: DigestForm::Multibase }
            } else {
                MandatePolicy::Embedded { text: &text, media_type }
            };
            let mandate = Mandate {
                id: None,
                delegate: delegate.clone(),
                policy,
                actions: Vec::new(),
                targets: Vec::new(),
                valid_from: Some(from.unwrap_or(now)),
                valid_until: Some(*until),
            };
            (issue::issue_mandate(&read_key(key)?, &mandate, now)?, out)
        }
        Command::Present { key, credential, challenge, domain, out } => {
            let credentials = credential
                .iter()
                .map(|path| Ok(serde_json::from_str(&output::read_text(path)?)?))
                .collect::<Result<Vec<serde_json::Value>, Failure>>()?;
            let presenting = Presenting { challenge, domain, created: now, expires: None };
            (issue::present(&read_key(key)?, &credentials, &presenting)?, out)
        }
    };
    output::write(out.as_deref(), &serde_json::to_string_pretty(&paper)?)?;
    Ok(Exit::Success)
}

/// The id of a document's one policy.
fn policy_id(text: &str, media_type: &str) -> Option<String> {
    let graph = parse_graph(text, RdfMediaType::parse(media_type)?, &Limits::default()).ok()?;
    odrl::policy_id(&graph)
}
