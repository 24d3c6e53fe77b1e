//! The exchanges of conversations, each step within the caller's transaction.
//!
//! Their number is bounded, and forgetting never relaxes: a peer of which an exchange was forgotten that kept prose out, of
//! the peer's or of ours, is *bound*, and its prose is refused in every context. What one peer does costs that peer its
//! room, and nobody else's. (Whoever has as many identities as there is room can fill it. Then the peer that holds the most
//! makes room, and where all hold one each a new peer finds none, and is bound.)

use super::admission::{context_key, raise_high_water};
use super::{Meta, micros};
use crate::ledger::{LedgerError, Negotiated, Step};
use crate::protocol::ProtocolHash;
use crate::protocol::conversation::{ConversationKey, Exchange, Role, StoredExchange};
use crate::protocol::handshake::Handshake;
use crate::request::{Conversation, Instant, Peer};
use chrono::TimeDelta;
use rusqlite::{Connection, OptionalExtension, Row, Transaction};

/// Protocols in one conversation.
pub(super) const PER_CONVERSATION: usize = 16;
/// Exchanges of one peer in one role.
pub(super) const PER_PEER: usize = 1_024;
/// Exchanges in all. Beyond, room is made from the peer that holds the most.
const IN_ALL: usize = 65_536;
/// Peers that are bound. Beyond, everybody is.
const BOUND_PEERS: usize = 65_536;
/// Exchanges that are forgotten at once when there is no room.
const FORGOTTEN_AT_ONCE: usize = 64;
/// By how much less an end must move for a step to be the same again. Agreements live for days, and offers for minutes.
const SAME_AGAIN: TimeDelta = TimeDelta::minutes(1);
/// Stands in `bound_peers` for everybody.
const EVERYBODY: &str = "*";

/// Whether any exchange of a peer keeps prose out, in either role: one that is required, or one that has run out. Each half
/// is one seek in the index, however many exchanges the peer has.
const KEEPS_PROSE_OUT: &str = "\
SELECT 1 FROM exchanges WHERE role IN ('agent', 'client') AND peer = ?1 AND required = 1
UNION ALL
SELECT 1 FROM exchanges WHERE role IN ('agent', 'client') AND peer = ?1 AND required = 0 AND until_us <= ?2";

/// Without the index's name, SQLite reads every exchange of the role.
const FORGET_OLDEST: &str = "\
DELETE FROM exchanges WHERE (role, context, peer, protocol_hash) IN
    (SELECT role, context, peer, protocol_hash FROM exchanges INDEXED BY exchanges_of_peer
     WHERE role = ?1 AND peer = ?2
     ORDER BY state <> 'declined', changed_us, context, protocol_hash LIMIT ?3)
RETURNING state <> 'declined'";

const COLUMNS: &str = "protocol_hash, state, required, until_us, offer";

/// An exchange with its place, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedExchange {
    /// With whom, where and as what.
    pub key: ConversationKey,
    /// The Protocol Document.
    pub hash: ProtocolHash,
    /// The state.
    pub exchange: Exchange,
}

/// The conversation as a decision sees it.
pub(super) fn conversation(
    transaction: &Transaction<'_>,
    of: &ConversationKey,
    now: Instant,
) -> Result<Conversation, LedgerError> {
    let now = latest(transaction, now)?;
    let exchanges = read_all(transaction, of, now)?;
    let agreed = exchanges.iter().filter(|(_, exchange)| exchange.is_active());
    let agreed = agreed.map(|(hash, _)| hash.as_str().to_owned()).collect();
    // Prose is refused in a (peer, context), whichever of the two made the protocol required, and as what.
    let turned = read_all(transaction, &of.turned(), now)?;
    let required = exchanges.iter().chain(&turned).any(|(_, exchange)| exchange.required());
    Ok(Conversation {
        agreed,
        prose_forbidden: required || is_bound(transaction, of)?,
        prose_forbidden_elsewhere: is_required_anywhere(transaction, of, now)?,
        of_another_peer: is_of_another_peer(transaction, of)?,
    })
}

