//! Two that want the same file at once.

use std::sync::{Condvar, Mutex};

use tokio::join;
use tokio::time::timeout;

use super::*;

/// A server that holds the rest of a file back until it is told to send it.
struct HeldBack {
    server: Server,
    gate: Arc<(Mutex<bool>, Condvar)>,
}

impl HeldBack {
    fn start(bytes: Vec<u8>) -> Self {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let inner = Arc::clone(&gate);
        let server = Server::start(move |request, stream| {
            if request.range() != Some((0, Some(65_535))) {
                let (is_open, changed) = &*inner;
                let _open = changed
                    .wait_while(is_open.lock().unwrap(), |is_open| !*is_open)
                    .unwrap();
            }
            serve_rest(stream, request, &bytes, TAG, usize::MAX / 2);
        });
        Self { server, gate }
    }

    fn open(&self) {
        *self.gate.0.lock().unwrap() = true;
        self.gate.1.notify_all();
    }
}

/// Another download of the same file into the same store.
async fn second(first: &Case, url: &str) -> Case {
    Case {
        folder: Arc::clone(&first.folder),
        ..Case::new(url).await
    }
}

#[tokio::test]
async fn two_downloads_of_one_file_are_one_transfer() {
    let server = HeldBack::start(sample(300_000));
    let url = server.server.url("/x");
    let first = Case::new(&url).await;
    let second = second(&first, &url).await;
    let watch = async {
        while !(first.progress.is_waiting() || second.progress.is_waiting()) {
            sleep(Duration::from_millis(1)).await;
        }
        server.open();
    };
    let (one, other, ()) = join!(first.fetched(), second.fetched(), watch);
    assert!(one == sample(300_000) && other == one);
    assert_eq!(
        first.progress.transferred() + second.progress.transferred(),
        300_000
    );
    assert!(!first.progress.is_waiting() && !second.progress.is_waiting());
    // Two access checks and one transfer.
    assert_eq!(server.server.requests().len(), 3);
}

#[tokio::test]
async fn who_waits_takes_over_when_the_other_ends() {
    let server = HeldBack::start(sample(300_000));
    let url = server.server.url("/x");
    let first = Case::new(&url).await;
    let second = second(&first, &url).await;
    let mut holder = Box::pin(first.fetch(None));
    while server.server.requests().len() < 3 {
        assert!(timeout(Duration::from_millis(10), &mut holder).await.is_err());
    }
    let mut waiter = Box::pin(second.fetched());
    while !second.progress.is_waiting() {
        assert!(timeout(Duration::from_millis(10), &mut waiter).await.is_err());
    }
    drop(holder);
    server.open();
    assert!(waiter.await == sample(300_000));
    assert_eq!(second.progress.transferred(), 300_000);
}
