//! Chains and credentials outside of any message, as the conformance suites give them: the two chains apart, each with
//! its policies. The phases are those of a message; what only a message brings along (its parts, the bound on the life
//! of a credential without status) is not here.

use super::{
    Failure, Paper, Sources, StatusRules, VerifiedChain, Verifier, delegates_for_itself, is_genuine,
    mismatch, one_credential_per_policy, read_papers, unreadable,
};
use crate::audit::Consulted;
use crate::config::{Config, PolicyStore, StoredPolicy};
use crate::credential::{Credential, Known, PaperError, binding};
use crate::ledger::Learned;
use crate::limits::Limits;
use crate::mandate::assembly::{Member, Parent, assemble};
use crate::mandate::odrl::Policy;
use crate::message::RdfPart;
use crate::rdf::{Budget, RdfMediaType, parse_graph};
use crate::refusal::{Phase, Reason, Refusal};
use crate::request::{Instant, Snapshot};
use crate::vocab::svc;
use oxrdf::NamedNodeRef;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One chain as it was given, in any order.
pub(crate) struct GivenChain {
    /// Credentials, or why one could not be read: that is a failure of phase A.
    pub(crate) credentials: Result<Vec<Arc<Credential>>, PaperError>,
    /// Policy documents. They count as bound by their location.
    pub(crate) policies: Vec<(String, RdfMediaType)>,
}

/// What chains and credentials are judged by.
pub(crate) struct Apart<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) config: &'a Config,
    /// No status can be had at all.
    pub(crate) status_unreachable: bool,
}

impl Apart<'_> {
    /// Assembly and phases A to C of a primary chain and, where there is one, of an actor chain.
    ///
    /// # Errors
    /// As [`VerifiedChain::verify`].
    pub(crate) fn chain(
        &self,
        root_principal: &str,
        primary: &GivenChain,
        actor: Option<&GivenChain>,
        budget: &mut Budget,
    ) -> Result<VerifiedChain, Refusal> {
        let mut judge = || {
            let primary = papers(primary, &self.config.limits, budget)?;
            let (actor, failure) = match actor.map(|actor| papers(actor, &self.config.limits, budget)) {
                None => (Vec::new(), None),
                Some(Ok(papers)) => (papers, None),
                Some(Err(failure)) => (Vec::new(), Some(failure)),
            };
            let primary: Vec<&Paper<'_>> = primary.iter().collect();
            let actor: Vec<&Paper<'_>> = actor.iter().collect();
            let actor = failure.map_or(Ok(actor.as_slice()), Err);
            let genuine = |credential: &Credential| {
                is_genuine(credential, self.snapshot, self.config, &Known::nothing())
            };
            let verifier = self.verifier(root_principal, &genuine);
            let chains = (primary.as_slice(), actor);
            VerifiedChain::of_chains(chains, &verifier, &|| Ok(()), &mut verifier.status_check(), budget)
        };
        judge().map_err(Failure::into_refusal)
    }

    /// Assembly and phases A to C of credentials and policy documents as a message brings them, by all rules of a
    /// message.
    ///
    /// # Errors
    /// As [`VerifiedChain::verify`].
    pub(crate) fn papers_of_message(
        &self,
        root_principal: &str,
        credentials: &[Arc<Credential>],
        policy_parts: &[RdfPart],
        budget: &mut Budget,
    ) -> Result<VerifiedChain, Refusal> {
        let known = Known::nothing();
        let genuine = |credential: &Credential| is_genuine(credential, self.snapshot, self.config, &known);
        let verifier =
            Verifier { status_rules: StatusRules::OF_MESSAGES, ..self.verifier(root_principal, &genuine) };
        // Papers that no message brought teach the ledger nothing.
        let notes = (&mut Learned::default(), &mut Consulted::default());
        VerifiedChain::of_papers(credentials, policy_parts, &verifier, notes, budget, &known)
            .map_err(Failure::into_refusal)
    }

    /// The first failure of one credential on its own, in the order of the phases: A, its subject, the binding of its
    /// policy (if it has any) to `documents` by URL, and its status.
    ///
    /// # Errors
    /// The reasons of phases A to C.
    pub(crate) fn credential(
        &self,
        credential: &Credential,
        documents: &BTreeMap<String, String>,
        budget: &mut Budget,
    ) -> Result<(), Reason> {
        let mut judge = || {
            let genuine = |credential: &Credential| {
                is_genuine(credential, self.snapshot, self.config, &Known::nothing())
            };
            let verifier = self.verifier(&credential.issuer, &genuine);
            verifier.genuine(credential)?;
            delegates_for_itself(credential)?;
            let policy = NamedNodeRef::new_unchecked(svc::POLICY);
            if credential.graph.triples_for_predicate(policy).next().is_some() {
                binding::form(credential, documents, &self.config.limits, budget)
                    .map_err(|error| Failure::of(Phase::B, error))?;
            }
            verifier.status(credential, &mut verifier.status_check(), budget)
        };
        judge().map(|_| ()).map_err(|failure| failure.error.reason)
    }

    /// The first failure of phase A alone, else the failure of each status entry, in order.
    pub(crate) fn status(&self, credential: &Credential, budget: &mut Budget) -> Vec<Reason> {
        let genuine =
            |credential: &Credential| is_genuine(credential, self.snapshot, self.config, &Known::nothing());
        let verifier = self.verifier(&credential.issuer, &genuine);
        if let Err(failure) = verifier.genuine(credential) {
            return vec![failure.error.reason];
        }
        let mut check = verifier.status_check();
        let judged = credential.status.iter().map(|entry| check.entry(credential, entry, budget));
        judged.filter_map(|known| known.err().map(|error| error.reason)).collect()
    }

    fn verifier<'v>(
        &'v self,
        root_principal: &'v str,
        genuine: &'v dyn Fn(&Credential) -> Result<Vec<Instant>, Failure>,
    ) -> Verifier<'v> {
        Verifier {
            snapshot: self.snapshot,
            config: self.config,
            root_principal,
            genuine,
            status_rules: StatusRules { bounded_life: false, unreachable: self.status_unreachable },
        }
    }
}

