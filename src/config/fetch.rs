//! The `[fetch]` table: what may be asked of the network, and by whom. Without it nothing is ever fetched. Nothing here
//! fetches either: a plan and a fetcher are made of it, for whoever refreshes the cache.

use super::file::ConfigFile;
use super::{ConfigBuilder, ConfigError, RootPrincipals};
use crate::engine::Clock;
use crate::ledger::ListKey;
use crate::protocol::ProtocolHash;
use crate::source::{
    DocumentCache, FetchHosts, FetchLimits, FetchPlan, FetchPolicy, Fetcher, OfferedDocuments,
    controller_url, host, is_document_url, is_host, port,
};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// `[fetch]`, as it stands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FetchSettings {
    /// Hosts that a peer's offer may point at. Default: none.
    #[serde(default)]
    hosts: Vec<String>,
    /// Controllers (did:web, WebID) whose documents are fetched, and hosts at which those of all known controllers are.
    #[serde(default)]
    controllers: Vec<String>,
    /// `host:port`, beyond 443.
    #[serde(default)]
    allow_ports: Vec<String>,
    /// A PEM file of authorities that are trusted beside the public ones.
    trust_anchors: Option<PathBuf>,
    /// Redirects within an origin are followed.
    #[serde(default)]
    same_origin_redirects: bool,
    /// Seconds for a secured connection; it may be lowered.
    connect_seconds: Option<u64>,
    /// Seconds for the head of the answer; it may be lowered.
    header_seconds: Option<u64>,
    /// Seconds for the whole; it may be lowered.
    total_seconds: Option<u64>,
}

fn wrong(key: &str, problem: impl Into<String>) -> ConfigError {
    ConfigError::new(format!("fetch.{key}"), problem)
}

impl FetchSettings {
    fn ports(&self) -> Result<Vec<(&str, u16)>, ConfigError> {
        let read = |entry: &'_ String| -> Option<(usize, u16)> {
            let (name, number) = entry.split_once(':')?;
            let port = number.parse().ok().filter(|port: &u16| *port != 0 && port.to_string() == number)?;
            is_host(name).then_some((name.len(), port))
        };
        let mut ports = Vec::new();
        for entry in &self.allow_ports {
            let problem =
                || wrong("allow_ports", format!("{entry} is not a host's name, a colon and a port"));
            let (length, port) = read(entry).ok_or_else(problem)?;
            ports.push((entry.get(..length).ok_or_else(problem)?, port));
        }
        Ok(ports)
    }

    /// Whether the fetcher would ask on this URL's port.
    fn check_port(&self, key: &str, url: &str) -> Result<(), ConfigError> {
        let place = (host(url), port(url));
        if place.1 == 443 || self.ports()?.contains(&place) {
            return Ok(());
        }
        Err(wrong(key, format!("{url} is on a port that `allow_ports` does not have")))
    }

    fn limits(&self) -> Result<FetchLimits, ConfigError> {
        let defaults = FetchLimits::default();
        let lowered = |key: &str, value: Option<u64>, most: u64| match value.unwrap_or(most) {
            0 => Err(wrong(key, "must be longer than nothing")),
            seconds if seconds > most => {
                Err(wrong(key, "is higher than its default, and may only be lowered"))
            }
            seconds => Ok(seconds),
        };
        Ok(FetchLimits {
            connect_seconds: lowered("connect_seconds", self.connect_seconds, defaults.connect_seconds)?,
            header_seconds: lowered("header_seconds", self.header_seconds, defaults.header_seconds)?,
            total_seconds: lowered("total_seconds", self.total_seconds, defaults.total_seconds)?,
            ..defaults
        })
    }

    /// Hosts that offers may point at.
    fn offer_hosts(&self) -> Result<FetchHosts, ConfigError> {
        let mut hosts = FetchHosts::none();
        for name in &self.hosts {
            if !hosts.add(name) {
                return Err(wrong("hosts", format!("{name} is no host's name in lower case, with a dot")));
            }
        }
        for (name, port) in self.ports()? {
            hosts.add_port(name, port);
        }
        Ok(hosts)
    }
}

impl ConfigFile {
    /// Checks `[fetch]` and what in the file depends on it.
    ///
    /// # Errors
    /// [`ConfigError`]
    pub(super) fn check_fetch(&self) -> Result<(), ConfigError> {
        if self.fetch.is_some() && self.document_cache.is_none() {
            return Err(ConfigError::new("fetch", "there is no `document_cache` for what is fetched"));
        }
        self.fetcher()?;
        self.fetch_plan(Vec::new()).map(drop)
    }

