//! What a refresh is to keep at hand, and which hosts a peer's offer may point at.

use super::address::{controller_url, host, is_host, port};
use super::cache::Worth;
use crate::ledger::ListKey;
use crate::protocol::ProtocolHash;
use chrono::TimeDelta;
use std::collections::{BTreeMap, BTreeSet};

/// Hosts that may be asked for the Protocol Documents that peers offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchHosts {
    hosts: BTreeSet<String>,
    ports: BTreeSet<(String, u16)>,
}

impl FetchHosts {
    /// None: no offer is followed.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a host, on port 443. False, and nothing is added, for a name that is no host's: upper case, an IP literal, a
    /// single label, a port.
    pub fn add(&mut self, name: &str) -> bool {
        is_host(name) && {
            self.hosts.insert(name.to_owned());
            true
        }
    }

    /// Lets a host that was added be asked on another port too.
    pub fn add_port(&mut self, name: &str, port: u16) {
        self.ports.insert((name.to_owned(), port));
    }

    /// Whether a document's URL is at one of the hosts, on a port of it.
    pub(crate) fn may_be_asked(&self, url: &str) -> bool {
        let place = (host(url).to_owned(), port(url));
        self.hosts.contains(&place.0) && (place.1 == 443 || self.ports.contains(&place))
    }
}

/// What a refresh is to keep at hand. Whatever else is in the cache is left as it is, or dropped when it is of no use.
#[derive(Debug, Clone)]
pub struct FetchPlan {
    pub(super) max_status_age: TimeDelta,
    pub(super) max_controller_age: TimeDelta,
    pub(super) skew: TimeDelta,
    pub(super) context_free: bool,
    pub(super) all: bool,
    /// URL -> issuers that may sign the list.
    pub(super) lists: BTreeMap<String, BTreeSet<String>>,
    /// URL -> controllers of whom one must be its document's `id`.
    pub(super) controllers: BTreeMap<String, BTreeSet<String>>,
    pub(super) controller_hosts: BTreeSet<String>,
    pub(super) protocols: BTreeSet<(String, ProtocolHash)>,
    pub(super) offers: FetchHosts,
}

impl FetchPlan {
    /// Nothing, under these bounds on the age of status lists and controller documents. A document is asked for anew from
    /// half its bound on.
    pub fn new(max_status_age: TimeDelta, max_controller_age: TimeDelta) -> Self {
        Self {
            max_status_age,
            max_controller_age,
            skew: TimeDelta::zero(),
            context_free: false,
            all: false,
            lists: BTreeMap::new(),
            controllers: BTreeMap::new(),
            controller_hosts: BTreeSet::new(),
            protocols: BTreeSet::new(),
            offers: FetchHosts::none(),
        }
    }

    /// Sets how far clocks may differ. Default: not at all.
    pub fn with_skew(mut self, skew: TimeDelta) -> Self {
        self.skew = skew;
        self
    }

    /// How far clocks may differ.
    pub(crate) fn skew(&self) -> TimeDelta {
        self.skew
    }

    /// Takes status lists in Turtle too. Default: not.
    pub fn with_context_free_credentials(mut self, accepted: bool) -> Self {
        self.context_free = accepted;
        self
    }

    /// Asks for what is not due yet too. Default: not.
    pub fn asking_for_all(mut self, all: bool) -> Self {
        self.all = all;
        self
    }

    /// Adds a status list.
    pub fn with_list(mut self, list: ListKey) -> Self {
        self.lists.entry(list.url).or_default().insert(list.issuer);
        self
    }

    /// Adds a controller's document, where the controller has a URL.
    pub fn with_controller(mut self, controller: &str) -> Self {
        if let Some(url) = controller_url(controller) {
            self.controllers.entry(url).or_default().insert(controller.to_owned());
        }
        self
    }

    /// Adds the controller documents in the cache that are of this host.
    pub fn with_controller_host(mut self, host: impl Into<String>) -> Self {
        self.controller_hosts.insert(host.into());
        self
    }

    /// Adds a Protocol Document of the operator's.
    pub fn with_protocol(mut self, url: impl Into<String>, hash: ProtocolHash) -> Self {
        self.protocols.insert((url.into(), hash));
        self
    }

    /// Sets where offered Protocol Documents may be fetched. Default: nowhere.
    pub fn with_offers_from(mut self, hosts: FetchHosts) -> Self {
        self.offers = hosts;
        self
    }

    /// Whether the operator wants the Protocol Document of a pin.
    pub(super) fn has_pin(&self, pin: &ProtocolHash) -> bool {
        self.protocols.iter().any(|(_, hash)| hash == pin)
    }

    /// What the document of a URL is wanted for.
    pub(super) fn worth(&self, url: &str) -> Worth {
        if self.controllers.contains_key(url) || self.controller_hosts.contains(host(url)) {
            Worth::Controller
        } else if self.lists.contains_key(url) {
            Worth::List
        } else {
            Worth::Nothing
        }
    }

    /// The controllers whose documents are wanted, by the documents' URLs.
    #[cfg(test)]
    pub(crate) fn controllers(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.controllers
    }
}
