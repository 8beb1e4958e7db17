//! Errors on demand: what a request's own `x-mock-…` headers ask for.

use std::str::FromStr;

use http::{HeaderMap, HeaderName};

use crate::config::ErrorStatus;

const STATUS: HeaderName = HeaderName::from_static("x-mock-status");
const DISCONNECT_AFTER: HeaderName = HeaderName::from_static("x-mock-disconnect-after");
const STREAM_ERROR_AFTER: HeaderName = HeaderName::from_static("x-mock-stream-error-after");
const FINISH_EARLY: HeaderName = HeaderName::from_static("x-mock-finish-early");

/// What goes wrong with one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// Answer with this status and nothing else.
    pub(crate) status: Option<ErrorStatus>,
    /// End the answer in the middle.
    pub(crate) cut: Option<Cut>,
    /// Stop after so many tokens with finish reason `stop`.
    pub(crate) finish_early: Option<u32>,
}

/// An answer that ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Chunks with tokens that come before.
    pub(crate) after_chunks: u32,
    pub(crate) how: CutHow,
}

/// How an answer ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutHow {
    /// The socket is closed.
    Disconnect,
    /// An error event, then `[DONE]`.
    ErrorEvent,
}

/// A header that cannot be followed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FaultError {
    #[error("Cannot use header {name}: its value is not {expected}. Change or remove it.")]
    Value {
        name: HeaderName,
        expected: &'static str,
    },
    #[error("Cannot use {DISCONNECT_AFTER} and {STREAM_ERROR_AFTER} together. Remove one.")]
    TwoCuts,
}

impl Faults {
    pub(crate) fn parse(headers: &HeaderMap) -> Result<Self, FaultError> {
        let chunks = "a whole number of chunks";
        let disconnect = read(headers, DISCONNECT_AFTER, chunks)?;
        let error = read(headers, STREAM_ERROR_AFTER, chunks)?;
        let cut = match (disconnect, error) {
            (Some(_), Some(_)) => return Err(FaultError::TwoCuts),
            (Some(after_chunks), None) => Some(Cut {
                after_chunks,
                how: CutHow::Disconnect,
            }),
            (None, Some(after_chunks)) => Some(Cut {
                after_chunks,
                how: CutHow::ErrorEvent,
            }),
            (None, None) => None,
        };
        Ok(Self {
            status: read(headers, STATUS, "a status from 400 to 599")?,
            cut,
            finish_early: read(headers, FINISH_EARLY, "a whole number of tokens")?,
        })
    }
}

fn read<T: FromStr>(
    headers: &HeaderMap,
    name: HeaderName,
    expected: &'static str,
) -> Result<Option<T>, FaultError> {
    let Some(value) = headers.get(&name) else {
        return Ok(None);
    };
    match value.to_str().ok().and_then(|text| text.parse().ok()) {
        Some(value) => Ok(Some(value)),
        None => Err(FaultError::Value { name, expected }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&'static str, &'static str)]) -> Result<Faults, FaultError> {
        Faults::parse(
            &pairs
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect(),
        )
    }

    #[test]
    fn nothing_goes_wrong_unasked() {
        assert_eq!(parse(&[("x-other", "1")]).unwrap(), Faults::default());
    }

    #[test]
    fn each_header_asks_for_its_fault() {
        let faults = parse(&[
            ("x-mock-status", "429"),
            ("x-mock-stream-error-after", "2"),
            ("x-mock-finish-early", "10"),
        ])
        .unwrap();
        assert_eq!(faults.status.unwrap().get().as_u16(), 429);
        assert_eq!(
            faults.cut,
            Some(Cut {
                after_chunks: 2,
                how: CutHow::ErrorEvent
            })
        );
        assert_eq!(faults.finish_early, Some(10));
        let faults = parse(&[("x-mock-disconnect-after", "3")]).unwrap();
        assert_eq!(
            faults.cut,
            Some(Cut {
                after_chunks: 3,
                how: CutHow::Disconnect
            })
        );
    }

    #[test]
    fn headers_that_cannot_be_followed_are_refused() {
        let refused = [
            parse(&[("x-mock-status", "200")]),
            parse(&[("x-mock-disconnect-after", "-1")]),
            parse(&[("x-mock-finish-early", "soon")]),
            parse(&[
                ("x-mock-disconnect-after", "1"),
                ("x-mock-stream-error-after", "1"),
            ]),
        ];
        insta::assert_snapshot!(refused.map(|result| result.unwrap_err().to_string()).join("\n"));
    }
}
