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
         precedence.\nA number is never reused. The wire code is the extension's error value; a reason that several \
         stages can give\ntakes the wire code of the stage that gave it. *A2A* has the codes of JSON-RPC, gRPC and HTTP+JSON \
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
        _ => Stage::Admission,
    };
    match reason {
        Reason::LimitExceeded | Reason::RemoteContext => vec![owner, Stage::Presentation],
        _ => vec![owner],
    }
}

#[test]
fn conformance_has_a_row_for_each_of_the_64_statements() {
    let document = read("docs/conformance.md");
    let shared = root().join("../shared/seeds/002_a57ce47d66a53c20.txt");
    let Ok(seed) = fs::read_to_string(&shared) else {
        println!("skipped: the statements are not at ../shared");
        return;
    };
    let stated = statement_ids(
        seed.lines()
            .filter(|line| line.contains("spec:requirement") || line.starts_with("        <#A2ARDF-")),
    );
    assert_eq!(stated.len(), 64);
    let rows = statement_ids(document.lines().filter(|line| line.starts_with("| A2ARDF-")));
    assert_eq!(rows, stated);
}

fn statement_ids<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    lines
        .flat_map(|line| {
            line.split(|character: char| !(character.is_ascii_alphanumeric() || character == '-'))
        })
        .filter(|word| word.starts_with("A2ARDF-"))
        .map(str::to_owned)
        .collect()
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

/// The names of all functions below a `#[test]`, and those that `proptest!` makes.
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
                let mut below_test = false;
                for line in text.lines().map(str::trim) {
                    if line == "#[test]" {
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
