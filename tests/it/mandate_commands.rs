//! `writgate mandate inspect`, `verify` and `attenuate`, as a person meets them.

use crate::command_line::{Run, Scratch};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Soon enough for a mandate without a status entry, and far enough for the test.
fn until() -> String {
    (chrono::Utc::now() + chrono::TimeDelta::days(20)).format("%Y-%m-%dT00:00:00Z").to_string()
}

/// An owner, an agent, an organisation and a worker, each by the name of its key file.
struct People {
    scratch: Scratch,
    owner: String,
    agent: String,
    org: String,
}

impl People {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let key = |name: &str| scratch.run(&["key", "new", "--out", &format!("{name}.json")]);
        let (owner, agent, org) = (key("owner"), key("agent"), key("org"));
        Self { scratch, owner, agent, org }
    }

    /// The owner mandates the agent with `body`.
    fn owner_mandates(&self, body: &str, by_digest: bool) {
        self.scratch.write(
            "policy.ttl",
            &format!(
                "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .\n\
                 <https://me.example/policies/1> a odrl:Agreement ; odrl:assigner <{}> ; odrl:assignee <{}> ; {body} .\n",
                self.owner, self.agent
            ),
        );
        let line = format!(
            "mandate issue --key owner.json --delegate {} --policy policy.ttl --until {} --out root.json",
            self.agent,
            until()
        );
        let mut arguments: Vec<&str> = line.split(' ').collect();
        if by_digest {
            arguments.push("--by-digest");
        }
        self.scratch.run(&arguments);
    }

    /// The agent passes on to the organisation.
    fn agent_attenuates(&self, more: &[&str]) -> Run {
        let line = format!(
            "mandate attenuate --parent root.json --key agent.json --delegate {} --out leaf.json",
            self.org
        );
        let arguments: Vec<&str> = line.split(' ').chain(more.iter().copied()).collect();
        self.scratch.try_run(&arguments)
    }

    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let run = self.scratch.try_run(arguments);
        (
            run.status,
            serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr)),
        )
    }

    fn edit(&self, file: &str, edit: impl FnOnce(&mut Value)) {
        let path = self.scratch.path(file);
        let mut paper: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        edit(&mut paper);
        std::fs::write(path, paper.to_string()).unwrap();
    }
}

const READ: &str = "odrl:permission [ odrl:action odrl:read ; odrl:target <https://me.example/diary> ; odrl:duty [ odrl:action odrl:inform ] ]";
const GRANT: &str = "odrl:permission [ odrl:action odrl:grantUse ; odrl:target <https://me.example/diary> ]";

/// The example runs as it is: three hops, each narrower, drawn, judged and allowed.
#[test]
fn the_delegation_example_runs() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/delegation.sh");
    let output = match Command::new("bash").arg(script).arg(env!("CARGO_BIN_EXE_writgate")).output() {
        Ok(output) => output,
        Err(_) => {
            println!("skipped: this system has no bash");
            return;
        }
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    for said in [
        "Nothing here is verified",
        "OK  the chain of",
        "permits read",
        "ALLOW  row 1",
        "smallest change: if the action were read",
        "HOLDER_UNVERIFIED",
    ] {
        assert!(out.contains(said), "{said}\n{out}");
    }
    for said in ["action not covered: asked write", "delegation depth exhausted"] {
        assert!(err.contains(said), "{said}\n{err}");
    }
}

