//! Reading a policy from its graph, strictly: what this reader does not know makes a rule undetermined or the policy
//! unusable, and nothing is dropped (`mandate.md` 3 and 7).
//!
//! Every walk is counted against [`Limits::constraints`] and nested at most [`Limits::constraint_depth`] deep, so
//! cyclic lists and logical constraints end.

use super::facts::Facts;
use super::model::{Conflict, Duty, Named, Policy, Rule};
use crate::limits::Limits;
use crate::vocab::{dcterms, odrl, odrld, rdf, schema};
use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNodeRef, TermRef};
use std::collections::HashSet;

mod constraint;

/// Why a document is no policy of a chain. (One that phase D cannot use is read, and says so itself.)
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PolicyError {
    /// `CHAIN_MALFORMED`: not exactly one policy node, or its id or one of its single properties is not single.
    #[error("{0}")]
    Malformed(&'static str),
    /// `LIMIT_EXCEEDED`: the limit's name.
    #[error("it exceeds the limit {0}")]
    TooLarge(&'static str),
}

const CLASSES: [&str; 8] = [
    odrl::POLICY,
    odrl::SET,
    odrl::OFFER,
    odrl::AGREEMENT,
    odrl::ASSERTION,
    odrl::PRIVACY,
    odrl::REQUEST,
    odrl::TICKET,
];

/// Properties that only a policy has. (`odrl:uid` is not one: parties, assets and rules have it too.)
const MARKS: [&str; 7] = [
    odrl::PERMISSION,
    odrl::PROHIBITION,
    odrl::OBLIGATION,
    odrl::PROFILE,
    odrl::CONFLICT,
    odrl::INHERIT_FROM,
    odrld::DELEGATED_UNDER,
];

const POLICY_PROPERTIES: [&str; 11] = [
    odrl::UID,
    odrl::PERMISSION,
    odrl::PROHIBITION,
    odrl::OBLIGATION,
    odrl::PROFILE,
    odrl::CONFLICT,
    odrl::ASSIGNER,
    odrl::ASSIGNEE,
    odrl::TARGET,
    odrl::ACTION,
    odrld::DELEGATED_UNDER,
];

const RULE_PROPERTIES: [&str; 7] =
    [odrl::UID, odrl::ASSIGNER, odrl::ASSIGNEE, odrl::TARGET, odrl::ACTION, odrl::CONSTRAINT, odrl::DUTY];

const RDF_VALUE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#value";
const ASSET_COLLECTION: &str = "http://www.w3.org/ns/odrl/2/AssetCollection";
const PARTY_COLLECTION: &str = "http://www.w3.org/ns/odrl/2/PartyCollection";

impl Policy {
    /// Reads the one policy of a document (or of the part of a credential's graph that embeds it).
    ///
    /// # Errors
    /// [`PolicyError`]
    pub(crate) fn read(graph: &Graph, limits: &Limits) -> Result<Self, PolicyError> {
        let node = policy_node(graph)?;
        let mut reader = Reader { graph, limits, size: 0, reached: HashSet::from([node]), unusable: None };
        let policy = reader.policy(node)?;
        Ok(policy)
    }
}

/// The id of a document's one policy, where it has one.
pub(crate) fn policy_id(graph: &Graph) -> Option<String> {
    let limits = Limits::default();
    let node = policy_node(graph).ok()?;
    let reader = Reader { graph, limits: &limits, size: 0, reached: HashSet::new(), unusable: None };
    reader.identity(node).ok()
}

/// The document's only policy node.
fn policy_node(graph: &Graph) -> Result<NamedOrBlankNodeRef<'_>, PolicyError> {
    let mut found = HashSet::new();
    for triple in graph {
        let class = triple.predicate.as_str() == rdf::TYPE
            && matches!(triple.object, TermRef::NamedNode(class) if CLASSES.contains(&class.as_str()));
        if class || MARKS.contains(&triple.predicate.as_str()) {
            found.insert(triple.subject);
        }
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(node), None) => Ok(node),
        (None, _) => Err(PolicyError::Malformed("the document holds no policy")),
        (Some(_), Some(_)) => Err(PolicyError::Malformed("the document holds more than one policy")),
    }
}

/// What rules inherit from their policy.
struct Defaults {
    assigner: Option<String>,
    actions: Inherited,
    targets: Inherited,
    assignees: Inherited,
}

