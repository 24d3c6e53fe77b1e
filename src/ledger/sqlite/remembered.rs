//! The memory of status and revocation, each step within the caller's transaction.

use super::micros;
use crate::ledger::status_memory::{
    REVOKED_IN_ALL, REVOKED_PER_ISSUER, WANTED_FOR_DAYS, WANTED_IN_ALL, WANTED_PER_ISSUER,
};
use crate::ledger::{
    Learned, LedgerError, ListKey, ListMark, Revoked, RevokedEntry, RevokedPolicy, StatusMemory,
};
use crate::message::Digest;
use crate::request::Instant;
use chrono::TimeDelta;
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memory as it was last read, with the version that it had.
#[derive(Debug, Default)]
pub(super) struct Remembered(Option<(i64, Arc<StatusMemory>)>);

impl Remembered {
    /// The memory as it is now: read anew only where some process has changed it.
    pub(super) fn current(
        &mut self,
        transaction: &Transaction<'_>,
    ) -> Result<Arc<StatusMemory>, LedgerError> {
        let version: i64 = transaction
            .prepare_cached("SELECT version FROM status_memory")?
            .query_row((), |row| row.get(0))?;
        match &self.0 {
            Some((held, memory)) if *held == version => Ok(Arc::clone(memory)),
            _ => {
                let memory = Arc::new(read(transaction)?);
                self.0 = Some((version, Arc::clone(&memory)));
                Ok(memory)
            }
        }
    }
}