/// The exchanges of a conversation.
pub(super) fn exchanges(
    transaction: &Transaction<'_>,
    of: &ConversationKey,
    now: Instant,
) -> Result<Vec<(ProtocolHash, Exchange)>, LedgerError> {
    read_all(transaction, of, latest(transaction, now)?)
}

/// One step of one exchange. Where it is not `within` the rate at which steps are recorded, it is not taken; one that would
/// have required a protocol of a peer binds that peer, once: whatever it was, it is not forgotten.
pub(super) fn negotiate(
    transaction: &Transaction<'_>,
    of: &ConversationKey,
    hash: &ProtocolHash,
    now: Instant,
    within: bool,
    step: Step<'_>,
) -> Result<Negotiated, LedgerError> {
    if of.context.is_none() || of.peer.as_str().len() > Peer::MAX_BYTES {
        return Err(LedgerError::Contradictory("a conversation has a context and a peer of bounded length"));
    }
    if is_of_another_peer(transaction, of)? {
        return Ok(Negotiated::AnothersContext);
    }
    let now = latest(transaction, now)?;
    let written = read_one(transaction, of, hash)?;
    let before = written.clone().map(|exchange| exchange.at(now));
    let is_new = before.is_none();
    let was_required = before.as_ref().is_some_and(Exchange::required);
    let Some(after) = step(before.clone()) else { return Ok(Negotiated::Nothing) };
    // The same again: what was written stands, and with it the earlier end.
    if let (Some(written), true) = (&written, written == before)
        && written.is_nearly(&after, SAME_AGAIN)
    {
        return Ok(Negotiated::Settled(written.clone()));
    }
    if !within {
        if after.required() && !was_required {
            bind(transaction, of.role, &peer_key(&of.peer))?;
            return Ok(Negotiated::Full);
        }
        return Ok(Negotiated::TooMany);
    }
    // An offer or agreement that was found to have run out stays so, whatever the clock does next.
    raise_high_water(transaction, now)?;
    if is_new && !has_room(transaction, of)? {
        bind(transaction, of.role, &peer_key(&of.peer))?;
        return Ok(Negotiated::Full);
    }
    write(transaction, of, hash, &after, now)?;
    Ok(Negotiated::Settled(after))
}

/// Every exchange, in order of role, context and peer.
pub(super) fn all(connection: &Connection) -> Result<Vec<ListedExchange>, LedgerError> {
    connection
        .prepare(&format!(
            "SELECT {COLUMNS}, role, peer, context FROM exchanges ORDER BY role, context, peer"
        ))?
        .query_and_then((), |row| {
            let (hash, exchange) = read(row)?;
            let (role, peer, context): (String, String, String) = (row.get(5)?, row.get(6)?, row.get(7)?);
            let key = ConversationKey {
                role: if role == Role::Agent.as_str() { Role::Agent } else { Role::Client },
                peer: peer.strip_prefix('=').unwrap_or_default().into(),
                context: context.strip_prefix('=').map(str::to_owned),
            };
            Ok(ListedExchange { key, hash, exchange })
        })?
        .collect()
}

/// Forgets every exchange of a peer, by the operator's decision: the one way in which prose is let in again.
pub(super) fn forget(transaction: &Transaction<'_>, peer: &Peer) -> Result<usize, LedgerError> {
    let peer = peer_key(peer);
    transaction.execute("DELETE FROM bound_peers WHERE peer = ?1", (&peer,))?;
    Ok(transaction.execute("DELETE FROM exchanges WHERE peer = ?1", (&peer,))?)
}

/// A clock that was set back reopens no offer and no agreement that had run out when anything was last written.
fn latest(transaction: &Transaction<'_>, now: Instant) -> Result<Instant, LedgerError> {
    let high_water = Meta::read(transaction)?.high_water_us.and_then(Instant::from_timestamp_micros);
    Ok(high_water.map_or(now, |high_water| high_water.max(now)))
}

