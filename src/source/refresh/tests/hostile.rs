//! Answers that are not what they must be: what is held stays.

use super::*;

#[test]
fn an_unreachable_network_leaves_what_is_held() {
    let world = with_list();
    world.servers.serve(LIST, Err(FetchError::ConnectTimeout));
    let report = world.refresh(&plan_of_list().with_controller(DID), minutes(30));
    let problem = FetchError::ConnectTimeout.to_string();
    assert!(report.failed() && report.documents.len() == 2);
    for line in report.documents {
        assert_eq!(line.verdict, Verdict::NotFetched(problem.clone()));
    }
    assert_eq!(world.held(LIST).octets, list(0, 0));
    assert_eq!(world.held(LIST).confirmed, noon());
}

#[test]
fn a_list_with_an_earlier_valid_from_is_a_step_back_and_is_not_taken() {
    let world = with_list();
    world.servers.serve(LIST, vc(list(-1, 0)));
    assert_eq!(world.verdict(&plan_of_list(), minutes(30)), Verdict::RolledBack);
    let undated = String::from_utf8(list(0, 0)).unwrap().replacen("\"validFrom\"", "\"description\"", 1);
    world.servers.serve(LIST, vc(undated.into_bytes()));
    assert_eq!(world.verdict(&plan_of_list(), minutes(30)), Verdict::RolledBack);
    let held = world.held(LIST);
    assert_eq!((held.octets, held.confirmed), (list(0, 0), noon()));
}

#[test]
fn a_list_that_is_not_valid_yet_does_not_stand_in_the_way_of_the_next() {
    let world = with_list();
    world.servers.serve(LIST, vc(list(60, 0)));
    let unfit = world.verdict(&plan_of_list(), minutes(30));
    assert!(matches!(&unfit, Verdict::Unfit(detail) if detail.contains("not valid yet")), "{unfit:?}");
    world.servers.serve(LIST, vc(list(31, 0)));
    assert_eq!(world.verdict(&plan_of_list(), minutes(30)), Verdict::Stored, "within the skew");
}

#[test]
fn what_is_no_list_of_its_url_and_issuer_is_not_stored() {
    let other = SigningKey::from_seed([8; 32]);
    for (words, answer) in [
        ("another one", vc(list_of(&key(), "https://issuer.example/status/2", 10, 0))),
        ("another issuer", vc(list_of(&other, LIST, 10, 0))),
        ("media type", document("text/html", list(10, 0))),
        ("JSON", vc(b"<html>".to_vec())),
        ("UTF-8", vc(vec![0xff])),
        (
            "no BitstringStatusListCredential",
            vc({
                let text = String::from_utf8(list(10, 0)).unwrap();
                text.replacen(",\"BitstringStatusListCredential\"", "", 1).into_bytes()
            }),
        ),
        (
            "GZIP",
            vc({
                let text = String::from_utf8(list(10, 0)).unwrap();
                text.replacen("\"encodedList\":\"uH4", "\"encodedList\":\"uAAA", 1).into_bytes()
            }),
        ),
        ("context-free", document("text/turtle", graph("1"))),
    ] {
        let world = with_list();
        world.servers.serve(LIST, answer);
        let verdict = world.verdict(&plan_of_list(), minutes(30));
        assert!(matches!(&verdict, Verdict::Unfit(detail) if detail.contains(words)), "{words}: {verdict:?}");
        assert_eq!(world.held(LIST).octets, list(0, 0), "{words}");
    }
}

#[test]
fn what_is_no_document_of_the_controller_is_not_stored() {
    for (words, answer) in [
        ("another controller's", document("application/did+json", did("did:web:other.example"))),
        ("no `id`", document("application/json", b"{}".to_vec())),
        ("no `id`", document("application/json", b"[]".to_vec())),
        ("media type", document("text/html", did(DID))),
        ("media type", document("text/turtle", graph("1"))),
        ("well-formed", document("application/json", b"<html>".to_vec())),
        ("UTF-8", document("application/json", vec![0xff])),
        (
            "twice",
            document("application/json", format!("{{\"id\":\"{DID}\",\"id\":\"{DID}\"}}").into_bytes()),
        ),
        ("another controller's", document("application/vc+json", list_of(&key(), DID_URL, 0, 0))),
    ] {
        let world = with_controller();
        world.servers.serve(DID_URL, answer);
        let verdict = world.verdict(&plan().with_controller(DID), minutes(720));
        let Verdict::Unfit(detail) = &verdict else { panic!("{words}: {verdict:?}") };
        assert!(detail.contains(words) || words == "twice", "{words}: {detail}");
        assert_eq!(world.held(DID_URL).octets, did(DID), "{words}");
        assert_eq!(world.held(DID_URL).confirmed, noon());
    }
}

