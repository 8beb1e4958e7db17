//! What a client asks for: the few members of a request body that the endpoint acts on.

use std::fmt;
use std::num::NonZeroU32;

use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};

/// Longer answers are refused, so that one request cannot keep the endpoint busy for minutes.
pub(crate) const MOST_TOKENS: u32 = 1 << 20;

/// Which of the two APIs a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Completions,
}

impl Api {
    /// Finds the API by the end of the path, so that any prefix (a tenant, a gateway's route) works.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        if path.ends_with("/v1/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/v1/completions") {
            Some(Self::Completions)
        } else {
            None
        }
    }
}

/// A request that can be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) api: Api,
    pub(crate) model: Option<String>,
    pub(crate) prompt_tokens: u64,
    /// `None`: the endpoint's default.
    pub(crate) most_tokens: Option<NonZeroU32>,
    pub(crate) delivery: Delivery,
}

/// How the answer is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    Stream { with_usage: bool },
}

/// Why a body cannot be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("Cannot use the request body: {0}. Send the JSON object that the OpenAI API describes.")]
    Json(#[from] serde_json::Error),
    #[error("Cannot use the request body: {0} is missing. Add it.")]
    Missing(&'static str),
    #[error("Cannot use {0}: it must be from 1 to {MOST_TOKENS}. Change it.")]
    Length(&'static str),
    #[error("Cannot use n = {0}: this endpoint makes one choice. Leave n out.")]
    Choices(u64),
    #[error("Cannot use a prompt of {0} prompts: this endpoint answers one. Send them one by one.")]
    Batch(usize),
}

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    messages: Option<Vec<Message>>,
    prompt: Option<Prompt>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    n: Option<u64>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
}

impl Ask {
    /// Reads a body. `prompt_tokens` is the number of words, separated by white space, of all messages' text or of the
    /// prompt; a prompt given as token IDs counts them.
    pub(crate) fn parse(api: Api, body: &[u8]) -> Result<Self, AskError> {
        let body: Body = serde_json::from_slice(body)?;
        if let Some(n) = body.n.filter(|n| *n != 1) {
            return Err(AskError::Choices(n));
        }
        let prompt_tokens = match api {
            Api::Chat => body
                .messages
                .ok_or(AskError::Missing("messages"))?
                .into_iter()
                .filter_map(|message| message.content)
                .map(|content| content.words)
                .sum(),
            Api::Completions => match body.prompt.ok_or(AskError::Missing("prompt"))? {
                Prompt::One { tokens } => tokens,
                Prompt::Batch { prompts } => return Err(AskError::Batch(prompts)),
            },
        };
        let most_tokens = match (body.max_completion_tokens, body.max_tokens) {
            (Some(tokens), _) => Some(length("max_completion_tokens", tokens)?),
            (None, Some(tokens)) => Some(length("max_tokens", tokens)?),
            (None, None) => None,
        };
        let delivery = if body.stream == Some(true) {
            let with_usage = body.stream_options.and_then(|options| options.include_usage) == Some(true);
            Delivery::Stream { with_usage }
        } else {
            Delivery::Whole
        };
        Ok(Self {
            api,
            model: body.model,
            prompt_tokens,
            most_tokens,
            delivery,
        })
    }
}

fn length(member: &'static str, tokens: u64) -> Result<NonZeroU32, AskError> {
    u32::try_from(tokens)
        .ok()
        .filter(|tokens| *tokens <= MOST_TOKENS)
        .and_then(NonZeroU32::new)
        .ok_or(AskError::Length(member))
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// The size of a message's content, which is a text or a list of parts. Counted while reading; the text is not kept.
struct Content {
    words: u64,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counter;
        impl<'de> Visitor<'de> for Counter {
            type Value = Content;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text or a list of content parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content { words: words(text) })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
                let mut words = 0;
                while let Some(Part { text }) = parts.next_element()? {
                    words += text.map_or(0, |text| text.words);
                }
                Ok(Content { words })
            }
        }
        deserializer.deserialize_any(Counter)
    }
}

#[derive(Deserialize)]
struct Part {
    text: Option<Content>,
}

/// The size of a prompt: a text, a list of one text, token IDs, or a list of one list of token IDs.
enum Prompt {
    One { tokens: u64 },
    Batch { prompts: usize },
}

impl<'de> Deserialize<'de> for Prompt {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counter;
        impl<'de> Visitor<'de> for Counter {
            type Value = Prompt;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text, a list of texts, or token IDs")
            }

