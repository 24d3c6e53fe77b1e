//! Bitstring Status List v1.0 (`mandate.md` 5): is a credential's bit set, and can that be known?
//!
//! Whatever keeps us from knowing is `STATUS_RETRIEVAL_ERROR`. What earlier decisions learned comes in as a
//! [`StatusMemory`] (a list never steps back, and what was once revoked stays so), and what this one learns goes out as
//! [`Learned`], for the ledger.

use super::controller::KeySource;
use super::credential::{Profile, Signed, StatusEntry};
use super::data_integrity::{DocumentHash, Proof, ProofOf};
use super::jose;
use super::node::{NodeView, as_node, as_text, iri};
use super::securing::Securing;
use super::{Credential, PaperError};
use crate::audit::Lookups;
use crate::ledger::status_memory::MAX_NAME_BYTES;
use crate::ledger::{Learned, ListKey, ListMark, RevokedEntry, StatusMemory};
use crate::limits::Limits;
use crate::message::{Digest, strict_json};
use crate::rdf::{Budget, RdfMediaType, canon, turtle};
use crate::refusal::Reason;
use crate::request::Instant;
use crate::source;
use crate::vocab::{cred, rdf, sec, svc};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use flate2::bufread::GzDecoder;
use oxrdf::{Graph, GraphNameRef, NamedOrBlankNodeRef, Quad, TermRef};
use std::collections::BTreeMap;
use std::io::Read as _;

/// A shorter list would tell its reader too much about who asks (Bitstring Status List v1.0, 3.2): 131,072 bits.
const LEAST_OCTETS: usize = 131_072 / 8;

/// Status list credentials by URL, as they were retrieved. Filled off the decision path.
#[derive(Debug, Clone, Default)]
pub struct StatusLists {
    documents: BTreeMap<String, StatusListDocument>,
}

/// One document, unread.
#[derive(Debug, Clone)]
pub(crate) struct StatusListDocument {
    pub(crate) text: String,
    pub(crate) media_type: String,
    pub(crate) retrieved: Instant,
}

impl StatusLists {
    /// Adds what was retrieved from `url` at `retrieved`: a JSON-LD credential (`application/vc` or
    /// `application/ld+json`), the same in a JWS (`application/vc+jwt`) or, for credentials of the context-free profile,
    /// one in `text/turtle`.
    pub fn insert(
        &mut self,
        url: impl Into<String>,
        text: impl Into<String>,
        media_type: impl Into<String>,
        retrieved: Instant,
    ) {
        let document = StatusListDocument { text: text.into(), media_type: media_type.into(), retrieved };
        self.documents.insert(url.into(), document);
    }

    pub(crate) fn find(&self, url: &str) -> Option<&StatusListDocument> {
        self.documents.get(url)
    }

    /// All documents, in order of their URLs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &StatusListDocument)> {
        self.documents.iter().map(|(url, document)| (url.as_str(), document))
    }
}

/// Which lists count, and when. One for each decision: a list is read once, whatever number of entries point to it.
#[derive(Debug)]
pub(crate) struct StatusCheck<'a> {
    lists: &'a StatusLists,
    memory: Lookups<'a>,
    keys: KeySource<'a>,
    max_age: TimeDelta,
    limits: Limits,
    read: BTreeMap<(String, bool), Result<StatusList, PaperError>>,
    learned: Learned,
}

impl<'a> StatusCheck<'a> {
    pub(crate) fn new(
        lists: &'a StatusLists,
        memory: &'a StatusMemory,
        keys: KeySource<'a>,
        max_age: TimeDelta,
        limits: &Limits,
    ) -> Self {
        let (read, learned) = (BTreeMap::new(), Learned::default());
        let memory = Lookups::new(memory);
        Self { lists, memory, keys, max_age, limits: limits_of_lists(limits), read, learned }
    }

    /// What was relied on and seen so far.
    pub(crate) fn into_learned(self) -> Learned {
        self.learned
    }

