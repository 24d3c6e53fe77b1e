//! What a delegated policy may ask for: a table, and the promises on generated policies.

use super::*;
use crate::mandate::odrl::contain::{Delegation, Excess, ExcessKind};
use crate::mandate::odrl::draft::{Narrowing, constraint_of_text};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

const MID: &str = "https://x.example/mid";
const AGENT: &str = "https://x.example/agent";
const GRANT: &str = "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:mid ]";

fn parent(body: &str) -> Policy {
    policy(&format!("ex:p a odrl:Agreement ; odrl:assigner ex:owner ; odrl:assignee ex:mid ; {body} ."))
}

fn child(body: &str) -> Policy {
    policy(&format!(
        "ex:c a odrl:Agreement ; odrl:assigner ex:mid ; odrl:assignee ex:agent ; odrld:delegatedUnder ex:p ; {body} ."
    ))
}

/// The child as if it were nobody's.
fn alone(body: &str) -> Policy {
    policy(&format!("ex:c a odrl:Agreement ; odrl:assigner ex:mid ; odrl:assignee ex:agent ; {body} ."))
}

fn excesses(parent: &Policy, child: &Policy) -> BTreeSet<Excess> {
    Delegation { parent, actions: &[], targets: &[], child, delegator: MID, delegate: AGENT }.excesses()
}

fn kinds(given: &str, asked: &str) -> BTreeSet<ExcessKind> {
    excesses(&parent(given), &child(asked)).into_iter().map(|excess| excess.what).collect()
}

fn may(action: &str, more: &str) -> String {
    format!("odrl:permission [ odrl:action {action} ; odrl:target ex:thing {more} ]")
}

fn comparing(purpose: &str) -> String {
    format!("[ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand {purpose} ]")
}

fn when(operand: &str, operator: &str, right: &str) -> String {
    format!(
        "; odrl:constraint [ odrl:leftOperand odrl:{operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
    )
}

