//! `writgate challenge`, and a configuration that issues challenges.

use crate::command_line::{Run, Scratch};
use serde_json::{Value, json};
use std::path::Path;

const DOMAIN: &str = "https://me.example/agent";

/// A server whose configuration issues challenges, and a client with its owner's mandate.
struct Setting {
    scratch: Scratch,
    hash: String,
}

impl Setting {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let owner = scratch.run(&["key", "new", "--out", "owner.json"]);
        let agent = scratch.run(&["key", "new", "--out", "agent.json"]);
        let read = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/read.ttl");
        std::fs::copy(read, scratch.path("read.ttl")).unwrap();
        let hash = scratch.run(&["protocol", "hash", "read.ttl"]);
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
             <urn:example:intent:1> a a2a:Intent ;\n\
             a2a:action [ a schema:ReadAction ; schema:object <https://me.example/diary> ] .\n",
        );
        let until = (chrono::Utc::now() + chrono::TimeDelta::days(30)).to_rfc3339();
        let issue = "mandate issue --key owner.json --policy policy.ttl --out mandate.json --delegate";
        let issue: Vec<&str> = issue.split(' ').chain([agent.as_str(), "--until", &until]).collect();
        scratch.run(&issue);
        let setting = Self { scratch, hash };
        setting.configure(&owner, "[challenges]\nkey = \"challenge.key\"\n");
        setting.run("challenge key --out challenge.key");
        setting.run("ledger init --first");
        setting
    }

    fn configure(&self, owner: &str, challenges: &str) {
        let hash = &self.hash;
        self.scratch.write(
            "writgate.toml",
            &format!(
                "domains = [\"{DOMAIN}\"]\n[[roots]]\nprefix = \"https://me.example/\"\nprincipal = \"{owner}\"\n\
                 [[protocols]]\nfile = \"read.ttl\"\nhash = \"{hash}\"\n\
                 classes = [\"https://schema.org/ReadAction\"]\ndeclared = true\n\
                 source = \"https://me.example/protocols/read\"\n[ledger]\npath = \"ledger.db\"\n{challenges}"
            ),
        );
    }

    /// Puts another `[challenges]` into the configuration.
    fn challenges(&self, challenges: &str) {
        let owner = self.run("key show owner.json");
        self.configure(&owner, challenges);
    }

    #[track_caller]
    fn run(&self, line: &str) -> String {
        self.scratch.run(&line.split(' ').collect::<Vec<_>>())
    }

    fn try_run(&self, line: &str) -> Run {
        self.scratch.try_run(&line.split(' ').collect::<Vec<_>>())
    }

    /// Composes a message with this id whose presentation answers `challenge`.
    #[track_caller]
    fn compose(&self, id: &str, challenge: &str) {
        self.run(&format!(
            "mandate present --key agent.json --credential mandate.json --challenge {challenge} --domain {DOMAIN} \
             --out presentation.json"
        ));
        self.run(&format!(
            "message new --id {id} --intent intent.ttl --protocol {} --presentation presentation.json --out {id}.json",
            self.hash
        ));
    }

    fn bind(&self, id: &str, nonce: &str) -> String {
        let hash = &self.hash;
        self.run(&format!("message new --id {id} --intent intent.ttl --protocol {hash} --out draft.json"));
        self.run(&format!("challenge bind --message draft.json --nonce {nonce} --domain {DOMAIN}"))
    }

    /// The reason of a decision; `None` for an allow.
    fn decide(&self, more: &str) -> Option<String> {
        let run = self.try_run(&format!("decide --json {more}"));
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        let of = |half: &str| report[half]["reason"].as_str().map(str::to_owned);
        let reason = of("envelope").or(of("body"));
        assert_eq!(run.status, i32::from(reason.is_some()), "{report:#}");
        reason
    }
}

