//! The estimate against the run: on no shapes and no data may a run cost more than was estimated.

use super::super::compiled::CompiledShapes;
use super::Size;
use crate::limits::Limits;
use crate::rdf::{RdfMediaType, parse_graph};
use crate::shape::tests::Numbers;
use oxrdf::{Graph, NamedNode, NamedOrBlankNode, TermRef};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

const PREFIXES: &str = "@prefix sh: <http://www.w3.org/ns/shacl#>. @prefix ex: <https://example.org/>.
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>. @prefix xsd: <http://www.w3.org/2001/XMLSchema#>. ";

fn path(numbers: &mut Numbers) -> &'static str {
    numbers.one(&[
        "ex:p",
        "ex:p",
        "ex:q",
        "[ sh:inversePath ex:p ]",
        "(ex:p ex:q)",
        "(ex:p [ sh:inversePath ex:p ])",
        "[ sh:alternativePath (ex:p ex:q [ sh:inversePath ex:q ]) ]",
        "[ sh:zeroOrMorePath ex:p ]",
        "[ sh:oneOrMorePath [ sh:alternativePath (ex:p [ sh:inversePath ex:q ]) ] ]",
        "[ sh:zeroOrOnePath ex:q ]",
        "([ sh:zeroOrMorePath ex:p ] [ sh:zeroOrMorePath ex:q ])",
    ])
}

/// A constraint of shape number `of`, which refers to later shapes only.
fn constraint(numbers: &mut Numbers, of: usize, shapes: usize, has_path: bool) -> String {
    let mut later = || format!("ex:N{}", of + 1 + numbers.below(shapes - of));
    let (a, b, c) = (later(), later(), later());
    match numbers.below(if has_path { 24 } else { 18 }) {
        0 => format!("sh:node {a}"),
        1 => format!("sh:node {a}, {b}"),
        2 => format!("sh:and ({a} {b})"),
        3 => format!("sh:or ({a} {b} {c})"),
        4 => format!("sh:xone ({a} {b} {a})"),
        5 => format!("sh:not {a}"),
        6 => "sh:class ex:C".into(),
        7 => "sh:nodeKind sh:IRI".into(),
        8 => "sh:in (ex:a ex:b 1 \"a long constant, longer than its step would be\")".into(),
        9 => "sh:pattern \"^(a|aa)+$\"".into(),
        10 => "sh:minLength 3; sh:message \"a message of more than sixty-four octets, which each result copies\"@en".into(),
        11 => "sh:languageIn (\"en\" \"de\")".into(),
        12 => "sh:equals ex:q".into(),
        13 => "sh:disjoint ex:p".into(),
        14 => "sh:hasValue ex:a".into(),
        15 => "sh:datatype xsd:integer".into(),
        16 => format!("sh:property ex:P{}", of + 1),
        17 if !has_path => "sh:closed true; sh:ignoredProperties (ex:a ex:b)".into(),
        17 => "sh:maxInclusive 1".into(),
        18 => "sh:lessThan ex:q".into(),
        19 => "sh:lessThanOrEquals ex:p".into(),
        20 => "sh:uniqueLang true; sh:minCount 2".into(),
        21 => "sh:maxCount 0".into(),
        _ => format!("sh:qualifiedValueShape {a}; sh:qualifiedMinCount 1; sh:qualifiedMaxCount 1"),
    }
}

/// Node shapes `ex:N0` to `ex:N6` and a property shape beside each of them.
fn shapes(numbers: &mut Numbers) -> String {
    const SHAPES: usize = 6;
    let mut text = format!("ex:N{SHAPES} a sh:NodeShape; sh:nodeKind sh:Literal.\n");
    let _ = writeln!(text, "ex:P{SHAPES} sh:path ex:p; sh:minCount 1.");
    let long_target = format!("sh:targetNode \"{}\";", "x".repeat(700));
    for shape in 0..SHAPES {
        let target = numbers.one(&[
            "",
            "",
            "",
            "sh:targetObjectsOf ex:p;",
            "sh:targetClass ex:C;",
            "sh:targetNode ex:z, 1;",
            &long_target,
        ]);
        let path = path(numbers);
        let (one, other) =
            (constraint(numbers, shape, SHAPES, false), constraint(numbers, shape, SHAPES, false));
        let _ = writeln!(text, "ex:N{shape} a sh:NodeShape; {target} {one}. ex:N{shape} {other}.");
        let (one, other) =
            (constraint(numbers, shape, SHAPES, true), constraint(numbers, shape, SHAPES, true));
        let _ = writeln!(text, "ex:P{shape} sh:path {path}; {one}. ex:P{shape} {other}.");
        let _ = writeln!(text, "ex:N{shape} sh:property ex:P{shape}, ex:P{}.", shape + 1);
    }
    text
}

