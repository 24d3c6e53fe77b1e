use super::compiled::{CompiledShapes, ShapeError, Validation};
use crate::limits::Limits;
use oxrdf::{Graph, NamedNode, NamedOrBlankNode, Term, TermRef};
use oxttl::TurtleParser;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const PREFIXES: &str = "@prefix sh: <http://www.w3.org/ns/shacl#>. @prefix ex: <https://example.org/>.
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>. @prefix owl: <http://www.w3.org/2002/07/owl#>.
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>. @prefix xsd: <http://www.w3.org/2001/XMLSchema#>. ";

/// Numbers in an order that one seed gives.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    pub(crate) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A file of the shared material beside the repository; where there is none, says so.
pub(crate) fn shared(path: &str) -> Option<String> {
    let path = shared_path(path);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(_) => {
            println!("skipped: no {}", path.display());
            None
        }
    }
}

pub(crate) fn shared_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path)
}

fn graph(body: &str) -> Graph {
    let text = format!("{PREFIXES}{body}");
    TurtleParser::new().for_slice(&text).collect::<Result<_, _>>().expect("the test's Turtle is well-formed")
}

fn node(local: &str) -> NamedOrBlankNode {
    NamedNode::new_unchecked(format!("https://example.org/{local}")).into()
}

/// Compiles shapes with `ex:S` as the root.
fn compile(shapes: &str) -> Result<CompiledShapes, ShapeError> {
    CompiledShapes::compile(&graph(shapes), &[node("S")])
}

fn refused(shapes: &str) -> String {
    match compile(shapes) {
        Err(ShapeError::Unusable(why)) => why,
        other => panic!("{shapes} gave {other:?}"),
    }
}

/// Judges `ex:i` of some data by `ex:S`.
fn judge_within(shapes: &str, data: &str, limits: &Limits) -> Result<Validation, ShapeError> {
    compile(shapes).expect("the test's shapes compile").validate_focus(&graph(data), &node("i"), limits)
}

fn judge(shapes: &str, data: &str) -> Validation {
    judge_within(shapes, data, &Limits::default()).expect("the test's data is within the budget")
}

fn conforms(shapes: &str, data: &str) -> bool {
    matches!(judge(shapes, data), Validation::Conforms)
}

/// The report on `ex:i` by `ex:S`.
fn report(shapes: &str, data: &str) -> String {
    match judge(shapes, data) {
        Validation::Violates { report, .. } => report,
        Validation::Conforms => panic!("{data} conforms"),
    }
}

mod syntax {
    use super::*;

