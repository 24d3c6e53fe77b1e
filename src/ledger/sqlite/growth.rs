//! What bounds the file's growth by messages that anybody can send, each step within the caller's transaction.
//!
//! Whatever was used of a bound stands in the file, so that a restart, a second process and a crash give nobody a second
//! helping. Bounds are per minute of the latest instant that the ledger knows, so that a clock that is set back gives none
//! either. What is beyond them is counted in the decision's own transaction and becomes one row when the minute is over:
//! no refusal is lost, and none is written twice.

use super::changes::Changes;
use super::{Meta, micros, rows};
use crate::audit::{Event, RefusalTally};
use crate::ledger::{Evidence, LedgerError};
use crate::message::Digest;
use crate::refusal::Reason;
use crate::request::Instant;
use chrono::{DateTime, SecondsFormat};
use rusqlite::{Connection, OptionalExtension, Transaction};

const MINUTE_US: i64 = 60_000_000;

/// What may be used within a minute.
#[derive(Debug, Clone, Copy)]
pub(in crate::ledger) struct Allowance {
    pub(in crate::ledger) times: u64,
    pub(in crate::ledger) octets: u64,
}

/// What is bounded by the minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ledger) enum Kind {
    /// Reports of messages whose holder nobody verified.
    Junk,
    /// Evidence of such messages.
    JunkEvidence,
    /// Evidence of other refused messages. Their reports are not bounded: each has a holder who answers for it.
    RefusedEvidence,
    /// Steps of conversations.
    Steps,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Junk => "junk",
            Self::JunkEvidence => "junk-evidence",
            Self::RefusedEvidence => "refused-evidence",
            Self::Steps => "steps",
        }
    }

    /// For everybody together. Two junk reports a second show what an attack is made of, and a day at 256 KiB a minute is
    /// 360 MiB. Evidence is a message of up to 1 MiB: one of that size, or many of a usual one. A step is a row of about a
    /// kilobyte.
    pub(in crate::ledger) const fn in_all(self) -> Allowance {
        match self {
            Self::Junk => Allowance { times: 120, octets: 256 << 10 },
            Self::JunkEvidence => Allowance { times: 120, octets: 1 << 20 },
            Self::RefusedEvidence => Allowance { times: 4_096, octets: 8 << 20 },
            Self::Steps => Allowance { times: 1_024, octets: 4 << 20 },
        }
    }

    /// For one peer, or one holder: half at most, so that no one of them alone keeps what others do out of the reports.
    pub(in crate::ledger) const fn of_one(self) -> Allowance {
        match self {
            Self::Junk => Allowance { times: 60, octets: 128 << 10 },
            Self::JunkEvidence => Allowance { times: 60, octets: 512 << 10 },
            Self::RefusedEvidence => Allowance { times: 1_024, octets: 2 << 20 },
            Self::Steps => Allowance { times: 120, octets: 1 << 20 },
        }
    }
}

/// Octets of a junk report's body. A SHACL report is left out where that makes it fit; what still does not is counted.
pub(in crate::ledger) const JUNK_BODY_BYTES: usize = 16 << 10;
/// Octets of what recording adds to a junk report: it has no changes, and at most one redacted path.
const ENVELOPE_BYTES: usize = 1 << 10;
/// Pairs of a peer and a reason that are counted apart until a row is written. Beyond them, reasons are counted for all
/// other peers together. A row of them has 64 KiB at most.
pub(in crate::ledger) const TALLIES: usize = 64;
/// Octets of a peer's identity that is counted apart, as JSON writes it.
pub(in crate::ledger) const TALLIED_PEER_BYTES: usize = 512;
/// Stands for the peers that are not counted apart.
const OTHERS: &str = RefusalTally::OTHERS;
/// Stands for a message that was not ours, which has no reason.
const NOT_OURS: &str = "-";

/// How full the file is, of what the operator gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ledger) enum Fill {
    /// Under 75 %, or no bound.
    Free,
    /// From 75 % on: junk is only counted, and so is whatever comes without a verified mandate.
    Tight,
    /// From 90 % on: every refusal is only counted, no conversation takes a step, and the counts wait for room.
    Scarce,
    /// All of it: an allow is refused too.
    Full,
}

impl Fill {
    /// What pages in use take of `max_bytes`. Two numbers of the file's header are read.
    pub(super) fn of(connection: &Connection, max_bytes: Option<u64>) -> Result<Self, LedgerError> {
        let Some(max) = max_bytes else { return Ok(Self::Free) };
        let used = used_bytes(connection)?;
        Ok(match used {
            _ if used >= max => Self::Full,
            _ if used >= max / 10 * 9 => Self::Scarce,
            _ if used >= max / 4 * 3 => Self::Tight,
            _ => Self::Free,
        })
    }

