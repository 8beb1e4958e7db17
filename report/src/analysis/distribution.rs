//! From values to a [`Distribution`].

use reprise_contract::histogram::{bucket_bounds_ns, nearest_rank};
use reprise_contract::summary::{Distribution, Percentiles};
use reprise_contract::{Gaps, Histogram};

/// How percentiles are computed, for the reader of a result.
pub(super) const PERCENTILE_METHOD: &str = "Nearest rank: pN is the smallest value that at least N % of all values do not \
     exceed. Inter-chunk latency comes from a histogram and is at most 1/64 too high.";

/// What a raw value counts, and so how it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nanoseconds, shown as milliseconds.
    Nanoseconds,
    /// Things, shown as they are.
    Count,
}

impl Unit {
    fn shown(self, value: f64) -> f64 {
        match self {
            Self::Nanoseconds => round(value / 1e6),
            Self::Count => round(value),
        }
    }
}

/// Nanoseconds as milliseconds.
pub(super) fn ms(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// Rounds to six decimals: a nanosecond where the unit is a millisecond, and no digits that carry nothing.
pub(super) fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Values of one metric, eight bytes each.
#[derive(Debug, Default)]
pub(super) struct Values {
    values: Vec<u64>,
    negative: u64,
}

impl Values {
    /// Adds a value, if there is one. One below zero is counted apart.
    pub(super) fn push(&mut self, value: Option<i64>) {
        match value.map(u64::try_from) {
            None => {}
            Some(Ok(value)) => self.values.push(value),
            Some(Err(_)) => self.negative += 1,
        }
    }

    /// How many were below zero.
    pub(super) fn negative(&self) -> u64 {
        self.negative
    }

    /// The median by nearest rank.
    pub(super) fn median(mut self) -> Option<u64> {
        let rank = usize::try_from(nearest_rank(self.values.len() as u64, 0.5)?).ok()?;
        Some(*self.values.select_nth_unstable(rank).1)
    }

    /// The distribution, or `None` when there is no value.
    pub(super) fn distribution(self, unit: Unit) -> Option<Distribution> {
        let mut values = self.values;
        values.sort_unstable();
        let (&least, &greatest) = (values.first()?, values.last()?);
        let count = values.len() as u64;
        let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
        let mean = sum as f64 / count as f64;
        let variance = values
            .iter()
            .map(|&value| (value as f64 - mean).powi(2))
            .sum::<f64>()
            / count as f64;
        let mut histogram = Histogram::default();
        for &value in &values {
            histogram.record(value);
        }
        let at = |quantile| sorted_quantile(&values, quantile).unwrap_or(greatest);
        Some(Distribution {
            count,
            mean: unit.shown(mean),
            std_dev: unit.shown(variance.sqrt()),
            min: unit.shown(least as f64),
            max: unit.shown(greatest as f64),
            percentiles: percentiles(|quantile| unit.shown(at(quantile) as f64)),
            histogram,
        })
    }
}

/// The value at a quantile of sorted values, by nearest rank. `None` when there are none.
pub(super) fn sorted_quantile<T: Copy>(sorted: &[T], quantile: f64) -> Option<T> {
    let rank = nearest_rank(sorted.len() as u64, quantile)?;
    sorted.get(usize::try_from(rank).ok()?).copied()
}

/// The distribution of gaps: count, sum and extremes from `exact`, the rest from `histogram`. `None` when either is empty.
pub(super) fn of_gaps(exact: &GapTotals, histogram: &Histogram) -> Option<Distribution> {
    let unit = Unit::Nanoseconds;
    if exact.count == 0 {
        return None;
    }
    let mean = exact.sum_ns as f64 / exact.count as f64;
    let counted = histogram.count() as f64;
    let squares = histogram.buckets().map(|(bucket, count)| {
        let (least, greatest) = bucket_bounds_ns(bucket);
        let middle = least as f64 + (greatest - least) as f64 / 2.0;
        count as f64 * (middle - mean).powi(2)
    });
    let std_dev = (squares.sum::<f64>() / counted).sqrt();
    // A bucket's upper bound can lie beyond the greatest gap.
    let at = |quantile| {
        histogram
            .quantile(quantile)
            .map(|value| value.clamp(exact.min_ns, exact.max_ns))
    };
    histogram.quantile(0.5)?;
    Some(Distribution {
        count: exact.count,
        mean: unit.shown(mean),
        std_dev: unit.shown(std_dev),
        min: unit.shown(exact.min_ns as f64),
        max: unit.shown(exact.max_ns as f64),
        percentiles: percentiles(|quantile| unit.shown(at(quantile).unwrap_or(exact.max_ns) as f64)),
        histogram: histogram.clone(),
    })
}

/// The gaps of all requests together.
#[derive(Debug)]
pub(super) struct GapTotals {
    /// How many.
    pub(super) count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for GapTotals {
    fn default() -> Self {
        Self {
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl GapTotals {
    /// Adds the gaps of one request.
    pub(super) fn add(&mut self, gaps: &Gaps) {
        if gaps.count > 0 {
            self.count += u64::from(gaps.count);
            self.sum_ns += u128::from(gaps.sum_ns);
            self.min_ns = self.min_ns.min(gaps.min_ns);
            self.max_ns = self.max_ns.max(gaps.max_ns);
        }
    }
}

fn percentiles(at: impl Fn(f64) -> f64) -> Percentiles {
    Percentiles {
        p1: at(0.01),
        p5: at(0.05),
        p10: at(0.1),
        p25: at(0.25),
        p50: at(0.5),
        p75: at(0.75),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
    }
}

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "percentiles are values as they were given, and the means here are exact"
)]
mod tests {
    use super::*;

    fn values(values: impl IntoIterator<Item = i64>) -> Values {
        let mut collected = Values::default();
        values.into_iter().for_each(|value| collected.push(Some(value)));
        collected
    }

    #[test]
    fn one_value_is_every_percentile_and_both_extremes() {
        let distribution = values([7_000_000]).distribution(Unit::Nanoseconds).unwrap();
        let Percentiles {
            p1, p50, p99, p999, ..
        } = distribution.percentiles;
        assert_eq!(
            [
                p1,
                p50,
                p99,
                p999,
                distribution.min,
                distribution.max,
                distribution.mean
            ],
            [7.0; 7]
        );
        assert_eq!(distribution.std_dev, 0.0);
        assert_eq!(distribution.count, 1);
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let distribution = values((1..=200).rev()).distribution(Unit::Count).unwrap();
        let Percentiles {
            p1,
            p50,
            p95,
            p99,
            p999,
            ..
        } = distribution.percentiles;
        assert_eq!([p1, p50, p95, p99, p999], [2.0, 100.0, 190.0, 198.0, 200.0]);
        assert_eq!(distribution.mean, 100.5);
        assert_eq!(distribution.histogram.count(), 200);
    }

    #[test]
    fn no_value_is_no_distribution() {
        assert_eq!(values([]).distribution(Unit::Count), None);
        let negative = values([-1]);
        assert_eq!(negative.negative(), 1);
        assert_eq!(negative.distribution(Unit::Count), None);
    }

    #[test]
    fn the_median_needs_no_order() {
        assert_eq!(values([5, 1, 4, 2]).median(), Some(2));
        assert_eq!(values([]).median(), None);
    }

    #[test]
    fn gaps_have_exact_extremes_and_close_percentiles() {
        let (mut exact, mut histogram, mut gaps) =
            (GapTotals::default(), Histogram::default(), Gaps::default());
        for gap in (1..=1000).map(|step| step * 10_007) {
            gaps.record(gap);
            histogram.record(gap);
        }
        exact.add(&gaps);
        exact.add(&Gaps::default());
        let distribution = of_gaps(&exact, &histogram).unwrap();
        assert_eq!(
            (distribution.count, distribution.min, distribution.max),
            (1000, 0.010_007, 10.007)
        );
        let p50 = distribution.percentiles.p50;
        assert!((5.003..=5.003 * 65.0 / 64.0 + 0.001).contains(&p50), "{p50}");
        assert!(distribution.percentiles.p999 <= distribution.max);
        assert!(
            (distribution.std_dev - 2.888).abs() < 0.03,
            "{}",
            distribution.std_dev
        );
        assert_eq!(of_gaps(&GapTotals::default(), &Histogram::default()), None);
    }
}
