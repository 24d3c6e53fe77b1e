//! The operations on credentials, asked more than the suite asks: its own signed papers under changed inputs. Skipped,
//! plainly, where the suite is not beside this clone.

use super::{Folder, operations};
use crate::credential::issue::SigningKey;
use crate::worked_example::{Intent, MANDATE_POLICY, MandateDraft, NOTES, World};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

struct Case {
    folder: Folder,
    operation: String,
    input: Value,
}

impl Case {
    fn open(name: &str) -> Option<Self> {
        let suite =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors/agent-authz-credential");
        let home = suite.join("cases").join(name);
        let Ok(text) = std::fs::read_to_string(home.join("case.json")) else {
            println!("SKIPPED: ../shared/vectors/agent-authz-credential is not there");
            return None;
        };
        let mut case: Value = serde_json::from_str(&text).unwrap();
        let operation = case["operation"].as_str().unwrap().to_owned();
        Some(Self { folder: Folder { case: home, suite }, operation, input: case["input"].take() })
    }

    fn file(&self, name: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.folder.case.join(name)).unwrap()).unwrap()
    }

    fn run(&self, change: impl FnOnce(&mut Value)) -> Value {
        let mut input = self.input.clone();
        change(&mut input);
        operations::run(&self.operation, &input, &self.folder).map_err(|error| error.0).unwrap()
    }

    fn verdict(&self, change: impl FnOnce(&mut Value)) -> (String, Option<String>) {
        let answer = self.run(change);
        let word = |name: &str| answer[name].as_str().map(str::to_owned);
        assert_eq!(answer["authorized"], json!(word("code").is_none()));
        (word("phase").unwrap(), word("code"))
    }

    fn codes(&self, change: impl FnOnce(&mut Value)) -> Vec<String> {
        let answer = self.run(change);
        let codes: Vec<String> = serde_json::from_value(answer["codes"].clone()).unwrap();
        let good = answer.get("verified").or(answer.get("ok"));
        assert_eq!(good, Some(&json!(codes.is_empty())), "{answer}");
        codes
    }
}

fn refused(phase: &str, code: &str) -> (String, Option<String>) {
    (phase.to_owned(), Some(code.to_owned()))
}

fn complete() -> (String, Option<String>) {
    ("complete".to_owned(), None)
}

const MANDATE: &str = "https://alice.solid.example/agents/engagements/e1/mandate.ttl#policy";

#[test]
fn a_chain_is_assembled_from_its_policies_in_any_order() {
    let Some(case) = Case::open("happy") else { return };
    let reversed = |input: &mut Value| {
        for list in ["credentials", "policies"] {
            input["primaryChain"][list].as_array_mut().unwrap().reverse();
        }
    };
    assert_eq!(case.verdict(reversed), complete());
    let policies = |policies: Value| case.verdict(|input| input["primaryChain"]["policies"] = policies);
    let malformed = refused("assembly", "CHAIN_MALFORMED");
    assert_eq!(policies(json!([])), malformed);
    assert_eq!(policies(json!(["agreement.ttl"])), malformed);
    assert_eq!(policies(json!(["mandate.ttl", "mandate.ttl", "agreement.ttl"])), malformed);
    assert_eq!(policies(json!(["mandate.ttl", "institute-internal.ttl"])), malformed);
    assert_eq!(policies(json!(["mandate.ttl", "agreement.ttl", "not RDF"])), malformed);
    assert_eq!(policies(json!(["mandate.ttl", "<urn:a> <urn:b> <urn:c> ."])), malformed);
}

#[test]
fn credentials_and_policies_are_as_many_before_any_is_verified() {
    let Some(case) = Case::open("happy") else { return };
    let mismatch = refused("B", "BINDING_MISMATCH");
    for now in ["2026-08-01T00:00:00Z", "2027-08-01T00:00:00Z"] {
        let with = |list: &str, value: Value| {
            case.verdict(|input| {
                input["now"] = json!(now);
                input["primaryChain"][list] = value;
            })
        };
        assert_eq!(with("policies", json!(["mandate.ttl"])), mismatch);
        assert_eq!(with("credentials", json!(["mandate.vc.json"])), mismatch);
        assert_eq!(with("credentials", json!(["mandate.vc.json", "mandate.vc.json"])), mismatch);
        assert_eq!(with("credentials", json!(["mandate.vc.json", "institute-agent.vc.json"])), mismatch);
    }
}

