//! What a row of the chain can be: a decision's report, or an event of the ledger itself.
//!
//! Whatever changes the ledger's tables is a row: so the chain covers the tables too, and an auditor can follow them from
//! the first row to the last.

use super::report::DecisionReportV1;
use crate::message::Digest;
use crate::refusal::Reason;
use serde::{Deserialize, Serialize};

/// One row's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A decision.
    Decision(Box<DecisionReportV1>),
    /// Something that happened to the ledger.
    Event(Box<LedgerEventV1>),
}

/// A row that this version of Writgate does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Not of the form that its version has.
    #[error("it is not of its version's form")]
    Malformed,
    /// Of a version that is not known here.
    #[error("it is of another version")]
    Version,
}

impl Record {
    /// Reads a row's text.
    ///
    /// # Errors
    /// [`RecordError`]
    pub fn read(text: &str) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: String,
        }
        let malformed = |_| RecordError::Malformed;
        let Versioned { version } = serde_json::from_str(text).map_err(malformed)?;
        match version.as_str() {
            DecisionReportV1::VERSION => {
                Ok(Self::Decision(Box::new(serde_json::from_str(text).map_err(malformed)?)))
            }
            LedgerEventV1::VERSION => {
                Ok(Self::Event(Box::new(serde_json::from_str(text).map_err(malformed)?)))
            }
            _ => Err(RecordError::Version),
        }
    }

    /// The row's id: the decision's, or the event's own.
    pub fn id(&self) -> &str {
        match self {
            Self::Decision(report) => &report.envelope.decision_id,
            Self::Event(event) => &event.envelope.event_id,
        }
    }

    /// The row's number.
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Decision(report) => report.envelope.sequence,
            Self::Event(event) => event.envelope.sequence,
        }
    }

    /// When it was recorded, RFC 3339 in UTC with microseconds. `None`: a report of a ledger before version 4.
    pub fn recorded(&self) -> Option<&str> {
        match self {
            Self::Decision(report) => report.envelope.recorded.as_deref(),
            Self::Event(event) => Some(&event.envelope.recorded),
        }
    }

    /// What changed in the ledger's tables with this row.
    pub fn changes(&self) -> &[RowChange] {
        match self {
            Self::Decision(report) => &report.envelope.changes,
            Self::Event(event) => &event.envelope.changes,
        }
    }
}

/// A row of one of the ledger's tables that was written or removed. Names and contents are digests: the row itself is in
/// its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RowChange {
    /// The table.
    pub table: String,
    /// SHA-256 over the row's key.
    pub key: Digest,
    /// SHA-256 over the whole row as it is now. Absent: it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<Digest>,
}

/// Something that happened to the ledger, as it is recorded: versioned and chained as a report is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LedgerEventV1 {
    /// `LedgerEventV1`.
    pub version: String,
    /// What happened.
    pub event: Event,
    /// What recording it added.
    pub envelope: EventEnvelope,
}

impl LedgerEventV1 {
    /// The version word of this form.
    pub const VERSION: &'static str = "LedgerEventV1";
}

/// What recording an event added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventEnvelope {
    /// UUIDv7.
    pub event_id: String,
    /// The row's number, from 1, without gaps.
    pub sequence: u64,
    /// When it was recorded: RFC 3339 in UTC with microseconds.
    pub recorded: String,
    /// What changed in the ledger's tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RowChange>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Event {
    /// A step of a conversation: an offer, an answer, a give-up.
    Negotiated {
        /// Who we are in it: `agent` or `client`.
        role: String,
        /// The other side, as the transport authenticated it; empty where it did not.
        peer: String,
        /// The effective context.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// The document that the exchange is about.
        protocol_hash: String,
        /// The state before. Absent: there was no exchange.
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<ExchangeReport>,
        /// The state after. Absent: there is no exchange.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<ExchangeReport>,
    },
    /// The operator, or a feed that it configured, revoked something.
    Revoked {
        /// Ids of policies or credentials.
        ids: u64,
        /// Policies, by their publishers.
        policies: u64,
        /// Entries of status lists.
        entries: u64,
        /// The ids and policies by name: what was decided under them can be found. (An entry is a place in a list; which
        /// credential has it no report says.)
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<RevokedName>,
    },
    /// The operator forgot the exchanges of a peer.
    Forgotten {
        /// The peer; empty for whoever was not authenticated.
        peer: String,
        /// How many exchanges.
        exchanges: u64,
    },
    /// Presentations made up to an instant are refused from here on.
    FloorRaised {
        /// The instant: RFC 3339 in UTC with microseconds.
        floor: String,
    },
    /// Reserved ids and consumed challenges left the ledger; what they guarded is below the floor now.
    Pruned {
        /// Those of the rows up to this one.
        through: u64,
        /// How many of either.
        reservations: u64,
        /// The floor that takes their place.
        floor: String,
    },
    /// Messages without a verified holder that were refused or not ours, beyond the rate at which each gets a report of its
    /// own; and any refusal while there was hardly room for allows.
    Refusals {
        /// The minute of the first of them: RFC 3339 in UTC. Where there was room, it is the minute of all.
        minute: String,
        /// For each peer and reason.
        refusals: Vec<RefusalTally>,
    },
    /// A key that signs checkpoints from here on.
    Key {
        /// The public key as a did:key.
        public_key: String,
        /// The key before it, which signed this change. Absent: the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        previous: Option<String>,
        /// The previous key's Ed25519 signature, in base64url.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Rows up to one left the ledger for an archive.
    Archived {
        /// The last row that left.
        through: u64,
        /// Its hash, which the next row follows.
        row_hash: Digest,
        /// SHA-256 of the archive file.
        archive: Digest,
        /// The state of the tables after that row, by its digest.
        state: Digest,
        /// How many message ids were reserved after that row, and not pruned.
        reserved: u64,
        /// The floor after that row, where there was one: RFC 3339 in UTC with microseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        floor: Option<String>,
        /// The key that signed checkpoints after that row, where there was one, as a did:key.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The key that signed, as a did:key.
        public_key: String,
        /// Its Ed25519 signature in base64url, over the JCS form of this event without the signature (`archived`), the
        /// ledger's `domain` and its `ledgerId`.
        signature: String,
    },
    /// Evidence was erased; its digests stay.
    Erased {
        /// What was erased.
        digests: Vec<Digest>,
    },
    /// A file of an earlier version was brought up to this one. Its tables were not covered by the chain; they are now.
    Migrated {
        /// The version that it was.
        from: u32,
        /// The tables' state as it was found, by its digest.
        state: Digest,
        /// The instant below which no presentation is accepted, where there is one: RFC 3339 in UTC with microseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        floor: Option<String>,
    },
}

/// A policy or credential that was revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokedName {
    /// Its id.
    pub id: String,
    /// Who published the revocation; it counts for policies of that assigner and those below. Absent: the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
}

/// The state of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExchangeReport {
    /// `offered`, `active`, `declined` or `aborted`.
    pub state: String,
    /// Whether prose is out of the question.
    pub required: bool,
}

/// How many refusals of one reason a peer got within a minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefusalTally {
    /// The peer; empty for whoever was not authenticated, and [`Self::OTHERS`] for those beyond the number that are counted
    /// apart.
    pub peer: String,
    /// The reason. Absent: messages that were not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// How many.
    pub refusals: u64,
}

impl RefusalTally {
    /// In a peer's place: any of those beyond the number that are counted apart.
    pub const OTHERS: &'static str = "*";
}
