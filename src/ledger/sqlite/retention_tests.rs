//! What leaves a ledger reopens nothing, and what left verifies.

use super::*;
use crate::audit::{CheckpointSigner, EvidenceDigests, Record};
use crate::credential::issue::SigningKey;
use crate::ledger::conformance::{
    Ask, DOMAIN, Folder, SKEW, admitted, at, once, refusal_entry, refused, refused_body,
};
use crate::ledger::{Evidence, KeptEvidence, LedgerReader};
use crate::refusal::Reason;
use proptest::prelude::*;

const AGE: TimeDelta = TimeDelta::seconds(300);

/// Checkpoints that come when they are asked for.
fn checkpoints() -> Checkpoints {
    let signer = CheckpointSigner::new(SigningKey::from_seed([7; 32])).unwrap();
    Checkpoints::new(signer).with_interval(1_000_000, 1_000_000)
}

/// A message that is asked for at so many seconds, with a presentation made then.
fn ask(name: &str, seconds: i64) -> Ask {
    Ask::new(name).but(|ask| {
        (ask.now, ask.created, ask.not_after) = (at(seconds), at(seconds), at(seconds + 400));
        ask.exercised = [(format!("policy {name}"), once(None))].into();
    })
}

fn reserved(ledger: &SqliteLedger) -> (u64, u64, u64) {
    ledger
        .lock_reading()
        .unwrap()
        .query_row(
            "SELECT reserved, (SELECT count(*) FROM messages), (SELECT count(*) FROM challenges) FROM meta",
            (),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .map(|(a, b, c): (i64, i64, i64)| (a as u64, b as u64, c as u64))
        .unwrap()
}

#[test]
fn pruning_takes_ids_and_challenges_and_never_counts() {
    let folder = Folder::new();
    let ledger = folder.ledger().without_syncing();
    for n in 0..50 {
        admitted(ask(&format!("m-{n}"), 1_000 + n).of(&ledger));
    }
    // Portion by portion, each with its row; what was recorded at the instant itself stays.
    let pruned = ledger.prune_in_portions(at(1_030), at(3_000), AGE, 7).unwrap();
    assert_eq!(pruned, Pruned { through: 30, reservations: 30 });
    assert_eq!(reserved(&ledger), (20, 20, 20));
    assert_eq!(ledger.counts(None).unwrap().len(), 50);
    let events: Vec<_> = ledger
        .records()
        .into_iter()
        .filter_map(|record| match record {
            Record::Event(event) => Some(event.event),
            Record::Decision(_) => None,
        })
        .collect();
    assert_eq!(events.len(), 5);
    let floor = micros_text(micros(at(1_029) + SKEW)).unwrap();
    assert_eq!(events[4], Event::Pruned { through: 30, reservations: 2, floor });
    ledger.verify_chain().unwrap();
    // Again, and nothing: no row.
    assert_eq!(ledger.prune(at(1_030), at(3_000), AGE).unwrap(), Pruned { through: 30, reservations: 0 });
    assert_eq!(ledger.verify_chain().unwrap().0, 55);
    // A clock that is set back refuses; without that memory the floor would.
    let replayed = ask("m-3", 1_003).but(|ask| ask.now = at(3_000));
    assert_eq!(refused(replayed.but(|ask| ask.now = at(1_003)).of(&ledger)).0, Reason::ClockSteppedBack);
    assert_eq!(refused(replayed.of(&ledger)).0, Reason::BeforeLedgerFloor);
    let kept = ask("m-40", 1_040).but(|ask| ask.now = at(3_000));
    assert_eq!(refused(kept.but(|_| ()).of(&ledger)).0, Reason::BeforeLedgerFloor);
    assert_eq!(refused(kept.but(|ask| ask.created = at(2_999)).of(&ledger)).0, Reason::DuplicateMessage);
}

#[test]
fn nothing_that_is_fresh_falls_below_the_floor() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    admitted(ask("m", 1_000).of(&ledger));
    let now = 1_000 + 300 + 3 * 60;
    for before in [now, 1_001, 5_000] {
        assert!(matches!(ledger.prune(at(before), at(now), AGE), Err(LedgerError::TooRecent)), "{before}");
    }
    assert_eq!(ledger.prune(at(1_001), at(now + 1), AGE).unwrap().reservations, 1);
    // The oldest that is fresh for a clock that is behind by the skew.
    admitted(ask("n", now - 59).but(|ask| ask.created = at(now - 59 - 300 - 60)).of(&ledger));
}

