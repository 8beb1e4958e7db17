//! A made-up run: an hour of conversations whose rate comes in waves, a target that slows down under load, and a few
//! failures.

use std::ops::Range;
use std::time::Duration;

use reprise_contract::outcome::{Times, Tokens};
use reprise_contract::summary::{DatasetProvenance, Host, Provenance, ScheduleProvenance, TargetProvenance};
use reprise_contract::{Ending, FailureCause, Gaps, Histogram, Outcome, Phase, TokenSource};
use reprise_report::{EndedBy, Input, Limits, Slo};

const MS: f64 = 1e6;
const SECOND: f64 = 1e9;
const WARM_UP: u32 = 100;

/// Outcomes, and the gaps between their chunks.
pub(crate) struct Run {
    pub outcomes: Vec<Outcome>,
    pub gaps: Histogram,
}

/// Makes `requests` outcomes over `span`.
pub(crate) fn run(requests: u32, span: Duration) -> Run {
    let mut random = Random { state: 7 };
    let mut gaps = Histogram::default();
    let mut arrivals: Vec<_> = (0..requests).map(|_| arrival(&mut random)).collect();
    arrivals.sort_by(f64::total_cmp);
    let outcomes = (0..)
        .zip(arrivals)
        .map(|(request, share)| outcome(request, share, span, &mut random, &mut gaps))
        .collect();
    Run { outcomes, gaps }
}

/// When a request arrives, as a share of the span: more in the middle, in waves.
fn arrival(random: &mut Random) -> f64 {
    loop {
        let share = random.uniform();
        if random.uniform() < load(share) {
            return share;
        }
    }
}

/// The load at a share of the span, 0 to 1.
fn load(share: f64) -> f64 {
    let tide = 0.35 + 0.3 * (share * std::f64::consts::PI).sin();
    let waves = 0.12 * (share * 40.0).sin() + 0.08 * (share * 131.0).sin();
    let burst = if (0.62..0.66).contains(&share) { 0.3 } else { 0.0 };
    (tide + waves + burst).clamp(0.05, 1.0)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made-up numbers, all small and positive"
)]
fn outcome(request: u32, share: f64, span: Duration, random: &mut Random, gaps: &mut Histogram) -> Outcome {
    let load = load(share);
    let turn = u32::from(random.uniform() < 0.4);
    let input = (400.0 * random.log_normal(0.9)) as u32 + 20;
    let output = (120.0 * random.log_normal(0.7)) as u32 + 1;
    let recorded = share * span.as_secs_f64() * SECOND;
    let wait = if turn == 1 && random.uniform() < 0.15 {
        300.0 * MS * random.log_normal(1.0)
    } else {
        0.0
    };
    let stall = if random.uniform() < 0.002 {
        30.0 * MS * random.log_normal(0.6)
    } else {
        0.0
    };
    let sent = recorded + wait + 0.04 * MS * random.log_normal(0.8) + stall;
    let prefill = f64::from(input) * 0.04 * MS;
    let first = sent + (35.0 * MS + prefill) * (1.0 + 3.0 * load.powi(4)) * random.log_normal(0.25);
    let pace = 8.0 * MS * (1.0 + 1.2 * load) * random.log_normal(0.1);
    let mut kept = Gaps::default();
    let mut last = first;
    for _ in 1..output {
        let gap = pace * random.log_normal(0.3);
        kept.record(gap as u64);
        last += gap;
    }
    let failure = match random.uniform() {
        draw if draw < 0.004 * load => Some((FailureCause::HttpStatus, Some(503), "503 Service Unavailable")),
        draw if draw < 0.006 * load => Some((
            FailureCause::ConnectionClosed,
            Some(200),
            "connection closed before the end of the stream",
        )),
        _ => None,
    };
    let phase = if request < WARM_UP {
        Phase::Warmup
    } else {
        Phase::Measured
    };
    if failure.is_none() && phase == Phase::Measured {
        let mean = kept.sum_ns.checked_div(u64::from(kept.count)).unwrap_or_default();
        for _ in 0..kept.count {
            gaps.record((mean as f64 * random.log_normal(0.3)) as u64);
        }
    }
    let answered = failure.is_none();
    let at = |time: f64| Some(time as i64);
    Outcome {
        request,
        session: request / 3,
        turn,
        request_id: None,
        phase,
        ending: failure.map_or(Ending::Completed, |(cause, ..)| Ending::Failed(cause)),
        times: Times {
            recorded: at(recorded),
            due: at(recorded + wait),
            sent: at(sent),
            headers: at(first - MS),
            first_chunk: at(first - 0.5 * MS),
            first_output: answered.then_some(first as i64),
            first_content: answered.then_some(first as i64),
            last_output: answered.then_some(last as i64),
            usage: answered.then_some((last + 0.1 * MS) as i64),
            done: at(if answered { last + 0.3 * MS } else { first }),
        },
        connect_ns: (request < 64).then_some(400_000),
        gaps: kept,
        output_chunks: output,
        input_tokens: Some(Tokens {
            count: input,
            source: TokenSource::ServerUsage,
        }),
        cached_tokens: Some(input / 3),
        output_tokens: answered.then_some(Tokens {
            count: output,
            source: TokenSource::ServerUsage,
        }),
        requested_output_tokens: Some(if random.uniform() < 0.003 {
            output + 4
        } else {
            output
        }),
        status: failure.map_or(Some(200), |(_, status, _)| status),
        error: failure.map(|(.., error)| error.to_owned()),
        request_bytes: u64::from(input) * 5,
        answer_bytes: u64::from(output) * 180,
        target: 0,
        worker: 0,
        clock_error_ns: None,
    }
}

