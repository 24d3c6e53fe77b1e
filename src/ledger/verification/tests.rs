//! A ledger with rows of every kind, and everything that may be done to its file by somebody who can write it.

use super::*;
use crate::audit::{Blob, CheckpointSigner, CheckpointV1, Event, EvidenceDigests, KeyChange, Record, verify};
use crate::credential::issue::SigningKey;
use crate::ledger::chain::{Identity, first_link, row_hash};
use crate::ledger::conformance::quotas::of;
use crate::ledger::conformance::{
    Ask, Folder, admitted, at, entry, list, once, one_of_each, refuse_with, refused, relies_on,
};
use crate::ledger::{Checkpoints, Evidence, Learned, Ledger, Negotiated, Recorded, SqliteLedger};
use crate::message::digest::jcs;
use crate::protocol::conversation::{ConversationKey, Exchange, Role};
use crate::shape::tests::Numbers;
use rusqlite::types::Value;

/// A closed ledger, and what is known of it elsewhere.
struct Whole {
    folder: Folder,
    outside: PathBuf,
    /// Rows as permits gave them.
    permits: Vec<(u64, Digest)>,
}

fn signer(seed: u8) -> CheckpointSigner {
    CheckpointSigner::new(SigningKey::from_seed([seed; 32])).unwrap()
}

fn signed(folder: &Folder) -> SqliteLedger {
    let checkpoints = Checkpoints::new(signer(1)).with_interval(5, 60).with_file(outside(folder));
    folder.ledger().with_checkpoints(checkpoints, at(0)).unwrap()
}

fn outside(folder: &Folder) -> PathBuf {
    folder.file().with_file_name("checkpoints.jsonl")
}

fn evidence(name: &str) -> Evidence {
    let blobs: Vec<_> = ["message", "request", "configuration"]
        .map(|kind| Blob::new(format!("the {kind} of {name}").into_bytes()))
        .into();
    let digest = |place: usize| blobs[place].digest();
    let digests =
        EvidenceDigests { kept: true, message: digest(0), request: digest(1), configuration: digest(2) };
    Evidence { digests, blobs }
}

/// An allow that counts, learns and keeps evidence.
fn rich(ledger: &SqliteLedger, name: &str, rests_on: u64) -> Recorded {
    let ask = Ask::new(name).but(|ask| {
        ask.exercised = [("p".to_owned(), once(Some(rests_on)))].into();
        ask.learned = of(
            "alice",
            "delegate",
            Learned {
                revoked: [entry("issuer", name, 7)].into(),
                wanted: [list("issuer", name)].into(),
                ..relies_on(Some(10), "list", 20)
            },
        );
    });
    let mut candidate = ask.candidate();
    candidate.evidence = Some(evidence(name));
    admitted(ledger.admit(candidate)).0
}

fn plain(ledger: &SqliteLedger, name: &str) -> (u64, Digest) {
    let (recorded, _) = admitted(Ask::new(name).of(ledger));
    (recorded.sequence(), recorded.row_hash())
}

impl Whole {
    fn new() -> Self {
        let folder = Folder::new();
        let mut ledger = signed(&folder);
        for (name, count) in [("a", 0), ("b", 1), ("c", 2)] {
            rich(&ledger, name, count);
        }
        refuse_with(&ledger, &Learned::default());
        refused(Ask::new("a").of(&ledger));
        let with = |peer: &str| ConversationKey {
            role: Role::Agent,
            peer: peer.into(),
            context: Some("context".to_owned() + peer),
        };
        let settle = |peer: &str, number: usize| {
            let hash = format!("sha256:{number:064x}").parse().unwrap();
            let step = &mut |before: Option<Exchange>| {
                Some(Exchange::offered_by_peer(before, true, true, at(1_000)))
            };
            ledger.negotiate(&with(peer), &hash, at(100), step).unwrap()
        };
        for peer in ["bound", "bound as well"] {
            for number in 0..16 {
                settle(peer, number);
            }
            assert_eq!(settle(peer, 16), Negotiated::Full);
        }
        let mut revoked = one_of_each();
        revoked.ids.insert("another".into());
        let second = crate::ledger::conformance::policy("bob", "p");
        revoked.policies.insert(second);
        revoked.entries.insert(entry("bob", "l", 8));
        ledger.mark_revoked(&revoked, at(100)).unwrap();
        ledger.raise_floor(at(0)).unwrap();
        ledger.rotate_key(signer(2), at(100)).unwrap();
        let mut second = Ask::new("second policy");
        second.exercised = [("q".to_owned(), once(None))].into();
        second.learned =
            of("bob", "other", Learned { wanted: [list("i", "u")].into(), ..Learned::default() });
        second.learned.lists =
            [(list("bob", "m"), relies_on(None, "other", 30).lists.into_values().next().unwrap())].into();
        admitted(second.of(&ledger));
        let mut permits: Vec<_> = ["d", "e", "f"].map(|name| plain(&ledger, name)).into();
        ledger.make_checkpoint(at(101)).unwrap().unwrap();
        permits.push(plain(&ledger, "h"));
        ledger.make_checkpoint(at(102)).unwrap().unwrap();
        drop(ledger);
        Self { outside: outside(&folder), folder, permits }
    }

