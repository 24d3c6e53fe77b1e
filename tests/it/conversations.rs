//! Conversations: what is agreed in one, who may speak in it, and that prose is never the way out.

use crate::support::{TestClock, noon, octets, reason, world};
use chrono::TimeDelta;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use writgate::ledger::{Ledger, SqliteLedger};
use writgate::message::compose::{self, HandshakeDraft, HandshakeForm};
use writgate::protocol::ProtocolHash;
use writgate::protocol::conversation::{ConversationKey, Exchange, Role};
use writgate::protocol::handshake::{Handshake, UpgradeOffer, UpgradeResponse};
use writgate::worked_example::{DOMAIN, Intent};
use writgate::{
    CallerFacts, Config, ConfigFile, Decision, Engine, Evaluation, MessageInput, Offer, Peer, Reason,
    Received, Refusal, Request,
};

pub const HOME: &str = "c-home";
pub const ELSEWHERE: &str = "c-elsewhere";

/// The example's configuration, in which the loose test protocol bears on no security.
pub fn config(settings: &str) -> Config {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(folder.join("vectors/writgate.toml")).unwrap();
    let text = text.replace("\"../", &format!("\"{}/", folder.display()));
    let text = text.replace("test-loose.ttl\"", "test-loose.ttl\"\nsecurity_bearing = false");
    let path = std::env::temp_dir().join(format!("writgate-{}.toml", uuid::Uuid::new_v4()));
    std::fs::write(&path, format!("{settings}\n{text}")).unwrap();
    let config = ConfigFile::read(&path).unwrap().load(noon()).unwrap();
    std::fs::remove_file(path).unwrap();
    config
}

/// A document that bears on no security, and that no card declares.
pub fn loose() -> ProtocolHash {
    world().protocol_hash("test-loose").unwrap().parse().unwrap()
}

/// A document that bears on security, and that the card declares.
pub fn grant_access() -> ProtocolHash {
    world().protocol_hash("grant-access").unwrap().parse().unwrap()
}

/// A document that nobody here speaks.
pub fn unknown() -> ProtocolHash {
    format!("sha256:{}", "0".repeat(64)).parse().unwrap()
}

pub fn offer_of(hash: &ProtocolHash, required: bool) -> UpgradeOffer {
    UpgradeOffer {
        protocol_hash: hash.clone(),
        protocol_source: "https://pod.example/protocols/p".parse().unwrap(),
        required,
        protocol_name: None,
    }
}

pub fn answer_to(hash: &ProtocolHash, accept: bool) -> UpgradeResponse {
    UpgradeResponse { protocol_hash: hash.clone(), accept, reason: None }
}

pub fn key(role: Role, peer: &str, context: &str) -> ConversationKey {
    ConversationKey { role, peer: peer.into(), context: Some(context.to_owned()) }
}

/// One side: an engine, its clock, and the ledger below it.
pub struct Side {
    pub engine: Engine,
    pub clock: Arc<TestClock>,
}

impl Side {
    pub fn new() -> Self {
        Self::with("")
    }

    pub fn with(settings: &str) -> Self {
        let ledger = SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap();
        Self::on(Arc::new(ledger), settings)
    }

    pub fn on(ledger: Arc<dyn Ledger>, settings: &str) -> Self {
        Self::of(config(settings), ledger)
    }

    pub fn of(config: Config, ledger: Arc<dyn Ledger>) -> Self {
        let clock = TestClock::at(noon());
        Self { engine: Engine::new(config, ledger, clock.clone()).unwrap(), clock }
    }

    pub fn now(&self) -> writgate::Instant {
        use writgate::Clock as _;
        self.clock.now()
    }

    /// Takes in a handshake of `from.peer`, in JSON.
    pub fn receive(&self, from: &ConversationKey, handshake: Handshake) -> Result<Received, Refusal> {
        self.receive_as(from, handshake, HandshakeForm::Json)
    }

    pub fn receive_as(
        &self,
        from: &ConversationKey,
        handshake: Handshake,
        form: HandshakeForm,
    ) -> Result<Received, Refusal> {
        let sender = if from.role == Role::Agent { Role::Client } else { Role::Agent };
        let draft = HandshakeDraft {
            id: uuid::Uuid::new_v4().to_string(),
            context: from.context.clone(),
            task: None,
            role: sender,
            handshake,
            form,
        };
        let message = octets(&compose::handshake(&draft).unwrap());
        self.engine.receive(from.role, message, facts(from))
    }

