//! Stage 5: the conforming intent to the actions under test.
//!
//! Three kinds of node are read: the intent, its actions and its parameters. A predicate that is read on one kind is
//! refused on the others, where it would go unread. Whatever ends in a report or a refusal is sorted: the iteration
//! order of a graph, and the labels of its blank nodes, differ from run to run.

use super::{IntentGraph, target};
use crate::config::Config;
use crate::decision::PermittedAction;
use crate::protocol::{ProtocolDocument, ProtocolSettings};
use crate::refusal::{Reason, Refusal, Stage, cut};
use crate::request::{Actor, CallerFacts};
use crate::shape::ConformingIntent;
use crate::vocab::{a2a, acl, odrl, rdf, schema, sh};
use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNodeRef, Term, TermRef};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Everything that the intent asks for, under one root principal.
#[derive(Debug)]
pub(crate) struct ActionsUnderTest {
    /// In order of class, action, target and stated attributes.
    pub(crate) actions: Vec<ActionUnderTest>,
    /// The owner of every target.
    pub(crate) root_principal: String,
    /// Values of `odrl:hasPolicy` on the intent and its actions.
    pub(crate) policy_references: Vec<String>,
    /// The agent that the intent names, where it names one; checked against the actor here where that is known, and
    /// against the holder once that is verified.
    pub(crate) agent: Option<String>,
    /// Subjects of triples that are about neither the intent nor its actions and parameters: IRIs, and one `_:` for
    /// all blank nodes, whose labels mean nothing. Cut like evidence, and closed with an ellipsis where there are more.
    pub(crate) unjudged_nodes: Vec<String>,
}

/// One (action, target, attributes) to be permitted.
#[derive(Debug, Clone)]
pub(crate) struct ActionUnderTest {
    /// The class of the action in the intent.
    pub(crate) class: String,
    /// The ODRL or WAC action that it maps to.
    pub(crate) action: String,
    pub(crate) target: String,
    /// Stated attributes, by local name of the left operand; every list is sorted and not empty.
    pub(crate) stated: BTreeMap<String, Vec<Term>>,
}

/// The local name of `odrl:recipient`, stated by `schema:recipient`.
pub(crate) const RECIPIENT: &str = "recipient";
/// The local name of `a2a:mode`.
pub(crate) const MODE: &str = "mode";

/// Octets of all targets and stated values, which reports repeat. Prefixes write them out of a far smaller message.
const JUDGED_OCTETS: usize = 64 << 10;
/// Unjudged nodes that are named; a server that gets more acts on none of them anyway.
const UNJUDGED_NODES: usize = 64;

/// Left operands, by local name, that only the server can answer: the instant, counts, the place in a chain, and facts
/// about the world or the requester. No value of a message feeds them, whatever a configuration maps (threat 5).
pub(crate) const ESTABLISHED: [&str; 20] = [
    "dateTime",
    "count",
    "delegationDepth",
    "actor",
    "role",
    "delayPeriod",
    "elapsedTime",
    "timeInterval",
    "meteredTime",
    "event",
    "payAmount",
    "spatial",
    "spatialCoordinates",
    "absoluteSpatialPosition",
    "relativeSpatialPosition",
    "absoluteTemporalPosition",
    "relativeTemporalPosition",
    "systemDevice",
    "virtualLocation",
    "industry",
];

/// Action classes of the extension's default mapping, each with the ODRL or WAC action that is judged.
pub(crate) fn default_actions() -> BTreeMap<String, String> {
    let mapping = [
        (schema::READ_ACTION, odrl::READ),
        (a2a::LIST_ACTION, odrl::READ),
        (a2a::QUERY_ACTION, odrl::READ),
        (a2a::SUBSCRIBE_ACTION, odrl::READ),
        (schema::CREATE_ACTION, odrl::WRITE),
        (schema::UPDATE_ACTION, odrl::MODIFY),
        (a2a::APPEND_ACTION, acl::APPEND),
        (schema::DELETE_ACTION, odrl::DELETE),
        (a2a::GRANT_ACTION, acl::CONTROL),
    ];
    mapping.into_iter().map(|(class, action)| (class.to_owned(), action.to_owned())).collect()
}

/// Keys of `a2a:parameter` in the default mapping, each with the local name of its left operand.
pub(crate) fn default_parameters() -> BTreeMap<String, String> {
    BTreeMap::from([("purpose".to_owned(), "purpose".to_owned())])
}

