//! From what a spec says of its trace to files on this machine.

use std::env;

use jiff::Timestamp;
use reprise_contract::summary::{self, DatasetFile, TokenizerProvenance};
use reprise_crds::{Api, Dataset};
use reprise_dataset::Format;
use reprise_source::{
    EndpointKind, FetchProgress, Fetched, FetchedFile, INJECTED_URLS, InjectedUrls, Library, Pinned,
    PinnedBy, Reference, Role, RunFacts, S3Settings, SourceWarning, Trace, Version, Wanted,
};

use super::error::PrepareError;
use super::observer::Activity;
use super::waiting::Waiting;

/// A trace, and the tokenizer that goes with it, past their access checks.
pub struct Checked {
    library: Library,
    /// The trace and its version.
    pub pinned: Pinned,
    tokenizer: Option<Pinned>,
}

/// A trace on this machine, whole and verified, and what is on record of it.
pub struct OnMachine {
    /// The trace.
    pub reference: Reference,
    /// Its files.
    pub fetched: Fetched,
    /// Where it came from.
    pub record: Record,
}

/// What results say of where a trace came from.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Its version; `None` of what is on this machine.
    pub pin: Option<summary::Pin>,
    /// Its manifest or sidecar.
    pub manifest: Option<DatasetFile>,
    /// The tokenizer that goes with it.
    pub tokenizer: Option<TokenizerProvenance>,
    /// What was noticed about its source.
    pub warnings: Vec<SourceWarning>,
}

impl Checked {
    /// The access checks: nothing but metadata and manifests is read.
    ///
    /// # Errors
    /// When the trace or its tokenizer may not be read, or does not go with the spec.
    pub fn new(dataset: &Dataset, api: Option<Api>, waiting: &Waiting<'_>) -> Result<Self, PrepareError> {
        let reference = Reference::parse(&dataset.source)?;
        let reference = injected_urls()?.resolve(&reference, Timestamp::now())?;
        let tokenizer = dataset
            .tokenizer
            .as_deref()
            .map(Reference::parse_tokenizer)
            .transpose();
        let tokenizer = tokenizer?;
        let version: Option<Version> = dataset.version.as_deref().map(str::parse).transpose()?;
        let library = Library::of_environment(s3_settings(dataset)?);
        let known_formats: Vec<_> = Format::all().iter().map(|format| format.name()).collect();
        let run = RunFacts {
            api: api.map(endpoint_kind),
            format: dataset.format.map(reprise_crds::TraceFormat::name),
            block_size: dataset.options.block_size,
            known_formats: &known_formats,
            max_context_tokens: None,
        };
        let trace = Wanted {
            reference: &reference,
            version: version.as_ref(),
            role: Role::Trace(&run),
        };
        let pinned = pin(&library, &trace, waiting)?;
        let tokenizer = tokenizer.map(|reference| {
            let tokenizer = Wanted {
                reference: &reference,
                version: None,
                role: Role::Tokenizer,
            };
            pin(&library, &tokenizer, waiting)
        });
        let checked = Self {
            tokenizer: tokenizer.transpose()?,
            library,
            pinned,
        };
        waiting.observer().pinned(&checked.pinned);
        Ok(checked)
    }

    /// The manifest or sidecar of the trace.
    #[must_use]
    pub fn manifest(&self) -> Option<DatasetFile> {
        manifest_of(&self.pinned)
    }

    /// The first bytes of the trace as they are stored; fewer than `limit` only where there are no more.
    pub(super) fn start(&self, limit: u64, waiting: &Waiting<'_>) -> Result<Vec<u8>, PrepareError> {
        Ok(waiting.wait(self.library.start(&self.pinned, limit))?.to_vec())
    }

    /// The first file of the trace, fetched ahead of the others.
    pub(super) fn fetch_first(&self, waiting: &Waiting<'_>) -> Result<FetchedFile, PrepareError> {
        let progress = FetchProgress::default();
        let _shown = waiting.begin(fetching(&self.pinned, &progress));
        waiting.wait(self.library.fetch_first(&self.pinned, &progress))
    }

    /// Fetches everything that is not there yet, and says in one line which version of the trace it is.
    ///
    /// # Errors
    /// When it cannot be had, or is not what was pinned.
    pub fn fetch(self, waiting: &Waiting<'_>) -> Result<OnMachine, PrepareError> {
        let fetched = self.fetch_one(&self.pinned, waiting)?;
        let tokenizer = match &self.tokenizer {
            Some(tokenizer) => Some(self.tokenizer_record(tokenizer, waiting)?),
            None => None,
        };
        let pinned = self.pinned;
        if !pinned.is_local() {
            waiting.observer().fetched(&line(&pinned, &fetched));
        }
        let record = Record {
            pin: pin_of(&pinned),
            manifest: manifest_of(&pinned),
            tokenizer,
            warnings: pinned.warnings().to_vec(),
        };
        Ok(OnMachine {
            reference: pinned.reference().clone(),
            fetched,
            record,
        })
    }

