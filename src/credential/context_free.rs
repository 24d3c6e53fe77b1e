//! The context-free profile (`mandate.md` 9): papers without `@context`, which are not JSON-LD, and their one fixed
//! lowering to RDF. Off unless configured.
//!
//! Claims are read from the lowered quads by the readers that JSON-LD papers have, so two documents of equal canonical
//! octets say the same (threat 25). What the lowering does not cover is unsigned: it refuses the paper, or (`type` and
//! `statusSize` of a status entry) can only deny.

use super::credential::{Profile, Signed, StatusEntry};
use super::data_integrity::{DocumentHash, Proof, ProofOf, proof_objects};
use super::key::encode_base58btc;
use super::known::Known;
use super::node::{NodeView, iri};
use super::presentation_graph::Presentation;
use super::securing::Securing;
use super::{Credential, PaperError};
use crate::limits::Limits;
use crate::message::Digest;
use crate::message::digest::jcs;
use crate::rdf::{Budget, canon, graph_of};
use crate::refusal::Reason;
use crate::vocab::{cred, dcterms, rdf, schema, sec, svc};
use oxrdf::{
    BlankNode, Graph, GraphNameRef, Literal, NamedNode, NamedOrBlankNode, NamedOrBlankNodeRef, Quad, Term,
    Triple,
};
use serde_json::{Map, Number, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Whether a paper is of this profile.
pub(crate) fn is_context_free(document: &Value) -> bool {
    document.get("@context").is_none()
}

/// Reads a credential by the fixed lowering.
///
/// # Errors
/// `MALFORMED`, `LIMIT_EXCEEDED`.
pub(crate) fn credential(
    document: &Value,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Credential, PaperError> {
    let members = object(document, "a credential is a JSON object")?;
    let proofs = proof_objects(members.get("proof").cloned())?;
    if proofs.len() > limits.proofs {
        return Err(PaperError::new(Reason::LimitExceeded, "more proofs than are judged"));
    }
    let mut lowering = Lowering::default();
    let entries = lowering.credential(members)?;
    let graph = graph_of(lowering.triples, limits)?;
    let digest = Digest::of(canon::graph(&graph, budget)?);
    let mut document = DocumentHash::sha256_only(digest);
    let proofs = proofs
        .iter()
        .map(|proof| read_proof(proof, &mut document, ProofOf::Credential, limits, budget))
        .collect::<Result<_, _>>()?;
    let securing = Securing::DataIntegrity(proofs);
    let mut credential = Credential::of_mandate(Signed {
        profile: Profile::ContextFree,
        graph,
        digest,
        securing,
        recognised: false,
    })?;
    // The graph has no order. The document's is that in which entries are judged.
    credential.status =
        entries.into_iter().map(|entry| entry.read(&credential.graph)).collect::<Result<_, PaperError>>()?;
    Ok(credential)
}

/// Reads a presentation by the fixed lowering, with its credentials.
///
/// # Errors
/// `MALFORMED`, `LIMIT_EXCEEDED`.
pub(crate) fn presentation(
    document: &Value,
    limits: &Limits,
    budget: &mut Budget,
    known: &Known<'_>,
) -> Result<Presentation, PaperError> {
    const MEMBERS: [&str; 5] = ["id", "type", "holder", "verifiableCredential", "proof"];
    let members = object(document, "a presentation is a JSON object")?;
    only(members, &MEMBERS, "the presentation has a member that this profile does not sign")?;
    if members.get("type").is_some_and(|class| !is_just(class, "VerifiablePresentation")) {
        return Err(PaperError::malformed("the presentation has a type that this profile does not sign"));
    }
    let proofs = proof_objects(members.get("proof").cloned())?;
    let papers = embedded(members, proofs.len(), limits)?;
    let read = |(place, paper): (usize, &Value)| {
        let read = |budget: &mut Budget| credential(paper, limits, budget);
        known.credential(Profile::ContextFree, paper, budget, read).map_err(|mut error| {
            error.evidence.path = Some(format!("/verifiableCredential/{place}"));
            error
        })
    };
    let credentials = papers.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    let node = match members.get("id") {
        None => BlankNode::new_unchecked("presentation").into(),
        Some(id) => NamedOrBlankNode::NamedNode(iri_of(id, "a presentation's id is an IRI")?),
    };
    let holder = members.get("holder").map(|holder| iri_of(holder, "a holder is an IRI")).transpose()?;
    let triples = presented(node, holder.as_ref(), &credentials, limits, budget)?;
    let digest = Digest::of(canon::graph(&graph_of(triples, limits)?, budget)?);
    let mut document = DocumentHash::sha256_only(digest);
    let proofs = proofs
        .iter()
        .map(|proof| read_proof(proof, &mut document, ProofOf::Presentation, limits, budget))
        .collect::<Result<_, _>>()?;
    let holder = holder.map(NamedNode::into_string);
    let securing = Securing::DataIntegrity(proofs);
    Ok(Presentation { profile: Profile::ContextFree, holder, digest, securing, credentials })
}

/// The embedded credentials, at least one and no more, with their proofs, than are judged.
fn embedded<'a>(
    members: &'a Map<String, Value>,
    own_proofs: usize,
    limits: &Limits,
) -> Result<&'a [Value], PaperError> {
    let papers = members.get("verifiableCredential").map(one_or_many).unwrap_or_default();
    if papers.is_empty() {
        return Err(PaperError::malformed("a presentation has at least one credential"));
    }
    if papers.len() > limits.credentials {
        return Err(PaperError::new(Reason::LimitExceeded, "more credentials than are judged"));
    }
    let proofs = papers.iter().filter_map(|paper| paper.get("proof")).map(|proof| one_or_many(proof).len());
    if proofs.sum::<usize>().saturating_add(own_proofs) > limits.proofs {
        return Err(PaperError::new(Reason::LimitExceeded, "more proofs than are judged"));
    }
    Ok(papers)
}