    fn path(&self) -> PathBuf {
        self.folder.file()
    }

    /// Verifies a copy of the file after something was done to it.
    fn after(&self, done: impl FnOnce(&Connection)) -> Verification {
        self.after_with(&VerifyOptions::default(), done)
    }

    fn after_with(&self, options: &VerifyOptions, done: impl FnOnce(&Connection)) -> Verification {
        let copy = self.path().with_file_name(uuid::Uuid::new_v4().to_string());
        fs::copy(self.path(), &copy).unwrap();
        let connection = raw(&copy);
        done(&connection);
        drop(connection);
        let verification = verify(&copy, options).unwrap();
        fs::remove_file(&copy).unwrap();
        verification
    }

    /// Everything that is known elsewhere, one at a time.
    fn elsewhere(&self) -> [(&'static str, VerifyOptions); 3] {
        let none = VerifyOptions::default;
        let keys = vec![signer(1).public_key(), signer(2).public_key()];
        [
            ("expect", VerifyOptions { expected: self.permits.clone(), ..none() }),
            ("checkpoints", VerifyOptions { checkpoints: Some(self.outside.clone()), ..none() }),
            ("key", VerifyOptions { keys, ..none() }),
        ]
    }
}

fn raw(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF;",
        )
        .unwrap();
    connection
}

#[track_caller]
fn names(verification: &Verification, table: &str) {
    assert!(
        verification.findings.iter().any(|finding| finding.table == table),
        "{table}: {:#?}",
        verification.findings
    );
}

#[track_caller]
fn holds(verification: &Verification) {
    assert!(verification.holds(), "{:#?}", verification.findings);
}

/// The tables of which every row is covered.
const COVERED: [&str; 18] = [
    "meta",
    "reports",
    "messages",
    "challenges",
    "counts",
    "revoked",
    "revoked_policies",
    "revoked_entries",
    "status_sponsors",
    "learned_entries",
    "accepted_lists",
    "wanted_lists",
    "status_memory",
    "exchanges",
    "bound_peers",
    "evidence",
    "checkpoints",
    "states",
];

/// A table's columns; those of the key first where asked.
fn columns(connection: &Connection, table: &str, of_key: bool) -> Vec<String> {
    let mut statement = connection.prepare(&format!("PRAGMA table_info({table})")).unwrap();
    statement
        .query_map((), |row| Ok((row.get::<_, String>(1)?, row.get::<_, i64>(5)?)))
        .unwrap()
        .map(Result::unwrap)
        .filter(|(_, key)| !of_key || *key > 0)
        .map(|(name, _)| name)
        .collect()
}

fn rows(connection: &Connection, table: &str) -> Vec<Vec<Value>> {
    let key = columns(connection, table, true).join(", ");
    let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY {key}")).unwrap();
    let columns = statement.column_count();
    statement
        .query_map((), |row| (0..columns).map(|column| row.get(column)).collect::<Result<Vec<Value>, _>>())
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// `a = ? AND b = ?` for the key of a row.
fn delete(connection: &Connection, table: &str, row: &[Value]) {
    let names = columns(connection, table, false);
    let same: Vec<_> =
        names.iter().enumerate().map(|(place, name)| format!("{name} IS ?{}", place + 1)).collect();
    let sql = format!("DELETE FROM {table} WHERE {}", same.join(" AND "));
    assert_eq!(connection.execute(&sql, rusqlite::params_from_iter(row)).unwrap(), 1);
}

fn insert(connection: &Connection, table: &str, row: &[Value]) -> rusqlite::Result<usize> {
    let places: Vec<_> = (1..=row.len()).map(|place| format!("?{place}")).collect();
    let sql = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
    connection.execute(&sql, rusqlite::params_from_iter(row))
}

/// Another value of the same type.
fn other(value: &Value) -> Value {
    match value {
        Value::Null => Value::Integer(1),
        Value::Integer(number) => Value::Integer(number + 1_000),
        Value::Real(number) => Value::Real(number + 1.0),
        Value::Text(text) => Value::Text(format!("{text}x")),
        Value::Blob(octets) => Value::Blob(
            octets.iter().enumerate().map(|(place, octet)| octet ^ u8::from(place == 0)).collect(),
        ),
    }
}

/// What nothing rests on, and nothing covers.
fn is_free(table: &str, column: &str) -> bool {
    (table, column) == ("evidence", "number")
}

#[test]
fn a_ledger_that_nobody_touched_holds() {
    let whole = Whole::new();
    let verification = whole.after(|_| ());
    holds(&verification);
    assert_eq!(verification.covered, verification.last_row);
    assert_eq!(verification.keys, [signer(1).public_key(), signer(2).public_key()]);
    assert!(verification.notes.is_empty(), "{:?}", verification.notes);
    for (_, options) in whole.elsewhere() {
        holds(&whole.after_with(&options, |_| ()));
    }
    let connection = raw(&whole.path());
    for table in COVERED.iter().filter(|table| !["states"].contains(table)) {
        assert!(!rows(&connection, table).is_empty(), "{table} has no row to tamper with");
    }
}

#[test]
fn a_changed_cell_of_any_table_is_named() {
    let whole = Whole::new();
    let connection = raw(&whole.path());
    for table in COVERED {
        let all = rows(&connection, table);
        let places: std::collections::BTreeSet<_> = [0, all.len() / 2, all.len().saturating_sub(1)]
            .into_iter()
            .filter(|place| *place < all.len())
            .collect();
        for row in places.into_iter().map(|place| &all[place]) {
            for (place, column) in columns(&connection, table, false).iter().enumerate() {
                if is_free(table, column) {
                    continue;
                }
                let mut edited = row.clone();
                edited[place] = other(&row[place]);
                let verification = whole.after(|file| {
                    delete(file, table, row);
                    insert(file, table, &edited).unwrap();
                });
                names(&verification, if table == "meta" { meta_table(&verification) } else { table });
            }
        }
    }
}

/// An edited identity breaks the chain at its first row.
fn meta_table(verification: &Verification) -> &'static str {
    match verification.findings.iter().any(|finding| finding.table == "meta") {
        true => "meta",
        false => "reports",
    }
}