    #[test]
    fn what_is_not_shacl_core_is_refused() {
        for shapes in [
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:sparql [ sh:select \"SELECT $this WHERE {}\" ].",
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:js [ sh:jsFunctionName \"f\" ].",
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:target [ a sh:SPARQLTarget ].",
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:rule [ sh:order 1 ].",
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:reifierShape ex:S.",
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI. ex:C a sh:ConstraintComponent.",
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI. ex:other sh:entailment ex:RDFS.",
        ] {
            assert!(refused(shapes).contains("SHACL Core"), "{shapes}");
        }
    }

    #[test]
    fn what_needs_another_graph_is_refused() {
        assert!(
            refused("ex:S a sh:NodeShape; sh:nodeKind sh:IRI. ex:p owl:imports ex:q.").contains("imports")
        );
        refused("ex:S a sh:NodeShape; sh:nodeKind sh:IRI. ex:p sh:shapesGraph ex:q.");
        for reference in ["sh:node ex:T", "sh:property ex:T", "sh:not ex:T", "sh:and (ex:T)", "sh:or (ex:T)"]
        {
            let why = refused(&format!(
                "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; {reference}. ex:T rdfs:label \"T\"."
            ));
            assert!(why.contains("no shape of the graph"), "{why}");
        }
        refused(
            "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:minCount 1; sh:qualifiedValueShape ex:T;
            sh:qualifiedMinCount 1 ].",
        );
    }

    #[test]
    fn recursion_is_refused() {
        for shapes in [
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:node ex:S.",
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:property ex:P. ex:P sh:path ex:p; sh:node ex:S.",
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:node ex:T. ex:T sh:not ex:U. ex:U sh:or (ex:V ex:T).
             ex:V sh:nodeKind sh:IRI.",
        ] {
            assert!(refused(shapes).contains("refers to itself"), "{shapes}");
        }
    }

    #[test]
    fn recursion_through_a_disjoint_sibling_is_refused() {
        let shapes = |disjoint: bool| {
            format!(
                "ex:S a sh:NodeShape; sh:property ex:A, ex:B.
                 ex:A sh:path ex:p; sh:qualifiedValueShape ex:QA; sh:qualifiedMinCount 1;
                   sh:qualifiedValueShapesDisjoint {disjoint}.
                 ex:B sh:path ex:p; sh:qualifiedValueShape ex:QB; sh:qualifiedMinCount 1.
                 ex:QA sh:nodeKind sh:IRI. ex:QB sh:property ex:A."
            )
        };
        assert!(compile(&shapes(false)).is_ok());
        assert!(refused(&shapes(true)).contains("refers to itself"));
    }

    #[test]
    fn a_shape_may_be_reached_twice() {
        assert!(
            compile(
                "ex:S a sh:NodeShape; sh:node ex:A, ex:B. ex:A sh:node ex:C. ex:B sh:node ex:C.
            ex:C sh:nodeKind sh:IRI."
            )
            .is_ok()
        );
    }

    #[test]
    fn too_many_shapes_are_refused() {
        let many: String = (0..300).map(|shape| format!("ex:N{shape} a sh:NodeShape. ")).collect();
        assert!(refused(&format!("ex:S a sh:NodeShape; sh:nodeKind sh:IRI. {many}")).contains("more than"));
    }

    #[test]
    fn large_lists_and_paths_are_refused() {
        let members: String = (0..1_500).map(|member| format!("{member} ")).collect();
        refused(&format!("ex:S a sh:NodeShape; sh:in ({members})."));
        let steps = "ex:p ".repeat(40);
        refused(&format!("ex:S a sh:NodeShape; sh:property [ sh:path ({steps}); sh:minCount 1 ]."));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let chain: String = (0..40).map(|level| format!("ex:N{level} sh:node ex:N{}. ", level + 1)).collect();
        let shapes = format!("ex:S a sh:NodeShape; sh:node ex:N0. {chain} ex:N40 sh:nodeKind sh:IRI.");
        assert!(refused(&shapes).contains("deep"));
    }

    #[test]
    fn a_root_that_lets_everything_pass_is_refused() {
        for shapes in [
            "ex:S a sh:NodeShape.",
            "ex:S a sh:NodeShape; sh:property [ sh:path ex:p ].",
            "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:minCount 0 ].",
            "ex:S a sh:NodeShape; sh:node ex:T. ex:T a sh:NodeShape.",
            "ex:S a sh:NodeShape; sh:node ex:T. ex:T sh:nodeKind sh:IRI; sh:deactivated true.",
            "ex:S a sh:NodeShape; sh:or (ex:T [ sh:nodeKind sh:IRI ]). ex:T a sh:NodeShape.",
            "ex:S a sh:NodeShape; sh:closed false.",
            "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:qualifiedValueShape [ sh:nodeKind sh:IRI ];
             sh:qualifiedMinCount 0 ].",
        ] {
            assert!(refused(shapes).contains("constrains nothing"), "{shapes}");
        }
    }

    #[test]
    fn a_deactivated_root_is_refused() {
        assert!(
            refused("ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:deactivated true.").contains("deactivated")
        );
        assert!(compile("ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:deactivated false.").is_ok());
    }

    #[test]
    fn a_root_is_a_node_shape_of_the_graph() {
        refused("ex:T a sh:NodeShape; sh:nodeKind sh:IRI.");
        refused("ex:S sh:path ex:p; sh:minCount 1.");
        refused("ex:S a sh:NodeShape; sh:path ex:p; sh:minCount 1.");
    }

    #[test]
    fn a_shape_is_of_the_kind_that_it_is_typed_as() {
        refused("ex:S a sh:NodeShape; sh:property ex:P. ex:P a sh:NodeShape; sh:path ex:p; sh:minCount 1.");
        refused("ex:S a sh:NodeShape; sh:node ex:T. ex:T a sh:PropertyShape; sh:nodeKind sh:IRI.");
    }