/// A step of a server's life. Instants are seconds since the start.
#[derive(Debug, Clone)]
enum Step {
    Pass(i64),
    /// A message whose presentation is made at an offset of the clock, within what is fresh.
    Ask {
        made: i64,
        clock: i64,
    },
    /// Everything that was ever sent, again.
    ReplayAll,
    Prune {
        age: i64,
    },
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..400i64).prop_map(Step::Pass),
        6 => (-360..=60i64, -60..=60i64).prop_map(|(made, clock)| Step::Ask { made, clock }),
        2 => Just(Step::ReplayAll),
        3 => (0..2_000i64).prop_map(|age| Step::Prune { age }),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is pruned when, with clocks that differ by the skew: nothing is allowed twice, and what is fresh and new is
    /// refused for no floor.
    #[test]
    fn what_was_pruned_is_never_allowed_again(steps in steps()) {
        let folder = Folder::new();
        let mut ledger = folder.ledger().without_syncing();
        let (mut now, mut sent) = (10_000_i64, Vec::<Ask>::new());
        let mut allowed = std::collections::BTreeSet::new();
        for (number, step) in steps.into_iter().chain([Step::Prune { age: 0 }, Step::ReplayAll]).enumerate() {
            match step {
                Step::Pass(seconds) => now += seconds,
                Step::Ask { made, clock } => {
                    let clock = now + clock;
                    let ask = ask(&format!("m-{number}"), clock).but(|ask| ask.created = at(clock + made));
                    sent.push(ask.clone());
                    match ask.clone().of(&ledger).unwrap() {
                        Admission::Admitted(..) => {
                            allowed.insert(ask.body.message_id.clone());
                        }
                        Admission::Refused { reason, .. } => prop_assert_eq!(reason, Reason::ClockSteppedBack),
                        Admission::Stale => prop_assert!(false),
                    }
                }
                Step::ReplayAll => {
                    for (replay, clock) in sent.iter().flat_map(|ask| [-60, 0, 60].map(|clock| (ask, clock))) {
                        if allowed.contains(&replay.body.message_id) {
                            let clock = at(now + clock);
                            let again = replay.but(|ask| (ask.now, ask.not_after) = (clock, clock));
                            prop_assert!(!matches!(again.of(&ledger).unwrap(), Admission::Admitted(..)));
                        }
                    }
                }
                Step::Prune { age } => match ledger.prune_in_portions(at(now - age), at(now), AGE, 3) {
                    Ok(_) | Err(LedgerError::TooRecent) => {}
                    Err(error) => prop_assert!(false, "{}", error),
                },
                Step::Restart => {
                    drop(ledger);
                    ledger = folder.reopened().without_syncing();
                }
            }
            let (meta, messages, challenges) = reserved(&ledger);
            prop_assert!(meta == messages && messages == challenges);
        }
        ledger.verify_chain().unwrap();
    }
}

fn with_evidence(
    mut candidate: Candidate,
    message: &Blob,
    request: &Blob,
    configuration: &Blob,
) -> Candidate {
    candidate.evidence = Some(Evidence {
        digests: EvidenceDigests {
            kept: true,
            message: message.digest(),
            request: request.digest(),
            configuration: configuration.digest(),
        },
        blobs: vec![message.clone(), request.clone(), configuration.clone()],
    });
    candidate
}

/// A ledger with 20 allows at 1,000 s and later, each with evidence, and then a key; the last allow shares its message
/// with the first.
fn filled(folder: &Folder) -> SqliteLedger {
    let ledger = folder.ledger().without_syncing();
    let configuration = Blob::new(*b"configuration");
    for n in 0..20 {
        let message = Blob::new(format!("message {}", n % 19).into_bytes());
        let request = Blob::new(format!("request {n}").into_bytes());
        let candidate = ask(&format!("m-{n}"), 1_000 + n).candidate();
        let candidate = with_evidence(candidate, &message, &request, &configuration);
        admitted(ledger.admit(candidate));
    }
    ledger.begin_checkpoints(checkpoints(), at(1_019)).unwrap()
}

