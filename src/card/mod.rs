//! The extension on an Agent Card: our own entry, written from the configuration, and a peer's, read before the first
//! message to it.
//!
//! This folder owns the form of the entry (A2A v1.0 `AgentExtension`, and the `params` that the extension gives it). What
//! a declaration means for a conversation is not decided here.

mod own;
mod peer;

pub use peer::{CardError, DeclaredDocument, PeerExtension};

/// The RDF media types that are read and written here (DECL-1, DECL-2).
const FORMATS: [&str; 2] = ["text/turtle", "application/ld+json"];
