//! The syntax of a shapes graph: SHACL Core, self-contained, finite. What is not known is refused, not skipped.
//!
//! Compiling hands the engine only the triples that were read and understood here, so a parameter that the engine
//! would drop, or read otherwise than SHACL says, never reaches it.

use super::compiled::ShapeError;
use super::path::PathReader;
use super::terms::{
    as_node, count, flag, is_constant, is_small_pattern, is_well_typed_literal, read_list, sh_iri, sh_name,
    text, unusable,
};
use crate::vocab::{rdf, sh};
use oxrdf::vocab::rdf as rdf_terms;
use oxrdf::{Graph, NamedNode, NamedNodeRef, NamedOrBlankNode, Term, TermRef, TripleRef};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Shapes of one graph. The engine's parser compares each with all.
const MAX_SHAPES: usize = 256;
/// Shape references from a root to the last shape. Each is a stack frame of the engine.
const MAX_DEPTH: usize = 32;

/// What a parameter's values must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Iri,
    NodeKind,
    Count,
    /// A literal to compare with.
    Bound,
    /// A term that a value must be identical to.
    Constant,
    Constants,
    Text,
    Pattern,
    Flag,
    Iris,
    Texts,
    Shape,
    Shapes,
    Path,
    Message,
    /// Not read here.
    Any,
}

/// What a parameter means for its shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Constraint,
    /// Changes another parameter, which must be there.
    Companion(&'static str),
    Target,
    Property,
    Path,
    /// Severity, messages, deactivation.
    Setting,
    Annotation,
}

struct Parameter {
    name: &'static str,
    values: Values,
    role: Role,
    /// At most one value.
    single: bool,
    /// Only on shapes of this kind: `Some(true)` property shapes, `Some(false)` node shapes.
    property_shape: Option<bool>,
}

const fn many(name: &'static str, values: Values, role: Role) -> Parameter {
    Parameter { name, values, role, single: false, property_shape: None }
}

const fn one(name: &'static str, values: Values, role: Role) -> Parameter {
    Parameter { name, values, role, single: true, property_shape: None }
}

const fn on_property(parameter: Parameter) -> Parameter {
    Parameter { property_shape: Some(true), ..parameter }
}

/// SHACL Core, with the names of <https://www.w3.org/TR/shacl/>.
const PARAMETERS: &[Parameter] = &[
    many("class", Values::Iri, Role::Constraint),
    one("datatype", Values::Iri, Role::Constraint),
    one("nodeKind", Values::NodeKind, Role::Constraint),
    on_property(one("minCount", Values::Count, Role::Constraint)),
    on_property(one("maxCount", Values::Count, Role::Constraint)),
    one("minExclusive", Values::Bound, Role::Constraint),
    one("minInclusive", Values::Bound, Role::Constraint),
    one("maxExclusive", Values::Bound, Role::Constraint),
    one("maxInclusive", Values::Bound, Role::Constraint),
    one("minLength", Values::Count, Role::Constraint),
    one("maxLength", Values::Count, Role::Constraint),
    one("pattern", Values::Pattern, Role::Constraint),
    one("flags", Values::Text, Role::Companion("pattern")),
    one("languageIn", Values::Texts, Role::Constraint),
    on_property(one("uniqueLang", Values::Flag, Role::Constraint)),
    many("equals", Values::Iri, Role::Constraint),
    many("disjoint", Values::Iri, Role::Constraint),
    on_property(many("lessThan", Values::Iri, Role::Constraint)),
    on_property(many("lessThanOrEquals", Values::Iri, Role::Constraint)),
    many("not", Values::Shape, Role::Constraint),
    many("and", Values::Shapes, Role::Constraint),
    many("or", Values::Shapes, Role::Constraint),
    many("xone", Values::Shapes, Role::Constraint),
    many("node", Values::Shape, Role::Constraint),
    many("property", Values::Shape, Role::Property),
    on_property(one("qualifiedValueShape", Values::Shape, Role::Constraint)),
    one("qualifiedMinCount", Values::Count, Role::Companion("qualifiedValueShape")),
    one("qualifiedMaxCount", Values::Count, Role::Companion("qualifiedValueShape")),
    one("qualifiedValueShapesDisjoint", Values::Flag, Role::Companion("qualifiedValueShape")),
    // The engine reads a property shape's `sh:closed` on the focus node and not, as SHACL says, on the value nodes.
    Parameter { property_shape: Some(false), ..one("closed", Values::Flag, Role::Constraint) },
    one("ignoredProperties", Values::Iris, Role::Companion("closed")),
    many("hasValue", Values::Constant, Role::Constraint),
    one("in", Values::Constants, Role::Constraint),
    many("targetClass", Values::Iri, Role::Target),
    many("targetNode", Values::Any, Role::Target),
    many("targetSubjectsOf", Values::Iri, Role::Target),
    many("targetObjectsOf", Values::Iri, Role::Target),
    one("path", Values::Path, Role::Path),
    one("deactivated", Values::Flag, Role::Setting),
    one("severity", Values::Iri, Role::Setting),
    many("message", Values::Message, Role::Setting),
    many("name", Values::Any, Role::Annotation),
    many("description", Values::Any, Role::Annotation),
    many("order", Values::Any, Role::Annotation),
    many("group", Values::Any, Role::Annotation),
    many("defaultValue", Values::Any, Role::Annotation),
];

