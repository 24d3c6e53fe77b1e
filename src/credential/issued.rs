//! Challenges that Writgate itself gives out (`admission-and-audit.md` 2, *issued*).
//!
//! Nothing is kept when one is issued, so a flood of them costs no memory: the challenge itself says, under the issuer's
//! secret, until when it is good and for whom. What is kept is its consumption, with the allow (stage 10).
//!
//! A challenge is `wgi1.` and the base64url of 16 random octets, the last millisecond of its life (64 bits, big-endian) and
//! two tags, each the left half of an HMAC-SHA-256. The first is over the octets before the tags and says *issued here*.
//! The second is also over the peer, the actor, the context and the domain, and says *to this caller*.

use super::challenge::ISSUED;
use crate::request::{Actor, CallerFacts, Instant, Peer};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta};
use hmac::{Hmac, Mac};
use p256::elliptic_curve::zeroize::Zeroizing;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;
use std::sync::Arc;

const RANDOM_OCTETS: usize = 16;
const TAG_OCTETS: usize = 16;
/// What an HMAC of SHA-256 takes for a key; it fills up a shorter one with zeros.
const BLOCK_OCTETS: usize = 64;
/// `wgi1.` and the base64url of 56 octets.
const TOKEN_CHARS: usize = ISSUED.len() + 75;

/// What a tag says. Neither text begins with the other, so no input of one is an input of the other.
const ISSUED_HERE: &[u8] = b"wgi1 issued here\0";
const ISSUED_TO: &[u8] = b"wgi1 issued to\0";

/// Gives out challenges and knows them again, by a secret alone: engines that share it know each other's.
/// [`crate::Engine::with_challenges`] takes one.
pub struct ChallengeIssuer {
    key: Zeroizing<[u8; BLOCK_OCTETS]>,
    life: TimeDelta,
}

/// The secret is nobody's to print.
impl fmt::Debug for ChallengeIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChallengeIssuer").field("life", &self.life).finish_non_exhaustive()
    }
}

/// Why no challenge can be issued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChallengeError {
    /// The engine was given no issuer.
    #[error("this engine issues no challenges")]
    NoIssuer,
    /// No presentation for this domain is ever accepted here.
    #[error("the caller's domain is not one of this server's")]
    UnknownDomain,
    /// A life that is too short to be met or so long that the challenge is none.
    #[error("a challenge lives from 1 second to 1 hour")]
    Life,
    /// The machine gave no random octets.
    #[error("no random octets: {0}")]
    Random(String),
}

/// Whom a challenge is issued to: whoever presents it must be the same in all four.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipient<'a> {
    pub(crate) peer: &'a Peer,
    pub(crate) actor: &'a Actor,
    /// The effective context; none is not the empty one.
    pub(crate) context: Option<&'a str>,
    pub(crate) domain: &'a str,
}

/// What an issuer knows of a challenge. It depends on no clock: whether the challenge has ended is judged at each
/// evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum IssuedVerdict {
    /// It was not issued here, or not in these very characters.
    Unknown,
    /// It was issued here, to another peer or actor, or for another context or domain.
    OfAnother {
        /// The last instant of its life.
        until: Instant,
    },
    /// It was issued here, and to this caller.
    Genuine {
        /// The last instant of its life.
        until: Instant,
    },
}

/// A challenge and what its issuer said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgedChallenge {
    /// The challenge, whole.
    pub token: String,
    /// What its issuer said.
    pub verdict: IssuedVerdict,
}

/// Who says of a `wgi1.` challenge whether it was issued: a part of the snapshot, so that a decision can be made again
/// where the secret is not.
#[derive(Debug, Clone)]
pub enum IssuedChallenges {
    /// None is issued here, so none is known.
    NoIssuer,
    /// The issuer itself.
    By(Arc<ChallengeIssuer>),
    /// What the issuer said when the decision was first made. Any other challenge is unknown.
    Recorded(JudgedChallenge),
}

impl<'a> Recipient<'a> {
    /// The caller with these facts, for a presentation that names `domain`.
    pub(crate) fn of(facts: &'a CallerFacts, domain: &'a str) -> Self {
        Self { peer: &facts.peer, actor: &facts.actor, context: facts.context.as_deref(), domain }
    }
}

impl ChallengeIssuer {
    /// How long a challenge is good unless [`ChallengeIssuer::with_life`] says otherwise.
    pub const DEFAULT_LIFE: TimeDelta = TimeDelta::minutes(5);
    /// The shortest life: a shorter one ends before an agent can answer.
    pub const MIN_LIFE: TimeDelta = TimeDelta::seconds(1);
    /// The longest life: a presentation is to be fresh.
    pub const MAX_LIFE: TimeDelta = TimeDelta::hours(1);
    /// Octets of a secret.
    pub const SECRET_OCTETS: usize = 32;