/// Each kind of excess is named; what is no excess is not.
#[test]
fn each_excess_is_named() {
    use ExcessKind::*;
    let never = "odrl:prohibition [ odrl:action odrl:delete ]";
    let duty = "; odrl:duty [ odrl:action odrl:inform ]";
    let deep = |n: &str| {
        format!(
            "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:mid ; odrl:constraint [ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:{n} ] ]"
        )
    };
    let read = may("odrl:read", "");
    let before = |instant: &str| when("dateTime", "lteq", &format!("\"{instant}\"^^xsd:dateTime"));
    let pass = may("odrl:grantUse", "");
    for (given, asked, expected) in [
        (format!("{read} ; {GRANT}"), read.clone(), None),
        (format!("{read} ; {GRANT}"), may("acl:Read", ""), None),
        (format!("{} ; {GRANT}", may("odrl:use", "")), read.clone(), None),
        (format!("{read} ; {GRANT}"), may("odrl:use", ""), Some(Action)),
        (format!("{read} ; {GRANT}"), may("odrl:delete", ""), Some(Action)),
        (format!("{read} ; {GRANT}"), "odrl:permission [ odrl:action odrl:read ]".into(), Some(Target)),
        (
            format!("{read} ; {GRANT}"),
            "odrl:permission [ odrl:action odrl:read ; odrl:target ex:other ]".into(),
            Some(Target),
        ),
        (format!("odrl:permission [ odrl:action odrl:read ] ; {GRANT}"), read.clone(), None),
        (format!("{} ; {GRANT}", may("odrl:read", "; odrl:assignee ex:other")), read.clone(), Some(Assignee)),
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("purpose", "eq", "ex:r"))),
            read.clone(),
            Some(Constraint),
        ),
        (
            format!("{} ; {GRANT}", may("odrl:read", &before("2027-01-01T00:00:00Z"))),
            may("odrl:read", &before("2027-01-01T00:00:01Z")),
            Some(Constraint),
        ),
        (
            format!("{} ; {GRANT}", may("odrl:read", &before("2027-01-01T00:00:00Z"))),
            may("odrl:read", &before("2027-01-01T00:00:00+01:00")),
            None,
        ),
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("purpose", "isAnyOf", "ex:r , ex:s"))),
            may("odrl:read", &when("purpose", "eq", "ex:r")),
            None,
        ),
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("count", "lteq", "5"))),
            may("odrl:read", &when("count", "lt", "5")),
            None,
        ),
        // A decimal never meets a count.
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("count", "lteq", "5.0"))),
            may("odrl:read", &when("count", "lteq", "4")),
            Some(Constraint),
        ),
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("spatial", "isPartOf", "ex:r"))),
            may("odrl:read", &when("spatial", "eq", "ex:r")),
            Some(Constraint),
        ),
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("purpose", "eq", "\"2026-01-01\"^^xsd:date"))),
            may("odrl:read", &when("purpose", "eq", "\"2026-01-01\"^^xsd:date")),
            Some(Incomparable),
        ),
        (format!("{read} ; {GRANT}"), may("odrl:read", "; ex:unknown 1"), Some(Incomparable)),
        (format!("{} ; {GRANT} ; {never}", may("odrl:use", "")), may("odrl:use", ""), Some(Prohibited)),
        (
            format!("{} ; {GRANT} ; {never}", may("odrl:use", "")),
            format!("{} ; {never}", may("odrl:use", "")),
            None,
        ),
        (format!("{} ; {GRANT} ; {never}", may("odrl:use", "")), read.clone(), None),
        (
            format!(
                "{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:grantUse ; odrl:assignee ex:mid ]"
            ),
            read.clone(),
            Some(Prohibited),
        ),
        (
            format!("{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read ; odrl:assignee ex:other ]"),
            read.clone(),
            None,
        ),
        (
            format!(
                "{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read {} ]",
                when("count", "gt", "5")
            ),
            may("odrl:read", &when("count", "lteq", "5")),
            None,
        ),
        (
            format!("{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read ; ex:unknown 1 ]"),
            read.clone(),
            Some(Incomparable),
        ),
        (format!("{} ; {GRANT}", may("odrl:read", duty)), read.clone(), Some(Duty)),
        (format!("{} ; {GRANT}", may("odrl:read", duty)), may("odrl:read", duty), None),
        (read.clone(), read.clone(), Some(GrantUse)),
        (
            format!("{read} ; odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:other ]"),
            read.clone(),
            Some(Assignee),
        ),
        (format!("{read} ; {GRANT}"), format!("{read} ; {pass}"), Some(Depth)),
        (format!("{read} ; {}", deep("lteq ; odrl:rightOperand 2")), format!("{read} ; {pass}"), None),
        (format!("{read} ; {}", deep("lt ; odrl:rightOperand 2")), format!("{read} ; {pass}"), Some(Depth)),
        (format!("{read} ; {}", deep("eq ; odrl:rightOperand 2")), read.clone(), Some(Depth)),
        (
            format!(
                "{read} ; odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:mid ; odrl:duty [ odrl:action odrl:nextPolicy ; odrl:target ex:q ] ]"
            ),
            read.clone(),
            Some(NextPolicy),
        ),
        (
            format!(
                "{read} ; odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:mid {} ]",
                when("purpose", "eq", "ex:r")
            ),
            read.clone(),
            Some(Constraint),
        ),
        // Bounds that touch.
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("count", "lt", "5"))),
            may("odrl:read", &when("count", "lteq", "5")),
            Some(Constraint),
        ),
        (
            format!(
                "{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read {} ]",
                when("count", "gteq", "5")
            ),
            may("odrl:read", &when("count", "lteq", "5")),
            Some(Prohibited),
        ),
        // One branch of two is not both.
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("purpose", "eq", "ex:r"))),
            may(
                "odrl:read",
                &format!("; odrl:constraint [ odrl:or ( {} {} ) ]", comparing("ex:r"), comparing("ex:s")),
            ),
            Some(Constraint),
        ),
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("purpose", "isAnyOf", "ex:r , ex:s"))),
            may(
                "odrl:read",
                &format!("; odrl:constraint [ odrl:or ( {} {} ) ]", comparing("ex:r"), comparing("ex:s")),
            ),
            None,
        ),
        // A prohibition that is repeated for less, or for others, is not repeated.
        (
            format!("{} ; {GRANT} ; {never}", may("odrl:use", "")),
            format!(
                "{} ; odrl:prohibition [ odrl:action odrl:delete {} ]",
                may("odrl:use", ""),
                when("purpose", "eq", "ex:r")
            ),
            Some(Prohibited),
        ),
        (
            format!("{} ; {GRANT} ; {never}", may("odrl:use", "")),
            format!(
                "{} ; odrl:prohibition [ odrl:action odrl:delete ; odrl:target ex:other ]",
                may("odrl:use", "")
            ),
            Some(Prohibited),
        ),
        (
            format!("{} ; {GRANT} ; {never}", may("odrl:use", "")),
            format!(
                "{} ; odrl:prohibition [ odrl:action odrl:delete ; odrl:assignee ex:other ]",
                may("odrl:use", "")
            ),
            Some(Prohibited),
        ),
        (
            format!("{} ; {GRANT} ; {never}", may("odrl:use", "")),
            format!("{} ; odrl:prohibition [ odrl:action odrl:delete ; ex:unknown 1 ]", may("odrl:use", "")),
            Some(Prohibited),
        ),
        // It covers queries, collections that cannot be read, and members that the parent states.
        (
            format!(
                "odrl:permission [ odrl:action odrl:read ] ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read ; odrl:target ex:thing ]"
            ),
            "odrl:permission [ odrl:action odrl:read ; odrl:target <https://x.example/thing?x> ]".into(),
            Some(Prohibited),
        ),
        (
            format!("{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read ; odrl:target ex:other ]"),
            read.clone(),
            None,
        ),
        (
            format!(
                "{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read ; odrl:target [ a odrl:AssetCollection ; odrl:source ex:other ] ]"
            ),
            read.clone(),
            Some(Prohibited),
        ),
        (
            format!(
                "{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read ; odrl:target ex:other ] . ex:thing odrl:partOf ex:other"
            ),
            read.clone(),
            Some(Prohibited),
        ),
        // It stands against the child's own delegate.
        (
            format!("{read} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:read ; odrl:assignee ex:agent ]"),
            read.clone(),
            Some(Prohibited),
        ),
        // A duty of what is not asked for is none of the child's; one of a whole policy is.
        (format!("{read} ; {} ; {GRANT}", may("odrl:delete", duty)), read.clone(), None),
        (format!("{read} ; {GRANT} ; odrl:obligation [ odrl:action odrl:inform ]"), read.clone(), Some(Duty)),
        (
            format!("{read} ; {GRANT} ; odrl:obligation [ odrl:action odrl:inform ]"),
            format!("{read} ; odrl:obligation [ odrl:action odrl:inform ]"),
            None,
        ),
        // What denies everything gives nothing.
        (format!("{read} ; {GRANT} ; odrl:inheritFrom ex:q"), read.clone(), Some(Form)),
        (format!("{read} ; {GRANT}"), format!("{read} ; odrl:profile ex:q"), Some(Form)),
        (format!("{read} ; {GRANT}"), never.into(), Some(Form)),
    ] {
        assert_eq!(kinds(&given, &asked), expected.into_iter().collect(), "{given}\n{asked}");
    }
    let same = policy(&format!(
        "ex:p a odrl:Agreement ; odrl:assigner ex:mid ; odrl:assignee ex:agent ; odrld:delegatedUnder ex:p ; {read} ."
    ));
    let found: BTreeSet<ExcessKind> = excesses(&parent(&format!("{read} ; {GRANT}")), &same)
        .into_iter()
        .map(|excess| excess.what)
        .collect();
    assert_eq!(found, BTreeSet::from([Form]), "a policy of the parent's own id");
    let read = parent(&format!("{read} ; {GRANT}"));
    let set = policy(
        "ex:c a odrl:Set ; odrl:assigner ex:other ; odrl:permission [ odrl:action odrl:read ; odrl:target ex:thing ] .",
    );
    let found: BTreeSet<ExcessKind> = excesses(&read, &set).into_iter().map(|excess| excess.what).collect();
    assert_eq!(found, BTreeSet::from([Form, Party]));
}

