//! Every way in which Writgate says no.
//!
//! [`Reason`] is closed and ordered: its order of declaration is the order of precedence, and `docs/refusals.md` is
//! generated from it. A code is never renumbered or reused. What a peer may see of a refusal is [`Refusal::public`], and how
//! an agent server sends that is [`Refusal::to_a2a`].

use crate::limits::Limits;
use serde::{Deserialize, Serialize};
use std::fmt;

mod a2a;

pub use self::a2a::{A2aCodes, A2aError, GrpcError, HttpError};

/// The extension's closed set of error values (ERR-1..3), the value of the metadata key `.../v1/error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireCode {
    /// The exchange must run under a Protocol Document.
    ProtocolRequired,
    /// The claimed hash names no Protocol Document known here.
    UnknownProtocol,
    /// A Protocol Document's graph does not hash to its pin.
    HashMismatch,
    /// Message, graph, shape or action under test is not acceptable.
    ValidationFailed,
    /// Absent or insufficient mandate.
    AuthorizationFailed,
}

impl WireCode {
    /// The value as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProtocolRequired => "protocol-required",
            Self::UnknownProtocol => "unknown-protocol",
            Self::HashMismatch => "hash-mismatch",
            Self::ValidationFailed => "validation-failed",
            Self::AuthorizationFailed => "authorization-failed",
        }
    }
}

/// The stages of the pipeline, in order, and the two places outside it that refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// 1: the message's octets.
    Admit,
    /// 2: the pinned Protocol Document.
    Protocol,
    /// 3: the intent graph.
    Intent,
    /// 4: SHACL.
    Shape,
    /// 5: the actions under test.
    Action,
    /// 6: the Verifiable Presentation.
    Presentation,
    /// 7: the credential chain.
    Chain,
    /// 8: the intent's policy reference.
    Reference,
    /// 9: the ODRL chain.
    Policy,
    /// 10: the ledger.
    Admission,
    /// Outside the pipeline: reading a handshake payload.
    Handshake,
    /// Outside the pipeline: loading a Protocol Document.
    Loading,
}

impl Stage {
    /// The stages of a decision, in order.
    pub const PIPELINE: [Self; 10] = [
        Self::Admit,
        Self::Protocol,
        Self::Intent,
        Self::Shape,
        Self::Action,
        Self::Presentation,
        Self::Chain,
        Self::Reference,
        Self::Policy,
        Self::Admission,
    ];

    /// The stage's one word, used alike in reports, metrics and headings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Protocol => "protocol",
            Self::Intent => "intent",
            Self::Shape => "shape",
            Self::Action => "action",
            Self::Presentation => "presentation",
            Self::Chain => "chain",
            Self::Reference => "reference",
            Self::Policy => "policy",
            Self::Admission => "admission",
            Self::Handshake => "handshake",
            Self::Loading => "loading",
        }
    }
}

/// Can sending the message again ever help?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// This message will be refused for ever.
    Never,
    /// Another message, paper or agreement is needed.
    AfterChange,
    /// The same message may pass later.
    Later,
}

macro_rules! reasons {
    ($( $variant:ident = $code:literal, $text:literal, $retry:ident, $sentence:literal; )*) => {
        /// Why a message was refused. The order is the order of precedence.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason { $( #[doc = $sentence] $variant, )* }

        impl Reason {
            /// Every reason, in order of precedence.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];
            /// The reason's fixed number.
            pub fn code(self) -> u16 { match self { $( Self::$variant => $code, )* } }
            /// The reason's fixed word, in SCREAMING_SNAKE.
            pub fn as_str(self) -> &'static str { match self { $( Self::$variant => $text, )* } }
            /// Whether a retry can help.
            pub fn retry(self) -> Retry { match self { $( Self::$variant => Retry::$retry, )* } }
            /// One plain sentence. It holds no text of the sender.
            pub fn sentence(self) -> &'static str { match self { $( Self::$variant => $sentence, )* } }
        }

        impl std::str::FromStr for Reason {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> { match text { $( $text => Ok(Self::$variant), )* _ => Err(()) } }
        }
    };
}

