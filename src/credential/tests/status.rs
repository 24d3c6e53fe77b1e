//! Bitstring Status Lists: each check of `mandate.md` 5, in both forms of the list.

use super::context_free::{signed_by, unsigned};
use super::*;
use crate::credential::context_free;
use crate::credential::controller::KeySource;
use crate::credential::credential::{Signed, StatusEntry};
use crate::credential::status::{StatusCheck, StatusLists};
use crate::ledger::{Learned, ListKey, RevokedEntry, StatusMemory};
use crate::message::Digest;
use crate::vocab::{cred, sec};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

const URL: &str = "https://issuer.example/status/1";
const LEAST: usize = 131_072;

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn encode(compressed: &[u8]) -> String {
    format!("u{}", URL_SAFE_NO_PAD.encode(compressed))
}

/// A list of `length` bits with these set.
fn encoded(length: usize, bits: &[usize]) -> String {
    let mut octets = vec![0u8; length / 8];
    for bit in bits {
        octets[bit / 8] |= 0x80 >> (bit % 8);
    }
    encode(&gzip(&octets))
}

/// A JSON-LD list credential, to be changed and signed.
fn list(encoded: &str) -> Value {
    json!({
        "@context": [cred::CONTEXT_V2],
        "id": URL,
        "type": ["VerifiableCredential", "BitstringStatusListCredential"],
        "issuer": issuer().controller(),
        "validFrom": "2026-06-01T00:00:00Z",
        "credentialSubject": {
            "id": format!("{URL}#list"),
            "type": "BitstringStatusList",
            "statusPurpose": "revocation",
            "encodedList": encoded,
        },
    })
}

/// A list in the context-free profile's form, signed by `key`.
pub(super) fn turtle_list(key: &SigningKey, url: &str, purpose: &str, bits: &[usize]) -> String {
    turtle_of(key, url, purpose, &encoded(LEAST, bits), "")
}

fn turtle_of(key: &SigningKey, url: &str, purpose: &str, encoded: &str, more: &str) -> String {
    let document = format!(
        "<{url}> a <https://www.w3.org/2018/credentials#VerifiableCredential>, <https://w3id.org/jeswr/solid-vc#BitstringStatusListCredential> ;
  <https://www.w3.org/2018/credentials#issuer> <{}> ;
  <https://www.w3.org/2018/credentials#validFrom> \"2026-06-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> ;
  <https://www.w3.org/2018/credentials#credentialSubject> <{url}#list> .
<{url}#list> <https://www.w3.org/ns/credentials/status#statusPurpose> \"{purpose}\" ;
  <https://www.w3.org/ns/credentials/status#encodedList> \"{encoded}\" .\n{more}",
        key.controller()
    );
    let limits = Limits { term_bytes: 1 << 20, graph_bytes: 1 << 20, ..Limits::default() };
    let graph = crate::rdf::turtle::parse(&document, &limits).unwrap();
    let digest = Digest::of(crate::rdf::canon::graph(&graph, &mut budget()).unwrap());
    let options = options(key, "assertionMethod");
    let triples = context_free::proof_options(&options).unwrap();
    let quads: Vec<oxrdf::Quad> = triples
        .iter()
        .map(|triple| triple.as_ref().in_graph(oxrdf::GraphNameRef::DefaultGraph).into_owned())
        .collect();
    let octets = context_free_octets(key, &quads, digest);
    let value = crate::credential::key::encode_base58btc(&key.sign(&octets));
    let options: String =
        triples.iter().map(|triple| format!("_:p {} {} .\n", triple.predicate, triple.object)).collect();
    format!("{document}<{url}> <{}> _:p .\n{options}_:p <{}> \"{value}\" .\n", sec::PROOF, sec::PROOF_VALUE)
}

fn entry() -> StatusEntry {
    StatusEntry {
        types: vec![cred::STATUS_LIST_ENTRY.to_owned()],
        purpose: vec!["revocation".to_owned()],
        index: vec!["94567".to_owned()],
        list: vec![URL.to_owned()],
        size: Vec::new(),
    }
}

/// A verified credential of either profile.
fn holder_of(json_ld: bool) -> Credential {
    if json_ld {
        return super::read(&mandate()).unwrap();
    }
    let document = signed_by(unsigned(), &issuer(), options(&issuer(), "assertionMethod"));
    context_free::credential(&document, &Limits::default(), &mut budget()).unwrap()
}

/// What is at hand, and when.
struct Source {
    url: &'static str,
    text: String,
    media_type: &'static str,
    retrieved: &'static str,
    max_age: TimeDelta,
    limits: Limits,
    json_ld: bool,
    memory: StatusMemory,
}