/// What a credential says beside its policy narrows it as well.
#[test]
fn the_parents_credential_narrows_too() {
    let given = parent(&format!("odrl:permission [ odrl:action odrl:use ] ; {GRANT}"));
    let asked = child(&may("odrl:read", ""));
    let of = |actions: &[&str], targets: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (actions, targets) = (owned(actions), owned(targets));
        let delegation = Delegation {
            parent: &given,
            actions: &actions,
            targets: &targets,
            child: &asked,
            delegator: MID,
            delegate: AGENT,
        };
        delegation.excesses().into_iter().map(|excess| excess.what).collect::<Vec<_>>()
    };
    assert_eq!(of(&["read"], &["https://x.example/thing"]), []);
    assert_eq!(of(&["write"], &[]), [ExcessKind::Action]);
    assert_eq!(of(&[], &["https://x.example/other"]), [ExcessKind::Target]);
}

#[derive(Debug, Clone)]
struct Spec {
    action: &'static str,
    target: &'static str,
    constraints: Vec<String>,
    duty: &'static str,
}

impl Spec {
    fn body(&self) -> String {
        let constraints: String =
            self.constraints.iter().map(|constraint| format!("; odrl:constraint {constraint}")).collect();
        format!("[ odrl:action {} {} {constraints} {} ]", self.action, self.target, self.duty)
    }
}