    /// A fetcher under the policy of `[fetch]`; `None` where there is no such table.
    ///
    /// # Errors
    /// [`ConfigError`], also for trust anchors that cannot be read.
    pub fn fetcher(&self) -> Result<Option<Fetcher>, ConfigError> {
        let Some(settings) = &self.fetch else { return Ok(None) };
        let mut policy = FetchPolicy::new()
            .follow_same_origin_redirects(settings.same_origin_redirects)
            .with_limits(settings.limits()?);
        for (name, port) in settings.ports()? {
            policy = policy.allow_port(name, port);
        }
        if let Some(file) = &settings.trust_anchors {
            let path = self.base.join(file);
            policy = policy
                .with_trust_anchors_pem(&super::file::read_text(&path)?)
                .map_err(|cause| ConfigError::new(path.display().to_string(), cause.to_string()))?;
        }
        Fetcher::new(policy).map(Some).map_err(|cause| ConfigError::new("fetch", cause.to_string()))
    }

    /// What a refresh is to keep at hand: these status lists (those that the ledger names as wanted), and what `[fetch]`
    /// and `[[protocols]]` name. `None` where there is no `[fetch]`.
    ///
    /// # Errors
    /// [`ConfigError`]
    pub fn fetch_plan(&self, lists: Vec<ListKey>) -> Result<Option<FetchPlan>, ConfigError> {
        let Some(settings) = &self.fetch else { return Ok(None) };
        let mut plan = self.cache_bounds().with_offers_from(settings.offer_hosts()?);
        for entry in &settings.controllers {
            plan = match controller_url(entry) {
                Some(url) => {
                    settings.check_port("controllers", &url)?;
                    plan.with_controller(entry)
                }
                None if is_host(entry) => self.controllers_at(entry, plan, &lists),
                None => {
                    let problem = "is neither a did:web or WebID that has a URL nor a host's name";
                    return Err(wrong("controllers", format!("{entry} {problem}")));
                }
            };
        }
        for (url, hash) in self.protocol_sources()? {
            settings.check_port("allow_ports", &url)?;
            plan = plan.with_protocol(url, hash);
        }
        Ok(Some(lists.into_iter().fold(plan, FetchPlan::with_list)))
    }

    /// How old what is in the cache may be, and what is read of it: a plan that wants nothing yet.
    pub fn cache_bounds(&self) -> FetchPlan {
        // Its ages and their defaults; nothing else is taken from here.
        let ages = self.durations(ConfigBuilder::new("", RootPrincipals::default())).config;
        FetchPlan::new(ages.max_status_age, ages.max_controller_age)
            .with_skew(ages.skew)
            .with_context_free_credentials(self.context_free_credentials)
    }

    /// Everybody whose document is at this host and whom this server knows already: owners, publishers, issuers of wanted
    /// lists, and those whose document is in the cache.
    fn controllers_at(&self, name: &str, plan: FetchPlan, lists: &[ListKey]) -> FetchPlan {
        let owners = self.roots.iter().map(|root| &root.principal);
        let publishers = self.revocations.iter().map(|feed| &feed.publisher);
        let issuers = lists.iter().map(|list| &list.issuer);
        let known = owners.chain(publishers).chain(issuers);
        let here = known.filter(|known| controller_url(known).is_some_and(|url| host(&url) == name));
        here.fold(plan.with_controller_host(name), |plan, controller| plan.with_controller(controller))
    }

    /// The Protocol Documents that the file names by their URL.
    fn protocol_sources(&self) -> Result<Vec<(String, ProtocolHash)>, ConfigError> {
        let mut sources = Vec::new();
        for entry in &self.protocols {
            // What is in a file is not fetched: its source is for others.
            let (None, Some(url)) = (&entry.file, &entry.source) else { continue };
            let problem = |problem: String| ConfigError::new(url.clone(), problem);
            if !is_document_url(url) {
                return Err(problem("is no https URL in normal form, without a fragment".to_owned()));
            }
            sources.push((url.clone(), entry.hash.parse().map_err(|cause| problem(format!("{cause}")))?));
        }
        Ok(sources)
    }

