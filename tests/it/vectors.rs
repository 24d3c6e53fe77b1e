//! The project's own suite: every case gives its answer, the files are what is made, and between them the cases provoke
//! every reason that an evaluation can give.

use crate::command_line::{Run, writgate};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use writgate::Reason;

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

#[test]
fn every_case_of_the_own_suite_passes() {
    let Run { status, stdout, .. } = writgate(&["vectors", "run", "vectors"]);
    assert_eq!(status, 0, "{stdout}");
    let cases = cases().len();
    assert_eq!(stdout.lines().last(), Some(format!("{cases} passed, 0 failed").as_str()));
    assert!(cases > 60);
}

#[test]
fn every_case_of_the_a2a_rdf_suite_passes() {
    shared_suite_passes("a2a-rdf", 11);
}

#[test]
fn every_case_of_the_odrl_delegation_suite_passes() {
    shared_suite_passes("odrl-delegation", 9);
}

#[test]
fn every_case_of_the_agent_authz_credential_suite_passes() {
    shared_suite_passes("agent-authz-credential", 19);
}

fn shared_suite_passes(suite: &str, cases: usize) {
    let folder = format!("../shared/vectors/{suite}");
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder).is_dir() {
        println!("skipped: {suite} is not at ../shared");
        return;
    }
    let Run { status, stdout, .. } = writgate(&["vectors", "run", &folder]);
    assert_eq!((status, stdout.trim()), (0, format!("{cases} passed, 0 failed").as_str()));
}

#[test]
fn a_wrong_expectation_an_unknown_operation_and_an_empty_suite_fail() {
    let folder = std::env::temp_dir().join(format!("writgate-vectors-{}", std::process::id()));
    fs::create_dir_all(folder.join("one")).unwrap();
    let run = || {
        let run = writgate(&["vectors", "run", folder.to_str().unwrap()]);
        (run.status, run.stdout)
    };
    fs::write(folder.join("manifest.json"), r#"{"cases":[]}"#).unwrap();
    assert_eq!(run(), (1, "0 passed, 0 failed\n".to_owned()));
    fs::write(folder.join("manifest.json"), r#"{"cases":[{"id":"one","path":"one/case.json"}]}"#).unwrap();
    for (operation, expected) in [("evaluate-everything", "{}"), ("decode-handshake", r#"{"ok":true}"#)] {
        let case = format!(
            r#"{{"id":"one","operation":"{operation}","input":{{"payload":{{"kind":"upgrade-offer"}}}},"expected":{expected}}}"#
        );
        fs::write(folder.join("one/case.json"), case).unwrap();
        let (status, stdout) = run();
        assert_eq!(status, 1, "{stdout}");
        assert!(stdout.starts_with("FAIL one") && stdout.ends_with("0 passed, 1 failed\n"), "{stdout}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_committed_suite_is_what_is_made() {
    let folder = std::env::temp_dir().join(format!("writgate-made-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let made = writgate(&["vectors", "make", folder.to_str().unwrap()]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert_eq!(
        fs::read(folder.join("manifest.json")).unwrap(),
        fs::read(suite().join("manifest.json")).unwrap()
    );
    for name in cases().into_iter().map(|(name, _)| name) {
        for file in ["case.json", "message.json"] {
            let path = format!("cases/{name}/{file}");
            assert!(
                fs::read(folder.join(&path)).unwrap() == fs::read(suite().join(&path)).unwrap(),
                "{path} is stale"
            );
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Reasons that no evaluation gives: of loading, the handshake, admission, and our own failures. Each has its own test.
const NOT_OF_EVALUATION: [Reason; 11] = [
    Reason::HashMismatch,
    Reason::HandshakeMalformed,
    Reason::ObligationUnsupported,
    Reason::ClockSteppedBack,
    Reason::BeforeLedgerFloor,
    Reason::DuplicateMessage,
    Reason::MessageIdReused,
    Reason::ChallengeUsed,
    Reason::LedgerUnavailable,
    Reason::Internal,
    // Given once status lists are read (issue 3).
    Reason::Suspended,
];
/// Given once challenges are issued here (issue 5).
const OF_ISSUED_CHALLENGES: [Reason; 2] = [Reason::ChallengeExpired, Reason::ChallengeContextMismatch];

#[test]
fn the_cases_provoke_every_reason_that_an_evaluation_can_give() {
    let provoked: BTreeSet<Reason> = cases()
        .into_iter()
        .filter_map(|(_, case)| case["expected"]["reason"].as_str().map(|word| word.parse().unwrap()))
        .collect();
    let elsewhere: BTreeSet<Reason> = NOT_OF_EVALUATION.into_iter().chain(OF_ISSUED_CHALLENGES).collect();
    let missing: Vec<_> = Reason::ALL
        .iter()
        .filter(|reason| !provoked.contains(reason) && !elsewhere.contains(reason))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    assert!(provoked.is_disjoint(&elsewhere), "{:?}", provoked.intersection(&elsewhere));
}

fn cases() -> Vec<(String, Value)> {
    let read = |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    read(suite().join("manifest.json"))["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let name = entry["id"].as_str().unwrap().trim_start_matches("writgate/").to_owned();
            (name, read(suite().join(entry["path"].as_str().unwrap())))
        })
        .collect()
}
