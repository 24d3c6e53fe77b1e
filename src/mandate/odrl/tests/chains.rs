//! The promises of phase D on generated chains of one to four hops.

use super::super::hops::Chain;
use super::*;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Who delegates to whom: in a chain of n hops, the owner, then n - 1 of these, then `agent`.
const BETWEEN: [&str; 3] = ["a", "b", "c"];

/// A policy in parts, so that a test can change one.
#[derive(Debug, Clone)]
struct Hop {
    id: String,
    assigner: &'static str,
    assignee: &'static str,
    parent: Option<String>,
    /// `odrl:permission [ ... ]` and the like.
    statements: Vec<String>,
    /// Behind the policy: facts of its own document.
    after: &'static str,
}

impl Hop {
    fn text(&self) -> String {
        let under = self.parent.as_ref().map(|parent| format!("; odrld:delegatedUnder ex:{parent} "));
        format!(
            "ex:{} a odrl:Agreement ; odrl:assigner ex:{} ; odrl:assignee ex:{} {}; {} . {}",
            self.id,
            self.assigner,
            self.assignee,
            under.unwrap_or_default(),
            self.statements.join(" ; "),
            self.after
        )
    }

    fn policy(&self) -> Policy {
        policy(&self.text())
    }
}

fn right() -> impl Strategy<Value = &'static str> {
    select(
        &[
            "ex:r",
            "ex:s",
            "ex:r, ex:s",
            "( ex:r ex:s )",
            "( )",
            "5",
            "6",
            "\"5.0\"^^xsd:decimal",
            "\"x\"",
            "\"NaN\"^^xsd:double",
            "\"2026-07-01T00:00:00Z\"^^xsd:dateTime",
            "\"2026-06-16T14:00:00+02:00\"^^xsd:dateTime",
            "\"2026-01-01\"^^xsd:date",
        ][..],
    )
}

/// Half of them hold for most requests, so that enough chains permit.
fn comparison() -> BoxedStrategy<String> {
    let likely = select(
        &[
            ("odrl:dateTime", "lt", "\"2026-07-01T00:00:00Z\"^^xsd:dateTime"),
            ("odrl:dateTime", "gteq", "\"2026-06-16T12:00:00Z\"^^xsd:dateTime"),
            ("odrl:count", "lteq", "9"),
            ("odrl:purpose", "isAnyOf", "( ex:r ex:s )"),
            ("ex:level", "eq", "5"),
        ][..],
    );
    let operand =
        select(&["odrl:purpose", "odrl:spatial", "odrl:dateTime", "odrl:count", "ex:level", "ex:none"][..]);
    let operator = select(
        &[
            "eq", "neq", "lt", "lteq", "gt", "gteq", "isAnyOf", "isNoneOf", "isAllOf", "isA", "isPartOf",
            "hasPart",
        ][..],
    );
    prop_oneof![likely, (operand, operator, right())]
        .prop_map(|(operand, operator, right)| {
            format!(
                "[ odrl:leftOperand {operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
            )
        })
        .boxed()
}

fn constraint() -> impl Strategy<Value = String> {
    comparison().prop_recursive(2, 8, 3, |inner| {
        (select(&["and", "or", "xone", "andSequence"][..]), proptest::collection::vec(inner, 1..4))
            .prop_map(|(logic, operands)| format!("[ odrl:{logic} ( {} ) ]", operands.join(" ")))
    })
}

