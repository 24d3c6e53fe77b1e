//! The refresh: asks for what a [`FetchPlan`] names and is due, checks it, and only then puts it into the cache.
//!
//! A document that is asked for and does not come, or is not what it must be, leaves the one that is held. What an answer
//! may renew differs by kind, because what it shows differs:
//!
//! | kind | the server says that nothing has changed (304, or the same octets) | other octets |
//! |---|---|---|
//! | controller document | it is current: its age counts from now (`confirmed`) | take its place, age counts from now |
//! | status list | `confirmed` alone: an issuer that no longer signs its list must not look alive, so its life (`retrieved`) goes on counting from when the first list of its `validFrom` was had, as the ledger's mark does | as `ListMark::following` says: a later `validFrom` begins a new life, the same does not, an earlier one is a step back and is not taken |
//! | Protocol Document | never asked: its pin says all | must hash to the pin |
//!
//! All instants are the one at which the refresh began, which is before any answer was made.

mod check;
mod jobs;
#[cfg(test)]
mod tests;

pub use check::{DocumentState, state};
pub(crate) use check::{is_json, is_status_list};

use super::cache::{
    CachedDocument, Displaced, DocumentCache, Origin, PinError, SourceError, WantedBy, Worth,
};
use super::retrieve::Retrieve;
use super::{DocumentKind, FetchError, FetchPlan, Fetched, Fetcher, host};
use crate::protocol::ProtocolHash;
use crate::request::Instant;
use jobs::{Job, Jobs, Want};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant as Began};
use tokio::task::JoinSet;

/// Requests to one host at one time.
const MAX_PER_HOST: usize = 2;
/// Requests at one time.
const MAX_IN_ALL: usize = 8;
/// How long requests are begun. Where nobody answers each takes all the time that it has, and what is held by then is of
/// use only when the refresh is over and its caller loads it.
const MAX_TIME: Duration = Duration::from_secs(300);

/// What became of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is held and not due.
    Fresh,
    /// It would be asked for (a dry run).
    Due,
    /// It is in the cache now.
    Stored,
    /// The server has nothing else than what is held.
    Unchanged,
    /// Nothing wants it any more and it was too old to be of use: it is gone.
    Dropped,
    /// What came does not hash to the pin (HASH-2).
    HashMismatch {
        /// The hash of what came.
        found: ProtocolHash,
    },
    /// A status list with an earlier `validFrom` than the one that is held.
    RolledBack,
    /// What came is not what it must be, in our words.
    Unfit(String),
    /// Nothing came.
    NotFetched(String),
    /// The cache could not keep it.
    NotStored(String),
}

impl Verdict {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Fresh => "FRESH",
            Self::Due => "DUE",
            Self::Stored => "STORED",
            Self::Unchanged => "UNCHANGED",
            Self::Dropped => "DROPPED",
            Self::HashMismatch { .. } => "HASH_MISMATCH",
            Self::RolledBack => "ROLLED_BACK",
            Self::Unfit(_) => "UNFIT",
            Self::NotFetched(_) => "NOT_FETCHED",
            Self::NotStored(_) => "NOT_STORED",
        }
    }

    /// What a person needs to know beside the word.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::HashMismatch { found } => Some(format!("its graph hashes to {found}")),
            Self::RolledBack => Some("it is older than the list that is held".to_owned()),
            Self::Unfit(detail) | Self::NotFetched(detail) | Self::NotStored(detail) => Some(detail.clone()),
            Self::Fresh | Self::Due | Self::Stored | Self::Unchanged | Self::Dropped => None,
        }
    }

    /// Whether what was wanted is not there.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Fresh | Self::Due | Self::Stored | Self::Unchanged | Self::Dropped => false,
            Self::HashMismatch { .. }
            | Self::RolledBack
            | Self::Unfit(_)
            | Self::NotFetched(_)
            | Self::NotStored(_) => true,
        }
    }
}

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    /// The document's URL.
    pub url: String,
    /// What was wanted there; `None` for what is dropped.
    pub kind: Option<DocumentKind>,
    /// The pin, of a Protocol Document.
    pub hash: Option<ProtocolHash>,
    /// It was a peer that offered it.
    pub offered: bool,
    /// What became of it.
    pub verdict: Verdict,
}

/// What a refresh did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefreshReport {
    /// A line for each document, in order of their URLs.
    pub documents: Vec<Refreshed>,
}

