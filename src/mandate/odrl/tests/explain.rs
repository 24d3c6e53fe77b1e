//! Explanations: which hop, rule and constraint, what was seen, and the smallest change, which is one that permits.

use crate::config::Config;
use crate::credential::Credential;
use crate::explain::Explanation;
use crate::limits::Limits;
use crate::mandate::VerifiedChain;
use crate::mandate::chain::{BindingForm, Hop};
use crate::mandate::odrl::{Denial, Policy, PolicyGrant, action_of_name, before_any_request};
use crate::mandate::support::{config, credential, ex, request};
use crate::message::ActionsUnderTest;
use crate::message::action::ActionUnderTest;
use oxrdf::{NamedNode, Term};
use std::collections::BTreeMap;

fn hop(credential: Credential) -> Hop {
    Hop {
        policy: Policy::read(&credential.graph, &Limits::default()).unwrap().into(),
        policy_digest: credential.digest,
        binding: BindingForm::Embedded,
        credential: credential.into(),
    }
}

/// Policies from the root down (owner, a, b, ..., agent), an action on `ex:thing`, and its attributes.
fn explain_at(
    bodies: &[&str],
    action: &str,
    attributes: &[(&str, &str)],
    counted: u64,
) -> Option<Explanation> {
    explain_by(bodies, action, attributes, counted, None, &config())
}

/// The same by a configuration, where composition fails or does not.
fn explain_by(
    bodies: &[&str],
    action: &str,
    attributes: &[(&str, &str)],
    counted: u64,
    failure: Option<Denial>,
    config: &Config,
) -> Option<Explanation> {
    let parties = ["owner", "a", "b"];
    let ids = ["p", "q", "r"];
    let hops: Vec<Hop> = bodies
        .iter()
        .enumerate()
        .map(|(place, body)| {
            let delegate = if place + 1 == bodies.len() { "agent" } else { parties[place + 1] };
            let under = match place {
                0 => String::new(),
                place => format!("odrld:delegatedUnder ex:{} ; ", ids[place - 1]),
            };
            hop(credential(ids[place], parties[place], delegate, &format!("{under}{body}")))
        })
        .collect();
    let chain = VerifiedChain::for_test(&ex("owner"), hops, Vec::new(), failure);
    let mut stated: BTreeMap<String, Vec<Term>> = BTreeMap::new();
    for (name, value) in attributes {
        stated.entry((*name).to_owned()).or_default().push(NamedNode::new_unchecked(ex(value)).into());
    }
    let action = action_of_name(action);
    let action = ActionUnderTest { class: action.clone(), action, target: ex("thing"), stated };
    let actions = ActionsUnderTest {
        actions: vec![action],
        root_principal: ex("owner"),
        policy_references: Vec::new(),
        agent: None,
        unjudged_nodes: Vec::new(),
    };
    let mut request = request();
    request.snapshot.counts =
        BTreeMap::from([("https://x.example/p https://x.example/owner".to_owned(), counted)]);
    PolicyGrant::explain(&chain, &actions, &ex("agent"), &request, config)
}

fn may(action: &str, more: &str) -> String {
    format!("odrl:permission [ odrl:action {action} ; odrl:target ex:thing {more} ]")
}

fn when(operand: &str, operator: &str, right: &str) -> String {
    format!(
        "; odrl:constraint [ odrl:leftOperand odrl:{operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
    )
}

