//! What may be in any order is: members of JSON objects, credentials, parts. And what is damaged anywhere is refused.

use crate::support::{assert_granted, engine, grant, noon, world};
use crate::three::{Judge, Three};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;
use writgate::audit::ReportBody;
use writgate::message::Digest;
use writgate::worked_example::{ALICE, Ask, Intent, MANDATE_POLICY, MandateDraft};
use writgate::{Evaluation, MessageInput, Outcome, Request};

/// A generator of our own: the same seed, the same order.
struct Seed(u64);

impl Seed {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// JSON text with the members of every object in some order, and space where space may be.
fn written(value: &Value, seed: &mut Seed) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", json!(name), written(value, seed)))
                .collect();
            seed.shuffle(&mut members);
            format!("{{{}}}", members.join(" ,\n"))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, seed)).collect();
            format!("[ {} ]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// The same sets of JSON-LD in another order: what stands in arrays, but for contexts, whose order counts.
fn reordered(value: &mut Value, seed: &mut Seed) {
    match value {
        Value::Object(members) => {
            let sets = members.iter_mut().filter(|(name, _)| *name != "@context");
            sets.for_each(|(_, value)| reordered(value, seed));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| reordered(item, seed));
            seed.shuffle(items);
        }
        _ => {}
    }
}

fn octets(judge: &Judge, text: Vec<u8>) -> Evaluation {
    let (facts, snapshot) = (judge.facts.clone(), judge.snapshot.clone());
    judge.engine.evaluate(&Request { message: MessageInput::Bytes(text), facts, snapshot })
}

/// A message and what it is judged by.
struct Case {
    judge: Judge,
    message: Value,
    report: ReportBody,
}

impl Case {
    fn new(judge: Judge, message: Value) -> Self {
        let report = judge.message(&message).report;
        Self { judge, message, report }
    }
}

static THREE: LazyLock<Case> = LazyLock::new(|| {
    let three = Three::new();
    Case::new(three.judge(), three.ask().message().unwrap())
});

/// The same chain, refused in phase D for a reason that has words.
static REFUSED: LazyLock<Case> = LazyLock::new(|| {
    let three = Three::new().says(0, "#meeting-preparation", "#other");
    Case::new(three.judge(), three.ask().message().unwrap())
});

/// Two chains of one hop.
static COMPOSED: LazyLock<Case> = LazyLock::new(|| {
    let engine = engine();
    let snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
    let judge = Judge { facts: world().facts(), engine, snapshot };
    Case::new(judge, composed().message().unwrap())
});

fn composed() -> Ask {
    let world = world();
    let organisation = world.mallory.clone();
    let policy = world.policy().unwrap();
    let first = MandateDraft {
        authorizes: organisation.did_key(),
        policy: policy.replace(&world.agent_id(), &organisation.did_key()),
        ..world.mandate_draft().unwrap()
    };
    let own = "https://organisation.example/policies/own-agent";
    let second = MandateDraft {
        id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000003".to_owned(),
        key: organisation.clone(),
        policy: policy.replace(MANDATE_POLICY, own).replace(ALICE, &organisation.did_key()),
        ..world.mandate_draft().unwrap()
    };
    let mut ask = grant();
    ask.intent.0 = Intent::grant_bob().turtle();
    ask.credentials = vec![first.issue().unwrap(), second.issue().unwrap()];
    ask
}

proptest! {
    /// Whoever passes a message on may write its objects in any order: outcome and report body are the same.
    #[test]
    fn the_order_of_members_changes_nothing(seed in any::<u64>()) {
        for case in [&*THREE, &*REFUSED, &*COMPOSED] {
            let again = octets(&case.judge, written(&case.message, &mut Seed(seed)).into_bytes());
            prop_assert_eq!(&again.report, &case.report);
        }
    }

    /// Nor does the order of credentials, of policies in them, or of anything else that is a set. Only the digest of the
    /// message tells: it is over its JSON.
    #[test]
    fn the_order_of_sets_in_the_papers_changes_nothing(seed in any::<u64>()) {
        for case in [&*THREE, &*REFUSED, &*COMPOSED] {
            let mut message = case.message.clone();
            let mut seed = Seed(seed);
            for part in message["parts"].as_array_mut().unwrap() {
                if let Some(paper) = part.get_mut("data").filter(|data| data.get("verifiableCredential").is_some()) {
                    reordered(paper, &mut seed);
                }
            }
            let mut again = case.judge.message(&message).report;
            again.message_digest = case.report.message_digest;
            prop_assert_eq!(&again, &case.report);
        }
    }

    /// A damaged octet, anywhere, is refused, or does not matter to anything that was signed.
    #[test]
    fn a_damaged_octet_never_says_more(place in any::<prop::sample::Index>(), octet in any::<u8>()) {
        let case = &*THREE;
        let mut text = serde_json::to_vec(&case.message).unwrap();
        let place = place.index(text.len());
        text[place] = octet;
        let damaged = octets(&case.judge, text);
        if let Outcome::Granted(_) = damaged.outcome {
            let mut report = damaged.report;
            report.message_digest = case.report.message_digest;
            report.message_id.clone_from(&case.report.message_id);
            // With a plain challenge nothing signs the intent, whose own name is one of its IRIs.
            report.intent_hash.clone_from(&case.report.intent_hash);
            prop_assert_eq!(&report, &case.report, "octet {}", place);
        }
    }
}

