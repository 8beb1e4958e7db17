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

use super::progress::Showing;
use super::waiting::Waiting;
use crate::exit::Failure;

/// A trace, and the tokenizer that goes with it, past their access checks.
pub(crate) struct Checked {
    library: Library,
    pub(crate) pinned: Pinned,
    tokenizer: Option<Pinned>,
}

/// A trace on this machine, whole and verified, and what is on record of it.
pub(crate) struct OnMachine {
    pub(crate) reference: Reference,
    pub(crate) fetched: Fetched,
    pub(crate) record: Record,
}

/// What results say of where a trace came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(crate) pin: Option<summary::Pin>,
    pub(crate) manifest: Option<DatasetFile>,
    pub(crate) tokenizer: Option<TokenizerProvenance>,
    pub(crate) warnings: Vec<SourceWarning>,
}

impl Checked {
    /// The access checks: nothing but metadata and manifests is read.
    pub(crate) fn new(dataset: &Dataset, api: Option<Api>, waiting: &Waiting<'_>) -> Result<Self, Failure> {
        let reference = Reference::parse(&dataset.source).map_err(Failure::input)?;
        let reference = injected_urls()?
            .resolve(&reference, Timestamp::now())
            .map_err(Failure::input)?;
        let tokenizer = dataset
            .tokenizer
            .as_deref()
            .map(Reference::parse_tokenizer)
            .transpose();
        let tokenizer = tokenizer.map_err(Failure::input)?;
        let version: Option<Version> = dataset
            .version
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(Failure::input)?;
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
        let pinned = waiting.wait(library.pin(&trace))?;
        let tokenizer = tokenizer.map(|reference| {
            let tokenizer = Wanted {
                reference: &reference,
                version: None,
                role: Role::Tokenizer,
            };
            waiting.wait(library.pin(&tokenizer))
        });
        Ok(Self {
            library,
            pinned,
            tokenizer: tokenizer.transpose()?,
        })
    }

    /// The manifest or sidecar of the trace.
    pub(crate) fn manifest(&self) -> Option<DatasetFile> {
        manifest_of(&self.pinned)
    }

    /// The first bytes of the trace as they are stored; fewer than `limit` only where there are no more.
    pub(crate) fn start(&self, limit: u64, waiting: &Waiting<'_>) -> Result<Vec<u8>, Failure> {
        Ok(waiting.wait(self.library.start(&self.pinned, limit))?.to_vec())
    }

    /// The first file of the trace, fetched ahead of the others.
    pub(crate) fn fetch_first(&self, waiting: &Waiting<'_>) -> Result<FetchedFile, Failure> {
        let progress = FetchProgress::default();
        let _shown = Showing::fetching(self.pinned.reference(), progress.clone());
        waiting.wait(self.library.fetch_first(&self.pinned, &progress))
    }

    /// Fetches everything that is not there yet, and says in one line which version of the trace it is.
    pub(crate) fn fetch(self, waiting: &Waiting<'_>) -> Result<OnMachine, Failure> {
        let fetched = self.fetch_one(&self.pinned, waiting)?;
        let tokenizer = match &self.tokenizer {
            Some(tokenizer) => Some(self.tokenizer_record(tokenizer, waiting)?),
            None => None,
        };
        let pinned = self.pinned;
        if !pinned.is_local() {
            eprintln!("{}", line(&pinned, &fetched));
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

    fn fetch_one(&self, pinned: &Pinned, waiting: &Waiting<'_>) -> Result<Fetched, Failure> {
        let progress = FetchProgress::default();
        let _shown = (!pinned.is_local()).then(|| Showing::fetching(pinned.reference(), progress.clone()));
        waiting.wait(self.library.fetch(pinned, &progress))
    }

    /// What is on record of the tokenizer.
    fn tokenizer_record(
        &self,
        pinned: &Pinned,
        waiting: &Waiting<'_>,
    ) -> Result<TokenizerProvenance, Failure> {
        let fetched = self.fetch_one(pinned, waiting)?;
        Ok(TokenizerProvenance {
            reference: pinned.reference().to_string(),
            pin: pin_of(pinned),
            files: fetched.files().iter().map(record_of).collect::<Result<_, _>>()?,
        })
    }
}

/// What `REPRISE_INJECTED_DATASET_URLS` holds.
fn injected_urls() -> Result<InjectedUrls, Failure> {
    match env::var(INJECTED_URLS) {
        Ok(urls) => InjectedUrls::parse(&urls).map_err(Failure::input),
        Err(env::VarError::NotPresent) => InjectedUrls::parse("[]").map_err(Failure::input),
        Err(env::VarError::NotUnicode(_)) => Err(Failure::Input(format!(
            "Cannot use {INJECTED_URLS}: it is not text. Write a JSON list of URLs."
        ))),
    }
}

fn s3_settings(dataset: &Dataset) -> Result<S3Settings, Failure> {
    let given = dataset.s3.clone().unwrap_or_default();
    S3Settings::new(
        given.endpoint.as_deref(),
        given.region.as_deref(),
        given.path_style,
    )
    .map_err(Failure::input)
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
fn record_of(file: &FetchedFile) -> Result<DatasetFile, Failure> {
    let read = file.open().and_then(Trace::finish).map_err(Failure::input)?;
    Ok(DatasetFile {
        name: file.name().to_owned(),
        bytes: read.bytes,
        sha256: read.sha256.to_string(),
    })
}

/// What is on record of a version. What is on this machine has none.
pub(crate) fn pin_of(pinned: &Pinned) -> Option<summary::Pin> {
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
