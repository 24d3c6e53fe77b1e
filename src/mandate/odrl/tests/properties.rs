//! The promises of phase D, on generated policies.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;

const ACTIONS: &[&str] = &["odrl:read", "odrl:use", "odrl:write", "acl:Read", "odrl:delete", "odrl:grantUse"];

fn leaf_constraint() -> impl Strategy<Value = String> {
    let operand = select(&["odrl:purpose", "odrl:spatial", "odrl:dateTime", "odrl:count", "ex:level"][..]);
    let operator =
        select(&["eq", "neq", "lt", "lteq", "gt", "gteq", "isAnyOf", "isNoneOf", "isAllOf", "isA"][..]);
    let right = select(
        &[
            "ex:r",
            "ex:s",
            "ex:r, ex:s",
            "5",
            "\"NaN\"^^xsd:double",
            "\"2026-07-01T00:00:00Z\"^^xsd:dateTime",
            "\"2026-01-01\"^^xsd:date",
            "\"x\"",
        ][..],
    );
    (operand, operator, right).prop_map(|(operand, operator, right)| {
        format!("[ odrl:leftOperand {operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]")
    })
}

fn constraint() -> impl Strategy<Value = String> {
    leaf_constraint().prop_recursive(2, 8, 3, |inner| {
        (select(&["and", "or", "xone", "andSequence"][..]), proptest::collection::vec(inner, 1..4))
            .prop_map(|(logic, operands)| format!("[ odrl:{logic} ( {} ) ]", operands.join(" ")))
    })
}

fn rule() -> impl Strategy<Value = String> {
    let target = select(&["", "; odrl:target ex:thing", "; odrl:target ex:other", "; odrl:target []"][..]);
    let assignee = select(&["", "; odrl:assignee ex:agent", "; odrl:assignee ex:other"][..]);
    (select(ACTIONS), target, assignee, proptest::option::of(constraint())).prop_map(
        |(action, target, assignee, constraint)| {
            let constraint = constraint.map(|constraint| format!("; odrl:constraint {constraint}"));
            format!("[ odrl:action {action} {target} {assignee} {} ]", constraint.unwrap_or_default())
        },
    )
}

/// Permissions, prohibitions, conflict strategy.
fn rules() -> impl Strategy<Value = (Vec<String>, Vec<String>, &'static str)> {
    (
        proptest::collection::vec(rule(), 1..4),
        proptest::collection::vec(rule(), 0..3),
        select(&["odrl:perm", "odrl:prohibit", "odrl:invalid"][..]),
    )
}

fn document((permissions, prohibitions, conflict): &(Vec<String>, Vec<String>, &'static str)) -> String {
    let permissions = permissions.iter().map(|rule| format!("; odrl:permission {rule} "));
    let prohibitions = prohibitions.iter().map(|rule| format!("; odrl:prohibition {rule} "));
    let rules: String = permissions.chain(prohibitions).collect();
    format!("ex:p a odrl:Set ; odrl:assigner ex:owner ; odrl:conflict {conflict} {rules} .")
}

/// The rules of a policy, without its conflict strategy: what matters for a chain.
pub(super) fn body() -> impl Strategy<Value = String> {
    (rules(), proptest::bool::weighted(0.6)).prop_map(|((permissions, prohibitions, conflict), plain)| {
        let plain = plain.then(|| "odrl:permission [ odrl:action odrl:read ]".to_owned());
        let permissions = permissions.iter().map(|rule| format!("odrl:permission {rule}"));
        // One prohibition at most, or hardly anything composes.
        let prohibitions = prohibitions.iter().skip(1).map(|rule| format!("odrl:prohibition {rule}"));
        let strategy = format!("odrl:conflict {conflict}");
        plain
            .into_iter()
            .chain(permissions)
            .chain(prohibitions)
            .chain([strategy])
            .collect::<Vec<_>>()
            .join(" ; ")
    })
}

pub(super) fn purpose() -> impl Strategy<Value = Option<&'static str>> {
    select(&[None, Some("https://x.example/r"), Some("https://x.example/s")][..])
}

fn ask() -> impl Strategy<Value = Ask> {
    let iris = || {
        proptest::collection::vec(
            select(&["<https://x.example/r>", "<https://x.example/s>", "\"x\""][..]),
            1..3,
        )
    };
    let number = "\"5\"^^<http://www.w3.org/2001/XMLSchema#integer>";
    (iris(), iris()).prop_map(move |(purpose, spatial)| {
        Ask::new()
            .with("purpose", &purpose)
            .with("spatial", &spatial)
            .with("count", &[number])
            .with("level", &[number])
    })
}

fn permits(policy: &Policy, request: &OdrlRequest) -> bool {
    let verdict = evaluate_chain(std::slice::from_ref(policy), request, &BTreeSet::new(), 8);
    matches!(verdict, ChainVerdict::Permit(_))
}

