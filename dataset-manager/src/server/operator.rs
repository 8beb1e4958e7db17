//! What the operator asks and wants.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use jiff::Timestamp;
use reprise_contract::protocol::{Command, Status, Stop, path};

use super::answers::Denied;
use super::state::Shared;
use super::workers::json;

/// A command that cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[error(
    "Cannot use {deadline:?} as the deadline of the run: {source}. Give a time such as 2026-08-01T12:00:00Z."
)]
pub struct CommandError {
    /// What was given.
    pub deadline: String,
    /// What is wrong with it.
    pub source: jiff::Error,
}

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(path::STATUS, get(status))
        .route(path::CONTROL, post(control))
}

pub(super) async fn status(State(shared): State<Arc<Shared>>) -> Json<Status> {
    Json(shared.status())
}

async fn control(State(shared): State<Arc<Shared>>, request: Request) -> Result<Json<Status>, Denied> {
    let command = json::<Command>(request).await?;
    carry_out(&shared, &command).map_err(|error| Denied::malformed(error.to_string()))?;
    Ok(Json(shared.status()))
}

/// Carries a command out. What it does not name stays as it was.
pub(super) fn carry_out(shared: &Shared, command: &Command) -> Result<(), CommandError> {
    if let Some(deadline) = &command.deadline {
        let wall: Timestamp = deadline.parse().map_err(|source| CommandError {
            deadline: deadline.clone(),
            source,
        })?;
        let deadline_ns = shared.manager_ns(wall);
        shared.with(|coordinator, now| coordinator.set_deadline(now, Some(deadline_ns)));
    }
    if command.cancel {
        shared.with(|coordinator, now| coordinator.stop(now, Stop::Cancelled));
    }
    Ok(())
}
