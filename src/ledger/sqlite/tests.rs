//! What a file must withstand: reopening, other connections and processes, faults between any two steps, tampering.

use super::*;
use crate::ledger::conformance::{
    Ask, DOMAIN, Folder, SKEW, admitted, at, entry, ids, list, nowhere, once, one_of_each, refuse_with,
    refused, relies_on,
};
use crate::ledger::status_memory::REVOKED_IN_ALL;
use crate::ledger::{Learned, StatusMemory};
use crate::refusal::Reason;
use chrono::DateTime;

fn raw(folder: &Folder) -> Connection {
    let connection = Connection::open(folder.file()).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection
}

fn unusable<T: std::fmt::Debug>(answer: Result<T, LedgerError>, words: &str) {
    match answer {
        Err(LedgerError::Unusable(text)) => assert!(text.contains(words), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_allowed_survives_reopening() {
    let folder = Folder::new();
    let (first, report) = admitted(
        Ask::new("m")
            .but(|ask| ask.exercised = [("p".to_owned(), once(Some(0)))].into())
            .of(&folder.ledger()),
    );
    let ledger = folder.reopened();
    let (reason, earlier, _) = refused(Ask::new("m").of(&ledger));
    assert_eq!((reason, earlier), (Reason::DuplicateMessage, Some(report.envelope.decision_id)));
    let other = Ask::new("n").but(|ask| ask.challenge = Ask::new("m").challenge);
    assert_eq!(refused(other.of(&ledger)).0, Reason::ChallengeUsed);
    assert_eq!(ledger.snapshot(&nowhere(), at(100)).unwrap().counts, [("p".to_owned(), 1)].into());
    let behind = Ask::new("o").but(|ask| ask.now = at(39));
    assert_eq!(refused(behind.of(&ledger)).0, Reason::ClockSteppedBack);
    assert_eq!((first.sequence(), ledger.verify_chain().unwrap().0), (1, 4));
}

#[test]
fn a_new_ledger_has_a_floor_unless_it_is_the_first() {
    let folder = Folder::new();
    let path = folder.file();
    drop(SqliteLedger::create(&path, DOMAIN, false, at(40), SKEW).unwrap());
    let memory = SqliteLedger::in_memory(DOMAIN, at(40), SKEW).unwrap();
    for ledger in [&folder.reopened(), &memory] {
        let ask = Ask::new("m");
        assert_eq!(refused(ask.but(|ask| ask.created = at(100)).of(ledger)).0, Reason::BeforeLedgerFloor);
        admitted(ask.but(|ask| ask.created = at(101)).of(ledger));
    }
    let first = Folder::new();
    admitted(Ask::new("m").but(|ask| ask.created = DateTime::UNIX_EPOCH).of(&first.ledger()));
}

#[test]
fn a_new_ledger_knows_the_instant_it_was_made_at() {
    let folder = Folder::new();
    let file = SqliteLedger::create(&folder.file(), DOMAIN, true, at(300), SKEW).unwrap();
    let memory = SqliteLedger::in_memory(DOMAIN, at(300), SKEW).unwrap();
    for ledger in [&file, &memory] {
        assert_eq!(refused(Ask::new("m").of(ledger)).0, Reason::ClockSteppedBack);
    }
}

#[test]
fn a_restored_backup_reopens_no_replay() {
    let folder = Folder::new();
    drop(folder.ledger());
    let backup = std::fs::read(folder.file()).unwrap();
    admitted(Ask::new("m").of(&folder.reopened()));
    std::fs::write(folder.file(), backup).unwrap();
    let restored = folder.reopened();
    restored.raise_floor(at(101)).unwrap();
    assert_eq!(refused(Ask::new("m").of(&restored)).0, Reason::BeforeLedgerFloor);
}

#[test]
fn a_ledger_is_made_once() {
    let folder = Folder::new();
    drop(folder.ledger());
    let again = SqliteLedger::create(&folder.file(), DOMAIN, true, at(0), SKEW);
    assert!(matches!(again, Err(LedgerError::Store(_))));
    folder.reopened();
}

#[test]
fn a_ledger_is_not_made_beside_the_leavings_of_another() {
    for suffix in ["-wal", "-shm", "-journal"] {
        let folder = Folder::new();
        std::fs::write(format!("{}{suffix}", folder.file().display()), "old").unwrap();
        unusable(SqliteLedger::create(&folder.file(), DOMAIN, true, at(0), SKEW), suffix);
        assert!(!folder.file().exists());
    }
}

#[test]
fn a_ledger_that_cannot_be_made_leaves_no_file() {
    let folder = Folder::new();
    let negative = TimeDelta::seconds(-1);
    assert!(SqliteLedger::create(&folder.file(), DOMAIN, true, at(0), negative).is_err());
    assert!(!folder.file().exists());
    assert!(SqliteLedger::in_memory_first(DOMAIN, negative).is_err());
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_a_ledger() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    drop(folder.ledger());
    assert_eq!(std::fs::metadata(folder.file()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn names_that_sqlite_reads_otherwise_are_files() {
    assert!(matches!(SqliteLedger::open(Path::new(":memory:"), DOMAIN, SKEW), Err(LedgerError::Store(_))));
    assert!(matches!(SqliteLedger::open(Path::new(""), DOMAIN, SKEW), Err(LedgerError::Store(_))));
    assert!(matches!(open_file(Path::new("file:x?mode=memory")), Err(LedgerError::Contradictory(_))));
    let folder = Folder::new();
    let path = folder.file().with_file_name(":memory:");
    admitted(Ask::new("m").of(&SqliteLedger::create(&path, DOMAIN, true, at(0), SKEW).unwrap()));
    let reopened = SqliteLedger::open(&path, DOMAIN, SKEW).unwrap();
    assert_eq!(refused(Ask::new("m").of(&reopened)).0, Reason::DuplicateMessage);
}

#[test]
fn what_is_not_this_ledger_is_not_opened() {
    let folder = Folder::new();
    let open = || SqliteLedger::open(&folder.file(), DOMAIN, SKEW);
    assert!(matches!(open(), Err(LedgerError::Store(_))), "a missing file is not made");
    assert!(!folder.file().exists());
    std::fs::write(folder.file(), "").unwrap();
    unusable(open(), "not a Writgate ledger");
    std::fs::write(folder.file(), "no database, but longer than the header of one: ".repeat(9)).unwrap();
    assert!(matches!(open(), Err(LedgerError::Store(_))));
    std::fs::remove_file(folder.file()).unwrap();
    drop(folder.ledger());
    unusable(SqliteLedger::open(&folder.file(), "https://other.example/", SKEW), "domain");
    raw(&folder).pragma_update(None, "user_version", 4).unwrap();
    unusable(open(), "newer");
    raw(&folder).pragma_update(None, "user_version", 0).unwrap();
    unusable(open(), "unknown");
    raw(&folder).pragma_update(None, "user_version", 3).unwrap();
    open().unwrap();
    raw(&folder).pragma_update(None, "application_id", 7).unwrap();
    unusable(open(), "not a Writgate ledger");
}

/// A ledger as version 1 of the tables left it, with one allow in it and one id revoked.
fn first_version() -> (Folder, u64) {
    let folder = Folder::new();
    let ledger = folder.ledger();
    admitted(Ask::new("m").of(&ledger));
    ledger.mark_revoked(&ids(&["r"])).unwrap();
    drop(ledger);
    let connection = raw(&folder);
    let since = ["revoked_policies", "revoked_entries", "accepted_lists", "wanted_lists", "status_memory"];
    for table in since.into_iter().chain(["exchanges", "bound_peers"]) {
        connection.execute_batch(&format!("DROP TABLE {table}")).unwrap();
    }
    connection.pragma_update(None, "user_version", 1).unwrap();
    (folder, 1)
}

#[test]
fn the_tables_of_version_1_are_what_they_were() {
    let digest = Digest::of(schema::FIRST_TABLES).to_string();
    assert_eq!(digest, "5fe35c922bafc8e9b6040443e5b4991b35e2f753d9a4260f901c215c38d439b1");
    let (folder, _) = first_version();
    let mut there = Vec::new();
    raw(&folder)
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .unwrap()
        .query_map((), |row| row.get::<_, String>(0))
        .unwrap()
        .for_each(|name| there.push(name.unwrap()));
    assert_eq!(there, ["challenges", "counts", "messages", "meta", "reports", "revoked"]);
}

#[test]
fn a_ledger_of_version_1_is_brought_up_and_forgets_nothing() {
    let (folder, rows) = first_version();
    let ledger = folder.reopened();
    assert_eq!(refused(Ask::new("m").of(&ledger)).0, Reason::DuplicateMessage);
    assert_eq!(ledger.snapshot(&nowhere(), at(100)).unwrap().memory.revoked, ids(&["r"]));
    refuse_with(&ledger, &relies_on(Some(0), "a", 10));
    assert_eq!(ledger.snapshot(&nowhere(), at(100)).unwrap().memory.lists.len(), 1);
    drop(ledger);
    // And it stays one of this version.
    let ledger = folder.reopened();
    assert_eq!(ledger.snapshot(&nowhere(), at(100)).unwrap().memory.lists.len(), 1);
    assert_eq!(ledger.verify_chain().unwrap().0, rows + 2);
}

#[test]
fn an_altered_ledger_of_version_1_is_not_brought_up() {
    for sql in [
        "DROP TABLE challenges",
        "CREATE TRIGGER forget AFTER INSERT ON messages BEGIN DELETE FROM messages; END",
        "CREATE TABLE accepted_lists (issuer)",
        "CREATE VIEW wanted_lists AS SELECT 1",
    ] {
        let (folder, _) = first_version();
        raw(&folder).execute_batch(sql).unwrap();
        unusable(SqliteLedger::open(&folder.file(), DOMAIN, SKEW), "altered");
        let version: i64 = raw(&folder).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 1, "nothing was changed");
    }
}

#[test]
fn many_processes_bring_up_one_ledger_once() {
    let (folder, _) = first_version();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                assert_eq!(
                    folder.reopened().snapshot(&nowhere(), at(100)).unwrap().memory.revoked,
                    ids(&["r"])
                )
            });
        }
    });
}

