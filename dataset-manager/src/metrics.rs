//! `/metrics`: how the run stands, for Prometheus. The names are a contract: `docs/protocol.md`.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use reprise_contract::protocol::{RefusalCode, Stage, Status, WorkerState};

/// The type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type FloatGauge = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStage {
    stage: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfWorker {
    worker: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCode {
    code: String,
}

const STAGES: [Stage; 10] = [
    Stage::Pinning,
    Stage::Fetching,
    Stage::Building,
    Stage::Gathering,
    Stage::Arming,
    Stage::Replaying,
    Stage::Merging,
    Stage::Storing,
    Stage::Holding,
    Stage::Ended,
];

const STATES: [WorkerState; 7] = [
    WorkerState::Missing,
    WorkerState::Joined,
    WorkerState::Ready,
    WorkerState::Armed,
    WorkerState::Replaying,
    WorkerState::Finished,
    WorkerState::Lost,
];

/// The metrics of a status and of the calls that were refused, in the text format of `OpenMetrics`.
#[must_use]
pub fn text<S: BuildHasher>(status: &Status, refused: &HashMap<RefusalCode, u64, S>) -> String {
    let mut registry = Registry::with_prefix("reprise");
    add_progress(&mut registry, status);
    add_numbers(&mut registry, status);
    add_workers(&mut registry, status);
    let calls = Family::<OfCode, Counter>::default();
    for (code, count) in refused {
        let label = OfCode {
            code: format!("{code:?}"),
        };
        calls.get_or_create(&label).inc_by(*count);
    }
    registry.register("calls_refused", "Calls that were refused", calls);
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _: Result<(), fmt::Error> = encode(&mut text, &registry);
    text
}

fn add_progress(registry: &mut Registry, status: &Status) {
    let stages = Family::<OfStage, Gauge>::default();
    for stage in STAGES {
        let label = OfStage {
            stage: format!("{stage:?}"),
        };
        stages.get_or_create(&label).set(i64::from(stage == status.stage));
    }
    registry.register(
        "run_stage",
        "1 for the stage that the run is in, 0 for the others",
        stages,
    );
    let Some(progress) = &status.progress else {
        return;
    };
    let total = progress.total.unwrap_or_default();
    for (name, help, value) in [
        ("stage_done", "How much of its stage is done", progress.done),
        (
            "stage_total",
            "How much there is to do in the stage, 0 where that is unknown",
            total,
        ),
    ] {
        let gauge = FloatGauge::default();
        gauge.set(value as f64);
        registry.register(name, help, gauge);
    }
}

fn add_numbers(registry: &mut Registry, status: &Status) {
    let numbers = &status.numbers;
    for (name, help, value) in [
        ("requests_planned", "Requests of the plan", numbers.planned as f64),
        (
            "lag_max_seconds",
            "The greatest lag: sent after due",
            numbers.lag_max_ms / 1e3,
        ),
        (
            "requests_sent_per_second",
            "Requests sent a second, over the last seconds",
            numbers.sent_per_second,
        ),
    ] {
        let gauge = FloatGauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    }
    for (name, help, value) in [
        (
            "requests_sent",
            "Requests sent, as the workers last said",
            numbers.sent,
        ),
        (
            "outcomes_received",
            "Outcomes delivered by the workers",
            numbers.received,
        ),
        (
            "requests_completed",
            "Outcomes with a complete answer",
            numbers.completed,
        ),
        ("requests_failed", "Outcomes that failed", numbers.failed),
    ] {
        registry.register(name, help, ConstCounter::new(value));
    }
}

fn add_workers(registry: &mut Registry, status: &Status) {
    let by_state = Family::<OfState, Gauge>::default();
    for state in STATES {
        let count = status
            .workers
            .iter()
            .filter(|worker| worker.state == state)
            .count();
        let label = OfState {
            state: format!("{state:?}"),
        };
        by_state
            .get_or_create(&label)
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    registry.register("workers", "Workers by how far they have come", by_state);
    let (delivered, silent, clock) = (
        Family::<OfWorker, Gauge>::default(),
        Family::<OfWorker, FloatGauge>::default(),
        Family::<OfWorker, FloatGauge>::default(),
    );
    for worker in &status.workers {
        let label = OfWorker { worker: worker.index };
        delivered.get_or_create(&label).set(worker.delivered.into());
        if let Some(silent_s) = worker.silent_s {
            silent.get_or_create(&label).set(silent_s);
        }
        if let Some(error_ms) = worker.clock_error_ms {
            clock.get_or_create(&label).set(error_ms / 1e3);
        }
    }
    registry.register(
        "worker_delivered",
        "Outcomes that a worker has delivered",
        delivered,
    );
    registry.register(
        "worker_silent_seconds",
        "How long ago a worker was heard from",
        silent,
    );
    registry.register(
        "worker_clock_error_seconds",
        "How well the worker's clock is known",
        clock,
    );
}

#[cfg(test)]
mod tests {
    use reprise_contract::protocol::{Incarnation, LiveNumbers, PROTOCOL, Progress, WorkerStatus};

    use super::*;

    /// The names are what dashboards and alerts rely on.
    #[test]
    fn the_names_are_a_contract() {
        let incarnation = Incarnation::try_from("a".to_owned()).unwrap();
        let status = Status {
            protocol: PROTOCOL,
            manager: incarnation.clone(),
            stage: Stage::Replaying,
            progress: Some(Progress {
                done: 4,
                total: Some(10),
                unit: "requests".to_owned(),
            }),
            t0: None,
            workers: vec![WorkerStatus {
                index: 0,
                incarnation: Some(incarnation),
                state: WorkerState::Replaying,
                requests: 10,
                delivered: 4,
                silent_s: Some(0.5),
                clock_error_ms: Some(1.5),
            }],
            numbers: LiveNumbers {
                planned: 10,
                sent: 6,
                received: 4,
                completed: 3,
                failed: 1,
                lag_max_ms: 2.0,
                sent_per_second: 1.25,
            },
            message: None,
            dataset: None,
        };
        let text = text(&status, &HashMap::from([(RefusalCode::WrongToken, 2)]));
        // Labels of one name come in any order.
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
