//! What every format must do alike, run against a sample of each.

use std::io::{self, BufRead, BufReader, Read};

use reprise_dataset::{DatasetWarning, Format, Options, ReadError, TimestampUnit, UnknownColumns, read};

use crate::reading::{read_bytes, read_lines, refusal};

/// What the suite has to know of a format.
struct Sample {
    format: Format,
    /// A record at the time that the text says.
    record_at: fn(&str) -> String,
    /// A column that the format has, misspelt, and as it is right.
    misspelt: (&'static str, &'static str),
    /// A column of another format.
    of_another: (&'static str, Format),
}

const SAMPLES: [Sample; 2] = [
    Sample {
        format: Format::MooncakeTrace,
        record_at: |time| format!(r#"{{"timestamp":{time},"input_length":1000,"output_length":10}}"#),
        misspelt: ("sesion_id", "session_id"),
        of_another: ("request_id", Format::WorkloadTrace),
    },
    Sample {
        format: Format::WorkloadTrace,
        record_at: |time| format!(r#"{{"timestamp":{time},"body":{{"model":"m","messages":[]}}}}"#),
        misspelt: ("completion_token", "completion_tokens"),
        of_another: ("session_id", Format::MooncakeTrace),
    },
];

impl Sample {
    fn records(&self) -> [String; 3] {
        ["1", "2", "3"].map(self.record_at)
    }

    /// A record with one more member.
    fn record_with(&self, member: &str) -> String {
        (self.record_at)("1").replacen('{', &format!("{{{member},"), 1)
    }

    /// The lines at which a trace of these bytes has its turns, with their times in the format's own unit.
    fn turns(&self, trace: &[u8]) -> Vec<(u32, i64)> {
        let (turns, facts) = read_bytes(self.format, trace, &Options::default())
            .unwrap_or_else(|error| panic!("{}: {error}", self.format));
        assert_eq!(facts.records as usize, turns.len());
        let unit_ns = match self.format.default_timestamp_unit() {
            TimestampUnit::Seconds => 1_000_000_000,
            TimestampUnit::Milliseconds => 1_000_000,
            other => panic!("{other}"),
        };
        turns
            .iter()
            .map(|turn| (turn.line, turn.recorded_ns.unwrap() / unit_ns))
            .collect()
    }
}

/// A reader that hands out one byte at a time.
struct OneByteAtATime<'a>(&'a [u8]);

impl Read for OneByteAtATime<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.len().min(buffer.len()).min(1);
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn every_format_has_a_sample() {
    assert_eq!(SAMPLES.map(|sample| sample.format).as_slice(), Format::all());
}

#[test]
fn records_become_turns_in_the_order_of_the_file() {
    for sample in SAMPLES {
        let times = ["5", "3", "4"].map(sample.record_at).join("\n");
        assert_eq!(sample.turns(times.as_bytes()), [(1, 5), (2, 3), (3, 4)]);
    }
}

#[test]
fn facts_hold_what_the_records_have() {
    for sample in SAMPLES {
        let [a, b, c] = sample.records();
        let (turns, facts) = read_lines(sample.format, &[&c, "", &a, &b]);
        assert_eq!((facts.records, facts.sessions, facts.blank_lines), (3, 3, 1));
        assert!(facts.is_timed);
        assert_eq!(facts.earliest_ns, turns[1].recorded_ns);
        assert_eq!(facts.latest_ns, turns[0].recorded_ns);
        let sessions: Vec<u32> = turns.iter().map(|turn| turn.session).collect();
        assert_eq!(sessions, [0, 1, 2]);
    }
}

#[test]
fn an_empty_file_is_refused_as_empty() {
    for sample in SAMPLES {
        for (trace, said) in [
            (
                "",
                "it is empty. Point dataset.source at a trace with at least one record.",
            ),
            (
                "\n",
                "it is empty (1 blank line). Point dataset.source at a trace with at least one record.",
            ),
            (
                " \r\n\t\n\n",
                "it is empty (3 blank lines). Point dataset.source at a trace with at least one record.",
            ),
            (
                "\u{feff}",
                "it is empty (1 blank line). Point dataset.source at a trace with at least one record.",
            ),
        ] {
            let error = read_bytes(sample.format, trace.as_bytes(), &Options::default()).unwrap_err();
            assert!(matches!(error, ReadError::Empty { .. }));
            assert_eq!(error.to_string(), said);
        }
    }
}

#[test]
fn a_byte_order_mark_is_dropped_at_the_start_and_nowhere_else() {
    for sample in SAMPLES {
        let records = sample.records().join("\n");
        assert_eq!(sample.turns(format!("\u{feff}{records}").as_bytes()).len(), 3);
        let inside = records.replacen('\n', "\n\u{feff}", 1);
        assert!(refusal(sample.format, &[&inside]).contains("line 2: not valid JSON"));
    }
}

#[test]
fn line_numbers_count_blank_lines() {
    for sample in SAMPLES {
        let [a, b, c] = sample.records();
        assert_eq!(
            sample.turns(format!("\n{a}\n \t\n\n{b}\n{c}\n\n").as_bytes()),
            [(2, 1), (5, 2), (6, 3)]
        );
    }
}

#[test]
fn line_ends_may_be_crlf_and_the_last_may_be_missing() {
    for sample in SAMPLES {
        let expected = [(1, 1), (2, 2), (3, 3)];
        assert_eq!(sample.turns(sample.records().join("\r\n").as_bytes()), expected);
        assert_eq!(sample.turns(sample.records().join("\n").as_bytes()), expected);
        assert_eq!(
            sample.turns((sample.records().join("\r\n") + "\r\n").as_bytes()),
            expected
        );
    }
}

#[test]
fn a_slow_reader_gives_the_same_turns() {
    for sample in SAMPLES {
        let trace = sample.records().join("\r\n");
        let mut slow: Box<dyn BufRead> =
            Box::new(BufReader::with_capacity(1, OneByteAtATime(trace.as_bytes())));
        let mut turns = Vec::new();
        let facts = read::<io::Error>(sample.format, &mut slow, &Options::default(), &mut |turn| {
            turns.push(turn);
            Ok(())
        });
        let expected = read_bytes(sample.format, trace.as_bytes(), &Options::default()).unwrap();
        assert_eq!((turns, facts.unwrap()), expected);
    }
}

#[test]
fn a_broken_line_is_named_and_nothing_is_used() {
    for sample in SAMPLES {
        let [a, b, c] = sample.records();
        let said = refusal(sample.format, &[&a, &b, "{\"timestamp\": 1,", &c]);
        assert!(
            said.starts_with(
                "1 line is wrong, so nothing of it was used.\n  line 3: not valid JSON at column "
            ),
            "{said}"
        );
        assert!(said.ends_with('.'), "{said}");
    }
}

#[test]
fn all_bad_lines_are_counted_and_twenty_shown() {
    for sample in SAMPLES {
        let mut lines = vec!["oops"; 4332];
        let record = (sample.record_at)("1");
        lines[0] = &record;
        let said = refusal(sample.format, &lines);
        assert!(said.starts_with("4,331 lines are wrong"), "{said}");
        assert_eq!(said.lines().count(), 22);
        assert!(said.ends_with("\n  … and 4,311 more"), "{said}");
    }
}

#[test]
fn the_sink_gets_nothing_after_a_bad_line() {
    for sample in SAMPLES {
        let [a, b, c] = sample.records();
        let trace = [a.as_str(), &b, "[]", &c].join("\n");
        let mut lines = Vec::new();
        let result = read::<io::Error>(
            sample.format,
            &mut trace.as_bytes(),
            &Options::default(),
            &mut |turn| {
                lines.push(turn.line);
                Ok(())
            },
        );
        assert!(
            matches!(result, Err(ReadError::BadLines(bad)) if bad.total() == 1 && bad.first()[0].line() == 3)
        );
        assert_eq!(lines, [1, 2]);
    }
}

#[test]
fn a_failing_sink_ends_the_reading() {
    for sample in SAMPLES {
        let trace = sample.records().join("\n");
        let mut calls = 0;
        let result = read(
            sample.format,
            &mut trace.as_bytes(),
            &Options::default(),
            &mut |_| {
                calls += 1;
                Err(io::Error::other("the disk is full"))
            },
        );
        assert!(matches!(result, Err(ReadError::Sink(_))));
        assert_eq!(calls, 1);
    }
}

#[test]
fn a_line_that_is_no_object_is_refused_with_what_it_is() {
    for sample in SAMPLES {
        for (line, said) in [
            ("[1]", "line 1: not an object but a list. Write one JSON object."),
            ("3", "line 1: not an object but a number. Write one JSON object."),
            ("null", "line 1: not an object but null. Write one JSON object."),
            (
                "TIMESTAMP,ContextTokens",
                "line 1: not valid JSON at column 1: expected value. Write one JSON object.",
            ),
        ] {
            assert!(
                refusal(sample.format, &[line]).ends_with(said),
                "{}",
                refusal(sample.format, &[line])
            );
        }
    }
}

#[test]
fn what_is_not_utf8_is_refused_with_its_line() {
    for sample in SAMPLES {
        let trace = [(sample.record_at)("1").as_bytes(), b"\n\xff{}"].concat();
        let error = read_bytes(sample.format, &trace, &Options::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("line 2: not UTF-8 from byte 1 on. Write the file in UTF-8.")
        );
    }
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    for sample in SAMPLES {
        let said = refusal(sample.format, &[&sample.record_with("\"timestamp\":1")]);
        assert!(
            said.contains("line 1: it has the key \"timestamp\" twice"),
            "{said}"
        );
    }
}

#[test]
fn words_that_are_not_json_are_refused() {
    for sample in SAMPLES {
        for word in ["NaN", "Infinity", "-Infinity", "None", "True"] {
            let said = refusal(sample.format, &[&(sample.record_at)(word)]);
            assert!(said.contains(&format!("{word} is no JSON value")), "{said}");
        }
    }
}

#[test]
fn times_are_exact_and_impossible_ones_refused() {
    for sample in SAMPLES {
        let (turns, _) = read_lines(sample.format, &[&(sample.record_at)("1.000001")]);
        assert_eq!(
            turns[0].recorded_ns.unwrap() % 1_000_000_000 % 1_000_000,
            if sample.format == Format::MooncakeTrace {
                1
            } else {
                1_000
            }
        );
        for time in [
            "1e400",
            "123456789012345678901234567890",
            "true",
            "[]",
            "{}",
            "\"\"",
            "\"nan\"",
        ] {
            let said = refusal(sample.format, &[&(sample.record_at)(time)]);
            assert!(said.contains("line 1: timestamp is "), "{said}");
        }
    }
}

#[test]
fn an_implausible_time_names_the_option_and_the_unit() {
    for sample in SAMPLES {
        let said = refusal(sample.format, &[&(sample.record_at)("1700000000000000000")]);
        assert!(said.contains("set dataset.options.timestampUnit: ns"), "{said}");
        let options = Options {
            timestamp_unit: Some(TimestampUnit::Nanoseconds),
            ..Options::default()
        };
        let trace = (sample.record_at)("1700000000000000001");
        let (turns, _) = read_bytes(sample.format, trace.as_bytes(), &options).unwrap();
        assert_eq!(turns[0].recorded_ns, Some(1_700_000_000_000_000_001));
    }
}

#[test]
fn an_unknown_column_is_refused_or_counted_as_asked() {
    for sample in SAMPLES {
        let (wrong, right) = sample.misspelt;
        let record = sample.record_with(&format!("\"{wrong}\":1"));
        let said = refusal(sample.format, &[&record]);
        assert!(
            said.contains(&format!("unknown column {wrong:?}. Did you mean {right}?")),
            "{said}"
        );
        assert!(said.contains("dataset.options.unknownColumns: Ignore"), "{said}");

        let options = Options {
            unknown_columns: UnknownColumns::Ignore,
            ..Options::default()
        };
        let trace = [record.as_str(), &(sample.record_at)("1"), &record].join("\n");
        let (turns, facts) = read_bytes(sample.format, trace.as_bytes(), &options).unwrap();
        assert_eq!(turns.len(), 3);
        let [DatasetWarning::ColumnsIgnored(columns)] = facts.warnings.as_slice() else {
            panic!("{:?}", facts.warnings);
        };
        assert_eq!(columns.iter().collect::<Vec<_>>(), [(wrong, 2)]);
    }
}

#[test]
fn a_column_of_another_format_is_refused_with_that_format() {
    for sample in SAMPLES {
        let (column, other) = sample.of_another;
        let said = refusal(
            sample.format,
            &[&sample.record_with(&format!("\"{column}\":\"a\""))],
        );
        assert!(
            said.contains(&format!("{other} has such a column: check dataset.format")),
            "{said}"
        );
    }
}

#[test]
fn a_trace_without_any_known_column_is_refused_at_its_first_record() {
    for sample in SAMPLES {
        // The second line is broken, and must not be reached.
        let lines = ["", r#"{"foo":1,"bar":2}"#, "broken"];
        for unknown_columns in [UnknownColumns::Refuse, UnknownColumns::Ignore] {
            let options = Options {
                unknown_columns,
                ..Options::default()
            };
            let error = read_bytes(sample.format, lines.join("\n").as_bytes(), &options).unwrap_err();
            assert!(matches!(error, ReadError::NoColumnFits(_)));
            let said = error.to_string();
            let head = format!(
                "its first record (line 2) has the columns foo, bar, and {} knows none of them.",
                sample.format
            );
            assert!(said.starts_with(&head), "{said}");
            for format in Format::all() {
                assert!(
                    said.contains(&format!("\n  {format}: {}", format.columns().join(", "))),
                    "{said}"
                );
            }
        }
        assert!(
            refusal(sample.format, &["{}"]).starts_with("its first record (line 1) has no columns at all.")
        );
    }
}

#[test]
fn the_first_line_shows_the_format() {
    for sample in SAMPLES {
        assert_eq!(Format::detect(&(sample.record_at)("1")), Some(sample.format));
    }
}
