//! The bytes of answers, as servers write them.

/// The head of a chunked stream of events.
pub const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
/// The end of a chunked body.
pub const LAST_CHUNK: &str = "0\r\n\r\n";
/// The event that ends a stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// A whole answer of one JSON body, with this status (`200 OK`).
#[must_use]
pub fn json(status: &str, body: &str) -> Vec<u8> {
    with_type(status, "application/json", body)
}

/// A whole answer of this content type, its length given in the head.
#[must_use]
pub fn with_type(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A whole chat completion of one JSON body.
#[must_use]
pub fn chat_completion(text: &str) -> Vec<u8> {
    let body = serde_json::json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
    });
    json("200 OK", &body.to_string())
}

/// A whole stream, each event a chunk of its own. End with [`DONE`], if it is to be a good one.
#[must_use]
pub fn stream(events: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut answer = STREAM_HEAD.as_bytes().to_vec();
    for event in events {
        answer.extend(chunk(event));
    }
    answer.extend_from_slice(LAST_CHUNK.as_bytes());
    answer
}

/// One chunk of a chunked body.
#[must_use]
pub fn chunk(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// An event with this data.
#[must_use]
pub fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// An event whose only choice has this delta, given as JSON.
#[must_use]
pub fn delta(delta: &str) -> String {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#))
}

/// An event that bears this content.
#[must_use]
pub fn content(text: &str) -> String {
    delta(&serde_json::json!({"content": text}).to_string())
}

/// An event without choices that bears this usage, given as JSON.
#[must_use]
pub fn usage(usage: &str) -> String {
    event(&format!(r#"{{"choices":[],"usage":{usage}}}"#))
}