    pub fn offered(&self, from: &ConversationKey, hash: &ProtocolHash, required: bool) -> (bool, Exchange) {
        match self.receive(from, Handshake::Offer(offer_of(hash, required))).unwrap() {
            Received::Offer { answer, exchange, .. } => (answer.accept, exchange),
            other => panic!("no offer: {other:?}"),
        }
    }

    pub fn answered(&self, from: &ConversationKey, hash: &ProtocolHash, accept: bool) -> Exchange {
        match self.receive(from, Handshake::Response(answer_to(hash, accept))).unwrap() {
            Received::Answer { exchange, .. } => exchange,
            other => panic!("no answer: {other:?}"),
        }
    }

    /// What a message in natural language comes to: `None` is `NotOurs`.
    pub fn prose(&self, from: &ConversationKey) -> Option<Reason> {
        self.prose_of(facts(from), from.context.as_deref(), None)
    }

    /// The same through `decide`, with the message's own ids.
    fn prose_of(&self, facts: CallerFacts, context: Option<&str>, task: Option<&str>) -> Option<Reason> {
        match self.engine.decide(prose(context, task), facts).decision {
            Decision::NotOurs(_) => None,
            Decision::Refuse(refusal) => Some(refusal.reason()),
            Decision::Allow(_) => panic!("prose was allowed"),
        }
    }

    pub fn state(&self, of: &ConversationKey, hash: &ProtocolHash) -> Option<Exchange> {
        let exchanges = self.engine.exchanges(of).unwrap();
        exchanges.into_iter().find(|(found, _)| found == hash).map(|(_, exchange)| exchange)
    }

    /// An intent under the loose protocol, by `from.peer`.
    pub fn intent(&self, from: &ConversationKey) -> Evaluation {
        let mut ask = world().ask(Intent::grant_bob(), noon() - TimeDelta::seconds(1)).unwrap();
        ask.protocol_hash = loose().as_str().to_owned();
        ask.context = from.context.clone();
        let facts = CallerFacts { peer: from.peer.clone(), context: from.context.clone(), ..world().facts() };
        let snapshot = self.engine.snapshot(&facts, noon()).unwrap();
        self.engine.evaluate(&Request { message: octets(&ask.message().unwrap()), facts, snapshot })
    }
}

pub fn facts(from: &ConversationKey) -> CallerFacts {
    static FACTS: LazyLock<CallerFacts> = LazyLock::new(|| world().facts());
    CallerFacts { peer: from.peer.clone(), context: from.context.clone(), ..FACTS.clone() }
}

pub fn prose(context: Option<&str>, task: Option<&str>) -> MessageInput {
    let mut message = serde_json::json!({
        "messageId": uuid::Uuid::new_v4().to_string(), "role": "ROLE_USER",
        "parts": [{ "text": "Please give Bob access to my notes." }],
    });
    for (name, id) in [("contextId", context), ("taskId", task)] {
        if let Some(id) = id {
            message[name] = id.into();
        }
    }
    octets(&message)
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>) -> Reason {
    result.unwrap_err().reason()
}

// --- The offering agent ---------------------------------------------------------------------------------------------

#[test]
fn an_accepted_document_is_known_to_its_conversation_and_to_no_other() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    assert_eq!(reason(side.intent(&home)), Reason::UnknownProtocol);
    let (accepted, exchange) = side.offered(&home, &loose(), false);
    assert!(accepted && exchange.is_active() && !exchange.required());
    crate::support::assert_granted(&side.intent(&home));
    for other in [key(Role::Agent, "p", ELSEWHERE), key(Role::Agent, "q", ELSEWHERE)] {
        assert_eq!(reason(side.intent(&other)), Reason::UnknownProtocol);
    }
    // What was agreed as a client says nothing to the agent.
    let as_client = Side::new();
    as_client.offered(&key(Role::Client, "p", HOME), &loose(), false);
    assert_eq!(reason(as_client.intent(&home)), Reason::UnknownProtocol);
}

