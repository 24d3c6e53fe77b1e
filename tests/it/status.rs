//! Status, revocation and retrieved documents, from the cache on disk through `Engine::decide`: what cannot be known
//! refuses, and what was once known is not forgotten.

use crate::support::{TestClock, assert_allowed, grant, noon, octets, refused, world};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::cell::Cell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use writgate::credential::issue::SigningKey;
use writgate::ledger::{Entry, Ledger, ListKey, Revoked, RevokedEntry, RevokedPolicy, Sponsor, SqliteLedger};
use writgate::source::{CachedDocument, DocumentCache};
use writgate::worked_example::{
    ALICE, Ask, BOB, DOMAIN, MANDATE_POLICY, MandateDraft, NOTES, sign_credential,
};
use writgate::{Config, ConfigError, ConfigFile, Decided, Engine, Instant, Reason};

const LIST: &str = "https://alice.pod.example/status/1";
const OTHER_LIST: &str = "https://alice.pod.example/status/2";
const LEAST: usize = 131_072;
const INDEX: usize = 94_567;

/// A list credential, to be signed.
#[derive(Clone)]
struct List {
    id: &'static str,
    issuer: SigningKey,
    purpose: &'static str,
    valid_from: Instant,
    length: usize,
    set: Vec<usize>,
}

impl List {
    /// Alice's revocations, made an hour before noon.
    fn new(set: &[usize]) -> Self {
        Self {
            id: LIST,
            issuer: world().alice,
            purpose: "revocation",
            valid_from: noon() - TimeDelta::hours(1),
            length: LEAST,
            set: set.to_vec(),
        }
    }

    fn made(self, minutes: i64) -> Self {
        Self { valid_from: noon() + TimeDelta::minutes(minutes), ..self }
    }

    fn signed(&self) -> Vec<u8> {
        let mut bits = vec![0u8; self.length.div_ceil(8)];
        for index in &self.set {
            bits[index / 8] |= 0x80 >> (index % 8);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bits).unwrap();
        let encoded = format!("u{}", URL_SAFE_NO_PAD.encode(encoder.finish().unwrap()));
        let document = json!({
            "@context": ["https://www.w3.org/ns/credentials/v2"],
            "id": self.id,
            "type": ["VerifiableCredential", "BitstringStatusListCredential"],
            "issuer": self.issuer.controller(),
            "validFrom": self.valid_from,
            "credentialSubject": {
                "id": format!("{}#list", self.id),
                "type": "BitstringStatusList",
                "statusPurpose": self.purpose,
                "encodedList": encoded,
            },
        });
        let signed = sign_credential(&self.issuer, document, self.valid_from).unwrap();
        serde_json::to_vec(&signed).unwrap()
    }
}

fn status_entry(purpose: &str, index: usize, list: &str) -> Value {
    json!({
        "type": "BitstringStatusListEntry",
        "statusPurpose": purpose,
        "statusListIndex": index.to_string(),
        "statusListCredential": list,
    })
}

/// Alice's mandate with this for its status.
fn with_status(status: Value) -> MandateDraft {
    let mut draft = world().mandate_draft().unwrap();
    draft.changes.push((&["credentialStatus"], status));
    draft
}

fn with_revocation(index: usize) -> MandateDraft {
    with_status(status_entry("revocation", index, LIST))
}

/// A server with a configuration, a cache and a clock of its own; its ledger outlives each of its engines.
struct Server {
    folder: PathBuf,
    clock: Arc<TestClock>,
    now: Cell<Instant>,
    ledger: Arc<SqliteLedger>,
    messages: Cell<u32>,
}

impl Server {
    fn new() -> Self {
        let ledger = SqliteLedger::in_memory_first(DOMAIN, TimeDelta::seconds(60)).unwrap();
        Self::on(Arc::new(ledger))
    }

