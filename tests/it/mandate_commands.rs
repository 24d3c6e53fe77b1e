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
        "duty http://www.w3.org/ns/odrl/2/attribute by https://me.example/policies/1",
        "a hop is missing",
        "smallest change: every hop from the owner down to the holder",
        "refused: HOLDER_UNVERIFIED",
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
        (&["--until", "2020-01-01T00:00:00Z"], "an end after the beginning"),
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
    // A parent whose policy is another's than its issuer's.
    people.edit("root.json", |paper| paper["issuer"] = json!(people.org));
    let run = people.agent_attenuates(&[]);
    assert!(run.status == 1 && run.stderr.contains("issued by the policy's assigner"), "{}", run.stderr);
}

/// What no message could bring or ask for does not hold, whatever the papers say.
#[test]
fn verify_refuses_what_no_message_could_bring() {
    let people = People::new("unbringable");
    people.owner_mandates("odrl:permission [ odrl:action odrl:read , odrl:grantUse ]", false);
    assert_eq!(people.agent_attenuates(&[]).status, 0);
    let owner = people.owner.clone();
    let config = format!(
        "domains = [\"https://me.example/agent\"]\n\n[[roots]]\nprefix = \"https://me.example/\"\nprincipal = \"{owner}\"\n\n[ledger]\npath = \"ledger.sqlite\"\n"
    );
    people.scratch.write("writgate.toml", &config);
    let verify = |more: &[&str]| {
        let (status, seen) = people.json(&[&["mandate", "verify", "--json"], more].concat());
        (status, seen["refusal"]["reason"].as_str().map(str::to_owned))
    };
    let refused = |reason: &str| (1, Some(reason.to_owned()));
    // Its policy permits reading whatever it is, so only the target is wrong.
    let reading = |root: &[&str], target: &str| {
        let asked = ["root.json", "leaf.json", "--action", "read", "--target", target];
        verify(&[root, &asked[..]].concat())
    };
    let (configured, by_hand) = (["--config", "writgate.toml"], ["--root", owner.as_str()]);
    assert_eq!(reading(&configured, "https://me.example/diary"), (0, None));
    assert_eq!(reading(&configured, "https://other.example/diary"), refused("NO_ROOT_FOR_TARGET"));
    assert_eq!(reading(&by_hand, "https://other.example/diary"), (0, None));
    for root in [&configured, &by_hand] {
        assert_eq!(reading(root, "https://me.example:443/diary"), refused("TARGET_NOT_NORMAL"));
    }
    // A duty that the server does not keep.
    let owing = format!("{READ} ; {GRANT}");
    people.owner_mandates(&owing, false);
    let diary = ["root.json", "--action", "read", "--target", "https://me.example/diary"];
    assert_eq!(verify(&[&configured[..], &diary[..]].concat()), refused("OBLIGATION_UNSUPPORTED"));
    assert_eq!(verify(&[&by_hand[..], &diary[..]].concat()), (0, None));
    let inform = "obligations = [\"http://www.w3.org/ns/odrl/2/inform\"]\n";
    people.scratch.write("writgate.toml", &format!("{inform}{config}"));
    assert_eq!(verify(&[&configured[..], &diary[..]].concat()), (0, None));
    people.owner_mandates("odrl:permission [ odrl:action odrl:read , odrl:grantUse ]", false);
    assert_eq!(people.agent_attenuates(&[]).status, 0);
    // The same mandate as a JWS, with the leaf in JSON-LD.
    let line = format!(
        "mandate issue --jose --key owner.json --delegate {} --policy policy.ttl --until {} --out root.jwt",
        people.agent,
        until()
    );
    people.scratch.run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(verify(&["--root", &owner, "root.jwt"]), (0, None));
    assert_eq!(verify(&["--root", &owner, "root.jwt", "leaf.json"]), refused("MALFORMED"));
    // Two presentations, each of its own holder: a message has one.
    for (holder, paper) in [("org", "leaf"), ("agent", "root")] {
        let line = format!(
            "mandate present --key {holder}.json --challenge sixteen-octets-or-more --domain https://me.example/agent --out {holder}.vp.json --credential {paper}.json"
        );
        people.scratch.run(&line.split(' ').collect::<Vec<_>>());
    }
    assert_eq!(verify(&["--root", &owner, "org.vp.json", "root.json"]), (0, None));
    assert_eq!(verify(&["--root", &owner, "org.vp.json", "agent.vp.json"]), refused("HOLDER_UNVERIFIED"));
}