/// Names that each rule without its own has a copy of, and the steps that each copy counts for.
#[derive(Default)]
struct Inherited {
    names: Vec<Named>,
    size: usize,
}

struct Reader<'g> {
    graph: &'g Graph,
    limits: &'g Limits,
    size: usize,
    /// Subjects whose statements were read.
    reached: HashSet<NamedOrBlankNodeRef<'g>>,
    unusable: Option<String>,
}

impl<'g> Reader<'g> {
    fn policy(&mut self, node: NamedOrBlankNodeRef<'g>) -> Result<Policy, PolicyError> {
        let id = self.identity(node)?;
        let delegated_under =
            self.single_iri(node, odrld::DELEGATED_UNDER, "odrld:delegatedUnder is not one IRI")?;
        let conflict = self.conflict(node)?;
        let assigner = self.single_party(node, odrl::ASSIGNER, "more than one policy-level assigner")?;
        let assignee = self.single_party(node, odrl::ASSIGNEE, "more than one policy-level assignee")?;
        let agreement = self.class(node);
        self.profiles(node);
        self.policy_properties(node);
        let defaults = Defaults {
            assigner: assigner.clone(),
            actions: self.inheritance(node, odrl::ACTION)?,
            targets: self.inheritance(node, odrl::TARGET)?,
            assignees: self.inheritance(node, odrl::ASSIGNEE)?,
        };
        let permissions = self.rules(node, odrl::PERMISSION, &defaults)?;
        let prohibitions = self.rules(node, odrl::PROHIBITION, &defaults)?;
        let obligations = self.obligations(node, &defaults)?;
        let parts = self.facts();
        self.unread();
        let (unusable, size) = (self.unusable.take(), self.size);
        Ok(Policy {
            id,
            node: node.into_owned(),
            agreement,
            assigner,
            assignee,
            delegated_under,
            conflict,
            unusable,
            permissions,
            prohibitions,
            obligations,
            parts,
            size,
        })
    }

    /// `odrl:uid`, else the node's IRI; both must agree.
    fn identity(&self, node: NamedOrBlankNodeRef<'g>) -> Result<String, PolicyError> {
        let uid = self.single_iri(node, odrl::UID, "odrl:uid is not one IRI")?;
        match (uid, node) {
            (Some(uid), NamedOrBlankNodeRef::NamedNode(own)) if uid != own.as_str() => {
                Err(PolicyError::Malformed("odrl:uid is not the policy node's IRI"))
            }
            (Some(uid), _) => Ok(uid),
            (None, NamedOrBlankNodeRef::NamedNode(own)) => Ok(own.as_str().to_owned()),
            (None, NamedOrBlankNodeRef::BlankNode(_)) => Err(PolicyError::Malformed("the policy has no id")),
        }
    }

    fn conflict(&mut self, node: NamedOrBlankNodeRef<'g>) -> Result<Conflict, PolicyError> {
        let strategy = self.single_iri(node, odrl::CONFLICT, "odrl:conflict is not one IRI")?;
        Ok(match strategy.as_deref() {
            Some(odrl::PERM) => Conflict::Perm,
            None | Some(odrl::PROHIBIT) => Conflict::Prohibit,
            Some(odrl::INVALID) => Conflict::Invalid,
            Some(_) => {
                self.refuse("its odrl:conflict strategy is unknown");
                Conflict::Invalid
            }
        })
    }

    /// Whether the policy is an agreement; a request, a ticket, or something that is no policy class is unusable.
    fn class(&mut self, node: NamedOrBlankNodeRef<'g>) -> bool {
        let classes: Vec<&str> = self
            .objects(node, rdf::TYPE)
            .into_iter()
            .filter_map(|class| match class {
                TermRef::NamedNode(class) => Some(class.as_str()),
                _ => None,
            })
            .collect();
        if classes.contains(&odrl::REQUEST) || classes.contains(&odrl::TICKET) {
            self.refuse("it is an odrl:Request or odrl:Ticket, which grants nothing");
        }
        if !classes.iter().any(|class| CLASSES.contains(class)) {
            self.refuse("it is of no ODRL policy class");
        }
        classes.contains(&odrl::AGREEMENT)
    }

