//! Web pages about files, which people paste instead of the files.

use percent_encoding::percent_decode_str;
use url::Url;

use super::Reference;
use super::hub::{RepoKind, is_hub_host};

/// The reference of what a page of the Hugging Face hub or of the S3 console is about, ready to be used; `None` for
/// anything else, and where no reference would work.
pub(super) fn instead_of(text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok()?;
    let host = url.host_str()?;
    let instead = if is_hub_host(host) {
        of_hub(&url)?
    } else if host.ends_with("console.aws.amazon.com") {
        of_console(&url)?
    } else {
        return None;
    };
    Reference::parse(&instead).is_ok().then_some(instead)
}

/// `/datasets/<owner>/<repository>[/(blob|raw|tree)/<revision>[/<path>]]`, and the viewer. What lies under `/resolve/` is a file and works
/// as it is; what lies under `/raw/` is a pointer for files that are large, and so is no data.
fn of_hub(url: &Url) -> Option<String> {
    let mut parts: Vec<_> = url.path_segments()?.filter(|part| !part.is_empty()).collect();
    let kind = match RepoKind::from_plural(parts.first()?) {
        Some(kind) => {
            parts.remove(0);
            kind
        }
        None => RepoKind::Model,
    };
    let (owner, name, place) = match parts.as_slice() {
        ["api" | "blog" | "collections" | "docs" | "papers", ..] => return None,
        [owner, name, place @ ..] => (owner, name, place),
        _ => return None,
    };
    let (revision, path) = match place {
        [] | ["viewer", ..] => ("", [].as_slice()),
        ["blob" | "raw" | "tree", "main", path @ ..] => ("", path),
        ["blob" | "raw" | "tree", revision, path @ ..] => (*revision, path),
        _ => return None,
    };
    let mut instead = format!("hf://{}/{owner}/{name}", kind.plural());
    if !revision.is_empty() {
        instead = instead + "@" + revision;
    }
    for part in path {
        instead = instead + "/" + &percent_decode_str(part).decode_utf8().ok()?;
    }
    Some(instead)
}

/// `/s3/object/<bucket>?prefix=<key>` and `/s3/buckets/<bucket>?prefix=<prefix>/`
fn of_console(url: &Url) -> Option<String> {
    let parts: Vec<_> = url.path_segments()?.collect();
    let (["s3", "object" | "buckets", bucket] | ["s3", "object" | "buckets", bucket, ""]) = parts.as_slice()
    else {
        return None;
    };
    let value = |name: &str| {
        url.query_pairs()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value)
    };
    let key = value("prefix").unwrap_or_default();
    let version = value("versionId").map_or_else(String::new, |id| format!("?versionId={id}"));
    Some(format!("s3://{bucket}/{key}{version}"))
}
