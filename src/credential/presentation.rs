//! Stage 6: the Verifiable Presentation.

use super::challenge::{ChallengeBinding, bound_challenge, is_usable_nonce};
use super::context_free::{self, is_context_free};
use super::controller::{KeySource, MethodError, Relationship};
use super::credential::Profile;
use super::data_integrity::Statement;
use super::issued::{IssuedVerdict, Recipient, is_issued};
use super::jose_presentation;
use super::known::Known;
use super::presentation_graph::Presentation;
use super::{Credential, PaperError};
use crate::audit::Consulted;
use crate::config::Config;
use crate::limits::Limits;
use crate::message::{Digest, Envelope, IntentGraph, PresentationPart};
use crate::protocol::{Binding, ProtocolDocument, ProtocolSettings};
use crate::rdf::Budget;
use crate::refusal::{Reason, Refusal, Stage};
use crate::request::{Actor, Instant, Request};
use crate::vocab::sec;
use chrono::TimeDelta;
use std::sync::Arc;

/// A fresh presentation by the acting agent. Its credentials are read but not yet verified: that is stage 7. Only
/// [`VerifiedPresentation::verify`] makes one.
#[derive(Debug)]
pub(crate) struct VerifiedPresentation {
    holder: String,
    digest: Digest,
    nonce: String,
    domain: String,
    created: Instant,
    not_after: Instant,
    bound: bool,
    credentials: Vec<Arc<Credential>>,
}

/// What a presentation must answer, whoever asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    /// The challenge that the server gave out.
    pub(crate) nonce: Option<&'a str>,
    /// What is known of it, where it claims to be one that was issued here.
    pub(crate) issued: Option<IssuedVerdict>,
    /// The bound challenge that stands for it on this message.
    pub(crate) bound: Option<&'a str>,
    pub(crate) binding: Binding,
    /// `None`: no configured domain is meant, and every presentation is for another.
    pub(crate) domain: Option<&'a str>,
    pub(crate) actor: &'a Actor,
    pub(crate) keys: KeySource<'a>,
    pub(crate) max_age: TimeDelta,
    pub(crate) skew: TimeDelta,
}

/// What the configuration says about presentations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<'a> {
    pub(super) domains: &'a [String],
    pub(super) limits: &'a Limits,
    pub(super) max_age: TimeDelta,
    pub(super) skew: TimeDelta,
    pub(super) max_controller_age: TimeDelta,
    /// Papers without `@context` are read.
    pub(super) context_free: bool,
}

impl VerifiedPresentation {
    /// Verifies the message's presentation: form, proof by the holder's authentication key, challenge (plain or
    /// bound), domain, age, and that the holder is the actor and is named by every credential.
    ///
    /// # Errors
    /// `AUTHORIZATION_MISSING`, `MALFORMED`, `LIMIT_EXCEEDED`, `REMOTE_CONTEXT`, `NO_PROOF`, `UNKNOWN_CRYPTOSUITE`,
    /// `PROOF_PURPOSE_MISMATCH`, `CHALLENGE_UNKNOWN`, `CHALLENGE_EXPIRED`, `CHALLENGE_CONTEXT_MISMATCH`,
    /// `CHALLENGE_MISMATCH`, `DOMAIN_MISMATCH`, `HOLDER_UNVERIFIED`, `INVALID_SIGNATURE`, `PRESENTATION_TOO_OLD`,
    /// `PRESENTATION_NOT_YET_VALID`, `EXPIRED`.
    #[expect(clippy::too_many_arguments, reason = "the message, what is known, and what is noted on the way")]
    pub(crate) fn verify(
        envelope: &Envelope,
        intent: &IntentGraph,
        protocol: &ProtocolDocument,
        request: &Request,
        config: &Config,
        budget: &mut Budget,
        known: &Known<'_>,
        consulted: &mut Consulted,
    ) -> Result<Self, Refusal> {
        let bounds = Bounds {
            domains: &config.domains,
            limits: &config.limits,
            max_age: config.max_presentation_age,
            skew: config.skew,
            max_controller_age: config.max_controller_age,
            context_free: config.context_free,
        };
        let settings = &protocol.settings;
        Self::verify_within(envelope, &intent.hash, settings, request, &bounds, budget, known, consulted)
            .map_err(|error| error.at(Stage::Presentation))
    }