#[test]
fn a_chain_is_drawn_as_a_tree_and_proves_nothing() {
    let people = People::new("inspect");
    people.owner_mandates(&format!("{READ} ; {GRANT} ; odrl:prohibition [ odrl:action odrl:delete ]"), true);
    let attenuated = people.agent_attenuates(&["--parent-policy", "policy.ttl"]);
    assert_eq!(attenuated.status, 0, "{}", attenuated.stderr);
    let drawn =
        people.scratch.run(&["mandate", "inspect", "leaf.json", "root.json", "--policy", "policy.ttl"]);
    for line in [
        "Nothing here is verified: no signature, key, date or status was checked.".to_owned(),
        format!("{} mandates {}", people.owner, people.agent),
        format!("└─ {} mandates {}", people.agent, people.org),
        "may read on https://me.example/diary; owes inform".to_owned(),
        "this lets it delegate, one hop deep (no delegationDepth)".to_owned(),
        "must not delete on everything".to_owned(),
        "policy https://me.example/policies/1: digest".to_owned(),
        format!("until {}", until().replace("Z", ".000Z")),
        format!("proof eddsa-rdfc-2022, by {}#", people.owner),
    ] {
        assert!(drawn.contains(&line), "{line}\n{drawn}");
    }
    assert!(!drawn.contains('!'), "nothing is wrong: {drawn}");
    // Without the document, its content is not known, and the rest is drawn.
    let less = people.scratch.run(&["mandate", "inspect", "leaf.json", "root.json"]);
    assert!(less.contains("! what it permits is not known here") && less.contains("└─"), "{less}");
    let (status, seen) =
        people.json(&["mandate", "inspect", "--json", "leaf.json", "root.json", "--policy", "policy.ttl"]);
    assert_eq!((status, &seen["verified"], &seen["hops"][0]["parent"]), (0, &json!(false), &json!(1)));
    assert_eq!(seen["hops"][1]["policy"]["permissions"][1]["duties"], json!(["inform"]));
    // A forged paper is drawn like a genuine one: that is what the first line says.
    people.edit("root.json", |paper| paper["validUntil"] = json!("2999-01-01T00:00:00Z"));
    assert_eq!(people.scratch.status(&["mandate", "inspect", "root.json"]), 0);
}

#[test]
fn broken_chains_are_drawn_as_far_as_they_can_be() {
    let people = People::new("broken");
    people.owner_mandates(&format!("{READ} ; {GRANT}"), false);
    assert_eq!(people.agent_attenuates(&[]).status, 0);
    let leaf = std::fs::read(people.scratch.path("leaf.json")).unwrap();
    let draw = |files: &[&str]| people.scratch.run(&[&["mandate", "inspect"], files].concat());
    let orphan = draw(&["leaf.json"]);
    assert!(orphan.contains("! its parent https://me.example/policies/1 is missing"), "{orphan}");
    // Two children of one parent.
    std::fs::write(people.scratch.path("other.json"), &leaf).unwrap();
    people.edit("other.json", |paper| {
        paper["id"] = json!("urn:uuid:0");
        paper["credentialSubject"]["policy"]["@id"] = json!("urn:other");
    });
    let branch = draw(&["other.json", "leaf.json", "root.json"]);
    assert!(branch.contains("! a branch: 2 policies are delegated under this one"), "{branch}");
    assert!(branch.contains("├─ ") && branch.contains("└─ "), "{branch}");
    // Two papers for one policy.
    let twice = draw(&["leaf.json", "leaf.json", "root.json"]);
    assert!(twice.contains("! another credential is for the same policy"), "{twice}");
    // A cycle.
    let under = "https://w3id.org/jeswr/odrl-delegation#delegatedUnder";
    let policy =
        serde_json::from_slice::<Value>(&leaf).unwrap()["credentialSubject"]["policy"]["@id"].clone();
    people.edit("root.json", |paper| paper["credentialSubject"]["policy"][under] = json!({ "@id": policy }));
    let cycle = draw(&["leaf.json", "root.json"]);
    assert!(cycle.contains("! a cycle") && cycle.contains("(back to"), "{cycle}");
    // No paper at all, and half a presentation.
    people.scratch.write("junk.json", "[1]");
    people.scratch.write("half.json", &json!({ "holder": people.org, "verifiableCredential": [serde_json::from_slice::<Value>(&leaf).unwrap(), 7] }).to_string());
    let half = draw(&["junk.json", "half.json"]);
    assert!(half.contains("! junk.json cannot be read: MALFORMED"), "{half}");
    assert!(half.contains(&format!("{} mandates {}", people.agent, people.org)), "{half}");
    assert!(half.contains("! a credential in half.json cannot be read"), "{half}");
}

