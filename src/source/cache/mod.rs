//! The cache of documents on disk.
//!
//! A folder of its own, with one file for each document. Its name is a digest, so that no URL and no peer can choose one:
//! the SHA-256 of the URL and `.document`, or, for a Protocol Document that was fetched, the digits of its pin and
//! `.protocol`. A URL may serve another document tomorrow; a pin is one document for good. The file is one line of JSON,
//! a line feed, and then the octets exactly as they were retrieved:
//!
//! ```json
//! {"format":"writgate-document-2","url":"https://issuer.example/status/1","mediaType":"application/vc",
//!  "retrieved":"2026-12-01T11:00:00Z","confirmed":"2026-12-01T11:30:00Z","origin":"fetched","etag":"\"7\"",
//!  "length":4711,"sha256":"..."}
//! ```
//!
//! (on one line.) `retrieved` is the instant from which the octets' life counts, and `confirmed` the last at which the URL
//! was known to serve them; `DocumentCache::put` and the refresh say what moves which. The file system's own times mean
//! nothing. `writgate-document-1` has no `confirmed`, `origin` and validators, and is read as well.
//!
//! A file is written beside its place (`.new-*`) and renamed into it, so a reader finds the old document or the new one,
//! whole. Writers take turns (`.lock`), whichever process they are of, so none decides on what another has replaced
//! meanwhile; what a crash left beside its place goes with the next write. Anything else in the folder is an error with its
//! name: what cannot be read is not passed over.

mod file;
mod offers;
mod room;
#[cfg(test)]
mod room_tests;
#[cfg(test)]
mod tests;

pub(super) use file::is_media_type;
pub use offers::OfferedDocument;
pub(super) use room::{Displaced, WantedBy, Worth, Worths};

use super::Validators;
use crate::limits::Limits;
use crate::protocol::{LoadError, ProtocolDocument, ProtocolHash};
use crate::request::Instant;
use file::{FileKind, Key};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// How names begin that are not in their place yet.
const UNFINISHED: &str = ".new-";
/// Whoever writes holds a lock on this file.
const LOCK: &str = ".lock";
/// Octets of one document: what a status list may have, which is the largest kind.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// Documents under their URL in one cache. They are all held in memory.
const MAX_DOCUMENTS: usize = 4_096;
/// Octets of all those documents together, for the same reason.
const MAX_CACHE_BYTES: u64 = 256 << 20;
/// Protocol Documents under their pin. Peers have a say in them, so they take no room from the others.
const MAX_PROTOCOL_DOCUMENTS: usize = 256;
/// Octets of all those together.
const MAX_PROTOCOL_BYTES: u64 = 64 << 20;

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

/// Who brought a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person, by `writgate source add`. It is never dropped.
    Added,
    /// The refresh. It is dropped when nothing wants it any more and it is too old to be of use.
    Fetched,
}

/// A document as it was retrieved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedDocument {
    /// Where from: https, in normal form, without a fragment.
    pub url: String,
    /// The media type that it came with.
    pub media_type: String,
    /// The instant from which its life counts: when its octets were had. For a status list that was fetched, when the
    /// first list of its `validFrom` was had.
    pub retrieved: Instant,
    /// The last instant at which its URL was known to serve these octets.
    pub confirmed: Instant,
    /// What the server is asked with.
    pub validators: Validators,
    /// Who brought it.
    pub origin: Origin,
    /// The octets, exactly.
    pub octets: Vec<u8>,
}

impl CachedDocument {
    /// A document that a person had from `url` at `retrieved`.
    pub fn new(
        url: impl Into<String>,
        media_type: impl Into<String>,
        retrieved: Instant,
        octets: Vec<u8>,
    ) -> Self {
        Self {
            url: url.into(),
            media_type: media_type.into(),
            retrieved,
            confirmed: retrieved,
            validators: Validators::default(),
            origin: Origin::Added,
            octets,
        }
    }
}