fn comparison() -> impl Strategy<Value = String> {
    let numbers = (
        select(&["eq", "neq", "lt", "lteq", "gt", "gteq", "isAnyOf", "isNoneOf", "isAllOf"][..]),
        select(&["3", "5", "5.0", "7", "\"5\"", "3 , 7", "3 , 5 , 7"][..]),
    )
        .prop_map(|(operator, right)| ("level", operator, right));
    let names = (
        select(&["eq", "neq", "isAnyOf", "isNoneOf", "isAllOf", "isA"][..]),
        select(&["ex:r", "ex:s", "ex:r , ex:s", "\"x\"", "ex:r , \"x\"", "\"x\"@en"][..]),
    )
        .prop_map(|(operator, right)| ("purpose", operator, right));
    let times = (
        select(&["lt", "lteq", "gt", "gteq"][..]),
        select(
            &[
                "\"2026-06-16T12:00:00Z\"^^xsd:dateTime",
                "\"2026-07-01T00:00:00Z\"^^xsd:dateTime",
                "\"2026-01-01\"^^xsd:date",
            ][..],
        ),
    )
        .prop_map(|(operator, right)| ("dateTime", operator, right));
    prop_oneof![3 => numbers, 3 => names, 1 => times].prop_map(|(operand, operator, right)| {
        format!(
            "[ odrl:leftOperand odrl:{operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
        )
    })
}

fn condition() -> impl Strategy<Value = String> {
    comparison().prop_recursive(2, 6, 3, |inner| {
        (select(&["and", "or", "xone", "andSequence"][..]), proptest::collection::vec(inner, 1..3))
            .prop_map(|(logic, operands)| format!("[ odrl:{logic} ( {} ) ]", operands.join(" ")))
    })
}

fn action() -> impl Strategy<Value = &'static str> {
    select(&["odrl:read", "acl:Read", "odrl:use", "odrl:write", "acl:Append", "odrl:delete"][..])
}

fn target() -> impl Strategy<Value = &'static str> {
    select(
        &[
            "",
            "; odrl:target ex:thing",
            "; odrl:target ex:thing",
            "; odrl:target ex:other",
            "; odrl:target ex:thing , ex:other",
        ][..],
    )
}

fn spec() -> impl Strategy<Value = Spec> {
    let duty = select(&["", "", "", "; odrl:duty [ odrl:action odrl:inform ]"][..]);
    (action(), target(), proptest::collection::vec(condition(), 0..3), duty)
        .prop_map(|(action, target, constraints, duty)| Spec { action, target, constraints, duty })
}

/// A rule of the child, made from one of the parent's.
#[derive(Debug, Clone)]
enum Change {
    None,
    Action(&'static str),
    Target(&'static str),
    Drop,
    Add(String),
    Replace(String),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::None),
        action().prop_map(Change::Action),
        target().prop_map(Change::Target),
        Just(Change::Drop),
        condition().prop_map(Change::Add),
        condition().prop_map(Change::Replace),
    ]
}

fn changed(mut spec: Spec, changes: &[Change]) -> Spec {
    for change in changes {
        match change {
            Change::None => {}
            Change::Action(action) => spec.action = action,
            Change::Target(target) => spec.target = target,
            Change::Drop => {
                spec.constraints.pop();
            }
            Change::Add(condition) => spec.constraints.push(condition.clone()),
            Change::Replace(condition) => {
                spec.constraints.pop();
                spec.constraints.push(condition.clone());
            }
        }
    }
    spec
}

#[derive(Debug, Clone)]
struct Pair {
    parent: String,
    child: String,
}