    /// # Errors
    /// [`LedgerError::Full`]
    pub(super) fn has_room(self) -> Result<(), LedgerError> {
        match self {
            Self::Full => Err(LedgerError::Full),
            Self::Free | Self::Tight | Self::Scarce => Ok(()),
        }
    }
}

/// Octets of the pages that hold anything. What was removed leaves pages that are used again.
pub(super) fn used_bytes(connection: &Connection) -> Result<u64, LedgerError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
    super::read_u64(pages.saturating_mul(pragma("page_size")?))
}

/// Whether one more of `octets` is within what `whose` and all may use in this minute. If so, it is used.
pub(super) fn take(
    transaction: &Transaction<'_>,
    kind: Kind,
    whose: &str,
    octets: usize,
    now: Instant,
) -> Result<bool, LedgerError> {
    let within = within(transaction, kind, whose, octets, now)?;
    if within {
        spend(transaction, kind, whose, octets, now)?;
    }
    Ok(within)
}

/// Whether one more of `octets` is within what `whose` and all may use in this minute.
pub(super) fn within(
    transaction: &Transaction<'_>,
    kind: Kind,
    whose: &str,
    octets: usize,
    now: Instant,
) -> Result<bool, LedgerError> {
    let (minute, octets) = (minute(transaction, now)?, u64::try_from(octets).unwrap_or(u64::MAX));
    for (whose, most) in [(OTHERS.to_owned(), kind.in_all()), (key(whose), kind.of_one())] {
        let used: Option<(i64, i64)> = transaction
            .prepare_cached(
                "SELECT times, octets FROM spent WHERE what = ?1 AND whose = ?2 AND minute_us >= ?3",
            )?
            .query_row((kind.as_str(), whose, minute), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (times, used) = used.unwrap_or_default();
        if super::read_u64(times)? >= most.times
            || super::read_u64(used)?.saturating_add(octets) > most.octets
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Notes that `whose` used so much.
pub(super) fn spend(
    transaction: &Transaction<'_>,
    kind: Kind,
    whose: &str,
    octets: usize,
    now: Instant,
) -> Result<(), LedgerError> {
    let minute = minute(transaction, now)?;
    let octets = i64::try_from(octets).unwrap_or(i64::MAX);
    // What was used in earlier minutes says nothing any more: so the table holds those of one minute.
    transaction
        .prepare_cached("DELETE FROM spent WHERE what = ?1 AND minute_us < ?2")?
        .execute((kind.as_str(), minute))?;
    let mut note = transaction.prepare_cached(
        "INSERT INTO spent (what, whose, minute_us, times, octets) VALUES (?1, ?2, ?3, 1, ?4)
         ON CONFLICT (what, whose) DO UPDATE SET times = times + 1, octets = octets + excluded.octets",
    )?;
    for whose in [OTHERS.to_owned(), key(whose)] {
        note.execute((kind.as_str(), whose, minute, octets))?;
    }
    Ok(())
}

/// Whose it is, of one length whatever a peer calls itself.
fn key(whose: &str) -> String {
    Digest::of(whose).to_string()
}

/// The octets that a junk report of such a body takes, or `None` for one that is only counted.
pub(super) fn junk_octets(body: usize) -> Option<usize> {
    (body <= JUNK_BODY_BYTES).then_some(body + ENVELOPE_BYTES)
}

/// Keeps the evidence of a refused message as far as its bound goes; beyond, its digests.
pub(super) fn keep_evidence(
    transaction: &Transaction<'_>,
    evidence: &mut Evidence,
    kind: Kind,
    whose: &str,
    now: Instant,
) -> Result<(), LedgerError> {
    let mut octets = 0_usize;
    for blob in &evidence.blobs {
        if !super::evidence::is_kept(transaction, blob)? {
            octets = octets.saturating_add(blob.octets().len());
        }
    }
    if !take(transaction, kind, whose, octets, now)? {
        evidence.blobs.clear();
        evidence.digests.kept = false;
    }
    Ok(())
}

/// Counts a refusal that no row is written for (`None`: a message that was not ours), and says since which minute.
pub(super) fn tally(
    transaction: &Transaction<'_>,
    peer: &str,
    reason: Option<Reason>,
    now: Instant,
) -> Result<String, LedgerError> {
    let minute = match pending(transaction)? {
        Some(minute) => minute,
        None => minute(transaction, now)?,
    };
    let reason = reason.map_or(NOT_OURS, Reason::as_str);
    let peer = tallied_peer(peer);
    let counted = transaction
        .prepare_cached(
            "UPDATE refusal_tallies SET refusals = refusals + 1
             WHERE minute_us = ?1 AND peer = ?2 AND reason = ?3",
        )?
        .execute((minute, &peer, reason))?;
    if counted == 0 {
        let pairs: i64 = transaction
            .prepare_cached("SELECT count(*) FROM refusal_tallies WHERE peer <> '*'")?
            .query_row((), |row| row.get(0))?;
        let room = usize::try_from(pairs).is_ok_and(|pairs| pairs < TALLIES);
        transaction
            .prepare_cached(
                "INSERT INTO refusal_tallies (minute_us, peer, reason, refusals) VALUES (?1, ?2, ?3, 1)
                 ON CONFLICT (minute_us, peer, reason) DO UPDATE SET refusals = refusals + 1",
            )?
            .execute((minute, if room { peer.as_str() } else { OTHERS }, reason))?;
    }
    minute_text(minute)
}

/// Writes the row of what was counted in an earlier minute. Where room is scarce, it goes on being counted.
pub(super) fn turn(
    transaction: &Transaction<'_>,
    now: Instant,
    fill: Fill,
    changes: &Changes,
) -> Result<(), LedgerError> {
    match pending(transaction)? {
        Some(counted) if fill < Fill::Scarce && counted < minute(transaction, now)? => {
            write_tallies(transaction, counted, now)?;
            // The tallies are no rows that the chain follows: nothing was noted.
            debug_assert!(!changes.any());
            Ok(())
        }
        _ => Ok(()),
    }
}

fn write_tallies(transaction: &Transaction<'_>, minute: i64, now: Instant) -> Result<(), LedgerError> {
    let unusable = || LedgerError::Unusable("a tally of the ledger is not what was written".into());
    let refusals = transaction
        .prepare_cached("SELECT peer, reason, refusals FROM refusal_tallies ORDER BY peer, reason")?
        .query_and_then((), |row| {
            let (peer, reason): (String, String) = (row.get(0)?, row.get(1)?);
            let peer = match peer.strip_prefix('=') {
                Some(peer) => peer.to_owned(),
                None if peer == OTHERS => OTHERS.to_owned(),
                None => String::new(),
            };
            let reason = match reason.as_str() {
                NOT_OURS => None,
                reason => Some(reason.parse().map_err(|()| unusable())?),
            };
            Ok(RefusalTally { peer, reason, refusals: super::read_u64(row.get(2)?)? })
        })?
        .collect::<Result<Vec<_>, LedgerError>>()?;
    transaction.prepare_cached("DELETE FROM refusal_tallies")?.execute(())?;
    let event = Event::Refusals { minute: minute_text(minute)?, refusals };
    rows::append_event(transaction, event, now, Vec::new())?;
    Ok(())
}

/// The minute since which refusals are counted that no row has yet.
fn pending(transaction: &Transaction<'_>) -> Result<Option<i64>, LedgerError> {
    Ok(transaction
        .prepare_cached("SELECT min(minute_us) FROM refusal_tallies")?
        .query_row((), |row| row.get(0))?)
}

/// The minute of the latest instant that is known, in microseconds.
fn minute(transaction: &Transaction<'_>, now: Instant) -> Result<i64, LedgerError> {
    let high_water = Meta::read(transaction)?.high_water_us;
    let latest = high_water.map_or(micros(now), |high_water| high_water.max(micros(now)));
    Ok(latest.div_euclid(MINUTE_US).saturating_mul(MINUTE_US))
}

fn minute_text(minute: i64) -> Result<String, LedgerError> {
    DateTime::from_timestamp_micros(minute)
        .map(|minute| minute.to_rfc3339_opts(SecondsFormat::Secs, true))
        .ok_or(LedgerError::Contradictory("a minute leads out of the calendar"))
}

/// A peer as it is counted: one that calls itself by the name of the others, or at length, is one of them.
fn tallied_peer(peer: &str) -> String {
    let is_short = serde_json::to_string(peer).is_ok_and(|json| json.len() <= TALLIED_PEER_BYTES);
    match peer {
        "" => "-".to_owned(),
        _ if peer == OTHERS || !is_short => OTHERS.to_owned(),
        _ => format!("={peer}"),
    }
}
