use super::*;

/// Changes a byte of a content, and nothing else of it.
fn damage(path: &Path) {
    let mut content = fs::read(path).unwrap();
    content[0] ^= 1;
    fs::remove_file(path).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn a_sound_cache_is_sound_and_stays_as_it_is() {
    let bench = Bench::new();
    keep(&bench.at(URL), &tagged("\"1\""), b"one\n");
    keep(&bench.at(URL), &tagged("\"2\""), b"three\n");
    let verified = bench
        .cache
        .verify(|progress| assert_eq!(progress.total(), Some(10)))
        .unwrap();
    assert!(verified.is_sound());
    assert_eq!((verified.contents, verified.bytes), (2, 10));
    assert!(find(&bench.at(URL), &tagged("\"1\"")).is_some());
}

#[test]
fn what_is_damaged_is_told_and_removed() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let sha256 = keep_unused(&place, &found, b"one\n");
    damage(&bench.cache.layout.object(sha256));
    let checked = bench.cache.check(|_| ()).unwrap();
    assert!(!checked.is_sound());
    assert_eq!(
        (checked.damaged[0].content.sha256, checked.damaged[0].is_removed),
        (sha256, false)
    );
    assert_eq!(checked.damaged[0].content.files[0].place, URL);
    assert_eq!(bench.names("objects").len(), 1);
    let verified = bench.cache.verify(|_| ()).unwrap();
    assert!(verified.damaged[0].is_removed);
    assert_eq!(bench.names("entries"), [""; 0]);
    assert!(find(&place, &found).is_none());
    keep(&place, &found, b"one\n");
    assert!(bench.cache.verify(|_| ()).unwrap().is_sound());
}

#[test]
fn what_is_damaged_and_in_use_stays() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let sha256 = keep_unused(&place, &tagged("\"1\""), b"one\n");
    damage(&bench.cache.layout.object(sha256));
    let reader = find(&place, &tagged("\"1\"")).unwrap();
    assert!(!bench.cache.verify(|_| ()).unwrap().damaged[0].is_removed);
    assert!(reader.path.exists());
}

#[test]
fn what_belongs_together_no_more_is_told_and_removed() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let (one, two) = (tagged("\"1\""), tagged("\"2\""));
    let content = keep_unused(&place, &one, b"one\n");
    fs::remove_file(bench.cache.layout.object(content)).unwrap();
    keep_unused(&place, &two, b"two\n");
    let key = entry::FileKey::new(&super::place(URL), &two, &only(&two)).key;
    fs::remove_file(bench.cache.layout.entry(&key)).unwrap();
    for (found, is_removed) in [
        (bench.cache.check(|_| ()).unwrap(), false),
        (bench.cache.verify(|_| ()).unwrap(), true),
    ] {
        assert_eq!((found.missing, found.orphans.len()), (1, 1));
        assert_eq!(found.orphans[0].is_removed, is_removed);
    }
    let verified = bench.cache.verify(|_| ()).unwrap();
    assert_eq!(verified, Verified::default());
    assert_eq!(bench.names("entries"), [""; 0]);
}