fn kept(folder: &Folder, text: &str) -> KeptEvidence {
    LedgerReader::open(&folder.file()).unwrap().evidence(Digest::of(text)).unwrap()
}

#[test]
fn an_archive_holds_what_left_and_the_rest_follows_it() {
    let folder = Folder::new();
    let ledger = filled(&folder);
    let (head, hash) = ledger.verify_chain().unwrap();
    let file = folder.file().with_extension("1");
    assert!(matches!(ledger.archive(5, &file, at(3_000)), Err(LedgerError::Contradictory(_))), "not pruned");
    ledger.prune(at(1_010), at(3_000), AGE).unwrap();
    assert!(matches!(ledger.archive(11, &file, at(3_000)), Err(LedgerError::Contradictory(_))));
    let elsewhere = folder.file().join("no-such-folder");
    assert!(matches!(ledger.archive(5, &elsewhere, at(3_000)), Err(LedgerError::Store(_))));
    assert_eq!((ledger.verify_chain().unwrap().0, file.exists()), (head + 1, false), "nothing left");
    assert_eq!(ledger.archivable_before(at(1_005)).unwrap(), 5);
    assert_eq!(ledger.archivable_before(at(9_000)).unwrap(), 10);

    let archive = ledger.archive(5, &file, at(3_000)).unwrap();
    assert_eq!((archive.from, archive.through, archive.evidence), (1, 5, 9));
    assert_eq!(verify_archive(&file).unwrap(), archive);
    assert_eq!(kept(&folder, "message 1"), KeptEvidence::Absent);
    assert_eq!(
        kept(&folder, "message 0"),
        KeptEvidence::Octets(b"message 0".to_vec()),
        "a later row has it too"
    );
    assert_eq!(kept(&folder, "configuration"), KeptEvidence::Octets(b"configuration".to_vec()));
    let reader = LedgerReader::open(&folder.file()).unwrap();
    assert_eq!(reader.row(5).unwrap(), None);
    assert_eq!(reader.row(21).unwrap().unwrap().row_hash, hash);
    assert_eq!(reader.verify_chain().unwrap(), ledger.verify_chain().unwrap());
    assert!(matches!(ledger.archive(9, &file, at(3_000)), Err(LedgerError::Store(_))), "never over a file");

    // The next archive begins where the first ended, with the state that it ended with.
    let second = folder.file().with_extension("2");
    let next = ledger.archive(10, &second, at(3_001)).unwrap();
    assert_eq!((next.from, next.through), (6, 10));
    assert_eq!(verify_archive(&second).unwrap(), next);
    drop(ledger);
    let ledger = folder.reopened().with_checkpoints(checkpoints(), at(3_000)).unwrap();
    let (head, _) = ledger.verify_chain().unwrap();
    assert_eq!(head, 24);
    assert_eq!(ledger.counts(None).unwrap().len(), 20);
    assert_eq!(
        refused(ask("m-3", 1_003).but(|ask| ask.now = at(3_000)).of(&ledger)).0,
        Reason::BeforeLedgerFloor
    );
}

#[test]
fn an_altered_archive_is_found_out_at_every_line() {
    let folder = Folder::new();
    let ledger = filled(&folder);
    ledger.prune(at(1_010), at(3_000), AGE).unwrap();
    let file = folder.file().with_extension("1");
    ledger.archive(5, &file, at(3_000)).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let altered = |lines: &[&str]| {
        std::fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        verify_archive(&file).is_err()
    };
    assert!(!altered(&lines));
    for gone in 0..lines.len() {
        let mut rest = lines.clone();
        rest.remove(gone);
        assert!(altered(&rest), "line {gone} is gone");
        let mut twice = lines.clone();
        twice.insert(gone, lines[gone]);
        assert!(altered(&twice), "line {gone} is there twice");
        if gone > 0 && lines[gone].contains("\"row\"") {
            let mut changed = lines.clone();
            let line = changed[gone].replace("agent.example", "other.example");
            changed[gone] = &line;
            assert!(altered(&changed), "line {gone} was changed");
        }
    }
    std::fs::write(&file, text.trim_end()).unwrap();
    assert!(verify_archive(&file).is_err(), "cut off");
}

