//! `writgate demo`: a whole exchange on the shipped examples, with narration.

use super::{Exit, Failure, Outcome, output};
use crate::decision::{Decided, Decision};
use crate::engine::{Engine, SystemClock};
use crate::ledger::SqliteLedger;
use crate::request::{CallerFacts, Instant, MessageInput};
use crate::worked_example::{ALICE, Ask, BOB, Intent, NOTES, World};
use chrono::TimeDelta;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Writgate's own folder, with `credentials/`, `policies/` and `vectors/`
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Print each decision's report as one line of JSON
    #[arg(long)]
    json: bool,
    /// Print the why of each decision, stage by stage
    #[arg(long, conflicts_with = "json")]
    explain: bool,
}

/// One step of the story: what happens, and the message that it happens by.
struct Step {
    story: &'static str,
    message: Vec<u8>,
    nonce: String,
    active: bool,
}

/// A folder of its own under the system's temporary one, gone when the demo ends.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it being gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let now = chrono::Utc::now();
    let world = World::open(&arguments.dir)?;
    let config = world.config(now)?;
    let scratch = Scratch(std::env::temp_dir().join(format!("writgate-demo-{}", uuid::Uuid::new_v4())));
    std::fs::create_dir_all(&scratch.0)?;
    let ledger = SqliteLedger::create(
        &scratch.0.join("ledger.db"),
        config.default_domain(),
        true,
        now - TimeDelta::minutes(1),
        config.skew(),
    )?;
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
    if !arguments.json {
        introduce(&world);
    }
    let steps = steps(&world, now)?;
    let mut allowed = 0usize;
    let mut refused = Vec::new();
    let mut not_ours = 0usize;
    for step in &steps {
        let decided = decide(&engine, &world, step);
        match &decided.decision {
            Decision::Allow(_) => allowed += 1,
            Decision::Refuse(refusal) => refused.push(refusal.reason()),
            Decision::NotOurs(_) => not_ours += 1,
        }
        tell(arguments, step, &decided)?;
        if let (true, Decision::Refuse(refusal)) = (arguments.explain, &decided.decision) {
            let message = MessageInput::Bytes(step.message.clone());
            let why = super::decide::why_refused(
                &engine,
                refusal,
                message,
                facts(&world, step),
                chrono::Utc::now(),
            )?;
            output::say(format_args!("{}", output::why(&why)));
        }
    }
    if !arguments.json {
        let reasons: std::collections::BTreeSet<_> = refused.iter().collect();
        output::say(format_args!(
            "\n{} messages: {allowed} allowed, {} refused for {} different reasons, {not_ours} not ours.",
            steps.len(),
            refused.len(),
            reasons.len()
        ));
    }
    Ok(Exit::Success)
}

fn introduce(world: &World) {
    output::say(format_args!("Alice    {ALICE} owns {NOTES}"));
    output::say(format_args!(
        "Agent    {} acts for her, by a mandate that she signed",
        output::escaped(&world.agent_id())
    ));
    output::say(format_args!(
        "Mandate  it may let {BOB} at her notes, read them to prepare a meeting, and never delete them"
    ));
    output::say(format_args!(
        "Server   gives out a challenge for each exchange, and asks Writgate about each message\n"
    ));
}

fn decide(engine: &Engine, world: &World, step: &Step) -> Decided {
    engine.decide(MessageInput::Bytes(step.message.clone()), facts(world, step))
}

fn facts(world: &World, step: &Step) -> CallerFacts {
    let mut facts = world.facts();
    facts.challenge = Some(step.nonce.clone());
    if !step.active {
        facts.activated.clear();
    }
    facts
}

fn tell(arguments: &Arguments, step: &Step, decided: &Decided) -> Result<(), Failure> {
    if arguments.json {
        output::say(format_args!("{}", serde_json::to_string(&decided.report)?));
        return Ok(());
    }
    output::say(format_args!(
        "{}\n  {}",
        step.story,
        output::verdict(&decided.decision).replace('\n', "\n  ")
    ));
    if arguments.explain {
        output::say(format_args!("{}", output::explained(&decided.report)));
    }
    Ok(())
}

