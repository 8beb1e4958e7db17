//! From a replay to its numbers and the files of its result.

use std::path::Path;
use std::time::Duration;

use reprise_contract::summary::{
    DatasetProvenance, Host, Provenance, ScheduleProvenance, TargetProvenance, Verdict,
};
use reprise_contract::{Ending, Summary};
use reprise_dataset::Format;
use reprise_report::{EndedBy, Input, Limits, OutcomeWriter, analyse, files};
use reprise_tests::answers::{DONE, STREAM_HEAD, chunk, content as output, stream};
use reprise_tests::plans::{at, burst, content, one_by_one, plan, recorded_plan};
use reprise_tests::runs::{Run, Running, replay};
use reprise_tests::scripted_server::{ScriptedServer, Step};
use reprise_worker::RequestHeaders;
use serde_json::{Value, json};

use crate::mock;

/// Writes the outcomes of a run into `folder` and sums them up.
fn summary_in(folder: &Path, run: &Run, late_threshold: Duration) -> Summary {
    let mut writer = OutcomeWriter::create(&folder.join("outcomes.parquet")).unwrap();
    writer.append(&run.outcomes).unwrap();
    let file = writer.finish().unwrap();
    let ended_by = match run.replayed.stopped {
        None => EndedBy::Completion,
        Some(_) => EndedBy::Cancel,
    };
    let input = Input {
        name: "test".to_owned(),
        spec: json!({}),
        provenance: provenance(),
        warnings: Vec::new(),
        started_at: "2026-08-01T12:00:00Z".to_owned(),
        ended_by,
        planned: run.outcomes.len() as u64,
        limits: Limits {
            slo: None,
            late_threshold,
        },
        workers: None,
    };
    analyse(input, &file, &run.gaps).unwrap()
}

fn summary(run: &Run) -> Summary {
    let folder = tempfile::tempdir().unwrap();
    summary_in(folder.path(), run, Duration::from_millis(50))
}

/// Nothing here matters to the numbers.
fn provenance() -> Provenance {
    Provenance {
        reprise_version: String::new(),
        dataset: DatasetProvenance {
            reference: String::new(),
            pin: None,
            manifest: None,
            tokenizer: None,
            bytes: 0,
            sha256: String::new(),
            compression: String::new(),
            trace_sha256: String::new(),
            files: Vec::new(),
            format: String::new(),
            format_chosen_by: String::new(),
            records: 0,
            sessions: 0,
            content_digest: String::new(),
            corpus: None,
            seed: 0,
        },
        schedule: ScheduleProvenance {
            mode: String::new(),
            hash: String::new(),
            requests: 0,
            left_out: 0,
        },
        target: TargetProvenance {
            urls: Vec::new(),
            api: String::new(),
        },
        host: Host {
            platform: String::new(),
            threads: 1,
        },
    }
}

#[test]
fn a_server_that_stops_early_is_counted_as_a_mismatch() {
    let endpoint = mock::start();
    let line = format!(
        r#"{{"timestamp":0,"completion_tokens":20,"body":{}}}"#,
        r#"{"messages":[],"stream":true,"stream_options":{"include_usage":true}}"#
    );
    let mut plan = recorded_plan(content(Format::WorkloadTrace, &[line]), &[endpoint.url()]);
    plan.template.match_output_length = true;
    plan.headers = RequestHeaders::new([("x-mock-finish-early", "10")]).unwrap();
    let run = replay(plan);
    run.assert_all_completed();
    let outcome = run.only();
    assert_eq!(
        (
            outcome.requested_output_tokens,
            outcome.output_tokens.unwrap().count
        ),
        (Some(20), 10)
    );
    assert_eq!(summary(&run).counts.output_length_mismatches, 1);
}

