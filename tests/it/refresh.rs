//! `writgate source refresh` as its users meet it: what the configuration says of it, and what a network that is not there
//! leaves. (Answers of servers are in the unit tests of `source::refresh`.)

use crate::command_line::Scratch;
use crate::support::{TestClock, assert_allowed, grant, noon, octets, world};
use chrono::TimeDelta;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use writgate::ledger::SqliteLedger;
use writgate::protocol::ProtocolHash;
use writgate::source::{CachedDocument, DocumentCache, Origin, PinError};
use writgate::worked_example::DOMAIN;
use writgate::{ConfigFile, Engine, Instant};

const DID_URL: &str = "https://organisation.example/.well-known/did.json";
const GRANT_HASH: &str = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";
const GRANT_URL: &str = "https://alice.pod.example/protocols/grant-access";

fn with(name: &str, fetch: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write(
        "writgate.toml",
        &format!(
            "domains = [\"https://me.example/agent\"]\ndocument_cache = \"cache\"\n[[roots]]\n\
             prefix = \"https://me.example/\"\nprincipal = \"https://me.example/card#me\"\n[ledger]\n\
             path = \"ledger.db\"\n{fetch}\n"
        ),
    );
    scratch
}

/// A host of a reserved name is never reached; a second is more than it takes to know that.
fn unreachable(name: &str) -> Scratch {
    with(name, "[fetch]\ncontrollers = [\"did:web:organisation.example\"]\ntotal_seconds = 1")
}

#[test]
fn without_a_fetch_table_a_refresh_asks_for_nothing() {
    let scratch = with("no-fetch", "");
    let run = scratch.try_run(&["source", "refresh"]);
    assert!(run.status == 2 && run.stderr.contains("[fetch]"), "{}", run.stderr);
    assert!(!scratch.path("cache").exists());
}

#[test]
fn a_refresh_without_a_network_says_so_and_keeps_what_is_held() {
    let scratch = unreachable("unreachable");
    let dry = scratch.run(&["source", "refresh", "--dry-run"]);
    assert_eq!(dry, format!("DUE  controller document  {DID_URL}"), "before there is a ledger");
    scratch.write("did.json", "{\"id\": \"did:web:organisation.example\"}");
    scratch.run(&["source", "add", "did.json", "--url", DID_URL]);
    let listed = scratch.run(&["source", "list"]);
    assert!(listed.contains("controller document, good until "), "{listed}");
    scratch.run(&["ledger", "init", "--first"]);
    let fresh = scratch.try_run(&["source", "refresh"]);
    assert_eq!((fresh.status, fresh.stdout.split("  ").next()), (0, Some("FRESH")));
    let run = scratch.try_run(&["source", "refresh", "--all"]);
    let expected = format!("NOT_FETCHED  controller document  {DID_URL}  ");
    assert!(run.status == 1 && run.stdout.starts_with(&expected), "{}{}", run.stdout, run.stderr);
    assert_eq!(scratch.run(&["source", "list"]), listed, "as it was");
}

#[test]
fn the_state_of_what_is_held_is_listed() {
    let scratch = unreachable("state");
    scratch.write("did.json", "{\"id\": \"did:web:organisation.example\"}");
    scratch.run(&["source", "add", "did.json", "--url", DID_URL, "--retrieved", "2026-01-01T00:00:00Z"]);
    scratch.run(&["source", "add", "did.json", "--url", "https://organisation.example/else"]);
    let cache = DocumentCache::open(&scratch.path("cache")).unwrap();
    pin_grant(&cache).unwrap();
    let listed = scratch.run(&["source", "list"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].ends_with("  controller document, stale since 2026-01-02T00:00:00.000Z"), "{listed}");
    assert!(lines[1].ends_with("  of no known kind"), "{listed}");
    assert!(
        lines[2].starts_with(GRANT_URL) && lines[2].ends_with(&format!("  Protocol Document {GRANT_HASH}"))
    );
}