    fn profiles(&mut self, node: NamedOrBlankNodeRef<'g>) {
        let known = |profile: &TermRef<'_>| matches!(profile, TermRef::NamedNode(profile) if profile.as_str() == odrld::PROFILE);
        if !self.objects(node, odrl::PROFILE).iter().all(known) {
            self.refuse("it follows an odrl:profile that is not known here");
        }
    }

    fn policy_properties(&mut self, node: NamedOrBlankNodeRef<'g>) {
        if self.has_unknown(node, &POLICY_PROPERTIES) {
            self.refuse("it has a policy-level property that is not known here");
        }
        if !self.objects(node, odrl::INHERIT_FROM).is_empty() {
            self.refuse("it inherits from another policy (odrl:inheritFrom)");
        }
    }

    /// `odrl:partOf` facts of the document.
    fn facts(&self) -> Facts {
        let stated = self.graph.triples_for_predicate(NamedNodeRef::new_unchecked(odrl::PART_OF));
        Facts::of_parts(stated.filter_map(|triple| match (triple.subject, triple.object) {
            (NamedOrBlankNodeRef::NamedNode(part), TermRef::NamedNode(whole)) => {
                Some((part.as_str(), whole.as_str()))
            }
            _ => None,
        }))
    }

    /// An ODRL statement that nothing reads could be meant to narrow what we read: the policy is unusable.
    fn unread(&mut self) {
        self.reach_blank_nodes();
        let stray = self.graph.iter().any(|triple| {
            let predicate = triple.predicate.as_str();
            let ours = predicate.starts_with(odrl::NS) || predicate.starts_with(odrld::NS);
            ours && predicate != odrl::PART_OF
                && predicate != odrl::UID
                && !self.reached.contains(&triple.subject)
        });
        if stray {
            self.refuse("its document holds ODRL statements that belong to no rule of it");
        }
    }

    /// What hangs below a node that was read belongs to it, also where the reader stopped and marked it undetermined.
    fn reach_blank_nodes(&mut self) {
        let mut open: Vec<_> = self.reached.iter().copied().collect();
        while let Some(node) = open.pop() {
            for triple in self.graph.triples_for_subject(node) {
                if let TermRef::BlankNode(below) = triple.object
                    && self.reached.insert(below.into())
                {
                    open.push(below.into());
                }
            }
        }
    }

    /// Keeps the first reason: readers are called in a fixed order, whatever the order of triples.
    fn refuse(&mut self, why: &str) {
        self.unusable.get_or_insert_with(|| why.to_owned());
    }

    fn rules(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        property: &'static str,
        defaults: &Defaults,
    ) -> Result<Vec<Rule>, PolicyError> {
        let mut rules = Vec::new();
        for term in self.objects(node, property) {
            self.step()?;
            rules.push(match subject(term) {
                Some(rule) => self.rule(rule, property == odrl::PERMISSION, defaults)?,
                None => Rule {
                    actions: Vec::new(),
                    targets: Vec::new(),
                    assignees: Vec::new(),
                    constraints: Vec::new(),
                    duties: Vec::new(),
                    undetermined: Some("the rule is a literal".to_owned()),
                },
            });
        }
        rules.sort();
        Ok(rules)
    }

    fn rule(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        permission: bool,
        defaults: &Defaults,
    ) -> Result<Rule, PolicyError> {
        self.reached.insert(node);
        let mut undetermined = None;
        let mut doubt = |why: &str| {
            undetermined.get_or_insert_with(|| why.to_owned());
        };
        if self.has_unknown(node, &RULE_PROPERTIES) {
            doubt("the rule has a property that is not known here");
        }
        if self.has_remedy(node) {
            self.refuse("a rule has a remedy or consequence");
        }
        self.same_assigner(node, defaults);
        let actions = self.inherited(node, odrl::ACTION, &defaults.actions)?;
        if actions.is_empty() {
            doubt("the rule has no action");
        }
        let targets = self.inherited(node, odrl::TARGET, &defaults.targets)?;
        let assignees = self.inherited(node, odrl::ASSIGNEE, &defaults.assignees)?;
        let constraints = self.constraints(node, odrl::CONSTRAINT, 0)?;
        let mut duties = Vec::new();
        for term in self.objects(node, odrl::DUTY) {
            match self.duty(term, defaults, &Inherited::default())? {
                Some(mut more) if permission => duties.append(&mut more),
                Some(_) => doubt("a prohibition has a duty"),
                None => doubt("a duty of the rule says more than can be passed on"),
            }
        }
        duties.sort();
        Ok(Rule { actions, targets, assignees, constraints, duties, undetermined })
    }

