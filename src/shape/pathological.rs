//! Shapes that are known to be dear somewhere: each is refused by the review, or ends within its budget.
//!
//! The table of `docs/performance.md` is printed by
//! `cargo test --release --lib pathological_shapes_are_refused_or_bounded -- --nocapture`.

use super::compiled::{CompiledShapes, ShapeError};
use super::cost::Size;
use super::syntax::ShapesGraph;
use crate::limits::Limits;
use oxrdf::{Graph, NamedNode, NamedOrBlankNode};
use oxttl::TurtleParser;
use std::fmt::Write as _;
use std::time::Instant;

const PREFIXES: &str = "@prefix sh: <http://www.w3.org/ns/shacl#>. @prefix ex: <https://example.org/>.
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>. @prefix xsd: <http://www.w3.org/2001/XMLSchema#>. ";

/// The reference intent of the review.
const REFERENCE: Size = Size { triples: 32, resources: 16, literals: 16, fan: 8, term_octets: 256 };

/// What must become of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The shapes are not read: too large, too deep, without an end.
    Unreadable,
    /// The estimate refuses them.
    TooDear,
    /// They are accepted, and the data exceeds the budget.
    Exceeds,
    /// They are accepted, and the data is judged within the budget.
    Ends,
}

struct Case {
    name: &'static str,
    shapes: String,
    data: String,
    fate: Fate,
}

fn case(name: &'static str, fate: Fate, shapes: impl Into<String>, data: impl Into<String>) -> Case {
    Case { name, shapes: shapes.into(), data: data.into(), fate }
}

fn repeat(count: usize, of: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut all, number| {
        let _ = write!(all, "{} ", of(number));
        all
    })
}

/// `ex:i` has so many different integers.
fn integers(count: usize) -> String {
    format!("ex:i ex:p {}.", repeat(count, |n| format!("{n},")).trim_end_matches([' ', ',']))
}

/// A property shape on `ex:p`.
fn on_p(constraint: &str) -> String {
    format!("ex:S a sh:NodeShape; sh:property [ sh:path ex:p; {constraint} ].")
}

/// `ex:N0` leads to `ex:N1` in this way, and so on, to a last shape.
fn chain(levels: usize, step: impl Fn(&str) -> String) -> String {
    let steps = repeat(levels, |n| format!("ex:N{n} a sh:NodeShape; {}.", step(&format!("ex:N{}", n + 1))));
    format!("{steps} ex:N{levels} a sh:NodeShape; sh:nodeKind sh:IRI.")
}

/// Every node of so many has `ex:p` to each.
fn clique(nodes: usize) -> String {
    let all = repeat(nodes, |from| repeat(nodes, |to| format!("ex:n{from} ex:p ex:n{to}.")));
    format!("ex:i ex:p ex:n0. {all}")
}

