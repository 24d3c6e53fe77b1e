//! Every value of valid messages, changed one at a time and signed by nobody: each mutant is refused, or it says the same
//! to every octet that is signed.

use crate::support::{engine, grant, noon, world};
use crate::three::{Judge, Three};
use chrono::TimeDelta;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use writgate::audit::ReportBody;
use writgate::worked_example::{ALICE, Ask, Intent, MANDATE_POLICY, MandateDraft, PolicyBinding};
use writgate::{Outcome, Reason};

/// Where a value stands: member names and places in arrays.
pub type Path = Vec<Step>;

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Member(String),
    Item(usize),
}

/// Why a mutant that nobody signed may be granted all the same.
struct Exception {
    what: &'static [&'static str],
    applies: fn(&str) -> bool,
    /// Only where the presentation's challenge does not cover the place.
    plain: bool,
    why: &'static str,
}

/// The short list. That no entry is idle is checked on the message of three hops.
const UNSIGNED: [Exception; 6] = [
    Exception {
        what: &["wrap"],
        applies: in_paper,
        plain: false,
        why: "in JSON-LD, a set of one is its member: the signed graph is the same",
    },
    Exception {
        what: &["duplicate", "extend", "change", "delete"],
        applies: in_context,
        plain: false,
        why: "a term that nothing in the paper uses, added or taken out: the signed graph is the same",
    },
    Exception {
        what: &["duplicate", "extend"],
        applies: |pointer| !in_paper(pointer),
        plain: true,
        why: "a plain challenge does not cover members of the message that A2A does not know, and nothing reads them",
    },
    Exception {
        what: &["delete"],
        applies: |pointer| pointer == "/contextId",
        plain: true,
        why: "a plain challenge does not cover the context, and the server vouches for it apart",
    },
    Exception {
        what: &["delete"],
        applies: |pointer| pointer.ends_with("/mediaType"),
        plain: true,
        why: "the media type of a part of data is its default; that of a policy is the issuer's, not the sender's",
    },
    Exception {
        what: &["change", "borrow"],
        applies: |pointer| pointer == "/messageId",
        plain: true,
        why: "a plain challenge does not cover the id; the ledger takes a challenge once whatever id it came with",
    },
];

fn in_paper(pointer: &str) -> bool {
    pointer.contains("/data/")
}

fn in_context(pointer: &str) -> bool {
    in_paper(pointer) && pointer.contains("/@context/")
}

/// Every mutant is refused, or its report shows the same presentation, message, chain and actions and a reason is
/// given above. Returns the number of mutants and the exceptions that were of use.
fn survives_mutation(name: &str, ask: &Ask, judge: &Judge) -> (usize, BTreeSet<usize>) {
    let message = ask.message().unwrap();
    let original = judge.message(&message);
    assert!(matches!(original.outcome, Outcome::Granted(_)), "{name}: {:#?}", original.report);
    let (mut mutants, mut used) = (0, BTreeSet::new());
    for path in paths(&message) {
        let pointer = pointer(&path);
        for (what, mutant) in mutants_at(&message, &path, &[]) {
            mutants += 1;
            let evaluation = judge.message(&mutant);
            if matches!(evaluation.outcome, Outcome::Granted(_)) {
                let at = format!("{name}: {what} at {pointer}");
                assert!(same_signed(&original.report, &evaluation.report), "{at}");
                assert!(
                    !ask.bound || rest(&message) == rest(&mutant),
                    "{at}: a bound presentation on another message"
                );
                // A bound challenge covers the rest of the message, and not the part that holds its own presentation.
                let covered = ask.bound && !pointer.starts_with("/parts/1");
                let exception = UNSIGNED.iter().position(|one| {
                    one.what.contains(&what) && (one.applies)(&pointer) && !(one.plain && covered)
                });
                used.insert(exception.unwrap_or_else(|| panic!("granted: {at}")));
            }
        }
    }
    assert!(mutants > 300, "{name}: only {mutants} mutants");
    (mutants, used)
}

fn same_signed(original: &ReportBody, mutant: &ReportBody) -> bool {
    let credentials = |report: &ReportBody| {
        let hops = report.chain.iter().chain(&report.actor_chain);
        hops.map(|hop| (hop.credential_digest, hop.policy_digest)).collect::<Vec<_>>()
    };
    original.presentation_digest.is_some()
        && original.presentation_digest == mutant.presentation_digest
        && credentials(original) == credentials(mutant)
        && original.holder == mutant.holder
}

/// The message without its authorization parts.
fn rest(message: &Value) -> Value {
    let mut rest = message.clone();
    if let Some(parts) = rest.get_mut("parts").and_then(Value::as_array_mut) {
        parts.truncate(1);
    }
    rest
}