impl RefreshReport {
    /// Whether something that this server needs is not there. What peers offer is nothing that it needs: they must not be
    /// able to raise an alarm.
    pub fn failed(&self) -> bool {
        self.documents.iter().any(|document| !document.offered && document.verdict.is_failure())
    }

    /// Whether the cache holds something else than before, be it that a document is current: a configuration that is
    /// loaded now may differ.
    pub fn changed(&self) -> bool {
        let changes = [Verdict::Stored, Verdict::Unchanged, Verdict::Dropped];
        self.documents.iter().any(|document| changes.contains(&document.verdict))
    }
}

/// What [`refresh`] would ask for at `now`; nothing is asked and nothing changes.
///
/// # Errors
/// [`SourceError`], for a cache that cannot be read.
pub fn dry_run(cache: &DocumentCache, plan: &FetchPlan, now: Instant) -> Result<RefreshReport, SourceError> {
    let jobs = Jobs::of(plan, cache, now)?;
    let mut documents = jobs.settled;
    documents.extend(jobs.due.iter().flat_map(|job| job.all(&Verdict::Due)));
    Ok(report(documents))
}

/// Asks for what is due, at most two requests to one host and eight in all at one time. To be awaited in a tokio runtime
/// with time and I/O enabled, and best in one of its own: what comes is checked and written where this runs. After five
/// minutes nothing further is asked for, and what was not asked by then is `NOT_FETCHED`. Dropping the future ends it; what was stored by then stays. What is in the cache then counts from the next load of the configuration
/// on.
///
/// # Errors
/// [`SourceError`], for a cache that cannot be read: then nothing is asked for.
pub async fn refresh(
    fetcher: &Fetcher,
    cache: &DocumentCache,
    plan: &FetchPlan,
    now: Instant,
) -> Result<RefreshReport, SourceError> {
    refresh_with(Arc::new(fetcher.clone()), cache, plan, now, MAX_TIME).await
}

/// [`refresh`], whoever is asked.
async fn refresh_with(
    retrieve: Arc<dyn Retrieve>,
    cache: &DocumentCache,
    plan: &FetchPlan,
    now: Instant,
    most: Duration,
) -> Result<RefreshReport, SourceError> {
    let began = Began::now();
    let jobs = Jobs::of(plan, cache, now)?;
    for offer in &jobs.moot {
        cache.forget_offer(offer)?;
    }
    let mut refresh = Refresh { cache, plan, now, documents: jobs.settled };
    for document in &jobs.useless {
        refresh.drop_document(document);
    }
    let mut pending = jobs.due;
    pending.sort_by_cached_key(|job| job.place(now));
    let mut running = JoinSet::new();
    let mut asked: HashMap<tokio::task::Id, Job> = HashMap::new();
    let mut asked_so_far: HashMap<String, usize> = HashMap::new();
    loop {
        if began.elapsed() >= most {
            for job in pending.drain(..) {
                refresh
                    .note(&job, &Verdict::NotFetched("the time of the refresh was over before".to_owned()));
            }
        }
        while asked.len() < MAX_IN_ALL {
            let Some(job) = next(&mut pending, &asked, &asked_so_far) else { break };
            *asked_so_far.entry(host(&job.url).to_owned()).or_default() += 1;
            let (retrieve, url, kind) = (Arc::clone(&retrieve), job.url.clone(), job.kind());
            let known = job.known().cloned();
            let task = running.spawn(async move { retrieve.retrieve(&url, kind, known.as_ref()).await });
            asked.insert(task.id(), job);
        }
        let (id, answer) = match running.join_next_with_id().await {
            None => break,
            Some(Ok((id, answer))) => (id, Some(answer)),
            Some(Err(error)) => (error.id(), None),
        };
        let Some(job) = asked.remove(&id) else { continue };
        match answer {
            Some(answer) => refresh.take(&job, answer),
            // A panic in a fetch ends that fetch.
            None => refresh.note(&job, &Verdict::NotFetched("the fetch ended without an answer".to_owned())),
        }
    }
    Ok(report(refresh.documents))
}

