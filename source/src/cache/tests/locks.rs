use std::cell::RefCell;
use std::fs::TryLockError;
use std::io;

use rustix::io::Errno;

use super::*;

/// A file system without locks: NFS without its lock service.
pub(super) const NONE: Locking = Locking {
    exclusive: |_| Err(TryLockError::Error(io::Error::from(Errno::NOLCK))),
    shared: |_| Err(io::Error::from(Errno::NOLCK)),
};

/// A file system that gives every lock to everybody.
const FOR_EVERYBODY: Locking = Locking {
    exclusive: |_| Ok(()),
    shared: |_| Ok(()),
};

#[test]
fn a_claim_keeps_others_out_until_it_is_given_up() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let is_taken = || place.claim(&found, &only(&found)).unwrap().is_none();
    let first = claim(&place, &found, &only(&found));
    assert!(is_taken());
    let other = tagged("\"2\"");
    claim(&place, &other, &only(&other));
    let_go(&first.lock);
    let second = claim(&place, &found, &only(&found));
    assert!(is_taken());
    assert!(
        finish(&place, &found, &only(&found), second, b"one\n")
            .path
            .exists()
    );
    claim(&place, &found, &only(&found));
}

thread_local! {
    /// A file that another process removes between our opening and our locking it.
    static REMOVED: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

fn overtake() {
    if let Some(path) = REMOVED.take() {
        fs::remove_file(path).unwrap();
    }
}

const OVERTAKEN: Locking = Locking {
    exclusive: |file| {
        overtake();
        file.try_lock()
    },
    shared: |file| {
        overtake();
        file.lock_shared()
    },
};

#[test]
fn a_lock_file_that_was_removed_meanwhile_gives_no_right() {
    let bench = Bench::with_locking(OVERTAKEN);
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let path = bench
        .cache
        .layout
        .lock(&entry::FileKey::new(&super::place(URL), &found, &only(&found)).key);
    fs::write(&path, b"").unwrap();
    REMOVED.set(Some(path.clone()));
    let claim = claim(&place, &found, &only(&found));
    assert!(disk::is_at(&claim.lock, &path).unwrap());
    assert!(place.claim(&found, &only(&found)).unwrap().is_none());
}

#[test]
fn a_content_that_was_removed_meanwhile_is_neither_read_nor_counted() {
    let bench = Bench::with_locking(OVERTAKEN);
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let path = bench.cache.layout.object(keep_unused(&place, &found, b"one\n"));
    REMOVED.set(Some(path.clone()));
    assert!(find(&place, &found).is_none());
    keep_unused(&place, &found, b"one\n");
    REMOVED.set(Some(path));
    assert_eq!(bench.cache.prune(Prune::All).unwrap(), Pruned::default());
}

#[test]
fn without_locks_two_write_apart_and_both_publish_the_content() {
    for locking in [NONE, FOR_EVERYBODY] {
        let bench = Bench::with_locking(locking);
        let place = bench.at(URL);
        let found = tagged("\"1\"");
        let [one, other] = [(); 2].map(|()| claim(&place, &found, &only(&found)));
        assert_ne!(one.partial, other.partial);
        fs::write(&other.partial, b"on").unwrap();
        let first = finish(&place, &found, &only(&found), one, b"one\n");
        let second = finish(&place, &found, &only(&found), other, b"one\n");
        assert_eq!(first.path, second.path);
        assert_eq!(fs::read(find(&place, &found).unwrap().path).unwrap(), b"one\n");
        assert_eq!(bench.names("partial"), [""; 0]);
    }
}

#[test]
fn who_reads_a_file_holds_a_shared_lock_on_it() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let kept = keep(&place, &found, b"one\n");
    let is_free = || match bench.cache.list().unwrap().contents.as_slice() {
        [content] => content.is_in_use == Some(false),
        contents => panic!("{contents:?}"),
    };
    assert!(!is_free());
    let reader = find(&place, &found).unwrap();
    let_go(&kept.in_use.unwrap());
    assert!(!is_free());
    let_go(&reader.in_use.unwrap());
    assert!(is_free());
}

/// A claim whose lock another machine took last, and a partial file that it wrote to so long ago.
fn claimed_elsewhere(bench: &mut Bench, quiet: Duration) -> Option<Claim> {
    let (place, found) = (bench.at(URL), tagged("\"1\""));
    let claim = claim(&place, &found, &only(&found));
    interrupt(&claim, b"on");
    age(&claim.partial, quiet);
    bench.cache.machine = Some("another".to_owned());
    bench.at(URL).claim(&found, &only(&found)).unwrap()
}

#[test]
fn a_lock_of_another_machine_binds_until_its_file_is_quiet() {
    assert!(claimed_elsewhere(&mut Bench::new(), Duration::ZERO).is_none());
    let mut bench = Bench::new();
    let claim = claimed_elsewhere(&mut bench, Duration::from_secs(100)).unwrap();
    assert_eq!(fs::read(claim.partial).unwrap(), b"on");
}
