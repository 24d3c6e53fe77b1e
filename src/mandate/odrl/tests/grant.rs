//! The stage on a verified chain: attributes, credentials' scope, duties, grants, composition, evidence.

use super::super::PolicyGrant;
use crate::config::Config;
use crate::credential::Credential;
use crate::limits::Limits;
use crate::mandate::VerifiedChain;
use crate::mandate::chain::{BindingForm, Hop};
use crate::mandate::odrl::{Denial, Policy};
use crate::mandate::support::{config, credential, ex, request};
use crate::message::ActionsUnderTest;
use crate::message::action::ActionUnderTest;
use crate::refusal::{Phase, Reason, Refusal};
use crate::request::Request;
use crate::vocab::{acl, odrl};
use oxrdf::{NamedNode, Term};
use std::collections::BTreeMap;

const READ: &str = "odrl:permission [ odrl:action odrl:read ]";

/// One decision of the stage: the owner's mandate for `ex:agent`, who acts, unless a test says otherwise.
#[derive(Clone)]
struct Case {
    hops: Vec<Credential>,
    actor_hops: Vec<Credential>,
    failure: Option<Denial>,
    actor: String,
    actions: Vec<ActionUnderTest>,
    request: Request,
    config: Config,
}

impl Case {
    fn new(body: &str) -> Self {
        Self {
            hops: vec![credential("p", "owner", "agent", body)],
            actor_hops: Vec::new(),
            failure: None,
            actor: ex("agent"),
            actions: vec![ask(odrl::READ)],
            request: request(),
            config: config(),
        }
    }

    fn evaluate(&self) -> Result<PolicyGrant, Refusal> {
        let hops = |credentials: &[Credential]| -> Vec<Hop> {
            let hop = |credential: &Credential| Hop {
                policy: Policy::read(&credential.graph, &Limits::default()).unwrap().into(),
                policy_digest: credential.digest,
                binding: BindingForm::Embedded,
                credential: credential.clone().into(),
            };
            credentials.iter().map(hop).collect()
        };
        let chain = VerifiedChain::for_test(
            &ex("owner"),
            hops(&self.hops),
            hops(&self.actor_hops),
            self.failure.clone(),
        );
        let actions = ActionsUnderTest {
            actions: self.actions.clone(),
            root_principal: ex("owner"),
            policy_references: Vec::new(),
            agent: None,
            unjudged_nodes: Vec::new(),
        };
        PolicyGrant::evaluate(&chain, &actions, &self.actor, &self.request, &self.config)
    }

    fn refusal(&self) -> Refusal {
        self.evaluate().unwrap_err()
    }

    fn reason(&self) -> Option<Reason> {
        self.evaluate().err().map(|refusal| refusal.reason())
    }

    fn state(mut self, name: &str, value: &str) -> Self {
        let value = Term::from(NamedNode::new_unchecked(value));
        self.actions[0].stated.entry(name.into()).or_default().push(value);
        self
    }

    fn vouch(mut self, name: &str, value: &str) -> Self {
        self.request.facts.vouched.entry(name.into()).or_default().push(value.into());
        self
    }
}

fn ask(action: &str) -> ActionUnderTest {
    ActionUnderTest {
        class: ex("Class"),
        action: action.into(),
        target: ex("thing"),
        stated: BTreeMap::new(),
    }
}

fn read_if(operand: &str, operator: &str, right: &str) -> String {
    format!(
        "odrl:permission [ odrl:action odrl:read ; odrl:constraint [ odrl:leftOperand {operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ] ]"
    )
}

#[test]
fn a_plain_mandate_grants() {
    let grant = Case::new(READ).evaluate().unwrap();
    assert!(grant.exercised().contains_key(&format!("{} {}", ex("p"), ex("owner"))));
    assert!(grant.obligations().is_empty());
}

#[test]
fn nothing_asked_grants_nothing() {
    let mut case = Case::new(READ);
    case.actions.clear();
    assert_eq!(case.reason(), Some(Reason::PolicyDenied));
}

#[test]
fn every_action_must_be_permitted() {
    let mut case = Case::new(READ);
    case.actions.push(ask(odrl::DELETE));
    assert_eq!(case.reason(), Some(Reason::PolicyDenied));
}

