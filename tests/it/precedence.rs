//! Two things wrong at once, at any two hops: the code is that of what comes first in `mandate.md` 4 to 8.

use crate::mutation::all_mutants;
use crate::support::assert_granted;
use crate::three::{MIDDLE, Three, permission};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use writgate::worked_example::{BOB, MANDATE_POLICY, sign};
use writgate::{Evaluation, Phase, Reason};

/// A chain of three to be spoiled.
struct Chain {
    three: Three,
    /// Options that each proof is signed with instead of its own.
    options: [Map<String, Value>; 3],
    /// The proof value is of another paper.
    forged: [bool; 3],
    /// The hop's policy has a second credential.
    again: Option<usize>,
    /// The part that carries the root policy has one more octet.
    other_document: bool,
    revoked: Vec<String>,
}

impl Chain {
    fn new() -> Self {
        Self {
            three: Three::new(),
            options: [Map::new(), Map::new(), Map::new()],
            forged: [false; 3],
            again: None,
            other_document: false,
            revoked: Vec::new(),
        }
    }

    fn says(&mut self, hop: usize, from: &str, to: &str) {
        let policy = &mut self.three.hops[hop].policy;
        *policy = policy.replace(from, to);
    }

    fn evaluate(&self) -> Evaluation {
        let three = &self.three;
        let mut credentials = three.credentials();
        if let Some(hop) = self.again {
            let mut again = three.hops[hop].clone();
            again.id.push('9');
            credentials.push(again.issue().unwrap());
        }
        let other = credentials[0]["proof"]["proofValue"].clone();
        for (hop, credential) in credentials.iter_mut().enumerate().take(3) {
            if !self.options[hop].is_empty() {
                let draft = &three.hops[hop];
                credential.as_object_mut().unwrap().remove("proof");
                let options = self.options[hop].clone();
                *credential =
                    sign(&draft.key, credential.clone(), "assertionMethod", draft.created, options).unwrap();
            }
            if self.forged[hop] {
                let value = if hop == 0 { json!(format!("z{}", "2".repeat(88))) } else { other.clone() };
                credential["proof"]["proofValue"] = value;
            }
        }
        let mut ask = three.ask_with(credentials);
        if self.other_document {
            ask.policies[0].0.push('\n');
        }
        let mut judge = three.judge();
        Arc::make_mut(&mut judge.snapshot.memory).revoked.ids.extend(self.revoked.iter().cloned());
        judge.message(&ask.message().unwrap())
    }
}

/// What can be wrong, in the order of the pages. In phase A, the hop comes before the kind.
struct Defect {
    name: &'static str,
    rank: usize,
    code: Reason,
    hops: &'static [usize],
    spoil: fn(&mut Chain, usize),
}

const ALL: &[usize] = &[0, 1, 2];
const PHASE_A: std::ops::Range<usize> = 2..8;

