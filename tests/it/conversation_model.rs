//! Random conversations with crashes in between, against a reference model of a few lines.
//!
//! The promise is also checked by itself, without the model: once required, never prose.

use crate::conversations::{
    ELSEWHERE, HOME, Side, answer_to, facts, grant_access, key, loose, offer_of, prose, unknown,
};
use chrono::TimeDelta;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, LazyLock};
use writgate::audit::{Blob, DecisionReportV1};
use writgate::ledger::{
    Admission, Candidate, Entry, Ledger, LedgerError, LedgerSnapshot, ListKey, Negotiated, Revoked,
    SqliteLedger, Step,
};
use writgate::message::compose::HandshakeForm;
use writgate::protocol::ProtocolHash;
use writgate::protocol::conversation::{ConversationKey, Exchange, Role};
use writgate::protocol::handshake::Handshake;
use writgate::worked_example::DOMAIN;
use writgate::{CallerFacts, Config, Decision, Instant, Peer, Received};

/// Seconds that an offer waits and an agreement stands.
const OFFER_SECONDS: i64 = 60;
const AGREEMENT_SECONDS: i64 = 86_400;

static CONFIG: LazyLock<Config> =
    LazyLock::new(|| crate::conversations::config("offer_life_minutes = 1\nagreement_life_days = 1"));
static HASHES: LazyLock<[ProtocolHash; 3]> = LazyLock::new(|| [loose(), grant_access(), unknown()]);

thread_local! {
    /// The conversation that this thread is at, whose contexts are its own.
    static RUN: Cell<u64> = const { Cell::new(0) };
    /// The ledger of this thread. Opening one for each conversation would be most of the work.
    static LEDGER: RefCell<Option<Arc<Dying>>> = const { RefCell::new(None) };
}

// --- What may happen ----------------------------------------------------------------------------------------------------

#[derive(Debug, Clone)]
enum Event {
    /// We make an offer.
    Offer { at: Place, hash: usize, required: bool },
    /// An offer comes in.
    OfferIn { at: Place, hash: usize, required: bool, form: usize },
    /// An answer comes in.
    AnswerIn { at: Place, hash: usize, accept: bool, form: usize },
    /// Something unreadable comes in where an answer was due.
    Garbage { at: Place },
    /// Prose comes in.
    Prose { at: Place },
    /// The peer echoes no activation, or we wait no longer.
    GiveUp { at: Place },
    /// Time passes.
    Wait { seconds: i64 },
    /// The process dies: at the next step of the ledger before it is written, or after; or between two events.
    Crash(Crash),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crash {
    BeforeWrite,
    AfterWrite,
    Now,
}

/// Few peers and contexts, so that they meet. Peer 2 is nobody.
#[derive(Debug, Clone, Copy)]
struct Place {
    agent: bool,
    peer: usize,
    elsewhere: bool,
}

impl Place {
    fn key(self) -> ConversationKey {
        let role = if self.agent { Role::Agent } else { Role::Client };
        let context = if self.elsewhere { ELSEWHERE } else { HOME };
        key(role, ["p", "q", ""][self.peer], &format!("{context} {}", RUN.get()))
    }
}

/// The same peer and context with the roles exchanged.
fn turned(key: &ConversationKey) -> ConversationKey {
    let role = if key.role == Role::Agent { Role::Client } else { Role::Agent };
    ConversationKey { role, ..key.clone() }
}

fn place() -> impl Strategy<Value = Place> {
    let peer = prop_oneof![6 => Just(0_usize), 2 => Just(1), 1 => Just(2)];
    (any::<bool>(), peer, prop::bool::weighted(0.2)).prop_map(|(agent, peer, elsewhere)| Place {
        agent,
        peer,
        elsewhere,
    })
}

fn event() -> impl Strategy<Value = Event> {
    let hash = || prop_oneof![4 => Just(0_usize), 2 => Just(1), 1 => Just(2)];
    let flag = || prop::bool::weighted(0.3);
    prop_oneof![
        5 => (place(), hash(), flag()).prop_map(|(at, hash, required)| Event::Offer { at, hash, required }),
        4 => (place(), hash(), flag(), 0..3_usize)
            .prop_map(|(at, hash, required, form)| Event::OfferIn { at, hash, required, form }),
        6 => (place(), hash(), any::<bool>(), 0..3_usize)
            .prop_map(|(at, hash, accept, form)| Event::AnswerIn { at, hash, accept, form }),
        1 => place().prop_map(|at| Event::Garbage { at }),
        2 => place().prop_map(|at| Event::Prose { at }),
        1 => place().prop_map(|at| Event::GiveUp { at }),
        1 => prop_oneof![Just(7), Just(OFFER_SECONDS), Just(AGREEMENT_SECONDS)]
            .prop_map(|seconds| Event::Wait { seconds }),
        2 => prop_oneof![Just(Crash::BeforeWrite), Just(Crash::AfterWrite), Just(Crash::Now)]
            .prop_map(Event::Crash),
    ]
}

// --- The reference model ------------------------------------------------------------------------------------------------

/// An exchange: how it stands, whether it was ever required, and when it runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    Agreed,
    Declined,
    Over,
}

