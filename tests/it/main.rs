//! Writgate as its users meet it: through the public API, and through the files that it ships.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod admission;
mod command_line;
mod delegation;
mod documents;
mod hostile;
mod jose;
mod mutation;
mod public_interface;
mod support;
mod vectors;