#[test]
fn a_deleted_row_of_any_table_is_named() {
    let whole = Whole::new();
    let connection = raw(&whole.path());
    for table in COVERED {
        let mut all = rows(&connection, table);
        if table == "checkpoints" {
            // Nothing in the file says that there was a last one, if it came before it was due.
            let last = all.pop().unwrap();
            let cut = |options: &VerifyOptions| whole.after_with(options, |file| delete(file, table, &last));
            let outside =
                VerifyOptions { checkpoints: Some(whole.outside.clone()), ..VerifyOptions::default() };
            names(&cut(&outside), "outside");
            assert!(!cut(&VerifyOptions::default()).notes.is_empty());
        }
        for row in &all {
            names(&whole.after(|file| delete(file, table, row)), table);
        }
    }
}

#[test]
fn an_inserted_row_of_any_table_is_named() {
    let whole = Whole::new();
    let connection = raw(&whole.path());
    for table in COVERED {
        let Some(row) = rows(&connection, table).pop() else { continue };
        let names_of_columns = columns(&connection, table, false);
        // Whatever must be unique is made another.
        let unique: &[&str] = match table {
            "messages" | "challenges" => &["sequence"],
            "reports" => &["decision_id"],
            "evidence" => &["digest"],
            "status_sponsors" => &["root"],
            "learned_entries" => &["list"],
            _ => &[],
        };
        let mut made = row.clone();
        for column in
            columns(&connection, table, true).iter().map(String::as_str).chain(unique.iter().copied())
        {
            let place = names_of_columns.iter().position(|name| name == column).unwrap();
            made[place] = other(&row[place]);
        }
        names(
            &whole.after(|file| {
                insert(file, table, &made).unwrap();
            }),
            table,
        );
    }
    let state = "[]";
    let named = whole.after(|file| {
        let row = (Digest::of(state).as_bytes().to_vec(), state);
        file.execute("INSERT INTO states VALUES (?1, ?2)", row).unwrap();
    });
    names(&named, "states");
    // Evidence that is whole, and that nobody names, changes nothing: a note names it.
    let kept = whole.after(|file| {
        let row = (Digest::of("stray").as_bytes().to_vec(), b"stray".to_vec());
        file.execute("INSERT INTO evidence (digest, octets) VALUES (?1, ?2)", row).unwrap();
    });
    holds(&kept);
    assert!(
        kept.notes.iter().any(|note| note.contains(&Digest::of("stray").to_string())),
        "{:?}",
        kept.notes
    );
}

#[test]
fn two_swapped_rows_of_any_table_are_named() {
    let whole = Whole::new();
    let connection = raw(&whole.path());
    for table in COVERED {
        let all = rows(&connection, table);
        let key = columns(&connection, table, true);
        let is_key: Vec<bool> =
            columns(&connection, table, false).iter().map(|column| key.contains(column)).collect();
        let is_whole_key = is_key.iter().all(|is_key| *is_key);
        // A table of evidence is by content: the number of a piece says nothing.
        if all.len() < 2 || is_whole_key || table == "evidence" {
            continue;
        }
        let (one, two) = (&all[0], &all[all.len() - 1]);
        let with_key_of = |key: &[Value], rest: &[Value]| -> Vec<Value> {
            is_key
                .iter()
                .zip(key.iter().zip(rest))
                .map(|(is_key, (k, r))| if *is_key { k } else { r }.clone())
                .collect()
        };
        let (first, second) = (with_key_of(one, two), with_key_of(two, one));
        if first == *one {
            continue;
        }
        let verification = whole.after(|file| {
            delete(file, table, one);
            delete(file, table, two);
            insert(file, table, &first).unwrap();
            insert(file, table, &second).unwrap();
        });
        names(&verification, table);
    }
}

#[test]
fn rows_cut_off_at_the_end_of_any_table_are_named() {
    let whole = Whole::new();
    let connection = raw(&whole.path());
    for table in COVERED {
        let all = rows(&connection, table);
        for cut in 1..=all.len() {
            let verification = whole.after(|file| {
                all.iter().rev().take(cut).for_each(|row| delete(file, table, row));
            });
            // The last checkpoint alone may be cut off unseen where it came before it was due.
            if table != "checkpoints" || cut > 1 {
                names(&verification, table);
            }
        }
    }
}

