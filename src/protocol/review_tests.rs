use super::*;
use crate::protocol::{Binding, FindingKind as Kind, ProtocolSettings, Severity};
use crate::rdf::{RdfMediaType, parse_graph};
use crate::shape::Validation;
use crate::shape::tests::Numbers;
use std::collections::BTreeMap;

const PREFIXES: &str = "@prefix a2a: <https://w3id.org/jeswr/a2a#>. @prefix schema: <https://schema.org/>.
    @prefix sh: <http://www.w3.org/ns/shacl#>. @prefix ex: <https://example.org/>.
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>. @prefix owl: <http://www.w3.org/2002/07/owl#>.
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#>. ";
const DOCUMENT: &str = "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:S. ";
const SHAPE: &str = "ex:S a sh:NodeShape; sh:property [ sh:path ex:name; sh:minCount 1 ]. ";

fn review_text(text: &str) -> Review {
    ProtocolDocument::review(text, "text/turtle", &Limits::default())
}

/// The review of a document with the request shape `ex:S`.
fn review(shapes: &str) -> Review {
    review_text(&format!("{PREFIXES}{DOCUMENT}{shapes}"))
}

fn load(text: &str) -> Result<ProtocolDocument, LoadError> {
    let settings = ProtocolSettings {
        name: None,
        source: None,
        hash: ProtocolDocument::hash_of(text, "text/turtle", &Limits::default())?,
        actions: BTreeMap::new(),
        parameters: BTreeMap::new(),
        security_bearing: true,
        binding: Binding::Accepted,
        declared: true,
    };
    ProtocolDocument::load(text, "text/turtle", settings, &Limits::default())
}

fn kinds(review: &Review) -> BTreeSet<FindingKind> {
    review.findings().iter().map(Finding::kind).collect()
}

/// A document with these shapes is refused for this, and cannot be loaded.
#[track_caller]
fn refused_for(kind: Kind, shapes: &str) -> Review {
    let review = review(shapes);
    assert!(!review.accepted(), "{shapes}");
    assert!(kinds(&review).contains(&kind), "{shapes}\n{:#?}", review.findings());
    assert!(load(&format!("{PREFIXES}{DOCUMENT}{shapes}")).is_err(), "{shapes}");
    review
}

#[track_caller]
fn accepted(shapes: &str) -> Review {
    let review = review(shapes);
    assert!(review.accepted(), "{shapes}\n{:#?}", review.findings());
    assert!(load(&format!("{PREFIXES}{DOCUMENT}{shapes}")).is_ok(), "{shapes}");
    review
}

/// One constraint more on the request shape.
fn with(constraint: &str) -> String {
    format!("{SHAPE} ex:S {constraint} .")
}

fn shipped(name: &str) -> String {
    std::fs::read_to_string(format!("{}/policies/{name}", env!("CARGO_MANIFEST_DIR"))).expect("it is shipped")
}

#[test]
fn the_shipped_documents_are_accepted() {
    let grant = review_text(&shipped("grant-access.ttl"));
    assert!(grant.accepted(), "{grant:#?}");
    let same =
        ProtocolDocument::review(&shipped("grant-access.jsonld"), "application/ld+json", &Limits::default());
    assert_eq!(same.hash(), grant.hash());
    assert_eq!(same.cost(), grant.cost());
    let only = |class: &str| ActionClasses::Pinned(BTreeSet::from([class.to_owned()]));
    assert_eq!(*grant.classes(), only(a2a::GRANT_ACTION));
    let read = review_text(&shipped("read.ttl"));
    assert!(read.accepted(), "{read:#?}");
    assert_eq!(*read.classes(), only(crate::vocab::schema::READ_ACTION));
}

#[test]
fn whatever_is_given_is_reviewed() {
    let text = shipped("read.ttl");
    for end in (0..text.len()).step_by(53).filter(|end| text.is_char_boundary(*end)) {
        let review = review_text(&text[..end]);
        assert_eq!(review.accepted(), load(&text[..end]).is_ok());
    }
    for (text, media_type) in
        [("", "text/turtle"), ("{}", "application/ld+json"), ("\0", "text/turtle"), ("", "text/plain")]
    {
        let review = ProtocolDocument::review(text, media_type, &Limits::default());
        assert!(!review.accepted() && !review.findings().is_empty());
    }
    let limits = Limits { triples: 3, ..Limits::default() };
    let review = ProtocolDocument::review(&text, "text/turtle", &limits);
    assert_eq!(kinds(&review), BTreeSet::from([Kind::Unreadable]));
}

