//! What an agent server sends for a refusal, in the form of each A2A binding (ERR-1..3).
//!
//! Everything here is made of [`Refusal::public`], so that what may not leave is not at hand. Two refusals that are alike
//! to the public are alike here too, octet for octet.

use super::{PublicRefusal, Reason, Refusal, Stage, WireCode};
use crate::vocab::{EXTENSION, META_ERROR};
use a2a::{A2AError, JsonRpcError, JsonRpcId, JsonRpcResponse, TypedDetail, error_code, errordetails};
use serde_json::{Value, json};
use std::collections::HashMap;

/// A JSON-RPC code for an authorization failure. A2A has none ("JSON-RPC custom error", A2A 3.3.2) and keeps -32001 to
/// -32099; JSON-RPC keeps -32768 to -32000. What lies outside is an application's own.
const AUTHORIZATION_FAILED: i32 = -31_403;

/// The domain of `google.rpc.ErrorInfo` for what A2A does not define: the extension's.
const DOMAIN: &str = "w3id.org/jeswr/a2a-rdf/v1";

/// The media type of an HTTP+JSON error (A2A 11.6).
const HTTP_MEDIA_TYPE: &str = "application/a2a+json";

/// What a failure is to A2A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    InvalidParams,
    ContentTypeNotSupported,
    ExtensionSupportRequired,
    Authorization,
    Internal,
    Unavailable,
}

/// The codes of one failure in the three bindings (A2A 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct A2aCodes {
    /// `error.code` of JSON-RPC.
    pub json_rpc: i32,
    /// The number of the gRPC status.
    pub grpc: i32,
    /// The name of the gRPC status, which HTTP+JSON writes too.
    pub grpc_name: &'static str,
    /// The HTTP status.
    pub http: u16,
}

/// A failure as an agent server may send it. It holds nothing that is not public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct A2aError {
    failure: Failure,
    public: PublicRefusal,
}

/// An error of the HTTP+JSON binding.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpError {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Value,
}

/// An error of the gRPC binding: a `google.rpc.Status`.
#[derive(Debug, Clone, PartialEq)]
pub struct GrpcError {
    /// The number of the status.
    pub code: i32,
    /// The name of the status.
    pub name: &'static str,
    /// For a person.
    pub message: &'static str,
    /// Each a `google.protobuf.Any` in its JSON form. A server packs them into `grpc-status-details-bin`.
    pub details: Vec<Value>,
}

impl Refusal {
    /// What an agent server sends for this refusal: nothing but what [`Refusal::public`] lets leave.
    ///
    /// ```
    /// use a2a::JsonRpcId;
    /// use writgate::{CallerFacts, Decision, Engine, MessageInput};
    ///
    /// fn answer(engine: &Engine, message: Vec<u8>, facts: CallerFacts, id: JsonRpcId) -> Option<a2a::JsonRpcResponse> {
    ///     match engine.decide(MessageInput::Bytes(message), facts).decision {
    ///         Decision::Refuse(refusal) => Some(refusal.to_a2a().to_json_rpc(id)),
    ///         Decision::Allow(_) | Decision::NotOurs(_) => None,
    ///     }
    /// }
    /// ```
    pub fn to_a2a(&self) -> A2aError {
        let public = self.public();
        A2aError { failure: Failure::of(self.reason, public.error, public.reason.is_some()), public }
    }
}

impl Reason {
    /// The codes of this reason in the three bindings when `stage` gave it, before the holder is verified. Afterwards they
    /// are the same, but for failures of our own, which then read as `UNAVAILABLE`.
    pub fn a2a_codes(self, stage: Stage) -> A2aCodes {
        Failure::of(self, self.wire_code(stage), false).codes()
    }
}

impl Failure {
    /// Of our own failures nobody learns which it was: `INTERNAL` before the holder is verified, and afterwards
    /// `UNAVAILABLE`, as `TEMPORARY` says.
    fn of(reason: Reason, wire: Option<WireCode>, holder_verified: bool) -> Self {
        match (wire, reason) {
            (None, _) if holder_verified => Self::Unavailable,
            (None, _) => Self::Internal,
            (Some(WireCode::AuthorizationFailed), _) => Self::Authorization,
            (Some(_), Reason::MediaTypeUnsupported) => Self::ContentTypeNotSupported,
            (Some(_), Reason::ExtensionNotActive) => Self::ExtensionSupportRequired,
            (
                Some(
                    WireCode::ProtocolRequired
                    | WireCode::UnknownProtocol
                    | WireCode::HashMismatch
                    | WireCode::ValidationFailed,
                ),
                _,
            ) => Self::InvalidParams,
        }
    }

