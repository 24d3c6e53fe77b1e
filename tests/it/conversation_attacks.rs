//! Attempts to get from a required exchange to prose, or into somebody else's conversation, by the odd ways.

use crate::conversations::{
    ELSEWHERE, HOME, Side, answer_to, facts, grant_access, key, loose, offer_of, prose, refused, unknown,
};
use crate::support::noon;
use chrono::TimeDelta;
use std::sync::Arc;
use writgate::ledger::SqliteLedger;
use writgate::protocol::ProtocolHash;
use writgate::protocol::conversation::{ConversationKey, Exchange, Role};
use writgate::protocol::handshake::{Handshake, UpgradeOffer};
use writgate::worked_example::DOMAIN;
use writgate::{Offer, Peer, Reason, Received};

/// An exchange that ended is not left by way of another document.
#[test]
fn a_second_document_that_is_declined_gives_no_leave_after_a_required_one() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&grant_access(), true)).unwrap();
    assert!(matches!(side.answered(&there, &grant_access(), false), Exchange::Aborted(_)));
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    assert!(matches!(side.answered(&there, &loose(), false), Exchange::Declined(_)));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
}

/// What keeps prose out is said of a (peer, context): the peer does not get round it by being the server this time.
#[test]
fn what_is_required_in_one_role_keeps_prose_out_in_the_other() {
    for (first, other) in [(Role::Agent, Role::Client), (Role::Client, Role::Agent)] {
        let side = Side::new();
        let (home, turned) = (key(first, "p", HOME), key(other, "p", HOME));
        side.offered(&home, &grant_access(), true);
        assert_eq!(refused(side.engine.natural_language(&turned)), Reason::ProtocolRequired);
        let said = side.engine.receive(other, prose(Some(HOME), None), facts(&turned));
        assert_eq!(refused(said), Reason::ProtocolRequired);
        // It is the same peer's other role that pays, and nobody else.
        assert!(side.engine.natural_language(&key(other, "q", HOME)).is_ok());
        assert!(side.engine.natural_language(&key(other, "p", ELSEWHERE)).is_ok());
    }
    // An open offer of ours keeps our own prose back in either role.
    let side = Side::new();
    side.engine.offer(&key(Role::Client, "p", HOME), offer_of(&loose(), false)).unwrap();
    assert_eq!(refused(side.engine.natural_language(&key(Role::Agent, "p", HOME))), Reason::ProtocolRequired);
}

#[test]
fn a_sticky_requirement_holds_in_both_roles() {
    let side = Side::with("sticky_required = \"peer\"");
    side.offered(&key(Role::Agent, "p", HOME), &grant_access(), true);
    let turned = key(Role::Client, "p", ELSEWHERE);
    assert_eq!(refused(side.engine.natural_language(&turned)), Reason::ProtocolRequired);
}

/// When the so-manyth of a peer's steps is taken, so that all are recorded and no offer runs out.
fn within_the_rate(number: i64) -> writgate::Instant {
    noon() + TimeDelta::milliseconds(520 * number)
}

/// An offer that nobody answered is not forgotten into leave for prose, however many exchanges the peer makes.
#[test]
fn an_open_offer_that_makes_room_gives_no_leave() {
    let side = Side::new();
    let there = key(Role::Client, "p", "a-first");
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    for number in 0..1_100 {
        side.clock.set(within_the_rate(number));
        side.offered(&key(Role::Client, "p", &format!("c-{number}")), &loose(), false);
    }
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
}

/// What gives leave anyway makes room first, so that junk of the peer's own costs it nothing that it agreed.
#[test]
fn declined_offers_make_room_before_what_was_agreed() {
    let side = Side::new();
    let home = key(Role::Agent, "p", "a-first");
    side.offered(&home, &loose(), false);
    for number in 0..1_100 {
        side.clock.set(within_the_rate(number));
        side.offered(&key(Role::Agent, "p", &format!("c-{number}")), &unknown(), false);
    }
    assert!(side.state(&home, &loose()).is_some_and(|exchange| exchange.is_active()));
    assert_eq!(side.prose(&home), None);
}

