//! The checked configuration. The raw file and the checked [`Config`] are two types: the engine runs on what is meant,
//! never on what was typed. A missing safety setting stops start-up.

use crate::audit::Mask;
use crate::audit::evidence::EvidenceMode;
use crate::credential::{ControllerDocuments, StatusLists};
use crate::limits::Limits;
use crate::mandate::odrl::StoredFacts;
use crate::message::{Digest, action};
use crate::protocol::handshake::MAX_TEXT_CHARS;
use crate::protocol::{ProtocolDocument, ProtocolRegistry};
use crate::rdf::{RdfMediaType, parse_graph};
use crate::request::Instant;
use crate::source::RevocationFeed;
use chrono::TimeDelta;
use oxrdf::{Graph, NamedNode};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod challenges;
mod fetch;
mod file;
mod ledger;
mod offers;
mod roots;

pub(crate) use challenges::new_secret;
pub use file::ConfigFile;
pub(crate) use file::{controllers_of_folder, media_type_of};
pub use roots::RootPrincipals;

/// Some five hundred mandates.
const DEFAULT_CACHE_BYTES: usize = 32 << 20;

/// How far a required protocol keeps prose of its peer out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StickyRequired {
    /// In its context.
    #[default]
    Context,
    /// In every context of the peer.
    Peer,
}

/// Everything that the engine is told, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The domains that presentations may name (audience); never empty. The first is the default.
    pub(crate) domains: Vec<String>,
    /// Target IRI prefix in normal form -> the principal that owns everything below it.
    pub(crate) roots: RootPrincipals,
    pub(crate) protocols: ProtocolRegistry,
    pub(crate) controllers: Arc<ControllerDocuments>,
    pub(crate) status_lists: Arc<StatusLists>,
    /// What publishers say of policies. The ledger remembers it from the start on.
    pub(crate) revocations: Vec<RevocationFeed>,
    pub(crate) policies: PolicyStore,
    /// What `policies` state as facts.
    pub(crate) facts: StoredFacts,
    pub(crate) limits: Limits,
    /// Duty action IRIs that this server can keep.
    pub(crate) obligations: BTreeSet<String>,
    /// Duties must be in `CallerFacts::discharged`.
    pub(crate) require_duties: bool,
    /// The longest life of a credential without a status entry.
    pub(crate) max_life_without_status: TimeDelta,
    /// How old a presentation may be.
    pub(crate) max_presentation_age: TimeDelta,
    /// How far clocks may differ.
    pub(crate) skew: TimeDelta,
    /// How old a controller document may be.
    pub(crate) max_controller_age: TimeDelta,
    /// How long ago a status list may have been retrieved.
    pub(crate) max_status_age: TimeDelta,
    pub(crate) max_chain_length: usize,
    pub(crate) max_actor_hops: usize,
    /// On the intent and its actions, a predicate that nothing maps refuses.
    pub(crate) closed_intents: bool,
    /// Our card marks the extension required: every message must activate it.
    pub(crate) extension_required: bool,
    /// How far a required protocol keeps prose out.
    pub(crate) sticky_required: StickyRequired,
    /// How long an offer of ours waits for its answer.
    pub(crate) offer_life: TimeDelta,
    /// How long an agreed protocol stays so before it has to be agreed anew.
    pub(crate) agreement_life: TimeDelta,
    /// Policies of the store count as bound by location (`provisional`).
    pub(crate) trust_store_by_location: bool,
    /// Papers without `@context` are read by the context-free profile (`mandate.md` 9).
    pub(crate) context_free: bool,
    /// Octets that facts about papers may take between decisions; 0: none are kept. No answer depends on it.
    pub(crate) cache_bytes: usize,
    /// How much evidence of each decision the ledger keeps. No answer depends on it.
    pub(crate) evidence: EvidenceMode,
    /// What recorded reports leave out. No answer depends on it.
    pub(crate) mask: Mask,
    pub(crate) generation: u64,
    pub(crate) digest: Digest,
}

/// Builds a [`Config`]. What safety needs is an argument of [`ConfigBuilder::new`]; what has a safe default has a
/// `with_*` method that states it.
#[derive(Debug)]
pub struct ConfigBuilder {
    config: Config,
}

