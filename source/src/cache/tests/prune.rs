use super::*;

const HOUR: Duration = Duration::from_hours(1);

/// A cache with three files of 4 bytes, used 3, 2 and 1 hours ago, and what is left of a download 4 hours ago.
fn filled() -> (Bench, [Found; 3]) {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = ["\"1\"", "\"2\"", "\"3\""].map(tagged);
    for (hours, (found, content)) in [3, 2, 1]
        .into_iter()
        .zip(found.iter().zip([b"one\n", b"two\n", b"six\n"]))
    {
        keep_unused(&place, found, content);
        place.remember(found, &[], &[only(found)]).unwrap();
        bench.used(found, hours * HOUR);
    }
    let other = tagged("\"4\"");
    let claim = claim(&place, &other, &only(&other));
    interrupt(&claim, b"half");
    age(&claim.partial, 4 * HOUR);
    (bench, found)
}

/// Which of the three files are left, and whether the partial file is.
fn left(bench: &Bench, found: &[Found; 3]) -> ([bool; 3], bool) {
    let entry = |found: &Found| {
        let key = entry::FileKey::new(&place(URL), found, &only(found)).key;
        bench.cache.layout.entry(&key).exists()
    };
    (
        [0, 1, 2].map(|at| entry(&found[at])),
        !bench.names("partial").is_empty(),
    )
}

/// Prunes after a look at what would be pruned, which changes nothing.
fn prune(bench: &Bench, what: Prune) -> Pruned {
    let before = bench.cache.list().unwrap();
    let prunable = bench.cache.prunable(what).unwrap();
    assert_eq!(bench.cache.list().unwrap(), before);
    let pruned = bench.cache.prune(what).unwrap();
    assert_eq!(pruned, prunable);
    assert_eq!(bench.cache.list().unwrap().bytes(), before.bytes() - pruned.bytes);
    pruned
}

#[test]
fn everything_goes() {
    let (bench, found) = filled();
    let pruned = prune(&bench, Prune::All);
    assert_eq!(
        (pruned.contents.len(), pruned.partials.len(), pruned.bytes),
        (3, 1, 16)
    );
    assert_eq!(left(&bench, &found), ([false; 3], false));
    for folder in ["objects", "entries", "pins", "partial", "locks", "tmp"] {
        assert_eq!(bench.names(folder), [""; 0], "{folder}");
    }
    keep(&bench.at(URL), &found[0], b"one\n");
}

#[test]
fn what_was_not_used_for_long_goes() {
    let (bench, found) = filled();
    prune(&bench, Prune::OlderThan(HOUR * 5 / 2));
    assert_eq!(left(&bench, &found), ([false, true, true], false));
    assert_eq!(bench.names("pins").len(), 2);
}

#[test]
fn the_least_recently_used_goes_until_the_rest_fits() {
    let (bench, found) = filled();
    prune(&bench, Prune::ToSize(ByteSize(16)));
    assert_eq!(left(&bench, &found), ([true; 3], true));
    prune(&bench, Prune::ToSize(ByteSize(15)));
    assert_eq!(left(&bench, &found), ([true; 3], false));
    prune(&bench, Prune::ToSize(ByteSize(4)));
    assert_eq!(left(&bench, &found), ([false, false, true], false));
}

#[test]
fn only_what_interrupted_downloads_left_goes() {
    let (bench, found) = filled();
    prune(&bench, Prune::Partials);
    assert_eq!(left(&bench, &found), ([true; 3], false));
    assert_eq!(bench.names("locks"), [""; 0]);
}

#[test]
fn what_is_in_use_stays_and_is_counted() {
    let (bench, found) = filled();
    let place = bench.at(URL);
    let kept = find(&place, &found[0]).unwrap();
    let other = tagged("\"4\"");
    let writing = claim(&place, &other, &only(&other));
    let pruned = prune(&bench, Prune::All);
    assert_eq!((pruned.bytes, pruned.bytes_in_use), (8, 8));
    assert_eq!(left(&bench, &found), ([true, false, false], true));
    assert_eq!(fs::read(&kept.path).unwrap(), b"one\n");
    finish(&place, &other, &only(&other), writing, b"four\n");
}

