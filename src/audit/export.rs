//! The rows for other programs, written one after another.

use super::escape::{csv_record, json_for_terminal, nquads_for_terminal};
use super::filter::Filter;
use super::record::Record;
use super::report::{DecisionReportV1, HopReport};
use super::{list, prov};
use crate::ledger::{LedgerError, LedgerReader, LedgerRow};
use crate::refusal::Stage;
use std::io::{self, Write};

/// What rows are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Each row's JCS text on a line, octet for octet as the chain covers it.
    Jsonl,
    /// PROV-O ([`prov`]).
    NQuads,
    /// RFC 4180, with [`COLUMNS`]; for people and their spreadsheets.
    Csv,
}

/// The columns of the CSV form.
pub const COLUMNS: [&str; 26] = [
    "sequence",
    "recorded",
    "rowHash",
    "kind",
    "id",
    "instant",
    "outcome",
    "stage",
    "reason",
    "wireCode",
    "peer",
    "actor",
    "holder",
    "rootPrincipal",
    "context",
    "messageId",
    "messageDigest",
    "protocolHash",
    "intentHash",
    "actions",
    "targets",
    "credentials",
    "policies",
    "marks",
    "configurationGeneration",
    "event",
];

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Where it is written to.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes the rows that a filter asks for, oldest first.
///
/// With `terminal`, characters that a terminal obeys are written by the form's own escapes: the values stay what they are,
/// but a JSONL line is then no longer what the chain covers.
///
/// # Errors
/// [`ExportError`]; what was written until then is whole rows.
pub fn export(
    reader: &LedgerReader,
    filter: &Filter,
    format: Format,
    terminal: bool,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    if format == Format::Csv {
        out.write_all(csv_record(COLUMNS).as_bytes())?;
    }
    list::rows(reader, filter, None, |row| {
        Ok::<_, ExportError>(out.write_all(text(row, format, terminal)?.as_bytes())?)
    })?;
    Ok(out.flush()?)
}

fn text(row: &LedgerRow, format: Format, terminal: bool) -> io::Result<String> {
    Ok(match format {
        Format::Csv => csv(row),
        Format::Jsonl if terminal => format!("{}\n", json_for_terminal(&row.text)),
        Format::Jsonl => format!("{}\n", row.text),
        Format::NQuads if terminal => nquads_for_terminal(&nquads(row)?),
        Format::NQuads => nquads(row)?,
    })
}

/// A row's statements as N-Quads.
///
/// # Errors
/// None that a text in memory has.
pub fn nquads(row: &LedgerRow) -> io::Result<String> {
    let mut serializer = oxttl::NQuadsSerializer::new().for_writer(Vec::new());
    for quad in prov::statements(row) {
        serializer.serialize_quad(quad.as_ref())?;
    }
    String::from_utf8(serializer.finish()).map_err(io::Error::other)
}

/// A row as one record of CSV.
pub fn csv(row: &LedgerRow) -> String {
    let sequence = row.sequence.to_string();
    let hash = row.row_hash.to_string();
    let recorded = row.record.recorded().unwrap_or_default();
    let first = [sequence.as_str(), recorded, &hash];
    match &row.record {
        Record::Decision(report) => {
            let cells = decision(report);
            csv_record(first.into_iter().chain(cells.iter().map(String::as_str)))
        }
        Record::Event(event) => {
            // The event's own text, which is JSON; between it and the id nothing applies.
            let text = serde_json::to_string(&event.event).unwrap_or_default();
            let between = std::iter::repeat_n("", COLUMNS.len().saturating_sub(6));
            let cells = ["event", &event.envelope.event_id].into_iter().chain(between).chain([text.as_str()]);
            csv_record(first.into_iter().chain(cells))
        }
    }
}

/// The columns from `kind` on.
fn decision(DecisionReportV1 { body, envelope, .. }: &DecisionReportV1) -> [String; 23] {
    let admission = envelope.reason.is_some();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let reason = envelope.reason.or(body.reason).map_or("", |reason| reason.as_str());
    let wire = if admission { envelope.wire_code } else { body.wire_code }.map_or("", |wire| wire.as_str());
    let stage = if admission { Stage::Admission } else { body.stage };
    let hops = || body.chain.iter().chain(&body.actor_chain);
    let credential =
        |hop: &HopReport| hop.credential.clone().unwrap_or_else(|| hop.credential_digest.to_string());
    [
        "decision".to_owned(),
        envelope.decision_id.clone(),
        body.instant.clone(),
        list::word(envelope.outcome).to_owned(),
        stage.as_str().to_owned(),
        reason.to_owned(),
        wire.to_owned(),
        body.peer.clone(),
        text(&body.actor),
        text(&body.holder),
        text(&body.root_principal),
        text(&body.context),
        text(&body.message_id),
        body.message_digest.to_string(),
        text(&body.protocol_hash),
        text(&body.intent_hash),
        joined(body.actions.iter().map(|action| action.action.clone())),
        joined(body.actions.iter().map(|action| action.target.clone())),
        joined(hops().map(credential)),
        joined(hops().map(|hop| hop.policy.clone())),
        joined(body.marks.iter().cloned()),
        body.configuration_generation.to_string(),
        String::new(),
    ]
}

/// Several values in a cell. For exact values there are the other forms.
fn joined(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(" ")
}
