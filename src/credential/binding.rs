//! Policy-content binding (`mandate.md` 3): is this document the policy that the issuer signed for?

use super::content_digest::ContentDigest;
use super::context_free::with_policy_class;
use super::credential::{PolicyClaim, Profile, RelatedResource};
use super::node::as_node;
use super::{Credential, Known, PaperError};
use crate::config::{PolicyStore, StoredPolicy};
use crate::limits::Limits;
use crate::mandate::chain::BindingForm;
use crate::mandate::odrl::{Policy, PolicyError};
use crate::message::admit::readable_rdf;
use crate::message::{Digest, RdfPart};
use crate::rdf::{Budget, RdfError, RdfMediaType, canon, parse_graph};
use crate::refusal::Reason;
use crate::vocab::svc;
use oxrdf::{Graph, NamedOrBlankNode, NamedOrBlankNodeRef};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The policy that a credential's issuer signed for. Whether its id is the credential's claim is for assembly.
#[derive(Debug, Clone)]
pub(crate) struct BoundPolicy {
    /// As its document's own graph says it, or the part of the signed graph that is reachable from the embedded node; or
    /// why that is no policy.
    pub(crate) policy: Result<Arc<Policy>, PolicyError>,
    /// `svc:policy`: for a reference, the IRI that the policy's id must be; for an embedded policy, its node.
    pub(crate) claim: NamedOrBlankNode,
    /// SHA-256 over the document's octets, or over the canonical form of an embedded policy's graph.
    pub(crate) digest: Digest,
    pub(crate) form: BindingForm,
    /// The place in `parts` of the message part that carries the document; `None` for an embedded or a stored one.
    pub(crate) part: Option<usize>,
}

/// Finds the content of the credential's policy: embedded, in a message part, or in the store.
///
/// # Errors
/// `POLICY_INTEGRITY`; `LIMIT_EXCEEDED` where the budget is spent.
pub(crate) fn resolve(
    credential: &Credential,
    parts: &[RdfPart],
    store: &PolicyStore,
    trust_store_by_location: bool,
    limits: &Limits,
    budget: &mut Budget,
    known: &Known<'_>,
) -> Result<BoundPolicy, PaperError> {
    match &credential.policy {
        Some(PolicyClaim::Embedded(node)) => embedded(credential, node, limits, budget, known),
        Some(PolicyClaim::Reference(iri)) => {
            let stored = store.documents.get(iri);
            let text = stored.map(|stored| stored.text.as_str());
            let documents = Documents { parts, stored: text, trust_store_by_location };
            referenced(credential, iri, &documents, stored, limits, budget, known)
        }
        None => refuse("the credential does not name exactly one policy"),
    }
    .map_err(|mut error| {
        error.evidence.credential.clone_from(&credential.id);
        error
    })
}

/// How a credential binds its policy, by form and digests alone: `documents` by URL are not read.
///
/// # Errors
/// `POLICY_INTEGRITY`; `LIMIT_EXCEEDED` where the budget is spent.
pub(crate) fn form(
    credential: &Credential,
    documents: &BTreeMap<String, String>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<BindingForm, PaperError> {
    match &credential.policy {
        Some(PolicyClaim::Embedded(node)) => {
            embedded(credential, node, limits, budget, &Known::nothing()).map(|bound| bound.form)
        }
        Some(PolicyClaim::Reference(iri)) => {
            // A fragment is no part of what is retrieved.
            let whole = iri.split_once('#').map(|(whole, _)| whole);
            let stored = documents.get(iri).or_else(|| documents.get(whole?)).map(String::as_str);
            let documents = Documents { parts: &[], stored, trust_store_by_location: false };
            find(credential, iri, &documents, limits, budget).map(|found| found.form())
        }
        None => refuse("the credential does not name exactly one policy"),
    }
}

/// Each supplied part must be bound by exactly one credential (`mandate.md` 3). So a part that nobody signed for, or
/// that stands in for a policy of the store, refuses the message.
///
/// # Errors
/// `POLICY_INTEGRITY`
pub(crate) fn each_part_bound_once<'a>(
    bound: impl Iterator<Item = &'a BoundPolicy>,
    parts: &[RdfPart],
) -> Result<(), PaperError> {
    let mut places: Vec<usize> = bound.filter_map(|policy| policy.part).collect();
    places.sort_unstable();
    if places.iter().copied().eq(0..parts.len()) {
        return Ok(());
    }
    refuse("a policy part of the message is not bound by exactly one credential")
}