fn nests() -> Vec<Case> {
    let root = "ex:S a sh:NodeShape; sh:node ex:N0.";
    let doubled = |kind: &'static str| chain(28, move |next| format!("sh:{kind} ({next} {next})"));
    let below = "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:node ex:N0 ].";
    vec![
        case(
            "`sh:node`, 32 deep",
            Fate::Ends,
            format!("{root} {}", chain(30, |next| format!("sh:node {next}"))),
            integers(1),
        ),
        case(
            "`sh:node`, 33 deep",
            Fate::Unreadable,
            format!("{root} {}", chain(31, |next| format!("sh:node {next}"))),
            integers(1),
        ),
        case(
            "`sh:node`, 250 deep",
            Fate::Unreadable,
            format!("{root} {}", chain(250, |next| format!("sh:node {next}"))),
            integers(1),
        ),
        case(
            "`sh:and` of the same two, 28 deep, of the intent",
            Fate::Ends,
            format!("{root} {}", doubled("and")),
            integers(1),
        ),
        case(
            "`sh:and` of the same two, 28 deep, of values",
            Fate::TooDear,
            format!("{below} {}", doubled("and")),
            integers(1),
        ),
        case(
            "`sh:or` of the same two, 28 deep, of values",
            Fate::TooDear,
            format!("{below} {}", doubled("or")),
            integers(1),
        ),
        case(
            "`sh:xone` of the same two, 28 deep, of values",
            Fate::TooDear,
            format!("{below} {}", doubled("xone")),
            integers(1),
        ),
        case(
            "two `sh:property` to the same, 14 deep",
            Fate::TooDear,
            format!(
                "{root} {}",
                chain(14, |next| {
                    format!("sh:property [ sh:path ex:p; sh:node {next} ], [ sh:path ex:p; sh:node {next} ]")
                })
            ),
            "ex:i ex:p ex:i, 1.",
        ),
        case(
            "`sh:property` of `sh:property`, 9 deep, violated",
            Fate::TooDear,
            format!(
                "{root} {}",
                chain(9, |next| format!(
                    "sh:property [ sh:path ex:p; sh:minCount 50; sh:property [ sh:path ex:q; sh:node {next} ] ]"
                ))
            ),
            "ex:i ex:p ex:i; ex:q ex:i, 1.",
        ),
        case(
            "`sh:property` of itself over one loop, 10 deep, violated",
            Fate::TooDear,
            "ex:S a sh:NodeShape; sh:property ex:P0. ".to_owned()
                + &repeat(10, |n| format!("ex:P{n} sh:path ex:p; sh:property ex:P{}.", n + 1))
                + "ex:P10 sh:path ex:q; sh:maxCount 1.",
            format!(
                "ex:i ex:p ex:i; ex:q {}.",
                repeat(500, |n| format!("{n},")).trim_end_matches([' ', ','])
            ),
        ),
    ]
}

fn lists_and_paths() -> Vec<Case> {
    let alternatives = |count| {
        format!("sh:path [ sh:alternativePath ({}) ]; sh:minCount 1", repeat(count, |n| format!("ex:p{n}")))
    };
    let with_path = |path: String| format!("ex:S a sh:NodeShape; sh:property [ {path} ].");
    vec![
        case("`sh:in` of 100,000", Fate::Unreadable, on_p(&format!("sh:in ({})", repeat(100_000, |n| n.to_string()))), integers(1)),
        case("`sh:in` of 1,000, 10 values", Fate::Ends, on_p(&format!("sh:in ({})", repeat(1_000, |n| format!("ex:c{n}")))), integers(10)),
        case(
            "`sh:in` of 200 of 1,000 octets, 20 values",
            Fate::Exceeds,
            on_p(&format!("sh:in ({})", repeat(200, |n| format!("\"{n}{}\"", "x".repeat(990))))),
            integers(20),
        ),
        case("`sh:languageIn` of 1,000, 40 values", Fate::Ends, on_p(&format!("sh:languageIn ({})", repeat(1_000, |n| format!("\"en-x-{n}\"")))), repeat(40, |n| format!("ex:i ex:p \"{n}\"@en."))),
        case("33 alternative paths", Fate::Unreadable, with_path(alternatives(33)), integers(1)),
        case("31 alternative paths, 500 values", Fate::Ends, with_path(alternatives(31)), integers(500).replace("ex:p", "ex:p0")),
        case("`sh:zeroOrMorePath` over a complete graph of 60", Fate::Ends, with_path("sh:path [ sh:zeroOrMorePath ex:p ]; sh:nodeKind sh:IRI".into()), clique(60)),
        case(
            "three closures in sequence over a complete graph of 60",
            Fate::Exceeds,
            with_path("sh:path ([ sh:zeroOrMorePath ex:p ] [ sh:zeroOrMorePath ex:p ] [ sh:zeroOrMorePath ex:p ]); sh:nodeKind sh:IRI".into()),
            clique(60),
        ),
        case(
            "closures in closures, seven deep",
            Fate::TooDear,
            with_path("sh:path [ sh:zeroOrMorePath [ sh:oneOrMorePath [ sh:zeroOrMorePath [ sh:oneOrMorePath [ sh:zeroOrMorePath [ sh:oneOrMorePath [ sh:zeroOrMorePath ex:p ] ] ] ] ] ] ]; sh:nodeKind sh:IRI".into()),
            clique(10),
        ),
        case(
            "60 disjoint qualified siblings",
            Fate::TooDear,
            format!("ex:S a sh:NodeShape. {}", repeat(60, |n| format!("ex:S sh:property [ sh:path ex:p; sh:qualifiedValueShape [ sh:class ex:C{n} ]; sh:qualifiedMinCount 1; sh:qualifiedValueShapesDisjoint true ]."))),
            integers(30),
        ),
        case(
            "8 disjoint qualified siblings, 100 values",
            Fate::Ends,
            format!("ex:S a sh:NodeShape. {}", repeat(8, |n| format!("ex:S sh:property [ sh:path ex:p; sh:qualifiedValueShape [ sh:minInclusive {n} ]; sh:qualifiedMinCount 1; sh:qualifiedValueShapesDisjoint true ]."))),
            integers(100),
        ),
    ]
}

