//! Matching a rule: targets, parties, collections, constraints, conflicts, duties, evidence.

use super::*;
use proptest::prelude::*;

const OPEN: &str = "odrl:permission [ odrl:action odrl:use, odrl:delete, acl:Control ]";

fn permission(body: &str) -> Policy {
    owned(&format!("odrl:permission [ odrl:action odrl:read ; {body} ]"))
}

/// A policy that permits everything and prohibits with `body`.
fn prohibition(body: &str) -> Policy {
    owned(&format!("{OPEN} ; odrl:prohibition [ odrl:action odrl:read ; {body} ]"))
}

fn constraint(operand: &str, operator: &str, right: &str) -> String {
    format!(
        "odrl:constraint [ odrl:leftOperand {operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
    )
}

/// Whether the constraint lets a permission match, and whether it makes a prohibition match.
fn both(ask: &Ask, body: &str) -> (bool, bool) {
    (ask.permitted(&[permission(body)]), !ask.permitted(&[prohibition(body)]))
}

const TRUE: (bool, bool) = (true, true);
const FALSE: (bool, bool) = (false, false);
const UNDETERMINED: (bool, bool) = (false, true);

#[test]
fn targets_and_parties_are_equal_or_absent() {
    let ask = Ask::new();
    for (body, expected) in [
        ("odrl:target ex:thing ; odrl:assignee ex:agent", TRUE),
        ("rdfs:label \"any\"", TRUE),
        ("odrl:target ex:other", FALSE),
        ("odrl:assignee ex:other", FALSE),
        ("odrl:target <https://x.example/thing/>", FALSE),
        ("odrl:target <https://X.example/thing>", UNDETERMINED),
        ("odrl:target <https://x.example:443/thing>", UNDETERMINED),
        ("odrl:target <https://x.example/a/../thing>", UNDETERMINED),
        ("odrl:target <https://x.example/%74hing>", UNDETERMINED),
        ("odrl:target []", UNDETERMINED),
        ("odrl:target \"https://x.example/thing\"", UNDETERMINED),
        ("odrl:assignee [ ex:name \"agent\" ]", UNDETERMINED),
    ] {
        assert_eq!(both(&ask, body), expected, "{body}");
    }
}

#[test]
fn a_requested_target_that_is_not_normal_is_undetermined() {
    let ask = Ask::new().target("https://x.example/a/../thing");
    assert_eq!(both(&ask, "odrl:target ex:thing"), UNDETERMINED);
}

/// Threat 13: a prohibition covers queries and fragments, a permission does not.
#[test]
fn queries_and_fragments_are_prohibited_with_their_resource() {
    for target in
        ["https://x.example/thing?a=b", "https://x.example/thing#it", "https://x.example/thing?a=b#it"]
    {
        assert_eq!(both(&Ask::new().target(target), "odrl:target ex:thing"), STRICTER, "{target}");
    }
    assert_eq!(both(&Ask::new().target("https://x.example/things"), "odrl:target ex:thing"), FALSE);
}

/// No permission, yet prohibited: without doubt, each kind of rule takes its strict reading.
const STRICTER: (bool, bool) = UNDETERMINED;

#[test]
fn other_schemes_compare_exactly() {
    let ask = Ask::new().target("urn:uuid:1");
    assert_eq!(both(&ask, "odrl:target <urn:uuid:1>"), TRUE);
    assert_eq!(both(&ask, "odrl:target <URN:uuid:1>"), UNDETERMINED);
}

#[test]
fn collections_match_by_facts_of_the_store() {
    let collection = "odrl:target ex:c";
    let typed = "odrl:target [ a odrl:AssetCollection ; odrl:source ex:c ]";
    let ask = Ask::new();
    assert_eq!(both(&ask, collection), FALSE);
    assert_eq!(both(&ask, typed), UNDETERMINED);
    let member = ask.clone().fact("ex:thing odrl:partOf ex:c .");
    assert_eq!(both(&member, collection), TRUE);
    assert_eq!(both(&member, typed), TRUE);
    let stranger = ask.clone().fact("ex:other odrl:partOf ex:c .");
    assert_eq!(both(&stranger, collection), FALSE);
    assert_eq!(both(&stranger, typed), FALSE);
    let indirect = ask.fact("ex:thing odrl:partOf ex:b . ex:b odrl:partOf ex:c .");
    assert_eq!(both(&indirect, collection), UNDETERMINED);
    let party = Ask::new().fact("ex:agent odrl:partOf ex:team .");
    assert_eq!(both(&party, "odrl:assignee ex:team"), TRUE);
}

