//! Names in, files out.

use proptest::prelude::*;

use super::*;
use crate::reference::{HubPath, RepoKind, S3Path};

const HUB: &str = "acme/traces@refs%2Fconvert%2Fparquet";

fn listing<'a>(paths: &[&'a str]) -> Vec<Entry<'a>> {
    paths.iter().map(|path| Entry::named(path)).collect()
}

fn on_hub(path: &str) -> String {
    let folder = HubPath::parse(HUB, RepoKind::Dataset).unwrap();
    folder.below(path).to_string()
}

/// The chosen files' paths, and the warnings.
fn names<'a>(paths: &[&'a str], chosen: Chosen) -> (Vec<&'a str>, Vec<LayoutWarning>) {
    (
        chosen.files.into_iter().map(|index| paths[index]).collect(),
        chosen.warnings,
    )
}

fn chosen<'a>(paths: &[&'a str]) -> (Vec<&'a str>, Vec<LayoutWarning>) {
    names(paths, choose_in_folder(&listing(paths), &on_hub).unwrap())
}

fn refusal(paths: &[&str]) -> String {
    let problem = choose_in_folder(&listing(paths), &on_hub).unwrap_err();
    format!("Cannot use {}: {problem}", on_hub(""))
}

fn manifest<'a>(paths: &[&'a str], path: &str) -> Result<(Vec<&'a str>, Vec<LayoutWarning>), LayoutProblem> {
    let bucket = S3Path::parse("traces/chat/2026-08/").unwrap();
    let reference_to = |path: &str| bucket.below(path).to_string();
    choose_manifest_path(&listing(paths), path, &reference_to).map(|chosen| names(paths, chosen))
}

fn manifest_refusal(paths: &[&str], path: &str) -> String {
    let problem = manifest(paths, path).unwrap_err();
    format!("Cannot use s3://traces/chat/2026-08/: {problem}")
}

#[test]
fn every_shard_is_read_in_the_order_of_names_whatever_the_order_of_the_listing() {
    let paths = [
        "part-00001.snappy.parquet",
        "part-00010.snappy.parquet",
        "part-00000.snappy.parquet",
    ];
    let (files, warnings) = chosen(&paths);
    assert_eq!(files, [paths[2], paths[0], paths[1]]);
    assert_eq!(warnings, []);
}

#[test]
fn what_lies_beside_data_by_custom_is_skipped() {
    let beside = [
        "README.md",
        "readme",
        "LICENSE",
        "LICENSE.txt",
        ".gitattributes",
        ".part-0.parquet.crc",
        "part-0.parquet.crc",
        "_SUCCESS",
        "_committed_113",
        "_started_113",
        "_metadata",
        "_common_metadata.parquet",
        "_delta_log/0.parquet",
        ".cache/huggingface/0.parquet",
        "aiperf.json",
        "reprise.json",
        "part-0.parquet.aiperf.json",
        "part-0.parquet.reprise.json",
        "dataset_infos.json",
        "dataset_dict.json",
        "thumbnail.png",
        "traces.py",
        "out_$folder$",
        "",
        "assets/",
    ];
    for path in beside {
        assert_eq!(chosen(&[path, "part-0.parquet"]).0, ["part-0.parquet"], "{path}");
    }
}

