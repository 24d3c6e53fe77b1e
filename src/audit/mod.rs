//! The decision report: what was decided, on what, and why.
//!
//! Its *body* is what `evaluate` determines, and a re-decision must reproduce it byte for byte. Its *envelope* is what
//! `decide` adds. (Evidence, checkpoints, replay and export are a later issue.)

mod consulted;
mod draft;
pub mod evidence;
mod mask;
mod report;

pub use consulted::Consulted;
pub(crate) use consulted::Lookups;
pub(crate) use draft::{Draft, hop_report};
pub use evidence::{Blob, EvidenceDigests};
pub use mask::{Mask, Masked};
pub(crate) use report::instant_text;
pub use report::{
    ActionReport, AttributeReport, DecisionOutcome, DecisionReportV1, EvaluationOutcome, HopReport,
    InputReport, ReportBody, ReportEnvelope,
};

#[cfg(test)]
pub(crate) use report::example_body;