#[test]
fn an_erased_piece_of_evidence_needs_a_row_that_says_so() {
    let whole = Whole::new();
    names(
        &whole.after(|file| {
            file.execute("UPDATE evidence SET octets = NULL WHERE number = 2", ()).unwrap();
        }),
        "evidence",
    );
}

/// Edits at random: of one cell, or a row that goes, comes twice or changes places.
#[test]
fn a_thousand_random_edits_are_found() {
    let edits = if std::env::var_os("WRITGATE_LONG").is_some() { 1_000 } else { 150 };
    let whole = Whole::new();
    let connection = raw(&whole.path());
    let tables: Vec<_> = COVERED
        .iter()
        .map(|table| (*table, columns(&connection, table, false), rows(&connection, table)))
        .filter(|(_, _, rows)| !rows.is_empty())
        .collect();
    let mut numbers = Numbers(5);
    for edit in 0..edits {
        let (table, columns, all) = &tables[numbers.below(tables.len())];
        let place = numbers.below(all.len());
        let row = &all[place];
        let column = numbers.below(columns.len());
        let removes = numbers.below(4) == 0;
        if is_free(table, &columns[column]) || (removes && *table == "checkpoints" && place + 1 == all.len())
        {
            continue;
        }
        let mut edited = row.clone();
        edited[column] = match (&row[column], numbers.below(3)) {
            (Value::Text(text), 0) => Value::Text(text.chars().rev().chain(['y']).collect()),
            (Value::Text(text), 1) => Value::Text(text.chars().skip(1).collect()),
            (Value::Integer(number), 0) => Value::Integer(number - 1),
            (Value::Blob(octets), _) if !octets.is_empty() => {
                let mut octets = octets.clone();
                let place = numbers.below(octets.len());
                octets[place] ^= 1 << numbers.below(8);
                Value::Blob(octets)
            }
            (value, _) => other(value),
        };
        if edited == *row {
            continue;
        }
        let mut inserted = false;
        let verification = whole.after(|file| {
            delete(file, table, row);
            // What a constraint does not let in leaves the row removed.
            if !removes {
                inserted = insert(file, table, &edited).is_ok();
            }
        });
        // Nothing in the file says that there was a last checkpoint, if it came before it was due.
        if !inserted && *table == "checkpoints" && place + 1 == all.len() {
            continue;
        }
        assert!(!verification.holds(), "edit {edit} of {table}.{}: {row:?} {edited:?}", columns[column]);
    }
}

/// Octets of the file itself: whatever reads otherwise is found, and nothing panics.
#[test]
fn flipped_octets_of_the_file_never_panic_and_never_hide() {
    let whole = Whole::new();
    let octets = fs::read(whole.path()).unwrap();
    let before = everything(&Connection::open(whole.path()).unwrap());
    let copy = whole.path().with_file_name("flipped.sqlite");
    let mut numbers = Numbers(7);
    for _ in 0..if std::env::var_os("WRITGATE_LONG").is_some() { 2_000 } else { 100 } {
        let mut flipped = octets.clone();
        let place = numbers.below(flipped.len());
        flipped[place] ^= 1 << numbers.below(8);
        fs::write(&copy, &flipped).unwrap();
        let holds = verify(&copy, &VerifyOptions::default()).is_ok_and(|verification| verification.holds());
        if holds {
            let now = everything(&Connection::open(&copy).unwrap());
            assert!(before == now, "a flip at {place} changed what is read, and was not found");
        }
        for beside in ["-wal", "-shm"] {
            let _ = fs::remove_file(copy.with_file_name(format!("flipped.sqlite{beside}")));
        }
    }
}

fn everything(connection: &Connection) -> Vec<Vec<Vec<Value>>> {
    COVERED.iter().map(|table| rows(connection, table)).collect()
}

/// Computes every row's hash anew, as somebody would who edits a row; and every checkpoint, with a key if there is one.
fn recompute(file: &Connection, key: Option<&CheckpointSigner>) {
    let identity = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?))
    };
    let (ledger_id, domain, first_floor_us, first_high_water_us) = file
        .query_row("SELECT ledger_id, domain, first_floor_us, first_high_water_us FROM meta", (), identity)
        .unwrap();
    let identity = Identity { ledger_id: &ledger_id, domain: &domain, first_floor_us, first_high_water_us };
    let mut previous = first_link(&identity).unwrap();
    let all: Vec<(i64, String)> = file
        .prepare("SELECT sequence, report FROM reports ORDER BY sequence")
        .unwrap()
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (sequence, mut text) in all {
        if let (Some(key), Ok(Record::Event(mut event))) = (key, Record::read(&text))
            && let Event::Key { public_key, previous: before, signature } = &mut event.event
        {
            // One key for the whole life: each change of key is a change to itself.
            *public_key = key.public_key();
            if before.is_some() {
                let place = (sequence.try_into().unwrap(), previous);
                let change =
                    KeyChange::new((&ledger_id, &domain), place, public_key, public_key).octets().unwrap();
                *signature = Some(key.signature_over(&change));
                *before = Some(public_key.clone());
            }
            text = String::from_utf8(jcs(&event).unwrap()).unwrap();
        }
        let hash = row_hash(previous, text.as_bytes());
        file.execute(
            "UPDATE reports SET report = ?2, previous_hash = ?3, row_hash = ?4 WHERE sequence = ?1",
            (sequence, &text, previous.as_bytes(), hash.as_bytes()),
        )
        .unwrap();
        previous = hash;
    }
    let Some(key) = key else { return };
    let all: Vec<(i64, String)> = file
        .prepare("SELECT number, checkpoint FROM checkpoints ORDER BY number")
        .unwrap()
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut previous = None;
    for (number, text) in all {
        let mut checkpoint = CheckpointV1::read(&text).unwrap();
        let sequence = i64::try_from(checkpoint.sequence).unwrap();
        let hash = file
            .query_row("SELECT row_hash FROM reports WHERE sequence = ?1", (sequence,), |row| row.get(0))
            .unwrap();
        checkpoint.row_hash = Digest::from_bytes(hash);
        checkpoint.previous = previous;
        let text = key.sign(checkpoint).unwrap().text().unwrap();
        file.execute("UPDATE checkpoints SET checkpoint = ?2 WHERE number = ?1", (number, &text)).unwrap();
        previous = Some(Digest::of(&text));
    }
}