    fn obligations(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        defaults: &Defaults,
    ) -> Result<Vec<Duty>, PolicyError> {
        let mut duties = Vec::new();
        for term in self.objects(node, odrl::OBLIGATION) {
            match self.duty(term, defaults, &defaults.targets)? {
                Some(mut more) => duties.append(&mut more),
                None => self.refuse("an odrl:obligation says more than can be passed on"),
            }
        }
        duties.sort();
        Ok(duties)
    }

    /// A duty as one or more (action, target); `None` where it says anything that such a pair would lose.
    fn duty(
        &mut self,
        term: TermRef<'g>,
        defaults: &Defaults,
        inherited_targets: &Inherited,
    ) -> Result<Option<Vec<Duty>>, PolicyError> {
        self.step()?;
        let Some(node) = subject(term) else { return Ok(None) };
        self.reached.insert(node);
        if self.has_remedy(node) {
            self.refuse("a duty has a remedy or consequence");
        }
        self.same_assigner(node, defaults);
        let known = [odrl::UID, odrl::ASSIGNER, odrl::ASSIGNEE, odrl::TARGET, odrl::ACTION];
        let actions = self.names(node, odrl::ACTION)?;
        let targets = self.inherited(node, odrl::TARGET, inherited_targets)?;
        let (Some(actions), Some(targets)) = (plain(&actions), plain(&targets)) else { return Ok(None) };
        if actions.is_empty() || self.has_unknown(node, &known) {
            return Ok(None);
        }
        self.steps(actions.len().saturating_mul(targets.len()))?;
        let targets: Vec<Option<String>> =
            if targets.is_empty() { vec![None] } else { targets.into_iter().map(Some).collect() };
        let duties = actions.iter().flat_map(|action| {
            targets.iter().map(|target| Duty { action: action.clone(), target: target.clone() })
        });
        Ok(Some(duties.collect()))
    }

    fn has_remedy(&self, node: NamedOrBlankNodeRef<'g>) -> bool {
        [odrl::REMEDY, odrl::CONSEQUENCE].iter().any(|property| !self.objects(node, property).is_empty())
    }

    /// A rule's assigner equals the policy's, or the policy is unusable.
    fn same_assigner(&mut self, node: NamedOrBlankNodeRef<'g>, defaults: &Defaults) {
        let same = |assigner: &TermRef<'_>| matches!(assigner, TermRef::NamedNode(own) if Some(own.as_str()) == defaults.assigner.as_deref());
        if !self.objects(node, odrl::ASSIGNER).iter().all(same) {
            self.refuse("a rule's assigner is not the policy's");
        }
    }

    fn inherited(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        property: &'static str,
        inherited: &Inherited,
    ) -> Result<Vec<Named>, PolicyError> {
        let own = self.names(node, property)?;
        if !own.is_empty() {
            return Ok(own);
        }
        self.steps(inherited.size)?;
        Ok(inherited.names.clone())
    }

    fn inheritance(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        property: &'static str,
    ) -> Result<Inherited, PolicyError> {
        let before = self.size;
        let names = self.names(node, property)?;
        Ok(Inherited { names, size: self.size.saturating_sub(before) })
    }

    /// The actions, assets or parties that a property names.
    fn names(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        property: &'static str,
    ) -> Result<Vec<Named>, PolicyError> {
        let mut names = Vec::new();
        for term in self.objects(node, property) {
            self.step()?;
            names.push(match subject(term) {
                Some(named) => self.name(named, property == odrl::ACTION)?,
                None => Named::Unreadable,
            });
        }
        names.sort();
        Ok(names)
    }

