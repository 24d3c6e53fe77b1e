//! The official SDK's client, over a transport that keeps what came over the wire.
//!
//! The SDK's own JSON-RPC transport shows neither the octets of an answer nor the headers around it; a client of the
//! extension needs both: the strict reader judges the octets, and the header says whether the activation was echoed.

use crate::wire;
use a2a::jsonrpc::methods;
use a2a::{
    A2AError, AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest, JsonRpcId,
    JsonRpcRequest, JsonRpcResponse, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, Message, Part,
    SVC_PARAM_EXTENSIONS, SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest,
    Task, TaskPushNotificationConfig, new_message_id,
};
use a2a_client::middleware::CallInterceptor;
use a2a_client::{A2AClient, ServiceParams, Transport};
use a2a_pb::protojson_conv;
use async_trait::async_trait;
use futures::stream::BoxStream;
use std::sync::{Arc, Mutex, PoisonError};
use writgate::card;
use writgate::vocab::{EXTENSION, META_ERROR};

/// Octets of an Agent Card.
const MAX_CARD_BYTES: usize = 1024 * 1024;

/// What came back for one message.
#[derive(Debug)]
pub struct Reply {
    /// The extension's URI, if the answer echoed it.
    pub echoed: Option<&'static str>,
    /// The octets of what the agent says, where it says anything.
    pub said: Option<Vec<u8>>,
    /// The SDK's reading of the answer.
    pub answer: Result<SendMessageResponse, A2AError>,
}

/// What came over the wire: the echo, and the octets of what was said.
type Heard = Arc<Mutex<Option<(Option<&'static str>, Option<Vec<u8>>)>>>;

/// A client of one agent.
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
    heard: Heard,
}

impl Client {
    /// A client of the agent at a URL, which knows the client by a bearer token.
    ///
    /// # Errors
    /// No HTTP client.
    pub fn new(url: &str, token: Option<String>) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), token, heard: Heard::default() })
    }

    /// The octets of the agent's card. The SDK's resolver hands out what its lenient reader made of them; a client of the
    /// extension reads its entry strictly.
    ///
    /// # Errors
    /// No answer, none but success, or more octets than a card has.
    pub async fn card(&self) -> Result<Vec<u8>, A2AError> {
        let request = self.http.get(format!("{}/.well-known/agent-card.json", self.url));
        let mut response = request.send().await.map_err(failed)?.error_for_status().map_err(failed)?;
        let mut octets = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            octets.extend_from_slice(&chunk);
            if octets.len() > MAX_CARD_BYTES {
                return Err(failed("the card is too large"));
            }
        }
        Ok(octets)
    }

    /// The challenge that the next presentation to the agent must answer.
    ///
    /// # Errors
    /// No answer, or none but success.
    pub async fn challenge(&self) -> Result<String, reqwest::Error> {
        let request = self.http.get(format!("{}/challenge", self.url));
        let request = request.bearer_auth(self.token.as_deref().unwrap_or_default());
        request.send().await?.error_for_status()?.text().await
    }

    /// Sends a message; `activate` asks for the extension (ACT-1). `None`: no answer came.
    pub async fn send(&self, message: Message, activate: bool) -> Option<Reply> {
        let transport = Listening {
            http: self.http.clone(),
            endpoint: format!("{}/", self.url),
            heard: Arc::clone(&self.heard),
        };
        let headers = Headers { token: self.token.clone(), activate };
        let client = A2AClient::new(transport).with_interceptors(vec![Arc::new(headers)]);
        let request = SendMessageRequest { message, configuration: None, metadata: None, tenant: None };
        let answer = client.send_message(&request).await;
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).take();
        heard.map(|(echoed, said)| Reply { echoed, said, answer })
    }
}

/// An answer in one line: what came, and of a refusal the extension's error, its reason and the shape report, as far as
/// they are told.
pub fn described(answer: &Result<SendMessageResponse, A2AError>) -> String {
    match answer {
        Ok(SendMessageResponse::Message(_)) => "a message".to_owned(),
        Ok(SendMessageResponse::Task(task)) => {
            let said = task.status.message.as_ref();
            let error = said.and_then(|said| said.metadata.as_ref()?.get(META_ERROR)?.as_str());
            let turtle = |part: &Part| part.media_type.as_deref() == Some("text/turtle");
            let report = said.and_then(|said| said.parts.iter().find(|part| turtle(part))?.as_text());
            let report = report.map(|report| report.split_whitespace().collect::<Vec<_>>().join(" "));
            let members = [error.map(str::to_owned), report];
            let told: Vec<_> = members.into_iter().flatten().collect();
            format!("a task, {:?} {}", task.status.state, told.join(" "))
        }
        Err(error) => {
            let details = || error.details.iter().flatten();
            let wire = details().find_map(|detail| detail.value.get("value")?.get(META_ERROR)?.as_str());
            let reason = details().find_map(|detail| detail.value.get("metadata")?.get("reason")?.as_str());
            format!("{} {} {}", error.code, wire.unwrap_or("-"), reason.unwrap_or("-"))
        }
    }
}