#[test]
fn refinements_are_judged_like_constraints() {
    let refined = |purpose: &str| {
        let refinement = format!(
            "odrl:refinement [ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand {purpose} ]"
        );
        [
            format!("odrl:target [ odrl:source ex:thing ; {refinement} ]"),
            format!("odrl:assignee [ odrl:source ex:agent ; {refinement} ]"),
        ]
    };
    let ask = Ask::new().with("purpose", &["<https://x.example/r>"]);
    for (purpose, expected) in [("ex:r", TRUE), ("ex:s", FALSE), ("3", UNDETERMINED)] {
        for body in refined(purpose) {
            assert_eq!(both(&ask, &body), expected, "{body}");
        }
        let action = format!(
            "odrl:action [ rdf:value odrl:read ; odrl:refinement [ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand {purpose} ] ]"
        );
        let found = (
            ask.permitted(&[owned(&format!("odrl:permission [ {action} ]"))]),
            !ask.permitted(&[owned(&format!("{OPEN} ; odrl:prohibition [ {action} ]"))]),
        );
        assert_eq!(found, expected, "{action}");
    }
    let described = "ex:read2 odrl:includedIn odrl:read .";
    let text = format!("ex:p a odrl:Set ; odrl:permission [ odrl:action ex:read2 ] . {described}");
    assert!(!Ask::new().action("https://x.example/read2").permitted(&[policy(&text)]));
}

#[test]
fn operators_over_sets() {
    let ask = |values: &[&str]| Ask::new().with("purpose", values);
    let (a, b, c) = ("<https://x.example/a>", "<https://x.example/b>", "<https://x.example/c>");
    for (values, operator, right, expected) in [
        (&[a][..], "eq", "ex:a", TRUE),
        (&[a], "eq", "ex:b", FALSE),
        (&[a], "eq", "ex:a, ex:b", UNDETERMINED),
        (&[a, b], "eq", "ex:a", STRICTER),
        (&[a], "neq", "ex:b", TRUE),
        (&[a], "neq", "ex:a", FALSE),
        (&[a, b], "neq", "ex:b", STRICTER),
        (&[a], "isAnyOf", "( ex:a ex:b )", TRUE),
        (&[a, b], "isAnyOf", "ex:a, ex:b", TRUE),
        (&[a, c], "isAnyOf", "( ex:a ex:b )", STRICTER),
        (&[c], "isAnyOf", "( ex:a ex:b )", FALSE),
        (&[c], "isNoneOf", "( ex:a ex:b )", TRUE),
        (&[a], "isNoneOf", "( ex:a ex:b )", FALSE),
        (&[a, c], "isNoneOf", "( ex:a ex:b )", STRICTER),
        (&[a, b, c], "isAllOf", "( ex:a ex:b )", TRUE),
        (&[a], "isAllOf", "( ex:a ex:b )", FALSE),
        (&[a], "isAnyOf", "( )", UNDETERMINED),
        (&[], "eq", "ex:a", UNDETERMINED),
        (&[a], "lt", "ex:b", UNDETERMINED),
        (&[a], "isA", "ex:b", UNDETERMINED),
        (&[a], "isPartOf", "ex:b", UNDETERMINED),
        (&["\"x\""], "eq", "\"x\"", TRUE),
        (&["\"x\""], "lt", "\"y\"", UNDETERMINED),
        (&["\"x\"@en"], "eq", "\"x\"", UNDETERMINED),
        (&["\"x\"@EN"], "eq", "\"x\"@en", TRUE),
        (&["\"5\""], "lteq", "5", TRUE),
        (&["\"five\""], "lteq", "5", UNDETERMINED),
        (&["\"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>"], "eq", "true", TRUE),
        (&["\"PT1H\"^^<http://www.w3.org/2001/XMLSchema#duration>"], "lt", "\"P1D\"^^xsd:duration", TRUE),
        (&["_:b"], "eq", "ex:a", UNDETERMINED),
        (&["_:b"], "neq", "ex:a", UNDETERMINED),
    ] {
        let body = constraint("odrl:purpose", operator, right);
        assert_eq!(both(&ask(values), &body), expected, "{values:?} {operator} {right}");
    }
}

