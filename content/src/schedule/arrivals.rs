//! Offsets of arrivals at a rate.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Arrivals, Process};

const NANOS_PER_SECOND: f64 = 1e9;

impl Arrivals {
    /// The offsets of the arrivals in nanoseconds, the first at 0. Ends where an offset would not fit 64 bits.
    pub(super) fn offsets_ns(self) -> Box<dyn Iterator<Item = i64>> {
        let gap_ns = NANOS_PER_SECOND / self.per_second;
        match self.process {
            // Each is computed from the start, so no error adds up.
            Process::Constant => {
                Box::new((0u32..).map_while(move |count| to_nanos(f64::from(count) * gap_ns)))
            }
            Process::Poisson { seed } => Box::new(poisson(seed, gap_ns)),
        }
    }
}

fn poisson(seed: u64, mean_gap_ns: f64) -> impl Iterator<Item = i64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let gaps = std::iter::repeat_with(move || exponential(&mut random) * mean_gap_ns);
    std::iter::once(0.0)
        .chain(gaps)
        .scan(0.0, |offset, gap| {
            *offset += gap;
            Some(*offset)
        })
        .map_while(to_nanos)
}

/// A value of the exponential distribution with mean 1, by inversion. `libm` gives the same bits on every machine.
fn exponential(random: &mut ChaCha8Rng) -> f64 {
    const STEPS: f64 = (1u64 << 53) as f64;
    let uniform = (random.next_u64() >> 11) as f64 / STEPS;
    -libm::log1p(-uniform)
}

/// `None` when it does not fit.
#[allow(
    clippy::cast_possible_truncation,
    reason = "checked against the range just before"
)]
pub(super) fn to_nanos(offset: f64) -> Option<i64> {
    let rounded = offset.round();
    (rounded.abs() < i64::MAX as f64).then_some(rounded as i64)
}
