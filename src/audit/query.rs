//! SPARQL over the rows, as [`super::prov`] tells them.
//!
//! Queries only read: an update does not parse. Nothing is fetched: there is no handler for `SERVICE`, and what `FROM`
//! names is a graph of the store or nothing.

use super::escape::{csv_record, escaped, json_for_terminal, nquads_for_terminal};
use super::filter::Filter;
use super::prov;
use super::record::Record;
use crate::ledger::{LedgerError, LedgerReader};
use crate::request::Instant;
use crate::vocab::{AUDIT_NS, rdf};
use chrono::{NaiveDate, NaiveTime, TimeDelta};
use oxigraph::sparql::results::{QueryResultsFormat, QueryResultsSerializer};
use oxigraph::sparql::{
    CancellationToken, QueryEvaluationError, QueryResults, QuerySolutionIter, SparqlEvaluator, Variable,
};
use oxigraph::store::Store;
use oxrdf::{Literal, NamedNode, Quad, Term};
use std::collections::BTreeMap;

/// Octets of a query.
const MAX_QUERY_BYTES: usize = 8 << 10;
/// Octets of stack for one answer. The parser, the optimizer and the evaluation each take a step into themselves for every
/// sign of `1+1+1...`, and running out of stack ends the process: this has room for as many as a query can hold. It is
/// memory only as far as it is used.
const STACK_BYTES: usize = 512 << 20;
/// Brackets within brackets, or signs before one expression.
const MAX_NESTING: usize = 64;
/// Characters of a cell in a table.
const MAX_CELL_CHARS: usize = 160;

/// A query that is shipped.
#[derive(Debug, Clone, Copy)]
pub struct NamedQuery {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Its parameters.
    pub parameters: &'static [&'static str],
}

/// The queries that are shipped.
pub const NAMED: [NamedQuery; 5] = [
    NamedQuery {
        name: "acted-for",
        text: include_str!("queries/acted-for.rq"),
        parameters: &["principal", "since", "until"],
    },
    NamedQuery { name: "leaned-on", text: include_str!("queries/leaned-on.rq"), parameters: &["credential"] },
    NamedQuery { name: "since-revoked", text: include_str!("queries/since-revoked.rq"), parameters: &[] },
    NamedQuery { name: "refusals", text: include_str!("queries/refusals.rq"), parameters: &[] },
    NamedQuery { name: "provisional", text: include_str!("queries/provisional.rq"), parameters: &[] },
];

impl NamedQuery {
    /// A shipped query by its name.
    pub fn find(name: &str) -> Option<Self> {
        NAMED.into_iter().find(|query| query.name == name)
    }

    /// All its parameters: those given, as the rows write such values, and `since` and `until` for the seven days up to
    /// `now`.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] for one that is missing or that it does not have; [`QueryError::NoTime`]
    pub fn parameters(
        &self,
        mut given: BTreeMap<String, Term>,
        now: Instant,
    ) -> Result<BTreeMap<String, Term>, QueryError> {
        if let Some(unknown) = given.keys().find(|name| !self.parameters.contains(&name.as_str())) {
            return Err(QueryError::Parameter(unknown.clone()));
        }
        for name in self.parameters {
            if !given.contains_key(*name) {
                let value = match *name {
                    "since" => instant(now - TimeDelta::days(7)),
                    "until" => instant(now),
                    _ => return Err(QueryError::Parameter((*name).to_owned())),
                };
                given.insert((*name).to_owned(), value);
            }
        }
        given.into_iter().map(|(name, value)| Ok((name.clone(), told(&name, value)?))).collect()
    }
}

/// How much may be read and told.
#[derive(Clone)]
pub struct Bounds {
    /// Rows of the ledger that a store is built from.
    pub rows: usize,
    /// Results that are told.
    pub results: usize,
    /// Ends an evaluation that takes too long. It is asked for at each statement that is read, so what works on values alone
    /// goes on: whoever needs an end of any query ends the process, as the command does.
    pub cancellation: CancellationToken,
}