#[test]
fn a_snapshot_sees_what_another_connection_learned() {
    let folder = Folder::new();
    let (one, other) = (folder.ledger(), folder.reopened());
    let memory = |ledger: &SqliteLedger| ledger.snapshot(&nowhere(), at(100)).unwrap().memory;
    assert_eq!(*memory(&one), StatusMemory::default());
    one.mark_revoked(&one_of_each()).unwrap();
    refuse_with(&one, &relies_on(Some(0), "a", 10));
    assert_eq!(memory(&other).revoked, one_of_each());
    assert_eq!(memory(&other).lists, relies_on(Some(0), "a", 10).lists);
    refuse_with(&other, &relies_on(Some(1), "b", 20));
    assert_eq!(memory(&one).lists, relies_on(Some(1), "b", 20).lists);
    // What changes nothing is not read again.
    let held = memory(&one);
    refuse_with(&other, &relies_on(Some(1), "b", 20));
    refuse_with(&other, &Learned::default());
    assert!(std::sync::Arc::ptr_eq(&held, &memory(&one)));
    drop((one, other));
    let reopened = folder.reopened();
    assert_eq!((&memory(&reopened).revoked, &memory(&reopened).lists), (&one_of_each(), &held.lists));
}

#[test]
fn the_revocations_of_all_issuers_are_bounded() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    let learn = |index| {
        let mut learned = Learned::default();
        learned.revoked.insert(entry("alice", "l", index));
        refuse_with(&ledger, &learned);
    };
    let fill = |rows: usize| {
        let sql = format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows})
             INSERT INTO revoked_entries SELECT 'issuer ' || n, 'l', n FROM n"
        );
        raw(&folder).execute_batch(&sql).unwrap();
    };
    fill(REVOKED_IN_ALL - 1);
    learn(1);
    learn(2);
    let kept: usize = raw(&folder)
        .query_row("SELECT count(*) FROM revoked_entries WHERE issuer = 'alice'", (), |row| {
            row.get::<_, i64>(0)
        })
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!(kept, 1);
}

