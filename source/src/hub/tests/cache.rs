//! The shared cache, without the network.

use std::fs;
use std::io;
use std::path::PathBuf;

use reprise_contract::Digest;
use tempfile::TempDir;

use super::*;
use crate::digest::Hasher;
use crate::hub::source::found;
use crate::store::{Kept, Store};

const COMMIT: &str = "3e1f0c3e1f0c3e1f0c3e1f0c3e1f0c3e1f0c3e1f";
/// As git names [`CONTENT`].
const GIT: &str = "ce013625030ba8dba906f756967f9e9ca394464a";
const CONTENT: &[u8] = b"hello\n";

fn sha256(bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.digest()
}

fn cache(root: &TempDir, text: &str) -> HubCache {
    HubCache::new(root.path(), &path(text))
}

fn git_file(location: &str) -> RemoteFile {
    RemoteFile {
        name: location.rsplit('/').next().unwrap().to_owned(),
        location: location.to_owned(),
        size: Some(CONTENT.len() as u64),
        sha256: None,
        tag: Some(GIT.to_owned()),
    }
}

fn large_file(location: &str) -> RemoteFile {
    let digest = sha256(CONTENT);
    RemoteFile {
        sha256: Some(digest),
        tag: Some(digest.to_string()),
        ..git_file(location)
    }
}

fn at(commit: &str, shape: Shape) -> Found {
    found(&path("acme/traces/data/a"), commit.to_owned(), shape)
}

fn keep(cache: &HubCache, found: &Found, file: &RemoteFile, content: &[u8]) -> Result<Kept, Problem> {
    let claim = cache.claim(found, file).unwrap().unwrap();
    fs::write(&claim.partial, content).unwrap();
    cache.publish(found, file, claim, sha256(content))
}

#[test]
fn files_lie_where_all_tools_look() {
    let root = tempfile::tempdir().unwrap();
    for (file, blob) in [
        (git_file("data/a"), GIT.to_owned()),
        (large_file("data/b"), sha256(CONTENT).to_string()),
    ] {
        let cache = cache(&root, &format!("acme/traces/{}", file.location));
        let found = at(COMMIT, Shape::File(file.clone()));
        assert!(cache.find(&found, &file).unwrap().is_none());
        let kept = keep(&cache, &found, &file, CONTENT).unwrap();
        let folder = "datasets--acme--traces";
        assert_eq!(
            below(root.path(), &kept.path),
            Path::new(&format!("{folder}/snapshots/{COMMIT}/{}", file.location))
        );
        assert_eq!(
            fs::read_link(&kept.path).unwrap(),
            Path::new(&format!("../../../blobs/{blob}"))
        );
        assert_eq!(fs::read(&kept.path).unwrap(), CONTENT);
        assert_eq!(kept.sha256, Some(sha256(CONTENT)));
        let reference = root.path().join(folder).join("refs/main");
        assert_eq!(fs::read_to_string(reference).unwrap(), COMMIT);
        assert!(root.path().join(format!(".locks/{folder}/{blob}.lock")).exists());
        let again = cache.find(&found, &file).unwrap().unwrap();
        assert_eq!((again.path, again.bytes), (kept.path, CONTENT.len() as u64));
        assert_eq!(again.sha256, file.sha256);
    }
    assert!(root.path().join("CACHEDIR.TAG").exists());
}

#[test]
fn kinds_and_branches_have_places_of_their_own() {
    let root = tempfile::tempdir().unwrap();
    let file = git_file("a");
    for (text, reference) in [
        (
            "acme/traces@refs%2Fconvert%2Fparquet/a",
            "datasets--acme--traces/refs/refs/convert/parquet",
        ),
        ("models/acme/traces/a", "models--acme--traces/refs/main"),
        ("spaces/acme/traces@v1.0/a", "spaces--acme--traces/refs/v1.0"),
    ] {
        let cache = cache(&root, text);
        keep(&cache, &at(COMMIT, Shape::File(file.clone())), &file, CONTENT).unwrap();
        assert_eq!(
            fs::read_to_string(root.path().join(reference)).unwrap(),
            COMMIT,
            "{text}"
        );
    }
    // A commit stands for itself, and nothing is written outside of the folder.
    let before = fs::read_dir(root.path().join("datasets--acme--traces/refs"))
        .unwrap()
        .count();
    for revision in [COMMIT, "../../../escaped", "/escaped"] {
        let cache = HubCache::new(root.path(), &path("acme/traces/a").at(revision, "a"));
        keep(&cache, &at(COMMIT, Shape::File(file.clone())), &file, CONTENT).unwrap();
    }
    assert_eq!(
        fs::read_dir(root.path().join("datasets--acme--traces/refs"))
            .unwrap()
            .count(),
        before
    );
    assert!(!root.path().join("escaped").exists() && !root.path().parent().unwrap().join("escaped").exists());
}