/// The headers of every call.
pub struct Headers {
    /// The bearer token.
    pub token: Option<String>,
    /// Whether the extension is activated (ACT-1).
    pub activate: bool,
}

#[async_trait]
impl CallInterceptor for Headers {
    async fn before(&self, _: &str, params: &mut ServiceParams) -> Result<(), A2AError> {
        if let Some(token) = &self.token {
            params.insert("Authorization".to_owned(), vec![format!("Bearer {token}")]);
        }
        if self.activate {
            params.insert(SVC_PARAM_EXTENSIONS.to_owned(), vec![EXTENSION.to_owned()]);
        }
        Ok(())
    }
}

/// JSON-RPC over HTTP, keeping what came.
struct Listening {
    http: reqwest::Client,
    endpoint: String,
    heard: Heard,
}

fn failed(cause: impl std::fmt::Display) -> A2AError {
    A2AError::internal(format!("no answer that can be read: {cause}"))
}

fn messages_only() -> A2AError {
    A2AError::unsupported_operation("this client sends messages, and nothing else")
}

#[async_trait]
impl Transport for Listening {
    async fn send_message(
        &self,
        params: &ServiceParams,
        request: &SendMessageRequest,
    ) -> Result<SendMessageResponse, A2AError> {
        let payload = protojson_conv::to_value(request).map_err(failed)?;
        let id = JsonRpcId::String(new_message_id());
        let call = JsonRpcRequest::new(id, methods::SEND_MESSAGE, Some(payload));
        let mut post = self.http.post(&self.endpoint).json(&call);
        for (name, value) in
            params.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)))
        {
            post = post.header(name, value);
        }
        let response = post.send().await.map_err(failed)?.error_for_status().map_err(failed)?;
        let values = response.headers().get_all(SVC_PARAM_EXTENSIONS).iter();
        let echoed = card::activation(values.filter_map(|value| value.to_str().ok()));
        let body = response.bytes().await.map_err(failed)?;
        let read: JsonRpcResponse = serde_json::from_slice(&body).map_err(failed)?;
        let said = match &read.error {
            Some(_) => None,
            None => wire::message_of_response(&body).ok_or_else(|| failed("a member is there twice"))?,
        };
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some((echoed, said));
        if let Some(error) = read.error {
            let details = error.data.and_then(|data| serde_json::from_value(data).ok());
            return Err(A2AError { code: error.code, message: error.message, details });
        }
        let result = read.result.ok_or_else(|| failed("no result"))?;
        protojson_conv::from_value(result).map_err(failed)
    }

    async fn send_streaming_message(
        &self,
        _: &ServiceParams,
        _: &SendMessageRequest,
    ) -> Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError> {
        Err(messages_only())
    }

    async fn get_task(&self, _: &ServiceParams, _: &GetTaskRequest) -> Result<Task, A2AError> {
        Err(messages_only())
    }

    async fn list_tasks(
        &self,
        _: &ServiceParams,
        _: &ListTasksRequest,
    ) -> Result<ListTasksResponse, A2AError> {
        Err(messages_only())
    }

    async fn cancel_task(&self, _: &ServiceParams, _: &CancelTaskRequest) -> Result<Task, A2AError> {
        Err(messages_only())
    }

    async fn subscribe_to_task(
        &self,
        _: &ServiceParams,
        _: &SubscribeToTaskRequest,
    ) -> Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError> {
        Err(messages_only())
    }

    async fn create_push_config(
        &self,
        _: &ServiceParams,
        _: &TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        Err(messages_only())
    }

    async fn get_push_config(
        &self,
        _: &ServiceParams,
        _: &GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        Err(messages_only())
    }

    async fn list_push_configs(
        &self,
        _: &ServiceParams,
        _: &ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        Err(messages_only())
    }

    async fn delete_push_config(
        &self,
        _: &ServiceParams,
        _: &DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), A2AError> {
        Err(messages_only())
    }

    async fn get_extended_agent_card(
        &self,
        _: &ServiceParams,
        _: &GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2AError> {
        Err(messages_only())
    }

    async fn destroy(&self) -> Result<(), A2AError> {
        Ok(())
    }
}