#[test]
fn altered_tables_are_not_opened() {
    for sql in [
        "DROP TABLE challenges",
        "CREATE TRIGGER forget AFTER INSERT ON messages BEGIN DELETE FROM messages; END",
        "DROP TABLE messages; CREATE TABLE messages (context, holder, message_id, digest, decision_id, peer, sequence)",
        "CREATE TABLE more (x)",
        "DROP TABLE revoked_entries",
        "CREATE TRIGGER forget AFTER INSERT ON accepted_lists BEGIN DELETE FROM accepted_lists; END",
    ] {
        let folder = Folder::new();
        drop(folder.ledger());
        raw(&folder).execute_batch(sql).unwrap();
        unusable(SqliteLedger::open(&folder.file(), DOMAIN, SKEW), "altered");
    }
}

#[test]
fn another_journal_mode_is_not_opened() {
    let folder = Folder::new();
    drop(folder.ledger());
    raw(&folder).pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).unwrap();
    unusable(SqliteLedger::open(&folder.file(), DOMAIN, SKEW), "settings");
}

#[test]
fn every_connection_is_durable() {
    let folder = Folder::new();
    drop(folder.ledger());
    let ledger = folder.reopened();
    let connection = ledger.lock().unwrap();
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((pragma("synchronous"), pragma("foreign_keys"), pragma("fullfsync")), (2, 1, 1));
}

