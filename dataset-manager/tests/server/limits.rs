//! What one caller can hold up.

use std::time::Duration;

use reprise_contract::protocol::{MAX_BATCH_BYTES, MAX_JSON_BYTES, RefusalCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::manager::{Manager, refused};

#[tokio::test]
async fn bodies_that_are_too_large_are_refused() {
    let manager = Manager::with_plan().await;
    let worker = manager.worker(0, "a");
    let (status, code, _) = refused(worker.outcomes_call(vec![0; MAX_BATCH_BYTES + 1])).await;
    assert_eq!((status, code), (413, RefusalCode::TooLarge));
    let json = "x".repeat(MAX_JSON_BYTES);
    let (status, code, _) = refused(worker.call(manager.post("/v1/join", json))).await;
    assert_eq!((status, code), (413, RefusalCode::TooLarge));
}

#[tokio::test]
async fn a_body_of_unknown_length_is_cut_off() {
    let manager = Manager::with_plan().await;
    let worker = manager.worker(0, "a");
    let parts = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![0_u8; 1 << 20]));
    let call = worker
        .outcomes_call(Vec::new())
        .body(reqwest::Body::wrap_stream(parts));
    // The server answers and stops reading, or breaks the connection while the client still writes.
    match call.send().await {
        Ok(answer) => assert_eq!(answer.status(), 413),
        Err(error) => assert!(error.is_request() || error.is_body(), "{error:?}"),
    }
    assert_eq!(manager.get("/healthz").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn callers_that_say_nothing_hold_nobody_up() {
    let manager = Manager::with_plan().await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(manager.server.address()).await.unwrap());
    }
    let health = tokio::time::timeout(Duration::from_secs(30), manager.get("/healthz").send());
    assert_eq!(health.await.unwrap().unwrap().status(), 200);
    for mut stream in silent {
        // No TLS either: whoever talks something else is hung up on.
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard).await;
        assert!(!heard.starts_with(b"HTTP"));
    }
}

#[tokio::test]
async fn a_shard_that_nobody_reads_holds_no_other_up() {
    let manager = Manager::with_plan().await;
    let (slow, quick) = (manager.worker(0, "a"), manager.worker(1, "a"));
    slow.join().await;
    quick.join().await;
    let unread = slow
        .call(manager.get("/v1/shards/0?incarnation=a"))
        .send()
        .await
        .unwrap();
    let read = quick
        .call(manager.get("/v1/shards/1?incarnation=a"))
        .send()
        .await
        .unwrap();
    assert_eq!(read.text().await.unwrap(), "1".repeat(200_000));
    assert_eq!(
        unread.text().await.unwrap(),
        "0".repeat(200_000),
        "and it can still be read"
    );
}
