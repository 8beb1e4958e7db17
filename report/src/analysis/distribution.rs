//! From values to a [`Distribution`].

use reprise_contract::histogram::{bucket_bounds_ns, nearest_rank};
use reprise_contract::summary::{Distribution, Percentiles};
use reprise_contract::{Gaps, Histogram};

use crate::numbers::count;

/// Percentiles of a metric of at most so many values are exact. Beyond it they come from a histogram of fixed layout, so that
/// memory does not grow with the run, and are at most 1/64 too high.
pub const EXACT_VALUES: usize = 1_000_000;

/// How percentiles are computed, for the reader of a result. `most_values` is the greatest number of values of a metric.
pub(super) fn percentile_method(most_values: u64) -> String {
    let histograms = if most_values > EXACT_VALUES as u64 {
        format!(
            "Inter-chunk latency, and every metric of more than {} values, come from histograms and are at most 1/64 too high.",
            count(EXACT_VALUES as u64)
        )
    } else {
        "Inter-chunk latency comes from a histogram and is at most 1/64 too high.".to_owned()
    };
    format!(
        "Nearest rank: pN is the smallest value that at least N % of all values do not exceed. {histograms}"
    )
}

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

/// Values of one metric: kept as they are, eight bytes each, until there are too many.
#[derive(Debug)]
pub(super) struct Values {
    kept: Kept,
    most_exact: usize,
    negative: u64,
}

#[derive(Debug)]
enum Kept {
    Exact(Vec<u64>),
    Counted(Totals, Histogram),
}

impl Default for Values {
    fn default() -> Self {
        Self::exact_up_to(EXACT_VALUES)
    }
}

impl Values {
    fn exact_up_to(most_exact: usize) -> Self {
        Self {
            kept: Kept::Exact(Vec::new()),
            most_exact,
            negative: 0,
        }
    }

    /// Adds a value, if there is one. One below zero is counted apart.
    pub(super) fn push(&mut self, value: Option<i64>) {
        match value.map(u64::try_from) {
            None => {}
            Some(Ok(value)) => self.keep(value),
            Some(Err(_)) => self.negative += 1,
        }
    }

    fn keep(&mut self, value: u64) {
        match &mut self.kept {
            Kept::Exact(values) => {
                values.push(value);
                if values.len() > self.most_exact {
                    let (totals, histogram) = counted(values);
                    self.kept = Kept::Counted(totals, histogram);
                }
            }
            Kept::Counted(totals, histogram) => {
                totals.add(value);
                histogram.record(value);
            }
        }
    }

    /// How many were below zero.
    pub(super) fn negative(&self) -> u64 {
        self.negative
    }

    /// The median by nearest rank.
    pub(super) fn median(self) -> Option<u64> {
        match self.kept {
            Kept::Exact(mut values) => {
                let rank = usize::try_from(nearest_rank(values.len() as u64, 0.5)?).ok()?;
                Some(*values.select_nth_unstable(rank).1)
            }
            Kept::Counted(totals, histogram) => {
                let median = histogram.quantile(0.5)?;
                Some(median.clamp(totals.min, totals.max))
            }
        }
    }

    /// The distribution, or `None` when there is no value.
    pub(super) fn distribution(self, unit: Unit) -> Option<Distribution> {
        match self.kept {
            Kept::Exact(values) => exact_distribution(values, unit),
            Kept::Counted(totals, histogram) => counted_distribution(&totals, &histogram, unit),
        }
    }
}

fn counted(values: &[u64]) -> (Totals, Histogram) {
    let (mut totals, mut histogram) = (Totals::default(), Histogram::default());
    for &value in values {
        totals.add(value);
        histogram.record(value);
    }
    (totals, histogram)
}

fn exact_distribution(mut values: Vec<u64>, unit: Unit) -> Option<Distribution> {
    values.sort_unstable();
    let (totals, histogram) = counted(&values);
    let greatest = *values.last()?;
    let mean = totals.mean();
    let variance = values
        .iter()
        .map(|&value| (value as f64 - mean).powi(2))
        .sum::<f64>()
        / totals.count as f64;
    let at = |quantile| sorted_quantile(&values, quantile).unwrap_or(greatest);
    Some(Distribution {
        count: totals.count,
        mean: unit.shown(mean),
        std_dev: unit.shown(variance.sqrt()),
        min: unit.shown(totals.min as f64),
        max: unit.shown(totals.max as f64),
        percentiles: percentiles(|quantile| unit.shown(at(quantile) as f64)),
        histogram,
    })
}

