//! The memory of status and revocation, each step within the caller's transaction.

use super::micros;
use super::sponsors::{self, Kind};
use crate::audit::RevokedName;
use crate::ledger::fair_share::Sponsor;
use crate::ledger::status_memory::{
    ACCEPTED_FOR_DAYS, ACCEPTED_IN_ALL, ACCEPTED_PER_SPONSOR, REVOKED_IN_ALL, REVOKED_PER_SPONSOR,
    WANTED_FOR_DAYS, WANTED_IN_ALL, WANTED_PER_SPONSOR,
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
        .prepare_cached(
            "SELECT issuer, list, place FROM revoked_entries
             UNION ALL SELECT issuer, list, place FROM learned_entries",
        )?
        .query_and_then((), |row| {
            Ok(RevokedEntry { issuer: row.get(0)?, list: row.get(1)?, index: super::read_u64(row.get(2)?)? })
        })?
        .collect::<Result<_, LedgerError>>()?;
    let lists = transaction
        .prepare_cached("SELECT issuer, url, valid_from_us, digest, accepted_us FROM accepted_lists")?
        .query_and_then((), |row| Ok((ListKey { issuer: row.get(0)?, url: row.get(1)? }, mark(row, 2)?)))?
        .collect::<Result<BTreeMap<_, _>, LedgerError>>()?;
    let forgotten = forgotten(transaction)?;
    Ok(StatusMemory { revoked: Revoked { ids, policies, entries }, lists, forgotten })
}

/// The latest `validFrom` of marks that made room.
fn forgotten(transaction: &Transaction<'_>) -> Result<Option<Instant>, LedgerError> {
    let stored: Option<i64> = transaction
        .prepare_cached("SELECT forgotten_us FROM status_memory")?
        .query_row((), |row| row.get(0))?;
    stored.map(instant).transpose()
}

fn instant(stored: i64) -> Result<Instant, LedgerError> {
    Instant::from_timestamp_micros(stored)
        .ok_or_else(|| LedgerError::Unusable("an instant of the ledger is out of the calendar".into()))
}

/// A mark in the three columns from `first`.
fn mark(row: &Row<'_>, first: usize) -> Result<ListMark, LedgerError> {
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
        .prepare_cached(
            "SELECT 1 FROM revoked_entries WHERE issuer = ?1 AND list = ?2 AND place = ?3
             UNION ALL SELECT 1 FROM learned_entries WHERE issuer = ?1 AND list = ?2 AND place = ?3",
        )?
        .exists((&entry.issuer, &entry.list, place))?)
}