    /// The queue for what peers offer, in the document cache; `None` where there is no `[fetch]` with `hosts`.
    ///
    /// # Errors
    /// [`ConfigError`]
    pub fn offered_documents(&self, clock: Arc<dyn Clock>) -> Result<Option<OfferedDocuments>, ConfigError> {
        let settings = self.fetch.as_ref().filter(|settings| !settings.hosts.is_empty());
        let (Some(settings), Some(folder)) = (settings, self.document_cache_path()) else { return Ok(None) };
        let hosts = settings.offer_hosts()?;
        let queue = DocumentCache::create(&folder)
            .and_then(|cache| OfferedDocuments::open(cache, hosts, clock))
            .map_err(super::file::of_source)?;
        Ok(Some(queue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn file(more: &str) -> Result<ConfigFile, toml::de::Error> {
        toml::from_str(&format!(
            "domains = [\"https://me.example/agent\"]\ndocument_cache = \"cache\"\n{more}\n[[roots]]\n\
             prefix = \"https://me.example/\"\nprincipal = \"https://me.example/card#me\"\n[ledger]\npath = \"l\"\n"
        ))
    }

    fn fetch(keys: &str) -> Result<(), String> {
        file(&format!("[fetch]\n{keys}")).unwrap().check_fetch().map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_fetch_table_nothing_is_fetched() {
        let file = file("").unwrap();
        assert!(file.check_fetch().is_ok());
        assert!(file.fetcher().unwrap().is_none());
        assert!(file.fetch_plan(Vec::new()).unwrap().is_none());
        assert!(file.offered_documents(Arc::new(crate::engine::SystemClock)).unwrap().is_none());
    }

    #[test]
    fn a_fetch_table_needs_a_cache_and_has_no_unknown_key() {
        assert_eq!(fetch(""), Ok(()));
        assert!(file("[fetch]\nhost = [\"a.example\"]").is_err());
        let mut without = file("[fetch]").unwrap();
        without.document_cache = None;
        assert!(without.check_fetch().unwrap_err().problem.contains("document_cache"));
    }

    #[test]
    fn hosts_controllers_and_ports_have_one_spelling() {
        for (key, good, bad) in [
            (
                "hosts",
                vec!["a.example"],
                vec!["A.example", "a.example:8443", "https://a.example", "localhost", "10.0.0.1", "*"],
            ),
            (
                "controllers",
                vec!["did:web:a.example", "https://a.example/card#me", "a.example"],
                vec![
                    "did:key:z6Mk",
                    "did:web:A.example",
                    "localhost",
                    "https://10.0.0.1/card",
                    "did:web:a.example%3A8443",
                ],
            ),
            (
                "allow_ports",
                vec!["a.example:8443"],
                vec![
                    "a.example",
                    "a.example:0",
                    "a.example:08443",
                    "a.example:65536",
                    "A.example:1",
                    "10.0.0.1:1",
                ],
            ),
        ] {
            for entry in good {
                assert_eq!(fetch(&format!("{key} = [\"{entry}\"]")), Ok(()), "{entry}");
            }
            for entry in bad {
                let error = fetch(&format!("{key} = [\"{entry}\"]")).unwrap_err();
                assert!(error.starts_with(&format!("fetch.{key}: ")), "{entry}: {error}");
            }
        }
        assert_eq!(
            fetch("controllers = [\"did:web:a.example%3A8443\"]\nallow_ports = [\"a.example:8443\"]"),
            Ok(())
        );
    }

    #[test]
    fn timeouts_are_lowered_and_not_raised() {
        let defaults = FetchLimits::default();
        for (key, most) in [
            ("connect_seconds", defaults.connect_seconds),
            ("header_seconds", defaults.header_seconds),
            ("total_seconds", defaults.total_seconds),
        ] {
            assert_eq!(fetch(&format!("{key} = 1")), Ok(()));
            for wrong in [0, most + 1] {
                assert!(fetch(&format!("{key} = {wrong}")).unwrap_err().starts_with(&format!("fetch.{key}")));
            }
        }
    }

    #[test]
    fn trust_anchors_are_read_before_they_are_needed() {
        let folder = std::env::temp_dir().join(format!("writgate-anchors-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let with = || {
            let mut file = file("[fetch]\ntrust_anchors = \"ca.pem\"").unwrap();
            file.base.clone_from(&folder);
            file.check_fetch().map_err(|error| error.to_string())
        };
        assert!(with().unwrap_err().contains("ca.pem"), "there is none");
        std::fs::write(folder.join("ca.pem"), "no certificate").unwrap();
        assert!(with().unwrap_err().contains("ca.pem"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    fn protocol(keys: &str) -> String {
        format!("[[protocols]]\nhash = \"sha256:{}\"\n{keys}", "0".repeat(64))
    }

    #[test]
    fn a_protocol_source_is_a_url_that_may_be_asked() {
        let with = |source: &str, keys: &str| {
            let text = format!("[fetch]\n{keys}\n{}", protocol(&format!("source = \"{source}\"")));
            file(&text).unwrap().check_fetch().map_err(|error| error.to_string())
        };
        assert_eq!(with("https://a.example/p.ttl", ""), Ok(()));
        for wrong in ["http://a.example/p", "https://a.example/p#x", "https://10.0.0.1/p", "p.ttl"] {
            assert!(with(wrong, "").unwrap_err().starts_with(wrong), "{wrong}");
        }
        assert!(with("https://a.example:8443/p", "").is_err());
        assert_eq!(with("https://a.example:8443/p", "allow_ports = [\"a.example:8443\"]"), Ok(()));
    }

    #[test]
    fn the_controllers_of_a_host_are_those_that_are_known_here() {
        let list = |issuer: &str| ListKey { issuer: issuer.into(), url: "https://b.example/s".into() };
        let plan = |host: &str| {
            let file = file(&format!("[fetch]\ncontrollers = [\"{host}\"]")).unwrap();
            let lists = vec![list("did:web:b.example"), list("did:key:z6Mk")];
            let plan = file.fetch_plan(lists).unwrap().unwrap();
            let mut text = String::new();
            for (url, controllers) in plan.controllers() {
                write!(text, "{url} {controllers:?};").unwrap();
            }
            text
        };
        assert_eq!(plan("me.example"), "https://me.example/card {\"https://me.example/card#me\"};");
        assert_eq!(plan("b.example"), "https://b.example/.well-known/did.json {\"did:web:b.example\"};");
        assert_eq!(plan("c.example"), "");
    }
}
