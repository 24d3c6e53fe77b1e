//! One row, whole, for a person. Every text from outside is quoted, escaped and cut; `--json` has it uncut.

use super::EvidenceDigests;
use super::escape::{escaped, name};
use super::list::{self, plain};
use super::record::{EventEnvelope, LedgerEventV1, Record};
use super::report::{DecisionReportV1, HopReport, ReportBody, ReportEnvelope};
use crate::ledger::{KeptEvidence, LedgerError, LedgerReader, LedgerRow};
use crate::message::Digest;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Names of one kind that are shown; of more, how many there are.
const MAX_SHOWN: usize = 100;

/// The row that a person names: by its number, or by the id of its decision or event.
///
/// # Errors
/// [`LedgerError`]
pub fn find(reader: &LedgerReader, id_or_sequence: &str) -> Result<Option<LedgerRow>, LedgerError> {
    match id_or_sequence.parse() {
        Ok(sequence) => reader.row(sequence),
        Err(_) => reader.find(id_or_sequence),
    }
}

/// Everything that a row says.
///
/// # Errors
/// [`LedgerError`], for the evidence that it names.
pub fn text(reader: &LedgerReader, row: &LedgerRow) -> Result<String, LedgerError> {
    let mut page = Page::default();
    page.line("row", &row.sequence.to_string());
    page.line("hash", &row.row_hash.to_string());
    match &row.record {
        Record::Decision(report) => {
            decision(&mut page, report);
            if let Some(evidence) = &report.envelope.evidence {
                self::evidence(&mut page, reader, evidence)?;
            }
        }
        Record::Event(event) => self::event(&mut page, event),
    }
    page.line("changes", &changes(row));
    Ok(page.0)
}

/// Lines of a label and a value.
#[derive(Default)]
struct Page(String);

impl Page {
    /// A value of our own.
    fn line(&mut self, label: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{label:<16} {}", escaped(value));
    }

    /// Somebody else's.
    fn named(&mut self, label: &str, value: Option<&str>) {
        if let Some(value) = value {
            let _ = writeln!(self.0, "{label:<16} {}", name(value));
        }
    }

    fn each<'v, T: 'v>(
        &mut self,
        label: &str,
        values: impl ExactSizeIterator<Item = &'v T>,
        told: impl Fn(&T) -> String,
    ) {
        let more = values.len().saturating_sub(MAX_SHOWN);
        for value in values.take(MAX_SHOWN) {
            let _ = writeln!(self.0, "{label:<16} {}", told(value));
        }
        if more > 0 {
            self.line(label, &format!("and {more} more"));
        }
    }
}

fn decision(page: &mut Page, DecisionReportV1 { body, envelope, .. }: &DecisionReportV1) {
    page.line("decision", &plain(&envelope.decision_id));
    page.line("instant", &plain(&body.instant));
    page.line("recorded", &envelope.recorded.as_deref().map_or_else(|| "(not kept)".to_owned(), plain));
    outcome(page, body, envelope);
    asked(page, body);
    for (label, list, hops) in
        [("hop", "/body/chain", &body.chain), ("actor hop", "/body/actorChain", &body.actor_chain)]
    {
        page.each(label, hops.iter().enumerate().collect::<Vec<_>>().iter(), |(index, hop)| {
            self::hop(hop, envelope.absent(&format!("{list}/{index}/authorizes"), "nobody by name"))
        });
    }
    judged(page, body);
    page.each("stage time", envelope.stage_micros.iter().collect::<Vec<_>>().iter(), |(stage, micros)| {
        format!("{} {micros} us", plain(stage))
    });
    page.each("redacted", envelope.redacted.iter(), |path| name(path));
    if let Some(digest) = &envelope.body_digest {
        page.line("body digest", &format!("{digest} (before masking)"));
    }
    if let Some(digest) = &envelope.reservation {
        page.line("reservation", &digest.to_string());
    }
    page.line("engine", &plain(&body.engine_version));
    page.line(
        "configuration",
        &format!("generation {}, {}", body.configuration_generation, body.configuration_digest),
    );
}

fn outcome(page: &mut Page, body: &ReportBody, envelope: &ReportEnvelope) {
    page.line("outcome", list::word(envelope.outcome));
    page.line("stage", body.stage.as_str());
    for (at, reason, wire) in
        [("evaluation", body.reason, body.wire_code), ("admission", envelope.reason, envelope.wire_code)]
    {
        if let Some(reason) = reason {
            let wire = wire.map_or("internal error", |wire| wire.as_str());
            page.line("refused by", &format!("{at}: {} ({wire}): {}", reason.as_str(), reason.sentence()));
        }
    }
    page.named("first decision", envelope.earlier_decision.as_deref());
    if let Some(evidence) = &body.evidence {
        page.named("detail", evidence.detail.as_deref());
        if let Some(hop) = evidence.hop {
            page.line("at hop", &hop.to_string());
        }
        if let Some(phase) = evidence.phase {
            page.line("phase", phase.as_str());
        }
        for (label, value) in [
            ("policy", &evidence.policy),
            ("credential", &evidence.credential),
            ("shape", &evidence.shape),
            ("path", &evidence.path),
            ("constraint", &evidence.constraint),
            ("seen", &evidence.seen),
            ("expected", &evidence.expected),
        ] {
            page.named(label, value.as_deref());
        }
    }
    page.each("mark", body.marks.iter(), |mark| plain(mark));
}

