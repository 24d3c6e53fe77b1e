//! The shipped queries on real ledgers, and that a query reaches nothing and ends.

use super::*;
use crate::audit::reading_tests::{DOMAIN, TestLedger, at, ids, read_csv};
use crate::audit::{ReportBody, example_body};
use crate::ledger::{Ledger, Revoked, RevokedPolicy};
use crate::refusal::Reason;
use std::net::TcpListener;

const ALICE: &str = "https://alice.example/#me";
const AGENT: &str = "https://agent.example/#a";

fn trail(ledger: &TestLedger) -> Trail {
    Trail::read(&ledger.reader(), &Filter::default(), Bounds::default()).unwrap()
}

/// The records of a shipped query's answer, without the header.
fn answer(ledger: &TestLedger, name: &str, parameters: &[(&str, &str)]) -> Vec<Vec<String>> {
    let query = NamedQuery::find(name).unwrap();
    let given = parameters.iter().map(|(name, value)| ((*name).to_owned(), term(value))).collect();
    let parameters = query.parameters(given, at(600)).unwrap();
    read_csv(&trail(ledger).answer(query.text, &parameters, Format::Csv).unwrap()).split_off(1)
}

fn urn(id: &str) -> String {
    format!("urn:uuid:{id}")
}

fn time(seconds: i64) -> String {
    at(seconds).to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Under another mandate of Alice's, for another agent, by another paper.
fn other(body: &mut ReportBody) {
    let hop = &mut body.chain[0];
    hop.policy = "https://alice.example/policy/2".to_owned();
    hop.credential = Some("urn:uuid:00000000-0000-4000-8000-000000000002".to_owned());
    hop.credential_digest = crate::message::Digest::of("another credential");
    hop.authorizes = Some("https://other.example/#b".to_owned());
    body.holder = Some("https://other.example/#b".to_owned());
    body.actor = None;
    body.actor_chain.clear();
}

fn plain_chain(body: &mut ReportBody) {
    body.actor_chain.clear();
}

#[test]
fn who_acted_for_a_principal_within_a_time() {
    let day = 24 * 3_600;
    let ledger = TestLedger::of("acted", DOMAIN, at(-9 * day));
    ledger.allow(-8 * day, plain_chain);
    let first = ledger.allow(-6 * day, plain_chain);
    let second = ledger.allow(1, other);
    // Over two hops; the middle one is nobody's holder.
    let third = ledger.allow(2, |body| {
        plain_chain(body);
        let mut leaf = body.chain[0].clone();
        leaf.issuer = "https://middle.example/#m".to_owned();
        body.chain[0].authorizes = Some("https://middle.example/#m".to_owned());
        body.chain.push(leaf);
    });
    // For somebody else, and refused.
    ledger.allow(3, |body| {
        plain_chain(body);
        body.chain[0].issuer = "https://carol.example/#me".to_owned();
    });
    ledger.refuse(4, Reason::PolicyDenied, plain_chain);
    let expected = [
        vec![time(-6 * day), AGENT.to_owned(), urn(&first)],
        vec![time(1), "https://other.example/#b".to_owned(), urn(&second)],
        vec![time(2), AGENT.to_owned(), urn(&third)],
    ];
    assert_eq!(answer(&ledger, "acted-for", &[("principal", ALICE)]), expected);
    let within = [("principal", ALICE), ("since", "2026-05-01T12:00:02Z"), ("until", "2026-05-01T12:00:03Z")];
    assert_eq!(answer(&ledger, "acted-for", &within), expected[2..]);
    assert!(answer(&ledger, "acted-for", &[("principal", "https://nobody.example/")]).is_empty());
}

#[test]
fn which_decisions_leaned_on_a_credential() {
    let ledger = TestLedger::new("leaned");
    let allowed = ledger.allow(1, plain_chain);
    ledger.allow(2, other);
    let refused = ledger.refuse(3, Reason::PolicyDenied, plain_chain);
    ledger.refuse(4, Reason::ChainMalformed, |body| {
        body.chain.clear();
        body.actor_chain.clear();
    });
    let expected =
        [vec![time(1), "allow".to_owned(), urn(&allowed)], vec![time(3), "refuse".to_owned(), urn(&refused)]];
    let hop = &example_body().chain[0];
    let id = hop.credential.clone().unwrap();
    assert_eq!(answer(&ledger, "leaned-on", &[("credential", &id)]), expected);
    let by_digest = prov::named_by_hash(hop.credential_digest);
    assert_eq!(answer(&ledger, "leaned-on", &[("credential", by_digest.as_str())]), expected);
}

#[test]
fn what_was_allowed_under_a_mandate_that_was_revoked_later() {
    let ledger = TestLedger::new("revoked");
    let policy = "https://alice.example/policy/1";
    let credential = "urn:uuid:00000000-0000-4000-8000-000000000002";
    let published = |publisher: &str, policy: &str| Revoked {
        policies: [RevokedPolicy { publisher: publisher.to_owned(), policy: policy.to_owned() }].into(),
        ..Revoked::default()
    };
    let under_policy = ledger.allow(1, plain_chain);
    let under_credential = ledger.allow(2, other);
    let published_by_root = ledger.allow(3, |body| {
        plain_chain(body);
        body.chain[0].policy = "https://alice.example/policy/3".to_owned();
    });
    ledger.allow(4, |body| {
        plain_chain(body);
        body.chain[0].policy = "https://alice.example/policy/4".to_owned();
    });
    ledger.refuse(5, Reason::PolicyDenied, plain_chain);
    ledger.ledger.mark_revoked(&ids(&[policy, credential]), at(10)).unwrap();
    ledger.ledger.mark_revoked(&published(ALICE, "https://alice.example/policy/3"), at(11)).unwrap();
    // Whoever is not above a policy cannot revoke it.
    ledger
        .ledger
        .mark_revoked(&published("https://eve.example/#me", "https://alice.example/policy/4"), at(12))
        .unwrap();
    // A ledger would not allow it; if one did, it was no longer before the revocation.
    ledger.allow(20, plain_chain);
    // Said again, it is no later revocation.
    ledger.ledger.mark_revoked(&ids(&[policy, "another"]), at(30)).unwrap();
    assert_eq!(
        answer(&ledger, "since-revoked", &[]),
        [
            vec![time(1), urn(&under_policy), policy.to_owned(), time(10)],
            vec![time(2), urn(&under_credential), credential.to_owned(), time(10)],
            vec![time(3), urn(&published_by_root), "https://alice.example/policy/3".to_owned(), time(11)],
        ]
    );
}

/// A filter on decisions leaves no event out.
#[test]
fn a_revocation_after_the_time_that_is_asked_about_is_not_missed() {
    let ledger = TestLedger::new("after");
    let id = ledger.allow(1, plain_chain);
    ledger.allow(3, plain_chain);
    ledger.ledger.mark_revoked(&ids(&["https://alice.example/policy/1"]), at(10)).unwrap();
    let filter = Filter { until: Some(at(2)), ..Filter::default() };
    let trail = Trail::read(&ledger.reader(), &filter, Bounds::default()).unwrap();
    let query = NamedQuery::find("since-revoked").unwrap();
    let answer = trail.answer(query.text, &BTreeMap::new(), Format::Csv).unwrap();
    let decisions: Vec<_> = read_csv(&answer).into_iter().skip(1).map(|record| record[1].clone()).collect();
    assert_eq!(decisions, [urn(&id)]);
}

#[test]
fn refusals_by_reason() {
    let ledger = TestLedger::new("refusals");
    for (second, reason) in [(1, Reason::Expired), (2, Reason::PolicyDenied), (3, Reason::PolicyDenied)] {
        ledger.refuse(second, reason, plain_chain);
    }
    ledger.allow(4, plain_chain);
    let number = |reason: &str, refusals: &str| vec![reason.to_owned(), refusals.to_owned()];
    assert_eq!(answer(&ledger, "refusals", &[]), [number("POLICY_DENIED", "2"), number("EXPIRED", "1")]);
}

#[test]
fn decisions_with_provisional_binding() {
    let ledger = TestLedger::new("provisional");
    ledger.allow(1, plain_chain);
    let provisional = ledger.allow(2, |body| {
        plain_chain(body);
        body.marks.insert("provisional".to_owned());
        let mut leaf = body.chain[0].clone();
        (leaf.binding, leaf.policy) = ("provisional".to_owned(), "https://alice.example/policy/9".to_owned());
        body.chain.push(leaf);
    });
    assert_eq!(
        answer(&ledger, "provisional", &[]),
        [[time(2), "allow".to_owned(), urn(&provisional), "https://alice.example/policy/9".to_owned()]]
    );
}

#[test]
fn shipped_queries_use_our_namespace_and_refuse_wrong_parameters() {
    for query in NAMED {
        assert!(query.text.contains(&format!("PREFIX wg: <{AUDIT_NS}>")), "{}", query.name);
        let unknown = BTreeMap::from([("nonsense".to_owned(), term("x"))]);
        assert!(matches!(query.parameters(unknown, at(0)), Err(QueryError::Parameter(_))));
    }
    let missing = NamedQuery::find("acted-for").unwrap().parameters(BTreeMap::new(), at(0));
    assert!(matches!(missing, Err(QueryError::Parameter(name)) if name == "principal"));
}

#[test]
fn a_parameter_is_a_term_and_never_text() {
    let ledger = TestLedger::new("parameters");
    ledger.allow(1, plain_chain);
    let injection = "https://alice.example/#me> . } } #";
    assert!(matches!(term(injection), Term::Literal(_)));
    assert!(answer(&ledger, "acted-for", &[("principal", injection)]).is_empty());
}

/// An empty answer to a question that nobody asked would be taken for an answer.
#[test]
fn a_parameter_is_taken_as_a_person_has_it_or_refused() {
    let ledger = TestLedger::new("as-written");
    let strange = "no IRI at all";
    ledger.allow(1, |body| {
        plain_chain(body);
        body.chain[0].issuer = strange.to_owned();
        body.chain[0].credential = Some(strange.to_owned());
    });
    let found = |name, parameters: &[_]| answer(&ledger, name, parameters).len();
    for day in ["2026-05-01", "2026-05-01T12:00:00Z", "2026-05-01T14:00:00+02:00", "\"2026-05-01\""] {
        assert_eq!(found("acted-for", &[("principal", strange), ("since", day)]), 1, "{day}");
    }
    assert_eq!(found("acted-for", &[("principal", strange), ("until", "2026-05-01")]), 0);
    let digest = example_body().chain[0].credential_digest.to_string();
    for credential in [digest.as_str(), strange] {
        assert_eq!(found("leaned-on", &[("credential", credential)]), 1, "{credential}");
    }
    for no_time in ["yesterday", "2026-05-01T12:00:00", "2026-13-01", "urn:x:y", "<urn:x:y>"] {
        let query = NamedQuery::find("acted-for").unwrap();
        let given =
            BTreeMap::from([("principal".to_owned(), term(ALICE)), ("since".to_owned(), term(no_time))]);
        let refused = query.parameters(given, at(600));
        assert!(matches!(refused, Err(QueryError::NoTime(name)) if name == "since"), "{no_time}");
    }
}

fn refusal(trail: &Trail, query: &str) -> QueryError {
    trail.answer(query, &BTreeMap::new(), Format::Table).unwrap_err()
}

/// Each query is refused, and if it were not, it would still reach nobody.
#[test]
fn no_query_opens_a_connection() {
    let ledger = TestLedger::new("service");
    ledger.allow(1, plain_chain);
    let trail = trail(&ledger);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let service = format!("<http://{}/sparql>", listener.local_addr().unwrap());
    let escaped_keyword = "\\u0053ERVICE";
    let queries = [
        format!("SELECT * {{ SERVICE {service} {{ ?s ?p ?o }} }}"),
        format!("SELECT * {{ service silent {service} {{ ?s ?p ?o }} }}"),
        format!("SELECT * {{ ?a ?b ?c . {{ SELECT * {{ SERVICE SILENT {service} {{ ?s ?p ?o }} }} }} }}"),
        format!("ASK {{ OPTIONAL {{ SERVICE {service} {{ ?s ?p ?o }} }} }}"),
        format!("SELECT * {{ ?a ?b ?c FILTER EXISTS {{ SERVICE {service} {{ ?s ?p ?o }} }} }}"),
        format!("SELECT * {{ BIND({service} AS ?x) SERVICE ?x {{ ?s ?p ?o }} }}"),
        format!("CONSTRUCT {{ ?s ?p ?o }} WHERE {{ SERVICE SILENT{service}{{ ?s ?p ?o }} }}"),
        format!("SELECT * {{ ?a ?b \"\\\"\" . SERVICE {service} {{ ?s ?p ?o }} }}"),
        format!("SELECT * {{ ?a ?b ?c FILTER(?a < ?b) SERVICE {service} {{ ?s ?p ?o }} }}"),
        format!("SELECT * {{ {escaped_keyword} {service} {{ ?s ?p ?o }} }}"),
        // Words need no space between them.
        format!("SELECT * {{ SERVICESILENT{service}{{ ?s ?p ?o }} }}"),
        format!("SELECT * {{ ?a ?b trueserviceSilent{service}{{ ?s ?p ?o }} }}"),
        format!("PREFIX : {service} SELECT * {{ ?a ?b 1SERVICESILENT:{{ ?s ?p ?o }} }}"),
        format!("PREFIX : {service} SELECT * {{ SERVICE:{{ ?s ?p ?o }} }}"),
        format!("PREFIX silent: {service} SELECT * {{ SERVICE#\nsilent:{{ ?s ?p ?o }} }}"),
    ];
    for query in &queries {
        let refused = refusal(&trail, query);
        // The parser does not read a keyword that is written by escapes, and what does not parse asks nobody.
        let unread = query.contains(escaped_keyword) && matches!(refused, QueryError::Syntax(_));
        assert!(unread || matches!(refused, QueryError::Service), "{query}: {refused}");
        // Behind the look at the text: no handler.
        let _ = trail.evaluate(query, &BTreeMap::new(), Format::Table);
    }
    let accepted = listener.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(accepted, Err(std::io::ErrorKind::WouldBlock));
}

#[test]
fn the_word_service_may_stand_where_it_is_no_keyword() {
    for query in [
        "SELECT ?service { ?service ?p \"SERVICE\" }",
        "SELECT ?SERVICE { $SERVICE ?p _:SERVICE }",
        "# SERVICE\nSELECT * { <https://service.example/SERVICE> ?p '''a ' SERVICE''' }",
        "PREFIX service: <urn:x:> SELECT * { service:a ?p service:SERVICE }",
        "SELECT * { ?s ?p 'a\\' SERVICE', \"\\\\\", ' SERVICE ' }",
        "SELECT * { ?s ?p \"SERVICE\"@en FILTER(?s < ?p) }",
    ] {
        assert!(!asks_another(query).unwrap(), "{query}");
    }
}

#[test]
fn a_query_reads_no_file_and_changes_nothing() {
    let ledger = TestLedger::new("files");
    ledger.allow(1, plain_chain);
    let trail = trail(&ledger);
    let file = "<file:///etc/passwd>";
    for from in ["FROM", "FROM NAMED"] {
        let query =
            format!("SELECT * {from} {file} {{ {{ ?s ?p ?o }} UNION {{ GRAPH ?g {{ ?s ?p ?o }} }} }}");
        let read = trail.answer(&query, &BTreeMap::new(), Format::Table).unwrap();
        assert!(read.ends_with("0 results\n"), "{read}");
    }
    for update in [
        "DELETE WHERE { ?s ?p ?o }",
        "INSERT DATA { <urn:a:a> <urn:a:b> <urn:a:c> }",
        "CLEAR ALL",
        &format!("LOAD {file}"),
        "SELECT * { ?s ?p ?o } ; CLEAR ALL",
    ] {
        assert!(matches!(refusal(&trail, update), QueryError::Syntax(_)), "{update}");
    }
}

#[test]
fn reading_and_telling_are_bounded() {
    let ledger = TestLedger::new("bounds");
    for second in 1..=3 {
        ledger.allow(second, plain_chain);
    }
    let bounds = |rows, results| Bounds { rows, results, ..Bounds::default() };
    let reader = ledger.reader();
    let two = Trail::read(&reader, &Filter::default(), bounds(2, 10)).unwrap_err();
    assert_eq!(two.to_string(), "more than 2 rows are asked for: narrow the filter, or raise --limit");
    let trail = Trail::read(&reader, &Filter::default(), bounds(3, 10)).unwrap();
    for query in ["SELECT * { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }"] {
        assert!(matches!(refusal(&trail, query), QueryError::TooManyResults(10)), "{query}");
    }
    let nested = format!("SELECT * {{ FILTER({}1{}) }}", "(".repeat(100), ")".repeat(100));
    let long = format!("SELECT * {{ }} # {}", "x".repeat(MAX_QUERY_BYTES));
    let signs = format!("SELECT * {{ FILTER({}1) }}", "! ".repeat(100));
    for query in [nested, long, signs] {
        assert!(matches!(refusal(&trail, &query), QueryError::TooLarge));
    }
}

/// A parser, an optimizer or an evaluation that takes one step into itself for each of these ends the process, and no
/// `catch` helps: it runs out of stack. (Joins and paths of that length are left out: they have no end in sight, and the
/// command ends them.)
#[test]
fn no_query_of_any_length_that_is_read_runs_out_of_stack() {
    let ledger = TestLedger::new("stack");
    ledger.allow(1, plain_chain);
    let trail = trail(&ledger);
    let chain = |of: &str, before: &str, after: &str| {
        let times = (MAX_QUERY_BYTES - before.len() - after.len()) / of.len();
        format!("{before}{}{after}", of.repeat(times))
    };
    let queries = [
        chain("1+", "SELECT * { FILTER(", "1) }"),
        chain("1||", "SELECT * { FILTER(", "1) }"),
        chain("1,", "SELECT (COALESCE(", "1) AS ?x) {}"),
        chain("{}UNION", "SELECT * { ", "{} }"),
        chain("OPTIONAL{}", "SELECT * { ?s ?p ?o ", " }"),
        chain("MINUS{?s ?p 1}", "SELECT * { ?s ?p ?o ", " }"),
        chain("FILTER(1)", "SELECT * { ?s ?p ?o ", " }"),
        chain("(1)", "SELECT * { VALUES(?x){", "} }"),
        chain("NOT EXISTS{}&&", "SELECT * { ?s ?p ?o FILTER(", "1) }"),
    ];
    // As small a stack as any thread that asks may have.
    let asked = || {
        for query in &queries {
            trail.bounds.cancellation.cancel();
            let _ = trail.answer(query, &BTreeMap::new(), Format::Table);
        }
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, asked).unwrap().join().unwrap();
    });
}

