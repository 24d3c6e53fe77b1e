//! The audit page in a real browser: Debian's Chromium, driven by playwright-core (`tests/interop/page.mjs`).
//!
//! `apt-get install chromium` and `npm ci` in `tests/interop` make it ready; without them these tests say that they skip.
//! With `WRITGATE_INTEROP=required` that is a failure. Screenshots are left in `target/audit-page/`, to be looked at.

use crate::command_line::Scratch;
use crate::support::{TestClock, engine_on, grant, noon, read, world};
use chrono::TimeDelta;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use writgate::audit::page::{PageOptions, PageSummary, write_page};
use writgate::audit::{DecisionOutcome, DecisionReportV1, Filter, Record, ReportBody};
use writgate::ledger::{Entry, Learned, Ledger, LedgerReader, Revoked, SqliteLedger};
use writgate::worked_example::{Ask, BOB, DOMAIN, Intent, MandateDraft, PolicyBinding};
use writgate::{Decided, Engine, MessageInput, Reason};

// --- The browser ----------------------------------------------------------------------------------------------------

/// What to do with a page that was opened.
struct Job<'p> {
    page: &'p Path,
    scripts: bool,
    width: u32,
    steps: Vec<(&'static str, Value)>,
}

impl<'p> Job<'p> {
    fn new(page: &'p Path, steps: Vec<(&'static str, Value)>) -> Self {
        Self { page, scripts: false, width: 1280, steps }
    }
}

/// The answers of each job's steps. Every page has asked for nothing but itself and said nothing. `None`: there is no
/// browser here.
fn browse(jobs: &[Job<'_>]) -> Option<Vec<Vec<Value>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    let needed = [
        Path::new("/usr/bin/chromium"),
        &folder.join("node_modules/playwright-core"),
        &folder.join("node_modules/axe-core"),
    ];
    if let Some(missing) = needed.iter().find(|path| !path.exists()) {
        let required = std::env::var("WRITGATE_INTEROP").is_ok_and(|value| value == "required");
        assert!(!required, "{} is not installed", missing.display());
        println!("SKIPPED: {} is not installed", missing.display());
        return None;
    }
    let asked: Vec<_> = jobs
        .iter()
        .map(|job| {
            json!({"path": job.page, "scripts": job.scripts, "width": job.width, "height": 900, "steps": job.steps})
        })
        .collect();
    let mut child = Command::new("node")
        .arg("page.mjs")
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(json!(asked).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let answers: Vec<_> = answers
        .into_iter()
        .map(|mut answer| {
            assert_eq!(answer["beyond"], json!([]), "the page asked for something");
            assert_eq!(answer["said"], json!([]), "the page said something");
            println!("opened in {} ms", answer["milliseconds"]);
            serde_json::from_value(answer["answers"].take()).unwrap()
        })
        .collect();
    assert_eq!(answers.len(), jobs.len());
    Some(answers)
}

/// Where a screenshot goes.
fn picture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/audit-page");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.png"))
}

// --- The ledger -----------------------------------------------------------------------------------------------------

struct Story {
    scratch: Scratch,
    ledger: Arc<SqliteLedger>,
    engine: Engine,
    asked: u32,
}