    fn name(&mut self, node: NamedOrBlankNodeRef<'g>, action: bool) -> Result<Named, PolicyError> {
        self.reached.insert(node);
        let (pointer, known): (_, &[&str]) = if action {
            (RDF_VALUE, &[RDF_VALUE, odrl::REFINEMENT])
        } else {
            (odrl::SOURCE, &[odrl::SOURCE, odrl::REFINEMENT, odrl::PART_OF])
        };
        let pointed = self.objects(node, pointer);
        let iri = match (node, pointed.as_slice()) {
            (NamedOrBlankNodeRef::NamedNode(node), []) => node.as_str(),
            (NamedOrBlankNodeRef::BlankNode(_), [TermRef::NamedNode(node)]) => node.as_str(),
            _ => return Ok(Named::Unreadable),
        };
        let blank = matches!(node, NamedOrBlankNodeRef::BlankNode(_));
        // An IRI may be described in other vocabularies without harm; a blank node is nothing but its description.
        let unknown = self.unknown_properties(node, known).into_iter();
        if unknown.into_iter().any(|property| blank || action || property.starts_with(odrl::NS)) {
            return Ok(Named::Unreadable);
        }
        let refinements = self.constraints(node, odrl::REFINEMENT, 0)?;
        let typed = self.objects(node, rdf::TYPE).into_iter().any(|class| {
            matches!(class, TermRef::NamedNode(class) if [ASSET_COLLECTION, PARTY_COLLECTION].contains(&class.as_str()))
        });
        let collection = !action && (typed || blank);
        Ok(Named::iri(iri.to_owned(), collection, refinements))
    }

    /// Counts one step of work.
    fn step(&mut self) -> Result<(), PolicyError> {
        self.steps(1)
    }

    /// Counts several steps, or copies of what was read in as many.
    fn steps(&mut self, count: usize) -> Result<(), PolicyError> {
        self.size = self.size.saturating_add(count);
        if self.size > self.limits.constraints { Err(PolicyError::TooLarge("constraints")) } else { Ok(()) }
    }

    /// In order of their texts: a graph has an order of its own each time that it is made, and of two that are wrong, the
    /// one that is reported must be the same.
    fn objects(&self, node: NamedOrBlankNodeRef<'g>, property: &str) -> Vec<TermRef<'g>> {
        let property = NamedNodeRef::new_unchecked(property);
        let mut objects: Vec<_> = self.graph.objects_for_subject_predicate(node, property).collect();
        if objects.len() > 1 {
            objects.sort_by_cached_key(ToString::to_string);
        }
        objects
    }

    /// At most one IRI.
    fn single_iri(
        &self,
        node: NamedOrBlankNodeRef<'g>,
        property: &'static str,
        problem: &'static str,
    ) -> Result<Option<String>, PolicyError> {
        match self.objects(node, property).as_slice() {
            [] => Ok(None),
            [TermRef::NamedNode(iri)] => Ok(Some(iri.as_str().to_owned())),
            _ => Err(PolicyError::Malformed(problem)),
        }
    }

    /// At most one party, which must be an IRI for the policy to be usable.
    fn single_party(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        property: &'static str,
        problem: &'static str,
    ) -> Result<Option<String>, PolicyError> {
        match self.objects(node, property).as_slice() {
            [] => Ok(None),
            [TermRef::NamedNode(iri)] => Ok(Some(iri.as_str().to_owned())),
            [_] => {
                self.refuse("a policy-level party is not an IRI");
                Ok(None)
            }
            _ => Err(PolicyError::Malformed(problem)),
        }
    }

    fn has_unknown(&self, node: NamedOrBlankNodeRef<'g>, known: &[&str]) -> bool {
        !self.unknown_properties(node, known).is_empty()
    }

    /// Properties of a node beyond `known`, `rdf:type` and annotations.
    fn unknown_properties(&self, node: NamedOrBlankNodeRef<'g>, known: &[&str]) -> Vec<&'g str> {
        let annotations = [rdf::RDFS_NS, dcterms::NS, rdf::SKOS_NS, schema::NS];
        self.graph
            .triples_for_subject(node)
            .map(|triple| triple.predicate.as_str())
            .filter(|property| {
                *property != rdf::TYPE
                    && !known.contains(property)
                    && !annotations.iter().any(|namespace| property.starts_with(namespace))
            })
            .collect()
    }
}

/// The IRIs of names that are nothing but IRIs.
fn plain(names: &[Named]) -> Option<Vec<String>> {
    names
        .iter()
        .map(|name| match name {
            Named::Iri { iri, refinements, .. } if refinements.is_empty() => Some(iri.clone()),
            _ => None,
        })
        .collect()
}

fn subject(term: TermRef<'_>) -> Option<NamedOrBlankNodeRef<'_>> {
    match term {
        TermRef::NamedNode(node) => Some(node.into()),
        TermRef::BlankNode(node) => Some(node.into()),
        _ => None,
    }
}
