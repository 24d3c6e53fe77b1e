//! The W3C SHACL core suite, as its manifests list it: verdicts, and the results of the reports up to blank nodes and
//! messages.

use super::compiled::{CompiledShapes, Validation};
use super::tests::shared_path;
use crate::limits::Limits;
use crate::vocab::rdf;
use oxrdf::{Graph, NamedNode, NamedNodeRef, NamedOrBlankNode, Term, TermRef};
use oxttl::TurtleParser;
use std::path::{Path, PathBuf};

const MF: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const SH: &str = "http://www.w3.org/ns/shacl#";
const SHT: &str = "http://www.w3.org/ns/shacl-test#";
/// Terms of the expected report, which stands in the same file as the shapes.
const REPORT_TERMS: [&str; 10] = [
    "conforms",
    "result",
    "focusNode",
    "resultPath",
    "value",
    "sourceShape",
    "sourceConstraintComponent",
    "resultSeverity",
    "resultMessage",
    "detail",
];
/// Entries that are refused on purpose: what is refused, why, and the terms without which the entry runs as expected.
const REFUSED: [(&str, &str, &[&str]); 4] = [
    (
        "qualified-001",
        "counts without the shape that they count say nothing",
        &["qualifiedMinCount", "qualifiedMaxCount", "qualifiedValueShapesDisjoint"],
    ),
    ("qualifiedValueShape-001", "sh:nodeShape, which SHACL does not define", &["nodeShape"]),
    ("shacl-shacl", "SPARQL prefixes (sh:declare), and shapes that refer to themselves", &[]),
    ("uniqueLang-002", "a flag that is not `true` or `false` says nothing", &["uniqueLang"]),
];

fn parse(path: &Path) -> Graph {
    let text = std::fs::read_to_string(path).expect("the suite's file is readable");
    TurtleParser::new()
        .with_base_iri(format!("file://{}", path.display()))
        .expect("a base IRI")
        .for_slice(&text)
        .collect::<Result<_, _>>()
        .expect("the suite's Turtle is well-formed")
}

fn file_of(iri: TermRef<'_>) -> Option<PathBuf> {
    match iri {
        TermRef::NamedNode(iri) => iri.as_str().strip_prefix("file://").map(PathBuf::from),
        _ => None,
    }
}

fn objects<'a>(graph: &'a Graph, subject: &NamedOrBlankNode, predicate: &str) -> Vec<TermRef<'a>> {
    let predicate = NamedNode::new_unchecked(predicate);
    graph
        .triples_for_subject(subject)
        .filter(|triple| triple.predicate == predicate.as_ref())
        .map(|triple| triple.object)
        .collect()
}

fn one(graph: &Graph, subject: &NamedOrBlankNode, predicate: &str) -> Term {
    let all = objects(graph, subject, predicate);
    assert_eq!(all.len(), 1, "{subject} {predicate}");
    all[0].into_owned()
}

fn node(term: &Term) -> NamedOrBlankNode {
    super::terms::as_node(term.as_ref()).expect("a node")
}

/// Every entry that a manifest and what it includes list: the manifest's file, its graph and the entry.
fn entries(file: &Path, found: &mut Vec<(PathBuf, NamedOrBlankNode)>) {
    let graph = parse(file);
    let manifest: NamedOrBlankNode = NamedNode::new_unchecked(format!("file://{}", file.display())).into();
    for included in objects(&graph, &manifest, &format!("{MF}include")) {
        entries(&file_of(included).expect("an included file"), found);
    }
    for list in objects(&graph, &manifest, &format!("{MF}entries")) {
        let mut cell = list.into_owned();
        while cell.to_string() != format!("<{}>", rdf::NIL) {
            found.push((file.to_owned(), node(&one(&graph, &node(&cell), rdf::FIRST))));
            cell = one(&graph, &node(&cell), rdf::REST);
        }
    }
}

/// A shapes graph without the expected report, and without some further terms of SHACL.
fn shapes_of(graph: &Graph, without: &[&str]) -> Graph {
    let mut rest = Graph::new();
    for triple in graph {
        let name = triple.predicate.as_str().strip_prefix(SH).unwrap_or_default();
        let is_report_type = matches!(triple.object, TermRef::NamedNode(iri)
            if iri.as_str().starts_with("http://www.w3.org/ns/shacl#Validation"));
        if !REPORT_TERMS.contains(&name) && !without.contains(&name) && !is_report_type {
            rest.insert(triple);
        }
    }
    rest
}

