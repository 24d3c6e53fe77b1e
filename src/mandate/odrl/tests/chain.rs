//! The delegation chain: edges, depth, next policies, scope, strict prohibitions.

use super::*;

const ROOT: &str = "odrl:permission [ odrl:action odrl:read ; odrl:assignee ex:a ]";
const GRANT: &str = "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:a ]";

fn root(body: &str) -> Policy {
    owned(body)
}

/// A hop from `from` to `to` under `parent`, with `body`.
fn hop(id: &str, from: &str, to: &str, parent: &str, body: &str) -> Policy {
    policy(&format!(
        "ex:{id} a odrl:Agreement ; odrl:assigner ex:{from} ; odrl:assignee ex:{to} ; odrld:delegatedUnder ex:{parent} ; {body} ."
    ))
}

fn leaf() -> Policy {
    hop("q", "a", "agent", "p", "odrl:permission [ odrl:action odrl:read ]")
}

fn depth(operator: &str, right: &str) -> String {
    format!(
        "[ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
    )
}

fn grant_with(more: &str) -> String {
    format!("{ROOT} ; odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:a ; {more} ]")
}

#[test]
fn a_chain_of_two_permits() {
    assert!(Ask::new().permitted(&[root(&format!("{ROOT} ; {GRANT}")), leaf()]));
}

#[test]
fn each_edge_needs_its_form() {
    let from = root(&format!("{ROOT} ; {GRANT}"));
    let body = "odrl:permission [ odrl:action odrl:read ]";
    let parts =
        ["a odrl:Agreement", "odrl:assigner ex:a", "odrl:assignee ex:agent", "odrld:delegatedUnder ex:p"];
    let text = |parts: &[&str]| format!("ex:q {} ; {body} .", parts.join(" ; "));
    assert!(Ask::new().permitted(&[from.clone(), policy(&text(&parts))]));
    for instead in [
        "a odrl:Set ; odrl:assigner ex:a ; odrl:assignee ex:agent ; odrld:delegatedUnder ex:p",
        "a odrl:Agreement ; odrl:assignee ex:agent ; odrld:delegatedUnder ex:p",
        "a odrl:Agreement ; odrl:assigner ex:a ; odrld:delegatedUnder ex:p",
        "a odrl:Agreement ; odrl:assigner ex:a ; odrl:assignee ex:agent",
        "a odrl:Agreement ; odrl:assigner ex:a ; odrl:assignee ex:agent ; odrld:delegatedUnder ex:other",
        "a odrl:Agreement ; odrl:assigner ex:b ; odrl:assignee ex:agent ; odrld:delegatedUnder ex:p",
    ] {
        assert!(!Ask::new().permitted(&[from.clone(), policy(&text(&[instead]))]), "{instead}");
    }
}

#[test]
fn an_edge_needs_a_grant_use_that_names_its_delegate() {
    for grant in [
        "odrl:permission [ odrl:action odrl:grantUse ]",
        "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:b ]",
        "odrl:permission [ odrl:action odrl:use ; odrl:assignee ex:a ]",
        "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:a ; odrl:target ex:other ]",
        "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee [ a odrl:PartyCollection ; odrl:source ex:team ] ]",
    ] {
        let ask = Ask::new().fact("ex:a odrl:partOf ex:team .");
        assert!(!ask.permitted(&[root(&format!("{ROOT} ; {grant}")), leaf()]), "{grant}");
    }
    assert!(!Ask::new().permitted(&[root(ROOT), leaf()]));
    let inherited = policy(
        "ex:p a odrl:Set ; odrl:assigner ex:owner ; odrl:assignee ex:a ; odrl:permission [ odrl:action odrl:read, odrl:grantUse ] .",
    );
    assert!(Ask::new().permitted(&[inherited, leaf()]));
}

/// Several assignees are that many rules, so one that is refined away names nobody.
#[test]
fn a_refined_name_is_not_an_explicit_one() {
    let never = "odrl:refinement [ odrl:leftOperand odrl:dateTime ; odrl:operator odrl:lt ; odrl:rightOperand \"2000-01-01T00:00:00Z\"^^xsd:dateTime ]";
    let grant = format!(
        "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:team , [ odrl:source ex:a ; {never} ] ]"
    );
    let ask = Ask::new().fact("ex:a odrl:partOf ex:team .");
    assert!(!ask.permitted(&[root(&format!("{ROOT} ; {grant}")), leaf()]));
}