const PATH_PREDICATES: [&str; 5] =
    ["inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath"];
const NODE_KINDS: [&str; 6] =
    ["IRI", "BlankNode", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral"];
const RDFS_CLASS: &str = "http://www.w3.org/2000/01/rdf-schema#Class";
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
    disjoint: bool,
    references: Vec<NamedOrBlankNode>,
    /// A constraint of its own that some value fails.
    judges: bool,
    /// Shapes of which one that constrains suffices.
    conjuncts: Vec<NamedOrBlankNode>,
    /// `sh:or` lists, of which every member must constrain.
    disjuncts: Vec<Vec<NamedOrBlankNode>>,
}

/// A shapes graph whose every shape was read.
#[derive(Debug, Default)]
pub(super) struct ShapesGraph {
    /// The triples that were understood, for the engine.
    pub(super) graph: Graph,
    pub(super) shapes: HashMap<NamedOrBlankNode, Shape>,
    /// Shapes that can refuse something.
    constraining: HashSet<NamedOrBlankNode>,
}

impl ShapesGraph {
    /// Reads every shape of a graph.
    ///
    /// # Errors
    /// [`ShapeError::Unusable`]: something that is not SHACL Core, is not in the graph, or does not end.
    pub(super) fn read(source: &Graph) -> Result<Self, ShapeError> {
        let mut pending = declared_shapes(source)?;
        let mut read = Self::default();
        let declared: HashSet<_> = pending.iter().cloned().collect();
        while let Some(node) = pending.pop() {
            if read.shapes.contains_key(&node) {
                continue;
            }
            let shape = ShapeReader { source, graph: &mut read.graph, node: &node }.read()?;
            if let Some(dangling) = shape.references.iter().find(|reference| !declared.contains(*reference)) {
                return unusable(format!("{node} refers to {dangling}, which is no shape of the graph"));
            }
            read.shapes.insert(node, shape);
        }
        read.check_properties(source)?;
        read.refer_to_siblings(source);
        read.check_finite()?;
        Ok(read)
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

    /// Whether a shape has, by itself or through shapes that it requires, a constraint that something fails.
    pub(super) fn constrains(&self, node: &NamedOrBlankNode) -> bool {
        self.constraining.contains(node)
    }

    /// `sh:property` names property shapes only.
    fn check_properties(&self, source: &Graph) -> Result<(), ShapeError> {
        for triple in source.triples_for_predicate(sh_iri("property").as_ref()) {
            let is_property = as_node(triple.object)
                .and_then(|node| self.shapes.get(&node))
                .is_some_and(|shape| shape.path.is_some());
            if !is_property {
                return unusable(format!("{} is the value of sh:property but has no sh:path", triple.object));
            }
        }
        Ok(())
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

    /// Refuses recursion and depth, and finds which shapes constrain, from the leaves up.
    fn check_finite(&mut self) -> Result<(), ShapeError> {
        let mut depth: HashMap<&NamedOrBlankNode, usize> = HashMap::new();
        let mut constraining = HashSet::new();
        let mut open: HashSet<&NamedOrBlankNode> = HashSet::new();
        for start in self.shapes.keys() {
            let mut stack = vec![(start, false)];
            while let Some((node, children_done)) = stack.pop() {
                let Some(shape) = self.shapes.get(node) else { continue };
                if children_done {
                    open.remove(node);
                    let below = shape.references.iter().filter_map(|child| depth.get(child)).max();
                    let levels = below.copied().unwrap_or_default() + 1;
                    if levels > MAX_DEPTH {
                        return unusable(format!("shapes are nested more than {MAX_DEPTH} deep"));
                    }
                    depth.insert(node, levels);
                    if shape.constrains(&constraining) {
                        constraining.insert(node.clone());
                    }
                } else if depth.contains_key(node) {
                    continue;
                } else if !open.insert(node) {
                    return unusable(format!("{node} refers to itself, directly or through other shapes"));
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
        self.constraining = constraining;
        Ok(())
    }
}

impl Shape {
    fn constrains(&self, known: &HashSet<NamedOrBlankNode>) -> bool {
        let conjunct = self.conjuncts.iter().any(|child| known.contains(child));
        let disjunct = self.disjuncts.iter().any(|list| list.iter().all(|child| known.contains(child)));
        !self.deactivated && (self.judges || conjunct || disjunct)
    }
}

/// Scans the whole graph for what is never accepted, and collects the nodes that are shapes.
fn declared_shapes(source: &Graph) -> Result<Vec<NamedOrBlankNode>, ShapeError> {
    let mut found = HashSet::new();
    for triple in source {
        let predicate = triple.predicate.as_str();
        let object_iri = match triple.object {
            TermRef::NamedNode(iri) => iri.as_str(),
            _ => "",
        };
        if predicate == rdf::OWL_IMPORTS {
            return unusable("owl:imports: a Protocol Document must not need another graph");
        }
        if predicate == RDFS_SUB_CLASS_OF && (object_iri == RDFS_CLASS || object_iri.starts_with(sh::NS)) {
            return unusable(format!("{} makes shapes by inference", triple.subject));
        }
        if predicate == rdf::TYPE {
            match object_iri.strip_prefix(sh::NS) {
                Some("NodeShape" | "PropertyShape") => drop(found.insert(triple.subject.into_owned())),
                None | Some("PropertyGroup") => {}
                Some(other) => return unusable(format!("sh:{other} is not of SHACL Core")),
            }
        } else if let Some(name) = predicate.strip_prefix(sh::NS)
            && !PATH_PREDICATES.contains(&name)
        {
            let Some(parameter) = PARAMETERS.iter().find(|parameter| parameter.name == name) else {
                return unusable(format!("sh:{name} is not of SHACL Core"));
            };
            if matches!(parameter.role, Role::Constraint | Role::Target | Role::Property | Role::Path) {
                found.insert(triple.subject.into_owned());
            }
        }
    }
    if found.len() > MAX_SHAPES {
        return unusable(format!("the graph holds more than {MAX_SHAPES} shapes"));
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_cached_key(ToString::to_string);
    Ok(found)
}

struct ShapeReader<'a> {
    source: &'a Graph,
    graph: &'a mut Graph,
    node: &'a NamedOrBlankNode,
}

impl ShapeReader<'_> {
    fn read(mut self) -> Result<Shape, ShapeError> {
        let mut shape = Shape::default();
        for parameter in PARAMETERS {
            self.read_parameter(parameter, &mut shape)?;
        }
        self.check_kind(&mut shape)?;
        if self.has("qualifiedValueShape") {
            // A minimum of 0 alone lets everything pass.
            shape.judges |= self.has("qualifiedMaxCount") || self.counts_above_zero("qualifiedMinCount");
            if !self.has("qualifiedMinCount") && !self.has("qualifiedMaxCount") {
                return unusable(format!("{} qualifies without a count", self.node));
            }
        }
        Ok(shape)
    }

    fn read_parameter(&mut self, parameter: &Parameter, shape: &mut Shape) -> Result<(), ShapeError> {
        let name = parameter.name;
        let values: Vec<Term> = self.values(name).collect();
        if values.is_empty() || parameter.role == Role::Annotation {
            return Ok(());
        }
        if parameter.single && values.len() > 1 {
            return unusable(format!("{} has more than one sh:{name}", self.node));
        }
        if parameter.property_shape.is_some_and(|property| property != self.has("path")) {
            return unusable(format!("sh:{name} is not read on {}", self.node));
        }
        if let Role::Companion(principal) = parameter.role
            && !self.has(principal)
        {
            return unusable(format!("{} has sh:{name} without sh:{principal}", self.node));
        }
        for value in &values {
            if parameter.role == Role::Target {
                shape.targets.push(self.target(name, value)?);
                continue;
            }
            if name == "deactivated" && flag(value) == Some(false) {
                continue;
            }
            self.copy(name, value);
            let members = self.check_value(parameter, value)?;
            if matches!(parameter.values, Values::Constants | Values::Texts) {
                shape.members += self.list(value)?.len();
            }
            match parameter.role {
                Role::Path => shape.path = Some(PathReader::new(self.source, self.graph).read(value)?),
                Role::Property => shape.properties += 1,
                Role::Constraint => shape.constraints += 1,
                _ => {}
            }
            shape.note(name, value, members);
        }
        Ok(())
    }

    /// Checks a value's kind, copies what hangs from it, and returns the shapes that it refers to.
    fn check_value(
        &mut self,
        parameter: &Parameter,
        value: &Term,
    ) -> Result<Vec<NamedOrBlankNode>, ShapeError> {
        let name = parameter.name;
        let fits = match parameter.values {
            Values::Any | Values::Path => true,
            Values::Iri => value.is_named_node(),
            Values::NodeKind => sh_name(value).is_some_and(|kind| NODE_KINDS.contains(&kind)),
            Values::Count => count(value).is_some(),
            Values::Bound => is_well_typed_literal(value),
            Values::Constant => is_constant(value),
            Values::Text => text(value).is_some(),
            Values::Pattern => text(value).is_some_and(is_small_pattern),
            Values::Flag => flag(value).is_some(),
            Values::Message => {
                matches!(value, Term::Literal(literal) if literal.language().is_some())
                    || text(value).is_some()
            }
            Values::Shape => match as_node(value.as_ref()) {
                Some(node) => return Ok(vec![node]),
                None => false,
            },
            Values::Shapes => {
                let members: Option<Vec<_>> =
                    self.list(value)?.iter().map(|member| as_node(member.as_ref())).collect();
                match members {
                    Some(members) if !members.is_empty() => return Ok(members),
                    _ => false,
                }
            }
            Values::Iris => self.list(value)?.iter().all(Term::is_named_node),
            Values::Texts => self.list(value)?.iter().all(|member| text(member).is_some()),
            Values::Constants => self.list(value)?.iter().all(is_constant),
        };
        if fits {
            Ok(Vec::new())
        } else {
            unusable(format!("sh:{name} of {} has an unusable value", self.node))
        }
    }

    /// The shape's types: an implicit class target, and a kind that agrees with `sh:path`.
    fn check_kind(&mut self, shape: &mut Shape) -> Result<(), ShapeError> {
        let is_a = |class: &str| {
            self.source.contains(TripleRef::new(
                self.node,
                rdf_terms::TYPE,
                NamedNodeRef::new_unchecked(class),
            ))
        };
        let (node_shape, property_shape) = (is_a(sh::NODE_SHAPE), is_a(sh_iri("PropertyShape").as_str()));
        if (node_shape && shape.path.is_some()) || (property_shape && shape.path.is_none()) {
            return unusable(format!("{} is not of the kind that it is typed as", self.node));
        }
        if is_a(RDFS_CLASS) {
            let NamedOrBlankNode::NamedNode(class) = self.node else {
                return unusable("a shape that is a class has no IRI");
            };
            if !node_shape && !property_shape {
                return unusable(format!("{class} is a class and a shape, but is not typed as a shape"));
            }
            shape.targets.push(TargetSelector::Class(class.clone()));
        }
        // The engine finds every shape that was read, whatever made it one.
        let kind = if shape.path.is_some() { sh_iri("PropertyShape") } else { sh_iri("NodeShape") };
        self.graph.insert(TripleRef::new(self.node, rdf_terms::TYPE, kind.as_ref()));
        Ok(())
    }

    fn target(&self, name: &str, value: &Term) -> Result<TargetSelector, ShapeError> {
        match (name, value) {
            // Selected here, so it need not survive the engine's reading.
            ("targetNode", Term::NamedNode(_) | Term::Literal(_)) => Ok(TargetSelector::Node(value.clone())),
            ("targetClass", Term::NamedNode(iri)) => Ok(TargetSelector::Class(iri.clone())),
            ("targetSubjectsOf", Term::NamedNode(iri)) => Ok(TargetSelector::SubjectsOf(iri.clone())),
            ("targetObjectsOf", Term::NamedNode(iri)) => Ok(TargetSelector::ObjectsOf(iri.clone())),
            _ => unusable(format!("sh:{name} of {} has an unusable value", self.node)),
        }
    }

    fn list(&mut self, head: &Term) -> Result<Vec<Term>, ShapeError> {
        read_list(self.source, self.graph, head)
    }

    fn values(&self, name: &str) -> impl Iterator<Item = Term> + use<'_> {
        let predicate = sh_iri(name);
        self.source
            .triples_for_subject(self.node)
            .filter(move |triple| triple.predicate == predicate.as_ref())
            .map(|triple| triple.object.into_owned())
    }

    fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    fn counts_above_zero(&self, name: &str) -> bool {
        self.values(name).any(|value| count(&value) != Some(0))
    }

    fn copy(&mut self, name: &str, value: &Term) {
        self.graph.insert(TripleRef::new(self.node, sh_iri(name).as_ref(), value.as_ref()));
    }
}

impl Shape {
    /// Records what one value of a parameter means for recursion and vacuity.
    fn note(&mut self, name: &str, value: &Term, members: Vec<NamedOrBlankNode>) {
        self.references.extend(members.iter().cloned());
        match name {
            "qualifiedValueShapesDisjoint" => self.disjoint = flag(value) == Some(true),
            "deactivated" => self.deactivated = flag(value) == Some(true),
            "node" | "and" | "property" => self.conjuncts.extend(members),
            "or" => self.disjuncts.push(members),
            "minCount" | "minLength" => self.judges |= count(value) != Some(0),
            "uniqueLang" | "closed" => self.judges |= flag(value) == Some(true),
            // Judged with its counts, by the reader.
            "qualifiedValueShape" => {}
            _ => {
                let constraint = PARAMETERS.iter().find(|parameter| parameter.name == name);
                self.judges |= constraint.is_some_and(|parameter| parameter.role == Role::Constraint);
            }
        }
    }
}
