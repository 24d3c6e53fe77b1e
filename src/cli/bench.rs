//! `writgate bench`: what each stage of the grant-access decision costs here, against the floor of its signature checks.

use super::{Exit, Failure, Outcome, output};
use crate::decision;
use crate::engine::{Engine, SystemClock};
use crate::ledger::SqliteLedger;
use crate::refusal::Stage;
use crate::request::{CallerFacts, MessageInput, Request};
use crate::worked_example::{Intent, World};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Writgate's own folder, with `credentials/`, `policies/` and `vectors/`
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// How many times each case runs
    #[arg(long, default_value = "1000")]
    runs: std::num::NonZeroUsize,
}

/// The times of one case or stage.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn percentile(&mut self, percent: usize) -> Duration {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1);
        self.0.get(last * percent / 100).copied().unwrap_or_default()
    }

    /// p50, p99, and p50 as a multiple of the floor.
    fn line(&mut self, name: &str, floor: Duration) -> String {
        let (p50, p99) = (self.percentile(50), self.percentile(99));
        let times_floor = p50.as_secs_f64() / floor.as_secs_f64().max(f64::MIN_POSITIVE);
        format!(
            "{name:<34} {:>9.1} us {:>9.1} us {times_floor:>7.2} F",
            p50.as_secs_f64() * 1e6,
            p99.as_secs_f64() * 1e6
        )
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let world = World::open(&arguments.dir)?;
    let now = chrono::Utc::now();
    let ask = world.ask(Intent::grant_bob(), now)?;
    let message = serde_json::to_vec(&ask.message()?)?;
    let config = world.config(now)?;
    let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew())?;
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
    let runs = arguments.runs.get();
    let floor = floor(&world, runs);
    output::say(format_args!(
        "floor F: the two Ed25519 checks of a one-hop message, {:.1} us\n",
        floor.as_secs_f64() * 1e6
    ));
    output::say(format_args!("{:<34} {:>12} {:>12} {:>9}", "case", "p50", "p99", "p50"));

    let request = |message: Vec<u8>, facts: CallerFacts| -> Result<Request, Failure> {
        Ok(Request { message: MessageInput::Bytes(message), facts, snapshot: engine.snapshot(now)? })
    };
    let granted = request(message.clone(), world.facts())?;
    let (mut whole, stages) = time(&engine, &granted, runs, true)?;
    output::say(format_args!("{}", whole.line("evaluate, one hop, no cache", floor)));
    for (stage, mut times) in stages {
        output::say(format_args!("{}", times.line(&format!("  {}", stage.as_str()), floor)));
    }
    let half = message.get(..message.len() / 2).unwrap_or_default().to_vec();
    let mut unpinned = ask.clone();
    unpinned.protocol_hash = format!("sha256:{}", "0".repeat(64));
    let mut modeless = ask.clone();
    modeless.intent.0 = modeless.intent.0.replace("a2a:mode acl:Read", "schema:description \"none\"");
    let refused = [
        ("refused: half a message", half),
        ("refused: unknown protocol", serde_json::to_vec(&unpinned.message()?)?),
        ("refused: shape violation", serde_json::to_vec(&modeless.message()?)?),
    ];
    for (name, message) in refused {
        let (mut times, _) = time(&engine, &request(message, world.facts())?, runs, false)?;
        output::say(format_args!("{}", times.line(name, floor)));
    }
    output::say(format_args!(
        "{}",
        durable(&world, runs.min(500))?.line("decide, durable, one at a time", floor)
    ));
    Ok(Exit::Success)
}

/// Two strict Ed25519 verifications of 64 octets, the size of a Data Integrity proof's signed octets.
fn floor(world: &World, runs: usize) -> Duration {
    let signed = [7u8; 64];
    let signature = world.agent.sign(&signed);
    let key = world.agent.public_key();
    let mut times = Times::default();
    for _ in 0..runs {
        let start = Instant::now();
        for _ in 0..2 {
            black_box(key.verifies(black_box(&signed), black_box(&signature)));
        }
        times.0.push(start.elapsed());
    }
    times.percentile(50)
}

/// Evaluates again and again; the answer must be the expected one each time.
fn time(
    engine: &Engine,
    request: &Request,
    runs: usize,
    grants: bool,
) -> Result<(Times, BTreeMap<Stage, Times>), Failure> {
    let mut whole = Times::default();
    let mut stages: BTreeMap<Stage, Times> = BTreeMap::new();
    for _ in 0..runs {
        let mut marks = Vec::with_capacity(Stage::PIPELINE.len());
        let start = Instant::now();
        let evaluation =
            engine.evaluate_watched(black_box(request), &mut |stage| marks.push((stage, Instant::now())));
        let end = Instant::now();
        if matches!(evaluation.outcome, decision::Outcome::Granted(_)) != grants {
            return Err(Failure::new("the benchmark's own message got another answer than it should"));
        }
        whole.0.push(end - start);
        let ends = marks.iter().skip(1).map(|(_, instant)| *instant).chain([end]);
        for ((stage, began), ended) in marks.iter().zip(ends) {
            stages.entry(*stage).or_default().0.push(ended - *began);
        }
    }
    Ok((whole, stages))
}

/// Whole decisions, each with a message of its own, into a ledger file.
fn durable(world: &World, runs: usize) -> Result<Times, Failure> {
    let now = chrono::Utc::now();
    let path = std::env::temp_dir().join(format!("writgate-bench-{}.db", uuid::Uuid::new_v4()));
    let config = world.config(now)?;
    let ledger = SqliteLedger::create(
        &path,
        config.default_domain(),
        true,
        now - chrono::TimeDelta::minutes(1),
        config.skew(),
    )?;
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
    let mut times = Times::default();
    for number in 0..runs {
        let mut ask = world.ask(Intent::grant_bob(), chrono::Utc::now())?;
        ask.id = format!("msg-{number}");
        ask.nonce = format!("bench-challenge-{number:08}");
        let mut facts = world.facts();
        facts.challenge = Some(ask.nonce.clone());
        let message = MessageInput::Bytes(serde_json::to_vec(&ask.message()?)?);
        let start = Instant::now();
        let decided = engine.decide(message, facts);
        times.0.push(start.elapsed());
        if !matches!(decided.decision, decision::Decision::Allow(_)) {
            return Err(Failure::new(format!(
                "the benchmark's own message was not allowed: {:?}",
                decided.decision
            )));
        }
    }
    drop(engine);
    for ending in ["", "-wal", "-shm"] {
        // A file that is left behind harms nothing.
        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
    }
    Ok(times)
}
