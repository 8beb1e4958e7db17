//! From a request to its answer.

use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::Semaphore;

use crate::answer::{Answer, Extent, Finish, error_document, models_document};
use crate::arrivals::{Arrivals, OpenArrival};
use crate::ask::{Api, Ask, Delivery};
use crate::clock::monotonic_ns;
use crate::config::Config;
use crate::faults::{Cut, CutHow, Faults};
use crate::pace::Draws;
use crate::script::{ERROR_ON_DEMAND, Script};
use crate::stream::{Broken, ReplyBody, TokenStream, Turn, WaitForTurn};
use crate::timer::Timer;

/// Larger request bodies are refused with status 413.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Service {
    config: Config,
    timer: Timer,
    arrivals: Arc<Arrivals>,
    slots: Option<Arc<Semaphore>>,
}

/// An answer that could be given in full, and what is to happen to it.
struct Plan {
    answer: Answer,
    delivery: Delivery,
    cut: Option<Cut>,
    turn: WaitForTurn,
}

/// An answer that is an error.
struct Refusal {
    status: StatusCode,
    message: String,
}

type Reply = Response<ReplyBody>;

impl Service {
    pub(crate) fn new(config: Config, timer: Timer, arrivals: Arc<Arrivals>) -> Self {
        let slots = config
            .capacity
            .map(|capacity| Arc::new(Semaphore::new(capacity.get() as usize)));
        Self {
            config,
            timer,
            arrivals,
            slots,
        }
    }

    /// Answers a request whose head arrived at `arrival_ns` of the monotonic clock.
    pub(crate) async fn answer(
        self: Arc<Self>,
        arrival_ns: u64,
        request: Request<Incoming>,
    ) -> Result<Reply, Broken> {
        let (head, body) = request.into_parts();
        if let Some(reply) = self.answer_unlogged(arrival_ns, &head) {
            return Ok(reply);
        }
        let mut arrival = self.arrivals.arrived(arrival_ns, &head);
        let planned = match read(body, &mut arrival).await? {
            Ok(body) => self.plan(&head, &body, arrival_ns, arrival.index()),
            Err(refusal) => Err(refusal),
        };
        match planned {
            Ok(plan) => self.perform(plan, arrival).await,
            Err(Refusal { status, message }) => {
                arrival.answered(status);
                Ok(error(status, &message))
            }
        }
    }

    /// Probes and the endpoint's own calls.
    fn answer_unlogged(&self, now_ns: u64, head: &Parts) -> Option<Reply> {
        let reply = match (&head.method, head.uri.path()) {
            (&Method::GET, "/health") => document(StatusCode::OK, JSON, String::from("{}")),
            (&Method::GET, "/v1/models") => {
                let created = self.arrivals.epoch().unix_seconds(now_ns);
                document(StatusCode::OK, JSON, models_document(&self.config.model, created))
            }
            (&Method::GET, "/mock/arrivals") => self.list_arrivals(),
            (&Method::DELETE, "/mock/arrivals") => {
                self.arrivals.reset();
                document(StatusCode::OK, JSON, String::from("{}"))
            }
            (&Method::GET, "/mock/summary") => as_json(&self.arrivals.summary()),
            _ => return None,
        };
        Some(reply)
    }

