//! A process that decides, and its reins.

use crate::example;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use writgate::{Decision, Engine};

/// What a worker says of one decision, after it returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Allow { number: usize, decision_id: String, sequence: u64, row_hash: String },
    Refuse { number: usize, reason: String, decision_id: String, sequence: u64 },
}

impl Answer {
    /// Decides message `number`.
    pub fn of(engine: &Engine, number: usize, octets: Vec<u8>) -> Self {
        let decided = example::decide_octets(engine, number, octets);
        let decision_id = decided.report.envelope.decision_id.clone();
        match decided.decision {
            Decision::Allow(permit) => {
                let (sequence, row_hash) = permit.record();
                Self::Allow { number, decision_id, sequence, row_hash }
            }
            Decision::Refuse(refusal) => Self::Refuse {
                number,
                reason: refusal.reason().as_str().to_owned(),
                decision_id,
                sequence: decided.report.envelope.sequence,
            },
            Decision::NotOurs(_) => panic!("message {number} is not ours"),
        }
    }

    pub fn number(&self) -> usize {
        let (Self::Allow { number, .. } | Self::Refuse { number, .. }) = self;
        *number
    }

    pub fn decision_id(&self) -> &str {
        let (Self::Allow { decision_id, .. } | Self::Refuse { decision_id, .. }) = self;
        decision_id
    }

    pub fn is_allow(&self) -> bool {
        matches!(self, Self::Allow { .. })
    }

    /// Why it refuses; `None` for an allow.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Allow { .. } => None,
            Self::Refuse { reason, .. } => Some(reason),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow { number, decision_id, sequence, row_hash } => {
                write!(f, "allow {number} {decision_id} {sequence} {row_hash}")
            }
            Self::Refuse { number, reason, decision_id, sequence } => {
                write!(f, "refuse {number} {decision_id} {sequence} {reason}")
            }
        }
    }
}

impl FromStr for Answer {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split(' ').collect();
        let [verdict, number, decision_id, sequence, last] = words[..] else { return Err(line.to_owned()) };
        let (Ok(number), Ok(sequence)) = (number.parse(), sequence.parse()) else {
            return Err(line.to_owned());
        };
        let (decision_id, last) = (decision_id.to_owned(), last.to_owned());
        match verdict {
            "allow" => Ok(Self::Allow { number, decision_id, sequence, row_hash: last }),
            "refuse" => Ok(Self::Refuse { number, reason: last, decision_id, sequence }),
            _ => Err(line.to_owned()),
        }
    }
}

// --- The worker's side --------------------------------------------------------------------------------------------------

/// The worker, when this executable is run as one.
#[test]
fn a_worker_obeys() {
    if std::env::var_os("WRITGATE_FAULT_WORKER").is_some() {
        obey();
    }
}

/// Reads orders, one a line, and says on its standard output what came of them. Each line it says begins with `@`: what
/// the test harness prints does not.
fn obey() {
    say("");
    let mut engine = None;
    let mut written = Vec::new();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["create" | "open", path] => {
                let path = Path::new(path);
                let ledger = if words[0] == "create" { example::create(path) } else { example::open(path) };
                match ledger.and_then(|ledger| example::engine(Arc::new(ledger))) {
                    Ok(opened) => {
                        engine = Some(opened);
                        say("@opened");
                    }
                    Err(error) => say(&format!("@unopened {error}")),
                }
            }
            ["arm", fault] => assert!(std::fs::File::open(format!("/writgate-faults/{fault}")).is_err()),
            ["cut"] => drop(std::fs::File::open("/writgate-faults/now")),
            ["count"] => {
                say(&format!("@count {}", std::fs::read_to_string("/writgate-faults/count").unwrap()))
            }
            ["sign", from, to] => {
                sign(from.parse().unwrap()..to.parse().unwrap());
                say("@signed");
            }
            ["decide", from, to, times, threads, seed] => {
                if let Some(engine) = &engine {
                    let numbers = from.parse().unwrap()..to.parse().unwrap();
                    let seed = seed.parse().unwrap();
                    decide(engine, numbers, times.parse().unwrap(), threads.parse().unwrap(), seed);
                }
                say("@decided");
            }
            // Not as a ledger does it: to see what a disk keeps of it.
            ["write", path, synchronous] => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.pragma_update(None, "synchronous", synchronous).unwrap();
                connection.execute("INSERT INTO notes VALUES ('kept')", ()).unwrap();
                say("@written");
                written.push(connection);
            }
            ["close"] => {
                engine = None;
                say("@closed");
            }
            _ => panic!("an unknown order: {line}"),
        }
    }
}

/// In one write, so that lines of several threads do not mix, and a kill leaves no half of one.
fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("{line}\n").as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// Messages that were signed before they are decided, so that the decisions race and the signatures do not.
static SIGNED: std::sync::RwLock<(usize, Vec<Vec<u8>>)> = std::sync::RwLock::new((0, Vec::new()));

fn sign(numbers: Range<usize>) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = numbers.len().div_ceil(threads).max(1);
    let signed = std::thread::scope(|scope| {
        let shares: Vec<_> = (numbers.clone().step_by(share))
            .map(|from| {
                let numbers = from..(from + share).min(numbers.end);
                scope.spawn(move || numbers.map(example::octets).collect::<Vec<_>>())
            })
            .collect();
        shares.into_iter().flat_map(|share| share.join().unwrap()).collect()
    });
    *SIGNED.write().unwrap() = (numbers.start, signed);
}

fn octets(number: usize) -> Vec<u8> {
    let signed = SIGNED.read().unwrap();
    let place = number.checked_sub(signed.0);
    place.and_then(|place| signed.1.get(place).cloned()).unwrap_or_else(|| example::octets(number))
}

