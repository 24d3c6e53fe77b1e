//! Which call a message is for.

use super::admit::{Kind, Sorted, read_form};
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::request::MessageInput;

/// What a message carries of the extension, and so which call judges it. It says nothing else: tagging, activation and
/// everything behind them are judged there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// An intent: [`crate::Engine::decide`].
    Intent,
    /// An offer or an answer: [`crate::Engine::receive`].
    Handshake,
    /// A response to an intent: [`crate::Engine::check_response`].
    Response,
    /// Nothing: [`crate::Engine::decide`] where we are the agent, and [`crate::Engine::receive`] where we are the client.
    Prose,
}

impl MessageKind {
    /// The kind of a message, which is read strictly.
    pub(crate) fn of(message: &MessageInput, limits: &Limits) -> Result<Self, Refusal> {
        let form = read_form(message, limits)?;
        let sorted = Sorted::of(&form, limits)?;
        // No message has parts of two of these.
        Ok(match sorted.others.first() {
            Some((_, Kind::IntentResponse)) => Self::Response,
            Some(_) => Self::Handshake,
            None if sorted.is_empty() => Self::Prose,
            None => Self::Intent,
        })
    }
}
