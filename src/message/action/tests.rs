use super::*;
use crate::limits::Limits;
use crate::message::RdfPart;
use crate::message::testing::{self, AGENT, ALICE};
use crate::protocol::Binding;
use crate::rdf::{Budget, RdfMediaType};

const PREFIXES: &str = "@prefix a2a: <https://w3id.org/jeswr/a2a#> . @prefix s: <https://schema.org/> . \
    @prefix acl: <http://www.w3.org/ns/auth/acl#> . @prefix odrl: <http://www.w3.org/ns/odrl/2/> . \
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . \
    @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix n: <https://alice.pod.example/notes/> . \
    @prefix b: <https://bob.pod.example/> . @prefix e: <https://e.example/> .";

/// Everything that one extraction depends on, with the defaults of an operator.
struct Case {
    config: Config,
    facts: CallerFacts,
    settings: ProtocolSettings,
    paths: BTreeSet<String>,
}

impl Case {
    fn new() -> Self {
        Self {
            config: testing::config(),
            facts: testing::facts(),
            settings: ProtocolSettings {
                hash: format!("sha256:{}", "0".repeat(64)).parse().unwrap(),
                actions: default_actions(),
                parameters: default_parameters(),
                security_bearing: true,
                binding: Binding::Accepted,
                declared: true,
                name: None,
                source: None,
            },
            paths: BTreeSet::new(),
        }
    }

    fn extract(&self, turtle: &str) -> Result<ActionsUnderTest, Refusal> {
        let part =
            RdfPart { index: 0, media_type: RdfMediaType::Turtle, text: format!("{PREFIXES} {turtle}") };
        let limits = Limits::default();
        let intent = IntentGraph::read(&part, &limits, &mut Budget::new(&limits))
            .unwrap_or_else(|error| panic!("{error:?}"));
        let rules = Rules {
            settings: &self.settings,
            request_paths: &self.paths,
            facts: &self.facts,
            config: &self.config,
        };
        rules.extract(&intent)
    }

    fn reason(&self, turtle: &str) -> Reason {
        let refusal = self.extract(turtle).map(|actions| format!("{actions:?}")).expect_err(turtle);
        assert_eq!(refusal.stage(), Stage::Action);
        assert!(refusal.evidence().detail.is_some());
        refusal.reason()
    }
}

fn extract(turtle: &str) -> ActionsUnderTest {
    Case::new().extract(turtle).unwrap_or_else(|refusal| panic!("{turtle}: {refusal:?}"))
}

#[track_caller]
fn assert_refused(turtle: &str, reason: Reason) {
    assert_eq!(Case::new().reason(turtle), reason, "{turtle}");
}

/// An intent with one action that holds `more`.
fn read_with(more: &str) -> String {
    format!("<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object n:a ; {more} ] .")
}

/// An intent that holds `more`, with one action.
fn intent_with(more: &str) -> String {
    format!("<urn:i> a a2a:Intent ; {more} ; a2a:action [ a s:ReadAction ; s:object n:a ] .")
}

fn shown(actions: &ActionsUnderTest) -> Vec<(String, String, String)> {
    let shown = |action: &ActionUnderTest| {
        (
            action.class.rsplit(['#', '/']).next().unwrap_or_default().to_owned(),
            action.action.clone(),
            action.target.rsplit('/').next().unwrap_or_default().to_owned(),
        )
    };
    actions.actions.iter().map(shown).collect()
}

