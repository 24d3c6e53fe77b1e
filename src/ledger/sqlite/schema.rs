//! The tables, and what a file must be before it is used.

use crate::audit::Event;
use crate::ledger::LedgerError;
use crate::request::Instant;
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Marks a SQLite file as a Writgate ledger ("Wrgt").
const APPLICATION_ID: i32 = 0x5772_6774;

/// The version of the tables: [`DECISION_TABLES`], [`STATUS_TABLES`], [`CONVERSATION_TABLES`] and [`AUDIT_TABLES`]. Any
/// change of them raises it.
const SCHEMA_VERSION: i32 = 4;

/// What was decided, and what an allow took, since version 4. Instants are microseconds since 1970 in UTC.
///
/// `messages.context` is `-` for no context and `=` followed by the context for one: SQLite holds two NULLs to be
/// distinct in a key, which would let a message without a context in twice. The reservation holds the peer because an
/// earlier answer may be repeated to nobody else. `meta.first_floor_us` and `first_high_water_us` are the floor and the
/// highest instant that the ledger was made with, and never change; `reserved` is how many rows `messages` has, and `challenges` too; `pruned_through` is the last row of
/// `reports` whose reservation was pruned. `reports` holds events too (`crate::audit::Record`).
pub(super) const DECISION_TABLES: &str = "\
CREATE TABLE meta (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    ledger_id TEXT NOT NULL,
    domain TEXT NOT NULL,
    first_floor_us INTEGER,
    first_high_water_us INTEGER,
    floor_us INTEGER,
    high_water_us INTEGER,
    reserved INTEGER NOT NULL CHECK (reserved >= 0),
    pruned_through INTEGER NOT NULL CHECK (pruned_through >= 0)
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
    sequence INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (context, holder, message_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE challenges (
    holder TEXT NOT NULL,
    domain TEXT NOT NULL,
    challenge TEXT NOT NULL,
    sequence INTEGER NOT NULL UNIQUE,
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

/// What an auditor needs beside the rows, since version 4: evidence by content (`octets` is NULL once it was erased), the
/// signed checkpoints, the tables' states at migrations and archives, the refusals of the running minute that no row has
/// yet, and what was used of the bounds of one minute (`super::growth`).
pub(super) const AUDIT_TABLES: &str = "\
CREATE TABLE evidence (
    number INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    octets BLOB
) STRICT;
CREATE TABLE checkpoints (
    number INTEGER PRIMARY KEY CHECK (number >= 1),
    sequence INTEGER NOT NULL CHECK (sequence >= 0),
    checkpoint TEXT NOT NULL
) STRICT;
CREATE TABLE states (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    state TEXT NOT NULL
) STRICT;
CREATE TABLE refusal_tallies (
    minute_us INTEGER NOT NULL,
    peer TEXT NOT NULL,
    reason TEXT NOT NULL,
    refusals INTEGER NOT NULL CHECK (refusals >= 1),
    PRIMARY KEY (minute_us, peer, reason)
) STRICT, WITHOUT ROWID;
CREATE TABLE spent (
    what TEXT NOT NULL,
    whose TEXT NOT NULL,
    minute_us INTEGER NOT NULL,
    times INTEGER NOT NULL CHECK (times >= 1),
    octets INTEGER NOT NULL CHECK (octets >= 0),
    PRIMARY KEY (what, whose)
) STRICT, WITHOUT ROWID;
";

/// The tables of versions 1 to 3 that [`DECISION_TABLES`] took the place of. Instants are microseconds since 1970 in UTC.
pub(super) const FIRST_TABLES: &str = "\
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

/// The memory of status and revocation of version 2: nothing in it says who taught it.
pub(super) const STATUS_TABLES_OF_2: &str = "\
CREATE TABLE revoked_policies (
    publisher TEXT NOT NULL,
    policy TEXT NOT NULL,
    PRIMARY KEY (publisher, policy)
) STRICT, WITHOUT ROWID;
CREATE TABLE revoked_entries (
    issuer TEXT NOT NULL,
    list TEXT NOT NULL,
    place INTEGER NOT NULL CHECK (place >= 0),
    PRIMARY KEY (issuer, list, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE accepted_lists (
    issuer TEXT NOT NULL,
    url TEXT NOT NULL,
    valid_from_us INTEGER,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    accepted_us INTEGER NOT NULL,
    PRIMARY KEY (issuer, url)
) STRICT, WITHOUT ROWID;
CREATE TABLE wanted_lists (
    issuer TEXT NOT NULL,
    url TEXT NOT NULL,
    wanted_us INTEGER NOT NULL,
    PRIMARY KEY (issuer, url)
) STRICT, WITHOUT ROWID;
CREATE TABLE status_memory (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    version INTEGER NOT NULL
) STRICT;
INSERT INTO status_memory (only_row, version) VALUES (1, 0);
";

/// The memory of status and revocation (`crate::ledger::status_memory`), since version 3. `status_memory.version` moves
/// with every change of what a snapshot holds of it, so that a snapshot reads only what changed.
///
/// What was learned names its sponsor (`crate::ledger::fair_share`): `status_sponsors.delegate` is `-` for the root
/// principal itself and `=` followed by the delegate for one. Two sponsors may have taught the same revocation or wanted
/// the same list, so that neither loses it with the other. `revoked_entries` holds what the operator marked, and
/// whatever version 2 had: it was promised to stay. An accepted list without a sponsor is from version 2 and counts for
/// nobody. `status_memory.forgotten_us` is the latest `validFrom` of accepted lists that made room.
pub(super) const STATUS_TABLES: &str = "\
CREATE TABLE revoked_policies (
    publisher TEXT NOT NULL,
    policy TEXT NOT NULL,
    PRIMARY KEY (publisher, policy)
) STRICT, WITHOUT ROWID;
CREATE TABLE revoked_entries (
    issuer TEXT NOT NULL,
    list TEXT NOT NULL,
    place INTEGER NOT NULL CHECK (place >= 0),
    PRIMARY KEY (issuer, list, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE status_sponsors (
    sponsor INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    delegate TEXT NOT NULL,
    UNIQUE (root, delegate)
) STRICT;
CREATE TABLE learned_entries (
    sequence INTEGER PRIMARY KEY,
    sponsor INTEGER NOT NULL REFERENCES status_sponsors (sponsor),
    issuer TEXT NOT NULL,
    list TEXT NOT NULL,
    place INTEGER NOT NULL CHECK (place >= 0),
    UNIQUE (issuer, list, place, sponsor)
) STRICT;
CREATE INDEX learned_entries_of_sponsor ON learned_entries (sponsor);
CREATE TABLE accepted_lists (
    issuer TEXT NOT NULL,
    url TEXT NOT NULL,
    valid_from_us INTEGER,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    accepted_us INTEGER NOT NULL,
    sponsor INTEGER REFERENCES status_sponsors (sponsor),
    PRIMARY KEY (issuer, url)
) STRICT;
CREATE INDEX accepted_lists_of_sponsor ON accepted_lists (sponsor);
CREATE TABLE wanted_lists (
    sponsor INTEGER NOT NULL REFERENCES status_sponsors (sponsor),
    issuer TEXT NOT NULL,
    url TEXT NOT NULL,
    wanted_us INTEGER NOT NULL,
    PRIMARY KEY (sponsor, issuer, url)
) STRICT, WITHOUT ROWID;
CREATE TABLE status_memory (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    version INTEGER NOT NULL,
    forgotten_us INTEGER
) STRICT;
INSERT INTO status_memory (only_row, version) VALUES (1, 0);
";

/// The exchanges of conversations, since version 3. `context` is written as in `messages`. `bound_peers` names peers of
/// which exchanges were forgotten that kept prose out; `*` is everybody.
pub(super) const CONVERSATION_TABLES: &str = "\
CREATE TABLE exchanges (
    role TEXT NOT NULL CHECK (role IN ('agent', 'client')),
    context TEXT NOT NULL,
    peer TEXT NOT NULL,
    protocol_hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('offered', 'active', 'declined', 'aborted')),
    required INTEGER NOT NULL CHECK (required IN (0, 1)),
    until_us INTEGER,
    offer TEXT,
    changed_us INTEGER NOT NULL,
    PRIMARY KEY (role, context, peer, protocol_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX exchanges_of_peer ON exchanges (role, peer, required, until_us);
CREATE TABLE bound_peers (
    role TEXT NOT NULL CHECK (role IN ('agent', 'client')),
    peer TEXT NOT NULL,
    PRIMARY KEY (role, peer)
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
    for tables in CURRENT {
        transaction.execute_batch(tables)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.execute(
        "INSERT INTO meta VALUES (1, ?1, ?2, ?3, ?4, ?3, ?4, 0, 0)",
        (uuid::Uuid::new_v4().to_string(), domain, floor_us, high_water_us),
    )?;
    transaction.commit()?;
    Ok(())
}

/// The tables of this version.
const CURRENT: [&str; 4] = [DECISION_TABLES, STATUS_TABLES, CONVERSATION_TABLES, AUDIT_TABLES];

/// Refuses a file that is no ledger, is of another version, or whose tables are not exactly those of its version: a
/// dropped constraint or an added trigger could undo what admission relies on.
pub(in crate::ledger) fn check(connection: &Connection) -> Result<(), LedgerError> {
    is_ledger(connection)?;
    match version(connection)? {
        SCHEMA_VERSION => unaltered(connection, &CURRENT),
        version => Err(unknown_version(version)),
    }
}

/// Refuses a file that is no ledger or of another version.
pub(in crate::ledger) fn is_of_this_version(connection: &Connection) -> Result<(), LedgerError> {
    is_ledger(connection)?;
    match version(connection)? {
        SCHEMA_VERSION => Ok(()),
        version => Err(unknown_version(version)),
    }
}

/// Tables as every new ledger has them, in memory.
pub(in crate::ledger) fn model() -> Result<Connection, LedgerError> {
    let model = Connection::open_in_memory()?;
    for tables in CURRENT {
        model.execute_batch(tables)?;
    }
    Ok(model)
}

/// Brings a ledger of an earlier version up to this one, all or nothing; one of this version is left alone. The row that
/// says so is the first of the chain that covers the tables.
///
/// # Errors
/// A file that [`check`] would refuse for what it was.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), LedgerError> {
    is_ledger(connection)?;
    if !matches!(version(connection)?, 1..=3) {
        return check(connection);
    }
    // Another process may do the same at the same time: what counts is what holds once the file is ours.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = version(&transaction)?;
    match from {
        1 => {
            unaltered(&transaction, &[FIRST_TABLES])?;
            transaction.execute_batch(STATUS_TABLES)?;
        }
        2 => {
            unaltered(&transaction, &[FIRST_TABLES, STATUS_TABLES_OF_2])?;
            migrate_status_to_3(&transaction)?;
        }
        3 => unaltered(&transaction, &[FIRST_TABLES, STATUS_TABLES, CONVERSATION_TABLES])?,
        _ => return check(&transaction),
    }
    if from < 3 {
        transaction.execute_batch(CONVERSATION_TABLES)?;
    }
    migrate_decisions_to_4(&transaction)?;
    transaction.execute_batch(AUDIT_TABLES)?;
    let state = super::states::keep(&transaction)?;
    let meta = super::Meta::read(&transaction)?;
    let floor = meta.floor_us.map(super::micros_text).transpose()?;
    let event = Event::Migrated { from: from.unsigned_abs(), state, floor };
    // It is recorded at the latest instant that the file knows: an opening asks no clock.
    let latest = meta.high_water_us.and_then(chrono::DateTime::from_timestamp_micros);
    super::rows::append_event(&transaction, event, latest.unwrap_or(Instant::UNIX_EPOCH), Vec::new())?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// Moves decisions of versions 1 to 3 into the tables of version 4.
fn migrate_decisions_to_4(transaction: &Transaction<'_>) -> Result<(), LedgerError> {
    const TABLES: [&str; 6] = ["messages", "challenges", "counts", "revoked", "reports", "meta"];
    for table in TABLES {
        transaction.execute_batch(&format!(
            "CREATE TEMP TABLE earlier_{table} AS SELECT * FROM main.{table}; DROP TABLE main.{table};"
        ))?;
    }
    transaction.execute_batch(DECISION_TABLES)?;
    transaction.execute_batch(
        "INSERT INTO meta SELECT 1, ledger_id, domain, NULL, NULL, floor_us, high_water_us,
             (SELECT count(*) FROM earlier_messages), 0 FROM earlier_meta;
         INSERT INTO reports SELECT sequence, decision_id, previous_hash, row_hash, report FROM earlier_reports;
         INSERT INTO messages SELECT context, holder, message_id, digest, decision_id, peer, sequence
             FROM earlier_messages;
         INSERT INTO challenges SELECT holder, domain, challenge, sequence FROM earlier_challenges;
         INSERT INTO counts SELECT policy, exercised FROM earlier_counts;
         INSERT INTO revoked SELECT id FROM earlier_revoked;",
    )?;
    for table in TABLES {
        transaction.execute_batch(&format!("DROP TABLE temp.earlier_{table};"))?;
    }
    Ok(())
}

/// Moves the memory of status of version 2 into the tables of version 3. It says of nothing who taught it, so whatever
/// protects somebody stays and counts for nobody: a flood from before takes no room from anybody. Wanted lists are
/// charged to their issuers, all as delegates of one root principal that there is not: they make room first.
fn migrate_status_to_3(transaction: &Transaction<'_>) -> Result<(), LedgerError> {
    const TABLES: [&str; 5] =
        ["revoked_policies", "revoked_entries", "accepted_lists", "wanted_lists", "status_memory"];
    for table in TABLES {
        transaction.execute_batch(&format!(
            "CREATE TEMP TABLE earlier_{table} AS SELECT * FROM main.{table}; DROP TABLE main.{table};"
        ))?;
    }
    transaction.execute_batch(STATUS_TABLES)?;
    transaction.execute_batch(
        "INSERT INTO revoked_policies SELECT publisher, policy FROM earlier_revoked_policies;
         INSERT INTO revoked_entries SELECT issuer, list, place FROM earlier_revoked_entries;
         INSERT INTO accepted_lists (issuer, url, valid_from_us, digest, accepted_us)
             SELECT issuer, url, valid_from_us, digest, accepted_us FROM earlier_accepted_lists;
         INSERT INTO status_sponsors (root, delegate)
             SELECT DISTINCT '', '=' || issuer FROM earlier_wanted_lists;
         INSERT INTO wanted_lists
             SELECT sponsor, issuer, url, wanted_us FROM earlier_wanted_lists
             JOIN status_sponsors ON root = '' AND delegate = '=' || issuer;
         UPDATE status_memory SET version = (SELECT version + 1 FROM earlier_status_memory);",
    )?;
    for table in TABLES {
        transaction.execute_batch(&format!("DROP TABLE temp.earlier_{table};"))?;
    }
    Ok(())
}

fn is_ledger(connection: &Connection) -> Result<(), LedgerError> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application == APPLICATION_ID {
        Ok(())
    } else {
        Err(LedgerError::Unusable("the file is not a Writgate ledger".into()))
    }
}

fn version(connection: &Connection) -> Result<i32, LedgerError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn unknown_version(version: i32) -> LedgerError {
    let newer = if version > SCHEMA_VERSION { "newer" } else { "unknown" };
    LedgerError::Unusable(format!(
        "the file's schema version {version} is {newer}; this version of Writgate reads {SCHEMA_VERSION}"
    ))
}

/// The file's tables are those that `tables` make, and nothing else is there.
fn unaltered(connection: &Connection, tables: &[&str]) -> Result<(), LedgerError> {
    let model = Connection::open_in_memory()?;
    for tables in tables {
        model.execute_batch(tables)?;
    }
    if objects(connection)? == objects(&model)? {
        Ok(())
    } else {
        Err(LedgerError::Unusable("the file's tables were altered".into()))
    }
}

/// Every table, index, trigger and view with its text, but for those that SQLite makes itself: indexes without a text, and
/// tables. Their names alone say nothing: whoever edits the schema's table gives a trigger such a name.
fn objects(connection: &Connection) -> Result<Vec<(String, String, String)>, LedgerError> {
    let mut statement = connection.prepare(
        "SELECT type, name, sql FROM sqlite_schema
         WHERE NOT (substr(name, 1, 7) = 'sqlite_' AND (type = 'table' OR (type = 'index' AND sql IS NULL)))
         ORDER BY name",
    )?;
    let objects = statement
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    Ok(objects)
}