/// Count, mean and extremes from `exact`, the rest from `histogram`. `None` when either is empty.
fn counted_distribution(exact: &Totals, histogram: &Histogram, unit: Unit) -> Option<Distribution> {
    if exact.count == 0 {
        return None;
    }
    let mean = exact.mean();
    let counted = histogram.count() as f64;
    let squares = histogram.buckets().map(|(bucket, count)| {
        let (least, greatest) = bucket_bounds_ns(bucket);
        let middle = least as f64 + (greatest - least) as f64 / 2.0;
        count as f64 * (middle - mean).powi(2)
    });
    let std_dev = (squares.sum::<f64>() / counted).sqrt();
    // A bucket's upper bound can lie beyond the greatest value.
    let at = |quantile| {
        histogram
            .quantile(quantile)
            .map(|value| value.clamp(exact.min, exact.max))
    };
    histogram.quantile(0.5)?;
    Some(Distribution {
        count: exact.count,
        mean: unit.shown(mean),
        std_dev: unit.shown(std_dev),
        min: unit.shown(exact.min as f64),
        max: unit.shown(exact.max as f64),
        percentiles: percentiles(|quantile| unit.shown(at(quantile).unwrap_or(exact.max) as f64)),
        histogram: histogram.clone(),
    })
}

/// What is exact of any number of values.
#[derive(Debug)]
pub(super) struct Totals {
    /// How many.
    pub(super) count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Totals {
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the gaps of one request.
    pub(super) fn add_gaps(&mut self, gaps: &Gaps) {
        if gaps.count > 0 {
            self.count += u64::from(gaps.count);
            self.sum += u128::from(gaps.sum_ns);
            self.min = self.min.min(gaps.min_ns);
            self.max = self.max.max(gaps.max_ns);
        }
    }

    fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }
}

/// The value at a quantile of sorted values, by nearest rank. `None` when there are none.
pub(super) fn sorted_quantile<T: Copy>(sorted: &[T], quantile: f64) -> Option<T> {
    let rank = nearest_rank(sorted.len() as u64, quantile)?;
    sorted.get(usize::try_from(rank).ok()?).copied()
}

/// The distribution of gaps: count, mean and extremes from `exact`, the rest from `histogram`. `None` when either is empty.
pub(super) fn of_gaps(exact: &Totals, histogram: &Histogram) -> Option<Distribution> {
    counted_distribution(exact, histogram, Unit::Nanoseconds)
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
    fn many_values_keep_their_count_mean_and_extremes() {
        let many = |most_exact| {
            let mut values = Values::exact_up_to(most_exact);
            (1..=1_000).for_each(|value| values.push(Some(value * 10_007)));
            values
        };
        let (exact, counted) = (many(1_000), many(999));
        assert!(matches!(exact.kept, Kept::Exact(_)) && matches!(counted.kept, Kept::Counted(..)));
        let distribution = |values: Values| values.distribution(Unit::Nanoseconds).unwrap();
        let (exact, counted) = (distribution(exact), distribution(counted));
        let same = |one: &Distribution| (one.count, one.mean, one.min, one.max, one.histogram.clone());
        assert_eq!(same(&exact), same(&counted));
        let pairs = [
            (exact.percentiles.p1, counted.percentiles.p1),
            (exact.percentiles.p50, counted.percentiles.p50),
            (exact.percentiles.p999, counted.percentiles.p999),
        ];
        for (exact, counted) in pairs {
            assert!(
                (exact..=exact * 65.0 / 64.0).contains(&counted),
                "{exact} {counted}"
            );
        }
        let (median, close) = (many(1_000).median().unwrap(), many(999).median().unwrap());
        assert!((median..=median * 65 / 64).contains(&close), "{median} {close}");
    }

    #[test]
    fn the_method_says_where_histograms_begin() {
        assert!(!percentile_method(1_000_000).contains("1,000,000"));
        assert!(percentile_method(1_000_001).contains("more than 1,000,000 values"));
    }

    #[test]
    fn gaps_have_exact_extremes_and_close_percentiles() {
        let (mut exact, mut histogram, mut gaps) = (Totals::default(), Histogram::default(), Gaps::default());
        for gap in (1..=1000).map(|step| step * 10_007) {
            gaps.record(gap);
            histogram.record(gap);
        }
        exact.add_gaps(&gaps);
        exact.add_gaps(&Gaps::default());
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
        assert_eq!(of_gaps(&Totals::default(), &Histogram::default()), None);
    }
}