impl Source {
    fn json(document: &Value) -> Self {
        Self {
            url: URL,
            text: document.to_string(),
            media_type: "application/vc",
            retrieved: "2026-07-01T11:30:00Z",
            max_age: TimeDelta::hours(1),
            limits: Limits::default(),
            json_ld: true,
            memory: StatusMemory::default(),
        }
    }

    fn turtle(text: String) -> Self {
        Self { text, media_type: "text/turtle", json_ld: false, ..Self::json(&json!({})) }
    }

    fn judge(&self, entry: &StatusEntry) -> Result<Instant, Reason> {
        self.learn(entry).0
    }

    /// Judges, and says what that taught.
    fn learn(&self, entry: &StatusEntry) -> (Result<Instant, Reason>, Learned) {
        let mut lists = StatusLists::default();
        lists.insert(self.url, self.text.as_str(), self.media_type, instant(self.retrieved));
        let controllers = ControllerDocuments::default();
        let keys = KeySource { documents: &controllers, now: now(), max_age: TimeDelta::days(1) };
        let mut check = StatusCheck::new(&lists, &self.memory, keys, self.max_age, &self.limits);
        let credential = holder_of(self.json_ld);
        let judged = check.entry(&credential, entry, &mut budget()).map_err(|error| error.reason);
        (judged, check.into_learned())
    }

    /// The same, where earlier decisions learned this.
    fn after(mut self, learned: &Learned) -> Self {
        for (key, mark) in &learned.lists {
            self.memory.lists.insert(key.clone(), *mark);
        }
        self.memory.revoked.entries.extend(learned.revoked.iter().cloned());
        self
    }
}

fn of_list(document: Value) -> Source {
    Source::json(&signed(document))
}

fn of_bits(bits: &[usize]) -> Source {
    of_list(list(&encoded(LEAST, bits)))
}

#[track_caller]
fn unknown(name: &str, result: Result<Instant, Reason>) {
    assert_eq!(result, Err(Reason::StatusRetrievalError), "{name}");
}

#[test]
fn a_clear_bit_is_good_and_a_set_one_is_not() {
    assert_eq!(of_bits(&[94566, 94568]).judge(&entry()), Ok(instant("2026-07-01T12:30:00Z")));
    assert_eq!(of_bits(&[94567]).judge(&entry()), Err(Reason::Revoked));
    for index in [0, 1, 7, 8, LEAST - 1] {
        let at = StatusEntry { index: vec![index.to_string()], ..entry() };
        assert_eq!(of_bits(&[index]).judge(&at), Err(Reason::Revoked), "{index}");
        let others: Vec<_> = [0, 1, 7, 8, LEAST - 1].into_iter().filter(|other| *other != index).collect();
        assert!(of_bits(&others).judge(&at).is_ok(), "{index}");
    }
}

#[test]
fn a_list_is_signed_by_keys_of_every_type() {
    for key_type in [KeyType::Ed25519, KeyType::P256, KeyType::P384] {
        let key =
            ec(key_type, 5).with_controller("https://issuer.example/id", "https://issuer.example/keys#k1");
        let mut controllers = ControllerDocuments::default();
        controllers.insert(key.controller(), key.controller_document(), now());
        let mut credential = holder_of(true);
        credential.issuer = key.controller().to_owned();
        let judge = |bits: &[usize], context_free: bool| {
            let mut lists = StatusLists::default();
            if context_free {
                lists.insert(URL, turtle_list(&key, URL, "revocation", bits), "text/turtle", now());
            } else {
                let mut document = list(&encoded(LEAST, bits));
                document["issuer"] = json!(key.controller());
                let document = signed_with(document, &key, options(&key, "assertionMethod"));
                lists.insert(URL, document.to_string(), "application/vc", now());
            }
            let keys = KeySource { documents: &controllers, now: now(), max_age: TimeDelta::days(1) };
            let limits = Limits::default();
            let memory = StatusMemory::default();
            let mut check = StatusCheck::new(&lists, &memory, keys, TimeDelta::hours(1), &limits);
            let mut credential = credential.clone();
            if context_free {
                credential.profile = crate::credential::credential::Profile::ContextFree;
            }
            let good = check.entry(&credential, &entry(), &mut budget());
            good.map(|_| ()).map_err(|error| error.reason)
        };
        assert_eq!(judge(&[], false), Ok(()), "{key_type:?}");
        assert_eq!(judge(&[94567], false), Err(Reason::Revoked), "{key_type:?}");
        let known = key_type != KeyType::P384;
        let expected = if known { Ok(()) } else { Err(Reason::StatusRetrievalError) };
        assert_eq!(judge(&[], true), expected, "{key_type:?}");
    }
}

