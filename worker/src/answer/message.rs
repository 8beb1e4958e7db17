//! What an answer's JSON says: one chunk of a stream, or a whole body.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What one JSON message of an answer says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// It bears output: content, reasoning or a tool call.
    pub(crate) has_output: bool,
    /// It bears content: output that is not reasoning.
    pub(crate) has_content: bool,
    /// The content of the first choice, where it says something.
    pub(crate) text: Option<Text>,
    /// A choice says why it ended.
    pub(crate) is_finished: bool,
    pub(crate) usage: Option<Usage>,
    /// The answer is an error, and says this.
    pub(crate) error: Option<String>,
}

/// The server's count of tokens. Servers leave out what they do not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Usage {
    pub(crate) prompt_tokens: Option<u32>,
    pub(crate) completion_tokens: Option<u32>,
    pub(crate) total_tokens: Option<u32>,
    pub(crate) prompt_tokens_details: Option<PromptTokensDetails>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct PromptTokensDetails {
    pub(crate) cached_tokens: Option<u32>,
}

/// The content of a choice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// A string, as the server escaped it, without its quotes: so it goes into the next body without loss.
    Escaped(String),
    /// Something that is no string, such as a list of parts.
    Other,
}

/// Reads one JSON message.
///
/// # Errors
/// When it is no JSON object.
pub(crate) fn read(json: &[u8]) -> Result<Message, serde_json::Error> {
    let wire: Wire<'_> = serde_json::from_slice(json)?;
    let mut message = Message {
        // A usage of a shape that nobody knows counts as none; the request itself went well.
        usage: wire
            .usage
            .and_then(|usage| serde_json::from_str(usage.get()).ok())
            .flatten(),
        error: error_text(&wire),
        ..Message::default()
    };
    for (place, choice) in wire.choices.iter().flatten().enumerate() {
        message.is_finished |= says_something(choice.finish_reason);
        let part = choice.delta.as_ref().or(choice.message.as_ref());
        let content = choice.text.or(part.and_then(|part| part.content));
        let has_other_content = part.is_some_and(Part::has_tool_call);
        message.has_content |= says_something(content) || has_other_content;
        message.has_output |=
            says_something(content) || has_other_content || part.is_some_and(Part::has_reasoning);
        // A stream of several choices has one in each chunk, told by its index.
        if choice.index.map_or(place == 0, |index| index.get() == "0") {
            message.text = content
                .filter(|content| says_something(Some(content)))
                .map(Text::of);
        }
    }
    Ok(message)
}

impl Text {
    fn of(content: &RawValue) -> Self {
        let inside = content
            .get()
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        inside.map_or(Self::Other, |inside| Self::Escaped(inside.to_owned()))
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    /// What `FastAPI` calls it.
    #[serde(borrow, default)]
    detail: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<Part<'a>>,
    #[serde(borrow, default)]
    message: Option<Part<'a>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
}

/// The output in a choice. Its members are kept raw: all that counts is whether they say something.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
}

impl Part<'_> {
    fn has_tool_call(&self) -> bool {
        [self.tool_calls, self.function_call, self.refusal]
            .into_iter()
            .any(says_something)
    }

    fn has_reasoning(&self) -> bool {
        [self.reasoning_content, self.reasoning, self.reasoning_details]
            .into_iter()
            .any(says_something)
    }
}

/// Whether a value is there and neither null nor empty.
fn says_something(value: Option<&RawValue>) -> bool {
    value.is_some_and(|value| !matches!(value.get(), "null" | "\"\"" | "[]" | "{}"))
}

/// What an error says, in the forms that servers use: `error` as an object or a string, or `object: "error"`.
fn error_text(wire: &Wire<'_>) -> Option<String> {
    if let Some(error) = wire.error.filter(|error| says_something(Some(error))) {
        return Some(words(error));
    }
    let is_error = wire.object.as_deref() == Some("error");
    is_error.then(|| wire.message.map_or_else(without_words, words))
}

/// What an event says whose type is `error`: an error in one of the usual forms, a `message` alone, or plain text.
pub(crate) fn error_event_text(data: &[u8]) -> String {
    match serde_json::from_slice::<Wire<'_>>(data) {
        Ok(wire) => error_text(&wire).unwrap_or_else(|| wire.message.map_or_else(without_words, words)),
        Err(_) => String::from_utf8_lossy(data).into_owned(),
    }
}

/// What the body of an answer that is no success says, in the forms that servers use; nothing where it is a page.
pub(crate) fn refusal_text(body: &[u8]) -> String {
    match serde_json::from_slice::<Wire<'_>>(body) {
        Ok(wire) => {
            let text = |value: &RawValue| serde_json::from_str::<String>(value.get()).ok();
            let plain = || wire.message.and_then(text).or_else(|| wire.detail.and_then(text));
            error_text(&wire).or_else(plain).unwrap_or_default()
        }
        Err(_) if body.trim_ascii_start().starts_with(b"<") => String::new(),
        Err(_) => String::from_utf8_lossy(body)
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned(),
    }
}

