//! The consuming client: it reads the agent's card, activates the extension, makes an offer, judges the answer, and
//! sends intents. What it may say in prose its own state machine decides, before anything is sent.

use a2a::{SendMessageResponse, TaskState};
use chrono::Utc;
use clap::{Parser, ValueEnum};
use serde_json::Value;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use writgate::card::PeerExtension;
use writgate::message::compose::{self, HandshakeDraft, HandshakeForm};
use writgate::protocol::ProtocolHash;
use writgate::protocol::conversation::{Exchange, Role};
use writgate::protocol::handshake::Handshake;
use writgate::worked_example::{DOMAIN, Intent, IntentAction, NOTES, World};
use writgate::{Offer, Received, Refusal};
use writgate_agents::client::{Client, Reply, described};
use writgate_agents::judge::{self, Conversation};
use writgate_agents::steps::{Steps, say};

#[derive(Debug, Parser)]
struct Arguments {
    /// The agent's URL
    #[arg(long)]
    url: String,
    /// The bearer token by which the agent knows this client
    #[arg(long)]
    token: String,
    /// Who the agent is. On loopback the transport proves nothing; over TLS, the name that its certificate proves
    #[arg(long, default_value = DOMAIN)]
    peer: String,
    /// Writgate's own folder, where the example's keys and mandates are
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// The configuration, in that folder
    #[arg(long, default_value = "examples/agents/consuming.toml")]
    config: PathBuf,
    /// The ledger; made where there is none
    #[arg(long)]
    ledger: PathBuf,
    /// The context of the conversation
    #[arg(long)]
    context: String,
    /// The Protocol Document to offer, by its file in `policies`
    #[arg(long, default_value = "grant-access")]
    document: String,
    /// Offer it without requiring it, as far as the configuration lets us
    #[arg(long)]
    optional: bool,
    /// How the offer is written
    #[arg(long, value_enum, default_value = "json")]
    form: Form,
    /// Send intents without a handshake, if the card declares the document (SKIP-1)
    #[arg(long)]
    skip: bool,
    /// Do nothing but say this, in prose
    #[arg(long)]
    prose: Option<String>,
    /// Stop at this step, and wait to be killed
    #[arg(long)]
    pause_at: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    Json,
    Turtle,
    JsonLd,
}

/// Why the run ended early.
enum End {
    /// Our own judge refuses.
    Here(Refusal),
    /// The agent refuses, or does something else.
    There(String),
    /// No answer came. What was offered stays open, and forbids prose.
    Silence,
    /// The example is not set up.
    Failed(Box<dyn Error>),
}

