//! What every ledger must do with the exchanges of conversations.

use super::*;
use crate::ledger::Negotiated;
use crate::ledger::sqlite::growth;
use crate::protocol::ProtocolHash;
use crate::protocol::conversation::Exchange;
use crate::protocol::handshake::{UpgradeOffer, UpgradeResponse};

every_ledger! {
    a_step_is_taken_from_what_was_written;
    no_step_writes_nothing;
    what_has_run_out_is_over_for_every_reader;
    a_decision_rests_on_the_conversation_that_it_saw;
    a_context_is_the_first_peers;
    a_peer_that_is_forgotten_is_bound;
    a_peer_that_required_nothing_is_not_bound;
    the_operator_may_forget_a_peer;
    a_step_that_changes_nothing_is_not_written;
    steps_beyond_the_rate_of_a_peer_are_not_taken_and_one_that_requires_binds_it;
    steps_of_many_peers_are_bounded_together;
}

fn hash(number: usize) -> ProtocolHash {
    format!("sha256:{number:064x}").parse().unwrap()
}

fn of(peer: &str, context: &str) -> ConversationKey {
    ConversationKey { role: Role::Agent, peer: peer.into(), context: Some(context.to_owned()) }
}

/// We offer document `number` in a conversation.
fn offer(ledger: &dyn Ledger, with: &ConversationKey, number: usize) -> Negotiated {
    let offer = UpgradeOffer {
        protocol_hash: hash(number),
        protocol_source: "https://a.example/p".parse().unwrap(),
        required: false,
        protocol_name: Some("A name".into()),
    };
    let step = &mut |before: Option<Exchange>| Some(Exchange::offer(before, offer.clone(), at(1_000)));
    ledger.negotiate(with, &hash(number), at(100), step).unwrap()
}

/// The peer's offer of document `number` is accepted (required) or declined (optional).
fn settle(ledger: &dyn Ledger, with: &ConversationKey, number: usize, accept: bool) -> Negotiated {
    settle_at(ledger, with, number, accept, at(100))
}

fn settle_at(
    ledger: &dyn Ledger,
    with: &ConversationKey,
    number: usize,
    accept: bool,
    now: Instant,
) -> Negotiated {
    let step =
        &mut |before: Option<Exchange>| Some(Exchange::offered_by_peer(before, accept, accept, at(10_000)));
    ledger.negotiate(with, &hash(number), now, step).unwrap()
}

/// When the so-manyth of many steps is taken, each within the rate.
fn in_time(number: usize) -> Instant {
    at(100 + i64::try_from(number).unwrap())
}

fn found(ledger: &dyn Ledger, of: &ConversationKey) -> Conversation {
    ledger.snapshot(of, at(100)).unwrap().conversation
}

fn a_step_is_taken_from_what_was_written(ledger: &SqliteLedger) {
    let home = of("p", "c");
    let Negotiated::Settled(offered @ Exchange::Offered(_)) = offer(ledger, &home, 1) else { panic!() };
    assert_eq!(ledger.exchanges(&home, at(100)).unwrap(), [(hash(1), offered.clone())]);
    let response = UpgradeResponse { protocol_hash: hash(1), accept: true, reason: None };
    let mut seen = None;
    let answered = ledger.negotiate(&home, &hash(1), at(100), &mut |before| {
        seen.clone_from(&before);
        before.map(|before| before.answered(&response, at(2_000)))
    });
    assert_eq!(seen, Some(offered));
    let Ok(Negotiated::Settled(active @ Exchange::Active(_))) = answered else { panic!() };
    assert_eq!(ledger.exchanges(&home, at(100)).unwrap(), [(hash(1), active)]);
    assert_eq!(found(ledger, &home).agreed, [hash(1).as_str().to_owned()].into());
    assert_eq!(found(ledger, &of("p", "d")), Conversation::default());
    let as_client = ConversationKey { role: Role::Client, ..home };
    assert_eq!(found(ledger, &as_client), Conversation::default());
}

fn no_step_writes_nothing(ledger: &SqliteLedger) {
    let home = of("p", "c");
    let nothing = ledger.negotiate(&home, &hash(1), at(100), &mut |_| None).unwrap();
    assert_eq!(nothing, Negotiated::Nothing);
    assert!(ledger.exchanges(&home, at(100)).unwrap().is_empty());
    let nowhere = ledger.negotiate(&nowhere(), &hash(1), at(100), &mut |before| before);
    assert!(matches!(nowhere, Err(LedgerError::Contradictory(_))));
}

