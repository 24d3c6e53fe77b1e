//! `writgate decide`.

use super::{Exit, Failure, Outcome, output};
use crate::audit::{DecisionOutcome, DecisionReportV1, ReportEnvelope, instant_text};
use crate::config::Config;
use crate::credential::ChallengeIssuer;
use crate::decision::{self, Decision};
use crate::engine::{Engine, SystemClock};
use crate::explain::Explanation;
use crate::ledger::SqliteLedger;
use crate::refusal::Refusal;
use crate::request::{Actor, CallerFacts, Instant, MessageInput, Request};
use crate::vocab::EXTENSION;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The message: a file with the JSON of an A2A v1.0 `Message`, or `-`
    message: PathBuf,
    /// The configuration file
    #[arg(long, default_value = "writgate.toml")]
    config: PathBuf,
    /// The challenge that this server gave out; if absent, whichever `challenge issue` made for this caller
    #[arg(long)]
    challenge: Option<String>,
    /// The domain that the presentation must name; the configuration's first if absent
    #[arg(long)]
    domain: Option<String>,
    /// The acting agent, where the server authenticated it; else the presentation's holder is the actor
    #[arg(long)]
    actor: Option<String>,
    /// The authenticated transport identity
    #[arg(long, default_value = "cli")]
    peer: String,
    /// The effective context, where the message itself has none
    #[arg(long)]
    context: Option<String>,
    /// An extension URI that the request activated; may be repeated. Default: the A2A RDF extension
    #[arg(long)]
    activated: Vec<String>,
    /// The request activated no extension
    #[arg(long, conflicts_with = "activated")]
    not_activated: bool,
    /// Print the report as JSON; of a dry run, its body
    #[arg(long, conflicts_with = "explain")]
    json: bool,
    /// Print the why, stage by stage; of a refusal, also the smallest change that would permit it
    #[arg(long)]
    explain: bool,
    /// Evaluate only: no ledger is opened and nothing is recorded
    #[arg(long)]
    dry_run: bool,
    /// Evaluate at this instant (RFC 3339); implies --dry-run
    #[arg(long, value_parser = output::instant)]
    now: Option<Instant>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let now = arguments.now.unwrap_or_else(chrono::Utc::now);
    let file = output::read_config(&arguments.config)?;
    let config = file.load(now)?;
    let message = read_bounded(&arguments.message, config.limits().message_bytes)?;
    let facts = facts(arguments, &message, &config);
    let message = MessageInput::Bytes(message);
    let issuer = file.challenge_issuer()?;
    if arguments.dry_run || arguments.now.is_some() {
        return evaluate(arguments, config, issuer, message, facts, now);
    }
    let ledger = super::ledger::open(&file, config.default_domain(), config.skew())?;
    let engine = engine_of(config, ledger, issuer)?;
    let asked = arguments.explain.then(|| (message.clone(), facts.clone()));
    let decided = engine.decide(message, facts);
    if arguments.json {
        output::write(None, &serde_json::to_string_pretty(&decided.report)?)?;
    } else {
        output::say(format_args!("{}", output::verdict(&decided.decision)));
        if let Decision::Refuse(refusal) = &decided.decision {
            output::say(format_args!("  {}", output::advice(refusal.reason())));
        }
        if let (Decision::Refuse(refusal), Some((message, facts))) = (&decided.decision, asked) {
            output::say(format_args!(
                "\n{}",
                output::why(&why_refused(&engine, refusal, message, facts, now)?)
            ));
        }
        explain(arguments, &decided.report);
    }
    Ok(match decided.decision {
        Decision::Allow(_) => Exit::Success,
        Decision::Refuse(_) => Exit::Refused,
        Decision::NotOurs(_) => Exit::NotOurs,
    })
}

fn engine_of(
    config: Config,
    ledger: SqliteLedger,
    issuer: Option<ChallengeIssuer>,
) -> Result<Engine, Failure> {
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
    Ok(match issuer {
        Some(issuer) => engine.with_challenges(issuer),
        None => engine,
    })
}

