//! Protocol Documents: the operator's, and those that peers offered.

use super::*;
use crate::source::OfferedDocument;

fn hosts() -> FetchHosts {
    let mut hosts = FetchHosts::none();
    assert!(hosts.add("protocols.example"));
    hosts
}

fn offer(octets: &[u8]) -> OfferedDocument {
    OfferedDocument { url: PROTOCOL.to_owned(), hash: hash(octets), offered: noon() }
}

fn offering(octets: &[u8]) -> World {
    let world = World::new();
    world.cache.queue_offer(&offer(octets)).unwrap();
    world
}

#[test]
fn a_document_that_does_not_hash_to_its_pin_is_not_stored() {
    let world = World::new();
    let (one, two) = (graph("1"), graph("2"));
    world.servers.serve(PROTOCOL, document("text/turtle", two.clone()));
    let plan = plan().with_protocol(PROTOCOL, hash(&one));
    let report = world.refresh(&plan, noon());
    assert_eq!(report.documents[0].verdict, Verdict::HashMismatch { found: hash(&two) });
    assert!(report.failed());
    assert_eq!(world.cache.pins().unwrap(), []);
    // Before it was looked at as anything else: it need not be a Protocol Document to be refused, nor to be kept.
    world.servers.serve(PROTOCOL, document("text/html", one));
    assert!(matches!(world.verdict(&plan, noon()), Verdict::Unfit(_)));
}

#[test]
fn a_pinned_document_that_was_altered_is_fetched_again() {
    let world = World::new();
    let one = graph("1");
    world.servers.serve(PROTOCOL, document("text/turtle", one.clone()));
    let plan = plan().with_protocol(PROTOCOL, hash(&one));
    assert_eq!(world.verdict(&plan, noon()), Verdict::Stored);
    assert_eq!(world.verdict(&plan, minutes(1_000_000)), Verdict::Fresh, "a pin does not age");
    let name = format!("{}.protocol", hash(&one).as_str().trim_start_matches("sha256:"));
    std::fs::write(world.folder.join(name), "altered").unwrap();
    assert_eq!(world.verdict(&plan, noon()), Verdict::Stored);
    assert_eq!(world.cache.pinned(&hash(&one)).unwrap().unwrap().octets, one);
}

#[test]
fn an_offer_is_fetched_kept_under_its_hash_and_forgotten() {
    let one = graph("1");
    let world = offering(&one);
    world.servers.serve(PROTOCOL, document("text/turtle", one.clone()));
    let plan = plan().with_offers_from(hosts());
    let report = world.refresh(&plan, noon());
    assert!(report.documents[0].offered && report.documents[0].verdict == Verdict::Stored);
    assert_eq!(world.cache.offered().unwrap(), []);
    assert_eq!(world.cache.pinned(&hash(&one)).unwrap().unwrap().octets, one);
    world.servers.asked();
    world.cache.queue_offer(&offer(&one)).unwrap();
    assert_eq!(world.refresh(&plan, noon()).documents, []);
    assert_eq!(world.servers.asked(), []);
    assert_eq!(world.cache.offered().unwrap(), [], "it is here");
}

#[test]
fn an_offer_that_fails_raises_no_alarm_and_is_not_kept_for_ever() {
    let world = offering(&graph("1"));
    let plan = plan().with_offers_from(hosts());
    let report = world.refresh(&plan, noon());
    assert!(matches!(report.documents[0].verdict, Verdict::NotFetched(_)) && !report.failed());
    assert_eq!(world.cache.offered().unwrap().len(), 1, "the network may come back");
    world.servers.asked();
    assert_eq!(world.refresh(&plan, noon() + TimeDelta::days(8)).documents, []);
    assert_eq!((world.servers.asked(), world.cache.offered().unwrap()), (vec![], vec![]));
    let world = offering(&graph("1"));
    world.servers.serve(PROTOCOL, document("text/turtle", graph("2")));
    let report = world.refresh(&plan, noon());
    assert!(matches!(report.documents[0].verdict, Verdict::HashMismatch { .. }) && !report.failed());
    assert_eq!(world.cache.offered().unwrap(), [], "it was judged");
}

#[test]
fn an_offer_of_a_host_that_is_no_longer_allowed_is_forgotten() {
    let world = offering(&graph("1"));
    assert_eq!(world.refresh(&plan(), noon()).documents, []);
    assert_eq!((world.servers.asked(), world.cache.offered().unwrap()), (vec![], vec![]));
}

#[test]
fn an_offer_takes_nothing_from_the_operators_document_at_the_same_url() {
    let (ours, theirs) = (graph("1"), graph("2"));
    let world = offering(&theirs);
    world.servers.serve(PROTOCOL, document("text/turtle", ours.clone()));
    let plan = plan().with_offers_from(hosts()).with_protocol(PROTOCOL, hash(&ours));
    let report = world.refresh(&plan, noon());
    assert_eq!(world.servers.asked().len(), 1, "one URL is asked once");
    let verdicts: BTreeMap<_, _> =
        report.documents.iter().map(|line| (line.offered, line.verdict.clone())).collect();
    assert_eq!(verdicts[&false], Verdict::Stored);
    assert_eq!(verdicts[&true], Verdict::HashMismatch { found: hash(&ours) });
    assert!(!report.failed());
    // Later the URL serves what was offered.
    world.servers.serve(PROTOCOL, document("text/turtle", theirs.clone()));
    world.cache.queue_offer(&offer(&theirs)).unwrap();
    assert!(!world.refresh(&plan, noon()).failed());
    for octets in [ours, theirs] {
        assert_eq!(world.cache.pinned(&hash(&octets)).unwrap().unwrap().octets, octets);
    }
}

#[test]
fn a_dry_run_forgets_no_offer() {
    let world = offering(&graph("1"));
    dry_run(&world.cache, &plan(), noon() + TimeDelta::days(8)).unwrap();
    assert_eq!(world.cache.offered().unwrap().len(), 1);
}

#[test]
fn what_peers_offered_never_keeps_out_the_operators_document() {
    let world = World::new();
    for n in 0..256 {
        let octets = graph(&format!("offered-{n}"));
        let offered = CachedDocument::new(PROTOCOL, "text/turtle", noon(), octets.clone());
        let offered = CachedDocument { origin: Origin::Fetched, ..offered };
        // As when the configuration named them all, which is more than peers can have kept.
        let kept = world.cache.pin_within(&offered, &hash(&octets), WantedBy::Operator, &|_| true);
        kept.unwrap();
    }
    let ours = graph("ours");
    world.servers.serve(PROTOCOL, document("text/turtle", ours.clone()));
    assert_eq!(world.verdict(&plan().with_protocol(PROTOCOL, hash(&ours)), noon()), Verdict::Stored);
    assert_eq!(world.cache.pins().unwrap().len(), 256);
}
