//! Signing as an attacker's own software would: whatever the document says. `credential::issue` reads back what it made
//! and gives out nothing that would be refused; the wrong papers of the example have to come from somewhere else.

use super::ExampleError;
use crate::credential::issue::{self, IssueError, SigningKey};
use crate::limits::Limits;
use crate::rdf::Budget;
use crate::request::Instant;
use serde_json::{Map, Value};

/// Signs any document for a purpose, with `more` among the signed options, in place of the usual ones where they have the
/// same names. Nothing is read back: this is for papers that should be refused.
///
/// # Errors
/// [`ExampleError::Issue`] where the document or the options have no canonical form.
pub fn sign(
    key: &SigningKey,
    document: Value,
    purpose: &str,
    created: Instant,
    more: Map<String, Value>,
) -> Result<Value, ExampleError> {
    let Value::Object(document) = document else {
        return Err(IssueError::Refused("a paper is an object".to_owned()).into());
    };
    // Nobody holds an attacker to our limits.
    let limits = Limits { term_bytes: 1 << 20, graph_bytes: 1 << 20, ..Limits::default() };
    let mut options = issue::proof_options(key, purpose, created);
    options.extend(more);
    Ok(issue::secure(key, document, options, &limits, &mut Budget::new(&limits))?)
}

/// Sets the member at a path of member names; null removes it.
pub(super) fn set(document: &mut Value, path: &[&str], value: Value) {
    let Some((name, parents)) = path.split_last() else { return };
    let object = parents.iter().try_fold(document, |value, parent| value.get_mut(*parent));
    let Some(members) = object.and_then(Value::as_object_mut) else { return };
    if value.is_null() {
        members.remove(*name);
    } else {
        members.insert((*name).to_owned(), value);
    }
}
