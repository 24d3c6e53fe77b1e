//! `writgate audit replay`, as an auditor meets it: with a ledger's file and nothing else.

use crate::command_line::{Scratch, writgate};
use crate::support::{TestClock, engine_on, grant, noon, octets, read, world};
use chrono::TimeDelta;
use std::sync::Arc;
use writgate::ledger::{Ledger, SqliteLedger};
use writgate::worked_example::DOMAIN;

/// A ledger with an allow, a refusal and prose, alone in a folder; and the ids of the three decisions.
pub fn recorded(name: &str) -> (Scratch, String, Vec<String>) {
    let (origin, scratch) = (Scratch::new(&format!("{name}-origin")), Scratch::new(name));
    let ledger =
        SqliteLedger::create(&origin.path("ledger.db"), DOMAIN, true, noon(), TimeDelta::seconds(60))
            .unwrap();
    let engine = engine_on(Arc::new(ledger) as Arc<dyn Ledger>, TestClock::at(noon()));
    let mut denied = read();
    denied.intent.0 = denied.intent.0.replace("meeting-preparation", "curiosity");
    let prose = serde_json::json!({
        "messageId": "m", "role": "ROLE_USER", "contextId": "ctx-1", "parts": [{ "text": "Hello" }],
    });
    let ids = [grant().message().unwrap(), denied.message().unwrap(), prose]
        .iter()
        .map(|message| engine.decide(octets(message), world().facts()).report.envelope.decision_id)
        .collect();
    drop(engine);
    std::fs::copy(origin.path("ledger.db"), scratch.path("ledger.db")).unwrap();
    let file = scratch.path("ledger.db").display().to_string();
    (scratch, file, ids)
}

#[test]
fn replay_makes_decisions_again_from_the_file_alone() {
    let (scratch, file, ids) = recorded("replay");
    let before = std::fs::read(&file).unwrap();
    let whole = scratch.run(&["audit", "replay", "--all", "--ledger", "ledger.db"]);
    assert_eq!(whole, "3 of 3 decisions came out the same; 0 did not, 0 could not be made again");
    let one = scratch.run(&["audit", "replay", &ids[1], "--ledger", "ledger.db"]);
    assert!(one.starts_with("1 of 1 decision came"), "{one}");
    let some = scratch.run(&["audit", "replay", "--from", "2", "--to", "3", "--ledger", "ledger.db"]);
    assert!(some.starts_with("2 of 2 decisions came"), "{some}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing is written to the file");
}

#[test]
fn replay_of_nothing_shows_nothing() {
    let (scratch, _, _) = recorded("replay-nothing");
    for arguments in [&["--from", "9"][..], &["--from", "3", "--to", "2"]] {
        let run = scratch.try_run(&[&["audit", "replay", "--ledger", "ledger.db"], arguments].concat());
        assert_eq!(run.status, 1, "{arguments:?} {}", run.stdout);
    }
    let unknown = scratch.try_run(&["audit", "replay", "nobody", "--ledger", "ledger.db"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("nobody: there is no row of that id or number"), "{}", unknown.stderr);
    for arguments in [&[][..], &["--all", "--from", "1"], &["some-id", "--all"]] {
        let run = scratch.try_run(&[&["audit", "replay", "--ledger", "ledger.db"], arguments].concat());
        assert_eq!(run.status, 2, "{arguments:?}");
    }
}

#[test]
fn replay_names_what_is_missing_and_goes_on() {
    let (scratch, file, ids) = recorded("replay-missing");
    let connection = rusqlite::Connection::open(&file).unwrap();
    let text: String = connection
        .query_row("SELECT report FROM reports WHERE decision_id = ?1", (&ids[0],), |row| row.get(0))
        .unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let digest = report["envelope"]["evidence"]["message"].as_str().unwrap();
    connection.execute(&format!("UPDATE evidence SET octets = NULL WHERE digest = x'{digest}'"), ()).unwrap();
    connection.close().unwrap();
    let run = writgate(&["audit", "replay", "--all", "--ledger", &file]);
    assert_eq!(run.status, 1);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", run.stdout);
    assert!(lines[0].contains(&ids[0]), "{}", lines[0]);
    assert!(
        lines[0].ends_with(&format!("the message of the evidence was erased ({digest})")),
        "{}",
        lines[0]
    );
    assert_eq!(lines[1], "2 of 3 decisions came out the same; 0 did not, 1 could not be made again");
    drop(scratch);
}