    fn list_arrivals(&self) -> Reply {
        if !self.arrivals.in_memory() {
            return error(
                StatusCode::CONFLICT,
                "Cannot list arrivals: they are not kept in memory. Start the endpoint with --keep-arrivals.",
            );
        }
        let lines: Result<Vec<String>, serde_json::Error> = self
            .arrivals
            .list()
            .iter()
            .map(|arrival| serde_json::to_string(arrival).map(|line| line + "\n"))
            .collect();
        match lines {
            Ok(lines) => document(StatusCode::OK, JSON_LINES, lines.concat()),
            Err(failure) => error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string()),
        }
    }

    /// Decides what becomes of a request, without waiting for anything.
    fn plan(&self, head: &Parts, body: &[u8], arrival_ns: u64, index: u64) -> Result<Plan, Refusal> {
        let api = route(head)?;
        let faults = Faults::parse(&head.headers).map_err(Refusal::bad_request)?;
        if let Some(status) = faults.status {
            return Err(Refusal {
                status: status.get(),
                message: String::from("The request asked for this error in its header x-mock-status."),
            });
        }
        let draws = Draws::new(self.config.seed, index);
        if let Some(errors) = self.config.errors.filter(|errors| draws.falls_in(errors.share)) {
            return Err(Refusal {
                status: errors.status.get(),
                message: String::from("The endpoint answers a share of all requests with this error."),
            });
        }
        let ask = Ask::parse(api, body).map_err(Refusal::bad_request)?;
        let created = self.arrivals.epoch().unix_seconds(arrival_ns);
        let model = ask.model.as_deref().unwrap_or(&self.config.model);
        let extent = extent(&ask, faults.finish_early, self.config.default_tokens);
        Ok(Plan {
            answer: Answer::new(api, model, index, created, extent),
            delivery: ask.delivery,
            cut: faults.cut,
            turn: self.wait_for_turn(arrival_ns, draws),
        })
    }

    /// Asks for a turn, which comes in order of asking, and paces the answer from then on; from its arrival if there is
    /// room at once.
    fn wait_for_turn(&self, arrival_ns: u64, draws: Draws) -> WaitForTurn {
        let (ttft, inter_token) = (self.config.ttft, self.config.inter_token_latency);
        let at_once = move |draws: Draws, permit| {
            Box::pin(std::future::ready(Turn::new(
                draws.pace(arrival_ns, ttft, inter_token),
                permit,
            )))
        };
        let Some(slots) = self.slots.clone() else {
            return at_once(draws, None);
        };
        if let Ok(permit) = Arc::clone(&slots).try_acquire_owned() {
            return at_once(draws, Some(permit));
        }
        Box::pin(async move {
            // An error would say that the semaphore was closed, which never happens.
            let permit = slots.acquire_owned().await.ok();
            Turn::new(draws.pace(monotonic_ns(), ttft, inter_token), permit)
        })
    }

    async fn perform(&self, plan: Plan, arrival: OpenArrival) -> Result<Reply, Broken> {
        let Plan {
            answer,
            delivery,
            cut,
            turn,
        } = plan;
        match delivery {
            Delivery::Stream { with_usage } => {
                let script = Script::new(answer, with_usage, self.config.tokens_per_chunk, cut);
                let stream = TokenStream::new(self.timer.clone(), script, turn);
                arrival.answered(StatusCode::OK);
                let mut reply = Response::new(ReplyBody::Tokens(Box::new(stream)));
                reply.headers_mut().insert(CONTENT_TYPE, EVENT_STREAM);
                reply
                    .headers_mut()
                    .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                Ok(reply)
            }
            Delivery::Whole => {
                let cut = self.work_through(&answer, cut, turn).await?;
                let (status, reply) = match cut {
                    None => (StatusCode::OK, document(StatusCode::OK, JSON, answer.whole())),
                    Some(CutHow::Disconnect) => return Err(Broken::OnDemand),
                    Some(CutHow::ErrorEvent) => {
                        let status = StatusCode::INTERNAL_SERVER_ERROR;
                        (status, error(status, ERROR_ON_DEMAND))
                    }
                };
                arrival.answered(status);
                Ok(reply)
            }
        }
    }

    /// Lets the time pass that a stream of this answer would take, and tells whether it was cut short.
    async fn work_through(
        &self,
        answer: &Answer,
        cut: Option<Cut>,
        turn: WaitForTurn,
    ) -> Result<Option<CutHow>, Broken> {
        let chunk = self.config.tokens_per_chunk;
        let all_chunks = answer.tokens().div_ceil(chunk.get());
        let cut = cut.filter(|cut| cut.after_chunks <= all_chunks);
        let chunks = cut.map_or(all_chunks, |cut| cut.after_chunks);
        let mut turn = turn.await;
        turn.pace.advance(chunks.saturating_sub(1) * chunk.get());
        self.timer.sleep_until(turn.pace.due_ns()).await?;
        Ok(cut.map(|cut| cut.how))
    }
}

fn route(head: &Parts) -> Result<Api, Refusal> {
    Api::of_path(head.uri.path())
        .filter(|_| head.method == Method::POST)
        .ok_or_else(|| Refusal {
            status: StatusCode::NOT_FOUND,
            message: format!(
                "Cannot answer {} {}: this endpoint does not have it. Use POST /v1/chat/completions or POST \
             /v1/completions.",
                head.method,
                head.uri.path()
            ),
        })
}

fn extent(ask: &Ask, finish_early: Option<u32>, default_tokens: NonZeroU32) -> Extent {
    let (most, finish) = match ask.most_tokens {
        Some(most) => (most.get(), Finish::Length),
        None => (default_tokens.get(), Finish::Stop),
    };
    let (tokens, finish) = match finish_early {
        Some(early) if early < most => (early, Finish::Stop),
        _ => (most, finish),
    };
    Extent {
        prompt_tokens: ask.prompt_tokens,
        tokens,
        finish,
    }
}

impl Refusal {
    fn bad_request(reason: impl std::error::Error) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: reason.to_string(),
        }
    }
}

/// Reads a body and notes it, also when only a part of it comes.
async fn read(mut body: Incoming, arrival: &mut OpenArrival) -> Result<Result<Bytes, Refusal>, Broken> {
    let mut gathered = BytesMut::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => gathered.extend(frame.into_data()),
            Err(failure) => {
                arrival.body(&gathered.freeze());
                return Err(Broken::Body(failure));
            }
        }
        if gathered.len() > LARGEST_BODY {
            arrival.body(&gathered.freeze());
            return Ok(Err(Refusal {
                status: StatusCode::PAYLOAD_TOO_LARGE,
                message: format!("Cannot use the request body: it is over {LARGEST_BODY} bytes. Shorten it."),
            }));
        }
    }
    let body = gathered.freeze();
    arrival.body(&body);
    Ok(Ok(body))
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_LINES: HeaderValue = HeaderValue::from_static("application/jsonl");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

fn document(status: StatusCode, content_type: HeaderValue, text: String) -> Reply {
    let mut reply = Response::new(ReplyBody::Document(Some(Bytes::from(text))));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}

fn error(status: StatusCode, message: &str) -> Reply {
    document(status, JSON, error_document(status, message))
}

fn as_json(value: &impl serde::Serialize) -> Reply {
    match serde_json::to_string(value) {
        Ok(text) => document(StatusCode::OK, JSON, text),
        Err(failure) => error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string()),
    }
}