/// Decides each message several times from several threads, in an order of its own.
fn decide(engine: &Engine, numbers: Range<usize>, times: usize, threads: usize, seed: u64) {
    let mut order: Vec<usize> = numbers.clone().flat_map(|number| vec![number; times]).collect();
    if threads > 1 {
        // Near one another, so that they race: each changes places with one of the next few.
        let (mut chance, near) = (Chance::new(seed), 4 * threads);
        for place in 0..order.len() {
            let other = place + chance.below(near.min(order.len() - place));
            order.swap(place, other);
        }
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(number) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    say(&format!("@{}", Answer::of(engine, *number, octets(*number))));
                }
            });
        }
    });
}

/// Numbers that look random and can be had again (xorshift).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Others in every run, but for those with the same `WRITGATE_SEED`.
    pub fn of_this_run() -> Self {
        let seed = std::env::var("WRITGATE_SEED").ok().map(|seed| seed.parse().expect("a number"));
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
        println!("WRITGATE_SEED={seed} draws the same numbers again");
        Self::new(seed)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % bound.max(1)
    }
}

// --- The test's side ----------------------------------------------------------------------------------------------------

/// A folder of its own for each test, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        Self::below(&std::env::temp_dir(), name)
    }

    /// In memory, where there is such a place: a sync costs nothing there, and what a faulty disk loses is the same.
    pub fn in_memory(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::below(memory, name) } else { Self::new(name) }
    }

    fn below(place: &Path, name: &str) -> Self {
        let path = place.canonicalize().unwrap();
        let path = path.join(format!("writgate-faults-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The compiled `shim.c`. `None`, and a line that says so, where it cannot be had; with `WRITGATE_INTEROP=required` that
/// is a failure.
pub fn shim() -> Option<&'static Path> {
    static SHIM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let shim = SHIM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/shim.c");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = folder.join(format!("writgate-faults-{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
        compiler.arg(&library).arg(source).args(["-ldl", "-lpthread"]);
        let compiled = cfg!(target_os = "linux") && compiler.status().is_ok_and(|status| status.success());
        let required = std::env::var("WRITGATE_INTEROP").is_ok_and(|value| value == "required");
        assert!(compiled || !required, "the faulty disk needs Linux and cc");
        compiled.then_some(library)
    });
    if shim.is_none() {
        println!("SKIPPED: the faulty disk needs Linux and cc");
    }
    shim.as_deref()
}

/// A running worker, killed where the test lets go of it.
pub struct Worker {
    child: Child,
    orders: ChildStdin,
    said: BufReader<ChildStdout>,
}

/// What a worker said up to the end of an order, and whether it died before.
#[derive(Debug, Default)]
pub struct Said {
    pub answers: Vec<Answer>,
    /// The closing word, without its `@`. `None`: it died.
    pub last: Option<String>,
}

impl Worker {
    /// One on a sound disk.
    pub fn start() -> Self {
        Self::spawn(|_| ())
    }

    /// One on a faulty disk, for the ledger of this path. It has no faults until it is armed. The disk is full while a
    /// file beside the ledger exists, where that is what was asked for.
    pub fn on_faulty_disk(shim: &Path, ledger: &Path) -> Self {
        Self::spawn(|command| {
            command
                .env("LD_PRELOAD", shim)
                .env("WRITGATE_FAULT_PREFIX", ledger)
                .env("WRITGATE_FAULT_FLAG", full_flag(ledger));
        })
    }

    fn spawn(set: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "worker::a_worker_obeys", "--nocapture"]);
        command.env("WRITGATE_FAULT_WORKER", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        set(&mut command);
        let mut child = command.spawn().unwrap();
        let (orders, said) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, orders, said: BufReader::new(said) }
    }

    /// Gives an order. A worker that is dead is found to be when it is listened to.
    pub fn order(&mut self, order: &str) {
        let _ = writeln!(self.orders, "{order}");
    }

    pub fn open(&mut self, path: &Path) -> Said {
        self.order(&format!("open {}", path.display()));
        self.listen()
    }

    /// Decides each message once, one after the other.
    pub fn decide(&mut self, numbers: Range<usize>) -> Said {
        self.order(&format!("decide {} {} 1 1 0", numbers.start, numbers.end));
        self.listen()
    }

    /// Listens up to the end of an order, or of the worker.
    pub fn listen(&mut self) -> Said {
        self.listen_until(usize::MAX)
    }

    /// Every answer up to the end of the worker.
    fn listen_to_the_end(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        loop {
            let said = self.listen();
            answers.extend(said.answers);
            if said.last.is_none() {
                return answers;
            }
        }
    }

    /// The same, or up to so many answers.
    pub fn listen_until(&mut self, answers: usize) -> Said {
        let mut said = Said::default();
        while said.answers.len() < answers {
            let mut line = String::new();
            self.said.read_line(&mut line).unwrap();
            if line.is_empty() {
                break;
            }
            let Some(word) = line.trim_end().strip_prefix('@') else { continue };
            match word.parse() {
                Ok(answer) => said.answers.push(answer),
                Err(_) => {
                    said.last = Some(word.to_owned());
                    break;
                }
            }
        }
        said
    }

    /// `kill -9`, and what it had said before.
    pub fn kill(mut self) -> Vec<Answer> {
        self.child.kill().unwrap();
        self.listen_to_the_end()
    }

    /// How it ended, once it says nothing any more.
    pub fn end(mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// While it exists, a disk that can be full is.
pub fn full_flag(ledger: &Path) -> PathBuf {
    ledger.with_extension("full")
}
