use std::os::unix::fs::PermissionsExt;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_was_published_is_found_in_its_version_and_in_no_other() {
    let bench = Bench::new();
    let place = bench.at(URL);
    assert!(find(&place, &tagged("\"1\"")).is_none());
    let kept = keep(&place, &tagged("\"1\""), b"one\n");
    assert_eq!(fs::read(&kept.path).unwrap(), b"one\n");
    assert_eq!((kept.bytes, kept.sha256), (4, Some(sha256(b"one\n"))));
    let found = find(&place, &tagged("\"1\"")).unwrap();
    assert_eq!(
        (found.path, found.bytes, found.sha256),
        (kept.path, 4, kept.sha256)
    );
    assert!(find(&place, &tagged("\"2\"")).is_none());
    assert!(find(&bench.at("https://host.example/other"), &tagged("\"1\"")).is_none());
    assert!(find(&open(bench.root(), None).at(super::place(URL)), &tagged("\"1\"")).is_some());
}

#[test]
fn nothing_is_left_of_a_download_but_the_file_and_its_entry() {
    let bench = Bench::new();
    keep(&bench.at(URL), &tagged("\"1\""), b"one\n");
    assert_eq!(bench.names("objects"), [sha256(b"one\n").to_string()]);
    assert_eq!(bench.names("entries").len(), 1);
    for folder in ["partial", "locks", "tmp", "pins"] {
        assert_eq!(bench.names(folder), [""; 0], "{folder}");
    }
}

#[test]
fn only_this_user_may_read_and_nobody_may_write() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let claim = claim(&place, &found, &only(&found));
    assert_eq!(mode(&claim.partial), 0o600);
    let kept = finish(&place, &found, &only(&found), claim, b"one\n");
    assert_eq!(mode(&kept.path), 0o400);
    for folder in ["", "objects", "entries", "pins", "partial", "locks", "tmp"] {
        assert_eq!(mode(&bench.root().join("v1").join(folder)), 0o700, "{folder}");
    }
    assert_eq!(mode(&files(&bench.root().join("v1/entries"))[0]), 0o600);
}

#[test]
fn the_same_content_is_kept_once() {
    let bench = Bench::new();
    let one = keep(&bench.at(URL), &tagged("\"1\""), b"same\n");
    let other = keep(&bench.at("https://mirror.example/x"), &tagged("\"2\""), b"same\n");
    assert_eq!(one.path, other.path);
    assert_eq!(bench.names("objects").len(), 1);
    assert_eq!(bench.names("entries").len(), 2);
}

#[test]
fn what_an_interrupted_download_left_is_in_the_next_claim_of_that_version_alone() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let claim = |found: &Found| claim(&place, found, &only(found));
    interrupt(&claim(&tagged("\"1\"")), b"on");
    assert_eq!(fs::read(claim(&tagged("\"2\"")).partial).unwrap(), b"");
    assert_eq!(fs::read(claim(&tagged("\"1\"")).partial).unwrap(), b"on");
    assert!(find(&place, &tagged("\"1\"")).is_none());
}

#[test]
fn what_has_no_version_is_kept_and_neither_found_nor_resumed() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let claim = || claim(&place, &untagged(), &only(&untagged()));
    let (one, other) = (claim(), claim());
    assert_ne!(one.partial, other.partial);
    fs::write(&other.partial, b"half").unwrap();
    let kept = finish(&place, &untagged(), &only(&untagged()), one, b"whole\n");
    assert_eq!(fs::read(kept.path).unwrap(), b"whole\n");
    assert!(find(&place, &untagged()).is_none());
    drop(other);
    assert_eq!(fs::read(claim().partial).unwrap(), b"");
    place.remember(&untagged(), &[], &[]).unwrap();
    assert!(place.newest().unwrap().is_none());
}

#[test]
fn a_file_without_an_entity_tag_goes_by_the_version_that_was_found() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let modified = |time: &str| Found {
        version: Some(Version::LastModified {
            time: time.parse().unwrap(),
            length: 4,
        }),
        ..untagged()
    };
    keep(&place, &modified("2026-08-01T12:00:00Z"), b"one\n");
    assert!(find(&place, &modified("2026-08-01T12:00:00Z")).is_some());
    assert!(find(&place, &modified("2026-08-01T12:00:01Z")).is_none());
}

