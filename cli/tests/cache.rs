//! `reprise cache`, as people and programs see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use serde_json::json;
use tempfile::TempDir;

const NOON: &str = "2026-08-01T12:00:00Z";

const CHAT: &str = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806";
const PART: &str = "1a10ba0ce77bd5c978d46f69fef100e08ae325e5748745d00047eb3215ac91af";
const SIDECAR: &str = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
/// Of no content that is here.
const OTHER: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A cache in a folder of its own, in the layout that docs and code describe.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    /// With three files of two places, and what is left of two downloads.
    fn filled() -> Self {
        let bench = Self::empty();
        assert!(bench.run(&["ls"]).status.success(), "makes the folders");
        bench.content(CHAT, b"one\n");
        bench.content(PART, b"three lines\nof a\ntrace\n");
        bench.content(SIDECAR, b"{}");
        let chat = "https://traces.example/chat.jsonl";
        let bucket = "s3://acme-traces/august/ at http://minio.internal:9000";
        bench.entry("1", chat, "chat.jsonl", Some("etag:\"5f3e\""), CHAT, 4, 3);
        bench.entry(
            "2",
            chat,
            "chat.jsonl.reprise.json",
            Some("etag:\"5f3e\""),
            SIDECAR,
            2,
            2,
        );
        bench.entry(
            "3",
            bucket,
            "data/part-0.parquet",
            Some("listing:00"),
            PART,
            23,
            1,
        );
        bench.entry(
            "4",
            "http://localhost:8000/part.jsonl",
            "part.jsonl",
            None,
            PART,
            23,
            4,
        );
        bench.write("partial/5", b"half");
        bench.write(
            "locks/5.lock",
            json!({"place": bucket, "name": "data/part-1.parquet", "machine": null})
                .to_string()
                .as_bytes(),
        );
        bench.write("partial/6", b"");
        for partial in ["partial/5", "partial/6"] {
            bench.date(partial, 0);
        }
        bench
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.folder.path().join("cache/v1").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn content(&self, sha256: &str, content: &[u8]) {
        let name = format!("objects/{}/{sha256}", &sha256[..2]);
        self.write(&name, content);
        self.date(&name, 0);
    }

    #[allow(clippy::too_many_arguments, reason = "a record, in the order of its fields")]
    fn entry(
        &self,
        key: &str,
        place: &str,
        name: &str,
        version: Option<&str>,
        sha256: &str,
        bytes: u64,
        used_hours_after_noon: u32,
    ) {
        let entry = json!({
            "place": place, "name": name, "version": version, "tag": null,
            "bytes": bytes, "sha256": sha256, "fetched": NOON,
        });
        let name = format!("entries/{key}.json");
        self.write(&name, entry.to_string().as_bytes());
        self.date(&name, used_hours_after_noon);
    }

    fn date(&self, name: &str, hours_after_noon: u32) {
        let file = File::open(self.folder.path().join("cache/v1").join(name)).unwrap();
        let noon = SystemTime::from(NOON.parse::<jiff::Timestamp>().unwrap());
        let time = noon + Duration::from_hours(u64::from(hours_after_noon));
        file.set_modified(time).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_reprise"))
            .arg("cache")
            .args(arguments)
            .env("REPRISE_CACHE_DIR", self.folder.path().join("cache"))
            .env("HF_HUB_CACHE", self.folder.path().join("hub"))
            .env_remove("REPRISE_CACHE_MAX_BYTES")
            .output()
            .unwrap()
    }

    /// What is printed by a command that does what it should.
    fn shown(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(self.text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
        self.text(&output.stdout)
    }

    fn text(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        text.replace(self.folder.path().to_str().unwrap(), "/home/me")
    }

    /// Where its file names say so.
    fn has(&self, sha256: &str) -> bool {
        let name = format!("cache/v1/objects/{}/{sha256}", &sha256[..2]);
        self.folder.path().join(name).exists()
    }
}

#[test]
fn what_is_cached_is_listed() {
    let bench = Bench::filled();
    fs::create_dir(bench.folder.path().join("hub")).unwrap();
    fs::write(bench.folder.path().join("hub/version.txt"), b"1").unwrap();
    insta::assert_snapshot!(bench.shown(&["ls"]));
}

#[test]
fn programs_get_json() {
    insta::assert_snapshot!(Bench::filled().shown(&["ls", "--json"]));
}

#[test]
fn an_empty_cache_is_listed() {
    insta::assert_snapshot!(Bench::empty().shown(&["ls"]));
}

#[test]
fn what_would_be_removed_is_told_and_stays() {
    let bench = Bench::filled();
    let before = bench.shown(&["ls"]);
    insta::assert_snapshot!(bench.shown(&["prune", "--to-size", "23B", "--dry-run"]));
    assert_eq!(bench.shown(&["ls"]), before);
}

#[test]
fn what_was_used_least_recently_is_removed() {
    let bench = Bench::filled();
    insta::assert_snapshot!(bench.shown(&["prune", "--to-size", "23B"]));
    assert_eq!(
        [CHAT, PART, SIDECAR].map(|sha256| bench.has(sha256)),
        [false, true, false]
    );
}

#[test]
fn everything_else_that_can_be_removed_is() {
    let bench = Bench::filled();
    assert!(
        bench
            .shown(&["prune", "--partials"])
            .ends_with("Removed 0 contents and 2 partial files, 4 B.\n")
    );
    bench.date("entries/4.json", 0);
    assert_eq!(
        bench.shown(&["prune", "--older-than", "40000d"]),
        "Removed 0 contents and 0 partial files, 0 B.\n"
    );
    assert!(
        bench
            .shown(&["prune", "--all"])
            .ends_with("Removed 3 contents and 0 partial files, 29 B.\n")
    );
    assert!(bench.shown(&["ls"]).contains("0 contents, 0 B"));
}

#[test]
fn what_is_in_use_stays() {
    let bench = Bench::filled();
    let object = bench
        .folder
        .path()
        .join("cache/v1/objects")
        .join(&CHAT[..2])
        .join(CHAT);
    let reader = File::open(object).unwrap();
    reader.lock_shared().unwrap();
    assert!(bench.shown(&["ls"]).contains("in use"));
    assert!(
        bench
            .shown(&["prune", "--all"])
            .ends_with("4 B stay, which are in use.\n")
    );
    assert!(bench.has(CHAT));
}

#[test]
fn what_to_remove_has_to_be_said() {
    let bench = Bench::filled();
    let said: Vec<_> = [
        &["prune"][..],
        &["prune", "--all", "--partials"],
        &["prune", "--older-than", "long"],
        &["prune", "--to-size", "small"],
    ]
    .map(|arguments| {
        let output = bench.run(arguments);
        assert_eq!(output.status.code(), Some(2));
        bench.text(&output.stderr)
    })
    .into();
    insta::assert_snapshot!(said.join("\n"));
    assert!(bench.has(CHAT));
}

#[test]
fn a_sound_cache_is_verified() {
    let bench = Bench::filled();
    assert_eq!(
        bench.shown(&["verify"]),
        "Read 3 contents, 29 B: 0 damaged, 0 without a file, 0 missing.\n"
    );
    assert!(bench.has(CHAT));
}

#[test]
fn what_is_damaged_is_told_and_removed() {
    let bench = Bench::filled();
    bench.content(CHAT, b"two\n");
    fs::remove_file(bench.folder.path().join("cache/v1/entries/2.json")).unwrap();
    bench.entry(
        "7",
        "s3://acme-traces/gone.jsonl",
        "gone.jsonl",
        None,
        OTHER,
        1,
        1,
    );
    let before = bench.shown(&["ls"]);
    for (name, arguments) in [
        ("damage_is_told", &["verify", "--dry-run"][..]),
        ("damage_is_told_to_programs", &["verify", "--dry-run", "--json"]),
        ("damage_is_removed", &["verify"]),
    ] {
        assert_eq!(bench.shown(&["ls"]), before, "before {name}");
        let output = bench.run(arguments);
        assert_eq!(output.status.code(), Some(1));
        insta::assert_snapshot!(name, bench.text(&output.stdout) + &bench.text(&output.stderr));
    }
    assert_eq!(
        [CHAT, PART, SIDECAR].map(|sha256| bench.has(sha256)),
        [false, true, false]
    );
    assert_eq!(
        bench.shown(&["verify"]),
        "Read 1 content, 23 B: 0 damaged, 0 without a file, 0 missing.\n"
    );
}

#[test]
fn a_folder_that_is_no_cache_is_left_alone() {
    let bench = Bench::empty();
    let thesis = bench.folder.path().join("cache/thesis.tex");
    fs::create_dir(thesis.parent().unwrap()).unwrap();
    fs::write(&thesis, b"").unwrap();
    let output = bench.run(&["prune", "--all"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        bench.text(&output.stderr),
        "Cannot use the cache /home/me/cache: the folder has files in it that are not of a cache of Reprise. Set \
         REPRISE_CACHE_DIR to an empty folder, or to one that does not exist yet.\n"
    );
    assert!(Path::new(&thesis).exists());
}
