//! One file over the network, with as many requests as it takes.

use tokio::time::sleep;

use super::writer::{Writer, Written};
use crate::error::{Problem, Waiting};
use crate::http::retry::Retry;
use crate::progress::FileProgress;
use crate::remote::{Found, Remote, RemoteFile, Span};
use crate::store::Claim;

pub(super) struct Transfer<'a, R> {
    remote: &'a R,
    found: &'a Found,
    file: &'a RemoteFile,
    progress: &'a mut FileProgress,
    /// The size of the file, once somebody says so.
    total: Option<u64>,
}

impl<'a, R: Remote> Transfer<'a, R> {
    pub(super) fn new(
        remote: &'a R,
        found: &'a Found,
        file: &'a RemoteFile,
        progress: &'a mut FileProgress,
    ) -> Self {
        Self {
            remote,
            found,
            file,
            progress,
            total: file.size,
        }
    }

    /// Goes on with what is there, and after each break with what has come until then.
    pub(super) async fn run(mut self, claim: Claim, retry: Retry) -> Result<Written, Problem> {
        // Only of a version it is known that what is there and what will come belong together.
        let most = if self.is_pinned() {
            self.total.unwrap_or(u64::MAX)
        } else {
            0
        };
        let mut writer = Writer::open(claim, most).await?;
        let mut farthest = writer.length();
        let mut fruitless = 0;
        self.progress.reach(writer.length());
        while self.total != Some(writer.length()) {
            let problem = match self.receive(&mut writer).await {
                Ok(()) if self.total.is_none_or(|total| total == writer.length()) => break,
                Ok(()) | Err(Problem::Cut { .. }) => self.cut(&writer),
                Err(problem) if self.is_break(&problem) => problem,
                Err(problem) => return Err(problem),
            };
            // Some servers send everything again, so that what came is no progress yet.
            fruitless = if writer.length() > farthest {
                0
            } else {
                fruitless + 1
            };
            farthest = farthest.max(writer.length());
            match retry.pause(fruitless.max(1), None) {
                Some(pause) => sleep(pause).await,
                None => return Err(problem),
            }
        }
        writer.finish().await
    }

    fn is_pinned(&self) -> bool {
        self.found.version.is_some()
    }

    /// Asks for what is missing, and takes what comes. It may end in the middle.
    async fn receive(&mut self, writer: &mut Writer) -> Result<(), Problem> {
        let from = if self.is_pinned() { writer.length() } else { 0 };
        let rest = Span { from, length: None };
        let mut body = self.remote.read(self.found, self.file, rest).await?;
        if let Some(total) = body.total {
            if self.total.is_some_and(|known| known != total) {
                return Err(Problem::Changed);
            }
            self.total = Some(total);
            self.progress.learn(total);
        }
        if body.from != writer.length() {
            writer.restart().await?;
        }
        while let Some(bytes) = body.next().await? {
            self.progress.receive(bytes.len() as u64);
            writer.write(bytes).await?;
            self.progress.reach(writer.length());
            if self.total.is_some_and(|total| writer.length() > total) {
                return Err(Problem::Changed);
            }
        }
        Ok(())
    }

    fn cut(&self, writer: &Writer) -> Problem {
        Problem::Cut {
            received: writer.length(),
            expected: self.total,
        }
    }

    /// Whether it is worth asking for the rest. A server that answered before may be starting again.
    fn is_break(&self, problem: &Problem) -> bool {
        match problem {
            Problem::Timeout {
                waiting: Waiting::More,
                ..
            } => true,
            Problem::Refused | Problem::Connection(_) | Problem::Timeout { .. } => {
                self.progress.has_received()
            }
            _ => false,
        }
    }
}
