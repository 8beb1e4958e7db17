//! How long 5,000,000 outcomes of 200 workers take from batches on the wire to numbers, and how much memory.
//!
//! `scripts/bench merge_outcomes`; the binary alone takes another number of outcomes. Nothing is sent: the outcomes are made up.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use reprise_contract::outcome::{Times, Tokens};
use reprise_contract::protocol::Incarnation;
use reprise_contract::protocol::batch::{self, BatchHead};
use reprise_contract::summary::{DatasetProvenance, Host, Provenance, ScheduleProvenance, TargetProvenance};
use reprise_contract::{Ending, Gaps, Histogram, Outcome, Phase, Summary, TokenSource};
use reprise_report::{EndedBy, Input, Limits, OnLoss, OutcomeWriter, Part, Workers, analyse};

const OUTCOMES: u32 = 5_000_000;
const WORKERS: u32 = 200;
/// Outcomes of a batch, as a worker sends them once a second.
const BATCH: u32 = 1_000;
/// Between two requests of the run: 20,000 a second.
const GAP_NS: i64 = 50_000;

fn main() -> Result<()> {
    let given = std::env::args().skip(1).find_map(|text| text.parse().ok());
    let outcomes = given.unwrap_or(OUTCOMES);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("outcomes.parquet");
    let (mut gaps, mut encoding_s, mut decoding_s) = (Histogram::default(), 0.0, 0.0);
    let mut writer = OutcomeWriter::create(&path)?;
    let begun = Instant::now();
    for number in 0..outcomes.div_ceil(BATCH) {
        let encoding = Instant::now();
        let bytes = batch_of(number, outcomes)?;
        encoding_s += encoding.elapsed().as_secs_f64();
        let decoding = Instant::now();
        let (head, rows) = batch::decode(&bytes)?;
        decoding_s += decoding.elapsed().as_secs_f64();
        gaps.merge(&head.gaps);
        writer.append(&rows)?;
    }
    writer.finish()?;
    let gathered_s = begun.elapsed().as_secs_f64() - encoding_s;
    let file_mib = std::fs::metadata(&path)?.len() >> 20;
    let gathered_mib = peak_memory_mib()?;

    let begun = Instant::now();
    let summary = analyse(input(outcomes), &path, &gaps)?;
    let analysed_s = begun.elapsed().as_secs_f64();
    check(&summary, outcomes)?;
    println!("| outcomes | gathered | of it decoding | file | peak then | analysed | peak memory |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    println!(
        "| {outcomes} | {gathered_s:.1} s | {decoding_s:.1} s | {file_mib} MiB | {gathered_mib} MiB | {analysed_s:.1} s | {} MiB |",
        peak_memory_mib()?
    );
    black_box(summary);
    Ok(())
}

/// The greatest resident memory of this process so far.
fn peak_memory_mib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib.context("the kernel does not tell the peak")?.parse::<u64>()? >> 10)
}

fn check(summary: &Summary, outcomes: u32) -> Result<()> {
    let counts = &summary.counts;
    anyhow::ensure!(
        counts.completed == u64::from(outcomes) && counts.unknown == 0,
        "{counts:?}"
    );
    anyhow::ensure!(summary.workers.len() == WORKERS as usize, "a worker is missing");
    Ok(())
}

/// A batch on the wire: `BATCH` requests of one worker, as it takes turns with the others.
fn batch_of(number: u32, outcomes: u32) -> Result<Vec<u8>> {
    let worker = number % WORKERS;
    let (mut gaps, mut rows) = (Histogram::default(), Vec::new());
    for request in number * BATCH..(number * BATCH + BATCH).min(outcomes) {
        let outcome = outcome(request, worker);
        (0..outcome.gaps.count).for_each(|_| gaps.record(outcome.gaps.max_ns));
        rows.push(outcome);
    }
    let head = BatchHead {
        is_leaving: false,
        incarnation: Incarnation::try_from(format!("worker-{worker}"))?,
        number: u64::from(number / WORKERS),
        watermark_ns: None,
        sent: 0,
        t0_local_ns: 0,
        clock: Vec::new(),
        gaps,
        is_last: false,
        stopped: None,
    };
    Ok(batch::encode(&head, &rows)?)
}

/// A streamed request that varies with its number.
fn outcome(request: u32, worker: u32) -> Outcome {
    let mixed = (u64::from(request) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let vary = |upto: u64| i64::try_from(mixed % upto).unwrap_or_default();
    let recorded = i64::from(request) * GAP_NS;
    let sent = recorded + 20_000 + vary(900_000);
    let first = sent + 30_000_000 + vary(400_000_000);
    let tokens = 5 + u32::try_from(mixed % 200).unwrap_or_default();
    let gap = 8_000_000 + vary(9_000_000);
    let last = first + gap * i64::from(tokens - 1);
    let mut gaps = Gaps::default();
    (1..tokens).for_each(|_| gaps.record(gap.unsigned_abs()));
    let counted = |count| {
        Some(Tokens {
            count,
            source: TokenSource::ServerUsage,
        })
    };
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
            headers: Some(first - 2_000_000),
            first_chunk: Some(first - 1_000_000),
            first_output: Some(first),
            first_content: Some(first),
            last_output: Some(last),
            usage: Some(last + 100_000),
            done: Some(last + 200_000),
        },
        connect_ns: request.is_multiple_of(50).then_some(300_000),
        gaps,
        output_chunks: tokens,
        input_tokens: counted(200 + 3 * tokens),
        cached_tokens: None,
        output_tokens: counted(tokens),
        requested_output_tokens: Some(tokens),
        status: Some(200),
        error: None,
        request_bytes: 4_000 + mixed % 9_000,
        answer_bytes: 180 * u64::from(tokens),
        target: 0,
        worker,
        clock_error_ns: Some(vary(60_000) - 30_000),
    }
}

fn input(outcomes: u32) -> Input {
    let part = |worker: u32| Part {
        requests: (0..outcomes.div_ceil(BATCH))
            .filter(|number| number % WORKERS == worker)
            .map(|number| u64::from(BATCH.min(outcomes - number * BATCH)))
            .sum(),
        clock: None,
        lost: None,
    };
    Input {
        name: "merge".to_owned(),
        spec: serde_json::Value::Null,
        provenance: provenance(outcomes),
        warnings: Vec::new(),
        started_at: String::new(),
        ended_by: EndedBy::Completion,
        planned: outcomes.into(),
        limits: Limits {
            slo: None,
            late_threshold: std::time::Duration::from_millis(50),
        },
        workers: Some(Workers {
            chosen_by: "the benchmark".to_owned(),
            on_loss: OnLoss::Fail,
            parts: (0..WORKERS).map(part).collect(),
        }),
    }
}

fn provenance(outcomes: u32) -> Provenance {
    let none = String::new;
    Provenance {
        reprise_version: none(),
        dataset: DatasetProvenance {
            reference: none(),
            pin: None,
            manifest: None,
            tokenizer: None,
            bytes: 0,
            sha256: none(),
            compression: none(),
            trace_sha256: none(),
            files: Vec::new(),
            format: none(),
            format_chosen_by: none(),
            records: outcomes.into(),
            sessions: outcomes.into(),
            content_digest: none(),
            corpus: None,
            seed: 0,
        },
        schedule: ScheduleProvenance {
            mode: none(),
            hash: none(),
            requests: outcomes.into(),
            left_out: 0,
        },
        target: TargetProvenance {
            urls: Vec::new(),
            api: none(),
        },
        host: Host {
            platform: none(),
            threads: WORKERS,
        },
    }
}
