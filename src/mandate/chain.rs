//! Stage 7: assembly, then phases A, B and C.

use super::assembly::{Member, Misplaced, Parent, assemble};
use super::odrl::{Denial, Policy, PolicyError};
use crate::audit::{Consulted, Lookups};
use crate::config::{Config, PolicyStore};
use crate::credential::binding::{self, BoundPolicy};
use crate::credential::controller::KeySource;
use crate::credential::credential::PolicyClaim;
use crate::credential::status::StatusCheck;
use crate::credential::{Credential, Known, PaperError, VerifiedPresentation};
use crate::ledger::{Learned, RevokedPolicy, Sponsor};
use crate::limits::Limits;
use crate::message::{ActionsUnderTest, Digest, RdfPart};
use crate::rdf::Budget;
use crate::refusal::{Phase, Reason, Refusal, Stage};
use crate::request::{Instant, Request, Snapshot};
use chrono::TimeDelta;
use oxrdf::NamedOrBlankNode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) mod apart;

/// How a credential binds its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BindingForm {
    /// The policy is part of the signed graph.
    Embedded,
    /// The signed credential has a digest of the policy document.
    Digest,
    /// The operator's store vouches for the document by its location.
    Provisional,
}

impl BindingForm {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Digest => "digest",
            Self::Provisional => "provisional",
        }
    }
}

/// One hop: a credential and its policy.
#[derive(Debug)]
pub(crate) struct Hop {
    pub(crate) credential: Arc<Credential>,
    pub(crate) policy: Arc<Policy>,
    /// SHA-256 over the policy document's octets, or over the canonical form of an embedded policy.
    pub(crate) policy_digest: Digest,
    pub(crate) binding: BindingForm,
}

/// A chain whose every paper is genuine, current and not revoked. Only [`VerifiedChain::verify`] makes one.
#[derive(Debug)]
pub(crate) struct VerifiedChain {
    root_principal: String,
    hops: Vec<Hop>,
    /// The actor chain of identity composition, where there is one.
    actor_hops: Vec<Hop>,
    /// Why the actor chain is not good. It comes after phase D of the primary chain, so composition refuses with it.
    composition_failure: Option<Denial>,
    leaf_delegate: String,
    not_after: Instant,
}