/// Why a document does not come under a pin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// Its graph hashes to something else (`HASH_MISMATCH`, HASH-2).
    #[error("the document's graph hashes to {found}, not to its pin")]
    HashMismatch {
        /// The hash of the graph as it was read.
        found: ProtocolHash,
    },
    /// It has no hash: it is no RDF that is read here.
    #[error("{0}")]
    Unreadable(String),
    /// The cache cannot hold it.
    #[error(transparent)]
    Cache(#[from] SourceError),
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
                let advice = "there is no such folder; `writgate source add` and `source refresh` make it";
                Err(SourceError::of(folder, advice))
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
        self.replace(&document.url, |held| match held {
            Some(held) if held.retrieved > document.retrieved => {
                Err(SourceError::new(&document.url, "was retrieved before the document that is held"))
            }
            _ => Ok(document.clone()),
        })
    }

    /// Puts what `next` makes of the document that is held under a URL in its place. No other writer comes between.
    ///
    /// # Errors
    /// Those of `next`, and [`SourceError`] as for [`DocumentCache::put`], and for a document that was confirmed before
    /// the one that is held.
    pub(crate) fn replace<E: From<SourceError>>(
        &self,
        url: &str,
        next: impl FnOnce(Option<&CachedDocument>) -> Result<CachedDocument, E>,
    ) -> Result<(), E> {
        self.replace_within(url, None, next).map(drop)
    }

    /// [`DocumentCache::replace`], where what was fetched makes room by its worth if the cache is full. Says what did.
    ///
    /// # Errors
    /// As for [`DocumentCache::replace`]. What made room is gone then too.
    pub(crate) fn replace_within<E: From<SourceError>>(
        &self,
        url: &str,
        worth: Option<Worths<'_>>,
        next: impl FnOnce(Option<&CachedDocument>) -> Result<CachedDocument, E>,
    ) -> Result<Vec<Displaced>, E> {
        let _turn = self.turn()?;
        let key = Key::Url(url);
        let held = self.held(key)?;
        let document = next(held.as_ref())?;
        if held.is_some_and(|held| held.confirmed > document.confirmed) {
            return Err(SourceError::new(url, "was confirmed before the document that is held").into());
        }
        let header = file::header(&document, key)?;
        let displaced = match worth {
            Some(worth) => self.make_room(&document, worth)?,
            None => Vec::new(),
        };
        self.write(FileKind::Document, key, &header, &document.octets)?;
        Ok(displaced)
    }

    /// Takes away the document of a URL, if it is still as `held`.
    ///
    /// # Errors
    /// [`SourceError`]
    pub(crate) fn remove(&self, held: &CachedDocument) -> Result<(), SourceError> {
        let _turn = self.turn()?;
        let key = Key::Url(&held.url);
        if self.held(key)?.as_ref() != Some(held) {
            return Ok(());
        }
        let place = self.place(key);
        fs::remove_file(&place)
            .and_then(|()| file::sync_folder(&self.folder))
            .map_err(|cause| SourceError::of(&place, cause))
    }

    /// The document that is held under a URL.
    ///
    /// # Errors
    /// [`SourceError`], for a file that is not as [`DocumentCache::put`] writes it.
    pub fn document(&self, url: &str) -> Result<Option<CachedDocument>, SourceError> {
        self.held(Key::Url(url))
    }

    /// All documents that are held under their URLs, in order of them.
    ///
    /// # Errors
    /// [`SourceError`] names the first file that is not as [`DocumentCache::put`] writes it, or the bound that the cache
    /// exceeds.
    pub fn documents(&self) -> Result<Vec<CachedDocument>, SourceError> {
        let (count, size) = self.extent(FileKind::Document)?;
        if count > MAX_DOCUMENTS || size > MAX_CACHE_BYTES.saturating_mul(2) {
            return Err(SourceError::of(&self.folder, "holds more documents than are read"));
        }
        let files = self.files(FileKind::Document)?;
        let mut documents = Vec::new();
        for path in files {
            documents.extend(file::read(&path)?);
        }
        documents.sort_by(|one, other| one.url.cmp(&other.url));
        Ok(documents)
    }

    /// Keeps a Protocol Document under its pin, for good. Durable when it returns.
    ///
    /// # Errors
    /// [`PinError`]: a graph that does not hash to the pin, and what keeps [`DocumentCache::put`] from a document. Then
    /// nothing has changed.
    pub fn pin(&self, document: &CachedDocument, hash: &ProtocolHash) -> Result<(), PinError> {
        self.pin_within(document, hash, WantedBy::Operator, &|_| true)
    }

    /// [`DocumentCache::pin`], where documents that peers offered make room: all that were fetched and are not `is_ours`.
    ///
    /// # Errors
    /// As for [`DocumentCache::pin`].
    pub(crate) fn pin_within(
        &self,
        document: &CachedDocument,
        hash: &ProtocolHash,
        wanted_by: WantedBy,
        is_ours: &dyn Fn(&ProtocolHash) -> bool,
    ) -> Result<(), PinError> {
        check_hash(document, hash)?;
        let key = Key::Pin(hash);
        let header = file::header(document, key)?;
        let _turn = self.turn()?;
        self.make_room_for_pin(document, hash, wanted_by, is_ours)?;
        Ok(self.write(FileKind::Protocol, key, &header, &document.octets)?)
    }

    /// The Protocol Document of a pin. Its hash is computed anew (HASH-1): what does not hash to its pin is no answer,
    /// whoever altered it.
    ///
    /// # Errors
    /// [`PinError`]
    pub fn pinned(&self, hash: &ProtocolHash) -> Result<Option<CachedDocument>, PinError> {
        let held = self.held(Key::Pin(hash))?;
        if let Some(document) = &held {
            check_hash(document, hash)?;
        }
        Ok(held)
    }

    /// The pins under which Protocol Documents are held, in order.
    ///
    /// # Errors
    /// [`SourceError`]
    pub fn pins(&self) -> Result<Vec<ProtocolHash>, SourceError> {
        let mut pins = Vec::new();
        for path in self.files(FileKind::Protocol)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let digits = name.strip_suffix(FileKind::Protocol.ending()).unwrap_or_default();
            let pin = format!("sha256:{digits}").parse();
            pins.push(pin.map_err(|_| SourceError::of(&path, "is no document of the cache"))?);
        }
        Ok(pins)
    }

    fn held(&self, key: Key<'_>) -> Result<Option<CachedDocument>, SourceError> {
        file::read(&self.place(key))
    }

    fn place(&self, key: Key<'_>) -> PathBuf {
        self.folder.join(key.file_name())
    }

    /// Puts a document's file into its place, where its kind has room for it.
    fn write(&self, kind: FileKind, key: Key<'_>, header: &str, octets: &[u8]) -> Result<(), SourceError> {
        let place = self.place(key);
        let in_its_place = fs::symlink_metadata(&place).ok().map(|found| found.len());
        let (most, most_bytes) = match kind {
            FileKind::Protocol => (MAX_PROTOCOL_DOCUMENTS, MAX_PROTOCOL_BYTES),
            FileKind::Document | FileKind::Offer => (MAX_DOCUMENTS, MAX_CACHE_BYTES),
        };
        let (count, size) = self.extent(kind)?;
        let more = u64::try_from(octets.len()).unwrap_or(u64::MAX);
        let size = size.saturating_sub(in_its_place.unwrap_or(0)).saturating_add(more);
        if (in_its_place.is_none() && count >= most) || size > most_bytes {
            return Err(SourceError::of(&self.folder, "the cache is full"));
        }
        self.write_file(&place, header, octets)
    }

    /// Writes a file and renames it into its place. For whoever has the turn.
    fn write_file(&self, place: &Path, line: &str, octets: &[u8]) -> Result<(), SourceError> {
        let unfinished = self.folder.join(format!("{UNFINISHED}{}", uuid::Uuid::new_v4()));
        let written = file::write(&unfinished, line.as_bytes(), octets)
            .and_then(|()| fs::rename(&unfinished, place))
            .and_then(|()| file::sync_folder(&self.folder));
        written.map_err(|cause| {
            // It is not in its place, so nobody reads it; should this fail, the next writer takes it away.
            let _ = fs::remove_file(&unfinished);
            SourceError::of(place, cause)
        })
    }

    /// Waits for the turn to write, which ends with what is returned (or with its process), and takes away what a crash
    /// left beside its place: nobody else is writing.
    fn turn(&self) -> Result<fs::File, SourceError> {
        let path = self.folder.join(LOCK);
        let problem = |cause: std::io::Error| SourceError::of(&path, cause);
        let file =
            fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(problem)?;
        file.lock().map_err(problem)?;
        for entry in fs::read_dir(&self.folder).map_err(|cause| SourceError::of(&self.folder, cause))? {
            let entry = entry.map_err(|cause| SourceError::of(&self.folder, cause))?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_file(entry.path()).map_err(|cause| SourceError::of(&entry.path(), cause))?;
            }
        }
        Ok(file)
    }

    /// The files of a kind that are in their places, in order of their names.
    fn files(&self, kind: FileKind) -> Result<Vec<PathBuf>, SourceError> {
        let problem = |cause: std::io::Error| SourceError::of(&self.folder, cause);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with(UNFINISHED) && name != LOCK && FileKind::of_name(&name) == kind {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }

    /// How many files of a kind there are, and their octets together.
    fn extent(&self, kind: FileKind) -> Result<(usize, u64), SourceError> {
        let files = self.files(kind)?;
        let mut size = 0u64;
        for path in &files {
            let found = file::if_there(path, fs::symlink_metadata(path))?;
            size = size.saturating_add(found.map_or(0, |found| found.len()));
        }
        Ok((files.len(), size))
    }
}

/// Whether a document's graph hashes to a pin, before anything else is made of it (SEC-11).
fn check_hash(document: &CachedDocument, hash: &ProtocolHash) -> Result<(), PinError> {
    let text = std::str::from_utf8(&document.octets)
        .map_err(|_| PinError::Unreadable("the document is not UTF-8".to_owned()))?;
    match ProtocolDocument::hash_of(text, &document.media_type, &Limits::default()) {
        Ok(found) if found == *hash => Ok(()),
        Ok(found) | Err(LoadError::HashMismatch { found }) => Err(PinError::HashMismatch { found }),
        Err(error) => Err(PinError::Unreadable(error.to_string())),
    }
}