fn read(transaction: &Transaction<'_>) -> Result<StatusMemory, LedgerError> {
    let ids = transaction
        .prepare_cached("SELECT id FROM revoked")?
        .query_map((), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let policies = transaction
        .prepare_cached("SELECT publisher, policy FROM revoked_policies")?
        .query_map((), |row| Ok(RevokedPolicy { publisher: row.get(0)?, policy: row.get(1)? }))?
        .collect::<Result<_, _>>()?;
    let entries = transaction
        .prepare_cached("SELECT issuer, list, place FROM revoked_entries")?
        .query_and_then((), |row| {
            Ok(RevokedEntry { issuer: row.get(0)?, list: row.get(1)?, index: super::read_u64(row.get(2)?)? })
        })?
        .collect::<Result<_, LedgerError>>()?;
    let lists = transaction
        .prepare_cached("SELECT issuer, url, valid_from_us, digest, accepted_us FROM accepted_lists")?
        .query_and_then((), |row| Ok((ListKey { issuer: row.get(0)?, url: row.get(1)? }, mark(row, 2)?)))?
        .collect::<Result<BTreeMap<_, _>, LedgerError>>()?;
    Ok(StatusMemory { revoked: Revoked { ids, policies, entries }, lists })
}

/// A mark in the three columns from `first`.
fn mark(row: &Row<'_>, first: usize) -> Result<ListMark, LedgerError> {
    let instant = |stored: i64| {
        Instant::from_timestamp_micros(stored)
            .ok_or_else(|| LedgerError::Unusable("an instant of the ledger is out of the calendar".into()))
    };
    Ok(ListMark {
        valid_from: row.get::<_, Option<i64>>(first)?.map(instant).transpose()?,
        digest: Digest::from_bytes(row.get(first + 1)?),
        accepted: instant(row.get(first + 2)?)?,
    })
}

/// Whether anything of it is revoked by now.
pub(super) fn any_revoked(transaction: &Transaction<'_>, leans_on: &Revoked) -> Result<bool, LedgerError> {
    let mut id = transaction.prepare_cached("SELECT 1 FROM revoked WHERE id = ?1")?;
    for leaned in &leans_on.ids {
        if id.exists((leaned,))? {
            return Ok(true);
        }
    }
    let mut policy =
        transaction.prepare_cached("SELECT 1 FROM revoked_policies WHERE publisher = ?1 AND policy = ?2")?;
    for leaned in &leans_on.policies {
        if policy.exists((&leaned.publisher, &leaned.policy))? {
            return Ok(true);
        }
    }
    for leaned in &leans_on.entries {
        if is_revoked(transaction, leaned)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_revoked(transaction: &Transaction<'_>, entry: &RevokedEntry) -> Result<bool, LedgerError> {
    // No list has a place that the ledger cannot number, so none was ever revoked.
    let Ok(place) = i64::try_from(entry.index) else { return Ok(false) };
    Ok(transaction
        .prepare_cached("SELECT 1 FROM revoked_entries WHERE issuer = ?1 AND list = ?2 AND place = ?3")?
        .exists((&entry.issuer, &entry.list, place))?)
}

/// Whether a list that was relied on is no longer the newest, or has a shorter life than was thought.
pub(super) fn any_list_moved(transaction: &Transaction<'_>, learned: &Learned) -> Result<bool, LedgerError> {
    for (key, relied_on) in &learned.lists {
        if let Some(held) = accepted(transaction, key)?
            && relied_on.following(&held).is_none_or(|mark| mark.accepted != relied_on.accepted)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn accepted(transaction: &Transaction<'_>, key: &ListKey) -> Result<Option<ListMark>, LedgerError> {
    let mut statement = transaction.prepare_cached(
        "SELECT valid_from_us, digest, accepted_us FROM accepted_lists WHERE issuer = ?1 AND url = ?2",
    )?;
    let mut rows = statement.query((&key.issuer, &key.url))?;
    rows.next()?.map(|row| mark(row, 0)).transpose()
}

/// Keeps what an evaluation learned. What another process knows better stays as it is.
pub(super) fn learn(
    transaction: &Transaction<'_>,
    learned: &Learned,
    now: Instant,
) -> Result<(), LedgerError> {
    let mut changed = false;
    for entry in &learned.revoked {
        changed |= learn_revoked(transaction, entry)?;
    }
    for (key, mark) in &learned.lists {
        changed |= learn_list(transaction, key, mark)?;
    }
    for key in &learned.wanted {
        learn_wanted(transaction, key, now)?;
    }
    if changed { moved(transaction) } else { Ok(()) }
}

/// Marks the memory as changed, for every snapshot that still holds the last one.
fn moved(transaction: &Transaction<'_>) -> Result<(), LedgerError> {
    transaction.prepare_cached("UPDATE status_memory SET version = version + 1")?.execute(())?;
    Ok(())
}

fn learn_revoked(transaction: &Transaction<'_>, entry: &RevokedEntry) -> Result<bool, LedgerError> {
    if is_revoked(transaction, entry)? {
        return Ok(false);
    }
    let of_issuer = count(
        transaction,
        "SELECT count(*) FROM revoked_entries WHERE issuer = ?1",
        Some(entry.issuer.as_str()),
    )?;
    let in_all = count(transaction, "SELECT count(*) FROM revoked_entries", None)?;
    if of_issuer >= REVOKED_PER_ISSUER || in_all >= REVOKED_IN_ALL {
        tracing::warn!(issuer = %entry.issuer, list = %entry.list, "a revocation is not kept: the ledger's quota is full");
        return Ok(false);
    }
    insert_entry(transaction, entry)?;
    Ok(true)
}

fn insert_entry(transaction: &Transaction<'_>, entry: &RevokedEntry) -> Result<usize, LedgerError> {
    let place = i64::try_from(entry.index)
        .map_err(|_| LedgerError::Contradictory("a place in a status list is larger than any list"))?;
    Ok(transaction
        .prepare_cached(
            "INSERT INTO revoked_entries (issuer, list, place) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute((&entry.issuer, &entry.list, place))?)
}

fn learn_list(transaction: &Transaction<'_>, key: &ListKey, mark: &ListMark) -> Result<bool, LedgerError> {
    let held = accepted(transaction, key)?;
    let next = match &held {
        None => Some(*mark),
        Some(held) => mark.following(held),
    };
    let Some(next) = next.filter(|next| held != Some(*next)) else { return Ok(false) };
    transaction
        .prepare_cached(
            "INSERT INTO accepted_lists (issuer, url, valid_from_us, digest, accepted_us)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (issuer, url) DO UPDATE SET
                 valid_from_us = excluded.valid_from_us,
                 digest = excluded.digest,
                 accepted_us = excluded.accepted_us",
        )?
        .execute((
            &key.issuer,
            &key.url,
            next.valid_from.map(micros),
            next.digest.as_bytes(),
            micros(next.accepted),
        ))?;
    Ok(true)
}

fn learn_wanted(transaction: &Transaction<'_>, key: &ListKey, now: Instant) -> Result<(), LedgerError> {
    let wanted_again = transaction
        .prepare_cached(
            "UPDATE wanted_lists SET wanted_us = max(wanted_us, ?3) WHERE issuer = ?1 AND url = ?2",
        )?
        .execute((&key.issuer, &key.url, micros(now)))?;
    if wanted_again > 0 {
        return Ok(());
    }
    let of_issuer = "SELECT count(*) FROM wanted_lists WHERE issuer = ?1";
    if count(transaction, of_issuer, Some(&key.issuer))? >= WANTED_PER_ISSUER {
        transaction
            .prepare_cached(
                "DELETE FROM wanted_lists WHERE issuer = ?1 AND url =
                 (SELECT url FROM wanted_lists WHERE issuer = ?1 ORDER BY wanted_us, url LIMIT 1)",
            )?
            .execute((&key.issuer,))?;
    } else if is_full(transaction)? {
        let long_ago = now.checked_sub_signed(TimeDelta::days(WANTED_FOR_DAYS)).unwrap_or(Instant::MIN_UTC);
        transaction
            .prepare_cached("DELETE FROM wanted_lists WHERE wanted_us < ?1")?
            .execute((micros(long_ago),))?;
        if is_full(transaction)? {
            return Ok(());
        }
    }
    transaction
        .prepare_cached("INSERT INTO wanted_lists (issuer, url, wanted_us) VALUES (?1, ?2, ?3)")?
        .execute((&key.issuer, &key.url, micros(now)))?;
    Ok(())
}

/// Whether as many lists are wanted as are remembered.
fn is_full(transaction: &Transaction<'_>) -> Result<bool, LedgerError> {
    Ok(count(transaction, "SELECT count(*) FROM wanted_lists", None)? >= WANTED_IN_ALL)
}

fn count(transaction: &Transaction<'_>, sql: &str, of: Option<&str>) -> Result<usize, LedgerError> {
    let mut statement = transaction.prepare_cached(sql)?;
    let rows: Option<i64> = match of {
        Some(of) => statement.query_row((of,), |row| row.get(0)).optional()?,
        None => statement.query_row((), |row| row.get(0)).optional()?,
    };
    Ok(usize::try_from(rows.unwrap_or(0)).unwrap_or(usize::MAX))
}

/// Keeps what the operator says is revoked, whatever its number.
pub(super) fn mark_revoked(transaction: &Transaction<'_>, revoked: &Revoked) -> Result<(), LedgerError> {
    let mut inserted = 0;
    let mut id =
        transaction.prepare_cached("INSERT INTO revoked (id) VALUES (?1) ON CONFLICT (id) DO NOTHING")?;
    for revoked in &revoked.ids {
        inserted += id.execute((revoked,))?;
    }
    let mut policy = transaction.prepare_cached(
        "INSERT INTO revoked_policies (publisher, policy) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )?;
    for revoked in &revoked.policies {
        inserted += policy.execute((&revoked.publisher, &revoked.policy))?;
    }
    for entry in &revoked.entries {
        inserted += insert_entry(transaction, entry)?;
    }
    if inserted > 0 { moved(transaction) } else { Ok(()) }
}

pub(super) fn wanted(connection: &Connection) -> Result<Vec<ListKey>, LedgerError> {
    Ok(connection
        .prepare_cached("SELECT issuer, url FROM wanted_lists ORDER BY issuer, url")?
        .query_map((), |row| Ok(ListKey { issuer: row.get(0)?, url: row.get(1)? }))?
        .collect::<Result<_, _>>()?)
}
