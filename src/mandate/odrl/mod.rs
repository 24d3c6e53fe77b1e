//! Stage 9: ODRL policies, read strictly and judged in three-valued logic (`mandate.md` 6 to 8).
//!
//! Undetermined never helps the requester: a permission does not match on it, a prohibition does.

mod action;
mod delegation;
mod evaluate;
mod facts;
mod hops;
mod model;
mod parse;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use delegation::PolicyGrant;
pub(crate) use hops::Denial;
pub(crate) use model::Policy;
pub(crate) use parse::{PolicyError, policy_id};
