//! `writgate conversation`.

use super::decide::read_bounded;
use super::{Exit, Failure, Outcome, output};
use crate::audit::instant_text;
use crate::engine::{Engine, Offer, Received, SystemClock};
use crate::ledger::{ListedExchange, SqliteLedger};
use crate::message::compose::{self, HandshakeDraft, HandshakeForm};
use crate::protocol::ProtocolHash;
use crate::protocol::conversation::{ConversationKey, Exchange, Role};
use crate::protocol::handshake::{Handshake, ProtocolSource, UpgradeOffer};
use crate::refusal::{Reason, Refusal};
use crate::request::{Actor, CallerFacts, MessageInput, Peer};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Offer a Protocol Document: records the offer, then prints the message to send. Exit 0 it is to be sent, or agreed
    /// already, 1 refused
    Offer(OfferArguments),
    /// Take in a peer's message, but for an intent, which is for `decide`: judges an offer and prints the answer to send, or
    /// settles an offer of ours. Exit 0 the protocol is agreed, 1 refused, or not agreed, 3 the message is prose and nothing
    /// forbids it
    Receive(ReceiveArguments),
    /// Whether we may go on in natural language: exit 0 yes, 1 no, 2 could not run
    Prose(Place),
    /// List what was offered and agreed, as the ledger has it
    List {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
    },
    /// Forget everything that was offered to, by and agreed with a peer: it starts anew, in prose if it likes
    Forget {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
        /// The peer's transport identity
        #[arg(long)]
        peer: String,
    },
}

