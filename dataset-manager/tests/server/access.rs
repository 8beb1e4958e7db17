//! Who may call what.

use reprise_contract::protocol::RefusalCode;
use reprise_dataset_manager::server::{Server, ServerSettings, StartError};

use crate::manager::{Manager, good, loopback, refused};

const OF_WORKERS: [&str; 5] = [
    "/v1/clock",
    "/v1/shards/0?incarnation=a",
    "/v1/control/0?incarnation=a",
    "/v1/ready/0",
    "/v1/outcomes/0",
];
const OF_OPERATOR: [&str; 4] = [
    "/v1/status",
    "/v1/results",
    "/v1/results/summary.json",
    "/metrics",
];

#[tokio::test]
async fn without_a_token_of_the_run_nothing_is_answered() {
    let manager = Manager::with_plan().await;
    for path in OF_WORKERS.into_iter().chain(OF_OPERATOR) {
        // A wrong method would be refused as well, but not by the guard.
        let is_post = path.starts_with("/v1/ready") || path.starts_with("/v1/outcomes");
        let call = || {
            if is_post {
                manager.post(path, "")
            } else {
                manager.get(path)
            }
        };
        let mut cut = manager.secrets.worker.expose().to_owned();
        cut.pop();
        for call in [
            call(),
            call().bearer_auth("0".repeat(64)),
            call().bearer_auth(cut),
            call().basic_auth("operator", Some(manager.operator().expose())),
        ] {
            let (status, code, _) = refused(call).await;
            assert_eq!((status, code), (401, RefusalCode::WrongToken), "{path}");
        }
    }
}

#[tokio::test]
async fn each_role_has_its_calls() {
    let manager = Manager::with_plan().await;
    for path in OF_OPERATOR {
        let call = manager.get(path).bearer_auth(manager.secrets.worker.expose());
        let (status, code, message) = refused(call).await;
        assert_eq!((status, code), (403, RefusalCode::WrongRole), "{path}: {message}");
    }
    let call = manager.get("/v1/clock").bearer_auth(manager.operator().expose());
    let (status, code, message) = refused(call).await;
    assert_eq!((status, code), (403, RefusalCode::WrongRole), "{message}");
    assert_eq!(
        message,
        "Cannot do that with the operator's token: it is for the worker. Use that one's token of this run."
    );
}

#[tokio::test]
async fn no_message_shows_a_token() {
    let manager = Manager::with_plan().await;
    let token = manager.secrets.worker.expose();
    for path in OF_OPERATOR {
        let answer = manager.get(path).bearer_auth(token).send().await.unwrap();
        let shown = format!("{:?} {}", answer.headers().clone(), answer.text().await.unwrap());
        assert!(!shown.contains(token), "{shown}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let manager = Manager::start().await;
    for call in [
        manager.get("/"),
        manager.get("/v1/nothing"),
        manager.post("/healthz", ""),
    ] {
        let (status, code, _) = refused(call).await;
        assert_eq!((status, code), (404, RefusalCode::NotFound));
    }
}

#[tokio::test]
async fn probes_need_no_token_and_readiness_waits_for_the_plan() {
    let manager = Manager::start().await;
    let status = async |path| manager.get(path).send().await.unwrap().status().as_u16();
    assert_eq!((status("/healthz").await, status("/readyz").await), (200, 503));
    manager.serve_plan();
    assert_eq!(status("/readyz").await, 200);
    manager
        .server
        .preparation_failed("Cannot use hf://x: gone.".to_owned());
    assert_eq!(status("/readyz").await, 503);
}

#[tokio::test]
async fn people_may_read_without_a_token_and_change_nothing() {
    let manager = Manager::with_plan().await;
    let url = |path: &str| format!("http://{}{path}", manager.server.local_address().unwrap());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let status: reprise_contract::protocol::Status = good(http.get(url("/v1/status"))).await;
    assert_eq!(status.workers.len(), 2);
    let metrics = http
        .get(url("/metrics"))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        metrics.contains("reprise_run_stage{stage=\"Gathering\"} 1"),
        "{metrics}"
    );
    for call in [
        http.post(url("/v1/control")).body("{\"cancel\":true}"),
        http.post(url("/v1/results/acknowledge")),
        http.post(url("/v1/join")),
        http.get(url("/v1/clock")),
    ] {
        assert_eq!(refused(call).await.1, RefusalCode::NotFound);
    }
}

#[tokio::test]
async fn the_listener_for_people_is_not_opened_to_others() {
    let manager = Manager::start().await;
    let settings = |listen, local: &str| ServerSettings {
        listen,
        local: Some(local.parse().unwrap()),
        rules: manager.server.rules().clone(),
        outcomes: manager.folder.path().join("other.parquet"),
    };
    let secrets = manager.secrets.of_manager();
    let open = Server::start(settings(loopback(), "0.0.0.0:0"), &secrets).await;
    assert!(matches!(open.err(), Some(StartError::NotLoopback(_))));
    let taken = Server::start(settings(manager.server.address(), "127.0.0.1:0"), &secrets).await;
    assert!(matches!(taken.err(), Some(StartError::Listen { .. })));
}

#[tokio::test]
async fn without_tls_and_with_another_root_nobody_gets_in() {
    let manager = Manager::with_plan().await;
    let other = Manager::start().await;
    let plain = format!("http://{}/healthz", manager.server.address());
    assert!(
        reqwest::Client::builder()
            .no_proxy()
            .build()
            .unwrap()
            .get(plain)
            .send()
            .await
            .is_err()
    );
    let root = reqwest::Certificate::from_pem(other.secrets.certificate.root_pem.as_bytes()).unwrap();
    let http = reqwest::Client::builder()
        .tls_certs_only([root])
        .no_proxy()
        .build()
        .unwrap();
    assert!(http.get(manager.url("/healthz")).send().await.is_err());
}
