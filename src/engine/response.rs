//! Responses under a Protocol Document, outgoing and incoming (PP-4, PDM-2).

use super::Engine;
use crate::config::Config;
use crate::message::UnjudgedPart;
use crate::message::response::{ResponseFacts, ResponseGraph, ResponseInput, ResponsePart};
use crate::protocol::{ProtocolDocument, ProtocolHash};
use crate::refusal::{Reason, Refusal, Stage};
use crate::shape::judge_response;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A response that is well-formed and conforms to its Protocol Document. Only [`Engine::check_response`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct CheckedResponse {
    protocol_hash: ProtocolHash,
    is_shaped: bool,
    part: usize,
    graph_hash: String,
    unjudged: Vec<UnjudgedPart>,
    parsed_by_caller: bool,
}

impl CheckedResponse {
    /// The Protocol Document that the response is under.
    pub fn protocol_hash(&self) -> &ProtocolHash {
        &self.protocol_hash
    }

    /// Whether the document has response shapes, to each of which the response conforms. If not, the response is
    /// well-formed RDF, and nothing was said about what it must be.
    pub fn is_shaped(&self) -> bool {
        self.is_shaped
    }

    /// The place of the response's part, from 0.
    pub fn part(&self) -> usize {
        self.part
    }

    /// `sha256:` and the hexadecimal RDFC-1.0 hash of the response's graph.
    pub fn graph_hash(&self) -> &str {
        &self.graph_hash
    }

    /// Parts beside the response. They were not judged, and nothing may be done on their word.
    pub fn unjudged(&self) -> &[UnjudgedPart] {
        &self.unjudged
    }

    /// Whether the caller parsed the response, so that the strict reader saw only what that parser kept.
    pub fn is_parsed_by_caller(&self) -> bool {
        self.parsed_by_caller
    }
}

impl Engine {
    /// Checks an `intent-response` in a message or an artifact: before our agent sends it, or after it came in. `expected`
    /// is the hash under which the intent was sent; a response under another hash is refused.
    ///
    /// The response must conform to every `a2a:responseShape` of the document (PP-4, PDM-2). The statements do not say
    /// which node a response shape judges. Here a shape with targets judges what they select, as in SHACL, and a shape
    /// without any judges the graph's root: the one subject that no triple has as its object, from which all others are
    /// reached. A response shape that judges nothing refuses, since that the response conforms was then not shown.
    ///
    /// It reads no clock, no ledger and no network, and permits nothing. A refusal of an outgoing response is our own
    /// agent's fault: what its client gets is [`crate::A2aError::internal`].
    ///
    /// ```
    /// use writgate::message::{ResponseFacts, ResponseInput};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use writgate::{ConfigFile, Engine, SystemClock, ledger::SqliteLedger};
    /// # let config = ConfigFile::read("vectors/writgate.toml".as_ref())?.load(chrono::Utc::now())?;
    /// # let ledger = SqliteLedger::in_memory_first(config.default_domain(), config.skew())?;
    /// # let engine = Engine::new(config, std::sync::Arc::new(ledger), std::sync::Arc::new(SystemClock))?;
    /// let hash = "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509";
    /// let artifact = serde_json::json!({
    ///     "artifactId": "a-1",
    ///     "extensions": ["https://w3id.org/jeswr/a2a-rdf/v1"],
    ///     "parts": [{
    ///         "text": "<urn:example:grant> a <https://schema.org/GiveAction> .",
    ///         "mediaType": "text/turtle",
    ///         "metadata": {
    ///             "https://w3id.org/jeswr/a2a-rdf/v1/kind": "intent-response",
    ///             "https://w3id.org/jeswr/a2a-rdf/v1/protocolHash": hash,
    ///         },
    ///     }],
    /// });
    /// let response = ResponseInput::ArtifactBytes(serde_json::to_vec(&artifact)?);
    /// let checked = engine.check_response(&response, &hash.parse()?, &ResponseFacts::default())?;
    /// assert!(!checked.is_shaped(), "the document of the example has no response shape");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `MESSAGE_TOO_LARGE`, `MESSAGE_MALFORMED`, `LIMIT_EXCEEDED`, `EXTENSION_NOT_TAGGED`, `EXTENSION_NOT_ACTIVE`,
    /// `WRONG_KIND`, `MEDIA_TYPE_UNSUPPORTED`, `MISSING_PROTOCOL_HASH`, `HASH_PREFIX_UNKNOWN`, `UNKNOWN_PROTOCOL`,
    /// `GRAPH_MALFORMED`, `GRAPH_TOO_LARGE`, `REMOTE_CONTEXT`, `SHAPE_VIOLATION` with the W3C validation report,
    /// `VALIDATION_BUDGET_EXCEEDED`, `INTERNAL`.
    pub fn check_response(
        &self,
        response: &ResponseInput,
        expected: &ProtocolHash,
        facts: &ResponseFacts,
    ) -> Result<CheckedResponse, Refusal> {
        check(&self.config, response, expected, facts)
    }
}

/// [`Engine::check_response`], which needs nothing but the configuration.
pub(crate) fn check(
    config: &Config,
    response: &ResponseInput,
    expected: &ProtocolHash,
    facts: &ResponseFacts,
) -> Result<CheckedResponse, Refusal> {
    check_watched(config, response, expected, facts, &mut |_| ())
}

/// [`check`], telling `watch` which stage is about to run. The watcher cannot change the answer.
fn check_watched(
    config: &Config,
    response: &ResponseInput,
    expected: &ProtocolHash,
    facts: &ResponseFacts,
    watch: &mut dyn FnMut(Stage),
) -> Result<CheckedResponse, Refusal> {
    let stage = Cell::new(Stage::Admit);
    let mut enter = |entered| {
        stage.set(entered);
        watch(entered);
    };
    // A panic can only come from a dependency. All that it leaves behind is the stage.
    let checked =
        catch_unwind(AssertUnwindSafe(|| check_stages(config, response, expected, facts, &mut enter)));
    let checked = checked.unwrap_or_else(|_| Err(Refusal::internal(stage.get(), "a dependency panicked")));
    checked.map_err(|refusal| refusal.cut_to(config.limits.evidence_chars))
}

fn check_stages(
    config: &Config,
    response: &ResponseInput,
    expected: &ProtocolHash,
    facts: &ResponseFacts,
    enter: &mut dyn FnMut(Stage),
) -> Result<CheckedResponse, Refusal> {
    let limits = &config.limits;
    enter(Stage::Admit);
    let ResponsePart { part, unjudged, parsed_by_caller } =
        ResponsePart::read(response, expected, facts, limits)?;
    enter(Stage::Protocol);
    let protocol = document(config, expected)?;
    enter(Stage::Intent);
    let graph = ResponseGraph::read(&part, limits)?;
    enter(Stage::Shape);
    let is_shaped = judge_response(&graph, &protocol, limits)?;
    Ok(CheckedResponse {
        protocol_hash: expected.clone(),
        is_shaped,
        part: part.index,
        graph_hash: graph.hash,
        unjudged,
        parsed_by_caller,
    })
}

/// The pinned document. That it is agreed in the conversation is the caller's statement, who names it.
fn document(config: &Config, hash: &ProtocolHash) -> Result<Arc<ProtocolDocument>, Refusal> {
    config.protocols.find(hash).cloned().ok_or_else(|| {
        Refusal::new(Stage::Protocol, Reason::UnknownProtocol)
            .with(|evidence| evidence.expected = Some(hash.to_string()))
            .detail("no document with this hash is configured")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::{EXTENSION, META_KIND, META_PROTOCOL_HASH};
    use crate::worked_example::World;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn a_panic_while_a_response_is_checked_is_a_refusal() {
        let world = World::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let config = world.config(chrono::Utc::now()).unwrap();
        let hash = config.protocols.iter().next().unwrap().hash().clone();
        let artifact = json!({
            "artifactId": "a", "extensions": [EXTENSION],
            "parts": [{
                "text": "[] a <urn:x> .", "mediaType": "text/turtle",
                "metadata": {META_KIND: "intent-response", META_PROTOCOL_HASH: hash.as_str()},
            }],
        });
        let input = ResponseInput::ArtifactBytes(serde_json::to_vec(&artifact).unwrap());
        let facts = ResponseFacts::default();
        assert!(check(&config, &input, &hash, &facts).is_ok());
        for stage in [Stage::Admit, Stage::Protocol, Stage::Intent, Stage::Shape] {
            let checked =
                check_watched(&config, &input, &hash, &facts, &mut |entered| assert_ne!(entered, stage));
            let refusal = checked.unwrap_err();
            assert_eq!((refusal.reason(), refusal.stage()), (Reason::Internal, stage));
        }
    }
}
