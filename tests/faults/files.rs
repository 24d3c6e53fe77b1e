//! Files that are no ledger, are broken, or may not be written: refused clearly, and never allowed upon without a record.

use crate::faulty_calls::beside;
use crate::worker::{Answer, Chance, Folder, Worker, shim};
use crate::{example, how_many, long, proof};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A ledger that allowed messages `0..count`, closed.
fn ledger(path: &Path, count: usize) -> Vec<Answer> {
    let engine = example::engine(Arc::new(example::create(path).unwrap())).unwrap();
    let answers: Vec<_> =
        (0..count).map(|number| Answer::of(&engine, number, example::octets(number))).collect();
    assert!(answers.iter().all(Answer::is_allow));
    answers
}

/// The same, but its process was killed, so that all of it is in the WAL that it left.
fn killed_ledger(path: &Path, count: usize) -> Vec<Answer> {
    drop(example::create(path).unwrap());
    let mut worker = Worker::start();
    assert_eq!(worker.open(path).last.as_deref(), Some("opened"));
    let answers = worker.decide(0..count).answers;
    worker.kill();
    assert!(fs::metadata(beside(path, "-wal")).unwrap().len() > 0);
    assert!(answers.len() == count && answers.iter().all(Answer::is_allow));
    answers
}

fn refusal_to_open(path: &Path) -> String {
    match example::open(path) {
        Err(error) => error,
        Ok(_) => panic!("{} opens", path.display()),
    }
}

