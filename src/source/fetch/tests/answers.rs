//! Heads of answers: what is HTTP, what is a document, and what is too much.

use super::super::testing::{Server, Step, answer, document, limits, run, send};
use super::super::{DocumentKind, FetchError, FetchLimits, Fetched, Validators};

const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// What a fetch of one scripted answer ends with.
fn got(steps: Vec<Step>) -> Result<Fetched, FetchError> {
    asked(steps, None).0
}

/// The same with what is known, and the request.
fn asked(steps: Vec<Step>, known: Option<&Validators>) -> (Result<Fetched, FetchError>, String) {
    run(async {
        let server = Server::new(move |_| steps.clone()).await;
        let fetcher = server.fetcher(server.policy());
        let got = fetcher.get(&server.url("/d"), DocumentKind::StatusList, known).await;
        (got, server.requests().pop().unwrap_or_default())
    })
}

fn raw(text: &str) -> Vec<Step> {
    vec![send(text)]
}

#[test]
fn no_status_but_200_is_a_document() {
    for status in [
        201, 202, 203, 204, 205, 206, 226, 299, 300, 305, 306, 400, 401, 403, 404, 407, 410, 429, 500, 503,
        999,
    ] {
        let steps = answer(&format!("{status} Whatever"), "Content-Type: text/turtle\r\n", "good");
        assert_eq!(got(steps), Err(FetchError::Status { status }), "{status}");
    }
    // Another protocol on the same connection is not taken up.
    let switched = raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n");
    assert_eq!(got(switched), Err(FetchError::Status { status: 101 }));
}

#[test]
fn an_interim_answer_is_passed_over() {
    let mut steps = raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    steps.extend(document("good"));
    assert!(got(steps).is_ok());
}

#[test]
fn not_modified_is_an_answer_only_to_who_asked() {
    let not_modified = || raw("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n");
    assert_eq!(got(not_modified()), Err(FetchError::NotModifiedUnasked));
    let nothing = Validators::default();
    assert_eq!(asked(not_modified(), Some(&nothing)).0, Err(FetchError::NotModifiedUnasked));
    let known = Validators { etag: Some("\"a\"".into()), last_modified: Some(DATE.into()) };
    let (got, request) = asked(not_modified(), Some(&known));
    assert_eq!(got, Ok(Fetched::NotModified));
    assert!(request.contains("if-none-match: \"a\"\r\n"), "{request}");
    assert!(request.contains(&format!("if-modified-since: {DATE}\r\n")), "{request}");
    for known in [
        Validators { etag: Some("W/\"a\"".into()), last_modified: None },
        Validators { etag: None, last_modified: Some(DATE.into()) },
    ] {
        assert_eq!(asked(not_modified(), Some(&known)).0, Ok(Fetched::NotModified));
    }
}

#[test]
fn a_document_comes_with_its_validators() {
    let fields = format!("Content-Type: application/vc\r\nETag: W/\"b\"\r\nLast-Modified: {DATE}\r\n");
    let known = Validators { etag: Some("\"a\"".into()), last_modified: None };
    let Ok(Fetched::Document { octets, media_type, validators }) =
        asked(answer("200 OK", &fields, "{}"), Some(&known)).0
    else {
        panic!("no document")
    };
    assert_eq!((octets.as_slice(), media_type.as_str()), (&b"{}"[..], "application/vc"));
    assert_eq!(validators, Validators { etag: Some("W/\"b\"".into()), last_modified: Some(DATE.into()) });
}

#[test]
fn a_validator_that_could_not_be_sent_back_is_left_out() {
    for fields in
        ["ETag: a\r\n", "ETag: \"a\"\r\nETag: \"b\"\r\n", "ETag: \"\u{e4}\"\r\n", "Last-Modified: now\r\n"]
    {
        let steps = answer("200 OK", &format!("Content-Type: text/turtle\r\n{fields}"), "good");
        let Ok(Fetched::Document { validators, .. }) = got(steps) else { panic!("no document: {fields}") };
        assert_eq!(validators, Validators::default(), "{fields}");
    }
}

#[test]
fn a_document_has_one_bounded_media_type() {
    assert_eq!(got(answer("200 OK", "", "good")), Err(FetchError::ContentTypeMissing));
    let parameter =
        |length: usize| format!("text/turtle; a={}", "b".repeat(length - "text/turtle; a=".len()));
    for value in [
        "".to_owned(),
        "text".into(),
        "text/".into(),
        "/turtle".into(),
        "text/tur tle".into(),
        "text/turtle, text/html".into(),
        "text/t\u{fc}rtle".into(),
        "text/turtle\r\nContent-Type: text/html".into(),
        "text/turtle\r\nContent-Type: text/turtle".into(),
        parameter(257),
        parameter(9_000),
    ] {
        let steps = answer("200 OK", &format!("Content-Type: {value}\r\n"), "good");
        assert_eq!(got(steps), Err(FetchError::ContentTypeMalformed), "{value}");
    }
    for value in ["text/turtle; charset=utf-8", "application/did+ld+json", parameter(256).as_str()] {
        let steps = answer("200 OK", &format!("Content-Type: {value}\r\n"), "good");
        let Ok(Fetched::Document { media_type, .. }) = got(steps) else { panic!("no document: {value}") };
        assert_eq!(media_type, value);
    }
}

