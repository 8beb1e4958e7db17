//! What a line does to what passes through it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a line takes, in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// On average.
    pub delay: Duration,
    /// How much more or less it may be. At most `delay`.
    pub jitter: Duration,
    /// Bytes a second, all connections together. As fast as it can be without.
    pub bytes_per_second: Option<u32>,
    /// What the delays are drawn with: the same connections in the same order have the same delays.
    pub seed: u64,
}

/// The delays of one direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    line: Line,
    state: u64,
}

impl Delays {
    /// `stream` tells directions and connections apart.
    pub(super) fn new(line: Line, stream: u64) -> Self {
        let mut seed = Self {
            line,
            state: line.seed,
        };
        let state = seed.draw() ^ stream;
        Self { line, state }
    }

    /// Uniform between `delay - jitter` and `delay + jitter`.
    pub(super) fn next_delay(&mut self) -> Duration {
        // 32 bits of it are more than a clock tells apart.
        let fraction = f64::from(u32::try_from(self.draw() >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX);
        self.line.delay.saturating_sub(self.line.jitter) + (2 * self.line.jitter).mul_f64(fraction)
    }

    /// `SplitMix64` (Steele, Lea and Flood, 2014).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// When the line has room again, for one direction of all connections.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    bytes_per_second: Option<u32>,
    free: Arc<Mutex<Instant>>,
}

impl Meter {
    pub(super) fn new(line: Line) -> Self {
        Self {
            bytes_per_second: line.bytes_per_second,
            free: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// When so many bytes, sent now, have passed the narrowest place.
    pub(super) fn passed(&self, bytes: usize) -> Instant {
        self.passed_at(Instant::now(), bytes)
    }

    fn passed_at(&self, now: Instant, bytes: usize) -> Instant {
        let Some(rate) = self.bytes_per_second else {
            return now;
        };
        let mut free = self.free.lock().expect("no panic");
        let bytes = f64::from(u32::try_from(bytes).expect("a piece is small"));
        *free = now.max(*free) + Duration::from_secs_f64(bytes / f64::from(rate));
        *free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_stay_within_the_jitter_and_repeat_with_the_seed() {
        let line = Line {
            delay: Duration::from_millis(20),
            jitter: Duration::from_millis(5),
            seed: 7,
            ..Line::default()
        };
        let draw = |line, stream| {
            let mut delays = Delays::new(line, stream);
            (0..1_000).map(|_| delays.next_delay()).collect::<Vec<_>>()
        };
        let drawn = draw(line, 2);
        let (least, most) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
        assert!((15_000..15_500).contains(&least.as_micros()), "{least:?}");
        assert!((24_500..=25_000).contains(&most.as_micros()), "{most:?}");
        assert_eq!(drawn, draw(line, 2));
        assert_ne!(drawn, draw(line, 3));
        assert_ne!(drawn, draw(Line { seed: 8, ..line }, 2));
        assert_eq!(draw(Line::default(), 2), vec![Duration::ZERO; 1_000]);
    }

    #[test]
    fn a_narrow_line_is_shared() {
        let meter = Meter::new(Line {
            bytes_per_second: Some(1_000),
            ..Line::default()
        });
        let start = Instant::now();
        let later = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(meter.passed_at(start, 100), later(100));
        assert_eq!(meter.clone().passed_at(start, 50), later(150));
        assert_eq!(meter.passed_at(later(500), 10), later(510));
        assert_eq!(Meter::new(Line::default()).passed_at(start, 1_000_000), start);
    }
}