fn grant_document() -> CachedDocument {
    let octets =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/grant-access.ttl")).unwrap();
    CachedDocument {
        origin: Origin::Fetched,
        ..CachedDocument::new(GRANT_URL, "text/turtle; charset=utf-8", noon(), octets)
    }
}

fn pin_grant(cache: &DocumentCache) -> Result<(), PinError> {
    cache.pin(&grant_document(), &GRANT_HASH.parse::<ProtocolHash>().unwrap())
}

/// The example's configuration, with the grant's document by its URL.
fn by_source(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).display().to_string();
    let text = world().text("vectors/writgate.toml").unwrap();
    let own = format!("source = \"{GRANT_URL}\"");
    let text = text.replace("file = \"../policies/grant-access.ttl\"\n", "");
    assert!(text.contains(&own), "the example's card names it");
    let text = text.replace("\"../", &format!("\"{repository}/"));
    scratch.write("writgate.toml", &text.replacen("domains =", "document_cache = \"cache\"\ndomains =", 1));
    scratch
}

fn config(scratch: &Scratch) -> Result<writgate::Config, writgate::ConfigError> {
    ConfigFile::read(&scratch.path("writgate.toml")).unwrap().load(noon())
}

#[test]
fn a_document_that_is_configured_by_its_source_is_read_from_the_cache_by_its_pin() {
    let scratch = by_source("by-source");
    for _ in 0..2 {
        let error = config(&scratch).unwrap_err();
        assert_eq!(error.setting, GRANT_URL);
        assert!(error.problem.contains("`writgate source refresh`"), "{error}");
        // Neither without a cache nor with an empty one.
        std::fs::create_dir_all(scratch.path("cache")).unwrap();
    }
    let cache = DocumentCache::open(&scratch.path("cache")).unwrap();
    pin_grant(&cache).unwrap();
    let ledger = SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap();
    let engine = Engine::new(config(&scratch).unwrap(), Arc::new(ledger), TestClock::at(noon())).unwrap();
    let message = grant().message().unwrap();
    assert_allowed(&engine.decide(octets(&message), world().facts()));
}

#[test]
fn a_document_in_the_cache_is_held_to_the_configured_pin() {
    let scratch = by_source("altered-source");
    std::fs::create_dir_all(scratch.path("cache")).unwrap();
    let cache = DocumentCache::open(&scratch.path("cache")).unwrap();
    // Put there by hand, under its URL.
    cache.put(&CachedDocument { octets: b"<urn:a> <urn:b> <urn:c> .".to_vec(), ..grant_document() }).unwrap();
    let error = config(&scratch).unwrap_err();
    assert!(error.setting == GRANT_URL && error.problem.contains("not to its pin"), "{error}");
    cache.put(&grant_document()).unwrap();
    assert!(config(&scratch).is_ok());
    // Under its pin, and altered since.
    pin_grant(&cache).unwrap();
    let file = scratch.path("cache").join(format!("{}.protocol", GRANT_HASH.trim_start_matches("sha256:")));
    std::fs::write(file, "altered").unwrap();
    assert!(config(&scratch).is_err());
}

#[test]
fn a_protocol_has_a_file_or_a_source_and_a_source_needs_a_cache() {
    let scratch = by_source("file-and-source");
    let text = std::fs::read_to_string(scratch.path("writgate.toml")).unwrap();
    let source = format!("source = \"{GRANT_URL}\"");
    for (from, to, words) in [
        // (Only the grant's entry is without a file.)
        (source.as_str(), String::new(), "each has a `file` or a `source`"),
        ("document_cache = \"cache\"", String::new(), "no `document_cache`"),
    ] {
        scratch.write("writgate.toml", &text.replacen(from, &to, 1));
        let error = config(&scratch).unwrap_err();
        assert!(error.problem.contains(words), "{error}");
    }
}