#[test]
fn a_list_in_turtle_is_for_context_free_credentials() {
    let text = |bits: &[usize]| turtle_list(&issuer(), URL, "revocation", bits);
    assert_eq!(Source::turtle(text(&[])).judge(&entry()), Ok(instant("2026-07-01T12:30:00Z")));
    assert_eq!(Source::turtle(text(&[94567])).judge(&entry()), Err(Reason::Revoked));
    unknown("of JSON-LD", Source { json_ld: true, ..Source::turtle(text(&[])) }.judge(&entry()));
    assert!(Source { json_ld: false, ..of_bits(&[]) }.judge(&entry()).is_ok());
}

/// Proofs of a list in Turtle come in no order.
#[test]
fn the_proofs_of_a_list_in_turtle_are_bounded_and_of_two_bad_ones_the_same_is_reported() {
    let good = turtle_list(&issuer(), URL, "revocation", &[]);
    let proof = |name: &str, kind: &str| format!("<{URL}> <{}> <{name}> . <{name}> a {kind} .\n", sec::PROOF);
    let class = format!("<{}>", sec::DATA_INTEGRITY_PROOF);
    let suite = format!("{class} ; <{}> \"eddsa-rdfc-2022\"", sec::CRYPTOSUITE);
    let two = format!("{good}{}{}", proof("urn:x:a", &class), proof("urn:x:b", &suite));
    let details: std::collections::BTreeSet<_> = (0..24)
        .map(|_| {
            let mut lists = StatusLists::default();
            lists.insert(URL, two.as_str(), "text/turtle", instant("2026-07-01T11:30:00Z"));
            let (controllers, memory) = (ControllerDocuments::default(), StatusMemory::default());
            let keys = KeySource { documents: &controllers, now: now(), max_age: TimeDelta::days(1) };
            let mut check = StatusCheck::new(&lists, &memory, keys, TimeDelta::hours(1), &Limits::default());
            let error = check.entry(&holder_of(false), &entry(), &mut budget()).unwrap_err();
            (error.reason, error.evidence.detail)
        })
        .collect();
    assert_eq!(details.len(), 1, "{details:?}");
    let limits = |proofs| Limits { proofs, ..Limits::default() };
    assert!(Source { limits: limits(1), ..Source::turtle(good.clone()) }.judge(&entry()).is_ok());
    unknown("no proof is judged", Source { limits: limits(0), ..Source::turtle(good) }.judge(&entry()));
}

#[test]
fn a_list_in_a_jws_is_for_credentials_of_any_form() {
    use crate::credential::issue_jose::{compact, header};
    let in_jws = |bits: &[usize], json_ld| {
        let header = header(&issuer(), crate::credential::jose::TokenType::Credential);
        let text = compact(&issuer(), &header, &list(&encoded(LEAST, bits))).unwrap();
        Source { text, media_type: "application/vc+jwt", json_ld, ..of_bits(&[]) }
    };
    for json_ld in [true, false] {
        assert_eq!(in_jws(&[], json_ld).judge(&entry()), Ok(instant("2026-07-01T12:30:00Z")));
        assert_eq!(in_jws(&[94567], json_ld).judge(&entry()), Err(Reason::Revoked));
        let unread = Limits { status_list_bytes: 100, ..Limits::default() };
        unknown("too long", Source { limits: unread, ..in_jws(&[], json_ld) }.judge(&entry()));
    }
    unknown("a line end behind", {
        let good = in_jws(&[], true);
        Source { text: format!("{}\n", good.text), ..good }.judge(&entry())
    });
}

#[test]
fn a_suspension_list_suspends() {
    let mut document = list(&encoded(LEAST, &[94567]));
    document["credentialSubject"]["statusPurpose"] = json!("suspension");
    let source = of_list(document);
    let suspension = StatusEntry { purpose: vec!["suspension".to_owned()], ..entry() };
    assert_eq!(source.judge(&suspension), Err(Reason::Suspended));
    unknown("another purpose", source.judge(&entry()));
    // Lifted, it is over.
    let mut document = list(&encoded(LEAST, &[]));
    document["credentialSubject"]["statusPurpose"] = json!("suspension");
    assert!(of_list(document).judge(&suspension).is_ok());
    let turtle = Source::turtle(turtle_list(&issuer(), URL, "suspension", &[94567]));
    assert_eq!(turtle.judge(&suspension), Err(Reason::Suspended));
}

