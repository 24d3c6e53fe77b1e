//! The cache of documents on disk.
//!
//! A folder of its own, one file for each URL. The file's name is `h` + `.document`, h being the SHA-256 of the URL in
//! lower-case hexadecimal, so that no URL can choose a name. The file is one line of JSON, a line feed, and then the
//! octets exactly as they were retrieved:
//!
//! ```json
//! {"format":"writgate-document-1","url":"https://issuer.example/status/1","mediaType":"application/vc",
//!  "retrieved":"2026-12-01T11:30:00Z","length":4711,"sha256":"..."}
//! ```
//!
//! (on one line.) `retrieved` is the instant at which these octets were had from the URL; the file system's own times
//! mean nothing. A file is written beside its place (`.new-*`) and renamed into it, so a reader finds the old document
//! or the new one, whole. Anything else in the folder is an error with its name: what cannot be read is not passed over.

use super::address::is_document_url;
use crate::message::Digest;
use crate::request::Instant;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

const FORMAT: &str = "writgate-document-1";
const ENDING: &str = ".document";
/// How names begin that are not in their place yet.
const UNFINISHED: &str = ".new-";
/// Octets of one document: what a status list may have, which is the largest kind.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// Octets of the line before the document. URL and media type are bounded, the rest is fixed.
const MAX_HEADER_BYTES: usize = 8 << 10;
const MAX_MEDIA_TYPE_BYTES: usize = 256;
/// Documents in one cache. They are all held in memory.
const MAX_DOCUMENTS: usize = 4_096;
/// Octets of all documents together, for the same reason.
const MAX_CACHE_BYTES: u64 = 256 << 20;

/// Why a cache, a document of it or a revocation feed cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {problem}")]
pub struct SourceError {
    /// The file, folder or URL.
    pub what: String,
    /// What is wrong with it.
    pub problem: String,
}

impl SourceError {
    pub(crate) fn new(what: impl Into<String>, problem: impl ToString) -> Self {
        Self { what: what.into(), problem: problem.to_string() }
    }

    fn of(path: &Path, problem: impl ToString) -> Self {
        Self::new(path.display().to_string(), problem)
    }
}

/// A document as it was retrieved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedDocument {
    /// Where from: https, in normal form, without a fragment.
    pub url: String,
    /// The media type that it came with.
    pub media_type: String,
    /// When.
    pub retrieved: Instant,
    /// The octets, exactly.
    pub octets: Vec<u8>,
}

/// The line before the octets.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Header {
    format: String,
    url: String,
    media_type: String,
    retrieved: Instant,
    length: u64,
    sha256: Digest,
}

/// A folder of retrieved documents.
#[derive(Debug, Clone)]
pub struct DocumentCache {
    folder: PathBuf,
}

impl DocumentCache {
    /// The cache in an existing folder.
    ///
    /// # Errors
    /// [`SourceError`]: no such folder.
    pub fn open(folder: &Path) -> Result<Self, SourceError> {
        match fs::metadata(folder) {
            Ok(found) if found.is_dir() => Ok(Self { folder: folder.to_path_buf() }),
            Ok(_) => Err(SourceError::of(folder, "is not a folder")),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                Err(SourceError::of(folder, "there is no such folder; `writgate source add` makes it"))
            }
            Err(cause) => Err(SourceError::of(folder, cause)),
        }
    }

    /// The cache in a folder that is made where there is none.
    ///
    /// # Errors
    /// [`SourceError`]
    pub fn create(folder: &Path) -> Result<Self, SourceError> {
        fs::create_dir_all(folder).map_err(|cause| SourceError::of(folder, cause))?;
        Self::open(folder)
    }

    /// Puts a document in the place of the one that its URL had. Durable when it returns.
    ///
    /// # Errors
    /// [`SourceError`]: a URL or media type that no document has here, a document that is too large or was retrieved
    /// before the one that is there, a full cache, or a file system that fails. Then nothing has changed.
    pub fn put(&self, document: &CachedDocument) -> Result<(), SourceError> {
        let CachedDocument { url, media_type, retrieved, octets } = document;
        check(url, media_type, octets)?;
        let place = self.place(url);
        let in_its_place = match fs::symlink_metadata(&place) {
            Ok(found) => Some(found.len()),
            Err(_) => None,
        };
        if in_its_place.is_some() && read_file(&place)?.retrieved > *retrieved {
            return Err(SourceError::new(url, "was retrieved before the document that is held"));
        }
        let (count, size) = self.extent()?;
        let full = in_its_place.is_none() && count >= MAX_DOCUMENTS;
        let more = u64::try_from(octets.len()).unwrap_or(u64::MAX);
        if full || size.saturating_sub(in_its_place.unwrap_or(0)).saturating_add(more) > MAX_CACHE_BYTES {
            return Err(SourceError::of(&self.folder, "the cache is full"));
        }
        let header = Header {
            format: FORMAT.to_owned(),
            url: url.clone(),
            media_type: media_type.clone(),
            retrieved: *retrieved,
            length: more,
            sha256: Digest::of(octets),
        };
        let header = serde_json::to_string(&header).map_err(|cause| SourceError::new(url, cause))?;
        let unfinished = self.folder.join(format!("{UNFINISHED}{}", uuid::Uuid::new_v4()));
        let written = write_file(&unfinished, header.as_bytes(), octets)
            .and_then(|()| fs::rename(&unfinished, &place))
            .and_then(|()| sync_folder(&self.folder));
        written.map_err(|cause| {
            // It is not in its place, so nobody reads it; should this fail, a reader passes it over.
            let _ = fs::remove_file(&unfinished);
            SourceError::of(&place, cause)
        })
    }

    /// All documents, in order of their URLs.
    ///
    /// # Errors
    /// [`SourceError`] names the first file that is not as [`DocumentCache::put`] writes it, or the bound that the cache
    /// exceeds.
    pub fn documents(&self) -> Result<Vec<CachedDocument>, SourceError> {
        let (count, size) = self.extent()?;
        if count > MAX_DOCUMENTS || size > MAX_CACHE_BYTES.saturating_mul(2) {
            return Err(SourceError::of(&self.folder, "holds more documents than are read"));
        }
        let mut documents =
            self.files()?.iter().map(|path| read_file(path)).collect::<Result<Vec<_>, _>>()?;
        documents.sort_by(|one, other| one.url.cmp(&other.url));
        Ok(documents)
    }

    fn place(&self, url: &str) -> PathBuf {
        self.folder.join(file_name(url))
    }

    /// The files that are in their places, in order of their names.
    fn files(&self) -> Result<Vec<PathBuf>, SourceError> {
        let problem = |cause: std::io::Error| SourceError::of(&self.folder, cause);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            if !entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }

    /// How many files there are, and their octets together.
    fn extent(&self) -> Result<(usize, u64), SourceError> {
        let files = self.files()?;
        let mut size = 0u64;
        for path in &files {
            let length = fs::symlink_metadata(path).map_err(|cause| SourceError::of(path, cause))?.len();
            size = size.saturating_add(length);
        }
        Ok((files.len(), size))
    }
}

