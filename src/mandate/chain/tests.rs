//! The order of phases, and each check of assembly, B and C.

use super::super::support::{config, credential, ex, graph, snapshot};
use super::*;
use crate::credential::credential::{RelatedResource, StatusEntry};
use crate::ledger::{ListKey, Revoked};
use crate::limits::Limits;
use crate::rdf::RdfMediaType;
use oxrdf::NamedNode;

const READ: &str = "odrl:permission [ odrl:action odrl:read ]";

/// Everything that a run depends on; phase A passes unless a credential is among `forged`.
struct Run {
    credentials: Vec<Credential>,
    parts: Vec<RdfPart>,
    root: String,
    snapshot: Snapshot,
    config: Config,
    forged: Vec<&'static str>,
    keys_good_until: Instant,
    /// What the last run learned.
    learned: std::cell::RefCell<Learned>,
}

impl Run {
    fn new(credentials: Vec<Credential>) -> Self {
        Self {
            credentials,
            parts: Vec::new(),
            root: ex("owner"),
            snapshot: snapshot(),
            config: config(),
            forged: Vec::new(),
            keys_good_until: Instant::MAX_UTC,
            learned: std::cell::RefCell::default(),
        }
    }

    fn verify(&self) -> Result<VerifiedChain, Refusal> {
        let genuine = |credential: &Credential| {
            let forged = self.forged.iter().any(|id| credential.id.as_deref() == Some(*id));
            if forged {
                Err(Failure::new(Phase::A, Reason::InvalidSignature, "forged"))
            } else {
                Ok(vec![self.keys_good_until])
            }
        };
        let verifier = Verifier {
            snapshot: &self.snapshot,
            config: &self.config,
            root_principal: &self.root,
            genuine: &genuine,
            status_rules: StatusRules::OF_MESSAGES,
        };
        let mut budget = Budget::new(&Limits::default());
        let credentials: Vec<_> = self.credentials.iter().cloned().map(Arc::new).collect();
        let (learned, known) = (&mut self.learned.borrow_mut(), Known::nothing());
        let notes = (&mut **learned, &mut Consulted::default());
        VerifiedChain::of_papers(&credentials, &self.parts, &verifier, notes, &mut budget, &known)
            .map_err(Failure::into_refusal)
    }

    fn refusal(&self) -> (Reason, Option<Phase>, Option<usize>) {
        let refusal = self.verify().unwrap_err();
        (refusal.reason(), refusal.evidence().phase, refusal.evidence().hop)
    }
}

fn revoked(run: &mut Run) -> &mut Revoked {
    &mut std::sync::Arc::make_mut(&mut run.snapshot.memory).revoked
}

fn root() -> Credential {
    credential("p", "owner", "a", READ)
}

fn leaf() -> Credential {
    credential("q", "a", "agent", &format!("odrld:delegatedUnder ex:p ; {READ}"))
}

fn two() -> Run {
    Run::new(vec![root(), leaf()])
}

/// The same credential, with a bare IRI for its policy.
fn unbound(mut credential: Credential, id: &str) -> Credential {
    credential.policy = Some(PolicyClaim::Reference(ex(id)));
    credential
}

#[test]
fn a_chain_verifies_in_any_order() {
    for credentials in [vec![root(), leaf()], vec![leaf(), root()]] {
        let chain = Run::new(credentials).verify().unwrap();
        let ids: Vec<_> = chain.hops().iter().map(|hop| hop.policy.id().to_owned()).collect();
        assert_eq!(ids, [ex("p"), ex("q")]);
        assert_eq!(chain.leaf_delegate(), ex("agent"));
        assert_eq!(chain.root_principal(), ex("owner"));
    }
}

#[test]
fn the_chain_ends_with_its_first_credential_or_key() {
    let mut run = two();
    run.credentials[1].valid_until = Some("2026-06-20T00:00:00Z".parse().unwrap());
    assert_eq!(run.verify().unwrap().not_after(), "2026-06-20T00:00:00Z".parse::<Instant>().unwrap());
    run.keys_good_until = "2026-06-16T13:00:00Z".parse().unwrap();
    assert_eq!(run.verify().unwrap().not_after(), run.keys_good_until);
    run.keys_good_until = Instant::MAX_UTC;
    run.credentials.push(actor_chain());
    run.credentials[2].valid_until = Some("2026-06-18T00:00:00Z".parse().unwrap());
    assert_eq!(run.verify().unwrap().not_after(), "2026-06-18T00:00:00Z".parse::<Instant>().unwrap());
}