#[test]
fn a_denial_says_where_and_what() {
    let refusal =
        Case::new(&read_if("odrl:purpose", "eq", "ex:research")).state("purpose", &ex("sales")).refusal();
    let evidence = refusal.evidence();
    assert_eq!((evidence.phase, evidence.hop), (Some(Phase::D), Some(0)));
    assert_eq!(evidence.policy, Some(ex("p")));
    assert_eq!(evidence.credential.as_deref(), Some("urn:credential:p"));
    assert_eq!(evidence.seen.as_deref(), Some("purpose <https://x.example/sales>"));
    assert_eq!(evidence.expected.as_deref(), Some("eq <https://x.example/research>"));
}

/// Threat 5: a stated value never feeds what is vouched for or established.
#[test]
fn stated_and_vouched_values_never_mix() {
    let case = || Case::new(&read_if("odrl:spatial", "eq", "ex:paris"));
    assert!(case().vouch("spatial", "<https://x.example/paris>").evaluate().is_ok());
    assert!(case().state("spatial", &ex("paris")).evaluate().is_ok());
    let both = case().vouch("spatial", "<https://x.example/paris>").state("spatial", &ex("paris"));
    assert_eq!(both.reason(), Some(Reason::PolicyDenied));
    assert_eq!(case().vouch("spatial", "paris").reason(), Some(Reason::PolicyDenied), "no term, no value");
    let avoided = Case::new(&read_if("odrl:spatial", "neq", "ex:paris")).vouch("spatial", "paris");
    assert_eq!(avoided.reason(), Some(Reason::PolicyDenied));
}

#[test]
fn established_operands_come_from_the_snapshot_alone() {
    let one = "\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>";
    let mut case = Case::new(&read_if("odrl:count", "lteq", "1")).vouch("count", one);
    assert!(case.evaluate().is_ok());
    case.request.snapshot.counts.insert(format!("{} {}", ex("p"), ex("owner")), 1);
    assert_eq!(case.reason(), Some(Reason::PolicyDenied));
    let depth = Case::new(&read_if("odrld:delegationDepth", "lteq", "5")).vouch("delegationDepth", one);
    assert_eq!(depth.reason(), Some(Reason::PolicyDenied));
    let time = "\"2026-06-16T12:05:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>";
    assert_eq!(Case::new(READ).vouch("dateTime", time).reason(), Some(Reason::PolicyDenied));
    assert_eq!(Case::new(READ).state("dateTime", &ex("soon")).reason(), Some(Reason::PolicyDenied));
}

#[test]
fn the_end_of_a_constraint_ends_the_grant() {
    let case = Case::new(&read_if("odrl:dateTime", "lteq", "\"2026-06-17T00:00:00Z\"^^xsd:dateTime"));
    assert_eq!(case.evaluate().unwrap().not_after().to_rfc3339(), "2026-06-17T00:00:00+00:00");
}

#[test]
fn a_revoked_policy_denies_here_too() {
    let mut case = Case::new(READ);
    std::sync::Arc::make_mut(&mut case.request.snapshot.memory).revoked.ids.insert(ex("p"));
    assert_eq!(case.reason(), Some(Reason::PolicyDenied));
}

#[test]
fn the_length_of_the_chain_is_bounded() {
    let mut case = Case::new(READ);
    case.config.max_chain_length = 0;
    assert_eq!(case.refusal().evidence().expected.as_deref(), Some("at most 0"));
}

#[test]
fn a_credentials_own_scope_covers_the_request() {
    for (actions, targets, expected) in [
        (vec!["read"], vec![], true),
        (vec!["delete", odrl::READ], vec![], true),
        (vec!["use"], vec![ex("thing")], true),
        (vec!["write"], vec![], false),
        (vec![], vec![ex("other")], false),
        (vec!["nonsense:"], vec![], false),
    ] {
        let mut case = Case::new(READ);
        case.hops[0].actions = actions.iter().map(ToString::to_string).collect();
        case.hops[0].targets = targets.clone();
        assert_eq!(case.evaluate().is_ok(), expected, "{actions:?} {targets:?}");
    }
}

#[test]
fn required_duties_must_be_done() {
    let mut case = Case::new(
        "odrl:permission [ odrl:action odrl:read ; odrl:duty [ odrl:action odrl:inform ; odrl:target ex:owner ] ]",
    );
    assert_eq!(case.evaluate().unwrap().obligations().len(), 1);
    case.config.require_duties = true;
    assert_eq!(case.reason(), Some(Reason::PolicyDenied));
    let inform = format!("{}inform", odrl::NS);
    case.request.facts.discharged.insert((inform.clone(), None));
    assert_eq!(case.reason(), Some(Reason::PolicyDenied), "the target is part of the duty");
    case.request.facts.discharged.insert((inform, Some(ex("owner"))));
    assert!(case.evaluate().is_ok());
}