/// Takes the job that is asked next: of a host that has room, in the order of what a server misses most, and of the host
/// that was asked least so far. So a host that lets us wait for many documents does not keep us from another's.
fn next(
    pending: &mut Vec<Job>,
    asked: &HashMap<tokio::task::Id, Job>,
    asked_so_far: &HashMap<String, usize>,
) -> Option<Job> {
    let has_room = |job: &Job| {
        let of_host = asked.values().filter(|other| host(&other.url) == host(&job.url));
        of_host.count() < MAX_PER_HOST
    };
    let so_far = |job: &Job| asked_so_far.get(host(&job.url)).copied().unwrap_or(0);
    let best = pending.iter().enumerate().filter(|(_, job)| has_room(job));
    let (index, _) = best.min_by_key(|(index, job)| (job.rank(), so_far(job), *index))?;
    Some(pending.remove(index))
}

fn report(mut documents: Vec<Refreshed>) -> RefreshReport {
    documents.sort_by(|one, other| (&one.url, &one.hash).cmp(&(&other.url, &other.hash)));
    RefreshReport { documents }
}

/// Why a document does not take its place.
enum Kept {
    /// What is held stays, with this verdict.
    As(Verdict),
    Cache(SourceError),
}

impl From<SourceError> for Kept {
    fn from(error: SourceError) -> Self {
        Self::Cache(error)
    }
}

struct Refresh<'a> {
    cache: &'a DocumentCache,
    plan: &'a FetchPlan,
    now: Instant,
    documents: Vec<Refreshed>,
}

