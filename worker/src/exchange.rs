//! One request and its answer.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body::Frame;
use http_body_util::Full;
use hyper::body::Incoming;
use reprise_contract::FailureCause;
use reprise_contract::outcome::Times;

use crate::answer::{AnswerReader, Fault, refusal_text};
use crate::clock::Clock;
use crate::connection::{Connection, Pool};
use crate::sent::OwnCount;

/// How long the end of an answer is waited for after it said that it is done.
const END_LIMIT: Duration = Duration::from_millis(100);
/// The most bytes that are read of an answer that is no success.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// What was seen of a request and its answer. It fills as things happen, so that what happened before a failure, a timeout or
/// a cancel is kept.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) times: Times,
    pub(crate) connect_ns: Option<u64>,
    pub(crate) status: Option<StatusCode>,
    pub(crate) answer_bytes: u64,
    pub(crate) reader: Option<AnswerReader>,
}

/// What is sent, and what is wanted of the answer.
pub(crate) struct Ask<'a> {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the text of the answer is wanted, for the turn after it.
    pub(crate) keep_text: bool,
    /// Where it is counted as it goes.
    pub(crate) count: &'a OwnCount,
}

/// Sends a request and reads the answer to its end.
pub(crate) async fn exchange(pool: &Pool, clock: Clock, ask: Ask<'_>, seen: &mut Seen) -> Result<(), Fault> {
    let mut connection = match pool.take_idle().await {
        Some(connection) => connection,
        None => open(pool, clock, seen).await?,
    };
    let result = talk(&mut connection, pool, clock, ask, seen).await;
    // An answer is complete when its last bytes were read; a failure, when it is known.
    let done = if result.is_ok() {
        clock.at(connection.stamps().last_read())
    } else {
        clock.now()
    };
    seen.times.done = Some(done);
    pool.give_back(connection).await;
    result
}

async fn open(pool: &Pool, clock: Clock, seen: &mut Seen) -> Result<Connection, Fault> {
    let before = clock.now();
    let connection = pool.open().await;
    let after = clock.now();
    match connection {
        Ok(connection) => {
            seen.connect_ns = Some((after - before).max(0).unsigned_abs());
            Ok(connection)
        }
        Err(fault) => {
            seen.times.done = Some(after);
            Err(fault)
        }
    }
}

async fn talk(
    connection: &mut Connection,
    pool: &Pool,
    clock: Clock,
    ask: Ask<'_>,
    seen: &mut Seen,
) -> Result<(), Fault> {
    let keep_text = ask.keep_text;
    let (sent, count) = (&mut seen.times.sent, ask.count);
    let answer = connection
        .send(request(pool, ask), |instant| {
            *sent = Some(clock.at(instant));
            count.add_one();
        })
        .await?;
    seen.times.headers = Some(clock.at(connection.stamps().last_read()));
    seen.status = Some(answer.status());
    if answer.status().is_success() {
        read_answer(connection, clock, answer, keep_text, seen).await
    } else {
        read_refusal(connection, clock, answer, seen).await
    }
}

fn request(pool: &Pool, ask: Ask<'_>) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(ask.body));
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_11;
    *request.uri_mut() = pool.target().path.clone();
    *request.headers_mut() = ask.headers;
    request
}

async fn read_answer(
    connection: &mut Connection,
    clock: Clock,
    answer: Response<Incoming>,
    keep_text: bool,
    seen: &mut Seen,
) -> Result<(), Fault> {
    refuse_encoding(answer.headers())?;
    let is_stream = is_event_stream(answer.headers());
    let mut body = answer.into_body();
    let reader = seen.reader.insert(AnswerReader::new(is_stream, keep_text));
    while let Some(frame) = next_frame(connection, &mut body, reader.is_done()).await? {
        let Ok(bytes) = frame.into_data() else { continue };
        let at = clock.at(connection.stamps().last_read());
        seen.times.first_chunk.get_or_insert(at);
        seen.answer_bytes += bytes.len() as u64;
        reader.push(&bytes, at)?;
    }
    reader.finish(clock.at(connection.stamps().last_read()))
}

/// The next frame of an answer's body. After `[DONE]` the answer is whole: its end is waited for only shortly, so that the
/// connection can be used again, and does not matter otherwise.
async fn next_frame(
    connection: &mut Connection,
    body: &mut Incoming,
    is_done: bool,
) -> Result<Option<Frame<Bytes>>, Fault> {
    if !is_done {
        return connection.frame(body).await;
    }
    let end = tokio::time::timeout(END_LIMIT, connection.frame(body)).await;
    Ok(end.unwrap_or(Ok(None)).unwrap_or(None))
}

async fn read_refusal(
    connection: &mut Connection,
    clock: Clock,
    answer: Response<Incoming>,
    seen: &mut Seen,
) -> Result<(), Fault> {
    let status = answer.status();
    let mut body = answer.into_body();
    let mut text = Vec::new();
    while let Some(frame) = connection.frame(&mut body).await? {
        let Ok(bytes) = frame.into_data() else { continue };
        seen.times
            .first_chunk
            .get_or_insert(clock.at(connection.stamps().last_read()));
        seen.answer_bytes += bytes.len() as u64;
        if text.len() + bytes.len() > MAX_REFUSAL_BYTES {
            break;
        }
        text.extend_from_slice(&bytes);
    }
    let words = refusal_text(&text);
    let separator = if words.is_empty() { "" } else { ": " };
    Err(Fault::new(
        FailureCause::HttpStatus,
        format!("{status}{separator}{words}"),
    ))
}

/// No request asks for a compressed answer, and compression would hide when each chunk arrived.
fn refuse_encoding(headers: &HeaderMap) -> Result<(), Fault> {
    let is_identity = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    match headers.get(CONTENT_ENCODING).filter(|value| !is_identity(value)) {
        None => Ok(()),
        Some(encoding) => Err(Fault::new(
            FailureCause::InvalidAnswer,
            format!("the answer has content-encoding {encoding:?}, which was not asked for"),
        )),
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value
                .trim_start()
                .to_ascii_lowercase()
                .starts_with("text/event-stream")
        })
}

/// The fault of a request that took longer than `timeout`.
pub(crate) fn timeout_fault(timeout: Duration, was_sent: bool) -> Fault {
    let what = if was_sent { "complete answer" } else { "connection" };
    Fault::new(
        FailureCause::Timeout,
        format!("no {what} within {timeout:?} (target.timeout)"),
    )
}
