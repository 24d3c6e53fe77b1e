//! The offering agent: an A2A server that takes intents under Protocol Documents, and says so on its card.

use clap::Parser;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use writgate_agents::judge;
use writgate_agents::server::Server;
use writgate_agents::steps::{Steps, say};

#[derive(Debug, Parser)]
struct Arguments {
    /// The configuration
    #[arg(long, default_value = "examples/agents/offering.toml")]
    config: PathBuf,
    /// The ledger; made where there is none
    #[arg(long)]
    ledger: PathBuf,
    /// A client: its bearer token, `=`, the agent's IRI; may be repeated
    #[arg(long = "client", value_parser = client)]
    clients: Vec<(String, String)>,
    /// Be an agent that does not know the extension
    #[arg(long)]
    deaf: bool,
    /// Answer everything with the message in this file
    #[arg(long)]
    lie: Option<PathBuf>,
    /// Stop at this step, and wait to be killed
    #[arg(long)]
    pause_at: Option<String>,
}

fn client(text: &str) -> Result<(String, String), String> {
    let (token, iri) = text.split_once('=').ok_or("TOKEN=IRI")?;
    Ok((token.to_owned(), iri.to_owned()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let engine = judge::engine(&arguments.config, &arguments.ledger)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let clients: BTreeMap<_, _> = arguments.clients.into_iter().collect();
    let lie = arguments.lie.map(std::fs::read).transpose()?;
    let lie = lie.map(|lie| serde_json::from_slice(&lie)).transpose()?;
    let server =
        Server::new(engine, Steps::new(arguments.pause_at), clients).that_misbehaves(arguments.deaf, lie);
    let router = server.router(&url);
    say(format_args!("listening: {url}"));
    axum::serve(listener, router).await?;
    Ok(())
}