#[test]
fn relations_come_from_the_store() {
    let ask = Ask::new()
        .with("spatial", &["<https://x.example/paris>"])
        .fact("ex:paris odrl:partOf ex:france ; a ex:City . ex:france odrl:partOf ex:europe .");
    for (operator, right, expected) in [
        ("isPartOf", "ex:france", TRUE),
        ("isPartOf", "ex:europe", UNDETERMINED),
        ("isPartOf", "ex:asia", FALSE),
        ("isA", "ex:City", TRUE),
        ("isA", "ex:Village", FALSE),
        ("hasPart", "ex:france", FALSE),
        ("isPartOf", "ex:france, ex:asia", UNDETERMINED),
    ] {
        assert_eq!(both(&ask, &constraint("odrl:spatial", operator, right)), expected, "{operator} {right}");
    }
}

/// Threat 6: what is missing permits nothing and disarms nothing.
#[test]
fn a_missing_attribute_is_undetermined() {
    for operator in ["eq", "neq", "lt", "isAnyOf", "isNoneOf", "isAllOf", "isA"] {
        assert_eq!(
            both(&Ask::new(), &constraint("odrl:purpose", operator, "ex:a")),
            UNDETERMINED,
            "{operator}"
        );
    }
}

#[test]
fn several_stated_values_and_xone_are_undetermined() {
    let one = |value: &str| {
        format!("[ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand ex:{value} ]")
    };
    let body = format!("odrl:constraint [ odrl:xone ( {} {} ) ]", one("a"), one("b"));
    let ask = Ask::new().with("purpose", &["<https://x.example/a>"]);
    assert_eq!(both(&ask, &body), TRUE);
    let two = Ask::new().with("purpose", &["<https://x.example/a>", "<https://x.example/b>"]);
    assert_eq!(both(&two, &body), UNDETERMINED);
}

#[test]
fn the_instant_is_ours() {
    let now = Ask::new();
    for (operator, right, expected) in [
        ("lteq", "\"2026-06-16T12:00:00Z\"^^xsd:dateTime", TRUE),
        ("lt", "\"2026-06-16T12:00:00Z\"^^xsd:dateTime", FALSE),
        ("gt", "\"2026-06-16T13:59:59+02:00\"^^xsd:dateTime", TRUE),
        ("eq", "\"2026-06-16T14:00:00+02:00\"^^xsd:dateTime", TRUE),
        ("lteq", "\"2027-01-01\"^^xsd:date", UNDETERMINED),
        ("lteq", "\"2027-01-01T00:00:00\"^^xsd:dateTime", UNDETERMINED),
        ("lteq", "\"2027-01-01T24:00:00Z\"^^xsd:dateTime", UNDETERMINED),
        ("lteq", "\"2027-01-01T00:00:00Z\"", UNDETERMINED),
        ("lteq", "3000", UNDETERMINED),
    ] {
        assert_eq!(both(&now, &constraint("odrl:dateTime", operator, right)), expected, "{operator} {right}");
    }
}

#[test]
fn a_claimed_time_denies_beyond_the_skew_and_is_never_used() {
    let typed = |text: &str| format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#dateTime>");
    let body = constraint("odrl:dateTime", "gteq", "\"2026-06-16T12:00:30Z\"^^xsd:dateTime");
    let close = Ask::new().with("dateTime", &[&typed("2026-06-16T12:01:00Z")]);
    assert!(!close.permitted(&[permission(&body)]), "the claimed time must not be used");
    assert!(close.permitted(&[owned(OPEN)]));
    for claimed in ["2026-06-16T12:01:01Z", "2026-06-16T11:58:59Z", "soon", "2026-06-16T12:00:00"] {
        let far = Ask::new().with("dateTime", &[&typed(claimed)]);
        assert_eq!(denied(far.of(&[owned(OPEN)])).constraint.as_deref(), Some("dateTime"), "{claimed}");
    }
}

/// Threat 5: established operands have one source.
#[test]
fn count_is_the_ledgers_and_includes_this_exercise() {
    let body = constraint("odrl:count", "lteq", "2");
    assert_eq!(both(&Ask::new().counted(1), &body), TRUE);
    assert_eq!(both(&Ask::new().counted(2), &body), FALSE);
    let claimed = Ask::new().counted(2).with("count", &["\"0\"^^<http://www.w3.org/2001/XMLSchema#integer>"]);
    assert!(!claimed.permitted(&[permission(&body)]));
    assert_eq!(both(&Ask::new().counted(u64::MAX), &body), UNDETERMINED);
    assert_eq!(both(&Ask::new().counted(0), &constraint("odrl:count", "lteq", "2.0")), UNDETERMINED);
}

