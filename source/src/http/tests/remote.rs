//! What the access check finds and what is read later, from servers good and bad.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use reprise_test_servers::http::{Nginx, PythonServer, Request, Server, write};

use super::*;

fn sample(length: usize) -> Vec<u8> {
    (0_u32..)
        .flat_map(|n| format!("{{\"timestamp\": {n}}}\n").into_bytes())
        .take(length)
        .collect()
}

fn span(from: u64, length: impl Into<Option<u64>>) -> Span {
    Span {
        from,
        length: length.into(),
    }
}

/// Answers as a good server does, with these headers.
fn serve_parts(stream: &mut TcpStream, request: &Request, bytes: &[u8], headers: &str) {
    let (status, part) = match request.range() {
        Some((from, _)) if from >= bytes.len() => {
            let total = bytes.len();
            return write(
                stream,
                &format!("HTTP/1.1 416 -\r\ncontent-range: bytes */{total}\r\ncontent-length: 0\r\n\r\n"),
            );
        }
        Some((from, to)) => {
            let end = to.map_or(bytes.len(), |to| bytes.len().min(to + 1));
            let range = format!("content-range: bytes {from}-{}/{}\r\n", end - 1, bytes.len());
            (format!("206 -\r\n{range}"), &bytes[from..end])
        }
        None => ("200 OK\r\n".to_owned(), bytes),
    };
    write(
        stream,
        &format!("HTTP/1.1 {status}{headers}content-length: {}\r\n\r\n", part.len()),
    );
    let _ = stream.write_all(part);
}

#[tokio::test]
async fn one_get_finds_size_version_and_beginning() {
    let bytes = sample(200_000);
    let stored = bytes.clone();
    let server = Server::start(move |request, stream| {
        serve_parts(stream, request, &stored, "etag: \"v1\"\r\n");
    });
    let source = source(&server.url("/traces/chat%2Daugust.jsonl?X-Amz-Signature=0aF%2f+~&b=1"));
    let found = source.look_up().await.unwrap();
    assert_eq!(found.version, Some(Version::ETag("\"v1\"".to_owned())));
    assert_eq!(found.canonical, None);
    let file = file_of(&found);
    assert_eq!(
        (file.name.as_str(), file.size),
        ("chat-august.jsonl", Some(200_000))
    );
    assert_eq!(file.tag.as_deref(), Some("\"v1\""));
    // The first record's check costs no further request.
    assert!(read(&source, &found, span(0, 65_536)).await.unwrap() == bytes[..65_536]);
    assert!(read(&source, &found, span(100, 1000)).await.unwrap() == bytes[100..1100]);
    assert_eq!(server.requests().len(), 1);
    assert!(read(&source, &found, span(0, 100_000)).await.unwrap() == bytes[..100_000]);
    assert!(read(&source, &found, Span::WHOLE).await.unwrap() == bytes);
    assert!(read(&source, &found, span(150_000, None)).await.unwrap() == bytes[150_000..]);
    let requests = server.requests();
    let ranges: Vec<_> = requests.iter().map(|request| request.header("range")).collect();
    assert_eq!(
        ranges,
        [
            Some("bytes=0-65535"),
            Some("bytes=0-99999"),
            None,
            Some("bytes=150000-")
        ]
    );
    assert_eq!(requests[3].header("if-range"), Some("\"v1\""));
    assert!(requests.iter().all(|request| request.method == "GET"));
}

