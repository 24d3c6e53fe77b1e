//! Masking: what of a report is not recorded.

use super::report::ReportBody;

/// A body as it is recorded, where values of it are masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The body without the masked values.
    pub(crate) body: ReportBody,
    /// JSON pointers, into the report, of what was removed.
    pub(crate) redacted: Vec<String>,
}
