//! The cache from outside, on a disk.

mod crashes;
mod listing;
mod locks;
mod processes;
mod prune;
mod secrets;
mod store;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

    /// Says that what was found at [`URL`] was used so long ago.
    fn used(&self, found: &Found, ago: Duration) {
        let key = entry::FileKey::new(&place(URL), found, &only(found)).key;
        age(&self.cache.layout.entry(&key), ago);
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
    let claim = claim(place, found, file);
    finish(place, found, file, claim, content)
}

fn finish(place: &CachedPlace, found: &Found, file: &RemoteFile, claim: Claim, content: &[u8]) -> Kept {
    fs::write(&claim.partial, content).unwrap();
    place.publish(found, file, claim, sha256(content)).unwrap()
}

fn keep(place: &CachedPlace, found: &Found, content: &[u8]) -> Kept {
    fetch(place, found, &only(found), content)
}

/// The claim of a file that nobody else has. A process that another test is just starting may have inherited a lock
/// for the moment until it is its own program.
fn claim(place: &CachedPlace, found: &Found, file: &RemoteFile) -> Claim {
    for _ in 0..10_000 {
        if let Some(claim) = place.claim(found, file).unwrap() {
            return claim;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("somebody else has it");
}

/// Gives a claim up, as a process does that ends, and leaves what it has in it.
fn interrupt(claim: &Claim, content: &[u8]) {
    fs::write(&claim.partial, content).unwrap();
    let_go(&claim.lock);
}

/// Gives a lock up, also where a process that is just being started has inherited it.
fn let_go(file: &fs::File) {
    file.unlock().unwrap();
}

/// Fetches a file and lets go of it.
fn keep_unused(place: &CachedPlace, found: &Found, content: &[u8]) -> Digest {
    let kept = keep(place, found, content);
    let_go(&kept.in_use.unwrap());
    kept.sha256.unwrap()
}

fn find(place: &CachedPlace, found: &Found) -> Option<Kept> {
    place.find(found, &only(found)).unwrap()
}

/// Says that a file was written so long ago.
fn age(path: &Path, age: Duration) {
    let file = fs::File::open(path).unwrap();
    file.set_modified(std::time::SystemTime::now() - age).unwrap();
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
