//! The bytes of answers, in the shapes that OpenAI's and vLLM's servers use.

use http::StatusCode;
use serde_json::Value;

use crate::ask::Api;

/// The text that answers are made of: one token each, in a cycle that starts at the request's index.
const WORDS: [&str; 32] = [
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school",
    "state", "family", "student", "group", "country", "problem", "hand", "part", "place", "case", "week",
    "company", "system", "program", "question", "work", "number", "night", "point", "home",
];

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
}

impl Finish {
    fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
        }
    }
}

/// How long an answer is and why it ends there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) prompt_tokens: u64,
    pub(crate) tokens: u32,
    pub(crate) finish: Finish,
}

/// Writes one answer.
#[derive(Debug)]
pub(crate) struct Answer {
    api: Api,
    extent: Extent,
    first_word: usize,
    /// `"id":…,"created":…,"model":…`: the members that all events of the answer share.
    shared_members: String,
}

impl Answer {
    /// `index` is the request's, `created` in seconds since the Unix epoch.
    pub(crate) fn new(api: Api, model: &str, index: u64, created: u64, extent: Extent) -> Self {
        let prefix = match api {
            Api::Chat => "chatcmpl",
            Api::Completions => "cmpl",
        };
        let model = Value::from(model);
        Self {
            api,
            extent,
            first_word: usize::try_from(index % WORDS.len() as u64).unwrap_or_default(),
            shared_members: format!(r#""id":"{prefix}-mock-{index}","created":{created},"model":{model}"#),
        }
    }

    pub(crate) fn tokens(&self) -> u32 {
        self.extent.tokens
    }

    /// The answer as one JSON document.
    pub(crate) fn whole(&self) -> String {
        let mut text = String::new();
        self.push_words(0, self.extent.tokens, &mut text);
        let (object, content) = match self.api {
            Api::Chat => (
                "chat.completion",
                format!(r#""message":{{"role":"assistant","content":"{text}"}}"#),
            ),
            Api::Completions => ("text_completion", format!(r#""text":"{text}""#)),
        };
        format!(
            r#"{{{},"object":"{object}","choices":[{{"index":0,{content},"logprobs":null,"finish_reason":"{}"}}],{}}}"#,
            self.shared_members,
            self.extent.finish.name(),
            self.usage()
        )
    }

    /// The event before the first token: chat announces the role.
    pub(crate) fn push_opening(&self, out: &mut String) {
        if self.api == Api::Chat {
            self.push_choice(
                out,
                |out| out.push_str(r#""delta":{"role":"assistant","content":""}"#),
                None,
            );
        }
    }

    /// An event with `count` tokens, after `sent` earlier ones.
    pub(crate) fn push_tokens(&self, sent: u32, count: u32, out: &mut String) {
        let (open, close) = match self.api {
            Api::Chat => (r#""delta":{"content":""#, r#""}"#),
            Api::Completions => (r#""text":""#, "\""),
        };
        let write = |out: &mut String| {
            out.push_str(open);
            self.push_words(sent, count, out);
            out.push_str(close);
        };
        self.push_choice(out, write, None);
    }

    /// The event with the finish reason.
    pub(crate) fn push_finish(&self, out: &mut String) {
        let empty = match self.api {
            Api::Chat => r#""delta":{}"#,
            Api::Completions => r#""text":"""#,
        };
        self.push_choice(out, |out| out.push_str(empty), Some(self.extent.finish));
    }

    /// The event with the usage and no choices.
    pub(crate) fn push_usage(&self, out: &mut String) {
        self.push_event_head(out);
        out.push_str("],");
        out.push_str(&self.usage());
        out.push_str("}\n\n");
    }

    fn push_choice(&self, out: &mut String, content: impl FnOnce(&mut String), finish: Option<Finish>) {
        self.push_event_head(out);
        out.push_str(r#"{"index":0,"#);
        content(out);
        out.push_str(r#","logprobs":null,"finish_reason":"#);
        match finish {
            None => out.push_str("null"),
            Some(finish) => out.extend(["\"", finish.name(), "\""]),
        }
        out.push_str("}]}\n\n");
    }

    fn push_event_head(&self, out: &mut String) {
        let object = match self.api {
            Api::Chat => "chat.completion.chunk",
            Api::Completions => "text_completion",
        };
        out.extend([
            "data: {",
            &self.shared_members,
            r#","object":""#,
            object,
            r#"","choices":["#,
        ]);
    }

    fn push_words(&self, sent: u32, count: u32, out: &mut String) {
        let skipped = (self.first_word + sent as usize) % WORDS.len();
        for word in WORDS.iter().cycle().skip(skipped).take(count as usize) {
            out.push(' ');
            out.push_str(word);
        }
    }

    fn usage(&self) -> String {
        let Extent {
            prompt_tokens,
            tokens,
            ..
        } = self.extent;
        let total = prompt_tokens + u64::from(tokens);
        format!(
            r#""usage":{{"prompt_tokens":{prompt_tokens},"total_tokens":{total},"completion_tokens":{tokens}}}"#
        )
    }
}

/// The event that ends every stream that ends well, and, as with vLLM, one that ends with an error event.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// An error inside a stream.
pub(crate) fn push_error_event(message: &str, out: &mut String) {
    let error = error_document(StatusCode::INTERNAL_SERVER_ERROR, message);
    out.extend(["event: error\ndata: ", &error, "\n\n"]);
}

/// An error as a JSON document, with the status as its code.
pub(crate) fn error_document(status: StatusCode, message: &str) -> String {
    let kind = match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    };
    let (message, code) = (Value::from(message), status.as_u16());
    format!(r#"{{"error":{{"message":{message},"type":"{kind}","param":null,"code":{code}}}}}"#)
}

/// The answer to `GET /v1/models`; `created` in seconds since the Unix epoch.
pub(crate) fn models_document(model: &str, created: u64) -> String {
    let model = Value::from(model);
    format!(
        r#"{{"object":"list","data":[{{"id":{model},"object":"model","created":{created},"owned_by":"reprise"}}]}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(api: Api) -> Answer {
        let extent = Extent {
            prompt_tokens: 5,
            tokens: 3,
            finish: Finish::Length,
        };
        Answer::new(api, "a \"b\"", 30, 1_700_000_000, extent)
    }

    #[test]
    fn whole_answers() {
        insta::assert_snapshot!([answer(Api::Chat).whole(), answer(Api::Completions).whole()].join("\n"));
    }

    #[test]
    fn documents() {
        insta::assert_snapshot!(
            [
                error_document(StatusCode::TOO_MANY_REQUESTS, "Slow down."),
                error_document(StatusCode::BAD_GATEWAY, "Gone."),
                models_document("m", 1_700_000_000)
            ]
            .join("\n")
        );
    }

    #[test]
    fn every_document_is_json() {
        for document in [answer(Api::Chat).whole(), answer(Api::Completions).whole()] {
            let parsed: Value = serde_json::from_str(&document).unwrap();
            assert_eq!(parsed["model"], "a \"b\"");
            assert_eq!(parsed["usage"]["total_tokens"], 8);
        }
    }
}
