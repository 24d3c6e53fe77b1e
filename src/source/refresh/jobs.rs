//! What is to be asked for now: the plan, held against what the cache has.

use super::{DocumentKind, Refreshed, Verdict, check};
use crate::message::Digest;
use crate::protocol::ProtocolHash;
use crate::request::Instant;
use crate::source::cache::{CachedDocument, DocumentCache, OfferedDocument, Origin, SourceError};
use crate::source::{FetchPlan, Validators, host};
use chrono::TimeDelta;
use std::collections::{BTreeMap, BTreeSet};

/// Days after which an offer that could not be fetched is forgotten.
const OFFERED_FOR_DAYS: i64 = 7;

/// One URL, to be asked once.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) url: String,
    pub(super) want: Want,
    /// What is held, where an answer that nothing has changed would be of use.
    pub(super) held: Option<CachedDocument>,
    /// Its URL served what is held, not long ago.
    pub(super) is_served: bool,
}

#[derive(Debug)]
pub(super) enum Want {
    /// Pins; with the offer, where no configuration asks for it.
    Protocols(BTreeMap<ProtocolHash, Option<OfferedDocument>>),
    /// The controllers that the document may be of.
    Controller(BTreeSet<String>),
    /// The issuers that the list may be of.
    List(BTreeSet<String>),
}

impl Job {
    pub(super) fn kind(&self) -> DocumentKind {
        match &self.want {
            Want::Protocols(_) => DocumentKind::ProtocolDocument,
            Want::Controller(_) => DocumentKind::Controller,
            Want::List(_) => DocumentKind::StatusList,
        }
    }

    /// What a server misses most comes first, and what only peers want comes last. Who writes papers chooses where lists
    /// are: those that are served come before those of which nobody knows whether anything ever answers.
    pub(super) fn rank(&self) -> u8 {
        match &self.want {
            Want::Controller(_) if self.is_served => 0,
            Want::Controller(_) => 1,
            Want::Protocols(pins) if pins.values().any(Option::is_none) => 2,
            Want::List(_) if self.is_served => 3,
            Want::List(_) => 4,
            Want::Protocols(_) => 5,
        }
    }

    /// A place among jobs of one rank that no URL can choose: where there is no time for all, it is not always the same
    /// ones that wait.
    pub(super) fn place(&self, now: Instant) -> Digest {
        Digest::of(format!("{}\n{}", now.timestamp_micros(), self.url))
    }

    /// What the server is asked with.
    pub(super) fn known(&self) -> Option<&Validators> {
        let validators = self.held.as_ref().map(|held| &held.validators)?;
        (*validators != Validators::default()).then_some(validators)
    }

    /// A line for each document that was wanted of this URL, all with one verdict.
    pub(super) fn all(&self, verdict: &Verdict) -> Vec<Refreshed> {
        let line = |hash: Option<&ProtocolHash>, offered| Refreshed {
            url: self.url.clone(),
            kind: Some(self.kind()),
            hash: hash.cloned(),
            offered,
            verdict: verdict.clone(),
        };
        match &self.want {
            Want::Protocols(pins) => {
                pins.iter().map(|(hash, offer)| line(Some(hash), offer.is_some())).collect()
            }
            Want::Controller(_) | Want::List(_) => vec![line(None, false)],
        }
    }
}

/// What there is to do.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// What is to be asked for.
    pub(super) due: Vec<Job>,
    /// What need not be asked for.
    pub(super) settled: Vec<Refreshed>,
    /// Documents that nothing wants and that are too old to be of use.
    pub(super) useless: Vec<CachedDocument>,
    /// Offers that no longer stand.
    pub(super) moot: Vec<OfferedDocument>,
}

impl Jobs {
    /// # Errors
    /// [`SourceError`], for a cache that cannot be read.
    pub(super) fn of(plan: &FetchPlan, cache: &DocumentCache, now: Instant) -> Result<Self, SourceError> {
        let mut held: BTreeMap<String, CachedDocument> =
            cache.documents()?.into_iter().map(|document| (document.url.clone(), document)).collect();
        let mut jobs = Self::default();
        jobs.out_of_time(plan, &mut held, now);
        jobs.controllers(plan, &mut held, now);
        jobs.protocols(plan, cache, now)?;
        jobs.lists(plan, &mut held, now);
        for document in held.into_values() {
            jobs.unwanted(plan, document, now);
        }
        Ok(jobs)
    }

    fn settle(&mut self, job: &Job, verdict: &Verdict) {
        self.settled.extend(job.all(verdict));
    }

    /// What was fetched while a clock was wrong is not known to be of any age. No configuration is loaded with it, and no
    /// answer of today could take its place.
    fn out_of_time(&mut self, plan: &FetchPlan, held: &mut BTreeMap<String, CachedDocument>, now: Instant) {
        let latest = now.checked_add_signed(plan.skew).unwrap_or(Instant::MAX_UTC);
        let is_of_future = |_: &String, document: &mut CachedDocument| {
            document.origin == Origin::Fetched && document.retrieved.max(document.confirmed) > latest
        };
        self.useless.extend(held.extract_if(.., is_of_future).map(|(_, document)| document));
    }

