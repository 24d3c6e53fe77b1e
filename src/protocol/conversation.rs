//! What became of an offer: one exchange for each (peer, effective context, protocol hash, role).
//!
//! The machine is pure: a state and what happened give the next state. The ledger keeps the state and runs the machine
//! within its transaction. States are types, and leave for prose is a value: a [`NaturalLanguage`] comes from a
//! conversation in which every exchange is [`Declined`], or that has none, and from nothing else.
//!
//! INVARIANT: an exchange that was once required stays so. Every way out of the ordinary (expiry, a late, second,
//! contradictory or crossing message, giving up) leads to a state that is required. So once required, never prose.
//!
//! # An agent server, and its client
//!
//! One turn of each, under a document that the card does not declare. [`Engine::kind_of`](crate::Engine::kind_of) says
//! which call a message is for.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::{Value, json};
//! use writgate::card::{PeerExtension, activation};
//! use writgate::message::compose::{self, HandshakeDraft, HandshakeForm};
//! use writgate::message::{MessageKind, ResponseFacts, ResponseInput};
//! use writgate::protocol::ProtocolHash;
//! use writgate::protocol::conversation::{ConversationKey, Exchange, Role};
//! use writgate::protocol::handshake::Handshake;
//! use writgate::{A2aError, Actor, CallerFacts, Decision, Engine, MessageInput, Offer, Received};
//!
//! /// The message that carries a handshake.
//! fn handshake(key: &ConversationKey, handshake: Handshake) -> Result<Value, A2aError> {
//!     let (id, context) = (uuid::Uuid::new_v4().to_string(), key.context.clone());
//!     let draft = HandshakeDraft { id, context, task: None, role: key.role, handshake, form: HandshakeForm::Json };
//!     compose::handshake(&draft).map_err(|_| A2aError::internal())
//! }
//!
//! /// The agent server answers a message. `header` is the request's `A2A-Extensions`, and the rest of `facts` is what the
//! /// server knows too: whom it authenticated, the context, the challenge that it gave out.
//! fn serve(engine: &Engine, header: &str, message: Vec<u8>, mut facts: CallerFacts) -> Result<Value, A2aError> {
//!     facts.activated = activation([header]).map(str::to_owned).into_iter().collect();
//!     let message = MessageInput::Bytes(message);
//!     if engine.kind_of(&message).map_err(|refusal| refusal.to_a2a())? != MessageKind::Handshake {
//!         return decide(engine, message, facts); // An intent, or prose. What is for a client is refused there.
//!     }
//!     let key = facts.conversation(Role::Agent);
//!     match engine.receive(Role::Agent, message, facts).map_err(|refusal| refusal.to_a2a())? {
//!         // The answer is in the ledger: send it. Whether it says yes was decided by the configuration.
//!         Received::Offer { answer, .. } => handshake(&key, Handshake::Response(answer)),
//!         // An offer of ours was answered; the ledger has it, and there is nothing to say.
//!         Received::Answer { .. } => Ok(Value::Null),
//!         Received::Prose(_) => Err(A2aError::internal()), // It was a handshake.
//!     }
//! }
//!
//! /// The agent server decides an intent, acts, and checks what it is about to answer; to prose it answers in prose.
//! fn decide(engine: &Engine, message: MessageInput, facts: CallerFacts) -> Result<Value, A2aError> {
//!     let response = ResponseFacts { activated: facts.activated.clone(), context: facts.context.clone() };
//!     let key = facts.conversation(Role::Agent);
//!     let decided = engine.decide(message, facts);
//!     let permit = match decided.decision {
//!         Decision::Allow(permit) => permit,
//!         Decision::Refuse(refusal) => return Err(refusal.to_a2a()),
//!         // Nothing that bears on security may follow from it, and to answer in prose takes leave.
//!         Decision::NotOurs(_) => {
//!             let leave = engine.natural_language(&key).map_err(|refusal| refusal.to_a2a())?;
//!             return Ok(compose::prose("a-1", "We speak RDF here.", leave));
//!         }
//!     };
//!     let hash = permit.protocol_hash().clone();
//!     let duties = permit.obligations().clone(); // Accepting is a promise: look at them first.
//!     let actions = permit.accept(&duties, chrono::Utc::now()).map_err(|_| A2aError::internal())?;
//!     let done: String = actions.iter().map(|it| format!("<{}> a <urn:example:Read> .\n", it.target)).collect();
//!     let answer = json!({
//!         "messageId": "r-1", "contextId": response.context, "role": "ROLE_AGENT",
//!         "extensions": ["https://w3id.org/jeswr/a2a-rdf/v1"],
//!         "parts": [{ "text": done, "mediaType": "text/turtle", "metadata": {
//!             "https://w3id.org/jeswr/a2a-rdf/v1/kind": "intent-response",
//!             "https://w3id.org/jeswr/a2a-rdf/v1/protocolHash": hash.as_str(),
//!         }}],
//!     });
//!     // Refused: our own fault, of which the client learns nothing.
//!     let octets = ResponseInput::MessageBytes(answer.to_string().into_bytes());
//!     engine.check_response(&octets, &hash, &response).map_err(|_| A2aError::internal())?;
//!     Ok(answer)
//! }
//!
//! /// What the client may send next.
//! enum Next { Intent, Offer(Value), Prose(Value), Nothing }
//!
//! /// The client, before it says anything: skip the handshake or make an offer.
//! fn begin(
//!     engine: &Engine, card: &[u8], key: &ConversationKey, hash: &ProtocolHash,
//! ) -> Result<Next, Box<dyn std::error::Error>> {
//!     match PeerExtension::of_card(card, engine.config().limits())? {
//!         // Baseline A2A: no intents. Prose as far as nothing is open or agreed.
//!         None => return Ok(in_words(engine, key)),
//!         Some(peer) if peer.may_skip_handshake(hash) => return Ok(Next::Intent),
//!         Some(_) => {}
//!     }
//!     let document = engine.config().protocols().find(hash).ok_or("no such document")?;
//!     let offer = document.offer(false).ok_or("the document has no source")?;
//!     Ok(match engine.offer(key, offer).map_err(|refusal| refusal.reason().sentence())? {
//!         Offer::Send(offered) => Next::Offer(handshake(key, Handshake::Offer(offered.offer().clone()))
//!             .map_err(|error| error.message())?),
//!         Offer::Agreed => Next::Intent,
//!     })
//! }
//!
//! /// The client judges the answer. `header` is what the agent echoed.
//! fn judge(engine: &Engine, header: &str, message: Vec<u8>, key: &ConversationKey) -> Next {
//!     let mut facts = CallerFacts::new("", Actor::Unauthenticated, ""); // A client gave out no challenge.
//!     (facts.peer, facts.context) = (key.peer.clone(), key.context.clone());
//!     facts.activated = activation([header]).map(str::to_owned).into_iter().collect();
//!     match engine.receive(Role::Client, MessageInput::Bytes(message), facts) {
//!         Ok(Received::Answer { exchange: Exchange::Active(_), .. }) => Next::Intent,
//!         // Of this exchange alone: leave for prose is the whole conversation's.
//!         Ok(Received::Answer { exchange: Exchange::Declined(_), .. }) => in_words(engine, key),
//!         // Aborted, no answer to our offer, or refused. `give_up` where the client waits no longer.
//!         Ok(_) | Err(_) => Next::Nothing,
//!     }
//! }
//!
//! /// The client takes in what was answered to its intent: RDF that conforms to the document, or nothing.
//! fn learn(engine: &Engine, header: &str, message: Vec<u8>, key: &ConversationKey, hash: &ProtocolHash) -> bool {
//!     let activated = activation([header]).map(str::to_owned).into_iter().collect();
//!     let facts = ResponseFacts { activated, context: key.context.clone() };
//!     engine.check_response(&ResponseInput::MessageBytes(message), hash, &facts).is_ok()
//! }
//!
//! /// Leave is asked for when something is to be said, and used at once.
//! fn in_words(engine: &Engine, key: &ConversationKey) -> Next {
//!     match engine.natural_language(key) {
//!         Ok(leave) => Next::Prose(compose::prose("m-1", "Please read it.", leave)),
//!         Err(_) => Next::Nothing,
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use writgate::{ConfigFile, SystemClock, ledger::SqliteLedger, worked_example::{Intent, World}};
//! # let engine = |more: &str| -> Result<Engine, Box<dyn std::error::Error>> {
//! #     let folder = std::env::temp_dir().join(format!("writgate-loop-{}", uuid::Uuid::new_v4()));
//! #     std::fs::create_dir(&folder)?;
//! #     let repository = format!("\"{}/", std::env::current_dir()?.display());
//! #     let text = std::fs::read_to_string("vectors/writgate.toml")?.replace("\"../", &repository);
//! #     std::fs::write(folder.join("writgate.toml"), text.replace("declared = true", more))?;
//! #     let config = ConfigFile::read(&folder.join("writgate.toml"))?.load(chrono::Utc::now())?;
//! #     std::fs::remove_dir_all(&folder)?;
//! #     let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew())?;
//! #     Ok(Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?)
//! # };
//! # let (server, client) = (engine("declared = false")?, engine("declared = false")?);
//! # let world = World::open(std::path::Path::new("."))?;
//! let ours = "https://w3id.org/jeswr/a2a-rdf/v1";
//! let card = json!({ "capabilities": { "extensions": [server.config().agent_extension()] } }).to_string();
//! let hash: ProtocolHash = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509".parse()?;
//! let to_server = ConversationKey {
//!     role: Role::Client, peer: "https://agent.example/".into(), context: Some("ctx-1".to_owned()),
//! };
//! // The card declares nothing, so the client offers; the agent says yes, and the intent may follow.
//! let Next::Offer(offer) = begin(&client, card.as_bytes(), &to_server, &hash)? else { panic!() };
//! let answer = serve(&server, ours, offer.to_string().into_bytes(), world.facts()).map_err(|error| error.message())?;
//! assert!(matches!(judge(&client, ours, answer.to_string().into_bytes(), &to_server), Next::Intent));
//! let intent = world.ask(Intent::grant_bob(), chrono::Utc::now())?.message()?;
//! let response = serve(&server, ours, intent.to_string().into_bytes(), world.facts()).map_err(|error| error.message())?;
//! assert!(learn(&client, ours, response.to_string().into_bytes(), &to_server, &hash));
//! // From now on neither side says anything in prose.
//! assert!(matches!(in_words(&client, &to_server), Next::Nothing));
//! let prose = json!({ "messageId": "p-1", "role": "ROLE_USER", "parts": [{ "text": "Just do it." }] });
//! let refused = serve(&server, "", prose.to_string().into_bytes(), world.facts());
//! assert_eq!(refused.map_err(|error| error.codes().http), Err(400));
//! # Ok(())
//! # }
//! ```

