//! The documents that code can check: `docs/refusals.md`, `docs/conformance.md`, `docs/threats.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use writgate::{Reason, Retry, Stage};

/// Rewrites `docs/refusals.md` instead of comparing it: `WRITGATE_UPDATE_DOCS=1 cargo test`.
const UPDATE: &str = "WRITGATE_UPDATE_DOCS";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
}

#[test]
fn refusals_document_is_the_enum() {
    let generated = refusals();
    if std::env::var_os(UPDATE).is_some() {
        fs::write(root().join("docs/refusals.md"), &generated).unwrap();
    }
    assert_eq!(
        read("docs/refusals.md"),
        generated,
        "regenerate with {UPDATE}=1 cargo test --release refusals_document"
    );
}

fn refusals() -> String {
    let mut text = String::from(
        "# Refusals\n\nGenerated from `Reason` in `src/refusal.rs`; a test compares the two. The rows stand in order of \
         precedence.\nA number is never changed or reused, so two of them stand among those of the stage that gives \
         them today. The wire\ncode is the extension's error value; a reason that several stages can give takes the wire \
         code of the stage that gave\nit. *A2A* has the codes of JSON-RPC, gRPC and HTTP+JSON \
         ([errors.md](errors.md)); an\ninternal error is 14 and 503 once the holder is verified. *Retry* says whether \
         sending again can ever help.\n\n| number | reason | wire code | A2A | retry | meaning |\n|---|---|---|---|---|---|\n",
    );
    for reason in Reason::ALL {
        let wire: BTreeSet<_> = stages_of(*reason)
            .iter()
            .map(|stage| reason.wire_code(*stage).map_or("none (internal error)", |wire| wire.as_str()))
            .collect();
        let wire: Vec<_> = wire.into_iter().collect();
        let codes: BTreeSet<_> = stages_of(*reason)
            .iter()
            .map(|stage| reason.a2a_codes(*stage))
            .map(|codes| format!("{} / {} / {}", codes.json_rpc, codes.grpc, codes.http))
            .collect();
        let codes: Vec<_> = codes.into_iter().collect();
        let retry = match reason.retry() {
            Retry::Never => "never",
            Retry::AfterChange => "after a change",
            Retry::Later => "later",
        };
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {retry} | {} |",
            reason.code(),
            reason.as_str(),
            wire.join(", "),
            codes.join(", "),
            reason.sentence()
        );
    }
    text
}

/// Stages that can give a reason. The hundreds of a number are the stage that owns it; the exceptions are reasons that
/// a later stage gives too.
fn stages_of(reason: Reason) -> Vec<Stage> {
    let owner = match reason.code() / 100 {
        1 => Stage::Admit,
        2 if reason == Reason::HashMismatch => Stage::Loading,
        2 if reason == Reason::HandshakeMalformed => Stage::Handshake,
        2 => Stage::Protocol,
        3 => Stage::Intent,
        4 => Stage::Shape,
        5 => Stage::Action,
        6 => Stage::Presentation,
        7 => Stage::Chain,
        8 => Stage::Reference,
        9 => Stage::Policy,
        // Numbered before it was known which stage would give them.
        _ if matches!(reason, Reason::ChallengeExpired | Reason::ChallengeContextMismatch) => {
            Stage::Presentation
        }
        _ => Stage::Admission,
    };
    match reason {
        Reason::LimitExceeded | Reason::RemoteContext => vec![owner, Stage::Presentation],
        _ => vec![owner],
    }
}

/// The statements of each section of the specification, in its order.
const STATEMENTS: [(&str, u32); 17] = [
    ("TERM", 1),
    ("URI", 1),
    ("VER", 1),
    ("DECL", 4),
    ("ACT", 4),
    ("PDM", 4),
    ("HASH", 5),
    ("OFFER", 4),
    ("RESP", 5),
    ("DG", 1),
    ("REQSEM", 1),
    ("SKIP", 2),
    ("PMETA", 2),
    ("PP", 8),
    ("AUTHZ", 3),
    ("ERR", 3),
    ("SEC", 15),
];

/// The rows of `docs/conformance.md`, each as id, level and class, and test.
fn conformance_rows() -> Vec<(String, String, String)> {
    let document = read("docs/conformance.md");
    let rows = document.lines().filter(|line| line.starts_with("| A2ARDF-")).map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 7, "a row has five cells: {line}");
        assert!(cells[1..6].iter().all(|cell| !cell.is_empty()), "a cell is empty: {line}");
        (cells[1].to_owned(), cells[3].to_owned(), cells[5].to_owned())
    });
    rows.collect()
}

#[test]
fn conformance_has_a_row_for_each_of_the_64_statements() {
    let stated: Vec<_> = STATEMENTS
        .iter()
        .flat_map(|(section, number)| (1..=*number).map(move |n| format!("A2ARDF-{section}-{n}")))
        .collect();
    assert_eq!(stated.len(), 64);
    let rows: Vec<_> = conformance_rows().into_iter().map(|(id, ..)| id).collect();
    assert_eq!(rows, stated);
}

