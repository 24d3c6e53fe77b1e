//! The quads that a document must yield, and the comparison with those that the library emitted.

use oxrdf::{GraphNameRef, NamedOrBlankNodeRef, QuadRef, TermRef};
use std::collections::HashMap;

/// The quads that a document must yield, as text with all blank nodes alike.
#[derive(Debug, Default)]
pub(in crate::rdf) struct Expected {
    pub(super) exact: Vec<String>,
    /// Numbers with a fraction or exponent, whose lexical form is left to the library.
    pub(super) numbers: Vec<String>,
}

impl Expected {
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

    pub(super) fn len(&self) -> usize {
        self.exact.len() + self.numbers.len()
    }
}

/// A quad's graph, subject and predicate, and its object, as text.
fn describe(quad: QuadRef<'_>) -> (String, String) {
    let graph = match quad.graph_name {
        GraphNameRef::DefaultGraph => DEFAULT.to_owned(),
        GraphNameRef::BlankNode(_) => BLANK.to_owned(),
        GraphNameRef::NamedNode(node) => node.to_string(),
    };
    let subject = match quad.subject {
        NamedOrBlankNodeRef::NamedNode(node) => node.to_string(),
        NamedOrBlankNodeRef::BlankNode(_) => BLANK.to_owned(),
    };
    let object = match quad.object {
        TermRef::NamedNode(node) => node.to_string(),
        TermRef::BlankNode(_) => BLANK.to_owned(),
        TermRef::Literal(literal) => match literal.language() {
            Some(language) => tagged(literal.value(), language),
            None => typed(literal.value(), literal.datatype().as_str()),
        },
        TermRef::Triple(_) => "a triple".to_owned(),
    };
    (place(&graph, &subject, quad.predicate.as_str()), object)
}

pub(super) const DEFAULT: &str = "";
pub(super) const BLANK: &str = "_:";

pub(super) fn place(graph: &str, subject: &str, predicate: &str) -> String {
    format!("{graph} {subject} {predicate} ")
}

pub(super) fn typed(value: &str, datatype: &str) -> String {
    format!("^^{datatype} {value}")
}

pub(super) fn tagged(value: &str, language: &str) -> String {
    format!("@{} {value}", language.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Quad;

    fn quads(text: &str) -> Vec<Quad> {
        oxttl::NQuadsParser::new().for_slice(text).map(Result::unwrap).collect()
    }

    fn expected() -> Expected {
        let integer = "http://www.w3.org/2001/XMLSchema#integer";
        Expected {
            exact: vec![
                format!("{}<urn:o>", place(DEFAULT, "<urn:s>", "urn:p")),
                format!("{}{BLANK}", place(DEFAULT, "<urn:s>", "urn:p")),
                format!("{}{}", place(BLANK, BLANK, "urn:p"), tagged("x y", "en-GB")),
                format!("{}{}", place(BLANK, BLANK, "urn:p"), typed("1", integer)),
            ],
            numbers: vec![format!("{}^^urn:d", place(DEFAULT, "<urn:s>", "urn:p"))],
        }
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
