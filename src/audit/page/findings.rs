//! The results of a SHACL validation report, read back from its Turtle.

use crate::vocab::sh;
use oxrdf::vocab::rdf;
use oxrdf::{Graph, NamedNode, NamedOrBlankNodeRef, TermRef};
use oxttl::TurtleParser;

/// Octets of a report that is read. The engine writes an eighth of it.
const MAX_OCTETS: usize = 512 << 10;
/// Results of a report, and objects of one member of a result, that are read. The page shows fewer of either.
const MAX_RESULTS: usize = 1_000;
const MAX_OBJECTS: usize = 100;
/// Steps of one path that are written.
const MAX_PATH_STEPS: usize = 64;

/// One validation result, each term as a person reads it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) focus: String,
    pub(super) path: String,
    pub(super) value: String,
    pub(super) constraint: String,
    pub(super) shape: String,
    pub(super) severity: String,
    pub(super) message: String,
}

/// The results of a report, in its order. `None`: it is not a report that can be read.
pub(super) fn read(turtle: &str) -> Option<Vec<Finding>> {
    if turtle.len() > MAX_OCTETS {
        return None;
    }
    let mut graph = Graph::new();
    let mut results = Vec::new();
    for triple in TurtleParser::new().for_slice(turtle) {
        let triple = triple.ok()?;
        // One that is said again is no other result: a report that was not written here would otherwise be told many times.
        let is_new = graph.insert(&triple);
        if is_new && triple.predicate.as_str().strip_prefix(sh::NS) == Some("result") {
            results.push(triple.object);
        }
    }
    results.truncate(MAX_RESULTS);
    Some(results.iter().filter_map(|result| finding(&graph, result.as_ref())).collect())
}

fn finding(graph: &Graph, result: TermRef<'_>) -> Option<Finding> {
    let node = node(result)?;
    let texts = |name: &str| {
        let mut texts: Vec<_> = objects(graph, node, name).take(MAX_OBJECTS).map(plain).collect();
        texts.sort();
        texts.join("; ")
    };
    let path = objects(graph, node, "resultPath").next().map(|path| path_text(graph, path));
    Some(Finding {
        focus: texts("focusNode"),
        path: path.unwrap_or_default(),
        value: texts("value"),
        constraint: texts("sourceConstraintComponent"),
        shape: texts("sourceShape"),
        severity: texts("resultSeverity"),
        message: texts("resultMessage"),
    })
}

fn objects<'g>(
    graph: &'g Graph,
    subject: NamedOrBlankNodeRef<'g>,
    name: &str,
) -> impl Iterator<Item = TermRef<'g>> {
    let predicate = NamedNode::new_unchecked(format!("{}{name}", sh::NS));
    graph
        .triples_for_subject(subject)
        .filter(move |triple| triple.predicate == predicate.as_ref())
        .map(|triple| triple.object)
}

fn node(term: TermRef<'_>) -> Option<NamedOrBlankNodeRef<'_>> {
    match term {
        TermRef::NamedNode(node) => Some(node.into()),
        TermRef::BlankNode(node) => Some(node.into()),
        _ => None,
    }
}

/// A term; of a term of SHACL its local name, of a text its characters.
fn plain(term: TermRef<'_>) -> String {
    match term {
        TermRef::NamedNode(iri) => match iri.as_str().strip_prefix(sh::NS) {
            Some(local) => format!("sh:{local}"),
            // It only looks like one of SHACL's.
            None if iri.as_str().starts_with("sh:") => format!("<{}>", iri.as_str()),
            None => iri.as_str().to_owned(),
        },
        TermRef::Literal(literal) => literal.value().to_owned(),
        other => other.to_string(),
    }
}

/// A path in the notation of SPARQL. It may be cyclic in a report that was not written here, so its steps are counted.
fn path_text(graph: &Graph, path: TermRef<'_>) -> String {
    let mut steps = MAX_PATH_STEPS;
    path_within(graph, path, &mut steps)
}

fn path_within(graph: &Graph, path: TermRef<'_>, steps: &mut usize) -> String {
    let Some(left) = steps.checked_sub(1) else { return "…".to_owned() };
    *steps = left;
    let Some(node @ NamedOrBlankNodeRef::BlankNode(_)) = node(path) else { return plain(path) };
    let operators = [
        ("inversePath", "^", ""),
        ("zeroOrMorePath", "", "*"),
        ("oneOrMorePath", "", "+"),
        ("zeroOrOnePath", "", "?"),
    ];
    for (name, before, after) in operators {
        if let Some(operand) = objects(graph, node, name).next() {
            return format!("{before}({}){after}", path_within(graph, operand, steps));
        }
    }
    match objects(graph, node, "alternativePath").next() {
        Some(list) => format!("({})", list_text(graph, list, " | ", steps)),
        None => list_text(graph, path, " / ", steps),
    }
}

fn list_text<'g>(graph: &'g Graph, mut cell: TermRef<'g>, between: &str, steps: &mut usize) -> String {
    let mut parts = Vec::new();
    while let Some(at) = node(cell) {
        let Some(first) = graph.object_for_subject_predicate(at, rdf::FIRST) else { break };
        parts.push(path_within(graph, first, steps));
        match graph.object_for_subject_predicate(at, rdf::REST) {
            Some(rest) if *steps > 0 => cell = rest,
            _ => break,
        }
    }
    parts.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_is_a_finding() {
        let turtle = r#"@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix e: <https://e.example/> .
            [] a sh:ValidationReport ; sh:conforms false ; sh:result
              [ a sh:ValidationResult ; sh:focusNode e:intent ; sh:resultPath ( e:a [ sh:inversePath e:b ] ) ;
                sh:value "<b>" ; sh:sourceConstraintComponent sh:MinCountConstraintComponent ; sh:sourceShape e:shape ;
                sh:resultSeverity sh:Violation ; sh:resultMessage "too few"@en ] ,
              [ a sh:ValidationResult ; sh:focusNode e:intent ] ."#;
        let findings = read(turtle).unwrap();
        assert_eq!(findings.len(), 2);
        let full = findings.iter().find(|finding| !finding.path.is_empty()).unwrap();
        assert_eq!(full.path, "https://e.example/a / ^(https://e.example/b)");
        assert_eq!((full.value.as_str(), full.message.as_str()), ("<b>", "too few"));
        assert_eq!(full.constraint, "sh:MinCountConstraintComponent");
    }

    /// A file that somebody else wrote: one result, named a hundred thousand times, with as many values.
    #[test]
    fn a_report_that_repeats_itself_is_told_once() {
        let turtle = format!(
            "@prefix sh: <http://www.w3.org/ns/shacl#> . _:a sh:result {} _:r . _:r sh:value {} 0 .",
            "_:r,".repeat(50_000),
            (1..30_000).map(|number| format!("{number},")).collect::<String>()
        );
        assert!(turtle.len() < MAX_OCTETS);
        let findings = read(&turtle).unwrap();
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].value.split("; ").count(), MAX_OBJECTS);
    }

    #[test]
    fn a_path_without_an_end_ends() {
        let turtle = "@prefix sh: <http://www.w3.org/ns/shacl#> .
            [] sh:result [ sh:resultPath _:p ] . _:p sh:inversePath _:p .";
        assert!(read(turtle).unwrap()[0].path.contains('…'));
    }

    #[test]
    fn what_is_no_turtle_has_no_findings() {
        assert_eq!(read("[] a"), None);
        assert_eq!(read(&" ".repeat(MAX_OCTETS + 1)), None);
    }
}
