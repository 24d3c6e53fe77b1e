//! All that is known of one decision.

use super::escape::Html;
use super::{PageError, findings, list, picture};
use crate::audit::{DecisionOutcome, DecisionReportV1, EvidenceDigests, HopReport, ReportBody};
use crate::ledger::{KeptEvidence, LedgerError, LedgerReader, LedgerRow};
use crate::message::Digest;
use crate::refusal::{Evidence, Reason, Retry, Stage};
use std::collections::BTreeMap;

/// Rows of one table.
const MAX_ROWS: usize = 50;
/// Digests whose state is remembered: many decisions share a configuration.
const MAX_STATES: usize = 10_000;

/// What refused, where something did: stage 10's reason goes first, since the body below it says granted.
pub(super) fn refusal(report: &DecisionReportV1) -> Option<(Reason, Stage)> {
    let at_admission = report.envelope.reason.map(|reason| (reason, Stage::Admission));
    at_admission.or(report.body.reason.map(|reason| (reason, report.body.stage)))
}

/// What the ledger has of pieces of evidence, each looked up once.
pub(super) struct EvidenceStates<'r> {
    reader: &'r LedgerReader,
    known: BTreeMap<Digest, &'static str>,
}

impl<'r> EvidenceStates<'r> {
    pub(super) fn new(reader: &'r LedgerReader) -> Self {
        Self { reader, known: BTreeMap::new() }
    }

    fn of(&mut self, digest: Digest) -> Result<&'static str, LedgerError> {
        if let Some(state) = self.known.get(&digest) {
            return Ok(state);
        }
        let state = match self.reader.evidence(digest) {
            Ok(KeptEvidence::Octets(_)) => "kept",
            Ok(KeptEvidence::Erased) => "erased",
            Ok(KeptEvidence::Absent) => "not kept",
            Err(LedgerError::Unusable(_)) => "what is kept is not what was written",
            Err(error) => return Err(error),
        };
        if self.known.len() < MAX_STATES {
            self.known.insert(digest, state);
        }
        Ok(state)
    }
}

pub(super) fn detail(
    html: &mut Html,
    row: &LedgerRow,
    report: &DecisionReportV1,
    evidence: &mut EvidenceStates<'_>,
) -> Result<(), PageError> {
    let body = &report.body;
    sentence(html, report);
    html.raw("<div class=\"two\"><div>");
    facts(html, report);
    if let Some(found) = body.evidence.as_ref().filter(|found| **found != Evidence::default()) {
        grounds(html, found);
    }
    marks(html, body);
    html.raw("</div><div>");
    chain(html, report);
    html.raw("</div></div>");
    asked(html, report);
    hops(html, report, "Chain", "/body/chain", &body.chain);
    hops(html, report, "Actor's own chain", "/body/actorChain", &body.actor_chain);
    if let Some(turtle) = &body.shacl_report {
        shacl(html, turtle);
    }
    stages(html, report);
    inputs(html, body);
    unjudged(html, report);
    digests(html, row, report, evidence)?;
    Ok(())
}

/// The outcome in a sentence of ours, in which no sender's text stands.
fn sentence(html: &mut Html, report: &DecisionReportV1) {
    html.raw("<p class=\"sentence\">");
    list::badge(html, report.envelope.outcome);
    html.raw(" ");
    match (refusal(report), report.envelope.outcome) {
        (Some((reason, _)), _) => {
            html.raw(reason.sentence()).raw(" ").raw(match reason.retry() {
                Retry::Never => "Sending the message again can never help.",
                Retry::AfterChange => "Another message, paper or agreement is needed.",
                Retry::Later => "The same message may pass later.",
            });
        }
        (None, DecisionOutcome::Allow) => {
            html.raw("Every stage held, and the decision was on record before the answer left.");
        }
        (None, DecisionOutcome::NotOurs) => {
            html.raw("The message carries nothing of the extension. Nothing that bears on security may follow from it.");
        }
        (None, DecisionOutcome::Refuse) => {
            html.raw("It was refused.");
        }
    }
    html.raw("</p>");
}

