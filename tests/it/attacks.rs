//! Attacks on papers and policies as `docs/threats.md` lists them, made as messages by whoever could make them.

use crate::support::{
    self, assert_allowed, assert_granted, engine_with, evaluate_with, noon, refused, world,
};
use crate::three::{LEAF, MIDDLE, PREFIXES, Three, constraint, permission};
use chrono::TimeDelta;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use writgate::credential::issue::SigningKey;
use writgate::worked_example::{
    ALICE, BOB, Intent, IntentAction, MANDATE_POLICY, MandateDraft, NOTES, PolicyBinding, sign,
};
use writgate::{Evaluation, Outcome, Reason};

const ODRL: &str = "http://www.w3.org/ns/odrl/2/";
const ODRLD: &str = "https://w3id.org/jeswr/odrl-delegation#";

fn granted(evaluation: &Evaluation) -> bool {
    matches!(evaluation.outcome, Outcome::Granted(_))
}

/// The credential of a hop, changed and signed again by its own issuer.
fn again(three: &Three, hop: usize, change: impl FnOnce(&mut Value)) -> Value {
    let draft = &three.hops[hop];
    let mut document = draft.issue().unwrap();
    document.as_object_mut().unwrap().remove("proof");
    change(&mut document);
    sign(&draft.key, document, "assertionMethod", draft.created, Map::new()).unwrap()
}

fn with(three: &Three, hop: usize, credential: Value) -> Evaluation {
    let mut credentials = three.credentials();
    credentials[hop] = credential;
    three.judge().message(&three.ask_with(credentials).message().unwrap())
}

/// Threat 9: the last hop, the envelope and one more part each state what the root policy lacks.
#[test]
fn nobody_adds_facts_about_the_root_policy() {
    let id = |iri: &str| json!({ "@id": iri });
    let odrl = |name: &str| format!("{ODRL}{name}");
    let everything = json!({ odrl("action"): [id(&odrl("use")), id(&odrl("grantUse"))] });
    let facts = [
        json!({ "@id": MANDATE_POLICY, odrl("permission"): everything }),
        json!({ "@id": MANDATE_POLICY, odrl("assigner"): id(&world().mallory.did_key()) }),
        json!({ "@id": MANDATE_POLICY, odrl("conflict"): id(&odrl("perm")) }),
        json!({ "@id": NOTES, odrl("partOf"): id("https://alice.pod.example/collections/open") }),
    ];
    let collection = "odrl:target <https://alice.pod.example/collections/open>";
    let owners = [
        Three::new().says(0, "odrl:action odrl:read", "odrl:action odrl:write"),
        Three::new().says(0, &format!("odrl:target <{NOTES}>"), collection),
    ];
    for three in owners {
        let judge = three.judge();
        assert!(!granted(&judge.message(&three.ask().message().unwrap())));
        for fact in &facts {
            // In a leaf that the attacker signs: in the subject, in the policy, beside both.
            for pointer in ["/credentialSubject", "/credentialSubject/policy", ""] {
                let changed = again(&three, 2, |document| {
                    document.pointer_mut(pointer).unwrap()["https://x.example/also"] = fact.clone();
                });
                assert!(!granted(&with(&three, 2, changed)), "{fact} in the leaf at {pointer}");
            }
            // In the envelope that the attacker signs: as more of the holder, and beside it.
            let ask = three.ask();
            for member in ["https://x.example/also", "holder"] {
                let mut envelope = ask.presentation().unwrap();
                let envelope = envelope.as_object_mut().unwrap();
                envelope.remove("proof");
                let mut value = fact.clone();
                if member == "holder" {
                    value = json!({ "@id": three.worker.did_key(), "https://x.example/also": value });
                }
                envelope.insert(member.to_owned(), value);
                let options = Map::from_iter([
                    ("challenge".to_owned(), json!(ask.nonce)),
                    ("domain".to_owned(), json!(ask.domain)),
                ]);
                let signed =
                    sign(&three.worker, json!(envelope), "authentication", ask.created, options).unwrap();
                assert!(!granted(&judge.message(&ask.with_presentation(Some(signed)))), "{fact} as {member}");
            }
            // In one more part.
            for (text, media_type) in [
                (fact.to_string(), "application/ld+json"),
                (
                    format!(
                        "{PREFIXES}<{MANDATE_POLICY}> a odrl:Agreement ; odrl:permission [ odrl:action odrl:use ] ."
                    ),
                    "text/turtle",
                ),
            ] {
                let mut ask = three.ask();
                ask.policies.push((text, media_type.to_owned()));
                assert_eq!(
                    judge.message(&ask.message().unwrap()).report.reason,
                    Some(Reason::PolicyIntegrity),
                    "{fact} as a part"
                );
            }
        }
    }
}

