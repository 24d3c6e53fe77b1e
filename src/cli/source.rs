//! `writgate source`.

use super::decide::read_bounded;
use super::{Exit, Failure, Outcome, output};
use crate::audit::instant_text;
use crate::config::ConfigFile;
use crate::ledger::{Ledger as _, SqliteLedger};
use crate::message::Digest;
use crate::request::Instant;
use crate::source::{self, CachedDocument, DocumentCache, DocumentKind, Refreshed};
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
    /// List the documents of the cache: what each is, and how long it is good
    List {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
    },
    /// List the status lists that the credentials of verified chains name, and the Protocol Documents that peers offered
    Wanted {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
    },
    /// Fetch what is wanted and due, as the configuration's [fetch] table allows: exit 0 all there, 1 something failed
    Refresh {
        /// The configuration file
        #[arg(long, default_value = "writgate.toml")]
        config: PathBuf,
        /// Show what would be asked for, and ask for nothing
        #[arg(long)]
        dry_run: bool,
        /// Ask for what is not due yet too
        #[arg(long)]
        all: bool,
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
            let file = output::read_config(config)?;
            DocumentCache::create(&folder(&file, config)?)?.put(&document)?;
            print(&document, &state_of(&document, &file, now));
        }
        Command::List { config } => list(config, chrono::Utc::now())?,
        Command::Refresh { config, dry_run, all } => return refresh(config, *dry_run, *all),
        Command::Wanted { config } => {
            let file = output::read_config(config)?;
            file.load(chrono::Utc::now())?;
            let ledger = open_ledger(&file)?;
            for list in ledger.wanted_lists()? {
                output::say(format_args!(
                    "{}  {}",
                    output::escaped(&list.url),
                    output::escaped(&list.issuer)
                ));
            }
            if let Some(folder) = file.document_cache_path() {
                for offer in DocumentCache::open(&folder)?.offered()? {
                    let offered = instant_text(offer.offered);
                    output::say(format_args!(
                        "{}  {}  offered {offered}",
                        output::escaped(&offer.url),
                        offer.hash
                    ));
                }
            }
        }
    }
    Ok(Exit::Success)
}

fn open_ledger(file: &ConfigFile) -> Result<SqliteLedger, Failure> {
    super::ledger::open(file, file.default_domain(), file.cache_bounds().skew())
}

/// Documents under their URLs, then Protocol Documents under their pins.
fn list(config: &Path, now: Instant) -> Result<(), Failure> {
    let file = output::read_config(config)?;
    let cache = DocumentCache::open(&folder(&file, config)?)?;
    for document in cache.documents()? {
        print(&document, &state_of(&document, &file, now));
    }
    for pin in cache.pins()? {
        match cache.pinned(&pin) {
            Ok(Some(document)) => print(&document, &format!("Protocol Document {pin}")),
            // Another process took it away.
            Ok(None) => {}
            Err(cause) => return Err(Failure::new(format!("{pin}: {cause}"))),
        }
    }
    Ok(())
}

/// What a document under its URL is, and how long it is good.
fn state_of(document: &CachedDocument, file: &ConfigFile, now: Instant) -> String {
    let state = source::state(document, &file.cache_bounds());
    let kind = state.kind.map_or("of no known kind", kind_name);
    match state.good_until {
        None => kind.to_owned(),
        Some(end) if end < now => format!("{kind}, stale since {}", instant_text(end)),
        Some(end) => format!("{kind}, good until {}", instant_text(end)),
    }
}

fn kind_name(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::ProtocolDocument => "Protocol Document",
        DocumentKind::Controller => "controller document",
        DocumentKind::StatusList => "status list",
    }
}

/// Asks for what is due. The configuration is not loaded: what is missing in the cache must not keep it from coming.
fn refresh(config: &Path, dry_run: bool, all: bool) -> Outcome {
    let file = output::read_config(config)?;
    let fetcher = file.fetcher()?.ok_or_else(|| {
        Failure::new(format!("{}: there is no [fetch] table, so nothing is ever fetched", config.display()))
    })?;
    let cache = DocumentCache::create(&folder(&file, config)?)?;
    // Before `ledger init`, no message was decided, so no list is wanted.
    let lists = match file.ledger_path().exists() {
        true => open_ledger(&file)?.wanted_lists()?,
        false => Vec::new(),
    };
    let plan = file.fetch_plan(lists)?.unwrap_or_else(|| file.cache_bounds()).asking_for_all(all);
    let now = chrono::Utc::now();
    let report = if dry_run {
        source::dry_run(&cache, &plan, now)?
    } else {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let report = runtime.block_on(source::refresh(&fetcher, &cache, &plan, now));
        // A name that is still being looked up does not keep the command from ending.
        runtime.shutdown_background();
        report?
    };
    for line in &report.documents {
        print_verdict(line);
    }
    Ok(if report.failed() { Exit::Refused } else { Exit::Success })
}

fn print_verdict(line: &Refreshed) {
    let hash = line.hash.as_ref().map(|hash| format!("  {hash}")).unwrap_or_default();
    let offered = if line.offered { "  (offered)" } else { "" };
    let detail = line.verdict.detail().map(|detail| format!("  {}", output::escaped(&detail)));
    output::say(format_args!(
        "{}  {}{hash}{offered}  {}{}",
        line.verdict.as_str(),
        line.kind.map_or("document", kind_name),
        output::escaped(&line.url),
        detail.unwrap_or_default()
    ));
}

fn folder(file: &ConfigFile, config: &Path) -> Result<PathBuf, Failure> {
    file.document_cache_path().ok_or_else(|| {
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

fn print(document: &CachedDocument, state: &str) {
    output::say(format_args!(
        "{}  {}  {}  {} octets  sha256:{}  {state}",
        output::escaped(&document.url),
        output::escaped(&document.media_type),
        document.retrieved.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true),
        document.octets.len(),
        Digest::of(&document.octets)
    ));
}
