//! How large a file becomes under junk, and what goes on when it is full.

use super::*;
use crate::audit::{EvidenceDigests, Record, ReportBody};
use crate::ledger::conformance::{
    Ask, Folder, admitted, at, junk, nowhere, refusal_entry, refused, refused_body, tallies,
};
use crate::ledger::{Evidence, KeptEvidence, Learned, LedgerReader};
use crate::refusal::Reason;
use growth::{Fill, Kind};

impl SqliteLedger {
    /// Every row's record.
    pub(in crate::ledger) fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        let connection = self.lock_reading().unwrap();
        reader::each_row(&connection, 1, |row| {
            records.push(Record::read(&row.report).unwrap());
            Ok::<_, LedgerError>(())
        })
        .unwrap();
        records
    }

    /// Tests of how much is written do not wait for the disk.
    pub(super) fn without_syncing(self) -> Self {
        self.lock().unwrap().pragma_update(None, "synchronous", "OFF").unwrap();
        self
    }
}

fn number(ledger: &SqliteLedger, sql: &str) -> u64 {
    read_u64(ledger.lock_reading().unwrap().query_row(sql, (), |row| row.get(0)).unwrap()).unwrap()
}

/// Octets that a minute of junk may add: its reports, each in pages of its own at worst and with its entries in the indexes,
/// and the row of the counts.
fn bound_of_a_minute() -> u64 {
    let reports = Kind::Junk.in_all();
    let pair = growth::TALLIED_PEER_BYTES as u64 + 128;
    let counts = (growth::TALLIES as u64 + Reason::ALL.len() as u64 + 1) * pair;
    reports.octets + reports.times * (4_096 + 512) + counts + 4_096
}

/// From one peer with every reason, and from ever new peers. `WRITGATE_LONG=1` sends ten million.
#[test]
fn junk_fills_no_disk_and_is_counted_exactly() {
    let sent: u64 = if std::env::var_os("WRITGATE_LONG").is_some() { 10_000_000 } else { 20_000 };
    let minutes = 10;
    let folder = Folder::new();
    let mut ledger = folder.ledger().without_syncing();
    let before = ledger.used_bytes().unwrap();
    let mut rows = 0;
    let (mut allows, every) = (0, sent / 50);
    for message in 0..sent {
        let second = i64::try_from(message * minutes * 60 / sent).unwrap();
        let peer = if message % 2 == 0 { "one".to_owned() } else { format!("peer-{message}") };
        let reason = Reason::ALL[usize::try_from(message / 2).unwrap() % Reason::ALL.len()];
        let mut body = junk(&peer, Some(reason));
        if message % 7 == 0 {
            body.shacl_report = Some("a finding ".repeat(4_000));
        }
        let entry = Entry { now: at(120 + second), ..refusal_entry(&body) };
        if ledger.record(entry).unwrap().unwrap().envelope.sequence > 0 {
            rows += 1;
        }
        if message % every == every / 2 {
            admitted(
                Ask::new(&format!("m-{message}"))
                    .but(|ask| {
                        ask.now = at(120 + second);
                        ask.not_after = at(1_000);
                    })
                    .of(&ledger),
            );
            allows += 1;
            // Neither a restart nor another process gives a second helping.
            drop(ledger);
            ledger = folder.reopened().without_syncing();
        }
    }
    admitted(
        Ask::new("the next minute").but(|ask| (ask.now, ask.not_after) = (at(800), at(1_000))).of(&ledger),
    );
    assert_eq!(number(&ledger, "SELECT count(*) FROM refusal_tallies"), 0);
    let tallied: u64 = tallies(&ledger).iter().map(|(.., refusals)| refusals).sum();
    assert_eq!(rows + tallied, sent);
    let events = ledger.records().iter().filter(|record| matches!(record, Record::Event(_))).count() as u64;
    assert_eq!(ledger.verify_chain().unwrap().0, rows + events + allows + 1);
    assert!(rows <= minutes * Kind::Junk.in_all().times && events <= minutes);
    let bound = minutes * bound_of_a_minute() + (allows + 1) * 16_384;
    let grown = ledger.used_bytes().unwrap() - before;
    assert!(grown <= bound, "{grown} octets, and at most {bound} by the limits");
    // Nobody's name makes a row larger, and who comes late is counted with the others.
    let peers = tallies(&ledger);
    assert!(peers.iter().any(|(_, peer, ..)| peer == "one") && peers.iter().any(|(_, peer, ..)| peer == "*"));
}

