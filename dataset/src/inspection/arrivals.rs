//! When requests came.

use reprise_content::Turn;
use serde::Serialize;

use super::distribution::nearest_rank;

const NS_PER_S: f64 = 1e9;

/// When requests came, of those that have a time.
///
/// Means are over the whole span. Where it is 0, all came at one time and there is no rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Arrivals {
    /// Requests that have a time.
    pub timed_requests: u32,
    /// From the first to the last, in seconds.
    pub span_seconds: f64,
    /// Requests a second. Absent if the span is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_requests_per_second: Option<f64>,
    /// Known input tokens of timed requests a second. Absent if the span is 0 or no such tokens are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_input_tokens_per_second: Option<f64>,
    /// Known output tokens of timed requests a second. Absent if the span is 0 or no such tokens are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_output_tokens_per_second: Option<f64>,
    /// Different times.
    pub distinct_timestamps: u32,
    /// The most requests that have the very same time.
    pub max_requests_at_one_time: u32,
    /// The 99th percentile of the gaps between one request and the next in time, in seconds, by nearest rank. A gap is 0
    /// between requests of the same time. Absent if there is only one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_p99_seconds: Option<f64>,
    /// The longest of these gaps, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_max_seconds: Option<f64>,
    /// Requests over time. Absent if the span is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Requests over time, in buckets of equal width from the first request on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rate {
    /// The width of a bucket in seconds, which is a round number.
    pub bucket_seconds: f64,
    /// Requests in the fullest bucket, divided by its width.
    pub peak_requests_per_second: f64,
    /// Requests in each bucket, at most 60 of them. The last bucket goes beyond the end of the span.
    pub requests: Vec<u32>,
}

/// Keeps the times of requests. Eight bytes each.
#[derive(Debug, Default)]
pub(super) struct ArrivalsInspector {
    times_ns: Vec<i64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl ArrivalsInspector {
    pub(super) fn add(&mut self, turn: &Turn) {
        let Some(ns) = turn.recorded_ns else {
            return;
        };
        self.times_ns.push(ns);
        add(&mut self.input_tokens, turn.input_tokens);
        add(&mut self.output_tokens, turn.output_tokens);
    }

    pub(super) fn finish(mut self) -> Option<Arrivals> {
        self.times_ns.sort_unstable();
        let times = self.times_ns.as_slice();
        let (first, last) = (times.first()?, times.last()?);
        let span_ns = last.abs_diff(*first);
        let span = seconds(span_ns);
        let per_second = |amount: f64| (span_ns > 0).then(|| amount / span);
        let of_one_time = || times.chunk_by(|one, other| one == other);
        let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1].abs_diff(pair[0])).collect();
        gaps.sort_unstable();
        Some(Arrivals {
            timed_requests: number(times.len()),
            span_seconds: span,
            mean_requests_per_second: per_second(times.len() as f64),
            mean_input_tokens_per_second: self.input_tokens.and_then(|tokens| per_second(tokens as f64)),
            mean_output_tokens_per_second: self.output_tokens.and_then(|tokens| per_second(tokens as f64)),
            distinct_timestamps: number(of_one_time().count()),
            max_requests_at_one_time: number(of_one_time().map(<[i64]>::len).max().unwrap_or(0)),
            gap_p99_seconds: nearest_rank(&gaps, 99).map(seconds),
            gap_max_seconds: gaps.last().copied().map(seconds),
            rate: Rate::of(times, span_ns),
        })
    }
}

impl Rate {
    const MAX_BUCKETS: u64 = 60;

    /// The rate of sorted times that span so much.
    fn of(times: &[i64], span_ns: u64) -> Option<Self> {
        let first = *times.first().filter(|_| span_ns > 0)?;
        let width_ns = bucket_width_ns(span_ns);
        let bucket = |ns: &i64| ns.abs_diff(first) / width_ns;
        let mut requests = vec![0_u32; usize::try_from(span_ns / width_ns).ok()? + 1];
        for run in times.chunk_by(|one, other| bucket(one) == bucket(other)) {
            let index = usize::try_from(bucket(&run[0])).ok()?;
            requests[index] = number(run.len());
        }
        let peak = requests.iter().copied().max().unwrap_or(0);
        let bucket_seconds = seconds(width_ns);
        Some(Self {
            bucket_seconds,
            peak_requests_per_second: f64::from(peak) / bucket_seconds,
            requests,
        })
    }
}

