//! Why a refusal, for the server's own people: what is not as it must be, and the smallest change that would permit it.
//! Nothing of this leaves for the peer: [`Refusal::public`] does not know of it.
//!
//! This file tells what a refusal's own evidence tells. What the policies deny is tried anew, with changes, in
//! `mandate::odrl::explain`.

use crate::refusal::{Evidence, Reason, Refusal, Retry, Stage};
use serde::Serialize;

const NEW_CHALLENGE: &str = "a new challenge of the server's, and a presentation that answers it";

/// One thing that must hold and does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Unmet {
    /// What is asked for, in words.
    pub asked: String,
    /// What was seen in its place, in words.
    pub seen: String,
}

/// Why a request is refused. Its texts quote papers and messages: whoever shows them must escape them, and must not
/// show them to the peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Explanation {
    /// One plain sentence.
    pub sentence: String,
    /// What the nearest rule asks for and does not find, or what a prohibition found.
    pub unmet: Vec<Unmet>,
    /// The smallest change that would permit it, or that there is none.
    pub change: String,
}

impl Explanation {
    pub(crate) fn new(sentence: impl Into<String>, change: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), unmet: Vec::new(), change: change.into() }
    }

    /// What the refusal's own evidence tells.
    pub(crate) fn of_refusal(refusal: &Refusal) -> Self {
        let evidence = refusal.evidence();
        let (mut sentence, change) = of_evidence(refusal.reason(), evidence);
        // What a presentation signs for is everything in it, and it is looked at before its papers.
        if refusal.reason() == Reason::InvalidSignature && refusal.stage() == Stage::Presentation {
            sentence = format!(
                "the presentation's own proof: {sentence}; it or a paper in it is not what the holder signed"
            );
        }
        Self::new(format!("{}{}", place(evidence), lower_first(&sentence)), change)
    }
}

/// Where it is, where that is known.
fn place(evidence: &Evidence) -> String {
    let mut words = String::new();
    if let Some(hop) = evidence.hop {
        words.push_str(&format!("hop {hop}"));
    }
    for (name, value) in [("policy", &evidence.policy), ("credential", &evidence.credential)] {
        if let Some(value) = value {
            let comma = if words.is_empty() { "" } else { ", " };
            words.push_str(&format!("{comma}{name} {value}"));
        }
    }
    if words.is_empty() { words } else { format!("{words}: ") }
}