/// What is taken out of a chain of papers, a credential, a proof, a digest, a part, is not made up for by anything.
#[test]
fn what_is_removed_never_permits() {
    let case = &*THREE;
    assert_eq!(case.report.reason, None);
    for at in 0..12 {
        let mut message = case.message.clone();
        let parts = message["parts"].as_array_mut().unwrap();
        let (paper, policy) = (1, 2);
        match at {
            0..3 => drop(credentials(&mut parts[paper]).remove(at)),
            3..6 => drop(credentials(&mut parts[paper])[at - 3].as_object_mut().unwrap().remove("proof")),
            6..9 => {
                let proof = &mut credentials(&mut parts[paper])[at - 6]["proof"];
                drop(proof.as_object_mut().unwrap().remove("proofValue"));
            }
            9 => drop(parts.remove(policy)),
            10 => drop(credentials(&mut parts[paper])[0].as_object_mut().unwrap().remove("relatedResource")),
            _ => drop(parts[paper]["data"].as_object_mut().unwrap().remove("proof")),
        }
        assert!(matches!(case.judge.message(&message).outcome, Outcome::Refused(_)), "{at}");
    }
}

fn credentials(part: &mut Value) -> &mut Vec<Value> {
    part["data"]["verifiableCredential"].as_array_mut().unwrap()
}

/// The parts of the message that carry policies, in any order: only their places in the report tell.
#[test]
fn the_order_of_policy_parts_changes_nothing() {
    let mut three = Three::new();
    // Another hop by digest.
    let leaf = &mut three.hops[2];
    let digest = <sha2::Sha512 as sha2::Digest>::digest(leaf.policy.as_bytes());
    let sri = {
        use base64::Engine as _;
        format!("sha512-{}", base64::engine::general_purpose::STANDARD.encode(digest))
    };
    let entry = json!({ "id": crate::three::LEAF, "digestSRI": sri, "mediaType": "text/turtle" });
    leaf.changes =
        vec![(&["relatedResource"], entry), (&["credentialSubject", "policy"], json!(crate::three::LEAF))];
    let text = leaf.policy.clone();
    let judge = three.judge();
    let mut ask = three.ask();
    ask.policies.push((text, "text/turtle".to_owned()));
    let first = judge.message(&ask.message().unwrap());
    assert_granted(&first);
    ask.policies.reverse();
    let mut second = judge.message(&ask.message().unwrap()).report;
    assert_ne!(second.message_digest, first.report.message_digest);
    second.message_digest = first.report.message_digest;
    assert_eq!(second, first.report);
}

/// Two chains are told apart whatever comes first, and are not the same when they change places.
#[test]
fn two_chains_are_told_apart_in_any_order() {
    let mut ask = composed();
    let judge = &COMPOSED.judge;
    let digests = |evaluation: &Evaluation| -> (Vec<Option<Digest>>, Vec<Option<Digest>>) {
        let of = |hops: &[writgate::audit::HopReport]| {
            hops.iter().map(|hop| Some(hop.credential_digest)).collect()
        };
        (of(&evaluation.report.chain), of(&evaluation.report.actor_chain))
    };
    let first = judge.message(&ask.message().unwrap());
    assert_granted(&first);
    ask.credentials.reverse();
    let second = judge.message(&ask.message().unwrap());
    assert_granted(&second);
    assert_eq!(digests(&first), digests(&second));
    assert_eq!((first.report.chain.len(), first.report.actor_chain.len()), (1, 1));
}
