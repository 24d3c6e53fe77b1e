//! One file of the cache: its name, its first line, and how it comes into its place.

use super::{CachedDocument, MAX_DOCUMENT_BYTES, Origin, SourceError};
use crate::message::Digest;
use crate::protocol::ProtocolHash;
use crate::request::Instant;
use crate::source::Validators;
use crate::source::address::is_document_url;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

const FORMAT: &str = "writgate-document-2";
/// Before there were validators: a document was put there by hand, and confirmed when it was retrieved.
const FIRST_FORMAT: &str = "writgate-document-1";
/// Octets of the line before the document. URL, media type and validators are bounded, the rest is fixed.
pub(super) const MAX_HEADER_BYTES: usize = 8 << 10;
const MAX_MEDIA_TYPE_BYTES: usize = 256;
/// What a document is filed under.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key<'a> {
    /// Its URL: what is there now replaces what was there.
    Url(&'a str),
    /// Its pin: it is that document for good, whatever its URL serves later.
    Pin(&'a ProtocolHash),
}

impl Key<'_> {
    /// No URL and no peer chooses a name: it is a digest.
    pub(super) fn file_name(&self) -> String {
        match self {
            Self::Url(url) => format!("{}{}", Digest::of(url), FileKind::Document.ending()),
            Self::Pin(hash) => {
                let digits = hash.as_str().strip_prefix("sha256:").unwrap_or_default();
                format!("{digits}{}", FileKind::Protocol.ending())
            }
        }
    }
}

/// What a file's name says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A document under its URL.
    Document,
    /// A Protocol Document under its pin.
    Protocol,
    /// A Protocol Document that a peer offered and that is to be fetched.
    Offer,
}

impl FileKind {
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Document => ".document",
            Self::Protocol => ".protocol",
            Self::Offer => ".offer",
        }
    }

    /// A name with no known ending is taken for a document, and then named as what it is not.
    pub(super) fn of_name(name: &str) -> Self {
        let of = |kind: &Self| name.ends_with(kind.ending());
        [Self::Protocol, Self::Offer].into_iter().find(of).unwrap_or(Self::Document)
    }
}

/// The line before the octets.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Header {
    format: String,
    url: String,
    media_type: String,
    retrieved: Instant,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_hash: Option<String>,
    length: u64,
    sha256: Digest,
}

/// The first line of a document's file.
///
/// # Errors
/// [`SourceError`], for a document that the cache does not hold.
pub(super) fn header(document: &CachedDocument, key: Key<'_>) -> Result<String, SourceError> {
    let CachedDocument { url, media_type, retrieved, confirmed, validators, origin, octets } = document;
    check(url, media_type, octets)?;
    if confirmed < retrieved {
        return Err(SourceError::new(url, "was confirmed before it was retrieved"));
    }
    let header = Header {
        format: FORMAT.to_owned(),
        url: url.clone(),
        media_type: media_type.clone(),
        retrieved: *retrieved,
        confirmed: Some(*confirmed),
        origin: Some(*origin),
        // What could not be sent back is not kept: the next question is then one for the whole document.
        etag: usable(Validators { etag: validators.etag.clone(), last_modified: None }).etag,
        last_modified: usable(Validators { etag: None, last_modified: validators.last_modified.clone() })
            .last_modified,
        protocol_hash: match key {
            Key::Url(_) => None,
            Key::Pin(hash) => Some(hash.as_str().to_owned()),
        },
        length: u64::try_from(octets.len()).unwrap_or(u64::MAX),
        sha256: Digest::of(octets),
    };
    serde_json::to_string(&header).map_err(|cause| SourceError::new(url, cause))
}

fn usable(validators: Validators) -> Validators {
    if validators.are_valid() { validators } else { Validators::default() }
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
pub(in crate::source) fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&octet))
    };
    text.len() <= MAX_MEDIA_TYPE_BYTES
        && text.bytes().all(|octet| matches!(octet, b' '..=b'~'))
        && essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

