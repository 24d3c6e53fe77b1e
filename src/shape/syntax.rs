//! The syntax of a shapes graph: SHACL Core, self-contained, finite. What is not known is refused, not skipped.
//!
//! Compiling hands the engine only the triples that were read and understood here, so a parameter that the engine
//! would drop, or read otherwise than SHACL says, never reaches it.

use super::fault::{Fault, Kind};
use super::force::{self, Force, Forces, Kinds};
use super::parameters::{PARAMETERS, PATH_PREDICATES, Role};
use super::shape_reader::ShapeReader;
use super::terms::{as_node, sh_iri};
use crate::vocab::{rdf, sh};
use oxrdf::{Graph, NamedNode, NamedOrBlankNode, Term, TermRef};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Octets of one term of a shape.
const MAX_TERM: usize = 1_024;
/// Shapes of one graph. The engine's parser compares each with all.
const MAX_SHAPES: usize = 256;
/// Shape references from a root to the last shape. Each is a stack frame of the engine.
const MAX_DEPTH: usize = 32;

pub(super) const RDFS_CLASS: &str = "http://www.w3.org/2000/01/rdf-schema#Class";
const RDFS_SUB_CLASS_OF: &str = "http://www.w3.org/2000/01/rdf-schema#subClassOf";

/// What a shape's targets select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TargetSelector {
    /// The SHACL instances of a class.
    Class(NamedNode),
    /// A term, whether the data has it or not.
    Node(Term),
    SubjectsOf(NamedNode),
    ObjectsOf(NamedNode),
}

/// One shape as it was read.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// Constraint components that the engine must have compiled.
    pub(super) constraints: usize,
    pub(super) properties: usize,
    pub(super) targets: Vec<TargetSelector>,
    /// The predicates of `sh:path`, if it is a property shape.
    pub(super) path: Option<BTreeSet<String>>,
    pub(super) deactivated: bool,
    /// Members of its `sh:in` and `sh:languageIn`.
    pub(super) members: usize,
    pub(super) disjoint: bool,
    pub(super) references: Vec<NamedOrBlankNode>,
    /// What it can refuse.
    pub(super) force: Force,
}

/// A shapes graph, read as far as it can be.
#[derive(Debug, Default)]
pub(super) struct ShapesGraph {
    /// The triples that were understood, for the engine.
    pub(super) graph: Graph,
    pub(super) shapes: HashMap<NamedOrBlankNode, Shape>,
    /// What each shape can refuse.
    forces: Forces,
    /// Everything that is wrong; in order, and no more than are of use.
    pub(super) faults: Vec<Fault>,
}

impl ShapesGraph {
    /// Reads every shape of a graph. Where there are faults, nothing else that was read means anything.
    pub(super) fn survey(source: &Graph) -> Self {
        let mut read = Self::default();
        let declared = declared_shapes(source, &mut read.faults);
        if declared.len() > MAX_SHAPES {
            let why = format!("the graph holds more than {MAX_SHAPES} shapes");
            read.faults.push(Fault::new(Kind::TooManyShapes, why));
            return read;
        }
        let known: HashSet<_> = declared.iter().collect();
        for node in &declared {
            let reader = ShapeReader { source, graph: &mut read.graph, node, faults: &mut read.faults };
            let shape = reader.read();
            for dangling in shape.references.iter().filter(|reference| !known.contains(reference)) {
                let why = format!("it refers to {dangling}, which is no shape of the graph");
                read.faults.push(Fault::new(Kind::DanglingReference, why).about(node));
            }
            read.shapes.insert(node.clone(), shape);
        }
        read.check_terms();
        read.check_properties(source);
        read.refer_to_siblings(source);
        read.check_finite(&declared);
        read
    }

