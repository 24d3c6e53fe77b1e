//! Who taught what, and whose it is that makes room, each step within the caller's transaction.

use super::read_u64;
use crate::ledger::LedgerError;
use crate::ledger::fair_share::{Holdings, Sponsor};
use rusqlite::{OptionalExtension, Transaction};

/// What is charged to sponsors.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Revoked,
    Accepted,
    Wanted,
}

impl Kind {
    const fn count(self) -> &'static str {
        match self {
            Self::Revoked => "SELECT count(*) FROM learned_entries WHERE sponsor = ?1",
            Self::Accepted => "SELECT count(*) FROM accepted_lists WHERE sponsor = ?1",
            Self::Wanted => "SELECT count(*) FROM wanted_lists WHERE sponsor = ?1",
        }
    }

    const fn count_all(self) -> &'static str {
        match self {
            Self::Revoked => "SELECT count(*) FROM learned_entries",
            Self::Accepted => "SELECT count(*) FROM accepted_lists WHERE sponsor IS NOT NULL",
            Self::Wanted => "SELECT count(*) FROM wanted_lists",
        }
    }

    const fn holdings(self) -> &'static str {
        match self {
            Self::Revoked => {
                "SELECT root, delegate, held FROM status_sponsors JOIN
                 (SELECT sponsor, count(*) AS held FROM learned_entries GROUP BY sponsor) USING (sponsor)"
            }
            Self::Accepted => {
                "SELECT root, delegate, held FROM status_sponsors JOIN
                 (SELECT sponsor, count(*) AS held FROM accepted_lists GROUP BY sponsor) USING (sponsor)"
            }
            Self::Wanted => {
                "SELECT root, delegate, held FROM status_sponsors JOIN
                 (SELECT sponsor, count(*) AS held FROM wanted_lists GROUP BY sponsor) USING (sponsor)"
            }
        }
    }

    /// Takes from one sponsor what it can best do without. Of revocations that is the newest, so that a flood takes
    /// along no revocation from before it; of wanted lists, the one that was wanted longest ago. Marks of accepted lists
    /// are never taken.
    const fn take_one(self) -> Option<&'static str> {
        match self {
            Self::Revoked => Some(
                "DELETE FROM learned_entries WHERE sequence =
                 (SELECT max(sequence) FROM learned_entries WHERE sponsor = ?1)",
            ),
            Self::Accepted => None,
            Self::Wanted => Some(
                "DELETE FROM wanted_lists WHERE sponsor = ?1 AND (issuer, url) =
                 (SELECT issuer, url FROM wanted_lists WHERE sponsor = ?1 ORDER BY wanted_us, issuer, url LIMIT 1)",
            ),
        }
    }
}

/// That a sponsor holds nothing.
macro_rules! idle {
    () => {
        "NOT EXISTS (SELECT 1 FROM learned_entries AS held WHERE held.sponsor = status_sponsors.sponsor) AND
         NOT EXISTS (SELECT 1 FROM accepted_lists AS held WHERE held.sponsor = status_sponsors.sponsor) AND
         NOT EXISTS (SELECT 1 FROM wanted_lists AS held WHERE held.sponsor = status_sponsors.sponsor)"
    };
}

/// The number of a sponsor that holds anything.
pub(super) fn find(transaction: &Transaction<'_>, sponsor: &Sponsor) -> Result<Option<i64>, LedgerError> {
    Ok(transaction
        .prepare_cached("SELECT sponsor FROM status_sponsors WHERE root = ?1 AND delegate = ?2")?
        .query_row((&sponsor.root, delegate_key(sponsor)), |row| row.get(0))
        .optional()?)
}

/// The number of a sponsor that is about to hold something.
pub(super) fn find_or_add(transaction: &Transaction<'_>, sponsor: &Sponsor) -> Result<i64, LedgerError> {
    if let Some(number) = find(transaction, sponsor)? {
        return Ok(number);
    }
    transaction
        .prepare_cached("INSERT INTO status_sponsors (root, delegate) VALUES (?1, ?2)")?
        .execute((&sponsor.root, delegate_key(sponsor)))?;
    Ok(transaction.last_insert_rowid())
}

/// How many a sponsor holds.
pub(super) fn held(transaction: &Transaction<'_>, kind: Kind, sponsor: &Sponsor) -> Result<u64, LedgerError> {
    let Some(number) = find(transaction, sponsor)? else { return Ok(0) };
    read_u64(transaction.prepare_cached(kind.count())?.query_row((number,), |row| row.get(0))?)
}

/// How many all sponsors hold.
pub(super) fn held_in_all(transaction: &Transaction<'_>, kind: Kind) -> Result<u64, LedgerError> {
    read_u64(transaction.prepare_cached(kind.count_all())?.query_row((), |row| row.get(0))?)
}

pub(super) fn holdings(transaction: &Transaction<'_>, kind: Kind) -> Result<Holdings, LedgerError> {
    let held = transaction
        .prepare_cached(kind.holdings())?
        .query_and_then((), |row| {
            let sponsor = Sponsor { root: row.get(0)?, delegate: delegate_of(row.get(1)?)? };
            let held = usize::try_from(read_u64(row.get(2)?)?).unwrap_or(usize::MAX);
            Ok((sponsor, held))
        })?
        .collect::<Result<_, LedgerError>>()?;
    Ok(Holdings(held))
}

/// Of a full store: takes one from whoever has to make room for `newcomer`. False: nobody has to.
pub(super) fn make_room(
    transaction: &Transaction<'_>,
    kind: Kind,
    newcomer: &Sponsor,
) -> Result<bool, LedgerError> {
    let holdings = holdings(transaction, kind)?;
    match holdings.makes_room_for(newcomer) {
        Some(sponsor) => take_one(transaction, kind, sponsor),
        None => Ok(false),
    }
}

/// Takes one from `sponsor`, and says whether that made room.
pub(super) fn take_one(
    transaction: &Transaction<'_>,
    kind: Kind,
    sponsor: &Sponsor,
) -> Result<bool, LedgerError> {
    let (Some(sql), Some(number)) = (kind.take_one(), find(transaction, sponsor)?) else { return Ok(false) };
    let taken = transaction.prepare_cached(sql)?.execute((number,))? > 0;
    transaction
        .prepare_cached(concat!("DELETE FROM status_sponsors WHERE sponsor = ?1 AND ", idle!()))?
        .execute((number,))?;
    Ok(taken)
}

/// Forgets the sponsors that hold nothing any more.
pub(super) fn drop_idle(transaction: &Transaction<'_>) -> Result<(), LedgerError> {
    transaction.prepare_cached(concat!("DELETE FROM status_sponsors WHERE ", idle!()))?.execute(())?;
    Ok(())
}

/// A delegate as a key: the root principal itself is no delegate, whatever a delegate is called.
fn delegate_key(sponsor: &Sponsor) -> String {
    match &sponsor.delegate {
        None => "-".to_owned(),
        Some(delegate) => format!("={delegate}"),
    }
}

fn delegate_of(key: String) -> Result<Option<String>, LedgerError> {
    match key.strip_prefix('=') {
        Some(delegate) => Ok(Some(delegate.to_owned())),
        None if key == "-" => Ok(None),
        None => Err(LedgerError::Unusable("a sponsor of the ledger has no name".into())),
    }
}
