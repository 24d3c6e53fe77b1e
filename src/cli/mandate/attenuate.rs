//! `writgate mandate attenuate`: a delegated mandate out of a parent's, never for more than the parent gives.

use super::issue::policy_document;
use super::papers::{self, Paper};
use crate::cli::{Exit, Failure, Outcome, key::read_key, output, status::Entry};
use crate::config::PolicyStore;
use crate::credential::issue::SigningKey;
use crate::credential::{Credential, Known, binding};
use crate::limits::Limits;
use crate::mandate::attenuate::{AttenuateError, Delegated, ParentMandate};
use crate::mandate::odrl::{Excess, Narrowing, Policy, PolicyError, action_of_name, constraint_of_text};
use crate::rdf::{Budget, RdfMediaType};
use crate::request::Instant;
use crate::vocab::odrl;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The parent mandate: a credential; a JWS makes a JWS
    #[arg(long)]
    parent: PathBuf,
    /// The parent's policy document, where its credential refers to it
    #[arg(long)]
    parent_policy: Option<PathBuf>,
    /// The key of the parent's delegate, who passes it on
    #[arg(long)]
    key: PathBuf,
    /// Who may act under it
    #[arg(long)]
    delegate: String,
    /// The policy to sign; without one, it is made out of the parent's
    #[arg(long, conflicts_with_all = ["action", "target", "constraint", "depth", "policy_out"])]
    policy: Option<PathBuf>,
    /// Keep this action only, as an IRI or a short name; may be repeated
    #[arg(long)]
    action: Vec<String>,
    /// Keep this target only; may be repeated
    #[arg(long)]
    target: Vec<String>,
    /// A further constraint, as "purpose eq https://x.example/p"; may be repeated
    #[arg(long)]
    constraint: Vec<String>,
    /// How many hops deeper it may be passed on
    #[arg(long, default_value_t = 0)]
    depth: u64,
    /// Bind the policy by digest, to be carried beside the presentation, instead of embedding it
    #[arg(long)]
    by_digest: bool,
    /// The first instant at which it is good (RFC 3339); now, or when the parent begins, if absent
    #[arg(long, value_parser = output::instant)]
    from: Option<Instant>,
    /// The last instant at which it is good (RFC 3339); the parent's end if absent
    #[arg(long, value_parser = output::instant)]
    until: Option<Instant>,
    #[command(flatten)]
    status: Entry,
    /// Where to write the policy that was made
    #[arg(long)]
    policy_out: Option<PathBuf>,
    /// Where to write the mandate; standard output if absent
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.by_digest && arguments.policy.is_none() && arguments.policy_out.is_none() {
        return Err(Failure::new("a policy that is bound by digest is carried apart: name --policy-out"));
    }
    let now = chrono::Utc::now();
    let key = read_key(&arguments.key)?;
    let credential = parent_credential(&arguments.parent)?;
    let policy = parent_policy(&credential, arguments.parent_policy.as_deref())?;
    output::agent(&arguments.delegate)?;
    if credential.authorizes.as_deref() != Some(key.controller()) {
        return Ok(refuse_key(&credential, &key));
    }
    let parent = ParentMandate { credential: &credential, policy: &policy };
    if policy.delegated_under().is_some() {
        let note = "note: the parent stands under another mandate, which is not looked at: `mandate verify` judges \
                    the whole chain";
        eprintln!("writgate: {note}");
    }
    let (text, media_type) = match &arguments.policy {
        Some(path) => policy_document(path)?,
        None => match policy.narrowed(key.controller(), &arguments.delegate, &narrowing(arguments)?) {
            Ok(text) => (text, RdfMediaType::Turtle),
            Err(excesses) => return Ok(refuse(&excesses)),
        },
    };
    let until = arguments.until.or_else(|| credential.not_after());
    let delegated = Delegated {
        delegate: &arguments.delegate,
        text: &text,
        media_type,
        by_digest: arguments.by_digest,
        valid_from: arguments.from.unwrap_or_else(|| credential.valid_from.map_or(now, |from| from.max(now))),
        valid_until: until.ok_or_else(|| Failure::new("the parent has no end: give one with --until"))?,
        status: arguments.status.of_mandate()?,
    };
    match parent.attenuate(&key, &delegated, now) {
        Ok(paper) => {
            if let Some(path) = &arguments.policy_out {
                output::write(Some(path), &text)?;
            }
            output::write(arguments.out.as_deref(), &output::paper(&paper)?)?;
            Ok(Exit::Success)
        }
        Err(AttenuateError::Excess(excesses)) => Ok(refuse(&excesses)),
        Err(AttenuateError::Policy(problem)) => Err(Failure::new(format!("the policy: {problem}"))),
        Err(AttenuateError::Issue(error)) => Err(error.into()),
    }
}