#[test]
fn every_finding_is_reported_and_not_only_the_first() {
    let review = refused_for(
        Kind::NotShaclCore,
        "ex:S a sh:NodeShape; sh:deactivated true; sh:node ex:Missing; sh:property ex:P; sh:sparql [].
         ex:P sh:path _:p; sh:pattern \"(a)\\\\1\"; sh:in _:l; sh:minCount -1. _:p sh:inversePath _:p.
         _:l rdf:first 1; rdf:rest _:l. ex:other owl:imports ex:more. ex:R sh:node ex:R.",
    );
    let expected = [
        Kind::NeedsAnotherGraph,
        Kind::DanglingReference,
        Kind::NotShaclCore,
        Kind::Recursive,
        Kind::UnusablePath,
        Kind::UnusableList,
        Kind::UnusablePattern,
        Kind::UnusableValue,
        Kind::Deactivated,
    ];
    assert!(BTreeSet::from(expected).is_subset(&kinds(&review)), "{:#?}", review.findings());
    let about =
        |kind| review.findings().iter().find(|finding| finding.kind() == kind).and_then(Finding::shape);
    assert_eq!(about(Kind::UnusablePattern), Some("<https://example.org/P>"));
    assert_eq!(about(Kind::Deactivated), Some("<https://example.org/S>"));
    assert!(review.findings().iter().all(|finding| !finding.advice().is_empty()));
    assert!(review.cost().is_none() && *review.classes() == ActionClasses::Unknown);
}

#[test]
fn findings_are_bounded() {
    let many: String = (0..300).map(|n| format!("ex:n{n} sh:unknown{n} 1. ")).collect();
    let review = refused_for(Kind::More, &with(&format!("ex:x 1. {many} ex:x ex:y 1")));
    assert_eq!(review.findings().len(), 101);
}

#[test]
fn the_document_is_one_with_request_shapes_in_its_graph() {
    let of = |text: &str| kinds(&review_text(&format!("{PREFIXES}{text}")));
    assert!(of(SHAPE).contains(&Kind::NotOneDocument));
    assert!(of("ex:p a a2a:ProtocolDocument. ").contains(&Kind::NoRequestShape));
    assert!(of("ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Elsewhere. ").contains(&Kind::ShapeMissing));
    assert!(of("ex:p a a2a:ProtocolDocument; a2a:requestShape \"x\". ").contains(&Kind::ShapeMissing));
}

#[test]
fn a_pin_is_compared_before_anything_else() {
    let text = format!("{PREFIXES}{DOCUMENT}{SHAPE}");
    let pin: ProtocolHash = review_text(&text).hash().expect("a graph").parse().expect("a hash");
    let pinned =
        |text: &str| ProtocolDocument::review_pinned(text, "text/turtle", Some(&pin), &Limits::default());
    assert!(pinned(&text).accepted());
    let other = pinned(&format!("{text} ex:S sh:sparql []."));
    assert_eq!(kinds(&other), BTreeSet::from([Kind::HashMismatch]));
    assert!(!other.accepted());
}

#[test]
fn what_is_not_shacl_core_is_a_finding() {
    for constraint in [
        "sh:sparql [ sh:select \"SELECT $this WHERE {}\" ]",
        "sh:select \"SELECT $this WHERE {}\"",
        "sh:ask \"ASK {}\"",
        "sh:target [ a sh:SPARQLTarget ]",
        "sh:target ex:t",
        "sh:targetShape ex:t",
        "sh:targetWhere ex:t",
        "sh:rule [ a sh:TripleRule ]",
        "sh:js [ sh:jsFunctionName \"f\" ]",
        "sh:expression [ sh:path ex:p ]",
        "sh:values [ sh:path ex:p ]",
        "sh:reifierShape ex:S",
        "sh:reificationRequired true",
        "sh:memberShape ex:S",
        "sh:uniqueMembers true",
        "sh:minListLength 1",
        "sh:singleLine true",
        "sh:someValue ex:S",
        "sh:nodeByExpression ex:S",
        "sh:subsetOf ex:p",
        "sh:rootClass ex:C",
        "sh:entailment ex:RDFS",
        "sh:declare [ sh:prefix \"ex\" ]",
    ] {
        refused_for(Kind::NotShaclCore, &with(constraint));
    }
    for class in [
        "SPARQLFunction",
        "SPARQLAskValidator",
        "ConstraintComponent",
        "JSConstraint",
        "Rule",
        "Function",
        "Parameter",
    ] {
        refused_for(Kind::NotShaclCore, &format!("{SHAPE} ex:x a sh:{class}."));
    }
    // Node expressions and lists where Core has a value.
    for constraint in
        ["sh:deactivated [ sh:path ex:p ]", "sh:nodeKind (sh:IRI sh:Literal)", "sh:class (ex:C ex:D)"]
    {
        refused_for(Kind::UnusableValue, &with(constraint));
    }
}

#[test]
fn another_graph_is_a_finding() {
    refused_for(Kind::NeedsAnotherGraph, &format!("{SHAPE} ex:p owl:imports ex:q."));
    refused_for(Kind::NeedsAnotherGraph, &format!("{SHAPE} ex:p sh:shapesGraph ex:q."));
    refused_for(Kind::NeedsAnotherGraph, &format!("{SHAPE} ex:p sh:shapesGraphWellFormed true."));
    for reference in [
        "sh:node ex:T",
        "sh:property ex:T",
        "sh:not ex:T",
        "sh:and (ex:T)",
        "sh:or (ex:T)",
        "sh:xone (ex:T)",
        "sh:property [ sh:path ex:q; sh:qualifiedValueShape ex:T; sh:qualifiedMinCount 1 ]",
    ] {
        refused_for(Kind::DanglingReference, &with(reference));
    }
}