impl ConfigBuilder {
    /// Starts from what has no default: the domain that presentations must name, and the owners of targets.
    pub fn new(domain: impl Into<String>, roots: RootPrincipals) -> Self {
        Self {
            config: Config {
                domains: vec![domain.into()],
                roots,
                protocols: ProtocolRegistry::default(),
                controllers: Arc::default(),
                status_lists: Arc::default(),
                revocations: Vec::new(),
                policies: PolicyStore::default(),
                facts: StoredFacts::default(),
                limits: Limits::default(),
                obligations: BTreeSet::new(),
                require_duties: false,
                max_life_without_status: TimeDelta::days(90),
                max_presentation_age: TimeDelta::minutes(5),
                skew: TimeDelta::seconds(60),
                max_controller_age: TimeDelta::hours(24),
                max_status_age: TimeDelta::hours(1),
                max_chain_length: 8,
                max_actor_hops: 1,
                closed_intents: true,
                extension_required: false,
                sticky_required: StickyRequired::Context,
                offer_life: TimeDelta::minutes(10),
                agreement_life: TimeDelta::days(30),
                trust_store_by_location: false,
                context_free: false,
                cache_bytes: DEFAULT_CACHE_BYTES,
                evidence: EvidenceMode::Full,
                mask: Mask::default(),
                generation: 1,
                digest: Digest::of([]),
            },
        }
    }

    /// Adds a further domain that callers may ask for.
    pub fn with_domain(mut self, domain: impl Into<String>) -> Self {
        self.config.domains.push(domain.into());
        self
    }

    /// Adds a Protocol Document that is spoken here. Default: none, and every intent is refused.
    pub fn with_protocol(mut self, document: ProtocolDocument) -> Self {
        self.config.protocols.add(document);
        self
    }

    /// Sets the controller documents. Default: none, so that only did:key and did:jwk identify anybody.
    pub fn with_controllers(mut self, controllers: ControllerDocuments) -> Self {
        self.config.controllers = Arc::new(controllers);
        self
    }

    /// Sets the status lists. Default: none, so that a credential with a status entry is refused. An engine keeps the
    /// lists that it was built with: newer ones come with a new engine over the same ledger.
    pub fn with_status_lists(mut self, lists: StatusLists) -> Self {
        self.config.status_lists = Arc::new(lists);
        self
    }

    /// Adds what a publisher says is revoked. Default: none; what the ledger was once told stays revoked. While an engine
    /// runs, [`crate::ledger::Ledger::mark_revoked`] tells it more.
    pub fn with_revocations(mut self, feed: RevocationFeed) -> Self {
        self.config.revocations.push(feed);
        self
    }

    /// Sets the policy store. Default: empty.
    pub fn with_policies(mut self, policies: PolicyStore) -> Self {
        self.config.facts = StoredFacts::of(&policies);
        self.config.policies = policies;
        self
    }

    /// Lets policies of the store count as bound by their location. Default: off.
    pub fn with_store_trusted_by_location(mut self, trusted: bool) -> Self {
        self.config.trust_store_by_location = trusted;
        self
    }

    /// Lowers limits. Default: [`Limits::default`], and none may be higher.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Adds a duty, by action IRI, that this server can keep. Default: none, so that any duty refuses at admission.
    pub fn with_obligation(mut self, action: impl Into<String>) -> Self {
        self.config.obligations.insert(action.into());
        self
    }

    /// Makes duties a condition of the grant itself. Default: off; they come with the permit.
    pub fn with_duties_required(mut self, required: bool) -> Self {
        self.config.require_duties = required;
        self
    }

    /// Sets the longest life of a credential without a status entry. Default: 90 days.
    pub fn with_max_life_without_status(mut self, life: TimeDelta) -> Self {
        self.config.max_life_without_status = life;
        self
    }

    /// Sets how old a presentation may be. Default: 5 minutes.
    pub fn with_max_presentation_age(mut self, age: TimeDelta) -> Self {
        self.config.max_presentation_age = age;
        self
    }

