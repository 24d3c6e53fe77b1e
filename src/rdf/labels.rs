//! Labels of blank nodes, in order of first appearance. Parsers invent random ones; reports name nodes by them, and the
//! same octets must give the same report.

use oxrdf::{BlankNode, GraphName, NamedOrBlankNode, Quad, Term, Triple};
use std::collections::HashMap;

/// The labels of one document.
#[derive(Default)]
pub(super) struct Labels(HashMap<BlankNode, BlankNode>);

impl Labels {
    /// The triple with this document's labels.
    pub(super) fn triple(&mut self, triple: Triple) -> Triple {
        Triple {
            subject: self.subject(triple.subject),
            predicate: triple.predicate,
            object: self.object(triple.object),
        }
    }

    /// The quad with this document's labels.
    pub(super) fn quad(&mut self, quad: Quad) -> Quad {
        Quad {
            subject: self.subject(quad.subject),
            predicate: quad.predicate,
            object: self.object(quad.object),
            graph_name: match quad.graph_name {
                GraphName::BlankNode(node) => self.node(node).into(),
                other => other,
            },
        }
    }

    fn subject(&mut self, subject: NamedOrBlankNode) -> NamedOrBlankNode {
        match subject {
            NamedOrBlankNode::BlankNode(node) => self.node(node).into(),
            named => named,
        }
    }

    fn object(&mut self, object: Term) -> Term {
        match object {
            Term::BlankNode(node) => self.node(node).into(),
            other => other,
        }
    }

    fn node(&mut self, node: BlankNode) -> BlankNode {
        let next = self.0.len();
        // INVARIANT: `b` and digits is a valid label.
        self.0.entry(node).or_insert_with(|| BlankNode::new_unchecked(format!("b{next}"))).clone()
    }
}

#[cfg(test)]
mod tests {
    use crate::limits::Limits;
    use crate::rdf::{RdfMediaType, parse_graph};

    fn lines(text: &str, media_type: RdfMediaType) -> Vec<String> {
        let graph = parse_graph(text, media_type, &Limits::default()).unwrap();
        let mut lines: Vec<_> = graph.iter().map(|triple| triple.to_string()).collect();
        lines.sort();
        lines
    }

    #[test]
    fn the_same_octets_give_the_same_labels() {
        let turtle = "<urn:s> <urn:p> [ <urn:q> _:x , [] ] . _:x <urn:r> ( 1 2 ) .";
        let json = r#"{"@id":"urn:s","urn:p":[{"urn:q":{"@id":"_:x"}},{"urn:q":{"urn:r":{"@list":[1,2]}},"urn:a":1,"urn:z":{"urn:c":3}}]}"#;
        for (text, media_type) in [(turtle, RdfMediaType::Turtle), (json, RdfMediaType::JsonLd)] {
            let first = lines(text, media_type);
            assert!(first.len() > 5);
            for _ in 0..20 {
                assert_eq!(lines(text, media_type), first);
            }
        }
    }
}