/// `property name`, the name plain, doubled, refined, a collection, or something that cannot be read.
fn named(property: &'static str, names: &'static [&'static str]) -> impl Strategy<Value = String> {
    let name = select(names);
    let plain = name.clone().prop_map(move |name| format!("; odrl:{property} ex:{name} "));
    let two = (name.clone(), name.clone())
        .prop_map(move |(one, two)| format!("; odrl:{property} ex:{one}, ex:{two} "));
    let refined = (name, comparison()).prop_map(move |(name, refinement)| {
        format!("; odrl:{property} [ odrl:source ex:{name} ; odrl:refinement {refinement} ] ")
    });
    prop_oneof![4 => Just(String::new()), 4 => plain, 1 => two, 1 => refined, 1 => Just(format!("; odrl:{property} [] "))]
}

const ACTIONS: [&str; 15] = [
    "odrl:read",
    "odrl:read",
    "odrl:use",
    "odrl:use",
    "acl:Read",
    "odrl:write",
    "odrl:writeTo",
    "odrl:modify",
    "acl:Write",
    "acl:Append",
    "odrl:appendTo",
    "odrl:delete",
    "odrl:grantUse",
    "acl:Control",
    "odrl:read, odrl:grantUse",
];

/// The inside of a rule.
fn rule() -> impl Strategy<Value = String> {
    (
        select(&ACTIONS[..]),
        named("target", &["thing", "other", "collection"]),
        named("assignee", &["a", "b", "c", "agent", "team"]),
        proptest::collection::vec(constraint(), 0..3),
    )
        .prop_map(|(action, target, assignee, constraints)| {
            let constraints: String =
                constraints.iter().map(|one| format!("; odrl:constraint {one} ")).collect();
            format!("odrl:action {action} {target}{assignee}{constraints}")
        })
}

fn prohibition() -> impl Strategy<Value = String> {
    rule().prop_map(|rule| format!("odrl:prohibition [ {rule} ]"))
}

/// A permission to pass on to `delegate`, bounded in one of many ways.
fn passing_on(delegate: &'static str, child: String) -> impl Strategy<Value = String> {
    let depth = (select(&["lteq", "lteq", "lteq", "lteq", "lt", "lt", "eq", "gteq", "neq"][..]), select(&[0u32, 1, 2, 3, 4, 4, 4, 4][..]), 0..12).prop_map(|(operator, bound, form)| {
        let one = format!("[ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:{operator} ; odrl:rightOperand {bound} ]");
        match form {
            0 => String::new(),
            1 => format!("; odrl:constraint [ odrl:or ( {one} ) ]"),
            _ => format!("; odrl:constraint {one}"),
        }
    });
    let next = prop_oneof![
        9 => Just(String::new()),
        4 => Just(format!("; odrl:duty [ odrl:action odrl:nextPolicy ; odrl:target ex:{child} ]")),
        1 => Just("; odrl:duty [ odrl:action odrl:nextPolicy ; odrl:target ex:other ]".to_owned()),
    ];
    (depth, next, proptest::option::weighted(0.1, constraint())).prop_map(move |(depth, next, more)| {
        let more = more.map(|more| format!("; odrl:constraint {more}")).unwrap_or_default();
        format!("odrl:permission [ odrl:action odrl:grantUse ; odrl:assignee ex:{delegate} {depth} {next} {more} ]")
    })
}

fn hop(place: usize, length: usize) -> impl Strategy<Value = Hop> {
    let party = |place: usize| match place {
        0 => "owner",
        place if place == length => "agent",
        place => BETWEEN[place - 1],
    };
    let (assigner, assignee) = (party(place), party(place + 1));
    let common = prop_oneof![
        12 => Just("odrl:permission [ odrl:action odrl:read ]".to_owned()),
        2 => Just("odrl:permission [ odrl:action odrl:use ; odrl:target ex:thing , ex:other ]".to_owned()),
        1 => Just("odrl:permission [ odrl:action odrl:read ; odrl:target ex:collection ]".to_owned()),
        1 => Just("odrl:permission [ odrl:action odrl:delete ]".to_owned()),
    ];
    (
        common,
        proptest::collection::vec(rule().prop_map(|rule| format!("odrl:permission [ {rule} ]")), 0..3),
        prop_oneof![9 => Just(Vec::new()), 1 => proptest::collection::vec(prohibition(), 1..3)],
        prop_oneof![1 => Just(None), 19 => passing_on(assignee, format!("p{}", place + 1)).prop_map(Some)],
        select(
            &["", "", "odrl:conflict odrl:perm", "odrl:conflict odrl:prohibit", "odrl:conflict odrl:invalid"]
                [..],
        ),
        select(&["", "", "ex:thing odrl:partOf ex:collection ."][..]),
    )
        .prop_map(move |(common, permissions, prohibitions, passing_on, conflict, after)| {
            let passing_on = passing_on.filter(|_| place + 1 < length);
            let conflict = (!conflict.is_empty()).then(|| conflict.to_owned());
            let statements = [vec![common], permissions, prohibitions].concat();
            Hop {
                id: format!("p{place}"),
                assigner,
                assignee,
                parent: place.checked_sub(1).map(|parent| format!("p{parent}")),
                statements: statements.into_iter().chain(passing_on).chain(conflict).collect(),
                after,
            }
        })
}

fn chain() -> impl Strategy<Value = Vec<Hop>> {
    (1usize..=4)
        .prop_flat_map(|length| (0..length).map(|place| hop(place, length).boxed()).collect::<Vec<_>>())
}

fn ask() -> impl Strategy<Value = Ask> {
    let iris = || {
        let value = select(&["<https://x.example/r>", "<https://x.example/s>", "\"x\""][..]);
        proptest::collection::vec(value, 0..3)
    };
    let action = select(
        &[
            "read", "read", "read", "read", "read", "read", "read", "read", "use", "write", "append",
            "delete", "grantUse", "control",
        ][..],
    );
    let facts = select(
        &[
            "",
            "ex:thing odrl:partOf ex:collection . ex:a odrl:partOf ex:team . ex:r a ex:s .",
            "ex:other odrl:partOf ex:collection . ex:r odrl:partOf ex:s .",
        ][..],
    );
    (iris(), iris(), action, facts, 0u64..12).prop_map(|(purpose, spatial, action, facts, count)| {
        let number = "\"5\"^^<http://www.w3.org/2001/XMLSchema#integer>";
        let mut ask = Ask::new()
            .action(action)
            .with("purpose", &purpose)
            .with("spatial", &spatial)
            .with("level", &[number]);
        let counts = (0..4).flat_map(|place| {
            ["owner", "a", "b", "c"]
                .map(|assigner| (format!("https://x.example/p{place} https://x.example/{assigner}"), count))
        });
        ask.counts = CountSource::Ledger { counts: std::sync::Arc::new(counts.collect()), earlier: 0 };
        if facts.is_empty() { ask } else { ask.fact(facts) }
    })
}

fn policies(hops: &[Hop]) -> Vec<Policy> {
    hops.iter().map(Hop::policy).collect()
}

fn permits(hops: &[Hop], ask: &Ask) -> bool {
    ask.permitted(&policies(hops))
}

/// Whether one policy, on its own and under nobody, permits the request to its own delegate.
fn alone(hops: &[Hop], place: usize, ask: &Ask) -> bool {
    let policy = Hop { parent: None, ..hops[place].clone() }.policy();
    let mut ask = ask.clone();
    ask.agent = match hops[place].assignee {
        "a" => "https://x.example/a",
        "b" => "https://x.example/b",
        "c" => "https://x.example/c",
        _ => "https://x.example/agent",
    };
    let request = ask.request();
    let chain = Chain { policies: &[&policy], request: &request, root_is_owner: place == 0 };
    chain.evaluate(&BTreeSet::new(), 8).is_ok()
}

/// What is promised below is worth nothing if hardly any chain permits.
#[test]
fn enough_of_the_generated_chains_permit() {
    let mut runner = TestRunner::deterministic();
    let mut permitted = [0; 4];
    for _ in 0..1500 {
        let (hops, ask) = (chain(), ask()).new_tree(&mut runner).unwrap().current();
        if permits(&hops, &ask) {
            permitted[hops.len() - 1] += 1;
        }
    }
    assert!(permitted.iter().all(|found| *found >= 5), "{permitted:?}");
}

/// One occurrence of `from` in the text, by number, replaced by `to`.
fn replaced(text: &str, from: &str, to: &str, number: usize) -> Option<String> {
    let places: Vec<usize> = text.match_indices(from).map(|(place, _)| place).collect();
    let place = *places.get(number.checked_rem(places.len())?)?;
    Some(format!("{}{to}{}", &text[..place], &text[place + from.len()..]))
}

proptest! {
    /// A delegated chain never permits what its root, or any other policy on the way, does not permit its own delegate.
    #[test]
    fn a_chain_never_permits_what_a_policy_above_does_not(hops in chain(), ask in ask()) {
        if permits(&hops, &ask) {
            for place in 0..hops.len() {
                prop_assert!(alone(&hops, place, &ask), "{} of {}", place, hops.len());
            }
        }
    }

    #[test]
    fn a_further_prohibition_at_any_hop_never_permits(hops in chain(), ask in ask(), more in prohibition(), at in 0usize..4) {
        let mut stricter = hops.clone();
        let at = at % hops.len();
        stricter[at].statements.push(more);
        prop_assert!(permits(&hops, &ask) || !permits(&stricter, &ask));
    }

    /// Whatever word a permission is exercised by, the same word prohibits it, to everybody or to any one agent.
    #[test]
    fn a_prohibition_of_what_is_asked_refuses_at_any_hop(hops in chain(), ask in ask(), at in 0usize..4, to in 0usize..3) {
        let at = at % hops.len();
        let delegate = hops[at].assignee;
        let assignee = [String::new(), "; odrl:assignee ex:agent".to_owned(), format!("; odrl:assignee ex:{delegate}")][to].clone();
        let mut prohibited = hops.clone();
        prohibited[at].statements.retain(|statement| !statement.contains("odrl:conflict"));
        prohibited[at].statements.push(format!("odrl:prohibition [ odrl:action <{}> {assignee} ]", ask.action));
        prop_assert!(!permits(&prohibited, &ask));
    }

    /// A constraint that says more, compares otherwise, or looks at something else, becomes unknown and permits nothing.
    #[test]
    fn a_corrupted_constraint_at_any_hop_never_permits(hops in chain(), ask in ask(), at in 0usize..4, number in 0usize..16, how in 0usize..4) {
        let (from, to) = [
            ("odrl:rightOperand ", "ex:unknown 1 ; odrl:rightOperand "),
            ("odrl:operator odrl:", "odrl:operator ex:"),
            ("odrl:leftOperand ", "odrl:leftOperand ex:nothing , "),
            ("odrl:rightOperand ", "odrl:rightOperandReference "),
        ][how];
        let mut texts: Vec<String> = hops.iter().map(Hop::text).collect();
        let at = at % hops.len();
        if let Some(corrupted) = replaced(&texts[at], from, to, number) {
            texts[at] = corrupted;
            let corrupted: Vec<Policy> = texts.iter().map(|text| policy(text)).collect();
            prop_assert!(permits(&hops, &ask) || !ask.permitted(&corrupted));
        }
    }

    #[test]
    fn an_attribute_removed_or_corrupted_never_permits(hops in chain(), ask in ask()) {
        let (policies, before) = (policies(&hops), permits(&hops, &ask));
        for name in ["purpose", "spatial", "level"] {
            let without = evaluate_chain(&policies, &ask.request().without(name), &BTreeSet::new(), 8);
            prop_assert!(before || !matches!(without, ChainVerdict::Permit(_)), "{} removed", name);
            let corrupt = ask.clone().with(name, &["_:nothing"]);
            prop_assert!(before || !corrupt.permitted(&policies), "{} corrupted", name);
        }
        let mut uncounted = ask.clone();
        uncounted.counts = CountSource::Attributes;
        prop_assert!(before || !uncounted.permitted(&policies), "no count");
    }

    /// Revoking, or leaving out what holds a chain together, permits nothing.
    #[test]
    fn a_chain_with_a_gap_or_a_revoked_policy_never_permits(hops in chain(), ask in ask(), at in 0usize..4) {
        let at = at % hops.len();
        let revoked = BTreeSet::from([format!("https://x.example/p{at}")]);
        let verdict = evaluate_chain(&policies(&hops), &ask.request(), &revoked, 8);
        prop_assert!(!matches!(verdict, ChainVerdict::Permit(_)));
        if hops.len() > 1 {
            let mut gap = hops.clone();
            gap.remove(at);
            // Without its end, the chain is for another delegate. Without its beginning, it is nobody's.
            prop_assert!(at + 1 == hops.len() && gap.len() == 1 || !permits(&gap, &ask));
            let mut turned = hops.clone();
            turned.reverse();
            prop_assert!(!permits(&turned, &ask));
            let mut twice = hops.clone();
            twice.insert(at, hops[at].clone());
            prop_assert!(!permits(&twice, &ask));
        }
    }

    /// Neither the order of triples nor blank labels show, in the verdict or in what it says.
    #[test]
    fn the_order_of_triples_in_a_chain_changes_nothing(hops in chain(), ask in ask(), seed in any::<u64>()) {
        let shuffled: Vec<Policy> = hops.iter().map(|hop| {
            let graph = graph(&hop.text());
            let mut triples: Vec<_> = graph.iter().map(oxrdf::TripleRef::into_owned).collect();
            let mut state = seed | 1;
            for at in (1..triples.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                triples.swap(at, (state >> 33) as usize % (at + 1));
            }
            Policy::read(&triples.into_iter().collect(), &Limits::default()).unwrap()
        }).collect();
        prop_assert_eq!(ask.of(&policies(&hops)), ask.of(&shuffled));
    }
}
