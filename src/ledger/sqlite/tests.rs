//! What a file must withstand: reopening, other connections and processes, faults between any two steps, tampering.

use super::*;
use crate::ledger::conformance::quotas::of;
use crate::ledger::conformance::{
    Ask, DOMAIN, Folder, SKEW, admitted, at, entry, ids, list, nowhere, once, one_of_each, refuse_with,
    refused, relies_on,
};
use crate::ledger::status_memory::{ACCEPTED_IN_ALL, REVOKED_IN_ALL, WANTED_IN_ALL};
use crate::ledger::{Learned, ListMark, StatusMemory};
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
    assert_eq!(ledger.counts(None).unwrap(), [("p".to_owned(), 1)].into());
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
    assert!(matches!(open(), Err(LedgerError::Damaged(_))));
    std::fs::remove_file(folder.file()).unwrap();
    drop(folder.ledger());
    unusable(SqliteLedger::open(&folder.file(), "https://other.example/", SKEW), "domain");
    raw(&folder).pragma_update(None, "user_version", 5).unwrap();
    unusable(open(), "newer");
    raw(&folder).pragma_update(None, "user_version", 0).unwrap();
    unusable(open(), "unknown");
    raw(&folder).pragma_update(None, "user_version", 3).unwrap();
    unusable(open(), "altered");
    raw(&folder).pragma_update(None, "user_version", 4).unwrap();
    open().unwrap();
    raw(&folder).pragma_update(None, "application_id", 7).unwrap();
    unusable(open(), "not a Writgate ledger");
}

/// A ledger as version 1 of the tables left it, with one allow in it and one id revoked.
fn first_version() -> (Folder, u64) {
    let folder = Folder::new();
    let ledger = folder.ledger();
    admitted(Ask::new("m").of(&ledger));
    drop(ledger);
    let connection = raw(&folder);
    drop_later_tables(&connection);
    for table in EARLIER_TABLES {
        connection
            .execute_batch(&format!(
                "CREATE TEMP TABLE now_{table} AS SELECT * FROM main.{table}; DROP TABLE main.{table}"
            ))
            .unwrap();
    }
    connection.execute_batch(schema::FIRST_TABLES).unwrap();
    connection
        .execute_batch(
            "INSERT INTO meta SELECT 1, ledger_id, domain, floor_us, high_water_us FROM now_meta;
             INSERT INTO reports SELECT * FROM now_reports;
             INSERT INTO messages SELECT * FROM now_messages;
             INSERT INTO challenges SELECT * FROM now_challenges;
             INSERT INTO counts SELECT * FROM now_counts;
             INSERT INTO revoked VALUES ('r');",
        )
        .unwrap();
    as_version_1_wrote_it(&connection);
    connection.pragma_update(None, "user_version", 1).unwrap();
    (folder, 1)
}

/// The one report of a ledger, without what version 1 did not write.
fn as_version_1_wrote_it(connection: &Connection) {
    let report: String = connection.query_row("SELECT report FROM reports", (), |row| row.get(0)).unwrap();
    let ledger_id: String = connection.query_row("SELECT ledger_id FROM meta", (), |row| row.get(0)).unwrap();
    let identity =
        Identity { ledger_id: &ledger_id, domain: DOMAIN, first_floor_us: None, first_high_water_us: None };
    let previous = crate::ledger::chain::first_link(&identity).unwrap();
    let mut report: serde_json::Value = serde_json::from_str(&report).unwrap();
    for member in ["recorded", "bodyDigest", "reservation"] {
        report["envelope"].as_object_mut().unwrap().remove(member).unwrap();
    }
    let report = rows::jcs_text(&report).unwrap();
    let hash = crate::ledger::chain::row_hash(previous, report.as_bytes());
    connection
        .execute(
            "UPDATE reports SET report = ?1, row_hash = ?2, previous_hash = ?3",
            (report, hash.as_bytes(), previous.as_bytes()),
        )
        .unwrap();
}

/// The tables that version 1 had too.
const EARLIER_TABLES: [&str; 6] = ["messages", "challenges", "counts", "revoked", "reports", "meta"];

