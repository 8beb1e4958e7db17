//! A histogram of nanoseconds with one fixed, logarithmic layout.
//!
//! Every octave has [`SUB_BUCKETS`] linear buckets, so a value is known within 1/64 of itself (1.6 %); values below 64 ns
//! are exact. As the layout never changes, merging two histograms adds their counts and loses nothing.

use serde::{Deserialize, Serialize};

/// Buckets an octave.
pub const SUB_BUCKETS: u64 = 64;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();

/// Counts of values in nanoseconds. Serialised as `[bucket, count]` pairs, empty buckets left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u32, u64)>", into = "Vec<(u32, u64)>")]
pub struct Histogram {
    counts: Vec<u64>,
}

/// A bucket that the layout does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Cannot read a histogram: bucket {bucket} is beyond the last one, {}. Use a file that this version wrote.",
    bucket_of(u64::MAX)
)]
pub struct UnknownBucket {
    /// The bucket.
    pub bucket: u32,
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value_ns: u64) {
        self.add(bucket_of(value_ns), 1);
    }

    /// Adds every count of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.buckets() {
            self.add(bucket, count);
        }
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The buckets that are not empty, in ascending order, as (bucket, count).
    pub fn buckets(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0u32..)
            .zip(self.counts.iter().copied())
            .filter(|(_, count)| *count > 0)
    }

    /// The value at `quantile` (0 to 1) by nearest rank: the upper bound of the bucket that holds it, so never less than
    /// the true value and at most 1/64 more. `None` when nothing was counted.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let rank = nearest_rank(self.count(), quantile)?;
        let mut seen = 0;
        self.buckets().find_map(|(bucket, count)| {
            seen += count;
            (seen > rank).then(|| bucket_bounds_ns(bucket).1)
        })
    }

    fn add(&mut self, bucket: u32, count: u64) {
        let index = bucket as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += count;
    }
}

impl TryFrom<Vec<(u32, u64)>> for Histogram {
    type Error = UnknownBucket;

    fn try_from(pairs: Vec<(u32, u64)>) -> Result<Self, UnknownBucket> {
        let mut histogram = Self::default();
        for (bucket, count) in pairs {
            if bucket > bucket_of(u64::MAX) {
                return Err(UnknownBucket { bucket });
            }
            histogram.add(bucket, count);
        }
        Ok(histogram)
    }
}

impl From<Histogram> for Vec<(u32, u64)> {
    fn from(histogram: Histogram) -> Self {
        histogram.buckets().collect()
    }
}

/// The bucket that holds `value_ns`.
#[must_use]
pub fn bucket_of(value_ns: u64) -> u32 {
    let octave = (u64::BITS - value_ns.leading_zeros()).saturating_sub(SUB_BITS + 1);
    let sub = value_ns >> octave;
    octave * (1 << SUB_BITS) + u32::try_from(sub).unwrap_or(u32::MAX)
}

/// The least and the greatest value of `bucket`, both inclusive, in nanoseconds.
#[must_use]
pub fn bucket_bounds_ns(bucket: u32) -> (u64, u64) {
    let bucket = u64::from(bucket);
    if bucket < SUB_BUCKETS {
        return (bucket, bucket);
    }
    let octave = bucket / SUB_BUCKETS - 1;
    let sub = bucket - octave * SUB_BUCKETS;
    let least = sub << octave;
    (least, least + ((1 << octave) - 1))
}

/// The zero-based rank of a quantile among `count` sorted values, by nearest rank: the smallest value that at least this
/// share of the values does not exceed. `None` when there are no values.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0..count, and a count of outcomes is far below 2^53"
)]
pub fn nearest_rank(count: u64, quantile: f64) -> Option<u64> {
    let last = count.checked_sub(1)?;
    let rank = (quantile.clamp(0.0, 1.0) * count as f64).ceil() as u64;
    Some(rank.saturating_sub(1).min(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_their_values_and_leave_no_hole() {
        let mut next = 0;
        for bucket in 0..bucket_of(u64::MAX) {
            let (least, greatest) = bucket_bounds_ns(bucket);
            assert_eq!(least, next, "bucket {bucket}");
            assert_eq!(bucket_of(least), bucket);
            assert_eq!(bucket_of(greatest), bucket);
            next = greatest + 1;
        }
        assert_eq!(bucket_bounds_ns(bucket_of(u64::MAX)).1, u64::MAX);
    }

    #[test]
    fn a_bucket_is_at_most_one_sixty_fourth_wide() {
        for value in [64, 1_000, 999_999_999, 3_600_000_000_000] {
            let (least, greatest) = bucket_bounds_ns(bucket_of(value));
            assert!((greatest - least) as f64 <= least as f64 / 64.0);
        }
    }

    #[test]
    fn merging_adds_counts() {
        let (mut left, mut right, mut both) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..1_000 {
            if value % 3 == 0 {
                left.record(value * 977);
            } else {
                right.record(value * 977);
            }
            both.record(value * 977);
        }
        left.merge(&right);
        assert_eq!(left, both);
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let mut histogram = Histogram::default();
        (1..=10).for_each(|value| histogram.record(value));
        assert_eq!(histogram.quantile(0.5), Some(5));
        assert_eq!(histogram.quantile(0.99), Some(10));
        assert_eq!(histogram.quantile(0.0), Some(1));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn json_round_trip() {
        let mut histogram = Histogram::default();
        histogram.record(1_234_567);
        let json = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), histogram);
    }

    #[test]
    fn an_unknown_bucket_is_an_error_that_names_it() {
        let last = bucket_of(u64::MAX);
        assert!(serde_json::from_str::<Histogram>(&format!("[[{last},1]]")).is_ok());
        let error = serde_json::from_str::<Histogram>(&format!("[[3,1],[{},1]]", last + 1)).unwrap_err();
        assert!(
            error.to_string().contains(&format!("bucket {}", last + 1)),
            "{error}"
        );
    }
}