    /// Sets how far clocks may differ. Default: 60 seconds.
    pub fn with_skew(mut self, skew: TimeDelta) -> Self {
        self.config.skew = skew;
        self
    }

    /// Sets how old a controller document may be. Default: 24 hours.
    pub fn with_max_controller_age(mut self, age: TimeDelta) -> Self {
        self.config.max_controller_age = age;
        self
    }

    /// Sets how long ago a status list may have been retrieved. Default: 1 hour.
    pub fn with_max_status_age(mut self, age: TimeDelta) -> Self {
        self.config.max_status_age = age;
        self
    }

    /// Reads papers that have no `@context` by the context-free profile. Default: off; they are `MALFORMED`.
    pub fn with_context_free_credentials(mut self, accepted: bool) -> Self {
        self.config.context_free = accepted;
        self
    }

    /// Sets how many octets, about, facts about papers may take between decisions; 0 keeps none. No answer depends on
    /// it. Default: 32 MiB, for some five hundred mandates.
    pub fn with_fact_cache_bytes(mut self, octets: usize) -> Self {
        self.config.cache_bytes = octets;
        self
    }

    /// Sets how much evidence of each decision the ledger keeps. Default: [`EvidenceMode::Full`], so that a ledger's file
    /// is all that a re-decision needs: some ten to thirty KiB of each decision, which can be erased. With
    /// [`EvidenceMode::Digests`] a decision is re-run by whoever kept its inputs elsewhere. No answer depends on it.
    pub fn with_evidence(mut self, mode: EvidenceMode) -> Self {
        self.config.evidence = mode;
        self
    }

    /// Sets what recorded reports leave out. Default: nothing. No answer depends on it.
    pub fn with_mask(mut self, mask: Mask) -> Self {
        self.config.mask = mask;
        self
    }

    /// Sets the longest chain. Default: 8 hops.
    pub fn with_max_chain_length(mut self, hops: usize) -> Self {
        self.config.max_chain_length = hops;
        self
    }

    /// Sets the longest second chain, from the mandate's delegate to another agent that acts for it. Default: 1 hop; 0
    /// lets nobody act but the delegate itself.
    pub fn with_max_actor_hops(mut self, hops: usize) -> Self {
        self.config.max_actor_hops = hops;
        self
    }

    /// Lets an intent hold predicates that nothing maps. Default: it may not.
    pub fn with_open_intents(mut self) -> Self {
        self.config.closed_intents = false;
        self
    }

    /// Requires every message to activate the extension, as a card that marks it required says. Default: off.
    pub fn with_extension_required(mut self, required: bool) -> Self {
        self.config.extension_required = required;
        self
    }

    /// Sets how far a required protocol keeps prose out. Default: in its context; elsewhere prose has no effects that bear
    /// on security.
    pub fn with_sticky_required(mut self, sticky: StickyRequired) -> Self {
        self.config.sticky_required = sticky;
        self
    }

    /// Sets how long an offer of ours waits for its answer. Default: 10 minutes.
    pub fn with_offer_life(mut self, life: TimeDelta) -> Self {
        self.config.offer_life = life;
        self
    }

    /// Sets how long an agreed protocol stays so. Default: 30 days.
    pub fn with_agreement_life(mut self, life: TimeDelta) -> Self {
        self.config.agreement_life = life;
        self
    }

    /// Numbers the configuration; every report names it. At most 2^53 - 1. Default: 1.
    pub fn with_generation(mut self, generation: u64) -> Self {
        self.config.generation = generation;
        self
    }

