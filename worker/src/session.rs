//! One session: its turns, one after the other.

use bytes::Bytes;
use reprise_content::schedule::Request;
use reprise_content::store::{BodyRef, TurnRef};
use reprise_content::template::{self, Exchange, Rendered};
use reprise_contract::outcome::{Times, Tokens};
use reprise_contract::{Ending, NotSentReason, Outcome, Phase, TokenSource};

use crate::answer::{AnswerReader, Fault, Heard};
use crate::exchange::{Ask, Seen, exchange, timeout_fault};
use crate::gate::{Candidate, not_sent_reason};
use crate::thread::Worker;

/// Replays the session that begins with request `first`, whose time has come. `due_ns` says since when, in run time.
pub(crate) async fn replay(worker: &Worker, first: u32, due_ns: i64) {
    let mut session = Session {
        worker,
        earlier: Vec::new(),
        is_broken: false,
    };
    let mut index = first;
    let mut due_ns = due_ns;
    loop {
        let request = worker.request(index);
        session.take_turn(index, request, due_ns).await;
        let Some(next) = request.next else { return };
        index = next;
        let request = worker.request(next);
        due_ns = worker.due_of_turn(request, due_ns);
        // A turn that cannot go is not waited for.
        if !session.is_broken {
            worker.wait_until_due(request, due_ns).await;
        }
    }
}

struct Session<'a> {
    worker: &'a Worker,
    /// The conversation so far, where it goes on with live answers.
    earlier: Vec<Exchange>,
    /// A live answer is missing, so what builds on it cannot be sent.
    is_broken: bool,
}

/// What is known of a request before its answer: nothing of it where it never went.
#[derive(Clone, Copy, Default)]
struct Asked {
    bytes: u64,
    matched_output_tokens: Option<u32>,
}

/// How a turn ended.
struct Ended {
    ending: Ending,
    error: Option<String>,
    asked: Asked,
}

impl Ended {
    fn without_sending(ending: Ending) -> Self {
        Self {
            ending,
            error: None,
            asked: Asked::default(),
        }
    }

    fn failed(fault: Fault, asked: Asked) -> Self {
        Self {
            ending: Ending::Failed(fault.cause),
            error: Some(fault.message),
            asked,
        }
    }
}

impl Session<'_> {
    async fn take_turn(&mut self, index: u32, request: Request, due_ns: i64) {
        let turn = self.worker.turn(request);
        let builds_on_answers = matches!(turn.body(), BodyRef::Prompt { .. });
        let mut seen = Seen::default();
        let due_local_ns = self.worker.local_ns(due_ns);
        seen.times.recorded = request.offset_ns.map(|offset| self.worker.local_ns(offset));
        seen.times.due = Some(due_local_ns);

        let candidate = Candidate {
            is_warmup: request.is_warmup,
            due_ns,
            lag_ns: self.worker.clock.now() - due_local_ns,
        };
        let ended = match self.worker.gate().admit(candidate) {
            Err(ending) => Ended::without_sending(ending),
            Ok(()) if builds_on_answers && self.is_broken => {
                Ended::without_sending(Ending::NotSent(NotSentReason::AnswerMissing))
            }
            Ok(()) => {
                let keep_text = builds_on_answers && request.next.is_some();
                self.send(request, turn, keep_text, &mut seen).await
            }
        };
        let is_completed = ended.ending == Ending::Completed;
        let heard = record(self.worker, index, request, ended, seen);
        if builds_on_answers {
            self.is_broken |= !is_completed || heard.has_other_content;
            self.earlier.push(Exchange {
                turn: request.turn,
                answer: Bytes::from(heard.text),
            });
        }
    }

    async fn send(&self, request: Request, turn: TurnRef<'_>, keep_text: bool, seen: &mut Seen) -> Ended {
        let worker = self.worker;
        let Rendered {
            body,
            matched_output_tokens,
        } = template::render(
            &worker.plan().template,
            &worker.plan().content,
            request.turn,
            &self.earlier,
        );
        let asked = Asked {
            bytes: body.len() as u64,
            matched_output_tokens,
        };
        let pool = worker.pool(turn.session());
        let headers = worker.plan().headers.of_request(pool.target(), turn.headers());
        let ask = Ask {
            headers,
            body: Bytes::from(body),
            keep_text,
            count: &worker.sent,
        };
        let exchange = exchange(pool, worker.clock, ask, seen);
        let result = tokio::select! {
            biased;
            () = worker.control().stopped() => None,
            result = tokio::time::timeout(worker.plan().timeout, exchange) => Some(result),
        };
        let was_sent = seen.times.sent.is_some();
        let ending = |ending| Ended {
            ending,
            error: None,
            asked,
        };
        let ended = match result {
            Some(Ok(Ok(()))) => ending(Ending::Completed),
            Some(Ok(Err(fault))) => Ended::failed(fault, asked),
            Some(Err(_)) => Ended::failed(timeout_fault(worker.plan().timeout, was_sent), asked),
            None if was_sent => ending(Ending::Cancelled),
            // It was still waiting for its connection.
            None => {
                let reason = worker
                    .control()
                    .cause()
                    .map_or(NotSentReason::RunCancelled, not_sent_reason);
                return Ended::without_sending(Ending::NotSent(reason));
            }
        };
        if ended.ending != Ending::Completed {
            seen.times.done.get_or_insert(worker.clock.now());
        }
        ended
    }
}

