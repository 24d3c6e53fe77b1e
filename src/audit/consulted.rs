//! What one evaluation found in the memory of earlier decisions, and was told by whoever issues challenges: all of it
//! that evidence has to keep.
//!
//! A memory can hold a hundred thousand entries, and an answer turns on those few that were looked for and found. So each
//! look-up of stage 7 goes through [`Lookups`], which notes what it finds, and stage 9 is given no more than
//! [`Consulted::of_policies`] picked out. An evaluation with what was noted in the place of the whole memory finds the
//! same at every look-up.

use crate::credential::JudgedChallenge;
use crate::ledger::{ListKey, ListMark, RevokedEntry, RevokedPolicy, StatusMemory};
use crate::mandate::VerifiedChain;
use crate::request::Snapshot;
use std::collections::{BTreeMap, BTreeSet};

/// What an evaluation found in its [`Snapshot`] of what earlier decisions left behind, and what it was told from outside.
/// It holds what a peer may still use, so it is evidence and no part of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consulted {
    /// Of [`Snapshot::memory`].
    pub memory: StatusMemory,
    /// Of [`Snapshot::counts`].
    pub counts: BTreeMap<String, u64>,
    /// The policies whose counts the answer turns on, by the keys of [`Snapshot::counts`], also where there was none.
    pub counted: BTreeSet<String>,
    /// The issued challenge that was expected, and what its issuer said of it.
    /// [`crate::credential::IssuedChallenges::Recorded`] says it again.
    pub challenge: Option<JudgedChallenge>,
}

impl Consulted {
    /// What the policies of a chain can find: whether the operator revoked them, and how often they were exercised.
    pub(crate) fn of_policies(chain: &VerifiedChain, snapshot: &Snapshot) -> Self {
        let mut consulted = Self::default();
        for policy in chain.hops().iter().chain(chain.actor_hops()).map(|hop| &hop.policy) {
            if snapshot.memory.revoked.ids.contains(policy.id()) {
                consulted.memory.revoked.ids.insert(policy.id().to_owned());
            }
            let key = policy.count_key();
            if policy.is_counted() {
                if let Some(count) = snapshot.counts.get(&key) {
                    consulted.counts.insert(key.clone(), *count);
                }
                consulted.counted.insert(key);
            }
        }
        consulted
    }

    /// Adds what was found elsewhere in the same snapshot.
    pub(crate) fn add(&mut self, more: Self) {
        let Self { memory, counts, counted, challenge } = more;
        let StatusMemory { revoked, lists, forgotten } = memory;
        self.memory.revoked.ids.extend(revoked.ids);
        self.memory.revoked.policies.extend(revoked.policies);
        self.memory.revoked.entries.extend(revoked.entries);
        self.memory.lists.extend(lists);
        self.memory.forgotten = self.memory.forgotten.or(forgotten);
        self.counts.extend(counts);
        self.counted.extend(counted);
        self.challenge = self.challenge.take().or(challenge);
    }
}

/// The memory of earlier decisions, noting what is found in it.
#[derive(Debug)]
pub(crate) struct Lookups<'a> {
    memory: &'a StatusMemory,
    found: StatusMemory,
}

impl<'a> Lookups<'a> {
    pub(crate) fn new(memory: &'a StatusMemory) -> Self {
        Self { memory, found: StatusMemory::default() }
    }

    /// What was found so far.
    pub(crate) fn found(&self) -> &StatusMemory {
        &self.found
    }

    /// Whether the operator revoked the policy or credential `id`.
    pub(crate) fn is_revoked(&mut self, id: &str) -> bool {
        let revoked = self.memory.revoked.ids.contains(id);
        if revoked {
            self.found.revoked.ids.insert(id.to_owned());
        }
        revoked
    }

    /// Whether this publisher revoked this policy.
    pub(crate) fn is_policy_revoked(&mut self, statement: RevokedPolicy) -> bool {
        let revoked = self.memory.revoked.policies.contains(&statement);
        if revoked {
            self.found.revoked.policies.insert(statement);
        }
        revoked
    }

    /// Whether this place in a list was once seen set.
    pub(crate) fn is_entry_revoked(&mut self, place: &RevokedEntry) -> bool {
        let revoked = self.memory.revoked.entries.contains(place);
        if revoked {
            self.found.revoked.entries.insert(place.clone());
        }
        revoked
    }

    /// [`StatusMemory::mark`].
    pub(crate) fn mark(&mut self, key: &ListKey, read: ListMark) -> Option<ListMark> {
        match self.memory.lists.get(key) {
            Some(earlier) => {
                self.found.lists.insert(key.clone(), *earlier);
            }
            None => self.found.forgotten = self.memory.forgotten,
        }
        self.memory.mark(key, read)
    }
}