    /// Checks the whole.
    ///
    /// # Errors
    /// [`ConfigError`] for a setting that is missing, contradictory or of no effect.
    pub fn build(mut self) -> Result<Config, ConfigError> {
        let config = &mut self.config;
        if config.domains.iter().any(|domain| domain.trim().is_empty()) {
            return Err(ConfigError::new("domains", "a domain is empty"));
        }
        if config.roots.prefixes.is_empty() {
            return Err(ConfigError::new(
                "roots",
                "no target has an owner, so nothing could ever be allowed",
            ));
        }
        let durations = [
            ("max_life_without_status", config.max_life_without_status),
            ("max_presentation_age", config.max_presentation_age),
            ("max_controller_age", config.max_controller_age),
            ("max_status_age", config.max_status_age),
            ("offer_life", config.offer_life),
            ("agreement_life", config.agreement_life),
        ];
        for (setting, duration) in durations {
            if duration <= TimeDelta::zero() {
                return Err(ConfigError::new(setting, "must be longer than nothing"));
            }
        }
        if config.skew < TimeDelta::zero() {
            return Err(ConfigError::new("skew", "must not be negative"));
        }
        if config.max_chain_length == 0 {
            return Err(ConfigError::new("max_chain_length", "must be at least 1"));
        }
        // Reports are JSON in JCS form, whose numbers are doubles: a larger one would not read back as it is.
        if config.generation >= 1 << 53 {
            return Err(ConfigError::new("generation", "must be below 2^53"));
        }
        let raised = config.limits.raised().map_err(|cause| ConfigError::new("limits", cause.to_string()))?;
        if let Some(limit) = raised.first() {
            return Err(ConfigError::new(
                format!("limits.{limit}"),
                "is higher than its default, and may only be lowered",
            ));
        }
        for document in config.protocols.iter() {
            check_protocol(document)?;
        }
        config.digest = config.describe()?;
        Ok(self.config)
    }
}

/// A Protocol Document may map a class to no action that has narrower ones, and a parameter to no established operand.
fn check_protocol(document: &ProtocolDocument) -> Result<(), ConfigError> {
    use crate::vocab::{acl, odrl, schema};
    const BROAD: [&str; 5] = [odrl::USE, odrl::WRITE, acl::WRITE, odrl::TRANSFER, odrl::GRANT_USE];
    let settings = &document.settings;
    let setting = || format!("protocols.{}", settings.hash);
    if settings.actions.is_empty() {
        return Err(ConfigError::new(
            setting(),
            "carries no action class: `classes` or `actions` says which",
        ));
    }
    // A declared document is known to every conversation because the card lists it (PP-7), and the card lists each with
    // its source. Without one the two would differ, and intents would be taken that no client was told of.
    if settings.declared && settings.source.is_none() {
        return Err(ConfigError::new(setting(), "is declared, but has no `source` for the card to list"));
    }
    if settings.name.as_ref().is_some_and(|name| name.is_empty() || name.chars().count() > MAX_TEXT_CHARS) {
        return Err(ConfigError::new(setting(), "has a name that is empty or longer than peers read"));
    }
    for (class, action) in &settings.actions {
        let default = class == schema::CREATE_ACTION && action == odrl::WRITE;
        if BROAD.contains(&action.as_str()) && !default {
            return Err(ConfigError::new(
                setting(),
                format!("{class} maps to {action}, which covers narrower actions"),
            ));
        }
        if NamedNode::new(class).is_err() || NamedNode::new(action).is_err() {
            return Err(ConfigError::new(setting(), "an action class or action is not an IRI"));
        }
    }
    let taken = |operand: &&String| {
        let operand = operand.as_str();
        action::ESTABLISHED.contains(&operand) || [action::RECIPIENT, action::MODE].contains(&operand)
    };
    match settings.parameters.values().find(taken) {
        Some(operand) => Err(ConfigError::new(
            setting(),
            format!("a parameter maps to {operand}, which is established or has its own predicate"),
        )),
        None => Ok(()),
    }
}

impl Config {
    /// The generation that every report names.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// SHA-256 over everything that the configuration says, in JCS form.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The domain that presentations name unless a caller says otherwise.
    pub fn default_domain(&self) -> &str {
        self.domains.first().map(String::as_str).unwrap_or_default()
    }

    /// How long a presentation or a challenge may be used at most: what a ledger prunes is older by more than that. A day,
    /// which no challenge that is issued lives, or the age of presentations where that is longer.
    pub fn fresh_for(&self) -> TimeDelta {
        self.max_presentation_age.max(TimeDelta::days(1))
    }

    /// How far clocks may differ.
    pub fn skew(&self) -> TimeDelta {
        self.skew
    }

