//! Writgate as its users meet it: through the public API, and through the files that it ships.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod admission;
mod attacks;
mod audit_page;
mod binding;
mod card;
mod challenge_commands;
mod challenges;
mod command_line;
mod consulted;
mod conversation_attacks;
mod conversation_commands;
mod conversation_model;
mod conversations;
mod delegates;
mod delegation;
mod documents;
mod fetching;
mod handshake;
mod hostile;
mod interop;
mod jose;
mod mandate_commands;
mod mutation;
mod negotiation;
mod order;
mod papers;
mod precedence;
mod public_interface;
mod reading;
mod refresh;
mod replay;
mod response;
mod retention;
mod review_command;
mod status;
mod support;
mod tampering;
mod three;
mod vectors;
