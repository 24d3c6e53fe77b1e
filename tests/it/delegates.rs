//! What a delegate makes of the papers that it signs itself: every value of its own hop and of each hop below changed,
//! one at a time, and signed again. Such a mutant may say another thing; it must not give more than the owner gave.

use crate::mutation::{Path, Step, all_mutants, at, mutants_at, paths, pointer};
use crate::three::{Judge, LEAF, MIDDLE, Three, constraint, permission};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use writgate::Outcome;
use writgate::worked_example::{ALICE, MANDATE_POLICY, NOTES, sign};

const ODRL: &str = "http://www.w3.org/ns/odrl/2/";
const ODRLD: &str = "https://w3id.org/jeswr/odrl-delegation#";

/// One changed paper: of which hop, what was done, where.
struct Mutant {
    hop: usize,
    what: &'static str,
    pointer: String,
    credential: Value,
}

/// Everything that the holders of the keys of hop 1 and of hop 2 can make of their papers by one change. A mutant that
/// has no canonical form cannot be signed by anybody, and is left out.
fn mutants(three: &Three) -> Vec<Mutant> {
    let issued = three.credentials();
    let mut others = vec![ALICE.to_owned(), NOTES.to_owned(), MANDATE_POLICY.to_owned()];
    others.extend([MIDDLE.to_owned(), LEAF.to_owned(), three.worker.did_key()]);
    others.extend([three.world.agent_id(), three.world.mallory.did_key()]);
    let mut found = Vec::new();
    for hop in 1..3 {
        let mut document = issued[hop].clone();
        document.as_object_mut().unwrap().remove("proof");
        let (key, created) = (&three.hops[hop].key, three.hops[hop].created);
        let mut add = |what, pointer: &str, changed: Value, options: Map<String, Value>| {
            if let Ok(credential) = sign(key, changed, "assertionMethod", created, options) {
                found.push(Mutant { hop, what, pointer: pointer.to_owned(), credential });
            }
        };
        for path in paths(&document) {
            let pointer = pointer(&path);
            for (what, mutant) in mutants_at(&document, &path, &others) {
                add(what, &pointer, mutant, Map::new());
            }
            for mutant in additions(&document, &path, three) {
                add("add", &pointer, mutant, Map::new());
            }
        }
        for (option, value) in [
            ("type", json!("Ed25519Signature2020")),
            ("cryptosuite", json!("ecdsa-rdfc-2019")),
            ("created", json!("2027-01-01T00:00:00Z")),
            ("created", json!("yesterday")),
            ("expires", json!("2026-11-30T00:00:00Z")),
            ("verificationMethod", json!(three.world.alice.method())),
            ("verificationMethod", json!(three.worker.did_key_method())),
            ("proofPurpose", json!("authentication")),
            ("proofPurpose", json!("capabilityDelegation")),
            ("previousProof", json!("urn:uuid:1")),
            ("challenge", json!("x")),
            ("domain", json!("x")),
            ("nonce", json!("x")),
            ("id", json!("urn:proof:1")),
        ] {
            add("option", option, document.clone(), Map::from_iter([(option.to_owned(), value)]));
        }
    }
    found
}