/// A paper's text moves no cursor and turns no line round, in words and in JSON.
#[test]
fn what_a_paper_says_is_escaped() {
    let people = People::new("escape");
    people.owner_mandates(&format!("{READ} ; {GRANT}"), false);
    let evil = "https://evil.example/\u{202e}x\u{200b}";
    people.edit("root.json", |paper| {
        let permission = &mut paper["credentialSubject"]["policy"]["http://www.w3.org/ns/odrl/2/permission"];
        let one = if permission.is_array() { &mut permission[0] } else { permission };
        one["http://www.w3.org/ns/odrl/2/constraint"] = json!({
            "http://www.w3.org/ns/odrl/2/leftOperand": { "@id": "http://www.w3.org/ns/odrl/2/purpose" },
            "http://www.w3.org/ns/odrl/2/operator": { "@id": "http://www.w3.org/ns/odrl/2/eq" },
            "http://www.w3.org/ns/odrl/2/rightOperand": { "@value": "\u{1b}[2J\u{202e}gnp\u{7}" },
        });
        paper["credentialStatus"] = json!({
            "type": "BitstringStatusListEntry", "statusPurpose": "revocation\u{1b}]0;\u{2066}", "statusListIndex": "7\u{9b}",
            "statusListCredential": "https://status.example/1",
        });
    });
    people
        .scratch
        .write("presentation.json", &json!({ "holder": evil, "verifiableCredential": [] }).to_string());
    let hostile = |text: &str| {
        text.chars().any(|character| {
            character != '\n' && character.is_control()
                || ('\u{200b}'..='\u{200f}').contains(&character)
                || ('\u{202a}'..='\u{202e}').contains(&character)
                || ('\u{2066}'..='\u{2069}').contains(&character)
        })
    };
    for command in [
        &["mandate", "inspect", "root.json", "presentation.json"][..],
        &["mandate", "inspect", "--json", "root.json", "presentation.json"],
        &["mandate", "verify", "--root", &people.owner, "root.json"],
        &["mandate", "verify", "--json", "--root", evil, "root.json", "presentation.json"],
    ] {
        let run = people.scratch.try_run(command);
        assert!(
            !hostile(&run.stdout) && !hostile(&run.stderr),
            "{command:?}\n{:?}\n{:?}",
            run.stdout,
            run.stderr
        );
    }
    let drawn = people.scratch.run(&["mandate", "inspect", "root.json"]);
    assert!(drawn.contains("\\u{202e}gnp") && drawn.contains("\\u{1b}]0;"), "it is there, escaped: {drawn}");
}