fn read_all(
    transaction: &Transaction<'_>,
    of: &ConversationKey,
    now: Instant,
) -> Result<Vec<(ProtocolHash, Exchange)>, LedgerError> {
    transaction
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM exchanges WHERE role = ?1 AND context = ?2 AND peer = ?3
             ORDER BY protocol_hash"
        ))?
        .query_and_then(place(of), |row| read(row).map(|(hash, exchange)| (hash, exchange.at(now))))?
        .collect()
}

fn read_one(
    transaction: &Transaction<'_>,
    of: &ConversationKey,
    hash: &ProtocolHash,
) -> Result<Option<Exchange>, LedgerError> {
    let (role, context, peer) = place(of);
    let mut statement = transaction.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM exchanges
         WHERE role = ?1 AND context = ?2 AND peer = ?3 AND protocol_hash = ?4"
    ))?;
    let mut rows = statement.query((role, context, peer, hash.as_str()))?;
    rows.next()?.map(|row| read(row).map(|(_, exchange)| exchange)).transpose()
}

fn read(row: &Row<'_>) -> Result<(ProtocolHash, Exchange), LedgerError> {
    let broken = || LedgerError::Unusable("an exchange of the ledger is not what was written".into());
    let hash: ProtocolHash = row.get::<_, String>(0)?.parse().map_err(|_| broken())?;
    let until = row.get::<_, Option<i64>>(3)?;
    let offer = match row.get::<_, Option<String>>(4)? {
        None => None,
        Some(json) => {
            let json = serde_json::from_str(&json).map_err(|_| broken())?;
            match Handshake::decode_json(&json) {
                Ok(Handshake::Offer(offer)) => Some(offer),
                _ => return Err(broken()),
            }
        }
    };
    let stored = StoredExchange {
        state: row.get(1)?,
        required: row.get(2)?,
        until: until.map(|until| Instant::from_timestamp_micros(until).ok_or_else(broken)).transpose()?,
        offer,
    };
    let exchange = stored.read(&hash).ok_or_else(broken)?;
    Ok((hash, exchange))
}

fn write(
    transaction: &Transaction<'_>,
    of: &ConversationKey,
    hash: &ProtocolHash,
    exchange: &Exchange,
    now: Instant,
) -> Result<(), LedgerError> {
    let (role, context, peer) = place(of);
    let stored = StoredExchange::of(exchange);
    let offer = stored.offer.map(|offer| Handshake::Offer(offer).to_json().to_string());
    transaction
        .prepare_cached(
            "INSERT INTO exchanges (role, context, peer, protocol_hash, state, required, until_us, offer, changed_us)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (role, context, peer, protocol_hash) DO UPDATE SET
                 state = excluded.state, required = excluded.required, until_us = excluded.until_us,
                 offer = excluded.offer, changed_us = excluded.changed_us",
        )?
        .execute((
            role,
            context,
            peer,
            hash.as_str(),
            stored.state,
            stored.required,
            stored.until.map(micros),
            offer,
            micros(now),
        ))?;
    Ok(())
}

/// Whether another peer's exchange was first in the context. An unauthenticated one takes a context from nobody.
fn is_of_another_peer(transaction: &Transaction<'_>, of: &ConversationKey) -> Result<bool, LedgerError> {
    if of.context.is_none() {
        return Ok(false);
    }
    let (role, context, peer) = place(of);
    Ok(transaction
        .prepare_cached(
            "SELECT 1 FROM exchanges WHERE role = ?1 AND context = ?2 AND peer <> ?3 AND peer <> ?4",
        )?
        .exists((role, context, peer, peer_key(&Peer::Unauthenticated)))?)
}

fn is_bound(transaction: &Transaction<'_>, of: &ConversationKey) -> Result<bool, LedgerError> {
    Ok(transaction
        .prepare_cached("SELECT 1 FROM bound_peers WHERE role IN ('agent', 'client') AND peer IN (?1, ?2)")?
        .exists((peer_key(&of.peer), EVERYBODY))?)
}

fn is_required_anywhere(
    transaction: &Transaction<'_>,
    of: &ConversationKey,
    now: Instant,
) -> Result<bool, LedgerError> {
    Ok(transaction.prepare_cached(KEEPS_PROSE_OUT)?.exists((peer_key(&of.peer), micros(now)))?)
}

