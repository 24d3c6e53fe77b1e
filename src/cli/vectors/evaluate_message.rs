//! `evaluate-message`: a message, the caller's facts and the instant, through the engine's stages 1 to 9.

use super::{Folder, text};
use crate::cli::Failure;
use crate::config::ConfigFile;
use crate::credential::{IssuedChallenges, JudgedChallenge};
use crate::decision::Outcome;
use crate::engine::{Engine, SystemClock};
use crate::ledger::SqliteLedger;
use crate::request::{Actor, CallerFacts, Conversation, Instant, MessageInput, Request, Snapshot};
use crate::vocab::EXTENSION;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The caller's facts of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Facts {
    #[serde(default = "anybody")]
    peer: String,
    context: Option<String>,
    actor: Option<String>,
    activated: Option<BTreeSet<String>>,
    challenge: Option<String>,
    domain: Option<String>,
    #[serde(default)]
    vouched: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    discharged: BTreeSet<(String, Option<String>)>,
    #[serde(default)]
    agreed: BTreeSet<String>,
    #[serde(default)]
    prose_forbidden: bool,
}

/// The part of a case's snapshot that the configuration does not give.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Moment {
    instant: Instant,
    #[serde(default)]
    revoked: BTreeSet<String>,
    #[serde(default)]
    counts: BTreeMap<String, u64>,
    /// What the issuer said of a challenge; absent: none is issued.
    issued: Option<JudgedChallenge>,
}

fn anybody() -> String {
    "vectors".to_owned()
}

/// Input: `message` (a file of JSON octets, or the octets themselves), `facts`, `snapshot`, and `config` (a file of the
/// suite's folder; `writgate.toml` if absent).
pub(super) fn run(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let facts: Facts = serde_json::from_value(input.get("facts").cloned().unwrap_or_default())?;
    let moment: Moment = serde_json::from_value(input.get("snapshot").cloned().unwrap_or_default())?;
    let config = input.get("config").and_then(Value::as_str).unwrap_or("writgate.toml");
    let config = ConfigFile::read(&folder.suite.join(config))?.load(moment.instant)?;
    let ledger = SqliteLedger::in_memory(config.default_domain(), moment.instant, config.skew())?;
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
    let conversation = conversation(&facts);
    let facts = caller_facts(facts);
    let issued = moment.issued.map_or(IssuedChallenges::NoIssuer, IssuedChallenges::Recorded);
    let mut snapshot =
        Snapshot { counts: moment.counts, conversation, issued, ..engine.snapshot(&facts, moment.instant)? };
    Arc::make_mut(&mut snapshot.memory).revoked.ids.extend(moment.revoked);
    let message = MessageInput::Bytes(folder.octets(text(input, "message")?)?);
    let evaluation = engine.evaluate(&Request { message, facts, snapshot });
    Ok(match evaluation.outcome {
        Outcome::Granted(grant) => json!({
            "outcome": "granted",
            "obligations": grant.obligations().iter().map(|duty| &duty.action).collect::<Vec<_>>(),
        }),
        Outcome::Refused(refusal) => json!({
            "outcome": "refused",
            "wireCode": refusal.wire_code(),
            "reason": refusal.reason(),
            "stage": refusal.stage(),
        }),
        Outcome::NotOurs(_) => json!({ "outcome": "not-ours" }),
    })
}

fn conversation(facts: &Facts) -> Conversation {
    Conversation {
        agreed: facts.agreed.clone(),
        prose_forbidden: facts.prose_forbidden,
        ..Conversation::default()
    }
}

fn caller_facts(facts: Facts) -> CallerFacts {
    CallerFacts {
        prose_forbidden: facts.prose_forbidden,
        peer: facts.peer.into(),
        context: facts.context,
        actor: facts.actor.map_or(Actor::Unauthenticated, Actor::Authenticated),
        activated: facts.activated.unwrap_or_else(|| [EXTENSION.to_owned()].into()),
        challenge: facts.challenge,
        domain: facts.domain,
        vouched: facts.vouched,
        discharged: facts.discharged,
    }
}