pub fn paths(value: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    let mut open: Vec<(Path, &Value)> = vec![(Vec::new(), value)];
    while let Some((path, value)) = open.pop() {
        let below: Vec<(Step, &Value)> = match value {
            Value::Object(members) => {
                members.iter().map(|(name, value)| (Step::Member(name.clone()), value)).collect()
            }
            Value::Array(items) => {
                items.iter().enumerate().map(|(place, value)| (Step::Item(place), value)).collect()
            }
            _ => Vec::new(),
        };
        for (step, value) in below {
            let path = [path.clone(), vec![step]].concat();
            found.push(path.clone());
            open.push((path, value));
        }
    }
    found
}

pub fn at<'v>(value: &'v mut Value, path: &[Step]) -> &'v mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Member(name) => &mut value[name.as_str()],
        Step::Item(place) => &mut value[*place],
    })
}

/// The mutants of the value at `path`; a string also becomes each of `others`.
pub fn mutants_at(message: &Value, path: &Path, others: &[String]) -> Vec<(&'static str, Value)> {
    let mut mutants = Vec::new();
    let mut edit = |what, edit: &dyn Fn(&mut Value)| {
        let mut mutant = message.clone();
        edit(&mut mutant);
        if mutant != *message {
            mutants.push((what, mutant));
        }
    };
    let (last, parents) = path.split_last().unwrap();
    edit("delete", &|mutant| match (last, at(mutant, parents)) {
        (Step::Member(name), Value::Object(members)) => drop(members.remove(name)),
        (Step::Item(place), Value::Array(items)) => drop(items.remove(*place)),
        _ => panic!("a path leads to a member or an item"),
    });
    edit("duplicate", &|mutant| match (last, at(mutant, parents)) {
        (Step::Member(name), Value::Object(members)) => {
            let copy = members[name].clone();
            members.insert(format!("{name}2"), copy);
        }
        (Step::Item(place), Value::Array(items)) => items.insert(*place, items[*place].clone()),
        _ => panic!("a path leads to a member or an item"),
    });
    edit("wrap", &|mutant| {
        let value = at(mutant, path);
        *value = json!([value.clone()]);
    });
    edit("null", &|mutant| *at(mutant, path) = Value::Null);
    edit("change", &|mutant| {
        let value = at(mutant, path);
        *value = match &*value {
            Value::String(text) => json!(format!("{text}x")),
            Value::Number(number) => json!(number.as_i64().unwrap_or(0) + 1),
            Value::Bool(bool) => json!(!bool),
            Value::Null => json!("x"),
            Value::Array(_) => json!([]),
            Value::Object(_) => json!({}),
        };
    });
    edit("extend", &|mutant| match at(mutant, path) {
        Value::Object(members) => drop(members.insert("https://x.example/p".to_owned(), json!("x"))),
        Value::Array(items) => items.push(json!("urn:x")),
        _ => {}
    });
    edit("double", &|mutant| {
        let value = at(mutant, path);
        if !value.is_array() {
            *value = json!([value.clone(), value.clone()]);
        }
    });
    for other in others {
        edit("borrow", &|mutant| {
            let value = at(mutant, path);
            if value.is_string() {
                *value = json!(other);
            }
        });
        edit("both", &|mutant| {
            let value = at(mutant, path);
            if value.is_string() {
                *value = json!([value.clone(), other]);
            }
        });
    }
    mutants
}

pub fn pointer(path: &Path) -> String {
    path.iter()
        .map(|step| match step {
            Step::Member(name) => format!("/{name}"),
            Step::Item(place) => format!("/{place}"),
        })
        .collect()
}

fn by_digest() -> Ask {
    let draft = MandateDraft { binding: PolicyBinding::Digest, ..world().mandate_draft().unwrap() };
    let mut ask = grant();
    ask.credentials = vec![draft.issue().unwrap()];
    ask.policies = vec![(world().policy().unwrap(), "text/turtle".to_owned())];
    ask
}

/// Alice mandates an organisation, whose own agent acts.
fn composed() -> Ask {
    let world = world();
    let (organisation, agent) = (world.mallory.clone(), world.agent_id());
    let policy = world.policy().unwrap();
    let first = MandateDraft {
        authorizes: organisation.did_key(),
        policy: policy.replace(&agent, &organisation.did_key()),
        ..world.mandate_draft().unwrap()
    };
    let own = "https://organisation.example/policies/own-agent";
    let second = MandateDraft {
        id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000003".to_owned(),
        key: organisation.clone(),
        policy: policy.replace(MANDATE_POLICY, own).replace(ALICE, &organisation.did_key()),
        ..world.mandate_draft().unwrap()
    };
    let mut ask = world.ask(Intent::grant_bob(), noon() - TimeDelta::seconds(1)).unwrap();
    ask.credentials = vec![first.issue().unwrap(), second.issue().unwrap()];
    ask
}

fn judge() -> Judge {
    let engine = engine();
    let snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
    Judge { facts: world().facts(), engine, snapshot }
}

#[test]
fn no_mutant_of_a_plain_grant_says_more_than_was_signed() {
    survives_mutation("plain", &grant(), &judge());
}