#[test]
fn recursion_is_a_finding_whatever_it_leads_through() {
    for (to, back) in [
        ("sh:node ex:S", ""),
        ("sh:node ex:T", "ex:T sh:node ex:S."),
        ("sh:property ex:P", "ex:P sh:path ex:p; sh:node ex:S."),
        ("sh:property ex:P", "ex:P sh:path ex:p; sh:property ex:P."),
        ("sh:or (ex:T ex:S)", "ex:T sh:nodeKind sh:IRI."),
        ("sh:xone (ex:T)", "ex:T sh:and (ex:S)."),
        ("sh:not ex:S", ""),
        ("sh:property ex:P", "ex:P sh:path ex:p; sh:qualifiedValueShape ex:S; sh:qualifiedMinCount 1."),
    ] {
        refused_for(Kind::Recursive, &format!("{SHAPE} ex:S {to}. {back}"));
    }
}

#[test]
fn cyclic_and_large_paths_and_lists_are_findings() {
    let long: String = (0..33).map(|n| format!("ex:p{n} ")).collect();
    for path in [
        "_:p. _:p sh:inversePath _:p",
        "_:p. _:p sh:zeroOrMorePath _:p",
        "_:p. _:p sh:alternativePath (ex:a _:p)",
        "_:p. _:p rdf:first ex:a; rdf:rest (_:p)",
        "[ ex:unknown ex:a ]",
        &format!("[ sh:alternativePath ({long}) ]"),
    ] {
        refused_for(
            Kind::UnusablePath,
            &format!("{SHAPE} ex:S sh:property ex:P. ex:P sh:minCount 1; sh:path {path} ."),
        );
    }
    refused_for(
        Kind::UnusableList,
        &with("sh:property ex:P. ex:P sh:minCount 1; sh:path _:p. _:p rdf:first ex:a; rdf:rest _:p"),
    );
    refused_for(Kind::UnusableList, &with("sh:in _:l. _:l rdf:first ex:a; rdf:rest _:l"));
    refused_for(Kind::UnusableList, &with("sh:in _:l. _:l rdf:first ex:a; rdf:rest (), (ex:b)"));
    refused_for(Kind::UnusableList, &with("sh:or ()"));
    let large: String = (0..1_001).map(|n| format!("{n} ")).collect();
    refused_for(Kind::UnusableList, &with(&format!("sh:in ({large})")));
}

#[test]
fn patterns_of_the_linear_engine_are_accepted_and_no_others() {
    for pattern in ["(a+)+$", "(a|aa)+$", "(.*)*x", "^urn:[a-z]{1,32}$"] {
        accepted(&with(&format!("sh:pattern \"{pattern}\"; sh:flags \"smixq\"")));
    }
    for pattern in
        ["(a)\\\\1", "(?=a)a", "(?<!a)b", "a{1000}{1000}", "((a{10}){10}){10}", "(unclosed", &"a".repeat(257)]
    {
        refused_for(Kind::UnusablePattern, &with(&format!("sh:pattern \"{pattern}\"")));
    }
    refused_for(Kind::UnusablePattern, &with("sh:pattern \"a\"; sh:flags \"g\""));
}

#[test]
fn depth_number_and_length_are_findings() {
    let chain: String = (0..40).map(|level| format!("ex:N{level} sh:node ex:N{}. ", level + 1)).collect();
    refused_for(Kind::NestedTooDeep, &with(&format!("sh:node ex:N0. {chain} ex:N40 sh:nodeKind sh:IRI")));
    let many: String = (0..257).map(|n| format!("ex:N{n} a sh:NodeShape. ")).collect();
    refused_for(Kind::TooManyShapes, &with(&format!("sh:nodeKind sh:IRI. {many} ex:x ex:y 1")));
    refused_for(Kind::TermTooLong, &with(&format!("sh:hasValue \"{}\"", "x".repeat(1_025))));
    refused_for(
        Kind::TermTooLong,
        &with(&format!("sh:property [ sh:path ex:{}; sh:minCount 1 ]", "x".repeat(1_025))),
    );
}

#[test]
fn a_shape_is_of_its_kind_and_named_as_one() {
    refused_for(Kind::WrongKind, "ex:S a sh:NodeShape; sh:path ex:p; sh:minCount 1.");
    refused_for(Kind::WrongKind, &with("sh:property ex:T. ex:T sh:nodeKind sh:IRI"));
    refused_for(Kind::WrongKind, &with("sh:minCount 1"));
    refused_for(Kind::InferredShape, &format!("{SHAPE} ex:M rdfs:subClassOf sh:NodeShape."));
    refused_for(Kind::InferredShape, &format!("{SHAPE} ex:C a rdfs:Class; sh:nodeKind sh:IRI."));
    refused_for(Kind::UnusableValue, &with("sh:nodeKind \"IRI\""));
}