    fn fetch_one(&self, pinned: &Pinned, waiting: &Waiting<'_>) -> Result<Fetched, PrepareError> {
        let progress = FetchProgress::default();
        let _shown = (!pinned.is_local()).then(|| waiting.begin(fetching(pinned, &progress)));
        waiting.wait(self.library.fetch(pinned, &progress))
    }

    /// What is on record of the tokenizer.
    fn tokenizer_record(
        &self,
        pinned: &Pinned,
        waiting: &Waiting<'_>,
    ) -> Result<TokenizerProvenance, PrepareError> {
        let fetched = self.fetch_one(pinned, waiting)?;
        Ok(TokenizerProvenance {
            reference: pinned.reference().to_string(),
            pin: pin_of(pinned),
            files: fetched.files().iter().map(record_of).collect::<Result<_, _>>()?,
        })
    }
}

fn pin(library: &Library, wanted: &Wanted<'_>, waiting: &Waiting<'_>) -> Result<Pinned, PrepareError> {
    let _shown = waiting.begin(Activity::Pinning {
        reference: wanted.reference.clone(),
    });
    waiting.wait(library.pin(wanted))
}

/// What `REPRISE_INJECTED_DATASET_URLS` holds.
fn injected_urls() -> Result<InjectedUrls, PrepareError> {
    match env::var(INJECTED_URLS) {
        Ok(urls) => Ok(InjectedUrls::parse(&urls)?),
        Err(env::VarError::NotPresent) => Ok(InjectedUrls::parse("[]")?),
        Err(env::VarError::NotUnicode(_)) => Err(PrepareError::InjectedUrlsNotText),
    }
}

fn s3_settings(dataset: &Dataset) -> Result<S3Settings, PrepareError> {
    let given = dataset.s3.clone().unwrap_or_default();
    let settings = S3Settings::new(
        given.endpoint.as_deref(),
        given.region.as_deref(),
        given.path_style,
    )?;
    Ok(settings)
}

fn fetching(pinned: &Pinned, progress: &FetchProgress) -> Activity {
    Activity::Fetching {
        reference: pinned.reference().clone(),
        progress: progress.clone(),
    }
}

/// What publishers call an API.
fn endpoint_kind(api: Api) -> EndpointKind {
    match api {
        Api::Chat => EndpointKind::Chat,
        Api::Completions => EndpointKind::Completions,
        Api::Responses => EndpointKind::Responses,
        Api::Embeddings => EndpointKind::Embeddings,
        Api::Rerank => EndpointKind::Rerank,
        Api::Raw => EndpointKind::Raw,
    }
}

/// Name, length and digest of a file; one that was on this machine all along is read for it.
fn record_of(file: &FetchedFile) -> Result<DatasetFile, PrepareError> {
    let read = file.open().and_then(Trace::finish)?;
    Ok(DatasetFile {
        name: file.name().to_owned(),
        bytes: read.bytes,
        sha256: read.sha256.to_string(),
    })
}

/// What is on record of a version. What is on this machine has none.
#[must_use]
pub fn pin_of(pinned: &Pinned) -> Option<summary::Pin> {
    (!pinned.is_local()).then(|| summary::Pin {
        version: pinned.version().map(ToString::to_string),
        pinned_by: match pinned.pinned_by() {
            PinnedBy::Reference => summary::PinnedBy::Reference,
            PinnedBy::Version => summary::PinnedBy::Spec,
            PinnedBy::Newest => summary::PinnedBy::Run,
            PinnedBy::NewestKept => summary::PinnedBy::Cache,
        },
        canonical: pinned.canonical(),
    })
}

fn manifest_of(pinned: &Pinned) -> Option<DatasetFile> {
    let manifest = pinned.manifest_file()?;
    Some(DatasetFile {
        name: manifest.name.to_owned(),
        bytes: manifest.bytes,
        sha256: manifest.sha256.to_string(),
    })
}

/// Which version of a trace was used, in one line.
fn line(pinned: &Pinned, fetched: &Fetched) -> String {
    let reference = pinned.reference();
    let canonical = pinned.canonical().unwrap_or_else(|| reference.to_string());
    let version = match pinned.version() {
        Some(version) => format!("version {version}"),
        None => "no version".to_owned(),
    };
    format!(
        "Remote dataset {reference}: using {canonical} ({version}, {} file(s), {} bytes, sha256 {:.12})",
        fetched.files().len(),
        fetched.bytes().unwrap_or_default(),
        fetched
            .sha256()
            .map_or_else(String::new, |digest| digest.to_string()),
    )
}
