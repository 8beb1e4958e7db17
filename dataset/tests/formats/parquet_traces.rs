//! Parquet in, turns out. The files are those that the scripts in `tests/data/parquet` wrote with pyarrow and `datasets`.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};

use reprise_content::{Body, Turn};
use reprise_dataset::{Facts, Format, Options, ParquetShard, ParquetTrace, ReadError, read_parquet};

use crate::reading::read_bytes;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/parquet")
        .join(name)
}

/// The trace that a file is, or all files in a folder that are named as Parquet, in the order of names.
fn trace(path: &Path) -> ParquetTrace {
    let mut paths = vec![path.to_owned()];
    if path.is_dir() {
        paths = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "parquet"))
            .collect();
        paths.sort();
    }
    let shard = |path: PathBuf| ParquetShard {
        name: path.file_name().unwrap().to_str().unwrap().to_owned(),
        path,
    };
    ParquetTrace::of(paths.into_iter().map(shard).collect())
}

fn read(name: &str) -> Result<(Vec<Turn>, Facts), ReadError<Infallible>> {
    read_path(&data(name))
}

fn read_path(path: &Path) -> Result<(Vec<Turn>, Facts), ReadError<Infallible>> {
    read_trace(&trace(path))
}

fn read_trace(trace: &ParquetTrace) -> Result<(Vec<Turn>, Facts), ReadError<Infallible>> {
    let mut turns = Vec::new();
    let facts = read_parquet(Format::MooncakeTrace, trace, &Options::default(), &mut |turn| {
        turns.push(turn);
        Ok(())
    })?;
    Ok((turns, facts))
}

/// What is said about a trace that cannot be used, with the folder of the test data left out.
fn refusal(name: &str) -> String {
    match read(name) {
        Ok((turns, _)) => panic!("read {turns:?}"),
        Err(error) => error.to_string().replace(
            &format!("{}/", data("").display().to_string().trim_end_matches('/')),
            "",
        ),
    }
}

/// The texts of a trace whose records have nothing but `text_input`.
fn texts(turns: &[Turn]) -> Vec<String> {
    turns
        .iter()
        .map(|turn| match &turn.body {
            Body::Prompt { pieces, .. } => format!("{pieces:?}"),
            body => panic!("{body:?}"),
        })
        .map(|text| text.split('"').nth(1).unwrap().to_owned())
        .collect()
}

#[test]
fn the_same_records_give_the_same_turns_on_lines_and_in_rows() {
    for name in ["lengths", "conversations", "types", "dictionary"] {
        let lines = fs::read(data(&format!("{name}.jsonl"))).unwrap();
        let from_lines = read_bytes(Format::MooncakeTrace, &lines, &Options::default()).unwrap();
        let from_rows = read(&format!("{name}.parquet")).unwrap();
        assert_eq!(from_rows, from_lines, "{name}");
        assert!(!from_rows.0.is_empty());
    }
}

/// The turns of the shards in a folder, and those of its records on lines.
fn both_ways(folder: &str, shards: &[&str]) -> [(Vec<Turn>, Facts); 2] {
    let shards = shards.iter().map(|name| ParquetShard {
        path: data(folder).join(name),
        name: (*name).to_owned(),
    });
    let lines = fs::read(data(folder).join("records.jsonl")).unwrap();
    [
        read_trace(&ParquetTrace::of(shards.collect())).unwrap(),
        read_bytes(Format::MooncakeTrace, &lines, &Options::default()).unwrap(),
    ]
}

#[test]
fn keys_that_datasets_filled_with_null_are_left_out_at_every_depth() {
    let [rows, lines] = both_ways(
        "push_to_hub/filled",
        &["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"],
    );
    assert_eq!(rows, lines);
    assert_eq!(rows.0.len(), 3);
}

#[test]
fn objects_that_datasets_wrote_as_json_are_read_as_objects() {
    let [rows, lines] = both_ways("push_to_hub/as_json", &["train-00000-of-00001.parquet"]);
    assert_eq!(rows, lines);
    assert_eq!(rows.0.len(), 3);
}

#[test]
fn json_is_told_by_the_name_that_arrow_or_parquet_gives_it() {
    let lines = fs::read(data("json_column.jsonl")).unwrap();
    let from_lines = read_bytes(Format::MooncakeTrace, &lines, &Options::default()).unwrap();
    for name in ["json_column.parquet", "json_column_of_parquet.parquet"] {
        // Numbers keep their digits, and blanks are all that may differ.
        let shown = |turns: &[Turn]| format!("{turns:?}").replace(' ', "");
        assert_eq!(shown(&read(name).unwrap().0), shown(&from_lines.0), "{name}");
    }
    let said = refusal("refused/json.parquet");
    assert!(
        said.contains(
            "\n  row 1 of json.parquet: extra is declared as JSON and is none (key must be a string"
        ),
        "{said}"
    );
}