impl Refresh<'_> {
    /// Judges one answer.
    fn take(&mut self, job: &Job, answer: Result<Fetched, FetchError>) {
        let verdict = match answer {
            Err(error) => Verdict::NotFetched(error.to_string()),
            Ok(Fetched::NotModified) => self.confirm(job),
            Ok(Fetched::Document { octets, media_type, validators }) => {
                let document = CachedDocument {
                    url: job.url.clone(),
                    media_type,
                    retrieved: self.now,
                    confirmed: self.now,
                    validators,
                    origin: Origin::Fetched,
                    octets,
                };
                match &job.want {
                    Want::Protocols(_) => return self.pin(job, &document),
                    Want::Controller(controllers) => self.controller(document, controllers),
                    Want::List(issuers) => self.list(document, issuers),
                }
            }
        };
        self.note(job, &verdict);
    }

    fn note(&mut self, job: &Job, verdict: &Verdict) {
        self.documents.extend(job.all(verdict));
    }

    /// The server says that what it was asked about is current.
    fn confirm(&self, job: &Job) -> Verdict {
        let Some(asked) = job.held.as_ref().filter(|_| job.known().is_some()) else {
            return Verdict::NotFetched(
                "the server says that what it was not asked about is unchanged".into(),
            );
        };
        let confirmed = self.cache.replace(&job.url, |held| match held {
            // What another process put there meanwhile was not asked about.
            Some(held) if is_same(held, asked) => {
                Ok(CachedDocument { confirmed: held.confirmed.max(self.now), ..held.clone() })
            }
            Some(_) => Err(Kept::As(Verdict::Unchanged)),
            None => Err(Kept::As(Verdict::NotStored("the document has gone meanwhile".to_owned()))),
        });
        verdict(confirmed, Verdict::Unchanged)
    }

    /// Holds a document to each pin that its URL is to serve.
    fn pin(&mut self, job: &Job, document: &CachedDocument) {
        let Want::Protocols(pins) = &job.want else { return };
        for (hash, offer) in pins {
            let wanted_by = if offer.is_some() { WantedBy::Peer } else { WantedBy::Operator };
            let pinned = self.cache.pin_within(document, hash, wanted_by, &|pin| self.plan.has_pin(pin));
            let mut verdict = match pinned {
                Ok(()) => Verdict::Stored,
                Err(PinError::HashMismatch { found }) => Verdict::HashMismatch { found },
                Err(PinError::Unreadable(problem)) => Verdict::Unfit(problem),
                Err(PinError::Cache(error)) => Verdict::NotStored(error.problem),
            };
            // Whatever came has been judged: the peer may offer it again.
            if let Some(offer) = offer
                && let Err(error) = self.cache.forget_offer(offer)
            {
                verdict = Verdict::NotStored(error.problem);
            }
            self.documents.push(Refreshed {
                url: job.url.clone(),
                kind: Some(job.kind()),
                hash: Some(hash.clone()),
                offered: offer.is_some(),
                verdict,
            });
        }
    }

    fn controller(&mut self, document: CachedDocument, controllers: &BTreeSet<String>) -> Verdict {
        if let Err(problem) = check::controller(&document, controllers) {
            return Verdict::Unfit(problem);
        }
        let mut unchanged = false;
        let worth = |url: &str| self.plan.worth(url);
        let stored = self.cache.replace_within(&document.url.clone(), Some(&worth), |held| {
            let held = held
                .filter(|held| held.origin == Origin::Added || check::controller(held, controllers).is_ok());
            let Some(held) = held else { return Ok::<_, Kept>(document) };
            unchanged = has_same_octets(held, &document);
            let retrieved = if unchanged { held.retrieved } else { document.retrieved };
            Ok(CachedDocument { retrieved, origin: held.origin, ..document })
        });
        let stored = self.note_displaced(stored);
        verdict(stored, if unchanged { Verdict::Unchanged } else { Verdict::Stored })
    }

    fn list(&mut self, document: CachedDocument, issuers: &BTreeSet<String>) -> Verdict {
        let claims = match check::claims(&document, self.plan) {
            Ok(claims) => claims,
            Err(problem) => return Verdict::Unfit(problem),
        };
        if !issuers.contains(&claims.issuer) {
            return Verdict::Unfit("the status list is by another issuer".to_owned());
        }
        // It could not be relied on yet, and no list that is signed before then would follow it.
        let latest = self.now.checked_add_signed(self.plan.skew).unwrap_or(Instant::MAX_UTC);
        if claims.mark.valid_from.is_some_and(|valid_from| valid_from > latest) {
            return Verdict::Unfit("the status list is not valid yet".to_owned());
        }
        let mut unchanged = false;
        let worth = |url: &str| self.plan.worth(url);
        let stored = self.cache.replace_within(&document.url.clone(), Some(&worth), |held| {
            let Some(held) = held else { return Ok(document) };
            if check::is_no_place_of_a_list(held, self.plan) {
                return Err(Kept::As(Verdict::Unfit(check::TAKEN.to_owned())));
            }
            let document = CachedDocument { origin: held.origin, ..document };
            let Ok(earlier) = check::claims(held, self.plan) else { return Ok(document) };
            if earlier.issuer != claims.issuer {
                return Ok(document);
            }
            unchanged = has_same_octets(held, &document);
            match claims.mark.following(&earlier.mark) {
                // The ledger's rule, and its instant: to the microsecond, and never later.
                Some(mark) => Ok(CachedDocument { retrieved: mark.accepted, ..document }),
                None => Err(Kept::As(Verdict::RolledBack)),
            }
        });
        let stored = self.note_displaced(stored);
        verdict(stored, if unchanged { Verdict::Unchanged } else { Verdict::Stored })
    }

    /// Of what made room, a list that papers still name is missed.
    fn note_displaced(&mut self, stored: Result<Vec<Displaced>, Kept>) -> Result<(), Kept> {
        for Displaced { url, worth } in stored? {
            let (kind, verdict) = match worth {
                Worth::Nothing => (None, Verdict::Dropped),
                _ => {
                    let why = "it made room for what is smaller: the cache is full".to_owned();
                    (Some(DocumentKind::StatusList), Verdict::NotStored(why))
                }
            };
            self.documents.push(Refreshed { url, kind, hash: None, offered: false, verdict });
        }
        Ok(())
    }

    fn drop_document(&mut self, document: &CachedDocument) {
        let verdict = match self.cache.remove(document) {
            Ok(()) => Verdict::Dropped,
            Err(error) => Verdict::NotStored(error.problem),
        };
        let url = document.url.clone();
        self.documents.push(Refreshed { url, kind: None, hash: None, offered: false, verdict });
    }
}

fn verdict(stored: Result<(), Kept>, done: Verdict) -> Verdict {
    match stored {
        Ok(()) => done,
        Err(Kept::As(verdict)) => verdict,
        Err(Kept::Cache(error)) => Verdict::NotStored(error.problem),
    }
}

fn has_same_octets(one: &CachedDocument, other: &CachedDocument) -> bool {
    one.octets == other.octets && one.media_type == other.media_type
}

/// Whether an answer about one is an answer about the other.
fn is_same(one: &CachedDocument, other: &CachedDocument) -> bool {
    has_same_octets(one, other) && one.validators == other.validators
}