#[test]
fn what_is_no_ledger_is_refused_and_left_as_it_is() {
    let folder = Folder::new("strangers");
    let path = folder.file("ledger.db");
    fs::write(&path, "").unwrap();
    assert!(refusal_to_open(&path).contains("not a Writgate ledger"));
    fs::write(&path, "Notes of a meeting.\n".repeat(500)).unwrap();
    assert!(refusal_to_open(&path).contains("not a database"));
    assert_eq!(fs::read(&path).unwrap(), "Notes of a meeting.\n".repeat(500).as_bytes());
    fs::remove_file(&path).unwrap();
    assert!(refusal_to_open(&path).contains("cannot be found"));
    assert!(!path.exists(), "opening makes no file");
    fs::create_dir(&path).unwrap();
    assert!(refusal_to_open(&path).contains("unable to open"));
    assert!(example::create(&path).is_err());
    fs::remove_dir(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE meta (domain TEXT); INSERT INTO meta VALUES ('theirs');").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    assert!(refusal_to_open(&path).contains("not a Writgate ledger"));
    assert!(example::create(&path).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_leads_to_the_one_ledger() {
    let folder = Folder::new("links");
    let (path, link) = (folder.file("ledger.db"), folder.file("link.db"));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(refusal_to_open(&link).contains("cannot be found"));
    assert!(example::create(&link).is_err(), "nothing is made through a link");
    assert!(!path.exists());
    let mut answers = ledger(&path, 2);
    let [by_name, by_link] = [&path, &link].map(|path| Arc::new(example::open(path).unwrap()));
    let engines = [by_name, by_link].map(|ledger| example::engine(ledger).unwrap());
    for number in 0..4 {
        answers.extend(engines.iter().map(|engine| Answer::of(engine, number, example::octets(number))));
    }
    assert_eq!(answers.iter().filter(|answer| answer.is_allow()).count(), 4);
    assert!(!beside(&link, "-wal").exists(), "both names have one WAL");
    drop(engines);
    proof::holds_and_goes_on(&path, &answers, 0..6);
}

#[test]
fn a_ledger_that_may_not_be_written_is_refused() {
    let Some(shim) = shim() else { return };
    let folder = Folder::new("read-only");
    let path = folder.file("ledger.db");
    let answers = ledger(&path, 2);
    let mut worker = Worker::on_faulty_disk(shim, &path);
    // The file may not be written; then nothing may be made beside it.
    for fault in ["read-only", "no-new"] {
        worker.order(&format!("arm {fault}/0"));
        let said = worker.open(&path).last.unwrap();
        assert!(
            said.starts_with("unopened") && (said.contains("read") || said.contains("unable to open")),
            "{said}"
        );
        worker.order(&format!("create {}", folder.file("ledger.db-2").display()));
        assert!(worker.listen().last.unwrap().contains("cannot be made"));
    }
    worker.order("arm off");
    assert_eq!(worker.open(&path).last.as_deref(), Some("opened"));
    worker.kill();
    proof::holds_and_goes_on(&path, &answers, 0..4);
}

#[test]
fn a_truncated_ledger_is_refused_or_found() {
    let folder = Folder::new("truncated");
    let (whole, path) = (folder.file("whole.db"), folder.file("ledger.db"));
    let answers = ledger(&whole, 6);
    let octets = fs::read(&whole).unwrap();
    let stride = if long() { 512 } else { 4_096 };
    let (mut refused, mut cases) = (0, 0);
    for length in (0..octets.len()).step_by(stride).flat_map(|length| [length, length + 100]) {
        write_alone(&path, &octets[..length.min(octets.len() - 1)]);
        cases += 1;
        refused += usize::from(refused_or_harmless(&path, &whole, &answers));
    }
    println!("{cases} lengths: {refused} refused at the start");
    assert!(refused > 0);
}

/// Every octet may be wrong. Whatever it was, no message is allowed a second time, no allow goes without its record, and
/// a row that is not what was written is found.
#[test]
fn a_flipped_octet_is_refused_or_found_and_lets_no_replay_in() {
    let folder = Folder::new("flipped");
    let (whole, path) = (folder.file("whole.db"), folder.file("ledger.db"));
    let answers = ledger(&whole, 3);
    let octets = fs::read(&whole).unwrap();
    let mut chance = Chance::of_this_run();
    // The whole header, and places all over the file.
    let spread = how_many("WRITGATE_FLIPS", 150, 20_000);
    let places = (0..100).chain((0..spread).map(|_| chance.below(octets.len()))).collect::<Vec<_>>();
    let mut refused = 0;
    for place in &places {
        let mut broken = octets.clone();
        broken[*place] ^= 1 << chance.below(8);
        write_alone(&path, &broken);
        println!("octet {place}: {:02x} for {:02x}", broken[*place], octets[*place]);
        refused += usize::from(refused_or_harmless(&path, &whole, &answers));
    }
    println!("{} flips: {refused} refused at the start", places.len());
    assert!(refused > 0);
}

/// What was only in a WAL is lost with it. The ledger cannot know, but whoever kept a permit's row number and hash can.
#[test]
fn a_deleted_wal_is_found_by_the_last_permit() {
    let folder = Folder::new("no-wal");
    let path = folder.file("ledger.db");
    let answers = killed_ledger(&path, 3);
    fs::remove_file(beside(&path, "-wal")).unwrap();
    let Answer::Allow { sequence, .. } = &answers[2] else { panic!("{answers:?}") };
    let ledger = example::open(&path).unwrap();
    let (last, _) = ledger.verify_chain().unwrap();
    assert!(last < *sequence, "the chain is shorter than the permit says");
    drop(ledger);
    proof::holds_and_goes_on(&path, &[], 0..4);
}

/// SQLite does not know whose WAL it reads. Where it has some pages of another ledger, the chain is broken, for it begins
/// with the ledger's identity. Where it has all of them, the file is now the other ledger: the last permit's row is gone.
#[test]
fn the_wal_of_another_ledger_is_found() {
    let folder = Folder::new("foreign-wal");
    for count in [1, 2, 5] {
        let (path, other) = (folder.file("ledger.db"), folder.file("other.db"));
        let answers = ledger(&path, 3);
        killed_ledger(&other, count);
        fs::copy(beside(&other, "-wal"), beside(&path, "-wal")).unwrap();
        let before = fs::read(&path).unwrap();
        match example::open(&path) {
            Err(error) => println!("{count} rows in it: {error}"),
            Ok(ledger) => {
                let found = ledger.verify_chain();
                println!("{count} rows in it: {found:?}");
                let now = rows(&path).unwrap_or_default();
                assert!(found.is_err() || now == rows(&other).unwrap(), "a mixture of two ledgers passes");
                let ours = |row: &RawRow| answers.iter().any(|answer| answer.decision_id() == row.1);
                assert!(found.is_err() || !now.iter().any(ours));
                drop(ledger);
                allows_nothing_without_record(&path);
            }
        }
        // The file itself is as it was, or the rows are gone: in both cases it is known from the permits.
        fs::write(&path, before).unwrap();
        for ending in ["-wal", "-shm"] {
            let _ = fs::remove_file(beside(&path, ending));
        }
        proof::holds_and_goes_on(&path, &answers, 0..6);
        for name in [&path, &other] {
            write_alone(name, b"");
            fs::remove_file(name).unwrap();
        }
    }
}

/// Writes a file and removes what is beside it.
fn write_alone(path: &Path, octets: &[u8]) {
    for ending in ["-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(beside(path, ending));
    }
    fs::write(path, octets).unwrap();
}

/// A broken copy of `whole`: refused at the start (true); or it opens, and then no replay of the answered allows is
/// allowed, a fresh allow is recorded, and changed rows are found.
fn refused_or_harmless(path: &Path, whole: &Path, answers: &[Answer]) -> bool {
    let Ok(ledger) = example::open(path) else { return true };
    let chain = ledger.verify_chain();
    drop(ledger);
    let rows = |path| rows(path).ok();
    match (chain, rows(path), rows(whole)) {
        // Rows that are lost at the end leave a shorter chain: that is found by the last permit.
        (Ok((last, _)), Some(now), Some(before)) => {
            let last = usize::try_from(last).unwrap();
            assert!(now.len() == last && before.starts_with(&now), "a changed row passes");
        }
        (Ok(_), _, _) => panic!("the chain holds over rows that cannot be read"),
        (Err(error), _, _) => println!("found: {error}"),
    }
    let Ok(engine) = example::open(path).and_then(|ledger| example::engine(Arc::new(ledger))) else {
        return true;
    };
    for answer in answers {
        let number = answer.number();
        let again = Answer::of(&engine, number, example::octets(number));
        assert!(!again.is_allow(), "a replay is allowed: {again:?}");
    }
    drop(engine);
    allows_nothing_without_record(path);
    false
}

/// A fresh message gets a refusal, or an allow that is in the file.
fn allows_nothing_without_record(path: &Path) {
    let Ok(engine) = example::open(path).and_then(|ledger| example::engine(Arc::new(ledger))) else { return };
    let answer = Answer::of(&engine, 100, example::octets(100));
    drop(engine);
    if let Answer::Allow { sequence, row_hash, decision_id, .. } = &answer {
        let connection = rusqlite::Connection::open(path).unwrap();
        let recorded: (String, Vec<u8>) = connection
            .query_row(
                "SELECT decision_id, row_hash FROM reports WHERE sequence = ?1",
                [sequence.to_string()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap_or_else(|error| panic!("{answer:?}: {error}"));
        let recorded_hash: String = recorded.1.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!((&recorded.0, &recorded_hash), (decision_id, row_hash));
    }
}

type RawRow = (i64, String, Vec<u8>, Vec<u8>, Vec<u8>);

/// Every row as it stands, octet for octet.
fn rows(path: &Path) -> rusqlite::Result<Vec<RawRow>> {
    let connection = rusqlite::Connection::open(path)?;
    connection
        .prepare(
            "SELECT sequence, decision_id, previous_hash, row_hash, CAST(report AS BLOB) FROM reports ORDER BY sequence",
        )?
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?
        .collect()
}
