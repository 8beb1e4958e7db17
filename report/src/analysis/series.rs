//! What happened over time.

use reprise_contract::summary::Series;
use reprise_contract::{Ending, Outcome};

use super::distribution::{Values, ms, round};
use super::metrics::is_measured;
use super::span::Span;
use super::view;

/// The most slices of a series.
const MOST_SLICES: u64 = 300;
/// A series has no more slices than these ...
const FEWEST_SLICES: u64 = 40;
/// ... unless it can have this many requests in each.
const REQUESTS_A_SLICE: u64 = 8;

/// Collects what happened in each slice, from T0 to the end of the last request.
#[derive(Debug)]
pub(super) struct Timeline {
    slice_ns: i64,
    series: Series,
    ended: Vec<u32>,
    lag_max_ns: Vec<Option<i64>>,
    ttft: Vec<Values>,
    latency: Vec<Values>,
    in_flight: InFlight,
}

impl Timeline {
    pub(super) fn new(span: &Span, planned: u64) -> Self {
        let slice_ns = slice_ns(span.elapsed_ns(), planned);
        let slices = usize::try_from(span.elapsed_ns().unsigned_abs().div_ceil(slice_ns.unsigned_abs()))
            .unwrap_or_default();
        Self {
            slice_ns,
            series: Series {
                slice_s: slice_ns as f64 / 1e9,
                measured_from_s: span.measured_from_ns().map(|from| round(from as f64 / 1e9)),
                recorded: vec![0; slices],
                sent: vec![0; slices],
                completed: vec![0; slices],
                failed: vec![0; slices],
                in_flight: vec![0; slices],
                output_tokens: vec![0; slices],
                lag_max_ms: vec![None; slices],
                ttft_p50_ms: vec![None; slices],
                latency_p50_ms: vec![None; slices],
            },
            ended: vec![0; slices],
            lag_max_ns: vec![None; slices],
            ttft: std::iter::repeat_with(Values::default).take(slices).collect(),
            latency: std::iter::repeat_with(Values::default).take(slices).collect(),
            in_flight: InFlight::default(),
        }
    }

    pub(super) fn add(&mut self, outcome: &Outcome) {
        if let Some(slice) = self.slice(outcome.times.recorded) {
            self.series.recorded[slice] += 1;
        }
        if let Some(slice) = self.slice(outcome.times.sent) {
            self.add_sent(slice, outcome);
        }
        // A request that never reached the socket may still have failed, at the time it was due.
        if let Some(slice) = self.slice(outcome.times.done.or(outcome.times.due)) {
            self.add_ended(slice, outcome);
        }
    }

    fn add_sent(&mut self, slice: usize, outcome: &Outcome) {
        self.series.sent[slice] += 1;
        self.in_flight.add(outcome);
        self.lag_max_ns[slice] = self.lag_max_ns[slice].max(outcome.lag_ns());
        if is_measured(outcome) {
            self.ttft[slice].push(view::ttft(outcome));
            self.latency[slice].push(view::latency(outcome));
        }
    }

    fn add_ended(&mut self, slice: usize, outcome: &Outcome) {
        self.ended[slice] += u32::from(outcome.times.sent.is_some() && outcome.times.done.is_some());
        match outcome.ending {
            Ending::Completed => {
                self.series.completed[slice] += 1;
                self.add_output_tokens(slice, outcome);
            }
            Ending::Failed(_) => self.series.failed[slice] += 1,
            Ending::Cancelled | Ending::Dropped | Ending::NotSent(_) => {}
        }
    }

    /// Spreads the tokens of a streamed answer over the slices that it came in; those of any other are in `end`.
    fn add_output_tokens(&mut self, end: usize, outcome: &Outcome) {
        let tokens = outcome.output_tokens.map_or(0, |tokens| tokens.count);
        let Some(spread) = Spread::of(outcome, tokens) else {
            self.series.output_tokens[end] += u64::from(tokens);
            return;
        };
        let last = self.series.output_tokens.len() - 1;
        let slice = |instant| self.slice(Some(instant)).unwrap_or(last);
        let (from, to) = (slice(spread.first), slice(spread.last));
        let mut counted = 0;
        for index in from..=to {
            let slice_end =
                i64::try_from(index + 1).map_or(i64::MAX, |slices| slices.saturating_mul(self.slice_ns));
            let arrived = if index == to {
                tokens
            } else {
                spread.before(slice_end)
            };
            self.series.output_tokens[index] += u64::from(arrived - counted);
            counted = arrived;
        }
    }

