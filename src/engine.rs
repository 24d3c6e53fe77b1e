//! The pipeline, on one screen.
//!
//! [`Engine::evaluate`] runs stages 1 to 9: pure and deterministic, without clock, I/O or writes. [`Engine::decide`]
//! takes the snapshot, evaluates, and runs stage 10 in one ledger transaction. Cheap checks come before dear ones, and
//! nothing is written before everything holds.

use crate::audit::{Consulted, Draft};
use crate::config::{Config, ConfigError};
use crate::credential::{
    ChallengeError, ChallengeIssuer, IssuedChallenges, Known, KnownFacts, Recipient, VerifiedPresentation,
    digest_of_limits,
};
use crate::decision::{Evaluation, Grant, NotOurs, Outcome};
use crate::explain::Explanation;
use crate::ledger::{Learned, Ledger, LedgerError, LedgerSnapshot, Revoked};
use crate::mandate::odrl::PolicyGrant;
use crate::mandate::{PolicyReferences, VerifiedChain};
use crate::message::{ActionsUnderTest, Admitted, Digest, Envelope, IntentGraph, admit};
use crate::protocol::ProtocolDocument;
use crate::protocol::conversation::{ConversationKey, Role};
use crate::rdf::Budget;
use crate::refusal::{Refusal, Stage};
use crate::request::{CallerFacts, Conversation, Instant, Request, Snapshot};
use crate::shape::ConformingIntent;
use crate::source::{DocumentQueue, RevocationFeed};
use chrono::SubsecRound as _;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

mod decide;
mod negotiate;
pub(crate) mod response;

pub(crate) use decide::decision_id;
pub use negotiate::{Offer, Received};

#[cfg(not(panic = "unwind"))]
compile_error!("Writgate turns a panic in a dependency into a refusal, which needs `panic = \"unwind\"`");

/// The policy decision point: a configuration, a ledger and a clock.
#[derive(Debug, Clone)]
pub struct Engine {
    config: Arc<Config>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    /// What is known of papers that were seen before. No answer depends on it.
    known: Arc<KnownFacts>,
    /// Of the configuration's limits: what is known was read under some.
    limits: Digest,
    /// Where documents that peers offer, and that are not spoken here, are left to be fetched. No answer depends on it.
    offered: Option<Arc<dyn DocumentQueue>>,
    /// Who issues challenges, and knows them again.
    issued: IssuedChallenges,
}

/// Where `decide` takes the time from. `evaluate` never asks.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The current instant.
    fn now(&self) -> Instant;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        chrono::Utc::now()
    }
}

impl Engine {
    /// An engine that is whole: there is none without a configuration, a ledger and a clock. What the configuration's
    /// feeds say is revoked is in the ledger from here on, for good.
    ///
    /// # Errors
    /// [`ConfigError`] where the ledger serves another domain than the configuration: two ledgers need two domains, and
    /// one ledger can admit for its own only. Also where the ledger cannot remember the revocations.
    pub fn new(config: Config, ledger: Arc<dyn Ledger>, clock: Arc<dyn Clock>) -> Result<Self, ConfigError> {
        if let Some(stranger) = config.domains.iter().find(|domain| *domain != ledger.domain()) {
            return Err(ConfigError::new("domains", format!("the ledger does not serve {stranger}")));
        }
        let policies = config.revocations.iter().flat_map(RevocationFeed::revoked).collect();
        let revoked = Revoked { policies, ..Revoked::default() };
        if revoked != Revoked::default() {
            ledger
                .mark_revoked(&revoked, clock.now())
                .map_err(|cause| ConfigError::new("revocations", cause.to_string()))?;
        }
        let known = Arc::new(KnownFacts::new(config.cache_bytes));
        let limits = digest_of_limits(&config.limits);
        Ok(Self {
            config: Arc::new(config),
            ledger,
            clock,
            known,
            limits,
            offered: None,
            issued: IssuedChallenges::NoIssuer,
        })
    }

