//! What one decision was asked and what was known, as a blob, and the request made from it again.

use super::{Blob, BlobKind, EvidenceDigests, EvidenceError, EvidenceMode, unreadable};
use crate::audit::Consulted;
use crate::config::Config;
use crate::credential::{IssuedChallenges, JudgedChallenge};
use crate::ledger::{ListKey, ListMark, Revoked, RevokedEntry, RevokedPolicy, StatusMemory};
use crate::limits::Limits;
use crate::message::Digest;
use crate::message::admit::check_typed_depth;
use crate::request::{Actor, CallerFacts, Conversation, Instant, MessageInput, Peer, Request, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const VERSION: &str = "RequestEvidenceV1";

/// Octets of a message that are kept. No limit lets a larger one be read: of it, the report says that and its digest.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// The evidence of one decision.
#[derive(Debug)]
pub(crate) struct DecisionEvidence {
    pub(crate) digests: EvidenceDigests,
    /// What is to be kept: nothing, where only digests are.
    pub(crate) blobs: Vec<Blob>,
}

impl DecisionEvidence {
    /// The evidence of a request that was answered under `config`, whose manifest is `configuration`, by what its
    /// evaluation consulted.
    ///
    /// # Errors
    /// A value that JSON cannot write; a request holds none.
    pub(crate) fn of(
        request: &Request,
        consulted: &Consulted,
        config: &Config,
        configuration: Digest,
        mode: EvidenceMode,
    ) -> Result<Self, serde_json::Error> {
        let (form, message) = message_of(&request.message, &config.limits)?;
        let message = Blob::new(message);
        let request = Blob::new(serde_json::to_vec(&RequestForm::of(request, consulted, form))?);
        let (message_digest, request_digest) = (message.digest(), request.digest());
        let blobs = match mode {
            EvidenceMode::Full if message.octets().len() > MAX_MESSAGE_BYTES => Vec::new(),
            EvidenceMode::Full => vec![message, request],
            EvidenceMode::Digests => Vec::new(),
        };
        let kept = !blobs.is_empty();
        let digests =
            EvidenceDigests { kept, message: message_digest, request: request_digest, configuration };
        Ok(Self { digests, blobs })
    }
}

/// How a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MessageForm {
    /// As octets, which are the blob.
    Octets,
    /// Parsed by the caller. The blob is what its types write.
    Typed,
    /// Parsed by the caller, and too deep to be written. The blob is empty, and nothing more was read of it.
    TypedTooDeep,
}

fn message_of(message: &MessageInput, limits: &Limits) -> Result<(MessageForm, Vec<u8>), serde_json::Error> {
    match message {
        MessageInput::Bytes(octets) => Ok((MessageForm::Octets, octets.clone())),
        MessageInput::Typed(message) if check_typed_depth(message, limits).is_err() => {
            Ok((MessageForm::TypedTooDeep, Vec::new()))
        }
        // Through a value, whose members have an order: the message's own maps have none.
        MessageInput::Typed(message) => {
            Ok((MessageForm::Typed, serde_json::to_vec(&serde_json::to_value(message)?)?))
        }
    }
}