fn file_name(url: &str) -> String {
    format!("{}{ENDING}", Digest::of(url))
}

/// What holds of every document, whoever puts it here.
fn check(url: &str, media_type: &str, octets: &[u8]) -> Result<(), SourceError> {
    if !is_document_url(url) {
        return Err(SourceError::new(
            url,
            "is not an https URL in normal form, without a fragment, of a host with a name",
        ));
    }
    if !is_media_type(media_type) {
        return Err(SourceError::new(url, "has a media type that is none"));
    }
    if octets.len() > MAX_DOCUMENT_BYTES {
        return Err(SourceError::new(url, "is larger than 1 MiB"));
    }
    Ok(())
}

/// `type/subtype`, with whatever printable parameters follow.
pub(super) fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&octet))
    };
    text.len() <= MAX_MEDIA_TYPE_BYTES
        && text.bytes().all(|octet| matches!(octet, b' '..=b'~'))
        && essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

/// Reads one file of the cache, and holds it to its header and its name.
fn read_file(path: &Path) -> Result<CachedDocument, SourceError> {
    let problem = |problem: &str| SourceError::of(path, problem);
    let found = fs::symlink_metadata(path).map_err(|cause| SourceError::of(path, cause))?;
    if !found.is_file() {
        return Err(problem("is no document of the cache"));
    }
    let bound = u64::try_from(MAX_HEADER_BYTES + MAX_DOCUMENT_BYTES + 1).unwrap_or(u64::MAX);
    let mut octets = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(bound).read_to_end(&mut octets))
        .map_err(|cause| SourceError::of(path, cause))?;
    let end = octets
        .iter()
        .take(MAX_HEADER_BYTES)
        .position(|octet| *octet == b'\n')
        .ok_or_else(|| problem("does not begin with the line of a document of the cache"))?;
    let body = octets.split_off(end + 1);
    let header: Header = serde_json::from_slice(&octets)
        .map_err(|cause| SourceError::of(path, format!("its first line is not readable: {cause}")))?;
    if header.format != FORMAT {
        return Err(problem("is of another format than this version reads"));
    }
    check(&header.url, &header.media_type, &body)?;
    if u64::try_from(body.len()).ok() != Some(header.length) || Digest::of(&body) != header.sha256 {
        return Err(problem("holds other octets than its first line says"));
    }
    if path.file_name().is_none_or(|name| name != file_name(&header.url).as_str()) {
        return Err(problem("has another name than its URL's"));
    }
    Ok(CachedDocument {
        url: header.url,
        media_type: header.media_type,
        retrieved: header.retrieved,
        octets: body,
    })
}

fn write_file(path: &Path, header: &[u8], octets: &[u8]) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(header)?;
    file.write_all(b"\n")?;
    file.write_all(octets)?;
    file.sync_all()
}

/// A rename is durable once its folder is.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://issuer.example/status/1";

    /// A cache in a folder that goes when the test ends.
    struct Temporary(DocumentCache);

    impl Temporary {
        fn new() -> Self {
            let path = std::env::temp_dir().join(format!("writgate-cache-{}", uuid::Uuid::new_v4()));
            Self(DocumentCache::create(&path).unwrap())
        }

        fn file(&self) -> PathBuf {
            self.0.place(URL)
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
        CachedDocument {
            url: URL.to_owned(),
            media_type: "application/vc; charset=utf-8".to_owned(),
            retrieved: at("2026-12-01T11:30:00.000000001Z"),
            octets: b"\r\n{ }\n\xff\0".to_vec(),
        }
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
        let newer = CachedDocument { retrieved: at("2026-12-01T12:00:00Z"), octets: vec![1], ..document() };
        cache.0.put(&newer).unwrap();
        assert_eq!(cache.0.documents().unwrap(), std::slice::from_ref(&newer));
        let error = cache.0.put(&document()).unwrap_err();
        assert!(error.problem.contains("before"), "{error}");
        assert_eq!(cache.0.documents().unwrap(), [newer]);
        let names: Vec<_> = cache.0.files().unwrap();
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
        for path in cache.0.files().unwrap() {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert_eq!(name.len(), 64 + ENDING.len());
            assert!(name.strip_suffix(ENDING).unwrap().bytes().all(|octet| octet.is_ascii_hexdigit()));
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
            ("writgate-document-1", "writgate-document-2", "another format"),
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
}