#[test]
fn the_first_failure_is_the_answer() {
    let Some(case) = Case::open("happy") else { return };
    let expired = |input: &mut Value| input["now"] = json!("2027-08-01T00:00:00Z");
    let stranger = |input: &mut Value| input["rootPrincipal"] = json!("urn:stranger");
    let unreachable = |input: &mut Value| input["statusUnreachable"] = json!(true);
    let revoked = |input: &mut Value| input["revoked"] = json!([MANDATE]);
    let writes = |input: &mut Value| input["request"]["action"] = json!("write");
    let rogue = |input: &mut Value| input["actor"] = json!("urn:rogue");
    let steps: [(&dyn Fn(&mut Value), _); 6] = [
        (&expired, refused("A", "EXPIRED")),
        (&stranger, refused("B", "BINDING_MISMATCH")),
        (&unreachable, refused("C", "STATUS_RETRIEVAL_ERROR")),
        (&revoked, refused("C", "REVOKED")),
        (&writes, refused("D", "POLICY_DENIED")),
        (&rogue, refused("composition", "IDENTITY_COMPOSITION_FAILED")),
    ];
    for (first, (_, expected)) in steps.iter().enumerate() {
        let answer = case.verdict(|input| steps[first..].iter().for_each(|(change, _)| change(input)));
        assert_eq!(answer, *expected);
        assert_eq!(case.verdict(|input| steps[first].0(input)), *expected);
    }
}

#[test]
fn papers_that_cannot_be_read_or_are_not_good_yet_fail_phase_a() {
    let Some(case) = Case::open("happy") else { return };
    let early = case.verdict(|input| input["now"] = json!("2026-07-02T00:00:00Z"));
    assert_eq!(early, refused("A", "NOT_YET_VALID"));
    for paper in ["{}", "[]", "not JSON", r#"{"id":"urn:a","id":"urn:a"}"#] {
        let answer = case.verdict(|input| input["primaryChain"]["credentials"][1] = json!(paper));
        assert_eq!(answer, refused("A", "MALFORMED"), "{paper}");
        let answer = case.verdict(|input| input["actorChain"]["credentials"][0] = json!(paper));
        assert_eq!(answer, refused("composition", "IDENTITY_COMPOSITION_FAILED"), "{paper}");
    }
}

#[test]
fn optional_inputs_of_an_authority() {
    let Some(case) = Case::open("happy") else { return };
    for (most, expected) in [(0, false), (1, false), (2, true)] {
        let answer = case.verdict(|input| input["maxChainLength"] = json!(most));
        assert_eq!(answer, if expected { complete() } else { refused("D", "POLICY_DENIED") }, "{most}");
    }
    let without = |names: &[&str]| {
        case.verdict(|input| names.iter().for_each(|name| drop(input.as_object_mut().unwrap().remove(*name))))
    };
    assert_eq!(without(&["actor"]), complete());
    assert_eq!(without(&["actor", "actorChain"]), complete());
    assert_eq!(without(&["actorChain"]), refused("composition", "IDENTITY_COMPOSITION_FAILED"));
    let leaf_with = |chain: Value| {
        case.verdict(|input| {
            input["actor"] = json!("https://institute.example/org#id");
            input["actorChain"] = chain;
        })
    };
    for none in [json!(null), json!({}), json!({ "credentials": [], "policies": [] })] {
        assert_eq!(leaf_with(none), complete());
    }
    let half = json!({ "credentials": ["institute-agent.vc.json"], "policies": [] });
    assert_eq!(leaf_with(half), refused("composition", "IDENTITY_COMPOSITION_FAILED"));
    let unknown = case.verdict(|input| input["revocationDocuments"] = json!(["not RDF"]));
    assert_eq!(unknown, refused("C", "STATUS_RETRIEVAL_ERROR"));
    let untyped = "<urn:r> <https://w3id.org/jeswr/odrl-delegation#revokedPolicy> <https://alice.solid.example/agents/engagements/e1/mandate.ttl#policy> .";
    let named = case.verdict(|input| input["revocationDocuments"] = json!(["not RDF", untyped]));
    assert_eq!(named, refused("C", "REVOKED"), "what it does say counts");
    let other = untyped.replace("mandate.ttl", "other.ttl");
    let unclear = case.verdict(|input| input["revocationDocuments"] = json!([other]));
    assert_eq!(unclear, refused("C", "STATUS_RETRIEVAL_ERROR"));
    let of_actor = case.verdict(|input| {
        input["revoked"] = json!(["https://institute.example/policies/internal-e1.ttl#policy"]);
    });
    assert_eq!(of_actor, refused("composition", "IDENTITY_COMPOSITION_FAILED"));
}