#[test]
fn lists_of_a_million_entries_are_read() {
    // Noise does not compress: the document is as long as it can be.
    let octets: Vec<u8> =
        (0u32..).flat_map(|n| *Digest::of(n.to_le_bytes()).as_bytes()).take(125_000).collect();
    let noisy = encode(&gzip(&octets));
    assert!(noisy.len() > 100_000);
    for source in [of_list_large(&noisy), Source::turtle(turtle_of(&issuer(), URL, "revocation", &noisy, ""))]
    {
        for index in [0usize, 94_567, 999_999] {
            let set = octets[index / 8] & (0x80 >> (index % 8)) != 0;
            let at = StatusEntry { index: vec![index.to_string()], ..entry() };
            assert_eq!(source.judge(&at).is_err(), set, "{index}");
        }
        unknown("beyond", source.judge(&StatusEntry { index: vec!["1000000".to_owned()], ..entry() }));
    }
}

/// Signed with terms as long as the list needs.
fn of_list_large(encoded: &str) -> Source {
    let limits = Limits { term_bytes: 1 << 20, ..Limits::default() };
    let document = list(encoded).as_object().unwrap().clone();
    let options = options(&issuer(), "assertionMethod");
    Source::json(&secure(&issuer(), document, options, &limits, &mut budget()).unwrap())
}

#[test]
fn a_short_list_and_an_index_beyond_it_are_unknown() {
    unknown("short", of_list(list(&encoded(LEAST - 8, &[]))).judge(&entry()));
    unknown("empty", of_list(list(&encode(&gzip(&[])))).judge(&entry()));
    for index in ["131072", "18446744073709551615", "340282366920938463463374607431768211456"] {
        unknown(index, of_bits(&[]).judge(&StatusEntry { index: vec![index.to_owned()], ..entry() }));
    }
}

#[test]
fn an_entry_is_of_the_one_form() {
    let source = of_bits(&[]);
    assert!(source.judge(&StatusEntry { size: vec!["1".to_owned()], ..entry() }).is_ok());
    for index in ["", "01", "+1", "-1", "1.0", "1e3", " 1", "0x1", "１"] {
        unknown(index, source.judge(&StatusEntry { index: vec![index.to_owned()], ..entry() }));
    }
    let two = |one: &str, other: &str| vec![one.to_owned(), other.to_owned()];
    for (name, entry) in [
        ("no type", StatusEntry { types: vec![], ..entry() }),
        ("another type", StatusEntry { types: vec!["urn:x".to_owned()], ..entry() }),
        ("two types", StatusEntry { types: two(cred::STATUS_LIST_ENTRY, "urn:x"), ..entry() }),
        ("two bits", StatusEntry { size: vec!["2".to_owned()], ..entry() }),
        ("two sizes", StatusEntry { size: two("1", "1"), ..entry() }),
        ("a message", StatusEntry { purpose: vec!["message".to_owned()], ..entry() }),
        ("no purpose", StatusEntry { purpose: vec![], ..entry() }),
        ("two purposes", StatusEntry { purpose: two("revocation", "suspension"), ..entry() }),
        ("no index", StatusEntry { index: vec![], ..entry() }),
        ("two indices", StatusEntry { index: two("1", "2"), ..entry() }),
        ("no list", StatusEntry { list: vec![], ..entry() }),
        ("two lists", StatusEntry { list: two(URL, "urn:x"), ..entry() }),
    ] {
        unknown(name, source.judge(&entry));
    }
}

#[test]
fn a_list_that_cannot_be_had_is_unknown() {
    unknown("unreachable", Source { url: "https://issuer.example/status/2", ..of_bits(&[]) }.judge(&entry()));
    unknown("not JSON", Source { text: "{".to_owned(), ..of_bits(&[]) }.judge(&entry()));
    unknown("not Turtle", Source::turtle("<".to_owned()).judge(&entry()));
    unknown("a page", Source { media_type: "text/html", ..of_bits(&[]) }.judge(&entry()));
}

/// Threat 21: list B at URL A.
#[test]
fn a_list_of_another_id_is_unknown() {
    let mut document = list(&encoded(LEAST, &[]));
    document["id"] = json!("https://issuer.example/status/2");
    unknown("JSON-LD", of_list(document).judge(&entry()));
    let text = turtle_list(&issuer(), "https://issuer.example/status/2", "revocation", &[]);
    unknown("Turtle", Source::turtle(text).judge(&entry()));
}

#[test]
fn a_list_by_another_issuer_is_unknown() {
    let mut document = list(&encoded(LEAST, &[]));
    document["issuer"] = json!(stranger().controller());
    let document = signed_with(document, &stranger(), options(&stranger(), "assertionMethod"));
    unknown("JSON-LD", Source::json(&document).judge(&entry()));
    let text = turtle_list(&stranger(), URL, "revocation", &[]);
    unknown("Turtle", Source::turtle(text).judge(&entry()));
}