#[test]
fn other_data_beside_shards_is_never_dropped_in_silence() {
    for path in [
        "more.jsonl",
        "more.json",
        "more.csv",
        "more.arrow",
        "more.jsonl.gz",
        "more.parq",
        "more.txt",
        "000000_0",
        "metadata.jsonl",
        "myaiperf.json",
    ] {
        let said = refusal(&["0.parquet", path]);
        assert!(said.contains(&format!("something else: {path}. ")), "{said}");
    }
    insta::assert_snapshot!(
        refusal(&["0.parquet", "b.csv", "a.jsonl"]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it holds files beside its Parquet shards that are something else: a.jsonl, b.csv. Move them away, or name one shard, e.g. hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/0.parquet."
    );
}

#[test]
fn a_repository_that_push_to_hub_wrote_is_read() {
    let repository = [
        ".gitattributes",
        "README.md",
        "data/test-00000-of-00001.parquet",
        "data/train-00001-of-00002.parquet",
        "data/train-00000-of-00002.parquet",
    ];
    let (files, warnings) = chosen(&repository);
    assert_eq!(files, [repository[4], repository[3]]);
    let left_out = LayoutWarning::SplitsLeftOut {
        read: "train".to_owned(),
        left_out: vec!["test".to_owned()],
    };
    assert_eq!(warnings, [left_out]);
}

#[test]
fn hashes_that_older_writers_put_into_names_do_not_hide_the_split() {
    let repository = [
        "data/test-00000-of-00001-6c4b9ee4ba3f1c7b.parquet",
        "data/train-00000-of-00001-b42a775f407cee45.parquet",
    ];
    assert_eq!(chosen(&repository).0, [repository[1]]);
}

#[test]
fn the_branch_that_the_hub_converts_is_read() {
    let branch = [
        ".gitattributes",
        "default/test/0000.parquet",
        "default/train/0001.parquet",
        "default/train/0000.parquet",
    ];
    let (files, warnings) = chosen(&branch);
    assert_eq!(files, [branch[3], branch[2]]);
    assert_eq!(
        warnings,
        [LayoutWarning::FoldersLeftOut {
            read: "train".to_owned(),
            left_out: vec!["test".to_owned()],
        }]
    );
}

#[test]
fn a_split_that_the_hub_converted_in_part_is_read_and_told() {
    let (files, warnings) = chosen(&["default/partial-train/0000.parquet"]);
    assert_eq!(files, ["default/partial-train/0000.parquet"]);
    assert!(warnings[0].is_doubtful());
    insta::assert_snapshot!(warnings[0], @"By its name the folder partial-train holds only the first part of its split: the hub does not convert large datasets whole. Name the original files if the whole trace is meant.");
}

#[test]
fn several_datasets_are_refused_with_a_reference_to_each() {
    insta::assert_snapshot!(
        refusal(&["en/train/0000.parquet", "de/train/0000.parquet", "README.md"]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it has several datasets under hf://datasets/acme/traces@refs%2Fconvert%2Fparquet. Use one of: hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/de, hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/en."
    );
    insta::assert_snapshot!(
        refusal(&["default/validation/0000.parquet", "default/test/0000.parquet"]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it has several datasets under hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/default. Use one of: hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/default/test, hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/default/validation."
    );
}

#[test]
fn several_splits_without_train_are_refused_with_a_shard_of_each() {
    insta::assert_snapshot!(
        refusal(&[
            "data/validation-00000-of-00002.parquet",
            "data/validation-00001-of-00002.parquet",
            "data/test-00000-of-00001.parquet",
        ]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it holds the splits test, validation, and none is named 'train'. Use one split's shard, e.g. hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/data/test-00000-of-00001.parquet or hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/data/validation-00000-of-00002.parquet."
    );
}

#[test]
fn the_hints_are_references_that_can_be_used() {
    let said = refusal(&["data/a-00000-of-00001.parquet", "data/b-00000-of-00001.parquet"]);
    let hint = said.split("e.g. ").nth(1).unwrap().trim_end_matches('.');
    for reference in hint.split(" or ") {
        let parsed = HubPath::parse(reference.strip_prefix("hf://").unwrap(), RepoKind::Dataset).unwrap();
        assert_eq!(parsed.revision(), Some("refs/convert/parquet"));
        assert!(parsed.path().starts_with("data/"), "{reference}");
    }
}

#[test]
fn one_split_is_read_whatever_its_name() {
    let paths = ["test-00000-of-00001.parquet"];
    assert_eq!(chosen(&paths), (paths.to_vec(), Vec::new()));
}

#[test]
fn shards_of_no_split_beside_several_splits_are_refused() {
    insta::assert_snapshot!(
        refusal(&["train-00000-of-00001.parquet", "test-00000-of-00001.parquet", "extra.parquet"]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it holds the splits test, train and also Parquet files of no split: hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/extra.parquet. Move the latter away, or name one file."
    );
}

#[test]
fn shards_that_are_missing_by_name_are_told() {
    let (files, warnings) = chosen(&["train-00001-of-00003.parquet", "train-00002-of-00003.parquet"]);
    assert_eq!(files.len(), 2);
    insta::assert_snapshot!(warnings[0], @"By their names there are 3 shards, and 2 of them were found and read. Get the others if the whole trace is meant.");
}

#[test]
fn warnings_have_a_name_for_programs_and_say_whether_something_may_be_missing() {
    let warnings = [
        LayoutWarning::SplitsLeftOut {
            read: "train".to_owned(),
            left_out: vec!["dev".to_owned(), "test".to_owned()],
        },
        LayoutWarning::FoldersLeftOut {
            read: "train".to_owned(),
            left_out: vec!["test".to_owned()],
        },
        LayoutWarning::ShardsMissing { there: 1, of: 2 },
        LayoutWarning::PartlyConverted {
            folder: "partial-train".to_owned(),
        },
    ];
    let shown: Vec<String> = warnings
        .iter()
        .map(|warning| format!("{} {}", warning.code(), warning.is_doubtful()))
        .collect();
    assert_eq!(
        shown,
        [
            "SplitsLeftOut false",
            "FoldersLeftOut false",
            "ShardsMissing true",
            "PartlyConverted true"
        ]
    );
    insta::assert_snapshot!(warnings[0], @"Only the split train was read, not dev, test. Name a shard of another split to replay that one.");
    insta::assert_snapshot!(warnings[1], @"Only the folder train was read, not test. Name another folder to replay that one.");
}

#[test]
fn shards_beside_folders_of_shards_are_refused() {
    insta::assert_snapshot!(
        refusal(&["0.parquet", "b/1.parquet", "a/deep/1.parquet", "c/notes.txt"]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it holds Parquet files and also folders with Parquet files: hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/a, hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/b. Name one of the folders or one file, or move the others away."
    );
}

#[test]
fn partitions_are_refused_since_the_columns_in_their_names_would_be_missing() {
    insta::assert_snapshot!(
        refusal(&["out/day=1/part-0.parquet", "out/day=2/part-0.parquet", "out/_SUCCESS"]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it is partitioned (day=1, day=2), and columns that stand in the names of folders are not read. Write it without partitions, or name one partition's folder, e.g. hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/out/day=1."
    );
    assert!(refusal(&["day=1/part-0.parquet"]).contains("it is partitioned (day=1), "));
}

#[test]
fn a_folder_without_parquet_needs_a_manifest() {
    insta::assert_snapshot!(
        refusal(&["README.md", "b/more.jsonl", "chat.jsonl.gz", "x.jsonl", "y.jsonl", "chat.jsonl.gz.aiperf.json"]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it is a folder without a manifest and without Parquet files. Name a file in it, e.g. hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/b/more.jsonl or hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/chat.jsonl.gz or hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/x.jsonl, or ask its publisher to add reprise.json."
    );
    insta::assert_snapshot!(
        refusal(&["README.md"]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it is a folder without a manifest and without Parquet files. Name a file in it, or ask its publisher to add reprise.json."
    );
    insta::assert_snapshot!(
        refusal(&[]),
        @"Cannot use hf://datasets/acme/traces@refs%2Fconvert%2Fparquet: it is an empty folder. Check the reference, and that the data was uploaded."
    );
    insta::assert_snapshot!(
        LayoutProblem::no_manifest(&listing(&["part-0.parquet"]), &on_hub),
        @"it is a folder without a manifest. Name a file in it, e.g. hf://datasets/acme/traces@refs%2Fconvert%2Fparquet/part-0.parquet, or ask its publisher to add reprise.json."
    );
}

#[test]
fn a_manifest_names_a_file_of_any_kind() {
    let paths = ["aiperf.json", "data/chat.jsonl.gz", "data/more.jsonl"];
    for path in [
        "data/chat.jsonl.gz",
        "./data/chat.jsonl.gz",
        ".//data/chat.jsonl.gz",
    ] {
        assert_eq!(manifest(&paths, path).unwrap().0, [paths[1]], "{path}");
    }
}

#[test]
fn a_manifest_names_a_folder_of_shards_and_train_is_read_there_too() {
    let paths = [
        "aiperf.json",
        "more.jsonl",
        "_out/train-00000-of-00001.parquet",
        "_out/test-00000-of-00001.parquet",
        "_out/_SUCCESS",
        "_output/0.parquet",
    ];
    for path in ["_out", "_out/", "./_out"] {
        let (files, warnings) = manifest(&paths, path).unwrap();
        assert_eq!(files, [paths[2]], "{path}");
        assert_eq!(warnings.len(), 1);
    }
    let here = ["reprise.json", "part-1.parquet", "part-0.parquet"];
    for path in [".", "./", ""] {
        assert_eq!(manifest(&here, path).unwrap().0, [here[2], here[1]], "{path}");
    }
}

#[test]
fn what_is_wrong_with_a_manifest_folder_is_said_to_its_publisher() {
    insta::assert_snapshot!(
        manifest_refusal(&["data/test-00000-of-00001.parquet", "data/dev-00000-of-00001.parquet"], "data"),
        @"Cannot use s3://traces/chat/2026-08/: its manifest folder data holds the splits dev, test, and none is named 'train'. Ask its publisher to keep one split in the folder or to name it train, or use one split's shard, e.g. s3://traces/chat/2026-08/data/dev-00000-of-00001.parquet or s3://traces/chat/2026-08/data/test-00000-of-00001.parquet."
    );
    insta::assert_snapshot!(
        manifest_refusal(&["data/a/0.parquet", "data/b/0.parquet"], "data"),
        @"Cannot use s3://traces/chat/2026-08/: its manifest folder data has several datasets under s3://traces/chat/2026-08/data. Ask its publisher to name one of them in the manifest: s3://traces/chat/2026-08/data/a, s3://traces/chat/2026-08/data/b."
    );
    insta::assert_snapshot!(
        manifest_refusal(&["data/0.parquet", "data/b/0.parquet"], "data"),
        @"Cannot use s3://traces/chat/2026-08/: its manifest folder data holds Parquet files and also folders with Parquet files: s3://traces/chat/2026-08/data/b. Ask its publisher to name one of the folders or one file in the manifest."
    );
    insta::assert_snapshot!(
        manifest_refusal(&["data/0.parquet", "data/more.csv"], "data"),
        @"Cannot use s3://traces/chat/2026-08/: its manifest folder data holds files beside its Parquet shards that are something else: more.csv. Ask its publisher to move them away, or name one shard, e.g. s3://traces/chat/2026-08/data/0.parquet."
    );
    insta::assert_snapshot!(
        manifest_refusal(&["data/day=1/0.parquet"], "data"),
        @"Cannot use s3://traces/chat/2026-08/: its manifest folder data is partitioned (day=1), and columns that stand in the names of folders are not read. Ask its publisher to write it without partitions, or to name one partition's folder, e.g. s3://traces/chat/2026-08/data/day=1."
    );
    insta::assert_snapshot!(
        manifest_refusal(&["a-0-of-1.parquet", "b-0-of-1.parquet", "c.parquet"], "."),
        @"Cannot use s3://traces/chat/2026-08/: its manifest folder ./ holds the splits a, b and also Parquet files of no split: s3://traces/chat/2026-08/c.parquet. Ask its publisher to move the latter away, or name one file."
    );
}

#[test]
fn a_manifest_that_names_nothing_usable_is_refused() {
    insta::assert_snapshot!(
        manifest_refusal(&["aiperf.json", "database/0.parquet"], "data"),
        @"Cannot use s3://traces/chat/2026-08/: its manifest names data, which is not there. Ask its publisher to correct path in the manifest."
    );
    for paths in [&["data/more.jsonl"][..], &["data/"]] {
        insta::allow_duplicates!(insta::assert_snapshot!(
            manifest_refusal(paths, "data"),
            @"Cannot use s3://traces/chat/2026-08/: its manifest names the folder data, which holds no Parquet files. Ask its publisher to name one file, or a folder of Parquet shards."
        ));
    }
}

#[test]
fn names_that_others_chose_stay_on_one_line() {
    let said = refusal(&["0.parquet", "a\nCannot use: \u{1b}[31m.csv"]);
    assert!(said.contains("a\\nCannot use: \\u{1b}[31m.csv. "), "{said}");
}

#[test]
fn references_below_a_place_are_those_that_a_person_would_write() {
    let hub = |text, path| {
        HubPath::parse(text, RepoKind::Dataset)
            .unwrap()
            .below(path)
            .to_string()
    };
    assert_eq!(
        hub("acme/traces", "a/b.parquet"),
        "hf://datasets/acme/traces/a/b.parquet"
    );
    assert_eq!(
        hub("acme/traces/a/", "b.parquet"),
        "hf://datasets/acme/traces/a/b.parquet"
    );
    assert_eq!(hub("acme/traces@main/a", ""), "hf://datasets/acme/traces@main/a");
    let s3 = |text, path| S3Path::parse(text).unwrap().below(path).to_string();
    assert_eq!(s3("traces", "b.parquet"), "s3://traces/b.parquet");
    assert_eq!(s3("traces/a/", "b.parquet"), "s3://traces/a/b.parquet");
    assert_eq!(s3("traces/a", "b.parquet"), "s3://traces/a/b.parquet");
    assert_eq!(s3("traces/a", ""), "s3://traces/a");
}

/// Paths made of names that mean something to the rules, and of some that do not.
fn paths() -> impl Strategy<Value = Vec<String>> {
    let name = prop::sample::select(vec![
        "train",
        "test",
        "a",
        "b=1",
        "_x",
        "README.md",
        "0.parquet",
        "1.parquet",
        "train-00000-of-00002.parquet",
        "test-00000-of-00001.parquet",
        "dev-0-of-1-c0ffee.parquet",
        "c.csv",
        "",
    ]);
    let path = prop::collection::vec(name, 1..4).prop_map(|parts| parts.join("/"));
    prop::collection::vec(path, 0..8)
}

proptest! {
    #[test]
    fn whatever_is_chosen_is_parquet_in_one_folder_and_in_order(mut paths in paths(), seed in any::<usize>()) {
        paths.sort();
        paths.dedup();
        let texts: Vec<&str> = paths.iter().map(String::as_str).collect();
        let result = choose_in_folder(&listing(&texts), &on_hub);
        if let Ok(chosen) = &result {
            let files: Vec<&str> = chosen.files.iter().map(|index| texts[*index]).collect();
            prop_assert!(!files.is_empty());
            prop_assert!(files.is_sorted());
            prop_assert!(files.iter().all(|path| is_named_parquet(path) && !path.split('/').any(lies_beside_data)));
            let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
            prop_assert!(files.iter().all(|path| folder(path) == folder(files[0])));
        }
        // The order of the listing changes nothing.
        let mut turned = texts.clone();
        turned.rotate_left(seed % texts.len().max(1));
        let again = choose_in_folder(&listing(&turned), &on_hub);
        let by_name = |texts: &[&str], result: Result<Chosen, LayoutProblem>| {
            result.map(|chosen| {
                let files: Vec<String> = chosen.files.iter().map(|index| texts[*index].to_owned()).collect();
                (files, chosen.warnings)
            })
        };
        prop_assert_eq!(by_name(&texts, result), by_name(&turned, again));
    }
}
