//! Who may have how much of what a ledger learns (threat 21).
//!
//! Whatever a paper teaches is charged to a [`Sponsor`]: an identity that only a signature of a configured root principal
//! can make. Issuers are free (a did:key costs nothing), sponsors are not. Where there is no more room, it is shared
//! evenly between root principals, and what each has between its first delegates; what the root principals named
//! themselves goes before what delegates named.

use super::status_memory::MAX_NAME_BYTES;
use crate::message::Digest;
use std::collections::BTreeMap;

/// Who answers for something that was learned. No answer of an evaluation depends on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sponsor {
    /// The root principal of the chain.
    pub root: String,
    /// The first delegate, which the root principal's own credential names; `None`: the root principal itself.
    pub delegate: Option<String>,
}

impl Sponsor {
    /// The sponsor of whatever a chain of `root` teaches that begins with `delegate`. A name that is longer than is
    /// remembered is remembered by its digest.
    pub(crate) fn new(root: &str, delegate: Option<&str>) -> Self {
        let name = |name: &str| match name.len() {
            0..=MAX_NAME_BYTES => name.to_owned(),
            _ => format!("sha-256:{}", Digest::of(name)),
        };
        Self { root: name(root), delegate: delegate.map(name) }
    }

    /// The sponsor of what the issuer `issuer` signed in a chain of this sponsor. What bears the root principal's own
    /// signature is charged to nobody else.
    pub(crate) fn of_issuer(&self, issuer: &str) -> Self {
        let own = Self::new(issuer, None);
        if own.root == self.root { own } else { self.clone() }
    }

    fn is_root(&self) -> bool {
        self.delegate.is_none()
    }
}

impl Default for Sponsor {
    /// Nobody in particular: some delegate of no root principal, and one and the same each time.
    fn default() -> Self {
        Self::new("", Some(""))
    }
}

/// How many of a kind each sponsor holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Holdings(pub(crate) BTreeMap<Sponsor, usize>);

impl Holdings {
    fn of(&self, sponsor: &Sponsor) -> usize {
        self.0.get(sponsor).copied().unwrap_or(0)
    }

    /// What root principals hold themselves, or what their delegates hold.
    fn of_kind(&self, roots: bool) -> impl Iterator<Item = (&Sponsor, usize)> {
        self.0
            .iter()
            .map(|(sponsor, held)| (sponsor, *held))
            .filter(move |(sponsor, held)| sponsor.is_root() == roots && *held > 0)
    }

    /// What the delegates of each root principal hold together, or each root principal itself.
    fn by_root(&self, roots: bool) -> BTreeMap<&str, usize> {
        let mut held_by = BTreeMap::new();
        for (sponsor, held) in self.of_kind(roots) {
            *held_by.entry(sponsor.root.as_str()).or_default() += held;
        }
        held_by
    }

    /// Of a full store: the sponsor that makes room for one more of `newcomer`'s. `None`: nobody has to.
    ///
    /// A root principal's own never makes room for a delegate's. Between equals, who holds the most makes room, and only
    /// where it still has no less than the newcomer afterwards: first between root principals, then between the
    /// delegates of one. So a sponsor that wants no more than its even share always has it, whatever others do.
    pub(crate) fn makes_room_for(&self, newcomer: &Sponsor) -> Option<&Sponsor> {
        let roots = newcomer.is_root();
        if roots && let Some((heaviest, _)) = self.heaviest_root(false) {
            return self.heaviest_delegate(heaviest).map(first);
        }
        let held_by = self.by_root(roots);
        let own = held_by.get(newcomer.root.as_str()).copied().unwrap_or(0);
        let (heaviest, held) = self.heaviest_root(roots)?;
        let another = held > own.saturating_add(1);
        if roots {
            return self.of_kind(true).find(|(sponsor, _)| another && sponsor.root == heaviest).map(first);
        }
        if another {
            return self.heaviest_delegate(heaviest).map(first);
        }
        let (sponsor, held) = self.heaviest_delegate(&newcomer.root)?;
        (held > self.of(newcomer).saturating_add(1)).then_some(sponsor)
    }