    /// The memory of earlier decisions, for whoever else asks it: what is found is noted.
    pub(crate) fn memory(&mut self) -> &mut Lookups<'a> {
        &mut self.memory
    }

    /// What was found so far of what earlier decisions remembered.
    pub(crate) fn found(&self) -> &StatusMemory {
        self.memory.found()
    }

    /// Notes the lists that a credential names as wanted. For credentials of chains that verified (phases A and B) to a
    /// configured root only: nobody else has a say in what is fetched. One message has no more of them noted than are read
    /// for it; each is work for the ledger, and a credential can name thousands.
    pub(crate) fn want_lists_of(&mut self, credential: &Credential) {
        for entry in &credential.status {
            if self.learned.wanted.len() >= self.limits.status_lists {
                return;
            }
            let Ok(claim) = Claim::read(entry) else { continue };
            if claim.can_be_remembered(credential) && source::is_document_url(claim.url) {
                let (issuer, url) = (credential.issuer.clone(), claim.url.to_owned());
                self.learned.wanted.insert(ListKey { issuer, url });
            }
        }
    }

    /// Judges one entry of a verified credential. Gives the instant up to which the list may be relied on.
    ///
    /// # Errors
    /// `REVOKED`, `SUSPENDED`, `STATUS_RETRIEVAL_ERROR`.
    pub(crate) fn entry(
        &mut self,
        credential: &Credential,
        entry: &StatusEntry,
        budget: &mut Budget,
    ) -> Result<Instant, PaperError> {
        let claim = Claim::read(entry)?;
        self.claim(credential, &claim, budget).map_err(|mut error| {
            error.evidence.seen = Some(claim.url.to_owned());
            error
        })
    }

    fn claim(
        &mut self,
        credential: &Credential,
        claim: &Claim<'_>,
        budget: &mut Budget,
    ) -> Result<Instant, PaperError> {
        let Claim { purpose, index, url } = *claim;
        if !claim.can_be_remembered(credential) {
            return Err(unknown("the issuer's IRI or the list's URL is longer than is remembered"));
        }
        let place = claim.place_of(credential);
        if self.memory.is_entry_revoked(&place) {
            // Another sponsor may have taught it, and its place there may go: this chain's stays its own.
            self.learned.revoked.insert(place);
            return Err(PaperError::new(Reason::Revoked, "the credential's bit was once seen set"));
        }
        let context_free = credential.profile == Profile::ContextFree;
        let key = (url.to_owned(), context_free);
        if !self.read.contains_key(&key) {
            if self.read.len() >= self.limits.status_lists {
                return Err(unknown("the credentials name more status lists than are read"));
            }
            let list = self.list(url, context_free, budget);
            self.read.insert(key.clone(), list);
        }
        let list = match self.read.get(&key) {
            Some(Ok(list)) => list,
            Some(Err(error)) => return Err(error.clone()),
            None => return Err(unknown("the status list was not read")),
        };
        if list.issuer != credential.issuer {
            return Err(unknown("the status list is by another issuer than the credential"));
        }
        if list.purpose != purpose.name() {
            return Err(unknown("the status list is for another purpose"));
        }
        let key = ListKey { issuer: list.issuer.clone(), url: url.to_owned() };
        self.learned.lists.insert(key, list.mark);
        match list.bit(index) {
            None => Err(unknown("the index is beyond the status list")),
            Some(false) => Ok(list.good_until),
            Some(true) => {
                // A suspension is over when its list says so; a revocation never is.
                if purpose == Purpose::Revocation {
                    self.learned.revoked.insert(place);
                }
                Err(PaperError::new(purpose.reason(), "the credential's bit is set"))
            }
        }
    }

    /// Reads and verifies the list at `url`.
    fn list(&mut self, url: &str, context_free: bool, budget: &mut Budget) -> Result<StatusList, PaperError> {
        let document =
            self.lists.find(url).ok_or_else(|| unknown("no status list is at hand for the status entry"))?;
        let signed = signed(document, context_free, &self.limits, budget)?;
        let credential = Credential::of_any_type(signed).map_err(unverified)?;
        let keys = self.keys_of(&credential)?;
        let mark = self.mark(&credential, url, document)?;
        let list = StatusList::read(&credential, url, mark, self.limits.status_list_decompressed_bytes)?;
        let age = list.ttl.map_or(self.max_age, |ttl| ttl.min(self.max_age));
        let fresh_until = mark.accepted.checked_add_signed(age).unwrap_or(Instant::MAX_UTC);
        if self.keys.now > fresh_until {
            return Err(unknown("the status list was retrieved too long ago"));
        }
        let ends = keys.into_iter().chain(credential.not_after()).chain([fresh_until]);
        Ok(StatusList { good_until: ends.min().unwrap_or(fresh_until), ..list })
    }

    /// The list's mark: what was accepted before bounds its life, and must not be newer.
    fn mark(
        &mut self,
        credential: &Credential,
        url: &str,
        document: &StatusListDocument,
    ) -> Result<ListMark, PaperError> {
        let read =
            ListMark::new(credential.valid_from, credential.digest, document.retrieved.min(self.keys.now));
        let key = ListKey { issuer: credential.issuer.clone(), url: url.to_owned() };
        let mark = self.memory.mark(&key, read);
        mark.ok_or_else(|| unknown("the status list is older than one that was accepted before"))
    }

    /// Phase A of the list credential: the last instants at which its keys can be known to be its issuer's.
    fn keys_of(&self, credential: &Credential) -> Result<Vec<Instant>, PaperError> {
        credential.verify_with(&self.keys).map_err(unverified)
    }
}

