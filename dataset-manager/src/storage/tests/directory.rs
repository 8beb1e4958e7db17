//! Results in a folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

use super::*;

/// A volume of 16 MiB in memory: smaller than the files. Only root may mount one.
struct SmallVolume(TempDir);

impl SmallVolume {
    fn mount() -> Self {
        let folder = TempDir::new().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16m", "none"])
            .arg(folder.path())
            .status();
        assert!(
            mounted.unwrap().success(),
            "this test mounts a volume and needs root"
        );
        Self(folder)
    }
}

impl Drop for SmallVolume {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0.path()).status().unwrap();
    }
}

#[tokio::test]
async fn files_are_there_whole_and_can_be_stored_again() {
    let (root, files, told) = (TempDir::new().unwrap(), files(), Arc::new(Told::default()));
    let store = ResultStore::directory(&root.path().join("not/yet"), &attempt());
    store.check().await.unwrap();
    let noted = Arc::clone(&told);
    let stored = store
        .store(&files.paths, &move |done, total| noted.note(done, total))
        .await
        .unwrap();
    let folder = root.path().join("not/yet/chat/1a2b3c4d-2");
    assert_eq!(stored.place, folder.display().to_string());
    assert_eq!(stored.files.last().unwrap().name, SUMMARY_FILE);
    for (name, content) in &files.contents {
        assert!(fs::read(folder.join(name)).unwrap() == *content, "{name}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), files.contents.len());
    assert!(told.is_whole(stored.files.iter().map(|file| file.bytes).sum()));

    fs::remove_file(folder.join("report.html")).unwrap();
    assert_eq!(store.store(&files.paths, &silent).await.unwrap(), stored);
    assert!(folder.join("report.html").exists());
}

#[tokio::test]
async fn another_result_is_not_overwritten() {
    let (root, files) = (TempDir::new().unwrap(), files());
    let store = ResultStore::directory(root.path(), &attempt());
    let folder = root.path().join("chat/1a2b3c4d-2");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(SUMMARY_FILE), "another").unwrap();
    for error in [
        store.check().await.unwrap_err(),
        store.store(&files.paths, &silent).await.unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            format!(
                "Cannot store results in {}: it has another summary.json already. Name another folder, or move that one away.",
                folder.display()
            )
        );
    }
    assert_eq!(fs::read_to_string(folder.join(SUMMARY_FILE)).unwrap(), "another");
}

#[tokio::test]
async fn a_full_disk_leaves_no_half_file_and_no_summary() {
    let (volume, files) = (SmallVolume::mount(), files());
    let store = ResultStore::directory(volume.0.path(), &attempt());
    store.check().await.unwrap();
    let error = store.store(&files.paths, &silent).await.unwrap_err();
    assert!(
        matches!(
            error.problem,
            StorageProblem::Directory(DirectoryProblem::Full(_))
        ),
        "{error}"
    );
    let mut left: Vec<_> = fs::read_dir(store.to_string())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["empty.yaml", "report.html"]);
    assert!(files.paths.iter().all(|path| path.exists()));
}

#[tokio::test]
async fn a_place_where_no_folder_can_be_is_named_with_the_reason() {
    let root = TempDir::new().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    // Root may write anywhere, but not here.
    for (place, is_not_permitted) in [
        (file.as_path(), false),
        (Path::new("/proc/1"), false),
        (Path::new("/sys"), true),
    ] {
        let store = ResultStore::directory(place, &attempt());
        let error = store.check().await.unwrap_err();
        let found = matches!(
            error.problem,
            StorageProblem::Directory(DirectoryProblem::NotPermitted(_))
        );
        assert_eq!(found, is_not_permitted, "{error}");
        assert!(error.to_string().starts_with(&format!(
            "Cannot store results in {}/chat/1a2b3c4d-2: ",
            place.display()
        )));
    }
}

#[tokio::test]
async fn others_may_read_results_as_the_mask_allows() {
    let (root, files) = (TempDir::new().unwrap(), files());
    let store = ResultStore::directory(root.path(), &attempt());
    let stored = store.store(&files.paths, &silent).await.unwrap();
    let plain = root.path().join("plain");
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&Path::new(&stored.place).join(SUMMARY_FILE)), mode(&plain));
}