#[test]
fn a_chain_is_judged_without_a_message() {
    let people = People::new("verify");
    people.owner_mandates(&format!("{READ} ; {GRANT}"), true);
    assert_eq!(
        people
            .agent_attenuates(&[
                "--parent-policy",
                "policy.ttl",
                "--constraint",
                "purpose eq https://x.example/p"
            ])
            .status,
        0
    );
    let owner = people.owner.clone();
    let base = ["mandate", "verify", "--json", "--root", &owner, "leaf.json", "root.json"];
    let verify = |more: &[&str]| people.json(&[&base[..], &["--policy", "policy.ttl"], more].concat());
    let read = ["--action", "read", "--target", "https://me.example/diary"];
    let for_p = [&read[..], &["--attribute", "purpose=https://x.example/p"]].concat();
    let (status, seen) = verify(&[]);
    assert_eq!(
        (status, &seen["holds"], seen["hops"].as_array().unwrap().len()),
        (0, &json!(true), 2),
        "{seen}"
    );
    assert!(seen["note"].as_str().unwrap().contains("may still permit nothing"));
    let (status, seen) = verify(&for_p);
    assert_eq!((status, seen["obligations"].as_array().unwrap().len()), (0, 2), "{seen}");
    let (status, seen) = verify(&read);
    assert_eq!(
        (status, &seen["refusal"]["reason"], &seen["refusal"]["evidence"]["hop"]),
        (1, &json!("POLICY_DENIED"), &json!(1))
    );
    assert_eq!(
        seen["explanation"]["change"],
        "if purpose were <https://x.example/p>, the policies would permit it"
    );
    let words = people.scratch.try_run(
        &[
            &["mandate", "verify", "--root", &owner, "leaf.json", "root.json", "--policy", "policy.ttl"],
            &read[..],
        ]
        .concat(),
    );
    assert_eq!(words.status, 1);
    for said in ["REFUSE  POLICY_DENIED", "ok A", "no D", "hop: 1", "ok hop 0", "no hop 1", "smallest change"]
    {
        assert!(words.stdout.contains(said), "{said}\n{}", words.stdout);
    }
    // Each phase by its own failure.
    let phase = |arguments: &[&str]| {
        let (status, seen) = people.json(&[&["mandate", "verify", "--json"], arguments].concat());
        assert_eq!(status, 1, "{seen}");
        let evidence = &seen["refusal"]["evidence"];
        (
            seen["refusal"]["reason"].as_str().unwrap().to_owned(),
            evidence["phase"].as_str().unwrap_or("none").to_owned(),
        )
    };
    let is = |reason: &str, phase: &str| (reason.to_owned(), phase.to_owned());
    let all = ["leaf.json", "root.json", "--policy", "policy.ttl"];
    assert_eq!(phase(&["--root", &owner, "leaf.json"]), is("CHAIN_MALFORMED", "assembly"));
    assert_eq!(
        phase(&[&["--root", &owner, "--now", "2999-01-01T00:00:00Z"], &all[..]].concat()),
        is("EXPIRED", "A")
    );
    assert_eq!(phase(&["--root", &owner, "leaf.json", "root.json"]), is("POLICY_INTEGRITY", "B"));
    assert_eq!(phase(&[&["--root", &people.org], &all[..]].concat()), is("BINDING_MISMATCH", "B"));
    people.scratch.write("junk.json", "{}");
    assert_eq!(phase(&["--root", &owner, "junk.json"]), is("MALFORMED", "none"));
    // Phase D as far as it goes before anything is asked: nothing lets the agent pass it on.
    people.owner_mandates(READ, false);
    people.scratch.write(
        "taken.ttl",
        &format!(
            "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .\n\
             <urn:taken> a odrl:Agreement ; odrl:assigner <{}> ; odrl:assignee <{}> ; odrld:delegatedUnder <https://me.example/policies/1> ; {READ} .\n",
            people.agent, people.org
        ),
    );
    let line = format!(
        "mandate issue --key agent.json --delegate {} --policy taken.ttl --until {} --out leaf.json",
        people.org,
        until()
    );
    people.scratch.run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(phase(&["--root", &owner, "leaf.json", "root.json"]), is("POLICY_DENIED", "D"));
    assert_eq!(
        people.scratch.status(&["mandate", "verify", "leaf.json"]),
        2,
        "neither a configuration nor a root"
    );
}

/// With a configuration: its roots, and what its ledger and controllers know.
#[test]
fn a_configuration_judges_with_what_it_knows() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let at = |name: &str| repository.join(name).display().to_string();
    let (config, paper) = (at("vectors/writgate.toml"), at("credentials/alice-to-agent.vc.json"));
    let run = |more: &[&str]| {
        crate::command_line::writgate(
            &[&["mandate", "verify", "--config", &config, &paper, "--now", "2026-12-01T00:00:00Z"], more]
                .concat(),
        )
    };
    let held = run(&[]);
    assert_eq!(held.status, 0, "{}{}", held.stdout, held.stderr);
    let read = run(&[
        "--action",
        "read",
        "--target",
        "https://alice.pod.example/notes/",
        "--attribute",
        "purpose=https://alice.pod.example/purposes#nothing",
    ]);
    assert_eq!(read.status, 1, "{}", read.stdout);
    assert!(read.stdout.contains("smallest change: if purpose were"), "{}", read.stdout);
    let elsewhere = run(&["--action", "read", "--target", "https://carol.pod.example/notes/"]);
    assert_eq!(elsewhere.status, 1, "{}", elsewhere.stdout);
}

