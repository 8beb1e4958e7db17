//! Parquet in, turns out. The files are those that `tests/data/parquet/make_parquet.py` wrote with pyarrow.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};

use reprise_content::{Body, Turn};
use reprise_dataset::{Facts, Format, Options, ParquetError, ParquetTrace, ReadError, read_parquet};

use crate::reading::{read_bytes, warnings};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/parquet")
        .join(name)
}

fn read(name: &str) -> Result<(Vec<Turn>, Facts), ReadError<Infallible>> {
    read_path(&data(name))
}

fn read_path(path: &Path) -> Result<(Vec<Turn>, Facts), ReadError<Infallible>> {
    let trace = ParquetTrace::find(path)?.unwrap();
    let mut turns = Vec::new();
    let facts = read_parquet(Format::MooncakeTrace, &trace, &Options::default(), &mut |turn| {
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
    let first = |name: &str| {
        let trace = ParquetTrace::find(&data(name)).unwrap().unwrap();
        trace.first_record().unwrap()
    };
    let record = first("conversations.parquet").unwrap();
    assert_eq!(
        record,
        r#"{"timestamp":0,"session_id":"a","output_length":5,"messages":[{"role":"user","content":"Grüße \"1\""}]}"#
    );
    assert_eq!(Format::detect(&record), Some(Format::MooncakeTrace));
    assert_eq!(first("no_rows.parquet"), None);
}

#[test]
fn a_file_is_told_by_its_content() {
    assert!(ParquetTrace::find(&data("other_files/1.data")).unwrap().is_some());
    for other in ["lengths.jsonl", "no_bytes.parquet", "there_is_no_such_file"] {
        assert!(ParquetTrace::find(&data(other)).unwrap().is_none(), "{other}");
    }
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
    let trace = ParquetTrace::find(&data("refused/cut.parquet")).unwrap().unwrap();
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
fn a_folder_written_by_spark_is_read_in_the_order_of_names() {
    let (turns, facts) = read("spark").unwrap();
    assert_eq!(texts(&turns), ["0", "0 again", "1", "1 again"]);
    assert_eq!(
        turns.iter().map(|turn| turn.line).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(facts.warnings, []);
}

#[test]
fn train_is_read_and_the_splits_left_out_are_reported() {
    let (turns, facts) = read("splits").unwrap();
    assert_eq!(texts(&turns), ["train 0", "train 1"]);
    assert_eq!(
        warnings(&facts),
        ["Only the split train was read, not test. Name a shard of another split to replay that one."]
    );
}

#[test]
fn several_splits_without_train_are_refused_with_a_shard_of_each() {
    insta::assert_snapshot!(
        refusal("splits_without_train"),
        @"it holds the splits test, validation, and none is named train. Use one split's shard, e.g. splits_without_train/test-00000-of-00001.parquet or splits_without_train/validation-00000-of-00001.parquet."
    );
    let (turns, _) = read("splits_without_train/test-00000-of-00001.parquet").unwrap();
    assert_eq!(texts(&turns), ["test"]);
}

#[test]
fn shards_that_are_not_there_are_reported() {
    let (_, facts) = read("shard_missing").unwrap();
    assert_eq!(
        warnings(&facts),
        [
            "By their names there are 2 shards, and 1 of them were found and read. Get the others if the whole trace is \
          meant."
        ]
    );
}

#[test]
fn the_only_folder_that_holds_parquet_is_read() {
    let (turns, _) = read("configs").unwrap();
    assert_eq!(texts(&turns), ["deep"]);
}

#[test]
fn among_several_folders_train_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["test", "train"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let shard = data("splits").join(format!("{name}-00000-of-00002.parquet"));
        fs::copy(shard, folder.path().join(name).join("0.parquet")).unwrap();
    }
    assert_eq!(texts(&read_path(folder.path()).unwrap().0), ["train 0"]);
}

#[test]
fn folders_that_do_not_say_what_to_read_are_refused() {
    let said = ["datasets", "hive", "other_files", ""].map(refusal).join("\n");
    insta::assert_snapshot!(said, @"
    it has several datasets under datasets. Use one of: datasets/a, datasets/b.
    it is partitioned (day=1, day=2), and columns that stand in the names of folders are not read. Write it without partitions, or name one partition's folder.
    it holds files beside its Parquet shards that are something else: more.csv. Move them away, or name one shard, e.g. other_files/0.parquet.
    it holds Parquet files and also folders with Parquet files: codecs, configs, datasets, hive, other_files, refused, shard_missing, spark, splits, splits_without_train. Name one of the folders or one file, or move the others away.
    ");
}

#[test]
fn a_folder_without_parquet_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("trace.jsonl"), "{}\n").unwrap();
    assert!(matches!(
        ParquetTrace::find(folder.path()),
        Err(ParquetError::NoParquet)
    ));
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
