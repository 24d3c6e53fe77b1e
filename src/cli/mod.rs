//! The command line. Every command is a thin skin over the library; `run` turns arguments into one of them, and
//! `main` turns its result into an exit code.

mod audit;
mod bench;
mod card;
mod challenge;
mod conversation;
mod decide;
mod demo;
mod key;
mod ledger;
mod log;
mod mandate;
mod message;
mod output;
mod protocol;
mod source;
mod status;
pub(crate) mod vectors;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// What a command says on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; for `decide`: allow.
    Success,
    /// Refused, or some vectors failed.
    Refused,
    /// Not a message of the extension.
    NotOurs,
}

/// Why a command could not run, for a person. (Exit code 2.)
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

type Outcome = Result<Exit, Failure>;

/// Policy decision point for agent-to-agent messages.
#[derive(Debug, Parser)]
#[command(name = "writgate", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Decide a message: exit 0 allow, 1 refuse, 2 could not run, 3 not ours
    Decide(decide::Arguments),
    /// The server's ledger: make it, prune it, change its key, say that it was restored
    #[command(subcommand)]
    Ledger(ledger::Command),
    /// What the ledger recorded: verify it, and read it
    #[command(subcommand)]
    Audit(audit::Command),
    /// Print the extension's entry for our Agent Card
    Card(card::Arguments),
    /// Protocol Documents
    #[command(subcommand)]
    Protocol(protocol::Command),
    /// Agree on a Protocol Document with another agent: offer, take in, look at
    #[command(subcommand)]
    Conversation(conversation::Command),
    /// Signing keys
    #[command(subcommand)]
    Key(key::Command),
    /// Mandates: issue, pass on, present, look at, judge
    #[command(subcommand)]
    Mandate(mandate::Command),
    /// Build a message; check a response
    #[command(subcommand)]
    Message(message::Command),
    /// Challenges: make or issue one, compute the bound one that a client signs
    Challenge(challenge::Arguments),
    /// Status lists, for issuers: sign one, revoke, suspend
    #[command(subcommand)]
    Status(status::Command),
    /// Documents that were retrieved: status lists, did:web, WebID and Protocol Documents
    #[command(subcommand)]
    Source(source::Command),
    /// Conformance vectors
    #[command(subcommand)]
    Vectors(vectors::Command),
    /// A whole exchange on the shipped examples, with narration
    Demo(demo::Arguments),
    /// What the stages of a decision cost on this machine
    Bench(bench::Arguments),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log::begin();
    match run(arguments.command) {
        Ok(Exit::Success) => ExitCode::SUCCESS,
        Ok(Exit::Refused) => ExitCode::from(1),
        Ok(Exit::NotOurs) => ExitCode::from(3),
        Err(Failure(problem)) => {
            eprintln!("writgate: {}", output::escaped_block(&problem));
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Decide(arguments) => decide::run(&arguments),
        Command::Ledger(command) => ledger::run(&command),
        Command::Audit(command) => audit::run(&command),
        Command::Card(arguments) => card::run(&arguments),
        Command::Protocol(command) => protocol::run(&command),
        Command::Conversation(command) => conversation::run(&command),
        Command::Key(command) => key::run(&command),
        Command::Mandate(command) => mandate::run(&command),
        Command::Message(command) => message::run(&command),
        Command::Challenge(arguments) => challenge::run(&arguments),
        Command::Status(command) => status::run(&command),
        Command::Source(command) => source::run(&command),
        Command::Vectors(command) => vectors::run(&command),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    }
}