    /// An issuer by this secret. It must be random, and known to nobody but the engines of one domain.
    pub fn new(secret: &[u8; Self::SECRET_OCTETS]) -> Self {
        let mut key = Zeroizing::new([0; BLOCK_OCTETS]);
        key.iter_mut().zip(secret).for_each(|(to, from)| *to = *from);
        Self { key, life: Self::DEFAULT_LIFE }
    }

    /// Sets how long a challenge is good. Default: 5 minutes.
    ///
    /// # Errors
    /// [`ChallengeError::Life`] for less than [`ChallengeIssuer::MIN_LIFE`] or more than [`ChallengeIssuer::MAX_LIFE`].
    pub fn with_life(self, life: TimeDelta) -> Result<Self, ChallengeError> {
        if (Self::MIN_LIFE..=Self::MAX_LIFE).contains(&life) {
            Ok(Self { life, ..self })
        } else {
            Err(ChallengeError::Life)
        }
    }

    /// How long a challenge is good.
    pub fn life(&self) -> TimeDelta {
        self.life
    }

    /// A new challenge for this caller.
    ///
    /// # Errors
    /// [`ChallengeError::Random`]
    pub(crate) fn issue(&self, to: &Recipient<'_>, now: Instant) -> Result<String, ChallengeError> {
        let mut random = [0; RANDOM_OCTETS];
        getrandom::fill(&mut random).map_err(|cause| ChallengeError::Random(cause.to_string()))?;
        let until = now.checked_add_signed(self.life).unwrap_or(now).timestamp_millis().to_be_bytes();
        let mut octets: Vec<u8> = [&random[..], &until].concat();
        for mac in [self.issued_here(&random, until), self.issued_to(&random, until, to)] {
            octets.extend(mac.finalize().into_bytes().iter().take(TAG_OCTETS));
        }
        Ok(format!("{ISSUED}{}", URL_SAFE_NO_PAD.encode(octets)))
    }

    /// What is known here of a challenge that this caller presents. Tags are compared in constant time.
    pub(crate) fn judge(&self, token: &str, to: &Recipient<'_>) -> IssuedVerdict {
        let Some(Token { random, until, here, whom }) = Token::read(token) else {
            return IssuedVerdict::Unknown;
        };
        if self.issued_here(&random, until).verify_truncated_left(&here).is_err() {
            return IssuedVerdict::Unknown;
        }
        let of_caller = self.issued_to(&random, until, to).verify_truncated_left(&whom).is_ok();
        match (DateTime::from_timestamp_millis(i64::from_be_bytes(until)), of_caller) {
            (None, _) => IssuedVerdict::Unknown,
            (Some(until), false) => IssuedVerdict::OfAnother { until },
            (Some(until), true) => IssuedVerdict::Genuine { until },
        }
    }

    fn issued_here(&self, random: &[u8; RANDOM_OCTETS], until: [u8; 8]) -> Hmac<Sha256> {
        self.mac(ISSUED_HERE, random, until)
    }