/// Threat 9: equal labels of blank nodes in two papers do not join them.
#[test]
fn equal_blank_labels_in_two_papers_stay_two_nodes() {
    let three = Three::new();
    let label = |document: &mut Value, kind: &str| {
        let rule = &mut document["credentialSubject"]["policy"][format!("{ODRL}{kind}")][0];
        rule["@id"] = json!("_:shared");
    };
    let (middle, leaf) = (
        again(&three, 1, |document| label(document, "permission")),
        again(&three, 2, |document| label(document, "permission")),
    );
    let mut credentials = three.credentials();
    (credentials[1], credentials[2]) = (middle, leaf);
    // No presentation of both can be signed by our own software.
    let refused = three.ask_with(credentials.clone()).message().unwrap_err().to_string();
    assert!(refused.contains("two papers share a blank node"), "{refused}");
    // And one that another software signed is refused for it: before its signature is looked at.
    let ask = three.ask();
    let mut presentation = ask.presentation().unwrap();
    presentation["verifiableCredential"] = json!(credentials);
    let reason = three.judge().message(&ask.with_presentation(Some(presentation))).report.reason;
    assert_eq!(reason, Some(Reason::Malformed));
}

/// Threat 10: every statement that has one value, with another beside it, in both orders, signed by its own issuer.
#[test]
fn each_functional_statement_doubled_in_either_order_is_refused() {
    let three = Three::new();
    let id = |iri: &str| json!({ "@id": iri });
    let of_policy =
        |name: &str| format!("/credentialSubject/policy/{}", format!("{ODRL}{name}").replace('/', "~1"));
    let under = format!("/credentialSubject/policy/{}", format!("{ODRLD}delegatedUnder").replace('/', "~1"));
    let subject = json!({ "authorizes": three.world.mallory.did_key() });
    let policy = json!({ "@id": "urn:another:policy", "@type": [format!("{ODRL}Agreement")] });
    let cases = [
        ("/issuer".to_owned(), json!(ALICE)),
        ("/issuer".to_owned(), json!(three.world.mallory.did_key())),
        ("/credentialSubject".to_owned(), subject),
        ("/credentialSubject/authorizes".to_owned(), json!(three.worker.did_key())),
        ("/credentialSubject/policy".to_owned(), policy.clone()),
        ("/credentialSubject/policy".to_owned(), json!(MANDATE_POLICY)),
        ("/validFrom".to_owned(), json!("2026-11-02T00:00:00Z")),
        ("/validUntil".to_owned(), json!("2037-01-01T00:00:00Z")),
        (of_policy("assigner"), id(ALICE)),
        (of_policy("assignee"), id(&three.worker.did_key())),
        (of_policy("conflict"), json!([id(&format!("{ODRL}perm")), id(&format!("{ODRL}prohibit"))])),
        (of_policy("uid"), json!([id(MIDDLE), id(MANDATE_POLICY)])),
        (under, id(LEAF)),
    ];
    for (pointer, other) in cases {
        for first in [true, false] {
            let changed = again(&three, 1, |document| {
                let (parent, member) = pointer.rsplit_once('/').unwrap();
                let parent = document.pointer_mut(parent).unwrap();
                let member = member.replace("~1", "/");
                let mut values = match parent.get(&member).cloned() {
                    Some(Value::Array(values)) => values,
                    Some(value) => vec![value],
                    None => Vec::new(),
                };
                let more = other.as_array().cloned().unwrap_or_else(|| vec![other.clone()]);
                values.extend(more);
                if first {
                    values.reverse();
                }
                parent[&member] = values.into();
            });
            let reason = with(&three, 1, changed).report.reason;
            let expected = [Reason::Malformed, Reason::ChainMalformed, Reason::PolicyIntegrity];
            assert!(reason.is_some_and(|reason| expected.contains(&reason)), "{pointer} {other}: {reason:?}");
        }
    }
}