#[test]
fn a_version_id_tells_objects_with_one_entity_tag_apart() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let version = |id: &str| Found {
        version: Some(Version::VersionId(id.to_owned())),
        ..tagged("\"same\"")
    };
    keep(&place, &version("7"), b"one\n");
    assert!(find(&place, &version("7")).is_some());
    assert!(find(&place, &version("8")).is_none());
}

#[test]
fn the_files_of_a_folder_are_told_apart_by_name_and_tag() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let files = ["a", "b"].map(|name| file(name, Some("\"1\"")));
    let found = folder(files.to_vec());
    fetch(&place, &found, &files[0], b"one\n");
    assert!(place.find(&found, &files[0]).unwrap().is_some());
    assert!(place.find(&found, &files[1]).unwrap().is_none());
    assert!(place.find(&found, &file("a", Some("\"2\""))).unwrap().is_none());
    assert!(place.find(&found, &file("a", None)).unwrap().is_none());
}

#[test]
fn a_content_that_is_not_as_it_was_is_not_served() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let path = keep(&place, &found, b"one\n").path;
    fs::remove_file(&path).unwrap();
    fs::write(&path, b"on").unwrap();
    assert!(find(&place, &found).is_none());
    assert!(
        place
            .of_version(found.version.as_ref().unwrap())
            .unwrap()
            .is_none()
    );
    let again = keep(&place, &found, b"one\n");
    assert_eq!(fs::read(again.path).unwrap(), b"one\n");
    assert!(find(&place, &found).is_some());
}

#[test]
fn what_the_place_says_of_size_and_digest_has_to_fit() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    keep(&place, &found, b"one\n");
    let fits = |size, sha256| {
        let file = RemoteFile {
            size,
            sha256,
            ..only(&found)
        };
        place.find(&found, &file).unwrap().is_some()
    };
    assert!(fits(Some(4), Some(sha256(b"one\n"))));
    assert!(!fits(Some(5), None));
    assert!(!fits(None, Some(sha256(b"two\n"))));
}

#[test]
fn what_is_not_as_long_as_it_was_announced_is_never_published() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let file = RemoteFile {
        size: Some(5),
        ..only(&found)
    };
    let claim = claim(&place, &found, &file);
    fs::write(&claim.partial, b"one\n").unwrap();
    let problem = place.publish(&found, &file, claim, sha256(b"one\n")).unwrap_err();
    assert!(matches!(problem, crate::Problem::Cache(_)), "{problem}");
    assert_eq!(bench.names("objects"), [""; 0]);
    assert_eq!(bench.names("partial"), [""; 0]);
}

#[test]
fn a_discarded_file_is_fetched_again() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    keep(&place, &found, b"one\n");
    place.discard(&found, &only(&found)).unwrap();
    assert!(find(&place, &found).is_none());
    assert_eq!(bench.names("objects"), [""; 0]);
    place.discard(&found, &only(&found)).unwrap();
}

#[test]
fn a_version_is_remembered_with_all_that_a_run_needs() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let files = ["data/a", "data/b"].map(|name| RemoteFile {
        location: format!("traces/{name}"),
        size: Some(4),
        ..file(name, Some("\"1\""))
    });
    let found = folder(files.to_vec());
    let manifest = file("aiperf.json", Some("\"m\""));
    place
        .remember(
            &found,
            std::slice::from_ref(&manifest),
            &[files[0].clone(), manifest.clone()],
        )
        .unwrap();
    assert!(place.newest().unwrap().is_none(), "nothing was fetched yet");
    fetch(&place, &found, &files[0], b"one\n");
    assert!(place.newest().unwrap().is_none(), "the manifest is missing");
    fetch(&place, &found, &manifest, b"{}");
    let newest = place.newest().unwrap().unwrap();
    assert_eq!(newest.found.version, found.version);
    assert!(matches!(newest.found.shape, Shape::Folder(known) if known == files));
    assert_eq!(newest.beside, std::slice::from_ref(&manifest));
    assert!(place.find(&found, &newest.beside[0]).unwrap().is_some());
    let other = bench.at("https://host.example/other");
    assert!(other.newest().unwrap().is_none());
}

