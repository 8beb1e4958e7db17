//! What the hub says of the files of a repository.

use serde::Deserialize;

use super::git::BlobName;
use super::problem::HubProblem;
use crate::reference::is_plain_path;
use crate::remote::RemoteFile;

/// An entry of the hub's answers to `tree` and `paths-info`.
///
/// Ours, since that of hf-hub 1.0 takes the hash of a file in large file storage from a key that the hub does not send
/// (`sha256`; it is `oid`), and so never has one.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Entry {
    File {
        path: String,
        /// Git's name of it: of the pointer, where there is one.
        oid: String,
        size: u64,
        lfs: Option<Lfs>,
    },
    Directory {
        path: String,
    },
    /// Whatever else git keeps, a submodule for one.
    #[serde(other)]
    Other,
}

/// Of a file in large file storage.
#[derive(Debug, Deserialize)]
pub(super) struct Lfs {
    /// Its SHA-256.
    oid: String,
    size: u64,
}

impl Entry {
    /// The file that this is, named from below `folder`; `None` if it is no file.
    pub(super) fn into_file(self, folder: &str) -> Result<Option<RemoteFile>, HubProblem> {
        let Self::File { path, oid, size, lfs } = self else {
            return Ok(None);
        };
        let (blob, size) = match lfs {
            Some(lfs) => (BlobName::parse(&lfs.oid), lfs.size),
            None => (BlobName::parse(&oid), size),
        };
        // The path becomes one on this machine's disk.
        let name = below(folder, &path).filter(|_| is_plain_path(&path));
        let (Some(blob), Some(name)) = (blob, name) else {
            return Err(HubProblem::Answer);
        };
        Ok(Some(RemoteFile {
            name: name.to_owned(),
            size: Some(size),
            sha256: blob.sha256(),
            tag: Some(blob.to_string()),
            location: path,
        }))
    }

    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::File { path, .. } | Self::Directory { path } => Some(path),
            Self::Other => None,
        }
    }
}

/// The rest of a path below a folder; the root is the empty folder.
fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    if folder.is_empty() {
        return Some(path);
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// The folder that a path lies in, and its last part.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The cursor of the next page, from a `Link` header.
///
/// Only the query of it is of use: the rest would lead away from the endpoint behind a mirror, or to another host, which
/// must not see the token.
pub(super) fn next_page(link: &str) -> Option<String> {
    let next = link.split(',').find(|link| {
        link.split(';')
            .skip(1)
            .any(|parameter| matches!(parameter.trim(), "rel=\"next\"" | "rel=next"))
    })?;
    let (_, target) = next.split_once('<')?;
    let (target, _) = target.split_once('>')?;
    let (_, query) = target.split_once('?')?;
    Some(query.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIT: &str = "ce013625030ba8dba906f756967f9e9ca394464a";

    fn file(json: &str, folder: &str) -> Result<Option<RemoteFile>, HubProblem> {
        serde_json::from_str::<Entry>(json).unwrap().into_file(folder)
    }

    #[test]
    fn a_file_in_large_file_storage_has_its_sha256() {
        let sha256 = "ab".repeat(32);
        let json = format!(
            r#"{{"type":"file","oid":"{GIT}","size":10,"path":"data/a.jsonl",
                "lfs":{{"oid":"{sha256}","size":10,"pointerSize":134}},"xetHash":"ef"}}"#
        );
        let file = file(&json, "data").unwrap().unwrap();
        assert_eq!(file.name, "a.jsonl");
        assert_eq!(file.location, "data/a.jsonl");
        assert_eq!(file.sha256.unwrap().to_string(), sha256);
        assert_eq!(file.tag, Some(sha256));
    }

    #[test]
    fn any_other_file_has_the_name_that_git_gives_it() {
        let json = format!(r#"{{"type":"file","oid":"{GIT}","size":6,"path":"a"}}"#);
        let file = file(&json, "").unwrap().unwrap();
        assert_eq!(
            (file.sha256, file.tag.as_deref(), file.size),
            (None, Some(GIT), Some(6))
        );
    }

    #[test]
    fn paths_that_lead_out_of_a_folder_are_refused() {
        for path in [
            "../a",
            "/a",
            "a/../../b",
            "a//b",
            "",
            "a/./b",
            "other/a",
            "dataa/b",
        ] {
            let json = format!(r#"{{"type":"file","oid":"{GIT}","size":6,"path":"{path}"}}"#);
            assert!(matches!(file(&json, "data"), Err(HubProblem::Answer)), "{path}");
        }
        for oid in ["", "../x", "main"] {
            let json = format!(r#"{{"type":"file","oid":"{oid}","size":6,"path":"a"}}"#);
            assert!(file(&json, "").is_err(), "{oid}");
        }
    }

    #[test]
    fn pages_follow_each_other() {
        let next = |link: &str| next_page(link);
        let host = "<https://hub.test/api/datasets/a/b/tree/main";
        assert_eq!(
            next(&format!("{host}?recursive=true&cursor=abc%3D>; rel=\"next\"")).as_deref(),
            Some("recursive=true&cursor=abc%3D")
        );
        assert_eq!(
            next(&format!(
                "{host}?cursor=a>; rel=\"prev\", {host}?cursor=b>; rel=\"next\""
            ))
            .as_deref(),
            Some("cursor=b")
        );
        assert_eq!(next(&format!("{host}?cursor=a>; rel=\"prev\"")), None);
        assert_eq!(next("nonsense"), None);
    }
}