impl ActionsUnderTest {
    /// Maps the intent's actions, checks targets and their roots, and refuses whatever the intent says beyond them.
    ///
    /// # Errors
    /// `INTENT_UNMAPPED`, `ACTION_UNKNOWN`, `TARGET_MISSING`, `TARGET_NOT_NORMAL`, `AGENT_MISMATCH`,
    /// `NO_ROOT_FOR_TARGET`, `MIXED_ROOTS`, `LIMIT_EXCEEDED`.
    pub(crate) fn extract(
        intent: &ConformingIntent,
        protocol: &ProtocolDocument,
        facts: &CallerFacts,
        config: &Config,
    ) -> Result<Self, Refusal> {
        let rules =
            Rules { settings: &protocol.settings, request_paths: &protocol.request_paths, facts, config };
        rules.extract(intent.intent())
    }

    /// What a server may do once a permit is accepted.
    pub(crate) fn permitted(&self) -> Vec<PermittedAction> {
        self.actions
            .iter()
            .map(|action| PermittedAction {
                class: action.class.clone(),
                action: action.action.clone(),
                target: action.target.clone(),
                stated: action
                    .stated
                    .iter()
                    .map(|(operand, values)| (operand.clone(), values.iter().map(Term::to_string).collect()))
                    .collect(),
            })
            .collect()
    }

    /// Checks the agent that the intent names, if it names one, against the verified holder.
    ///
    /// # Errors
    /// `AGENT_MISMATCH`
    pub(crate) fn agrees_with(&self, holder: &str) -> Result<(), Refusal> {
        match &self.agent {
            Some(agent) if agent != holder => Err(agent_mismatch(agent, Some(holder))),
            _ => Ok(()),
        }
    }
}

/// What an intent is read by.
struct Rules<'a> {
    settings: &'a ProtocolSettings,
    request_paths: &'a BTreeSet<String>,
    facts: &'a CallerFacts,
    config: &'a Config,
}

