//! What a person reads. Sender text never enters a sentence, and every text from outside is escaped for the terminal.

use super::Failure;
pub(crate) use crate::audit::escape::escaped;
use crate::audit::escape::json_for_terminal;
use crate::audit::{DecisionReportV1, HopReport, ReportBody, instant_text};
use crate::config::ConfigFile;
use crate::decision::{Decision, Obligation};
use crate::explain::Explanation;
use crate::ledger::LedgerError;
use crate::refusal::{Evidence, Reason, Refusal, Retry, Stage};
use crate::request::Instant;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// [`escaped`], line by line; a tab, as Turtle is indented with, becomes spaces.
pub(crate) fn escaped_block(text: &str) -> String {
    text.lines().map(|line| escaped(&line.replace('\t', "    "))).collect::<Vec<_>>().join("\n")
}

/// JSON for people, under the same rule: such a character is written as JSON's own escape.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    Ok(json_for_terminal(&serde_json::to_string_pretty(value)?))
}

/// Green, red or yellow on a terminal, plain elsewhere.
pub(crate) fn coloured(text: &str, code: u8) -> String {
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        format!("\u{1b}[1;{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

/// The verdict, in a line or two.
pub(crate) fn verdict(decision: &Decision) -> String {
    match decision {
        Decision::Allow(permit) => {
            let (sequence, row_hash) = permit.record();
            let mut text = format!("{}  row {sequence}, {row_hash}", coloured("ALLOW", 32));
            let _ = write!(text, "\n  until {}", instant_text(permit.not_after()));
            text.push_str(&duties(permit.obligations()));
            text
        }
        Decision::Refuse(refusal) => refused(refusal),
        Decision::NotOurs(_) => format!(
            "{}  The message carries nothing of the extension. Nothing that bears on security may follow from it.",
            coloured("NOT OURS", 33)
        ),
    }
}

/// The duties of a permit, a line for each: several hops may each have one.
pub(crate) fn duties(obligations: &BTreeSet<Obligation>) -> String {
    obligations.iter().fold(String::new(), |mut text, duty| {
        let target = duty.target.as_deref().map(|target| format!(" {}", escaped(target))).unwrap_or_default();
        let _ = write!(text, "\n  duty {}{target} by {}", escaped(&duty.action), escaped(&duty.policy));
        text
    })
}

/// A refusal: the reason, its sentence, and what it rests on.
pub(crate) fn refused(refusal: &Refusal) -> String {
    let wire = refusal.wire_code().map_or("internal error", |wire| wire.as_str());
    let mut text = format!(
        "{}  {} at {} ({wire})\n  {}",
        coloured("REFUSE", 31),
        refusal.reason().as_str(),
        refusal.stage().as_str(),
        refusal.reason().sentence()
    );
    text.push_str(&evidence(refusal.evidence()));
    if let Some(earlier) = refusal.earlier_decision() {
        let _ = write!(text, "\n  first decision: {}", escaped(earlier.id()));
    }
    text
}

pub(crate) fn evidence(evidence: &Evidence) -> String {
    let hop = evidence.hop.map(|hop| hop.to_string());
    let phase = evidence.phase.map(|phase| phase.as_str().to_owned());
    let lines = [
        ("detail", &evidence.detail),
        ("phase", &phase),
        ("hop", &hop),
        ("policy", &evidence.policy),
        ("credential", &evidence.credential),
        ("shape", &evidence.shape),
        ("path", &evidence.path),
        ("constraint", &evidence.constraint),
        ("seen", &evidence.seen),
        ("expected", &evidence.expected),
    ];
    lines.into_iter().fold(String::new(), |mut text, (label, value)| {
        if let Some(value) = value {
            let _ = write!(text, "\n  {label}: {}", escaped(value));
        }
        text
    })
}

/// An explanation: why, what is unmet, and the smallest change that would permit it.
pub(crate) fn why(explanation: &Explanation) -> String {
    let mut text = format!("why: {}", escaped(&explanation.sentence));
    for unmet in &explanation.unmet {
        let _ = write!(text, "\n  unmet: {}; seen: {}", escaped(&unmet.asked), escaped(&unmet.seen));
    }
    let _ = write!(text, "\nsmallest change: {}", escaped(&explanation.change));
    text
}

/// The why, stage by stage, from the report.
pub(crate) fn explained(report: &DecisionReportV1) -> String {
    let refusing =
        report.envelope.reason.map(|_| Stage::Admission).or(report.body.reason.map(|_| report.body.stage));
    let mut text = String::new();
    for stage in Stage::PIPELINE {
        let (mark, ends) = match refusing {
            Some(refusing) if stage == refusing => (coloured("no", 31), true),
            _ if refusing.is_none() && stage > report.body.stage && report.body.stage == Stage::Admit => {
                break;
            }
            // Rows count from 1: a dry run admits nothing.
            None if stage == Stage::Admission && report.envelope.sequence == 0 => break,
            _ => (coloured("ok", 32), false),
        };
        let micros = report.envelope.stage_micros.get(stage.as_str());
        let micros = micros.map(|micros| format!("{micros:>7} us")).unwrap_or_else(|| " ".repeat(10));
        let facts = match ends {
            true => format!("refused: {}", refused_facts(stage, report)),
            false => stage_facts(stage, report),
        };
        let _ = writeln!(text, "{mark} {:<12} {micros}  {facts}", stage.as_str());
        if ends {
            break;
        }
    }
    text
}

/// Of a stage that refused, the reason; what it would have found is not known, or not worth a word.
fn refused_facts(stage: Stage, report: &DecisionReportV1) -> String {
    let reason = report.envelope.reason.or(report.body.reason).map_or("", |reason| reason.as_str());
    match stage {
        Stage::Admission => format!("{reason}; {}", stage_facts(stage, report)),
        Stage::Shape if report.body.shacl_report.is_some() => format!("{reason}; the W3C report follows"),
        _ => reason.to_owned(),
    }
}

fn stage_facts(stage: Stage, report: &DecisionReportV1) -> String {
    let body = &report.body;
    let some = |label: &str, value: &Option<String>| {
        value.as_deref().map(|value| format!("{label} {}", escaped(value))).unwrap_or_default()
    };
    match stage {
        Stage::Admit => {
            let beside = match body.unjudged_parts.len() {
                0 => String::new(),
                parts => format!(", not judged: {parts} part(s)"),
            };
            format!("{}, digest {}{beside}", some("message", &body.message_id), body.message_digest)
        }
        Stage::Protocol => some("document", &body.protocol_hash),
        Stage::Intent => some("intent", &body.intent_hash),
        Stage::Shape => match &body.shacl_report {
            None if body.intent_hash.is_some() => "conforms to every request shape".to_owned(),
            _ => String::new(),
        },
        Stage::Action => actions(body),
        Stage::Presentation => {
            let bound = if body.marks.contains("unbound") { ", not bound to this message" } else { "" };
            format!("{}{bound}", some("holder", &body.holder))
        }
        Stage::Chain => body.chain.iter().chain(&body.actor_chain).map(hop).collect::<Vec<_>>().join("; "),
        Stage::Reference => "every policy that the intent names is of the chain".to_owned(),
        Stage::Policy => {
            let duties: Vec<_> = body.obligations.iter().map(|duty| short(&duty.action)).collect();
            let duties = if duties.is_empty() {
                "no duties".to_owned()
            } else {
                format!("duties {}", duties.join(", "))
            };
            format!("{}, {}", some("until", &body.not_after), escaped(&duties))
        }
        Stage::Admission => {
            format!("row {}, decision {}", report.envelope.sequence, report.envelope.decision_id)
        }
        Stage::Handshake | Stage::Loading => String::new(),
    }
}

fn actions(body: &ReportBody) -> String {
    let actions: Vec<_> = body
        .actions
        .iter()
        .map(|action| format!("{} on {}", escaped(&short(&action.action)), escaped(&action.target)))
        .collect();
    let root = body.root_principal.as_deref().map(|root| format!(", owned by {}", escaped(root)));
    format!("{}{}", actions.join(", "), root.unwrap_or_default())
}

fn hop(hop: &HopReport) -> String {
    let delegate = hop.authorizes.as_deref().unwrap_or("nobody");
    format!(
        "{} mandates {} by {} ({})",
        escaped(&hop.issuer),
        escaped(delegate),
        escaped(&hop.policy),
        escaped(&hop.binding)
    )
}

/// The common prefixes, for people.
pub(crate) fn short(iri: &str) -> String {
    use crate::vocab::{a2a, acl, odrl, schema};
    let prefixes = [(odrl::NS, "odrl:"), (acl::NS, "acl:"), (schema::NS, "schema:"), (a2a::NS, "a2a:")];
    prefixes
        .iter()
        .find_map(|(namespace, prefix)| iri.strip_prefix(namespace).map(|local| format!("{prefix}{local}")))
        .unwrap_or_else(|| iri.to_owned())
}

/// What a sender can do about it, for a person.
pub(crate) fn advice(reason: Reason) -> &'static str {
    match (reason, reason.retry()) {
        (Reason::ChallengeUnknown, _) => {
            "Give the server's own challenge, 16 octets or more and not the bound one, with --challenge."
        }
        (Reason::WrongKind, _) => {
            "An intent is for `writgate decide`, an offer or its answer for `writgate conversation receive`, a response \
             for `writgate message check-response`."
        }
        (Reason::UnknownProtocol, _) => {
            "A document must be configured here, and be declared on the card or agreed with this peer in this context: \
             `writgate conversation list` shows what is."
        }
        (_, Retry::Never) => "Sending this message again can never help.",
        (_, Retry::AfterChange) => "Another message, paper or agreement is needed.",
        (_, Retry::Later) => "The same message may pass later.",
    }
}

/// Why a ledger could not be opened, and how to get one that is not there.
pub(crate) fn no_ledger(path: &Path, cause: &LedgerError) -> Failure {
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    // SQLite says of each of these that it cannot open the file, and not which.
    let denied = |path: &PathBuf| {
        let opened = std::fs::OpenOptions::new().read(true).write(true).open(path);
        opened.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
    };
    let shown = path.display();
    if path.is_dir() {
        return Failure::new(format!("{shown}: this is a folder, and a ledger is a file"));
    }
    if !path.exists() {
        return Failure::new(format!(
            "{shown}: there is no ledger; name the file that there is, or make one with `writgate ledger init`"
        ));
    }
    let files = [path.to_path_buf(), beside("-wal"), beside("-shm")];
    match (cause, files.iter().find(|file| denied(file))) {
        (LedgerError::Store(_), Some(file)) => Failure::new(format!(
            "{shown}: {cause}; this user may not write {}: run this as the user whose ledger it is, or make a copy",
            file.display()
        )),
        (LedgerError::Store(problem), None) if problem.contains("unable to open") => Failure::new(format!(
            "{shown}: {cause}; this user may make no file in its folder: run this as the user whose ledger it is"
        )),
        _ => Failure::new(format!("{shown}: {cause}")),
    }
}

/// So many of a thing: `1 row`, `2 rows`.
pub(crate) fn count(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Prints a line. Where nobody reads standard output any more, the process ends with the exit code of a command that
/// could not run: an answer that was not given is no allow.
pub(crate) fn say(line: std::fmt::Arguments<'_>) {
    tell(format_args!("{line}\n"));
}

/// [`say`], without the line break.
pub(crate) fn tell(text: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    // What ends without a line break is still held by then, and nobody hears of an error at the process's end.
    if out.write_fmt(text).and_then(|()| out.flush()).is_err() {
        std::process::exit(2);
    }
}

/// Writes a file, or to standard output for `-` and where none is named.
pub(crate) fn write(path: Option<&Path>, text: &str) -> Result<(), Failure> {
    match path {
        Some(path) if path != Path::new("-") => {
            std::fs::write(path, text).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))
        }
        _ => {
            say(format_args!("{}", text.trim_end_matches('\n')));
            Ok(())
        }
    }
}