fn facts(html: &mut Html, report: &DecisionReportV1) {
    let (body, envelope) = (&report.body, &report.envelope);
    let refused = refusal(report);
    let wire = envelope.wire_code.or(body.wire_code).map(|code| code.as_str().to_owned());
    let wire = wire.or(refused.map(|_| "none: the binding's own internal error".to_owned()));
    html.raw("<h4>Particulars</h4><dl>");
    let actor = match (&body.actor, body.actor_unauthenticated) {
        (Some(actor), _) => Some(actor.clone()),
        (None, true) => Some("not authenticated: the holder counts as the actor".to_owned()),
        (None, false) => None,
    };
    for (name, value) in [
        ("Reason", refused.map(|(reason, _)| reason.as_str().to_owned())),
        ("Code on the wire", wire),
        ("Refused at stage", refused.map(|(_, stage)| stage.as_str().to_owned())),
        ("Judged at", Some(body.instant.clone())),
        ("Recorded at", envelope.recorded.clone()),
        ("Good until", body.not_after.clone()),
        ("Peer", Some(body.peer.clone())),
        ("Actor", actor),
        ("Holder", body.holder.clone()),
        ("Root principal", body.root_principal.clone()),
        ("Message id", body.message_id.clone()),
        ("Context", body.context.clone()),
        ("Decision id", Some(envelope.decision_id.clone())),
        ("First decision", envelope.earlier_decision.clone()),
    ] {
        fact(html, name, value.as_deref());
    }
    html.raw("</dl>");
}

fn fact(html: &mut Html, name: &'static str, value: Option<&str>) {
    if let Some(value) = value {
        html.raw("<dt>").raw(name).raw("</dt><dd>").value(value).raw("</dd>");
    }
}

fn grounds(html: &mut Html, evidence: &Evidence) {
    html.raw("<h4>What the refusal rests on</h4><dl>");
    let hop = evidence.hop.map(|hop| hop.to_string());
    let phase = evidence.phase.map(|phase| phase.as_str().to_owned());
    for (name, value) in [
        ("Detail", &evidence.detail),
        ("Phase", &phase),
        ("Hop", &hop),
        ("Policy", &evidence.policy),
        ("Credential", &evidence.credential),
        ("Shape", &evidence.shape),
        ("Path", &evidence.path),
        ("Constraint", &evidence.constraint),
        ("Seen", &evidence.seen),
        ("Expected", &evidence.expected),
    ] {
        fact(html, name, value.as_deref());
    }
    html.raw("</dl>");
}

fn marks(html: &mut Html, body: &ReportBody) {
    if body.marks.is_empty() {
        return;
    }
    html.raw("<h4>Marks</h4><dl>");
    for mark in body.marks.iter().take(MAX_ROWS) {
        html.raw("<dt>").value(mark).raw("</dt><dd class=\"p\">").raw(meaning(mark)).raw("</dd>");
    }
    html.raw("</dl>");
}

/// What a mark means.
fn meaning(mark: &str) -> &'static str {
    match mark {
        "unbound" => {
            "The presentation answers a plain challenge: it is fresh, and not bound to this one message."
        }
        "provisional" => {
            "A credential names its policy and does not bind it: the policy that was judged is the one that the server had."
        }
        "parsed-by-caller" => {
            "The caller parsed the message: what its octets were, and whether a member stood there twice, was not seen."
        }
        _ => "A mark that this version of Writgate does not know.",
    }
}

fn chain(html: &mut Html, report: &DecisionReportV1) {
    html.raw("<h4>From the owner to the request</h4>");
    let drawn = picture::draw(report);
    if drawn.as_str().is_empty() {
        html.raw("<p class=\"soft\">There is no chain to draw: ").raw(
            match report.envelope.redacted.as_slice() {
                [] => "it ended before an owner, a holder or an action was known.</p>",
                _ => "no owner, holder or action is in this report, from which something was masked.</p>",
            },
        );
    } else {
        html.raw("<figure tabindex=\"0\" role=\"group\" aria-label=\"Picture of the chain\">")
            .append(&drawn)
            .raw("</figure>");
    }
}

