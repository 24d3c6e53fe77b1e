//! The refresh against a table of answers: what is asked, what an answer may renew, and what is not taken.

mod hostile;
mod loopback;
mod queue;
mod renewal;

use super::*;
use crate::credential::issue::{self, SigningKey};
use crate::ledger::ListKey;
use crate::limits::Limits;
use crate::protocol::ProtocolDocument;
use crate::rdf::Budget;
use crate::source::retrieve::Retrieval;
use crate::source::{FetchHosts, Validators};
use crate::vocab::cred;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

pub(super) const LIST: &str = "https://issuer.example/status/1";
pub(super) const DID: &str = "did:web:organisation.example";
pub(super) const DID_URL: &str = "https://organisation.example/.well-known/did.json";
pub(super) const PROTOCOL: &str = "https://protocols.example/grant.ttl";
pub(super) const ETAG: &str = "\"1\"";

pub(super) fn noon() -> Instant {
    "2026-12-01T12:00:00Z".parse().unwrap()
}

pub(super) fn minutes(minutes: i64) -> Instant {
    noon() + TimeDelta::minutes(minutes)
}

pub(super) fn key() -> SigningKey {
    SigningKey::from_seed([7; 32])
}

/// A list of `key` for `url`, valid from some minutes after noon, with these bits set in its first octet.
pub(super) fn list_of(key: &SigningKey, url: &str, from: i64, bits: u8) -> Vec<u8> {
    let mut octets = vec![0u8; 131_072 / 8];
    octets[0] = bits;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&octets).unwrap();
    let document = json!({
        "@context": [cred::CONTEXT_V2],
        "id": url,
        "type": ["VerifiableCredential", "BitstringStatusListCredential"],
        "issuer": key.controller(),
        "validFrom": minutes(from),
        "credentialSubject": {
            "id": format!("{url}#list"),
            "type": "BitstringStatusList",
            "statusPurpose": "revocation",
            "encodedList": format!("u{}", URL_SAFE_NO_PAD.encode(encoder.finish().unwrap())),
        },
    });
    let limits = Limits { term_bytes: 1 << 20, ..Limits::default() };
    let options = issue::proof_options(key, "assertionMethod", minutes(from));
    let document = document.as_object().unwrap().clone();
    let signed = issue::secure(key, document, options, &limits, &mut Budget::new(&limits)).unwrap();
    serde_json::to_vec(&signed).unwrap()
}

pub(super) fn list(from: i64, bits: u8) -> Vec<u8> {
    list_of(&key(), LIST, from, bits)
}

pub(super) fn graph(name: &str) -> Vec<u8> {
    format!("<https://a.example/{name}> <https://a.example/p> \"o\" .").into_bytes()
}

pub(super) fn hash(octets: &[u8]) -> ProtocolHash {
    let text = std::str::from_utf8(octets).unwrap();
    ProtocolDocument::hash_of(text, "text/turtle", &Limits::default()).unwrap()
}

pub(super) fn did(id: &str) -> Vec<u8> {
    json!({ "id": id, "alsoKnownAs": [] }).to_string().into_bytes()
}

pub(super) fn wants_list() -> ListKey {
    ListKey { issuer: key().controller().to_owned(), url: LIST.to_owned() }
}

/// A plan of nothing: an hour for lists, a day for controller documents.
pub(super) fn plan() -> FetchPlan {
    FetchPlan::new(TimeDelta::hours(1), TimeDelta::hours(24)).with_skew(TimeDelta::seconds(60))
}

pub(super) fn plan_of_list() -> FetchPlan {
    plan().with_list(wants_list())
}

/// An answer: a document with an entity tag.
pub(super) fn document(media_type: &str, octets: Vec<u8>) -> Result<Fetched, FetchError> {
    let validators = Validators { etag: Some(ETAG.to_owned()), last_modified: None };
    Ok(Fetched::Document { octets, media_type: media_type.to_owned(), validators })
}

pub(super) fn vc(octets: Vec<u8>) -> Result<Fetched, FetchError> {
    document("application/vc", octets)
}

type Asked = (String, DocumentKind, Option<Validators>);

/// Servers, as a table of answers. A URL that is not in it is not reached.
#[derive(Debug, Default)]
pub(super) struct Servers {
    answers: Mutex<BTreeMap<String, Result<Fetched, FetchError>>>,
    asked: Mutex<Vec<Asked>>,
    /// Requests that are under way, and the most that there were: of one host and in all.
    running: Mutex<Vec<String>>,
    most: Mutex<(usize, usize)>,
}

impl Servers {
    pub(super) fn serve(&self, url: &str, answer: Result<Fetched, FetchError>) {
        self.answers.lock().unwrap().insert(url.to_owned(), answer);
    }