#[test]
fn a_blob_serves_all_commits_that_have_it() {
    let root = tempfile::tempdir().unwrap();
    let cache = cache(&root, "acme/traces/a");
    let file = git_file("a");
    keep(&cache, &at(COMMIT, Shape::File(file.clone())), &file, CONTENT).unwrap();
    let newer = "ab".repeat(20);
    let kept = cache
        .find(&at(&newer, Shape::File(file.clone())), &file)
        .unwrap()
        .unwrap();
    assert!(kept.path.ends_with(format!("snapshots/{newer}/a")));
    assert_eq!(fs::read(kept.path).unwrap(), CONTENT);
    assert_eq!(
        fs::read_to_string(root.path().join("datasets--acme--traces/refs/main")).unwrap(),
        newer
    );
}

#[test]
fn what_is_cut_short_or_gone_is_not_there() {
    let root = tempfile::tempdir().unwrap();
    let cache = cache(&root, "acme/traces/a");
    let file = git_file("a");
    let found = at(COMMIT, Shape::File(file.clone()));
    let kept = keep(&cache, &found, &file, CONTENT).unwrap();
    let blob = fs::canonicalize(&kept.path).unwrap();
    fs::write(&blob, b"hel").unwrap();
    assert!(cache.find(&found, &file).unwrap().is_none());
    fs::remove_file(&blob).unwrap();
    assert!(cache.find(&found, &file).unwrap().is_none());
    // The link that leads nowhere is in nobody's way.
    let kept = keep(&cache, &found, &file, CONTENT).unwrap();
    assert_eq!(fs::read(kept.path).unwrap(), CONTENT);
}

#[test]
fn a_claim_belongs_to_one_until_it_ends() {
    let root = tempfile::tempdir().unwrap();
    let cache = cache(&root, "acme/traces/a");
    let file = git_file("a");
    let found = at(COMMIT, Shape::File(file.clone()));
    let claim = cache.claim(&found, &file).unwrap().unwrap();
    assert!(cache.claim(&found, &file).unwrap().is_none());
    fs::write(&claim.partial, b"hel").unwrap();
    drop(claim);
    let claim = cache.claim(&found, &file).unwrap().unwrap();
    assert_eq!(fs::read(&claim.partial).unwrap(), b"hel");
    assert!(cache.find(&found, &file).unwrap().is_none());
}

#[test]
fn what_a_killed_client_left_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let cache = cache(&root, "acme/traces/a");
    let file = git_file("a");
    let found = at(COMMIT, Shape::File(file.clone()));
    let blobs = root.path().join("datasets--acme--traces/blobs");
    fs::create_dir_all(&blobs).unwrap();
    fs::write(blobs.join(format!("{GIT}.0123abcd.incomplete")), b"he").unwrap();
    fs::write(blobs.join(format!("{GIT}.4567cdef.incomplete")), b"hell").unwrap();
    fs::write(blobs.join("other.4567cdef.incomplete"), b"hello").unwrap();
    let claim = cache.claim(&found, &file).unwrap().unwrap();
    assert_eq!(fs::read(&claim.partial).unwrap(), b"hell");
    // Ours comes first.
    fs::write(&claim.partial, b"h").unwrap();
    drop(claim);
    let claim = cache.claim(&found, &file).unwrap().unwrap();
    assert_eq!(fs::read(&claim.partial).unwrap(), b"h");
}

#[test]
fn other_content_than_the_hub_names_is_not_kept() {
    let root = tempfile::tempdir().unwrap();
    for file in [git_file("a"), large_file("a")] {
        let cache = cache(&root, "acme/traces/a");
        let found = at(COMMIT, Shape::File(file.clone()));
        let problem = keep(&cache, &found, &file, b"HELLO\n").unwrap_err();
        assert!(matches!(problem, Problem::Hub(HubProblem::Damaged)), "{problem}");
        assert!(cache.find(&found, &file).unwrap().is_none());
        // It does not go on with it either.
        let claim = cache.claim(&found, &file).unwrap().unwrap();
        assert_eq!(fs::read(&claim.partial).unwrap(), b"");
    }
}