#[test]
fn an_offer_of_a_document_that_nobody_here_speaks_is_declined() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    let (accepted, exchange) = side.offered(&home, &unknown(), false);
    assert!(!accepted && matches!(exchange, Exchange::Declined(_)));
    assert_eq!(side.prose(&home), None);
    let (accepted, exchange) = side.offered(&home, &unknown(), true);
    assert!(!accepted && matches!(exchange, Exchange::Aborted(_)));
    assert_eq!(side.prose(&home), Some(Reason::ProtocolRequired));
}

/// "Security-bearing" makes an optional offer required (`message-binding.md` 5).
#[test]
fn a_document_that_bears_on_security_is_required_whatever_the_offer_says() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    let (accepted, exchange) = side.offered(&home, &grant_access(), false);
    assert!(accepted && exchange.required());
    assert_eq!(side.prose(&home), Some(Reason::ProtocolRequired));
    // And in offers of ours.
    let there = key(Role::Client, "q", HOME);
    let Ok(Offer::Send(offered)) = side.engine.offer(&there, offer_of(&grant_access(), false)) else {
        panic!()
    };
    assert!(offered.offer().required);
}

#[test]
fn several_protocols_of_one_context_stand_side_by_side() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    side.offered(&home, &loose(), false);
    side.offered(&home, &unknown(), false);
    assert_eq!(side.prose(&home), None, "one agreed, one declined, none required");
    side.offered(&home, &grant_access(), true);
    let states: Vec<_> = side.engine.exchanges(&home).unwrap();
    assert_eq!(states.len(), 3);
    assert_eq!(side.prose(&home), Some(Reason::ProtocolRequired));
    crate::support::assert_granted(&side.intent(&home));
}

#[test]
fn every_form_of_an_offer_and_answer_is_taken_in() {
    for form in [HandshakeForm::Json, HandshakeForm::Turtle, HandshakeForm::JsonLd] {
        let side = Side::new();
        let home = key(Role::Agent, "p", HOME);
        let received = side.receive_as(&home, Handshake::Offer(offer_of(&loose(), true)), form).unwrap();
        assert!(matches!(received, Received::Offer { answer, .. } if answer.accept));
        let there = key(Role::Client, "p", HOME);
        side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
        let received = side.receive_as(&there, Handshake::Response(answer_to(&loose(), true)), form).unwrap();
        assert!(matches!(received, Received::Answer { exchange, .. } if exchange.is_active()));
    }
}

// --- Threat 3: prose after a required protocol ------------------------------------------------------------------------

#[test]
fn prose_after_a_required_protocol_is_refused_in_its_context_and_its_task() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    side.offered(&home, &grant_access(), true);
    assert_eq!(side.prose(&home), Some(Reason::ProtocolRequired));
    // The server knows the task's context, and the message names the task alone.
    let in_task = side.prose_of(facts(&home), None, Some("t-1"));
    assert_eq!(in_task, Some(Reason::ProtocolRequired));
    // Nobody says whose context the task is in.
    let astray = CallerFacts { context: None, ..facts(&home) };
    assert_eq!(side.prose_of(astray.clone(), None, Some("t-1")), Some(Reason::ProtocolRequired));
    // In other contexts, and in none, prose is not ours, and forbids what bears on security.
    assert_eq!(side.prose(&key(Role::Agent, "p", ELSEWHERE)), None);
    assert_eq!(side.prose_of(astray, None, None), None);
    let Decision::NotOurs(not_ours) =
        side.engine.decide(prose(Some(ELSEWHERE), None), facts(&key(Role::Agent, "p", ELSEWHERE))).decision
    else {
        panic!()
    };
    assert_eq!(not_ours.security_bearing_effects(), writgate::SecurityBearingEffects::Forbidden);
}

#[test]
fn a_message_that_lies_about_its_context_is_in_none() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    side.offered(&home, &grant_access(), true);
    let lie = side.prose_of(facts(&home), Some(ELSEWHERE), None);
    assert_eq!(lie, Some(Reason::MessageMalformed));
}