#[test]
fn the_grant_of_the_extension_is_read() {
    let actions = extract(
        "<urn:a2a:intent:kxs8cv> a a2a:Intent; a2a:action [ a a2a:GrantAction; \
         s:object <https://alice.pod.example/notes/>; s:recipient <https://bob.example/profile#me>; \
         a2a:mode acl:Write, acl:Read ].",
    );
    let [action] = actions.actions.as_slice() else { panic!() };
    assert_eq!((action.class.as_str(), action.action.as_str()), (a2a::GRANT_ACTION, acl::CONTROL));
    assert_eq!(action.target, "https://alice.pod.example/notes/");
    let stated: Vec<_> = action.stated.iter().map(|(name, terms)| (name.as_str(), terms.len())).collect();
    assert_eq!(stated, [(MODE, 2), (RECIPIENT, 1)]);
    assert_eq!(action.stated[MODE][0].to_string(), format!("<{}>", acl::READ));
    assert_eq!(actions.root_principal, ALICE);
    assert_eq!((actions.agent, actions.unjudged_nodes.len()), (None, 0));
}

#[test]
fn the_default_mapping_is_the_pages() {
    for (class, action) in [
        ("s:ReadAction", odrl::READ),
        ("a2a:ListAction", odrl::READ),
        ("a2a:QueryAction", odrl::READ),
        ("a2a:SubscribeAction", odrl::READ),
        ("s:CreateAction", odrl::WRITE),
        ("s:UpdateAction", odrl::MODIFY),
        ("a2a:AppendAction", acl::APPEND),
        ("s:DeleteAction", odrl::DELETE),
        ("a2a:GrantAction", acl::CONTROL),
    ] {
        let actions = extract(&format!("<urn:i> a a2a:Intent ; a2a:action [ a {class} ; s:object n:a ] ."));
        assert_eq!(actions.actions[0].action, action, "{class}");
    }
    assert_eq!(default_actions().len(), 9);
    assert_eq!(default_parameters(), BTreeMap::from([("purpose".into(), "purpose".into())]));
}

#[test]
fn every_target_of_every_action_is_an_action_under_test() {
    let actions = extract(
        "<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object n:a, n:b ], [ a s:DeleteAction ; s:object n:c ], \
         [ a a2a:ListAction ; s:target n:d ; s:object n:e ], [ a s:UpdateAction ; s:object n:f ; s:target n:g ] .",
    );
    let mut found = shown(&actions);
    found.sort_by_key(|(_, _, target)| target.clone());
    let expected: Vec<_> = [
        ("ReadAction", odrl::READ, "a"),
        ("ReadAction", odrl::READ, "b"),
        ("DeleteAction", odrl::DELETE, "c"),
        ("ListAction", odrl::READ, "d"),
        ("ListAction", odrl::READ, "e"),
        ("UpdateAction", odrl::MODIFY, "f"),
        ("UpdateAction", odrl::MODIFY, "g"),
    ]
    .map(|(class, action, target)| (class.to_owned(), action.to_owned(), target.to_owned()))
    .into();
    assert_eq!(found, expected);
    assert_eq!(actions.permitted().len(), expected.len());
}

#[test]
fn one_intent_gives_one_order() {
    let turtle = "<urn:i> a a2a:Intent ; a2a:action [ a a2a:GrantAction ; s:object n:a ; a2a:mode acl:Read, acl:Write ], \
         [ a a2a:GrantAction ; s:object n:a ; a2a:mode acl:Append ], [ a s:ReadAction ; s:object n:b, n:a ] . \
         [] e:p 1 . [] e:p 2 . e:z e:p 1 . e:y e:p 1 .";
    let first = extract(turtle);
    assert_eq!(first.unjudged_nodes, ["_:", "https://e.example/y", "https://e.example/z"]);
    for _ in 0..20 {
        let again = extract(turtle);
        assert_eq!(format!("{first:?}"), format!("{again:?}"));
    }
}

#[test]
fn one_intent_gives_one_refusal() {
    for turtle in [
        read_with("e:b 1 ; e:a 1 ; e:c 1"),
        "<urn:i> a a2a:Intent ; a2a:action [ a e:B ; s:object n:a ], [ a e:A ; s:object n:a ] .".into(),
        "<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object <https://B.example/>, <https://A.example/> ] .".into(),
        read_with("a2a:mode e:z, e:y ; s:recipient \"x\", [], e:ok"),
        intent_with("a2a:parameter [ a2a:paramKey \"b\" ], [ a2a:paramKey \"a\" ]"),
    ] {
        let first = Case::new().extract(&turtle).expect_err(&turtle);
        for _ in 0..20 {
            assert_eq!(Case::new().extract(&turtle).expect_err(&turtle), first);
        }
    }
}