#[test]
fn a_connection_cut_mid_stream_is_in_no_latency() {
    let server = ScriptedServer::start(|request| match request.index {
        1 => vec![
            Step::write(STREAM_HEAD),
            Step::write(chunk(output("a"))),
            Step::Close,
        ],
        _ => vec![Step::write(stream(&[output("a"), DONE.to_owned()]))],
    });
    let run = replay(one_by_one(3, &server.url()));
    assert!(matches!(run.outcomes[1].ending, Ending::Failed(_)));
    assert!(run.outcomes[1].times.first_output.is_some());
    let summary = summary(&run);
    assert_eq!((summary.counts.completed, summary.counts.failed), (2, 1));
    assert_eq!(summary.counts.failures["connectionClosed"].count, 1);
    let metrics = summary.metrics.unwrap();
    assert_eq!(metrics.ttft_ms.unwrap().count, 2);
    assert_eq!(metrics.request_latency_ms.unwrap().count, 2);
}

#[test]
fn one_request_is_every_percentile() {
    let endpoint = mock::start_slow("3ms", "1ms");
    let line = r#"{"timestamp":0,"input_length":10,"output_length":4}"#;
    let run = replay(recorded_plan(
        content(Format::MooncakeTrace, &[line]),
        &[endpoint.url()],
    ));
    run.assert_all_completed();
    let ttft = summary(&run).metrics.unwrap().ttft_ms.unwrap();
    let percentiles = serde_json::to_value(ttft.percentiles).unwrap();
    let percentiles: Vec<_> = percentiles
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_f64)
        .collect();
    assert_eq!(percentiles.len(), 10);
    assert!(
        (ttft.min - ttft.max).abs() < f64::EPSILON && ttft.min > 0.0,
        "{ttft:?}"
    );
    assert!(
        percentiles
            .iter()
            .all(|value| (value - ttft.min).abs() < f64::EPSILON),
        "{ttft:?}"
    );
}

#[test]
fn the_late_threshold_changes_the_late_count_only() {
    let endpoint = mock::start();
    let run = replay(recorded_plan(burst(60), &[endpoint.url()]));
    run.assert_all_completed();
    let with = |threshold: Duration| {
        let folder = tempfile::tempdir().unwrap();
        serde_json::to_value(summary_in(folder.path(), &run, threshold)).unwrap()
    };
    let (mut none, mut hour) = (with(Duration::ZERO), with(Duration::from_hours(1)));
    assert_eq!(
        (&none["lag"]["late"], &hour["lag"]["late"]),
        (&json!(60), &json!(0))
    );
    for summary in [&mut none, &mut hour] {
        summary["lag"]
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !matches!(key.as_str(), "late" | "thresholdMs"));
        summary["warnings"] = json!([]);
    }
    assert_eq!(none, hour);
}

#[test]
fn a_cancelled_session_is_counted_as_partial() {
    let endpoint = mock::start();
    let lines = [
        r#"{"timestamp":0,"session_id":"s","text_input":"a","output_length":1}"#,
        r#"{"timestamp":3600000,"session_id":"s","text_input":"b","output_length":1}"#,
    ];
    let running = Running::start(recorded_plan(
        content(Format::MooncakeTrace, &lines),
        &[endpoint.url()],
    ));
    while endpoint.summary().requests < 1 {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.control.cancel();
    let summary = summary(&running.finish());
    assert_eq!(
        (summary.verdict, summary.counts.partial_sessions),
        (Verdict::Cancelled, 1)
    );
}

#[test]
fn results_hold_neither_prompts_nor_answers_nor_credentials() {
    let server = ScriptedServer::answering(stream(&[output("the-answer-itself"), DONE.to_owned()]));
    let body = r#"{"messages":[{"role":"user","content":"the-prompt-itself"}],"stream":true}"#;
    let content = content(Format::WorkloadTrace, &[at(0.0, body)]);
    let schedule = reprise_tests::plans::as_recorded(&content);
    let mut plan = plan(content, schedule, &[server.url()]);
    plan.headers = RequestHeaders::new([("authorization", "Bearer the-secret-itself")]).unwrap();
    let run = replay(plan);
    run.assert_all_completed();
    assert!(server.requests()[0].text().contains("the-prompt-itself"));
    assert!(server.requests()[0].head.contains("the-secret-itself"));

    let folder = tempfile::tempdir().unwrap();
    let summary = summary_in(folder.path(), &run, Duration::from_millis(50));
    files::write_all(folder.path(), &summary).unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let has_any = bytes.windows(6).any(|window| window == b"itself");
        assert!(!has_any);
        files += 1;
    }
    assert_eq!(files, 4);
}