    /// Of a store that gives up nothing: whether it takes one more of `newcomer`'s, where root principals have `in_all`
    /// together, and delegates as many.
    ///
    /// A root principal's delegates may hold as many together as are then still free, and of what is left to them, one
    /// delegate may hold no more than it leaves the others. So whoever holds little is let in long after whoever holds
    /// much is not.
    pub(crate) fn leaves_room_for(&self, newcomer: &Sponsor, per_sponsor: usize, in_all: usize) -> bool {
        let roots = newcomer.is_root();
        let taken: usize = self.of_kind(roots).map(|(_, held)| held).sum();
        let free = in_all.saturating_sub(taken);
        let of_root = self.by_root(roots).get(newcomer.root.as_str()).copied().unwrap_or(0);
        let left = free.saturating_sub(of_root).div_ceil(2);
        let held = self.of(newcomer);
        held < per_sponsor && left > 0 && (roots || held < left)
    }

    fn heaviest_root(&self, roots: bool) -> Option<(&str, usize)> {
        self.by_root(roots).into_iter().max_by_key(|(_, held)| *held)
    }

    fn heaviest_delegate(&self, root: &str) -> Option<(&Sponsor, usize)> {
        self.of_kind(false).filter(|(sponsor, _)| sponsor.root == root).max_by_key(|(_, held)| *held)
    }
}