#[test]
fn a_list_that_does_not_verify_is_unknown() {
    let document = list(&encoded(LEAST, &[]));
    unknown("no proof", Source::json(&document).judge(&entry()));
    let by_stranger = signed_with(document.clone(), &stranger(), options(&stranger(), "assertionMethod"));
    unknown("a stranger's proof", Source::json(&by_stranger).judge(&entry()));
    let purpose = signed_with(document.clone(), &issuer(), options(&issuer(), "authentication"));
    unknown("another purpose", Source::json(&purpose).judge(&entry()));
    let mut tampered = signed(document.clone());
    tampered["credentialSubject"]["encodedList"] = json!(encoded(LEAST, &[1]));
    unknown("tampered", Source::json(&tampered).judge(&entry()));
    let good = turtle_list(&issuer(), URL, "revocation", &[]);
    unknown("more in Turtle", Source::turtle(format!("{good}<urn:a> <urn:b> <urn:c> .")).judge(&entry()));
    unknown(
        "a proof node that says more",
        Source::turtle(format!("{good}_:p <urn:b> <urn:c> .")).judge(&entry()),
    );
    let second = "<https://issuer.example/status/1> <https://w3id.org/security#proof> _:q . _:q a <urn:x> .";
    unknown("a second proof", Source::turtle(format!("{good}{second}")).judge(&entry()));
    let unsigned = good.split("<https://issuer.example/status/1> <https://w3id.org/security#proof>").next();
    unknown("no proof in Turtle", Source::turtle(unsigned.unwrap().to_owned()).judge(&entry()));
}

#[test]
fn a_list_has_its_type_one_purpose_and_one_list() {
    for (name, change) in [
        ("type", &(|list: &mut Value| list["type"] = json!(["VerifiableCredential"])) as &dyn Fn(&mut Value)),
        ("purposes", &|list| {
            list["credentialSubject"]["statusPurpose"] = json!(["revocation", "suspension"])
        }),
        ("two lists", &|list| {
            list["credentialSubject"]["encodedList"] = json!([encoded(LEAST, &[]), encoded(LEAST, &[1])]);
        }),
        ("no list", &|list| {
            list["credentialSubject"].as_object_mut().unwrap().remove("encodedList");
        }),
    ] {
        let mut document = list(&encoded(LEAST, &[]));
        change(&mut document);
        unknown(name, of_list(document).judge(&entry()));
    }
}

#[test]
fn a_list_has_dates() {
    let dated = |member: &str, date: &str| {
        let mut document = list(&encoded(LEAST, &[]));
        document[member] = json!(date);
        of_list(document).judge(&entry())
    };
    unknown("expired", dated("validUntil", "2026-07-01T11:59:59Z"));
    unknown("ahead", dated("validFrom", "2026-07-01T12:00:01Z"));
    assert_eq!(dated("validUntil", "2026-07-01T12:05:00Z"), Ok(instant("2026-07-01T12:05:00Z")));
}

/// Threat 21: an old list served again.
#[test]
fn freshness_is_counted_from_the_retrieval() {
    let stale = Source { retrieved: "2026-07-01T10:59:59Z", ..of_bits(&[]) };
    unknown("stale", stale.judge(&entry()));
    assert_eq!(Source { retrieved: "2026-07-01T11:00:00Z", ..of_bits(&[]) }.judge(&entry()), Ok(now()));
    let with_ttl = |ttl: Value| {
        let mut document = list(&encoded(LEAST, &[]));
        document["credentialSubject"]["ttl"] = ttl;
        of_list(document).judge(&entry())
    };
    unknown("ttl", with_ttl(json!(1_799_999)));
    assert_eq!(with_ttl(json!(1_800_000)), Ok(now()));
    assert_eq!(with_ttl(json!(u32::MAX)), Ok(instant("2026-07-01T12:30:00Z")));
    unknown("no count", with_ttl(json!("soon")));
    unknown("less than none", with_ttl(json!(-1)));
}

#[test]
fn a_decompression_bomb_is_read_no_further_than_the_limit() {
    let bomb = encode(&gzip(&vec![0u8; 64 << 20]));
    assert!(bomb.len() < 100_000);
    let limits = Limits { term_bytes: 1 << 20, ..Limits::default() };
    let document = list(&bomb).as_object().unwrap().clone();
    let options = options(&issuer(), "assertionMethod");
    let document = secure(&issuer(), document, options, &limits, &mut budget()).unwrap();
    unknown("a bomb", Source::json(&document).judge(&entry()));
    let small = Limits { status_list_decompressed_bytes: LEAST / 8 - 1, ..Limits::default() };
    unknown("over the limit", Source { limits: small, ..of_bits(&[]) }.judge(&entry()));
    let exact = Limits { status_list_decompressed_bytes: LEAST / 8, ..Limits::default() };
    assert!(Source { limits: exact, ..of_bits(&[]) }.judge(&entry()).is_ok());
    let short = Limits { status_list_bytes: 100, ..Limits::default() };
    unknown("a long document", Source { limits: short, ..of_bits(&[]) }.judge(&entry()));
}

