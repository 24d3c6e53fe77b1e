//! What the cache on disk takes, keeps and gives back.

use super::*;
use file::MAX_HEADER_BYTES;

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
    for url in
        ["https://a.example/../../etc/passwd", "file:///etc/passwd", "a\0b", "https://a.example/\n"]
    {
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