/// H1: a presigned URL is signed for `GET` alone.
#[tokio::test]
async fn a_url_that_answers_403_to_head_is_read() {
    let server = Server::start(|request, stream| {
        if request.method == "GET" {
            serve_parts(stream, request, b"{}\n", "etag: \"v1\"\r\n");
        } else {
            write(stream, "HTTP/1.1 403 -\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let source = source(&server.url("/x?X-Amz-Signature=aa"));
    let found = source.look_up().await.unwrap();
    assert_eq!(read(&source, &found, Span::WHOLE).await.unwrap(), b"{}\n");
    assert_eq!(
        server.requests().len(),
        1,
        "a file within the beginning is not asked for again"
    );
}

/// H3
#[tokio::test]
async fn a_signed_query_arrives_byte_for_byte_each_time() {
    let target = "/b/chat%2Daugust.jsonl?response-content-disposition=attachment%3b%20filename%3Dx&b=2&a=1&&X-Amz-Signature=0aF%2f+~";
    let server = Server::start(move |request, stream| {
        serve_parts(stream, request, &sample(100_000), "");
    });
    let source = source(&server.url(target));
    let found = source.look_up().await.unwrap();
    read(&source, &found, Span::WHOLE).await.unwrap();
    // A sidecar's URL would not be signed.
    assert_eq!(
        source
            .beside(&found, "chat-august.jsonl.aiperf.json")
            .await
            .unwrap(),
        None
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.target == target));
}

/// H7
#[tokio::test]
async fn a_chunked_file_is_read_to_its_end_without_a_known_size() {
    let server = Server::start(|_, stream| {
        write(
            stream,
            "HTTP/1.1 200 -\r\netag: \"v1\"\r\ntransfer-encoding: chunked\r\n\r\n",
        );
        for chunk in sample(100_000).chunks(7_777) {
            let _ = write!(stream, "{:x}\r\n", chunk.len());
            let _ = stream.write_all(chunk);
            write(stream, "\r\n");
        }
        write(stream, "0\r\n\r\n");
    });
    let source = source(&server.url("/x"));
    let found = source.look_up().await.unwrap();
    assert_eq!(file_of(&found).size, None);
    assert!(found.version.is_some());
    assert!(read(&source, &found, Span::WHOLE).await.unwrap() == sample(100_000));
}

#[tokio::test]
async fn a_chunked_file_that_ends_early_is_cut() {
    let server = Server::answering("HTTP/1.1 200 -\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n");
    let problem = source(&server.url("/x")).look_up().await.unwrap_err();
    assert!(matches!(problem, Problem::Cut { received: 3, .. }), "{problem:?}");
    assert_eq!(server.requests().len(), 3);
}

/// H9
#[tokio::test]
async fn a_server_that_sends_all_instead_of_a_part_begins_at_0() {
    let server = Server::start(|_, stream| {
        write(
            stream,
            "HTTP/1.1 200 -\r\netag: \"v1\"\r\ncontent-length: 100000\r\n\r\n",
        );
        let _ = stream.write_all(&sample(100_000));
    });
    let source = source(&server.url("/x"));
    let found = source.look_up().await.unwrap();
    assert_eq!(file_of(&found).size, Some(100_000));
    let body = source
        .read(&found, file_of(&found), span(70_000, 100))
        .await
        .unwrap();
    assert_eq!((body.from, body.total), (0, Some(100_000)));
    assert!(drain(body).await.unwrap() == sample(100_000));
}

/// H9
#[tokio::test]
async fn a_part_that_is_longer_than_asked_is_cut_off() {
    let server = Server::start(|request, stream| {
        let from = request.range().map_or(0, |(from, _)| from);
        let all = sample(200_000);
        write(
            stream,
            &format!(
                "HTTP/1.1 206 -\r\netag: \"v1\"\r\ncontent-range: bytes {from}-199999/200000\r\ncontent-length: {}\r\n\r\n",
                200_000 - from
            ),
        );
        let _ = stream.write_all(&all[from..]);
    });
    let source = source(&server.url("/x"));
    let found = source.look_up().await.unwrap();
    assert!(read(&source, &found, span(0, 65_536)).await.unwrap() == sample(65_536));
    let body = source
        .read(&found, file_of(&found), span(100_000, 10))
        .await
        .unwrap();
    assert_eq!(body.from, 100_000);
    assert!(drain(body).await.unwrap() == sample(200_000)[100_000..100_010]);
}

/// H9
#[tokio::test]
async fn a_part_that_starts_elsewhere_is_not_taken_for_the_one_that_was_asked_for() {
    for answer in [
        "206 -\r\ncontent-range: bytes 0-9/100000\r\ncontent-length: 10\r\n\r\n0123456789",
        "206 -\r\ncontent-length: 10\r\n\r\n0123456789",
        "206 -\r\ncontent-type: multipart/byteranges; boundary=x\r\ncontent-length: 0\r\n\r\n",
        "416 -\r\ncontent-length: 0\r\n\r\n",
    ] {
        let server = Server::start(move |request, stream| match request.range() {
            Some((from, _)) if from > 0 => write(stream, &format!("HTTP/1.1 {answer}")),
            _ => serve_parts(stream, request, &sample(100_000), ""),
        });
        let source = source(&server.url("/x"));
        let found = source.look_up().await.unwrap();
        let body = source
            .read(&found, file_of(&found), span(80_000, None))
            .await
            .unwrap();
        assert_eq!(body.from, 0, "{answer}");
        assert!(drain(body).await.unwrap() == sample(100_000), "{answer}");
    }
}

#[tokio::test]
async fn a_part_that_ends_before_it_should_is_cut() {
    let server = Server::start(|request, stream| {
        match request.range() {
            Some((0, _)) | None => serve_parts(stream, request, &sample(100_000), ""),
            // What it says of the part and what it sends are not the same.
            _ => write(
                stream,
                "HTTP/1.1 206 -\r\ncontent-range: bytes 80000-99999/100000\r\ncontent-length: 3\r\n\r\nabc",
            ),
        }
    });
    let source = source(&server.url("/x"));
    let found = source.look_up().await.unwrap();
    let problem = read(&source, &found, span(80_000, None)).await.unwrap_err();
    assert!(
        matches!(
            problem,
            Problem::Cut {
                received: 3,
                expected: Some(20_000)
            }
        ),
        "{problem:?}"
    );
}

/// H11
#[tokio::test]
async fn a_file_that_was_swapped_has_changed() {
    let versions = [
        ("etag: \"v1\"\r\n", "etag: \"v2\"\r\n"),
        ("etag: W/\"v1\"\r\n", "etag: W/\"v2\"\r\n"),
        ("etag: \"v1\"\r\n", ""),
        (
            "last-modified: Sat, 01 Aug 2026 12:00:00 GMT\r\n",
            "last-modified: Sat, 01 Aug 2026 12:00:01 GMT\r\n",
        ),
    ];
    for (before, after) in versions {
        for asked in [Span::WHOLE, span(70_000, None), span(0, 100_000)] {
            let count = AtomicUsize::new(0);
            let server = Server::start(move |request, stream| {
                let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
                // Does not care for `If-Range`.
                serve_parts(
                    stream,
                    request,
                    &sample(200_000),
                    if is_first { before } else { after },
                );
            });
            let source = source(&server.url("/x"));
            let found = source.look_up().await.unwrap();
            let result = read(&source, &found, asked).await;
            let may_leave_out = after.is_empty() && asked.from > 0;
            assert!(
                matches!(result, Err(Problem::Changed)) || may_leave_out,
                "{before} {after} {asked:?}"
            );
        }
    }
}

/// H11: nginx keeps to `If-Range`, and sends all of the new file.
#[tokio::test]
async fn a_file_that_was_swapped_on_nginx_has_changed() {
    for settings in ["", "etag off;", "max_ranges 0;", "etag off; max_ranges 0;"] {
        let nginx = Nginx::start(settings);
        let path = nginx.folder().join("trace.jsonl");
        fs::write(&path, sample(200_000)).unwrap();
        let source = source(&nginx.url("trace.jsonl"));
        let found = source.look_up().await.unwrap();
        assert_eq!(file_of(&found).size, Some(200_000));
        let has_tags = matches!(found.version, Some(Version::ETag(_)));
        assert_eq!(has_tags, !settings.contains("etag off"), "{settings}");
        for asked in [Span::WHOLE, span(80_000, None), span(0, 100_000)] {
            let from = usize::try_from(asked.from).unwrap();
            let body = source.read(&found, file_of(&found), asked).await.unwrap();
            let begins = if settings.contains("max_ranges 0") {
                0
            } else {
                from
            };
            assert_eq!(usize::try_from(body.from).unwrap(), begins, "{settings}");
            let expected = match (begins, asked.length) {
                (0, Some(_)) if !settings.contains("max_ranges 0") => &sample(200_000)[..100_000],
                (begins, _) => &sample(200_000)[begins..],
            };
            assert!(drain(body).await.unwrap() == expected, "{settings} {asked:?}");
        }

        let swapped: Vec<_> = sample(200_000).into_iter().rev().collect();
        fs::write(&path, swapped).unwrap();
        let later = SystemTime::now() + Duration::from_mins(1);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(later)
            .unwrap();
        for asked in [Span::WHOLE, span(80_000, None), span(0, 100_000)] {
            let result = read(&source, &found, asked).await;
            assert!(
                matches!(result, Err(Problem::Changed)),
                "{settings} {asked:?} {result:?}"
            );
        }
        let again = self::source(&nginx.url("trace.jsonl")).look_up().await.unwrap();
        assert_ne!(again.version, found.version);
    }
}

#[tokio::test]
async fn a_known_version_costs_no_body() {
    let nginx = Nginx::start("");
    fs::write(nginx.folder().join("trace.jsonl"), sample(200_000)).unwrap();
    let url = nginx.url("trace.jsonl");
    let version = source(&url).look_up().await.unwrap().version;
    let knowing = |known| HttpSource::new(http_url(&url), &Access::Ambient, known).unwrap();
    let again = knowing(version.clone()).look_up().await.unwrap();
    assert_eq!(again.version, version);
    let other = Some(Version::ETag("\"other\"".to_owned()));
    assert_eq!(knowing(other).look_up().await.unwrap().version, version);
    let log: Vec<_> = nginx
        .log(3)
        .iter()
        .map(|line| (line.status, line.bytes))
        .collect();
    assert_eq!(log, [(206, Some(65_536)), (304, Some(0)), (206, Some(65_536))]);

    // What is no longer kept can still be read, in that version.
    let source = knowing(version);
    let found = source.look_up().await.unwrap();
    assert!(read(&source, &found, Span::WHOLE).await.unwrap() == sample(200_000));
}

#[tokio::test]
async fn python_has_dates_and_lengths() {
    let python = PythonServer::start();
    let path = python.folder().join("trace.jsonl");
    fs::write(&path, sample(200_000)).unwrap();
    let source = source(&python.url("trace.jsonl"));
    let found = source.look_up().await.unwrap();
    assert!(
        matches!(found.version, Some(Version::LastModified { length: 200_000, .. })),
        "{found:?}"
    );
    assert!(read(&source, &found, Span::WHOLE).await.unwrap() == sample(200_000));
    let body = source
        .read(&found, file_of(&found), span(100_000, None))
        .await
        .unwrap();
    assert_eq!(body.from, 0);
    fs::write(&path, sample(200_001)).unwrap();
    let result = read(&source, &found, Span::WHOLE).await;
    assert!(matches!(result, Err(Problem::Changed)), "{result:?}");
    assert!(
        python
            .log()
            .iter()
            .all(|line| line.method == "GET" && line.status == 200)
    );
}

#[tokio::test]
async fn an_older_file_under_the_same_name_is_another_version() {
    // Python says that a file is not modified when it is older than the date that it is asked for.
    let python = PythonServer::start();
    let path = python.folder().join("trace.jsonl");
    fs::write(&path, sample(1000)).unwrap();
    let url = python.url("trace.jsonl");
    let known = source(&url).look_up().await.unwrap().version;
    let earlier = SystemTime::now() - Duration::from_hours(1);
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(earlier)
        .unwrap();
    let again = HttpSource::new(http_url(&url), &Access::Ambient, known.clone()).unwrap();
    assert_ne!(again.look_up().await.unwrap().version, known);
}

#[tokio::test]
async fn a_server_without_any_version_is_read_all_the_same() {
    let server = Server::start(|request, stream| serve_parts(stream, request, &sample(100_000), ""));
    let source = source(&server.url("/x"));
    let found = source.look_up().await.unwrap();
    assert_eq!(found.version, None);
    assert!(read(&source, &found, Span::WHOLE).await.unwrap() == sample(100_000));
}

#[tokio::test]
async fn an_empty_file_has_a_size() {
    let nginx = Nginx::start("");
    fs::write(nginx.folder().join("empty"), b"").unwrap();
    let strict = Server::start(|request, stream| serve_parts(stream, request, b"", "etag: \"v1\"\r\n"));
    for url in [nginx.url("empty"), strict.url("/empty")] {
        let source = source(&url);
        let found = source.look_up().await.unwrap();
        assert_eq!(file_of(&found).size, Some(0), "{url}");
        assert!(found.version.is_some(), "{url}");
        assert!(read(&source, &found, Span::WHOLE).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_file_beside_it_has_its_own_version() {
    let nginx = Nginx::start("location /refused { return 403; } location /gone { return 410; }");
    let put = |name: &str, bytes: &[u8]| fs::write(nginx.folder().join(name), bytes).unwrap();
    put("a b.jsonl", &sample(100_000));
    put("a b.jsonl.aiperf.json", b"{}");
    let source = source(&nginx.url("a%20b.jsonl"));
    let found = source.look_up().await.unwrap();
    let sidecar = source
        .beside(&found, "a b.jsonl.aiperf.json")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (sidecar.name.as_str(), sidecar.size),
        ("a b.jsonl.aiperf.json", Some(2))
    );
    assert_ne!(sidecar.tag, file_of(&found).tag);
    let body = source.read(&found, &sidecar, Span::WHOLE).await.unwrap();
    assert_eq!(drain(body).await.unwrap(), b"{}");
    for name in ["a b.jsonl.reprise.json", "refused", "gone"] {
        assert_eq!(source.beside(&found, name).await.unwrap(), None, "{name}");
    }
    let targets: Vec<_> = nginx.log(5).into_iter().map(|line| line.target).collect();
    assert_eq!(targets[1], "/a%20b.jsonl.aiperf.json");
    assert_eq!(targets.len(), 5);
}

#[tokio::test]
async fn a_rest_of_a_body_that_nobody_wants_is_not_waited_for() {
    // Never sends the rest; whoever waits for it does not get to the end of this test.
    let server = Server::start(|_, stream| {
        write(stream, "HTTP/1.1 200 -\r\ncontent-length: 1000000000\r\n\r\n");
        let _ = stream.write_all(&sample(100_000));
        let _ = std::io::Read::read(stream, &mut [0; 16]);
    });
    let source = source(&server.url("/x"));
    let found = source.look_up().await.unwrap();
    assert_eq!(file_of(&found).size, Some(1_000_000_000));
    assert!(read(&source, &found, span(0, 65_536)).await.unwrap() == sample(65_536));
}

#[tokio::test]
async fn user_info_goes_to_its_host_and_no_further() {
    let there = Server::start(|request, stream| serve_parts(stream, request, b"ok", ""));
    let location = Arc::new(there.url("/file?sig=other"));
    let front = Server::start(move |_, stream| {
        write(
            stream,
            &format!(
                "HTTP/1.1 302 -\r\nlocation: {location}\r\nset-cookie: a=SECRET\r\ncontent-length: 0\r\n\r\n"
            ),
        );
    });
    let source = source(&front.url("/x").replace("http://", "http://user:SECRET@"));
    let found = source.look_up().await.unwrap();
    assert_eq!(
        source
            .beside(&found, "x.aiperf.json")
            .await
            .unwrap()
            .unwrap()
            .size,
        Some(2)
    );
    assert!(
        front
            .requests()
            .iter()
            .all(|request| request.has_header("authorization"))
    );
    for request in there.requests() {
        assert!(!request.head.contains("SECRET"), "{}", request.head);
        for name in ["authorization", "referer", "cookie"] {
            assert!(!request.has_header(name), "{}", request.head);
        }
    }
    assert!(!format!("{found:?}").contains("SECRET"));
}
