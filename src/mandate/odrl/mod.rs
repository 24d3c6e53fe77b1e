//! Stage 9: ODRL policies, read strictly and judged in three-valued logic (`mandate.md` 6 to 8).
//!
//! Undetermined never helps the requester: a permission does not match on it, a prohibition does.

pub(crate) mod action;
pub(crate) mod contain;
mod delegation;
pub(crate) mod draft;
pub(crate) mod evaluate;
mod explain;
pub(crate) mod facts;
pub(crate) mod hops;
mod implication;
mod model;
mod parse;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod value;
mod words;

pub(crate) use action::of_name as action_of_name;
pub(crate) use contain::Excess;
pub(crate) use delegation::PolicyGrant;
pub(crate) use draft::{Narrowing, constraint_of_text, term_of_text};
pub(crate) use evaluate::{CountSource, OdrlRequest, Work};
pub(crate) use facts::{Facts, StoredFacts};
pub(crate) use hops::{ChainVerdict, Denial, before_any_request, evaluate_chain};
pub(crate) use model::Policy;
pub(crate) use parse::{PolicyError, policy_id};
pub(crate) use words::{PolicyOutline, RuleOutline};