/// Whether a list that was relied on is no longer the newest, may not be, or has a shorter life than was thought.
pub(super) fn any_list_moved(transaction: &Transaction<'_>, learned: &Learned) -> Result<bool, LedgerError> {
    for (key, relied_on) in &learned.lists {
        let moved = match accepted(transaction, key)? {
            Some(held) => relied_on.following(&held).is_none_or(|mark| mark.accepted != relied_on.accepted),
            None => relied_on.may_be_forgotten(forgotten(transaction)?),
        };
        if moved {
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

/// Keeps what an evaluation learned of revocations and lists, as far as there is room. What another process knows better
/// stays as it is.
pub(super) fn learn(
    transaction: &Transaction<'_>,
    learned: &Learned,
    now: Instant,
) -> Result<(), LedgerError> {
    let mut changed = false;
    for entry in &learned.revoked {
        changed |= learn_revoked(transaction, entry, &learned.sponsor.of_issuer(&entry.issuer))?;
    }
    if changed {
        moved(transaction)?;
    }
    keep_lists(transaction, learned, now).map(|_| ())
}

/// Keeps which lists an evaluation wants, as far as there is room.
pub(super) fn want(
    transaction: &Transaction<'_>,
    learned: &Learned,
    now: Instant,
) -> Result<(), LedgerError> {
    for key in &learned.wanted {
        learn_wanted(transaction, key, &learned.sponsor.of_issuer(&key.issuer), now)?;
    }
    Ok(())
}

/// Keeps the marks of the lists that were relied on. False: there is no room for one, so nothing may rest on its list.
pub(super) fn keep_lists(
    transaction: &Transaction<'_>,
    learned: &Learned,
    now: Instant,
) -> Result<bool, LedgerError> {
    let (mut changed, mut all) = (false, true);
    for (key, mark) in &learned.lists {
        match learn_list(transaction, key, mark, &learned.sponsor.of_issuer(&key.issuer), now)? {
            Kept::Already => {}
            Kept::Anew => changed = true,
            Kept::NoRoom => all = false,
        }
    }
    if changed {
        moved(transaction)?;
    }
    Ok(all)
}

/// Marks the memory as changed, for every snapshot that still holds the last one.
fn moved(transaction: &Transaction<'_>) -> Result<(), LedgerError> {
    transaction.prepare_cached("UPDATE status_memory SET version = version + 1")?.execute(())?;
    Ok(())
}

/// A place in a status list as the ledger numbers it.
fn place(entry: &RevokedEntry) -> Result<i64, LedgerError> {
    i64::try_from(entry.index)
        .map_err(|_| LedgerError::Contradictory("a place in a status list is larger than any list"))
}

/// Keeps a revocation for this sponsor, whoever else holds it. True: the memory is another
/// one by now.
fn learn_revoked(
    transaction: &Transaction<'_>,
    entry: &RevokedEntry,
    sponsor: &Sponsor,
) -> Result<bool, LedgerError> {
    let by_operator = transaction
        .prepare_cached("SELECT 1 FROM revoked_entries WHERE issuer = ?1 AND list = ?2 AND place = ?3")?
        .exists((&entry.issuer, &entry.list, place(entry)?))?;
    if by_operator || is_taught_by(transaction, entry, sponsor)? {
        return Ok(false);
    }
    let known = is_revoked(transaction, entry)?;
    let full = is_at(REVOKED_IN_ALL, sponsors::held_in_all(transaction, Kind::Revoked)?);
    if is_at(REVOKED_PER_SPONSOR, sponsors::held(transaction, Kind::Revoked, sponsor)?)
        || (full && !sponsors::make_room(transaction, Kind::Revoked, sponsor)?)
    {
        tracing::warn!(
            issuer = %entry.issuer, list = %entry.list, root = %sponsor.root, delegate = sponsor.delegate.as_deref(),
            "a revocation is not kept: its sponsor has its share"
        );
        return Ok(false);
    }
    let number = sponsors::find_or_add(transaction, sponsor)?;
    transaction
        .prepare_cached("INSERT INTO learned_entries (sponsor, issuer, list, place) VALUES (?1, ?2, ?3, ?4)")?
        .execute((number, &entry.issuer, &entry.list, place(entry)?))?;
    Ok(full || !known)
}

fn is_taught_by(
    transaction: &Transaction<'_>,
    entry: &RevokedEntry,
    sponsor: &Sponsor,
) -> Result<bool, LedgerError> {
    let Some(number) = sponsors::find(transaction, sponsor)? else { return Ok(false) };
    Ok(transaction
        .prepare_cached(
            "SELECT 1 FROM learned_entries WHERE issuer = ?1 AND list = ?2 AND place = ?3 AND sponsor = ?4",
        )?
        .exists((&entry.issuer, &entry.list, place(entry)?, number))?)
}

/// What became of the mark of a list.
enum Kept {
    Already,
    Anew,
    NoRoom,
}

fn learn_list(
    transaction: &Transaction<'_>,
    key: &ListKey,
    mark: &ListMark,
    sponsor: &Sponsor,
    now: Instant,
) -> Result<Kept, LedgerError> {
    let held = accepted(transaction, key)?;
    let next = match &held {
        None if mark.may_be_forgotten(forgotten(transaction)?) => None,
        None => Some(*mark),
        Some(held) => mark.following(held),
    };
    let Some(next) = next.filter(|next| held != Some(*next)) else { return Ok(Kept::Already) };
    let number = match held {
        Some(_) => None,
        None if has_room(transaction, sponsor)?
            || (forget_old_lists(transaction, sponsor, now)? && has_room(transaction, sponsor)?) =>
        {
            Some(sponsors::find_or_add(transaction, sponsor)?)
        }
        None => {
            tracing::warn!(
                issuer = %key.issuer, list = %key.url, root = %sponsor.root, delegate = sponsor.delegate.as_deref(),
                "a status list cannot be relied on: its sponsor has its share"
            );
            return Ok(Kept::NoRoom);
        }
    };
    transaction
        .prepare_cached(
            "INSERT INTO accepted_lists (issuer, url, valid_from_us, digest, accepted_us, sponsor)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
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
            number,
        ))?;
    Ok(Kept::Anew)
}

fn has_room(transaction: &Transaction<'_>, sponsor: &Sponsor) -> Result<bool, LedgerError> {
    let holdings = sponsors::holdings(transaction, Kind::Accepted)?;
    Ok(holdings.leaves_room_for(sponsor, ACCEPTED_PER_SPONSOR, ACCEPTED_IN_ALL))
}

/// Marks that are dropped at once: the row that says so names each, and its sponsor.
const FORGOTTEN_AT_ONCE: usize = 1_024;

/// Drops marks of lists that are older than [`ACCEPTED_FOR_DAYS`] in every respect, and notes how far back that reaches:
/// those first that take the room of `sponsor`, its own or those of its kind. True: there were some.
fn forget_old_lists(
    transaction: &Transaction<'_>,
    sponsor: &Sponsor,
    now: Instant,
) -> Result<bool, LedgerError> {
    let long_ago = micros(days_before(now, ACCEPTED_FOR_DAYS));
    let old: Vec<(String, String, i64)> = transaction
        .prepare_cached(
            // A list without `validFrom` is earlier than any that has it; to have forgotten one is to have forgotten that
            // much.
            "SELECT issuer, url, coalesce(valid_from_us, 0)
             FROM accepted_lists LEFT JOIN status_sponsors USING (sponsor)
             WHERE accepted_us < ?1 AND coalesce(valid_from_us, 0) < ?1
             ORDER BY coalesce(sponsor, 0) IS NOT ?2, coalesce(delegate = '-', -1) IS NOT ?3, accepted_us
             LIMIT ?4",
        )?
        .query_map(
            (
                long_ago,
                sponsors::find(transaction, sponsor)?,
                sponsor.delegate.is_none(),
                FORGOTTEN_AT_ONCE as i64,
            ),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?
        .collect::<Result<_, _>>()?;
    let Some(latest) = old.iter().map(|(.., valid_from)| *valid_from).max() else { return Ok(false) };
    transaction
        .prepare_cached(
            "UPDATE status_memory SET version = version + 1, forgotten_us = max(coalesce(forgotten_us, ?1), ?1)",
        )?
        .execute((latest,))?;
    let mut forget =
        transaction.prepare_cached("DELETE FROM accepted_lists WHERE issuer = ?1 AND url = ?2")?;
    for (issuer, url, _) in &old {
        forget.execute((issuer, url))?;
    }
    sponsors::drop_idle(transaction)?;
    Ok(true)
}

/// How exactly it is known when a list was last wanted: one hour, in microseconds.
const WANTED_AGAIN_US: i64 = 3_600_000_000;

fn learn_wanted(
    transaction: &Transaction<'_>,
    key: &ListKey,
    sponsor: &Sponsor,
    now: Instant,
) -> Result<(), LedgerError> {
    if let Some(number) = sponsors::find(transaction, sponsor)? {
        let wanted: Option<i64> = transaction
            .prepare_cached(
                "SELECT wanted_us FROM wanted_lists WHERE sponsor = ?1 AND issuer = ?2 AND url = ?3",
            )?
            .query_row((number, &key.issuer, &key.url), |row| row.get(0))
            .optional()?;
        if let Some(wanted) = wanted {
            // To the hour: what is wanted with every decision need not be written with every decision.
            if wanted < micros(now).saturating_sub(WANTED_AGAIN_US) {
                transaction
                    .prepare_cached(
                        "UPDATE wanted_lists SET wanted_us = ?4
                         WHERE sponsor = ?1 AND issuer = ?2 AND url = ?3",
                    )?
                    .execute((number, &key.issuer, &key.url, micros(now)))?;
            }
            return Ok(());
        }
    }
    if is_at(WANTED_PER_SPONSOR, sponsors::held(transaction, Kind::Wanted, sponsor)?) {
        sponsors::take_one(transaction, Kind::Wanted, sponsor)?;
    } else if is_full_of_wanted(transaction)? {
        let long_ago = micros(days_before(now, WANTED_FOR_DAYS));
        let gone = transaction
            .prepare_cached("DELETE FROM wanted_lists WHERE wanted_us < ?1")?
            .execute((long_ago,))?;
        if gone > 0 {
            sponsors::drop_idle(transaction)?;
        }
        if is_full_of_wanted(transaction)? && !sponsors::make_room(transaction, Kind::Wanted, sponsor)? {
            return Ok(());
        }
    }
    let number = sponsors::find_or_add(transaction, sponsor)?;
    transaction
        .prepare_cached("INSERT INTO wanted_lists (sponsor, issuer, url, wanted_us) VALUES (?1, ?2, ?3, ?4)")?
        .execute((number, &key.issuer, &key.url, micros(now)))?;
    Ok(())
}

fn is_full_of_wanted(transaction: &Transaction<'_>) -> Result<bool, LedgerError> {
    Ok(is_at(WANTED_IN_ALL, sponsors::held_in_all(transaction, Kind::Wanted)?))
}

fn is_at(quota: usize, held: u64) -> bool {
    usize::try_from(held).map_or(true, |held| held >= quota)
}

fn days_before(now: Instant, days: i64) -> Instant {
    now.checked_sub_signed(TimeDelta::days(days)).unwrap_or(Instant::MIN_UTC)
}

/// Revocations of one row of the chain, which names each.
const MARKED_AT_ONCE: usize = 1_024;

/// What is revoked, in portions that one row of the chain can name.
pub(super) fn portions(revoked: &Revoked) -> Vec<Revoked> {
    let mut portions = vec![Revoked::default()];
    let mut room = MARKED_AT_ONCE;
    let mut next = |portions: &mut Vec<Revoked>, put: &dyn Fn(&mut Revoked)| {
        if room == 0 {
            portions.push(Revoked::default());
            room = MARKED_AT_ONCE;
        }
        room -= 1;
        if let Some(portion) = portions.last_mut() {
            put(portion);
        }
    };
    for id in &revoked.ids {
        next(&mut portions, &|portion| _ = portion.ids.insert(id.clone()));
    }
    for policy in &revoked.policies {
        next(&mut portions, &|portion| _ = portion.policies.insert(policy.clone()));
    }
    for entry in &revoked.entries {
        next(&mut portions, &|portion| _ = portion.entries.insert(entry.clone()));
    }
    portions
}

/// The ids and policies of a portion, as its row names them.
pub(super) fn names(portion: &Revoked) -> Vec<RevokedName> {
    let ids = portion.ids.iter().map(|id| RevokedName { id: id.clone(), publisher: None });
    let policies = portion
        .policies
        .iter()
        .map(|of| RevokedName { id: of.policy.clone(), publisher: Some(of.publisher.clone()) });
    ids.chain(policies).collect()
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
    let mut entries = transaction.prepare_cached(
        "INSERT INTO revoked_entries (issuer, list, place) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    )?;
    for entry in &revoked.entries {
        inserted += entries.execute((&entry.issuer, &entry.list, place(entry)?))?;
    }
    if inserted > 0 { moved(transaction) } else { Ok(()) }
}

pub(super) fn wanted(connection: &Connection) -> Result<Vec<ListKey>, LedgerError> {
    Ok(connection
        .prepare_cached("SELECT DISTINCT issuer, url FROM wanted_lists ORDER BY issuer, url")?
        .query_map((), |row| Ok(ListKey { issuer: row.get(0)?, url: row.get(1)? }))?
        .collect::<Result<_, _>>()?)
}