const ASK: [&str; 4] = ["--action", "read", "--target", "https://me.example/diary"];

/// A JWS makes a JWS, whatever the file is called: papers of two kinds are never presented together, and a chain of them
/// does not hold.
#[test]
fn attenuate_keeps_the_kind_of_the_parent_and_two_kinds_make_no_chain() {
    let people = People::new("kinds");
    people.owner_mandates(&format!("{READ} ; {GRANT}"), false);
    assert_eq!(people.agent_attenuates(&[]).status, 0);
    let of_json = people.scratch.path("leaf.json");
    std::fs::rename(&of_json, people.scratch.path("with-proof.json")).unwrap();
    let line = format!(
        "mandate issue --jose --key owner.json --delegate {} --policy policy.ttl --until {} --out root-jws.json",
        people.agent,
        until()
    );
    people.scratch.run(&line.split(' ').collect::<Vec<_>>());
    let line = format!(
        "mandate attenuate --parent root-jws.json --key agent.json --delegate {} --out leaf.jwt",
        people.org
    );
    people.scratch.run(&line.split(' ').collect::<Vec<_>>());
    let leaf = std::fs::read_to_string(people.scratch.path("leaf.jwt")).unwrap();
    assert!(leaf.starts_with("eyJ") && leaf.matches('.').count() == 2, "{leaf}");
    let verify = |papers: [&str; 2]| {
        people
            .scratch
            .try_run(&[&["mandate", "verify", "--root", &people.owner], &papers[..], &ASK[..]].concat())
    };
    for papers in [["root-jws.json", "leaf.jwt"], ["root.json", "with-proof.json"]] {
        let run = verify(papers);
        assert_eq!(run.status, 0, "{papers:?} {}", run.stdout);
    }
    for papers in [["root.json", "leaf.jwt"], ["root-jws.json", "with-proof.json"]] {
        let run = verify(papers);
        assert!(
            run.status == 1 && run.stdout.contains("MALFORMED") && run.stdout.contains("two kinds"),
            "{}",
            run.stdout
        );
    }
    let present = |holder: &str, papers: [&str; 2]| {
        let line = format!(
            "mandate present --key {holder}.json --credential {} --credential {} --challenge 0123456789abcdef \
             --domain https://me.example/agent --out vp.jwt",
            papers[0], papers[1]
        );
        people.scratch.try_run(&line.split(' ').collect::<Vec<_>>())
    };
    let run = present("org", ["root-jws.json", "leaf.jwt"]);
    assert!(run.status == 0 && run.stderr.is_empty(), "{}", run.stderr);
    assert_eq!(present("org", ["root.json", "leaf.jwt"]).status, 2);
    // Whoever is nobody's delegate is told so.
    let run = present("owner", ["root-jws.json", "leaf.jwt"]);
    assert!(run.status == 0 && run.stderr.contains("none of these lets"), "{}", run.stderr);
}

/// What `verify` would take no notice of is not taken.
#[test]
fn verify_takes_no_attribute_that_the_evaluator_has_from_elsewhere() {
    let people = People::new("attributes");
    let counted = READ.replacen(
        "odrl:duty",
        "odrl:constraint [ odrl:leftOperand odrl:count ; odrl:operator odrl:lteq ; odrl:rightOperand 3 ] ; odrl:duty",
        1,
    );
    people.owner_mandates(&counted, false);
    let verify = |more: &[&str]| {
        let base = ["mandate", "verify", "--root", &people.owner, "root.json"];
        people.scratch.try_run(&[&base[..], &ASK[..], more].concat())
    };
    let first = verify(&[]);
    assert!(first.status == 0 && first.stdout.contains("else that of a first use"), "{}", first.stdout);
    for (attribute, said) in [("count=5", "--config"), ("dateTime=x", "--at"), ("delegationDepth=0", "depth")]
    {
        let run = verify(&["--attribute", attribute]);
        assert!(run.status == 2 && run.stderr.contains(said), "{attribute}: {}", run.stderr);
    }
    assert_eq!(verify(&["--attribute", "purpose=x"]).status, 0);
}