const CONTROL: &str = "odrl:permission [ odrl:action acl:Control ]";

fn control_if(operand: &str, right: &str) -> String {
    format!(
        "odrl:permission [ odrl:action acl:Control ; odrl:constraint [ odrl:leftOperand {operand} ; odrl:operator odrl:eq ; odrl:rightOperand {right} ] ]"
    )
}

fn grant_of(body: &str, recipient: &str, mode: &str) -> Case {
    let mut case = Case::new(body);
    case.actions = vec![ask(acl::CONTROL)];
    case.state("recipient", &ex(recipient)).state("mode", mode)
}

#[test]
fn a_grant_needs_control_a_recipient_and_a_mode() {
    assert!(grant_of(CONTROL, "friend", acl::READ).evaluate().is_ok());
    assert!(grant_of("odrl:permission [ odrl:action odrl:use ]", "friend", acl::READ).evaluate().is_err());
    for missing in ["recipient", "mode"] {
        let mut case = grant_of(CONTROL, "friend", acl::READ);
        case.actions[0].stated.remove(missing);
        assert_eq!(case.reason(), Some(Reason::PolicyDenied), "{missing}");
    }
    assert!(grant_of(CONTROL, "friend", &ex("Everything")).evaluate().is_err());
    let mut literal = grant_of(CONTROL, "friend", acl::READ);
    literal.actions[0]
        .stated
        .insert("recipient".into(), vec![oxrdf::Literal::new_simple_literal("friend").into()]);
    assert_eq!(literal.reason(), Some(Reason::PolicyDenied));
}

/// Threat 19: no self-grant, no grant to a party, no onward Control, unless the policy names it.
#[test]
fn a_sensitive_grant_needs_a_permission_that_names_it() {
    for party in ["agent", "owner"] {
        assert_eq!(grant_of(CONTROL, party, acl::READ).reason(), Some(Reason::PolicyDenied), "{party}");
        let named = control_if("odrl:recipient", &format!("ex:{party}"));
        assert!(grant_of(&named, party, acl::READ).evaluate().is_ok(), "{party}");
    }
    assert_eq!(grant_of(CONTROL, "friend", acl::CONTROL).reason(), Some(Reason::PolicyDenied));
    assert!(grant_of(&control_if("a2a:mode", "acl:Control"), "friend", acl::CONTROL).evaluate().is_ok());
    let among = "odrl:permission [ odrl:action acl:Control ; odrl:constraint [ odrl:or ( [ odrl:leftOperand odrl:recipient ; odrl:operator odrl:eq ; odrl:rightOperand ex:agent ] [ odrl:leftOperand odrl:recipient ; odrl:operator odrl:neq ; odrl:rightOperand ex:foe ] ) ] ]";
    assert_eq!(
        grant_of(among, "agent", acl::READ).reason(),
        Some(Reason::PolicyDenied),
        "an alternative names nobody"
    );
}

#[test]
fn a_grant_to_the_actor_needs_every_hop_to_name_it() {
    let named = control_if("odrl:recipient", "ex:agent");
    let grant_use = "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:middle ]";
    let mut case = grant_of(&named, "agent", acl::READ);
    let hops = |first: &str| {
        vec![
            credential("p", "owner", "middle", &format!("{first} ; {grant_use}")),
            credential("q", "middle", "agent", &format!("odrld:delegatedUnder ex:p ; {named}")),
        ]
    };
    case.hops = hops(CONTROL);
    assert_eq!(case.refusal().evidence().hop, Some(0));
    case.hops = hops(&named);
    assert!(case.evaluate().is_ok());
}

#[test]
fn a_mode_that_is_prohibited_to_recipient_or_actor_is_not_passed_on() {
    for assignee in ["ex:friend", "ex:agent"] {
        let body = format!(
            "{CONTROL} ; odrl:conflict odrl:perm ; odrl:prohibition [ odrl:action odrl:write ; odrl:assignee {assignee} ]"
        );
        assert_eq!(grant_of(&body, "friend", acl::APPEND).reason(), Some(Reason::PolicyDenied), "{assignee}");
        assert!(grant_of(&body, "friend", acl::READ).evaluate().is_ok());
    }
}

/// The owner's mandate for `ex:agent`, exercised by its worker.
fn composed(primary: &str, secondary: &str) -> Case {
    let mut case = Case::new(primary);
    case.actor_hops = vec![credential("s", "agent", "worker", secondary)];
    case.actor = ex("worker");
    case
}