/// Threat 14: an attacker's proof beside the issuer's or the holder's, before and after it.
#[test]
fn a_second_proof_is_refused_in_either_order() {
    let three = Three::new();
    let judge = three.judge();
    for mallory in [SigningKey::from_seed([9; 32]), three.world.mallory.clone()] {
        for first in [true, false] {
            let both =
                |own: Value, other: Value| if first { json!([other, own]) } else { json!([own, other]) };
            for hop in 0..3 {
                let mut credentials = three.credentials();
                let draft = &three.hops[hop];
                if draft.key.did_key() == mallory.did_key() {
                    continue;
                }
                let mut bare = credentials[hop].clone();
                bare.as_object_mut().unwrap().remove("proof");
                let other = sign(&mallory, bare, "assertionMethod", draft.created, Map::new()).unwrap();
                let own = credentials[hop]["proof"].clone();
                credentials[hop]["proof"] = both(own, other["proof"].clone());
                let message = three.ask_with(credentials).message().unwrap();
                assert_eq!(judge.message(&message).report.reason, Some(Reason::IssuerMismatch), "hop {hop}");
            }
            let ask = three.ask();
            let mut presentation = ask.presentation().unwrap();
            let mut bare = presentation.clone();
            bare.as_object_mut().unwrap().remove("proof");
            let options = Map::from_iter([
                ("challenge".to_owned(), json!(ask.nonce)),
                ("domain".to_owned(), json!(ask.domain)),
            ]);
            let other = sign(&mallory, bare, "authentication", ask.created, options).unwrap();
            let own = presentation["proof"].clone();
            presentation["proof"] = both(own, other["proof"].clone());
            let reason = judge.message(&ask.with_presentation(Some(presentation))).report.reason;
            assert_eq!(reason, Some(Reason::Malformed), "the presentation");
        }
    }
    // A proof that names an earlier one, and whose earlier one is gone.
    let chained = {
        let draft = &three.hops[1];
        let mut document = draft.issue().unwrap();
        document.as_object_mut().unwrap().remove("proof");
        let options = Map::from_iter([("previousProof".to_owned(), json!("urn:uuid:1"))]);
        sign(&draft.key, document, "assertionMethod", draft.created, options).unwrap()
    };
    let reason = with(&three, 1, chained).report.reason;
    assert!(matches!(reason, Some(Reason::Malformed | Reason::InvalidSignature)), "{reason:?}");
}

/// A mandate of `key`, in a policy of one hop for `delegate`, with these rules.
fn mandate(key: &SigningKey, delegate: &str, policy: &str, rules: &[String]) -> Value {
    let assigner = key.controller();
    MandateDraft {
        id: format!("urn:uuid:{}", policy.len()),
        key: key.clone(),
        authorizes: delegate.to_owned(),
        policy: crate::three::agreement(policy, assigner, delegate, None, rules),
        binding: PolicyBinding::Embedded,
        ..world().mandate_draft().unwrap()
    }
    .issue()
    .unwrap()
}

/// Threat 18: composition is one step. A third root, or a second chain of two hops, does not compose.
#[test]
fn composition_is_no_delegation_without_limit() {
    let three = Three::new();
    let read = vec![permission("odrl:read", "")];
    let (agent, organisation, worker) = (&three.world.agent, &three.world.mallory, &three.worker);
    let to_agent = mandate(&three.world.alice, &agent.did_key(), MANDATE_POLICY, &read);
    let to_organisation = mandate(agent, &organisation.did_key(), "urn:agent:policy", &read);
    let to_worker = mandate(organisation, &worker.did_key(), "urn:organisation:policy:1", &read);
    let judge = three.judge();
    let ask = |credentials: &[&Value], key: &SigningKey| {
        let mut ask = Three::new().ask_with(credentials.iter().map(|one| (*one).clone()).collect());
        ask.policies.clear();
        ask.key = key.clone();
        ask.message().unwrap()
    };
    let mut by_organisation = three.judge();
    by_organisation.facts.actor = writgate::Actor::Authenticated(organisation.did_key());
    let one_step = by_organisation.message(&ask(&[&to_agent, &to_organisation], organisation));
    assert_granted(&one_step);
    // Three roots, in every order.
    let all = [&to_agent, &to_organisation, &to_worker];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let message = ask(&order.map(|at| all[at]), worker);
        assert_eq!(judge.message(&message).report.reason, Some(Reason::ChainMalformed), "{order:?}");
    }
    // The second chain is itself delegated.
    let pass_on = [read.clone(), vec![permission("odrl:grantUse", "")]].concat();
    let to_organisation = mandate(agent, &organisation.did_key(), "urn:agent:policy", &pass_on);
    let to_worker = MandateDraft {
        key: organisation.clone(),
        authorizes: worker.did_key(),
        policy: crate::three::agreement(
            LEAF,
            &organisation.did_key(),
            &worker.did_key(),
            Some("urn:agent:policy"),
            &read,
        ),
        ..world().mandate_draft().unwrap()
    };
    let to_worker = MandateDraft { id: "urn:uuid:last".to_owned(), ..to_worker }.issue().unwrap();
    let long = judge.message(&ask(&[&to_agent, &to_organisation, &to_worker], worker));
    assert_eq!(long.report.reason, Some(Reason::IdentityCompositionFailed));
    // The owner's word on the actor, and on passing it on, at either chain.
    let org = organisation.did_key();
    for (prohibition, at_owner) in [
        (format!("odrl:prohibition [ odrl:action odrl:read ; odrl:assignee <{org}> ]"), true),
        (format!("odrl:prohibition [ odrl:action odrl:use ; odrl:assignee <{org}> ]"), true),
        ("odrl:prohibition [ odrl:action odrl:grantUse ]".to_owned(), true),
        (format!("odrl:prohibition [ odrl:action acl:Read ; odrl:assignee <{org}> ]"), false),
    ] {
        let rules = [read.clone(), vec![prohibition.clone(), "odrl:conflict odrl:perm".to_owned()]].concat();
        let (first, second) = match at_owner {
            true => (
                mandate(&three.world.alice, &agent.did_key(), MANDATE_POLICY, &rules),
                mandate(agent, &org, "urn:agent:policy", &read),
            ),
            false => (to_agent.clone(), mandate(agent, &org, "urn:agent:policy", &rules)),
        };
        let evaluation = by_organisation.message(&ask(&[&first, &second], organisation));
        assert_eq!(evaluation.report.reason, Some(Reason::IdentityCompositionFailed), "{prohibition}");
    }
}

