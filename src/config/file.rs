//! The configuration file (TOML): what was typed. [`ConfigFile::load`] turns it into what is meant.

use super::challenges::ChallengeSettings;
use super::fetch::FetchSettings;
use super::offers::AcceptOffers;
use super::{Config, ConfigBuilder, ConfigError, PolicyStore, RootPrincipals, StickyRequired};
use crate::audit::evidence::EvidenceMode;
use crate::audit::{CheckpointSigner, Mask};
use crate::credential::issue::SigningKey;
use crate::credential::{ControllerDocuments, StatusLists};
use crate::ledger::Checkpoints;
use crate::limits::Limits;
use crate::message::action::{default_actions, default_parameters};
use crate::message::strict_json;
use crate::protocol::{Binding, ProtocolDocument, ProtocolHash, ProtocolSettings};
use crate::request::Instant;
use crate::source::{CachedDocument, DocumentCache, RevocationFeed, SourceError, is_json, is_status_list};
use chrono::TimeDelta;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A configuration file as it stands. Unknown keys are errors; paths are relative to the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// The domains that presentations may name; the first is the default.
    domains: Vec<String>,
    /// The owners of targets.
    pub(super) roots: Vec<RootEntry>,
    /// The Protocol Documents that are spoken here.
    #[serde(default)]
    pub(super) protocols: Vec<ProtocolEntry>,
    /// Where decisions are recorded.
    ledger: LedgerSettings,
    /// What is recorded of decisions, and how it is signed.
    #[serde(default)]
    audit: AuditSettings,
    /// What challenges are issued by. Without it, none is.
    pub(super) challenges: Option<ChallengeSettings>,
    /// A folder of controller documents (`*.json`).
    controllers: Option<PathBuf>,
    /// The cache of retrieved documents: status lists, did:web and WebID documents, Protocol Documents. `writgate source
    /// add` and `source refresh` fill it.
    pub(super) document_cache: Option<PathBuf>,
    /// What may be fetched into the cache. Without it, nothing is.
    pub(super) fetch: Option<FetchSettings>,
    /// What publishers say is revoked.
    #[serde(default)]
    pub(super) revocations: Vec<RevocationEntry>,
    /// A folder of policy documents (`*.ttl`, `*.jsonld`).
    policies: Option<PathBuf>,
    /// Policies of the folder count as bound by their location.
    #[serde(default)]
    trust_policies_by_location: bool,
    /// Duties, by action IRI, that this server can keep.
    #[serde(default)]
    obligations: BTreeSet<String>,
    /// Duties are a condition of the grant itself.
    #[serde(default)]
    require_duties: bool,
    /// Our card marks the extension required.
    #[serde(default)]
    extension_required: bool,
    /// Which offers of peers are accepted: of `pinned` documents, or of those too that were fetched and `reviewed`.
    #[serde(default)]
    pub(super) accept_offers: AcceptOffers,
    /// Action classes, of the default mapping, that a reviewed document may ask for.
    #[serde(default)]
    pub(super) reviewed_classes: BTreeSet<String>,
    /// How far a required protocol keeps prose out: `context` or `peer`.
    #[serde(default)]
    sticky_required: StickyRequired,
    /// Minutes that an offer of ours waits for its answer.
    offer_life_minutes: Option<u32>,
    /// Days that an agreed protocol stays so.
    agreement_life_days: Option<u32>,
    /// Seconds by which clocks may differ.
    skew_seconds: Option<u32>,
    /// Seconds that a presentation is good for.
    presentation_age_seconds: Option<u32>,
    /// Days that a credential without a status entry may live.
    life_without_status_days: Option<u32>,
    /// Hours that a controller document is good for.
    controller_age_hours: Option<u32>,
    /// Hours that a status list is good for.
    status_age_hours: Option<u32>,
    /// Papers without `@context` are read by the context-free profile.
    #[serde(default)]
    pub(super) context_free_credentials: bool,
    /// Hops of the longest chain.
    max_chain_length: Option<usize>,
    /// Hops of the longest second chain, of an agent that acts for the delegate; 0: nobody may.
    max_actor_hops: Option<usize>,
    /// Octets, about, that facts about papers may take between decisions; 0 keeps none.
    fact_cache_bytes: Option<usize>,
    /// The bounds of a decision: of messages, that is. The operator's own documents are read under the default ones.
    #[serde(default)]
    limits: Limits,
    #[serde(skip)]
    pub(super) base: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RootEntry {
    prefix: String,
    pub(super) principal: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProtocolEntry {
    /// The document, Turtle or JSON-LD by its ending.
    pub(super) file: Option<PathBuf>,
    /// The https URL that our card and our offers name. Without a `file`, the document is fetched from there, and read from
    /// the cache by its pin.
    pub(super) source: Option<String>,
    /// The pin.
    pub(super) hash: String,
    /// Action classes that it may carry, of the default mapping.
    #[serde(default)]
    classes: Vec<String>,
    /// Further classes, each with its ODRL or WAC action.
    #[serde(default)]
    actions: BTreeMap<String, String>,
    /// Parameter keys with the local name of their left operand; the default mapping if absent.
    parameters: Option<BTreeMap<String, String>>,
    #[serde(default = "yes")]
    security_bearing: bool,
    #[serde(default)]
    binding: Binding,
    /// Our card declares it. It needs a `source`.
    #[serde(default)]
    declared: bool,
    /// What our card and our offers call it.
    name: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RevocationEntry {
    /// Whose statements they are.
    pub(super) publisher: String,
    /// The statements, Turtle or JSON-LD by its ending.
    file: PathBuf,
    /// The file is a credential (JSON-LD) that the publisher signed. Otherwise that they are the publisher's is the
    /// operator's word.
    #[serde(default)]
    signed: bool,
}

/// Where decisions are recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerSettings {
    /// The SQLite file.
    path: PathBuf,
    /// What the file may hold, in octets.
    max_bytes: Option<u64>,
}

/// What is recorded of decisions, and how it is signed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AuditSettings {
    /// `full` keeps what each decision was made from, `digests` the digests of it.
    #[serde(default)]
    evidence: EvidenceMode,
    /// Paths of reports that are left out: JSON pointers, with `*` for each item of a list.
    #[serde(default)]
    mask: Vec<String>,
    /// The file of the key that signs checkpoints, outside the ledger. Without a key there are none.
    key: Option<PathBuf>,
    /// A checkpoint is made after so many rows.
    checkpoint_rows: Option<u32>,
    /// A checkpoint is made with the first row after so many seconds.
    checkpoint_seconds: Option<u32>,
    /// A file outside the ledger to which each checkpoint is appended.
    checkpoints: Option<PathBuf>,
}

