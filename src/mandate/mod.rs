//! The mandate: a chain of hops from the owner of the target down to the delegate, each one credential and the one
//! policy that it binds (`mandate.md` 4 to 8).
//!
//! This folder owns stage 7 (`chain`: assembly and phases A to C), stage 8 (`reference`) and stage 9 (`odrl`: phase D
//! and composition).

mod assembly;
pub(crate) mod attenuate;
pub(crate) mod chain;
pub(crate) mod odrl;
mod reference;
#[cfg(test)]
mod support;

pub(crate) use chain::VerifiedChain;
pub(crate) use reference::PolicyReferences;
