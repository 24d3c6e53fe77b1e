//! Stage 10's memory: what was allowed, what was consumed, and a report of everything, in one transaction.
//!
//! A [`Ledger`] makes "allow" happen at most once for each (effective context, holder, message id) and for each
//! (holder, domain, challenge). Promise: no double allow, no lost report, and an error always refuses.
//!
//! What each answer does to a message's id: an allow reserves it for ever (until pruning, which raises the floor above
//! it); a refusal, a stale candidate and an error reserve nothing, so the same message may be tried again.
//!
//! [`crate::ConfigFile::open_ledger`] opens the ledger of a configuration file. Without files, a program makes one once and
//! opens it ever after, with the key that signs its checkpoints; it must never make the key anew:
//!
//! ```
//! use std::path::Path;
//! use writgate::audit::CheckpointSigner;
//! use writgate::credential::issue::SigningKey;
//! use writgate::ledger::{Checkpoints, LedgerError, SqliteLedger};
//!
//! fn ledger(folder: &Path, key: SigningKey) -> Result<SqliteLedger, Box<dyn std::error::Error>> {
//!     let (file, domain, skew) = (folder.join("ledger.db"), "https://me.example/agent", chrono::TimeDelta::seconds(60));
//!     let now = chrono::Utc::now();
//!     let ledger = match file.exists() {
//!         true => SqliteLedger::open(&file, domain, skew)?,
//!         // `true` states that no ledger served this domain before.
//!         false => SqliteLedger::create(&file, domain, true, now, skew)?,
//!     };
//!     let checkpoints = Checkpoints::new(CheckpointSigner::new(key)?).with_file(folder.join("checkpoints.jsonl"));
//!     let ledger = ledger.with_checkpoints(checkpoints, now)?.with_max_bytes(Some(8 << 30));
//!     // An older copy, or one that was altered: [`LedgerError::RolledBack`].
//!     ledger.compare_with_checkpoints()?;
//!     Ok(ledger)
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("writgate-doc-ledger-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let key = SigningKey::generate()?;
//! # drop(ledger(&folder, key.clone())?);
//! # let again = ledger(&folder, key)?;
//! # assert!(writgate::audit::verify(&folder.join("ledger.db"), &Default::default())?.holds());
//! # assert!(matches!(again.compare_with(Path::new("nothing")), Ok(()) | Err(LedgerError::Store(_))));
//! # drop(again);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

mod chain;
#[cfg(test)]
mod conformance;
mod fair_share;
mod reader;
mod sqlite;
pub(crate) mod status_memory;
mod verification;

pub use fair_share::Sponsor;
pub use reader::{KeptEvidence, LedgerReader, LedgerRow};
pub use sqlite::{Archive, Checkpoints, ListedExchange, Pruned, SqliteLedger, verify_archive};
pub use status_memory::{Learned, ListKey, ListMark, Revoked, RevokedEntry, RevokedPolicy, StatusMemory};
pub use verification::{Finding, Verification, VerifyOptions, verify};

use crate::audit::{Blob, DecisionReportV1, EvidenceDigests, Masked, ReportBody};
use crate::decision::Obligation;
use crate::message::Digest;
use crate::protocol::ProtocolHash;
use crate::protocol::conversation::{ConversationKey, Exchange};
use crate::refusal::{EarlierDecision, Reason};
use crate::request::{Conversation, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Octets of one report's body. It repeats identifiers of a message (1 MiB at most) a few times over. The one member
/// that can outgrow that is the SHACL report: over this bound it is left out and its path recorded as redacted. A
/// body that is still larger is not recorded, and the decision is refused.
pub(crate) const MAX_BODY_BYTES: usize = 4 << 20;
/// Octets of one row: a body and what recording it adds.
pub(crate) const MAX_ROW_BYTES: usize = 6 << 20;

/// Why the ledger could not answer. The decision is `LEDGER_UNAVAILABLE`; the cause goes to the log, never to a peer.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The file, its schema or its rows are not what this version writes.
    #[error("the ledger is unusable: {0}")]
    Unusable(String),
    /// The file is not one that SQLite wrote: its pages are damaged, or it is another kind of file.
    #[error("the ledger's file is damaged: {0}")]
    Damaged(String),
    /// The store failed.
    #[error("the ledger's store failed: {0}")]
    Store(String),
    /// What was to be recorded contradicts itself or this ledger: a broken invariant of the caller.
    #[error("this cannot be recorded: {0}")]
    Contradictory(&'static str),
    /// A report is larger than a row may be.
    #[error("a report of {0} octets is larger than the ledger keeps")]
    ReportTooLarge(usize),
    /// The file has all that the operator gave it: prune and archive, or give it more.
    #[error("the ledger is full: prune and archive, or raise `[ledger] max_bytes`")]
    Full,
    /// A pruning would take what a presentation that is still fresh must be compared with.
    #[error("this is too recent to be pruned: presentations of that time may still be used")]
    TooRecent,
    /// There is no decision of that id.
    #[error("there is no decision {0}")]
    NoSuchDecision(String),
    /// The ledger does not have a row that was noted outside it.
    #[error(
        "the ledger does not have row {sequence} with the hash {row_hash}, which was noted outside it: it is an older \
         copy, or was altered. If you restored a backup, say so with `writgate ledger restored`"
    )]
    RolledBack {
        /// The row's number.
        sequence: u64,
        /// The hash that was noted.
        row_hash: Digest,
    },
    /// A row of the chain is not what was written.
    #[error("row {sequence} of the ledger is not what was written: {problem}")]
    ChainBroken {
        /// The first row that does not hold.
        sequence: u64,
        /// What does not hold.
        problem: &'static str,
    },
}