fn pair() -> impl Strategy<Value = Pair> {
    let party = select(
        &["", "", "; odrl:assignee ex:mid", "; odrl:assignee ex:agent", "; odrl:assignee ex:other"][..],
    );
    let prohibition = (spec(), party).prop_map(|(mut spec, party)| {
        spec.duty = "";
        (spec, party)
    });
    (
        proptest::collection::vec(spec(), 1..3),
        proptest::collection::vec(prohibition, 0..2),
        proptest::collection::vec((0usize..3, proptest::collection::vec(change(), 0..3)), 1..3),
        any::<bool>(),
        proptest::option::of(condition()),
    )
        .prop_map(|(rules, prohibitions, made, repeated, granted_when)| {
            let mut parent: String =
                rules.iter().map(|rule| format!("odrl:permission {} ; ", rule.body())).collect();
            let mut child = String::new();
            for (place, changes) in &made {
                let rule = changed(rules[place % rules.len()].clone(), changes);
                child.push_str(&format!("odrl:permission {} ; ", rule.body()));
            }
            for (rule, party) in &prohibitions {
                let body = rule.body();
                let body = body.trim_end_matches(" ]");
                parent.push_str(&format!("odrl:prohibition {body} {party} ] ; "));
                if repeated {
                    child.push_str(&format!("odrl:prohibition {body} ] ; "));
                }
            }
            let when = granted_when.map(|when| format!("; odrl:constraint {when}")).unwrap_or_default();
            parent.push_str(&format!(
                "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:mid {when} ]"
            ));
            Pair { parent, child: child.trim_end_matches([' ', ';']).to_owned() }
        })
}

fn ask() -> impl Strategy<Value = Ask> {
    const INTEGER: &str = "^^<http://www.w3.org/2001/XMLSchema#integer>";
    const LEVELS: &[&[&str]] = &[
        &[],
        &["\"3\"I"],
        &["\"4\"I"],
        &["\"5\"I"],
        &["\"5\""],
        &["\"7\"I"],
        &["\"3\"I", "\"7\"I"],
        &["\"x\""],
    ];
    const PURPOSES: &[&[&str]] = &[
        &[],
        &["<https://x.example/r>"],
        &["<https://x.example/s>"],
        &["\"https://x.example/r\""],
        &["\"x\""],
        &["\"x\"@en"],
        &["<https://x.example/r>", "<https://x.example/s>"],
    ];
    let (level, purpose) = (select(LEVELS), select(PURPOSES));
    let action = select(&["read", "use", "write", "append", "delete", "modify"][..]);
    let target =
        select(&["https://x.example/thing", "https://x.example/other", "https://x.example/thing?x"][..]);
    (level, purpose, action, target).prop_map(|(level, purpose, action, target)| {
        let mut ask = Ask::new().action(action).target(target);
        let level: Vec<String> = level.iter().map(|value| value.replace('I', INTEGER)).collect();
        let level: Vec<&str> = level.iter().map(String::as_str).collect();
        for (name, values) in [("level", level.as_slice()), ("purpose", purpose)] {
            if !values.is_empty() {
                ask = ask.with(name, values);
            }
        }
        ask
    })
}

/// What is accepted is counted, so that the promise is not an empty one.
fn promise(run: impl Fn(&Pair, &[Ask], &mut [usize; 2]) -> Result<(), TestCaseError>) -> [usize; 2] {
    let counts = std::cell::RefCell::new([0, 0]);
    let mut runner = TestRunner::new(Config { cases: 1000, failure_persistence: None, ..Config::default() });
    let cases = (pair(), proptest::collection::vec(ask(), 24));
    runner.run(&cases, |(pair, asks)| run(&pair, &asks, &mut counts.borrow_mut())).unwrap();
    counts.into_inner()
}

/// Whatever a child that is not refused permits, its parent permits to the child's assigner, and the chain permits it to
/// the child's delegate: nothing more is given, and nothing that is given out is useless.
#[test]
fn a_contained_child_permits_only_what_its_parent_does_and_its_chain_permits_it() {
    let [contained, permitted] = promise(|pair, asks, counts| {
        let (parent, child) = (parent(&pair.parent), child(&pair.child));
        if !excesses(&parent, &child).is_empty() {
            return Ok(());
        }
        counts[0] += 1;
        let chain = [parent, child];
        let child = alone(&pair.child);
        for ask in asks {
            if ask.permitted(std::slice::from_ref(&child)) {
                counts[1] += 1;
                prop_assert!(ask.clone().agent(MID).permitted(&chain[..1]), "the parent alone: {ask:?}");
                prop_assert!(ask.permitted(&chain), "the chain: {:?} {ask:?}", ask.of(&chain));
            }
        }
        Ok(())
    });
    assert!(contained > 60 && permitted > 60, "{contained} {permitted}");
}

