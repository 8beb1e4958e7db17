use std::num::NonZeroU32;

use super::*;
use crate::spec::{Rate, TimestampUnit};
use crate::{PositiveNumber, ReplayJobSpec};

fn spec() -> ReplayJobSpec {
    serde_json::from_str(
        r#"{"dataset": {"source": "trace.jsonl"}, "target": {"urls": ["http://localhost:8000"]}}"#,
    )
    .unwrap()
}

/// The paths that are complained about, from `spec.replay` on, when the replay is changed like this.
fn complaints(change: impl FnOnce(&mut Replay)) -> Vec<String> {
    let mut spec = spec();
    change(&mut spec.replay);
    let paths = validate(&spec)
        .into_iter()
        .map(|problem| problem.path.to_string());
    paths
        .map(|path| path.trim_start_matches("spec.replay.").to_owned())
        .collect()
}

fn a_rate() -> Rate {
    Rate {
        per_second: PositiveNumber::default(),
        arrivals: crate::Arrivals::Poisson,
    }
}

#[test]
fn the_smallest_spec_breaks_no_rule() {
    assert_eq!(validate(&spec()), []);
}

#[test]
fn each_schedule_takes_what_it_uses_and_nothing_else() {
    let few = NonZeroU32::new(4);
    for (schedule, rate, concurrency, expected) in [
        (Schedule::Auto, None, None, vec![]),
        (Schedule::Auto, Some(a_rate()), None, vec![]),
        (Schedule::Auto, None, few, vec![]),
        (Schedule::Auto, Some(a_rate()), few, vec!["concurrency"]),
        (Schedule::Recorded, None, None, vec![]),
        (
            Schedule::Recorded,
            Some(a_rate()),
            few,
            vec!["rate", "concurrency"],
        ),
        (Schedule::Rate, Some(a_rate()), None, vec![]),
        (Schedule::Rate, None, few, vec!["rate", "concurrency"]),
        (Schedule::Concurrency, None, few, vec![]),
        (
            Schedule::Concurrency,
            Some(a_rate()),
            None,
            vec!["concurrency", "rate"],
        ),
        (Schedule::Users, None, None, vec!["schedule"]),
    ] {
        let found = complaints(|replay| {
            replay.schedule = schedule;
            replay.rate = rate;
            replay.concurrency = concurrency;
        });
        assert_eq!(
            found, expected,
            "{schedule:?}, rate {rate:?}, concurrency {concurrency:?}"
        );
    }
}

#[test]
fn speed_and_window_need_recorded_times() {
    let fast_and_cut = |replay: &mut Replay| {
        replay.speed = PositiveNumber::new(2.0).unwrap();
        replay.window = Some(Window {
            start: "0s".parse().unwrap(),
            end: None,
        });
    };
    for (schedule, expected) in [
        (Schedule::Auto, vec![]),
        (Schedule::Recorded, vec![]),
        (Schedule::Rate, vec!["speed", "window"]),
        (Schedule::Concurrency, vec!["speed", "window"]),
    ] {
        let found = complaints(|replay| {
            replay.schedule = schedule;
            replay.rate = Some(a_rate()).filter(|_| schedule == Schedule::Rate);
            replay.concurrency = NonZeroU32::new(1).filter(|_| schedule == Schedule::Concurrency);
            fast_and_cut(replay);
        });
        assert_eq!(found, expected, "{schedule:?}");
    }
}

#[test]
fn a_window_ends_after_it_starts() {
    for (start, end, is_right) in [
        ("0s", "1ns", true),
        ("1m", "61s", true),
        ("1m", "1m", false),
        ("1m", "59s", false),
    ] {
        let window = Window {
            start: start.parse().unwrap(),
            end: Some(end.parse().unwrap()),
        };
        let found = complaints(|replay| replay.window = Some(window));
        assert_eq!(found.is_empty(), is_right, "{start} to {end}");
    }
}

#[test]
fn options_are_held_against_the_format() {
    let all = DatasetOptions {
        block_size: NonZeroU32::new(16),
        timestamp_unit: Some(TimestampUnit::Seconds),
        keep_headers: vec!["authorization".to_owned()],
        unknown_columns: crate::UnknownColumns::Ignore,
    };
    assert_eq!(
        options_not_taken(&all, TraceFormat::MooncakeTrace),
        ["keepHeaders"]
    );
    assert_eq!(options_not_taken(&all, TraceFormat::WorkloadTrace), ["blockSize"]);
    for format in TraceFormat::ALL {
        assert!(options_not_taken(&DatasetOptions::default(), format).is_empty());
    }
}

#[test]
fn every_api_but_two_is_yet_to_come() {
    for (api, is_supported) in [
        (Api::Chat, true),
        (Api::Completions, true),
        (Api::Responses, false),
        (Api::Embeddings, false),
        (Api::Rerank, false),
        (Api::Raw, false),
    ] {
        let mut spec = spec();
        spec.target.api = api;
        assert_eq!(validate(&spec).is_empty(), is_supported, "{api:?}");
    }
}

