//! JSON-LD safe mode: every member and value of the input is answered by a quad, or the document is refused.