/// The tables that version 1 did not have.
const LATER_TABLES: [&str; 14] = [
    "spent",
    "evidence",
    "checkpoints",
    "states",
    "refusal_tallies",
    "revoked_policies",
    "revoked_entries",
    "learned_entries",
    "accepted_lists",
    "wanted_lists",
    "status_sponsors",
    "status_memory",
    "exchanges",
    "bound_peers",
];

fn drop_later_tables(connection: &Connection) {
    for table in LATER_TABLES {
        connection.execute_batch(&format!("DROP TABLE {table}")).unwrap();
    }
}

/// A ledger as version 2 of the tables left it, after a flood by free issuers: both quotas by issuer are full.
fn second_version() -> Folder {
    let (folder, _) = first_version();
    let connection = raw(&folder);
    connection.execute_batch(schema::STATUS_TABLES_OF_2).unwrap();
    let flood = format!(
        "INSERT INTO revoked_policies VALUES ('alice', 'p');
         INSERT INTO revoked_entries VALUES ('alice', 'l', 7);
         INSERT INTO accepted_lists VALUES ('alice', 'l', {from}, zeroblob(32), {accepted});
         INSERT INTO accepted_lists VALUES ('bob', 'l', NULL, zeroblob(32), {accepted});
         INSERT INTO wanted_lists VALUES ('alice', 'l', {accepted});
         WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {wanted})
             INSERT INTO wanted_lists SELECT 'did:key:' || n, 'l', {accepted} FROM n;
         WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {revoked})
             INSERT INTO revoked_entries SELECT 'did:key:' || n, 'l', n FROM n;
         UPDATE status_memory SET version = 41;",
        from = micros(at(0)),
        accepted = micros(at(10)),
        wanted = WANTED_IN_ALL - 1,
        revoked = REVOKED_IN_ALL - 1,
    );
    connection.execute_batch(&flood).unwrap();
    connection.pragma_update(None, "user_version", 2).unwrap();
    folder
}

#[test]
fn the_status_tables_of_version_2_are_what_they_were() {
    let digest = Digest::of(schema::STATUS_TABLES_OF_2).to_string();
    assert_eq!(digest, "edd22f28e5bfea982a422a199120a1f593f4b5ee3e37f7a9f23d9053b877ea22");
}

#[test]
fn a_ledger_of_version_2_is_brought_up_and_a_flood_from_before_takes_nobodys_room() {
    let folder = second_version();
    let ledger = folder.reopened();
    assert_eq!(refused(Ask::new("m").of(&ledger)).0, Reason::DuplicateMessage);
    let before = ledger.snapshot(&nowhere(), at(100)).unwrap().memory;
    assert_eq!((&before.revoked.ids, &before.revoked.policies), (&ids(&["r"]).ids, &one_of_each().policies));
    assert_eq!(before.revoked.entries.len(), REVOKED_IN_ALL);
    assert!(before.revoked.entries.contains(&entry("alice", "l", 7)));
    let mark =
        |valid_from: Option<i64>| ListMark::new(valid_from.map(at), Digest::from_bytes([0; 32]), at(10));
    let marks = [(list("alice", "l"), mark(Some(0))), (list("bob", "l"), mark(None))];
    assert_eq!((&before.lists, before.forgotten), (&marks.into(), None));
    assert!(ledger.wanted_lists().unwrap().contains(&list("alice", "l")));
    // All the flood is there, and a newcomer's list and revocation are learned.
    let newcomer = Learned {
        revoked: [entry("carol", "l", 1)].into(),
        wanted: [list("carol", "l"), list("alice", "own")].into(),
        ..Learned::default()
    };
    refuse_with(&ledger, &of("alice", "carol", newcomer));
    let wanted = ledger.wanted_lists().unwrap();
    assert_eq!(wanted.len(), WANTED_IN_ALL);
    assert!(wanted.contains(&list("carol", "l")) && wanted.contains(&list("alice", "own")));
    let after = ledger.snapshot(&nowhere(), at(100)).unwrap().memory;
    assert_eq!(after.revoked.entries.len(), REVOKED_IN_ALL + 1);
    // A mark from before still bars the way back.
    let back = Ask::new("n").but(|ask| ask.learned = of("alice", "carol", relies_on(Some(-1), "b", 20)));
    assert!(matches!(back.of(&ledger), Ok(Admission::Stale)));
    drop(ledger);
    assert_eq!(folder.reopened().snapshot(&nowhere(), at(100)).unwrap().memory, after);
}

