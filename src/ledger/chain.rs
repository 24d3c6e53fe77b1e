//! The hash chain over the report rows: each row holds SHA-256(previous row hash || JCS(report)).

use super::LedgerError;
use crate::audit::{Record, RecordError};
use crate::message::Digest;
use crate::message::digest::jcs;

/// What makes a ledger this one.
#[derive(Debug, Clone)]
pub(super) struct Identity<'a> {
    pub(super) ledger_id: &'a str,
    pub(super) domain: &'a str,
    /// The floor that the ledger was made with, in microseconds since 1970. A ledger before version 4 has none here.
    pub(super) first_floor_us: Option<i64>,
    /// The highest instant that it was made with, likewise.
    pub(super) first_high_water_us: Option<i64>,
}

/// The "previous row hash" of the first row: the SHA-256 of the JCS form of the ledger's identity. So the rows of one
/// ledger are no prefix of another's, and an edited id, domain, first floor or first instant breaks the chain at row 1.
pub(super) fn first_link(identity: &Identity<'_>) -> Result<Digest, LedgerError> {
    let mut link = serde_json::json!({ "domain": identity.domain, "ledgerId": identity.ledger_id });
    let first = [("firstFloor", identity.first_floor_us), ("firstHighWater", identity.first_high_water_us)];
    for (name, instant) in first {
        if let (Some(instant), Some(members)) = (instant, link.as_object_mut()) {
            members.insert(name.to_owned(), instant.to_string().into());
        }
    }
    Digest::of_jcs(&link)
        .map_err(|error| LedgerError::Unusable(format!("the ledger's identity cannot be hashed: {error}")))
}

/// A row's hash, over the previous row's hash and the report's JCS octets.
pub(super) fn row_hash(previous: Digest, report: &[u8]) -> Digest {
    let mut octets = Vec::with_capacity(32 + report.len());
    octets.extend_from_slice(previous.as_bytes());
    octets.extend_from_slice(report);
    Digest::of(octets)
}

/// One row, as it stands in the store.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) sequence: u64,
    pub(super) decision_id: String,
    pub(super) previous_hash: Digest,
    pub(super) row_hash: Digest,
    pub(super) report: String,
}

/// Follows a chain from its first link, row by row.
#[derive(Debug)]
pub(super) struct ChainVerifier {
    sequence: u64,
    hash: Digest,
}

impl ChainVerifier {
    /// Before the first row.
    pub(super) fn new(first_link: Digest) -> Self {
        Self::after(0, first_link)
    }

    /// After a row that left the ledger, as its archive's anchor says.
    pub(super) fn after(sequence: u64, hash: Digest) -> Self {
        Self { sequence, hash }
    }

    /// The last verified row's number (0: none yet) and hash.
    pub(super) fn head(&self) -> (u64, Digest) {
        (self.sequence, self.hash)
    }

    /// Takes the next row, and gives what it says.
    ///
    /// # Errors
    /// [`LedgerError::ChainBroken`], naming the first row that does not hold.
    pub(super) fn follow(&mut self, row: &Row) -> Result<Record, LedgerError> {
        let sequence = self.sequence.saturating_add(1);
        let broken = |problem| Err(LedgerError::ChainBroken { sequence, problem });
        if row.sequence != sequence {
            return broken("it is missing");
        }
        if row.previous_hash != self.hash {
            return broken("it does not follow the row before it");
        }
        if row.row_hash != row_hash(self.hash, row.report.as_bytes()) {
            return broken("its hash is not that of its report");
        }
        let record = match Record::read(&row.report) {
            Ok(record) => record,
            Err(RecordError::Malformed) => return broken("its report is not of this version's form"),
            Err(RecordError::Version) => return broken("its report is of another version"),
        };
        let text = match &record {
            Record::Decision(report) => jcs(report),
            Record::Event(event) => jcs(event),
        };
        if text.ok().as_deref() != Some(row.report.as_bytes()) {
            return broken("its report is not in JCS form");
        }
        if record.sequence() != sequence || record.id() != row.decision_id {
            return broken("its report names another row or decision");
        }
        self.sequence = sequence;
        self.hash = row.row_hash;
        Ok(record)
    }
}
