//! What the cache on disk takes, keeps and gives back.

use super::file::MAX_HEADER_BYTES;
use super::offers::MAX_OFFERS;
use super::*;
use crate::message::Digest;

const URL: &str = "https://issuer.example/status/1";

/// A cache in a folder that goes when the test ends.
struct Temporary(DocumentCache);

impl Temporary {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("writgate-cache-{}", uuid::Uuid::new_v4()));
        Self(DocumentCache::create(&path).unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.place(Key::Url(URL))
    }

    #[track_caller]
    fn unreadable(&self, words: &str) {
        let error = self.0.documents().unwrap_err();
        assert!(error.problem.contains(words), "{error}");
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.folder);
    }
}

fn at(text: &str) -> Instant {
    text.parse().unwrap()
}

fn document() -> CachedDocument {
    let retrieved = at("2026-12-01T11:30:00.000000001Z");
    CachedDocument::new(URL, "application/vc; charset=utf-8", retrieved, b"\r\n{ }\n\xff\0".to_vec())
}

#[test]
fn a_document_comes_back_to_the_octet() {
    let cache = Temporary::new();
    let second = CachedDocument { url: "https://a.example/".into(), octets: vec![], ..document() };
    cache.0.put(&document()).unwrap();
    cache.0.put(&second).unwrap();
    assert_eq!(cache.0.documents().unwrap(), [second, document()]);
}

#[test]
fn a_newer_document_takes_the_place_of_an_older_one_and_never_the_reverse() {
    let cache = Temporary::new();
    cache.0.put(&document()).unwrap();
    let newer = at("2026-12-01T12:00:00Z");
    let newer = CachedDocument { retrieved: newer, confirmed: newer, octets: vec![1], ..document() };
    cache.0.put(&newer).unwrap();
    assert_eq!(cache.0.documents().unwrap(), std::slice::from_ref(&newer));
    let error = cache.0.put(&document()).unwrap_err();
    assert!(error.problem.contains("before"), "{error}");
    assert_eq!(cache.0.documents().unwrap(), [newer]);
    let names: Vec<_> = cache.0.files(FileKind::Document).unwrap();
    assert_eq!(names.len(), 1, "nothing is left beside it");
}

#[test]
fn the_time_of_retrieval_is_the_headers_and_not_the_files() {
    let cache = Temporary::new();
    cache.0.put(&document()).unwrap();
    let file = fs::File::options().write(true).open(cache.file()).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(cache.0.documents().unwrap(), [document()]);
}

#[test]
fn no_url_chooses_its_file_name() {
    let cache = Temporary::new();
    for url in ["https://a.example/../../etc/passwd", "file:///etc/passwd", "a\0b", "https://a.example/\n"] {
        assert!(cache.0.put(&CachedDocument { url: url.into(), ..document() }).is_err(), "{url:?}");
    }
    cache.0.put(&CachedDocument { url: "https://a.example/b%2Ac".into(), ..document() }).unwrap();
    for path in cache.0.files(FileKind::Document).unwrap() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(name.len(), 64 + ".document".len());
        assert!(name.strip_suffix(".document").unwrap().bytes().all(|octet| octet.is_ascii_hexdigit()));
    }
}

#[test]
fn media_types_and_sizes_are_checked() {
    let cache = Temporary::new();
    for media_type in ["", "text", "/", "text/", "text/turtle\n", "text/tur tle", "text/türtle"] {
        let document = CachedDocument { media_type: media_type.into(), ..document() };
        assert!(cache.0.put(&document).is_err(), "{media_type:?}");
    }
    let sized = |length| CachedDocument { octets: vec![b' '; length], ..document() };
    cache.0.put(&sized(MAX_DOCUMENT_BYTES)).unwrap();
    assert!(cache.0.put(&sized(MAX_DOCUMENT_BYTES + 1)).unwrap_err().problem.contains("larger"));
    assert_eq!(cache.0.documents().unwrap(), [sized(MAX_DOCUMENT_BYTES)]);
}

#[test]
fn a_full_cache_takes_no_further_document() {
    let cache = Temporary::new();
    for n in 0..MAX_DOCUMENTS {
        fs::write(cache.0.folder.join(format!("{n}")), "").unwrap();
    }
    assert!(cache.0.put(&document()).unwrap_err().problem.contains("full"));
    fs::write(cache.0.folder.join("one-more"), "").unwrap();
    cache.unreadable("more documents");
}

