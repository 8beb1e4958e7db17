//! Why a trace does not become content.

use std::error::Error;
use std::io;

use reprise_content::store::StoreError;
use reprise_dataset::{HeaderNameError, OptionsError, UnknownFormat};
use reprise_source::{
    InjectedUrlsError, Reference, ReferenceError, S3SettingsError, SourceError, VersionError,
};

use crate::load::LoadError;

/// An error of any kind.
pub(super) type AnyError = Box<dyn Error + Send + Sync>;

/// Why a trace does not become content. `Display` is the whole message for people, with credentials redacted.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// `dataset.source` or `dataset.tokenizer` is no reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The injected URLs are no list of URLs.
    #[error(transparent)]
    InjectedUrls(#[from] InjectedUrlsError),
    /// The injected URLs are not even text.
    #[error(
        "Cannot use {}: it is not text. Write a JSON list of URLs.",
        reprise_source::INJECTED_URLS
    )]
    InjectedUrlsNotText,
    /// `dataset.version` is no version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// `dataset.s3` is wrong.
    #[error(transparent)]
    S3Settings(#[from] S3SettingsError),
    /// A name in `dataset.options.keepHeaders` is none.
    #[error(transparent)]
    KeepHeaders(#[from] HeaderNameError),
    /// The manifest names a format that does not exist.
    #[error(transparent)]
    DeclaredFormat(#[from] UnknownFormat),
    /// The trace or its tokenizer cannot be had.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The stream of a trace failed, in words that say it all.
    #[error("{0}")]
    Stream(#[source] io::Error),
    /// The trace says something that cannot be used.
    #[error("Cannot use {reference}: {problem}")]
    Trace {
        /// The trace.
        reference: Reference,
        /// What is wrong with it, and how to fix it.
        problem: AnyError,
    },
    /// Options that the format does not take.
    #[error("Cannot use {reference}: {problem}.")]
    Options {
        /// The trace.
        reference: Reference,
        /// What is wrong with them, and how to fix it.
        problem: OptionsError,
    },
    /// Nothing says which format it has.
    #[error(
        "Cannot use {reference}: {problem}. Name it with --format or dataset.format: {}.",
        formats()
    )]
    NoFormat {
        /// The trace.
        reference: Reference,
        /// Why nothing does.
        problem: &'static str,
    },
    /// It has no record.
    #[error("Cannot use {reference}: it is empty. Point dataset.source at a trace with at least one record.")]
    Empty {
        /// The trace.
        reference: Reference,
    },
    /// Parquet cannot be read front to back.
    #[error(
        "Cannot use {reference}: it is a Parquet file in a pipe or a compressed file, which is read only as a plain file. \
         Save or publish it as one."
    )]
    PackedParquet {
        /// The trace.
        reference: Reference,
    },
    /// Somebody wrote to it meanwhile.
    #[error("Cannot use {reference}: it changed while it was read. Start again when nothing writes to it.")]
    Changed {
        /// The trace.
        reference: Reference,
    },
    /// What the first record shows does not go with the spec.
    #[error(transparent)]
    Times(#[from] LoadError),
    /// It was ended from outside.
    #[error("Cancelled before anything was sent.")]
    Cancelled,
    /// The content cannot be written.
    #[error(transparent)]
    Content(#[from] StoreError),
    /// The turns of the trace were refused by whoever takes them.
    #[error("{0}")]
    Sink(#[source] AnyError),
    /// The system does not let it work.
    #[error("Cannot prepare the trace: {0}. Check the disk and the limits of this process.")]
    System(#[source] io::Error),
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What was asked for cannot be had or used: another spec or another trace is needed.
    Input,
    /// Nobody's: it was ended from outside.
    Cancelled,
    /// This machine's.
    System,
}

impl PrepareError {
    /// Whose fault it is.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Cancelled => Fault::Cancelled,
            Self::Content(_) | Self::Sink(_) | Self::System(_) => Fault::System,
            Self::Reference(_)
            | Self::InjectedUrls(_)
            | Self::InjectedUrlsNotText
            | Self::Version(_)
            | Self::S3Settings(_)
            | Self::KeepHeaders(_)
            | Self::DeclaredFormat(_)
            | Self::Source(_)
            | Self::Stream(_)
            | Self::Trace { .. }
            | Self::Options { .. }
            | Self::NoFormat { .. }
            | Self::Empty { .. }
            | Self::PackedParquet { .. }
            | Self::Changed { .. }
            | Self::Times(_) => Fault::Input,
        }
    }

    /// The trace says something that cannot be used.
    pub(super) fn trace(reference: &Reference, problem: impl Into<AnyError>) -> Self {
        Self::Trace {
            reference: reference.clone(),
            problem: problem.into(),
        }
    }
}

fn formats() -> String {
    let names: Vec<_> = reprise_dataset::Format::all()
        .iter()
        .map(|format| format.name())
        .collect();
    names.join(", ")
}
