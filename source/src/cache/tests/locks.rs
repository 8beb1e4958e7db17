use std::fs::{File, TryLockError};
use std::io;

use rustix::io::Errno;

use super::*;

/// A file system without locks: NFS without its lock service.
const NONE: Locking = Locking {
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
    let claim = || place.claim(&found, &only(&found)).unwrap();
    let first = claim().unwrap();
    assert!(claim().is_none());
    let other = tagged("\"2\"");
    assert!(place.claim(&other, &only(&other)).unwrap().is_some());
    drop(first);
    let kept = finish(&place, &found, &only(&found), claim().unwrap(), b"one\n");
    assert!(kept.path.exists());
    assert!(claim().is_some());
}

#[test]
fn a_lock_file_that_was_removed_meanwhile_gives_no_right() {
    let bench = Bench::new();
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    let claim = || place.claim(&found, &only(&found)).unwrap();
    let first = claim().unwrap();
    let lock = files(&bench.root().join("v1/locks")).remove(0);
    // Opened before it is removed, locked after that: as a process does that is overtaken in between.
    let late = File::open(&lock).unwrap();
    finish(&place, &found, &only(&found), first, b"one\n");
    late.try_lock().unwrap();
    assert!(!lock.exists());
    let second = claim().unwrap();
    assert!(disk::is_at(&second.lock, &lock).unwrap());
    assert!(!disk::is_at(&late, &lock).unwrap());
    assert!(claim().is_none());
}

#[test]
fn without_locks_two_write_apart_and_both_publish_the_content() {
    for locking in [NONE, FOR_EVERYBODY] {
        let bench = Bench::with_locking(locking);
        let place = bench.at(URL);
        let found = tagged("\"1\"");
        let [one, other] = [(); 2].map(|()| place.claim(&found, &only(&found)).unwrap().unwrap());
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
    let is_free = || File::open(&kept.path).unwrap().try_lock().is_ok();
    let path = kept.path.clone();
    assert!(!is_free());
    let reader = find(&place, &found).unwrap();
    drop(kept.in_use);
    assert!(File::open(&path).unwrap().try_lock().is_err());
    drop(reader);
    assert!(File::open(&path).unwrap().try_lock().is_ok());
}
