//! The worked example, set up for a test.

use chrono::{DateTime, TimeDelta, Utc};
use std::path::Path;
use std::sync::{Arc, Mutex};
use writgate::ledger::{Ledger, SqliteLedger};
use writgate::worked_example::{Ask, Intent, World};
use writgate::{
    CallerFacts, Clock, Config, Decided, Decision, Engine, Evaluation, Instant, MessageInput, Outcome,
    Reason, Refusal, Request,
};

/// The instant at which the tests begin.
pub fn noon() -> Instant {
    "2026-12-01T12:00:00Z".parse::<DateTime<Utc>>().unwrap()
}

/// The repository's example.
pub fn world() -> World {
    World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct TestClock(Mutex<Instant>);

impl TestClock {
    pub fn at(instant: Instant) -> Arc<Self> {
        Arc::new(Self(Mutex::new(instant)))
    }

    pub fn set(&self, instant: Instant) {
        *self.0.lock().unwrap() = instant;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }
}

/// An engine on the example's configuration with a first ledger in memory.
pub fn engine() -> Engine {
    engine_with(world().config(noon()).unwrap())
}

pub fn engine_with(config: Config) -> Engine {
    let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew()).unwrap();
    Engine::new(config, Arc::new(ledger), TestClock::at(noon())).unwrap()
}

pub fn engine_on(ledger: Arc<dyn Ledger>, clock: Arc<TestClock>) -> Engine {
    Engine::new(world().config(noon()).unwrap(), ledger, clock).unwrap()
}

/// The example's allowed grant, made a second before noon.
pub fn grant() -> Ask {
    world().ask(Intent::grant_bob(), noon() - TimeDelta::seconds(1)).unwrap()
}

/// The example's allowed read.
pub fn read() -> Ask {
    world().ask(Intent::read(writgate::worked_example::NOTES), noon() - TimeDelta::seconds(1)).unwrap()
}

pub fn octets(message: &serde_json::Value) -> MessageInput {
    MessageInput::Bytes(serde_json::to_vec(message).unwrap())
}

/// Evaluates octets at noon with the example's facts.
pub fn evaluate(octets: impl Into<Vec<u8>>) -> Evaluation {
    evaluate_with(octets, world().facts())
}

pub fn evaluate_with(octets: impl Into<Vec<u8>>, facts: CallerFacts) -> Evaluation {
    let engine = engine();
    let snapshot = engine.snapshot(&facts, noon()).unwrap();
    engine.evaluate(&Request { message: MessageInput::Bytes(octets.into()), facts, snapshot })
}

/// The refusal of an evaluation; anything else fails the test.
#[track_caller]
pub fn refusal(evaluation: Evaluation) -> Refusal {
    match evaluation.outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[track_caller]
pub fn reason(evaluation: Evaluation) -> Reason {
    refusal(evaluation).reason()
}

#[track_caller]
pub fn assert_granted(evaluation: &Evaluation) {
    assert!(matches!(evaluation.outcome, Outcome::Granted(_)), "{:#?}", evaluation.report);
}

#[track_caller]
pub fn refused(decided: &Decided) -> &Refusal {
    match &decided.decision {
        Decision::Refuse(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[track_caller]
pub fn assert_allowed(decided: &Decided) {
    assert!(matches!(decided.decision, Decision::Allow(_)), "{:#?}", decided.report);
}
