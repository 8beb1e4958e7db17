//! `hf://` and `s3://`.

use proptest::prelude::*;

use super::super::*;

fn hub(text: &str) -> HubPath {
    Reference::parse(text).unwrap().hub_path().unwrap().clone()
}

fn s3(text: &str) -> S3Path {
    Reference::parse(text).unwrap().s3_path().unwrap().clone()
}

#[test]
fn hub_references_have_all_their_forms() {
    let seen: Vec<_> = [
        "hf://acme/traces",
        "hf://acme/traces/",
        "hf://datasets/acme/traces",
        "HF://acme/traces@main",
        "hf://models/Qwen/Qwen3-0.6B",
        "hf://spaces/acme/demo/app.py",
        "hf://acme/traces@3E1F0C3e1f0c3e1f0c3e1f0c3e1f0c3e1f0c3e1f/data/chat.jsonl.gz",
        "hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/default/train",
        "hf://datasets/acme/traces@refs%2fpr%2F3/",
        "hf://acme/traces@v1.0+a@b/x",
        "hf://acme/traces/default/",
        "hf://acme/traces/a b/100%25 é #1?.jsonl",
        "hf://acme/traces/date=2026-08-01/%2e%2e/key=5.parquet",
        "hf://datasets/dataset/acme/x",
        "hf://dataset/acme",
    ]
    .into_iter()
    .map(|text| {
        let reference = Reference::parse(text).unwrap();
        assert_eq!(reference.to_string(), text);
        let path = hub(text);
        format!(
            "{text}\n  {path}  revision {:?}  path {:?}{}{}",
            path.revision().unwrap_or_default(),
            path.path(),
            if path.is_folder() { "  folder" } else { "" },
            if reference.is_pinned() { "  pinned" } else { "" }
        )
    })
    .collect();
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn s3_references_have_all_their_forms() {
    let seen: Vec<_> = [
        "s3://my-traces",
        "s3://my-traces/",
        "S3://my-traces/chat/2026-08/",
        "s3://my.traces/chat.jsonl.gz",
        "s3://my-traces/chat.jsonl?versionId=3HL4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY",
        "s3://my-traces/chat.jsonl?versionId=null",
        "s3://my-traces/a b/100%25 é #1?.jsonl",
        "s3://my-traces/a//b//",
        "s3://my-traces/2026-08-01T12:00:00@x/key=5/part&a.parquet",
        "s3://my-traces/a?b=c?versionId=7",
    ]
    .into_iter()
    .map(|text| {
        let reference = Reference::parse(text).unwrap();
        assert_eq!(reference.to_string(), text);
        let path = s3(text);
        format!(
            "{text}\n  {path}  key {:?}  version {:?}{}{}",
            path.key(),
            path.version_id().unwrap_or_default(),
            if path.is_prefix() { "  prefix" } else { "" },
            if reference.is_pinned() { "  pinned" } else { "" }
        )
    })
    .collect();
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn the_kind_that_is_not_spelled_out_is_implied_by_the_use() {
    let text = "hf://Qwen/Qwen3-0.6B";
    assert_eq!(hub(text).kind(), RepoKind::Dataset);
    let tokenizer = Reference::parse_tokenizer(text).unwrap();
    assert_eq!(tokenizer.hub_path().unwrap().kind(), RepoKind::Model);
    assert_eq!(tokenizer.to_string(), text);
    assert_eq!(
        Reference::parse_tokenizer("hf://datasets/a/b"),
        Reference::parse("hf://a/b")
    );
    for text in [
        "tokenizer.json",
        "s3://bucket/tokenizer.json",
        "https://h.example/tokenizer.json",
    ] {
        assert_eq!(Reference::parse_tokenizer(text), Reference::parse(text));
    }
}

#[test]
fn references_are_equal_if_they_name_the_same() {
    for (one, other) in [
        ("hf://acme/traces/", "hf://datasets/acme/traces"),
        (
            "hf://acme/traces@refs%2Fpr%2F1/x",
            "hf://acme/traces@refs%2fpr%2f1/x",
        ),
        ("s3://bucket", "S3://bucket/"),
        ("HTTPS://H.example:443/x", "https://h.example/x"),
    ] {
        assert_eq!(Reference::parse(one), Reference::parse(other));
    }
    for (one, other) in [
        ("hf://acme/traces", "hf://models/acme/traces"),
        ("hf://acme/traces/x", "hf://acme/traces/x/"),
        ("s3://bucket/x", "s3://bucket/x/"),
        ("https://h.example/x?a=1", "https://h.example/x?a=2"),
    ] {
        assert_ne!(Reference::parse(one), Reference::parse(other));
    }
}

#[test]
fn refusals_of_what_follows_the_scheme_say_what_to_write() {
    let refusals: Vec<_> = [
        "hf://",
        "hf://acme",
        "hf://acme/",
        "hf://datasets/acme",
        "hf:///acme/traces",
        "hf://huggingface.co/datasets/acme/traces",
        "hf://dataset/acme/traces",
        "hf://model/acme/traces@v1/x",
        "hf://acme/tra ces",
        "hf://acme/traces.git",
        "hf://acme/--",
        "hf://acme/a--b",
        "hf://acme/../x",
        "hf://acme/traces@",
        "hf://datasets/acme/traces@/x",
        "hf://acme/traces@a%00b",
        "hf://acme/traces@%FF",
        "hf://acme/traces@..%2F..%2Fx",
        "hf://acme/traces@refs/convert/parquet",
        "hf://datasets/acme/traces@refs/convert/parquet/default/train/",
        "hf://acme/traces@refs/pr/3",
        "hf://acme/traces/blob/main/data/x.jsonl",
        "hf://acme/traces/tree/3e1f0c3e1f0c3e1f0c3e1f0c3e1f0c3e1f0c3e1f",
        "hf://acme/traces/x.jsonl@main",
        "hf://acme/traces/data/@3e1f0c3e1f0c3e1f0c3e1f0c3e1f0c3e1f0c3e1f",
        "hf://acme/traces//x",
        "hf://acme/traces//",
        "hf://acme/traces/a/../b",
        r"hf://acme/traces/a\b",
        "hf://acme/traces/a\tb",
        "hf://acme/traces/x?revision=v1",
        "hf://acme/traces/x?sig=hunter2",
        "hf://user:hunter2@acme/traces",
        "hf://hunter2@acme/traces",
        "hf://datasets/user:hunter2@acme/traces",
        " hf://acme/traces",
        "hf://acme/traces\n",
        "s3://",
        "s3:///bucket/key",
        "s3://bucket//key",
        "s3://ab/key",
        "s3://Bucket/key?versionId=1",
        "s3://my_bucket/key",
        "s3://-bucket/key",
        "s3://a..b/key",
        "s3://arn:aws:s3:us-east-1:123456789012:accesspoint/mine/key",
        "s3://bucket.s3.eu-west-1.amazonaws.com/a/key",
        "s3://s3.amazonaws.com/bucket/key",
        "s3://s3-eu-west-1.amazonaws.com/bucket/key",
        "s3://bucket/key?versionId=",
        "s3://bucket/key?versionId=1&partNumber=2",
        "s3://bucket/key?versionid=1",
        "s3://bucket/key?region=us-east-1",
        "s3://bucket/prefix/?versionId=1",
        "s3://bucket?versionId=1",
        "s3://bucket/a/../key",
        "s3://bucket/key\0",
        "s3://bucket/key?X-Amz-Signature=hunter2",
        "s3://AKIA:hunt/er2@bucket/key",
        "s3://bucket/key ",
    ]
    .into_iter()
    .map(|text| {
        let refusal = Reference::parse(text).unwrap_err();
        let debug = format!("{refusal:?}");
        let refusal = refusal.to_string();
        assert!(
            !refusal.contains("hunter2") && !debug.contains("hunter2"),
            "{refusal} {debug}"
        );
        if let Some((_, instead)) = refusal.rsplit_once(". Write ") {
            let instead = instead.trim_end_matches('.');
            let is_ready = instead.contains("://") && !instead.contains('<') && !instead.contains(' ');
            assert!(!is_ready || Reference::parse(instead).is_ok(), "{refusal}");
        }
        refusal
    })
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn pages_are_refused_with_the_reference_of_what_they_are_about() {
    let refusals: Vec<_> = [
        "https://huggingface.co/datasets/acme/traces",
        "https://huggingface.co/datasets/acme/traces/blob/main/data/x.jsonl",
        "https://www.huggingface.co/datasets/acme/traces/blob/v1/a%20b.jsonl",
        "https://hf.co/datasets/acme/traces/tree/refs%2Fconvert%2Fparquet/default/",
        "https://huggingface.co/datasets/acme/traces/raw/main/x.jsonl",
        "https://huggingface.co/datasets/acme/traces/viewer/default/train?row=3",
        "https://huggingface.co/Qwen/Qwen3-0.6B",
        "https://huggingface.co/Qwen/Qwen3-0.6B/blob/main/tokenizer.json#L3",
        "https://s3.console.aws.amazon.com/s3/object/bucket?region=us-east-1&prefix=a/key.jsonl",
        "https://us-east-1.console.aws.amazon.com/s3/buckets/bucket?prefix=chat/&region=us-east-1",
        "https://us-east-1.console.aws.amazon.com/s3/object/bucket?prefix=a%20b&versionId=7",
    ]
    .into_iter()
    .map(|text| {
        let refusal = Reference::parse(text).unwrap_err().to_string();
        let instead = refusal.rsplit_once(" Use ").unwrap().1.trim_end_matches('.');
        assert!(Reference::parse(instead).is_ok(), "{refusal}");
        refusal
    })
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn files_on_the_hosts_of_pages_are_urls() {
    for text in [
        "https://huggingface.co/datasets/acme/traces/resolve/main/x.jsonl",
        "https://huggingface.co/datasets/acme/traces/resolve/main/x.jsonl?download=true",
        "https://huggingface.co/api/datasets/acme/traces",
        "https://huggingface.co/docs/hub/index",
        "https://bucket.s3.eu-west-1.amazonaws.com/key",
        "https://huggingface.co/datasets/acme/tra--ces/blob/main/x",
    ] {
        assert!(Reference::parse(text).unwrap().http_url().is_some(), "{text}");
    }
}

fn store_path() -> impl Strategy<Value = String> {
    (
        "(hf|s3|HF|S3)://",
        "(|datasets/|models/|spaces/)",
        "[a-zA-Z0-9._-]{1,6}",
        "(|/[a-zA-Z0-9._-]{1,6})",
        "(|@[a-z0-9.%/@-]{0,8}|@refs%2F[a-z]{1,3})",
        "(/([a-z]{1,4}|[ -~é]{0,6}|\\.\\.|\\.|%2[eE]%2[eE]|)){0,4}/?",
        "(|\\?versionId=[A-Za-z0-9._+-]{0,6})",
    )
        .prop_map(|(scheme, kind, owner, name, revision, path, version)| {
            format!("{scheme}{kind}{owner}{name}{revision}{path}{version}")
        })
}

proptest! {
    #[test]
    fn what_is_printed_is_parsed_back(text in store_path()) {
        let Ok(reference) = Reference::parse(&text) else { return Ok(()) };
        prop_assert_eq!(&reference.to_string(), &text);
        prop_assert_eq!(Reference::parse(&reference.to_string()), Ok(reference.clone()));
        let canonical = match reference.place() {
            Place::Hub(path) => path.to_string(),
            Place::S3(path) => path.to_string(),
            _ => return Err(TestCaseError::fail("a scheme was lost")),
        };
        prop_assert_eq!(Reference::parse(&canonical), Ok(reference.clone()));
        prop_assert_eq!(Reference::parse_tokenizer(&canonical), Ok(reference));
    }

    #[test]
    fn no_part_leads_upwards(text in store_path()) {
        let Ok(reference) = Reference::parse(&text) else { return Ok(()) };
        let parts: Vec<&str> = match (reference.hub_path(), reference.s3_path()) {
            (Some(hub), _) => {
                let revision = hub.revision().unwrap_or_default();
                prop_assert!(!revision.contains(".."));
                [hub.owner(), hub.name(), hub.path(), revision].map(|part| part.split('/')).into_iter().flatten().collect()
            }
            (_, Some(s3)) => [s3.bucket(), s3.key()].map(|part| part.split('/')).into_iter().flatten().collect(),
            _ => Vec::new(),
        };
        prop_assert!(!parts.is_empty());
        prop_assert!(parts.iter().all(|part| !matches!(*part, ".." | ".")), "{:?}", parts);
    }

    #[test]
    fn a_text_that_is_printed_has_no_control_characters(text in "(hf|s3|https?|gs|)(://|:/|:|)\\PC{0,4}[\\x00-\\x7f]{0,20}") {
        let shown = match Reference::parse(&text) {
            Ok(reference) => reference.to_string(),
            Err(error) => error.to_string(),
        };
        prop_assert!(!shown.contains(char::is_control), "{:?}", shown);
    }
}
