//! Stage 3: the intent part to a graph with exactly one `a2a:Intent`.

use super::{Digest, RdfPart};
use crate::limits::Limits;
use crate::rdf::{Budget, RdfError, canon, parse_graph};
use crate::refusal::{Reason, Refusal, Stage};
use crate::vocab;
use oxrdf::vocab::rdf;
use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNode};

/// A bounded default graph with exactly one subject typed `a2a:Intent`.
#[derive(Debug)]
pub(crate) struct IntentGraph {
    pub(crate) graph: Graph,
    /// The one intent.
    pub(crate) node: NamedOrBlankNode,
    /// `sha256:` and the hexadecimal RDFC-1.0 hash of the graph.
    pub(crate) hash: String,
}

impl IntentGraph {
    /// Parses the part and finds its intent (PP-2, PP-8).
    ///
    /// # Errors
    /// `GRAPH_MALFORMED`, `GRAPH_TOO_LARGE`, `REMOTE_CONTEXT`, `INTENT_AMBIGUOUS`.
    pub(crate) fn read(part: &RdfPart, limits: &Limits, budget: &mut Budget) -> Result<Self, Refusal> {
        let unreadable = |error| refuse(part, error);
        let graph = parse_graph(&part.text, part.media_type, limits).map_err(unreadable)?;
        let node = only_intent(&graph).map_err(|count| {
            Refusal::new(Stage::Intent, Reason::IntentAmbiguous).with(|evidence| {
                evidence.path = Some(pointer(part));
                evidence.seen = Some(format!("{count} subjects typed a2a:Intent"));
                evidence.expected = Some("1".into());
            })
        })?;
        let canonical = canon::graph(&graph, budget).map_err(unreadable)?;
        let hash = format!("sha256:{}", Digest::of(canonical));
        Ok(Self { graph, node, hash })
    }
}

/// The one subject typed `a2a:Intent`, else how many there are.
fn only_intent(graph: &Graph) -> Result<NamedOrBlankNode, usize> {
    let class = NamedNodeRef::new_unchecked(vocab::a2a::INTENT);
    let mut intents = graph.subjects_for_predicate_object(rdf::TYPE, class);
    match (intents.next(), intents.next()) {
        (Some(intent), None) => Ok(intent.into_owned()),
        (None, _) => Err(0),
        (Some(_), Some(_)) => Err(2 + intents.count()),
    }
}

pub(super) fn refuse(part: &RdfPart, error: RdfError) -> Refusal {
    let reason = match error {
        RdfError::Malformed(_) => Reason::GraphMalformed,
        RdfError::TooLarge(_) | RdfError::BudgetExceeded => Reason::GraphTooLarge,
        RdfError::RemoteContext(_) => Reason::RemoteContext,
    };
    Refusal::new(Stage::Intent, reason).with(|evidence| {
        evidence.path = Some(pointer(part));
        evidence.detail = Some(error.to_string());
        if let RdfError::RemoteContext(url) = error {
            evidence.seen = Some(url);
        }
    })
}