/// Each row: policies, action, attributes, what the sentence says, the unmet (asked, seen), and the change.
#[test]
fn a_denial_is_explained_with_the_smallest_change_that_permits() {
    let read = may("odrl:read", "");
    let for_r = may("odrl:read", &when("purpose", "eq", "ex:r"));
    let grant = may("odrl:grantUse", "");
    let would = |condition: &str| format!("{condition}, the policies would permit it");
    let r = would("if purpose were <https://x.example/r>");
    let known = "no single change of what is asked is known to suffice".to_owned();
    type Row<'r> = (Vec<String>, &'r str, Vec<(&'r str, &'r str)>, &'r str, Vec<(&'r str, &'r str)>, String);
    let rows: Vec<Row<'_>> = vec![
        (
            vec![for_r.clone()],
            "read",
            vec![("purpose", "s")],
            "hop 0, policy https://x.example/p: a constraint of the permission of read does not hold; the nearest is the permission of read",
            vec![("purpose eq <https://x.example/r>", "purpose <https://x.example/s>")],
            r.clone(),
        ),
        (
            vec![for_r.clone()],
            "read",
            vec![],
            "hop 0",
            vec![("purpose eq <https://x.example/r>", "purpose nothing")],
            r.clone(),
        ),
        (
            vec![may("odrl:read", &when("purpose", "isNoneOf", "ex:s"))],
            "read",
            vec![("purpose", "s"), ("purpose", "r")],
            "hop 0",
            vec![(
                "purpose isNoneOf <https://x.example/s>",
                "purpose <https://x.example/r>, <https://x.example/s>",
            )],
            r.clone(),
        ),
        (
            vec![may(
                "odrl:read",
                "; odrl:constraint [ odrl:or ( [ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand ex:r ] [ odrl:leftOperand odrl:spatial ; odrl:operator odrl:isA ; odrl:rightOperand ex:s ] ) ]",
            )],
            "read",
            vec![],
            "hop 0",
            vec![(
                "or(purpose eq <https://x.example/r>, spatial isA <https://x.example/s>)",
                "purpose nothing; spatial nothing",
            )],
            r.clone(),
        ),
        (
            vec![may("odrl:read", &when("count", "lteq", "5"))],
            "read",
            vec![],
            "hop 0",
            vec![("count lteq \"5\"", "count \"6\"")],
            would("if this permission of hop 0 did not ask for count lteq \"5\""),
        ),
        (
            vec![may("odrl:read", &when("dateTime", "lt", "\"2026-06-10T00:00:00Z\"^^xsd:dateTime"))],
            "read",
            vec![],
            "hop 0",
            vec![("dateTime lt \"2026-06-10T00:00:00Z\"", "dateTime \"2026-06-16T12:00:00Z\"")],
            would("if it were 2026-06-09T23:59:59.000Z"),
        ),
        (
            vec![read.clone()],
            "delete",
            vec![],
            "no permission of the policy covers delete",
            vec![("action read", "delete")],
            would("if the action were read"),
        ),
        (
            vec!["odrl:permission [ odrl:action odrl:read ; odrl:target ex:other ]".to_owned()],
            "read",
            vec![],
            "on another target only",
            vec![("target https://x.example/other", "https://x.example/thing")],
            would("if the target were https://x.example/other"),
        ),
        (
            vec![may("odrl:read", "; odrl:assignee ex:other")],
            "read",
            vec![],
            "to another party only",
            vec![("assignee https://x.example/other", "https://x.example/agent")],
            would("if this permission of hop 0 named https://x.example/agent"),
        ),
        (
            vec![may(
                "odrl:read",
                &format!("{} {}", when("purpose", "eq", "ex:r"), when("spatial", "eq", "ex:s")),
            )],
            "read",
            vec![],
            "hop 0",
            vec![
                ("purpose eq <https://x.example/r>", "purpose nothing"),
                ("spatial eq <https://x.example/s>", "spatial nothing"),
            ],
            "no single change suffices: 2 things are unmet".to_owned(),
        ),
        // The nearest of two rules, whatever their order.
        (
            vec![format!(
                "{} ; {}",
                may(
                    "odrl:read",
                    &format!("{} {}", when("purpose", "eq", "ex:s"), when("event", "eq", "ex:s"))
                ),
                for_r
            )],
            "read",
            vec![],
            "hop 0",
            vec![("purpose eq <https://x.example/r>", "purpose nothing")],
            r.clone(),
        ),
        // What a relation or a reader does not know, no value is known to mend.
        (
            vec![may("odrl:read", &when("purpose", "isA", "ex:r"))],
            "read",
            vec![("purpose", "s")],
            "hop 0",
            vec![("purpose isA <https://x.example/r>", "purpose <https://x.example/s>")],
            known.clone(),
        ),
        (
            vec![may("odrl:read", "; ex:unknown 1")],
            "read",
            vec![],
            "cannot be judged",
            vec![("a rule that can be judged", "the rule has a property that is not known here")],
            known.clone(),
        ),
        (
            vec![format!("{read} ; odrl:prohibition [ odrl:action odrl:use ; odrl:assignee ex:agent ]")],
            "read",
            vec![],
            "hop 0, policy https://x.example/p: the prohibition of use to https://x.example/agent prohibits read on https://x.example/thing by https://x.example/agent",
            vec![],
            "none: as long as this prohibition stands, no change of one attribute helps".to_owned(),
        ),
        (
            vec![format!(
                "{} ; odrl:prohibition [ odrl:action odrl:read {} ]",
                may("odrl:read", &when("purpose", "isAnyOf", "ex:r , ex:s")),
                when("purpose", "eq", "ex:s")
            )],
            "read",
            vec![("purpose", "s")],
            "prohibits read",
            vec![("not purpose eq <https://x.example/s>", "purpose <https://x.example/s>")],
            r.clone(),
        ),
        (
            vec![format!(
                "{read} ; odrl:prohibition [ odrl:action odrl:read {} ]",
                when("purpose", "neq", "ex:r")
            )],
            "read",
            vec![],
            "cannot be shown not to prohibit read",
            vec![("not purpose neq <https://x.example/r>", "purpose nothing")],
            r.clone(),
        ),
        // The second hop.
        (
            vec![format!("{read} ; {}", may("odrl:grantUse", "; odrl:assignee ex:a")), for_r.clone()],
            "read",
            vec![],
            "hop 1, policy https://x.example/q",
            vec![("purpose eq <https://x.example/r>", "purpose nothing")],
            r.clone(),
        ),
        // One change would have to mend both hops, and cannot.
        (
            vec![format!("{} ; {grant}", for_r), may("odrl:read", &when("purpose", "eq", "ex:s"))],
            "read",
            vec![],
            "hop 0",
            vec![("purpose eq <https://x.example/r>", "purpose nothing")],
            known.clone(),
        ),
        (
            vec![read.clone(), read.clone()],
            "read",
            vec![],
            "hop 0, policy https://x.example/p: no permission of the policy covers grantUse",
            vec![("action read", "grantUse")],
            would("if this permission of hop 0 covered grantUse too"),
        ),
        (
            vec![format!("{read} ; {grant}"), format!("{read} ; {grant}"), read.clone()],
            "read",
            vec![],
            "hop 0, policy https://x.example/p: the permission to delegate does not reach this deep",
            vec![("delegationDepth (absent, so 1)", "delegationDepth 2")],
            would("if this permission of hop 0 allowed delegationDepth lteq \"2\""),
        ),
        (
            vec![
                format!(
                    "{read} ; {}",
                    may(
                        "odrl:grantUse",
                        "; odrl:constraint [ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand 1 ]"
                    )
                ),
                format!("{read} ; {grant}"),
                read.clone(),
            ],
            "read",
            vec![],
            "hop 0",
            vec![("delegationDepth lteq \"1\"", "delegationDepth \"2\"")],
            would("if this permission of hop 0 allowed delegationDepth lteq \"2\""),
        ),
    ];
    for (bodies, action, attributes, sentence, unmet, change) in rows {
        let texts: Vec<&str> = bodies.iter().map(String::as_str).collect();
        let found =
            explain_at(&texts, action, &attributes, 5).unwrap_or_else(|| panic!("permitted: {bodies:?}"));
        assert!(found.sentence.contains(sentence), "{bodies:?}\n{}", found.sentence);
        let seen: Vec<(&str, &str)> =
            found.unmet.iter().map(|unmet| (unmet.asked.as_str(), unmet.seen.as_str())).collect();
        assert_eq!(seen, unmet, "{bodies:?}");
        assert_eq!(found.change, change, "{bodies:?}");
    }
    assert_eq!(explain_at(&[&read], "read", &[], 0), None);
}

