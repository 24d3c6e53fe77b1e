//! `writgate challenge`.

use super::{Exit, Failure, Outcome, key, output};
use crate::card;
use crate::config::new_secret;
use crate::engine::{Engine, SystemClock};
use crate::ledger::SqliteLedger;
use crate::limits::Limits;
use crate::message::compose;
use crate::request::{Actor, CallerFacts};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// As `bind`; without any of these, make a new value for a server to give out, which the server must remember
    #[arg(long, requires = "nonce", requires = "domain")]
    message: Option<PathBuf>,
    /// As `bind`
    #[arg(long, requires = "message")]
    nonce: Option<String>,
    /// As `bind`
    #[arg(long, requires = "message")]
    domain: Option<String>,
    /// As `bind`
    #[arg(long, requires = "message")]
    card: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// For a client: the bound challenge for a message, to be signed by its presentation
    Bind(Bind),
    /// For a server: a challenge for one caller, of which nothing need be remembered
    Issue(Issue),
    /// For a server: make the key that challenges are issued by
    Key {
        /// Where to write it, for its owner alone
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// A client signs no bound challenge that it did not compute itself, here.
#[derive(Debug, clap::Args)]
struct Bind {
    /// The message, without its presentation
    #[arg(long, value_name = "FILE")]
    message: PathBuf,
    /// The value that the server gave out
    #[arg(long)]
    nonce: String,
    /// The server's domain, as its card names it
    #[arg(long)]
    domain: String,
    /// The server's Agent Card: bind to no domain that is none of its interfaces
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Issue {
    /// The configuration file, with its `[challenges]`
    #[arg(long, value_name = "FILE", default_value = "writgate.toml")]
    config: PathBuf,
    /// The authenticated transport identity
    #[arg(long, default_value = "cli")]
    peer: String,
    /// The acting agent, where the server authenticates it
    #[arg(long)]
    actor: Option<String>,
    /// The effective context of the message to come, where it has one
    #[arg(long)]
    context: Option<String>,
    /// The domain that the presentation must name; the configuration's first if absent
    #[arg(long)]
    domain: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let challenge = match &arguments.command {
        Some(Command::Bind(bind)) => bound(bind)?,
        Some(Command::Issue(issue)) => issued(issue)?,
        Some(Command::Key { out }) => {
            let secret = new_secret().map_err(|cause| Failure::new(cause.to_string()))?;
            key::write_secret(out, &secret)?;
            output::say(format_args!(
                "{}: a secret; name it as `key` under `[challenges]` of the configuration",
                out.display()
            ));
            return Ok(Exit::Success);
        }
        None => match arguments.bind() {
            Some(bind) => bound(&bind)?,
            None => new_challenge()?,
        },
    };
    output::say(format_args!("{challenge}"));
    Ok(Exit::Success)
}

impl Arguments {
    fn bind(&self) -> Option<Bind> {
        let (message, nonce, domain) = (self.message.clone()?, self.nonce.clone()?, self.domain.clone()?);
        Some(Bind { message, nonce, domain, card: self.card.clone() })
    }
}

fn bound(bind: &Bind) -> Result<String, Failure> {
    let Bind { message, nonce, domain, card } = bind;
    if let Some(path) = card {
        let in_card = |cause: card::CardError| Failure::new(format!("{}: {cause}", path.display()));
        if !card::names_domain(&output::read(path)?, domain, &Limits::default()).map_err(in_card)? {
            return Err(Failure::new(format!(
                "{domain} is not the `url` of any interface of {}: whoever asks for it may be another server's client",
                path.display()
            )));
        }
    }
    compose::bound_challenge(&output::read_json(message)?, nonce, domain)
        .map_err(|cause| Failure::new(format!("{}: {cause}", message.display())))
}

fn issued(issue: &Issue) -> Result<String, Failure> {
    let Issue { config, peer, actor, context, domain } = issue;
    let file = output::read_config(config)?;
    let now = chrono::Utc::now();
    let issuer = file.challenge_issuer()?.ok_or_else(|| {
        Failure::new(format!(
            "{} has no [challenges]: `writgate challenge key --out FILE` makes the key that it names",
            config.display()
        ))
    })?;
    let config = file.load(now)?;
    // Nothing is recorded of it, so the server's own ledger is not opened.
    let ledger = SqliteLedger::in_memory(config.default_domain(), now, config.skew())?;
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?.with_challenges(issuer);
    let actor = actor.clone().map_or(Actor::Unauthenticated, Actor::Authenticated);
    let mut to = CallerFacts::new(peer.clone(), actor, "");
    (to.context, to.domain) = (context.clone(), domain.clone());
    Ok(engine.issue_challenge(&to)?)
}

/// 128 random bits, in lower-case hexadecimal.
fn new_challenge() -> Result<String, Failure> {
    let mut octets = [0u8; 16];
    getrandom::fill(&mut octets).map_err(|cause| Failure::new(cause.to_string()))?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}
