//! The first record is seen as it is when the whole trace is read, however little of the trace is there.

use std::convert::Infallible;
use std::io::{self, BufReader, Read};
use std::path::Path;

use proptest::prelude::*;
use reprise_dataset::{
    FirstRecord, Format, HeadStep, Options, ParquetShard, ParquetTrace, ReadError, TimestampUnit,
};

use crate::reading::read_bytes;

fn in_head(format: Format, head: &str) -> Result<FirstRecord, ReadError<Infallible>> {
    FirstRecord::in_head(format, &Options::default(), head.as_bytes())
}

fn in_whole(format: Format, trace: &[u8]) -> Result<FirstRecord, ReadError<Infallible>> {
    FirstRecord::in_lines(format, &Options::default(), &mut &*trace)
}

fn shards(names: &[&str]) -> ParquetTrace {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/parquet");
    let shard = |name: &&str| ParquetShard {
        path: folder.join(name),
        name: (*name).to_owned(),
    };
    ParquetTrace::of(names.iter().map(shard).collect())
}

#[test]
fn steps_grow_to_the_whole_file() {
    assert_eq!(
        HeadStep::ALL,
        [
            HeadStep::Bytes(65_536),
            HeadStep::Bytes(1_048_576),
            HeadStep::Bytes(8_388_608),
            HeadStep::Whole
        ]
    );
}

#[test]
fn a_record_is_seen_once_its_line_is_whole() {
    let timed = r#"{"timestamp":0,"input_length":5}"#;
    let untimed = r#"{"input_length":5}"#;
    let mooncake = |head: &str| in_head(Format::MooncakeTrace, head).unwrap();
    assert_eq!(mooncake(""), FirstRecord::NeedMore);
    assert_eq!(mooncake("\n \r\n"), FirstRecord::NeedMore);
    assert_eq!(mooncake("\u{feff}\n"), FirstRecord::NeedMore);
    assert_eq!(mooncake(timed), FirstRecord::NeedMore);
    assert_eq!(mooncake(&format!("\u{feff}\n{timed}\r\n{{")), FirstRecord::Timed);
    assert_eq!(mooncake(&format!("{untimed}\n{timed}\n")), FirstRecord::Untimed);
    let whole = in_whole(Format::MooncakeTrace, timed.as_bytes());
    assert_eq!(whole.unwrap(), FirstRecord::Timed);
}

#[test]
fn what_is_wrong_with_the_first_record_is_said_as_reading_says_it() {
    for (format, trace) in [
        (Format::MooncakeTrace, "{\"timestamp\":0,\"body\":{}}\n"),
        (Format::MooncakeTrace, "\nTIMESTAMP,ContextTokens\n"),
        (Format::MooncakeTrace, "{\"input_length\":0}\n"),
        (Format::WorkloadTrace, "{\"input_length\":5}\n"),
        (Format::WorkloadTrace, "{\"body\":{}}\n"),
        (Format::WorkloadTrace, "[\n  {\n    \"body\": {}\n"),
    ] {
        let said = in_head(format, trace).unwrap_err().to_string();
        assert_eq!(
            said,
            in_head(format, &format!("{trace}{{\"x")).unwrap_err().to_string()
        );
        if !trace.starts_with('[') {
            let read = read_bytes(format, trace.as_bytes(), &Options::default());
            assert_eq!(said, read.unwrap_err().to_string());
        }
    }
    insta::assert_snapshot!(
        in_head(Format::WorkloadTrace, "[\n  {\n    \"body\": {}\n").unwrap_err(),
        @"it is one JSON document over several lines. Write one object a line: jq -c '.[]' does so."
    );
}

#[test]
fn an_empty_trace_is_empty_only_once_it_is_whole() {
    for trace in ["", "\n\n"] {
        assert!(matches!(
            in_whole(Format::MooncakeTrace, trace.as_bytes()),
            Err(ReadError::Empty { .. })
        ));
    }
}

#[test]
fn a_line_beyond_all_bounds_is_refused_without_its_end() {
    let line = vec![b'x'; (64 << 20) + 1];
    let head = FirstRecord::in_head(Format::MooncakeTrace, &Options::default(), &line);
    assert!(
        head.unwrap_err()
            .to_string()
            .contains("longer than 67108864 bytes")
    );
}

#[test]
fn options_that_the_format_does_not_take_are_refused_at_once() {
    let options = Options {
        block_size: Some(512.try_into().unwrap()),
        ..Options::default()
    };
    let found = FirstRecord::in_head(Format::WorkloadTrace, &options, b"");
    assert!(matches!(found, Err(ReadError::Options(_))));
}

#[test]
fn options_change_what_is_seen_as_they_change_what_is_read() {
    let head = "{\"timestamp\":1700000000000,\"body\":{}}\n";
    assert!(in_head(Format::WorkloadTrace, head).is_err());
    let options = Options {
        timestamp_unit: Some(TimestampUnit::Milliseconds),
        ..Options::default()
    };
    let found = FirstRecord::in_head(Format::WorkloadTrace, &options, head.as_bytes());
    assert_eq!(found.unwrap(), FirstRecord::Timed);
}

