//! A fault at every call that SQLite makes, one after the other.

use crate::worker::{Answer, Chance, Folder, Said, Worker, full_flag, shim};
use crate::{example, long, proof};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a worker does while its disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    /// It makes a ledger, and decides in it.
    Creates,
    /// It opens a ledger, decides fresh messages and one that was allowed before, and closes it, which empties the WAL.
    Decides,
    /// Many threads at once, each message three times: decisions share transactions.
    Crowds,
    /// The same as `Decides`, with a WAL that is so long that a decision empties it.
    Checkpoints,
}

/// Messages that the template has allowed already; and those that the worker is given, of which the first is a replay.
const BEFORE: usize = 2;
const GIVEN: std::ops::Range<usize> = 1..5;

/// More pages than the WAL may have before SQLite empties it (1,000), less what a decision adds to it.
const PAGES_OF_A_LONG_WAL: usize = 985;

/// A load with a file of its own, and the template that it starts from each time.
struct Bench {
    load: Load,
    folder: Folder,
    shim: &'static Path,
    /// Kept from one case to the next, unless it dies.
    worker: Option<Worker>,
}

impl Bench {
    /// `None` where there is no faulty disk.
    fn new(name: &str, load: Load) -> Option<Self> {
        let bench = Self { load, folder: Folder::in_memory(name), shim: shim()?, worker: None };
        if load != Load::Creates {
            bench.make_template();
        }
        Some(bench)
    }

    fn path(&self) -> PathBuf {
        self.folder.file("ledger.db")
    }

    fn make_template(&self) {
        let path = self.path();
        let engine = example::engine(Arc::new(example::create(&path).unwrap())).unwrap();
        for number in 0..BEFORE {
            assert!(Answer::of(&engine, number, example::octets(number)).is_allow());
        }
        drop(engine);
        if self.load == Load::Checkpoints {
            // Rows that are gone again: what they leave is a long WAL.
            let connection = rusqlite::Connection::open(&path).unwrap();
            connection.execute_batch("PRAGMA wal_autocheckpoint = 0; BEGIN;").unwrap();
            for number in 0..PAGES_OF_A_LONG_WAL {
                let id = format!("{number:08}{}", "x".repeat(3_500));
                connection.execute("INSERT INTO revoked (id) VALUES (?1)", [id]).unwrap();
            }
            connection.execute_batch("COMMIT; DELETE FROM revoked;").unwrap();
            for ending in ["", "-wal"] {
                fs::copy(beside(&path, ending), beside(&self.folder.file("template.db"), ending)).unwrap();
            }
        } else {
            fs::rename(&path, self.folder.file("template.db")).unwrap();
        }
    }

    /// Runs the load with a fault, and proves what must hold afterwards. It gives the number of calls, if the worker
    /// lives to tell.
    fn run(&mut self, fault: &str) -> Option<usize> {
        let path = self.path();
        for ending in ["", "-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(beside(&path, ending));
            let template = beside(&self.folder.file("template.db"), ending);
            if template.exists() {
                fs::copy(template, beside(&path, ending)).unwrap();
            }
        }
        let worker = self.worker.get_or_insert_with(|| Worker::on_faulty_disk(self.shim, &path));
        let verb = if self.load == Load::Creates { "create" } else { "open" };
        let (from, to) = (GIVEN.start, GIVEN.end);
        let times_and_threads = if self.load == Load::Crowds { "3 8" } else { "1 1" };
        worker.order(&format!("arm {fault}"));
        worker.order(&format!("{verb} {}", path.display()));
        let opened = worker.listen().last;
        worker.order(&format!("decide {from} {to} {times_and_threads} 0"));
        let Said { answers, last } = worker.listen();
        worker.order("close");
        worker.order("count");
        worker.order("arm off");
        let calls = match last {
            None => None,
            Some(_) => {
                assert_eq!(worker.listen().last.as_deref().unwrap_or("closed"), "closed");
                worker.listen().last
            }
        };
        if calls.is_none() {
            let ended = self.worker.take().unwrap().end();
            #[cfg(unix)]
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9), "{ended:?}");
        }
        for answer in &answers {
            assert_ne!(answer.reason(), Some("INTERNAL"), "{answer:?}");
        }
        let opened = opened.as_deref() == Some("opened");
        assert!(opened || answers.is_empty());
        if self.load == Load::Creates && !opened && example::open(&path).is_err() {
            // What a fault leaves of a ledger that was never opened is nothing, or is refused. It is in nobody's way.
            for ending in ["", "-wal", "-shm", "-journal"] {
                let _ = fs::remove_file(beside(&path, ending));
            }
            drop(example::create(&path).unwrap());
        }
        proof::holds_and_goes_on(&path, &answers, 0..GIVEN.end);
        calls.map(|calls| calls.strip_prefix("count ").unwrap().parse().unwrap())
    }

    /// Runs it with a fault at every `stride`-th call, in the long form at every one; of these, those of one lane of `lanes`.
    fn sweep(&mut self, mode: &str, stride: usize, (lane, lanes): (usize, usize)) {
        let calls = self.run("off").unwrap();
        let stride = if long() { 1 } else { stride };
        let mut chance = Chance::new(calls as u64);
        let (mut cases, mut deaths) = (0, 0);
        let mut at = 1 + lane * stride + if stride > 1 { chance.below(stride) } else { 0 };
        while at <= calls {
            let fault = format!("{mode}/{at}.{}", chance.below(1 << 20));
            let shown = Shown(&fault);
            deaths += usize::from(self.run(&fault).is_none());
            std::mem::forget(shown);
            cases += 1;
            at += stride * lanes;
        }
        println!("{:?}: {cases} cases of {mode} at {calls} calls, {deaths} deaths", self.load);
        assert!(cases > 0);
        if ["kill", "kill-after", "cut", "cut-torn"].contains(&mode) {
            // Decisions that share a transaction make fewer calls, now and then.
            let share = if self.load == Load::Crowds { 2 } else { 9 };
            assert!(deaths * 10 >= cases * share, "only {deaths} of {cases} died: the faults do not strike");
        }
    }
}