// INTENT_UNMAPPED

#[test]
fn a_predicate_that_nothing_maps_is_refused_on_intent_action_and_parameter() {
    assert_refused(&intent_with("e:also n:b"), Reason::IntentUnmapped);
    assert_refused(&read_with("e:also n:b"), Reason::IntentUnmapped);
    let parameter = "a2a:parameter [ a2a:paramKey \"purpose\" ; a2a:paramValue e:p ; e:also n:b ]";
    assert_refused(&intent_with(parameter), Reason::IntentUnmapped);
}

#[test]
fn a_path_of_the_request_shape_may_be_said() {
    let mut case = Case::new();
    case.paths.insert("https://e.example/also".into());
    assert!(case.extract(&intent_with("e:also n:b")).is_ok());
    assert!(case.extract(&read_with("e:also n:b")).is_ok());
    assert_eq!(case.reason(&read_with("e:other n:b")), Reason::IntentUnmapped);
}

#[test]
fn an_open_intent_may_say_more() {
    let mut case = Case::new();
    case.config.closed_intents = false;
    assert!(case.extract(&intent_with("e:also n:b")).is_ok());
    assert!(case.extract(&read_with("e:also n:b")).is_ok());
}

#[test]
fn a_predicate_read_on_one_kind_of_node_is_refused_on_the_others() {
    let mut open = Case::new();
    open.config.closed_intents = false;
    // Also where the request shape has such a path, since paths of nested shapes are known by predicate alone.
    let all = [ON_INTENT, ON_ACTION, ON_PARAMETER].concat();
    open.paths.extend(all.iter().map(|predicate| (*predicate).to_owned()));
    for more in [
        "s:object n:b",
        "s:target n:b",
        "s:recipient e:r",
        "a2a:mode acl:Read",
        "a2a:paramKey \"purpose\"",
        "a2a:paramValue e:p",
    ] {
        assert_eq!(open.reason(&intent_with(more)), Reason::IntentUnmapped, "{more}");
    }
    for more in [
        "a2a:action [ a s:DeleteAction ; s:object n:b ]",
        "a2a:parameter [ a2a:paramKey \"purpose\" ; a2a:paramValue e:p ]",
        "a2a:paramKey \"purpose\"",
    ] {
        assert_eq!(open.reason(&read_with(more)), Reason::IntentUnmapped, "{more}");
    }
    let parameter = "a2a:parameter [ a2a:paramKey \"purpose\" ; a2a:paramValue e:p ; s:object n:b ]";
    assert_eq!(open.reason(&intent_with(parameter)), Reason::IntentUnmapped);
}

#[test]
fn predicates_of_rdfs_owl_and_shacl_are_refused_anywhere() {
    let mut open = Case::new();
    open.config.closed_intents = false;
    open.paths.insert("http://www.w3.org/2000/01/rdf-schema#subClassOf".into());
    for triple in ["e:x rdfs:subClassOf a2a:GrantAction .", "[] owl:sameAs n:a .", "e:x sh:targetNode e:y ."]
    {
        for case in [&open, &Case::new()] {
            assert_eq!(
                case.reason(&format!("{} {triple}", read_with(""))),
                Reason::IntentUnmapped,
                "{triple}"
            );
        }
    }
    assert_refused(&read_with("rdfs:seeAlso n:b"), Reason::IntentUnmapped);
}

#[test]
fn an_intent_typed_as_an_action_is_refused() {
    assert_refused(&intent_with("a s:DeleteAction"), Reason::IntentUnmapped);
    assert!(Case::new().extract(&intent_with("a e:BookingIntent")).is_ok());
}

