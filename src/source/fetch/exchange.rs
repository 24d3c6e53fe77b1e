//! One request and its answer, over a connection that is used for nothing else.
//!
//! hyper parses. What its answer may be is judged here: framing that has one reading, a status, a media type, a coding.

use super::body;
use super::dial::Connection;
use super::error::FetchError;
use super::place::Place;
use super::policy::{DocumentKind, FetchPolicy};
use super::validators::Validators;
use crate::source::cache::is_media_type;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::time::timeout;

const USER_AGENT: &str = concat!("writgate/", env!("CARGO_PKG_VERSION"));
/// hyper's buffer is never smaller.
const MIN_BUFFER_BYTES: usize = 8 << 10;

/// What hyper calls a head beyond its bounds.
const TOO_LARGE: &str = "message head is too large";

/// What a place answered.
pub(super) enum Answered {
    Document {
        octets: Vec<u8>,
        media_type: String,
        validators: Validators,
    },
    NotModified,
    /// A redirect, with where to where that is known.
    Redirect {
        status: u16,
        location: Option<String>,
    },
}

/// What is asked.
pub(super) struct Question<'a> {
    pub place: &'a Place,
    pub kind: DocumentKind,
    pub known: Option<&'a Validators>,
}

/// Asks, and reads the answer.
pub(super) async fn ask(
    connection: Connection,
    question: &Question<'_>,
    policy: &FetchPolicy,
) -> Result<Answered, FetchError> {
    let request = request(question)?;
    let limits = &policy.limits;
    let (mut sender, driver) = http1::Builder::new()
        .max_headers(limits.headers)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(MIN_BUFFER_BYTES))
        .handshake(TokioIo::new(connection))
        .await
        .map_err(|cause| head_error(&cause))?;
    // Driven from here and not by a task of its own, so that dropping the fetch drops the connection.
    let mut driver = Some(Box::pin(driver));
    let answer = drive(&mut driver, sender.send_request(request));
    let answer = timeout(Duration::from_secs(limits.header_seconds), answer)
        .await
        .map_err(|_| FetchError::HeaderTimeout)?
        .map_err(|cause| head_error(&cause))?;
    let head = Head::of(&answer, question)?;
    let (octets_bound, decoded_bound) = policy.body_bounds(question.kind);
    match head {
        Head::NotModified => Ok(Answered::NotModified),
        Head::Redirect { status, location } => Ok(Answered::Redirect { status, location }),
        Head::Document { media_type, validators, gzip, length } => {
            let octets = read(&mut driver, answer.into_body(), length, octets_bound).await?;
            let octets = if gzip { body::decompress(&octets, decoded_bound)? } else { octets };
            Ok(Answered::Document { octets, media_type, validators })
        }
    }
}

/// GET, for this connection only. The coding asked for is none: what is fetched is small, and what is not compressed is
/// no bomb. Stores that hold a document compressed send it so whatever is asked, so one GZIP is read all the same.
fn request(question: &Question<'_>) -> Result<Request<Empty<Bytes>>, FetchError> {
    let place = question.place;
    let mut request = Request::builder()
        .method("GET")
        .uri(place.target.as_str())
        .header(header::HOST, place.authority.as_str())
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::ACCEPT, question.kind.accept())
        .header(header::ACCEPT_ENCODING, "identity")
        .header(header::CONNECTION, "close");
    let validators: [(HeaderName, Option<&String>); 2] = [
        (header::IF_NONE_MATCH, question.known.and_then(|known| known.etag.as_ref())),
        (header::IF_MODIFIED_SINCE, question.known.and_then(|known| known.last_modified.as_ref())),
    ];
    for (name, value) in validators {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    // A target in normal form is one of hyper's too; if not, it is not asked for.
    request.body(Empty::new()).map_err(|_| FetchError::NotADocumentUrl)
}

/// What the head of an answer says.
enum Head {
    Document { media_type: String, validators: Validators, gzip: bool, length: Option<usize> },
    NotModified,
    Redirect { status: u16, location: Option<String> },
}

