//! How long to wait before a call is repeated.

use std::time::Duration;

use super::chance;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Waits that double from 100 ms to 5 s, each somewhere between half of itself and itself, so that many workers do not call
/// at the same moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Backoff {
    /// Waits, longer each time.
    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.next(chance::share())).await;
    }

    /// Something succeeded: the next wait is short again.
    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }

    fn next(&mut self, chance: f64) -> Duration {
        let wait = self.next.mul_f64(chance.midpoint(1.0));
        self.next = (self.next * 2).min(LONGEST);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..8).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        backoff.reset();
        assert_eq!(backoff.next(0.0), FIRST / 2);
    }
}