    /// Configured controllers, and at configured hosts those that are held.
    fn controllers(&mut self, plan: &FetchPlan, held: &mut BTreeMap<String, CachedDocument>, now: Instant) {
        let mut wanted = plan.controllers.clone();
        for document in held.values().filter(|document| plan.controller_hosts.contains(host(&document.url))) {
            if let Some(controller) = check::controller_of(document) {
                wanted.entry(document.url.clone()).or_default().insert(controller);
            }
        }
        for (url, controllers) in wanted {
            let held = held.remove(&url).filter(|held| check::controller(held, &controllers).is_ok());
            let due = held.as_ref().is_none_or(|held| is_due(held.confirmed, plan.max_controller_age, now));
            let is_served = is_served(held.as_ref(), plan.max_controller_age, now);
            let job = Job { url, want: Want::Controller(controllers), held, is_served };
            match due || plan.all {
                true => self.due.push(job),
                false => self.settle(&job, &Verdict::Fresh),
            }
        }
    }

    /// A document that is held under its pin is that document for good. So nothing is ever asked about it again.
    fn protocols(
        &mut self,
        plan: &FetchPlan,
        cache: &DocumentCache,
        now: Instant,
    ) -> Result<(), SourceError> {
        let job = |url: &str, hash: &ProtocolHash, offer| Job {
            url: url.to_owned(),
            want: Want::Protocols([(hash.clone(), offer)].into()),
            held: None,
            is_served: false,
        };
        let mut configured: BTreeMap<&str, Job> = BTreeMap::new();
        for (url, hash) in &plan.protocols {
            let one = job(url, hash, None);
            // One that no longer hashes to its pin is none.
            if matches!(cache.pinned(hash), Ok(Some(_))) {
                self.settle(&one, &Verdict::Fresh);
            } else {
                merge(configured.entry(url), one);
            }
        }
        let mut peers: BTreeMap<String, Job> = BTreeMap::new();
        for offer in cache.offered()? {
            let is_old = now.signed_duration_since(offer.offered) > TimeDelta::days(OFFERED_FOR_DAYS);
            let pinned = plan.protocols.iter().any(|(_, hash)| *hash == offer.hash);
            if is_old
                || pinned
                || !plan.offers.may_be_asked(&offer.url)
                || matches!(cache.pinned(&offer.hash), Ok(Some(_)))
            {
                self.moot.push(offer);
                continue;
            }
            let one = job(&offer.url, &offer.hash, Some(offer.clone()));
            match configured.get_mut(offer.url.as_str()) {
                Some(job) => job.absorb(one),
                None => merge(peers.entry(offer.url.clone()), one),
            }
        }
        self.due.extend(configured.into_values());
        self.due.extend(peers.into_values());
        Ok(())
    }

    /// Lists that are wanted, and those that a person put here.
    fn lists(&mut self, plan: &FetchPlan, held: &mut BTreeMap<String, CachedDocument>, now: Instant) {
        let mut wanted = plan.lists.clone();
        for document in held.values().filter(|document| document.origin == Origin::Added) {
            if check::controller_of(document).is_some() {
                continue;
            }
            if let Ok(claims) = check::claims(document, plan) {
                wanted.entry(document.url.clone()).or_default().insert(claims.issuer);
            }
        }
        for (url, issuers) in wanted {
            let is_taken = held.get(&url).is_some_and(|held| check::is_no_place_of_a_list(held, plan));
            if is_taken || plan.controllers.contains_key(&url) {
                let job = Job { url, want: Want::List(issuers), held: None, is_served: false };
                self.settle(&job, &Verdict::Unfit(check::TAKEN.to_owned()));
                continue;
            }
            let held = held.remove(&url);
            let claims = held.as_ref().and_then(|held| check::claims(held, plan).ok());
            let due = match (&held, &claims) {
                (Some(held), Some(claims)) => is_due(held.retrieved, check::life(claims, plan), now),
                _ => true,
            };
            // What is no list would not become one by an answer that it is unchanged.
            let held = held.filter(|_| claims.is_some_and(|claims| issuers.contains(&claims.issuer)));
            let due = due || held.is_none();
            let is_served = is_served(held.as_ref(), plan.max_status_age, now);
            let job = Job { url, want: Want::List(issuers), held, is_served };
            match due || plan.all {
                true => self.due.push(job),
                false => self.settle(&job, &Verdict::Fresh),
            }
        }
    }

    /// What nothing wants goes when it is too old for any use: so what was fetched for papers of long ago takes no room.
    fn unwanted(&mut self, plan: &FetchPlan, document: CachedDocument, now: Instant) {
        if document.origin != Origin::Fetched {
            return;
        }
        let longest = plan.max_status_age.max(plan.max_controller_age);
        let end = document.confirmed.checked_add_signed(longest).unwrap_or(Instant::MAX_UTC);
        if check::state(&document, plan).good_until.unwrap_or(end) < now {
            self.useless.push(document);
        }
    }
}

impl Job {
    /// Takes over the pins of another job of the same URL.
    fn absorb(&mut self, other: Self) {
        if let (Want::Protocols(pins), Want::Protocols(more)) = (&mut self.want, other.want) {
            pins.extend(more);
        }
    }
}

fn merge<K: Ord>(entry: std::collections::btree_map::Entry<'_, K, Job>, job: Job) {
    match entry {
        std::collections::btree_map::Entry::Occupied(mut held) => held.get_mut().absorb(job),
        std::collections::btree_map::Entry::Vacant(place) => {
            place.insert(job);
        }
    }
}

/// Whether what is held was had, or found unchanged, within such an age.
fn is_served(held: Option<&CachedDocument>, age: TimeDelta, now: Instant) -> bool {
    let end = held.map(|held| held.confirmed.checked_add_signed(age).unwrap_or(Instant::MAX_UTC));
    end.is_some_and(|end| end >= now)
}

/// From half its life on.
fn is_due(start: Instant, life: TimeDelta, now: Instant) -> bool {
    start.checked_add_signed(life / 2).is_some_and(|half| half <= now)
}
