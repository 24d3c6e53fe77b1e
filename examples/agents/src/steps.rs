//! What an agent says on standard output, and where it can be stopped.

use std::fmt;
use std::io::{self, Write as _};

/// The steps of an agent's run.
#[derive(Debug, Clone)]
pub struct Steps {
    pause_at: Option<String>,
}

impl Steps {
    /// Steps of which one may be the last: there the agent stops, and waits to be killed.
    pub fn new(pause_at: Option<String>) -> Self {
        Self { pause_at }
    }

    /// Says that a step was reached.
    pub fn reached(&self, step: &str) {
        say(format_args!("step: {step}"));
        while self.pause_at.as_deref() == Some(step) {
            std::thread::park();
        }
    }
}

/// One line on standard output. An agent that nobody listens to any more ends.
pub fn say(line: fmt::Arguments<'_>) {
    let mut output = io::stdout().lock();
    if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
        std::process::exit(1);
    }
}
