//! What requests say, and how.

use std::cmp::Reverse;
use std::collections::HashMap;

use reprise_content::{Body, Piece, Slot};
use serde::Serialize;

use crate::json::{self, Members};

/// How many requests say what, and how. The first four add up to all requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bodies {
    /// Prompts that are made to a recorded length.
    pub prompts_of_lengths: u32,
    /// Prompts whose words were recorded.
    pub texts: u32,
    /// Recorded conversations, without the rest of the request.
    pub messages: u32,
    /// Whole request bodies.
    pub recorded_bodies: u32,
    /// Requests whose decoding is constrained by a grammar: a response format, forced tool calls.
    pub constrained_decoding: u32,
    /// Which models whole request bodies name. Absent if there are no such bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Models>,
    /// Whether whole request bodies ask for streaming. Absent if there are no such bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<Streaming>,
}

/// Which models request bodies name. All numbers together are the number of bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Models {
    /// The 20 that are named most often, most often first. Of a trace with more than 1,000 names, only the first 1,000 take
    /// part.
    pub most_frequent: Vec<Model>,
    /// Requests that name another model.
    pub other_requests: u32,
    /// Requests that name none, or not by a text.
    pub unnamed_requests: u32,
}

/// A model and how often it is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Requests that name it.
    pub requests: u32,
}

/// What request bodies say of streaming. All numbers together are the number of bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Streaming {
    /// Bodies with `"stream": true`.
    pub on: u32,
    /// Bodies with another value of `stream`.
    pub off: u32,
    /// Bodies that do not say.
    pub unsaid: u32,
}

/// Counts bodies.
#[derive(Debug, Default)]
pub(super) struct BodiesInspector {
    counts: Bodies,
    models: ModelCounts,
    streaming: Streaming,
}

impl BodiesInspector {
    pub(super) fn add(&mut self, body: &Body, is_constrained: bool) {
        self.counts.constrained_decoding += u32::from(is_constrained);
        match body {
            Body::Prompt { pieces, .. } => match pieces.first() {
                Some(Piece::Literal(_)) => self.counts.texts += 1,
                _ => self.counts.prompts_of_lengths += 1,
            },
            Body::Messages { .. } => self.counts.messages += 1,
            Body::Recorded { pieces } => {
                self.counts.recorded_bodies += 1;
                self.models.add(pieces);
                self.streaming.add(pieces);
            }
        }
    }

    pub(super) fn finish(self) -> Bodies {
        let has_recorded = self.counts.recorded_bodies > 0;
        Bodies {
            models: has_recorded.then(|| self.models.finish()),
            streaming: has_recorded.then_some(self.streaming),
            ..self.counts
        }
    }
}

/// How often each model is named.
#[derive(Debug, Default)]
struct ModelCounts {
    by_name: HashMap<String, u32>,
    others: u32,
    unnamed: u32,
}

impl ModelCounts {
    /// Names come from the trace, so their number is bounded.
    const MAX_NAMES: usize = 1000;
    const SHOWN: usize = 20;

    fn add(&mut self, pieces: &[Piece]) {
        let model = pieces.iter().find_map(|piece| match piece {
            Piece::Slot(Slot::Model(value)) => Some(value),
            _ => None,
        });
        let name = model
            .and_then(|value| std::str::from_utf8(value).ok())
            .and_then(json::string);
        let Some(name) = name else {
            self.unnamed += 1;
            return;
        };
        if let Some(count) = self.by_name.get_mut(name.as_ref()) {
            *count += 1;
        } else if self.by_name.len() < Self::MAX_NAMES {
            self.by_name.insert(name.into_owned(), 1);
        } else {
            self.others += 1;
        }
    }

