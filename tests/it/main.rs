//! Writgate as its users meet it: through the public API, and through the files that it ships.

mod admission;
mod documents;
mod hostile;
mod support;