#[test]
fn an_anchor_that_is_not_signed_so_breaks_the_chain() {
    let folder = Folder::new();
    let ledger = filled(&folder);
    ledger.prune(at(1_010), at(3_000), AGE).unwrap();
    ledger.archive(5, &folder.file().with_extension("1"), at(3_000)).unwrap();
    drop(ledger);
    let raw = Connection::open(folder.file()).unwrap();
    raw.execute("DELETE FROM reports WHERE sequence = 6", ()).unwrap();
    let broken = folder.reopened().verify_chain();
    assert!(matches!(broken, Err(LedgerError::ChainBroken { sequence: 6, .. })), "{broken:?}");
    raw.execute("UPDATE reports SET report = replace(report, '\"through\":5', '\"through\":6')", ()).unwrap();
    let broken = folder.reopened().verify_chain();
    assert!(matches!(broken, Err(LedgerError::ChainBroken { .. })), "{broken:?}");
}

#[test]
fn evidence_is_erased_and_its_digests_stay() {
    let folder = Folder::new();
    let ledger = filled(&folder);
    let decision = |sequence| {
        LedgerReader::open(&folder.file()).unwrap().row(sequence).unwrap().unwrap().record.id().to_owned()
    };
    assert!(matches!(
        ledger.erase_evidence_of(&["nobody's".into()], at(3_000)),
        Err(LedgerError::NoSuchDecision(_))
    ));
    assert_eq!(ledger.erase_evidence_of(&[decision(2)], at(3_000)).unwrap(), 2);
    assert_eq!(ledger.erase_evidence_of(&[decision(2)], at(3_000)).unwrap(), 0, "once");
    for text in ["message 1", "request 1"] {
        assert_eq!(kept(&folder, text), KeptEvidence::Erased);
    }
    assert_eq!(kept(&folder, "configuration"), KeptEvidence::Octets(b"configuration".to_vec()));
    assert_eq!(kept(&folder, "message 2"), KeptEvidence::Octets(b"message 2".to_vec()));
    let Some(Record::Event(event)) = ledger.records().pop() else { panic!() };
    let Event::Erased { digests } = event.event else { panic!() };
    assert_eq!(
        digests.iter().copied().collect::<std::collections::BTreeSet<_>>(),
        ["message 1", "request 1"].map(Digest::of).into()
    );
    assert_eq!(ledger.erase_evidence_before(at(1_005), at(3_000)).unwrap(), 8);
    assert_eq!(kept(&folder, "message 5"), KeptEvidence::Octets(b"message 5".to_vec()));
    ledger.verify_chain().unwrap();
    drop(ledger);
    let octets = std::fs::read(folder.file()).unwrap();
    let is_in = |text: &str| octets.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(is_in("request 5") && !is_in("request 1\0") && !is_in("message 3"), "overwritten");
}

fn note(folder: &Folder, ledger: &SqliteLedger) -> PathBuf {
    let file = folder.file().with_extension("noted");
    let reader = LedgerReader::open(&folder.file()).unwrap();
    let (sequence, row_hash) = ledger.verify_chain().unwrap();
    let line = serde_json::json!({"ledgerId": reader.ledger_id(), "sequence": sequence, "rowHash": row_hash, "more": 1});
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    std::fs::write(&file, format!("{before}{line}\n")).unwrap();
    file
}

