//! A small plan, as the manager serves it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use reprise_content::schedule::{LeftOut, Mode, Request, Schedule};
use reprise_content::shard;
use reprise_content::store::{Content, Origin, Writer};
use reprise_content::{Body, Piece, Turn, digest};

use reprise_contract::plan::{Api, LatePolicy, ModelRewrite, PlanHead, Template};

const MILLISECOND: i64 = 1_000_000;

/// A plan whose requests go one after the other, and the part of it that the worker under test gets: every second request.
pub(crate) struct SmallPlan {
    pub(crate) head: PlanHead,
    pub(crate) shard: Bytes,
    /// The requests of the shard, by their numbers in the whole plan.
    pub(crate) numbers: Vec<u32>,
}

impl SmallPlan {
    /// A shard of so many requests, so far apart.
    pub(crate) fn new(requests: u32, apart_ms: i64, target: String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let content = content(folder.path(), requests * 2);
        let schedule = Schedule {
            mode: Mode::Recorded,
            requests: (0..requests * 2).map(|turn| request(turn, apart_ms)).collect(),
            left_out: LeftOut::default(),
        };
        let numbers: Vec<_> = (0..requests).map(|index| index * 2 + 1).collect();
        let mut bytes = Vec::new();
        shard::write(&content, &schedule, &numbers, &mut bytes).unwrap();
        let head = PlanHead {
            mode: Mode::Recorded,
            schedule_hash: schedule.hash(),
            content_digest: content.digest(),
            requests: requests * 2,
            workers: NonZeroU32::new(2).unwrap(),
            measured_from_ns: Some(0),
            template: Template {
                api: Api::Chat,
                model: Some("m".to_owned()),
                rewrite: ModelRewrite::default(),
                streaming: Some(false),
                match_output_length: false,
            },
            targets: vec![target],
            headers: Vec::new(),
            timeout: Duration::from_secs(20),
            late_policy: LatePolicy::CatchUp,
            late_threshold: Duration::from_secs(1),
            duration: None,
        };
        Self {
            head,
            shard: Bytes::from(bytes),
            numbers,
        }
    }
}

fn request(turn: u32, apart_ms: i64) -> Request {
    Request {
        turn,
        offset_ns: Some(i64::from(turn / 2) * apart_ms * MILLISECOND),
        delay_ns: 0,
        next: None,
        place: 0,
        is_warmup: false,
    }
}

fn content(folder: &std::path::Path, turns: u32) -> Content {
    let mut writer = Writer::create(folder).unwrap();
    for session in 0..turns {
        let turn = Turn {
            session,
            line: session + 1,
            recorded_ns: Some(0),
            delay_ns: None,
            input_tokens: Some(1),
            output_tokens: Some(1),
            request_id: None,
            headers: Vec::new(),
            is_constrained: false,
            body: Body::Prompt {
                pieces: vec![Piece::Literal(Bytes::from(format!("request {session}")))],
                extra: None,
            },
        };
        writer.push(&turn).unwrap();
    }
    let origin = Origin {
        trace_digest: digest::of(b"trace"),
        format: "test".to_owned(),
        options: BTreeMap::new(),
        corpus: "none".to_owned(),
        seed: 0,
    };
    writer.finish(origin).unwrap()
}
