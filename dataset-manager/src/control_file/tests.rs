use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;

use super::*;

const DEADLINE: &str = r#"{"deadline": "2026-01-02T03:04:05Z"}"#;

/// A control file that is not there yet, in a folder of its own.
fn absent() -> (TempDir, ControlFile) {
    let folder = TempDir::new().unwrap();
    let file = ControlFile::new(folder.path().join("control.json"));
    (folder, file)
}

fn command(news: Option<News>) -> Command {
    match news {
        Some(News::Command(command)) => command,
        other => panic!("no command: {other:?}"),
    }
}

fn fault(news: Option<News>) -> String {
    match news {
        Some(News::Fault(fault)) => fault.to_string(),
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn a_file_that_comes_later_is_found_and_given_once() {
    let (_folder, mut file) = absent();
    assert!(file.look().is_none());
    fs::write(file.path(), "{}").unwrap();
    assert_eq!(command(file.look()), Command::default());
    assert!(file.look().is_none());
    fs::write(file.path(), DEADLINE).unwrap();
    let deadline = command(file.look()).deadline;
    assert_eq!(deadline.as_deref(), Some("2026-01-02T03:04:05Z"));
    // Other spaces, same command.
    fs::write(file.path(), DEADLINE.replace(' ', "\n")).unwrap();
    assert!(file.look().is_none());
    fs::write(file.path(), r#"{"cancel": true}"#).unwrap();
    assert!(command(file.look()).cancel);
    fs::remove_file(file.path()).unwrap();
    assert!(file.look().is_none());
}

/// A mounted `ConfigMap`: the file is a link through `..data`, which is renamed over.
#[test]
fn a_link_that_is_swapped_is_followed() {
    let (folder, mut file) = absent();
    let root = folder.path();
    for (name, content) in [("..1", "{}"), ("..2", r#"{"cancel":true}"#)] {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join("control.json"), content).unwrap();
    }
    symlink("..1", root.join("..data")).unwrap();
    symlink("..data/control.json", file.path()).unwrap();
    assert!(!command(file.look()).cancel);
    symlink("..2", root.join("..next")).unwrap();
    fs::rename(root.join("..next"), root.join("..data")).unwrap();
    assert!(command(file.look()).cancel);
}

#[test]
fn half_a_write_is_no_fault_when_the_rest_comes() {
    let (_folder, mut file) = absent();
    let whole = r#"{"cancel": true}"#;
    for end in 0..whole.len() {
        fs::write(file.path(), &whole[..end]).unwrap();
        assert!(file.look().is_none(), "{end}");
    }
    fs::write(file.path(), whole).unwrap();
    assert!(command(file.look()).cancel);
}

#[test]
fn what_is_no_command_is_reported_once_and_does_no_harm() {
    let (_folder, mut file) = absent();
    let long = " ".repeat(MAX_JSON_BYTES + 1);
    let mut faults = Vec::new();
    for content in [
        "{\"cancel\": tru",
        "[1]",
        r#"{"stop": true}"#,
        r#"{"deadline": "tomorrow"}"#,
        &long,
    ] {
        fs::write(file.path(), content).unwrap();
        assert!(file.look().is_none());
        faults.push(fault(file.look()));
        assert!(file.look().is_none());
    }
    insta::assert_snapshot!("faults", faults.join("\n"));
    fs::write(file.path(), r#"{"cancel": true}"#).unwrap();
    assert!(command(file.look()).cancel);
}

#[test]
fn a_folder_in_its_place_is_reported_once() {
    let (_folder, mut file) = absent();
    fs::create_dir(file.path()).unwrap();
    assert!(file.look().is_none());
    assert!(fault(file.look()).ends_with("Make it a file that this process may read."));
    assert!(file.look().is_none());
}

#[tokio::test]
async fn commands_are_sent_until_nobody_listens() {
    let (_folder, file) = absent();
    let path = file.path().to_owned();
    let (sender, mut commands) = unbounded_channel();
    let watching = tokio::spawn(watch(path.clone(), sender));
    fs::write(&path, DEADLINE).unwrap();
    assert!(commands.recv().await.unwrap().deadline.is_some());
    fs::write(&path, r#"{"cancel": true}"#).unwrap();
    assert!(commands.recv().await.unwrap().cancel);
    drop(commands);
    watching.await.unwrap();
}