/// Assembly over the policies, then the bijection between them and the credentials. Gives the papers root first.
fn papers<'a>(
    given: &'a GivenChain,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<Paper<'a>>, Failure> {
    let mut policies = Vec::new();
    let mut store = PolicyStore::default();
    for (text, media_type) in &given.policies {
        let graph = parse_graph(text, *media_type, limits)
            .map_err(|_| Failure::assembly("a policy document is not RDF of its media type"))?;
        let policy = Policy::read(&graph, limits).map_err(unreadable)?;
        let stored = StoredPolicy {
            text: text.clone(),
            media_type: *media_type,
            graph,
            read: Instant::UNIX_EPOCH,
            limits: limits.clone(),
        };
        store.documents.insert(policy.id().to_owned(), stored);
        policies.push(policy);
    }
    let members: Vec<Member<'_>> = policies
        .iter()
        .map(|policy| Member {
            id: Some(policy.id()),
            parent: policy.delegated_under().map_or(Parent::None, Parent::Policy),
        })
        .collect();
    let order = match assemble(&members).map_err(Failure::misplaced)?.as_slice() {
        [only] => only.clone(),
        _ => return Err(Failure::assembly("the policies are not one chain")),
    };
    let credentials = match &given.credentials {
        Ok(credentials) => credentials,
        Err(error) => return Err(Failure::of(Phase::A, error.clone())),
    };
    let sources =
        Sources { parts: &[], store: &store, trust_store_by_location: true, known: &Known::nothing() };
    let mut papers = read_papers(credentials, &sources, limits, budget)?;
    one_credential_per_policy(&papers)?;
    if papers.len() != policies.len() {
        return Err(mismatch("there are not as many credentials as policies"));
    }
    let place = |paper: &Paper<'_>| {
        let id = paper.id()?;
        order.iter().position(|at| policies.get(*at).is_some_and(|policy| policy.id() == id))
    };
    if papers.iter().any(|paper| place(paper).is_none()) {
        return Err(mismatch("a credential is for a policy that is not in the chain"));
    }
    papers.sort_by_key(place);
    Ok(papers)
}
