//! Stage 1: octets to an [`Envelope`].

use super::Admitted;
use crate::config::Config;
use crate::refusal::{Refusal, Stage};
use crate::request::Request;

/// Reads the message strictly, sorts its parts by kind, and checks tagging and activation.
///
/// # Errors
/// `MESSAGE_TOO_LARGE`, `MESSAGE_MALFORMED`, `LIMIT_EXCEEDED`, `MEDIA_TYPE_UNSUPPORTED`, `WRONG_KIND`,
/// `EXTENSION_NOT_ACTIVE`, `EXTENSION_NOT_TAGGED`, `PROTOCOL_REQUIRED`.
pub(crate) fn admit(request: &Request, config: &Config) -> Result<Admitted, Refusal> {
    let _ = (request, config);
    Err(Refusal::internal(Stage::Admit, "not implemented"))
}
