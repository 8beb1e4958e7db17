//! What holds for every source. A new source is one more line at the end.

mod places;

use std::io::{BufRead, Read, Write};

use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::compression::Compression;
use places::{ChunkedServer, HubRepository, LocalFolder, Place, S3Bucket, WebServer, drain};

/// Bytes that do not compress to nothing, and that show it when a piece is lost or comes twice.
fn sample(length: usize) -> Vec<u8> {
    (0_u64..)
        .flat_map(|n| {
            format!(
                "{{\"timestamp\": {n}, \"input_length\": {}}}\n",
                n.wrapping_mul(2_654_435_761) % 9973
            )
            .into_bytes()
        })
        .take(length)
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    // With a checksum, as the `zstd` command writes it.
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

fn reads_what_is_stored<P: Place>() {
    let place = P::new();
    let bytes = sample(3_000_001);
    let reference = place.put("trace.jsonl", &bytes);
    let (read, provenance) = place.read(&reference).unwrap();
    assert!(read == bytes);
    assert_eq!(provenance.reference, reference.to_string());
    assert_eq!(provenance.bytes, 3_000_001);
    assert_eq!(provenance.compression, Compression::None);
    assert_eq!(provenance.sha256.to_string(), sha256(&bytes));
    assert_eq!(provenance.trace_sha256, provenance.sha256);
}

fn reads_line_by_line<P: Place>() {
    let place = P::new();
    let bytes = sample(200_000);
    for stored in [bytes.clone(), gzip(&bytes), zstd(&bytes)] {
        let mut trace = place.open(&place.put("trace", &stored)).unwrap();
        let mut joined = Vec::new();
        while trace.read_until(b'\n', &mut joined).unwrap() > 0 {}
        assert!(joined == bytes);
    }
}

fn reads_an_empty_file<P: Place>() {
    let place = P::new();
    let (bytes, provenance) = place.read(&place.put("empty.jsonl.gz", b"")).unwrap();
    assert!(bytes.is_empty());
    assert_eq!(provenance.bytes, 0);
    assert_eq!(provenance.sha256.to_string(), sha256(b""));
}

fn reads_files_shorter_than_any_mark<P: Place>() {
    let place = P::new();
    for bytes in [&b"{"[..], b"\x1f", b"\x1f\x8b", b"{}\n", b"\x28\xb5\x2f"] {
        assert_eq!(place.read(&place.put("short", bytes)).unwrap().0, bytes);
    }
}

fn reads_compressed_files_by_content<P: Place>() {
    let place = P::new();
    let bytes = sample(5_000_000);
    for (stored, compression) in [
        (gzip(&bytes), Compression::Gzip),
        (zstd(&bytes), Compression::Zstd),
    ] {
        // The name says nothing, or the wrong thing.
        for name in ["trace.jsonl", "trace.bz2"] {
            let (read, provenance) = place.read(&place.put(name, &stored)).unwrap();
            assert!(read == bytes);
            assert_eq!(provenance.compression, compression);
            assert_eq!(provenance.bytes, stored.len() as u64);
            assert_eq!(provenance.sha256.to_string(), sha256(&stored));
            assert_eq!(provenance.trace_sha256.to_string(), sha256(&bytes));
        }
    }
}

fn reads_a_plain_file_that_is_named_gz<P: Place>() {
    let bytes = sample(1000);
    let place = P::new();
    let (read, provenance) = place.read(&place.put("trace.jsonl.gz", &bytes)).unwrap();
    assert!(read == bytes);
    assert_eq!(provenance.compression, Compression::None);
}

fn reads_all_members_and_frames<P: Place>() {
    let place = P::new();
    let (one, two) = (sample(100_000), sample(70_000));
    let skippable = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
    for stored in [
        [gzip(&one), gzip(b""), gzip(&two)].concat(),
        [zstd(&one), zstd(b""), zstd(&two)].concat(),
        [skippable.clone(), zstd(&one), skippable, zstd(&two)].concat(),
    ] {
        let (read, _) = place.read(&place.put("trace", &stored)).unwrap();
        assert!(read == [&one[..], &two[..]].concat());
    }
}

fn refuses_cut_off_compressed_files<P: Place>() {
    let place = P::new();
    let bytes = sample(20_000);
    for (stored, name) in [(gzip(&bytes), "gzip"), (zstd(&bytes), "zstd")] {
        for cut in [4, 11, stored.len() / 2, stored.len() - 1] {
            let refusal = place.refusal(&place.put("cut", &stored[..cut]));
            assert!(
                refusal.contains(&format!("it is cut off: its {name} data ends in the middle")),
                "{cut}: {refusal}"
            );
        }
    }
}

fn refuses_damaged_compressed_files<P: Place>() {
    let place = P::new();
    let bytes = sample(20_000);
    for (intact, name) in [(gzip(&bytes), "gzip"), (zstd(&bytes), "zstd")] {
        let mut flipped = intact.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0x55;
        let trailed = [&intact[..], b"{\"timestamp\": 1}\n"].concat();
        for stored in [flipped, trailed] {
            let refusal = place.refusal(&place.put("damaged", &stored));
            assert!(
                refusal.contains(&format!("its {name} data cannot be unpacked")),
                "{refusal}"
            );
        }
    }
}

fn refuses_other_compressions_by_name<P: Place>() {
    let place = P::new();
    for (stored, name) in [
        (&b"\xfd7zXZ\0\0\0\0\0\0"[..], "xz"),
        (b"BZh91AY&SY1234", "bzip2"),
        (b"\x04\x22\x4d\x18abcdefgh", "lz4"),
        (b"PK\x03\x04abcdefgh", "zip"),
    ] {
        let refusal = place.refusal(&place.put("packed", stored));
        assert!(refusal.contains(&format!("packed with {name}")), "{refusal}");
    }
}

fn refuses_what_is_not_there<P: Place>() {
    let place = P::new();
    place.put("trace.jsonl", b"{}");
    let refusal = place.refusal(&place.reference("missing.jsonl"));
    assert!(refusal.starts_with("Cannot use "), "{refusal}");
    assert!(
        refusal.contains("no such") || refusal.contains("neither a file nor a folder"),
        "{refusal}"
    );
}

fn refuses_a_folder_that_does_not_say_what_is_meant<P: Place>() {
    let place = P::new();
    place.put("shards/part.jsonl", b"{}");
    let refusal = place.refusal(&place.reference("shards"));
    assert!(refusal.contains("it is a folder"), "{refusal}");
}

fn shows_progress_of_stored_bytes<P: Place>() {
    let place = P::new();
    let bytes = sample(3_000_000);
    let mut trace = place.open(&place.put("trace", &bytes)).unwrap();
    let progress = trace.progress();
    assert!(progress.total().is_none_or(|total| total == 3_000_000));
    assert!(progress.bytes() < 3_000_000);
    let mut half = vec![0; 1_500_000];
    trace.read_exact(&mut half).unwrap();
    assert!(
        (1_500_000..3_000_000).contains(&progress.bytes()),
        "{}",
        progress.bytes()
    );
    drain(&mut trace).unwrap();
    assert_eq!(progress.bytes(), 3_000_000);
}

fn finishes_what_was_not_read<P: Place>() {
    let place = P::new();
    let bytes = sample(3_000_000);
    for stored in [bytes.clone(), gzip(&bytes), zstd(&bytes)] {
        let mut trace = place.open(&place.put("trace", &stored)).unwrap();
        trace.read_until(b'\n', &mut Vec::new()).unwrap();
        let provenance = trace.finish().unwrap();
        assert_eq!(provenance.sha256.to_string(), sha256(&stored));
        assert_eq!(provenance.trace_sha256.to_string(), sha256(&bytes));
    }
}

fn can_be_dropped_at_any_time<P: Place>() {
    let place = P::new();
    let reference = place.put("trace", &sample(20_000_000));
    drop(place.open(&reference).unwrap());
    let mut trace = place.open(&reference).unwrap();
    trace.read_until(b'\n', &mut Vec::new()).unwrap();
    drop(trace);
    assert_eq!(place.read(&reference).unwrap().1.bytes, 20_000_000);
}

macro_rules! conformance {
    ($($source:ident: $place:ident),*; $cases:tt) => { $(conformance!(@ $source $place, $cases);)* };
    (@ $source:ident $place:ident, [$($case:ident),* $(,)?]) => {
        mod $source { $(#[test] fn $case() { super::$case::<super::$place>(); })* }
    };
}

conformance! {
    local: LocalFolder, http: WebServer, http_chunked: ChunkedServer, hub: HubRepository, s3: S3Bucket;
    [
        reads_what_is_stored,
        reads_line_by_line,
        reads_an_empty_file,
        reads_files_shorter_than_any_mark,
        reads_compressed_files_by_content,
        reads_a_plain_file_that_is_named_gz,
        reads_all_members_and_frames,
        refuses_cut_off_compressed_files,
        refuses_damaged_compressed_files,
        refuses_other_compressions_by_name,
        refuses_what_is_not_there,
        refuses_a_folder_that_does_not_say_what_is_meant,
        shows_progress_of_stored_bytes,
        finishes_what_was_not_read,
        can_be_dropped_at_any_time,
    ]
}
