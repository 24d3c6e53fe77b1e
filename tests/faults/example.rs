//! Messages of the worked example by number, and engines that decide them. Every process makes the same octets for the
//! same number.

use chrono::{DateTime, TimeDelta, Utc};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use writgate::ledger::{Ledger, SqliteLedger};
use writgate::worked_example::{Ask, Intent, World};
use writgate::{CallerFacts, Clock, Config, Decided, Engine, Instant, MessageInput};

/// Every `PAIR`-th message presents the challenge of the one before it: of the two, one can be allowed.
const PAIR: usize = 8;

/// The conversations that messages are spread over.
const CONTEXTS: usize = 4;

pub fn noon() -> Instant {
    "2026-12-01T12:00:00Z".parse::<DateTime<Utc>>().unwrap()
}

/// The tests try what happens to files, not to clocks: it is noon throughout.
#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Instant {
        noon()
    }
}

/// The challenge that a message presents.
pub fn challenge(number: usize) -> String {
    let first = if number % PAIR == PAIR - 1 { number - 1 } else { number };
    format!("fault-challenge-{first:08}")
}

/// The context and id of a message.
pub fn key_of(number: usize) -> (String, String) {
    (format!("ctx-{}", number % CONTEXTS), format!("msg-{number}"))
}

/// The octets of a message, signed.
pub fn octets(number: usize) -> Vec<u8> {
    static ASK: OnceLock<Ask> = OnceLock::new();
    let ask = ASK.get_or_init(|| world().ask(Intent::grant_bob(), noon() - TimeDelta::seconds(1)).unwrap());
    let (context, id) = key_of(number);
    let ask = Ask { id, context: Some(context), nonce: challenge(number), ..ask.clone() };
    serde_json::to_vec(&ask.message().unwrap()).unwrap()
}

fn facts(number: usize) -> CallerFacts {
    static FACTS: OnceLock<CallerFacts> = OnceLock::new();
    let mut facts = FACTS.get_or_init(|| world().facts()).clone();
    facts.context = Some(key_of(number).0);
    facts.challenge = Some(challenge(number));
    facts
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap())
}

fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| world().config(noon()).unwrap())
}

/// Makes a first ledger.
pub fn create(path: &Path) -> Result<SqliteLedger, String> {
    SqliteLedger::create(path, config().default_domain(), true, noon(), config().skew())
        .map_err(|error| error.to_string())
}

/// Opens a ledger.
pub fn open(path: &Path) -> Result<SqliteLedger, String> {
    SqliteLedger::open(path, config().default_domain(), config().skew()).map_err(|error| error.to_string())
}

pub fn engine(ledger: Arc<dyn Ledger>) -> Result<Engine, String> {
    Engine::new(config().clone(), ledger, Arc::new(Noon)).map_err(|error| error.to_string())
}

pub fn decide(engine: &Engine, number: usize) -> Decided {
    decide_octets(engine, number, octets(number))
}

pub fn decide_octets(engine: &Engine, number: usize, octets: Vec<u8>) -> Decided {
    engine.decide(MessageInput::Bytes(octets), facts(number))
}