#[test]
fn what_was_not_put_here_is_named_and_not_passed_over() {
    let cache = Temporary::new();
    let stray = cache.0.folder.join("status.json");
    fs::write(&stray, "{}").unwrap();
    let error = cache.0.documents().unwrap_err();
    assert!(error.what.contains("status.json"), "{error}");
    fs::remove_file(&stray).unwrap();
    fs::create_dir(&stray).unwrap();
    cache.unreadable("no document");
    fs::remove_dir(&stray).unwrap();
    // What a crash left half written was never in its place.
    fs::write(cache.0.folder.join(".new-1"), "half").unwrap();
    assert_eq!(cache.0.documents().unwrap(), []);
}

#[test]
fn an_altered_file_is_not_read() {
    for (from, to, words) in [
        ("writgate-document-2", "writgate-document-1", "not of its format"),
        ("writgate-document-2", "writgate-document-3", "another format"),
        ("{ }", "{x}", "other octets"),
        ("{ }", "{  }", "other octets"),
        ("status/1", "status/2", "another name"),
        ("\"url\"", "\"more\":1,\"url\"", "first line"),
        ("\"url\"", "\"url\":\"https://a.example/\",\"url\"", "first line"),
        ("https:", "http:", "https URL"),
        ("application/vc", "application vc", "media type"),
    ] {
        let cache = Temporary::new();
        cache.0.put(&CachedDocument { octets: b"{ }".to_vec(), ..document() }).unwrap();
        let text = fs::read_to_string(cache.file()).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(cache.file(), text.replacen(from, to, 1)).unwrap();
        cache.unreadable(words);
    }
    let cache = Temporary::new();
    fs::write(cache.file(), "x".repeat(MAX_HEADER_BYTES + 1)).unwrap();
    cache.unreadable("begin with");
}

#[test]
fn a_cache_is_an_existing_folder() {
    let cache = Temporary::new();
    assert!(DocumentCache::open(&cache.0.folder.join("none")).is_err());
    fs::write(cache.0.folder.join("file"), "").unwrap();
    assert!(DocumentCache::open(&cache.0.folder.join("file")).is_err());
    assert!(DocumentCache::open(&cache.0.folder).is_ok());
}

fn graph(name: &str) -> CachedDocument {
    let text = format!("<https://a.example/{name}> <https://a.example/p> \"o\" .");
    CachedDocument::new("https://a.example/p.ttl", "text/turtle", document().retrieved, text.into_bytes())
}

fn hash_of(document: &CachedDocument) -> ProtocolHash {
    let text = std::str::from_utf8(&document.octets).unwrap();
    ProtocolDocument::hash_of(text, &document.media_type, &Limits::default()).unwrap()
}

#[test]
fn validators_and_confirmation_come_back_and_what_could_not_be_sent_back_does_not() {
    let cache = Temporary::new();
    let with = |etag: &str, last_modified: &str| CachedDocument {
        confirmed: at("2026-12-01T11:45:00Z"),
        validators: Validators { etag: Some(etag.into()), last_modified: Some(last_modified.into()) },
        origin: Origin::Fetched,
        ..document()
    };
    let date = "Tue, 01 Dec 2026 10:00:00 GMT";
    let good = with("\"7\"", date);
    cache.0.put(&good).unwrap();
    assert_eq!(cache.0.document(URL).unwrap(), Some(good));
    let long = format!("\"{}\"", "7".repeat(300));
    for (etag, last_modified, kept) in [
        (long.as_str(), date, (None, Some(date.to_owned()))),
        ("\"7\"\r\nX: y", date, (None, Some(date.to_owned()))),
        ("\"7\"", "yesterday", (Some("\"7\"".to_owned()), None)),
    ] {
        cache.0.put(&with(etag, last_modified)).unwrap();
        let held = cache.0.document(URL).unwrap().unwrap();
        assert_eq!((held.validators.etag, held.validators.last_modified), kept);
    }
    cache.0.put(&with("\"7\"", date)).unwrap();
    let text = fs::read_to_string(cache.file())
        .unwrap_or_else(|_| String::from_utf8_lossy(&fs::read(cache.file()).unwrap()).into_owned());
    assert!(text.contains("\"origin\":\"fetched\""), "{text}");
}

#[test]
fn a_file_with_a_validator_that_is_none_is_not_read() {
    let cache = Temporary::new();
    let validators = Validators { etag: Some("\"7\"".into()), last_modified: None };
    cache.0.put(&CachedDocument { octets: b"{ }".to_vec(), validators, ..document() }).unwrap();
    let text = fs::read_to_string(cache.file()).unwrap();
    fs::write(cache.file(), text.replace("\"\\\"7\\\"\"", "\"7\"")).unwrap();
    cache.unreadable("validator");
}

