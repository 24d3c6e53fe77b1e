//! What became of an offer: one exchange for each (peer, effective context, protocol hash, role).
//!
//! The machine is pure: a state and what happened give the next state. The ledger keeps the state and runs the machine
//! within its transaction. States are types, and prose is a value that only the engine gives: a [`NaturalLanguage`] comes
//! from a conversation in which each exchange is [`Declined`], or without any, and from nothing else.
//!
//! INVARIANT: an exchange that was once required stays so. Every way out of the ordinary (expiry, a late, second,
//! contradictory or crossing message, giving up) leads to a state that is required. So once required, never prose.

use super::ProtocolHash;
use super::handshake::{UpgradeOffer, UpgradeResponse, may_downgrade};
use crate::request::{Instant, Peer};

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

/// We offered, and there is no answer yet. No prose follows from it:
///
/// ```compile_fail,E0599
/// fn prose(offered: writgate::protocol::conversation::Offered) {
///     offered.natural_language();
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// As it counts: required also where an earlier offer was, or the document bears on security here.
    offer: UpgradeOffer,
    until: Instant,
}

/// The protocol was agreed. No prose follows from it:
///
/// ```compile_fail,E0599
/// fn prose(active: writgate::protocol::conversation::Active) {
///     active.natural_language();
/// }
/// ```
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
///
/// ```compile_fail,E0599
/// fn prose(aborted: writgate::protocol::conversation::Aborted) {
///     aborted.natural_language();
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted(());

/// Leave to say one thing in natural language, in one conversation. It holds as of the instant at which it was given, so
/// it is asked for when there is something to say, and not kept. Nobody but the engine gives it:
///
/// ```compile_fail,E0451
/// fn leave(with: writgate::protocol::conversation::ConversationKey) {
///     let leave = writgate::protocol::conversation::NaturalLanguage { with };
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct NaturalLanguage {
    with: ConversationKey,
}

impl NaturalLanguage {
    /// Leave for a conversation whose exchanges are these: each of them must have been declined (DG-1). One without any
    /// exchange is what two agents meet in.
    pub(crate) fn after<'a>(
        with: &ConversationKey,
        exchanges: impl IntoIterator<Item = &'a Exchange>,
    ) -> Option<Self> {
        let declined = exchanges.into_iter().all(|exchange| matches!(exchange, Exchange::Declined(_)));
        declined.then(|| Self { with: with.clone() })
    }

    /// The conversation that the leave is for.
    pub fn with(&self) -> &ConversationKey {
        &self.with
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

    /// The state's one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Offered(_) => "offered",
            Self::Active(_) => "active",
            Self::Declined(_) => "declined",
            Self::Aborted(_) => "aborted",
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
