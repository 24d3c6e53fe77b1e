//! `writgate audit query`.

use super::Source;
use super::filters::Filters;
use crate::audit::query::{Bounds, Format, NAMED, NamedQuery, Trail, term};
use crate::cli::{Exit, Failure, Outcome, output};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

/// What an evaluation that does not heed its cancellation still gets.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A SPARQL query
    #[arg(conflicts_with_all = ["file", "name"], required_unless_present_any = ["file", "name"])]
    query: Option<String>,
    /// A file with a SPARQL query
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    file: Option<PathBuf>,
    /// A shipped query: acted-for, leaned-on, since-revoked, refusals, provisional
    #[arg(long)]
    name: Option<String>,
    /// What takes a variable's place: NAME=IRI, an instant, a term in N-Triples syntax, or a text. May be repeated
    #[arg(long = "param", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// `table`, `json` or `csv`
    #[arg(long, default_value = "table", value_parser = format)]
    format: Format,
    /// Rows of the ledger that are taken at most
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    limit: usize,
    /// Seconds that an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let mut parameters = BTreeMap::new();
    for parameter in &arguments.parameters {
        let (name, value) = parameter
            .split_once('=')
            .ok_or_else(|| Failure::new(format!("--param {parameter}: it has the form NAME=VALUE")))?;
        parameters.insert(name.to_owned(), term(value));
    }
    let query = match (&arguments.query, &arguments.file, &arguments.name) {
        (Some(query), ..) => query.clone(),
        (None, Some(file), _) => output::read_text(file)?,
        (None, None, name) => {
            let named = name.as_deref().and_then(NamedQuery::find).ok_or_else(|| {
                let names: Vec<_> = NAMED.iter().map(|query| query.name).collect();
                Failure::new(format!(
                    "there is no shipped query of that name; there are {}",
                    names.join(", ")
                ))
            })?;
            parameters = named.parameters(parameters, chrono::Utc::now())?;
            named.text.to_owned()
        }
    };
    let bounds = Bounds { rows: arguments.limit, ..Bounds::default() };
    let cancellation = bounds.cancellation.clone();
    let trail = Trail::read(&arguments.source.open()?, &arguments.filters.filter(), bounds)?;
    let (done, waiting) = mpsc::channel::<()>();
    let limit = Duration::from_secs(arguments.timeout);
    std::thread::spawn(move || {
        if waiting.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
            cancellation.cancel();
            // An evaluation that touches no data never asks whether it was cancelled.
            if waiting.recv_timeout(GRACE) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("writgate: the query was ended: it took too long");
                std::process::exit(2);
            }
        }
    });
    let answer = trail.answer(&query, &parameters, arguments.format)?;
    drop(done);
    output::tell(format_args!("{answer}"));
    Ok(Exit::Success)
}

fn format(text: &str) -> Result<Format, String> {
    match text {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        "csv" => Ok(Format::Csv),
        _ => Err("it is `table`, `json` or `csv`".to_owned()),
    }
}
