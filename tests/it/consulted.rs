//! What an evaluation found of what earlier decisions left behind is all that it rests on: with that in the place of the
//! whole memory, it comes out the same, byte for byte.

use crate::support::{noon, octets};
use crate::three::{LIST, MIDDLE, Three, status_list};
use chrono::TimeDelta;
use std::collections::BTreeMap;
use std::sync::Arc;
use writgate::ledger::{ListKey, ListMark, Revoked, RevokedEntry, RevokedPolicy, StatusMemory};
use writgate::message::Digest;
use writgate::worked_example::{ALICE, MANDATE_POLICY};
use writgate::{Engine, Evaluation, Outcome, Reason, Request, Snapshot};

/// Something in the memory that decides a message, and what it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turning {
    RevokedPolicy,
    RevokedCredential,
    ByAssigner,
    ByAncestor,
    Entry,
    NewerList,
    SameListEarlier,
    Forgotten,
    CountAtItsLimit,
    CountBelowIt,
}

const ALL: [Turning; 10] = [
    Turning::RevokedPolicy,
    Turning::RevokedCredential,
    Turning::ByAssigner,
    Turning::ByAncestor,
    Turning::Entry,
    Turning::NewerList,
    Turning::SameListEarlier,
    Turning::Forgotten,
    Turning::CountAtItsLimit,
    Turning::CountBelowIt,
];

impl Turning {
    fn put(self, three: &Three, memory: &mut StatusMemory, counts: &mut BTreeMap<String, u64>) {
        let agent = three.world.agent_id();
        let policy = |publisher: &str, policy: &str| RevokedPolicy {
            publisher: publisher.to_owned(),
            policy: policy.to_owned(),
        };
        let key = || ListKey { issuer: agent.clone(), url: LIST.to_owned() };
        let mark = |valid_from: &str, accepted| ListMark {
            valid_from: Some(valid_from.parse().unwrap()),
            digest: Digest::of("another list"),
            accepted,
        };
        let count_key = || format!("{MIDDLE} {agent}");
        match self {
            Self::RevokedPolicy => {
                memory.revoked.ids.insert(MANDATE_POLICY.to_owned());
            }
            Self::RevokedCredential => {
                memory.revoked.ids.insert(three.hops[2].id.clone());
            }
            Self::ByAssigner => {
                memory.revoked.policies.insert(policy(&agent, MIDDLE));
            }
            Self::ByAncestor => {
                memory.revoked.policies.insert(policy(ALICE, MIDDLE));
            }
            Self::Entry => {
                let list = LIST.to_owned();
                memory.revoked.entries.insert(RevokedEntry { issuer: agent.clone(), list, index: 4711 });
            }
            Self::NewerList => {
                memory.lists.insert(key(), mark("2026-11-15T00:00:00Z", noon()));
            }
            Self::SameListEarlier => {
                let accepted = noon() - TimeDelta::minutes(40);
                memory.lists.insert(key(), mark("2026-11-01T00:00:00Z", accepted));
            }
            Self::Forgotten => memory.forgotten = Some("2026-11-15T00:00:00Z".parse().unwrap()),
            Self::CountAtItsLimit => {
                counts.insert(count_key(), 5);
            }
            Self::CountBelowIt => {
                counts.entry(count_key()).or_insert(4);
            }
        }
    }

    /// What it comes to on its own. `None`: a grant.
    fn reason(self) -> Option<Reason> {
        match self {
            Self::RevokedPolicy
            | Self::RevokedCredential
            | Self::ByAssigner
            | Self::ByAncestor
            | Self::Entry => Some(Reason::Revoked),
            Self::NewerList | Self::Forgotten => Some(Reason::StatusRetrievalError),
            Self::CountAtItsLimit => Some(Reason::PolicyDenied),
            Self::SameListEarlier | Self::CountBelowIt => None,
        }
    }
}

/// A memory that other decisions filled.
fn crowded() -> (StatusMemory, BTreeMap<String, u64>) {
    let name = |kind: &str, number: u32| format!("https://elsewhere.example/{kind}/{number}");
    let mut memory = StatusMemory { revoked: Revoked::default(), ..StatusMemory::default() };
    let mut counts = BTreeMap::new();
    for number in 0..50 {
        memory.revoked.ids.insert(name("policy", number));
        let (publisher, policy) = (ALICE.to_owned(), name("policy", number));
        memory.revoked.policies.insert(RevokedPolicy { publisher, policy });
        let (issuer, list) = (name("issuer", number), LIST.to_owned());
        memory.revoked.entries.insert(RevokedEntry { issuer, list, index: 4711 });
        let mark = ListMark { valid_from: None, digest: Digest::of("list"), accepted: noon() };
        memory.lists.insert(ListKey { issuer: ALICE.to_owned(), url: name("list", number) }, mark);
        counts.insert(format!("{MIDDLE} {}", name("assigner", number)), 1);
    }
    (memory, counts)
}

struct Judge {
    engine: Engine,
    request: Request,
}

impl Judge {
    fn new(three: &Three) -> Self {
        let judge = three.judge();
        let message = octets(&three.ask().message().unwrap());
        Self {
            engine: judge.engine,
            request: Request { message, facts: judge.facts, snapshot: judge.snapshot },
        }
    }