fn data(numbers: &mut Numbers) -> String {
    // In some of the data there are terms that copies are charged for.
    let long = "x".repeat([8, 2_000, 9_000][numbers.below(3)]);
    let mut text = format!("@prefix l: <urn:{long}>. ex:i ex:p ex:a. ");
    for _ in 0..numbers.below(24) {
        let subject = numbers.one(&["ex:i", "ex:i", "ex:a", "ex:b", "ex:c", "_:d", "l:a"]);
        let predicate = numbers.one(&["ex:p", "ex:p", "ex:q", "a"]);
        let object = numbers.one(&[
            "ex:i",
            "ex:a",
            "ex:b",
            "ex:c",
            "_:d",
            "l:a",
            "l:b",
            "ex:C",
            "1",
            "2",
            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
            "\"x\"@en",
            "\"y\"@en",
            "\"2020-01-01\"^^xsd:date",
        ]);
        let _ = writeln!(text, "{subject} {predicate} {object}.");
    }
    text
}

fn read(text: &str) -> Graph {
    parse_graph(&format!("{PREFIXES}{text}"), RdfMediaType::Turtle, &Limits::default()).expect("Turtle")
}

fn size_of(data: &Graph) -> Size {
    let (mut subjects, mut objects) = (HashMap::new(), HashMap::new());
    let (mut resources, mut literals, mut term_octets) = (HashSet::new(), HashSet::new(), 0);
    for triple in data {
        *subjects.entry(triple.subject).or_insert(0) += 1;
        *objects.entry(triple.object).or_insert(0) += 1;
        resources.insert(TermRef::from(triple.subject));
        let set = if triple.object.is_literal() { &mut literals } else { &mut resources };
        set.insert(triple.object);
        term_octets = term_octets.max(triple.object.to_string().len()).max(triple.subject.to_string().len());
    }
    let fan = subjects.values().chain(objects.values()).max().copied().unwrap_or_default();
    Size { triples: data.len(), resources: resources.len(), literals: literals.len(), fan, term_octets }
}

fn focus() -> NamedOrBlankNode {
    NamedNode::new_unchecked("https://example.org/i").into()
}

fn root() -> [NamedOrBlankNode; 1] {
    [NamedNode::new_unchecked("https://example.org/N0").into()]
}

#[test]
fn a_run_never_costs_more_than_the_estimate() {
    let limits = Limits { validation_steps: 20_000_000, ..Limits::default() };
    let mut numbers = Numbers(0x5eed_cafe);
    let (mut runs, mut tightest) = (0, f64::MAX);
    for _ in 0..300 {
        let text = shapes(&mut numbers);
        // Two of one parameter are refused, and shapes may lead back to themselves through properties.
        let Ok(compiled) = CompiledShapes::compile(&read(&text), &root()) else { continue };
        for _ in 0..6 {
            let graph = data(&mut numbers);
            let graph = read(&graph);
            let (judged, steps) = compiled.measure_focus(&graph, &focus(), &limits);
            let estimate = compiled.steps_at_most(size_of(&graph));
            assert!(steps <= estimate, "{steps} steps, {estimate} estimated, {judged:?}\n{text}\n{graph}");
            runs += 1;
            tightest = tightest.min(estimate as f64 / steps as f64);
        }
    }
    println!("{runs} runs; the tightest estimate was {tightest:.2} times the run");
    assert!(runs > 300, "{runs}");
}