    #[test]
    fn a_path_that_does_not_end_is_refused() {
        for path in [
            "_:p. _:p sh:inversePath _:p",
            "_:p. _:p sh:alternativePath (ex:a _:p)",
            "_:p. _:p rdf:first ex:a; rdf:rest _:p",
            "_:p. _:p rdf:first ex:a; rdf:rest ex:b",
            "_:p. _:p rdf:first ex:a, ex:b; rdf:rest (ex:c)",
            "(ex:a)",
            "()",
            "\"p\"",
            "[ sh:inversePath ex:a; sh:zeroOrMorePath ex:b ]",
            "[ ex:unknown ex:a ]",
            "[ sh:zeroOrOnePath [ sh:zeroOrOnePath [ sh:zeroOrOnePath [ sh:zeroOrOnePath [ sh:zeroOrOnePath [
               sh:zeroOrOnePath [ sh:zeroOrOnePath [ sh:zeroOrOnePath [ sh:zeroOrOnePath ex:a ] ] ] ] ] ] ] ] ]",
        ] {
            let shapes = format!("ex:S a sh:NodeShape; sh:property ex:P. ex:P sh:minCount 1; sh:path {path} .");
            refused(&shapes);
        }
        refused("ex:S a sh:NodeShape; sh:property [ sh:path ex:a, ex:b; sh:minCount 1 ].");
    }

    #[test]
    fn a_list_that_does_not_end_is_refused() {
        refused("ex:S a sh:NodeShape; sh:in _:l. _:l rdf:first ex:a; rdf:rest _:l.");
        refused("ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:and _:l. _:l rdf:first [ sh:nodeKind sh:IRI ].");
        refused("ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:and ().");
    }

    #[test]
    fn a_value_that_the_engine_would_drop_is_refused() {
        for parameter in [
            "sh:nodeKind sh:Iri",
            "sh:nodeKind \"IRI\"",
            "sh:datatype \"string\"",
            "sh:datatype xsd:string, xsd:integer",
            "sh:class [ a ex:C ]",
            "sh:closed 1",
            "sh:closed true, false",
            "sh:deactivated \"yes\"",
            "sh:in (ex:a [])",
            "sh:hasValue []",
            "sh:minLength \"1\"",
            "sh:minLength -1",
            "sh:minLength 99999999999",
            "sh:minCount 1",
            "sh:pattern \"a\"@en",
            "sh:flags \"i\"",
            "sh:ignoredProperties (ex:p)",
            "sh:languageIn (ex:en)",
            "sh:languageIn (\"en\" \"not a language\")",
            "sh:minInclusive \"x\"^^xsd:integer",
            "sh:message ex:message",
            "sh:severity \"Warning\"",
            "sh:targetNode []",
            "sh:targetClass []",
            "sh:targetSubjectsOf \"p\"",
            "sh:property ex:T. ex:T sh:nodeKind sh:IRI",
        ] {
            refused(&format!("ex:S a sh:NodeShape; sh:nodeKind sh:BlankNodeOrIRI; {parameter} ."));
        }
        refused("ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:closed true ].");
        refused(
            "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:property [ sh:path ex:p; sh:qualifiedValueShape [ sh:nodeKind sh:IRI ] ].",
        );
    }

    #[test]
    fn a_constant_that_the_engine_would_change_is_refused() {
        refused("ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:hasValue \"1\"^^xsd:boolean ].");
        refused("ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:in (\"x\"^^xsd:integer) ].");
    }

    #[test]
    fn a_pattern_that_multiplies_is_refused() {
        let shape = |pattern: &str| format!("ex:S a sh:NodeShape; sh:pattern \"{pattern}\".");
        assert!(compile(&shape("^urn:[a-z]{1,32}$")).is_ok());
        refused(&shape("((a{10}){10}){10}"));
        refused(&shape("a{1,1000}"));
        refused(&shape(&"a".repeat(1_000)));
        refused(&shape("(a)\\\\1"));
        refused(&shape("(unclosed"));
    }

    #[test]
    fn shapes_by_inference_are_refused() {
        refused("ex:S a sh:NodeShape; sh:nodeKind sh:IRI. ex:M rdfs:subClassOf sh:NodeShape.");
        refused("ex:S a sh:NodeShape; sh:nodeKind sh:IRI. ex:M rdfs:subClassOf rdfs:Class.");
        refused("ex:S a sh:NodeShape; sh:nodeKind sh:IRI. ex:C a rdfs:Class; sh:nodeKind sh:IRI.");
    }

    #[test]
    fn paths_hold_every_predicate_that_a_root_leads_to() {
        let shapes = compile(
            "ex:S a sh:NodeShape; sh:property [ sh:path ex:a; sh:minCount 1; sh:node [ sh:property [
               sh:path ([ sh:inversePath ex:b ] [ sh:alternativePath (ex:c [ sh:zeroOrMorePath ex:d ]) ]) ] ] ].
             ex:Other a sh:NodeShape; sh:property [ sh:path ex:e; sh:minCount 1 ].",
        )
        .expect("the shapes compile");
        let expected: BTreeSet<_> =
            ["a", "b", "c", "d"].into_iter().map(|local| format!("https://example.org/{local}")).collect();
        assert_eq!(*shapes.paths(), expected);
    }
}