#[test]
fn a_ledger_that_was_put_back_is_refused_until_the_operator_says_so() {
    let folder = Folder::new();
    let file = folder.file().with_extension("noted");
    let open = || folder.reopened().with_checkpoints(checkpoints().with_file(&file), at(1_100)).unwrap();
    let ledger = folder.ledger().with_checkpoints(checkpoints().with_file(&file), at(1_000)).unwrap();
    admitted(ask("m-1", 1_000).of(&ledger));
    ledger.make_checkpoint(at(1_000)).unwrap();
    ledger.compare_with_checkpoints().unwrap();
    ledger.compare_with(&folder.file().with_extension("absent")).unwrap();
    drop(ledger);
    let backup = std::fs::read(folder.file()).unwrap();
    let ledger = open();
    admitted(ask("m-2", 1_001).of(&ledger));
    ledger.make_checkpoint(at(1_001)).unwrap();
    ledger.compare_with_checkpoints().unwrap();
    drop(ledger);
    std::fs::write(folder.file(), backup).unwrap();
    let ledger = open();
    let rolled_back = ledger.compare_with_checkpoints();
    assert!(matches!(rolled_back, Err(LedgerError::RolledBack { sequence: 3, .. })), "{rolled_back:?}");
    // Other rows in the place of the lost ones are not the rows that were noted.
    ledger.record(Entry { now: at(1_002), ..refusal_entry(&refused_body()) }).unwrap();
    ledger.record(Entry { now: at(1_002), ..refusal_entry(&refused_body()) }).unwrap();
    let rolled_back = ledger.compare_with_checkpoints();
    assert!(matches!(rolled_back, Err(LedgerError::RolledBack { sequence: 3, .. })), "{rolled_back:?}");
    ledger.restored(at(1_100)).unwrap();
    ledger.compare_with_checkpoints().unwrap();
    assert_eq!(
        refused(ask("m-2", 1_001).but(|ask| ask.now = at(1_100)).of(&ledger)).0,
        Reason::BeforeLedgerFloor
    );
    drop(ledger);
    let ledger = open();
    ledger.compare_with_checkpoints().unwrap();
    admitted(ask("m-2", 1_161).of(&ledger));
}

#[test]
fn a_restored_ledger_that_cannot_be_noted_says_so() {
    // Also where the checkpoint comes with the row that raises the floor.
    for rows in [1_000_000, 1] {
        let folder = Folder::new();
        let nowhere = folder.file().with_extension("folder").join("checkpoints");
        let checkpoints = checkpoints().with_interval(rows, 1_000_000).with_file(nowhere);
        let ledger = folder.ledger().with_checkpoints(checkpoints, at(1_000)).unwrap();
        admitted(ask("m-1", 1_000).of(&ledger));
        assert!(matches!(ledger.restored(at(1_100)), Err(LedgerError::Store(_))), "{rows}");
        // The floor is raised all the same.
        let behind = ask("m-2", 1_050).but(|ask| ask.now = at(1_100));
        assert_eq!(refused(behind.of(&ledger)).0, Reason::BeforeLedgerFloor);
    }
}

#[test]
fn what_was_noted_of_another_ledger_or_cut_off_does_not_count() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    admitted(ask("m-1", 1_000).of(&ledger));
    let file = note(&folder, &ledger);
    let other = Folder::new();
    let second = SqliteLedger::create(&other.file(), DOMAIN, false, at(1_000), SKEW).unwrap();
    second.compare_with(&file).unwrap();
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"ledgerId\":");
    std::fs::write(&file, &text).unwrap();
    ledger.compare_with(&file).unwrap();
    std::fs::write(&file, text + "\n").unwrap();
    assert!(matches!(ledger.compare_with(&file), Err(LedgerError::Unusable(_))));
}

/// A second ledger of the domain has a floor: what the first allowed is below it.
#[test]
fn a_second_ledger_of_the_domain_reopens_no_replay() {
    let (one, two) = (Folder::new(), Folder::new());
    admitted(ask("m", 1_000).of(&one.ledger()));
    let second = SqliteLedger::create(&two.file(), DOMAIN, false, at(1_010), SKEW).unwrap();
    let replayed = ask("m", 1_000).but(|ask| ask.now = at(1_010));
    assert_eq!(refused(replayed.but(|_| ()).of(&second)).0, Reason::BeforeLedgerFloor);
    let memory = SqliteLedger::in_memory(DOMAIN, at(1_010), SKEW).unwrap();
    assert_eq!(refused(replayed.but(|_| ()).of(&memory)).0, Reason::BeforeLedgerFloor);
}

#[test]
fn a_floor_that_is_raised_twice_is_the_higher_one() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    for seconds in [500, 400] {
        ledger.raise_floor(at(seconds)).unwrap();
        let ask = |made: i64| ask("m", 600).but(|ask| ask.created = at(made));
        assert_eq!(refused(ask(560).of(&ledger)).0, Reason::BeforeLedgerFloor);
    }
    admitted(ask("m", 600).but(|ask| ask.created = at(561)).of(&ledger));
}

