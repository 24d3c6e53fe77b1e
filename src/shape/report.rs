//! The W3C validation report as Turtle (SHACL 3.6), bounded, and the same without the literals of the data.

use super::compiled::Finding;
use super::terms::sh_iri;
use crate::vocab::sh;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BlankNode, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Term, TermRef, Triple};
use oxttl::{TurtleParser, TurtleSerializer};
use rudof_rdf::rdf_core::SHACLPath;
use shacl::validator::report::ValidationResult;
use std::cmp::Ordering;

/// Results in one report. More are of no use to who must repair the intent.
const MAX_REPORT_RESULTS: usize = 100;
/// Octets of terms in one report, about. The first result is always there.
const MAX_REPORT_OCTETS: usize = 64 << 10;
/// Octets of a report that is read back.
const MAX_READ_OCTETS: usize = 512 << 10;
/// What is said where nothing else can be.
const MINIMAL: &str =
    "@prefix sh: <http://www.w3.org/ns/shacl#> .\n[] a sh:ValidationReport ;\n\tsh:conforms false .\n";

/// A validation result in the terms of a report, ordered by what it says.
#[derive(Debug, Clone)]
pub(super) struct ReportedResult {
    focus: Term,
    path: Option<SHACLPath>,
    value: Option<Term>,
    shape: Option<Term>,
    component: Term,
    severity: NamedNode,
    /// By language.
    messages: Vec<(Option<String>, String)>,
    /// Everything but blank nodes of the shapes, whose labels differ from one reading to the next.
    key: [String; 7],
}

impl From<&ValidationResult> for ReportedResult {
    fn from(result: &ValidationResult) -> Self {
        let severity: NamedNode = rudof_iri::IriS::from(result.severity()).into();
        let mut messages: Vec<_> = result
            .message()
            .iter()
            .map(|(language, text)| (language.as_ref().map(ToString::to_string), text.clone()))
            .collect();
        messages.sort();
        let term = |object: &rudof_rdf::rdf_core::term::Object| Term::from(object.clone());
        let mut reported = Self {
            focus: term(result.focus_node()),
            path: result.path().cloned(),
            value: result.value().map(term),
            shape: result.source().map(term),
            component: term(result.constraint_component()),
            severity,
            messages,
            key: Default::default(),
        };
        reported.key = reported.sort_key();
        reported
    }
}

impl ReportedResult {
    /// The result in words.
    pub(super) fn finding(&self) -> Finding {
        Finding {
            shape: self.shape.as_ref().map(plain),
            path: self.path.as_ref().map(path_text),
            constraint: Some(plain(&self.component)),
            value: self.value.as_ref().map(plain),
        }
    }

    fn sort_key(&self) -> [String; 7] {
        let shape = self.shape.as_ref().filter(|shape| shape.is_named_node());
        let text = |term: Option<&Term>| term.map(ToString::to_string).unwrap_or_default();
        [
            self.focus.to_string(),
            self.path.as_ref().map(path_text).unwrap_or_default(),
            self.component.to_string(),
            text(self.value.as_ref()),
            text(shape),
            self.severity.to_string(),
            format!("{:?}", self.messages),
        ]
    }

    fn octets(&self) -> usize {
        self.key.iter().map(String::len).sum()
    }
}

impl Ord for ReportedResult {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for ReportedResult {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ReportedResult {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for ReportedResult {}

/// Orders results, and keeps one of equal ones where they are merged. Two anonymous shapes that find the same have found
/// two things; their labels part them here, and order nothing that a report tells apart.
pub(super) fn order(results: &mut Vec<ReportedResult>, merge: bool) {
    let shape = |result: &ReportedResult| result.shape.as_ref().map(ToString::to_string);
    results.sort_by(|one, other| one.cmp(other).then_with(|| shape(one).cmp(&shape(other))));
    if merge {
        results.dedup_by(|one, other| one == other && one.shape == other.shape);
    }
}

/// Writes a non-conforming report. `results` are in order; what exceeds the report's bounds is left out.
pub(super) fn to_turtle(results: &[ReportedResult]) -> String {
    let mut octets = 0;
    let mut kept = Vec::new();
    for result in results.iter().take(MAX_REPORT_RESULTS) {
        octets += result.octets();
        if octets > MAX_REPORT_OCTETS && !kept.is_empty() {
            break;
        }
        kept.push(result);
    }
    let mut report = ReportWriter::for_results(&kept);
    let root = report.fresh();
    report.add(&root, rdf::TYPE, sh_iri("ValidationReport"));
    report.add(&root, sh_iri("conforms").as_ref(), Literal::from(false));
    for result in kept {
        let node = report.result(result);
        report.add(&root, sh_iri("result").as_ref(), node);
    }
    serialize(&report.triples)
}

/// A validation report without the literal values of the data, for a peer (`Refusal::public`). What it cannot read, it
/// leaves out whole.
pub(crate) fn without_data_literals(turtle: &str) -> String {
    if turtle.len() > MAX_READ_OCTETS {
        return MINIMAL.to_owned();
    }
    let Ok(triples) = TurtleParser::new().for_slice(turtle).collect::<Result<Vec<Triple>, _>>() else {
        return MINIMAL.to_owned();
    };
    let (conforms, no) = (sh_iri("conforms"), Term::from(Literal::from(false)));
    let mut verdicts = triples.iter().filter(|triple| triple.predicate == conforms);
    if !verdicts.next().is_some_and(|triple| triple.object == no) || verdicts.next().is_some() {
        return MINIMAL.to_owned();
    }
    let kept: Vec<_> = triples.into_iter().filter(is_publishable).collect();
    serialize(&kept)
}

/// Whether a report's triple holds no literal of the data. A message may quote one; no other literal is written but
/// the verdict.
fn is_publishable(triple: &Triple) -> bool {
    match triple.object.as_ref() {
        TermRef::NamedNode(_) | TermRef::BlankNode(_) => true,
        TermRef::Literal(literal) => {
            triple.predicate == sh_iri("conforms") && literal.datatype() == xsd::BOOLEAN
        }
        _ => false,
    }
}

struct ReportWriter {
    prefix: String,
    fresh: usize,
    triples: Vec<Triple>,
}

impl ReportWriter {
    /// A writer whose own blank nodes have labels that no result has.
    fn for_results(results: &[&ReportedResult]) -> Self {
        let mut prefix = "r".to_owned();
        let terms = results.iter().flat_map(|result| [Some(&result.focus), result.value.as_ref()]);
        let labels: Vec<_> = terms
            .flatten()
            .filter_map(|term| if let Term::BlankNode(node) = term { Some(node.as_str()) } else { None })
            .collect();
        while labels.iter().any(|label| label.starts_with(&prefix)) {
            prefix.push('r');
        }
        Self { prefix, fresh: 0, triples: Vec::new() }
    }

