//! The list of decisions with its filters, and the list of events.
//!
//! Filters are radio buttons, and rules of the style that hide what does not have the chosen class. Classes are numbers of
//! this page: no text of a report stands in a rule or a class.

use super::escape::{Html, cut};
use super::{Noted, PageError, decision};
use crate::audit::{DecisionOutcome, DecisionReportV1, LedgerEventV1};
use crate::ledger::LedgerRow;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// Choices of one filter; what is rarer goes together.
const MAX_CHOICES: usize = 40;
/// Characters of a choice, and of a text in a line of the list.
const LABEL_CHARS: usize = 90;
const LINE_CHARS: usize = 160;
/// Actions in a line of the list.
const LINE_ACTIONS: usize = 2;
/// Members of an event, and of a list in it, that are shown.
const MAX_MEMBERS: usize = 60;

/// What the decisions of a page can be filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Facet {
    Outcome,
    Reason,
    Stage,
    Action,
    Mark,
    Peer,
    Holder,
}

impl Facet {
    const ALL: [Self; 7] =
        [Self::Outcome, Self::Reason, Self::Stage, Self::Action, Self::Mark, Self::Peer, Self::Holder];

    /// The filter's name, and the letter of its classes.
    fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Outcome => ("Outcome", "o"),
            Self::Reason => ("Reason", "r"),
            Self::Stage => ("Stage that refused", "s"),
            Self::Action => ("Action", "a"),
            Self::Mark => ("Mark", "m"),
            Self::Peer => ("Peer", "p"),
            Self::Holder => ("Holder", "h"),
        }
    }
}

/// What a decision is filtered by.
pub(super) fn labels(report: &DecisionReportV1) -> Vec<(Facet, String)> {
    let (body, envelope) = (&report.body, &report.envelope);
    let mut labels =
        vec![(Facet::Outcome, word(envelope.outcome).to_owned()), (Facet::Peer, body.peer.clone())];
    if let Some((reason, stage)) = decision::refusal(report) {
        labels.push((Facet::Reason, reason.as_str().to_owned()));
        labels.push((Facet::Stage, stage.as_str().to_owned()));
    }
    labels.extend(body.holder.iter().map(|holder| (Facet::Holder, holder.clone())));
    labels.extend(body.actions.iter().map(|action| (Facet::Action, super::short(&action.action))));
    labels.extend(body.marks.iter().map(|mark| (Facet::Mark, mark.clone())));
    labels.sort();
    labels.dedup();
    labels
}

/// The filters of a page: each one's choices, the commonest first.
pub(super) struct Facets(Vec<Choices>);

/// The choices of a filter, and how many more have no button.
struct Choices {
    facet: Facet,
    choices: Vec<Choice>,
    rarer: usize,
}

struct Choice {
    label: String,
    decisions: u64,
}

impl Facets {
    pub(super) fn of(decisions: &VecDeque<Noted>) -> Self {
        let mut counts: BTreeMap<(Facet, &str), u64> = BTreeMap::new();
        for (facet, label) in decisions.iter().flat_map(|noted| &noted.labels) {
            *counts.entry((*facet, label)).or_default() += 1;
        }
        let facets = Facet::ALL.into_iter().filter_map(|facet| {
            let of_facet = counts.iter().filter(|((of, _), _)| *of == facet);
            let mut choices: Vec<_> = of_facet
                .map(|((_, label), count)| Choice { label: (*label).to_owned(), decisions: *count })
                .collect();
            choices.sort_by(|one, other| {
                other.decisions.cmp(&one.decisions).then_with(|| one.label.cmp(&other.label))
            });
            let rarer = choices.len().saturating_sub(MAX_CHOICES);
            choices.truncate(MAX_CHOICES);
            // One choice that every decision has parts nothing.
            let parts = choices.first().is_some_and(|choice| choice.decisions < decisions.len() as u64);
            parts.then_some(Choices { facet, choices, rarer })
        });
        Self(facets.collect())
    }

    /// The classes of a decision: for each filter, the numbers of its choices.
    pub(super) fn classes(&self, noted: &Noted) -> Vec<(&'static str, usize)> {
        let number = |(facet, label): &(Facet, String)| {
            let of_facet = self.0.iter().find(|choices| choices.facet == *facet)?;
            let number = of_facet.choices.iter().position(|choice| choice.label == *label)?;
            Some((facet.name().1, number))
        };
        noted.labels.iter().filter_map(number).collect()
    }

