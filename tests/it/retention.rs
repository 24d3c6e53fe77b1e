//! A ledger over its years: decided, checked, keys changed, pruned, archived, erased, and verified after each step.

use crate::command_line::Scratch;
use crate::support::{TestClock, assert_allowed, engine_on, grant, noon, octets, refused, world};
use crate::tampering::CONFIG;
use chrono::TimeDelta;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use writgate::audit::{CheckpointSigner, Redecided, replay};
use writgate::credential::issue::SigningKey;
use writgate::ledger::{
    Checkpoints, KeptEvidence, Ledger, LedgerError, LedgerReader, SqliteLedger, Verification, VerifyOptions,
    verify, verify_archive,
};
use writgate::worked_example::DOMAIN;
use writgate::{Decided, Instant, Reason};

const SKEW: TimeDelta = TimeDelta::seconds(60);
/// Of presentations and challenges.
const FRESH_FOR: TimeDelta = TimeDelta::minutes(5);

struct Years {
    scratch: Scratch,
    clock: Arc<TestClock>,
    key: u8,
    /// Every message that was allowed, by its number.
    allowed: usize,
}

impl Years {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let path = scratch.path("ledger.db");
        drop(SqliteLedger::create(&path, DOMAIN, true, noon(), SKEW).unwrap());
        Self { scratch, clock: TestClock::at(noon()), key: 1, allowed: 0 }
    }

    fn path(&self) -> PathBuf {
        self.scratch.path("ledger.db")
    }

    fn outside(&self) -> PathBuf {
        self.scratch.path("checkpoints.jsonl")
    }

    fn signer(key: u8) -> CheckpointSigner {
        CheckpointSigner::new(SigningKey::from_seed([key; 32])).unwrap()
    }

    fn open(&self, now: Instant) -> SqliteLedger {
        let checkpoints =
            Checkpoints::new(Self::signer(self.key)).with_interval(3, 86_400).with_file(self.outside());
        let ledger = SqliteLedger::open(&self.path(), DOMAIN, SKEW).unwrap();
        ledger.with_checkpoints(checkpoints, now).unwrap()
    }

    fn now(&self, hours: i64) -> Instant {
        noon() + TimeDelta::hours(hours)
    }

    /// So many allows, one minute apart.
    fn decide(&mut self, hours: i64, number: usize) {
        let ledger: Arc<dyn Ledger> = Arc::new(self.open(self.now(hours)));
        let engine = engine_on(Arc::clone(&ledger), Arc::clone(&self.clock));
        for minute in 0..number {
            let now = self.now(hours) + TimeDelta::minutes(i64::try_from(minute).unwrap());
            assert_allowed(&self.ask(&engine, self.allowed, now));
            self.allowed += 1;
        }
        ledger.checkpoint(self.now(hours + 1)).unwrap();
    }

    fn ask(&self, engine: &writgate::Engine, number: usize, now: Instant) -> Decided {
        self.clock.set(now);
        let mut ask = grant();
        ask.id = format!("msg-{number}");
        ask.nonce = format!("a-nonce-of-its-own-{number}");
        ask.created = now - TimeDelta::seconds(1);
        let facts = writgate::CallerFacts { challenge: Some(ask.nonce.clone()), ..world().facts() };
        engine.decide(octets(&ask.message().unwrap()), facts)
    }

    fn verified(&self, keys: &[u8]) -> Verification {
        let keys = keys.iter().map(|key| Self::signer(*key).public_key()).collect();
        let options = VerifyOptions { checkpoints: Some(self.outside()), keys, ..VerifyOptions::default() };
        verify(&self.path(), &options).unwrap()
    }

    #[track_caller]
    fn assert_holds(&self, keys: &[u8]) {
        let found = self.verified(keys);
        assert!(found.holds(), "{:#?}", found.findings);
    }
}

fn sql(path: &Path, sql: &str) -> usize {
    Connection::open(path).unwrap().execute(sql, ()).unwrap()
}