#[test]
fn what_was_confirmed_in_the_future_stops_the_start() {
    let scratch = by_source("future");
    std::fs::create_dir_all(scratch.path("cache")).unwrap();
    let cache = DocumentCache::open(&scratch.path("cache")).unwrap();
    pin_grant(&cache).unwrap();
    let confirmed: Instant = noon() + TimeDelta::minutes(2);
    let url = "https://organisation.example/.well-known/did.json";
    let document = CachedDocument::new(url, "application/json", noon(), b"{}".to_vec());
    cache.put(&CachedDocument { confirmed, ..document }).unwrap();
    assert!(config(&scratch).unwrap_err().problem.contains("in the future"));
}

#[test]
fn processes_that_write_one_cache_end_with_the_newest() {
    let scratch = unreachable("processes");
    let children: Vec<_> = (0..6)
        .map(|minute| {
            let file = format!("did-{minute}.json");
            scratch.write(&file, &format!("{{\"id\": \"did:web:organisation.example\", \"n\": {minute}}}"));
            Command::new(env!("CARGO_BIN_EXE_writgate"))
                .args(["source", "add", &file, "--url", DID_URL, "--retrieved"])
                .arg(format!("2026-11-30T10:0{minute}:00Z"))
                .current_dir(scratch.path(""))
                .output_in_background()
        })
        .collect();
    for mut child in children {
        // One that came after a newer one was refused.
        assert!(matches!(child.wait().unwrap().code(), Some(0 | 2)));
    }
    let documents = DocumentCache::open(&scratch.path("cache")).unwrap().documents().unwrap();
    assert_eq!(documents.len(), 1);
    let text = String::from_utf8(documents[0].octets.clone()).unwrap();
    assert!(text.contains("\"n\": 5") && documents[0].retrieved.to_rfc3339().contains("10:05:00"), "{text}");
}

#[test]
fn what_peers_offered_is_listed_and_asked_for_and_its_failure_is_no_alarm() {
    let scratch = with("offered", "[fetch]\nhosts = [\"alice.pod.example\"]\ntotal_seconds = 1");
    let file = ConfigFile::read(&scratch.path("writgate.toml")).unwrap();
    let queue = file.offered_documents(TestClock::at(noon())).unwrap().unwrap();
    let hash = GRANT_HASH.parse().unwrap();
    for source in [GRANT_URL, "https://internal.example/grant-access.ttl"] {
        queue.want(&source.parse().unwrap(), &hash);
    }
    drop(queue);
    scratch.run(&["ledger", "init", "--first"]);
    let offered = format!("{GRANT_URL}  {GRANT_HASH}  offered 2026-12-01T12:00:00.000Z");
    assert_eq!(scratch.run(&["source", "wanted"]), offered);
    let line = format!("Protocol Document  {GRANT_HASH}  (offered)  {GRANT_URL}");
    assert_eq!(scratch.run(&["source", "refresh", "--dry-run"]), format!("DUE  {line}"));
    assert!(scratch.run(&["source", "refresh"]).starts_with(&format!("NOT_FETCHED  {line}  ")));
    assert_eq!(scratch.run(&["source", "wanted"]), offered, "the network may come back");
}

trait Background {
    fn output_in_background(&mut self) -> std::process::Child;
}

impl Background for Command {
    fn output_in_background(&mut self) -> std::process::Child {
        self.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
    }
}

// --- accept_offers ----------------------------------------------------------------------------------------------------

const READ_CLASS: &str = "https://schema.org/ReadAction";
const GRANT_CLASS: &str = "https://w3id.org/jeswr/a2a#GrantAction";

/// A configuration that names no document, with the grant's in the cache as a refresh leaves it there.
fn offered_and_fetched(name: &str, settings: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).display().to_string();
    let text = world().text("vectors/writgate.toml").unwrap().replace("\"../", &format!("\"{repository}/"));
    let (before, rest) = text.split_once("[[protocols]]").unwrap();
    let (_, after) = rest.split_once("\n[ledger]").unwrap();
    let text = format!("document_cache = \"cache\"\n{settings}\n{before}[ledger]{after}");
    scratch.write("writgate.toml", &text);
    std::fs::create_dir_all(scratch.path("cache")).unwrap();
    pin_grant(&DocumentCache::open(&scratch.path("cache")).unwrap()).unwrap();
    scratch
}