    /// The slice that an instant lies in; the end of the last slice belongs to it. `None` beyond.
    fn slice(&self, instant_ns: Option<i64>) -> Option<usize> {
        let slices = self.ended.len();
        let instant = instant_ns?.max(0);
        let slice = usize::try_from(instant / self.slice_ns).ok()?;
        let end = self.slice_ns * i64::try_from(slices).ok()?;
        if instant == end {
            slices.checked_sub(1)
        } else {
            Some(slice).filter(|&slice| slice < slices)
        }
    }

    /// The series, and the most requests in flight at once.
    pub(super) fn finish(mut self) -> (Series, u64) {
        let micros = |nanoseconds: i64| (ms(nanoseconds) * 1e3).round() / 1e3;
        let median = |values: Values| values.median().and_then(|ns| i64::try_from(ns).ok()).map(micros);
        let mut in_flight: u32 = 0;
        for (slice, ended) in self.ended.iter().enumerate() {
            in_flight = (in_flight + self.series.sent[slice]).saturating_sub(*ended);
            self.series.in_flight[slice] = in_flight;
        }
        self.series.lag_max_ms = self.lag_max_ns.into_iter().map(|lag| lag.map(micros)).collect();
        self.series.ttft_p50_ms = self.ttft.into_iter().map(median).collect();
        self.series.latency_p50_ms = self.latency.into_iter().map(median).collect();
        (self.series, self.in_flight.peak())
    }
}

/// The shortest of 1, 2 and 5 times a power of ten from 1 ms on that cuts the run into few enough slices.
fn slice_ns(elapsed_ns: i64, planned: u64) -> i64 {
    let most = (planned / REQUESTS_A_SLICE).clamp(FEWEST_SLICES, MOST_SLICES);
    let ladder = (6..18).flat_map(|power| [1, 2, 5].map(|step: i64| step * 10_i64.pow(power)));
    let fits = |slice: &i64| elapsed_ns.unsigned_abs().div_ceil(slice.unsigned_abs()) <= most;
    ladder.into_iter().find(fits).unwrap_or(i64::MAX)
}

/// The tokens of a streamed answer, spread evenly from its first output to its last, with one at either end.
#[derive(Clone, Copy, Debug)]
struct Spread {
    first: i64,
    last: i64,
    tokens: u32,
}

impl Spread {
    /// `None` where the answer was not streamed, or its times are out of order.
    fn of(outcome: &Outcome, tokens: u32) -> Option<Self> {
        let (first, last) = (outcome.times.first_output?, outcome.times.last_output?);
        (first <= last).then_some(Self { first, last, tokens })
    }

    /// How many tokens came before `instant`.
    fn before(&self, instant: i64) -> u32 {
        if instant <= self.first || self.tokens == 0 {
            return 0;
        }
        if instant > self.last {
            return self.tokens;
        }
        let passed = u128::from(instant.abs_diff(self.first));
        let generation = u128::from(self.last.abs_diff(self.first));
        let gaps = u128::from(self.tokens - 1);
        let came = (passed * gaps).div_ceil(generation).max(1);
        u32::try_from(came).unwrap_or(self.tokens)
    }
}

/// When requests began and ended to be in flight.
#[derive(Debug, Default)]
struct InFlight {
    starts: Vec<i64>,
    ends: Vec<i64>,
}

impl InFlight {
    fn add(&mut self, outcome: &Outcome) {
        self.starts.extend(outcome.times.sent);
        self.ends.push(outcome.times.done.unwrap_or(i64::MAX));
    }

    /// The most at once. A request that ends at the instant another starts makes room for it.
    fn peak(mut self) -> u64 {
        self.starts.sort_unstable();
        self.ends.sort_unstable();
        let (mut ended, mut peak) = (0_usize, 0_usize);
        for (started, start) in (1_usize..).zip(&self.starts) {
            ended += self.ends[ended..].iter().take_while(|end| *end <= start).count();
            peak = peak.max(started.saturating_sub(ended));
        }
        peak as u64
    }
}

#[cfg(test)]
mod tests {
    use reprise_contract::outcome::Times;

    use super::*;
    use crate::fixtures;

    const SECOND: i64 = 1_000_000_000;

    fn timeline(outcomes: &[Outcome]) -> (Series, u64) {
        let mut span = Span::default();
        for outcome in outcomes {
            span.add(outcome);
        }
        let mut timeline = Timeline::new(&span, outcomes.len() as u64);
        for outcome in outcomes {
            timeline.add(outcome);
        }
        timeline.finish()
    }

