//! `writgate audit export`.

use super::Source;
use super::filters::Filters;
use crate::audit::export::{Format, export};
use crate::cli::{Exit, Outcome, output};
use std::fs::OpenOptions;
use std::io::{BufWriter, IsTerminal as _};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// `jsonl` (the rows as they are chained), `nquads` (PROV-O) or `csv`
    #[arg(long, value_parser = format)]
    format: Format,
    /// Where to; standard output if absent. A file that exists is not overwritten
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let reader = arguments.source.open()?;
    let filter = arguments.filters.filter();
    match &arguments.to {
        Some(path) => {
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path)
                .map_err(|cause| output::not_made(path, &cause))?;
            export(&reader, &filter, arguments.format, false, &mut BufWriter::new(file))?;
        }
        None => {
            let out = std::io::stdout();
            let terminal = out.is_terminal();
            export(&reader, &filter, arguments.format, terminal, &mut BufWriter::new(out.lock()))?;
        }
    }
    Ok(Exit::Success)
}

fn format(text: &str) -> Result<Format, String> {
    match text {
        "jsonl" => Ok(Format::Jsonl),
        "nquads" => Ok(Format::NQuads),
        "csv" => Ok(Format::Csv),
        _ => Err("it is `jsonl`, `nquads` or `csv`".to_owned()),
    }
}