    /// What was asked since the last call.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Retrieve for Servers {
    fn retrieve<'a>(
        &'a self,
        url: &'a str,
        kind: DocumentKind,
        known: Option<&'a Validators>,
    ) -> Retrieval<'a> {
        Box::pin(async move {
            self.asked.lock().unwrap().push((url.to_owned(), kind, known.cloned()));
            let name = host(url).to_owned();
            {
                let mut running = self.running.lock().unwrap();
                running.push(name.clone());
                let of_host = running.iter().filter(|other| **other == name).count();
                let mut most = self.most.lock().unwrap();
                *most = (most.0.max(of_host), most.1.max(running.len()));
            }
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            let mut running = self.running.lock().unwrap();
            let index = running.iter().position(|other| *other == name).unwrap();
            running.remove(index);
            drop(running);
            assert!(!url.contains("panic"), "as the test wants it");
            let answers = self.answers.lock().unwrap();
            answers.get(url).cloned().unwrap_or(Err(FetchError::ConnectTimeout))
        })
    }
}

/// Servers, and a cache in a folder that goes when the test ends.
pub(super) struct World {
    folder: PathBuf,
    pub(super) cache: DocumentCache,
    pub(super) servers: Arc<Servers>,
}

impl World {
    pub(super) fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("writgate-refresh-{}", uuid::Uuid::new_v4()));
        let cache = DocumentCache::create(&folder).unwrap();
        Self { folder, cache, servers: Arc::default() }
    }

    pub(super) fn refresh(&self, plan: &FetchPlan, now: Instant) -> RefreshReport {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let servers = Arc::clone(&self.servers) as Arc<dyn Retrieve>;
        runtime.block_on(refresh_with(servers, &self.cache, plan, now, MAX_TIME)).unwrap()
    }

    /// The verdict on the one document that a plan is about.
    #[track_caller]
    pub(super) fn verdict(&self, plan: &FetchPlan, now: Instant) -> Verdict {
        let mut report = self.refresh(plan, now);
        assert_eq!(report.documents.len(), 1, "{report:?}");
        report.documents.remove(0).verdict
    }

    #[track_caller]
    pub(super) fn held(&self, url: &str) -> CachedDocument {
        self.cache.document(url).unwrap().expect("it is held")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A list of noon that was fetched then.
pub(super) fn with_list() -> World {
    let world = World::new();
    world.servers.serve(LIST, vc(list(0, 0)));
    assert_eq!(world.verdict(&plan_of_list(), noon()), Verdict::Stored);
    world.servers.asked();
    world
}

pub(super) fn with_controller() -> World {
    let world = World::new();
    world.servers.serve(DID_URL, document("application/did+json", did(DID)));
    assert_eq!(world.verdict(&plan().with_controller(DID), noon()), Verdict::Stored);
    world.servers.asked();
    world
}

#[test]
fn what_is_wanted_is_fetched_once_and_again_from_half_its_life_on() {
    let world = World::new();
    let protocol = graph("1");
    world.servers.serve(LIST, vc(list(0, 0)));
    world.servers.serve(DID_URL, document("application/did+json", did(DID)));
    world.servers.serve(PROTOCOL, document("text/turtle", protocol.clone()));
    let plan = plan_of_list().with_controller(DID).with_protocol(PROTOCOL, hash(&protocol));
    let verdicts = |now| {
        let report = world.refresh(&plan, now);
        assert!(!report.failed());
        report.documents.into_iter().map(|line| (line.url, line.verdict)).collect::<Vec<_>>()
    };
    let all = |list, did, protocol| {
        [(LIST, list), (DID_URL, did), (PROTOCOL, protocol)].map(|(url, verdict)| (url.to_owned(), verdict))
    };
    assert_eq!(verdicts(noon()), all(Verdict::Stored, Verdict::Stored, Verdict::Stored));
    let kinds =
        |asked: Vec<Asked>| asked.into_iter().map(|(_, kind, known)| (kind, known)).collect::<Vec<_>>();
    let first = [DocumentKind::Controller, DocumentKind::ProtocolDocument, DocumentKind::StatusList];
    assert_eq!(kinds(world.servers.asked()), first.map(|kind| (kind, None)));
    assert_eq!(verdicts(minutes(29)), all(Verdict::Fresh, Verdict::Fresh, Verdict::Fresh));
    assert_eq!(kinds(world.servers.asked()), []);
    let known = Some(Validators { etag: Some(ETAG.to_owned()), last_modified: None });
    assert_eq!(verdicts(minutes(30)), all(Verdict::Unchanged, Verdict::Fresh, Verdict::Fresh));
    assert_eq!(kinds(world.servers.asked()), [(DocumentKind::StatusList, known.clone())]);
    world.servers.serve(LIST, vc(list(720, 0)));
    assert_eq!(verdicts(minutes(720)), all(Verdict::Stored, Verdict::Unchanged, Verdict::Fresh));
    let both = [(DocumentKind::Controller, known.clone()), (DocumentKind::StatusList, known)];
    assert_eq!(kinds(world.servers.asked()), both);
    assert_eq!(world.cache.pinned(&hash(&protocol)).unwrap().unwrap().octets, protocol);
}

#[test]
fn a_dry_run_asks_for_nothing_and_changes_nothing() {
    let world = with_list();
    let at = |now| dry_run(&world.cache, &plan_of_list(), now).unwrap().documents.remove(0).verdict;
    assert_eq!((at(minutes(29)), at(minutes(30))), (Verdict::Fresh, Verdict::Due));
    let all = plan_of_list().asking_for_all(true);
    assert_eq!(dry_run(&world.cache, &all, noon()).unwrap().documents[0].verdict, Verdict::Due);
    assert_eq!(world.servers.asked(), []);
}

#[test]
fn no_host_is_asked_for_more_than_two_at_a_time_and_all_for_no_more_than_eight() {
    let world = World::new();
    let urls: Vec<String> = (0..30).map(|n| format!("https://h{}.example/{n}", n % 5)).collect();
    let plan = urls.iter().fold(plan(), |plan, url| {
        plan.with_list(ListKey { issuer: key().controller().to_owned(), url: url.clone() })
    });
    assert_eq!(world.refresh(&plan, noon()).documents.len(), 30);
    assert_eq!(*world.servers.most.lock().unwrap(), (2, 8));
    assert_eq!(world.servers.asked().len(), 30);
}

#[test]
fn many_documents_of_one_host_do_not_keep_another_host_waiting() {
    let world = World::new();
    let list = |url: String| ListKey { issuer: key().controller().to_owned(), url };
    let plan = (0..32).fold(plan(), |plan, n| plan.with_list(list(format!("https://a-slow.example/{n}"))));
    let plan = (0..3).fold(plan, |plan, n| plan.with_list(list(format!("https://z.example/{n}"))));
    let plan = plan.with_controller(DID).with_controller("did:web:organisation.example:b");
    let plan = plan.with_protocol(PROTOCOL, hash(&graph("1")));
    world.refresh(&plan, noon());
    let asked: Vec<_> = world.servers.asked().into_iter().map(|(url, ..)| host(&url).to_owned()).collect();
    let last = asked.iter().rposition(|host| host == "z.example").unwrap();
    assert!(last < 10, "{asked:?}");
    let first = ["organisation.example", "organisation.example", "protocols.example"];
    assert_eq!(asked[..3], first, "what is missed most comes first");
}

#[test]
fn a_report_says_whether_anything_changed() {
    let line = |verdict, offered| Refreshed { url: LIST.into(), kind: None, hash: None, offered, verdict };
    let report = |verdict| RefreshReport { documents: vec![line(verdict, false)] };
    for verdict in [Verdict::Stored, Verdict::Unchanged, Verdict::Dropped] {
        assert!(report(verdict.clone()).changed() && !report(verdict).failed());
    }
    for verdict in [Verdict::Fresh, Verdict::RolledBack, Verdict::NotFetched(String::new())] {
        assert!(!report(verdict).changed());
    }
    let offered = RefreshReport { documents: vec![line(Verdict::RolledBack, true)] };
    assert!(report(Verdict::RolledBack).failed() && !offered.failed());
}

#[test]
fn a_cache_that_cannot_be_read_is_not_refreshed() {
    let world = World::new();
    std::fs::write(world.folder.join("stray"), "").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let servers = Arc::clone(&world.servers) as Arc<dyn Retrieve>;
    let error =
        runtime.block_on(refresh_with(servers, &world.cache, &plan_of_list(), noon(), MAX_TIME)).unwrap_err();
    assert!(error.what.ends_with("stray"));
    assert_eq!(world.servers.asked(), []);
}

#[test]
fn each_verdict_has_its_word_and_says_whether_it_failed() {
    let found = hash(&graph("1"));
    let text = || "why".to_owned();
    for (verdict, word, failed) in [
        (Verdict::Fresh, "FRESH", false),
        (Verdict::Due, "DUE", false),
        (Verdict::Stored, "STORED", false),
        (Verdict::Unchanged, "UNCHANGED", false),
        (Verdict::Dropped, "DROPPED", false),
        (Verdict::HashMismatch { found }, "HASH_MISMATCH", true),
        (Verdict::RolledBack, "ROLLED_BACK", true),
        (Verdict::Unfit(text()), "UNFIT", true),
        (Verdict::NotFetched(text()), "NOT_FETCHED", true),
        (Verdict::NotStored(text()), "NOT_STORED", true),
    ] {
        assert_eq!((verdict.as_str(), verdict.is_failure()), (word, failed));
        assert_eq!(verdict.detail().is_some(), failed, "{word}");
    }
}
