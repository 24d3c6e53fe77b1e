//! Writgate as its users meet it: through the public API, and through the files that it ships.

mod admission;
mod command_line;
mod documents;
mod hostile;
mod public_interface;
mod support;
mod vectors;