/// Threat 19: an agent that may manage access, and what it tries to give to whom.
#[test]
fn managing_access_is_no_way_to_have_it() {
    let three = Three::new();
    let (agent, organisation) = (three.world.agent_id(), three.world.mallory.did_key());
    let modes = |modes: &[&str]| {
        let mode = modes.iter().map(|mode| format!("a2a:mode acl:{mode}"));
        mode.collect::<Vec<_>>()
    };
    // Alice's mandate for her agent, as an organisation's: recipients and modes as her policy names them.
    let named =
        |operand: &str, value: &str| format!("; {}", constraint(&format!("odrl:{operand}"), "eq", value));
    let open = permission("acl:Control", "");
    let to_agent = permission("acl:Control", &named("recipient", &format!("<{agent}>")));
    let to_organisation = permission("acl:Control", &named("recipient", &format!("<{organisation}>")));
    let control = permission("acl:Control", &named("mode", "acl:Control"));
    let no_append = "odrl:prohibition [ odrl:action acl:Append ]".to_owned();
    let not_bob = format!("odrl:prohibition [ odrl:action odrl:read ; odrl:assignee <{BOB}> ]");
    let judge = |rules: &[String], recipient: &str, given: &[&str]| {
        let mut ask = support::grant();
        let mut action = IntentAction::new("a2a:GrantAction")
            .with(&format!("schema:object <{NOTES}>"))
            .with(&format!("schema:recipient <{recipient}>"));
        for mode in modes(given) {
            action = action.with(&mode);
        }
        ask.intent.0 = Intent::new(action).turtle();
        ask.credentials = vec![mandate(&three.world.alice, &agent, MANDATE_POLICY, rules)];
        evaluate_with(serde_json::to_vec(&ask.message().unwrap()).unwrap(), world().facts()).report.reason
    };
    let one = |rule: &String| vec![rule.clone()];
    for (rules, recipient, given, grants) in [
        (one(&open), BOB, &["Read"][..], true),
        (one(&open), BOB, &["Read", "Append"], true),
        // To itself, or to the owner: only where a permission names it.
        (one(&open), agent.as_str(), &["Read"], false),
        (one(&to_agent), agent.as_str(), &["Read"], true),
        (one(&open), ALICE, &["Read"], false),
        (one(&to_agent), ALICE, &["Read"], false),
        // Somebody outside of the chain is no party of it.
        (one(&to_organisation), organisation.as_str(), &["Read"], true),
        (one(&to_organisation), agent.as_str(), &["Read"], false),
        // Making managers.
        (one(&open), BOB, &["Control"], false),
        (one(&open), BOB, &["Read", "Control"], false),
        (one(&control), BOB, &["Control"], true),
        (one(&control), agent.as_str(), &["Control"], false),
        (one(&to_agent), agent.as_str(), &["Control"], false),
        // A mode that is prohibited to the one who acts, or to the one who gets it.
        (vec![open.clone(), no_append.clone()], BOB, &["Append"], false),
        (vec![open.clone(), no_append.clone()], BOB, &["Write"], false),
        (vec![open.clone(), no_append], BOB, &["Read"], true),
        (vec![open.clone(), not_bob], BOB, &["Read"], false),
    ] {
        let reason = judge(&rules, recipient, given);
        let expected = (!grants).then_some(Reason::PolicyDenied);
        assert_eq!(reason, expected, "{rules:?} to {recipient}: {given:?}");
    }
    assert!(judge(&one(&open), BOB, &[]).is_some(), "no mode");
}