impl VerifiedChain {
    /// Assembles the presentation's credentials and their policies into a chain, and verifies it root first.
    ///
    /// # Errors
    /// `CHAIN_MALFORMED` (assembly), `LIMIT_EXCEEDED`, then the reasons of phases A, B and C, in the order of
    /// `mandate.md` 4.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another kind of thing that the chain is judged by"
    )]
    pub(crate) fn verify(
        presentation: &VerifiedPresentation,
        policy_parts: &[RdfPart],
        actions: &ActionsUnderTest,
        request: &Request,
        config: &Config,
        (learned, consulted): (&mut Learned, &mut Consulted),
        budget: &mut Budget,
        known: &Known<'_>,
    ) -> Result<Self, Refusal> {
        let snapshot = &request.snapshot;
        let genuine = |credential: &Credential| is_genuine(credential, snapshot, config, known);
        let verifier = Verifier {
            snapshot,
            config,
            root_principal: &actions.root_principal,
            genuine: &genuine,
            status_rules: StatusRules::OF_MESSAGES,
        };
        let chain = Self::of_papers(
            presentation.credentials(),
            policy_parts,
            &verifier,
            (learned, consulted),
            budget,
            known,
        )
        .map_err(Failure::into_refusal)?;
        // Each paper of the presentation is then a hop of a chain that was verified whole.
        if chain.composition_failure.is_none() {
            known.keep();
        }
        Ok(chain)
    }

    fn of_papers(
        credentials: &[Arc<Credential>],
        policy_parts: &[RdfPart],
        verifier: &Verifier<'_>,
        (learned, consulted): (&mut Learned, &mut Consulted),
        budget: &mut Budget,
        known: &Known<'_>,
    ) -> Result<Self, Failure> {
        let config = verifier.config;
        let sources = Sources {
            parts: policy_parts,
            store: &config.policies,
            trust_store_by_location: config.trust_store_by_location,
            known,
        };
        let papers = read_papers(credentials, &sources, &config.limits, budget)?;
        let chains = arrange(&papers, verifier.root_principal)?;
        one_credential_per_policy(&papers)?;
        let each_part_bound_once = || {
            let bound = papers.iter().filter_map(|paper| paper.bound.as_ref().ok());
            binding::each_part_bound_once(bound, policy_parts).map_err(|error| Failure::of(Phase::B, error))
        };
        let mut status = verifier.status_check();
        let first = chains.primary.first().and_then(|paper| paper.credential.authorizes.as_deref());
        let chains = (chains.primary.as_slice(), Ok(chains.actor.as_slice()));
        let chain = Self::of_chains(chains, verifier, &each_part_bound_once, &mut status, budget);
        // What a verified chain taught is known whether or not it is refused. The actor chain's root is the leaf delegate,
        // which costs nothing to make up: whoever it is, it came through the same first delegate.
        consulted.add(Consulted { memory: status.found().clone(), ..Consulted::default() });
        *learned = Learned { sponsor: Sponsor::new(verifier.root_principal, first), ..status.into_learned() };
        chain
    }

    /// Phases A to C of the primary chain, then of the actor chain, whose failure is composition's.
    fn of_chains(
        (primary, actor): (&[&Paper<'_>], Result<&[&Paper<'_>], Failure>),
        verifier: &Verifier<'_>,
        each_part_bound_once: &dyn Fn() -> Result<(), Failure>,
        status: &mut StatusCheck<'_>,
        budget: &mut Budget,
    ) -> Result<Self, Failure> {
        let (hops, mut not_after) = verifier.chain(primary, each_part_bound_once, status, budget)?;
        let leaf_delegate = hops.last().and_then(|hop| hop.credential.authorizes.clone());
        let leaf_delegate = leaf_delegate.ok_or_else(|| Failure::assembly("there is no credential"))?;
        let (mut actor_hops, mut composition_failure) = (Vec::new(), None);
        let composition = Verifier { root_principal: &leaf_delegate, ..*verifier };
        let composed = match actor {
            Ok([]) => Ok((Vec::new(), Instant::MAX_UTC)),
            Ok(papers) => composition.chain(papers, each_part_bound_once, status, budget),
            Err(failure) => Err(failure),
        };
        match composed {
            Ok((hops, end)) => {
                actor_hops = hops;
                not_after = not_after.min(end);
            }
            Err(failure) => composition_failure = Some(failure.into_denial()),
        }
        let root_principal = verifier.root_principal.to_owned();
        Ok(Self { root_principal, hops, actor_hops, composition_failure, leaf_delegate, not_after })
    }

    pub(crate) fn root_principal(&self) -> &str {
        &self.root_principal
    }

    /// The hops of the primary chain, root first.
    pub(crate) fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The hops of the actor chain, root first; empty where the presentation holds one chain.
    pub(crate) fn actor_hops(&self) -> &[Hop] {
        &self.actor_hops
    }

    /// Why the presentation's second chain is not genuine, current or unrevoked.
    pub(crate) fn composition_failure(&self) -> Option<&Denial> {
        self.composition_failure.as_ref()
    }

    /// `svc:authorizes` of the last hop.
    pub(crate) fn leaf_delegate(&self) -> &str {
        &self.leaf_delegate
    }

    /// The earliest end among the credentials and the freshness of the inputs.
    pub(crate) fn not_after(&self) -> Instant {
        self.not_after
    }

    #[cfg(test)]
    pub(crate) fn for_test(
        root: &str,
        hops: Vec<Hop>,
        actor_hops: Vec<Hop>,
        failure: Option<Denial>,
    ) -> Self {
        Self {
            root_principal: root.to_owned(),
            leaf_delegate: hops.last().and_then(|hop| hop.credential.authorizes.clone()).unwrap_or_default(),
            hops,
            actor_hops,
            composition_failure: failure,
            not_after: Instant::MAX_UTC,
        }
    }
}

/// A failure of one hop or of the whole, with the phase that found it.
#[derive(Debug)]
struct Failure {
    phase: Phase,
    hop: Option<usize>,
    policy: Option<String>,
    error: Box<PaperError>,
}

