//! `writgate audit list`, `show`, `explain`, `export` and `query`, as an auditor meets them.

use crate::command_line::Scratch;
use crate::replay::recorded;
use crate::support::{TestClock, engine_on, octets, world};
use chrono::TimeDelta;
use std::sync::Arc;
use writgate::Instant;
use writgate::ledger::{Ledger, SqliteLedger};
use writgate::worked_example::DOMAIN;

const LEDGER: [&str; 2] = ["--ledger", "ledger.db"];

fn audit<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["audit"][..], arguments, &LEDGER].concat()
}

#[test]
fn a_trail_is_listed_shown_explained_exported_and_queried() {
    let (scratch, file, ids) = recorded("reading");
    let before = std::fs::read(&file).unwrap();
    let run = |arguments: &[&str]| scratch.run(&audit(arguments));

    let listed = run(&["list"]);
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(lines.iter().zip(&ids).all(|(line, id)| line.ends_with(id.as_str())), "{listed}");
    assert_eq!(run(&["list", "--outcome", "refuse"]), lines[1]);
    assert_eq!(
        run(&["list", "--reason", "POLICY_DENIED", "--root", "https://alice.pod.example/profile#me"]),
        lines[1]
    );
    assert_eq!(run(&["list", "--limit", "1"]), lines[2]);
    assert_eq!(run(&["list", "--until", "2026-12-01"]), "");
    assert_eq!(run(&["list", "--since", "2026-12-01"]), listed);

    let exported = run(&["export", "--format", "jsonl"]);
    let rows: Vec<_> = exported.lines().collect();
    assert_eq!(run(&["show", &ids[1], "--json"]), rows[1]);
    let shown = run(&["show", "2"]);
    assert!(
        shown.contains(&ids[1]) && shown.contains("POLICY_DENIED") && shown.contains(": kept, "),
        "{shown}"
    );

    let explained = run(&["explain", &ids[1]]);
    for part in ["it was refused.\nWhy: hop 0", "Smallest change: ", "made again from its evidence"] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    assert!(run(&["explain", &ids[0]]).ends_with("it was allowed."));

    assert_eq!(run(&["export", "--format", "csv", "--to", "rows.csv"]), "");
    assert_eq!(std::fs::read_to_string(scratch.path("rows.csv")).unwrap().lines().count(), 4);
    assert_eq!(scratch.status(&audit(&["export", "--format", "csv", "--to", "rows.csv"])), 2, "it is there");
    assert!(run(&["export", "--format", "nquads"]).lines().count() > 60);

    assert_eq!(
        run(&["query", "--name", "refusals", "--format", "csv"]),
        "reason,refusals\r\nPOLICY_DENIED,1"
    );
    let alice = "principal=https://alice.pod.example/profile#me";
    let times = ["--param", "since=2026-11-30", "--param", "until=2026-12-02T00:00:00Z"];
    let acted = run(&[&["query", "--name", "acted-for", "--param", alice][..], &times].concat());
    assert!(acted.contains(&ids[0]) && acted.ends_with("1 result"), "{acted}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing is written to the file");
}

/// What did not arrive is no success, also where it ends without a line break.
#[test]
fn an_output_that_cannot_be_written_is_no_success() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return println!("skipped: this system has no /dev/full");
    };
    let (_scratch, file, _) = recorded("reading-full");
    for reading in [&["show", "1", "--json"][..], &["show", "1"], &["list"], &["export", "--format", "csv"]] {
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_writgate"))
            .arg("audit")
            .args(reading)
            .arg("--ledger")
            .arg(&file)
            .stdout(full.try_clone().unwrap())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(2), "{reading:?}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let (scratch, _, ids) = recorded("reading-wrong");
    for (arguments, named) in [
        (&["list", "--outcome", "maybe"][..], "`not-ours`"),
        (&["list", "--reason", "MAYBE"], "docs/refusals.md"),
        (&["list", "--since", "yesterday"], "RFC 3339"),
        (&["show", "nobody"], "no row of that id"),
        (&["explain", "9"], "no row of that id"),
        (&["export", "--format", "xml"], "nquads"),
        (&["query", "--name", "nothing"], "since-revoked"),
        (&["query", "--name", "acted-for"], "principal"),
        (
            &["query", "--name", "acted-for", "--param", "principal=urn:x:y", "--param", "until=noon"],
            "RFC 3339",
        ),
        (&["query", "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"], "SERVICE is refused"),
        (&["query", "CLEAR ALL"], "not a SPARQL query"),
        (&["query", "ASK {}", "--limit", "2"], "more than 2 rows"),
        (&["show", &ids[0], "--json", "--evidence", "m.json"], "cannot be used with"),
    ] {
        let run = scratch.try_run(&audit(arguments));
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.stderr.contains(named), "{arguments:?}: {}", run.stderr);
    }
}

/// Nothing of it reads a statement, so nothing of it heeds a cancellation.
#[test]
fn a_query_that_works_on_values_alone_ends_with_the_command() {
    let (scratch, _, _) = recorded("reading-values");
    let values: String = (100..700).map(|n| format!("{n} ")).collect();
    let query = format!(
        "SELECT (COUNT(*) AS ?n) {{ VALUES ?a {{ {values} }} VALUES ?b {{ {values} }} VALUES ?c {{ {values} }} }}"
    );
    let run = scratch.try_run(&audit(&["query", &query, "--timeout", "0"]));
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("took too long"), "{}", run.stderr);
}

/// A message whose presentation may still be good is not written out; one from long ago is.
#[test]
fn a_message_is_written_out_once_its_presentation_is_good_for_nothing() {
    let long_ago: Instant = "2020-01-01T00:00:00Z".parse().unwrap();
    for (name, now, status) in [("reading-now", chrono::Utc::now(), 2), ("reading-past", long_ago, 0)] {
        let scratch = Scratch::new(name);
        let file = scratch.path("ledger.db");
        let ledger = SqliteLedger::create(&file, DOMAIN, true, now, TimeDelta::seconds(60)).unwrap();
        let engine = engine_on(Arc::new(ledger) as Arc<dyn Ledger>, TestClock::at(now));
        let prose =
            serde_json::json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "Hello" }] });
        let id = engine.decide(octets(&prose), world().facts()).report.envelope.decision_id;
        let run = scratch.try_run(&audit(&["show", &id, "--evidence", "message.json"]));
        assert_eq!(run.status, status, "{name}: {}", run.stderr);
        let written = std::fs::read(scratch.path("message.json")).ok();
        assert_eq!(written, (status == 0).then(|| serde_json::to_vec(&prose).unwrap()), "{name}");
        assert_eq!(run.stderr.contains("is withheld until"), status == 2, "{name}: {}", run.stderr);
    }
}