#[test]
fn a_reader_is_read_no_further_than_the_first_record() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the rest is not there"))
        }
    }
    let start = b"{\"input_length\":5}\n";
    let mut trace = BufReader::with_capacity(start.len(), start.chain(Failing));
    let found = FirstRecord::in_lines(Format::MooncakeTrace, &Options::default(), &mut trace);
    assert_eq!(found.unwrap(), FirstRecord::Untimed);
}

#[test]
fn the_first_row_tells_of_a_trace_in_parquet() {
    let found = |names: &[&str]| {
        FirstRecord::in_first_shards(Format::MooncakeTrace, &Options::default(), &shards(names))
    };
    assert_eq!(
        found(&["lengths.parquet", "there_is_no_such_file"]).unwrap(),
        FirstRecord::Timed
    );
    assert_eq!(
        found(&["splits/train-00000-of-00002.parquet"]).unwrap(),
        FirstRecord::Untimed
    );
    assert_eq!(found(&["no_rows.parquet"]).unwrap(), FirstRecord::NeedMore);
    assert_eq!(
        found(&["no_rows.parquet", "lengths.parquet"]).unwrap(),
        FirstRecord::Timed
    );
    let all = shards(&["no_rows.parquet"]);
    let empty = FirstRecord::in_shards(Format::MooncakeTrace, &Options::default(), &all);
    assert!(matches!(empty, Err(ReadError::Empty { .. })));
    let lines_only = FirstRecord::in_shards(Format::WorkloadTrace, &Options::default(), &all);
    assert!(
        lines_only
            .unwrap_err()
            .to_string()
            .contains("does not read parquet files")
    );
    for refused in [
        "refused/timestamp_ms.parquet",
        "refused/cut.parquet",
        "no_bytes.parquet",
    ] {
        assert!(
            matches!(found(&[refused]), Err(ReadError::Parquet(_))),
            "{refused}"
        );
    }
}

/// Lines of traces, right and wrong ones.
fn line() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "",
        " \t",
        "\u{feff}",
        r#"{"input_length":5}"#,
        r#"{"input_length":5,"session_id":"a"}"#,
        r#"{"timestamp":7,"session_id":"a","text_input":"x"}"#,
        r#"{"timestamp":null,"text_input":"é"}"#,
        r#"{"timestamp":"2026-01-01T00:00:00Z","body":{"model":"m"}}"#,
        r#"{"timestamp":1,"body":"{}"}"#,
        r#"{"body":{}}"#,
        r#"{"timestamp":true,"input_length":5}"#,
        r#"{"timestamp":1,"x":2}"#,
        r#"{"x":2}"#,
        "[",
        "{",
        "oops",
    ]);
    let timed =
        (0_u32..100).prop_map(|time| format!(r#"{{"timestamp":{time},"input_length":{}}}"#, time + 1));
    prop_oneof![fixed.prop_map(str::to_owned), timed]
}

proptest! {
    #[test]
    fn every_prefix_gives_the_verdict_of_the_whole_trace(
        lines in prop::collection::vec(line(), 0..6),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        ends in any::<bool>(),
        format in prop::sample::select(Format::all().to_vec()),
    ) {
        let mut trace = lines.join(end);
        if ends {
            trace.push_str(end);
        }
        let options = Options::default();
        let whole = read_bytes(format, trace.as_bytes(), &options).map(|(_, facts)| facts.is_timed);
        let first_line = trace
            .trim_start_matches('\u{feff}')
            .lines()
            .position(|line| !line.trim_ascii().is_empty())
            .map(|index| index as u64 + 1);
        let agrees = |found: Result<FirstRecord, ReadError<Infallible>>| match (found, &whole) {
            (Ok(found), Ok(true)) => found == FirstRecord::Timed,
            (Ok(found), Ok(false)) => found == FirstRecord::Untimed,
            (Err(ReadError::BadLines(found)), Err(ReadError::BadLines(whole))) => {
                found.first()[0].to_string() == whole.first()[0].to_string()
            }
            // The first line is no record, and the first record after it is one of another format.
            (Err(ReadError::BadLines(_)), Err(ReadError::NoColumnFits(_))) => true,
            (Err(found), Err(whole)) => found.to_string() == whole.to_string(),
            // The first record is right and a later one is not.
            (Ok(FirstRecord::Timed | FirstRecord::Untimed), Err(ReadError::BadLines(bad))) => {
                Some(u64::from(bad.first()[0].line())) != first_line
            }
            _ => false,
        };
        let mut decided = None;
        for length in 0..=trace.len() {
            let found = FirstRecord::in_head(format, &options, &trace.as_bytes()[..length]);
            if matches!(found, Ok(FirstRecord::NeedMore)) {
                prop_assert!(decided.is_none());
                continue;
            }
            let shown = format!("{found:?}");
            prop_assert!(agrees(found), "{shown} of {length} bytes, and {whole:?}");
            decided = Some(shown);
        }
        // Whoever has it all gets the verdict of the whole trace, also of a last line without an end.
        let found = FirstRecord::in_lines(format, &options, &mut trace.as_bytes());
        let shown = format!("{found:?}");
        prop_assert!(agrees(found), "{shown}, and {whole:?}");
    }
}
