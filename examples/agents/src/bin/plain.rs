//! A client that knows nothing of the extension, or misuses it: the plain SDK, and a message of any kind.

use a2a::{Message, Part, Role, SendMessageRequest};
use a2a_client::A2AClient;
use a2a_client::jsonrpc::JsonRpcTransport;
use clap::Parser;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use writgate_agents::client::{Headers, described};
use writgate_agents::steps::say;

#[derive(Debug, Parser)]
struct Arguments {
    /// The agent's URL
    #[arg(long)]
    url: String,
    /// The bearer token
    #[arg(long)]
    token: Option<String>,
    /// Activate the extension
    #[arg(long)]
    activate: bool,
    /// The context
    #[arg(long)]
    context: Option<String>,
    /// The task
    #[arg(long)]
    task: Option<String>,
    /// What to say
    #[arg(long, default_value = "Please give Bob access to my notes.")]
    text: String,
    /// A message to send as it is, instead
    #[arg(long)]
    message: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let message = match &arguments.message {
        Some(path) => serde_json::from_slice(&std::fs::read(path)?)?,
        None => {
            let mut message = Message::new(Role::User, vec![Part::text(arguments.text)]);
            message.context_id = arguments.context;
            message.task_id = arguments.task;
            message
        }
    };
    let http = reqwest::Client::builder().no_proxy().build()?;
    let headers = Headers { token: arguments.token, activate: arguments.activate };
    let client =
        A2AClient::new(JsonRpcTransport::new(http, arguments.url)).with_interceptors(vec![Arc::new(headers)]);
    let request = SendMessageRequest { message, configuration: None, metadata: None, tenant: None };
    match client.send_message(&request).await {
        Ok(a2a::SendMessageResponse::Message(message)) => {
            say(format_args!("message: {}", serde_json::to_string(&message)?));
        }
        Ok(a2a::SendMessageResponse::Task(task)) => {
            say(format_args!("task: {} {:?} in {}", task.id, task.status.state, task.context_id));
        }
        refused => say(format_args!("error: {}", described(&refused))),
    }
    Ok(())
}
