//! The W3C RDFC-1.0 suite, and graphs made to be expensive.

use super::*;
use crate::limits::Limits;
use oxrdf::{Dataset, Term};
use oxttl::{NQuadsParser, TurtleParser};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TESTS: &str = "https://w3c.github.io/rdf-canon/tests/";

fn budget() -> Budget {
    Budget::new(&Limits::default())
}

fn read(quads: &str) -> Dataset {
    NQuadsParser::new().for_slice(quads).map(Result::unwrap).collect()
}

struct Entry {
    kind: String,
    action: PathBuf,
    result: Option<PathBuf>,
    hash: HashAlgorithm,
}

fn manifest(suite: &Path) -> BTreeMap<String, Entry> {
    let text = std::fs::read_to_string(suite.join("manifest.ttl")).unwrap();
    let parser = TurtleParser::new().with_base_iri(format!("{TESTS}manifest")).unwrap();
    let mut members: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut listed = Vec::new();
    for triple in parser.for_slice(&text) {
        let triple = triple.unwrap();
        let object = match triple.object {
            Term::NamedNode(node) => node.into_string(),
            Term::Literal(literal) => literal.value().to_owned(),
            Term::BlankNode(_) | Term::Triple(_) => continue,
        };
        let predicate = triple.predicate.as_str();
        if predicate.ends_with("#first") {
            listed.push(object);
        } else {
            let local = predicate.rsplit(['#', '/']).next().unwrap().to_owned();
            members.entry(triple.subject.to_string()).or_default().insert(local, object);
        }
    }
    let file = |iri: &String| suite.join(iri.strip_prefix(TESTS).unwrap());
    listed
        .into_iter()
        .map(|id| {
            let entry = &members[&format!("<{id}>")];
            let hash = match entry.get("hashAlgorithm").map(String::as_str) {
                None => HashAlgorithm::Sha256,
                Some("SHA384") => HashAlgorithm::Sha384,
                Some(other) => panic!("{id}: unknown hash algorithm {other}"),
            };
            let kind = entry["type"].rsplit('#').next().unwrap().to_owned();
            let entry =
                Entry { kind, action: file(&entry["action"]), result: entry.get("result").map(file), hash };
            (id, entry)
        })
        .collect()
}

#[test]
fn w3c_rdfc10_suite_passes_whole() {
    let suite = Path::new("../shared/suites/rdfc10");
    if !suite.exists() {
        println!("SKIPPED: the W3C RDFC-1.0 suite is not at {}", suite.display());
        return;
    }
    let entries = manifest(suite);
    let mut ran = 0;
    for (id, entry) in &entries {
        let input = read(&std::fs::read_to_string(&entry.action).unwrap());
        let expected = entry.result.as_ref().map(|path| std::fs::read_to_string(path).unwrap());
        match entry.kind.as_str() {
            "RDFC10EvalTest" => {
                let canonical = dataset(&input, entry.hash, &mut budget());
                assert_eq!(canonical.as_deref(), Ok(expected.unwrap().as_str()), "{id}");
            }
            "RDFC10MapTest" => {
                let expected: HashMap<String, String> = serde_json::from_str(&expected.unwrap()).unwrap();
                assert_eq!(labels(&input, entry.hash), expected, "{id}");
            }
            "RDFC10NegativeEvalTest" => {
                let canonical = dataset(&input, entry.hash, &mut budget());
                assert_eq!(canonical, Err(RdfError::BudgetExceeded), "{id}");
            }
            other => panic!("{id}: unknown test type {other}"),
        }
        ran += 1;
    }
    assert_eq!(ran, 86);
}

/// The canonical label of each label.
fn labels(input: &Dataset, hash: HashAlgorithm) -> HashMap<String, String> {
    let source = Source::read(input).unwrap();
    let canonical = issue(&source, hash, &mut budget()).unwrap();
    let label = |(label, node): (&&str, &usize)| {
        ((*label).to_owned(), format!("c14n{}", canonical.issued(*node).unwrap()))
    };
    source.nodes.iter().map(label).collect()
}

/// Each node linked to every other by one predicate: all look alike.
fn clique(nodes: usize) -> String {
    let pairs = (0..nodes).flat_map(|a| (0..nodes).filter(move |b| a != *b).map(move |b| (a, b)));
    pairs.map(|(a, b)| format!("_:n{a} <urn:p> _:n{b} .\n")).collect()
}