/// The policies alone do not decide: a time at which the papers are not good, or a target of somebody else, is no help.
#[test]
fn a_change_that_the_papers_or_the_roots_rule_out_is_not_proposed() {
    let at = |operator: &str, instant: &str| {
        may("odrl:read", &when("dateTime", operator, &format!("\"{instant}\"^^xsd:dateTime")))
    };
    let change = |body: &str| explain_at(&[body], "read", &[], 0).unwrap().change;
    let none = "no single change of what is asked is known to suffice";
    // The credential is good in June 2026, and it is the 16th.
    assert!(change(&at("gteq", "2026-06-20T00:00:00Z")).starts_with("if it were 2026-06-20T00:00:00"));
    assert_eq!(change(&at("gteq", "2026-07-02T00:00:00Z")), none);
    assert!(change(&at("lteq", "2026-06-02T00:00:00Z")).starts_with("if it were 2026-06-02T00:00:00"));
    assert_eq!(change(&at("lteq", "2026-05-31T00:00:00Z")), none);
    let on = |target: &str| format!("odrl:permission [ odrl:action odrl:read ; odrl:target {target} ]");
    assert_eq!(
        change(&on("ex:other")),
        "if the target were https://x.example/other, the policies would permit it"
    );
    assert_eq!(change(&on("<https://elsewhere.example/thing>")), none);
    assert_eq!(change(&on("<https://x.example:443/thing>")), none);
}