#[test]
fn an_actor_composes_with_the_leaf_delegate() {
    let duty = |action: &str| {
        format!("odrl:permission [ odrl:action odrl:read ; odrl:duty [ odrl:action odrl:{action} ] ]")
    };
    let grant = composed(&duty("inform"), &duty("delete")).evaluate().unwrap();
    assert_eq!(grant.obligations().len(), 2, "obligations of both chains add up");
    assert_eq!(grant.exercised().len(), 2);
}

fn uncomposed(case: &Case) {
    let refusal = case.refusal();
    assert_eq!(refusal.reason(), Reason::IdentityCompositionFailed, "{:?}", refusal.evidence());
    assert_eq!(refusal.evidence().phase, Some(Phase::Composition));
}

#[test]
fn an_actor_without_its_chain_fails() {
    let mut case = Case::new(READ);
    case.actor = ex("worker");
    uncomposed(&case);
}

#[test]
fn the_actor_chain_starts_with_the_leaf_and_ends_with_the_actor() {
    let mut case = composed(READ, READ);
    case.actor_hops = vec![credential("s", "other", "worker", READ)];
    uncomposed(&case);
    case.actor_hops = vec![credential("s", "agent", "helper", READ)];
    uncomposed(&case);
}

#[test]
fn the_actor_chain_permits_the_same() {
    uncomposed(&composed(READ, "odrl:permission [ odrl:action odrl:delete ]"));
    uncomposed(&composed(READ, "odrl:permission [ odrl:action odrl:read ; odrl:target ex:other ]"));
    let mut scoped = composed(READ, READ);
    scoped.actor_hops[0].targets = vec![ex("other")];
    uncomposed(&scoped);
}

/// Threat 19: what the owner lets be passed on to the actor, the delegate must let be passed on too.
#[test]
fn a_sensitive_grant_needs_the_actor_chain_to_name_it() {
    let named = control_if("odrl:recipient", "ex:worker");
    let granting = |secondary: &str| {
        let mut case = composed(&named, secondary);
        case.actions = grant_of(&named, "worker", acl::READ).actions;
        case
    };
    uncomposed(&granting(CONTROL));
    assert!(granting(&named).evaluate().is_ok());
}

/// Threat 18: composition is no unlimited delegation.
#[test]
fn actor_hops_are_bounded() {
    let mut case = composed(READ, READ);
    let grant = "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:helper ]";
    case.actor_hops = vec![
        credential("s", "agent", "helper", &format!("{READ} ; {grant}")),
        credential("t", "helper", "worker", &format!("odrld:delegatedUnder ex:s ; {READ}")),
    ];
    uncomposed(&case);
    case.config.max_actor_hops = 2;
    assert!(case.evaluate().is_ok());
    let mut none = composed(READ, READ);
    assert!(none.evaluate().is_ok());
    none.config.max_actor_hops = 0;
    uncomposed(&none);
}

/// Threat 18: the owner's word about the actor, and about delegation, is heard whatever the conflict strategy.
#[test]
fn prohibitions_of_both_chains_meet_the_actor() {
    let against = |body: &str| format!("{READ} ; odrl:conflict odrl:perm ; odrl:prohibition [ {body} ]");
    for body in [
        "odrl:action odrl:read ; odrl:assignee ex:worker",
        "odrl:action odrl:grantUse ; odrl:assignee ex:agent",
        "odrl:action odrl:grantUse",
    ] {
        uncomposed(&composed(&against(body), READ));
    }
    uncomposed(&composed(READ, &against("odrl:action odrl:read ; odrl:assignee ex:worker")));
    assert!(composed(&against("odrl:action odrl:read ; odrl:assignee ex:foe"), READ).evaluate().is_ok());
}

#[test]
fn a_failing_second_chain_fails_after_phase_d() {
    let mut case = composed(READ, READ);
    case.failure = Some(Denial { detail: "forged".into(), ..Denial::default() });
    uncomposed(&case);
    case.actions = vec![ask(odrl::DELETE)];
    assert_eq!(case.reason(), Some(Reason::PolicyDenied));
    let mut unneeded = Case::new(READ);
    unneeded.failure = case.failure.clone();
    uncomposed(&unneeded);
}

#[test]
fn a_second_chain_that_is_not_needed_still_prohibits() {
    let mut case = composed(READ, "odrl:prohibition [ odrl:action odrl:read ; odrl:assignee ex:agent ]");
    case.actor = ex("agent");
    uncomposed(&case);
}

