//! Reading constraints, refinements and the RDF lists in them.

use super::{PolicyError, Reader, subject};
use crate::mandate::odrl::model::{Constraint, Logic, Operator};
use crate::mandate::odrl::value::Value;
use crate::vocab::{odrl, rdf};
use oxrdf::{NamedOrBlankNodeRef, TermRef};
use std::collections::{BTreeSet, HashSet};

impl<'g> Reader<'g> {
    /// The constraints or refinements of a node; `depth` counts the logical constraints around them.
    pub(super) fn constraints(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        property: &'static str,
        depth: usize,
    ) -> Result<Vec<Constraint>, PolicyError> {
        let mut constraints = Vec::new();
        for term in self.objects(node, property) {
            constraints.push(self.constraint(term, depth)?);
        }
        constraints.sort();
        Ok(constraints)
    }

    fn constraint(&mut self, term: TermRef<'g>, depth: usize) -> Result<Constraint, PolicyError> {
        self.step()?;
        if depth >= self.limits.constraint_depth {
            return Err(PolicyError::TooLarge("constraint_depth"));
        }
        let Some(node) = subject(term) else { return Ok(Constraint::Unreadable("it is a literal")) };
        self.reached.insert(node);
        let logical: Vec<_> =
            Logic::ALL.into_iter().filter(|(_, iri)| !self.objects(node, iri).is_empty()).collect();
        match logical.as_slice() {
            [] => self.comparison(node),
            [(logic, iri)] => self.logical(node, *logic, iri, depth),
            _ => Ok(Constraint::Unreadable("it has two logical operators")),
        }
    }

    fn comparison(&mut self, node: NamedOrBlankNodeRef<'g>) -> Result<Constraint, PolicyError> {
        if self.has_unknown(node, &[odrl::LEFT_OPERAND, odrl::OPERATOR, odrl::RIGHT_OPERAND]) {
            return Ok(Constraint::Unreadable("it has a property that is not known here"));
        }
        let left = self.objects(node, odrl::LEFT_OPERAND);
        let [TermRef::NamedNode(operand)] = left.as_slice() else {
            return Ok(Constraint::Unreadable("its left operand is not one IRI"));
        };
        let operators = self.objects(node, odrl::OPERATOR);
        let operator = match operators.as_slice() {
            [TermRef::NamedNode(operator)] => Operator::of_iri(operator.as_str()),
            _ => None,
        };
        let Some(operator) = operator else {
            return Ok(Constraint::Unreadable("its operator is not one that is known here"));
        };
        let Some(right) = self.right_operands(node)? else {
            return Ok(Constraint::Unreadable("its right operand is a list that cannot be read"));
        };
        Ok(Constraint::Compare { operand: operand.as_str().to_owned(), operator, right })
    }

    /// The right operands as a set; an RDF list among them stands for its items.
    fn right_operands(&mut self, node: NamedOrBlankNodeRef<'g>) -> Result<Option<Vec<Value>>, PolicyError> {
        let mut right = BTreeSet::new();
        for term in self.objects(node, odrl::RIGHT_OPERAND) {
            self.step()?;
            if !self.is_list(term) {
                right.insert(Value::of(term));
                continue;
            }
            let Some(items) = self.list(term)? else { return Ok(None) };
            right.extend(items.into_iter().map(Value::of));
        }
        Ok(Some(right.into_iter().collect()))
    }

    fn logical(
        &mut self,
        node: NamedOrBlankNodeRef<'g>,
        logic: Logic,
        iri: &'static str,
        depth: usize,
    ) -> Result<Constraint, PolicyError> {
        if self.has_unknown(node, &[iri]) {
            return Ok(Constraint::Unreadable("it has a property beside its logical operator"));
        }
        let objects = self.objects(node, iri);
        // One list, or the operands themselves; a mixture has no reading.
        let terms = match objects.as_slice() {
            [list] if self.is_list(*list) => self.list(*list)?,
            plain if !plain.iter().any(|term| self.is_list(*term)) => Some(objects),
            _ => None,
        };
        let Some(terms) = terms else { return Ok(Constraint::Unreadable("its operands are not one list")) };
        let mut operands = Vec::new();
        for term in terms {
            operands.push(self.constraint(term, depth + 1)?);
        }
        operands.sort();
        Ok(Constraint::Logical { logic, operands })
    }

    fn is_list(&self, term: TermRef<'g>) -> bool {
        match term {
            TermRef::NamedNode(node) if node.as_str() == rdf::NIL => true,
            term => subject(term).is_some_and(|node| {
                [rdf::FIRST, rdf::REST].iter().any(|property| !self.objects(node, property).is_empty())
            }),
        }
    }

    /// The items of a well-formed list; `None` for one that is cyclic, forked or cut off.
    fn list(&mut self, head: TermRef<'g>) -> Result<Option<Vec<TermRef<'g>>>, PolicyError> {
        let mut items = Vec::new();
        let mut seen = HashSet::new();
        let mut at = head;
        loop {
            self.step()?;
            if matches!(at, TermRef::NamedNode(node) if node.as_str() == rdf::NIL) {
                return Ok(Some(items));
            }
            let Some(cell) = subject(at) else { return Ok(None) };
            self.reached.insert(cell);
            let (first, rest) = (self.objects(cell, rdf::FIRST), self.objects(cell, rdf::REST));
            let ([item], [next]) = (first.as_slice(), rest.as_slice()) else { return Ok(None) };
            if !seen.insert(cell) || self.has_unknown(cell, &[rdf::FIRST, rdf::REST]) {
                return Ok(None);
            }
            items.push(*item);
            at = *next;
        }
    }
}
