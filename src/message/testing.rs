//! What the unit tests of this folder share.

use crate::config::{Config, PolicyStore, RootPrincipals};
use crate::limits::Limits;
use crate::message::Digest;
use crate::protocol::ProtocolRegistry;
use crate::request::{Actor, CallerFacts, Conversation, Instant, MessageInput, Request, Snapshot};
use chrono::TimeDelta;
use std::collections::{BTreeMap, BTreeSet};
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
    Config {
        domains: vec!["pdp.example".into()],
        roots,
        protocols: ProtocolRegistry::default(),
        controllers: Arc::default(),
        policies: PolicyStore::default(),
        limits: Limits::default(),
        obligations: BTreeSet::new(),
        require_duties: false,
        max_life_without_status: TimeDelta::days(90),
        max_presentation_age: TimeDelta::minutes(5),
        skew: TimeDelta::seconds(60),
        max_controller_age: TimeDelta::hours(24),
        max_chain_length: 8,
        max_actor_hops: 1,
        closed_intents: true,
        extension_required: false,
        trust_store_by_location: false,
        generation: 1,
        digest: Digest::of(""),
    }
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
            revoked: BTreeSet::new(),
            counts: BTreeMap::new(),
            controllers: Arc::default(),
        },
    }
}