#[test]
fn a_content_of_several_files_goes_with_all_of_them() {
    let bench = Bench::new();
    keep_unused(&bench.at(URL), &tagged("\"1\""), b"same\n");
    keep_unused(&bench.at("https://mirror.example/x"), &tagged("\"2\""), b"same\n");
    prune(&bench, Prune::All);
    assert_eq!(bench.names("entries"), [""; 0]);
}

#[test]
fn the_limit_is_kept_by_what_was_used_least_recently() {
    let (bench, found) = filled();
    let limited = open(bench.root(), Some(12));
    let place = limited.at(place(URL));
    let new = tagged("\"5\"");
    let kept = keep(&place, &new, b"five");
    assert_eq!(left(&bench, &found), ([false, true, true], false));
    assert!(find(&place, &new).is_some());
    let reading = find(&place, &found[1]).unwrap();
    keep(&place, &tagged("\"6\""), b"much more than fits");
    assert_eq!(
        left(&bench, &found),
        ([false, true, false], false),
        "what is read stays"
    );
    assert!(kept.path.exists(), "what is read stays");
    assert!(
        find(&place, &tagged("\"6\"")).is_some(),
        "what was just fetched stays"
    );
    drop(reading);
}

#[test]
fn nothing_goes_by_itself_without_a_limit_or_within_it() {
    let (bench, found) = filled();
    keep(&bench.at(URL), &tagged("\"5\""), b"five");
    keep(
        &open(bench.root(), Some(24)).at(place(URL)),
        &tagged("\"6\""),
        b"six!",
    );
    assert_eq!(left(&bench, &found), ([true; 3], true));
}

#[test]
fn without_locks_a_person_removes_and_the_limit_does_not() {
    let mut bench = Bench::with_locking(locks::NONE);
    bench.cache.limit = Some(ByteSize(0));
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    keep(&place, &found, b"one\n");
    assert!(find(&place, &found).is_some());
    let claim = claim(&place, &found, &only(&found));
    fs::write(&claim.partial, b"half").unwrap();
    let pruned = prune(&bench, Prune::All);
    assert_eq!((pruned.contents.len(), pruned.bytes_in_use), (1, 4));
    age(&claim.partial, Duration::from_hours(25));
    assert_eq!(prune(&bench, Prune::All).partials.len(), 1);
}

#[test]
fn a_read_only_file_can_be_locked_where_only_writable_ones_can() {
    let needs_a_writable_file = |file: &fs::File| {
        if rustix::fs::fcntl_getfl(file)
            .unwrap()
            .contains(rustix::fs::OFlags::RDWR)
        {
            file.try_lock()
        } else {
            Err(fs::TryLockError::Error(rustix::io::Errno::BADF.into()))
        }
    };
    let bench = Bench::with_locking(Locking {
        exclusive: needs_a_writable_file,
        ..Locking::KERNEL
    });
    let place = bench.at(URL);
    let kept = keep(&place, &tagged("\"1\""), b"one\n");
    assert_eq!(bench.cache.list().unwrap().contents[0].is_in_use, Some(true));
    assert!(fs::metadata(&kept.path).unwrap().permissions().readonly());
    let_go(&kept.in_use.unwrap());
    assert_eq!(bench.cache.list().unwrap().contents[0].is_in_use, Some(false));
    assert_eq!(prune(&bench, Prune::All).contents.len(), 1);
}

#[test]
fn what_dead_processes_left_is_swept_away() {
    let (bench, found) = filled();
    let v1 = bench.root().join("v1");
    fs::remove_file(bench.cache.layout.object(sha256(b"one\n"))).unwrap();
    fs::write(v1.join("entries/x.json"), b"{\"").unwrap();
    fs::write(v1.join("locks/x.lock"), b"").unwrap();
    for (name, age) in [("tmp/.tmp-old", 25 * HOUR), ("tmp/.tmp-new", HOUR)] {
        fs::write(v1.join(name), b"").unwrap();
        super::age(&v1.join(name), age);
    }
    bench.cache.prune(Prune::Partials).unwrap();
    assert_eq!(left(&bench, &found), ([false, true, true], false));
    assert_eq!(bench.names("entries").len(), 2);
    assert_eq!(bench.names("pins").len(), 2);
    assert_eq!(bench.names("locks"), [""; 0]);
    assert_eq!(bench.names("tmp"), [".tmp-new"]);
}