#[test]
fn the_actor_chains_facts_do_not_widen_its_permission() {
    let mut case = composed(READ, READ);
    case.actor_hops[0].graph = crate::mandate::support::graph(
        "ex:s a odrl:Agreement ; odrl:assigner ex:agent ; odrl:assignee ex:worker ; odrl:permission [ odrl:action odrl:read ; odrl:target ex:c ] . ex:thing odrl:partOf ex:c .",
    );
    uncomposed(&case);
}

/// A delegate writes policies too: whatever it writes, the work for one message is bounded.
#[test]
fn the_work_on_the_policies_of_a_message_is_bounded() {
    let list = |count: usize| (0..count).map(|n| format!("ex:r{n}")).collect::<Vec<_>>().join(" ");
    let control = "odrl:permission [ odrl:action acl:Control ]";
    let mode = |mode: &str| Term::from(NamedNode::new_unchecked(mode));
    let of = |many: usize, rule: String| {
        let mut action = ask(acl::CONTROL);
        let party = |n| Term::from(NamedNode::new_unchecked(ex(&format!("other{n}"))));
        action.stated.insert("recipient".into(), (0..many).map(party).collect());
        action.stated.insert("mode".into(), [acl::READ, acl::WRITE, acl::APPEND].map(mode).into());
        let mut case = Case::new(&format!("{control} ; {rule}"));
        case.actions = vec![action; many];
        case
    };
    let comparing = |right: usize| {
        format!(
            "odrl:prohibition [ odrl:action odrl:use ; odrl:constraint [ odrl:leftOperand odrl:recipient ; odrl:operator odrl:isAnyOf ; odrl:rightOperand ( {} ) ] ]",
            list(right)
        )
    };
    let naming = |names: usize| {
        format!(
            "odrl:prohibition [ odrl:action odrl:use ; odrl:assignee {} ]",
            list(names).replace(' ', " , ")
        )
    };
    for rule in [&comparing as &dyn Fn(usize) -> String, &naming] {
        assert_eq!(of(3, rule(20)).reason(), None);
        let started = std::time::Instant::now();
        let refusal = of(60, rule(1900)).refusal();
        assert_eq!(refusal.reason(), Reason::LimitExceeded);
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }
    let mut composed = composed(control, &format!("{control} ; {}", comparing(1900)));
    composed.actions = of(60, String::new()).actions;
    assert_eq!(composed.reason(), Some(Reason::LimitExceeded));
}

/// Facts of a document are its writer's, as many as a graph holds: each one that is followed counts.
#[test]
fn the_facts_that_a_policy_makes_us_follow_are_work() {
    let of = |facts: usize| {
        let targets: Vec<String> = (0..900).map(|n| format!("ex:t{n}")).collect();
        let members: String = (0..900).map(|n| format!(" ex:m{n} odrl:partOf ex:t{n} .")).collect();
        let path: String = (0..facts).map(|n| format!(" ex:w{n} odrl:partOf ex:w{} .", n + 1)).collect();
        let mut case = Case::new(READ);
        case.hops[0].graph = crate::mandate::support::graph(&format!(
            "ex:p a odrl:Agreement ; odrl:assigner ex:owner ; odrl:assignee ex:agent ; {READ} ; odrl:prohibition [ odrl:action odrl:read ; odrl:target {} ] .{members}{path} ex:thing odrl:partOf ex:w0 .",
            targets.join(" , ")
        ));
        case
    };
    assert_eq!(of(10).reason(), None);
    assert_eq!(of(1500).reason(), Some(Reason::LimitExceeded));
}

/// A rule that was not judged to its end for want of work leaves no grant without its duty.
#[test]
fn no_grant_is_made_of_rules_that_the_limit_left_unjudged() {
    let with =
        |duty: &str| format!("odrl:permission [ odrl:action odrl:read ; odrl:duty [ odrl:action {duty} ] ]");
    let mut case = Case::new(&format!("{} ; {}", with("odrl:inform"), with("odrl:attribute")));
    let whole = case.evaluate().unwrap().obligations().clone();
    assert_eq!(whole.len(), 2);
    let mut refused = 0;
    for steps in 0..100 {
        case.config.limits.policy_steps = steps;
        match case.evaluate() {
            Ok(grant) => assert_eq!(*grant.obligations(), whole, "{steps}"),
            Err(refusal) => {
                assert_eq!(refusal.reason(), Reason::LimitExceeded, "{steps}");
                refused += 1;
            }
        }
    }
    assert!((1..100).contains(&refused));
}