fn assert_refused_quickly(quads: &str) {
    let input = read(quads);
    let start = Instant::now();
    assert_eq!(dataset(&input, HashAlgorithm::Sha256, &mut budget()), Err(RdfError::BudgetExceeded));
    // A bound on wall time only to tell "at once" from "in an hour"; the budget itself is counted.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn blank_clique_of_ten_is_refused_quickly() {
    assert_refused_quickly(&clique(10));
}

#[test]
fn long_ring_of_blank_nodes_is_refused_without_exhausting_the_stack() {
    let ring: String = (0..2000).map(|n| format!("_:n{n} <urn:p> _:n{} .\n", (n + 1) % 2000)).collect();
    assert_refused_quickly(&ring);
}

#[test]
fn orders_of_one_neighbour_in_many_graphs_are_not_gone_through() {
    let graphs: String =
        (0..14).map(|g| format!("_:a1 <urn:p> _:b <urn:g{g}> .\n_:a2 <urn:p> _:b <urn:g{g}> .\n")).collect();
    assert_refused_quickly(&graphs);
}

#[test]
fn orders_of_one_graph_name_are_not_gone_through() {
    let triples: String =
        (0..14).map(|n| format!("_:a1 <urn:p> \"{n}\" _:g .\n_:a2 <urn:p> \"{n}\" _:g .\n")).collect();
    assert_refused_quickly(&triples);
}

#[test]
fn hubs_with_many_alike_leaves_are_refused_quickly() {
    let leaves: String =
        (0..900).map(|n| format!("_:a{n} <urn:p> _:hub1 .\n_:b{n} <urn:p> _:hub2 .\n")).collect();
    assert_refused_quickly(&leaves);
}

#[test]
fn calls_are_charged_to_the_message_not_to_the_graph() {
    // Two alike blank nodes cost a few calls; a message with enough such graphs is refused.
    let pair = read("_:a <urn:p> _:b .\n_:b <urn:p> _:a .\n");
    let mut budget = budget();
    budget.canonicalizations = usize::MAX;
    let runs = (0..1000).take_while(|_| dataset(&pair, HashAlgorithm::Sha256, &mut budget).is_ok()).count();
    assert!((16..=256).contains(&runs), "{runs}");
}

#[test]
fn costly_calls_are_charged_to_the_message_by_their_cost() {
    // Two alike hubs with many neighbours each: few calls, but each hashes many quads.
    let quads: String = (0..60)
        .flat_map(|n| [("a", "b"), ("c", "d")].map(|(s, o)| format!("_:{s} <urn:p{n}> _:{o} .\n")))
        .collect();
    let hubs = read(&quads);
    let mut budget = budget();
    budget.canonicalizations = usize::MAX;
    let runs = (0..512).take_while(|_| dataset(&hubs, HashAlgorithm::Sha256, &mut budget).is_ok()).count();
    assert!((1..=9).contains(&runs), "{runs}");
    assert!(budget.canonicalization_calls <= 512);
}

#[test]
fn runs_are_charged_to_the_message() {
    let ground = read("<urn:s> <urn:p> <urn:o> .\n");
    let mut budget = Budget::new(&Limits { canonicalizations: 2, ..Limits::default() });
    assert!(dataset(&ground, HashAlgorithm::Sha256, &mut budget).is_ok());
    assert!(dataset(&ground, HashAlgorithm::Sha256, &mut budget).is_ok());
    assert_eq!(dataset(&ground, HashAlgorithm::Sha256, &mut budget), Err(RdfError::BudgetExceeded));
}

#[test]
fn distinct_blank_nodes_cost_no_call() {
    let ordinary: String =
        (0..200).map(|n| format!("_:c <urn:p{n}> _:b{n} .\n_:b{n} <urn:v> \"{n}\" .\n")).collect();
    let mut budget = Budget::new(&Limits { canonicalization_calls: 0, ..Limits::default() });
    assert!(dataset(&read(&ordinary), HashAlgorithm::Sha256, &mut budget).is_ok());
}

#[test]
fn graph_and_dataset_agree_on_the_default_graph() {
    let input = read("_:a <urn:p> \"x\"@en-GB .\n_:a <urn:p> \"1\"^^<urn:d> .\n_:a <urn:q> _:b .\n");
    let triples: Graph = input.iter().map(|quad| oxrdf::TripleRef::from(quad).into_owned()).collect();
    assert_eq!(graph(&triples, &mut budget()), dataset(&input, HashAlgorithm::Sha256, &mut budget()));
}

