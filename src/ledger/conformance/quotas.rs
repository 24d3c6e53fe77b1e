//! Nobody can use up what a ledger keeps by identities that cost nothing (threat 21).

use super::*;
use crate::ledger::status_memory::{
    ACCEPTED_FOR_DAYS, ACCEPTED_PER_SPONSOR, REVOKED_PER_SPONSOR, WANTED_FOR_DAYS, WANTED_IN_ALL,
    WANTED_PER_SPONSOR,
};

/// What a chain of `root` teaches that begins with `delegate`.
pub(in crate::ledger) fn of(root: &str, delegate: &str, learned: Learned) -> Learned {
    Learned { sponsor: Sponsor::new(root, Some(delegate)), ..learned }
}

fn name(n: usize) -> String {
    format!("{n:05}")
}

/// One list of each of so many issuers that nobody ever heard of.
fn fresh_issuers(maker: &str, issuers: usize) -> Learned {
    wants((0..issuers).map(|n| list(&format!("did:key:{maker}-{}", name(n)), "l")))
}

/// One entry of each of so many such issuers.
fn fresh_revocations(maker: &str, issuers: usize) -> Learned {
    saw_revoked((0..issuers).map(|n| entry(&format!("did:key:{maker}-{}", name(n)), "l", 1)))
}

fn is_wanted(ledger: &SqliteLedger, issuer: &str) -> bool {
    ledger.wanted_lists().unwrap().iter().any(|list| list.issuer == issuer)
}

fn wanted_of(ledger: &SqliteLedger, issuer: &str) -> Vec<String> {
    let lists = ledger.wanted_lists().unwrap().into_iter();
    lists.filter(|list| list.issuer == issuer).map(|list| list.url).collect()
}

fn record_at(ledger: &SqliteLedger, day: i64, learned: &Learned) {
    let body = refused_body();
    ledger.record(Entry { learned: learned.clone(), now: at(day * 86_400), ..refusal_entry(&body) }).unwrap();
}

pub(super) fn wanted_lists_are_kept_once_and_within_their_quotas(ledger: &SqliteLedger) {
    let lists = |lists: usize| wants((0..lists).map(|n| list("alice", &name(n))));
    refuse_with(ledger, &lists(2));
    admitted(Ask::new("m").but(|ask| ask.learned = lists(3)).of(ledger));
    let known: Vec<_> = lists(3).wanted.into_iter().collect();
    assert_eq!(ledger.wanted_lists().unwrap(), known);
    refuse_with(ledger, &lists(500));
    assert_eq!(ledger.wanted_lists().unwrap().len(), WANTED_PER_SPONSOR);
    // What two sponsors want is one list.
    refuse_with(ledger, &of("alice", "bob", wants([list("carol", "l")])));
    refuse_with(ledger, &of("alice", "dave", wants([list("carol", "l")])));
    assert_eq!(wanted_of(ledger, "carol"), ["l"]);
    for n in 0..12 {
        refuse_with(ledger, &of("alice", &name(n), fresh_issuers(&name(n), 130)));
    }
    let wanted = ledger.wanted_lists().unwrap();
    assert!(wanted.len() <= WANTED_IN_ALL && wanted.len() > WANTED_IN_ALL - 5 && wanted.is_sorted());
}

pub(super) fn ten_thousand_fresh_issuers_of_one_delegate_leave_room_for_others(ledger: &SqliteLedger) {
    let wants_one = |issuer: &str| wants([list(issuer, "l")]);
    refuse_with(ledger, &of("alice", "bob", wants_one("bob")));
    refuse_with(ledger, &of("alice", "bob", wants_one("alice")));
    refuse_with(ledger, &of("alice", "mallory", fresh_issuers("mallory", 10_000)));
    assert_eq!(ledger.wanted_lists().unwrap().len(), WANTED_PER_SPONSOR + 2);
    assert!(is_wanted(ledger, "bob") && is_wanted(ledger, "alice"));
    // And where many first delegates do so together, so that the store is full.
    for n in 0..12 {
        let accomplice = format!("mallory {n}");
        refuse_with(ledger, &of("alice", &accomplice, fresh_issuers(&accomplice, 130)));
    }
    assert_eq!(ledger.wanted_lists().unwrap().len(), WANTED_IN_ALL);
    for (delegate, issuer) in [("carol", "carol"), ("carol", "her own delegate"), ("dave", "dave")] {
        refuse_with(ledger, &of("alice", delegate, wants_one(issuer)));
    }
    refuse_with(ledger, &of("another root", "x", wants_one("x")));
    // Whoever brings it: what the root principal named is its own.
    refuse_with(ledger, &of("another root", "mallory", wants_one("another root")));
    for n in 0..12 {
        let accomplice = format!("mallory {n}");
        refuse_with(ledger, &of("alice", &accomplice, fresh_issuers(&format!("again {n}"), 30)));
    }
    for issuer in ["alice", "bob", "carol", "her own delegate", "dave", "x", "another root"] {
        assert!(is_wanted(ledger, issuer), "{issuer}");
    }
    assert_eq!(ledger.wanted_lists().unwrap().len(), WANTED_IN_ALL);
}