#[test]
fn what_is_not_http_is_not_read() {
    for text in [
        // HTTP/0.9 has no head at all.
        "<html>good</html>\r\n",
        "good",
        "HTTP/0.9 200 OK\r\nContent-Type: text/turtle\r\n\r\ngood",
        "HTTP/2.0 200 OK\r\nContent-Type: text/turtle\r\n\r\ngood",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type : text/turtle\r\n\r\n",
        "HTTP/1.1 200 OK\r\n Content-Type: text/turtle\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno field\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: four\r\n\r\ngood",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ngood",
        "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\ngood",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\ngood",
        "\x16\x03\x01\x02\0\x01\0\x01",
        "SSH-2.0-OpenSSH_9.9\r\n",
    ] {
        assert_eq!(got(raw(text)), Err(FetchError::NotHttp), "{text:?}");
    }
}

#[test]
fn an_answer_says_in_one_way_where_its_body_ends() {
    for fields in [
        "Content-Length: 4\r\nContent-Length: 4\r\n",
        "Content-Length: 4, 4\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
    ] {
        let text =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n{fields}\r\n4\r\ngood\r\n0\r\n\r\n");
        let got = got(raw(&text));
        // hyper refuses some of them itself.
        assert!(matches!(got, Err(FetchError::FramingAmbiguous | FetchError::NotHttp)), "{fields}: {got:?}");
    }
    for fields in
        ["Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n"]
    {
        let text =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n{fields}\r\n4\r\ngood\r\n0\r\n\r\n");
        assert_eq!(got(raw(&text)), Err(FetchError::FramingAmbiguous), "{fields}");
    }
}

#[test]
fn a_connection_that_ends_before_the_head_has_no_answer() {
    for steps in
        [vec![], vec![Step::Cut], raw("HTTP/1.1 200 OK\r\nContent-"), vec![send("HTTP/1.1 2"), Step::Cut]]
    {
        assert_eq!(got(steps.clone()), Err(FetchError::ClosedEarly), "{steps:?}");
    }
}

#[test]
fn fields_are_bounded_in_number() {
    let fields = |count: usize| -> String {
        (0..count).map(|index| format!("X-{index}: a\r\n")).collect::<String>()
            + "Content-Type: text/turtle\r\n"
    };
    let bound = FetchLimits::default().headers;
    // Beside these, the answer has its media type and its length.
    assert!(got(answer("200 OK", &fields(bound - 2), "good")).is_ok());
    assert_eq!(got(answer("200 OK", &fields(bound - 1), "good")), Err(FetchError::HeaderTooLarge));
    assert_eq!(got(answer("200 OK", &fields(3_000), "good")), Err(FetchError::HeaderTooLarge));
}

#[test]
fn a_head_is_bounded_in_octets() {
    let bound = FetchLimits::default().header_bytes;
    let head = |length: usize| {
        let start = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Type: text/turtle\r\nX: ";
        format!("{start}{}\r\n\r\n", "a".repeat(length - start.len() - 4))
    };
    assert_eq!(head(bound).len(), bound);
    assert!(got(vec![send(head(bound)), send("good")]).is_ok());
    assert_eq!(got(vec![send(head(bound + 1)), send("good")]), Err(FetchError::HeaderTooLarge));
    // One field without an end.
    let flood = vec![send("HTTP/1.1 200 OK\r\nX: "), Step::Repeat(vec![b'a'; 16 << 10], 64 << 10)];
    assert_eq!(got(flood), Err(FetchError::HeaderTooLarge));
}

#[test]
fn a_head_may_be_bounded_below_what_hyper_reads_at_once() {
    let got = run(async {
        let server = Server::new(|_| {
            answer("200 OK", &format!("Content-Type: text/turtle\r\nX: {}\r\n", "a".repeat(500)), "good")
        })
        .await;
        server.get(server.policy().with_limits(limits(|limits| limits.header_bytes = 400))).await
    });
    assert_eq!(got, Err(FetchError::HeaderTooLarge));
}

/// What no other bound counts: heads that are each small, and never the last.
#[test]
fn a_flood_of_interim_answers_uses_up_the_allowance() {
    let interim = format!("HTTP/1.1 103 Early Hints\r\nX: {}\r\n\r\n", "a".repeat(8_000));
    let flood = vec![Step::Repeat(interim.into_bytes(), 100_000)];
    assert_eq!(got(flood), Err(FetchError::TransferTooLarge));
}
