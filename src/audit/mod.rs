//! The decision report: what was decided, on what, and why.
//!
//! Its *body* is what `evaluate` determines, and a re-decision must reproduce it byte for byte. Its *envelope* is what
//! `decide` adds. A ledger's other rows are events ([`record`]).

mod consulted;
mod draft;
mod evidence;
mod mask;
mod record;
mod report;

pub use consulted::Consulted;
pub(crate) use draft::{Draft, hop_report};
pub use evidence::{Blob, EvidenceDigests};
pub use mask::Masked;
pub use record::{
    Event, EventEnvelope, ExchangeReport, LedgerEventV1, Record, RecordError, RefusalTally, RowChange,
};
pub use report::{
    ActionReport, AttributeReport, DecisionOutcome, DecisionReportV1, EvaluationOutcome, HopReport,
    InputReport, ReportBody, ReportEnvelope, Reservation, reservation_digest,
};
pub(crate) use report::{instant_text, recorded_text};

#[cfg(test)]
pub(crate) use report::example_body;