#[test]
fn a_document_of_the_first_format_is_read_as_confirmed_when_it_was_retrieved() {
    let cache = Temporary::new();
    let octets = "{ }";
    let line = format!(
        "{{\"format\":\"writgate-document-1\",\"url\":\"{URL}\",\"mediaType\":\"application/vc\",\
         \"retrieved\":\"2026-12-01T11:30:00Z\",\"length\":3,\"sha256\":\"{}\"}}\n",
        Digest::of(octets)
    );
    fs::write(cache.file(), format!("{line}{octets}")).unwrap();
    let retrieved = at("2026-12-01T11:30:00Z");
    let expected = CachedDocument::new(URL, "application/vc", retrieved, octets.into());
    assert_eq!(cache.0.documents().unwrap(), [expected]);
}

#[test]
fn what_was_confirmed_later_is_not_replaced_by_what_was_confirmed_before() {
    let cache = Temporary::new();
    let held = CachedDocument { confirmed: at("2026-12-01T12:00:00Z"), ..document() };
    cache.0.put(&held).unwrap();
    let earlier = CachedDocument { confirmed: at("2026-12-01T11:59:59Z"), octets: vec![1], ..document() };
    let replaced = cache.0.replace::<SourceError>(URL, |_| Ok(earlier));
    assert!(replaced.unwrap_err().problem.contains("confirmed before"));
    assert_eq!(cache.0.documents().unwrap(), [held]);
    let never = CachedDocument { confirmed: at("2026-12-01T11:00:00Z"), ..document() };
    assert!(cache.0.put(&never).is_err(), "confirmed before it was retrieved");
}

#[test]
fn a_protocol_document_is_kept_under_its_pin_and_under_no_other() {
    let cache = Temporary::new();
    let (one, two) = (graph("1"), graph("2"));
    cache.0.pin(&one, &hash_of(&one)).unwrap();
    assert_eq!(cache.0.pinned(&hash_of(&one)).unwrap(), Some(one.clone()));
    assert_eq!(cache.0.pinned(&hash_of(&two)).unwrap(), None);
    let mismatch = PinError::HashMismatch { found: hash_of(&one) };
    assert_eq!(cache.0.pin(&one, &hash_of(&two)), Err(mismatch));
    assert_eq!(cache.0.pinned(&hash_of(&two)).unwrap(), None, "nothing is stored");
    // One URL serves another document now: both are kept, and neither is a document of its URL.
    cache.0.pin(&two, &hash_of(&two)).unwrap();
    assert_eq!(cache.0.pins().unwrap().len(), 2);
    assert_eq!(cache.0.documents().unwrap(), []);
    let html = CachedDocument { media_type: "text/html".into(), ..one.clone() };
    assert!(matches!(cache.0.pin(&html, &hash_of(&one)), Err(PinError::Unreadable(_))));
    let octets = CachedDocument { octets: vec![0xff], ..one.clone() };
    assert!(matches!(cache.0.pin(&octets, &hash_of(&one)), Err(PinError::Unreadable(_))));
}

#[test]
fn the_hash_of_a_pinned_document_is_computed_anew() {
    let cache = Temporary::new();
    let (one, two) = (graph("1"), graph("2"));
    cache.0.pin(&one, &hash_of(&one)).unwrap();
    // A file that is whole, under the name of another pin.
    let place = cache.0.place(Key::Pin(&hash_of(&one)));
    let other = fs::read_to_string(&place).unwrap();
    let other = other.replace(hash_of(&one).as_str(), hash_of(&two).as_str());
    fs::write(cache.0.place(Key::Pin(&hash_of(&two))), other).unwrap();
    let found = hash_of(&one);
    assert_eq!(cache.0.pinned(&hash_of(&two)), Err(PinError::HashMismatch { found }));
    fs::write(cache.0.folder.join("short.protocol"), "").unwrap();
    assert!(cache.0.pins().is_err());
}

#[test]
fn pinned_documents_have_bounds_of_their_own() {
    let cache = Temporary::new();
    for n in 0..MAX_PROTOCOL_DOCUMENTS {
        fs::write(cache.0.folder.join(format!("{n}.protocol")), "").unwrap();
    }
    let full = cache.0.pin(&graph("1"), &hash_of(&graph("1")));
    assert!(matches!(full, Err(PinError::Cache(error)) if error.problem.contains("full")));
    cache.0.put(&document()).unwrap();
    assert_eq!(cache.0.documents().unwrap(), [document()]);
}

