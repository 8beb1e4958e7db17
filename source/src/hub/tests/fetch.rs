//! From the hub into the shared cache.

use std::fs;
use std::sync::Arc;

use reprise_test_servers::hub::Fault;
use tempfile::TempDir;

use super::*;
use crate::download::Download;
use crate::progress::FetchProgress;
use crate::store::{Kept, Store};

const LARGE: &str = "acme/traces/data/chat.jsonl.gz";

pub(super) fn cache_of(home: &TempDir, text: &str) -> HubCache {
    HubCache::new(&home.path().join("hub"), &path(text))
}

/// Looks up and downloads all files.
pub(super) async fn fetch(hub: &Hub, home: &TempDir, text: &str) -> Result<Vec<Kept>, Problem> {
    let source = source(hub, text);
    let found = source.look_up().await?;
    let files = match &found.shape {
        Shape::File(file) => std::slice::from_ref(file),
        Shape::Folder(files) => files,
    };
    let download = Download::new(&source, Arc::new(cache_of(home, text)), &found);
    let mut kept = Vec::new();
    for file in files {
        kept.push(
            download
                .file(file, None, FetchProgress::default().expect(file.size))
                .await?,
        );
    }
    Ok(kept)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_time_only_metadata_is_read() {
    let (hub, _) = hub();
    let home = tempfile::tempdir().unwrap();
    let first = fetch(&hub, &home, "acme/traces").await.unwrap();
    assert_eq!(first.len(), 5);
    let sent = hub.sent();
    assert!(sent > 100_000);
    let second = fetch(&hub, &home, "acme/traces").await.unwrap();
    assert_eq!(hub.sent(), sent);
    let paths = |kept: &[Kept]| kept.iter().map(|kept| kept.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&first), paths(&second));
    // A newer commit brings what is new in it.
    hub.dataset("acme/traces").commit([("new.jsonl", "new")]);
    assert_eq!(fetch(&hub, &home, "acme/traces").await.unwrap().len(), 6);
    let log = hub.log();
    let last: Vec<_> = log.iter().rev().take_while(|logged| logged.is_file()).collect();
    assert!(
        last.iter().all(|logged| logged.target.contains("new")),
        "{last:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_transfer_goes_on() {
    let (hub, _) = hub();
    let home = tempfile::tempdir().unwrap();
    hub.plan("/repos/", 1, Fault::Cut(40_000));
    let kept = fetch(&hub, &home, LARGE).await.unwrap();
    assert_eq!(fs::read(&kept[0].path).unwrap(), large());
    let log = hub.log();
    let last = log.iter().rfind(|logged| logged.is_storage).unwrap();
    assert_eq!(last.header("range"), Some("bytes=40000-"));
    assert_eq!(last.sent, 60_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_that_is_given_up_goes_on_later() {
    let (hub, _) = hub();
    let home = tempfile::tempdir().unwrap();
    hub.plan("/repos/", 1, Fault::Stall(40_000));
    let partial = {
        let found = look_up(&hub, LARGE).await.unwrap();
        let blob = file(&found).tag.clone().unwrap();
        let folder = home.path().join("hub/datasets--acme--traces/blobs");
        folder.join(format!("{blob}.incomplete"))
    };
    {
        let mut given_up = Box::pin(fetch(&hub, &home, LARGE));
        let arrived = async {
            while fs::metadata(&partial).map_or(0, |metadata| metadata.len()) < 40_000 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            ended = &mut given_up => panic!("{ended:?}"),
            () = arrived => {}
        }
    }
    assert!(cache_of(&home, LARGE).look_up_offline().is_err());
    hub.clear_log();
    let kept = fetch(&hub, &home, LARGE).await.unwrap();
    assert_eq!(fs::read(&kept[0].path).unwrap(), large());
    assert_eq!(hub.sent(), 60_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_make_one_transfer() {
    let (hub, _) = hub();
    let home = tempfile::tempdir().unwrap();
    let (one, other) = tokio::join!(fetch(&hub, &home, LARGE), fetch(&hub, &home, LARGE));
    assert_eq!(one.unwrap()[0].path, other.unwrap()[0].path);
    let transfers = hub.log().iter().filter(|logged| logged.is_storage).count();
    assert_eq!(transfers, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_what_the_hub_has_on_record_is_not_kept() {
    let (hub, _) = hub();
    let home = tempfile::tempdir().unwrap();
    for (text, part, length) in [
        (LARGE, "/repos/", 100_000),
        ("acme/traces/data/chat.jsonl", "/resolve-cache/", CHAT.len()),
    ] {
        hub.plan(part, 1, Fault::Body(vec![b'x'; length]));
        assert!(fetch(&hub, &home, text).await.is_err(), "{text}");
        assert!(cache_of(&home, text).look_up_offline().is_err(), "{text}");
        // Nor is it gone on with.
        assert!(fetch(&hub, &home, text).await.is_ok(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_network_what_was_fetched_is_there() {
    let (hub, commit) = hub();
    let home = tempfile::tempdir().unwrap();
    let kept = fetch(&hub, &home, "acme/traces/data").await.unwrap();
    drop(hub);
    let cache = cache_of(&home, "acme/traces/data");
    let found = cache.look_up_offline().unwrap();
    assert_eq!(
        found.canonical,
        Some(format!("hf://datasets/acme/traces@{commit}/data"))
    );
    for (file, kept) in files(&found).iter().zip(kept) {
        assert_eq!(cache.find(&found, file).unwrap().unwrap().path, kept.path);
    }
}
