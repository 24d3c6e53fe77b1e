use super::*;
use crate::protocol::handshake::ProtocolSource;

fn hash() -> ProtocolHash {
    format!("sha256:{}", "a".repeat(64)).parse().unwrap()
}

fn offer(required: bool) -> UpgradeOffer {
    let protocol_source: ProtocolSource = "https://a.example/p".parse().unwrap();
    UpgradeOffer { protocol_hash: hash(), protocol_source, required, protocol_name: None }
}

fn response(accept: bool) -> UpgradeResponse {
    UpgradeResponse { protocol_hash: hash(), accept, reason: None }
}

fn home() -> ConversationKey {
    ConversationKey { role: Role::Client, peer: "p".into(), context: Some("c".to_owned()) }
}

fn at(seconds: i64) -> Instant {
    Instant::from_timestamp(seconds, 0).unwrap()
}

/// Every state that the machine knows, each with its word.
fn states() -> Vec<(&'static str, Option<Exchange>)> {
    let open = |required| Exchange::offer(None, offer(required), at(10));
    let agreed = |required| open(required).answered(&response(true), at(10));
    vec![
        ("none", None),
        ("offered", Some(open(false))),
        ("offered required", Some(open(true))),
        ("active", Some(agreed(false))),
        ("active required", Some(agreed(true))),
        ("declined", Some(open(false).answered(&response(false), at(10)))),
        ("aborted", Some(open(true).answered(&response(false), at(10)))),
    ]
}

fn word(exchange: &Exchange) -> String {
    let required = exchange.required() && !matches!(exchange, Exchange::Aborted(_));
    format!("{}{}", exchange.as_str(), if required { " required" } else { "" })
}