type Modelled = (Standing, bool, i64);

#[derive(Debug, Default, Clone)]
struct Model {
    now: i64,
    exchanges: BTreeMap<(ConversationKey, usize), Modelled>,
}

impl Model {
    /// The exchange as it stands now.
    fn at(&self, key: &ConversationKey, hash: usize) -> Option<Modelled> {
        let (standing, required, until) = *self.exchanges.get(&(key.clone(), hash))?;
        let over = matches!(standing, Standing::Open | Standing::Agreed) && self.now >= until;
        Some(if over { (Standing::Over, true, 0) } else { (standing, required, until) })
    }

    /// Whether the context is somebody else's.
    fn taken(&self, key: &ConversationKey) -> bool {
        self.exchanges.keys().any(|(other, _)| {
            other.role == key.role
                && other.context == key.context
                && other.peer != key.peer
                && other.peer.is_authenticated()
        })
    }

    /// Whether the document was required with the roles exchanged.
    fn required_otherwise(&self, key: &ConversationKey, hash: usize) -> bool {
        self.at(&turned(key), hash).is_some_and(|(_, required, _)| required)
    }

    fn set(&mut self, key: &ConversationKey, hash: usize, standing: Standing, required: bool, life: i64) {
        let required = required || standing == Standing::Over;
        self.exchanges.insert((key.clone(), hash), (standing, required, self.now + life));
    }

    /// Our offer: refused (`false`) for nobody, for what we do not speak, and in another's context.
    fn offer(&mut self, key: &ConversationKey, hash: usize, required: bool) -> bool {
        if !key.peer.is_authenticated() || hash == 2 || self.taken(key) {
            return false;
        }
        let before = self.at(key, hash);
        let required = required
            || hash == 1
            || before.is_some_and(|(_, required, _)| required)
            || self.required_otherwise(key, hash);
        match before {
            Some((standing @ (Standing::Open | Standing::Agreed), _, until)) => {
                self.set(key, hash, standing, required, until - self.now);
            }
            _ => self.set(key, hash, Standing::Open, required, OFFER_SECONDS),
        }
        true
    }

    fn offer_in(&mut self, key: &ConversationKey, hash: usize, required: bool) -> bool {
        if self.taken(key) {
            return false;
        }
        let accept = hash != 2 && key.peer.is_authenticated();
        let mut required = required || hash == 1 || self.required_otherwise(key, hash);
        if let Some((standing, before, _)) = self.at(key, hash) {
            required |= before || standing == Standing::Open || (standing == Standing::Agreed && !accept);
        }
        let standing = match (accept, required) {
            (true, _) => Standing::Agreed,
            (false, true) => Standing::Over,
            (false, false) => Standing::Declined,
        };
        self.set(key, hash, standing, required, AGREEMENT_SECONDS);
        true
    }

    fn answer_in(&mut self, key: &ConversationKey, hash: usize, accept: bool) -> bool {
        if !key.peer.is_authenticated() || self.taken(key) {
            return false;
        }
        let Some((standing, required, until)) = self.at(key, hash) else { return false };
        let (next, life) = match (standing, accept) {
            (Standing::Open, true) => (Standing::Agreed, AGREEMENT_SECONDS),
            (Standing::Open, false) if !required => (Standing::Declined, 0),
            (Standing::Agreed, true) => (Standing::Agreed, until - self.now),
            (Standing::Declined, false) => (Standing::Declined, 0),
            _ => (Standing::Over, 0),
        };
        self.set(key, hash, next, required, life);
        true
    }

    fn give_up(&mut self, key: &ConversationKey) {
        for hash in 0..3 {
            if matches!(self.at(key, hash), Some((Standing::Open, ..))) {
                self.set(key, hash, Standing::Over, true, 0);
            }
        }
    }