impl Rules<'_> {
    /// One pass for each reason, in order of precedence.
    fn extract(&self, intent: &IntentGraph) -> Result<ActionsUnderTest, Refusal> {
        let saying = Saying::of(intent);
        self.check_predicates(&saying)?;
        self.check_types(&saying)?;
        let parameters = self.parameters(&saying)?;
        let policy_references = policy_references(&saying)?;
        self.check_stated(&saying)?;
        let classes = self.classes(&saying)?;
        let targets = targets(&saying, &classes)?;
        self.check_limits(&saying, &parameters, &targets)?;
        check_normal(&targets)?;
        let agent = self.agent(&saying)?;
        let root_principal = self.root_principal(&targets)?;
        let mut actions = Vec::new();
        for ((node, (class, action)), targets) in saying.actions.iter().zip(&classes).zip(&targets) {
            let stated = stated(&saying, *node, &parameters);
            actions.extend(targets.iter().map(|target| ActionUnderTest {
                class: class.clone(),
                action: action.clone(),
                target: (*target).to_owned(),
                stated: stated.clone(),
            }));
        }
        actions.sort_by_cached_key(ActionUnderTest::sort_key);
        let unjudged_nodes = saying.unjudged_nodes(self.config.limits.evidence_chars);
        Ok(ActionsUnderTest { actions, root_principal, policy_references, agent, unjudged_nodes })
    }

    /// Closed intents: a predicate that nothing maps refuses. One that bears on what other triples mean refuses
    /// anywhere, and so does one that is read on another kind of node.
    fn check_predicates(&self, saying: &Saying<'_>) -> Result<(), Refusal> {
        let namespaces = [rdf::RDFS_NS, rdf::OWL_NS, sh::NS];
        let reserved = saying.graph.iter().map(|triple| triple.predicate.as_str());
        let reserved = reserved.filter(|predicate| namespaces.iter().any(|ns| predicate.starts_with(ns)));
        refuse_first(
            Reason::IntentUnmapped,
            reserved.map(|predicate| (predicate, "a predicate of RDFS, OWL or SHACL")),
        )?;
        let roles = [
            (std::slice::from_ref(&saying.intent), ON_INTENT),
            (&saying.actions, ON_ACTION),
            (&saying.parameters, ON_PARAMETER),
        ];
        let said = roles.into_iter().flat_map(|(nodes, own)| {
            let triples = nodes.iter().flat_map(|node| saying.graph.triples_for_subject(*node));
            triples.map(move |triple| (triple.predicate.as_str(), own))
        });
        let unmapped = said.filter(|(predicate, own)| !self.may_say(predicate, own));
        refuse_first(
            Reason::IntentUnmapped,
            unmapped.map(|(predicate, _)| (predicate, "a predicate that nothing maps")),
        )
    }

    fn may_say(&self, predicate: &str, own: &[&str]) -> bool {
        let read_elsewhere =
            || [ON_INTENT, ON_ACTION, ON_PARAMETER].iter().any(|all| all.contains(&predicate));
        own.contains(&predicate)
            || !read_elsewhere() && (!self.config.closed_intents || self.request_paths.contains(predicate))
    }

    /// An intent or a parameter that is also an action, of this protocol or of the extension, would be one that is not
    /// judged.
    fn check_types(&self, saying: &Saying<'_>) -> Result<(), Refusal> {
        let known = default_actions();
        let nodes = std::iter::once(&saying.intent).chain(&saying.parameters);
        let types = nodes.flat_map(|node| saying.objects(*node, rdf::TYPE));
        let offences = types.filter_map(|class| match iri(class) {
            None => Some(("", "a type that is not an IRI")),
            Some(class) if self.settings.actions.contains_key(class) || known.contains_key(class) => {
                Some((class, "a node that is no action of the intent is typed as one"))
            }
            Some(_) => None,
        });
        refuse_first(Reason::IntentUnmapped, offences)
    }

    /// The stated attributes of the intent's parameters (default: `purpose` alone).
    fn parameters(&self, saying: &Saying<'_>) -> Result<Stated, Refusal> {
        let mut parameters = Stated::new();
        let literal = saying.objects(saying.intent, a2a::PARAMETER).filter(|term| node(*term).is_none());
        let mut offences: Vec<_> =
            literal.map(|term| (term.to_string(), "a parameter that is not a node")).collect();
        for node in &saying.parameters {
            let mut keys = saying.objects(*node, a2a::PARAM_KEY);
            let key = match (keys.next(), keys.next()) {
                (Some(TermRef::Literal(key)), None) if key.datatype().as_str() == rdf::XSD_STRING => {
                    key.value()
                }
                _ => {
                    offences.push((String::new(), "a parameter without exactly one plain key"));
                    continue;
                }
            };
            let Some(operand) = self.settings.parameters.get(key).filter(|operand| self.is_stated(operand))
            else {
                offences.push((key.to_owned(), "a parameter that no stated attribute is mapped from"));
                continue;
            };
            let values: Vec<_> = saying.objects(*node, a2a::PARAM_VALUE).collect();
            if values.is_empty() || !values.iter().all(|value| is_comparable(*value)) {
                offences.push((key.to_owned(), "a parameter without values that can be compared"));
            }
            parameters
                .entry(operand.clone())
                .or_default()
                .extend(values.into_iter().map(TermRef::into_owned));
        }
        let offences = offences.iter().map(|(seen, detail)| (seen.as_str(), *detail));
        refuse_first(Reason::IntentUnmapped, offences).map(|()| parameters)
    }

    /// Whether a parameter may state this operand. Recipient and mode have predicates of their own.
    fn is_stated(&self, operand: &str) -> bool {
        operand != RECIPIENT
            && operand != MODE
            && !ESTABLISHED.contains(&operand)
            && !self.facts.vouched.contains_key(operand)
    }

    /// Recipients are IRIs with one spelling, modes are the four of WAC, and neither is also vouched for by the server.
    fn check_stated(&self, saying: &Saying<'_>) -> Result<(), Refusal> {
        let is_recipient = |term: TermRef<'_>| iri(term).is_some_and(target::is_normal);
        let is_mode = |term: TermRef<'_>| iri(term).is_some_and(|mode| MODES.contains(&mode));
        let values = |predicate: &'static str| {
            saying.actions.iter().flat_map(move |node| saying.objects(*node, predicate))
        };
        let vouched = |name: &str| self.facts.vouched.contains_key(name);
        let recipients = values(schema::RECIPIENT)
            .filter(|term| vouched(RECIPIENT) || !is_recipient(*term))
            .map(|term| (iri(term).unwrap_or_default(), "a recipient that may not be stated like this"));
        let modes = values(a2a::MODE)
            .filter(|term| vouched(MODE) || !is_mode(*term))
            .map(|term| (iri(term).unwrap_or_default(), "a mode that may not be stated like this"));
        refuse_first(Reason::IntentUnmapped, recipients.chain(modes))
    }

    /// The one class of each action and what it maps to, in the order of `saying.actions`.
    fn classes(&self, saying: &Saying<'_>) -> Result<Vec<(String, String)>, Refusal> {
        let literal = saying.objects(saying.intent, a2a::ACTION).any(|term| node(term).is_none());
        if saying.actions.is_empty() || literal {
            return Err(refusal(
                Reason::ActionUnknown,
                "an intent without actions, or an action that is not a node",
            ));
        }
        let mut classes = Vec::new();
        let mut unknown = Vec::new();
        for node in &saying.actions {
            let mut types: Vec<_> = saying.objects(*node, rdf::TYPE).collect();
            let mapped = match types.as_slice() {
                [TermRef::NamedNode(class)] => self.mapped(class.as_str()),
                _ => None,
            };
            types.sort_by_cached_key(ToString::to_string);
            let shown = types.iter().filter_map(|term| iri(*term)).collect::<Vec<_>>().join(" ");
            match mapped {
                Some(action) => classes.push((shown, action.to_owned())),
                None => unknown.push(shown),
            }
        }
        let unknown =
            unknown.iter().map(|class| (class.as_str(), "an action is of exactly one mapped class"));
        refuse_first(Reason::ActionUnknown, unknown).map(|()| classes)
    }

    /// What a class maps to; never an action that stands for all others.
    fn mapped(&self, class: &str) -> Option<&str> {
        let action = self.settings.actions.get(class)?;
        (action != odrl::USE && action != odrl::TRANSFER).then_some(action)
    }

    /// Bounds what the policies are judged against: every constraint of every policy meets every value.
    fn check_limits(
        &self,
        saying: &Saying<'_>,
        parameters: &Stated,
        targets: &[BTreeSet<&str>],
    ) -> Result<(), Refusal> {
        let most = self.config.limits.actions;
        if targets.iter().map(BTreeSet::len).sum::<usize>() > most {
            return Err(refusal(Reason::LimitExceeded, "more actions and targets than are judged"));
        }
        let shared: usize = parameters.values().map(Vec::len).sum();
        let own = |node: &NamedOrBlankNodeRef<'_>| {
            [schema::RECIPIENT, a2a::MODE]
                .map(|predicate| saying.objects(*node, predicate).count())
                .iter()
                .sum::<usize>()
        };
        if saying.actions.iter().any(|node| shared + own(node) > most) {
            return Err(refusal(Reason::LimitExceeded, "more stated values than are judged"));
        }
        let stated = |predicate: &'static str| {
            saying.actions.iter().flat_map(move |node| saying.objects(*node, predicate)).map(octets)
        };
        let parameters = parameters.values().flatten().map(|term| octets(term.as_ref()));
        let targets = targets.iter().flatten().map(|target| target.len());
        let all = targets.chain(parameters).chain(stated(schema::RECIPIENT)).chain(stated(a2a::MODE));
        if all.sum::<usize>() > JUDGED_OCTETS {
            return Err(refusal(Reason::LimitExceeded, "more octets of targets and values than are judged"));
        }
        Ok(())
    }

    /// The agent that the intent or an action names: one, and the actor where that is authenticated.
    fn agent(&self, saying: &Saying<'_>) -> Result<Option<String>, Refusal> {
        let actor = match &self.facts.actor {
            Actor::Authenticated(actor) => Some(actor.as_str()),
            Actor::Unauthenticated => None,
        };
        let mut agents = BTreeSet::new();
        for node in std::iter::once(&saying.intent).chain(&saying.actions) {
            for agent in saying.objects(*node, schema::AGENT) {
                let agent = iri(agent).ok_or_else(|| agent_mismatch("", actor))?;
                agents.insert(agent);
            }
        }
        if let Some(other) = agents.iter().find(|agent| actor.is_some_and(|actor| **agent != actor)) {
            return Err(agent_mismatch(other, actor));
        }
        match (agents.first(), agents.last()) {
            (Some(first), Some(last)) if first != last => Err(agent_mismatch(last, Some(first))),
            (agent, _) => Ok(agent.map(|agent| (*agent).to_owned())),
        }
    }

    /// The one owner of all targets.
    fn root_principal(&self, targets: &[BTreeSet<&str>]) -> Result<String, Refusal> {
        let owner = |target: &&str| self.config.roots.owner(target);
        let all = || targets.iter().flatten();
        let orphans = all().filter(|target| owner(target).is_none());
        refuse_first(
            Reason::NoRootForTarget,
            orphans.map(|target| (*target, "no configured root covers it")),
        )?;
        let owners: BTreeSet<_> = all().filter_map(owner).collect();
        match (owners.first(), owners.last()) {
            (Some(first), Some(last)) if first == last => Ok((*first).to_owned()),
            _ => Err(refusal(Reason::MixedRoots, "targets of more than one owner")
                .with(|evidence| evidence.seen = Some(owners.into_iter().collect::<Vec<_>>().join(" ")))),
        }
    }
}