#[test]
fn the_encoding_is_u_and_one_whole_gzip_member() {
    let good = gzip(&vec![0u8; LEAST / 8]);
    let mut checksum = good.clone();
    let place = checksum.len() - 5;
    checksum[place] ^= 1;
    for (name, text) in [
        ("another base", format!("z{}", URL_SAFE_NO_PAD.encode(&good))),
        ("no base", URL_SAFE_NO_PAD.encode(&good)),
        ("padding", format!("{}=", encode(&good))),
        ("not compressed", encode(&vec![0u8; LEAST / 8])),
        ("cut", encode(&good[..good.len() - 1])),
        ("checksum", encode(&checksum)),
        ("an octet more", encode(&[good.as_slice(), &[0]].concat())),
        ("a member more", encode(&[good.as_slice(), &good].concat())),
    ] {
        unknown(name, of_list_large(&text).judge(&entry()));
    }
}

#[test]
fn the_lists_of_one_message_are_bounded() {
    let lists = StatusLists::default();
    let controllers = ControllerDocuments::default();
    let keys = KeySource { documents: &controllers, now: now(), max_age: TimeDelta::days(1) };
    let memory = StatusMemory::default();
    let mut check = StatusCheck::new(&lists, &memory, keys, TimeDelta::hours(1), &Limits::default());
    let mut last = String::new();
    for list in 0..40 {
        let at = StatusEntry { list: vec![format!("https://issuer.example/{list}")], ..entry() };
        let error = check.entry(&holder_of(false), &at, &mut budget()).unwrap_err();
        assert_eq!(
            (error.reason, &error.evidence.seen),
            (Reason::StatusRetrievalError, &Some(at.list[0].clone()))
        );
        last = error.evidence.detail.unwrap();
    }
    assert_eq!(last, "the credentials name more status lists than are read");
}

/// What is known of a list ends with what is known of its issuer's key, if that is earlier than the list's freshness.
#[test]
fn a_list_is_good_no_longer_than_its_issuers_key() {
    let key = issuer().with_controller("https://issuer.example/", "https://issuer.example/#key");
    let mut document = list(&encoded(LEAST, &[]));
    document["issuer"] = key.controller().into();
    let source = Source::json(&signed_with(document, &key, options(&key, "assertionMethod")));
    let mut lists = StatusLists::default();
    lists.insert(source.url, source.text.as_str(), source.media_type, instant(source.retrieved));
    let mut controllers = ControllerDocuments::default();
    controllers.insert(key.controller(), key.controller_document(), instant("2026-06-30T12:10:00Z"));
    let keys = KeySource { documents: &controllers, now: now(), max_age: TimeDelta::days(1) };
    let memory = StatusMemory::default();
    let mut check = StatusCheck::new(&lists, &memory, keys, source.max_age, &source.limits);
    let credential = Credential { issuer: key.controller().to_owned(), ..holder_of(true) };
    let good_until = check.entry(&credential, &entry(), &mut budget()).map_err(|error| error.reason);
    assert_eq!(good_until, Ok(instant("2026-07-01T12:10:00Z")));
}

/// One list is read once for a decision, so entries cost nothing but their own judging.
#[test]
fn many_entries_of_one_list_cost_one_verification() {
    let source = of_bits(&[]);
    let mut lists = StatusLists::default();
    lists.insert(source.url, source.text.as_str(), source.media_type, instant(source.retrieved));
    let controllers = ControllerDocuments::default();
    let keys = KeySource { documents: &controllers, now: now(), max_age: TimeDelta::days(1) };
    let limits = Limits { canonicalizations: 2, ..Limits::default() };
    let memory = StatusMemory::default();
    let mut check = StatusCheck::new(&lists, &memory, keys, source.max_age, &limits);
    let (credential, mut budget) = (holder_of(true), Budget::new(&limits));
    for index in 0..1000 {
        let at = StatusEntry { index: vec![index.to_string()], ..entry() };
        assert!(check.entry(&credential, &at, &mut budget).is_ok());
    }
}

#[test]
fn a_credential_of_any_type_delegates_nothing() {
    let read = Signed::read(&signed(list(&encoded(LEAST, &[]))), &Limits::default(), &mut budget()).unwrap();
    let credential = Credential::of_any_type(read).unwrap();
    assert_eq!((credential.authorizes, credential.subject, credential.policy), (None, None, None));
}