#[test]
fn a_challenge_that_one_process_issued_is_good_once_in_another() {
    let setting = Setting::new("issued");
    let token = setting.run("challenge issue");
    assert!(token.starts_with("wgi1."), "{token}");
    setting.compose("m-1", &token);
    // Of a peer that it was not issued to; then of the one that it was; then again.
    assert_eq!(setting.decide("m-1.json --peer other").as_deref(), Some("CHALLENGE_CONTEXT_MISMATCH"));
    assert_eq!(setting.decide("m-1.json --context c-1").as_deref(), Some("CHALLENGE_CONTEXT_MISMATCH"));
    assert!(setting.run("decide m-1.json --dry-run").starts_with("WOULD ALLOW"));
    assert_eq!(setting.decide("m-1.json"), None);
    setting.compose("m-2", &token);
    assert_eq!(setting.decide("m-2.json").as_deref(), Some("CHALLENGE_USED"));
    // Bound, where the server says what it gave out.
    let token = setting.run("challenge issue --peer client-7");
    let bound = setting.bind("m-3", &token);
    setting.compose("m-3", &bound);
    assert_eq!(setting.decide("m-3.json --peer client-7").as_deref(), Some("CHALLENGE_UNKNOWN"));
    assert_eq!(setting.decide(&format!("m-3.json --peer client-7 --challenge {token}")), None);
    // An actor that the server authenticates is another one than nobody.
    let agent = setting.run("key show agent.json");
    let token = setting.run(&format!("challenge issue --actor {agent} --domain {DOMAIN}"));
    setting.compose("m-4", &token);
    assert_eq!(setting.decide("m-4.json").as_deref(), Some("CHALLENGE_CONTEXT_MISMATCH"));
    assert_eq!(setting.decide(&format!("m-4.json --actor {agent}")), None);
    // Judged an hour later, it has ended.
    let later = (chrono::Utc::now() + chrono::TimeDelta::hours(1)).to_rfc3339();
    let run = setting.try_run(&format!("decide m-2.json --explain --now {later}"));
    assert!(
        run.stdout.contains("CHALLENGE_EXPIRED") && run.stdout.contains("a new challenge"),
        "{}",
        run.stdout
    );
    let stranger = setting.try_run("challenge issue --domain https://other.example/");
    assert_eq!(stranger.status, 2);
    assert!(stranger.stderr.contains("not one of this server's"), "{}", stranger.stderr);
}

#[test]
fn a_configuration_without_challenges_issues_none() {
    let setting = Setting::new("none");
    let token = setting.run("challenge issue");
    setting.compose("m-1", &token);
    setting.challenges("");
    let run = setting.try_run("challenge issue");
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("no [challenges]"), "{}", run.stderr);
    assert_eq!(setting.decide("m-1.json").as_deref(), Some("CHALLENGE_UNKNOWN"));
    assert_eq!(
        setting.decide(&format!("m-1.json --challenge {token}")).as_deref(),
        Some("CHALLENGE_UNKNOWN")
    );
}

#[test]
fn a_challenge_key_is_a_secret_of_its_owner() {
    let setting = Setting::new("key");
    let path = setting.scratch.path("challenge.key");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.trim_end().len(), 43);
    assert_eq!(setting.try_run("challenge key --out challenge.key").status, 2, "it is never overwritten");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    // What others may open is not believed to be a secret; each bit of it counts.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o640, 0o620, 0o604, 0o602, 0o644, 0o610] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            for command in ["challenge issue", "decide read.ttl"] {
                let run = setting.try_run(command);
                assert_eq!(run.status, 2, "{mode:o}");
                assert!(
                    run.stderr.contains("challenge.key") && run.stderr.contains("chmod 600"),
                    "{}",
                    run.stderr
                );
                assert!(!run.stderr.contains(text.trim_end()));
            }
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
        setting.run("challenge issue");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let (key, long) = (text.trim_end(), "A".repeat(5_000));
    let (short, other) = (key.split_at(42).0, key.replace(|_: char| true, "+"));
    for wrong in
        ["", "\n", short, &format!("{key}="), &format!("{key}A"), &other, &long, &format!("{key}\n{key}")]
    {
        std::fs::write(&path, wrong).unwrap();
        let run = setting.try_run("challenge issue");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{wrong}");
        assert!(run.stderr.contains("is no challenge key"), "{}", run.stderr);
        assert!(!run.stderr.contains(short), "{}", run.stderr);
    }
    std::fs::remove_file(&path).unwrap();
    let run = setting.try_run("challenge issue");
    assert!(run.stderr.contains("is not there; `writgate challenge key"), "{}", run.stderr);
    std::fs::create_dir(&path).unwrap();
    assert!(setting.try_run("challenge issue").stderr.contains("is no challenge key"));
}

