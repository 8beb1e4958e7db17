//! Where traces come from: the reference grammar and the sources.
//!
//! A [`Reference`] is what a user wrote, parsed once. [`open`] turns it into a [`Trace`]: a reader over the decompressed
//! bytes that holds a few MiB however large the trace is, and that says at the end what exactly was read
//! ([`Provenance`]).
//!
//! One module a source: `local` and `http`. Each says how its stored bytes are opened and read on (the `source` module
//! has the two traits); the thread that reads ahead, decompression, digests and progress are the same for all of them.

mod cache;
mod compression;
mod digest;
mod download;
mod error;
mod guard;
mod http;
mod hub;
mod injected;
mod layout;
mod local;
mod local_layout;
mod manifest;
mod progress;
mod reference;
mod remote;
mod s3;
mod source;
mod store;
mod trace;
mod transfer;
mod version;

pub use cache::{
    ByteSize, ByteSizeError, Cache, CacheError, CacheProblem, CacheSettings, CachedContent, CachedFile,
    CachedPartial, Faulty, Listing, Prune, Pruned, Verified,
};
pub use compression::{Compression, Head};
pub use download::{DigestOrigin, DownloadProblem};
pub use error::{Problem, SourceError, Waiting};
pub use guard::{Access, AddressRuleError, AddressRules, GuardProblem};
pub use hub::{HubCacheUsage, HubProblem, MissingRepository, TokenOrigin};
pub use injected::{INJECTED_URLS, InjectedUrls, InjectedUrlsError, InjectionProblem};
pub use layout::{LayoutProblem, LayoutWarning, Subject};
pub use local_layout::{LocalFile, LocalTrace, find_local, is_parquet};
pub use manifest::{
    AIPERF_VERSION, DataPath, EndpointKind, MANIFEST_NAMES, MAX_MANIFEST_BYTES, Manifest, ManifestFault,
    ManifestKind, ManifestMismatch, ManifestProblem, ManifestWarning, RunFacts, sidecar_names,
};
pub use progress::{FetchProgress, Progress};
pub use reference::{HubPathError, Reference, ReferenceError, S3PathError};
pub use s3::{Action, Caller, CredentialsFault, S3Problem, S3Settings, S3SettingsError};
pub use trace::{Provenance, Trace, open};
pub use version::{Version, VersionError};
