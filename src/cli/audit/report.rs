//! `writgate audit report`.

use super::Source;
use super::filters::Filters;
use crate::audit::page::{self, PageOptions, PageSummary};
use crate::cli::{Exit, Failure, Outcome, output};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Write one HTML page that needs neither a network nor a script; `-` is standard output
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
    #[command(flatten)]
    filters: Filters,
    /// The newest decisions on the page, at most
    #[arg(long, value_name = "N", default_value_t = page::DEFAULT_DECISIONS as u64,
          value_parser = clap::value_parser!(u64).range(1..=page::MAX_DECISIONS as u64))]
    limit: u64,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let reader = arguments.source.open()?;
    let limit = usize::try_from(arguments.limit).unwrap_or(page::MAX_DECISIONS);
    let options = PageOptions { filter: arguments.filters.filter(), limit, now: chrono::Utc::now() };
    if arguments.html == Path::new("-") {
        let summary = page::write_page(&mut BufWriter::new(std::io::stdout().lock()), &reader, &options)?;
        return Ok(exit(&summary));
    }
    // Under another name until it is whole: half a page must not be taken for one.
    let unfinished = unfinished(&arguments.html)?;
    let written = created(&unfinished).map_err(|cause| at(&unfinished, &cause)).and_then(|file| {
        let mut file = BufWriter::new(file);
        let summary = page::write_page(&mut file, &reader, &options)?;
        file.flush()?;
        fs::rename(&unfinished, &arguments.html).map_err(|cause| at(&arguments.html, &cause))?;
        Ok(summary)
    });
    let summary = match written {
        Ok(summary) => summary,
        Err(failure) => {
            // What is left of it is named as unfinished, if even this fails.
            let _ = fs::remove_file(&unfinished);
            return Err(failure);
        }
    };
    output::say(format_args!(
        "{} of {} and {}, as of row {}",
        summary.decisions,
        output::count(summary.matched, "decision", "decisions"),
        output::count(summary.events, "event", "events"),
        summary.last_row
    ));
    Ok(exit(&summary))
}

/// A new file: what an earlier run left is gone, and what somebody's link points to stays what it is.
fn created(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        _ => File::create_new(path),
    }
}

/// A chain that does not hold is no success, whatever the page shows of the rows before.
fn exit(summary: &PageSummary) -> Exit {
    match &summary.broken {
        None => Exit::Success,
        Some(problem) => {
            eprintln!("writgate: {}", output::escaped(problem));
            Exit::Refused
        }
    }
}

fn unfinished(path: &Path) -> Result<PathBuf, Failure> {
    let name = path.file_name().ok_or_else(|| Failure::new("--html names no file"))?;
    let mut name = name.to_owned();
    name.push(".unfinished");
    Ok(path.with_file_name(name))
}

fn at(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {cause}", path.display()))
}
