//! Whole tables of `mandate.md` 6 and 7: every operator with every type, every action with every other, every form of a
//! bound on delegation, every reason for which a policy is of no use.

use super::super::action::prohibits;
use super::super::action::tests::ALL;
use super::*;
use std::cmp::Ordering;

const OPEN: &str = "odrl:permission [ odrl:action odrl:use ]";
const OPERATORS: [&str; 12] =
    ["eq", "neq", "lt", "lteq", "gt", "gteq", "isA", "hasPart", "isPartOf", "isAllOf", "isAnyOf", "isNoneOf"];

/// Whether a rule with `body` permits, and whether it prohibits.
fn both(ask: &Ask, body: &str) -> (bool, bool) {
    let permission = owned(&format!("odrl:permission [ odrl:action odrl:read ; {body} ]"));
    let prohibition = owned(&format!("{OPEN} ; odrl:prohibition [ odrl:action odrl:read ; {body} ]"));
    (ask.permitted(&[permission]), !ask.permitted(&[prohibition]))
}

fn constraint(operator: &str, right: &str) -> String {
    format!(
        "odrl:constraint [ odrl:leftOperand odrl:purpose ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
    )
}

const UNDETERMINED: (bool, bool) = (false, true);

/// A type: two values of it, the lesser first, and whether it has an order and is a number.
struct Type {
    name: &'static str,
    values: [&'static str; 2],
    ordered: bool,
    number: bool,
}

const TYPES: [Type; 9] = [
    Type { name: "", values: ["https://x.example/a", "https://x.example/b"], ordered: false, number: false },
    Type { name: "string", values: ["a", "b"], ordered: false, number: false },
    Type { name: "boolean", values: ["false", "true"], ordered: false, number: false },
    Type { name: "integer", values: ["4", "5"], ordered: true, number: true },
    Type { name: "decimal", values: ["4.0", "5.00"], ordered: true, number: true },
    Type { name: "double", values: ["4e0", "50E-1"], ordered: true, number: true },
    Type {
        name: "dateTime",
        values: ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+00:30"],
        ordered: true,
        number: false,
    },
    Type { name: "dayTimeDuration", values: ["PT59M", "PT1H"], ordered: true, number: false },
    Type { name: "yearMonthDuration", values: ["P11M", "P1Y"], ordered: true, number: false },
];

impl Type {
    fn term(&self, place: usize) -> String {
        let value = self.values[place];
        match self.name {
            "" => format!("<{value}>"),
            name => format!("\"{value}\"^^<http://www.w3.org/2001/XMLSchema#{name}>"),
        }
    }
}

/// The outcome by the page alone, for one value and one right operand.
fn expected(operator: &str, order: Option<Ordering>, ordered: bool) -> (bool, bool) {
    let Some(order) = order else { return UNDETERMINED };
    let truth = match operator {
        "eq" | "isAnyOf" | "isAllOf" => order.is_eq(),
        "neq" | "isNoneOf" => order.is_ne(),
        "isA" | "hasPart" | "isPartOf" => return UNDETERMINED,
        _ if !ordered => return UNDETERMINED,
        "lt" => order.is_lt(),
        "lteq" => order.is_le(),
        "gt" => order.is_gt(),
        _ => order.is_ge(),
    };
    (truth, truth)
}

#[test]
fn every_operator_compares_every_type_with_every_other_or_is_undetermined() {
    for operator in OPERATORS {
        for (right_type, right_place) in TYPES.iter().flat_map(|one| [(one, 0), (one, 1)]) {
            for (left_type, left_place) in TYPES.iter().flat_map(|one| [(one, 0), (one, 1)]) {
                let comparable = left_type.name == right_type.name || left_type.number && right_type.number;
                let order = comparable.then(|| left_place.cmp(&right_place));
                let ordered = left_type.ordered && right_type.ordered;
                let (left, right) = (left_type.term(left_place), right_type.term(right_place));
                let ask = Ask::new().with("purpose", &[&left]);
                let found = both(&ask, &constraint(operator, &right));
                assert_eq!(found, expected(operator, order, ordered), "{left} {operator} {right}");
            }
        }
    }
}

/// A plain string is read as the type of the right operand where it is one of its values.
#[test]
fn a_plain_string_is_of_the_right_operands_type_or_of_none() {
    for right_type in TYPES {
        for operator in OPERATORS {
            for (left, right) in [(0, 0), (0, 1), (1, 0)] {
                let ask = Ask::new().with("purpose", &[&format!("\"{}\"", right_type.values[left])]);
                let found = both(&ask, &constraint(operator, &right_type.term(right)));
                let expected = expected(operator, Some(left.cmp(&right)), right_type.ordered);
                assert_eq!(
                    found,
                    expected,
                    "\"{}\" {operator} {}",
                    right_type.values[left],
                    right_type.term(right)
                );
            }
            let words = Ask::new().with("purpose", &["\"in words\""]);
            let found = both(&words, &constraint(operator, &right_type.term(0)));
            let text = match (right_type.name, operator) {
                ("string", "eq" | "isAnyOf" | "isAllOf") => (false, false),
                ("string", "neq" | "isNoneOf") => (true, true),
                _ => UNDETERMINED,
            };
            assert_eq!(found, text, "words {operator} {}", right_type.name);
        }
    }
}

/// Threat 38: ambiguous and exploding literals on either side, in both kinds of rule, with every operator.
#[test]
fn literals_at_the_edge_are_undetermined_on_either_side() {
    let long = "9".repeat(4_000);
    let mut edges: Vec<(String, &str)> = [
        ("NaN", "double"),
        ("INF", "double"),
        ("-INF", "float"),
        ("1e33", "double"),
        ("1e-33", "double"),
        ("1e99999999999999999999", "double"),
        ("1e", "double"),
        ("e1", "double"),
        ("0x5", "integer"),
        ("5 ", "integer"),
        (" 5", "integer"),
        ("+", "integer"),
        ("--5", "integer"),
        ("٥", "integer"),
        ("5,0", "decimal"),
        ("5.0", "integer"),
        ("5e0", "decimal"),
        (".", "decimal"),
        ("", "decimal"),
        ("111111111111111111111111111111111", "decimal"),
        ("0.00000000000000000000000000000000001", "decimal"),
        ("256", "unsignedByte"),
        ("-1", "unsignedLong"),
        ("9223372036854775808", "long"),
        ("0", "positiveInteger"),
        ("TRUE", "boolean"),
        ("yes", "boolean"),
        ("", "boolean"),
        ("2026-01-01T00:00:00", "dateTime"),
        ("2026-01-01T24:00:00Z", "dateTime"),
        ("2026-01-01T00:00:60Z", "dateTime"),
        ("2026-02-30T00:00:00Z", "dateTime"),
        ("2026-13-01T00:00:00Z", "dateTime"),
        ("0000-01-01T00:00:00Z", "dateTime"),
        ("-0044-03-15T00:00:00Z", "dateTime"),
        ("12026-01-01T00:00:00Z", "dateTime"),
        ("2026-01-01T00:00Z", "dateTime"),
        ("2026-01-01t00:00:00z", "dateTime"),
        ("2026-01-01 00:00:00Z", "dateTime"),
        ("2026-01-01T00:00:00+15:00", "dateTime"),
        ("2026-01-01T00:00:00.1234567890Z", "dateTime"),
        ("2026-01-01T00:00:00+0100", "dateTime"),
        ("2026-01-01", "date"),
        ("2026-01-01Z", "date"),
        ("2026", "gYear"),
        ("00:00:00Z", "time"),
        ("P", "duration"),
        ("PT", "duration"),
        ("P1DT", "duration"),
        ("1D", "duration"),
        ("P-1D", "duration"),
        ("P1M", "dayTimeDuration"),
        ("P1D", "yearMonthDuration"),
        ("P1.5D", "duration"),
        ("P99999999999999999999999999999999999999Y", "duration"),
        ("5", "anySimpleType"),
        ("5", "unknown"),
    ]
    .into_iter()
    .map(|(text, name)| (text.to_owned(), name))
    .collect();
    edges.push((long.clone(), "integer"));
    edges.push((format!("0.{long}"), "decimal"));
    edges.push((format!("1e{long}"), "double"));
    edges.push((format!("P{long}D"), "duration"));
    edges.push((format!("2026-01-01T00:00:00.{long}Z"), "dateTime"));
    for (text, name) in edges {
        let edge = format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#{name}>");
        let shown: String = edge.chars().take(60).collect();
        for operator in OPERATORS {
            for good in TYPES.iter().map(|one| one.term(0)) {
                let ask = Ask::new().with("purpose", &[&good]);
                assert_eq!(
                    both(&ask, &constraint(operator, &edge)),
                    UNDETERMINED,
                    "{good} {operator} {shown}"
                );
            }
            let ask = Ask::new().with("purpose", &[&edge]);
            for good in TYPES.iter().map(|one| one.term(0)) {
                assert_eq!(
                    both(&ask, &constraint(operator, &good)),
                    UNDETERMINED,
                    "{shown} {operator} {good}"
                );
            }
            assert_eq!(both(&ask, &constraint(operator, &edge)), UNDETERMINED, "{shown} {operator} itself");
        }
    }
}

/// Threat 7, by policies: under a permission of everything, each action is prohibited in turn and each is asked for.
#[test]
fn under_a_broad_permission_every_prohibition_meets_every_alias() {
    let everything: Vec<String> = ALL.iter().map(|action| format!("<{action}>")).collect();
    let permission = format!("odrl:permission [ odrl:action {} ]", everything.join(", "));
    for prohibited in ALL {
        let policy = owned(&format!("{permission} ; odrl:prohibition [ odrl:action <{prohibited}> ]"));
        for requested in ALL {
            let ask = Ask::new().action(requested);
            let permitted = ask.permitted(std::slice::from_ref(&policy));
            assert_eq!(
                permitted,
                !prohibits(prohibited, requested),
                "{prohibited} prohibited, {requested} asked for"
            );
        }
    }
}

/// Threat 31: every operator, at the top and in every nesting, with one hop and with two below.
#[test]
fn only_an_upper_bound_at_the_top_bounds_a_delegation() {
    let hop = |id: &str, from: &str, to: &str, parent: &str| {
        policy(&format!(
            "ex:{id} a odrl:Agreement ; odrl:assigner ex:{from} ; odrl:assignee ex:{to} ; odrld:delegatedUnder ex:{parent} ;
             odrl:permission [ odrl:action odrl:read ] , [ odrl:action odrl:grantUse ] ."
        ))
    };
    let first = |more: &str| {
        owned(&format!(
            "odrl:permission [ odrl:action odrl:read ; odrl:assignee ex:a ] , [ odrl:action odrl:grantUse ; odrl:assignee ex:a {more} ]"
        ))
    };
    let forms: [(&str, fn(&str) -> String); 9] = [
        ("top", |one| format!("; odrl:constraint {one}")),
        ("and", |one| format!("; odrl:constraint [ odrl:and ( {one} ) ]")),
        ("or", |one| format!("; odrl:constraint [ odrl:or ( {one} ) ]")),
        ("xone", |one| format!("; odrl:constraint [ odrl:xone ( {one} ) ]")),
        ("andSequence", |one| format!("; odrl:constraint [ odrl:andSequence ( {one} ) ]")),
        ("or in and", |one| format!("; odrl:constraint [ odrl:and ( [ odrl:or ( {one} ) ] ) ]")),
        ("or with a truth", |one| {
            format!(
                "; odrl:constraint [ odrl:or ( {one} [ odrl:leftOperand odrl:dateTime ; odrl:operator odrl:lt ; odrl:rightOperand \"2030-01-01T00:00:00Z\"^^xsd:dateTime ] ) ]"
            )
        }),
        ("refined target", |one| format!("; odrl:target [ odrl:source ex:thing ; odrl:refinement {one} ]")),
        ("refined assignee", |one| format!("; odrl:assignee [ odrl:source ex:a ; odrl:refinement {one} ]")),
    ];
    for operator in OPERATORS {
        for bound in 0..4u64 {
            let one = format!(
                "[ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:{operator} ; odrl:rightOperand {bound} ]"
            );
            for (form, write) in forms {
                let first = first(&write(&one));
                for below in 1..=2u64 {
                    let chain = match below {
                        1 => vec![first.clone(), hop("q", "a", "agent", "p")],
                        _ => vec![first.clone(), hop("m", "a", "b", "p"), hop("q", "b", "agent", "m")],
                    };
                    let expected = form == "top"
                        && match operator {
                            "lt" => below < bound,
                            "lteq" => below <= bound,
                            "eq" => below == bound,
                            _ => false,
                        };
                    assert_eq!(
                        Ask::new().permitted(&chain),
                        expected,
                        "{form}: {operator} {bound}, {below} below"
                    );
                }
            }
        }
    }
}

/// Threat 36: what makes a policy useless does so in its permissions and in its prohibitions, at any hop of a chain.
#[test]
fn an_unusable_policy_at_any_hop_denies_by_permission_and_by_prohibition() {
    // What stands at the policy, what stands in a rule of either kind, and its class.
    for (of_policy, of_rule, class) in [
        ("odrl:profile ex:other ;", "", "odrl:Agreement"),
        ("odrl:profile \"text\" ;", "", "odrl:Agreement"),
        ("odrl:inheritFrom ex:other ;", "", "odrl:Agreement"),
        ("", "", "odrl:Agreement, odrl:Request"),
        ("", "", "odrl:Agreement, odrl:Ticket"),
        ("", "odrl:assigner ex:mallory ;", "odrl:Agreement"),
        ("", "odrl:assigner [] ;", "odrl:Agreement"),
        ("", "odrl:remedy [ odrl:action odrl:inform ] ;", "odrl:Agreement"),
        ("", "odrl:consequence [ odrl:action odrl:inform ] ;", "odrl:Agreement"),
        (
            "",
            "odrl:duty [ odrl:action odrl:inform ; odrl:consequence [ odrl:action odrl:delete ] ] ;",
            "odrl:Agreement",
        ),
        ("ex:unless ex:something ;", "", "odrl:Agreement"),
        ("odrl:conflict ex:mine ;", "", "odrl:Agreement"),
        ("odrl:obligation [ odrl:action odrl:inform ; odrl:assigner ex:mallory ] ;", "", "odrl:Agreement"),
        ("odrl:obligation \"text\" ;", "", "odrl:Agreement"),
    ] {
        for kind in ["permission", "prohibition"] {
            for at in 0..3usize {
                let chain = |bad: bool| -> Vec<Policy> {
                    let parties = ["owner", "a", "b", "agent"];
                    (0..3)
                        .map(|place| {
                            let spoiled = bad && place == at;
                            let (of_policy, of_rule) = if spoiled { (of_policy, of_rule) } else { ("", "") };
                            let class = if spoiled { class } else { "odrl:Agreement" };
                            let parent = place.checked_sub(1).map(|parent| format!("odrld:delegatedUnder ex:p{parent} ;"));
                            let under = parent.unwrap_or_default();
                            // A rule of another action, so that nothing but the defect can deny.
                            policy(&format!(
                                "ex:p{place} a {class} ; odrl:assigner ex:{} ; odrl:assignee ex:{} ; {under} {of_policy}
                                 odrl:permission [ odrl:action odrl:read ] , [ odrl:action odrl:grantUse ; odrl:constraint [
                                   odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand 2 ] ] ;
                                 odrl:{kind} [ odrl:action odrl:delete ; {of_rule} ] .",
                                parties[place],
                                parties[place + 1],
                            ))
                        })
                        .collect()
                };
                assert!(Ask::new().permitted(&chain(false)));
                let denial = denied(Ask::new().of(&chain(true)));
                assert_eq!(denial.hop, Some(at), "{of_policy} {of_rule} {class} in a {kind} at {at}");
                assert!(denial.detail.starts_with("the policy cannot be used"), "{}", denial.detail);
            }
        }
    }
}

/// Relations between values come from the operator's store, and not from a policy of anybody, the owner's included.
#[test]
fn a_policys_own_facts_relate_no_values() {
    let paris = Ask::new().with("spatial", &["<https://x.example/paris>"]);
    let facts = "ex:paris odrl:partOf ex:france .";
    for (operator, right) in [("isPartOf", "ex:france"), ("isA", "ex:City")] {
        let rule = format!(
            "[ odrl:action odrl:read ; odrl:constraint [ odrl:leftOperand odrl:spatial ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ] ]"
        );
        let own = |kind: &str| {
            policy(&format!(
                "ex:p a odrl:Set ; odrl:assigner ex:owner ; {OPEN} ; odrl:{kind} {rule} . {facts} ex:paris a ex:City ."
            ))
        };
        let permission = policy(&format!(
            "ex:p a odrl:Set ; odrl:assigner ex:owner ; odrl:permission {rule} . {facts} ex:paris a ex:City ."
        ));
        assert!(!paris.permitted(std::slice::from_ref(&permission)), "{operator}");
        assert!(!paris.permitted(&[own("prohibition")]), "{operator}");
        let stored = paris.clone().fact(&format!("{facts} ex:paris a ex:City ."));
        assert!(stored.permitted(&[permission]), "{operator}");
    }
}