#[test]
fn a_purpose_is_stated_on_every_action() {
    let actions = extract(
        "<urn:i> a a2a:Intent ; a2a:parameter [ a2a:paramKey \"purpose\" ; a2a:paramValue e:p, \"x\" ], \
         [ a2a:paramKey \"purpose\" ; a2a:paramValue e:q, e:p ] ; \
         a2a:action [ a s:ReadAction ; s:object n:a ], [ a s:DeleteAction ; s:object n:b ] .",
    );
    for action in &actions.actions {
        let values: Vec<_> = action.stated["purpose"].iter().map(ToString::to_string).collect();
        assert_eq!(values, ["\"x\"", "<https://e.example/p>", "<https://e.example/q>"]);
    }
}

#[test]
fn a_parameter_that_is_not_mapped_is_refused() {
    for key in ["Purpose", "purpose ", "count", "spatial", "role", ""] {
        let parameter = format!("a2a:parameter [ a2a:paramKey \"{key}\" ; a2a:paramValue e:p ]");
        assert_refused(&intent_with(&parameter), Reason::IntentUnmapped);
    }
}

#[test]
fn a_malformed_parameter_is_refused() {
    for parameter in [
        "\"purpose\"",
        "[ a2a:paramValue e:p ]",
        "[ a2a:paramKey \"purpose\" ]",
        "[ a2a:paramKey \"purpose\", \"other\" ; a2a:paramValue e:p ]",
        "[ a2a:paramKey \"purpose\"@en ; a2a:paramValue e:p ]",
        "[ a2a:paramKey 1 ; a2a:paramValue e:p ]",
        "[ a2a:paramKey e:purpose ; a2a:paramValue e:p ]",
        "[ a2a:paramKey \"purpose\" ; a2a:paramValue [] ]",
        "[ a2a:paramKey \"purpose\" ; a2a:paramValue e:p, [] ]",
        "[ a2a:paramKey \"purpose\" ; a2a:paramValue <https://E.example/p> ]",
        "[]",
        "<urn:i>",
    ] {
        assert_refused(&intent_with(&format!("a2a:parameter {parameter}")), Reason::IntentUnmapped);
    }
}

/// Threat 5: every established operand, and what the server vouches for, as a parameter that a careless operator mapped.
#[test]
fn a_stated_value_never_feeds_an_established_operand() {
    let mut case = Case::new();
    case.facts.vouched.insert("language".into(), vec!["\"en\"".into()]);
    let names = ESTABLISHED.into_iter().chain([RECIPIENT, MODE, "language"]);
    case.settings.parameters.extend(names.clone().map(|name| (format!("key-{name}"), name.to_owned())));
    case.settings.parameters.insert("key-media".into(), "media".into());
    let parameter = |name: &str| {
        intent_with(&format!("a2a:parameter [ a2a:paramKey \"key-{name}\" ; a2a:paramValue \"1\" ]"))
    };
    assert!(case.extract(&parameter("media")).unwrap().actions[0].stated.contains_key("media"));
    for name in names {
        assert_eq!(case.reason(&parameter(name)), Reason::IntentUnmapped, "{name}");
    }
}

#[test]
fn what_the_server_vouches_for_cannot_be_stated_by_its_own_predicate() {
    for (name, more) in [(RECIPIENT, "s:recipient e:r"), (MODE, "a2a:mode acl:Read")] {
        let mut case = Case::new();
        assert!(case.extract(&read_with(more)).is_ok());
        case.facts.vouched.insert(name.into(), vec!["<https://e.example/r>".into()]);
        assert_eq!(case.reason(&read_with(more)), Reason::IntentUnmapped);
    }
}