fn refuse<T>(detail: &str) -> Result<T, PaperError> {
    Err(PaperError::new(Reason::PolicyIntegrity, detail))
}

/// The policy is what the signed graph says from its node on.
fn embedded(
    credential: &Credential,
    node: &NamedOrBlankNode,
    limits: &Limits,
    budget: &mut Budget,
    known: &Known<'_>,
) -> Result<BoundPolicy, PaperError> {
    let is_its_entry = |entry: &RelatedResource| match node {
        NamedOrBlankNode::NamedNode(iri) => entry.id == iri.as_str(),
        NamedOrBlankNode::BlankNode(_) => false,
    };
    if credential.related.iter().any(is_its_entry) {
        return refuse("the policy is embedded and yet digested as a document");
    }
    let read = |budget: &mut Budget| {
        let graph = policy_content(credential, node);
        if graph.is_empty() {
            return refuse("the policy's node says nothing");
        }
        let digest = Digest::of(canon::graph(&graph, budget)?);
        let graph = match credential.profile {
            Profile::JsonLd | Profile::Jose => graph,
            Profile::ContextFree => with_policy_class(&graph, node.as_ref()),
        };
        Ok((Policy::read(&graph, limits), digest))
    };
    let (policy, digest) = known.embedded_policy(credential, budget, read)?;
    Ok(BoundPolicy { policy, claim: node.clone(), digest, form: BindingForm::Embedded, part: None })
}

/// The triples that can be reached from the policy's node. All are under the same proofs, so nothing is left out but
/// the credential's own claims, which a policy reaches where its assigner is the credential's subject.
fn policy_content(credential: &Credential, policy: &NamedOrBlankNode) -> Graph {
    let mut content = Graph::new();
    let mut seen = HashSet::from([policy.as_ref()]);
    let mut waiting = vec![policy.as_ref()];
    while let Some(node) = waiting.pop() {
        let is_subject = matches!(node, NamedOrBlankNodeRef::NamedNode(node) if credential.subject.as_deref() == Some(node.as_str()));
        for triple in credential.graph.triples_for_subject(node) {
            if is_subject && triple.predicate.as_str().starts_with(svc::NS) {
                continue;
            }
            content.insert(triple);
            waiting.extend(as_node(triple.object).filter(|object| seen.insert(*object)));
        }
    }
    content
}

fn referenced(
    credential: &Credential,
    iri: &str,
    documents: &Documents<'_>,
    stored: Option<&StoredPolicy>,
    limits: &Limits,
    budget: &mut Budget,
    known: &Known<'_>,
) -> Result<BoundPolicy, PaperError> {
    let found = find(credential, iri, documents, limits, budget)?;
    let claim = NamedOrBlankNode::from(oxrdf::NamedNode::new_unchecked(iri));
    let policy = match (found.entry, stored) {
        (None, Some(stored)) => Policy::read(&stored.graph, limits).map(Arc::new),
        (None, None) => return refuse("the policy is a bare IRI"),
        (Some(entry), _) => {
            // The media type is the issuer's, never the sender's: one text can be two graphs.
            let media_type = stated_media_type(entry)?.unwrap_or(RdfMediaType::Turtle);
            let read = || Ok(Policy::read(&parse(found.text, media_type, limits)?, limits));
            known.policy(found.text, media_type, read)?
        }
    };
    Ok(BoundPolicy { policy, claim, digest: Digest::of(found.text), form: found.form(), part: found.part })
}

/// Where the content of a reference may come from.
struct Documents<'d> {
    parts: &'d [RdfPart],
    /// The document under the reference's own IRI. Where there is one, no part can stand in for it.
    stored: Option<&'d str>,
    trust_store_by_location: bool,
}

/// The document that a reference binds, unread.
struct Found<'d> {
    text: &'d str,
    /// The entry whose digests it has; `None` where its location alone vouches for it.
    entry: Option<&'d RelatedResource>,
    part: Option<usize>,
}

impl Found<'_> {
    fn form(&self) -> BindingForm {
        match self.entry {
            Some(_) => BindingForm::Digest,
            None => BindingForm::Provisional,
        }
    }
}

