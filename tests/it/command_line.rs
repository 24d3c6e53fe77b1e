//! The binary, as a person meets it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run of the binary left.
pub struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the binary in the repository's folder.
pub fn writgate(arguments: &[&str]) -> Run {
    writgate_in(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

fn writgate_in(folder: &Path, arguments: &[&str]) -> Run {
    let output =
        Command::new(env!("CARGO_BIN_EXE_writgate")).args(arguments).current_dir(folder).output().unwrap();
    Run {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder of its own for each test, removed at its end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("writgate-cli-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    /// Runs a command that must succeed, and gives its output without the last line break.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        let run = writgate_in(&self.0, arguments);
        assert_eq!(run.status, 0, "{arguments:?}\n{}{}", run.stdout, run.stderr);
        run.stdout.trim_end().to_owned()
    }

    pub fn try_run(&self, arguments: &[&str]) -> Run {
        writgate_in(&self.0, arguments)
    }

    pub fn status(&self, arguments: &[&str]) -> i32 {
        writgate_in(&self.0, arguments).status
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn schema_accepts(report: &Value) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("report.schema.json", schema).unwrap();
    let index = compiler.compile("report.schema.json", &mut schemas).unwrap();
    schemas.validate(report, index).map_err(|error| println!("{error:#}")).is_ok()
}

/// Every case of the bench gets the answer that it expects; what it takes is nobody's promise here.
#[test]
fn the_bench_runs_in_its_short_form() {
    let run = writgate(&["bench", "--short", "--runs", "2"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    for case in ["one hop, cold", "one hop, warm", "8 hops, warm", "actor chain, cold", "shape violation"] {
        assert!(run.stdout.contains(case), "{case}\n{}", run.stdout);
    }
}

#[test]
fn the_demo_allows_two_messages_and_refuses_the_others() {
    let demo = writgate(&["demo"]);
    assert_eq!(demo.status, 0, "{}", demo.stderr);
    assert_eq!(demo.stdout.matches("ALLOW ").count(), 2, "{}", demo.stdout);
    assert!(demo.stdout.matches("REFUSE ").count() >= 10);
    let line = demo.stdout.lines().last().unwrap();
    let refused = format!("2 allowed, {} refused for ", demo.stdout.matches("REFUSE ").count());
    assert!(line.contains(&refused) && line.ends_with(", 1 not ours."), "{line}");
}

#[test]
fn every_report_of_the_demo_is_valid_against_the_schema() {
    let demo = writgate(&["demo", "--json"]);
    assert_eq!(demo.status, 0);
    let reports: Vec<Value> = demo.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(reports.len() > 12);
    for (number, report) in reports.iter().enumerate() {
        assert!(schema_accepts(report), "{report:#}");
        assert_eq!(report["envelope"]["sequence"], number + 1);
    }
}

/// The README's first five minutes: from keys to an allow.
#[test]
fn a_newcomer_gets_from_keys_to_allow() {
    let scratch = Scratch::new("newcomer");
    let owner = scratch.run(&["key", "new", "--out", "owner.json"]);
    let agent = scratch.run(&["key", "new", "--out", "agent.json"]);
    from_keys_to_allow(&scratch, &owner, &agent);
}

#[test]
fn keys_of_every_type_get_from_keys_to_allow() {
    let scratch = Scratch::new("types");
    let owner = scratch.run(&["key", "new", "--type", "p256", "--out", "owner.json"]);
    let agent = scratch.run(&["key", "new", "--type", "p384", "--out", "agent.json"]);
    assert!(owner.starts_with("did:key:zDn") && agent.starts_with("did:key:z82L"), "{owner} {agent}");
    from_keys_to_allow(&scratch, &owner, &agent);
    assert_eq!(scratch.status(&["key", "new", "--type", "p521", "--out", "other.json"]), 2);
}

fn from_keys_to_allow(scratch: &Scratch, owner: &str, agent: &str) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/read.ttl");
    std::fs::copy(&repository, scratch.0.join("read.ttl")).unwrap();
    let hash = scratch.run(&["protocol", "hash", "read.ttl"]);
    scratch.write(
        "writgate.toml",
        &format!(
            "domains = [\"https://me.example/agent\"]\n[[roots]]\nprefix = \"https://me.example/\"\n\
             principal = \"{owner}\"\n[[protocols]]\nfile = \"read.ttl\"\nhash = \"{hash}\"\n\
             classes = [\"https://schema.org/ReadAction\"]\ndeclared = true\n\
             source = \"https://me.example/protocols/read\"\n[ledger]\npath = \"ledger.db\"\n"
        ),
    );
    scratch.write(
        "policy.ttl",
        &format!(
            "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n<https://me.example/policies/1> a odrl:Agreement ;\n\
             odrl:assigner <{owner}> ; odrl:assignee <{agent}> ;\n\
             odrl:permission [ odrl:action odrl:read ; odrl:target <https://me.example/diary> ] .\n"
        ),
    );
    scratch.write(
        "intent.ttl",
        "@prefix a2a: <https://w3id.org/jeswr/a2a#> .\n@prefix schema: <https://schema.org/> .\n\
         <urn:example:intent:1> a a2a:Intent ;\n a2a:action [ a schema:ReadAction ; schema:object <https://me.example/diary> ] .\n",
    );
    scratch.run(&["ledger", "init", "--first"]);
    let until = (chrono::Utc::now() + chrono::TimeDelta::days(30)).to_rfc3339();
    scratch.run(&[
        "mandate",
        "issue",
        "--key",
        "owner.json",
        "--delegate",
        agent,
        "--policy",
        "policy.ttl",
        "--until",
        &until,
        "--out",
        "mandate.json",
    ]);
    let nonce = scratch.run(&["challenge"]);
    let new = ["message", "new", "--intent", "intent.ttl", "--protocol", &hash, "--id", "m-1", "--out"];
    scratch.run(&[&new[..], &["draft.json"]].concat());
    let domain = "https://me.example/agent";
    let bound =
        scratch.run(&["challenge", "bind", "--message", "draft.json", "--nonce", &nonce, "--domain", domain]);
    scratch.run(&[
        "mandate",
        "present",
        "--key",
        "agent.json",
        "--credential",
        "mandate.json",
        "--challenge",
        &bound,
        "--domain",
        domain,
        "--out",
        "presentation.json",
    ]);
    scratch.run(&[&new[..], &["message.json", "--presentation", "presentation.json"]].concat());

    let explained = scratch.run(&["decide", "message.json", "--challenge", &nonce, "--explain"]);
    assert!(explained.contains("ALLOW") && explained.contains("holder"), "{explained}");
    let bound_instead = writgate_in(&scratch.0, &["decide", "message.json", "--challenge", &bound]);
    assert!(bound_instead.stdout.contains("the server's own challenge"), "{}", bound_instead.stdout);
    in_a_jws(scratch, agent, &until, &hash);
    // Exit codes: 1 refuse (a replay), 3 not ours, 2 could not run.
    assert_eq!(scratch.status(&["decide", "message.json", "--challenge", &nonce]), 1);
    scratch.write("prose.json", r#"{"messageId":"p","role":"ROLE_USER","parts":[{"text":"hello"}]}"#);
    assert_eq!(scratch.status(&["decide", "prose.json", "--challenge", &nonce]), 3);
    assert_eq!(scratch.status(&["decide", "missing.json"]), 2);
    // A dry run records nothing, and answers as of a stated instant.
    let report: Value = serde_json::from_str(&scratch.run(&[
        "decide",
        "message.json",
        "--challenge",
        &nonce,
        "--dry-run",
        "--json",
    ]))
    .unwrap();
    assert_eq!(report["outcome"], "granted");
    let dry = scratch.run(&["decide", "message.json", "--challenge", &nonce, "--dry-run", "--explain"]);
    assert!(dry.contains("ok policy") && !dry.contains("admission  "), "{dry}");
    assert!(dry.starts_with("WOULD ALLOW") && dry.contains("the ledger, with what it counted"), "{dry}");
    let later = (chrono::Utc::now() + chrono::TimeDelta::days(60)).to_rfc3339();
    assert_eq!(scratch.status(&["decide", "message.json", "--challenge", &nonce, "--now", &later]), 1);
}

#[test]
fn an_existing_key_is_not_overwritten() {
    let scratch = Scratch::new("key");
    scratch.run(&["key", "new", "--out", "key.json"]);
    let before = std::fs::read(scratch.0.join("key.json")).unwrap();
    assert_eq!(scratch.status(&["key", "new", "--out", "key.json"]), 2);
    assert_eq!(std::fs::read(scratch.0.join("key.json")).unwrap(), before);
}

/// What a careless person gets wrong is named, with the file that it is in.
#[test]
fn a_command_that_cannot_run_names_what_is_wrong() {
    let scratch = Scratch::new("careless");
    let owner = scratch.run(&["key", "new", "--out", "owner.json"]);
    let other = scratch.run(&["key", "new", "--out", "other.json"]);
    scratch.write("junk.json", "junk");
    scratch.write("junk.ttl", "junk");
    scratch.write("empty.ttl", "");
    scratch.write("object.json", "{}");
    scratch.write(
        "policy.ttl",
        &format!(
            "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n<https://me.example/policies/1> a odrl:Agreement ;\n\
             odrl:assigner <{owner}> ; odrl:assignee <{owner}> ;\n\
             odrl:permission [ odrl:action odrl:read ; odrl:target <https://me.example/diary> ] .\n"
        ),
    );
    let problem = |line: &str, named: &[&str]| {
        let run = writgate_in(&scratch.0, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(run.status, 2, "{line}: {}{}", run.stdout, run.stderr);
        for part in named {
            assert!(run.stderr.contains(part), "{line}: {}", run.stderr);
        }
    };
    let hash = format!("sha256:{}", "0".repeat(64));
    scratch.run(&["message", "new", "--intent", "junk.ttl", "--protocol", &hash, "--out", "draft.json"]);
    let domain = "--domain https://me.example/agent";

    problem("key new --out owner.json", &["owner.json", "never overwritten"]);
    problem(
        "key new --out new.json --controller me --method https://me.example/key",
        &["me is not an absolute IRI"],
    );
    problem("key show junk.json", &["junk.json is not JSON"]);
    problem("key show object.json", &["object.json"]);
    problem(
        &format!("mandate present --key owner.json --credential junk.json --challenge c {domain}"),
        &["junk.json"],
    );
    problem(
        &format!("message new --intent empty.ttl --protocol {hash} --presentation junk.json"),
        &["junk.json"],
    );
    problem(&format!("challenge bind --message junk.json --nonce 0123456789abcdef {domain}"), &["junk.json"]);
    problem(
        &format!("challenge bind --message draft.json --nonce 0123456789abcdef {domain}"),
        &["draft.json", "GRAPH_MALFORMED"],
    );
    problem(&format!("challenge bind --message draft.json --nonce short {domain}"), &["16 octets"]);
    problem("decide draft.json --now 2026-12-30", &["RFC 3339"]);
    problem("bench --runs 0", &["--runs"]);

    let issue = |key: &str, policy: &str, until: &str| {
        format!("mandate issue --key {key} --delegate {other} --policy {policy} --until {until}")
    };
    let until = "2999-01-01T00:00:00Z";
    problem(&issue("owner.json", "junk.ttl", until), &["junk.ttl"]);
    problem(&issue("owner.json", "empty.ttl", until), &["empty.ttl", "no policy"]);
    problem(&issue("owner.json", "policy.ttl", "2999-01-01"), &["RFC 3339"]);
    problem(&issue("owner.json", "policy.ttl", "2020-01-01T00:00:00Z"), &["end before it begins"]);
    problem(&issue("other.json", "policy.ttl", until), &["assigner", &owner, &other]);
    // Another assignee may be right in a longer chain: a note, and the mandate.
    let line = issue("owner.json", "policy.ttl", until);
    let run = writgate_in(&scratch.0, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("assignee") && run.stdout.starts_with('{'), "{}", run.stderr);
}

/// The same with papers in a JWS. One presentation holds papers of one form.
fn in_a_jws(scratch: &Scratch, agent: &str, until: &str, hash: &str) {
    let run = |line: &str| scratch.run(&line.split(' ').collect::<Vec<_>>());
    let issue =
        format!("mandate issue --key owner.json --delegate {agent} --policy policy.ttl --until {until}");
    run(&format!("{issue} --jose --out mandate.jwt"));
    let nonce = run("challenge");
    let present = format!(
        "mandate present --key agent.json --challenge {nonce} --domain https://me.example/agent --credential mandate.jwt"
    );
    run(&format!("{present} --out presentation.jwt"));
    let new = format!("message new --intent intent.ttl --protocol {hash} --id m-2");
    run(&format!("{new} --presentation presentation.jwt --out jose.json"));
    let decided = run(&format!("decide jose.json --challenge {nonce}"));
    assert!(decided.contains("ALLOW"), "{decided}");
    let both = format!("{present} --credential mandate.json");
    let refused = writgate_in(&scratch.0, &both.split(' ').collect::<Vec<_>>());
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("not both"), "{}", refused.stderr);
}

#[test]
fn a_ledger_that_is_missing_or_there_already_is_named() {
    let scratch = Scratch::new("ledger");
    let repository = env!("CARGO_MANIFEST_DIR");
    let whole = std::fs::read_to_string(Path::new(repository).join("vectors/writgate.toml")).unwrap();
    scratch.write("writgate.toml", &whole.replace("\"../", &format!("\"{repository}/")));
    scratch.write("message.json", "{}");
    let missing = writgate_in(&scratch.0, &["decide", "message.json"]);
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("writgate ledger init"), "{}", missing.stderr);
    scratch.run(&["ledger", "init", "--first"]);
    let again = writgate_in(&scratch.0, &["ledger", "init", "--first"]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("never made anew"), "{}", again.stderr);
    assert_eq!(scratch.status(&["decide", "message.json"]), 1);
}

#[test]
fn a_wrong_configuration_stops_with_the_setting_that_is_wrong() {
    let scratch = Scratch::new("config");
    let whole =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/writgate.toml")).unwrap();
    let repository = env!("CARGO_MANIFEST_DIR");
    let whole = whole.replace("\"../", &format!("\"{repository}/"));
    scratch.write("message.json", "{}");
    let problem = |text: &str| {
        scratch.write("writgate.toml", text);
        let run = writgate_in(&scratch.0, &["decide", "message.json", "--dry-run"]);
        (run.status, run.stderr)
    };
    assert_eq!(problem(&whole).0, 1, "the whole file is fine: {}", problem(&whole).1);
    let wrong = [
        ("domains = [\"https://alice.pod.example/agent\"]", "domains = []", "domains"),
        ("domains = [\"https://alice.pod.example/agent\"]", "", "domains"),
        ("sha256:4af1e70e", "sha256:5af1e70e", "hash"),
        ("https://w3id.org/jeswr/a2a#GrantAction", "https://w3id.org/jeswr/a2a#EveryAction", "EveryAction"),
        ("prefix = \"https://alice.pod.example/\"", "prefix = \"https://Alice.pod.example/\"", "alice"),
        ("[ledger]", "[diary]", "diary"),
        ("declared = true", "declared = \"yes\"", "declared"),
        ("source = \"https:", "source = \"http:", "source"),
        ("source = ", "# source = ", "source"),
    ];
    for (from, to, named) in wrong {
        assert!(whole.contains(from), "{from}");
        let (status, stderr) = problem(&whole.replacen(from, to, 1));
        assert_eq!(status, 2, "{to}: {stderr}");
        assert!(stderr.to_lowercase().contains(&named.to_lowercase()), "{to}: {stderr}");
        assert!(!stderr.contains("\\u{a}"), "line breaks are not escaped: {stderr}");
    }
}

/// The decision path opens no socket: the demo runs where there is no network interface at all.
#[test]
fn the_demo_needs_no_network() {
    let unshare = |program: &str, arguments: &[&str]| {
        Command::new("unshare")
            .args(["--user", "--map-root-user", "--net", program])
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
    };
    match unshare("true", &[]) {
        Ok(output) if output.status.success() => {}
        _ => {
            println!("skipped: this system gives no network namespace");
            return;
        }
    }
    let demo = unshare(env!("CARGO_BIN_EXE_writgate"), &["demo"]).unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    assert_eq!(String::from_utf8_lossy(&demo.stdout).matches("ALLOW ").count(), 2);
}

/// A configuration with a cache, in a folder of its own, with its ledger.
fn with_cache(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write(
        "writgate.toml",
        "domains = [\"https://me.example/agent\"]\ndocument_cache = \"cache\"\n[[roots]]\nprefix = \"https://me.example/\"\n\
         principal = \"https://me.example/card#me\"\n[ledger]\npath = \"ledger.db\"\n",
    );
    scratch
}

#[test]
fn documents_are_put_into_the_cache_by_hand_and_listed() {
    let scratch = with_cache("cache");
    scratch.write("did.json", "{\"id\": \"did:web:organisation.example\"}");
    fn add<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["source", "add", "did.json", "--url"], more].concat()
    }
    let url = "https://organisation.example/.well-known/did.json";
    assert_eq!(scratch.status(&["source", "list"]), 2, "there is no cache yet");
    let added = scratch.run(&add(&[url, "--retrieved", "2026-11-30T10:00:00Z"]));
    let expected = format!("{url}  application/json  2026-11-30T10:00:00Z  38 octets  sha256:");
    assert!(added.starts_with(&expected), "{added}");
    scratch.run(&add(&["https://a.example/status", "--media-type", "application/vc"]));
    let listed = scratch.run(&["source", "list"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!((lines.len(), lines[1]), (2, added.as_str()));
    assert!(lines[0].starts_with("https://a.example/status  application/vc  "), "{listed}");
    for wrong in [
        vec!["http://organisation.example/did.json"],
        vec!["https://organisation.example/did.json#key"],
        vec![url, "--media-type", "json"],
        vec![url, "--retrieved", "2126-01-01T00:00:00Z"],
        vec![url, "--retrieved", "2026-11-29T10:00:00Z"],
    ] {
        assert_eq!(scratch.status(&add(&wrong)), 2, "{wrong:?}");
    }
    assert_eq!(scratch.run(&["source", "list"]), listed, "nothing changed");
    scratch.write("page", "octets");
    assert_eq!(scratch.status(&["source", "add", "page", "--url", url]), 2, "no media type");
    scratch.run(&["ledger", "init", "--first"]);
    assert_eq!(scratch.run(&["source", "wanted"]), "");
    std::fs::write(scratch.0.join("cache/stray"), "").unwrap();
    let run = writgate_in(&scratch.0, &["source", "list"]);
    assert!(run.status == 2 && run.stderr.contains("stray"), "{}", run.stderr);
}

#[test]
fn wanted_lists_are_printed_escaped() {
    let scratch = with_cache("wanted");
    std::fs::create_dir(scratch.0.join("cache")).unwrap();
    scratch.run(&["ledger", "init", "--first"]);
    let connection = rusqlite::Connection::open(scratch.0.join("ledger.db")).unwrap();
    connection.execute("INSERT INTO status_sponsors VALUES (1, 'alice', '-')", ()).unwrap();
    let insert = "INSERT INTO wanted_lists (sponsor, issuer, url, wanted_us)
        VALUES (1, ?1, 'https://a.example/status/1', 0)";
    connection.execute(insert, ("did:key:z6Mk\u{1b}[2J",)).unwrap();
    drop(connection);
    let wanted = scratch.run(&["source", "wanted"]);
    assert!(wanted.starts_with("https://a.example/status/1  did:key:z6Mk"), "{wanted}");
    assert!(!wanted.contains('\u{1b}'));
}