/// Records a turn's outcome; gives back what its answer said.
fn record(worker: &Worker, index: u32, request: Request, ended: Ended, seen: Seen) -> Heard {
    let turn = worker.turn(request);
    let Seen {
        times,
        connect_ns,
        status,
        answer_bytes,
        ..
    } = seen;
    let heard = seen.reader.map(AnswerReader::into_heard).unwrap_or_default();
    let outcome = Outcome {
        request: worker.number(index),
        session: turn.session(),
        turn: request.place,
        request_id: turn.request_id().map(str::to_owned),
        phase: if request.is_warmup {
            Phase::Warmup
        } else {
            Phase::Measured
        },
        ending: ended.ending,
        times: Times {
            first_output: heard.first_output,
            first_content: heard.first_content,
            last_output: heard.last_output,
            usage: heard.usage_at,
            ..times
        },
        connect_ns,
        gaps: heard.gaps,
        output_chunks: heard.output_chunks,
        input_tokens: input_tokens(&heard, request, turn),
        cached_tokens: heard
            .usage
            .and_then(|usage| usage.prompt_tokens_details?.cached_tokens),
        output_tokens: output_tokens(&heard),
        requested_output_tokens: ended.asked.matched_output_tokens,
        status: status.map(|status| status.as_u16()),
        error: ended.error,
        request_bytes: ended.asked.bytes,
        answer_bytes,
        target: worker.target_index(turn.session()),
        worker: 0,
        clock_error_ns: None,
    };
    worker.recorder.record(outcome, &heard.gaps_ns);
    heard
}

/// As the server says, else as the trace does. A later turn of a live conversation sends more than its own words, and how many
/// tokens that is nobody but the server knows.
fn input_tokens(heard: &Heard, request: Request, turn: TurnRef<'_>) -> Option<Tokens> {
    let sends_earlier_turns = request.place > 0 && matches!(turn.body(), BodyRef::Prompt { .. });
    let server = heard.usage.and_then(|usage| usage.prompt_tokens);
    let tokens = |count, source| Tokens { count, source };
    server
        .map(|count| tokens(count, TokenSource::ServerUsage))
        .or_else(|| {
            let recorded = turn.input_tokens().filter(|_| !sends_earlier_turns);
            recorded.map(|count| tokens(count, TokenSource::Trace))
        })
}

/// As the server says, directly or by subtraction, else the chunks of the stream that bore output.
fn output_tokens(heard: &Heard) -> Option<Tokens> {
    let usage = heard.usage.unwrap_or_default();
    let tokens = |count, source| Tokens { count, source };
    if let Some(count) = usage.completion_tokens {
        return Some(tokens(count, TokenSource::ServerUsage));
    }
    if let Some(count) = usage
        .total_tokens
        .and_then(|total| total.checked_sub(usage.prompt_tokens?))
    {
        return Some(tokens(count, TokenSource::ServerTotal));
    }
    heard
        .is_stream
        .then(|| tokens(heard.output_chunks, TokenSource::ChunkCount))
}
