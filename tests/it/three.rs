//! A chain of three hops with a bit of everything: the owner, its agent, an organisation, and that organisation's own
//! agent, who presents.

use crate::support::{engine, noon, octets, world};
use chrono::TimeDelta;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use std::io::Write as _;
use std::sync::Arc;
use writgate::credential::StatusLists;
use writgate::credential::issue::SigningKey;
use writgate::worked_example::{
    ALICE, Ask, Intent, MANDATE_POLICY, MandateDraft, NOTES, PURPOSE, PolicyBinding, World, sign,
};
use writgate::{Actor, CallerFacts, Engine, Evaluation, Request, Snapshot};

pub const MIDDLE: &str = "https://agent.example/policies/to-organisation";
pub const LEAF: &str = "https://organisation.example/policies/to-worker";
pub const LIST: &str = "https://agent.example/status/1";
pub const PREFIXES: &str = "PREFIX acl: <http://www.w3.org/ns/auth/acl#>
PREFIX odrl: <http://www.w3.org/ns/odrl/2/>
PREFIX odrld: <https://w3id.org/jeswr/odrl-delegation#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
";

/// The drafts of the chain, root first, and all that its judgement depends on.
pub struct Three {
    pub world: World,
    pub worker: SigningKey,
    pub hops: [MandateDraft; 3],
    pub lists: StatusLists,
    pub actor: String,
}

/// A constraint in Turtle.
pub fn constraint(operand: &str, operator: &str, right: &str) -> String {
    format!(
        "odrl:constraint [ odrl:leftOperand {operand} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"
    )
}

/// A permission on the notes in Turtle, with more about it.
pub fn permission(action: &str, more: &str) -> String {
    format!("odrl:permission [ odrl:action {action} ; odrl:target <{NOTES}> {more} ]")
}

/// An agreement in Turtle.
pub fn agreement(id: &str, assigner: &str, assignee: &str, parent: Option<&str>, rules: &[String]) -> String {
    let under = parent.map(|parent| format!("; odrld:delegatedUnder <{parent}> ")).unwrap_or_default();
    format!(
        "{PREFIXES}<{id}> a odrl:Agreement ; odrl:profile <https://w3id.org/jeswr/odrl-delegation> ; \
         odrl:assigner <{assigner}> ; odrl:assignee <{assignee}> {under}; {} .",
        rules.join(" ; ")
    )
}

/// A status list credential by `key` in which no bit is set.
pub fn status_list(key: &SigningKey, url: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&[0; 131_072 / 8]).unwrap();
    let bits = encoder.finish().unwrap();
    let encoded = format!("u{}", base64_url(&bits));
    let document = json!({
        "@context": ["https://www.w3.org/ns/credentials/v2"],
        "id": url,
        "type": ["VerifiableCredential", "BitstringStatusListCredential"],
        "issuer": key.controller(),
        "validFrom": "2026-11-01T00:00:00Z",
        "credentialSubject": {
            "id": format!("{url}#list"),
            "type": "BitstringStatusList",
            "statusPurpose": "revocation",
            "encodedList": encoded,
        },
    });
    sign(key, document, "assertionMethod", noon() - TimeDelta::days(1), Map::new()).unwrap().to_string()
}

fn base64_url(octets: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(octets)
}