/// 16 KB without a period.
fn random() -> String {
    let mut state = 0x5eed_u64;
    let text: String = (0..16_000)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state & 1 == 0 { 'a' } else { 'b' }
        })
        .collect();
    format!("ex:i ex:p \"{text}\".")
}

fn patterns() -> Vec<Case> {
    let long = |text: &str| format!("ex:i ex:p \"{}!\".", text.repeat(16_000 / text.len()));
    let pattern = |pattern: &str| on_p(&format!("sh:pattern \"{pattern}\""));
    vec![
        case("`(a+)+$`, 16 KB", Fate::Ends, pattern("(a+)+$"), long("a")),
        case("`(a|aa)+$`, 16 KB", Fate::Ends, pattern("(a|aa)+$"), long("a")),
        case("`(.*)*x`, 16 KB", Fate::Ends, pattern("(.*)*x"), long("a")),
        case(
            "`^(([a-z])+.)+[A-Z]([a-z])+$`, 16 KB",
            Fate::Ends,
            pattern("^(([a-z])+.)+[A-Z]([a-z])+$"),
            long("a"),
        ),
        case("`(.*a){20}$`, 16 KB", Fate::Ends, pattern("(.*a){20}$"), long("a")),
        case("`a.{90}$`, 16 KB", Fate::Ends, pattern("a.{90}$"), long("ab")),
        case("`[ab]*a[ab]{90}c`, 16 KB", Fate::Ends, pattern("[ab]*a[ab]{90}c"), long("abaabbab")),
        case(
            "`\\w*a\\w{12}c`, 16 KB",
            Fate::Ends,
            pattern("\\\\w*a\\\\w{12}c"),
            long("a\u{e9}\u{e9}aa\u{5d0}a"),
        ),
        case(
            "`(\\w|\\d)*a(\\w|\\p{L}){6}x`, 16 KB",
            Fate::Ends,
            pattern("(\\\\w|\\\\d)*a(\\\\w|\\\\p{L}){6}x"),
            long("a\u{e9}\u{e9}aa\u{5d0}a"),
        ),
        case(
            "`(.*a.*b){9}.{9}x`, 16 KB",
            Fate::Ends,
            pattern("(.*a.*b){9}.{9}x"),
            long("a\u{e9}\u{e9}aab\u{5d0}ab"),
        ),
        case(
            "twelve Unicode classes, 16 KB",
            Fate::Ends,
            pattern(&format!("({})*x", "\\\\w\\\\d?".repeat(6))),
            long("é"),
        ),
        case("`[ab]*a[ab]{90}[c-z]`, random 16 KB", Fate::Ends, pattern("[ab]*a[ab]{90}[c-z]"), random()),
        case(
            "`(a?b?a?b?...){60}[c-z]`, random 16 KB",
            Fate::Exceeds,
            pattern(&format!("({}){{60}}[c-z]", "a?b?".repeat(15))),
            random(),
        ),
        case(
            "`a?b?a?b?...[c-z]`, random 16 KB",
            Fate::Ends,
            pattern(&format!("{}[c-z]", "a?b?".repeat(60))),
            random(),
        ),
        case(
            "a Unicode class 90 times, 16 KB",
            Fate::Unreadable,
            pattern("(\\\\w|\\\\d|\\\\p{L}){90}x"),
            long("é"),
        ),
        case("`a{1000}{1000}`", Fate::Unreadable, pattern("a{1000}{1000}"), long("a")),
        case("back reference `(a)\\1`", Fate::Unreadable, pattern("(a)\\\\1"), long("a")),
        case("look-ahead `(?=a)a`", Fate::Unreadable, pattern("(?=a)a"), long("a")),
    ]
}