mod run {
    use super::*;

    const NAMED: &str = "ex:S a sh:NodeShape; sh:property [ sh:path ex:name; sh:minCount 1 ].";

    #[test]
    fn the_focus_node_is_judged_without_any_target() {
        assert!(conforms(NAMED, "ex:i ex:name \"n\"."));
        assert!(!conforms(NAMED, "ex:i ex:other \"n\"."));
        assert!(!conforms(NAMED, ""));
    }

    #[test]
    fn a_blank_focus_node_is_judged() {
        let shapes = compile(NAMED).expect("the shapes compile");
        let focus = oxrdf::BlankNode::new_unchecked("i").into();
        let judged = |data: &str| shapes.validate_focus(&graph(data), &focus, &Limits::default());
        assert!(matches!(judged("_:i ex:name \"n\"."), Ok(Validation::Conforms)));
        let Ok(Validation::Violates { report, .. }) = judged("_:i ex:other \"n\".") else { panic!() };
        assert!(report.contains("sh:focusNode _:i"), "{report}");
    }

    #[test]
    fn targets_are_judged_beside_the_focus_node() {
        let shapes =
            format!("{NAMED} ex:T sh:targetClass ex:C; sh:property [ sh:path ex:name; sh:maxCount 1 ].");
        assert!(conforms(&shapes, "ex:i ex:name \"n\". ex:j a ex:C; ex:name \"a\"."));
        assert!(!conforms(&shapes, "ex:i ex:name \"n\". ex:j a ex:C; ex:name \"a\", \"b\"."));
    }

    #[test]
    fn every_kind_of_target_selects() {
        for (target, data) in [
            ("sh:targetClass ex:C", "ex:j a ex:D. ex:D rdfs:subClassOf ex:C"),
            ("sh:targetNode ex:j", "ex:j ex:p 1"),
            ("sh:targetSubjectsOf ex:p", "ex:j ex:p 1"),
            ("sh:targetObjectsOf ex:p", "ex:k ex:p ex:j"),
            ("a rdfs:Class", "ex:j a ex:T"),
        ] {
            let shapes = format!(
                "{NAMED} ex:T a sh:NodeShape; {target}; sh:property [ sh:path ex:q; sh:minCount 1 ]."
            );
            let data = format!("ex:i ex:name \"n\". {data}.");
            assert!(!conforms(&shapes, &data), "{target}");
            assert!(conforms(&shapes, &format!("{data} ex:j ex:q 1.")), "{target}");
        }
    }

    #[test]
    fn nothing_judged_is_a_violation_but_plain_shacl() {
        let shapes = CompiledShapes::compile(&graph(NAMED), &[]).expect("the shapes compile");
        let data = graph("ex:i ex:name \"n\".");
        let judged = shapes.validate_focus(&data, &node("i"), &Limits::default());
        assert!(matches!(judged, Ok(Validation::Violates { .. })));
        assert!(matches!(shapes.validate_targets(&data, &Limits::default()), Ok(Validation::Conforms)));
    }

    #[test]
    fn a_result_of_any_severity_violates() {
        for severity in ["sh:Info", "sh:Warning", "ex:Hint"] {
            let shapes = format!(
                "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:minCount 1; sh:severity {severity} ]."
            );
            assert!(!conforms(&shapes, "ex:i ex:q 1."), "{severity}");
        }
    }

    #[test]
    fn every_value_of_a_parameter_is_judged() {
        let all =
            |constraint: &str| format!("ex:S a sh:NodeShape; sh:property [ sh:path ex:p; {constraint} ].");
        assert!(!conforms(&all("sh:hasValue 1, 2"), "ex:i ex:p 1."));
        assert!(conforms(&all("sh:hasValue 1, 2"), "ex:i ex:p 1, 2."));
        assert!(!conforms(&all("sh:class ex:C, ex:D"), "ex:i ex:p ex:o. ex:o a ex:C."));
        assert!(!conforms(&all("sh:node [ sh:nodeKind sh:IRI ], [ sh:class ex:C ]"), "ex:i ex:p ex:o."));
        assert!(!conforms(&all("sh:not [ sh:in (1) ], [ sh:in (2) ]"), "ex:i ex:p 2."));
        assert!(!conforms(&all("sh:and ([ sh:nodeKind sh:IRI ]), ([ sh:class ex:C ])"), "ex:i ex:p ex:o."));
        assert!(!conforms(&all("sh:or ([ sh:nodeKind sh:IRI ]), ([ sh:class ex:C ])"), "ex:i ex:p ex:o."));
        assert!(!conforms(&all("sh:equals ex:q, ex:r"), "ex:i ex:p 1; ex:q 1."));
        assert!(!conforms(&all("sh:disjoint ex:q, ex:r"), "ex:i ex:p 1; ex:r 1."));
    }