/// The story. Each exchange has its own challenge and message id, unless the story is about that.
fn steps(world: &World, now: Instant) -> Result<Vec<Step>, Failure> {
    let mut count = 0u32;
    let mut ask = |intent: Intent| -> Result<Ask, Failure> {
        count += 1;
        let mut ask = world.ask(intent, now)?;
        ask.id = format!("msg-{count}");
        ask.nonce = format!("demo-challenge-{count:04}");
        ask.bound = true;
        Ok(ask)
    };
    let mut first = ask(Intent::grant_bob())?;
    first.bound = false;
    let presentation = first.presentation()?;
    let mut respun = first.clone();
    respun.id = "msg-again".to_owned();
    let bound = ask(Intent::grant_bob())?;
    let bound_presentation = bound.presentation()?;
    let mut widened = bound.clone();
    widened.intent.0 = widened.intent.0.replace("acl:Read", "acl:Read, acl:Write");
    let inactive = ask(Intent::grant_bob())?;
    let mut unpinned = ask(Intent::grant_bob())?;
    unpinned.protocol_hash = format!("sha256:{}", "0".repeat(64));
    let mut modeless = ask(Intent::grant_bob())?;
    modeless.intent.0 =
        modeless.intent.0.replace("a2a:mode acl:Read", "schema:description \"whatever you like\"");
    let unmapped = ask(Intent::grant_bob().with("schema:expires \"never\""))?;
    let elsewhere = ask(Intent::grant("https://carol.pod.example/notes/", BOB))?;
    let bare = ask(Intent::grant_bob())?.without_presentation();
    let mut thief = ask(Intent::grant_bob())?;
    thief.key = world.mallory.clone();
    let mut stretched = ask(Intent::grant_bob())?;
    for credential in &mut stretched.credentials {
        if let Some(until) = credential.get_mut("validUntil") {
            *until = Value::from("2046-01-01T00:00:00Z");
        }
    }
    let mut expired = ask(Intent::grant_bob())?;
    let mut draft = world.mandate_draft()?;
    draft.valid_until = Some(now - TimeDelta::days(1));
    draft.valid_from = Some(now - TimeDelta::days(30));
    expired.credentials = vec![draft.issue()?];
    let recipient = ask(Intent::grant(NOTES, "https://eve.example/profile#me"))?;
    let own = ask(Intent::grant(NOTES, &world.agent_id()))?;
    let reference =
        ask(Intent::grant_bob().with("odrl:hasPolicy <https://alice.pod.example/policies/another>"))?;
    let read = ask(Intent::read(NOTES))?;
    let prose = r#"{"messageId":"msg-prose","contextId":"ctx-1","role":"ROLE_USER","parts":[{"text":"Let Bob in, please."}]}"#;
    let truncated = octets(&first.message()?)?;
    let truncated = truncated.get(..truncated.len() / 2).unwrap_or_default().to_vec();

    let plain =
        |story, message: Vec<u8>, ask: &Ask| Step { story, message, nonce: ask.nonce.clone(), active: true };
    let signed = |story, ask: &Ask| Ok::<_, Failure>(plain(story, octets(&ask.message()?)?, ask));
    Ok(vec![
        signed("The agent lets Bob read Alice's notes.", &first)?,
        signed("The agent reads them, to prepare the meeting.", &read)?,
        signed("The first message comes again.", &first)?,
        plain(
            "The first presentation comes under another message id.",
            octets(&respun.with_presentation(Some(presentation)))?,
            &first,
        ),
        plain(
            "A presentation that is bound to one message comes with a wider one.",
            octets(&widened.with_presentation(Some(bound_presentation)))?,
            &bound,
        ),
        plain("Half a message.", truncated, &first),
        Step { active: false, ..signed("A request that did not activate the extension.", &inactive)? },
        signed("A protocol that nobody here pinned.", &unpinned)?,
        signed("A grant that does not say which access.", &modeless)?,
        signed("A grant that says more than its protocol lets it.", &unmapped)?,
        signed("Somebody else's notes.", &elsewhere)?,
        plain("No presentation at all.", octets(&bare)?, &first),
        signed("A thief shows the agent's mandate in an envelope of his own.", &thief)?,
        signed("The mandate's end was moved ten years on.", &stretched)?,
        signed("A mandate that ended yesterday.", &expired)?,
        signed("The agent lets somebody in whom Alice did not name.", &recipient)?,
        signed("The agent lets itself in.", &own)?,
        signed("The intent leans on a policy that the agent does not show.", &reference)?,
        plain("Prose.", prose.as_bytes().to_vec(), &first),
    ])
}

fn octets(message: &Value) -> Result<Vec<u8>, Failure> {
    Ok(serde_json::to_vec(message)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Reason;
    use std::collections::BTreeSet;

    #[test]
    fn the_demo_allows_and_refuses_for_more_than_ten_reasons() {
        let now = chrono::Utc::now();
        let world = World::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let config = world.config(now).unwrap();
        let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew()).unwrap();
        let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock)).unwrap();
        let mut allowed = 0;
        let mut reasons: BTreeSet<Reason> = BTreeSet::new();
        for step in steps(&world, now).unwrap() {
            match decide(&engine, &world, &step).decision {
                Decision::Allow(_) => allowed += 1,
                Decision::Refuse(refusal) => {
                    reasons.insert(refusal.reason());
                }
                Decision::NotOurs(_) => assert_eq!(step.story, "Prose."),
            }
        }
        assert_eq!(allowed, 2);
        assert!(reasons.len() >= 10, "{reasons:?}");
        assert!(!reasons.contains(&Reason::Internal));
    }
}
