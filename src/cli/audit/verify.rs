//! `writgate audit verify`.

use super::Source;
use crate::audit::{self, Verification, VerifyOptions};
use crate::cli::{Exit, Outcome, output};
use crate::message::Digest;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// A row that must be there, as its permit gave it: its number, a colon and its hash
    #[arg(long, value_name = "ROW:HASH", value_parser = expected)]
    expect: Vec<(u64, Digest)>,
    /// A file of checkpoints from outside the ledger, a line for each
    #[arg(long, value_name = "FILE")]
    checkpoints: Option<PathBuf>,
    /// A key that signed checkpoints, as a did:key: the first of the ledger must be among them
    #[arg(long, value_name = "DID_KEY", value_parser = did_key)]
    key: Vec<String>,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let options = VerifyOptions {
        expected: arguments.expect.clone(),
        checkpoints: arguments.checkpoints.clone(),
        keys: arguments.key.clone(),
    };
    let path = arguments.source.path()?;
    let verification = audit::verify(&path, &options).map_err(|cause| output::no_ledger(&path, &cause))?;
    if arguments.json {
        output::write(None, &output::json(&verification)?)?;
    } else {
        print(&verification);
    }
    Ok(if verification.holds() { Exit::Success } else { Exit::Refused })
}

fn print(verification: &Verification) {
    for finding in &verification.findings {
        output::say(format_args!(
            "{}  {}",
            output::coloured("NO", 31),
            output::escaped(&finding.to_string())
        ));
    }
    if verification.further_findings > 0 {
        output::say(format_args!("and {} more", verification.further_findings));
    }
    for note in &verification.notes {
        output::say(format_args!("note: {}", output::escaped(note)));
    }
    if !verification.ledger_id.is_empty() {
        let (id, domain) = (output::escaped(&verification.ledger_id), output::escaped(&verification.domain));
        output::say(format_args!("ledger: {id}, of {domain}"));
    }
    for key in &verification.keys {
        output::say(format_args!("key: {}", output::escaped(key)));
    }
    let covered = match verification.covered {
        0 => "no checkpoint covers them".to_owned(),
        row => format!("checkpoints cover them up to row {row}"),
    };
    match verification.row_hash {
        Some(hash) => output::say(format_args!(
            "rows {} to {}; the last has the hash {hash}; {covered}",
            verification.first_row, verification.last_row
        )),
        None => output::say(format_args!("no rows")),
    }
    match verification.holds() {
        true => output::say(format_args!("{}", output::coloured("HOLDS", 32))),
        false => output::say(format_args!(
            "{}  this is not what was written",
            output::coloured("DOES NOT HOLD", 31)
        )),
    }
}

fn did_key(text: &str) -> Result<String, String> {
    match text.starts_with("did:key:z") {
        true => Ok(text.to_owned()),
        false => Err("a key is a did:key, as `ledger init` printed it".to_owned()),
    }
}

fn expected(text: &str) -> Result<(u64, Digest), String> {
    let form = || "a row's number, a colon and the 64 digits of its hash".to_owned();
    let (sequence, hash) = text.split_once(':').ok_or_else(form)?;
    Ok((sequence.parse().map_err(|_| form())?, hash.parse().map_err(|()| form())?))
}