#[test]
fn a_sticky_requirement_refuses_prose_of_the_peer_everywhere() {
    let side = Side::with("sticky_required = \"peer\"");
    let home = key(Role::Agent, "p", HOME);
    assert_eq!(side.prose(&key(Role::Agent, "p", ELSEWHERE)), None);
    side.offered(&home, &grant_access(), true);
    assert_eq!(side.prose(&key(Role::Agent, "p", ELSEWHERE)), Some(Reason::ProtocolRequired));
    assert_eq!(side.prose(&key(Role::Agent, "q", ELSEWHERE)), None);
    let elsewhere = key(Role::Agent, "p", ELSEWHERE);
    assert_eq!(refused(side.engine.natural_language(&elsewhere)), Reason::ProtocolRequired);
}

#[test]
fn a_caller_may_forbid_prose_and_never_allow_it() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    let forbids = CallerFacts { prose_forbidden: true, ..facts(&home) };
    assert_eq!(side.prose_of(forbids, Some(HOME), None), Some(Reason::ProtocolRequired));
    side.offered(&home, &grant_access(), true);
    let allows = CallerFacts { prose_forbidden: false, ..facts(&home) };
    assert_eq!(side.prose_of(allows, Some(HOME), None), Some(Reason::ProtocolRequired));
}

// --- Threat 4: another peer ---------------------------------------------------------------------------------------------

#[test]
fn another_peer_changes_nothing_in_a_context_that_it_did_not_begin() {
    let side = Side::new();
    let (home, thief) = (key(Role::Client, "p", HOME), key(Role::Client, "thief", HOME));
    let Ok(Offer::Send(_)) = side.engine.offer(&home, offer_of(&loose(), false)) else { panic!() };
    let before = side.engine.exchanges(&home).unwrap();
    for accept in [true, false] {
        let answer = side.receive(&thief, Handshake::Response(answer_to(&loose(), accept)));
        assert_eq!(refused(answer), Reason::UnknownProtocol);
    }
    for required in [true, false] {
        let offer = side.receive(&thief, Handshake::Offer(offer_of(&loose(), required)));
        assert_eq!(refused(offer), Reason::UnknownProtocol);
    }
    assert_eq!(refused(side.engine.offer(&thief, offer_of(&loose(), true))), Reason::UnknownProtocol);
    assert!(side.engine.give_up(&thief).is_ok());
    let said = side.engine.receive(Role::Client, prose(Some(HOME), None), facts(&thief));
    assert_eq!(refused(said), Reason::ProtocolRequired);
    assert_eq!(refused(side.engine.natural_language(&thief)), Reason::ProtocolRequired);
    assert_eq!(side.engine.exchanges(&home).unwrap(), before);
    assert!(side.answered(&home, &loose(), true).is_active());
}

#[test]
fn another_peer_speaks_no_protocol_in_a_context_that_it_did_not_begin() {
    let side = Side::new();
    let (home, thief) = (key(Role::Agent, "p", HOME), key(Role::Agent, "thief", HOME));
    side.offered(&home, &loose(), false);
    assert_eq!(reason(side.intent(&thief)), Reason::UnknownProtocol);
    assert_eq!(side.prose(&thief), Some(Reason::ProtocolRequired));
    // Not even one that the card declares: the message is in somebody else's conversation.
    let mut ask = world().ask(Intent::grant_bob(), noon() - TimeDelta::seconds(1)).unwrap();
    ask.context = thief.context.clone();
    let decided = side.engine.decide(octets(&ask.message().unwrap()), facts(&thief));
    let Decision::Refuse(refusal) = decided.decision else { panic!("allowed") };
    assert_eq!(refusal.reason(), Reason::UnknownProtocol);
    crate::support::assert_granted(&side.intent(&home));
}

