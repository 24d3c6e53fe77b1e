//! What must hold of a ledger file, whatever happened to the processes that wrote it.

use crate::example;
use crate::worker::Answer;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use writgate::{Decision, Reason};

/// One row of the chain.
#[derive(Debug)]
pub struct Row {
    pub decision_id: String,
    pub row_hash: String,
    /// Of a decision: the others record events.
    pub decides: bool,
    pub allows: bool,
    /// The message's context and id.
    pub key: (String, String),
}

/// What stands in a ledger file, read beside the library.
#[derive(Debug)]
pub struct Stored {
    pub rows: BTreeMap<u64, Row>,
    /// The allowed messages, by context and id, with the sequence of their allow.
    pub messages: HashMap<(String, String), u64>,
    pub challenges: HashMap<String, u64>,
}

impl Stored {
    pub fn read(path: &Path) -> Self {
        let connection = rusqlite::Connection::open(path).unwrap();
        let mut rows = BTreeMap::new();
        let mut reports =
            connection.prepare("SELECT sequence, decision_id, row_hash, report FROM reports").unwrap();
        let mut found = reports.query(()).unwrap();
        while let Some(row) = found.next().unwrap() {
            let report: serde_json::Value = serde_json::from_str(&row.get::<_, String>(3).unwrap()).unwrap();
            let text =
                |pointer| report.pointer(pointer).and_then(|text| text.as_str()).unwrap_or("").to_owned();
            let row_hash: Vec<u8> = row.get(2).unwrap();
            let stored = Row {
                decision_id: row.get(1).unwrap(),
                row_hash: row_hash.iter().map(|octet| format!("{octet:02x}")).collect(),
                decides: report.pointer("/envelope/outcome").is_some(),
                allows: text("/envelope/outcome") == "allow",
                key: (text("/body/context"), text("/body/messageId")),
            };
            rows.insert(u64::try_from(row.get::<_, i64>(0).unwrap()).unwrap(), stored);
        }
        let mut messages = HashMap::new();
        let mut reserved = connection.prepare("SELECT context, message_id, sequence FROM messages").unwrap();
        let mut found = reserved.query(()).unwrap();
        while let Some(row) = found.next().unwrap() {
            let context: String = row.get(0).unwrap();
            let key = (context.strip_prefix('=').unwrap().to_owned(), row.get(1).unwrap());
            let sequence = u64::try_from(row.get::<_, i64>(2).unwrap()).unwrap();
            assert_eq!(messages.insert(key, sequence), None);
        }
        let mut challenges = HashMap::new();
        let mut consumed = connection.prepare("SELECT challenge, sequence FROM challenges").unwrap();
        let mut found = consumed.query(()).unwrap();
        while let Some(row) = found.next().unwrap() {
            let sequence = u64::try_from(row.get::<_, i64>(1).unwrap()).unwrap();
            assert_eq!(challenges.insert(row.get(0).unwrap(), sequence), None);
        }
        Self { rows, messages, challenges }
    }

    pub fn has_allowed(&self, number: usize) -> bool {
        self.messages.contains_key(&example::key_of(number))
    }

    pub fn allows(&self) -> usize {
        self.rows.values().filter(|row| row.allows).count()
    }

    pub fn decisions(&self) -> usize {
        self.rows.values().filter(|row| row.decides).count()
    }

    /// The file agrees with itself.
    fn is_consistent(&self) {
        for (expected, sequence) in (1..).zip(self.rows.keys()) {
            assert_eq!(expected, *sequence, "a gap in the sequence");
        }
        let allows: BTreeSet<u64> =
            self.rows.iter().filter(|(_, row)| row.allows).map(|(sequence, _)| *sequence).collect();
        assert_eq!(allows, self.messages.values().copied().collect(), "each allow has reserved its message");
        assert_eq!(
            allows,
            self.challenges.values().copied().collect(),
            "each allow has consumed its challenge"
        );
        assert_eq!(allows.len(), self.messages.len(), "no message is allowed twice");
        assert_eq!(allows.len(), self.challenges.len(), "no challenge is consumed twice");
        for (key, sequence) in &self.messages {
            assert_eq!(*key, self.rows[sequence].key, "row {sequence} is about another message");
        }
    }

    /// Each answer is recorded as it was given. A refusal that could not be recorded says so (its sequence is 0).
    fn holds(&self, answers: &[Answer]) {
        let mut allowed = HashSet::new();
        for answer in answers {
            let (number, decision_id, sequence) = match answer {
                Answer::Allow { number, decision_id, sequence, row_hash } => {
                    let row = self.rows.get(sequence).unwrap_or_else(|| panic!("lost: {answer:?}"));
                    assert!(row.allows, "{answer:?}");
                    assert_eq!(row.row_hash, *row_hash, "{answer:?}");
                    assert!(allowed.insert(*number), "allowed twice: {answer:?}");
                    (number, decision_id, sequence)
                }
                Answer::Refuse { reason, sequence: 0, .. } => {
                    assert_eq!(reason, "LEDGER_UNAVAILABLE", "{answer:?}");
                    continue;
                }
                Answer::Refuse { number, decision_id, sequence, .. } => {
                    let row = self.rows.get(sequence).unwrap_or_else(|| panic!("lost: {answer:?}"));
                    assert!(!row.allows, "{answer:?}");
                    (number, decision_id, sequence)
                }
            };
            let row = &self.rows[sequence];
            assert_eq!((&row.decision_id, &row.key), (decision_id, &example::key_of(*number)), "{answer:?}");
        }
    }
}

/// The file opens, its chain holds, it agrees with itself, and every answer is in it as it was given.
pub fn holds(path: &Path, answers: &[Answer]) -> Stored {
    let ledger = example::open(path).unwrap_or_else(|error| panic!("it no longer opens: {error}"));
    let (last, _) = ledger.verify_chain().unwrap();
    let stored = Stored::read(path);
    assert_eq!(usize::try_from(last).unwrap(), stored.rows.len());
    stored.is_consistent();
    stored.holds(answers);
    stored
}

/// The same, and then each of these messages is decided again: one that was allowed is a duplicate, even if its allow was
/// never answered. Any other is allowed now, unless its challenge is gone, and never again after that.
pub fn holds_and_goes_on(path: &Path, answers: &[Answer], numbers: impl IntoIterator<Item = usize>) {
    let before = holds(path, answers);
    let engine = example::engine(std::sync::Arc::new(example::open(path).unwrap())).unwrap();
    let numbers: Vec<usize> = numbers.into_iter().collect();
    let mut challenges: HashSet<String> = before.challenges.keys().cloned().collect();
    let mut allowed = Vec::new();
    for number in &numbers {
        let decided = example::decide(&engine, *number);
        let expected = if before.has_allowed(*number) {
            Some(Reason::DuplicateMessage)
        } else if !challenges.insert(example::challenge(*number)) {
            Some(Reason::ChallengeUsed)
        } else {
            allowed.push(*number);
            None
        };
        let reason = match decided.decision {
            Decision::Allow(_) => None,
            Decision::Refuse(refusal) => Some(refusal.reason()),
            Decision::NotOurs(_) => panic!("message {number} is not ours"),
        };
        assert_eq!(reason, expected, "message {number}");
    }
    drop(engine);
    let after = holds(path, answers);
    assert_eq!(after.decisions(), before.decisions() + numbers.len());
    assert_eq!(after.allows(), before.allows() + allowed.len());
}