#[test]
fn nothing_changed_of_what_was_not_asked_about_is_no_answer() {
    let world = World::new();
    for url in [LIST, DID_URL, PROTOCOL] {
        world.servers.serve(url, Ok(Fetched::NotModified));
    }
    let plan = plan_of_list().with_controller(DID).with_protocol(PROTOCOL, hash(&graph("1")));
    let report = world.refresh(&plan, noon());
    assert!(report.documents.iter().all(|line| matches!(line.verdict, Verdict::NotFetched(_))), "{report:?}");
    assert_eq!(world.cache.documents().unwrap(), []);
    // What a person put here has no validators, so no answer to them either.
    world.cache.put(&CachedDocument::new(LIST, "application/vc", noon(), list(0, 0))).unwrap();
    assert!(world.verdict(&plan_of_list(), minutes(30)).is_failure());
    assert_eq!(world.held(LIST).confirmed, noon());
}

#[test]
fn what_is_held_and_unfit_is_asked_for_whole() {
    let world = World::new();
    for (url, media_type, octets) in [
        (LIST, "application/vc", list_of(&SigningKey::from_seed([8; 32]), LIST, 0, 0)),
        (DID_URL, "application/json", did("did:web:other.example")),
    ] {
        let held = CachedDocument {
            validators: Validators { etag: Some(ETAG.into()), last_modified: None },
            origin: Origin::Fetched,
            ..CachedDocument::new(url, media_type, noon(), octets)
        };
        world.cache.put(&held).unwrap();
    }
    let plan = plan_of_list().with_controller(DID);
    world.servers.serve(LIST, vc(list(0, 0)));
    world.servers.serve(DID_URL, document("application/json", did(DID)));
    assert!(!world.refresh(&plan, noon()).failed());
    assert!(world.servers.asked().iter().all(|(_, _, known)| known.is_none()));
    assert_eq!((world.held(LIST).octets, world.held(DID_URL).octets), (list(0, 0), did(DID)));
}

#[test]
fn a_list_is_never_put_where_a_controllers_document_is() {
    let wants = || ListKey { issuer: key().controller().to_owned(), url: DID_URL.to_owned() };
    let list = || document("application/vc", list_of(&key(), DID_URL, 0, 0));
    // Configured, or only held.
    let world = with_controller();
    world.servers.serve(DID_URL, list());
    let report = world.refresh(&plan().with_controller(DID).with_list(wants()), minutes(720));
    assert!(report.documents.len() == 2 && report.documents.iter().all(|line| line.verdict.is_failure()));
    let verdict = world.verdict(&plan().with_list(wants()), minutes(720));
    assert!(matches!(&verdict, Verdict::Unfit(detail) if detail.contains("controller's")), "{verdict:?}");
    assert_eq!(world.held(DID_URL).octets, did(DID));
    // Or not even held yet.
    let empty = World::new();
    empty.servers.serve(DID_URL, list());
    let report = empty.refresh(&plan().with_controller(DID).with_list(wants()), noon());
    assert!(report.documents.iter().all(|line| line.verdict.is_failure()), "{report:?}");
    assert_eq!(empty.cache.documents().unwrap(), []);
    // Or another one that a person put there.
    let added = CachedDocument::new(LIST, "text/turtle", noon(), graph("1"));
    world.cache.put(&added).unwrap();
    world.servers.serve(LIST, vc(super::list(0, 0)));
    let report = world.refresh(&plan_of_list(), minutes(720));
    assert!(matches!(report.documents[0].verdict, Verdict::Unfit(_)), "{report:?}");
    assert_eq!(world.held(LIST), added);
    // Or put there while the list was on its way.
    let document =
        CachedDocument::new(DID_URL, "application/vc", minutes(720), list_of(&key(), DID_URL, 0, 0));
    let plan = plan();
    let mut refresh = Refresh { cache: &world.cache, plan: &plan, now: minutes(720), documents: Vec::new() };
    let verdict = refresh.list(document, &[key().controller().to_owned()].into());
    assert!(matches!(&verdict, Verdict::Unfit(detail) if detail.contains("controller's")), "{verdict:?}");
}

#[test]
fn validators_that_cannot_be_sent_back_are_dropped_and_the_document_is_not() {
    let world = World::new();
    let validators = Validators { etag: Some(format!("\"{}\"", "1".repeat(10_000))), last_modified: None };
    let octets = list(0, 0);
    world
        .servers
        .serve(LIST, Ok(Fetched::Document { octets, media_type: "application/vc".into(), validators }));
    assert_eq!(world.verdict(&plan_of_list(), noon()), Verdict::Stored);
    assert_eq!(world.held(LIST).validators, Validators::default());
    world.servers.asked();
    assert_eq!(world.verdict(&plan_of_list(), minutes(30)), Verdict::Unchanged);
    assert_eq!(world.servers.asked()[0].2, None);
}