/// Reads one document of the cache, where it is there, and holds it to its first line and its name.
///
/// # Errors
/// [`SourceError`] names the file.
pub(super) fn read(path: &Path) -> Result<Option<CachedDocument>, SourceError> {
    let problem = |problem: &str| SourceError::of(path, problem);
    let Some(mut octets) = read_bounded(path, MAX_HEADER_BYTES + MAX_DOCUMENT_BYTES + 1)? else {
        return Ok(None);
    };
    let end = octets
        .iter()
        .take(MAX_HEADER_BYTES)
        .position(|octet| *octet == b'\n')
        .ok_or_else(|| problem("does not begin with the line of a document of the cache"))?;
    let body = octets.split_off(end + 1);
    let header: Header = serde_json::from_slice(&octets)
        .map_err(|cause| SourceError::of(path, format!("its first line is not readable: {cause}")))?;
    check(&header.url, &header.media_type, &body)?;
    if u64::try_from(body.len()).ok() != Some(header.length) || Digest::of(&body) != header.sha256 {
        return Err(problem("holds other octets than its first line says"));
    }
    let pin = match &header.protocol_hash {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| problem("its first line names a hash that is none"))?),
    };
    let key = pin.as_ref().map_or(Key::Url(&header.url), Key::Pin);
    if path.file_name().is_none_or(|name| name != key.file_name().as_str()) {
        return Err(problem("has another name than its URL's or its pin's"));
    }
    let (confirmed, origin) = match (header.format.as_str(), header.confirmed, header.origin) {
        (FORMAT, Some(confirmed), Some(origin)) if confirmed >= header.retrieved => (confirmed, origin),
        (FIRST_FORMAT, None, None) => (header.retrieved, Origin::Added),
        (FORMAT | FIRST_FORMAT, ..) => return Err(problem("its first line is not of its format")),
        _ => return Err(problem("is of another format than this version reads")),
    };
    let validators = Validators { etag: header.etag, last_modified: header.last_modified };
    if !validators.are_valid() {
        return Err(problem("its first line has a validator that is none"));
    }
    Ok(Some(CachedDocument {
        url: header.url,
        media_type: header.media_type,
        retrieved: header.retrieved,
        confirmed,
        validators,
        origin,
        octets: body,
    }))
}

/// What a file's first line says of its document, without a look at the octets: for whoever looks for room.
#[derive(Debug)]
pub(super) struct About {
    pub(super) path: PathBuf,
    pub(super) url: String,
    pub(super) retrieved: Instant,
    pub(super) confirmed: Instant,
    pub(super) origin: Origin,
    pub(super) pin: Option<ProtocolHash>,
    /// Octets of the document.
    pub(super) octets: u64,
    /// Octets of the file.
    pub(super) file_octets: u64,
}

/// `None` for a file that has no such line, or no more.
///
/// # Errors
/// [`SourceError`], for a file that cannot be read.
pub(super) fn about(path: &Path) -> Result<Option<About>, SourceError> {
    let Some(found) = if_there(path, fs::symlink_metadata(path))? else { return Ok(None) };
    let Some(octets) = read_bounded(path, MAX_HEADER_BYTES)? else { return Ok(None) };
    let line = octets.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let Ok(header) = serde_json::from_slice::<Header>(line) else { return Ok(None) };
    let file_octets = found.len();
    Ok(Some(About {
        path: path.to_path_buf(),
        url: header.url,
        retrieved: header.retrieved,
        confirmed: header.confirmed.unwrap_or(header.retrieved),
        origin: header.origin.unwrap_or(Origin::Added),
        pin: header.protocol_hash.and_then(|text| text.parse().ok()),
        octets: file_octets.saturating_sub(u64::try_from(line.len() + 1).unwrap_or(u64::MAX)),
        file_octets,
    }))
}

/// Takes a file away. Another process may have been first.
pub(super) fn remove(path: &Path) -> Result<(), SourceError> {
    if_there(path, fs::remove_file(path)).map(drop)
}

/// The octets of a file that is no link and no larger than one of its kind can be; `None` where there is none, or no more
/// since it was listed: another process took it away.
///
/// # Errors
/// [`SourceError`]
pub(super) fn read_bounded(path: &Path, most: usize) -> Result<Option<Vec<u8>>, SourceError> {
    let Some(found) = if_there(path, fs::symlink_metadata(path))? else { return Ok(None) };
    if !found.is_file() {
        return Err(SourceError::of(path, "is no document of the cache"));
    }
    let Some(file) = if_there(path, fs::File::open(path))? else { return Ok(None) };
    let mut octets = Vec::new();
    file.take(u64::try_from(most).unwrap_or(u64::MAX))
        .read_to_end(&mut octets)
        .map_err(|cause| SourceError::of(path, cause))?;
    Ok(Some(octets))
}

/// What was had of a file, where there is one.
///
/// # Errors
/// [`SourceError`], for whatever else went wrong.
pub(super) fn if_there<T>(path: &Path, had: std::io::Result<T>) -> Result<Option<T>, SourceError> {
    match had {
        Ok(had) => Ok(Some(had)),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(SourceError::of(path, cause)),
    }
}

/// Writes a file beside its place.
pub(super) fn write(path: &Path, line: &[u8], octets: &[u8]) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(line)?;
    file.write_all(b"\n")?;
    file.write_all(octets)?;
    file.sync_all()
}

/// A rename is durable once its folder is.
pub(super) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}