#[test]
fn status_codes_are_the_first_of_phase_a_alone_or_one_for_each_entry() {
    let Some(case) = Case::open("status-bit-set-revoked") else { return };
    assert_eq!(case.codes(|input| input["now"] = json!("2026-07-01T00:00:00Z")), ["NOT_YET_VALID"]);
    assert_eq!(case.codes(|input| input["documents"] = json!({})), ["STATUS_RETRIEVAL_ERROR"]);
    let mut credential = case.file("credential.vc.json");
    credential["credentialStatus"]["type"] = json!("Other");
    assert_eq!(
        case.codes(|input| input["credential"] = json!(credential.to_string())),
        ["STATUS_RETRIEVAL_ERROR"]
    );
    credential["credentialStatus"]["statusListIndex"] = json!("43");
    assert_eq!(case.codes(|input| input["credential"] = credential.clone()), ["INVALID_SIGNATURE"]);
    assert_eq!(case.codes(|input| input["credential"] = json!("{}")), ["MALFORMED"]);
}

#[test]
fn replay_codes_come_in_the_operations_order() {
    let Some(case) = Case::open("presentation-challenge-ok") else { return };
    let asked = |challenge: &str, domain: &str| {
        case.codes(|input| {
            input["challenge"] = json!(challenge);
            input["domain"] = json!(domain);
        })
    };
    assert_eq!(asked("other", "https://verifier.example/authorize"), ["CHALLENGE_MISMATCH"]);
    assert_eq!(asked("c-8f21-issued-by-verifier", "other"), ["DOMAIN_MISMATCH"]);
    assert_eq!(asked("other", "other"), ["CHALLENGE_MISMATCH", "DOMAIN_MISMATCH"]);
    // No bound on age applies.
    assert!(case.codes(|input| input["now"] = json!("2046-08-01T00:00:00Z")).is_empty());
    assert_eq!(case.codes(|input| input["now"] = json!("2026-07-01T00:00:00Z")), ["NOT_YET_VALID"]);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut document = case.file("presentation.vp.json");
        change(&mut document);
        case.codes(|input| input["presentation"] = document.to_string().into())
    };
    let without = |name: &'static str| with(&|document| drop(document.as_object_mut().unwrap().remove(name)));
    assert_eq!(without("holder"), ["HOLDER_UNVERIFIED"]);
    assert_eq!(without("proof"), ["CHALLENGE_MISMATCH", "DOMAIN_MISMATCH", "NO_PROOF"]);
    assert_eq!(without("verifiableCredential"), ["MALFORMED"]);
    assert_eq!(without("id"), ["INVALID_SIGNATURE"]);
    let of_proof =
        |member: &'static str, value: &str| with(&|document| document["proof"][member] = json!(value));
    assert_eq!(of_proof("cryptosuite", "other"), ["UNKNOWN_CRYPTOSUITE"]);
    assert_eq!(of_proof("proofPurpose", "assertionMethod"), ["PROOF_PURPOSE_MISMATCH"]);
    assert_eq!(of_proof("verificationMethod", "https://alice.solid.example/keys#k1"), ["HOLDER_UNVERIFIED"]);
    assert_eq!(of_proof("proofValue", "z1"), ["INVALID_SIGNATURE"]);
    let tampered = |document: &mut Value| {
        document["verifiableCredential"][0]["credentialSubject"]["note"] = json!("x");
    };
    assert_eq!(with(&tampered), ["INVALID_SIGNATURE", "INVALID_SIGNATURE"]);
    let unsigned = |document: &mut Value| document["verifiableCredential"][0]["name"] = json!("x");
    assert_eq!(with(&unsigned), ["MALFORMED"]);
    let alien = |document: &mut Value| document["name"] = json!("x");
    assert_eq!(with(&alien), ["MALFORMED"]);
}