/// A chain of two never permits what its root alone does not, contained or not, and it demands all its root's duties.
#[test]
fn a_chain_of_two_never_permits_what_its_root_does_not() {
    let [chains, permitted] = promise(|pair, asks, counts| {
        let chain = [parent(&pair.parent), child(&pair.child)];
        counts[0] += 1;
        for ask in asks {
            if let ChainVerdict::Permit(grant) = ask.of(&chain) {
                counts[1] += 1;
                let root = granted(ask.clone().agent(MID).of(&chain[..1]));
                prop_assert!(root.obligations.is_subset(&grant.obligations));
            }
        }
        Ok(())
    });
    assert!(chains == 1000 && permitted > 100, "{chains} {permitted}");
}

/// What is written out of a parent is contained in it, or is refused for a reason.
#[test]
fn a_narrowed_policy_is_the_parents_or_less() {
    let given = parent(&format!(
        "{} ; {} ; odrl:obligation [ odrl:action odrl:attribute ] ; odrl:prohibition [ odrl:action odrl:delete ] ; \
         odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:mid ; \
           odrl:constraint [ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand 3 ] ]",
        may(
            "odrl:use",
            &format!(
                "{} ; odrl:duty [ odrl:action odrl:inform ; odrl:target ex:owner ]",
                when("purpose", "isAnyOf", "ex:r , \"a \\\"b\\\"\"@en")
            )
        ),
        "odrl:permission [ odrl:action [ rdf:value odrl:write ; odrl:refinement [ odrl:leftOperand odrl:count ; odrl:operator odrl:lteq ; odrl:rightOperand 3 ] ] ; odrl:target [ a odrl:AssetCollection ; odrl:source ex:coll ] ]"
    ));
    let narrowed = |wanted: &Narrowing| {
        let text = given
            .narrowed(MID, AGENT, wanted)
            .map_err(|excesses| excesses.into_iter().map(|excess| excess.what).collect::<Vec<_>>())?;
        let child = policy(&text.lines().filter(|line| !line.starts_with("@prefix")).collect::<String>());
        Ok::<_, Vec<ExcessKind>>((excesses(&given, &child), child))
    };
    let all = narrowed(&Narrowing::default()).unwrap();
    assert_eq!(all.0, BTreeSet::new());
    assert_eq!((all.1.permissions.len(), all.1.prohibitions.len(), all.1.obligations.len()), (2, 1, 1));
    let of = |action: &str, target: &str, depth| Narrowing {
        actions: vec![super::super::action_of_name(action)],
        targets: vec![format!("https://x.example/{target}")],
        constraints: vec![constraint_of_text("purpose eq https://x.example/r").unwrap()],
        depth,
    };
    let (excess, child) = narrowed(&of("read", "thing", 2)).unwrap();
    assert_eq!(excess, BTreeSet::new());
    assert_eq!(child.permissions.len(), 2);
    let ask = Ask::new().with("purpose", &["<https://x.example/r>"]);
    assert!(ask.permitted(&[given.clone(), child.clone()]));
    assert!(!ask.clone().action("write").permitted(&[given.clone(), child.clone()]));
    assert!(!Ask::new().with("purpose", &["\"a \\\"b\\\"\"@en"]).permitted(&[given.clone(), child]));
    assert_eq!(
        narrowed(&of("read", "thing", 3)).unwrap().0.first().map(|excess| excess.what),
        Some(ExcessKind::Depth)
    );
    let passing_on = narrowed(&of("grantUse", "thing", 0)).unwrap().0;
    assert_eq!(
        passing_on.first().map(|excess| excess.what),
        Some(ExcessKind::Form),
        "it is asked for by its depth"
    );
    assert_eq!(narrowed(&of("read", "other", 0)).unwrap_err(), [ExcessKind::Target]);
    assert_eq!(narrowed(&of("transfer", "thing", 0)).unwrap_err(), [ExcessKind::Action]);
}

