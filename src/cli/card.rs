//! `writgate card`.

use super::{Exit, Outcome, output};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration file
    #[arg(long, default_value = "writgate.toml")]
    config: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let config = output::read_config(&arguments.config)?.load(chrono::Utc::now())?;
    // By way of a value, whose members are in order: a card is signed, and compared from day to day.
    let entry = serde_json::to_value(config.agent_extension())?;
    output::write(None, &output::json(&entry)?)?;
    Ok(Exit::Success)
}
