//! The presentation of a message: what the envelope, the caller's facts and the configuration make of it (threat 1).

use super::*;
use crate::credential::issue::{Presenting, present};
use crate::credential::presentation::{Bounds, VerifiedPresentation};
use crate::credential::{ChallengeBinding, bound_challenge};
use crate::message::{Digest, Envelope, MessageFacts, PresentationPart, RdfPart, Rest};
use crate::protocol::{Binding, ProtocolSettings};
use crate::rdf::RdfMediaType;
use crate::request::{Actor, CallerFacts, MessageInput, Request};
use chrono::TimeDelta;

const NONCE: &str = "nonce-of-16-octets";
const DOMAIN: &str = "https://server.example";
const PROTOCOL: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const OTHER_PROTOCOL: &str = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const INTENT: &str = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

/// A message and everything that its presentation is judged by.
struct Case {
    envelope: Envelope,
    intent_hash: &'static str,
    protocol: ProtocolSettings,
    request: Request,
    domains: Vec<String>,
}

impl Case {
    /// A message that carries a presentation with this challenge and domain.
    fn new(challenge: &str, domain: &str) -> Self {
        let mandate = issue_mandate(&issuer(), &terms(&holder().did_key()), now()).unwrap();
        let presenting = Presenting { challenge, domain, created: now(), expires: None };
        let document = present(&holder(), &[mandate], &presenting).unwrap();
        let actor = Actor::Authenticated(holder().did_key());
        Self {
            envelope: envelope(Some(PresentationPart::DataIntegrity { document })),
            intent_hash: INTENT,
            protocol: settings(PROTOCOL, Binding::Accepted),
            request: Request {
                message: MessageInput::Bytes(Vec::new()),
                facts: CallerFacts::new("peer", actor, NONCE),
                snapshot: snapshot(),
            },
            domains: vec![DOMAIN.to_owned(), "https://second.example".to_owned()],
        }
    }

    fn bound() -> Self {
        let challenge = bound_challenge(&ChallengeBinding {
            nonce: NONCE,
            domain: DOMAIN,
            message_id: "m1",
            context_id: Some("c1"),
            task_id: None,
            protocol_hash: PROTOCOL,
            intent_hash: INTENT,
            rest_digest: rest("the rest").digest().unwrap(),
        });
        Self::new(&challenge.unwrap(), DOMAIN)
    }

    fn verify(&self) -> Result<VerifiedPresentation, Reason> {
        let limits = Limits::default();
        let bounds = Bounds {
            domains: &self.domains,
            limits: &limits,
            max_age: TimeDelta::minutes(5),
            skew: TimeDelta::seconds(30),
            max_controller_age: TimeDelta::days(1),
            context_free: false,
        };
        VerifiedPresentation::verify_within(
            &self.envelope,
            self.intent_hash,
            &self.protocol,
            &self.request,
            &bounds,
            &mut budget(),
            &Known::nothing(),
            &mut crate::audit::Consulted::default(),
        )
        .map_err(|error| error.reason)
    }
}

fn settings(hash: &str, binding: Binding) -> ProtocolSettings {
    ProtocolSettings {
        hash: hash.parse().unwrap(),
        actions: BTreeMap::new(),
        parameters: BTreeMap::new(),
        security_bearing: true,
        binding,
        declared: true,
        name: None,
        source: None,
    }
}

fn rest(text: &str) -> Rest {
    Rest { message: json!({"parts": [{"text": text}]}), without: Vec::new() }
}

fn envelope(presentation: Option<PresentationPart>) -> Envelope {
    let digest = Digest::of("message");
    Envelope {
        facts: MessageFacts {
            message_id: "m1".to_owned(),
            digest,
            context_id: Some("c1".to_owned()),
            context: Some("c1".to_owned()),
            task_id: None,
            parsed_by_caller: false,
        },
        digest,
        rest: rest("the rest"),
        protocol_hash_claim: Some(PROTOCOL.to_owned()),
        intent: RdfPart { index: 0, media_type: RdfMediaType::Turtle, text: String::new() },
        presentation,
        policy_parts: Vec::new(),
        unjudged: Vec::new(),
    }
}