    fn issued_to(&self, random: &[u8; RANDOM_OCTETS], until: [u8; 8], to: &Recipient<'_>) -> Hmac<Sha256> {
        let mut mac = self.mac(ISSUED_TO, random, until);
        let peer = match to.peer {
            Peer::Authenticated(peer) => Some(peer.as_str()),
            Peer::Unauthenticated => None,
        };
        let actor = match to.actor {
            Actor::Authenticated(actor) => Some(actor.as_str()),
            Actor::Unauthenticated => None,
        };
        for member in [peer, actor, to.context, Some(to.domain)] {
            // Its presence, its length, its octets: no two callers are written alike.
            mac.update(&[u8::from(member.is_some())]);
            let member = member.unwrap_or_default().as_bytes();
            mac.update(&u64::try_from(member.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(member);
        }
        mac
    }

    fn mac(&self, says: &[u8], random: &[u8; RANDOM_OCTETS], until: [u8; 8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new((&*self.key).into());
        mac.update(says);
        mac.update(random);
        mac.update(&until);
        mac
    }
}

impl IssuedChallenges {
    /// What is known of a challenge that this caller presents; `None` where it can be no issued one by its form alone.
    pub(crate) fn judge(&self, token: &str, to: &Recipient<'_>) -> Option<JudgedChallenge> {
        if !is_issued(token) || token.len() != TOKEN_CHARS {
            return None;
        }
        let verdict = match self {
            Self::NoIssuer => IssuedVerdict::Unknown,
            Self::By(issuer) => issuer.judge(token, to),
            Self::Recorded(judged) if judged.token == token => judged.verdict,
            Self::Recorded(_) => IssuedVerdict::Unknown,
        };
        Some(JudgedChallenge { token: token.to_owned(), verdict })
    }
}

/// Whether a challenge claims to be one that Writgate issued.
pub(crate) fn is_issued(challenge: &str) -> bool {
    challenge.starts_with(ISSUED)
}

/// A challenge, taken apart and not yet believed.
struct Token {
    random: [u8; RANDOM_OCTETS],
    until: [u8; 8],
    here: [u8; TAG_OCTETS],
    whom: [u8; TAG_OCTETS],
}

impl Token {
    /// Exactly what is written by [`ChallengeIssuer::issue`]: the decoder takes no padding, no other alphabet, and no bits
    /// that encode nothing, so a challenge has one spelling.
    fn read(token: &str) -> Option<Self> {
        let octets = URL_SAFE_NO_PAD.decode(token.strip_prefix(ISSUED)?).ok()?;
        let (random, rest) = octets.split_first_chunk()?;
        let (until, rest) = rest.split_first_chunk()?;
        let (here, rest) = rest.split_first_chunk()?;
        let whom = rest.try_into().ok()?;
        Some(Self { random: *random, until: *until, here: *here, whom })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-12-01T12:00:00Z";

    fn issuer() -> ChallengeIssuer {
        ChallengeIssuer::new(&[7; 32])
    }

    fn judged(token: &str, peer: &Peer, actor: &Actor, context: Option<&str>, domain: &str) -> IssuedVerdict {
        issuer().judge(token, &Recipient { peer, actor, context, domain })
    }

    /// Some of these would be written alike without their lengths, others without whether they are there.
    #[test]
    fn no_two_recipients_are_written_alike() {
        let (nobody, named) = (Peer::Unauthenticated, |name: &str| Peer::Authenticated(name.to_owned()));
        let (any, agent) = (Actor::Unauthenticated, |name: &str| Actor::Authenticated(name.to_owned()));
        let recipients = [
            (nobody.clone(), any.clone(), None, "d"),
            (named(""), any.clone(), None, "d"),
            (nobody.clone(), agent(""), None, "d"),
            (nobody.clone(), any.clone(), Some(""), "d"),
            (named("a"), agent("bc"), Some("d"), "e"),
            (named("ab"), agent("c"), Some("d"), "e"),
            (named("ab"), agent("cd"), Some(""), "e"),
            (named("ab"), agent("c"), Some("de"), ""),
            (named("a"), any.clone(), Some("a"), "d"),
            (nobody.clone(), agent("a"), Some("a"), "d"),
            (named("a\0"), any, None, "d"),
            // Alike without their lengths: what says that a member is there may stand in one.
            (named("a\u{1}bc"), agent("d"), None, "e"),
            (named("a"), agent("bc\u{1}d"), None, "e"),
        ];
        let now = NOW.parse().unwrap();
        for (n, (peer, actor, context, domain)) in recipients.iter().enumerate() {
            let token = issuer().issue(&Recipient { peer, actor, context: *context, domain }, now).unwrap();
            for (m, (peer, actor, context, domain)) in recipients.iter().enumerate() {
                let until = now + ChallengeIssuer::DEFAULT_LIFE;
                let expected = match n == m {
                    true => IssuedVerdict::Genuine { until },
                    false => IssuedVerdict::OfAnother { until },
                };
                assert_eq!(judged(&token, peer, actor, *context, domain), expected, "{n} {m}");
            }
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let issuer = ChallengeIssuer::new(b"do not print me, I am a secret!!");
        for text in [format!("{issuer:?}"), format!("{:?}", IssuedChallenges::By(Arc::new(issuer)))] {
            assert!(text.starts_with("ChallengeIssuer") || text.starts_with("By(ChallengeIssuer"), "{text}");
            // Neither as text nor as numbers (100 is `d`).
            assert!(!text.contains("print") && !text.contains("100"), "{text}");
        }
    }

    #[test]
    fn a_life_has_bounds() {
        let second = TimeDelta::seconds(1);
        for wrong in [TimeDelta::zero(), -second, second - TimeDelta::nanoseconds(1)] {
            assert_eq!(issuer().with_life(wrong).err(), Some(ChallengeError::Life));
        }
        assert!(issuer().with_life(ChallengeIssuer::MAX_LIFE + TimeDelta::nanoseconds(1)).is_err());
        for life in [ChallengeIssuer::MIN_LIFE, ChallengeIssuer::MAX_LIFE] {
            assert_eq!(issuer().with_life(life).unwrap().life(), life);
        }
        assert_eq!(issuer().life(), TimeDelta::minutes(5));
    }

    #[test]
    fn a_verdict_is_written_and_read() {
        let until = NOW.parse().unwrap();
        for (verdict, text) in [
            (IssuedVerdict::Unknown, r#""unknown""#),
            (IssuedVerdict::OfAnother { until }, r#"{"of-another":{"until":"2026-12-01T12:00:00Z"}}"#),
            (IssuedVerdict::Genuine { until }, r#"{"genuine":{"until":"2026-12-01T12:00:00Z"}}"#),
        ] {
            assert_eq!(serde_json::to_string(&verdict).unwrap(), text);
            assert_eq!(serde_json::from_str::<IssuedVerdict>(text).unwrap(), verdict);
        }
        let more = r#"{"genuine":{"until":"2026-12-01T12:00:00Z","for":"ever"}}"#;
        assert!(serde_json::from_str::<IssuedVerdict>(more).is_err());
    }
}
