//! What a transaction changes in the tables that decisions rest on, noted row by row, so that the chain covers them.
//!
//! Temporary triggers, which live in a connection and not in the file, call a function of ours for each row. A row that
//! was changed by anybody else, or not through a connection of this module, was therefore never noted, and
//! `audit verify` names it.

use crate::audit::RowChange;
use crate::ledger::LedgerError;
use crate::message::Digest;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A table whose rows the chain follows, with the columns of its key and all of its columns.
#[derive(Debug, Clone, Copy)]
pub(in crate::ledger) struct Tracked {
    pub(in crate::ledger) table: &'static str,
    pub(in crate::ledger) key: &'static [&'static str],
    pub(in crate::ledger) columns: &'static [&'static str],
}

/// Every table that a decision rests on, but for those that the chain covers otherwise: each allow's report has the digest
/// of its rows in `messages` and `challenges`, and `meta` follows from the rows.
pub(in crate::ledger) const TRACKED: [Tracked; 11] = [
    Tracked { table: "counts", key: &["policy"], columns: &["policy", "exercised"] },
    Tracked { table: "revoked", key: &["id"], columns: &["id"] },
    Tracked { table: "revoked_policies", key: &["publisher", "policy"], columns: &["publisher", "policy"] },
    Tracked {
        table: "revoked_entries",
        key: &["issuer", "list", "place"],
        columns: &["issuer", "list", "place"],
    },
    Tracked { table: "status_sponsors", key: &["sponsor"], columns: &["sponsor", "root", "delegate"] },
    Tracked {
        table: "learned_entries",
        key: &["sequence"],
        columns: &["sequence", "sponsor", "issuer", "list", "place"],
    },
    Tracked {
        table: "accepted_lists",
        key: &["issuer", "url"],
        columns: &["issuer", "url", "valid_from_us", "digest", "accepted_us", "sponsor"],
    },
    Tracked {
        table: "wanted_lists",
        key: &["sponsor", "issuer", "url"],
        columns: &["sponsor", "issuer", "url", "wanted_us"],
    },
    Tracked { table: "status_memory", key: &["only_row"], columns: &["only_row", "version", "forgotten_us"] },
    Tracked {
        table: "exchanges",
        key: &["role", "context", "peer", "protocol_hash"],
        columns: &[
            "role",
            "context",
            "peer",
            "protocol_hash",
            "state",
            "required",
            "until_us",
            "offer",
            "changed_us",
        ],
    },
    Tracked { table: "bound_peers", key: &["role", "peer"], columns: &["role", "peer"] },
];

/// What an allow reserves and consumes.
pub(in crate::ledger) const RESERVED: [Tracked; 2] = [
    Tracked {
        table: "messages",
        key: &["context", "holder", "message_id"],
        columns: &["context", "holder", "message_id", "digest", "decision_id", "peer", "sequence"],
    },
    Tracked {
        table: "challenges",
        key: &["holder", "domain", "challenge"],
        columns: &["holder", "domain", "challenge", "sequence"],
    },
];

/// The changes of the running transaction, by table and key.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes(Arc<Mutex<Noted>>);

/// By table and key: the row as it is now, or that it is gone.
type Noted = BTreeMap<(String, Digest), Option<Digest>>;

impl Changes {
    /// Notes what happens to the tracked tables on `connection` from here on.
    pub(super) fn of(connection: &Connection) -> Result<Self, LedgerError> {
        let changes = Self::default();
        let noted = changes.clone();
        let flags = FunctionFlags::SQLITE_UTF8;
        connection.create_scalar_function("writgate_row", -1, flags, move |row| noted.note(row, false))?;
        let noted = changes.clone();
        connection.create_scalar_function("writgate_gone", -1, flags, move |row| noted.note(row, true))?;
        for Tracked { table, key, columns } in TRACKED {
            let of = |row: &str, columns: &[&str]| {
                columns.iter().map(|column| format!(", {row}.{column}")).collect::<String>()
            };
            // The function is told which of its arguments are the key by their number.
            let written = format!(
                "SELECT writgate_row('{table}', {}{}{});",
                key.len(),
                of("NEW", key),
                of("NEW", columns)
            );
            let gone = format!("SELECT writgate_gone('{table}', {}{});", key.len(), of("OLD", key));
            connection.execute_batch(&format!(
                "CREATE TEMP TRIGGER {table}_inserted AFTER INSERT ON main.{table} BEGIN {written} END;
                 CREATE TEMP TRIGGER {table}_updated AFTER UPDATE ON main.{table} BEGIN {gone} {written} END;
                 CREATE TEMP TRIGGER {table}_deleted AFTER DELETE ON main.{table} BEGIN {gone} END;"
            ))?;
        }
        Ok(changes)
    }

    fn note(&self, row: &Context<'_>, gone: bool) -> rusqlite::Result<i64> {
        let table: String = row.get(0)?;
        let keys = usize::try_from(row.get::<i64>(1)?).map_err(|_| rusqlite::Error::InvalidQuery)?;
        let values: Vec<Value> = (2..row.len()).map(|index| value(row.get_raw(index))).collect();
        let key = digest(&table, values.get(..keys).unwrap_or_default())
            .map_err(|_| rusqlite::Error::InvalidQuery)?;
        let now = match gone {
            true => None,
            false => Some(
                digest(&table, values.get(keys..).unwrap_or_default())
                    .map_err(|_| rusqlite::Error::InvalidQuery)?,
            ),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((table, key), now);
        Ok(0)
    }

    /// Whether anything changed since the last [`Changes::take`].
    pub(super) fn any(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What changed since the last call, in order of tables and keys.
    pub(super) fn take(&self) -> Vec<RowChange> {
        let changes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        changes.into_iter().map(|((table, key), row)| RowChange { table, key, row }).collect()
    }
}

/// The digests of a row's key and of the whole row, as they stand in the file: what [`RowChange`] says of it.
pub(in crate::ledger) fn digests_of_row(
    tracked: &Tracked,
    row: &Row<'_>,
) -> Result<(Digest, Digest), LedgerError> {
    let of = |columns: &[&str]| -> Result<Digest, LedgerError> {
        let values: Vec<Value> = columns
            .iter()
            .map(|column| Ok(value(row.get_ref(*column)?)))
            .collect::<Result<_, rusqlite::Error>>()?;
        digest(tracked.table, &values).map_err(|_| LedgerError::Contradictory("a row cannot be hashed"))
    };
    Ok((of(tracked.key)?, of(tracked.columns)?))
}

fn digest(table: &str, values: &[Value]) -> Result<Digest, serde_json::Error> {
    Digest::of_jcs(&serde_json::json!([table, values]))
}

/// A value, its type kept apart. Numbers are text, because JSON's are doubles.
fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::String(format!("i{number}")),
        ValueRef::Real(number) => Value::String(format!("r{:016x}", number.to_bits())),
        // Text that is not UTF-8 was not written by us; it must not look like text that is.
        ValueRef::Text(text) => Value::String(match std::str::from_utf8(text) {
            Ok(text) => format!("t{text}"),
            Err(_) => format!("x{}", Digest::of(text)),
        }),
        ValueRef::Blob(octets) => Value::String(format!("b{}", Digest::of(octets))),
    }
}