impl Story {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(&format!("page-{name}"));
        let skew = TimeDelta::seconds(60);
        let ledger = SqliteLedger::create(&scratch.path("ledger.db"), DOMAIN, true, noon(), skew).unwrap();
        let ledger = Arc::new(ledger);
        let engine = engine_on(ledger.clone(), TestClock::at(noon()));
        Self { scratch, ledger, engine, asked: 0 }
    }

    /// The ask with an id and a challenge of its own.
    fn own(&mut self, mut ask: Ask) -> Ask {
        self.asked += 1;
        ask.id = format!("msg-{}", self.asked);
        ask.nonce = format!("page-challenge-{:04}", self.asked);
        ask
    }

    fn ask(&mut self, ask: Ask) -> Decided {
        let ask = self.own(ask);
        self.send(&ask)
    }

    fn send(&self, ask: &Ask) -> Decided {
        self.octets(serde_json::to_vec(&ask.message().unwrap()).unwrap(), &ask.nonce)
    }

    fn octets(&self, octets: Vec<u8>, nonce: &str) -> Decided {
        let mut facts = world().facts();
        facts.challenge = Some(nonce.to_owned());
        self.engine.decide(MessageInput::Bytes(octets), facts)
    }

    /// A chain of so many hops that the policies permit.
    fn hops(&mut self, hops: u8) -> Decided {
        self.with_chain(&world().chain(hops).unwrap(), Intent::grant_bob())
    }

    fn with_chain(&mut self, chain: &[MandateDraft], intent: Intent) -> Decided {
        let mut ask = grant();
        ask.intent.0 = intent.turtle();
        ask.credentials = chain.iter().map(MandateDraft::issue).collect::<Result<_, _>>().unwrap();
        self.ask(ask)
    }

    /// A refusal as somebody else's engine might have recorded it.
    fn record(&self, body: ReportBody) {
        self.record_after(body, &["admit", "policy"]);
    }

    fn record_after(&self, body: ReportBody, stages: &[&str]) {
        let stage_micros =
            stages.iter().zip(12..).map(|(stage, micros)| ((*stage).to_owned(), micros)).collect();
        let entry = Entry {
            body,
            masked: None,
            evidence: None,
            decision_id: uuid::Uuid::now_v7().to_string(),
            stage_micros,
            now: noon(),
            admission_refusal: None,
            learned: Learned::default(),
            rests_on: None,
        };
        self.ledger.record(entry).unwrap();
    }

    /// Decisions of every kind, and an event.
    fn tell_all(&mut self) {
        let first = self.own(grant());
        assert!(self.send(&first).report.envelope.outcome == DecisionOutcome::Allow);
        self.ask(read());
        self.send(&first);
        let mut bound = grant();
        bound.bound = true;
        self.ask(bound);
        let mut modeless = grant();
        modeless.intent.0 =
            modeless.intent.0.replace("a2a:mode acl:Read", "schema:description \"whatever you like\"");
        let modeless = self.ask(modeless);
        assert_eq!(modeless.report.body.reason, Some(Reason::ShapeViolation));
        let mut unpinned = grant();
        unpinned.protocol_hash = format!("sha256:{}", "0".repeat(64));
        self.ask(unpinned);
        let mut expired = grant();
        let draft = MandateDraft {
            valid_until: Some(noon() - TimeDelta::days(1)),
            ..world().mandate_draft().unwrap()
        };
        expired.credentials = vec![draft.issue().unwrap()];
        self.ask(expired);
        let mut recipient = grant();
        recipient.intent.0 = recipient.intent.0.replace(BOB, "https://eve.example/profile#me");
        self.ask(recipient);
        let mut bare = grant();
        let policy = world().policy().unwrap();
        bare.policies = vec![(policy, "text/turtle".to_owned())];
        let draft = MandateDraft { binding: PolicyBinding::BareIri, ..world().mandate_draft().unwrap() };
        bare.credentials = vec![draft.issue().unwrap()];
        self.ask(bare);
        self.octets(b"{\"messageId\": \"half".to_vec(), &first.nonce);
        let prose = br#"{"messageId":"msg-prose","contextId":"ctx-1","role":"ROLE_USER","parts":[{"text":"Let Bob in, please."}]}"#;
        self.octets(prose.to_vec(), &first.nonce);
        assert_eq!(self.hops(8).report.body.chain.len(), 8);
        // The fourth policy of eight does not let this recipient in.
        let mut narrow = world().chain(8).unwrap();
        narrow[3].policy = narrow[3].policy.replace(BOB, "https://nobody.example/profile#me");
        let narrow = self.with_chain(&narrow, Intent::grant_bob());
        let evidence = narrow.report.body.evidence.clone().unwrap();
        assert_eq!(
            (narrow.report.body.reason, evidence.hop),
            (Some(Reason::PolicyDenied), Some(3)),
            "{evidence:?}"
        );
        let composed = self.with_chain(&world().composed_chain().unwrap(), Intent::grant_bob());
        assert_eq!(composed.report.body.actor_chain.len(), 1, "{:?}", composed.report.body);
        let revoked =
            Revoked { ids: ["https://gone.example/policy".to_owned()].into(), ..Revoked::default() };
        self.ledger.mark_revoked(&revoked, noon()).unwrap();
    }

    fn reader(&self) -> LedgerReader {
        LedgerReader::open(&self.scratch.path("ledger.db")).unwrap()
    }

    fn decisions(&self) -> Vec<DecisionReportV1> {
        let mut decisions = Vec::new();
        let visited = self.reader().each_row(1, |row| {
            if let Record::Decision(report) = row.record {
                decisions.push(*report);
            }
            Ok::<_, writgate::ledger::LedgerError>(())
        });
        visited.unwrap();
        decisions
    }

    fn page(&self) -> (PathBuf, PageSummary) {
        self.page_of(Filter::default(), 1_000)
    }

    fn page_of(&self, filter: Filter, limit: usize) -> (PathBuf, PageSummary) {
        let path = self.scratch.path("page.html");
        let mut file = Vec::new();
        let summary =
            write_page(&mut file, &self.reader(), &PageOptions { filter, limit, now: noon() }).unwrap();
        std::fs::write(&path, file).unwrap();
        (path, summary)
    }
}