#[test]
fn a_deactivated_request_shape_is_a_finding() {
    refused_for(Kind::Deactivated, &with("sh:deactivated true"));
    let noted = accepted(&with("sh:property [ sh:path ex:q; sh:maxCount 1; sh:deactivated true ]"));
    assert!(kinds(&noted).contains(&Kind::InertShape));
}

#[test]
fn a_shape_that_lets_every_intent_pass_is_a_finding() {
    for shapes in [
        "ex:S a sh:NodeShape.",
        "ex:S a sh:NodeShape; sh:nodeKind sh:BlankNodeOrIRI.",
        "ex:S a sh:NodeShape; sh:class a2a:Intent; sh:targetClass a2a:Intent.",
        "ex:S a sh:NodeShape; sh:property [ sh:path ex:p ].",
        "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:minCount 0 ].",
        "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:uniqueLang false ].",
        "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:node ex:T ]. ex:T a sh:NodeShape.",
        "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:minCount 1; sh:deactivated true ].",
        "ex:S a sh:NodeShape; sh:closed false.",
        "ex:S a sh:NodeShape; sh:or (ex:T [ sh:nodeKind sh:IRI ]). ex:T a sh:NodeShape.",
        "ex:S a sh:NodeShape; sh:and (ex:T). ex:T sh:closed false.",
        "ex:S a sh:NodeShape; sh:not [ sh:in () ].",
        "ex:S a sh:NodeShape; sh:not [ sh:minLength 2; sh:maxLength 1 ].",
        "ex:S a sh:NodeShape; sh:not [ sh:property [ sh:path ex:p; sh:minCount 2; sh:maxCount 1 ] ].",
        "ex:S a sh:NodeShape; sh:not [ sh:property [ sh:path ex:p; sh:minCount 1; sh:in () ] ].",
        "ex:S a sh:NodeShape; sh:not [ sh:not ex:T ]. ex:T a sh:NodeShape.",
        "ex:S a sh:NodeShape; sh:xone (ex:T [ sh:in () ]). ex:T a sh:NodeShape.",
        "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:qualifiedValueShape [ sh:nodeKind sh:IRI ]; sh:qualifiedMinCount 0 ].",
    ] {
        refused_for(Kind::ConstrainsNothing, shapes);
    }
    for shapes in [
        "ex:S a sh:NodeShape; sh:nodeKind sh:IRI.",
        "ex:S a sh:NodeShape; sh:not [ sh:nodeKind sh:IRI ].",
        "ex:S a sh:NodeShape; sh:not [ sh:property [ sh:path ex:p; sh:in () ] ].",
        "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:nodeKind sh:BlankNodeOrIRI ].",
        "ex:S a sh:NodeShape; sh:xone (ex:T [ sh:nodeKind sh:IRI ]). ex:T a sh:NodeShape.",
        "ex:S a sh:NodeShape; sh:closed true.",
    ] {
        accepted(shapes);
    }
}