impl Head {
    fn of(answer: &Response<Incoming>, question: &Question<'_>) -> Result<Self, FetchError> {
        let headers = answer.headers();
        let length = framing(headers)?;
        let status = answer.status();
        match status {
            StatusCode::OK => Ok(Self::Document {
                media_type: media_type(headers)?,
                validators: Validators::of(
                    &texts(headers, header::ETAG),
                    &texts(headers, header::LAST_MODIFIED),
                ),
                gzip: is_gzip(headers)?,
                length,
            }),
            StatusCode::NOT_MODIFIED => match question.known {
                Some(known) if !known.is_empty() => Ok(Self::NotModified),
                _ => Err(FetchError::NotModifiedUnasked),
            },
            StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT => {
                let location = match values(headers, header::LOCATION).as_slice() {
                    [location] => location.to_str().ok().map(str::to_owned),
                    _ => None,
                };
                Ok(Self::Redirect { status: status.as_u16(), location })
            }
            other => Err(FetchError::Status { status: other.as_u16() }),
        }
    }
}

/// Where the body ends: at one length, at the end of chunks and nothing else, or with the connection. hyper would let
/// chunks override a length; two readings are none here.
fn framing(headers: &HeaderMap) -> Result<Option<usize>, FetchError> {
    let lengths = values(headers, header::CONTENT_LENGTH);
    let codings = values(headers, header::TRANSFER_ENCODING);
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(None),
        ([length], []) => match length.to_str().ok().and_then(|length| length.parse::<u64>().ok()) {
            // What does not fit is larger than every bound.
            Some(length) => Ok(Some(usize::try_from(length).unwrap_or(usize::MAX))),
            None => Err(FetchError::FramingAmbiguous),
        },
        ([], [coding]) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(None),
        _ => Err(FetchError::FramingAmbiguous),
    }
}

fn media_type(headers: &HeaderMap) -> Result<String, FetchError> {
    match values(headers, header::CONTENT_TYPE).as_slice() {
        [] => Err(FetchError::ContentTypeMissing),
        [value] => match value.to_str() {
            Ok(text) if is_media_type(text) => Ok(text.to_owned()),
            _ => Err(FetchError::ContentTypeMalformed),
        },
        _ => Err(FetchError::ContentTypeMalformed),
    }
}

/// No coding, or one GZIP. Codings upon codings multiply what a bomb has.
fn is_gzip(headers: &HeaderMap) -> Result<bool, FetchError> {
    match values(headers, header::CONTENT_ENCODING).as_slice() {
        [] => Ok(false),
        [coding] if coding.as_bytes().eq_ignore_ascii_case(b"gzip") => Ok(true),
        _ => Err(FetchError::ContentEncodingUnsupported),
    }
}

fn values(headers: &HeaderMap, name: HeaderName) -> Vec<&HeaderValue> {
    headers.get_all(name).iter().collect()
}

/// The values of a field; one beyond ASCII counts as empty, which is no validator.
fn texts(headers: &HeaderMap, name: HeaderName) -> Vec<&str> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect()
}

/// The body's octets, as many as allowed. One that is announced to be larger is not begun.
async fn read(
    driver: &mut Option<Pin<Box<Driver>>>,
    mut incoming: Incoming,
    length: Option<usize>,
    bound: usize,
) -> Result<Vec<u8>, FetchError> {
    if length.is_some_and(|length| length > bound) {
        return Err(FetchError::BodyTooLarge);
    }
    let mut octets = Vec::new();
    while let Some(frame) = drive(driver, incoming.frame()).await {
        let frame = frame.map_err(|cause| body::error(&cause))?;
        // Trailers say nothing that is used.
        let Some(data) = frame.data_ref() else { continue };
        if data.len() > bound.saturating_sub(octets.len()) {
            return Err(FetchError::BodyTooLarge);
        }
        octets.extend_from_slice(data);
    }
    // hyper has seen to it already; what is kept here for years rests on it, so it is seen to again.
    if length.is_some_and(|length| length != octets.len()) {
        return Err(FetchError::BodyTruncated);
    }
    Ok(octets)
}

type Driver = http1::Connection<TokioIo<Connection>, Empty<Bytes>>;

/// Awaits something of a connection while the connection is driven.
async fn drive<T>(driver: &mut Option<Pin<Box<Driver>>>, awaited: impl Future<Output = T>) -> T {
    let mut awaited = pin!(awaited);
    poll_fn(|context| {
        if let Some(running) = driver
            && running.as_mut().poll(context).is_ready()
        {
            // Its error, if any, comes to whoever awaits the answer or the body too.
            *driver = None;
        }
        match awaited.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Why there is no head.
fn head_error(cause: &hyper::Error) -> FetchError {
    // The method that would say so comes with hyper's server. A test provokes it; the other reading refuses too.
    if cause.is_parse() && cause.to_string() == TOO_LARGE {
        FetchError::HeaderTooLarge
    } else if cause.is_parse() {
        FetchError::NotHttp
    } else {
        FetchError::ClosedEarly
    }
}