fn rows(answer: &Value) -> Vec<u64> {
    serde_json::from_value(answer.clone()).unwrap()
}

/// The rows whose report meets a test, newest first.
fn rows_where(decisions: &[DecisionReportV1], meets: impl Fn(&DecisionReportV1) -> bool) -> Vec<u64> {
    decisions.iter().rev().filter(|report| meets(report)).map(|report| report.envelope.sequence).collect()
}

fn reason_of(report: &DecisionReportV1) -> Option<Reason> {
    report.envelope.reason.or(report.body.reason)
}

// --- What holds -----------------------------------------------------------------------------------------------------

#[test]
fn the_page_is_read_without_a_script_and_without_a_request() {
    let mut story = Story::new("all");
    story.tell_all();
    let decisions = story.decisions();
    let (page, summary) = story.page();
    assert_eq!(summary.decisions, decisions.len() as u64);
    assert_eq!((summary.events, &summary.broken), (1, &None));
    let last = decisions.last().unwrap().envelope.sequence;
    let steps = vec![
        ("look", json!("rows")),
        ("look", json!("elements")),
        ("look", json!("overflow")),
        ("look", json!("open")),
        ("click", json!(last)),
        ("look", json!("open")),
        ("press", json!(1)),
        ("look", json!("open")),
        ("goto", json!("#row-5")),
        ("look", json!("open")),
        ("look", json!("text")),
    ];
    let Some(answers) = browse(&[Job::new(&page, steps)]) else { return };
    let [shown, elements, overflow, closed, _, clicked, _, pressed, _, linked, text] = answers[0].as_slice()
    else {
        panic!("{answers:?}")
    };
    assert_eq!(rows(shown), rows_where(&decisions, |_| true));
    assert_eq!(
        (&elements["scripts"], &elements["active"], &elements["styles"]),
        (&json!(0), &json!(0), &json!(1))
    );
    assert_eq!((&elements["links"], &elements["handlers"]), (&json!(["#decisions"]), &json!([])));
    assert_eq!(overflow, &json!([]));
    assert_eq!((rows(closed), rows(clicked)), (vec![], vec![last]));
    assert_eq!((rows(pressed), rows(linked)), (vec![last, 1], vec![last, 5, 1]));
    let text = text.as_str().unwrap();
    for report in &decisions {
        assert!(text.contains(&report.envelope.decision_id));
        assert!(text.contains(&report.body.message_digest.to_string()));
        assert!(reason_of(report).is_none_or(|reason| text.contains(reason.sentence())));
    }
    let reader = story.reader();
    let (rows, head) = reader.verify_chain().unwrap();
    assert!(text.contains(reader.ledger_id()) && text.contains(&head.to_string()));
    assert!(text.contains(&format!("1 to {rows}")) && text.contains("held when this page was written"));
    assert!(text.contains("sh:NodeConstraintComponent") && text.contains("revoked"));
}