impl Three {
    pub fn new() -> Self {
        let world = world();
        let worker = SigningKey::from_seed([7; 32]);
        let (agent, organisation) = (world.agent_id(), world.mallory.did_key());
        let purpose = constraint("odrl:purpose", "eq", &format!("<{PURPOSE}>"));
        let depth = |bound: u32| constraint("odrld:delegationDepth", "lteq", &bound.to_string());
        let plain = world.mandate_draft().unwrap();
        let root = MandateDraft {
            binding: PolicyBinding::Digest,
            authorizes: agent.clone(),
            policy: agreement(
                MANDATE_POLICY,
                ALICE,
                &agent,
                None,
                &[
                    permission(
                        "odrl:read",
                        &format!(
                            "; {purpose} ; odrl:duty [ odrl:action odrl:inform ; odrl:target <{ALICE}> ]"
                        ),
                    ),
                    permission(
                        "odrl:grantUse",
                        &format!(
                            "; {} ; odrl:duty [ odrl:action odrl:nextPolicy ; odrl:target <{MIDDLE}> ]",
                            depth(2)
                        ),
                    ),
                    format!("odrl:prohibition [ odrl:action odrl:delete ; odrl:target <{NOTES}> ]"),
                ],
            ),
            ..plain.clone()
        };
        let before = constraint("odrl:dateTime", "lt", "\"2027-01-01T00:00:00Z\"^^xsd:dateTime");
        let middle = MandateDraft {
            id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000012".to_owned(),
            key: world.agent.clone(),
            authorizes: organisation.clone(),
            policy: agreement(
                MIDDLE,
                &agent,
                &organisation,
                Some(MANDATE_POLICY),
                &[
                    permission(
                        "odrl:read",
                        &format!("; {before} ; {}", constraint("odrl:count", "lteq", "5")),
                    ),
                    permission("odrl:grantUse", &format!("; {}", depth(1))),
                ],
            ),
            changes: vec![
                (&["credentialSubject", "action"], "read".into()),
                (&["credentialSubject", "target"], NOTES.into()),
                (
                    &["credentialStatus"],
                    json!({
                        "type": "BitstringStatusListEntry",
                        "statusPurpose": "revocation",
                        "statusListIndex": "4711",
                        "statusListCredential": LIST,
                    }),
                ),
            ],
            ..plain.clone()
        };
        let leaf = MandateDraft {
            id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000013".to_owned(),
            key: world.mallory.clone(),
            authorizes: worker.did_key(),
            policy: agreement(
                LEAF,
                &organisation,
                &worker.did_key(),
                Some(MIDDLE),
                &[permission("odrl:read", &format!("; {purpose}"))],
            ),
            ..plain
        };
        let mut lists = StatusLists::default();
        lists.insert(LIST, status_list(&world.agent, LIST), "application/vc", noon() - TimeDelta::minutes(5));
        let actor = worker.did_key();
        Self { world, worker, hops: [root, middle, leaf], lists, actor }
    }

    /// The same chain with one text of a hop's policy replaced by another.
    pub fn says(mut self, hop: usize, from: &str, to: &str) -> Self {
        assert!(self.hops[hop].policy.contains(from), "{from} in {}", self.hops[hop].policy);
        self.hops[hop].policy = self.hops[hop].policy.replace(from, to);
        self
    }

    /// The credentials, root first.
    pub fn credentials(&self) -> Vec<Value> {
        self.hops.iter().map(|hop| hop.issue().unwrap()).collect()
    }

    pub fn ask(&self) -> Ask {
        self.ask_with(self.credentials())
    }

    /// The message of the worker with these credentials, and with the documents of the hops that are bound by digest.
    pub fn ask_with(&self, credentials: Vec<Value>) -> Ask {
        let mut ask = self.world.ask(Intent::read(NOTES), noon() - TimeDelta::seconds(1)).unwrap();
        ask.key = self.worker.clone();
        ask.policies = self
            .hops
            .iter()
            .filter(|hop| hop.binding == PolicyBinding::Digest)
            .map(|hop| (hop.policy.clone(), "text/turtle".to_owned()))
            .collect();
        ask.credentials = credentials;
        ask
    }

    pub fn facts(&self) -> CallerFacts {
        let mut facts = self.world.facts();
        facts.actor = Actor::Authenticated(self.actor.clone());
        facts
    }

    pub fn snapshot(&self, engine: &Engine) -> Snapshot {
        let mut snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
        snapshot.status_lists = Arc::new(self.lists.clone());
        snapshot
    }

    pub fn judge(&self) -> Judge {
        let engine = engine();
        let snapshot = self.snapshot(&engine);
        Judge { facts: self.facts(), engine, snapshot }
    }

    /// The verdict on the chain as it is.
    pub fn evaluate(&self) -> Evaluation {
        self.judge().message(&self.ask().message().unwrap())
    }
}

/// One engine for many messages.
pub struct Judge {
    pub engine: Engine,
    pub facts: CallerFacts,
    pub snapshot: Snapshot,
}

impl Judge {
    pub fn message(&self, message: &Value) -> Evaluation {
        let (facts, snapshot) = (self.facts.clone(), self.snapshot.clone());
        self.engine.evaluate(&Request { message: octets(message), facts, snapshot })
    }
}

#[test]
fn a_chain_of_three_hops_with_a_bit_of_everything_is_granted() {
    let three = Three::new();
    let evaluation = three.evaluate();
    crate::support::assert_granted(&evaluation);
    let report = evaluation.report;
    assert_eq!(report.chain.len(), 3);
    assert_eq!(report.obligations.len(), 1, "the root's duty comes along: {:?}", report.obligations);
}