/// The level and the classes that the companion gives each statement, as the document writes them.
#[test]
fn conformance_has_the_levels_and_classes_of_the_companion() {
    let shared = root().join("../shared/seeds/002_a57ce47d66a53c20.txt");
    let Ok(companion) = fs::read_to_string(&shared) else {
        println!("skipped: the statements are not at ../shared");
        return;
    };
    let stated: Vec<_> = companion
        .split("\n<#")
        .filter(|block| block.starts_with("A2ARDF-"))
        .map(|block| {
            let value = |predicate: &str| {
                let mut values = block
                    .lines()
                    .filter_map(|line| line.trim().strip_prefix(predicate))
                    .map(|value| value.trim_end_matches([' ', ';', '.']).trim().to_owned());
                let value = values.next().unwrap_or_else(|| panic!("no {predicate} in {block}"));
                assert_eq!(values.next(), None, "two of {predicate} in {block}");
                value
            };
            let level = match value("spec:requirementLevel ").as_str() {
                "spec:MUST" => "MUST",
                "spec:MUSTNOT" => "MUST NOT",
                "spec:SHOULD" => "SHOULD",
                "spec:SHOULDNOT" => "SHOULD NOT",
                "spec:MAY" => "MAY",
                other => panic!("level {other}"),
            };
            let class = match value("spec:requirementSubject ").as_str() {
                "<#OfferingAgent>" => "agent",
                "<#ConsumingClient>" => "client",
                "<#OfferingAgent> , <#ConsumingClient>" | "<#ConsumingClient> , <#OfferingAgent>" => "both",
                "<#SpecificationRevision>" => "spec",
                other => panic!("class {other}"),
            };
            (block.split('>').next().unwrap().to_owned(), format!("{level}, {class}"))
        })
        .collect();
    let rows: Vec<_> = conformance_rows().into_iter().map(|(id, binding, _)| (id, binding)).collect();
    assert_eq!(rows, stated);
}

#[test]
fn each_statement_has_a_test_or_the_reason_why_there_is_none() {
    for (id, _, test) in conformance_rows() {
        if let Some(reason) = test.strip_prefix("- ") {
            assert!(reason.split_whitespace().count() >= 5, "{id}: that is no reason: {reason}");
            assert!(!reason.contains("`test:"), "{id} has a test, or a reason why it has none");
            continue;
        }
        for named in test.split(", ") {
            let code = named.strip_prefix('`').and_then(|named| named.strip_suffix('`'));
            let name = code.and_then(|code| code.strip_prefix("test:").or(code.strip_prefix("vector:")));
            assert!(name.is_some_and(|name| !name.is_empty()), "{id}: {named:?} names no test");
        }
        let named: Vec<_> = test.split(", ").collect();
        let distinct: BTreeSet<_> = named.iter().collect();
        assert_eq!(distinct.len(), named.len(), "{id} names a test twice");
    }
}

/// A reason why no test can exist is not that it is yet to be written.
#[test]
fn no_statement_waits_for_an_issue() {
    let document = read("docs/conformance.md");
    let waiting: Vec<_> = document
        .lines()
        .filter(|line| line.starts_with("| A2ARDF-"))
        .filter(|line| ["wait", "issue "].iter().any(|word| line.to_lowercase().contains(word)))
        .map(|line| line.split('|').nth(1).unwrap().trim())
        .collect();
    assert!(waiting.is_empty(), "{waiting:?}");
}

#[test]
fn the_statements_with_a_test_are_counted() {
    let document = read("docs/conformance.md");
    let rows: Vec<_> = document.lines().filter(|line| line.starts_with("| A2ARDF-")).collect();
    let tested = rows.iter().filter(|row| row.contains("`test:") || row.contains("`vector:")).count();
    let counted =
        format!("Counted: {tested} of {} have a test, {} can have none.", rows.len(), rows.len() - tested);
    assert!(document.contains(&counted), "{counted}");
}

#[test]
fn every_test_that_a_document_names_exists() {
    let functions = test_functions(&root());
    for document in ["docs/conformance.md", "docs/threats.md"] {
        let text = read(document);
        let named: Vec<_> = text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|code| code.starts_with("test:"))
            .map(|code| code.trim_start_matches("test:").to_owned())
            .collect();
        assert!(named.len() > 20, "{document} names {} tests", named.len());
        for name in named {
            assert!(functions.contains(&name), "{document} names `{name}`, which is no test function");
        }
    }
}

#[test]
fn threats_have_a_row_for_each_of_the_45_attacks() {
    let document = read("docs/threats.md");
    let rows: Vec<u32> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(rows, (1..=45).collect::<Vec<_>>());
}

/// The names of all functions below a `#[test]`, and those that `proptest!` and the ledger's suite make.
fn test_functions(root: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![root.join("src"), root.join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let (mut below_test, mut of_every_ledger) = (false, false);
                for line in text.lines().map(str::trim) {
                    // The ledger's suite lists its properties; each is a test of every kind of ledger.
                    of_every_ledger = line == "every_ledger! {" || (of_every_ledger && line != "}");
                    if let Some(property) = line.strip_suffix(';').filter(|_| of_every_ledger) {
                        names.insert(property.to_owned());
                    } else if line == "#[test]" {
                        below_test = true;
                    } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| below_test) {
                        names.insert(rest.split(['(', '<']).next().unwrap().to_owned());
                        below_test = false;
                    }
                }
            }
        }
    }
    names
}