const ON_INTENT: &[&str] = &[rdf::TYPE, a2a::ACTION, a2a::PARAMETER, schema::AGENT, odrl::HAS_POLICY];
const ON_ACTION: &[&str] = &[
    rdf::TYPE,
    schema::OBJECT,
    schema::TARGET,
    schema::RECIPIENT,
    a2a::MODE,
    schema::AGENT,
    odrl::HAS_POLICY,
];
const ON_PARAMETER: &[&str] = &[rdf::TYPE, a2a::PARAM_KEY, a2a::PARAM_VALUE];

/// The `acl:` modes that a grant may pass on.
const MODES: [&str; 4] = [acl::READ, acl::WRITE, acl::APPEND, acl::CONTROL];

type Stated = BTreeMap<String, Vec<Term>>;

/// The intent's graph by its kinds of node.
struct Saying<'graph> {
    graph: &'graph Graph,
    intent: NamedOrBlankNodeRef<'graph>,
    actions: Vec<NamedOrBlankNodeRef<'graph>>,
    parameters: Vec<NamedOrBlankNodeRef<'graph>>,
}

impl<'graph> Saying<'graph> {
    fn of(intent: &'graph IntentGraph) -> Self {
        let graph = &intent.graph;
        let mut saying =
            Self { graph, intent: intent.node.as_ref(), actions: Vec::new(), parameters: Vec::new() };
        saying.actions = saying.objects(saying.intent, a2a::ACTION).filter_map(node).collect();
        saying.parameters = saying.objects(saying.intent, a2a::PARAMETER).filter_map(node).collect();
        saying
    }