/// What the ledger contributes to a snapshot.
#[derive(Debug, Clone, Default)]
pub struct LedgerSnapshot {
    /// What was once seen revoked, and which status lists were accepted.
    pub memory: Arc<StatusMemory>,
    /// What holds in the conversation that was asked for.
    pub conversation: Conversation,
}

/// The conversation that a decision belongs to, and what the decision rests on of it.
#[derive(Debug, Clone)]
pub struct RestsOn {
    /// Which.
    pub of: ConversationKey,
    /// What the ledger said of it.
    pub conversation: Conversation,
}

/// What a re-decision needs beside the report.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// What there is, by digests, for the report.
    pub digests: EvidenceDigests,
    /// What is to be kept; nothing where digests are to suffice.
    pub blobs: Vec<Blob>,
}

/// What the ledger did with a step of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Negotiated {
    /// The step was taken, and this is the state now.
    Settled(Exchange),
    /// There was nothing to take the step from, and nothing has changed.
    Nothing,
    /// Another peer used the context first. Nothing has changed.
    AnothersContext,
    /// There is no room for another exchange of this peer, or of any, or none for a further step that requires a protocol.
    /// From now on, its prose is refused everywhere.
    Full,
    /// More steps were taken within the minute than are recorded, or room is scarce. Nothing has changed.
    TooMany,
}

/// A step of a conversation: the state before (as it is at the instant of the step) gives the state after. `None`
/// changes nothing.
pub type Step<'a> = &'a mut dyn FnMut(Option<Exchange>) -> Option<Exchange>;

/// A granted evaluation that asks to be recorded as an allow. It owns what it says: a writer may take it with others.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The evaluation's report body.
    pub body: ReportBody,
    /// The body as it is recorded, where values of it are masked.
    pub masked: Option<Masked>,
    /// What a re-decision needs.
    pub evidence: Option<Evidence>,
    /// UUIDv7 of the decision.
    pub decision_id: String,
    /// Microseconds per stage.
    pub stage_micros: BTreeMap<String, u64>,
    /// The admission instant.
    pub now: Instant,
    /// After it, the grant is void.
    pub not_after: Instant,
    /// The effective context.
    pub context: Option<String>,
    /// The verified holder.
    pub holder: String,
    /// The message's id.
    pub message_id: String,
    /// SHA-256 of the message's JCS form.
    pub message_digest: Digest,
    /// The presentation's domain.
    pub domain: String,
    /// The challenge to consume: the value that the server gave out, also where the presentation answers it bound.
    pub challenge: String,
    /// When the presentation was made.
    pub presentation_created: Instant,
    /// Policies whose permissions are exercised, by the policy's id, a space and its assigner.
    pub exercised: BTreeMap<String, Exercise>,
    /// What must not have been revoked since the snapshot.
    pub leans_on: Revoked,
    /// What the evaluation learned. The lists that it relied on must still be the newest.
    pub learned: Learned,
    /// The conversation, which must still stand so.
    pub rests_on: RestsOn,
    /// Duties of the permit.
    pub obligations: BTreeSet<Obligation>,
}

/// How a candidate exercises the permissions of one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exercise {
    /// How often: once for each action on a target.
    pub times: u64,
    /// The count so far that the evaluation rests on, where it rests on one.
    pub rests_on: Option<u64>,
}

/// What the ledger did with a candidate.
#[derive(Debug)]
pub enum Admission {
    /// Reserved, consumed, counted and recorded.
    Admitted(Recorded, Box<DecisionReportV1>),
    /// Not admitted; the refusal is recorded.
    Refused {
        /// Why.
        reason: Reason,
        /// For a duplicate or a reused id: the decision that holds it. For the server, never for the peer.
        earlier: Option<EarlierDecision>,
        /// The refusal's report as it was recorded.
        report: Box<DecisionReportV1>,
    },
    /// Something that the evaluation saw has changed since its snapshot: evaluate again.
    Stale,
}