fn of_evidence(reason: Reason, evidence: &Evidence) -> (String, String) {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let (seen, expected) = (text(&evidence.seen), text(&evidence.expected));
    let compared = evidence.seen.is_some() || evidence.expected.is_some();
    let detail = evidence.detail.clone();
    // More may follow, so without the full stop.
    let plain = || detail.clone().unwrap_or_else(|| reason.sentence().trim_end_matches('.').to_owned());
    let told = || match (compared, &evidence.expected) {
        (true, Some(_)) => format!("{}: seen {seen}, expected {expected}", plain()),
        (true, None) => format!("{}: {seen}", plain()),
        _ => plain(),
    };
    match reason {
        Reason::Expired if compared => (
            format!("it ended: it is good {expected}, and it is judged at {seen}"),
            "the same paper with a later end, signed anew".to_owned(),
        ),
        Reason::NotYetValid if compared => (
            format!("it has not begun: it is good {expected}, and it is judged at {seen}"),
            format!("wait: the same message passes this check {expected}"),
        ),
        Reason::PresentationTooOld if compared => (
            format!("the presentation was made at {seen}, and must be made {expected}"),
            "a new presentation, made just before the message is sent".to_owned(),
        ),
        Reason::PresentationNotYetValid if compared => (
            format!("the presentation is dated {seen}, and must be dated {expected}"),
            "a presentation dated by a clock that is right".to_owned(),
        ),
        Reason::ChallengeMismatch => (
            match compared {
                true => format!("{}: it answers {seen}", plain()),
                false => plain(),
            },
            "a presentation that answers the challenge which this server gave out for this message".to_owned(),
        ),
        Reason::ChallengeUnknown => {
            (plain(), "ask with the challenge that the server gave out, of 16 octets or more".to_owned())
        }
        Reason::ChallengeExpired if compared => (
            format!("the challenge was good {expected}, and it is judged at {seen}"),
            NEW_CHALLENGE.to_owned(),
        ),
        Reason::DomainMismatch if compared => (
            format!("the presentation is for the domain {seen}, and this is {expected}"),
            format!("a presentation whose domain is {expected}"),
        ),
        Reason::HolderUnverified if compared => (
            format!("{}: the holder is {seen}, and the acting agent {expected}", plain()),
            format!("a presentation that {expected} made"),
        ),
        // The rule of a chain's papers: each one's delegate is the holder, or issued the next.
        Reason::HolderUnverified if evidence.credential.is_some() => (
            format!(
                "{}, and no other one leads from it to the holder: a hop is missing, or it is presented by somebody \
                 for whom it is not",
                plain()
            ),
            "every hop from the owner down to the holder, presented by the delegate of the last one".to_owned(),
        ),
        Reason::HolderUnverified => (
            plain(),
            "a presentation by its holder, with a key that this server can find: a did:key's, or that of a controller document \
             in the cache (`writgate source add`) or in the folder `controllers`"
                .to_owned(),
        ),
        Reason::InvalidSignature => (
            plain(),
            "the paper as it was signed, to the octet, or the paper signed anew by the key that it names".to_owned(),
        ),
        Reason::Malformed => (
            told(),
            "papers of the one form that is read here, and all of one kind (JSON with a proof, or JWS)".to_owned(),
        ),
        Reason::BindingMismatch | Reason::SubjectIssuerMismatch if !compared => (
            plain(),
            "one credential for each hop and its policy, which both name the same parties".to_owned(),
        ),
        Reason::BindingMismatch | Reason::SubjectIssuerMismatch if compared => (
            format!("{}: {seen} is not {expected}", plain()),
            format!("papers in which {expected} stands where {seen} does, signed anew"),
        ),
        Reason::Revoked => (
            format!("{}: {seen}", plain()),
            "none for this paper: a revocation is never taken back, so a new mandate is needed".to_owned(),
        ),
        Reason::Suspended => (plain(), "wait until its issuer lifts the suspension".to_owned()),
        Reason::StatusRetrievalError => (
            told(),
            "the status list of that URL, readable, signed anew of late and in the cache, or a mandate that ends soon \
             and needs none"
                .to_owned(),
        ),
        Reason::PolicyIntegrity => {
            (plain(), "the very document that the issuer signed for, beside the presentation".to_owned())
        }
        Reason::ChainMalformed => {
            (
                told(),
                "all papers of one chain: one root, each parent, and no second child; `writgate mandate inspect` draws \
                 what is there"
                    .to_owned(),
            )
        }
        Reason::PolicyReferenceMismatch => {
            (plain(), "an intent that names a policy of the presented chain, or none".to_owned())
        }
        Reason::ShapeViolation => {
            let shape = evidence.shape.as_deref().map(|shape| format!(" {shape}")).unwrap_or_default();
            let path = evidence.path.as_deref().map(|path| format!(" at {path}")).unwrap_or_default();
            (
                format!("the intent does not have the form that its protocol asks for: the shape{shape}{path}"),
                "an intent for which the protocol's shapes hold; the W3C report names each result".to_owned(),
            )
        }
        Reason::IdentityCompositionFailed if compared => (
            format!("{}: {seen} is not {expected}", plain()),
            "a chain that leads from the mandate's delegate to the acting agent, or the delegate itself acting"
                .to_owned(),
        ),
        Reason::PolicyDenied => (
            match compared {
                true => format!("{}: seen {seen}, expected {expected}", plain()),
                false => plain(),
            },
            "another mandate: no change of what is asked is known to help".to_owned(),
        ),
        reason => (told(), remedy(reason).to_owned()),
    }
}

