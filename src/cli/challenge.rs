//! `writgate challenge`.

use super::{Exit, Failure, Outcome, output};
use crate::credential::is_usable_nonce;
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
            if !is_usable_nonce(nonce) {
                return Err(Failure::new(
                    "no server gives out such a nonce: it has 16 octets at least, and is not itself bound",
                ));
            }
            let bound = compose::bound_challenge(&output::read_json(message)?, nonce, domain)
                .map_err(|cause| Failure::new(format!("{}: {cause}", message.display())))?;
            output::say(format_args!("{bound}"));
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