/// A list of the issuer's with these bits, and another `validFrom` (none: without one).
fn of_day(valid_from: Option<&str>, bits: &[usize]) -> Source {
    let mut document = list(&encoded(LEAST, bits));
    match valid_from {
        Some(valid_from) => document["validFrom"] = json!(valid_from),
        None => {
            document.as_object_mut().unwrap().remove("validFrom");
        }
    }
    of_list(document)
}

const JUNE_1: Option<&str> = Some("2026-06-01T00:00:00Z");
const JUNE_2: Option<&str> = Some("2026-06-02T00:00:00Z");

/// What accepting this list teaches.
fn accepted(source: &Source) -> Learned {
    let (judged, learned) = source.learn(&entry());
    assert!(judged.is_ok());
    assert_eq!(learned.lists.len(), 1);
    learned
}

/// Threat 21.
#[test]
fn a_list_older_than_one_that_was_accepted_is_unknown() {
    let newer = accepted(&of_day(JUNE_2, &[]));
    unknown("rolled back", of_day(JUNE_1, &[]).after(&newer).judge(&entry()));
    unknown("without a date", of_day(None, &[]).after(&newer).judge(&entry()));
    unknown("rolled back and clear", of_day(JUNE_1, &[1]).after(&newer).judge(&entry()));
    assert!(of_day(JUNE_2, &[]).after(&newer).judge(&entry()).is_ok());
    let older = accepted(&of_day(JUNE_1, &[]));
    assert!(of_day(JUNE_2, &[]).after(&older).judge(&entry()).is_ok());
    assert!(of_day(JUNE_1, &[]).after(&accepted(&of_day(None, &[]))).judge(&entry()).is_ok());
    let turtle = Source::turtle(turtle_list(&issuer(), URL, "revocation", &[])).after(&newer);
    unknown("in the other form", turtle.judge(&entry()));
    // Another list of the issuer, or this URL of another issuer, has a mark of its own.
    let mut others = newer.clone();
    others.lists.clear();
    let mark = *newer.lists.values().next().unwrap();
    for (of, url) in [(issuer().controller(), "https://issuer.example/status/2"), ("urn:other", URL)] {
        others.lists.insert(ListKey { issuer: of.to_owned(), url: url.to_owned() }, mark);
    }
    assert!(of_day(JUNE_1, &[]).after(&others).judge(&entry()).is_ok());
}

/// Threat 21: the same list, retrieved anew again and again.
#[test]
fn an_unchanged_list_lives_no_longer_however_often_it_is_retrieved() {
    let first =
        accepted(&Source { retrieved: "2026-07-01T10:30:00Z", max_age: TimeDelta::hours(2), ..of_bits(&[]) });
    let again = |source: Source| Source { retrieved: "2026-07-01T12:00:00Z", ..source }.after(&first);
    unknown("the same octets", again(of_bits(&[])).judge(&entry()));
    let mut respelled = signed(list(&encoded(LEAST, &[])));
    respelled["proof"] = json!([respelled["proof"]]);
    unknown("the same in other octets", again(Source::json(&respelled)).judge(&entry()));
    unknown("another of one date", again(of_bits(&[1])).judge(&entry()));
    assert!(again(of_day(JUNE_2, &[])).judge(&entry()).is_ok());
    // Within its life it is as good as it was, and no longer.
    let longer = Source { max_age: TimeDelta::hours(2), ..again(of_bits(&[])) };
    assert_eq!(longer.judge(&entry()), Ok(instant("2026-07-01T12:30:00Z")));
    // Nor does a clock that was ahead give it more.
    let ahead = Source { retrieved: "2026-07-02T00:00:00Z", ..of_bits(&[]) };
    assert_eq!(ahead.judge(&entry()), Ok(instant("2026-07-01T13:00:00Z")));
}

/// Threat 21: once marks have gone, a list without one may be an old one that is served again.
#[test]
fn a_list_that_is_no_later_than_what_was_forgotten_is_unknown() {
    let judged_after = |forgotten: Option<&str>, valid_from: Option<&str>| {
        let mut document = list(&encoded(LEAST, &[]));
        match valid_from {
            Some(valid_from) => document["validFrom"] = json!(valid_from),
            None => drop(document.as_object_mut().unwrap().remove("validFrom")),
        }
        let mut source = of_list(document);
        source.memory.forgotten = forgotten.map(instant);
        source.judge(&entry()).map(|_| ())
    };
    assert_eq!(judged_after(None, None), Ok(()));
    assert_eq!(judged_after(JUNE_1, JUNE_2), Ok(()));
    for old in [None, JUNE_1] {
        assert_eq!(judged_after(JUNE_1, old), Err(Reason::StatusRetrievalError));
    }
    // What has its own mark goes by that.
    let first = of_day(JUNE_1, &[]);
    let mut marked = of_day(JUNE_1, &[]).after(&accepted(&first));
    marked.memory.forgotten = JUNE_2.map(instant);
    assert!(marked.judge(&entry()).is_ok());
}

