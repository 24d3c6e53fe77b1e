//! The manifest of a configuration, and the configuration that it is the manifest of.

use super::{Blob, BlobKind, EvidenceError, EvidenceMode, unreadable};
use crate::audit::Mask;
use crate::config::{Config, PolicyStore, RootPrincipals, StickyRequired, StoredPolicy};
use crate::credential::{ControllerDocuments, StatusLists};
use crate::limits::Limits;
use crate::mandate::odrl::StoredFacts;
use crate::message::Digest;
use crate::protocol::{Binding, ProtocolDocument, ProtocolRegistry, ProtocolSettings, ReadFrom};
use crate::request::Instant;
use crate::source::RevocationFeed;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const VERSION: &str = "ConfigurationEvidenceV1";

/// The evidence of a configuration: its manifest, and a blob for each document that it was built with.
#[derive(Debug, Clone)]
pub struct ConfigurationEvidence {
    /// The manifest's digest, which every decision's evidence names.
    pub manifest: Digest,
    /// The blobs: the manifest first.
    pub blobs: Vec<Blob>,
}

/// Every setting that an answer can turn on. It is written with its members in this order and with exact numbers, so
/// that equal configurations have equal manifests. (JCS would round what a double cannot hold.)
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Manifest {
    version: String,
    domains: Vec<String>,
    roots: BTreeMap<String, String>,
    protocols: Vec<Protocol>,
    controllers: Vec<Document>,
    retrieved_controllers: Vec<Document>,
    status_lists: Vec<Document>,
    revocations: Vec<Document>,
    policies: Vec<Document>,
    limits: Limits,
    obligations: BTreeSet<String>,
    require_duties: bool,
    max_life_without_status: Span,
    max_presentation_age: Span,
    skew: Span,
    max_controller_age: Span,
    max_status_age: Span,
    max_chain_length: usize,
    max_actor_hops: usize,
    closed_intents: bool,
    extension_required: bool,
    sticky_required: StickyRequired,
    trust_store_by_location: bool,
    context_free: bool,
}

/// A document, which is a blob of its own.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    /// Its IRI, its URL, or who publishes it.
    id: String,
    digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    /// When it was retrieved or read, where an answer can turn on that.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Instant>,
    /// What it was read under, where its reading is done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Limits>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Protocol {
    document: Document,
    hash: String,
    actions: BTreeMap<String, String>,
    parameters: BTreeMap<String, String>,
    security_bearing: bool,
    binding: Binding,
    declared: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// A duration: whole seconds, and the nanoseconds beyond them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Span(i64, i32);

impl Span {
    fn of(delta: TimeDelta) -> Self {
        Self(delta.num_seconds(), delta.subsec_nanos())
    }

    fn delta(self) -> Option<TimeDelta> {
        TimeDelta::try_seconds(self.0)?.checked_add(&TimeDelta::nanoseconds(self.1.into()))
    }
}

impl ConfigurationEvidence {
    /// The evidence of a configuration.
    ///
    /// # Errors
    /// A value that JSON cannot write; a configuration holds none.
    pub fn of(config: &Config) -> Result<Self, serde_json::Error> {
        let mut documents = Vec::new();
        let manifest = Blob::new(serde_json::to_vec(&manifest(config, &mut documents)?)?);
        let mut seen = BTreeSet::from([manifest.digest()]);
        documents.retain(|blob: &Blob| seen.insert(blob.digest()));
        let digest = manifest.digest();
        Ok(Self { manifest: digest, blobs: std::iter::once(manifest).chain(documents).collect() })
    }

    /// The documents that a manifest names, by their digests. None, where it is no manifest of this version.
    pub(crate) fn documents(manifest: &[u8]) -> Vec<Digest> {
        let Ok(manifest) = serde_json::from_slice::<Manifest>(manifest) else { return Vec::new() };
        if manifest.version != VERSION {
            return Vec::new();
        }
        let Manifest {
            protocols,
            controllers,
            retrieved_controllers,
            status_lists,
            revocations,
            policies,
            ..
        } = manifest;
        let lists = [controllers, retrieved_controllers, status_lists, revocations, policies];
        let documents = lists.into_iter().flatten();
        documents
            .chain(protocols.into_iter().map(|protocol| protocol.document))
            .map(|entry| entry.digest)
            .collect()
    }
}