impl Failure {
    fn of(phase: Phase, error: PaperError) -> Self {
        Self { phase, hop: None, policy: None, error: Box::new(error) }
    }

    fn new(phase: Phase, reason: Reason, detail: impl Into<String>) -> Self {
        Self::of(phase, PaperError::new(reason, detail))
    }

    fn assembly(detail: &str) -> Self {
        Self::new(Phase::Assembly, Reason::ChainMalformed, detail)
    }

    fn misplaced(misplaced: Misplaced<'_>) -> Self {
        let failure = Self::assembly(misplaced.detail).expected(misplaced.under, None);
        Self { policy: misplaced.policy.map(str::to_owned), ..failure }
    }

    fn expected(mut self, seen: Option<&str>, expected: Option<&str>) -> Self {
        self.error.evidence.seen = seen.map(str::to_owned);
        self.error.evidence.expected = expected.map(str::to_owned);
        self
    }

    fn at(mut self, hop: usize, paper: &Paper<'_>) -> Self {
        self.hop = Some(hop);
        self.policy = paper.id().map(str::to_owned);
        self.error.evidence.credential.clone_from(&paper.credential.id);
        self
    }

    fn into_refusal(self) -> Refusal {
        Refusal::new(Stage::Chain, self.error.reason).with(|evidence| {
            *evidence = *self.error.evidence;
            evidence.phase = Some(self.phase);
            evidence.hop = self.hop;
            evidence.policy = self.policy;
        })
    }

    /// The same, as composition's reason.
    fn into_denial(self) -> Denial {
        let evidence = *self.error.evidence;
        let (reason, detail) = (self.error.reason.as_str(), evidence.detail.unwrap_or_default());
        Denial {
            hop: self.hop,
            policy: self.policy,
            constraint: evidence.constraint,
            seen: evidence.seen,
            expected: evidence.expected,
            detail: format!("the actor chain fails with {reason}: {detail}"),
        }
    }
}

/// A credential and what could be had of its policy.
struct Paper<'a> {
    credential: &'a Arc<Credential>,
    /// The content binding. Its failure belongs to phase B and waits until then.
    bound: Result<BoundPolicy, PaperError>,
    /// The policy as it was read; `None` exactly where `bound` failed.
    policy: Option<Arc<Policy>>,
}

impl Paper<'_> {
    /// The id of the policy, or what the credential claims it to be.
    fn id(&self) -> Option<&str> {
        match (&self.policy, &self.credential.policy) {
            (Some(policy), _) => Some(policy.id()),
            (None, Some(PolicyClaim::Reference(iri))) => Some(iri),
            (None, Some(PolicyClaim::Embedded(NamedOrBlankNode::NamedNode(iri)))) => Some(iri.as_str()),
            (None, _) => None,
        }
    }

    fn digest(&self) -> Option<Digest> {
        self.bound.as_ref().ok().map(|bound| bound.digest)
    }
}

/// Where policies come from.
struct Sources<'s> {
    parts: &'s [RdfPart],
    store: &'s PolicyStore,
    trust_store_by_location: bool,
    known: &'s Known<'s>,
}

/// Resolves and reads the policy of each credential, as far as assembly needs it.
fn read_papers<'a>(
    credentials: &'a [Arc<Credential>],
    sources: &Sources<'_>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<Paper<'a>>, Failure> {
    let (mut papers, mut size) = (Vec::new(), 0usize);
    for credential in credentials {
        let bound = binding::resolve(
            credential,
            sources.parts,
            sources.store,
            sources.trust_store_by_location,
            limits,
            budget,
            sources.known,
        );
        let policy = match &bound {
            Ok(bound) => Some(bound.policy.clone().map_err(unreadable)?),
            Err(error) if error.reason == Reason::PolicyIntegrity => None,
            Err(error) => {
                return Err(Failure::of(Phase::Assembly, error.clone()));
            }
        };
        size += policy.as_ref().map_or(0, |policy| policy.size());
        if size > limits.constraints {
            return Err(unreadable(PolicyError::TooLarge("constraints")));
        }
        papers.push(Paper { credential, bound, policy });
    }
    Ok(papers)
}