fn defects() -> Vec<Defect> {
    let defect =
        |rank, code, hops, name, spoil: fn(&mut Chain, usize)| Defect { name, rank, code, hops, spoil };
    vec![
        defect(0, Reason::ChainMalformed, &[1, 2], "a parent that is not there", |chain, hop| {
            let parent = if hop == 1 { MANDATE_POLICY } else { MIDDLE };
            let under = format!("odrld:delegatedUnder <{parent}>");
            chain.says(hop, &under, "odrld:delegatedUnder <urn:nobody>");
        }),
        defect(0, Reason::ChainMalformed, ALL, "two conflict strategies", |chain, hop| {
            chain.says(hop, "a odrl:Agreement", "a odrl:Agreement ; odrl:conflict odrl:perm , odrl:prohibit");
        }),
        defect(1, Reason::BindingMismatch, ALL, "two credentials for one policy", |chain, hop| {
            chain.again = Some(hop)
        }),
        defect(2, Reason::UnknownCryptosuite, ALL, "an unknown suite", |chain, hop| {
            chain.options[hop].insert("cryptosuite".to_owned(), json!("unknown-2026"));
        }),
        defect(3, Reason::ProofPurposeMismatch, ALL, "another purpose", |chain, hop| {
            chain.options[hop].insert("proofPurpose".to_owned(), json!("authentication"));
        }),
        defect(4, Reason::IssuerMismatch, ALL, "somebody else's method", |chain, hop| {
            let method = chain.three.worker.did_key_method();
            chain.options[hop].insert("verificationMethod".to_owned(), json!(method));
        }),
        defect(5, Reason::InvalidSignature, ALL, "another paper's signature", |chain, hop| {
            chain.forged[hop] = true
        }),
        defect(6, Reason::Expired, ALL, "over", |chain, hop| {
            chain.three.hops[hop].valid_until = Some("2026-11-20T00:00:00Z".parse().unwrap());
        }),
        defect(7, Reason::NotYetValid, ALL, "not begun", |chain, hop| {
            chain.three.hops[hop].valid_from = Some("2026-12-20T00:00:00Z".parse().unwrap());
        }),
        defect(8, Reason::SubjectIssuerMismatch, ALL, "another subject", |chain, hop| {
            chain.three.hops[hop].changes.push((&["credentialSubject", "id"], json!(BOB)));
        }),
        defect(9, Reason::PolicyIntegrity, ALL, "content that was not signed", |chain, hop| match hop {
            0 => chain.other_document = true,
            hop => {
                let id = if hop == 1 { MIDDLE } else { crate::three::LEAF };
                let entry = json!({ "id": id, "digestSRI": format!("sha256-{}=", "A".repeat(43)) });
                chain.three.hops[hop].changes.push((&["relatedResource"], entry));
            }
        }),
        defect(10, Reason::BindingMismatch, ALL, "another assigner", |chain, hop| {
            let own = chain.three.hops[hop].key.controller().to_owned();
            chain.says(hop, &format!("odrl:assigner <{own}>"), &format!("odrl:assigner <{BOB}>"));
        }),
        defect(10, Reason::BindingMismatch, &[2], "another assignee of the leaf", |chain, hop| {
            let own = chain.three.worker.did_key();
            chain.says(hop, &format!("odrl:assignee <{own}>"), &format!("odrl:assignee <{BOB}>"));
        }),
        defect(11, Reason::StatusRetrievalError, &[1], "a list that is not at hand", |chain, _| {
            chain.three.lists = Default::default();
        }),
        defect(11, Reason::StatusRetrievalError, &[0, 2], "no status and no end", |chain, hop| {
            chain.three.hops[hop].valid_until = None;
        }),
        defect(12, Reason::Revoked, ALL, "revoked", |chain, hop| {
            chain.revoked.push([MANDATE_POLICY, MIDDLE, crate::three::LEAF][hop].to_owned());
        }),
        defect(13, Reason::PolicyDenied, ALL, "another action", |chain, hop| {
            let read = permission("odrl:read", "");
            let read = read.strip_suffix(" ]").unwrap().to_owned();
            chain.says(hop, &read, &read.replace("odrl:read", "odrl:write"));
        }),
    ]
}

/// The order in which a defect at a hop is found.
fn place(defect: &Defect, hop: usize) -> (usize, usize, usize) {
    match PHASE_A.contains(&defect.rank) {
        true => (PHASE_A.start, hop, defect.rank),
        false => (defect.rank, hop, 0),
    }
}