fn manifest(config: &Config, blobs: &mut Vec<Blob>) -> Result<Manifest, serde_json::Error> {
    // Without `..`: a new setting stands here, or says why no answer turns on it.
    let Config {
        domains,
        roots,
        protocols,
        controllers,
        status_lists,
        revocations,
        policies,
        // Made from the policies.
        facts: _,
        limits,
        obligations,
        require_duties,
        max_life_without_status,
        max_presentation_age,
        skew,
        max_controller_age,
        max_status_age,
        max_chain_length,
        max_actor_hops,
        closed_intents,
        extension_required,
        sticky_required,
        // How long exchanges live: a request holds what became of them.
        offer_life: _,
        agreement_life: _,
        trust_store_by_location,
        context_free,
        // No answer depends on it.
        cache_bytes: _,
        evidence: _,
        mask: _,
        // A request says its own.
        generation: _,
        // Made from all the others, and compared with the report's.
        digest: _,
    } = config;
    let mut keep = |octets: Vec<u8>| {
        let blob = Blob::new(octets);
        let digest = blob.digest();
        blobs.push(blob);
        digest
    };
    let plain =
        |id: &str, digest, at| Document { id: id.to_owned(), digest, media_type: None, at, limits: None };
    let mut placed = Vec::new();
    for (id, document, at) in controllers.iter() {
        placed.push(plain(id, keep(serde_json::to_vec(document)?), Some(at)));
    }
    let mut retrieved = Vec::new();
    for (url, document, at) in controllers.iter_retrieved_at() {
        retrieved.push(plain(url, keep(serde_json::to_vec(document)?), Some(at)));
    }
    let mut feeds = Vec::new();
    for feed in revocations {
        feeds.push(plain(feed.publisher(), keep(serde_json::to_vec(feed.policies())?), Some(feed.read())));
    }
    let lists = status_lists.iter().map(|(url, list)| Document {
        media_type: Some(list.media_type.clone()),
        ..plain(url, keep(list.text.clone().into_bytes()), Some(list.retrieved))
    });
    let lists = lists.collect();
    let policies =
        policies.documents.iter().map(|(id, StoredPolicy { text, media_type, graph: _, read, limits })| {
            Document {
                media_type: Some(media_type.as_str().to_owned()),
                limits: Some(limits.clone()),
                ..plain(id, keep(text.clone().into_bytes()), Some(*read))
            }
        });
    let policies = policies.collect();
    Ok(Manifest {
        version: VERSION.to_owned(),
        domains: domains.clone(),
        roots: roots.iter().map(|(prefix, owner)| (prefix.to_owned(), owner.to_owned())).collect(),
        protocols: protocols.iter().map(|document| protocol(document, &mut keep)).collect(),
        controllers: placed,
        retrieved_controllers: retrieved,
        status_lists: lists,
        revocations: feeds,
        policies,
        limits: limits.clone(),
        obligations: obligations.clone(),
        require_duties: *require_duties,
        max_life_without_status: Span::of(*max_life_without_status),
        max_presentation_age: Span::of(*max_presentation_age),
        skew: Span::of(*skew),
        max_controller_age: Span::of(*max_controller_age),
        max_status_age: Span::of(*max_status_age),
        max_chain_length: *max_chain_length,
        max_actor_hops: *max_actor_hops,
        closed_intents: *closed_intents,
        extension_required: *extension_required,
        sticky_required: *sticky_required,
        trust_store_by_location: *trust_store_by_location,
        context_free: *context_free,
    })
}

fn protocol(document: &ProtocolDocument, keep: &mut impl FnMut(Vec<u8>) -> Digest) -> Protocol {
    let ReadFrom { text, media_type, limits } = &document.read_from;
    let ProtocolSettings { hash, actions, parameters, security_bearing, binding, declared, name, source } =
        &document.settings;
    Protocol {
        document: Document {
            id: document.id().to_owned(),
            digest: keep(text.as_bytes().to_vec()),
            media_type: Some(media_type.to_string()),
            at: None,
            limits: Some(limits.clone()),
        },
        hash: hash.to_string(),
        actions: actions.clone(),
        parameters: parameters.clone(),
        security_bearing: *security_bearing,
        binding: *binding,
        declared: *declared,
        name: name.clone(),
        source: source.as_ref().map(ToString::to_string),
    }
}

