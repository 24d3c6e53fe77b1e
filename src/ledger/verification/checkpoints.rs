//! Checkpoints by themselves: their form, their signatures, their order; and those from outside the file beside them.

use super::scratch::Scratch;
use super::tables::Meta;
use super::{Stop, Verification, bounded, shown};
use crate::audit::CheckpointV1;
use crate::ledger::LedgerError;
use crate::message::Digest;
use rusqlite::Connection;
use serde::de::IgnoredAny;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

/// Octets of a checkpoint's text: many times what one takes.
const MAX_CHECKPOINT_BYTES: u64 = 64 << 10;

/// Reads the file's checkpoints in order of their numbers. Those that hold by themselves are laid beside the rows.
pub(super) fn read(
    connection: &Connection,
    meta: &Meta,
    scratch: &Scratch,
    found: &mut Verification,
) -> Result<(), Stop> {
    let mut statement = connection.prepare(&format!(
        "SELECT checkpoints.number, checkpoints.sequence, {} FROM checkpoints ORDER BY checkpoints.number",
        bounded("checkpoint")
    ))?;
    let mut rows = statement.query(())?;
    let mut before: Option<(i64, Digest)> = None;
    while let Some(row) = rows.next()? {
        found.checkpoints = found.checkpoints.saturating_add(1);
        let name = shown::row(row, &["number"]);
        let number = row.get_ref(0)?.as_i64().unwrap_or(0);
        let Ok(text) = row.get_ref(2)?.as_str() else {
            found.find("checkpoints", name, None, "it is no text");
            continue;
        };
        let expected = before.map_or(1, |(number, _)| number.saturating_add(1));
        if number > expected && !(before.is_none() && meta.is_archived) {
            let missing = match number.saturating_sub(expected) {
                1 => format!("checkpoint {expected} is missing"),
                _ => format!("checkpoints {expected} to {} are missing", number.saturating_sub(1)),
            };
            found.find("checkpoints", name.clone(), None, missing);
        }
        let previous =
            before.filter(|(before, _)| *before == number.saturating_sub(1)).map(|(_, digest)| digest);
        before = Some((number, Digest::of(text)));
        let Some(checkpoint) = CheckpointV1::read(text) else {
            found.find("checkpoints", name, None, "it is not of this version's form");
            continue;
        };
        let problem = if !checkpoint.is_signed() {
            Some("its signature is not that of the key that it names")
        } else if i64::try_from(checkpoint.number) != Ok(number)
            || row.get_ref(1)?.as_i64().ok() != i64::try_from(checkpoint.sequence).ok()
        {
            Some("it is kept under another number or row than it says")
        } else if checkpoint.ledger_id != meta.ledger_id || checkpoint.domain != meta.domain {
            Some("it is of another ledger or domain")
        } else if (number == 1 && checkpoint.previous.is_some())
            || previous.is_some_and(|previous| checkpoint.previous != Some(previous))
        {
            Some("it does not follow the checkpoint before it")
        } else {
            None
        };
        match problem {
            Some(problem) => found.find("checkpoints", name, checkpoint.sequence, problem),
            None => scratch.put_checkpoint(checkpoint.number, checkpoint.sequence, text)?,
        }
    }
    Ok(())
}

/// Reads a file of checkpoints from outside, line by line.
///
/// # Errors
/// It cannot be read at all.
pub(super) fn read_outside(
    path: &Path,
    meta: &Meta,
    scratch: &Scratch,
    found: &mut Verification,
) -> Result<(), LedgerError> {
    let unreadable = |error: std::io::Error| {
        LedgerError::Store(format!("{}: the file of checkpoints cannot be read: {error}", path.display()))
    };
    let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut compared = 0u64;
    for line in 1.. {
        let mut octets = Vec::new();
        let read =
            reader.by_ref().take(MAX_CHECKPOINT_BYTES).read_until(b'\n', &mut octets).map_err(unreadable)?;
        if read == 0 {
            break;
        }
        let name = format!("line {line}");
        if octets.last() == Some(&b'\n') {
            octets.pop();
        } else {
            // A power cut may end the file within a line.
            match u64::try_from(read) {
                Ok(MAX_CHECKPOINT_BYTES..) => {
                    found.find("outside", name, None, "it is longer than a checkpoint")
                }
                _ => found.notes.push(format!("{name} of the file of checkpoints ends before its end")),
            }
            break;
        }
        let text = String::from_utf8(octets).ok();
        let checkpoint = text.as_deref().and_then(CheckpointV1::read);
        match (text, checkpoint) {
            (Some(text), Some(checkpoint)) if checkpoint.is_signed() => {
                if checkpoint.ledger_id != meta.ledger_id || checkpoint.domain != meta.domain {
                    found.find("outside", name, None, "it is a checkpoint of another ledger or domain");
                    continue;
                }
                scratch.put_outside(line, checkpoint.number, &text)?;
                compared = compared.saturating_add(1);
            }
            (_, Some(_)) => {
                found.find("outside", name, None, "its signature is not that of the key that it names")
            }
            (Some(text), None) if is_cut_off(&text) => {
                found
                    .notes
                    .push(format!("{name} of the file of checkpoints was cut off while it was written"));
            }
            (_, None) => found.find("outside", name, None, "it is no checkpoint of this version's form"),
        }
    }
    if compared == 0 {
        found.notes.push("the file of checkpoints has none of this ledger: it shows nothing".to_owned());
    }
    Ok(())
}

/// A text that would go on: a full disk or a power cut ended it, and the next line was written after it.
fn is_cut_off(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof()) && text.starts_with('{')
}

/// Every checkpoint from outside must be in the file as it is. (One that left with archived rows is the archive's.)
pub(super) fn compare_outside(scratch: &Scratch, found: &mut Verification) -> Result<(), LedgerError> {
    let (first, last) = (found.first_row, found.last_row);
    scratch.each_outside_that_differs(|line, text, has_another| {
        let Some(checkpoint) = CheckpointV1::read(text) else { return };
        if checkpoint.sequence < first {
            return;
        }
        let problem = match has_another {
            true => format!("the ledger has another checkpoint {}", checkpoint.number),
            false if checkpoint.sequence > last => format!(
                "the ledger does not have checkpoint {}, and ends at row {last}: rows were cut off",
                checkpoint.number
            ),
            false => format!("the ledger does not have checkpoint {} as it was", checkpoint.number),
        };
        found.find("outside", format!("line {line}"), checkpoint.sequence, problem);
    })
}
