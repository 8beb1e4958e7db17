//! The hub is one as far as the official Python clients can tell.

use reprise_test_servers::hub::{Fault, Hub};
use tempfile::tempdir;

const SMALL: &[u8] = b"{\"timestamp\": 0}\n";
/// The Python client keeps what it got in steps of 10 MiB.
const LARGE: u32 = 16 << 20;
fn large() -> Vec<u8> {
    (0..LARGE)
        .map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect()
}

/// A small file, a large one, a branch with a slash, a tag and an auto-converted branch.
fn filled() -> (Hub, String) {
    let hub = Hub::start();
    let traces = hub.dataset("acme/traces");
    traces.commit_on("feature/x", [("x.jsonl", "x\n")]);
    traces.commit_on("refs/convert/parquet", [("default/train/0000.parquet", "PAR1")]);
    let old = traces.commit([("README.md", "# Traces\n")]);
    traces.tag("v1.0", &old);
    let commit = traces.commit([
        ("data/chat.jsonl", SMALL.to_vec()),
        ("data/chat.jsonl.gz", large()),
        ("data/ü ber#1?.txt", b"odd\n".to_vec()),
    ]);
    (hub, commit)
}

#[test]
fn repositories_are_described() {
    let (hub, commit) = filled();
    let home = tempdir().unwrap();
    let printed = hub.python(
        home.path(),
        r#"
from huggingface_hub import HfApi
api = HfApi()
info = api.dataset_info("acme/traces", files_metadata=True)
print(info.sha, info.private, info.gated, len(info.siblings), sorted(s.size for s in info.siblings))
print(api.dataset_info("acme/traces", revision="v1.0").siblings[0].rfilename)
print(api.dataset_info("acme/traces", revision="feature/x").siblings[0].rfilename)
print(api.dataset_info("acme/traces", revision="refs/convert/parquet").siblings[0].rfilename)
print(api.dataset_info("acme/traces", expand=["sha", "gated"]).sha == info.sha)
refs = api.list_repo_refs("acme/traces", repo_type="dataset")
print([b.name for b in refs.branches], [t.name for t in refs.tags], [c.name for c in refs.converts])
print(api.repo_exists("acme/traces"), api.repo_exists("acme/traces", repo_type="dataset"))
"#,
    );
    assert_eq!(
        printed,
        format!(
            "{commit} False False 4 [4, 9, 17, 16777216]\nREADME.md\nx.jsonl\ndefault/train/0000.parquet\nTrue\n\
             ['feature/x', 'main'] ['v1.0'] ['parquet']\nFalse True"
        )
    );
}

#[test]
fn files_are_listed_in_pages() {
    let (hub, _) = filled();
    hub.page_size(2);
    let home = tempdir().unwrap();
    let printed = hub.python(
        home.path(),
        r#"
from huggingface_hub import HfApi
api = HfApi()
tree = list(api.list_repo_tree("acme/traces", recursive=True, repo_type="dataset"))
print([t.path for t in tree])
print([(t.path, t.lfs.size, t.lfs.sha256[:8]) for t in tree if getattr(t, "lfs", None)])
print([t.path for t in api.list_repo_tree("acme/traces", repo_type="dataset")])
print([t.path for t in api.list_repo_tree("acme/traces", "data", expand=True, repo_type="dataset")])
print([p.path for p in api.get_paths_info("acme/traces", ["data", "README.md", "no"], repo_type="dataset")])
"#,
    );
    assert_eq!(
        printed,
        "['README.md', 'data', 'data/chat.jsonl', 'data/chat.jsonl.gz', 'data/ü ber#1?.txt']\n\
         [('data/chat.jsonl.gz', 16777216, 'cbdb5f08')]\n\
         ['README.md', 'data']\n\
         ['data/chat.jsonl', 'data/chat.jsonl.gz', 'data/ü ber#1?.txt']\n\
         ['data', 'README.md']"
    );
}

#[test]
fn files_are_downloaded_and_resumed() {
    let (hub, commit) = filled();
    let home = tempdir().unwrap();
    hub.plan("/repos/", 1, Fault::Cut(12 << 20));
    let printed = hub.python(
        home.path(),
        r#"
import hashlib, os
from huggingface_hub import hf_hub_download, snapshot_download
def get(path, **more):
    return hf_hub_download("acme/traces", path, repo_type="dataset", **more)
path = get("data/chat.jsonl.gz")
print(os.path.getsize(path), hashlib.sha256(open(path, "rb").read()).hexdigest() == os.path.basename(os.path.realpath(path)))
print(open(get("data/chat.jsonl")).read().strip(), os.path.basename(os.path.realpath(get("data/chat.jsonl"))))
print(open(get("data/ü ber#1?.txt")).read().strip())
print(open(get("x.jsonl", revision="feature/x")).read().strip())
print(open(get("README.md", revision="v1.0")).read().strip())
folder = snapshot_download("acme/traces", repo_type="dataset")
print(os.path.basename(folder), sorted(os.listdir(folder + "/data")))
"#,
    );
    assert_eq!(
        printed,
        format!(
            "16777216 True\n{{\"timestamp\": 0}} 29fd0e6111e5e56ae198f9df96a640af83a04c00\nodd\nx\n# Traces\n\
             {commit} ['chat.jsonl', 'chat.jsonl.gz', 'ü ber#1?.txt']"
        )
    );
    let log = hub.log();
    let resumed = log
        .iter()
        .find(|logged| logged.is_storage && logged.header("range").is_some())
        .unwrap();
    assert!(
        resumed.header("range").unwrap().starts_with("bytes="),
        "{resumed:?}"
    );
    assert_eq!(resumed.status, 206);
}

