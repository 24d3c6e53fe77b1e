//! The quads that a document must yield, and the comparison with those that the library emitted.

use oxrdf::{
    GraphName, GraphNameRef, NamedNodeRef, NamedOrBlankNode, NamedOrBlankNodeRef, Quad, QuadRef, Term,
    TermRef,
};
use std::collections::HashMap;

/// The quads that a document must yield, as text with all blank nodes alike.
#[derive(Debug, Default)]
pub(in crate::rdf) struct Expected {
    pub(super) exact: Vec<String>,
    /// Numbers with a fraction or exponent, whose lexical form is left to the library.
    pub(super) numbers: Vec<String>,
}

impl Expected {
    /// The quads of a reading, and the numbers of which it knows all but the lexical form.
    pub(in crate::rdf) fn new(quads: &[Quad], numbers: Vec<String>) -> Self {
        let exact = quads.iter().map(|quad| {
            let (place, object) = describe(quad.as_ref());
            format!("{place}{object}")
        });
        Self { exact: exact.collect(), numbers }
    }

    /// Whether these quads, as emitted and with repetitions, are the expected ones.
    pub(in crate::rdf) fn is_answered_by<'q>(&self, quads: impl Iterator<Item = QuadRef<'q>>) -> bool {
        let mut open: HashMap<&str, usize> = HashMap::new();
        for quad in &self.exact {
            *open.entry(quad).or_default() += 1;
        }
        let mut numbers = Vec::new();
        for quad in quads {
            let (place, object) = describe(quad);
            match open.get_mut(format!("{place}{object}").as_str()) {
                Some(count) if *count > 0 => *count -= 1,
                _ => match quad.object {
                    TermRef::Literal(literal) => {
                        numbers.push(format!("{place}^^{}", literal.datatype().as_str()));
                    }
                    _ => return false,
                },
            }
        }
        numbers.sort_unstable();
        let mut expected = self.numbers.clone();
        expected.sort_unstable();
        numbers == expected && open.values().all(|count| *count == 0)
    }
}

/// A number of which only the lexical form is not known.
pub(super) fn number(
    graph: &GraphName,
    subject: &NamedOrBlankNode,
    predicate: NamedNodeRef<'_>,
    datatype: NamedNodeRef<'_>,
) -> String {
    format!("{}^^{}", place(graph.as_ref(), subject.as_ref(), predicate), datatype.as_str())
}

/// How long a quad is, about.
pub(super) fn octets(
    graph: &GraphName,
    subject: &NamedOrBlankNode,
    predicate: NamedNodeRef<'_>,
    object: &Term,
) -> usize {
    let graph = match graph {
        GraphName::NamedNode(node) => node.as_str().len(),
        GraphName::BlankNode(_) | GraphName::DefaultGraph => BLANK.len(),
    };
    let subject = match subject {
        NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
        NamedOrBlankNode::BlankNode(_) => BLANK.len(),
    };
    let object = match object {
        Term::NamedNode(node) => node.as_str().len(),
        Term::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        _ => BLANK.len(),
    };
    graph + subject + predicate.as_str().len() + object
}

/// A quad's graph, subject and predicate, and its object, as text.
fn describe(quad: QuadRef<'_>) -> (String, String) {
    let object = match quad.object {
        TermRef::NamedNode(node) => node.to_string(),
        TermRef::BlankNode(_) => BLANK.to_owned(),
        TermRef::Literal(literal) => match literal.language() {
            Some(language) => format!("@{} {}", language.to_ascii_lowercase(), literal.value()),
            None => format!("^^{} {}", literal.datatype().as_str(), literal.value()),
        },
        TermRef::Triple(_) => "a triple".to_owned(),
    };
    (place(quad.graph_name, quad.subject, quad.predicate), object)
}

const BLANK: &str = "_:";

fn place(graph: GraphNameRef<'_>, subject: NamedOrBlankNodeRef<'_>, predicate: NamedNodeRef<'_>) -> String {
    let graph = match graph {
        GraphNameRef::DefaultGraph => String::new(),
        GraphNameRef::BlankNode(_) => BLANK.to_owned(),
        GraphNameRef::NamedNode(node) => node.to_string(),
    };
    let subject = match subject {
        NamedOrBlankNodeRef::NamedNode(node) => node.to_string(),
        NamedOrBlankNodeRef::BlankNode(_) => BLANK.to_owned(),
    };
    format!("{graph} {subject} {} ", predicate.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Quad;

    fn quads(text: &str) -> Vec<Quad> {
        oxttl::NQuadsParser::new().for_slice(text).map(Result::unwrap).collect()
    }

    fn expected() -> Expected {
        let exact = quads(&ANSWER.concat());
        let (number, exact) = exact.split_last().unwrap();
        let Quad { graph_name, subject, predicate, .. } = number;
        let datatype = NamedNodeRef::new_unchecked("urn:d");
        Expected::new(exact, vec![super::number(graph_name, subject, predicate.as_ref(), datatype)])
    }

    const ANSWER: [&str; 5] = [
        "<urn:s> <urn:p> <urn:o> .\n",
        "<urn:s> <urn:p> _:b .\n",
        "_:b <urn:p> \"x y\"@en-GB _:g .\n",
        "_:b <urn:p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> _:g .\n",
        "<urn:s> <urn:p> \"1.5E0\"^^<urn:d> .\n",
    ];

    fn answers(lines: &[&str]) -> bool {
        expected().is_answered_by(quads(&lines.concat()).iter().map(Quad::as_ref))
    }

    #[test]
    fn the_expected_quads_answer() {
        assert!(answers(&ANSWER));
    }

    #[test]
    fn a_missing_repeated_or_further_quad_does_not_answer() {
        for index in 0..ANSWER.len() {
            let mut fewer = ANSWER.to_vec();
            let removed = fewer.remove(index);
            assert!(!answers(&fewer), "without {removed}");
            let mut more = ANSWER.to_vec();
            more.push(removed);
            assert!(!answers(&more), "twice {removed}");
        }
        let mut more = ANSWER.to_vec();
        more.push("<urn:s> <urn:q> <urn:o> .\n");
        assert!(!answers(&more));
    }

    #[test]
    fn a_quad_with_another_part_does_not_answer() {
        for (index, other) in [
            (0, "<urn:other> <urn:p> <urn:o> .\n"),
            (0, "<urn:s> <urn:other> <urn:o> .\n"),
            (0, "<urn:s> <urn:p> <urn:other> .\n"),
            (0, "<urn:s> <urn:p> <urn:o> <urn:g> .\n"),
            (1, "<urn:s> <urn:p> _:b _:g .\n"),
            (2, "_:b <urn:p> \"x y\"@fr _:g .\n"),
            (2, "_:b <urn:p> \"x y\" _:g .\n"),
            (3, "_:b <urn:p> \"2\"^^<http://www.w3.org/2001/XMLSchema#integer> _:g .\n"),
            (3, "_:b <urn:p> \"1\"^^<urn:other> _:g .\n"),
            (4, "<urn:s> <urn:p> \"1.5E0\"^^<urn:other> .\n"),
        ] {
            let mut lines = ANSWER.to_vec();
            lines[index] = other;
            assert!(!answers(&lines), "{other}");
        }
    }
}