    fn codes(self) -> A2aCodes {
        let (json_rpc, grpc, grpc_name, http) = match self {
            Self::InvalidParams => (error_code::INVALID_PARAMS, 3, "INVALID_ARGUMENT", 400),
            Self::ContentTypeNotSupported => {
                (error_code::CONTENT_TYPE_NOT_SUPPORTED, 3, "INVALID_ARGUMENT", 400)
            }
            Self::ExtensionSupportRequired => {
                (error_code::EXTENSION_SUPPORT_REQUIRED, 9, "FAILED_PRECONDITION", 400)
            }
            Self::Authorization => (AUTHORIZATION_FAILED, 7, "PERMISSION_DENIED", 403),
            Self::Internal => (error_code::INTERNAL_ERROR, 13, "INTERNAL", 500),
            Self::Unavailable => (error_code::INTERNAL_ERROR, 14, "UNAVAILABLE", 503),
        };
        A2aCodes { json_rpc, grpc, grpc_name, http }
    }
}

impl A2aError {
    /// A failure of the agent itself, of which nobody learns anything.
    pub fn internal() -> Self {
        let public = PublicRefusal { error: None, reason: None, shacl_report: None };
        Self { failure: Failure::Internal, public }
    }

    /// The codes in the three bindings.
    pub fn codes(&self) -> A2aCodes {
        self.failure.codes()
    }

    /// The extension's error value, or `None` for the agent's own failure.
    pub fn error(&self) -> Option<WireCode> {
        self.public.error
    }

    /// What may leave, in full.
    pub fn public(&self) -> &PublicRefusal {
        &self.public
    }

