//! From the replay to the manager: outcomes become batches, batches wait in a spool, a courier delivers them exactly once.
//!
//! The replay is never held up by a slow manager: its outcomes are taken as they come, and wait in memory or on disk.

mod collector;
mod courier;
mod sealer;
mod spool;
mod watermark;

pub(super) use collector::Collector;
pub(super) use courier::deliver;
pub(super) use sealer::Sealer;
pub(super) use spool::{Room, Spool};
pub(super) use watermark::Watermark;

#[cfg(test)]
mod tests {
    use reprise_contract::outcome::{Ending, Gaps, Outcome, Phase, Times};

    /// The outcome of the request of this number.
    pub(crate) fn outcome(number: u32) -> Outcome {
        Outcome {
            request: number,
            session: number,
            turn: 0,
            request_id: None,
            phase: Phase::Measured,
            ending: Ending::Completed,
            times: Times::default(),
            connect_ns: None,
            gaps: Gaps::default(),
            output_chunks: 0,
            input_tokens: None,
            cached_tokens: None,
            output_tokens: None,
            requested_output_tokens: None,
            status: Some(200),
            error: None,
            request_bytes: 0,
            answer_bytes: 0,
            target: 0,
            worker: 0,
            clock_error_ns: None,
        }
    }
}
