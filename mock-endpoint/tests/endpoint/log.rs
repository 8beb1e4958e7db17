//! The log of arrivals, from all the places where it can be read.

use crate::support::{Client, with_endpoint};
use http::{HeaderName, Method, StatusCode};
use reprise_mock_endpoint::{Arrival, ArrivalLog, Config, StartError, start_on_own_thread};

const PATH: &str = "/v1/completions";
const BODY: &str = r#"{"prompt":"a"}"#;

fn read(lines: &str) -> Vec<Arrival> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_same_arrivals_by_handle_by_call_and_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("arrivals.jsonl");
    let arrivals = ArrivalLog {
        file: Some(file.clone()),
        digests: true,
        bodies: true,
        headers: vec![HeaderName::from_static("x-team")],
        ..ArrivalLog::default()
    };
    with_endpoint(
        Config {
            arrivals,
            ..Config::default()
        },
        async |handle, mut client| {
            client
                .post(PATH, &[("x-request-id", "r0"), ("x-team", "perf")], BODY)
                .await;
            client.post(PATH, &[], "junk").await;
            let kept = handle.arrivals();
            assert_eq!(kept.len(), 2);
            assert_eq!(
                (kept[0].index, kept[0].status, kept[0].body_bytes),
                (0, Some(200), 14)
            );
            assert_eq!(kept[0].request_id.as_deref(), Some("r0"));
            assert_eq!(kept[0].headers, [("x-team".to_owned(), "perf".to_owned())]);
            assert_eq!(kept[0].body.as_deref(), Some(BODY.as_bytes()));
            assert_eq!(kept[0].body_sha256.as_ref().unwrap().len(), 64);
            assert_eq!((kept[1].status, kept[1].request_id.as_deref()), (Some(400), None));
            assert!(kept[0].arrival_ns < kept[1].arrival_ns);

            assert_eq!(read(&client.get("/mock/arrivals").await.body), kept);
            handle.shutdown().await.unwrap();
            assert_eq!(read(&std::fs::read_to_string(&file).unwrap()), kept);
        },
    );
}

#[test]
fn summary_and_reset_by_call() {
    with_endpoint(Config::default(), async |handle, mut client| {
        client.post(PATH, &[], BODY).await;
        client.post(PATH, &[], BODY).await;
        let summary = client.get("/mock/summary").await.json();
        assert_eq!(
            (&summary["requests"], &summary["statuses"]["200"]),
            (&2.into(), &2.into())
        );
        assert_eq!(serde_json::to_value(handle.summary()).unwrap(), summary);
        client
            .send(Method::DELETE, "/mock/arrivals", &[], "")
            .await
            .unwrap();
        assert_eq!((handle.summary().requests, handle.arrivals().len()), (0, 0));
        client.post(PATH, &[], BODY).await;
        assert_eq!(handle.arrivals()[0].index, 0);
    });
}

#[test]
fn nothing_is_kept_in_memory_unasked() {
    let arrivals = ArrivalLog {
        in_memory: false,
        ..ArrivalLog::default()
    };
    with_endpoint(
        Config {
            arrivals,
            ..Config::default()
        },
        async |handle, mut client| {
            client.post(PATH, &[], BODY).await;
            assert_eq!((handle.summary().requests, handle.arrivals().len()), (1, 0));
            assert_eq!(client.get("/mock/arrivals").await.status, StatusCode::CONFLICT);
        },
    );
}

#[test]
fn a_request_whose_client_leaves_is_logged_as_unanswered() {
    let config = Config {
        ttft: "10s".parse().unwrap(),
        ..Config::default()
    };
    with_endpoint(config, async |handle, mut client| {
        let impatient = tokio::spawn(async move { client.post(PATH, &[], BODY).await });
        while handle.summary().requests == 0 {
            tokio::task::yield_now().await;
        }
        impatient.abort();
        while handle.summary().unanswered == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(handle.arrivals()[0].status, None);
    });
}

#[test]
fn an_endpoint_on_its_own_thread() {
    let endpoint = start_on_own_thread(Config::default()).unwrap();
    let address = endpoint.addr();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let reply = runtime.block_on(async { Client::connect(address).await.post(PATH, &[], BODY).await });
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(endpoint.url(), format!("http://{address}"));

    let taken = start_on_own_thread(Config {
        listen: address,
        ..Config::default()
    });
    assert!(matches!(taken, Err(StartError::Listen { .. })));

    let after = (*endpoint).clone();
    endpoint.shutdown().unwrap();
    assert_eq!(after.summary().requests, 1);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn a_log_that_cannot_be_written_is_an_error_at_the_start() {
    let file = Some(std::path::PathBuf::from("/nowhere/arrivals.jsonl"));
    let arrivals = ArrivalLog {
        file,
        ..ArrivalLog::default()
    };
    let failure = start_on_own_thread(Config {
        arrivals,
        ..Config::default()
    })
    .unwrap_err();
    insta::assert_snapshot!(failure);
}