    #[expect(clippy::too_many_arguments, reason = "as above")]
    pub(super) fn verify_within(
        envelope: &Envelope,
        intent_hash: &str,
        protocol: &ProtocolSettings,
        request: &Request,
        bounds: &Bounds<'_>,
        budget: &mut Budget,
        known: &Known<'_>,
        consulted: &mut Consulted,
    ) -> Result<Self, PaperError> {
        let presentation = match &envelope.presentation {
            None => return Err(PaperError::new(Reason::AuthorizationMissing, "no authorization part")),
            Some(PresentationPart::Jose { jws }) => {
                jose_presentation::presentation(jws, bounds.limits, budget, known)?
            }
            Some(PresentationPart::DataIntegrity { document })
                if bounds.context_free && is_context_free(document) =>
            {
                context_free::presentation(document, bounds.limits, budget, known)?
            }
            Some(PresentationPart::DataIntegrity { document }) => {
                Presentation::read_knowing(document, bounds.limits, budget, known)?
            }
        };
        let domain = request.facts.domain_among(bounds.domains);
        let statement = presentation.securing.only_statement();
        let answer = statement.ok().and_then(|statement| statement.challenge.clone());
        // An issued challenge speaks for itself. What a server gave out of its own, it must say.
        let issued_answer = || answer.as_deref().filter(|answer| is_issued(answer));
        let nonce = request.facts.challenge.as_deref().or_else(issued_answer);
        // No domain of this server's: nothing was issued for it, and the presentation is refused for that too.
        let recipient = Recipient::of(&request.facts, domain.unwrap_or_default());
        consulted.challenge = nonce.and_then(|nonce| request.snapshot.issued.judge(nonce, &recipient));
        let issued = consulted.challenge.as_ref().map(|judged| judged.verdict);
        let answers_plainly = answer.as_deref() == nonce;
        // A binding that cannot be computed is one that nothing answers. It digests the message, so not without need.
        let bound = nonce.zip(domain).filter(|_| !answers_plainly).and_then(|(nonce, domain)| {
            let binding = ChallengeBinding {
                nonce,
                domain,
                message_id: &envelope.facts.message_id,
                context_id: envelope.facts.context_id.as_deref(),
                task_id: envelope.facts.task_id.as_deref(),
                protocol_hash: protocol.hash.as_str(),
                intent_hash,
                rest_digest: envelope.rest.digest()?,
            };
            bound_challenge(&binding).ok()
        });
        let expected = Expected {
            nonce,
            issued,
            bound: bound.as_deref(),
            binding: protocol.binding,
            domain,
            actor: &request.facts.actor,
            keys: KeySource {
                documents: &request.snapshot.controllers,
                now: request.snapshot.instant,
                max_age: bounds.max_controller_age,
            },
            max_age: bounds.max_age,
            skew: bounds.skew,
        };
        Self::check_knowing(presentation, &expected, known)
    }

    /// Judges a presentation that was read.
    ///
    /// # Errors
    /// Those of [`VerifiedPresentation::verify`] from `NO_PROOF` on, in that order.
    #[cfg(test)]
    pub(crate) fn check(presentation: Presentation, expected: &Expected<'_>) -> Result<Self, PaperError> {
        Self::check_knowing(presentation, expected, &Known::nothing())
    }

    /// Judges a presentation that was read, whose key may be known already.
    ///
    /// # Errors
    /// Those of [`VerifiedPresentation::verify`] from `NO_PROOF` on, in that order.
    fn check_knowing(
        presentation: Presentation,
        expected: &Expected<'_>,
        known: &Known<'_>,
    ) -> Result<Self, PaperError> {
        let Presentation { profile, holder, digest, securing, credentials } = presentation;
        let statement = securing.only_statement()?;
        check_purpose(statement, profile)?;
        let (nonce, challenge_until) = check_nonce(expected)?;
        let bound = check_challenge(statement, nonce, expected)?;
        let domain = check_domain(statement, expected)?;
        let holder = check_actor(holder, expected.actor)?;
        let key_good_until = check_key(statement, &holder, profile, &expected.keys, known)?;
        let (created, not_after) = check_age(statement, expected)?;
        let not_after = [key_good_until, challenge_until].into_iter().flatten().fold(not_after, Instant::min);
        check_naming(&holder, &credentials)?;
        let (nonce, domain) = (nonce.to_owned(), domain.to_owned());
        Ok(Self { holder, digest, nonce, domain, created, not_after, bound, credentials })
    }

