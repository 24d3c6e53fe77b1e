//! Both roles of the upgrade handshake, on the durable state of each conversation.
//!
//! Whatever leaves is recorded before it leaves: a process that dies in between finds, when it comes back, the state that
//! forbids more. None of this judges an intent or grants anything.

use super::Engine;
use crate::decision::NotOurs;
use crate::ledger::{LedgerError, Negotiated};
use crate::message::admit::check_prose;
use crate::message::handshake::{self, HandshakeMessage, Received as Read};
use crate::message::{MessageKind, UnjudgedPart};
use crate::protocol::ProtocolHash;
use crate::protocol::conversation::{ConversationKey, Exchange, NaturalLanguage, Offered, Role};
use crate::protocol::handshake::{Handshake, UpgradeOffer, UpgradeResponse};
use crate::refusal::{Reason, Refusal, Stage};
use crate::request::{CallerFacts, Instant, MessageInput, Peer, Request, Snapshot};
use crate::vocab::EXTENSION;
use chrono::TimeDelta;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What came of an offer that we want to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// It is recorded as open: send it. The offer may be required where the one that was asked for was not.
    Send(Offered),
    /// The protocol is agreed already: send the intent.
    Agreed,
}

/// What a message of a negotiation came to.
#[derive(Debug)]
pub enum Received {
    /// The peer made an offer. The answer is recorded: send it.
    Offer {
        /// The offer, as it was made.
        offer: UpgradeOffer,
        /// Our answer.
        answer: UpgradeResponse,
        /// The state from here on.
        exchange: Exchange,
        /// The parts beside it. Nothing may be done on their word.
        unjudged: Vec<UnjudgedPart>,
    },
    /// The peer answered an offer of ours.
    Answer {
        /// The answer.
        response: UpgradeResponse,
        /// The state from here on. Only [`Engine::natural_language`] gives leave to go on in prose, which looks at every
        /// exchange of the conversation.
        exchange: Exchange,
        /// The parts beside it. Nothing may be done on their word.
        unjudged: Vec<UnjudgedPart>,
    },
    /// The message carries no part of the extension, and nothing in this conversation forbids that.
    Prose(NotOurs),
}

impl Engine {
    /// Which call a message is for: what a server asks first, of every message.
    ///
    /// # Errors
    /// `MESSAGE_TOO_LARGE`, `MESSAGE_MALFORMED`, `LIMIT_EXCEEDED`
    pub fn kind_of(&self, message: &MessageInput) -> Result<MessageKind, Refusal> {
        MessageKind::of(message, &self.config.limits)
    }

    /// Makes an offer of a document that is pinned here, and records it before it is sent. It is required if `offer` says
    /// so, if the document bears on security here, or if it was ever required in this conversation.
    ///
    /// # Errors
    /// `UNKNOWN_PROTOCOL` for a document that is not spoken here, or a context that another peer used first;
    /// `MESSAGE_MALFORMED` without a context or an authenticated peer; `HANDSHAKE_MALFORMED` for a name that no peer would
    /// read; `LIMIT_EXCEEDED`, `LEDGER_UNAVAILABLE`.
    pub fn offer(&self, with: &ConversationKey, offer: UpgradeOffer) -> Result<Offer, Refusal> {
        self.check_key(with)?;
        if !with.peer.is_authenticated() {
            return Err(malformed("an offer is made to a peer that the transport knows"));
        }
        let hash = offer.protocol_hash.clone();
        let document = self.config.protocols.find(&hash).ok_or_else(|| unknown(&hash))?;
        let required = document.settings.security_bearing || self.is_required_otherwise(with, &hash)?;
        let offer = UpgradeOffer { required: offer.required || required, ..offer };
        // One that could not be read back would leave the conversation without a state.
        Handshake::decode_json(&Handshake::Offer(offer.clone()).to_json())
            .map_err(|error| Refusal::new(Stage::Handshake, error.reason()).detail(error.to_string()))?;
        let now = self.clock.now();
        let until = after(now, self.config.offer_life);
        let exchange =
            self.step(with, &hash, now, &mut |before| Some(Exchange::offer(before, offer.clone(), until)))?;
        match exchange {
            Some(Exchange::Offered(offered)) => Ok(Offer::Send(offered)),
            Some(Exchange::Active(_)) => Ok(Offer::Agreed),
            _ => Err(Refusal::internal(Stage::Handshake, "an offer led to another state")),
        }
    }