#[test]
fn names_from_a_hub_lead_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let cache = cache(&root, "acme/traces/a");
    for location in ["../../escaped", "/escaped", "a/../../escaped", "", "a//b", "a/\0"] {
        let file = RemoteFile {
            location: location.to_owned(),
            ..git_file("a")
        };
        let found = at(COMMIT, Shape::File(file.clone()));
        assert!(cache.find(&found, &file).is_err(), "{location}");
        assert!(cache.claim(&found, &file).is_err(), "{location}");
    }
    for tag in ["../../escaped", "main", ""] {
        let file = RemoteFile {
            tag: Some(tag.to_owned()),
            ..git_file("a")
        };
        assert!(
            cache
                .claim(&at(COMMIT, Shape::File(file.clone())), &file)
                .is_err(),
            "{tag}"
        );
    }
    let file = git_file("a");
    assert!(
        cache
            .claim(&at("../..", Shape::File(file.clone())), &file)
            .is_err()
    );
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn where_there_are_no_links_there_are_copies() {
    let root = tempfile::tempdir().unwrap();
    let blob = root.path().join("repository/blobs/b");
    let pointer = root.path().join("repository/snapshots/c/data/a");
    fs::create_dir_all(blob.parent().unwrap()).unwrap();
    fs::write(&blob, CONTENT).unwrap();
    let refuse = |_: &Path, _: &Path| Err(io::Error::from(io::ErrorKind::Unsupported));
    crate::hub::cache::point(&blob, &pointer, refuse).unwrap();
    assert!(!pointer.is_symlink());
    assert_eq!(fs::read(&pointer).unwrap(), CONTENT);
    assert_eq!(fs::read_dir(blob.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_cache_that_cannot_be_written_says_which_file() {
    let root = tempfile::tempdir().unwrap();
    let cache = cache(&root, "acme/traces/a");
    // Not even the administrator makes a folder in a file.
    fs::write(root.path().join("datasets--acme--traces"), "").unwrap();
    let file = git_file("a");
    let problem = cache
        .claim(&at(COMMIT, Shape::File(file.clone())), &file)
        .unwrap_err();
    let text = problem.to_string();
    assert!(
        text.contains("in the Hugging Face cache cannot be used (")
            && text.contains("datasets--acme--traces/blobs"),
        "{text}"
    );
}

fn offline(root: &TempDir, text: &str) -> Result<Found, Problem> {
    cache(root, text).look_up_offline()
}

fn is_not_cached(found: &Result<Found, Problem>) -> bool {
    matches!(found, Err(Problem::Hub(HubProblem::NotCached)))
}

#[test]
fn a_file_is_found_without_a_network() {
    let root = tempfile::tempdir().unwrap();
    let file = large_file("data/a");
    let kept = keep(
        &cache(&root, "acme/traces/data/a"),
        &at(COMMIT, Shape::File(file.clone())),
        &file,
        CONTENT,
    )
    .unwrap();
    for text in [
        "acme/traces/data/a",
        "acme/traces@main/data/a",
        &format!("acme/traces@{COMMIT}/data/a"),
    ] {
        let found = offline(&root, text).unwrap();
        assert_eq!(super::file(&found), &file, "{text}");
        assert_eq!(
            found.canonical,
            Some(format!("hf://datasets/acme/traces@{COMMIT}/data/a"))
        );
        let again = cache(&root, text)
            .find(&found, super::file(&found))
            .unwrap()
            .unwrap();
        assert_eq!(again.path, kept.path);
    }
    for text in [
        "acme/other/data/a",
        "models/acme/traces/data/a",
        "acme/traces/data/b",
        "acme/traces@v1.0/data/a",
        &format!("acme/traces@{}/data/a", "ab".repeat(20)),
    ] {
        assert!(is_not_cached(&offline(&root, text)), "{text}");
    }
    fs::remove_file(fs::canonicalize(&kept.path).unwrap()).unwrap();
    assert!(is_not_cached(&offline(&root, "acme/traces/data/a")));
}

#[test]
fn a_folder_is_the_same_without_a_network() {
    let root = tempfile::tempdir().unwrap();
    let cache = cache(&root, "acme/traces/data");
    let files = vec![
        RemoteFile {
            name: "a".to_owned(),
            ..git_file("data/a")
        },
        RemoteFile {
            name: "more/b".to_owned(),
            ..large_file("data/more/b")
        },
    ];
    let found = found(
        &path("acme/traces/data"),
        COMMIT.to_owned(),
        Shape::Folder(files.clone()),
    );
    keep(&cache, &found, &files[0], CONTENT).unwrap();
    let offline = cache.look_up_offline().unwrap();
    assert_eq!(super::files(&offline), files);
    assert_eq!(offline.canonical, found.canonical);
    // The other one is in the folder, and not on this machine.
    assert!(cache.find(&offline, &files[0]).unwrap().is_some());
    assert!(cache.find(&offline, &files[1]).unwrap().is_none());
}

#[test]
fn a_copy_without_a_blob_is_found_too() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("datasets--acme--traces");
    let snapshot: PathBuf = folder.join("snapshots").join(COMMIT).join("data");
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(folder.join("refs")).unwrap();
    fs::write(snapshot.join("a"), CONTENT).unwrap();
    fs::write(folder.join("refs/main"), COMMIT).unwrap();
    let found = offline(&root, "acme/traces/data").unwrap();
    let [file] = super::files(&found) else {
        panic!("{found:?}")
    };
    assert_eq!(
        (file.name.as_str(), file.location.as_str(), file.tag.as_ref()),
        ("a", "data/a", None)
    );
    let kept = cache(&root, "acme/traces/data")
        .find(&found, file)
        .unwrap()
        .unwrap();
    assert_eq!(fs::read(kept.path).unwrap(), CONTENT);
}