#[test]
fn a_shape_that_no_intent_can_fail_is_found_out_by_kinds_and_counts() {
    const Q: &str = "ex:Q a sh:NodeShape; sh:property [ sh:path ex:q; sh:minCount 1 ].";
    for constraint in [
        // Every node is of a kind, and no intent is a literal.
        "sh:or ( [ sh:nodeKind sh:IRI ] [ sh:nodeKind sh:BlankNodeOrLiteral ] )",
        "sh:xone ( [ sh:nodeKind sh:IRI ] [ sh:nodeKind sh:BlankNode ] [ sh:nodeKind sh:Literal ] )",
        "sh:property [ sh:path ex:p; sh:or ( [ sh:nodeKind sh:IRIOrLiteral ] [ sh:nodeKind sh:BlankNode ] ) ]",
        "sh:not [ sh:nodeKind sh:Literal ]",
        "sh:not [ sh:datatype xsd:string ]",
        "sh:not [ sh:datatype xsd:string; sh:nodeKind sh:IRI ]",
        "sh:or ( [ sh:class ex:C ] [ sh:class a2a:Intent ] )",
        // A shape or its negation.
        "sh:or ( ex:Q [ sh:not ex:Q ] )",
        "sh:xone ( [ sh:not ex:Q ] ex:Q )",
        // An intent has its type.
        "sh:property [ sh:path rdf:type; sh:hasValue a2a:Intent ]",
        "sh:property [ sh:path rdf:type; sh:minCount 1 ]",
        // A path that leads nowhere else leads to the node itself.
        "sh:property [ sh:path [ sh:zeroOrMorePath ex:p ]; sh:minCount 1 ]",
        "sh:property [ sh:path [ sh:zeroOrOnePath ex:p ]; sh:minCount 1 ]",
        // More than a graph holds.
        "sh:property [ sh:path ex:p; sh:maxCount 8001 ]",
        "sh:property [ sh:path ex:p; sh:qualifiedValueShape ex:Q; sh:qualifiedMaxCount 100000 ]",
        "sh:property [ sh:path ex:p; sh:qualifiedValueShape [ sh:in () ]; sh:qualifiedMaxCount 0 ]",
        "sh:property [ sh:path ex:p; sh:equals ex:p ]",
    ] {
        refused_for(Kind::ConstrainsNothing, &format!("{Q} ex:S a sh:NodeShape; {constraint}."));
    }
    for constraint in [
        "sh:or ( [ sh:nodeKind sh:IRI ] [ sh:nodeKind sh:IRIOrLiteral ] )",
        "sh:property [ sh:path ex:p; sh:or ( [ sh:nodeKind sh:IRI ] [ sh:nodeKind sh:BlankNode ] ) ]",
        "sh:property [ sh:path ex:p; sh:not [ sh:nodeKind sh:Literal ] ]",
        "sh:xone ( [ sh:nodeKind sh:IRI ] [ sh:nodeKind sh:BlankNodeOrIRI ] )",
        "sh:or ( ex:Q [ sh:not ex:Q; sh:nodeKind sh:IRI ] )",
        "sh:xone ( ex:Q [ sh:not ex:Q ] [ sh:nodeKind sh:IRI ] )",
        "sh:property [ sh:path rdf:type; sh:hasValue ex:C ]",
        "sh:property [ sh:path rdf:type; sh:hasValue a2a:Intent; sh:maxCount 1 ]",
        "sh:property [ sh:path rdf:type; sh:minCount 2 ]",
        "sh:property [ sh:path ex:p; sh:node [ sh:property [ sh:path rdf:type; sh:minCount 1 ] ] ]",
        "sh:property [ sh:path [ sh:zeroOrMorePath ex:p ]; sh:minCount 2 ]",
        "sh:property [ sh:path [ sh:oneOrMorePath ex:p ]; sh:minCount 1 ]",
        "sh:property [ sh:path ex:p; sh:maxCount 8000 ]",
        "sh:property [ sh:path ex:p; sh:equals ex:q ]",
        "sh:property [ sh:path ex:p; sh:qualifiedValueShape [ sh:nodeKind sh:IRI ]; sh:qualifiedMinCount 1 ]",
        "sh:property [ sh:path ex:p; sh:hasValue ex:v ]",
        "sh:disjoint ex:p",
        "sh:hasValue ex:i",
    ] {
        accepted(&format!("{Q} ex:S a sh:NodeShape; {constraint}."));
    }
    // A response has no type before a shape asks for one.
    let typed = "ex:R a sh:NodeShape; sh:property [ sh:path rdf:type; sh:minCount 1 ].";
    assert!(
        review_text(&format!("{PREFIXES}{DOCUMENT}{SHAPE} ex:p a2a:responseShape ex:R. {typed}")).accepted()
    );
}

#[test]
fn response_shapes_stand_under_the_same_rules() {
    let of = |response: &str| {
        review_text(&format!("{PREFIXES}{DOCUMENT}{SHAPE} ex:p a2a:responseShape ex:R. {response}"))
    };
    let fine = of("ex:R a sh:NodeShape; sh:property [ sh:path ex:q; sh:minCount 1 ].");
    assert!(fine.accepted() && fine.cost().is_some_and(|cost| cost.response_steps.is_some()), "{fine:#?}");
    assert_eq!(fine.response_shapes(), ["<https://example.org/R>"]);
    for (kind, response) in [
        (Kind::ConstrainsNothing, "ex:R a sh:NodeShape.".to_owned()),
        (Kind::Deactivated, "ex:R a sh:NodeShape; sh:nodeKind sh:IRI; sh:deactivated true.".to_owned()),
        (Kind::ShapeMissing, "ex:R sh:nodeKind sh:IRI.".to_owned()),
        (Kind::NotShaclCore, "ex:R a sh:NodeShape; sh:sparql [].".to_owned()),
        (Kind::Recursive, "ex:R a sh:NodeShape; sh:node ex:R.".to_owned()),
        (Kind::CostsTooMuch, dear("ex:R")),
    ] {
        let review = of(&response);
        assert!(!review.accepted() && kinds(&review).contains(&kind), "{response}: {:#?}", review.findings());
        let loaded = load(&format!("{PREFIXES}{DOCUMENT}{SHAPE} ex:p a2a:responseShape ex:R. {response}"));
        assert!(loaded.is_err(), "{response}");
    }
}

/// A shape whose values are asked about twice at each of so many levels.
fn dear(name: &str) -> String {
    let levels: String =
        (0..20).map(|n| format!("ex:N{n} a sh:NodeShape; sh:or (ex:N{m} ex:N{m}). ", m = n + 1)).collect();
    format!(
        "{name} a sh:NodeShape; sh:property [ sh:path ex:v; sh:node ex:N0 ]. {levels} ex:N20 a sh:NodeShape; sh:nodeKind sh:IRI."
    )
}