#[test]
fn two_connections_race_to_one_allow_each() {
    let folder = Folder::new();
    let ledgers = [folder.ledger(), folder.reopened()];
    let allows: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = ledgers.iter().map(|ledger| scope.spawn(|| allows_of_50(ledger))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(allows, 50);
    assert_eq!(ledgers[0].verify_chain().unwrap(), ledgers[1].verify_chain().unwrap());
    assert_eq!(ledgers[0].verify_chain().unwrap().0, 100);
}

fn allows_of_50(ledger: &SqliteLedger) -> usize {
    (0..50)
        .map(|n| Ask::new(&format!("m{n}")).of(ledger).unwrap())
        .filter(|answer| matches!(answer, Admission::Admitted(..)))
        .count()
}

/// Names the ledger file to the child that [`two_processes_race_to_one_allow_each`] starts.
const CHILD: &str = "WRITGATE_TEST_LEDGER";

#[test]
fn two_processes_race_to_one_allow_each() {
    if let Ok(path) = std::env::var(CHILD) {
        let ledger = SqliteLedger::open(Path::new(&path), DOMAIN, SKEW).unwrap();
        println!("\nallows: {}", allows_of_50(&ledger));
        return;
    }
    let folder = Folder::new();
    let ledger = folder.ledger();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "ledger::sqlite::tests::two_processes_race_to_one_allow_each"])
        .env(CHILD, folder.file())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let ours = allows_of_50(&ledger);
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let theirs: usize =
        output.lines().find_map(|line| line.strip_prefix("allows: ")).unwrap().trim().parse().unwrap();
    assert_eq!(ours + theirs, 50);
    assert_eq!(ledger.verify_chain().unwrap().0, 100);
}

/// What the tables hold, for "nothing was written".
fn contents(ledger: &SqliteLedger) -> Vec<i64> {
    let connection = ledger.lock().unwrap();
    ["reports", "messages", "challenges", "counts", "revoked_entries", "accepted_lists", "wanted_lists"]
        .into_iter()
        .map(|table| {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).unwrap()
        })
        .collect()
}

#[test]
fn a_fault_at_any_step_leaves_nothing() {
    let folder = Folder::new();
    for ledger in [folder.ledger(), SqliteLedger::in_memory_first(DOMAIN, SKEW).unwrap()] {
        let ask = Ask::new("m").but(|ask| {
            ask.exercised = [("p".to_owned(), once(Some(0)))].into();
            ask.learned = relies_on(Some(0), "a", 10);
            ask.learned.revoked = one_of_each().entries;
            ask.learned.wanted = [list("alice", "l")].into();
        });
        for step in [
            "INSERT ON main.reports",
            "INSERT ON main.messages",
            "INSERT ON main.challenges",
            "INSERT ON main.counts",
            "INSERT ON main.revoked_entries",
            "INSERT ON main.accepted_lists",
            "INSERT ON main.wanted_lists",
            "UPDATE ON main.status_memory",
            "UPDATE ON main.meta",
        ] {
            for when in ["BEFORE", "AFTER"] {
                let fault = format!(
                    "CREATE TEMP TRIGGER fault {when} {step} BEGIN SELECT RAISE(ABORT, 'fault'); END"
                );
                ledger.lock().unwrap().execute_batch(&fault).unwrap();
                let answer = ask.but(|_| ()).of(&ledger);
                assert!(matches!(answer, Err(LedgerError::Store(_))), "{when} {step}: {answer:?}");
                assert_eq!(contents(&ledger), [0; 7], "{when} {step}");
                ledger.lock().unwrap().execute_batch("DROP TRIGGER fault").unwrap();
            }
        }
        assert_eq!(admitted(ask.of(&ledger)).0.sequence(), 1);
        assert_eq!(contents(&ledger), [1; 7]);
    }
}

