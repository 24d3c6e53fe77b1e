//! Chains of two and three hops, and what a delegate who signs with its own key cannot make of them.

use crate::support::{assert_granted, evaluate, grant, reason, world};
use writgate::worked_example::{ALICE, Ask, BOB, MANDATE_POLICY, MandateDraft, NOTES, World};
use writgate::{Evaluation, Reason};

const LEAF: &str = "https://organisation.example/policies/to-agent";
const PREFIXES: &str = "PREFIX acl: <http://www.w3.org/ns/auth/acl#>
PREFIX odrl: <http://www.w3.org/ns/odrl/2/>
PREFIX odrld: <https://w3id.org/jeswr/odrl-delegation#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
";

/// A permission of `action` on the notes, with more about it.
fn permission(action: &str, more: &str) -> String {
    format!("odrl:permission [ odrl:action {action} ; odrl:target <{NOTES}> {more} ]")
}

fn to_bob() -> String {
    permission(
        "acl:Control",
        &format!(
            "; odrl:constraint [ odrl:leftOperand odrl:recipient ; odrl:operator odrl:eq ; odrl:rightOperand <{BOB}> ]"
        ),
    )
}

/// Alice mandates an organisation (mallory's key), which mandates the agent.
struct Two {
    world: World,
    root: MandateDraft,
    leaf: MandateDraft,
}

impl Two {
    fn new() -> Self {
        let world = world();
        let (organisation, agent) = (world.mallory.did_key(), world.agent_id());
        let root = MandateDraft {
            authorizes: organisation.clone(),
            policy: format!(
                "{PREFIXES}<{MANDATE_POLICY}> a odrl:Agreement ; odrl:assigner <{ALICE}> ; odrl:assignee <{organisation}> ; {} ; {} .",
                to_bob(),
                permission("odrl:grantUse", "")
            ),
            ..world.mandate_draft().unwrap()
        };
        let leaf = MandateDraft {
            id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000002".to_owned(),
            key: world.mallory.clone(),
            authorizes: agent.clone(),
            policy: format!(
                "{PREFIXES}<{LEAF}> a odrl:Agreement ; odrl:assigner <{organisation}> ; odrl:assignee <{agent}> ; odrld:delegatedUnder <{MANDATE_POLICY}> ; {} .",
                to_bob()
            ),
            ..world.mandate_draft().unwrap()
        };
        Self { world, root, leaf }
    }

    fn leaf_says(mut self, from: &str, to: &str) -> Self {
        assert!(self.leaf.policy.contains(from), "{from}");
        self.leaf.policy = self.leaf.policy.replace(from, to);
        self
    }

    fn root_says(mut self, from: &str, to: &str) -> Self {
        assert!(self.root.policy.contains(from), "{from}");
        self.root.policy = self.root.policy.replace(from, to);
        self
    }

    fn evaluate(&self) -> Evaluation {
        presented(&[&self.root, &self.leaf], |_| ())
    }

    #[track_caller]
    fn refused(&self) -> Reason {
        reason(self.evaluate())
    }
}

fn presented(drafts: &[&MandateDraft], change: impl FnOnce(&mut Ask)) -> Evaluation {
    let mut ask = grant();
    ask.credentials = drafts.iter().map(|draft| draft.issue().unwrap()).collect();
    change(&mut ask);
    evaluate(serde_json::to_vec(&ask.message().unwrap()).unwrap())
}

#[test]
fn a_chain_of_two_grants_in_either_order() {
    let two = Two::new();
    assert_granted(&two.evaluate());
    assert_granted(&presented(&[&two.leaf, &two.root], |_| ()));
}

