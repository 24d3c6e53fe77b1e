//! JSON-LD against published vectors and against hostile documents.

mod hostile;
mod recognised;
mod suites;
mod vanishing;