    /// Leaves documents that peers offer, and that are not spoken here, to be fetched. Default: nothing is. The offer is
    /// declined all the same, and the peer learns nothing of it.
    pub fn with_document_queue(self, queue: Arc<dyn DocumentQueue>) -> Self {
        Self { offered: Some(queue), ..self }
    }

    /// Issues challenges, and judges those that it or another engine with the same secret issued. Default: none is issued,
    /// and each is `CHALLENGE_UNKNOWN`.
    pub fn with_challenges(self, issuer: ChallengeIssuer) -> Self {
        Self { issued: IssuedChallenges::By(Arc::new(issuer)), ..self }
    }

    /// A new challenge for a caller to present, once and before it ends: it is good for this peer, actor, context and domain
    /// and no other. Nothing is kept of it (`admission-and-audit.md` 2).
    ///
    /// # Errors
    /// [`ChallengeError`]
    pub fn issue_challenge(&self, to: &CallerFacts) -> Result<String, ChallengeError> {
        let IssuedChallenges::By(issuer) = &self.issued else { return Err(ChallengeError::NoIssuer) };
        let domain = to.domain_among(&self.config.domains).ok_or(ChallengeError::UnknownDomain)?;
        issuer.issue(&Recipient::of(to, domain), self.clock.now())
    }

    /// The checked configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What is known at `instant` for a message with these facts: the ledger's memory, the state of the conversation, and
    /// the configuration's inputs.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn snapshot(&self, facts: &CallerFacts, instant: Instant) -> Result<Snapshot, LedgerError> {
        self.snapshot_of(&facts.conversation(Role::Agent), instant)
    }

    /// The same for a conversation in either role.
    pub(crate) fn snapshot_of(
        &self,
        of: &ConversationKey,
        instant: Instant,
    ) -> Result<Snapshot, LedgerError> {
        // Reports write milliseconds, and a re-decision at the reported instant must find the same.
        let instant = instant.trunc_subsecs(3);
        let LedgerSnapshot { memory, counts, conversation } = self.ledger.snapshot(of, instant)?;
        Ok(Snapshot { memory, counts, conversation, ..self.empty_snapshot(instant) })
    }

    /// What the configuration alone knows at `instant`.
    fn empty_snapshot(&self, instant: Instant) -> Snapshot {
        Snapshot {
            instant,
            generation: self.config.generation,
            conversation: Conversation::default(),
            memory: Arc::default(),
            counts: BTreeMap::new(),
            controllers: Arc::clone(&self.config.controllers),
            status_lists: Arc::clone(&self.config.status_lists),
            issued: self.issued.clone(),
        }
    }

    /// Forgets what is known of papers that were seen before. No answer depends on it.
    pub(crate) fn forget_papers(&self) {
        self.known.clear();
    }

    /// Runs stages 1 to 9. Asked again with an equal request, it answers alike, down to the octets of the report body.
    pub fn evaluate(&self, request: &Request) -> Evaluation {
        self.evaluate_watched(request, &mut |_| ())
    }

    /// Why [`Engine::evaluate`] refuses this request, for the server's own people and never for the peer: what is not as
    /// it must be, and the smallest change that would permit it, which was tried. `None` where it does not refuse.
    ///
    /// It evaluates anew, the policies up to 64 times: it is for a person who asks, not for each decision.
    pub fn explain(&self, request: &Request) -> Option<Explanation> {
        let (mut draft, mut learned) = (Draft::new(request, &self.config), Learned::default());
        let mut consulted = Consulted::default();
        let known = Known::nothing();
        let explain = || {
            let config = &self.config;
            let watch = &mut |_| ();
            let judged =
                before_policy(request, config, &known, &mut draft, &mut learned, &mut consulted, watch);
            match judged {
                Err(refusal) => Some(Explanation::of_refusal(&refusal)),
                Ok(None) => None,
                Ok(Some(proven)) => {
                    let holder = proven.presentation.holder();
                    PolicyGrant::explain(&proven.chain, &proven.actions, holder, request, &self.config)
                }
            }
        };
        // As in `evaluate`; and whatever panics has no explanation.
        catch_unwind(AssertUnwindSafe(explain)).ok().flatten()
    }

    /// [`Engine::evaluate`], telling `watch` which stage is about to run. The watcher cannot change the answer.
    pub(crate) fn evaluate_watched(&self, request: &Request, watch: &mut dyn FnMut(Stage)) -> Evaluation {
        let mut draft = Draft::new(request, &self.config);
        let (mut learned, mut consulted) = (Learned::default(), Consulted::default());
        // A panic can only come from a dependency. The draft is plain data, each field of it whole or absent.
        let known = Known::new(&self.known, self.limits);
        let judged = catch_unwind(AssertUnwindSafe(|| {
            stages(request, &self.config, &known, &mut draft, &mut learned, &mut consulted, watch)
        }));
        let judged = judged.unwrap_or_else(|_| {
            self.known.clear();
            Err(Refusal::internal(draft.stage(), "a dependency panicked"))
        });
        let (outcome, report) = match judged {
            Ok(Judged::Granted(grant)) => {
                let report = draft.granted(&grant);
                (Outcome::Granted(grant), report)
            }
            Ok(Judged::NotOurs) => (Outcome::NotOurs(NotOurs::new()), draft.not_ours()),
            Err(refusal) => {
                let (report, refusal) = draft.refused(refusal);
                (Outcome::Refused(refusal), report)
            }
        };
        Evaluation { outcome, report, learned, consulted }
    }
}

