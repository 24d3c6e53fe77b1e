//! Bodies: how large, how long, and in what coding.

use super::super::body::decompress;
use super::super::meter::{Allowance, Metered};
use super::super::testing::{Server, Step, answer, document, limits, run, send};
use super::super::{DocumentKind, FetchError, FetchLimits, Fetched};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;
use std::sync::atomic::Ordering;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n";
/// What a Protocol Document may have.
const BOUND: usize = 256 << 10;

/// What a fetch ends with, and the octets that the server got rid of.
fn fetched(steps: Vec<Step>) -> (Result<Vec<u8>, FetchError>, usize) {
    limited(steps, limits(|_| {}))
}

fn limited(steps: Vec<Step>, limits: FetchLimits) -> (Result<Vec<u8>, FetchError>, usize) {
    run(async {
        let server = Server::new(move |_| steps.clone()).await;
        let got = server.get(server.policy().with_limits(limits)).await;
        let octets = got.map(|fetched| match fetched {
            Fetched::Document { octets, .. } => octets,
            Fetched::NotModified => panic!("not modified"),
        });
        (octets, server.seen.written.load(Ordering::SeqCst))
    })
}

fn got(steps: Vec<Step>) -> Result<Vec<u8>, FetchError> {
    fetched(steps).0
}

fn head(fields: &str) -> Step {
    send(format!("{HEAD}{fields}\r\n"))
}

