//! Against a real store.

use reprise_test_servers::S3Server;

use super::*;
use crate::digest::Hasher;

fn span(from: u64, length: u64) -> Span {
    Span {
        from,
        length: Some(length),
    }
}

#[tokio::test]
async fn an_object_in_a_bucket_without_versions_is_pinned_by_its_entity_tag() {
    let server = S3Server::start();
    server.make_bucket("plain");
    let put = server.put("plain", "traces/chat é+1 %20.jsonl", "one\ntwo\n");
    let source = owned(&server.endpoint(), "plain/traces/chat é+1 %20.jsonl").await;

    let found = source.look_up().await.unwrap();
    assert_eq!(found.version, Some(Version::ETag(put.etag.clone())));
    assert_eq!(found.canonical, None);
    let mut hasher = Hasher::default();
    hasher.update(b"one\ntwo\n");
    let file = file(&found);
    assert_eq!(
        *file,
        RemoteFile {
            name: "chat é+1 %20.jsonl".to_owned(),
            location: "traces/chat é+1 %20.jsonl".to_owned(),
            size: Some(8),
            sha256: Some(hasher.digest()),
            tag: Some(put.etag),
        }
    );
    assert_eq!(
        read(&source, &found, file, Span::WHOLE).await.unwrap(),
        "one\ntwo\n"
    );

    let part = source.read(&found, file, span(2, 3)).await.unwrap();
    assert_eq!((part.from, part.total), (2, Some(8)));
    assert_eq!(drain(part).await.unwrap(), "e\nt");
    let beyond = source.read(&found, file, span(6, 100)).await.unwrap();
    assert_eq!(drain(beyond).await.unwrap(), "o\n");
    let rest = Span {
        from: 8,
        length: None,
    };
    assert_eq!(read(&source, &found, file, rest).await.unwrap(), "");

    server.put("plain", "traces/chat é+1 %20.jsonl", "another");
    let problem = read(&source, &found, file, Span::WHOLE).await.unwrap_err();
    assert!(matches!(problem, Problem::Changed), "{problem}");
    server.delete("plain", "traces/chat é+1 %20.jsonl");
    let problem = read(&source, &found, file, span(0, 4)).await.unwrap_err();
    assert!(matches!(problem, Problem::Changed), "{problem}");
}

#[tokio::test]
async fn an_object_in_a_bucket_with_versions_stays_readable_in_its_version() {
    let server = S3Server::start();
    server.make_versioned_bucket("versions");
    let first = server.put("versions", "chat.jsonl", "first").version_id.unwrap();
    let source = owned(&server.endpoint(), "versions/chat.jsonl").await;
    let found = source.look_up().await.unwrap();
    assert_eq!(found.version, Some(Version::VersionId(first.clone())));
    let canonical = format!("s3://versions/chat.jsonl?versionId={first}");
    assert_eq!(found.canonical.as_deref(), Some(&canonical[..]));

    let second = server.put("versions", "chat.jsonl", "second").version_id.unwrap();
    assert_ne!(first, second);
    let text = read(&source, &found, file(&found), Span::WHOLE).await.unwrap();
    assert_eq!(text, "first");
    let now = source.look_up().await.unwrap();
    assert_eq!(now.version, Some(Version::VersionId(second)));

    server.delete("versions", "chat.jsonl");
    let pinned = owned(
        &server.endpoint(),
        &format!("versions/chat.jsonl?versionId={first}"),
    )
    .await;
    let again = pinned.look_up().await.unwrap();
    assert_eq!(again.version, found.version);
    assert_eq!(again.canonical, found.canonical);
    let text = read(&pinned, &again, file(&again), span(1, 3)).await.unwrap();
    assert_eq!(text, "irs");

    let deleted = refusal(&source).await;
    assert!(matches!(deleted, Problem::S3(S3Problem::Deleted)), "{deleted}");
    let nonsense = owned(&server.endpoint(), "versions/chat.jsonl?versionId=nonsense").await;
    let problem = refusal(&nonsense).await;
    assert!(
        matches!(problem, Problem::S3(S3Problem::NoSuchVersion)),
        "{problem}"
    );
}

#[tokio::test]
async fn a_prefix_is_pinned_by_its_listing() {
    let server = S3Server::start();
    server.make_bucket("shards");
    for name in ["b.parquet", "deep/c.parquet", "a.parquet", ""] {
        let content = if name.is_empty() { "" } else { name };
        server.put("shards", &format!("traces/august/{name}"), content);
    }
    server.put("shards", "traces/august-2/z.parquet", "z");
    let source = owned(&server.endpoint(), "shards/traces/august/").await;
    let found = source.look_up().await.unwrap();
    let names: Vec<_> = files(&found).iter().map(|file| &file.name[..]).collect();
    assert_eq!(names, ["a.parquet", "b.parquet", "deep/c.parquet"]);
    assert_eq!(found.canonical, None);

    let without_slash = owned(&server.endpoint(), "shards/traces/august").await;
    let same = without_slash.look_up().await.unwrap();
    assert_eq!(same.version, found.version);
    assert_eq!(files(&same), files(&found));
    let whole = owned(&server.endpoint(), "shards").await.look_up().await.unwrap();
    assert_eq!(files(&whole).len(), 4);

    let shard = &files(&found)[2];
    let text = read(&source, &found, shard, span(0, 4)).await.unwrap();
    assert_eq!(text, "deep");
    let beside = source.beside(&found, "b.parquet").await.unwrap();
    assert_eq!(beside.as_ref(), Some(&files(&found)[1]));

    server.put("shards", "traces/august/deep/c.parquet", "changed");
    let problem = read(&source, &found, shard, Span::WHOLE).await.unwrap_err();
    assert!(matches!(problem, Problem::Changed), "{problem}");
    let now = source.look_up().await.unwrap();
    assert_ne!(now.version, found.version);

    let empty = owned(&server.endpoint(), "shards/nothing/").await;
    let problem = refusal(&empty).await;
    assert!(
        matches!(problem, Problem::S3(S3Problem::EmptyPrefix)),
        "{problem}"
    );
}
