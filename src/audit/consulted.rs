//! What an evaluation asked of something outside its request.

use crate::credential::JudgedChallenge;
use serde::{Deserialize, Serialize};

/// What an evaluation looked up where an auditor cannot: with it, the same evaluation can be run again elsewhere. It holds
/// what a peer may still use, so it is evidence and no part of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Consulted {
    /// The issued challenge that was expected, and what its issuer said of it.
    /// [`crate::credential::IssuedChallenges::Recorded`] says it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<JudgedChallenge>,
}