    fn fresh(&mut self) -> NamedOrBlankNode {
        self.fresh += 1;
        BlankNode::new_unchecked(format!("{}{}", self.prefix, self.fresh)).into()
    }

    fn add(&mut self, subject: &NamedOrBlankNode, predicate: NamedNodeRef<'_>, object: impl Into<Term>) {
        self.triples.push(Triple::new(subject.clone(), predicate, object));
    }

    fn result(&mut self, result: &ReportedResult) -> NamedOrBlankNode {
        let node = self.fresh();
        self.add(&node, rdf::TYPE, sh_iri("ValidationResult"));
        self.add(&node, sh_iri("focusNode").as_ref(), result.focus.clone());
        if let Some(path) = &result.path {
            let path = self.path(path);
            self.add(&node, sh_iri("resultPath").as_ref(), path);
        }
        if let Some(value) = &result.value {
            self.add(&node, sh_iri("value").as_ref(), value.clone());
        }
        if let Some(shape) = &result.shape {
            // A blank node of the shapes graph is none of this one, whatever its label.
            let shape = if shape.is_blank_node() { self.fresh().into() } else { shape.clone() };
            self.add(&node, sh_iri("sourceShape").as_ref(), shape);
        }
        self.add(&node, sh_iri("sourceConstraintComponent").as_ref(), result.component.clone());
        self.add(&node, sh_iri("resultSeverity").as_ref(), result.severity.clone());
        for (language, text) in &result.messages {
            let message = language
                .as_ref()
                .and_then(|language| Literal::new_language_tagged_literal(text, language).ok())
                .unwrap_or_else(|| Literal::new_simple_literal(text));
            self.add(&node, sh_iri("resultMessage").as_ref(), message);
        }
        node
    }

    /// A path as RDF. Compiled paths are small and shallow.
    fn path(&mut self, path: &SHACLPath) -> Term {
        let (operator, operand) = match path {
            SHACLPath::Predicate { pred } => return NamedNode::new_unchecked(pred.as_str()).into(),
            SHACLPath::Sequence { paths } => return self.list(paths),
            SHACLPath::Alternative { paths } => ("alternativePath", self.list(paths)),
            SHACLPath::Inverse { path } => ("inversePath", self.path(path)),
            SHACLPath::ZeroOrMore { path } => ("zeroOrMorePath", self.path(path)),
            SHACLPath::OneOrMore { path } => ("oneOrMorePath", self.path(path)),
            SHACLPath::ZeroOrOne { path } => ("zeroOrOnePath", self.path(path)),
        };
        let node = self.fresh();
        self.add(&node, sh_iri(operator).as_ref(), operand);
        node.into()
    }

    fn list(&mut self, paths: &[SHACLPath]) -> Term {
        let mut rest: Term = rdf::NIL.into_owned().into();
        for path in paths.iter().rev() {
            let first = self.path(path);
            let cell = self.fresh();
            self.add(&cell, rdf::FIRST, first);
            self.add(&cell, rdf::REST, rest);
            rest = cell.into();
        }
        rest
    }
}

fn serialize(triples: &[Triple]) -> String {
    let Ok(serializer) = TurtleSerializer::new().with_prefix("sh", sh::NS) else { return MINIMAL.to_owned() };
    let mut writer = serializer.for_writer(Vec::new());
    let written = triples.iter().try_for_each(|triple| writer.serialize_triple(triple));
    match (written, writer.finish()) {
        (Ok(()), Ok(octets)) => String::from_utf8(octets).unwrap_or_else(|_| MINIMAL.to_owned()),
        _ => MINIMAL.to_owned(),
    }
}

/// An IRI as it is, anything else in N-Triples syntax.
fn plain(term: &Term) -> String {
    match term {
        Term::NamedNode(iri) => iri.as_str().to_owned(),
        other => other.to_string(),
    }
}

fn path_text(path: &SHACLPath) -> String {
    match path {
        SHACLPath::Predicate { pred } => pred.as_str().to_owned(),
        other => other.to_string(),
    }
}
