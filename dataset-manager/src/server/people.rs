//! Probes, metrics, and the listener for people: plain HTTP on loopback, read only.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use reprise_contract::protocol::path;

use super::answers::Denied;
use super::state::Shared;
use super::{operator, results};
use crate::metrics;

/// The calls of the listener for people. Whoever reaches it may read, and change nothing.
pub(super) fn routes(shared: &Arc<Shared>) -> Router {
    probes()
        .merge(metrics())
        .merge(results::readable())
        .route(path::STATUS, get(operator::status))
        .fallback(|| async { Denied::not_found() })
        .method_not_allowed_fallback(|| async { Denied::not_found() })
        .with_state(Arc::clone(shared))
}

/// `/healthz` and `/readyz`.
pub(super) fn probes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
}

async fn ready(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    if shared.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the plan cannot be served\n")
    }
}

/// `/metrics`.
pub(super) fn metrics() -> Router<Arc<Shared>> {
    Router::new().route("/metrics", get(show_metrics))
}

async fn show_metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, metrics::CONTENT_TYPE)],
        metrics::text(&shared.status(), &shared.refused()),
    )
}