/// What a status entry asks.
struct Claim<'e> {
    purpose: Purpose,
    index: usize,
    url: &'e str,
}

impl<'e> Claim<'e> {
    fn read(entry: &'e StatusEntry) -> Result<Self, PaperError> {
        if entry.types.as_slice() != [cred::STATUS_LIST_ENTRY] {
            return Err(unknown("the status entry is no BitstringStatusListEntry"));
        }
        if !matches!(entry.size.as_slice(), [] | [_]) || entry.size.iter().any(|size| size != "1") {
            return Err(unknown("the status has more than one bit"));
        }
        let purpose = match entry.purpose.as_slice() {
            [one] => Purpose::of(one),
            _ => None,
        };
        let purpose = purpose.ok_or_else(|| unknown("the purpose is neither revocation nor suspension"))?;
        let index = match entry.index.as_slice() {
            [one] => canonical_decimal(one),
            _ => None,
        };
        let index = index.ok_or_else(|| unknown("the index is no canonical decimal"))?;
        match entry.list.as_slice() {
            [url] => Ok(Self { purpose, index, url }),
            _ => Err(unknown("the status entry does not name one status list")),
        }
    }

    /// Whether the ledger keeps names of this length: what it could not keep, nothing may rest on.
    fn can_be_remembered(&self, credential: &Credential) -> bool {
        self.url.len() <= MAX_NAME_BYTES && credential.issuer.len() <= MAX_NAME_BYTES
    }

    fn place_of(&self, credential: &Credential) -> RevokedEntry {
        let index = u64::try_from(self.index).unwrap_or(u64::MAX);
        RevokedEntry { issuer: credential.issuer.clone(), list: self.url.to_owned(), index }
    }
}

impl StatusEntry {
    /// The list and the index in it, where the entry is of the one form.
    pub(crate) fn place(&self) -> Option<(&str, u64)> {
        let claim = Claim::read(self).ok()?;
        Some((claim.url, u64::try_from(claim.index).ok()?))
    }
}

/// What a set bit of a list means (Bitstring Status List v1.0, 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The credential is taken back for good.
    Revocation,
    /// The credential is not good for now.
    Suspension,
}

impl Purpose {
    fn of(name: &str) -> Option<Self> {
        [Self::Revocation, Self::Suspension].into_iter().find(|purpose| purpose.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Revocation => "revocation",
            Self::Suspension => "suspension",
        }
    }

    fn reason(self) -> Reason {
        match self {
            Self::Revocation => Reason::Revoked,
            Self::Suspension => Reason::Suspended,
        }
    }
}

/// Digits without a leading zero. One that no list could be long enough for is the greatest there is.
fn canonical_decimal(text: &str) -> Option<usize> {
    let canonical = text.bytes().all(|octet| octet.is_ascii_digit())
        && !text.is_empty()
        && (text == "0" || !text.starts_with('0'));
    canonical.then(|| text.parse().unwrap_or(usize::MAX))
}

/// A verified list.
#[derive(Debug)]
struct StatusList {
    issuer: String,
    purpose: String,
    octets: Vec<u8>,
    ttl: Option<TimeDelta>,
    mark: ListMark,
    good_until: Instant,
}