/// Why a new file was not made.
pub(crate) fn not_made(path: &Path, cause: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::new(match cause.kind() {
        std::io::ErrorKind::AlreadyExists => format!("{path} exists, and is not overwritten"),
        _ => format!("{path}: {cause}"),
    })
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        let mut octets = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut octets)?;
        return Ok(octets);
    }
    std::fs::read(path).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))
}

/// [`read_text`], as JSON.
pub(crate) fn read_json(path: &Path) -> Result<serde_json::Value, Failure> {
    parse_json(path, &read_text(path)?)
}

fn parse_json(path: &Path, text: &str) -> Result<serde_json::Value, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::new(format!("{} is empty", path.display())));
    }
    serde_json::from_str(text)
        .map_err(|cause| Failure::new(format!("{} is not JSON: {cause}", path.display())))
}

/// A paper: the JSON of a file or, as a string, its JWS. The content says which, whatever the file is called.
pub(crate) fn read_paper(path: &Path) -> Result<serde_json::Value, Failure> {
    let text = read_text(path)?;
    if is_jws(text.as_bytes()) {
        return Ok(text.trim().into());
    }
    parse_json(path, &text)
}

/// Whether it can only be a JWS: base64url of `{"`, with which no JSON begins.
pub(crate) fn is_jws(octets: &[u8]) -> bool {
    octets.trim_ascii_start().starts_with(b"eyJ")
}