    fn prose_in(&self, key: &ConversationKey) -> bool {
        let optional = |(_, required, _): Modelled| !required;
        let either = [key.clone(), turned(key)];
        !self.taken(key)
            && either.iter().all(|key| (0..3).all(|hash| self.at(key, hash).is_none_or(optional)))
    }

    fn prose_out(&self, key: &ConversationKey) -> bool {
        let declined = |modelled: Modelled| modelled.0 == Standing::Declined;
        let either = [key.clone(), turned(key)];
        !self.taken(key)
            && either.iter().all(|key| (0..3).all(|hash| self.at(key, hash).is_none_or(declined)))
    }
}

// --- A ledger that dies -------------------------------------------------------------------------------------------------

/// Fails the next step before it is written, or after.
#[derive(Debug)]
struct Dying {
    ledger: SqliteLedger,
    next: AtomicU8,
}

impl Ledger for Dying {
    fn domain(&self) -> &str {
        self.ledger.domain()
    }

    fn snapshot(&self, of: &ConversationKey, now: Instant) -> Result<LedgerSnapshot, LedgerError> {
        self.ledger.snapshot(of, now)
    }

    fn counts(&self, of: Option<&BTreeSet<String>>) -> Result<BTreeMap<String, u64>, LedgerError> {
        self.ledger.counts(of)
    }

    fn admit(&self, candidate: Candidate) -> Result<Admission, LedgerError> {
        self.ledger.admit(candidate)
    }

    fn record(&self, entry: Entry) -> Result<Option<DecisionReportV1>, LedgerError> {
        self.ledger.record(entry)
    }

    fn negotiate(
        &self,
        of: &ConversationKey,
        hash: &ProtocolHash,
        now: Instant,
        step: Step<'_>,
    ) -> Result<Negotiated, LedgerError> {
        let dies = || Err(LedgerError::Store("the process died".into()));
        match self.next.swap(0, Ordering::SeqCst) {
            1 => dies(),
            2 => self.ledger.negotiate(of, hash, now, step).and_then(|_| dies()),
            _ => self.ledger.negotiate(of, hash, now, step),
        }
    }

    fn exchanges(
        &self,
        of: &ConversationKey,
        now: Instant,
    ) -> Result<Vec<(ProtocolHash, Exchange)>, LedgerError> {
        self.ledger.exchanges(of, now)
    }

    fn keep(&self, evidence: &[Blob]) -> Result<(), LedgerError> {
        self.ledger.keep(evidence)
    }

    fn mark_revoked(&self, revoked: &Revoked, now: Instant) -> Result<(), LedgerError> {
        self.ledger.mark_revoked(revoked, now)
    }

    fn wanted_lists(&self) -> Result<Vec<ListKey>, LedgerError> {
        self.ledger.wanted_lists()
    }
}

/// Where the ledger of a run is: in memory, where a process that dies leaves it whole, or in a file, of which a copy is
/// opened as a killed process left it.
enum Store {
    Memory(Arc<Dying>),
    File { folder: PathBuf, generation: usize, ledger: Arc<Dying> },
}

impl Store {
    fn memory() -> Self {
        RUN.set(RUN.get() + 1);
        LEDGER.with_borrow_mut(|held| {
            if RUN.get() % 50 == 1 || held.is_none() {
                let ledger = SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap();
                *held = Some(Arc::new(Dying { ledger, next: AtomicU8::new(0) }));
            }
            let ledger = held.clone().unwrap();
            ledger.next.store(0, Ordering::SeqCst);
            Self::Memory(ledger)
        })
    }