    fn at(request: u32, sent: i64, done: Option<i64>) -> Outcome {
        let times = Times {
            recorded: Some(sent),
            due: Some(sent),
            sent: Some(sent),
            done,
            ..Times::default()
        };
        Outcome {
            times,
            ..fixtures::unstreamed(request)
        }
    }

    #[test]
    fn slices_are_round_and_few() {
        assert_eq!(slice_ns(3_600 * SECOND, 12_000), 20 * SECOND);
        assert_eq!(slice_ns(59 * SECOND, 12_000), SECOND / 5);
        assert_eq!(slice_ns(5 * SECOND, 50), SECOND / 5);
        assert_eq!(slice_ns(0, 0), SECOND / 1_000);
        for elapsed in [1, 7, 299, 301, 86_400] {
            let slices = (elapsed * SECOND)
                .unsigned_abs()
                .div_ceil(slice_ns(elapsed * SECOND, 10_000).unsigned_abs());
            assert!(slices <= MOST_SLICES, "{elapsed} s in {slices}");
        }
    }

    #[test]
    fn the_end_of_the_run_lies_in_its_last_slice() {
        let (series, peak) = timeline(&[at(0, 0, Some(4 * SECOND)), at(1, SECOND, Some(2 * SECOND))]);
        assert_eq!(series.sent.len(), 40);
        assert_eq!(series.completed.iter().sum::<u32>(), 2);
        assert_eq!(
            (series.in_flight[0], series.in_flight[15], series.in_flight[39]),
            (1, 2, 0)
        );
        assert_eq!(peak, 2);
    }

    #[test]
    fn what_takes_a_freed_place_is_no_more_in_flight() {
        assert_eq!(
            timeline(&[at(0, 0, Some(10)), at(1, 10, Some(20)), at(2, 20, Some(30))]).1,
            1
        );
    }

    #[test]
    fn a_request_without_an_end_stays_in_flight() {
        let (series, peak) = timeline(&[at(0, 0, None), at(1, SECOND, Some(2 * SECOND))]);
        assert_eq!((series.in_flight.last(), peak), (Some(&1), 2));
    }

    /// A streamed request, sent at 0, of four tokens.
    fn generating(first_output: i64, last_output: i64) -> Outcome {
        let mut outcome = at(0, 0, Some(4 * SECOND));
        outcome.times.first_output = Some(first_output);
        outcome.times.last_output = Some(last_output);
        outcome.output_tokens = Some(reprise_contract::outcome::Tokens {
            count: 4,
            source: reprise_contract::TokenSource::ServerUsage,
        });
        outcome
    }

    fn tokens_by_second(outcome: Outcome) -> [u64; 4] {
        let (series, _) = timeline(&[outcome]);
        assert_eq!(series.output_tokens.len(), 40);
        [0, 10, 20, 30].map(|from| series.output_tokens[from..from + 10].iter().sum())
    }

    #[test]
    fn tokens_of_a_stream_are_spread_from_its_first_output_to_its_last() {
        let half = SECOND / 2;
        assert_eq!(tokens_by_second(generating(half, 7 * half)), [1, 1, 1, 1]);
        assert_eq!(tokens_by_second(generating(0, 3 * half)), [2, 2, 0, 0]);
        assert_eq!(tokens_by_second(generating(half, half)), [4, 0, 0, 0]);
        assert_eq!(tokens_by_second(generating(half, 4 * SECOND)), [1, 1, 1, 1]);
        assert_eq!(
            tokens_by_second(generating(half, 9 * SECOND)),
            [1, 0, 0, 3],
            "what no clock could tell is still counted"
        );
    }

    #[test]
    fn tokens_without_a_stream_count_at_the_end() {
        let mut outcome = generating(0, 0);
        outcome.times.first_output = None;
        assert_eq!(tokens_by_second(outcome), [0, 0, 0, 4]);
        assert_eq!(
            tokens_by_second(generating(SECOND, 0)),
            [0, 0, 0, 4],
            "times out of order"
        );
    }

    #[test]
    fn what_was_recorded_after_the_end_is_outside() {
        let mut late = fixtures::unstreamed(1);
        late.times = Times {
            recorded: Some(60 * SECOND),
            ..Times::default()
        };
        late.ending = Ending::NotSent(reprise_contract::NotSentReason::RunCancelled);
        let (series, _) = timeline(&[at(0, 0, Some(SECOND)), late]);
        assert_eq!(series.recorded.iter().sum::<u32>(), 1);
    }

    #[test]
    fn nothing_sent_is_no_slice() {
        assert!(timeline(&[]).0.sent.is_empty());
    }
}