#[test]
fn a_missing_table_refuses() {
    for table in [
        "reports",
        "messages",
        "challenges",
        "counts",
        "revoked",
        "meta",
        "revoked_policies",
        "revoked_entries",
        "accepted_lists",
        "wanted_lists",
        "status_memory",
    ] {
        let folder = Folder::new();
        let ledger = folder.ledger();
        raw(&folder).execute_batch(&format!("DROP TABLE {table}")).unwrap();
        let ask = Ask::new("m").but(|ask| {
            ask.exercised = [("p".to_owned(), once(Some(0)))].into();
            ask.leans_on = one_of_each();
            ask.learned = relies_on(Some(0), "a", 10);
            ask.learned.wanted = [list("alice", "l")].into();
        });
        assert!(matches!(ask.of(&ledger), Err(LedgerError::Store(_))), "{table}");
    }
}

#[test]
fn a_ledger_without_its_identity_refuses() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    raw(&folder).execute_batch("DELETE FROM meta").unwrap();
    assert!(Ask::new("m").of(&ledger).is_err());
    assert!(SqliteLedger::open(&folder.file(), DOMAIN, SKEW).is_err());
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    let pages = |count: i64| {
        let connection = ledger.lock().unwrap();
        connection.pragma_update_and_check(None, "max_page_count", count, |_| Ok(())).unwrap();
    };
    pages(40);
    let full = (0..1000)
        .find(|n| match Ask::new(&format!("m{n}")).of(&ledger) {
            Ok(answer) => {
                assert!(matches!(answer, Admission::Admitted(..)));
                false
            }
            Err(error) => matches!(error, LedgerError::Store(_)),
        })
        .unwrap();
    let allowed = i64::from(full);
    assert_eq!(contents(&ledger)[..3], [allowed; 3]);
    assert_eq!(ledger.verify_chain().unwrap().0, u64::try_from(allowed).unwrap());
    pages(100_000);
    admitted(Ask::new(&format!("m{full}")).of(&ledger));
}

#[test]
fn a_ledger_that_may_not_write_refuses() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    ledger.lock().unwrap().pragma_update(None, "query_only", true).unwrap();
    assert!(matches!(Ask::new("m").of(&ledger), Err(LedgerError::Store(_))));
    assert_eq!(contents(&ledger), [0; 7]);
}

#[test]
fn a_read_only_file_is_not_opened() {
    let folder = Folder::new();
    drop(folder.ledger());
    let connection = Connection::open_with_flags(folder.file(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    unusable(SqliteLedger::new(connection, DOMAIN, SKEW, "wal"), "read-only");
}

#[test]
fn a_ledger_held_by_another_for_too_long_refuses() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    ledger.lock().unwrap().busy_timeout(Duration::from_millis(20)).unwrap();
    let other = raw(&folder);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(Ask::new("m").of(&ledger), Err(LedgerError::Store(_))));
    other.execute_batch("ROLLBACK").unwrap();
    admitted(Ask::new("m").of(&ledger));
}

#[test]
fn after_a_panic_nothing_is_decided() {
    let ledger = SqliteLedger::in_memory_first(DOMAIN, SKEW).unwrap();
    let panicked = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                let _held = ledger.lock().unwrap();
                panic!("while it holds the ledger");
            })
            .join()
    });
    assert!(panicked.is_err());
    assert!(matches!(Ask::new("m").of(&ledger), Err(LedgerError::Store(_))));
    assert!(ledger.snapshot(&nowhere(), at(100)).is_err());
}