fn kinds() -> Vec<Case> {
    let both = |count: usize| format!("{} {}", integers(count), integers(count).replace("ex:p", "ex:q"));
    let texts = |count: usize| repeat(count, |n| format!("ex:i ex:p \"{n}\"@en."));
    let nodes = |count: usize| repeat(count, |n| format!("ex:i ex:p ex:v{n}. ex:v{n} ex:q {n}."));
    let long = "x".repeat(1_000);
    vec![
        case("`sh:nodeKind`, 1,900 values", Fate::Ends, on_p("sh:nodeKind sh:Literal"), integers(1_900)),
        case(
            "`sh:nodeKind`, 1,900 values, violated",
            Fate::Ends,
            on_p("sh:nodeKind sh:IRI"),
            integers(1_900),
        ),
        case("`sh:datatype`, 1,900 values", Fate::Ends, on_p("sh:datatype xsd:integer"), integers(1_900)),
        case("`sh:minInclusive`, 1,900 values", Fate::Ends, on_p("sh:minInclusive 5"), integers(1_900)),
        case("`sh:minLength`, 1,900 values, violated", Fate::Ends, on_p("sh:minLength 10"), integers(1_900)),
        case(
            "a message of 1,000 octets, 1,900 results",
            Fate::Exceeds,
            on_p(&format!("sh:minLength 10; sh:message \"{long}\"")),
            integers(1_900),
        ),
        case(
            "four constraints with such a message",
            Fate::Exceeds,
            on_p(&format!(
                "sh:minLength 10; sh:maxLength 0; sh:nodeKind sh:IRI; sh:datatype xsd:date; sh:message \"{long}\""
            )),
            integers(1_900),
        ),
        case("`sh:uniqueLang`, 1,900 values", Fate::Ends, on_p("sh:uniqueLang true"), texts(1_900)),
        case("`sh:equals`, 1,900 and 1,900 values", Fate::Exceeds, on_p("sh:equals ex:q"), both(1_900)),
        case("`sh:equals`, 150 and 150 values", Fate::Ends, on_p("sh:equals ex:q"), both(150)),
        case("`sh:disjoint`, 1,900 and 1,900 values", Fate::Exceeds, on_p("sh:disjoint ex:q"), both(1_900)),
        case("`sh:disjoint`, 150 and 150 values", Fate::Ends, on_p("sh:disjoint ex:q"), both(150)),
        case("`sh:lessThan`, 1,900 and 1,900 values", Fate::Exceeds, on_p("sh:lessThan ex:q"), both(1_900)),
        case("`sh:lessThan`, 80 and 80 values", Fate::Ends, on_p("sh:lessThan ex:q"), both(80)),
        case(
            "`sh:class` under 1,000 classes, 15 values",
            Fate::Ends,
            on_p("sh:class ex:C1000"),
            repeat(15, |n| format!("ex:i ex:p ex:v{n}. ex:v{n} a ex:C0."))
                + &repeat(1_000, |n| format!("ex:C{n} rdfs:subClassOf ex:C{}.", n + 1)),
        ),
        case(
            "`sh:closed` with 900 exceptions, 30 nodes",
            Fate::Exceeds,
            on_p(&format!(
                "sh:node [ sh:closed true; sh:ignoredProperties ({}) ]",
                repeat(900, |n| format!("ex:r{n}"))
            )),
            nodes(30),
        ),
        case(
            "`sh:or` that fails, 60 values",
            Fate::Ends,
            on_p(&format!("sh:or ({})", repeat(20, |n| format!("[ sh:hasValue {n} ; sh:nodeKind sh:IRI ]")))),
            integers(60).replace(" 0,", "").replace(" 1,", ""),
        ),
        case(
            "`sh:xone`, 60 values",
            Fate::Ends,
            on_p(&format!("sh:xone ({})", repeat(20, |n| format!("[ sh:in ({n} 999) ]")))),
            integers(60),
        ),
        case("`sh:not`, 1,900 values", Fate::Ends, on_p("sh:not [ sh:nodeKind sh:IRI ]"), integers(1_900)),
        case(
            "`sh:node` with details, 60 nodes",
            Fate::Ends,
            on_p("sh:node [ sh:property [ sh:path ex:q; sh:minLength 10 ] ]"),
            nodes(60),
        ),
        case("`sh:hasValue`, 1,900 values", Fate::Ends, on_p("sh:hasValue 5"), integers(1_900)),
        case(
            "200 properties of the intent",
            Fate::Ends,
            format!(
                "ex:S a sh:NodeShape. {}",
                repeat(200, |n| format!("ex:S sh:property [ sh:path ex:p; sh:maxCount {} ].", n + 200))
            ),
            integers(100),
        ),
    ]
}

