//! One shape, read parameter by parameter.

use super::fault::{Fault, Kind, unusable};
use super::force::Verdict;
use super::parameters::{NODE_KINDS, PARAMETERS, Parameter, Role, Values};
use super::path::{PathReader, is_reflexive};
use super::syntax::{RDFS_CLASS, Shape, TargetSelector};
use super::terms::{
    as_node, count, flag, is_constant, is_small_pattern, is_well_typed_literal, read_list, sh_iri, sh_name,
    text,
};
use crate::vocab::sh;
use oxrdf::vocab::rdf as rdf_terms;
use oxrdf::{Graph, Literal, NamedNodeRef, NamedOrBlankNode, Term, TripleRef};
use rudof_rdf::rdf_core::utils::RDFRegex;

/// Reads one shape, copying the triples that were understood.
pub(super) struct ShapeReader<'a> {
    pub(super) source: &'a Graph,
    pub(super) graph: &'a mut Graph,
    pub(super) node: &'a NamedOrBlankNode,
    pub(super) faults: &'a mut Vec<Fault>,
}

impl ShapeReader<'_> {
    /// Reads the shape as far as it can be read; what is wrong with it is among the faults.
    pub(super) fn read(mut self) -> Shape {
        let mut shape = Shape::default();
        for parameter in PARAMETERS {
            if let Err(fault) = self.read_parameter(parameter, &mut shape) {
                self.faults.push(fault.about(self.node));
            }
        }
        if let Err(fault) = self.check_kind(&mut shape) {
            self.faults.push(fault.about(self.node));
        }
        if self.has("qualifiedValueShape") && !self.has("qualifiedMinCount") && !self.has("qualifiedMaxCount")
        {
            let why = "it qualifies without a count";
            self.faults.push(Fault::new(Kind::UnusableValue, why).about(self.node));
        }
        shape
    }

    fn read_parameter(&mut self, parameter: &Parameter, shape: &mut Shape) -> Result<(), Fault> {
        let name = parameter.name;
        let values: Vec<Term> = self.values(name).collect();
        if values.is_empty() || parameter.role == Role::Annotation {
            return Ok(());
        }
        if parameter.single && values.len() > 1 {
            return unusable(Kind::UnusableValue, format!("it has more than one sh:{name}"));
        }
        if parameter.property_shape.is_some_and(|property| property != self.has("path")) {
            return unusable(Kind::WrongKind, format!("sh:{name} is not read on a shape of this kind"));
        }
        if let Role::Companion(principal) = parameter.role
            && !self.has(principal)
        {
            return unusable(Kind::UnusableValue, format!("it has sh:{name} without sh:{principal}"));
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
                let members = self.list(value)?.len();
                shape.members += members;
                shape.force.nothing_in |= members == 0;
            }
            match parameter.role {
                Role::Path => {
                    shape.path = Some(PathReader::new(self.source, self.graph).read(value)?);
                    shape.force.reflexive = is_reflexive(self.source, value);
                    shape.force.path = Some(value.clone());
                }
                Role::Property => shape.properties += 1,
                Role::Constraint => shape.constraints += 1,
                _ => {}
            }
            shape.note(parameter, value, members);
        }
        Ok(())
    }

    /// Checks a value's kind, copies what hangs from it, and returns the shapes that it refers to.
    fn check_value(&mut self, parameter: &Parameter, value: &Term) -> Result<Vec<NamedOrBlankNode>, Fault> {
        let name = parameter.name;
        let fits = match parameter.values {
            Values::Any | Values::Path => true,
            Values::Iri => value.is_named_node(),
            Values::NodeKind => sh_name(value).is_some_and(|kind| NODE_KINDS.contains(&kind)),
            Values::Count => count(value).is_some(),
            Values::Bound => is_well_typed_literal(value),
            Values::Constant => is_constant(value),
            Values::Text => text(value).is_some(),
            Values::Pattern => return self.check_pattern(value).map(|()| Vec::new()),
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
            Values::Texts => self.list(value)?.iter().all(|member| {
                text(member).is_some_and(|tag| Literal::new_language_tagged_literal("", tag).is_ok())
            }),
            Values::Constants => self.list(value)?.iter().all(is_constant),
        };
        if fits {
            Ok(Vec::new())
        } else {
            let kind =
                if parameter.values == Values::Shapes { Kind::UnusableList } else { Kind::UnusableValue };
            unusable(kind, format!("sh:{name} has a value that is not used"))
        }
    }

    /// A pattern is small, and one of the linear-time engine: without look-around and back references.
    fn check_pattern(&self, value: &Term) -> Result<(), Fault> {
        let Some(pattern) = text(value).filter(|pattern| is_small_pattern(pattern)) else {
            return unusable(Kind::UnusablePattern, "sh:pattern is no text, or larger than is run");
        };
        let flags = self.values("flags").next();
        let flags = flags.as_ref().and_then(text);
        match RDFRegex::new(pattern, flags) {
            Ok(_) => Ok(()),
            Err(error) => {
                let error = error.to_string();
                let last = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                unusable(Kind::UnusablePattern, format!("sh:pattern does not compile: {last}"))
            }
        }
    }

    /// The shape's types: an implicit class target, and a kind that agrees with `sh:path`.
    fn check_kind(&mut self, shape: &mut Shape) -> Result<(), Fault> {
        let is_a = |class: &str| {
            self.source.contains(TripleRef::new(
                self.node,
                rdf_terms::TYPE,
                NamedNodeRef::new_unchecked(class),
            ))
        };
        let (node_shape, property_shape) = (is_a(sh::NODE_SHAPE), is_a(sh_iri("PropertyShape").as_str()));
        if (node_shape && shape.path.is_some()) || (property_shape && shape.path.is_none()) {
            return unusable(Kind::WrongKind, "it is not of the kind that it is typed as");
        }
        if is_a(RDFS_CLASS) {
            let NamedOrBlankNode::NamedNode(class) = self.node else {
                return unusable(Kind::InferredShape, "a shape that is a class has no IRI");
            };
            if !node_shape && !property_shape {
                return unusable(
                    Kind::InferredShape,
                    format!("{class} is a class and a shape, but is not typed as a shape"),
                );
            }
            shape.targets.push(TargetSelector::Class(class.clone()));
        }
        // The engine finds every shape that was read, whatever made it one.
        let kind = if shape.path.is_some() { sh_iri("PropertyShape") } else { sh_iri("NodeShape") };
        self.graph.insert(TripleRef::new(self.node, rdf_terms::TYPE, kind.as_ref()));
        Ok(())
    }

    fn target(&self, name: &str, value: &Term) -> Result<TargetSelector, Fault> {
        match (name, value) {
            // Selected here, so it need not survive the engine's reading.
            ("targetNode", Term::NamedNode(_) | Term::Literal(_)) => Ok(TargetSelector::Node(value.clone())),
            ("targetClass", Term::NamedNode(iri)) => Ok(TargetSelector::Class(iri.clone())),
            ("targetSubjectsOf", Term::NamedNode(iri)) => Ok(TargetSelector::SubjectsOf(iri.clone())),
            ("targetObjectsOf", Term::NamedNode(iri)) => Ok(TargetSelector::ObjectsOf(iri.clone())),
            _ => unusable(Kind::UnusableValue, format!("sh:{name} has a value that is not used")),
        }
    }

    fn list(&mut self, head: &Term) -> Result<Vec<Term>, Fault> {
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

    fn copy(&mut self, name: &str, value: &Term) {
        self.graph.insert(TripleRef::new(self.node, sh_iri(name).as_ref(), value.as_ref()));
    }
}

