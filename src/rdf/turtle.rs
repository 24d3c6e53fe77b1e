//! Turtle under limits (SEC-1).

use super::RdfError;
use super::labels::Labels;
use super::meter::Meter;
use crate::limits::Limits;
use oxrdf::{Graph, GraphNameRef};
use oxttl::TurtleParser;

/// Parses a Turtle document without a base.
///
/// # Errors
/// [`RdfError::TooLarge`] for a limit, [`RdfError::Malformed`] for anything that strict Turtle 1.1 does not read: a
/// relative or invalid IRI, an invalid language tag, a named graph, a quoted triple.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Graph, RdfError> {
    if text.len() > limits.graph_bytes {
        return Err(RdfError::TooLarge("octets in a graph"));
    }
    if nesting(text.as_bytes()) > limits.graph_depth {
        return Err(RdfError::TooLarge("levels of nesting"));
    }
    let mut meter = Meter::new(limits);
    let mut labels = Labels::default();
    let mut graph = Graph::new();
    for triple in TurtleParser::new().for_slice(text) {
        let triple = triple.map_err(|_| malformed())?;
        meter.count(triple.as_ref().in_graph(GraphNameRef::DefaultGraph))?;
        graph.insert(&labels.triple(triple));
    }
    Ok(graph)
}

fn malformed() -> RdfError {
    RdfError::Malformed("the text is not strict Turtle 1.1 without a base".into())
}

/// The deepest nesting of `[` and `(` outside of strings, IRIs and comments. Text that is not Turtle may be counted
/// wrongly; the parser refuses it afterwards.
fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let mut rest = text;
    while let Some((&octet, tail)) = rest.split_first() {
        rest = match octet {
            b'[' | b'(' => {
                depth += 1;
                deepest = deepest.max(depth);
                tail
            }
            b']' | b')' => {
                depth = depth.saturating_sub(1);
                tail
            }
            b'\\' => tail.get(1..).unwrap_or_default(),
            b'<' => after(tail, b">"),
            b'#' => after_line(tail),
            b'"' | b'\'' => after_string(octet, tail),
            _ => tail,
        };
    }
    deepest
}

/// What follows a string whose first quote has been read.
fn after_string(quote: u8, tail: &[u8]) -> &[u8] {
    // An empty short string reads as one opening of a long one unless a third quote is looked for.
    match (tail.strip_prefix(&[quote, quote]), tail.strip_prefix(&[quote])) {
        (Some(body), _) => after(body, &[quote; 3]),
        (None, Some(empty)) => empty,
        (None, None) => after(tail, &[quote]),
    }
}

/// What follows the next `end` that no backslash escapes.
fn after<'a>(mut rest: &'a [u8], end: &[u8]) -> &'a [u8] {
    while let Some((&octet, tail)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(end) {
            return after;
        }
        rest = if octet == b'\\' { tail.get(1..).unwrap_or_default() } else { tail };
    }
    rest
}

