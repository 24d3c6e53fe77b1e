//! What an answer renews, for each kind.

use super::*;

/// The server's word that nothing has changed, in either form.
fn unchanged(octets: &[u8], media_type: &str) -> [Result<Fetched, FetchError>; 2] {
    [Ok(Fetched::NotModified), document(media_type, octets.to_vec())]
}

#[test]
fn an_unchanged_answer_renews_a_controller_document() {
    for answer in unchanged(&did(DID), "application/did+json") {
        let world = with_controller();
        world.servers.serve(DID_URL, answer);
        let plan = plan().with_controller(DID);
        assert_eq!(world.verdict(&plan, minutes(720)), Verdict::Unchanged);
        let held = world.held(DID_URL);
        assert_eq!((held.retrieved, held.confirmed), (noon(), minutes(720)));
        let state = state(&held, &plan);
        assert_eq!(
            (state.kind, state.good_until),
            (Some(DocumentKind::Controller), Some(minutes(720 + 1440)))
        );
        assert_eq!(world.verdict(&plan, minutes(1439)), Verdict::Fresh);
    }
}

#[test]
fn an_unchanged_answer_renews_no_status_list() {
    for answer in unchanged(&list(0, 0), "application/vc") {
        let world = with_list();
        world.servers.serve(LIST, answer);
        for minute in [30, 59, 61, 1000] {
            assert_eq!(world.verdict(&plan_of_list(), minutes(minute)), Verdict::Unchanged);
            let held = world.held(LIST);
            assert_eq!((held.retrieved, held.confirmed), (noon(), minutes(minute)));
            let state = state(&held, &plan());
            assert_eq!((state.kind, state.good_until), (Some(DocumentKind::StatusList), Some(minutes(60))));
        }
    }
}

#[test]
fn a_list_of_a_later_valid_from_begins_a_new_life() {
    let world = with_list();
    world.servers.serve(LIST, vc(list(20, 0)));
    assert_eq!(world.verdict(&plan_of_list(), minutes(30)), Verdict::Stored);
    assert_eq!(world.held(LIST).retrieved, minutes(30));
    assert_eq!(world.held(LIST).octets, list(20, 0));
}

#[test]
fn another_list_of_the_same_valid_from_takes_the_place_and_lives_no_longer() {
    let world = with_list();
    let revoked = list(0, 0x80);
    world.servers.serve(LIST, vc(revoked.clone()));
    assert_eq!(world.verdict(&plan_of_list(), minutes(30)), Verdict::Stored);
    let held = world.held(LIST);
    assert_eq!((held.retrieved, held.confirmed, held.octets), (noon(), minutes(30), revoked));
}

#[test]
fn a_list_says_itself_how_long_it_lives_where_that_is_shorter() {
    // Not signed: nobody looks at the signature here.
    let text = String::from_utf8(list(0, 0)).unwrap();
    let text = text.replacen("\"statusPurpose\"", "\"ttl\":600000,\"statusPurpose\"", 1);
    let world = World::new();
    world.servers.serve(LIST, vc(text.into_bytes()));
    assert_eq!(world.verdict(&plan_of_list(), noon()), Verdict::Stored);
    assert_eq!(state(&world.held(LIST), &plan()).good_until, Some(minutes(10)));
    assert_eq!(world.verdict(&plan_of_list(), minutes(4)), Verdict::Fresh);
    assert_eq!(world.verdict(&plan_of_list(), minutes(5)), Verdict::Unchanged);
}

#[test]
fn other_octets_of_a_controller_begin_a_new_life() {
    let world = with_controller();
    let other = json!({ "id": DID, "assertionMethod": [] }).to_string().into_bytes();
    world.servers.serve(DID_URL, document("application/did+json", other.clone()));
    assert_eq!(world.verdict(&plan().with_controller(DID), minutes(720)), Verdict::Stored);
    let held = world.held(DID_URL);
    assert_eq!((held.retrieved, held.octets), (minutes(720), other));
}

#[test]
fn what_a_person_put_here_is_kept_up_to_date_and_stays_theirs() {
    let world = World::new();
    let added = CachedDocument::new(LIST, "application/vc", noon(), list(0, 0));
    world.cache.put(&added).unwrap();
    world.servers.serve(LIST, vc(list(20, 0)));
    assert_eq!(world.verdict(&plan(), minutes(29)), Verdict::Fresh, "nobody's papers name it");
    assert_eq!(world.verdict(&plan(), minutes(30)), Verdict::Stored);
    assert_eq!(world.servers.asked()[0].2, None, "a person gave no validators");
    assert_eq!(world.held(LIST).origin, Origin::Added);
    world.servers.serve(LIST, Err(FetchError::ConnectTimeout));
    assert!(world.verdict(&plan(), minutes(60 * 24 * 30)).is_failure());
    assert_eq!(world.held(LIST).octets, list(20, 0));
}

#[test]
fn what_was_fetched_goes_when_nothing_wants_it_and_it_is_stale() {
    let world = with_list();
    assert_eq!(world.refresh(&plan(), minutes(60)).documents, []);
    assert_eq!(world.held(LIST).octets, list(0, 0));
    assert_eq!(world.verdict(&plan(), minutes(61)), Verdict::Dropped);
    assert_eq!(world.cache.documents().unwrap(), []);
    let world = with_controller();
    assert_eq!(world.refresh(&plan(), minutes(1440)).documents, []);
    assert_eq!(world.verdict(&plan(), minutes(1441)), Verdict::Dropped);
    assert_eq!(world.servers.asked(), []);
    // What a person put here stays, however old.
    let added = CachedDocument::new(DID_URL, "application/json", noon(), did(DID));
    world.cache.put(&added).unwrap();
    assert_eq!(world.refresh(&plan(), noon() + TimeDelta::days(1000)).documents, []);
    assert_eq!(world.held(DID_URL), added);
}

#[test]
fn the_controllers_of_a_configured_host_that_are_held_are_kept_up_to_date() {
    let world = with_controller();
    world.servers.serve(DID_URL, Ok(Fetched::NotModified));
    let here = plan().with_controller_host("organisation.example");
    assert_eq!(world.verdict(&here, minutes(720)), Verdict::Unchanged);
    let elsewhere = plan().with_controller_host("other.example");
    assert_eq!(world.refresh(&elsewhere, minutes(1440)).documents, []);
}

#[test]
fn refreshes_at_one_time_end_with_the_newest() {
    let world = World::new();
    std::thread::scope(|scope| {
        for minute in 0..6 {
            let cache = DocumentCache::open(&world.folder).unwrap();
            scope.spawn(move || {
                let servers = Servers::default();
                servers.serve(LIST, vc(list(minute, 0)));
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let servers = Arc::new(servers) as Arc<dyn Retrieve>;
                let all = plan_of_list().asking_for_all(true);
                let report =
                    runtime.block_on(refresh_with(servers, &cache, &all, minutes(minute), MAX_TIME)).unwrap();
                let verdict = &report.documents[0].verdict;
                assert!(matches!(verdict, Verdict::Stored | Verdict::RolledBack), "{verdict:?}");
            });
        }
    });
    let held = world.held(LIST);
    assert_eq!((held.octets, held.retrieved), (list(5, 0), minutes(5)));
}