use super::ProtocolHash;
use super::handshake::{UpgradeOffer, UpgradeResponse, may_downgrade};
use crate::request::{Instant, Peer};
use chrono::TimeDelta;

/// Which of the extension's two conformance classes we are in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The offering agent: the A2A server.
    Agent,
    /// The consuming client.
    Client,
}

impl Role {
    /// The role's one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Client => "client",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Agent => Self::Client,
            Self::Client => Self::Agent,
        }
    }
}

/// With whom, where and as what we converse.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationKey {
    /// What we are.
    pub role: Role,
    /// The transport identity of the other side.
    pub peer: Peer,
    /// The effective context. `None`: no context yet, where nothing can have been agreed.
    pub context: Option<String>,
}

impl ConversationKey {
    /// The same peer and context with the roles exchanged. What is agreed there is not agreed here, but what keeps prose
    /// out there keeps it out here: it is said of a (peer, context).
    pub(crate) fn turned(&self) -> Self {
        Self { role: self.role.other(), ..self.clone() }
    }
}

/// The state of one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exchange {
    /// We offered, and there is no answer yet.
    Offered(Offered),
    /// The protocol was agreed.
    Active(Active),
    /// An optional offer was declined: prose may go on.
    Declined(Declined),
    /// Over, and not in prose.
    Aborted(Aborted),
}

