//! `evaluate-delegated-chain`: the policies of a chain against one request, the agent taken as given.

use super::{Folder, member, text};
use crate::cli::Failure;
use crate::limits::Limits;
use crate::mandate::odrl::{self, ChainVerdict, CountSource, Facts, OdrlRequest, Policy, Work};
use crate::rdf::parse_graph;
use crate::source;
use crate::vocab::odrld;
use chrono::TimeDelta;
use oxrdf::{BlankNode, Graph, Literal, NamedNodeRef, Term, TermRef};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The longest chain where a case does not say.
const MAX_CHAIN_LENGTH: u64 = 8;
/// How far a caller's `dateTime` may be from the instant.
const SKEW: TimeDelta = TimeDelta::seconds(60);

pub(super) fn run(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let chain = strings(member(input, "chain")?)?;
    let mut policies = Vec::new();
    for document in chain {
        // A document that is not RDF, or not one policy, is no link of a chain.
        let (text, media_type) = folder.rdf(document)?;
        let read = parse_graph(&text, media_type, &Limits::default())
            .ok()
            .and_then(|graph| Policy::read(&graph, &Limits::default()).ok());
        match read {
            Some(policy) => policies.push(policy),
            None => return Ok(json!({ "decision": "deny", "detail": "a document is not one policy" })),
        }
    }
    let max_length = input.get("maxChainLength").map_or(Some(MAX_CHAIN_LENGTH), Value::as_u64);
    let max_length =
        usize::try_from(max_length.ok_or_else(|| Failure::new("`maxChainLength` is no count"))?)?;
    let revocations = Revocations::of(input, folder)?;
    if revocations.unreadable {
        return Ok(json!({ "decision": "deny", "detail": "a revocation document cannot be read" }));
    }
    let verdict = odrl::evaluate_chain(&policies, &request(input)?, &revocations.ids, max_length);
    Ok(match verdict {
        ChainVerdict::Permit(grant) => json!({
            "decision": "permit",
            "obligations": grant.obligations.iter().map(|duty| &duty.action).collect::<Vec<_>>(),
        }),
        ChainVerdict::Deny(denial) => json!({ "decision": "deny", "detail": denial.detail }),
    })
}

/// Short action names stand for IRIs, and an attribute's name is the local name of its left operand.
fn request(input: &Value) -> Result<OdrlRequest, Failure> {
    let asked = member(input, "request")?;
    let mut attributes = BTreeMap::new();
    for (name, value) in asked.get("attributes").and_then(Value::as_object).into_iter().flatten() {
        attributes.insert(name.clone(), terms(value)?);
    }
    let action = odrl::action_of_name(text(asked, "action")?);
    Ok(OdrlRequest::new(
        (text(asked, "agent")?, &action, text(asked, "target")?),
        &attributes,
        text(input, "now")?.parse()?,
        SKEW,
        CountSource::Attributes,
        Arc::new(Facts::default()),
        Work::new(&Limits::default()),
    ))
}

/// Policies that are revoked: by id, and by what trusted documents say.
pub(super) struct Revocations {
    /// Of documents, every `odrld:revokedPolicy`, as the suites have it.
    pub(super) ids: BTreeSet<String>,
    /// A document is not RDF, or says what no revocation says: nobody knows all that it revokes.
    pub(super) unreadable: bool,
}

impl Revocations {
    pub(super) fn of(input: &Value, folder: &Folder) -> Result<Self, Failure> {
        let mut all = Self { ids: BTreeSet::new(), unreadable: false };
        if let Some(ids) = input.get("revoked") {
            all.ids.extend(strings(ids)?.into_iter().map(str::to_owned));
        }
        if let Some(documents) = input.get("revocationDocuments") {
            for document in strings(documents)? {
                let Some(graph) = graph(document, folder) else {
                    all.unreadable = true;
                    continue;
                };
                all.unreadable |= source::statements(&graph).is_err();
                let revoked = graph.triples_for_predicate(NamedNodeRef::new_unchecked(odrld::REVOKED_POLICY));
                all.ids.extend(revoked.filter_map(|triple| match triple.object {
                    TermRef::NamedNode(policy) => Some(policy.as_str().to_owned()),
                    _ => None,
                }));
            }
        }
        Ok(all)
    }
}