#[test]
fn an_unauthenticated_message_tightens_and_never_relaxes() {
    let side = Side::new();
    let nobody = ConversationKey { peer: Peer::Unauthenticated, ..key(Role::Client, "", HOME) };
    let home = key(Role::Client, "p", HOME);
    assert_eq!(refused(side.engine.offer(&nobody, offer_of(&loose(), false))), Reason::MessageMalformed);
    side.engine.offer(&home, offer_of(&loose(), false)).unwrap();
    for accept in [true, false] {
        let answer = side.receive(&nobody, Handshake::Response(answer_to(&loose(), accept)));
        assert_eq!(refused(answer), Reason::UnknownProtocol);
    }
    assert!(matches!(side.state(&home, &loose()), Some(Exchange::Offered(_))));
    // Where nobody else speaks, an offer of nobody's is declined, and may keep prose out; it takes the context from nobody.
    let nobody = ConversationKey { peer: Peer::Unauthenticated, ..key(Role::Agent, "", ELSEWHERE) };
    let (accepted, exchange) = side.offered(&nobody, &loose(), true);
    assert!(!accepted && matches!(exchange, Exchange::Aborted(_)));
    assert_eq!(side.prose(&nobody), Some(Reason::ProtocolRequired));
    let (accepted, _) = side.offered(&key(Role::Agent, "p", ELSEWHERE), &loose(), false);
    assert!(accepted);
}

// --- Threat 33: the ways round ------------------------------------------------------------------------------------------

#[test]
fn a_re_offer_that_is_not_required_stays_required() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    side.offered(&home, &loose(), true);
    let (_, exchange) = side.offered(&home, &loose(), false);
    assert!(exchange.required());
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), true)).unwrap();
    let Ok(Offer::Send(again)) = side.engine.offer(&there, offer_of(&loose(), false)) else { panic!() };
    assert!(again.offer().required, "the offer that is sent says what holds");
    assert!(matches!(side.answered(&there, &loose(), false), Exchange::Aborted(_)));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
}

#[test]
fn an_accepted_offer_that_is_declined_afterwards_ends_the_exchange() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    assert!(side.answered(&there, &loose(), true).is_active());
    assert!(side.answered(&there, &loose(), true).is_active(), "the same answer once more");
    assert!(matches!(side.answered(&there, &loose(), false), Exchange::Aborted(_)));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
}

#[test]
fn a_declined_offer_that_is_accepted_afterwards_ends_the_exchange() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    assert!(matches!(side.answered(&there, &loose(), false), Exchange::Declined(_)));
    let leave = side.engine.natural_language(&there).unwrap();
    assert_eq!(leave.conversation(), &there);
    let message = compose::prose("m-1", "Then in words.", leave);
    assert_eq!(message["parts"][0]["text"], "Then in words.");
    assert_eq!((&message["contextId"], &message["role"]), (&HOME.into(), &"ROLE_USER".into()));
    assert!(matches!(side.answered(&there, &loose(), true), Exchange::Aborted(_)));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
}

#[test]
fn offers_that_cross_keep_prose_out() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    let (accepted, exchange) = side.offered(&there, &loose(), false);
    assert!(accepted && exchange.required());
    assert!(matches!(side.answered(&there, &loose(), false), Exchange::Aborted(_)));
}

#[test]
fn an_answer_after_the_end_of_an_offer_is_late() {
    for accept in [true, false] {
        let side = Side::with("offer_life_minutes = 1");
        let there = key(Role::Client, "p", HOME);
        side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
        side.clock.set(noon() + TimeDelta::seconds(60));
        assert!(matches!(side.state(&there, &loose()), Some(Exchange::Aborted(_))));
        assert!(matches!(side.answered(&there, &loose(), accept), Exchange::Aborted(_)));
        let said = side.engine.receive(Role::Client, prose(Some(HOME), None), facts(&there));
        assert_eq!(refused(said), Reason::ProtocolRequired);
    }
}

#[test]
fn an_agreement_that_has_run_out_is_agreed_anew_or_not_at_all() {
    let side = Side::with("agreement_life_days = 1");
    let home = key(Role::Agent, "p", HOME);
    side.offered(&home, &loose(), false);
    assert_eq!(side.prose(&home), None);
    side.clock.set(noon() + TimeDelta::days(1));
    assert_eq!(side.prose(&home), Some(Reason::ProtocolRequired));
    // By a clock that was set back, it does not come back to life.
    side.clock.set(noon());
    assert!(matches!(side.state(&home, &loose()), Some(Exchange::Aborted(_))));
    let (accepted, exchange) = side.offered(&home, &loose(), false);
    assert!(accepted && exchange.required());
}