#[test]
fn depth_and_alien_names_of_established_operands_have_no_source() {
    let ask = Ask::new()
        .with("delegationDepth", &["\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>"])
        .with("count", &["\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>"]);
    assert_eq!(both(&ask, &constraint("odrld:delegationDepth", "lteq", "5")), UNDETERMINED);
    assert_eq!(both(&ask, &constraint("ex:delegationDepth", "lteq", "5")), UNDETERMINED);
    assert_eq!(both(&ask, &constraint("ex:count", "lteq", "5")), UNDETERMINED);
    assert_eq!(both(&ask, &constraint("odrl:count", "lteq", "5")), TRUE);
}

#[test]
fn conflict_strategies_of_a_single_policy() {
    let rules = "odrl:permission [ odrl:action odrl:read ] ; odrl:prohibition [ odrl:action odrl:read ]";
    for (strategy, expected) in [("odrl:perm", true), ("odrl:prohibit", false), ("odrl:invalid", false)] {
        assert_eq!(Ask::new().permitted(&[owned(&format!("{rules} ; odrl:conflict {strategy}"))]), expected);
    }
    assert!(!Ask::new().permitted(&[owned(rules)]));
    assert!(
        !Ask::new()
            .permitted(&[owned("odrl:conflict odrl:perm ; odrl:prohibition [ odrl:action odrl:read ]")])
    );
    assert!(!Ask::new().permitted(&[owned("odrl:permission [ odrl:action odrl:delete ]")]));
    assert!(!Ask::new().permitted(&[]));
}

#[test]
fn duties_of_every_matched_permission_and_policy_obligations_come_along() {
    let policy = owned(
        "odrl:permission [ odrl:action odrl:read ; odrl:duty [ odrl:action odrl:inform ; odrl:target ex:owner ] ] ,
         [ odrl:action odrl:use ; odrl:duty [ odrl:action odrl:delete ] ] ,
         [ odrl:action odrl:delete ; odrl:duty [ odrl:action odrl:compensate ] ] ;
         odrl:obligation [ odrl:action odrl:attribute ]",
    );
    let grant = granted(Ask::new().of(&[policy]));
    let actions: Vec<_> =
        grant.obligations.iter().map(|duty| duty.action.rsplit('/').next().unwrap()).collect();
    assert_eq!(actions, ["attribute", "delete", "inform"]);
}

#[test]
fn a_grant_ends_when_time_would_change_it() {
    let until = |body: &str| granted(Ask::new().of(&[permission(body)])).not_after;
    let end = "\"2026-07-01T00:00:00Z\"^^xsd:dateTime";
    assert_eq!(until(&constraint("odrl:dateTime", "lteq", end)), instant("2026-07-01T00:00:00Z"));
    assert_eq!(until(&constraint("odrl:dateTime", "lt", end)), instant("2026-06-30T23:59:59.999999999Z"));
    assert_eq!(until(&constraint("odrl:dateTime", "neq", end)), instant("2026-06-30T23:59:59.999999999Z"));
    let now = format!("\"{NOW}\"^^xsd:dateTime");
    assert_eq!(until(&constraint("odrl:dateTime", "eq", &now)), instant(NOW));
    assert_eq!(until("rdfs:label \"x\""), Instant::MAX_UTC);
    let later = prohibition(&constraint("odrl:dateTime", "gteq", end));
    assert_eq!(granted(Ask::new().of(&[later])).not_after, instant("2026-06-30T23:59:59.999999999Z"));
}

