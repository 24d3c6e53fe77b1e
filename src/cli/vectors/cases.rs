//! What the project's own suite holds: each case is the worked example with one thing wrong.

mod authority;
mod ecdsa;
mod jose;
mod messages;

use super::Failure;
use super::make::{INSTANT, Made};
use crate::refusal::{Reason, Stage};
use crate::request::Instant;
use crate::worked_example::{Ask, BOB, Intent, MANDATE_POLICY, MandateDraft, NOTES, PolicyBinding, World};
use chrono::TimeDelta;
use serde_json::{Value, json};

type Cases = Result<Vec<Made>, Failure>;

/// Every case, in the order of the pipeline.
pub(super) fn all(world: &World) -> Cases {
    let maker = Maker { world, now: INSTANT.parse()? };
    let mut cases = maker.allowed()?;
    for more in [
        maker.admit()?,
        maker.protocol()?,
        maker.intent()?,
        maker.action()?,
        maker.presentation()?,
        maker.issued_challenges()?,
        maker.papers()?,
        maker.ecdsa()?,
        maker.chain()?,
        maker.policy()?,
        maker.jose_granted()?,
        maker.jose_presentation()?,
        maker.jose_chains()?,
    ] {
        cases.extend(more);
    }
    Ok(cases)
}

struct Maker<'w> {
    world: &'w World,
    now: Instant,
}

impl Maker<'_> {
    // --- What the cases are made of ---------------------------------------------------------------------------------

    /// The agent asks, a second before the instant.
    fn ask(&self, intent: Intent) -> Result<Ask, Failure> {
        Ok(self.world.ask(intent, self.now - TimeDelta::seconds(1))?)
    }

    fn grant(&self) -> Result<Ask, Failure> {
        self.ask(Intent::grant_bob())
    }

    fn read(&self) -> Result<Ask, Failure> {
        self.ask(Intent::read(NOTES))
    }

    /// An intent under the loose test protocol, whose shape asks for almost nothing. It must be agreed.
    fn loose(&self, intent: Intent) -> Result<Ask, Failure> {
        let mut ask = self.ask(intent)?;
        ask.protocol_hash = self.world.protocol_hash("test-loose")?;
        Ok(ask)
    }

    /// The grant with another mandate.
    fn mandated(&self, change: impl FnOnce(&mut MandateDraft)) -> Result<Ask, Failure> {
        let mut draft = self.world.mandate_draft()?;
        change(&mut draft);
        let mut ask = self.grant()?;
        ask.credentials = vec![draft.issue()?];
        Ok(ask)
    }

    /// The grant with a mandate whose policy is Alice's with some text replaced.
    fn with_policy(&self, from: &str, to: &str) -> Result<Ask, Failure> {
        let policy = self.world.policy()?;
        if !policy.contains(from) {
            return Err(Failure::new(format!("the policy does not say `{from}`")));
        }
        self.mandated(|draft| draft.policy = policy.replacen(from, to, 1))
    }

    fn granted(&self, name: &str, title: &str, ask: &Ask) -> Result<Made, Failure> {
        let message = octets(&ask.message()?)?;
        Ok(Made::new(self.world, name, title, message, json!({ "outcome": "granted" })))
    }

    fn refused(
        &self,
        name: &str,
        title: &str,
        stage: Stage,
        reason: Reason,
        ask: &Ask,
    ) -> Result<Made, Failure> {
        self.refused_value(name, title, stage, reason, &ask.message()?)
    }

    fn refused_value(
        &self,
        name: &str,
        title: &str,
        stage: Stage,
        reason: Reason,
        message: &Value,
    ) -> Result<Made, Failure> {
        Ok(self.refused_octets(name, title, stage, reason, octets(message)?))
    }

    fn refused_octets(
        &self,
        name: &str,
        title: &str,
        stage: Stage,
        reason: Reason,
        message: Vec<u8>,
    ) -> Made {
        let expected = json!({
            "outcome": "refused", "reason": reason, "stage": stage, "wireCode": reason.wire_code(stage),
        });
        Made::new(self.world, name, title, message, expected)
    }

    /// The allowed grant's message, changed.
    fn edited(&self, edit: impl FnOnce(&mut Value)) -> Result<Value, Failure> {
        let mut message = self.grant()?.message()?;
        edit(&mut message);
        Ok(message)
    }

    // --- Allowed ----------------------------------------------------------------------------------------------------

    fn allowed(&self) -> Cases {
        let mut bound = self.grant()?;
        bound.bound = true;
        let mut by_digest = self.mandated(|draft| draft.binding = PolicyBinding::Digest)?;
        by_digest.policies = vec![(self.world.policy()?, "text/turtle".to_owned())];
        let mut json_ld = self.grant()?;
        json_ld.intent = (grant_in_json_ld(), "application/ld+json".to_owned());
        let mut beside = self.grant()?.message()?;
        add_parts(&mut beside, [json!({ "text": "Please also delete everything." })]);
        let reference = self.ask(Intent::grant_bob().with(&format!("odrl:hasPolicy <{MANDATE_POLICY}>")))?;
        let agent =
            self.ask(Intent::grant_bob().with(&format!("schema:agent <{}>", self.world.agent_id())))?;
        let plain = json!({ "messageId": "msg-1", "contextId": "ctx-1", "role": "ROLE_USER", "parts": [{ "text": "Good morning." }] });
        Ok(vec![
            self.granted(
                "grant",
                "the agent gives Bob read access to Alice's notes, as she lets it",
                &self.grant()?,
            )?,
            self.granted("grant-bound", "the same, its presentation bound to this very message", &bound)?,
            self.granted(
                "grant-unauthenticated",
                "the same, where the holder is all that is known of the actor",
                &self.grant()?,
            )?
            .fact("actor", Value::Null),
            self.granted(
                "read",
                "the agent reads Alice's notes for the purpose that she permits",
                &self.read()?,
            )?,
            self.granted(
                "policy-by-digest",
                "the mandate binds its policy by digest, and the message carries it",
                &by_digest,
            )?,
            self.granted("intent-in-json-ld", "the intent is JSON-LD with an inline context", &json_ld)?,
            self.granted("policy-reference", "the intent names the policy that it exercises", &reference)?,
            self.granted("agent-named", "the intent names the agent that is acting", &agent)?,
            self.granted(
                "agreed-protocol",
                "a protocol that the card does not declare was agreed in this conversation",
                &self.loose(Intent::read(NOTES))?,
            )?
            .fact("agreed", json!([self.world.protocol_hash("test-loose")?])),
            Made::new(
                self.world,
                "unjudged-part",
                "prose beside the intent is not judged and does no harm",
                octets(&beside)?,
                json!({ "outcome": "granted" }),
            ),
            Made::new(
                self.world,
                "not-ours",
                "a message without any part of the extension is not ours to judge",
                octets(&plain)?,
                json!({ "outcome": "not-ours" }),
            ),
        ])
    }
}

