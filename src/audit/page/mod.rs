//! The audit page: decisions of a ledger as one HTML file, to be read without a network and without a script.
//!
//! It is made for a reader who trusts nobody, of texts that anybody may have sent. So markup is constants of this program
//! and everything else is escaped (`escape`); the page allows itself no script, no request and no style but its own; and
//! it says what it was made of, what was left out, and whether the chain held when it was written.

mod decision;
mod escape;
mod findings;
mod list;
mod picture;

use super::record::Record;
use super::{Filter, recorded_text};
use crate::ledger::{LedgerError, LedgerReader, LedgerRow};
use crate::message::Digest;
use crate::request::Instant;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use escape::Html;
use list::Facets;
use std::collections::VecDeque;
use std::io::{self, Write};

/// Decisions on one page, where nobody says otherwise.
pub const DEFAULT_DECISIONS: usize = 1_000;
/// Decisions on one page at most: a browser has to open it.
pub const MAX_DECISIONS: usize = 10_000;
/// Octets of the decisions on one page, about. A thousand of the usual kind take a fifth.
const MAX_OCTETS: u64 = 48 << 20;
/// Events on one page.
const MAX_EVENTS: usize = 1_000;
/// Characters of a text in a title of the picture.
const TITLE_CHARS: usize = 1_000;

const STYLE: &str = include_str!("page.css");

/// What a page is made of.
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// Which rows. Events are on the page whether it asks for them or not, where they meet the rest.
    pub filter: Filter,
    /// Decisions at most, the newest: up to [`MAX_DECISIONS`].
    pub limit: usize,
    /// The instant of writing.
    pub now: Instant,
}

/// What a page holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSummary {
    /// Decisions on the page.
    pub decisions: u64,
    /// Decisions that the filter asks for.
    pub matched: u64,
    /// Events on the page.
    pub events: u64,
    /// The last row of the chain that holds. 0: there is none.
    pub last_row: u64,
    /// What of the chain does not hold. Rows from there on are not on the page.
    pub broken: Option<String>,
}