reasons! {
    MessageTooLarge = 101, "MESSAGE_TOO_LARGE", Never, "The message is larger than this server reads.";
    MessageMalformed = 102, "MESSAGE_MALFORMED", Never, "The message is not a well-formed A2A v1.0 message with one intent, handshake or response.";
    LimitExceeded = 103, "LIMIT_EXCEEDED", Never, "The message holds more of something than this server judges.";
    ExtensionNotTagged = 104, "EXTENSION_NOT_TAGGED", AfterChange, "The message has an extension part but does not list the extension.";
    ExtensionNotActive = 105, "EXTENSION_NOT_ACTIVE", AfterChange, "The request did not activate the extension.";
    ProtocolRequired = 106, "PROTOCOL_REQUIRED", AfterChange, "This conversation must go on under its required Protocol Document, not in prose.";
    WrongKind = 107, "WRONG_KIND", AfterChange, "The message carries another of the extension's payloads than the one that is judged here.";
    MediaTypeUnsupported = 108, "MEDIA_TYPE_UNSUPPORTED", AfterChange, "A part has a media type that is not read here.";
    MissingProtocolHash = 201, "MISSING_PROTOCOL_HASH", AfterChange, "The part names no Protocol Document.";
    HashPrefixUnknown = 202, "HASH_PREFIX_UNKNOWN", AfterChange, "The protocol hash is not `sha256:` and 64 lower-case hexadecimal digits.";
    UnknownProtocol = 203, "UNKNOWN_PROTOCOL", AfterChange, "The Protocol Document is not known to this conversation.";
    HashMismatch = 204, "HASH_MISMATCH", Never, "The Protocol Document's graph does not hash to its pin.";
    HandshakeMalformed = 205, "HANDSHAKE_MALFORMED", AfterChange, "The handshake payload is not exactly one well-formed offer or response.";
    GraphMalformed = 301, "GRAPH_MALFORMED", Never, "The part is not well-formed RDF of one default graph.";
    GraphTooLarge = 302, "GRAPH_TOO_LARGE", Never, "The graph is larger than this server judges.";
    RemoteContext = 303, "REMOTE_CONTEXT", AfterChange, "A JSON-LD context is not among those pinned here, and nothing is fetched.";
    IntentAmbiguous = 304, "INTENT_AMBIGUOUS", AfterChange, "The graph does not hold exactly one intent.";
    ShapeViolation = 401, "SHAPE_VIOLATION", AfterChange, "The graph does not conform to the shapes of its Protocol Document.";
    ValidationBudgetExceeded = 402, "VALIDATION_BUDGET_EXCEEDED", Never, "Validating the graph would cost more than this server spends.";
    IntentUnmapped = 501, "INTENT_UNMAPPED", AfterChange, "The intent says more than its Protocol Document lets it say.";
    ActionUnknown = 502, "ACTION_UNKNOWN", AfterChange, "An action of the intent is of no class that this protocol may carry.";
    TargetMissing = 503, "TARGET_MISSING", AfterChange, "An action of the intent names no target IRI.";
    TargetNotNormal = 504, "TARGET_NOT_NORMAL", AfterChange, "A target is not written in its normal form.";
    AgentMismatch = 505, "AGENT_MISMATCH", AfterChange, "The intent names another agent than the one that is acting.";
    NoRootForTarget = 506, "NO_ROOT_FOR_TARGET", Never, "No owner is configured for a target.";
    MixedRoots = 507, "MIXED_ROOTS", AfterChange, "The targets of the intent have different owners.";
    AuthorizationMissing = 601, "AUTHORIZATION_MISSING", AfterChange, "The message carries no Verifiable Presentation.";
    Malformed = 602, "MALFORMED", AfterChange, "A credential or presentation is not of the form that its signature can protect.";
    NoProof = 603, "NO_PROOF", AfterChange, "A credential or presentation has no proof.";
    UnknownCryptosuite = 604, "UNKNOWN_CRYPTOSUITE", AfterChange, "A proof is of a kind that is not accepted here.";
    ProofPurposeMismatch = 605, "PROOF_PURPOSE_MISMATCH", AfterChange, "A proof was made for another purpose.";
    ChallengeUnknown = 606, "CHALLENGE_UNKNOWN", AfterChange, "The server expects no usable challenge here, or did not issue this one.";
    ChallengeExpired = 1006, "CHALLENGE_EXPIRED", AfterChange, "The challenge has expired.";
    ChallengeContextMismatch = 1007, "CHALLENGE_CONTEXT_MISMATCH", AfterChange, "The challenge was issued for another caller, actor, context or domain.";
    ChallengeMismatch = 607, "CHALLENGE_MISMATCH", AfterChange, "The presentation answers another challenge.";
    DomainMismatch = 608, "DOMAIN_MISMATCH", AfterChange, "The presentation was made for another domain.";
    HolderUnverified = 609, "HOLDER_UNVERIFIED", AfterChange, "The presentation is not by the acting agent, or a credential does not name it.";
    IssuerMismatch = 610, "ISSUER_MISMATCH", AfterChange, "A proof's key does not belong to the issuer.";
    InvalidSignature = 611, "INVALID_SIGNATURE", AfterChange, "A proof does not verify over what was read.";
    PresentationTooOld = 612, "PRESENTATION_TOO_OLD", AfterChange, "The presentation is too old or does not say when it was made.";
    PresentationNotYetValid = 613, "PRESENTATION_NOT_YET_VALID", Later, "The presentation is dated in the future.";
    ChainMalformed = 701, "CHAIN_MALFORMED", AfterChange, "The credentials do not form one chain of policies from the owner down.";
    BindingMismatch = 702, "BINDING_MISMATCH", AfterChange, "A credential and its policy, or two hops, do not name the same parties.";
    Expired = 703, "EXPIRED", AfterChange, "A credential or proof has expired.";
    NotYetValid = 704, "NOT_YET_VALID", Later, "A credential is not valid yet.";
    SubjectIssuerMismatch = 705, "SUBJECT_ISSUER_MISMATCH", AfterChange, "A credential delegates for somebody other than its issuer.";
    PolicyIntegrity = 706, "POLICY_INTEGRITY", AfterChange, "A policy is not the one that its credential binds.";
    StatusRetrievalError = 707, "STATUS_RETRIEVAL_ERROR", Later, "It cannot be known whether a credential is still good.";
    Revoked = 708, "REVOKED", AfterChange, "A credential or policy of the chain is revoked.";
    Suspended = 709, "SUSPENDED", Later, "A credential of the chain is suspended.";
    PolicyReferenceMismatch = 801, "POLICY_REFERENCE_MISMATCH", AfterChange, "The intent refers to a policy that the chain does not hold.";
    PolicyDenied = 901, "POLICY_DENIED", AfterChange, "The policies do not permit this.";
    IdentityCompositionFailed = 902, "IDENTITY_COMPOSITION_FAILED", AfterChange, "The acting agent is not the mandate's delegate and shows no chain from it.";
    ObligationUnsupported = 1001, "OBLIGATION_UNSUPPORTED", AfterChange, "The permission carries a duty that this server cannot keep.";
    ClockSteppedBack = 1002, "CLOCK_STEPPED_BACK", Later, "This server's clock went back.";
    BeforeLedgerFloor = 1003, "BEFORE_LEDGER_FLOOR", AfterChange, "The presentation is older than this server's memory of what it has seen.";
    DuplicateMessage = 1004, "DUPLICATE_MESSAGE", Never, "This message was allowed before.";
    MessageIdReused = 1005, "MESSAGE_ID_REUSED", AfterChange, "The message id was used before for another message.";
    ChallengeUsed = 1008, "CHALLENGE_USED", AfterChange, "This presentation's challenge was used before.";
    LedgerUnavailable = 1009, "LEDGER_UNAVAILABLE", Later, "The decision could not be recorded.";
    Internal = 1101, "INTERNAL", Later, "The decision point failed; it permits nothing.";
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| serde::de::Error::custom("unknown reason"))
    }
}

