//! What is answered to a call that is refused.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use reprise_contract::protocol::{Refusal, RefusalCode};

use crate::coordinator::Refused;

/// A call that is refused.
#[derive(Debug)]
pub(super) struct Denied(Refusal);

impl Denied {
    pub(super) fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self(Refusal {
            code,
            message: message.into(),
        })
    }

    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(RefusalCode::Malformed, message)
    }

    pub(super) fn not_now(message: impl Into<String>) -> Self {
        Self::new(RefusalCode::NotNow, message)
    }

    pub(super) fn not_found() -> Self {
        Self::new(
            RefusalCode::NotFound,
            "Cannot find that: there is no such call or file. See docs/protocol.md.",
        )
    }

    fn status(&self) -> StatusCode {
        match self.0.code {
            RefusalCode::WrongToken => StatusCode::UNAUTHORIZED,
            RefusalCode::WrongRole => StatusCode::FORBIDDEN,
            RefusalCode::WrongVersion | RefusalCode::Malformed => StatusCode::BAD_REQUEST,
            RefusalCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            RefusalCode::NoSuchIndex | RefusalCode::NotFound => StatusCode::NOT_FOUND,
            RefusalCode::IndexTaken | RefusalCode::Replaced | RefusalCode::OutOfOrder => StatusCode::CONFLICT,
            RefusalCode::NotNow => StatusCode::SERVICE_UNAVAILABLE,
            RefusalCode::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
        }
    }
}

impl From<Refused> for Denied {
    fn from(refused: Refused) -> Self {
        Self::new(refused.code(), refused.to_string())
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(&self.0)).into_response();
        response.extensions_mut().insert(self.0.code);
        match self.0.code {
            RefusalCode::WrongToken => {
                response
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            RefusalCode::NotNow => {
                response
                    .headers_mut()
                    .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
