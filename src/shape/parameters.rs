//! The parameters of SHACL Core, with what each may be and what it means.

/// What a parameter's values must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
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
pub(super) enum Role {
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

pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) values: Values,
    pub(super) role: Role,
    /// At most one value.
    pub(super) single: bool,
    /// Only on shapes of this kind: `Some(true)` property shapes, `Some(false)` node shapes.
    pub(super) property_shape: Option<bool>,
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
pub(super) const PARAMETERS: &[Parameter] = &[
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

pub(super) const PATH_PREDICATES: [&str; 5] =
    ["inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath"];
pub(super) const NODE_KINDS: [&str; 6] =
    ["IRI", "BlankNode", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral"];
