//! A process that dies between two steps. Each test builds by hand what is on the disk then.

use super::*;

/// The cache works: the version is fetched and found, as if nothing had been.
fn works(bench: &Bench) {
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let kept = find(&place, &found).unwrap_or_else(|| keep(&place, &found, b"one\n"));
    assert_eq!(fs::read(kept.path).unwrap(), b"one\n");
    assert_eq!(find(&place, &found).unwrap().sha256, Some(sha256(b"one\n")));
    assert_eq!(bench.names("partial"), [""; 0]);
}

#[test]
fn before_the_tag() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".tmp-h4lf"), b"Signature: 8a47").unwrap();
    let cache = open(folder.path(), None);
    works(&Bench { folder, cache });
}

#[test]
fn between_the_folders() {
    let bench = Bench::new();
    for folder in ["objects", "tmp"] {
        fs::remove_dir(bench.root().join("v1").join(folder)).unwrap();
    }
    let cache = open(bench.root(), None);
    works(&Bench { cache, ..bench });
}

#[test]
fn with_a_lock_and_no_partial_file() {
    let bench = Bench::new();
    let found = tagged("\"1\"");
    let claim = claim(&bench.at(URL), &found, &only(&found));
    interrupt(&claim, b"");
    fs::remove_file(claim.partial).unwrap();
    assert_eq!(bench.names("locks").len(), 1);
    works(&bench);
}

#[test]
fn with_a_complete_partial_file() {
    let bench = Bench::new();
    let found = tagged("\"1\"");
    let claim = claim(&bench.at(URL), &found, &only(&found));
    interrupt(&claim, b"one\n");
    works(&bench);
}

#[test]
fn with_a_content_that_is_writable_and_has_no_entry() {
    let bench = Bench::new();
    let content = bench.cache.layout.object(sha256(b"one\n"));
    fs::create_dir(content.parent().unwrap()).unwrap();
    fs::write(&content, b"one\n").unwrap();
    works(&bench);
}

#[test]
fn with_half_an_entry_on_its_way() {
    let bench = Bench::new();
    keep(&bench.at(URL), &tagged("\"1\""), b"one\n");
    let entry = files(&bench.root().join("v1/entries")).remove(0);
    fs::rename(entry, bench.root().join("v1/tmp/.tmp-h4lf")).unwrap();
    works(&bench);
}

#[test]
fn with_an_entry_and_the_lock_file_still_there() {
    let bench = Bench::new();
    let found = tagged("\"1\"");
    keep(&bench.at(URL), &found, b"one\n");
    interrupt(&claim(&bench.at(URL), &found, &only(&found)), b"");
    fs::remove_file(files(&bench.root().join("v1/partial")).remove(0)).unwrap();
    works(&bench);
}

#[test]
fn with_a_content_removed_and_its_entry_not() {
    let bench = Bench::new();
    let kept = keep(&bench.at(URL), &tagged("\"1\""), b"one\n");
    fs::remove_file(kept.path).unwrap();
    works(&bench);
}

#[test]
fn with_an_entry_of_a_content_that_another_one_replaced() {
    let bench = Bench::new();
    keep(&bench.at(URL), &untagged(), b"one\n");
    keep(&bench.at(URL), &untagged(), b"two\n");
    assert_eq!(bench.names("entries").len(), 1);
    works(&bench);
}