/// Another peer in the report of an allow.
fn edit_a_report(file: &Connection, sequence: u64) {
    let edited = file
        .execute(
            "UPDATE reports SET report = replace(report, '\"peer\":\"', '\"peer\":\"not ') WHERE sequence = ?1",
            (i64::try_from(sequence).unwrap(),),
        )
        .unwrap();
    assert_eq!(edited, 1);
}

#[test]
fn a_chain_that_was_computed_anew_is_found_by_its_checkpoints() {
    let whole = Whole::new();
    let verification = whole.after(|file| {
        edit_a_report(file, 2);
        recompute(file, None);
    });
    names(&verification, "checkpoints");
}

#[test]
fn a_ledger_that_was_signed_anew_with_another_key_is_found_from_elsewhere() {
    let whole = Whole::new();
    let attack = |file: &Connection| {
        edit_a_report(file, 2);
        recompute(file, Some(&signer(9)));
    };
    // The file alone agrees with itself: whoever owns it can write all of it.
    holds(&whole.after(attack));
    for (known, options) in whole.elsewhere() {
        let verification = whole.after_with(&options, attack);
        assert!(!verification.holds(), "{known}");
    }
}

#[test]
fn without_a_key_a_chain_that_was_computed_anew_is_found_by_one_row() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    let permits = ["a", "b", "c"].map(|name| plain(&ledger, name));
    drop(ledger);
    let whole = Whole { outside: outside(&folder), folder, permits: permits.into() };
    let attack = |file: &Connection| {
        edit_a_report(file, 1);
        recompute(file, None);
    };
    let alone = whole.after(attack);
    holds(&alone);
    assert!(alone.notes.iter().any(|note| note.contains("no checkpoint")), "{:?}", alone.notes);
    let options = VerifyOptions { expected: vec![permits[2]], ..VerifyOptions::default() };
    names(&whole.after_with(&options, attack), "outside");
}

/// Rows, what they reserved and their checkpoints go, and `meta` says so.
fn cut_off_the_last_row(file: &Connection) {
    let last: i64 = file.query_row("SELECT max(sequence) FROM reports", (), |row| row.get(0)).unwrap();
    for table in ["reports", "messages", "challenges", "checkpoints"] {
        file.execute(&format!("DELETE FROM {table} WHERE sequence >= ?1"), (last,)).unwrap();
    }
    file.execute("UPDATE meta SET reserved = reserved - 1", ()).unwrap();
}

#[test]
fn rows_that_were_cut_off_with_their_checkpoints_are_found_from_elsewhere() {
    let whole = Whole::new();
    holds(&whole.after(cut_off_the_last_row));
    for (known, options) in whole.elsewhere().into_iter().take(2) {
        let verification = whole.after_with(&options, cut_off_the_last_row);
        names(&verification, "outside");
        assert!(verification.findings.iter().any(|finding| finding.problem.contains("cut off")), "{known}");
    }
}

#[test]
fn checkpoints_that_were_cut_off_are_found_once_another_was_promised() {
    let whole = Whole::new();
    let verification = whole.after(|file| {
        file.execute("DELETE FROM checkpoints WHERE number > 2", ()).unwrap();
    });
    assert!(
        verification.findings.iter().any(|finding| finding.problem.contains("promised")),
        "{verification:#?}"
    );
}

#[test]
fn reserved_ids_that_were_deleted_are_found_whatever_meta_says() {
    let whole = Whole::new();
    let verification = whole.after(|file| {
        file.execute("DELETE FROM messages WHERE message_id = 'd'", ()).unwrap();
        file.execute("DELETE FROM challenges WHERE challenge = 'challenge of d'", ()).unwrap();
        file.execute("UPDATE meta SET reserved = reserved - 1", ()).unwrap();
    });
    names(&verification, "messages");
    names(&verification, "challenges");
    // Nor do they pass as pruned.
    let verification = whole.after(|file| {
        let through = whole.permits[0].0;
        file.execute("DELETE FROM messages WHERE sequence <= ?1", (through as i64,)).unwrap();
        file.execute("DELETE FROM challenges WHERE sequence <= ?1", (through as i64,)).unwrap();
        file.execute("UPDATE meta SET pruned_through = ?1", (through as i64,)).unwrap();
        file.execute("UPDATE meta SET reserved = (SELECT count(*) FROM messages)", ()).unwrap();
    });
    names(&verification, "meta");
}

