//! Facts about exact octets, kept from one decision to the next: credentials repeat for months.
//!
//! A fact is what reading or arithmetic found and would find again: a credential's graph and claims, a policy, a
//! key, a signature that is a key's. It is never a verdict and never a failure. Whether a key is listed, a date has passed, a
//! paper is revoked or a policy is the one that was signed for is asked for each message, behind what is kept here.
//!
//! - A fact is found by a SHA-256 over everything that it depends on: its kind, the octets, the profile or media type
//!   that they are read by, the limits, and for a signature the key, with its suite and what was signed. (The pinned
//!   contexts are part of the program.)
//! - An answer is the same with and without. What reading cost is kept and charged again; where the budget does not
//!   suffice, the paper is read again, and fails as it would have.
//! - Only a message whose chains were verified whole, each from its root, leaves facts. A signature alone costs its
//!   maker nothing, and what anybody may put here would push out what is of use.
//! - The octets that all facts take are bounded, and a panic empties the whole.

use super::credential::Profile;
use super::data_integrity::Statement;
use super::key::{KeyError, PublicKey};
use super::presentation_graph::Embedded;
use super::{Credential, PaperError};
use crate::limits::Limits;
use crate::mandate::odrl::{Policy, PolicyError};
use crate::message::Digest;
use crate::message::digest::jcs_of_value;
use crate::rdf::{Budget, RdfMediaType, Spent};
use lru::LruCache;
use oxrdf::{Graph, TermRef};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard};

/// The facts that an engine keeps, shared by its clones.
#[derive(Debug)]
pub(crate) struct KnownFacts {
    kept: Mutex<Kept>,
    /// The octets that all facts may take, about.
    most_octets: usize,
}

#[derive(Debug)]
struct Kept {
    /// Each with the octets that it takes, about.
    facts: LruCache<Digest, (Fact, usize)>,
    octets: usize,
}

/// One fact. It holds nothing that turns on the instant, the configuration or the message.
#[derive(Debug, Clone)]
enum Fact {
    /// A credential as its octets read, and what reading cost.
    Credential(Arc<Credential>, Spent),
    /// The policy that a credential embeds, with its digest, and what canonicalizing it cost.
    Embedded(Arc<Policy>, Digest, Spent),
    /// The policy of a document.
    Policy(Arc<Policy>),
    /// The key that a Multikey reads as: for an elliptic curve, half the work of checking a signature.
    Key(PublicKey),
    /// The signature is the key's, over these octets.
    Signature,
}

impl KnownFacts {
    pub(crate) fn new(most_octets: usize) -> Self {
        Self { kept: Mutex::new(Kept { facts: LruCache::unbounded(), octets: 0 }), most_octets }
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn find(&self, key: &Digest) -> Option<Fact> {
        self.lock().facts.get(key).map(|(fact, _)| fact.clone())
    }

    fn keep(&self, learned: Vec<(Digest, Fact)>) {
        let mut kept = self.lock();
        for (key, fact) in learned {
            let octets = fact.octets();
            kept.octets += octets;
            if let Some((_, before)) = kept.facts.put(key, (fact, octets)) {
                kept.octets = kept.octets.saturating_sub(before);
            }
        }
        while kept.octets > self.most_octets
            && let Some((_, (_, octets))) = kept.facts.pop_lru()
        {
            kept.octets = kept.octets.saturating_sub(octets);
        }
    }

    /// A lock that a panic poisoned guards facts that were half written: none of them is used.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| {
            let mut kept = poisoned.into_inner();
            kept.clear();
            self.kept.clear_poison();
            kept
        })
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().facts.len()
    }

    #[cfg(test)]
    pub(crate) fn octets(&self) -> usize {
        self.lock().octets
    }

    /// Leaves the lock as a thread does that panics while it holds it.
    #[cfg(test)]
    pub(crate) fn poison(&self) {
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _kept = self.lock();
            panic!("while the lock is held");
        }));
        assert!(held.is_err() && self.kept.is_poisoned());
    }
}

