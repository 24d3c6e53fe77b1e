//! Re-decision: recorded decisions are made again, from what the ledger's file alone holds.

use super::evidence::{EvidenceError, Rebuilder};
use super::{DecisionOutcome, DecisionReportV1, EvaluationOutcome, Record, ReportBody, mask};
use crate::engine::evaluate_anew;
use crate::ledger::{KeptEvidence, LedgerError, LedgerReader};
use crate::message::Digest;
use serde_json::Value;
use std::fmt::Display;

/// Differing paths that are named for one decision.
const MAX_PATHS: usize = 8;

/// What became of one recorded decision when it was made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redecided {
    /// The same, byte for byte.
    Equal,
    /// Something else: JSON pointers into the report, of the first members that differ.
    Differs(Vec<String>),
    /// It was recorded by another version of Writgate, which may have judged by other rules.
    OtherVersion(String),
    /// Its report names no evidence: it was recorded by a version that kept none.
    NoEvidence,
    /// Its evidence is missing or broken.
    Evidence(EvidenceError),
}

impl Redecided {
    /// Whether the decision was made again and came out the same.
    pub fn is_equal(&self) -> bool {
        *self == Self::Equal
    }
}

/// One recorded decision, made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Its row.
    pub sequence: u64,
    /// Its id.
    pub decision_id: String,
    /// What became of it.
    pub redecided: Redecided,
}

/// Makes the decisions of rows `from` to `to` (both included) again and tells `visit` of each, in order. What else is
/// recorded there is passed over. With `any_version`, decisions of other versions are made again too, and must agree in
/// all but the version.
///
/// This says whether the reports are what the evidence leads to. That nobody put a forged row with forged evidence into
/// the file is for the chain to show ([`LedgerReader::verify_chain`]).
///
/// # Errors
/// [`LedgerError`]: a row cannot be read. What is wrong with one decision is told to `visit`, and the next one follows.
pub fn replay<E: From<LedgerError>>(
    reader: &LedgerReader,
    (from, to): (u64, u64),
    any_version: bool,
    mut visit: impl FnMut(Replayed) -> Result<(), E>,
) -> Result<(), E> {
    let mut rebuilder = Rebuilder::new(|digest: &Digest| reader.evidence(*digest));
    // Each row on its own: a read that lasts for ten thousand evaluations would keep a writer's log from being taken in.
    let last = reader.head()?.map_or(0, |(last, _)| last).min(to);
    let mut next = from.max(1);
    // From row to row: rows that left for an archive are not here, and a number in the file can be any.
    while let Some(row) = reader.first_from(next)?.filter(|row| (next..=last).contains(&row.sequence)) {
        next = row.sequence.saturating_add(1);
        if let Record::Decision(report) = row.record {
            let redecided = redecide(&report, &mut rebuilder, any_version);
            let decision_id = report.envelope.decision_id.clone();
            visit(Replayed { sequence: row.sequence, decision_id, redecided })?;
        }
    }
    Ok(())
}

/// Makes one decision again.
pub(crate) fn redecide<G, E>(
    report: &DecisionReportV1,
    rebuilder: &mut Rebuilder<G>,
    any_version: bool,
) -> Redecided
where
    G: FnMut(&Digest) -> Result<KeptEvidence, E>,
    E: Display,
{
    let version = &report.body.engine_version;
    if version != env!("CARGO_PKG_VERSION") && !any_version {
        return Redecided::OtherVersion(version.clone());
    }
    let Some(evidence) = &report.envelope.evidence else { return Redecided::NoEvidence };
    let (config, request) = match rebuilder.rebuild(evidence) {
        Ok(rebuilt) => rebuilt,
        Err(error) => return Redecided::Evidence(error),
    };
    let again = evaluate_anew(&request, &config).report;
    compare(report, ReportBody { engine_version: version.clone(), ..again })
}

/// Compares a recorded report with the body that its evidence leads to: the digest of the whole, which covers what was
/// masked, and then what was recorded.
fn compare(report: &DecisionReportV1, again: ReportBody) -> Redecided {
    let mut paths = Vec::new();
    match mask::redacted(&again, &report.envelope.redacted) {
        None => paths.push("/envelope/redacted".to_owned()),
        Some(masked) => match (serde_json::to_value(&report.body), serde_json::to_value(&masked)) {
            (Ok(recorded), Ok(masked)) => differences(&recorded, &masked, "/body", &mut paths),
            _ => paths.push("/body".to_owned()),
        },
    }
    let digest = again.to_jcs().ok().map(Digest::of);
    // What stage 10 made of a grant is not known here; of anything else it makes what it was.
    let outcome = &report.envelope.outcome;
    let follows = match again.outcome {
        EvaluationOutcome::Granted => match outcome {
            DecisionOutcome::Allow => report.envelope.reason.is_none(),
            DecisionOutcome::Refuse => report.envelope.reason.is_some(),
            DecisionOutcome::NotOurs => false,
        },
        EvaluationOutcome::Refused => *outcome == DecisionOutcome::Refuse,
        EvaluationOutcome::NotOurs => *outcome == DecisionOutcome::NotOurs,
    };
    if !follows {
        paths.push("/envelope/outcome".to_owned());
    }
    // What is not masked, and differs, is named already.
    if paths.is_empty() && (digest.is_none() || digest != report.envelope.body_digest) {
        paths.push("/envelope/bodyDigest".to_owned());
    }
    if paths.is_empty() { Redecided::Equal } else { Redecided::Differs(paths) }
}

/// The first places at which two values differ.
fn differences(one: &Value, other: &Value, at: &str, paths: &mut Vec<String>) {
    if one == other || paths.len() >= MAX_PATHS {
        return;
    }
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                differences(value, other.get(name).unwrap_or(&Value::Null), &format!("{at}/{name}"), paths);
            }
            for (name, value) in other.iter().filter(|(name, _)| !one.contains_key(*name)) {
                differences(&Value::Null, value, &format!("{at}/{name}"), paths);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differences(one, other, &format!("{at}/{index}"), paths);
            }
        }
        _ => paths.push(at.to_owned()),
    }
}

#[cfg(test)]
mod tests;