    /// A rule for each choice: what has not its class is not there.
    pub(super) fn rules(&self, style: &mut Html) {
        for Choices { facet, choices, .. } in &self.0 {
            let letter = facet.name().1;
            for number in 0..choices.len() as u64 {
                style
                    .raw("body:has(#")
                    .raw(letter)
                    .number(number)
                    .raw(":checked) .d:not(.")
                    .raw(letter)
                    .number(number);
                style.raw("){display:none}");
            }
        }
    }

    pub(super) fn filters(&self, html: &mut Html) {
        if self.0.is_empty() {
            return;
        }
        html.raw(
            "<section class=\"filters-of\" aria-labelledby=\"filters\"><h2 id=\"filters\">Filters</h2><div \
                  class=\"filters\">",
        );
        for Choices { facet, choices, rarer } in &self.0 {
            let (name, letter) = facet.name();
            html.raw("<fieldset><legend>")
                .raw(name)
                .raw("</legend><label><input type=\"radio\" name=\"")
                .raw(letter);
            html.raw("\" id=\"").raw(letter).raw("\" checked><span>any</span></label>");
            for (choice, number) in choices.iter().zip(0u64..) {
                html.raw("<label><input type=\"radio\" name=\"")
                    .raw(letter)
                    .raw("\" id=\"")
                    .raw(letter)
                    .number(number);
                html.raw("\"><span>")
                    .value(&cut(&choice.label, LABEL_CHARS))
                    .raw("</span><b>")
                    .number(choice.decisions);
                html.raw("</b></label>");
            }
            if *rarer > 0 {
                html.raw("<p class=\"soft\">").number(*rarer as u64).raw(" rarer ones have no button.</p>");
            }
            html.raw("</fieldset>");
        }
        html.raw("</div></section>");
    }
}

pub(super) fn begin(html: &mut Html, decisions: usize) {
    html.raw("<section aria-labelledby=\"decisions\"><h2 id=\"decisions\">Decisions</h2>");
    if decisions == 0 {
        html.raw("<p>There is none that the filter asks for.</p>");
    }
    html.raw("<div class=\"list\"><ol>");
}

