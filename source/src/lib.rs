//! Where traces come from: the reference grammar and the sources.
//!
//! A [`Reference`] is what a user wrote, parsed once. A [`Library`] does the rest, in this order:
//!
//! 1. [`pin`](Library::pin), the access check: what it names is there and may be read, which version it is, which of its
//!    files are the trace, and whether its publisher allows this run. Nothing but metadata is read. A [`Reader`] does this
//!    alone, also for others and without any credential.
//! 2. [`start`](Library::start): the first bytes, for whoever wants to see the first record before a download.
//! 3. [`fetch`](Library::fetch): the files are on this machine, whole and verified.
//! 4. [`FetchedFile::open`]: a [`Trace`], a reader over the decompressed bytes that holds a few MiB however large the trace
//!    is, and that says at the end what exactly was read ([`Provenance`]).
//!
//! One module a source: `local_place`, `http`, `hub` and `s3` implement `remote::Remote`. Where fetched files are kept is
//! a `store::Store`: Reprise's own `cache`, or the cache of the Hugging Face tools (`hub::cache`). One suite, `conformance`,
//! holds for all of them.

mod cache;
mod compression;
#[cfg(test)]
mod conformance;
mod digest;
mod download;
mod environment;
mod error;
mod fetched;
mod guard;
mod http;
mod hub;
mod injected;
mod keeping;
mod layout;
mod library;
mod local;
mod local_place;
mod manifest;
mod origin;
mod pinned;
mod progress;
mod reader;
mod reference;
mod remote;
mod s3;
mod selection;
mod shelf;
mod store;
mod tokenizer;
mod trace;
mod transfer;
mod version;
mod warning;

pub use cache::{
    ByteSize, ByteSizeError, Cache, CacheError, CacheProblem, CacheSettings, CachedContent, CachedFile,
    CachedPartial, Faulty, Listing, Prune, Pruned, Verified,
};
pub use compression::{Compression, Head};
pub use download::{DigestOrigin, DownloadProblem};
pub use error::{Problem, SourceError, Waiting};
pub use fetched::{Fetched, FetchedFile};
pub use guard::{Access, AddressRuleError, AddressRules, GuardProblem};
pub use hub::{HubCacheUsage, HubProblem, MissingRepository, TokenOrigin};
pub use injected::{INJECTED_URLS, InjectedUrls, InjectedUrlsError, InjectionProblem};
pub use layout::{LayoutProblem, LayoutWarning, Subject};
pub use library::Library;
pub use local_place::is_parquet;
pub use manifest::{
    AIPERF_VERSION, DataPath, EndpointKind, MANIFEST_NAMES, MAX_MANIFEST_BYTES, Manifest, ManifestFault,
    ManifestKind, ManifestMismatch, ManifestProblem, ManifestWarning, RunFacts, sidecar_names,
};
pub use pinned::{ManifestFile, Pinned, PinnedBy, PinnedFile};
pub use progress::{FetchProgress, Progress};
pub use reader::{PinProblem, Reader, Role, Wanted};
pub use reference::{HubPathError, Reference, ReferenceError, S3PathError};
pub use s3::{Action, Caller, CredentialsFault, S3Problem, S3Settings, S3SettingsError};
pub use tokenizer::NoTokenizer;
pub use trace::{Provenance, Trace};
pub use version::{Version, VersionError};
pub use warning::SourceWarning;