#[test]
fn a_constraint_is_written_in_one_line() {
    for (text, words) in [
        ("purpose eq https://x.example/p", "purpose eq <https://x.example/p>"),
        ("count lteq 5", "count lteq \"5\""),
        ("spatial isAnyOf <https://x.example/a> \"b\"", "spatial isAnyOf <https://x.example/a>, \"b\""),
        ("industry eq \"two words\"@en", "industry eq \"two words\"@en"),
        ("https://x.example/level gt 1.5", "level gt \"1.5\""),
        ("dateTime lt 2027-01-01T00:00:00Z", "dateTime lt \"2027-01-01T00:00:00Z\""),
    ] {
        assert_eq!(constraint_of_text(text).map(|constraint| constraint.to_string()), Ok(words.to_owned()));
    }
    for text in
        ["", "purpose", "purpose eq", "purpose is x", "purpose eq \"x", "a b c> d", "https://x.example/ eq 1"]
    {
        assert!(constraint_of_text(text).is_err(), "{text}");
    }
}

/// A collection stands for its members, whichever they are: what the parent says of one of them is said of it too.
#[test]
fn what_the_parent_says_of_a_member_is_said_of_a_collection() {
    use ExcessKind::*;
    let read = |target: &str| format!("odrl:permission [ odrl:action odrl:read ; odrl:target {target} ]");
    let given = format!("{} ; {GRANT}", read("ex:all"));
    let never = "odrl:prohibition [ odrl:action odrl:read ; odrl:target ex:one ]";
    let owing = "odrl:permission [ odrl:action odrl:read ; odrl:target ex:one ; odrl:duty [ odrl:action odrl:inform ] ]";
    let typed = read("[ a odrl:AssetCollection ; odrl:source ex:all ]");
    let filled = format!("{} . ex:one odrl:partOf ex:all", read("ex:all"));
    for asked in [&typed, &filled] {
        assert_eq!(kinds(&given, asked), BTreeSet::new(), "{asked}");
        assert_eq!(kinds(&format!("{given} ; {never}"), asked), BTreeSet::from([Prohibited]), "{asked}");
        assert_eq!(kinds(&format!("{given} ; {owing}"), asked), BTreeSet::from([Duty]), "{asked}");
    }
    assert_eq!(kinds(&format!("{given} ; {never}"), &format!("{never} ; {typed}")), BTreeSet::new());
    let by_parent = format!("{given} ; {never} . ex:one odrl:partOf ex:all");
    assert_eq!(kinds(&by_parent, &read("ex:all")), BTreeSet::from([Prohibited]));
    assert_eq!(
        kinds(&format!("{given} ; {never}"), &read("ex:all")),
        BTreeSet::new(),
        "an asset like any other"
    );
}

/// A chain may end at any length: a gap in what the parent lets be passed on is found.
#[test]
fn every_depth_up_to_the_childs_is_passed_on() {
    let bound = |operator: &str, depth: usize| {
        format!(
            "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:mid ; odrl:constraint [ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:{operator} ; odrl:rightOperand {depth} ] ]"
        )
    };
    let given = |grants: &[String]| format!("{} ; {}", may("odrl:read", ""), grants.join(" ; "));
    let asked = |depth: usize| {
        format!(
            "{} ; {}",
            may("odrl:read", ""),
            may(
                "odrl:grantUse",
                &format!(
                    "; odrl:constraint [ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand {depth} ]"
                )
            )
        )
    };
    assert_eq!(
        kinds(&given(&[bound("lteq", 1), bound("eq", 2), bound("eq", 3)]), &asked(2)),
        BTreeSet::new()
    );
    for gap in
        [[bound("eq", 1), bound("eq", 3)], [bound("eq", 2), bound("eq", 3)], [bound("eq", 1), bound("eq", 2)]]
    {
        assert_eq!(kinds(&given(&gap), &asked(2)), BTreeSet::from([ExcessKind::Depth]), "{gap:?}");
    }
    // What is not compared length by length is not shown.
    assert_eq!(kinds(&given(&[bound("lteq", 1000)]), &asked(64)), BTreeSet::new());
    assert_eq!(kinds(&given(&[bound("lteq", 1000)]), &asked(65)), BTreeSet::from([ExcessKind::Depth]));
}