/// No decision was recorded in between: the negotiation itself has seen the later instant.
#[test]
fn a_clock_that_is_set_back_reopens_no_offer_and_no_agreement() {
    let side = Side::with("offer_life_minutes = 1\nagreement_life_days = 1");
    let (open, agreed) = (key(Role::Client, "p", HOME), key(Role::Agent, "p", HOME));
    side.engine.offer(&open, offer_of(&loose(), false)).unwrap();
    side.offered(&agreed, &loose(), false);
    side.clock.set(noon() + TimeDelta::days(2));
    // Anything at all is negotiated then, by anybody.
    side.offered(&key(Role::Agent, "q", ELSEWHERE), &unknown(), false);
    side.clock.set(noon());
    assert!(matches!(side.answered(&open, &loose(), false), Exchange::Aborted(_)));
    assert!(matches!(side.state(&agreed, &loose()), Some(Exchange::Aborted(_))));
}

/// An empty identity is nobody's, whichever way a caller writes it.
#[test]
fn an_empty_identity_is_nobody() {
    let side = Side::new();
    let empty = |role, context: &str| ConversationKey {
        peer: Peer::Authenticated(String::new()),
        ..key(role, "", context)
    };
    let nobody =
        |role, context: &str| ConversationKey { peer: Peer::Unauthenticated, ..key(role, "", context) };
    side.offered(&nobody(Role::Agent, HOME), &loose(), true);
    assert_eq!(side.prose(&empty(Role::Agent, HOME)), Some(Reason::ProtocolRequired));
    // Nor does it take a context from somebody.
    let (accepted, _) = side.offered(&empty(Role::Agent, ELSEWHERE), &loose(), true);
    assert!(!accepted);
    assert!(side.offered(&key(Role::Agent, "p", ELSEWHERE), &loose(), false).0);
}

/// Identities and contexts that look like what the ledger writes are no more than other identities and contexts.
#[test]
fn odd_identities_and_contexts_are_kept_apart() {
    let odd = [
        "-",
        "=",
        "*",
        "=p",
        "p\0",
        "p\0q",
        "p",
        "P",
        " p",
        "p ",
        "\u{e9}",
        "e\u{301}",
        "\u{202e}p",
        "%",
        "_",
    ];
    let side = Side::new();
    for peer in odd {
        side.offered(&key(Role::Agent, peer, &format!("of {peer}")), &grant_access(), true);
    }
    for peer in odd {
        for other in odd {
            let reason = side.prose(&key(Role::Agent, other, &format!("of {peer}")));
            assert_eq!(reason, Some(Reason::ProtocolRequired), "{peer:?} {other:?}");
        }
        assert_eq!(side.prose(&key(Role::Agent, peer, "of nobody")), None, "{peer:?}");
    }
    let side = Side::new();
    for context in odd.iter().chain(&[""]) {
        assert_eq!(side.prose(&key(Role::Agent, "p", context)), None, "{context:?}");
        side.offered(&key(Role::Agent, "p", context), &grant_access(), true);
        assert_eq!(
            side.prose(&key(Role::Agent, "p", context)),
            Some(Reason::ProtocolRequired),
            "{context:?}"
        );
    }
    let nowhere = ConversationKey { context: None, ..key(Role::Agent, "p", "") };
    assert_eq!(side.prose(&nowhere), None, "no context is none of them");
}

/// An offer that could not be read back would leave its conversation without a state.
#[test]
fn an_offer_that_no_peer_would_read_is_not_made() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    let named = |characters: usize| UpgradeOffer {
        protocol_name: Some("\u{e9}".repeat(characters)),
        ..offer_of(&loose(), false)
    };
    assert_eq!(refused(side.engine.offer(&there, named(1_025))), Reason::HandshakeMalformed);
    assert!(side.engine.exchanges(&there).unwrap().is_empty());
    assert!(side.engine.offer(&there, named(1_024)).is_ok());
    assert_eq!(side.engine.exchanges(&there).unwrap().len(), 1);
}

