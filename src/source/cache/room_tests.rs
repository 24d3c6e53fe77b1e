//! Who makes room in a full cache, and who never does.

use super::*;
use std::collections::BTreeSet;

/// A cache in a folder that goes when the test ends.
struct Temporary(DocumentCache);

impl Temporary {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("writgate-room-{}", uuid::Uuid::new_v4()));
        Self(DocumentCache::create(&path).unwrap())
    }

    /// Puts a file into its place, of so many octets, without waiting for the disk.
    fn fill(&self, document: &CachedDocument, key: Key<'_>, octets: u64) {
        let header = file::header(document, key).unwrap();
        let path = self.0.place(key);
        fs::write(&path, format!("{header}\n")).unwrap();
        let length = fs::metadata(&path).unwrap().len();
        fs::File::options().write(true).open(&path).unwrap().set_len(length + octets).unwrap();
    }

    fn urls(&self, kind: FileKind) -> BTreeSet<String> {
        let files = self.0.files(kind).unwrap();
        files.iter().map(|path| file::about(path).unwrap().unwrap().url).collect()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.folder);
    }
}

fn document(url: &str, minute: i64, origin: Origin, octets: &[u8]) -> CachedDocument {
    let retrieved = "2026-12-01T12:00:00Z".parse::<Instant>().unwrap() + chrono::TimeDelta::minutes(minute);
    CachedDocument { origin, ..CachedDocument::new(url, "text/turtle", retrieved, octets.to_vec()) }
}

/// As papers have it: `/list/` is wanted, `/did/` is a controller's, anything else is of no use any more.
fn worth(url: &str) -> Worth {
    match url {
        _ if url.contains("/list/") => Worth::List,
        _ if url.contains("/did/") => Worth::Controller,
        _ => Worth::Nothing,
    }
}

fn put(cache: &Temporary, document: &CachedDocument) -> Result<Vec<String>, SourceError> {
    let put = cache.0.replace_within::<SourceError>(&document.url, Some(&worth), |_| Ok(document.clone()))?;
    Ok(put.into_iter().map(|displaced| displaced.url).collect())
}

#[test]
fn lists_of_long_ago_never_keep_out_what_is_wanted_now() {
    let cache = Temporary::new();
    for n in 0..MAX_DOCUMENTS {
        let (url, minute) = (format!("https://a.example/old/{n}"), i64::try_from(n).unwrap());
        cache.fill(&document(&url, minute, Origin::Fetched, b""), Key::Url(&url), 0);
    }
    let wanted = document("https://b.example/list/1", 0, Origin::Fetched, b"list");
    assert_eq!(put(&cache, &wanted), Ok(vec!["https://a.example/old/0".to_owned()]));
    assert_eq!(put(&cache, &wanted), Ok(vec![]), "it has its place");
    assert_eq!(cache.0.document(&wanted.url).unwrap(), Some(wanted));
}

#[test]
fn of_lists_that_are_wanted_the_largest_makes_room() {
    let cache = Temporary::new();
    let full = MAX_CACHE_BYTES >> 20;
    for n in 0..full {
        let url = format!("https://a.example/list/{n}");
        let origin = if n == 0 { Origin::Added } else { Origin::Fetched };
        let octets = if n == 7 { (1 << 20) + 1 } else { 1 << 20 };
        cache.fill(&document(&url, 0, origin, b""), Key::Url(&url), octets);
    }
    let small = document("https://b.example/list/1", 0, Origin::Fetched, b"a list of few octets");
    assert_eq!(put(&cache, &small), Ok(vec!["https://a.example/list/7".to_owned()]));
    let large = document("https://b.example/list/2", 0, Origin::Fetched, &[b' '; 1 << 20]);
    assert!(put(&cache, &large).unwrap_err().problem.contains("full"), "the others are no larger");
    let controller = document("https://b.example/did/1", 0, Origin::Fetched, &[b' '; 1 << 20]);
    assert_eq!(put(&cache, &controller).unwrap().len(), 1);
    assert!(cache.urls(FileKind::Document).contains("https://a.example/list/0"), "a person put it there");
}

