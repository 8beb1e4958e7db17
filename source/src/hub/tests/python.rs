//! One cache for us and for the Python client.

use std::fs;

use super::fetch::{cache_of, fetch};
use super::*;
use crate::store::Store;

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_reads_our_cache() {
    let (hub, commit) = hub();
    hub.dataset("acme/traces")
        .commit_on("feature/x", [("x.jsonl", "x\n")]);
    let home = tempfile::tempdir().unwrap();
    fetch(&hub, &home, "acme/traces").await.unwrap();
    fetch(&hub, &home, "acme/traces@feature%2Fx/x.jsonl")
        .await
        .unwrap();
    hub.clear_log();
    let script = format!(
        r#"
from huggingface_hub import hf_hub_download, snapshot_download, scan_cache_dir
def get(path, **more):
    return open(hf_hub_download("acme/traces", path, repo_type="dataset", **more), "rb").read()
print(len(get("data/chat.jsonl.gz")), get("data/chat.jsonl")[:10], get("data/ü ber#1?.txt"))
print(get("README.md", revision="{commit}"), get("x.jsonl", revision="feature/x"))
print(snapshot_download("acme/traces", repo_type="dataset").endswith("{commit}"))
info = scan_cache_dir()
print([(r.repo_id, r.repo_type, len(r.revisions), sorted(ref for v in r.revisions for ref in v.refs)) for r in info.repos], info.warnings)
"#
    );
    let expected = "100000 b'{\"timestam' b'odd'\nb'# Traces\\n' b'x\\n'\nTrue\n\
                    [('acme/traces', 'dataset', 2, ['feature/x', 'main'])] []";
    let printed = hub.python_with(home.path(), &[("HF_HUB_OFFLINE", "1")], &script);
    assert_eq!(printed, expected);
    assert!(hub.log().is_empty());
    // And has nothing to download with a network either.
    assert_eq!(hub.python(home.path(), &script), expected);
    assert_eq!(hub.sent(), 0, "{:?}", hub.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn we_read_the_cache_of_the_python_client() {
    let (hub, commit) = hub();
    let home = tempfile::tempdir().unwrap();
    let _ = hub.python(
        home.path(),
        r#"
from huggingface_hub import snapshot_download
snapshot_download("acme/traces", repo_type="dataset")
"#,
    );
    hub.clear_log();
    for text in ["acme/traces/data/chat.jsonl.gz", "acme/traces/data/chat.jsonl"] {
        let found = source(&hub, text).look_up().await.unwrap();
        let kept = cache_of(&home, text).find(&found, file(&found)).unwrap().unwrap();
        assert_eq!(Some(kept.bytes), file(&found).size);
        let offline = cache_of(&home, text).look_up_offline().unwrap();
        assert_eq!(file(&offline), file(&found));
        assert_eq!(offline.canonical, found.canonical);
        assert!(offline.canonical.unwrap().contains(&commit));
    }
    let found = look_up(&hub, "acme/traces/data").await.unwrap();
    let offline = cache_of(&home, "acme/traces/data").look_up_offline().unwrap();
    assert_eq!(files(&offline), files(&found));
    assert_eq!(hub.sent(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_the_python_client_is_respected() {
    let (hub, _) = hub();
    let home = tempfile::tempdir().unwrap();
    let text = "acme/traces/data/chat.jsonl";
    let found = look_up(&hub, text).await.unwrap();
    let cache = cache_of(&home, text);
    let claim = cache.claim(&found, file(&found)).unwrap().unwrap();
    let lock = format!(
        ".locks/datasets--acme--traces/{}.lock",
        file(&found).tag.as_ref().unwrap()
    );
    let script = format!(
        r#"
import os
from filelock import Timeout
from huggingface_hub.utils._fixes import WeakFileLock
try:
    with WeakFileLock(os.environ["HF_HOME"] + "/hub/{lock}", timeout=0.2):
        print("ours")
except Timeout:
    print("taken")
"#
    );
    assert_eq!(hub.python(home.path(), &script), "taken");
    drop(claim);
    assert_eq!(hub.python(home.path(), &script), "ours");
    assert!(cache.claim(&found, file(&found)).unwrap().is_some());
}

/// The client removes what it has of a download that fails, but not when it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn a_download_that_a_killed_client_left_goes_on() {
    use reprise_test_servers::hub::Fault;

    let hub = Hub::start();
    let content: Vec<u8> = (0..24_u32 << 20)
        .map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    hub.dataset("acme/traces")
        .commit([("chat.jsonl.gz", content.clone())]);
    let home = tempfile::tempdir().unwrap();
    hub.plan("/repos/", 1, Fault::Stall(16 << 20));
    let _ = hub.python(
        home.path(),
        r#"
import glob, os, subprocess, sys, time
script = 'from huggingface_hub import hf_hub_download; hf_hub_download("acme/traces", "chat.jsonl.gz", repo_type="dataset")'
child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
def size():
    return sum(os.path.getsize(f) for f in glob.glob(os.environ["HF_HOME"] + "/hub/datasets--acme--traces/blobs/*.incomplete"))
while size() < 10 << 20:
    assert child.poll() is None
    time.sleep(0.05)
child.kill()
child.wait()
"#,
    );
    let text = "acme/traces/chat.jsonl.gz";
    let found = look_up(&hub, text).await.unwrap();
    let cache = cache_of(&home, text);
    assert!(cache.find(&found, file(&found)).unwrap().is_none());
    hub.clear_log();
    let kept = fetch(&hub, &home, text).await.unwrap();
    assert_eq!(fs::read(&kept[0].path).unwrap(), content);
    let log = hub.log();
    let transfer = log.iter().find(|logged| logged.is_storage).unwrap();
    let range = transfer.header("range").unwrap();
    let from: u64 = range
        .trim_start_matches("bytes=")
        .trim_end_matches('-')
        .parse()
        .unwrap();
    assert!(from >= 10 << 20, "{range}");
    assert_eq!(transfer.sent, content.len() as u64 - from);
}