/// A step that is taken from every state, with what it is expected to lead to.
#[track_caller]
fn table(step: impl Fn(Option<Exchange>) -> Exchange, expected: &[(&str, &str)]) {
    let found: Vec<_> = states().into_iter().map(|(name, state)| (name, word(&step(state)))).collect();
    let found: Vec<_> = found.iter().map(|(name, word)| (*name, word.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn an_optional_offer_of_ours() {
    table(
        |state| Exchange::offer(state, offer(false), at(20)),
        &[
            ("none", "offered"),
            ("offered", "offered"),
            ("offered required", "offered required"),
            ("active", "active"),
            ("active required", "active required"),
            ("declined", "offered"),
            ("aborted", "offered required"),
        ],
    );
}

#[test]
fn a_required_offer_of_ours() {
    table(
        |state| Exchange::offer(state, offer(true), at(20)),
        &[
            ("none", "offered required"),
            ("offered", "offered required"),
            ("offered required", "offered required"),
            ("active", "active required"),
            ("active required", "active required"),
            ("declined", "offered required"),
            ("aborted", "offered required"),
        ],
    );
}

#[test]
fn an_offer_of_the_peer_that_is_accepted() {
    table(
        |state| Exchange::offered_by_peer(state, false, true, at(20)),
        &[
            ("none", "active"),
            ("offered", "active required"),
            ("offered required", "active required"),
            ("active", "active"),
            ("active required", "active required"),
            ("declined", "active"),
            ("aborted", "active required"),
        ],
    );
}

#[test]
fn an_offer_of_the_peer_that_is_declined() {
    table(
        |state| Exchange::offered_by_peer(state, false, false, at(20)),
        &[
            ("none", "declined"),
            ("offered", "aborted"),
            ("offered required", "aborted"),
            ("active", "aborted"),
            ("active required", "aborted"),
            ("declined", "declined"),
            ("aborted", "aborted"),
        ],
    );
}

#[test]
fn a_required_offer_of_the_peer_that_is_declined_ends_the_exchange() {
    for (name, state) in states() {
        let exchange = Exchange::offered_by_peer(state, true, false, at(20));
        assert_eq!(exchange, Exchange::ABORTED, "{name}");
    }
}

#[test]
fn a_required_offer_of_the_peer_that_is_accepted_binds() {
    for (name, state) in states() {
        let exchange = Exchange::offered_by_peer(state, true, true, at(20));
        assert_eq!(word(&exchange), "active required", "{name}");
    }
}

/// The states in which there is something to answer.
fn answer(state: Option<Exchange>, response: &UpgradeResponse) -> Exchange {
    state.map_or(Exchange::ABORTED, |state| state.answered(response, at(20)))
}

#[test]
fn an_accepting_answer() {
    table(
        |state| answer(state, &response(true)),
        &[
            ("none", "aborted"),
            ("offered", "active"),
            ("offered required", "active required"),
            ("active", "active"),
            ("active required", "active required"),
            ("declined", "aborted"),
            ("aborted", "aborted"),
        ],
    );
}

#[test]
fn a_declining_answer() {
    table(
        |state| answer(state, &response(false)),
        &[
            ("none", "aborted"),
            ("offered", "declined"),
            ("offered required", "aborted"),
            ("active", "aborted"),
            ("active required", "aborted"),
            ("declined", "declined"),
            ("aborted", "aborted"),
        ],
    );
}

#[test]
fn an_answer_about_another_document_leaves_the_offer_open() {
    let other: ProtocolHash = format!("sha256:{}", "b".repeat(64)).parse().unwrap();
    for accept in [true, false] {
        let unrelated = UpgradeResponse { protocol_hash: other.clone(), ..response(accept) };
        for required in [true, false] {
            let open = Exchange::offer(None, offer(required), at(10));
            assert_eq!(open.clone().answered(&unrelated, at(20)), open);
        }
    }
}

#[test]
fn an_unanswered_offer_ends_and_nothing_else_does() {
    for (name, state) in states() {
        let Some(state) = state else { continue };
        let after = state.clone().unanswered();
        match state {
            Exchange::Offered(_) => assert_eq!(after, Exchange::ABORTED, "{name}"),
            _ => assert_eq!(after, state, "{name}"),
        }
    }
}

#[test]
fn what_runs_out_keeps_prose_out() {
    for (name, state) in states() {
        let Some(state) = state else { continue };
        assert_eq!(state.clone().at(at(9)), state, "{name}");
        let over = state.clone().at(at(10));
        match state {
            Exchange::Declined(_) => assert_eq!(over, state),
            _ => assert_eq!(over, Exchange::ABORTED, "{name}"),
        }
    }
}

#[test]
fn offering_again_prolongs_nothing() {
    let open = Exchange::offer(None, offer(false), at(10));
    let Exchange::Offered(again) = Exchange::offer(Some(open), offer(false), at(99)) else { panic!() };
    assert_eq!(again.until(), at(10));
}

#[test]
fn only_declined_offers_give_leave_for_prose() {
    for (name, state) in states() {
        let leave = NaturalLanguage::after(&home(), &state);
        assert_eq!(leave.is_some(), matches!(name, "none" | "declined"), "{name}");
    }
    let declined = states().into_iter().filter_map(|(name, state)| (name == "declined").then_some(state?));
    let declined: Vec<_> = declined.collect();
    for (name, state) in states() {
        let Some(state) = state else { continue };
        let leave = NaturalLanguage::after(&home(), declined.iter().chain([&state]));
        assert_eq!(leave.is_some(), name == "declined", "{name} beside a declined one");
    }
}

#[test]
fn a_state_is_read_as_it_was_stored() {
    for (name, state) in states() {
        let Some(state) = state else { continue };
        assert_eq!(StoredExchange::of(&state).read(&hash()), Some(state), "{name}");
    }
}

/// A row that somebody made looser than it was is no state at all.
#[test]
fn a_contradictory_row_is_no_state() {
    let aborted = StoredExchange::of(&Exchange::ABORTED);
    let open = StoredExchange::of(&Exchange::offer(None, offer(true), at(10)));
    let other: ProtocolHash = format!("sha256:{}", "b".repeat(64)).parse().unwrap();
    assert_eq!(StoredExchange { required: false, ..aborted.clone() }.read(&hash()), None);
    assert_eq!(StoredExchange { state: "declined".into(), ..aborted.clone() }.read(&hash()), None);
    assert_eq!(StoredExchange { state: "other".into(), ..aborted }.read(&hash()), None);
    assert_eq!(StoredExchange { required: false, ..open.clone() }.read(&hash()), None);
    assert_eq!(StoredExchange { offer: None, ..open.clone() }.read(&hash()), None);
    assert_eq!(StoredExchange { until: None, ..open.clone() }.read(&hash()), None);
    assert_eq!(open.read(&other), None);
}