    /// One sentence for a person: of the reason where that is public, else of the failure.
    pub fn message(&self) -> &'static str {
        let reason = self.public.reason.and_then(|word| word.parse::<Reason>().ok());
        match (reason, self.failure, self.public.error) {
            (Some(reason), ..) => reason.sentence(),
            (None, Failure::Internal, _) => "The agent failed.",
            (None, Failure::Unavailable, _) => "The agent cannot answer now.",
            (None, Failure::ContentTypeNotSupported, _) => Reason::MediaTypeUnsupported.sentence(),
            (None, Failure::ExtensionSupportRequired, _) => Reason::ExtensionNotActive.sentence(),
            (None, Failure::Authorization, _) | (None, _, Some(WireCode::AuthorizationFailed)) => {
                "The message does not carry the authority for what it asks."
            }
            (None, _, Some(WireCode::ProtocolRequired)) => "The exchange must go on under the extension.",
            (None, _, Some(WireCode::UnknownProtocol)) => Reason::UnknownProtocol.sentence(),
            (None, _, Some(WireCode::HashMismatch)) => Reason::HashMismatch.sentence(),
            (None, _, Some(WireCode::ValidationFailed) | None) => "The message is not acceptable here.",
        }
    }

    /// The response of the JSON-RPC binding (A2A 9.5).
    pub fn to_json_rpc(&self, id: JsonRpcId) -> JsonRpcResponse {
        let details = self.details_json();
        let data = if details.is_empty() { None } else { Some(Value::Array(details)) };
        let error = JsonRpcError { code: self.codes().json_rpc, message: self.message().to_owned(), data };
        JsonRpcResponse::error(id, error)
    }

    /// The response of the HTTP+JSON binding (A2A 11.6): `google.rpc.Status` in its JSON form.
    pub fn to_http(&self) -> HttpError {
        let codes = self.codes();
        let error = json!({
            "code": codes.http, "status": codes.grpc_name, "message": self.message(), "details": self.details_json(),
        });
        HttpError { status: codes.http, content_type: HTTP_MEDIA_TYPE, body: json!({ "error": error }) }
    }

    /// The status of the gRPC binding (A2A 10.6).
    pub fn to_grpc(&self) -> GrpcError {
        let codes = self.codes();
        GrpcError {
            code: codes.grpc,
            name: codes.grpc_name,
            message: self.message(),
            details: self.details_json(),
        }
    }

    /// The other form that ERR-1 names: a failed task. Its status message is tagged, has the extension's key in its
    /// metadata, and can carry the SHACL report as a part (ERR-3), which no error of a binding can. The ids are the
    /// server's own.
    pub fn to_failed_task(
        &self,
        task_id: impl Into<String>,
        context_id: impl Into<String>,
        message_id: impl Into<String>,
    ) -> a2a::Task {
        let (task_id, context_id) = (task_id.into(), context_id.into());
        let report = self.public.shacl_report.as_deref();
        let mut parts = vec![text_part(self.message(), None)];
        parts.extend(report.map(|turtle| text_part(turtle, Some("text/turtle"))));
        let error = self.public.error;
        let message = a2a::Message {
            message_id: message_id.into(),
            context_id: Some(context_id.clone()),
            task_id: Some(task_id.clone()),
            role: a2a::Role::Agent,
            parts,
            metadata: error.map(|wire| HashMap::from([(META_ERROR.to_owned(), json!(wire.as_str()))])),
            extensions: error.map(|_| vec![EXTENSION.to_owned()]),
            reference_task_ids: None,
        };
        a2a::Task {
            id: task_id,
            context_id,
            status: a2a::TaskStatus {
                state: a2a::TaskState::Failed,
                message: Some(message),
                timestamp: None,
            },
            artifacts: None,
            history: None,
            metadata: None,
        }
    }

    fn details_json(&self) -> Vec<Value> {
        let json = |detail: TypedDetail| {
            let mut members: serde_json::Map<_, _> = detail.value.into_iter().collect();
            members.insert("@type".to_owned(), Value::String(detail.type_url));
            Value::Object(members)
        };
        self.details().into_iter().map(json).collect()
    }

    /// The details, `ErrorInfo` last. The agent's own failure has none.
    fn details(&self) -> Vec<TypedDetail> {
        let Some(wire) = self.public.error else { return Vec::new() };
        let mut details = Vec::new();
        if self.failure == Failure::InvalidParams {
            // Clients of HTTP+JSON know an invalid request by this detail: its status says less.
            let violation = errordetails::FieldViolation {
                field: "message".to_owned(),
                description: wire.as_str().to_owned(),
            };
            details.push(TypedDetail::bad_request(vec![violation]));
        }
        // The key is an IRI, which no key of ErrorInfo's metadata may be. Any writes a well-known type under `value`.
        let key = HashMap::from([("value".to_owned(), json!({ META_ERROR: wire.as_str() }))]);
        details.push(TypedDetail::new(errordetails::STRUCT_TYPE, key));
        details.push(self.error_info(wire));
        details
    }

    fn error_info(&self, wire: WireCode) -> TypedDetail {
        let mut metadata = HashMap::new();
        if let Some(reason) = self.public.reason {
            metadata.insert("reason".to_owned(), reason.to_owned());
        }
        let own = wire.as_str().replace('-', "_").to_ascii_uppercase();
        let (reason, domain) = match self.failure {
            Failure::ContentTypeNotSupported => ("CONTENT_TYPE_NOT_SUPPORTED", errordetails::PROTOCOL_DOMAIN),
            Failure::ExtensionSupportRequired => {
                metadata.insert("extension".to_owned(), EXTENSION.to_owned());
                ("EXTENSION_SUPPORT_REQUIRED", errordetails::PROTOCOL_DOMAIN)
            }
            Failure::InvalidParams | Failure::Authorization | Failure::Internal | Failure::Unavailable => {
                (own.as_str(), DOMAIN)
            }
        };
        TypedDetail::error_info(reason, domain, (!metadata.is_empty()).then_some(metadata))
    }
}

fn text_part(text: &str, media_type: Option<&str>) -> a2a::Part {
    a2a::Part {
        content: a2a::PartContent::Text(text.to_owned()),
        filename: None,
        media_type: media_type.map(str::to_owned),
        metadata: None,
    }
}

impl From<&A2aError> for A2AError {
    /// For a server on the official crate. That crate (0.4) knows A2A's own codes alone: it sends an authorization failure
    /// as HTTP 500 and names it `INTERNAL_ERROR`. A failed task says it better.
    fn from(error: &A2aError) -> Self {
        let details = error.details();
        let plain = Self::new(error.codes().json_rpc, error.message());
        if details.is_empty() { plain } else { plain.with_details(details) }
    }
}

#[cfg(test)]
mod tests;