fn yes() -> bool {
    true
}

impl ConfigFile {
    /// Reads a file. Nothing that it names is opened yet.
    ///
    /// # Errors
    /// A file that cannot be read, is not TOML, or has a key that does not exist or a value of another type.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path)?;
        let mut file: Self = toml::from_str(&text)
            .map_err(|cause| ConfigError::new(path.display().to_string(), cause.to_string()))?;
        file.base = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(file)
    }

    /// The domain that counts where a caller names none; empty where there is none.
    pub(crate) fn default_domain(&self) -> &str {
        self.domains.first().map(String::as_str).unwrap_or_default()
    }

    /// The ledger's file.
    pub fn ledger_path(&self) -> PathBuf {
        self.base.join(&self.ledger.path)
    }

    /// The file of the key that signs the ledger's checkpoints, where one is configured.
    pub fn audit_key_path(&self) -> Option<PathBuf> {
        self.audit.key.as_ref().map(|key| self.base.join(key))
    }

    /// The file outside the ledger to which checkpoints are appended, where one is configured.
    pub fn checkpoints_path(&self) -> Option<PathBuf> {
        self.audit.checkpoints.as_ref().map(|file| self.base.join(file))
    }

    /// How checkpoints are made with the key of [`Self::audit_key_path`].
    ///
    /// # Errors
    /// A key that does not sign checkpoints.
    pub fn checkpoints(&self, key: SigningKey) -> Result<Checkpoints, ConfigError> {
        let signer =
            CheckpointSigner::new(key).map_err(|cause| ConfigError::new("audit.key", cause.to_string()))?;
        let rows = self.audit.checkpoint_rows.map_or(Checkpoints::ROWS, u64::from);
        let seconds = self.audit.checkpoint_seconds.map_or(Checkpoints::SECONDS, u64::from);
        let checkpoints = Checkpoints::new(signer).with_interval(rows, seconds);
        Ok(match &self.audit.checkpoints {
            Some(file) => checkpoints.with_file(self.base.join(file)),
            None => checkpoints,
        })
    }

    /// What is set for checkpoints needs a key, and files of its own.
    fn check_audit(&self) -> Result<(), ConfigError> {
        let AuditSettings { key, checkpoint_rows, checkpoint_seconds, checkpoints, .. } = &self.audit;
        if key.is_none()
            && (checkpoint_rows.is_some() || checkpoint_seconds.is_some() || checkpoints.is_some())
        {
            return Err(ConfigError::new("audit", "checkpoints are signed: name a `key`"));
        }
        if [checkpoint_rows, checkpoint_seconds].contains(&&Some(0)) {
            return Err(ConfigError::new("audit", "checkpoints come after 1 row or second at the earliest"));
        }
        let files = [Some(&self.ledger.path), key.as_ref(), checkpoints.as_ref()];
        let files: Vec<_> = files.into_iter().flatten().collect();
        match files.iter().collect::<BTreeSet<_>>().len() == files.len() {
            true => Ok(()),
            false => {
                Err(ConfigError::new("audit", "the ledger, the key and the checkpoints are three files"))
            }
        }
    }

    /// What the ledger's file may hold, in octets ([`crate::ledger::SqliteLedger::with_max_bytes`]), where it is bounded.
    pub fn ledger_max_bytes(&self) -> Option<u64> {
        self.ledger.max_bytes
    }

    /// The folder of the document cache, where one is configured.
    pub fn document_cache_path(&self) -> Option<PathBuf> {
        self.document_cache.as_ref().map(|folder| self.base.join(folder))
    }

    /// Loads everything that the file names and checks the whole. `now` is when the inputs count as retrieved, but for
    /// those of the cache, which says so itself.
    ///
    /// # Errors
    /// [`ConfigError`] for the first setting that is wrong.
    pub fn load(&self, now: Instant) -> Result<Config, ConfigError> {
        self.check_fetch()?;
        self.check_audit()?;
        let mut roots = RootPrincipals::default();
        for entry in &self.roots {
            roots.add(&entry.prefix, &entry.principal)?;
        }
        let mut domains = self.domains.iter();
        let first = domains.next().ok_or_else(|| ConfigError::new("domains", "at least one is needed"))?;
        let mut builder = ConfigBuilder::new(first, roots)
            .with_limits(self.limits.clone())
            .with_duties_required(self.require_duties)
            .with_extension_required(self.extension_required)
            .with_sticky_required(self.sticky_required)
            .with_store_trusted_by_location(self.trust_policies_by_location)
            .with_context_free_credentials(self.context_free_credentials)
            .with_evidence(self.audit.evidence)
            .with_mask(Mask::new(&self.audit.mask)?);
        for domain in domains {
            builder = builder.with_domain(domain);
        }
        for duty in &self.obligations {
            builder = builder.with_obligation(duty);
        }
        for entry in &self.protocols {
            builder = builder.with_protocol(self.protocol(entry)?);
        }
        for document in self.reviewed_documents(builder.config.protocols())? {
            builder = builder.with_protocol(document);
        }
        if let Some(folder) = &self.policies {
            builder = builder.with_policies(self.policy_store(folder, now)?);
        }
        builder = self.durations(builder);
        let cached = self.cached_documents(now, builder.config.skew)?;
        builder = builder.with_controllers(self.controller_documents(&cached, now)?);
        builder = builder.with_status_lists(status_lists(cached));
        for entry in &self.revocations {
            let feed = self.revocation_feed(entry, &builder.config, now)?;
            builder = builder.with_revocations(feed);
        }
        builder.build()
    }

    pub(super) fn durations(&self, mut builder: ConfigBuilder) -> ConfigBuilder {
        if let Some(seconds) = self.skew_seconds {
            builder = builder.with_skew(TimeDelta::seconds(seconds.into()));
        }
        if let Some(seconds) = self.presentation_age_seconds {
            builder = builder.with_max_presentation_age(TimeDelta::seconds(seconds.into()));
        }
        if let Some(days) = self.life_without_status_days {
            builder = builder.with_max_life_without_status(TimeDelta::days(days.into()));
        }
        if let Some(hours) = self.controller_age_hours {
            builder = builder.with_max_controller_age(TimeDelta::hours(hours.into()));
        }
        if let Some(hours) = self.status_age_hours {
            builder = builder.with_max_status_age(TimeDelta::hours(hours.into()));
        }
        if let Some(minutes) = self.offer_life_minutes {
            builder = builder.with_offer_life(TimeDelta::minutes(minutes.into()));
        }
        if let Some(days) = self.agreement_life_days {
            builder = builder.with_agreement_life(TimeDelta::days(days.into()));
        }
        if let Some(hops) = self.max_chain_length {
            builder = builder.with_max_chain_length(hops);
        }
        if let Some(hops) = self.max_actor_hops {
            builder = builder.with_max_actor_hops(hops);
        }
        if let Some(octets) = self.fact_cache_bytes {
            builder = builder.with_fact_cache_bytes(octets);
        }
        builder
    }

    fn protocol(&self, entry: &ProtocolEntry) -> Result<ProtocolDocument, ConfigError> {
        let setting = match (&entry.file, &entry.source) {
            (Some(file), _) => file.display().to_string(),
            (None, Some(source)) => source.clone(),
            (None, None) => return Err(ConfigError::new("protocols", "each has a `file` or a `source`")),
        };
        let problem = |problem: String| ConfigError::new(setting.clone(), problem);
        let known = default_actions();
        let mut actions = entry.actions.clone();
        for class in &entry.classes {
            let action = known.get(class).ok_or_else(|| {
                problem(format!("class {class} is not in the default mapping; map it under `actions`"))
            })?;
            actions.insert(class.clone(), action.clone());
        }
        let settings = ProtocolSettings {
            hash: entry.hash.parse().map_err(|cause| problem(format!("{cause}")))?,
            actions,
            parameters: entry.parameters.clone().unwrap_or_else(default_parameters),
            security_bearing: entry.security_bearing,
            binding: entry.binding,
            declared: entry.declared,
            name: entry.name.clone(),
            source: entry
                .source
                .as_deref()
                .map(|source| source.parse().map_err(|_| problem("`source` is no https URL".into())))
                .transpose()?,
        };
        let (text, media_type) = match &entry.file {
            Some(file) => {
                let path = self.base.join(file);
                let media_type =
                    media_type_of(&path).ok_or_else(|| problem("ends in neither .ttl nor .jsonld".into()))?;
                (read_text(&path)?, media_type.to_owned())
            }
            None => self.cached_protocol(&setting, &settings.hash)?,
        };
        ProtocolDocument::load(&text, &media_type, settings, &Limits::default())
            .map_err(|cause| problem(cause.to_string()))
    }

    /// The text and the media type of a document that was fetched under its pin, or that the operator put into the cache
    /// under its URL.
    fn cached_protocol(&self, url: &str, hash: &ProtocolHash) -> Result<(String, String), ConfigError> {
        let problem = |problem: String| ConfigError::new(url, problem);
        let folder = self
            .document_cache_path()
            .ok_or_else(|| problem("there is no `document_cache` that it could be in".into()))?;
        let absent = || problem("is not in the document cache: `writgate source refresh` fetches it".into());
        if !folder.exists() {
            return Err(absent());
        }
        let cache = DocumentCache::open(&folder).map_err(of_source)?;
        let pinned = cache.pinned(hash).map_err(|cause| problem(cause.to_string()))?;
        let document = match pinned {
            Some(document) => document,
            None => cache.document(url).map_err(of_source)?.ok_or_else(absent)?,
        };
        let text = String::from_utf8(document.octets).map_err(|_| problem("is not UTF-8".into()))?;
        Ok((text, document.media_type))
    }

    /// The cache's documents. One that was retrieved after `now` would live longer than it may.
    fn cached_documents(&self, now: Instant, skew: TimeDelta) -> Result<Vec<CachedDocument>, ConfigError> {
        let Some(folder) = self.document_cache_path() else { return Ok(Vec::new()) };
        let cached = DocumentCache::open(&folder).and_then(|cache| cache.documents()).map_err(of_source)?;
        let latest = now.checked_add_signed(skew).unwrap_or(Instant::MAX_UTC);
        match cached.iter().find(|document| document.retrieved.max(document.confirmed) > latest) {
            None => Ok(cached),
            Some(document) => Err(ConfigError::new(
                "document_cache",
                format!("{} was retrieved in the future", document.url),
            )),
        }
    }

    fn revocation_feed(
        &self,
        entry: &RevocationEntry,
        config: &Config,
        now: Instant,
    ) -> Result<RevocationFeed, ConfigError> {
        let path = self.base.join(&entry.file);
        let setting = path.display().to_string();
        let media_type = media_type_of(&path)
            .ok_or_else(|| ConfigError::new(setting.clone(), "ends in neither .ttl nor .jsonld"))?;
        let (publisher, text) = (&entry.publisher, read_text(&path)?);
        let feed = if entry.signed {
            RevocationFeed::of_credential(
                publisher,
                &text,
                &config.controllers,
                config.max_controller_age,
                now,
            )
        } else {
            RevocationFeed::of_statements(publisher, &text, media_type, now)
        };
        feed.map_err(|cause| ConfigError::new(setting, cause.to_string()))
    }

    fn controller_documents(
        &self,
        cached: &[CachedDocument],
        now: Instant,
    ) -> Result<ControllerDocuments, ConfigError> {
        let mut documents = ControllerDocuments::default();
        for document in cached.iter().filter(|document| is_json(&document.media_type)) {
            // What is no JSON that is read strictly is nobody's document; it may be something else, and stays so.
            let Ok(value) = strict_json::read(&document.octets, &Limits::default()) else { continue };
            // A paper may name any URL as its list's. That makes nobody a controller whom the configuration does not know.
            let names_itself = value.get("id").and_then(serde_json::Value::as_str) == Some(&document.url);
            if !(names_itself && is_status_list(document)) {
                documents.insert_retrieved(&document.url, value, document.confirmed);
            }
        }
        match &self.controllers {
            None => Ok(documents),
            Some(folder) => add_controllers_of_folder(documents, &self.base.join(folder), now),
        }
    }

    fn policy_store(&self, folder: &Path, now: Instant) -> Result<PolicyStore, ConfigError> {
        let mut store = PolicyStore::default();
        for path in files_of(&self.base.join(folder), &["ttl", "jsonld"])? {
            let media_type = media_type_of(&path).unwrap_or_default();
            store
                .add(&read_text(&path)?, media_type, now, &Limits::default())
                .map_err(|error| ConfigError::new(path.display().to_string(), error.problem))?;
        }
        Ok(store)
    }
}