#[test]
fn of_two_defects_the_first_in_the_order_of_the_phases_is_reported() {
    assert_granted(&Chain::new().evaluate());
    let defects = defects();
    let all: Vec<(&Defect, usize)> =
        defects.iter().flat_map(|defect| defect.hops.iter().map(move |hop| (defect, *hop))).collect();
    let mut pairs = 0;
    for (number, one) in all.iter().enumerate() {
        for other in &all[number..] {
            let same_member = |name| one.0.name == name || other.0.name == name;
            // What an unbound document says of its place is not known.
            let (binds_not, assembly) =
                (|defect: &Defect| defect.rank == 9, |defect: &Defect| defect.rank == 0);
            if one.1 == other.1
                && (binds_not(one.0) && assembly(other.0) || binds_not(other.0) && assembly(one.0))
            {
                continue;
            }
            // Both would set one and the same end.
            if same_member("over") && same_member("no status and no end") && one.1 == other.1
                || one.0.name == "two credentials for one policy"
                    && other.0.name == one.0.name
                    && one.1 != other.1
            {
                continue;
            }
            pairs += 1;
            if !all_mutants() && pairs % 4 != 0 && one.1 == other.1 && one.0.name != other.0.name {
                continue;
            }
            if !all_mutants() && pairs % 3 != 0 && one.1 != other.1 {
                continue;
            }
            let mut chain = Chain::new();
            for (defect, hop) in [one, other] {
                if one.0.name != other.0.name
                    || one.1 != other.1
                    || (defect.name, *hop) == (one.0.name, one.1)
                {
                    (defect.spoil)(&mut chain, *hop);
                }
            }
            let first = if place(one.0, one.1) <= place(other.0, other.1) { one } else { other };
            let found = chain.evaluate().report;
            let words = format!("{} at {} and {} at {}", one.0.name, one.1, other.0.name, other.1);
            assert_eq!(found.reason, Some(first.0.code), "{words}: {:?}", found.evidence);
            let phase = found.evidence.and_then(|evidence| evidence.phase);
            let expected = match first.0.rank {
                0 => Phase::Assembly,
                1 | 8..=10 => Phase::B,
                2..8 => Phase::A,
                11 | 12 => Phase::C,
                _ => Phase::D,
            };
            assert_eq!(phase, Some(expected), "{words}");
        }
    }
    assert!(pairs > 900, "{pairs}");
}

/// The organisation's own agent acts on a chain of its own: whatever is wrong with that one waits until the primary
/// chain is through, and is then composition's.
#[test]
fn what_is_wrong_with_the_actor_chain_waits_for_the_primary_chain() {
    let composed = || {
        let mut chain = Chain::new();
        chain.says(2, &format!("odrld:delegatedUnder <{MIDDLE}> ;"), ";");
        chain.three.hops[2].policy = chain.three.hops[2].policy.replace("> ;;", "> ;").replace(" ; ;", " ;");
        chain
    };
    assert_granted(&composed().evaluate());
    let defects = defects();
    // Where content is not bound, nothing tells of which chain it is: every credential meets phase A, then it refuses.
    let bound = |defect: &&Defect| defect.rank >= 2 && defect.rank != 9;
    let mut unbound = composed();
    defects.iter().find(|defect| defect.rank == 9).map(|defect| (defect.spoil)(&mut unbound, 2)).unwrap();
    assert_eq!(unbound.evaluate().report.reason, Some(Reason::PolicyIntegrity));
    for later in defects.iter().filter(bound).filter(|defect| defect.hops.contains(&2)) {
        let mut chain = composed();
        (later.spoil)(&mut chain, 2);
        let found = chain.evaluate().report;
        let (code, phase) = (Reason::IdentityCompositionFailed, Phase::Composition);
        assert_eq!(found.reason, Some(code), "{}: {:?}", later.name, found.evidence);
        assert_eq!(found.evidence.and_then(|evidence| evidence.phase), Some(phase), "{}", later.name);
        for first in defects.iter().filter(bound) {
            for hop in first.hops.iter().filter(|hop| **hop < 2) {
                let mut chain = composed();
                (later.spoil)(&mut chain, 2);
                (first.spoil)(&mut chain, *hop);
                let found = chain.evaluate().report;
                assert_eq!(found.reason, Some(first.code), "{} at {hop}, then {}", first.name, later.name);
            }
        }
    }
}