impl Reason {
    /// The wire code of this reason when `stage` gave it: several stages share some reasons. `None` is the binding's own
    /// internal error.
    pub fn wire_code(self, stage: Stage) -> Option<WireCode> {
        match self {
            Self::Internal | Self::LedgerUnavailable | Self::ClockSteppedBack => None,
            Self::ProtocolRequired | Self::ExtensionNotActive | Self::ExtensionNotTagged => {
                Some(WireCode::ProtocolRequired)
            }
            Self::UnknownProtocol | Self::MissingProtocolHash | Self::HashPrefixUnknown => {
                Some(WireCode::UnknownProtocol)
            }
            Self::HashMismatch => Some(WireCode::HashMismatch),
            Self::NoRootForTarget | Self::MixedRoots | Self::AgentMismatch => {
                Some(WireCode::AuthorizationFailed)
            }
            _ => Some(match stage {
                Stage::Admit
                | Stage::Protocol
                | Stage::Intent
                | Stage::Shape
                | Stage::Action
                | Stage::Handshake
                | Stage::Loading => WireCode::ValidationFailed,
                Stage::Presentation | Stage::Chain | Stage::Reference | Stage::Policy | Stage::Admission => {
                    WireCode::AuthorizationFailed
                }
            }),
        }
    }
}