/// We offered, and there is no answer yet. No prose follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// As it counts: required also where an earlier offer was, or the document bears on security here.
    offer: UpgradeOffer,
    until: Instant,
}

/// The protocol was agreed. No prose follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Active {
    required: bool,
    until: Instant,
}

/// An optional offer was declined by whom it was made to. Only the machine makes one:
///
/// ```compile_fail,E0423
/// let declined = writgate::protocol::conversation::Declined(());
/// ```
///
/// It is one exchange of perhaps several, so it alone gives no leave; [`crate::Engine::natural_language`] does:
///
/// ```compile_fail,E0599
/// fn prose(declined: writgate::protocol::conversation::Declined) {
///     declined.natural_language();
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declined(());

/// The exchange is over: a required offer was declined, nobody answered in time, or the messages contradict each other.
/// There is no retry in prose (SEC-6); the protocol may be offered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted(());

/// Leave to go on in natural language, once, in one conversation. [`crate::Engine::natural_language`] gives it, after it has
/// looked at every exchange there; nobody else can, and none is good for two messages:
///
/// ```compile_fail,E0451
/// use writgate::protocol::conversation::{ConversationKey, NaturalLanguage};
/// fn forge(of: ConversationKey) -> NaturalLanguage {
///     NaturalLanguage { of }
/// }
/// ```
/// ```compile_fail,E0277
/// fn copies<T: Clone>() {}
/// copies::<writgate::protocol::conversation::NaturalLanguage>();
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct NaturalLanguage {
    of: ConversationKey,
}