/// Statements that would widen a policy if they were taken for somebody else's, put at a node of the paper.
fn additions(document: &Value, path: &Path, three: &Three) -> Vec<Value> {
    let node = path.iter().fold(document, |value, step| match step {
        Step::Member(name) => &value[name.as_str()],
        Step::Item(place) => &value[*place],
    });
    if !node.is_object() || node.get("@value").is_some() || pointer(path).contains("@context") {
        return Vec::new();
    }
    let odrl = |name: &str| format!("{ODRL}{name}");
    let id = |iri: &str| json!({ "@id": iri });
    let all = json!({ odrl("action"): [id(&odrl("use")), id(&odrl("grantUse"))] });
    let deep = json!({
        odrl("leftOperand"): id(&format!("{ODRLD}delegationDepth")),
        odrl("operator"): id(&odrl("lteq")),
        odrl("rightOperand"): 9,
    });
    [
        (odrl("permission"), all.clone()),
        (odrl("prohibition"), all),
        (odrl("conflict"), id(&odrl("perm"))),
        (odrl("assigner"), id(ALICE)),
        (odrl("assignee"), id(&three.worker.did_key())),
        (odrl("uid"), id(MANDATE_POLICY)),
        (odrl("inheritFrom"), id(MANDATE_POLICY)),
        (odrl("partOf"), id(NOTES)),
        (odrl("hasPolicy"), id(MANDATE_POLICY)),
        (odrl("constraint"), deep),
        (odrl("action"), id(&odrl("grantUse"))),
        (odrl("target"), id(NOTES)),
        (format!("{ODRLD}delegatedUnder"), id(MANDATE_POLICY)),
    ]
    .into_iter()
    .map(|(member, value)| {
        let mut mutant = document.clone();
        let node = at(&mut mutant, path);
        match node.get_mut(&member).and_then(Value::as_array_mut) {
            Some(values) => values.push(value),
            None => node[&member] = value,
        }
        mutant
    })
    .collect()
}

/// Why a mutant that its delegate signed may be granted: it is the delegate's own to say, and no principal's word is
/// in it.
struct Exception {
    hop: Option<usize>,
    what: &'static [&'static str],
    /// How the place ends, with the namespaces of ODRL left out; `*` before it stands for anything.
    at: &'static [&'static str],
    why: &'static str,
}

const SIGNED_AGAIN: [Exception; 15] = [
    Exception {
        hop: None,
        what: &["duplicate", "borrow", "change", "delete"],
        at: &["/@context/*"],
        why: "terms are the issuer's; what counts is the graph that they make, and that is judged",
    },
    Exception { hop: None, what: &["wrap"], at: &["*"], why: "in JSON-LD, a set of one is its member" },
    Exception {
        hop: None,
        what: &["extend", "add"],
        at: &["*/0", "*/1", "/credentialSubject", "/credentialStatus"],
        why: "it says more of its own rules, or states what is no rule; facts of a delegate's document widen nothing",
    },
    Exception {
        hop: None,
        what: &["add"],
        at: &["/credentialSubject/policy"],
        why: "it permits more than it has; what it has is judged by every policy above",
    },
    Exception {
        hop: None,
        what: &["extend"],
        at: &["*permission", "*action", "*target", "/type", "*/@type"],
        why: "one more rule that cannot be read, or one more class, beside what stands there",
    },
    Exception {
        hop: None,
        what: &["duplicate"],
        at: &["*permission/0", "*permission/1", "*constraint/0", "*constraint/1"],
        why: "the same rule or condition twice",
    },
    Exception {
        hop: None,
        what: &["delete"],
        at: &[
            "*constraint",
            "*constraint/0",
            "*constraint/1",
            "*permission/0/target",
            "*permission/1/target",
            "*profile",
        ],
        why: "its own conditions are its own to drop; those of its principals are in their policies",
    },
    Exception {
        hop: Some(1),
        what: &["delete", "both"],
        at: &["/credentialSubject/action", "/credentialSubject/target"],
        why: "the scope of its own credential is its own to widen",
    },
    Exception {
        hop: None,
        what: &["delete"],
        at: &["/credentialSubject/id"],
        why: "a subject without an id is its issuer",
    },
    Exception {
        hop: None,
        what: &["change", "borrow", "delete"],
        at: &["/id"],
        why: "a credential is called what its issuer likes, or nothing",
    },
    Exception {
        hop: Some(2),
        what: &["change", "borrow"],
        at: &["/credentialSubject/policy/@id"],
        why: "the policy above names no next policy, so the last one is called what its assigner likes",
    },
    Exception {
        hop: None,
        what: &["delete"],
        at: &["/validFrom", "/validUntil"],
        why: "no beginning, or (where there is a status entry) no end",
    },
    Exception {
        hop: Some(1),
        what: &["delete", "double"],
        at: &["/credentialStatus"],
        why: "a credential that ends may do without a status entry, or have it twice",
    },
    Exception {
        hop: None,
        what: &["option"],
        at: &["created", "id", "nonce"],
        why: "the options are signed, and these three say nothing of authority",
    },
    Exception {
        hop: Some(2),
        what: &["delete"],
        at: &["/credentialSubject/policy/delegatedUnder"],
        why: "a last hop under nobody is an actor chain of the leaf delegate: identity composition, which has its own rules",
    },
];

