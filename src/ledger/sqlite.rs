//! The ledger in SQLite: WAL, `synchronous=FULL`, one writer at a time.

use super::{Admission, Candidate, Entry, Ledger, LedgerError, LedgerSnapshot};
use crate::audit::DecisionReportV1;
use crate::request::Instant;
use chrono::TimeDelta;
use std::path::Path;

/// A ledger in one SQLite file, or in memory.
#[derive(Debug)]
pub struct SqliteLedger {}

impl SqliteLedger {
    /// Creates a ledger for `domain`. `first` is the operator's statement that no ledger served this domain before;
    /// without it, presentations made up to `now` plus `skew` are refused (`BEFORE_LEDGER_FLOOR`).
    ///
    /// # Errors
    /// [`LedgerError`]; also when the file exists.
    pub fn create(
        path: &Path,
        domain: &str,
        first: bool,
        now: Instant,
        skew: TimeDelta,
    ) -> Result<Self, LedgerError> {
        let _ = (path, domain, first, now, skew);
        Err(LedgerError::Unusable("not implemented".into()))
    }

    /// Opens an existing ledger, which must be `domain`'s.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn open(path: &Path, domain: &str, skew: TimeDelta) -> Result<Self, LedgerError> {
        let _ = (path, domain, skew);
        Err(LedgerError::Unusable("not implemented".into()))
    }

    /// A ledger that ends with the process. Its floor is `now` plus `skew`, so that a restart reopens no replay.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn in_memory(domain: &str, now: Instant, skew: TimeDelta) -> Result<Self, LedgerError> {
        let _ = (domain, now, skew);
        Err(LedgerError::Unusable("not implemented".into()))
    }
}

impl Ledger for SqliteLedger {
    fn snapshot(&self) -> Result<LedgerSnapshot, LedgerError> {
        Err(LedgerError::Unusable("not implemented".into()))
    }

    fn admit(&self, candidate: Candidate<'_>) -> Result<Admission, LedgerError> {
        let _ = candidate;
        Err(LedgerError::Unusable("not implemented".into()))
    }

    fn record(&self, entry: Entry<'_>) -> Result<DecisionReportV1, LedgerError> {
        let _ = entry;
        Err(LedgerError::Unusable("not implemented".into()))
    }
}
