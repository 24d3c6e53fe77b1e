//! What the unit tests of this folder share.

use crate::config::{Config, ConfigBuilder, RootPrincipals};
use crate::request::{Actor, CallerFacts, Conversation, Instant, MessageInput, Request, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The peer's agent.
pub(super) const AGENT: &str = "https://agent.example/id#me";
/// The owner of `https://alice.pod.example/`.
pub(super) const ALICE: &str = "https://alice.example/card#me";
/// The owner of `https://bob.pod.example/`.
pub(super) const BOB: &str = "https://bob.example/card#me";

pub(super) fn config() -> Config {
    let mut roots = RootPrincipals::default();
    roots.add("https://alice.pod.example/", ALICE).unwrap();
    roots.add("https://bob.pod.example/", BOB).unwrap();
    ConfigBuilder::new("pdp.example", roots).build().unwrap()
}

pub(super) fn facts() -> CallerFacts {
    CallerFacts::new("peer", Actor::Authenticated(AGENT.into()), "a challenge of the server")
}

pub(super) fn request(message: MessageInput) -> Request {
    Request {
        message,
        facts: facts(),
        snapshot: Snapshot {
            instant: Instant::UNIX_EPOCH,
            generation: 1,
            conversation: Conversation::default(),
            memory: Arc::default(),
            counts: BTreeMap::new(),
            controllers: Arc::default(),
            status_lists: Arc::default(),
            issued: crate::credential::IssuedChallenges::NoIssuer,
        },
    }
}