#[test]
fn what_a_crash_left_goes_with_the_next_write() {
    let cache = Temporary::new();
    cache.0.put(&document()).unwrap();
    // Between writing and renaming: whole, and in nobody's place.
    let left = cache.0.folder.join(".new-1");
    fs::copy(cache.file(), &left).unwrap();
    assert_eq!(cache.0.documents().unwrap(), [document()]);
    cache.0.put(&document()).unwrap();
    assert!(!left.exists());
    assert_eq!(cache.0.documents().unwrap(), [document()]);
}

#[test]
fn writers_take_turns() {
    let cache = Temporary::new();
    let turn = cache.0.turn().unwrap();
    let other = DocumentCache::open(&cache.0.folder).unwrap();
    let (done, waited) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        other.put(&document()).unwrap();
        done.send(()).unwrap();
    });
    let early = waited.recv_timeout(std::time::Duration::from_millis(100));
    assert!(early.is_err() && cache.0.documents().unwrap().is_empty());
    drop(turn);
    waited.recv().unwrap();
    writer.join().unwrap();
    assert_eq!(cache.0.documents().unwrap(), [document()]);
}

#[test]
fn a_document_is_removed_only_as_it_was_seen() {
    let cache = Temporary::new();
    cache.0.put(&document()).unwrap();
    let later = at("2026-12-01T12:00:00Z");
    let newer = CachedDocument { retrieved: later, confirmed: later, ..document() };
    cache.0.put(&newer).unwrap();
    cache.0.remove(&document()).unwrap();
    assert_eq!(cache.0.documents().unwrap(), std::slice::from_ref(&newer));
    cache.0.remove(&newer).unwrap();
    cache.0.remove(&newer).unwrap();
    assert_eq!(cache.0.documents().unwrap(), []);
}

fn offer(host: &str, number: u32) -> OfferedDocument {
    OfferedDocument {
        url: format!("https://{host}/{number}"),
        hash: hash_of(&graph("1")),
        offered: at("2026-12-01T12:00:00Z") + chrono::TimeDelta::seconds(number.into()),
    }
}

#[test]
fn an_offer_is_queued_once_and_a_crash_does_not_empty_the_queue() {
    let cache = Temporary::new();
    cache.0.queue_offer(&offer("a.example", 1)).unwrap();
    cache
        .0
        .queue_offer(&OfferedDocument { offered: at("2026-12-02T12:00:00Z"), ..offer("a.example", 1) })
        .unwrap();
    let again = DocumentCache::open(&cache.0.folder).unwrap();
    assert_eq!(again.offered().unwrap(), [offer("a.example", 1)], "when it was first offered");
    assert_eq!(cache.0.documents().unwrap(), []);
    again.forget_offer(&offer("a.example", 1)).unwrap();
    again.forget_offer(&offer("a.example", 1)).unwrap();
    assert_eq!(cache.0.offered().unwrap(), []);
    assert!(
        cache
            .0
            .queue_offer(&OfferedDocument { url: "https://10.0.0.1/p".into(), ..offer("a.example", 1) })
            .is_err()
    );
}

#[test]
fn offers_are_few_and_the_oldest_makes_room_first_of_its_own_host() {
    let cache = Temporary::new();
    let mut number = 0;
    for host in 0..MAX_OFFERS / offers::MAX_OFFERS_PER_HOST {
        for _ in 0..offers::MAX_OFFERS_PER_HOST {
            cache.0.queue_offer(&offer(&format!("h{host}.example"), number)).unwrap();
            number += 1;
        }
    }
    let urls = || cache.0.offered().unwrap().into_iter().map(|offer| offer.url).collect::<Vec<_>>();
    assert_eq!(urls().len(), MAX_OFFERS);
    // A host that is full displaces what it offered itself, although another's is older.
    cache.0.queue_offer(&offer("h3.example", 1000)).unwrap();
    assert!(urls().len() == MAX_OFFERS && urls().contains(&"https://h0.example/0".to_owned()));
    assert!(!urls().contains(&"https://h3.example/24".to_owned()), "{:?}", urls());
    // A further host displaces the oldest of all.
    cache.0.queue_offer(&offer("new.example", 1001)).unwrap();
    assert!(urls().len() == MAX_OFFERS && !urls().contains(&"https://h0.example/0".to_owned()));
}

#[test]
fn an_altered_offer_is_named() {
    for (from, to) in [
        ("writgate-offer-1", "writgate-offer-2"),
        ("a.example", "b.example"),
        ("sha256:", "sha512:"),
        ("\"url\"", "\"more\":1,\"url\""),
    ] {
        let cache = Temporary::new();
        cache.0.queue_offer(&offer("a.example", 1)).unwrap();
        let file = cache.0.files(FileKind::Offer).unwrap().remove(0);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
        assert!(cache.0.offered().unwrap_err().what.ends_with(".offer"), "{from}");
    }
}
