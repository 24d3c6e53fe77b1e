//! What is asked, and what is known at the instant of asking.
//!
//! A [`Request`] is complete: [`crate::Engine::evaluate`] reads nothing else, and equal requests are answered alike, down
//! to the octets of the report body.

use crate::credential::{ControllerDocuments, IssuedChallenges, StatusLists};
use crate::ledger::StatusMemory;
use crate::protocol::conversation::{ConversationKey, Role};
use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An instant of evaluation.
pub type Instant = DateTime<Utc>;

/// A message, the facts that the caller vouches for, and the snapshot at which it is judged.
#[derive(Debug, Clone)]
pub struct Request {
    /// The message.
    pub message: MessageInput,
    /// What the agent server knows about it.
    pub facts: CallerFacts,
    /// What Writgate knows at this instant.
    pub snapshot: Snapshot,
}

/// A message as octets (read strictly) or as typed by the caller.
#[derive(Debug, Clone)]
pub enum MessageInput {
    /// The JSON octets of an A2A v1.0 `Message`.
    Bytes(Vec<u8>),
    /// A message that the caller parsed. The report says `parsed-by-caller`: what its parser let pass is not known here.
    Typed(Box<a2a::Message>),
}

/// Who is acting, as the agent server authenticated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The agent's IRI.
    Authenticated(String),
    /// Nobody authenticated the agent: the presentation's holder is the actor, and the report says so.
    Unauthenticated,
}

/// The other side of a conversation, as the transport authenticated it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// Its transport identity; never empty, and of at most [`Peer::MAX_BYTES`] octets where a conversation is kept.
    Authenticated(String),
    /// Nobody knows who sent the message. What it says may tighten the state of a conversation, never relax it.
    Unauthenticated,
}

impl Peer {
    /// Octets of an identity under which a conversation is kept.
    pub const MAX_BYTES: usize = 1_024;

    /// The identity as reports and the ledger write it: empty where there is none.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Authenticated(identity) => identity,
            Self::Unauthenticated => "",
        }
    }

    /// Whether the transport knows who it is.
    pub fn is_authenticated(&self) -> bool {
        !self.as_str().is_empty()
    }
}

/// An empty identity identifies nobody.
impl From<String> for Peer {
    fn from(identity: String) -> Self {
        if identity.is_empty() { Self::Unauthenticated } else { Self::Authenticated(identity) }
    }
}

impl From<&str> for Peer {
    fn from(identity: &str) -> Self {
        identity.to_owned().into()
    }
}

/// What the agent server knows about a message. Never taken from the message itself.
#[derive(Debug, Clone)]
pub struct CallerFacts {
    /// The transport identity.
    pub peer: Peer,
    /// The effective context; where the message has a `contextId`, it must be that. A server knows the context of each
    /// of its tasks, and says it here for a message that names the task alone. It lets a peer name no context that is not
    /// that peer's, and no task of another context: neither can be seen from here, and an offer in a context in which
    /// nothing was negotiated yet takes it.
    pub context: Option<String>,
    /// Who is acting.
    pub actor: Actor,
    /// Extension URIs that the request activated (ACT-1).
    pub activated: BTreeSet<String>,
    /// The challenge that the presentation must answer, as the server gave it out: a value of its own, or one of
    /// [`crate::Engine::issue_challenge`]. `None`: whichever the engine issued to this caller, if the presentation answers
    /// it plainly.
    pub challenge: Option<String>,
    /// The domain that the presentation must name. `None`: the configuration's first.
    pub domain: Option<String>,
    /// Attributes that the server vouches for, by local name of the left operand (such as `spatial`); RDF terms in
    /// N-Triples syntax. They are *established*: no value of the message can supply or replace them.
    pub vouched: BTreeMap<String, Vec<String>>,
    /// Duties that the caller asserts are done, as (action IRI, target IRI).
    pub discharged: BTreeSet<(String, Option<String>)>,
    /// The caller knows that prose is out of the question here, whatever was negotiated. It can only tighten what the
    /// ledger says of the conversation.
    pub prose_forbidden: bool,
}

impl CallerFacts {
    /// The facts of a request that activated the extension, by a server that gave out `challenge`; everything else unset. A
    /// server sets `activated` to what the request's header says ([`crate::card::activation`]).
    pub fn new(peer: impl Into<Peer>, actor: Actor, challenge: impl Into<String>) -> Self {
        Self {
            peer: peer.into(),
            context: None,
            actor,
            activated: BTreeSet::from([crate::vocab::EXTENSION.to_owned()]),
            challenge: Some(challenge.into()),
            domain: None,
            vouched: BTreeMap::new(),
            discharged: BTreeSet::new(),
            prose_forbidden: false,
        }
    }

    /// The domain that the presentation must name: the caller's, if it is one of these; the first, where the caller says
    /// nothing.
    pub(crate) fn domain_among<'a>(&self, domains: &'a [String]) -> Option<&'a str> {
        let domain = match &self.domain {
            Some(domain) => domains.iter().find(|configured| *configured == domain),
            None => domains.first(),
        };
        domain.map(String::as_str)
    }

    /// The conversation that the message belongs to, where we are `role`.
    pub fn conversation(&self, role: Role) -> ConversationKey {
        ConversationKey { role, peer: self.peer.clone(), context: self.context.clone() }
    }
}

/// What Writgate knew at one instant. [`crate::Engine::snapshot`] takes one; an auditor rebuilds it from evidence.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The evaluation instant.
    pub instant: Instant,
    /// The configuration's generation.
    pub generation: u64,
    /// The state of the conversation that the message belongs to.
    pub conversation: Conversation,
    /// What was once seen revoked, and which status lists were accepted.
    pub memory: Arc<StatusMemory>,
    /// How often each policy's permissions were exercised (`odrl:count`), by the policy's id, a space and its
    /// assigner.
    pub counts: BTreeMap<String, u64>,
    /// Controller documents with the instants at which they were retrieved.
    pub controllers: Arc<ControllerDocuments>,
    /// Status list documents with the instants at which they were retrieved.
    pub status_lists: Arc<StatusLists>,
    /// Who says of a challenge whether it was issued here.
    pub issued: IssuedChallenges,
}

/// A conversation's state at one instant, as far as a decision needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// Hashes agreed in this (peer, context), beside those that our card declares (PP-7).
    pub agreed: BTreeSet<String>,
    /// A required offer is pending, a required protocol is active, or an exchange was aborted (DG-1), in either role, or so
    /// much was forgotten of the peer that one of these may have been among it: prose is refused.
    pub prose_forbidden: bool,
    /// The same holds for this peer in another context.
    pub prose_forbidden_elsewhere: bool,
    /// Another peer used the context first. Nothing is known to this one, and its prose is refused.
    pub of_another_peer: bool,
}
