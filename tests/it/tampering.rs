//! The audit key, checkpoints and `writgate audit verify`, as an operator and an auditor meet them. What is found in which
//! table is tested beside the code.

use crate::command_line::Scratch;
use std::fs;

pub const CONFIG: &str = r#"
domains = ["https://a.example/agent"]

[[roots]]
prefix = "https://a.example/"
principal = "https://a.example/#me"

[ledger]
path = "ledger.db"

[audit]
key = "audit-key.json"
checkpoints = "checkpoints.jsonl"
"#;

/// A ledger with an audit key, and two rows more.
fn server(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("writgate.toml", CONFIG);
    scratch.run(&["ledger", "init", "--first"]);
    for peer in ["one", "two"] {
        scratch.run(&["conversation", "forget", "--peer", peer]);
    }
    scratch
}

fn key_of(scratch: &Scratch) -> String {
    scratch.run(&["key", "show", "audit-key.json"])
}

#[test]
fn a_ledger_begins_with_a_key_that_only_its_owner_reads_and_verifies() {
    let scratch = server("audit-key");
    let verified = scratch.run(&["audit", "verify"]);
    assert!(verified.contains("HOLDS") && verified.contains(&key_of(&scratch)), "{verified}");
    assert!(verified.contains("rows 1 to 3") && verified.contains("up to row 3"), "{verified}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(scratch.path("audit-key.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let outside = fs::read_to_string(scratch.path("checkpoints.jsonl")).unwrap();
    assert_eq!(outside.lines().count(), 3);
    let key = key_of(&scratch);
    scratch.run(&["audit", "verify", "--checkpoints", "checkpoints.jsonl", "--key", &key]);
    let json: serde_json::Value = serde_json::from_str(&scratch.run(&["audit", "verify", "--json"])).unwrap();
    let hash = json["rowHash"].as_str().unwrap();
    scratch.run(&["audit", "verify", "--expect", &format!("3:{hash}")]);
}

#[test]
fn what_does_not_hold_is_exit_1_and_what_could_not_run_is_exit_2() {
    let scratch = server("audit-exit");
    let hash = "0".repeat(64);
    assert_eq!(scratch.status(&["audit", "verify", "--expect", &format!("3:{hash}")]), 1);
    let cut = scratch.try_run(&["audit", "verify", "--expect", &format!("9:{hash}")]);
    assert!(cut.status == 1 && cut.stdout.contains("cut off"), "{}", cut.stdout);
    assert_eq!(scratch.status(&["audit", "verify", "--key", "did:key:z6Mkother"]), 1);
    assert_eq!(scratch.status(&["audit", "verify", "--expect", "3"]), 2);
    assert_eq!(scratch.status(&["audit", "verify", "--ledger", "none.db"]), 2);
    assert_eq!(scratch.status(&["audit", "verify", "--checkpoints", "none.jsonl"]), 2);
    let mut octets = fs::read(scratch.path("ledger.db")).unwrap();
    // The first page's list of cells.
    octets[100..112].fill(0xff);
    fs::write(scratch.path("damaged.db"), octets).unwrap();
    assert_eq!(scratch.status(&["audit", "verify", "--ledger", "damaged.db"]), 1);
}

#[test]
fn no_command_makes_a_key_for_a_ledger_that_has_rows() {
    let scratch = server("audit-lost-key");
    let key = fs::read(scratch.path("audit-key.json")).unwrap();
    fs::remove_file(scratch.path("audit-key.json")).unwrap();
    let lost = scratch.try_run(&["conversation", "forget", "--peer", "three"]);
    assert!(lost.status == 2 && lost.stderr.contains("restore it"), "{}", lost.stderr);
    assert!(!scratch.path("audit-key.json").exists());
    scratch.run(&["key", "new", "--out", "audit-key.json"]);
    let other = scratch.try_run(&["conversation", "forget", "--peer", "three"]);
    assert!(other.status == 2 && other.stderr.contains("restore"), "{}", other.stderr);
    fs::write(scratch.path("audit-key.json"), key).unwrap();
    scratch.run(&["conversation", "forget", "--peer", "three"]);
    scratch.run(&["audit", "verify"]);
}

#[test]
fn a_key_is_changed_by_the_one_before_it() {
    let scratch = server("audit-rotate");
    let first = key_of(&scratch);
    scratch.run(&["ledger", "rotate-key"]);
    let second = key_of(&scratch);
    assert_ne!(first, second);
    scratch.run(&["conversation", "forget", "--peer", "three"]);
    scratch.run(&["audit", "verify", "--key", &first, "--key", &second]);
    // The second alone could have been put in by whoever made the first.
    assert_eq!(scratch.status(&["audit", "verify", "--key", &second]), 1);
    assert_eq!(scratch.status(&["ledger", "rotate-key", "--begin"]), 2);
}

#[test]
fn a_change_of_key_that_was_cut_off_is_finished() {
    let scratch = server("audit-rotate-cut");
    let old = fs::read(scratch.path("audit-key.json")).unwrap();
    scratch.run(&["ledger", "rotate-key"]);
    let second = key_of(&scratch);
    // As a power cut leaves it between the ledger and the key's file.
    fs::rename(scratch.path("audit-key.json"), scratch.path("audit-key.json.next")).unwrap();
    fs::write(scratch.path("audit-key.json"), old).unwrap();
    assert_eq!(scratch.status(&["conversation", "forget", "--peer", "three"]), 2);
    scratch.run(&["ledger", "rotate-key"]);
    assert_eq!(key_of(&scratch), second);
    scratch.run(&["audit", "verify"]);
}

#[test]
fn checkpoints_of_a_ledger_without_a_key_begin_where_the_operator_says() {
    let scratch = Scratch::new("audit-begin");
    let keyless = CONFIG.split("[audit]").next().unwrap();
    scratch.write("writgate.toml", keyless);
    scratch.run(&["ledger", "init", "--first"]);
    scratch.run(&["conversation", "forget", "--peer", "one"]);
    let verified = scratch.run(&["audit", "verify"]);
    assert!(verified.contains("no checkpoint signs any row"), "{verified}");
    scratch.write("writgate.toml", CONFIG);
    assert_eq!(scratch.status(&["conversation", "forget", "--peer", "two"]), 2);
    scratch.run(&["ledger", "rotate-key", "--begin"]);
    scratch.run(&["conversation", "forget", "--peer", "two"]);
    let verified = scratch.run(&["audit", "verify"]);
    assert!(verified.contains("checkpoints begin at row 2"), "{verified}");
}

#[test]
fn a_ledger_with_a_key_is_not_opened_without_it() {
    let scratch = server("audit-no-key");
    scratch.write("writgate.toml", CONFIG.split("[audit]").next().unwrap());
    let refused = scratch.try_run(&["conversation", "forget", "--peer", "three"]);
    assert!(refused.status == 2 && refused.stderr.contains("`key` under `[audit]`"), "{}", refused.stderr);
    scratch.run(&["audit", "verify"]);
}

#[test]
fn a_command_that_fails_leaves_no_key_behind() {
    let scratch = server("audit-stray-key");
    fs::rename(scratch.path("audit-key.json"), scratch.path("elsewhere")).unwrap();
    for command in [&["ledger", "rotate-key"][..], &["ledger", "rotate-key", "--begin"]] {
        assert_eq!(scratch.status(command), 2);
        assert!(!scratch.path("audit-key.json").exists() && !scratch.path("audit-key.json.next").exists());
    }
}

#[test]
fn who_runs_a_command_is_told_what_is_wrong_with_the_checkpoints_outside() {
    let scratch = server("audit-outside");
    fs::remove_file(scratch.path("checkpoints.jsonl")).unwrap();
    let gone = scratch.try_run(&["conversation", "forget", "--peer", "three"]);
    assert!(gone.status == 0 && gone.stderr.contains("there is no such file"), "{}", gone.stderr);
    scratch.write("none.jsonl", "");
    let none = scratch.run(&["audit", "verify", "--checkpoints", "none.jsonl"]);
    assert!(none.contains("it shows nothing"), "{none}");
    scratch.write("writgate.toml", &CONFIG.replace("checkpoints.jsonl", "nowhere/checkpoints.jsonl"));
    let unwritten = scratch.try_run(&["conversation", "forget", "--peer", "four"]);
    assert!(
        unwritten.status == 0
            && unwritten.stderr.contains("a checkpoint could not be written outside the ledger"),
        "{}",
        unwritten.stderr
    );
}

#[test]
fn erasing_takes_a_configuration_and_says_whose_evidence() {
    let scratch = server("audit-erase-config");
    fs::rename(scratch.path("writgate.toml"), scratch.path("other.toml")).unwrap();
    assert_eq!(scratch.status(&["audit", "erase", "--config", "other.toml"]), 2);
    let erased = scratch.run(&["audit", "erase", "--config", "other.toml", "--before", "2020-01-01"]);
    assert!(erased.starts_with("0 pieces"), "{erased}");
}