fn asked(page: &mut Page, body: &ReportBody) {
    page.named("peer", Some(&body.peer));
    page.named("actor", body.actor.as_deref());
    if body.actor_unauthenticated {
        page.line("actor", "not authenticated by the caller");
    }
    page.named("holder", body.holder.as_deref());
    page.named("root principal", body.root_principal.as_deref());
    page.named("context", body.context.as_deref());
    page.named("message", body.message_id.as_deref());
    page.line("message digest", &body.message_digest.to_string());
    page.named("protocol", body.protocol_hash.as_deref());
    page.named("intent", body.intent_hash.as_deref());
    page.each("action", body.actions.iter(), |action| {
        format!("{} as {} on {}", name(&action.class), name(&action.action), name(&action.target))
    });
    if let Some(digest) = &body.presentation_digest {
        page.line("presentation", &digest.to_string());
    }
}

fn hop(hop: &HopReport, nobody: &str) -> String {
    let id = hop.credential.as_deref().map(|id| format!("{} ", name(id))).unwrap_or_default();
    let until =
        hop.valid_until.as_deref().map(|until| format!(", until {}", plain(until))).unwrap_or_default();
    format!(
        "{} mandates {} by policy {} ({}, {}), credential {id}{}{until}",
        name(&hop.issuer),
        hop.authorizes.as_deref().map_or_else(|| nobody.to_owned(), name),
        name(&hop.policy),
        plain(&hop.binding),
        hop.policy_digest,
        hop.credential_digest
    )
}

fn judged(page: &mut Page, body: &ReportBody) {
    page.each("attribute", body.attributes.iter(), |attribute| {
        let values: Vec<_> = attribute.values.iter().take(MAX_SHOWN).map(|value| name(value)).collect();
        let by = if attribute.stated { "stated" } else { "established" };
        format!("{} {by}: {}", name(&attribute.operand), values.join(", "))
    });
    page.each("duty", body.obligations.iter().collect::<Vec<_>>().iter(), |duty| {
        let target = duty.target.as_deref().map(|target| format!(" on {}", name(target))).unwrap_or_default();
        format!("{}{target} by {}", name(&duty.action), name(&duty.policy))
    });
    page.each("discharged", body.discharged.iter(), |(duty, target)| {
        let target = target.as_deref().map(|target| format!(" on {}", name(target))).unwrap_or_default();
        format!("{}{target}", name(duty))
    });
    page.named("not after", body.not_after.as_deref());
    page.each("input", body.inputs.iter(), |input| {
        format!("{} {}, {} s old", plain(&input.kind), name(&input.id), input.age_seconds)
    });
    page.each("not judged", body.unjudged_parts.iter(), |part| {
        format!("part {}: {}", part.index, name(&part.content))
    });
    page.each("not judged", body.unjudged_nodes.iter(), |node| format!("node {}", name(node)));
    if let Some(report) = &body.shacl_report {
        page.line("SHACL report", &format!("{} octets (see --json)", report.len()));
    }
}

fn evidence(page: &mut Page, reader: &LedgerReader, evidence: &EvidenceDigests) -> Result<(), LedgerError> {
    let digests = [
        ("message", evidence.message),
        ("request", evidence.request),
        ("configuration", evidence.configuration),
    ];
    for (what, digest) in digests {
        page.line("evidence", &format!("{what} {digest}: {}", kept(reader, digest)?));
    }
    Ok(())
}

/// What the ledger has of it. Only digests are shown here: what readers may have of a message is another question.
fn kept(reader: &LedgerReader, digest: Digest) -> Result<String, LedgerError> {
    Ok(match reader.evidence(digest) {
        Ok(KeptEvidence::Octets(octets)) => format!("kept, {} octets", octets.len()),
        Ok(KeptEvidence::Erased) => "erased".to_owned(),
        Ok(KeptEvidence::Absent) => "not kept".to_owned(),
        // The row itself can be shown all the same.
        Err(LedgerError::Unusable(_)) => "what is kept is not what was written".to_owned(),
        Err(error) => return Err(error),
    })
}

fn event(page: &mut Page, LedgerEventV1 { event, envelope, .. }: &LedgerEventV1) {
    let EventEnvelope { event_id, recorded, .. } = envelope;
    page.line("event", &plain(event_id));
    page.line("recorded", &plain(recorded));
    page.line("what", &list::event(event));
    // Its members by name, so that no kind of event is left out.
    let value = serde_json::to_value(event).unwrap_or_default();
    for (label, value) in value.as_object().into_iter().flatten() {
        match value.as_array() {
            Some(values) => page.each(label, values.iter(), |value| name(&value.to_string())),
            None => page.named(label, Some(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))),
        }
    }
}

fn changes(row: &LedgerRow) -> String {
    let mut tables: BTreeMap<&str, usize> = BTreeMap::new();
    for change in row.record.changes() {
        *tables.entry(&change.table).or_default() += 1;
    }
    let told: Vec<_> = tables.iter().map(|(table, rows)| format!("{rows} in {}", plain(table))).collect();
    if told.is_empty() { "none of the ledger's tables".to_owned() } else { told.join(", ") }
}