impl std::fmt::Debug for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rows, results, .. } = self;
        f.debug_struct("Bounds").field("rows", rows).field("results", results).finish_non_exhaustive()
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self { rows: 10_000, results: 10_000, cancellation: CancellationToken::new() }
    }
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// SPARQL 1.1 Query Results JSON.
    Json,
    /// CSV, without formulas and control characters.
    Csv,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// More rows than the bound.
    #[error("more than {0} rows are asked for: narrow the filter, or raise --limit")]
    TooManyRows(usize),
    /// More results than the bound.
    #[error("more than {0} results: ask for less, with LIMIT or by counting")]
    TooManyResults(usize),
    /// A query that nobody writes.
    #[error("the query is longer than {MAX_QUERY_BYTES} octets, or nested deeper than {MAX_NESTING}")]
    TooLarge,
    /// Nothing outside is asked.
    #[error("SERVICE is refused: a query over an audit trail asks nobody else")]
    Service,
    /// Not a SPARQL query; an update is none.
    #[error("not a SPARQL query: {0}")]
    Syntax(String),
    /// A parameter that is missing, or that the query does not have.
    #[error("the query has no parameter `{0}`, or needs one: --param {0}=VALUE")]
    Parameter(String),
    /// A time that is none: nothing is before or after it, and no answer would be taken for an answer.
    #[error("the parameter {0} is neither RFC 3339 nor a date such as 2026-05-01")]
    NoTime(String),
    /// It took too long.
    #[error("the query was ended: it took too long")]
    Cancelled,
    /// It could not be evaluated.
    #[error("the query cannot be evaluated: {0}")]
    Evaluation(String),
}

impl From<QueryEvaluationError> for QueryError {
    fn from(error: QueryEvaluationError) -> Self {
        match error {
            QueryEvaluationError::Cancelled => Self::Cancelled,
            other => Self::Evaluation(other.to_string()),
        }
    }
}

/// What the rows of a ledger say, for queries.
pub struct Trail {
    store: Store,
    bounds: Bounds,
}

impl std::fmt::Debug for Trail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trail").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

impl Trail {
    /// Takes the decisions that a filter asks for, and every event, whatever the filter says: a revocation after the time
    /// that is asked about must not be missed.
    ///
    /// # Errors
    /// [`QueryError::TooManyRows`]; [`QueryError::Ledger`]
    pub fn read(reader: &LedgerReader, filter: &Filter, bounds: Bounds) -> Result<Self, QueryError> {
        let evaluation = |error: oxigraph::store::StorageError| QueryError::Evaluation(error.to_string());
        let store = Store::new().map_err(evaluation)?;
        let mut rows = 0usize;
        reader.each_row(1, |row| {
            if matches!(row.record, Record::Decision(_)) && !filter.matches(&row.record) {
                return Ok(());
            }
            rows = rows.saturating_add(1);
            if rows > bounds.rows {
                return Err(QueryError::TooManyRows(bounds.rows));
            }
            store.extend(prov::statements(&row)).map_err(evaluation)
        })?;
        Ok(Self { store, bounds })
    }

    /// Answers a query. Parameters are statements beside the rows (`wg:parameters`), so a value is a term and never text.
    ///
    /// # Errors
    /// [`QueryError`]
    pub fn answer(
        &self,
        query: &str,
        parameters: &BTreeMap<String, Term>,
        format: Format,
    ) -> Result<String, QueryError> {
        check(query)?;
        let answer = || match asks_another(query)? {
            true => Err(QueryError::Service),
            false => self.evaluate(query, parameters, format),
        };
        let ended = |problem: &str| QueryError::Evaluation(problem.to_owned());
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, answer);
            let thread = thread.map_err(|error| ended(&error.to_string()))?;
            thread.join().unwrap_or_else(|_| Err(ended("a dependency panicked")))
        })
    }

    /// [`Self::answer`] without looking at the text first: whatever it says, nothing is reached from here.
    fn evaluate(
        &self,
        query: &str,
        parameters: &BTreeMap<String, Term>,
        format: Format,
    ) -> Result<String, QueryError> {
        let evaluator = SparqlEvaluator::new()
            .without_default_http_service_handler()
            .with_cancellation_token(self.bounds.cancellation.clone());
        let mut prepared =
            evaluator.parse_query(query).map_err(|error| QueryError::Syntax(error.to_string()))?;
        // Each row is a graph, so without a word on graphs all of them are meant.
        if prepared.dataset().is_default_dataset() {
            prepared.dataset_mut().set_default_graph_as_union();
        }
        // Parameters are data of this answer alone: what is never committed is gone with the transaction.
        let mut transaction =
            self.store.start_transaction().map_err(|error| QueryError::Evaluation(error.to_string()))?;
        for (name, term) in parameters {
            transaction.insert(&parameter(name, term)?);
        }
        match prepared.on_transaction(&transaction).execute()? {
            QueryResults::Boolean(answer) => boolean(answer, format),
            QueryResults::Solutions(solutions) => self.solutions(solutions, format),
            QueryResults::Graph(triples) => {
                let mut text = String::new();
                for (number, triple) in triples.enumerate() {
                    if number >= self.bounds.results {
                        return Err(QueryError::TooManyResults(self.bounds.results));
                    }
                    text.push_str(&format!("{} .\n", triple?));
                }
                Ok(nquads_for_terminal(&text))
            }
        }
    }

    fn solutions(&self, solutions: QuerySolutionIter<'_>, format: Format) -> Result<String, QueryError> {
        let variables = solutions.variables().to_vec();
        let mut rows: Vec<Vec<Option<Term>>> = Vec::new();
        for solution in solutions {
            if rows.len() >= self.bounds.results {
                return Err(QueryError::TooManyResults(self.bounds.results));
            }
            let solution = solution?;
            rows.push(variables.iter().map(|variable| solution.get(variable).cloned()).collect());
        }
        match format {
            Format::Table => Ok(table(&variables, &rows)),
            Format::Csv => Ok(csv(&variables, &rows)),
            Format::Json => json(&variables, &rows),
        }
    }
}