/// Only the parent's delegate can pass it on; whatever else is wrong is not looked at.
fn refuse_key(credential: &Credential, key: &SigningKey) -> Exit {
    let delegate = credential.authorizes.as_deref().unwrap_or("nobody");
    eprintln!(
        "writgate: the parent lets {} act, and the key is another party's, {}: only its delegate can pass it on; \
         nothing was signed",
        output::escaped(delegate),
        output::escaped(key.controller())
    );
    Exit::Refused
}

/// Names each excess, on standard error: standard output is for the mandate.
fn refuse(excesses: &BTreeSet<Excess>) -> Exit {
    eprintln!("writgate: this asks for more than the parent gives; nothing was signed");
    for excess in excesses {
        eprintln!("  {}", output::escaped(&excess.to_string()));
    }
    Exit::Refused
}

fn narrowing(arguments: &Arguments) -> Result<Narrowing, Failure> {
    let constraints = arguments.constraint.iter().map(|text| {
        can_hold(text)
            .and_then(|()| constraint_of_text(text))
            .map_err(|problem| Failure::new(format!("--constraint {text:?}: {problem}")))
    });
    Ok(Narrowing {
        actions: arguments.action.iter().map(|name| action_of_name(name)).collect(),
        targets: arguments.target.clone(),
        constraints: constraints.collect::<Result<_, _>>()?,
        depth: arguments.depth,
    })
}

/// A constraint whose type is fixed can never hold over a value of another.
fn can_hold(constraint: &str) -> Result<(), &'static str> {
    let mut words = constraint.split_whitespace();
    let (operand, value) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
    if value.starts_with('"') {
        return Ok(());
    }
    match operand.strip_prefix(odrl::NS).unwrap_or(operand) {
        "count" if value.parse::<u64>().is_err() => {
            Err("a count is compared with a whole number, as in count lteq 3")
        }
        "dateTime" if output::instant(value).is_err() => {
            Err("it is compared with an instant, as in dateTime lt 2026-12-31T00:00:00Z")
        }
        "delegationDepth" => Err("--depth says how deep it may be passed on"),
        _ => Ok(()),
    }
}

fn parent_credential(path: &Path) -> Result<Arc<Credential>, Failure> {
    let files = papers::read(&[path.to_path_buf()], false)?;
    match files.into_iter().next().map(|file| file.paper) {
        Some(Ok(Paper::Credential(credential))) => Ok(credential),
        Some(Err(error)) => Err(Failure::new(format!(
            "{}: {} ({})",
            path.display(),
            error.reason.as_str(),
            error.evidence.detail.unwrap_or_default()
        ))),
        _ => Err(Failure::new(format!("{} is not one credential", path.display()))),
    }
}

/// The policy that the parent's credential binds.
fn parent_policy(credential: &Credential, document: Option<&Path>) -> Result<Arc<Policy>, Failure> {
    let limits = Limits::default();
    let parts = papers::policies(&document.map(Path::to_path_buf).into_iter().collect::<Vec<_>>())?;
    let store = PolicyStore::default();
    let bound = binding::resolve(
        credential,
        &parts,
        &store,
        false,
        &limits,
        &mut Budget::new(&limits),
        &Known::nothing(),
    )
    .map_err(|error| {
        let why = error.evidence.detail.unwrap_or_default();
        Failure::new(format!("the parent's policy ({why}): --parent-policy names its document"))
    })?;
    let policy = bound.policy.map_err(|error| match error {
        PolicyError::Malformed(problem) => Failure::new(format!("the parent's policy: {problem}")),
        PolicyError::TooLarge(limit) => {
            Failure::new(format!("the parent's policy exceeds the limit {limit}"))
        }
    })?;
    if !policy.is_claimed_by(&bound.claim) {
        return Err(Failure::new("the parent's policy has another id than its credential claims"));
    }
    Ok(policy)
}
