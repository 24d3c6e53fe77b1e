//! The offering agent's server: the official SDK's JSON-RPC binding, with the judge in front of its handler.
//!
//! The agent's own behaviour is two things. What was permitted is done (here: said on standard output), and prose is
//! answered in prose by the SDK's default handler, in a task.

use crate::judge::{self, Verdict};
use crate::steps::{Steps, say};
use crate::wire;
use a2a::{
    A2AError, AgentCapabilities, AgentCard, AgentInterface, CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, Message, Part, Role,
    SVC_PARAM_EXTENSIONS, SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest,
    TRANSPORT_PROTOCOL_JSONRPC, Task, TaskPushNotificationConfig, TaskState, TaskStatus, error_code,
    new_context_id, new_message_id, new_task_id,
};
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore, RequestHandler, ServiceParams,
    StaticAgentCard,
};
use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use futures::stream::{self, BoxStream};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use writgate::card;
use writgate::protocol::conversation::NaturalLanguage;
use writgate::{Actor, CallerFacts, Engine, Peer, Refusal};

/// Octets of a request's body: a message of the largest size that Writgate reads, and its envelope.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

tokio::task_local! {
    /// The message of the request that this task answers, as it came over the wire.
    static OCTETS: Option<Vec<u8>>;
}

/// The agent.
pub struct Server {
    engine: Arc<Engine>,
    steps: Steps,
    /// Agent IRIs by bearer token: what this transport takes for an identity.
    clients: BTreeMap<String, String>,
    /// The last challenge given out to each client.
    challenges: Mutex<BTreeMap<String, String>>,
    /// An agent that does not know the extension: nothing is judged and nothing echoed.
    deaf: bool,
    /// What a lying agent answers to everything.
    lie: Option<Message>,
    talk: DefaultRequestHandler,
}

impl Server {
    /// An agent that knows these clients.
    pub fn new(engine: Engine, steps: Steps, clients: BTreeMap<String, String>) -> Self {
        Self {
            engine: Arc::new(engine),
            steps,
            clients,
            challenges: Mutex::default(),
            deaf: false,
            lie: None,
            talk: DefaultRequestHandler::new(Talk, InMemoryTaskStore::new()),
        }
    }

    /// For tests of clients: an agent that does not know the extension, or one that answers everything with one message.
    pub fn that_misbehaves(self, deaf: bool, lie: Option<Message>) -> Self {
        Self { deaf, lie, ..self }
    }

    /// Its routes, at the URL that its card names.
    pub fn router(self, url: &str) -> axum::Router {
        let card = Arc::new(StaticAgentCard::new(agent_card(&self.engine, url)));
        let server = Arc::new(self);
        let messages = a2a_server::jsonrpc::jsonrpc_router(Arc::clone(&server))
            .layer(middleware::from_fn_with_state(Arc::clone(&server), listen));
        axum::Router::new()
            .route("/challenge", axum::routing::get(challenge))
            .with_state(server)
            .merge(messages)
            .merge(a2a_server::agent_card::agent_card_router(card))
    }

    /// Who calls. No token is nobody; an unknown one is an error.
    fn caller(&self, authorization: Option<&str>) -> Result<Option<String>, A2AError> {
        let Some(authorization) = authorization else { return Ok(None) };
        let token = authorization.strip_prefix("Bearer ");
        let client = token.and_then(|token| self.clients.get(token));
        client.cloned().map(Some).ok_or_else(|| A2AError::invalid_request("the bearer token is unknown"))
    }

    /// What the server vouches for. The context of a task is the task's, whatever the message says; a first message
    /// without either gets a new one.
    async fn facts(
        &self,
        params: &ServiceParams,
        message: &mut Message,
        caller: Option<String>,
    ) -> Result<CallerFacts, A2AError> {
        let task = match &message.task_id {
            Some(id) => {
                let request = GetTaskRequest { id: id.clone(), history_length: None, tenant: None };
                match self.talk.get_task(params, request).await {
                    Ok(task) => Some(task),
                    Err(error) if error.code == error_code::TASK_NOT_FOUND => None,
                    Err(error) => return Err(error),
                }
            }
            None => {
                message.context_id.get_or_insert_with(new_context_id);
                None
            }
        };
        let challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
        let challenge = caller.as_ref().and_then(|caller| challenges.get(caller));
        let (peer, actor) = match &caller {
            Some(iri) => (Peer::from(iri.as_str()), Actor::Authenticated(iri.clone())),
            None => (Peer::Unauthenticated, Actor::Unauthenticated),
        };
        let mut facts = CallerFacts::new(peer, actor, String::new());
        facts.challenge = challenge.cloned();
        facts.context = task.map(|task| task.context_id).or_else(|| message.context_id.clone());
        facts.activated = activated(params);
        Ok(facts)
    }

