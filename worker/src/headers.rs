//! Headers of requests.

use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::target::Target;

/// Headers that every request carries. They win over recorded ones.
#[derive(Clone, Debug)]
pub struct RequestHeaders {
    given: HeaderMap,
}

/// A header that HTTP does not allow.
#[derive(Debug, thiserror::Error)]
#[error(
    "Cannot use header {name:?}: its name or value is not allowed in HTTP. Use printable characters without line breaks."
)]
pub struct RequestHeadersError {
    /// The header's name; its value may be a secret.
    pub name: String,
}

impl RequestHeaders {
    /// No headers but those that HTTP needs.
    pub(crate) fn none() -> Self {
        Self {
            given: HeaderMap::new(),
        }
    }

    /// Headers by name and value.
    ///
    /// # Errors
    /// The first that HTTP does not allow.
    pub fn new<'a>(
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, RequestHeadersError> {
        let (headers, refused) = Self::checked(headers);
        refused.into_iter().next().map_or(Ok(headers), Err)
    }

    /// The headers that HTTP allows, and all that it does not.
    pub(crate) fn checked<'a>(
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> (Self, Vec<RequestHeadersError>) {
        let mut given = HeaderMap::new();
        let mut refused = Vec::new();
        for (name, value) in headers {
            match parse(name, value) {
                Some((key, value)) => {
                    given.append(key, value);
                }
                None => refused.push(RequestHeadersError {
                    name: name.to_owned(),
                }),
            }
        }
        (Self { given }, refused)
    }

    /// The headers of one request: these, then recorded ones of other names, then what HTTP needs.
    pub(crate) fn of_request<'a>(
        &self,
        target: &Target,
        recorded: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> HeaderMap {
        let mut headers = self.given.clone();
        for (name, value) in recorded {
            // Trace formats keep only headers that HTTP allows.
            if let Some((name, value)) = parse(name, value).filter(|(name, _)| !self.given.contains_key(name))
            {
                headers.append(name, value);
            }
        }
        headers
            .entry(CONTENT_TYPE)
            .or_insert(HeaderValue::from_static("application/json"));
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(concat!(
                "reprise/",
                env!("CARGO_PKG_VERSION")
            )));
        if let Ok(host) = HeaderValue::from_str(target.authority.as_str()) {
            headers.insert(HOST, host);
        }
        headers
    }
}

fn parse(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    Some((
        name.parse().ok()?,
        HeaderValue::from_bytes(value.as_bytes()).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use reprise_content::template::Api;

    use super::*;

    #[test]
    fn given_headers_win_whatever_their_case_and_recorded_ones_fill() {
        let given = RequestHeaders::new([("X-Team", "perf")]).unwrap();
        let target = Target::parse("http://host:80", Api::Chat).unwrap();
        let recorded = [
            ("x-team", "other"),
            ("x-tag", "a"),
            ("x-tag", "b"),
            ("user-agent", "recorded"),
        ];
        let headers = given.of_request(&target, recorded.into_iter());
        assert_eq!(headers.get_all("x-team").iter().collect::<Vec<_>>(), ["perf"]);
        assert_eq!(headers.get_all("x-tag").iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(headers["user-agent"], "recorded");
        assert_eq!(headers["host"], "host");
        assert_eq!(headers["content-type"], "application/json");
    }

    #[test]
    fn an_impossible_header_is_named_without_its_value() {
        let error = RequestHeaders::new([("x-key", "secret\r\n")])
            .unwrap_err()
            .to_string();
        assert!(error.contains("x-key") && !error.contains("secret"), "{error}");
    }
}