/// What helps against a reason, whatever its evidence is.
fn remedy(reason: Reason) -> &'static str {
    match reason {
        Reason::ExtensionNotTagged => "the same message with the extension's URI in its `extensions`",
        Reason::ExtensionNotActive => "a request that activates the extension",
        Reason::MissingProtocolHash | Reason::HashPrefixUnknown | Reason::UnknownProtocol => {
            "an intent under the hash of a Protocol Document that this server speaks (`[[protocols]]`)"
        }
        Reason::ActionUnknown | Reason::IntentUnmapped => {
            "an intent that says only what its Protocol Document and this server's `actions` know"
        }
        Reason::TargetNotNormal => "the same target in its normal form",
        Reason::NoRootForTarget => {
            "none by the sender: this server's `[[roots]]` names no owner of that target"
        }
        Reason::MixedRoots => "one message for each owner",
        Reason::AuthorizationMissing => "the same message with a presentation of its sender's mandate",
        Reason::ProofPurposeMismatch => {
            "a presentation signed for authentication, and credentials signed for assertion"
        }
        Reason::IssuerMismatch => "a credential signed with a key of its issuer's",
        Reason::ObligationUnsupported => {
            "none by the sender: this server's `obligations` does not list that duty"
        }
        Reason::ChallengeUsed | Reason::ChallengeExpired | Reason::ChallengeContextMismatch => NEW_CHALLENGE,
        Reason::MessageIdReused => "the same message with an id of its own",
        reason => match reason.retry() {
            Retry::Never => "none: sending this message again can never help",
            Retry::AfterChange => "another message, paper or agreement in which this is right",
            Retry::Later => "wait: the same message may pass later",
        },
    }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first)
            if !text.starts_with(|c: char| {
                c.is_uppercase() && text.chars().nth(1).is_some_and(char::is_uppercase)
            }) =>
        {
            first.to_lowercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::Outcome;
    use crate::engine::{Engine, SystemClock};
    use crate::ledger::SqliteLedger;
    use crate::request::{Actor, CallerFacts, Instant, MessageInput, Request, Snapshot};
    use crate::worked_example::{Ask, Intent, World};
    use chrono::TimeDelta;
    use std::path::Path;
    use std::sync::Arc;

    /// One request of the worked example, changed before it is asked.
    struct Scene {
        world: World,
        engine: Engine,
        now: Instant,
    }

    impl Scene {
        fn new() -> Self {
            let world = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
            let now: Instant = "2026-12-01T12:00:00Z".parse().unwrap();
            let config = world.config(now).unwrap();
            let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew()).unwrap();
            let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock)).unwrap();
            Self { world, engine, now }
        }

        /// The refusal and its explanation.
        fn refused(
            &self,
            ask: impl FnOnce(&mut Ask),
            facts: impl FnOnce(&mut CallerFacts),
            snapshot: impl FnOnce(&mut Snapshot),
        ) -> (Refusal, Explanation) {
            let mut asked = self.world.ask(Intent::grant_bob(), self.now - TimeDelta::seconds(1)).unwrap();
            ask(&mut asked);
            let mut told = self.world.facts();
            facts(&mut told);
            let mut known = self.engine.snapshot(&told, self.now).unwrap();
            snapshot(&mut known);
            let message = MessageInput::Bytes(serde_json::to_vec(&asked.message().unwrap()).unwrap());
            let request = Request { message, facts: told, snapshot: known };
            let Outcome::Refused(refusal) = self.engine.evaluate(&request).outcome else {
                panic!("not refused")
            };
            let explanation = self.engine.explain(&request).unwrap();
            (refusal, explanation)
        }
    }

    /// Each row: what is wrong, the reason, what its sentence says, and the smallest change. What may leave for the peer
    /// says nothing of them (threat 45).
    #[test]
    fn each_family_of_refusals_is_explained_and_the_peer_learns_nothing_of_it() {
        let scene = Scene::new();
        let issue = |change: &dyn Fn(&mut crate::worked_example::MandateDraft)| {
            let mut draft = scene.world.mandate_draft().unwrap();
            change(&mut draft);
            vec![draft.issue().unwrap()]
        };
        let day = TimeDelta::days(1);
        let nothing = |_: &mut CallerFacts| {};
        let rows = [
            (
                scene.refused(
                    |ask| {
                        ask.credentials = issue(&|draft| {
                            draft.valid_from = Some(scene.now - day - day);
                            draft.valid_until = Some(scene.now - day);
                        })
                    },
                    nothing,
                    |_| {},
                ),
                Reason::Expired,
                "it ended: it is good until 2026-11-30T12:00:00.000Z, and it is judged at 2026-12-01T12:00:00.000Z",
                "a later end",
            ),
            (
                scene.refused(
                    |ask| ask.credentials = issue(&|draft| draft.valid_from = Some(scene.now + day)),
                    nothing,
                    |_| {},
                ),
                Reason::NotYetValid,
                "it has not begun: it is good from 2026-12-02T12:00:00.000Z",
                "wait: the same message passes this check from 2026-12-02T12:00:00.000Z",
            ),
            (
                scene.refused(|ask| ask.created = scene.now - day, nothing, |_| {}),
                Reason::PresentationTooOld,
                "made at 2026-11-30T12:00:00.000Z, and must be made at or after 2026-12-01T11:",
                "a new presentation",
            ),
            (
                scene.refused(|ask| ask.created = scene.now + day, nothing, |_| {}),
                Reason::PresentationNotYetValid,
                "dated 2026-12-02T12:00:00.000Z, and must be dated at or before 2026-12-01T12:0",
                "a clock that is right",
            ),
            (
                scene.refused(|ask| ask.domain = "https://other.example/".to_owned(), nothing, |_| {}),
                Reason::DomainMismatch,
                "for the domain https://other.example/, and this is https://alice.pod.example/agent",
                "a presentation whose domain is https://alice.pod.example/agent",
            ),
            (
                scene.refused(|ask| ask.nonce = "another-challenge-0001".to_owned(), nothing, |_| {}),
                Reason::ChallengeMismatch,
                "it answers another-challenge-0001",
                "the challenge which this server gave out",
            ),
            (
                scene.refused(|_| {}, |facts| facts.challenge = None, |_| {}),
                Reason::ChallengeUnknown,
                "no usable challenge",
                "16 octets or more",
            ),
            (
                scene.refused(
                    |_| {},
                    |facts| facts.actor = Actor::Authenticated("https://eve.example/#me".to_owned()),
                    |_| {},
                ),
                Reason::HolderUnverified,
                "and the acting agent https://eve.example/#me",
                "a presentation that https://eve.example/#me made",
            ),
            (
                scene.refused(
                    |ask| ask.credentials = issue(&|draft| draft.key = scene.world.mallory.clone()),
                    nothing,
                    |_| {},
                ),
                Reason::BindingMismatch,
                "hop 0, policy https://alice.pod.example/policies/",
                "papers in which",
            ),
            (
                scene.refused(
                    |_| {},
                    nothing,
                    |snapshot| {
                        let memory = std::sync::Arc::make_mut(&mut snapshot.memory);
                        memory.revoked.ids.insert(crate::worked_example::MANDATE_POLICY.to_owned());
                    },
                ),
                Reason::Revoked,
                crate::worked_example::MANDATE_POLICY,
                "a new mandate is needed",
            ),
            (
                scene.refused(
                    |ask| {
                        ask.intent.0 = ask.intent.0.replace("a2a:mode acl:Read", "schema:description \"x\"")
                    },
                    nothing,
                    |_| {},
                ),
                Reason::ShapeViolation,
                "does not have the form that its protocol asks for: the shape",
                "the W3C report names each result",
            ),
            (
                scene.refused(
                    |ask| {
                        ask.intent.0 =
                            Intent::grant(crate::worked_example::NOTES, "https://eve.example/#me").turtle()
                    },
                    nothing,
                    |_| {},
                ),
                Reason::PolicyDenied,
                "hop 0",
                "if recipient were <https://bob.example/profile#me>, the policies would permit it",
            ),
        ];
        for ((refusal, explanation), reason, sentence, change) in rows {
            assert_eq!(refusal.reason(), reason, "{:?}", refusal.evidence());
            assert!(explanation.sentence.contains(sentence), "{reason:?}: {}", explanation.sentence);
            assert!(explanation.change.contains(change), "{reason:?}: {}", explanation.change);
            let public = serde_json::to_value(refusal.public()).unwrap();
            let members: Vec<&String> = public.as_object().unwrap().keys().collect();
            assert!(
                members.iter().all(|name| ["error", "reason", "shaclReport"].contains(&name.as_str())),
                "{public}"
            );
            assert!(!public.to_string().contains(&explanation.change), "{public}");
        }
    }

    /// Also of a reason without any evidence, and without a full stop in its middle.
    #[test]
    fn every_reason_has_a_sentence_and_a_change() {
        for reason in Reason::ALL {
            let bare = Explanation::of_refusal(&Refusal::new(Stage::Presentation, *reason));
            let seen = Refusal::new(Stage::Presentation, *reason)
                .with(|evidence| evidence.seen = Some("what was seen".to_owned()));
            let seen = Explanation::of_refusal(&seen);
            for told in [&bare, &seen] {
                assert!(
                    told.sentence.len() > 8 && !told.sentence.contains(".:"),
                    "{reason:?}: {}",
                    told.sentence
                );
                assert!(told.change.len() > 8, "{reason:?}: {}", told.change);
            }
        }
        let tampered = Explanation::of_refusal(&Refusal::new(Stage::Presentation, Reason::InvalidSignature));
        assert!(tampered.sentence.starts_with("the presentation's own proof: "), "{}", tampered.sentence);
        let forged = Explanation::of_refusal(&Refusal::new(Stage::Chain, Reason::InvalidSignature));
        assert!(!forged.sentence.contains("the presentation's own"), "{}", forged.sentence);
        for (reason, change) in [
            (Reason::UnknownProtocol, "a Protocol Document that this server speaks"),
            (Reason::AuthorizationMissing, "a presentation of its sender's mandate"),
            (Reason::ObligationUnsupported, "`obligations` does not list that duty"),
            (Reason::ChallengeUsed, "a new challenge"),
            (Reason::HolderUnverified, "`writgate source add`"),
            (Reason::InvalidSignature, "signed anew"),
            (Reason::DuplicateMessage, "can never help"),
        ] {
            let told = Explanation::of_refusal(&Refusal::new(Stage::Presentation, reason));
            assert!(told.change.contains(change), "{reason:?}: {}", told.change);
        }
    }

    #[test]
    fn a_sentence_begins_small_unless_with_a_name() {
        assert_eq!(lower_first("The holder"), "the holder");
        assert_eq!(lower_first("URL of it"), "URL of it");
    }
}