/// A decision to be recorded that reserves nothing: a refusal, or a message that is not ours.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The evaluation's report body.
    pub body: ReportBody,
    /// The body as it is recorded, where values of it are masked.
    pub masked: Option<Masked>,
    /// What a re-decision needs.
    pub evidence: Option<Evidence>,
    /// UUIDv7 of the decision.
    pub decision_id: String,
    /// Microseconds per stage.
    pub stage_micros: BTreeMap<String, u64>,
    /// The instant.
    pub now: Instant,
    /// A refusal by stage 10 before the ledger was asked to admit: the reason.
    pub admission_refusal: Option<Reason>,
    /// What the evaluation learned.
    pub learned: Learned,
    /// For a message that is not ours: the conversation, which must still stand so.
    pub rests_on: Option<RestsOn>,
}

/// Proof that a row is durable. Only a ledger of this crate makes one, and one row is good for one permit:
///
/// ```compile_fail,E0451
/// fn forge(other: writgate::ledger::Recorded) -> writgate::ledger::Recorded {
///     writgate::ledger::Recorded { sequence: 7, ..other }
/// }
/// ```
/// ```compile_fail,E0277
/// fn copies<T: Clone>() {}
/// copies::<writgate::ledger::Recorded>();
/// ```
#[derive(Debug)]
pub struct Recorded {
    sequence: u64,
    row_hash: Digest,
}

impl Recorded {
    /// The row's number, from 1, without gaps.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// SHA-256 of the previous row's hash and this report's JCS form.
    pub fn row_hash(&self) -> Digest {
        self.row_hash
    }
}

/// Durable, atomic memory of decisions. The trait is sealed by [`Recorded`]: only this crate can prove a row.
pub trait Ledger: Send + Sync + std::fmt::Debug {
    /// The domain that this ledger serves. It admits for no other: two ledgers need two domains.
    fn domain(&self) -> &str;

    /// What admission will compare against, read before an evaluation, with the conversation as it is at `now`.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn snapshot(&self, of: &ConversationKey, now: Instant) -> Result<LedgerSnapshot, LedgerError>;

    /// How often the permissions of these policies were exercised, by the policy's id, a space and its assigner; of all
    /// policies where none are named. A policy that is not in the answer never was.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn counts(&self, of: Option<&BTreeSet<String>>) -> Result<BTreeMap<String, u64>, LedgerError>;

    /// In one transaction: re-checks the candidate, reserves its id, consumes its challenge, counts its permissions,
    /// appends its report and keeps what was learned; or records the refusal and keeps what was learned. Where the mark
    /// of a list that it relies on finds no room, that is a refusal (`STATUS_RETRIEVAL_ERROR`): what is not kept could be
    /// rolled back. Durable when it returns.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    fn admit(&self, candidate: Candidate) -> Result<Admission, LedgerError>;

    /// Appends the report of a decision that reserves nothing, and keeps what was learned. `None`: the conversation that it
    /// rests on has changed, and nothing was written.
    ///
    /// Of messages without a verified holder, so many a minute get a row each. The others are counted, as durably; their
    /// reports have sequence 0 and say since when (`counted_since`).
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    fn record(&self, entry: Entry) -> Result<Option<DecisionReportV1>, LedgerError>;

    /// Takes one step of the exchange about `hash` in one transaction. Durable when it returns; an answer or offer leaves
    /// only after it.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    fn negotiate(
        &self,
        of: &ConversationKey,
        hash: &ProtocolHash,
        now: Instant,
        step: Step<'_>,
    ) -> Result<Negotiated, LedgerError>;

    /// The exchanges of a conversation as they are at `now`, in order of their hashes.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn exchanges(
        &self,
        of: &ConversationKey,
        now: Instant,
    ) -> Result<Vec<(ProtocolHash, Exchange)>, LedgerError>;

    /// Remembers what the operator, or a revocation feed that it configured, says is revoked. It stays so.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    fn mark_revoked(&self, revoked: &Revoked, now: Instant) -> Result<(), LedgerError>;

    /// Keeps evidence that many decisions share, such as a configuration's documents.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing was written.
    fn keep(&self, evidence: &[Blob]) -> Result<(), LedgerError>;

    /// Makes a signed checkpoint of the rows that the last one does not cover, where the ledger has an audit key: at a
    /// shutdown.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn checkpoint(&self, _now: Instant) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The status lists that the credentials of verified chains name, in order of their issuers: what is to be fetched.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn wanted_lists(&self) -> Result<Vec<ListKey>, LedgerError>;
}
