//! `writgate source`.

use super::decide::read_bounded;
use super::{Exit, Failure, Outcome, output};
use crate::ledger::{Ledger as _, SqliteLedger};
use crate::message::Digest;
use crate::request::Instant;
use crate::source::{CachedDocument, DocumentCache};
use std::path::{Path, PathBuf};

/// One octet more than the cache takes is refused by the cache.
const MAX_FILE_BYTES: usize = 1 << 20;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Put a document into the cache, as it was retrieved from its URL
    Add {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
        /// Where the document is from
        #[arg(long)]
        url: String,
        /// The media type that it came with; if absent, `application/vc` for a status list, `application/vc+jwt` for a JWS,
        /// else by the file's ending (.json, .jsonld, .ttl)
        #[arg(long)]
        media_type: Option<String>,
        /// When it was retrieved (RFC 3339); now if absent
        #[arg(long, value_parser = output::instant)]
        retrieved: Option<Instant>,
        /// The document, to the octet; `-` is standard input
        file: PathBuf,
    },
    /// List the documents of the cache
    List {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
    },
    /// List the status lists that the credentials of verified chains name
    Wanted {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
    },
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Add { config, url, media_type, retrieved, file } => {
            let now = chrono::Utc::now();
            let retrieved = retrieved.unwrap_or(now);
            if retrieved > now {
                return Err(Failure::new("nothing was retrieved in the future"));
            }
            let octets = read_bounded(file, MAX_FILE_BYTES)?;
            let media_type = match media_type {
                Some(media_type) => media_type.clone(),
                None => media_type_of(file, &octets)?.to_owned(),
            };
            let document = CachedDocument::new(url, media_type, retrieved, octets);
            DocumentCache::create(&folder(config)?)?.put(&document)?;
            print(&document);
        }
        Command::List { config } => {
            for document in DocumentCache::open(&folder(config)?)?.documents()? {
                print(&document);
            }
        }
        Command::Wanted { config } => {
            let file = output::read_config(config)?;
            let config = file.load(chrono::Utc::now())?;
            let path = file.ledger_path();
            let ledger = SqliteLedger::open(&path, config.default_domain(), config.skew())
                .map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
            for list in ledger.wanted_lists()? {
                output::say(format_args!(
                    "{}  {}",
                    output::escaped(&list.url),
                    output::escaped(&list.issuer)
                ));
            }
        }
    }
    Ok(Exit::Success)
}

fn folder(config: &Path) -> Result<PathBuf, Failure> {
    let folder = output::read_config(config)?.document_cache_path();
    folder.ok_or_else(|| {
        Failure::new(format!(
            "{}: no `document_cache` is configured: a line `document_cache = \"cache\"` above the first [table] names the folder",
            config.display()
        ))
    })
}

/// What its server would have called it. A status list is no plain JSON, whatever its file is called: as such, nobody
/// would read it.
fn media_type_of(file: &Path, octets: &[u8]) -> Result<&'static str, Failure> {
    if output::is_jws(octets) {
        return Ok("application/vc+jwt");
    }
    if is_status_list(octets) {
        return Ok("application/vc");
    }
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Ok("application/json"),
        Some("jsonld") => Ok("application/ld+json"),
        Some("ttl") => Ok("text/turtle"),
        Some("jwt") => Ok("application/vc+jwt"),
        _ => Err(Failure::new("the file's ending says no media type: give one with --media-type")),
    }
}

fn is_status_list(octets: &[u8]) -> bool {
    let document: Option<serde_json::Value> = serde_json::from_slice(octets).ok();
    let types = document.as_ref().and_then(|document| document.get("type"));
    let is_list = |name: &serde_json::Value| name == "BitstringStatusListCredential";
    types.is_some_and(|types| is_list(types) || types.as_array().is_some_and(|all| all.iter().any(is_list)))
}

fn print(document: &CachedDocument) {
    output::say(format_args!(
        "{}  {}  {}  {} octets  sha256:{}",
        output::escaped(&document.url),
        output::escaped(&document.media_type),
        document.retrieved.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true),
        document.octets.len(),
        Digest::of(&document.octets)
    ));
}
