//! Which headers a spec may set.

use http::{HeaderName, HeaderValue};
use reprise_contract::credentials::is_credential_name;

/// Why a spec may not set a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It carries a credential, which belongs in a Secret.
    Credential,
    /// The connection sets it, or would break if it were set.
    Connection,
    /// It says how bodies are compressed.
    Encoding,
    /// It is no header name at all (RFC 9110, 5.6.2).
    NotAName,
}

/// Headers of the connection and of the message's framing (RFC 9110, 7.6.1; RFC 9112, 6 and 7).
const CONNECTION: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Bodies are sent as they are, and answers are timed piece by piece, which a compressor would hold back.
const ENCODING: [&str; 2] = ["accept-encoding", "content-encoding"];

/// Why the header `name` may not be set, if it may not.
pub(crate) fn refusal(name: &str) -> Option<Refusal> {
    let lower = name.to_ascii_lowercase();
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        Some(Refusal::NotAName)
    } else if is_credential_name(name) {
        Some(Refusal::Credential)
    } else if CONNECTION.contains(&lower.as_str()) {
        Some(Refusal::Connection)
    } else if ENCODING.contains(&lower.as_str()) {
        Some(Refusal::Encoding)
    } else {
        None
    }
}

/// Whether a header's value can be sent: HTTP has no control characters in it but the tab.
pub(crate) fn is_value(value: &str) -> bool {
    HeaderValue::from_bytes(value.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_recognised_in_every_spelling() {
        for name in [
            "authorization",
            "Authorization",
            "AUTHORIZATION",
            "Proxy-Authorization",
            "proxy_authorization",
            "Proxy-Connection",
            "Cookie",
            "Set-Cookie",
            "X-Api-Key",
            "x_api_key",
            "api-key",
            "apikey",
            "X-Amz-Security-Token",
            "x-hub-signature-256",
        ] {
            assert_eq!(refusal(name), Some(Refusal::Credential), "{name}");
        }
    }

    #[test]
    fn other_headers_may_be_set() {
        for name in [
            "x-team",
            "User-Agent",
            "Content-Type",
            "Accept",
            "x-request-id",
            "OpenAI-Organization",
            "Idempotency-Key",
            "x-session-affinity",
        ] {
            assert_eq!(refusal(name), None, "{name}");
        }
    }

    #[test]
    fn what_the_connection_needs_and_what_is_no_name_is_refused() {
        for name in ["Host", "content-length", "Transfer-Encoding", "TE"] {
            assert_eq!(refusal(name), Some(Refusal::Connection), "{name}");
        }
        for name in ["Accept-Encoding", "content-encoding"] {
            assert_eq!(refusal(name), Some(Refusal::Encoding), "{name}");
        }
        for name in ["", "x team", "x:team", "x\r\nteam", "übung"] {
            assert_eq!(refusal(name), Some(Refusal::NotAName), "{name}");
        }
    }

    #[test]
    fn a_value_stays_on_its_line() {
        assert!(is_value("perf, ünïcode\t"));
        for value in ["a\nb", "a\r", "a\0", "a\u{1b}b", "a\u{7f}"] {
            assert!(!is_value(value), "{value:?}");
        }
    }
}