fn pointer(part: &RdfPart) -> String {
    format!("/parts/{}/text", part.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdf::RdfMediaType;

    const PREFIXES: &str = "@prefix a2a: <https://w3id.org/jeswr/a2a#> . @prefix s: <https://schema.org/> .";

    fn read_within(text: &str, limits: &Limits) -> Result<IntentGraph, Refusal> {
        let text = format!("{PREFIXES} {text}");
        let part = RdfPart { index: 1, media_type: RdfMediaType::Turtle, text };
        IntentGraph::read(&part, limits, &mut Budget::new(limits))
    }

    fn read(text: &str) -> Result<IntentGraph, Refusal> {
        read_within(text, &Limits::default())
    }

    #[track_caller]
    fn assert_refused(result: Result<IntentGraph, Refusal>, reason: Reason) {
        let refusal = result.expect_err("refused");
        assert_eq!((refusal.stage(), refusal.reason()), (Stage::Intent, reason));
        assert_eq!(refusal.evidence().path.as_deref(), Some("/parts/1/text"));
    }

    #[test]
    fn one_intent_is_found_whatever_its_node() {
        let named = read("<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ] .").unwrap();
        assert_eq!(named.node.to_string(), "<urn:i>");
        assert_eq!(named.graph.len(), 3);
        assert!(read("[] a a2a:Intent .").unwrap().node.is_blank_node());
    }

    #[test]
    fn the_hash_is_of_the_graph_and_not_of_its_text() {
        let first = read("[] a a2a:Intent ; a2a:action [ a s:ReadAction ] .").unwrap();
        let second =
            read("_:x a s:ReadAction . _:y a2a:action _:x ; a <https://w3id.org/jeswr/a2a#Intent> .")
                .unwrap();
        let other = read("[] a a2a:Intent ; a2a:action [ a s:DeleteAction ] .").unwrap();
        assert_eq!(first.hash, second.hash);
        assert_ne!(first.hash, other.hash);
        assert!(first.hash.parse::<crate::protocol::ProtocolHash>().is_ok());
    }

    #[test]
    fn no_intent_or_two_are_ambiguous() {
        for text in [
            "",
            "<urn:i> a a2a:intent .",
            "<urn:i> a a2a:Intent . <urn:j> a a2a:Intent, s:Thing .",
            "[] a a2a:Intent . [] a a2a:Intent .",
        ] {
            assert_refused(read(text), Reason::IntentAmbiguous);
        }
    }

    #[test]
    fn an_intent_that_is_not_rdf_is_malformed() {
        assert_refused(read("<urn:i> a a2a:Intent"), Reason::GraphMalformed);
        assert_refused(read("<i> a a2a:Intent ."), Reason::GraphMalformed);
    }

    #[test]
    fn a_graph_over_its_limits_is_too_large() {
        let limits = Limits { triples: 1, ..Limits::default() };
        assert!(read_within("<urn:i> a a2a:Intent .", &limits).is_ok());
        assert_refused(read_within("<urn:i> a a2a:Intent, s:Thing .", &limits), Reason::GraphTooLarge);
    }

    #[test]
    fn octets_are_bounded_before_any_parser_runs() {
        let limits = Limits { graph_bytes: 100, ..Limits::default() };
        assert_refused(read_within("<urn:i> a a2a:Intent .", &limits), Reason::GraphTooLarge);
        for media_type in [RdfMediaType::Turtle, RdfMediaType::JsonLd] {
            let part = RdfPart { index: 1, media_type, text: "x".repeat(101) };
            let result = IntentGraph::read(&part, &limits, &mut Budget::new(&limits));
            assert_refused(result, Reason::GraphTooLarge);
        }
    }

    #[test]
    fn a_graph_that_costs_too_much_to_hash_is_too_large() {
        // A clique of blank nodes tells none of them apart.
        let nodes: Vec<_> = (0..10).map(|node| format!("_:b{node}")).collect();
        let clique: String =
            nodes.iter().map(|node| format!("{node} s:knows {} . ", nodes.join(","))).collect();
        assert_refused(read(&format!("<urn:i> a a2a:Intent . {clique}")), Reason::GraphTooLarge);
    }

    #[test]
    fn every_error_of_the_parser_has_its_reason() {
        let part = RdfPart { index: 1, media_type: RdfMediaType::JsonLd, text: String::new() };
        for (error, reason) in [
            (RdfError::Malformed("x".into()), Reason::GraphMalformed),
            (RdfError::TooLarge("x"), Reason::GraphTooLarge),
            (RdfError::BudgetExceeded, Reason::GraphTooLarge),
            (RdfError::RemoteContext("https://evil.example/c".into()), Reason::RemoteContext),
        ] {
            assert_eq!(refuse(&part, error).reason(), reason);
        }
        let refusal = refuse(&part, RdfError::RemoteContext("https://evil.example/c".into()));
        assert_eq!(refusal.evidence().seen.as_deref(), Some("https://evil.example/c"));
    }
}
