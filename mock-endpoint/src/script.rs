//! The order of a stream's events, apart from when they are due.

use std::num::NonZeroU32;

use crate::answer::{Answer, DONE, push_error_event};
use crate::faults::{Cut, CutHow};

/// A stream that is being written.
#[derive(Debug)]
pub(crate) struct Script {
    answer: Answer,
    with_usage: bool,
    tokens_per_chunk: NonZeroU32,
    cut: Option<Cut>,
    opened: bool,
    sent_tokens: u32,
    sent_chunks: u32,
}

/// What a step of a script leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// More follows, due so many tokens later.
    Continue { tokens: u32 },
    /// The stream has ended.
    End,
    /// The socket is to be closed once what was written has gone out.
    Disconnect,
}

/// The text of an error that was asked for by header.
pub(crate) const ERROR_ON_DEMAND: &str =
    "The request asked for this error in its header x-mock-stream-error-after.";

impl Script {
    pub(crate) fn new(
        answer: Answer,
        with_usage: bool,
        tokens_per_chunk: NonZeroU32,
        cut: Option<Cut>,
    ) -> Self {
        Self {
            answer,
            with_usage,
            tokens_per_chunk,
            cut,
            opened: false,
            sent_tokens: 0,
            sent_chunks: 0,
        }
    }

    /// Writes all events that are due together: one chunk of tokens and what goes with it.
    pub(crate) fn step(&mut self, out: &mut String) -> Step {
        if !self.opened {
            self.opened = true;
            self.answer.push_opening(out);
            if let Some(end) = self.ended(out) {
                return end;
            }
        }
        let tokens = self
            .tokens_per_chunk
            .get()
            .min(self.answer.tokens() - self.sent_tokens);
        self.answer.push_tokens(self.sent_tokens, tokens, out);
        self.sent_tokens += tokens;
        self.sent_chunks += 1;
        self.ended(out).unwrap_or(Step::Continue { tokens })
    }

    fn ended(&self, out: &mut String) -> Option<Step> {
        match self.cut {
            Some(Cut { after_chunks, how }) if after_chunks == self.sent_chunks => {
                if how == CutHow::Disconnect {
                    return Some(Step::Disconnect);
                }
                push_error_event(ERROR_ON_DEMAND, out);
            }
            _ if self.sent_tokens == self.answer.tokens() => {
                self.answer.push_finish(out);
                if self.with_usage {
                    self.answer.push_usage(out);
                }
            }
            _ => return None,
        }
        out.push_str(DONE);
        Some(Step::End)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::answer::{Extent, Finish};
    use crate::ask::Api;

    fn script(api: Api, tokens: u32) -> Script {
        let extent = Extent {
            prompt_tokens: 5,
            tokens,
            finish: Finish::Length,
        };
        let answer = Answer::new(api, "m", 0, 1_700_000_000, extent);
        Script::new(answer, false, NonZeroU32::MIN, None)
    }

    /// The whole stream, with a mark where each wait falls and the last step at its end.
    fn play(mut script: Script) -> String {
        let mut out = String::new();
        loop {
            match script.step(&mut out) {
                Step::Continue { tokens } => writeln!(out, "-- {tokens} tokens later --").unwrap(),
                end => return format!("{out}-- {end:?} --"),
            }
        }
    }

    #[test]
    fn chat_with_usage() {
        insta::assert_snapshot!(play(Script {
            with_usage: true,
            ..script(Api::Chat, 3)
        }));
    }

    #[test]
    fn completions() {
        insta::assert_snapshot!(play(script(Api::Completions, 2)));
    }

    #[test]
    fn several_tokens_a_chunk() {
        let tokens_per_chunk = NonZeroU32::new(3).unwrap();
        insta::assert_snapshot!(play(Script {
            tokens_per_chunk,
            ..script(Api::Completions, 4)
        }));
    }

    #[test]
    fn no_tokens() {
        insta::assert_snapshot!(play(script(Api::Chat, 0)));
    }

    #[test]
    fn error_event() {
        let cut = Some(Cut {
            after_chunks: 1,
            how: CutHow::ErrorEvent,
        });
        insta::assert_snapshot!(play(Script {
            cut,
            ..script(Api::Completions, 3)
        }));
    }

    #[test]
    fn disconnect() {
        let cut = Some(Cut {
            after_chunks: 0,
            how: CutHow::Disconnect,
        });
        insta::assert_snapshot!(play(Script {
            cut,
            ..script(Api::Chat, 3)
        }));
    }

    #[test]
    fn a_cut_beyond_the_end_does_not_happen() {
        let cut = Some(Cut {
            after_chunks: 4,
            how: CutHow::Disconnect,
        });
        assert_eq!(
            play(Script {
                cut,
                ..script(Api::Chat, 3)
            }),
            play(script(Api::Chat, 3))
        );
    }
}