/// `wg:parameters wg:NAME VALUE`, in the graph `wg:parameters`.
fn parameter(name: &str, value: &Term) -> Result<Quad, QueryError> {
    let own = |local: &str| NamedNode::new(format!("{AUDIT_NS}{local}"));
    let wrong = |_| QueryError::Parameter(name.to_owned());
    let parameters = own("parameters").map_err(wrong)?;
    Ok(Quad::new(parameters.clone(), own(name).map_err(wrong)?, value.clone(), parameters))
}

/// A parameter's value: a term in N-Triples syntax, an IRI as it stands, an instant, or else a text.
pub fn term(value: &str) -> Term {
    if let Ok(term) = value.parse::<Term>() {
        return term;
    }
    match (NamedNode::new(value), value.parse::<Instant>()) {
        (_, Ok(at)) => instant(at),
        (Ok(iri), _) => iri.into(),
        _ => Literal::new_simple_literal(value).into(),
    }
}

/// The value of a shipped query's parameter as the rows write it: a person has it from a line or a page.
fn told(name: &str, value: Term) -> Result<Term, QueryError> {
    let text = match &value {
        Term::Literal(literal) => literal.value(),
        _ => "",
    };
    match name {
        "since" | "until" => match (text.parse::<Instant>(), text.parse::<NaiveDate>()) {
            (Ok(at), _) => Ok(instant(at)),
            (_, Ok(day)) => Ok(instant(day.and_time(NaiveTime::MIN).and_utc())),
            _ => Err(QueryError::NoTime(name.to_owned())),
        },
        _ if !value.is_literal() => Ok(value),
        "credential" => Ok(text.parse().map_or_else(|()| prov::iri(text), prov::named_by_hash).into()),
        _ => Ok(prov::iri(text).into()),
    }
}

fn instant(at: Instant) -> Term {
    let kind = NamedNode::new_unchecked(rdf::XSD_DATE_TIME);
    Literal::new_typed_literal(super::recorded_text(at), kind).into()
}