/// A server's configuration.
pub(crate) fn read_config(path: &Path) -> Result<ConfigFile, Failure> {
    if !path.exists() {
        let advice =
            "there is no such file: a server's configuration is named with --config, and README.md shows one";
        return Err(Failure::new(format!("{}: {advice}", path.display())));
    }
    Ok(ConfigFile::read(path)?)
}

/// A paper, as [`read_paper`] reads it.
pub(crate) fn paper(paper: &serde_json::Value) -> Result<String, Failure> {
    match paper.as_str() {
        Some(jws) => Ok(jws.to_owned()),
        None => Ok(serde_json::to_string_pretty(paper)?),
    }
}

/// Whoever is to act is named by an IRI.
pub(crate) fn agent(name: &str) -> Result<(), Failure> {
    match crate::message::target::is_iri(name) {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "--delegate {name}: an agent is named by an IRI, such as the did:key that `writgate key show` prints"
        ))),
    }
}

/// An instant that is given as an argument.
pub(crate) fn instant(text: &str) -> Result<Instant, &'static str> {
    text.parse()
        .map_err(|_| "an instant has a date, a time and a zone (RFC 3339), as 2026-12-31T00:00:00Z has")
}

/// An instant, or the beginning of a day in UTC.
pub(crate) fn day_or_instant(text: &str) -> Result<Instant, &'static str> {
    if let Ok(day) = text.parse::<chrono::NaiveDate>() {
        return Ok(day.and_time(chrono::NaiveTime::MIN).and_utc());
    }
    text.parse().map_err(|_| "neither RFC 3339, as 2026-12-31T00:00:00Z is, nor a date, as 2026-12-31 is")
}

/// [`read`], as UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|_| Failure::new(format!("{} is not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::escape::is_unsafe;

    #[test]
    fn control_and_bidi_characters_are_escaped() {
        let hostile = "a\u{1b}[2J\u{202e}b\r\nc\u{200b}";
        assert_eq!(escaped(hostile), "a\\u{1b}[2J\\u{202e}b\\u{d}\\u{a}c\\u{200b}");
        assert_eq!(escaped_block("a\n\u{7}b"), "a\n\\u{7}b");
        assert_eq!(escaped_block("a\n\tb"), "a\n    b");
        let value = serde_json::json!({ "a": hostile, "b": 1 });
        let written = json(&value).unwrap();
        assert!(!written.chars().any(|character| character != '\n' && is_unsafe(character)), "{written}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
    }
}
