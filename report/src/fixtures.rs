//! Outcomes and inputs for tests.

use std::ops::Range;
use std::time::Duration;

use reprise_contract::outcome::{Times, Tokens};
use reprise_contract::summary::{
    DatasetProvenance, Host, Pin, PinnedBy, Provenance, ScheduleProvenance, TargetProvenance,
};
use reprise_contract::{Ending, FailureCause, Gaps, Histogram, Outcome, Phase, Summary, TokenSource};

use crate::{EndedBy, Input, Limits, OnLoss, OutcomeWriter, Part, PartClock, Slo, Workers, analyse};

const MS: i64 = 1_000_000;

/// A completed, measured, streamed request: one every 100 ms, a few tokens, a lag below 1 ms, each a little different.
pub(crate) fn outcome(request: u32) -> Outcome {
    let varied = |modulus: u32| i64::from(request.wrapping_mul(2_654_435_761) >> 8) % i64::from(modulus);
    let recorded = i64::from(request) * 100 * MS;
    let sent = recorded + varied(900) * 1_000;
    let first_output = sent + 20 * MS + varied(40) * MS / 2;
    let tokens = 8 + u32::try_from(varied(24)).unwrap();
    let gap = 5 * MS + varied(7) * 100_000;
    let last_output = first_output + gap * i64::from(tokens - 1);
    let mut gaps = Gaps::default();
    (1..tokens).for_each(|_| gaps.record(gap.unsigned_abs()));
    Outcome {
        request,
        session: request,
        turn: 0,
        request_id: None,
        phase: Phase::Measured,
        ending: Ending::Completed,
        times: Times {
            recorded: Some(recorded),
            due: Some(recorded),
            sent: Some(sent),
            headers: Some(first_output - MS),
            first_chunk: Some(first_output - MS / 2),
            first_output: Some(first_output),
            first_content: Some(first_output),
            last_output: Some(last_output),
            usage: Some(last_output + MS / 10),
            done: Some(last_output + MS / 5),
        },
        connect_ns: (request < 4).then_some(300_000),
        gaps,
        output_chunks: tokens,
        input_tokens: Some(Tokens {
            count: 200 + 10 * tokens,
            source: TokenSource::ServerUsage,
        }),
        cached_tokens: None,
        output_tokens: Some(Tokens {
            count: tokens,
            source: TokenSource::ServerUsage,
        }),
        requested_output_tokens: Some(tokens),
        status: Some(200),
        error: None,
        request_bytes: 1_000,
        answer_bytes: 4_000,
        target: 0,
        worker: 0,
        clock_error_ns: None,
    }
}

/// Streamed requests, all completed.
pub(crate) fn streamed(requests: Range<u32>) -> Vec<Outcome> {
    requests.map(outcome).collect()
}

/// A completed request whose answer was not streamed.
pub(crate) fn unstreamed(request: u32) -> Outcome {
    let mut outcome = outcome(request);
    outcome.times.first_output = None;
    outcome.times.first_content = None;
    outcome.times.last_output = None;
    outcome.gaps = Gaps::default();
    outcome.output_chunks = 0;
    outcome
}

/// A request that found no listener.
pub(crate) fn refused(request: u32) -> Outcome {
    let outcome = outcome(request);
    Outcome {
        ending: Ending::Failed(FailureCause::ConnectionRefused),
        times: Times {
            recorded: outcome.times.recorded,
            due: outcome.times.due,
            done: outcome.times.sent,
            ..Times::default()
        },
        gaps: Gaps::default(),
        output_chunks: 0,
        input_tokens: None,
        output_tokens: None,
        status: None,
        error: Some("127.0.0.1:8000: connection refused".to_owned()),
        answer_bytes: 0,
        ..outcome
    }
}

/// A request whose connection was cut after a few chunks.
pub(crate) fn cut(request: u32) -> Outcome {
    let mut outcome = outcome(request);
    outcome.ending = Ending::Failed(FailureCause::ConnectionClosed);
    outcome.error = Some("connection closed after 3 chunks, before the end of the stream".to_owned());
    outcome.output_chunks = 3;
    outcome.output_tokens = Some(Tokens {
        count: 3,
        source: TokenSource::ChunkCount,
    });
    outcome.times.usage = None;
    outcome
}