#[test]
fn a_worst_case_beyond_the_budget_is_refused_at_review() {
    let review = refused_for(Kind::CostsTooMuch, &dear("ex:S"));
    let cost = review.cost().expect("the shapes compile");
    assert!(cost.request_steps > cost.budget && cost.request_steps_at_limits > cost.request_steps);
    // The budget is the limit: a document that fits is refused where less is spent.
    let text = format!("{PREFIXES}{DOCUMENT}{SHAPE}");
    let cost = *review_text(&text).cost().expect("the shapes compile");
    let within = |steps: u64| {
        let limits = Limits { validation_steps: steps as usize, ..Limits::default() };
        ProtocolDocument::review(&text, "text/turtle", &limits).accepted()
    };
    assert!(within(cost.request_steps) && !within(cost.request_steps - 1));
}

#[test]
fn an_intent_within_the_figure_is_judged_to_the_end() {
    let text = shipped("read.ttl");
    let cost = *review_text(&text).cost().expect("the shapes compile");
    assert!(cost.triples_within_budget >= 32, "{cost:?}");
    let more = Limits { validation_steps: cost.budget as usize * 2, ..Limits::default() };
    let twice = ProtocolDocument::review(&text, "text/turtle", &more);
    assert!(twice.cost().is_some_and(|twice| twice.triples_within_budget > cost.triples_within_budget));
}

/// Classes that a request shape on actions leaves.
fn classes(on_actions: &str) -> ActionClasses {
    accepted(&format!("ex:S a sh:NodeShape; sh:property [ sh:path a2a:action; sh:minCount 1; {on_actions} ]. ex:T a sh:NodeShape."))
        .classes()
        .clone()
}