#[test]
fn each_filter_shows_exactly_its_rows() {
    let mut story = Story::new("filters");
    story.tell_all();
    let decisions = story.decisions();
    let (page, _) = story.page();
    let Some(answers) = browse(&[Job::new(&page, vec![("look", json!("filters"))])]) else { return };
    let choices = answers[0][0].as_array().unwrap().clone();
    let mut steps = Vec::new();
    for choice in &choices {
        let all = choice["id"].as_str().unwrap().trim_end_matches(|digit: char| digit.is_ascii_digit());
        steps.extend([("choose", choice["id"].clone()), ("look", json!("rows")), ("choose", json!(all))]);
    }
    let id = |facet: &str, label: &str| {
        let choice = choices.iter().find(|choice| choice["facet"] == facet && choice["label"] == label);
        choice.unwrap_or_else(|| panic!("{facet} {label}: {choices:?}"))["id"].clone()
    };
    steps.extend([
        ("choose", id("Outcome", "refuse")),
        ("choose", id("Stage that refused", "policy")),
        ("look", json!("rows")),
        ("choose", id("Outcome", "allow")),
        ("look", json!("rows")),
    ]);
    let answers = browse(&[Job::new(&page, steps)]).unwrap().remove(0);
    for (choice, answers) in choices.iter().zip(answers.chunks(3)) {
        let label = choice["label"].as_str().unwrap();
        let expected = rows_where(&decisions, |report| {
            let body = &report.body;
            let stage = report.envelope.reason.map_or(body.stage.as_str(), |_| "admission");
            match choice["facet"].as_str().unwrap() {
                _ if label == "any" => true,
                "Outcome" => json!(report.envelope.outcome) == label,
                "Reason" => reason_of(report).is_some_and(|reason| reason.as_str() == label),
                "Stage that refused" => reason_of(report).is_some() && stage == label,
                "Mark" => body.marks.contains(label),
                "Holder" => body.holder.as_deref() == Some(label),
                "Peer" => body.peer == label,
                "Action" => body
                    .actions
                    .iter()
                    .any(|action| action.action.ends_with(label.split(':').next_back().unwrap())),
                other => panic!("{other}"),
            }
        });
        assert_eq!(rows(&answers[1]), expected, "{choice}");
        assert!(label == "any" || choice["count"] == expected.len(), "{choice}");
    }
    let facets: std::collections::BTreeSet<_> =
        choices.iter().map(|choice| choice["facet"].as_str().unwrap()).collect();
    for facet in ["Outcome", "Reason", "Stage that refused", "Action", "Mark", "Holder"] {
        assert!(facets.contains(facet), "{facets:?}");
    }
    let [.., both, _, neither] = answers.as_slice() else { panic!() };
    let of_policy = |report: &DecisionReportV1| report.body.reason == Some(Reason::PolicyDenied);
    assert_eq!(rows(both), rows_where(&decisions, of_policy));
    assert_eq!(rows(neither), Vec::<u64>::new());
}

