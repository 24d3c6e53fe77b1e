//! Why a refusal, for the server's own people: what is not as it must be, and the smallest change that would permit it.
//! Nothing of this leaves for the peer: [`Refusal::public`] does not know of it.

use crate::refusal::{Evidence, Reason, Refusal, Retry};
use serde::Serialize;

/// One thing that must hold and does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unmet {
    pub(crate) asked: String,
    pub(crate) seen: String,
}

/// An explanation. Its texts may quote papers and messages: outputs escape them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    /// One plain sentence.
    pub(crate) sentence: String,
    /// What the nearest rule asks for and does not find, or what a prohibition found.
    pub(crate) unmet: Vec<Unmet>,
    /// The smallest change that would permit it, or that there is none.
    pub(crate) change: String,
}

impl Explanation {
    pub(crate) fn new(sentence: impl Into<String>, change: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), unmet: Vec::new(), change: change.into() }
    }

    /// What the refusal's own evidence tells.
    pub(crate) fn of_refusal(refusal: &Refusal) -> Self {
        let evidence = refusal.evidence();
        let (sentence, change) = of_evidence(refusal.reason(), evidence);
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
    let plain = || detail.clone().unwrap_or_else(|| reason.sentence().to_owned());
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
        Reason::DomainMismatch if compared => (
            format!("the presentation is for the domain {seen}, and this is {expected}"),
            format!("a presentation whose domain is {expected}"),
        ),
        Reason::HolderUnverified if compared => (
            format!("{}: the holder is {seen}, and the acting agent {expected}", plain()),
            format!("a presentation that {expected} made"),
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
            plain(),
            "a status list that this server can read and that is fresh, or a mandate that ends soon and needs none"
                .to_owned(),
        ),
        Reason::PolicyIntegrity => {
            (plain(), "the very document that the issuer signed for, beside the presentation".to_owned())
        }
        Reason::ChainMalformed => {
            (plain(), "all papers of one chain: one root, each parent, and no second child".to_owned())
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
        reason => {
            let words = match (compared, &evidence.expected) {
                (true, Some(_)) => format!("{}: seen {seen}, expected {expected}", plain()),
                (true, None) => format!("{}: {seen}", plain()),
                _ => plain(),
            };
            let change = match reason.retry() {
                Retry::Never => "none: sending this message again can never help",
                Retry::AfterChange => "another message, paper or agreement in which this is right",
                Retry::Later => "wait: the same message may pass later",
            };
            (words, change.to_owned())
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) if !text.starts_with(|c: char| c.is_uppercase() && text.chars().nth(1).is_some_and(char::is_uppercase)) => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}
