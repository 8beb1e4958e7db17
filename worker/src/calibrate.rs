//! What this process can do, measured before it joins a run.

mod limits;
mod sink;

use std::collections::BTreeMap;
use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use reprise_content::schedule::{LeftOut, Mode, Request, Schedule};
use reprise_content::store::{Content, Origin, StoreError, Writer};
use reprise_content::template::{Api, ModelRewrite, Template};
use reprise_content::turn::{Body, Turn};
use reprise_contract::plan::LatePolicy;
use reprise_contract::protocol::Capacity;
use reprise_contract::{Digest, Ending};

use crate::control::Control;
use crate::headers::RequestHeaders;
use crate::plan::{Plan, RequestNumbers};
use crate::replay::{ReplayError, replay};
use crate::target::{Target, TargetError};
use sink::Sink;

/// How long is sent: 300 ms, in which even a slow thread sends hundreds.
const SPAN: Duration = Duration::from_millis(300);
/// Slices that the best is taken of.
const SLICES_A_SECOND: u32 = 10;
/// Requests that are there to be sent: more than any machine sends in that time.
const REQUESTS: usize = 60_000;
/// Sessions at once on each thread: enough that none waits for the sink.
const SESSIONS_A_THREAD: u32 = 16;
/// Batches of outcomes under way.
const BATCHES: usize = 256;

/// Why a process cannot tell what it can do.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// No listener or thread for the sink.
    #[error("Cannot measure how fast this worker sends: {0}. Allow it to listen on 127.0.0.1.")]
    Sink(#[source] io::Error),
    /// The sink's URL is none, which no listener gives.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The request cannot be kept.
    #[error("Cannot measure how fast this worker sends: {0}")]
    Content(#[from] StoreError),
    /// The replay did not run.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Nothing came back.
    #[error(
        "Cannot measure how fast this worker sends: none of {sent} requests to 127.0.0.1 was answered{}. Allow it to connect to \
         itself.",
        why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
    )]
    NoAnswer {
        /// Requests that were sent.
        sent: usize,
        /// What the first that failed says.
        why: Option<String>,
    },
}

/// Measures what this process can do with so many threads: for a third of a second it sends small requests, and reads short
/// streamed answers, as fast as it can, to a sink of its own on the loopback; the best tenth of a second counts. As the sink takes its part of the processor, a
/// real target leaves more. Raises the limit on open files as far as it may. `scratch` is a folder for some kilobytes.
///
/// # Errors
/// When that cannot be measured.
pub fn calibrate(threads: NonZeroUsize, scratch: &Path) -> Result<Capacity, CalibrateError> {
    let connections = limits::connections();
    let measured = measure(threads, scratch)?;
    Ok(Capacity {
        threads: u32::try_from(threads.get()).unwrap_or(u32::MAX),
        requests_per_second: measured.per_second(),
        connections,
    })
}

/// Requests that were answered.
struct Measured {
    /// Those of the best slice.
    best: u32,
    #[cfg(test)]
    answered: u64,
    #[cfg(test)]
    seen_by_sink: u64,
}

impl Measured {
    /// As the best slice has it: in the others the machine may have had something else to do.
    fn per_second(&self) -> u32 {
        self.best.saturating_mul(SLICES_A_SECOND)
    }
}

/// The most of these instants, in nanoseconds, that lie in one slice.
fn best_slice(instants_ns: impl Iterator<Item = i64>) -> u32 {
    let mut slices: BTreeMap<i64, u32> = BTreeMap::new();
    for instant in instants_ns {
        *slices
            .entry(instant * i64::from(SLICES_A_SECOND) / 1_000_000_000)
            .or_default() += 1;
    }
    slices.into_values().max().unwrap_or_default()
}