fn graph(document: &str, folder: &Folder) -> Option<Graph> {
    let (document, media_type) = folder.rdf(document).ok()?;
    parse_graph(&document, media_type, &Limits::default()).ok()
}

/// JSON has no types to speak of: a string is read as the type of the right operand that it meets. What is no value of
/// RDF is there, and equals nothing.
pub(super) fn terms(value: &Value) -> Result<Vec<Term>, Failure> {
    Ok(match value {
        Value::Array(items) => items.iter().map(terms).collect::<Result<Vec<_>, _>>()?.concat(),
        Value::String(text) => vec![Literal::new_simple_literal(text).into()],
        Value::Bool(value) => vec![Literal::from(*value).into()],
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => vec![Literal::from(whole).into()],
            (None, Some(double)) => vec![Literal::from(double).into()],
            (None, None) => return Err(Failure::new("a number that is none")),
        },
        Value::Null | Value::Object(_) => vec![BlankNode::default().into()],
    })
}

pub(super) fn strings(value: &Value) -> Result<Vec<&str>, Failure> {
    let items = value.as_array().ok_or_else(|| Failure::new("not a list"))?;
    items
        .iter()
        .map(|item| item.as_str().ok_or_else(|| Failure::new("a list item is not a string")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::{acl, odrl};

    const PREFIXES: &str = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .
@prefix acl: <http://www.w3.org/ns/auth/acl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <https://x.example/> .
";
    const NOTE: &str = "odrl:target ex:note";

    /// A case's folder, removed at its end.
    struct Case {
        folder: Folder,
        input: Value,
    }

    impl Case {
        /// `ex:a` may read `ex:note` and pass that on, with `root` beside it; it passes it on to `ex:b` with `leaf`.
        fn two(root: &str, leaf: &str) -> Self {
            Self::of(&[
                &format!(
                    "ex:root a odrl:Agreement ; odrl:assigner ex:owner ; odrl:permission [ odrl:action odrl:read ; {NOTE} ; odrl:assignee ex:a ] , [ odrl:action odrl:grantUse ; {NOTE} ; odrl:assignee ex:a ] ; {root} ."
                ),
                &format!(
                    "ex:leaf a odrl:Agreement ; odrl:assigner ex:a ; odrl:assignee ex:b ; odrld:delegatedUnder ex:root ; {leaf} ."
                ),
            ])
        }

        /// `ex:b` reads `ex:note` under one policy.
        fn one(body: &str) -> Self {
            Self::of(&[&format!("ex:root a odrl:Set ; odrl:assigner ex:owner ; {body} .")])
        }

        fn of(chain: &[&str]) -> Self {
            let case = std::env::temp_dir().join(format!("writgate-{}", uuid::Uuid::new_v4()));
            std::fs::create_dir(&case).unwrap();
            let names: Vec<String> = (0..chain.len()).map(|at| format!("chain-{at}.ttl")).collect();
            for (name, text) in names.iter().zip(chain) {
                std::fs::write(case.join(name), format!("{PREFIXES}{text}")).unwrap();
            }
            let input = json!({
                "chain": names,
                "now": "2026-06-16T12:00:00Z",
                "request": { "agent": "https://x.example/b", "action": "read", "target": "https://x.example/note" },
            });
            Self { folder: Folder { suite: case.clone(), case }, input }
        }

        fn set(mut self, pointer: &str, value: Value) -> Self {
            let (object, name) = pointer.rsplit_once('/').unwrap();
            self.input.pointer_mut(object).unwrap()[name] = value;
            self
        }

        fn attribute(self, name: &str, value: Value) -> Self {
            self.set("/request/attributes", json!({ name: value }))
        }

        #[track_caller]
        fn permits(self) -> bool {
            match run(&self.input, &self.folder).unwrap()["decision"].as_str() {
                Some("permit") => true,
                Some("deny") => false,
                other => panic!("{other:?}"),
            }
        }
    }

    impl Drop for Case {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder.case);
        }
    }

    fn constraint(operand: &str, operator: &str, right: &str) -> String {
        format!(
            "odrl:constraint [ odrl:leftOperand odrl:{operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
        )
    }

    fn read_if(operand: &str, operator: &str, right: &str) -> String {
        format!(
            "odrl:permission [ odrl:action odrl:read ; {NOTE} ; {} ]",
            constraint(operand, operator, right)
        )
    }

    fn read() -> String {
        format!("odrl:permission [ odrl:action odrl:read ; {NOTE} ]")
    }

    fn until(instant: &str) -> String {
        format!("\"{instant}\"^^xsd:dateTime")
    }

    #[test]
    fn a_chain_denies_for_each_thing_that_is_wrong_with_it() {
        let two = || Case::two("odrl:conflict odrl:perm", &read());
        assert!(two().permits());
        assert!(!two().set("/chain", json!([])).permits(), "an empty chain");
        assert!(!two().set("/chain", json!(["chain-0.ttl"])).permits(), "its leaf is missing");
        assert!(!two().set("/chain", json!(["chain-1.ttl"])).permits(), "its root is missing");
        assert!(!two().set("/chain", json!(["chain-1.ttl", "chain-0.ttl"])).permits(), "upside down");
        assert!(!two().set("/chain", json!(["chain-0.ttl", "chain-0.ttl"])).permits(), "twice the same");
        assert!(!two().set("/maxChainLength", json!(1)).permits());
        assert!(two().set("/maxChainLength", json!(2)).permits());
        for revoked in ["root", "leaf"] {
            let revoked = format!("https://x.example/{revoked}");
            assert!(!two().set("/revoked", json!([revoked])).permits(), "{revoked}");
        }
        assert!(two().set("/revoked", json!(["https://x.example/other"])).permits());
        for (member, other) in [
            ("agent", "https://x.example/a"),
            ("action", "write"),
            ("action", "use"),
            ("target", "https://x.example/note?x"),
            ("target", "https://x.example/note#x"),
            ("target", "HTTPS://x.example/note"),
        ] {
            assert!(!two().set(&format!("/request/{member}"), json!(other)).permits(), "{other}");
        }
        for prohibition in ["read", "use", "grantUse"] {
            let root =
                format!("odrl:conflict odrl:perm ; odrl:prohibition [ odrl:action odrl:{prohibition} ]");
            assert!(!Case::two(&root, &read()).permits(), "{prohibition} in the root");
        }
        let leaf =
            format!("odrl:conflict odrl:perm ; odrl:prohibition [ odrl:action acl:Read ] ; {}", read());
        assert!(!Case::two("odrl:conflict odrl:perm", &leaf).permits());
        let of_agent = "odrl:prohibition [ odrl:action odrl:read ; odrl:assignee ex:b ]";
        assert!(!Case::two(of_agent, &read()).permits(), "the root prohibits the actual agent");
        let broken = Case::of(&["this is no Turtle"]);
        assert!(!broken.permits());
    }

    #[test]
    fn a_revocation_document_revokes_what_it_names_and_denies_where_it_cannot_be_read() {
        let with = |document: &str| {
            let document = format!("{PREFIXES}{document}");
            Case::two("odrl:conflict odrl:perm", &read())
                .set("/revocationDocuments", json!([document]))
                .permits()
        };
        assert!(with(""));
        assert!(with("ex:r a odrld:Revocation ; odrld:revokedPolicy ex:other ."));
        for revoking in [
            "ex:r a odrld:Revocation ; odrld:revokedPolicy ex:other , ex:root .",
            "[] a odrld:Revocation ; odrld:revokedPolicy ex:leaf .",
            "ex:r odrld:revokedPolicy ex:root .",
            "ex:r odrld:revokedPolicy ex:other .",
            "ex:r a odrld:Revocation .",
            "this is no Turtle",
        ] {
            assert!(!with(revoking), "{revoking}");
        }
    }

    #[test]
    fn time_in_an_ancestor_ends_the_whole_chain() {
        let root = |until: &str| {
            format!(
                "ex:root a odrl:Agreement ; odrl:assigner ex:owner ; odrl:permission [ odrl:action odrl:read , odrl:grantUse ; odrl:assignee ex:a ; {} ] .",
                constraint("dateTime", "lteq", until)
            )
        };
        let leaf = format!(
            "ex:leaf a odrl:Agreement ; odrl:assigner ex:a ; odrl:assignee ex:b ; odrld:delegatedUnder ex:root ; {} .",
            read()
        );
        assert!(Case::of(&[&root(&until("2026-06-16T12:00:00Z")), &leaf]).permits());
        assert!(Case::of(&[&root(&until("2026-06-16T14:00:00+02:00")), &leaf]).permits());
        for past in [
            "2026-06-16T11:59:59Z",
            "2026-06-16T12:00:00+00:01",
            "2026-06-17T00:00:00",
            "2026-06-16T24:00:00Z",
        ] {
            assert!(!Case::of(&[&root(&until(past)), &leaf]).permits(), "{past}");
        }
        assert!(!Case::of(&[&root("\"2026-06-17\"^^xsd:date"), &leaf]).permits());
        assert!(!Case::of(&[&root("\"2026-06-17T00:00:00Z\""), &leaf]).permits());
    }

    #[test]
    fn short_names_and_full_iris_of_actions_mean_the_same() {
        let body = |action: &str| format!("odrl:permission [ odrl:action {action} ; {NOTE} ]");
        for (permitted, asked, expected) in [
            ("acl:Append", "append", true),
            ("odrl:append", "append", false),
            ("odrl:write", "append", true),
            ("odrl:use", "append", true),
            ("acl:Control", "control", true),
            ("odrl:use", "control", false),
            ("odrl:control", "control", false),
            ("odrl:use", acl::CONTROL, false),
            ("acl:Control", acl::CONTROL, true),
            ("acl:Read", "read", true),
            ("odrl:read", acl::READ, true),
            ("odrl:write", odrl::DELETE, false),
            ("odrl:write", "modify", true),
            ("odrl:modify", "write", false),
            ("odrl:use", "grantUse", false),
            ("odrl:use", "transfer", false),
            ("odrl:read", "Read", false),
        ] {
            let case = Case::one(&body(permitted)).set("/request/action", json!(asked));
            assert_eq!(case.permits(), expected, "{permitted} {asked}");
        }
        for (prohibited, asked) in [
            ("odrl:append", "append"),
            ("odrl:appendTo", "append"),
            ("odrl:write", "append"),
            ("odrl:use", "control"),
        ] {
            let body = format!(
                "{} ; odrl:prohibition [ odrl:action {prohibited} ]",
                body("acl:Append , acl:Control")
            );
            assert!(!Case::one(&body).set("/request/action", json!(asked)).permits(), "{prohibited} {asked}");
        }
    }

    #[test]
    fn attributes_are_read_as_the_type_of_what_they_meet() {
        let case = |operand: &str, operator: &str, right: &str, value: Value| {
            Case::one(&read_if(operand, operator, right)).attribute(operand, value).permits()
        };
        for (operand, operator, right, value, expected) in [
            ("purpose", "eq", "ex:p", json!("https://x.example/p"), true),
            ("purpose", "eq", "\"https://x.example/p\"", json!("https://x.example/p"), true),
            ("purpose", "eq", "\"role:admin\"", json!("role:admin"), true),
            ("purpose", "neq", "ex:p", json!("https://x.example/q"), true),
            ("purpose", "eq", "\"research\"", json!("research"), true),
            ("purpose", "eq", "\"research\"@en", json!("research"), false),
            ("purpose", "neq", "\"research\"@en", json!("research"), false),
            ("purpose", "eq", "ex:p", json!(["https://x.example/p"]), true),
            ("purpose", "eq", "ex:p", json!(["https://x.example/p", "https://x.example/q"]), false),
            (
                "purpose",
                "isAnyOf",
                "( ex:p ex:q )",
                json!(["https://x.example/p", "https://x.example/q"]),
                true,
            ),
            ("purpose", "isAllOf", "( ex:p ex:q )", json!(["https://x.example/p"]), false),
            ("purpose", "isNoneOf", "ex:p , ex:q", json!("https://x.example/r"), true),
            ("purpose", "isNoneOf", "ex:p , ex:q", json!([]), false),
            ("purpose", "neq", "ex:p", Value::Null, false),
            ("purpose", "neq", "ex:p", json!({ "@id": "https://x.example/p" }), false),
            ("count", "lteq", "5", json!(5), true),
            ("count", "lteq", "5", json!(6), false),
            ("count", "lteq", "5", json!("5"), true),
            ("count", "lt", "10", json!("9"), true),
            ("count", "lteq", "5.0", json!(5), false),
            ("count", "lteq", "\"5\"", json!(5), false),
            ("count", "lteq", "5", json!(true), false),
            ("payAmount", "lteq", "5.00", json!(5), true),
            ("payAmount", "lteq", "5.00", json!(5.01), false),
            ("payAmount", "lteq", "\"NaN\"^^xsd:double", json!(1), false),
            ("payAmount", "gteq", "\"-INF\"^^xsd:double", json!(1), false),
            ("payAmount", "lteq", "\"1e5\"^^xsd:decimal", json!(1), false),
            ("payAmount", "eq", "true", json!(true), true),
            ("payAmount", "eq", "true", json!("1"), true),
            ("payAmount", "lt", "true", json!(false), false),
            ("payAmount", "lt", "\"b\"", json!("a"), false),
            ("spatial", "eq", "ex:p", json!("p"), false),
        ] {
            assert_eq!(
                case(operand, operator, right, value.clone()),
                expected,
                "{operand} {operator} {right} {value}"
            );
        }
        assert!(!Case::one(&read_if("count", "lteq", "5")).permits(), "no count is known");
        assert!(
            !Case::one(&read_if("delegationDepth", "lteq", "5"))
                .attribute("delegationDepth", json!(1))
                .permits()
        );
    }

    #[test]
    fn a_claimed_time_is_at_most_the_skew_away_and_never_used() {
        let body = read_if("dateTime", "lt", &until("2026-06-16T12:00:30Z"));
        let case = |value: Value| Case::one(&body).attribute("dateTime", value).permits();
        assert!(case(json!("2026-06-16T12:00:00Z")));
        assert!(case(json!("2026-06-16T12:01:00Z")), "the instant is ours, not what is claimed");
        assert!(case(json!(["2026-06-16T12:00:00Z", "2026-06-16T11:59:00Z"])));
        for claimed in [
            json!("2026-06-16T12:01:01Z"),
            json!("2026-06-16T11:58:59Z"),
            json!("2026-06-16T12:00:00"),
            json!("2026-06-16"),
            json!("now"),
            json!(1),
            json!(null),
            json!(["2026-06-16T12:00:00Z", "2027-06-16T12:00:00Z"]),
        ] {
            assert!(!case(claimed.clone()), "{claimed}");
        }
        let unconstrained = Case::one(&read()).attribute("dateTime", json!("2020-01-01T00:00:00Z"));
        assert!(!unconstrained.permits(), "it denies whether or not a rule looks at it");
    }
}
