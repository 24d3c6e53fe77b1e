//! What a shape can refuse, as far as it shows without data: whether anything fails it, whether any intent does, and
//! whether nothing can pass.
//!
//! A shape that refuses nothing is no protocol. The reading errs towards "it refuses something", except where that can
//! be ruled out; the runtime judges the rest.

use super::syntax::Shape;
use oxrdf::NamedOrBlankNode;
use std::collections::HashMap;

/// The constraints of a shape, by what they do.
#[derive(Debug, Default)]
pub(super) struct Force {
    /// A constraint of its own that some value fails.
    judges: bool,
    /// One that some intent fails.
    judges_intents: bool,
    /// `sh:node` and the members of `sh:and`.
    pub(super) conjuncts: Vec<NamedOrBlankNode>,
    pub(super) properties: Vec<NamedOrBlankNode>,
    pub(super) negated: Vec<NamedOrBlankNode>,
    /// Members of each `sh:or`.
    pub(super) disjuncts: Vec<Vec<NamedOrBlankNode>>,
    /// Members of each `sh:xone`.
    pub(super) exclusive: Vec<Vec<NamedOrBlankNode>>,
    /// Counts and lengths.
    pub(super) counts: HashMap<&'static str, usize>,
    /// An `sh:in` without members.
    pub(super) nothing_in: bool,
}

impl Force {
    pub(super) fn judge(&mut self, judges: bool) {
        self.judges |= judges;
        self.judges_intents |= judges;
    }

    /// A constraint that some value fails, and an intent only where `intents` says so.
    pub(super) fn judge_values(&mut self, intents: bool) {
        self.judges = true;
        self.judges_intents |= intents;
    }
}

/// What a shape can refuse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Something fails it.
    refuses: bool,
    /// Some intent fails it.
    pub(super) refuses_an_intent: bool,
    /// Nothing passes it, certainly.
    passes_nothing: bool,
}

pub(super) type Forces = HashMap<NamedOrBlankNode, Known>;

/// What a shape can refuse, where that of the shapes it refers to is known.
pub(super) fn of(shape: &Shape, known: &Forces) -> Known {
    let force = &shape.force;
    let is = |node: &NamedOrBlankNode, what: fn(&Known) -> bool| known.get(node).is_some_and(what);
    let refuses: fn(&Known) -> bool = |known| known.refuses;
    let refuses_intent: fn(&Known) -> bool = |known| known.refuses_an_intent;
    let passes_nothing: fn(&Known) -> bool = |known| known.passes_nothing;
    let on_values = |of_conjunct: fn(&Known) -> bool| {
        force.conjuncts.iter().any(|child| is(child, of_conjunct))
            || force.properties.iter().any(|child| is(child, refuses))
            || force.disjuncts.iter().any(|list| list.iter().all(|child| is(child, of_conjunct)))
            || force.negated.iter().any(|child| !is(child, passes_nothing))
            || force.exclusive.iter().any(|list| {
                let pass = list.iter().filter(|child| !is(child, of_conjunct)).count();
                let never = list.iter().filter(|child| is(child, passes_nothing)).count();
                !(pass == 1 && never + 1 == list.len())
            })
    };
    let nothing_on_values = force.nothing_in
        || exceeds(force, "minLength", "maxLength")
        || force.negated.iter().any(|child| !is(child, refuses))
        || force.conjuncts.iter().chain(&force.properties).any(|child| is(child, passes_nothing))
        || force
            .disjuncts
            .iter()
            .chain(&force.exclusive)
            .any(|list| list.iter().all(|child| is(child, passes_nothing)));
    let has_path = shape.path.is_some();
    let needs_value = force.counts.get("minCount").is_some_and(|least| *least > 0);
    let passes_nothing = (nothing_on_values && (!has_path || needs_value))
        || exceeds(force, "minCount", "maxCount")
        || exceeds(force, "qualifiedMinCount", "qualifiedMaxCount")
        || exceeds(force, "qualifiedMinCount", "maxCount");
    let refuses_any = force.judges || on_values(refuses);
    Known {
        refuses: !shape.deactivated && refuses_any,
        refuses_an_intent: !shape.deactivated
            && if has_path { refuses_any } else { force.judges_intents || on_values(refuses_intent) },
        passes_nothing: !shape.deactivated && passes_nothing,
    }
}

/// Whether the least is more than the most.
fn exceeds(force: &Force, least: &str, most: &str) -> bool {
    matches!((force.counts.get(least), force.counts.get(most)), (Some(least), Some(most)) if least > most)
}