    #[test]
    fn two_literals_that_the_engine_equates_are_judged_apart() {
        let shapes = "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:node [ sh:pattern \"^true$\" ] ].";
        assert!(conforms(shapes, "ex:i ex:p true."));
        // Value nodes come in any order, and only one order would show the mistake.
        for _ in 0..32 {
            assert!(!conforms(shapes, "ex:i ex:p true, \"1\"^^xsd:boolean."));
        }
    }

    #[test]
    fn a_length_is_in_characters() {
        let shapes = "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:minLength 4; sh:maxLength 4 ].";
        assert!(conforms(shapes, "ex:i ex:p \"\u{fc}\u{fc}\u{fc}\u{fc}\"."));
        assert!(!conforms(shapes, "ex:i ex:p \"\u{fc}\u{fc}\"."));
        assert!(!conforms(shapes, "ex:i ex:p \"abcde\"."));
        assert!(!conforms(shapes, "ex:i ex:p _:abcd."));
    }

    #[test]
    fn a_literal_that_the_validator_passes_over_violates() {
        let shapes = "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:node [ sh:equals ex:q ] ].";
        assert!(!conforms(shapes, "ex:i ex:p \"literal\"."));
    }

    #[test]
    fn a_closed_shape_refuses_other_predicates() {
        let shapes = "ex:S a sh:NodeShape; sh:closed true; sh:ignoredProperties (rdf:type);
            sh:property [ sh:path ex:p ].";
        assert!(conforms(shapes, "ex:i a ex:C; ex:p 1."));
        assert!(!conforms(shapes, "ex:i a ex:C; ex:p 1; ex:q 1."));
    }

    #[test]
    fn one_literal_datatype_is_not_another() {
        let shapes = "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:datatype xsd:integer ].";
        assert!(conforms(shapes, "ex:i ex:p 1."));
        assert!(!conforms(shapes, "ex:i ex:p \"x\"^^xsd:integer."));
        assert!(!conforms(shapes, "ex:i ex:p \"1\"."));
    }
}

mod budget {
    use super::*;

    fn within(steps: usize) -> Limits {
        Limits { validation_steps: steps, ..Limits::default() }
    }

    #[test]
    fn work_beyond_the_budget_is_refused_and_not_judged() {
        let shapes = "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:nodeKind sh:IRI ].";
        let values: String = (0..100).map(|value| format!("ex:i ex:p ex:v{value}. ")).collect();
        assert!(matches!(judge_within(shapes, &values, &within(1_000)), Ok(Validation::Conforms)));
        assert!(matches!(judge_within(shapes, &values, &within(250)), Err(ShapeError::Budget)));
        assert!(matches!(judge_within(shapes, "ex:i ex:p ex:v.", &within(0)), Err(ShapeError::Budget)));
    }

    #[test]
    fn a_violation_beyond_the_budget_is_a_budget_refusal_too() {
        let shapes = "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:nodeKind sh:Literal ].";
        let values: String = (0..100).map(|value| format!("ex:i ex:p ex:v{value}. ")).collect();
        assert!(matches!(judge_within(shapes, &values, &within(350)), Err(ShapeError::Budget)));
    }

    #[test]
    fn the_worst_legal_graph_ends_within_the_budget() {
        let clique: String =
            (0..100).flat_map(|from| (0..100).map(move |to| format!("ex:n{from} ex:p ex:n{to}. "))).collect();
        let data = format!("ex:i ex:p ex:n0. {clique}");
        for shapes in [
            "ex:S a sh:NodeShape; sh:property [ sh:path [ sh:zeroOrMorePath [ sh:oneOrMorePath ex:p ] ]; sh:class ex:C ].",
            "ex:S a sh:NodeShape; sh:property [ sh:path (ex:p ex:p ex:p ex:p); sh:node [ sh:closed true ] ].",
            "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:property [ sh:path ex:p; sh:property [ sh:path ex:p;
               sh:property [ sh:path ex:p; sh:property [ sh:path ex:p; sh:lessThan ex:p ] ] ] ] ].",
            "ex:S a sh:NodeShape; sh:targetObjectsOf ex:p; sh:property [ sh:path ex:p; sh:in (ex:a ex:b ex:c) ].",
        ] {
            let judged = judge_within(shapes, &data, &Limits::default());
            assert!(matches!(judged, Err(ShapeError::Budget)), "{shapes} gave {judged:?}");
        }
    }
}

