//! The cache from outside, on a disk.

mod crashes;
mod locks;
mod processes;
mod secrets;
mod store;

use std::fs;
use std::path::{Path, PathBuf};

use reprise_contract::Digest;
use tempfile::TempDir;

use super::*;
use crate::digest::Hasher;
use crate::reference::{Place, Reference};
use crate::remote::{Found, RemoteFile, Shape};
use crate::store::{Claim, Kept, Store};
use crate::version::Version;

/// A cache in a folder of its own.
struct Bench {
    folder: TempDir,
    cache: Cache,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = open(folder.path(), None);
        Self { folder, cache }
    }

    fn with_locking(locking: Locking) -> Self {
        let mut bench = Self::new();
        bench.cache.locking = locking;
        bench
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn at(&self, url: &str) -> CachedPlace {
        self.cache.at(place(url))
    }

    /// The file names in one of the folders of the layout.
    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<_> = files(&self.root().join("v1").join(folder))
            .into_iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }
}

const URL: &str = "https://host.example/traces/chat.jsonl";

fn open(root: &Path, limit: Option<u64>) -> Cache {
    Cache::open(CacheSettings {
        root: root.to_owned(),
        limit: limit.map(ByteSize),
    })
    .unwrap()
}

fn place(url: &str) -> PlaceKey {
    match Reference::parse(url).unwrap().place() {
        Place::Http(url) => PlaceKey::of_url(url),
        _ => panic!("{url} is not a URL"),
    }
}

/// What was found at a URL whose server sent this entity tag.
fn tagged(tag: &str) -> Found {
    Found {
        version: Some(Version::ETag(tag.to_owned())),
        canonical: None,
        shape: Shape::File(file("chat.jsonl", Some(tag))),
    }
}

/// What was found at a URL whose server says nothing of its version.
fn untagged() -> Found {
    Found {
        version: None,
        canonical: None,
        shape: Shape::File(file("chat.jsonl", None)),
    }
}

fn folder(files: Vec<RemoteFile>) -> Found {
    Found {
        version: Some(Version::Listing(Digest::from_bytes([7; 32]))),
        canonical: None,
        shape: Shape::Folder(files),
    }
}

fn file(name: &str, tag: Option<&str>) -> RemoteFile {
    RemoteFile {
        name: name.to_owned(),
        location: String::new(),
        size: None,
        sha256: None,
        tag: tag.map(ToOwned::to_owned),
    }
}

/// The file that was found, where it is one.
fn only(found: &Found) -> RemoteFile {
    match &found.shape {
        Shape::File(file) => file.clone(),
        Shape::Folder(files) => panic!("{} files", files.len()),
    }
}

fn sha256(content: &[u8]) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(content);
    hasher.digest()
}

/// Does what a download does, from the claim on.
fn fetch(place: &CachedPlace, found: &Found, file: &RemoteFile, content: &[u8]) -> Kept {
    let claim = place.claim(found, file).unwrap().expect("nobody else has it");
    finish(place, found, file, claim, content)
}

fn finish(place: &CachedPlace, found: &Found, file: &RemoteFile, claim: Claim, content: &[u8]) -> Kept {
    fs::write(&claim.partial, content).unwrap();
    place.publish(found, file, claim, sha256(content)).unwrap()
}

fn keep(place: &CachedPlace, found: &Found, content: &[u8]) -> Kept {
    fetch(place, found, &only(found), content)
}

fn find(place: &CachedPlace, found: &Found) -> Option<Kept> {
    place.find(found, &only(found)).unwrap()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