#[test]
fn a_sidecar_without_an_entity_tag_is_remembered_by_its_content() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let sidecar = file("chat.jsonl.reprise.json", None);
    keep(&place, &found, b"one\n");
    fetch(&place, &found, &sidecar, b"{}");
    assert!(place.find(&found, &sidecar).unwrap().is_none());
    let needs = [only(&found), sidecar.clone()];
    place
        .remember(&found, std::slice::from_ref(&sidecar), &needs)
        .unwrap();
    let known = place.newest().unwrap().unwrap().beside.remove(0);
    let kept = place.find(&found, &known).unwrap().unwrap();
    assert_eq!(fs::read(kept.path).unwrap(), b"{}");
    fetch(&place, &found, &sidecar, b"{ }");
    let kept = place.find(&found, &known).unwrap().unwrap();
    assert_eq!(fs::read(kept.path).unwrap(), b"{}");
}

#[test]
fn the_newest_version_is_the_one_that_was_seen_last() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let newest = || place.newest().unwrap().unwrap().found.version;
    let remember = |found: &Found| place.remember(found, &[], &[only(found)]).unwrap();
    let (one, two) = (tagged("\"1\""), tagged("\"2\""));
    for (found, content) in [(&one, b"one\n"), (&two, b"two\n")] {
        keep(&place, found, content);
        remember(found);
    }
    assert_eq!(newest(), two.version);
    remember(&one);
    assert_eq!(newest(), one.version);
    assert_eq!(
        place
            .of_version(two.version.as_ref().unwrap())
            .unwrap()
            .unwrap()
            .found
            .version,
        two.version
    );
    place.discard(&one, &only(&one)).unwrap();
    assert_eq!(newest(), two.version);
    assert_eq!(bench.names("pins").len(), 2);
}

#[test]
fn nonsense_in_an_entry_or_a_pin_is_as_if_it_were_not_there() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    keep(&place, &found, b"one\n");
    place.remember(&found, &[], &[only(&found)]).unwrap();
    for folder in ["pins", "entries"] {
        for path in files(&bench.root().join("v1").join(folder)) {
            fs::write(path, b"{\"").unwrap();
        }
    }
    assert!(place.newest().unwrap().is_none());
    assert!(find(&place, &found).is_none());
    keep(&place, &found, b"one\n");
    assert!(find(&place, &found).is_some());
}

#[test]
fn a_folder_with_something_else_in_it_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let refused = || {
        let settings = CacheSettings {
            root: folder.path().to_owned(),
            limit: None,
        };
        Cache::open(settings)
            .unwrap_err()
            .to_string()
            .replace(folder.path().to_str().unwrap(), "/cache")
    };
    fs::write(folder.path().join("thesis.tex"), b"").unwrap();
    assert_eq!(
        refused(),
        "Cannot use the cache /cache: the folder has files in it that are not of a cache of Reprise. Set \
         REPRISE_CACHE_DIR to an empty folder, or to one that does not exist yet."
    );
    fs::write(
        folder.path().join("CACHEDIR.TAG"),
        b"Signature: 8a477f597d28d172789f06886806bc55\n# cargo",
    )
    .unwrap();
    assert!(refused().contains("not of a cache of Reprise"));
    assert!(!folder.path().join("v1").exists());
}

#[test]
fn an_empty_disk_is_no_stranger() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lost+found")).unwrap();
    open(folder.path(), None);
    open(folder.path(), None);
    let tag = fs::read_to_string(folder.path().join("CACHEDIR.TAG")).unwrap();
    assert!(
        tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"),
        "{tag}"
    );
}

#[test]
fn what_stands_in_the_way_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let settings = CacheSettings {
        root: file.join("cache"),
        limit: None,
    };
    let said = Cache::open(settings).unwrap_err().to_string();
    assert_eq!(
        said.replace(folder.path().to_str().unwrap(), "/folder"),
        "Cannot use the cache /folder/file/cache: reading or writing in it failed (Not a directory (os error 20)). Check the \
         folder and its disk, or set REPRISE_CACHE_DIR to another folder."
    );
}

#[test]
fn problems_say_what_to_do() {
    use std::io::{Error, ErrorKind};
    let of_disk = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::PermissionDenied,
        ErrorKind::ReadOnlyFilesystem,
        ErrorKind::Other,
    ]
    .map(|kind| CacheProblem::from(Error::from(kind)));
    let ours = [
        CacheProblem::NoFolder,
        CacheProblem::Limit,
        CacheProblem::NotOurs,
        CacheProblem::Meddled,
    ];
    let said: Vec<_> = of_disk
        .into_iter()
        .chain(ours)
        .map(|problem| CacheError::new(Path::new("/cache"), problem))
        .flat_map(|error| [error.to_string(), crate::Problem::Cache(error).to_string()])
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}