impl Exception {
    fn applies(&self, mutant: &Mutant) -> bool {
        let pointer = mutant.pointer.replace(ODRLD, "").replace(ODRL, "");
        let matches = |pattern: &&str| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => pointer.ends_with(end),
            (_, Some(start)) => pointer.starts_with(start),
            _ => pointer == *pattern,
        };
        self.hop.is_none_or(|hop| hop == mutant.hop)
            && self.what.contains(&mutant.what)
            && self.at.iter().any(matches)
    }
}

fn granted(three: &Three, judge: &Judge, credentials: Vec<Value>) -> bool {
    // A mutant with which no presentation can be signed reaches nobody.
    let Ok(message) = three.ask_with(credentials).message() else { return false };
    matches!(judge.message(&message).outcome, Outcome::Granted(_))
}

/// One in so many.
fn sample<T>(all: &[T], one_in: usize, offset: usize) -> impl Iterator<Item = &T> {
    all.iter().skip(offset % one_in).step_by(one_in)
}

#[test]
fn what_a_delegate_signs_again_passes_only_for_a_reason() {
    let three = Three::new();
    let (judge, issued) = (three.judge(), three.credentials());
    assert!(granted(&three, &judge, issued.clone()));
    let all = mutants(&three);
    assert!(all.len() > 1200, "{}", all.len());
    let (mut tried, mut passed, mut used) = (0, 0, BTreeSet::new());
    for mutant in sample(&all, if all_mutants() { 1 } else { 4 }, 1) {
        tried += 1;
        let mut credentials = issued.clone();
        credentials[mutant.hop] = mutant.credential.clone();
        if granted(&three, &judge, credentials) {
            passed += 1;
            let place = SIGNED_AGAIN.iter().position(|exception| exception.applies(mutant));
            let Some(place) = place else {
                panic!("granted: {} at {} of hop {}", mutant.what, mutant.pointer, mutant.hop)
            };
            used.insert(place);
        }
    }
    println!(
        "{tried} of {} mutants that their own delegates signed; {passed} say what is theirs to say",
        all.len()
    );
    for (place, exception) in SIGNED_AGAIN.iter().enumerate() {
        assert!(
            !all_mutants() || used.contains(&place),
            "an exception that no mutant needs: {}",
            exception.why
        );
    }
}