#[test]
fn an_altered_ledger_of_version_2_is_not_brought_up() {
    for sql in ["DROP TABLE wanted_lists", "CREATE TABLE learned_entries (sponsor)", "DROP TABLE challenges"]
    {
        let folder = second_version();
        raw(&folder).execute_batch(sql).unwrap();
        unusable(SqliteLedger::open(&folder.file(), DOMAIN, SKEW), "altered");
        let version: i64 = raw(&folder).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 2, "nothing was changed");
    }
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
    assert_eq!(ledger.verify_chain().unwrap().0, rows + 3, "the move to this version is a row");
}

/// A ledger as version 3 of the tables left it.
fn third_version() -> Folder {
    let (folder, _) = first_version();
    let connection = raw(&folder);
    connection.execute_batch(schema::STATUS_TABLES).unwrap();
    connection.execute_batch(schema::CONVERSATION_TABLES).unwrap();
    connection
        .execute_batch("INSERT INTO bound_peers VALUES ('agent', '=p'); INSERT INTO counts VALUES ('p', 3)")
        .unwrap();
    connection.pragma_update(None, "user_version", 3).unwrap();
    folder
}

#[test]
fn a_ledger_that_was_brought_up_verifies_with_what_it_had() {
    let folder = third_version();
    let ledger = folder.reopened();
    admitted(Ask::new("n").of(&ledger));
    drop(ledger);
    let verify = || crate::audit::verify(&folder.file(), &crate::audit::VerifyOptions::default()).unwrap();
    assert!(verify().holds(), "{:#?}", verify().findings);
    for (table, edit, back) in [
        (
            "messages",
            "UPDATE messages SET peer = peer || 'x' WHERE message_id = 'm'",
            "UPDATE messages SET peer = substr(peer, 1, length(peer) - 1) WHERE message_id = 'm'",
        ),
        (
            "challenges",
            "UPDATE challenges SET challenge = challenge || 'x' WHERE sequence = 1",
            "UPDATE challenges SET challenge = substr(challenge, 1, length(challenge) - 1) WHERE sequence = 1",
        ),
        ("counts", "UPDATE counts SET exercised = 4", "UPDATE counts SET exercised = 3"),
        ("states", "UPDATE states SET state = state || ' '", "UPDATE states SET state = rtrim(state)"),
        (
            "states",
            "INSERT INTO states VALUES (zeroblob(32), '[]')",
            "DELETE FROM states WHERE digest = zeroblob(32)",
        ),
        (
            "messages",
            "UPDATE messages SET sequence = 7 WHERE message_id = 'm'",
            "UPDATE messages SET sequence = 1 WHERE message_id = 'm'",
        ),
    ] {
        raw(&folder).execute(edit, ()).unwrap();
        let verification = verify();
        assert!(
            verification.findings.iter().any(|finding| finding.table == table),
            "{edit}: {verification:#?}"
        );
        raw(&folder).execute(back, ()).unwrap();
        assert!(verify().holds(), "{back}: {:#?}", verify().findings);
    }
}

#[test]
fn a_ledger_of_version_3_is_brought_up_and_its_tables_state_is_kept() {
    let folder = third_version();
    let ledger = folder.reopened();
    assert_eq!(refused(Ask::new("m").of(&ledger)).0, Reason::DuplicateMessage);
    assert_eq!(ledger.counts(None).unwrap(), [("p".to_owned(), 3)].into());
    ledger.verify_chain().unwrap();
    let reader = crate::ledger::LedgerReader::open(&folder.file()).unwrap();
    let crate::audit::Record::Event(event) = reader.row(2).unwrap().unwrap().record else { panic!() };
    let Event::Migrated { from: 3, state, floor: None } = event.event else { panic!("{event:?}") };
    let connection = ledger.lock().unwrap();
    let kept: String = connection
        .query_row("SELECT state FROM states WHERE digest = ?1", (state.as_bytes(),), |row| row.get(0))
        .unwrap();
    assert_eq!(Digest::of(&kept), state);
    let rows: Vec<crate::audit::RowChange> = serde_json::from_str(&kept).unwrap();
    let tables: Vec<&str> = rows.iter().map(|row| row.table.as_str()).collect();
    assert_eq!(tables, ["bound_peers", "challenges", "counts", "messages", "revoked", "status_memory"]);
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
    for folder in [first_version().0, second_version()] {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    assert_eq!(
                        folder.reopened().snapshot(&nowhere(), at(100)).unwrap().memory.revoked.ids,
                        ids(&["r"]).ids
                    )
                });
            }
        });
    }
}