impl NaturalLanguage {
    /// Leave for a conversation whose exchanges are these: each of them must give it. One without any exchange is what
    /// two agents meet in.
    pub(crate) fn after<'a>(
        of: &ConversationKey,
        exchanges: impl IntoIterator<Item = &'a Exchange>,
    ) -> Option<Self> {
        let all_declined = exchanges.into_iter().all(|exchange| exchange.lets_prose_go_on());
        all_declined.then(|| Self { of: of.clone() })
    }

    /// The conversation that it is good for.
    pub fn conversation(&self) -> &ConversationKey {
        &self.of
    }
}

impl Offered {
    /// The offer, as it is to be sent; after a crash, again.
    pub fn offer(&self) -> &UpgradeOffer {
        &self.offer
    }

    /// After it, no answer counts.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// The peer's answer. One about another document answers nothing, and the offer stays open.
    fn answered(self, response: &UpgradeResponse, agreed_until: Instant) -> Exchange {
        if response.protocol_hash != self.offer.protocol_hash {
            Exchange::Offered(self)
        } else if may_downgrade(&self.offer, Some(response)) {
            Exchange::Declined(Declined(()))
        } else if response.accept {
            Exchange::Active(Active { required: self.offer.required, until: agreed_until })
        } else {
            Exchange::ABORTED
        }
    }
}

impl Active {
    /// Whether prose in this conversation is refused.
    pub fn required(&self) -> bool {
        self.required
    }

    /// After it, the protocol has to be agreed anew.
    pub fn until(&self) -> Instant {
        self.until
    }
}

impl Exchange {
    const ABORTED: Self = Self::Aborted(Aborted(()));

    /// We offer, until `until`. What was required before stays required. An open offer keeps its end, so that offering
    /// again prolongs nothing; an agreed protocol needs no offer.
    pub(crate) fn offer(before: Option<Self>, offer: UpgradeOffer, until: Instant) -> Self {
        let required = offer.required || before.as_ref().is_some_and(Self::required);
        match before {
            Some(Self::Active(active)) => Self::Active(Active { required, ..active }),
            Some(Self::Offered(open)) => {
                Self::Offered(Offered { offer: UpgradeOffer { required, ..offer }, until: open.until })
            }
            None | Some(Self::Declined(_) | Self::Aborted(_)) => {
                Self::Offered(Offered { offer: UpgradeOffer { required, ..offer }, until })
            }
        }
    }

    /// The peer offers and we answer, at once. `required` is the offer's flag, or that the document bears on security
    /// here.
    pub(crate) fn offered_by_peer(
        before: Option<Self>,
        required: bool,
        accept: bool,
        agreed_until: Instant,
    ) -> Self {
        // Two offers that cross: whose answer settles it is not known to both sides, so neither falls back.
        let crossing = matches!(before, Some(Self::Offered(_)));
        // What was agreed is not declined afterwards.
        let contradictory = matches!(before, Some(Self::Active(_))) && !accept;
        let required = required || crossing || contradictory || before.as_ref().is_some_and(Self::required);
        match (accept, required) {
            (true, required) => Self::Active(Active { required, until: agreed_until }),
            (false, true) => Self::ABORTED,
            (false, false) => Self::Declined(Declined(())),
        }
    }

