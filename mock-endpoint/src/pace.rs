//! When the tokens of one answer are due, and all else that is drawn for its request.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::config::Share;
use crate::latency::{Latency, unit_interval};

/// The draws of one request. They depend on the seed and the request's index alone.
#[derive(Debug)]
pub(crate) struct Draws {
    random: ChaCha8Rng,
    error: f64,
}

impl Draws {
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(index);
        // Drawn first and always, so that turning errors on changes no latency.
        let error = unit_interval(&mut random);
        Self { random, error }
    }

    /// Whether this request is among a share of all.
    pub(crate) fn falls_in(&self, share: Share) -> bool {
        self.error < share.get()
    }

    /// The pace of an answer that is worked on from `start_ns` of the monotonic clock.
    pub(crate) fn pace(mut self, start_ns: u64, ttft: Latency, inter_token: Latency) -> Pace {
        let due_ns = start_ns.saturating_add(ttft.draw_ns(&mut self.random));
        Pace {
            due_ns,
            inter_token,
            random: self.random,
        }
    }
}

/// Due times of an answer's tokens. They are absolute, so lateness of one does not move the next.
#[derive(Debug)]
pub(crate) struct Pace {
    due_ns: u64,
    inter_token: Latency,
    random: ChaCha8Rng,
}

impl Pace {
    /// When the next token is due, on the monotonic clock.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Goes on by so many tokens.
    pub(crate) fn advance(&mut self, tokens: u32) {
        let step_ns = self.inter_token.draw_sum_ns(tokens, &mut self.random);
        self.due_ns = self.due_ns.saturating_add(step_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due_times(seed: u64, index: u64, text: &str) -> Vec<u64> {
        let latency: Latency = text.parse().unwrap();
        let mut pace = Draws::new(seed, index).pace(1_000, latency, latency);
        (0..4)
            .map(|_| {
                let due_ns = pace.due_ns();
                pace.advance(1);
                due_ns
            })
            .collect()
    }

    #[test]
    fn fixed_latencies_make_an_even_grid() {
        assert_eq!(due_times(1, 1, "20ns"), [1_020, 1_040, 1_060, 1_080]);
    }

    #[test]
    fn draws_follow_seed_and_index() {
        let reference = due_times(1, 1, "exponential:20ms");
        assert_eq!(due_times(1, 1, "exponential:20ms"), reference);
        assert_ne!(due_times(2, 1, "exponential:20ms"), reference);
        assert_ne!(due_times(1, 2, "exponential:20ms"), reference);
    }

    #[test]
    fn the_share_of_errors_is_met() {
        let share: Share = "0.1".parse().unwrap();
        let errors = (0..10_000)
            .filter(|index| Draws::new(3, *index).falls_in(share))
            .count();
        assert!((900..1_100).contains(&errors), "{errors}");
        let all: Share = "1".parse().unwrap();
        assert!((0..1_000).all(|index| Draws::new(3, index).falls_in(all)));
    }
}