#[test]
fn a_file_of_no_bytes_is_empty() {
    insta::assert_snapshot!(refusal("no_bytes.parquet"), @"no_bytes.parquet is empty: it has no bytes, and even a Parquet file without rows has some. Get a complete copy of it, or leave it out.");
}

#[test]
fn every_usual_compression_is_read() {
    let expected = read("lengths.parquet").unwrap();
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"] {
        assert_eq!(
            read(&format!("codecs/{codec}.parquet")).unwrap(),
            expected,
            "{codec}"
        );
    }
}

#[test]
fn the_first_row_tells_the_format() {
    let first = |name: &str| trace(&data(name)).first_record().unwrap();
    let record = first("conversations.parquet").unwrap();
    assert_eq!(
        record,
        r#"{"timestamp":0,"session_id":"a","output_length":5,"messages":[{"role":"user","content":"Grüße \"1\""}]}"#
    );
    assert_eq!(Format::detect(&record), Some(Format::MooncakeTrace));
    assert_eq!(first("no_rows.parquet"), None);
}

#[test]
fn a_file_without_rows_is_empty() {
    for name in ["no_rows.parquet", "no_row_groups.parquet"] {
        assert_eq!(
            refusal(name),
            "it is empty. Point dataset.source at a trace with at least one record."
        );
    }
}

#[test]
fn a_format_that_reads_lines_only_says_so_before_anything_is_read() {
    let trace = trace(&data("refused/cut.parquet"));
    let result =
        read_parquet::<Infallible>(Format::WorkloadTrace, &trace, &Options::default(), &mut |turn| {
            panic!("{turn:?}")
        });
    insta::assert_snapshot!(
        result.unwrap_err(),
        @"workload_trace does not read parquet files. Convert it to JSON lines, or use a format that reads parquet: mooncake_trace."
    );
}

#[test]
fn columns_that_json_does_not_have_are_refused_by_name() {
    insta::assert_snapshot!(
        refusal("refused/columns.parquet"),
        @"columns.parquet has columns that no JSON record can hold: payload (binary), cost (decimal), headers (map), day (date), turns[].at (timestamp). Write them as numbers, strings, lists or structs, or leave them out."
    );
}

#[test]
fn timestamp_columns_of_every_unit_are_refused_alike() {
    for unit in ["s", "ms", "us", "ns", "tz"] {
        let said = refusal(&format!("refused/timestamp_{unit}.parquet"));
        assert!(
            said.starts_with(&format!(
                "timestamp_{unit}.parquet has columns that no JSON record can hold: timestamp (timestamp). "
            )),
            "{said}"
        );
    }
}

#[test]
fn nan_and_infinity_are_refused_with_row_and_column() {
    insta::assert_snapshot!(refusal("refused/not_finite.parquet"), @"
    2 rows are wrong, so nothing of it was used.
      row 2 of not_finite.parquet: timestamp is NaN, which is no JSON number. Remove the value or write one that JSON has.
      row 3 of not_finite.parquet: extra.bias[1] is -inf, which is no JSON number. Remove the value or write one that JSON has.
    ");
}

#[test]
fn what_a_format_refuses_is_named_by_its_row() {
    insta::assert_snapshot!(refusal("refused/lines.parquet"), @"
    2 rows are wrong, so nothing of it was used.
      row 2 of lines.parquet: input_length is 0. It must be at least 1; leave the column out where the length is not known.
      row 3 of lines.parquet: input_length is -1. It must be at least 1; leave the column out where the length is not known.
    ");
    insta::assert_snapshot!(refusal("null_content.parquet"), @"
    2 rows are wrong, so nothing of it was used.
      row 2 of null_content.parquet: messages[1] has no role. Add one, such as user.
      row 3 of null_content.parquet: none of input_length, text_input, messages and payload is there. Add the one that says what to send.
    ");
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let said = refusal("refused/cut.parquet");
    assert!(
        said.starts_with("cut.parquet cannot be read as Parquet ("),
        "{said}"
    );
    assert!(
        said.ends_with("). Get a complete copy of it, or write it again."),
        "{said}"
    );
}

#[test]
fn shards_are_read_one_after_the_other() {
    let (turns, facts) = read("spark").unwrap();
    assert_eq!(texts(&turns), ["0", "0 again", "1", "1 again"]);
    assert_eq!(
        turns.iter().map(|turn| turn.line).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(facts.warnings, []);
}

#[test]
fn rows_of_a_later_shard_are_counted_from_its_own_start() {
    let folder = tempfile::tempdir().unwrap();
    let first = data("spark/part-00000-c0ffee-c000.snappy.parquet");
    fs::copy(first, folder.path().join("0.parquet")).unwrap();
    fs::copy(data("refused/lines.parquet"), folder.path().join("1.parquet")).unwrap();
    let said = read_path(folder.path()).unwrap_err().to_string();
    assert!(said.contains("\n  row 2 of 1.parquet: input_length "), "{said}");
}