#[cfg(test)]
impl Engine {
    /// What this engine knows, to be looked at or shared with an engine of another configuration.
    pub(crate) fn known(&self) -> &Arc<KnownFacts> {
        &self.known
    }

    pub(crate) fn with_known(self, known: &Arc<KnownFacts>) -> Self {
        Self { known: Arc::clone(known), ..self }
    }
}

enum Judged {
    Granted(Box<Grant>),
    NotOurs,
}

/// What stages 1 to 8 prove.
struct Proven {
    envelope: Envelope,
    protocol: Arc<ProtocolDocument>,
    intent: ConformingIntent,
    actions: ActionsUnderTest,
    presentation: VerifiedPresentation,
    chain: VerifiedChain,
    references: PolicyReferences,
}

/// Stages 1 to 9.
fn stages(
    request: &Request,
    config: &Config,
    known: &Known<'_>,
    draft: &mut Draft,
    learned: &mut Learned,
    consulted: &mut Consulted,
    watch: &mut dyn FnMut(Stage),
) -> Result<Judged, Refusal> {
    let Some(proven) = before_policy(request, config, known, draft, learned, consulted, watch)? else {
        return Ok(Judged::NotOurs);
    };
    let Proven { envelope, protocol, intent, actions, presentation, chain, references } = proven;

    draft.enter(Stage::Policy);
    watch(Stage::Policy);
    let policy = PolicyGrant::evaluate(&chain, &actions, presentation.holder(), request, config)?;

    let grant = Grant::new(envelope, protocol, intent, actions, presentation, chain, references, policy);
    Ok(Judged::Granted(Box::new(grant)))
}