    /// Takes in a message of a negotiation, where we are `role`: judges an offer and gives the answer to send, or settles
    /// an offer of ours by the peer's answer. For a client, `facts.activated` are the URIs that the peer echoed.
    ///
    /// # Errors
    /// What stage 1 refuses; `WRONG_KIND` for an intent or a response; `HANDSHAKE_MALFORMED`; `PROTOCOL_REQUIRED` for prose
    /// where a protocol is required; `UNKNOWN_PROTOCOL` for an answer to no offer, or in another peer's context;
    /// `EXTENSION_NOT_ACTIVE` without activation; `LIMIT_EXCEEDED`, `LEDGER_UNAVAILABLE`, `INTERNAL`. None of them relaxes
    /// anything: an offer that such a message should have answered stays open until it ends. Where we are the client and
    /// the activation was not echoed, every open offer has ended, whatever the message carries.
    pub fn receive(
        &self,
        role: Role,
        message: MessageInput,
        facts: CallerFacts,
    ) -> Result<Received, Refusal> {
        // A panic can only come from a dependency, or from the caller's queue or ledger. What was written forbids no less.
        catch_unwind(AssertUnwindSafe(|| self.take_in(role, message, facts)))
            .unwrap_or_else(|_| Err(Refusal::internal(Stage::Handshake, "a dependency panicked")))
    }

    fn take_in(&self, role: Role, message: MessageInput, facts: CallerFacts) -> Result<Received, Refusal> {
        let with = facts.conversation(role);
        // A peer that did not echo the activation is one without the extension, whatever it says (ACT-4).
        if role == Role::Client && !facts.activated.contains(EXTENSION) {
            self.give_up(&with)?;
        }
        match handshake::read(&message, &facts, role, &self.config.limits)? {
            Read::Handshake(message) => {
                self.check_key(&with)?;
                let HandshakeMessage { handshake, unjudged } = *message;
                match handshake {
                    Handshake::Offer(offer) => self.answer(&with, offer, unjudged),
                    Handshake::Response(response) => self.settle(&with, response, unjudged),
                }
            }
            Read::Prose(message_facts) => {
                let snapshot = self.snapshot_now(&with)?;
                let request = Request { message, facts, snapshot };
                check_prose(&message_facts, role, &request, &self.config)?;
                Ok(Received::Prose(NotOurs::new()))
            }
        }
    }

    /// Waits for no further answer in a conversation: every open offer ends, and not in prose (DG-1). So it is also where
    /// the peer did not echo the activation, and counts as one without the extension (ACT-4).
    ///
    /// # Errors
    /// `LEDGER_UNAVAILABLE`; `UNKNOWN_PROTOCOL` in another peer's context.
    pub fn give_up(&self, with: &ConversationKey) -> Result<(), Refusal> {
        let now = self.clock.now();
        for (hash, exchange) in self.exchanges(with)? {
            if matches!(exchange, Exchange::Offered(_)) {
                self.step(with, &hash, now, &mut |before| before.map(Exchange::unanswered))?;
            }
        }
        Ok(())
    }

    /// Leave to say something in natural language in this conversation, for [`crate::message::compose::prose`]. There is
    /// none while an offer is open, a protocol is active, or an exchange was aborted, with this peer in this context in
    /// either role; none for a peer of which so much was forgotten that one of these may have been among it; and none for a
    /// peer of which a protocol is required elsewhere, where the configuration says so.
    ///
    /// # Errors
    /// `PROTOCOL_REQUIRED`; `MESSAGE_MALFORMED` for a peer or context of which no exchange could be kept;
    /// `LEDGER_UNAVAILABLE`.
    pub fn natural_language(&self, with: &ConversationKey) -> Result<NaturalLanguage, Refusal> {
        // Where no offer could be recorded, that there is none says nothing.
        if with.context.is_some() {
            self.check_key(with)?;
        }
        // In this order: what forbids prose in the snapshot stays, so that both held when the exchanges were read.
        let mut exchanges = self.exchanges(with)?;
        exchanges.extend(self.exchanges(&with.turned())?);
        let conversation = self.snapshot_now(with)?.conversation;
        let sticky = self.config.sticky_required == crate::config::StickyRequired::Peer;
        let forbidden = conversation.prose_forbidden
            || conversation.of_another_peer
            || (sticky && conversation.prose_forbidden_elsewhere);
        let leave = NaturalLanguage::after(with, exchanges.iter().map(|(_, exchange)| exchange));
        leave.filter(|_| !forbidden).ok_or_else(|| {
            Refusal::new(Stage::Handshake, Reason::ProtocolRequired)
                .detail("an offer is open, a protocol is active, or an exchange was aborted here")
        })
    }

    /// The exchanges of a conversation as they are now, in order of their hashes.
    ///
    /// # Errors
    /// `LEDGER_UNAVAILABLE`
    pub fn exchanges(&self, with: &ConversationKey) -> Result<Vec<(ProtocolHash, Exchange)>, Refusal> {
        held(|| self.ledger.exchanges(with, self.clock.now()))
    }

    fn snapshot_now(&self, of: &ConversationKey) -> Result<Snapshot, Refusal> {
        held(|| self.snapshot_of(of, self.clock.now()))
    }

    /// Whether the document was required of the same peer in the same context, with the roles exchanged.
    fn is_required_otherwise(&self, with: &ConversationKey, hash: &ProtocolHash) -> Result<bool, Refusal> {
        let turned = self.exchanges(&with.turned())?;
        Ok(turned.iter().any(|(found, exchange)| found == hash && exchange.required()))
    }