/// Every cached text by its URL: whether it is a status list is judged where one is looked for.
fn status_lists(cached: Vec<CachedDocument>) -> StatusLists {
    let mut lists = StatusLists::default();
    for document in cached {
        if let Ok(text) = String::from_utf8(document.octets) {
            lists.insert(document.url, text, document.media_type, document.retrieved);
        }
    }
    lists
}

pub(super) fn of_source(error: SourceError) -> ConfigError {
    ConfigError::new(error.what, error.problem)
}

/// The controller documents of a folder, as retrieved at `now`.
pub(crate) fn controllers_of_folder(folder: &Path, now: Instant) -> Result<ControllerDocuments, ConfigError> {
    add_controllers_of_folder(ControllerDocuments::default(), folder, now)
}

/// The same beside documents that are there already: no controller has two.
fn add_controllers_of_folder(
    mut documents: ControllerDocuments,
    folder: &Path,
    now: Instant,
) -> Result<ControllerDocuments, ConfigError> {
    for path in files_of(folder, &["json"])? {
        let setting = || path.display().to_string();
        let text = read_text(&path)?;
        let document = strict_json::read(text.as_bytes(), &Limits::default())
            .map_err(|cause| ConfigError::new(setting(), cause.to_string()))?;
        let id = document.get("id").and_then(serde_json::Value::as_str).map(str::to_owned);
        let id = id.ok_or_else(|| ConfigError::new(setting(), "has no `id`"))?;
        if documents.find(&id).is_some() {
            return Err(ConfigError::new(setting(), format!("a second document of {id}")));
        }
        documents.insert(id, document, now);
    }
    Ok(documents)
}