/// Names the fault of a case that fails.
struct Shown<'a>(&'a str);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        println!("the fault was {}", self.0);
    }
}

/// A file whose name is a ledger's and an ending.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// In the short form, a fault strikes at each so many calls, by how many the load makes.
fn stride(mode: &str, load: Load) -> usize {
    match (mode, load) {
        ("eio", Load::Creates | Load::Decides) => 1,
        (_, Load::Creates | Load::Decides) => 13,
        (_, Load::Crowds) => 29,
        (_, Load::Checkpoints) => 151,
    }
}

/// Every load with one kind of fault.
fn sweep_all(mode: &str) {
    sweep_loads(&[Load::Creates, Load::Decides, Load::Crowds, Load::Checkpoints], mode);
}

fn sweep_loads(loads: &[Load], mode: &str) {
    // An error at a lock is waited out, and nothing works meanwhile: others go on in other lanes.
    let lanes = if mode == "eio" { 4 } else { 1 };
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            scope.spawn(move || {
                for load in loads {
                    let Some(mut bench) = Bench::new(&format!("{mode}-{load:?}-{lane}"), *load) else {
                        return;
                    };
                    bench.sweep(mode, stride(mode, *load), (lane, lanes));
                }
            });
        }
    });
}

/// The faulty disk is what it says: a cut takes back what was not synced, and nothing else.
#[test]
fn a_power_cut_takes_back_what_was_not_synced() {
    let Some(shim) = shim() else { return };
    for (synchronous, kept) in [("OFF", 0), ("FULL", 1)] {
        let folder = Folder::in_memory(&format!("cut-{synchronous}"));
        let path = folder.file("notes.db");
        let notes = rusqlite::Connection::open(&path).unwrap();
        notes.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE notes (note TEXT);").unwrap();
        drop(notes);
        let mut worker = Worker::on_faulty_disk(shim, &path);
        worker.order("arm cut/0");
        worker.order(&format!("write {} {synchronous}", path.display()));
        assert_eq!(worker.listen().last.as_deref(), Some("written"));
        worker.order("cut");
        assert_eq!(worker.listen().last, None);
        drop(worker);
        let notes = rusqlite::Connection::open(&path).unwrap();
        let count: i64 = notes.query_row("SELECT count(*) FROM notes", (), |row| row.get(0)).unwrap();
        assert_eq!(count, kept, "synchronous = {synchronous}");
    }
}

#[test]
fn an_io_error_at_any_call_never_allows_without_its_record() {
    sweep_all("eio");
}

#[test]
fn a_disk_that_fails_from_any_call_on_never_allows_without_its_record() {
    sweep_all("eio-from");
}

#[test]
fn a_disk_that_is_full_from_any_call_on_never_allows_without_its_record() {
    sweep_all("enospc");
}

#[test]
fn a_short_write_at_any_call_never_allows_without_its_record() {
    sweep_all("short");
}

#[test]
fn a_sync_that_fails_and_loses_its_writes_never_allows_without_its_record() {
    sweep_loads(&[Load::Decides, Load::Crowds, Load::Checkpoints], "sync-lost");
}

/// The same while a ledger is made: it is made, or it is refused.
#[test]
fn a_sync_that_fails_and_loses_its_writes_makes_no_half_ledger() {
    sweep_loads(&[Load::Creates], "sync-lost");
}

#[test]
fn a_kill_before_any_call_loses_no_answered_decision() {
    sweep_all("kill");
}

#[test]
fn a_kill_after_any_call_loses_no_answered_decision() {
    sweep_all("kill-after");
}

#[test]
fn a_power_cut_at_any_call_loses_no_answered_decision() {
    sweep_all("cut");
}

#[test]
fn a_power_cut_that_tears_writes_at_any_call_loses_no_answered_decision() {
    sweep_all("cut-torn");
}

/// The disk fills under a running process, and is emptied again: it refuses meanwhile, and goes on by itself.
#[test]
fn a_full_disk_refuses_until_there_is_room_again() {
    let Some(shim) = shim() else { return };
    let folder = Folder::new("full");
    let path = folder.file("ledger.db");
    drop(example::create(&path).unwrap());
    let mut worker = Worker::on_faulty_disk(shim, &path);
    worker.order("arm full/0");
    assert_eq!(worker.open(&path).last.as_deref(), Some("opened"));
    let mut answers = worker.decide(0..3).answers;
    assert!(answers.iter().all(Answer::is_allow), "{answers:?}");
    for (full, numbers) in [(true, 0..6), (false, 3..6), (true, 6..7), (false, 0..7)] {
        if full {
            fs::write(full_flag(&path), "").unwrap();
        } else {
            fs::remove_file(full_flag(&path)).unwrap();
        }
        let said = worker.decide(numbers.clone()).answers;
        assert_eq!(said.len(), numbers.len());
        for answer in &said {
            let expected = match answer.number() {
                _ if full => Some("LEDGER_UNAVAILABLE"),
                number if answers.iter().any(|earlier| earlier.number() == number && earlier.is_allow()) => {
                    Some("DUPLICATE_MESSAGE")
                }
                _ => None,
            };
            assert_eq!(answer.reason(), expected, "full: {full}, {answer:?}");
        }
        answers.extend(said);
        proof::holds(&path, &answers);
    }
    worker.order("close");
    assert_eq!(worker.listen().last.as_deref(), Some("closed"));
    proof::holds_and_goes_on(&path, &answers, 0..8);
}