/// Finds the document of the reference `iri` by its form and digests alone.
///
/// # Errors
/// `POLICY_INTEGRITY`; `LIMIT_EXCEEDED` where the budget is spent.
fn find<'d>(
    credential: &'d Credential,
    iri: &str,
    documents: &Documents<'d>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Found<'d>, PaperError> {
    let entries: Vec<_> = credential.related.iter().filter(|entry| entry.id == iri).collect();
    let entry = match (entries.as_slice(), documents.stored) {
        ([], Some(text)) if documents.trust_store_by_location => {
            return Ok(Found { text, entry: None, part: None });
        }
        ([entry], _) if !entry.digest_sri.is_empty() || !entry.digest_multibase.is_empty() => *entry,
        _ => return refuse("the policy is a bare IRI"),
    };
    // Content digests of the context-free profile are over octets, and nothing else.
    let as_rdf = match credential.profile {
        Profile::JsonLd | Profile::Jose => stated_media_type(entry)?,
        Profile::ContextFree => None,
    };
    match documents.stored {
        Some(text) if matches(entry, text, as_rdf, limits, budget)? => {
            Ok(Found { text, entry: Some(entry), part: None })
        }
        Some(_) => refuse("the store's document is not the one that the credential digests"),
        None => {
            let part = matching_part(entry, documents.parts, as_rdf, limits, budget)?;
            match part.and_then(|place| documents.parts.get(place)) {
                Some(found) => Ok(Found { text: &found.text, entry: Some(entry), part }),
                None => refuse("no document that the credential digests is at hand"),
            }
        }
    }
}

/// The document's graph.
fn parse(text: &str, media_type: RdfMediaType, limits: &Limits) -> Result<Graph, PaperError> {
    match parse_graph(text, media_type, limits) {
        Ok(graph) => Ok(graph),
        Err(error @ RdfError::TooLarge(_)) => Err(error.into()),
        Err(_) => refuse("the document is not RDF of its media type"),
    }
}

/// The entry's media type, where it states one. Documents are read as UTF-8, so one that is stated to be of another charset
/// is not what its issuer meant.
fn stated_media_type(entry: &RelatedResource) -> Result<Option<RdfMediaType>, PaperError> {
    match entry.media_type.as_slice() {
        [] => Ok(None),
        [one] => match readable_rdf(one) {
            Some(media_type) => Ok(Some(media_type)),
            None => refuse("the policy's media type is not one of RDF that is read here"),
        },
        _ => refuse("the policy has several media types"),
    }
}

/// The first part that matches: by its octets, else by its canonical form. That no other part matches too is for
/// [`each_part_bound_once`].
fn matching_part(
    entry: &RelatedResource,
    parts: &[RdfPart],
    stated: Option<RdfMediaType>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Option<usize>, PaperError> {
    for media_type in [None, stated] {
        for (place, part) in parts.iter().enumerate() {
            if matches(entry, &part.text, media_type, limits, budget)? {
                return Ok(Some(place));
            }
        }
    }
    Ok(None)
}

/// Whether every digest of the entry is the document's: of its octets or, for a `digestMultibase` of RDF, of its
/// RDFC-1.0 form.
fn matches(
    entry: &RelatedResource,
    text: &str,
    media_type: Option<RdfMediaType>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<bool, PaperError> {
    let octets = text.as_bytes();
    if !entry
        .digest_sri
        .iter()
        .all(|digest| ContentDigest::parse_sri(digest).is_some_and(|d| d.is_of(octets)))
    {
        return Ok(false);
    }
    let mut digests = Vec::new();
    for digest in &entry.digest_multibase {
        match ContentDigest::parse_multibase(digest) {
            Some(digest) if digest.is_of(octets) => {}
            Some(digest) => digests.push(digest),
            None => return Ok(false),
        }
    }
    let media_type = match media_type {
        _ if digests.is_empty() => return Ok(true),
        None => return Ok(false),
        Some(media_type) => media_type,
    };
    let graph = match parse_graph(text, media_type, limits) {
        Ok(graph) => graph,
        Err(error @ RdfError::TooLarge(_)) => return Err(error.into()),
        Err(_) => return Ok(false),
    };
    let canonical = canon::graph(&graph, budget)?;
    Ok(digests.iter().all(|digest| digest.is_of(canonical.as_bytes())))
}