/// A parent is anybody's to write: comparing with it ends, and what was not compared is not shown.
#[test]
fn the_work_on_a_comparison_is_bounded() {
    let nested = |leaf: &str| (1..15).fold(comparing(leaf), |inner, _| format!("[ odrl:or ( {inner} ) ]"));
    let conditions = |leaf: &str| may("odrl:read", &format!("; odrl:constraint {}", nested(leaf)));
    let given = parent(&format!("{} ; {GRANT}", conditions("ex:r")));
    let found = excesses(&given, &child(&conditions("ex:s")));
    assert!(found.iter().any(|excess| excess.asked == "more than can be compared"), "{found:?}");
    assert!(kinds(&format!("{} ; {GRANT}", conditions("ex:r")), &conditions("ex:r")).is_empty());
    let many = |name: &str, count: usize| {
        (0..count).map(|n| format!("ex:{name}{n}")).collect::<Vec<_>>().join(" , ")
    };
    let wide = format!("odrl:permission [ odrl:action {} ; odrl:target {} ]", many("a", 40), many("t", 40));
    let found = excesses(&parent(&format!("{} ; {GRANT}", may("odrl:read", ""))), &child(&wide));
    assert!((256..300).contains(&found.len()), "{}", found.len());
}

/// Each row: what the parent gives, what is asked, and the excess. What cannot be judged is never to the child's gain.
#[test]
fn what_is_refined_unreadable_or_of_another_operand_is_no_match() {
    use ExcessKind::*;
    const RDF_VALUE: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#value>";
    let read = may("odrl:read", "");
    let given = format!("{read} ; {GRANT}");
    let for_r = when("purpose", "eq", "ex:r");
    let refined = format!(
        "odrl:permission [ odrl:action [ {RDF_VALUE} odrl:read ; odrl:refinement {} ] ; odrl:target ex:thing ] ; {GRANT}",
        comparing("ex:r")
    );
    let never = |more: &str| format!("odrl:prohibition [ odrl:action odrl:read ; {more} ]");
    let in_collection = format!("{given} ; {}", never("odrl:target ex:all"));
    let in_collection = format!("{in_collection} . ex:thing odrl:partOf ex:all");
    let narrower =
        never(&format!("odrl:target [ odrl:source ex:thing ; odrl:refinement {} ]", comparing("ex:r")));
    let depth = "[ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand 3 ]";
    let deep = format!(
        "odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:mid ; odrl:constraint {depth} ]"
    );
    let use_it = may("odrl:use", "");
    let no_passing_on = format!("odrl:prohibition [ odrl:action odrl:grantUse {for_r} ]");
    for (given, asked, expected) in [
        (format!("{} ; {GRANT}", may("odrl:read", "; ex:unless ex:x")), read.clone(), Some(Action)),
        (refined.clone(), read.clone(), Some(Action)),
        (refined.clone(), may("odrl:read", &for_r), None),
        (given.clone(), may("odrl:read", "; odrl:constraint [ ex:unless ex:x ]"), Some(Incomparable)),
        (
            given.clone(),
            "odrl:permission [ odrl:action odrl:read ; odrl:target <https://x.example:443/thing> ]".into(),
            Some(Incomparable),
        ),
        (
            format!("{read} ; {deep}"),
            format!(
                "{read} ; {}",
                may("odrl:grantUse", &format!("; odrl:constraint [ odrl:or ( {depth} ) ]"))
            ),
            Some(Incomparable),
        ),
        (
            format!("{given} ; {}", never("odrl:target <https://x.example:443/thing>")),
            read.clone(),
            Some(Prohibited),
        ),
        (format!("{given} ; {}", never("odrl:target [ ex:label 1 ]")), read.clone(), Some(Prohibited)),
        (in_collection.clone(), read.clone(), Some(Prohibited)),
        (in_collection.clone(), format!("{} ; {read}", never("odrl:target ex:all")), Some(Prohibited)),
        (
            in_collection.clone(),
            format!("{} ; {read} . ex:thing odrl:partOf ex:all", never("odrl:target ex:all")),
            None,
        ),
        (
            format!("{} ; {GRANT}", may("odrl:read", &when("recipient", "eq", "ex:r"))),
            may("odrl:read", &for_r),
            Some(Constraint),
        ),
        (
            format!("{given} ; {}", never("odrl:target ex:thing")),
            format!("{narrower} ; {read}"),
            Some(Prohibited),
        ),
        (
            format!("{use_it} ; {GRANT} ; {no_passing_on}"),
            format!("odrl:prohibition [ odrl:action odrl:read , odrl:grantUse {for_r} ] ; {use_it}"),
            Some(Prohibited),
        ),
    ] {
        assert_eq!(kinds(&given, &asked), expected.into_iter().collect(), "{given}\n{asked}");
    }
}
