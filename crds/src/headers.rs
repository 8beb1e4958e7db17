//! Which headers a spec may set.

use crate::nearest::plain;

/// Why a spec may not set a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It carries a credential, which belongs in a Secret.
    Credential,
    /// The connection sets it, or would break if it were set.
    Connection,
    /// It is no header name at all (RFC 9110, 5.6.2).
    NotAName,
}

/// Headers that carry credentials, as [`plain`] writes them. `proxy-*` comes on top.
const CREDENTIALS: [&str; 6] = [
    "apikey",
    "authorization",
    "cookie",
    "setcookie",
    "xamzsecuritytoken",
    "xapikey",
];

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

/// Why the header `name` may not be set, if it may not.
pub(crate) fn refusal(name: &str) -> Option<Refusal> {
    let lower = name.to_ascii_lowercase();
    if name.is_empty() || !name.bytes().all(is_token) {
        Some(Refusal::NotAName)
    } else if CREDENTIALS.contains(&plain(name).as_str()) || lower.replace('_', "-").starts_with("proxy-") {
        Some(Refusal::Credential)
    } else if CONNECTION.contains(&lower.as_str()) {
        Some(Refusal::Connection)
    } else {
        None
    }
}

/// Whether a header's value can be sent without breaking out of its line.
pub(crate) fn is_value(value: &str) -> bool {
    !value.contains(['\r', '\n', '\0'])
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
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
        ] {
            assert_eq!(refusal(name), None, "{name}");
        }
    }

    #[test]
    fn what_the_connection_needs_and_what_is_no_name_is_refused() {
        for name in ["Host", "content-length", "Transfer-Encoding", "TE"] {
            assert_eq!(refusal(name), Some(Refusal::Connection), "{name}");
        }
        for name in ["", "x team", "x:team", "x\r\nteam", "übung"] {
            assert_eq!(refusal(name), Some(Refusal::NotAName), "{name}");
        }
    }

    #[test]
    fn a_value_stays_on_its_line() {
        assert!(is_value("perf, ünïcode\t"));
        for value in ["a\nb", "a\r", "a\0"] {
            assert!(!is_value(value));
        }
    }
}
