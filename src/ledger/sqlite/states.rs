//! The state of the tables at one row, kept where the rows before it do not say it: at a migration, and at an archive.

use super::changes::{RESERVED, TRACKED, digests_of_row};
use crate::audit::RowChange;
use crate::ledger::LedgerError;
use crate::message::Digest;
use rusqlite::Transaction;

/// Keeps the state of all tables that decisions rest on, and gives its digest.
pub(super) fn keep(transaction: &Transaction<'_>) -> Result<Digest, LedgerError> {
    let mut state: Vec<RowChange> = Vec::new();
    for tracked in TRACKED.iter().chain(&RESERVED) {
        let mut statement = transaction.prepare(&format!(
            "SELECT {} FROM {} ORDER BY {}",
            tracked.columns.join(", "),
            tracked.table,
            tracked.key.join(", ")
        ))?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let (key, row) = digests_of_row(tracked, row)?;
            state.push(RowChange { table: tracked.table.to_owned(), key, row: Some(row) });
        }
    }
    state.sort_unstable();
    write(transaction, &state)
}

/// Keeps a state.
pub(super) fn write(transaction: &Transaction<'_>, state: &[RowChange]) -> Result<Digest, LedgerError> {
    let text = super::rows::jcs_text(&state)?;
    let digest = Digest::of(&text);
    transaction.execute(
        "INSERT INTO states (digest, state) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING",
        (digest.as_bytes(), &text),
    )?;
    Ok(digest)
}
