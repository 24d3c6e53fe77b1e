//! `verify-agent-authority`: credentials and policies of a chain, and of the actor's, against one request.

use super::delegated_chain::{Revocations, strings, terms};
use super::papers::{World, credential, now};
use super::{Folder, member, text};
use crate::cli::Failure;
use crate::config::Config;
use crate::ledger::{Revoked, StatusMemory};
use crate::mandate::chain::apart::{Apart, GivenChain};
use crate::mandate::odrl::{self, PolicyGrant};
use crate::message::ActionsUnderTest;
use crate::message::action::ActionUnderTest;
use crate::rdf::Budget;
use crate::refusal::{Phase, Reason, Refusal};
use crate::request::{Actor, CallerFacts, MessageInput, Request, Snapshot};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn run(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let World { config, snapshot, .. } = World::of(input, folder, now(input)?)?;
    let max_chain_length = match input.get("maxChainLength") {
        None => config.max_chain_length,
        Some(most) => {
            usize::try_from(most.as_u64().ok_or_else(|| Failure::new("`maxChainLength` is no count"))?)?
        }
    };
    let config = Config { max_chain_length, ..config };
    let Revocations { ids, unreadable } = Revocations::of(input, folder)?;
    let revoked = Revoked { ids, ..Revoked::default() };
    let memory = Arc::new(StatusMemory { revoked, ..StatusMemory::default() });
    let snapshot = Snapshot { memory, ..snapshot };
    let status_unreachable = input.get("statusUnreachable") == Some(&Value::Bool(true));
    let apart = |status_unreachable| Apart { snapshot: &snapshot, config: &config, status_unreachable };
    let mut judged = judge(input, folder, &apart(status_unreachable))?;
    // A revocation that cannot be read is one that nobody knows the content of, but for what it does say.
    if unreadable && !judged.as_ref().is_err_and(|refusal| refusal.reason() == Reason::Revoked) {
        judged = judge(input, folder, &apart(true))?;
    }
    Ok(match judged {
        Ok(()) => json!({ "authorized": true, "phase": "complete" }),
        Err(refusal) => {
            let phase = refusal.evidence().phase.unwrap_or(Phase::A);
            let detail = &refusal.evidence().detail;
            json!({ "authorized": false, "phase": phase, "code": refusal.reason(), "detail": detail })
        }
    })
}

fn judge(input: &Value, folder: &Folder, apart: &Apart<'_>) -> Result<Result<(), Refusal>, Failure> {
    let mut budget = Budget::new(&apart.config.limits);
    let root = text(input, "rootPrincipal")?;
    let actor = input.get("actor").and_then(Value::as_str);
    let primary = given(member(input, "primaryChain")?, folder, &mut budget)?;
    let secondary = match (actor, input.get("actorChain")) {
        (Some(_), Some(chain)) if holds_something(chain) => Some(given(chain, folder, &mut budget)?),
        _ => None,
    };
    let chain = match apart.chain(root, &primary, secondary.as_ref(), &mut budget) {
        Ok(chain) => chain,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let asked = member(input, "request")?;
    let actions = actions(asked, root)?;
    let request = Request {
        message: MessageInput::Bytes(Vec::new()),
        facts: CallerFacts::new("vectors", Actor::Unauthenticated, ""),
        snapshot: apart.snapshot.clone(),
    };
    // Without an actor nothing is composed: the leaf delegate acts itself.
    let actor = actor.unwrap_or(chain.leaf_delegate());
    Ok(PolicyGrant::evaluate_apart(&chain, &actions, actor, &request, apart.config).map(|_| ()))
}

/// A chain of nothing is none.
fn holds_something(chain: &Value) -> bool {
    ["credentials", "policies"].iter().any(|list| chain.get(list).is_some_and(|list| *list != json!([])))
}

fn given(chain: &Value, folder: &Folder, budget: &mut Budget) -> Result<GivenChain, Failure> {
    let list =
        |name| member(chain, name)?.as_array().ok_or_else(|| Failure::new(format!("`{name}` is not a list")));
    let mut credentials = Ok(Vec::new());
    for paper in list("credentials")? {
        let read = credential(paper, folder, budget)?;
        credentials = credentials.and_then(|mut all: Vec<_>| {
            all.push(Arc::new(read?));
            Ok(all)
        });
    }
    let policies = strings(member(chain, "policies")?)?;
    let policies = policies.into_iter().map(|policy| folder.rdf(policy)).collect::<Result<_, _>>()?;
    Ok(GivenChain { credentials, policies })
}

fn actions(asked: &Value, root: &str) -> Result<ActionsUnderTest, Failure> {
    let mut stated = BTreeMap::new();
    for (name, value) in asked.get("attributes").and_then(Value::as_object).into_iter().flatten() {
        let values = terms(value)?;
        if !values.is_empty() {
            stated.insert(name.clone(), values);
        }
    }
    let action = odrl::action_of_name(text(asked, "action")?);
    let action =
        ActionUnderTest { class: action.clone(), action, target: text(asked, "target")?.to_owned(), stated };
    Ok(ActionsUnderTest {
        actions: vec![action],
        root_principal: root.to_owned(),
        policy_references: Vec::new(),
        agent: None,
        unjudged_nodes: Vec::new(),
    })
}
