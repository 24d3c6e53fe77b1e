//! Every bound that Writgate puts on what a peer controls, with its reason.
//!
//! All are counted work, never wall time, so that one message gets one answer on every machine. A limit that is hit
//! refuses; nothing is truncated and judged anyway. Budgets hold for a whole message, not for each part of it.

use serde_json::json;
use std::collections::BTreeMap;

/// The bounds of one decision. An operator may lower what [`Limits::default`] has, and not raise it: the bounds rest on
/// one another, and on the stack and the row of the ledger that they were chosen for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Octets of the message's JSON. A three-hop mandate with its policies is under 32 KiB; 1 MiB leaves room for
    /// parts that are not ours.
    pub message_bytes: usize,
    /// Nesting of JSON arrays and objects. Bounds the stack of every recursive consumer behind the strict reader.
    pub json_depth: usize,
    /// JSON members and items in a message, together.
    pub json_values: usize,
    /// Parts in a message.
    pub parts: usize,
    /// Octets of a message, task or context id.
    pub id_bytes: usize,
    /// Octets of one RDF part before its parser runs (SEC-1).
    pub graph_bytes: usize,
    /// Triples in one graph.
    pub triples: usize,
    /// Octets of one IRI or literal.
    pub term_bytes: usize,
    /// Blank nodes in one graph; canonicalization and SHACL cost grow with them.
    pub blank_nodes: usize,
    /// Nesting of Turtle collections and blank node property lists.
    pub graph_depth: usize,
    /// `@context` entries in one paper (an embedded credential is a paper of its own).
    pub contexts_per_paper: usize,
    /// Credentials in one presentation.
    pub credentials: usize,
    /// Proofs in one message, all papers together.
    pub proofs: usize,
    /// Policy documents carried in further authorization parts.
    pub policy_parts: usize,
    /// Calls of RDFC-1.0's Hash N-Degree Quads for all graphs of one message together. Every W3C evaluation entry
    /// passes at 500; a real paper needs a handful.
    pub canonicalization_calls: usize,
    /// RDFC-1.0 runs for one message.
    pub canonicalizations: usize,
    /// Actions times targets in one intent.
    pub actions: usize,
    /// Rules and constraints in all policies of a message together.
    pub constraints: usize,
    /// Nesting of logical constraints in a policy.
    pub constraint_depth: usize,
    /// Status lists read for one message: two for each credential, one of revocations and one of suspensions.
    pub status_lists: usize,
    /// Octets of a status list document, whose list is one term of it. A random list of a million entries has 170 KB.
    pub status_list_bytes: usize,
    /// Octets of a status list once it is decompressed: a megabyte of GZIP can hold a gigabyte. Two MiB are 16 million
    /// entries.
    pub status_list_decompressed_bytes: usize,
    /// Work on the policies of one message: names judged, and values compared with right operands, for all actions,
    /// hops and parties together. A grant of 60 recipients under three hops of 20 rules needs some 60,000; a delegate
    /// writes policies too, and this is a tenth of a second.
    pub policy_steps: usize,
    /// SHACL work: (shape, focus node) pairs and value nodes judged for one intent.
    pub validation_steps: usize,
    /// Characters of attacker-controlled text that any piece of evidence may echo.
    pub evidence_chars: usize,
}

impl Limits {
    /// The names of those that are above their default.
    pub(crate) fn raised(&self) -> Result<Vec<String>, serde_json::Error> {
        let named = |limits: &Self| serde_json::from_value::<BTreeMap<String, usize>>(json!(limits));
        let most = named(&Self::default())?;
        let raised =
            named(self)?.into_iter().filter(|(name, limit)| most.get(name).is_none_or(|most| limit > most));
        Ok(raised.map(|(name, _)| name).collect())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 1 << 20,
            json_depth: 64,
            json_values: 50_000,
            parts: 64,
            id_bytes: 256,
            graph_bytes: 256 << 10,
            triples: 4_000,
            term_bytes: 16 << 10,
            blank_nodes: 2_000,
            graph_depth: 32,
            contexts_per_paper: 8,
            credentials: 16,
            proofs: 32,
            policy_parts: 16,
            canonicalization_calls: 512,
            canonicalizations: 128,
            actions: 64,
            constraints: 2_000,
            constraint_depth: 16,
            status_lists: 32,
            status_list_bytes: 1 << 20,
            status_list_decompressed_bytes: 2 << 20,
            policy_steps: 1_000_000,
            validation_steps: 50_000,
            evidence_chars: 256,
        }
    }
}