#[test]
fn a_snapshot_sees_what_another_connection_learned() {
    let folder = Folder::new();
    let (one, other) = (folder.ledger(), folder.reopened());
    let memory = |ledger: &SqliteLedger| ledger.snapshot(&nowhere(), at(100)).unwrap().memory;
    assert_eq!(*memory(&one), StatusMemory::default());
    one.mark_revoked(&one_of_each(), at(100)).unwrap();
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

/// Fills a table of a ledger with rows of so many delegates of `mallory`'s, `each` has so many.
fn fill(ledger: &SqliteLedger, insert: &str, delegates: usize, each: usize) {
    let connection = ledger.lock().unwrap();
    connection
        .execute_batch(&format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {delegates})
                 INSERT INTO status_sponsors (sponsor, root, delegate) SELECT 1000000 + n, 'mallory', '=' || n FROM n;
             WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows})
                 {insert} FROM n JOIN meta JOIN status_sponsors ON sponsor = 1000001 + n % {delegates}",
            rows = delegates * each,
        ))
        .unwrap();
}

const REVOCATIONS: &str = "INSERT INTO learned_entries (sponsor, issuer, list, place)
    SELECT sponsor, 'did:key:' || n, 'l', n";
const WANTED: &str = "INSERT INTO wanted_lists SELECT sponsor, 'did:key:' || n, 'l', high_water_us";

fn file_and_memory() -> [(Option<Folder>, SqliteLedger); 2] {
    let folder = Folder::new();
    let file = folder.ledger();
    [(Some(folder), file), (None, SqliteLedger::in_memory_first(DOMAIN, SKEW).unwrap())]
}

#[test]
fn where_the_revocations_are_full_a_floods_newest_make_room_for_others() {
    for (_folder, ledger) in file_and_memory() {
        let learn = |root: &str, delegate: &str, issuer: &str, index: u64| {
            let revoked = [entry(issuer, "l", index)].into();
            refuse_with(&ledger, &of(root, delegate, Learned { revoked, ..Learned::default() }));
        };
        let knows = |issuer: &str, index: u64| {
            ledger
                .snapshot(&nowhere(), at(100))
                .unwrap()
                .memory
                .revoked
                .entries
                .contains(&entry(issuer, "l", index))
        };
        // The flood's first is also taught by bob, and so stays whatever becomes of the flood.
        fill(&ledger, REVOCATIONS, 16, REVOKED_IN_ALL / 16);
        let last = u64::try_from(REVOKED_IN_ALL).unwrap();
        let last_issuer = format!("did:key:{last}");
        learn("alice", "bob", &last_issuer, last);
        learn("alice", "bob", "bob", 1);
        learn("alice", "bob", "alice", 2);
        learn("mallory", "17", "somebody", 3);
        assert!(knows("bob", 1) && knows("alice", 2) && knows("somebody", 3) && knows(&last_issuer, last));
        let connection = ledger.lock().unwrap();
        let counted = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, i64>(0)).unwrap();
        let all = i64::try_from(REVOKED_IN_ALL).unwrap();
        assert_eq!(counted("SELECT count(*) FROM learned_entries"), all);
        // Four newcomers, the four newest of the flood.
        let flood = "SELECT count(*) FROM learned_entries WHERE sponsor BETWEEN 1000001 AND 1000016";
        assert_eq!(counted(flood), all - 4);
        assert_eq!(counted(&format!("{flood} AND place <= {}", all - 64)), all - 64, "none of its old ones");
    }
}