#[test]
fn what_a_person_put_here_and_a_controllers_document_make_no_room() {
    let cache = Temporary::new();
    for n in 0..MAX_DOCUMENTS {
        let (url, origin) = match n % 2 {
            0 => (format!("https://a.example/did/{n}"), Origin::Fetched),
            _ => (format!("https://a.example/old/{n}"), Origin::Added),
        };
        cache.fill(&document(&url, 0, origin, b""), Key::Url(&url), 0);
    }
    for url in ["https://b.example/list/1", "https://b.example/did/1"] {
        let newcomer = document(url, 0, Origin::Fetched, b"");
        assert!(put(&cache, &newcomer).unwrap_err().problem.contains("full"), "{url}");
    }
    assert_eq!(cache.urls(FileKind::Document).len(), MAX_DOCUMENTS);
}

fn graph(number: usize) -> Vec<u8> {
    format!("<https://a.example/{number}> <https://a.example/p> \"o\" .").into_bytes()
}

fn hash_of(number: usize) -> ProtocolHash {
    let text = String::from_utf8(graph(number)).unwrap();
    ProtocolDocument::hash_of(&text, "text/turtle", &Limits::default()).unwrap()
}

fn protocol(host: &str, number: usize, origin: Origin) -> CachedDocument {
    let minute = i64::try_from(number).unwrap();
    document(&format!("https://{host}/{number}"), minute, origin, &graph(number))
}

fn pin(cache: &Temporary, host: &str, number: usize, wanted_by: WantedBy) -> Result<(), PinError> {
    let is_ours = |pin: &ProtocolHash| *pin == hash_of(0);
    let document = protocol(host, number, Origin::Fetched);
    cache.0.pin_within(&document, &hash_of(number), wanted_by, &is_ours)
}

fn fill_pins(cache: &Temporary, host: &str, numbers: std::ops::Range<usize>, origin: Origin) {
    for number in numbers {
        let hash = hash_of(number);
        cache.fill(&protocol(host, number, origin), Key::Pin(&hash), 0);
    }
}

#[test]
fn documents_that_peers_offered_never_keep_out_the_operators() {
    let cache = Temporary::new();
    fill_pins(&cache, "a.example", 0..MAX_PROTOCOL_DOCUMENTS, Origin::Fetched);
    pin(&cache, "b.example", 1_000, WantedBy::Operator).unwrap();
    let urls = cache.urls(FileKind::Protocol);
    assert_eq!(urls.len(), MAX_PROTOCOL_DOCUMENTS);
    assert!(urls.contains("https://a.example/0"), "the configuration names it");
    assert!(!urls.contains("https://a.example/1"), "the oldest of the others");
    assert_eq!(cache.0.pinned(&hash_of(1_000)).unwrap().unwrap().octets, graph(1_000));
}

#[test]
fn what_peers_offer_displaces_what_was_offered_at_the_same_host_first() {
    let cache = Temporary::new();
    // One of the operator's, and one host's share.
    fill_pins(&cache, "a.example", 0..1 + room::MAX_OFFERED_PER_HOST, Origin::Fetched);
    fill_pins(&cache, "b.example", 500..501, Origin::Fetched);
    pin(&cache, "a.example", 1_000, WantedBy::Peer).unwrap();
    let urls = cache.urls(FileKind::Protocol);
    assert_eq!(urls.len(), 2 + room::MAX_OFFERED_PER_HOST);
    assert!(urls.contains("https://a.example/0") && urls.contains("https://b.example/500"));
    assert!(!urls.contains("https://a.example/1") && urls.contains("https://a.example/1000"));
    // Beyond what is kept of all hosts together, the host that has the most.
    let others = room::MAX_OFFERED - 1 - room::MAX_OFFERED_PER_HOST;
    for n in 0..others {
        fill_pins(&cache, &format!("h{}.example", n / 31), 600 + n..601 + n, Origin::Fetched);
    }
    pin(&cache, "c.example", 2_000, WantedBy::Peer).unwrap();
    let urls = cache.urls(FileKind::Protocol);
    assert_eq!(urls.len(), 1 + room::MAX_OFFERED);
    assert!(!urls.contains("https://a.example/2") && urls.contains("https://b.example/500"));
}

#[test]
fn what_a_program_pinned_makes_no_room_for_an_offer() {
    let cache = Temporary::new();
    fill_pins(&cache, "a.example", 1..1 + MAX_PROTOCOL_DOCUMENTS, Origin::Added);
    for wanted_by in [WantedBy::Peer, WantedBy::Operator] {
        let full = pin(&cache, "a.example", 1_000, wanted_by);
        assert!(matches!(full, Err(PinError::Cache(error)) if error.problem.contains("full")));
    }
    assert_eq!(cache.urls(FileKind::Protocol).len(), MAX_PROTOCOL_DOCUMENTS);
}
