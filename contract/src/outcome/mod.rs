//! What is kept of one request: raw event times, tokens, status, error.
//!
//! Nothing is derived here. TTFT, TPOT, ITL, lag and every other number is a view on these events, so each tool's
//! definition can be computed from one file.

mod arrow;

pub use arrow::{OutcomeError, read_batch, schema, write_batch};

/// Whether a request counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Sent to warm the target up, on the same schedule; in no metric.
    Warmup,
    /// In every metric.
    Measured,
}

/// How a planned request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// A complete answer arrived.
    Completed,
    /// It was sent, or was to be sent, and something went wrong.
    Failed(FailureCause),
    /// It was in flight when the run was cancelled.
    Cancelled,
    /// `latePolicy: Drop` left it out, as it was later than `lateThreshold`.
    Dropped,
    /// It never went.
    NotSent(NotSentReason),
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureCause {
    /// The target's name could not be resolved.
    Dns,
    /// The target refused the connection.
    ConnectionRefused,
    /// No connection for another reason, such as an unreachable network.
    ConnectionFailed,
    /// No file descriptor or local port was left on the generator's side: the target was not asked.
    LocalLimit,
    /// The TLS handshake failed.
    Tls,
    /// The connection was closed or reset before a complete answer.
    ConnectionClosed,
    /// The answer's status is not 2xx.
    HttpStatus,
    /// `target.timeout` passed.
    Timeout,
    /// The answer was a 2xx that carried an error, inside the stream or the body.
    ErrorInAnswer,
    /// The answer could not be understood: bad HTTP, or no JSON where JSON was due.
    InvalidAnswer,
    /// One event, or one body, was larger than what is read of it.
    AnswerTooLarge,
}

/// Why a planned request never went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NotSentReason {
    /// `replay.duration` was over when it was due.
    DurationOver,
    /// The run was cancelled before it was due.
    RunCancelled,
    /// `latePolicy: Abort` ended the run.
    RunAborted,
    /// The run's deadline had passed before it was due.
    DeadlinePassed,
    /// Its worker was lost before it was due.
    WorkerLost,
    /// It continues a conversation with a live answer that never came.
    AnswerMissing,
}

/// Where a token count comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenSource {
    /// The server's `usage`.
    ServerUsage,
    /// The server's `usage` had no completion tokens; total minus prompt.
    ServerTotal,
    /// The number of chunks that bore output: a lower bound where a chunk holds several tokens.
    ChunkCount,
    /// What the trace recorded, or what was synthesised.
    Trace,
}

/// A token count and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// How many.
    pub count: u32,
    /// Says who.
    pub source: TokenSource,
}

/// The gaps between consecutive chunks that bore output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// How many gaps: one less than the chunks.
    pub count: u32,
    /// Their sum, in nanoseconds.
    pub sum_ns: u64,
    /// The shortest, in nanoseconds; 0 when there is none.
    pub min_ns: u64,
    /// The longest, in nanoseconds; 0 when there is none.
    pub max_ns: u64,
}

impl Gaps {
    /// Counts one gap.
    pub fn record(&mut self, gap_ns: u64) {
        self.min_ns = if self.count == 0 {
            gap_ns
        } else {
            self.min_ns.min(gap_ns)
        };
        self.max_ns = self.max_ns.max(gap_ns);
        self.sum_ns += gap_ns;
        self.count += 1;
    }
}

/// When each thing happened, in nanoseconds since T0, read from one monotonic clock. `None`: it did not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When the schedule wanted it. `None` where the schedule has no time for it (closed loop, a delay after a turn).
    pub recorded: Option<i64>,
    /// When it could first go: the later of recorded and the turn that it waits for.
    pub due: Option<i64>,
    /// When its first byte was written to the socket.
    pub sent: Option<i64>,
    /// When the answer's head was there.
    pub headers: Option<i64>,
    /// When the first chunk of the answer's body was there, whatever it holds.
    pub first_chunk: Option<i64>,
    /// When the first output was there: content, reasoning or a tool call. This and the next two only where the answer was
    /// streamed.
    pub first_output: Option<i64>,
    /// When the first content was there: output that is not reasoning.
    pub first_content: Option<i64>,
    /// When the last output was there.
    pub last_output: Option<i64>,
    /// When the server's usage was there.
    pub usage: Option<i64>,
    /// When the answer was complete, or the failure was known.
    pub done: Option<i64>,
}

/// What is kept of one planned request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The request's place in the plan, from 0.
    pub request: u32,
    /// Its session's number, in the order of the trace.
    pub session: u32,
    /// Its place in the session, from 0.
    pub turn: u32,
    /// The trace's own id of the record, where it has one.
    pub request_id: Option<String>,
    /// Whether it counts.
    pub phase: Phase,
    /// How it ended.
    pub ending: Ending,
    /// When what happened.
    pub times: Times,
    /// How long the connection took that was opened for it, in nanoseconds; `None` when one was at hand.
    pub connect_ns: Option<u64>,
    /// The gaps between chunks that bore output.
    pub gaps: Gaps,
    /// How many chunks bore output.
    pub output_chunks: u32,
    /// Tokens of the prompt.
    pub input_tokens: Option<Tokens>,
    /// Tokens of the prompt that the server found in its cache, as it says.
    pub cached_tokens: Option<u32>,
    /// Tokens of the answer.
    pub output_tokens: Option<Tokens>,
    /// How many output tokens `matchOutputLength` asked for. `None` where the length was left to the model.
    pub requested_output_tokens: Option<u32>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// What went wrong, in a few words; no bodies and no credentials.
    pub error: Option<String>,
    /// Bytes of the request's body.
    pub request_bytes: u64,
    /// Bytes of the answer's body.
    pub answer_bytes: u64,
    /// Index into `target.urls`.
    pub target: u16,
    /// The index of the worker that had it; 0 where there is one process.
    pub worker: u32,
    /// How far the instant at which it was due, as the manager's clock would have shown it by what is known of its worker's
    /// clock, is from `due`, in nanoseconds. In no other time. `None` where there is one clock.
    pub clock_error_ns: Option<i64>,
}

impl Outcome {
    /// How late it went: sent minus due, in nanoseconds. Absolute: nothing is subtracted from it.
    #[must_use]
    pub fn lag_ns(&self) -> Option<i64> {
        Some(self.times.sent? - self.times.due?)
    }

    /// Whether it reached the target's socket.
    #[must_use]
    pub fn was_sent(&self) -> bool {
        self.times.sent.is_some()
    }
}