#[test]
fn altered_tables_are_found() {
    let whole = Whole::new();
    for alteration in [
        "CREATE TABLE more (a)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON reports BEGIN SELECT 1; END",
        "DROP TABLE states",
        "ALTER TABLE counts ADD COLUMN more INTEGER",
        "DROP TABLE reports; CREATE VIEW reports AS WITH RECURSIVE n (sequence) AS
         (SELECT 1 UNION ALL SELECT sequence + 1 FROM n) SELECT sequence, 1 AS decision_id, 1 AS previous_hash,
         1 AS row_hash, 1 AS report FROM n",
    ] {
        names(&whole.after(|file| file.execute_batch(alteration).unwrap()), "file");
    }
    holds(&whole.after(|file| file.execute_batch("ANALYZE").unwrap()));
}

#[test]
fn what_was_put_into_the_schema_under_a_name_of_sqlites_own_is_found() {
    let whole = Whole::new();
    for hidden in [
        "('trigger', 'sqlite_t', 'messages', 0,
          'CREATE TRIGGER sqlite_t AFTER INSERT ON messages BEGIN DELETE FROM challenges; END')",
        "('view', 'sqlite_v', 'sqlite_v', 0, 'CREATE VIEW sqlite_v AS SELECT 1')",
    ] {
        let done = |file: &Connection| {
            file.execute_batch(&format!(
                "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES {hidden};"
            ))
            .unwrap();
        };
        names(&whole.after(done), "file");
        done(&raw(&whole.path()));
        assert!(reader::LedgerReader::open(&whole.path()).is_err());
        raw(&whole.path())
            .execute_batch(
                "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name GLOB 'sqlite_[tv]';",
            )
            .unwrap();
    }
}

#[test]
fn a_cell_that_is_too_long_is_nothing_that_was_written() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    let mut revoked = one_of_each();
    revoked.ids.insert("longer than any that is written".into());
    ledger.mark_revoked(&revoked, at(100)).unwrap();
    drop(ledger);
    holds(&verify(&folder.file(), &VerifyOptions::default()).unwrap());
    raw(&folder.file())
        .execute("UPDATE revoked SET id = hex(zeroblob(5000000)) WHERE id LIKE 'longer than%'", ())
        .unwrap();
    names(&verify(&folder.file(), &VerifyOptions::default()).unwrap(), "revoked");
}

#[test]
fn what_was_erased_leaves_its_row_and_is_missed_once_it_is_kept_again() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    let keeps = |name: &str, evidence| {
        let mut candidate = Ask::new(name).candidate();
        candidate.evidence = Some(evidence);
        admitted(ledger.admit(candidate)).1.envelope.decision_id
    };
    let first = keeps("a", evidence("one"));
    let verified = || verify(&folder.file(), &VerifyOptions::default()).unwrap();
    assert_eq!(ledger.erase_evidence_of(&[first], at(100)).unwrap(), 2);
    holds(&verified());
    let message = Digest::of("the message of one");
    let file = raw(&folder.file());
    file.execute_batch("CREATE TEMP TABLE gone AS SELECT * FROM evidence WHERE octets IS NULL").unwrap();
    file.execute("DELETE FROM evidence WHERE digest = ?1", (message.as_bytes(),)).unwrap();
    names(&verified(), "evidence");
    file.execute("INSERT INTO evidence SELECT * FROM gone WHERE digest = ?1", (message.as_bytes(),)).unwrap();
    holds(&verified());
    keeps("b", evidence("one"));
    holds(&verified());
    file.execute("UPDATE evidence SET octets = NULL WHERE digest = ?1", (message.as_bytes(),)).unwrap();
    names(&verified(), "evidence");
}

#[test]
fn a_checkpoint_outside_that_was_cut_off_does_not_run_into_the_next() {
    let folder = Folder::new();
    let ledger = signed(&folder);
    plain(&ledger, "a");
    ledger.make_checkpoint(at(10)).unwrap();
    // As a full disk leaves it.
    let mut outside = fs::read(self::outside(&folder)).unwrap();
    outside.truncate(outside.len() - 40);
    fs::write(self::outside(&folder), outside).unwrap();
    plain(&ledger, "b");
    ledger.make_checkpoint(at(20)).unwrap();
    ledger.compare_with_checkpoints().unwrap();
    let options = VerifyOptions { checkpoints: Some(self::outside(&folder)), ..VerifyOptions::default() };
    let verified = verify(&folder.file(), &options).unwrap();
    holds(&verified);
    assert!(verified.notes.iter().any(|note| note.contains("cut off while it was written")), "{verified:?}");
    fs::write(self::outside(&folder), "").unwrap();
    let emptied = verify(&folder.file(), &options).unwrap();
    assert!(emptied.notes.iter().any(|note| note.contains("shows nothing")), "{emptied:?}");
    // A line that says nothing, and that no other follows, may have been the one that counts.
    fs::write(self::outside(&folder), "{\"ledgerId\":\n").unwrap();
    assert!(matches!(ledger.compare_with_checkpoints(), Err(LedgerError::Unusable(_))));
}