/// An issuer signs a list, names it in a mandate, revokes, suspends and lifts; the server has it from its cache. The same
/// for a mandate with a proof and for one in a JWS.
#[test]
fn an_issuer_takes_a_mandate_back_by_its_status_list() {
    let people = People::new("status");
    let run = |line: &str| people.scratch.try_run(&line.split(' ').collect::<Vec<_>>());
    let done = |line: &str| people.scratch.run(&line.split(' ').collect::<Vec<_>>());
    people.owner_mandates(READ, false);
    people.scratch.write(
        "writgate.toml",
        &format!(
            "domains = [\"https://me.example/agent\"]\ndocument_cache = \"cache\"\n[[roots]]\nprefix = \"https://me.example/\"\n\
             principal = \"{}\"\n[ledger]\npath = \"ledger.db\"\n",
            people.owner
        ),
    );
    let verified = |paper: &str| {
        let run = run(&format!("mandate verify --config writgate.toml {paper}"));
        (run.status, run.stdout)
    };
    for (paper, kind) in [("with-proof.json", ""), ("in-jws.jwt", "--jose ")] {
        let folder = people.scratch.path("cache");
        let _ = std::fs::remove_dir_all(&folder);
        for (purpose, reason, url) in [
            ("revocation", "REVOKED", "https://me.example/status/1"),
            ("suspension", "SUSPENDED", "https://me.example/status/2"),
        ] {
            done(&format!("status sign --key owner.json --url {url} --purpose {purpose} --out list.json"));
            // No --until: the list is what ends it.
            done(&format!(
                "mandate issue {kind}--key owner.json --delegate {} --policy policy.ttl --status-list {url} \
                 --status-index 9 --status-purpose {purpose} --out {paper}",
                people.agent
            ));
            let drawn = done(&format!("mandate inspect {paper}"));
            assert!(drawn.contains(&format!("status: {purpose} at 9 of {url}")), "{drawn}");
            done(&format!("source add --url {url} list.json"));
            let (status, said) = verified(paper);
            assert_eq!(status, 0, "{said}");
            done("status sign --key owner.json --from list.json --set 8 --set 9 --out set.json");
            done(&format!("source add --url {url} set.json"));
            let (status, said) = verified(paper);
            assert!(status == 1 && said.contains(&format!("REFUSE  {reason}")), "{said}");
            let cleared = run("status sign --key owner.json --from set.json --clear 9 --out cleared.json");
            if purpose == "revocation" {
                assert!(
                    cleared.status == 2 && cleared.stderr.contains("never taken back"),
                    "{}",
                    cleared.stderr
                );
                continue;
            }
            assert_eq!(cleared.status, 0, "{}", cleared.stderr);
            done(&format!("source add --url {url} cleared.json"));
            assert_eq!(verified(paper).0, 0);
        }
    }
    // Another index is not touched, and an attenuated mandate can have an entry of its own.
    for (line, said) in [
        ("status sign --key owner.json --url http://me.example/1", "https URL"),
        ("status sign --key owner.json --url https://me.example/1 --set 131072", "131072 entries"),
        ("status sign --key agent.json --from list.json", "key's controller"),
        ("status sign --key owner.json --from policy.ttl", "not JSON"),
        ("status sign --key owner.json --from root.json", "purpose"),
        ("status sign --key owner.json", "--url"),
        (
            "mandate issue --key owner.json --delegate did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp --policy policy.ttl",
            "--until",
        ),
    ] {
        let run = run(line);
        assert!(run.status == 2 && run.stderr.contains(said), "{line}: {}", run.stderr);
    }
    people.owner_mandates(&format!("{READ} ; {GRANT}"), false);
    let attenuated =
        people.agent_attenuates(&["--status-list", "https://me.example/status/3", "--status-index", "0"]);
    assert_eq!(attenuated.status, 0, "{}", attenuated.stderr);
    assert!(
        done("mandate inspect leaf.json").contains("status: revocation at 0 of https://me.example/status/3")
    );
}

