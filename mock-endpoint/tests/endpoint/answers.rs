//! What clients get, over a real connection.

use crate::support::{Client, with_endpoint};
use http::{Method, StatusCode};
use reprise_mock_endpoint::{Config, RandomErrors};

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

#[test]
fn a_chat_stream_with_usage() {
    with_endpoint(Config::default(), async |_handle, mut client| {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"three short words"}],"max_tokens":2,
            "stream":true,"stream_options":{"include_usage":true}}"#;
        let reply = client.post(CHAT, &[], body).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.headers["content-type"], "text/event-stream; charset=utf-8");
        assert!(reply.complete);
        insta::assert_snapshot!(reply.masked());
    });
}

#[test]
fn whole_answers() {
    with_endpoint(Config::default(), async |_handle, mut client| {
        let chat = client
            .post(CHAT, &[], r#"{"messages":[{"role":"user","content":"hi"}]}"#)
            .await;
        let completion = client
            .post(
                "/team-a/v1/completions",
                &[],
                r#"{"prompt":[1,2,3],"max_completion_tokens":2}"#,
            )
            .await;
        insta::assert_snapshot!([chat.masked(), completion.masked()].join("\n"));
    });
}

#[test]
fn paced_answers_have_the_same_bytes_as_instant_ones() {
    let body = r#"{"prompt":"a","max_tokens":5,"stream":true}"#;
    let (sender, receiver) = std::sync::mpsc::channel();
    for latency in ["0", "uniform:100us..3ms"] {
        let config = Config {
            ttft: latency.parse().unwrap(),
            inter_token_latency: latency.parse().unwrap(),
            ..Config::default()
        };
        with_endpoint(config, async |_handle, mut client| {
            sender
                .send(client.post(COMPLETIONS, &[], body).await.masked())
                .unwrap();
        });
    }
    assert_eq!(receiver.recv().unwrap(), receiver.recv().unwrap());
}

#[test]
fn tokens_never_come_before_they_are_due() {
    let config = Config {
        ttft: "3ms".parse().unwrap(),
        inter_token_latency: "2ms".parse().unwrap(),
        ..Config::default()
    };
    with_endpoint(config, async |handle, mut client| {
        for stream in [true, false] {
            let begun = std::time::Instant::now();
            let body = format!(r#"{{"prompt":"a","max_tokens":5,"stream":{stream}}}"#);
            client.post(COMPLETIONS, &[], &body).await;
            assert!(begun.elapsed() >= std::time::Duration::from_millis(3 + 4 * 2));
        }
        assert_eq!(handle.summary().requests, 2);
    });
}

#[test]
fn models_health_and_unknown_paths() {
    with_endpoint(Config::default(), async |handle, mut client| {
        let models = client.get("/v1/models").await;
        assert_eq!(models.json()["data"][0]["id"], "mock-model");
        assert_eq!(client.get("/health").await.status, StatusCode::OK);
        assert_eq!(handle.summary().requests, 0);
        for (method, path) in [(Method::POST, "/v1/embeddings"), (Method::GET, CHAT)] {
            let reply = client.send(method, path, &[], "").await.unwrap();
            assert_eq!(reply.status, StatusCode::NOT_FOUND);
            assert_eq!(reply.json()["error"]["type"], "not_found_error");
        }
        assert_eq!(handle.summary().statuses[&404], 2);
    });
}

#[test]
fn a_body_that_cannot_be_answered_is_a_bad_request() {
    with_endpoint(Config::default(), async |_handle, mut client| {
        let reply = client.post(CHAT, &[], "{\"messages\":").await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.json()["error"]["code"], 400);
        let reply = client.post(CHAT, &[("x-mock-status", "ok")], "{}").await;
        insta::assert_snapshot!(reply.body);
    });
}

#[test]
fn a_status_on_demand() {
    with_endpoint(Config::default(), async |handle, mut client| {
        let reply = client
            .post(CHAT, &[("x-mock-status", "429")], "not even JSON")
            .await;
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(reply.json()["error"]["type"], "rate_limit_error");
        assert_eq!(handle.arrivals()[0].status, Some(429));
    });
}

#[test]
fn a_disconnect_on_demand() {
    for latency in ["0", "1ms"] {
        let config = Config {
            inter_token_latency: latency.parse().unwrap(),
            ..Config::default()
        };
        with_endpoint(config, async |handle, mut client| {
            let headers = [("x-mock-disconnect-after", "3")];
            let reply = client
                .post(COMPLETIONS, &headers, r#"{"prompt":"a","stream":true}"#)
                .await;
            assert!(!reply.complete);
            assert_eq!(reply.body.matches("data: ").count(), 3);
            assert!(!reply.body.contains("[DONE]"));
            let mut client = Client::connect(handle.addr()).await;
            assert!(
                client
                    .send(Method::POST, COMPLETIONS, &headers, r#"{"prompt":"a"}"#)
                    .await
                    .is_err()
            );
            let statuses: Vec<_> = handle.arrivals().iter().map(|arrival| arrival.status).collect();
            assert_eq!(statuses, [Some(200), None]);
            assert_eq!(handle.summary().unanswered, 1);
        });
    }
}

#[test]
fn an_error_event_on_demand() {
    with_endpoint(Config::default(), async |_handle, mut client| {
        let headers = [("x-mock-stream-error-after", "2")];
        let reply = client
            .post(COMPLETIONS, &headers, r#"{"prompt":"a","stream":true}"#)
            .await;
        assert_eq!((reply.status, reply.complete), (StatusCode::OK, true));
        insta::assert_snapshot!(reply.masked());
        let whole = client.post(COMPLETIONS, &headers, r#"{"prompt":"a"}"#).await;
        assert_eq!(whole.status, StatusCode::INTERNAL_SERVER_ERROR);
    });
}

#[test]
fn an_early_finish_on_demand() {
    with_endpoint(Config::default(), async |_handle, mut client| {
        let headers = [("x-mock-finish-early", "10")];
        let reply = client
            .post(COMPLETIONS, &headers, r#"{"prompt":"a","max_tokens":20}"#)
            .await;
        assert_eq!(reply.json()["usage"]["completion_tokens"], 10);
        assert_eq!(reply.json()["choices"][0]["finish_reason"], "stop");
    });
}

#[test]
fn a_share_of_errors_follows_the_seed() {
    let statuses = |seed| {
        let errors = RandomErrors {
            share: "0.3".parse().unwrap(),
            status: "502".parse().unwrap(),
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        with_endpoint(
            Config {
                errors: Some(errors),
                seed,
                ..Config::default()
            },
            async |handle, mut client| {
                for _ in 0..50 {
                    client.post(COMPLETIONS, &[], r#"{"prompt":"a"}"#).await;
                }
                let statuses: Vec<_> = handle.arrivals().iter().map(|arrival| arrival.status).collect();
                sender.send(statuses).unwrap();
            },
        );
        receiver.recv().unwrap()
    };
    let first = statuses(1);
    assert_eq!(statuses(1), first);
    assert_ne!(statuses(2), first);
    assert!(first.contains(&Some(502)) && first.contains(&Some(200)));
}

#[test]
fn with_a_capacity_requests_wait_in_order_of_arrival() {
    let config = Config {
        capacity: std::num::NonZeroU32::new(1),
        ttft: "2ms".parse().unwrap(),
        ..Config::default()
    };
    with_endpoint(config, async |handle, mut client| {
        let mut waiting = tokio::task::JoinSet::new();
        let begun = std::time::Instant::now();
        for _ in 0..5 {
            let mut client = Client::connect(handle.addr()).await;
            waiting.spawn(async move {
                client.post(COMPLETIONS, &[], r#"{"prompt":"a"}"#).await.json()["id"].clone()
            });
            // The next one is sent only once this one has arrived.
            let arrived = handle.summary().requests + 1;
            while handle.summary().requests < arrived {
                tokio::task::yield_now().await;
            }
        }
        let mut order = Vec::new();
        while let Some(id) = waiting.join_next().await {
            order.push(id.unwrap().to_string());
        }
        assert_eq!(
            order,
            (0..5)
                .map(|index| format!("\"cmpl-mock-{index}\""))
                .collect::<Vec<_>>()
        );
        assert!(begun.elapsed() >= std::time::Duration::from_millis(5 * 2));
        // A client that leaves gives its place back.
        drop(
            client
                .post(
                    COMPLETIONS,
                    &[("x-mock-disconnect-after", "1")],
                    r#"{"prompt":"a","stream":true}"#,
                )
                .await,
        );
        let mut client = Client::connect(handle.addr()).await;
        assert_eq!(
            client.post(COMPLETIONS, &[], r#"{"prompt":"a"}"#).await.status,
            StatusCode::OK
        );
    });
}