#[test]
fn a_policy_is_bound_by_form_and_digest_and_not_read() {
    let Some(case) = Case::open("binding-digest-match-accept") else { return };
    const URL: &str = "https://binding-issuer.example/policies/p1.ttl";
    assert_eq!(case.codes(|input| input["documents"] = json!({})), ["POLICY_INTEGRITY"]);
    assert_eq!(case.codes(|input| input["documents"][URL] = json!("other")), ["POLICY_INTEGRITY"]);
    let elsewhere = case.codes(|input| input["documents"] = json!({ "urn:other": "policy.ttl" }));
    assert_eq!(elsewhere, ["POLICY_INTEGRITY"]);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut credential = case.file("credential.vc.json");
        change(&mut credential);
        case.run(|input| {
            input["credential"] = credential.to_string().into();
            input["documents"][URL] = json!("this is not RDF");
        })
    };
    let sri = "sha256-utNELR0QzRVkLH7S3THxEDUojtNcrj5jiCKrMma0BuA=";
    let answer = with(&|credential| credential["relatedResource"]["digestSRI"] = json!(sri));
    assert_eq!(answer, json!({ "ok": true, "codes": [], "form": "reference" }));
    let by_fragment = with(&|credential| {
        credential["relatedResource"] = json!({ "id": format!("{URL}#it"), "digestSRI": sri });
        credential["credentialSubject"]["https://w3id.org/jeswr/solid-vc#policy"] =
            json!(format!("{URL}#it"));
    });
    assert_eq!(by_fragment["ok"], json!(true), "a fragment is no part of what is retrieved");
    let of_another = with(&|credential| {
        credential["relatedResource"]["digestSRI"] = json!(sri);
        credential["credentialSubject"]["https://w3id.org/jeswr/solid-vc#policy"] =
            json!(format!("{URL}#it"));
    });
    assert_eq!(of_another["ok"], json!(false), "an entry is for its own IRI, fragment included");
    let no_proof = with(&|credential| {
        credential.as_object_mut().unwrap().remove("proof");
        credential["credentialSubject"]["https://w3id.org/jeswr/solid-vc#policy"] =
            json!({ "urn:says": "x" });
    });
    assert_eq!(no_proof, json!({ "ok": true, "codes": [], "form": "embedded" }));
}

// --- JSON-LD papers of our own ---------------------------------------------------------------------------------------

const AT: &str = "2026-12-01T12:00:00Z";