#[test]
fn a_recipient_is_an_iri_with_one_spelling() {
    for recipient in
        ["\"https://e.example/r\"", "[]", "<https://E.example/r>", "<https://e.example>", "e:ok, [ e:p 1 ]"]
    {
        assert_refused(&read_with(&format!("s:recipient {recipient}")), Reason::IntentUnmapped);
    }
    let actions = extract(&read_with("s:recipient e:r, <did:example:b>"));
    assert_eq!(actions.actions[0].stated[RECIPIENT].len(), 2);
}

#[test]
fn a_mode_is_one_of_four() {
    for mode in ["acl:read", "odrl:read", "\"http://www.w3.org/ns/auth/acl#Read\"", "[]", "acl:Read, e:Other"]
    {
        assert_refused(&read_with(&format!("a2a:mode {mode}")), Reason::IntentUnmapped);
    }
    let actions = extract(&read_with("a2a:mode acl:Read, acl:Write, acl:Append, acl:Control"));
    assert_eq!(actions.actions[0].stated[MODE].len(), 4);
}

#[test]
fn policy_references_are_iris() {
    for value in ["\"urn:p\"", "[]", "<urn:p>, [ e:p 1 ]"] {
        assert_refused(&intent_with(&format!("odrl:hasPolicy {value}")), Reason::IntentUnmapped);
        assert_refused(&read_with(&format!("odrl:hasPolicy {value}")), Reason::IntentUnmapped);
    }
}

#[test]
fn policy_references_are_read_wherever_they_may_stand() {
    let actions = extract(
        "<urn:i> a a2a:Intent ; odrl:hasPolicy <urn:q>, <urn:p> ; \
         a2a:action [ a s:ReadAction ; s:object n:a ; odrl:hasPolicy <urn:r>, <urn:p> ] .",
    );
    assert_eq!(actions.policy_references, ["urn:p", "urn:q", "urn:r"]);
}

// ACTION_UNKNOWN

#[test]
fn an_action_is_of_exactly_one_mapped_class() {
    for action in [
        "[ s:object n:a ]",
        "[ a e:FlyAction ; s:object n:a ]",
        "[ a s:ReadAction, s:DeleteAction ; s:object n:a ]",
        "[ a s:ReadAction, e:Other ; s:object n:a ]",
        "[ a s:ReadAction, [] ; s:object n:a ]",
        "[ a \"https://schema.org/ReadAction\" ; s:object n:a ]",
        "[ a [] ; s:object n:a ]",
        "[ a <http://schema.org/ReadAction> ; s:object n:a ]",
        "\"read\"",
        "[ a s:ReadAction ; s:object n:a ], \"read\"",
        "[ a s:ReadAction ; s:object n:a ], [ a e:FlyAction ; s:object n:a ]",
    ] {
        assert_refused(&format!("<urn:i> a a2a:Intent ; a2a:action {action} ."), Reason::ActionUnknown);
    }
}

#[test]
fn an_intent_without_actions_is_refused() {
    assert_refused("<urn:i> a a2a:Intent .", Reason::ActionUnknown);
    assert_refused(
        "<urn:i> a a2a:Intent . <urn:j> a2a:action [ a s:ReadAction ; s:object n:a ] .",
        Reason::ActionUnknown,
    );
}

#[test]
fn a_class_outside_the_protocols_mapping_is_refused() {
    let mut case = Case::new();
    case.settings.actions.retain(|class, _| class == schema::READ_ACTION);
    assert!(case.extract(&read_with("")).is_ok());
    assert_eq!(
        case.reason("<urn:i> a a2a:Intent ; a2a:action [ a s:DeleteAction ; s:object n:a ] ."),
        Reason::ActionUnknown
    );
}

#[test]
fn a_class_is_never_widened_to_use() {
    for action in [odrl::USE, odrl::TRANSFER] {
        let mut case = Case::new();
        case.settings.actions.insert(schema::READ_ACTION.into(), action.into());
        assert_eq!(case.reason(&read_with("")), Reason::ActionUnknown);
    }
}