/// Whether there is room for one more exchange of the conversation, made where it can be.
fn has_room(transaction: &Transaction<'_>, of: &ConversationKey) -> Result<bool, LedgerError> {
    let (role, context, peer) = place(of);
    let of_conversation = count(
        transaction,
        "SELECT count(*) FROM exchanges WHERE role = ?1 AND context = ?2 AND peer = ?3",
        (role, &context, &peer),
    )?;
    if of_conversation >= PER_CONVERSATION {
        return Ok(false);
    }
    let held = of_peer(transaction, role, &peer)?;
    if held >= PER_PEER {
        forget_oldest(transaction, of.role, &peer)?;
        return Ok(true);
    }
    if count(transaction, "SELECT count(*) FROM exchanges", ())? < IN_ALL {
        return Ok(true);
    }
    // The peer that holds the most makes room, if that is not the one that asks.
    let largest: Option<(String, String, i64)> = transaction
        .query_row(
            "SELECT role, peer, count(*) AS held FROM exchanges GROUP BY role, peer ORDER BY held DESC, peer LIMIT 1",
            (),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    match largest {
        Some((role, largest, most)) if usize::try_from(most).is_ok_and(|most| most > held + 1) => {
            let role = if role == Role::Agent.as_str() { Role::Agent } else { Role::Client };
            forget_oldest(transaction, role, &largest)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Forgets exchanges of a peer: those that were declined first, then the oldest. It binds the peer if any of them was not
/// declined: also an optional offer that is open keeps our own prose back, and one that nobody remembers would not.
fn forget_oldest(transaction: &Transaction<'_>, role: Role, peer: &str) -> Result<(), LedgerError> {
    let mut statement = transaction.prepare_cached(FORGET_OLDEST)?;
    let forgotten = statement
        .query_map((role.as_str(), peer, FORGOTTEN_AT_ONCE as i64), |row| row.get::<_, bool>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    if forgotten.contains(&true) {
        tracing::warn!(
            role = role.as_str(),
            peer,
            "a peer has more exchanges than are kept: its prose is refused"
        );
        bind(transaction, role, peer)?;
    }
    Ok(())
}

fn bind(transaction: &Transaction<'_>, role: Role, peer: &str) -> Result<(), LedgerError> {
    let bound = transaction
        .prepare_cached("SELECT 1 FROM bound_peers WHERE role = ?1 AND peer = ?2")?
        .exists((role.as_str(), peer))?;
    // One that is bound already takes no further room, and so does not bind everybody.
    if bound {
        return Ok(());
    }
    let full = count(transaction, "SELECT count(*) FROM bound_peers", ())? >= BOUND_PEERS;
    transaction
        .prepare_cached("INSERT INTO bound_peers (role, peer) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute((role.as_str(), if full { EVERYBODY } else { peer }))?;
    Ok(())
}

fn of_peer(transaction: &Transaction<'_>, role: &str, peer: &str) -> Result<usize, LedgerError> {
    count(transaction, "SELECT count(*) FROM exchanges WHERE role = ?1 AND peer = ?2", (role, peer))
}

fn count(transaction: &Transaction<'_>, sql: &str, of: impl rusqlite::Params) -> Result<usize, LedgerError> {
    let rows: i64 = transaction.prepare_cached(sql)?.query_row(of, |row| row.get(0))?;
    Ok(usize::try_from(rows).unwrap_or(usize::MAX))
}

fn place(of: &ConversationKey) -> (&'static str, String, String) {
    (of.role.as_str(), context_key(of.context.as_deref()), peer_key(&of.peer))
}

/// A peer as stored: `=` and its identity, or `-` for nobody's. An empty identity is nobody's, however it was written.
fn peer_key(peer: &Peer) -> String {
    if peer.is_authenticated() { format!("={}", peer.as_str()) } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(connection: &Connection, sql: &str) -> String {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let unset = vec![0; statement.parameter_count()];
        let rows =
            statement.query_map(rusqlite::params_from_iter(unset), |row| row.get::<_, String>(3)).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
    }

    /// What a peer of a thousand exchanges, or a ledger that is full of them, costs a decision.
    #[test]
    fn no_query_reads_more_exchanges_than_it_asks_for() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(super::super::schema::CONVERSATION_TABLES).unwrap();
        let keeps_out = plan(&connection, KEEPS_PROSE_OUT);
        for half in
            ["(role=? AND peer=? AND required=?);", "(role=? AND peer=? AND required=? AND until_us<?)"]
        {
            assert!(format!("{keeps_out};").contains(half), "{keeps_out}");
        }
        let forget = plan(&connection, FORGET_OLDEST);
        assert!(forget.contains("exchanges_of_peer (role=? AND peer=?)"), "{forget}");
        for plan in [keeps_out, forget] {
            assert!(!plan.contains("SCAN"), "{plan}");
        }
    }

    const FULL: &str = "\
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 65535)
        INSERT INTO exchanges SELECT 'agent', '=c' || i, '=' || PEER, 'sha256:' || printf('%064x', 1),
            'active', 0, 9000000000000000, NULL, i FROM n";

    fn ledger(fill: &str) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(super::super::schema::DECISION_TABLES).unwrap();
        connection.execute_batch(super::super::schema::CONVERSATION_TABLES).unwrap();
        connection
            .execute_batch("INSERT INTO meta VALUES (1, 'l', 'd', NULL, NULL, NULL, NULL, 0, 0)")
            .unwrap();
        connection.execute_batch(fill).unwrap();
        connection
    }

    fn bound(transaction: &Transaction<'_>, peer: &str) -> bool {
        let of = ConversationKey { role: Role::Agent, peer: peer.into(), context: None };
        is_bound(transaction, &of).unwrap()
    }

    fn offered(transaction: &Transaction<'_>, peer: &str) -> Negotiated {
        let of = ConversationKey { role: Role::Agent, peer: peer.into(), context: Some("new".into()) };
        let hash = format!("sha256:{}", "a".repeat(64)).parse().unwrap();
        let step: Step<'_> =
            &mut |before| Some(Exchange::offered_by_peer(before, true, false, Instant::MAX_UTC));
        negotiate(transaction, &of, &hash, Instant::UNIX_EPOCH, true, step).unwrap()
    }

    #[test]
    fn a_full_ledger_takes_room_from_the_peer_that_holds_the_most() {
        let mut connection =
            ledger(&FULL.replace("PEER", "(CASE WHEN i < 1000 THEN 'large' ELSE i / 64 END)"));
        let transaction = connection.transaction().unwrap();
        assert!(matches!(offered(&transaction, "new"), Negotiated::Settled(_)));
        assert_eq!(of_peer(&transaction, "agent", "=large").unwrap(), 1_000 - FORGOTTEN_AT_ONCE);
        assert!(bound(&transaction, "large") && !bound(&transaction, "new") && !bound(&transaction, "900"));
        assert_eq!(of_peer(&transaction, "agent", "=900").unwrap(), 64);
    }

    /// As many identities as there is room: a new peer finds none, and what could not be kept may have been required.
    #[test]
    fn where_all_peers_hold_one_exchange_each_a_new_one_is_bound() {
        let mut connection = ledger(&FULL.replace("PEER", "i"));
        let transaction = connection.transaction().unwrap();
        assert_eq!(offered(&transaction, "new"), Negotiated::Full);
        assert!(bound(&transaction, "new") && !bound(&transaction, "7"));
    }

    #[test]
    fn a_peer_that_is_bound_already_does_not_bind_everybody() {
        let fill = "\
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 65535)
            INSERT INTO bound_peers SELECT 'agent', '=' || i FROM n";
        let mut connection = ledger(fill);
        let transaction = connection.transaction().unwrap();
        bind(&transaction, Role::Agent, "=7").unwrap();
        assert!(!bound(&transaction, "somebody"));
        bind(&transaction, Role::Agent, "=one-more").unwrap();
        assert!(bound(&transaction, "somebody"));
    }
}
