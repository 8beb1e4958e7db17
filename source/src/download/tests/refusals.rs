//! What arrives and is not kept.

use std::os::unix::fs::symlink;

use super::*;

fn serve(bytes: Vec<u8>) -> Server {
    Server::start(move |request, stream| serve_rest(stream, request, &bytes, TAG, usize::MAX / 2))
}

#[tokio::test]
async fn other_bytes_than_the_manifest_declares_are_not_kept() {
    let bytes = sample(200_000);
    let server = serve(bytes.clone());
    let case = Case::new(&server.url("/x")).await;
    let declared = sha256(b"something else");
    let problem = case.fetch(Some(declared)).await.unwrap_err();
    assert_eq!(
        problem.to_string(),
        format!(
            "its sha256 is {}, and its manifest says {declared}. Correct the digest in the manifest, or ask the \
             publisher to.",
            sha256(&bytes)
        )
    );
    assert!(is_empty(case.folder.path()));
}

#[tokio::test]
async fn other_bytes_than_the_place_tells_are_not_kept() {
    let bytes = sample(200_000);
    let server = serve(bytes.clone());
    let mut case = Case::new(&server.url("/x")).await;
    let told = sha256(b"something else");
    case.file.sha256 = Some(told);
    let problem = case.fetch(Some(sha256(&bytes))).await.unwrap_err();
    assert_eq!(
        problem.to_string(),
        format!(
            "its sha256 is {}, and the place that it comes from says {told}. Run again to download it anew; if that \
             does not help, tell the publisher.",
            sha256(&bytes)
        )
    );
    assert!(is_empty(case.folder.path()));
}

/// A part that another program has written to.
#[tokio::test]
async fn a_damaged_part_is_found_and_not_used_twice() {
    let bytes = sample(200_000);
    let server = serve(bytes.clone());
    let case = Case::new(&server.url("/x")).await;
    fs::write(case.partial(), vec![b'#'; 100_000]).unwrap();
    assert!(case.fetch(Some(sha256(&bytes))).await.is_err());
    assert!(fs::read(case.fetch(Some(sha256(&bytes))).await.unwrap().path).unwrap() == bytes);
}

/// H11
#[tokio::test]
async fn a_file_that_changes_between_pin_and_download_is_refused() {
    let server = Server::start(|request, stream| {
        let is_check = request.range() == Some((0, Some(65_535)));
        let tag = if is_check { TAG } else { "etag: \"v2\"\r\n" };
        serve_rest(stream, request, &sample(200_000), tag, usize::MAX / 2);
    });
    let case = Case::new(&server.url("/x")).await;
    let problem = case.fetch(None).await.unwrap_err();
    assert_eq!(
        problem.to_string(),
        "it changed after Reprise pinned its version. Run again to use the new version, or pin one that stays."
    );
}

#[tokio::test]
async fn more_bytes_than_were_found_are_refused() {
    let server = serve(sample(200_000));
    let mut case = Case::new(&server.url("/x")).await;
    case.file.size = Some(199_999);
    assert!(matches!(case.fetch(None).await, Err(Problem::Changed)));
    // Whatever does not say how much it is could be endless.
    let server = Server::start(|_, stream| {
        write(
            stream,
            &format!("HTTP/1.1 200 -\r\n{TAG}transfer-encoding: chunked\r\n\r\n"),
        );
        while stream.write_all(b"3\r\nabc\r\n").is_ok() {}
    });
    let mut case = Case::new(&server.url("/x")).await;
    case.file.size = Some(100_000);
    assert!(matches!(case.fetch(None).await, Err(Problem::Changed)));
}

#[tokio::test]
async fn a_full_disk_says_so() {
    let server = serve(sample(200_000));
    let case = Case::new(&server.url("/x")).await;
    symlink("/dev/full", case.partial()).unwrap();
    let problem = case.fetch(None).await.unwrap_err();
    assert_eq!(
        problem.to_string(),
        format!(
            "there is no room for it in {}. Free some, or move the cache, and run again: what has come so far is \
             kept.",
            case.folder.path().display()
        )
    );
}

#[tokio::test]
async fn a_place_that_cannot_be_written_to_says_so() {
    let server = serve(sample(200_000));
    let case = Case::new(&server.url("/x")).await;
    fs::create_dir(case.partial()).unwrap();
    let problem = case.fetch(None).await.unwrap_err();
    let message = problem.to_string();
    assert!(
        message.starts_with(&format!("writing {} failed: ", case.partial().display()))
            && message.ends_with(". Check the folder's permissions and the disk."),
        "{message}"
    );
}

#[tokio::test]
async fn an_answer_that_is_no_file_is_final() {
    let server = Server::start(|request, stream| {
        if request.range().is_some() {
            serve_rest(stream, request, &sample(200_000), TAG, usize::MAX / 2);
        } else {
            write(stream, "HTTP/1.1 403 -\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let case = Case::new(&server.url("/x")).await;
    assert!(matches!(case.fetch(None).await, Err(Problem::AccessDenied(_))));
    assert_eq!(server.requests().len(), 2);
}