#[test]
fn odd_graphs_are_not_actions() {
    for (turtle, reason) in [
        // The intent is its own action.
        ("<urn:i> a a2a:Intent ; a2a:action <urn:i> .", Reason::IntentUnmapped),
        ("<urn:i> a a2a:Intent, s:ReadAction ; a2a:action <urn:i> ; s:object n:a .", Reason::IntentUnmapped),
        // Actions that hold each other.
        (
            "<urn:i> a a2a:Intent ; a2a:action _:a . _:a a s:ReadAction ; s:object n:a ; a2a:action _:b . \
             _:b a s:ReadAction ; s:object n:a ; a2a:action _:a .",
            Reason::IntentUnmapped,
        ),
        // A blank target that leads back to its action.
        (
            "<urn:i> a a2a:Intent ; a2a:action _:a . _:a a s:ReadAction ; s:object _:a .",
            Reason::TargetMissing,
        ),
        // An action that is also a parameter.
        (
            "<urn:i> a a2a:Intent ; a2a:action _:a ; a2a:parameter _:a . _:a a s:ReadAction ; s:object n:a ; \
             a2a:paramKey \"purpose\" ; a2a:paramValue e:p .",
            Reason::IntentUnmapped,
        ),
        // A list of actions is a node without a class.
        ("<urn:i> a a2a:Intent ; a2a:action ( [ a s:ReadAction ; s:object n:a ] ) .", Reason::IntentUnmapped),
    ] {
        assert_refused(turtle, reason);
    }
}

#[test]
fn an_action_reached_twice_is_one_action() {
    let turtle = "<urn:i> a a2a:Intent ; a2a:action <urn:a>, <urn:a> . <urn:a> a s:ReadAction ; s:object n:a . \
         <urn:j> a2a:action <urn:a> .";
    let actions = extract(turtle);
    assert_eq!(actions.actions.len(), 1);
    assert_eq!(actions.unjudged_nodes, ["urn:j"]);
}

// TARGET_MISSING, LIMIT_EXCEEDED

#[test]
fn a_target_is_an_iri_and_never_ignored() {
    for object in [
        "",
        "s:object \"https://alice.pod.example/notes/a\"",
        "s:object []",
        "s:object n:a, \"n:b\"",
        "s:object n:a, [ e:p 1 ]",
        "s:object n:a ; s:target \"n:b\"",
        "s:target n:a",
    ] {
        let turtle = format!("<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; {object} ] .");
        assert_refused(&turtle, Reason::TargetMissing);
    }
    assert_refused("<urn:i> a a2a:Intent ; a2a:action [ a a2a:ListAction ] .", Reason::TargetMissing);
    assert_refused(
        "<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object n:a ], [ a s:DeleteAction ] .",
        Reason::TargetMissing,
    );
}

#[test]
fn a_list_may_name_its_target_either_way() {
    for predicate in ["s:object", "s:target"] {
        let turtle = format!("<urn:i> a a2a:Intent ; a2a:action [ a a2a:ListAction ; {predicate} n:a ] .");
        assert_eq!(extract(&turtle).actions.len(), 1);
    }
}

#[test]
fn actions_times_targets_are_bounded_on_both_sides() {
    let turtle = |targets: usize| {
        let targets: Vec<_> = (0..targets).map(|target| format!("n:t{target}")).collect();
        let (first, second) = targets.split_at(targets.len() / 2);
        format!(
            "<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object {} ], [ a s:DeleteAction ; s:object {} ] .",
            first.join(","),
            second.join(",")
        )
    };
    assert_eq!(extract(&turtle(64)).actions.len(), 64);
    assert_refused(&turtle(65), Reason::LimitExceeded);
}

