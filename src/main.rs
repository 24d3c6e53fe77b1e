//! The writgate binary.
fn main() {}
