//! How whole numbers are spread.

use serde::Serialize;

/// How some whole numbers are spread. There is at least one.
///
/// Percentiles are by nearest rank: the smallest value that at least so many percent of all values do not exceed, which is
/// always a value that is there.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    /// How many values there are.
    pub count: u64,
    /// The smallest.
    pub min: u32,
    /// The arithmetic mean.
    pub mean: f64,
    /// The median.
    pub p50: u32,
    /// The 90th percentile.
    pub p90: u32,
    /// The 99th percentile.
    pub p99: u32,
    /// The largest.
    pub max: u32,
    /// The sum.
    pub total: u64,
}

/// Values whose distribution is asked for. Four bytes each.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<u32>);

impl Values {
    pub(super) fn distribution(mut self) -> Option<Distribution> {
        self.0.sort_unstable();
        let (&min, &max) = (self.0.first()?, self.0.last()?);
        let total = self.0.iter().copied().map(u64::from).sum();
        let percentile = |percent| nearest_rank(&self.0, percent).unwrap_or(max);
        Some(Distribution {
            count: self.0.len() as u64,
            min,
            mean: total as f64 / self.0.len() as f64,
            p50: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            max,
            total,
        })
    }
}

impl Extend<u32> for Values {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, values: I) {
        self.0.extend(values);
    }
}

impl From<Vec<u32>> for Values {
    fn from(values: Vec<u32>) -> Self {
        Self(values)
    }
}

/// The percentile of sorted values, by nearest rank. `None` when there are none.
pub(super) fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_values_have_no_distribution() {
        assert_eq!(Values::default().distribution(), None);
    }

    #[test]
    fn percentiles_are_values_that_are_there() {
        let distribution = Values::from((1..=200).rev().collect::<Vec<_>>())
            .distribution()
            .unwrap();
        assert_eq!(
            distribution,
            Distribution {
                count: 200,
                min: 1,
                mean: 100.5,
                p50: 100,
                p90: 180,
                p99: 198,
                max: 200,
                total: 20_100,
            }
        );
        let one = Values::from(vec![7]).distribution().unwrap();
        assert_eq!((one.min, one.p50, one.p90, one.p99, one.max), (7, 7, 7, 7, 7));
    }

    #[test]
    fn totals_go_beyond_32_bits() {
        let distribution = Values::from(vec![u32::MAX; 3]).distribution().unwrap();
        assert_eq!(distribution.total, 3 * u64::from(u32::MAX));
    }

    proptest! {
        #[test]
        fn nearest_rank_is_the_smallest_value_that_enough_do_not_exceed(
            mut values in proptest::collection::vec(0_u32..50, 1..100), percent in 1_usize..=100
        ) {
            values.sort_unstable();
            let found = nearest_rank(&values, percent).unwrap();
            let enough = |limit: u32| {
                values.iter().filter(|value| **value <= limit).count() * 100 >= values.len() * percent
            };
            prop_assert_eq!(values.iter().copied().find(|value| enough(*value)), Some(found));
        }
    }
}
