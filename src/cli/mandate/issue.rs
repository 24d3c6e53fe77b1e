//! `writgate mandate issue` and `writgate mandate present`.

use super::papers;
use crate::cli::{Exit, Failure, Outcome, key::read_key, output, status::Entry};
use crate::config::media_type_of;
use crate::credential::issue::{self, DigestForm, Mandate, MandatePolicy, Presenting, SigningKey};
use crate::mandate::attenuate::read_policy;
use crate::mandate::odrl::Policy;
use crate::rdf::RdfMediaType;
use crate::request::Instant;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Issue {
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
    /// The last instant at which it is good (RFC 3339); without a status list, every mandate needs an end
    #[arg(long, value_parser = output::instant, required_unless_present = "status_list")]
    until: Option<Instant>,
    #[command(flatten)]
    status: Entry,
    /// Where to write it; standard output if absent
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Present {
    /// The holder's key
    #[arg(long)]
    key: PathBuf,
    /// A credential, JSON or a JWS; may be repeated: every hop from the owner down, all of one kind
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
}

pub(crate) fn issue(arguments: &Issue) -> Outcome {
    let now = chrono::Utc::now();
    let (text, media_type) = policy_document(&arguments.policy)?;
    let read = read_policy(&text, media_type)
        .map_err(|problem| Failure::new(format!("{}: {problem}", arguments.policy.display())))?;
    let key = read_key(&arguments.key)?;
    let from = arguments.from.unwrap_or(now);
    output::agent(&arguments.delegate)?;
    check(&key, &arguments.delegate, &read, from, arguments.until)?;
    if arguments.until.is_some_and(|until| until < now) {
        eprintln!("writgate: note: the mandate's end has passed already: no server would accept it now");
    }
    let media_type = media_type.as_str();
    let policy = if arguments.by_digest {
        MandatePolicy::Reference { iri: read.id(), text: &text, media_type, digest: DigestForm::Multibase }
    } else {
        MandatePolicy::Embedded { text: &text, media_type }
    };
    let mandate = Mandate {
        id: None,
        delegate: arguments.delegate.clone(),
        policy,
        actions: Vec::new(),
        targets: Vec::new(),
        valid_from: Some(from),
        valid_until: arguments.until,
        status: arguments.status.of_mandate()?,
    };
    let paper = match arguments.jose {
        true => issue::issue_mandate_jose(&key, &mandate, now)?.into(),
        false => issue::issue_mandate(&key, &mandate, now)?,
    };
    output::write(arguments.out.as_deref(), &output::paper(&paper)?)?;
    Ok(Exit::Success)
}

pub(crate) fn present(arguments: &Present) -> Outcome {
    let presenting = Presenting {
        challenge: &arguments.challenge,
        domain: &arguments.domain,
        created: chrono::Utc::now(),
        expires: None,
    };
    let key = read_key(&arguments.key)?;
    let paper = presentation_of(&key, &arguments.credential, &presenting)?;
    let files = papers::read(&arguments.credential, true)?;
    let mut credentials = files.iter().flat_map(papers::PaperFile::credentials);
    if !credentials.any(|credential| credential.authorizes.as_deref() == Some(key.controller())) {
        let note =
            format!("note: none of these lets {} act: no server accepts them from it", key.controller());
        eprintln!("writgate: {}", output::escaped(&note));
    }
    output::write(arguments.out.as_deref(), &paper)?;
    Ok(Exit::Success)
}

/// A presentation of the kind that its credentials are of: papers of two kinds do not go together.
fn presentation_of(
    key: &SigningKey,
    paths: &[PathBuf],
    presenting: &Presenting<'_>,
) -> Result<String, Failure> {
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

/// A policy document and its media type, by the file's ending.
pub(super) fn policy_document(path: &Path) -> Result<(String, RdfMediaType), Failure> {
    let media_type = media_type_of(path)
        .and_then(RdfMediaType::parse)
        .ok_or_else(|| Failure::new(format!("{} ends in neither .ttl nor .jsonld", path.display())))?;
    Ok((output::read_text(path)?, media_type))
}

/// Refuses to sign what no chain can hold, and warns of what only a longer chain can.
fn check(
    key: &SigningKey,
    delegate: &str,
    policy: &Policy,
    from: Instant,
    until: Option<Instant>,
) -> Result<(), Failure> {
    if until.is_some_and(|until| until < from) {
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