/// A person must see the smallest change that would help.
#[test]
fn a_denial_names_the_nearest_miss() {
    let far = "odrl:permission [ odrl:action odrl:delete ]";
    let denial = |body: &str| denied(Ask::new().of(&[owned(&format!("{far} ; {body}"))]));
    let action = denied(Ask::new().of(&[owned(far)]));
    assert_eq!(action.expected.as_deref(), Some("delete"));
    let target = denial("odrl:permission [ odrl:action odrl:read ; odrl:target ex:other ]");
    assert_eq!(
        (target.constraint.as_deref(), target.expected.as_deref()),
        (Some("target"), Some("https://x.example/other"))
    );
    let party = denial("odrl:permission [ odrl:action odrl:read ; odrl:assignee ex:other ]");
    assert_eq!(party.constraint.as_deref(), Some("assignee"));
    let failing = constraint("odrl:dateTime", "lteq", "\"2026-01-01T00:00:00Z\"^^xsd:dateTime");
    let time = denial(&format!("odrl:permission [ odrl:action odrl:read ; {failing} ]"));
    assert_eq!(time.constraint.as_deref(), Some("dateTime lteq \"2026-01-01T00:00:00Z\""));
    assert_eq!(time.seen.as_deref(), Some("dateTime \"2026-06-16T12:00:00Z\""));
    assert_eq!(time.expected.as_deref(), Some("lteq \"2026-01-01T00:00:00Z\""));
    let missing = denial(&format!(
        "odrl:permission [ odrl:action odrl:read ; {} ]",
        constraint("odrl:purpose", "eq", "ex:r")
    ));
    assert_eq!(missing.seen.as_deref(), Some("purpose nothing"));
    let prohibited = denied(Ask::new().of(&[prohibition("odrl:target ex:thing")]));
    assert_eq!(prohibited.constraint.as_deref(), Some("prohibition of read on https://x.example/thing"));
    assert_eq!(prohibited.hop, Some(0));
    assert_eq!(prohibited.policy.as_deref(), Some("https://x.example/p"));
}

/// The truth tables of the logical operators, by every triple of operands.
#[test]
fn logical_operators_follow_their_truth_tables() {
    let operand = |value: usize| {
        let right = ["ex:b", "3", "ex:a"][value];
        format!("[ odrl:leftOperand odrl:purpose ; odrl:operator odrl:eq ; odrl:rightOperand {right} ]")
    };
    let ask = Ask::new().with("purpose", &["<https://x.example/a>"]);
    let outcome = [FALSE, UNDETERMINED, TRUE];
    for code in 0..27usize {
        let values = [code % 3, code / 3 % 3, code / 9];
        let list: Vec<String> = values.iter().map(|value| operand(*value)).collect();
        let (trues, unknown) = (values.iter().filter(|value| **value == 2).count(), values.contains(&1));
        let xone = match (trues, unknown) {
            (2.., _) => 0,
            (_, true) => 1,
            (trues, false) => trues * 2,
        };
        let least = values.iter().min().copied().unwrap();
        let expected = [
            ("and", least),
            ("andSequence", least),
            ("or", values.iter().max().copied().unwrap()),
            ("xone", xone),
        ];
        for (logic, truth) in expected {
            let body = format!("odrl:constraint [ odrl:{logic} ( {} ) ]", list.join(" "));
            assert_eq!(both(&ask, &body), outcome[truth], "{logic} {values:?}");
            let set = format!("odrl:constraint [ odrl:{logic} {} ]", list.join(" , "));
            assert_eq!(both(&ask, &set), outcome[truth], "{logic} {values:?} as a set");
        }
    }
}

/// Threat 38: the table of literals, in both kinds of rule.
#[test]
fn literals_that_do_not_parse_are_undetermined_in_both_kinds_of_rule() {
    for right in [
        "\"NaN\"^^xsd:double",
        "\"INF\"^^xsd:double",
        "\"1e33\"^^xsd:double",
        "\"111111111111111111111111111111111\"^^xsd:integer",
        "\"1.5\"^^xsd:integer",
        "\"-1\"^^xsd:nonNegativeInteger",
        "\"yes\"^^xsd:boolean",
        "\"P\"^^xsd:duration",
        "\"2026-01-01\"^^xsd:date",
        "\"2026-01-01T00:00:00\"^^xsd:dateTime",
        "\"x\"^^ex:own",
    ] {
        for operator in ["eq", "neq", "lt", "gteq", "isAnyOf", "isNoneOf"] {
            let ask = Ask::new().with("purpose", &["\"5\"^^<http://www.w3.org/2001/XMLSchema#integer>"]);
            let body = constraint("odrl:purpose", operator, right);
            assert_eq!(both(&ask, &body), UNDETERMINED, "{operator} {right}");
        }
    }
}

proptest! {
    /// Exact comparison agrees with integers, wherever the point stands.
    #[test]
    fn decimals_compare_as_their_integers(left in -999_999i64..999_999, right in -999_999i64..999_999, scale in 0usize..6) {
        let text = |value: i64| {
            let digits = format!("{:0>7}", value.unsigned_abs());
            let (whole, fraction) = digits.split_at(7 - scale);
            format!("\"{}{whole}.{fraction}\"^^xsd:decimal", if value < 0 { "-" } else { "" })
        };
        let lexical = text(left).replace("xsd:decimal", "<http://www.w3.org/2001/XMLSchema#decimal>");
        let ask = Ask::new().with("purpose", &[&lexical]);
        let found = ask.permitted(&[permission(&constraint("odrl:purpose", "lt", &text(right)))]);
        prop_assert_eq!(found, left < right);
    }
}

