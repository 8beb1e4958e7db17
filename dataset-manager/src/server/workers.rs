//! What workers call.

use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::header;
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use reprise_contract::Outcome;
use reprise_contract::protocol::batch::{self, BatchHead};
use reprise_contract::protocol::{
    Armed, ClockReading, Confirmed, Directive, Incarnation, Join, Joined, MAX_BATCH_BYTES, MAX_JSON_BYTES,
    Readied, Ready, Received, RefusalCode, path,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::answers::Denied;
use super::shards;
use super::state::{LONG_POLL, Shared};
use crate::arrivals::{Arrival, ArrivalError};
use crate::coordinator::{Admission, Coordinator, JoinAnswer, Refused};

/// The body of a call takes no longer.
const BODY: Duration = Duration::from_mins(1);

pub(super) fn routes() -> Router<Arc<Shared>> {
    let of_shard = |path: &str| format!("{path}/{{index}}");
    Router::new()
        .route(path::JOIN, post(join))
        .route(path::CLOCK, get(clock))
        .route(&of_shard(path::SHARDS), get(shards::shard))
        .route(&of_shard(path::READY), post(ready))
        .route(&of_shard(path::ARMED), post(armed))
        .route(&of_shard(path::CONTROL), get(control))
        .route(&of_shard(path::OUTCOMES), post(outcomes))
}

/// Who asks.
#[derive(Deserialize)]
pub(super) struct Asker {
    pub(super) incarnation: Incarnation,
}

/// Who asks, and what it has seen.
#[derive(Deserialize)]
struct Seen {
    incarnation: Incarnation,
    #[serde(default)]
    seen: u64,
}

async fn join(State(shared): State<Arc<Shared>>, request: Request) -> Result<Json<Joined>, Denied> {
    let join = json::<Join>(request).await?;
    let answer = shared
        .wait_for(LONG_POLL, |coordinator, now| match coordinator.join(now, &join) {
            Ok(JoinAnswer::NotYet) => None,
            other => Some(other),
        })
        .await;
    let not_yet = || Joined::NotYet {
        doing: doing(&shared),
    };
    Ok(Json(match answer.transpose()? {
        Some(JoinAnswer::Welcome) => match shared.served() {
            Some(served) => Joined::Welcome {
                manager: shared.manager.clone(),
                shard: join.index,
                plan: Box::new(served.head.clone()),
            },
            None => not_yet(),
        },
        Some(JoinAnswer::Released(release)) => Joined::Released { release },
        Some(JoinAnswer::NotYet) | None => not_yet(),
    }))
}

fn doing(shared: &Shared) -> String {
    let status = shared.status();
    let stage = format!("{:?}", status.stage).to_lowercase();
    match status.progress {
        Some(progress) => {
            let total = progress
                .total
                .map(|total| format!(" of {total}"))
                .unwrap_or_default();
            format!("{stage}: {}{total} {}", progress.done, progress.unit)
        }
        None => stage,
    }
}

async fn clock(State(shared): State<Arc<Shared>>) -> Json<ClockReading> {
    Json(ClockReading {
        manager: shared.manager.clone(),
        manager_ns: shared.now(),
    })
}

async fn ready(
    State(shared): State<Arc<Shared>>,
    Path(index): Path<u32>,
    request: Request,
) -> Result<Json<Readied>, Denied> {
    let ready = json::<Ready>(request).await?;
    shared.with(|coordinator, now| coordinator.ready(now, index, &ready))?;
    let waiting = Waiting::new(&shared, index, &ready.incarnation);
    let answer = shared
        .wait_for(LONG_POLL, |coordinator, now| {
            match coordinator.readied(now, index, &ready.incarnation) {
                Ok(Readied::NotYet { .. }) => None,
                other => Some(other),
            }
        })
        .await;
    let answer = answer.unwrap_or_else(|| {
        shared.with(|coordinator, now| coordinator.readied(now, index, &ready.incarnation))
    });
    waiting.ended();
    Ok(Json(answer?))
}

async fn armed(
    State(shared): State<Arc<Shared>>,
    Path(index): Path<u32>,
    request: Request,
) -> Result<Json<Confirmed>, Denied> {
    let armed = json::<Armed>(request).await?;
    shared.with(|coordinator, now| coordinator.armed(now, index, &armed))?;
    let waiting = Waiting::new(&shared, index, &armed.incarnation);
    let ask = |coordinator: &mut Coordinator, now| {
        coordinator
            .confirmed(now, index, &armed.incarnation, armed.epoch)
            .transpose()
    };
    let answer = shared.wait_for(LONG_POLL, ask).await;
    waiting.ended();
    // It is decided before T0, which is nearer than the longest wait.
    Ok(Json(answer.transpose()?.unwrap_or(Confirmed::Moved)))
}

async fn control(
    State(shared): State<Arc<Shared>>,
    Path(index): Path<u32>,
    Query(seen): Query<Seen>,
) -> Result<Json<Directive>, Denied> {
    let waiting = Waiting::new(&shared, index, &seen.incarnation);
    let ask = |coordinator: &mut Coordinator, now| {
        coordinator
            .control(now, index, &seen.incarnation, seen.seen)
            .transpose()
    };
    let answer = shared.wait_for(LONG_POLL, ask).await;
    waiting.ended();
    Ok(Json(match answer {
        Some(directive) => directive?,
        None => shared.with(|coordinator, _| coordinator.directive_of(index))?,
    }))
}

async fn outcomes(
    State(shared): State<Arc<Shared>>,
    Path(index): Path<u32>,
    request: Request,
) -> Result<Json<Received>, Denied> {
    let permit = shared.batches.acquire().await;
    let bytes = body(request, MAX_BATCH_BYTES).await?;
    let decoded = tokio::task::spawn_blocking(move || batch::decode(&bytes)).await;
    let (head, outcomes) = decoded
        .map_err(|error| Denied::malformed(error.to_string()))?
        .map_err(|error| Denied::malformed(error.to_string()))?;
    // A worker that hangs up meanwhile does not take it back: it is kept to the end, and known when it comes again.
    let keeping = tokio::spawn(keep(Arc::clone(&shared), index, head, outcomes));
    let answer = keeping
        .await
        .map_err(|error| Denied::not_now(format!("Cannot keep a batch: {error}. Send it again.")))?;
    drop(permit);
    Ok(Json(answer?))
}

async fn keep(
    shared: Arc<Shared>,
    index: u32,
    head: BatchHead,
    outcomes: Vec<Outcome>,
) -> Result<Received, Refused> {
    let received = |next| {
        let directive = shared.with(|coordinator, _| coordinator.directive_of(index))?;
        Ok(Received { next, directive })
    };
    let admission = shared.with(|coordinator, now| {
        let admission = coordinator.admit(now, index, &head, outcomes.len())?;
        Ok::<_, Refused>((admission, coordinator.t0_ns()))
    });
    let t0_manager_ns = match admission? {
        (Admission::Known(next), _) => return received(next),
        (Admission::New, t0_manager_ns) => t0_manager_ns,
    };
    let arrivals = shared
        .served()
        .map(|served| &served.arrivals)
        .ok_or(Refused::NoPlan)?;
    let arrival = Arrival {
        index,
        head: head.clone(),
        outcomes,
        t0_manager_ns,
    };
    match arrivals.keep(arrival).await {
        Ok(stored) => {
            shared.note_clock(index, stored.clock);
            let next =
                shared.with(|coordinator, now| coordinator.commit(now, index, &head, stored.counts))?;
            received(next)
        }
        Err(ArrivalError::Contradiction(why)) => {
            Err(shared.with(|coordinator, now| coordinator.contradicted(now, index, why.to_string())))
        }
        Err(error @ (ArrivalError::Storage(_) | ArrivalError::Ended)) => {
            Err(shared.with(|coordinator, _| coordinator.storage_failed(index, &error.to_string())))
        }
    }
}

/// A call that waits. Dropped before it ended, it says that its worker hung up.
struct Waiting<'a> {
    shared: &'a Shared,
    index: u32,
    incarnation: &'a Incarnation,
    has_ended: bool,
}

