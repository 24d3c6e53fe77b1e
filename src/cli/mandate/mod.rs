//! `writgate mandate`: making, drawing, judging and narrowing mandates.

mod attenuate;
mod inspect;
mod issue;
mod papers;
mod verify;

use super::Outcome;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Sign a credential that lets an agent act under a policy
    Issue(issue::Issue),
    /// Sign a presentation of credentials, for one challenge and domain
    Present(issue::Present),
    /// Draw the chain of some papers as a tree, verifying nothing
    Inspect(inspect::Arguments),
    /// Judge a chain without a message: exit 0 it holds, 1 refused, 2 could not run
    Verify(verify::Arguments),
    /// Sign a delegated mandate under a parent, unless it asks for more: exit 1 if it does
    Attenuate(attenuate::Arguments),
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Issue(arguments) => issue::issue(arguments),
        Command::Present(arguments) => issue::present(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Attenuate(arguments) => attenuate::run(arguments),
    }
}