fn message_again(form: MessageForm, octets: Vec<u8>, limits: &Limits) -> Result<MessageInput, EvidenceError> {
    match form {
        MessageForm::Octets => Ok(MessageInput::Bytes(octets)),
        MessageForm::Typed => serde_json::from_slice(&octets)
            .map(|message| MessageInput::Typed(Box::new(message)))
            .map_err(|cause| unreadable(BlobKind::Message, cause)),
        MessageForm::TypedTooDeep => {
            let deep = (0..=limits.json_depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
            let part = a2a::Part {
                content: a2a::PartContent::Data(deep),
                filename: None,
                media_type: None,
                metadata: None,
            };
            Ok(MessageInput::Typed(Box::new(a2a::Message::new(a2a::Role::User, vec![part]))))
        }
    }
}

/// The request but for its message and its configuration's documents. It is written with its members in this order and
/// with exact numbers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RequestForm {
    version: String,
    message: MessageForm,
    instant: Instant,
    generation: u64,
    facts: Facts,
    conversation: ConversationForm,
    memory: Memory,
    counts: BTreeMap<String, u64>,
    /// The issued challenge that was asked about, and what its issuer said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    challenge: Option<JudgedChallenge>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Facts {
    peer: Option<String>,
    context: Option<String>,
    actor: Option<String>,
    activated: BTreeSet<String>,
    challenge: Option<String>,
    domain: Option<String>,
    vouched: BTreeMap<String, Vec<String>>,
    discharged: BTreeSet<(String, Option<String>)>,
    prose_forbidden: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ConversationForm {
    agreed: BTreeSet<String>,
    prose_forbidden: bool,
    prose_forbidden_elsewhere: bool,
    of_another_peer: bool,
}

/// What was consulted of the memory of earlier decisions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Memory {
    revoked: BTreeSet<String>,
    /// Publisher and policy.
    revoked_policies: BTreeSet<(String, String)>,
    /// Issuer, list and index.
    revoked_entries: BTreeSet<(String, String, u64)>,
    lists: Vec<List>,
    forgotten: Option<Instant>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct List {
    issuer: String,
    url: String,
    valid_from: Option<Instant>,
    digest: Digest,
    accepted: Instant,
}

impl RequestForm {
    fn of(request: &Request, consulted: &Consulted, message: MessageForm) -> Self {
        // Without `..`, here and below: what is new stands here, or says why no answer turns on it.
        let Request { message: _, facts, snapshot } = request;
        let Snapshot {
            instant,
            generation,
            conversation,
            // What was consulted of them is below.
            memory: _,
            counts: _,
            issued: _,
            // The configuration's.
            controllers: _,
            status_lists: _,
        } = snapshot;
        // Which policies count is found anew.
        let Consulted { memory, counts, counted: _, challenge } = consulted;
        Self {
            version: VERSION.to_owned(),
            message,
            instant: *instant,
            generation: *generation,
            facts: Facts::of(facts),
            conversation: ConversationForm::of(conversation),
            memory: Memory::of(memory),
            counts: counts.clone(),
            challenge: challenge.clone(),
        }
    }
}

impl Facts {
    fn of(facts: &CallerFacts) -> Self {
        let CallerFacts {
            peer,
            context,
            actor,
            activated,
            challenge,
            domain,
            vouched,
            discharged,
            prose_forbidden,
        } = facts.clone();
        Self {
            peer: match peer {
                Peer::Authenticated(identity) => Some(identity),
                Peer::Unauthenticated => None,
            },
            context,
            actor: match actor {
                Actor::Authenticated(actor) => Some(actor),
                Actor::Unauthenticated => None,
            },
            activated,
            challenge,
            domain,
            vouched,
            discharged,
            prose_forbidden,
        }
    }

    fn again(self) -> CallerFacts {
        CallerFacts {
            peer: self.peer.map_or(Peer::Unauthenticated, Peer::Authenticated),
            context: self.context,
            actor: self.actor.map_or(Actor::Unauthenticated, Actor::Authenticated),
            activated: self.activated,
            challenge: self.challenge,
            domain: self.domain,
            vouched: self.vouched,
            discharged: self.discharged,
            prose_forbidden: self.prose_forbidden,
        }
    }
}

impl ConversationForm {
    fn of(conversation: &Conversation) -> Self {
        let Conversation { agreed, prose_forbidden, prose_forbidden_elsewhere, of_another_peer } =
            conversation;
        Self {
            agreed: agreed.clone(),
            prose_forbidden: *prose_forbidden,
            prose_forbidden_elsewhere: *prose_forbidden_elsewhere,
            of_another_peer: *of_another_peer,
        }
    }

    fn again(self) -> Conversation {
        Conversation {
            agreed: self.agreed,
            prose_forbidden: self.prose_forbidden,
            prose_forbidden_elsewhere: self.prose_forbidden_elsewhere,
            of_another_peer: self.of_another_peer,
        }
    }
}

impl Memory {
    fn of(memory: &StatusMemory) -> Self {
        let StatusMemory { revoked, lists, forgotten } = memory;
        let Revoked { ids, policies, entries } = revoked;
        let policies =
            policies.iter().map(|RevokedPolicy { publisher, policy }| (publisher.clone(), policy.clone()));
        let entries =
            entries.iter().map(|RevokedEntry { issuer, list, index }| (issuer.clone(), list.clone(), *index));
        let lists =
            lists.iter().map(|(ListKey { issuer, url }, ListMark { valid_from, digest, accepted })| List {
                issuer: issuer.clone(),
                url: url.clone(),
                valid_from: *valid_from,
                digest: *digest,
                accepted: *accepted,
            });
        Self {
            revoked: ids.clone(),
            revoked_policies: policies.collect(),
            revoked_entries: entries.collect(),
            lists: lists.collect(),
            forgotten: *forgotten,
        }
    }

    fn again(self) -> StatusMemory {
        let policies = self.revoked_policies.into_iter();
        let entries = self.revoked_entries.into_iter();
        let lists = self.lists.into_iter().map(|List { issuer, url, valid_from, digest, accepted }| {
            (ListKey { issuer, url }, ListMark { valid_from, digest, accepted })
        });
        StatusMemory {
            revoked: Revoked {
                ids: self.revoked,
                policies: policies.map(|(publisher, policy)| RevokedPolicy { publisher, policy }).collect(),
                entries: entries.map(|(issuer, list, index)| RevokedEntry { issuer, list, index }).collect(),
            },
            lists: lists.collect(),
            forgotten: self.forgotten,
        }
    }
}

/// The request that a blob describes, about a message, under a configuration.
pub(super) fn rebuilt(request: &[u8], message: Vec<u8>, config: &Config) -> Result<Request, EvidenceError> {
    let form: RequestForm =
        serde_json::from_slice(request).map_err(|cause| unreadable(BlobKind::Request, cause))?;
    if form.version != VERSION {
        return Err(unreadable(BlobKind::Request, format!("it is of version {}", form.version)));
    }
    let snapshot = Snapshot {
        instant: form.instant,
        generation: form.generation,
        conversation: form.conversation.again(),
        memory: Arc::new(form.memory.again()),
        counts: form.counts,
        controllers: Arc::clone(&config.controllers),
        status_lists: Arc::clone(&config.status_lists),
        issued: form.challenge.map_or(IssuedChallenges::NoIssuer, IssuedChallenges::Recorded),
    };
    Ok(Request {
        message: message_again(form.message, message, &config.limits)?,
        facts: form.facts.again(),
        snapshot,
    })
}