/// A hop of the chain gets nothing by the hand of the last one.
#[test]
fn a_party_of_the_chain_is_given_nothing_that_is_not_named_at_every_hop() {
    let three = Three::new();
    let parties: BTreeSet<String> =
        [ALICE.to_owned(), three.world.agent_id(), three.world.mallory.did_key(), three.worker.did_key()]
            .into();
    let judge = |rules: &dyn Fn(usize, &str) -> String, recipient: &str| {
        let mut three = Three::new();
        for hop in 0..3 {
            let policy = &mut three.hops[hop].policy;
            *policy = policy.replace(
                "odrl:permission [ odrl:action odrl:read",
                &format!("{} ; odrl:permission [ odrl:action odrl:read", rules(hop, recipient)),
            );
        }
        three.hops[1].changes.retain(|(path, _)| path.last() == Some(&"credentialStatus"));
        let mut ask = three.ask();
        ask.intent.0 = Intent::grant(NOTES, recipient).turtle();
        ask.protocol_hash = world().protocol_hash("grant-access").unwrap();
        three.judge().message(&ask.message().unwrap()).report.reason
    };
    let open = |_: usize, _: &str| permission("acl:Control", "");
    assert_eq!(judge(&open, BOB), None);
    for party in &parties {
        assert_eq!(judge(&open, party), Some(Reason::PolicyDenied), "{party}");
        let named = |_: usize, who: &str| {
            permission(
                "acl:Control",
                &format!("; {}", constraint("odrl:recipient", "eq", &format!("<{who}>"))),
            )
        };
        assert_eq!(judge(&named, party), None, "{party}, named at every hop");
        for missing in 0..3 {
            let but_one =
                |hop: usize, who: &str| if hop == missing { open(hop, who) } else { named(hop, who) };
            assert_eq!(judge(&but_one, party), Some(Reason::PolicyDenied), "{party}, not named at {missing}");
        }
    }
}

/// `odrl:count` of every policy of a chain comes from the ledger, and an allow adds one to each.
#[test]
fn a_count_anywhere_in_a_chain_is_kept_by_admission() {
    for counted in 0..3 {
        let mut three = Three::new().says(
            0,
            &format!("; odrl:duty [ odrl:action odrl:inform ; odrl:target <{ALICE}> ]"),
            "",
        );
        three.hops[1].changes.retain(|(path, _)| path.last() != Some(&"credentialStatus"));
        let five = constraint("odrl:count", "lteq", "5");
        three = three.says(1, &format!("; {five}"), "");
        let read = permission("odrl:read", "");
        let read = read.strip_suffix(" ]").unwrap();
        three = three.says(counted, read, &format!("{read} ; {}", constraint("odrl:count", "lteq", "2")));
        let engine = engine_with(world().config(noon()).unwrap());
        let decide = |number: usize| {
            let mut ask = three.ask();
            ask.id = format!("msg-{number}");
            ask.nonce = format!("n-{number}-0123456789abcdef");
            let mut facts = three.facts();
            facts.challenge = Some(ask.nonce.clone());
            engine.decide(support::octets(&ask.message().unwrap()), facts)
        };
        assert_allowed(&decide(1));
        assert_allowed(&decide(2));
        let third = decide(3);
        assert_eq!(refused(&third).reason(), Reason::PolicyDenied, "hop {counted}");
        assert_eq!(refused(&third).evidence().hop, Some(counted));
        let counts = engine.snapshot(&world().facts(), noon() + TimeDelta::seconds(1)).unwrap().counts;
        assert_eq!(counts.len(), 3, "{counts:?}");
        assert!(counts.values().all(|count| *count == 2), "{counts:?}");
    }
}

/// Threat 34: what is known of a status ends, and the grant with it.
#[test]
fn a_grant_ends_with_the_freshness_of_its_status_list() {
    let mut three = Three::new();
    let end = |three: &Three| {
        let evaluation = three.evaluate();
        assert_granted(&evaluation);
        evaluation.report.not_after.unwrap()
    };
    let fresh = end(&three);
    let list = crate::three::status_list(&three.world.agent, crate::three::LIST);
    let retrieved = noon() - TimeDelta::hours(1) + TimeDelta::seconds(7);
    three.lists.insert(crate::three::LIST, list, "application/vc", retrieved);
    let soon = end(&three);
    assert_eq!(soon, "2026-12-01T12:00:07.000Z");
    assert!(soon < fresh, "{soon} {fresh}");
}