#[test]
fn assembly_comes_before_every_other_phase() {
    let mut run = Run::new(vec![leaf()]);
    run.forged = vec!["urn:credential:q"];
    assert_eq!(run.refusal(), (Reason::ChainMalformed, Some(Phase::Assembly), None));
    let malformed = credential("p", "owner", "a", "odrl:assigner ex:other");
    assert_eq!(Run::new(vec![malformed]).refusal().0, Reason::ChainMalformed);
    assert_eq!(Run::new(vec![]).refusal().0, Reason::ChainMalformed);
}

#[test]
fn two_credentials_for_one_policy_refuse_before_phase_a() {
    let mut run = Run::new(vec![root(), root()]);
    run.forged = vec!["urn:credential:p"];
    assert_eq!(run.refusal(), (Reason::BindingMismatch, Some(Phase::B), None));
}

#[test]
fn two_policies_of_one_id_are_malformed() {
    let other = credential("p", "owner", "a", "odrl:permission [ odrl:action odrl:use ]");
    assert_eq!(Run::new(vec![root(), other]).refusal().0, Reason::ChainMalformed);
}

#[test]
fn a_policy_of_another_id_than_claimed_is_a_mismatch() {
    let mut named = root();
    named.graph = graph("ex:claimed ex:see ex:p . ex:p a odrl:Set ; odrl:assigner ex:owner .");
    named.policy = Some(PolicyClaim::Embedded(NamedNode::new_unchecked(ex("claimed")).into()));
    assert_eq!(Run::new(vec![named]).refusal(), (Reason::BindingMismatch, Some(Phase::B), None));
}

#[test]
fn phase_a_runs_root_first_and_before_b() {
    let mut run = two();
    run.credentials[1].subject = Some(ex("other"));
    assert_eq!(run.refusal(), (Reason::SubjectIssuerMismatch, Some(Phase::B), Some(1)));
    run.forged = vec!["urn:credential:q"];
    assert_eq!(run.refusal(), (Reason::InvalidSignature, Some(Phase::A), Some(1)));
    run.forged = vec!["urn:credential:q", "urn:credential:p"];
    assert_eq!(run.refusal(), (Reason::InvalidSignature, Some(Phase::A), Some(0)));
}

#[test]
fn a_credential_without_a_delegate_is_malformed() {
    let mut run = two();
    run.credentials[1].authorizes = None;
    assert_eq!(run.refusal(), (Reason::Malformed, Some(Phase::A), Some(1)));
}

/// A bare IRI is an integrity failure, once phase A has passed, wherever in the chain it stands.
#[test]
fn a_policy_that_cannot_be_had_refuses_in_phase_b() {
    let integrity = |hop| (Reason::PolicyIntegrity, Some(Phase::B), Some(hop));
    let mut sole = Run::new(vec![unbound(root(), "p")]);
    assert_eq!(sole.refusal(), integrity(0));
    sole.forged = vec!["urn:credential:p"];
    assert_eq!(sole.refusal().0, Reason::InvalidSignature);
    assert_eq!(Run::new(vec![leaf(), unbound(root(), "p")]).refusal(), integrity(0));
    assert_eq!(Run::new(vec![unbound(leaf(), "q"), root()]).refusal(), integrity(1));
    let mut none = root();
    none.policy = None;
    assert_eq!(Run::new(vec![none]).refusal(), integrity(0));
}

#[test]
fn the_subject_is_checked_before_the_content_binding() {
    let mut run = Run::new(vec![unbound(root(), "p")]);
    run.credentials[0].subject = Some(ex("other"));
    assert_eq!(run.refusal().0, Reason::SubjectIssuerMismatch);
    run.credentials[0].subject = None;
    assert_eq!(run.refusal().0, Reason::PolicyIntegrity);
}

/// Threat 32: a part that no credential binds takes no part, and refuses.
#[test]
fn an_unbound_part_refuses() {
    let part = |text: &str| RdfPart { index: 2, media_type: RdfMediaType::Turtle, text: text.into() };
    let mut run = two();
    run.parts = vec![part("<https://x.example/z> a <http://www.w3.org/ns/odrl/2/Set> .")];
    assert_eq!(run.refusal(), (Reason::PolicyIntegrity, Some(Phase::B), None));
    run.root = ex("stranger");
    assert_eq!(run.refusal().0, Reason::PolicyIntegrity, "content binding comes before the parties");
}

#[test]
fn the_parties_of_hops_fit_together() {
    type Spoil = fn(&mut Run);
    let cases: [(&str, Spoil); 6] = [
        ("root principal", |run| run.root = ex("stranger")),
        ("assigner of the root", |run| run.credentials[0].graph = policy_graph("p", "stranger", "a", "")),
        ("no assigner", |run| run.credentials[0].graph = graph("ex:p a odrl:Agreement .")),
        ("delegate and next issuer", |run| run.credentials[0].authorizes = Some(ex("stranger"))),
        ("next assigner", |run| {
            run.credentials[1].graph = policy_graph("q", "stranger", "agent", "; odrld:delegatedUnder ex:p");
        }),
        ("leaf assignee", |run| run.credentials[1].authorizes = Some(ex("stranger"))),
    ];
    for (name, spoil) in cases {
        let mut run = two();
        spoil(&mut run);
        let (reason, phase, _) = run.refusal();
        assert_eq!((reason, phase), (Reason::BindingMismatch, Some(Phase::B)), "{name}");
    }
}

