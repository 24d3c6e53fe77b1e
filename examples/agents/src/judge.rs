//! Where the agents ask Writgate. Nothing else of them decides anything.

use chrono::Utc;
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use writgate::card::{CardError, PeerExtension};
use writgate::ledger::{Ledger, SqliteLedger};
use writgate::message::MessageKind;
use writgate::message::compose::{self, HandshakeDraft, HandshakeForm};
use writgate::protocol::ProtocolHash;
use writgate::protocol::conversation::{ConversationKey, NaturalLanguage, Role};
use writgate::protocol::handshake::{Handshake, HandshakeError};
use writgate::{
    Actor, CallerFacts, ConfigFile, Decision, Engine, MessageInput, Offer, Peer, PermittedAction, Received,
    Refusal, SystemClock,
};

/// The engine of a configuration, over a ledger in a file that outlives the process.
///
/// # Errors
/// A configuration or ledger that does not load.
pub fn engine(config: &Path, ledger: &Path) -> Result<Engine, Box<dyn Error>> {
    let now = Utc::now();
    let config = ConfigFile::read(config)?.load(now)?;
    let (domain, skew) = (config.default_domain().to_owned(), config.skew());
    let ledger: Arc<dyn Ledger> = if ledger.exists() {
        Arc::new(SqliteLedger::open(ledger, &domain, skew)?)
    } else {
        // An example may state that nothing was ever admitted for its domain; a server that comes back may not.
        Arc::new(SqliteLedger::create(ledger, &domain, true, now, skew)?)
    };
    Ok(Engine::new(config, ledger, Arc::new(SystemClock))?)
}

/// What the offering agent does about a message.
#[derive(Debug)]
pub enum Verdict {
    /// Send this answer to an offer, in the state that follows.
    Answer {
        /// The message.
        message: Value,
        /// The state's word.
        state: &'static str,
    },
    /// The client answered an offer; there is nothing to send.
    Settled {
        /// The state's word.
        state: &'static str,
    },
    /// Do these actions, and nothing else.
    Act {
        /// The actions.
        actions: Vec<PermittedAction>,
        /// The decision's id.
        decision: String,
    },
    /// The permit ran out before it was used.
    Late,
    /// Talk: this is the leave for it. Nothing that bears on security may follow.
    Talk(NaturalLanguage),
    /// Refuse.
    Refuse(Refusal),
}

/// Judges a message to the offering agent: a handshake, an intent, or prose.
///
/// # Errors
/// An answer that could not be written.
pub fn judge(engine: &Engine, octets: &[u8], facts: CallerFacts) -> Result<Verdict, HandshakeError> {
    let message = MessageInput::Bytes(octets.to_vec());
    // Everything but a handshake is decided, so that it is recorded: intents, prose, and what is none of these.
    if !matches!(engine.kind_of(&message), Ok(MessageKind::Handshake)) {
        return Ok(decide(engine, message, facts));
    }
    match engine.receive(Role::Agent, message, facts.clone()) {
        Ok(Received::Offer { answer, exchange, .. }) => {
            let message = compose::handshake(&HandshakeDraft {
                id: a2a::new_message_id(),
                context: facts.context,
                task: None,
                role: Role::Agent,
                handshake: Handshake::Response(answer),
                form: HandshakeForm::Json,
            })?;
            Ok(Verdict::Answer { message, state: exchange.as_str() })
        }
        Ok(Received::Answer { exchange, .. }) => Ok(Verdict::Settled { state: exchange.as_str() }),
        Ok(Received::Prose(_)) => Ok(talk(engine, facts)),
        Err(refusal) => Ok(Verdict::Refuse(refusal)),
    }
}

