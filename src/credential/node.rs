//! Reading one node of a paper's graph: how many values a property has, and of which kind.

use super::{PaperError, date_time};
use crate::request::Instant;
use crate::vocab::rdf;
use oxrdf::{Graph, LiteralRef, NamedNodeRef, NamedOrBlankNode, NamedOrBlankNodeRef, TermRef};

/// A node and the graph that it is read in.
#[derive(Clone, Copy)]
pub(super) struct NodeView<'g> {
    graph: &'g Graph,
    node: NamedOrBlankNodeRef<'g>,
}

impl<'g> NodeView<'g> {
    pub(super) fn new(graph: &'g Graph, node: NamedOrBlankNodeRef<'g>) -> Self {
        Self { graph, node }
    }

    /// The one subject of the graph that has this class.
    ///
    /// # Errors
    /// `MALFORMED` where there is none, or several.
    pub(super) fn only_instance(graph: &'g Graph, class: &str) -> Result<Self, PaperError> {
        let mut subjects = graph.subjects_for_predicate_object(iri(rdf::TYPE), iri(class));
        match (subjects.next(), subjects.next()) {
            (Some(node), None) => Ok(Self { graph, node }),
            _ => Err(PaperError::malformed(format!("not exactly one node of type <{class}>"))),
        }
    }