fn spoken(scratch: &Scratch) -> usize {
    config(scratch).unwrap().protocols().iter().count()
}

#[test]
fn a_fetched_document_is_spoken_only_where_reviewed_ones_are_and_its_classes_are_listed() {
    let reviewed = |classes: &str| format!("accept_offers = \"reviewed\"\nreviewed_classes = [{classes}]");
    for (name, settings, expected) in [
        ("by-default", String::new(), 0),
        ("pinned", "accept_offers = \"pinned\"".to_owned(), 0),
        ("another-class", reviewed(&format!("\"{READ_CLASS}\"")), 0),
        ("its-class", reviewed(&format!("\"{GRANT_CLASS}\"")), 1),
        ("both-classes", reviewed(&format!("\"{READ_CLASS}\", \"{GRANT_CLASS}\"")), 1),
    ] {
        assert_eq!(spoken(&offered_and_fetched(name, &settings)), expected, "{name}");
    }
}

#[test]
fn a_reviewed_document_is_on_no_card_and_bears_on_security() {
    let settings = format!("accept_offers = \"reviewed\"\nreviewed_classes = [\"{GRANT_CLASS}\"]");
    let scratch = offered_and_fetched("reviewed", &settings);
    let loaded = config(&scratch).unwrap();
    assert!(!serde_json::to_string(&loaded.agent_extension()).unwrap().contains(GRANT_HASH));
    let document = loaded.protocols().iter().next().unwrap();
    assert_eq!(document.source().map(|source| source.as_str()), Some(GRANT_URL));
    scratch.run(&["ledger", "init", "--first"]);
    let at = ["--role", "client", "--peer", "p", "--context", "c"];
    let offer = scratch.run(&[&["conversation", "offer", "--hash", GRANT_HASH], at.as_slice()].concat());
    assert!(offer.contains("\"required\": true"), "{offer}");
}

#[test]
fn a_document_that_its_review_refuses_is_left_out_and_stops_no_start() {
    let settings = format!("accept_offers = \"reviewed\"\nreviewed_classes = [\"{GRANT_CLASS}\"]");
    let scratch = offered_and_fetched("refused", &settings);
    let text = String::from_utf8(grant_document().octets).unwrap();
    let text = format!(
        "{text}\n<https://a.example/> <http://www.w3.org/2002/07/owl#imports> <https://b.example/> ."
    );
    let hash =
        writgate::protocol::ProtocolDocument::hash_of(&text, "text/turtle", &Default::default()).unwrap();
    let cache = DocumentCache::open(&scratch.path("cache")).unwrap();
    let document = CachedDocument { octets: text.into_bytes(), ..grant_document() };
    cache.pin(&document, &hash).unwrap();
    let loaded = config(&scratch).unwrap();
    assert!(loaded.protocols().find(&hash).is_none());
    assert_eq!(loaded.protocols().iter().count(), 1);
}

#[test]
fn classes_of_reviewed_documents_are_of_the_default_mapping_and_need_the_setting() {
    for (settings, words) in [
        (format!("reviewed_classes = [\"{READ_CLASS}\"]"), "accept_offers"),
        ("accept_offers = \"reviewed\"".to_owned(), "reviewed_classes"),
        (
            "accept_offers = \"reviewed\"\nreviewed_classes = [\"https://a.example/Pay\"]".to_owned(),
            "not in the default mapping",
        ),
    ] {
        let error = config(&offered_and_fetched("classes", &settings)).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let settings = format!("accept_offers = \"reviewed\"\nreviewed_classes = [\"{READ_CLASS}\"]");
    let scratch = offered_and_fetched("no-cache", &settings);
    let text = std::fs::read_to_string(scratch.path("writgate.toml")).unwrap();
    scratch.write("writgate.toml", &text.replace("document_cache = \"cache\"", ""));
    assert!(config(&scratch).unwrap_err().to_string().contains("document_cache"));
}