fn chunked(chunks: &[&str]) -> Vec<Step> {
    let mut steps = vec![head("Transfer-Encoding: chunked\r\n")];
    steps.extend(chunks.iter().map(send));
    steps
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn coded(coding: &str, body: impl AsRef<[u8]>) -> Vec<Step> {
    answer("200 OK", &format!("Content-Type: text/turtle\r\nContent-Encoding: {coding}\r\n"), body)
}

#[test]
fn a_body_ends_with_its_length_its_chunks_or_its_connection() {
    assert_eq!(got(document("good")).unwrap(), b"good");
    assert_eq!(got(document("")).unwrap(), b"");
    assert_eq!(got(chunked(&["2\r\ngo\r\n", "2;a=b\r\nod\r\n", "0\r\n\r\n"])).unwrap(), b"good");
    assert_eq!(got(chunked(&["4\r\ngood\r\n0\r\nTrailer: a\r\n\r\n"])).unwrap(), b"good");
    assert_eq!(got(vec![head(""), send("good")]).unwrap(), b"good");
}

#[test]
fn a_body_is_bounded_on_both_sides() {
    for (length, good) in [(BOUND, true), (BOUND + 1, false)] {
        let body = vec![b'#'; length];
        let chunk = format!("{length:x}\r\n");
        for steps in [
            document(&body),
            vec![head("Transfer-Encoding: chunked\r\n"), send(chunk), send(&body), send("\r\n0\r\n\r\n")],
            vec![head(""), send(&body)],
        ] {
            let got = got(steps);
            if good {
                assert_eq!(got.map(|octets| octets.len()), Ok(length));
            } else {
                assert_eq!(got, Err(FetchError::BodyTooLarge));
            }
        }
    }
}

/// Octets that a server may get rid of into buffers of the system, beyond what is read.
const SYSTEM_BUFFERS: usize = 64 << 20;

#[test]
fn a_gigabyte_is_not_read() {
    let filler = || Step::Repeat(vec![b'#'; 64 << 10], 16 << 10);
    let chunk = format!("10000\r\n{}\r\n", "#".repeat(64 << 10));
    for steps in [
        vec![head("Content-Length: 1073741824\r\n"), filler()],
        vec![head("Content-Length: 18446744073709551613\r\n"), filler()],
        vec![head("Transfer-Encoding: chunked\r\n"), Step::Repeat(chunk.into_bytes(), 16 << 10)],
        // One chunk of that size.
        vec![head("Transfer-Encoding: chunked\r\n"), send("40000000\r\n"), filler()],
        vec![head(""), filler()],
    ] {
        let (got, written) = fetched(steps);
        assert_eq!(got, Err(FetchError::BodyTooLarge));
        assert!(written < SYSTEM_BUFFERS, "{written}");
    }
}

#[test]
fn a_length_beyond_the_bound_is_refused_before_the_body_comes() {
    let (got, _) = fetched(vec![head(&format!("Content-Length: {}\r\n", BOUND + 1)), Step::Hang]);
    assert_eq!(got, Err(FetchError::BodyTooLarge));
}

#[test]
fn a_body_that_is_shorter_than_announced_is_no_document() {
    for end in [None, Some(Step::Cut)] {
        let mut steps = vec![head("Content-Length: 5\r\n"), send("good")];
        steps.extend(end.clone());
        assert_eq!(got(steps), Err(FetchError::BodyTruncated), "{end:?}");
        let mut steps = chunked(&["5\r\ngood"]);
        steps.extend(end.clone());
        assert_eq!(got(steps), Err(FetchError::BodyTruncated), "{end:?}");
        let mut steps = chunked(&["4\r\ngood\r\n"]);
        steps.extend(end.clone());
        assert_eq!(got(steps), Err(FetchError::BodyTruncated), "{end:?}");
    }
    // A body that ends with its connection ends as TLS has it, or anybody on the way could have ended it.
    assert_eq!(got(vec![head(""), send("good"), Step::Cut]), Err(FetchError::BodyTruncated));
}

#[test]
fn what_follows_an_announced_length_is_not_read() {
    assert_eq!(got(vec![head("Content-Length: 4\r\n"), send("good and more")]).unwrap(), b"good");
    let second = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nbad";
    assert_eq!(got(vec![head("Content-Length: 4\r\n"), send("good"), send(second)]).unwrap(), b"good");
}

#[test]
fn chunks_that_are_none_are_no_document() {
    for chunks in [
        "good\r\n",
        "-1\r\n",
        "0x4\r\ngood\r\n0\r\n\r\n",
        "4\ngood\r\n0\r\n\r\n",
        "4\r\ngoods\r\n0\r\n\r\n",
        "fffffffffffffffff\r\ngood",
        "4\r\ngood\r\n0\r\nno trailer\r\n\r\n",
    ] {
        assert_eq!(got(chunked(&[chunks])), Err(FetchError::BodyMalformed), "{chunks:?}");
    }
}

/// Extensions and trailers are octets too, and part of no body.
#[test]
fn chunks_without_content_are_bounded() {
    let extension = format!("1;{}\r\n#\r\n", "a".repeat(1_000));
    let flood = vec![head("Transfer-Encoding: chunked\r\n"), Step::Repeat(extension.into_bytes(), 1 << 20)];
    let (got, written) = fetched(flood);
    assert!(matches!(got, Err(FetchError::BodyMalformed | FetchError::TransferTooLarge)), "{got:?}");
    assert!(written < SYSTEM_BUFFERS, "{written}");
    let trailers = vec![
        head("Transfer-Encoding: chunked\r\n"),
        send("4\r\ngood\r\n0\r\n"),
        Step::Repeat(b"X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".to_vec(), 1 << 20),
    ];
    let (got, written) = fetched(trailers);
    assert_eq!(got, Err(FetchError::BodyMalformed));
    assert!(written < SYSTEM_BUFFERS, "{written}");
}

/// A body of one octet in each chunk is a small body that takes many octets.
#[test]
fn what_a_connection_takes_in_all_is_bounded() {
    let crumb = Step::Repeat(b"1\r\n#\r\n".to_vec(), BOUND);
    let (got, _) = fetched(vec![head("Transfer-Encoding: chunked\r\n"), crumb, send("0\r\n\r\n")]);
    assert_eq!(got, Err(FetchError::TransferTooLarge));
}

#[test]
fn a_metered_connection_takes_exactly_its_allowance() {
    run(async {
        use tokio::io::AsyncReadExt as _;
        let allowance = Allowance::of(10);
        let octets: &[u8] = &[0; 100];
        let mut metered = Metered::new(octets, allowance.clone());
        let mut taken = vec![0; 100];
        assert_eq!(metered.read(&mut taken).await.unwrap(), 10);
        assert!(allowance.is_used_up());
        assert!(metered.read(&mut taken).await.is_err());
        // At its end, a connection that has allowance left ends.
        let allowance = Allowance::of(11);
        let mut metered = Metered::new(&octets[..10], allowance.clone());
        assert_eq!(metered.read(&mut taken).await.unwrap(), 10);
        assert_eq!(metered.read(&mut taken).await.unwrap(), 0);
        assert_eq!(allowance.left(), 1);
    });
}

#[test]
fn one_gzip_is_decompressed() {
    let text = "# a document\n".repeat(1_000);
    for coding in ["gzip", "GZIP"] {
        assert_eq!(got(coded(coding, gzip(text.as_bytes()))).unwrap(), text.as_bytes());
    }
}

#[test]
fn any_other_coding_is_refused() {
    let body = gzip(b"good");
    for coding in [
        "br",
        "zstd",
        "deflate",
        "x-gzip",
        "identity",
        "gzip, gzip",
        "gzip,identity",
        "br, gzip",
        "gzip\r\nContent-Encoding: gzip",
        "gzip\r\nContent-Encoding: br",
        "",
        "gz\u{ef}p",
    ] {
        assert_eq!(got(coded(coding, &body)), Err(FetchError::ContentEncodingUnsupported), "{coding}");
    }
}

#[test]
fn gzip_in_gzip_is_taken_apart_once() {
    let inner = gzip(&vec![0; BOUND * 4]);
    assert_eq!(got(coded("gzip", gzip(&inner))).unwrap(), inner);
}

#[test]
fn a_gzip_bomb_is_read_no_further_than_the_bound() {
    let bomb = gzip(&vec![0; 32 << 20]);
    assert!(bomb.len() < BOUND);
    assert_eq!(got(coded("gzip", &bomb)), Err(FetchError::DecodedTooLarge));
    // Nobody gets as far as to where this one is broken.
    assert_eq!(decompress(&bomb[..bomb.len() - 100], BOUND), Err(FetchError::DecodedTooLarge));
    for (length, good) in [(BOUND, true), (BOUND + 1, false)] {
        let got = got(coded("gzip", gzip(&vec![0; length])));
        assert_eq!(
            got.map(|octets| octets.len()),
            if good { Ok(length) } else { Err(FetchError::DecodedTooLarge) }
        );
    }
    // An operator's lower bound holds too, and is not the one for the transfer.
    let limits = limits(|limits| limits.decoded_bytes = 1_000);
    assert_eq!(limited(coded("gzip", gzip(&[0; 1_000])), limits.clone()).0.unwrap().len(), 1_000);
    assert_eq!(limited(coded("gzip", gzip(&[0; 1_001])), limits).0, Err(FetchError::DecodedTooLarge));
}

#[test]
fn gzip_is_one_member_and_nothing_after_it() {
    let good = gzip(b"good");
    let damaged = |at: usize| {
        let mut octets = good.clone();
        octets[at] ^= 1;
        octets
    };
    for octets in [
        vec![],
        b"good".to_vec(),
        good[..good.len() - 1].to_vec(),
        good[..10].to_vec(),
        // Magic, checksum and length.
        damaged(0),
        damaged(good.len() - 8),
        damaged(good.len() - 1),
        [good.as_slice(), &good].concat(),
        [good.as_slice(), b"\0"].concat(),
    ] {
        assert_eq!(decompress(&octets, BOUND), Err(FetchError::GzipMalformed), "{octets:?}");
    }
    assert_eq!(got(coded("gzip", "good")), Err(FetchError::GzipMalformed));
    assert_eq!(decompress(&good, BOUND).unwrap(), b"good");
}

#[test]
fn a_status_list_may_be_larger_than_a_protocol_document() {
    let body = vec![b' '; BOUND + 1];
    let steps = answer("200 OK", "Content-Type: application/vc\r\n", &body);
    let got = run(async {
        let server = Server::new(move |_| steps.clone()).await;
        server.fetcher(server.policy()).get(&server.url("/d"), DocumentKind::StatusList, None).await
    });
    assert!(matches!(got, Ok(Fetched::Document { octets, .. }) if octets == body));
}