impl Kept {
    fn clear(&mut self) {
        self.facts.clear();
        self.octets = 0;
    }
}

/// What stands for the limits that papers are read under.
pub(crate) fn digest_of_limits(limits: &Limits) -> Digest {
    Digest::of(format!("{limits:?}"))
}

/// What one decision finds, and what it learns.
#[derive(Debug)]
pub(crate) struct Known<'f> {
    /// `None`: nothing is kept.
    facts: Option<&'f KnownFacts>,
    /// The limits that everything is read under.
    limits: Digest,
    learned: RefCell<Vec<(Digest, Fact)>>,
}

impl<'f> Known<'f> {
    /// Nothing is known, and nothing is kept.
    pub(crate) fn nothing() -> Self {
        Self { facts: None, limits: Digest::of([]), learned: RefCell::default() }
    }

    /// The view of one decision, whose papers are read under limits of this digest ([`digest_of_limits`]).
    pub(crate) fn new(facts: &'f KnownFacts, limits: Digest) -> Self {
        let facts = (facts.most_octets > 0).then_some(facts);
        Self { facts, limits, learned: RefCell::default() }
    }

    /// Keeps what was learned. It is for the caller to know that all of it comes from papers that were verified.
    pub(crate) fn keep(&self) {
        if let Some(facts) = self.facts {
            facts.keep(self.learned.take());
        }
    }

    /// The credential that a paper reads as.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn credential(
        &self,
        profile: Profile,
        paper: &Value,
        budget: &mut Budget,
        read: impl FnOnce(&mut Budget) -> Result<Credential, PaperError>,
    ) -> Result<Arc<Credential>, PaperError> {
        // The strict reader has one value for whatever has one JCS form.
        let octets = self.facts.and_then(|_| jcs_of_value(paper).ok());
        let key =
            octets.and_then(|octets| self.key("credential", &[format!("{profile:?}").as_bytes(), &octets]));
        if let Some(Fact::Credential(credential, cost)) = self.find(key.as_ref())
            && budget.spend(&cost)
        {
            return Ok(credential);
        }
        let before = budget.clone();
        let credential = Arc::new(Credential { known_as: key, ..read(budget)? });
        self.learn(key, || Fact::Credential(Arc::clone(&credential), budget.spent_since(&before)));
        Ok(credential)
    }

    /// The policy that a credential embeds, and its digest. A failure of the policy's reader is passed on.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn embedded_policy(
        &self,
        credential: &Credential,
        budget: &mut Budget,
        read: impl FnOnce(&mut Budget) -> Result<(Result<Policy, PolicyError>, Digest), PaperError>,
    ) -> Result<(Result<Arc<Policy>, PolicyError>, Digest), PaperError> {
        let key = credential.known_as.and_then(|key| self.key("embedded policy", &[key.as_bytes()]));
        if let Some(Fact::Embedded(policy, digest, cost)) = self.find(key.as_ref())
            && budget.spend(&cost)
        {
            return Ok((Ok(policy), digest));
        }
        let before = budget.clone();
        let (policy, digest) = read(budget)?;
        let policy = policy.map(Arc::new);
        if let Ok(policy) = &policy {
            self.learn(key, || Fact::Embedded(Arc::clone(policy), digest, budget.spent_since(&before)));
        }
        Ok((policy, digest))
    }

    /// The policy of a document. A failure of the policy's reader is passed on.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn policy(
        &self,
        text: &str,
        media_type: RdfMediaType,
        read: impl FnOnce() -> Result<Result<Policy, PolicyError>, PaperError>,
    ) -> Result<Result<Arc<Policy>, PolicyError>, PaperError> {
        let key = self.key("policy", &[media_type.as_str().as_bytes(), text.as_bytes()]);
        if let Some(Fact::Policy(policy)) = self.find(key.as_ref()) {
            return Ok(Ok(policy));
        }
        let policy = read()?.map(Arc::new);
        if let Ok(policy) = &policy {
            self.learn(key, || Fact::Policy(Arc::clone(policy)));
        }
        Ok(policy)
    }

    /// The key that a Multikey reads as.
    ///
    /// # Errors
    /// [`KeyError`]
    pub(super) fn public_key(&self, multikey: &str) -> Result<PublicKey, KeyError> {
        let found = self.key("key", &[multikey.as_bytes()]);
        if let Some(Fact::Key(key)) = self.find(found.as_ref()) {
            return Ok(key);
        }
        let key = PublicKey::from_multikey(multikey)?;
        self.learn(found, || Fact::Key(key.clone()));
        Ok(key)
    }

    /// Checks that a signature is the key's.
    ///
    /// # Errors
    /// `INVALID_SIGNATURE`
    pub(crate) fn signature(&self, statement: &Statement, key: &PublicKey) -> Result<(), PaperError> {
        let found = statement.signature.as_ref().ok().and_then(|signature| {
            let multikey = self.facts.map(|_| key.to_multikey())?;
            self.key("signature", &signature.facts(&multikey))
        });
        if let Some(Fact::Signature) = self.find(found.as_ref()) {
            return Ok(());
        }
        statement.verify(key)?;
        self.learn(found, || Fact::Signature);
        Ok(())
    }

    /// What a fact of a kind is kept under: all that it depends on, each part with its length.
    fn key(&self, kind: &'static str, parts: &[&[u8]]) -> Option<Digest> {
        self.facts?;
        let mut hash = Sha256::new();
        for part in [kind.as_bytes(), self.limits.as_bytes()].iter().chain(parts) {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        Some(Digest::from_bytes(hash.finalize().into()))
    }

    fn find(&self, key: Option<&Digest>) -> Option<Fact> {
        self.facts?.find(key?)
    }

    fn learn(&self, key: Option<Digest>, fact: impl FnOnce() -> Fact) {
        if let Some(key) = key {
            self.learned.borrow_mut().push((key, fact()));
        }
    }
}