#[test]
fn chains_of_one_to_eight_hops_are_drawn_without_overlap() {
    let mut story = Story::new("pictures");
    for hops in 1..=8 {
        story.hops(hops);
    }
    story.tell_all();
    let decisions = story.decisions();
    let (page, _) = story.page();
    let steps = vec![("openAll", Value::Null), ("look", json!("pictures"))];
    let jobs = [Job::new(&page, steps.clone()), Job { width: 390, ..Job::new(&page, steps) }];
    let Some(answers) = browse(&jobs) else { return };
    for answers in answers {
        let pictures = answers[1].as_array().unwrap();
        assert!(pictures.len() > 15);
        for drawn in pictures {
            assert_eq!(drawn["problems"], json!([]), "{drawn:#}");
            assert_eq!(drawn["named"], json!(true));
            let of = |name: &str| drawn[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
            let report = decisions.iter().find(|report| drawn["row"] == report.envelope.sequence).unwrap();
            for (number, hop) in report.body.chain.iter().enumerate() {
                assert!(
                    of("texts")
                        .any(|text| text.starts_with(&format!("Hop {number}, {} binding", hop.binding)))
                );
                assert!(of("texts").chain(of("titles")).any(|title| title.contains(&hop.policy)));
                assert!(
                    of("texts")
                        .chain(of("titles"))
                        .any(|title| title.contains(hop.authorizes.as_deref().unwrap()))
                );
            }
            assert_eq!(
                of("texts").filter(|text| text.starts_with("Actor hop")).count(),
                report.body.actor_chain.len()
            );
            assert_eq!(
                of("texts").any(|text| text.starts_with("Refused here")),
                reason_of(report).is_some(),
                "{drawn:#}"
            );
            for action in &report.body.actions {
                assert!(of("texts").chain(of("titles")).any(|title| title.contains(&action.target)));
            }
        }
    }
}

/// What somebody might send who wants to be more than text.
const HOSTILE: &str = "\"><script>window.pwned=1</script><img src=x onerror=\"window.pwned=2\"><svg onload=window.pwned=3></svg>\
    </title></desc></text></svg></style></bdi></details><a href=\"javascript:window.pwned=4\">x</a>' onmouseover='window.pwned=5 \
    javascript:window.pwned=6 <!-- ]]> &#60;b&#62; \u{0}\u{1b}[31m\u{202e}\u{2066}\u{200b}\u{feff}\r\n</script><style>*{display:none}</style>";

/// The body with every text that is no word or digest of ours replaced.
fn poisoned(body: &ReportBody, hostile: &str) -> (ReportBody, usize) {
    let mut value = serde_json::to_value(body).unwrap();
    let mut pointers = Vec::new();
    collect(&value, String::new(), &mut pointers);
    let mut poisoned = 0;
    for pointer in pointers {
        let before = std::mem::replace(value.pointer_mut(&pointer).unwrap(), json!(hostile));
        match serde_json::from_value::<ReportBody>(value.clone()) {
            Ok(_) => poisoned += 1,
            Err(_) => *value.pointer_mut(&pointer).unwrap() = before,
        }
    }
    (serde_json::from_value(value).unwrap(), poisoned)
}

fn collect(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::String(_) => pointers.push(at),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(number, item)| collect(item, format!("{at}/{number}"), pointers));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| collect(member, format!("{at}/{name}"), pointers));
        }
        _ => {}
    }
}