#[test]
fn no_mutant_of_a_bound_grant_says_more_than_was_signed() {
    survives_mutation("bound", &Ask { bound: true, ..grant() }, &judge());
}

#[test]
fn no_mutant_of_a_policy_by_digest_says_more_than_was_signed() {
    survives_mutation("digest", &by_digest(), &judge());
}

#[test]
fn no_mutant_of_a_composition_says_more_than_was_signed() {
    survives_mutation("composed", &composed(), &judge());
}

#[test]
fn no_mutant_of_three_hops_says_more_than_was_signed() {
    let three = Three::new();
    let (mutants, used) = survives_mutation("three", &three.ask(), &three.judge());
    println!("{mutants} mutants of a message of three hops, signed by nobody");
    assert!(mutants >= 1000, "{mutants}");
    for (place, exception) in UNSIGNED.iter().enumerate() {
        assert!(used.contains(&place), "an exception that no mutant needs: {}", exception.why);
    }
}

/// What is around the message is as much a part of the question.
#[test]
fn no_other_facts_of_the_caller_fit_a_message_of_three_hops() {
    let three = Three::new();
    let message = three.ask().message().unwrap();
    type Change = fn(&mut Judge);
    let changes: [(&str, Change); 8] = [
        ("another challenge", |judge| judge.facts.challenge = Some("n-other".to_owned())),
        ("no challenge", |judge| judge.facts.challenge = None),
        ("another domain", |judge| judge.facts.domain = Some("https://other.example/agent".to_owned())),
        ("another context", |judge| judge.facts.context = Some("ctx-other".to_owned())),
        ("another actor", |judge| judge.facts.actor = writgate::Actor::Authenticated(world().agent_id())),
        ("the extension not activated", |judge| judge.facts.activated.clear()),
        ("no status lists", |judge| judge.snapshot.status_lists = Default::default()),
        ("no controller documents", |judge| judge.snapshot.controllers = Default::default()),
    ];
    assert!(matches!(three.judge().message(&message).outcome, Outcome::Granted(_)));
    for (name, change) in changes {
        let mut judge = three.judge();
        change(&mut judge);
        assert!(!matches!(judge.message(&message).outcome, Outcome::Granted(_)), "{name}");
    }
}

/// The document of the root policy travels beside the credential that digests it.
#[test]
fn no_mutant_of_the_policy_part_of_three_hops_is_taken() {
    let three = Three::new();
    let (ask, judge) = (three.ask(), three.judge());
    let (presentation, text) = (ask.presentation().unwrap(), ask.policies[0].0.clone());
    let granted = |text: &str| {
        let policies = vec![(text.to_owned(), "text/turtle".to_owned())];
        let message = Ask { policies, ..ask.clone() }.with_presentation(Some(presentation.clone()));
        let evaluation = judge.message(&message);
        let reason = evaluation.report.reason;
        assert_eq!(reason.is_some(), !matches!(evaluation.outcome, Outcome::Granted(_)));
        reason
    };
    assert_eq!(granted(&text), None);
    let mut mutants = 0;
    for place in (0..text.len()).step_by(if all_mutants() { 1 } else { 9 }) {
        let mut octets = text.clone().into_bytes();
        octets[place] ^= 1;
        let changed = String::from_utf8(octets).unwrap();
        assert_eq!(granted(&changed), Some(Reason::PolicyIntegrity), "octet {place}");
        mutants += 1;
    }
    for changed in triple_mutants(&text) {
        assert_eq!(granted(&changed), Some(Reason::PolicyIntegrity), "{changed}");
        mutants += 1;
    }
    println!("{mutants} mutants of the policy part of a message of three hops");
    assert!(mutants > 200, "{mutants}");
}

/// The document with one triple dropped, changed, made two, or added.
fn triple_mutants(text: &str) -> Vec<String> {
    let triples: Vec<oxrdf::Triple> =
        oxttl::TurtleParser::new().for_slice(text).map(Result::unwrap).collect();
    let lines: Vec<String> = triples.iter().map(|triple| format!("{triple} .\n")).collect();
    let mut mutants = Vec::new();
    for (place, triple) in triples.iter().enumerate() {
        let other = oxrdf::Triple {
            object: oxrdf::NamedNode::new_unchecked("https://x.example/other").into(),
            ..triple.clone()
        };
        let mut with = |line: &[String]| {
            let kept = lines[..place].iter().chain(line).chain(&lines[place + 1..]);
            mutants.push(kept.cloned().collect::<String>());
        };
        with(&[]);
        with(&[format!("{other} .\n")]);
        with(&[format!("{triple} .\n{other} .\n")]);
        with(&[format!("{triple} .\n{} <https://x.example/p> \"x\" .\n", triple.subject)]);
    }
    mutants
}

/// Whether every mutant is tried, or a sample: all in an optimised build (`.ci/run`) or where the variable asks for it.
pub fn all_mutants() -> bool {
    !cfg!(debug_assertions) || std::env::var_os("WRITGATE_ALL_MUTANTS").is_some()
}