#[test]
fn stated_values_are_bounded_on_both_sides() {
    let turtle = |values: usize| {
        let values: Vec<_> = (0..values).map(|value| format!("e:r{value}")).collect();
        read_with(&format!("s:recipient {}", values.join(",")))
    };
    assert_eq!(extract(&turtle(64)).actions[0].stated[RECIPIENT].len(), 64);
    assert_refused(&turtle(65), Reason::LimitExceeded);
    let values: Vec<_> = (0..64).map(|value| format!("e:p{value}")).collect();
    let parameter =
        format!("a2a:parameter [ a2a:paramKey \"purpose\" ; a2a:paramValue {} ]", values.join(","));
    assert!(Case::new().extract(&intent_with(&parameter)).is_ok());
    let both = format!("<urn:i> {parameter} . {}", read_with("s:recipient e:r"));
    assert_refused(&both, Reason::LimitExceeded);
}

// TARGET_NOT_NORMAL, AGENT_MISMATCH, roots

#[test]
fn a_target_that_is_not_normal_is_refused_and_not_repaired() {
    for target in [
        "https://alice.pod.example/notes/../../x",
        "https://ALICE.pod.example/notes/a",
        "https://alice.pod.example:443/notes/a",
        "https://alice.pod.example/notes/%61",
        "https://alice.pod.example//notes/a",
    ] {
        let turtle =
            format!("<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object n:a, <{target}> ] .");
        assert_refused(&turtle, Reason::TargetNotNormal);
    }
}

#[test]
fn the_agent_is_the_authenticated_actor() {
    for turtle in [read_with(&format!("s:agent <{AGENT}>")), intent_with(&format!("s:agent <{AGENT}>"))] {
        let actions = extract(&turtle);
        assert_eq!(actions.agent.as_deref(), Some(AGENT));
        assert!(actions.agrees_with(AGENT).is_ok());
    }
    for agent in ["e:other".to_owned(), format!("\"{AGENT}\""), "[]".into(), format!("<{AGENT}>, e:other")] {
        assert_refused(&read_with(&format!("s:agent {agent}")), Reason::AgentMismatch);
        assert_refused(&intent_with(&format!("s:agent {agent}")), Reason::AgentMismatch);
    }
}

#[test]
fn an_agent_named_before_anybody_is_known_is_compared_with_the_holder() {
    let mut case = Case::new();
    case.facts.actor = Actor::Unauthenticated;
    let actions = case.extract(&read_with("s:agent e:a")).unwrap();
    assert!(actions.agrees_with("https://e.example/a").is_ok());
    let refusal = actions.agrees_with("https://e.example/b").unwrap_err();
    assert_eq!((refusal.stage(), refusal.reason()), (Stage::Action, Reason::AgentMismatch));
    assert!(case.extract(&read_with("")).unwrap().agrees_with("https://e.example/b").is_ok());
}

#[test]
fn several_agents_are_a_mismatch() {
    let mut case = Case::new();
    case.facts.actor = Actor::Unauthenticated;
    assert_eq!(case.reason(&read_with("s:agent e:a, e:b")), Reason::AgentMismatch);
    let split =
        "<urn:i> a a2a:Intent ; s:agent e:a ; a2a:action [ a s:ReadAction ; s:object n:a ; s:agent e:b ] .";
    assert_eq!(case.reason(split), Reason::AgentMismatch);
}

#[test]
fn a_target_without_an_owner_is_refused() {
    for target in
        ["e:x", "<urn:x>", "<https://alice.pod.example.evil.example/>", "<http://alice.pod.example/notes/a>"]
    {
        let turtle =
            format!("<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object n:a, {target} ] .");
        assert_refused(&turtle, Reason::NoRootForTarget);
    }
}

#[test]
fn targets_of_two_owners_are_refused() {
    for actions in [
        "[ a s:ReadAction ; s:object n:a, b:a ]",
        "[ a s:ReadAction ; s:object n:a ], [ a s:ReadAction ; s:object b:a ]",
    ] {
        assert_refused(&format!("<urn:i> a a2a:Intent ; a2a:action {actions} ."), Reason::MixedRoots);
    }
}