#[test]
fn a_long_or_odd_name_is_counted_with_the_others() {
    let folder = Folder::new();
    let ledger = folder.ledger().without_syncing();
    let long = "p".repeat(growth::TALLIED_PEER_BYTES);
    {
        let mut connection = ledger.lock().unwrap();
        let transaction = connection.transaction().unwrap();
        for peer in [long.as_str(), "*", "", "=p", "\u{1}\u{2}"] {
            growth::tally(&transaction, peer, None, at(100)).unwrap();
        }
        transaction.commit().unwrap();
    }
    admitted(Ask::new("m").but(|ask| ask.now = at(200)).of(&ledger));
    let counted: Vec<_> = tallies(&ledger).into_iter().map(|(_, peer, _, times)| (peer, times)).collect();
    let expected = [("*", 2), ("", 1), ("\u{1}\u{2}", 1), ("=p", 1)];
    assert_eq!(counted, expected.map(|(peer, times)| (peer.to_owned(), times)));
}

fn evidence(octets: Vec<u8>) -> Evidence {
    let message = Blob::new(octets);
    let digests = EvidenceDigests {
        kept: true,
        message: message.digest(),
        request: message.digest(),
        configuration: message.digest(),
    };
    Evidence { digests, blobs: vec![message] }
}

#[test]
fn evidence_of_refused_messages_is_bounded_by_the_minute() {
    let folder = Folder::new();
    let ledger = folder.ledger().without_syncing();
    let known = ReportBody { holder: Some("h".into()), ..refused_body() };
    for (body, kind) in [(junk("p", None), Kind::JunkEvidence), (known, Kind::RefusedEvidence)] {
        let size = usize::try_from(kind.of_one().octets / 4).unwrap();
        let mut kept = Vec::new();
        for round in 0..8_u8 {
            let entry = Entry {
                evidence: Some(evidence(vec![round + kind as u8 * 10; size])),
                now: at(120),
                ..refusal_entry(&body)
            };
            kept.push(ledger.record(entry).unwrap().unwrap().envelope.evidence.unwrap());
        }
        let reader = LedgerReader::open(&folder.file()).unwrap();
        for (round, digests) in kept.iter().enumerate() {
            assert_eq!(digests.kept, round < 4, "{kind:?} {round}");
            let there = matches!(reader.evidence(digests.message).unwrap(), KeptEvidence::Octets(_));
            assert_eq!(there, round < 4, "{kind:?} {round}");
        }
        // What is there already takes no room.
        let same = Entry {
            evidence: Some(evidence(vec![kind as u8 * 10; size])),
            now: at(121),
            ..refusal_entry(&body)
        };
        assert!(ledger.record(same).unwrap().unwrap().envelope.evidence.unwrap().kept);
    }
}

fn fill(ledger: &SqliteLedger, max: u64) -> Fill {
    Fill::of(&ledger.lock_reading().unwrap(), Some(max)).unwrap()
}

