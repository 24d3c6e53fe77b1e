//! What a durable decision costs: by how many are in flight, and by how much the ledger holds.

use super::{Arguments, Times};
use crate::audit::ReportBody;
use crate::cli::{Failure, output};
use crate::decision::{Decision, Outcome};
use crate::engine::{Engine, SystemClock};
use crate::ledger::{Admission, Candidate, Exercise, Learned, Ledger, RestsOn, Revoked, SqliteLedger};
use crate::protocol::conversation::Role;
use crate::request::{CallerFacts, Conversation, MessageInput, Request};
use crate::worked_example::{Intent, World};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many decisions are in flight at a time.
const IN_FLIGHT: [usize; 3] = [1, 8, 64];

pub(super) fn run(world: &World, arguments: &Arguments) -> Result<(), Failure> {
    let decisions = arguments.runs.get();
    output::say(format_args!("\n{:<44} {:>10} {:>11} {:>11}", "durable", "a second", "p50", "p99"));
    for in_flight in IN_FLIGHT {
        let file = File::new();
        let engine = file.engine(world)?;
        let messages = messages(world, decisions)?;
        let measured =
            measure(in_flight, messages, |(message, facts)| match engine.decide(message, facts).decision {
                Decision::Allow(_) => Ok(()),
                other => Err(Failure::new(format!("the benchmark's own message was not allowed: {other:?}"))),
            })?;
        measured.say(&format!("decide, {in_flight} in flight"));
    }
    let body = granted_body(world)?;
    for rows in std::iter::once(&0).chain(&arguments.rows) {
        let file = File::new();
        let ledger = file.ledger(world)?;
        ledger.fill_for_bench(*rows)?;
        for in_flight in IN_FLIGHT {
            let name = |number| format!("{rows}-{in_flight}-{number}");
            let candidates = (0..decisions).map(|number| candidate(&body, name(number), &ledger)).collect();
            let measured = measure(in_flight, candidates, |candidate| match ledger.admit(candidate)? {
                Admission::Admitted(..) => Ok(()),
                other => Err(Failure::new(format!("the benchmark's candidate was not admitted: {other:?}"))),
            })?;
            measured.say(&format!("admit, {rows} rows before, {in_flight} in flight"));
        }
    }
    Ok(())
}

/// Signed messages, each with an id and a challenge of its own.
fn messages(world: &World, number: usize) -> Result<Vec<(MessageInput, CallerFacts)>, Failure> {
    (0..number)
        .map(|number| {
            let mut ask = world.ask(Intent::grant_bob(), chrono::Utc::now())?;
            ask.id = format!("msg-{number}");
            ask.nonce = format!("bench-challenge-{number:08}");
            let facts = CallerFacts { challenge: Some(ask.nonce.clone()), ..world.facts() };
            Ok((MessageInput::Bytes(serde_json::to_vec(&ask.message()?)?), facts))
        })
        .collect()
}

/// The report body of a granted message.
fn granted_body(world: &World) -> Result<ReportBody, Failure> {
    let now = chrono::Utc::now();
    let config = world.config(now)?;
    let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew())?;
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
    let message = world.ask(Intent::grant_bob(), now)?.message()?;
    let message = MessageInput::Bytes(serde_json::to_vec(&message)?);
    let snapshot = engine.snapshot(&world.facts(), now)?;
    let evaluation = engine.evaluate(&Request { message, facts: world.facts(), snapshot });
    match evaluation.outcome {
        Outcome::Granted(_) => Ok(evaluation.report),
        other => Err(Failure::new(format!("the benchmark's own message was not granted: {other:?}"))),
    }
}

fn candidate(body: &ReportBody, name: String, ledger: &SqliteLedger) -> Candidate {
    let now = chrono::Utc::now();
    let body = ReportBody { message_id: Some(name.clone()), ..body.clone() };
    Candidate {
        masked: None,
        evidence: None,
        decision_id: crate::engine::decision_id(now),
        stage_micros: BTreeMap::new(),
        now,
        not_after: now + chrono::TimeDelta::minutes(5),
        context: body.context.clone(),
        holder: body.holder.clone().unwrap_or_default(),
        message_id: name.clone(),
        message_digest: body.message_digest,
        domain: ledger.domain().to_owned(),
        challenge: format!("challenge of {name}"),
        presentation_created: now,
        exercised: body
            .chain
            .iter()
            .map(|hop| (format!("{} {}", hop.policy, hop.issuer), Exercise { times: 1, rests_on: None }))
            .collect(),
        leans_on: Revoked::default(),
        learned: Learned::default(),
        rests_on: RestsOn {
            of: CallerFacts::new("", crate::request::Actor::Unauthenticated, "").conversation(Role::Agent),
            conversation: Conversation::default(),
        },
        obligations: body.obligations.clone(),
        body,
    }
}

/// What a line of the table says.
struct Measured {
    times: Times,
    number: usize,
    elapsed: Duration,
}

impl Measured {
    fn say(mut self, name: &str) {
        let a_second = self.number as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let (p50, p99) = (micros(self.times.percentile(50)), micros(self.times.percentile(99)));
        output::say(format_args!("{name:<44} {a_second:>10.0} {p50:>8.0} us {p99:>8.0} us"));
    }
}

/// Does every piece of work once, with so many in flight, and times each.
fn measure<W: Send>(
    in_flight: usize,
    work: Vec<W>,
    act: impl Fn(W) -> Result<(), Failure> + Sync,
) -> Result<Measured, Failure> {
    let number = work.len();
    let work: Vec<_> = work.into_iter().map(|work| std::sync::Mutex::new(Some(work))).collect();
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    let run = || -> Result<Vec<Duration>, Failure> {
        let mut times = Vec::new();
        while let Some(place) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let taken = place.lock().map_err(|_| Failure::new("a thread of the benchmark panicked"))?.take();
            if let Some(work) = taken {
                let start = Instant::now();
                act(work)?;
                times.push(start.elapsed());
            }
        }
        Ok(times)
    };
    let times = thread::scope(|scope| {
        let threads: Vec<_> = (0..in_flight).map(|_| scope.spawn(run)).collect();
        let mut all = Vec::with_capacity(number);
        for thread in threads {
            all.extend(thread.join().map_err(|_| Failure::new("a thread of the benchmark panicked"))??);
        }
        Ok::<_, Failure>(all)
    })?;
    Ok(Measured { times: Times(times), number, elapsed: start.elapsed() })
}

/// A ledger file that goes with the benchmark.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("writgate-bench-{}.db", uuid::Uuid::new_v4())))
    }

    fn ledger(&self, world: &World) -> Result<SqliteLedger, Failure> {
        let now = chrono::Utc::now();
        let config = world.config(now)?;
        let made = now - chrono::TimeDelta::minutes(1);
        Ok(SqliteLedger::create(&self.0, config.default_domain(), true, made, config.skew())?)
    }

    fn engine(&self, world: &World) -> Result<Engine, Failure> {
        let config = world.config(chrono::Utc::now())?;
        Ok(Engine::new(config, Arc::new(self.ledger(world)?), Arc::new(SystemClock))?)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm"] {
            // A file that is left behind harms nothing.
            let _ = std::fs::remove_file(format!("{}{ending}", self.0.display()));
        }
    }
}
