//! Evidence by its content: one copy of each, which can be erased and leaves its digest.

use crate::audit::Blob;
use crate::ledger::LedgerError;
use rusqlite::Transaction;

/// Keeps octets under their digest. What was erased and comes again is kept again.
pub(super) fn keep(transaction: &Transaction<'_>, blob: &Blob) -> Result<(), LedgerError> {
    transaction
        .prepare_cached(
            "INSERT INTO evidence (digest, octets) VALUES (?1, ?2)
             ON CONFLICT (digest) DO UPDATE SET octets = excluded.octets WHERE octets IS NULL",
        )?
        .execute((blob.digest().as_bytes(), blob.octets()))?;
    Ok(())
}

/// Whether the octets are there already.
pub(super) fn is_kept(transaction: &Transaction<'_>, blob: &Blob) -> Result<bool, LedgerError> {
    Ok(transaction
        .prepare_cached("SELECT 1 FROM evidence WHERE digest = ?1 AND octets IS NOT NULL")?
        .exists((blob.digest().as_bytes(),))?)
}
