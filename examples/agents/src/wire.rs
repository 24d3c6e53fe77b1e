//! The octets of messages within JSON-RPC bodies, as they were sent.
//!
//! The SDK hands out messages that its own lenient reader has parsed. Writgate reads strictly, so it must see what came
//! over the wire. A member that is there twice is no body at all here, whichever of the two the SDK takes.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    params: Parameters<'a>,
}

#[derive(Deserialize)]
struct Parameters<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    result: Sent<'a>,
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task: Option<Task<'a>>,
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(borrow)]
    status: Status<'a>,
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// The message of a `SendMessage` request.
pub fn message_of_request(body: &[u8]) -> Option<Vec<u8>> {
    let request: Request<'_> = serde_json::from_slice(body).ok()?;
    Some(octets(request.params.message))
}

/// What the agent says in a response: its message, or the one in its task's status. `None` where the body is no result.
pub fn message_of_response(body: &[u8]) -> Option<Option<Vec<u8>>> {
    let response: Response<'_> = serde_json::from_slice(body).ok()?;
    let Sent { message, task } = response.result;
    Some(message.or(task.and_then(|task| task.status.message)).map(octets))
}

fn octets(value: &RawValue) -> Vec<u8> {
    value.get().as_bytes().to_vec()
}
