//! The decision report: what was decided, on what, and why.
//!
//! Its *body* is what `evaluate` determines, and a re-decision must reproduce it byte for byte. Its *envelope* is what
//! `decide` adds. A ledger's other rows are events ([`record`]).

mod checkpoint;
mod consulted;
mod draft;
pub(crate) mod escape;
pub mod evidence;
pub mod explain;
pub mod export;
pub mod filter;
pub mod list;
mod mask;
pub mod page;
pub mod prov;
pub mod query;
mod record;
mod replay;
mod report;
pub mod show;

pub use checkpoint::{CheckpointCounts, CheckpointSigner, CheckpointV1};
pub(crate) use checkpoint::{KeyChange, is_signed_by};
pub use consulted::Consulted;
pub(crate) use consulted::Lookups;
pub(crate) use draft::{Draft, hop_report};
pub use evidence::{Blob, EvidenceDigests};
pub use filter::Filter;
pub use mask::{Mask, Masked};
pub use record::{
    Event, EventEnvelope, ExchangeReport, LedgerEventV1, Record, RecordError, RefusalTally, RevokedName,
    RowChange,
};
pub use replay::{Redecided, Replayed, replay};
pub use report::{
    ActionReport, AttributeReport, DecisionOutcome, DecisionReportV1, EvaluationOutcome, HopReport,
    InputReport, ReportBody, ReportEnvelope, Reservation, reservation_digest,
};
pub(crate) use report::{instant_text, recorded_text};

pub use crate::ledger::{Finding, Verification, VerifyOptions, verify};

#[cfg(test)]
pub(crate) use report::example_body;
#[cfg(test)]
mod reading_tests;
