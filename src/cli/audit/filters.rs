//! The filters that the reading commands share.

use crate::audit::{DecisionOutcome, Filter};
use crate::cli::output;
use crate::refusal::Reason;
use crate::request::Instant;

/// Which rows are read.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Filters {
    /// Recorded at this instant or later: RFC 3339, or a date in UTC
    #[arg(long, value_name = "TIME", value_parser = output::day_or_instant)]
    since: Option<Instant>,
    /// Recorded before this instant: RFC 3339, or a date in UTC
    #[arg(long, value_name = "TIME", value_parser = output::day_or_instant)]
    until: Option<Instant>,
    /// `allow`, `refuse` or `not-ours`
    #[arg(long, value_parser = outcome)]
    outcome: Option<DecisionOutcome>,
    /// Refused for this reason, such as POLICY_DENIED
    #[arg(long, value_parser = reason)]
    reason: Option<Reason>,
    /// Of this transport identity
    #[arg(long, value_name = "TEXT")]
    peer: Option<String>,
    /// By this verified holder
    #[arg(long, value_name = "IRI")]
    holder: Option<String>,
    /// For this root principal
    #[arg(long, value_name = "IRI")]
    root: Option<String>,
    /// On this target
    #[arg(long, value_name = "IRI")]
    target: Option<String>,
    /// In this effective context
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// Events of the ledger too: revocations, negotiations, pruning, and the rest
    #[arg(long)]
    events: bool,
}

impl Filters {
    pub(super) fn filter(&self) -> Filter {
        Filter {
            since: self.since,
            until: self.until,
            outcome: self.outcome,
            reason: self.reason,
            peer: self.peer.clone(),
            holder: self.holder.clone(),
            root: self.root.clone(),
            target: self.target.clone(),
            context: self.context.clone(),
            events: self.events,
        }
    }
}

fn outcome(text: &str) -> Result<DecisionOutcome, String> {
    match text {
        "allow" => Ok(DecisionOutcome::Allow),
        "refuse" => Ok(DecisionOutcome::Refuse),
        "not-ours" => Ok(DecisionOutcome::NotOurs),
        _ => Err("it is `allow`, `refuse` or `not-ours`".to_owned()),
    }
}

fn reason(text: &str) -> Result<Reason, String> {
    text.parse().map_err(|()| "no such reason: docs/refusals.md lists them".to_owned())
}