#[test]
fn a_reservation_keeps_its_report_and_peer() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    let ask = Ask::new("m");
    admitted(ask.clone().of(&ledger));
    let connection = ledger.lock().unwrap();
    let peer: String = connection.query_row("SELECT peer FROM messages", (), |row| row.get(0)).unwrap();
    assert_eq!(peer, ask.body.peer);
    assert!(connection.execute("DELETE FROM reports", ()).is_err());
}

/// A ledger of four rows.
fn four_rows() -> Folder {
    let folder = Folder::new();
    let ledger = folder.ledger();
    for name in ["a", "b", "c", "d"] {
        admitted(Ask::new(name).of(&ledger));
    }
    folder
}

#[test]
fn an_edited_row_is_named() {
    for (sql, at_row, words) in [
        ("UPDATE reports SET report = replace(report, 'alice', 'mallory') WHERE sequence = 2", 2, "hash"),
        ("UPDATE reports SET row_hash = zeroblob(32) WHERE sequence = 2", 2, "hash"),
        ("UPDATE reports SET previous_hash = zeroblob(32) WHERE sequence = 3", 3, "follow"),
        ("UPDATE reports SET decision_id = 'another' WHERE sequence = 2", 2, "names another"),
        ("DELETE FROM reports WHERE sequence = 2", 2, "missing"),
        ("DELETE FROM reports WHERE sequence = 1", 1, "missing"),
        (
            "UPDATE reports SET sequence = 9 WHERE sequence = 2;
             UPDATE reports SET sequence = 2 WHERE sequence = 3;
             UPDATE reports SET sequence = 3 WHERE sequence = 9",
            2,
            "follow",
        ),
        ("UPDATE meta SET ledger_id = 'another'", 1, "follow"),
    ] {
        let folder = four_rows();
        raw(&folder).execute_batch(sql).unwrap();
        match folder.reopened().verify_chain() {
            Err(LedgerError::ChainBroken { sequence, problem }) => {
                assert!(sequence == at_row && problem.contains(words), "{sql}: {sequence} {problem}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn rows_cut_off_at_the_end_show_in_the_head() {
    let folder = four_rows();
    let (sequence, hash) = folder.reopened().verify_chain().unwrap();
    assert_eq!(sequence, 4);
    raw(&folder).execute_batch("DELETE FROM reports WHERE sequence = 4").unwrap();
    let (cut, other) = folder.reopened().verify_chain().unwrap();
    assert!(cut == 3 && other != hash);
}

/// Forges row 1 with a right hash, so that only the checks of its content are left.
fn forged(change: impl FnOnce(&mut serde_json::Value) -> String) -> &'static str {
    let folder = Folder::new();
    admitted(Ask::new("a").of(&folder.ledger()));
    let connection = raw(&folder);
    let (text, previous): (String, [u8; 32]) = connection
        .query_row("SELECT report, previous_hash FROM reports", (), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let text = change(&mut serde_json::from_str(&text).unwrap());
    let hash = crate::ledger::chain::row_hash(Digest::from_bytes(previous), text.as_bytes());
    connection.execute("UPDATE reports SET report = ?1, row_hash = ?2", (text, hash.as_bytes())).unwrap();
    match folder.reopened().verify_chain() {
        Err(LedgerError::ChainBroken { sequence: 1, problem }) => problem,
        other => panic!("{other:?}"),
    }
}

fn jcs_text(value: &serde_json::Value) -> String {
    String::from_utf8(crate::message::digest::jcs(value).unwrap()).unwrap()
}

#[test]
fn a_row_must_hold_the_report_it_is_for() {
    let renumbered = forged(|value| {
        value["envelope"]["sequence"] = 2.into();
        jcs_text(value)
    });
    assert!(renumbered.contains("names another"));
    let loose = forged(|value| format!(" {}", jcs_text(value)));
    assert!(loose.contains("JCS"));
    let unknown = forged(|value| {
        value["more"] = 1.into();
        jcs_text(value)
    });
    assert!(unknown.contains("this version's form"));
    let version = forged(|value| {
        value["version"] = "DecisionReportV2".into();
        jcs_text(value)
    });
    assert!(version.contains("another version"));
}