/// The configuration of a manifest, its documents had from `get`, which hashes them.
pub(super) fn rebuilt(
    manifest: &[u8],
    get: &mut dyn FnMut(BlobKind, Digest) -> Result<Vec<u8>, EvidenceError>,
) -> Result<Config, EvidenceError> {
    let problem = |problem: String| unreadable(BlobKind::Configuration, problem);
    let manifest: Manifest = serde_json::from_slice(manifest).map_err(|cause| problem(cause.to_string()))?;
    if manifest.version != VERSION {
        return Err(problem(format!("it is of version {}", manifest.version)));
    }
    let mut roots = RootPrincipals::default();
    for (prefix, principal) in &manifest.roots {
        roots.add(prefix, principal).map_err(|cause| problem(cause.to_string()))?;
    }
    let mut protocols = ProtocolRegistry::default();
    for entry in manifest.protocols {
        protocols.add(protocol_again(entry, get)?);
    }
    let mut controllers = ControllerDocuments::default();
    for entry in &manifest.controllers {
        controllers.insert(&*entry.id, json(entry, CONTROLLER, get)?, entry.instant(CONTROLLER)?);
    }
    for entry in &manifest.retrieved_controllers {
        controllers.insert_retrieved(&*entry.id, json(entry, CONTROLLER, get)?, entry.instant(CONTROLLER)?);
    }
    let mut status_lists = StatusLists::default();
    for entry in &manifest.status_lists {
        let (kind, text) = ("status list", text(entry, "status list", get)?);
        status_lists.insert(&*entry.id, text, entry.media_type(kind)?, entry.instant(kind)?);
    }
    let mut revocations = Vec::new();
    for entry in &manifest.revocations {
        let kind = "revocation feed";
        let policies = json(entry, kind, get)?;
        let feed = RevocationFeed::of_evidence(&entry.id, policies, entry.instant(kind)?);
        revocations.push(feed.map_err(|cause| entry.unreadable(kind, cause))?);
    }
    let policies = policies(&manifest.policies, get)?;
    let span = |span: Span| span.delta().ok_or_else(|| problem("a duration is out of range".into()));
    let config = Config {
        domains: manifest.domains,
        roots,
        protocols,
        controllers: Arc::new(controllers),
        status_lists: Arc::new(status_lists),
        revocations,
        facts: StoredFacts::of(&policies),
        policies,
        limits: manifest.limits,
        obligations: manifest.obligations,
        require_duties: manifest.require_duties,
        max_life_without_status: span(manifest.max_life_without_status)?,
        max_presentation_age: span(manifest.max_presentation_age)?,
        skew: span(manifest.skew)?,
        max_controller_age: span(manifest.max_controller_age)?,
        max_status_age: span(manifest.max_status_age)?,
        max_chain_length: manifest.max_chain_length,
        max_actor_hops: manifest.max_actor_hops,
        closed_intents: manifest.closed_intents,
        extension_required: manifest.extension_required,
        sticky_required: manifest.sticky_required,
        // Nothing is negotiated again, and no paper is seen twice.
        offer_life: TimeDelta::seconds(1),
        agreement_life: TimeDelta::seconds(1),
        cache_bytes: 0,
        evidence: EvidenceMode::Full,
        mask: Mask::default(),
        trust_store_by_location: manifest.trust_store_by_location,
        context_free: manifest.context_free,
        generation: 0,
        digest: Digest::of([]),
    };
    config.checked().map_err(|cause| problem(cause.to_string()))
}

const CONTROLLER: &str = "controller document";

type Get<'g> = &'g mut dyn FnMut(BlobKind, Digest) -> Result<Vec<u8>, EvidenceError>;

fn protocol_again(entry: Protocol, get: Get<'_>) -> Result<ProtocolDocument, EvidenceError> {
    let kind = "Protocol Document";
    let Protocol { document, hash, actions, parameters, security_bearing, binding, declared, name, source } =
        entry;
    let settings = ProtocolSettings {
        hash: hash.parse().map_err(|cause| document.unreadable(kind, cause))?,
        actions,
        parameters,
        security_bearing,
        binding,
        declared,
        name,
        source: source
            .map(|source| source.parse().map_err(|_| document.unreadable(kind, "its source is no URL")))
            .transpose()?,
    };
    let text = text(&document, kind, get)?;
    let loaded = ProtocolDocument::load(&text, document.media_type(kind)?, settings, document.limits(kind)?);
    loaded.map_err(|cause| document.unreadable(kind, cause))
}

fn policies(entries: &[Document], get: Get<'_>) -> Result<PolicyStore, EvidenceError> {
    let kind = "policy";
    let mut store = PolicyStore::default();
    for entry in entries {
        let text = text(entry, kind, get)?;
        let id = store
            .add(&text, entry.media_type(kind)?, entry.instant(kind)?, entry.limits(kind)?)
            .map_err(|cause| entry.unreadable(kind, cause))?;
        if id != entry.id {
            return Err(entry.unreadable(kind, "it holds another policy"));
        }
    }
    Ok(store)
}

fn text(entry: &Document, kind: &'static str, get: Get<'_>) -> Result<String, EvidenceError> {
    let octets = get(BlobKind::Document(kind, entry.id.clone()), entry.digest)?;
    String::from_utf8(octets).map_err(|_| entry.unreadable(kind, "it is not UTF-8"))
}

fn json<T: for<'de> Deserialize<'de>>(
    entry: &Document,
    kind: &'static str,
    get: Get<'_>,
) -> Result<T, EvidenceError> {
    let octets = get(BlobKind::Document(kind, entry.id.clone()), entry.digest)?;
    serde_json::from_slice(&octets).map_err(|cause| entry.unreadable(kind, cause))
}

impl Document {
    fn unreadable(&self, kind: &'static str, problem: impl std::fmt::Display) -> EvidenceError {
        unreadable(BlobKind::Document(kind, self.id.clone()), problem)
    }

    fn media_type(&self, kind: &'static str) -> Result<&str, EvidenceError> {
        self.media_type.as_deref().ok_or_else(|| self.unreadable(kind, "the manifest names no media type"))
    }

    fn instant(&self, kind: &'static str) -> Result<Instant, EvidenceError> {
        self.at.ok_or_else(|| self.unreadable(kind, "the manifest names no instant"))
    }

    fn limits(&self, kind: &'static str) -> Result<&Limits, EvidenceError> {
        self.limits.as_ref().ok_or_else(|| self.unreadable(kind, "the manifest names no limits"))
    }
}