fn after_line(rest: &[u8]) -> &[u8] {
    let end = rest.iter().position(|octet| matches!(octet, b'\n' | b'\r')).unwrap_or(rest.len());
    rest.get(end..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Graph, RdfError> {
        parse(text, &Limits::default())
    }

    fn assert_malformed(text: &str) {
        assert!(matches!(read(text), Err(RdfError::Malformed(_))), "{text:?} gave {:?}", read(text));
    }

    #[test]
    fn plain_turtle_is_read() {
        let text = "@prefix e: <https://e.example/> .\nPREFIX f: <urn:f:>\n\
                    e:s a e:C ; e:p 1, 2.5, true, \"x\"@en-GB, ( e:a [ f:q \"y\" ] ) .";
        assert_eq!(read(text).map(|graph| graph.len()), Ok(11));
    }

    #[test]
    fn a_base_of_the_document_itself_is_read() {
        let graph = read("@base <https://e.example/d> . <#s> <p> <> .").unwrap();
        let triple = graph.iter().next().unwrap().to_string();
        assert_eq!(triple, "<https://e.example/d#s> <https://e.example/p> <https://e.example/d>");
    }

    #[test]
    fn relative_iris_are_refused() {
        for text in ["<> <urn:p> 1 .", "<s> <urn:p> 1 .", "<urn:s> <urn:p> <#o> .", "<urn:s> <p> 1 ."] {
            assert_malformed(text);
        }
        assert_malformed("@prefix e: <#> . e:s <urn:p> 1 .");
        assert_malformed("@base <d> . <s> <urn:p> 1 .");
        assert_malformed("<urn:s> <urn:p> \"1\"^^<integer> .");
    }

    #[test]
    fn invalid_iris_are_refused() {
        assert_malformed("<urn:s> <urn:p> <https://e.example/a b> .");
        assert_malformed("<urn:s> <urn:p> <https://e.example/\\u0020> .");
        assert_malformed("<urn:s> <urn:p> <https://e.example/%zz> .");
        assert_malformed("<urn:s> <urn:p> <https://[::1> .");
        assert_malformed("<urn:s> <urn:p> \"1\"^^<urn:a{b}> .");
        assert_malformed("@prefix e: <https://e.example/%> . <urn:s> <urn:p> e:zz .");
    }

    #[test]
    fn invalid_language_tags_are_refused() {
        assert_malformed("<urn:s> <urn:p> \"x\"@abcdefghijk .");
        assert_malformed("<urn:s> <urn:p> \"x\"@en-abcdefghijk .");
    }

    #[test]
    fn literals_that_canonicalizers_write_in_two_ways_are_refused() {
        assert_malformed("<urn:s> <urn:p> \"\\uFFFE\" .");
        assert_malformed("<urn:s> <urn:p> \"x\u{ffff}\"@en .");
        assert!(read("<urn:s> <urn:p> \"\\uFFFD\\u0000\\u007F\" .").is_ok());
    }

    #[test]
    fn language_strings_without_a_language_are_refused() {
        assert_malformed("<urn:s> <urn:p> \"x\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .");
    }

    #[test]
    fn named_graphs_and_quoted_triples_are_refused() {
        assert_malformed("<urn:g> { <urn:s> <urn:p> 1 . }");
        assert_malformed("{ <urn:s> <urn:p> 1 . }");
        assert_malformed("GRAPH <urn:g> { <urn:s> <urn:p> 1 . }");
        assert_malformed("<< <urn:s> <urn:p> 1 >> <urn:q> 2 .");
        assert_malformed("<urn:s> <urn:p> <<( <urn:s> <urn:p> 1 )>> .");
        assert_malformed("<urn:s> <urn:p> 1 {| <urn:q> 2 |} .");
        assert_malformed("<urn:s> <urn:p> 1 ~ <urn:r> .");
        assert_malformed("<urn:s> <urn:p> \"x\"@en--ltr .");
    }

    #[test]
    fn a_broken_statement_spoils_the_whole_document() {
        assert_malformed("<urn:s> <urn:p> 1 . oops . <urn:s> <urn:p> 2 .");
        assert_malformed("<urn:s> <urn:p> 1");
        assert_malformed("<urn:s> <urn:p> \"x");
        assert_malformed("<urn:s> e:p 1 .");
        assert_malformed("\u{feff}<urn:s> <urn:p> 1 .");
    }

    #[test]
    fn owl_imports_is_a_triple_and_nothing_else() {
        let text = "<urn:d> <http://www.w3.org/2002/07/owl#imports> <https://attacker.example/o> .";
        assert_eq!(read(text).map(|graph| graph.len()), Ok(1));
    }

    #[test]
    fn octets_are_bounded_before_parsing() {
        let limits = Limits { graph_bytes: 10, ..Limits::default() };
        assert_eq!(parse("not turtle at all", &limits), Err(RdfError::TooLarge("octets in a graph")));
    }

    #[test]
    fn triples_are_bounded_repetitions_included() {
        let limits = Limits { triples: 2, ..Limits::default() };
        let text = "<urn:s> <urn:p> 1, 1, 1 .";
        assert_eq!(parse(text, &limits), Err(RdfError::TooLarge("triples")));
    }

    #[test]
    fn terms_are_bounded_however_they_are_written() {
        let limits = Limits { term_bytes: 64, ..Limits::default() };
        let long = "x".repeat(40);
        for text in [
            format!("<urn:s> <urn:p> \"{long}{long}\" ."),
            format!("<urn:s> <urn:p> <urn:{long}{long}> ."),
            format!("<urn:s> <urn:{long}{long}> 1 ."),
            format!("<urn:s> <urn:p> \"1\"^^<urn:{long}{long}> ."),
            format!("@prefix e: <urn:{long}> . e:{long} <urn:p> 1 ."),
            format!("_:{long}{long} <urn:p> 1 ."),
        ] {
            assert_eq!(parse(&text, &limits), Err(RdfError::TooLarge("octets in a term")), "{text}");
        }
    }

    #[test]
    fn prefixes_do_not_multiply_the_document() {
        let text = format!("@prefix e: <urn:{}> .\n{}", "x".repeat(16_000), "e:a e:b e:c .\n".repeat(9_000));
        assert_eq!(read(&text), Err(RdfError::TooLarge("octets in all terms")));
    }

    #[test]
    fn blank_nodes_are_bounded() {
        let limits = Limits { blank_nodes: 2, ..Limits::default() };
        assert!(parse("_:a <urn:p> _:b . _:b <urn:p> _:a .", &limits).is_ok());
        let text = "_:a <urn:p> _:b . [] <urn:p> _:a .";
        assert_eq!(parse(text, &limits), Err(RdfError::TooLarge("blank nodes")));
    }

    #[test]
    fn nesting_is_bounded_without_recursion() {
        for (open, close) in [("[ <urn:p> ", " ]"), ("( ", " )")] {
            let nested = |depth| format!("<urn:s> <urn:p> {}1{} .", open.repeat(depth), close.repeat(depth));
            assert!(read(&nested(32)).is_ok());
            assert_eq!(read(&nested(33)), Err(RdfError::TooLarge("levels of nesting")));
            assert_eq!(read(&nested(10_000)), Err(RdfError::TooLarge("levels of nesting")));
            let loose = Limits { graph_depth: usize::MAX, ..Limits::default() };
            assert!(parse(&nested(900), &loose).is_ok());
        }
    }

    #[test]
    fn nesting_is_counted_only_where_it_is_nesting() {
        let brackets = "[(".repeat(40);
        for text in [
            format!("<urn:s> <urn:p> \"{brackets}\" ."),
            format!("<urn:s> <urn:p> '''{brackets}'{brackets}''', '', \"\", \"\\\"{brackets}\" ."),
            format!("# {brackets}\n<urn:s> <urn:p> 1 ."),
            format!("<urn:s> <urn:p> <urn:{}> .", "(".repeat(40)),
            format!("@prefix e: <urn:> . <urn:s> <urn:p> e:{} .", "\\(".repeat(40)),
        ] {
            assert!(read(&text).is_ok(), "{text}");
        }
        let hidden = format!("<urn:s> <urn:p> '', {}1{} .", "(".repeat(40), ")".repeat(40));
        assert_eq!(read(&hidden), Err(RdfError::TooLarge("levels of nesting")));
    }
}
