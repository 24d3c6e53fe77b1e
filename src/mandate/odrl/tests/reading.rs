//! Reading: what makes a document no policy, and what makes a policy unusable or a rule undetermined.

use super::*;

fn malformed(text: &str) -> bool {
    matches!(read_error(text), Some(PolicyError::Malformed(_)))
}

/// A policy that would permit but for `body`.
fn permits_with(body: &str) -> bool {
    Ask::new().permitted(&[owned(&format!("odrl:permission [ odrl:action odrl:read ] ; {body}"))])
}

fn unusable(text: &str) -> bool {
    let policy = policy(text);
    policy.unusable.is_some() && denied(Ask::new().of(&[policy])).detail.contains("cannot be used")
}

#[test]
fn a_document_holds_exactly_one_policy() {
    assert!(malformed("ex:a rdfs:label \"nothing\" ."));
    assert!(malformed("ex:a a odrl:Set . ex:b a odrl:Set ."));
    assert!(malformed("ex:a a odrl:Set . ex:b odrl:permission [ odrl:action odrl:read ] ."));
    assert!(malformed("ex:a a odrl:Set . ex:b odrld:delegatedUnder ex:c ."));
}

#[test]
fn the_id_is_the_uid_and_the_node_and_single() {
    assert_eq!(policy("[] a odrl:Set ; odrl:uid ex:p .").id(), "https://x.example/p");
    assert_eq!(policy("ex:p a odrl:Set .").id(), "https://x.example/p");
    assert!(malformed("ex:p a odrl:Set ; odrl:uid ex:q ."));
    assert!(malformed("ex:p a odrl:Set ; odrl:uid ex:p, ex:q ."));
    assert!(malformed("ex:p a odrl:Set ; odrl:uid \"p\" ."));
    assert!(malformed("[] a odrl:Set ."));
}

/// Threat 10: each property that is single, doubled.
#[test]
fn a_doubled_single_property_is_malformed() {
    for property in ["odrl:assigner", "odrl:assignee", "odrld:delegatedUnder", "odrl:uid"] {
        assert!(malformed(&format!("[] a odrl:Set ; odrl:uid ex:a ; {property} ex:a, ex:b .")), "{property}");
    }
    assert!(malformed("ex:p a odrl:Set ; odrl:conflict odrl:perm, odrl:prohibit ."));
    assert!(malformed("ex:p a odrl:Set ; odrld:delegatedUnder \"x\" ."));
}

#[test]
fn the_plain_permission_is_usable() {
    assert!(permits_with(
        "dcterms:title \"fine\" ; rdfs:comment \"fine\" ; odrl:profile <https://w3id.org/jeswr/odrl-delegation>"
    ));
}

#[test]
fn an_unknown_profile_is_unusable() {
    assert!(!permits_with("odrl:profile ex:other"));
    assert!(!permits_with("odrl:profile <https://w3id.org/jeswr/odrl-delegation>, ex:other"));
}

#[test]
fn inherit_from_is_unusable() {
    assert!(!permits_with("odrl:inheritFrom ex:other"));
}

#[test]
fn an_unknown_policy_level_property_is_unusable() {
    assert!(!permits_with("ex:unless ex:something"));
    assert!(!permits_with("odrl:constraint [ odrl:leftOperand odrl:purpose ]"));
    assert!(!permits_with("odrl:conflict ex:mine"));
    assert!(!permits_with("odrl:prohibtion [ odrl:action odrl:read ]"));
}

#[test]
fn remedies_and_consequences_are_unusable() {
    assert!(!permits_with(
        "odrl:prohibition [ odrl:action odrl:delete ; odrl:remedy [ odrl:action odrl:inform ] ]"
    ));
    assert!(!permits_with(
        "odrl:obligation [ odrl:action odrl:inform ; odrl:consequence [ odrl:action odrl:delete ] ]"
    ));
}

#[test]
fn requests_tickets_and_untyped_policies_are_unusable() {
    for class in ["odrl:Request", "odrl:Ticket", "ex:Thing", "odrl:Set, odrl:Request"] {
        assert!(
            unusable(&format!("ex:p a {class} ; odrl:permission [ odrl:action odrl:read ] .")),
            "{class}"
        );
    }
}

