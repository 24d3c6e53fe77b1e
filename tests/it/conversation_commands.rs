//! `writgate conversation`: two sides, each command a process of its own, and files between them.

use crate::command_line::{Run, Scratch};
use std::path::Path;
use std::process::Command;

/// One side: a folder with a configuration and a ledger.
struct Side {
    folder: Scratch,
    role: &'static str,
    peer: &'static str,
}

impl Side {
    fn new(name: &str, role: &'static str, peer: &'static str) -> Self {
        let folder = Scratch::new(&format!("conversation-{name}-{role}"));
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(repository.join("vectors/writgate.toml")).unwrap();
        let text = text.replace("\"../", &format!("\"{}/", repository.display()));
        folder.write(
            "writgate.toml",
            &text.replace("declared = true", "declared = false\nsecurity_bearing = false"),
        );
        folder.run(&["ledger", "init", "--first"]);
        Self { folder, role, peer }
    }

    fn run(&self, command: &str, rest: &[&str]) -> Run {
        let place = ["conversation", command, "--role", self.role, "--peer", self.peer, "--context", "c-1"];
        self.folder.try_run(&[&place, rest].concat())
    }

    /// Takes in what the other side printed.
    fn receive(&self, message: &str, rest: &[&str]) -> Run {
        self.folder.write("in.json", message);
        self.run("receive", &[rest, &["in.json"]].concat())
    }

    fn offer(&self, rest: &[&str]) -> Run {
        self.run("offer", &[&["--hash", GRANT_ACCESS, "--source", "https://pod.example/p"], rest].concat())
    }

    fn listed(&self) -> String {
        self.folder.run(&["conversation", "list"])
    }
}

const GRANT_ACCESS: &str = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";
const PROSE: &str =
    r#"{"messageId":"m","contextId":"c-1","role":"ROLE_USER","parts":[{"text":"In words."}]}"#;

/// The example runs as it is: agreed, decided under the agreement, prose refused; declined with and without leave.
#[test]
fn the_negotiation_example_runs() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/negotiation.sh");
    let Ok(output) = Command::new("bash").arg(script).arg(env!("CARGO_BIN_EXE_writgate")).output() else {
        println!("skipped: this system has no bash");
        return;
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let mut rest = &*out;
    for said in [
        "natural language may go on",
        "\"kind\": \"upgrade-offer\"",
        "\"accept\": true",
        "agent  client-7  c-1  ",
        "active, required until ",
        "client  https://me.example/agent  c-1  ",
        "active, required until ",
        "ALLOW  row 2",
        "REFUSE  UNKNOWN_PROTOCOL",
        "has no response shape",
        "natural language may go on",
        "  declined\n",
        "  aborted, required\n",
        "3 exchanges forgotten",
        "natural language may go on",
    ] {
        (_, rest) = rest.split_once(said).unwrap_or_else(|| panic!("{said}\n{out}{err}"));
    }
    let said = |text: &str| err.matches(text).count();
    assert_eq!(said("REFUSE  PROTOCOL_REQUIRED at handshake"), 2, "{err}");
    assert_eq!(said("REFUSE  PROTOCOL_REQUIRED at admit"), 1, "{err}");
    for (state, sides) in
        [("active: prose is refused here", 2), ("declined: natural", 2), ("aborted: prose", 2)]
    {
        assert_eq!(said(state), sides, "{state}\n{err}");
    }
}

fn sides(name: &str) -> (Side, Side) {
    (Side::new(name, "client", "https://agent.example/"), Side::new(name, "agent", "client-7"))
}

#[test]
fn two_sides_agree_over_files_in_every_form() {
    for form in ["json", "turtle", "jsonld"] {
        let (client, agent) = sides(form);
        assert_eq!(client.run("prose", &[]).status, 0);
        let offered = client.offer(&["--form", form, "--required"]);
        assert_eq!(offered.status, 0, "{}", offered.stderr);
        assert_eq!(client.run("prose", &[]).status, 1);
        let answered = agent.receive(&offered.stdout, &["--form", form]);
        assert_eq!(answered.status, 0, "{}", answered.stderr);
        let settled = client.receive(&answered.stdout, &[]);
        assert_eq!((settled.status, settled.stderr.trim()), (0, "writgate: active: prose is refused here"));
        for side in [&client, &agent] {
            assert!(side.listed().contains("active, required until "), "{}", side.listed());
            assert_eq!(side.run("prose", &[]).status, 1);
            let said = side.receive(PROSE, &[]);
            assert!(said.status == 1 && said.stderr.contains("PROTOCOL_REQUIRED"), "{}", said.stderr);
        }
        let again = client.offer(&[]);
        assert!(again.stdout.is_empty() && again.stderr.contains("agreed already"));
    }
}

#[test]
fn a_declined_optional_offer_lets_prose_go_on() {
    let (client, agent) = sides("declined");
    let offered = client.offer(&[]);
    // The agent does not speak it.
    let text = std::fs::read_to_string(agent.folder.path("writgate.toml")).unwrap();
    let (before, rest) = text.split_once("[[protocols]]").unwrap();
    let (_, after) = rest.split_once("\n[ledger]").unwrap();
    agent.folder.write("writgate.toml", &format!("{before}[ledger]{after}"));
    let answered = agent.receive(&offered.stdout, &[]);
    assert_eq!(
        (answered.status, answered.stderr.trim()),
        (1, "writgate: declined: natural language may go on")
    );
    let settled = client.receive(&answered.stdout, &[]);
    assert_eq!(
        (settled.status, settled.stderr.trim()),
        (1, "writgate: declined: natural language may go on")
    );
    assert_eq!(client.run("prose", &[]).status, 0);
    let said = agent.receive(PROSE, &[]);
    assert!(said.status == 3 && said.stderr.starts_with("writgate: prose"), "{}", said.stderr);
}