#[test]
fn an_interval_of_any_length_reads_back() {
    let folder = Folder::new();
    let checkpoints = Checkpoints::new(signer(1)).with_interval(u64::MAX, u64::MAX);
    let ledger = folder.ledger().with_checkpoints(checkpoints, at(0)).unwrap();
    plain(&ledger, "a");
    ledger.make_checkpoint(at(10)).unwrap().unwrap();
    plain(&ledger, "b");
    drop(ledger);
    holds(&verify(&folder.file(), &VerifyOptions::default()).unwrap());
}

/// Takes the types off a table, does something, and puts them on again.
fn without_types(file: &Connection, table: &str, done: &str) {
    let sql: String =
        file.query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", (table,), |row| row.get(0)).unwrap();
    let loose = sql.replace("STRICT, WITHOUT ROWID", "WITHOUT ROWID").replace(") STRICT", ")");
    let loose = loose.replace("TEXT", "").replace("BLOB", "").replace(" NOT NULL", "");
    let path = file.path().unwrap().to_owned();
    let write = |file: &Connection, sql: &str| {
        file.execute_batch("PRAGMA writable_schema = ON").unwrap();
        file.execute("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1", (table, sql)).unwrap();
    };
    write(file, &loose);
    let open = raw(Path::new(&path));
    open.execute_batch(done).unwrap();
    write(&open, &sql);
}

#[test]
fn cells_of_any_type_and_length_are_findings() {
    let whole = Whole::new();
    for (table, edit) in [
        ("reports", "UPDATE reports SET row_hash = 'text' WHERE sequence = 3"),
        ("reports", "UPDATE reports SET report = x'ff00' WHERE sequence = 3"),
        ("reports", "UPDATE reports SET report = NULL WHERE sequence = 3"),
        ("reports", "UPDATE reports SET report = 9e999 WHERE sequence = 3"),
        ("reports", "UPDATE reports SET report = CAST(x'fffe' AS TEXT) WHERE sequence = 3"),
        ("reports", "UPDATE reports SET report = hex(zeroblob(4000000)) WHERE sequence = 3"),
        ("reports", "UPDATE reports SET report = printf('%.*c', 100000, '[') WHERE sequence = 3"),
        ("reports", "UPDATE reports SET sequence = -3 WHERE sequence = 3"),
        ("messages", "UPDATE messages SET digest = 1.5 WHERE message_id = 'd'"),
        ("messages", "UPDATE messages SET sequence = 'x' WHERE message_id = 'd'"),
        ("messages", "UPDATE messages SET peer = hex(zeroblob(5000000)) WHERE message_id = 'd'"),
        ("challenges", "UPDATE challenges SET sequence = -1 WHERE challenge = 'challenge of d'"),
        ("counts", "UPDATE counts SET exercised = 9e999"),
        ("counts", "UPDATE counts SET exercised = -1"),
        ("exchanges", "UPDATE exchanges SET offer = zeroblob(9000000) WHERE protocol_hash LIKE '%f'"),
        ("evidence", "UPDATE evidence SET digest = 'x' WHERE number = 1"),
        ("evidence", "UPDATE evidence SET octets = 7 WHERE number = 1"),
        ("checkpoints", "UPDATE checkpoints SET checkpoint = x'00' WHERE number = 2"),
        ("checkpoints", "UPDATE checkpoints SET sequence = NULL WHERE number = 2"),
        ("meta", "UPDATE meta SET reserved = 'many'"),
        ("meta", "UPDATE meta SET domain = NULL"),
        ("meta", "DELETE FROM meta"),
    ] {
        let verification = whole.after(|file| without_types(file, table, edit));
        assert!(
            verification.findings.iter().any(|finding| finding.table == table),
            "{edit}: {verification:#?}"
        );
    }
}

#[test]
fn what_a_finding_shows_moves_no_cursor() {
    let whole = Whole::new();
    let verification = whole.after(|file| {
        file.execute("INSERT INTO revoked VALUES (?1)", ("\u{1b}[2J\u{202e}evil",)).unwrap();
    });
    let shown = verification.findings[0].to_string();
    assert!(shown.contains("\\u{1b}[2J\\u{202e}evil"), "{shown}");
}

#[test]
fn more_findings_than_are_kept_are_counted() {
    let whole = Whole::new();
    let verification = whole.after(|file| {
        file.execute_batch(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500)
             INSERT INTO revoked SELECT 'made ' || n FROM n",
        )
        .unwrap();
    });
    assert_eq!((verification.findings.len(), verification.further_findings), (MAX_FINDINGS, 500));
}

#[test]
fn a_damaged_or_foreign_file_is_a_finding_or_an_error_and_no_panic() {
    let whole = Whole::new();
    let octets = fs::read(whole.path()).unwrap();
    let copy = whole.path().with_file_name("short.sqlite");
    for length in [0, 50, 100, 4_096, octets.len() / 2, octets.len() - 1] {
        fs::write(&copy, &octets[..length]).unwrap();
        let holds = verify(&copy, &VerifyOptions::default()).is_ok_and(|verification| verification.holds());
        assert!(!holds, "{length} octets");
    }
    assert!(verify(&whole.path().with_file_name("none"), &VerifyOptions::default()).is_err());
}