/// Why a page could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The ledger could not be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The page could not be written.
    #[error("the page could not be written: {0}")]
    Write(#[from] io::Error),
    /// A row left the ledger, or changed, since the chain was verified.
    #[error("row {0} is not what it was a moment ago; write the page again")]
    Changed(u64),
    /// The filter cannot be written.
    #[error("the filter cannot be written: {0}")]
    Filter(#[from] serde_json::Error),
}

/// Writes the page of a ledger, as of the last row that it has now.
///
/// # Errors
/// [`PageError`]; what was written until then is no page.
pub fn write_page(
    out: &mut impl Write,
    reader: &LedgerReader,
    options: &PageOptions,
) -> Result<PageSummary, PageError> {
    write_within(out, reader, options, MAX_OCTETS)
}

fn write_within(
    out: &mut impl Write,
    reader: &LedgerReader,
    options: &PageOptions,
    max_octets: u64,
) -> Result<PageSummary, PageError> {
    let chain = Chain::verified(reader)?;
    let survey = Survey::of(reader, &chain, options)?;
    let facets = Facets::of(&survey.decisions);
    let mut html = Html::default();
    head(&mut html, reader, &facets);
    opening(&mut html, reader, options, &chain, &survey);
    facets.filters(&mut html);
    list::begin(&mut html, survey.decisions.len());
    let mut octets = 0;
    let mut shown = 0u64;
    let mut evidence = decision::EvidenceStates::new(reader);
    for noted in survey.decisions.iter().rev() {
        if octets > max_octets {
            break;
        }
        let row = unchanged(reader, noted.sequence, noted.row_hash)?;
        let Record::Decision(report) = &row.record else { return Err(PageError::Changed(row.sequence)) };
        list::decision(&mut html, &row, report, &facets.classes(noted), &mut evidence)?;
        octets += flush(out, &mut html)?;
        shown += 1;
    }
    list::end(&mut html, survey.decisions.len() as u64 - shown);
    list::events_begin(&mut html, survey.events.len() as u64, survey.events_matched);
    for (sequence, row_hash) in survey.events.iter().rev() {
        let row = unchanged(reader, *sequence, *row_hash)?;
        let Record::Event(event) = &row.record else { return Err(PageError::Changed(row.sequence)) };
        list::event(&mut html, &row, event)?;
        flush(out, &mut html)?;
    }
    list::events_end(&mut html, survey.events.len());
    html.raw("</main><footer><p>End of the page. Written by Writgate ").raw(env!("CARGO_PKG_VERSION"));
    html.raw(". What it says is what the ledger recorded; <code>writgate audit verify</code> and <code>writgate audit \
              replay</code> check it against the file.</p></footer></body></html>\n");
    flush(out, &mut html)?;
    out.flush()?;
    Ok(PageSummary {
        decisions: shown,
        matched: survey.matched,
        events: survey.events.len() as u64,
        last_row: chain.last,
        broken: chain.broken,
    })
}

/// How far the chain holds.
struct Chain {
    /// The last row that holds. 0: none.
    last: u64,
    hash: Option<Digest>,
    broken: Option<String>,
}

impl Chain {
    fn verified(reader: &LedgerReader) -> Result<Self, LedgerError> {
        match reader.verify_chain() {
            Ok((last, hash)) => Ok(Self { last, hash: (last > 0).then_some(hash), broken: None }),
            Err(error @ LedgerError::ChainBroken { sequence, .. }) => {
                Ok(Self { last: sequence.saturating_sub(1), hash: None, broken: Some(error.to_string()) })
            }
            Err(error) => Err(error),
        }
    }
}

/// A decision that is to be on the page, with what the filters on it need.
struct Noted {
    sequence: u64,
    row_hash: Digest,
    labels: Vec<(list::Facet, String)>,
}

/// The newest rows that are asked for, and how many there are in all.
#[derive(Default)]
struct Survey {
    first: Option<u64>,
    decisions: VecDeque<Noted>,
    matched: u64,
    recorded: u64,
    events: VecDeque<(u64, Digest)>,
    events_matched: u64,
}

impl Survey {
    fn of(reader: &LedgerReader, chain: &Chain, options: &PageOptions) -> Result<Self, LedgerError> {
        let filter = Filter { events: true, ..options.filter.clone() };
        let limit = options.limit.min(MAX_DECISIONS);
        let mut survey = Self::default();
        let visited = reader.each_row(1, |row| {
            if row.sequence > chain.last {
                return Err(Visit::Enough);
            }
            survey.note(row, &filter, limit);
            Ok(())
        });
        match visited {
            Ok(()) | Err(Visit::Enough) => Ok(survey),
            // Behind the last row that holds there may be what cannot be read.
            Err(Visit::Failed(LedgerError::ChainBroken { sequence, .. })) if sequence > chain.last => {
                Ok(survey)
            }
            Err(Visit::Failed(error)) => Err(error),
        }
    }

    fn note(&mut self, row: LedgerRow, filter: &Filter, limit: usize) {
        self.first.get_or_insert(row.sequence);
        self.recorded += u64::from(matches!(row.record, Record::Decision(_)));
        if !filter.matches(&row.record) {
            return;
        }
        match &row.record {
            Record::Decision(report) => {
                self.matched += 1;
                let labels = list::labels(report);
                let noted = Noted { sequence: row.sequence, row_hash: row.row_hash, labels };
                keep_newest(&mut self.decisions, noted, limit);
            }
            Record::Event(_) => {
                self.events_matched += 1;
                keep_newest(&mut self.events, (row.sequence, row.row_hash), MAX_EVENTS);
            }
        }
    }
}

/// Why a walk over the rows ended.
enum Visit {
    Enough,
    Failed(LedgerError),
}

impl From<LedgerError> for Visit {
    fn from(error: LedgerError) -> Self {
        Self::Failed(error)
    }
}

fn keep_newest<T>(kept: &mut VecDeque<T>, item: T, limit: usize) {
    kept.push_back(item);
    if kept.len() > limit {
        kept.pop_front();
    }
}

/// A row again, if it is still the one of the verified chain.
fn unchanged(reader: &LedgerReader, sequence: u64, row_hash: Digest) -> Result<LedgerRow, PageError> {
    let row = reader.row(sequence)?.filter(|row| row.row_hash == row_hash);
    row.ok_or(PageError::Changed(sequence))
}

fn flush(out: &mut impl Write, html: &mut Html) -> Result<u64, io::Error> {
    let octets = std::mem::take(html);
    out.write_all(octets.as_str().as_bytes())?;
    Ok(octets.as_str().len() as u64)
}

fn head(html: &mut Html, reader: &LedgerReader, facets: &Facets) {
    let mut style = Html::default();
    style.raw(STYLE);
    facets.rules(&mut style);
    let hash = STANDARD.encode(Digest::of(style.as_str()).as_bytes());
    html.raw("<!doctype html>\n<html lang=\"en\" dir=\"ltr\"><head><meta charset=\"utf-8\">");
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-")
        .plain(&hash);
    html.raw("'; base-uri 'none'; form-action 'none'\"><meta name=\"referrer\" content=\"no-referrer\">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<meta name=\"generator\" content=\"Writgate\"><title>Audit page: ")
        .plain(&escape::cut(reader.domain(), 80));
    html.raw("</title><style>").append(&style).raw(
        "</style></head><body><a class=\"skip\" href=\"#decisions\">To the \
              decisions</a>",
    );
}

fn opening(html: &mut Html, reader: &LedgerReader, options: &PageOptions, chain: &Chain, survey: &Survey) {
    html.raw("<header><h1>Decisions on record</h1><p class=\"soft\">What the ledger of ");
    html.value(reader.domain()).raw(" recorded, newest first.</p>");
    verdict(html, chain);
    html.raw("<dl class=\"head\"><dt>Ledger</dt><dd>")
        .value(reader.ledger_id())
        .raw("</dd><dt>Domain</dt><dd>");
    html.value(reader.domain()).raw("</dd><dt>Rows</dt><dd>");
    match survey.first {
        Some(first) => html.number(first).raw(" to ").number(chain.last),
        None => html.raw("none"),
    };
    html.raw("</dd><dt>Hash of the last row</dt><dd>");
    match &chain.hash {
        Some(hash) => html.digest(hash),
        None => html.raw("none"),
    };
    html.raw("</dd><dt>Written</dt><dd>").text(&recorded_text(options.now)).raw("</dd><dt>Filter</dt><dd>");
    filter(html, &options.filter);
    html.raw("</dd><dt>Decisions</dt><dd>").number(survey.decisions.len() as u64).raw(" here, of ");
    html.number(survey.matched)
        .raw(" that the filter asks for, of ")
        .number(survey.recorded)
        .raw(" in the ledger</dd></dl>");
    let left_out = survey.matched - survey.decisions.len() as u64;
    if left_out > 0 {
        html.raw("<p class=\"notice\"><strong>Older decisions are left out: ").number(left_out);
        html.raw("</strong>The page holds the newest ones. A filter, or <code>--limit</code>, gives the others.</p>");
    }
    html.raw("</header><main>");
}

/// What verifying the chain found. Whoever verifies more (checkpoints, tables, evidence) says more here.
fn verdict(html: &mut Html, chain: &Chain) {
    match &chain.broken {
        None => html.raw(
            "<p class=\"notice\"><strong>The chain of rows held when this page was written.</strong>Every row follows the \
             one before it by its hash. Whether the last row is the last that there was, only a checkpoint or a number kept \
             elsewhere tells: <code>writgate audit verify --checkpoints</code> or <code>--expect</code>.</p>",
        ),
        Some(problem) => html
            .raw("<p class=\"notice bad\"><strong>The chain of rows does not hold.</strong>")
            .value(problem)
            .raw(". Rows from there on are not what was written, and are not on this page.</p>"),
    };
}

fn filter(html: &mut Html, filter: &Filter) {
    let instant = |instant: Option<Instant>| instant.map(recorded_text);
    let set = [
        ("since ", instant(filter.since)),
        ("until ", instant(filter.until)),
        ("outcome ", filter.outcome.map(|outcome| list::word(outcome).to_owned())),
        ("reason ", filter.reason.map(|reason| reason.as_str().to_owned())),
        ("peer ", filter.peer.clone()),
        ("holder ", filter.holder.clone()),
        ("root ", filter.root.clone()),
        ("target ", filter.target.clone()),
        ("context ", filter.context.clone()),
    ];
    let mut any = false;
    for (name, value) in set {
        let Some(value) = value else { continue };
        html.raw(if any { ", " } else { "" }).raw(name).value(&value);
        any = true;
    }
    if !any {
        html.raw("none");
    }
}

/// An IRI by its common prefix, for people. One that only looks like that stands in brackets: `odrl:use` is an IRI too.
fn short(iri: &str) -> String {
    use crate::vocab::{a2a, acl, odrl, schema};
    let prefixes = [(odrl::NS, "odrl:"), (acl::NS, "acl:"), (schema::NS, "schema:"), (a2a::NS, "a2a:")];
    if prefixes.iter().any(|(_, prefix)| iri.starts_with(prefix)) {
        return format!("<{iri}>");
    }
    prefixes
        .iter()
        .find_map(|(namespace, prefix)| iri.strip_prefix(namespace).map(|local| format!("{prefix}{local}")))
        .unwrap_or_else(|| iri.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{EvaluationOutcome, Event, EventEnvelope, LedgerEventV1, ReportBody, example_body};
    use crate::ledger::{Entry, Learned, Ledger, SqliteLedger};
    use crate::refusal::{Reason, Stage};
    use chrono::TimeDelta;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    /// A ledger's file of its own, with so many refusals and one event.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(refusals: u32) -> Self {
            let path = std::env::temp_dir().join(format!("writgate-page-{}.db", uuid::Uuid::new_v4()));
            let now = now();
            let ledger =
                SqliteLedger::create(&path, "https://a.example/", true, now, TimeDelta::seconds(60)).unwrap();
            for _ in 0..refusals {
                let body = ReportBody {
                    outcome: EvaluationOutcome::Refused,
                    stage: Stage::Policy,
                    reason: Some(Reason::PolicyDenied),
                    wire_code: Reason::PolicyDenied.wire_code(Stage::Policy),
                    ..example_body()
                };
                let entry = Entry {
                    body,
                    masked: None,
                    evidence: None,
                    decision_id: uuid::Uuid::now_v7().to_string(),
                    stage_micros: BTreeMap::new(),
                    now,
                    admission_refusal: None,
                    learned: Learned::default(),
                    rests_on: None,
                };
                ledger.record(entry).unwrap();
            }
            ledger.raise_floor(now).unwrap();
            Self(path)
        }

        fn reader(&self) -> LedgerReader {
            LedgerReader::open(&self.0).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn now() -> Instant {
        "2026-05-01T12:00:00Z".parse().unwrap()
    }

    fn options() -> PageOptions {
        PageOptions { filter: Filter::default(), limit: DEFAULT_DECISIONS, now: now() }
    }

    #[test]
    fn an_iri_that_looks_like_a_short_one_is_not_taken_for_it() {
        assert_eq!(short("http://www.w3.org/ns/odrl/2/use"), "odrl:use");
        assert_eq!(short("odrl:use"), "<odrl:use>");
        assert_eq!(short("https://e.example/odrl:use"), "https://e.example/odrl:use");
    }

    #[test]
    fn a_row_that_changed_since_the_chain_was_verified_ends_the_page() {
        let scratch = Scratch::new(1);
        let reader = scratch.reader();
        let (last, hash) = reader.verify_chain().unwrap();
        assert_eq!(unchanged(&reader, last, hash).unwrap().sequence, last);
        assert!(matches!(unchanged(&reader, last, Digest::of("another")), Err(PageError::Changed(2))));
        assert!(matches!(unchanged(&reader, last + 1, hash), Err(PageError::Changed(3))));
    }

    #[test]
    fn a_page_that_is_full_says_how_many_are_left_out() {
        let scratch = Scratch::new(3);
        let mut page = Vec::new();
        let summary = write_within(&mut page, &scratch.reader(), &options(), 1).unwrap();
        assert_eq!((summary.decisions, summary.matched, summary.events), (1, 3, 1));
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("The page is full: 2 more decisions are left out"));
        assert!(page.contains("id=\"row-3\"") && !page.contains("id=\"row-2\""));
    }

    #[test]
    fn a_ledger_without_a_row_has_a_page() {
        let scratch = Scratch::new(0);
        let mut page = Vec::new();
        let summary = write_page(&mut page, &scratch.reader(), &options()).unwrap();
        assert_eq!((summary.decisions, summary.events, summary.broken), (0, 1, None));
        assert!(String::from_utf8(page).unwrap().contains("There is none that the filter asks for."));
    }

    /// The style that the policy lets through is the one that the page has, to the octet.
    #[test]
    fn the_style_is_the_one_that_the_policy_names() {
        let scratch = Scratch::new(2);
        let mut page = Vec::new();
        write_page(&mut page, &scratch.reader(), &options()).unwrap();
        let page = String::from_utf8(page).unwrap();
        let between =
            |from: &str, to: &str| page.split_once(from).unwrap().1.split_once(to).unwrap().0.to_owned();
        let style = between("<style>", "</style>");
        let hash = STANDARD.encode(Digest::of(&style).as_bytes());
        assert_eq!(between("style-src 'sha256-", "'"), hash);
        assert!(!style.contains("url(") && !style.contains("@import"));
    }

    #[test]
    fn an_event_is_text() {
        let hostile = "</td><script>1</script>\u{202e}";
        let event = LedgerEventV1 {
            version: LedgerEventV1::VERSION.to_owned(),
            event: Event::Forgotten { peer: hostile.to_owned(), exchanges: 1 },
            envelope: EventEnvelope {
                event_id: hostile.to_owned(),
                sequence: 1,
                recorded: hostile.to_owned(),
                changes: Vec::new(),
            },
        };
        let row = LedgerRow {
            sequence: 1,
            row_hash: Digest::of("row"),
            record: Record::Event(Box::new(event.clone())),
            text: String::new(),
        };
        let mut html = Html::default();
        list::event(&mut html, &row, &event).unwrap();
        assert!(html.as_str().contains("&lt;script&gt;1"), "{}", html.as_str());
        assert!(!html.as_str().contains("<script") && !html.as_str().contains('\u{202e}'));
    }
}