/// Owners who do not permit what is asked, each in another way.
fn owners() -> Vec<(&'static str, Three)> {
    let three = Three::new;
    let unlike = |name, from: &str, to: &str| (name, three().says(0, from, to));
    let with = |name, rule: &str| {
        let notes = format!("odrl:prohibition [ odrl:action odrl:delete ; odrl:target <{NOTES}> ]");
        (name, three().says(0, &notes, &format!("{notes} ; {rule}")))
    };
    let read = permission("odrl:read", "");
    let read = read.strip_suffix(" ]").unwrap();
    let also = |name, constraint: &str| (name, three().says(0, read, &format!("{read} ; {constraint}")));
    let worker = three().worker.did_key();
    let mut scoped = three();
    scoped.hops[0].changes = vec![(&["credentialSubject", "action"], "odrl:write".into())];
    let mut elsewhere = three();
    elsewhere.hops[0].changes =
        vec![(&["credentialSubject", "target"], "https://alice.pod.example/diary/".into())];
    let mut over = three();
    over.hops[0].valid_until = Some("2026-11-30T00:00:00Z".parse().unwrap());
    vec![
        unlike("permits another action", "odrl:action odrl:read", "odrl:action odrl:write"),
        unlike("lets nobody pass it on", "odrl:action odrl:grantUse", "odrl:action odrl:transfer"),
        unlike("lets it be passed on once", "odrl:rightOperand 2", "odrl:rightOperand 1"),
        unlike("names another next policy", MIDDLE, "https://agent.example/policies/other"),
        unlike(
            "permits another target",
            &format!("odrl:target <{NOTES}>"),
            "odrl:target <https://alice.pod.example/diary/>",
        ),
        unlike("permits another purpose", "#meeting-preparation", "#other"),
        with(
            "prohibits it to the worker",
            &format!("odrl:prohibition [ odrl:action odrl:use ; odrl:assignee <{worker}> ]"),
        ),
        with("prohibits passing it on", "odrl:prohibition [ odrl:action odrl:grantUse ]"),
        with("prohibits it by an alias", "odrl:prohibition [ odrl:action acl:Read ]"),
        with("prohibits something unknown", "odrl:prohibition [ odrl:action odrl:read ; <urn:unknown> 1 ]"),
        with("follows an unknown profile", "odrl:profile <urn:unknown>"),
        also(
            "has no time left",
            &constraint("odrl:dateTime", "lt", "\"2026-12-01T12:00:00Z\"^^xsd:dateTime"),
        ),
        also("has no turn left", &constraint("odrl:count", "lt", "1")),
        also("asks for something unknown", &constraint("<urn:unknown>", "eq", "1")),
        ("signed for another action", scoped),
        ("signed for another target", elsewhere),
        ("signed for another time", over),
    ]
}

/// A delegate that signs its own hop and every hop below, with one change or one in each, gets nothing that the owner
/// does not give.
#[test]
fn no_delegate_gets_what_its_owner_does_not_give() {
    let all = mutants(&Three::new());
    let (first, second): (Vec<&Mutant>, Vec<&Mutant>) = all.iter().partition(|mutant| mutant.hop == 1);
    let mut tried = 0;
    for (offset, (name, three)) in owners().into_iter().enumerate() {
        let (judge, issued) = (three.judge(), three.credentials());
        assert!(!granted(&three, &judge, issued.clone()), "{name}");
        // An owner that bounds the depth says nothing of the delegate's own agents: composition is not delegation.
        let composes = |mutant: &Mutant| {
            name == "lets it be passed on once"
                && mutant.pointer == format!("/credentialSubject/policy/{ODRLD}delegatedUnder")
                && mutant.what == "delete"
        };
        let mut refuses = |changed: &[&Mutant]| {
            if changed.iter().any(|mutant| composes(mutant)) {
                return;
            }
            let mut credentials = issued.clone();
            for mutant in changed {
                credentials[mutant.hop] = mutant.credential.clone();
            }
            tried += 1;
            let words = || changed.iter().map(|m| format!("{} at {} of hop {}", m.what, m.pointer, m.hop));
            assert!(!granted(&three, &judge, credentials), "{name}: {:?}", words().collect::<Vec<_>>());
        };
        for mutant in sample(&all, if all_mutants() { 5 } else { 47 }, offset * 3) {
            refuses(&[mutant]);
        }
        // Pairs by a fixed seed.
        let mut state = 0x9e37_79b9_7f4a_7c15 ^ offset as u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..if all_mutants() { 200 } else { 20 } {
            refuses(&[first[next(first.len())], second[next(second.len())]]);
        }
    }
    println!("{tried} chains below owners that do not permit what is asked");
    assert!(tried > 700, "{tried}");
}
