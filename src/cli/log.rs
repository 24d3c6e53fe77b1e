//! What the library warns of, on standard error: a refusal names no cause that a peer may not know, and whoever runs a command
//! must.

use super::output;
use std::fmt::{Debug, Write as _};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// Tells of warnings and errors, a line for each.
struct ToStandardError;

/// From here on, what goes wrong is told. What else the library logs is for servers.
pub(super) fn begin() {
    // Refused only where a program that links the library has set another one, which then tells.
    let _ = tracing::subscriber::set_global_default(ToStandardError);
}

/// The message, and then each field.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, "; {name}: {value:?}"),
        };
    }
}

impl Subscriber for ToStandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN && metadata.target().starts_with("writgate")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        eprintln!("writgate: {}{}", output::escaped(&line.message), output::escaped(&line.fields));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
