//! JSON-LD against published vectors and against hostile documents.

mod hostile;
mod suites;
mod vanishing;