/// Threat 36: a rule's assigner equals the policy's.
#[test]
fn a_rule_of_another_assigner_is_unusable() {
    for kind in ["permission", "prohibition"] {
        let rule =
            |assigner: &str| format!("odrl:{kind} [ odrl:action odrl:delete ; odrl:assigner {assigner} ]");
        assert!(permits_with(&rule("ex:owner")), "{kind}");
        assert!(!permits_with(&rule("ex:mallory")), "{kind}");
        assert!(!permits_with(&rule("ex:owner, ex:mallory")), "{kind}");
    }
    assert!(unusable("ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:read ; odrl:assigner ex:a ] ."));
}

#[test]
fn a_party_that_is_no_iri_is_unusable() {
    assert!(unusable("ex:p a odrl:Set ; odrl:assignee [] ; odrl:permission [ odrl:action odrl:read ] ."));
    assert!(unusable("ex:p a odrl:Set ; odrl:assigner \"me\" ; odrl:permission [ odrl:action odrl:read ] ."));
}

#[test]
fn odrl_statements_outside_every_rule_are_unusable() {
    let base = "ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:read ] .";
    assert!(unusable(&format!("{base} [] odrl:leftOperand odrl:purpose .")));
    assert!(unusable(&format!("{base} ex:other odrl:hasPolicy ex:p .")));
    assert!(
        Ask::new().permitted(&[policy(&format!("{base} ex:a odrl:partOf ex:b . ex:c rdfs:label \"c\" ."))])
    );
}

#[test]
fn an_unknown_property_of_a_rule_makes_it_undetermined() {
    let rule = |kind: &str, more: &str| format!("odrl:{kind} [ odrl:action odrl:read ; {more} ]");
    assert!(!Ask::new().permitted(&[owned(&rule("permission", "ex:unless ex:y"))]));
    assert!(!permits_with(&rule("prohibition", "ex:also ex:y ; odrl:target ex:other")));
    assert!(permits_with(&rule("prohibition", "odrl:target ex:other")));
    assert!(!Ask::new().permitted(&[owned("odrl:permission \"read\"")]));
    assert!(!permits_with("odrl:prohibition \"read\""));
    assert!(!permits_with("odrl:prohibition [ odrl:target ex:thing ]"));
    assert!(!permits_with(&rule(
        "prohibition",
        "odrl:target ex:other ; odrl:duty [ odrl:action odrl:inform ]"
    )));
}

#[test]
fn rules_inherit_what_they_lack() {
    let policy = owned(
        "odrl:action odrl:read ; odrl:target ex:thing ; odrl:assignee ex:agent ; odrl:permission [ ] , [ odrl:target ex:own ; odrl:action odrl:delete ; odrl:assignee ex:other ]",
    );
    let ask = Ask::new();
    assert!(ask.permitted(std::slice::from_ref(&policy)));
    assert!(!ask.clone().target("https://x.example/own").permitted(std::slice::from_ref(&policy)));
    assert!(!ask.clone().agent("https://x.example/other").permitted(std::slice::from_ref(&policy)));
    let other = ask.agent("https://x.example/other").action("delete").target("https://x.example/own");
    assert!(other.permitted(&[policy]));
}

#[test]
fn several_values_are_many_rules() {
    let policy = owned(
        "odrl:permission [ odrl:action odrl:read, odrl:delete ; odrl:target ex:thing, ex:b ; odrl:assignee ex:agent, ex:c ]",
    );
    for (agent, action, target) in [
        ("https://x.example/agent", "read", "https://x.example/thing"),
        ("https://x.example/c", "delete", "https://x.example/b"),
    ] {
        assert!(
            Ask::new().agent(agent).action(action).target(target).permitted(std::slice::from_ref(&policy))
        );
    }
    assert!(!Ask::new().target("https://x.example/d").permitted(&[policy]));
}

fn with_constraint(constraint: &str) -> Policy {
    owned(&format!("odrl:permission [ odrl:action odrl:read ; odrl:constraint {constraint} ]"))
}

