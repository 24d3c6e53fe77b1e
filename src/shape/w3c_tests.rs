//! The W3C SHACL core suite: verdicts, and the results of the reports up to blank nodes and messages.

use super::compiled::{CompiledShapes, Validation};
use super::tests::shared_path;
use crate::limits::Limits;
use oxrdf::{Graph, NamedNode, NamedNodeRef, Term, TermRef};
use oxttl::TurtleParser;
use std::collections::BTreeSet;
use std::path::Path;

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
/// Entries that are refused on purpose, with the reason.
const REFUSED: [(&str, &str); 4] = [
    ("shacl-shacl", "SPARQL prefixes (sh:declare), and shapes that refer to themselves"),
    ("qualified-001", "counts without the shape that they count"),
    ("qualifiedValueShape-001", "sh:nodeShape, which SHACL does not define"),
    ("uniqueLang-002", "a flag that is not `true` or `false`"),
];

fn parse(path: &Path, base: &str) -> Graph {
    let text = std::fs::read_to_string(path).expect("the suite's file is readable");
    TurtleParser::new()
        .with_base_iri(base)
        .expect("a base IRI")
        .for_slice(&text)
        .collect::<Result<_, _>>()
        .expect("the suite's Turtle is well-formed")
}

fn without_report(graph: &Graph) -> Graph {
    let mut rest = Graph::new();
    for triple in graph {
        let name = triple.predicate.as_str().strip_prefix("http://www.w3.org/ns/shacl#").unwrap_or_default();
        let is_report_type = matches!(triple.object, TermRef::NamedNode(iri)
            if iri.as_str().starts_with("http://www.w3.org/ns/shacl#Validation"));
        if !REPORT_TERMS.contains(&name) && !is_report_type {
            rest.insert(triple);
        }
    }
    rest
}

/// What a report says, one line for each result. Blank nodes, and with them paths that are no predicate, are all one.
fn results(report: &Graph) -> BTreeSet<String> {
    let sh = |name: &str| NamedNode::new_unchecked(format!("http://www.w3.org/ns/shacl#{name}"));
    let said = |result: TermRef<'_>| {
        let node = super::terms::as_node(result)?;
        let fields = [
            "focusNode",
            "resultPath",
            "value",
            "sourceConstraintComponent",
            "resultSeverity",
            "sourceShape",
        ];
        let fields = fields.map(|name| {
            let object = report.objects_for_subject_predicate(&node, sh(name).as_ref()).next();
            object.map_or(
                String::new(),
                |object| if object.is_blank_node() { "_".into() } else { object.to_string() },
            )
        });
        Some(fields.join(" | "))
    };
    let predicate = sh("result");
    report.triples_for_predicate(predicate.as_ref()).filter_map(|triple| said(triple.object)).collect()
}

/// Runs the entry of a file, if it has one: whether the verdict is the expected one, or why it was refused.
fn run(path: &Path) -> Option<Result<bool, String>> {
    let name = path.file_name()?.to_str()?;
    let base = format!("https://suite.example/{name}");
    let graph = parse(path, &base);
    let referenced = |local: &str| {
        let predicate = NamedNode::new_unchecked(format!("{SHT}{local}"));
        let object = graph.iter().find(|triple| triple.predicate == predicate.as_ref())?.object.into_owned();
        let Term::NamedNode(iri) = object else { return None };
        let file = iri.as_str().strip_prefix("https://suite.example/")?.to_owned();
        Some(parse(&path.with_file_name(&file), iri.as_str()))
    };
    let shapes = referenced("shapesGraph")?;
    let data = referenced("dataGraph")?;
    let conforms = NamedNodeRef::new_unchecked("http://www.w3.org/ns/shacl#conforms");
    let expected = graph.triples_for_predicate(conforms).next()?.object.to_string().contains("true");
    let limits = Limits { validation_steps: 10_000_000, ..Limits::default() };
    let shapes = CompiledShapes::compile(&without_report(&shapes), &[]);
    Some(match shapes.and_then(|shapes| shapes.validate_targets(&data, &limits)) {
        Ok(Validation::Conforms) => Ok(expected),
        Ok(Validation::Violates { report, .. }) => {
            let report = TurtleParser::new()
                .for_slice(&report)
                .collect::<Result<Graph, _>>()
                .expect("a report is Turtle");
            Ok(!expected && results(&report) == results(&graph))
        }
        Err(error) => Err(error.to_string()),
    })
}

#[test]
fn core_suite_verdicts_and_results() {
    let core = shared_path("suites/shacl/core");
    let Ok(folders) = std::fs::read_dir(&core) else {
        println!("skipped: no {}", core.display());
        return;
    };
    let mut files: Vec<_> = folders
        .flatten()
        .filter_map(|folder| std::fs::read_dir(folder.path()).ok())
        .flat_map(|files| files.flatten().map(|file| file.path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "ttl"))
        .collect();
    files.sort();
    let (mut ran, mut wrong) = (0, Vec::new());
    let mut refusals = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match run(&file) {
            None => {}
            Some(Ok(right)) => {
                ran += 1;
                if !right {
                    wrong.push(name);
                }
            }
            Some(Err(why)) => refusals.push((name, why)),
        }
    }
    println!("{ran} verdicts; refused: {refusals:#?}");
    assert_eq!(wrong, Vec::<String>::new());
    let refused: Vec<_> = refusals.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(refused, REFUSED.map(|(name, _)| name));
    assert_eq!(ran + refused.len(), 98);
}