impl StatusList {
    /// Reads the claims of a verified list credential.
    fn read(credential: &Credential, url: &str, mark: ListMark, limit: usize) -> Result<Self, PaperError> {
        if credential.id.as_deref() != Some(url) {
            return Err(unknown("the status list is another one than the entry names"));
        }
        let node = NodeView::new(&credential.graph, credential.node.as_ref());
        let class = match credential.profile {
            Profile::JsonLd | Profile::Jose => cred::STATUS_LIST_CLASS,
            Profile::ContextFree => svc::STATUS_LIST_CLASS,
        };
        if !node.has_type(class) {
            return Err(unknown("the document is no BitstringStatusListCredential"));
        }
        let subject = node.one_node(cred::SUBJECT).map_err(unverified)?;
        let text = |predicate| {
            let value = subject.one(predicate).map_err(unverified)?;
            as_text(value, rdf::XSD_STRING)
                .or_else(|| as_text(value, sec::MULTIBASE))
                .ok_or_else(|| unknown("the status list says something that is no text"))
        };
        Ok(Self {
            issuer: credential.issuer.clone(),
            purpose: text(cred::STATUS_PURPOSE)?,
            octets: decompress(&text(cred::ENCODED_LIST)?, limit)?,
            ttl: time_to_live(&subject)?,
            mark,
            good_until: Instant::MIN_UTC,
        })
    }

    /// The bit of an index: the first is the leftmost.
    fn bit(&self, index: usize) -> Option<bool> {
        let octet = self.octets.get(index / 8)?;
        Some(octet >> (7 - index % 8) & 1 == 1)
    }
}

/// `ttl`, in milliseconds.
fn time_to_live(subject: &NodeView<'_>) -> Result<Option<TimeDelta>, PaperError> {
    let ttl = subject.literals(cred::TTL).map_err(unverified)?;
    match ttl.as_slice() {
        [] => Ok(None),
        [one] => {
            let milliseconds = canonical_decimal(one).and_then(|ttl| i64::try_from(ttl).ok());
            let ttl = milliseconds.and_then(TimeDelta::try_milliseconds);
            ttl.map(Some).ok_or_else(|| unknown("the time to live of the status list is no count"))
        }
        _ => Err(unknown("the status list has several times to live")),
    }
}

/// `u` and base64url of one GZIP member, whole and nothing after it.
fn decompress(encoded: &str, limit: usize) -> Result<Vec<u8>, PaperError> {
    let compressed = encoded
        .strip_prefix('u')
        .and_then(|encoded| URL_SAFE_NO_PAD.decode(encoded).ok())
        .ok_or_else(|| unknown("the encoded list is not `u` and base64url"))?;
    let mut decoder = GzDecoder::new(compressed.as_slice());
    let mut octets = Vec::new();
    // One octet more than the limit tells a list that is too large, which is then read no further.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    decoder
        .by_ref()
        .take(most)
        .read_to_end(&mut octets)
        .map_err(|_| unknown("the encoded list is not GZIP"))?;
    if octets.len() > limit {
        return Err(unknown("the status list is larger than is read"));
    }
    if !decoder.into_inner().is_empty() {
        return Err(unknown("something follows the encoded list"));
    }
    if octets.len() < LEAST_OCTETS {
        return Err(unknown("the status list is shorter than 131,072 bits"));
    }
    Ok(octets)
}

/// A list is one literal, longer than any term of a message.
fn limits_of_lists(limits: &Limits) -> Limits {
    let octets = limits.status_list_bytes;
    Limits { graph_bytes: octets, message_bytes: octets, term_bytes: octets, ..limits.clone() }
}

/// What a list says of itself, whoever signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListClaims {
    pub(crate) issuer: String,
    pub(crate) ttl: Option<TimeDelta>,
    pub(crate) mark: ListMark,
}

/// Reads a list that was retrieved from `url`, without a look at its signature: for whoever keeps it until it is used.
///
/// # Errors
/// `STATUS_RETRIEVAL_ERROR`, for what could never be used as the list of this URL.
pub(crate) fn list_claims(
    url: &str,
    text: &str,
    media_type: &str,
    retrieved: Instant,
    context_free: bool,
) -> Result<ListClaims, PaperError> {
    let limits = limits_of_lists(&Limits::default());
    let document = StatusListDocument { text: text.to_owned(), media_type: media_type.to_owned(), retrieved };
    let signed = signed(&document, context_free, &limits, &mut Budget::new(&limits))?;
    let credential = Credential::of_any_type(signed).map_err(unverified)?;
    let mark = ListMark::new(credential.valid_from, credential.digest, retrieved);
    let list = StatusList::read(&credential, url, mark, limits.status_list_decompressed_bytes)?;
    Ok(ListClaims { issuer: list.issuer, ttl: list.ttl, mark })
}