#[test]
fn a_hostile_text_is_shown_and_does_nothing() {
    let mut story = Story::new("hostile");
    let composed = story.with_chain(&world().composed_chain().unwrap(), Intent::grant_bob()).report.body;
    let mut recipient = grant();
    recipient.intent.0 = recipient.intent.0.replace(BOB, "https://eve.example/profile#me");
    let mut refused = story.ask(recipient).report.body;
    (refused.actor_chain, refused.marks) = (composed.actor_chain, ["unbound".to_owned()].into());
    refused.unjudged_nodes = vec!["_:b0".to_owned()];
    refused.unjudged_parts = serde_json::from_value(json!([{"index": 0, "content": "text"}])).unwrap();
    refused.discharged = vec![("https://example.org/a".to_owned(), Some("https://example.org/t".to_owned()))];
    let evidence = refused.evidence.get_or_insert_default();
    for text in [&mut evidence.credential, &mut evidence.shape, &mut evidence.path, &mut evidence.detail] {
        text.get_or_insert_default();
    }
    let (mut body, texts) = poisoned(&refused, HOSTILE);
    assert!(texts > 35, "{texts}");
    let literal: String =
        HOSTILE.chars().map(|character| format!("\\U{:08x}", u32::from(character))).collect();
    body.shacl_report = Some(format!(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . [] a sh:ValidationReport ; sh:conforms false ; sh:result [ \
         a sh:ValidationResult ; sh:focusNode \"{literal}\" ; sh:value \"{literal}\" ; sh:resultMessage \"{literal}\" ] ."
    ));
    story.record(body.clone());
    body.shacl_report = Some(HOSTILE.to_owned());
    story.record(body.clone());
    body.shacl_report = None;
    body.peer = HOSTILE.repeat(10_240 / HOSTILE.len() + 1);
    body.holder = Some("x".repeat(10_240));
    story.record(body);
    let (page, _) = story.page();
    let text = std::fs::read_to_string(&page).unwrap();
    let markup = text.to_ascii_lowercase();
    for never in [
        "<script",
        "<img",
        "<a href=\"j",
        "<!--",
        "<svg onload",
        "\u{0}",
        "\u{1b}",
        "\u{202e}",
        "\u{200b}",
        "\r",
    ] {
        assert!(!markup.contains(never), "{never:?}");
    }
    assert_eq!(markup.matches("<style").count(), 1);
    let steps = vec![
        ("openAll", Value::Null),
        ("look", json!("elements")),
        ("look", json!("pictures")),
        ("look", json!("text")),
        ("look", json!("rows")),
        ("look", json!("overflow")),
    ];
    let jobs = [
        Job { scripts: true, ..Job::new(&page, steps.clone()) },
        Job { width: 390, ..Job::new(&page, steps) },
    ];
    let Some(answers) = browse(&jobs) else { return };
    for answers in answers {
        let [_, elements, pictures, text, shown, overflow] = answers.as_slice() else {
            panic!("{answers:?}")
        };
        assert_eq!(
            elements,
            &json!({"scripts": 0, "active": 0, "links": ["#decisions"], "handlers": [], "styles": 1, "pwned": null})
        );
        for drawn in pictures.as_array().unwrap() {
            assert_eq!(drawn["problems"], json!([]), "{drawn:#}");
        }
        let text = text.as_str().unwrap();
        assert!(
            text.contains("<script>window.pwned=1</script>")
                && text.contains("\\u{0}\\u{1b}[31m\\u{202e}\\u{2066}")
        );
        assert!(text.contains("javascript:window.pwned=4"));
        assert_eq!(rows(shown).len(), 5);
        assert_eq!(overflow, &json!([]));
    }
}

#[test]
fn the_page_has_no_barrier_that_axe_knows() {
    let mut story = Story::new("axe");
    story.tell_all();
    let last = story.decisions().len() as u64;
    let (page, _) = story.page();
    let shot = |name: &str, full: bool| ("shoot", json!({"path": picture(name), "full": full}));
    let one = |name: &str, row: u64| ("shoot", json!({"path": picture(name), "row": row}));
    let axe = || {
        vec![("openAll", Value::Null), ("axe", Value::Null), ("scheme", json!("dark")), ("axe", Value::Null)]
    };
    let jobs = [
        Job { scripts: true, ..Job::new(&page, axe()) },
        Job { scripts: true, width: 390, ..Job::new(&page, axe()) },
        Job::new(
            &page,
            vec![
                shot("list", true),
                ("click", json!(5)),
                one("shape", 5),
                ("click", json!(12)),
                one("eight-hops", 12),
                ("click", json!(13)),
                one("refused-at-a-hop", 13),
                ("click", json!(last)),
                one("composed", last),
                ("scheme", json!("dark")),
                one("composed-dark", last),
                ("goto", json!("#row-1")),
                shot("dark", false),
            ],
        ),
        Job {
            width: 390,
            ..Job::new(
                &page,
                vec![shot("narrow", false), ("goto", json!("#row-13")), shot("narrow-decision", false)],
            )
        },
        Job::new(&page, vec![("click", json!(3)), ("media", json!("print")), shot("print", true)]),
    ];
    let Some(answers) = browse(&jobs) else { return };
    for answers in &answers[..2] {
        assert_eq!((&answers[1], &answers[3]), (&json!([]), &json!([])));
    }
}

// --- What needs no browser ------------------------------------------------------------------------------------------

#[test]
fn what_is_left_out_is_said() {
    let mut story = Story::new("limit");
    story.tell_all();
    let decisions = story.decisions().len();
    let (page, summary) = story.page_of(Filter::default(), 3);
    assert_eq!((summary.decisions, summary.matched), (3, decisions as u64));
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains(&format!("Older decisions are left out: {}", decisions - 3)));
    assert_eq!(text.matches("<li class=\"d").count(), 3);
    let refused = Filter { outcome: Some(DecisionOutcome::Refuse), ..Filter::default() };
    let (page, summary) = story.page_of(refused, 1_000);
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("outcome <bdi>refuse</bdi>") && !text.contains("b allow\">ALLOW"));
    assert_eq!(text.matches("<li class=\"d").count() as u64, summary.matched);
}