#[test]
fn a_constraint_that_says_more_or_less_is_undetermined() {
    let ask = Ask::new().with("purpose", &["<https://x.example/r>"]);
    let good = "odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand ex:r";
    assert!(ask.permitted(&[with_constraint(&format!("[ a odrl:Constraint ; rdfs:label \"x\" ; {good} ]"))]));
    for bad in [
        format!("[ {good} ; odrl:unit ex:u ]"),
        format!("[ {good} ; odrl:dataType xsd:string ]"),
        format!("[ {good} ; odrl:rightOperandReference ex:u ]"),
        format!("[ {good} ; odrl:status 1 ]"),
        format!("[ {good} ; odrl:leftOperand odrl:spatial ]"),
        format!("[ {good} ; odrl:operator odrl:neq ]"),
        format!("[ {good} ; odrl:and ( [ {good} ] ) ]"),
        "[ odrl:leftOperand odrl:purpose ; odrl:operator ex:like ; odrl:rightOperand ex:r ]".into(),
        "[ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ]".into(),
        "[ odrl:operator odrl:eq ; odrl:rightOperand ex:r ]".into(),
        "\"purpose\"".into(),
        "[ odrl:and ( ) ]".into(),
        format!("[ odrl:and ( [ {good} ] ) ; odrl:or ( [ {good} ] ) ]"),
        format!("[ odrl:and ( [ {good} ] ) , ( [ {good} ] ) ]"),
    ] {
        assert!(!ask.permitted(&[with_constraint(&bad)]), "{bad}");
    }
}

/// Threat 43: cyclic and forked lists end, and are not judged.
#[test]
fn broken_lists_are_undetermined_and_end() {
    let ask = Ask::new().with("purpose", &["<https://x.example/r>"]);
    let one = "[ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand ex:r ]";
    for list in [
        format!("ex:l rdf:first {one} ; rdf:rest ex:l ."),
        format!("ex:l rdf:first {one} ; rdf:rest ex:m , rdf:nil . ex:m rdf:first {one} ; rdf:rest rdf:nil ."),
        format!("ex:l rdf:first {one} , {one} ; rdf:rest rdf:nil ."),
        format!("ex:l rdf:first {one} ."),
        format!("ex:l rdf:first {one} ; rdf:rest rdf:nil ; ex:more ex:y ."),
        "ex:l rdf:rest rdf:nil .".to_owned(),
    ] {
        for use_of in [
            "odrl:and ex:l",
            "odrl:leftOperand odrl:purpose ; odrl:operator odrl:isAnyOf ; odrl:rightOperand ex:l",
        ] {
            let text = format!(
                "ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:read ; odrl:constraint [ {use_of} ] ] . {list}"
            );
            assert!(!ask.permitted(&[policy(&text)]), "{text}");
        }
    }
}

#[test]
fn nesting_and_number_of_constraints_are_bounded() {
    let cycle = "ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:read ; odrl:constraint ex:c ] . ex:c odrl:and ( ex:c ) .";
    assert_eq!(read_error(cycle), Some(PolicyError::TooLarge("constraint_depth")));
    let explosion = "ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:read ; odrl:constraint ex:c ] . ex:c odrl:or ( ex:c ex:c ex:c ) .";
    assert!(matches!(read_error(explosion), Some(PolicyError::TooLarge(_))));
    let many = format!("ex:p a odrl:Set {} .", "; odrl:permission [ odrl:action odrl:read ] ".repeat(1_001));
    assert_eq!(read_error(&many), Some(PolicyError::TooLarge("constraints")));
    let mut deep =
        "[ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand ex:r ]".to_owned();
    for _ in 1..16 {
        deep = format!("[ odrl:and ( {deep} ) ]");
    }
    let ask = Ask::new().with("purpose", &["<https://x.example/r>"]);
    assert!(ask.permitted(&[with_constraint(&deep)]));
    let deeper = format!(
        "ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:read ; odrl:constraint [ odrl:and ( {deep} ) ] ] ."
    );
    let limits = Limits { graph_depth: 128, ..Limits::default() };
    let graph = turtle::parse(&format!("{PREFIXES}{deeper}"), &limits).unwrap();
    assert_eq!(Policy::read(&graph, &limits).err(), Some(PolicyError::TooLarge("constraint_depth")));
}