impl<E: Error + 'static> From<E> for End {
    fn from(cause: E) -> Self {
        let cause: Box<dyn Error> = Box::new(cause);
        match cause.downcast::<Refusal>() {
            Ok(refusal) => Self::Here(*refusal),
            Err(cause) => Self::Failed(cause),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let (line, code) = match run(Arguments::parse()).await {
        Ok(()) => return ExitCode::SUCCESS,
        Err(End::Failed(cause)) => (format!("failed: {cause}"), 1),
        Err(End::Here(refusal)) => (format!("refused here: {}", refusal.reason().as_str()), 3),
        Err(End::Silence) => ("no answer".to_owned(), 4),
        Err(End::There(what)) => (format!("refused there: {what}"), 5),
    };
    say(format_args!("{line}"));
    ExitCode::from(code)
}

async fn run(arguments: Arguments) -> Result<(), End> {
    let config = arguments.dir.join(&arguments.config);
    let engine = judge::engine(&config, &arguments.ledger).map_err(End::Failed)?;
    let talk = Talk {
        conversation: Conversation::new(engine, &arguments.peer, &arguments.context),
        client: Client::new(&arguments.url, Some(arguments.token.clone()))?,
        world: World::open(&arguments.dir)?,
        steps: Steps::new(arguments.pause_at.clone()),
        context: arguments.context.clone(),
    };
    if let Some(text) = &arguments.prose {
        return talk.prose(text).await;
    }
    let hash = talk.world.protocol_hash(&arguments.document)?;
    let hash = hash.parse()?;
    let declared = talk.extension().await?.may_skip_handshake(&hash);
    say(format_args!("declared: {declared}"));
    talk.steps.reached("card");
    if !(arguments.skip && declared) {
        talk.negotiate(&arguments, &hash).await?;
    }
    match arguments.document.as_str() {
        "grant-access" => talk.grant().await,
        "read" => talk.ask(Intent::read(NOTES)).await.map(|_| ()),
        _ => Ok(()),
    }
}

/// One conversation with the agent.
struct Talk {
    conversation: Conversation,
    client: Client,
    world: World,
    steps: Steps,
    context: String,
}

impl Talk {
    /// What the agent's card says of the extension. A card that says nothing is no leave to do without it.
    async fn extension(&self) -> Result<PeerExtension, End> {
        let card = self.client.card().await.map_err(|_| End::Silence)?;
        let entry = self.conversation.extension_of(&card)?;
        entry.ok_or_else(|| End::There("the card does not name the extension".to_owned()))
    }

    /// Makes the offer and judges the answer.
    async fn negotiate(&self, arguments: &Arguments, hash: &ProtocolHash) -> Result<(), End> {
        let offer = self.conversation.offer(hash, !arguments.optional);
        let offer =
            offer.ok_or_else(|| End::Failed("the configuration names no source for the document".into()))?;
        let offered = match offer? {
            Offer::Agreed => {
                say(format_args!("agreed before"));
                self.steps.reached("answered");
                return Ok(());
            }
            Offer::Send(offered) => offered,
        };
        say(format_args!("required: {}", offered.offer().required));
        self.steps.reached("offered");
        let message = compose::handshake(&HandshakeDraft {
            id: a2a::new_message_id(),
            context: Some(self.context.clone()),
            task: None,
            role: Role::Client,
            handshake: Handshake::Offer(offered.offer().clone()),
            form: match arguments.form {
                Form::Json => HandshakeForm::Json,
                Form::Turtle => HandshakeForm::Turtle,
                Form::JsonLd => HandshakeForm::JsonLd,
            },
        })?;
        let reply = self.send(&message).await?;
        self.steps.reached("heard");
        let Some(said) = reply.said else { return Err(End::There(described(&reply.answer))) };
        let Received::Answer { exchange, .. } = self.conversation.hear_of_extension(said, reply.echoed)?
        else {
            self.conversation.give_up()?;
            return Err(End::There("no answer to the offer".to_owned()));
        };
        say(format_args!("answer: {}", exchange.as_str()));
        self.steps.reached("answered");
        match exchange {
            Exchange::Active(_) => Ok(()),
            other => Err(End::There(other.as_str().to_owned())),
        }
    }

    /// The example: an intent that is allowed, the same message again, and an intent that breaks the document's shape.
    async fn grant(&self) -> Result<(), End> {
        let allowed = self.ask(Intent::grant_bob()).await?;
        let reply = self.send(&allowed).await?;
        match &reply.answer {
            Err(_) => say(format_args!("again: {}", described(&reply.answer))),
            Ok(_) => return Err(End::There("a replay was allowed".to_owned())),
        }
        self.steps.reached("replay-refused");
        let to_nobody = IntentAction::new("a2a:GrantAction").with(&format!("schema:object <{NOTES}>"));
        match self.ask(Intent::new(to_nobody.with("a2a:mode acl:Read"))).await {
            Err(End::There(what)) => say(format_args!("without a recipient: {what}")),
            Ok(_) => return Err(End::There("an intent that breaks the shape was allowed".to_owned())),
            Err(end) => return Err(end),
        }
        self.steps.reached("violation-refused");
        Ok(())
    }

    /// Sends an intent, with the mandate and a presentation that is bound to this message.
    async fn ask(&self, intent: Intent) -> Result<Value, End> {
        let mut ask = self.world.ask(intent, Utc::now())?;
        ask.id = a2a::new_message_id();
        ask.context = Some(self.context.clone());
        ask.nonce = self.client.challenge().await.map_err(|_| End::Silence)?;
        ask.bound = true;
        let message = ask.message()?;
        self.steps.reached("intent");
        let reply = self.send(&message).await?;
        match &reply.answer {
            Ok(SendMessageResponse::Task(task)) if task.status.state == TaskState::Completed => {
                self.steps.reached("allowed");
                Ok(message)
            }
            other => Err(End::There(described(other))),
        }
    }

    /// Says something in prose, if the state of the conversation gives leave, and judges what is said to it.
    async fn prose(&self, text: &str) -> Result<(), End> {
        say(format_args!("exchanges: {}", self.conversation.states()?.join(" ")));
        let leave = self.conversation.leave_to_talk()?;
        let message = compose::prose(&a2a::new_message_id(), text, leave);
        // Prose needs no extension, but an agent that requires it requires it of every message (REQSEM-1).
        let activate = self.extension().await?.must_activate();
        say(format_args!("activated: {activate}"));
        let message = serde_json::from_value(message)?;
        let reply = self.client.send(message, activate).await.ok_or(End::Silence)?;
        self.steps.reached("said");
        let Some(said) = reply.said else { return Err(End::There(described(&reply.answer))) };
        self.conversation.hear(said, reply.echoed)?;
        say(format_args!("answer: {}", described(&reply.answer)));
        Ok(())
    }

    async fn send(&self, message: &Value) -> Result<Reply, End> {
        let message = serde_json::from_value(message.clone())?;
        self.client.send(message, true).await.ok_or(End::Silence)
    }
}
