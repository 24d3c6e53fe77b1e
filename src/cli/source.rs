//! `writgate source`.

use super::decide::read_bounded;
use super::{Exit, Failure, Outcome, output};
use crate::config::ConfigFile;
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
        /// The media type that it came with; by the file's ending if absent (.json, .jsonld, .ttl, .jwt)
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
            let media_type = match media_type {
                Some(media_type) => media_type.clone(),
                None => media_type_of(file)?.to_owned(),
            };
            let octets = read_bounded(file, MAX_FILE_BYTES)?;
            let document = CachedDocument { url: url.clone(), media_type, retrieved, octets };
            DocumentCache::create(&folder(config)?)?.put(&document)?;
            print(&document);
        }
        Command::List { config } => {
            for document in DocumentCache::open(&folder(config)?)?.documents()? {
                print(&document);
            }
        }
        Command::Wanted { config } => {
            let file = ConfigFile::read(config)?;
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
    let folder = ConfigFile::read(config)?.document_cache_path();
    folder.ok_or_else(|| Failure::new(format!("{}: no `document_cache` is configured", config.display())))
}

fn media_type_of(file: &Path) -> Result<&'static str, Failure> {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Ok("application/json"),
        Some("jsonld") => Ok("application/ld+json"),
        Some("ttl") => Ok("text/turtle"),
        Some("jwt") => Ok("application/vc+jwt"),
        _ => Err(Failure::new("the file's ending says no media type: give one with --media-type")),
    }
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