    pub(super) fn node(&self) -> NamedOrBlankNodeRef<'g> {
        self.node
    }

    /// The node's IRI, where it has one.
    pub(super) fn iri(&self) -> Option<String> {
        match self.node {
            NamedOrBlankNodeRef::NamedNode(node) => Some(node.as_str().to_owned()),
            NamedOrBlankNodeRef::BlankNode(_) => None,
        }
    }

    pub(super) fn has_type(&self, class: &str) -> bool {
        self.objects(rdf::TYPE).any(|object| object == TermRef::from(iri(class)))
    }

    pub(super) fn predicates(&self) -> impl Iterator<Item = &'g str> + 'g {
        self.graph.triples_for_subject(self.node).map(|triple| triple.predicate.as_str())
    }

    pub(super) fn objects(&self, predicate: &'g str) -> impl Iterator<Item = TermRef<'g>> + 'g {
        self.graph.objects_for_subject_predicate(self.node, iri(predicate))
    }

    /// # Errors
    /// `MALFORMED` where there are several values.
    pub(super) fn at_most_one(&self, predicate: &'g str) -> Result<Option<TermRef<'g>>, PaperError> {
        let mut objects = self.objects(predicate);
        match (objects.next(), objects.next()) {
            (first, None) => Ok(first),
            _ => Err(PaperError::malformed(format!("more than one value of <{predicate}>"))),
        }
    }

    /// # Errors
    /// `MALFORMED` where there is not exactly one value.
    pub(super) fn one(&self, predicate: &'g str) -> Result<TermRef<'g>, PaperError> {
        self.at_most_one(predicate)?
            .ok_or_else(|| PaperError::malformed(format!("no value of <{predicate}>")))
    }

    /// # Errors
    /// `MALFORMED` where there is not exactly one value, or it is not an IRI.
    pub(super) fn one_iri(&self, predicate: &'g str) -> Result<String, PaperError> {
        as_iri(self.one(predicate)?).ok_or_else(|| not_of_its_kind(predicate))
    }

    /// The one node that the property points to.
    ///
    /// # Errors
    /// `MALFORMED` where there is not exactly one value, or it is a literal.
    pub(super) fn one_node(&self, predicate: &'g str) -> Result<Self, PaperError> {
        let node = as_node(self.one(predicate)?).ok_or_else(|| not_of_its_kind(predicate))?;
        Ok(Self { graph: self.graph, node })
    }

    /// The nodes that the property points to, in order of their names: a graph has an order of its own each time that
    /// it is made, and of two that are wrong, the one that is reported must be the same.
    ///
    /// # Errors
    /// `MALFORMED` where a value is a literal.
    pub(super) fn nodes(&self, predicate: &'g str) -> Result<Vec<Self>, PaperError> {
        let mut nodes = self
            .objects(predicate)
            .map(|object| match as_node(object) {
                Some(node) => Ok(Self { graph: self.graph, node }),
                None => Err(not_of_its_kind(predicate)),
            })
            .collect::<Result<Vec<_>, _>>()?;
        nodes.sort_by_cached_key(|view| view.node.to_string());
        Ok(nodes)
    }

    /// A plain string (`xsd:string`, no language).
    ///
    /// # Errors
    /// `MALFORMED` where there are several values, or the value is something else.
    pub(super) fn optional_text(&self, predicate: &'g str) -> Result<Option<String>, PaperError> {
        self.at_most_one(predicate)?
            .map(|object| as_text(object, rdf::XSD_STRING).ok_or_else(|| not_of_its_kind(predicate)))
            .transpose()
    }

    /// An `xsd:dateTime` with a zone.
    ///
    /// # Errors
    /// `MALFORMED` where there are several values, or the value is something else.
    pub(super) fn optional_instant(&self, predicate: &'g str) -> Result<Option<Instant>, PaperError> {
        self.at_most_one(predicate)?
            .map(|object| {
                as_text(object, rdf::XSD_DATE_TIME)
                    .and_then(|text| date_time::parse(&text))
                    .ok_or_else(|| PaperError::malformed(format!("<{predicate}> is not an instant")))
            })
            .transpose()
    }

    /// The texts of a property's literals, whatever their datatype, and of its IRIs, in order.
    ///
    /// # Errors
    /// `MALFORMED` where a value is a blank node.
    pub(super) fn texts(&self, predicate: &'g str) -> Result<Vec<String>, PaperError> {
        let mut texts = self
            .objects(predicate)
            .map(|object| match object {
                TermRef::NamedNode(node) => Ok(node.as_str().to_owned()),
                TermRef::Literal(literal) => Ok(literal.value().to_owned()),
                _ => Err(not_of_its_kind(predicate)),
            })
            .collect::<Result<Vec<_>, _>>()?;
        texts.sort_unstable();
        Ok(texts)
    }

    /// The texts of a property's literals, in order.
    ///
    /// # Errors
    /// `MALFORMED` where a value is not a literal.
    pub(super) fn literals(&self, predicate: &'g str) -> Result<Vec<String>, PaperError> {
        if self.objects(predicate).any(|object| !matches!(object, TermRef::Literal(_))) {
            return Err(not_of_its_kind(predicate));
        }
        self.texts(predicate)
    }

    /// The IRIs of a property, in order.
    ///
    /// # Errors
    /// `MALFORMED` where a value is not an IRI.
    pub(super) fn iris(&self, predicate: &'g str) -> Result<Vec<String>, PaperError> {
        if self.objects(predicate).any(|object| !matches!(object, TermRef::NamedNode(_))) {
            return Err(not_of_its_kind(predicate));
        }
        self.texts(predicate)
    }
}

/// An IRI of our own vocabulary.
pub(super) fn iri(text: &str) -> NamedNodeRef<'_> {
    NamedNodeRef::new_unchecked(text)
}

pub(super) fn as_iri(term: TermRef<'_>) -> Option<String> {
    match term {
        TermRef::NamedNode(node) => Some(node.as_str().to_owned()),
        _ => None,
    }
}

pub(crate) fn as_node(term: TermRef<'_>) -> Option<NamedOrBlankNodeRef<'_>> {
    match term {
        TermRef::NamedNode(node) => Some(node.into()),
        TermRef::BlankNode(node) => Some(node.into()),
        _ => None,
    }
}

/// The lexical form of a literal of exactly this datatype.
pub(super) fn as_text(term: TermRef<'_>, datatype: &str) -> Option<String> {
    let literal: LiteralRef<'_> = match term {
        TermRef::Literal(literal) => literal,
        _ => return None,
    };
    (literal.datatype() == iri(datatype)).then(|| literal.value().to_owned())
}

pub(super) fn owned(node: NamedOrBlankNodeRef<'_>) -> NamedOrBlankNode {
    node.into_owned()
}

fn not_of_its_kind(predicate: &str) -> PaperError {
    PaperError::malformed(format!("a value of <{predicate}> is not of its kind"))
}