fn measure(threads: NonZeroUsize, scratch: &Path) -> Result<Measured, CalibrateError> {
    let sink = Sink::start().map_err(CalibrateError::Sink)?;
    let plan = plan(threads, content(scratch)?, &sink.url())?;
    let (outcomes, batches) = sync_channel(BATCHES);
    let replaying = thread::spawn(move || replay(plan, &Control::default(), &outcomes));
    let (mut answered, mut sent, mut why) = (Vec::new(), 0, None);
    for outcome in batches.iter().flat_map(|batch| batch.outcomes) {
        sent += usize::from(outcome.was_sent());
        if outcome.ending == Ending::Completed {
            answered.push(outcome.times.done.unwrap_or_default());
        }
        why = why.or(outcome.error);
    }
    replaying.join().map_err(|_| ReplayError::Panicked)??;
    if answered.is_empty() {
        return Err(CalibrateError::NoAnswer { sent, why });
    }
    Ok(Measured {
        #[cfg(test)]
        answered: answered.len() as u64,
        best: best_slice(answered.into_iter()),
        #[cfg(test)]
        seen_by_sink: sink.answered(),
    })
}

/// One small request.
fn content(scratch: &Path) -> Result<Content, StoreError> {
    let folder = tempfile::Builder::new()
        .prefix(".calibrate-")
        .tempdir_in(scratch)
        .map_err(|source| StoreError::Io {
            path: scratch.to_owned(),
            source,
        })?;
    let mut writer = Writer::create(folder.path())?;
    writer.push(&Turn {
        session: 0,
        line: 1,
        recorded_ns: None,
        delay_ns: None,
        input_tokens: None,
        output_tokens: None,
        request_id: None,
        headers: Vec::new(),
        is_constrained: false,
        body: Body::Messages {
            messages: Bytes::from_static(br#"[{"role":"user","content":"How fast can you go?"}]"#),
            extra: None,
        },
    })?;
    writer.finish(Origin {
        trace_digest: Digest::from_bytes([0; 32]),
        format: "calibration".to_owned(),
        options: BTreeMap::new(),
        corpus: reprise_content::corpus::NAME.to_owned(),
        seed: 0,
    })
}

/// Sends it again and again.
fn plan(threads: NonZeroUsize, content: Content, url: &str) -> Result<Plan, CalibrateError> {
    let request = Request {
        turn: 0,
        offset_ns: None,
        delay_ns: 0,
        next: None,
        place: 0,
        is_warmup: false,
    };
    let sessions = u32::try_from(threads.get())
        .unwrap_or(u32::MAX)
        .saturating_mul(SESSIONS_A_THREAD);
    Ok(Plan {
        content,
        schedule: Schedule {
            mode: Mode::Concurrency(NonZeroU32::new(sessions).unwrap_or(NonZeroU32::MIN)),
            requests: vec![request; REQUESTS],
            left_out: LeftOut::default(),
        },
        numbers: RequestNumbers::whole(),
        template: Template {
            api: Api::Chat,
            model: Some("sink".to_owned()),
            rewrite: ModelRewrite::default(),
            streaming: Some(true),
            match_output_length: false,
        },
        targets: vec![Target::parse(url, Api::Chat)?],
        headers: RequestHeaders::none(),
        timeout: SPAN * 10,
        late_policy: LatePolicy::CatchUp,
        late_threshold: SPAN,
        duration: Some(SPAN),
        measured_from_ns: None,
        threads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_best_slice() {
        let ms = |instants: &[i64]| best_slice(instants.iter().map(|instant| instant * 1_000_000));
        assert_eq!(ms(&[]), 0);
        assert_eq!(ms(&[0, 50, 99, 100, 250, 251, 252, 253, 2_900]), 4);
        let measured = Measured {
            best: 4,
            answered: 9,
            seen_by_sink: 9,
        };
        assert_eq!(measured.per_second(), 40);
    }

    #[test]
    fn the_sink_sees_as_many_as_are_reported() {
        let scratch = tempfile::tempdir().unwrap();
        let measured = measure(NonZeroUsize::MIN, scratch.path()).unwrap();
        assert!(measured.answered > 0);
        assert_eq!(measured.seen_by_sink, measured.answered);
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = calibrate(NonZeroUsize::MIN, Path::new("/not/there")).unwrap_err();
        assert!(error.to_string().contains("/not/there"), "{error}");
    }
}
