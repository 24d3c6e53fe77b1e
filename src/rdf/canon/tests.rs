//! The W3C RDFC-1.0 suite, and graphs made to be expensive.

use super::*;
use crate::limits::Limits;
use oxrdf::Term;
use oxttl::{NQuadsParser, TurtleParser};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TESTS: &str = "https://w3c.github.io/rdf-canon/tests/";

fn budget() -> Budget {
    Budget::new(&Limits::default())
}

fn read(quads: &str) -> oxrdf::Dataset {
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
                let mut places = Places::default();
                let own = lines(input.iter(), &mut places);
                let state = issued(State::new(&own, &[], places.next, entry.hash), &mut budget()).unwrap();
                let label = |node: &Node| format!("c14n{}", state.canonical.place(*node).unwrap());
                let labels: HashMap<String, String> =
                    places.of.iter().map(|(name, node)| ((*name).to_owned(), label(node))).collect();
                assert_eq!(labels, expected, "{id}");
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
fn orders_of_one_neighbour_are_one_order() {
    // One node as the same neighbour fourteen times: in fourteen graphs, or as the name of a graph.
    let graphs: String =
        (0..14).map(|g| format!("_:a1 <urn:p> _:b <urn:g{g}> .\n_:a2 <urn:p> _:b <urn:g{g}> .\n")).collect();
    let named: String =
        (0..14).map(|n| format!("_:a1 <urn:p> \"{n}\" _:g .\n_:a2 <urn:p> \"{n}\" _:g .\n")).collect();
    for quads in [graphs, named] {
        let mut budget = budget();
        assert!(dataset(&read(&quads), HashAlgorithm::Sha256, &mut budget).is_ok());
        assert!(STEPS - budget.canonicalization_steps < 500, "{}", STEPS - budget.canonicalization_steps);
    }
}

#[test]
fn orders_of_many_alike_neighbours_are_charged() {
    // Two alike hubs whose twelve neighbours look alike at first degree: 12! orders.
    let quads: String = (0..12)
        .flat_map(|n| {
            ["a", "b"].map(|hub| format!("_:{hub} <urn:p> _:{hub}{n} .\n_:{hub}{n} <urn:q> _:{hub}x{n} .\n"))
        })
        .collect();
    assert_refused_quickly(&quads);
}

#[test]
fn nodes_alike_along_a_long_path_do_not_exhaust_the_stack() {
    // Two alike chains, each node of its own kind: one call within the other, to the end.
    let chains = |length: usize| -> String {
        let link = |n: usize| ["a", "b"].map(|c| format!("_:{c}{n} <urn:p{n}> _:{c}{} .\n", n + 1));
        (0..length).flat_map(link).collect()
    };
    assert!(dataset(&read(&chains(100)), HashAlgorithm::Sha256, &mut budget()).is_ok());
    let mut budget = Budget { canonicalization_calls: usize::MAX, ..budget() };
    let refused = dataset(&read(&chains(1_000)), HashAlgorithm::Sha256, &mut budget);
    assert_eq!(refused, Err(RdfError::BudgetExceeded));
}

#[track_caller]
fn assert_hash(quads: &str, hash: &str) {
    let canonical = dataset(&read(quads), HashAlgorithm::Sha256, &mut budget()).unwrap();
    assert_eq!(crate::message::Digest::of(canonical).to_string(), hash);
}

/// The hashes of these three are those of the JavaScript `rdf-canonize`.
#[test]
fn labels_follow_the_order_of_issue_beyond_ten() {
    let chain: String = (0..14).map(|n| format!("_:a{n} <urn:p> _:a{} .\n", n + 1)).collect();
    assert_hash(&chain, "c31e2fb5c59a05a491df00d7371fd301c1c00994780162ad8906063e84c525a4");
    // A list of eight alike shapes, as `sh:or` may have.
    let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
    let cell = |n: usize| if n < 8 { format!("_:c{n}") } else { format!("<{rdf}nil>") };
    let mut list = String::from("<urn:s> <urn:or> _:c0 .\n");
    for n in 0..8 {
        let rest = cell(n + 1);
        list.push_str(&format!("_:c{n} <{rdf}first> _:m{n} .\n_:c{n} <{rdf}rest> {rest} .\n"));
        list.push_str(&format!("_:m{n} <urn:q> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"));
    }
    assert_hash(&list, "fae3e6775c0554e4258d1296eb7a4e1aa18f192864f53206ef878b61ef00ddc4");
}

#[test]
fn a_quad_that_holds_a_node_twice_is_one_quad_of_it() {
    let loops = "_:a <urn:p> _:a .\n_:b <urn:p> _:c .\n_:c <urn:p> _:c .\n_:c <urn:q> \"x\" .\n\
                 _:a <urn:q> _:b .\n_:b <urn:q> \"x\" .\n";
    assert_hash(loops, "caa623194c006ee651cc65340f13823d271297f43f6d9adbb7f2ab2a89af078e");
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
    assert!((64..=256).contains(&runs), "{runs}");
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
    assert!((9..=99).contains(&runs), "{runs}");
}

/// What a message costs may not turn on the order in which a set gives out its quads: near the limit, one request would
/// get two answers.
#[test]
fn equal_datasets_take_equal_work() {
    let mut lines: Vec<String> = clique(5).lines().map(|line| format!("{line}\n")).collect();
    lines.extend((0..4).map(|n| format!("_:hub <urn:q> _:n{n} .\n_:n{n} <urn:q> _:m{n} .\n")));
    let spent = |lines: &[String]| {
        let quads: Vec<oxrdf::Quad> =
            NQuadsParser::new().for_slice(&lines.concat()).map(Result::unwrap).collect();
        let mut budget = budget();
        let canonical = quads_of(&quads, &mut budget).unwrap();
        (canonical, budget.canonicalization_calls, budget.canonicalization_steps)
    };
    let first = spent(&lines);
    assert!(STEPS - first.2 > 100, "{}", first.2);
    for turn in 1..lines.len() {
        lines.rotate_left(turn);
        lines.swap(0, turn);
        assert_eq!(spent(&lines), first);
    }
    // A quad that is said twice is one.
    lines.extend(lines.clone());
    assert_eq!(spent(&lines), first);
}

fn quads_of(quads: &[oxrdf::Quad], budget: &mut Budget) -> Result<String, RdfError> {
    super::quads(quads, HashAlgorithm::Sha256, budget)
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

/// The quads of a part: triples among blank nodes that are told apart by `prefix`, in the graph that `graph` names.
fn quads_of_part(triples: &[(u8, u8, u8)], graph: &str, prefix: &str) -> Vec<Quad> {
    let node = |number: u8| BlankNode::new_unchecked(format!("{prefix}{number}"));
    let quad = |(subject, predicate, object): &(u8, u8, u8)| {
        let predicate = oxrdf::NamedNode::new_unchecked(format!("urn:p{predicate}"));
        let object: Term = match object {
            0..4 => node(*object).into(),
            // The name of the graph may be spoken of inside of it.
            4 => BlankNode::new_unchecked(graph).into(),
            other => oxrdf::Literal::from(i64::from(*other)).into(),
        };
        Quad::new(node(*subject), predicate, object, BlankNode::new_unchecked(graph))
    };
    triples.iter().map(quad).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What is prepared of a part never shows: the canonical form is that of all quads, also where parts are alike.
    #[test]
    fn prepared_parts_give_the_canonical_form_of_the_whole(
        kinds in prop::collection::vec(prop::collection::vec((0u8..4, 0u8..2, 0u8..7), 0..6), 1..3),
        chosen in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        links in prop::collection::vec((any::<bool>(), 0u8..2), 1..4),
    ) {
        let mut all = Vec::new();
        let mut own = Vec::new();
        let mut parts = Vec::new();
        for (place, kind) in chosen.iter().enumerate() {
            let (triples, name) = (kind.get(&kinds), format!("c{place}"));
            all.extend(quads_of_part(triples, &name, &format!("{name}x")));
            let graph = BlankNode::new_unchecked("c");
            let part = Part::new(&quads_of_part(triples, "c", "cx"), &graph);
            prop_assert!(part.octets() >= 64);
            parts.push((BlankNode::new_unchecked(name), part));
        }
        for ((name, _), (blank, predicate)) in parts.iter().zip(links.iter().cycle()) {
            let predicate = oxrdf::NamedNode::new_unchecked(format!("urn:p{predicate}"));
            let subject = if *blank { oxrdf::NamedOrBlankNode::from(BlankNode::new_unchecked("own")) } else {
                oxrdf::NamedNode::new_unchecked("urn:own").into()
            };
            own.push(Quad::new(subject, predicate, name.clone(), oxrdf::GraphName::DefaultGraph));
        }
        all.extend(own.iter().cloned());
        let parts: Vec<_> = parts.iter().map(|(name, part)| (name.clone(), part)).collect();
        let limits = Limits { canonicalization_calls: usize::MAX, ..Limits::default() };
        for hash in [HashAlgorithm::Sha256, HashAlgorithm::Sha384] {
            let composite = composite(Composite { own: &own, parts: &parts }, hash, &mut Budget::new(&limits));
            let whole = quads(&all, hash, &mut Budget::new(&limits));
            // Which of alike nodes is gone through first is not the same, and so may be the steps.
            if let (Ok(composite), Ok(whole)) = (composite, whole) {
                prop_assert_eq!(composite, whole);
            }
        }
    }
}
