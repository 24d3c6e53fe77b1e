//! Which classes the actions of a conforming intent can have, as the request shapes say.
//!
//! An intent conforms to every request shape, and stage 5 refuses an action that has not exactly one type, an IRI, and
//! any predicate of RDFS. So an action whose types are all in a list is of a class of that list; one that must have a
//! certain type, or be an instance of a class, is of that very class. What is under `sh:not`, counted by a qualified
//! shape, or reached by another path than these says nothing here: the reading is never narrower than the shapes.

use super::compiled::CompiledShapes;
use super::syntax::TargetSelector;
use crate::vocab::{a2a, rdf};
use rudof_rdf::rdf_core::SHACLPath;
use rudof_rdf::rdf_core::term::Object;
use shacl::ir::{IRComponent, IRSchema, IRShape, ShapeLabelIdx};
use std::collections::{BTreeSet, HashMap};

/// Classes that are possible; `None` is any.
type Possible = Option<BTreeSet<String>>;

/// What a shape is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Intent,
    Action,
    /// A type of an action.
    Type,
}

struct Reading<'a> {
    schema: &'a IRSchema,
    known: HashMap<(ShapeLabelIdx, Node), Possible>,
}

/// The classes of all actions of an intent that these request shapes let pass.
pub(super) fn of(shapes: &CompiledShapes) -> Possible {
    let mut reading = Reading { schema: shapes.schema(), known: HashMap::new() };
    let index = |shape: &Object| shapes.schema().get_idx(shape).copied();
    let roots = shapes.roots().iter().filter_map(index).map(|root| (root, Node::Intent));
    let targeting = shapes.targeting().iter().filter_map(|(shape, targets)| {
        // An intent and its actions are among what these targets select.
        let node = targets.iter().find_map(|target| match target {
            TargetSelector::Class(class) if class.as_str() == a2a::INTENT => Some(Node::Intent),
            TargetSelector::ObjectsOf(predicate) if predicate.as_str() == a2a::ACTION => Some(Node::Action),
            TargetSelector::SubjectsOf(predicate) if predicate.as_str() == a2a::ACTION => Some(Node::Intent),
            _ => None,
        })?;
        Some((index(shape)?, node))
    });
    let all: Vec<_> = roots.chain(targeting).collect();
    all.into_iter().fold(None, |possible, (shape, node)| both(possible, reading.of(shape, node)))
}

impl Reading<'_> {
    /// No deeper than shapes are nested, and each shape once for each kind of node.
    fn of(&mut self, index: ShapeLabelIdx, node: Node) -> Possible {
        if let Some(known) = self.known.get(&(index, node)) {
            return known.clone();
        }
        let schema = self.schema;
        let possible = schema.get_shape_from_idx(&index).and_then(|shape| self.read(shape, node));
        self.known.insert((index, node), possible.clone());
        possible
    }

    fn read(&mut self, shape: &IRShape, node: Node) -> Possible {
        if shape.deactivated().is_some() {
            return None;
        }
        match shape.path() {
            None => self.constraints(shape, node),
            // The value nodes are all actions, or all types of them.
            Some(path) => match (node, steps(path)?.as_slice()) {
                (Node::Intent, [a2a::ACTION]) => self.constraints(shape, Node::Action),
                (Node::Intent, [a2a::ACTION, rdf::TYPE]) | (Node::Action, [rdf::TYPE]) => {
                    self.constraints(shape, Node::Type)
                }
                _ => None,
            },
        }
    }

    fn constraints(&mut self, shape: &IRShape, node: Node) -> Possible {
        let mut possible = None;
        for component in shape.components() {
            possible = both(possible, self.constraint(component, node, shape.path()));
        }
        // A property shape of a shape applies to its value nodes.
        for property in shape.property_shapes() {
            possible = both(possible, self.of(*property, node));
        }
        possible
    }

    fn constraint(&mut self, component: &IRComponent, node: Node, path: Option<&SHACLPath>) -> Possible {
        match (component, node) {
            (IRComponent::In(list), Node::Type) => Some(list.values().iter().filter_map(iri).collect()),
            // Over (a2a:action rdf:type), one action with that type would do for all of them.
            (IRComponent::HasValue(one), Node::Type)
                if path.and_then(steps).is_none_or(|steps| steps.len() == 1) =>
            {
                Some(iri(one.value()).into_iter().collect())
            }
            (IRComponent::Class(one), Node::Action) => Some(iri(one.class_rule()).into_iter().collect()),
            (IRComponent::Node(one), _) => self.of(*one.shape(), node),
            (IRComponent::And(list), _) => {
                list.shapes().iter().fold(None, |possible, member| both(possible, self.of(*member, node)))
            }
            (IRComponent::Or(list), _) => self.any(list.shapes(), node),
            (IRComponent::Xone(list), _) => self.any(list.shapes(), node),
            _ => None,
        }
    }

    fn any(&mut self, members: &[ShapeLabelIdx], node: Node) -> Possible {
        let mut possible = BTreeSet::new();
        for member in members {
            possible.extend(self.of(*member, node)?);
        }
        Some(possible)
    }
}

fn both(one: Possible, other: Possible) -> Possible {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.intersection(&other).cloned().collect()),
        (one, other) => one.or(other),
    }
}

/// A path of predicates alone.
fn steps(path: &SHACLPath) -> Option<Vec<&str>> {
    match path {
        SHACLPath::Sequence { paths } => paths.iter().map(predicate).collect(),
        one => Some(vec![predicate(one)?]),
    }
}

fn predicate(path: &SHACLPath) -> Option<&str> {
    match path {
        SHACLPath::Predicate { pred } => Some(pred.as_str()),
        _ => None,
    }
}

fn iri(term: &Object) -> Option<String> {
    match term {
        Object::Iri(iri) => Some(iri.as_str().to_owned()),
        _ => None,
    }
}