#[test]
fn refusals_are_told_apart() {
    let (hub, _) = filled();
    hub.dataset("acme/secret").commit([("a", "a")]);
    hub.dataset("acme/secret").private("hf_owner");
    hub.dataset("acme/gated").commit([("a", "a")]);
    hub.dataset("acme/gated").gated("hf_owner");
    hub.dataset("acme/gone").commit([("a", "a")]);
    hub.dataset("acme/gone").disable();
    hub.account("hf_other");
    let home = tempdir().unwrap();
    let printed = hub.python(
        home.path(),
        r#"
from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import *
def tried(what):
    try:
        return what() and "fine"
    except HfHubHTTPError as error:
        return type(error).__name__, error.response.status_code
def info(repo, token=False, revision=None):
    return tried(lambda: HfApi(token=token).dataset_info(repo, revision=revision))
def read(repo, path="a", token=False, revision=None, kind="dataset"):
    try:
        return hf_hub_download(repo, path, repo_type=kind, token=token, revision=revision) and "fine"
    except Exception as error:
        cause = error.__cause__ if isinstance(error.__cause__, HfHubHTTPError) else error
        return type(cause).__name__, cause.response.status_code
print(info("acme/none"), info("acme/none", "hf_other"), read("acme/none"), read("acme/traces", kind="model"))
print(info("acme/secret"), info("acme/secret", "hf_other"), info("acme/secret", "hf_owner"), read("acme/secret", token="hf_owner"))
print(info("acme/gated"), read("acme/gated"), read("acme/gated", token="hf_other"), read("acme/gated", token="hf_owner"))
print(info("acme/traces", revision="no"), read("acme/traces", "README.md", revision="no"), read("acme/traces", "no"))
print(info("acme/traces", "hf_wrong"), info("acme/gone"))
print(tried(lambda: HfApi(token=False).auth_check("acme/gated", repo_type="dataset")))
print(tried(lambda: HfApi(token="hf_other").auth_check("acme/gated", repo_type="dataset")))
"#,
    );
    assert_eq!(
        printed,
        "('RepositoryNotFoundError', 401) ('RepositoryNotFoundError', 404) ('RepositoryNotFoundError', 401) \
         ('RepositoryNotFoundError', 401)\n\
         ('RepositoryNotFoundError', 401) ('RepositoryNotFoundError', 404) fine fine\n\
         fine ('GatedRepoError', 401) ('GatedRepoError', 403) fine\n\
         ('RevisionNotFoundError', 404) ('RevisionNotFoundError', 404) ('RemoteEntryNotFoundError', 404)\n\
         ('HfHubHTTPError', 401) ('DisabledRepoError', 403)\n\
         ('GatedRepoError', 401)\n\
         ('GatedRepoError', 403)"
    );
}

#[test]
fn a_pinned_commit_goes_with_a_force_push() {
    let (hub, commit) = filled();
    hub.dataset("acme/traces")
        .force_push("main", [("data/chat.jsonl", "new\n")]);
    let home = tempdir().unwrap();
    let printed = hub.python(
        home.path(),
        &format!(
            r#"
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import RevisionNotFoundError
print(open(hf_hub_download("acme/traces", "data/chat.jsonl", repo_type="dataset")).read().strip())
try:
    hf_hub_download("acme/traces", "data/chat.jsonl", repo_type="dataset", revision="{commit}")
except RevisionNotFoundError:
    print("gone")
"#
        ),
    );
    assert_eq!(printed, "new\ngone");
}

#[test]
fn busy_answers_are_waited_out() {
    let (hub, commit) = filled();
    hub.plan("/api/datasets/acme/traces/tree", 1, Fault::RetryAfter(429, 1));
    let home = tempdir().unwrap();
    let printed = hub.python(
        home.path(),
        r#"
from huggingface_hub import HfApi
print(len(list(HfApi().list_repo_tree("acme/traces", repo_type="dataset"))), HfApi().dataset_info("acme/traces").sha)
"#,
    );
    assert_eq!(printed, format!("2 {commit}"));
    let asked = hub
        .log()
        .iter()
        .filter(|logged| logged.target.contains("/tree/"))
        .count();
    assert_eq!(asked, 2);
}

/// Two splits in a folder, as `push_to_hub` lays them out, written by `datasets` itself.
#[test]
fn datasets_are_loaded() {
    let hub = Hub::start();
    let home = tempdir().unwrap();
    let shards = home.path().join("shards");
    std::fs::create_dir(&shards).unwrap();
    let _ = hub.python(
        home.path(),
        r#"
import os
from datasets import Dataset
home = os.environ["HF_HOME"]
for split, rows in [("train", 5), ("test", 2)]:
    Dataset.from_list([{"timestamp": n, "text": split} for n in range(rows)]).to_parquet(
        f"{home}/shards/{split}-00000-of-00001.parquet")
"#,
    );
    let files: Vec<_> = ["train", "test"]
        .map(|split| format!("{split}-00000-of-00001.parquet"))
        .map(|name| (format!("data/{name}"), std::fs::read(shards.join(name)).unwrap()))
        .into();
    hub.dataset("acme/parquet").commit(files);
    let printed = hub.python(
        home.path(),
        r#"
from datasets import load_dataset
loaded = load_dataset("acme/parquet")
print({split: len(rows) for split, rows in loaded.items()}, loaded["test"][1])
"#,
    );
    assert_eq!(
        printed,
        "{'train': 5, 'test': 2} {'timestamp': 1, 'text': 'test'}"
    );
}