/// The histogram of the gaps of completed, measured requests, each request's gaps taken as equal.
pub(crate) fn gaps(outcomes: &[Outcome]) -> Histogram {
    let mut histogram = Histogram::default();
    let counted =
        |outcome: &&Outcome| outcome.phase == Phase::Measured && outcome.ending == Ending::Completed;
    for outcome in outcomes.iter().filter(counted) {
        (0..outcome.gaps.count).for_each(|_| histogram.record(outcome.gaps.max_ns));
    }
    histogram
}

/// What a run of `planned` requests knows of itself.
pub(crate) fn input(planned: usize) -> Input {
    Input {
        name: "chat-august".to_owned(),
        spec: serde_json::json!({
            "dataset": {"source": "hf://acme/traces/chat.jsonl.gz", "format": "mooncake_trace"},
            "target": {"urls": ["http://localhost:8000"], "api": "chat", "model": "Qwen/Qwen3-0.6B"},
            "replay": {"schedule": "Recorded", "speed": 2.0, "seed": 7},
        }),
        provenance: Provenance {
            reprise_version: "0.1.0".to_owned(),
            dataset: DatasetProvenance {
                reference: "hf://acme/traces/chat.jsonl.gz".to_owned(),
                pin: Some(Pin {
                    version: Some("3e1f0c7a9b2d4e6f8091a2b3c4d5e6f708192a3b".to_owned()),
                    pinned_by: PinnedBy::Run,
                    canonical: Some(
                        "hf://datasets/acme/traces@3e1f0c7a9b2d4e6f8091a2b3c4d5e6f708192a3b/chat.jsonl.gz"
                            .to_owned(),
                    ),
                }),
                manifest: None,
                tokenizer: None,
                bytes: 123_456,
                sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824".to_owned(),
                compression: "gzip".to_owned(),
                trace_sha256: "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7".to_owned(),
                files: Vec::new(),
                format: "mooncake_trace".to_owned(),
                format_chosen_by: "spec".to_owned(),
                records: planned as u64,
                sessions: planned as u64,
                content_digest: "b94d27b9934d3e08".to_owned(),
                corpus: Some("words-v1".to_owned()),
                seed: 7,
            },
            schedule: ScheduleProvenance {
                mode: "Recorded".to_owned(),
                hash: "a52d159f262b2c6d".to_owned(),
                requests: planned as u64,
                left_out: 0,
            },
            target: TargetProvenance {
                urls: vec!["http://localhost:8000".to_owned()],
                api: "chat".to_owned(),
            },
            host: Host {
                platform: "linux/x86_64".to_owned(),
                threads: 2,
            },
        },
        warnings: Vec::new(),
        started_at: "2026-08-01T12:00:00Z".to_owned(),
        ended_by: EndedBy::Completion,
        planned: planned as u64,
        limits: Limits {
            slo: Some(Slo {
                ttft: Some(Duration::from_millis(35)),
                inter_token_latency: Some(Duration::from_millis(50)),
                request_latency: None,
            }),
            late_threshold: Duration::from_millis(50),
        },
        workers: None,
    }
}

/// The summary of these outcomes, by way of a file.
pub(crate) fn summary(input: Input, outcomes: &[Outcome]) -> Summary {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outcomes.parquet");
    let mut writer = OutcomeWriter::create(&path).unwrap();
    writer.append(outcomes).unwrap();
    writer.finish().unwrap();
    analyse(input, &path, &gaps(outcomes)).unwrap()
}

/// What a run by `workers` workers knows of them; request `n` is worker `n % workers`'s.
pub(crate) fn workers(planned: usize, workers: usize) -> Workers {
    let part = |worker| Part {
        requests: (0..planned).filter(|request| request % workers == worker).count() as u64,
        clock: Some(PartClock {
            error_ns: 100_000 + 1_000 * worker as u64,
            drift_ppm: 1.5,
            samples: 60,
        }),
        lost: None,
    };
    Workers {
        chosen_by: "workers.replicas".to_owned(),
        on_loss: OnLoss::Fail,
        parts: (0..workers).map(part).collect(),
    }
}

/// These outcomes as those of `workers` workers.
pub(crate) fn by_workers(mut outcomes: Vec<Outcome>, workers: u32) -> Vec<Outcome> {
    for outcome in &mut outcomes {
        outcome.worker = outcome.request % workers;
        outcome.clock_error_ns = Some(i64::from(outcome.request % 7) * 1_000 - 3_000);
    }
    outcomes
}
