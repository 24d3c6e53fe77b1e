//! What the two agents share: the judge in front of each, the wire, and what they say on standard output.
//!
//! They are an example and a test, on the official A2A SDK. Keys and mandates are Writgate's worked example: TEST-ONLY.

pub mod client;
pub mod judge;
pub mod server;
pub mod steps;
pub mod wire;