/// A constraint that could never hold is not signed.
#[test]
fn attenuate_takes_no_constraint_of_the_wrong_type() {
    let people = People::new("constraints");
    people.owner_mandates(&format!("{READ} ; {GRANT}"), false);
    for (constraint, said) in [
        ("count lteq many", "whole number"),
        ("http://www.w3.org/ns/odrl/2/count lteq 1.5", "whole number"),
        ("dateTime lt tomorrow", "an instant"),
        ("dateTime lt 2026-12-31", "an instant"),
        ("delegationDepth lteq 1", "--depth"),
    ] {
        let run = people.agent_attenuates(&["--constraint", constraint]);
        assert!(run.status == 2 && run.stderr.contains(said), "{constraint}: {}", run.stderr);
    }
    assert!(!people.scratch.path("leaf.json").exists());
    for constraint in [
        "count lteq 2",
        "dateTime lt 2026-12-31T00:00:00Z",
        "https://x.example/count eq many",
        "purpose eq https://x.example/p",
    ] {
        let run = people.agent_attenuates(&["--constraint", constraint]);
        assert_eq!(run.status, 0, "{constraint}: {}", run.stderr);
    }
    // A chain with a hop missing says which.
    let orphan = people.scratch.try_run(&["mandate", "verify", "--root", &people.owner, "leaf.json"]);
    let said = "a policy is delegated under one that is not presented: https://me.example/policies/1";
    assert!(orphan.status == 1 && orphan.stdout.contains(said), "{}", orphan.stdout);
    assert!(orphan.stdout.contains("why: policy urn:uuid:"), "{}", orphan.stdout);
    // What is no paper is called by its name.
    people.scratch.write("message.json", "{\"messageId\": \"m-1\"}");
    let drawn = people.scratch.run(&["mandate", "inspect", "root.json", "message.json", "owner.json"]);
    assert!(drawn.contains("message.json cannot be read: MALFORMED: it is a message"), "{drawn}");
    assert!(drawn.contains("owner.json cannot be read: MALFORMED: it is a secret key"), "{drawn}");
}

/// Each careless call says what to do instead.
#[test]
fn careless_calls_are_told_what_to_do() {
    let people = People::new("careless-mandates");
    people.owner_mandates(&format!("{READ} ; {GRANT}"), false);
    let run = |line: &str| people.scratch.try_run(&line.split(' ').collect::<Vec<_>>());
    people.scratch.write("empty.json", "\n");
    people.scratch.write("empty.ttl", "");
    people.scratch.write(
        "server.toml",
        &format!(
            "domains = [\"https://me.example/agent\"]\n[[roots]]\nprefix = \"https://me.example/\"\nprincipal = \"{}\"\n\
             [ledger]\npath = \"ledger.db\"\n",
            people.owner
        ),
    );
    let hash = format!("sha256:{}", "0".repeat(64));
    for (line, status, said) in [
        ("mandate verify root.json", 2, "--root"),
        ("mandate verify root.json --root bob", 2, "--root bob"),
        ("mandate inspect empty.json", 2, "nothing of what was given"),
        ("mandate inspect empty.json root.json", 0, ""),
        ("mandate inspect owner.json", 2, "nothing of what was given"),
        ("decide root.json --config none.toml", 2, "--config"),
        ("source list --config none.toml", 2, "--config"),
        ("ledger init --config none.toml", 2, "--config"),
        ("mandate verify root.json --config none.toml", 2, "--config"),
        ("key show empty.json", 2, "empty.json is empty"),
        ("key show root.json", 2, "`writgate key new` makes one"),
        (
            "mandate issue --key owner.json --delegate bob --policy policy.ttl --until 2999-01-01T00:00:00Z",
            2,
            "--delegate bob",
        ),
        ("mandate attenuate --parent root.json --key agent.json --delegate bob", 2, "--delegate bob"),
        ("protocol hash empty.ttl", 2, "nothing to pin"),
        ("source list --config server.toml", 2, "document_cache = "),
        (&format!("message new --intent empty.ttl --protocol {hash} --out m.json"), 0, "it says nothing"),
        (
            &format!(
                "message new --intent policy.ttl --protocol {hash} --presentation root.json --out m.json"
            ),
            0,
            "is no presentation",
        ),
        (
            &format!(
                "mandate issue --key owner.json --delegate {} --policy policy.ttl --from 2019-01-01T00:00:00Z --until 2020-01-01T00:00:00Z --out old.json",
                people.agent
            ),
            0,
            "has passed already",
        ),
    ] {
        let run = run(line);
        assert_eq!(run.status, status, "{line}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(said), "{line}: {}", run.stderr);
    }
}