/// Where no offer can be kept, none was kept: that says nothing about what was required.
#[test]
fn there_is_no_leave_where_no_exchange_could_be_kept() {
    let side = Side::new();
    let long = key(Role::Client, &"p".repeat(Peer::MAX_BYTES + 1), HOME);
    let far = key(Role::Client, "p", &"c".repeat(257));
    for unkept in [long, far] {
        let offer = side.engine.offer(&unkept, offer_of(&grant_access(), true));
        assert_eq!(refused(offer), Reason::MessageMalformed);
        assert_eq!(refused(side.engine.natural_language(&unkept)), Reason::MessageMalformed);
    }
    let nowhere = ConversationKey { context: None, ..key(Role::Client, "p", "") };
    assert!(side.engine.natural_language(&nowhere).is_ok(), "two agents meet without a context");
}

/// RESP-1, and the answer that comes to the other side of us.
#[test]
fn an_answer_settles_only_the_offer_that_it_names_in_the_role_that_made_it() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    let answer = || Handshake::Response(answer_to(&loose(), false));
    assert_eq!(refused(side.receive(&key(Role::Agent, "p", HOME), answer())), Reason::UnknownProtocol);
    assert_eq!(refused(side.receive(&key(Role::Client, "p", ELSEWHERE), answer())), Reason::UnknownProtocol);
    for hash in [grant_access(), unknown()] {
        let unrelated = side.receive(&there, Handshake::Response(answer_to(&hash, false)));
        assert_eq!(refused(unrelated), Reason::UnknownProtocol);
    }
    assert!(matches!(side.state(&there, &loose()), Some(Exchange::Offered(_))));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
}

/// ACT-3: what a peer says that did not activate is no answer, in prose neither.
#[test]
fn prose_without_the_extension_answers_no_offer() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    let mut deaf = facts(&there);
    deaf.activated.clear();
    // Prose that comes with the echo leaves the offer open; prose without it ends the offer (ACT-4), and is refused.
    let said = side.engine.receive(Role::Client, prose(Some(HOME), None), facts(&there)).unwrap();
    assert!(matches!(said, Received::Prose(_)));
    assert!(matches!(side.state(&there, &loose()), Some(Exchange::Offered(_))));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
    let said = side.engine.receive(Role::Client, prose(Some(HOME), None), deaf);
    assert_eq!(refused(said), Reason::ProtocolRequired);
    assert!(matches!(side.state(&there, &loose()), Some(Exchange::Aborted(_))));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
}

/// SEC-6 and OFFER-2: after the end there is nothing but the protocol.
#[test]
fn a_declined_required_offer_is_followed_by_the_protocol_or_by_nothing() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), true)).unwrap();
    assert!(matches!(side.answered(&there, &loose(), false), Exchange::Aborted(_)));
    for _ in 0..3 {
        let Ok(Offer::Send(again)) = side.engine.offer(&there, offer_of(&loose(), false)) else { panic!() };
        assert!(again.offer().required);
        assert!(matches!(side.answered(&there, &loose(), false), Exchange::Aborted(_)));
        side.engine.give_up(&there).unwrap();
        assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
    }
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    assert!(matches!(side.answered(&there, &loose(), true), Exchange::Active(active) if active.required()));
}

/// A ledger in a file that goes away with the test.
struct File(std::path::PathBuf);

impl File {
    fn new() -> (Self, Side) {
        let path = std::env::temp_dir().join(format!("writgate-{}.ledger", uuid::Uuid::new_v4()));
        let ledger = SqliteLedger::create(&path, DOMAIN, true, noon(), TimeDelta::seconds(60)).unwrap();
        (Self(path), Side::on(Arc::new(ledger), ""))
    }

    fn another_process(&self) -> Side {
        Side::on(Arc::new(SqliteLedger::open(&self.0, DOMAIN, TimeDelta::seconds(60)).unwrap()), "")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }
}