/// What a presentation says: its holder, and of each credential its id and the digest of its signed form.
fn presented(
    node: NamedOrBlankNode,
    holder: Option<&NamedNode>,
    credentials: &[Arc<Credential>],
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<Triple>, PaperError> {
    let mut triples = vec![triple(&node, rdf::TYPE, named(cred::VERIFIABLE_PRESENTATION))];
    if let Some(holder) = holder {
        triples.push(triple(&node, cred::HOLDER, holder.clone()));
    }
    let mut ids = HashSet::from([node.clone()]);
    for credential in credentials {
        if !ids.insert(credential.node.clone()) {
            return Err(PaperError::malformed("two papers of a presentation have one id"));
        }
        let octets = canon::graph(&signed_form(credential, limits)?, budget)?;
        let multihash = [&[0x12, 0x20], Digest::of(octets).as_bytes().as_slice()].concat();
        triples.push(triple(&node, cred::HAS_CREDENTIAL, Term::from(credential.node.clone())));
        triples.push(triple(&credential.node, sec::DIGEST_MULTIBASE, plain(&encode_base58btc(&multihash))));
    }
    Ok(triples)
}

/// A credential's quads with its proofs': their options, without challenge and domain, and their values.
fn signed_form(credential: &Credential, limits: &Limits) -> Result<Graph, PaperError> {
    let mut triples: Vec<Triple> = credential.graph.iter().map(oxrdf::TripleRef::into_owned).collect();
    for (place, proof) in credential.securing.proofs().iter().enumerate() {
        let node = NamedOrBlankNode::from(BlankNode::new_unchecked(format!("proof{place}")));
        triples.push(triple(&credential.node, sec::PROOF, Term::from(node.clone())));
        let options = proof
            .options
            .iter()
            .filter(|option| ![sec::CHALLENGE, sec::DOMAIN].contains(&option.predicate.as_str()));
        triples.extend(options.map(|option| Triple::new(node.clone(), option.predicate, option.object)));
        if let Some(value) = &proof.value {
            triples.push(triple(&node, sec::PROOF_VALUE, plain(value)));
        }
    }
    Ok(graph_of(triples, limits)?)
}

/// The members of a proof that the profile signs, and its value.
const PROOF_MEMBERS: [&str; 8] = [
    "type",
    "cryptosuite",
    "verificationMethod",
    "proofPurpose",
    "created",
    "challenge",
    "domain",
    "proofValue",
];

/// Reads a proof from its lowered options. Its `type` is unsigned: any other than `DataIntegrityProof` is of a kind that
/// is not accepted.
fn read_proof(
    proof: &Map<String, Value>,
    document: &mut DocumentHash<'_>,
    proof_of: ProofOf,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Proof, PaperError> {
    let value = proof.get("proofValue").and_then(Value::as_str).map(str::to_owned);
    let is_of_its_kind = proof.get("type").and_then(Value::as_str) == Some("DataIntegrityProof");
    let options = match proof_options(proof).and_then(|triples| Ok(graph_of(triples, limits)?)) {
        Ok(options) => options,
        Err(_) if !is_of_its_kind => return Ok(Proof::of_another_kind(Graph::new(), value)),
        Err(error) => return Err(error),
    };
    if !is_of_its_kind {
        return Ok(Proof::of_another_kind(options, value));
    }
    let quads: Vec<Quad> =
        options.iter().map(|option| option.in_graph(GraphNameRef::DefaultGraph).into_owned()).collect();
    let mut proof_read = Proof::of_options(&quads, value, document, proof_of, budget)?;
    let says_more = proof.keys().any(|member| !PROOF_MEMBERS.contains(&member.as_str()));
    if let (true, Some(statement)) = (says_more, &mut proof_read.statement) {
        statement.signature = Err("the proof says more than this profile signs");
    }
    Ok(proof_read)
}

/// The quads of a proof's options.
pub(super) fn proof_options(proof: &Map<String, Value>) -> Result<Vec<Triple>, PaperError> {
    let node = NamedOrBlankNode::from(BlankNode::new_unchecked("options"));
    let mut triples = vec![triple(&node, rdf::TYPE, named(sec::DATA_INTEGRITY_PROOF))];
    for (member, predicate) in
        [("cryptosuite", sec::CRYPTOSUITE), ("challenge", sec::CHALLENGE), ("domain", sec::DOMAIN)]
    {
        if let Some(value) = proof.get(member) {
            triples.push(triple(&node, predicate, plain(text(value, "an option of a proof is a string")?)));
        }
    }
    if let Some(method) = proof.get("verificationMethod") {
        let method = iri_of(method, "a verification method is an IRI")?;
        triples.push(triple(&node, sec::VERIFICATION_METHOD, method));
    }
    if let Some(purpose) = proof.get("proofPurpose") {
        let purpose = text(purpose, "a proof's purpose is a string")?;
        // What is no token is no purpose either, and any other purpose than the one asked for refuses.
        let purpose = valid_iri(&format!("{}{purpose}", sec::NS)).unwrap_or_else(|| named(sec::NS));
        triples.push(triple(&node, sec::PROOF_PURPOSE, purpose));
    }
    if let Some(created) = proof.get("created") {
        triples.push(triple(&node, dcterms::CREATED, date_time(created)?));
    }
    Ok(triples)
}

/// A status entry's node, and what its JSON says unsigned.
struct LoweredEntry {
    node: NamedOrBlankNode,
    /// A type other than the one that is signed for it.
    alien_type: Option<String>,
    size: Option<String>,
}

impl LoweredEntry {
    fn read(self, graph: &Graph) -> Result<StatusEntry, PaperError> {
        let mut entry = StatusEntry::read(&NodeView::new(graph, self.node.as_ref()))?;
        entry.types.extend(self.alien_type);
        entry.size.extend(self.size);
        Ok(entry)
    }
}

/// The quads of one document, in the making.
#[derive(Default)]
struct Lowering {
    triples: Vec<Triple>,
    blank_nodes: usize,
    /// Ids of the credential, its subjects and status entries.
    ids: HashSet<NamedNode>,
}

impl Lowering {
    fn credential(&mut self, members: &Map<String, Value>) -> Result<Vec<LoweredEntry>, PaperError> {
        const MEMBERS: [&str; 9] = [
            "proof",
            "id",
            "type",
            "issuer",
            "validFrom",
            "validUntil",
            "credentialSubject",
            "credentialStatus",
            "relatedResource",
        ];
        only(members, &MEMBERS, "the credential has a member that this profile does not sign")?;
        let id = members.get("id").ok_or_else(|| PaperError::malformed("the credential has no id"))?;
        let node = self.named(id)?;
        self.push(&node, rdf::TYPE, named(cred::VERIFIABLE_CREDENTIAL));
        for class in members.get("type").map(one_or_many).unwrap_or_default() {
            let class = text(class, "a type is a string")?;
            if class != "VerifiableCredential" {
                self.push(&node, rdf::TYPE, term_of(class)?);
            }
        }
        if let Some(issuer) = members.get("issuer") {
            self.push(&node, cred::ISSUER, iri_of(issuer, "an issuer is an IRI")?);
        }
        for (member, predicate) in [("validFrom", cred::VALID_FROM), ("validUntil", cred::VALID_UNTIL)] {
            if let Some(date) = members.get(member) {
                self.push(&node, predicate, date_time(date)?);
            }
        }
        for subject in members.get("credentialSubject").map(one_or_many).unwrap_or_default() {
            self.subject(&node, object(subject, "a subject is an object")?)?;
        }
        for resource in members.get("relatedResource").map(one_or_many).unwrap_or_default() {
            self.related(&node, object(resource, "a related resource is an object")?)?;
        }
        members
            .get("credentialStatus")
            .map(one_or_many)
            .unwrap_or_default()
            .iter()
            .map(|entry| self.status(&node, object(entry, "a status entry is an object")?))
            .collect()
    }

    fn subject(
        &mut self,
        credential: &NamedOrBlankNode,
        subject: &Map<String, Value>,
    ) -> Result<(), PaperError> {
        let node = self.named_or_blank(subject.get("id"))?;
        self.push(credential, cred::SUBJECT, Term::from(node.clone()));
        let mut open = vec![(node, subject, Some("id"))];
        while let Some((node, object, apart)) = open.pop() {
            let mut predicates = HashSet::new();
            for (member, value) in object.iter().filter(|(member, _)| Some(member.as_str()) != apart) {
                let predicate = term_of(member)?;
                if !predicates.insert(predicate.clone()) {
                    return Err(PaperError::malformed("two members are one predicate"));
                }
                self.values(&node, &predicate, value, &mut open)?;
            }
        }
        Ok(())
    }

    /// The quads of a member's values; objects among them are left in `open`.
    fn values<'v>(
        &mut self,
        node: &NamedOrBlankNode,
        predicate: &NamedNode,
        value: &'v Value,
        open: &mut Vec<(NamedOrBlankNode, &'v Map<String, Value>, Option<&'static str>)>,
    ) -> Result<(), PaperError> {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            let object: Term = match value {
                Value::Null => continue,
                Value::Array(items) => {
                    waiting.extend(items);
                    continue;
                }
                Value::Object(members) => {
                    let nested = self.blank();
                    open.push((nested.clone(), members, None));
                    nested.into()
                }
                Value::String(text) if is_iri_like(text) => {
                    iri_of(value, "an IRI-like value is an IRI")?.into()
                }
                Value::String(text) => plain(text).into(),
                Value::Bool(truth) => Literal::from(*truth).into(),
                Value::Number(number) => number_literal(number)?.into(),
            };
            self.triples.push(Triple::new(node.clone(), predicate.clone(), object));
        }
        Ok(())
    }

    fn related(
        &mut self,
        credential: &NamedOrBlankNode,
        resource: &Map<String, Value>,
    ) -> Result<(), PaperError> {
        const MEMBERS: [(&str, &str); 3] = [
            ("digestSRI", cred::DIGEST_SRI),
            ("digestMultibase", sec::DIGEST_MULTIBASE),
            ("mediaType", schema::ENCODING_FORMAT),
        ];
        const UNSIGNED: &str = "a related resource has a member that this profile does not sign";
        only(resource, &["id", "digestSRI", "digestMultibase", "mediaType"], UNSIGNED)?;
        let id = resource.get("id").ok_or_else(|| PaperError::malformed("a related resource has no id"))?;
        let node = iri_of(id, "a related resource's id is an IRI")?;
        self.push(credential, cred::RELATED_RESOURCE, node.clone());
        let node = NamedOrBlankNode::from(node);
        for (member, predicate) in MEMBERS {
            for value in resource.get(member).map(one_or_many).unwrap_or_default() {
                self.push(&node, predicate, plain(text(value, "what is said of a resource is a string")?));
            }
        }
        Ok(())
    }

    fn status(
        &mut self,
        credential: &NamedOrBlankNode,
        entry: &Map<String, Value>,
    ) -> Result<LoweredEntry, PaperError> {
        const MEMBERS: [&str; 6] =
            ["id", "type", "statusPurpose", "statusListIndex", "statusListCredential", "statusSize"];
        only(entry, &MEMBERS, "a status entry has a member that this profile does not sign")?;
        let node = self.named_or_blank(entry.get("id"))?;
        self.push(credential, cred::STATUS, Term::from(node.clone()));
        self.push(&node, rdf::TYPE, named(cred::STATUS_LIST_ENTRY));
        if let Some(purpose) = entry.get("statusPurpose") {
            self.push(&node, cred::STATUS_PURPOSE, plain(text(purpose, "a status purpose is a string")?));
        }
        match entry.get("statusListIndex") {
            None => {}
            Some(Value::Number(index)) => {
                let index = number_literal(index)?;
                self.push(&node, cred::STATUS_LIST_INDEX, plain(index.value()));
            }
            Some(index) => {
                let index = text(index, "a status list index is a text")?;
                self.push(&node, cred::STATUS_LIST_INDEX, plain(index));
            }
        }
        if let Some(list) = entry.get("statusListCredential") {
            self.push(&node, cred::STATUS_LIST_CREDENTIAL, iri_of(list, "a status list is an IRI")?);
        }
        let is_entry = |class: &Value| is_just(class, "BitstringStatusListEntry");
        let alien_type = match entry.get("type") {
            Some(class) if is_entry(class) => None,
            class => Some(class.map(Value::to_string).unwrap_or_default()),
        };
        Ok(LoweredEntry { node, alien_type, size: entry.get("statusSize").map(Value::to_string) })
    }

    fn push(&mut self, subject: &NamedOrBlankNode, predicate: &str, object: impl Into<Term>) {
        self.triples.push(triple(subject, predicate, object));
    }

    fn blank(&mut self) -> NamedOrBlankNode {
        self.blank_nodes += 1;
        BlankNode::new_unchecked(format!("b{}", self.blank_nodes)).into()
    }

    fn named_or_blank(&mut self, id: Option<&Value>) -> Result<NamedOrBlankNode, PaperError> {
        match id {
            None => Ok(self.blank()),
            Some(id) => self.named(id),
        }
    }

    /// A node that nothing else of the document may be.
    fn named(&mut self, id: &Value) -> Result<NamedOrBlankNode, PaperError> {
        let node = iri_of(id, "an id is an IRI")?;
        if !self.ids.insert(node.clone()) {
            return Err(PaperError::malformed(
                "credential, subject and status entries have ids of their own",
            ));
        }
        Ok(node.into())
    }
}