/// Each excess is named on standard error, with exit code 1, and nothing is signed.
#[test]
fn attenuate_signs_nothing_that_asks_for_more() {
    let people = People::new("attenuate");
    people.owner_mandates(&format!("{READ} ; {GRANT}"), false);
    for (more, named) in [
        (&["--action", "write"][..], "action not covered: asked write"),
        (&["--target", "https://me.example/other"], "target outside"),
        (&["--until", "2999-01-01T00:00:00Z"], "longer life"),
        (&["--from", "2020-01-01T00:00:00Z"], "longer life"),
        (&["--depth", "1"], "delegation depth exhausted"),
    ] {
        let run = people.agent_attenuates(more);
        assert_eq!(run.status, 1, "{more:?} {}", run.stderr);
        assert!(run.stderr.contains(named) && run.stderr.contains("nothing was signed"), "{}", run.stderr);
        assert!(!people.scratch.path("leaf.json").exists(), "{more:?}");
    }
    // By somebody else's key.
    let line = format!(
        "mandate attenuate --parent root.json --key org.json --delegate {} --out leaf.json",
        people.org
    );
    let run = people.scratch.try_run(&line.split(' ').collect::<Vec<_>>());
    assert!(run.status == 1 && run.stderr.contains("another party"), "{}", run.stderr);
    // A policy of one's own, that drops the duty; then one that keeps it.
    let own = |duty: &str| {
        people.scratch.write(
            "own.ttl",
            &format!(
                "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .\n\
                 <urn:own> a odrl:Agreement ; odrl:assigner <{}> ; odrl:assignee <{}> ; odrld:delegatedUnder <https://me.example/policies/1> ; \
                 odrl:permission [ odrl:action odrl:read ; odrl:target <https://me.example/diary> {duty} ] .\n",
                people.agent, people.org
            ),
        );
        people.agent_attenuates(&["--policy", "own.ttl"])
    };
    let dropped = own("");
    assert!(dropped.status == 1 && dropped.stderr.contains("duty dropped"), "{}", dropped.stderr);
    assert!(!people.scratch.path("leaf.json").exists());
    assert_eq!(own("; odrl:duty [ odrl:action odrl:inform ]").status, 0);
    let read = ["--action", "read", "--target", "https://me.example/diary"];
    let verify =
        [&["mandate", "verify", "--root", &people.owner, "root.json", "leaf.json"], &read[..]].concat();
    assert_eq!(people.scratch.status(&verify), 0);
    // By digest, the policy that was made goes beside it.
    assert_eq!(people.agent_attenuates(&["--by-digest"]).status, 2);
    assert_eq!(people.agent_attenuates(&["--by-digest", "--policy-out", "made.ttl"]).status, 0);
    let verify = [&verify[..], &["--policy", "made.ttl"]].concat();
    assert_eq!(people.scratch.status(&verify), 0);
    assert_eq!(people.agent_attenuates(&["--constraint", "purpose"]).status, 2);
}

/// A parent in a JWS has children in one, and a chain of both kinds, which no presentation carries, does not hold.
#[test]
fn a_delegated_hop_is_of_its_parents_kind() {
    let people = People::new("attenuate-jose");
    people.owner_mandates(&format!("{READ} ; {GRANT}"), false);
    assert_eq!(people.agent_attenuates(&[]).status, 0);
    let issue = format!(
        "mandate issue --jose --key owner.json --delegate {} --policy policy.ttl --until {} --out root.jwt",
        people.agent,
        until()
    );
    people.scratch.run(&issue.split(' ').collect::<Vec<_>>());
    let attenuate = format!(
        "mandate attenuate --parent root.jwt --key agent.json --delegate {} --out leaf.jwt",
        people.org
    );
    people.scratch.run(&attenuate.split(' ').collect::<Vec<_>>());
    let leaf = std::fs::read_to_string(people.scratch.path("leaf.jwt")).unwrap();
    assert_eq!(leaf.trim_end().split('.').count(), 3, "{leaf}");
    let verify = |papers: [&str; 2]| {
        let asked = ["--action", "read", "--target", "https://me.example/diary", "--json"];
        people.json(&[&["mandate", "verify", "--root", &people.owner], &papers[..], &asked].concat())
    };
    assert_eq!(verify(["root.jwt", "leaf.jwt"]).0, 0);
    assert_eq!(verify(["root.json", "leaf.json"]).0, 0);
    for mixed in [["root.jwt", "leaf.json"], ["root.json", "leaf.jwt"]] {
        let (status, verdict) = verify(mixed);
        assert_eq!((status, &verdict["refusal"]["reason"]), (1, &json!("MALFORMED")), "{verdict}");
    }
    people.scratch.run(&[
        "mandate",
        "present",
        "--key",
        "org.json",
        "--credential",
        "root.jwt",
        "--credential",
        "leaf.jwt",
        "--challenge",
        "0123456789abcdefghijkl",
        "--domain",
        "https://me.example/agent",
        "--out",
        "vp.jwt",
    ]);
    assert_eq!(people.scratch.status(&["mandate", "inspect", "vp.jwt"]), 0);
}
