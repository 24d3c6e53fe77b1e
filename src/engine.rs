//! The pipeline, on one screen.
//!
//! [`Engine::evaluate`] runs stages 1 to 9: pure and deterministic, without clock, I/O or writes. [`Engine::decide`]
//! takes the snapshot, evaluates, and runs stage 10 in one ledger transaction. Cheap checks come before dear ones, and
//! nothing is written before everything holds.