/// An obligation of the policy is one of every grant of it, nextPolicy too.
#[test]
fn next_policy_of_the_whole_policy_names_the_child() {
    for (target, expected) in [("ex:q", true), ("ex:other", false)] {
        let obligation = format!("odrl:obligation [ odrl:action odrl:nextPolicy ; odrl:target {target} ]");
        let from = root(&format!("{ROOT} ; {GRANT} ; {obligation}"));
        assert_eq!(Ask::new().permitted(&[from, leaf()]), expected, "{target}");
    }
}

#[test]
fn a_prohibition_of_delegation_is_strict() {
    let body = format!(
        "{ROOT} ; {GRANT} ; odrl:conflict odrl:perm ; odrl:prohibition [ odrl:action odrl:grantUse ; odrl:assignee ex:a ]"
    );
    assert!(!Ask::new().permitted(&[root(&body), leaf()]));
}

/// Threat 31: every operator and nesting, with one hop and with two below.
#[test]
fn delegation_depth_bounds_what_is_below() {
    let middle =
        hop("m", "a", "b", "p", "odrl:permission [ odrl:action odrl:read ] , [ odrl:action odrl:grantUse ]");
    let end = hop("q", "b", "agent", "m", "odrl:permission [ odrl:action odrl:read ]");
    let one = |more: &str| Ask::new().permitted(&[root(&grant_with(more)), leaf()]);
    let two = |more: &str| Ask::new().permitted(&[root(&grant_with(more)), middle.clone(), end.clone()]);
    for (bound, allows_one, allows_two) in [
        (depth("lteq", "2"), true, true),
        (depth("lteq", "1"), true, false),
        (depth("lt", "2"), true, false),
        (depth("lt", "3"), true, true),
        (depth("eq", "2"), false, true),
        (depth("eq", "1"), true, false),
        (depth("lteq", "0"), false, false),
        (depth("gteq", "1"), false, false),
        (depth("gt", "0"), false, false),
        (depth("neq", "5"), false, false),
        (depth("isAnyOf", "( 1 2 )"), false, false),
        (depth("lteq", "1, 2"), false, false),
        (depth("lteq", "2.0"), false, false),
        (depth("lteq", "\"2\""), false, false),
        (depth("gteq", "-1"), false, false),
        (format!("[ odrl:or ( {} ) ]", depth("lteq", "2")), false, false),
        (format!("[ odrl:and ( {} ) ]", depth("lteq", "2")), false, false),
        (format!("{} , {}", depth("lteq", "2"), depth("lteq", "1")), true, false),
        (format!("{} , [ odrl:or ( {} ) ]", depth("lteq", "2"), depth("lteq", "2")), false, false),
    ] {
        let more = format!("odrl:constraint {bound}");
        assert_eq!((one(&more), two(&more)), (allows_one, allows_two), "{bound}");
    }
    assert_eq!(
        (one("rdfs:label \"x\""), two("rdfs:label \"x\"")),
        (true, false),
        "without a bound the budget is 1"
    );
    let hidden = format!("odrl:target [ odrl:source ex:thing ; odrl:refinement {} ]", depth("lteq", "2"));
    assert!(!one(&hidden));
}

#[test]
fn next_policy_names_the_child() {
    let duty = |target: &str| format!("odrl:duty [ odrl:action odrl:nextPolicy {target} ]");
    for (duty, expected) in [
        (duty("; odrl:target ex:q"), true),
        (duty("; odrl:target ex:other"), false),
        (duty(""), false),
        (duty("; odrl:target ex:q, ex:other"), false),
        (format!("{} ; {}", duty("; odrl:target ex:q"), duty("; odrl:target ex:other")), false),
    ] {
        assert_eq!(Ask::new().permitted(&[root(&grant_with(&duty)), leaf()]), expected, "{duty}");
    }
    let grant = granted(Ask::new().of(&[root(&grant_with(&duty("; odrl:target ex:q"))), leaf()]));
    assert!(grant.obligations.is_empty(), "nextPolicy is no obligation");
}

