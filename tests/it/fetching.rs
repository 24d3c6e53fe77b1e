//! What the source says of the fetcher: a decision cannot reach it, and tests alone can loosen it.

use std::fs;
use std::path::{Path, PathBuf};

/// Everything that a decision runs through.
const DECISION: &[&str] = &[
    "audit",
    "credential",
    "decision.rs",
    "engine",
    "engine.rs",
    "explain.rs",
    "ledger",
    "limits.rs",
    "mandate",
    "message",
    "protocol",
    "rdf",
    "refusal.rs",
    "request.rs",
    "shape",
    "vocab.rs",
];

/// What such code would have to name: the fetcher, by its module, by what it is exported as or by a glob; what it is
/// built on; the sockets of the standard library; another client.
const FORBIDDEN: &[&str] = &[
    "source::fetch",
    "fetch::",
    "Fetcher",
    "FetchPolicy",
    "source::*",
    "hyper::",
    "hyper_util",
    "tokio",
    "reqwest",
    "oxhttp",
    "TcpStream",
    "UdpSocket",
    "ToSocketAddrs",
];

fn source() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The Rust files at a path, with their text.
fn files(path: &Path) -> Vec<(PathBuf, String)> {
    if path.is_file() {
        return vec![(path.to_owned(), fs::read_to_string(path).unwrap())];
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() || path.extension().is_some_and(|ending| ending == "rs") {
            found.extend(files(&path));
        }
    }
    found
}

#[test]
fn the_code_of_a_decision_does_not_name_the_fetcher() {
    let mut seen = 0;
    for place in DECISION {
        for (path, text) in files(&source().join(place)) {
            seen += 1;
            for word in FORBIDDEN {
                assert!(!text.contains(word), "{} names {word}", path.display());
            }
        }
    }
    assert!(seen > 80, "{seen} files");
    // The words are those by which the fetcher can be had.
    let module = fs::read_to_string(source().join("source/mod.rs")).unwrap();
    assert!(module.contains("mod fetch;") && module.contains("Fetcher"));
}

#[test]
fn the_fetcher_reads_no_environment() {
    for (path, text) in production() {
        for word in ["std::env", "env::var", "env::vars", "PROXY", "option_env!"] {
            assert!(!text.contains(word), "{} names {word}", path.display());
        }
    }
}

/// The variant that lets tests dial loopback is behind `cfg(test)` where it is declared and where it is read, and the
/// one constructor that is public passes the other.
#[test]
fn the_lenient_address_rule_exists_in_tests_only() {
    let mut named = 0;
    for (path, text) in production() {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("LoopbackToo")) {
            named += 1;
            let before = lines.get(index.wrapping_sub(1)).map(|line| line.trim());
            assert_eq!(before, Some("#[cfg(test)]"), "{}: {line}", path.display());
        }
    }
    assert_eq!(named, 2);
    let module = fs::read_to_string(source().join("source/fetch/mod.rs")).unwrap();
    assert!(module.contains("Self::over(policy, Arc::new(System), AddressRule::GlobalUnicast)"));
    for line in ["#[cfg(test)]\npub(crate) mod testing;", "#[cfg(test)]\nmod tests;"] {
        assert!(module.contains(line), "{line}");
    }
}

/// The fetcher's files that are compiled outside of tests.
fn production() -> Vec<(PathBuf, String)> {
    let folder = source().join("source/fetch");
    let mut found = files(&folder);
    found.retain(|(path, _)| !path.starts_with(folder.join("tests")) && !path.ends_with("testing.rs"));
    assert!(found.len() > 8, "{} files", found.len());
    found
}