    /// The peer answers. The first answer to an open offer is final: the same once more changes nothing, and another one
    /// ends the exchange.
    pub(crate) fn answered(self, response: &UpgradeResponse, agreed_until: Instant) -> Self {
        match self {
            Self::Offered(offered) => offered.answered(response, agreed_until),
            Self::Active(_) if response.accept => self,
            Self::Declined(_) if !response.accept => self,
            Self::Active(_) | Self::Declined(_) | Self::Aborted(_) => Self::ABORTED,
        }
    }

    /// Nobody will answer: the peer did not echo the activation (ACT-4), or we wait no longer.
    pub(crate) fn unanswered(self) -> Self {
        match self {
            Self::Offered(_) => Self::ABORTED,
            other => other,
        }
    }

    /// The state at an instant: an offer or agreement that has run out is over.
    pub(crate) fn at(self, now: Instant) -> Self {
        let until = match &self {
            Self::Offered(offered) => offered.until,
            Self::Active(active) => active.until,
            Self::Declined(_) | Self::Aborted(_) => return self,
        };
        if now < until { self } else { Self::ABORTED }
    }

    /// Whether prose in this conversation is refused: a required offer is pending, a required protocol is active, or the
    /// exchange was aborted.
    pub fn required(&self) -> bool {
        match self {
            Self::Offered(offered) => offered.offer.required,
            Self::Active(active) => active.required,
            Self::Declined(_) => false,
            Self::Aborted(_) => true,
        }
    }

    /// Whether intents under the protocol are known to the conversation (PP-7).
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active(_))
    }

    /// Whether `next` is the same state but for an end that is less than `apart` away.
    pub(crate) fn is_nearly(&self, next: &Self, apart: TimeDelta) -> bool {
        let near = |one: Instant, other: Instant| (one - other).abs() < apart;
        match (self, next) {
            (Self::Offered(one), Self::Offered(other)) => {
                one.offer == other.offer && near(one.until, other.until)
            }
            (Self::Active(one), Self::Active(other)) => {
                one.required == other.required && near(one.until, other.until)
            }
            _ => self == next,
        }
    }

    /// The state's one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Offered(_) => "offered",
            Self::Active(_) => "active",
            Self::Declined(_) => "declined",
            Self::Aborted(_) => "aborted",
        }
    }

    /// Whether this exchange stands in the way of no prose of ours (DG-1). Each state is spelled out.
    fn lets_prose_go_on(&self) -> bool {
        match self {
            Self::Declined(Declined(())) => true,
            Self::Offered(_) | Self::Active(_) | Self::Aborted(_) => false,
        }
    }
}

/// An exchange as a ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredExchange {
    pub(crate) state: String,
    pub(crate) required: bool,
    /// The end of an offer or agreement.
    pub(crate) until: Option<Instant>,
    /// The open offer.
    pub(crate) offer: Option<UpgradeOffer>,
}

impl StoredExchange {
    pub(crate) fn of(exchange: &Exchange) -> Self {
        let (until, offer) = match exchange {
            Exchange::Offered(offered) => (Some(offered.until), Some(offered.offer.clone())),
            Exchange::Active(active) => (Some(active.until), None),
            Exchange::Declined(_) | Exchange::Aborted(_) => (None, None),
        };
        Self { state: exchange.as_str().to_owned(), required: exchange.required(), until, offer }
    }

    /// The state that was stored; `None` for what [`StoredExchange::of`] never gives.
    pub(crate) fn read(self, hash: &ProtocolHash) -> Option<Exchange> {
        let exchange = match (self.state.as_str(), self.until, self.offer) {
            ("offered", Some(until), Some(offer)) if offer.protocol_hash == *hash => {
                Exchange::Offered(Offered { offer, until })
            }
            ("active", Some(until), None) => Exchange::Active(Active { required: self.required, until }),
            ("declined", None, None) => Exchange::Declined(Declined(())),
            ("aborted", None, None) => Exchange::ABORTED,
            _ => return None,
        };
        (exchange.required() == self.required).then_some(exchange)
    }
}

#[cfg(test)]
mod tests;