#[test]
fn no_message_repeats_a_secret() {
    let mut spec = spec();
    spec.dataset.source = "https://me:s3cret@host/trace.jsonl".to_owned();
    spec.target.urls = vec!["http://me:s3cret@host".to_owned()];
    spec.target
        .headers
        .insert("Authorization".to_owned(), "Bearer s3cret".to_owned());
    let problems = validate(&spec);
    assert_eq!(problems.len(), 3);
    assert!(
        problems
            .iter()
            .all(|problem| !problem.to_string().contains("s3cret"))
    );
}

#[test]
fn a_threshold_of_nothing_leaves_no_request_in_time() {
    for (policy, threshold, is_right) in [
        (LatePolicy::CatchUp, "0s", true),
        (LatePolicy::Drop, "0s", false),
        (LatePolicy::Abort, "0s", false),
        (LatePolicy::Drop, "1ns", true),
    ] {
        let found = complaints(|replay| {
            replay.late_policy = policy;
            replay.late_threshold = threshold.parse().unwrap();
        });
        assert_eq!(found.is_empty(), is_right, "{policy:?}, {threshold}");
    }
}

/// What is said about the target when it is changed like this.
fn target_problems(change: impl FnOnce(&mut Target)) -> Vec<String> {
    let mut spec = spec();
    change(&mut spec.target);
    validate(&spec).iter().map(ToString::to_string).collect()
}

#[test]
fn a_url_of_the_target_has_no_credentials_in_its_query() {
    let problems_of = |url: &str| target_problems(|target| target.urls = vec![url.to_owned()]);
    for query in ["api-key=s3cret", "a=1&sig=s3cret", "access%5Ftoken=s3cret", "Key"] {
        let problems = problems_of(&format!("https://host/v1/chat/completions?{query}"));
        assert_eq!(problems.len(), 1, "{query}");
        assert!(!problems[0].contains("s3cret"), "{}", problems[0]);
    }
    assert_eq!(
        problems_of("https://host/v1?api-version=2024-10-21&max_tokens=5"),
        [""; 0]
    );
}

#[test]
fn one_header_is_given_once_and_names_in_maps_are_bounded() {
    let problems = target_problems(|target| {
        for name in ["X-Team", "x-team", &"x".repeat(256), &"y".repeat(257)] {
            target.headers.insert(name.to_owned(), "1".to_owned());
        }
        for model in ["é".repeat(512), "m".repeat(513)] {
            target.model_mapping.insert(model, "other".to_owned());
        }
    });
    assert_eq!(problems.len(), 3, "{problems:#?}");
    assert!(
        problems[0].ends_with("has a name of 513 characters, and may have 512 at most"),
        "{problems:#?}"
    );
    assert!(
        problems[1].ends_with(
            "x-team: is the same header as X-Team: case makes no difference. Keep one of the two."
        ),
        "{problems:#?}"
    );
    assert!(
        problems[2].ends_with("has a name of 257 characters, and may have 256 at most"),
        "{problems:#?}"
    );
}

#[test]
fn formats_are_called_what_they_are_written_as() {
    for format in TraceFormat::ALL {
        assert_eq!(serde_json::to_value(format).unwrap(), format.name());
    }
}

#[test]
fn a_startup_budget_is_more_than_nothing_and_a_day_at_most() {
    for (budget, is_right) in [("0s", false), ("1ns", true), ("24h", true), ("24h1ns", false)] {
        let mut spec = spec();
        spec.dataset.startup_budget = Some(budget.parse().unwrap());
        assert_eq!(validate(&spec).is_empty(), is_right, "{budget}");
    }
}

#[test]
fn a_result_is_held_for_a_day_at_most() {
    for (hold, is_right) in [("0s", true), ("24h", true), ("24h1ns", false)] {
        let mut spec = spec();
        spec.results.hold = hold.parse().unwrap();
        assert_eq!(validate(&spec).is_empty(), is_right, "{hold}");
    }
}

#[test]
fn results_go_to_a_folder_of_a_bucket_in_a_store() {
    let problems_of = |url: &str, endpoint: Option<&str>| {
        let mut spec = spec();
        spec.results.s3 = Some(crate::ResultsS3 {
            url: url.to_owned(),
            endpoint: endpoint.map(ToOwned::to_owned),
            region: None,
            path_style: None,
        });
        let problems = validate(&spec);
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(problems_of("s3://perf-results/chat/", None), [""; 0]);
    assert_eq!(
        problems_of("s3://perf-results", Some("http://minio:9000")),
        [""; 0]
    );
    assert_eq!(
        problems_of("gs://perf-results", Some("https://me:s3cret@minio")),
        [
            "spec.results.s3.url: is not in S3. Write it like s3://bucket/folder/.",
            "spec.results.s3.endpoint: has a user name or password in its URL. Take it out: a spec is no place for \
             credentials.",
        ]
    );
}