pub(super) fn a_wanted_list_makes_room_for_its_own_sponsors_or_when_nobody_wants_it(ledger: &SqliteLedger) {
    let alices = |url: &str| wants([list("alice", url)]);
    // One list a day; the first is wanted again, so the second goes first.
    let days = i64::try_from(WANTED_PER_SPONSOR).unwrap();
    for n in 0..WANTED_PER_SPONSOR {
        record_at(ledger, i64::try_from(n).unwrap(), &alices(&name(n)));
    }
    record_at(ledger, days, &alices(&name(0)));
    record_at(ledger, 1, &alices(&name(0)));
    record_at(ledger, days, &alices("new"));
    let kept = wanted_of(ledger, "alice");
    assert_eq!(kept.len(), WANTED_PER_SPONSOR);
    assert!(kept.contains(&name(0)) && !kept.contains(&name(1)) && kept.contains(&"new".to_owned()));
    // What was not wanted for long makes room before anybody's that is in use.
    for n in 1..WANTED_IN_ALL / WANTED_PER_SPONSOR {
        record_at(ledger, days + 2, &of("alice", &name(n), fresh_issuers(&name(n), WANTED_PER_SPONSOR)));
    }
    assert_eq!(ledger.wanted_lists().unwrap().len(), WANTED_IN_ALL);
    record_at(ledger, days + WANTED_FOR_DAYS, &of("alice", "late", wants([list("late", "l")])));
    assert_eq!(wanted_of(ledger, "late"), ["l"]);
    assert_eq!(wanted_of(ledger, "alice"), [name(0), "new".to_owned()], "not longer ago than that");
    assert!(ledger.wanted_lists().unwrap().len() > WANTED_IN_ALL - WANTED_PER_SPONSOR);
}

pub(super) fn the_revocations_of_one_sponsor_are_bounded_and_those_of_others_stay(ledger: &SqliteLedger) {
    let kept = |maker: &str| {
        let memory = memory(ledger);
        memory.revoked.entries.iter().filter(|entry| entry.issuer.contains(maker)).count()
    };
    refuse_with(ledger, &of("alice", "bob", saw_revoked([entry("bob", "l", 1)])));
    refuse_with(ledger, &of("alice", "mallory", fresh_revocations("mallory", 10_000)));
    assert_eq!(kept("mallory"), REVOKED_PER_SPONSOR);
    refuse_with(ledger, &of("alice", "mallory", saw_revoked([entry("alice", "l", 2)])));
    refuse_with(ledger, &of("alice", "bob", saw_revoked([entry("carol", "l", 3)])));
    refuse_with(ledger, &of("alice", "mallory", fresh_revocations("more of mallory", 10)));
    let honest = ["bob", "alice", "carol"].map(kept);
    assert_eq!((kept("mallory"), honest), (REVOKED_PER_SPONSOR, [1, 1, 1]), "others have room");
    let operators = Revoked { entries: fresh_revocations("operator", 5_000).revoked, ..Revoked::default() };
    ledger.mark_revoked(&operators, at(100)).unwrap();
    assert_eq!(kept("operator"), 5_000, "the operator is not bounded");
}

/// The honest have what they have, whoever comes first.
pub(super) fn what_is_learned_of_others_does_not_depend_on_when_a_flood_comes(ledger: &SqliteLedger) {
    let flood = |n: usize| {
        let learned = Learned {
            revoked: fresh_revocations(&format!("flood {n}"), 200).revoked,
            ..fresh_issuers(&format!("flood {n}"), 200)
        };
        of("alice", &format!("flood {n}"), learned)
    };
    let honest = |n: usize| {
        let issuer = format!("honest {n}");
        let learned = Learned {
            revoked: [entry(&issuer, "l", 7)].into(),
            ..wants([list(&issuer, "l"), list(&issuer, "k")])
        };
        of("alice", &issuer, learned)
    };
    let orders: [&dyn Fn(&SqliteLedger); 3] = [
        &|ledger| (0..24).for_each(|n| refuse_with(ledger, &if n < 12 { honest(n) } else { flood(n) })),
        &|ledger| {
            (0..24).for_each(|n| refuse_with(ledger, &if n < 12 { flood(n + 12) } else { honest(n - 12) }))
        },
        &|ledger| {
            (0..12).for_each(|n| [honest(n), flood(n + 12)].iter().for_each(|one| refuse_with(ledger, one)))
        },
    ];
    let others = [0, 1].map(|_| SqliteLedger::in_memory_first(DOMAIN, SKEW).unwrap());
    for (order, ledger) in orders.into_iter().zip([ledger, &others[0], &others[1]]) {
        order(ledger);
        let wanted = ledger.wanted_lists().unwrap();
        let wanted = wanted.iter().filter(|list| list.issuer.starts_with("honest")).count();
        let entries = &memory(ledger).revoked.entries;
        let revoked = entries.iter().filter(|entry| entry.issuer.starts_with("honest")).count();
        assert_eq!((wanted, revoked), (24, 12));
    }
}