fn policy_graph(id: &str, assigner: &str, assignee: &str, more: &str) -> oxrdf::Graph {
    graph(&format!(
        "ex:{id} a odrl:Agreement ; odrl:assigner ex:{assigner} ; odrl:assignee ex:{assignee} {more} ."
    ))
}

#[test]
fn a_status_entry_without_a_source_refuses() {
    let mut run = two();
    run.credentials[1].status = vec![StatusEntry::default()];
    revoked(&mut run).ids.insert(ex("p"));
    assert_eq!(run.refusal(), (Reason::StatusRetrievalError, Some(Phase::C), Some(1)));
}

#[test]
fn a_life_without_status_is_bounded() {
    let mut run = two();
    run.config.max_life_without_status = TimeDelta::days(30);
    assert!(run.verify().is_ok(), "the bound itself is inside");
    run.config.max_life_without_status = TimeDelta::days(29);
    assert_eq!(run.refusal(), (Reason::StatusRetrievalError, Some(Phase::C), Some(0)));
    run.credentials.iter_mut().for_each(|credential| credential.valid_from = None);
    assert!(run.verify().is_ok(), "without a beginning, life is counted from now");
    run.credentials[1].valid_until = None;
    assert_eq!(run.refusal(), (Reason::StatusRetrievalError, Some(Phase::C), Some(1)));
}

#[test]
fn what_was_seen_revoked_stays_revoked() {
    for (id, hop) in [(ex("p"), 0), (ex("q"), 1), ("urn:credential:q".to_owned(), 1)] {
        let mut run = two();
        revoked(&mut run).ids.insert(id);
        assert_eq!(run.refusal(), (Reason::Revoked, Some(Phase::C), Some(hop)));
    }
}

/// Threat 20: whose word counts.
#[test]
fn a_policy_is_revoked_by_its_assigner_or_an_ancestors_and_by_nobody_else() {
    let says = |publisher: &str, policy: &str| RevokedPolicy { publisher: ex(publisher), policy: ex(policy) };
    for (publisher, policy, hop) in [("owner", "p", 0), ("a", "q", 1), ("owner", "q", 1)] {
        let mut run = two();
        revoked(&mut run).policies.insert(says(publisher, policy));
        assert_eq!(run.refusal(), (Reason::Revoked, Some(Phase::C), Some(hop)), "{publisher} {policy}");
    }
    for (publisher, policy) in [("a", "p"), ("agent", "q"), ("agent", "p"), ("stranger", "p"), ("owner", "r")]
    {
        let mut run = two();
        revoked(&mut run).policies.insert(says(publisher, policy));
        assert!(run.verify().is_ok(), "{publisher} {policy}");
    }
}

/// The actor chain is another chain: its root is the leaf delegate, and the owner is no ancestor of it.
#[test]
fn a_revocation_counts_in_its_own_chain() {
    let composed = |publisher: &str, policy: &str| {
        let mut run = Run::new(vec![root(), leaf(), actor_chain()]);
        revoked(&mut run).policies.insert(RevokedPolicy { publisher: ex(publisher), policy: ex(policy) });
        run.verify().map(|chain| chain.composition_failure().map(|denial| denial.detail.clone()))
    };
    assert!(composed("agent", "s").unwrap().unwrap().contains("REVOKED"));
    assert_eq!(composed("owner", "s").unwrap(), None);
    assert_eq!(composed("agent", "q").unwrap(), None);
}

#[test]
fn a_revocation_comes_after_status() {
    let mut run = two();
    let statement = RevokedPolicy { publisher: ex("owner"), policy: ex("p") };
    revoked(&mut run).policies.insert(statement);
    run.credentials[1].status = vec![StatusEntry::default()];
    assert_eq!(run.refusal(), (Reason::StatusRetrievalError, Some(Phase::C), Some(1)));
}

fn pointing_to(url: &str) -> Vec<StatusEntry> {
    vec![StatusEntry {
        types: vec![crate::vocab::cred::STATUS_LIST_ENTRY.to_owned()],
        purpose: vec!["revocation".to_owned()],
        index: vec!["7".to_owned()],
        list: vec![url.to_owned()],
        size: Vec::new(),
    }]
}

