//! What is there already, and files of all sizes.

use reprise_test_servers::http::PythonServer;

use super::*;
use crate::remote::Span;

#[tokio::test]
async fn what_is_kept_is_not_transferred() {
    let server = Server::start(|request, stream| {
        serve_rest(stream, request, &sample(200_000), TAG, usize::MAX / 2);
    });
    let case = Case::new(&server.url("/x")).await;
    fs::write(case.store().path(&case.file), sample(200_000)).unwrap();
    assert!(case.fetched().await == sample(200_000));
    assert_eq!((case.progress.bytes(), case.progress.transferred()), (200_000, 0));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_small_file_costs_one_request() {
    let server = Server::start(|request, stream| {
        serve_rest(stream, request, b"{}\n", TAG, usize::MAX / 2);
    });
    let case = Case::new(&server.url("/x")).await;
    assert_eq!(case.fetched().await, b"{}\n");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(
        case.source
            .read(&case.found, &case.file, Span::WHOLE)
            .await
            .unwrap()
            .from,
        0
    );
}

/// H7
#[tokio::test]
async fn a_file_of_unknown_size_is_read_to_its_end() {
    let server = Server::start(|_, stream| {
        write(
            stream,
            &format!("HTTP/1.1 200 -\r\n{TAG}transfer-encoding: chunked\r\n\r\n"),
        );
        for chunk in sample(200_000).chunks(9_999) {
            let _ = write!(stream, "{:x}\r\n", chunk.len());
            let _ = stream.write_all(chunk);
            write(stream, "\r\n");
        }
        write(stream, "0\r\n\r\n");
    });
    let case = Case::new(&server.url("/x")).await;
    assert!(case.fetched().await == sample(200_000));
    assert_eq!(case.progress.bytes(), 200_000);
}

#[tokio::test]
async fn files_of_all_sizes_arrive_as_they_are() {
    let python = PythonServer::start();
    for size in [0, 1, 65_535, 65_536, 65_537, 3_000_001] {
        let name = format!("{size}.jsonl");
        fs::write(python.folder().join(&name), sample(size)).unwrap();
        let case = Case::new(&python.url(&name)).await;
        let kept = case.fetch(Some(sha256(&sample(size)))).await.unwrap();
        assert!(fs::read(kept.path).unwrap() == sample(size), "{size}");
    }
}
