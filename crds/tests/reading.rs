//! Documents that are right, with and without `--set`, and what `--set` does to those that are not.

use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use reprise_crds::document::{Document, Overrides, Place, Problems, dataset, read};
use reprise_crds::{FieldPath, Schedule, TraceFormat, effective};

const SMALL: &str = "
apiVersion: reprise.dev/v1alpha1
kind: ReplayJob
metadata: {name: small}
spec:
  dataset: {source: trace.jsonl}
  target:
    urls: [http://localhost:8000]
";

const WHOLE: &str = r#"
apiVersion: reprise.dev/v1alpha1
kind: ReplayJob
metadata:
  name: chat-august
  labels: {team: perf}
spec:
  dataset:
    source: https://example.com/chat.jsonl.gz
    format: workload_trace
    options: {timestampUnit: ms, keepHeaders: [authorization], unknownColumns: Ignore}
    startupBudget: 2h
  target:
    urls: [http://vllm.serving.svc:8000, "https://other/v1/chat/completions?x=1"]
    api: completions
    model: Qwen/Qwen3-0.6B
    modelOverride: other
    modelMapping: {gpt-4: qwen-max}
    streaming: false
    headers: {x-team: perf, "x.dot": "1"}
    timeout: 90s
  replay:
    schedule: Recorded
    speed: 2
    window: {start: 10m, end: 30m}
    warmup: {requests: 50}
    duration: 20m
    requests: 10000
    latePolicy: Drop
    lateThreshold: 5ms
    matchOutputLength: true
    seed: 9007199254740991
  slo: {ttft: 500ms, interTokenLatency: 50ms, requestLatency: 10s}
  workers: {replicas: 4, lossPolicy: Degrade}
  results:
    perRequest: false
    hold: 0s
    s3: {url: s3://perf-results/chat/, endpoint: "https://minio.internal:9000", region: eu-central-1, pathStyle: true}
  timeoutSeconds: 7200
status:
  anything: {goes: here}
"#;

fn read_with(text: &str, assignments: &[&str]) -> Result<Document, Problems> {
    let overrides = Overrides::parse(assignments)?;
    read(text, &overrides).map_err(|problems| problems.in_file("job.yaml"))
}

#[test]
fn the_smallest_document_takes_the_defaults() {
    let document = read_with(SMALL, &[]).unwrap();
    assert_eq!(document.name(), "small");
    insta::assert_json_snapshot!("smallest_in_effect", effective(document.spec()).unwrap());
}

#[test]
fn every_field_is_read() {
    let document = read_with(WHOLE, &[]).unwrap();
    insta::assert_json_snapshot!("whole_in_effect", effective(document.spec()).unwrap());
}

#[test]
fn what_takes_effect_reads_back_the_same() {
    for text in [SMALL, WHOLE] {
        let spec = read_with(text, &[]).unwrap().job.spec;
        let again = serde_json::from_value(effective(&spec).unwrap()).unwrap();
        assert_eq!(spec, again);
    }
}

#[test]
fn a_seed_is_a_number_that_json_readers_agree_on() {
    assert!(read_with(SMALL, &["replay.seed=9007199254740991"]).is_ok());
    let problems = read_with(SMALL, &["replay.seed=9007199254740992"]).unwrap_err();
    assert!(
        problems.to_string().contains("must be at most 9007199254740991"),
        "{problems}"
    );
}

#[test]
fn a_number_that_is_not_finite_is_not_mended_by_leaving_quotes_out() {
    for value in ["nan", "inf", "\"-inf\""] {
        let problems = read_with(SMALL, &[format!("replay.speed={value}").as_str()]).unwrap_err();
        assert!(
            problems.to_string().ends_with("Write a finite number."),
            "{problems}"
        );
    }
}

#[test]
fn json_is_yaml_too() {
    let job = read_with(WHOLE, &[]).unwrap().job;
    let json = serde_json::to_string(&job).unwrap();
    assert_eq!(read_with(&json, &[]).unwrap().job, job);
}

#[test]
fn a_job_as_the_api_server_prints_it_is_read() {
    let text = SMALL.replace(
        "{name: small}",
        "{name: small, uid: 1-2, generation: 3, creationTimestamp: \"2026-01-02T03:04:05Z\", managedFields: []}",
    );
    assert_eq!(read_with(&text, &[]).unwrap().name(), "small");
}

#[test]
fn a_generated_name_is_a_name() {
    let text = SMALL.replace("{name: small}", "{generateName: small-}");
    assert_eq!(read_with(&text, &[]).unwrap().name(), "small");
}

#[test]
fn merge_keys_and_anchors_are_followed_and_own_keys_win() {
    let text = "
apiVersion: reprise.dev/v1alpha1
kind: ReplayJob
metadata: {name: small}
spec:
  dataset: {source: &source trace.jsonl}
  target: {urls: [http://localhost:8000], model: *source}
  slo: &slo {ttft: 1s, requestLatency: 5s}
  replay:
    window: &window {start: 1s, end: 2s}
    warmup: {requests: 0}
";
    let document = read_with(text, &[]).unwrap();
    assert_eq!(document.spec().target.model.as_deref(), Some("trace.jsonl"));

    let text = text.replace(
        "warmup: {requests: 0}",
        "rate: {perSecond: 1}\n    <<: {speed: 3, window: {start: 0s}}",
    );
    let document = read_with(&text, &[]).unwrap();
    assert!((document.spec().replay.speed.get() - 3.0).abs() < f64::EPSILON);
    assert_eq!(
        document.spec().replay.window.unwrap().start.get(),
        Duration::from_secs(1)
    );
}

#[test]
fn set_changes_and_adds_fields() {
    let document = read_with(
        SMALL,
        &[
            "replay.speed=2.5",
            "spec.dataset.format=mooncake_trace",
            "target.urls[0]=http://a",
            "target.urls[1]=http://b",
            "target.headers.x-team=perf",
            r#"target.headers."x.dot"="1""#,
            r"target.headers.y\.dot=a=b",
            "replay.window={start: 1m, end: 2m}",
            "replay.requests=7",
            "replay.requests=8",
        ],
    )
    .unwrap();
    let spec = document.spec();
    assert!((spec.replay.speed.get() - 2.5).abs() < f64::EPSILON);
    assert_eq!(spec.dataset.format, Some(TraceFormat::MooncakeTrace));
    assert_eq!(spec.target.urls, ["http://a", "http://b"]);
    let headers: Vec<_> = spec
        .target
        .headers
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(headers, ["x-team=perf", "x.dot=1", "y.dot=a=b"]);
    assert_eq!(
        spec.replay.window.unwrap().end.unwrap().get(),
        Duration::from_mins(2)
    );
    assert_eq!(spec.replay.requests.unwrap().get(), 8);
}

#[test]
fn a_dataset_can_be_given_without_a_job() {
    let overrides = [
        "dataset.source=trace.jsonl",
        "dataset.format=mooncake_trace",
        "dataset.options.blockSize=16",
    ];
    let dataset = dataset(&Overrides::parse(overrides).unwrap()).unwrap();
    assert_eq!(dataset.source, "trace.jsonl");
    assert_eq!(dataset.format, Some(TraceFormat::MooncakeTrace));
    assert_eq!(dataset.options.block_size, NonZeroU32::new(16));
}

#[test]
fn a_dataset_without_a_job_is_checked_like_that_of_one() {
    let overrides = [
        "dataset.format=workload_trace",
        "dataset.options.blockSize=16",
        "dataset.options.unknownColumns=Ignored",
        "dataset.options.speed=2",
        "dataset.tokenizer=hf://x",
        "replay.speed=2",
        "datset.format=mooncake_trace",
    ];
    let problems = dataset(&Overrides::parse(overrides).unwrap()).unwrap_err();
    insta::assert_snapshot!("dataset_without_a_job", problems);
}

#[test]
fn set_mends_a_document() {
    let text = SMALL.replace("trace.jsonl", "\"\"");
    assert!(read_with(&text, &[]).is_err());
    assert!(read_with(&text, &["dataset.source=trace.jsonl"]).is_ok());
}

#[test]
fn problems_of_set_name_the_argument() {
    let problems = read_with(
        SMALL,
        &[
            "replay.spede=2",
            "replay.speed=.nan",
            "replay.warmup.requests=inf",
            "replay.rate.perSecond=0",
            "target.timeout=30",
            "target.urls[4]=http://a",
            "dataset.source.x=1",
            "dataset[0]=1",
            "target.headers.authorization=Bearer s3cret",
            "target.modelOverride=",
            "results={perRequest: true, claim: {}}",
            "replay.window.start=1s",
            "replay.window.end={a: .inf}",
            "replay.made.up=1",
        ],
    )
    .unwrap_err();
    insta::assert_snapshot!("set", problems);
}

#[test]
fn set_that_cannot_be_read_is_refused_with_all_its_problems() {
    let problems = Overrides::parse([
        "replay.speed",
        "",
        "=1",
        "replay..speed=1",
        "target.urls[x]=1",
        "target.headers.\"x=1",
        "replay.window={start: 0s",
        "target.headers.cookie={\"s3cret",
        "target={headers: {cookie: s3cret",
        "target.urls=[\"https://host/v1?code=s3cret",
        "target.urls=[\"https://me:s3cret@host/v1",
        "=3",
    ])
    .unwrap_err();
    assert!(!problems.to_string().contains("s3cret"));
    insta::assert_snapshot!("set_unreadable", problems);
}

#[test]
fn a_document_is_made_of_arguments_alone() {
    let mut overrides = Overrides::parse(["replay.concurrency=4"]).unwrap();
    overrides.push(
        "--source",
        FieldPath::spec().key("dataset").key("source"),
        "trace.jsonl",
    );
    overrides.push(
        "--target",
        FieldPath::spec().key("target").key("urls").index(0),
        "http://localhost:8000",
    );
    let document = Document::blank(&overrides).unwrap();
    assert_eq!(document.name(), "replay");
    assert_eq!(document.spec().replay.schedule, Schedule::Auto);
    assert_eq!(document.spec().replay.concurrency, NonZeroU32::new(4));
}

#[test]
fn what_is_missing_or_wrong_without_a_file_is_still_named() {
    let mut overrides = Overrides::default();
    overrides.push(
        "--target",
        FieldPath::spec().key("target").key("urls").index(0),
        "localhost",
    );
    let problems = Document::blank(&overrides).unwrap_err();
    insta::assert_snapshot!("blank", problems);
    overrides.push(
        "--source",
        FieldPath::spec().key("dataset").key("source"),
        "trace.jsonl",
    );
    let problems = Document::blank(&overrides).unwrap_err();
    assert!(
        matches!(&problems.iter().next().unwrap().place, Place::Argument { shown, .. } if shown == "--target")
    );
}

#[test]
fn rules_are_checked_beside_what_the_schema_finds_but_not_about_it() {
    let text = SMALL.to_owned()
        + "
    timeout: 0s
  replay:
    schedule: Concurrency
    concurrency: 0
    spede: 1
    speed: 2
    rate: {arrivals: Constant}
";
    insta::assert_snapshot!("schema_and_rules", read_with(&text, &[]).unwrap_err());
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_do_not_matter() {
    let text = format!("\u{feff}{}", SMALL.trim_start()).replace('\n', "\r\n");
    assert_eq!(read_with(&text, &[]).unwrap(), read_with(SMALL, &[]).unwrap());
}

proptest! {
    #[test]
    fn no_text_panics(text in "([a-z&*!|>'\"{}\\[\\]:,#\\-<. \n]{0,60}|\\PC{0,40})") {
        let _ = read(&text, &Overrides::default());
        let _ = Overrides::parse([text.as_str()]).map(|overrides| read(SMALL, &overrides));
        let _ = reprise_crds::explain(Some(&text));
    }

    #[test]
    fn a_field_set_to_anything_is_right_or_named(
        field in prop::sample::select(vec![
            "dataset.source", "dataset.options.blockSize", "target.urls", "target.timeout", "target.headers",
            "replay.speed", "replay.schedule", "replay.seed", "replay.window", "slo", "workers.replicas",
        ]),
        value in "([-0-9.eE]{1,6}|[0-9]{1,3}(ns|ms|s|m|h|d)|[a-zA-Z]{1,8}|\\[[a-z0-9,]{0,5}\\]|\\{[a-z]{1,4}: [0-9]s?\\}|~|\\.nan)",
    ) {
        let Ok(overrides) = Overrides::parse([format!("{field}={value}")]) else { return Ok(()) };
        if let Err(problems) = read(SMALL, &overrides) {
            for problem in &problems {
                prop_assert!(problem.path.to_string().starts_with(&format!("spec.{field}")), "{}", problem);
            }
        }
    }
}