/// The phase of the mandate's verification that refused (`assembly`, A to D, then composition).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// The papers form one chain.
    #[serde(rename = "assembly")]
    Assembly,
    /// Each credential is genuine and current.
    A,
    /// Credentials, policies and hops fit together.
    B,
    /// Status and revocation.
    C,
    /// The ODRL chain.
    D,
    /// The acting agent is composed with the leaf delegate.
    #[serde(rename = "composition")]
    Composition,
}

impl Phase {
    /// The phase's one word, as reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Assembly => "assembly",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::Composition => "composition",
        }
    }
}

/// What a refusal rests on. Every text in it is cut to [`Limits::evidence_chars`]; outputs escape it for their form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// The policy's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The hop, root first, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop: Option<usize>,
    /// The phase of the mandate's verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The credential's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// The SHACL shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The path in a shape, or the JSON pointer of a part or member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The constraint, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// The value that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// The value that would have been right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What else a person needs to know, in our words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A typed no: reason, stage, evidence, and what a person needs to act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    reason: Reason,
    stage: Stage,
    evidence: Box<Evidence>,
    shacl_report: Option<String>,
    earlier_decision: Option<EarlierDecision>,
    holder_verified: bool,
    card_declared: bool,
}

/// The allow that holds a message's id (SEC-12): for the server, never for the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierDecision {
    id: String,
    to_this_peer: bool,
}

impl EarlierDecision {
    /// `peer` asks now, and `reserved` asked then.
    pub(crate) fn new(id: String, reserved: &str, peer: &str) -> Self {
        // Whom nobody authenticated is not who nobody authenticated then.
        Self { id, to_this_peer: !peer.is_empty() && reserved == peer }
    }

    /// Its id. It was an allow: nothing else reserves an id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether whoever asks now is, by its authenticated transport identity, who asked then. Of a duplicate, a server may
    /// then send its earlier *answer* again, which is not to act again: a duplicate is never a permit. To anybody else
    /// it says no more than that it refuses.
    pub fn was_to_this_peer(&self) -> bool {
        self.to_this_peer
    }
}

/// What may leave for the peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PublicRefusal {
    /// The extension's error value; absent for the binding's own internal error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<WireCode>,
    /// The reason, once the holder is verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The SHACL report without literal values of the data, for documents declared on the card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shacl_report: Option<String>,
}

impl Refusal {
    /// A refusal by `stage`, without evidence yet.
    pub(crate) fn new(stage: Stage, reason: Reason) -> Self {
        Self {
            reason,
            stage,
            evidence: Box::default(),
            shacl_report: None,
            earlier_decision: None,
            holder_verified: false,
            card_declared: false,
        }
    }

    /// A broken invariant of our own: refuses in production, fails the tests.
    pub(crate) fn internal(stage: Stage, detail: &'static str) -> Self {
        Self::new(stage, Reason::Internal).detail(detail)
    }