#[test]
fn the_papers_of_a_chain_are_all_there_once_and_lead_to_the_holder() {
    let two = Two::new();
    assert_eq!(reason(presented(&[&two.root], |_| ())), Reason::HolderUnverified);
    assert_eq!(reason(presented(&[&two.leaf], |_| ())), Reason::ChainMalformed);
    let again =
        MandateDraft { id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000004".to_owned(), ..two.leaf.clone() };
    assert_eq!(reason(presented(&[&two.root, &two.leaf, &again], |_| ())), Reason::BindingMismatch);
    let branch = MandateDraft { policy: two.leaf.policy.replace(LEAF, "urn:other"), ..two.leaf.clone() };
    assert_eq!(reason(presented(&[&two.root, &two.leaf, &branch], |_| ())), Reason::ChainMalformed);
    // The organisation itself cannot present what it passed on: it is not the actor.
    let own = presented(&[&two.root, &two.leaf], |ask| ask.key = two.world.mallory.clone());
    assert_eq!(reason(own), Reason::HolderUnverified);
}

#[test]
fn a_delegate_cannot_take_the_place_of_its_principal() {
    // Its policy has the root's id, by name or by uid.
    let two = Two::new();
    let taken = Two::new().leaf_says(LEAF, MANDATE_POLICY);
    assert_eq!(taken.refused(), Reason::ChainMalformed);
    let uid = Two::new().leaf_says(&format!("<{LEAF}> a"), &format!("[] odrl:uid <{MANDATE_POLICY}> ; a"));
    assert_eq!(uid.refused(), Reason::ChainMalformed);
    // It is a root of its own: then it is a second chain, from the leaf delegate, and composes or fails.
    let free = Two::new().leaf_says(&format!("odrld:delegatedUnder <{MANDATE_POLICY}> ;"), "");
    assert_granted(&free.evaluate());
    let cycle = Two::new().leaf_says(
        &format!("odrld:delegatedUnder <{MANDATE_POLICY}>"),
        &format!("odrld:delegatedUnder <{LEAF}>"),
    );
    assert_eq!(cycle.refused(), Reason::ChainMalformed);
    // It names Alice as its assigner, or as its credential's subject.
    let organisation = format!("odrl:assigner <{}>", two.world.mallory.did_key());
    let assigner = Two::new().leaf_says(&organisation, &format!("odrl:assigner <{ALICE}>"));
    assert_eq!(assigner.refused(), Reason::BindingMismatch);
    let mut subject = Two::new();
    subject.leaf.changes = vec![(&["credentialSubject", "id"], ALICE.into())];
    assert_eq!(subject.refused(), Reason::SubjectIssuerMismatch);
    let mut issuer = Two::new();
    issuer.leaf.changes = vec![(&["issuer"], ALICE.into())];
    assert_eq!(issuer.refused(), Reason::HolderUnverified);
    issuer.root.authorizes = issuer.world.agent_id();
    assert_eq!(issuer.refused(), Reason::IssuerMismatch);
}

#[test]
fn a_delegate_cannot_state_rules_or_facts_for_its_principal() {
    let collection = "https://alice.pod.example/collections/open";
    let root =
        || Two::new().root_says(&format!("odrl:target <{NOTES}>"), &format!("odrl:target <{collection}>"));
    assert_eq!(root().refused(), Reason::PolicyDenied);
    // A fact about the principal's collection.
    let target = format!("odrl:target <{NOTES}>");
    let fact = format!("odrl:target <{NOTES}> , <{collection}> ");
    let mut widened = root().leaf_says(&target, &fact);
    widened.leaf.policy.push_str(&format!("<{NOTES}> odrl:partOf <{collection}> ."));
    assert_eq!(widened.refused(), Reason::PolicyDenied);
    // A rule for the principal's policy, in its own.
    let rule = Two::new().leaf_says(
        &format!("odrld:delegatedUnder <{MANDATE_POLICY}> ;"),
        &format!("odrld:delegatedUnder <{MANDATE_POLICY}> ; odrl:target <{NOTES}> ;"),
    );
    let mut rule = Two { leaf: rule.leaf, ..Two::new().root_says(&to_bob(), &permission("odrl:read", "")) };
    rule.leaf.policy.push_str(&format!("<{MANDATE_POLICY}> {} .", to_bob()));
    assert_eq!(rule.refused(), Reason::ChainMalformed);
}

#[test]
fn a_delegate_has_no_more_to_give_than_it_was_given() {
    let grant_use = permission("odrl:grantUse", "");
    for (from, to) in [
        (format!("; {grant_use}"), String::new()),
        (to_bob(), permission("odrl:read", "")),
        (grant_use.clone(), permission("odrl:use", "")),
        (grant_use.clone(), grant_use.replace(NOTES, "https://alice.pod.example/diary/")),
        (grant_use.clone(), permission("odrl:grantUse", &format!("; odrl:assignee <{BOB}>"))),
        (
            grant_use.clone(),
            permission(
                "odrl:grantUse",
                "; odrl:duty [ odrl:action odrl:nextPolicy ; odrl:target <urn:other> ]",
            ),
        ),
        (
            grant_use.clone(),
            format!(
                "{grant_use} ; odrl:conflict odrl:perm ; odrl:prohibition [ odrl:action odrl:use ; odrl:target <{NOTES}> ]"
            ),
        ),
        (
            grant_use.clone(),
            permission(
                "odrl:grantUse",
                "; odrl:constraint [ odrl:leftOperand odrl:dateTime ; odrl:operator odrl:lt ; odrl:rightOperand \"2026-12-01T12:00:00Z\"^^xsd:dateTime ]",
            ),
        ),
        (
            grant_use.clone(),
            permission(
                "odrl:grantUse",
                "; odrl:constraint [ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand 0 ]",
            ),
        ),
    ] {
        assert_eq!(Two::new().root_says(&from, &to).refused(), Reason::PolicyDenied, "{to}");
    }
    let mut scoped = Two::new();
    scoped.root.changes = vec![(&["credentialSubject", "action"], "read".into())];
    assert_eq!(scoped.refused(), Reason::PolicyDenied);
    let mut elsewhere = Two::new();
    elsewhere.leaf.changes =
        vec![(&["credentialSubject", "target"], "https://alice.pod.example/diary/".into())];
    assert_eq!(elsewhere.refused(), Reason::PolicyDenied);
    let mut over = Two::new();
    over.root.valid_until = Some("2026-11-30T00:00:00Z".parse().unwrap());
    assert_eq!(over.refused(), Reason::Expired);
}

#[test]
fn an_owner_who_prohibits_passing_on_cannot_be_composed_round() {
    let free = || Two::new().leaf_says(&format!("odrld:delegatedUnder <{MANDATE_POLICY}> ;"), "");
    let grant_use = permission("odrl:grantUse", "");
    let to_agent = format!("; odrl:assignee <{}>", world().agent_id());
    for (prohibition, expected) in [
        ("odrl:action odrl:grantUse".to_owned(), Reason::IdentityCompositionFailed),
        (format!("odrl:action acl:Control {to_agent}"), Reason::IdentityCompositionFailed),
        // What the actor may not do itself, it may not give away: that is phase D.
        (format!("odrl:action acl:Read {to_agent}"), Reason::PolicyDenied),
        (format!("odrl:action odrl:use {to_agent}"), Reason::PolicyDenied),
    ] {
        let root = format!("odrl:conflict odrl:perm ; odrl:prohibition [ {prohibition} ]");
        assert_eq!(free().root_says(&grant_use, &root).refused(), expected, "{prohibition}");
    }
}