/// The class of an embedded policy, which this profile writes as `svc:type`: a name or an IRI. `policy` is its node.
pub(super) fn with_policy_class(content: &Graph, policy: NamedOrBlankNodeRef<'_>) -> Graph {
    const NAMES: [&str; 8] =
        ["Policy", "Set", "Offer", "Agreement", "Assertion", "Privacy", "Request", "Ticket"];
    content
        .iter()
        .map(|triple| {
            let class = match triple.object {
                _ if triple.subject != policy || triple.predicate != iri(svc::TYPE) => None,
                oxrdf::TermRef::NamedNode(class) => Some(class.into_owned()),
                oxrdf::TermRef::Literal(name) if NAMES.contains(&name.value()) && is_plain(name) => {
                    Some(named(&format!("{}{}", crate::vocab::odrl::NS, name.value())))
                }
                _ => None,
            };
            match class {
                Some(class) => Triple::new(triple.subject, iri(rdf::TYPE), class),
                None => triple.into_owned(),
            }
        })
        .collect::<Vec<_>>()
        .iter()
        .map(Triple::as_ref)
        .collect()
}

fn is_plain(literal: oxrdf::LiteralRef<'_>) -> bool {
    literal.datatype() == iri(rdf::XSD_STRING)
}

/// `^[a-zA-Z][a-zA-Z0-9+.-]*:`
fn is_iri_like(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|other| other.is_ascii_alphanumeric() || matches!(other, '+' | '.' | '-'))
    })
}

