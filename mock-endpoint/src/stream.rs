//! Response bodies: whole documents, and token streams that send each chunk when it is due.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use crate::clock::monotonic_ns;
use crate::pace::Pace;
use crate::script::{Script, Step};
use crate::timer::{Sleep, Timer};

/// Chunks that are due together go out together, up to about so many bytes.
const FRAME_BYTES: usize = 16 * 1024;

/// Why an answer does not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the client asked for a disconnect")]
    OnDemand,
    #[error("the request body did not arrive")]
    Body(#[source] hyper::Error),
    #[error("the timer failed")]
    Timer(#[from] io::Error),
}

/// A place among those that are worked on.
pub(crate) struct Turn {
    pub(crate) pace: Pace,
    /// `None` without a limit. Dropping it lets the next in.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Turn {
    pub(crate) fn new(pace: Pace, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            pace,
            _permit: permit,
        }
    }
}

/// Waits for a turn.
pub(crate) type WaitForTurn = Pin<Box<dyn Future<Output = Turn> + Send>>;

/// What a response carries.
pub(crate) enum ReplyBody {
    /// A document, or nothing once it was sent.
    Document(Option<Bytes>),
    Tokens(Box<TokenStream>),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Document(document) => Poll::Ready(document.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Tokens(stream) => stream
                .poll_chunks(context)
                .map(|next| next.map(|data| data.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Document(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Document(document) => {
                SizeHint::with_exact(document.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Tokens(_) => SizeHint::default(),
        }
    }
}

/// The events of one answer, each when it is due.
pub(crate) struct TokenStream {
    timer: Timer,
    script: Script,
    phase: Phase,
}

#[allow(
    clippy::large_enum_variant,
    reason = "a stream is boxed as a whole and spends its life in the large variant"
)]
enum Phase {
    Waiting(WaitForTurn),
    Decoding {
        turn: Turn,
        sleep: Option<Sleep>,
    },
    /// All is written; the socket is closed once it has gone out.
    Closing {
        flushed: bool,
    },
    Ended,
}

impl TokenStream {
    pub(crate) fn new(timer: Timer, script: Script, turn: WaitForTurn) -> Self {
        Self {
            timer,
            script,
            phase: Phase::Waiting(turn),
        }
    }

    fn poll_chunks(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            match &mut self.phase {
                Phase::Waiting(turn) => {
                    let turn = ready!(turn.as_mut().poll(context));
                    self.phase = Phase::Decoding { turn, sleep: None };
                }
                Phase::Decoding { turn, sleep } => {
                    let due_ns = turn.pace.due_ns();
                    let sleep = sleep.get_or_insert_with(|| self.timer.sleep_until(due_ns));
                    ready!(Pin::new(sleep).poll(context))?;
                    return Poll::Ready(Some(Ok(self.write_due())));
                }
                Phase::Closing { flushed: false } => {
                    // The server flushes when a body has nothing ready, and drops what is unflushed on an error.
                    self.phase = Phase::Closing { flushed: true };
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Phase::Closing { flushed: true } => {
                    self.phase = Phase::Ended;
                    return Poll::Ready(Some(Err(Broken::OnDemand)));
                }
                Phase::Ended => return Poll::Ready(None),
            }
        }
    }

    /// Writes all chunks that are due by now, and moves on to the next phase when they are the last.
    fn write_due(&mut self) -> Bytes {
        let now_ns = monotonic_ns();
        let mut out = String::new();
        while let Phase::Decoding { turn, sleep } = &mut self.phase {
            match self.script.step(&mut out) {
                Step::Continue { tokens } => {
                    turn.pace.advance(tokens);
                    *sleep = None;
                    if turn.pace.due_ns() > now_ns || out.len() >= FRAME_BYTES {
                        break;
                    }
                }
                Step::End => self.phase = Phase::Ended,
                Step::Disconnect => self.phase = Phase::Closing { flushed: false },
            }
        }
        Bytes::from(out)
    }
}