/// The RDF media type that a file's ending stands for.
pub(crate) fn media_type_of(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "ttl" | "nt" => Some("text/turtle"),
        "jsonld" => Some("application/ld+json"),
        _ => None,
    }
}

pub(super) fn read_text(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|cause| ConfigError::new(path.display().to_string(), cause.to_string()))
}

/// The files of a folder with one of the endings, in order of their names.
fn files_of(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, ConfigError> {
    let problem = |cause: std::io::Error| ConfigError::new(folder.display().to_string(), cause.to_string());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        if path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending))
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = include_str!("../../vectors/writgate.toml");

    /// The worked example's file, with other settings in the place of its own.
    fn file(settings: &str) -> Result<ConfigFile, toml::de::Error> {
        let mut whole: toml::Table = toml::from_str(WHOLE).unwrap();
        whole.extend(toml::from_str::<toml::Table>(settings).unwrap());
        whole.try_into()
    }

    fn load(settings: &str) -> Config {
        let mut file = file(settings).unwrap();
        file.base = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
        file.load("2026-12-01T12:00:00Z".parse().unwrap()).unwrap()
    }

    #[test]
    fn every_setting_of_the_file_reaches_the_configuration() {
        let settings = [
            "",
            "trust_policies_by_location = true",
            "obligations = [\"https://a.example/duty\"]",
            "require_duties = true",
            "extension_required = true",
            "sticky_required = \"peer\"",
            "skew_seconds = 1",
            "presentation_age_seconds = 1",
            "life_without_status_days = 1",
            "controller_age_hours = 1",
            "status_age_hours = 2",
            "context_free_credentials = true",
            "max_chain_length = 3",
            "max_actor_hops = 2",
            "limits = { parts = 1 }",
        ];
        let digests: BTreeSet<_> = settings.iter().map(|setting| load(setting).digest()).collect();
        assert_eq!(digests.len(), settings.len());
        // No answer to a snapshot depends on these, so they are no part of the digest.
        assert_eq!(load("offer_life_minutes = 7").offer_life, TimeDelta::minutes(7));
        assert_eq!(load("agreement_life_days = 7").agreement_life, TimeDelta::days(7));
        assert_eq!(load("fact_cache_bytes = 7").cache_bytes, 7);
        // Nor does one on who issues challenges, so this is no part of it either.
        let issuing = load("challenges = { key = \"challenge.key\", life_seconds = 7 }");
        assert_eq!(issuing.digest(), load("").digest());
        assert_eq!(load("").evidence, EvidenceMode::Full);
        assert_eq!(load("audit = { evidence = \"digests\" }").evidence, EvidenceMode::Digests);
        let masked = load("audit = { mask = [\"/body/attributes/*/values\"] }");
        assert_eq!(masked.mask, Mask::new(["/body/attributes/*/values"]).unwrap());
        assert_eq!(masked.digest(), load("").digest());
    }

    #[test]
    fn a_mask_that_no_report_can_wear_is_an_error() {
        let mut file = file("audit = { mask = [\"/body/peer\"] }").unwrap();
        file.base = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
        let error = file.load("2026-12-01T12:00:00Z".parse().unwrap()).unwrap_err();
        assert_eq!(error.setting, "audit.mask");
    }

    #[test]
    fn checkpoints_need_a_key_and_files_of_their_own() {
        for wrong in [
            "audit = { checkpoint_rows = 7 }",
            "audit = { checkpoints = \"c.jsonl\" }",
            "audit = { key = \"k.json\", checkpoint_seconds = 0 }",
            "audit = { key = \"k.json\", checkpoints = \"k.json\" }",
        ] {
            let mut file = file(wrong).unwrap();
            file.base = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
            let error = file.load("2026-12-01T12:00:00Z".parse().unwrap()).unwrap_err();
            assert_eq!(error.setting, "audit", "{wrong}");
        }
    }

    #[test]
    fn a_setting_that_does_not_exist_is_an_error() {
        for wrong in
            ["cache = \"folder\"", "max_chain_lenght = 3", "skew_seconds = -1", "limits = { part = 1 }"]
        {
            assert!(file(wrong).is_err(), "{wrong}");
        }
    }
}