/// The scan of a product's first factor asks, for each of its statements, whether it was cancelled.
#[test]
fn a_cartesian_product_ends_when_it_is_cancelled() {
    let ledger = TestLedger::new("product");
    for second in 1..=3 {
        ledger.allow(second, plain_chain);
    }
    let trail = trail(&ledger);
    let product: String = (0..3).map(|n| format!("?s{n} ?p{n} ?o{n} . ")).collect();
    let query = format!("SELECT (COUNT(*) AS ?n) {{ {product} }}");
    let cancellation = trail.bounds.cancellation.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || cancellation.cancel());
        assert!(matches!(refusal(&trail, &query), QueryError::Cancelled));
    });
}

#[test]
fn answers_of_every_kind_have_a_form() {
    let ledger = TestLedger::new("forms");
    let id = ledger.allow(1, plain_chain);
    let trail = trail(&ledger);
    let answer = |query: &str, format| trail.answer(query, &BTreeMap::new(), format).unwrap();
    assert_eq!(answer("ASK { ?s ?p ?o }", Format::Table), "true\n");
    assert_eq!(answer("ASK { ?s ?p ?o }", Format::Json), "{\"head\":{},\"boolean\":true}\n");
    let prefix = format!("PREFIX wg: <{AUDIT_NS}> ");
    let table = answer(&format!("{prefix}SELECT ?d ?n {{ ?d wg:sequence ?n }}"), Format::Table);
    assert!(table.contains(&format!("{}  1\n", urn(&id))) && table.ends_with("1 result\n"), "{table}");
    let graph = answer(&format!("{prefix}CONSTRUCT WHERE {{ ?d wg:outcome ?o }}"), Format::Table);
    assert_eq!(graph, format!("<{}> <{AUDIT_NS}outcome> \"allow\" .\n", urn(&id)));
    assert!(answer(&format!("DESCRIBE <{}>", urn(&id)), Format::Table).lines().count() > 10);
}