fn decide(engine: &Engine, message: MessageInput, facts: CallerFacts) -> Verdict {
    let asked = facts.clone();
    let decided = engine.decide(message, facts);
    let decision = decided.report.envelope.decision_id;
    match decided.decision {
        Decision::Allow(permit) => {
            // Accepting a duty is a promise. The configuration lists those that this agent keeps, and admission has
            // refused any other.
            let duties = permit.obligations().clone();
            match permit.accept(&duties, Utc::now()) {
                Ok(actions) => Verdict::Act { actions, decision },
                Err(_) => Verdict::Late,
            }
        }
        Decision::Refuse(refusal) => Verdict::Refuse(refusal),
        Decision::NotOurs(_) => talk(engine, asked),
    }
}

/// That a peer may say something in prose is one thing, that we may answer in prose another: not where a protocol is
/// active, required or not.
fn talk(engine: &Engine, facts: CallerFacts) -> Verdict {
    engine.natural_language(&facts.conversation(Role::Agent)).map_or_else(Verdict::Refuse, Verdict::Talk)
}

/// The consuming client's side of one conversation.
#[derive(Debug)]
pub struct Conversation {
    engine: Engine,
    key: ConversationKey,
}

impl Conversation {
    /// The conversation with a peer in a context.
    pub fn new(engine: Engine, peer: &str, context: &str) -> Self {
        let key =
            ConversationKey { role: Role::Client, peer: Peer::from(peer), context: Some(context.to_owned()) };
        Self { engine, key }
    }

    /// Makes an offer of a document that the configuration pins and names a source for: what comes back is recorded, and
    /// may be sent.
    ///
    /// # Errors
    /// The engine's; `None` for a document that cannot be offered.
    pub fn offer(&self, hash: &ProtocolHash, required: bool) -> Option<Result<Offer, Refusal>> {
        let offer = self.engine.config().protocols().find(hash)?.offer(required)?;
        Some(self.engine.offer(&self.key, offer))
    }

    /// What the agent's card says of the extension. `None`: nothing.
    ///
    /// # Errors
    /// A card that cannot be read strictly.
    pub fn extension_of(&self, card: &[u8]) -> Result<Option<PeerExtension>, CardError> {
        PeerExtension::of_card(card, self.engine.config().limits())
    }

    /// Judges what the agent answered to a message that activated the extension. A peer that did not echo it counts as
    /// one without the extension: whatever it says, what we offered is over (ACT-4).
    ///
    /// # Errors
    /// The engine's.
    pub fn hear_of_extension(&self, octets: Vec<u8>, echoed: Option<&str>) -> Result<Received, Refusal> {
        if echoed.is_none() {
            self.engine.give_up(&self.key)?;
        }
        self.hear(octets, echoed)
    }

    /// Judges what the agent said.
    ///
    /// # Errors
    /// The engine's.
    pub fn hear(&self, octets: Vec<u8>, echoed: Option<&str>) -> Result<Received, Refusal> {
        let mut facts = CallerFacts::new(self.key.peer.clone(), Actor::Unauthenticated, String::new());
        facts.challenge = None;
        facts.context = self.key.context.clone();
        facts.activated = echoed.map(str::to_owned).into_iter().collect();
        self.engine.receive(Role::Client, MessageInput::Bytes(octets), facts)
    }

    /// Leave to say something in natural language. There is no other way to [`compose::prose`].
    ///
    /// # Errors
    /// The engine's.
    pub fn leave_to_talk(&self) -> Result<NaturalLanguage, Refusal> {
        self.engine.natural_language(&self.key)
    }

    /// Waits for no further answer: what we offered is over.
    ///
    /// # Errors
    /// The engine's.
    pub fn give_up(&self) -> Result<(), Refusal> {
        self.engine.give_up(&self.key)
    }

    /// The states of the conversation's exchanges.
    ///
    /// # Errors
    /// The engine's.
    pub fn states(&self) -> Result<Vec<&'static str>, Refusal> {
        Ok(self.engine.exchanges(&self.key)?.iter().map(|(_, exchange)| exchange.as_str()).collect())
    }
}