fn asked(html: &mut Html, report: &DecisionReportV1) {
    let (body, envelope) = (&report.body, &report.envelope);
    table(
        html,
        "What was asked",
        &["Action", "On target", "As the intent calls it"],
        &body.actions,
        |html, action| {
            cell(html, &super::short(&action.action));
            cell(html, &action.target);
            cell(html, &super::short(&action.class));
        },
    );
    table(
        html,
        "Attributes that it was judged by",
        &["Attribute", "Where from", "Values"],
        &numbered(&body.attributes),
        |html, (attribute, number)| {
            cell(html, &attribute.operand);
            html.raw(if attribute.stated {
                "<td class=\"p\">stated by the sender</td>"
            } else {
                "<td class=\"p\">established here</td>"
            });
            html.raw("<td>").raw(envelope.absent(&format!("/body/attributes/{number}/values"), ""));
            for (value, number) in attribute.values.iter().take(MAX_ROWS).zip(0..) {
                html.raw(if number > 0 { ", " } else { "" }).value(value);
            }
            more(html, attribute.values.len());
            html.raw("</td>");
        },
    );
    let duties: Vec<_> = body.obligations.iter().zip(0u64..).collect();
    table(
        html,
        "Duties of the permit",
        &["Duty", "On target", "By policy"],
        &duties,
        |html, (duty, number)| {
            let none = envelope.absent(&format!("/body/obligations/{number}/target"), "-");
            cell(html, &super::short(&duty.action));
            cell(html, duty.target.as_deref().unwrap_or(none));
            cell(html, &duty.policy);
        },
    );
    table(
        html,
        "Duties that the caller says are done",
        &["Duty", "On target"],
        &body.discharged,
        |html, (action, target)| {
            cell(html, &super::short(action));
            cell(html, target.as_deref().unwrap_or("-"));
        },
    );
}

fn hops(html: &mut Html, report: &DecisionReportV1, title: &'static str, path: &str, hops: &[HopReport]) {
    let heads = ["Hop", "From", "To", "Credential", "Policy", "Binding", "Valid until"];
    table(html, title, &heads, &numbered(hops), |html, (hop, number)| {
        let absent = |member: &str, none: &'static str| {
            report.envelope.absent(&format!("{path}/{number}/{member}"), none)
        };
        html.raw("<td>").number(*number).raw("</td>");
        cell(html, &hop.issuer);
        cell(html, hop.authorizes.as_deref().unwrap_or(absent("authorizes", "nobody is named")));
        html.raw("<td>")
            .value(hop.credential.as_deref().unwrap_or(absent("credential", "without an id")))
            .raw("<br>")
            .digest(&hop.credential_digest);
        html.raw("</td><td>").value(&hop.policy).raw("<br>").digest(&hop.policy_digest).raw("</td>");
        html.raw("<td class=\"s\">").value(&hop.binding);
        html.raw("</td><td class=\"s\">")
            .value(hop.valid_until.as_deref().unwrap_or("no end given"))
            .raw("</td>");
    });
}

/// The findings of the shape stage. A message is by the document's author, a value by the sender; neither is ours.
fn shacl(html: &mut Html, turtle: &str) {
    let Some(findings) = findings::read(turtle) else {
        html.raw("<h4>SHACL findings</h4><p>The validation report cannot be read as one; this is its text.</p><pre tabindex=\"0\">");
        html.value(turtle).raw("</pre>");
        return;
    };
    if findings.is_empty() {
        html.raw("<h4>SHACL findings</h4><p class=\"soft\">The validation report names none.</p>");
        return;
    }
    let heads = ["Focus node", "Path", "Constraint", "Value", "Message", "Shape", "Severity"];
    table(html, "SHACL findings", &heads, &findings, |html, finding| {
        let cells = [
            &finding.focus,
            &finding.path,
            &finding.constraint,
            &finding.value,
            &finding.message,
            &finding.shape,
            &finding.severity,
        ];
        for text in cells {
            cell(html, if text.is_empty() { "-" } else { text });
        }
    });
}