/// Threat 20.
#[test]
fn what_was_once_seen_revoked_stays_so_and_a_suspension_does_not() {
    let (judged, learned) = of_bits(&[94567]).learn(&entry());
    assert_eq!(judged, Err(Reason::Revoked));
    let (issuer_of, list_of) = (issuer().controller().to_owned(), URL.to_owned());
    let place = RevokedEntry { issuer: issuer_of, list: list_of, index: 94567 };
    assert_eq!(learned.revoked, [place].into());
    let cleared = of_day(JUNE_2, &[]).after(&learned);
    // It is taught again: whoever taught it first may lose it again.
    let (judged, taught_again) = cleared.learn(&entry());
    assert_eq!((judged, taught_again.revoked), (Err(Reason::Revoked), learned.revoked.clone()));
    let neighbour = StatusEntry { index: vec!["94568".to_owned()], ..entry() };
    assert!(cleared.judge(&neighbour).is_ok());
    // Also where the list can no longer be had.
    let gone = Source { url: "https://issuer.example/elsewhere", ..of_bits(&[]) }.after(&learned);
    assert_eq!(gone.judge(&entry()), Err(Reason::Revoked));

    let suspensions = |valid_from, bits| {
        let mut document = list(&encoded(LEAST, bits));
        document["credentialSubject"]["statusPurpose"] = json!("suspension");
        document["validFrom"] = json!(valid_from);
        of_list(document)
    };
    let suspension = StatusEntry { purpose: vec!["suspension".to_owned()], ..entry() };
    let (judged, learned) = suspensions(JUNE_1, &[94567]).learn(&suspension);
    assert_eq!((judged, learned.revoked.len()), (Err(Reason::Suspended), 0));
    assert!(suspensions(JUNE_2, &[]).after(&learned).judge(&suspension).is_ok());
}

#[test]
fn what_is_not_relied_on_teaches_nothing() {
    let suspension = StatusEntry { purpose: vec!["suspension".to_owned()], ..entry() };
    let mut strangers = list(&encoded(LEAST, &[94567]));
    strangers["issuer"] = json!(stranger().controller());
    let strangers = signed_with(strangers, &stranger(), options(&stranger(), "assertionMethod"));
    for (source, entry) in [
        (of_bits(&[94567]), &suspension),
        (Source::json(&strangers), &entry()),
        (Source::json(&list(&encoded(LEAST, &[94567]))), &entry()),
        (Source { retrieved: "2026-07-01T10:00:00Z", ..of_bits(&[94567]) }, &entry()),
        (of_list(list(&encoded(LEAST - 8, &[94567]))), &entry()),
    ] {
        let (judged, learned) = source.learn(entry);
        assert_eq!((judged, learned), (Err(Reason::StatusRetrievalError), Learned::default()));
    }
}

#[test]
fn names_that_are_not_remembered_have_no_status() {
    let at = StatusEntry { list: vec![format!("https://issuer.example/{}", "a".repeat(2_048))], ..entry() };
    let memory = StatusMemory::default();
    let (lists, controllers) = (StatusLists::default(), ControllerDocuments::default());
    let keys = KeySource { documents: &controllers, now: now(), max_age: TimeDelta::days(1) };
    let mut check = StatusCheck::new(&lists, &memory, keys, TimeDelta::hours(1), &Limits::default());
    let long_issuer = Credential { issuer: format!("urn:{}", "a".repeat(2_048)), ..holder_of(false) };
    for (credential, entry) in [(&holder_of(false), &at), (&long_issuer, &entry())] {
        let error = check.entry(credential, entry, &mut budget()).unwrap_err();
        assert!(error.evidence.detail.unwrap().contains("longer than is remembered"));
    }
    for (url, wanted) in [
        (URL, 1),
        (at.list[0].as_str(), 0),
        ("http://issuer.example/status/1", 0),
        ("https://10.0.0.1/status", 0),
        ("urn:list", 0),
    ] {
        let mut check = StatusCheck::new(&lists, &memory, keys, TimeDelta::hours(1), &Limits::default());
        let status = vec![StatusEntry { list: vec![url.to_owned()], ..entry() }, StatusEntry::default()];
        check.want_lists_of(&Credential { status: status.clone(), ..holder_of(false) });
        assert_eq!(check.into_learned().wanted.len(), wanted, "{url}");
        let mut check = StatusCheck::new(&lists, &memory, keys, TimeDelta::hours(1), &Limits::default());
        check.want_lists_of(&Credential { status, ..long_issuer.clone() });
        assert_eq!(check.into_learned(), Learned::default());
    }
}