#[test]
fn a_duty_that_an_obligation_cannot_carry_makes_its_permission_undetermined() {
    for duty in [
        "[ odrl:target ex:t ]",
        "[ odrl:action odrl:delete ; odrl:constraint [ odrl:leftOperand odrl:dateTime ] ]",
        "[ odrl:action [ rdf:value odrl:delete ; odrl:refinement [ odrl:leftOperand odrl:count ] ] ]",
        "[ odrl:action odrl:delete ; odrl:target [] ]",
        "[ odrl:action odrl:delete ; ex:by ex:whom ]",
        "\"inform\"",
    ] {
        assert!(
            !Ask::new().permitted(&[owned(&format!(
                "odrl:permission [ odrl:action odrl:read ; odrl:duty {duty} ]"
            ))]),
            "{duty}"
        );
        assert!(!permits_with(&format!("odrl:obligation {duty}")), "{duty}");
    }
}

/// What a policy says once for all its rules, and what a duty says of several actions and targets, is copied for each:
/// the copies count, so a small document makes no large policy.
#[test]
fn what_is_inherited_or_multiplied_counts_for_each_copy() {
    let size = |text: &str| Policy::read(&graph(text), &Limits::default()).map(|policy| policy.size());
    let rules =
        |count: usize| (0..count).map(|n| format!("[ rdfs:label \"{n}\" ]")).collect::<Vec<_>>().join(" , ");
    let things = |count: usize| (0..count).map(|n| format!("ex:t{n}")).collect::<Vec<_>>().join(" , ");
    let inheriting = |names: usize, count: usize| {
        size(&format!(
            "ex:p a odrl:Set ; odrl:action odrl:read ; odrl:target {} ; odrl:permission {} .",
            things(names),
            rules(count)
        ))
    };
    assert!(inheriting(20, 20).is_ok());
    assert_eq!(inheriting(900, 900), Err(PolicyError::TooLarge("constraints")));
    let refined = format!(
        "[ odrl:source ex:thing ; odrl:refinement [ odrl:leftOperand odrl:purpose ; odrl:operator odrl:isAnyOf ; odrl:rightOperand {} ] ]",
        things(900)
    );
    let text = format!(
        "ex:p a odrl:Set ; odrl:action odrl:read ; odrl:target {refined} ; odrl:permission {} .",
        rules(100)
    );
    assert_eq!(size(&text), Err(PolicyError::TooLarge("constraints")));
    let duty = |names: usize| {
        let duty = format!("[ odrl:action {} ; odrl:target {} ]", things(names), things(names));
        size(&format!(
            "ex:p a odrl:Set ; odrl:obligation {duty} ; odrl:permission [ odrl:action odrl:read ] ."
        ))
    };
    assert!(duty(20).is_ok());
    assert_eq!(duty(900), Err(PolicyError::TooLarge("constraints")));
}

/// Who describes an action might mean less than the action. A thing may be described in other words.
#[test]
fn an_action_that_is_described_is_not_the_action() {
    let described = |node: &str, by: &str| {
        format!(
            "ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:read ; odrl:target ex:thing ] . {node} {by} ."
        )
    };
    for (node, by, expected) in [
        ("odrl:read", "ex:only ex:weekdays", false),
        ("odrl:read", "odrl:includedIn odrl:use", false),
        ("odrl:read", "rdfs:label \"read\"", true),
        ("ex:thing", "ex:colour ex:red", true),
        ("ex:thing", "odrl:unit ex:one", false),
    ] {
        assert_eq!(Ask::new().permitted(&[policy(&described(node, by))]), expected, "{node} {by}");
    }
}

/// The target of the policy is that of an obligation without its own, and not of a duty, which is of its permission.
#[test]
fn an_obligation_inherits_the_policys_target() {
    let duties = |body: &str| -> Vec<Option<String>> {
        let policy =
            owned(&format!("odrl:target ex:thing ; odrl:permission [ odrl:action odrl:read ] ; {body}"));
        granted(Ask::new().of(&[policy])).obligations.into_iter().map(|duty| duty.target).collect()
    };
    let thing = Some("https://x.example/thing".to_owned());
    assert_eq!(duties("odrl:obligation [ odrl:action odrl:inform ]"), [thing]);
    let own = Some("https://x.example/other".to_owned());
    assert_eq!(duties("odrl:obligation [ odrl:action odrl:inform ; odrl:target ex:other ]"), [own]);
}