#[test]
fn every_ancestor_permits_the_action_itself_for_its_own_delegate() {
    assert!(!Ask::new().permitted(&[root(GRANT), leaf()]));
    let other = "odrl:permission [ odrl:action odrl:read ; odrl:assignee ex:agent ]";
    assert!(!Ask::new().permitted(&[root(&format!("{other} ; {GRANT}")), leaf()]));
    let broad = hop("q", "a", "agent", "p", "odrl:permission [ odrl:action odrl:read, odrl:write ]");
    assert!(!Ask::new().action("write").permitted(&[root(&format!("{ROOT} ; {GRANT}")), broad]));
}

#[test]
fn the_leaf_permits_the_action_itself() {
    let narrow = hop("q", "a", "agent", "p", "odrl:permission [ odrl:action odrl:delete ]");
    assert!(!Ask::new().permitted(&[root(&format!("{ROOT} ; {GRANT}")), narrow]));
}

#[test]
fn prohibitions_of_a_chain_are_strict_for_delegate_and_agent() {
    let base = format!("{ROOT} ; {GRANT} ; odrl:conflict odrl:perm");
    for assignee in ["ex:a", "ex:agent"] {
        let body = format!("{base} ; odrl:prohibition [ odrl:action odrl:read ; odrl:assignee {assignee} ]");
        assert!(!Ask::new().permitted(&[root(&body), leaf()]), "{assignee}");
    }
    let strict = hop(
        "q",
        "a",
        "agent",
        "p",
        "odrl:conflict odrl:perm ; odrl:permission [ odrl:action odrl:read ] ; odrl:prohibition [ odrl:action odrl:read ]",
    );
    assert!(!Ask::new().permitted(&[root(&base), strict]));
    let harmless = format!("{base} ; odrl:prohibition [ odrl:action odrl:read ; odrl:assignee ex:stranger ]");
    assert!(Ask::new().permitted(&[root(&harmless), leaf()]));
}

#[test]
fn the_agent_is_the_leafs_assignee() {
    let open = hop("q", "a", "b", "p", "odrl:permission [ odrl:action odrl:read ; odrl:assignee ex:agent ]");
    let denial = denied(Ask::new().of(&[root(&format!("{ROOT} ; {GRANT}")), open]));
    assert_eq!((denial.hop, denial.constraint.as_deref()), (Some(1), Some("assignee")));
}

#[test]
fn the_first_policy_is_a_root() {
    assert!(!Ask::new().permitted(&[leaf()]));
    let orphan = root(&format!("{ROOT} ; {GRANT} ; odrld:delegatedUnder ex:gone"));
    assert!(!Ask::new().permitted(&[orphan, leaf()]));
}

#[test]
fn length_repetition_and_revocation_deny() {
    let chain = [root(&format!("{ROOT} ; {GRANT}")), leaf()];
    let request = Ask::new().request();
    let none = BTreeSet::new();
    assert!(matches!(evaluate_chain(&chain, &request, &none, 2), ChainVerdict::Permit(_)));
    assert_eq!(denied(evaluate_chain(&chain, &request, &none, 1)).expected.as_deref(), Some("at most 1"));
    for id in ["https://x.example/p", "https://x.example/q"] {
        let revoked = BTreeSet::from([id.to_owned()]);
        assert_eq!(denied(evaluate_chain(&chain, &request, &revoked, 8)).policy.as_deref(), Some(id));
    }
    let twice = [chain[0].clone(), chain[1].clone(), chain[0].clone()];
    assert!(denied(Ask::new().of(&twice)).detail.contains("twice"));
}

#[test]
fn duties_of_edges_ancestors_and_leaf_add_up() {
    let duty = |action: &str| format!("odrl:duty [ odrl:action odrl:{action} ]");
    let first = format!(
        "odrl:permission [ odrl:action odrl:read ; odrl:assignee ex:a ; {} ] ; odrl:obligation [ odrl:action odrl:review ] ;
         odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:a ; {} ]",
        duty("inform"),
        duty("attribute")
    );
    let last = hop(
        "q",
        "a",
        "agent",
        "p",
        &format!("odrl:permission [ odrl:action odrl:read ; {} ]", duty("delete")),
    );
    let grant = granted(Ask::new().of(&[root(&first), last]));
    let found: Vec<_> = grant
        .obligations
        .iter()
        .map(|duty| (duty.action.rsplit('/').next().unwrap(), duty.policy.rsplit('/').next().unwrap()))
        .collect();
    assert_eq!(found, [("attribute", "p"), ("delete", "q"), ("inform", "p"), ("review", "p")]);
    assert_eq!(grant.exercised.len(), 2);
}

