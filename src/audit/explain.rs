//! The sentence that a person needs about a recorded decision.
//!
//! Names of somebody's choice are quoted, escaped and cut in it; nothing that a sender wrote stands in it as words.

use super::escape::{escaped, name};
use super::evidence::Rebuilder;
use super::list::{self, plain};
use super::record::Record;
use super::report::{DecisionOutcome, DecisionReportV1, ReportBody};
use crate::engine::{evaluate_anew, explain_anew};
use crate::explain::{Explanation, Unmet};
use crate::ledger::{LedgerError, LedgerReader, LedgerRow};
use crate::message::Digest;
use crate::refusal::{Evidence, Reason, Refusal, Stage};

/// Actions that a sentence names.
const MAX_ACTIONS: usize = 3;
/// Characters of a text of an explanation that was made anew.
const MAX_TEXT_CHARS: usize = 2_000;

/// A recorded decision, explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// Who asked for what, under which mandate, and what came out; or what happened.
    pub story: String,
    /// Which hop or constraint failed. `None`: nothing did.
    pub why: Option<String>,
    /// What the nearest rule asks for and does not find, where the decision could be made again.
    pub unmet: Vec<Unmet>,
    /// The smallest change that would have permitted it. `None`: nothing was refused.
    pub change: Option<String>,
    /// What the why and the change come from.
    pub basis: Basis,
}

/// What an explanation comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// The decision was made again from its evidence, and came out for the same reason.
    Reevaluation,
    /// The report alone, for this cause.
    Report(String),
}

/// Explains a row: from evidence where that is kept, otherwise from what its report holds.
///
/// # Errors
/// [`LedgerError`]
pub fn explanation(reader: &LedgerReader, row: &LedgerRow) -> Result<Explained, LedgerError> {
    let report = match &row.record {
        Record::Decision(report) => report,
        Record::Event(event) => {
            let story = format!("{}.", list::event(&event.event));
            return Ok(nothing_refused(story));
        }
    };
    let story = story(report);
    let Some(refusal) = refusal(report) else {
        return Ok(nothing_refused(story));
    };
    let (told, basis) = match reevaluated(reader, report) {
        Ok(explanation) => (explanation, Basis::Reevaluation),
        Err(cause) => (Explanation::of_refusal(&refusal), Basis::Report(cause)),
    };
    Ok(Explained { story, why: Some(told.sentence), unmet: told.unmet, change: Some(told.change), basis })
}

fn nothing_refused(story: String) -> Explained {
    let basis = Basis::Report("nothing was refused".to_owned());
    Explained { story, why: None, unmet: Vec::new(), change: None, basis }
}

/// What `Engine::explain` tells of the same request, rebuilt from its evidence; or why it cannot.
fn reevaluated(reader: &LedgerReader, report: &DecisionReportV1) -> Result<Explanation, String> {
    let DecisionReportV1 { body, envelope, .. } = report;
    match envelope.reason {
        None => {}
        // Not the ledger: the policies permitted it, and no change of what was asked takes a duty away.
        Some(Reason::ObligationUnsupported) => {
            return Err("the policies permitted it, with a duty that this server does not know".to_owned());
        }
        Some(_) => return Err("the ledger refused, and what it held then is past".to_owned()),
    }
    // What masking took out of the report must not come back by way of its evidence.
    if !envelope.redacted.is_empty() {
        return Err("the report is masked".to_owned());
    }
    if body.engine_version != env!("CARGO_PKG_VERSION") {
        return Err("another version of Writgate decided".to_owned());
    }
    let evidence = envelope.evidence.as_ref().ok_or("the report names no evidence")?;
    let (config, request) = Rebuilder::new(|digest: &Digest| reader.evidence(*digest))
        .rebuild(evidence)
        .map_err(|cause| escaped(&cause.to_string()))?;
    if evaluate_anew(&request, &config).report.reason != body.reason {
        return Err("made again, the decision comes out otherwise: see `writgate audit replay`".to_owned());
    }
    explain_anew(&request, &config)
        .map(|explanation| quoted(&explanation))
        .ok_or_else(|| "no explanation was found".to_owned())
}

