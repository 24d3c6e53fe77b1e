//! What decisions remember of status and revocation (`mandate.md` 5): what was once seen revoked, which status lists were
//! accepted, and which are wanted.
//!
//! A [`StatusMemory`] comes in with the snapshot, what an evaluation adds is [`Learned`], and the ledger writes that in
//! the transaction that records the decision. Everything that a paper can add is bounded: it must stand in a chain that
//! verified (phases A and B) to a configured root, and within the quotas below, which count by [`Sponsor`].

use super::fair_share::Sponsor;
use crate::message::Digest;
use crate::request::Instant;
use chrono::SubsecRound as _;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Octets of an issuer's IRI or a list's URL that is remembered. A longer one has no status that could be known.
pub(crate) const MAX_NAME_BYTES: usize = 2_048;
/// Wanted status lists of one sponsor. The one that was wanted longest ago makes room for another of the same sponsor.
pub(crate) const WANTED_PER_SPONSOR: usize = 128;
/// Wanted status lists in all. Beyond it, what nobody wanted for [`WANTED_FOR_DAYS`] makes room, then the oldest of who
/// holds the most ([`Holdings::makes_room_for`](super::fair_share::Holdings::makes_room_for)).
pub(crate) const WANTED_IN_ALL: usize = 1_024;
/// Days after which a list that no credential named any more may be forgotten.
pub(crate) const WANTED_FOR_DAYS: i64 = 90;
/// Entries of status lists that one sponsor has remembered as revoked. What is beyond it is refused as long as the
/// issuer's list says so, and a list does not step back: only the issuer itself could sign it as good again.
pub(crate) const REVOKED_PER_SPONSOR: usize = 4_096;
/// Entries that were learned to be revoked, in all. Beyond it, the newest of who holds the most makes room: of a flood,
/// the flood goes. What the operator marked is not counted and never goes.
pub(crate) const REVOKED_IN_ALL: usize = 65_536;
/// Accepted status lists of one sponsor.
pub(crate) const ACCEPTED_PER_SPONSOR: usize = 512;
/// Accepted status lists of all delegates; and of all root principals, as many.
pub(crate) const ACCEPTED_IN_ALL: usize = 32_768;
/// Days after which the mark of an accepted list may go where there is no more room. No mark of a younger one ever does,
/// and without a mark there is no allow.
///
/// Roll-back stays impossible: the ledger keeps the latest `validFrom` of all marks that went
/// ([`StatusMemory::forgotten`]), and a list without a mark must be later than that, so later than whatever was accepted
/// under its URL. And nobody can raise that instant to harm the lists of others: it is at least this long ago, and a list
/// that its issuer has not signed anew for so long is stale wherever it was accepted before.
pub(crate) const ACCEPTED_FOR_DAYS: i64 = 90;

/// What is revoked for good, by who said so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revoked {
    /// Ids of policies or credentials that the operator itself revoked.
    pub ids: BTreeSet<String>,
    /// Policies, each with the publisher of its revocation. It counts where the publisher is the assigner of the policy
    /// or of an ancestor of it.
    pub policies: BTreeSet<RevokedPolicy>,
    /// Entries of status lists.
    pub entries: BTreeSet<RevokedEntry>,
}

/// An `odrld:Revocation`: who published it, and of which policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RevokedPolicy {
    /// The publisher's IRI.
    pub publisher: String,
    /// The policy's id.
    pub policy: String,
}

/// A place in a status list of its issuer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RevokedEntry {
    /// The issuer of the list and of the credential.
    pub issuer: String,
    /// The list's URL.
    pub list: String,
    /// The index in it.
    pub index: u64,
}

/// A status list: whose it is, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListKey {
    /// The issuer of the list and of the credentials that point to it.
    pub issuer: String,
    /// Its URL.
    pub url: String,
}

/// The newest list that was accepted under a [`ListKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListMark {
    /// Its `validFrom`, to the microsecond. A list without one is older than any that has one.
    pub valid_from: Option<Instant>,
    /// SHA-256 of its canonical form, without proofs.
    pub digest: Digest,
    /// When a list of this `validFrom` was first retrieved, to the microsecond. The life of the list counts from here.
    pub accepted: Instant,
}