    /// The agent that made it: controller of the proof's method.
    pub(crate) fn holder(&self) -> &str {
        &self.holder
    }

    /// SHA-256 of the presentation's canonical N-Quads, without its proof; of a JWS, of its signing input.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The challenge that the server gave out. Admission consumes it, whether the presentation answers it plainly or
    /// with a bound challenge made from it: one nonce is good for one allow.
    pub(crate) fn nonce(&self) -> &str {
        &self.nonce
    }

    pub(crate) fn domain(&self) -> &str {
        &self.domain
    }

    pub(crate) fn created(&self) -> Instant {
        self.created
    }

    /// The earliest end of its age bound, its proof, its challenge and what is known of its key.
    pub(crate) fn not_after(&self) -> Instant {
        self.not_after
    }

    /// Whether the challenge is bound to this very message.
    pub(crate) fn is_bound(&self) -> bool {
        self.bound
    }

    pub(crate) fn credentials(&self) -> &[Arc<Credential>] {
        &self.credentials
    }
}

/// The challenge that the server gave out to this caller, and its end where it has one.
fn check_nonce<'a>(expected: &Expected<'a>) -> Result<(&'a str, Option<Instant>), PaperError> {
    let unknown = |detail| PaperError::new(Reason::ChallengeUnknown, detail);
    let nonce = expected.nonce.ok_or_else(|| unknown("the server gave out no usable challenge"))?;
    let (until, of_caller) = match expected.issued {
        None if is_usable_nonce(nonce) => return Ok((nonce, None)),
        None if is_issued(nonce) => return Err(unknown("the challenge was not issued here")),
        None => return Err(unknown("the server gave out no usable challenge")),
        Some(IssuedVerdict::Unknown) => return Err(unknown("the challenge was not issued here")),
        Some(IssuedVerdict::OfAnother { until }) => (until, false),
        Some(IssuedVerdict::Genuine { until }) => (until, true),
    };
    let now = expected.keys.now;
    if now > until {
        let expired = PaperError::new(Reason::ChallengeExpired, "the challenge has expired");
        return Err(expired.at_time(now, "until", until));
    }
    if !of_caller {
        let detail = "the challenge was issued to another peer or actor, or for another context or domain";
        return Err(PaperError::new(Reason::ChallengeContextMismatch, detail));
    }
    Ok((nonce, Some(until)))
}

/// Whether the nonce was answered with the bound challenge. Missing counts as mismatch.
fn check_challenge(statement: &Statement, nonce: &str, expected: &Expected<'_>) -> Result<bool, PaperError> {
    let mismatch = |detail| Err(PaperError::new(Reason::ChallengeMismatch, detail));
    match statement.challenge.as_deref() {
        None => mismatch("the presentation answers no challenge"),
        Some(answer) if Some(answer) == expected.bound => Ok(true),
        Some(answer) if answer != nonce => {
            mismatch("the presentation answers another challenge, or is bound to another message or domain")
                .map_err(|error| error.compared(Some(answer), None))
        }
        Some(_) => match expected.binding {
            Binding::Accepted => Ok(false),
            Binding::Required => mismatch("the protocol requires a challenge bound to the message"),
        },
    }
}

/// Missing counts as mismatch.
fn check_domain<'a>(statement: &Statement, expected: &Expected<'a>) -> Result<&'a str, PaperError> {
    let mismatch = |detail| PaperError::new(Reason::DomainMismatch, detail);
    let domain =
        expected.domain.ok_or_else(|| mismatch("the caller's domain is not one of this server's"))?;
    if statement.domain.as_deref() == Some(domain) {
        Ok(domain)
    } else {
        Err(mismatch("the presentation is not for this domain")
            .compared(statement.domain.as_deref(), Some(domain)))
    }
}

/// The holder must be stated, and be the actor where somebody authenticated one.
fn check_actor(holder: Option<String>, actor: &Actor) -> Result<String, PaperError> {
    let unverified = |detail| Err(PaperError::new(Reason::HolderUnverified, detail));
    match (holder, actor) {
        (None, _) => unverified("the presentation names no holder"),
        (Some(holder), Actor::Authenticated(actor)) if holder != *actor => {
            unverified("the holder is not the acting agent")
                .map_err(|error| error.compared(Some(&holder), Some(actor)))
        }
        (Some(holder), Actor::Authenticated(_) | Actor::Unauthenticated) => Ok(holder),
    }
}