    fn with(&self, memory: StatusMemory, counts: BTreeMap<String, u64>) -> Evaluation {
        let snapshot = Snapshot { memory: Arc::new(memory), counts, ..self.request.snapshot.clone() };
        self.engine.evaluate(&Request { snapshot, ..self.request.clone() })
    }
}

fn size(memory: &StatusMemory, counts: &BTreeMap<String, u64>) -> usize {
    let Revoked { ids, policies, entries } = &memory.revoked;
    ids.len() + policies.len() + entries.len() + memory.lists.len() + counts.len()
}

fn body(evaluation: &Evaluation) -> String {
    String::from_utf8(evaluation.report.to_jcs().unwrap()).unwrap()
}

fn reason(evaluation: &Evaluation) -> Option<Reason> {
    match &evaluation.outcome {
        Outcome::Granted(_) => None,
        Outcome::Refused(refusal) => Some(refusal.reason()),
        Outcome::NotOurs(_) => panic!("it is ours"),
    }
}

#[test]
fn each_kind_of_memory_that_a_decision_turns_on_is_in_what_it_consulted() {
    let three = Three::new();
    let judge = Judge::new(&three);
    let (memory, counts) = crowded();
    let plain = judge.with(memory, counts);
    assert_eq!(reason(&plain), None);
    assert_eq!(size(&plain.consulted.memory, &plain.consulted.counts), 0);
    for turning in ALL {
        let (mut memory, mut counts) = crowded();
        turning.put(&three, &mut memory, &mut counts);
        let whole = judge.with(memory.clone(), counts.clone());
        assert_eq!(reason(&whole), turning.reason(), "{turning:?}");
        if turning != Turning::CountBelowIt {
            assert_ne!(body(&whole), body(&plain), "{turning:?} changes nothing");
        }
        let consulted = whole.consulted.clone();
        let expected = if turning == Turning::Forgotten { 0 } else { 1 };
        assert_eq!(size(&consulted.memory, &consulted.counts), expected, "{turning:?}");
        assert_eq!(consulted.memory.forgotten.is_some(), turning == Turning::Forgotten, "{turning:?}");
        let again = judge.with(consulted.memory.clone(), consulted.counts.clone());
        assert_eq!(body(&again), body(&whole), "{turning:?}");
        assert_eq!(again.consulted, consulted, "{turning:?}");
        assert_eq!(again.learned, whole.learned, "{turning:?}");
    }
}

#[test]
fn whatever_is_remembered_together_what_was_consulted_comes_to_the_same() {
    let three = Three::new();
    let judge = Judge::new(&three);
    // Every pair, and every set without one.
    let sets = (0..ALL.len()).flat_map(|one| {
        let pairs = (0..one).map(move |other| (1 << one) | (1 << other));
        pairs.chain([!(1usize << one)])
    });
    for set in sets {
        let (mut memory, mut counts) = crowded();
        for (place, turning) in ALL.into_iter().enumerate() {
            if set & (1 << place) != 0 {
                turning.put(&three, &mut memory, &mut counts);
            }
        }
        let whole = judge.with(memory.clone(), counts.clone());
        let consulted = whole.consulted.clone();
        assert!(size(&consulted.memory, &consulted.counts) < size(&memory, &counts));
        let again = judge.with(consulted.memory.clone(), consulted.counts.clone());
        assert_eq!(body(&again), body(&whole), "{set:b}");
        assert_eq!(again.consulted, consulted, "{set:b}");
    }
}

/// The second chain's refusals are composition's, and rest on the memory too.
#[test]
fn what_an_actor_chain_turns_on_is_consulted_too() {
    let world = crate::support::world();
    let chain = world.composed_chain().unwrap();
    let mut ask = crate::support::grant();
    ask.credentials = chain.iter().map(|draft| draft.issue().unwrap()).collect();
    let engine = crate::support::engine();
    let facts = world.facts();
    let snapshot = engine.snapshot(&facts, noon()).unwrap();
    let request = Request { message: octets(&ask.message().unwrap()), facts, snapshot };
    let judge = Judge { engine, request };
    assert_eq!(reason(&judge.with(StatusMemory::default(), BTreeMap::new())), None);
    let (mut memory, counts) = crowded();
    memory.revoked.ids.insert(chain.last().unwrap().id.clone());
    let whole = judge.with(memory, counts);
    assert_eq!(reason(&whole), Some(Reason::IdentityCompositionFailed));
    assert_eq!(whole.consulted.memory.revoked.ids.len(), 1);
    let again = judge.with(whole.consulted.memory.clone(), whole.consulted.counts.clone());
    assert_eq!(body(&again), body(&whole));
}

#[test]
fn a_list_that_was_served_again_is_judged_by_the_mark_alone() {
    let mut three = Three::new();
    let served = status_list(&three.world.agent, LIST);
    three.lists.insert(LIST, served, "application/vc", noon() - TimeDelta::minutes(1));
    let judge = Judge::new(&three);
    let first = judge.with(StatusMemory::default(), BTreeMap::new());
    let memory = StatusMemory { lists: first.learned.lists.clone(), ..StatusMemory::default() };
    let whole = judge.with(memory.clone(), BTreeMap::new());
    assert_eq!(whole.consulted.memory, memory);
}