    fn objects(
        &self,
        subject: NamedOrBlankNodeRef<'graph>,
        predicate: &'graph str,
    ) -> impl Iterator<Item = TermRef<'graph>> + use<'graph> {
        self.graph.objects_for_subject_predicate(subject, NamedNodeRef::new_unchecked(predicate))
    }

    fn unjudged_nodes(&self, chars: usize) -> Vec<String> {
        let mut judged: HashSet<_> = self.actions.iter().chain(&self.parameters).collect();
        judged.insert(&self.intent);
        let subjects =
            self.graph.iter().map(|triple| triple.subject).filter(|subject| !judged.contains(subject));
        let names = subjects.map(|subject| match subject {
            NamedOrBlankNodeRef::NamedNode(name) => name.as_str(),
            NamedOrBlankNodeRef::BlankNode(_) => "_:",
        });
        let names: BTreeSet<_> = names.collect();
        let more = (names.len() > UNJUDGED_NODES).then_some("…");
        let mut shown: Vec<_> =
            names.into_iter().take(UNJUDGED_NODES).chain(more).map(str::to_owned).collect();
        shown.iter_mut().for_each(|name| cut(name, chars));
        shown
    }
}

/// Values of `odrl:hasPolicy`, wherever it is read.
fn policy_references(saying: &Saying<'_>) -> Result<Vec<String>, Refusal> {
    let nodes = std::iter::once(&saying.intent).chain(&saying.actions);
    let values: Vec<_> = nodes.flat_map(|node| saying.objects(*node, odrl::HAS_POLICY)).collect();
    if values.iter().any(|value| iri(*value).is_none()) {
        return Err(refusal(Reason::IntentUnmapped, "a policy reference that is not an IRI"));
    }
    let references: BTreeSet<_> = values.into_iter().filter_map(iri).collect();
    Ok(references.into_iter().map(str::to_owned).collect())
}

