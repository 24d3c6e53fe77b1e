//! Two agents as two processes, on the official A2A SDK (`examples/agents/`): killed at any step and started again, lied
//! to, and spoken to in prose.
//!
//! `cargo build --manifest-path examples/agents/Cargo.toml --target-dir examples/agents/target` makes them ready; without
//! them these tests say that they skip. With `WRITGATE_INTEROP=required` that is a failure. `WRITGATE_AGENTS` names
//! another folder of their binaries.

use crate::support::world;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use writgate::message::compose::{self, HandshakeDraft, HandshakeForm};
use writgate::protocol::conversation::Role;
use writgate::protocol::handshake::{Handshake, UpgradeOffer, UpgradeResponse};
use writgate::worked_example::{Intent, NOTES};

/// How long a process may take for its next line. None needs a hundredth of it.
const PATIENCE: Duration = Duration::from_secs(120);
const CONTEXT: &str = "ctx-two-agents";
const OTHER: &str = "https://other.example/#me";

// --- The processes --------------------------------------------------------------------------------------------------

/// The folder of the agents' binaries.
fn binaries() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/agents/target");
    let folders = match std::env::var_os("WRITGATE_AGENTS") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => vec![built.join("debug"), built.join("release")],
    };
    let found = folders.into_iter().find(|folder| folder.join("offering").exists());
    if found.is_none() {
        let required = std::env::var("WRITGATE_INTEROP").is_ok_and(|value| value == "required");
        assert!(
            !required,
            "the agents are not built: no `offering` in examples/agents/target or WRITGATE_AGENTS"
        );
        println!(
            "SKIPPED: the agents are not built: no `offering` in examples/agents/target or WRITGATE_AGENTS"
        );
    }
    found
}

/// A running agent, killed when it is dropped.
struct Process {
    child: Child,
    output: Receiver<String>,
    lines: Vec<String>,
}