#[test]
fn rows_from_where_the_chain_breaks_are_not_on_the_page() {
    let mut story = Story::new("broken");
    story.tell_all();
    let file = story.scratch.path("ledger.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection
        .execute(
            "UPDATE reports SET report = replace(report, 'POLICY_DENIED', 'INTERNAL') WHERE sequence = 8",
            (),
        )
        .unwrap();
    let (page, summary) = story.page();
    assert_eq!(summary.last_row, 7);
    assert!(summary.broken.unwrap().contains('8'));
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("The chain of rows does not hold") && !text.contains("held when this page"));
    assert!(
        text.contains("id=\"row-7\"") && !text.contains("id=\"row-8\"") && !text.contains("id=\"row-9\"")
    );
    connection.execute("UPDATE reports SET report = '{' WHERE sequence = 8", ()).unwrap();
    assert_eq!(story.page().1.last_row, 7);
    let out = story.scratch.path("out.html");
    let run =
        story.scratch.try_run(&["audit", "report", "--ledger", "ledger.db", "--html", out.to_str().unwrap()]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains('8') && out.exists());
}

#[test]
fn the_command_writes_the_page_whole_or_not_at_all() {
    let mut story = Story::new("command");
    story.tell_all();
    let run = story.scratch.run(&[
        "audit",
        "report",
        "--ledger",
        "ledger.db",
        "--html",
        "page.html",
        "--reason",
        "POLICY_DENIED",
    ]);
    assert!(run.starts_with("2 of 2 decisions and "), "{run}");
    let text = std::fs::read_to_string(story.scratch.path("page.html")).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
    assert!(!story.scratch.path("page.html.unfinished").exists());
    // What somebody put in the way is no way to another file.
    story.scratch.write("another", "as it was");
    std::os::unix::fs::symlink(story.scratch.path("another"), story.scratch.path("page.html.unfinished"))
        .unwrap();
    story.scratch.run(&["audit", "report", "--ledger", "ledger.db", "--html", "page.html"]);
    assert_eq!(std::fs::read_to_string(story.scratch.path("another")).unwrap(), "as it was");
    assert_eq!(
        story.scratch.run(&["audit", "report", "--ledger", "ledger.db", "--html", "-"]).lines().next(),
        Some("<!doctype html>")
    );
    assert_eq!(
        story.scratch.status(&["audit", "report", "--ledger", "ledger.db", "--html", "no/such/folder.html"]),
        2
    );
    assert_eq!(
        story.scratch.status(&["audit", "report", "--ledger", "ledger.db", "--html", "p", "--limit", "0"]),
        2
    );
    assert_eq!(story.scratch.status(&["audit", "report", "--ledger", "ledger.db"]), 2);
}

#[test]
fn a_page_of_a_thousand_is_below_ten_megabytes_and_opens() {
    let mut story = Story::new("thousand");
    let allowed = story.hops(2).report;
    let body = allowed.body;
    let mut recipient = grant();
    recipient.intent.0 = recipient.intent.0.replace(BOB, "https://eve.example/profile#me");
    let refused = story.ask(recipient).report.body;
    let stages: Vec<_> = allowed.envelope.stage_micros.keys().map(String::as_str).collect();
    assert!(stages.len() > 8);
    for number in 0..1_000 {
        let chain = body.chain.clone();
        let body = ReportBody { message_id: Some(format!("m-{number}")), chain, ..refused.clone() };
        story.record_after(body, &stages);
    }
    let (page, summary) = story.page();
    assert_eq!((summary.decisions, summary.matched), (1_000, 1_002));
    let octets = std::fs::metadata(&page).unwrap().len();
    println!("{octets} octets");
    assert!(octets < 10 << 20, "{octets}");
    let Some(answers) = browse(&[Job::new(&page, vec![("look", json!("rows"))])]) else { return };
    assert_eq!(rows(&answers[0][0]).len(), 1_000);
}