/// With whom, where and as what.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The configuration file
    #[arg(long, default_value = "writgate.toml")]
    config: PathBuf,
    /// What we are. Either may offer
    #[arg(long)]
    role: RoleName,
    /// The peer's transport identity, as `decide --peer` has it; empty if nobody authenticated it
    #[arg(long)]
    peer: String,
    /// The effective context
    #[arg(long)]
    context: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OfferArguments {
    #[command(flatten)]
    place: Place,
    /// The hash of the Protocol Document
    #[arg(long)]
    hash: ProtocolHash,
    /// Where the peer can fetch it; the configuration's `source` if absent
    #[arg(long)]
    source: Option<ProtocolSource>,
    /// The exchange must not go on in prose. A document that bears on security is required without it
    #[arg(long)]
    required: bool,
    /// How the message is written
    #[arg(long, default_value = "json")]
    form: FormName,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReceiveArguments {
    #[command(flatten)]
    place: Place,
    /// The peer did not activate the extension; or, where we are the client, did not echo it
    #[arg(long)]
    not_activated: bool,
    /// How an answer is written
    #[arg(long, default_value = "json")]
    form: FormName,
    /// A file with the JSON of an A2A v1.0 `Message`, or `-`
    message: PathBuf,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RoleName {
    /// The A2A server (the extension's "offering agent")
    Agent,
    /// The A2A client (the extension's "consuming client")
    Client,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FormName {
    /// A data part
    Json,
    /// A text part in Turtle
    Turtle,
    /// A text part in JSON-LD
    Jsonld,
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Offer(arguments) => offer(arguments),
        Command::Receive(arguments) => receive(arguments),
        Command::Prose(place) => match place.engine()?.natural_language(&place.key()) {
            Ok(_) => {
                output::say(format_args!("natural language may go on"));
                Ok(Exit::Success)
            }
            Err(refusal) => Ok(refused(&refusal)),
        },
        Command::List { config } => {
            let conversations = ledger(config)?.conversations()?;
            if conversations.is_empty() {
                note(format_args!("nothing was offered and nothing is agreed"));
            }
            conversations.iter().for_each(print);
            Ok(Exit::Success)
        }
        Command::Forget { config, peer } => {
            let forgotten =
                ledger(config)?.forget_conversations(&Peer::from(peer.as_str()), chrono::Utc::now())?;
            output::say(format_args!("{forgotten} exchanges forgotten"));
            Ok(Exit::Success)
        }
    }
}

fn offer(arguments: &OfferArguments) -> Outcome {
    let engine = arguments.place.engine()?;
    let own = engine.config().protocols().find(&arguments.hash).and_then(|document| document.offer(false));
    let source = arguments.source.clone().or_else(|| own.as_ref().map(|own| own.protocol_source.clone()));
    let source = source.ok_or_else(|| {
        Failure::new(
            "no source: the configuration's entry of this document has no `source`, and --source is absent",
        )
    })?;
    let offer = UpgradeOffer {
        protocol_hash: arguments.hash.clone(),
        protocol_source: source,
        required: arguments.required,
        protocol_name: own.and_then(|own| own.protocol_name),
    };
    match engine.offer(&arguments.place.key(), offer) {
        Ok(Offer::Send(offered)) => {
            arguments.place.print(Handshake::Offer(offered.offer().clone()), arguments.form)?;
            Ok(Exit::Success)
        }
        Ok(Offer::Agreed) => {
            note(format_args!("the protocol is agreed already: there is nothing to send"));
            Ok(Exit::Success)
        }
        Err(refusal) => Ok(refused(&refusal)),
    }
}

fn receive(arguments: &ReceiveArguments) -> Outcome {
    let place = &arguments.place;
    let engine = place.engine()?;
    let octets = read_bounded(&arguments.message, engine.config().limits().message_bytes)?;
    let mut facts = CallerFacts::new(place.peer.as_str(), Actor::Unauthenticated, "");
    facts.context = Some(place.context.clone());
    if arguments.not_activated {
        facts.activated.clear();
    }
    match engine.receive(place.key().role, MessageInput::Bytes(octets), facts) {
        Ok(Received::Offer { answer, exchange, .. }) => {
            place.print(Handshake::Response(answer), arguments.form)?;
            Ok(settled(&engine, &place.key(), &exchange))
        }
        Ok(Received::Answer { exchange, .. }) => Ok(settled(&engine, &place.key(), &exchange)),
        Ok(Received::Prose(_)) => {
            note(format_args!("prose: nothing in it may have effects that bear on security"));
            Ok(Exit::NotOurs)
        }
        Err(refusal) => Ok(refused(&refusal)),
    }
}

/// The state, beside a message on standard output. Leave for prose is the conversation's, not this exchange's alone.
fn settled(engine: &Engine, with: &ConversationKey, exchange: &Exchange) -> Exit {
    let prose = match engine.natural_language(with) {
        Ok(_) => "natural language may go on",
        Err(_) if exchange.required() => "prose is refused here",
        Err(_) => "no leave for prose",
    };
    note(format_args!("{}: {prose}", exchange.as_str()));
    if exchange.is_active() { Exit::Success } else { Exit::Refused }
}

fn refused(refusal: &Refusal) -> Exit {
    let advice = match refusal.reason() {
        Reason::ProtocolRequired => "`writgate conversation list` shows what keeps prose out.",
        reason => output::advice(reason),
    };
    note(format_args!("{}\n  {advice}", output::refused(refusal)));
    Exit::Refused
}

/// For the person: standard output is for the message to send.
fn note(text: std::fmt::Arguments<'_>) {
    eprintln!("writgate: {text}");
}

fn print(listed: &ListedExchange) {
    let ListedExchange { key, hash, exchange } = listed;
    let until = match exchange {
        Exchange::Offered(offered) => format!(" until {}", instant_text(offered.until())),
        Exchange::Active(active) => format!(" until {}", instant_text(active.until())),
        Exchange::Declined(_) | Exchange::Aborted(_) => String::new(),
    };
    let peer = if key.peer.is_authenticated() { key.peer.as_str() } else { "(nobody)" };
    output::say(format_args!(
        "{}  {}  {}  {hash}  {}{}{until}",
        key.role.as_str(),
        output::escaped(peer),
        output::escaped(key.context.as_deref().unwrap_or_default()),
        exchange.as_str(),
        if exchange.required() { ", required" } else { "" },
    ));
}

fn ledger(config: &std::path::Path) -> Result<SqliteLedger, Failure> {
    let file = output::read_config(config)?;
    let config = file.load(chrono::Utc::now())?;
    super::ledger::open(&file, config.default_domain(), config.skew())
}

impl Place {
    fn key(&self) -> ConversationKey {
        ConversationKey {
            role: match self.role {
                RoleName::Agent => Role::Agent,
                RoleName::Client => Role::Client,
            },
            peer: self.peer.as_str().into(),
            context: Some(self.context.clone()),
        }
    }

    fn engine(&self) -> Result<Engine, Failure> {
        let file = output::read_config(&self.config)?;
        let config = file.load(chrono::Utc::now())?;
        let engine = Engine::new(config, Arc::new(ledger(&self.config)?), Arc::new(SystemClock))?;
        Ok(match file.offered_documents(Arc::new(SystemClock))? {
            Some(queue) => engine.with_document_queue(Arc::new(queue)),
            None => engine,
        })
    }

    fn print(&self, handshake: Handshake, form: FormName) -> Result<(), Failure> {
        let draft = HandshakeDraft {
            id: uuid::Uuid::new_v4().to_string(),
            context: Some(self.context.clone()),
            task: None,
            role: self.key().role,
            handshake,
            form: match form {
                FormName::Json => HandshakeForm::Json,
                FormName::Turtle => HandshakeForm::Turtle,
                FormName::Jsonld => HandshakeForm::JsonLd,
            },
        };
        output::write(None, &serde_json::to_string_pretty(&compose::handshake(&draft)?)?)
    }
}
