//! Writgate: an embedded policy decision point for agent-to-agent messages.
//!
//! [`Engine`] decides, [`ConfigBuilder`] or [`ConfigFile`] says by what, and a [`ledger::Ledger`] remembers. Types of other
//! crates in this interface are those of chrono (`DateTime<Utc>`, `TimeDelta`), `serde_json::Value`, and of `a2a`: `Message`
//! and `Artifact` for a caller that has parsed them, `AgentExtension` for the card, and `Task`, `JsonRpcId`,
//! `JsonRpcResponse` and `A2AError` for what an agent server answers.

#![cfg_attr(
    test,
    allow(clippy::string_slice, clippy::type_complexity, reason = "tests take apart what they wrote")
)]

pub mod audit;
pub mod card;
pub mod cli;
mod config;
pub mod credential;
mod decision;
mod engine;
mod explain;
pub mod ledger;
pub mod limits;
mod mandate;
pub mod message;
pub mod protocol;
mod rdf;
mod refusal;
mod request;
mod shape;
pub mod source;
pub mod vocab;
pub mod worked_example;

pub use config::{
    Config, ConfigBuilder, ConfigError, ConfigFile, PolicyStore, RootPrincipals, StickyRequired,
};
pub use decision::{
    Decided, Decision, Evaluation, Grant, NotOurs, Obligation, Outcome, Permit, PermittedAction,
    SecurityBearingEffects,
};
pub use engine::response::CheckedResponse;
pub use engine::{Clock, Engine, Offer, Received, SystemClock};
pub use explain::{Explanation, Unmet};
pub use refusal::{
    A2aCodes, A2aError, EarlierDecision, Evidence, GrpcError, HttpError, Phase, PublicRefusal, Reason,
    Refusal, Retry, Stage, WireCode,
};
pub use request::{Actor, CallerFacts, Conversation, Instant, MessageInput, Peer, Request, Snapshot};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The example of what an agent server sends compiles.
#[cfg(doctest)]
#[doc = include_str!("../docs/errors.md")]
struct Errors;