/// Nothing is nested so deeply that its parser would run out of stack.
fn check(query: &str) -> Result<(), QueryError> {
    if query.len() > MAX_QUERY_BYTES {
        return Err(QueryError::TooLarge);
    }
    let (mut depth, mut prefixes) = (0usize, 0usize);
    for character in query.chars().filter(|character| !character.is_whitespace()) {
        match character {
            '(' | '{' | '[' => depth = depth.saturating_add(1),
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        prefixes = if matches!(character, '!' | '+' | '-' | '^') { prefixes.saturating_add(1) } else { 0 };
        if depth.max(prefixes) > MAX_NESTING {
            return Err(QueryError::TooLarge);
        }
    }
    Ok(())
}

/// Whether a query asks another service. (There is no handler for it either way; but with `SILENT` it would be an empty
/// answer, and an auditor must not take that for one.) Looked for in what the parser writes of what it read: that has no
/// comments, escapes or prefixes, and no two words in one, which SPARQL allows (`SERVICESILENT<urn:x>{}`).
fn asks_another(query: &str) -> Result<bool, QueryError> {
    #[expect(deprecated, reason = "the one type of the crate that writes a parsed query")]
    let read = oxigraph::sparql::Query::parse(query, None);
    Ok(has_service(&read.map_err(|error| QueryError::Syntax(error.to_string()))?.to_string()))
}

/// Whether the keyword stands anywhere but in a string, an IRI, or the name of a variable or a blank node.
fn has_service(written: &str) -> bool {
    let mut rest = written;
    let mut before = ' ';
    while let Some(character) = rest.chars().next() {
        let skipped = match character {
            '"' => string_end(rest),
            '<' => iri_end(rest).unwrap_or(1),
            _ if character.is_alphanumeric() || character == '_' => {
                let end = rest
                    .find(|character: char| !character.is_alphanumeric() && character != '_')
                    .unwrap_or(rest.len());
                if !matches!(before, '?' | '$' | ':') && rest.get(..end) == Some("SERVICE") {
                    return true;
                }
                end
            }
            other => other.len_utf8(),
        };
        let (passed, following) = rest.split_at_checked(skipped.max(1)).unwrap_or((rest, ""));
        before = passed.chars().next_back().unwrap_or(' ');
        rest = following;
    }
    false
}

/// Where a string ends that begins here.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at.saturating_add(1),
            _ => {}
        }
    }
    text.len()
}

/// Where an IRI ends that begins here; `None`: it is a sign of comparison.
fn iri_end(text: &str) -> Option<usize> {
    let end = text.find('>')?;
    let inside = text.get(1..end)?;
    let none =
        |character: char| character <= ' ' || matches!(character, '<' | '"' | '{' | '}' | '|' | '^' | '`');
    (!inside.chars().any(none)).then(|| end.saturating_add(1))
}

fn boolean(answer: bool, format: Format) -> Result<String, QueryError> {
    match format {
        Format::Json => Ok(format!("{{\"head\":{{}},\"boolean\":{answer}}}\n")),
        Format::Table | Format::Csv => Ok(format!("{answer}\n")),
    }
}

fn plain(term: Option<&Term>) -> String {
    match term {
        None => String::new(),
        Some(Term::NamedNode(iri)) => iri.as_str().to_owned(),
        Some(Term::Literal(literal)) => literal.value().to_owned(),
        Some(other) => other.to_string(),
    }
}

fn csv(variables: &[Variable], rows: &[Vec<Option<Term>>]) -> String {
    let mut text = csv_record(variables.iter().map(Variable::as_str));
    for row in rows {
        let cells: Vec<_> = row.iter().map(|term| plain(term.as_ref())).collect();
        text.push_str(&csv_record(cells.iter().map(String::as_str)));
    }
    text
}

fn json(variables: &[Variable], rows: &[Vec<Option<Term>>]) -> Result<String, QueryError> {
    let failed = |error: std::io::Error| QueryError::Evaluation(error.to_string());
    let mut serializer = QueryResultsSerializer::from_format(QueryResultsFormat::Json)
        .serialize_solutions_to_writer(Vec::new(), variables.to_vec())
        .map_err(failed)?;
    for row in rows {
        let bound = variables.iter().zip(row).filter_map(|(variable, term)| Some((variable, term.as_ref()?)));
        serializer.serialize(bound).map_err(failed)?;
    }
    let text = String::from_utf8(serializer.finish().map_err(failed)?)
        .map_err(|error| QueryError::Evaluation(error.to_string()))?;
    Ok(format!("{}\n", json_for_terminal(&text)))
}

fn table(variables: &[Variable], rows: &[Vec<Option<Term>>]) -> String {
    let cell = |text: &str| {
        let mut cell = escaped(text);
        crate::refusal::cut(&mut cell, MAX_CELL_CHARS);
        cell
    };
    let mut lines: Vec<Vec<String>> = vec![variables.iter().map(|name| cell(name.as_str())).collect()];
    lines.extend(rows.iter().map(|row| row.iter().map(|term| cell(&plain(term.as_ref()))).collect()));
    let widths: Vec<usize> = (0..variables.len())
        .map(|column| {
            lines
                .iter()
                .filter_map(|line| line.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for line in &lines {
        let padded: Vec<_> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    text.push_str(&match rows.len() {
        1 => "1 result\n".to_owned(),
        results => format!("{results} results\n"),
    });
    text
}

#[cfg(test)]
mod tests;
