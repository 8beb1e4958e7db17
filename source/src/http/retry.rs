//! How often a busy server is asked, and when.

use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::Timestamp;
use jiff::fmt::rfc2822;

/// Attempts and the pauses between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    /// In total, the first included.
    pub(crate) attempts: u32,
    /// Each later pause is [`GROWTH`] times as long.
    pub(crate) first_pause: Duration,
    /// Who asks for more is not asked again.
    pub(crate) longest_pause: Duration,
}

const GROWTH: u32 = 4;

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_mins(1),
        }
    }
}

impl Retry {
    /// The pause after so many attempts, at least as long as the server asked for; `None` when there is no further
    /// attempt.
    pub(crate) fn pause(&self, attempts: u32, asked: Option<Duration>) -> Option<Duration> {
        if attempts >= self.attempts {
            return None;
        }
        let grown = self.first_pause * GROWTH.pow(attempts.saturating_sub(1));
        let pause = grown.max(asked.unwrap_or_default());
        (pause <= self.longest_pause).then_some(pause)
    }
}

/// The wait that `Retry-After` asks for, as seconds or as a date; `None` when there is none to wait.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return (seconds > 0).then(|| Duration::from_secs(seconds));
    }
    let until = rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
    let wait = Duration::try_from(until.duration_since(now)).ok()?;
    (!wait.is_zero()).then_some(wait)
}
