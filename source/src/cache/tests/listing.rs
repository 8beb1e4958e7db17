use super::*;

#[test]
fn what_is_there_is_listed_the_least_recently_used_first() {
    let bench = Bench::new();
    assert_eq!(bench.cache.list().unwrap(), Listing::default());
    let place = bench.at(URL);
    let (one, two) = (tagged("\"1\""), tagged("\"2\""));
    keep_unused(&place, &one, b"one\n");
    let used = keep(&place, &two, b"three\n");
    bench.used(&two, Duration::from_hours(2));
    let other = bench.at("https://mirror.example/x?sig=SECRET&b=2");
    fetch(&other, &untagged(), &file("x", None), b"three\n");
    bench.used(&one, Duration::from_hours(1));
    let claim = claim(&place, &tagged("\"3\""), &only(&one));
    fs::write(&claim.partial, b"fo").unwrap();

    let listing = bench.cache.list().unwrap();
    assert_eq!(listing.bytes(), 4 + 6 + 2);
    let [first, second] = listing.contents.as_slice() else {
        panic!("{listing:?}");
    };
    assert_eq!(
        (first.sha256, first.bytes, first.is_in_use),
        (sha256(b"one\n"), 4, Some(false))
    );
    assert_eq!(
        (second.sha256, second.bytes, second.is_in_use),
        (sha256(b"three\n"), 6, Some(true))
    );
    assert!(
        first.used < second.used,
        "a content was used when the last of its files was"
    );
    let files: Vec<_> = second
        .files
        .iter()
        .map(|file| (file.place.as_str(), file.name.as_str(), file.version.as_deref()))
        .collect();
    assert_eq!(
        files,
        [
            (URL, "chat.jsonl", Some("etag:\"2\"")),
            ("https://mirror.example/x?b=2", "x", None),
        ]
    );
    let [partial] = listing.partials.as_slice() else {
        panic!("{listing:?}");
    };
    assert_eq!(
        (partial.place.as_deref(), partial.name.as_deref()),
        (Some(URL), Some("chat.jsonl"))
    );
    assert_eq!((partial.bytes, partial.is_in_use), (2, Some(true)));
    drop(used);
}

#[test]
fn reading_makes_a_file_used() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    keep(&place, &found, b"one\n");
    bench.used(&found, Duration::from_hours(9));
    let used = || bench.cache.list().unwrap().contents[0].used;
    let before = used();
    find(&place, &found).unwrap();
    assert!(used() > before);
}

#[test]
fn a_partial_file_of_a_process_that_is_gone_is_in_use_by_nobody() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    interrupt(&claim(&place, &found, &only(&found)), b"on");
    assert_eq!(bench.cache.list().unwrap().partials[0].is_in_use, Some(false));
    fs::remove_file(files(&bench.root().join("v1/locks")).remove(0)).unwrap();
    let partial = bench.cache.list().unwrap().partials.remove(0);
    assert_eq!((partial.place, partial.is_in_use), (None, Some(false)));
}

#[test]
fn what_locks_cannot_tell_is_not_told() {
    let bench = Bench::with_locking(locks::NONE);
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    keep(&place, &found, b"one\n");
    let claim = claim(&place, &found, &only(&found));
    let listing = bench.cache.list().unwrap();
    assert_eq!(listing.contents[0].is_in_use, None);
    assert_eq!(listing.partials[0].is_in_use, None);
    age(&claim.partial, Duration::from_hours(25));
    assert_eq!(bench.cache.list().unwrap().partials[0].is_in_use, Some(false));
}

#[test]
fn other_files_in_the_folders_are_none_of_ours() {
    let bench = Bench::new();
    fs::create_dir(bench.root().join("v1/objects/ab")).unwrap();
    for name in ["objects/ab/notes.txt", "objects/readme", "entries/readme"] {
        fs::write(bench.root().join("v1").join(name), b"x").unwrap();
    }
    assert_eq!(bench.cache.list().unwrap(), Listing::default());
    bench.cache.prune(Prune::All).unwrap();
    bench.cache.verify(|_| ()).unwrap();
    assert!(bench.root().join("v1/objects/ab/notes.txt").exists());
}