    fn on(ledger: Arc<SqliteLedger>) -> Self {
        let folder = std::env::temp_dir().join(format!("writgate-status-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(folder.join("cache")).unwrap();
        let server = Self {
            folder,
            clock: TestClock::at(noon()),
            now: Cell::new(noon()),
            ledger,
            messages: Cell::new(0),
        };
        server.configure("");
        server
    }

    /// The example's configuration with a cache, and `more`.
    fn configure(&self, more: &str) {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).display().to_string();
        let text =
            world().text("vectors/writgate.toml").unwrap().replace("\"../", &format!("\"{repository}/"));
        let text = text.replacen("domains =", "document_cache = \"cache\"\ndomains =", 1);
        std::fs::write(self.folder.join("writgate.toml"), format!("{text}\n{more}")).unwrap();
    }

    /// `publisher`'s feed, beside whatever else is configured.
    fn publish(&self, publisher: &str, statements: &str) {
        std::fs::write(self.folder.join("feed.ttl"), statements).unwrap();
        self.configure(&format!("[[revocations]]\npublisher = \"{publisher}\"\nfile = \"feed.ttl\""));
    }

    /// Puts a document into the cache, retrieved now.
    fn serve(&self, url: &str, media_type: &str, octets: Vec<u8>) {
        self.serve_since(url, media_type, octets, self.now.get());
    }

    fn serve_since(&self, url: &str, media_type: &str, octets: Vec<u8>, retrieved: Instant) {
        let document = CachedDocument::new(url, media_type, retrieved, octets);
        DocumentCache::open(&self.folder.join("cache")).unwrap().put(&document).unwrap();
    }

    fn list(&self, list: &List) {
        self.serve(LIST, "application/vc", list.signed());
    }

    fn at(&self, minutes: i64) {
        self.now.set(noon() + TimeDelta::minutes(minutes));
        self.clock.set(self.now.get());
    }

    fn config(&self) -> Result<Config, ConfigError> {
        ConfigFile::read(&self.folder.join("writgate.toml")).unwrap().load(self.now.get())
    }

    fn engine(&self) -> Engine {
        let ledger = Arc::clone(&self.ledger) as Arc<dyn Ledger>;
        Engine::new(self.config().unwrap(), ledger, Arc::clone(&self.clock) as Arc<dyn writgate::Clock>)
            .unwrap()
    }

    /// Another message each time: the example's grant, made now, under these mandates.
    fn ask(&self, mandates: &[&MandateDraft]) -> Ask {
        let message = self.messages.get();
        self.messages.set(message + 1);
        let mut ask = grant();
        ask.credentials = mandates.iter().map(|draft| draft.issue().unwrap()).collect();
        ask.created = self.now.get();
        (ask.id, ask.nonce) = (format!("msg-{message}"), format!("a-challenge-of-its-own-{message}"));
        ask
    }

    /// Starts anew, with what is configured and cached by now, and decides a message.
    fn decide(&self, mandates: &[&MandateDraft]) -> Decided {
        decide(&self.engine(), &self.ask(mandates))
    }

    #[track_caller]
    fn allows(&self, mandate: &MandateDraft) {
        assert_allowed(&self.decide(&[mandate]));
    }

    #[track_caller]
    fn refuses(&self, mandate: &MandateDraft, reason: Reason) {
        assert_eq!(refused(&self.decide(&[mandate])).reason(), reason);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn decide(engine: &Engine, ask: &Ask) -> Decided {
    let mut facts = world().facts();
    facts.challenge = Some(ask.nonce.clone());
    engine.decide(octets(&ask.message().unwrap()), facts)
}

#[test]
fn lists_of_131072_and_of_a_million_entries_are_judged() {
    for length in [LEAST, 1_000_000] {
        for index in [0, INDEX, length - 1] {
            let server = Server::new();
            let others: Vec<usize> =
                [0, INDEX, length - 1].into_iter().filter(|other| *other != index).collect();
            server.list(&List { length, ..List::new(&others) });
            server.allows(&with_revocation(index));
            server.list(&List { length, ..List::new(&[index]) }.made(0));
            server.refuses(&with_revocation(index), Reason::Revoked);
        }
    }
}

#[test]
fn each_way_in_which_a_list_cannot_be_known_is_a_retrieval_error() {
    type Change = (&'static str, fn(&mut List));
    let changes: [Change; 6] = [
        ("too short", |list| list.length = LEAST - 8),
        ("out of range", |list| list.length = INDEX / 8 * 8),
        ("wrong issuer", |list| list.issuer = world().mallory),
        ("wrong id", |list| list.id = OTHER_LIST),
        ("wrong purpose", |list| list.purpose = "suspension"),
        ("ahead of its time", |list| list.valid_from = noon() + TimeDelta::seconds(1)),
    ];
    for length in [LEAST, 1_000_000] {
        for (name, change) in changes {
            // The bit is set in none of them: it is what is not known that refuses.
            let mut list = List { length, ..List::new(&[]) };
            change(&mut list);
            let server = Server::new();
            server.list(&list);
            let decided =
                server.decide(&[&with_revocation(if name == "out of range" { length } else { INDEX })]);
            assert_eq!(refused(&decided).reason(), Reason::StatusRetrievalError, "{name}");
        }
        let bomb = Server::new();
        bomb.list(&List { length: 64 << 23, ..List::new(&[]) });
        bomb.refuses(&with_revocation(INDEX), Reason::StatusRetrievalError);
        let unreachable = Server::new();
        unreachable.serve(OTHER_LIST, "application/vc", List { length, ..List::new(&[]) }.signed());
        unreachable.refuses(&with_revocation(INDEX), Reason::StatusRetrievalError);
        let tampered = Server::new();
        let mut document: Value =
            serde_json::from_slice(&List { length, ..List::new(&[]) }.signed()).unwrap();
        document["validFrom"] = json!("2026-12-01T10:00:00Z");
        tampered.serve(LIST, "application/vc", serde_json::to_vec(&document).unwrap());
        tampered.refuses(&with_revocation(INDEX), Reason::StatusRetrievalError);
        let stale = Server::new();
        let hour_ago = noon() - TimeDelta::seconds(3_601);
        stale.serve_since(
            LIST,
            "application/vc",
            List { length, ..List::new(&[]) }.made(-70).signed(),
            hour_ago,
        );
        stale.refuses(&with_revocation(INDEX), Reason::StatusRetrievalError);
    }
}

/// Threat 21: an old list is served again, after a restart or not.
#[test]
fn a_list_that_was_rolled_back_is_refused() {
    for length in [LEAST, 1_000_000] {
        let server = Server::new();
        let suspensions = |set: &[usize]| List { length, purpose: "suspension", ..List::new(set) };
        let mandate = with_status(status_entry("suspension", INDEX, LIST));
        server.list(&suspensions(&[]).made(-30));
        server.allows(&mandate);
        server.list(&suspensions(&[INDEX]).made(-10));
        server.refuses(&mandate, Reason::Suspended);
        // The list from before the suspension, retrieved anew.
        server.at(1);
        server.list(&suspensions(&[]).made(-30));
        server.refuses(&mandate, Reason::StatusRetrievalError);
        server.list(&suspensions(&[]).made(-9));
        server.allows(&mandate);
    }
}

/// Threat 21: "not modified", for ever.
#[test]
fn a_list_that_never_changes_goes_stale_however_often_it_is_retrieved() {
    let server = Server::new();
    let octets = List::new(&[]).signed();
    for minutes in [0, 20, 40, 60] {
        server.at(minutes);
        server.serve(LIST, "application/vc", octets.clone());
        let decided = server.decide(&[&with_revocation(INDEX)]);
        assert_allowed(&decided);
        let age =
            decided.report.body.inputs.iter().find(|input| input.kind == "status-list").unwrap().age_seconds;
        assert_eq!(age, minutes * 60, "the report says how old it is, not how old its retrieval");
    }
    server.at(61);
    server.serve(LIST, "application/vc", octets);
    server.refuses(&with_revocation(INDEX), Reason::StatusRetrievalError);
    server.list(&List::new(&[]).made(60));
    server.allows(&with_revocation(INDEX));
}

/// Threat 21: a grant ends with the life of its lists, also where those live shorter than they look.
#[test]
fn a_permit_ends_with_the_life_of_its_list() {
    let server = Server::new();
    let octets = List::new(&[]).signed();
    server.serve(LIST, "application/vc", octets.clone());
    server.allows(&with_revocation(INDEX));
    server.at(59);
    server.serve(LIST, "application/vc", octets);
    let writgate::Decision::Allow(permit) = server.decide(&[&with_revocation(INDEX)]).decision else {
        panic!("not allowed")
    };
    assert_eq!(permit.not_after(), noon() + TimeDelta::hours(1));
}

/// Threat 21: list B at URL A, each with a good signature of the same issuer.
#[test]
fn list_b_at_url_a_is_refused() {
    let server = Server::new();
    server.list(&List { id: OTHER_LIST, ..List::new(&[]) });
    server.serve(OTHER_LIST, "application/vc", List::new(&[INDEX]).signed());
    server.refuses(&with_revocation(INDEX), Reason::StatusRetrievalError);
    let wanted_elsewhere = with_status(status_entry("revocation", INDEX, OTHER_LIST));
    server.refuses(&wanted_elsewhere, Reason::StatusRetrievalError);
}

/// Threat 21, across processes: what one accepted, no other goes behind.
#[test]
fn a_list_that_another_process_has_superseded_is_refused() {
    let (one, other) = {
        let one = Server::new();
        let other = Server::on(Arc::clone(&one.ledger));
        (one, other)
    };
    one.messages.set(100);
    one.list(&List::new(&[]).made(-30));
    other.list(&List::new(&[]).made(-10));
    let running = one.engine();
    assert_allowed(&decide(&running, &one.ask(&[&with_revocation(INDEX)])));
    other.allows(&with_revocation(INDEX));
    let decided = decide(&running, &one.ask(&[&with_revocation(INDEX)]));
    assert_eq!(refused(&decided).reason(), Reason::StatusRetrievalError);
}

/// A clock at whose third reading, the one of admission, something else has happened.
struct MeanwhileClock(std::sync::atomic::AtomicUsize, Box<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for MeanwhileClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MeanwhileClock")
    }
}

impl writgate::Clock for MeanwhileClock {
    fn now(&self) -> Instant {
        if self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 2 {
            (self.1)();
        }
        noon()
    }
}

/// Threat 34: between evaluation and admission another process learned better.
#[test]
fn what_another_process_learned_of_a_list_before_admission_counts() {
    let later = List::new(&[]).made(-10);
    // The last is no newer than ours, so only what was seen in it tells.
    let as_ours = List::new(&[INDEX]).made(-30);
    for (theirs, reason) in [
        (later.clone(), Reason::StatusRetrievalError),
        (List { set: vec![INDEX], ..later }, Reason::Revoked),
        (as_ours, Reason::Revoked),
    ] {
        let one = Server::new();
        let other = Server::on(Arc::clone(&one.ledger));
        one.messages.set(100);
        one.list(&List::new(&[]).made(-30));
        other.list(&theirs);
        let (engine, ask) = (other.engine(), other.ask(&[&with_revocation(INDEX)]));
        let meanwhile = move || {
            decide(&engine, &ask);
        };
        let clock = MeanwhileClock(Default::default(), Box::new(meanwhile));
        let ledger = Arc::clone(&one.ledger) as Arc<dyn Ledger>;
        let engine = Engine::new(one.config().unwrap(), ledger, Arc::new(clock)).unwrap();
        let decided = decide(&engine, &one.ask(&[&with_revocation(INDEX)]));
        assert_eq!(refused(&decided).reason(), reason);
    }
}

/// Threat 34: so does an ancestor's revocation.
#[test]
fn what_an_ancestor_revokes_before_admission_counts() {
    for (publisher, allowed) in [(ALICE, false), (BOB, true)] {
        let server = Server::new();
        let [root, leaf] = two_hops(&world().mallory);
        let statement = RevokedPolicy { publisher: publisher.to_owned(), policy: LEAF_POLICY.to_owned() };
        let revoked = Revoked { policies: [statement].into(), ..Revoked::default() };
        let revoking = Arc::clone(&server.ledger);
        let meanwhile = move || revoking.mark_revoked(&revoked, chrono::Utc::now()).unwrap();
        let clock = MeanwhileClock(Default::default(), Box::new(meanwhile));
        let ledger = Arc::clone(&server.ledger) as Arc<dyn Ledger>;
        let engine = Engine::new(server.config().unwrap(), ledger, Arc::new(clock)).unwrap();
        let decided = decide(&engine, &server.ask(&[&root, &leaf]));
        if allowed {
            assert_allowed(&decided);
        } else {
            assert_eq!(refused(&decided).reason(), Reason::Revoked);
        }
    }
}

/// Threat 20, `mandate.md` 5: a revocation is for good, a suspension is not.
#[test]
fn a_revocation_outlives_its_list_and_a_suspension_does_not() {
    let server = Server::new();
    server.list(&List::new(&[INDEX]));
    let decided = server.decide(&[&with_revocation(INDEX)]);
    assert_eq!(refused(&decided).reason(), Reason::Revoked);
    let inputs = &decided.report.body.inputs;
    assert_eq!((inputs.len(), inputs[0].id.as_str(), inputs[0].age_seconds), (1, LIST, 0));
    server.list(&List::new(&[]).made(0));
    server.refuses(&with_revocation(INDEX), Reason::Revoked);
    server.allows(&with_revocation(INDEX + 1));
    // A second credential at the same place is the same entry.
    let mut second = with_revocation(INDEX);
    second.id = "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000009".to_owned();
    server.refuses(&second, Reason::Revoked);

    let server = Server::new();
    let mandate = with_status(status_entry("suspension", INDEX, LIST));
    server.list(&List { purpose: "suspension", ..List::new(&[INDEX]) });
    server.refuses(&mandate, Reason::Suspended);
    server.list(&List { purpose: "suspension", ..List::new(&[]) }.made(0));
    server.allows(&mandate);
}

fn statement(policy: &str) -> String {
    format!(
        "[] a <https://w3id.org/jeswr/odrl-delegation#Revocation> ;
            <https://w3id.org/jeswr/odrl-delegation#revokedPolicy> <{policy}> ."
    )
}

const LEAF_POLICY: &str = "https://organisation.example/policies/to-agent";

/// Alice mandates an organisation, which mandates the agent.
fn two_hops(organisation: &SigningKey) -> [MandateDraft; 2] {
    let permission = |action: &str, more: &str| {
        format!("odrl:permission [ odrl:action {action} ; odrl:target <{NOTES}> {more} ]")
    };
    let to_bob = permission(
        "acl:Control",
        &format!(
            "; odrl:constraint [ odrl:leftOperand odrl:recipient ; odrl:operator odrl:eq ; odrl:rightOperand <{BOB}> ]"
        ),
    );
    let policy = |id: &str, assigner: &str, assignee: &str, more: &str| {
        format!(
            "@prefix acl: <http://www.w3.org/ns/auth/acl#> .
            @prefix odrl: <http://www.w3.org/ns/odrl/2/> .
            @prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .
            <{id}> a odrl:Agreement ; odrl:assigner <{assigner}> ; odrl:assignee <{assignee}> ; {to_bob} ; {more} ."
        )
    };
    let (between, agent) = (organisation.controller(), world().agent_id());
    let root = MandateDraft {
        authorizes: between.to_owned(),
        policy: policy(MANDATE_POLICY, ALICE, between, &permission("odrl:grantUse", "")),
        ..world().mandate_draft().unwrap()
    };
    let leaf = MandateDraft {
        id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000002".to_owned(),
        key: organisation.clone(),
        authorizes: agent.clone(),
        policy: policy(LEAF_POLICY, between, &agent, &format!("odrld:delegatedUnder <{MANDATE_POLICY}>")),
        ..world().mandate_draft().unwrap()
    };
    [root, leaf]
}

/// Threat 20: the publisher is the policy's assigner or an ancestor's, and nobody else counts.
#[test]
fn a_feed_counts_from_the_assigner_of_the_policy_or_of_an_ancestor() {
    let organisation = world().mallory;
    let [root, leaf] = two_hops(&organisation);
    let agent = world().agent_id();
    for (name, publisher, policy, revoked) in [
        ("its assigner", ALICE, MANDATE_POLICY, true),
        ("its assigner, further down", organisation.controller(), LEAF_POLICY, true),
        ("an ancestor's assigner", ALICE, LEAF_POLICY, true),
        ("a descendant's assigner", organisation.controller(), MANDATE_POLICY, false),
        ("the delegate", &agent, LEAF_POLICY, false),
        ("a stranger", BOB, MANDATE_POLICY, false),
        ("its assigner, of another policy", ALICE, "https://alice.pod.example/policies/other", false),
    ] {
        let server = Server::new();
        server.publish(publisher, &statement(policy));
        let decided = server.decide(&[&root, &leaf]);
        if !revoked {
            assert_allowed(&decided);
            continue;
        }
        assert_eq!(refused(&decided).reason(), Reason::Revoked, "{name}");
        let evidence = refused(&decided).evidence();
        assert_eq!(evidence.policy.as_deref(), Some(policy), "{name}");
        assert!(evidence.detail.as_ref().unwrap().contains(publisher), "{name}");
    }
}

/// Threat 20: the same IRI under another assigner is another policy's revocation.
#[test]
fn a_feed_of_the_same_iri_by_another_assigner_does_not_count() {
    let server = Server::new();
    server.publish(BOB, &statement(MANDATE_POLICY));
    let decided = server.decide(&[&world().mandate_draft().unwrap()]);
    assert_allowed(&decided);
    assert!(decided.report.body.inputs.iter().all(|input| input.kind != "revocation"));
}

/// Threat 20: what nobody stands for is no revocation.
#[test]
fn a_feed_without_a_publisher_is_no_feed() {
    let server = Server::new();
    std::fs::write(server.folder.join("feed.ttl"), statement(MANDATE_POLICY)).unwrap();
    server.configure("[[revocations]]\nfile = \"feed.ttl\"");
    let error = ConfigFile::read(&server.folder.join("writgate.toml")).unwrap_err();
    assert!(error.problem.contains("publisher"), "{error}");
    server.publish("", &statement(MANDATE_POLICY));
    assert!(server.config().is_err());
}

/// Threat 20: never from a message, whoever signed it.
#[test]
fn a_revocation_in_a_message_revokes_nothing() {
    let server = Server::new();
    let mandate = world().mandate_draft().unwrap();
    let mut ask = server.ask(&[&mandate]);
    ask.policies = vec![(statement(MANDATE_POLICY), "text/turtle".to_owned())];
    let decided = decide(&server.engine(), &ask);
    assert_ne!(refused(&decided).reason(), Reason::Revoked);
    let mut ask = server.ask(&[&mandate]);
    ask.intent.0.push_str(&statement(MANDATE_POLICY));
    decide(&server.engine(), &ask);
    server.allows(&mandate);
    let memory = server.engine().snapshot(&world().facts(), noon()).unwrap().memory;
    assert_eq!(memory.revoked, Default::default());
}

#[test]
fn a_feed_is_for_good_also_when_it_no_longer_says_so() {
    let server = Server::new();
    let mandate = world().mandate_draft().unwrap();
    server.publish(ALICE, "");
    let decided = server.decide(&[&mandate]);
    assert_allowed(&decided);
    assert!(decided.report.body.inputs.iter().any(|input| input.kind == "revocation" && input.id == ALICE));
    server.publish(ALICE, &statement(MANDATE_POLICY));
    // It counts from the start on, before any message meets it.
    let _ = server.engine();
    server.publish(ALICE, "");
    server.refuses(&mandate, Reason::Revoked);
    server.configure("");
    server.refuses(&mandate, Reason::Revoked);
}

/// A feed that the ledger cannot keep would be forgotten with the process.
#[test]
fn a_feed_that_the_ledger_cannot_keep_makes_no_engine() {
    let server = Server::new();
    let path = server.folder.join("ledger.db");
    let ledger = SqliteLedger::create(&path, DOMAIN, true, noon(), TimeDelta::seconds(60)).unwrap();
    rusqlite::Connection::open(&path).unwrap().execute_batch("DROP TABLE revoked_policies").unwrap();
    server.publish(ALICE, &statement(MANDATE_POLICY));
    let clock = Arc::clone(&server.clock) as Arc<dyn writgate::Clock>;
    let engine = Engine::new(server.config().unwrap(), Arc::new(ledger), clock);
    assert_eq!(engine.unwrap_err().setting, "revocations");
}

#[test]
fn a_feed_that_cannot_be_read_stops_the_start_and_is_named() {
    let server = Server::new();
    for text in [
        "not Turtle",
        "[] a <https://w3id.org/jeswr/odrl-delegation#Revocation> .",
        &format!("{} <urn:a> <urn:b> <urn:c> .", statement(MANDATE_POLICY)),
    ] {
        server.publish(ALICE, text);
        let error = server.config().unwrap_err();
        assert!(error.setting.contains("feed.ttl"), "{error}");
    }
    std::fs::remove_file(server.folder.join("feed.ttl")).unwrap();
    assert!(server.config().unwrap_err().setting.contains("feed.ttl"));
}

#[test]
fn a_signed_feed_counts_as_its_issuers() {
    let server = Server::new();
    let revocation = |key: &SigningKey| {
        json!({
            "@context": ["https://www.w3.org/ns/credentials/v2", { "odrld": "https://w3id.org/jeswr/odrl-delegation#" }],
            "type": "VerifiableCredential",
            "issuer": key.controller(),
            "credentialSubject": { "type": "odrld:Revocation", "odrld:revokedPolicy": { "id": MANDATE_POLICY } },
        })
    };
    let publish = |document: &Value| {
        std::fs::write(server.folder.join("feed.jsonld"), document.to_string()).unwrap();
        server.configure(&format!(
            "[[revocations]]\npublisher = \"{ALICE}\"\nfile = \"feed.jsonld\"\nsigned = true"
        ));
    };
    let alice = world().alice;
    let mut forged = revocation(&alice);
    forged["proof"] =
        sign_credential(&world().mallory, revocation(&world().mallory), noon()).unwrap()["proof"].clone();
    for document in [
        revocation(&alice),
        forged,
        sign_credential(&world().mallory, revocation(&world().mallory), noon()).unwrap(),
    ] {
        publish(&document);
        assert!(server.config().unwrap_err().setting.contains("feed.jsonld"));
    }
    publish(&sign_credential(&alice, revocation(&alice), noon()).unwrap());
    server.refuses(&world().mandate_draft().unwrap(), Reason::Revoked);
}

/// Threat 21: who has a say in what is fetched, and how much.
#[test]
fn wanted_lists_come_from_verified_chains_and_are_bounded() {
    let server = Server::new();
    let wanted = || server.ledger.wanted_lists().unwrap();
    // Refused in phase A or B, a message teaches nothing.
    let mut forged = with_revocation(INDEX);
    forged.key = world().mallory.with_controller(ALICE, "https://alice.pod.example/profile#key");
    server.refuses(&forged, Reason::InvalidSignature);
    let mut strangers = with_revocation(INDEX);
    strangers.key = world().mallory;
    strangers.policy = strangers.policy.replace(ALICE, world().mallory.controller());
    server.refuses(&strangers, Reason::BindingMismatch);
    assert_eq!(wanted(), []);
    // Refused in phase C, it does: that is how a list comes to be known at all.
    server.refuses(&with_revocation(INDEX), Reason::StatusRetrievalError);
    let list = |url: &str| ListKey { issuer: ALICE.to_owned(), url: url.to_owned() };
    assert_eq!(wanted(), [list(LIST)]);
    server.list(&List::new(&[]));
    server.allows(&with_revocation(INDEX));
    assert_eq!(wanted(), [list(LIST)]);
    // One issuer with very many lists leaves the queue bounded.
    for round in 0..20 {
        let entries: Vec<Value> = (0..500)
            .map(|n| status_entry("revocation", n, &format!("https://alice.pod.example/flood/{round}/{n}")))
            .collect();
        server.refuses(&with_status(entries.into()), Reason::StatusRetrievalError);
    }
    assert_eq!(wanted().len(), 128);
    // Its own lists make room for one that is in use.
    server.allows(&with_revocation(INDEX));
    assert!(wanted().len() == 128 && wanted().contains(&list(LIST)));
}

const ISSUERS_LIST: &str = "https://organisation.example/status/1";

/// Alice's mandate for an organisation, and that one's for the agent, which names a list of the organisation's.
fn through(organisation: &SigningKey) -> [MandateDraft; 2] {
    let [root, mut leaf] = two_hops(organisation);
    leaf.changes.push((&["credentialStatus"], status_entry("revocation", INDEX, ISSUERS_LIST)));
    [root, leaf]
}

/// Threat 21: an issuer costs nothing. Whom Alice mandated makes up ten thousand, and that is nobody's loss.
#[test]
fn ten_thousand_issuers_that_one_delegate_makes_up_crowd_out_nobody() {
    let server = Server::new();
    let [honest, other] = [7, 8].map(|seed| SigningKey::from_seed([seed; 32]));
    let list_of = |issuer: &SigningKey, set: &[usize]| List {
        id: ISSUERS_LIST,
        issuer: issuer.clone(),
        ..List::new(set)
    };
    let refuses = |organisation: &SigningKey, reason: Reason| {
        let [root, leaf] = through(organisation);
        assert_eq!(refused(&server.decide(&[&root, &leaf])).reason(), reason);
    };
    server.serve(ISSUERS_LIST, "application/vc", list_of(&honest, &[INDEX]).signed());
    refuses(&honest, Reason::Revoked);

    let mallory = world().mallory;
    let [root, leaf] = through(&mallory);
    let engine = server.engine();
    let ask = server.ask(&[&root, &leaf]);
    let mut facts = world().facts();
    facts.challenge = Some(ask.nonce.clone());
    let snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
    let evaluation =
        engine.evaluate(&writgate::Request { message: octets(&ask.message().unwrap()), facts, snapshot });
    let delegate = Some(mallory.controller().to_owned());
    assert_eq!(evaluation.learned.sponsor, Sponsor { root: ALICE.to_owned(), delegate });
    assert_eq!(evaluation.learned.wanted.len(), 1);
    let mut flood = evaluation.learned.clone();
    for n in 0..10_000 {
        let (issuer, url) = (format!("did:key:made-up-{n}"), ISSUERS_LIST.to_owned());
        flood.revoked.insert(RevokedEntry { issuer: issuer.clone(), list: url.clone(), index: 1 });
        flood.wanted.insert(ListKey { issuer, url });
    }
    let entry = Entry {
        body: evaluation.report.clone(),
        masked: None,
        evidence: None,
        decision_id: uuid::Uuid::now_v7().to_string(),
        stage_micros: Default::default(),
        now: noon(),
        admission_refusal: None,
        learned: flood,
        rests_on: None,
    };
    server.ledger.record(entry).unwrap();
    assert_eq!(
        server.engine().snapshot(&world().facts(), noon()).unwrap().memory.revoked.entries.len(),
        4_096 + 1
    );

    // The revocation from before is for good, and so is one from after.
    server.serve(ISSUERS_LIST, "application/vc", list_of(&honest, &[]).made(0).signed());
    refuses(&honest, Reason::Revoked);
    server.serve(ISSUERS_LIST, "application/vc", list_of(&other, &[INDEX]).signed());
    refuses(&other, Reason::Revoked);
    server.serve(ISSUERS_LIST, "application/vc", list_of(&other, &[]).made(0).signed());
    refuses(&other, Reason::Revoked);
    // Whose lists were not known are wanted: another delegate's and the root principal's own.
    server.refuses(&with_revocation(INDEX), Reason::StatusRetrievalError);
    let wanted = server.ledger.wanted_lists().unwrap();
    for (issuer, url) in
        [(ALICE, LIST), (honest.controller(), ISSUERS_LIST), (other.controller(), ISSUERS_LIST)]
    {
        assert!(wanted.contains(&ListKey { issuer: issuer.to_owned(), url: url.to_owned() }), "{issuer}");
    }
    server.list(&List::new(&[]));
    server.allows(&with_revocation(INDEX));
}

const ORGANISATION: &str = "did:web:organisation.example";
const ORGANISATION_URL: &str = "https://organisation.example/.well-known/did.json";

/// An organisation that is known by a retrieved document alone.
fn organisation(controller: &str) -> SigningKey {
    world().mallory.with_controller(controller, format!("{}#key", controller.split('#').next().unwrap()))
}

fn document_of(key: &SigningKey) -> Vec<u8> {
    serde_json::to_vec(&key.controller_document()).unwrap()
}

#[test]
fn did_web_and_webid_documents_come_from_the_cache() {
    for (controller, url) in [
        (ORGANISATION, ORGANISATION_URL),
        (
            "did:web:organisation.example%3A8443:people:ann",
            "https://organisation.example:8443/people/ann/did.json",
        ),
        ("https://organisation.example/card#us", "https://organisation.example/card"),
    ] {
        let organisation = organisation(controller);
        let [root, leaf] = two_hops(&organisation);
        let server = Server::new();
        let unknown = server.decide(&[&root, &leaf]);
        assert_eq!(refused(&unknown).reason(), Reason::IssuerMismatch, "{controller}");
        server.serve(url, "application/json", document_of(&organisation));
        let decided = server.decide(&[&root, &leaf]);
        assert_allowed(&decided);
        let inputs = &decided.report.body.inputs;
        let input = inputs.iter().find(|input| input.id == controller).unwrap();
        assert_eq!((input.kind.as_str(), input.age_seconds), ("controller-document", 0));
        // A day later nobody knows whether it still says so.
        server.at(24 * 60 + 1);
        assert_eq!(refused(&server.decide(&[&root, &leaf])).reason(), Reason::IssuerMismatch, "{controller}");
    }
}

#[test]
fn a_document_at_another_url_or_of_another_kind_is_nobodys() {
    let organisation = organisation(ORGANISATION);
    let [root, leaf] = two_hops(&organisation);
    for (name, url, media_type, octets) in [
        (
            "elsewhere",
            "https://organisation.example/did.json",
            "application/json",
            document_of(&organisation),
        ),
        (
            "elsewhere",
            "https://mallory.example/.well-known/did.json",
            "application/json",
            document_of(&organisation),
        ),
        ("a page", ORGANISATION_URL, "text/html", document_of(&organisation)),
        ("Turtle", ORGANISATION_URL, "text/turtle", document_of(&organisation)),
        ("octets", ORGANISATION_URL, "application/octet-stream", document_of(&organisation)),
        ("no JSON", ORGANISATION_URL, "application/json", b"{".to_vec()),
        (
            "another id",
            ORGANISATION_URL,
            "application/json",
            document_of(&self::organisation("did:web:mallory.example")),
        ),
    ] {
        let server = Server::new();
        server.serve(url, media_type, octets);
        let decided = server.decide(&[&root, &leaf]);
        assert_eq!(refused(&decided).reason(), Reason::IssuerMismatch, "{name}");
    }
    for media_type in ["application/did+json", "application/ld+json; profile=x", "Application/JSON"] {
        let server = Server::new();
        server.serve(ORGANISATION_URL, media_type, document_of(&organisation));
        assert_allowed(&server.decide(&[&root, &leaf]));
    }
}

#[test]
fn a_cache_that_cannot_be_read_stops_the_start() {
    let server = Server::new();
    server.serve_since(LIST, "application/vc", b"{}".to_vec(), noon() + TimeDelta::seconds(61));
    assert!(server.config().unwrap_err().problem.contains("in the future"));
    let stray = server.folder.join("cache/stray.json");
    std::fs::write(&stray, "{}").unwrap();
    assert!(server.config().unwrap_err().setting.contains("stray.json"));
    std::fs::remove_dir_all(server.folder.join("cache")).unwrap();
    assert!(server.config().is_err());
}

/// The same request with the same memory is answered alike, to the octet.
#[test]
fn what_was_learned_before_is_part_of_the_snapshot() {
    let server = Server::new();
    server.list(&List::new(&[]).made(-30));
    let engine = server.engine();
    let ask = server.ask(&[&with_revocation(INDEX)]);
    let mut facts = world().facts();
    facts.challenge = Some(ask.nonce.clone());
    let message = octets(&ask.message().unwrap());
    let snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
    let request = writgate::Request { message, facts, snapshot };
    let first = engine.evaluate(&request);
    assert_allowed(&decide(&engine, &ask));
    let again = engine.evaluate(&request);
    assert_eq!(first.report.to_jcs().unwrap(), again.report.to_jcs().unwrap());
    assert_eq!(first.learned, again.learned);
    assert_eq!(first.learned.lists.len(), 1);
}

/// Threat 21: each wanted list is work for the ledger, and a credential can name thousands.
#[test]
fn one_message_makes_no_more_lists_wanted_than_are_read_for_it() {
    let server = Server::new();
    server.configure("[limits]\nstatus_lists = 4");
    let entries: Vec<Value> = (0..40)
        .map(|number| {
            status_entry("revocation", INDEX, &format!("https://alice.pod.example/status/{number}"))
        })
        .collect();
    server.refuses(&with_status(json!(entries)), Reason::StatusRetrievalError);
    assert_eq!(server.ledger.wanted_lists().unwrap().len(), 4);
}

/// Whoever fetches what is wanted is led nowhere near itself, nor to a second spelling of a URL.
#[test]
fn a_list_at_a_url_that_no_document_is_kept_under_is_not_wanted() {
    let server = Server::new();
    for url in [
        "http://alice.pod.example/status/1",
        "https://127.0.0.1/status/1",
        "https://localhost/status/1",
        "https://alice.pod.example/status/1#list",
        "https://ALICE.pod.example/status/1",
        "file:///etc/passwd",
    ] {
        server.refuses(&with_status(status_entry("revocation", INDEX, url)), Reason::StatusRetrievalError);
    }
    assert_eq!(server.ledger.wanted_lists().unwrap(), []);
}