#[test]
fn a_confirmation_is_of_what_was_asked_about() {
    let world = with_controller();
    let asked = world.held(DID_URL);
    let job = Job {
        url: DID_URL.to_owned(),
        want: Want::Controller([DID.to_owned()].into()),
        held: Some(asked.clone()),
        is_served: true,
    };
    let plan = plan();
    let confirm = |now| {
        let mut refresh = Refresh { cache: &world.cache, plan: &plan, now, documents: Vec::new() };
        refresh.take(&job, Ok(Fetched::NotModified));
        refresh.documents.remove(0).verdict
    };
    // Another process put another document there meanwhile.
    let other = json!({ "id": DID }).to_string().into_bytes();
    let other =
        CachedDocument { octets: other, retrieved: minutes(1), confirmed: minutes(1), ..asked.clone() };
    world.cache.put(&other).unwrap();
    assert_eq!(confirm(minutes(720)), Verdict::Unchanged);
    assert_eq!(world.held(DID_URL), other, "as that process left it");
    world.cache.remove(&other).unwrap();
    assert!(confirm(minutes(720)).is_failure());
    assert_eq!(world.cache.documents().unwrap(), []);
}

#[test]
fn a_fetch_that_ends_in_a_panic_ends_no_other() {
    let world = World::new();
    world.servers.serve(LIST, vc(list(0, 0)));
    let plan = plan_of_list().with_list(ListKey { url: "https://panic.example/".into(), ..wants_list() });
    let report = world.refresh(&plan, noon());
    let verdicts: Vec<_> = report.documents.iter().map(|line| line.verdict.as_str()).collect();
    assert_eq!(verdicts, ["STORED", "NOT_FETCHED"]);
}

#[test]
fn lists_that_nobody_serves_do_not_keep_one_that_is_served_waiting() {
    let world = with_list();
    let list = |url: String| ListKey { issuer: key().controller().to_owned(), url };
    let plan =
        (0..100).fold(plan_of_list(), |plan, n| plan.with_list(list(format!("https://a{n}.example/"))));
    world.refresh(&plan, minutes(30));
    let asked = world.servers.asked();
    assert_eq!((asked.len(), asked[0].0.as_str()), (101, LIST));
    // And no URL chooses its place among the others.
    let hosts = |asked: &[Asked]| asked[1..9].iter().map(|(url, ..)| url.clone()).collect::<Vec<_>>();
    let before = hosts(&asked);
    world.refresh(&plan, minutes(31));
    assert_ne!(hosts(&world.servers.asked()), before);
}

#[test]
fn a_refresh_that_nobody_answers_comes_to_its_end() {
    let world = with_list();
    let plan = plan_of_list().with_controller(DID);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let servers = Arc::clone(&world.servers) as Arc<dyn Retrieve>;
    let over = Duration::ZERO;
    let report = runtime.block_on(refresh_with(servers, &world.cache, &plan, minutes(30), over)).unwrap();
    assert_eq!(report.documents.len(), 2);
    assert!(
        report.documents.iter().all(|line| matches!(line.verdict, Verdict::NotFetched(_))) && report.failed()
    );
    assert_eq!(world.servers.asked(), []);
    assert_eq!(world.held(LIST).octets, list(0, 0));
}

#[test]
fn what_was_fetched_while_a_clock_was_ahead_is_fetched_again() {
    let world = World::new();
    world.servers.serve(LIST, vc(list(0, 0)));
    world.servers.serve(DID_URL, document("application/did+json", did(DID)));
    let plan = plan_of_list().with_controller(DID);
    assert!(!world.refresh(&plan, minutes(100_000)).failed());
    assert!(!world.refresh(&plan, noon()).failed());
    for url in [LIST, DID_URL] {
        let held = world.held(url);
        assert_eq!((held.retrieved, held.confirmed), (noon(), noon()), "{url}");
    }
    // A person's word on when something was retrieved is not the refresh's to take back.
    let added = CachedDocument::new("https://a.example/", "text/plain", minutes(100_000), b"x".to_vec());
    world.cache.put(&added).unwrap();
    world.refresh(&plan, noon());
    assert_eq!(world.held(&added.url), added);
}

#[test]
fn a_list_that_comes_as_json_ld_is_a_list_and_no_controllers_document() {
    // At a host of which controllers are kept up to date, too.
    for plan in [plan_of_list(), plan_of_list().with_controller_host("issuer.example")] {
        let world = World::new();
        world.servers.serve(LIST, document("application/ld+json", list(0, 0)));
        world.verdict(&plan, noon());
        assert_eq!(state(&world.held(LIST), &plan).kind, Some(DocumentKind::StatusList));
        assert_eq!(world.verdict(&plan, minutes(30)), Verdict::Unchanged);
        world.servers.serve(LIST, document("application/ld+json", list(-1, 0)));
        assert_eq!(world.verdict(&plan, minutes(45)), Verdict::RolledBack);
        assert_eq!(world.held(LIST).retrieved, noon());
        world.servers.serve(LIST, document("application/ld+json", list(60, 0)));
        assert_eq!(world.verdict(&plan, minutes(60)), Verdict::Stored);
    }
}
