//! All of it at once: served over TLS on loopback, fetched by the guarded fetcher, kept, configured, and decided by.

use super::super::{RefreshReport, Verdict, refresh};
use super::{list_of, noon};
use crate::credential::issue::SigningKey;
use crate::engine::{Clock, Engine};
use crate::ledger::{Ledger, SqliteLedger};
use crate::source::fetch::testing::{HOST, Server, answer, run, trust_anchor_pem};
use crate::source::{DocumentCache, Fetcher};
use crate::worked_example::{ALICE, DOMAIN, Intent, MandateDraft, World};
use crate::{ConfigFile, Decision, Instant, MessageInput, Reason};
use chrono::TimeDelta;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

#[derive(Debug)]
struct At(Instant);

impl Clock for At {
    fn now(&self) -> Instant {
        self.0
    }
}

type Pages = Arc<Mutex<BTreeMap<String, (&'static str, Vec<u8>)>>>;

/// A server of documents that answers a conditional request with 304 where the entity tag, which is the octets' digest, is
/// the one that it would give.
async fn serving(pages: &Pages) -> Server {
    let pages = Arc::clone(pages);
    Server::new(move |head| {
        let path = head.split(' ').nth(1).unwrap();
        let pages = pages.lock().unwrap();
        let Some((media_type, octets)) = pages.get(path) else { return answer("404 Not Found", "", "") };
        let tag = format!("\"{}\"", crate::message::Digest::of(octets));
        match head.to_ascii_lowercase().contains(&format!("if-none-match: {tag}")) {
            true => answer("304 Not Modified", "", ""),
            false => answer("200 OK", &format!("Content-Type: {media_type}\r\nETag: {tag}\r\n"), octets),
        }
    })
    .await
}

/// A server of messages whose every input comes from the network: the owner's keys, the protocol, the status list.
struct Site {
    folder: PathBuf,
    world: World,
    owner: SigningKey,
    list: String,
    ledger: Arc<SqliteLedger>,
    fetcher: Fetcher,
    messages: u32,
}

impl Site {
    fn new(server: &Server) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        let world = World::open(repository).unwrap();
        let id = format!("{}#me", server.url("/card"));
        let owner = world.alice.clone().with_controller(&id, format!("{}#key", server.url("/card")));
        let folder = std::env::temp_dir().join(format!("writgate-loopback-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let fetch = format!(
            "[fetch]\ncontrollers = [\"{HOST}\"]\nallow_ports = [\"{HOST}:{}\"]\ntrust_anchors = \"ca.pem\"\n",
            server.port
        );
        let text = world.text("vectors/writgate.toml").unwrap();
        let text = text
            .replace("controllers = \"../credentials/controllers\"", "document_cache = \"cache\"")
            .replace("file = \"../policies/grant-access.ttl\"\n", "")
            .replace("https://alice.pod.example/protocols/grant-access", &server.url("/grant.ttl"))
            .replace("\"../", &format!("\"{}/", repository.display()))
            .replace(ALICE, &id);
        std::fs::write(folder.join("writgate.toml"), text + &fetch).unwrap();
        std::fs::write(folder.join("ca.pem"), trust_anchor_pem()).unwrap();
        let ledger = Arc::new(SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap());
        let fetcher = server.fetcher(server.policy());
        Self { folder, world, owner, list: server.url("/status/1"), ledger, fetcher, messages: 0 }
    }

    fn file(&self) -> ConfigFile {
        ConfigFile::read(&self.folder.join("writgate.toml")).unwrap()
    }

    async fn refresh(&self, now: Instant) -> RefreshReport {
        let plan = self.file().fetch_plan(self.ledger.wanted_lists().unwrap()).unwrap().unwrap();
        let cache = DocumentCache::create(&self.folder.join("cache")).unwrap();
        refresh(&self.fetcher, &cache, &plan, now).await.unwrap()
    }

    /// The owner's mandate for the agent, whose status is in the list.
    fn mandate(&self) -> serde_json::Value {
        let draft = self.world.mandate_draft().unwrap();
        let status = json!({
            "type": "BitstringStatusListEntry",
            "statusPurpose": "revocation",
            "statusListIndex": "0",
            "statusListCredential": self.list,
        });
        let policy = draft.policy.replace(ALICE, self.owner.controller());
        let changes: Vec<(&'static [&'static str], _)> = vec![(&["credentialStatus"], status)];
        MandateDraft { key: self.owner.clone(), policy, changes, ..draft }.issue().unwrap()
    }

    /// Loads what is there by now, and decides another message.
    fn decide(&mut self, now: Instant) -> Decision {
        self.messages += 1;
        let mut ask = self.world.ask(Intent::grant_bob(), now).unwrap();
        ask.credentials = vec![self.mandate()];
        (ask.id, ask.nonce) =
            (format!("msg-{}", self.messages), format!("challenge-number-{}", self.messages));
        let mut facts = self.world.facts();
        facts.challenge = Some(ask.nonce.clone());
        let config = self.file().load(now).unwrap();
        let engine =
            Engine::new(config, Arc::clone(&self.ledger) as Arc<dyn Ledger>, Arc::new(At(now))).unwrap();
        let message = serde_json::to_vec(&ask.message().unwrap()).unwrap();
        engine.decide(MessageInput::Bytes(message), facts).decision
    }

    #[track_caller]
    fn refuses(&mut self, now: Instant, reason: Reason) {
        match self.decide(now) {
            Decision::Refuse(refusal) => assert_eq!(refusal.reason(), reason),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[track_caller]
    fn allows(&mut self, now: Instant) {
        let decision = self.decide(now);
        assert!(matches!(decision, Decision::Allow(_)), "{decision:?}");
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn words(report: &RefreshReport) -> Vec<&'static str> {
    report.documents.iter().map(|line| line.verdict.as_str()).collect()
}

#[test]
fn what_is_served_over_tls_is_fetched_kept_and_decided_by() {
    run(async {
        let pages = Pages::default();
        let server = serving(&pages).await;
        let mut site = Site::new(&server);
        let set = |path: &str, media_type, octets: Vec<u8>| {
            pages.lock().unwrap().insert(path.to_owned(), (media_type, octets));
        };
        let minutes = |minutes| noon() + TimeDelta::minutes(minutes);
        // Nothing is there, and nothing is served: the protocol is missing, and the start says so.
        assert_eq!(words(&site.refresh(noon()).await), ["NOT_FETCHED", "NOT_FETCHED"]);
        assert!(site.file().load(noon()).unwrap_err().problem.contains("source refresh"));
        // The owner's keys and the protocol come; the list is wanted once a mandate names it.
        let document = serde_json::to_vec(&site.owner.controller_document()).unwrap();
        set("/card", "application/did+json", document);
        set("/grant.ttl", "text/turtle", site.world.text("policies/grant-access.ttl").unwrap().into_bytes());
        assert_eq!(words(&site.refresh(noon()).await), ["STORED", "STORED"]);
        site.refuses(noon(), Reason::StatusRetrievalError);
        let list = |from, bits| list_of(&site.owner, &site.list, from, bits);
        let (good, revoked) = (list(0, 0), list(70, 0x80));
        set("/status/1", "application/vc", good);
        assert_eq!(words(&site.refresh(noon()).await), ["FRESH", "FRESH", "STORED"]);
        site.allows(noon());
        // The same list for ever: asked for again and again, it is never sent twice, and dies all the same.
        let asked = server.requests().len();
        assert_eq!(words(&site.refresh(minutes(29)).await), ["FRESH", "FRESH", "FRESH"]);
        for minute in [30, 60] {
            let report = site.refresh(minutes(minute)).await;
            assert_eq!(report.documents[2].verdict, Verdict::Unchanged);
            site.allows(minutes(minute));
        }
        assert_eq!(server.requests().len(), asked + 2);
        assert_eq!(words(&site.refresh(minutes(61)).await), ["FRESH", "FRESH", "UNCHANGED"]);
        site.refuses(minutes(61), Reason::StatusRetrievalError);
        // A new one says that the mandate is revoked.
        set("/status/1", "application/vc", revoked);
        assert_eq!(words(&site.refresh(minutes(71)).await), ["FRESH", "FRESH", "STORED"]);
        site.refuses(minutes(71), Reason::Revoked);
        // The owner's document is confirmed by a 304 and so is good for another day.
        let report = site.refresh(minutes(12 * 60)).await;
        assert_eq!(words(&report), ["UNCHANGED", "FRESH", "UNCHANGED"]);
        site.refuses(minutes(36 * 60), Reason::Revoked);
        site.refuses(minutes(36 * 60 + 1), Reason::IssuerMismatch);
    });
}