    fn file() -> Self {
        let folder = std::env::temp_dir().join(format!("writgate-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let now = crate::support::noon();
        let ledger =
            SqliteLedger::create(&folder.join("0.db"), DOMAIN, true, now, TimeDelta::seconds(60)).unwrap();
        Self::File { folder, generation: 0, ledger: Arc::new(Dying { ledger, next: AtomicU8::new(0) }) }
    }

    fn ledger(&self) -> Arc<Dying> {
        match self {
            Self::Memory(ledger) | Self::File { ledger, .. } => Arc::clone(ledger),
        }
    }

    fn killed(&mut self) {
        let Self::File { folder, generation, ledger } = self else { return };
        let file = |generation: usize, ending: &str| folder.join(format!("{generation}.db{ending}"));
        // While the old process still holds its file: what it wrote is in the log, and nothing was tidied up.
        for ending in ["", "-wal"] {
            let from = file(*generation, ending);
            if from.exists() {
                std::fs::copy(from, file(*generation + 1, ending)).unwrap();
            }
        }
        *generation += 1;
        let reopened = SqliteLedger::open(&file(*generation, ""), DOMAIN, TimeDelta::seconds(60)).unwrap();
        *ledger = Arc::new(Dying { ledger: reopened, next: AtomicU8::new(0) });
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Self::File { folder, .. } = self {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

// --- One run ------------------------------------------------------------------------------------------------------------

struct Run {
    store: Store,
    side: Side,
    model: Model,
    /// Where anything was ever required: a peer and a context, whatever we were to it.
    required: BTreeSet<(Peer, Option<String>)>,
}

impl Run {
    fn new(store: Store) -> Self {
        let side = side(&store);
        let mut run = Self { store, side, model: Model::default(), required: BTreeSet::new() };
        // After whatever the ledger has seen: its clock does not run backwards.
        run.wait(i64::try_from((RUN.get() + 49) % 50).unwrap() * 40 * AGREEMENT_SECONDS);
        run
    }

    fn restart(&mut self) {
        self.store.killed();
        self.side = side(&self.store);
        self.wait(0);
    }

    fn wait(&mut self, seconds: i64) {
        self.model.now += seconds;
        self.side.clock.set(crate::support::noon() + TimeDelta::seconds(self.model.now));
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Offer { at, hash, required } => {
                let key = at.key();
                let made = self.side.engine.offer(&key, offer_of(&HASHES[*hash], *required)).map(|_| ());
                self.follow(made.map_err(|refusal| refusal.reason()), |model| {
                    model.offer(&key, *hash, *required)
                });
            }
            Event::OfferIn { at, hash, required, form } => {
                let key = at.key();
                let offer = Handshake::Offer(offer_of(&HASHES[*hash], *required));
                let taken = self.side.receive_as(&key, offer, form_of(*form)).map(|_| ());
                self.follow(taken.map_err(|refusal| refusal.reason()), |model| {
                    model.offer_in(&key, *hash, *required)
                });
            }
            Event::AnswerIn { at, hash, accept, form } => {
                let key = at.key();
                let answer = Handshake::Response(answer_to(&HASHES[*hash], *accept));
                let taken = self.side.receive_as(&key, answer, form_of(*form)).map(|_| ());
                self.follow(taken.map_err(|refusal| refusal.reason()), |model| {
                    model.answer_in(&key, *hash, *accept)
                });
            }
            Event::Garbage { at } => {
                let key = at.key();
                let sender = if key.role == Role::Agent { "ROLE_USER" } else { "ROLE_AGENT" };
                let message = serde_json::json!({
                    "messageId": "g", "contextId": key.context, "role": sender,
                    "extensions": [writgate::vocab::EXTENSION],
                    "parts": [{ "data": { "kind": "upgrade-response", "accept": "false" }, "metadata":
                        { "https://w3id.org/jeswr/a2a-rdf/v1/kind": "upgrade-response" } }],
                });
                let taken = self.side.engine.receive(key.role, crate::support::octets(&message), facts(&key));
                assert_eq!(taken.unwrap_err().reason(), writgate::Reason::HandshakeMalformed);
            }
            Event::Prose { at } => self.prose(&at.key()),
            Event::GiveUp { at } => {
                let key = at.key();
                let given_up = self.side.engine.give_up(&key).map_err(|refusal| refusal.reason());
                self.follow(given_up, |model| {
                    model.give_up(&key);
                    true
                });
            }
            Event::Wait { seconds } => self.wait(*seconds),
            Event::Crash(Crash::Now) => self.restart(),
            Event::Crash(crash) => {
                let next = if *crash == Crash::BeforeWrite { 1 } else { 2 };
                self.store.ledger().next.store(next, Ordering::SeqCst);
            }
        }
    }

    /// Takes the same step in the model. Where the process died, it is told whether the step was written.
    fn follow(&mut self, taken: Result<(), writgate::Reason>, step: impl FnOnce(&mut Model) -> bool) {
        let mut after = self.model.clone();
        let may = step(&mut after);
        match taken {
            Ok(()) => {
                assert!(may, "the model refuses this");
                self.model = after;
            }
            Err(writgate::Reason::LedgerUnavailable) => {
                self.restart();
                // Each exchange is as it was before or as it would be after, and nothing else.
                for (place, modelled) in &after.exchanges {
                    if self.found(&place.0, place.1) == self.of_model(&after, &place.0, place.1) {
                        self.model.exchanges.insert(place.clone(), *modelled);
                    }
                }
            }
            Err(_) => assert!(!may, "the model takes this step: {taken:?}"),
        }
    }

    fn found(&self, key: &ConversationKey, hash: usize) -> Option<(Standing, bool)> {
        let exchanges = self.side.engine.exchanges(key).unwrap();
        let (_, exchange) = exchanges.into_iter().find(|(found, _)| *found == HASHES[hash])?;
        let standing = match &exchange {
            Exchange::Offered(_) => Standing::Open,
            Exchange::Active(_) => Standing::Agreed,
            Exchange::Declined(_) => Standing::Declined,
            Exchange::Aborted(_) => Standing::Over,
        };
        Some((standing, exchange.required()))
    }

    fn of_model(&self, model: &Model, key: &ConversationKey, hash: usize) -> Option<(Standing, bool)> {
        model.at(key, hash).map(|(standing, required, _)| (standing, required))
    }

    /// Prose comes in: through `decide` where we are the agent, and through `receive` where we are the client.
    fn prose(&mut self, key: &ConversationKey) {
        let message = prose(key.context.as_deref(), None);
        let facts: CallerFacts = facts(key);
        let let_in = match key.role {
            Role::Agent => match self.side.engine.decide(message, facts).decision {
                Decision::NotOurs(_) => true,
                Decision::Refuse(refusal) => {
                    assert_eq!(refusal.reason(), writgate::Reason::ProtocolRequired);
                    false
                }
                Decision::Allow(_) => panic!("prose was allowed"),
            },
            Role::Client => match self.side.engine.receive(key.role, message, facts) {
                Ok(Received::Prose(_)) => true,
                Ok(other) => panic!("{other:?}"),
                Err(refusal) => {
                    assert_eq!(refusal.reason(), writgate::Reason::ProtocolRequired);
                    false
                }
            },
        };
        assert_eq!(let_in, self.model.prose_in(key), "prose in {key:?}");
        assert!(!(let_in && self.is_required(key)), "once required, never prose");
    }

    fn is_required(&self, key: &ConversationKey) -> bool {
        self.required.contains(&(key.peer.clone(), key.context.clone()))
    }

    /// What must hold after every event.
    fn check(&mut self) {
        let keys: BTreeSet<_> = self.model.exchanges.keys().map(|(key, _)| key.clone()).collect();
        for key in keys {
            for hash in 0..3 {
                let found = self.found(&key, hash);
                assert_eq!(found, self.of_model(&self.model, &key, hash), "{key:?} {hash}");
                if found.is_some_and(|(_, required)| required) {
                    self.required.insert((key.peer.clone(), key.context.clone()));
                }
            }
            let leave = self.side.engine.natural_language(&key).is_ok();
            assert_eq!(leave, self.model.prose_out(&key), "prose out {key:?}");
            assert!(!(leave && self.is_required(&key)), "once required, never prose");
            let snapshot = self.side.engine.snapshot(&facts(&key), self.side.now()).unwrap();
            if key.role == Role::Agent {
                let conversation = snapshot.conversation;
                assert!(conversation.prose_forbidden || !self.is_required(&key));
                let agreed = (0..3).filter(|hash| {
                    self.model.at(&key, *hash).is_some_and(|(standing, ..)| standing == Standing::Agreed)
                });
                assert_eq!(
                    conversation.agreed,
                    agreed.map(|hash| HASHES[hash].as_str().to_owned()).collect()
                );
            }
        }
    }
}

fn side(store: &Store) -> Side {
    Side::of(CONFIG.clone(), store.ledger())
}

fn form_of(number: usize) -> HandshakeForm {
    [HandshakeForm::Json, HandshakeForm::Turtle, HandshakeForm::JsonLd][number]
}

fn converse(store: Store, events: &[Event]) {
    let mut run = Run::new(store);
    for event in events {
        run.take(event);
        run.check();
    }
}

fn conversations(number: u32) -> ProptestConfig {
    ProptestConfig { cases: number, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(conversations(10_000))]
    #[test]
    fn ten_thousand_conversations_are_as_the_model_says(events in prop::collection::vec(event(), 1..16)) {
        converse(Store::memory(), &events);
    }
}

proptest! {
    #![proptest_config(conversations(100))]
    #[test]
    fn a_killed_process_finds_its_conversations_as_it_left_them(events in prop::collection::vec(event(), 1..16)) {
        converse(Store::file(), &events);
    }
}