/// A delegate writes as many rules as it likes: what is tried for one explanation is bounded over all of them.
#[test]
fn the_tries_of_one_explanation_are_counted_over_all_rules() {
    let rules = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("ex:p{n:03}")).collect();
        let permitted = names.iter().map(String::as_str).chain(["ex:q"]);
        let permitted: Vec<String> =
            permitted.map(|name| may("odrl:read", &when("purpose", "eq", name))).collect();
        let never = when("purpose", "isAnyOf", &format!("( {} )", names.join(" ")));
        format!("{} ; odrl:prohibition [ odrl:action odrl:read {never} ]", permitted.join(" ; "))
    };
    let change = |count: usize| explain_at(&[&rules(count)], "read", &[("purpose", "z")], 0).unwrap().change;
    assert_eq!(change(63), "if purpose were <https://x.example/q>, the policies would permit it");
    assert_eq!(change(64), "no single change of what is asked is known to suffice");
}

/// A change is proposed only where the whole message would pass: composition and the duties too.
#[test]
fn a_change_that_fails_later_is_not_proposed() {
    let none = "no single change of what is asked is known to suffice";
    let body = may("odrl:read", &when("purpose", "eq", "ex:r"));
    let change = |body: &str, failure: Option<Denial>, config: &Config| {
        explain_by(&[body], "read", &[("purpose", "s")], 0, failure, config).unwrap().change
    };
    let helps = "if purpose were <https://x.example/r>, the policies would permit it";
    assert_eq!(change(&body, None, &config()), helps);
    assert_eq!(change(&body, Some(Denial::default()), &config()), none);
    let strict = Config { require_duties: true, ..config() };
    assert_eq!(change(&body, None, &strict), helps);
    let owing = may(
        "odrl:read",
        &format!("{} ; odrl:duty [ odrl:action odrl:inform ]", when("purpose", "eq", "ex:r")),
    );
    assert_eq!(change(&owing, None, &config()), helps);
    assert_eq!(change(&owing, None, &strict), none);
}

/// Before anything is asked, each edge must be one that could be passed on, this deep.
#[test]
fn a_chain_that_could_never_be_passed_on_is_seen_before_anything_is_asked() {
    let policies = |bound: u64| {
        let text = |id: &str, from: &str, to: &str, more: &str| {
            let bound = format!(
                "odrl:constraint [ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand {bound} ]"
            );
            let body = format!(
                "{more} odrl:permission [ odrl:action odrl:read ] , [ odrl:action odrl:grantUse ; {bound} ]"
            );
            Policy::read(&credential(id, from, to, &body).graph, &Limits::default()).unwrap()
        };
        [
            text("p", "owner", "a", ""),
            text("q", "a", "b", "odrld:delegatedUnder ex:p ;"),
            text("r", "b", "agent", "odrld:delegatedUnder ex:q ;"),
        ]
    };
    let hop = |bound: u64| {
        let [p, q, r] = &policies(bound);
        let instant = request().snapshot.instant;
        before_any_request(&[p, q, r], instant, &std::collections::BTreeSet::new(), 8)
            .map_err(|denial| denial.hop)
    };
    assert_eq!(hop(2), Ok(()));
    assert_eq!(hop(1), Err(Some(0)));
}