#[test]
fn a_root_principals_own_lists_go_before_those_of_delegates() {
    for (_folder, ledger) in file_and_memory() {
        let want = |root: &str, delegate: &str, issuer: &str| {
            let wanted = [list(issuer, "l")].into();
            refuse_with(&ledger, &of(root, delegate, Learned { wanted, ..Learned::default() }));
            let lists = ledger.wanted_lists().unwrap();
            assert_eq!(lists.len(), WANTED_IN_ALL);
            lists.contains(&list(issuer, "l"))
        };
        refuse_with(&ledger, &Learned::default());
        // So many delegates that each has one, and nobody has more than a newcomer would.
        fill(&ledger, WANTED, WANTED_IN_ALL, 1);
        assert!(!want("mallory", "late", "late"));
        assert!(want("mallory", "late", "mallory"), "the root principal's own");
        assert!(want("alice", "late", "late"), "another root principal's delegate");
        let sponsors: i64 = ledger
            .lock()
            .unwrap()
            .query_row("SELECT count(*) FROM status_sponsors", (), |row| row.get(0))
            .unwrap();
        assert_eq!(usize::try_from(sponsors).unwrap(), WANTED_IN_ALL, "who holds nothing is forgotten");
    }
}

/// One row names whatever a decision changes. So many marks, each of another delegate, would not go into it.
#[test]
fn where_the_marks_are_full_no_more_are_forgotten_than_a_row_can_name() {
    const MARKS: &str = "INSERT INTO accepted_lists
        SELECT 'did:key:' || n, 'l', NULL, zeroblob(32), high_water_us, sponsor";
    let folder = Folder::new();
    let ledger = folder.ledger();
    fill(&ledger, MARKS, ACCEPTED_IN_ALL, 1);
    let later = 91 * 86_400;
    let ask = Ask::new("m").but(|ask| {
        (ask.now, ask.created, ask.not_after) = (at(later), at(later), at(later));
        ask.learned = of("carol", "bob", relies_on(Some(later), "a", later));
    });
    let report = admitted(ask.of(&ledger)).1;
    let gone = report.envelope.changes.iter().filter(|change| change.row.is_none()).count();
    assert_eq!(gone, 2 * 1_024, "marks and those who held them");
}

#[test]
fn altered_tables_are_not_opened() {
    for sql in [
        "DROP TABLE challenges",
        "CREATE TRIGGER forget AFTER INSERT ON messages BEGIN DELETE FROM messages; END",
        "DROP TABLE messages; CREATE TABLE messages (context, holder, message_id, digest, decision_id, peer, sequence)",
        "CREATE TABLE more (x)",
        "DROP TABLE revoked_entries",
        "DROP INDEX learned_entries_of_sponsor",
        "CREATE TRIGGER forget AFTER INSERT ON accepted_lists BEGIN DELETE FROM accepted_lists; END",
        // SQLite refuses the name, but not where its own table of the schema says so.
        "CREATE TRIGGER forget AFTER INSERT ON messages BEGIN DELETE FROM messages; END;
         PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET name = 'sqlite_forget', sql = replace(sql, 'forget', 'sqlite_forget')
         WHERE name = 'forget'",
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
    [
        "reports",
        "messages",
        "challenges",
        "counts",
        "learned_entries",
        "accepted_lists",
        "wanted_lists",
        "status_sponsors",
    ]
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
            "INSERT ON main.status_sponsors",
            "INSERT ON main.learned_entries",
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
                assert_eq!(contents(&ledger), [0; 8], "{when} {step}");
                ledger.lock().unwrap().execute_batch("DROP TRIGGER fault").unwrap();
            }
        }
        assert_eq!(admitted(ask.of(&ledger)).0.sequence(), 1);
        assert_eq!(contents(&ledger), [1; 8]);
    }
}

#[test]
fn a_missing_table_refuses() {
    // What only an auditor reads is missed when something is to be kept in it.
    let audit = ["evidence", "checkpoints", "states", "refusal_tallies", "spent"];
    let first = ["reports", "messages", "challenges", "counts", "revoked", "meta"];
    for table in first.into_iter().chain(LATER_TABLES).filter(|table| !audit.contains(table)) {
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
    assert_eq!(contents(&ledger), [0; 8]);
}

#[test]
fn a_read_only_file_is_not_opened() {
    let folder = Folder::new();
    drop(folder.ledger());
    let connection = Connection::open_with_flags(folder.file(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    unusable(SqliteLedger::new(connection, None, DOMAIN, SKEW), "read-only");
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
