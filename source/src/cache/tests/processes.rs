//! Several processes at once: this test's binary starts itself again.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::*;

/// The folder of the cache that a child works on.
const CHILD: &str = "REPRISE_TEST_CACHE_OF_CHILD";

/// A process that holds a claim with half a file in it, or reads the file if it is there, until it is killed.
struct Holder(Child);

impl Holder {
    /// Starts it, and waits until it has what it is to hold.
    fn start(root: &Path) -> (Self, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cache::tests::processes::child", "--nocapture"])
            .env(CHILD, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let holder = Self(child);
        let said = output
            .lines()
            .map(Result::unwrap)
            .find_map(|line| line.split_once("HOLDS ").map(|(_, what)| what.to_owned()));
        (holder, said.unwrap())
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test by itself.
#[test]
fn child() {
    let Some(root) = std::env::var_os(CHILD) else {
        return;
    };
    let place = open(Path::new(&root), None).at(place(URL));
    let found = tagged("\"1\"");
    let kept = find(&place, &found);
    let claim = match &kept {
        Some(_) => None,
        None => place.claim(&found, &only(&found)).unwrap(),
    };
    if let Some(claim) = &claim {
        fs::write(&claim.partial, b"on").unwrap();
    }
    let holds = match (&kept, &claim) {
        (Some(_), _) => "the file",
        (None, Some(_)) => "the claim",
        (None, None) => "nothing",
    };
    println!("HOLDS {holds}");
    std::io::stdout().flush().unwrap();
    // Until the other end is closed: a parent that dies leaves no child.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn the_claim_of_a_killed_process_is_taken_over_with_what_it_had() {
    let bench = Bench::new();
    let (first, holds) = Holder::start(bench.root());
    assert_eq!(holds, "the claim");
    let place = bench.at(URL);
    let found = tagged("\"1\"");
    assert!(place.claim(&found, &only(&found)).unwrap().is_none());
    let (second, holds) = Holder::start(bench.root());
    assert_eq!(holds, "nothing");
    first.kill();
    let claim = claim(&place, &found, &only(&found));
    assert_eq!(fs::read(&claim.partial).unwrap(), b"on");
    finish(&place, &found, &only(&found), claim, b"one\n");
    drop(second);
}

#[test]
fn what_a_living_process_reads_is_not_removed() {
    let bench = Bench::new();
    keep_unused(&bench.at(URL), &tagged("\"1\""), b"one\n");
    let (reader, holds) = Holder::start(bench.root());
    assert_eq!(holds, "the file");
    assert_eq!(bench.cache.list().unwrap().contents[0].is_in_use, Some(true));
    let pruned = bench.cache.prune(Prune::All).unwrap();
    assert_eq!((pruned.contents.len(), pruned.bytes_in_use), (0, 4));
    reader.kill();
    let pruned = bench.cache.prune(Prune::All).unwrap();
    assert_eq!((pruned.contents.len(), pruned.bytes_in_use), (1, 0));
    assert!(find(&bench.at(URL), &tagged("\"1\"")).is_none());
}