#[test]
fn a_ledger_verifies_through_pruning_archives_changes_of_key_and_erasure() {
    let mut years = Years::new("years");
    years.decide(0, 6);
    years.assert_holds(&[1]);
    let prune = |years: &Years, before: i64, now: i64| {
        years.open(years.now(now)).prune(years.now(before), years.now(now), FRESH_FOR).unwrap()
    };
    let pruned = prune(&years, 1, 2);
    assert_eq!(pruned.reservations, 6);
    years.assert_holds(&[1]);

    // Another key, with the change among the rows that will leave.
    years.open(years.now(3)).rotate_key(Years::signer(2), years.now(3)).unwrap();
    years.key = 2;
    years.decide(4, 6);
    years.assert_holds(&[1, 2]);
    prune(&years, 6, 7);
    let first = years.scratch.path("first.archive");
    let through = years.open(years.now(8)).archivable_before(years.now(4)).unwrap();
    let archive = years.open(years.now(8)).archive(through, &first, years.now(8)).unwrap();
    assert_eq!(verify_archive(&first).unwrap(), archive);
    years.assert_holds(&[2]);
    // The first key left with its rows, and is in the archive.
    assert!(!years.verified(&[1]).holds());

    years.decide(9, 3);
    years.assert_holds(&[2]);
    years.open(years.now(10)).rotate_key(Years::signer(3), years.now(10)).unwrap();
    years.key = 3;
    let second = years.scratch.path("second.archive");
    let next = years.open(years.now(11)).archive(pruned_through(&years), &second, years.now(11)).unwrap();
    assert_eq!((next.from, verify_archive(&second).unwrap()), (through + 1, next.clone()));
    years.assert_holds(&[2, 3]);

    // What is left is made again; what was erased says so.
    let reader = LedgerReader::open(&years.path()).unwrap();
    let mut again = Vec::new();
    let mut collect = |replayed: writgate::audit::Replayed| {
        again.push(replayed);
        Ok::<_, LedgerError>(())
    };
    replay(&reader, (1, u64::MAX), false, &mut collect).unwrap();
    assert_eq!(again.len(), 3, "those of the ninth hour");
    assert!(again.iter().all(|replayed| replayed.redecided.is_equal()), "{again:?}");
    let digest = match reader.row(again[0].sequence).unwrap().unwrap().record {
        writgate::audit::Record::Decision(report) => report.envelope.evidence.unwrap().message,
        other => panic!("{other:?}"),
    };
    assert!(matches!(reader.evidence(digest).unwrap(), KeptEvidence::Octets(_)));
    years.open(years.now(12)).erase_evidence_before(years.now(12), years.now(12)).unwrap();
    assert_eq!(reader.evidence(digest).unwrap(), KeptEvidence::Erased);
    years.assert_holds(&[2, 3]);
    let mut erased = 0;
    replay(&reader, (1, u64::MAX), false, |replayed| {
        erased += usize::from(!matches!(replayed.redecided, Redecided::Equal));
        Ok::<_, LedgerError>(())
    })
    .unwrap();
    assert_eq!(erased, 3);

    // Nothing that ever was allowed is allowed again.
    let engine = engine_on(Arc::new(years.open(years.now(13))), Arc::clone(&years.clock));
    for number in 0..years.allowed {
        let hours = [0, 4, 9][number / 6];
        let made = years.now(hours) + TimeDelta::minutes(i64::try_from(number % 6).unwrap());
        let again = years.ask(&engine, number, made);
        assert_eq!(refused(&again).reason(), Reason::ClockSteppedBack, "{number}");
        let late = years.ask(&engine, number, years.now(13));
        let expected = if number < 12 { None } else { Some(Reason::DuplicateMessage) };
        match expected {
            // A new presentation for an id that was pruned is a new message.
            None => assert_allowed(&late),
            Some(_) => assert_eq!(refused(&late).reason(), Reason::MessageIdReused, "{number}"),
        }
    }
    drop(engine);
    years.assert_holds(&[2, 3]);
}

fn pruned_through(years: &Years) -> u64 {
    let connection = Connection::open(years.path()).unwrap();
    connection
        .query_row("SELECT pruned_through FROM meta", (), |row| row.get::<_, i64>(0))
        .unwrap()
        .try_into()
        .unwrap()
}