            fn visit_str<E>(self, text: &str) -> Result<Prompt, E> {
                Ok(Prompt::One { tokens: words(text) })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Prompt, A::Error> {
                let (mut ids, mut prompts, mut tokens) = (0, 0, 0);
                while let Some(item) = items.next_element()? {
                    match item {
                        PromptItem::TokenId => ids += 1,
                        PromptItem::Prompt { tokens: own } => {
                            prompts += 1;
                            tokens += own;
                        }
                    }
                }
                match (ids, prompts) {
                    (0, 0 | 1) => Ok(Prompt::One { tokens }),
                    (ids, 0) => Ok(Prompt::One { tokens: ids }),
                    (0, prompts) => Ok(Prompt::Batch { prompts }),
                    _ => Err(serde::de::Error::custom("the prompt mixes token IDs and prompts")),
                }
            }
        }
        deserializer.deserialize_any(Counter)
    }
}

enum PromptItem {
    TokenId,
    Prompt { tokens: u64 },
}

impl<'de> Deserialize<'de> for PromptItem {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counter;
        impl<'de> Visitor<'de> for Counter {
            type Value = PromptItem;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text, a token ID or a list of token IDs")
            }

            fn visit_u64<E>(self, _: u64) -> Result<PromptItem, E> {
                Ok(PromptItem::TokenId)
            }

            fn visit_str<E>(self, text: &str) -> Result<PromptItem, E> {
                Ok(PromptItem::Prompt { tokens: words(text) })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut ids: A) -> Result<PromptItem, A::Error> {
                let mut tokens = 0;
                while ids.next_element::<u64>()?.is_some() {
                    tokens += 1;
                }
                Ok(PromptItem::Prompt { tokens })
            }
        }
        deserializer.deserialize_any(Counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(body: &str) -> Ask {
        Ask::parse(Api::Chat, body.as_bytes()).unwrap()
    }

    fn prompt_tokens(prompt: &str) -> u64 {
        let body = format!(r#"{{"prompt":{prompt}}}"#);
        Ask::parse(Api::Completions, body.as_bytes())
            .unwrap()
            .prompt_tokens
    }

    #[test]
    fn apis_are_found_below_any_prefix() {
        assert_eq!(Api::of_path("/v1/chat/completions"), Some(Api::Chat));
        assert_eq!(Api::of_path("/team/a/v1/completions"), Some(Api::Completions));
        assert_eq!(Api::of_path("/v1/embeddings"), None);
    }

    #[test]
    fn words_of_all_messages_are_counted() {
        let ask = chat(
            r#"{"messages":[{"role":"system","content":"be\nshort  now"},{"role":"assistant","content":null},
                {"role":"user","content":[{"type":"text","text":"one two"},{"type":"image_url","image_url":{}}]}]}"#,
        );
        assert_eq!(ask.prompt_tokens, 5);
        assert_eq!(
            (ask.model, ask.most_tokens, ask.delivery),
            (None, None, Delivery::Whole)
        );
    }

    #[test]
    fn prompts_come_in_four_forms() {
        for (prompt, tokens) in [
            (r#""a b c""#, 3),
            (r#"["a b"]"#, 2),
            ("[5,6,7,8]", 4),
            ("[[5,6]]", 2),
            ("[]", 0),
            (r#""""#, 0),
        ] {
            assert_eq!(prompt_tokens(prompt), tokens, "{prompt}");
        }
    }

    #[test]
    fn the_newer_length_member_wins() {
        let ask = chat(r#"{"messages":[],"max_tokens":3,"max_completion_tokens":5}"#);
        assert_eq!(ask.most_tokens, NonZeroU32::new(5));
    }

    #[test]
    fn usage_in_a_stream_is_asked_for() {
        for (options, with_usage) in [
            ("{}", false),
            (r#"{"include_usage":true}"#, true),
            ("null", false),
        ] {
            let body = format!(r#"{{"messages":[],"stream":true,"stream_options":{options}}}"#);
            assert_eq!(chat(&body).delivery, Delivery::Stream { with_usage });
        }
    }

    #[test]
    fn what_cannot_be_answered_is_refused_with_the_reason() {
        let refused = [
            (Api::Chat, "{"),
            (Api::Chat, "{}"),
            (Api::Chat, r#"{"messages":[],"max_tokens":0}"#),
            (Api::Chat, r#"{"messages":[],"max_completion_tokens":2000000}"#),
            (Api::Chat, r#"{"messages":[],"n":2}"#),
            (Api::Completions, r#"{"messages":[]}"#),
            (Api::Completions, r#"{"prompt":["a","b"]}"#),
            (Api::Completions, r#"{"prompt":["a",1]}"#),
            (Api::Completions, r#"{"prompt":[{"a":1}]}"#),
        ];
        let messages = refused.map(|(api, body)| Ask::parse(api, body.as_bytes()).unwrap_err().to_string());
        insta::assert_snapshot!(messages.join("\n"));
    }
}
