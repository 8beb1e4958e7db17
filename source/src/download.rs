//! From a remote place into a store: whole, verified, and no byte twice.

mod problem;
#[cfg(test)]
mod tests;
mod transfer;
mod writer;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use reprise_contract::Digest;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::digest::digest_of_file;
use crate::error::Problem;
use crate::http::retry::Retry;
use crate::progress::FileProgress;
use crate::remote::{Found, Remote, RemoteFile};
use crate::store::{Claim, Kept, Store};
pub use problem::{DigestOrigin, DownloadProblem};
use transfer::Transfer;
use writer::Written;

/// Between two looks at whether another process has finished.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Downloads files of one place into one store.
///
/// Dropping a future of it ends the transfer at once. What has come is kept, and the next download goes on there.
pub(crate) struct Download<'a, R> {
    remote: &'a R,
    store: Arc<dyn Store>,
    found: &'a Found,
    /// For attempts in a row that bring nothing.
    retry: Retry,
}

/// A file that was there already, if it is what the manifest says now: the manifest may be newer than the file, and the
/// file may have been damaged since.
pub(crate) async fn check_kept(kept: Kept, declared: Option<Digest>) -> Result<Kept, Problem> {
    let Some(declared) = declared else {
        return Ok(kept);
    };
    let actual = digest_of_kept(&kept).await?;
    if actual == declared {
        return Ok(kept);
    }
    Err(if kept.sha256 == Some(declared) {
        Problem::CopyDamaged(kept.path)
    } else {
        Problem::Download(DownloadProblem::Digest {
            actual,
            expected: declared,
            origin: DigestOrigin::Manifest,
        })
    })
}

/// The digest that a kept file has now.
pub(crate) async fn digest_of_kept(kept: &Kept) -> Result<Digest, Problem> {
    let path = kept.path.clone();
    let hashed = spawn_blocking(move || digest_of_file(&path)).await;
    hashed.map_err(|_| Problem::Stopped)?.map_err(Problem::from_file)
}

/// What the store has to offer.
enum Offer {
    Kept(Kept),
    Claim(Claim),
}

impl<'a, R: Remote> Download<'a, R> {
    pub(crate) fn new(remote: &'a R, store: Arc<dyn Store>, found: &'a Found) -> Self {
        Self {
            remote,
            store,
            found,
            retry: Retry::default(),
        }
    }

    /// One file of what was found; from the store if it has this version of it. While another process downloads the same,
    /// this one waits, and takes over if the other one ends without it.
    ///
    /// `declared` is the digest that the manifest gives. A file that the store has is hashed again only for that.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written, or is not what was pinned and declared.
    pub(crate) async fn file(
        &self,
        file: &RemoteFile,
        declared: Option<Digest>,
        mut progress: FileProgress,
    ) -> Result<Kept, Problem> {
        let kept = match self.offer(file, &mut progress).await? {
            Offer::Kept(kept) => check_kept(kept, declared).await?,
            Offer::Claim(claim) => {
                let transfer = Transfer::new(self.remote, self.found, file, &mut progress);
                let written = transfer.run(claim, self.retry).await?;
                self.publish(file, declared, written).await?
            }
        };
        progress.learn(kept.bytes);
        progress.reach(kept.bytes);
        Ok(kept)
    }

    /// Waits for as long as another process has the claim.
    async fn offer(&self, file: &RemoteFile, progress: &mut FileProgress) -> Result<Offer, Problem> {
        loop {
            if let Some(kept) = self.find(file).await? {
                progress.wait(false);
                return Ok(Offer::Kept(kept));
            }
            let claim = self
                .ask_store(file, |store, found, file| store.claim(found, file))
                .await?;
            progress.wait(claim.is_none());
            let Some(claim) = claim else {
                sleep(LOOK_AGAIN).await;
                continue;
            };
            // It may have been published between the two questions.
            let Some(kept) = self.find(file).await? else {
                return Ok(Offer::Claim(claim));
            };
            fs::remove_file(&claim.partial)
                .map_err(|error| DownloadProblem::of_write(error, &claim.partial))?;
            return Ok(Offer::Kept(kept));
        }
    }

    async fn find(&self, file: &RemoteFile) -> Result<Option<Kept>, Problem> {
        self.ask_store(file, |store, found, file| store.find(found, file))
            .await
    }

    async fn publish(
        &self,
        file: &RemoteFile,
        declared: Option<Digest>,
        written: Written,
    ) -> Result<Kept, Problem> {
        self.ask_store(file, move |store, found, file| {
            written.verify(declared, DigestOrigin::Manifest)?;
            written.verify(file.sha256, DigestOrigin::Place)?;
            store.publish(found, file, written.claim, written.sha256)
        })
        .await
    }

    /// The store blocks for as long as the disk does.
    async fn ask_store<T: Send + 'static>(
        &self,
        file: &RemoteFile,
        call: impl FnOnce(&dyn Store, &Found, &RemoteFile) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (store, found, file) = (Arc::clone(&self.store), self.found.clone(), file.clone());
        spawn_blocking(move || call(&*store, &found, &file))
            .await
            .unwrap_or(Err(Problem::Stopped))
    }
}
