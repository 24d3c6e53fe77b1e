//! The tables against what the chain says of them.

use super::scratch::{Scratch, followed};
use super::walk::Said;
use super::{Stop, Verification, bounded, shown};
use crate::ledger::LedgerError;
use crate::ledger::chain::Identity;
use crate::ledger::sqlite::changes::{TRACKED, digests_of_row};
use crate::message::Digest;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// The one row of `meta`.
pub(super) struct Meta {
    pub(super) ledger_id: String,
    pub(super) domain: String,
    pub(super) first_floor_us: Option<i64>,
    pub(super) first_high_water_us: Option<i64>,
    pub(super) floor_us: Option<i64>,
    pub(super) high_water_us: Option<i64>,
    pub(super) reserved: i64,
    pub(super) pruned_through: i64,
    /// The first row of the chain is not 1.
    pub(super) is_archived: bool,
}

impl Meta {
    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            ledger_id: &self.ledger_id,
            domain: &self.domain,
            first_floor_us: self.first_floor_us,
            first_high_water_us: self.first_high_water_us,
        }
    }
}

/// 32 octets.
pub(super) fn digest(value: ValueRef<'_>) -> Option<Digest> {
    value.as_blob().ok()?.try_into().ok().map(Digest::from_bytes)
}

/// A text.
pub(super) fn text(value: ValueRef<'_>) -> Option<String> {
    value.as_str().ok().map(str::to_owned)
}

/// Reads `meta`. `None`: it is not readable, which was found.
pub(super) fn meta(connection: &Connection, found: &mut Verification) -> Result<Option<Meta>, Stop> {
    let first: Option<i64> =
        connection.query_row("SELECT min(sequence) FROM reports WHERE sequence >= 1", (), |row| {
            Ok(row.get_ref(0)?.as_i64().ok())
        })?;
    let mut statement = connection.prepare(&format!(
        "SELECT {}, {}, first_floor_us, first_high_water_us, floor_us, high_water_us, reserved, pruned_through,
             only_row FROM meta",
        bounded("ledger_id"),
        bounded("domain")
    ))?;
    let mut rows = statement.query(())?;
    let read = match rows.next()? {
        None => None,
        Some(row) => {
            let optional = |index: usize| -> Result<Option<Option<i64>>, Stop> {
                Ok(match row.get_ref(index)? {
                    ValueRef::Null => Some(None),
                    ValueRef::Integer(number) => Some(Some(number)),
                    _ => None,
                })
            };
            let number =
                |index: usize| -> Result<Option<i64>, Stop> { Ok(row.get_ref(index)?.as_i64().ok()) };
            let is_the_row = number(8)? == Some(1);
            let numbers = (optional(2)?, optional(3)?, optional(4)?, optional(5)?, number(6)?, number(7)?);
            match (text(row.get_ref(0)?).filter(|_| is_the_row), text(row.get_ref(1)?), numbers) {
                (Some(ledger_id), Some(domain), (Some(a), Some(b), Some(c), Some(d), Some(e), Some(f))) => {
                    Some(Meta {
                        ledger_id,
                        domain,
                        first_floor_us: a,
                        first_high_water_us: b,
                        floor_us: c,
                        high_water_us: d,
                        reserved: e,
                        pruned_through: f,
                        is_archived: first.is_some_and(|first| first > 1),
                    })
                }
                _ => None,
            }
        }
    };
    let is_one = rows.next()?.is_none();
    if read.is_none() || !is_one {
        found.find(
            "meta",
            None,
            None,
            "it is not one row of the form that is written; nothing else was verified",
        );
        return Ok(None);
    }
    Ok(read)
}

/// `meta` must follow from the rows.
pub(super) fn compare_meta(meta: &Meta, said: &Said, found: &mut Verification) {
    if said.broke_off {
        // What the unread rows say is not known.
        return;
    }
    let mut compare = |column: &str, is: Option<i64>, must_be: Option<i64>| {
        if is != must_be {
            let of = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
            let problem = format!("it is {}, and must be {} by the rows", of(is), of(must_be));
            found.find("meta", column.to_owned(), None, problem);
        }
    };
    if !meta.is_archived {
        compare("reserved", Some(meta.reserved), Some(said.reserved));
    }
    compare("reserved", Some(meta.reserved), Some(said.messages));
    compare("reserved", Some(meta.reserved), Some(said.challenges));
    compare("pruned_through", Some(meta.pruned_through), said.pruned_through.try_into().ok());
    let first = |value: Option<i64>| if meta.is_archived { None } else { value };
    let floor = match meta.is_archived {
        // What archived rows raised it to is not known here.
        true => said.floor.max(meta.floor_us),
        false => said.floor.max(first(meta.first_floor_us)),
    };
    compare("floor_us", meta.floor_us, floor);
    let high_water = match meta.is_archived {
        true => said.high_water.max(meta.high_water_us),
        false => said.high_water.max(first(meta.first_high_water_us)),
    };
    compare("high_water_us", meta.high_water_us, high_water);
}