fn read(text: &str) -> Graph {
    let text = format!("{PREFIXES}{text}");
    TurtleParser::new().for_slice(&text).collect::<Result<_, _>>().expect("the case is Turtle")
}

fn node(local: &str) -> NamedOrBlankNode {
    NamedNode::new_unchecked(format!("https://example.org/{local}")).into()
}

/// The fate of a case, its row, and the nanoseconds of a step where it ran.
fn run(case: &Case) -> (Fate, String, Option<f64>) {
    let limits = Limits::default();
    let shapes = read(&case.shapes);
    let begun = Instant::now();
    let compiled = CompiledShapes::compile(&shapes, &[node("S")]);
    let millis = begun.elapsed().as_secs_f64() * 1e3;
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => {
            let kind = ShapesGraph::survey(&shapes).faults.first().map(|fault| format!("{:?}", fault.kind()));
            let why = kind.unwrap_or_else(|| error.to_string());
            return (Fate::Unreadable, format!("| {} | refused: {why} | | {millis:.1} | |", case.name), None);
        }
    };
    let estimate = compiled.steps_at_most(REFERENCE);
    let dear = estimate > limits.validation_steps;
    let data = read(&case.data);
    // The least of several runs: what else the machine does is no cost of the shapes.
    let mut nanos = f64::MAX;
    let mut outcome = None;
    for _ in 0..5 {
        let begun = Instant::now();
        let ran = compiled.measure_focus(&data, &node("i"), &limits);
        nanos = nanos.min(begun.elapsed().as_secs_f64() * 1e9);
        outcome = Some(ran);
    }
    let (judged, steps) = outcome.expect("it ran");
    let ran = if matches!(judged, Err(ShapeError::Budget)) { "budget exceeded" } else { "done" };
    let fate = match (dear, &judged) {
        (true, _) => Fate::TooDear,
        (false, Err(ShapeError::Budget)) => Fate::Exceeds,
        (false, _) => Fate::Ends,
    };
    let shown = if estimate > 1_000_000_000_000 { "10^12".to_owned() } else { estimate.to_string() };
    let verdict = if dear { "refused" } else { "accepted" };
    let row = format!(
        "| {} | {verdict}: {shown} | {ran}: {steps} | {:.1} | {:.0} |",
        case.name,
        nanos / 1e6,
        nanos / steps as f64
    );
    (fate, row, (ran == "done").then_some(nanos / steps as f64))
}

#[test]
fn pathological_shapes_are_refused_or_bounded() {
    println!(
        "| shapes, and data | review: steps of the reference intent at most | run without the review: steps | ms | ns a step |"
    );
    println!("|---|---|---|---|---|");
    let mut wrong = Vec::new();
    let mut steps = Vec::new();
    for case in [nests(), lists_and_paths(), patterns(), kinds()].into_iter().flatten() {
        let (fate, row, step) = run(&case);
        println!("{row}");
        steps.extend(step);
        if fate != case.fate {
            wrong.push(format!("{}: {fate:?}", case.name));
        }
    }
    steps.sort_by(f64::total_cmp);
    println!("median {:.0} ns a step, dearest {:.0}", steps[steps.len() / 2], steps[steps.len() - 1]);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
