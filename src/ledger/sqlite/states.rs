//! The state of the tables at one row, kept where the rows before it do not say it: at a migration, and at an archive.

use super::changes::{RESERVED, TRACKED, Tracked, digests_of_row};
use crate::audit::RowChange;
use crate::ledger::LedgerError;
use crate::message::Digest;
use rusqlite::{Connection, Transaction};

/// Keeps the state of all tables that decisions rest on, and gives its digest.
pub(super) fn keep(transaction: &Transaction<'_>) -> Result<Digest, LedgerError> {
    write(transaction, &of(transaction, TRACKED.iter().chain(&RESERVED))?)
}

/// The state of the tracked tables of a ledger that was just made.
pub(super) fn first() -> Result<Vec<RowChange>, LedgerError> {
    of(&super::schema::model()?, &TRACKED)
}

/// The rows of tables, in order.
fn of<'a>(
    connection: &Connection,
    tables: impl IntoIterator<Item = &'a Tracked>,
) -> Result<Vec<RowChange>, LedgerError> {
    let mut state: Vec<RowChange> = Vec::new();
    for tracked in tables {
        let mut statement = connection.prepare(&format!(
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
    Ok(state)
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