/// Threat 9: a paper's own facts serve its prohibitions, and its permissions only if the owner wrote it.
#[test]
fn facts_of_a_policy_document_serve_only_the_owner() {
    let of_root = policy(
        "ex:p a odrl:Set ; odrl:assigner ex:owner ; odrl:permission [ odrl:action odrl:read ; odrl:target ex:c ] . ex:thing odrl:partOf ex:c .",
    );
    assert!(Ask::new().permitted(&[of_root]));
    let of_leaf = |kind: &str, rest: &str| {
        policy(&format!(
            "ex:q a odrl:Agreement ; odrl:assigner ex:a ; odrl:assignee ex:agent ; odrld:delegatedUnder ex:p ; odrl:{kind} [ odrl:action odrl:read ; odrl:target ex:c ] {rest} . ex:thing odrl:partOf ex:c ."
        ))
    };
    let first = root(&format!("{ROOT} ; {GRANT}"));
    assert!(!Ask::new().permitted(&[first.clone(), of_leaf("permission", "")]));
    assert!(
        !Ask::new()
            .permitted(&[first, of_leaf("prohibition", "; odrl:permission [ odrl:action odrl:read ]")])
    );
}

/// Nor do those of a delegate's policy that the operator keeps for it.
#[test]
fn facts_of_a_stored_policy_serve_only_its_own_assigner() {
    let root = policy(
        "ex:p a odrl:Set ; odrl:assigner ex:owner ; odrl:permission [ odrl:action odrl:read ; odrl:target ex:c ] .",
    );
    for (document, expected) in [
        ("ex:thing odrl:partOf ex:c .", true),
        ("ex:s a odrl:Agreement ; odrl:assigner ex:owner . ex:thing odrl:partOf ex:c .", true),
        ("ex:s a odrl:Agreement ; odrl:assigner ex:a . ex:thing odrl:partOf ex:c .", false),
        (
            "ex:s a odrl:Agreement ; odrl:permission [ odrl:assigner ex:a ] . ex:thing odrl:partOf ex:c .",
            false,
        ),
        ("ex:s a odrl:Agreement ; odrl:assigner ex:owner , ex:a . ex:thing odrl:partOf ex:c .", false),
    ] {
        assert_eq!(Ask::new().fact(document).permitted(std::slice::from_ref(&root)), expected, "{document}");
    }
}

#[test]
fn an_unusable_policy_denies_the_whole_chain() {
    let bad = hop("q", "a", "agent", "p", "ex:unless ex:y ; odrl:permission [ odrl:action odrl:read ]");
    let denial = denied(Ask::new().of(&[root(&format!("{ROOT} ; {GRANT}")), bad]));
    assert_eq!((denial.hop, denial.policy.as_deref()), (Some(1), Some("https://x.example/q")));
}

/// Every delegated policy is somebody's: one in the middle too, whose rules alone name the next hop.
#[test]
fn a_delegated_policy_in_the_middle_has_an_assignee() {
    let first = root(&grant_with(&format!("odrl:constraint {}", depth("lteq", "2"))));
    let last = hop("q", "b", "agent", "m", "odrl:permission [ odrl:action odrl:read ]");
    let middle = |assignee: &str| {
        policy(&format!(
            "ex:m a odrl:Agreement ; odrl:assigner ex:a {assignee} ; odrld:delegatedUnder ex:p ;
             odrl:permission [ odrl:action odrl:read, odrl:grantUse ; odrl:assignee ex:b ] ."
        ))
    };
    assert!(Ask::new().permitted(&[first.clone(), middle("; odrl:assignee ex:b"), last.clone()]));
    let denial = denied(Ask::new().of(&[first, middle(""), last]));
    assert_eq!((denial.hop, denial.detail.as_str()), (Some(1), "a delegated policy has no assignee"));
}