#[test]
fn no_answer_gives_leave_for_prose() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    assert!(side.engine.natural_language(&there).is_ok(), "two agents meet in natural language");
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
    // One that cannot be read, one about another document, and one to no offer at all.
    let mut unreadable = answer_to(&loose(), false);
    unreadable.reason = Some("x".repeat(100_000));
    assert_eq!(refused(side.receive(&there, Handshake::Response(unreadable))), Reason::HandshakeMalformed);
    let unrelated = side.receive(&there, Handshake::Response(answer_to(&grant_access(), false)));
    assert_eq!(refused(unrelated), Reason::UnknownProtocol);
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
    side.engine.give_up(&there).unwrap();
    assert!(matches!(side.state(&there, &loose()), Some(Exchange::Aborted(_))));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
}

/// ACT-4: a peer that did not echo the activation is one without the extension, whatever its message says.
#[test]
fn an_activation_that_is_not_echoed_ends_every_open_offer() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    let draft = HandshakeDraft {
        id: "m".into(),
        context: there.context.clone(),
        task: None,
        role: Role::Agent,
        handshake: Handshake::Response(answer_to(&loose(), false)),
        form: HandshakeForm::Json,
    };
    let deaf = CallerFacts { activated: Default::default(), ..facts(&there) };
    let answer = octets(&compose::handshake(&draft).unwrap());
    assert_eq!(refused(side.engine.receive(Role::Client, answer, deaf)), Reason::ExtensionNotActive);
    assert!(matches!(side.state(&there, &loose()), Some(Exchange::Aborted(_))));
    assert_eq!(refused(side.engine.natural_language(&there)), Reason::ProtocolRequired);
    // Nor is an answer in prose one, or one that cannot be read.
    for message in [prose(Some(HOME), None), MessageInput::Bytes(b"{".to_vec())] {
        let side = Side::new();
        side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
        let deaf = CallerFacts { activated: Default::default(), ..facts(&there) };
        assert!(side.engine.receive(Role::Client, message, deaf).is_err());
        assert!(matches!(side.state(&there, &loose()), Some(Exchange::Aborted(_))));
    }
}

// --- Bounds and edges -----------------------------------------------------------------------------------------------------

#[test]
fn a_negotiation_needs_a_context_and_a_peer_of_bounded_length() {
    let side = Side::new();
    let nowhere = ConversationKey { context: None, ..key(Role::Agent, "p", "") };
    let offer = || Handshake::Offer(offer_of(&loose(), true));
    assert_eq!(refused(side.receive(&nowhere, offer())), Reason::MessageMalformed);
    assert_eq!(refused(side.engine.offer(&nowhere, offer_of(&loose(), true))), Reason::MessageMalformed);
    let long = key(Role::Agent, &"p".repeat(Peer::MAX_BYTES + 1), HOME);
    assert_eq!(refused(side.receive(&long, offer())), Reason::MessageMalformed);
    let longest = key(Role::Agent, &"p".repeat(Peer::MAX_BYTES), HOME);
    assert!(side.receive(&longest, offer()).is_ok());
    let far = key(Role::Client, "p", &"c".repeat(257));
    assert_eq!(refused(side.engine.offer(&far, offer_of(&loose(), true))), Reason::MessageMalformed);
}

/// Our own offer, sent back to us, is no offer of the peer's.
#[test]
fn a_message_by_our_own_side_is_none_of_the_peers() {
    let side = Side::new();
    for role in [Role::Agent, Role::Client] {
        let home = key(role, "p", HOME);
        for handshake in
            [Handshake::Offer(offer_of(&loose(), true)), Handshake::Response(answer_to(&loose(), true))]
        {
            let draft = HandshakeDraft {
                id: "m".into(),
                context: home.context.clone(),
                task: None,
                role,
                handshake,
                form: HandshakeForm::Json,
            };
            let reflected = octets(&compose::handshake(&draft).unwrap());
            assert_eq!(refused(side.engine.receive(role, reflected, facts(&home))), Reason::MessageMalformed);
        }
        assert!(side.engine.exchanges(&home).unwrap().is_empty());
    }
}

#[test]
fn we_offer_only_what_we_speak() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    assert_eq!(refused(side.engine.offer(&there, offer_of(&unknown(), true))), Reason::UnknownProtocol);
    assert!(side.engine.exchanges(&there).unwrap().is_empty());
}

