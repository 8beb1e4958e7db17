use proptest::prelude::*;
use rand_chacha::rand_core::SeedableRng;

use super::*;

fn draws(text: &str, count: usize) -> Vec<u64> {
    let latency: Latency = text.parse().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    (0..count).map(|_| latency.draw_ns(&mut random)).collect()
}

/// The nearest-rank percentile.
fn percentile(values: &[u64], share: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() * share / 100] as f64
}

fn assert_close(value: f64, expected: f64) {
    assert!(
        (value / expected - 1.0).abs() < 0.03,
        "{value} is not near {expected}"
    );
}

#[test]
fn durations_take_every_unit() {
    for (text, ns) in [
        ("0", 0),
        ("250ns", 250),
        ("1.5us", 1_500),
        ("20ms", 20_000_000),
        ("fixed:2s", 2_000_000_000),
        ("60m", 3_600_000_000_000),
    ] {
        assert_eq!(draws(text, 2), [ns, ns], "{text}");
    }
}

#[test]
fn the_same_seed_gives_the_same_draws_on_every_machine() {
    insta::assert_json_snapshot!([
        draws("uniform:10ms..30ms", 3),
        draws("exponential:20ms", 3),
        draws("lognormal:20ms,sigma=0.5", 3),
    ]);
}

#[test]
fn uniform_stays_between_its_bounds() {
    let values = draws("uniform:10ms..30ms", 20_000);
    assert!(values.iter().all(|ns| (10_000_000..=30_000_000).contains(ns)));
    assert_close(percentile(&values, 50), 20e6);
}

#[test]
fn exponential_has_the_given_mean() {
    let values = draws("exponential:20ms", 50_000);
    assert_close(values.iter().sum::<u64>() as f64 / 50_000.0, 20e6);
}

#[test]
fn lognormal_has_the_given_percentiles() {
    let values = draws("lognormal:20ms,p99=80ms", 100_000);
    assert_close(percentile(&values, 50), 20e6);
    assert_close(percentile(&values, 99), 80e6);
}

#[test]
fn tails_end_at_the_longest_latency() {
    assert!(
        draws("lognormal:59m,sigma=10", 1_000)
            .iter()
            .all(|ns| *ns <= whole_ns(LONGEST))
    );
}

#[test]
fn sums_are_the_draws_one_by_one() {
    let latency: Latency = "exponential:20ms".parse().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    assert_eq!(
        latency.draw_sum_ns(10, &mut random),
        draws("exponential:20ms", 10).iter().sum::<u64>()
    );
}

#[test]
fn what_is_no_latency_is_refused_with_the_reason() {
    let refused = [
        "",
        "20",
        "-1ms",
        "1e3ms",
        "ms",
        ".ms",
        "1.2.3ms",
        "61m",
        "nanms",
        "gauss:1ms",
        "uniform:1ms",
        "uniform:3ms..2ms",
        "lognormal:20ms",
        "lognormal:0,sigma=1",
        "lognormal:20ms,sigma=nan",
        "lognormal:20ms,p99=10ms",
        "lognormal:0,p99=0",
    ];
    let messages = refused.map(|text| text.parse::<Latency>().unwrap_err().to_string());
    insta::assert_snapshot!(messages.join("\n"));
}

proptest! {
    #[test]
    fn reading_never_panics(text in ".{0,40}") {
        let _ = text.parse::<Latency>();
    }

    #[test]
    fn what_is_written_reads_back(
        low in 0u64..1_000_000_000,
        width in 0u64..1_000_000_000,
        sigma in 0.0f64..10.0,
    ) {
        for text in [
            format!("{low}ns"),
            format!("uniform:{low}ns..{}ns", low + width),
            format!("exponential:{low}ns"),
            format!("lognormal:{}ns,sigma={sigma}", low + 1),
        ] {
            let latency: Latency = text.parse().unwrap();
            prop_assert_eq!(latency.to_string().parse::<Latency>().unwrap(), latency);
        }
    }
}