/// Room is kept for allows: first junk is only counted, then every refusal, and at the end nothing is allowed.
#[test]
fn allows_have_the_last_of_the_room_and_an_archive_makes_more() {
    const MAX: u64 = 2 << 20;
    let folder = Folder::new();
    let signer = crate::credential::issue::SigningKey::from_seed([7; 32]);
    let signer = crate::audit::CheckpointSigner::new(signer).unwrap();
    let ledger = folder.ledger().without_syncing().with_max_bytes(Some(MAX));
    let ledger = ledger.with_checkpoints(crate::ledger::Checkpoints::new(signer), at(100)).unwrap();
    let known =
        ReportBody { holder: Some("h".into()), shacl_report: Some("x".repeat(8_000)), ..refused_body() };
    let row = |body: &ReportBody, seconds| {
        let entry = Entry { now: at(seconds), ..refusal_entry(body) };
        ledger.record(entry).unwrap().unwrap().envelope.sequence > 0
    };
    let (mut second, mut sent) = (120, 0);
    while fill(&ledger, MAX) == Fill::Free {
        assert!(row(&known, second));
        let was = fill(&ledger, MAX);
        let is_recorded = row(&junk("p", None), second);
        assert_eq!(is_recorded, was == Fill::Free);
        sent += u64::from(!is_recorded);
        second += 4;
    }
    while fill(&ledger, MAX) == Fill::Tight {
        assert!(row(&known, second));
        // Anybody can make a key and be a verified holder of nothing.
        assert!(!row(&ReportBody { chain: Vec::new(), ..known.clone() }, second));
        assert!(!row(&junk("p", None), second));
        (second, sent) = (second + 4, sent + 2);
    }
    assert_eq!(fill(&ledger, MAX), Fill::Scarce);
    // Minutes pass, and what is counted takes no row.
    let rows = ledger.verify_chain().unwrap().0;
    for minute in 0..20 {
        assert!(!row(&known, second + 60 * minute) && !row(&junk("p", None), second + 60 * minute));
        sent += 2;
    }
    assert_eq!(ledger.verify_chain().unwrap().0, rows);
    second += 1_200;
    let hash = format!("sha256:{:064x}", 1).parse().unwrap();
    let home = ConversationKey { context: Some("c".into()), ..nowhere() };
    let step = &mut |before| Some(Exchange::offered_by_peer(before, false, true, at(90_000)));
    assert_eq!(ledger.negotiate(&home, &hash, at(second), step).unwrap(), Negotiated::TooMany);
    let ask = |n: u64| {
        Ask::new(&format!("m-{n}")).but(|ask| {
            (ask.now, ask.created, ask.not_after) = (at(second), at(second - 10), at(second + 10));
        })
    };
    let mut allowed = 0;
    let error = loop {
        match ask(allowed).of(&ledger) {
            Ok(answer) => {
                admitted(Ok(answer));
                allowed += 1;
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LedgerError::Full), "{error}");
    assert!(allowed > 10, "a tenth is for allows: {allowed}");
    assert_eq!(fill(&ledger, MAX), Fill::Full);
    assert_eq!(refused(ask(0).of(&ledger)).0, Reason::DuplicateMessage, "a refusal needs no room");
    sent += 1;
    // Pruning and archiving make room, and what was counted meanwhile becomes a row.
    let later = at(second + 3_600);
    ledger.prune(at(second), later, TimeDelta::minutes(5)).unwrap();
    let through = ledger.archivable_before(at(second)).unwrap();
    let counted = |ledger: &SqliteLedger| tallies(ledger).iter().map(|(.., refusals)| refusals).sum::<u64>();
    let archived = counted(&ledger);
    ledger.archive(through, &folder.file().with_extension("archive"), later).unwrap();
    assert_eq!(fill(&ledger, MAX), Fill::Free);
    admitted(
        Ask::new("after")
            .but(|ask| {
                (ask.now, ask.created, ask.not_after) = (later, later, later);
            })
            .of(&ledger),
    );
    assert_eq!(archived + counted(&ledger), sent);
    ledger.verify_chain().unwrap();
}

/// A delegate can name ever new status lists, and what a refusal teaches takes a row.
#[test]
fn where_room_is_scarce_ever_new_wanted_lists_take_none() {
    let folder = Folder::new();
    let ledger = folder.ledger().without_syncing();
    let wanting = |n: i64| Learned {
        wanted: [crate::ledger::conformance::list("mallory", &format!("https://mallory.example/{n}"))].into(),
        ..Learned::default()
    };
    let known = ReportBody { holder: Some("mallory".into()), ..refused_body() };
    let sequence = |ledger: &SqliteLedger, n: i64| {
        let entry = Entry { learned: wanting(n), ..refusal_entry(&known) };
        ledger.record(entry).unwrap().unwrap().envelope.sequence
    };
    assert_eq!(sequence(&ledger, 0), 1);
    let max = ledger.used_bytes().unwrap() * 100 / 93;
    assert_eq!(fill(&ledger, max), Fill::Scarce);
    let ledger = ledger.with_max_bytes(Some(max));
    for n in 1..200 {
        assert_eq!(sequence(&ledger, n), 0);
    }
    // A revocation is kept all the same.
    let revoked = [crate::ledger::conformance::entry("mallory", "l", 7)].into();
    let entry = Entry { learned: Learned { revoked, ..Learned::default() }, ..refusal_entry(&known) };
    assert!(ledger.record(entry).unwrap().unwrap().envelope.sequence > 1);
    let duplicate = Ask::new("m").but(|ask| ask.learned = wanting(200));
    admitted(Ask::new("m").of(&ledger));
    assert_eq!(refused(duplicate.of(&ledger)).2.envelope.sequence, 0);
    assert_eq!(ledger.wanted_lists().unwrap().len(), 1);
}
