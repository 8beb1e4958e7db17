//! Files that lie beside data and are none.

use std::path::Path;

use crate::manifest::MANIFEST_NAMES;

/// What a dataset's page, its licence and the like are named, whatever follows a dot.
const DOCUMENTS: [&str; 7] = [
    "readme",
    "license",
    "licence",
    "notice",
    "citation",
    "changelog",
    "contributing",
];

/// What `datasets` writes beside the data to describe it.
const DESCRIPTIONS: [&str; 3] = ["dataset_info.json", "dataset_infos.json", "dataset_dict.json"];

/// Text for people, pictures in it, and the scripts that made or load a dataset.
const EXTENSIONS: [&str; 15] = [
    "crc", "md", "rst", "pdf", "html", "cff", "bib", "png", "jpg", "jpeg", "gif", "svg", "webp", "py",
    "ipynb",
];

/// Names of files and folders that readers of datasets leave alone: what Spark, Hive and Hugging Face write beside the
/// data, manifests, and documentation.
pub(crate) fn lies_beside_data(name: &str) -> bool {
    // Of the folder, or of a file in it.
    let is_manifest = MANIFEST_NAMES.iter().any(|manifest| {
        name.strip_suffix(manifest)
            .is_some_and(|data| data.is_empty() || data.ends_with('.'))
    });
    let lower = name.to_ascii_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    let extension = Path::new(&lower)
        .extension()
        .and_then(|extension| extension.to_str());
    name.starts_with(['.', '_'])
        || is_manifest
        || DOCUMENTS.contains(&stem)
        || DESCRIPTIONS.contains(&lower.as_str())
        || extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        // How Hadoop marks folders in a bucket.
        || name.ends_with("_$folder$")
}

/// Whether a name says that the file is Parquet.
pub(crate) fn is_named_parquet(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "parquet")
}
