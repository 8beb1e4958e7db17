//! How far a trace is fetched, and how far it is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How much of a trace is read. Clones show the same trace, so one can be watched from another thread.
#[derive(Clone, Debug)]
pub struct Progress {
    bytes: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Progress {
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self {
            bytes: Arc::new(AtomicU64::new(0)),
            total,
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes read so far, as they are stored at the source. Steps are at most 1 MiB.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes stored at the source, where it says so: pipes and chunked answers do not.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }
}

/// How much of all files of a fetch is here. Clones show the same fetch, so one can be watched from another thread.
#[derive(Clone, Debug, Default)]
pub struct FetchProgress(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    bytes: AtomicU64,
    total: AtomicU64,
    /// Files whose size nobody has told yet.
    unsized_files: AtomicUsize,
    transferred: AtomicU64,
    /// Files that another process is downloading.
    waiting: AtomicUsize,
}

impl FetchProgress {
    /// Bytes that are here, those of earlier runs included. It may go back, when a server does not go on where it stopped.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of all files, once the sizes of all are known.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        (self.0.unsized_files.load(Ordering::Relaxed) == 0).then(|| self.0.total.load(Ordering::Relaxed))
    }

    /// Bytes of files that came over the network in this run.
    #[must_use]
    pub fn transferred(&self) -> u64 {
        self.0.transferred.load(Ordering::Relaxed)
    }

    /// Whether another process is downloading a file that this one waits for.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.0.waiting.load(Ordering::Relaxed) > 0
    }

    /// One more file, of this size if it is known.
    pub(crate) fn expect(&self, size: Option<u64>) -> FileProgress {
        let counters = Arc::clone(&self.0);
        counters.total.fetch_add(size.unwrap_or(0), Ordering::Relaxed);
        counters
            .unsized_files
            .fetch_add(usize::from(size.is_none()), Ordering::Relaxed);
        FileProgress {
            counters,
            size,
            bytes: 0,
            transferred: 0,
            is_waiting: false,
        }
    }
}

/// One file's part of a [`FetchProgress`].
#[derive(Debug)]
pub(crate) struct FileProgress {
    counters: Arc<Counters>,
    size: Option<u64>,
    bytes: u64,
    transferred: u64,
    is_waiting: bool,
}

impl FileProgress {
    /// The size of the file, if it was not known.
    pub(crate) fn learn(&mut self, size: u64) {
        if self.size.is_none() {
            self.size = Some(size);
            self.counters.total.fetch_add(size, Ordering::Relaxed);
            self.counters.unsized_files.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// So many bytes of the file are here.
    pub(crate) fn reach(&mut self, bytes: u64) {
        if bytes >= self.bytes {
            self.counters
                .bytes
                .fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else {
            self.counters
                .bytes
                .fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    /// So many more bytes came over the network.
    pub(crate) fn receive(&mut self, bytes: u64) {
        self.transferred += bytes;
        self.counters.transferred.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn has_received(&self) -> bool {
        self.transferred > 0
    }

    /// Whether another process is downloading it.
    pub(crate) fn wait(&mut self, is_waiting: bool) {
        if is_waiting && !self.is_waiting {
            self.counters.waiting.fetch_add(1, Ordering::Relaxed);
        } else if self.is_waiting && !is_waiting {
            self.counters.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        self.is_waiting = is_waiting;
    }
}

impl Drop for FileProgress {
    fn drop(&mut self) {
        self.wait(false);
    }
}