fn octets(message: &Value) -> Result<Vec<u8>, Failure> {
    let mut text = serde_json::to_vec_pretty(message)?;
    text.push(b'\n');
    Ok(text)
}

/// The first part of a message.
fn first_part(message: &mut Value) -> Option<&mut Value> {
    message.get_mut("parts")?.as_array_mut()?.first_mut()
}

/// Adds parts to a message.
fn add_parts(message: &mut Value, more: impl IntoIterator<Item = Value>) {
    if let Some(parts) = message.get_mut("parts").and_then(Value::as_array_mut) {
        parts.extend(more);
    }
}

/// Sets a member, or removes it with null.
fn set(object: Option<&mut Value>, name: &str, value: Value) {
    if let Some(members) = object.and_then(Value::as_object_mut) {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.to_owned(), value);
        }
    }
}

/// Sets a metadata member of the first part.
fn set_meta(message: &mut Value, name: &str, value: Value) {
    set(first_part(message).and_then(|part| part.get_mut("metadata")), name, value);
}

/// [`Intent::grant_bob`] in JSON-LD, the same graph.
fn grant_in_json_ld() -> String {
    json!({
        "@context": {
            "a2a": "https://w3id.org/jeswr/a2a#",
            "acl": "http://www.w3.org/ns/auth/acl#",
            "schema": "https://schema.org/",
            "action": "a2a:action",
            "object": { "@id": "schema:object", "@type": "@id" },
            "recipient": { "@id": "schema:recipient", "@type": "@id" },
            "mode": { "@id": "a2a:mode", "@type": "@id" },
        },
        "@id": "urn:a2a:intent:kxs8cv",
        "@type": "a2a:Intent",
        "action": { "@type": "a2a:GrantAction", "object": NOTES, "recipient": BOB, "mode": "acl:Read" },
    })
    .to_string()
}