fn unreadable(error: PolicyError) -> Failure {
    match error {
        PolicyError::Malformed(why) => Failure::assembly(why),
        PolicyError::TooLarge(limit) => Failure::new(
            Phase::Assembly,
            Reason::LimitExceeded,
            format!("the policies exceed the limit `{limit}`"),
        ),
    }
}

/// The papers of the two chains, root first.
struct Arranged<'p, 'a> {
    primary: Vec<&'p Paper<'a>>,
    actor: Vec<&'p Paper<'a>>,
}

/// Assembly. Two credentials for one and the same policy document are one member here, and refuse after it.
fn arrange<'p, 'a>(papers: &'p [Paper<'a>], root_principal: &str) -> Result<Arranged<'p, 'a>, Failure> {
    let mut seen: BTreeSet<(&str, Option<Digest>)> = BTreeSet::new();
    let distinct: Vec<&Paper<'_>> =
        papers.iter().filter(|paper| paper.id().is_none_or(|id| seen.insert((id, paper.digest())))).collect();
    let members: Vec<Member<'_>> = distinct
        .iter()
        .map(|paper| Member {
            id: paper.id(),
            parent: match &paper.policy {
                None => Parent::Unknown,
                Some(policy) => policy.delegated_under().map_or(Parent::None, Parent::Policy),
            },
        })
        .collect();
    let chains = assemble(&members).map_err(Failure::misplaced)?;
    let mut chains: Vec<Vec<&Paper<'_>>> = chains
        .into_iter()
        .map(|chain| chain.into_iter().filter_map(|at| distinct.get(at).copied()).collect())
        .collect();
    // An open place refuses in phase B whatever chain it is of, so every credential meets phase A before.
    if distinct.iter().any(|paper| paper.policy.is_none()) {
        return Ok(Arranged { primary: chains.concat(), actor: Vec::new() });
    }
    let is_primary =
        |chain: &[&Paper<'_>]| chain.first().is_some_and(|root| root.credential.issuer == root_principal);
    match chains.as_mut_slice() {
        [only] => Ok(Arranged { primary: std::mem::take(only), actor: Vec::new() }),
        [one, other] => match (is_primary(one), is_primary(other)) {
            (true, false) => Ok(Arranged { primary: std::mem::take(one), actor: std::mem::take(other) }),
            (false, true) => Ok(Arranged { primary: std::mem::take(other), actor: std::mem::take(one) }),
            _ => Err(Failure::assembly("of two chains, not exactly one starts with the owner of the target")),
        },
        _ => Err(Failure::assembly("there are more than two chains")),
    }
}

/// A bijection between credentials and policies: no two claim one, and each claims the one that it binds.
fn one_credential_per_policy(papers: &[Paper<'_>]) -> Result<(), Failure> {
    let mut claimed: BTreeMap<&str, usize> = BTreeMap::new();
    for paper in papers {
        if let (Some(policy), Ok(bound)) = (&paper.policy, &paper.bound)
            && !policy.is_claimed_by(&bound.claim)
        {
            let claim = bound.claim.to_string();
            let mut failure = mismatch("a credential binds a policy that has another id than it claims")
                .expected(Some(policy.id()), Some(&claim));
            failure.error.evidence.credential.clone_from(&paper.credential.id);
            return Err(failure);
        }
        if let Some(id) = paper.id() {
            *claimed.entry(id).or_default() += 1;
        }
    }
    match claimed.into_iter().find(|(_, credentials)| *credentials > 1) {
        None => Ok(()),
        Some((id, _)) => {
            Err(Failure { policy: Some(id.to_owned()), ..mismatch("two credentials are for one policy") })
        }
    }
}

fn mismatch(detail: &str) -> Failure {
    Failure::new(Phase::B, Reason::BindingMismatch, detail)
}

/// Phases A, B and C of one assembled chain.
#[derive(Clone, Copy)]
struct Verifier<'v> {
    snapshot: &'v Snapshot,
    config: &'v Config,
    root_principal: &'v str,
    /// Phase A of one credential: the last instants at which the keys that it used can be known to be the issuer's.
    genuine: &'v dyn Fn(&Credential) -> Result<Vec<Instant>, Failure>,
    status_rules: StatusRules,
}

/// What holds of the status of credentials beside their entries.
#[derive(Debug, Clone, Copy)]
struct StatusRules {
    /// A credential without an entry must end, and soon.
    bounded_life: bool,
    /// No status can be had at all.
    unreachable: bool,
}

impl StatusRules {
    const OF_MESSAGES: Self = Self { bounded_life: true, unreachable: false };
}

/// Phase A by the keys that the snapshot knows.
fn is_genuine(
    credential: &Credential,
    snapshot: &Snapshot,
    config: &Config,
    known: &Known<'_>,
) -> Result<Vec<Instant>, Failure> {
    let verified = credential.verify_knowing(snapshot, config.max_controller_age, known);
    verified.map_err(|error| Failure::of(Phase::A, error))
}

impl<'v> Verifier<'v> {
    fn status_check(&self) -> StatusCheck<'v> {
        let keys = KeySource {
            documents: &self.snapshot.controllers,
            now: self.snapshot.instant,
            max_age: self.config.max_controller_age,
        };
        let Config { max_status_age, limits, .. } = self.config;
        let Snapshot { status_lists, memory, .. } = self.snapshot;
        StatusCheck::new(status_lists, memory, keys, *max_status_age, limits)
    }

    /// Runs the phases, each over every hop, root first, before the next. Gives the hops and their earliest end.
    fn chain(
        &self,
        papers: &[&Paper<'_>],
        each_part_bound_once: &dyn Fn() -> Result<(), Failure>,
        status: &mut StatusCheck<'_>,
        budget: &mut Budget,
    ) -> Result<(Vec<Hop>, Instant), Failure> {
        let mut not_after = Instant::MAX_UTC;
        for (hop, paper) in papers.iter().enumerate() {
            let end = self.genuine(paper.credential).map_err(|failure| failure.at(hop, paper))?;
            not_after = not_after.min(end);
        }
        for (hop, paper) in papers.iter().enumerate() {
            delegates_for_itself(paper.credential).map_err(|failure| failure.at(hop, paper))?;
        }
        let mut hops = Vec::new();
        for (hop, paper) in papers.iter().enumerate() {
            hops.push(self.bound(paper).map_err(|failure| failure.at(hop, paper))?);
        }
        each_part_bound_once()?;
        for (hop, paper) in papers.iter().enumerate() {
            self.parties(&hops, hop).map_err(|failure| failure.at(hop, paper))?;
        }
        for paper in papers {
            status.want_lists_of(paper.credential);
        }
        for (hop, paper) in papers.iter().enumerate() {
            let end = self.status(paper.credential, status, budget);
            not_after = not_after.min(end.map_err(|failure| failure.at(hop, paper))?);
        }
        let mut publishers = Vec::new();
        for (hop, paper) in papers.iter().enumerate() {
            // Phase B: the assigner of each policy is the issuer of its credential.
            publishers.push(paper.credential.issuer.as_str());
            Self::not_revoked(paper, &publishers, status.memory())
                .map_err(|failure| failure.at(hop, paper))?;
        }
        Ok((hops, not_after))
    }

    /// Phase A. Gives the earliest end of the credential and of the keys that it rests on.
    fn genuine(&self, credential: &Credential) -> Result<Instant, Failure> {
        if credential.authorizes.is_none() {
            return Err(Failure::new(Phase::A, Reason::Malformed, "the credential names no delegate"));
        }
        let keys = (self.genuine)(credential)?.into_iter();
        Ok(keys.chain(credential.not_after()).min().unwrap_or(Instant::MAX_UTC))
    }

    /// Phase B: the policy's content is what the issuer signed for.
    fn bound(&self, paper: &Paper<'_>) -> Result<Hop, Failure> {
        match (&paper.bound, &paper.policy) {
            (Ok(bound), Some(policy)) => Ok(Hop {
                credential: Arc::clone(paper.credential),
                policy: Arc::clone(policy),
                policy_digest: bound.digest,
                binding: bound.form,
            }),
            (Err(error), _) => Err(Failure::of(Phase::B, error.clone())),
            (Ok(_), None) => {
                Err(Failure::new(Phase::B, Reason::PolicyIntegrity, "the policy could not be read"))
            }
        }
    }

    /// Phase B: credentials, policies and hops name the same parties.
    fn parties(&self, hops: &[Hop], at: usize) -> Result<(), Failure> {
        let Some(hop) = hops.get(at) else { return Err(mismatch("the chain has a gap")) };
        let issuer = hop.credential.issuer.as_str();
        if at == 0 && issuer != self.root_principal {
            return Err(mismatch("the chain does not start with its root principal")
                .expected(Some(issuer), Some(self.root_principal)));
        }
        if hop.policy.assigner() != Some(issuer) {
            return Err(mismatch("the policy's assigner is not the credential's issuer")
                .expected(hop.policy.assigner(), Some(issuer)));
        }
        let authorizes = hop.credential.authorizes.as_deref();
        match hops.get(at + 1) {
            Some(next) if next.policy.assigner().is_none() || next.policy.assigner() != authorizes => {
                Err(mismatch("the delegate is not the assigner of the next policy")
                    .expected(authorizes, next.policy.assigner()))
            }
            None if hop.policy.assignee().is_some_and(|assignee| Some(assignee) != authorizes) => {
                Err(mismatch("the delegate is not the assignee of the last policy")
                    .expected(authorizes, hop.policy.assignee()))
            }
            _ => Ok(()),
        }
    }

    /// Phase C: it is known that the credential is still good. Gives the instant up to which that is known.
    fn status(
        &self,
        credential: &Credential,
        check: &mut StatusCheck<'_>,
        budget: &mut Budget,
    ) -> Result<Instant, Failure> {
        let unknown = |detail: &str| Err(Failure::new(Phase::C, Reason::StatusRetrievalError, detail));
        if self.status_rules.unreachable {
            return unknown("no status can be had");
        }
        let mut known_until = Instant::MAX_UTC;
        for entry in &credential.status {
            let end = check.entry(credential, entry, budget);
            known_until = known_until.min(end.map_err(|error| Failure::of(Phase::C, error))?);
        }
        if !credential.status.is_empty() || !self.status_rules.bounded_life {
            return Ok(known_until);
        }
        let Some(until) = credential.valid_until else {
            return unknown("the credential has neither a status entry nor an end");
        };
        let life: TimeDelta = until - credential.valid_from.unwrap_or(self.snapshot.instant);
        if life > self.config.max_life_without_status {
            return unknown(
                "the credential has no status entry and lives longer than is accepted without one",
            );
        }
        Ok(known_until)
    }

    /// Phase C: the operator never revoked the credential or its policy, and none of `publishers`, the assigners of the
    /// policy and of its ancestors in this chain, ever revoked the policy. Nobody else has a say.
    fn not_revoked(paper: &Paper<'_>, publishers: &[&str], memory: &mut Lookups<'_>) -> Result<(), Failure> {
        let ids = [paper.id(), paper.credential.id.as_deref()];
        if let Some(id) = ids.into_iter().flatten().find(|id| memory.is_revoked(id)) {
            return Err(Failure::new(
                Phase::C,
                Reason::Revoked,
                "a credential or policy of the chain is revoked",
            )
            .expected(Some(id), None));
        }
        let Some(policy) = paper.id() else { return Ok(()) };
        let mut by = |publisher: &&&str| {
            let (publisher, policy) = ((**publisher).to_owned(), policy.to_owned());
            memory.is_policy_revoked(RevokedPolicy { publisher, policy })
        };
        match publishers.iter().find(|publisher| by(publisher)) {
            None => Ok(()),
            Some(publisher) => Err(Failure::new(
                Phase::C,
                Reason::Revoked,
                format!("the policy is revoked by its assigner or an ancestor's, {publisher}"),
            )
            .expected(Some(policy), None)),
        }
    }
}

/// Phase B: who signs is who delegates.
fn delegates_for_itself(credential: &Credential) -> Result<(), Failure> {
    match credential.subject.as_deref() {
        Some(subject) if subject != credential.issuer => Err(Failure::new(
            Phase::B,
            Reason::SubjectIssuerMismatch,
            "the credential's subject is not its issuer",
        )
        .expected(Some(subject), Some(&credential.issuer))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