#[test]
fn a_plain_challenge_is_accepted_and_marked() {
    let verified = Case::new(NONCE, DOMAIN).verify().unwrap();
    assert_eq!((verified.is_bound(), verified.nonce(), verified.domain()), (false, NONCE, DOMAIN));
}

#[test]
fn no_authorization_part_is_missing() {
    let mut case = Case::new(NONCE, DOMAIN);
    case.envelope.presentation = None;
    assert_eq!(case.verify().err(), Some(Reason::AuthorizationMissing));
}

#[test]
fn what_is_no_jws_is_malformed() {
    let mut case = Case::new(NONCE, DOMAIN);
    case.envelope.presentation = Some(PresentationPart::Jose { jws: "a.b.c".to_owned() });
    assert_eq!(case.verify().err(), Some(Reason::Malformed));
}

#[test]
fn a_bound_presentation_authorizes_its_message_alone() {
    assert!(Case::bound().verify().unwrap().is_bound());
    let changes: [(&str, fn(&mut Case)); 7] = [
        ("message id", |case| case.envelope.facts.message_id = "m2".to_owned()),
        ("context id", |case| case.envelope.facts.context_id = Some("c2".to_owned())),
        ("no context id", |case| case.envelope.facts.context_id = None),
        ("task id", |case| case.envelope.facts.task_id = Some("t1".to_owned())),
        ("the rest of the message", |case| case.envelope.rest = rest("another")),
        ("intent", |case| case.intent_hash = "sha256:dd"),
        ("protocol", |case| case.protocol = settings(OTHER_PROTOCOL, Binding::Accepted)),
    ];
    for (name, change) in changes {
        let mut case = Case::bound();
        change(&mut case);
        assert_eq!(case.verify().err(), Some(Reason::ChallengeMismatch), "{name}");
    }
    let mut case = Case::bound();
    case.request.facts.challenge = Some("another-nonce-of-16".to_owned());
    assert_eq!(case.verify().err(), Some(Reason::ChallengeMismatch));
}

#[test]
fn the_effective_context_is_not_what_a_challenge_is_bound_to() {
    let mut case = Case::bound();
    case.envelope.facts.context = Some("inferred".to_owned());
    assert!(case.verify().is_ok());
}

#[test]
fn the_protocol_may_require_a_bound_challenge() {
    let mut case = Case::new(NONCE, DOMAIN);
    case.protocol = settings(PROTOCOL, Binding::Required);
    assert_eq!(case.verify().err(), Some(Reason::ChallengeMismatch));
    let mut case = Case::bound();
    case.protocol = settings(PROTOCOL, Binding::Required);
    assert!(case.verify().is_ok());
}

#[test]
fn without_an_expected_challenge_nothing_is_answered() {
    let mut case = Case::new(NONCE, DOMAIN);
    case.request.facts.challenge = None;
    assert_eq!(case.verify().err(), Some(Reason::ChallengeUnknown));
    let mut case = Case::bound();
    case.request.facts.challenge = None;
    assert_eq!(case.verify().err(), Some(Reason::ChallengeUnknown));
}

#[test]
fn the_callers_domain_must_be_configured() {
    let second = "https://second.example";
    assert_eq!(Case::new(NONCE, second).verify().err(), Some(Reason::DomainMismatch));
    let mut case = Case::new(NONCE, second);
    case.request.facts.domain = Some(second.to_owned());
    assert_eq!(case.verify().unwrap().domain(), second);
    let elsewhere = "https://elsewhere.example";
    let mut case = Case::new(NONCE, elsewhere);
    case.request.facts.domain = Some(elsewhere.to_owned());
    assert_eq!(case.verify().err(), Some(Reason::DomainMismatch));
    let mut case = Case::new(NONCE, DOMAIN);
    case.domains.clear();
    assert_eq!(case.verify().err(), Some(Reason::DomainMismatch));
}

#[test]
fn a_paper_error_becomes_a_refusal_of_its_stage() {
    let refusal = PaperError::new(Reason::NoProof, "why").at(crate::refusal::Stage::Presentation);
    assert_eq!((refusal.reason(), refusal.stage()), (Reason::NoProof, crate::refusal::Stage::Presentation));
    assert_eq!(refusal.evidence().detail.as_deref(), Some("why"));
}