impl ListMark {
    /// The mark of a list that was retrieved at `retrieved`.
    pub(crate) fn new(valid_from: Option<Instant>, digest: Digest, retrieved: Instant) -> Self {
        // As the ledger stores it: an instant that came back from there must not look older than it was.
        let stored = |instant: Instant| instant.trunc_subsecs(6);
        Self { valid_from: valid_from.map(stored), digest, accepted: stored(retrieved) }
    }

    /// The mark of this list where `earlier` was accepted before: `None` where that would be a step back. Only a later
    /// `validFrom` begins a new life, so neither the same list served again nor two lists of one `validFrom`, served by
    /// turns, live longer.
    pub(crate) fn following(self, earlier: &Self) -> Option<Self> {
        match self.valid_from.cmp(&earlier.valid_from) {
            Ordering::Less => None,
            Ordering::Equal => Some(Self { accepted: self.accepted.min(earlier.accepted), ..self }),
            Ordering::Greater => Some(self),
        }
    }

    /// Whether a mark of this list, or of a later one, may be among those that went.
    pub(crate) fn may_be_forgotten(&self, forgotten: Option<Instant>) -> bool {
        forgotten.is_some() && self.valid_from <= forgotten
    }
}

/// What earlier decisions learned, as a snapshot holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusMemory {
    /// What was once seen revoked.
    pub revoked: Revoked,
    /// The newest status lists that were accepted.
    pub lists: BTreeMap<ListKey, ListMark>,
    /// The latest `validFrom` of marks that made room for others. A list that has no mark must be later. `None`: no mark
    /// ever went.
    pub forgotten: Option<Instant>,
}

impl StatusMemory {
    /// The mark of a list that is `read` where this was accepted under `key` before, or may have been: `None` where that
    /// would be a step back.
    pub(crate) fn mark(&self, key: &ListKey, read: ListMark) -> Option<ListMark> {
        match self.lists.get(key) {
            Some(earlier) => read.following(earlier),
            None => (!read.may_be_forgotten(self.forgotten)).then_some(read),
        }
    }
}

/// What one evaluation relied on or saw, for the ledger to compare with what it holds, and to keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    /// Entries that a current list says are revoked.
    pub revoked: BTreeSet<RevokedEntry>,
    /// The status lists that were relied on.
    pub lists: BTreeMap<ListKey, ListMark>,
    /// The status lists that the credentials of verified chains name.
    pub wanted: BTreeSet<ListKey>,
    /// To whom it is charged, but for what the root principal signed itself, which is the root principal's own.
    pub sponsor: Sponsor,
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    fn at(seconds: i64) -> Instant {
        Instant::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    #[test]
    fn only_a_later_valid_from_begins_a_new_life() {
        let mark = |valid_from, content: &str, accepted| {
            ListMark::new(valid_from, Digest::of(content), at(accepted))
        };
        let held = mark(Some(at(10)), "a", 100);
        let accepted = |next: ListMark| next.following(&held).map(|mark| mark.accepted);
        assert_eq!(accepted(mark(Some(at(11)), "b", 200)), Some(at(200)));
        assert_eq!(accepted(mark(Some(at(10)), "a", 200)), Some(at(100)));
        assert_eq!(accepted(mark(Some(at(10)), "b", 200)), Some(at(100)));
        assert_eq!(accepted(mark(Some(at(10)), "a", 50)), Some(at(50)));
        assert_eq!(accepted(mark(Some(at(9)), "c", 200)), None);
        assert_eq!(accepted(mark(None, "c", 200)), None);
        let undated = mark(None, "a", 100);
        assert_eq!(mark(None, "b", 200).following(&undated).unwrap().accepted, at(100));
        assert_eq!(held.following(&undated), Some(held));
    }

    #[test]
    fn a_mark_is_as_exact_as_the_ledger_stores_it() {
        let fine = at(10) + TimeDelta::nanoseconds(1_999);
        let mark = ListMark::new(Some(fine), Digest::of("a"), fine);
        let stored = at(10) + TimeDelta::microseconds(1);
        assert_eq!((mark.valid_from, mark.accepted), (Some(stored), stored));
        assert_eq!(
            mark.following(&ListMark::new(Some(stored), Digest::of("a"), at(5))).unwrap().accepted,
            at(5)
        );
    }
}