/// Stages 1 to 8, in order; `None` for a message that is not ours. Why each stands before the next is in
/// `docs/pipeline.md`.
fn before_policy(
    request: &Request,
    config: &Config,
    known: &Known<'_>,
    draft: &mut Draft,
    learned: &mut Learned,
    consulted: &mut Consulted,
    watch: &mut dyn FnMut(Stage),
) -> Result<Option<Proven>, Refusal> {
    let mut budget = Budget::new(&config.limits);
    let mut enter = |draft: &mut Draft, stage| {
        draft.enter(stage);
        watch(stage);
    };

    enter(draft, Stage::Admit);
    let message = admit::read(request, config)?;
    draft.message(&message.facts);
    let envelope = match admit::admit(message, request, config)? {
        Admitted::Ours(envelope) => *envelope,
        Admitted::NotOurs => return Ok(None),
    };
    draft.envelope(&envelope);

    enter(draft, Stage::Protocol);
    let protocol = config.protocols.select(&envelope, &request.snapshot.conversation)?;
    draft.protocol(&protocol);

    enter(draft, Stage::Intent);
    let intent = IntentGraph::read(&envelope.intent, &config.limits, &mut budget)?;
    draft.intent(&intent);

    enter(draft, Stage::Shape);
    let intent = ConformingIntent::judge(intent, &protocol, &config.limits)?;

    enter(draft, Stage::Action);
    let actions = ActionsUnderTest::extract(&intent, &protocol, &request.facts, config)?;
    draft.actions(&actions, request);

    enter(draft, Stage::Presentation);
    let presentation = VerifiedPresentation::verify(
        &envelope,
        intent.intent(),
        &protocol,
        request,
        config,
        &mut budget,
        known,
        consulted,
    )?;
    draft.presentation(&presentation);
    actions.agrees_with(presentation.holder())?;

    enter(draft, Stage::Chain);
    let parts = &envelope.policy_parts;
    let chain =
        VerifiedChain::verify(&presentation, parts, &actions, request, config, learned, &mut budget, known);
    draft.status_lists(learned, request);
    let chain = chain?;
    draft.chain(&chain, request, config);

    enter(draft, Stage::Reference);
    let references = PolicyReferences::check(&actions, &chain)?;
    Ok(Some(Proven { envelope, protocol, intent, actions, presentation, chain, references }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::SqliteLedger;
    use crate::refusal::Reason;
    use crate::request::MessageInput;
    use crate::worked_example::{Intent, World};
    use std::path::Path;

    #[test]
    fn evidence_is_cut_as_the_configuration_says() {
        let world = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let now = chrono::Utc::now();
        let mut config = world.config(now).unwrap();
        config.limits.evidence_chars = 8;
        let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew()).unwrap();
        let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock)).unwrap();
        let with_duty = vec![world.mandate_with_duty("https://alice.pod.example/duties#unknown").unwrap()];
        let stranger = vec![world.mandate().unwrap()];
        for (credentials, hash, reason) in [
            (with_duty, None, Reason::ObligationUnsupported),
            (stranger, Some(format!("sha256:{}", "0".repeat(64))), Reason::UnknownProtocol),
        ] {
            let mut ask = world.ask(Intent::grant_bob(), now).unwrap();
            ask.credentials = credentials;
            ask.protocol_hash = hash.unwrap_or(ask.protocol_hash);
            let message = MessageInput::Bytes(serde_json::to_vec(&ask.message().unwrap()).unwrap());
            let decided = engine.decide(message, world.facts());
            let crate::Decision::Refuse(refusal) = decided.decision else { panic!("{reason:?}") };
            assert_eq!(refusal.reason(), reason);
            assert_eq!(refusal.evidence().seen.as_ref().unwrap().chars().count(), 9);
        }
    }

    #[test]
    fn a_panic_at_any_stage_is_a_refusal_and_leaves_the_engine_whole() {
        let world = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let now = chrono::Utc::now();
        let config = world.config(now).unwrap();
        let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew()).unwrap();
        let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock)).unwrap();
        let message = world.ask(Intent::grant_bob(), now).unwrap().message().unwrap();
        let message = MessageInput::Bytes(serde_json::to_vec(&message).unwrap());
        let snapshot = engine.snapshot(&world.facts(), now).unwrap();
        let request = Request { message, facts: world.facts(), snapshot };
        for stage in Stage::PIPELINE.into_iter().filter(|stage| *stage != Stage::Admission) {
            let evaluation = engine.evaluate_watched(&request, &mut |entered| assert_ne!(entered, stage));
            let Outcome::Refused(refusal) = evaluation.outcome else { panic!("{stage:?}") };
            assert_eq!((refusal.reason(), refusal.stage()), (Reason::Internal, stage));
            assert_eq!(refusal.wire_code(), None);
        }
        assert!(matches!(engine.evaluate(&request).outcome, Outcome::Granted(_)));
    }
}