    /// The shapes that `roots` lead to, themselves included.
    pub(super) fn reach<'a>(
        &'a self,
        roots: impl IntoIterator<Item = &'a NamedOrBlankNode>,
    ) -> HashSet<&'a NamedOrBlankNode> {
        let mut pending: Vec<_> = roots.into_iter().collect();
        let mut reached = HashSet::new();
        while let Some(node) = pending.pop() {
            if let Some((node, shape)) = self.shapes.get_key_value(node)
                && reached.insert(node)
            {
                pending.extend(&shape.references);
            }
        }
        reached
    }

    /// Whether a shape has, by itself or through shapes that it requires, a constraint that some node of these kinds
    /// fails.
    pub(super) fn constrains(&self, node: &NamedOrBlankNode, kinds: Kinds) -> bool {
        self.forces.get(node).is_some_and(|force| force.refuses_some(kinds))
    }

    /// Results, paths and messages hold copies of terms: long ones would make each of them cost more than its step.
    fn check_terms(&mut self) {
        let octets = |term: TermRef<'_>| match term {
            TermRef::NamedNode(iri) => iri.as_str().len(),
            TermRef::Literal(literal) => literal.value().len(),
            _ => 0,
        };
        let long = |triple: &oxrdf::TripleRef<'_>| {
            octets(triple.subject.into()) > MAX_TERM || octets(triple.object) > MAX_TERM
        };
        let is_long_target = |target: &TargetSelector| match target {
            TargetSelector::Node(term) => octets(term.as_ref()) > MAX_TERM,
            // As long as a term of the document may be; it is compared, and never copied.
            TargetSelector::Class(_) | TargetSelector::SubjectsOf(_) | TargetSelector::ObjectsOf(_) => false,
        };
        let mut targets = self.shapes.values().flat_map(|shape| &shape.targets);
        if targets.any(is_long_target) || self.graph.iter().any(|triple| long(&triple)) {
            let why = format!("the shapes have a name, constant or message of more than {MAX_TERM} octets");
            self.faults.push(Fault::new(Kind::TermTooLong, why));
        }
    }

    /// `sh:property` names property shapes only.
    fn check_properties(&mut self, source: &Graph) {
        let mut wrong: Vec<_> = source
            .triples_for_predicate(sh_iri("property").as_ref())
            .filter(|triple| {
                let shape = as_node(triple.object).and_then(|node| self.shapes.get(&node));
                // One that is missing is a dangling reference.
                as_node(triple.object).is_some() && shape.is_some_and(|shape| shape.path.is_none())
            })
            .map(|triple| triple.object.to_string())
            .collect();
        wrong.sort();
        wrong.dedup();
        for shape in wrong {
            let why = "it is the value of sh:property but has no usable sh:path";
            self.faults.push(Fault::new(Kind::WrongKind, why).about(&shape));
        }
    }

    /// A disjoint qualified shape is judged together with those of its sibling properties (SHACL 4.7.3).
    fn refer_to_siblings(&mut self, source: &Graph) {
        let objects = |node: &NamedOrBlankNode, name: &str| -> Vec<NamedOrBlankNode> {
            source.objects_for_subject_predicate(node, sh_iri(name).as_ref()).filter_map(as_node).collect()
        };
        let parents: Vec<_> = self.shapes.keys().cloned().collect();
        for parent in parents {
            let properties = objects(&parent, "property");
            let qualified: Vec<_> =
                properties.iter().flat_map(|property| objects(property, "qualifiedValueShape")).collect();
            for property in &properties {
                if let Some(shape) = self.shapes.get_mut(property)
                    && shape.disjoint
                {
                    shape.references.extend(qualified.iter().cloned());
                }
            }
        }
    }

    /// Finds recursion and depth, and what each shape can refuse, from the leaves up.
    fn check_finite(&mut self, declared: &[NamedOrBlankNode]) {
        let mut depth: HashMap<&NamedOrBlankNode, usize> = HashMap::new();
        let mut open: HashSet<&NamedOrBlankNode> = HashSet::new();
        let mut deep = false;
        for start in declared {
            let mut stack = vec![(start, false)];
            while let Some((node, children_done)) = stack.pop() {
                let Some(shape) = self.shapes.get(node) else { continue };
                if children_done {
                    open.remove(node);
                    let below = shape.references.iter().filter_map(|child| depth.get(child)).max();
                    let levels = below.copied().unwrap_or_default() + 1;
                    deep |= levels > MAX_DEPTH;
                    depth.insert(node, levels);
                    let force = force::of(shape, &self.forces);
                    self.forces.insert(node.clone(), force);
                } else if depth.contains_key(node) {
                    continue;
                } else if !open.insert(node) {
                    let why = "it refers to itself, directly or through other shapes";
                    self.faults.push(Fault::new(Kind::Recursive, why).about(node));
                } else {
                    stack.push((node, true));
                    for child in &shape.references {
                        if !depth.contains_key(child) {
                            stack.push((child, false));
                        }
                    }
                }
            }
        }
        if deep {
            let why = format!("shapes are nested more than {MAX_DEPTH} deep");
            self.faults.push(Fault::new(Kind::NestedTooDeep, why));
        }
    }
}

/// Scans the whole graph for what is never accepted, and collects the nodes that are shapes.
fn declared_shapes(source: &Graph, faults: &mut Vec<Fault>) -> Vec<NamedOrBlankNode> {
    let mut found = HashSet::new();
    let mut refused = BTreeMap::new();
    for triple in source {
        let predicate = triple.predicate.as_str();
        let object_iri = match triple.object {
            TermRef::NamedNode(iri) => iri.as_str(),
            _ => "",
        };
        let mut refuse = |kind: Kind, why: String| {
            refused.entry((triple.subject.to_string(), why)).or_insert(kind);
        };
        if predicate == rdf::OWL_IMPORTS {
            refuse(Kind::NeedsAnotherGraph, "it has owl:imports".into());
        } else if predicate == RDFS_SUB_CLASS_OF
            && (object_iri == RDFS_CLASS || object_iri.starts_with(sh::NS))
        {
            refuse(Kind::InferredShape, "it makes shapes by inference".into());
        } else if predicate == rdf::TYPE {
            match object_iri.strip_prefix(sh::NS) {
                Some("NodeShape" | "PropertyShape") => drop(found.insert(triple.subject.into_owned())),
                None | Some("PropertyGroup") => {}
                Some(other) => refuse(Kind::NotShaclCore, format!("sh:{other} is not of SHACL Core")),
            }
        } else if let Some(name) = predicate.strip_prefix(sh::NS)
            && !PATH_PREDICATES.contains(&name)
        {
            match PARAMETERS.iter().find(|parameter| parameter.name == name).map(|parameter| parameter.role) {
                Some(Role::Constraint | Role::Target | Role::Property | Role::Path) => {
                    found.insert(triple.subject.into_owned());
                }
                Some(_) => {}
                None if name.starts_with("shapesGraph") => {
                    refuse(Kind::NeedsAnotherGraph, format!("it has sh:{name}"));
                }
                None => refuse(Kind::NotShaclCore, format!("sh:{name} is not of SHACL Core")),
            }
        }
    }
    faults.extend(refused.into_iter().map(|((node, why), kind)| Fault::new(kind, why).about(&node)));
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_cached_key(ToString::to_string);
    found
}