/// A name that is taken may be that of the archive before, or of the ledger.
#[test]
fn an_archive_touches_no_file_that_is_there() {
    let folder = Folder::new();
    let ledger = filled(&folder);
    ledger.prune(at(1_005), at(3_000), AGE).unwrap();
    let first = folder.file().with_extension("archive");
    let written = ledger.archive(3, &first, at(3_000)).unwrap();
    for taken in [first.clone(), folder.file()] {
        for through in [4, 1_000] {
            assert!(ledger.archive(through, &taken, at(3_000)).is_err());
        }
    }
    assert_eq!(verify_archive(&first).unwrap(), written);
    // What is not finished does not stay in the way: row 3 has left already.
    let second = first.with_extension("second");
    assert!(ledger.archive(3, &second, at(3_000)).is_err());
    assert!(!second.exists());
    ledger.archive(4, &second, at(3_000)).unwrap();
    drop(ledger);
    folder.reopened().verify_chain().unwrap();
}

#[test]
fn octets_that_a_reader_keeps_in_the_file_are_not_called_erased() {
    let folder = Folder::new();
    let ledger = filled(&folder);
    ledger.lock().unwrap().busy_timeout(std::time::Duration::ZERO).unwrap();
    let mut reader = Connection::open(folder.file()).unwrap();
    let view = reader.transaction().unwrap();
    view.query_row("SELECT count(*) FROM evidence", (), |row| row.get::<_, i64>(0)).unwrap();
    let held = ledger.erase_evidence_before(at(1_005), at(3_000));
    assert!(matches!(&held, Err(LedgerError::Store(why)) if why.contains("do it again")), "{held:?}");
    drop(view);
    assert_eq!(ledger.erase_evidence_before(at(1_005), at(3_000)).unwrap(), 0);
    assert_eq!(std::fs::metadata(folder.file().with_extension("sqlite-wal")).unwrap().len(), 0);
}

/// A power cut, or a full disk, in the middle of a line.
#[test]
fn half_a_line_outside_spoils_neither_the_next_nor_the_ledger() {
    let folder = Folder::new();
    let outside = folder.file().with_extension("outside");
    let ledger = folder.ledger().with_checkpoints(checkpoints().with_file(&outside), at(1_000)).unwrap();
    let whole = std::fs::read_to_string(&outside).unwrap();
    std::fs::write(&outside, format!("{whole}{}", &whole[..40])).unwrap();
    admitted(ask("m", 1_000).of(&ledger));
    ledger.make_checkpoint(at(1_001)).unwrap().unwrap();
    ledger.compare_with_checkpoints().unwrap();
    let (_, text) = (ledger, std::fs::read_to_string(&outside).unwrap());
    assert_eq!(text.lines().count(), 3);
    // It still is the last line that counts.
    let older = Folder::new();
    let other = older.ledger().with_checkpoints(checkpoints().with_file(&outside), at(1_000)).unwrap();
    other.compare_with_checkpoints().unwrap();
    std::fs::write(&outside, text + "{\n").unwrap();
    assert!(matches!(folder.reopened().compare_with(&outside), Err(LedgerError::Unusable(_))));
}

#[test]
fn a_key_that_another_process_changed_signs_nothing_more() {
    let folder = Folder::new();
    let before = folder.ledger().with_checkpoints(checkpoints(), at(1_000)).unwrap();
    let new = || CheckpointSigner::new(SigningKey::from_seed([8; 32])).unwrap();
    let mut other = folder.reopened().with_checkpoints(checkpoints(), at(1_000)).unwrap();
    other.rotate_key(new(), at(1_001)).unwrap();
    let rows = other.verify_chain().unwrap();
    let refused = |error: LedgerError| assert!(matches!(error, LedgerError::Unusable(_)), "{error}");
    refused(ask("m", 1_002).of(&before).unwrap_err());
    refused(before.raise_floor(at(1_002)).unwrap_err());
    refused(before.make_checkpoint(at(1_002)).unwrap_err());
    assert_eq!(other.verify_chain().unwrap(), rows);
    admitted(ask("m", 1_002).of(&other));
    refused(before.make_checkpoint(at(1_003)).unwrap_err());
    other.make_checkpoint(at(1_003)).unwrap().unwrap();
    drop((before, other));
    folder.reopened().with_checkpoints(Checkpoints::new(new()), at(1_004)).unwrap();
}