/// The stated attributes of one action: those of the parameters, its recipients and its modes.
fn stated<'graph>(
    saying: &Saying<'graph>,
    action: NamedOrBlankNodeRef<'graph>,
    parameters: &Stated,
) -> Stated {
    let mut stated = parameters.clone();
    for (name, predicate) in [(RECIPIENT, schema::RECIPIENT), (MODE, a2a::MODE)] {
        let terms: Vec<_> = saying.objects(action, predicate).map(TermRef::into_owned).collect();
        if !terms.is_empty() {
            stated.insert(name.to_owned(), terms);
        }
    }
    for terms in stated.values_mut() {
        terms.sort_by_cached_key(ToString::to_string);
        terms.dedup();
    }
    stated
}

/// The targets of each action, in the order of `saying.actions`. Every value of both predicates is one.
fn targets<'graph>(
    saying: &Saying<'graph>,
    classes: &[(String, String)],
) -> Result<Vec<BTreeSet<&'graph str>>, Refusal> {
    let mut all = Vec::new();
    for (node, (class, _)) in saying.actions.iter().zip(classes) {
        let objects: Vec<_> = saying.objects(*node, schema::OBJECT).collect();
        let targets: Vec<_> = saying.objects(*node, schema::TARGET).collect();
        let named = if class == a2a::LIST_ACTION { objects.len() + targets.len() } else { objects.len() };
        let iris: Option<BTreeSet<_>> = objects.into_iter().chain(targets).map(iri).collect();
        match iris.filter(|_| named > 0) {
            Some(iris) => all.push(Ok(iris)),
            None => all.push(Err(class.as_str())),
        }
    }
    let missing = all.iter().filter_map(|targets| targets.as_ref().err());
    refuse_first(
        Reason::TargetMissing,
        missing.map(|class| (*class, "no target, or one that is not an IRI")),
    )?;
    Ok(all.into_iter().flatten().collect())
}

fn check_normal(targets: &[BTreeSet<&str>]) -> Result<(), Refusal> {
    let aliases = targets.iter().flatten().filter(|target| !target::is_normal(target));
    refuse_first(
        Reason::TargetNotNormal,
        aliases.map(|target| (*target, "not the normal form of RFC 3986 6.2.2")),
    )
}

impl ActionUnderTest {
    fn sort_key(&self) -> (String, String, String, String) {
        let mut stated = String::new();
        for (name, terms) in &self.stated {
            stated.push_str(name);
            terms.iter().for_each(|term| stated.push_str(&format!(" {term}")));
            stated.push('\n');
        }
        (self.class.clone(), self.action.clone(), self.target.clone(), stated)
    }
}

fn octets(term: TermRef<'_>) -> usize {
    match term {
        TermRef::NamedNode(name) => name.as_str().len(),
        TermRef::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        _ => 0,
    }
}

fn iri(term: TermRef<'_>) -> Option<&str> {
    match term {
        TermRef::NamedNode(name) => Some(name.as_str()),
        _ => None,
    }
}

fn node(term: TermRef<'_>) -> Option<NamedOrBlankNodeRef<'_>> {
    match term {
        TermRef::NamedNode(name) => Some(name.into()),
        TermRef::BlankNode(label) => Some(label.into()),
        _ => None,
    }
}

/// Whether a stated value can be compared with a policy's: a literal, or an IRI that has no second spelling. A blank
/// node differs from everything, and would satisfy every `neq`.
fn is_comparable(value: TermRef<'_>) -> bool {
    matches!(value, TermRef::Literal(_)) || iri(value).is_some_and(target::is_normal)
}

/// Refuses with the first offender in text order, so that one intent gets one answer.
fn refuse_first<'a>(
    reason: Reason,
    offenders: impl Iterator<Item = (&'a str, &'static str)>,
) -> Result<(), Refusal> {
    match offenders.min() {
        None => Ok(()),
        Some((seen, detail)) => Err(refusal(reason, detail).with(|evidence| {
            evidence.seen = Some(seen.to_owned()).filter(|seen| !seen.is_empty());
        })),
    }
}

fn refusal(reason: Reason, detail: &str) -> Refusal {
    Refusal::new(Stage::Action, reason).detail(detail)
}

fn agent_mismatch(seen: &str, expected: Option<&str>) -> Refusal {
    refusal(Reason::AgentMismatch, "the agent that the intent names is not the one that acts").with(
        |evidence| {
            evidence.seen = Some(seen.to_owned()).filter(|seen| !seen.is_empty());
            evidence.expected = expected.map(str::to_owned);
        },
    )
}

#[cfg(test)]
mod tests;
