//! The starts of compressed traces.

use std::io::Write;

use flate2::write::GzEncoder;

use super::*;

/// Lines that do not compress to nothing, so that there are many places to cut at.
fn trace() -> Vec<u8> {
    (0_u64..4000)
        .flat_map(|line| {
            format!(
                "{{\"timestamp\":{line},\"id\":{}}}\n",
                line.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            )
            .into_bytes()
        })
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The trace in each compression, in two members or frames.
fn packed(trace: &[u8]) -> [Vec<u8>; 3] {
    let (first, second) = trace.split_at(trace.len() / 2);
    let zstd = |bytes| zstd::encode_all(bytes, 3).unwrap();
    [
        trace.to_vec(),
        [gzip(first), gzip(second)].concat(),
        [zstd(first), zstd(second)].concat(),
    ]
}

#[test]
fn the_start_of_a_packed_trace_unpacks_to_the_start_of_the_trace_wherever_it_is_cut() {
    let trace = trace();
    for stored in packed(&trace) {
        let mut longest = 0;
        for length in (0..stored.len()).step_by(97) {
            let head = Head::unpack(&stored[..length], false).unwrap();
            assert!(trace.starts_with(&head.bytes));
            assert!(!head.is_whole);
            assert!(head.bytes.len() >= longest);
            longest = head.bytes.len();
        }
        // Zstandard gives nothing of the block that it is cut in.
        assert!(longest >= trace.len() / 2);
        let whole = Head {
            bytes: trace.clone(),
            is_whole: true,
        };
        assert_eq!(Head::unpack(&stored, true).unwrap(), whole);
    }
}

#[test]
fn what_ends_too_early_is_refused_when_it_should_be_whole() {
    let [_, gzip, zstd] = packed(&trace());
    for stored in [gzip, zstd] {
        let cut = Head::unpack(&stored[..stored.len() - 20], true);
        assert!(matches!(cut, Err(Problem::Truncated { .. })), "{cut:?}");
    }
}

#[test]
fn what_is_damaged_or_packed_otherwise_is_refused_at_once() {
    let [_, mut gzip, _] = packed(&trace());
    gzip[15..400].fill(0xff);
    let damaged = Head::unpack(&gzip[..5000], false);
    assert!(matches!(damaged, Err(Problem::Damaged { .. })), "{damaged:?}");
    let packed = Head::unpack(b"PK\x03\x04 and so on", false);
    assert!(matches!(packed, Err(Problem::Packed("zip"))));
}

#[test]
fn what_unpacks_to_too_much_is_cut() {
    let bomb = zstd::encode_all(io::repeat(b' ').take(100 << 20), 1).unwrap();
    let head = Head::unpack(&bomb, true).unwrap();
    assert_eq!((head.bytes.len(), head.is_whole), (65 << 20, false));
}