/// Stages 1 to 9 only. What is printed says so: a grant permits nothing.
fn evaluate(
    arguments: &Arguments,
    config: Config,
    issuer: Option<ChallengeIssuer>,
    message: MessageInput,
    facts: CallerFacts,
    now: Instant,
) -> Outcome {
    let ledger = SqliteLedger::in_memory(config.default_domain(), now, config.skew())?;
    let engine = engine_of(config, ledger, issuer)?;
    let snapshot = engine.snapshot(&facts, now)?;
    let request = Request { message, facts, snapshot };
    let evaluation = engine.evaluate(&request);
    let (outcome, exit) = match &evaluation.outcome {
        decision::Outcome::Granted(_) => (DecisionOutcome::Refuse, Exit::Success),
        decision::Outcome::Refused(_) => (DecisionOutcome::Refuse, Exit::Refused),
        decision::Outcome::NotOurs(_) => (DecisionOutcome::NotOurs, Exit::NotOurs),
    };
    if arguments.json {
        output::write(None, &serde_json::to_string_pretty(&evaluation.report)?)?;
        return Ok(exit);
    }
    match &evaluation.outcome {
        decision::Outcome::Granted(grant) => output::say(format_args!(
            "{}  stages 1 to 9 hold until {}; nothing is permitted before admission\n  as if nothing came before it: \
             the ledger, with what it counted and saw revoked, was not read{}",
            output::coloured("WOULD ALLOW", 33),
            instant_text(grant.not_after()),
            output::duties(grant.obligations())
        )),
        decision::Outcome::Refused(refusal) => {
            print_refusal(refusal);
            if arguments.explain {
                let explanation =
                    engine.explain(&request).unwrap_or_else(|| Explanation::of_refusal(refusal));
                output::say(format_args!("\n{}", output::why(&explanation)));
            }
        }
        decision::Outcome::NotOurs(_) => output::say(format_args!("{}", output::coloured("NOT OURS", 33))),
    }
    let envelope = ReportEnvelope::unrecorded("none (dry run)".to_owned(), outcome);
    let version = DecisionReportV1::VERSION.to_owned();
    explain(arguments, &DecisionReportV1 { version, body: evaluation.report, envelope });
    Ok(exit)
}

/// The refusal's explanation. Where evaluating anew finds another reason (admission refused, or something changed in
/// between), what the refusal itself tells.
pub(super) fn why_refused(
    engine: &Engine,
    refusal: &Refusal,
    message: MessageInput,
    facts: CallerFacts,
    now: Instant,
) -> Result<Explanation, Failure> {
    let snapshot = engine.snapshot(&facts, now)?;
    let request = Request { message, facts, snapshot };
    let same = match engine.evaluate(&request).outcome {
        decision::Outcome::Refused(again) => again.reason() == refusal.reason(),
        _ => false,
    };
    let explanation = if same { engine.explain(&request) } else { None };
    Ok(explanation.unwrap_or_else(|| Explanation::of_refusal(refusal)))
}

fn print_refusal(refusal: &Refusal) {
    output::say(format_args!("{}\n  {}", output::refused(refusal), output::advice(refusal.reason())));
}

fn explain(arguments: &Arguments, report: &DecisionReportV1) {
    if arguments.explain {
        output::tell(format_args!("\n{}", output::explained(report)));
        if let Some(turtle) = &report.body.shacl_report {
            output::say(format_args!("\n{}", output::escaped_block(turtle)));
        }
    }
}

fn facts(arguments: &Arguments, message: &[u8], config: &Config) -> CallerFacts {
    let actor = match &arguments.actor {
        Some(actor) => Actor::Authenticated(actor.clone()),
        None => Actor::Unauthenticated,
    };
    let mut facts = CallerFacts::new(arguments.peer.clone(), actor, "");
    facts.challenge = arguments.challenge.clone();
    facts.domain = arguments.domain.clone();
    facts.context = arguments.context.clone().or_else(|| own_context(message, config));
    facts.activated = match arguments.activated.as_slice() {
        _ if arguments.not_activated => Default::default(),
        [] => [EXTENSION.to_owned()].into(),
        named => named.iter().cloned().collect(),
    };
    facts
}

/// The command line is its own server: it takes the message's context for the effective one, as a server does that
/// starts a context by the message.
fn own_context(message: &[u8], config: &Config) -> Option<String> {
    let value = crate::message::strict_json::read(message, config.limits()).ok()?;
    value.get("contextId")?.as_str().map(str::to_owned)
}

/// Reads one octet more than the engine takes, so that a file of any size is refused without being held.
pub(crate) fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut octets = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(bound).read_to_end(&mut octets)?;
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(bound).read_to_end(&mut octets))
            .map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
    }
    Ok(octets)
}