    /// The bounds of a decision.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The Protocol Documents that are spoken here.
    pub fn protocols(&self) -> &ProtocolRegistry {
        &self.protocols
    }

    /// A configuration that was put together from evidence, checked and described as a built one is.
    ///
    /// # Errors
    /// As [`ConfigBuilder::build`].
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        ConfigBuilder { config: self }.build()
    }

    /// The digest of everything that can change an answer.
    fn describe(&self) -> Result<Digest, ConfigError> {
        let protocols: Vec<_> = self
            .protocols
            .iter()
            .map(|document| {
                let settings = &document.settings;
                json!({
                    "hash": settings.hash.as_str(), "actions": settings.actions, "parameters": settings.parameters,
                    "securityBearing": settings.security_bearing, "binding": settings.binding,
                    "declared": settings.declared,
                })
            })
            .collect();
        let policies: BTreeMap<_, _> = self
            .policies
            .documents
            .iter()
            .map(|(id, policy)| (id, (policy.media_type.as_str(), Digest::of(&policy.text))))
            .collect();
        let controllers: BTreeMap<_, _> =
            self.controllers.iter().map(|(id, document, _)| (id, document)).collect();
        let retrieved: BTreeMap<_, _> = self.controllers.iter_retrieved().collect();
        let revocations: BTreeSet<_> =
            self.revocations.iter().map(|feed| (feed.publisher(), feed.policies())).collect();
        let status_lists: BTreeMap<_, _> = self
            .status_lists
            .iter()
            .map(|(url, list)| (url, (list.media_type.as_str(), Digest::of(&list.text))))
            .collect();
        let description = json!({
            "domains": self.domains, "roots": self.roots.prefixes, "protocols": protocols,
            "controllers": controllers, "retrievedControllers": retrieved, "revocations": revocations,
            "statusLists": status_lists, "policies": policies, "limits": self.limits,
            "obligations": self.obligations, "requireDuties": self.require_duties,
            "maxLifeWithoutStatus": self.max_life_without_status.num_milliseconds(),
            "maxPresentationAge": self.max_presentation_age.num_milliseconds(),
            "skew": self.skew.num_milliseconds(),
            "maxControllerAge": self.max_controller_age.num_milliseconds(),
            "maxStatusAge": self.max_status_age.num_milliseconds(),
            "maxChainLength": self.max_chain_length, "maxActorHops": self.max_actor_hops,
            "closedIntents": self.closed_intents, "extensionRequired": self.extension_required,
            "stickyRequired": self.sticky_required,
            "trustStoreByLocation": self.trust_store_by_location, "contextFree": self.context_free,
        });
        Digest::of_jcs(&description).map_err(|cause| ConfigError::new("configuration", cause.to_string()))
    }
}

impl PolicyStore {
    /// Adds a policy document under the id of its one policy.
    ///
    /// # Errors
    /// A document that is not RDF of one policy, or an id that is there already.
    pub fn add(
        &mut self,
        text: &str,
        media_type: &str,
        read: Instant,
        limits: &Limits,
    ) -> Result<String, ConfigError> {
        let problem = |problem: &str| ConfigError::new("policies", problem);
        let media_type =
            RdfMediaType::parse(media_type).ok_or_else(|| problem("a document's media type is not RDF"))?;
        let graph = parse_graph(text, media_type, limits).map_err(|cause| problem(&cause.to_string()))?;
        let id = crate::mandate::odrl::policy_id(&graph)
            .ok_or_else(|| problem("a document holds not exactly one policy"))?;
        let stored = StoredPolicy { text: text.to_owned(), media_type, graph, read, limits: limits.clone() };
        match self.documents.insert(id.clone(), stored) {
            None => Ok(id),
            Some(_) => Err(problem(&format!("two documents hold the policy {id}"))),
        }
    }
}

impl ConfigError {
    pub(crate) fn new(setting: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { setting: setting.into(), problem: problem.into() }
    }
}

/// Policy documents that the operator placed here.
#[derive(Debug, Clone, Default)]
pub struct PolicyStore {
    pub(crate) documents: BTreeMap<String, StoredPolicy>,
}

