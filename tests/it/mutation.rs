//! Every value of valid messages, changed one at a time and signed by nobody: each mutant is refused, or it says the same
//! to every octet that is signed.

use crate::support::{engine, grant, noon, octets, world};
use chrono::TimeDelta;
use serde_json::{Value, json};
use writgate::audit::ReportBody;
use writgate::worked_example::{ALICE, Ask, Intent, MANDATE_POLICY, MandateDraft, PolicyBinding};
use writgate::{Evaluation, Outcome, Request};

/// Where a value stands: member names and places in arrays.
type Path = Vec<Step>;

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Member(String),
    Item(usize),
}

/// Every mutant is refused, or its report shows the same presentation, message, chain and actions.
fn survives_mutation(name: &str, ask: &Ask) {
    let message = ask.message().unwrap();
    let (engine, facts) = (engine(), world().facts());
    let snapshot = engine.snapshot(noon()).unwrap();
    let evaluate = |message: &Value| -> Evaluation {
        let (facts, snapshot) = (facts.clone(), snapshot.clone());
        engine.evaluate(&Request { message: octets(message), facts, snapshot })
    };
    let original = evaluate(&message);
    assert!(matches!(original.outcome, Outcome::Granted(_)), "{name}: {:#?}", original.report);
    let mut mutants = 0;
    for path in paths(&message) {
        for (what, mutant) in mutants_at(&message, &path) {
            mutants += 1;
            let evaluation = evaluate(&mutant);
            if matches!(evaluation.outcome, Outcome::Granted(_)) {
                let pointer = pointer(&path);
                let at = format!("{name}: {what} at {pointer}");
                assert!(same_signed(&original.report, &evaluation.report), "{at}");
                assert!(
                    !ask.bound || rest(&message) == rest(&mutant),
                    "{at}: a bound presentation on another message"
                );
                assert!(may_be_granted(what, &pointer), "{at}");
            }
        }
    }
    assert!(mutants > 300, "{name}: only {mutants} mutants");
}

/// The mutants that are granted because they say the same, or change what a plain challenge does not cover.
fn may_be_granted(what: &str, pointer: &str) -> bool {
    let (in_paper, in_terms) = (pointer.contains("/data/"), pointer.contains("/@context/"));
    match what {
        // In JSON-LD, a set of one is its member.
        "wrap" => in_paper,
        // Members that A2A does not know, a context twice, a term that nothing uses.
        "duplicate" | "extend" => !in_paper || in_terms,
        // The media type of a part of data is its default.
        "delete" => in_terms || pointer == "/contextId" || pointer.ends_with("/mediaType"),
        "change" => in_terms || pointer == "/messageId",
        _ => false,
    }
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

fn paths(value: &Value) -> Vec<Path> {
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

fn at<'v>(value: &'v mut Value, path: &[Step]) -> &'v mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Member(name) => &mut value[name.as_str()],
        Step::Item(place) => &mut value[*place],
    })
}

fn mutants_at(message: &Value, path: &Path) -> Vec<(&'static str, Value)> {
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
    mutants
}

fn pointer(path: &Path) -> String {
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

#[test]
fn no_mutant_of_a_plain_grant_says_more_than_was_signed() {
    survives_mutation("plain", &grant());
}

#[test]
fn no_mutant_of_a_bound_grant_says_more_than_was_signed() {
    survives_mutation("bound", &Ask { bound: true, ..grant() });
}

#[test]
fn no_mutant_of_a_policy_by_digest_says_more_than_was_signed() {
    survives_mutation("digest", &by_digest());
}

#[test]
fn no_mutant_of_a_composition_says_more_than_was_signed() {
    survives_mutation("composed", &composed());
}