mod reports {
    use super::super::report::without_data_literals;
    use super::*;

    const SHAPES: &str =
        "ex:S a sh:NodeShape; sh:message \"not so\"@en; sh:property [ sh:path ([ sh:inversePath ex:q ] ex:p);
        sh:in (\"a\") ], [ sh:path ex:p; sh:nodeKind sh:IRI; sh:maxCount 1; sh:severity sh:Warning ].";
    const DATA: &str = "ex:i ex:p \"secret\", _:r1. ex:j ex:q ex:i; ex:p \"b\".";

    fn parse(turtle: &str) -> Graph {
        TurtleParser::new().for_slice(turtle).collect::<Result<_, _>>().expect("a report is Turtle")
    }

    fn objects<'a>(report: &'a Graph, name: &str) -> Vec<TermRef<'a>> {
        let predicate = super::super::terms::sh_iri(name);
        report
            .iter()
            .filter(|triple| triple.predicate == predicate.as_ref())
            .map(|triple| triple.object)
            .collect()
    }

    #[test]
    fn a_report_is_a_w3c_validation_report() {
        let text = report(SHAPES, DATA);
        let parsed = parse(&text);
        assert_eq!(objects(&parsed, "result").len(), 4, "{text}");
        assert_eq!(objects(&parsed, "conforms"), [Term::from(oxrdf::Literal::from(false)).as_ref()]);
        for name in ["focusNode", "resultPath", "sourceShape", "sourceConstraintComponent", "resultSeverity"]
        {
            assert_eq!(objects(&parsed, name).len(), 4, "{name}: {text}");
        }
        assert!(text.contains("sh:Warning") && text.contains("secret"), "{text}");
    }

    #[test]
    fn one_input_gives_one_report() {
        assert_eq!(report(SHAPES, DATA), report(SHAPES, DATA));
    }

    #[test]
    fn blank_nodes_of_the_data_keep_their_labels_and_are_no_nodes_of_the_report() {
        let text = report("ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:nodeKind sh:Literal ].", DATA);
        let parsed = parse(&text);
        let r1: NamedOrBlankNode = oxrdf::BlankNode::new_unchecked("r1").into();
        assert!(objects(&parsed, "value").contains(&Term::from(r1.clone()).as_ref()), "{text}");
        assert_eq!(parsed.triples_for_subject(&r1).count(), 0, "{text}");
    }

    #[test]
    fn a_report_is_bounded() {
        let shapes = "ex:S a sh:NodeShape; sh:property [ sh:path ex:p; sh:nodeKind sh:IRI ].";
        let many: String = (0..500).map(|value| format!("ex:i ex:p {value}. ")).collect();
        assert_eq!(objects(&parse(&report(shapes, &many)), "result").len(), 100);
        let long: String =
            (0..50).map(|value| format!("ex:i ex:p \"{value}{}\". ", "x".repeat(10_000))).collect();
        assert!(report(shapes, &long).len() < 128 << 10);
    }

    #[test]
    fn the_public_report_holds_no_literal_of_the_data() {
        let full = report(SHAPES, "ex:i ex:p \"secret\", ex:v; ex:q \"secret\".");
        let public = without_data_literals(&full);
        assert!(full.contains("secret") && !public.contains("secret"), "{public}");
        assert!(!public.contains("resultMessage"), "{public}");
        let parsed = parse(&public);
        assert!(
            !objects(&parsed, "result").is_empty() && !objects(&parsed, "resultPath").is_empty(),
            "{public}"
        );
    }

    #[test]
    fn a_literal_focus_node_is_data_too() {
        let shapes = "ex:S a sh:NodeShape; sh:nodeKind sh:IRI; sh:property [ sh:path ex:p; sh:property [ sh:path ex:r; sh:minCount 1 ] ].";
        let full = report(shapes, "ex:i ex:p \"secret\".");
        assert!(full.contains("secret"), "{full}");
        assert!(!without_data_literals(&full).contains("secret"));
    }

    #[test]
    fn a_report_that_cannot_be_read_is_replaced_whole() {
        let conforming =
            "@prefix sh: <http://www.w3.org/ns/shacl#>. [] a sh:ValidationReport; sh:conforms true.";
        let long = report(SHAPES, DATA) + "# " + &" ".repeat(1 << 20);
        let both = format!("{conforming} [] sh:conforms false, <urn:x>.");
        let other = both.replace("true", "false");
        for text in ["", "not Turtle", conforming, &both, &other, &long] {
            let parsed = parse(&without_data_literals(text));
            assert_eq!(objects(&parsed, "conforms"), [Term::from(oxrdf::Literal::from(false)).as_ref()]);
            assert_eq!(parsed.len(), 2);
        }
    }

    #[test]
    fn a_violation_has_a_first_finding() {
        let judged = judge("ex:S a sh:NodeShape; sh:property ex:P. ex:P sh:path ex:p; sh:minCount 1.", "");
        let Validation::Violates { first, .. } = judged else { panic!("it conforms") };
        assert_eq!(first.shape.as_deref(), Some("https://example.org/P"));
        assert_eq!(first.path.as_deref(), Some("https://example.org/p"));
        assert_eq!(
            first.constraint.as_deref(),
            Some("http://www.w3.org/ns/shacl#MinCountConstraintComponent")
        );
    }
}

