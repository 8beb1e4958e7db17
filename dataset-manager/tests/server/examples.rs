//! The examples of docs/protocol.md are calls that the server understands.

use std::fs;
use std::path::Path;
use std::process::Command;

use reprise_contract::protocol::batch::encode;

use crate::manager::Manager;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/protocol.md");

/// The first block of shell in the document.
fn script() -> String {
    let text = fs::read_to_string(DOCUMENT).unwrap();
    let (_, rest) = text.split_once("```sh\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_example_is_understood() {
    let manager = Manager::with_plan().await;
    let folder = tempfile::tempdir().unwrap();
    let secrets = folder.path().join("secrets");
    fs::create_dir(&secrets).unwrap();
    manager.secrets.write(&secrets).unwrap();
    let head = manager.worker(0, "by-hand").head(0).await;
    fs::write(folder.path().join("batch.arrows"), encode(&head, &[]).unwrap()).unwrap();

    let address = manager.server.address().to_string();
    let script = script().replace("127.0.0.1:8443", &address);
    assert!(script.contains(&address));
    let run = move |folder: &Path| {
        let mut bash = Command::new("bash");
        bash.args(["-ec", &script]).current_dir(folder).env_clear();
        bash.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        bash.output().unwrap()
    };
    let output = tokio::task::block_in_place(|| run(folder.path()));
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // That the run is cancelled by one of them, or has no result yet, is no matter.
    for code in [
        "WrongToken",
        "WrongRole",
        "WrongVersion",
        "Malformed",
        "TooLarge",
        "NotFound",
    ] {
        assert!(!said.contains(&format!("\"{code}\"")), "{code}: {said}");
    }
    assert!(
        said.contains("\"managerNs\"") && said.contains("\"message\":\"The run was cancelled"),
        "{said}"
    );
}
