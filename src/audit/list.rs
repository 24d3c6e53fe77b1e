//! Rows, one line each.

use super::escape::name;
use super::filter::Filter;
use super::record::{Event, Record};
use super::report::{DecisionOutcome, DecisionReportV1};
use crate::ledger::{LedgerError, LedgerReader, LedgerRow};
use crate::refusal::Stage;
use std::collections::VecDeque;

/// Targets that a line names.
const MAX_TARGETS: usize = 2;

/// Gives the rows that a filter asks for to `visit`, oldest first; with a limit, the newest of them.
///
/// Rows are read one after another. With a limit so many are held at most, otherwise one.
///
/// # Errors
/// [`LedgerError`], and whatever `visit` gives.
pub fn rows<E: From<LedgerError>>(
    reader: &LedgerReader,
    filter: &Filter,
    limit: Option<usize>,
    mut visit: impl FnMut(&LedgerRow) -> Result<(), E>,
) -> Result<(), E> {
    let Some(limit) = limit else {
        return reader.each_row(1, |row| if filter.matches(&row.record) { visit(&row) } else { Ok(()) });
    };
    let mut newest = VecDeque::new();
    reader.each_row(1, |row| {
        if filter.matches(&row.record) {
            newest.push_back(row);
            if newest.len() > limit {
                newest.pop_front();
            }
        }
        Ok::<_, E>(())
    })?;
    newest.iter().try_for_each(visit)
}

/// A row in a line: when (UTC), its number, what came out, why, who, on what, and its id. Texts from outside are quoted,
/// escaped and cut.
pub fn line(row: &LedgerRow) -> String {
    let when = super::filter::at(&row.record).map_or_else(|| "(no time)".to_owned(), super::recorded_text);
    let what = match &row.record {
        Record::Decision(report) => decision(report),
        Record::Event(event) => format!("event     {}", self::event(&event.event)),
    };
    format!("{when}  {:>6}  {what}  {}", row.sequence, plain(row.record.id()))
}

fn decision(DecisionReportV1 { body, envelope, .. }: &DecisionReportV1) -> String {
    let outcome = word(envelope.outcome);
    let why = match (envelope.reason, body.reason) {
        (Some(reason), _) => format!("  {} at {}", reason.as_str(), Stage::Admission.as_str()),
        (None, Some(reason)) => format!("  {} at {}", reason.as_str(), body.stage.as_str()),
        (None, None) => String::new(),
    };
    let who = match &body.holder {
        Some(holder) => format!("holder {}", name(holder)),
        None => format!("peer {}", name(&body.peer)),
    };
    let targets: Vec<_> = body.actions.iter().take(MAX_TARGETS).map(|action| name(&action.target)).collect();
    let more = match body.actions.len().saturating_sub(MAX_TARGETS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let on = if targets.is_empty() { String::new() } else { format!("  on {}{more}", targets.join(", ")) };
    let marks: String = body.marks.iter().map(|mark| format!("  {}", plain(mark))).collect();
    format!("{outcome:<8}{why}  {who}{on}{marks}")
}

/// The word of an outcome, as reports write it.
pub fn word(outcome: DecisionOutcome) -> &'static str {
    match outcome {
        DecisionOutcome::Allow => "allow",
        DecisionOutcome::Refuse => "refuse",
        DecisionOutcome::NotOurs => "not-ours",
    }
}

/// An event in words of ours; names are quoted.
pub fn event(event: &Event) -> String {
    // What carries no text from outside is told as it stands; the rest by its counts and names.
    match event {
        Event::Negotiated { role, peer, protocol_hash, after, .. } => {
            let state = after.as_ref().map_or_else(|| "none".to_owned(), |after| plain(&after.state));
            format!(
                "negotiated as {} with {}: document {}, now {state}",
                plain(role),
                name(peer),
                name(protocol_hash)
            )
        }
        Event::Revoked { ids, policies, entries, .. } => {
            format!("revoked: {ids} ids, {policies} policies, {entries} entries of status lists")
        }
        Event::Forgotten { peer, exchanges } => format!("forgotten: {exchanges} exchanges of {}", name(peer)),
        Event::FloorRaised { floor } => format!("floor raised to {}", plain(floor)),
        Event::Pruned { through, reservations, floor } => {
            format!(
                "pruned: {reservations} of the message ids up to row {through}, and as many challenges; floor {}",
                plain(floor)
            )
        }
        Event::Refusals { minute, refusals } => {
            let sum = refusals.iter().fold(0u64, |sum, tally| sum.saturating_add(tally.refusals));
            format!("refusals: {sum} without rows of their own in the minute from {}", plain(minute))
        }
        Event::Key { public_key, previous: None, .. } => {
            format!("key: checkpoints are signed with {} from here on", name(public_key))
        }
        Event::Key { public_key, previous: Some(previous), .. } => format!(
            "key: checkpoints are signed with {} from here on, in the place of {}",
            name(public_key),
            name(previous)
        ),
        Event::Archived { through, .. } => format!("archived: rows up to {through} left for a file"),
        Event::Erased { digests } => match digests.len() {
            1 => "erased: 1 piece of evidence".to_owned(),
            pieces => format!("erased: {pieces} pieces of evidence"),
        },
        Event::Migrated { from, .. } => format!("migrated: from version {from} of the ledger's file"),
    }
}

/// The word of an event's kind, as rows write it.
pub fn kind(event: &Event) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    value.get("kind").and_then(|kind| kind.as_str()).unwrap_or("unknown").to_owned()
}

/// A word or an id of ours, which a forged row could have made into anything.
pub(crate) fn plain(text: &str) -> String {
    let own = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | ':' | '.');
    if text.len() <= 64 && text.chars().all(own) { text.to_owned() } else { name(text) }
}