#[test]
fn what_is_agreed_is_not_offered_again() {
    let side = Side::new();
    let there = key(Role::Client, "p", HOME);
    side.engine.offer(&there, offer_of(&loose(), false)).unwrap();
    side.answered(&there, &loose(), true);
    assert_eq!(side.engine.offer(&there, offer_of(&loose(), false)).unwrap(), Offer::Agreed);
}

#[test]
fn a_protocol_beyond_those_of_one_conversation_binds_the_peer() {
    let side = Side::new();
    let home = key(Role::Agent, "p", HOME);
    let hash = |number: usize| format!("sha256:{number:064x}").parse::<ProtocolHash>().unwrap();
    for number in 0..16 {
        side.offered(&home, &hash(number), false);
    }
    assert_eq!(side.prose(&home), None);
    let more = side.receive(&home, Handshake::Offer(offer_of(&hash(16), true)));
    assert_eq!(refused(more), Reason::LimitExceeded);
    // What could not be kept may have been required.
    assert_eq!(side.prose(&home), Some(Reason::ProtocolRequired));
    assert_eq!(side.prose(&key(Role::Agent, "p", ELSEWHERE)), Some(Reason::ProtocolRequired));
    assert_eq!(side.prose(&key(Role::Agent, "q", ELSEWHERE)), None);
    let (_, exchange) = side.offered(&home, &hash(3), false);
    assert!(matches!(exchange, Exchange::Declined(_)), "what is kept goes on");
}

// --- What peers offer -----------------------------------------------------------------------------------------------------

#[derive(Debug, Default)]
struct Recording(std::sync::Mutex<Vec<String>>);

impl writgate::source::DocumentQueue for Recording {
    fn want(&self, source: &writgate::protocol::handshake::ProtocolSource, hash: &ProtocolHash) {
        self.0.lock().unwrap().push(format!("{source} {hash}"));
    }
}

/// The offer is declined all the same, and the answer is the same octet for octet.
#[test]
fn a_document_that_is_not_spoken_here_is_left_to_be_fetched_and_nothing_else_is() {
    let queue = Arc::new(Recording::default());
    let without = Side::new();
    let with =
        Side { engine: Side::new().engine.with_document_queue(queue.clone()), clock: without.clock.clone() };
    let home = key(Role::Agent, "p", HOME);
    let nobody = ConversationKey { peer: Peer::Unauthenticated, ..key(Role::Agent, "", ELSEWHERE) };
    for (from, hash) in [(&home, unknown()), (&home, loose()), (&home, grant_access()), (&nobody, unknown())]
    {
        let answers = [&with, &without].map(|side| side.offered(from, &hash, false));
        assert_eq!(answers[0].0, answers[1].0);
    }
    let wanted = format!("https://pod.example/protocols/p {}", unknown());
    assert_eq!(*queue.0.lock().unwrap(), [wanted]);
}

#[test]
fn a_server_asks_of_every_message_which_call_it_is_for() {
    use writgate::message::MessageKind;
    let engine = Side::new().engine;
    let handshake = HandshakeDraft {
        id: "m".into(),
        context: None,
        task: None,
        role: Role::Client,
        handshake: Handshake::Offer(offer_of(&loose(), true)),
        form: HandshakeForm::Turtle,
    };
    let response = serde_json::json!({
        "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": "", "mediaType": "text/turtle", "metadata":
            { "https://w3id.org/jeswr/a2a-rdf/v1/kind": "intent-response" } }],
    });
    let intent = crate::support::grant().message().unwrap();
    let mut both = intent.clone();
    both["parts"].as_array_mut().unwrap().extend(response["parts"].as_array().unwrap().clone());
    for (message, kind) in [
        (octets(&intent), Some(MessageKind::Intent)),
        (octets(&compose::handshake(&handshake).unwrap()), Some(MessageKind::Handshake)),
        (octets(&response), Some(MessageKind::Response)),
        (prose(None, None), Some(MessageKind::Prose)),
        (octets(&both), None),
        (MessageInput::Bytes(b"{".to_vec()), None),
    ] {
        let found = engine.kind_of(&message);
        assert_eq!(found.as_ref().ok(), kind.as_ref());
        assert!(found.err().is_none_or(|refusal| refusal.reason() == Reason::MessageMalformed));
    }
}