/// A type or predicate: an IRI, or a name of the vocabulary of Agent Authorization Credentials.
fn term_of(name: &str) -> Result<NamedNode, PaperError> {
    let term = if is_iri_like(name) { valid_iri(name) } else { valid_iri(&format!("{}{name}", svc::NS)) };
    term.ok_or_else(|| PaperError::malformed("a name is no IRI and makes none"))
}

fn iri_of(value: &Value, problem: &str) -> Result<NamedNode, PaperError> {
    value.as_str().and_then(valid_iri).ok_or_else(|| PaperError::malformed(problem))
}

/// An absolute IRI. None has a character that N-Quads would have to escape, and that could write further quads.
fn valid_iri(text: &str) -> Option<NamedNode> {
    NamedNode::new(text).ok()
}

/// `xsd:integer` if whole, else `xsd:double`, as ECMAScript prints it.
fn number_literal(number: &Number) -> Result<Literal, PaperError> {
    let problem = || PaperError::malformed("a number that a double does not hold");
    let double = number.as_f64().filter(|double| double.is_finite()).ok_or_else(problem)?;
    let octets = jcs(&double).map_err(|_| problem())?;
    let text = String::from_utf8(octets).map_err(|_| problem())?;
    let datatype = if double.fract() == 0.0 { rdf::XSD_INTEGER } else { rdf::XSD_DOUBLE };
    Ok(Literal::new_typed_literal(text, iri(datatype)))
}