/// Explanations quote papers and messages, so each text of one is cut as a name is, and escaped.
fn quoted(explanation: &Explanation) -> Explanation {
    let bounded = |text: &str| {
        let mut text = escaped(text);
        crate::refusal::cut(&mut text, MAX_TEXT_CHARS);
        text
    };
    let mut told = Explanation::new(bounded(&explanation.sentence), bounded(&explanation.change));
    told.unmet = explanation.unmet.clone();
    for unmet in &mut told.unmet {
        (unmet.asked, unmet.seen) = (bounded(&unmet.asked), bounded(&unmet.seen));
    }
    told
}

fn story(DecisionReportV1 { body, envelope, .. }: &DecisionReportV1) -> String {
    let who = match (&body.holder, &body.actor) {
        (Some(holder), _) => name(holder),
        // It was verified; who it is, the report does not say.
        _ if envelope.is_redacted("/body/holder") => "a holder whose name is masked".to_owned(),
        (None, Some(actor)) => format!("{} (whose presentation was not verified)", name(actor)),
        (None, None) => format!("the peer {} (whose presentation was not verified)", name(&body.peer)),
    };
    let asked = match body.actions.is_empty() {
        true if envelope.is_redacted("/body/actions") => "asked for what is masked".to_owned(),
        true if envelope.outcome == DecisionOutcome::NotOurs => {
            "sent a message that carries nothing of the extension".to_owned()
        }
        true => "sent a message whose actions were not reached".to_owned(),
        false => format!("asked to {}", actions(body)),
    };
    let outcome = match envelope.outcome {
        DecisionOutcome::Allow => "it was allowed",
        DecisionOutcome::Refuse => "it was refused",
        DecisionOutcome::NotOurs => "nothing that bears on security may follow from it",
    };
    format!("At {}, {who} {asked}{}; {outcome}.", plain(&body.instant), mandate(body))
}

fn actions(body: &ReportBody) -> String {
    let told: Vec<_> = body
        .actions
        .iter()
        .take(MAX_ACTIONS)
        .map(|action| format!("{} {}", name(&action.action), name(&action.target)))
        .collect();
    let more = match body.actions.len().saturating_sub(MAX_ACTIONS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let owner = body.root_principal.as_deref().map(|root| format!(", of {}", name(root))).unwrap_or_default();
    format!("{}{more}{owner}", told.join(", "))
}

fn mandate(body: &ReportBody) -> String {
    match body.chain.as_slice() {
        [] if body.stage >= Stage::Chain => ", under no mandate that was verified".to_owned(),
        [] => String::new(),
        [.., leaf] => {
            let hops = match body.chain.len() {
                1 => "1 hop".to_owned(),
                hops => format!("{hops} hops"),
            };
            format!(", under the mandate {} of {} ({hops})", name(&leaf.policy), name(&leaf.issuer))
        }
    }
}

/// The refusal as it was, with every text of its evidence as a quoted name.
fn refusal(DecisionReportV1 { body, envelope, .. }: &DecisionReportV1) -> Option<Refusal> {
    let (stage, reason) = match (envelope.reason, body.reason) {
        (Some(reason), _) => (Stage::Admission, reason),
        (None, Some(reason)) => (body.stage, reason),
        (None, None) => return None,
    };
    let held = body.evidence.clone().unwrap_or_default();
    Some(Refusal::new(stage, reason).with(|evidence| {
        let quoted = |value: Option<String>| value.as_deref().map(name);
        *evidence = Evidence {
            policy: quoted(held.policy),
            hop: held.hop,
            phase: held.phase,
            credential: quoted(held.credential),
            shape: quoted(held.shape),
            path: quoted(held.path),
            constraint: quoted(held.constraint),
            seen: quoted(held.seen),
            expected: quoted(held.expected),
            // In our own words, but they may name something.
            detail: held.detail.as_deref().map(escaped),
        };
    }))
}