    fn finish(self) -> Models {
        let mut models: Vec<_> = self
            .by_name
            .into_iter()
            .map(|(name, requests)| Model { name, requests })
            .collect();
        models.sort_unstable_by(|a, b| (Reverse(a.requests), &a.name).cmp(&(Reverse(b.requests), &b.name)));
        let rest = models.split_off(models.len().min(Self::SHOWN));
        Models {
            most_frequent: models,
            other_requests: self.others + rest.iter().map(|model| model.requests).sum::<u32>(),
            unnamed_requests: self.unnamed,
        }
    }
}

impl Streaming {
    fn add(&mut self, pieces: &[Piece]) {
        let count = match is_streamed(pieces) {
            Some(true) => &mut self.on,
            Some(false) => &mut self.off,
            None => &mut self.unsaid,
        };
        *count += 1;
    }
}

/// What a body says of streaming. `stream` is no slot, so it is looked for in the whole body where it is known to be there.
fn is_streamed(pieces: &[Piece]) -> Option<bool> {
    let lacks_it = |piece: &Piece| matches!(piece, Piece::Slot(Slot::Tail(absent)) if absent.stream);
    if pieces.iter().any(lacks_it) {
        return None;
    }
    let mut body = Vec::new();
    for piece in pieces {
        if let Piece::Literal(bytes)
        | Piece::Slot(Slot::Model(bytes) | Slot::MaxTokens(bytes) | Slot::IgnoreEos(bytes)) = piece
        {
            body.extend_from_slice(bytes);
        }
    }
    let body = std::str::from_utf8(&body).ok()?;
    let members = Members::parse(body).ok()?;
    members.get("stream").map(|stream| stream == "true")
}

#[cfg(test)]
mod tests {
    use crate::recorded_body::RecordedBody;

    use super::*;

    fn bodies(bodies: impl IntoIterator<Item = String>) -> Bodies {
        let mut inspector = BodiesInspector::default();
        for body in bodies {
            inspector.add(&RecordedBody::cut(&body).unwrap().into_body(), false);
        }
        inspector.finish()
    }

    #[test]
    fn streaming_is_what_the_body_says() {
        let found = bodies(
            [
                r#"{"model": "a", "stream": true, "max_tokens": 5}"#,
                r#"{"ignore_eos": true, "stream" : true}"#,
                r#"{"stream": false, "messages": [{"stream": true}]}"#,
                r#"{"stream": null}"#,
                r#"{"messages": [{"stream": true}]}"#,
                "{}",
            ]
            .map(str::to_owned),
        );
        assert_eq!(
            found.streaming,
            Some(Streaming {
                on: 2,
                off: 2,
                unsaid: 2
            })
        );
    }

    #[test]
    fn models_come_most_frequent_first_then_by_name() {
        let names = [r#""b""#, r#""a""#, r#""c\u0021""#, r#""c!""#, "7"];
        let models = bodies(names.map(|name| format!(r#"{{"model": {name}}}"#)))
            .models
            .unwrap();
        let found: Vec<_> = models
            .most_frequent
            .iter()
            .map(|model| (model.name.as_str(), model.requests))
            .collect();
        assert_eq!(found, [("c!", 2), ("a", 1), ("b", 1)]);
        assert_eq!((models.other_requests, models.unnamed_requests), (0, 1));
    }

    #[test]
    fn models_beyond_the_most_frequent_are_counted_without_a_name() {
        let numbers = (0..1500).chain(0..20);
        let found = bodies(numbers.map(|number| format!(r#"{{"model": "m{number}"}}"#)));
        let models = found.models.unwrap();
        assert_eq!(models.most_frequent.len(), 20);
        assert!(models.most_frequent.iter().all(|model| model.requests == 2));
        assert_eq!(models.other_requests, 1480);
    }

    #[test]
    fn traces_without_recorded_bodies_say_nothing_of_models_and_streaming() {
        let mut inspector = BodiesInspector::default();
        let body = Body::Messages {
            messages: "[]".into(),
            extra: None,
        };
        inspector.add(&body, true);
        let expected = Bodies {
            messages: 1,
            constrained_decoding: 1,
            ..Bodies::default()
        };
        assert_eq!(inspector.finish(), expected);
    }
}
