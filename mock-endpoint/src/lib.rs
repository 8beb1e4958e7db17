//! An OpenAI-compatible endpoint of known latency, for demos, tests and calibration of a load generator.
//!
//! It answers `POST …/v1/chat/completions` and `POST …/v1/completions`, whole or as a stream of server-sent events,
//! with filler words: as many tokens as `max_completion_tokens` or `max_tokens` asks for, the first one TTFT after
//! the request's arrival and each further one an inter-token latency later. Both are fixed or drawn from a seeded
//! distribution ([`Latency`]). Due times are absolute: a late token does not make the next one late.
//!
//! Every request is stamped with the time at which its head reached the machine, on the monotonic clock, so that a load
//! generator's schedule can be judged from the server's side, also where the endpoint was too busy to read at once. It must never be the target of a run whose numbers matter
//! otherwise: it says nothing about any model or server.
//!
//! ```
//! use reprise_mock_endpoint::{Config, Latency, start_on_own_thread};
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = start_on_own_thread(Config {
//!     ttft: Latency::fixed(Duration::from_millis(20)),
//!     inter_token_latency: "lognormal:5ms,p99=20ms".parse()?,
//!     ..Config::default()
//! })?;
//!
//! let body = r#"{"prompt": "Count with me", "max_tokens": 3}"#;
//! let mut connection = TcpStream::connect(endpoint.addr())?;
//! write!(
//!     connection,
//!     "POST /v1/completions HTTP/1.1\r\nhost: mock\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
//!     body.len()
//! )?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer)?;
//! assert!(answer.contains(r#""prompt_tokens":3,"total_tokens":6,"completion_tokens":3"#));
//!
//! let arrivals = endpoint.arrivals();
//! assert_eq!(arrivals[0].path, "/v1/completions");
//! endpoint.shutdown()?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it answers
//!
//! | request | answer |
//! | --- | --- |
//! | `POST …/v1/chat/completions`, `POST …/v1/completions` | a completion, below any prefix of the path |
//! | `GET /v1/models`, `GET /health` | the configured model; `{}` |
//! | `GET /mock/arrivals` | the arrivals as JSON lines ([`Arrival`]), if they are kept in memory |
//! | `GET /mock/summary` | the counts ([`Summary`]) |
//! | `DELETE /mock/arrivals` | forgets arrivals and counts; the next request has index 0 |
//! | anything else | 404 with an error document |
//!
//! - `prompt_tokens` is the number of words, separated by white space, of all messages' text or of the prompt. No
//!   tokenizer is involved. A prompt of token IDs counts them.
//! - An answer's token is one word with a space before it. `finish_reason` is `length` when the request set the length,
//!   otherwise `stop`.
//! - A stream's head goes out at once. A chat stream's role comes together with its first token.
//! - A whole answer comes when the last chunk of a stream would.
//!
//! # Errors on demand
//!
//! | request header | what happens |
//! | --- | --- |
//! | `x-mock-status: 429` | answered with that status, at once |
//! | `x-mock-disconnect-after: 3` | the socket is closed after 3 chunks with tokens, without `[DONE]` |
//! | `x-mock-stream-error-after: 2` | after 2 chunks with tokens comes an `error` event, then `[DONE]` |
//! | `x-mock-finish-early: 10` | the answer stops after 10 tokens with `finish_reason` `stop` |
//!
//! A whole answer is cut at the same time as the stream would be: by closing the socket, or with status 500.
//! [`RandomErrors`] gives errors to a seeded share of all requests.
//!
//! # Limits
//!
//! Linux only (`timerfd`), HTTP/1.1 without TLS, one choice an answer, request bodies up to 64 MiB, answers up to
//! 1,048,576 tokens.

mod answer;
mod arrival_file;
mod arrivals;
mod ask;
mod clock;
mod config;
mod faults;
mod latency;
mod pace;
mod script;
mod server;
mod service;
mod stamped_socket;
mod stream;
mod timer;

pub use arrivals::{Arrival, Summary};
pub use config::{ArrivalLog, Config, ErrorStatus, ErrorStatusError, RandomErrors, Share, ShareError};
pub use latency::{LONGEST, Latency, LatencyError};
pub use server::{
    Endpoint, Handle, StartError, StopError, ThreadHandle, runtime, start, start_on_own_thread,
};
