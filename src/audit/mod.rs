//! The decision report: what was decided, on what, and why.
//!
//! Its *body* is what `evaluate` determines, and a re-decision must reproduce it byte for byte. Its *envelope* is what
//! `decide` adds. A ledger's other rows are events ([`LedgerEventV1`]).
//!
//! An auditor needs the ledger's file alone, and for what the file cannot show, what was noted elsewhere:
//!
//! ```no_run
//! use std::path::{Path, PathBuf};
//! use writgate::audit::{self, Redecided, VerifyOptions};
//! use writgate::ledger::{LedgerError, LedgerReader};
//!
//! # fn main() -> Result<(), LedgerError> {
//! let file = Path::new("ledger.db");
//! // Is it what was written? Nothing that the file says is taken at its word.
//! let outside = VerifyOptions { checkpoints: Some(PathBuf::from("checkpoints.jsonl")), ..VerifyOptions::default() };
//! let verification = audit::verify(file, &outside)?;
//! verification.findings.iter().for_each(|finding| println!("{finding}"));
//! println!("holds: {}; signed up to row {} of {}", verification.holds(), verification.covered, verification.last_row);
//!
//! // Do the reports follow from their evidence?
//! let reader = LedgerReader::open(file)?;
//! let mut other = 0u64;
//! audit::replay(&reader, (1, u64::MAX), false, |decision| {
//!     if decision.redecided != Redecided::Equal {
//!         println!("row {}: {:?}", decision.sequence, decision.redecided);
//!         other += 1;
//!     }
//!     Ok::<_, LedgerError>(())
//! })?;
//! println!("{other} did not come out the same");
//!
//! // Who asked for what? One row at a time.
//! reader.each_row(1, |row| Ok::<_, LedgerError>(println!("{}", audit::list::line(&row))))?;
//! # Ok(())
//! # }
//! ```

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