fn world() -> World {
    World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Alice under her did:key, which no keyring needs to know.
fn root() -> SigningKey {
    let alice = world().alice;
    let (did, method) = (alice.did_key(), alice.did_key_method());
    alice.with_controller(did, method)
}

fn run(operation: &str, input: &Value) -> Value {
    let folder = Folder { case: PathBuf::from("/nowhere"), suite: PathBuf::from("/nowhere") };
    operations::run(operation, input, &folder).map_err(|error| error.0).unwrap()
}

/// The example's mandate, from the root to the agent.
fn mandate(change: impl FnOnce(&mut MandateDraft)) -> Value {
    let mut draft = MandateDraft { key: root(), ..world().mandate_draft().unwrap() };
    change(&mut draft);
    draft.issue().unwrap()
}

/// `verify-presentation-replay` of the agent's presentation.
fn replayed(mandate: Value) -> Value {
    let world = world();
    let mut ask = world.ask(Intent::read(NOTES), AT.parse().unwrap()).unwrap();
    ask.credentials = vec![mandate];
    let input = json!({
        "presentation": ask.presentation().unwrap(), "challenge": ask.nonce, "domain": ask.domain, "now": AT,
    });
    run("verify-presentation-replay", &input)["codes"].clone()
}

#[test]
fn replay_takes_json_ld_and_judges_each_credential_on_its_own() {
    assert_eq!(replayed(mandate(|_| ())), json!([]));
    let subject = |draft: &mut MandateDraft| {
        draft.changes = vec![(&["credentialSubject", "id"], json!("urn:somebody"))];
    };
    assert_eq!(replayed(mandate(subject)), json!(["SUBJECT_ISSUER_MISMATCH"]));
    let bare = |draft: &mut MandateDraft| draft.binding = crate::worked_example::PolicyBinding::BareIri;
    assert_eq!(replayed(mandate(bare)), json!(["POLICY_INTEGRITY"]));
    let none =
        |draft: &mut MandateDraft| draft.changes = vec![(&["credentialSubject", "policy"], json!(null))];
    assert_eq!(replayed(mandate(none)), json!([]), "one without a policy is fine");
    let status = |draft: &mut MandateDraft| {
        let entry = json!({
            "type": "BitstringStatusListEntry", "statusPurpose": "revocation", "statusListIndex": "1",
            "statusListCredential": "https://alice.pod.example/status/1",
        });
        draft.changes = vec![(&["credentialStatus"], entry)];
    };
    assert_eq!(replayed(mandate(status)), json!(["STATUS_RETRIEVAL_ERROR"]));
    let endless = |draft: &mut MandateDraft| draft.valid_until = None;
    assert_eq!(replayed(mandate(endless)), json!([]), "no bound on a life without status");
    let stolen = |draft: &mut MandateDraft| draft.authorizes = "urn:somebody".to_owned();
    assert_eq!(replayed(mandate(stolen)), json!(["HOLDER_UNVERIFIED"]));
}

/// `verify-agent-authority` of one hop whose policy has this permission.
fn authority(permission: &str, request: Value) -> Value {
    let policy = format!(
        "@prefix odrl: <http://www.w3.org/ns/odrl/2/> . @prefix acl: <http://www.w3.org/ns/auth/acl#> .
<{MANDATE_POLICY}> a odrl:Agreement ; odrl:assigner <{}> ; odrl:assignee <{}> ; odrl:permission [ {permission} ] .",
        root().did_key(),
        world().agent_id()
    );
    let mandate = mandate(|draft| draft.policy = policy.clone());
    let input = json!({
        "primaryChain": { "credentials": [mandate], "policies": [policy] },
        "rootPrincipal": root().did_key(), "request": request, "now": AT,
    });
    run("verify-agent-authority", &input)["phase"].clone()
}

/// Sections 4 to 8 alone: what a message needs for a grant of access is not asked, and counts are the request's.
#[test]
fn an_authority_is_judged_without_the_rules_of_messages() {
    let control = json!({ "action": "control", "target": NOTES });
    assert_eq!(authority("odrl:action acl:Control", control.clone()), "complete");
    assert_eq!(authority("odrl:action odrl:use", control), "D");
    let counted = "odrl:action odrl:read ; odrl:constraint [ odrl:leftOperand odrl:count ; odrl:operator odrl:lteq ; odrl:rightOperand 5 ]";
    for (count, expected) in [(json!(5), "complete"), (json!(6), "D"), (json!([]), "D")] {
        let request = json!({ "action": "read", "target": NOTES, "attributes": { "count": count } });
        assert_eq!(authority(counted, request), expected, "{count}");
    }
}
