//! What is wrong with a shapes graph, in the words of a review.

use super::compiled::ShapeError;
pub(super) use crate::protocol::{Finding as Fault, FindingKind as Kind};

/// Refuses with a sentence.
pub(super) fn unusable<T>(kind: Kind, why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new(kind, why))
}

impl From<Fault> for ShapeError {
    fn from(fault: Fault) -> Self {
        Self::Unusable(fault.sentence().to_owned())
    }
}