/// Many actions in one message count like as many messages.
#[test]
fn a_message_exercises_a_count_once_for_each_action() {
    let counted = |operator: &str, right: &str| Case {
        actions: vec![ask(odrl::READ); 3],
        ..Case::new(&read_if("odrl:count", operator, right))
    };
    assert_eq!(counted("lteq", "2").reason(), Some(Reason::PolicyDenied));
    let grant = counted("lteq", "3").evaluate().unwrap();
    let key = format!("{} {}", ex("p"), ex("owner"));
    assert_eq!(grant.exercised(), &BTreeMap::from([(key.clone(), 3)]));
    assert!(grant.is_counted(&key));
    let mut later = counted("lteq", "4");
    later.request.snapshot.counts.insert(key, 2);
    assert_eq!(later.reason(), Some(Reason::PolicyDenied));
    assert_eq!(counted("gteq", "2").reason(), Some(Reason::PolicyDenied), "the first of them is the first");
}

proptest::proptest! {
    /// Composition never allows what either chain refuses, whatever the two say; nor what a prohibition of either one
    /// says of the actor.
    #[test]
    fn composition_never_allows_what_either_chain_refuses(
        (primary, secondary) in (super::properties::body(), super::properties::body()),
        purpose in super::properties::purpose(),
    ) {
        let mut case = composed(&primary, &secondary);
        if let Some(purpose) = purpose {
            case = case.state("purpose", purpose);
        }
        if let Ok(grant) = case.evaluate() {
            let mut first = Case { actor: ex("agent"), actor_hops: Vec::new(), ..case.clone() };
            proptest::prop_assert!(first.evaluate().is_ok(), "the owner's chain alone");
            // The delegate's own chain, as if the delegate owned the target.
            let mut second = credential("s", "agent", "worker", &secondary);
            second.policy.clone_from(&case.actor_hops[0].policy);
            first.hops = vec![second];
            first.actor = ex("worker");
            proptest::prop_assert!(first.evaluate().is_ok(), "the delegate's chain alone");
            proptest::prop_assert_eq!(grant.exercised().len(), 2);
            for prohibited in [
                composed(&format!("{primary} ; odrl:prohibition [ odrl:action odrl:read ; odrl:assignee ex:worker ]"), &secondary),
                composed(&format!("{primary} ; odrl:prohibition [ odrl:action odrl:grantUse ]"), &secondary),
                composed(&primary, &format!("{secondary} ; odrl:prohibition [ odrl:action odrl:use ]")),
            ] {
                let prohibited = Case { actions: case.actions.clone(), ..prohibited };
                proptest::prop_assert!(prohibited.evaluate().is_err());
            }
        }
    }
}

/// A prohibition of a chain that nobody needs begins all the same.
#[test]
fn a_second_chain_that_is_not_needed_still_ends_the_grant() {
    let later =
        "odrl:prohibition [ odrl:action odrl:read ; odrl:constraint [ odrl:leftOperand odrl:dateTime ;
        odrl:operator odrl:gt ; odrl:rightOperand \"2026-06-16T13:00:00Z\"^^xsd:dateTime ] ]";
    let mut case = composed(READ, &format!("{READ} ; {later}"));
    case.actor = ex("agent");
    assert_eq!(
        case.evaluate().unwrap().not_after(),
        "2026-06-16T13:00:00Z".parse::<crate::request::Instant>().unwrap()
    );
}

/// Whoever a policy of the chain is for is a party of it, although the credential names another.
#[test]
fn an_assignee_of_a_policy_is_a_party_of_its_chain() {
    let body = |constraint: &str| {
        format!("odrl:permission [ odrl:action acl:Control ; odrl:assignee ex:agent {constraint} ]")
    };
    let case = |constraint: &str| {
        let mut case = grant_of("odrl:permission [ odrl:action acl:Control ]", "friend", acl::READ);
        assert!(case.evaluate().is_ok(), "a friend of nobody");
        case.hops = vec![credential("p", "owner", "friend", &body(constraint))];
        case.hops[0].authorizes = Some(ex("agent"));
        case
    };
    assert_eq!(case("").reason(), Some(Reason::PolicyDenied));
    let named = "; odrl:constraint [ odrl:leftOperand odrl:recipient ; odrl:operator odrl:eq ; odrl:rightOperand ex:friend ]";
    assert!(case(named).evaluate().is_ok());
}