fn what_has_run_out_is_over_for_every_reader(ledger: &SqliteLedger) {
    let home = of("p", "c");
    offer(ledger, &home, 1);
    assert!(!found(ledger, &home).prose_forbidden);
    let later = ledger.snapshot(&home, at(1_000)).unwrap().conversation;
    assert!(later.prose_forbidden);
    let elsewhere = ledger.snapshot(&of("p", "d"), at(1_000)).unwrap().conversation;
    assert!(elsewhere.prose_forbidden_elsewhere && !elsewhere.prose_forbidden);
    let (_, over) = ledger.exchanges(&home, at(1_000)).unwrap().remove(0);
    assert!(matches!(over, Exchange::Aborted(_)));
}

fn a_decision_rests_on_the_conversation_that_it_saw(ledger: &SqliteLedger) {
    let home = of("p", "c");
    let before = found(ledger, &home);
    settle(ledger, &home, 1, true);
    let ask = Ask::new("m").but(|ask| ask.conversation = (home.clone(), before.clone()));
    assert!(matches!(ask.of(ledger), Ok(Admission::Stale)));
    let body = refused_body();
    let entry = Entry {
        rests_on: Some(RestsOn { of: home.clone(), conversation: before.clone() }),
        ..refusal_entry(&body)
    };
    assert!(ledger.record(entry).unwrap().is_none(), "prose that was let in before a required offer came");
    let after = found(ledger, &home);
    let ask = Ask::new("m").but(|ask| ask.conversation = (home.clone(), after.clone()));
    admitted(ask.of(ledger));
    let entry = Entry {
        rests_on: Some(RestsOn { of: home.clone(), conversation: after.clone() }),
        ..refusal_entry(&body)
    };
    assert_eq!(ledger.record(entry).unwrap().unwrap().envelope.sequence, 3, "the offer is a row too");
}

fn a_context_is_the_first_peers(ledger: &SqliteLedger) {
    settle(ledger, &of("p", "c"), 1, true);
    assert_eq!(settle(ledger, &of("q", "c"), 1, true), Negotiated::AnothersContext);
    assert!(found(ledger, &of("q", "c")).of_another_peer);
    assert!(!found(ledger, &of("p", "c")).of_another_peer);
    // Nobody takes a context from somebody, and somebody takes one from nobody.
    assert_eq!(settle(ledger, &of("", "c"), 1, true), Negotiated::AnothersContext);
    settle(ledger, &of("", "d"), 1, true);
    assert!(matches!(settle(ledger, &of("p", "d"), 1, true), Negotiated::Settled(_)));
}

/// However many exchanges a peer makes, what it may no longer do is kept, and nobody else pays for it.
fn a_peer_that_is_forgotten_is_bound(ledger: &SqliteLedger) {
    settle(ledger, &of("p", "a-first"), 1, true);
    for number in 0..1_100 {
        let settled = settle_at(ledger, &of("p", &format!("c-{number}")), 1, true, in_time(number));
        assert!(matches!(settled, Negotiated::Settled(_)), "{number}");
    }
    assert!(ledger.conversations().unwrap().len() <= 1_024);
    assert!(ledger.exchanges(&of("p", "a-first"), at(100)).unwrap().is_empty(), "the oldest was forgotten");
    for context in ["a-first", "c-0", "c-1099", "another"] {
        assert!(found(ledger, &of("p", context)).prose_forbidden, "{context}");
    }
    assert_eq!(found(ledger, &of("q", "another")), Conversation::default());
    let as_client = ConversationKey { role: Role::Client, ..of("p", "a-first") };
    assert!(found(ledger, &as_client).prose_forbidden, "whichever of the two it is");
}

/// Only optional exchanges were forgotten: nothing was lost that kept prose out.
fn a_peer_that_required_nothing_is_not_bound(ledger: &SqliteLedger) {
    for number in 0..1_100 {
        settle_at(ledger, &of("p", &format!("c-{number}")), 1, false, in_time(number));
    }
    assert_eq!(found(ledger, &of("p", "another")), Conversation::default());
}