/// After an archive too, whatever is changed is named.
#[test]
fn what_is_changed_after_an_archive_is_named() {
    let mut years = Years::new("years-changed");
    years.decide(0, 4);
    years.open(years.now(2)).prune(years.now(1), years.now(2), FRESH_FOR).unwrap();
    let file = years.scratch.path("archive");
    years.open(years.now(3)).archive(4, &file, years.now(3)).unwrap();
    years.decide(4, 2);
    years.assert_holds(&[1]);
    let whole = years.scratch.path("whole.db");
    std::fs::copy(years.path(), &whole).unwrap();
    for change in [
        "DELETE FROM reports WHERE sequence = (SELECT min(sequence) FROM reports)",
        "DELETE FROM reports WHERE report LIKE '%\"archived\"%'",
        "UPDATE reports SET report = replace(report, '\"through\":4', '\"through\":3') WHERE report LIKE '%\"archived\"%'",
        "DELETE FROM states",
        "UPDATE states SET state = '[]'",
        "DELETE FROM counts",
        "UPDATE counts SET exercised = exercised - 1",
        "UPDATE meta SET floor_us = floor_us - 60000000",
        "UPDATE meta SET pruned_through = 0",
        "DELETE FROM messages WHERE sequence = (SELECT max(sequence) FROM messages)",
        "DELETE FROM checkpoints WHERE number = (SELECT max(number) FROM checkpoints)",
        "DELETE FROM evidence WHERE number = (SELECT max(number) FROM evidence)",
    ] {
        std::fs::copy(&whole, years.path()).unwrap();
        assert!(sql(&years.path(), change) > 0, "{change}");
        assert!(!years.verified(&[1]).holds(), "{change}");
    }
}

#[test]
fn an_operator_prunes_archives_erases_and_restores_by_commands() {
    let scratch = Scratch::new("operator");
    scratch.write("writgate.toml", CONFIG);
    scratch.run(&["ledger", "init", "--first"]);
    let recent = scratch.try_run(&["ledger", "prune", "--keep-days", "0"]);
    assert!(recent.status == 2 && !recent.stderr.is_empty(), "{}", recent.stderr);
    scratch.run(&["ledger", "prune", "--keep-days", "30"]);
    let unpruned = scratch.try_run(&["audit", "archive", "--through", "1", "--to", "rows.jsonl"]);
    assert!(unpruned.status == 2 && unpruned.stderr.contains("pruned"), "{}", unpruned.stderr);
    assert!(!scratch.path("rows.jsonl").exists());
    assert_eq!(scratch.status(&["audit", "archive", "--verify", "checkpoints.jsonl"]), 1);
    assert_eq!(scratch.status(&["audit", "erase", "--decision", "nobody's"]), 2);
    scratch.run(&["audit", "erase", "--before", "2020-01-01T00:00:00Z"]);

    // A backup is put back: nothing is decided on it, or changed in it, until the operator says so.
    let backup = std::fs::read(scratch.path("ledger.db")).unwrap();
    scratch.run(&["conversation", "forget", "--peer", "one"]);
    std::fs::write(scratch.path("ledger.db"), backup).unwrap();
    for command in [
        &["conversation", "forget", "--peer", "two"][..],
        &["ledger", "prune", "--keep-days", "30"],
        &["audit", "erase", "--before", "2020-01-01T00:00:00Z"],
    ] {
        let put_back = scratch.try_run(command);
        assert!(put_back.status == 2 && put_back.stderr.contains("ledger restored"), "{}", put_back.stderr);
    }
    scratch.run(&["ledger", "restored"]);
    scratch.run(&["conversation", "forget", "--peer", "two"]);
    // The ledger agrees with itself; what was noted of the rows that were lost is for the auditor to see.
    scratch.run(&["audit", "verify"]);
    assert_eq!(scratch.status(&["audit", "verify", "--checkpoints", "checkpoints.jsonl"]), 1);
}