fn first((sponsor, _): (&Sponsor, usize)) -> &Sponsor {
    sponsor
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sponsor(root: &str, delegate: &str) -> Sponsor {
        Sponsor::new(root, Some(delegate).filter(|delegate| !delegate.is_empty()))
    }

    fn holdings(held: &[(&str, &str, usize)]) -> Holdings {
        Holdings(held.iter().map(|(root, delegate, held)| (sponsor(root, delegate), *held)).collect())
    }

    #[test]
    fn who_holds_the_most_makes_room_and_a_root_principal_only_for_its_like() {
        let held =
            [("alice", "", 9), ("alice", "a", 5), ("alice", "b", 3), ("bob", "c", 4), ("carol", "", 2)];
        let makes_room = |root: &str, delegate: &str| {
            let holdings = holdings(&held);
            holdings.makes_room_for(&sponsor(root, delegate)).cloned()
        };
        // Alice's delegates hold 8 together, bob's 4, and a root principal's own 9 count with neither.
        assert_eq!(makes_room("dave", "new"), Some(sponsor("alice", "a")));
        assert_eq!(makes_room("bob", "new"), Some(sponsor("alice", "a")));
        assert_eq!(makes_room("alice", "new"), Some(sponsor("alice", "a")));
        assert_eq!(makes_room("alice", "b"), Some(sponsor("alice", "a")));
        assert_eq!(makes_room("alice", "a"), None, "nobody gains by what it takes from itself");
        assert_eq!(
            makes_room("carol", ""),
            Some(sponsor("alice", "a")),
            "a delegate before a root principal"
        );
        let holdings = |held: &[(&str, &str, usize)], newcomer: Sponsor| {
            holdings(held).makes_room_for(&newcomer).cloned()
        };
        assert_eq!(holdings(&held[4..], sponsor("dave", "new")), None);
        assert_eq!(holdings(&[("a", "x", 2), ("b", "y", 2)], sponsor("b", "y")), None);
        assert_eq!(holdings(&[("a", "x", 2), ("b", "y", 1)], sponsor("b", "y")), None, "only turned round");
        let among_its_own = holdings(&[("a", "x", 2), ("b", "y", 2)], sponsor("b", "z"));
        assert_eq!(among_its_own, Some(sponsor("b", "y")));
        assert_eq!(holdings(&[("a", "x", 2)], sponsor("a", "z")), Some(sponsor("a", "x")));
        assert_eq!(holdings(&[("a", "", 3), ("b", "", 1)], sponsor("b", "")), Some(sponsor("a", "")));
        assert_eq!(holdings(&[("a", "", 2), ("b", "", 1)], sponsor("b", "")), None);
        assert_eq!(holdings(&[], sponsor("a", "x")), None);
    }

    #[test]
    fn what_a_root_principal_signed_is_its_own_whoever_brings_it() {
        let message = sponsor("alice", "a");
        assert_eq!(message.of_issuer("alice"), sponsor("alice", ""));
        assert_eq!(message.of_issuer("a"), message);
        assert_eq!(message.of_issuer("z"), message);
        let long = |end: &str| format!("{}{end}", "x".repeat(MAX_NAME_BYTES));
        let named = Sponsor::new(&long("1"), Some(&long("2")));
        assert!(named.root.len() < 100 && named.delegate.as_ref().unwrap().len() < 100);
        assert_ne!(named, Sponsor::new(&long("1"), Some(&long("3"))));
        assert_eq!(named.of_issuer(&long("1")), Sponsor::new(&long("1"), None));
    }

    /// Who comes, each time with one more: a root principal (0..3) and its delegate, or the root principal itself.
    fn comings() -> impl Strategy<Value = Vec<(u8, Option<u8>)>> {
        let one = prop_oneof![
            3 => (0..3u8, proptest::option::of(0..3u8)),
            // One that comes with very many, through several delegates.
            3 => (Just(0u8), (0..2u8).prop_map(Some)),
        ];
        proptest::collection::vec(one, 0..120)
    }

    fn of_coming((root, delegate): (u8, Option<u8>)) -> Sponsor {
        sponsor(&root.to_string(), &delegate.map(|delegate| delegate.to_string()).unwrap_or_default())
    }

    /// What each holds in the end, of a store of `in_all`.
    fn filled(comings: &[(u8, Option<u8>)], in_all: usize) -> Holdings {
        let mut store = Holdings::default();
        for coming in comings {
            let newcomer = of_coming(*coming);
            if store.0.values().sum::<usize>() >= in_all {
                let Some(from) = store.makes_room_for(&newcomer).cloned() else { continue };
                assert!(newcomer.is_root() || !from.is_root());
                *store.0.get_mut(&from).unwrap() -= 1;
            }
            *store.0.entry(newcomer).or_default() += 1;
        }
        store
    }

    proptest! {
        /// The model: an even share, first of root principals, then of their delegates; in whatever order they come.
        #[test]
        fn nobody_gets_less_than_an_even_share_of_what_it_wants(comings in comings(), in_all in 4..24usize) {
            let store = filled(&comings, in_all);
            let mut wanted = Holdings::default();
            for coming in &comings {
                *wanted.0.entry(of_coming(*coming)).or_default() += 1;
            }
            prop_assert_eq!(store.0.values().sum::<usize>(), comings.len().min(in_all));
            let owns = wanted.by_root(true);
            for (sponsor, wants) in wanted.of_kind(true) {
                prop_assert!(store.of(sponsor) >= wants.min(in_all / owns.len()), "{sponsor:?} {store:?}");
            }
            let roots = wanted.by_root(false);
            let left = in_all - store.of_kind(true).map(|(_, held)| held).sum::<usize>();
            for (sponsor, wants) in wanted.of_kind(false) {
                let delegates = wanted.of_kind(false).filter(|(other, _)| other.root == sponsor.root).count();
                let share = left / roots.len() / delegates;
                prop_assert!(store.of(sponsor) >= wants.min(share), "{sponsor:?} {store:?}");
            }
        }

        /// What is never given up: within its bounds, and nobody small is shut out while somebody large is let in.
        #[test]
        fn what_is_not_given_up_is_taken_in_within_its_bounds(comings in comings(), in_all in 4..40usize) {
            let mut store = Holdings::default();
            for coming in &comings {
                let newcomer = of_coming(*coming);
                if store.leaves_room_for(&newcomer, 9, in_all) {
                    let lighter = store.0.keys().filter(|other| {
                        other.root == newcomer.root && other.is_root() == newcomer.is_root()
                            && store.of(other) <= store.of(&newcomer)
                    });
                    for lighter in lighter {
                        prop_assert!(store.leaves_room_for(lighter, 9, in_all));
                    }
                    *store.0.entry(newcomer).or_default() += 1;
                }
            }
            for roots in [false, true] {
                prop_assert!(store.of_kind(roots).map(|(_, held)| held).sum::<usize>() <= in_all);
            }
            prop_assert!(store.0.values().all(|held| *held <= 9));
        }
    }

    #[test]
    fn one_root_principal_or_delegate_leaves_room_for_the_next() {
        let mut store = Holdings::default();
        let mut fill = |root: &str, delegate: &str| {
            let newcomer = sponsor(root, delegate);
            while store.leaves_room_for(&newcomer, 512, 4_096) {
                *store.0.entry(newcomer.clone()).or_default() += 1;
            }
            store.of(&newcomer)
        };
        let taken: Vec<_> =
            ["a", "b", "c", "d", "e", "f", "g"].map(|delegate| fill("alice", delegate)).into();
        assert_eq!(taken, [512, 512, 512, 256, 128, 64, 32]);
        assert_eq!(fill("bob", "x"), 512, "another root principal has as much as is free by now");
        assert_eq!(fill("alice", ""), 512, "and a root principal's own does not count with its delegates'");
    }
}
