//! `reprise inspect`, as people and programs see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs `reprise inspect` in `folder`.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reprise"))
        .arg("inspect")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// What it prints about a trace beside this test.
fn shown(arguments: &[&str]) -> String {
    let output = run(&repository().join("cli/tests/inspect"), arguments);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    text(&output.stdout)
}

/// What it says about input that is wrong.
fn refusal(arguments: &[&str]) -> String {
    let output = run(&repository().join("cli/tests/inspect"), arguments);
    assert_eq!(text(&output.stdout), "");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    text(&output.stderr)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_documented_output_is_the_output() {
    let output = run(
        &repository(),
        &["dataset/tests/data/mooncake_conversation_head.jsonl"],
    );
    let shown = text(&output.stdout);
    insta::assert_snapshot!(shown);
    let page = std::fs::read_to_string(repository().join("docs/inspecting.md")).unwrap();
    assert!(page.contains(&format!("```text\n{shown}```")), "{shown}");
}

#[test]
fn recorded_bodies_are_shown() {
    insta::assert_snapshot!(shown(&["recorded_bodies.jsonl"]));
}

#[test]
fn conversations_are_shown() {
    insta::assert_snapshot!(shown(&[
        "conversations.jsonl",
        "--set",
        "dataset.options.blockSize=16"
    ]));
}

#[test]
fn no_line_is_wider_than_a_hundred_columns() {
    for arguments in [
        &["recorded_bodies.jsonl"][..],
        &["conversations.jsonl", "--set", "dataset.options.blockSize=16"],
    ] {
        let shown = shown(arguments);
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    }
}

#[test]
fn programs_get_json() {
    insta::assert_snapshot!(shown(&[
        "recorded_bodies.jsonl",
        "--format",
        "workload_trace",
        "--json"
    ]));
}

#[test]
fn a_file_that_is_not_there_is_refused() {
    insta::assert_snapshot!(refusal(&["missing.jsonl"]));
}

#[test]
fn an_unknown_format_is_answered_with_the_known_ones() {
    insta::assert_snapshot!(refusal(&["recorded_bodies.jsonl", "--format", "mooncake"]));
}

#[test]
fn a_format_that_cannot_be_told_must_be_named() {
    insta::assert_snapshot!(refusal(&["../inspect.rs"]));
}

#[test]
fn an_unknown_scheme_is_refused() {
    insta::assert_snapshot!(refusal(&["ftp://host/trace.jsonl"]));
}

#[test]
fn an_empty_trace_is_refused() {
    insta::assert_snapshot!(refusal(&["empty.jsonl"]));
}

#[test]
fn wrong_lines_are_named() {
    insta::assert_snapshot!(refusal(&["wrong_line.jsonl"]));
}

#[test]
fn what_is_set_must_be_a_field_of_the_dataset() {
    let arguments = [
        "recorded_bodies.jsonl",
        "--set",
        "dataset.options.blokSize=16",
        "--set",
        "replay.speed=2",
    ];
    insta::assert_snapshot!(refusal(&arguments));
}

#[test]
fn an_option_that_the_format_does_not_take_is_refused() {
    let set = ["--set", "dataset.options.blockSize=16"];
    insta::assert_snapshot!(
        "an_option_of_another_format",
        refusal(&[
            "recorded_bodies.jsonl",
            set[0],
            set[1],
            "--format",
            "workload_trace"
        ])
    );
    insta::assert_snapshot!(
        "an_option_of_another_format_than_the_detected_one",
        refusal(&["recorded_bodies.jsonl", set[0], set[1]])
    );
}

/// What `--json` shows of a trace, and `name`'s folder of Parquet traces.
fn parquet(name: &str) -> serde_json::Value {
    let output = run(
        &repository().join("dataset/tests/data/parquet"),
        &[name, "--json"],
    );
    assert_eq!(text(&output.stderr), "");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn rows_are_shown_like_lines() {
    let [mut rows, mut lines] = ["conversations.parquet", "conversations.jsonl"].map(parquet);
    for inspected in [&mut rows, &mut lines] {
        for of_the_file in ["source", "bytes", "sha256", "traceSha256"] {
            assert!(inspected.as_object_mut().unwrap().remove(of_the_file).is_some());
        }
    }
    assert_eq!(rows, lines);
    assert_eq!(rows["isFormatDetected"], true);
}

#[test]
fn the_digest_of_a_folder_is_the_one_that_a_shell_computes() {
    let command =
        "LC_ALL=C; for shard in spark/*.parquet; do sha256sum < \"$shard\" | cut -c -64; done | sha256sum";
    let shell = Command::new("sh")
        .args(["-c", command])
        .current_dir(repository().join("dataset/tests/data/parquet"))
        .output()
        .unwrap();
    let spark = parquet("spark");
    assert_eq!(spark["sha256"], text(&shell.stdout)[..64]);
    assert_eq!(spark["traceSha256"], spark["sha256"]);
    assert_eq!(spark["bytes"], 2 * 462);
    assert_eq!(spark["requests"], 4);
    assert_eq!(spark["files"][1]["name"], "part-00001-c0ffee-c000.snappy.parquet");
}

#[test]
fn the_digest_of_a_single_shard_is_that_of_its_file() {
    let shell = Command::new("sha256sum")
        .arg(repository().join("dataset/tests/data/parquet/lengths.parquet"))
        .output()
        .unwrap();
    assert_eq!(parquet("lengths.parquet")["sha256"], text(&shell.stdout)[..64]);
}

#[test]
fn splits_that_are_left_out_are_told() {
    assert_eq!(parquet("splits")["warnings"][0]["code"], "SplitsLeftOut");
}

#[test]
fn parquet_that_cannot_be_used_is_refused() {
    let parquet = "../../../dataset/tests/data/parquet";
    let said = [
        &[
            &format!("{parquet}/lengths.parquet"),
            "--format",
            "workload_trace",
        ][..],
        &[&format!("{parquet}/refused/columns.parquet")],
        &[&format!("{parquet}/splits_without_train")],
        &[&format!("{parquet}/no_rows.parquet")],
        &[
            &format!("{parquet}/no_bytes.parquet"),
            "--format",
            "mooncake_trace",
        ],
        &["."],
    ]
    .map(refusal);
    insta::assert_snapshot!(said.concat());
}

#[test]
fn parquet_in_a_pipe_is_refused() {
    let output = Command::new("sh")
        .args(["-c", "cat lengths.parquet | \"$0\" inspect /dev/stdin"])
        .arg(env!("CARGO_BIN_EXE_reprise"))
        .current_dir(repository().join("dataset/tests/data/parquet"))
        .output()
        .unwrap();
    insta::assert_snapshot!(text(&output.stderr));
}