    async fn answer(
        &self,
        params: &ServiceParams,
        mut request: SendMessageRequest,
    ) -> Result<SendMessageResponse, A2AError> {
        let caller =
            self.caller(params.get("authorization").and_then(|values| Some(values.first()?.as_str())))?;
        if let Some(lie) = &self.lie {
            return Ok(SendMessageResponse::Message(lie.clone()));
        }
        if self.deaf {
            return self.talk.send_message(params, request).await;
        }
        // Without the octets there is nothing that could be judged.
        let octets = OCTETS.try_with(Clone::clone).ok().flatten();
        let octets = octets.ok_or_else(|| A2AError::invalid_request("the message cannot be read"))?;
        let facts = self.facts(params, &mut request.message, caller).await?;
        let context = facts.context.clone().unwrap_or_default();
        let (engine, steps) = (Arc::clone(&self.engine), self.steps.clone());
        let judged = tokio::task::spawn_blocking(move || {
            steps.reached("received");
            let judged = judge::judge(&engine, &octets, facts);
            if let Ok(verdict) = &judged {
                announce(verdict, &steps);
            }
            judged
        });
        let verdict = judged.await.map_err(|_| A2AError::internal("the judge failed"))?;
        match verdict.map_err(|_| A2AError::internal("the answer cannot be written"))? {
            Verdict::Answer { message, .. } => {
                let message = serde_json::from_value(message);
                message
                    .map(SendMessageResponse::Message)
                    .map_err(|_| A2AError::internal("the answer cannot be sent"))
            }
            Verdict::Act { decision, .. } => {
                Ok(done(context, TaskState::Completed, json!({ "decision": decision })))
            }
            Verdict::Settled { state: "active" } => Ok(done(context, TaskState::Completed, json!({}))),
            Verdict::Settled { .. } | Verdict::Late => Ok(done(context, TaskState::Failed, json!({}))),
            Verdict::Talk(leave) => self.say_something(leave, params, request).await,
            Verdict::Refuse(refusal) => refused(&refusal, context),
        }
    }

