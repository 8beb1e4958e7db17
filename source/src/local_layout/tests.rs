//! Folders on this machine.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A folder with these files; each has the bytes that are given for it.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn names(trace: &LocalTrace) -> Vec<&str> {
    trace.files.iter().map(|file| file.name.as_str()).collect()
}

/// The message, with the folder of the test left out.
fn refusal(folder: &TempDir, result: Result<LocalTrace, SourceError>) -> String {
    let root = folder.path().display().to_string();
    result.unwrap_err().to_string().replace(&root, "TRACE")
}

#[test]
fn a_file_is_told_by_its_content() {
    let folder = folder(&[("trace.jsonl", b"PAR1..."), ("trace.parquet", b"{}")]);
    let found = |name: &str| find_local(&folder.path().join(name)).unwrap();
    let told = |name: &str| found(name).files[0].is_parquet;
    assert!(told("trace.jsonl"));
    assert!(!told("trace.parquet"));
    assert!(!told("there_is_no_such_file"));
    assert_eq!(names(&found("trace.jsonl")), ["trace.jsonl"]);
}

#[test]
fn shards_in_a_folder_are_told_by_content_or_by_name() {
    let folder = folder(&[
        ("000000_0", b"PAR1..."),
        ("1.parquet", b"PAR1..."),
        ("0.parquet", b""),
        ("_SUCCESS", b""),
    ]);
    let trace = find_local(folder.path()).unwrap();
    assert_eq!(names(&trace), ["0.parquet", "000000_0", "1.parquet"]);
    assert!(trace.files.iter().all(|file| file.is_parquet));
}

#[test]
fn names_go_down_from_the_folder_that_is_named() {
    let folder = folder(&[
        ("data/train/0.parquet", b"PAR1"),
        ("data/test/0.parquet", b"PAR1"),
    ]);
    let trace = find_local(folder.path()).unwrap();
    assert_eq!(names(&trace), ["data/train/0.parquet"]);
    assert_eq!(trace.files[0].path, folder.path().join("data/train/0.parquet"));
    assert_eq!(trace.warnings[0].code(), "FoldersLeftOut");
}

#[test]
fn links_are_followed_and_circles_end() {
    let folder = folder(&[("elsewhere/0.parquet", b"PAR1"), ("trace/notes.md", b"")]);
    let trace = folder.path().join("trace");
    symlink(folder.path().join("elsewhere"), trace.join("train")).unwrap();
    symlink(&trace, folder.path().join("elsewhere/back")).unwrap();
    assert_eq!(names(&find_local(&trace).unwrap()), ["train/0.parquet"]);
}

#[test]
fn hints_are_paths_that_can_be_used() {
    let folder = folder(&[("a/0.parquet", b"PAR1"), ("b/0.parquet", b"PAR1")]);
    insta::assert_snapshot!(
        refusal(&folder, find_local(folder.path())),
        @"Cannot use TRACE: it has several datasets under TRACE. Use one of: TRACE/a, TRACE/b."
    );
    assert!(find_local(&folder.path().join("a")).is_ok());
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let lines = folder(&[("README.md", b"# A trace"), ("chat.jsonl", b"{}")]);
    insta::assert_snapshot!(
        refusal(&lines, find_local(lines.path())),
        @"Cannot use TRACE: it is a folder without a manifest and without Parquet files. Name a file in it, e.g. TRACE/chat.jsonl, or ask its publisher to add reprise.json."
    );
    let empty = folder(&[]);
    insta::assert_snapshot!(
        refusal(&empty, find_local(empty.path())),
        @"Cannot use TRACE: it is an empty folder. Check the reference, and that the data was uploaded."
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = folder(&[("0.parquet", b"PAR1")]);
    symlink("gone", folder.path().join("1.data")).unwrap();
    insta::assert_snapshot!(
        refusal(&folder, find_local(folder.path())),
        @"Cannot use TRACE/1.data: there is no such file. Check the path."
    );
}

#[test]
fn a_manifest_names_a_file_or_a_folder() {
    let folder = folder(&[
        ("aiperf.json", b"{}"),
        ("chat.jsonl", b"{}"),
        ("_data/train-00000-of-00001.parquet", b"PAR1"),
        ("_data/test-00000-of-00001.parquet", b"PAR1"),
        ("lines/chat.jsonl", b"{}"),
        ("splits/a-00000-of-00001.parquet", b"PAR1"),
        ("splits/b-00000-of-00001.parquet", b"PAR1"),
        ("bare/README.md", b""),
    ]);
    let find = |path: &str| find_local_manifest_path(folder.path(), path);
    assert_eq!(names(&find("./chat.jsonl").unwrap()), ["chat.jsonl"]);
    let shards = find("_data/").unwrap();
    assert_eq!(names(&shards), ["_data/train-00000-of-00001.parquet"]);
    assert!(shards.files[0].path.is_file());
    let said = ["data", "lines", "bare", "splits"].map(|path| refusal(&folder, find(path)));
    insta::assert_snapshot!(said.join("\n"), @"
    Cannot use TRACE: its manifest names data, which is not there. Ask its publisher to correct path in the manifest.
    Cannot use TRACE: its manifest names the folder lines, which holds no Parquet files. Ask its publisher to name one file, or a folder of Parquet shards.
    Cannot use TRACE: its manifest names the folder bare, which holds no Parquet files. Ask its publisher to name one file, or a folder of Parquet shards.
    Cannot use TRACE: its manifest folder splits holds the splits a, b, and none is named 'train'. Ask its publisher to keep one split in the folder or to name it train, or use one split's shard, e.g. TRACE/splits/a-00000-of-00001.parquet or TRACE/splits/b-00000-of-00001.parquet.
    ");
}