/// The purpose, whole, as the profile writes it.
pub(crate) fn check_purpose(statement: &Statement, profile: Profile) -> Result<(), PaperError> {
    let authentication = match profile {
        Profile::JsonLd | Profile::Jose => sec::AUTHENTICATION_METHOD,
        Profile::ContextFree => sec::AUTHENTICATION,
    };
    if statement.purpose == authentication {
        return Ok(());
    }
    Err(PaperError::new(Reason::ProofPurposeMismatch, "the purpose is not authentication"))
}

/// The proof is by a key of the holder for authentication. Gives the last instant at which that can be known.
pub(crate) fn check_key(
    statement: &Statement,
    holder: &str,
    profile: Profile,
    keys: &KeySource<'_>,
    known: &Known<'_>,
) -> Result<Option<Instant>, PaperError> {
    let find = |relationship| keys.find_knowing(holder, &statement.verification_method, relationship, known);
    let method = match (find(Relationship::Authentication), profile) {
        (Err(MethodError::NotControlled(_)), Profile::ContextFree) => find(Relationship::AssertionMethod),
        (found, _) => found,
    };
    let method = method.map_err(|error| PaperError::new(Reason::HolderUnverified, error.to_string()))?;
    statement.verify(&method.key)?;
    Ok(method.good_until)
}

/// When it was made, and until when it is good.
fn check_age(statement: &Statement, expected: &Expected<'_>) -> Result<(Instant, Instant), PaperError> {
    let now = expected.keys.now;
    let too_old = |detail| PaperError::new(Reason::PresentationTooOld, detail);
    let created =
        statement.created.ok_or_else(|| too_old("the presentation does not say when it was made"))?;
    let end = created.checked_add_signed(expected.max_age).filter(|end| now <= *end).ok_or_else(|| {
        let oldest = now.checked_sub_signed(expected.max_age).unwrap_or(now);
        too_old("the presentation is older than the bound").at_time(created, "at or after", oldest)
    })?;
    if created.signed_duration_since(now) > expected.skew {
        let latest = now.checked_add_signed(expected.skew).unwrap_or(now);
        return Err(PaperError::new(Reason::PresentationNotYetValid, "made later than now").at_time(
            created,
            "at or before",
            latest,
        ));
    }
    check_expiry(statement, now)?;
    Ok((created, statement.expires.map_or(end, |expires| end.min(expires))))
}

/// A proof that says when it ends has not ended.
pub(crate) fn check_expiry(statement: &Statement, now: Instant) -> Result<(), PaperError> {
    match statement.expires {
        Some(expires) if now > expires => {
            Err(PaperError::new(Reason::Expired, "the proof has expired").at_time(now, "until", expires))
        }
        _ => Ok(()),
    }
}

/// Each credential names the holder as its delegate or subject, or its delegate is the issuer of another credential
/// that does so by this same rule: a stolen paper in somebody's own envelope does neither (`mandate.md` 2).
pub(crate) fn check_naming(holder: &str, credentials: &[Arc<Credential>]) -> Result<(), PaperError> {
    let mut named: Vec<bool> = credentials
        .iter()
        .map(|credential| {
            [&credential.authorizes, &credential.subject].iter().any(|party| party.as_deref() == Some(holder))
        })
        .collect();
    // Each round names at least one more, so there are at most as many rounds as credentials.
    loop {
        let before = named.iter().filter(|named| **named).count();
        let issuers: Vec<&str> = credentials
            .iter()
            .zip(&named)
            .filter(|(_, named)| **named)
            .map(|(credential, _)| credential.issuer.as_str())
            .collect();
        for (credential, named) in credentials.iter().zip(named.iter_mut()) {
            // A credential that is not named yet is not among the issuers, so this is always another one's.
            *named |= credential.authorizes.as_deref().is_some_and(|delegate| issuers.contains(&delegate));
        }
        if named.iter().filter(|named| **named).count() == before {
            break;
        }
    }
    match credentials.iter().zip(&named).find(|(_, named)| !**named) {
        None => Ok(()),
        Some((credential, _)) => {
            let mut error =
                PaperError::new(Reason::HolderUnverified, "a credential does not name the holder");
            error.evidence.credential.clone_from(&credential.id);
            Err(error)
        }
    }
}