impl Process {
    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let reader = BufReader::new(child.stdout.take().unwrap());
        let (sender, output) = channel();
        std::thread::spawn(move || {
            // Whoever stopped listening has what it wanted.
            reader.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok());
        });
        Self { child, output, lines: Vec::new() }
    }

    /// Reads on to a line that begins so.
    fn wait_for(&mut self, beginning: &str) -> String {
        loop {
            let line = self.output.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no `{beginning}` after {:#?}", self.lines));
            self.lines.push(line.clone());
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    /// SIGKILL, and the lines until then.
    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.lines.extend(self.output.iter());
        std::mem::take(&mut self.lines)
    }

    fn finish(mut self) -> Run {
        while let Ok(line) = self.output.recv_timeout(PATIENCE) {
            self.lines.push(line);
        }
        let code = self.child.wait().unwrap().code();
        Run { code, lines: std::mem::take(&mut self.lines) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be over already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that ended by itself.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    lines: Vec<String>,
}

impl Run {
    #[track_caller]
    fn says(&self, text: &str) -> &Self {
        assert!(self.lines.iter().any(|line| line.contains(text)), "no `{text}` in {self:#?}");
        self
    }

    #[track_caller]
    fn says_nothing_of(&self, text: &str) -> &Self {
        assert!(!self.lines.iter().any(|line| line.contains(text)), "`{text}` in {self:#?}");
        self
    }

    #[track_caller]
    fn ends_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

// The exit codes of `consuming`.
const REFUSED_HERE: i32 = 3;
const NO_ANSWER: i32 = 4;
const REFUSED_THERE: i32 = 5;

/// A folder with the two ledgers, and the offering agent.
struct Stage {
    binaries: PathBuf,
    folder: PathBuf,
    server: Option<Process>,
    url: String,
}

impl Stage {
    /// A stage of its own with a server that hears; `None` where the agents are not built.
    fn new() -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("writgate-agents-{}", uuid::Uuid::new_v4()));
        let binaries = binaries()?;
        std::fs::create_dir(&folder).unwrap();
        let mut stage = Self { binaries, folder, server: None, url: String::new() };
        stage.serve(&[]);
        Some(stage)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.binaries.join(name));
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        command
    }

    /// Starts the server, on the ledger that it had.
    fn serve(&mut self, more: &[&str]) {
        self.server = None;
        let mut command = self.command("offering");
        command.arg("--ledger").arg(self.folder.join("offering.db"));
        command.arg("--client").arg(format!("agent={}", world().agent_id()));
        command.arg("--client").arg(format!("other={OTHER}"));
        let mut server = Process::spawn(command.args(more));
        let listening = server.wait_for("listening: ");
        self.url = listening.trim_start_matches("listening: ").to_owned();
        self.server = Some(server);
    }

    fn server(&mut self) -> &mut Process {
        self.server.as_mut().unwrap()
    }

    /// SIGKILL to the server, and what it said.
    fn kill_server(&mut self) -> Vec<String> {
        self.server.take().unwrap().kill()
    }

    fn client(&self, context: &str, more: &[&str]) -> Process {
        let mut command = self.command("consuming");
        command.args(["--url", &self.url, "--token", "agent", "--context", context]);
        command.arg("--ledger").arg(self.folder.join("consuming.db"));
        Process::spawn(command.args(more))
    }

    fn run(&self, more: &[&str]) -> Run {
        self.client(CONTEXT, more).finish()
    }

    /// Our client wants to say something in prose.
    fn client_talks(&self) -> Run {
        self.run(&["--prose", "Please give Bob access to my notes."])
    }

    /// A hostile client says something, with the plain SDK. No token is nobody.
    fn plain(&self, token: &str, more: &[&str]) -> Run {
        let mut command = self.command("plain");
        command.args(["--url", &self.url]);
        if !token.is_empty() {
            command.args(["--token", token]);
        }
        Process::spawn(command.args(more)).finish()
    }

    /// A hostile client sends a message of any kind.
    fn plain_sends(&self, token: &str, message: &Value) -> Run {
        let path = self.folder.join(format!("{}.json", uuid::Uuid::new_v4()));
        std::fs::write(&path, message.to_string()).unwrap();
        self.plain(token, &["--activate", "--message", path.to_str().unwrap()])
    }

    /// Prose in the context, from a client that may and one that may not speak there, is refused by both sides.
    #[track_caller]
    fn assert_no_prose(&self) {
        self.client_talks().ends_with(REFUSED_HERE).says("PROTOCOL_REQUIRED").says_nothing_of("step: said");
        for token in ["agent", "other"] {
            self.plain(token, &["--context", CONTEXT]).says("protocol-required").says_nothing_of("task:");
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.server = None;
        // What is left is in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn handshake(context: &str, handshake: Handshake) -> Value {
    compose::handshake(&HandshakeDraft {
        id: uuid::Uuid::new_v4().to_string(),
        context: Some(context.to_owned()),
        task: None,
        role: Role::Client,
        handshake,
        form: HandshakeForm::Json,
    })
    .unwrap()
}

fn offer(required: bool) -> Handshake {
    Handshake::Offer(UpgradeOffer {
        protocol_hash: world().protocol_hash("grant-access").unwrap().parse().unwrap(),
        protocol_source: "https://alice.pod.example/protocols/grant-access".parse().unwrap(),
        required,
        protocol_name: None,
    })
}

fn response(accept: bool) -> Handshake {
    let protocol_hash = world().protocol_hash("grant-access").unwrap().parse().unwrap();
    Handshake::Response(UpgradeResponse { protocol_hash, accept, reason: None })
}

// --- The whole exchange ---------------------------------------------------------------------------------------------

#[test]
fn two_agents_agree_and_an_intent_is_allowed_refused_and_not_replayed() {
    for form in ["json", "turtle", "json-ld"] {
        let Some(mut stage) = Stage::new() else { return };
        let run = stage.run(&["--form", form]);
        run.ends_with(0).says("declared: true").says("required: true").says("answer: active");
        run.says("step: allowed").says("step: replay-refused").says("step: violation-refused");
        run.says("without a recipient: a task, Failed validation-failed").says("ValidationReport");
        run.says("again: -31403 authorization-failed DUPLICATE_MESSAGE");
        let server = stage.kill_server();
        assert!(server.contains(&"offer: active".to_owned()), "{server:#?}");
        let done: Vec<_> = server.iter().filter(|line| line.starts_with("doing: ")).collect();
        assert_eq!(done, [&format!("doing: http://www.w3.org/ns/auth/acl#Control {NOTES}")]);
        stage.serve(&[]);
        stage.assert_no_prose();
    }
}

#[test]
fn a_document_that_the_card_does_not_declare_needs_the_handshake() {
    let Some(stage) = Stage::new() else { return };
    let mut ask = world().ask(Intent::read(NOTES), chrono::Utc::now()).unwrap();
    ask.context = Some(CONTEXT.to_owned());
    stage.plain_sends("agent", &ask.message().unwrap()).says("unknown-protocol");
    stage.run(&["--document", "read", "--skip"]).ends_with(0).says("declared: false").says("step: allowed");
    // Agreed in this context, and in no other.
    ask.context = Some("ctx-elsewhere".to_owned());
    stage.plain_sends("agent", &ask.message().unwrap()).says("unknown-protocol");
}

#[test]
fn the_handshake_may_be_skipped_for_a_declared_document() {
    let Some(stage) = Stage::new() else { return };
    stage.run(&["--skip"]).ends_with(0).says_nothing_of("answer:").says("step: violation-refused");
}

#[test]
fn a_client_activates_an_extension_that_the_card_requires() {
    let Some(mut stage) = Stage::new() else { return };
    stage.client_talks().ends_with(0).says("activated: false").says("InputRequired");
    let root = env!("CARGO_MANIFEST_DIR");
    let config = std::fs::read_to_string(Path::new(root).join("examples/agents/offering.toml")).unwrap();
    let config = format!("extension_required = true\n{}", config.replace("\"../../", &format!("\"{root}/")));
    let path = stage.folder.join("offering.toml");
    std::fs::write(&path, config).unwrap();
    stage.serve(&["--config", path.to_str().unwrap()]);
    stage.client_talks().ends_with(0).says("activated: true").says("InputRequired");
    stage.plain("agent", &["--context", CONTEXT]).says("error: -32008 protocol-required");
    stage.plain("agent", &["--context", CONTEXT, "--activate"]).says("InputRequired");
    stage.run(&[]).ends_with(0).says("step: violation-refused");
}

// --- Killed at any step ---------------------------------------------------------------------------------------------

/// After both were killed and started again: prose is refused by whoever had recorded anything, and the exchange can be
/// completed.
fn assert_survived(stage: &mut Stage, step: &str, client_knows: bool, server_knows: bool) {
    stage.kill_server();
    stage.serve(&[]);
    if client_knows {
        stage.client_talks().ends_with(REFUSED_HERE).says("PROTOCOL_REQUIRED").says_nothing_of("step: said");
    }
    let prose = stage.plain("agent", &["--context", CONTEXT]);
    // A server that never heard of an offer may talk. It does nothing on a word.
    prose.says(if server_knows { "protocol-required" } else { "InputRequired" });
    stage.run(&[]).ends_with(0).says("step: violation-refused");
    stage.assert_no_prose();
    println!("{step}: survived");
}

#[test]
fn a_client_that_is_killed_at_any_step_comes_back_without_prose() {
    for (step, client_knows, server_knows) in [
        ("card", false, false),
        ("offered", true, false),
        ("heard", true, true),
        ("answered", true, true),
        ("intent", true, true),
        ("allowed", true, true),
        ("replay-refused", true, true),
        ("violation-refused", true, true),
    ] {
        let Some(mut stage) = Stage::new() else { return };
        let mut client = stage.client(CONTEXT, &["--pause-at", step]);
        client.wait_for(&format!("step: {step}"));
        client.kill();
        assert_survived(&mut stage, step, client_knows, server_knows);
    }
}

#[test]
fn a_server_that_is_killed_at_any_step_comes_back_without_prose() {
    for (step, server_knows) in [("received", false), ("judged-offer", true), ("judged-intent", true)] {
        let Some(mut stage) = Stage::new() else { return };
        stage.serve(&["--pause-at", step]);
        let client = stage.client(CONTEXT, &[]);
        stage.server().wait_for(&format!("step: {step}"));
        stage.kill_server();
        client.finish().ends_with(NO_ANSWER).says("no answer");
        stage.serve(&[]);
        assert_survived(&mut stage, step, true, server_knows);
    }
}

// --- Lied to --------------------------------------------------------------------------------------------------------

#[test]
fn an_offer_again_that_is_not_required_relaxes_nothing() {
    let Some(stage) = Stage::new() else { return };
    stage.run(&[]).ends_with(0);
    stage.plain_sends("agent", &handshake(CONTEXT, offer(false))).says("\"accept\":true");
    stage.assert_no_prose();
    // Our own client cannot do it either: what was required stays so.
    stage.run(&["--optional"]).ends_with(0).says("agreed before");
    stage.assert_no_prose();
}

#[test]
fn an_offer_without_its_tag_or_activation_is_no_offer() {
    let Some(stage) = Stage::new() else { return };
    let mut untagged = handshake(CONTEXT, offer(true));
    untagged["extensions"] = json!([]);
    stage.plain_sends("agent", &untagged).says("protocol-required");
    let path = stage.folder.join("stripped.json");
    std::fs::write(&path, handshake(CONTEXT, offer(true)).to_string()).unwrap();
    stage.plain("agent", &["--message", path.to_str().unwrap()]).says("error: -32008 protocol-required");
    stage.run(&[]).ends_with(0);
}

#[test]
fn a_decline_counts_from_nobody_but_the_peer_and_leads_to_no_prose() {
    let Some(stage) = Stage::new() else { return };
    // An answer to no offer is none.
    stage.plain_sends("agent", &handshake(CONTEXT, response(false))).says("unknown-protocol");
    stage.run(&[]).ends_with(0);
    stage.plain_sends("other", &handshake(CONTEXT, response(false))).says("error: ");
    stage.plain_sends("other", &handshake(CONTEXT, offer(false))).says("error: ");
    stage.assert_no_prose();
    stage.run(&[]).ends_with(0).says("step: allowed");
    // By the client itself it contradicts what was agreed.
    stage.plain_sends("agent", &handshake(CONTEXT, response(false))).says("Failed");
    stage.assert_no_prose();
}

#[test]
fn nobody_in_particular_relaxes_nothing() {
    let Some(stage) = Stage::new() else { return };
    stage.run(&[]).ends_with(0);
    for message in [handshake(CONTEXT, offer(false)), handshake(CONTEXT, response(false))] {
        stage.plain_sends("", &message).says("error: ");
    }
    stage.plain("", &["--context", CONTEXT]).says("protocol-required");
    stage.run(&[]).ends_with(0).says("agreed before").says("step: allowed");
    // In a context of its own it is declined, and prose is over there too.
    stage.plain_sends("", &handshake("ctx-of-nobody", offer(false))).says("\"accept\":false");
    stage.plain("", &["--context", "ctx-of-nobody"]).says("protocol-required");
    stage.plain("a-token-that-nobody-gave-out", &["--context", "ctx-new"]).says("error: ");
}

#[test]
fn prose_is_refused_in_the_context_and_its_tasks_and_is_not_ours_elsewhere() {
    let Some(stage) = Stage::new() else { return };
    let talk = stage.plain("agent", &["--context", CONTEXT]);
    talk.says("InputRequired");
    let task = talk.lines.iter().find_map(|line| line.strip_prefix("task: ")?.split(' ').next()).unwrap();
    stage.plain("agent", &["--task", task]).says("InputRequired");
    stage.run(&[]).ends_with(0);
    stage.plain("agent", &["--context", CONTEXT]).says("protocol-required");
    stage.plain("agent", &["--task", task]).says("protocol-required");
    stage.plain("agent", &["--task", task, "--context", CONTEXT]).says("protocol-required");
    stage.plain("agent", &["--task", task, "--context", "ctx-elsewhere"]).says("validation-failed");
    stage.plain("agent", &["--task", "no-such-task"]).says("protocol-required");
    stage.plain("other", &["--task", task]).says("protocol-required");
    stage.plain("agent", &["--context", "ctx-elsewhere"]).says("InputRequired");
    stage.plain("other", &["--context", "ctx-of-the-other"]).says("InputRequired");
}

#[test]
fn a_client_does_not_fall_back_where_the_activation_is_not_echoed() {
    let Some(mut stage) = Stage::new() else { return };
    for required in [true, false] {
        stage.serve(&["--deaf"]);
        let more: &[&str] = if required { &[] } else { &["--document", "test-loose", "--optional"] };
        stage.run(more).ends_with(REFUSED_HERE).says("step: heard").says("PROTOCOL_REQUIRED");
        stage.client_talks().ends_with(REFUSED_HERE).says("exchanges: aborted").says_nothing_of("step: said");
    }
    stage.serve(&[]);
    stage.run(&[]).ends_with(0).says("answer: active");
}

#[test]
fn only_a_declined_optional_offer_gives_leave_to_talk() {
    let Some(stage) = Stage::new() else { return };
    let optional = ["--document", "test-loose", "--optional"];
    stage.run(&optional).ends_with(REFUSED_THERE).says("required: false").says("answer: declined");
    stage.client_talks().ends_with(0).says("step: said").says("answer: a task, InputRequired");
    // The same, required: it is declined too, and that is the end of prose on both sides.
    stage.run(&["--document", "test-loose"]).ends_with(REFUSED_THERE).says("answer: aborted");
    stage.assert_no_prose();
    stage.run(&optional).ends_with(REFUSED_THERE).says("required: true").says("answer: aborted");
    stage.assert_no_prose();
}

const NO_REPLY: &str = "refused there: no answer to the offer";

/// What a lying agent may answer to an offer of a hash, and what the client says to it. All of them echo the activation.
fn lies(hash: &str, required: bool) -> Vec<(&'static str, Value, &'static str)> {
    let of_client = handshake;
    let handshake = |context: &str, handshake: Handshake| {
        let mut message = of_client(context, handshake);
        message["role"] = json!("ROLE_AGENT");
        message
    };
    let response = |hash: &str, accept: bool| {
        let protocol_hash = hash.parse().unwrap();
        handshake(CONTEXT, Handshake::Response(UpgradeResponse { protocol_hash, accept, reason: None }))
    };
    let other = format!("sha256:{}", "0".repeat(64));
    let declined = response(hash, false);
    let with = |pointer: &str, value: Value| {
        let mut message = declined.clone();
        *message.pointer_mut(pointer).unwrap() = value;
        message
    };
    let doubled = json!([declined["parts"][0], declined["parts"][0]]);
    let text = json!([{ "text": "No, thank you. Let us talk." }]);
    let source = "https://alice.pod.example/p".parse().unwrap();
    let own = UpgradeOffer {
        protocol_hash: hash.parse().unwrap(),
        protocol_source: source,
        required: false,
        protocol_name: None,
    };
    vec![
        ("about another document", response(&other, false), "refused here: UNKNOWN_PROTOCOL"),
        ("a yes about another", response(&other, true), "refused here: UNKNOWN_PROTOCOL"),
        (
            "a text for a flag",
            with("/parts/0/data/accept", json!("false")),
            "refused here: HANDSHAKE_MALFORMED",
        ),
        ("no flag", with("/parts/0/data/accept", json!(null)), "refused here: HANDSHAKE_MALFORMED"),
        (
            "another kind within",
            with("/parts/0/data/kind", json!("upgrade-offer")),
            "refused here: HANDSHAKE_MALFORMED",
        ),
        (
            "no tag",
            with("/extensions", json!(["https://w3id.org/jeswr/a2a-rdf/v2"])),
            "refused here: EXTENSION_NOT_TAGGED",
        ),
        ("twice", with("/parts", doubled), "refused here: MESSAGE_MALFORMED"),
        ("in another context", with("/contextId", json!("ctx-elsewhere")), "refused here: MESSAGE_MALFORMED"),
        ("prose", with("/parts", text), if required { "refused here: PROTOCOL_REQUIRED" } else { NO_REPLY }),
        (
            "the client's own word, sent back",
            of_client(CONTEXT, Handshake::Offer(own.clone())),
            "refused here: MESSAGE_MALFORMED",
        ),
        ("an offer of its own", handshake(CONTEXT, Handshake::Offer(own)), NO_REPLY),
    ]
}

#[test]
fn no_lie_of_an_agent_makes_the_client_fall_back() {
    for (document, required) in [("grant-access", true), ("test-loose", false)] {
        let hash = world().protocol_hash(document).unwrap();
        for (name, lie, outcome) in lies(&hash, required) {
            let Some(mut stage) = Stage::new() else { return };
            let path = stage.folder.join("lie.json");
            std::fs::write(&path, lie.to_string()).unwrap();
            stage.serve(&["--lie", path.to_str().unwrap()]);
            let run = stage.run(&["--document", document, "--optional"]);
            println!("{document}: {name}");
            run.says(&format!("required: {required}")).says(outcome);
            run.says_nothing_of("answer: declined").says_nothing_of("step: allowed");
            stage
                .client_talks()
                .ends_with(REFUSED_HERE)
                .says("PROTOCOL_REQUIRED")
                .says_nothing_of("step: said");
            // An honest agent in its place: the offer is answered, and nothing was lost.
            stage.serve(&[]);
            let run = stage.run(&["--document", document, "--optional"]);
            run.says_nothing_of("refused here");
        }
    }
}