/// The stages in their order, with their times. What the report names beside them comes last.
fn stages(html: &mut Html, report: &DecisionReportV1) {
    let micros = &report.envelope.stage_micros;
    if micros.is_empty() {
        return;
    }
    let known = Stage::PIPELINE.iter().filter_map(|stage| micros.get_key_value(stage.as_str()));
    let is_known = |name: &str| Stage::PIPELINE.iter().any(|stage| stage.as_str() == name);
    let others = micros.iter().filter(|(name, _)| !is_known(name));
    let stages: Vec<_> = known.chain(others).collect();
    let longest = micros.values().copied().max().unwrap_or_default().max(1);
    let total = micros.values().fold(0u64, |sum, micros| sum.saturating_add(*micros));
    let refused = refusal(report).map(|(_, stage)| stage.as_str());
    html.raw("<h4>Stages and their times</h4><table class=\"stages\"><thead><tr><th scope=\"col\">Stage</th><th scope=\"col\" \
              class=\"n\">Microseconds</th><th scope=\"col\">Share of the longest</th></tr></thead><tbody>");
    for (name, micros) in stages.into_iter().take(MAX_ROWS) {
        html.raw("<tr><th scope=\"row\">").text(name);
        if refused == Some(name.as_str()) {
            html.raw(" <span class=\"no\">refused</span>");
        }
        // In percent of the longest, and never so little that nothing is seen.
        let percent = u128::from(*micros).saturating_mul(100) / u128::from(longest);
        let width = u64::try_from(percent.clamp(1, 100)).unwrap_or(100);
        html.raw("</th><td class=\"n\">")
            .number(*micros)
            .raw("</td><td><svg class=\"bar\" aria-hidden=\"true\"><rect height=\"10\" width=\"");
        html.number(width).raw("%\"/></svg></td></tr>");
    }
    html.raw("<tr><th scope=\"row\">together</th><td class=\"n\">")
        .number(total)
        .raw("</td><td></td></tr></tbody></table>");
}

fn inputs(html: &mut Html, body: &ReportBody) {
    table(
        html,
        "Inputs from outside the message",
        &["Kind", "Which", "Age in seconds"],
        &body.inputs,
        |html, input| {
            cell(html, &input.kind);
            cell(html, &input.id);
            html.raw("<td>").number(input.age_seconds).raw("</td>");
        },
    );
}

fn unjudged(html: &mut Html, report: &DecisionReportV1) {
    let body = &report.body;
    table(
        html,
        "Parts of the message that were not judged",
        &["Part", "Content"],
        &body.unjudged_parts,
        |html, part| {
            html.raw("<td>").number(part.index as u64).raw("</td>");
            cell(html, &part.content);
        },
    );
    table(html, "Nodes of the intent that were not judged", &["Node"], &body.unjudged_nodes, |html, node| {
        cell(html, node)
    });
    table(html, "Removed from this report by masking", &["Path"], &report.envelope.redacted, |html, path| {
        cell(html, path)
    });
}