#[test]
fn an_activation_that_is_not_echoed_is_the_end_until_a_person_forgets() {
    let (client, agent) = sides("echo");
    let offered = client.offer(&[]);
    let answered = agent.receive(&offered.stdout, &[]);
    let deaf = client.receive(&answered.stdout, &["--not-activated"]);
    assert!(deaf.status == 1 && deaf.stderr.contains("EXTENSION_NOT_ACTIVE"), "{}", deaf.stderr);
    assert!(client.listed().contains("aborted, required"), "{}", client.listed());
    assert_eq!(client.run("prose", &[]).status, 1);
    let forgotten = client.folder.run(&["conversation", "forget", "--peer", "https://agent.example/"]);
    assert_eq!(forgotten, "1 exchanges forgotten");
    assert_eq!(client.run("prose", &[]).status, 0);
}

#[test]
fn one_declined_offer_is_no_leave_beside_an_agreed_protocol() {
    let (client, agent) = sides("beside");
    let offered = client.offer(&["--required"]);
    client.receive(&agent.receive(&offered.stdout, &[]).stdout, &[]);
    let read = "sha256:57f3559ccd7c55c20e2f457f8ef09e8cef316fb9717bd0df9f17f5c7f5fd5c1b";
    assert_eq!(client.run("offer", &["--hash", read]).status, 0);
    let extension = "https://w3id.org/jeswr/a2a-rdf/v1";
    let declines = serde_json::json!({
        "messageId": "m", "contextId": "c-1", "role": "ROLE_AGENT", "extensions": [extension],
        "parts": [{
            "data": { "kind": "upgrade-response", "protocolHash": read, "accept": false },
            "mediaType": "application/json",
            "metadata": { format!("{extension}/kind"): "upgrade-response" },
        }],
    });
    let settled = client.receive(&declines.to_string(), &[]);
    assert_eq!((settled.status, settled.stderr.trim()), (1, "writgate: declined: no leave for prose"));
    assert_eq!(client.run("prose", &[]).status, 1);
}

#[test]
fn an_offer_without_a_source_is_none() {
    let (client, _) = sides("source");
    let loose = "sha256:258160f56aeae984a65d87d6301299ec1345196ce3953b31ca5e427847366357";
    let offered = client.run("offer", &["--hash", loose]);
    assert!(offered.status == 2 && offered.stderr.contains("no source"), "{}", offered.stderr);
    assert_eq!(client.listed(), "");
}

/// A declined offer is said to leave room for prose only where nothing else keeps prose out.
#[test]
fn a_declined_offer_beside_a_required_one_gives_no_leave() {
    let (client, agent) = sides("beside");
    let offered = client.offer(&["--required"]).stdout;
    let unknown = |digit: &str| offered.replace(GRANT_ACCESS, &format!("sha256:{}", digit.repeat(64)));
    let aborted = agent.receive(&unknown("0"), &[]);
    assert_eq!((aborted.status, aborted.stderr.trim()), (1, "writgate: aborted: prose is refused here"));
    let optional = unknown("1").replace("\"required\": true", "\"required\": false");
    let declined = agent.receive(&optional, &[]);
    assert_eq!((declined.status, declined.stderr.trim()), (1, "writgate: declined: no leave for prose"));
    assert_eq!(agent.run("prose", &[]).status, 1);
}

#[test]
fn what_cannot_go_on_says_which_command_is_next() {
    let (client, agent) = sides("next");
    let empty = client.folder.try_run(&["conversation", "list"]);
    assert_eq!(
        (empty.status, empty.stderr.trim()),
        (0, "writgate: nothing was offered and nothing is agreed")
    );
    // An intent is not for `receive`, and a handshake not for `decide`.
    let intent = crate::support::grant().message().unwrap().to_string();
    agent.folder.write("intent.json", &intent);
    let place = ["--role", "agent", "--peer", "p", "--context", "ctx-1", "intent.json"];
    let received = agent.folder.try_run(&[&["conversation", "receive"][..], &place].concat());
    assert!(received.status == 1 && received.stderr.contains("`writgate decide`"), "{}", received.stderr);
    agent.folder.write("offer.json", &client.offer(&["--required"]).stdout);
    let decided = agent.folder.try_run(&["decide", "offer.json", "--challenge", "0123456789abcdef"]);
    assert!(
        decided.status == 1 && decided.stdout.contains("`writgate conversation receive`"),
        "{}",
        decided.stdout
    );
    let prose = client.run("prose", &[]);
    assert!(prose.status == 1 && prose.stderr.contains("`writgate conversation list`"), "{}", prose.stderr);
    // Not agreed with this peer.
    let decided = agent.folder.try_run(&["decide", "intent.json", "--challenge", "0123456789abcdef"]);
    assert!(decided.status == 1 && decided.stdout.contains("agreed with this peer"), "{}", decided.stdout);
    std::fs::remove_file(agent.folder.path("example-ledger.db")).unwrap();
    let listed = agent.folder.try_run(&["conversation", "list"]);
    assert!(listed.status == 2 && listed.stderr.contains("`writgate ledger init`"), "{}", listed.stderr);
}