/// Threat 13: a query or fragment of a member is no way round a prohibition on its collection.
#[test]
fn queries_and_fragments_of_members_are_prohibited_with_their_collection() {
    let everything = "odrl:permission [ odrl:action odrl:read ]";
    let prohibited = owned(&format!(
        "{everything} ; odrl:prohibition [ odrl:action odrl:read ; odrl:target ex:collection ]"
    ));
    let permitted = owned("odrl:permission [ odrl:action odrl:read ; odrl:target ex:collection ]");
    for target in ["thing", "thing?x=1", "thing#x", "thing?x=1#y", "collection?x=1"] {
        let ask = Ask::new()
            .fact("ex:thing odrl:partOf ex:collection .")
            .target(&format!("https://x.example/{target}"));
        assert!(!ask.permitted(std::slice::from_ref(&prohibited)), "{target}");
        assert_eq!(ask.permitted(std::slice::from_ref(&permitted)), target == "thing", "{target}");
    }
    let other = Ask::new().fact("ex:thing odrl:partOf ex:collection .").target("https://x.example/thing2");
    assert!(other.permitted(&[prohibited]));
}

/// Time that only a refinement sees ends a grant like any other.
#[test]
fn a_grant_ends_when_a_refined_prohibition_would_begin() {
    let later = "odrl:refinement [ odrl:leftOperand odrl:dateTime ; odrl:operator odrl:gt ; odrl:rightOperand \"2026-06-16T12:01:00Z\"^^xsd:dateTime ]";
    for prohibition in [
        format!("odrl:action [ rdf:value odrl:read ; {later} ]"),
        format!("odrl:action odrl:read ; odrl:target [ odrl:source ex:thing ; {later} ]"),
        format!("odrl:action odrl:read ; odrl:assignee [ odrl:source ex:agent ; {later} ]"),
    ] {
        let policy =
            owned(&format!("odrl:permission [ odrl:action odrl:read ] ; odrl:prohibition [ {prohibition} ]"));
        assert_eq!(
            granted(Ask::new().of(&[policy])).not_after,
            instant("2026-06-16T12:01:00Z"),
            "{prohibition}"
        );
    }
}

/// A count is of one assigner's policy: somebody else's policy of the same id does not use it up.
#[test]
fn counts_are_kept_by_assigner() {
    let once = "odrl:permission [ odrl:action odrl:read ; odrl:constraint [ odrl:leftOperand odrl:count ; odrl:operator odrl:lteq ; odrl:rightOperand 1 ] ]";
    assert!(!Ask::new().counted(1).permitted(&[owned(once)]));
    let other = policy(&format!("ex:p a odrl:Set ; odrl:assigner ex:other ; {once} ."));
    assert!(Ask::new().counted(1).permitted(std::slice::from_ref(&other)));
    assert_ne!(granted(Ask::new().of(&[owned("odrl:permission [ odrl:action odrl:read ]")])).exercised, {
        granted(Ask::new().counted(1).of(&[other])).exercised
    });
}

/// Admission compares the counts that a verdict rests on, and no others: decisions of one mandate do not stand in each
/// other's way.
#[test]
fn only_policies_that_look_at_the_count_rest_on_it() {
    let looks = "[ odrl:leftOperand odrl:count ; odrl:operator odrl:lteq ; odrl:rightOperand 9 ]";
    let permission = "odrl:permission [ odrl:action odrl:read ]";
    for (body, rests) in [
        (permission.to_owned(), false),
        (format!("odrl:permission [ odrl:action odrl:read ; odrl:constraint {looks} ]"), true),
        (
            format!("odrl:permission [ odrl:action odrl:read ; odrl:constraint [ odrl:and ( {looks} ) ] ]"),
            true,
        ),
        (format!("odrl:permission [ odrl:action [ rdf:value odrl:read ; odrl:refinement {looks} ] ]"), true),
        (
            format!("{permission} ; odrl:prohibition [ odrl:action odrl:delete ; odrl:constraint {looks} ]"),
            true,
        ),
    ] {
        let exercised = granted(Ask::new().counted(0).of(&[owned(&body)])).exercised;
        assert_eq!(exercised.into_values().collect::<Vec<_>>(), [rests], "{body}");
    }
}