/// Threat 21: who has a say in what is fetched.
#[test]
fn lists_are_wanted_for_chains_that_verified_and_for_no_others() {
    const ROOTS: &str = "https://owner.example/status";
    const LEAFS: &str = "https://a.example/status";
    let with_status = || {
        let mut run = two();
        run.credentials[0].status = pointing_to(ROOTS);
        run.credentials[1].status = pointing_to(LEAFS);
        run
    };
    let wanted = |run: &Run| {
        let _ = run.verify();
        run.learned.borrow().wanted.iter().cloned().collect::<Vec<_>>()
    };
    let run = with_status();
    assert_eq!(run.refusal(), (Reason::StatusRetrievalError, Some(Phase::C), Some(0)));
    let list = |issuer: &str, url: &str| ListKey { issuer: ex(issuer), url: url.to_owned() };
    assert_eq!(wanted(&run), [list("a", LEAFS), list("owner", ROOTS)]);

    let mut forged = with_status();
    forged.forged = vec!["urn:credential:q"];
    let mut of_nobody = with_status();
    of_nobody.root = ex("stranger");
    let mut unlinked = with_status();
    unlinked.credentials[0].authorizes = Some(ex("somebody"));
    let mut unbound_policy = with_status();
    unbound_policy.credentials[1] = Credential { status: pointing_to(LEAFS), ..unbound(leaf(), "q") };
    for run in [forged, of_nobody, unlinked, unbound_policy] {
        assert_eq!(wanted(&run), []);
    }
    // A second chain teaches once it is itself verified, and not before.
    let mut composed = Run::new(vec![root(), leaf(), actor_chain()]);
    composed.credentials[2].status = pointing_to(LEAFS);
    assert_eq!(wanted(&composed), [list("agent", LEAFS)]);
    // The leaf delegate, which the second chain starts with, may be made up: the first delegate answers for it.
    assert_eq!(composed.learned.borrow().sponsor, Sponsor::new(&ex("owner"), Some(&ex("a"))));
    composed.forged = vec!["urn:credential:s"];
    assert_eq!(wanted(&composed), []);
}

#[test]
fn the_constraints_of_all_policies_are_bounded_together() {
    let mut run = two();
    let size = |credential: &Credential| Policy::read(&credential.graph, &Limits::default()).unwrap().size();
    run.config.limits.constraints = run.credentials.iter().map(size).sum();
    assert!(run.verify().is_ok());
    run.config.limits.constraints -= 1;
    assert!(run.credentials.iter().all(|credential| size(credential) <= run.config.limits.constraints));
    assert_eq!(run.refusal().0, Reason::LimitExceeded);
}

fn actor_chain() -> Credential {
    credential("s", "agent", "worker", READ)
}

#[test]
fn a_second_chain_is_the_actors() {
    for credentials in [vec![actor_chain(), leaf(), root()], vec![root(), leaf(), actor_chain()]] {
        let chain = Run::new(credentials).verify().unwrap();
        assert_eq!((chain.hops().len(), chain.actor_hops().len()), (2, 1));
        assert_eq!(chain.leaf_delegate(), ex("agent"));
        assert!(chain.composition_failure().is_none());
    }
}

#[test]
fn two_chains_of_the_owner_or_of_nobody_and_three_chains_are_malformed() {
    let other = credential("s", "owner", "worker", READ);
    assert_eq!(Run::new(vec![root(), other]).refusal().0, Reason::ChainMalformed);
    let mut nobody = Run::new(vec![root(), actor_chain()]);
    nobody.root = ex("stranger");
    assert_eq!(nobody.refusal().0, Reason::ChainMalformed);
    let third = credential("t", "worker", "helper", READ);
    assert_eq!(Run::new(vec![root(), actor_chain(), third]).refusal().0, Reason::ChainMalformed);
}

/// A failing actor chain comes after phase D of the primary chain, so it waits.
#[test]
fn a_failing_actor_chain_waits_for_composition() {
    let mut run = Run::new(vec![root(), leaf(), actor_chain()]);
    run.forged = vec!["urn:credential:s"];
    let chain = run.verify().unwrap();
    assert!(chain.composition_failure().unwrap().detail.contains("INVALID_SIGNATURE"));
    assert!(chain.actor_hops().is_empty());
    let mut elsewhere = Run::new(vec![root(), leaf(), credential("s", "other", "worker", READ)]);
    assert!(elsewhere.verify().unwrap().composition_failure().unwrap().detail.contains("BINDING_MISMATCH"));
    elsewhere.forged = vec!["urn:credential:q"];
    assert_eq!(
        elsewhere.refusal().0,
        Reason::InvalidSignature,
        "the primary chain's own failure comes first"
    );
}

#[test]
fn a_policy_both_embedded_and_digested_is_not_bound() {
    let mut run = Run::new(vec![root()]);
    run.credentials[0].related = vec![RelatedResource { id: ex("p"), ..RelatedResource::default() }];
    assert_eq!(run.refusal().0, Reason::PolicyIntegrity);
}