#[test]
fn the_classes_are_those_that_the_request_shapes_leave() {
    let pinned = |names: &[&str]| {
        ActionClasses::Pinned(names.iter().map(|name| format!("https://example.org/{name}")).collect())
    };
    let typed = |constraint: &str| format!("sh:node [ sh:property [ sh:path rdf:type; {constraint} ] ]");
    assert_eq!(classes(&typed("sh:hasValue ex:A")), pinned(&["A"]));
    assert_eq!(classes(&typed("sh:in (ex:A ex:B)")), pinned(&["A", "B"]));
    assert_eq!(classes("sh:class ex:A"), pinned(&["A"]));
    assert_eq!(classes("sh:property [ sh:path rdf:type; sh:in (ex:A) ]"), pinned(&["A"]));
    assert_eq!(classes("sh:or ([ sh:class ex:A ] [ sh:class ex:B ])"), pinned(&["A", "B"]));
    assert_eq!(classes("sh:xone ([ sh:class ex:A ] [ sh:class ex:B ])"), pinned(&["A", "B"]));
    assert_eq!(classes("sh:and ([ sh:class ex:A ] [ sh:nodeKind sh:IRI ])"), pinned(&["A"]));
    assert_eq!(classes(&format!("sh:class ex:B; {}", typed("sh:in (ex:A ex:B)"))), pinned(&["B"]));
    assert_eq!(classes("sh:class ex:A, ex:B"), pinned(&[]));
    let on_intent = |constraint: &str| accepted(&with(constraint)).classes().clone();
    assert_eq!(on_intent("sh:property [ sh:path (a2a:action rdf:type); sh:in (ex:A) ]"), pinned(&["A"]));
    assert_eq!(on_intent("sh:node [ sh:property [ sh:path a2a:action; sh:class ex:A ] ]"), pinned(&["A"]));
    assert_eq!(
        on_intent("ex:x 1. ex:T a sh:NodeShape; sh:targetObjectsOf a2a:action; sh:class ex:A"),
        pinned(&["A"])
    );
    // Another request shape narrows, because an intent conforms to all of them.
    assert_eq!(
        on_intent("sh:property [ sh:path a2a:action; sh:or ([ sh:class ex:A ] [ sh:class ex:B ]) ].
            ex:p a2a:requestShape ex:T. ex:T a sh:NodeShape; sh:property [ sh:path a2a:action; sh:class ex:B ]"),
        pinned(&["B"])
    );
}

#[test]
fn what_does_not_pin_the_class_leaves_it_open() {
    for on_actions in [
        "sh:nodeKind sh:IRI",
        "sh:hasValue ex:A",
        "sh:not [ sh:class ex:A ]",
        "sh:or ([ sh:class ex:A ] [ sh:nodeKind sh:IRI ])",
        "sh:qualifiedValueShape [ sh:class ex:A ]; sh:qualifiedMinCount 1",
        "sh:class ex:A; sh:deactivated true",
        "sh:node [ sh:property [ sh:path rdf:type; sh:minCount 1 ] ]",
        "sh:node [ sh:property [ sh:path [ sh:inversePath rdf:type ]; sh:in (ex:A) ] ]",
        "sh:node [ sh:property [ sh:path ex:q; sh:class ex:A ] ]",
        "sh:node [ sh:class ex:A; sh:deactivated true ]",
    ] {
        let shapes = format!("{SHAPE} ex:S sh:property [ sh:path a2a:action; {on_actions} ].");
        let review = accepted(&shapes);
        assert_eq!(*review.classes(), ActionClasses::Open, "{on_actions}");
        assert!(kinds(&review).contains(&Kind::OpenClasses));
    }
    // One action with the type is enough for this one.
    let some = accepted(&with("sh:property [ sh:path (a2a:action rdf:type); sh:hasValue ex:A ]"));
    assert_eq!(*some.classes(), ActionClasses::Open);
    let elsewhere = accepted(&with(
        "ex:x 1. ex:T a sh:NodeShape; sh:targetClass ex:Other; sh:property [ sh:path a2a:action; sh:class ex:A ]",
    ));
    assert_eq!(*elsewhere.classes(), ActionClasses::Open);
    assert!(kinds(&elsewhere).contains(&Kind::OwnTargets));
}

#[test]
fn an_allowlist_must_hold_every_class_that_can_be_asked_for() {
    let list = |classes: &[&str]| classes.iter().map(|class| (*class).to_owned()).collect::<BTreeSet<_>>();
    let on_actions =
        |constraint: &str| accepted(&with(&format!("sh:property [ sh:path a2a:action; {constraint} ]")));
    let (read, delete) = (crate::vocab::schema::READ_ACTION, crate::vocab::schema::DELETE_ACTION);
    let pinned = on_actions("sh:or ([ sh:class schema:ReadAction ] [ sh:class schema:DeleteAction ])");
    assert!(pinned.is_allowed(&list(&[read, delete])) && !pinned.is_allowed(&list(&[read])));
    let open = on_actions("sh:nodeKind sh:IRI");
    assert!(!open.is_allowed(&list(&[read, delete])));
    assert!(open.is_allowed(&default_actions().into_keys().collect()), "closed by the mapping");
    let none = on_actions("sh:class ex:A, ex:B");
    assert!(kinds(&none).contains(&Kind::NoClass) && !none.is_allowed(&list(&[read])));
    let unmapped = on_actions("sh:class ex:A");
    assert!(kinds(&unmapped).contains(&Kind::UnmappedClass) && !unmapped.is_allowed(&list(&[read])));
    let refused = review("ex:S a sh:NodeShape.");
    assert!(!refused.is_allowed(&default_actions().into_keys().collect()));
}

#[test]
fn a_review_as_json_has_stable_names() {
    let review = refused_for(Kind::NotShaclCore, &with("sh:sparql []"));
    let json = serde_json::to_value(&review).expect("JSON");
    assert_eq!(json["accepted"], false);
    assert_eq!(json["findings"][0]["kind"], "not-shacl-core");
    assert_eq!(json["findings"][0]["severity"], "refuses");
    assert_eq!(json["classes"], "unknown");
    let json = serde_json::to_value(accepted(&with("sh:property [ sh:path a2a:action; sh:class ex:A ]")))
        .expect("JSON");
    assert_eq!(json["classes"]["pinned"][0], "https://example.org/A");
    assert_eq!(json["findings"][0]["severity"], serde_json::json!(Severity::Note));
}

/// Threat 12, at stage 4: the verdict of a document's request shapes on `ex:i`.
fn judged(shapes: &str, intent: &str) -> bool {
    let document = load(&format!("{PREFIXES}{DOCUMENT}{shapes}")).expect("it loads");
    let data = parse_graph(&format!("{PREFIXES}{intent}"), RdfMediaType::Turtle, &Limits::default());
    let focus = NamedNode::new_unchecked("https://example.org/i").into();
    let judged = document.request_shapes.validate_focus(&data.expect("Turtle"), &focus, &Limits::default());
    matches!(judged, Ok(Validation::Conforms))
}

#[test]
fn a_request_shape_with_no_target_or_a_wrong_one_judges_the_intent() {
    for target in ["", "sh:targetClass ex:Other;", "sh:targetNode ex:other;", "sh:targetSubjectsOf ex:never;"]
    {
        let shapes = format!("ex:S a sh:NodeShape; {target} sh:property [ sh:path ex:name; sh:minCount 1 ].");
        assert!(judged(&shapes, "ex:i a a2a:Intent; ex:name 1. ex:other ex:name 1."), "{target}");
        assert!(!judged(&shapes, "ex:i a a2a:Intent. ex:other ex:name 1."), "{target}");
    }
}

#[test]
fn shapes_in_an_intent_loosen_nothing() {
    for own in [
        "ex:S sh:deactivated true.",
        "ex:S a sh:NodeShape; sh:targetNode ex:other.",
        "ex:p a a2a:ProtocolDocument; a2a:requestShape ex:Own. ex:Own a sh:NodeShape; sh:targetClass a2a:Intent.",
        "ex:i sh:shapesGraph ex:own.",
    ] {
        assert!(!judged(SHAPE, &format!("ex:i a a2a:Intent. {own}")), "{own}");
    }
}

/// What a random constraint is applied to.
#[derive(Clone, Copy)]
enum On {
    Intent,
    Action,
    Type,
}

/// A random constraint, for the body of a node shape.
fn constraint(numbers: &mut Numbers, on: On, depth: usize) -> String {
    let kind = numbers.below(12);
    if depth > 0 && kind < 6 {
        let mut member = || format!("[ {} ]", constraint(numbers, on, depth - 1));
        let (one, other) = (member(), member());
        return match kind {
            0 => format!("sh:or ( {one} {other} )"),
            1 => format!("sh:xone ( {one} {other} )"),
            2 => format!("sh:and ( {one} {other} )"),
            3 => format!("sh:not {one}"),
            4 => format!("sh:node {one}"),
            _ => format!("sh:node {one}; sh:deactivated {}", numbers.one(&["true", "false"])),
        };
    }
    let below = depth.saturating_sub(1);
    let count = numbers.one(&["", "", "", "sh:minCount 1;", "sh:maxCount 1;", "sh:deactivated true;"]);
    let (path, on) = match on {
        On::Type => {
            let of_types =
                ["in (ex:A ex:B)", "in (ex:B ex:C)", "hasValue ex:A", "hasValue ex:C", "nodeKind sh:IRI"];
            return format!("sh:{}", numbers.one(&of_types));
        }
        On::Action => match numbers.below(8) {
            0 => return format!("sh:class {}", numbers.one(&["ex:A", "ex:B"])),
            1 => (numbers.one(&["ex:q", "[ sh:inversePath ex:q ]"]), On::Action),
            2 => ("[ sh:inversePath a2a:action ]", On::Intent),
            3 => ("[ sh:alternativePath ( rdf:type ex:q ) ]", On::Type),
            4 => ("[ sh:zeroOrOnePath rdf:type ]", On::Type),
            _ => ("rdf:type", On::Type),
        },
        On::Intent => match numbers.below(8) {
            0 => ("rdf:type", On::Type),
            1 => ("[ sh:alternativePath ( a2a:action ex:q ) ]", On::Action),
            2 | 3 => ("( a2a:action rdf:type )", On::Type),
            _ => ("a2a:action", On::Action),
        },
    };
    let inner = constraint(numbers, on, below);
    match numbers.below(5) {
        0 => {
            let least = numbers.one(&["sh:qualifiedMinCount 1", "sh:qualifiedMaxCount 1"]);
            format!("sh:property [ sh:path {path}; sh:qualifiedValueShape [ {inner} ]; {least} ]")
        }
        _ if inner.contains("deactivated") => format!("sh:property [ sh:path {path}; {inner} ]"),
        _ => format!("sh:property [ sh:path {path}; {count} {inner} ]"),
    }
}

#[test]
fn the_action_of_a_conforming_intent_is_of_a_class_that_was_found() {
    let mut numbers = Numbers(0x00c1_a55e5);
    let (mut pinned, mut conforming) = (0, 0);
    for _ in 0..1_000 {
        let mut shapes = format!("{SHAPE} ex:S {}.", constraint(&mut numbers, On::Intent, 3));
        if numbers.below(3) == 0 {
            let (target, on) = [
                ("sh:targetObjectsOf a2a:action", On::Action),
                ("sh:targetClass a2a:Intent", On::Intent),
                ("sh:targetSubjectsOf a2a:action, ex:q", On::Intent),
                ("sh:targetObjectsOf ex:q", On::Action),
            ][numbers.below(4)];
            let body = constraint(&mut numbers, on, 2);
            shapes.push_str(&format!(" ex:X a sh:NodeShape; {target}; {body}."));
        }
        let text = format!("{PREFIXES}{DOCUMENT}{shapes}");
        let review = review_text(&text);
        let ActionClasses::Pinned(classes) = review.classes() else { continue };
        let Ok(document) = load(&text) else { continue };
        pinned += 1;
        for class in ["A", "B", "C", "D"] {
            for beside in
                ["", "ex:i ex:q ex:a.", "ex:a ex:q ex:b. ex:b a ex:A.", "ex:i a2a:action [ a ex:A ]."]
            {
                let intent = format!(
                    "{PREFIXES} ex:i a a2a:Intent; ex:name 1; a2a:action ex:a. ex:a a ex:{class}. {beside}"
                );
                let graph = parse_graph(&intent, RdfMediaType::Turtle, &Limits::default()).expect("Turtle");
                let focus = NamedNode::new_unchecked("https://example.org/i").into();
                let judged = document.request_shapes.validate_focus(&graph, &focus, &Limits::default());
                if matches!(judged, Ok(Validation::Conforms)) {
                    conforming += 1;
                    let class = format!("https://example.org/{class}");
                    assert!(classes.contains(&class), "{class} is not in {classes:?}\n{shapes}\n{beside}");
                }
            }
        }
    }
    println!("{pinned} documents pin classes, {conforming} intents conform to them");
    assert!(pinned > 100 && conforming > 100, "{pinned} {conforming}");
}