/// Octets of a triple in a graph beside its terms: six indexes of three or more words for each term.
const TRIPLE_OCTETS: usize = 640;
/// Octets of a fact, or of a proof, beside what is counted of it.
const ITEM_OCTETS: usize = 512;

impl Fact {
    /// The octets that it takes, about; rather too many.
    fn octets(&self) -> usize {
        ITEM_OCTETS
            + match self {
                Self::Credential(credential, _) => octets_of_credential(credential),
                // Written out, each of its parts is about as long as in memory.
                Self::Embedded(policy, ..) | Self::Policy(policy) => 2 * format!("{policy:?}").len(),
                Self::Key(_) | Self::Signature => 0,
            }
    }
}

/// Claims are copies of terms of the graph, so it counts twice.
fn octets_of_credential(credential: &Credential) -> usize {
    let proofs =
        credential.securing.proofs().iter().map(|proof| ITEM_OCTETS + 2 * octets_of_graph(&proof.options));
    let embedded = credential.embedded.as_ref().map_or(0, Embedded::octets);
    2 * octets_of_graph(&credential.graph)
        + proofs.sum::<usize>()
        + 2 * credential.securing.octets_of_jws()
        + embedded
        + 4 * ITEM_OCTETS
}

fn octets_of_graph(graph: &Graph) -> usize {
    let octets_of_object = |object: TermRef<'_>| match object {
        TermRef::NamedNode(node) => node.as_str().len(),
        TermRef::Literal(literal) => {
            let language = literal.language().map_or(0, str::len);
            literal.value().len() + literal.datatype().as_str().len() + language
        }
        _ => 0,
    };
    let terms = graph.iter().map(|triple| {
        let subject = match triple.subject {
            oxrdf::NamedOrBlankNodeRef::NamedNode(node) => node.as_str().len(),
            oxrdf::NamedOrBlankNodeRef::BlankNode(_) => 0,
        };
        subject + triple.predicate.as_str().len() + octets_of_object(triple.object)
    });
    graph.len() * TRIPLE_OCTETS + terms.sum::<usize>()
}

#[cfg(test)]
mod tests;