fn digests(
    html: &mut Html,
    row: &LedgerRow,
    report: &DecisionReportV1,
    states: &mut EvidenceStates<'_>,
) -> Result<(), PageError> {
    let (body, envelope) = (&report.body, &report.envelope);
    html.raw("<h4>Record and digests</h4><dl><dt>Row</dt><dd>")
        .number(row.sequence)
        .raw("</dd><dt>Row hash</dt><dd>");
    html.digest(&row.row_hash)
        .raw("</dd><dt>Engine</dt><dd>")
        .value(&body.engine_version)
        .raw("</dd><dt>Configuration</dt><dd>");
    html.digest(&body.configuration_digest)
        .raw(" generation ")
        .number(body.configuration_generation)
        .raw("</dd>");
    fact(html, "Protocol Document", body.protocol_hash.as_deref());
    fact(html, "Intent graph", body.intent_hash.as_deref());
    for (name, digest) in [
        ("Message", Some(&body.message_digest)),
        ("Presentation", body.presentation_digest.as_ref()),
        ("Report body", envelope.body_digest.as_ref()),
        ("Reservation", envelope.reservation.as_ref()),
    ] {
        if let Some(digest) = digest {
            html.raw("<dt>").raw(name).raw("</dt><dd>").digest(digest).raw("</dd>");
        }
    }
    if let Some(EvidenceDigests { kept, message, request, configuration }) = &envelope.evidence {
        let of = [
            ("Evidence: message", message),
            ("Evidence: request", request),
            ("Evidence: configuration", configuration),
        ];
        for (name, digest) in of {
            html.raw("<dt>").raw(name).raw("</dt><dd>").digest(digest).raw(" ");
            html.raw(if *kept { states.of(*digest)? } else { "digest alone" }).raw("</dd>");
        }
    }
    html.raw("</dl>");
    Ok(())
}

/// A table under a heading, where there is something to show.
fn table<T>(
    html: &mut Html,
    title: &'static str,
    heads: &[&'static str],
    rows: &[T],
    mut cells: impl FnMut(&mut Html, &T),
) {
    if rows.is_empty() {
        return;
    }
    html.raw("<h4>")
        .raw(title)
        .raw(if heads.len() > 5 { "</h4><div class=\"t wide\"" } else { "</h4><div class=\"t\"" })
        .raw(" tabindex=\"0\" role=\"group\" aria-label=\"")
        .raw(title);
    html.raw("\"><table><thead><tr>");
    for head in heads {
        html.raw("<th scope=\"col\">").raw(head).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
    for row in rows.iter().take(MAX_ROWS) {
        html.raw("<tr>");
        cells(html, row);
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
    more(html, rows.len());
}

fn more(html: &mut Html, rows: usize) {
    if let Some(more) = rows.checked_sub(MAX_ROWS).filter(|more| *more > 0) {
        html.raw("<p class=\"soft\">And ").number(more as u64).raw(" more, in the ledger.</p>");
    }
}

fn numbered<T>(items: &[T]) -> Vec<(&T, u64)> {
    items.iter().zip(0u64..).collect()
}

fn cell(html: &mut Html, text: &str) {
    html.raw("<td>").value(text).raw("</td>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Mask, Masked, ReportEnvelope, example_body};

    #[test]
    fn what_is_masked_is_not_said_to_have_been_absent() {
        let rules = [
            "/body/actions",
            "/body/chain/*/authorizes",
            "/body/chain/*/credential",
            "/body/actorChain/*/authorizes",
            "/body/attributes/*/values",
            "/body/obligations/*/target",
        ];
        let mut body = example_body();
        body.actor_chain.clone_from(&body.chain);
        body.obligations = body
            .obligations
            .into_iter()
            .map(|duty| crate::decision::Obligation { target: Some("t".to_owned()), ..duty })
            .collect();
        let Masked { body, redacted } = Mask::new(rules).unwrap().apply(&body).unwrap().unwrap();
        let envelope = ReportEnvelope {
            redacted,
            ..ReportEnvelope::unrecorded("id".to_owned(), DecisionOutcome::Allow)
        };
        let report = DecisionReportV1 { version: DecisionReportV1::VERSION.to_owned(), body, envelope };
        let (mut tables, drawn) = (Html::default(), picture::draw(&report));
        asked(&mut tables, &report);
        hops(&mut tables, &report, "Chain", "/body/chain", &report.body.chain);
        hops(&mut tables, &report, "Actor's own chain", "/body/actorChain", &report.body.actor_chain);
        assert_eq!(tables.as_str().matches("(masked)").count(), 5, "{}", tables.as_str());
        assert_eq!(drawn.as_str().matches("(masked)").count(), 3, "{}", drawn.as_str());
        for said in ["nobody", "without an id", "<td>-"] {
            assert!(!tables.as_str().contains(said) && !drawn.as_str().contains(said), "{said}");
        }
    }
}