/// One list of each of these issuers, relied on.
fn relied_on(issuers: impl IntoIterator<Item = String>, valid_from: i64, accepted: i64) -> Learned {
    let mark = ListMark::new(Some(at(valid_from)), Digest::of("a"), at(accepted));
    Learned {
        lists: issuers.into_iter().map(|issuer| (list(&issuer, "l"), mark)).collect(),
        ..Learned::default()
    }
}

fn fill_with_marks(ledger: &SqliteLedger, delegate: &str) -> Learned {
    let issuers = (0..ACCEPTED_PER_SPONSOR + 100).map(|n| format!("did:key:{delegate}-{}", name(n)));
    let flood = of("alice", delegate, relied_on(issuers, 0, 10));
    refuse_with(ledger, &flood);
    flood
}

pub(super) fn a_list_whose_mark_finds_no_room_cannot_be_relied_on(ledger: &SqliteLedger) {
    let rely = |id: &str, delegate: &str, issuer: &str, valid_from: i64| {
        let learned = of("alice", delegate, relied_on([issuer.to_owned()], valid_from, 50));
        Ask::new(id).but(|ask| ask.learned = learned).of(ledger)
    };
    admitted(rely("before", "mallory", "bob", 0));
    let flood = fill_with_marks(ledger, "mallory");
    assert_eq!(memory(ledger).lists.len(), ACCEPTED_PER_SPONSOR);
    let (reason, earlier, report) = refused(rely("m", "mallory", "did:key:one-more", 0));
    assert_eq!((reason, earlier), (Reason::StatusRetrievalError, None));
    assert_eq!(report.envelope.wire_code, Some(WireCode::AuthorizationFailed));
    // Nothing was reserved; by another delegate the same list is as good as any.
    admitted(rely("m", "bob", "did:key:one-more", 0));
    admitted(rely("root's own", "mallory", "alice", 0));
    admitted(rely("the root principal's next", "mallory", "alice", 1));
    // What has its mark goes on, also of the sponsor that has its share, and steps forward only.
    admitted(rely("goes on", "mallory", "bob", 1));
    admitted(rely("charged to another", "mallory", "did:key:one-more", 1));
    assert!(matches!(rely("back", "mallory", "bob", 0), Ok(Admission::Stale)));
    let held = flood.lists.keys().next().unwrap();
    assert!(memory(ledger).lists.contains_key(held), "no mark made room");
    assert_eq!(memory(ledger).forgotten, None);
}

pub(super) fn a_mark_that_goes_after_long_reopens_no_list_from_before(ledger: &SqliteLedger) {
    let rely_at = |id: &str, day: i64, learned: Learned| {
        let now = at(day * 86_400);
        let ask = Ask::new(id).but(|ask| (ask.learned, ask.now, ask.not_after) = (learned, now, now));
        ask.of(ledger)
    };
    let of_mallory = |valid_from: i64, accepted: i64, issuer: &str| {
        of("alice", "mallory", relied_on([issuer.to_owned()], valid_from, accepted))
    };
    let day = |day: i64| day * 86_400;
    admitted(rely_at("first", 0, of_mallory(-100, 10, "bob")));
    fill_with_marks(ledger, "mallory");
    let young = ACCEPTED_FOR_DAYS;
    refused(rely_at("young", young, of_mallory(day(young), day(young), "new")));
    assert_eq!(memory(ledger).forgotten, None);
    let old = ACCEPTED_FOR_DAYS + 1;
    admitted(rely_at("old", old, of_mallory(day(old), day(old), "new")));
    let memory = memory(ledger);
    assert_eq!((memory.lists.len(), memory.forgotten), (1, Some(at(0))), "the latest that went");
    // Whatever was accepted once, or came before it, is not accepted anew: neither by who knew nothing of it, nor by who
    // evaluated before the marks went.
    for valid_from in [-200, -100, 0] {
        let answer = rely_at("rolled back", old, of_mallory(valid_from, day(old), "bob"));
        assert!(matches!(answer, Ok(Admission::Stale)), "{valid_from}");
        let mark = relied_on(["bob".to_owned()], valid_from, day(old)).lists[&list("bob", "l")];
        assert_eq!(memory.mark(&list("bob", "l"), mark), None, "{valid_from}");
        refuse_with(ledger, &of_mallory(valid_from, day(old), "bob"));
    }
    assert_eq!(super::memory(ledger).lists.len(), 1);
    admitted(rely_at("later", old, of_mallory(1, day(old), "bob")));
}
