//! Protocol Documents: read, hashed, pinned, and found again by their hash; the upgrade handshake's codec, and the state
//! of each conversation.
//!
//! A document is trusted because its graph hashes to a pin of the configuration, never because of a name, a URL or a
//! file (HASH-1, SEC-11). The hash is recomputed each time one is loaded.

pub mod conversation;
mod document;
mod finding;
pub mod handshake;
mod hash;
mod registry;
mod review;

pub(crate) use document::ReadFrom;
pub use document::{Binding, LoadError, ProtocolDocument, ProtocolSettings};
pub use finding::{Finding, FindingKind, Severity};
pub use hash::{ProtocolHash, ProtocolHashError};
pub use registry::ProtocolRegistry;
pub use review::{ActionClasses, Cost, Review};
