//! The extension on an Agent Card: our own entry, written from the configuration, and a peer's, read before the first
//! message to it.
//!
//! This folder owns the form of the entry (A2A v1.0 `AgentExtension`, and the `params` that the extension gives it). What
//! a declaration means for a conversation is not decided here.

mod own;
mod peer;

pub use peer::{CardError, DeclaredDocument, PeerExtension, names_domain};

use crate::vocab::EXTENSION;

/// The RDF media types that are read and written here (DECL-1, DECL-2).
const FORMATS: [&str; 2] = ["text/turtle", "application/ld+json"];

/// The extension's URI, if one of the values of the `A2A-Extensions` service parameter lists it. Each value is a list that
/// commas divide, and URIs compare exactly (URI-1).
///
/// An agent puts what this says of a request into [`crate::CallerFacts::activated`] and, having activated the extension,
/// into the `A2A-Extensions` of its answer (ACT-1). For a client, what this says of an answer is whether the agent
/// activated the extension; if it did not, it speaks baseline A2A (ACT-3, ACT-4).
///
/// ```
/// use writgate::card::activation;
///
/// let ours = "https://w3id.org/jeswr/a2a-rdf/v1";
/// assert_eq!(activation(["https://a.example/x/v1, https://w3id.org/jeswr/a2a-rdf/v1"]), Some(ours));
/// assert_eq!(activation(["https://w3id.org/jeswr/a2a-rdf/v2"]), None);
/// ```
pub fn activation<'value>(values: impl IntoIterator<Item = &'value str>) -> Option<&'static str> {
    let mut uris = values.into_iter().flat_map(|value| value.split(','));
    uris.any(|uri| uri.trim_matches([' ', '\t']) == EXTENSION).then_some(EXTENSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activation_is_the_exact_uri_in_any_value_of_the_parameter() {
        for values in [
            &[EXTENSION][..],
            &["https://a.example/x", EXTENSION],
            &["https://a.example/x ,\thttps://w3id.org/jeswr/a2a-rdf/v1 ,"],
        ] {
            assert_eq!(activation(values.iter().copied()), Some(EXTENSION), "{values:?}");
        }
        let (upper, below, quoted) =
            (EXTENSION.to_uppercase(), format!("{EXTENSION}/"), format!("\"{EXTENSION}\""));
        for values in
            [&[][..], &[""], &[&upper], &[&below], &[&quoted], &["https://w3id.org/jeswr/a2a-rdf/v2"]]
        {
            assert_eq!(activation(values.iter().copied()), None, "{values:?}");
        }
    }
}