impl Shape {
    /// Records what one value of a parameter means for recursion and vacuity.
    fn note(&mut self, parameter: &Parameter, value: &Term, members: Vec<NamedOrBlankNode>) {
        self.references.extend(members.iter().cloned());
        let force = &mut self.force;
        match (parameter.name, flag(value)) {
            ("qualifiedValueShapesDisjoint", said) => self.disjoint = said == Some(true),
            ("deactivated", said) => self.deactivated = said == Some(true),
            ("property", _) => force.properties.extend(members),
            ("node" | "and", _) => force.conjuncts.extend(members),
            ("not", _) => force.negated.extend(members),
            ("or", _) => force.disjuncts.push(members),
            ("xone", _) => force.exclusive.push(members),
            ("uniqueLang" | "closed", said) => force.judge(said == Some(true)),
            ("nodeKind", _) => force.judge_values(Verdict::of_node_kind(sh_name(value))),
            ("class", _) => force.judge_values(Verdict::of_class(value)),
            (
                "datatype" | "languageIn" | "minInclusive" | "minExclusive" | "maxInclusive" | "maxExclusive",
                _,
            ) => force.judge_values(Verdict::LITERALS),
            ("pattern" | "in", _) => force.judge_values(Verdict::NO_BLANK),
            ("hasValue", _) => force.has.push(value.clone()),
            ("equals", _) => force.equals.push(value.clone()),
            (
                "minCount" | "maxCount" | "minLength" | "maxLength" | "qualifiedMinCount"
                | "qualifiedMaxCount",
                _,
            ) => {
                let bound = count(value).unwrap_or_default();
                if parameter.name == "maxLength" || (parameter.name == "minLength" && bound > 0) {
                    force.judge_values(Verdict::NO_BLANK);
                }
                force.counts.insert(parameter.name, bound);
            }
            ("qualifiedValueShape", _) => force.qualified.extend(members),
            _ => force.judge(parameter.role == Role::Constraint),
        }
    }
}
