//! `writgate challenge`.

use super::{Exit, Failure, Outcome, output};
use crate::message::compose;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compute the bound challenge for this message (without its presentation); absent: make a new challenge to give out
    #[arg(long, requires = "nonce", requires = "domain")]
    message: Option<PathBuf>,
    /// The value that the server gave out
    #[arg(long, requires = "message")]
    nonce: Option<String>,
    /// The server's domain, as its card names it
    #[arg(long, requires = "message")]
    domain: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match (&arguments.message, &arguments.nonce, &arguments.domain) {
        (Some(message), Some(nonce), Some(domain)) => {
            let message = serde_json::from_str(&output::read_text(message)?)?;
            output::say(format_args!("{}", compose::bound_challenge(&message, nonce, domain)?));
        }
        _ => output::say(format_args!("{}", new_challenge()?)),
    }
    Ok(Exit::Success)
}

/// 128 random bits, in lower-case hexadecimal.
fn new_challenge() -> Result<String, Failure> {
    let mut octets = [0u8; 16];
    getrandom::fill(&mut octets).map_err(|cause| Failure::new(cause.to_string()))?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}