proptest! {
    #[test]
    fn adding_a_prohibition_never_permits(rules in rules(), more in rule(), ask in ask()) {
        let before = permits(&policy(&document(&rules)), &ask.request());
        let (permissions, mut prohibitions, conflict) = rules;
        prohibitions.push(more);
        let after = permits(&policy(&document(&(permissions, prohibitions, conflict))), &ask.request());
        prop_assert!(before || !after);
    }

    #[test]
    fn removing_an_attribute_never_permits(rules in rules(), ask in ask()) {
        let policy = policy(&document(&rules));
        let request = ask.request();
        for name in ["purpose", "spatial", "count", "level"] {
            prop_assert!(permits(&policy, &request) || !permits(&policy, &request.without(name)), "{}", name);
        }
    }

    #[test]
    fn corrupting_an_attribute_never_permits(rules in rules(), ask in ask()) {
        let policy = policy(&document(&rules));
        for name in ["purpose", "spatial", "count", "level"] {
            let corrupt = ask.clone().with(name, &["_:nothing"]);
            prop_assert!(permits(&policy, &ask.request()) || !permits(&policy, &corrupt.request()), "{}", name);
        }
    }

    #[test]
    fn the_order_of_triples_changes_nothing(rules in rules(), ask in ask(), seed in any::<u64>()) {
        let graph = graph(&document(&rules));
        let mut triples: Vec<_> = graph.iter().map(oxrdf::TripleRef::into_owned).collect();
        let mut state = seed | 1;
        for at in (1..triples.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            triples.swap(at, (state >> 33) as usize % (at + 1));
        }
        let shuffled: Graph = triples.into_iter().collect();
        let read = |graph: &Graph| Policy::read(graph, &Limits::default()).unwrap();
        prop_assert_eq!(read(&graph), read(&shuffled));
        // Labels of blank nodes are made anew: verdict and evidence stay.
        let again = policy(&document(&rules));
        prop_assert_eq!(ask.of(&[read(&graph)]), ask.of(&[again]));
    }
}

/// Any graph over the vocabulary, cyclic and contradictory ones too.
fn any_graph() -> impl Strategy<Value = String> {
    const NODES: [&str; 9] = ["ex:p", "_:a", "_:b", "_:c", "_:d", "_:e", "ex:thing", "ex:agent", "ex:owner"];
    const PREDICATES: [&str; 20] = [
        "odrl:permission",
        "odrl:prohibition",
        "odrl:obligation",
        "odrl:duty",
        "odrl:constraint",
        "odrl:refinement",
        "odrl:and",
        "odrl:xone",
        "rdf:first",
        "rdf:rest",
        "odrl:action",
        "odrl:target",
        "odrl:assignee",
        "odrl:source",
        "rdf:value",
        "odrl:leftOperand",
        "odrl:operator",
        "odrl:rightOperand",
        "odrl:partOf",
        "ex:unknown",
    ];
    const OBJECTS: [&str; 15] = [
        "_:a",
        "_:b",
        "_:c",
        "_:d",
        "_:e",
        "ex:thing",
        "ex:agent",
        "ex:p",
        "rdf:nil",
        "odrl:read",
        "odrl:use",
        "odrl:eq",
        "odrl:count",
        "3",
        "\"x\"",
    ];
    let triple = (0..NODES.len(), 0..PREDICATES.len(), 0..OBJECTS.len());
    proptest::collection::vec(triple, 0..40).prop_map(|triples| {
        let lines =
            triples.into_iter().map(|(s, p, o)| format!("{} {} {} .\n", NODES[s], PREDICATES[p], OBJECTS[o]));
        format!(
            "ex:p a odrl:Set ; odrl:permission _:a . _:a odrl:action odrl:read .\n{}",
            lines.collect::<String>()
        )
    })
}

proptest! {
    /// Reading and judging end, and neither labels nor the order of triples show.
    #[test]
    fn any_graph_is_read_and_judged_alike_under_other_labels(text in any_graph()) {
        let other = text.replace("_:a", "_:zz").replace("_:b", "_:a").replace("_:d", "_:b");
        let reversed: Vec<&str> = other.lines().rev().collect();
        let read = |text: &str| Policy::read(&graph(text), &Limits::default());
        let (first, second) = (read(&text), read(&reversed.join("\n")));
        prop_assert_eq!(first.as_ref().err(), second.as_ref().err());
        if let (Ok(first), Ok(second)) = (first, second) {
            prop_assert_eq!(Ask::new().of(&[first]), Ask::new().of(&[second]));
        }
    }

    /// A property that nobody knows, wherever it is put on what a policy says, permits nothing more.
    #[test]
    fn an_unknown_property_never_permits(text in any_graph(), node in prop::sample::select(vec!["_:a", "_:b", "_:c", "_:d", "_:e", "ex:p"])) {
        let permits = |text: &str| Policy::read(&graph(text), &Limits::default()).is_ok_and(|policy| Ask::new().permitted(&[policy]));
        let more = format!("{text}{node} ex:unknown ex:y .");
        prop_assert!(permits(&text) || !permits(&more));
    }

    /// Nor does a further constraint on a permission.
    #[test]
    fn a_further_constraint_never_permits(text in any_graph()) {
        let permits = |text: &str| Policy::read(&graph(text), &Limits::default()).is_ok_and(|policy| Ask::new().permitted(&[policy]));
        let never = "[ odrl:leftOperand odrl:count ; odrl:operator odrl:eq ; odrl:rightOperand 3 ]";
        let more = format!("{text}_:a odrl:constraint {never} .");
        prop_assert!(permits(&text) || !permits(&more));
    }
}