mod intents {
    use super::super::ConformingIntent;
    use super::*;
    use crate::message::IntentGraph;
    use crate::protocol::{Binding, ProtocolDocument, ProtocolSettings};
    use crate::refusal::{Reason, Refusal, Stage};
    use std::collections::BTreeMap;

    const DOCUMENT: &str = "@prefix a2a: <https://w3id.org/jeswr/a2a#>. @prefix sh: <http://www.w3.org/ns/shacl#>.
        <urn:p> a a2a:ProtocolDocument; a2a:requestShape <urn:s>, <urn:t>.
        <urn:s> a sh:NodeShape; sh:property [ sh:path <https://example.org/p>; sh:minCount 1; sh:nodeKind sh:IRI ].
        <urn:t> a sh:NodeShape; sh:property [ sh:path <https://example.org/q>; sh:maxCount 1 ].";

    fn judge(data: &str, limits: &Limits) -> Result<ConformingIntent, Refusal> {
        let hash = ProtocolDocument::hash_of(DOCUMENT, "text/turtle", limits).expect("RDF");
        let settings = ProtocolSettings {
            hash,
            actions: BTreeMap::new(),
            parameters: BTreeMap::new(),
            security_bearing: true,
            binding: Binding::Accepted,
            declared: true,
            name: None,
            source: None,
        };
        // The review holds a document to the budget that it is loaded under.
        let document = ProtocolDocument::load(DOCUMENT, "text/turtle", settings, &Limits::default());
        let document = document.expect("it loads");
        let intent = IntentGraph { graph: graph(data), node: node("i"), hash: String::new() };
        ConformingIntent::judge(intent, &document, limits)
    }

    #[test]
    fn an_intent_conforms_to_every_request_shape() {
        let judged = judge("ex:i ex:p ex:v.", &Limits::default()).expect("it conforms");
        assert_eq!(judged.intent().node, node("i"));
        assert!(judge("ex:i ex:p ex:v; ex:q 1, 2.", &Limits::default()).is_err());
        assert!(judge("ex:i ex:q 1.", &Limits::default()).is_err());
    }

    #[test]
    fn a_violation_is_refused_with_evidence_and_report() {
        let refusal = judge("ex:i ex:p \"v\".", &Limits::default()).expect_err("it violates");
        assert_eq!((refusal.stage(), refusal.reason()), (Stage::Shape, Reason::ShapeViolation));
        assert_eq!(refusal.evidence().path.as_deref(), Some("https://example.org/p"));
        assert!(
            refusal.shacl_report().is_some_and(|report| report.contains("sh:NodeKindConstraintComponent"))
        );
    }

    #[test]
    fn work_beyond_the_budget_has_its_own_reason() {
        let limits = Limits { validation_steps: 3, ..Limits::default() };
        let refusal = judge("ex:i ex:p ex:v.", &limits).expect_err("it costs more");
        assert_eq!(refusal.reason(), Reason::ValidationBudgetExceeded);
    }
}

mod vectors {
    use super::*;

    #[test]
    fn the_intents_of_the_vectors_are_judged_as_expected() {
        for (case, expected) in [("intent-valid", true), ("intent-missing-mode", false)] {
            let file = |name: &str| shared(&format!("vectors/a2a-rdf/cases/{case}/{name}"));
            let (Some(shapes), Some(data)) = (file("protocol-document.ttl"), file("intent.ttl")) else {
                return;
            };
            let parse = |text: &str| -> Graph {
                TurtleParser::new().for_slice(text).collect::<Result<_, _>>().expect("a vector is Turtle")
            };
            let shapes = CompiledShapes::compile(&parse(&shapes), &[]).expect("the worked shapes compile");
            let judged = shapes.validate_targets(&parse(&data), &Limits::default());
            assert_eq!(matches!(judged, Ok(Validation::Conforms)), expected, "{case}: {judged:?}");
        }
    }
}

/// Shapes and data as the engine reads them, with labels in order of appearance.
fn read(text: &str) -> Graph {
    crate::rdf::parse_graph(
        &format!("{PREFIXES}{text}"),
        crate::rdf::RdfMediaType::Turtle,
        &Limits::default(),
    )
    .expect("the test's Turtle is well-formed")
}

#[test]
fn one_intent_gets_one_answer_whatever_the_order_of_the_shapes() {
    let property = "[ sh:path ex:p; sh:minCount 1 ], ".repeat(8);
    let others = "[ sh:path ex:q; sh:node [ sh:nodeKind sh:IRI; sh:pattern \"x\"; sh:maxLength 1 ] ],
        [ sh:path ex:q; sh:or ( [ sh:datatype xsd:date ] [ sh:class ex:C ] ); sh:message \"a\"@en, \"b\"@de, \"c\" ],
        [ sh:path ex:q; sh:xone ( [ sh:minInclusive 1 ] [ sh:maxInclusive 9 ] ) ],
        [ sh:path [ sh:alternativePath ( ex:q ex:r ) ]; sh:not [ sh:nodeKind sh:Literal ] ]";
    let shapes = format!("ex:S a sh:NodeShape; sh:closed true; sh:property {property} {others}.");
    let data = "ex:i ex:q 1, 2, 3, \"x\", ex:y, [], []; ex:r \"1\"^^xsd:integer, \"01\"^^xsd:integer; ex:s ex:t, ex:u.";
    let judged = || {
        let compiled = CompiledShapes::compile(&read(&shapes), &[node("S")]).expect("the shapes compile");
        format!("{:?}", compiled.validate_focus(&read(data), &node("i"), &Limits::default()))
    };
    let first = judged();
    assert!(first.contains("Violates"));
    for _ in 0..40 {
        assert_eq!(judged(), first);
    }
}

#[test]
fn the_budget_that_an_intent_needs_is_one_number() {
    let shapes = "ex:S a sh:NodeShape; sh:property
        [ sh:path ex:q; sh:or ( [ sh:datatype xsd:date ] [ sh:node ex:N ] ex:M ) ],
        [ sh:path ex:q; sh:xone ( ex:N ex:M [ sh:nodeKind sh:Literal ] ) ],
        [ sh:path ex:q; sh:not [ sh:and ( ex:N ex:M ) ] ],
        [ sh:path ex:q; sh:qualifiedValueShape ex:N; sh:qualifiedMinCount 1; sh:qualifiedValueShapesDisjoint true ],
        [ sh:path ( ex:q [ sh:zeroOrMorePath ex:r ] ); sh:node ex:M ].
        ex:N a sh:NodeShape; sh:property [ sh:path ex:r; sh:minCount 1; sh:node ex:M ].
        ex:M a sh:NodeShape; sh:property [ sh:path ex:r; sh:maxCount 2; sh:nodeKind sh:IRI ].";
    let data = "ex:i ex:q 1, ex:a, ex:b, ex:c, [ ex:r ex:a, ex:b, ex:c ]. ex:a ex:r ex:b, ex:c. ex:b ex:r ex:c, 1. ex:c ex:r ex:a.";
    let needed = || {
        let compiled = CompiledShapes::compile(&read(shapes), &[node("S")]).expect("the shapes compile");
        let within = |steps: usize| {
            let limits = Limits { validation_steps: steps, ..Limits::default() };
            !matches!(compiled.validate_focus(&read(data), &node("i"), &limits), Err(ShapeError::Budget))
        };
        let (mut low, mut high) = (0, 50_000);
        while low + 1 < high {
            let middle = (low + high) / 2;
            if within(middle) { high = middle } else { low = middle }
        }
        high
    };
    let first = needed();
    assert!((50..50_000).contains(&first), "{first}");
    for _ in 0..20 {
        assert_eq!(needed(), first);
    }
}