fn date_time(value: &Value) -> Result<Literal, PaperError> {
    Ok(Literal::new_typed_literal(text(value, "a date is a string")?, iri(rdf::XSD_DATE_TIME)))
}

fn plain(text: &str) -> Literal {
    Literal::new_simple_literal(text)
}

/// An IRI of our own making.
fn named(text: &str) -> NamedNode {
    NamedNode::new_unchecked(text)
}

fn triple(subject: &NamedOrBlankNode, predicate: &str, object: impl Into<Term>) -> Triple {
    Triple::new(subject.clone(), named(predicate), object)
}

fn object<'v>(value: &'v Value, problem: &str) -> Result<&'v Map<String, Value>, PaperError> {
    value.as_object().ok_or_else(|| PaperError::malformed(problem))
}

fn text<'v>(value: &'v Value, problem: &str) -> Result<&'v str, PaperError> {
    value.as_str().ok_or_else(|| PaperError::malformed(problem))
}

fn one_or_many(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// Whether a `type` is exactly this one name.
fn is_just(value: &Value, name: &str) -> bool {
    matches!(one_or_many(value), [Value::String(one)] if one == name)
}

fn only(object: &Map<String, Value>, members: &[&str], problem: &str) -> Result<(), PaperError> {
    if object.keys().all(|member| members.contains(&member.as_str())) {
        return Ok(());
    }
    Err(PaperError::malformed(problem))
}