/// The words of an error: an object with a `message`, or a string.
fn words(value: &RawValue) -> String {
    #[derive(Deserialize)]
    struct ErrorObject {
        message: String,
    }
    serde_json::from_str::<ErrorObject>(value.get())
        .map(|error| error.message)
        .or_else(|_| serde_json::from_str::<String>(value.get()))
        .unwrap_or_else(|_| without_words())
}

fn without_words() -> String {
    "the server gave an error without a message".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(json: &str) -> Message {
        read(json.as_bytes()).unwrap()
    }

    fn output(json: &str) -> (bool, bool) {
        let message = message(json);
        (message.has_output, message.has_content)
    }

    #[test]
    fn a_role_or_empty_text_is_no_output() {
        for delta in [
            r#"{"role":"assistant"}"#,
            r#"{"content":""}"#,
            r#"{"content":null,"tool_calls":[]}"#,
            "{}",
        ] {
            assert_eq!(
                output(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)),
                (false, false),
                "{delta}"
            );
        }
        assert_eq!(output(r#"{"choices":[],"id":"x"}"#), (false, false));
    }

    #[test]
    fn reasoning_is_output_and_not_content() {
        for delta in [
            r#"{"reasoning_content":"hm"}"#,
            r#"{"reasoning":"hm"}"#,
            r#"{"reasoning_details":[{"t":"x"}]}"#,
        ] {
            assert_eq!(
                output(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)),
                (true, false),
                "{delta}"
            );
        }
    }

    #[test]
    fn content_tool_calls_and_completion_text_are_content() {
        for choice in [
            r#"{"delta":{"content":" hi"}}"#,
            r#"{"delta":{"tool_calls":[{"index":0}]}}"#,
            r#"{"text":" hi"}"#,
            r#"{"message":{"content":"hi"}}"#,
        ] {
            assert_eq!(
                output(&format!(r#"{{"choices":[{choice}]}}"#)),
                (true, true),
                "{choice}"
            );
        }
    }

    #[test]
    fn text_is_that_of_the_first_choice() {
        let json = r#"{"choices":[{"delta":{"content":"a\n"}},{"delta":{"content":"b"}}]}"#;
        assert_eq!(message(json).text, Some(Text::Escaped("a\\n".to_owned())));
        let of_the_second = r#"{"choices":[{"index":1,"delta":{"content":"b"}}]}"#;
        assert_eq!(message(of_the_second).text, None);
        assert_eq!(
            message(r#"{"choices":[{"message":{"content":[{"text":"a"}]}}]}"#).text,
            Some(Text::Other)
        );
    }

    #[test]
    fn usage_is_read_beside_choices_and_may_have_holes() {
        let json = r#"{"choices":[{"delta":{"content":"x"}}],
            "usage":{"prompt_tokens":5,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":64}}}"#;
        let usage = message(json).usage.unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
            (Some(5), None, Some(9))
        );
        assert_eq!(usage.prompt_tokens_details.unwrap().cached_tokens, Some(64));
        assert_eq!(message(r#"{"choices":[],"usage":null}"#).usage, None);
        assert_eq!(
            message(r#"{"choices":[],"usage":{"prompt_tokens":"many"}}"#).usage,
            None
        );
    }

    #[test]
    fn errors_are_read_in_every_form() {
        assert_eq!(
            message(r#"{"error":{"message":"too long","code":400}}"#)
                .error
                .unwrap(),
            "too long"
        );
        assert_eq!(message(r#"{"error":"too long"}"#).error.unwrap(), "too long");
        assert_eq!(
            message(r#"{"object":"error","message":"too long"}"#)
                .error
                .unwrap(),
            "too long"
        );
        assert!(
            message(r#"{"error":{"code":400}}"#)
                .error
                .unwrap()
                .contains("without a message")
        );
        assert_eq!(message(r#"{"error":null,"choices":[]}"#).error, None);
    }

    #[test]
    fn an_error_event_says_it_in_json_or_in_plain_words() {
        for data in [
            r#"{"error":{"message":"too long"}}"#,
            r#"{"message":"too long"}"#,
            "too long",
        ] {
            assert_eq!(error_event_text(data.as_bytes()), "too long", "{data}");
        }
        assert!(error_event_text(b"{}").contains("without a message"));
    }

    #[test]
    fn a_refusal_is_read_in_every_form_but_a_page() {
        let said = |body: &str| refusal_text(body.as_bytes());
        assert_eq!(said(r#"{"error":{"message":"too long"}}"#), "too long");
        assert_eq!(said(r#"{"detail":"Not Found"}"#), "Not Found");
        assert_eq!(said(r#"{"message":"no such model"}"#), "no such model");
        assert_eq!(said("upstream is down\nmore"), "upstream is down");
        assert_eq!(said(r#"{"detail":[{"input":"the prompt"}]}"#), "");
        assert_eq!(said("<html>502</html>"), "");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        assert!(read(b"[DONE]").is_err());
        assert!(read(b"{\"choices\":").is_err());
    }
}