impl<'a> Waiting<'a> {
    fn new(shared: &'a Shared, index: u32, incarnation: &'a Incarnation) -> Self {
        shared.with(|coordinator, _| coordinator.waits(index, incarnation));
        Self {
            shared,
            index,
            incarnation,
            has_ended: false,
        }
    }

    fn ended(mut self) {
        self.has_ended = true;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.with(|coordinator, now| {
            if self.has_ended {
                coordinator.was_answered(self.index, self.incarnation);
            } else {
                coordinator.broke_off(now, self.index, self.incarnation);
            }
        });
    }
}

/// Reads a call's body, of so many bytes at most.
async fn body(request: Request, limit: usize) -> Result<Bytes, Denied> {
    let too_large = || {
        Denied::new(
            RefusalCode::TooLarge,
            format!("Cannot take this body: it has more than {limit} bytes. Send a smaller one."),
        )
    };
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY, to_bytes(request.into_body(), limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        // What is known to be shorter broke off; of unknown length, it was the limit or broke off as well.
        Ok(Err(_)) if length.is_none() => Err(too_large()),
        Ok(Err(error)) => Err(Denied::malformed(format!(
            "Cannot read the body of this call: {error}. Send it again."
        ))),
        Err(_) => Err(Denied::malformed(format!(
            "Cannot read the body of this call: it took longer than {} s. Send it again.",
            BODY.as_secs()
        ))),
    }
}

/// Reads a call's body as JSON.
pub(super) async fn json<T: DeserializeOwned>(request: Request) -> Result<T, Denied> {
    let bytes = body(request, MAX_JSON_BYTES).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Denied::malformed(format!(
            "Cannot use the body of this call: {error}. See docs/protocol.md."
        ))
    })
}