#[test]
fn a_ledger_holds_while_a_server_writes_and_as_a_kill_leaves_it() {
    let folder = Folder::new();
    let ledger = signed(&folder);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..60 {
                plain(&ledger, &format!("m{number}"));
            }
        });
        loop {
            let done = writer.is_finished();
            holds(&verify(&folder.file(), &VerifyOptions::default()).unwrap());
            if done {
                break;
            }
        }
    });
    // The file and its log as they are, with nothing closed.
    let copy = folder.file().with_file_name("killed.sqlite");
    fs::copy(folder.file(), &copy).unwrap();
    fs::copy(folder.file().with_file_name("ledger.sqlite-wal"), copy.with_file_name("killed.sqlite-wal"))
        .unwrap();
    let verification = verify(&copy, &VerifyOptions::default()).unwrap();
    holds(&verification);
    assert_eq!(verification.last_row, 61);
}

#[test]
fn a_key_is_taken_as_the_first_only_by_a_ledger_without_rows() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    plain(&ledger, "a");
    drop(ledger);
    let refused = folder.reopened().with_checkpoints(Checkpoints::new(signer(1)), at(100)).unwrap_err();
    assert!(refused.to_string().contains("--begin"), "{refused}");
    let ledger = folder.reopened().begin_checkpoints(Checkpoints::new(signer(1)), at(100)).unwrap();
    plain(&ledger, "b");
    drop(ledger);
    let verification = verify(&folder.file(), &VerifyOptions::default()).unwrap();
    holds(&verification);
    assert!(
        verification.notes.iter().any(|note| note.contains("begin at row 2")),
        "{:?}",
        verification.notes
    );
    assert!(folder.reopened().begin_checkpoints(Checkpoints::new(signer(2)), at(100)).is_err());
}

#[test]
fn another_key_or_none_writes_nothing_to_a_ledger_that_has_one() {
    let folder = Folder::new();
    drop(signed(&folder));
    let other = folder.reopened().with_checkpoints(Checkpoints::new(signer(2)), at(100)).unwrap_err();
    assert!(other.to_string().contains(&signer(1).public_key()), "{other}");
    let keyless = folder.reopened();
    assert!(Ask::new("a").of(&keyless).is_err());
    assert!(keyless.raise_floor(at(100)).is_err());
    drop(keyless);
    holds(&verify(&folder.file(), &VerifyOptions::default()).unwrap());
}

#[test]
fn checkpoints_come_after_so_many_rows_or_seconds_and_at_a_shutdown() {
    let folder = Folder::new();
    let ledger = signed(&folder);
    let numbers = || ledger.last_checkpoint().unwrap().map(|last| (last.number, last.sequence)).unwrap();
    assert_eq!(numbers(), (1, 1));
    // Noon and 100 seconds: over a minute after the first.
    plain(&ledger, "a");
    assert_eq!(numbers(), (2, 2));
    for (name, then) in [("b", (2, 2)), ("c", (2, 2)), ("d", (2, 2)), ("e", (2, 2)), ("f", (3, 7))] {
        plain(&ledger, name);
        assert_eq!(numbers(), then, "{name}");
    }
    assert!(ledger.make_checkpoint(at(100)).unwrap().is_none(), "nothing waits");
    plain(&ledger, "g");
    ledger.checkpoint(at(100)).unwrap();
    assert_eq!(numbers(), (4, 8));
    let outside = fs::read_to_string(outside(&folder)).unwrap();
    assert_eq!(outside.lines().count(), 4);
    assert!(outside.lines().all(|line| CheckpointV1::read(line).is_some_and(|it| it.is_signed())));
}

#[test]
fn a_file_outside_that_cannot_be_written_stops_no_decision() {
    let folder = Folder::new();
    let nowhere = folder.file().with_file_name("no such folder").join("checkpoints.jsonl");
    let checkpoints = Checkpoints::new(signer(1)).with_interval(1, 1).with_file(nowhere);
    let ledger = folder.ledger().with_checkpoints(checkpoints, at(0)).unwrap();
    plain(&ledger, "a");
    assert_eq!(ledger.last_checkpoint().unwrap().unwrap().sequence, 2);
}

#[test]
fn a_key_that_the_one_before_did_not_sign_is_named() {
    let whole = Whole::new();
    let rotated = |file: &Connection| {
        let row = "SELECT sequence, report FROM reports WHERE report LIKE '%\"kind\":\"key\"%' ORDER BY sequence DESC LIMIT 1";
        file.query_row(row, (), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap()
    };
    // The whole is signed anew by the second key, which was changed to; its own change it cannot sign.
    let verification = whole.after(|file| {
        let (sequence, text) = rotated(file);
        let Ok(Record::Event(mut event)) = Record::read(&text) else { panic!() };
        if let Event::Key { signature, .. } = &mut event.event {
            *signature = Some(signer(2).signature_over(b"anything"));
        }
        let text = String::from_utf8(jcs(&event).unwrap()).unwrap();
        file.execute("UPDATE reports SET report = ?2 WHERE sequence = ?1", (sequence, text)).unwrap();
        recompute(file, None);
    });
    assert!(
        verification
            .findings
            .iter()
            .any(|finding| finding.problem.contains("did not sign the change of key")),
        "{verification:#?}"
    );
}
