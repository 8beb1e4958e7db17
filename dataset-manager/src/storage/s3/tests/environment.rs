//! The variables of AWS say where the dataset is, and nothing about results: in a process of its own, since variables are one for
//! all.

use std::env;
use std::process::{Command, Output};

use super::*;

const ENDPOINT: &str = "REPRISE_TEST_ENDPOINT";

/// What runs in the other process.
#[tokio::test]
#[ignore = "only in a process of its own, which the other tests start"]
async fn store_by_the_environment() {
    let settings = settings(&env::var(ENDPOINT).unwrap());
    let credentials = ResultsCredentials::from_variables(|name| env::var(name).ok()).unwrap();
    let store = ResultStore::s3(&settings, credentials, &attempt()).unwrap();
    store.store(&files().paths, &silent).await.unwrap();
}

/// Stores as a user whose variables lead to the store of the dataset.
fn store_beside(dataset: &str, results: &str, variables: &[(&str, &str)]) -> Output {
    let whole_name = concat!(module_path!(), "::store_by_the_environment");
    let (_, name) = whole_name.split_once("::").unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([name, "--exact", "--ignored", "--nocapture"])
        .env("AWS_ACCESS_KEY_ID", "AKIADATASET")
        .env("AWS_SECRET_ACCESS_KEY", "dataset/secret")
        .env("AWS_SESSION_TOKEN", "dataset-token")
        .env("AWS_ENDPOINT_URL", dataset)
        .env("AWS_ENDPOINT_URL_S3", dataset)
        .env("AWS_REGION", "mars-north-1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env(ENDPOINT, results)
        .envs(variables.iter().copied());
    command.output().unwrap()
}

#[test]
fn what_leads_to_the_dataset_does_not_lead_results_there() {
    let (dataset, results) = (server(), server());
    let [dataset_url, results_url] = [&dataset, &results].map(S3Server::writable_endpoint);
    let keys = [
        ("REPRISE_RESULTS_AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("REPRISE_RESULTS_AWS_SECRET_ACCESS_KEY", SECRET_KEY),
    ];
    let stored = store_beside(&dataset_url, &results_url, &keys);
    assert!(
        stored.status.success(),
        "{}",
        String::from_utf8_lossy(&stored.stderr)
    );
    assert_eq!(results.keys(BUCKET).len(), files().contents.len());
    assert_eq!(dataset.keys(BUCKET), [""; 0]);

    let refused = store_beside(&dataset_url, &results_url, &[]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("NoCredentials"));
}
