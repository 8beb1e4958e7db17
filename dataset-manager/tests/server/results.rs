//! The result, while it is held.

use std::time::Duration;

use reprise_contract::protocol::{RefusalCode, ResultFile, ResultFiles};
use serde_json::json;

use crate::manager::{Manager, good, refused};

#[tokio::test]
async fn a_result_is_shown_until_it_was_read() {
    let manager = Manager::with_plan().await;
    let token = manager.operator().expose();
    let acknowledge = || {
        manager
            .post("/v1/results/acknowledge", json!({}))
            .bearer_auth(token)
    };
    for call in [
        manager.get("/v1/results").bearer_auth(token),
        manager.get("/v1/results/summary.json").bearer_auth(token),
        acknowledge(),
    ] {
        let (status, code, _) = refused(call).await;
        assert_eq!((status, code), (503, RefusalCode::NotNow));
    }

    let folder = manager.folder.path().join("results");
    std::fs::create_dir_all(folder.join("inner")).unwrap();
    std::fs::write(folder.join("summary.json"), "{}").unwrap();
    std::fs::write(folder.join("inner/secret"), "x").unwrap();
    std::fs::write(manager.folder.path().join("secret"), "x").unwrap();
    std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();

    let hold = manager.server.hold(folder);
    let read = async {
        let files: ResultFiles = loop {
            let answer = manager
                .get("/v1/results")
                .bearer_auth(token)
                .send()
                .await
                .unwrap();
            if answer.status().is_success() {
                break answer.json().await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        let summary = ResultFile {
            name: "summary.json".to_owned(),
            bytes: 2,
        };
        assert_eq!(files.files, [summary]);
        let answer = manager
            .get("/v1/results/summary.json")
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.headers()["content-type"], "application/json");
        assert_eq!(answer.text().await.unwrap(), "{}");
        for path in [
            "link",
            "inner",
            "inner%2Fsecret",
            "..%2Fsecret",
            "%2E%2E%2Fsecret",
            "missing",
            "%2Fetc%2Fpasswd",
        ] {
            let call = manager.get(&format!("/v1/results/{path}")).bearer_auth(token);
            assert_eq!(refused(call).await.1, RefusalCode::NotFound, "{path}");
        }
        good::<serde_json::Value>(acknowledge()).await
    };
    // The hold ends with the acknowledgement.
    tokio::join!(hold, read);
}
