//! Who may call what.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{Next, from_fn_with_state, map_response_with_state};
use axum::response::Response;
use reprise_contract::protocol::{RefusalCode, Role};

use super::answers::Denied;
use super::state::Shared;
use super::{operator, people, results, workers};

/// All calls of the listener that workers and the operator reach. Nothing but probes is answered without a token.
pub(super) fn routes(shared: &Arc<Shared>) -> Router {
    let guarded = |routes: Router<Arc<Shared>>, role: Role| {
        let guard = Guard {
            shared: Arc::clone(shared),
            role,
        };
        routes.route_layer(from_fn_with_state(guard, check))
    };
    let for_operator = operator::routes()
        .merge(results::routes())
        .merge(people::metrics());
    guarded(workers::routes(), Role::Worker)
        .merge(guarded(for_operator, Role::Operator))
        .merge(people::probes())
        .fallback(|| async { Denied::not_found() })
        .method_not_allowed_fallback(|| async { Denied::not_found() })
        .layer(map_response_with_state(Arc::clone(shared), count_refused))
        .with_state(Arc::clone(shared))
}

async fn count_refused(State(shared): State<Arc<Shared>>, response: Response) -> Response {
    if let Some(code) = response.extensions().get::<RefusalCode>() {
        shared.count_refused(*code);
    }
    response
}

#[derive(Clone)]
struct Guard {
    shared: Arc<Shared>,
    role: Role,
}

async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Result<Response, Denied> {
    match role_of(&guard.shared, request.headers()) {
        Some(role) if role == guard.role => Ok(next.run(request).await),
        Some(role) => Err(Denied::new(
            RefusalCode::WrongRole,
            format!(
                "Cannot do that with the {}'s token: it is for the {}. Use that one's token of this run.",
                role.name(),
                guard.role.name()
            ),
        )),
        None => Err(Denied::new(
            RefusalCode::WrongToken,
            "Cannot let you in: the call has no token of this run. Send 'Authorization: Bearer' with the token of the run's Secret.",
        )),
    }
}

fn role_of(shared: &Shared, headers: &HeaderMap) -> Option<Role> {
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let token = token.trim();
    // Both are compared, so that time tells nothing about which.
    let (is_worker, is_operator) = (shared.worker.matches(token), shared.operator.matches(token));
    match (is_worker, is_operator) {
        (true, _) => Some(Role::Worker),
        (_, true) => Some(Role::Operator),
        _ => None,
    }
}