    /// Fills in evidence; every text is bounded here.
    pub(crate) fn with(mut self, fill: impl FnOnce(&mut Evidence)) -> Self {
        fill(&mut self.evidence);
        self.evidence.bound(Limits::default().evidence_chars);
        self
    }

    /// Bounds every text of the evidence to what the configuration allows, which may be less.
    pub(crate) fn cut_to(mut self, chars: usize) -> Self {
        self.evidence.bound(chars);
        self
    }

    /// Adds one line of explanation in our words.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        self.with(|evidence| evidence.detail = Some(detail))
    }

    /// Attaches a W3C validation report, in Turtle.
    pub(crate) fn with_shacl_report(mut self, turtle: String) -> Self {
        self.shacl_report = Some(turtle);
        self
    }

    /// Names the first decision of a duplicate, for the server alone.
    pub(crate) fn with_earlier_decision(mut self, earlier: Option<EarlierDecision>) -> Self {
        self.earlier_decision = earlier;
        self
    }

    /// Records what the audience rule of [`Refusal::public`] turns on.
    pub(crate) fn seen_by(mut self, holder_verified: bool, card_declared: bool) -> Self {
        self.holder_verified = holder_verified;
        self.card_declared = card_declared;
        self
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Which stage said no.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The extension's error value, or `None` for the binding's own internal error.
    pub fn wire_code(&self) -> Option<WireCode> {
        self.reason.wire_code(self.stage)
    }

    /// What the refusal rests on.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The W3C validation report in Turtle, for a shape violation. It may hold values of the data.
    pub fn shacl_report(&self) -> Option<&str> {
        self.shacl_report.as_deref()
    }

    /// For a duplicate or a reused id: the decision that holds it. For the server, never for the peer.
    pub fn earlier_decision(&self) -> Option<&EarlierDecision> {
        self.earlier_decision.as_ref()
    }

    /// What may leave for the peer. Until the holder is verified, the wire code alone (and, for a document that our
    /// card declares, the SHACL report without literals of the data); afterwards the reason too, except that an
    /// unknown target reads as a denial and our own failures read as `TEMPORARY`.
    pub fn public(&self) -> PublicRefusal {
        let wire = self.wire_code();
        let reason = match self.reason {
            _ if !self.holder_verified => None,
            Reason::NoRootForTarget => Some(Reason::PolicyDenied.as_str()),
            _ if wire.is_none() => Some("TEMPORARY"),
            reason => Some(reason.as_str()),
        };
        let shacl_report = if self.card_declared {
            self.shacl_report.as_deref().map(crate::shape::without_data_literals)
        } else {
            None
        };
        PublicRefusal { error: wire, reason, shacl_report }
    }
}

impl Evidence {
    fn bound(&mut self, chars: usize) {
        let texts = [
            &mut self.policy,
            &mut self.credential,
            &mut self.shape,
            &mut self.path,
            &mut self.constraint,
            &mut self.seen,
            &mut self.expected,
            &mut self.detail,
        ];
        texts.into_iter().flatten().for_each(|text| cut(text, chars));
    }
}

/// Cuts a text to some characters and an ellipsis, where it is longer.
pub(crate) fn cut(text: &mut String, chars: usize) {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
        text.push('…');
    }
}

impl fmt::Display for Refusal {
    /// The reason and its sentence. Sender text is not part of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.reason.as_str(), self.stage.as_str(), self.reason.sentence())
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_code_and_word() {
        let mut codes: Vec<_> = Reason::ALL.iter().map(|reason| reason.code()).collect();
        let mut words: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        words.sort_unstable();
        words.dedup();
        assert_eq!((codes.len(), words.len()), (Reason::ALL.len(), Reason::ALL.len()));
        assert!(Reason::ALL.iter().all(|reason| reason.as_str().parse() == Ok(*reason)));
    }

    #[test]
    fn evidence_is_cut_at_its_bound() {
        let long = "é".repeat(10_000);
        let refusal =
            Refusal::new(Stage::Admit, Reason::MessageMalformed).with(|evidence| evidence.seen = Some(long));
        let seen = refusal.evidence().seen.clone().unwrap_or_default();
        assert_eq!(seen.chars().count(), Limits::default().evidence_chars + 1);
    }
}