/// What the run knows of itself.
pub(crate) fn input(requests: u32) -> Input {
    Input {
        name: "chat-august".to_owned(),
        spec: serde_json::json!({
            "dataset": {"source": "traces/conversation.jsonl.gz", "format": "mooncake_trace"},
            "target": {"urls": ["http://vllm.serving.svc:8000"], "api": "chat", "model": "Qwen/Qwen3-0.6B", "streaming": true},
            "replay": {
                "schedule": "Recorded", "speed": 1.0, "warmup": {"requests": WARM_UP}, "latePolicy": "CatchUp",
                "lateThreshold": "50ms", "matchOutputLength": true, "seed": 7
            },
            "slo": {"ttft": "200ms", "interTokenLatency": "20ms"},
        }),
        provenance: Provenance {
            reprise_version: env!("CARGO_PKG_VERSION").to_owned(),
            dataset: DatasetProvenance {
                reference: "traces/conversation.jsonl.gz".to_owned(),
                pin: None,
                manifest: None,
                tokenizer: None,
                bytes: 1_834_201,
                sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824".to_owned(),
                compression: "gzip".to_owned(),
                trace_sha256: "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7".to_owned(),
                files: Vec::new(),
                format: "mooncake_trace".to_owned(),
                format_chosen_by: "detected".to_owned(),
                records: u64::from(requests) + 31,
                sessions: u64::from(requests.div_ceil(3)),
                content_digest: "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9".to_owned(),
                corpus: Some("words-v1".to_owned()),
                seed: 7,
            },
            schedule: ScheduleProvenance {
                mode: "Recorded".to_owned(),
                hash: "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9".to_owned(),
                requests: u64::from(requests),
                left_out: 31,
            },
            target: TargetProvenance {
                urls: vec!["http://vllm.serving.svc:8000".to_owned()],
                api: "chat".to_owned(),
            },
            host: Host {
                platform: "linux/x86_64".to_owned(),
                threads: 2,
            },
        },
        warnings: Vec::new(),
        started_at: "2026-08-14T09:30:00Z".to_owned(),
        ended_by: EndedBy::Completion,
        planned: u64::from(requests),
        limits: Limits {
            slo: Some(Slo {
                ttft: Some(Duration::from_millis(200)),
                inter_token_latency: Some(Duration::from_millis(20)),
                request_latency: None,
            }),
            late_threshold: Duration::from_millis(50),
        },
        workers: None,
    }
}

/// `SplitMix64`: small, and the same everywhere.
struct Random {
    state: u64,
}

impl Random {
    /// 0 to 1, 1 left out.
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Log-normal with median 1.
    fn log_normal(&mut self, sigma: f64) -> f64 {
        let range: Range<usize> = 0..12;
        let normal: f64 = range.map(|_| self.uniform()).sum::<f64>() - 6.0;
        (sigma * normal).exp()
    }
}
