//! What is in a trace, told before anyone replays it.
//!
//! An [`Inspector`] looks at each turn as [`read`](crate::read) hands it out, and keeps some 20 bytes of it. A hash id costs
//! 50 to 100 bytes more where no request had it after the same ids before.

mod arrivals;
mod bodies;
mod distribution;
mod sessions;
mod sharing;

use reprise_content::Turn;
use serde::Serialize;

use crate::facts::{DatasetWarning, Facts};

use arrivals::ArrivalsInspector;
pub use arrivals::{Arrivals, Rate};
use bodies::BodiesInspector;
pub use bodies::{Bodies, Model, Models, Streaming};
pub use distribution::Distribution;
use distribution::Values;
pub use sessions::Sessions;
use sessions::SessionsInspector;
pub use sharing::Sharing;
use sharing::SharingInspector;

/// Looks at the turns of a trace, one after the other.
#[derive(Debug, Default)]
pub struct Inspector {
    sessions: SessionsInspector,
    arrivals: ArrivalsInspector,
    input_tokens: Values,
    output_tokens: Values,
    bodies: BodiesInspector,
    sharing: SharingInspector,
}

impl Inspector {
    /// Looks at a turn. Turns come in the order of the trace, and all of them do.
    pub fn add(&mut self, turn: &Turn) {
        let is_later = self.sessions.add(turn.session);
        self.arrivals.add(turn);
        self.input_tokens.extend(turn.input_tokens);
        self.output_tokens.extend(turn.output_tokens);
        self.bodies.add(&turn.body, turn.is_constrained);
        self.sharing.add(turn, is_later);
    }

    /// Says what was seen. `facts` are those of the same trace.
    #[must_use]
    pub fn finish(self, facts: &Facts) -> Inspection {
        let input_tokens = self.input_tokens.distribution();
        let known_input_tokens = input_tokens.as_ref().map_or(0, |tokens| tokens.total);
        Inspection {
            requests: facts.records,
            blank_lines: facts.blank_lines,
            is_timed: facts.is_timed,
            needs_target_model: facts.is_synthesised,
            sessions: self.sessions.finish(),
            arrivals: self.arrivals.finish(),
            output_tokens: self.output_tokens.distribution(),
            bodies: self.bodies.finish(),
            sharing: self.sharing.finish(known_input_tokens),
            warnings: facts.warnings.iter().map(Warning::from).collect(),
            input_tokens,
        }
    }
}

/// What is in a trace, as recorded. What a trace does not say is absent, never guessed: without durations there is nothing
/// about requests in flight.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// Requests: one a record.
    pub requests: u32,
    /// Lines with nothing on them.
    pub blank_lines: u32,
    /// Whether the first turn of every session has a time, so that the recorded schedule can be replayed.
    pub is_timed: bool,
    /// Whether some body is made by Reprise and does not name its model, so that `target.model` must be given.
    pub needs_target_model: bool,
    /// How requests belong together.
    pub sessions: Sessions,
    /// When requests came. Absent if none has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Tokens of the prompt, over the requests that say so. Where a conversation goes on with live answers, these are the
    /// tokens of the user's new words alone. Absent if none says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<Distribution>,
    /// Tokens of the answer, over the requests that say so. Absent if none says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<Distribution>,
    /// What requests say, and how.
    pub bodies: Bodies,
    /// What prompts share. Absent if no request has hash ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// What a person should know before trusting a replay.
    pub warnings: Vec<Warning>,
}

/// A [`DatasetWarning`] in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// A stable name for programs.
    pub code: &'static str,
    /// What to know, for people.
    pub message: String,
}

impl From<&DatasetWarning> for Warning {
    fn from(warning: &DatasetWarning) -> Self {
        Self {
            code: warning.code(),
            message: warning.to_string(),
        }
    }
}

/// `part` of `whole`, from 0 to 1. Nothing of nothing is 0.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests;