/// The operator's word, and nothing else, lets prose in again.
fn the_operator_may_forget_a_peer(ledger: &SqliteLedger) {
    settle(ledger, &of("p", "c"), 1, true);
    settle(ledger, &of("q", "d"), 1, true);
    for number in 2..20 {
        settle(ledger, &of("p", "c"), number, true);
    }
    assert!(found(ledger, &of("p", "d-2")).prose_forbidden, "bound");
    assert_eq!(ledger.forget_conversations(&"p".into(), at(100)).unwrap(), 16);
    assert_eq!(found(ledger, &of("p", "c")), Conversation::default());
    assert!(found(ledger, &of("q", "d")).prose_forbidden);
}

/// A peer that repeats its offer for ever writes one row, and what is answered is what was written.
fn a_step_that_changes_nothing_is_not_written(ledger: &SqliteLedger) {
    let home = of("p", "c");
    let until = |end| {
        let step = &mut |before| Some(Exchange::offered_by_peer(before, true, true, at(end)));
        ledger.negotiate(&home, &hash(1), at(100), step).unwrap()
    };
    let first = until(1_000);
    for end in [1_000, 1_059, 941] {
        assert_eq!(until(end), first);
        assert_eq!(ledger.verify_chain().unwrap().0, 1);
    }
    assert_ne!(until(1_060), first);
    assert_eq!(ledger.verify_chain().unwrap().0, 2);
    // What has run out is not the same again, however near its end.
    let over = settle_at(ledger, &home, 1, true, at(1_060));
    let Negotiated::Settled(Exchange::Active(again)) = over else { panic!("{over:?}") };
    assert_eq!(again.until(), at(10_000));
    settle(ledger, &of("p", "d"), 1, false);
    let rows = ledger.verify_chain().unwrap().0;
    settle(ledger, &of("p", "d"), 1, false);
    assert_eq!(ledger.verify_chain().unwrap().0, rows, "declined again");
}

fn steps_beyond_the_rate_of_a_peer_are_not_taken_and_one_that_requires_binds_it(ledger: &SqliteLedger) {
    let most = usize::try_from(growth::Kind::Steps.of_one().times).unwrap();
    for number in 0..most {
        let settled = settle(ledger, &of("p", &format!("c-{number}")), 1, false);
        assert!(matches!(settled, Negotiated::Settled(_)), "{number}");
    }
    let rows = ledger.verify_chain().unwrap().0;
    for _ in 0..10 {
        assert_eq!(settle(ledger, &of("p", "more"), 1, false), Negotiated::TooMany);
    }
    assert_eq!(ledger.verify_chain().unwrap().0, rows, "nothing has changed");
    assert_eq!(found(ledger, &of("p", "more")), Conversation::default());
    // Once required, never prose: what is not kept binds the peer, with one row, and nobody else.
    for _ in 0..10 {
        assert_eq!(settle(ledger, &of("p", "more"), 1, true), Negotiated::Full);
    }
    assert_eq!(ledger.verify_chain().unwrap().0, rows + 1);
    assert!(found(ledger, &of("p", "elsewhere")).prose_forbidden);
    assert!(matches!(settle(ledger, &of("q", "d"), 1, false), Negotiated::Settled(_)));
    assert_eq!(found(ledger, &of("q", "e")), Conversation::default());
    // A clock that is set back gives no second helping, and the next minute gives one.
    assert_eq!(settle_at(ledger, &of("p", "more"), 1, false, at(40)), Negotiated::TooMany);
    let later = settle_at(ledger, &of("p", "more"), 1, false, at(160));
    assert!(matches!(later, Negotiated::Settled(_)), "{later:?}");
}

fn steps_of_many_peers_are_bounded_together(ledger: &SqliteLedger) {
    let most = usize::try_from(growth::Kind::Steps.in_all().times).unwrap();
    for number in 0..most {
        let settled = settle(ledger, &of(&format!("p-{number}"), &format!("c-{number}")), 1, false);
        assert!(matches!(settled, Negotiated::Settled(_)), "{number}");
    }
    assert_eq!(settle(ledger, &of("q", "d"), 1, false), Negotiated::TooMany);
    assert_eq!(ledger.verify_chain().unwrap().0, u64::try_from(most).unwrap());
}