    /// Answers the peer's offer: yes to what is spoken here, to a peer that the transport knows. An unauthenticated offer is
    /// declined, and may still keep prose out.
    fn answer(
        &self,
        with: &ConversationKey,
        offer: UpgradeOffer,
        unjudged: Vec<UnjudgedPart>,
    ) -> Result<Received, Refusal> {
        let hash = offer.protocol_hash.clone();
        let document = self.config.protocols.find(&hash);
        let accept = document.is_some() && with.peer.is_authenticated();
        let required = offer.required
            || document.is_some_and(|document| document.settings.security_bearing)
            || self.is_required_otherwise(with, &hash)?;
        let now = self.clock.now();
        let until = after(now, self.config.agreement_life);
        let exchange = self.step(with, &hash, now, &mut |before| {
            Some(Exchange::offered_by_peer(before, required, accept, until))
        })?;
        let exchange =
            exchange.ok_or_else(|| Refusal::internal(Stage::Handshake, "an offer led to no state"))?;
        if let (None, Some(queue), true) = (document, &self.offered, with.peer.is_authenticated()) {
            queue.want(&offer.protocol_source, &offer.protocol_hash);
        }
        let answer = UpgradeResponse { protocol_hash: hash, accept: exchange.is_active(), reason: None };
        tracing::info!(peer = with.peer.as_str(), protocol = %answer.protocol_hash, state = exchange.as_str(), "offer");
        Ok(Received::Offer { offer, answer, exchange, unjudged })
    }

    /// Settles an offer of ours. An answer counts from the peer that the offer was made to, and from nobody else.
    fn settle(
        &self,
        with: &ConversationKey,
        response: UpgradeResponse,
        unjudged: Vec<UnjudgedPart>,
    ) -> Result<Received, Refusal> {
        let hash = &response.protocol_hash;
        if !with.peer.is_authenticated() {
            return Err(unknown(hash).detail("an answer counts from a peer that the transport knows"));
        }
        let now = self.clock.now();
        let until = after(now, self.config.agreement_life);
        let step = &mut |before: Option<Exchange>| before.map(|before| before.answered(&response, until));
        let exchange = self.step(with, hash, now, step)?;
        let exchange = exchange.ok_or_else(|| unknown(hash).detail("no offer of it was made here"))?;
        tracing::info!(peer = with.peer.as_str(), protocol = %hash, state = exchange.as_str(), "answer");
        Ok(Received::Answer { response, exchange, unjudged })
    }

    fn step(
        &self,
        with: &ConversationKey,
        hash: &ProtocolHash,
        now: Instant,
        step: &mut dyn FnMut(Option<Exchange>) -> Option<Exchange>,
    ) -> Result<Option<Exchange>, Refusal> {
        match held(|| self.ledger.negotiate(with, hash, now, step))? {
            Negotiated::Settled(exchange) => Ok(Some(exchange)),
            Negotiated::Nothing => Ok(None),
            Negotiated::AnothersContext => Err(unknown(hash).detail("the context is another peer's")),
            Negotiated::Full => Err(Refusal::new(Stage::Handshake, Reason::LimitExceeded)
                .detail("more exchanges of a peer than are kept")),
            Negotiated::TooMany => Err(Refusal::new(Stage::Handshake, Reason::LimitExceeded)
                .detail("more steps of conversations within a minute than are recorded")),
        }
    }

    fn check_key(&self, with: &ConversationKey) -> Result<(), Refusal> {
        match &with.context {
            None => Err(malformed("a negotiation needs a context")),
            Some(context) if context.len() > self.config.limits.id_bytes => {
                Err(malformed("a context is longer than is read"))
            }
            Some(_) if with.peer.as_str().len() > Peer::MAX_BYTES => {
                Err(malformed("a peer's identity is longer than is kept"))
            }
            Some(_) => Ok(()),
        }
    }
}

fn malformed(why: &'static str) -> Refusal {
    Refusal::new(Stage::Handshake, Reason::MessageMalformed).detail(why)
}

fn unknown(hash: &ProtocolHash) -> Refusal {
    Refusal::new(Stage::Handshake, Reason::UnknownProtocol)
        .with(|evidence| evidence.seen = Some(hash.as_str().to_owned()))
}

/// What the ledger says. A panic of it: whether it wrote is not known, and the state that it wrote forbids no less.
fn held<T>(ask: impl FnOnce() -> Result<T, LedgerError>) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(ask))
        .unwrap_or_else(|_| Err(LedgerError::Store("the ledger panicked".into())))
        .map_err(unavailable)
}

fn unavailable(cause: LedgerError) -> Refusal {
    // The cause is for the operator's log; no peer ever sees it.
    tracing::error!(%cause, "the ledger failed");
    Refusal::new(Stage::Handshake, Reason::LedgerUnavailable)
}

fn after(now: Instant, life: TimeDelta) -> Instant {
    now.checked_add_signed(life).unwrap_or(Instant::MAX_UTC)
}