/// Every row of every followed table must be what the chain says, and all of them must be there.
pub(super) fn compare(
    connection: &Connection,
    said: &Said,
    scratch: &Scratch,
    found: &mut Verification,
) -> Result<(), Stop> {
    for (place, tracked) in followed() {
        let reserved = place >= TRACKED.len();
        let columns = tracked.columns.iter().map(|column| bounded(column)).collect::<Vec<_>>().join(", ");
        // Reserved ids of later rows were compared with those rows.
        let stated = match reserved {
            true => format!("WHERE {}.sequence < {}", tracked.table, said.stated_before),
            false => String::new(),
        };
        let mut compared = || -> Result<(), Stop> {
            let mut statement =
                connection.prepare(&format!("SELECT {columns} FROM {} {stated}", tracked.table))?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let (key, digest) = digests_of_row(tracked, row)?;
                match scratch.take(place, key)? {
                    Some((written, _)) if written == digest => {}
                    Some((_, sequence)) => found.find(
                        tracked.table,
                        shown::row(row, tracked.key),
                        sequence,
                        "it is not what that row wrote",
                    ),
                    None if said.broke_off => {}
                    None => found.find(
                        tracked.table,
                        shown::row(row, tracked.key),
                        None,
                        "no row wrote it, or one removed it",
                    ),
                }
            }
            Ok(())
        };
        let compared = compared();
        found.unless_damaged(tracked.table, compared)?;
        // Which of the stated reservations were pruned since is known by their number alone.
        if !reserved {
            scratch.each_left(place, |key, sequence| {
                let written = match sequence {
                    0 => "every ledger begins with it, and it is missing",
                    _ => "that row wrote it, and it is missing",
                };
                found.find(
                    tracked.table,
                    format!("the key with the digest {key}"),
                    (sequence > 0).then_some(sequence),
                    written,
                );
            })?;
        }
    }
    let tallies =
        connection.query_row("SELECT count(*) FROM refusal_tallies", (), |row| row.get::<_, i64>(0));
    match tallies {
        Ok(0) => {}
        Ok(tallies) => found.notes.push(format!(
            "{tallies} counts of refusals wait for their row (`refusal_tallies`): nothing covers them yet"
        )),
        Err(error) => found.unless_damaged("refusal_tallies", Err(error.into()))?,
    }
    Ok(())
}

/// Kept states are by their digests, and each is named by a row.
pub(super) fn states(
    connection: &Connection,
    scratch: &Scratch,
    found: &mut Verification,
) -> Result<(), Stop> {
    let mut statement = connection.prepare("SELECT digest, state FROM states")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let name = shown::row(row, &["digest"]);
        match (digest(row.get_ref(0)?), row.get_ref(1)?.as_str()) {
            (Some(digest), Ok(state)) if Digest::of(state) == digest => {
                if !scratch.take_state(digest)? {
                    found.find("states", name, None, "no row names it");
                }
            }
            _ => found.find("states", name, None, "it does not hash to its digest"),
        }
    }
    scratch.each_missing_state(|digest, sequence| {
        found.find(
            "states",
            format!("digest 0x{digest}"),
            sequence,
            "the row names it, and it is not there as it was",
        );
    })?;
    Ok(())
}

/// The tables' rows that a kept state names. `None`: it is not there as it was.
pub(super) fn state(
    connection: &Connection,
    digest: Digest,
) -> Result<Option<Vec<crate::audit::RowChange>>, Stop> {
    let mut statement = connection.prepare("SELECT state FROM states WHERE digest = ?1")?;
    let mut rows = statement.query((digest.as_bytes(),))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let Ok(state) = row.get_ref(0)?.as_str() else { return Ok(None) };
    Ok((Digest::of(state) == digest).then(|| serde_json::from_str(state).ok()).flatten())
}

/// The rows that every new ledger has.
pub(super) fn first_state(scratch: &Scratch) -> Result<Vec<(usize, i64)>, LedgerError> {
    let model = crate::ledger::sqlite::schema::model()?;
    let mut counts = Vec::new();
    for (place, tracked) in followed() {
        let mut statement =
            model.prepare(&format!("SELECT {} FROM {}", tracked.columns.join(", "), tracked.table))?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let (key, digest) = digests_of_row(tracked, row)?;
            counts.push((place, scratch.put(place, key, Some(digest), 0)?));
        }
    }
    Ok(counts)
}