/// The smallest round width with which no more than [`Rate::MAX_BUCKETS`] buckets cover the span, its end included.
fn bucket_width_ns(span_ns: u64) -> u64 {
    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;
    const MIN: u64 = 60 * S;
    const H: u64 = 60 * MIN;
    const DAY: u64 = 24 * H;
    const ROUND: [u64; 28] = [
        MS,
        2 * MS,
        5 * MS,
        10 * MS,
        20 * MS,
        50 * MS,
        100 * MS,
        200 * MS,
        500 * MS,
        S,
        2 * S,
        5 * S,
        10 * S,
        15 * S,
        20 * S,
        30 * S,
        MIN,
        2 * MIN,
        5 * MIN,
        10 * MIN,
        15 * MIN,
        20 * MIN,
        30 * MIN,
        H,
        2 * H,
        3 * H,
        6 * H,
        12 * H,
    ];
    let is_enough = |width: &u64| span_ns / width < Rate::MAX_BUCKETS;
    let whole_days = || DAY * (span_ns / (Rate::MAX_BUCKETS * DAY) + 1);
    ROUND.into_iter().find(is_enough).unwrap_or_else(whole_days)
}

fn add(total: &mut Option<u64>, tokens: Option<u32>) {
    if let Some(tokens) = tokens {
        *total = Some(total.unwrap_or(0) + u64::from(tokens));
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S
}

/// Records are numbered with 32 bits.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrivals(times_ms: &[i64]) -> Option<Arrivals> {
        let inspector = ArrivalsInspector {
            times_ns: times_ms.iter().map(|ms| ms * 1_000_000).collect(),
            ..ArrivalsInspector::default()
        };
        inspector.finish()
    }

    #[test]
    fn times_need_not_be_in_order() {
        let found = arrivals(&[4000, 0, 1000, 1000, 1000]).unwrap();
        assert_eq!((found.timed_requests, found.distinct_timestamps), (5, 3));
        assert_eq!((found.span_seconds, found.max_requests_at_one_time), (4.0, 3));
        assert_eq!(found.mean_requests_per_second, Some(1.25));
        assert_eq!(
            (found.gap_p99_seconds, found.gap_max_seconds),
            (Some(3.0), Some(3.0))
        );
        let rate = found.rate.unwrap();
        assert_eq!((rate.bucket_seconds, rate.requests.len()), (0.1, 41));
        assert_eq!(
            (rate.requests[0], rate.requests[10], rate.requests[40]),
            (1, 3, 1)
        );
        assert_eq!(rate.peak_requests_per_second.to_bits(), 30f64.to_bits());
    }

    #[test]
    fn without_a_span_there_is_no_rate() {
        let found = arrivals(&[7, 7]).unwrap();
        assert_eq!((found.span_seconds, found.mean_requests_per_second), (0.0, None));
        assert_eq!((found.rate, found.gap_p99_seconds), (None, Some(0.0)));
        assert_eq!(arrivals(&[7]).unwrap().gap_p99_seconds, None);
    }

    #[test]
    fn without_times_there_is_nothing() {
        assert_eq!(arrivals(&[]), None);
    }

    #[test]
    fn widths_are_round() {
        let width_s = |span_s: u64| bucket_width_ns(span_s * 1_000_000_000) / 1_000_000_000;
        assert_eq!((width_s(59), width_s(60)), (1, 2));
        assert_eq!((width_s(3537), width_s(3600)), (60, 120));
        assert_eq!(width_s(86_400 * 60), 2 * 86_400);
    }

    proptest! {
        #[test]
        fn buckets_hold_every_request(times in proptest::collection::vec(any::<i64>(), 2..100), scale in 0_u32..62) {
            let times: Vec<_> = times.into_iter().map(|ns| ns >> scale).collect();
            let inspector = ArrivalsInspector { times_ns: times.clone(), ..ArrivalsInspector::default() };
            let found = inspector.finish().unwrap();
            if let Some(rate) = found.rate {
                prop_assert!(rate.requests.len() <= 60);
                prop_assert_eq!(rate.requests.iter().sum::<u32>() as usize, times.len());
            } else {
                prop_assert!(times.iter().all(|time| *time == times[0]));
            }
        }
    }
}
