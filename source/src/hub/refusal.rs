//! What the hub means when it refuses.

use http::{HeaderMap, StatusCode};

/// As the Python client sends and compares it. With a token that the hub does not know, all that it says is this.
const BAD_TOKEN: &str = "Invalid credentials in Authorization header";
const DISABLED: &str = "Access to this resource is disabled.";

/// The meaning of an answer that is neither what was asked for nor a wish to be asked later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NoRepository,
    NoRevision,
    NoEntry,
    Gated,
    BadToken,
    Forbidden,
    Disabled,
    /// Nothing that a hub says.
    Other(StatusCode),
}

impl Refusal {
    pub(super) fn of_headers(status: StatusCode, headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Self::of(status, text("x-error-code"), text("x-error-message"))
    }

    /// With the hub's code and message, as headers and hf-hub's errors have them.
    pub(super) fn of(status: StatusCode, code: Option<&str>, message: Option<&str>) -> Self {
        match (code, status) {
            (Some("RevisionNotFound"), _) => Self::NoRevision,
            (Some("EntryNotFound"), _) => Self::NoEntry,
            (Some("GatedRepo"), _) => Self::Gated,
            _ if message == Some(DISABLED) => Self::Disabled,
            (_, StatusCode::UNAUTHORIZED) if message == Some(BAD_TOKEN) => Self::BadToken,
            // To somebody who is not logged in, the hub does not say what is private and what does not exist.
            (Some("RepoNotFound"), _) | (_, StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND) => {
                Self::NoRepository
            }
            (_, StatusCode::FORBIDDEN) => Self::Forbidden,
            _ => Self::Other(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        let of =
            |status: u16, code, message| Refusal::of(StatusCode::from_u16(status).unwrap(), code, message);
        for (refusal, expected) in [
            (
                of(404, Some("RepoNotFound"), Some("Repository not found")),
                Refusal::NoRepository,
            ),
            (of(401, Some("RepoNotFound"), None), Refusal::NoRepository),
            (
                of(401, None, Some("Invalid username or password.")),
                Refusal::NoRepository,
            ),
            (of(404, None, None), Refusal::NoRepository),
            (
                of(404, Some("RevisionNotFound"), Some("Invalid rev id: x")),
                Refusal::NoRevision,
            ),
            (of(404, Some("EntryNotFound"), None), Refusal::NoEntry),
            (
                of(
                    401,
                    Some("GatedRepo"),
                    Some("Access to dataset a/b is restricted."),
                ),
                Refusal::Gated,
            ),
            (of(403, Some("GatedRepo"), None), Refusal::Gated),
            (of(401, None, Some(BAD_TOKEN)), Refusal::BadToken),
            (of(403, None, None), Refusal::Forbidden),
            (of(403, None, Some(DISABLED)), Refusal::Disabled),
            (of(400, None, None), Refusal::Other(StatusCode::BAD_REQUEST)),
        ] {
            assert_eq!(refusal, expected);
        }
    }
}
