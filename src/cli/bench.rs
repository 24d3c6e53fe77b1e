//! `writgate bench`: what each stage of the grant-access decision costs here, against the floor of its signature checks.

mod durable;

use super::{Exit, Failure, Outcome, output};
use crate::decision;
use crate::engine::{Engine, SystemClock};
use crate::ledger::SqliteLedger;
use crate::refusal::Stage;
use crate::request::{MessageInput, Request};
use crate::worked_example::{Ask, Intent, MandateDraft, World};
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
    /// Rows of the ledgers that durable admissions are timed on, beside an empty one
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000")]
    rows: Vec<u64>,
    /// At most 5 runs of each case, and no ledger: for CI
    #[arg(long)]
    short: bool,
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

    /// p50 and p99, in time and as multiples of the floor.
    fn line(&mut self, name: &str, floor: Duration) -> String {
        let (p50, p99) = (self.percentile(50).as_secs_f64(), self.percentile(99).as_secs_f64());
        let floor = floor.as_secs_f64().max(f64::MIN_POSITIVE);
        format!(
            "{name:<40} {:>8.1} us {:>8.1} us {:>7.2} F {:>7.2} F",
            p50 * 1e6,
            p99 * 1e6,
            p50 / floor,
            p99 / floor
        )
    }
}

/// Runs of each case in the short form: enough to see that it runs, and that nothing is off by a factor.
const SHORT_RUNS: usize = 5;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let bench = Bench::open(arguments)?;
    output::say(format_args!(
        "F: the signature checks that a case needs, one for the presentation and one for each hop; one check takes \
         {:.1} us\n",
        bench.check.as_secs_f64() * 1e6
    ));
    output::say(format_args!("{:<40} {:>11} {:>11} {:>9} {:>9}", "case", "p50", "p99", "p50", "p99"));
    bench.one_hop()?;
    bench.of_hops()?;
    bench.refused_early()?;
    if !arguments.short {
        durable::run(&bench.world, arguments)?;
    }
    Ok(Exit::Success)
}

/// What all cases share.
struct Bench {
    world: World,
    engine: Engine,
    now: crate::request::Instant,
    runs: usize,
    /// One strict Ed25519 check.
    check: Duration,
}

/// Whether the credentials were seen before. The presentation counts as new either way: nothing of it is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Papers {
    Seen,
    New,
}

impl Bench {
    fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let world = World::open(&arguments.dir)?;
        let now = chrono::Utc::now();
        let config = world.config(now)?;
        let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew())?;
        let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
        let runs = if arguments.short { SHORT_RUNS.min(arguments.runs.get()) } else { arguments.runs.get() };
        let check = one_check(&world, arguments.runs.get());
        Ok(Self { world, engine, now, runs, check })
    }

    /// The usual message: its stages, its credential new and seen, and the same as a JWS.
    fn one_hop(&self) -> Result<(), Failure> {
        let ask = self.ask()?;
        let (whole, stages) = self.time(&ask, Papers::New)?;
        self.say("one hop, cold", whole, 1);
        self.say_stages(stages, 1);
        let (whole, stages) = self.time(&ask, Papers::Seen)?;
        self.say("one hop, warm", whole, 1);
        self.say_stages(stages, 1);
        let mut jws = ask;
        jws.credentials = vec![self.world.mandate_draft()?.issue_jose()?];
        for (name, papers) in
            [("one hop, vc+jwt, cold", Papers::New), ("one hop, vc+jwt, warm", Papers::Seen)]
        {
            self.say(name, self.time(&jws, papers)?.0, 1);
        }
        Ok(())
    }

    /// What each hop costs, and what composition does.
    fn of_hops(&self) -> Result<(), Failure> {
        let mut ask = self.ask()?;
        for hops in 1..=8 {
            let chain = self.world.chain(hops)?;
            ask.credentials = chain.iter().map(MandateDraft::issue).collect::<Result<_, _>>()?;
            self.say(&format!("{hops} hops, cold"), self.time(&ask, Papers::New)?.0, hops.into());
            let (whole, mut stages) = self.time(&ask, Papers::Seen)?;
            self.say(&format!("{hops} hops, warm"), whole, hops.into());
            if let Some(policy) = stages.remove(&Stage::Policy).filter(|_| hops == 2) {
                self.say("  policy evaluation alone", policy, 2);
            }
        }
        let chain = self.world.composed_chain()?;
        ask.credentials = chain.iter().map(MandateDraft::issue).collect::<Result<_, _>>()?;
        self.say("2 hops and an actor chain, cold", self.time(&ask, Papers::New)?.0, 3);
        self.say("2 hops and an actor chain, warm", self.time(&ask, Papers::Seen)?.0, 3);
        Ok(())
    }

    /// Messages that are refused before any signature is checked.
    fn refused_early(&self) -> Result<(), Failure> {
        let ask = self.ask()?;
        let whole = serde_json::to_vec(&ask.message()?)?;
        let half = whole.get(..whole.len() / 2).unwrap_or_default().to_vec();
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
            let request = self.request(message)?;
            self.say(name, time(&self.engine, &request, self.runs, false, Papers::Seen)?.0, 1);
        }
        Ok(())
    }

    fn ask(&self) -> Result<Ask, Failure> {
        Ok(self.world.ask(Intent::grant_bob(), self.now)?)
    }

    fn request(&self, message: Vec<u8>) -> Result<Request, Failure> {
        let facts = self.world.facts();
        let snapshot = self.engine.snapshot(&facts, self.now)?;
        Ok(Request { message: MessageInput::Bytes(message), facts, snapshot })
    }

    fn time(&self, ask: &Ask, papers: Papers) -> Result<(Times, BTreeMap<Stage, Times>), Failure> {
        let request = self.request(serde_json::to_vec(&ask.message()?)?)?;
        time(&self.engine, &request, self.runs, true, papers)
    }

    fn say(&self, name: &str, mut times: Times, hops: u32) {
        output::say(format_args!("{}", times.line(name, self.check * (1 + hops))));
    }

    fn say_stages(&self, stages: BTreeMap<Stage, Times>, hops: u32) {
        for (stage, times) in stages {
            self.say(&format!("  {}", stage.as_str()), times, hops);
        }
    }
}

/// One strict Ed25519 verification of 64 octets, the size of a Data Integrity proof's signed octets.
fn one_check(world: &World, runs: usize) -> Duration {
    let signed = [7u8; 64];
    let signature = world.agent.sign(&signed);
    let key = world.agent.public_key();
    let mut times = Times::default();
    for _ in 0..runs {
        let start = Instant::now();
        black_box(key.verifies(black_box(&signed), black_box(&signature)));
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
    papers: Papers,
) -> Result<(Times, BTreeMap<Stage, Times>), Failure> {
    let mut whole = Times::default();
    let mut stages: BTreeMap<Stage, Times> = BTreeMap::new();
    for _ in 0..runs {
        if papers == Papers::New {
            engine.forget_papers();
        }
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