/// One decision: its line, and behind it all that is known.
pub(super) fn decision(
    html: &mut Html,
    row: &LedgerRow,
    report: &DecisionReportV1,
    classes: &[(&'static str, usize)],
    evidence: &mut decision::EvidenceStates<'_>,
) -> Result<(), PageError> {
    html.raw("<li class=\"d");
    for (letter, number) in classes {
        html.raw(" ").raw(letter).number(*number as u64);
    }
    html.raw("\"><details><summary>");
    badge(html, report.envelope.outcome);
    html.raw("<time>").text(&readable(&report.body.instant)).raw("</time><h3 class=\"what\">");
    asked(html, report);
    html.raw("</h3><span class=\"row\">row ").number(row.sequence).raw("</span><span class=\"by\">");
    match decision::refusal(report) {
        Some((reason, stage)) => html.text(reason.as_str()).raw(" at ").text(stage.as_str()).raw(". "),
        None => html,
    };
    by(html, report);
    html.raw("</span></summary><div class=\"detail\" id=\"row-").number(row.sequence).raw("\">");
    decision::detail(html, row, report, evidence)?;
    html.raw("</div></details></li>\n");
    Ok(())
}

/// The line's first words: what was asked.
fn asked(html: &mut Html, report: &DecisionReportV1) {
    let actions = &report.body.actions;
    if actions.is_empty() {
        html.raw(match report.envelope.outcome {
            _ if report.envelope.is_redacted("/body/actions") => "What was asked is masked",
            DecisionOutcome::NotOurs => "Nothing of the extension",
            _ => "No action was made out",
        });
    }
    for (action, number) in actions.iter().take(LINE_ACTIONS).zip(0..) {
        html.raw(if number > 0 { "; " } else { "" }).value(&cut(&super::short(&action.action), LABEL_CHARS));
        html.raw(" on ").value(&cut(&action.target, LINE_CHARS));
    }
    if let Some(more) = actions.len().checked_sub(LINE_ACTIONS).filter(|more| *more > 0) {
        html.raw("; and ").number(more as u64).raw(" more");
    }
}

fn by(html: &mut Html, report: &DecisionReportV1) {
    let body = &report.body;
    match (&body.holder, &body.actor) {
        (Some(holder), _) => html.raw("Held by ").value(&cut(holder, LINE_CHARS)),
        (None, Some(actor)) => html.raw("Actor ").value(&cut(actor, LINE_CHARS)),
        (None, None) => html.raw("Peer ").value(&cut(&body.peer, LINE_CHARS)),
    };
}

/// The outcome in a word, in a frame of its own form.
pub(super) fn badge(html: &mut Html, outcome: DecisionOutcome) {
    html.raw(match outcome {
        DecisionOutcome::Allow => "<span class=\"b allow\">ALLOW</span>",
        DecisionOutcome::Refuse => "<span class=\"b refuse\">REFUSE</span>",
        DecisionOutcome::NotOurs => "<span class=\"b other\">NOT OURS</span>",
    });
}

pub(super) fn word(outcome: DecisionOutcome) -> &'static str {
    match outcome {
        DecisionOutcome::Allow => "allow",
        DecisionOutcome::Refuse => "refuse",
        DecisionOutcome::NotOurs => "not-ours",
    }
}

/// An instant without what nobody compares at a glance: `2026-05-01 12:00:00 UTC`. The whole one is in the details.
fn readable(instant: &str) -> String {
    match (instant.get(..10), instant.get(10..11), instant.get(11..19)) {
        (Some(day), Some("T"), Some(time)) if instant.ends_with('Z') => format!("{day} {time} UTC"),
        _ => cut(instant, LABEL_CHARS),
    }
}

pub(super) fn end(html: &mut Html, left_out: u64) {
    html.raw("</ol><p class=\"count soft\"> of the decisions on this page. Each one opens.</p></div>");
    if left_out > 0 {
        html.raw("<p class=\"notice\"><strong>The page is full: ").number(left_out);
        html.raw(" more decisions are left out.</strong>A filter gives them.</p>");
    }
    html.raw("</section>");
}

pub(super) fn events_begin(html: &mut Html, shown: u64, matched: u64) {
    html.raw(
        "<section aria-labelledby=\"events\"><h2 id=\"events\">Events of the ledger</h2><p class=\"soft\">",
    );
    html.number(shown).raw(" here, of ").number(matched).raw(". Filters above are for decisions alone.</p>");
    if shown > 0 {
        html.raw(
            "<div class=\"t events\" tabindex=\"0\" role=\"group\" aria-label=\"Events\"><table><thead><tr><th scope=\"col\" \
             class=\"n\">Row</th><th scope=\"col\">Recorded</th><th scope=\"col\">What happened</th><th \
             scope=\"col\">Particulars</th><th scope=\"col\">Row hash</th></tr></thead><tbody>",
        );
    }
}

/// An event: its kind, and whatever its kind has.
pub(super) fn event(html: &mut Html, row: &LedgerRow, event: &LedgerEventV1) -> Result<(), PageError> {
    let what = serde_json::to_value(&event.event)?;
    let kind = what.get("kind").and_then(Value::as_str).unwrap_or_default();
    html.raw("<tr><td class=\"n\">").number(row.sequence).raw("</td><td><time>");
    html.text(&event.envelope.recorded).raw("</time></td><th scope=\"row\">").text(&kind.replace('-', " "));
    html.raw("</th><td>");
    let mut left = MAX_MEMBERS;
    members(html, &what, &mut left);
    html.raw("</td><td>").digest(&row.row_hash).raw("</td></tr>\n");
    Ok(())
}

/// The members of a value, by their names. `left` are those that may still be shown.
fn members(html: &mut Html, value: &Value, left: &mut usize) {
    let parts: Vec<(Option<&str>, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (Some(name.as_str()), value)).collect(),
        Value::Array(items) => items.iter().map(|value| (None, value)).collect(),
        Value::String(text) => {
            html.value(text);
            return;
        }
        other => {
            html.text(&other.to_string());
            return;
        }
    };
    let parts = parts.into_iter().filter(|(name, _)| *name != Some("kind"));
    for (number, (name, value)) in parts.enumerate() {
        let Some(rest) = left.checked_sub(1) else {
            html.raw(" … more is in the ledger");
            return;
        };
        *left = rest;
        html.raw(if number > 0 { ", " } else { "" });
        if let Some(name) = name {
            html.raw("<span class=\"soft\">").text(name).raw("</span> ");
        }
        let nested = value.is_object();
        html.raw(if nested { "(" } else { "" });
        members(html, value, left);
        html.raw(if nested { ")" } else { "" });
    }
}

pub(super) fn events_end(html: &mut Html, events: usize) {
    html.raw(if events > 0 { "</tbody></table></div></section>" } else { "</section>" });
}