#[test]
fn the_life_of_challenges_is_configured_within_bounds() {
    let setting = Setting::new("life");
    let with = |life: &str| {
        setting.challenges(&format!("[challenges]\nkey = \"challenge.key\"\nlife_seconds = {life}\n"))
    };
    for wrong in ["0", "3601", "-1", "1.5", "\"60\""] {
        with(wrong);
        let run = setting.try_run("challenge issue");
        assert_eq!(run.status, 2, "{wrong}");
        assert!(run.stderr.contains("life_seconds") || run.stderr.contains("TOML"), "{}", run.stderr);
    }
    let later = |seconds| (chrono::Utc::now() + chrono::TimeDelta::seconds(seconds)).to_rfc3339();
    with("100");
    let token = setting.run("challenge issue");
    setting.compose("m-1", &token);
    assert!(setting.run(&format!("decide m-1.json --now {}", later(50))).starts_with("WOULD ALLOW"));
    let late = setting.try_run(&format!("decide m-1.json --now {}", later(200)));
    assert!(late.stdout.contains("CHALLENGE_EXPIRED"), "{}", late.stdout);
    setting.challenges("[challenges]\nkey = \"challenge.key\"\nlive_seconds = 1\n");
    assert_eq!(setting.try_run("challenge issue").status, 2, "an unknown key");
    setting.challenges("[challenges]\nlife_seconds = 1\n");
    assert_eq!(setting.try_run("challenge issue").status, 2, "no key");
}

/// Threat 37: what a client would sign is what it computed itself, for the server whose card it has read.
#[test]
fn a_client_binds_to_no_foreign_bound_challenge_and_no_domain_of_another() {
    let setting = Setting::new("client");
    let nonce = setting.run("challenge issue");
    let bound = setting.bind("m-1", &nonce);
    assert!(bound.starts_with("wgb1.") && bound.len() == 48, "{bound}");
    let bind = |nonce: &str, domain: &str, more: &str| {
        setting
            .try_run(&format!("challenge bind --message draft.json --nonce {nonce} --domain {domain}{more}"))
    };
    for wrong in [bound.as_str(), "wgb1.0123456789abcdef", "0123456789abcde"] {
        let run = bind(wrong, DOMAIN, "");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains("no server gives out such a nonce"), "{}", run.stderr);
    }
    // The form without a subcommand is the same command.
    let plain = setting.run(&format!("challenge --message draft.json --nonce {nonce} --domain {DOMAIN}"));
    assert_eq!(plain, bound);
    let refused =
        setting.try_run(&format!("challenge --message draft.json --nonce {bound} --domain {DOMAIN}"));
    assert_eq!((refused.status, refused.stdout.as_str()), (2, ""));
    assert_eq!(setting.try_run(&format!("challenge --nonce {nonce}")).status, 2, "half of it is nothing");

    let card = json!({
        "name": "me", "url": "https://old.example/",
        "supportedInterfaces": [{"url": DOMAIN, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    });
    setting.scratch.write("card.json", &card.to_string());
    let run = bind(&nonce, DOMAIN, " --card card.json");
    assert_eq!((run.status, run.stdout.trim_end()), (0, bound.as_str()), "{}", run.stderr);
    for domain in ["https://bank.example/agent", "https://old.example/", "https://me.example/agent/"] {
        let run = bind(&nonce, domain, " --card card.json");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{domain}");
        assert!(run.stderr.contains("not the `url` of any interface of card.json"), "{}", run.stderr);
    }
    setting.scratch.write("card.json", r#"{"supportedInterfaces": [], "supportedinterfaces": []}"#);
    assert_eq!(bind(&nonce, DOMAIN, " --card card.json").status, 2);
    assert_eq!(bind(&nonce, DOMAIN, " --card absent.json").status, 2);
}

/// The secret takes no part in what a configuration is.
#[test]
fn a_report_is_the_same_whatever_the_secret() {
    let setting = Setting::new("digest");
    let report = || {
        let run = setting.try_run("decide read.ttl --dry-run --json --now 2026-12-01T12:00:00Z");
        assert_eq!(run.status, 1, "{}", run.stderr);
        run.stdout
    };
    let with_key = report();
    std::fs::remove_file(setting.scratch.path("challenge.key")).unwrap();
    setting.run("challenge key --out challenge.key");
    assert_eq!(report(), with_key);
    setting.challenges("");
    assert_eq!(report(), with_key);
}
