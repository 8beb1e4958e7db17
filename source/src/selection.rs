//! Which of the files at a place are the trace, and what its publisher says of them.

use reprise_contract::Digest;

use crate::digest::Hasher;
use crate::error::Problem;
use crate::layout::{Chosen, Entry, LayoutProblem, choose_in_folder, choose_manifest_path};
use crate::manifest::{MANIFEST_NAMES, MAX_MANIFEST_BYTES, Manifest, ManifestKind, RunFacts, sidecar_names};
use crate::reader::Role;
use crate::remote::{Found, RemoteFile, Shape};
use crate::shelf::Shelf;
use crate::tokenizer::tokenizer_files;
use crate::warning::SourceWarning;

/// The files of a trace, in the order in which they are read, and what is said of them.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) files: Vec<RemoteFile>,
    pub(crate) is_parquet: bool,
    pub(crate) manifest: Option<ReadManifest>,
    pub(crate) warnings: Vec<SourceWarning>,
}

/// A manifest or sidecar, with what it was read from.
#[derive(Debug)]
pub(crate) struct ReadManifest {
    pub(crate) file: RemoteFile,
    pub(crate) bytes: u64,
    pub(crate) sha256: Digest,
    pub(crate) manifest: Manifest,
}

/// Finds the trace in what was found, and checks that its publisher allows this run.
pub(crate) async fn select(shelf: &Shelf<'_>, found: &Found, role: Role<'_>) -> Result<Selection, Problem> {
    match (role, &found.shape) {
        (Role::Trace(run), Shape::File(file)) => select_file(shelf, found, file, run).await,
        (Role::Trace(run), Shape::Folder(files)) => select_in_folder(shelf, found, files, run).await,
        (Role::Tokenizer, shape) => tokenizer_files(shape).map(Selection::of_files),
    }
}

impl Selection {
    fn of_files(files: Vec<RemoteFile>) -> Self {
        Self {
            files,
            is_parquet: false,
            manifest: None,
            warnings: Vec::new(),
        }
    }
}

async fn select_file(
    shelf: &Shelf<'_>,
    found: &Found,
    file: &RemoteFile,
    run: &RunFacts<'_>,
) -> Result<Selection, Problem> {
    let mut selection = Selection {
        is_parquet: shelf.is_parquet(file),
        ..Selection::of_files(vec![file.clone()])
    };
    for name in sidecar_names(base_name(&file.name)) {
        if let Some(sidecar) = shelf.beside(found, &name).await? {
            let (manifest, warnings) =
                read_manifest(shelf, found, &sidecar, ManifestKind::Sidecar, run).await?;
            selection.manifest = Some(manifest);
            selection.warnings.extend(warnings);
            break;
        }
    }
    Ok(selection)
}

async fn select_in_folder(
    shelf: &Shelf<'_>,
    found: &Found,
    files: &[RemoteFile],
    run: &RunFacts<'_>,
) -> Result<Selection, Problem> {
    let manifest_file = MANIFEST_NAMES
        .iter()
        .find_map(|name| files.iter().find(|file| file.name == *name));
    let (manifest, mut warnings) = match manifest_file {
        Some(file) => {
            let (manifest, warnings) = read_manifest(shelf, found, file, ManifestKind::Root, run).await?;
            (Some(manifest), warnings)
        }
        None => (None, Vec::new()),
    };
    let listing: Vec<_> = files
        .iter()
        .map(|file| Entry {
            path: &file.name,
            is_parquet: shelf.is_parquet(file),
        })
        .collect();
    let reference_to = |path: &str| shelf.reference_to(path);
    let path = manifest.as_ref().and_then(|read| read.manifest.path());
    let chosen = match path {
        Some(path) => choose_manifest_path(&listing, path.as_str(), &reference_to),
        None if listing.iter().any(|entry| entry.is_parquet) => choose_in_folder(&listing, &reference_to),
        None => Err(LayoutProblem::no_manifest(&listing, &reference_to)),
    };
    let Chosen {
        files: chosen,
        warnings: of_layout,
    } = chosen.map_err(Problem::Layout)?;
    warnings.extend(of_layout.into_iter().map(SourceWarning::Layout));
    Ok(Selection {
        is_parquet: chosen.iter().all(|index| listing[*index].is_parquet),
        files: chosen.into_iter().map(|index| files[index].clone()).collect(),
        manifest,
        warnings,
    })
}

async fn read_manifest(
    shelf: &Shelf<'_>,
    found: &Found,
    file: &RemoteFile,
    kind: ManifestKind,
    run: &RunFacts<'_>,
) -> Result<(ReadManifest, Vec<SourceWarning>), Problem> {
    let bytes = shelf.whole(found, file, MAX_MANIFEST_BYTES).await?;
    let (manifest, mut warnings) = Manifest::parse(&file.name, kind, &bytes)?;
    warnings.extend(manifest.check(run)?);
    let mut hasher = Hasher::default();
    hasher.update(&bytes);
    let read = ReadManifest {
        file: file.clone(),
        bytes: bytes.len() as u64,
        sha256: hasher.digest(),
        manifest,
    };
    Ok((read, warnings.into_iter().map(SourceWarning::Manifest).collect()))
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
