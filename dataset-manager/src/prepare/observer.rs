//! Who hears how a preparation goes.

use reprise_source::{FetchProgress, Pinned, Progress, Reference};

/// Hears how a preparation goes: shows it on a terminal, or keeps it for those who ask.
pub trait Observer {
    /// Something begins that may take long. It lasts until [`end`](Self::end).
    fn begin(&self, activity: Activity);

    /// What had begun is over, one way or another.
    fn end(&self);

    /// The access checks are passed, and the version of the trace is known.
    fn pinned(&self, trace: &Pinned);

    /// A trace that is not of this machine was fetched; the line says for people which version of it.
    fn fetched(&self, line: &str);
}

/// What may take long. The progress in it goes on by itself.
#[derive(Clone, Debug)]
pub enum Activity {
    /// The access checks.
    Pinning {
        /// What is looked up.
        reference: Reference,
    },
    /// Files are fetched.
    Fetching {
        /// What is fetched.
        reference: Reference,
        /// How far.
        progress: FetchProgress,
    },
    /// A trace is read.
    Reading {
        /// What is read.
        reference: Reference,
        /// How far.
        progress: Progress,
    },
}

/// Tells the end of what began, when it is dropped.
pub(super) struct Ongoing<'a>(&'a dyn Observer);

impl<'a> Ongoing<'a> {
    pub(super) fn begin(observer: &'a dyn Observer, activity: Activity) -> Self {
        observer.begin(activity);
        Self(observer)
    }
}

impl Drop for Ongoing<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
