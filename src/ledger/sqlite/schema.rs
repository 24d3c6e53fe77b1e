//! The tables, and what a file must be before it is used.

use crate::ledger::LedgerError;
use rusqlite::Connection;

/// Marks a SQLite file as a Writgate ledger ("Wrgt").
const APPLICATION_ID: i32 = 0x5772_6774;

/// The version of [`TABLES`]. Any change of them raises it.
const SCHEMA_VERSION: i32 = 1;

/// The tables of version 1. Instants are microseconds since 1970 in UTC.
///
/// `messages.context` is `-` for no context and `=` followed by the context for one: SQLite holds two NULLs to be
/// distinct in a key, which would let a message without a context in twice. The reservation holds the peer because an
/// earlier answer may be repeated to nobody else.
const TABLES: &str = "\
CREATE TABLE meta (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    ledger_id TEXT NOT NULL,
    domain TEXT NOT NULL,
    floor_us INTEGER,
    high_water_us INTEGER
) STRICT;
CREATE TABLE reports (
    sequence INTEGER PRIMARY KEY CHECK (sequence >= 1),
    decision_id TEXT NOT NULL UNIQUE,
    previous_hash BLOB NOT NULL CHECK (length(previous_hash) = 32),
    row_hash BLOB NOT NULL CHECK (length(row_hash) = 32),
    report TEXT NOT NULL
) STRICT;
CREATE TABLE messages (
    context TEXT NOT NULL,
    holder TEXT NOT NULL,
    message_id TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    decision_id TEXT NOT NULL,
    peer TEXT NOT NULL,
    sequence INTEGER NOT NULL REFERENCES reports (sequence),
    PRIMARY KEY (context, holder, message_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE challenges (
    holder TEXT NOT NULL,
    domain TEXT NOT NULL,
    challenge TEXT NOT NULL,
    sequence INTEGER NOT NULL REFERENCES reports (sequence),
    PRIMARY KEY (holder, domain, challenge)
) STRICT, WITHOUT ROWID;
CREATE TABLE counts (
    policy TEXT PRIMARY KEY,
    exercised INTEGER NOT NULL CHECK (exercised >= 1)
) STRICT, WITHOUT ROWID;
CREATE TABLE revoked (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
";

/// Writes the tables and the ledger's identity, all or nothing.
pub(super) fn create(
    connection: &mut Connection,
    domain: &str,
    floor_us: Option<i64>,
    high_water_us: Option<i64>,
) -> Result<(), LedgerError> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.execute(
        "INSERT INTO meta (only_row, ledger_id, domain, floor_us, high_water_us) VALUES (1, ?1, ?2, ?3, ?4)",
        (uuid::Uuid::new_v4().to_string(), domain, floor_us, high_water_us),
    )?;
    transaction.commit()?;
    Ok(())
}

/// Refuses a file that is no ledger, is of another version, or whose tables are not exactly those of this version: a
/// dropped constraint or an added trigger could undo what admission relies on.
pub(super) fn check(connection: &Connection) -> Result<(), LedgerError> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != APPLICATION_ID {
        return Err(LedgerError::Unusable("the file is not a Writgate ledger".into()));
    }
    let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != SCHEMA_VERSION {
        let newer = if version > SCHEMA_VERSION { "newer" } else { "unknown" };
        return Err(LedgerError::Unusable(format!(
            "the file's schema version {version} is {newer}; this version of Writgate reads {SCHEMA_VERSION}"
        )));
    }
    let model = Connection::open_in_memory()?;
    model.execute_batch(TABLES)?;
    if objects(connection)? != objects(&model)? {
        return Err(LedgerError::Unusable("the file's tables were altered".into()));
    }
    Ok(())
}

/// Every table, index, trigger and view with its text, but for those that SQLite makes itself.
fn objects(connection: &Connection) -> Result<Vec<(String, String, String)>, LedgerError> {
    let mut statement = connection.prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_' ORDER BY name",
    )?;
    let objects = statement
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    Ok(objects)
}