#[test]
fn the_estimate_grows_with_the_size() {
    let mut numbers = Numbers(0xbeef);
    for _ in 0..60 {
        let Ok(compiled) = CompiledShapes::compile(&read(&shapes(&mut numbers)), &root()) else { continue };
        let small = Size { triples: 20, resources: 10, literals: 10, fan: 5, term_octets: 100 };
        let estimate = compiled.steps_at_most(small);
        for larger in [
            Size { triples: 40, ..small },
            Size { resources: 20, ..small },
            Size { literals: 20, ..small },
            Size { fan: 10, ..small },
            Size { term_octets: 1_000, ..small },
        ] {
            assert!(compiled.steps_at_most(larger) >= estimate);
        }
    }
}

#[test]
fn results_cost_a_step_at_each_level_that_they_rise_to() {
    // A chain with so many levels, whose last node has 500 values.
    let data = |levels: usize| {
        let chain: String = (0..levels).map(|n| format!("ex:c{n} ex:p ex:c{}. ", n + 1)).collect();
        let values: String = (0..500).map(|n| format!("ex:c{levels} ex:q {n}. ")).collect();
        read(&format!("ex:i ex:p ex:c0. {chain} {values}"))
    };
    let steps = |levels: usize| {
        let nested = (0..=levels)
            .fold("sh:property [ sh:path ex:q; sh:nodeKind sh:IRI ]".to_owned(), |inner, _| {
                format!("sh:property [ sh:path ex:p; {inner} ]")
            });
        let shapes = read(&format!("ex:N0 a sh:NodeShape; {nested}."));
        let limits = Limits { validation_steps: 20_000_000, ..Limits::default() };
        let compiled = CompiledShapes::compile(&shapes, &root()).expect("the shapes compile");
        compiled.measure_focus(&data(levels), &focus(), &limits).1
    };
    let (one, two, three) = (steps(1), steps(2), steps(3));
    // Each level costs a look at 500 triples that a node may have, and 500 results.
    assert!(two >= one + 1_000 && three >= two + 1_000, "{one} {two} {three}");
}

/// The steps of judging `ex:i` of some data.
fn steps_of(shapes: &str, data: &str) -> usize {
    let limits = Limits { validation_steps: 20_000_000, ..Limits::default() };
    let compiled = CompiledShapes::compile(&read(shapes), &root()).expect("the shapes compile");
    compiled.measure_focus(&read(data), &focus(), &limits).1
}

#[test]
fn an_outcome_that_is_used_again_costs_its_results_and_their_details() {
    // `ex:A` fails with one result, which has 500 details; each member of the list copies both.
    let steps = |members: usize| {
        let failing = "ex:A ".repeat(members);
        let shapes = format!(
            "ex:N0 a sh:NodeShape; sh:or ({failing} ex:T). ex:T a sh:NodeShape; sh:property [ sh:path ex:n; sh:maxCount 1 ].
             ex:A a sh:NodeShape; sh:node ex:B. ex:B a sh:NodeShape; sh:property [ sh:path ex:q; sh:nodeKind sh:IRI ]."
        );
        let values: String = (0..500).map(|n| format!("ex:i ex:q {n}. ")).collect();
        steps_of(&shapes, &values)
    };
    let (one, two, ten) = (steps(1), steps(2), steps(10));
    assert!(two >= one + 500 && ten >= one + 9 * 500, "{one} {two} {ten}");
}

#[test]
fn a_long_term_costs_at_each_place_that_a_copy_is_held() {
    let shapes = "ex:N0 a sh:NodeShape; sh:property [ sh:path ex:p; sh:node ex:T; sh:nodeKind sh:Literal ].
                  ex:T a sh:NodeShape; sh:nodeKind sh:IRI.";
    let steps = |octets: usize, values: usize| {
        let long = "x".repeat(octets);
        let values: String = (0..values).map(|n| format!("ex:i ex:p l:{n}. ")).collect();
        steps_of(shapes, &format!("@prefix l: <urn:{long}>. {values}"))
    };
    assert_eq!(steps(10, 20), steps(250, 20), "an ordinary term costs its step");
    // As a value of the path, of two constraints and of `ex:T`; looked up; remembered; and in a result.
    let (short, long) = (steps(10, 20), steps(10_000, 20));
    assert!(long >= short + 20 * 39 * 6, "{short} {long}");
}