/// One policy document of the store.
#[derive(Debug, Clone)]
pub(crate) struct StoredPolicy {
    pub(crate) text: String,
    pub(crate) media_type: crate::rdf::RdfMediaType,
    pub(crate) graph: Graph,
    pub(crate) read: Instant,
    /// What it was read under.
    pub(crate) limits: Limits,
}

/// A setting that is missing, contradictory or unreadable. Start-up stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct ConfigError {
    /// The setting's path.
    pub setting: String,
    /// What is wrong with it.
    pub problem: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Binding, ProtocolSettings};
    use crate::vocab::{acl, odrl, schema};

    const DOCUMENT: &str = include_str!("../policies/read.ttl");

    fn roots() -> RootPrincipals {
        let mut roots = RootPrincipals::default();
        roots.add("https://alice.pod.example/", "https://alice.pod.example/profile#me").unwrap();
        roots
    }

    fn builder() -> ConfigBuilder {
        ConfigBuilder::new("https://alice.pod.example/agent", roots())
    }

    fn protocol(actions: &[(&str, &str)], parameters: &[(&str, &str)]) -> ProtocolDocument {
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
        };
        let settings = ProtocolSettings {
            hash: ProtocolDocument::hash_of(DOCUMENT, "text/turtle", &Limits::default()).unwrap(),
            actions: owned(actions),
            parameters: owned(parameters),
            security_bearing: true,
            binding: Binding::Accepted,
            declared: true,
            name: None,
            source: Some("https://alice.pod.example/protocols/read".parse().unwrap()),
        };
        ProtocolDocument::load(DOCUMENT, "text/turtle", settings, &Limits::default()).unwrap()
    }

    #[track_caller]
    fn assert_wrong(builder: ConfigBuilder, setting: &str) {
        let error = builder.build().expect_err("a wrong setting was taken");
        assert!(error.setting.starts_with(setting), "{error}");
    }

    #[test]
    fn a_missing_or_contradictory_setting_stops_start_up() {
        assert!(builder().build().is_ok());
        assert_wrong(ConfigBuilder::new(" ", roots()), "domains");
        assert_wrong(builder().with_domain(""), "domains");
        assert_wrong(
            ConfigBuilder::new("https://alice.pod.example/agent", RootPrincipals::default()),
            "roots",
        );
        assert_wrong(builder().with_max_life_without_status(TimeDelta::zero()), "max_life_without_status");
        assert_wrong(builder().with_max_presentation_age(TimeDelta::zero()), "max_presentation_age");
        assert_wrong(builder().with_max_controller_age(TimeDelta::seconds(-1)), "max_controller_age");
        assert_wrong(builder().with_max_status_age(TimeDelta::zero()), "max_status_age");
        assert_wrong(builder().with_skew(TimeDelta::seconds(-1)), "skew");
        assert_wrong(builder().with_max_chain_length(0), "max_chain_length");
        assert!(builder().with_generation((1 << 53) - 1).build().is_ok());
        assert_wrong(builder().with_generation(1 << 53), "generation");
    }

    #[test]
    fn limits_are_lowered_and_not_raised() {
        let defaults = Limits::default();
        let with = |limits| builder().with_limits(limits);
        assert!(with(Limits { json_depth: 63, evidence_chars: 0, ..Limits::default() }).build().is_ok());
        let depth = Limits { json_depth: defaults.json_depth + 1, ..Limits::default() };
        assert_wrong(with(depth), "limits.json_depth");
        let octets = Limits { message_bytes: usize::MAX, parts: 1, ..defaults };
        assert_wrong(with(octets), "limits.message_bytes");
    }

    #[test]
    fn a_protocol_maps_no_class_to_an_action_with_narrower_ones() {
        let with = |class, action| builder().with_protocol(protocol(&[(class, action)], &[]));
        assert!(with(schema::READ_ACTION, odrl::READ).build().is_ok());
        assert!(with(schema::CREATE_ACTION, odrl::WRITE).build().is_ok());
        for action in [odrl::USE, odrl::WRITE, acl::WRITE, odrl::TRANSFER, odrl::GRANT_USE] {
            assert_wrong(with(schema::READ_ACTION, action), "protocols");
        }
        assert_wrong(with("not an IRI", odrl::READ), "protocols");
        assert_wrong(builder().with_protocol(protocol(&[], &[])), "protocols");
    }

    #[test]
    fn a_protocol_maps_no_parameter_to_an_operand_that_is_not_stated_so() {
        let read = [(schema::READ_ACTION, odrl::READ)];
        let with = |operand| builder().with_protocol(protocol(&read, &[("key", operand)]));
        assert!(with("purpose").build().is_ok());
        for operand in ["count", "dateTime", "delegationDepth", "recipient", "mode"] {
            assert_wrong(with(operand), "protocols");
        }
    }

    #[test]
    fn everything_that_can_change_an_answer_changes_the_digest() {
        let digest = |builder: ConfigBuilder| builder.build().unwrap().digest();
        let mut policies = PolicyStore::default();
        let policy = include_str!("../policies/alice-to-agent.ttl");
        policies.add(policy, "text/turtle", Instant::UNIX_EPOCH, &Limits::default()).unwrap();
        let mut controllers = ControllerDocuments::default();
        controllers.insert("https://a.example/", json!({"id": "https://a.example/"}), Instant::UNIX_EPOCH);
        let mut retrieved = ControllerDocuments::default();
        retrieved.insert_retrieved("https://a.example/card", json!({}), Instant::UNIX_EPOCH);
        let feed = |text| {
            RevocationFeed::of_statements("https://a.example/#me", text, "text/turtle", Instant::UNIX_EPOCH)
        };
        let revocation = "[] a <https://w3id.org/jeswr/odrl-delegation#Revocation> ;
            <https://w3id.org/jeswr/odrl-delegation#revokedPolicy> <https://a.example/policy> .";
        let mut lists = StatusLists::default();
        lists.insert("https://a.example/status", "list", "text/turtle", Instant::UNIX_EPOCH);
        let read = protocol(&[(schema::READ_ACTION, odrl::READ)], &[]);
        let digests = BTreeSet::from([
            digest(builder()),
            digest(builder().with_domain("https://other.example/")),
            digest(builder().with_protocol(read)),
            digest(builder().with_controllers(controllers)),
            digest(builder().with_controllers(retrieved)),
            digest(builder().with_revocations(feed("").unwrap())),
            digest(builder().with_revocations(feed(revocation).unwrap())),
            digest(builder().with_status_lists(lists)),
            digest(builder().with_policies(policies)),
            digest(builder().with_store_trusted_by_location(true)),
            digest(builder().with_limits(Limits { parts: 1, ..Limits::default() })),
            digest(builder().with_obligation("https://a.example/duty")),
            digest(builder().with_duties_required(true)),
            digest(builder().with_max_life_without_status(TimeDelta::days(1))),
            digest(builder().with_max_presentation_age(TimeDelta::days(1))),
            digest(builder().with_skew(TimeDelta::days(1))),
            digest(builder().with_max_controller_age(TimeDelta::days(2))),
            digest(builder().with_max_status_age(TimeDelta::days(2))),
            digest(builder().with_context_free_credentials(true)),
            digest(builder().with_max_chain_length(3)),
            digest(builder().with_max_actor_hops(0)),
            digest(builder().with_open_intents()),
            digest(builder().with_extension_required(true)),
        ]);
        assert_eq!(digests.len(), 23);
    }

    #[test]
    fn a_policy_store_holds_each_policy_once() {
        let policy = include_str!("../policies/alice-to-agent.ttl");
        let mut store = PolicyStore::default();
        let mut add = |text: &str, media_type: &str| {
            store.add(text, media_type, Instant::UNIX_EPOCH, &Limits::default())
        };
        assert_eq!(add(policy, "text/turtle").unwrap(), "https://alice.pod.example/policies/alice-to-agent");
        assert!(add(policy, "text/turtle").is_err());
        assert!(add("<urn:a> <urn:b> <urn:c> .", "text/turtle").is_err());
        assert!(add("not RDF", "text/turtle").is_err());
        assert!(add(policy, "text/plain").is_err());
    }
}
