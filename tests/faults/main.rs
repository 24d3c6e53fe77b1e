//! An answered allow survives anything: I/O errors at every call, a full disk, `kill -9`, a power cut, broken files, other
//! processes, and a great many racing decisions.
//!
//! A test drives workers: this executable run again, under the faulty disk of `shim.c`. A worker decides and says each
//! answer on its standard output, after `Engine::decide` returned it. What it said is then held against the file, which is
//! opened anew without faults. `docs/ledger.md` says what is tried and how the long forms are run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod example;
mod faulty_calls;
mod files;
mod kills;
mod proof;
mod races;
mod worker;

/// Whether the long forms run: `WRITGATE_LONG=1`.
fn long() -> bool {
    std::env::var("WRITGATE_LONG").is_ok_and(|value| value == "1")
}

/// How many: what the variable says, or else the number of the form that runs.
fn how_many(variable: &str, short: usize, of_long: usize) -> usize {
    let given = std::env::var(variable).ok().map(|given| given.parse().expect("a number"));
    given.unwrap_or(if long() { of_long } else { short })
}