    /// Answers in natural language, which takes the leave for it.
    async fn say_something(
        &self,
        _: NaturalLanguage,
        params: &ServiceParams,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, A2AError> {
        self.talk.send_message(params, request).await
    }
}

/// Says what was decided, before it is known to anybody else.
fn announce(verdict: &Verdict, steps: &Steps) {
    match verdict {
        Verdict::Answer { state, .. } => {
            say(format_args!("offer: {state}"));
            steps.reached("judged-offer");
        }
        Verdict::Settled { state } => say(format_args!("answer: {state}")),
        Verdict::Act { actions, .. } => {
            for action in actions {
                say(format_args!("doing: {} {}", action.action, action.target));
            }
            steps.reached("judged-intent");
        }
        Verdict::Late => say(format_args!("late")),
        Verdict::Talk(_) => say(format_args!("talking")),
        Verdict::Refuse(refusal) => say(format_args!("refused: {}", refusal.reason().as_str())),
    }
}

/// A task of which all is said: it carries no word of natural language.
fn done(context: String, state: TaskState, metadata: Value) -> SendMessageResponse {
    let metadata = metadata.as_object().map(|members| members.clone().into_iter().collect());
    SendMessageResponse::Task(Task {
        id: new_task_id(),
        context_id: context,
        status: TaskStatus { state, message: None, timestamp: Some(chrono::Utc::now()) },
        artifacts: None,
        history: None,
        metadata,
    })
}

/// What the client learns of a refusal. A shape report goes into a failed task: no error of a binding carries one.
fn refused(refusal: &Refusal, context: String) -> Result<SendMessageResponse, A2AError> {
    let error = refusal.to_a2a();
    if error.public().shacl_report.is_none() {
        return Err(A2AError::from(&error));
    }
    let task = error.to_failed_task(new_task_id(), context, new_message_id());
    Ok(SendMessageResponse::Task(task))
}

fn activated(params: &ServiceParams) -> BTreeSet<String> {
    let values = params.get(&SVC_PARAM_EXTENSIONS.to_ascii_lowercase());
    card::activation(values.into_iter().flatten().map(String::as_str))
        .map(str::to_owned)
        .into_iter()
        .collect()
}

/// Keeps the octets of the message for the handler, which runs in this same task, and echoes the activation (ACT-3).
async fn listen(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let values = head.headers.get_all(SVC_PARAM_EXTENSIONS).iter().filter_map(|value| value.to_str().ok());
    let echo = card::activation(values).filter(|_| !server.deaf);
    let octets = wire::message_of_request(&body);
    let request = Request::from_parts(head, Body::from(body));
    let mut response = OCTETS.scope(octets, next.run(request)).await;
    if let Some(uri) = echo {
        response.headers_mut().insert(SVC_PARAM_EXTENSIONS, HeaderValue::from_static(uri));
    }
    response
}

/// Gives a client the challenge that its next presentation must answer.
async fn challenge(State(server): State<Arc<Server>>, headers: HeaderMap) -> Result<String, StatusCode> {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let caller = server.caller(authorization).ok().flatten().ok_or(StatusCode::UNAUTHORIZED)?;
    let mut octets = [0u8; 16];
    getrandom::fill(&mut octets).map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    let challenge: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    let mut challenges = server.challenges.lock().unwrap_or_else(PoisonError::into_inner);
    challenges.insert(caller, challenge.clone());
    Ok(challenge)
}

/// The Agent Card, with the extension's entry as the configuration says it.
fn agent_card(engine: &Engine, url: &str) -> AgentCard {
    AgentCard {
        name: "Notes".to_owned(),
        description: "Keeps notes, and gives access to them under a mandate".to_owned(),
        version: "0.0.0".to_owned(),
        supported_interfaces: vec![AgentInterface::new(url, TRANSPORT_PROTOCOL_JSONRPC)],
        capabilities: AgentCapabilities {
            streaming: Some(false),
            push_notifications: Some(false),
            extensions: Some(vec![engine.config().agent_extension()]),
            extended_agent_card: Some(false),
        },
        default_input_modes: vec!["text/plain".to_owned(), "text/turtle".to_owned()],
        default_output_modes: vec!["text/plain".to_owned()],
        skills: Vec::new(),
        provider: None,
        documentation_url: None,
        icon_url: None,
        security_schemes: None,
        security_requirements: None,
        signatures: None,
    }
}

/// What the agent says in natural language. It does nothing.
struct Talk;

#[async_trait]
impl AgentExecutor for Talk {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let mut reply =
            Message::new(Role::Agent, vec![Part::text("I can talk about notes. I do nothing on a word.")]);
        reply.context_id = Some(context.context_id.clone());
        reply.task_id = Some(context.task_id.clone());
        let task = Task {
            id: context.task_id,
            context_id: context.context_id,
            status: TaskStatus {
                state: TaskState::InputRequired,
                message: Some(reply),
                timestamp: Some(chrono::Utc::now()),
            },
            artifacts: None,
            history: None,
            metadata: None,
        };
        Box::pin(stream::iter([Ok(StreamResponse::Task(task))]))
    }

    fn cancel(&self, _: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        Box::pin(stream::iter([Err(messages_only())]))
    }
}

fn messages_only() -> A2AError {
    A2AError::unsupported_operation("this agent takes messages, and nothing else")
}

/// Only messages come in, and only one way: what is not judged is not served.
#[async_trait]
impl RequestHandler for Server {
    async fn send_message(
        &self,
        params: &ServiceParams,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, A2AError> {
        self.answer(params, request).await
    }

    async fn send_streaming_message(
        &self,
        _: &ServiceParams,
        _: SendMessageRequest,
    ) -> Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError> {
        Err(messages_only())
    }

    async fn get_task(&self, _: &ServiceParams, _: GetTaskRequest) -> Result<Task, A2AError> {
        Err(messages_only())
    }

    async fn list_tasks(
        &self,
        _: &ServiceParams,
        _: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2AError> {
        Err(messages_only())
    }

    async fn cancel_task(&self, _: &ServiceParams, _: CancelTaskRequest) -> Result<Task, A2AError> {
        Err(messages_only())
    }

    async fn subscribe_to_task(
        &self,
        _: &ServiceParams,
        _: SubscribeToTaskRequest,
    ) -> Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError> {
        Err(messages_only())
    }

    async fn create_push_config(
        &self,
        _: &ServiceParams,
        _: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        Err(messages_only())
    }

    async fn get_push_config(
        &self,
        _: &ServiceParams,
        _: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        Err(messages_only())
    }

    async fn list_push_configs(
        &self,
        _: &ServiceParams,
        _: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        Err(messages_only())
    }

    async fn delete_push_config(
        &self,
        _: &ServiceParams,
        _: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), A2AError> {
        Err(messages_only())
    }

    async fn get_extended_agent_card(
        &self,
        _: &ServiceParams,
        _: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2AError> {
        Err(messages_only())
    }
}