/// The list credential's graph and proofs.
fn signed(
    document: &StatusListDocument,
    context_free: bool,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Signed, PaperError> {
    let essence = document.media_type.split(';').next().unwrap_or_default().trim();
    // A list is no paper of the presentation, so it need not be of the presentation's profile: its issuer publishes one
    // list, whatever the form of the credentials that point to it.
    if essence.eq_ignore_ascii_case("application/vc+jwt") {
        return jose::read_credential(&document.text, limits).map_err(unverified);
    }
    let media_type = match RdfMediaType::parse(essence) {
        None if essence.eq_ignore_ascii_case("application/vc") => Some(RdfMediaType::JsonLd),
        other => other,
    };
    match media_type {
        Some(RdfMediaType::JsonLd) => {
            let json = strict_json::read(document.text.as_bytes(), limits)
                .map_err(|_| unknown("the status list is not JSON that is read here"))?;
            Signed::read(&json, limits, budget).map_err(unverified)
        }
        Some(RdfMediaType::Turtle) if context_free => of_turtle(&document.text, limits, budget),
        Some(RdfMediaType::Turtle) => {
            Err(unknown("a status list in Turtle is for credentials of the context-free profile"))
        }
        None => Err(unknown("the status list has a media type that is not read here")),
    }
}

/// The context-free profile's form: what is signed is everything but the proof nodes' quads and the quads that point to
/// them.
fn of_turtle(text: &str, limits: &Limits, budget: &mut Budget) -> Result<Signed, PaperError> {
    let all = turtle::parse(text, limits).map_err(|error| unverified(error.into()))?;
    let node = NodeView::only_instance(&all, cred::VERIFIABLE_CREDENTIAL).map_err(unverified)?.node();
    let mut proofs: Vec<NamedOrBlankNodeRef<'_>> =
        all.objects_for_subject_predicate(node, iri(sec::PROOF)).filter_map(as_node).collect();
    if proofs.len() > limits.proofs {
        return Err(unknown("the status list has more proofs than are judged"));
    }
    // A graph has no order, and of two proofs that do not hold, the one that is reported must be the same.
    proofs.sort_by_cached_key(ToString::to_string);
    let is_proof = |object: TermRef<'_>| as_node(object).is_some_and(|object| proofs.contains(&object));
    let graph: Graph = all
        .iter()
        .filter(|triple| {
            let points = triple.predicate == iri(sec::PROOF) && is_proof(triple.object);
            !points && !proofs.contains(&triple.subject)
        })
        .collect();
    let digest = Digest::of(canon::graph(&graph, budget).map_err(|error| unverified(error.into()))?);
    let mut document = DocumentHash::sha256_only(digest);
    let mut read = Vec::new();
    for proof in proofs {
        let view = NodeView::new(&all, proof);
        let value = view.optional_text(sec::PROOF_VALUE).map_err(unverified)?;
        let options: Vec<Quad> = all
            .triples_for_subject(proof)
            .filter(|triple| triple.predicate != iri(sec::PROOF_VALUE))
            .map(|triple| triple.in_graph(GraphNameRef::DefaultGraph).into_owned())
            .collect();
        read.push(
            Proof::of_options(&options, value, &mut document, ProofOf::Credential, budget)
                .map_err(unverified)?,
        );
    }
    let securing = Securing::DataIntegrity(read);
    Ok(Signed { profile: Profile::ContextFree, graph, digest, securing, recognised: false })
}

fn unknown(detail: &str) -> PaperError {
    PaperError::new(Reason::StatusRetrievalError, detail)
}

/// A list that does not verify tells nothing, and one that costs more than the message has left is not verified.
fn unverified(error: PaperError) -> PaperError {
    let why = error.evidence.detail.unwrap_or_default();
    unknown(&format!("the status list does not verify: {why}"))
}