#[test]
fn the_first_reason_in_order_of_precedence_is_given() {
    let mut parts = vec![
        ("s:object b:a", Reason::MixedRoots),
        ("s:object e:x", Reason::NoRootForTarget),
        ("s:agent e:other", Reason::AgentMismatch),
        ("s:object <https://A.example/>", Reason::TargetNotNormal),
        ("s:object \"x\"", Reason::TargetMissing),
        ("a e:Other", Reason::ActionUnknown),
        ("e:more 1", Reason::IntentUnmapped),
    ];
    let mut said = String::new();
    for (more, reason) in parts.drain(..) {
        said.push_str(more);
        said.push_str(" ; ");
        assert_refused(&read_with(&said), reason);
    }
}

#[test]
fn other_nodes_are_listed_as_unjudged() {
    let turtle = format!("{} n:a e:p e:y . e:x a2a:mode acl:Control . [] e:p 1 .", read_with(""));
    assert_eq!(
        extract(&turtle).unjudged_nodes,
        ["_:", "https://alice.pod.example/notes/a", "https://e.example/x"]
    );
}

#[test]
fn unjudged_nodes_are_named_within_bounds() {
    let nodes: String = (0..200).map(|n| format!("e:{n} e:p 1 . ")).collect();
    let long = format!("<urn:{}> e:p 1 .", "x".repeat(10_000));
    let text = format!("<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object n:a ] . {nodes}");
    let named = extract(&text).unjudged_nodes;
    assert_eq!((named.len(), named.last().map(String::as_str)), (65, Some("…")));
    let text = format!("<urn:i> a a2a:Intent ; a2a:action [ a s:ReadAction ; s:object n:a ] . {long}");
    let named = extract(&text).unjudged_nodes;
    assert_eq!(named.iter().map(|name| name.chars().count()).collect::<Vec<_>>(), [257]);
}

#[test]
fn prefixes_do_not_multiply_what_reports_repeat() {
    let prefix = format!("@prefix l: <https://alice.pod.example/notes/{}> .", "x".repeat(10_000));
    let values: Vec<_> = (0..20).map(|n| format!("l:{n}")).collect();
    let values = values.join(", ");
    for said in [
        format!("a2a:action [ a s:ReadAction ; s:object {values} ]"),
        format!("a2a:action [ a a2a:GrantAction ; s:object n:a ; a2a:mode acl:Read ; s:recipient {values} ]"),
        format!(
            "a2a:action [ a s:ReadAction ; s:object n:a ] ;
             a2a:parameter [ a2a:paramKey \"purpose\" ; a2a:paramValue {values} ]"
        ),
    ] {
        let text = format!("{prefix} <urn:i> a a2a:Intent ; {said} .");
        assert_eq!(Case::new().reason(&text), Reason::LimitExceeded, "{}", said.len());
    }
}

/// Also where the protocol itself does not carry the class, and on a parameter.
#[test]
fn nothing_but_an_action_is_typed_as_one() {
    let mut case = Case::new();
    case.settings.actions.retain(|class, _| class == schema::READ_ACTION);
    let action = "a2a:action [ a s:ReadAction ; s:object n:a ]";
    for text in [
        format!("<urn:i> a a2a:Intent, s:DeleteAction ; {action} ."),
        format!("<urn:i> a a2a:Intent, s:ReadAction ; {action} ."),
        format!("<urn:i> a a2a:Intent, \"delete it all\" ; {action} ."),
        format!("<urn:i> a a2a:Intent, [] ; {action} ."),
        format!(
            "<urn:i> a a2a:Intent ; {action} ;
             a2a:parameter [ a s:DeleteAction ; a2a:paramKey \"purpose\" ; a2a:paramValue e:p ] ."
        ),
    ] {
        assert_eq!(case.reason(&text), Reason::IntentUnmapped, "{text}");
    }
}