/// Two processes on one file: what one has recorded holds for the other at once.
#[test]
fn two_processes_of_one_ledger_keep_one_state() {
    let (file, one) = File::new();
    let two = file.another_process();
    let there = key(Role::Client, "p", HOME);
    assert!(two.engine.natural_language(&there).is_ok());
    one.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    assert_eq!(refused(two.engine.natural_language(&there)), Reason::ProtocolRequired);
    two.engine.offer(&there, offer_of(&loose(), true)).unwrap();
    assert!(matches!(one.answered(&there, &loose(), false), Exchange::Aborted(_)));
    assert_eq!(refused(two.engine.natural_language(&there)), Reason::ProtocolRequired);
}

/// A row that contradicts itself is not read for the looser of its two meanings: nothing goes on in its conversation.
#[test]
fn a_row_that_was_edited_by_hand_refuses_its_conversation() {
    let open = key(Role::Agent, "p", HOME);
    for edit in [
        "state = 'declined'",
        "state = 'declined', required = 0",
        "state = 'aborted', required = 0",
        "state = 'active'",
        "required = 0",
        "until_us = NULL",
        "offer = NULL",
        "offer = '{}'",
        "offer = replace(offer, '\"required\":true', '\"required\":false')",
        "protocol_hash = 'sha256:' || printf('%064x', 1)",
        "protocol_hash = 'sha256:'",
    ] {
        let (file, side) = File::new();
        side.engine.offer(&open, offer_of(&loose(), true)).unwrap();
        let raw = rusqlite::Connection::open(&file.0).unwrap();
        assert_eq!(raw.execute(&format!("UPDATE exchanges SET {edit}"), ()).unwrap(), 1, "{edit}");
        assert_eq!(side.prose(&open), Some(Reason::LedgerUnavailable), "{edit}");
        let turned = key(Role::Client, "p", HOME);
        for with in [&open, &turned] {
            assert_eq!(refused(side.engine.natural_language(with)), Reason::LedgerUnavailable, "{edit}");
        }
        assert_eq!(side.prose(&key(Role::Agent, "q", ELSEWHERE)), None, "others go on");
    }
}

/// A peer fills its own room and nobody else's: not their exchanges, not their contexts, not their prose.
#[test]
fn a_peer_that_floods_offers_costs_nobody_else_anything() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    side.offered(&home, &loose(), false);
    let hash = |number: usize| format!("sha256:{number:064x}").parse::<ProtocolHash>().unwrap();
    for number in 0..1_200 {
        let context = format!("c-{}", number / 16);
        let offer = Handshake::Offer(offer_of(&hash(number), true));
        // Within a minute, so many steps are recorded; what came beyond them binds the peer.
        if let Err(refusal) = side.receive(&key(Role::Agent, "flood", &context), offer) {
            assert_eq!(refusal.reason(), Reason::LimitExceeded);
            assert!(number >= 120, "{number}");
        }
    }
    assert_eq!(side.prose(&key(Role::Agent, "flood", "c-new")), Some(Reason::ProtocolRequired));
    crate::support::assert_granted(&side.intent(&home));
    assert_eq!(side.prose(&home), None);
    assert!(side.offered(&key(Role::Agent, "q", "d"), &loose(), false).0);
}

/// A caller's queue that panics takes no server down, and what was recorded before it did stands.
#[test]
fn a_panic_while_a_message_is_taken_in_is_a_refusal() {
    #[derive(Debug)]
    struct Panicking;
    impl writgate::source::DocumentQueue for Panicking {
        fn want(&self, _: &writgate::protocol::handshake::ProtocolSource, _: &ProtocolHash) {
            panic!("the queue fails");
        }
    }
    let side = Side::new();
    let side = Side { engine: side.engine.with_document_queue(Arc::new(Panicking)), clock: side.clock };
    let home = key(Role::Agent, "p", HOME);
    let taken = side.receive(&home, Handshake::Offer(offer_of(&unknown(), true)));
    assert_eq!(refused(taken), Reason::Internal);
    assert_eq!(side.prose(&home), Some(Reason::ProtocolRequired));
    assert!(side.offered(&home, &loose(), false).0);
}