/// A path of a report, written out; any other blank node is one like all others.
fn written(graph: &Graph, term: &Term, is_path: bool) -> String {
    let Term::BlankNode(blank) = term else { return term.to_string() };
    if !is_path {
        return "_".into();
    }
    let mut said: Vec<_> = graph
        .triples_for_subject(blank)
        .filter(|triple| triple.predicate.as_str() != rdf::TYPE)
        .map(|triple| format!("{} {}", triple.predicate, written(graph, &triple.object.into_owned(), true)))
        .collect();
    said.sort();
    format!("[{}]", said.join("; "))
}

/// What a report says, one line for each result, equal ones included.
fn results(graph: &Graph, report: &NamedOrBlankNode) -> Vec<String> {
    let fields =
        ["focusNode", "resultPath", "value", "sourceConstraintComponent", "resultSeverity", "sourceShape"];
    let said = |result: TermRef<'_>| {
        let result = node(&result.into_owned());
        let said = fields.map(|field| {
            let values = objects(graph, &result, &format!("{SH}{field}"));
            values
                .first()
                .map_or(String::new(), |value| written(graph, &value.into_owned(), field == "resultPath"))
        });
        said.join(" | ")
    };
    let mut lines: Vec<_> = objects(graph, report, &format!("{SH}result")).into_iter().map(said).collect();
    lines.sort();
    lines
}

/// Runs an entry without some terms: what is wrong with the outcome, or why the shapes were refused.
fn run(file: &Path, entry: &NamedOrBlankNode, without: &[&str]) -> Result<Option<String>, String> {
    let graph = parse(file);
    let action = node(&one(&graph, entry, &format!("{MF}action")));
    let named = |local: &str| {
        parse(&file_of(one(&graph, &action, &format!("{SHT}{local}")).as_ref()).expect("a file"))
    };
    let (shapes, data) = (named("shapesGraph"), named("dataGraph"));
    let expected = node(&one(&graph, entry, &format!("{MF}result")));
    let conforms = one(&graph, &expected, &format!("{SH}conforms")).to_string().contains("true");
    let limits = Limits { validation_steps: 10_000_000, ..Limits::default() };
    let compiled =
        CompiledShapes::compile(&shapes_of(&shapes, without), &[]).map_err(|error| error.to_string())?;
    match compiled.validate_targets(&data, &limits).map_err(|error| error.to_string())? {
        Validation::Conforms => Ok((!conforms).then(|| "it conforms".to_owned())),
        Validation::Violates { report, .. } => {
            let report: Graph =
                TurtleParser::new().for_slice(&report).collect::<Result<_, _>>().expect("Turtle");
            let class = NamedNode::new_unchecked(format!("{SH}ValidationReport"));
            let root = report
                .subjects_for_predicate_object(NamedNodeRef::new_unchecked(rdf::TYPE), class.as_ref())
                .next()
                .expect("a report")
                .into_owned();
            let (found, expected) = (results(&report, &root), results(&graph, &expected));
            let right = !conforms && found == expected;
            Ok((!right).then(|| format!("{found:#?}\nwhere expected were {expected:#?}")))
        }
    }
}

#[test]
fn core_suite_verdicts_and_results() {
    let manifest = shared_path("suites/shacl/core/manifest.ttl");
    let Ok(manifest) = manifest.canonicalize() else {
        println!("skipped: no {}", manifest.display());
        return;
    };
    let mut listed = Vec::new();
    entries(&manifest, &mut listed);
    assert_eq!(listed.len(), 98);
    let (mut ran, mut wrong, mut refused) = (0, Vec::new(), Vec::new());
    for (file, entry) in &listed {
        let name = entry.to_string();
        let name = name.trim_end_matches('>').rsplit('/').next().unwrap_or_default().to_owned();
        match run(file, entry, &[]) {
            Ok(None) => ran += 1,
            Ok(Some(why)) => wrong.push(format!("{name}: {why}")),
            Err(why) => {
                println!("{name} is refused: {why}");
                refused.push(name.clone());
            }
        }
        // What is refused for a term is run without it.
        if let Some((_, why, without)) = REFUSED.iter().find(|(refused, ..)| *refused == name)
            && !without.is_empty()
        {
            assert_eq!(run(file, entry, without), Ok(None), "{name}: {why}");
        }
    }
    println!("{ran} entries run as expected; {} are refused", refused.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    refused.sort();
    assert_eq!(refused, REFUSED.map(|(name, ..)| name));
}