#[test]
fn a_repeated_quad_is_one_quad() {
    let input = read("_:a <urn:p> _:b .\n_:b <urn:p> _:a .\n_:b <urn:q> \"x\" .\n");
    let twice: Vec<_> = input.iter().chain(&input).collect();
    let canonical = canonical(twice, HashAlgorithm::Sha256, &mut budget());
    assert_eq!(canonical, dataset(&input, HashAlgorithm::Sha256, &mut budget()));
}

#[test]
fn every_order_is_gone_through_once() {
    let mut order = vec![1, 2, 3, 4];
    let mut seen = std::collections::BTreeSet::from([order.clone()]);
    while advance(&mut order) {
        assert!(seen.insert(order.clone()));
    }
    assert_eq!(seen.len(), 24);
    assert!(!advance::<usize>(&mut []) && !advance(&mut [1]));
}

/// The canonical form by `rdf-canon`, which speaks oxrdf 0.2; `None` if its limit does not suffice.
fn by_oracle(lines: &str) -> Option<String> {
    use oxrdf02 as older;
    let blank = |label: &str| older::BlankNode::new_unchecked(label);
    let dataset: older::Dataset = read(lines)
        .iter()
        .map(|quad| {
            let named = |node: oxrdf::NamedNodeRef<'_>| older::NamedNode::new_unchecked(node.as_str());
            let subject: older::Subject = match quad.subject {
                NamedOrBlankNodeRef::NamedNode(node) => named(node).into(),
                NamedOrBlankNodeRef::BlankNode(node) => blank(node.as_str()).into(),
            };
            let object: older::Term = match quad.object {
                TermRef::NamedNode(node) => named(node).into(),
                TermRef::BlankNode(node) => blank(node.as_str()).into(),
                TermRef::Literal(literal) => match literal.language() {
                    Some(tag) => {
                        older::Literal::new_language_tagged_literal_unchecked(literal.value(), tag).into()
                    }
                    None => {
                        older::Literal::new_typed_literal(literal.value(), named(literal.datatype())).into()
                    }
                },
                TermRef::Triple(_) => panic!("not generated"),
            };
            let graph: older::GraphName = match quad.graph_name {
                GraphNameRef::DefaultGraph => older::GraphName::DefaultGraph,
                GraphNameRef::NamedNode(node) => named(node).into(),
                GraphNameRef::BlankNode(node) => blank(node.as_str()).into(),
            };
            older::Quad::new(subject, named(quad.predicate), object, graph)
        })
        .collect();
    let options = rdf_canon::CanonicalizationOptions { hndq_call_limit: Some(512) };
    rdf_canon::canonicalize_with::<Sha256>(&dataset, &options).ok()
}

fn any_line() -> impl Strategy<Value = String> {
    let blank = || (0..5usize).prop_map(|n| format!("_:n{n}"));
    let subject = || prop_oneof![8 => blank(), 1 => Just("<urn:s>".to_owned())];
    let literal = r#"[a-z \u{0}-\u{1f}"\\\u{7f}é]{0,3}"#.prop_map(|text| {
        let literal = oxrdf::Literal::new_simple_literal(text);
        literal.to_string()
    });
    let object = prop_oneof![
        8 => blank(), 1 => literal, 1 => Just("\"x\"@en-GB".to_owned()), 1 => Just("\"1\"^^<urn:d>".to_owned()),
        1 => Just("<urn:o>".to_owned()),
    ];
    let graph = prop_oneof![4 => Just(String::new()), 2 => blank(), 1 => Just("<urn:g>".to_owned())];
    // rdf-canon hashes a quad twice for a node that is twice in it; RDFC-1.0 and the JavaScript library do not.
    (subject(), 0..2usize, object, graph)
        .prop_filter("a node twice in one quad", |(s, _, o, g)| s != o && s != g && o != g)
        .prop_map(|(s, p, o, g)| format!("{s} <urn:p{p}> {o} {g} .\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_datasets_have_the_canonical_form_of_rdf_canon(
        lines in prop::collection::vec(any_line(), 0..10)
    ) {
        let lines = lines.concat();
        if let (Ok(own), Some(oracle)) =
            (dataset(&read(&lines), HashAlgorithm::Sha256, &mut budget()), by_oracle(&lines))
        {
            prop_assert_eq!(own, oracle);
        }
    }
}
